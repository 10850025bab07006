//! [`Log`]: the handle, its shared state, and append. Flushing is in [`crate::flush`], opening in [`crate::open`].

use crate::appender::Appender;
use crate::block::{self, SECTOR_BYTES};
use crate::error::LogError;
use crate::flush::{Waiters, Writer};
use crate::recent::Recent;
use crate::room::Slots;
use crate::scan::Scanner;
use crate::scrub::Scrub;
use crate::segment::{self, SEGMENT_BYTES_MIN, SEGMENT_HEADER_BYTES, Segment, SegmentHeader};
use keel_base::cipher::Keychain;
use keel_base::env::{Clock, Disk, Env};
use keel_base::{Epoch, Lsn};
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How a log is made or opened.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Identity of the log; the same on all replicas of a database.
    pub log_id: u32,
    /// Configuration number of this writer.
    pub epoch: Epoch,
    /// Position of the first byte of a new log.
    pub first_lsn: Lsn,
    /// Checksum of the block before `first_lsn`, when a new log goes on where another copy's stands; `None` for a log
    /// that begins with nothing before it.
    pub first_previous: Option<u32>,
    /// Size of the first segment; later ones grow with the log.
    pub segment_bytes: u64,
    /// No segment is made larger than this.
    pub segment_bytes_max: u64,
    /// The files together never grow past this.
    pub log_bytes_max: u64,
    /// Appends wait for a flush when this much is not yet written.
    pub unwritten_bytes_max: usize,
    /// The database's keys; empty while it is not encrypted.
    pub keys: Arc<Keychain>,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            log_id: 1,
            epoch: Epoch(1),
            first_lsn: Lsn::ZERO,
            first_previous: None,
            segment_bytes: 1 << 20,
            segment_bytes_max: 64 << 20,
            log_bytes_max: u64::MAX,
            unwritten_bytes_max: 8 << 20,
            keys: Arc::default(),
        }
    }
}

/// The positions of a log at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    /// Nothing before this is kept.
    pub truncated: Lsn,
    /// Everything before this survives a power cut.
    pub hardened: Lsn,
    /// Everything before this was handed to the operating system.
    pub written: Lsn,
    /// Everything before this has its place in the log.
    pub appended: Lsn,
}

impl Positions {
    /// The order that always holds.
    ///
    /// # Panics
    /// If it does not: the log would acknowledge what it does not have.
    pub fn assert_ordered(&self) {
        assert!(self.truncated <= self.hardened, "the log was truncated past its hardened end: {self:?}");
        assert!(self.hardened <= self.written, "hardened passed written: {self:?}");
        assert!(self.written <= self.appended, "written passed appended: {self:?}");
    }
}

/// Counters since the log was opened. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Calls of [`Log::append`] that succeeded.
    pub appends: u64,
    /// Payload bytes appended.
    pub bytes_appended: u64,
    /// Groups written and synced.
    pub flushes: u64,
    /// Blocks written.
    pub blocks_flushed: u64,
    /// Bytes written, with headers and padding.
    pub bytes_flushed: u64,
    /// Time spent in write and sync.
    pub flush_nanos: u64,
    /// Calls of [`Log::wait_hardened`] that had to wait.
    pub waits: u64,
    /// Time those calls took.
    pub wait_nanos: u64,
    /// The longest of them.
    pub wait_nanos_max: u64,
    /// Appends that waited because too much was unwritten.
    pub append_stalls: u64,
    /// Segment files made.
    pub segments_created: u64,
}

/// A file of the log, as [`Log::segments`] shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its number in the log, from 1; 0 for a file that holds nothing yet.
    pub sequence: u64,
    /// Position of its first payload byte; zero for a file that holds nothing yet.
    pub first_lsn: Lsn,
    /// Bytes of the file.
    pub size_bytes: u64,
}

/// A block as it is about to be stored, shown to the [tap](Log::set_tap) before the local write begins.
pub struct SealedBlock<'a> {
    /// The decoded header.
    pub header: block::Header,
    /// Header and payload, without padding: what another replica stores.
    pub bytes: &'a [u8],
}

