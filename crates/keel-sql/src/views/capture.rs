//! Change data capture: how telling goes on, and its jobs.

use super::{BIG, BIT, Column, DATE, GUID, INT, NULL, SystemView, ViewContext, bit, date, int, text};
use crate::capture::{job_id, lsn_text};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const LSN: SqlType = SqlType::NVarChar(Length::Limited(23));
const N20: SqlType = SqlType::NVarChar(Length::Limited(20));

const SESSIONS: &[Column] = &[
    ("session_id", INT),
    ("start_time", DATE),
    ("end_time", DATE),
    ("duration", BIG),
    ("scan_phase", SqlType::NVarChar(Length::Limited(200))),
    ("error_count", INT),
    ("start_lsn", LSN),
    ("current_lsn", LSN),
    ("end_lsn", LSN),
    ("tran_count", BIG),
    ("last_commit_lsn", LSN),
    ("last_commit_time", DATE),
    ("log_record_count", BIG),
    ("schema_change_count", INT),
    ("command_count", BIG),
    ("first_begin_cdc_lsn", LSN),
    ("last_commit_cdc_lsn", LSN),
    ("last_commit_cdc_time", DATE),
    ("latency", INT),
    ("empty_scan_count", INT),
    ("failed_sessions_count", INT),
];

const ERRORS: &[Column] = &[
    ("session_id", INT),
    ("phase_number", INT),
    ("entry_time", DATE),
    ("error_number", INT),
    ("error_severity", INT),
    ("error_state", INT),
    ("error_message", SqlType::NVarChar(Length::Limited(1024))),
    ("start_lsn", LSN),
    ("begin_lsn", LSN),
    ("sequence_value", LSN),
];

/// `msdb.dbo.cdc_jobs`
pub(super) const JOBS: &[Column] = &[
    ("database_id", INT),
    ("job_type", N20),
    ("job_id", GUID),
    ("maxtrans", INT),
    ("maxscans", INT),
    ("continuous", BIT),
    ("pollinginterval", BIG),
    ("retention", BIG),
    ("threshold", BIG),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_cdc_log_scan_sessions", columns: SESSIONS, rows: sessions },
    SystemView { schema: "sys", name: "dm_cdc_errors", columns: ERRORS, rows: errors },
];

fn big(n: impl TryInto<i64>) -> Value {
    Value::Int(n.try_into().unwrap_or(i64::MAX))
}

/// Each time that something was told, of the last ones.
fn sessions(cx: &ViewContext<'_>) -> Rows {
    let row = |s: crate::capture::ScanSession| {
        let seconds = |from: i64, to: i64| (to - from).max(0) / keel_types::datetime::TICKS_PER_SECOND;
        let (first, last) = s.lsns();
        let (first, last) = (|| text(first.as_str()), || text(last.as_str()));
        let mut row = vec![int(s.id), date(s.started), date(s.ended), big(seconds(s.started, s.ended))];
        row.extend([text("Done"), int(0), first(), last(), last(), big(s.transactions), last()]);
        row.extend([date(s.last_time), big(s.rows), int(0), big(s.rows), first(), last()]);
        row.extend([date(s.last_time), big(seconds(s.last_time, s.ended)), int(0), int(0)]);
        row
    };
    cx.entry.capture.sessions().into_iter().map(row).collect()
}

fn errors(cx: &ViewContext<'_>) -> Rows {
    let none = || text(lsn_text(0));
    let row = |e: crate::capture::Refused| {
        let mut row = vec![int(0), int(0), date(e.at), int(e.error.number), int(e.error.severity)];
        row.extend([int(e.error.state), text(e.error.message.clone()), none(), none(), none()]);
        row
    };
    cx.entry.capture.refusals().into_iter().map(row).collect()
}

/// The jobs of all databases.
pub(super) fn jobs(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for entry in cx.engine.databases() {
        let Some(settings) = entry.picture().settings().capture else { continue };
        let id = |cleanup| Value::Guid(job_id(&entry, cleanup));
        if let Some(job) = settings.capture {
            let mut row = vec![int(entry.id.0), text("capture"), id(false), big(job.maxtrans)];
            row.extend([big(job.maxscans), bit(job.continuous), big(job.pollinginterval), big(0), big(0)]);
            rows.push(row);
        }
        if let Some(job) = settings.cleanup {
            let mut row = vec![int(entry.id.0), text("cleanup"), id(true), NULL, NULL, NULL, NULL];
            row.extend([big(job.retention), big(job.threshold)]);
            rows.push(row);
        }
    }
    rows
}
