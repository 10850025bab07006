//! The operating system: files through `pread`/`pwrite`/`fdatasync`, the monotonic and the wall clock, and the
//! kernel's random source.
//!
//! Deliberately absent: buffering, retries and error translation. A short write is completed, an interrupted call is
//! repeated, everything else goes to the caller as the kernel said it.

use super::{Clock, DIRECT_ALIGN, Disk, File, OpenMode, Random};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Files of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

struct RealFile {
    file: fs::File,
}

#[repr(align(512))]
struct Probe([u8; DIRECT_ALIGN]);

const _: () = assert!(align_of::<Probe>() == DIRECT_ALIGN);

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let wanted = libc::off_t::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        loop {
            // SAFETY: the descriptor is open for as long as `self.file` lives; the call touches no memory of ours.
            let rc = unsafe { libc::fallocate(self.file.as_raw_fd(), 0, 0, wanted) };
            if rc == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // File systems without reservation still get the length; space is then found (or not) on write.
                Some(libc::EOPNOTSUPP) if self.len()? < len => return self.set_len(len),
                Some(libc::EOPNOTSUPP) => return Ok(()),
                _ => return Err(error),
            }
        }
    }

    fn lock(&self, exclusive: bool, wait: bool) -> io::Result<bool> {
        let tried = match (exclusive, wait) {
            (true, true) => return self.file.lock().map(|()| true),
            (false, true) => return self.file.lock_shared().map(|()| true),
            (true, false) => self.file.try_lock(),
            (false, false) => self.file.try_lock_shared(),
        };
        match tried {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(e)) => Err(e),
        }
    }
}

impl Disk for RealDisk {
    fn make_private(&self, path: &Path) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read);
        match mode {
            OpenMode::Read | OpenMode::ReadWrite => {}
            OpenMode::Create => {
                options.create(true).truncate(false);
            }
            OpenMode::CreateNew => {
                options.create_new(true);
            }
        }
        Ok(Arc::new(RealFile { file: options.open(path)? }))
    }

    fn open_direct(&self, path: &Path) -> io::Result<Option<Arc<dyn File>>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC);
        let file = match options.open(path) {
            Ok(file) => file,
            // File systems that cannot say so here.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => return Ok(None),
            Err(e) => return Err(e),
        };
        // A device with larger sectors refuses this read as it would refuse the writes.
        let mut probe = Probe([0; DIRECT_ALIGN]);
        Ok(file.read_at(&mut probe.0, 0).is_ok().then(|| Arc::new(RealFile { file }) as Arc<dyn File>))
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.push(entry?.path());
        }
        names.sort();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }
}

/// The host's clocks.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> RealClock {
        RealClock { start: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        RealClock::new()
    }
}

impl Clock for RealClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn unix_nanos(&self) -> i128 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        }
    }

    fn unix_nanos_about(&self) -> i128 {
        i128::try_from(read_clock(libc::CLOCK_REALTIME_COARSE).as_nanos()).unwrap_or(i128::MAX)
    }

    fn thread_cpu(&self) -> Duration {
        read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    fn process_cpu(&self) -> Duration {
        read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
    }
}

/// What a clock of the system says; zero when it has none of that kind or says less.
#[inline]
fn read_clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec to the address of a local one and keeps nothing.
    let rc = unsafe { libc::clock_gettime(clock, &raw mut time) };
    match (rc, u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec)) {
        (0, Ok(seconds), Ok(nanos)) => Duration::new(seconds, nanos),
        _ => Duration::ZERO,
    }
}

/// The kernel's random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealRandom;

impl Random for RealRandom {
    fn fill(&self, buf: &mut [u8]) {
        getrandom::fill(buf).expect("the kernel's random source answers once the system is up");
    }
}

/// Asks the scheduler to let the calling thread run behind the others: it gets what they leave, and a small share when
/// they leave nothing. Best effort.
pub fn run_in_background() {
    const NICE: libc::c_int = 5;
    // SAFETY: both calls only pass numbers; 0 names the calling thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
    }
}

/// SCHED_RESET_ON_FORK of the system's sched.h.
const RESET_ON_FORK: libc::c_int = 0x4000_0000;
/// Of threads that others wait for: about nine times an ordinary thread's share where there is not enough for all.
const PROMPT_NICE: libc::c_int = -10;

