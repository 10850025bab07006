//! Sessions, requests, connections, locks.

use super::commands::command_of;
use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, NAME, NULL, SMALL, SystemView, VARIANT, ViewContext, bit, date,
    int, text,
};
use crate::engine::{SessionShared, StatementAt, Usage};
use crate::program::{ModuleIdentity, Program};
use crate::session::info::Info;
use crate::session::options::Switches;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Rows = Vec<Vec<Value>>;

const STATUS: SqlType = SqlType::NVarChar(Length::Limited(30));
const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));
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
    ("page_server_reads", BIG),
    ("contained_availability_group_id", GUID),
];

const REQUEST: &[Column] = &[
    ("session_id", SMALL),
    ("request_id", INT),
    ("start_time", DATE),
    ("status", STATUS),
    ("command", SqlType::NVarChar(Length::Limited(32))),
    ("sql_handle", HANDLE),
    ("statement_start_offset", INT),
    ("statement_end_offset", INT),
    ("plan_handle", HANDLE),
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
    ("context_info", SqlType::VarBinary(Length::Limited(128))),
    ("percent_complete", SqlType::Real),
    ("estimated_completion_time", BIG),
    ("cpu_time", INT),
    ("total_elapsed_time", INT),
    ("scheduler_id", INT),
    ("task_address", SqlType::VarBinary(Length::Limited(8))),
    ("reads", BIG),
    ("writes", BIG),
    ("logical_reads", BIG),
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
    ("nest_level", INT),
    ("granted_query_memory", INT),
    ("executing_managed_code", BIT),
    ("group_id", INT),
    ("query_hash", SqlType::Binary(8)),
    ("query_plan_hash", SqlType::Binary(8)),
    ("statement_sql_handle", HANDLE),
    ("statement_context_id", BIG),
    ("dop", INT),
    ("parallel_worker_count", INT),
    ("is_resumable", BIT),
    ("page_resource", SqlType::Binary(8)),
    ("page_server_reads", BIG),
    ("dist_statement_id", GUID),
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
    ("parent_connection_id", GUID),
    ("most_recent_sql_handle", HANDLE),
];

const TEXT_OF: &[Column] =
    &[("dbid", SMALL), ("objectid", INT), ("number", SMALL), ("encrypted", BIT), ("text", super::TEXT)];

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
    ("nt_domain", SqlType::NChar(128)),
    ("nt_username", SqlType::NChar(128)),
    ("net_address", SqlType::NChar(12)),
    ("net_library", SqlType::NChar(12)),
    ("loginame", SqlType::NChar(128)),
    ("context_info", SqlType::VarBinary(Length::Limited(128))),
    ("sql_handle", HANDLE),
    ("stmt_start", INT),
    ("stmt_end", INT),
    ("request_id", INT),
    ("page_resource", SqlType::Binary(8)),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_exec_sessions", columns: SESSION, rows: sessions },
    SystemView { schema: "sys", name: "dm_exec_requests", columns: REQUEST, rows: requests },
    SystemView { schema: "sys", name: "dm_exec_connections", columns: CONNECTION, rows: connections },
    SystemView { schema: "sys", name: "dm_exec_sql_text", columns: TEXT_OF, rows: sql_text },
    SystemView { schema: "sys", name: "fn_get_sql", columns: TEXT_OF, rows: sql_text },
    SystemView {
        schema: "sys",
        name: "dm_exec_input_buffer",
        columns: &[
            ("event_type", SqlType::NVarChar(Length::Limited(256))),
            ("parameters", SMALL),
            ("event_info", super::TEXT),
        ],
        rows: input_buffer,
    },
    SystemView { schema: "sys", name: "sysprocesses", columns: PROCESS, rows: processes },
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

/// One's own session, and those of others for who may see the server's state.
fn visible(cx: &ViewContext<'_>) -> Vec<Arc<SessionShared>> {
    let mut all = cx.engine.sessions.all();
    if !cx.info.may_on_server("VIEW SERVER PERFORMANCE STATE") {
        all.retain(|s| s.id == cx.info.shared.id);
    }
    all
}

fn sessions(cx: &ViewContext<'_>) -> Rows {
    visible(cx).iter().map(|s| session(s)).collect()
}

/// What a session has used, in the views' units.
struct Figures {
    cpu_ms: i64,
    elapsed_ms: i64,
    reads: i64,
    writes: i64,
    logical_reads: i64,
    rows: i64,
}

impl Figures {
    /// All of it, or what came since.
    fn of(used: &Usage, since: Option<&Usage>) -> Figures {
        let figure = |of: fn(&Usage) -> &AtomicU64| {
            let before = since.map_or(0, |s| of(s).load(Ordering::Relaxed));
            of(used).load(Ordering::Relaxed).saturating_sub(before) as i64
        };
        Figures {
            cpu_ms: figure(|u| &u.cpu_us) / 1000,
            elapsed_ms: figure(|u| &u.elapsed_us) / 1000,
            reads: figure(|u| &u.reads),
            writes: figure(|u| &u.writes),
            logical_reads: figure(|u| &u.logical_reads),
            rows: figure(|u| &u.rows),
        }
    }
}

