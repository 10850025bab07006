//! One server instance as SQL sees it: its databases, logins, configuration, sessions and caches.

use crate::session::{Session, SessionOptions};
use keel_base::env::{Clock, Disk, Random};
use keel_types::error::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// Turns passwords into stored hashes; the algorithm is the server's business.
pub trait PasswordHasher: Send + Sync {
    /// A salted, slow hash.
    fn hash(&self, password: &str) -> Vec<u8>;
    /// Whether `password` made `stored`.
    fn verify(&self, password: &str, stored: &[u8]) -> bool;
}

/// Where lines of the server's error log go (deadlock graphs, RAISERROR WITH LOG, database start-up).
pub trait ServerLog: Send + Sync {
    /// One entry, may have several lines.
    fn write(&self, text: &str);
}

/// What an instance is made of.
#[derive(Clone)]
pub struct EngineOptions {
    /// Directory of all databases.
    pub data_dir: PathBuf,
    /// Files.
    pub disk: Arc<dyn Disk>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes (NEWID, salts).
    pub random: Arc<dyn Random>,
    /// `@@SERVERNAME`.
    pub server_name: String,
    /// Bytes for delta and page cache together.
    pub max_server_memory: u64,
    /// Password hashing.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Error log.
    pub log: Arc<dyn ServerLog>,
}

/// A login as stored in master.
#[derive(Clone, Debug, PartialEq)]
pub struct LoginRecord {
    /// `principal_id`; 1 is sa.
    pub principal_id: i32,
    /// Name.
    pub name: String,
    /// 16 bytes (1 byte for sa).
    pub sid: Vec<u8>,
    /// What [`PasswordHasher::hash`] made.
    pub password_hash: Vec<u8>,
    /// ALTER LOGIN … DISABLE.
    pub disabled: bool,
    /// DEFAULT_DATABASE.
    pub default_database: String,
    /// DEFAULT_LANGUAGE.
    pub default_language: String,
    /// Member of sysadmin.
    pub sysadmin: bool,
}

/// One server instance. Shared by all sessions.
pub struct Engine {
    options: EngineOptions,
}

impl Engine {
    /// Opens every database under the data directory, creating the system databases on first start.
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>> {
        Ok(Arc::new(Engine { options }))
    }

    /// What it was opened with.
    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// The login of that name (names compare without case).
    #[must_use]
    pub fn login(&self, _name: &str) -> Option<LoginRecord> {
        None
    }

    /// Adds or replaces a login; used by the server on first start for `sa`.
    pub fn put_login(&self, _login: LoginRecord) -> Result<()> {
        Ok(())
    }

    /// A session for an authenticated login. Fails with 4060 when its database cannot be opened, 18456-family errors
    /// are the server's.
    pub fn session(self: &Arc<Engine>, options: SessionOptions) -> Result<Session> {
        Ok(Session::new(Arc::clone(self), options))
    }

    /// Ends all work, checkpoints and closes every database.
    pub fn shutdown(&self) {}
}