/// Receives every block in log order, on the leader's thread; must only hand over and return.
pub type Tap = Arc<dyn Fn(&SealedBlock<'_>) + Send + Sync>;

type Hook = Arc<dyn Fn() + Send + Sync>;

/// Called with the hardened position; see [`Log::set_hardened_hook`].
pub type HardenedHook = Arc<dyn Fn(Lsn) + Send + Sync>;

/// The longest [announcement of keys](Log::announce_keys).
pub const ANNOUNCEMENT_BYTES_MAX: usize = crate::segment::TAIL_BYTES_MIN as usize - block::HEADER_BYTES;

/// Stands for "whatever term it is" in [`Log::append`].
const ANY_TERM: u64 = u64::MAX;

/// One database's log. Clones share it.
#[derive(Clone)]
pub struct Log {
    pub(crate) shared: Arc<Shared>,
}

/// Everything the threads that use a log share.
///
/// Lock order: `writer` → `directory` → `appender` → `waiters`; `provisioning` before `appender`, by whose holders it is only tried; `epochs` last.
pub(crate) struct Shared {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dir: PathBuf,
    pub(crate) options: LogOptions,
    /// Random number of this opening, in each block header.
    pub(crate) incarnation: u32,
    /// The newest epoch promised: what a local writer stamps, and below which nobody's blocks are taken.
    /// Changed under the appender's lock.
    pub(crate) epoch: AtomicU64,
    /// What all replicas have agreed on; `u64::MAX` while nobody else has a say.
    pub(crate) agreed: AtomicU64,
    /// Checksum of the last block sealed or received.
    pub(crate) tip: AtomicU32,
    /// Counts the cuts, so that scanners forget what they have read ahead.
    pub(crate) cuts: AtomicU64,
    /// Where the blocks of each epoch begin, as far back as the log reaches.
    pub(crate) epochs: Mutex<Vec<(Epoch, Lsn)>>,
    pub(crate) appender: Mutex<Appender>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) waiters: Mutex<Waiters>,
    pub(crate) directory: Mutex<Directory>,
    pub(crate) provisioning: Mutex<Slots>,
    /// Bytes of all files; written under `provisioning`.
    pub(crate) file_bytes: AtomicU64,
    pub(crate) truncated: AtomicU64,
    pub(crate) hardened: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) appended: AtomicU64,
    pub(crate) poisoned: AtomicBool,
    /// When the flush under way began, nanoseconds of the clock; 0 when there is none. Written by the leader.
    pub(crate) flush_began: AtomicU64,
    /// Where it ends. Until the leader knows that, where the one before ended.
    pub(crate) flush_end: AtomicU64,
    pub(crate) poison_reason: Mutex<Option<Arc<str>>>,
    pub(crate) tap: RwLock<Option<Tap>>,
    pub(crate) provision_hook: RwLock<Option<Hook>>,
    pub(crate) hardened_hook: RwLock<Option<HardenedHook>>,
    /// Appends are no longer held back, or their term is over.
    pub(crate) appends_released: Condvar,
    /// There are more free segments, or nobody makes one any more.
    pub(crate) room_changed: Condvar,
    /// Ends of the last groups flushed while others have a say, ascending.
    pub(crate) borders: Mutex<VecDeque<Lsn>>,
    pub(crate) recent: Recent,
    pub(crate) scrub: Scrub,
    pub(crate) counters: Counters,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) appends: AtomicU64,
    pub(crate) bytes_appended: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) blocks_flushed: AtomicU64,
    pub(crate) bytes_flushed: AtomicU64,
    pub(crate) flush_nanos: AtomicU64,
    pub(crate) waits: AtomicU64,
    pub(crate) wait_nanos: AtomicU64,
    pub(crate) wait_nanos_max: AtomicU64,
    pub(crate) append_stalls: AtomicU64,
    pub(crate) segments_created: AtomicU64,
}

/// The segments that hold the log, oldest first, with places in them where a scan can begin.
pub(crate) struct Directory {
    pub(crate) live: VecDeque<LiveSegment>,
}

pub(crate) struct LiveSegment {
    pub(crate) segment: Arc<Segment>,
    pub(crate) sequence: u64,
    pub(crate) first_lsn: Lsn,
    /// (first LSN, file offset) of some blocks, ascending.
    pub(crate) marks: Vec<(Lsn, u64)>,
}

/// At most one mark per this many payload bytes.
pub(crate) const MARK_EVERY_BYTES: u64 = 128 << 10;

