//! T-SQL in, rows out: sessions as any client's, without the wire between.
//!
//! Everything this crate knows of the instance comes through here.

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use keel_server::{Front, SqlSession};
use keel_sql::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_sql::{LoginRecord, SessionOptions};
use keel_types::{SqlError, SqlType, Value};
use tokio::sync::oneshot;

/// What `PROGRAM_NAME()` says of sessions made here.
const PROGRAM: &str = "Evenkeel dashboard";
/// Who reads the views for everybody. Like the product's `##…##` principals it is no login: nobody can be it.
const READER: &str = "##keel_dashboard##";
/// Errors from this severity on are failures; below they are information.
const FAILURE_SEVERITY: u8 = 11;

/// One result set.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Its rows, as wide as `columns`.
    pub rows: Vec<Vec<Value>>,
}

/// A session and what became of its last text.
pub struct Asker {
    session: Box<dyn SqlSession>,
}

impl Asker {
    /// The session that reads the views. It may see everything, and is given nothing but the fixed texts of this crate.
    pub fn reader(front: &Front) -> Result<Asker, SqlError> {
        let options =
            SessionOptions { login: READER.to_owned(), sysadmin: true, ..options("<local machine>") };
        let mut asker = Asker::open(front, options)?;
        // A view that waits for a lock must not hold up the others for long.
        asker.ask("SET LOCK_TIMEOUT 2000")?;
        Ok(asker)
    }

    /// A session of a login that was authenticated, at the client's address.
    pub fn of(front: &Front, login: &LoginRecord, peer: IpAddr) -> Result<Asker, SqlError> {
        let mine = SessionOptions {
            login: login.name.clone(),
            sysadmin: login.sysadmin,
            ..options(&peer.to_string())
        };
        Asker::open(front, mine)
    }

    fn open(front: &Front, options: SessionOptions) -> Result<Asker, SqlError> {
        front.session(options).map(|session| Asker { session }).map_err(|e| *e)
    }

    /// Whether the session is of no more use (KILL, a severe error).
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.session.is_ended()
    }

    /// Runs a batch; its first result set, or an empty one, or the first error.
    pub fn ask(&mut self, text: &str) -> Result<Table, SqlError> {
        let mut answer = Answer::default();
        let ran = catch_unwind(AssertUnwindSafe(|| self.session.execute_batch(text, &mut answer)));
        if ran.is_err() {
            return Err(*SqlError::new(3624, 20, 1, "A system assertion check has failed."));
        }
        match answer.error {
            Some(e) => Err(e),
            None => Ok(answer.tables.into_iter().next().unwrap_or_default()),
        }
    }

    /// Whether the session has a permission on the server.
    pub fn may(&mut self, permission: &str) -> Result<bool, SqlError> {
        let text = format!("SELECT HAS_PERMS_BY_NAME(NULL, NULL, {})", literal(permission));
        let table = self.ask(&text)?;
        Ok(matches!(table.rows.first().map(Vec::as_slice), Some([Value::Int(1)])))
    }
}

fn options(address: &str) -> SessionOptions {
    SessionOptions {
        database: "master".to_owned(),
        app_name: PROGRAM.to_owned(),
        client_interface: PROGRAM.to_owned(),
        client_address: address.to_owned(),
        ansi_defaults: true,
        ..SessionOptions::default()
    }
}

/// A string as T-SQL text.
#[must_use]
pub fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// A name as T-SQL text.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Runs `work` on a thread that sessions can run on, and hands its result over.
pub async fn on_own_thread<T: Send + 'static>(
    front: &Front,
    work: impl FnOnce(&Front) -> T + Send + 'static,
) -> Option<T> {
    let (reply, answer) = oneshot::channel();
    let mine = front.clone();
    std::thread::Builder::new()
        .name("dashboard session".into())
        .stack_size(front.session_stack())
        // Whoever asked may have gone.
        .spawn(move || drop(reply.send(work(&mine))))
        .ok()?;
    answer.await.ok()
}

/// Collects what a session says.
#[derive(Default)]
struct Answer {
    tables: Vec<Table>,
    error: Option<SqlError>,
}

impl ResultSink for Answer {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        let columns = columns.iter().map(|c| c.name.to_string()).collect();
        self.tables.push(Table { columns, rows: Vec::new() });
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        if let Some(table) = self.tables.last_mut() {
            table.rows.push(row.to_vec());
        }
        Ok(())
    }
    fn done(&mut self, _done: DoneInfo) {}
    fn message(&mut self, message: &SqlError) {
        if message.severity >= FAILURE_SEVERITY && self.error.is_none() {
            self.error = Some(message.clone());
        }
    }
    fn return_status(&mut self, _status: i32) {}
    fn output(&mut self, _ordinal: usize, _name: &str, _ty: &SqlType, _value: &Value) {}
    fn env_change(&mut self, _change: EnvChange) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_strings_cannot_end_early() {
        assert_eq!(literal("it's"), "N'it''s'");
        assert_eq!(quoted("a]b"), "[a]]b]");
    }
}
