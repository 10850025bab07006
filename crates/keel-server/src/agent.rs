//! The threads of the agent ([`keel_sql::agent`]): one that sees what is due, and one for each job that runs; and the same for each
//! contained group whose primary is here, which a thread of its own looks for.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, anyhow};
use keel_sql::Engine;
use keel_sql::agent::mail::Postman;
use keel_sql::agent::{Office, Service};
use parking_lot::{Condvar, Mutex};

use crate::errorlog::ErrorLog;
use crate::mail::Smtp;

/// Where lines of the error log say they come from.
const SOURCE: &str = "SQLAgent";
/// How long it rests when the tables of `msdb` could not be read.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How long the end of the server waits for jobs to end.
const STOP_MAX: Duration = Duration::from_secs(15);
/// How often it is looked which contained groups have their primary here.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// See the module.
pub struct Agent {
    own: Branch,
    branches: Option<JoinHandle<()>>,
    its: Arc<Its>,
}

/// What the agent's threads have in common.
struct Its {
    engine: Arc<Engine>,
    log: Arc<ErrorLog>,
    /// Who takes mail to servers.
    smtp: Smtp,
    /// Bytes of stack of a thread that executes statements.
    stack: usize,
    stopping: Mutex<bool>,
    stops: Condvar,
}

/// An agent at work for one `msdb`.
struct Branch {
    office: Office,
    thread: JoinHandle<()>,
    mail: JoinHandle<()>,
}

impl Agent {
    /// Makes what `msdb` lacks and, if `wanted`, starts the agent. `stack` is that of a session's thread, in bytes. Who cannot (the disk is
    /// full) says so in the error log: a server without jobs is better than none.
    pub fn start_if(
        wanted: bool,
        engine: &Arc<Engine>,
        log: &Arc<ErrorLog>,
        smtp: Smtp,
        stack: usize,
    ) -> Option<Agent> {
        let started = match keel_sql::agent::install(engine) {
            Ok(()) if !wanted => return None,
            Ok(()) => Agent::start(engine, log, smtp, stack),
            Err(e) => Err(anyhow!("msdb could not be set up: {e}")),
        };
        let said = |e| log.entry(SOURCE, &format!("There is no agent, and no job runs: {e:#}."));
        started.map_err(said).ok()
    }

    fn start(engine: &Arc<Engine>, log: &Arc<ErrorLog>, smtp: Smtp, stack: usize) -> Result<Agent> {
        let (stopping, stops) = (Mutex::new(false), Condvar::new());
        let (engine, log) = (Arc::clone(engine), Arc::clone(log));
        let its = Arc::new(Its { engine, log, smtp, stack, stopping, stops });
        let own = Branch::open(&its, Office::of_instance(&its.engine))?;
        // Who is in no group now may be in one later, unless nothing here is about groups.
        let branches = match its.engine.hadr() {
            Some(_) => {
                let looks = Arc::clone(&its);
                let thread = std::thread::Builder::new().name("agents".into()).stack_size(stack);
                Some(thread.spawn(move || looks.keep_branches())?)
            }
            None => None,
        };
        Ok(Agent { own, branches, its })
    }

    /// Stops all jobs and the agent.
    pub fn stop(self) {
        *self.its.stopping.lock() = true;
        self.its.stops.notify_all();
        if let Some(thread) = self.branches {
            // What went wrong is in the log.
            let _ = thread.join();
        }
        self.own.close(&self.its.log);
    }
}

impl Branch {
    fn open(its: &Arc<Its>, office: Office) -> Result<Branch> {
        let service = Service::start(&office).map_err(|e| anyhow!("it could not be started: {e}"))?;
        let mut postman = Postman::new(&office).map_err(|e| anyhow!("mail could not be looked for: {e}"))?;
        let thread = std::thread::Builder::new().name("mail".into()).stack_size(its.stack);
        let (at, sends) = (office.clone(), Arc::clone(its));
        let mail = thread.spawn(move || sends.mail(&at, &mut postman))?;
        let thread = std::thread::Builder::new().name("agent".into()).stack_size(its.stack);
        let (at, its) = (office.clone(), Arc::clone(its));
        let thread = thread.spawn(move || its.serve(&at, service))?;
        Ok(Branch { office, thread, mail })
    }

    fn close(self, log: &ErrorLog) {
        if !self.office.board().stop_all(STOP_MAX) {
            log.entry(SOURCE, "Some jobs did not end in time.");
        }
        // What went wrong is in the log.
        let _ = self.thread.join();
        let _ = self.mail.join();
    }
}

impl Its {
    fn serve(&self, office: &Office, mut service: Service) {
        let board = office.board();
        while !board.is_stopping() && office.is_open() {
            let (runs, done) = service.turn();
            for run in runs {
                let job = run.job();
                let thread = std::thread::Builder::new().name("job".into()).stack_size(self.stack);
                if let Err(e) = thread.spawn(move || run.execute()) {
                    board.ended(job);
                    self.log
                        .entry(SOURCE, &format!("A job could not be started, for want of a thread: {e}."));
                }
            }
            if let Err(e) = done
                && office.is_open()
            {
                let text = format!("Jobs could not be looked for: error {}, {}", e.number, e.message);
                self.log.entry(SOURCE, &text);
                board.pause(AFTER_FAILURE);
            }
        }
    }

    /// Sends what is to be sent. What went wrong is said once, until something else does.
    fn mail(&self, office: &Office, postman: &mut Postman) {
        let (board, mut said) = (office.board(), String::new());
        while !board.is_stopping() && office.is_open() {
            let Err(e) = postman.turn(&self.smtp) else { continue };
            let text = format!("Mail could not be sent: error {}, {}", e.number, e.message);
            if office.is_open() && text != said {
                self.log.entry(SOURCE, &text);
                said = text;
            }
            board.pause(AFTER_FAILURE);
        }
    }

    /// Has a branch for each contained group whose primary is here, until the agent stops.
    fn keep_branches(self: &Arc<Self>) {
        let mut open: Vec<Branch> = Vec::new();
        let mut said = String::new();
        loop {
            let (stays, goes): (Vec<_>, Vec<_>) =
                open.drain(..).partition(|branch| branch.office.is_open() && !branch.thread.is_finished());
            open = stays;
            goes.into_iter().for_each(|branch| branch.close(&self.log));
            for group in self.engine.contained_primaries() {
                let has = |branch: &Branch| branch.office.context() == Some(&group);
                if open.iter().any(has) {
                    continue;
                }
                let office = Office::of_group(&self.engine, &group);
                // It is not writable yet, or not any more: it is looked at again.
                let Some(office) = office.ok().filter(Office::is_open) else { continue };
                match Branch::open(self, office.clone()) {
                    Ok(branch) => {
                        let text = format!("The jobs of availability group '{}' run here.", group.name);
                        self.log.entry(SOURCE, &text);
                        open.push(branch);
                    }
                    Err(e) if office.is_open() => {
                        let text = format!("No job of availability group '{}' runs: {e:#}.", group.name);
                        if text != said {
                            self.log.entry(SOURCE, &text);
                            said = text;
                        }
                    }
                    Err(_) => {}
                }
            }
            let mut stopping = self.stopping.lock();
            if !*stopping {
                self.stops.wait_for(&mut stopping, LOOK_EVERY);
            }
            if *stopping {
                break;
            }
        }
        open.into_iter().for_each(|branch| branch.close(&self.log));
    }
}