impl Log {
    /// Makes a new, empty log in `dir`, which must not hold one.
    pub fn create(env: &Env, dir: &Path, options: LogOptions) -> Result<Log, LogError> {
        env.disk.create_dir_all(dir)?;
        if let Some(old) = env.disk.list(dir)?.iter().find(|p| segment::slot_of(p).is_some()) {
            let taken = io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists", old.display()));
            return Err(LogError::Io(taken));
        }
        let size = options.segment_bytes.clamp(SEGMENT_BYTES_MIN, u64::MAX) / SECTOR_BYTES as u64
            * SECTOR_BYTES as u64;
        let segment = Segment::create(env.disk.as_ref(), dir, 1, size, &mut |_| Ok(()))?;
        let incarnation = random_u32(env);
        let first_lsn = options.first_lsn;
        let header = SegmentHeader {
            log_id: options.log_id,
            sequence: 1,
            first_lsn,
            size,
            hardened: first_lsn,
            epoch: options.epoch,
            previous: options.first_previous.unwrap_or(options.log_id),
            incarnation,
        };
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        header.encode(&mut bytes);
        segment.file.write_durable_at(&bytes, 0)?;
        let start = Start {
            live: VecDeque::from([LiveSegment {
                segment: Arc::clone(&segment),
                sequence: 1,
                first_lsn,
                marks: Vec::new(),
            }]),
            retired: VecDeque::new(),
            appender: Appender::new(segment, 1, SEGMENT_HEADER_BYTES as u64, first_lsn),
            previous: options.first_previous.unwrap_or(options.log_id),
            slots: Slots { next_slot: 2, file_bytes: size, last_size: size },
            incarnation,
            // What lies before is in this epoch on the copy that it was taken from.
            epochs: options.first_previous.iter().map(|_| (options.epoch, first_lsn)).collect(),
            agreed: Lsn::MAX,
        };
        Ok(Log::start(env, dir, options, start))
    }

    pub(crate) fn start(env: &Env, dir: &Path, options: LogOptions, start: Start) -> Log {
        let mut appender = start.appender;
        appender.retired = start.retired;
        let end = appender.next_lsn.0;
        let first = start.live.front().map_or(end, |s| s.first_lsn.0);
        let newest = start.epochs.last().map_or(Epoch(0), |e| e.0);
        let epoch = options.epoch.max(newest);
        let shared = Shared {
            disk: Arc::clone(&env.disk),
            clock: Arc::clone(&env.clock),
            dir: dir.to_path_buf(),
            options,
            incarnation: start.incarnation,
            epoch: AtomicU64::new(epoch.0),
            agreed: AtomicU64::new(start.agreed.0),
            tip: AtomicU32::new(start.previous),
            cuts: AtomicU64::new(0),
            epochs: Mutex::new(start.epochs),
            appender: Mutex::new(appender),
            writer: Mutex::new(Writer::new(start.previous, newest)),
            waiters: Mutex::new(Waiters::default()),
            directory: Mutex::new(Directory { live: start.live }),
            file_bytes: AtomicU64::new(start.slots.file_bytes),
            provisioning: Mutex::new(start.slots),
            truncated: AtomicU64::new(first),
            hardened: AtomicU64::new(end),
            written: AtomicU64::new(end),
            appended: AtomicU64::new(end),
            poisoned: AtomicBool::new(false),
            flush_began: AtomicU64::new(0),
            flush_end: AtomicU64::new(end),
            poison_reason: Mutex::new(None),
            tap: RwLock::new(None),
            provision_hook: RwLock::new(None),
            hardened_hook: RwLock::new(None),
            appends_released: Condvar::new(),
            room_changed: Condvar::new(),
            borders: Mutex::new(VecDeque::new()),
            recent: Recent::default(),
            scrub: Scrub::default(),
            counters: Counters::default(),
        };
        Log { shared: Arc::new(shared) }
    }

    /// Gives `bytes` their place in the log and returns the position behind them: the commit LSN.
    ///
    /// `stamp` is called with that position before the bytes can become hardened, under the append lock, so calls of it
    /// are in log order. The bytes are durable only after [`Log::wait_hardened`]; they arrive whole or not at all.
    ///
    /// # Panics
    /// If `bytes` is empty: an append must move the log.
    pub fn append(&self, bytes: &[u8], stamp: impl FnOnce(Lsn)) -> Result<Lsn, LogError> {
        self.append_in(ANY_TERM, bytes, stamp)
    }

    /// The same, but only within the term that [`Log::term`] named: what began before the replica gave up its role is
    /// refused ([`LogError::NotWriter`]) even when it has it again.
    ///
    /// # Panics
    /// If `bytes` is empty.
    pub fn append_in(&self, term: u64, bytes: &[u8], stamp: impl FnOnce(Lsn)) -> Result<Lsn, LogError> {
        self.append_as(term, bytes, bytes.len() as u64, |appender, end| {
            stamp(end);
            appender.copy(bytes);
        })
    }

