//! Sessions that give up on who does not answer, for drivers that cannot: each lives on a thread of its own, and who waits too
//! long leaves it there.

use crate::pg::PgConnection;
use anyhow::{Context, Result};
use keel_workload::{CallError, Cell, Connection, Dialect};
use std::sync::mpsc;
use std::time::Duration;

type Job = Box<dyn FnOnce(&mut PgConnection) + Send>;

/// See the module.
pub(crate) struct Patient {
    jobs: mpsc::Sender<Job>,
    patience: Duration,
}

impl Patient {
    /// A session by libpq's kind of connection string.
    pub(crate) fn open(at: String, patience: Duration) -> Result<Patient> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (tell, told) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let opened = PgConnection::open(&at);
            let mut session = match opened {
                Ok(session) => session,
                Err(error) => return drop(tell.send(Err(error))),
            };
            // Who has given up has dropped the queue's other end too.
            let _ = tell.send(Ok(()));
            queue.iter().for_each(|job| job(&mut session));
        });
        told.recv_timeout(patience).context("no answer in time")??;
        Ok(Patient { jobs, patience })
    }

    fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut PgConnection) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let (tell, told) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |session| drop(tell.send(job(session))));
        self.jobs.send(job).map_err(|_| CallError::Lost("the session is gone".into()))?;
        told.recv_timeout(self.patience).unwrap_or_else(|_| Err(CallError::Lost("no answer in time".into())))
    }
}

impl Connection for Patient {
    fn execute(&mut self, sql: &str) -> Result<(), CallError> {
        let sql = sql.to_owned();
        self.ask(move |session| session.execute(&sql))
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, CallError> {
        let sql = sql.to_owned();
        self.ask(move |session| session.query(&sql))
    }

    fn call(&mut self, procedure: &str, arguments: &[Cell]) -> Result<Option<Vec<Cell>>, CallError> {
        let (procedure, arguments) = (procedure.to_owned(), arguments.to_vec());
        self.ask(move |session| session.call(&procedure, &arguments))
    }

    fn prepare(&mut self, sql: &str, parameters: usize) -> Result<u64, CallError> {
        let sql = sql.to_owned();
        self.ask(move |session| session.prepare(&sql, parameters))
    }

    fn run(&mut self, handle: u64, arguments: &[i64]) -> Result<Option<Vec<Cell>>, CallError> {
        let arguments = arguments.to_vec();
        self.ask(move |session| session.run(handle, &arguments))
    }

    fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Cell>>,
    ) -> Result<u64, CallError> {
        let rows: Vec<Vec<Cell>> = rows.collect();
        let (table, columns) =
            (table.to_owned(), columns.iter().map(ToString::to_string).collect::<Vec<_>>());
        self.ask(move |session| {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            session.bulk(&table, &columns, &mut rows.into_iter())
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }
}
