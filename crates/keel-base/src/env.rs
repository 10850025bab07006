//! The outside world as traits: [`Disk`] and [`File`], [`Clock`], [`Random`].
//!
//! Production code takes `Arc<dyn Disk>` and friends; `real` implements them with the operating system,
//! `sim` in memory with torn, lost, slow and failing writes.

pub mod objects;
pub mod real;
pub mod sim;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// One open file. All calls are positional and may come from several threads at once.
pub trait File: Send + Sync {
    /// Reads up to `buf.len()` bytes at `offset`; fewer only at end of file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `buf` at `offset`. Not durable before a sync.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Writes all of `buf` at `offset` and makes it durable, in one call where the system has one.
    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)?;
        self.sync_data()
    }
    /// Makes written data durable (fdatasync). After an error nothing may be assumed about earlier writes.
    fn sync_data(&self) -> io::Result<()>;
    /// Makes data and metadata durable (fsync).
    fn sync_all(&self) -> io::Result<()>;
    /// Current length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// True when the file holds no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts or extends (with zeros) to `len` bytes.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Reserves disk blocks up to `len` bytes and extends the file to it, so that later writes inside need no metadata.
    fn allocate(&self, len: u64) -> io::Result<()>;
    /// Locks the file against other openings of it, in this process and others, until it is dropped: `exclusive` against all of them,
    /// else against those. False when it is locked otherwise and `wait` is not wanted. The lock keeps nobody from
    /// reading and writing. A simulated disk has one process, and grants every one.
    fn lock(&self, exclusive: bool, wait: bool) -> io::Result<bool> {
        let _ = (exclusive, wait);
        Ok(true)
    }
}

/// Alignment of offsets, lengths and memory of a file from [`Disk::open_direct`].
pub const DIRECT_ALIGN: usize = 512;

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Must exist; read only.
    Read,
    /// Must exist; read and write.
    ReadWrite,
    /// Created when missing; read and write.
    Create,
    /// Must not exist; read and write.
    CreateNew,
}

/// A directory tree that holds files.
pub trait Disk: Send + Sync {
    /// Lets nobody but this process's user read a file, where the system knows users.
    fn make_private(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Opens `path`.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Opens an existing file a second time for writes that pass by the system's cache and are durable when they return.
    /// Offsets and lengths must be multiples of [`DIRECT_ALIGN`], and so must the address of the bytes. `None` when the
    /// system cannot do that here; then write and sync through the ordinary handle.
    fn open_direct(&self, path: &Path) -> io::Result<Option<Arc<dyn File>>> {
        let _ = path;
        Ok(None)
    }
    /// Whether a file or directory is there.
    fn exists(&self, path: &Path) -> bool;
    /// Makes a directory and its parents.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Names directly inside a directory, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;
    /// Atomically renames. Durable only after [`Disk::sync_dir`] of the parent.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Durable only after [`Disk::sync_dir`] of the parent.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory and all in it. Durable only after [`Disk::sync_dir`] of the parent.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes directory entries durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// Time. `now` is monotonic and starts anywhere; `unix_nanos` is the wall clock and may jump.
pub trait Clock: Send + Sync {
    /// Monotonic time since an arbitrary start.
    fn now(&self) -> Duration;
    /// Wall clock in nanoseconds since 1970-01-01 UTC.
    fn unix_nanos(&self) -> i128;
    /// The same as of the system's last timer tick, which is some milliseconds ago at most: for what is noted with every
    /// statement and hardly ever read.
    fn unix_nanos_about(&self) -> i128 {
        self.unix_nanos()
    }
    /// Processor time that the calling thread has used; zero where nobody measures it.
    fn thread_cpu(&self) -> Duration {
        Duration::ZERO
    }
    /// Processor time that the whole process has used; zero where nobody measures it.
    fn process_cpu(&self) -> Duration {
        Duration::ZERO
    }
}

/// Everything outside that an instance needs, as one handle.
#[derive(Clone)]
pub struct Env {
    /// Files and directories.
    pub disk: Arc<dyn Disk>,
    /// Monotonic and wall-clock time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes.
    pub random: Arc<dyn Random>,
}

impl Env {
    /// The operating system's disk, clock and random source.
    pub fn real() -> Env {
        Env {
            disk: Arc::new(real::RealDisk),
            clock: Arc::new(real::RealClock::new()),
            random: Arc::new(real::RealRandom),
        }
    }
}

/// Random bytes. The real one is the operating system's; the simulated one grows from a seed.
pub trait Random: Send + Sync {
    /// Fills `buf`.
    fn fill(&self, buf: &mut [u8]);
}
