//! What jobs do now and are asked to do, in memory: where sessions, the service and the threads of jobs meet.

use super::JobId;
use crate::session::CancelHandle;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Events that wait for the service at most; what comes while there are as many is not looked at.
const EVENTS_MAX: usize = 1000;

/// Why a job was started, as its history says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `sp_start_job`, by this login.
    User(String),
    /// A schedule: its number and name.
    Schedule(i32, String),
    /// An alert: its number and name.
    Alert(i32, String),
}

impl Source {
    /// `run_requested_source` of `sysjobactivity`: 1 schedule, 2 alert, 4 user.
    #[must_use]
    pub fn number(&self) -> i32 {
        match self {
            Source::Schedule(..) => 1,
            Source::Alert(..) => 2,
            Source::User(_) => 4,
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::User(login) => write!(f, "User {login}"),
            Source::Schedule(id, name) => write!(f, "Schedule {id} ({name})"),
            Source::Alert(id, name) => write!(f, "Alert {id} ({name})"),
        }
    }
}

/// A job that is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Which.
    pub job: JobId,
    /// The step to begin with; `None` for the job's own first.
    pub step: Option<String>,
    /// Who or what wants it.
    pub source: Source,
}

/// An error that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number.
    pub number: i32,
    /// Its severity.
    pub severity: u8,
    /// The database it happened in; empty for none.
    pub database: String,
    /// Its text.
    pub text: String,
}

/// A job that runs.
#[derive(Clone)]
pub struct Running {
    /// Who or what asked for it.
    pub source: Source,
    /// Step under way; 0 before the first.
    pub step: i32,
    /// Its name.
    pub step_name: String,
    /// Which retry of it.
    pub retry: i32,
    /// It waits for the next one.
    pub between_retries: bool,
    /// Who asked for it to stop; empty for nobody.
    pub stopped_by: Option<String>,
    /// The session that executes the step.
    cancel: Option<CancelHandle>,
}

impl Running {
    fn new(source: Source) -> Running {
        Running {
            source,
            step: 0,
            step_name: String::new(),
            retry: 0,
            between_retries: false,
            stopped_by: None,
            cancel: None,
        }
    }
}

/// What the service is woken for.
#[derive(Default)]
pub struct News {
    /// Jobs to start.
    pub starts: Vec<Start>,
    /// Errors that alerts may wait for.
    pub events: Vec<Event>,
    /// The tables may say something else than when they were last read.
    pub changed: bool,
}

#[derive(Default)]
struct State {
    attached: bool,
    stopping: bool,
    starts: VecDeque<Start>,
    events: VecDeque<Event>,
    changed: bool,
    /// Alerts are there that an event could concern.
    listens: bool,
    running: BTreeMap<JobId, Running>,
    /// Mail was put into its table, perhaps by a transaction that has not ended.
    mail: bool,
}

/// One of an instance.
#[derive(Default)]
pub struct Board {
    state: Mutex<State>,
    /// Something was put on the board, or a job has ended.
    moved: Condvar,
}

/// Why a request was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no agent.
    NoAgent,
    /// The job runs already, or is about to, for this one.
    Running(Source),
    /// It does not run.
    NotRunning,
}

impl Board {
    /// The service has begun, or has ended.
    pub fn attach(&self, attached: bool) {
        let mut state = self.state.lock();
        state.attached = attached;
        // One that ends does not call the others back.
        state.stopping &= !attached;
    }

