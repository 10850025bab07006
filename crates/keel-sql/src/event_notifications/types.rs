//! The events that notifications are told of besides those of definitions, which are triggers' too ([`crate::triggers::event_types`]).
//!
//! Numbers of trace events are 1000 and that of the class in traces, as the product has them. Those of the broker's own events are ours.

use crate::triggers::event_types::EventType;

/// An event that belongs to no definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raised {
    /// A session has begun.
    AuditLogin,
    /// A session has ended.
    AuditLogout,
    /// Nobody could log in.
    AuditLoginFailed,
    /// A session waits for a lock longer than `blocked process threshold`.
    BlockedProcessReport,
    /// A deadlock was resolved.
    DeadlockGraph,
    /// A queue has messages that nobody receives.
    QueueActivation,
    /// A queue was switched off because its receivers were rolled back.
    BrokerQueueDisabled,
}

impl Raised {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(raised, _)| *raised == self).map_or("", |(_, ty)| ty.name)
    }

    /// Whether a queue can have a notification of it.
    #[must_use]
    pub fn is_of_queue(self) -> bool {
        matches!(self, Raised::QueueActivation | Raised::BrokerQueueDisabled)
    }

    /// Whether a notification names it, or a group that it is in.
    #[must_use]
    pub fn is_among(self, names: &[String]) -> bool {
        names.iter().any(|name| name == self.name() || group(name).is_some_and(|all| all.contains(&self)))
    }
}

const fn e(number: i32, name: &'static str, parent: i32) -> EventType {
    EventType { number, name, parent }
}

/// The group of all there are.
const ALL_EVENTS: &str = "ALL_EVENTS";
/// Groups that trace events are in, by name.
const TRACE_GROUPS: [(&str, &[Raised]); 3] = [
    (
        "TRC_ALL_EVENTS",
        &[
            Raised::AuditLogin,
            Raised::AuditLogout,
            Raised::AuditLoginFailed,
            Raised::BlockedProcessReport,
            Raised::DeadlockGraph,
        ],
    ),
    ("TRC_SECURITY_AUDIT", &[Raised::AuditLogin, Raised::AuditLogout, Raised::AuditLoginFailed]),
    ("TRC_LOCKS", &[Raised::DeadlockGraph]),
];

/// The events.
pub static TYPES: [(Raised, EventType); 7] = [
    (Raised::AuditLogin, e(1014, "AUDIT_LOGIN", 0)),
    (Raised::AuditLogout, e(1015, "AUDIT_LOGOUT", 0)),
    (Raised::AuditLoginFailed, e(1020, "AUDIT_LOGIN_FAILED", 0)),
    (Raised::BlockedProcessReport, e(1137, "BLOCKED_PROCESS_REPORT", 0)),
    (Raised::DeadlockGraph, e(1148, "DEADLOCK_GRAPH", 0)),
    (Raised::QueueActivation, e(2001, "QUEUE_ACTIVATION", 0)),
    (Raised::BrokerQueueDisabled, e(2002, "BROKER_QUEUE_DISABLED", 0)),
];

/// An event by name, in any case.
#[must_use]
pub fn named(name: &str) -> Option<Raised> {
    TYPES.iter().find(|(_, ty)| ty.name.eq_ignore_ascii_case(name)).map(|(raised, _)| *raised)
}

/// The events of a group.
#[must_use]
pub fn group(name: &str) -> Option<&'static [Raised]> {
    TRACE_GROUPS.iter().find(|(group, _)| group.eq_ignore_ascii_case(name)).map(|(_, all)| *all)
}

/// Trace events that the product has and that do not happen here, or are not told of: what begins so, or is one of these.
#[must_use]
pub fn is_elsewhere(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let begins = ["TRC_", "AUDIT_", "LOCK_", "FT_CRAWL_", "BROKER_", "OBJECT_", "USERCONFIGURABLE_", "HASH_"];
    let whole = [
        ALL_EVENTS,
        "ERRORLOG",
        "EVENTLOG",
        "EXCEPTION",
        "ATTENTION",
        "DATA_FILE_AUTO_GROW",
        "DATA_FILE_AUTO_SHRINK",
        "LOG_FILE_AUTO_GROW",
        "LOG_FILE_AUTO_SHRINK",
        "DATABASE_MIRRORING_STATE_CHANGE",
        "SERVER_MEMORY_CHANGE",
        "SORT_WARNINGS",
        "EXECUTION_WARNINGS",
        "EXCHANGE_SPILL_EVENT",
        "CPU_THRESHOLD_EXCEEDED",
        "MOUNT_TAPE",
        "OLEDB_ERRORS",
        "BITMAP_WARNING",
        "MISSING_COLUMN_STATISTICS",
        "MISSING_JOIN_PREDICATE",
        "SHOWPLAN_XML",
        "SHOWPLAN_XML_FOR_QUERY_COMPILE",
        "SHOWPLAN_XML_STATISTICS_PROFILE",
        "SHOWPLAN_ALL_FOR_QUERY_COMPILE",
        "SP_CACHEINSERT",
        "SP_CACHEMISS",
        "SP_CACHEREMOVE",
        "TRACE_FILE_CLOSE",
        "DEPRECATION_ANNOUNCEMENT",
        "DEPRECATION_FINAL_SUPPORT",
        "BLOCKED_PROCESS_REPORT",
    ];
    begins.iter().any(|b| upper.starts_with(b)) || whole.contains(&&*upper)
}
