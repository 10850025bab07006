//! Sessions, requests, connections, locks.

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, NAME, NULL, SMALL, SystemView, VARIANT, ViewContext, bit, date,
    int, text,
};
use crate::engine::SessionShared;
use keel_types::{Length, SqlType, Value};
use std::sync::atomic::Ordering;

type Rows = Vec<Vec<Value>>;

const STATUS: SqlType = SqlType::NVarChar(Length::Limited(30));
const ADDRESS: SqlType = SqlType::VarChar(Length::Limited(48));

const SESSION: &[Column] = &[
    ("session_id", SMALL),
    ("login_time", DATE),
    ("host_name", NAME),
    ("program_name", NAME),
    ("host_process_id", INT),
    ("client_version", INT),
    ("client_interface_name", NAME),
    ("security_id", super::SID),
    ("login_name", NAME),
    ("nt_domain", NAME),
    ("nt_user_name", NAME),
    ("status", STATUS),
    ("context_info", super::SID),
    ("cpu_time", INT),
    ("memory_usage", INT),
    ("total_scheduled_time", INT),
    ("total_elapsed_time", INT),
    ("endpoint_id", INT),
    ("last_request_start_time", DATE),
    ("last_request_end_time", DATE),
    ("reads", BIG),
    ("writes", BIG),
    ("logical_reads", BIG),
    ("is_user_process", BIT),
    ("text_size", INT),
    ("language", NAME),
    ("date_format", SqlType::NVarChar(Length::Limited(3))),
    ("date_first", SMALL),
    ("quoted_identifier", BIT),
    ("arithabort", BIT),
    ("ansi_null_dflt_on", BIT),
    ("ansi_defaults", BIT),
    ("ansi_warnings", BIT),
    ("ansi_padding", BIT),
    ("ansi_nulls", BIT),
    ("concat_null_yields_null", BIT),
    ("transaction_isolation_level", SMALL),
    ("lock_timeout", INT),
    ("deadlock_priority", INT),
    ("row_count", BIG),
    ("prev_error", INT),
    ("original_security_id", super::SID),
    ("original_login_name", NAME),
    ("last_successful_logon", DATE),
    ("last_unsuccessful_logon", DATE),
    ("unsuccessful_logons", BIG),
    ("group_id", INT),
    ("database_id", SMALL),
    ("authenticating_database_id", INT),
    ("open_transaction_count", INT),
];

const REQUEST: &[Column] = &[
    ("session_id", SMALL),
    ("request_id", INT),
    ("start_time", DATE),
    ("status", STATUS),
    ("command", SqlType::NVarChar(Length::Limited(32))),
    ("sql_handle", super::SID),
    ("statement_start_offset", INT),
    ("statement_end_offset", INT),
    ("plan_handle", super::SID),
    ("database_id", SMALL),
    ("user_id", INT),
    ("connection_id", GUID),
    ("blocking_session_id", SMALL),
    ("wait_type", DESC),
    ("wait_time", INT),
    ("last_wait_type", DESC),
    ("wait_resource", SqlType::NVarChar(Length::Limited(256))),
    ("open_transaction_count", INT),
    ("open_resultset_count", INT),
    ("transaction_id", BIG),
    ("percent_complete", SqlType::Real),
    ("cpu_time", INT),
    ("total_elapsed_time", INT),
    ("reads", BIG),
    ("writes", BIG),
    ("logical_reads", BIG),
    ("text_size", INT),
    ("row_count", BIG),
    ("transaction_isolation_level", SMALL),
];

const CONNECTION: &[Column] = &[
    ("session_id", INT),
    ("most_recent_session_id", INT),
    ("connect_time", DATE),
    ("net_transport", SqlType::NVarChar(Length::Limited(40))),
    ("protocol_type", SqlType::NVarChar(Length::Limited(40))),
    ("protocol_version", INT),
    ("endpoint_id", INT),
    ("encrypt_option", SqlType::NVarChar(Length::Limited(40))),
    ("auth_scheme", SqlType::NVarChar(Length::Limited(40))),
    ("node_affinity", SMALL),
    ("num_reads", INT),
    ("num_writes", INT),
    ("last_read", DATE),
    ("last_write", DATE),
    ("net_packet_size", INT),
    ("client_net_address", ADDRESS),
    ("client_tcp_port", INT),
    ("local_net_address", ADDRESS),
    ("local_tcp_port", INT),
    ("connection_id", GUID),
];

