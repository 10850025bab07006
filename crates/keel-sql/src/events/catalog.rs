//! The events, actions, targets and predicate functions there are, with the product's names
//! (`sys.dm_xe_objects`, `sys.dm_xe_object_columns`, `sys.dm_xe_map_values`).

use keel_types::Value;

/// A package.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its number, as text.
    pub guid: &'static str,
    /// What is in it.
    pub description: &'static str,
}

/// What every session may use: targets, comparators, time and numbers.
pub static PACKAGE0: Package = Package {
    name: "package0",
    guid: "60AA9FBF-673B-4553-B7ED-71DCA7F5E972",
    description: "Default package. Contains all standard types, maps, compare operators, actions and targets",
};
/// What happens in threads.
pub static SQLOS: Package = Package {
    name: "sqlos",
    guid: "BD97CC63-3F38-4922-AA93-607BD12E78B2",
    description: "Extended events for SQL Operating System",
};
/// What happens in sessions.
pub static SQLSERVER: Package = Package {
    name: "sqlserver",
    guid: "655FD93F-3364-40D5-B2BA-330F7FFB6491",
    description: "Extended events for Microsoft SQL Server",
};

/// All packages.
pub static PACKAGES: [&Package; 3] = [&PACKAGE0, &SQLOS, &SQLSERVER];

/// The type of a column or action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// uint16
    UInt16,
    /// int32
    Int32,
    /// uint32
    UInt32,
    /// int64
    Int64,
    /// uint64
    UInt64,
    /// boolean
    Boolean,
    /// unicode_string
    Text,
    /// xml
    Xml,
    /// binary_data
    Binary,
    /// guid
    Guid,
    /// FILETIME, shown as a time
    Time,
    /// A map.
    Map(&'static Map),
}

/// Numbers with names.
#[derive(Debug)]
pub struct Map {
    /// Its name.
    pub name: &'static str,
    /// Numbers and what they stand for.
    pub values: &'static [(u32, &'static str)],
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        self.name == other.name
    }
}
impl Eq for Map {}

impl Map {
    /// What a number stands for.
    #[must_use]
    pub fn text(&self, key: u32) -> &'static str {
        self.values.iter().find(|(k, _)| *k == key).map_or("", |(_, text)| text)
    }
}

impl Ty {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ty::UInt16 => "uint16",
            Ty::Int32 => "int32",
            Ty::UInt32 => "uint32",
            Ty::Int64 => "int64",
            Ty::UInt64 => "uint64",
            Ty::Boolean => "boolean",
            Ty::Text => "unicode_string",
            Ty::Xml => "xml",
            Ty::Binary => "binary_data",
            Ty::Guid => "guid",
            Ty::Time => "filetime",
            Ty::Map(map) => map.name,
        }
    }

    /// The package that has it.
    #[must_use]
    pub fn package(self) -> &'static Package {
        if matches!(self, Ty::Map(_)) { &SQLSERVER } else { &PACKAGE0 }
    }

    /// Whether its values are numbers to predicates.
    #[must_use]
    pub fn is_number(self) -> bool {
        !matches!(self, Ty::Text | Ty::Xml | Ty::Binary | Ty::Guid)
    }
}

/// The value of a column or action.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// There is none.
    Null,
    /// A number; of a map, its key.
    Number(i128),
    /// A text or a document.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(text.to_owned())
    }
}
impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::Text(text)
    }
}
impl From<u64> for Field {
    fn from(n: u64) -> Field {
        Field::Number(n.into())
    }
}
impl From<u32> for Field {
    fn from(n: u32) -> Field {
        Field::Number(n.into())
    }
}
impl From<i64> for Field {
    fn from(n: i64) -> Field {
        Field::Number(n.into())
    }
}
impl From<i32> for Field {
    fn from(n: i32) -> Field {
        Field::Number(n.into())
    }
}
impl From<bool> for Field {
    fn from(b: bool) -> Field {
        Field::Number(b.into())
    }
}

