//! A disk in memory that loses what was not synced, tears writes, and fails on demand.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keel_base::env::{Disk, File, OpenMode};
use parking_lot::Mutex;

/// One call that changes a file, remembered until the next sync.
#[derive(Clone)]
enum Unsynced {
    Write(u64, Vec<u8>),
    Len(u64),
}

#[derive(Default)]
struct Content {
    durable: Vec<u8>,
    current: Vec<u8>,
    unsynced: Vec<Unsynced>,
}

/// When and how calls fail.
#[derive(Default)]
struct Faults {
    /// Writes, syncs and length changes until one fails.
    countdown: Option<u64>,
}

/// The disk.
#[derive(Default)]
pub struct TestDisk {
    files: Mutex<BTreeMap<PathBuf, Arc<Mutex<Content>>>>,
    faults: Arc<Mutex<Faults>>,
}

struct TestFile {
    content: Arc<Mutex<Content>>,
    faults: Arc<Mutex<Faults>>,
}

/// A small generator, so that a failing case is its seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

impl TestDisk {
    pub fn new() -> Arc<TestDisk> {
        Arc::default()
    }

    /// The `n`-th changing call from now on fails (0: the next one), and all after it.
    pub fn fail_after(&self, n: u64) {
        self.faults.lock().countdown = Some(n);
    }

    /// Calls succeed again.
    pub fn heal(&self) {
        self.faults.lock().countdown = None;
    }

    /// The disk after a power failure: of what was not synced, a random part is there, the last of it torn.
    pub fn crashed(&self, rng: &mut Dice) -> Arc<TestDisk> {
        let after = TestDisk::default();
        for (path, content) in &*self.files.lock() {
            let content = content.lock();
            let mut bytes = content.durable.clone();
            let keep_in_eighths = rng.below(9);
            for change in &content.unsynced {
                let keep = rng.below(8) < keep_in_eighths;
                match change {
                    Unsynced::Write(offset, data) if keep => {
                        let sectors = data.len().div_ceil(512) as u64;
                        let torn = if rng.below(4) == 0 { rng.below(sectors + 1) } else { sectors };
                        let len = (torn as usize * 512).min(data.len());
                        write(&mut bytes, *offset, &data[..len]);
                    }
                    Unsynced::Len(len) if keep => bytes.resize(*len as usize, 0),
                    _ => {}
                }
            }
            let content = Content { durable: bytes.clone(), current: bytes, unsynced: Vec::new() };
            after.files.lock().insert(path.clone(), Arc::new(Mutex::new(content)));
        }
        Arc::new(after)
    }

    /// A copy of a file's bytes.
    pub fn bytes(&self, path: &Path) -> Vec<u8> {
        self.files.lock()[path].lock().current.clone()
    }

    /// A disk whose only file holds these bytes.
    pub fn with_file(path: &Path, bytes: Vec<u8>) -> Arc<TestDisk> {
        let disk = TestDisk::default();
        let content = Content { durable: bytes.clone(), current: bytes, unsynced: Vec::new() };
        disk.files.lock().insert(path.to_owned(), Arc::new(Mutex::new(content)));
        Arc::new(disk)
    }
}

fn write(bytes: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let (start, end) = (offset as usize, offset as usize + data.len());
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[start..end].copy_from_slice(data);
}

impl TestFile {
    fn count(&self) -> io::Result<()> {
        let mut faults = self.faults.lock();
        match &mut faults.countdown {
            Some(0) => Err(io::Error::other("injected")),
            Some(n) => {
                *n -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl File for TestFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.content.lock();
        let rest = content.current.get(offset as usize..).unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.count()?;
        let mut content = self.content.lock();
        write(&mut content.current, offset, buf);
        content.unsynced.push(Unsynced::Write(offset, buf.to_vec()));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.count()?;
        let mut content = self.content.lock();
        let content = &mut *content;
        // Replaying keeps a sync as cheap as what was written since the last one.
        for change in content.unsynced.drain(..) {
            match change {
                Unsynced::Write(offset, data) => write(&mut content.durable, offset, &data),
                Unsynced::Len(len) => content.durable.resize(len as usize, 0),
            }
        }
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().current.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.count()?;
        let mut content = self.content.lock();
        content.current.resize(len as usize, 0);
        content.unsynced.push(Unsynced::Len(len));
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        if len > self.len()? { self.set_len(len) } else { Ok(()) }
    }
}

impl Disk for TestDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut files = self.files.lock();
        let there = files.contains_key(path);
        match mode {
            OpenMode::CreateNew if there => return Err(io::ErrorKind::AlreadyExists.into()),
            OpenMode::Read | OpenMode::ReadWrite if !there => return Err(io::ErrorKind::NotFound.into()),
            _ => {}
        }
        let content = files.entry(path.to_owned()).or_default().clone();
        Ok(Arc::new(TestFile { content, faults: self.faults.clone() }))
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.lock().contains_key(path)
    }

    fn create_dir_all(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, _dir: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.files.lock().keys().cloned().collect())
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.lock().remove(path).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn remove_dir_all(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }
}