const PROCESS: &[Column] = &[
    ("spid", SMALL),
    ("kpid", SMALL),
    ("blocked", SMALL),
    ("waittype", super::SID),
    ("waittime", BIG),
    ("lastwaittype", SqlType::NChar(32)),
    ("waitresource", SqlType::NChar(256)),
    ("dbid", SMALL),
    ("uid", SMALL),
    ("cpu", INT),
    ("physical_io", BIG),
    ("memusage", INT),
    ("login_time", DATE),
    ("last_batch", DATE),
    ("ecid", SMALL),
    ("open_tran", SMALL),
    ("status", SqlType::NChar(30)),
    ("sid", super::SID),
    ("hostname", SqlType::NChar(128)),
    ("program_name", SqlType::NChar(128)),
    ("hostprocess", SqlType::NChar(10)),
    ("cmd", SqlType::NChar(26)),
    ("loginame", SqlType::NChar(128)),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_exec_sessions", columns: SESSION, rows: sessions },
    SystemView { schema: "sys", name: "dm_exec_requests", columns: REQUEST, rows: requests },
    SystemView { schema: "sys", name: "dm_exec_connections", columns: CONNECTION, rows: connections },
    SystemView { schema: "sys", name: "sysprocesses", columns: PROCESS, rows: processes },
    SystemView {
        schema: "sys",
        name: "dm_os_sys_info",
        columns: &[
            ("cpu_count", INT),
            ("hyperthread_ratio", INT),
            ("physical_memory_kb", BIG),
            ("committed_kb", BIG),
            ("committed_target_kb", BIG),
            ("sqlserver_start_time", DATE),
            ("scheduler_count", INT),
            ("max_workers_count", INT),
            ("virtual_machine_type_desc", DESC),
        ],
        rows: sys_info,
    },
    SystemView {
        schema: "sys",
        name: "session_context",
        columns: &[("key", NAME), ("value", VARIANT), ("is_read_only", BIT)],
        rows: |cx| {
            let context = cx.info.shared.context.lock();
            context.iter().map(|(k, (v, locked))| vec![text(k.clone()), v.clone(), bit(*locked)]).collect()
        },
    },
];

fn sessions(cx: &ViewContext<'_>) -> Rows {
    cx.engine.sessions.all().iter().map(|s| session(cx, s)).collect()
}

fn status(s: &SessionShared) -> &'static str {
    if s.running.load(Ordering::Relaxed) { "running" } else { "sleeping" }
}

fn session(cx: &ViewContext<'_>, s: &SessionShared) -> Vec<Value> {
    let login = &s.login;
    let ansi = bit(login.ansi_defaults);
    let own = s.id == cx.info.shared.id;
    let isolation = if own {
        use keel_query::IsolationLevel as L;
        match cx.info.options.borrow().isolation {
            L::ReadUncommitted => 1,
            L::ReadCommitted => 2,
            L::RepeatableRead => 3,
            L::Serializable => 4,
            L::Snapshot => 5,
        }
    } else {
        2
    };
    let mut row =
        vec![int(s.id), date(s.connected), text(login.host_name.as_str()), text(login.app_name.as_str())];
    row.extend([int(login.client_pid), int(7), text(login.client_interface.as_str()), Value::bytes(vec![1])]);
    row.extend([text(login.login.as_str()), text(""), text(""), text(status(s)), NULL]);
    row.extend([int(0), int(2), int(0), int(0), int(4)]);
    row.extend([
        date(s.request_started.load(Ordering::Relaxed)),
        date(s.request_ended.load(Ordering::Relaxed)),
    ]);
    row.extend([int(0), int(0), int(0), bit(true), int(i32::MAX), text("us_english"), text("mdy"), int(7)]);
    row.extend([
        ansi.clone(),
        bit(false),
        ansi.clone(),
        bit(false),
        ansi.clone(),
        ansi.clone(),
        ansi.clone(),
        ansi,
    ]);
    row.extend([int(isolation), int(-1), int(0), int(s.rows.load(Ordering::Relaxed) as i64), int(0)]);
    row.extend([Value::bytes(vec![1]), text(login.login.as_str()), NULL, NULL, NULL, int(2)]);
    row.extend([
        int(s.database.load(Ordering::Relaxed)),
        int(1),
        int(s.transactions.load(Ordering::Relaxed)),
    ]);
    row
}

