//! # keel-node: databases as the SQL layers see them
//!
//! Log, store and redo put together: an [`Instance`] holds what all databases share, a [`Database`] is one log with one
//! store, a [`Transaction`] is the only way to read and write rows.
//!
//! (The chapter grows with the body; the interface below is what the layers above code against.)

pub mod database;
pub mod error;
pub mod transaction;

pub use database::{Database, DbOptions, DbStats, Durability, Instance, InstanceOptions, Progress};
pub use error::{DbError, TxnError};
pub use transaction::{Commit, Cursor, Direction, Isolation, LockMode, Mark, ReadView, RowRef, Transaction};
