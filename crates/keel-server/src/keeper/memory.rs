//! The page that both processes see: when the instance has last beaten.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of the shared memory: one number.
const BYTES: usize = size_of::<AtomicU64>();

/// Shared memory with the time of the last beat, in nanoseconds of [`now`]; zero before the first.
pub(super) struct Memory {
    file: OwnedFd,
    beat: *const AtomicU64,
}

// SAFETY: the pointer is to memory that is mapped as long as this lives, and all access to it is atomic.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// New memory, of this process only until its descriptor is passed on.
    pub(super) fn create() -> io::Result<Memory> {
        // SAFETY: the name is a terminated string; a descriptor that comes back is nobody else's.
        let file = unsafe { libc::memfd_create(c"keel-beat".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just made, and is owned from here.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        std::fs::File::from(file.try_clone()?).set_len(BYTES as u64)?;
        Memory::open(file)
    }

    /// The memory behind a descriptor that another process has made.
    pub(super) fn open(file: OwnedFd) -> io::Result<Memory> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, wherever the system puts it, of a file that has these bytes.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Memory { file, beat: at.cast_const().cast() })
    }

    pub(super) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn number(&self) -> &AtomicU64 {
        // SAFETY: mapped until this is dropped, aligned to a page, and only ever accessed as an atomic.
        unsafe { &*self.beat }
    }

    pub(super) fn beat(&self) {
        self.number().store(u64::try_from(now().as_nanos()).unwrap_or(u64::MAX), Ordering::Release);
    }

    pub(super) fn last_beat(&self) -> Duration {
        Duration::from_nanos(self.number().load(Ordering::Acquire))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `open` with this length, and not used again.
        unsafe { libc::munmap(self.beat.cast_mut().cast(), BYTES) };
    }
}

/// The system's monotonic clock, the same for all processes; it stands still while the machine is suspended.
pub(super) fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a writable structure. This clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
