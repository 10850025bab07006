//! # Query notifications: a client is told once when the result of its query would be another
//!
//! ```text
//!   SELECT with a notification ─► may it be watched? ─ no ─► message "subscribe", at once
//!        (header of TDS)              │ yes
//!                                     ▼
//!                    subscription: a row of the database, and watches of its tables in memory
//!                                     │ rows that they read are changed
//!                                     ▼
//!                    the changing transaction, as it commits: the subscription goes, a message comes
//! ```
//!
//! A subscription is a row of the broker's hidden tree, so that a crash or a failover forgets none: those that the instance finds when it begins to
//! carry on a database's conversations are told of the restart; so it forgets those of a database that it does not carry on any more. What its query reads is in memory alone: watches of tables
//! ([`keel_query::watch`]), that statements which change rows ask for.
//!
//! | file | owns |
//! | --- | --- |
//! | [`request`] | what the client asks for, as it writes it |
//! | `rules` | which queries can be watched, and what they read |
//! | [`registry`] | the subscriptions in memory |
//! | [`changes`] | what a transaction has changed of what is watched |
//! | `subscribe` | a SELECT with a notification |
//! | `send` | messages |
//! | `errors` | the product's errors |
//!
//! ## Invariants
//!
//! * A subscription is in memory before its row is committed, and that is before its query reads. So a transaction that the query does not see is
//!   in the log behind the row, and looks for subscriptions after it has its place there: none is missed, whatever the level of either.
//! * Who tells of a subscription has deleted its row in the same transaction, under the row's lock: each is told once.
//!
//! ## Deliberately absent
//!
//! Watching results: a change is told that could touch the result of the query, by table, columns and comparisons with values.

pub mod changes;
pub(crate) mod errors;
pub mod registry;
pub mod request;
mod rules;
mod send;
mod subscribe;

pub use request::Request;
pub(crate) use send::find_forgotten;
pub(crate) use subscribe::is_watchable;

/// Why a message is sent: its attributes `type`, `source` and `info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// `change`, or `subscribe` for a query that is not watched.
    pub kind: &'static str,
    /// `source`
    pub source: &'static str,
    /// `info`
    pub info: &'static str,
}

impl Reason {
    /// The instance or the database was started: nobody knows what has changed meanwhile.
    pub const RESTART: Reason = Reason { kind: "change", source: "database", info: "restart" };
    /// Its time is over.
    pub const EXPIRED: Reason = Reason { kind: "change", source: "timeout", info: "expired" };
    /// All rows of a table have gone.
    pub const TRUNCATED: Reason = Reason { kind: "change", source: "data", info: "truncate" };
    /// A table has other columns.
    pub const ALTERED: Reason = Reason { kind: "change", source: "object", info: "alter" };
    /// A table is no more.
    pub const DROPPED: Reason = Reason { kind: "change", source: "object", info: "drop" };
    /// The database is dropped.
    pub const DATABASE_DROPPED: Reason = Reason { kind: "change", source: "database", info: "drop" };
    /// Not a query.
    pub const INVALID: Reason = Reason { kind: "subscribe", source: "statement", info: "invalid" };
    /// A query that cannot be watched.
    pub const QUERY: Reason = Reason { kind: "subscribe", source: "statement", info: "query" };
    /// There are too many for the table.
    pub const LIMIT: Reason = Reason { kind: "subscribe", source: "statement", info: "query template limit" };
    /// SET options are not as they must be.
    pub const OPTIONS: Reason = Reason { kind: "subscribe", source: "environment", info: "set options" };
    /// So is the isolation level.
    pub const ISOLATION: Reason = Reason { kind: "subscribe", source: "environment", info: "isolation" };

    /// Rows were changed so.
    #[must_use]
    pub fn of(action: keel_query::context::DmlAction) -> Reason {
        use keel_query::context::DmlAction as A;
        let info = match action {
            A::Insert => "insert",
            A::Update => "update",
            A::Delete => "delete",
        };
        Reason { kind: "change", source: "data", info }
    }
}