fn status(s: &SessionShared) -> &'static str {
    if s.running.load(Ordering::Relaxed) { "running" } else { "sleeping" }
}

/// `text_size` to `deadlock_priority` of sessions and requests: the SET options in force.
fn options(s: &SessionShared) -> Vec<Value> {
    use keel_query::IsolationLevel as L;
    let options = s.options.lock();
    let isolation = match options.isolation {
        L::ReadUncommitted => 1,
        L::ReadCommitted => 2,
        L::RepeatableRead => 3,
        L::Serializable => 4,
        L::Snapshot => 5,
    };
    let switch = |switch| bit(options.on(switch));
    vec![
        int(options.text_size),
        text(options.dates.language.name),
        text(options.dates.order.name()),
        int(options.date_first),
        switch(Switches::QUOTED_IDENTIFIER),
        switch(Switches::ARITHABORT),
        switch(Switches::NULL_DEFAULT_ON),
        switch(Switches::ANSI_DEFAULTS),
        switch(Switches::ANSI_WARNINGS),
        switch(Switches::ANSI_PADDING),
        switch(Switches::ANSI_NULLS),
        switch(Switches::CONCAT_NULL),
        int(isolation),
        int(options.lock_timeout_ms),
        int(options.deadlock_priority),
    ]
}

fn session(s: &SessionShared) -> Vec<Value> {
    let login = &s.login;
    let mut row =
        vec![int(s.id), date(s.connected), text(login.host_name.as_str()), text(login.app_name.as_str())];
    row.extend([int(login.client_pid), int(7), text(login.client_interface.as_str())]);
    let (domain, account) = login.account();
    row.extend([Value::bytes(login.security_id()), text(login.login.as_str()), text(domain), text(account)]);
    row.extend([text(status(s)), NULL]);
    let used = Figures::of(&s.used, None);
    row.extend([int(used.cpu_ms), int(2), int(used.cpu_ms), int(used.elapsed_ms), int(4)]);
    row.extend([
        date(s.request_started.load(Ordering::Relaxed)),
        date(s.request_ended.load(Ordering::Relaxed)),
    ]);
    row.extend([int(used.reads), int(used.writes), int(used.logical_reads)]);
    row.push(bit(true));
    row.extend(options(s));
    row.extend([int(used.rows), int(s.error.load(Ordering::Relaxed))]);
    row.extend([
        Value::bytes(login.security_id()),
        text(login.login.as_str()),
        NULL,
        NULL,
        NULL,
        int(s.group().id),
    ]);
    row.extend([
        int(s.database.load(Ordering::Relaxed)),
        int(1),
        int(s.transactions.load(Ordering::Relaxed)),
        int(0),
        login.context.as_ref().map_or(NULL, |group| Value::Guid(group.id)),
    ]);
    row
}

/// `sql_handle` of what a session runs or ran last: names the session, so that `dm_exec_sql_text` finds the text.
fn handle(s: &SessionShared) -> Value {
    let mut bytes = vec![0x02, 0, 0, 0];
    bytes.extend(s.id.to_be_bytes());
    Value::bytes(bytes)
}

/// The session that a handle names.
fn by_handle(cx: &ViewContext<'_>, handle: &[u8]) -> Option<Arc<SessionShared>> {
    let id = handle.strip_prefix(&[0x02, 0, 0, 0])?.try_into().ok()?;
    cx.engine.sessions.get(u32::from_be_bytes(id))
}

fn sql_text(cx: &ViewContext<'_>) -> Rows {
    let Some(handle) = cx.args.first().and_then(Value::as_bytes) else { return Vec::new() };
    let program = super::plans::by_handle(cx, handle);
    let runs = |program: &Arc<Program>| {
        cx.info.shared.current.statement().is_some_and(|at| at.program.id == program.id)
    };
    let own = by_handle(cx, handle).is_some_and(|s| s.id == cx.info.shared.id)
        || program.as_ref().is_some_and(runs);
    if !own && !cx.info.may_on_server("VIEW SERVER PERFORMANCE STATE") {
        return Vec::new();
    }
    if let Some(program) = program {
        return vec![super::plans::text_row(&program)];
    }
    // A session that asks from within a module is told the module's text.
    let module = own.then(|| cx.info.modules.borrow().last().cloned()).flatten();
    let of = |m: &ModuleIdentity| {
        let same = |p: &Program| {
            (p.identity.database, p.identity.object_id) == (m.database, m.object_id)
                && p.identity.kind == m.kind
        };
        cx.engine.programs.all().into_iter().find(|p| same(p))
    };
    if let Some(program) = module.as_ref().and_then(of) {
        return vec![super::plans::text_row(&program)];
    }
    let session = by_handle(cx, handle);
    let row = |s: Arc<SessionShared>| {
        vec![int(s.database.load(Ordering::Relaxed)), NULL, NULL, bit(false), text(s.shown_text())]
    };
    session.into_iter().map(row).collect()
}

