//! The threads of the agent ([`keel_sql::agent`]): one that sees what is due, and one for each job that runs.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, anyhow};
use keel_sql::Engine;
use keel_sql::agent::Service;

use crate::errorlog::ErrorLog;

/// Where lines of the error log say they come from.
const SOURCE: &str = "SQLAgent";
/// How long it rests when the tables of `msdb` could not be read.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How long the end of the server waits for jobs to end.
const STOP_MAX: Duration = Duration::from_secs(15);

/// See the module.
pub struct Agent {
    engine: Arc<Engine>,
    log: Arc<ErrorLog>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Makes what `msdb` lacks and, if `wanted`, starts the agent. `stack` is that of a session's thread, in bytes. Who cannot (the disk is
    /// full) says so in the error log: a server without jobs is better than none.
    pub fn start_if(wanted: bool, engine: &Arc<Engine>, log: &Arc<ErrorLog>, stack: usize) -> Option<Agent> {
        let started = match keel_sql::agent::install(engine) {
            Ok(()) if !wanted => return None,
            Ok(()) => Agent::start(engine, log, stack),
            Err(e) => Err(anyhow!("msdb could not be set up: {e}")),
        };
        let said = |e| log.entry(SOURCE, &format!("There is no agent, and no job runs: {e:#}."));
        started.map_err(said).ok()
    }

    fn start(engine: &Arc<Engine>, log: &Arc<ErrorLog>, stack: usize) -> Result<Agent> {
        let failed = |e: Box<keel_types::SqlError>| anyhow!("it could not be started: {e}");
        let service = Service::start(engine).map_err(failed)?;
        let (its_engine, its_log) = (Arc::clone(engine), Arc::clone(log));
        let thread = std::thread::Builder::new().name("agent".into()).stack_size(stack);
        let thread = thread.spawn(move || serve(&its_engine, service, &its_log, stack))?;
        Ok(Agent { engine: Arc::clone(engine), log: Arc::clone(log), thread: Some(thread) })
    }

    /// Stops all jobs and the agent.
    pub fn stop(mut self) {
        if !self.engine.agent().stop_all(STOP_MAX) {
            self.log.entry(SOURCE, "Some jobs did not end in time.");
        }
        if let Some(thread) = self.thread.take() {
            // What went wrong is in the log.
            let _ = thread.join();
        }
    }
}

fn serve(engine: &Arc<Engine>, mut service: Service, log: &Arc<ErrorLog>, stack: usize) {
    while !engine.agent().is_stopping() {
        let (runs, done) = service.turn();
        for run in runs {
            let job = run.job();
            let thread = std::thread::Builder::new().name("job".into()).stack_size(stack);
            if let Err(e) = thread.spawn(move || run.execute()) {
                engine.agent().ended(job);
                log.entry(SOURCE, &format!("A job could not be started, for want of a thread: {e}."));
            }
        }
        if let Err(e) = done {
            log.entry(SOURCE, &format!("Jobs could not be looked for: error {}, {}", e.number, e.message));
            engine.agent().pause(AFTER_FAILURE);
        }
    }
}
