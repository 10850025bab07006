//! One run of a job: its steps in the order that they give each other, attempts, what came of it, history.

use super::board::{Board, Start};
use super::clerk::{Clerk, guid, int, number, quoted, text, uuid_text};
use super::mail::{mail_operator, shown_date, shown_time};
use super::schedule::numbers;
use super::step::{Outcome, Owner, Step, Surroundings};
use super::{JobId, Office};
use keel_types::Value;
use keel_types::datetime::TICKS_PER_SECOND;
use keel_types::error::Result;
use std::time::Duration;

/// Characters of a message that the history keeps.
pub(super) const MESSAGE_MAX: usize = 4000;
/// What a job with more steps than it has executed does: it is one that goes round in a circle, and never rests.
const STEPS_MAX: usize = 1_000_000;

/// `run_status` of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0
    Failed = 0,
    /// 1
    Succeeded = 1,
    /// 2: a step failed and is tried again.
    Retry = 2,
    /// 3
    Cancelled = 3,
}

/// What an action of a step says: 1 and 2 end the job, 3 goes on behind it, 4 with the step that is named.
fn follow(action: i64, step: i32, named: i32) -> std::result::Result<i32, Status> {
    match action {
        1 => Err(Status::Succeeded),
        3 => Ok(step + 1),
        4 => Ok(named),
        _ => Err(Status::Failed),
    }
}

/// The job's row.
struct Job {
    name: String,
    owner_sid: Vec<u8>,
    start_step: i32,
    /// When the error log is told: 1 of success, 2 of failure, 3 always.
    log_level: i64,
    /// When the job is deleted, likewise.
    delete_level: i64,
    /// When an operator gets mail, likewise, and which.
    mail_level: i64,
    operator: i32,
}

/// Takes a job off the board, however its run ends: it could never be started again.
struct Ends<'a> {
    board: &'a Board,
    job: JobId,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.board.ended(self.job);
    }
}

/// A run that is to be executed.
pub struct Run {
    office: Office,
    session: i64,
    start: Start,
}

impl Run {
    pub(super) fn new(office: &Office, session: i64, start: Start) -> Run {
        Run { office: office.clone(), session, start }
    }

    /// Executes all of it. To be called on a thread with a session's stack.
    pub fn execute(self) {
        let job = self.start.job;
        let _ends = Ends { board: self.office.board(), job };
        if let Err(e) = self.run() {
            let text = format!("Job {} could not be run: error {}, {}", uuid_text(job), e.number, e.message);
            self.office.engine().options().log.write(&text);
        }
    }

    fn run(&self) -> Result<()> {
        let mut clerk = Clerk::new(&self.office, "SQLAgent - Job Manager")?;
        // It was deleted before its turn came.
        let Some(job) = self.read_job(&mut clerk)? else { return Ok(()) };
        let began = self.office.engine().now_local();
        self.begin(&mut clerk)?;
        let steps = self.read_steps(&mut clerk)?;
        let wanted = self.start.step.as_ref();
        let first = wanted.and_then(|name| steps.iter().find(|s| crate::views::same(&s.name, name)));
        let mut next = first.map_or(job.start_step, |step| step.id);
        let owner = Owner::of(&self.office, &job.owner_sid);
        let (mut status, mut last) = (Status::Failed, None);
        for _ in 0..STEPS_MAX {
            let Some(step) = steps.iter().find(|step| step.id == next) else { break };
            last = Some(step);
            let outcome = self.attempt(&mut clerk, &job, step, owner.as_ref(), began)?;
            let (action, named) = match outcome {
                Status::Succeeded => (step.on_success, step.on_success_step),
                Status::Cancelled => {
                    status = Status::Cancelled;
                    break;
                }
                Status::Failed | Status::Retry => (step.on_fail, step.on_fail_step),
            };
            match follow(action, step.id, named) {
                Ok(step) => next = step,
                Err(ended) => {
                    status = ended;
                    break;
                }
            }
        }
        let message = self.summary(status, last, first);
        self.end(&mut clerk, &job, began, status, &message)
    }