/// Asks the scheduler to prefer the calling thread to ordinary ones, without keeping them from running: for one that others wait
/// for, and that may also have much to do. Threads made by it are ordinary ones. Best effort: where the system does not grant it
/// (it needs `CAP_SYS_NICE` or a limit for it, RLIMIT_NICE), nothing changes.
pub fn run_promptly() {
    // SAFETY: zero bytes are a value of this structure of numbers, and the priority that ordinary scheduling asks for.
    let parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the calls pass numbers and the address of a local structure that the first one reads; 0 names the calling thread.
    unsafe {
        if libc::sched_setscheduler(0, libc::SCHED_OTHER | RESET_ON_FORK, &raw const parameter) == 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, PROMPT_NICE);
        }
    }
}

/// Asks the scheduler to run the calling thread as soon as it has something to do, before all ordinary threads: for one that does
/// little, and must do it in time. Threads made by it are ordinary ones. Best effort: where the system does not grant it,
/// nothing changes.
pub fn run_urgently() {
    // SAFETY: zero bytes are a value of this structure of numbers.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = 1;
    // SAFETY: the calls pass numbers and the address of a local structure that the first one reads; 0 names the calling thread.
    unsafe {
        if libc::sched_setscheduler(0, libc::SCHED_RR | RESET_ON_FORK, &raw const parameter) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, PROMPT_NICE);
        }
    }
}

/// The processors that the calling thread may run on, in order; at least one.
#[must_use]
pub fn processors() -> Vec<usize> {
    // SAFETY: zero bytes are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes at most the size given to the address of a local set; 0 names the calling thread.
    let rc = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    let limit = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    // SAFETY: the numbers are below the size of the set.
    let all: Vec<usize> = (0..limit).filter(|n| rc == 0 && unsafe { libc::CPU_ISSET(*n, &set) }).collect();
    if all.is_empty() { vec![0] } else { all }
}

/// Lets the calling thread run on these processors only. Best effort: where the system does not grant it, nothing changes.
pub fn run_on(processors: &[usize]) {
    // SAFETY: zero bytes are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let limit = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    for processor in processors.iter().filter(|n| **n < limit) {
        // SAFETY: the number is below the size of the set.
        unsafe { libc::CPU_SET(*processor, &mut set) };
    }
    // SAFETY: the call reads as many bytes of a local set as it has; 0 names the calling thread.
    unsafe {
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the system grants it at all.
    #[test]
    fn a_prompt_thread_makes_ordinary_ones() {
        // SAFETY: the call passes numbers; 0 names the calling thread. It cannot fail for the calling thread.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = nice();
        let (own, childs) = std::thread::spawn(move || {
            run_promptly();
            (nice(), std::thread::spawn(nice).join().unwrap())
        })
        .join()
        .unwrap();
        assert!(own == PROMPT_NICE || own == before);
        assert!(childs >= 0 || childs == before, "{childs}");
        assert_eq!(nice(), before);
    }

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("keel-base-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_direct_write_is_seen_by_ordinary_reads() {
        let dir = scratch("direct");
        let path = dir.join("f");
        let file = RealDisk.open(&path, OpenMode::CreateNew).unwrap();
        file.write_durable_at(&[1; 4096], 0).unwrap();
        if let Some(direct) = RealDisk.open_direct(&path).unwrap() {
            direct.write_at(&Probe([2; DIRECT_ALIGN]).0, 512).unwrap();
            let mut buf = [0; 4096];
            file.read_at(&mut buf, 0).unwrap();
            assert!(buf[..512] == [1; 512] && buf[512..1024] == [2; 512] && buf[1024..] == [1; 3072]);
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_file_keeps_what_is_written() {
        let dir = scratch("keeps");
        let disk = RealDisk;
        let path = dir.join("f");
        assert!(disk.open(&path, OpenMode::ReadWrite).is_err());
        let file = disk.open(&path, OpenMode::CreateNew).unwrap();
        assert_eq!(disk.open(&path, OpenMode::CreateNew).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        file.allocate(8192).unwrap();
        assert_eq!(file.len().unwrap(), 8192);
        file.write_durable_at(b"hello", 8190).unwrap();
        let mut buf = [0u8; 16];
        assert_eq!(file.read_at(&mut buf, 8189).unwrap(), 6);
        assert_eq!(&buf[..6], b"\0hello");
        disk.rename(&path, &dir.join("g")).unwrap();
        disk.sync_dir(&dir).unwrap();
        assert_eq!(disk.list(&dir).unwrap(), vec![dir.join("g")]);
        disk.remove_dir_all(&dir).unwrap();
        assert!(!disk.exists(&dir));
    }
}
