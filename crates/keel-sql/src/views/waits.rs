//! `sys.dm_os_wait_stats`: waits for locks by mode, and for the log.

use super::{BIG, DESC, INT, SMALL, SystemView, ViewContext, int, text};
use keel_store::lock::Mode;
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
];

/// The wait type of a lock mode.
pub(super) fn lock_wait(mode: Mode) -> &'static str {
    match mode {
        Mode::SchS => "LCK_M_SCH_S",
        Mode::SchM => "LCK_M_SCH_M",
        Mode::IS => "LCK_M_IS",
        Mode::S => "LCK_M_S",
        Mode::U => "LCK_M_U",
        Mode::IX => "LCK_M_IX",
        Mode::SIX => "LCK_M_SIX",
        Mode::BU => "LCK_M_BU",
        Mode::X => "LCK_M_X",
        Mode::RangeSS => "LCK_M_RS_S",
        Mode::RangeSU => "LCK_M_RS_U",
        Mode::RangeIN => "LCK_M_RIn_NL",
        Mode::RangeXX => "LCK_M_RX_X",
    }
}

fn wait_stats(cx: &ViewContext<'_>) -> Rows {
    let row = |name: &str, count: u64, total_nanos: u64, longest_nanos: u64| {
        let ms = |nanos: u64| int((nanos / 1_000_000) as i64);
        vec![text(name), int(count as i64), ms(total_nanos), ms(longest_nanos), int(0)]
    };
    let (mut log, mut io, mut stalls) = (keel_node::DbStats::default().log, 0, 0);
    let (mut reads, mut read_nanos) = (0, 0);
    for database in cx.engine.databases() {
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
    let mut rows = vec![
        row("WRITELOG", log.waits, log.wait_nanos, log.wait_nanos_max),
        row("LOGBUFFER", stalls, 0, 0),
        row("LOGMGR_FLUSH", io, log.flush_nanos, 0),
        row("PAGEIOLATCH_SH", reads, read_nanos, 0),
    ];
    for wait in &super::hadr::state(cx).waits {
        rows.push(row(wait.name, wait.count, wait.total_nanos, wait.longest_nanos));
    }
    for wait in cx.engine.instance().locks().wait_stats() {
        let nanos = |d: std::time::Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        rows.push(row(lock_wait(wait.mode), wait.waits, nanos(wait.total), nanos(wait.longest)));
    }
    rows
}

fn waiting_tasks(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for wait in cx.engine.instance().locks().waiting() {
        let address = |session: u64| Value::bytes(session.to_be_bytes().to_vec());
        for blocker in &wait.blocked_by {
            rows.push(vec![
                address(wait.agent),
                int(wait.agent as i64),
                int(0),
                int(wait.waited.as_millis() as i64),
                text(lock_wait(wait.mode)),
                super::NULL,
                address(*blocker),
                int(*blocker as i64),
                int(0),
                text(wait.resource.as_ref().to_string()),
            ]);
        }
    }
    rows
}