    fn read_job(&self, clerk: &mut Clerk) -> Result<Option<Job>> {
        let rows = clerk.rows(&format!(
            "select name, owner_sid, start_step_id, notify_level_eventlog, delete_level, notify_level_email, notify_email_operator_id
            from dbo.sysjobs where job_id = {}",
            guid(self.start.job)
        ))?;
        Ok(rows.first().map(|row| Job {
            name: text(row, 0),
            owner_sid: match row.get(1) {
                Some(Value::Bytes(sid)) => sid.to_vec(),
                _ => Vec::new(),
            },
            start_step: int(row, 2),
            log_level: number(row, 3),
            delete_level: number(row, 4),
            mail_level: number(row, 5),
            operator: int(row, 6),
        }))
    }

    fn read_steps(&self, clerk: &mut Clerk) -> Result<Vec<Step>> {
        let rows = clerk.rows(&format!(
            "select step_id, step_name, command, flags, on_success_action, on_success_step_id, on_fail_action, on_fail_step_id,
                database_name, database_user_name, retry_attempts, retry_interval, output_file_name
            from dbo.sysjobsteps where job_id = {} order by step_id",
            guid(self.start.job)
        ))?;
        let step = |row: &Vec<Value>| Step {
            id: int(row, 0),
            name: text(row, 1),
            command: text(row, 2),
            flags: number(row, 3),
            on_success: number(row, 4),
            on_success_step: int(row, 5),
            on_fail: number(row, 6),
            on_fail_step: int(row, 7),
            database: text(row, 8),
            user: text(row, 9),
            retries: int(row, 10),
            retry_minutes: u64::try_from(number(row, 11)).unwrap_or(0),
            output: text(row, 12),
        };
        Ok(rows.iter().map(step).collect())
    }

    fn begin(&self, clerk: &mut Clerk) -> Result<()> {
        let (job, session) = (guid(self.start.job), self.session);
        clerk.run(&format!(
            "delete dbo.sysjobactivity where session_id = {session} and job_id = {job};
            insert dbo.sysjobactivity (session_id, job_id, run_requested_date, run_requested_source, start_execution_date)
            select {session}, job_id, getdate(), N'{}', getdate() from dbo.sysjobs where job_id = {job}",
            self.start.source.number()
        ))
    }

    /// A step with its retries.
    fn attempt(
        &self,
        clerk: &mut Clerk,
        job: &Job,
        step: &Step,
        owner: Option<&Owner>,
        began: i64,
    ) -> Result<Status> {
        let id = self.start.job;
        let board = self.office.board();
        for retry in 0..=step.retries.max(0) {
            let at = self.office.engine().now_local();
            let around = Surroundings { office: &self.office, job: id, job_name: &job.name, began, retry };
            let outcome = match owner {
                Some(owner) => step.execute(&around, owner),
                None => {
                    Outcome::refused("Unable to determine the login that owns the job: it has been dropped")
                }
            };
            board.end_step(id);
            let stopped = board.stopped_by(id).is_some();
            let again = !outcome.succeeded && !stopped && retry < step.retries;
            let status = match (outcome.succeeded, stopped, again) {
                (_, true, _) => Status::Cancelled,
                (true, ..) => Status::Succeeded,
                (_, _, true) => Status::Retry,
                _ => Status::Failed,
            };
            self.log(clerk, step.id, &outcome, status, at, retry)?;
            outcome.keep_output(clerk, step, id)?;
            if !again {
                return Ok(status);
            }
            board.rest(id, Duration::from_secs(step.retry_minutes * 60));
            if board.stopped_by(id).is_some() {
                return Ok(Status::Cancelled);
            }
        }
        Ok(Status::Failed)
    }

