//! Object storage: files that URLs name. One is written once, from its beginning to its end, and is there when it is whole or not at all.

use super::File;
use std::fmt;
use std::io;
use std::sync::Arc;

/// What lets somebody into a storage.
#[derive(Clone, PartialEq, Eq)]
pub enum Access {
    /// A key that requests are signed with.
    Key {
        /// What the storage calls the key; of Azure's storage the account.
        name: String,
        /// The key itself.
        secret: String,
    },
    /// A part of each request that somebody has signed (Azure's shared access signatures).
    Signature(String),
}

impl fmt::Debug for Access {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Access::Key { name, .. } => write!(f, "the key {name}"),
            Access::Signature(_) => f.write_str("a signature"),
        }
    }
}

/// Who asks for an object, and where it is.
#[derive(Clone)]
pub struct ObjectAddress {
    /// `s3://host[:port]/…`, or `https://host[:port]/…` of Azure's storage.
    pub url: String,
    /// What lets whoever asks in.
    pub access: Access,
    /// Where S3 storage is said to be.
    pub region: String,
    /// Whether whoever asks does not want to wait any longer. Looked at while something is waited for.
    pub cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for ObjectAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {:?} in {}", self.url, self.access, self.region)
    }
}

/// An object that is being written. Bytes are taken behind the last ones only, and nothing of it is there before
/// [`File::sync_all`] has returned; after that nothing can be written. One that is dropped before was never there.
pub trait NewObject: File {
    /// Takes the object away again, also one that is whole: what it belongs to has failed.
    fn give_up(&self);
}

/// Object storage.
///
/// Errors tell by their kind what is wrong: `PermissionDenied`, `NotFound` (the bucket, the container or the object), `AlreadyExists`, `Unsupported` (a URL
/// that cannot be asked), `TimedOut` and others after attempts enough. Their texts are for people.
pub trait Objects: Send + Sync {
    /// Begins an object. It is sent in parts of `part_bytes`, of which about three are in memory. One that is there is in the way unless
    /// `replace` says so; it stays until the new one is whole.
    fn create(&self, at: &ObjectAddress, part_bytes: usize, replace: bool) -> io::Result<Arc<dyn NewObject>>;
    /// Opens an object that is whole, to be read.
    fn open(&self, at: &ObjectAddress) -> io::Result<Arc<dyn File>>;
}
