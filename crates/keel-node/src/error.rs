//! What can go wrong, sorted by what the caller does next. SQL Server's numbers are attached by the SQL layer.

use keel_log::LogError;
use keel_redo::RedoError;
use keel_store::StoreError;
use keel_store::base::BaseError;
use std::sync::Arc;

/// Why a transaction's call failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TxnError {
    /// Chosen as the victim of a deadlock (1205). The transaction must be rolled back.
    #[error("deadlock victim")]
    Deadlock,
    /// A lock was not granted in time (1222). The statement failed, the transaction may go on.
    #[error("lock request time-out")]
    LockTimeout,
    /// Under SNAPSHOT another transaction changed the row first (3960). The transaction must be rolled back.
    #[error("snapshot update conflict")]
    SnapshotConflict,
    /// The key exists (2627, 2601).
    #[error("duplicate key")]
    Duplicate,
    /// The row to change is not there (any more).
    #[error("row not found")]
    NotFound,
    /// The session was told to stop (attention, kill).
    #[error("cancelled")]
    Cancelled,
    /// No room in the log (9002). The transaction must be rolled back.
    #[error("log full: {0}")]
    LogFull(Arc<str>),
    /// A failed write has stopped the database; a commit under way is in doubt.
    #[error("stopped after a failed write: {0}")]
    Poisoned(Arc<str>),
    /// The replica does not accept writes (3906), or changed its role while the transaction was open. Nothing was
    /// committed.
    #[error("the replica's role does not allow it: {0}")]
    RoleChanged(Arc<str>),
    /// The commit has its place in the log, but the replica stopped waiting for the others (fenced, demoted): whether it
    /// survives is decided by the group.
    #[error("in doubt: {0}")]
    InDoubt(Arc<str>),
    /// The memory for uncommitted and unmerged rows is used up (701). The transaction must be rolled back.
    #[error("out of memory for row versions")]
    OutOfMemory,
    /// Stored data does not check out (823, 824).
    #[error("corrupt: {0}")]
    Corrupt(Arc<str>),
    /// The disk failed.
    #[error("I/O: {0}")]
    Io(Arc<str>),
}

/// Why a database could not be made, opened, checkpointed or closed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DbError {
    /// Something exists that should not, or the other way round.
    #[error("{0}")]
    Invalid(Arc<str>),
    /// Stored data does not check out.
    #[error("corrupt: {0}")]
    Corrupt(Arc<str>),
    /// A failed write has stopped the database.
    #[error("stopped after a failed write: {0}")]
    Poisoned(Arc<str>),
    /// The database's role in its group, or where its log stands, does not allow it.
    #[error("{0}")]
    Role(Arc<str>),
    /// It is encrypted, and the certificate with this thumbprint is not here (33111).
    #[error("the certificate with thumbprint {0} is not here")]
    Locked(Arc<str>),
    /// The disk failed or is full.
    #[error("I/O: {0}")]
    Io(Arc<str>),
}

fn text(error: &impl std::fmt::Display) -> Arc<str> {
    Arc::from(error.to_string())
}

impl From<StoreError> for TxnError {
    fn from(error: StoreError) -> TxnError {
        match error {
            StoreError::Duplicate => TxnError::Duplicate,
            StoreError::Undecided(_) => TxnError::Corrupt(text(&error)),
            StoreError::Base(base) => base.into(),
        }
    }
}

impl From<BaseError> for TxnError {
    fn from(error: BaseError) -> TxnError {
        match error {
            BaseError::Io { .. } => TxnError::Io(text(&error)),
            BaseError::Poisoned { .. } => TxnError::Poisoned(text(&error)),
            _ => TxnError::Corrupt(text(&error)),
        }
    }
}

impl From<LogError> for TxnError {
    fn from(error: LogError) -> TxnError {
        match error {
            LogError::Full { .. } => TxnError::LogFull(text(&error)),
            LogError::Poisoned { .. } => TxnError::Poisoned(text(&error)),
            LogError::Io(_) => TxnError::Io(text(&error)),
            LogError::NotWriter => TxnError::RoleChanged(text(&error)),
            LogError::Truncated { .. }
            | LogError::Corrupt { .. }
            | LogError::NotNext { .. }
            | LogError::Locked { .. } => TxnError::Corrupt(text(&error)),
        }
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> DbError {
        match error {
            StoreError::Base(base) => base.into(),
            StoreError::Duplicate | StoreError::Undecided(_) => DbError::Corrupt(text(&error)),
        }
    }
}

impl From<BaseError> for DbError {
    fn from(error: BaseError) -> DbError {
        match error {
            BaseError::Io { .. } => DbError::Io(text(&error)),
            BaseError::Poisoned { .. } => DbError::Poisoned(text(&error)),
            _ => DbError::Corrupt(text(&error)),
        }
    }
}

impl From<LogError> for DbError {
    fn from(error: LogError) -> DbError {
        match error {
            LogError::Poisoned { .. } => DbError::Poisoned(text(&error)),
            LogError::Full { .. } | LogError::Io(_) => DbError::Io(text(&error)),
            LogError::NotWriter | LogError::NotNext { .. } => DbError::Role(text(&error)),
            LogError::Truncated { .. } | LogError::Corrupt { .. } | LogError::Locked { .. } => {
                DbError::Corrupt(text(&error))
            }
        }
    }
}

impl From<RedoError> for DbError {
    fn from(error: RedoError) -> DbError {
        match error {
            RedoError::Log(log) => log.into(),
            RedoError::Store(store) => store.into(),
            RedoError::Damaged { .. } | RedoError::Stopped { .. } => DbError::Corrupt(text(&error)),
        }
    }
}

impl From<std::io::Error> for DbError {
    fn from(error: std::io::Error) -> DbError {
        DbError::Io(text(&error))
    }
}
