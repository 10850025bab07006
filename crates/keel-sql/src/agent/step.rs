//! One attempt at a step: a session of the job's owner, its messages as the history keeps them, its output.
//!
//! As in the product a step ends with its first error that nobody catches, its batches are cut at GO, QUOTED_IDENTIFIER is off, and what
//! stands in `$(ESCAPE_SQUOTE(…))` and its kin is put in before.

use super::clerk::{Clerk, guid, options, quoted};
use super::schedule::numbers;
use super::{JobId, Office};
use crate::convert;
use crate::session::{CancelHandle, Session, SessionOptions};
use crate::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_parser::split::split_go;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::fmt::Write as _;
use std::io::Write as _;

/// Characters of output that are kept for the history, a table or a file.
const OUTPUT_MAX: usize = 4 << 20;
/// `flags` of a step.
mod flags {
    /// The output file is appended to.
    pub(super) const APPEND: i64 = 2;
    /// The history has the output too.
    pub(super) const IN_HISTORY: i64 = 4;
    /// A table has the output of the last run.
    pub(super) const TABLE: i64 = 8;
    /// Of all runs.
    pub(super) const TABLE_APPEND: i64 = 16;
}

/// A row of `sysjobsteps`.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) id: i32,
    pub(super) name: String,
    pub(super) command: String,
    pub(super) flags: i64,
    pub(super) on_success: i64,
    pub(super) on_success_step: i32,
    pub(super) on_fail: i64,
    pub(super) on_fail_step: i32,
    pub(super) database: String,
    /// The user of that database that it runs as; empty for the owner's own.
    pub(super) user: String,
    pub(super) retries: i32,
    pub(super) retry_minutes: u64,
    /// Output file; empty for none.
    pub(super) output: String,
}

/// The login that a job runs as.
pub(super) struct Owner {
    name: String,
    sysadmin: bool,
}

impl Owner {
    /// The login of that security identifier. One that is disabled may own jobs: `sa` often is.
    pub(super) fn of(office: &Office, sid: &[u8]) -> Option<Owner> {
        let logins = office.engine().master_in(office.context()).and_then(|master| master.logins()).ok()?;
        logins.of_sid(sid).map(|login| Owner { name: login.name.clone(), sysadmin: login.sysadmin })
    }
}

/// What a step is a part of.
pub(super) struct Surroundings<'a> {
    pub(super) office: &'a Office,
    pub(super) job: JobId,
    pub(super) job_name: &'a str,
    /// When the job began, local ticks.
    pub(super) began: i64,
    pub(super) retry: i32,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) succeeded: bool,
    pub(super) message: String,
    /// The first error; 0 without one.
    pub(super) number: i32,
    pub(super) severity: u8,
    /// Rows and messages as text, when somebody wants to keep them.
    pub(super) output: String,
    /// Number of the operator who was mailed; 0 for nobody.
    pub(super) mailed: i32,
}

impl Outcome {
    /// It did not begin.
    pub(super) fn refused(why: &str) -> Outcome {
        Outcome { message: format!("{}.  The step failed.", why.trim_end_matches('.')), ..Outcome::default() }
    }

    /// Writes the output where the step wants it.
    pub(super) fn keep_output(&self, clerk: &mut Clerk, step: &Step, job: JobId) -> Result<()> {
        if step.flags & (flags::TABLE | flags::TABLE_APPEND) == 0 {
            return Ok(());
        }
        let append = i32::from(step.flags & flags::TABLE_APPEND != 0);
        clerk.run(&format!(
            "exec dbo.sp_write_sysjobstep_log {}, {}, {}, {append}",
            guid(job),
            step.id,
            quoted(&self.output)
        ))
    }
}