    /// Appends what announces keys, in a block of its own that is not encrypted: whoever reads the log learns them before what
    /// they encrypt. At most [`ANNOUNCEMENT_BYTES_MAX`].
    ///
    /// # Panics
    /// If `bytes` is empty or longer.
    pub fn announce_keys(&self, term: u64, bytes: &[u8]) -> Result<Lsn, LogError> {
        assert!(bytes.len() <= ANNOUNCEMENT_BYTES_MAX, "it fits into any block");
        // What is left of the block being filled stays empty.
        let wanted = (bytes.len() + 2 * block::BLOCK_BYTES_MAX) as u64;
        self.append_as(term, bytes, wanted, |appender, _| appender.copy_keys(bytes))
    }

    fn append_as(
        &self,
        term: u64,
        bytes: &[u8],
        wanted: u64,
        copy: impl FnOnce(&mut Appender, Lsn),
    ) -> Result<Lsn, LogError> {
        assert!(!bytes.is_empty(), "an append holds at least one byte");
        let shared = &*self.shared;
        let mut appender = shared.appender.lock();
        loop {
            if shared.poisoned.load(Ordering::Relaxed) {
                drop(appender);
                return Err(shared.poison_error());
            }
            if appender.term == 0 || (appender.term != term && term != ANY_TERM) {
                return Err(LogError::NotWriter);
            }
            if appender.held {
                shared.appends_released.wait(&mut appender);
                continue;
            }
            let pending = appender.group.bytes.len();
            if pending > 0 && pending + bytes.len() > shared.options.unwritten_bytes_max {
                let formed = appender.next_lsn;
                drop(appender);
                shared.counters.append_stalls.fetch_add(1, Ordering::Relaxed);
                self.wait_hardened(formed)?;
                appender = shared.appender.lock();
            } else if appender.room() < wanted {
                drop(appender);
                self.make_room(usize::try_from(wanted).unwrap_or(usize::MAX))?;
                appender = shared.appender.lock();
            } else {
                break;
            }
        }
        let sequence_before = appender.sequence;
        let end = appender.next_lsn.advance(bytes.len() as u64);
        appender.receiving = false;
        copy(&mut appender, end);
        assert!(appender.next_lsn == end, "the copy moved the log by exactly the append");
        shared.appended.store(end.0, Ordering::Release);
        let wants_segment = appender.sequence != sequence_before && appender.spares.is_empty();
        drop(appender);
        shared.counters.appends.fetch_add(1, Ordering::Relaxed);
        shared.counters.bytes_appended.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if wants_segment {
            self.ask_for_segment();
        }
        Ok(end)
    }

    /// Sets what is called (outside the log's locks) when the last spare segment was taken, on an appender's thread, and when
    /// segments were given back.
    pub fn set_provision_hook(&self, hook: Arc<dyn Fn() + Send + Sync>) {
        *self.shared.provision_hook.write() = Some(hook);
    }

    /// Sets who sees every sealed block before it is written locally: the place for network senders.
    pub fn set_tap(&self, tap: Option<Tap>) {
        *self.shared.tap.write() = tap;
    }

    /// Sets what is called after each flush, on the leader's thread, outside all locks, before waiters are woken; must only
    /// hand over and return.
    pub fn set_hardened_hook(&self, hook: Option<HardenedHook>) {
        *self.shared.hardened_hook.write() = hook;
    }

    /// Everything before this survives a power cut.
    pub fn hardened(&self) -> Lsn {
        Lsn(self.shared.hardened.load(Ordering::Acquire))
    }

    /// Everything before this has its place.
    pub fn appended(&self) -> Lsn {
        Lsn(self.shared.appended.load(Ordering::Acquire))
    }

    /// The first position still held.
    pub fn truncated(&self) -> Lsn {
        Lsn(self.shared.truncated.load(Ordering::Acquire))
    }

    /// All positions; read in an order in which they can only look closer together than they are.
    pub fn positions(&self) -> Positions {
        let truncated = self.truncated();
        let hardened = self.hardened();
        let written = Lsn(self.shared.written.load(Ordering::Acquire));
        let appended = self.appended();
        Positions { truncated, hardened, written, appended }
    }

    /// Whether a failed write has stopped the log.
    pub fn is_poisoned(&self) -> bool {
        self.shared.poisoned.load(Ordering::Acquire)
    }

    /// How long the flush under way has taken so far; `None` when there is none. Takes no lock: for whoever watches a disk
    /// that may not answer.
    pub fn flushing_for(&self) -> Option<Duration> {
        let began = self.shared.flush_began.load(Ordering::Relaxed);
        (began > 0).then(|| self.shared.clock.now().saturating_sub(Duration::from_nanos(began)))
    }