    /// A row of the history; step 0 is the job's outcome.
    fn log(
        &self,
        clerk: &mut Clerk,
        step: i32,
        outcome: &Outcome,
        status: Status,
        at: i64,
        retries: i32,
    ) -> Result<()> {
        let (date, time) = numbers(at);
        let seconds = (self.office.engine().now_local() - at) / TICKS_PER_SECOND;
        let duration = seconds / 3600 * 10_000 + seconds / 60 % 60 * 100 + seconds % 60;
        let message: String = outcome.message.chars().take(MESSAGE_MAX).collect();
        clerk.run(&format!(
            "exec dbo.sp_sqlagent_log_jobhistory @job_id = {}, @step_id = {step}, @sql_message_id = {}, @sql_severity = {},
                @message = {}, @run_status = {}, @run_date = {date}, @run_time = {time}, @run_duration = {duration},
                @retries_attempted = {retries}, @operator_id_emailed = {}, @session_id = {}",
            guid(self.start.job),
            outcome.number,
            outcome.severity,
            quoted(&message),
            status as i32,
            outcome.mailed,
            self.session
        ))
    }

    /// Which job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.start.job
    }

    fn summary(&self, status: Status, last: Option<&Step>, asked_for: Option<&Step>) -> String {
        let mut said = match (status, self.office.board().stopped_by(self.start.job)) {
            (Status::Succeeded, _) => "The job succeeded.".to_owned(),
            (Status::Cancelled, Some(by)) => format!("The job was stopped prior to completion by {by}."),
            _ => "The job failed.".to_owned(),
        };
        said += &format!("  The Job was invoked by {}.", self.start.source);
        match last {
            Some(step) => said += &format!("  The last step to run was step {} ({}).", step.id, step.name),
            None => said += "  There was no step to run.",
        }
        if let Some(step) = asked_for {
            said += &format!("  The job was requested to start at step {} ({}).", step.id, step.name);
        }
        said
    }

    /// Tells the job's operator how it ended. Returns whether that could be sent.
    fn mail(&self, clerk: &mut Clerk, job: &Job, began: i64, word: &str, message: &str) -> Result<bool> {
        let engine = self.office.engine();
        let seconds = (engine.now_local() - began) / TICKS_PER_SECOND;
        let ((date, time), server) = (numbers(began), &engine.options().server_name);
        let subject = format!("SQL Server Job System: '{}' completed on \\\\{server}", job.name);
        let body = format!(
            "JOB RUN:\t'{}' was run on {} at {}\r\nDURATION:\t{} hours, {} minutes, {} seconds\r\nSTATUS: \t{word}\r\n\
             MESSAGES:\t{message}\r\n",
            job.name,
            shown_date(date),
            shown_time(time),
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        mail_operator(clerk, job.operator, &subject, &body)
    }

    fn end(&self, clerk: &mut Clerk, job: &Job, began: i64, status: Status, message: &str) -> Result<()> {
        let wants = |level: i64| level & if status == Status::Succeeded { 1 } else { 2 } != 0;
        let word = match status {
            Status::Succeeded => "Succeeded",
            Status::Cancelled => "Cancelled",
            Status::Failed | Status::Retry => "Failed",
        };
        let mailed = match wants(job.mail_level) && job.operator != 0 {
            true => self.mail(clerk, job, began, word, message)?,
            false => false,
        };
        let mailed = if mailed { job.operator } else { 0 };
        let outcome = Outcome { message: message.to_owned(), mailed, ..Outcome::default() };
        self.log(clerk, 0, &outcome, status, began, 0)?;
        if wants(job.log_level) {
            let id = uuid_text(self.start.job);
            let text = format!(
                "SQL Server Scheduled Job '{}' ({id}) - Status: {word} - Message: {message}",
                job.name
            );
            self.office.engine().options().log.write(&text);
        }
        if wants(job.delete_level) {
            clerk.run(&format!("exec dbo.sp_delete_job @job_id = {}", guid(self.start.job)))?;
        }
        Ok(())
    }
}
