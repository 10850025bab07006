//! What is waited for: by the instance, by each session, and now.

use super::{BIG, DESC, INT, SMALL, SystemView, ViewContext, int, text};
use crate::broker::post::RECEIVE_WAIT;
use crate::engine::{Engine, SessionShared, WAITFOR};
use crate::governor::THROTTLED;
use crate::hadr::WaitTotal;
use keel_types::datetime::TICKS_PER_SECOND;
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_os_wait_stats",
        columns: &[
            ("wait_type", DESC),
            ("waiting_tasks_count", BIG),
            ("wait_time_ms", BIG),
            ("max_wait_time_ms", BIG),
            ("signal_wait_time_ms", BIG),
        ],
        rows: wait_stats,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_waiting_tasks",
        columns: &[
            ("waiting_task_address", SqlType::VarBinary(Length::Limited(8))),
            ("session_id", SMALL),
            ("exec_context_id", INT),
            ("wait_duration_ms", BIG),
            ("wait_type", DESC),
            ("resource_address", SqlType::VarBinary(Length::Limited(8))),
            ("blocking_task_address", SqlType::VarBinary(Length::Limited(8))),
            ("blocking_session_id", SMALL),
            ("blocking_exec_context_id", INT),
            ("resource_description", SqlType::NVarChar(Length::Limited(3072))),
        ],
        rows: waiting_tasks,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_session_wait_stats",
        columns: &[
            ("session_id", SMALL),
            ("wait_type", DESC),
            ("waiting_tasks_count", BIG),
            ("wait_time_ms", BIG),
            ("max_wait_time_ms", BIG),
            ("signal_wait_time_ms", BIG),
        ],
        rows: session_waits,
    },
];

/// What has been waited for since the start, by wait type.
#[must_use]
pub fn waits(engine: &Engine) -> Vec<WaitTotal> {
    let (mut log, mut io, mut stalls) = (keel_node::DbStats::default().log, 0, 0);
    let (mut reads, mut read_nanos) = (0, 0);
    for database in engine.databases() {
        let own = database.store.stats().log;
        log.waits += own.waits;
        log.wait_nanos += own.wait_nanos;
        log.wait_nanos_max = log.wait_nanos_max.max(own.wait_nanos_max);
        stalls += own.append_stalls;
        io += own.flushes;
        log.flush_nanos += own.flush_nanos;
        let file = database.store.store().base().io_stats();
        reads += file.reads;
        read_nanos += file.read_nanos;
    }
    let total =
        |name, count, total_nanos, longest_nanos| WaitTotal { name, count, total_nanos, longest_nanos };
    let mut all = vec![
        total("WRITELOG", log.waits, log.wait_nanos, log.wait_nanos_max),
        total("LOGBUFFER", stalls, 0, 0),
        total("LOGMGR_FLUSH", io, log.flush_nanos, 0),
        total("PAGEIOLATCH_SH", reads, read_nanos, 0),
    ];
    for (name, waits) in [
        (WAITFOR, &engine.waitfor),
        (THROTTLED, &engine.governor().throttled),
        (RECEIVE_WAIT, &engine.broker.receives),
    ] {
        let [count, nanos, longest] = waits.totals();
        all.push(total(name, count, nanos, longest));
    }
    let [helped, help_nanos, help_longest] = engine.workers().waits();
    all.push(total("CXPACKET", helped, help_nanos, help_longest));
    all.extend(engine.hadr().map(|h| h.state().waits.clone()).unwrap_or_default());
    all.extend(engine.instance().locks().wait_stats().into_iter().map(|wait| {
        let nanos = |d: std::time::Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        total(wait.mode.wait_type(), wait.waits, nanos(wait.total), nanos(wait.longest))
    }));
    all
}

/// What each session has waited for since it began.
fn session_waits(cx: &ViewContext<'_>) -> Rows {
    let ms = |nanos: u64| int((nanos / 1_000_000) as i64);
    let mut rows = Rows::new();
    for session in cx.engine.sessions.all() {
        for wait in session.waits.totals() {
            let mut row = vec![int(session.id), text(wait.wait_type), int(wait.count as i64)];
            row.extend([ms(wait.nanos), ms(wait.nanos_max), int(0)]);
            rows.push(row);
        }
    }
    rows
}

fn wait_stats(cx: &ViewContext<'_>) -> Rows {
    let ms = |nanos: u64| int((nanos / 1_000_000) as i64);
    let row = |w: WaitTotal| {
        vec![text(w.name), int(w.count as i64), ms(w.total_nanos), ms(w.longest_nanos), int(0)]
    };
    waits(cx.engine).into_iter().map(row).collect()
}

fn waiting_tasks(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    let now = cx.engine.now_local();
    for session in cx.engine.sessions.all() {
        let Some((wait_type, milliseconds)) = rest_of(&session, now) else { continue };
        let mut row =
            vec![Value::bytes(u64::from(session.id).to_be_bytes().to_vec()), int(session.id), int(0)];
        row.extend([int(milliseconds), text(wait_type)]);
        row.extend([super::NULL, super::NULL, super::NULL, super::NULL, super::NULL]);
        rows.push(row);
    }
    for wait in cx.engine.instance().locks().waiting() {
        let address = |session: u64| Value::bytes(session.to_be_bytes().to_vec());
        for blocker in &wait.blocked_by {
            rows.push(vec![
                address(wait.agent),
                int(wait.agent as i64),
                int(0),
                int(wait.waited.as_millis() as i64),
                text(wait.mode.wait_type()),
                super::NULL,
                address(*blocker),
                int(super::locks::session_of(*blocker)),
                int(0),
                text(wait.resource.as_ref().to_string()),
            ]);
        }
    }
    rows
}

/// What a session's request waits for outside of locks, and for how many milliseconds.
pub(super) fn rest_of(s: &SessionShared, now: i64) -> Option<(&'static str, i64)> {
    let rest = s.resting()?;
    Some((rest.wait_type, (now - rest.since).max(0) / (TICKS_PER_SECOND / 1000)))
}
