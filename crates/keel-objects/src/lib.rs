//! Object storage as files that URLs name ([`keel_base::env::objects`]): S3-compatible, and Azure's Blob Storage.
//!
//! ```text
//!   write_at ──► part being filled ──► one waits ──► a thread sends it ──► UploadPart, Put Block …
//!   sync_all ──► the last part, however small ──► CompleteMultipartUpload, Put Block List: now there is an object
//!   dropped, or given up ──► AbortMultipartUpload, or DeleteObject where it was whole: nothing is left
//!
//!   read_at ──► in the window? ── no ──► GetObject, Get Blob of a range, larger each time while what is read follows on
//! ```
//!
//! What a URL begins with says which storage it is:
//! * `s3://host[:port]/path` is `https://host[:port]/path`, whether the bucket is the path's first part or the host's. Hosts that an
//!   administrator has listed are asked by plain HTTP, and no others. Requests are signed with version 4 in their URLs (`rusty-s3`).
//! * `https://host[:port]/path` is Azure's, whether the account is the path's first part or the host's. `http://` is one of the hosts that
//!   are listed. A request has a shared access signature in its URL, or is signed with the account's key.
//!
//! HTTPS trusts the system's roots and the certificates in a directory. `ureq` sends, one connection for each object, without a proxy.
//!
//! A request that fails in a way that may pass (5xx, 429, time-outs, broken connections) is sent again after a wait, twice as long each
//! time; whoever waits is asked each time whether he still does.
//!
//! # Deliberately absent
//! Making buckets and containers, listing them; other ways to sign than these (Microsoft Entra, managed identities); page and append blobs.

mod azure;
mod object;
mod request;
mod s3;
mod service;
pub mod trust;
mod upload;

#[cfg(test)]
mod tests;

use keel_base::env::File;
use keel_base::env::objects::{NewObject, ObjectAddress, Objects};
use service::Service;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What URLs of S3 storage begin with.
const S3: &str = "s3://";

/// What an administrator says of it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Directory with certificates (PEM or DER) of authorities that are trusted besides the system's. It need not be there.
    pub certificates: Option<PathBuf>,
    /// Hosts, as `host` or `host:port`, that are asked by plain HTTP: of Azure's URLs those that say so.
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

    fn service(&self, at: &ObjectAddress) -> io::Result<Box<dyn Service>> {
        if at.url.get(..S3.len()).is_some_and(|start| start.eq_ignore_ascii_case(S3)) {
            return Ok(Box::new(s3::Object::new(&self.options, at)?));
        }
        Ok(Box::new(azure::Blob::new(&self.options, at)?))
    }
}

impl Objects for Storage {
    fn create(&self, at: &ObjectAddress, part_bytes: usize, replace: bool) -> io::Result<Arc<dyn NewObject>> {
        Ok(Arc::new(upload::Upload::begin(self.service(at)?, part_bytes, replace)?))
    }

    fn open(&self, at: &ObjectAddress) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(object::Object::open(self.service(at)?)?))
    }
}
