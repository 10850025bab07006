//! What the agent's procedures in `msdb` tell the agent.

use super::{Outcome, argument, string};
use crate::agent::JobId;
use crate::agent::board::{Refusal, Source, Start};
use crate::agent::install::is_calling;
use crate::errors;
use crate::run::{Argument, Returned, Runner};
use keel_types::cast;
use keel_types::{SqlError, SqlType, Value};

/// `xp_sqlagent_notify @op_type, @job_id, @schedule_id, @alert_id, @action_type, @step_name`: a job (J) is to start (S) or to be
/// cancelled (C), is about to be deleted (D), what is kept of jobs, schedules (S) or alerts (A) has changed, or mail (M) is to be sent. For the procedures of
/// `msdb`, which have asked who it is, and for administrators; 229 for others. 22022 when there is no agent or the job is not in a state for it.
pub(super) fn xp_sqlagent_notify(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    if !is_calling(runner.info) && !runner.info.unrestricted.get() {
        let name = "xp_sqlagent_notify";
        return Err(errors::permission_denied("EXECUTE", name, "mssqlsystemresource", "sys").into());
    }
    let (what, action) = (string(args, "op_type", 0), string(args, "action_type", 4));
    let job: Option<JobId> = match argument(args, "job_id", 1).and_then(|a| Some((a.value.as_ref()?, a.ty))) {
        Some((Value::Null, _)) | None => None,
        Some((value, ty)) => match cast::convert(value, ty, SqlType::UniqueIdentifier)? {
            Value::Guid(id) => Some(id),
            _ => None,
        },
    };
    let msdb = runner.info.find_database("msdb").ok_or_else(|| errors::no_database("msdb"))?;
    if runner.info.context().is_some() && msdb.is_copy() {
        runner.report(&crate::hadr::errors::jobs_on_primary());
        return Ok(Returned { status: 1, ..Returned::default() });
    }
    let board = msdb.agent();
    let login = runner.info.login().to_string();
    let refused = match (what.as_deref(), action.as_deref(), job) {
        (Some("J"), Some("S"), Some(job)) => {
            let step = string(args, "step_name", 5);
            board.start(Start { job, step, source: Source::User(login.clone()) }).err()
        }
        (Some("J"), Some("C"), Some(job)) => board.stop(job, &format!("User {login}")).err(),
        (Some("M"), ..) => {
            board.note_mail();
            None
        }
        (_, action, job) => {
            if let (Some("D"), Some(job), Some("J")) = (action, job, what.as_deref()) {
                // One that does not run has nothing to stop.
                let _ = board.stop(job, &format!("User {login}"));
            }
            board.note_change();
            None
        }
    };
    match refused {
        None => Ok(Returned::default()),
        Some(why) => {
            let error = refusal(why, job.unwrap_or_default(), &login);
            runner.report(&error);
            Ok(Returned { status: 1, ..Returned::default() })
        }
    }
}

fn refusal(why: Refusal, job: JobId, login: &str) -> SqlError {
    let id = crate::convert::display(&Value::Guid(job));
    let text = match why {
        Refusal::NoAgent => {
            "SQLServerAgent is not currently running so it cannot be notified of this action.".to_owned()
        }
        Refusal::Running(by) => format!(
            "SQLServerAgent Error: Request to run job {id} (from User {login}) refused because the job is already running from a \
             request by {by}."
        ),
        Refusal::NotRunning => format!(
            "SQLServerAgent Error: Request to stop job {id} (from User {login}) refused because the job is not currently running."
        ),
    };
    *SqlError::new(22022, 16, 1, text)
}
