//! A world in memory that misbehaves on demand: [`SimDisk`], [`SimClock`], [`SimRandom`].
//!
//! # Model of the disk
//! Every file has two faces: the bytes a reader sees now, and the bytes that are safe. A write changes the first; a sync
//! moves the file's pending writes to the second. Directory entries (create, rename, remove) are likewise pending until
//! the directory is synced.
//!
//! [`SimDisk::crash`] makes the disk a machine would find after a power cut: for each pending write, each 512-byte
//! sector independently may or may not have reached the platter ([`Tear`] chooses), pending directory changes survive as
//! a prefix. A sector is never half written. Data that was synced is never lost.
//!
//! Faults are set by count, not by time: the n-th operation fails once, or the power goes at the n-th (everything after
//! fails until `crash`). A capacity makes the disk full. A latency moves a [`SimClock`].
//!
//! # Not modelled
//! Bit rot (tests flip bytes with [`SimDisk::flip`]), reordering across a completed sync, partial success of `sync`.

use super::{Clock, Disk, Env, File, OpenMode, Random};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The unit a power cut cannot split.
pub const SECTOR: usize = 512;

/// What a power cut leaves of writes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// None of them.
    LoseAll,
    /// All of them.
    KeepAll,
    /// Each sector by the toss of a coin grown from this seed.
    Random(u64),
}

/// What the disk was asked to do, counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimCounts {
    /// Operations that can fail (writes, syncs, opens, directory changes; not reads).
    pub operations: u64,
    /// Calls of `write_at`.
    pub writes: u64,
    /// Calls of `sync_data` and `sync_all`.
    pub syncs: u64,
    /// Bytes handed to `write_at`.
    pub bytes_written: u64,
}

/// A disk in memory. Cheap to make; clone the `Arc` to share it.
pub struct SimDisk {
    state: Mutex<State>,
    clock: Option<Arc<SimClock>>,
}

/// Some of the paths.
type Which = fn(&Path) -> bool;

#[derive(Default)]
struct State {
    entries: BTreeMap<PathBuf, u64>,
    safe_entries: BTreeMap<PathBuf, u64>,
    pending_entries: Vec<(PathBuf, EntryChange)>,
    nodes: BTreeMap<u64, Node>,
    next_node: u64,
    counts: SimCounts,
    fail_at: Option<u64>,
    power_cut_at: Option<u64>,
    /// So many bytes may be in the files of these paths.
    full_at: Option<(u64, Which)>,
    latency: Duration,
}

#[derive(Clone)]
enum EntryChange {
    Link(PathBuf, u64),
    Unlink(PathBuf),
}

#[derive(Default, Clone)]
struct Node {
    seen: Vec<u8>,
    safe: Vec<u8>,
    pending: Vec<Pending>,
}

#[derive(Clone)]
enum Pending {
    Write { offset: usize, bytes: Vec<u8> },
    Resize(usize),
}

fn write_into(target: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if target.len() < end {
        target.resize(end, 0);
    }
    target[offset..end].copy_from_slice(bytes);
}

impl Node {
    fn apply_pending(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Pending::Write { offset, bytes } => write_into(&mut self.safe, offset, &bytes),
                Pending::Resize(len) => self.safe.resize(len, 0),
            }
        }
    }

    fn after_power_cut(&self, tear: Tear, dice: &mut SplitMix) -> Node {
        let mut safe = self.safe.clone();
        for change in &self.pending {
            match change {
                Pending::Resize(len) if tear == Tear::KeepAll || (tear != Tear::LoseAll && dice.coin()) => {
                    safe.resize(*len, 0);
                }
                Pending::Resize(_) => {}
                Pending::Write { offset, bytes } => {
                    tear_write(&mut safe, *offset, bytes, tear, dice);
                }
            }
        }
        Node { seen: safe.clone(), safe, pending: Vec::new() }
    }
}

fn tear_write(safe: &mut Vec<u8>, offset: usize, bytes: &[u8], tear: Tear, dice: &mut SplitMix) {
    let mut at = 0;
    while at < bytes.len() {
        let sector_end = ((offset + at) / SECTOR + 1) * SECTOR - offset;
        let end = sector_end.min(bytes.len());
        let keep = match tear {
            Tear::LoseAll => false,
            Tear::KeepAll => true,
            Tear::Random(_) => dice.coin(),
        };
        if keep {
            write_into(safe, offset + at, &bytes[at..end]);
        }
        at = end;
    }
}

