//! Object storage in memory, for scripts: `s3://store/shop/…` with the key `AKID` / `right`, and `https://store.blob.core.windows.net/shop/…`
//! with the signature `sv=1&sig=right` or the key `store` / `cmlnaHQ=`. What is written to a name with `broken` in it fails when it is to become an
//! object.

use keel_base::env::File;
use keel_base::env::objects::{Access, NewObject, ObjectAddress, Objects};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

type Known = Arc<Mutex<BTreeMap<String, Arc<Vec<u8>>>>>;

/// The storage.
#[derive(Debug, Default)]
pub struct MemoryObjects {
    known: Known,
}

impl MemoryObjects {
    fn check(at: &ObjectAddress) -> io::Result<()> {
        let key = |name: &str, secret: &str| Access::Key { name: name.to_owned(), secret: secret.to_owned() };
        let is_azure = at.url.starts_with("https://");
        let lets_in = match is_azure {
            true => {
                at.access == Access::Signature("sv=1&sig=right".to_owned())
                    || at.access == key("store", "cmlnaHQ=")
            }
            false => at.access == key("AKID", "right"),
        };
        if !lets_in {
            let text = match is_azure {
                true => "HTTP 403 AuthenticationFailed: Server failed to authenticate the request.",
                false => "HTTP 403 SignatureDoesNotMatch: The signature is another one.",
            };
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
        if !["s3://store/shop/", "https://store.blob.core.windows.net/shop/"]
            .iter()
            .any(|s| at.url.starts_with(s))
        {
            let text = match is_azure {
                true => "HTTP 404 ContainerNotFound",
                false => "HTTP 404 NoSuchBucket: The specified bucket does not exist.",
            };
            return Err(io::Error::new(ErrorKind::NotFound, text));
        }
        if at.region != "us-east-1" {
            let text = format!("HTTP 301 PermanentRedirect (asked in {})", at.region);
            return Err(io::Error::new(ErrorKind::Unsupported, text));
        }
        Ok(())
    }
}

impl Objects for MemoryObjects {
    fn create(&self, at: &ObjectAddress, _: usize, replace: bool) -> io::Result<Arc<dyn NewObject>> {
        MemoryObjects::check(at)?;
        if self.known.lock().contains_key(&at.url) && !replace {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let (known, url, state) = (Arc::clone(&self.known), at.url.clone(), Mutex::default());
        Ok(Arc::new(Writing { known, url, state }))
    }

    fn open(&self, at: &ObjectAddress) -> io::Result<Arc<dyn File>> {
        MemoryObjects::check(at)?;
        let found = self.known.lock().get(&at.url).cloned();
        let missing = || io::Error::new(ErrorKind::NotFound, "HTTP 404 NoSuchKey: There is no such object.");
        Ok(Arc::new(Reading(found.ok_or_else(missing)?)))
    }
}

struct Writing {
    known: Known,
    url: String,
    /// What there is so far, until it is an object.
    state: Mutex<(Vec<u8>, bool)>,
}

impl File for Writing {
    fn read_at(&self, _: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.len()? { Ok(0) } else { Err(ErrorKind::Unsupported.into()) }
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        if offset != state.0.len() as u64 || state.1 {
            return Err(io::Error::other("an object is written once, from its beginning to its end"));
        }
        state.0.extend_from_slice(buf);
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn sync_all(&self) -> io::Result<()> {
        if self.url.contains("broken") {
            return Err(io::Error::other("HTTP 503 SlowDown: Please reduce your request rate."));
        }
        let mut state = self.state.lock();
        state.1 = true;
        self.known.lock().insert(self.url.clone(), Arc::new(state.0.clone()));
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().0.len() as u64)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        if len == self.len()? { Ok(()) } else { Err(ErrorKind::Unsupported.into()) }
    }
    fn allocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

impl NewObject for Writing {
    fn give_up(&self) {
        if self.state.lock().1 {
            self.known.lock().remove(&self.url);
        }
    }
}

struct Reading(Arc<Vec<u8>>);

impl File for Reading {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let n = buf.len().min(self.0.len() - from);
        buf[..n].copy_from_slice(&self.0[from..from + n]);
        Ok(n)
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
    fn allocate(&self, _: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}