fn input_buffer(cx: &ViewContext<'_>) -> Rows {
    let id = cx.args.first().and_then(Value::as_int).and_then(|id| u32::try_from(id).ok());
    let row = |s: Arc<SessionShared>| vec![text("Language Event"), int(0), text(s.shown_text())];
    let found = id.and_then(|id| visible(cx).into_iter().find(|s| s.id == id));
    found.into_iter().map(row).collect()
}

/// `command`: what kind of statement the session is at, or what keeps it.
fn command(s: &SessionShared) -> String {
    if s.resting().is_some_and(|rest| rest.wait_type.ends_with("WAITFOR")) {
        return "WAITFOR".to_owned();
    }
    match s.current.statement() {
        Some(at) => command_of(at.text()),
        None => command_of(&s.text.lock()),
    }
}

/// What a session waits for: wait type, milliseconds, resource, the session in its way.
struct Waiting {
    kind: Value,
    milliseconds: i64,
    resource: String,
    blocker: i64,
}

fn waiting(waits: &[keel_store::lock::WaitInfo], s: &SessionShared, now: i64) -> Option<Waiting> {
    if let Some((wait_type, milliseconds)) = super::waits::rest_of(s, now) {
        return Some(Waiting { kind: text(wait_type), milliseconds, resource: String::new(), blocker: 0 });
    }
    let wait = waits.iter().find(|w| w.agent == u64::from(s.id))?;
    Some(Waiting {
        kind: text(wait.mode.wait_type()),
        milliseconds: wait.waited.as_millis() as i64,
        resource: wait.resource.as_ref().to_string(),
        blocker: wait.blocked_by.first().map_or(0, |agent| super::locks::session_of(*agent)),
    })
}

fn requests(cx: &ViewContext<'_>) -> Rows {
    let waits = cx.engine.instance().locks().waiting();
    let now = cx.engine.now_local();
    let all = visible(cx);
    let running = all.iter().filter(|s| s.running.load(Ordering::Relaxed));
    running.map(|s| request(cx.info, s, waiting(&waits, s, now), now)).collect()
}

fn request(info: &Info, s: &SessionShared, wait: Option<Waiting>, now: i64) -> Vec<Value> {
    let started = s.request_started.load(Ordering::Relaxed);
    let elapsed = (now - started).max(0) / (keel_types::datetime::TICKS_PER_SECOND / 1000);
    let state = if wait.is_some() { "suspended" } else { "running" };
    let wait = wait.unwrap_or(Waiting { kind: NULL, milliseconds: 0, resource: String::new(), blocker: 0 });
    let open = s.transactions.load(Ordering::Relaxed);
    let mut used = Figures::of(&s.used, Some(&s.used_before));
    let own = s.id == info.shared.id;
    if own {
        used.cpu_ms = (info.cpu_so_far_us() / 1000) as i64;
    }
    let mut row = vec![int(s.id), int(0), date(started), text(state), text(command(s))];
    let at = s.current.statement();
    let (from, to) = at.as_ref().map_or((0, -1), StatementAt::offsets);
    let hashes = at.as_ref().map_or([NULL, NULL], |at| {
        [at.query_hash(), at.plan_hash()].map(|hash| Value::bytes(hash.to_be_bytes().to_vec()))
    });
    let [sql, plan] = at.map_or([handle(s), NULL], |at| super::plans::handles(&at.program));
    row.extend([sql.clone(), int(from), int(to), plan]);
    let (database, connection) = (int(s.database.load(Ordering::Relaxed)), connection_id(s, None));
    row.extend([database, int(1), connection, int(wait.blocker)]);
    row.extend([
        wait.kind.clone(),
        int(wait.milliseconds),
        wait.kind,
        text(wait.resource),
        int(open),
        int(1),
    ]);
    let percent = f64::from(s.progress.load(Ordering::Relaxed)) / 100.0;
    let left = if percent > 0.0 { (elapsed as f64 * (100.0 - percent) / percent) as i64 } else { 0 };
    row.extend([
        int(s.transaction_id.load(Ordering::Relaxed) as i64),
        NULL,
        Value::Float(percent),
        int(left),
        int(used.cpu_ms),
    ]);
    row.extend([int(elapsed), int(0), NULL, int(used.reads), int(used.writes), int(used.logical_reads)]);
    row.extend(options(s));
    let (error, level) = (s.error.load(Ordering::Relaxed), if own { int(info.nest_level()) } else { NULL });
    row.extend([int(used.rows), int(error), level, int(0), bit(false), int(s.group().id)]);
    row.extend(hashes);
    let degree = s.degree.load(Ordering::Relaxed) as i64;
    row.extend([sql, NULL, int(degree), if degree > 1 { int(degree) } else { NULL }, bit(false)]);
    // Nobody waits for a page here, and no page server has any.
    row.extend([NULL, int(0), Value::Guid([0; 16])]);
    row
}