impl State {
    /// The gate every fallible operation passes.
    fn admit(&mut self) -> io::Result<()> {
        self.counts.operations += 1;
        let now = self.counts.operations;
        if self.power_cut_at.is_some_and(|at| now >= at) {
            return Err(io::Error::other("simulated power cut"));
        }
        if self.fail_at == Some(now) {
            self.fail_at = None;
            return Err(io::Error::other("simulated I/O failure"));
        }
        Ok(())
    }

    fn node(&mut self, id: u64) -> &mut Node {
        self.nodes.entry(id).or_default()
    }

    fn used(&self, of: Which) -> u64 {
        let ids = self.entries.iter().filter(|(path, _)| of(path)).map(|(_, id)| id);
        ids.filter_map(|id| self.nodes.get(id)).map(|n| n.seen.len() as u64).sum()
    }

    fn room_for(&self, id: u64, len: usize) -> io::Result<()> {
        let Some((full_at, of)) = self.full_at else { return Ok(()) };
        if !self.entries.iter().any(|(path, entry)| *entry == id && of(path)) {
            return Ok(());
        }
        let have = self.nodes.get(&id).map_or(0, |n| n.seen.len());
        let growth = len.saturating_sub(have) as u64;
        if growth > 0 && self.used(of) + growth > full_at {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(())
    }

    fn link(&mut self, path: PathBuf, id: u64) {
        self.entries.insert(path.clone(), id);
        let parent = path.parent().map(Path::to_path_buf).unwrap_or_default();
        self.pending_entries.push((parent, EntryChange::Link(path, id)));
    }

    fn unlink(&mut self, path: &Path) -> Option<u64> {
        let id = self.entries.remove(path)?;
        let parent = path.parent().map(Path::to_path_buf).unwrap_or_default();
        self.pending_entries.push((parent, EntryChange::Unlink(path.to_path_buf())));
        Some(id)
    }

    fn settle(entries: &mut BTreeMap<PathBuf, u64>, change: EntryChange) {
        match change {
            EntryChange::Link(path, id) => {
                entries.insert(path, id);
            }
            EntryChange::Unlink(path) => {
                entries.remove(&path);
            }
        }
    }
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> Arc<SimDisk> {
        Arc::new(SimDisk { state: Mutex::new(State::default()), clock: None })
    }

    /// An empty disk whose operations take `latency` on `clock`.
    pub fn with_latency(clock: Arc<SimClock>, latency: Duration) -> Arc<SimDisk> {
        let state = State { latency, ..State::default() };
        Arc::new(SimDisk { state: Mutex::new(state), clock: Some(clock) })
    }

    /// The disk a machine finds after a power cut now. This one is left as it is, so several cuts can be tried.
    pub fn crash(&self, tear: Tear) -> Arc<SimDisk> {
        let state = self.state.lock();
        let mut dice = SplitMix(if let Tear::Random(seed) = tear { seed } else { 0 });
        let mut entries = state.safe_entries.clone();
        let keep = match tear {
            Tear::LoseAll => 0,
            Tear::KeepAll => state.pending_entries.len(),
            Tear::Random(_) => dice.below(state.pending_entries.len() as u64 + 1) as usize,
        };
        for (_, change) in state.pending_entries.iter().take(keep) {
            State::settle(&mut entries, change.clone());
        }
        let mut nodes = BTreeMap::new();
        for id in entries.values() {
            if let Some(node) = state.nodes.get(id) {
                nodes.insert(*id, node.after_power_cut(tear, &mut dice));
            }
        }
        let after = State {
            safe_entries: entries.clone(),
            entries,
            nodes,
            next_node: state.next_node,
            latency: state.latency,
            ..State::default()
        };
        Arc::new(SimDisk { state: Mutex::new(after), clock: self.clock.clone() })
    }

    /// Makes the `n`-th fallible operation from now (1 = the next) fail once.
    pub fn fail_nth(&self, n: u64) {
        let mut state = self.state.lock();
        state.fail_at = Some(state.counts.operations + n);
    }

    /// Cuts the power at the `n`-th fallible operation from now: it and all later ones fail.
    pub fn cut_power_at(&self, n: u64) {
        let mut state = self.state.lock();
        state.power_cut_at = Some(state.counts.operations + n);
    }

    /// Forgets faults that have not happened yet (and lets a cut disk work again).
    pub fn heal(&self) {
        let mut state = self.state.lock();
        state.fail_at = None;
        state.power_cut_at = None;
        state.full_at = None;
    }

    /// Whether the power has gone ([`SimDisk::cut_power_at`]): everything fails from here on.
    pub fn power_is_cut(&self) -> bool {
        let state = self.state.lock();
        state.power_cut_at.is_some_and(|at| state.counts.operations >= at)
    }

    /// Whether files may not grow without end ([`SimDisk::set_capacity`]).
    pub fn is_limited(&self) -> bool {
        self.state.lock().full_at.is_some()
    }

    /// Whether a fault set by [`SimDisk::fail_nth`] is still to come.
    pub fn fault_pending(&self) -> bool {
        self.state.lock().fail_at.is_some()
    }

    /// Lets files grow to `bytes` in total, not further.
    pub fn set_capacity(&self, bytes: u64) {
        self.state.lock().full_at = Some((bytes, |_| true));
    }

    /// Lets the files of these paths, which are on a disk of their own, grow no more; others have room.
    pub fn fill(&self, of: Which) {
        let mut state = self.state.lock();
        state.full_at = Some((state.used(of), of));
    }

    /// Bytes in all files.
    pub fn used(&self) -> u64 {
        self.state.lock().used(|_| true)
    }

    /// What was asked so far.
    pub fn counts(&self) -> SimCounts {
        self.state.lock().counts
    }

    /// Inverts the bits of `mask` in one byte of a file, behind everybody's back.
    ///
    /// # Panics
    /// If the file or the byte is not there: a test asked for nonsense.
    pub fn flip(&self, path: &Path, offset: u64, mask: u8) {
        let mut state = self.state.lock();
        let id = *state.entries.get(path).expect("the test names a file that exists");
        let node = state.node(id);
        node.seen[offset as usize] ^= mask;
        if let Some(byte) = node.safe.get_mut(offset as usize) {
            *byte ^= mask;
        }
    }

    /// The bytes of a file as a reader sees them.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let id = state.entries.get(path)?;
        state.nodes.get(id).map(|n| n.seen.clone())
    }

