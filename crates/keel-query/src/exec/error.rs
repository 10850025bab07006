//! Storage errors, and what a panic ended, with the product's numbers.

use crate::errors::{self, Error};
use keel_base::panics;
use keel_node::TxnError;
use keel_types::SqlError;
use std::any::Any;

/// What is said of a caught panic: 5243 where stored data are damaged, 3624 where the program is wrong.
#[must_use]
pub fn panicked(panic: &(dyn Any + Send)) -> Error {
    match panics::damage(panic) {
        Some(what) => errors::inconsistent(what),
        None => errors::assertion_failed(panics::text(panic)),
    }
}

/// Maps what the storage layer reports. Duplicate keys are mapped by DML, which knows the constraint.
#[must_use]
pub fn txn_error(e: &TxnError, session_id: u32) -> Error {
    match e {
        TxnError::Deadlock => errors::deadlock(session_id),
        TxnError::LockTimeout => errors::lock_timeout(),
        TxnError::SnapshotConflict => errors::snapshot_conflict("", ""),
        TxnError::Cancelled => errors::cancelled(),
        TxnError::LogFull(why) => SqlError::new(
            9002,
            17,
            4,
            format!("The transaction log for the database is full due to '{why}'."),
        ),
        TxnError::Poisoned(why) => SqlError::new(
            9001,
            21,
            4,
            format!(
                "The log for the database is not available. Check the error log for related messages: {why}"
            ),
        ),
        TxnError::RoleChanged(_) => SqlError::new(
            3906,
            16,
            2,
            "Failed to update the database because the database is read-only: this replica is not the primary.",
        ),
        TxnError::InDoubt(why) => {
            SqlError::new(9001, 21, 5, format!("The outcome of the transaction is in doubt: {why}"))
        }
        TxnError::OutOfMemory => errors::out_of_memory(),
        TxnError::Corrupt(what) => SqlError::new(
            824,
            24,
            2,
            format!("SQL Server detected a logical consistency-based I/O error: {what}"),
        ),
        TxnError::Io(what) => {
            SqlError::new(823, 24, 2, format!("The operating system returned an error: {what}"))
        }
        other => errors::assertion_failed(other),
    }
}