impl Field {
    /// As a value of SQL; numbers are bigint.
    #[must_use]
    pub fn value(&self) -> Value {
        match self {
            Field::Null => Value::Null,
            Field::Number(n) => Value::Int(i64::try_from(*n).unwrap_or(i64::MAX)),
            Field::Text(text) => Value::str(text.as_str()),
            Field::Bytes(bytes) => Value::bytes(bytes.clone()),
        }
    }
}

/// A column of an event.
pub type Column = (&'static str, Ty);

/// An event.
#[derive(Debug)]
pub struct EventInfo {
    /// Which.
    pub event: Event,
    /// Its name.
    pub name: &'static str,
    /// When it happens.
    pub description: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Switches a session may set for it: `collect_statement` and the like. What they stand for is always collected.
    pub settings: &'static [&'static str],
}

/// Events, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are those of the events, which the table describes")]
pub enum Event {
    SqlBatchStarting,
    SqlBatchCompleted,
    RpcStarting,
    RpcCompleted,
    SqlStatementStarting,
    SqlStatementCompleted,
    SpStatementStarting,
    SpStatementCompleted,
    ModuleStart,
    ModuleEnd,
    ErrorReported,
    Login,
    Logout,
    Attention,
    XmlDeadlockReport,
    BlockedProcessReport,
    SqlTransaction,
    UserEvent,
    ReplicaStateChange,
    PartnerSyncState,
    DataMovement,
    TransportSession,
    LogCut,
    LogGap,
    LogShort,
    FailoverValidation,
    LeaseExpired,
    SeedingState,
    DiagnosticsResult,
    ExistingConnection,
}

impl Event {
    /// Its bit among those that are wanted.
    #[must_use]
    pub fn bit(self) -> u64 {
        1 << self as u8
    }

    /// What is known of it.
    #[must_use]
    pub fn info(self) -> &'static EventInfo {
        &EVENTS[self as usize]
    }

    /// The event of `sqlserver` with that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Event> {
        EVENTS.iter().find(|e| e.name.eq_ignore_ascii_case(name)).map(|e| e.event)
    }
}

/// How a request ended.
pub static RESULT: Map = Map { name: "rpc_return_result", values: &[(0, "OK"), (1, "Error"), (2, "Abort")] };
/// What a connection's reset kept.
pub static RESET: Map = Map {
    name: "connection_reset_option",
    values: &[(0, "None"), (1, "ResetConnection"), (2, "ResetConnectionSkipTran")],
};
/// State of a statement that begins.
pub static STARTING: Map = Map {
    name: "statement_starting_state",
    values: &[(0, "Normal"), (1, "Recompiled"), (2, "Execution Plan Flush")],
};
/// Kinds of modules, by the two letters of their type as a number.
pub static OBJECT_TYPE: Map = Map {
    name: "object_type",
    values: &[
        (8272, "PROC"),
        (17235, "CHECK"),
        (18004, "FUNCTION"),
        (20038, "SCALAR FUNCTION"),
        (21075, "SERVER"),
        (21076, "TRIGGER"),
        (17985, "AGGREGATE"),
        (20801, "ADHOC"),
        (20816, "PREPARED"),
    ],
};
/// Kinds of errors.
pub static CATEGORY: Map =
    Map { name: "error_category", values: &[(1, "UNKNOWN"), (2, "SERVER"), (4, "USER")] };
/// Where an error went.
pub static DESTINATION: Map = Map {
    name: "error_destination",
    values: &[(0x0000_0002, "USER"), (0x0000_0004, "ERRORLOG"), (0x0000_0006, "USER, ERRORLOG")],
};
/// Who began a transaction.
pub static TRANSACTION_TYPE: Map = Map { name: "transaction_type", values: &[(1, "System"), (2, "User")] };
/// What became of a transaction.
pub static TRANSACTION_STATE: Map = Map {
    name: "sql_transaction_state",
    values: &[(0, "Begin"), (1, "Commit"), (2, "Rollback"), (3, "Savepoint")],
};