    fn pass_time(&self, state: &State) {
        if let Some(clock) = &self.clock {
            clock.advance(state.latency);
        }
    }
}

struct SimFile {
    disk: Arc<SimDisk>,
    node: u64,
    writable: bool,
}

impl SimFile {
    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.counts.syncs += 1;
        self.disk.pass_time(&state);
        state.admit()?;
        state.node(self.node).apply_pending();
        Ok(())
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::Error::from(io::ErrorKind::PermissionDenied)) }
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state.lock();
        if state.power_cut_at.is_some_and(|at| state.counts.operations + 1 > at) {
            return Err(io::Error::other("simulated power cut"));
        }
        let seen = &state.node(self.node).seen;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(seen.len());
        let n = buf.len().min(seen.len() - start);
        buf[..n].copy_from_slice(&seen[start..start + n]);
        Ok(n)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        let offset = usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut state = self.disk.state.lock();
        state.counts.writes += 1;
        state.counts.bytes_written += buf.len() as u64;
        self.disk.pass_time(&state);
        let admitted = state.admit();
        if admitted.is_err() {
            // A failed write may have reached the disk in part: remember it as one more thing a crash may keep.
            if state.room_for(self.node, offset + buf.len()).is_ok() {
                state.node(self.node).pending.push(Pending::Write { offset, bytes: buf.to_vec() });
            }
            return admitted;
        }
        state.room_for(self.node, offset + buf.len())?;
        let node = state.node(self.node);
        write_into(&mut node.seen, offset, buf);
        node.pending.push(Pending::Write { offset, bytes: buf.to_vec() });
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state.lock().node(self.node).seen.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut state = self.disk.state.lock();
        state.admit()?;
        state.room_for(self.node, len)?;
        let node = state.node(self.node);
        node.seen.resize(len, 0);
        node.pending.push(Pending::Resize(len));
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        if self.len()? >= len {
            return Ok(());
        }
        self.set_len(len)
    }
}

