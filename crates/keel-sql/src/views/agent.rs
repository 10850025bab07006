//! What the agent does now.

use super::{Column, INT, NAME, NULL, SystemView, ViewContext, int, text};
use crate::agent::board::Running;
use crate::agent::install::is_calling;
use keel_types::{SqlType, Value};

const COLUMNS: &[Column] = &[
    ("job_id", super::GUID),
    ("state", INT),
    ("state_desc", super::DESC),
    ("step_id", INT),
    ("step_name", NAME),
    ("retry_attempt", INT),
    ("stopped_by", SqlType::NVarChar(keel_types::Length::Limited(256))),
];

pub(super) static VIEWS: &[SystemView] =
    &[SystemView { schema: "sys", name: "dm_keel_agent_jobs", columns: COLUMNS, rows }];

/// `current_execution_status` of `sp_help_job`.
fn state(running: &Running) -> (i64, &'static str) {
    match running {
        Running { stopped_by: Some(_), .. } => (7, "PERFORMING COMPLETION ACTIONS"),
        Running { between_retries: true, .. } => (3, "BETWEEN RETRIES"),
        Running { step: 0, .. } => (2, "WAITING FOR THREAD"),
        _ => (1, "EXECUTING"),
    }
}

fn rows(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let seen =
        is_calling(cx.info) || cx.info.unrestricted.get() || cx.info.may_on_server("VIEW SERVER STATE");
    if !seen {
        return Vec::new();
    }
    let row = |(job, running): &(crate::agent::JobId, Running)| {
        let (number, word) = state(running);
        let name = if running.step == 0 { NULL } else { text(running.step_name.as_str()) };
        let by = running.stopped_by.as_ref().map_or(NULL, |by| text(by.as_str()));
        vec![Value::Guid(*job), int(number), text(word), int(running.step), name, int(running.retry), by]
    };
    let msdb = cx.info.find_database("msdb");
    msdb.map(|msdb| msdb.agent().all_running()).unwrap_or_default().iter().map(row).collect()
}