    /// Where the flush under way ends; not beyond the hardened position when there is none, or it has just begun. Takes no lock.
    pub fn flushing_to(&self) -> Lsn {
        Lsn(self.shared.flush_end.load(Ordering::Relaxed))
    }

    /// Identity of the log.
    pub fn log_id(&self) -> u32 {
        self.shared.options.log_id
    }

    /// The database's keys.
    pub fn keys(&self) -> &Arc<Keychain> {
        &self.shared.options.keys
    }

    /// Bytes of all segment files.
    pub fn file_bytes(&self) -> u64 {
        self.shared.file_bytes.load(Ordering::Relaxed)
    }

    /// The files of the log: those that hold it, oldest first, then those that wait to be used.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let live = {
            let directory = self.shared.directory.lock();
            let info = |s: &LiveSegment| SegmentInfo {
                sequence: s.sequence,
                first_lsn: s.first_lsn,
                size_bytes: s.segment.size,
            };
            directory.live.iter().map(info).collect::<Vec<_>>()
        };
        let appender = self.shared.appender.lock();
        let spare = |s: &Arc<Segment>| SegmentInfo { sequence: 0, first_lsn: Lsn::ZERO, size_bytes: s.size };
        live.into_iter().chain(appender.spares.iter().chain(&appender.retired).map(spare)).collect()
    }

    /// Counters since opening.
    pub fn stats(&self) -> LogStats {
        let c = &self.shared.counters;
        let get = |a: &AtomicU64| a.load(Ordering::Relaxed);
        LogStats {
            appends: get(&c.appends),
            bytes_appended: get(&c.bytes_appended),
            flushes: get(&c.flushes),
            blocks_flushed: get(&c.blocks_flushed),
            bytes_flushed: get(&c.bytes_flushed),
            flush_nanos: get(&c.flush_nanos),
            waits: get(&c.waits),
            wait_nanos: get(&c.wait_nanos),
            wait_nanos_max: get(&c.wait_nanos_max),
            append_stalls: get(&c.append_stalls),
            segments_created: get(&c.segments_created),
        }
    }

    /// Reads hardened blocks, beginning with the one that holds the byte at `from`.
    pub fn scan(&self, from: Lsn) -> Result<Scanner, LogError> {
        Scanner::new(self.clone(), from)
    }

    /// Gives back the segments that lie wholly before `lsn`; their files are used again. Waits for no disk.
    pub fn truncate_before(&self, lsn: Lsn) {
        let lsn = lsn.min(self.hardened());
        let mut freed = Vec::new();
        {
            let mut directory = self.shared.directory.lock();
            while directory.live.len() > 1 && directory.live[1].first_lsn <= lsn {
                freed.extend(directory.live.pop_front());
            }
            if let Some(first) = directory.live.front() {
                self.shared.truncated.fetch_max(first.first_lsn.0.min(lsn.0), Ordering::AcqRel);
            }
        }
        if !freed.is_empty() {
            self.shared.appender.lock().retired.extend(freed.into_iter().map(|s| s.segment));
            self.ask_for_segment();
        }
        self.positions().assert_ordered();
    }
}

/// What [`Log::create`] and [`Log::open`] found, from which the shared state is made.
pub(crate) struct Start {
    pub(crate) live: VecDeque<LiveSegment>,
    /// Files that hold nothing of it, oldest first.
    pub(crate) retired: VecDeque<Arc<Segment>>,
    pub(crate) appender: Appender,
    /// Checksum of the last block.
    pub(crate) previous: u32,
    pub(crate) slots: Slots,
    pub(crate) incarnation: u32,
    /// Where each epoch begins, ascending.
    pub(crate) epochs: Vec<(Epoch, Lsn)>,
    /// What the newest block says to be agreed; [`Lsn::MAX`] when the log is nobody else's.
    pub(crate) agreed: Lsn,
}

pub(crate) fn random_u32(env: &Env) -> u32 {
    let mut bytes = [0; 4];
    env.random.fill(&mut bytes);
    u32::from_le_bytes(bytes)
}

impl Shared {
    pub(crate) fn poison(&self, reason: String) {
        self.poison_reason.lock().get_or_insert_with(|| Arc::from(reason));
        self.poisoned.store(true, Ordering::Release);
    }

    pub(crate) fn poison_error(&self) -> LogError {
        let reason = self.poison_reason.lock().clone();
        LogError::Poisoned { reason: reason.unwrap_or_else(|| Arc::from("unknown")) }
    }
}