impl Step {
    /// Executes it once.
    pub(super) fn execute(&self, around: &Surroundings<'_>, owner: &Owner) -> Outcome {
        let mut session = match around.office.engine().session(self.session(around, owner)) {
            Ok(session) => session,
            Err(e) => return Outcome::refused(&e.message),
        };
        session.classify();
        let cancel = session.cancel_handle();
        let begun =
            around.office.board().begin_step(around.job, (self.id, &self.name), around.retry, cancel.clone());
        if !begun {
            return Outcome::refused("The job was stopped");
        }
        let mut heard = Heard { cancel: Some(cancel), keeps: self.keeps_output(), ..Heard::default() };
        heard.run(&mut session, "SET QUOTED_IDENTIFIER OFF");
        if !self.user.is_empty() {
            heard.run(&mut session, &format!("EXECUTE AS USER = {} WITH NO REVERT", quoted(&self.user)));
        }
        let command = self.with_tokens(&self.command, around);
        for batch in split_go(&command) {
            for _ in 0..batch.count {
                if heard.error.is_none() {
                    heard.run(&mut session, batch.text);
                }
            }
        }
        if around.office.board().stopped_by(around.job).is_some() {
            heard.error.get_or_insert((0, 0));
            heard.said = "The step was cancelled (stopped) as the result of a stop job request.  ".to_owned();
        } else if session.is_ended() && heard.error.is_none() {
            heard.error = Some((0, 0));
            heard.said.push_str("The session was ended.  ");
        }
        if let Err(e) = self.write_file(&heard.output, around) {
            let _ = write!(heard.said, "Warning: cannot write logfile {} ({e}).  ", self.output);
        }
        let who = if self.user.is_empty() { &owner.name } else { &self.user };
        heard.outcome(who, self.flags & flags::IN_HISTORY != 0)
    }

    fn session(&self, around: &Surroundings<'_>, owner: &Owner) -> SessionOptions {
        let program = format!("SQLAgent - TSQL JobStep (Job {} : Step {})", hex(around.job), self.id);
        let database = if self.database.is_empty() { "master" } else { &self.database };
        SessionOptions {
            login: owner.name.clone(),
            sysadmin: owner.sysadmin,
            ..options(around.office, &program, database)
        }
    }

    fn keeps_output(&self) -> bool {
        let kept = flags::IN_HISTORY | flags::TABLE | flags::TABLE_APPEND;
        self.flags & kept != 0 || !self.output.is_empty()
    }

    fn write_file(&self, output: &str, around: &Surroundings<'_>) -> std::io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        // A path that is relative is one in the directory of the error log.
        let path = around
            .office
            .engine()
            .options()
            .data_dir
            .join("log")
            .join(self.with_tokens(&self.output, around));
        let append = self.flags & flags::APPEND != 0;
        let mut file = std::fs::OpenOptions::new();
        let mut file = file.create(true).write(true).append(append).truncate(!append).open(path)?;
        file.write_all(output.as_bytes())
    }

    /// Puts in what `$(ESCAPE_SQUOTE(JOBID))` and its kin stand for; what is not known stays as it is.
    fn with_tokens(&self, text: &str, around: &Surroundings<'_>) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, after)) = rest.split_once("$(ESCAPE_") {
            out.push_str(before);
            let found = after.split_once("))").and_then(|(inside, behind)| {
                let (kind, token) = inside.split_once('(')?;
                let value = self.token(token, around)?;
                let value = match kind {
                    "SQUOTE" => value.replace('\'', "''"),
                    "DQUOTE" => value.replace('"', "\"\""),
                    "RBRACKET" => value.replace(']', "]]"),
                    "NONE" => value,
                    _ => return None,
                };
                Some((value, behind))
            });
            match found {
                Some((value, behind)) => {
                    out.push_str(&value);
                    rest = behind;
                }
                None => {
                    out.push_str("$(ESCAPE_");
                    rest = after;
                }
            }
        }
        out + rest
    }

    fn token(&self, token: &str, around: &Surroundings<'_>) -> Option<String> {
        let engine = around.office.engine();
        let server = &engine.options().server_name;
        let (now, began) = (numbers(engine.now_local()), numbers(around.began));
        Some(match token {
            "JOBID" => hex(around.job),
            "JOBNAME" => around.job_name.to_owned(),
            "STEPID" => self.id.to_string(),
            "STEPNAME" => self.name.clone(),
            "STEPCT" => (around.retry + 1).to_string(),
            "SRVR" => server.clone(),
            "MACH" => crate::views::machine_of(server).to_owned(),
            "INST" => server.split_once('\\').map_or_else(String::new, |(_, name)| name.to_owned()),
            "DATE" => now.0.to_string(),
            "TIME" => format!("{:06}", now.1),
            "STRTDT" => began.0.to_string(),
            "STRTTM" => format!("{:06}", began.1),
            "SQLDIR" => engine.options().data_dir.display().to_string(),
            "SQLLOGDIR" => engine.options().data_dir.join("log").display().to_string(),
            _ => return None,
        })
    }
}

