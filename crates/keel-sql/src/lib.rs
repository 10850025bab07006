//! # keel-sql: everything of a SQL session above a single query
//!
//! (chapter to come)

pub mod catalog;
pub mod engine;
pub mod session;
pub mod sink;

pub use engine::{Engine, EngineOptions, LoginRecord, PasswordHasher, ServerLog};
pub use session::{BulkSource, BulkTarget, CancelHandle, Session, SessionOptions};
pub use sink::{
    ColumnMeta, DoneInfo, DoneKind, EnvChange, ResultSink, RpcParam, RpcProcedure, RpcValue, SinkClosed,
    TransactionRequest, TvpName,
};
