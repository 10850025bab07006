//! What the engine reports, in the product's numbers.

use crate::errors;
use keel_node::{DbError, TxnError};
use keel_types::SqlError;

/// An error of a transaction. `database` and `session` appear in some texts.
#[must_use]
pub fn txn_error(e: TxnError, database: &str, session: u32) -> Box<SqlError> {
    match e {
        TxnError::Deadlock => errors::deadlock(session),
        TxnError::LockTimeout => errors::lock_timeout(),
        TxnError::SnapshotConflict => errors::snapshot_conflict("", database),
        TxnError::Duplicate => SqlError::new(2601, 14, 1, "Cannot insert duplicate key row."),
        TxnError::NotFound => errors::corruption("a row that an index names is not there"),
        TxnError::Cancelled => errors::cancelled(),
        TxnError::LogFull(_) => errors::log_full(database),
        TxnError::RoleChanged(_) => SqlError::new(
            3906,
            16,
            2,
            format!("Failed to update database \"{database}\" because the database is read-only."),
        ),
        TxnError::Poisoned(detail) | TxnError::InDoubt(detail) => {
            errors::database_unavailable(database, detail)
        }
        TxnError::OutOfMemory => errors::out_of_memory(),
        TxnError::Corrupt(detail) => errors::corruption(detail),
        TxnError::Io(detail) => errors::database_unavailable(database, detail),
    }
}

/// An error of a whole database.
#[must_use]
pub fn db_error(e: DbError, database: &str) -> Box<SqlError> {
    match e {
        DbError::Invalid(detail) => SqlError::new(
            5120,
            16,
            101,
            format!("Unable to open the files of database '{database}'. {detail}"),
        ),
        DbError::Corrupt(detail) => errors::corruption(detail),
        DbError::Locked(thumbprint) => crate::backup::no_certificate_of(&thumbprint),
        DbError::Poisoned(detail) | DbError::Io(detail) | DbError::Role(detail) => {
            errors::database_unavailable(database, detail)
        }
    }
}