/// An id as the agent writes it: its bytes.
fn hex(job: JobId) -> String {
    job.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Listens to a step's session.
#[derive(Default)]
struct Heard {
    cancel: Option<CancelHandle>,
    /// Messages as the history has them.
    said: String,
    /// Number and severity of the first error.
    error: Option<(i32, u8)>,
    /// Rows are wanted.
    keeps: bool,
    /// Types of the result set's columns.
    types: Vec<SqlType>,
    output: String,
}

impl Heard {
    fn run(&mut self, session: &mut Session, text: &str) {
        session.execute_batch(text, self);
    }

    fn keep(&mut self, line: &str) {
        if self.keeps && self.output.len() + line.len() < OUTPUT_MAX {
            self.output.push_str(line);
            self.output.push('\n');
        }
    }

    fn outcome(self, who: &str, with_output: bool) -> Outcome {
        let succeeded = self.error.is_none();
        let (number, severity) = self.error.unwrap_or_default();
        let end = if succeeded { "The step succeeded." } else { "The step failed." };
        let mut message = format!("Executed as user: {who}. {}", self.said);
        if with_output {
            message += &self.output;
        }
        // However much was said, the end of it is how it ended.
        let room = super::job::MESSAGE_MAX - end.len() - 2;
        if let Some((at, _)) = message.char_indices().nth(room) {
            message.truncate(at);
        }
        message.truncate(message.trim_end().len());
        Outcome {
            succeeded,
            message: format!("{message}  {end}"),
            number,
            severity,
            output: self.output,
            mailed: 0,
        }
    }
}

impl ResultSink for Heard {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.types = columns.iter().map(|c| c.ty).collect();
        let names = columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join("  ");
        let rule = "-".repeat(names.chars().count());
        self.keep(&names);
        self.keep(&rule);
    }
    fn row(&mut self, row: &[Value]) -> std::result::Result<(), SinkClosed> {
        if self.keeps {
            let shown = |(v, ty): (&Value, &SqlType)| match v {
                Value::Null => "NULL".to_owned(),
                v => convert::display_typed(v, *ty),
            };
            let line = row.iter().zip(&self.types).map(shown).collect::<Vec<_>>().join("  ");
            self.keep(&line);
        }
        Ok(())
    }
    fn done(&mut self, done: DoneInfo) {
        if let Some(count) = done.count.filter(|_| self.keeps) {
            self.keep(&format!("({count} rows affected)"));
        }
    }
    fn message(&mut self, message: &SqlError) {
        let text = &message.message;
        // What it does until it notices that it is to end is not listened to.
        if self.error.is_some() {
            return;
        }
        if message.severity <= 10 {
            let _ = write!(self.said, "{text} [SQLSTATE 01000] (Message {})  ", message.number);
        } else {
            let _ = write!(self.said, "{text} [SQLSTATE 42000] (Error {}).  ", message.number);
            self.error = Some((message.number, message.severity));
            // Nothing of the step is executed behind its first error.
            if let Some(cancel) = &self.cancel {
                cancel.cancel();
            }
        }
        let line = match message.severity {
            0..=10 => text.clone(),
            severity => format!("Msg {}, Level {severity}, State {}: {text}", message.number, message.state),
        };
        self.keep(&line);
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}