impl SimDisk {
    fn open_locked(&self, path: &Path, mode: OpenMode) -> io::Result<u64> {
        let mut state = self.state.lock();
        let found = state.entries.get(path).copied();
        match (found, mode) {
            (Some(_), OpenMode::CreateNew) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
            (Some(id), _) => Ok(id),
            (None, OpenMode::Read | OpenMode::ReadWrite) => Err(io::Error::from(io::ErrorKind::NotFound)),
            (None, OpenMode::Create | OpenMode::CreateNew) => {
                state.admit()?;
                state.next_node += 1;
                let id = state.next_node;
                state.nodes.insert(id, Node::default());
                state.link(path.to_path_buf(), id);
                Ok(id)
            }
        }
    }
}

/// The handle through which a simulated disk is used: `Arc<SimDisk>` itself is the [`Disk`].
impl Disk for Arc<SimDisk> {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let node = self.open_locked(path, mode)?;
        Ok(Arc::new(SimFile { disk: Arc::clone(self), node, writable: mode != OpenMode::Read }))
    }

    fn exists(&self, path: &Path) -> bool {
        let state = self.state.lock();
        state.entries.keys().any(|p| p.starts_with(path))
    }

    fn create_dir_all(&self, _path: &Path) -> io::Result<()> {
        // Directories exist as soon as something is in them.
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.state.lock();
        let mut names: Vec<PathBuf> = Vec::new();
        for path in state.entries.keys() {
            if let Ok(rest) = path.strip_prefix(dir)
                && let Some(first) = rest.components().next()
            {
                let name = dir.join(first);
                if names.last() != Some(&name) {
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.admit()?;
        let moved: Vec<PathBuf> = state.entries.keys().filter(|p| p.starts_with(from)).cloned().collect();
        if moved.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        for path in moved {
            let rest = path.strip_prefix(from).map(Path::to_path_buf).unwrap_or_default();
            let target = if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) };
            if let Some(id) = state.unlink(&path) {
                state.link(target, id);
            }
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.admit()?;
        state.unlink(path).map(|_| ()).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.admit()?;
        let gone: Vec<PathBuf> = state.entries.keys().filter(|p| p.starts_with(path)).cloned().collect();
        // The directory is one entry of its parent: with that all below it is gone.
        let parent = path.parent().map(Path::to_path_buf).unwrap_or_default();
        for path in gone {
            state.entries.remove(&path);
            state.pending_entries.push((parent.clone(), EntryChange::Unlink(path)));
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.counts.syncs += 1;
        state.admit()?;
        let pending = std::mem::take(&mut state.pending_entries);
        for (parent, change) in pending {
            // A rename is one journal entry even between directories, so order is kept by settling everything
            // that touches this directory and leaving the rest.
            if parent == dir {
                State::settle(&mut state.safe_entries, change);
            } else {
                state.pending_entries.push((parent, change));
            }
        }
        Ok(())
    }
}

/// A clock that moves only when told.
#[derive(Debug, Default)]
pub struct SimClock {
    now_nanos: AtomicU64,
    wall_offset_nanos: AtomicU64,
}

impl SimClock {
    /// A clock at zero; its wall clock starts at `unix_nanos`.
    pub fn starting_at(unix_nanos: u64) -> Arc<SimClock> {
        Arc::new(SimClock { now_nanos: AtomicU64::new(0), wall_offset_nanos: AtomicU64::new(unix_nanos) })
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.now_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Makes the wall clock jump to `unix_nanos`; monotonic time does not notice.
    pub fn set_wall(&self, unix_nanos: u64) {
        let now = self.now_nanos.load(Ordering::Relaxed);
        self.wall_offset_nanos.store(unix_nanos.wrapping_sub(now), Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_nanos.load(Ordering::Relaxed))
    }

    fn unix_nanos(&self) -> i128 {
        let now = self.now_nanos.load(Ordering::Relaxed);
        i128::from(now.wrapping_add(self.wall_offset_nanos.load(Ordering::Relaxed)))
    }
}

/// Random bytes grown from a seed.
#[derive(Debug)]
pub struct SimRandom {
    state: Mutex<SplitMix>,
}

impl SimRandom {
    /// The stream of this seed.
    pub fn new(seed: u64) -> SimRandom {
        SimRandom { state: Mutex::new(SplitMix(seed)) }
    }
}

impl Random for SimRandom {
    fn fill(&self, buf: &mut [u8]) {
        let mut state = self.state.lock();
        for chunk in buf.chunks_mut(8) {
            let bytes = state.next().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}

/// The SplitMix64 generator: small, good enough for tests, the same on every machine.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)] // an endless generator, not an iterator
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound` (0 when the bound is 0).
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// Heads or tails.
    pub fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }
}

/// A whole simulated environment around `disk`.
pub fn env(disk: &Arc<SimDisk>, seed: u64) -> Env {
    Env {
        disk: Arc::new(Arc::clone(disk)),
        clock: SimClock::starting_at(1_700_000_000_000_000_000),
        random: Arc::new(SimRandom::new(seed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(disk: &Arc<SimDisk>, name: &str) -> Arc<dyn File> {
        disk.open(Path::new(name), OpenMode::Create).unwrap()
    }

    #[test]
    fn a_crash_keeps_what_was_synced_and_may_lose_the_rest() {
        let disk = SimDisk::new();
        let f = file(&disk, "d/f");
        f.write_at(&[1; 2048], 0).unwrap();
        f.sync_data().unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        f.write_at(&[2; 2048], 0).unwrap();
        let path = Path::new("d/f");
        assert_eq!(disk.crash(Tear::LoseAll).contents(path).unwrap(), vec![1; 2048]);
        assert_eq!(disk.crash(Tear::KeepAll).contents(path).unwrap(), vec![2; 2048]);
        let torn = disk.crash(Tear::Random(3)).contents(path).unwrap();
        for sector in torn.chunks(SECTOR) {
            assert!(sector.iter().all(|b| *b == sector[0]));
        }
    }

    #[test]
    fn an_entry_is_safe_only_after_its_directory_is_synced() {
        let disk = SimDisk::new();
        let f = file(&disk, "d/f");
        f.write_durable_at(b"x", 0).unwrap();
        assert!(disk.crash(Tear::LoseAll).contents(Path::new("d/f")).is_none());
        disk.sync_dir(Path::new("d")).unwrap();
        disk.rename(Path::new("d/f"), Path::new("d/g")).unwrap();
        assert!(disk.crash(Tear::LoseAll).contents(Path::new("d/f")).is_some());
        assert!(disk.crash(Tear::KeepAll).contents(Path::new("d/g")).is_some());
    }

    #[test]
    fn a_removed_directory_is_gone_when_its_parent_is_synced() {
        let disk = SimDisk::new();
        for path in ["d/db/f", "d/db/log/g"] {
            file(&disk, path).write_durable_at(b"x", 0).unwrap();
        }
        for dir in ["d/db", "d/db/log"] {
            disk.sync_dir(Path::new(dir)).unwrap();
        }
        disk.remove_dir_all(Path::new("d/db")).unwrap();
        assert!(disk.crash(Tear::LoseAll).exists(Path::new("d/db/log/g")));
        disk.sync_dir(Path::new("d")).unwrap();
        assert!(!disk.crash(Tear::LoseAll).exists(Path::new("d/db")));
    }

    #[test]
    fn faults_come_when_they_are_ordered() {
        let disk = SimDisk::new();
        let f = file(&disk, "f");
        disk.fail_nth(2);
        f.write_at(b"a", 0).unwrap();
        assert!(f.write_at(b"b", 1).is_err());
        f.write_at(b"c", 1).unwrap();
        disk.set_capacity(2);
        assert_eq!(f.write_at(b"d", 2).err().unwrap().kind(), io::ErrorKind::StorageFull);
        disk.heal();
        disk.cut_power_at(1);
        assert!(f.sync_data().is_err());
        assert!(f.sync_data().is_err());
        assert!(f.read_at(&mut [0], 0).is_err());
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let (a, b) = (SimRandom::new(7), SimRandom::new(7));
        let (mut x, mut y) = ([0u8; 13], [0u8; 13]);
        a.fill(&mut x);
        b.fill(&mut y);
        assert_eq!(x, y);
    }
}