/// Components of `sp_server_diagnostics`.
pub static COMPONENT: Map = Map {
    name: "diagnostics_component_type",
    values: &[(0, "SYSTEM"), (1, "RESOURCE"), (2, "QUERY_PROCESSING"), (3, "IO_SUBSYSTEM"), (4, "EVENTS")],
};
/// How a component is.
pub static HEALTH: Map = Map {
    name: "diagnostics_component_state",
    values: &[(0, "UNKNOWN"), (1, "CLEAN"), (2, "WARNING"), (3, "ERROR")],
};

const COST: [Column; 6] = [
    ("duration", Ty::Int64),
    ("cpu_time", Ty::UInt64),
    ("physical_reads", Ty::UInt64),
    ("logical_reads", Ty::UInt64),
    ("writes", Ty::UInt64),
    ("row_count", Ty::UInt64),
];

/// What events of availability groups say.
const GROUP: &[Column] = &[
    ("availability_group_name", Ty::Text),
    ("availability_replica_name", Ty::Text),
    ("database_name", Ty::Text),
    ("error_number", Ty::Int32),
    ("message", Ty::Text),
];

const fn event(
    event: Event,
    name: &'static str,
    description: &'static str,
    columns: &'static [Column],
    settings: &'static [&'static str],
) -> EventInfo {
    EventInfo { event, name, description, columns, settings }
}

/// Where in an SQL text a statement is, and what it says.
const PLACE: [Column; 4] =
    [("line_number", Ty::Int32), ("offset", Ty::Int32), ("offset_end", Ty::Int32), ("statement", Ty::Text)];

#[rustfmt::skip]
const BATCH: &[Column] = &[COST[1], COST[0], COST[2], COST[3], COST[4], COST[5], ("result", Ty::Map(&RESULT)), ("batch_text", Ty::Text)];
#[rustfmt::skip]
const RPC: &[Column] = &[
    COST[1], COST[0], COST[2], COST[3], COST[4], ("result", Ty::Map(&RESULT)), COST[5],
    ("connection_reset_option", Ty::Map(&RESET)), ("object_name", Ty::Text), ("statement", Ty::Text),
];
#[rustfmt::skip]
const STATEMENT: &[Column] = &[COST[0], COST[1], COST[2], COST[3], COST[4], COST[5], PLACE[0], PLACE[1], PLACE[2], PLACE[3]];
#[rustfmt::skip]
const SP_STARTING: &[Column] = &[
    ("source_database_id", Ty::UInt32), ("object_id", Ty::Int32), ("object_type", Ty::Map(&OBJECT_TYPE)),
    ("state", Ty::Map(&STARTING)), ("nest_level", Ty::UInt16), PLACE[0], PLACE[1], PLACE[2], ("object_name", Ty::Text), PLACE[3],
];
#[rustfmt::skip]
const SP_STATEMENT: &[Column] = &[
    ("source_database_id", Ty::UInt32), ("object_id", Ty::Int32), ("object_type", Ty::Map(&OBJECT_TYPE)),
    COST[0], COST[1], COST[2], COST[3], COST[4], COST[5], ("nest_level", Ty::UInt16), PLACE[0], PLACE[1], PLACE[2],
    ("object_name", Ty::Text), PLACE[3],
];
#[rustfmt::skip]
const MODULE_START: &[Column] = &[
    ("object_type", Ty::Map(&OBJECT_TYPE)), ("object_name", Ty::Text), ("object_id", Ty::Int32), ("source_database_id", Ty::UInt32),
    ("statement", Ty::Text),
];
#[rustfmt::skip]
const MODULE_END: &[Column] = &[
    ("object_type", Ty::Map(&OBJECT_TYPE)), ("object_name", Ty::Text), ("object_id", Ty::Int32), ("source_database_id", Ty::UInt32),
    ("statement", Ty::Text), ("duration", Ty::Int64), ("row_count", Ty::UInt64),
];
#[rustfmt::skip]
const ERROR: &[Column] = &[
    ("error_number", Ty::Int32), ("severity", Ty::Int32), ("state", Ty::Int32), ("user_defined", Ty::Boolean),
    ("category", Ty::Map(&CATEGORY)), ("destination", Ty::Map(&DESTINATION)), ("is_intercepted", Ty::Boolean), ("message", Ty::Text),
];
#[rustfmt::skip]
const LOGIN: &[Column] = &[
    ("is_cached", Ty::Boolean), ("is_dac", Ty::Boolean), ("database_id", Ty::UInt32), ("packet_size", Ty::Int32),
    ("database_name", Ty::Text),
];
#[rustfmt::skip]
const LOGOUT: &[Column] = &[("is_cached", Ty::Boolean), COST[0], COST[1], COST[2], COST[3], COST[4]];
#[rustfmt::skip]
const BLOCKED: &[Column] = &[
    ("duration", Ty::UInt64), ("database_id", Ty::UInt32), ("object_id", Ty::Int32), ("lock_mode", Ty::Text),
    ("transaction_id", Ty::Int64), ("blocked_process", Ty::Xml), ("database_name", Ty::Text),
];
#[rustfmt::skip]
const TRANSACTION: &[Column] = &[
    ("transaction_type", Ty::Map(&TRANSACTION_TYPE)), ("transaction_state", Ty::Map(&TRANSACTION_STATE)), ("duration", Ty::Int64),
    ("transaction_id", Ty::Int64), ("object_name", Ty::Text), ("savepoint_name", Ty::Text),
];