fn requests(cx: &ViewContext<'_>) -> Rows {
    let waiting = cx.engine.instance().locks().waiting();
    let mut rows = Vec::new();
    for s in cx.engine.sessions.all() {
        if !s.running.load(Ordering::Relaxed) {
            continue;
        }
        let wait = waiting.iter().find(|w| w.agent == u64::from(s.id));
        let blocker = wait.and_then(|w| w.blocked_by.first()).map_or(0, |b| *b as i64);
        let wait_type = wait.map_or(NULL, |w| text(format!("LCK_M_{}", w.mode)));
        let waited = wait.map_or(0, |w| w.waited.as_millis() as i64);
        let resource = wait.map_or_else(String::new, |w| w.resource.as_ref().to_string());
        let state = if wait.is_some() { "suspended" } else { "running" };
        let mut row = vec![int(s.id), int(0), date(s.request_started.load(Ordering::Relaxed)), text(state)];
        row.extend([
            text("SELECT"),
            NULL,
            NULL,
            NULL,
            NULL,
            int(s.database.load(Ordering::Relaxed)),
            int(1),
            NULL,
        ]);
        row.extend([int(blocker), wait_type.clone(), int(waited), wait_type, text(resource)]);
        row.extend([int(s.transactions.load(Ordering::Relaxed)), int(1), int(0), Value::Float(0.0)]);
        row.extend([int(0), int(0), int(0), int(0), int(0), int(i32::MAX), int(0), int(2)]);
        rows.push(row);
    }
    rows
}

fn connections(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &SessionShared| {
        let login = &s.login;
        let mut row = vec![
            int(s.id),
            int(s.id),
            date(s.connected),
            text("TCP"),
            text("TSQL"),
            int(0x7400_0004),
            int(4),
        ];
        row.extend([
            text(if login.encrypted { "TRUE" } else { "FALSE" }),
            text("SQL"),
            int(0),
            int(0),
            int(0),
        ]);
        row.extend([date(s.connected), date(s.connected), int(login.packet_size)]);
        row.extend([text(login.client_address.as_str()), NULL, text("127.0.0.1"), int(1433), NULL]);
        row
    };
    cx.engine.sessions.all().iter().map(|s| row(s)).collect()
}

fn processes(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &SessionShared| {
        let login = &s.login;
        let mut row = vec![int(s.id), int(0), int(0), NULL, int(0), text("MISCELLANEOUS"), text("")];
        row.extend([
            int(s.database.load(Ordering::Relaxed)),
            int(1),
            int(0),
            int(0),
            int(0),
            date(s.connected),
        ]);
        row.extend([date(s.request_started.load(Ordering::Relaxed)), int(0)]);
        row.extend([int(s.transactions.load(Ordering::Relaxed)), text(status(s)), Value::bytes(vec![1])]);
        row.extend([
            text(login.host_name.as_str()),
            text(login.app_name.as_str()),
            text(login.client_pid.to_string()),
        ]);
        row.extend([text("AWAITING COMMAND"), text(login.login.as_str())]);
        row
    };
    cx.engine.sessions.all().iter().map(|s| row(s)).collect()
}

fn sys_info(cx: &ViewContext<'_>) -> Rows {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as i64);
    let memory = cx.engine.instance().options().memory_bytes as i64 / 1024;
    vec![vec![
        int(cpus),
        int(1),
        int(memory),
        int(memory),
        int(memory),
        date(cx.engine.started()),
        int(cpus),
        int(512),
        text("NONE"),
    ]]
}
