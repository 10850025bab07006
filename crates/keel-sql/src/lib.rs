//! # keel-sql: everything of a SQL session above a single query
//!
//! ```text
//!   Session::execute_batch ──► ProgramCache ──miss──► parse, lower ──► Program (instructions, variable slots)
//!                                   │
//!                                   ▼
//!                                Runner ──► Unit: compiled by keel-query when first run, checked by catalog version
//!                                   │              │
//!                    Info (options, counters)   TxnSet (keel-node transactions, one per database)
//!                                   │
//!                                   ▼
//!                               ResultSink (columns, rows, messages, done …)
//! ```
//!
//! | module | owns |
//! | --- | --- |
//! | [`agent`] | jobs that the instance does by itself |
//! | [`full_text`] | full-text indexes: the crawl behind the commits |
//! | [`broker`] | Service Broker: conversations between queues, and procedures that read them |
//! | [`event_notifications`] | services are told of events |
//! | [`notify`] | query notifications: clients are told that results have changed |
//! | [`capture`] | change data capture: changes told in the order of commits |
//! | [`engine`] | the instance: databases, logins, configuration, sessions |
//! | [`catalog`] | objects of a database: stored, pictured, changed, published |
//! | [`session`] | one client: [`Session`], its state and its transactions |
//! | [`program`] | batches and modules as instructions |
//! | [`parameterization`] | one program for texts that differ in literals |
//! | [`run`] | the interpreter: control flow, errors, transactions, calls, cursors |
//! | [`ddl`] | statements that change definitions or administer |
//! | [`modules`] | procedures, functions, triggers: from text to programs |
//! | [`triggers`] | which triggers fire, in what order, inside which transaction; what events there are |
//! | [`functions`], [`views`], [`procs`] | tables of session functions, system views, system procedures |
//! | [`audit`] | audits: who did what, recorded before it goes on |
//! | [`governor`] | what requests may use: resource pools, workload groups, who waits |
//! | [`distributed`] | transactions that somebody else decides about: over several databases, XA's branches |
//! | [`linked`] | other servers by name: their tables, queries and procedures, transactions that reach them |
//! | [`column_keys`] | Always Encrypted: keys of columns, which variables are encrypted |
//! | [`keys`] | keys and certificates of a database, what is encrypted and signed with them |
//! | [`hadr`] | availability groups: statements, rules, what views show |
//! | [`startup`] | procedures of master that run when the instance starts |
//! | [`sink`] | what a client is told |
//!
//! Invariants: a writer holds an intent lock on its table and has compared catalog versions after it got it; a catalog
//! version is compiled against only once its commit is hardened; nothing of one session is reachable from another except
//! through [`engine::SessionShared`].
//!
//! Deliberately absent: the wire, sockets and authentication (keel-server), plans and operators (keel-query), rows, locks
//! and the log (keel-node and below).

pub mod agent;
pub mod api_cursor;
pub mod audit;
pub mod backup;
pub mod broker;
mod cache;
pub mod capture;
pub mod catalog;
pub mod change_cleanup;
pub mod clock;
pub mod column_keys;
pub mod config;
pub mod convert;
pub mod cursor;
pub mod ddl;
mod declared;
pub mod describe;
pub mod diagnostics;
pub mod distributed;
pub mod engine;
pub mod errors;
pub mod event_notifications;
pub mod events;
pub mod failover_cluster;
pub mod full_text;
pub mod functions;
pub mod governor;
pub mod hadr;
pub mod history_cleanup;
mod host;
pub mod keys;
pub mod linked;
pub mod map;
pub mod messages;
pub mod modules;
pub mod notify;
pub mod parameterization;
pub mod plan_guides;
pub mod procs;
pub mod program;
pub mod query_store;
pub mod run;
mod scoped;
mod secrets;
pub mod session;
pub mod sink;
pub mod startup;
pub mod triggers;
pub mod views;
pub mod windows;

pub use keel_node::InstanceOptions;

pub use engine::{DatabaseUser, Engine, EngineOptions, LoginRecord, PasswordHasher, ServerLog, Traffic};
pub use failover_cluster::{ClusterNode, FailoverCluster};
pub use keel_query::dml::{BulkRow, Cell};
pub use keel_query::exec::error::panicked;
pub use session::{BulkSource, BulkTarget, CancelHandle, Secret, Session, SessionOptions, recovery};
pub use sink::{
    ColumnMeta, DoneInfo, DoneKind, EnvChange, ResultSink, RpcParam, RpcProcedure, RpcValue, SinkClosed,
    TransactionRequest, TvpName,
};