/// What tells a session's connection, or one of its conversations, from all others.
fn connection_id(s: &SessionShared, conversation: Option<u16>) -> Value {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&s.connected.to_le_bytes());
    id[8..14].copy_from_slice(&s.number.to_le_bytes()[..6]);
    // Conversations count from 1 here: 0 is the connection itself.
    id[14..].copy_from_slice(&conversation.map_or(0, |c| c.wrapping_add(1)).to_le_bytes());
    Value::Guid(id)
}

fn connection(s: &SessionShared, conversation: Option<u16>) -> Vec<Value> {
    let login = &s.login;
    let transport = if conversation.is_some() { "Session" } else { "TCP" };
    let mut row = vec![
        int(s.id),
        int(s.id),
        date(s.connected),
        text(transport),
        text("TSQL"),
        int(login.tds_version),
        int(4),
        text(if login.encrypted { "TRUE" } else { "FALSE" }),
        text(login.auth_scheme()),
        int(0),
        int(login.traffic.read() as i64),
        int(login.traffic.written() as i64),
    ];
    let (asked, answered) = (&s.request_started, &s.request_ended);
    row.extend([date(asked.load(Ordering::Relaxed)), date(answered.load(Ordering::Relaxed))]);
    row.extend([int(login.packet_size), text(login.client_address.as_str())]);
    row.push(login.client_port.map_or(NULL, int));
    row.extend(login.local.map_or([NULL, NULL], |a| [text(a.ip().to_string()), int(a.port())]));
    row.push(connection_id(s, conversation));
    row.extend([conversation.map_or(NULL, |_| connection_id(s, None)), handle(s)]);
    row
}

/// A row for each connection, and one for each conversation where there may be several. Those share the connection's packets.
fn connections(cx: &ViewContext<'_>) -> Rows {
    let rows = |s: Arc<SessionShared>| {
        let conversations = s.login.traffic.conversations();
        let all = std::iter::once(None).chain(conversations.into_iter().map(Some));
        all.map(|conversation| connection(&s, conversation)).collect::<Rows>()
    };
    cx.engine.sessions.all().into_iter().flat_map(rows).collect()
}

fn processes(cx: &ViewContext<'_>) -> Rows {
    let (waits, now) = (cx.engine.instance().locks().waiting(), cx.engine.now_local());
    visible(cx).iter().map(|s| process(s, waiting(&waits, s, now))).collect()
}

fn process(s: &SessionShared, wait: Option<Waiting>) -> Vec<Value> {
    let login = &s.login;
    let used = Figures::of(&s.used, None);
    let idle = Waiting { kind: text("MISCELLANEOUS"), milliseconds: 0, resource: String::new(), blocker: 0 };
    let (status, wait) = match wait {
        Some(wait) => ("suspended", wait),
        None => (status(s), idle),
    };
    let doing = if s.running.load(Ordering::Relaxed) { command(s) } else { "AWAITING COMMAND".to_owned() };
    let mut row = vec![int(s.id), int(0), int(wait.blocker), NULL, int(wait.milliseconds), wait.kind];
    row.extend([
        text(wait.resource),
        int(s.database.load(Ordering::Relaxed)),
        int(1),
        int(used.cpu_ms),
        int(used.reads + used.writes),
        int(0),
    ]);
    row.extend([date(s.connected), date(s.request_started.load(Ordering::Relaxed)), int(0)]);
    row.extend([
        int(s.transactions.load(Ordering::Relaxed)),
        text(status),
        Value::bytes(login.security_id()),
    ]);
    row.extend([text(login.host_name.as_str()), text(login.app_name.as_str())]);
    let (domain, account) = login.account();
    row.extend([
        text(login.client_pid.to_string()),
        text(doing),
        text(domain),
        text(account),
        text(""),
        text("TCP/IP"),
    ]);
    let running = s.running.load(Ordering::Relaxed);
    let at = s.current.statement().filter(|_| running);
    let (from, to) = at.as_ref().map_or((0, -1), StatementAt::offsets);
    let [sql, _] = at.map_or([handle(s), NULL], |at| super::plans::handles(&at.program));
    row.extend([text(login.login.as_str()), Value::bytes(s.context_info.lock().clone()), sql]);
    row.extend([int(from), int(to), int(0), NULL]);
    row
}
