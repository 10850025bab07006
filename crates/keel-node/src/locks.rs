//! Lock modes as the product names them, and on whose behalf a transaction locks.

use crate::error::TxnError;
use keel_base::{DatabaseId, TxnId};
use keel_store::lock::{CancelToken, LockError, Mode, OwnerContext, OwnerDescription, Resource};
use std::sync::Arc;

/// Lock modes as the product names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Intent shared.
    IntentShared,
    /// Intent exclusive.
    IntentExclusive,
    /// Shared.
    Shared,
    /// Update.
    Update,
    /// Shared with intent exclusive.
    SharedIntentExclusive,
    /// Bulk update: rows are added by those who hold it, side by side.
    BulkUpdate,
    /// Exclusive.
    Exclusive,
    /// Schema stability.
    SchemaStability,
    /// Schema modification.
    SchemaModification,
}

impl From<LockMode> for Mode {
    fn from(mode: LockMode) -> Mode {
        match mode {
            LockMode::IntentShared => Mode::IS,
            LockMode::IntentExclusive => Mode::IX,
            LockMode::Shared => Mode::S,
            LockMode::Update => Mode::U,
            LockMode::SharedIntentExclusive => Mode::SIX,
            LockMode::BulkUpdate => Mode::BU,
            LockMode::Exclusive => Mode::X,
            LockMode::SchemaStability => Mode::SchS,
            LockMode::SchemaModification => Mode::SchM,
        }
    }
}

impl From<LockError> for TxnError {
    fn from(error: LockError) -> TxnError {
        match error {
            LockError::Timeout => TxnError::LockTimeout,
            LockError::Deadlock(_) => TxnError::Deadlock,
            LockError::Cancelled => TxnError::Cancelled,
        }
    }
}

/// The session a transaction works for: one thread, waiting for one lock at a time.
#[derive(Clone)]
pub struct Agent {
    /// Number of the session; unique among agents at work.
    pub id: u64,
    /// What deadlock reports and views say about it.
    pub context: Arc<dyn OwnerContext>,
    /// Stops its waits.
    pub cancel: Arc<CancelToken>,
}

impl Agent {
    /// An agent for a transaction that no session owns.
    pub(crate) fn anonymous(id: TxnId) -> Agent {
        // Session numbers are small; the top bit keeps the two kinds apart.
        Agent {
            id: id.0 | 1 << 63,
            context: Arc::new(OwnerDescription::default()),
            cancel: CancelToken::new(),
        }
    }
}

/// Held exclusively by each transaction that writes; whoever finds an undecided version of a key that has no lock of its
/// own (an index entry) waits for the writer here.
const TXN_CLASS: u32 = 0x7478_6E00;

/// The resource that stands for a transaction.
pub(crate) fn txn_resource(database: DatabaseId, id: &[u8; 8]) -> Resource<'_> {
    Resource::Metadata(database, TXN_CLASS, id)
}