/// All events, in the order of their numbers.
#[rustfmt::skip]
pub static EVENTS: [EventInfo; 30] = [
    event(Event::SqlBatchStarting, "sql_batch_starting", "Occurs when a Transact-SQL batch has started executing.",
        &[("batch_text", Ty::Text)], &["collect_batch_text"]),
    event(Event::SqlBatchCompleted, "sql_batch_completed", "Occurs when a Transact-SQL batch has finished executing.", BATCH, &["collect_batch_text"]),
    event(Event::RpcStarting, "rpc_starting", "Occurs when a remote procedure call has started.",
        &[("connection_reset_option", Ty::Map(&RESET)), ("object_name", Ty::Text), ("statement", Ty::Text)],
        &["collect_data_stream", "collect_statement"]),
    event(Event::RpcCompleted, "rpc_completed", "Occurs when a remote procedure call has completed.", RPC,
        &["collect_data_stream", "collect_output_parameters", "collect_statement"]),
    event(Event::SqlStatementStarting, "sql_statement_starting", "Occurs when a Transact-SQL statement has started.",
        &[("state", Ty::Map(&STARTING)), PLACE[0], PLACE[1], PLACE[2], PLACE[3]], &["collect_statement"]),
    event(Event::SqlStatementCompleted, "sql_statement_completed", "Occurs when a Transact-SQL statement has completed.", STATEMENT,
        &["collect_parameterized_plan_handle", "collect_statement"]),
    event(Event::SpStatementStarting, "sp_statement_starting", "Occurs when a statement inside a stored procedure has started.", SP_STARTING,
        &["collect_object_name", "collect_statement"]),
    event(Event::SpStatementCompleted, "sp_statement_completed", "Occurs when a statement inside a stored procedure has completed.", SP_STATEMENT,
        &["collect_object_name", "collect_statement"]),
    event(Event::ModuleStart, "module_start", "Occurs when execution of a stored procedure, function or trigger begins.", MODULE_START, &["collect_statement"]),
    event(Event::ModuleEnd, "module_end", "Occurs when execution of a stored procedure, function or trigger ends.", MODULE_END, &["collect_statement"]),
    event(Event::ErrorReported, "error_reported", "Occurs when an error is reported.", ERROR, &[]),
    event(Event::Login, "login", "Occurs when a successful connection is made to the server, whether new or from a pool.", LOGIN,
        &["collect_database_name", "collect_options_text"]),
    event(Event::Logout, "logout", "Occurs when a session ends.", LOGOUT, &[]),
    event(Event::Attention, "attention", "Occurs when a client has cancelled a request.", &[("duration", Ty::Int64), ("request_id", Ty::UInt32)], &[]),
    event(Event::XmlDeadlockReport, "xml_deadlock_report", "Produces a deadlock report in XML format.", &[("xml_report", Ty::Xml)], &[]),
    event(Event::BlockedProcessReport, "blocked_process_report",
        "Occurs when a session has waited for a lock longer than sp_configure's 'blocked process threshold (s)'.", BLOCKED, &["collect_database_name"]),
    event(Event::SqlTransaction, "sql_transaction", "Occurs when a transaction is begun, committed, rolled back or marked with a savepoint.", TRANSACTION, &[]),
    event(Event::UserEvent, "user_event", "Occurs when sp_trace_generateevent is called.",
        &[("event_id", Ty::Int32), ("user_info", Ty::Text), ("user_data", Ty::Binary)], &[]),
    event(Event::ReplicaStateChange, "availability_replica_state_change", "Occurs when the state of an availability replica has changed.", GROUP, &[]),
    event(Event::PartnerSyncState, "hadr_db_partner_set_sync_state", "Occurs when a database of a replica is synchronized, or is not any more.", GROUP, &[]),
    event(Event::DataMovement, "data_movement_suspend_resume", "Occurs when data movement of a database is suspended or resumed.", GROUP, &[]),
    event(Event::TransportSession, "hadr_transport_session_state", "Occurs when the connection to a replica is made or lost.", GROUP, &[]),
    event(Event::LogCut, "hadr_undo_of_redo_log_scan", "Occurs when a replica cuts the log that the primary does not have.", GROUP, &[]),
    event(Event::LogGap, "hadr_db_log_gap", "Occurs when log blocks that come do not follow on the log that is there.", GROUP, &[]),
    event(Event::LogShort, "hadr_db_log_short", "Occurs when a log ends before what its copy is known to have held.", GROUP, &[]),
    event(Event::FailoverValidation, "availability_replica_automatic_failover_validation",
        "Occurs when an automatic failover is held back.", GROUP, &[]),
    event(Event::LeaseExpired, "availability_group_lease_expired", "Occurs when the primary is not fit for its role any more.", GROUP, &[]),
    event(Event::SeedingState, "hadr_automatic_seeding_state_transition", "Occurs when the seeding of a database changes its state.", GROUP, &[]),
    event(Event::DiagnosticsResult, "sp_server_diagnostics_component_result", "Every five minutes: what sp_server_diagnostics says of a component.",
        &[("component", Ty::Map(&COMPONENT)), ("state", Ty::Map(&HEALTH)), ("data", Ty::Xml)], &[]),
    event(Event::ExistingConnection, "existing_connection", "Occurs for each session that is there when the event session starts.", LOGIN,
        &["collect_database_name", "collect_options_text"]),
];

