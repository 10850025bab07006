//! S3-compatible object storage as files that URLs name ([`keel_base::env::objects`]).
//!
//! ```text
//!   write_at ──► part being filled ──► one waits ──► a thread sends it ──► UploadPart …
//!   sync_all ──► the last part, however small ──► CompleteMultipartUpload: now there is an object
//!   dropped, or given up ──► AbortMultipartUpload, or DeleteObject where it was whole: nothing is left
//!
//!   read_at ──► in the window? ── no ──► GetObject of a range, larger each time while what is read follows on
//! ```
//!
//! `s3://host[:port]/path` is `https://host[:port]/path`, whether the bucket is the path's first part or the host's. HTTPS trusts the
//! system's roots and the certificates in a directory; hosts that an administrator has listed are asked by plain HTTP, and no others.
//! Requests are signed with version 4 in their URLs (`rusty-s3`) and sent by `ureq`, one connection for each object, without a proxy.
//!
//! A request that fails in a way that may pass (5xx, 429, time-outs, broken connections) is sent again after a wait, twice as long each
//! time; whoever waits is asked each time whether he still does.
//!
//! # Deliberately absent
//! Making buckets, listing them, other ways to sign than with a key, and Azure's storage.

mod address;
mod object;
mod request;
mod upload;

#[cfg(test)]
mod tests;

use keel_base::env::File;
use keel_base::env::objects::{NewObject, ObjectAddress, Objects};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What an administrator says of it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Directory with certificates (PEM or DER) of authorities that are trusted besides the system's. It need not be there.
    pub certificates: Option<PathBuf>,
    /// Hosts, as `host` or `host:port`, that are asked by plain HTTP.
    pub plain: Vec<String>,
    /// Before a request is sent a second time; 200 ms when it is zero.
    pub first_wait: Duration,
}

/// The storage that URLs lead to.
#[derive(Debug)]
pub struct Storage {
    options: Options,
}

impl Storage {
    /// Of an instance. Certificates are read when an object is opened: new ones count at once.
    #[must_use]
    pub fn new(options: Options) -> Storage {
        Storage { options }
    }
}

impl Objects for Storage {
    fn create(&self, at: &ObjectAddress, part_bytes: usize, replace: bool) -> io::Result<Arc<dyn NewObject>> {
        let client = request::Client::new(&self.options, at)?;
        Ok(Arc::new(upload::Upload::begin(client, part_bytes, replace)?))
    }

    fn open(&self, at: &ObjectAddress) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(object::Object::open(request::Client::new(&self.options, at)?)?))
    }
}