    /// Whether there is an agent that would do what is asked for.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.state.lock().attached
    }

    /// Asks for a job to be started.
    pub fn start(&self, start: Start) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        if !state.attached || state.stopping {
            return Err(Refusal::NoAgent);
        }
        if let Some(running) = state.running.get(&start.job) {
            return Err(Refusal::Running(running.source.clone()));
        }
        state.running.insert(start.job, Running::new(start.source.clone()));
        state.starts.push_back(start);
        self.moved.notify_all();
        Ok(())
    }

    /// Asks for a job to be stopped.
    pub fn stop(&self, job: JobId, by: &str) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        if !state.attached {
            return Err(Refusal::NoAgent);
        }
        let running = state.running.get_mut(&job).ok_or(Refusal::NotRunning)?;
        running.stopped_by.get_or_insert_with(|| by.to_owned());
        if let Some(cancel) = &running.cancel {
            // Not only what runs: the step may be between two batches.
            cancel.end();
        }
        self.moved.notify_all();
        Ok(())
    }

    /// The tables have changed.
    pub fn note_change(&self) {
        self.state.lock().changed = true;
        self.moved.notify_all();
    }

    /// Mail is to be sent, now or when the transaction that says so has ended.
    pub fn note_mail(&self) {
        self.state.lock().mail = true;
        self.moved.notify_all();
    }

    /// Waits until mail is to be sent, or everything is to end, at most for `time`. Returns whether somebody said that there is some.
    pub fn wait_for_mail(&self, time: Duration) -> bool {
        let until = std::time::Instant::now() + time;
        let mut state = self.state.lock();
        while !state.mail && !state.stopping && !self.moved.wait_until(&mut state, until).timed_out() {}
        std::mem::take(&mut state.mail)
    }

    /// An error has been logged. Costs a lock when no alert is defined.
    pub fn note_event(&self, event: impl FnOnce() -> Event) {
        let mut state = self.state.lock();
        if state.listens && state.events.len() < EVENTS_MAX {
            state.events.push_back(event());
            self.moved.notify_all();
        }
    }

    /// Whether alerts are defined.
    pub fn listen(&self, listens: bool) {
        self.state.lock().listens = listens;
    }

    /// Takes what there is to do; waits for it, at most for `time`.
    #[must_use]
    pub fn take(&self, time: Duration) -> News {
        let mut state = self.state.lock();
        if state.starts.is_empty() && state.events.is_empty() && !state.changed && !state.stopping {
            self.moved.wait_for(&mut state, time);
        }
        News {
            starts: state.starts.drain(..).collect(),
            events: state.events.drain(..).collect(),
            changed: std::mem::take(&mut state.changed),
        }
    }

    /// What a job does now; `None` when it does not run.
    #[must_use]
    pub fn running(&self, job: JobId) -> Option<Running> {
        self.state.lock().running.get(&job).cloned()
    }

    /// All jobs that run.
    #[must_use]
    pub fn all_running(&self) -> Vec<(JobId, Running)> {
        self.state.lock().running.iter().map(|(job, running)| (*job, running.clone())).collect()
    }

    /// A step begins in a session. False when the job is to stop instead.
    pub(super) fn begin_step(&self, job: JobId, step: (i32, &str), retry: i32, cancel: CancelHandle) -> bool {
        let mut state = self.state.lock();
        let Some(running) = state.running.get_mut(&job) else { return false };
        (running.step, running.step_name, running.retry) = (step.0, step.1.to_owned(), retry);
        running.between_retries = false;
        running.cancel = Some(cancel);
        running.stopped_by.is_none()
    }

    /// Its session is done.
    pub(super) fn end_step(&self, job: JobId) {
        if let Some(running) = self.state.lock().running.get_mut(&job) {
            running.cancel = None;
        }
    }

    /// Who asked for the job to stop.
    pub(super) fn stopped_by(&self, job: JobId) -> Option<String> {
        self.state.lock().running.get(&job).and_then(|r| r.stopped_by.clone())
    }

    /// Waits between two attempts, unless the job is to stop.
    pub(super) fn rest(&self, job: JobId, time: Duration) {
        let until = std::time::Instant::now() + time;
        let mut state = self.state.lock();
        while let Some(running) = state.running.get_mut(&job).filter(|r| r.stopped_by.is_none()) {
            running.between_retries = true;
            if self.moved.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }

    /// Waits, unless the service is to end.
    pub fn pause(&self, time: Duration) {
        let until = std::time::Instant::now() + time;
        let mut state = self.state.lock();
        while !state.stopping && !self.moved.wait_until(&mut state, until).timed_out() {}
    }

    /// The job has ended, or does not begin.
    pub fn ended(&self, job: JobId) {
        let mut state = self.state.lock();
        state.running.remove(&job);
        // Its owner may have set it to be deleted.
        state.changed = true;
        self.moved.notify_all();
    }

    /// Ends all jobs, and waits until they have ended, at most for `time`. Returns whether they have.
    pub fn stop_all(&self, time: Duration) -> bool {
        let until = std::time::Instant::now() + time;
        let mut state = self.state.lock();
        state.stopping = true;
        for start in std::mem::take(&mut state.starts) {
            state.running.remove(&start.job);
        }
        for running in state.running.values_mut() {
            running.stopped_by.get_or_insert_with(|| "the end of the server".to_owned());
            if let Some(cancel) = &running.cancel {
                cancel.end();
            }
        }
        self.moved.notify_all();
        while !state.running.is_empty() {
            if self.moved.wait_until(&mut state, until).timed_out() {
                return false;
            }
        }
        true
    }

    /// Whether the service is to end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }
}