/// Actions: what is collected of the session that fires an event; most are predicate sources too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the actions")]
pub enum Action {
    SqlText,
    DatabaseId,
    DatabaseName,
    SessionId,
    Username,
    ServerPrincipalName,
    SessionServerPrincipalName,
    NtUsername,
    SessionNtUsername,
    ServerPrincipalSid,
    ClientAppName,
    ClientHostname,
    ClientPid,
    ServerInstanceName,
    IsSystem,
    TransactionId,
    RequestId,
    PlanHandle,
    QueryHash,
    QueryPlanHash,
    QueryHashSigned,
    QueryPlanHashSigned,
    TsqlFrame,
    TsqlStack,
    ContextInfo,
    NumResponseRows,
    SessionResourceGroupId,
    SessionResourcePoolId,
    ProcessId,
    EventSequence,
    CollectSystemTime,
    CollectCurrentThreadId,
    LastError,
    SystemThreadId,
    SchedulerId,
    CpuId,
}

/// An action.
#[derive(Debug)]
pub struct ActionInfo {
    /// Which.
    pub action: Action,
    /// Its package.
    pub package: &'static Package,
    /// Its name.
    pub name: &'static str,
    /// What it collects.
    pub description: &'static str,
    /// Its type.
    pub ty: Ty,
    /// Predicates may ask for it.
    pub source: bool,
}

const fn action(
    action: Action,
    package: &'static Package,
    name: &'static str,
    description: &'static str,
    ty: Ty,
    source: bool,
) -> ActionInfo {
    ActionInfo { action, package, name, description, ty, source }
}

