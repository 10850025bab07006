//! An object that is read: ranges of it, ahead of who reads.

use crate::service::{Found, Service};
use keel_base::env::File;
use parking_lot::Mutex;
use std::io::{self, ErrorKind};

/// What is asked for at first, and after a jump.
const WINDOW_MIN: usize = 64 << 10;
/// What is asked for at most: each window is twice the last while they follow on.
const WINDOW_MAX: usize = 8 << 20;

pub(crate) struct Object {
    service: Box<dyn Service>,
    length: u64,
    /// Which version of the object it is: another one in its place is not read on.
    tag: Option<String>,
    window: Mutex<Window>,
}

#[derive(Default)]
struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// Copies what it has from a place on; how many bytes that were.
    fn copy(&self, offset: u64, buf: &mut [u8]) -> usize {
        let from = offset.checked_sub(self.at).and_then(|n| usize::try_from(n).ok());
        let Some(found) = from.and_then(|from| self.bytes.get(from..)) else { return 0 };
        let n = found.len().min(buf.len());
        buf[..n].copy_from_slice(&found[..n]);
        n
    }
}

impl Object {
    pub fn open(service: Box<dyn Service>) -> io::Result<Object> {
        let Found { length, tag } = service.look()?;
        Ok(Object { service, length, tag, window: Mutex::default() })
    }

    fn fetch(&self, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let found = self.service.read(at, bytes, self.tag.as_deref())?;
        if found.len() == bytes {
            return Ok(found);
        }
        Err(io::Error::new(ErrorKind::UnexpectedEof, "the storage gave less of it than was asked for"))
    }
}

impl File for Object {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let wanted = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
        let mut window = self.window.lock();
        let mut done = window.copy(offset, &mut buf[..wanted]);
        while done < wanted {
            let at = offset + done as u64;
            let follows = at == window.end();
            let ahead =
                if follows { (window.bytes.len() * 2).clamp(WINDOW_MIN, WINDOW_MAX) } else { WINDOW_MIN };
            let left = usize::try_from(self.length - at).unwrap_or(usize::MAX);
            let bytes = ahead.max((wanted - done).min(WINDOW_MAX)).min(left);
            *window = Window { at, bytes: self.fetch(at, bytes)? };
            done += window.copy(at, &mut buf[done..wanted]);
        }
        Ok(done)
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
        Ok(self.length)
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
    fn allocate(&self, _: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}
