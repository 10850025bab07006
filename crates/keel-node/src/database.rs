//! [`Instance`] and [`Database`].
//!
//! For now the rows live in one map in memory; the interface is final, the body is not.

use crate::error::DbError;
use crate::transaction::{Isolation, RowRef, Transaction};
use keel_base::env::Env;
use keel_base::{DatabaseId, Lsn};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How an instance is set up.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// `max server memory`: row versions and page cache together, in bytes.
    pub memory_bytes: usize,
    /// Bytes a second that checkpoints may write (`-k`); 0 = no limit.
    pub checkpoint_bytes_per_second: u64,
    /// Threads of recovery.
    pub redo_workers: usize,
}

impl Default for InstanceOptions {
    fn default() -> Self {
        InstanceOptions { memory_bytes: 1 << 30, checkpoint_bytes_per_second: 0, redo_workers: 2 }
    }
}

/// What all databases of a process share.
pub struct Instance {
    env: Env,
    options: InstanceOptions,
}

impl Instance {
    /// A new instance.
    pub fn new(env: Env, options: InstanceOptions) -> Arc<Instance> {
        Arc::new(Instance { env, options })
    }

    /// Disk, clock and random source.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// How it was set up.
    pub fn options(&self) -> &InstanceOptions {
        &self.options
    }
}

/// Whether a database survives a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Every acknowledged commit survives.
    #[default]
    Durable,
    /// Nothing does (tempdb): no log, files are wiped when opened.
    Volatile,
}

/// How a database is made or opened.
#[derive(Clone, Debug, Default)]
pub struct DbOptions {
    /// Whether it survives a restart.
    pub durability: Durability,
}

/// How far an opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Log bytes replayed.
    pub done_bytes: u64,
    /// Log bytes to replay.
    pub total_bytes: u64,
}

/// Figures of a database for monitoring.
#[derive(Clone, Copy, Debug, Default)]
pub struct DbStats {
    /// Transactions committed that wrote something.
    pub commits: u64,
}

pub(crate) type Rows = BTreeMap<(u32, Vec<u8>), RowRef>;

/// One database: a log and a store.
pub struct Database {
    id: DatabaseId,
    dir: PathBuf,
    instance: Arc<Instance>,
    pub(crate) rows: Mutex<Rows>,
}

impl Database {
    /// Makes a new, empty database in `dir`.
    pub fn create(
        instance: &Arc<Instance>,
        id: DatabaseId,
        dir: &Path,
        _options: &DbOptions,
    ) -> Result<Arc<Database>, DbError> {
        Ok(Arc::new(Database {
            id,
            dir: dir.to_path_buf(),
            instance: Arc::clone(instance),
            rows: Mutex::new(Rows::new()),
        }))
    }

    /// Opens the database in `dir`, replaying what its log holds after the last checkpoint.
    pub fn open(
        instance: &Arc<Instance>,
        id: DatabaseId,
        dir: &Path,
        options: &DbOptions,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Database>, DbError> {
        Database::create(instance, id, dir, options)
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>, isolation: Isolation) -> Transaction {
        Transaction::new(Arc::clone(self), isolation)
    }

    /// Its id in this instance.
    pub fn id(&self) -> DatabaseId {
        self.id
    }

    /// Where its files are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The instance it belongs to.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Merges everything hardened so far into the base tree and gives log space back.
    pub fn checkpoint(&self) -> Result<(), DbError> {
        Ok(())
    }

    /// Everything before this survives a power cut.
    pub fn hardened(&self) -> Lsn {
        Lsn::ZERO
    }

    /// Figures for monitoring.
    pub fn stats(&self) -> DbStats {
        DbStats::default()
    }

    /// Checkpoints and closes. Later calls on the database fail.
    pub fn close(&self) -> Result<(), DbError> {
        Ok(())
    }
}