/// All actions.
#[rustfmt::skip]
pub static ACTIONS: [ActionInfo; 36] = [
    action(Action::SqlText, &SQLSERVER, "sql_text", "Collect SQL text", Ty::Text, true),
    action(Action::DatabaseId, &SQLSERVER, "database_id", "Collect database ID", Ty::UInt16, true),
    action(Action::DatabaseName, &SQLSERVER, "database_name", "Collect current database name", Ty::Text, true),
    action(Action::SessionId, &SQLSERVER, "session_id", "Collect session ID", Ty::UInt16, true),
    action(Action::Username, &SQLSERVER, "username", "Collect username", Ty::Text, true),
    action(Action::ServerPrincipalName, &SQLSERVER, "server_principal_name", "Collect the name of the server principal in whose context the event is fired", Ty::Text, true),
    action(Action::SessionServerPrincipalName, &SQLSERVER, "session_server_principal_name", "Collect the name of the server principal that originated the session", Ty::Text, true),
    action(Action::NtUsername, &SQLSERVER, "nt_username", "Collect NT username", Ty::Text, true),
    action(Action::SessionNtUsername, &SQLSERVER, "session_nt_username", "Collect session's NT username", Ty::Text, true),
    action(Action::ServerPrincipalSid, &SQLSERVER, "server_principal_sid", "Collect the SID of the server principal", Ty::Binary, false),
    action(Action::ClientAppName, &SQLSERVER, "client_app_name", "Collect client application name", Ty::Text, true),
    action(Action::ClientHostname, &SQLSERVER, "client_hostname", "Collect client hostname", Ty::Text, true),
    action(Action::ClientPid, &SQLSERVER, "client_pid", "Collect client process ID", Ty::UInt32, true),
    action(Action::ServerInstanceName, &SQLSERVER, "server_instance_name", "Collect the name of the instance", Ty::Text, false),
    action(Action::IsSystem, &SQLSERVER, "is_system", "Collect whether the current session is a system session", Ty::Boolean, true),
    action(Action::TransactionId, &SQLSERVER, "transaction_id", "Collect transaction ID", Ty::Int64, true),
    action(Action::RequestId, &SQLSERVER, "request_id", "Collect current request ID", Ty::UInt32, true),
    action(Action::PlanHandle, &SQLSERVER, "plan_handle", "Collect plan handle", Ty::Binary, false),
    action(Action::QueryHash, &SQLSERVER, "query_hash", "Collect query hash", Ty::UInt64, true),
    action(Action::QueryPlanHash, &SQLSERVER, "query_plan_hash", "Collect query plan hash", Ty::UInt64, true),
    action(Action::QueryHashSigned, &SQLSERVER, "query_hash_signed", "Collect query hash in signed form", Ty::Int64, true),
    action(Action::QueryPlanHashSigned, &SQLSERVER, "query_plan_hash_signed", "Collect query plan hash in signed form", Ty::Int64, true),
    action(Action::TsqlFrame, &SQLSERVER, "tsql_frame", "Collect the current frame of the Transact-SQL stack", Ty::Xml, false),
    action(Action::TsqlStack, &SQLSERVER, "tsql_stack", "Collect the Transact-SQL stack", Ty::Xml, false),
    action(Action::ContextInfo, &SQLSERVER, "context_info", "Collect the session's context information", Ty::Binary, false),
    action(Action::NumResponseRows, &SQLSERVER, "num_response_rows", "Collect the number of rows in the response", Ty::UInt64, false),
    action(Action::SessionResourceGroupId, &SQLSERVER, "session_resource_group_id", "Collect the current session resource group ID", Ty::UInt32, true),
    action(Action::SessionResourcePoolId, &SQLSERVER, "session_resource_pool_id", "Collect the current session resource pool ID", Ty::UInt32, true),
    action(Action::ProcessId, &PACKAGE0, "process_id", "Collect the process ID", Ty::UInt32, false),
    action(Action::EventSequence, &PACKAGE0, "event_sequence", "Collect event sequence number", Ty::UInt64, false),
    action(Action::CollectSystemTime, &PACKAGE0, "collect_system_time", "Collect the current system time with 100 microsecond precision", Ty::Time, false),
    action(Action::CollectCurrentThreadId, &PACKAGE0, "collect_current_thread_id", "Collect the current system thread ID", Ty::UInt32, false),
    action(Action::LastError, &PACKAGE0, "last_error", "Collect the thread's last error", Ty::UInt32, false),
    action(Action::SystemThreadId, &SQLOS, "system_thread_id", "Collect current system thread ID", Ty::UInt32, true),
    action(Action::SchedulerId, &SQLOS, "scheduler_id", "Collect current scheduler ID", Ty::UInt32, true),
    action(Action::CpuId, &SQLOS, "cpu_id", "Collect current CPU ID", Ty::UInt32, true),
];

impl Action {
    /// What is known of it.
    #[must_use]
    pub fn info(self) -> &'static ActionInfo {
        &ACTIONS[self as usize]
    }

    /// The action of that package and name.
    #[must_use]
    pub fn named(package: &str, name: &str) -> Option<Action> {
        let found = ACTIONS
            .iter()
            .find(|a| a.name.eq_ignore_ascii_case(name) && a.package.name.eq_ignore_ascii_case(package));
        found.map(|a| a.action)
    }
}

/// A target: name, what it does, its attributes, those of them that must be set, and older names of it.
#[derive(Debug)]
pub struct TargetInfo {
    /// Its name.
    pub name: &'static str,
    /// Names that it had and that are still understood.
    pub aliases: &'static [&'static str],
    /// What it does.
    pub description: &'static str,
    /// Attributes: name, type, default.
    pub settings: &'static [(&'static str, Ty, &'static str)],
    /// The attribute that must be set.
    pub mandatory: Option<&'static str>,
    /// Fired events wait for it.
    pub synchronous: bool,
}

/// All targets.
#[rustfmt::skip]
pub static TARGETS: [TargetInfo; 4] = [
    TargetInfo { name: "ring_buffer", aliases: &[], description: "Asynchronous ring buffer target.",
        settings: &[("max_memory", Ty::UInt32, "4096"), ("max_events_limit", Ty::UInt32, "1000"), ("occurrence_number", Ty::UInt32, "0")],
        mandatory: None, synchronous: false },
    TargetInfo { name: "event_file", aliases: &["asynchronous_file_target"],
        description: "Use the event_file target to save the event data to an XEL file, which can be archived and used for later analysis and review.",
        settings: &[("filename", Ty::Text, ""), ("max_file_size", Ty::UInt64, "1024"), ("max_rollover_files", Ty::UInt32, "5"),
            ("increment", Ty::UInt64, "0"), ("metadatafile", Ty::Text, ""), ("lazy_create_blob", Ty::Boolean, "0")],
        mandatory: Some("filename"), synchronous: false },
    TargetInfo { name: "event_counter", aliases: &["synchronous_event_counter"],
        description: "Use the event_counter target to count the number of occurrences of each event in the event session.",
        settings: &[], mandatory: None, synchronous: true },
    TargetInfo { name: "histogram", aliases: &["asynchronous_bucketizer", "synchronous_bucketizer"],
        description: "Use the histogram target to aggregate event data based on a specific event data field or action associated with the event.",
        settings: &[("filtering_event_name", Ty::Text, ""), ("source", Ty::Text, ""), ("source_type", Ty::UInt32, "1"), ("slots", Ty::UInt32, "256")],
        mandatory: Some("source"), synchronous: false },
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Option<&'static TargetInfo> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    TARGETS.iter().find(|t| is(&t.name) || t.aliases.iter().any(is))
}

/// All maps.
pub static MAPS: [&Map; 10] = [
    &RESULT,
    &RESET,
    &STARTING,
    &OBJECT_TYPE,
    &CATEGORY,
    &DESTINATION,
    &TRANSACTION_TYPE,
    &TRANSACTION_STATE,
    &COMPONENT,
    &HEALTH,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_tables() {
        assert!(EVENTS.iter().enumerate().all(|(n, e)| e.event as usize == n));
        assert!(ACTIONS.iter().enumerate().all(|(n, a)| a.action as usize == n));
        assert!(EVENTS.len() <= 64, "a bit for each");
    }
}
