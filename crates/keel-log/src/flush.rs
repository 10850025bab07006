//! Group flush: waiting for a position to become hardened, and doing the flush as the leader.
//!
//! Who waits first leads. The leader takes everything appended so far, so its own position is always in the group it
//! writes. When it is done it hands the lead to one waiter that needs another flush (woken first, because the disk is
//! idle until it runs) and wakes the rest of those that are hardened. Nobody is woken for nothing: who waits for somebody
//! else besides ([`Sleeper`]) sleeps once, until both have let it go.

use crate::appender::Group;
use crate::block::{self, HEADER_BYTES};
use crate::error::LogError;
use crate::log::{LiveSegment, Log, MARK_EVERY_BYTES, SealedBlock, Shared};
use crate::recent::RecentBlock;
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use keel_base::cipher::{BlockSealer, BlockWriter, Keychain};
use keel_base::{Epoch, Lsn};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Thread};

/// What only the leader touches.
pub(crate) struct Writer {
    /// An empty group whose buffers are used again.
    spare: Group,
    /// Checksum of the last block.
    pub(crate) previous: u32,
    /// Epoch of the last block.
    pub(crate) epoch: Epoch,
    /// What its own blocks are sealed with, and whose blocks that is for.
    sealer: Option<(BlockWriter, BlockSealer)>,
}

impl Writer {
    pub(crate) fn new(previous: u32, epoch: Epoch) -> Writer {
        Writer { spare: Group::default(), previous, epoch, sealer: None }
    }

    /// What seals blocks of `header`'s writer: none for plain ones.
    fn sealer(&mut self, keys: &Keychain, header: &block::Header) -> io::Result<Option<&BlockSealer>> {
        let writer = header.writer();
        if writer.key == 0 {
            return Ok(None);
        }
        if self.sealer.as_ref().is_none_or(|known| known.0 != writer) {
            let sealer = keys.block_sealer(writer);
            let missing = || io::Error::other("the key with which log is to be encrypted is not there");
            self.sealer = Some((writer, sealer.ok_or_else(missing)?));
        }
        Ok(self.sealer.as_ref().map(|known| &known.1))
    }
}

/// Who waits for the log.
#[derive(Default)]
pub(crate) struct Waiters {
    /// Whether there is a leader.
    flushing: bool,
    list: Vec<Waiter>,
}

struct Waiter {
    lsn: u64,
    slot: Arc<Slot>,
}

/// What a sleeping thread was told, as bits.
const HARDENED: u32 = 1;
const RELEASED: u32 = 2;
const LEAD: u32 = 4;
const FAILED: u32 = 8;

/// Where one thread sleeps.
#[derive(Debug)]
struct Slot {
    told: AtomicU32,
    thread: Thread,
}

thread_local! {
    static SLOT: Arc<Slot> = Arc::new(Slot { told: AtomicU32::new(0), thread: thread::current() });
}

impl Slot {
    /// Tells the thread something; wakes it once it has anything to do.
    fn tell(&self, bit: u32) {
        let told = self.told.fetch_or(bit, Ordering::AcqRel) | bit;
        if told & (LEAD | FAILED) != 0 || told & (HARDENED | RELEASED) == HARDENED | RELEASED {
            self.thread.unpark();
        }
    }

    /// Forgets what the log said before.
    fn begin(&self) {
        self.told.fetch_and(RELEASED, Ordering::Relaxed);
    }

    fn sleep(&self) -> u32 {
        loop {
            let told = self.told.load(Ordering::Acquire);
            if told & (LEAD | FAILED) != 0 || told & (HARDENED | RELEASED) == HARDENED | RELEASED {
                return told;
            }
            thread::park();
        }
    }
}

/// A thread that waits for its log and for somebody else besides, and is woken once.
#[derive(Clone, Debug)]
pub struct Sleeper {
    slot: Arc<Slot>,
}

impl Sleeper {
    /// The calling thread, released by nobody yet. Whoever was to release it for an earlier wait must have done so, or must
    /// not do so any more.
    #[must_use]
    pub fn this_thread() -> Sleeper {
        let slot = SLOT.with(Arc::clone);
        slot.told.store(0, Ordering::Relaxed);
        Sleeper { slot }
    }

    /// The other side lets it go. Once for each wait, from any thread.
    pub fn release(&self) {
        self.slot.tell(RELEASED);
    }

    /// Whether both are the same thread.
    #[must_use]
    pub fn is(&self, other: &Sleeper) -> bool {
        Arc::ptr_eq(&self.slot, &other.slot)
    }

    /// On its own thread: sleeps until it is released, for who needs no log any more.
    pub fn wait_released(&self) {
        self.slot.begin();
        self.slot.told.fetch_or(HARDENED, Ordering::AcqRel);
        self.slot.sleep();
    }
}

enum Turn {
    Done,
    Lead,
    Sleep,
}

impl Log {
    /// Returns when everything before `lsn` survives a power cut. The caller may be made to do the flush.
    /// [`LogError::NotWriter`] when the position was [cut](Log::cut) off meanwhile.
    pub fn wait_hardened(&self, lsn: Lsn) -> Result<(), LogError> {
        let shared = &*self.shared;
        if shared.hardened.load(Ordering::Acquire) >= lsn.0 {
            return Ok(());
        }
        if lsn > self.appended() {
            // It was cut off after the caller had appended it.
            return Err(LogError::NotWriter);
        }
        let began = shared.clock.now();
        let sleeper = Sleeper::this_thread();
        sleeper.release();
        self.wait_in_turn(lsn, &sleeper)?;
        let took = shared.clock.now().saturating_sub(began);
        shared.counters.waits.fetch_add(1, Ordering::Relaxed);
        shared.counters.wait_nanos.fetch_add(nanos(took), Ordering::Relaxed);
        shared.counters.wait_nanos_max.fetch_max(nanos(took), Ordering::Relaxed);
        keel_base::waits::note("WRITELOG", nanos(took));
        Ok(())
    }

    /// The same, and returns only when the sleeper, which is the calling thread, has been released too. After an error it
    /// has not been waited for. Such waits are not among the log's own ([`LogStats::waits`](crate::LogStats)).
    pub fn wait_hardened_and_released(&self, lsn: Lsn, sleeper: &Sleeper) -> Result<(), LogError> {
        if lsn > self.appended() {
            return Err(LogError::NotWriter);
        }
        self.wait_in_turn(lsn, sleeper)?;
        sleeper.wait_released();
        Ok(())
    }

    fn wait_in_turn(&self, lsn: Lsn, sleeper: &Sleeper) -> Result<(), LogError> {
        while self.shared.hardened.load(Ordering::Acquire) < lsn.0 {
            match self.take_turn(lsn, sleeper)? {
                Turn::Done => break,
                Turn::Lead => self.lead(),
                Turn::Sleep => {
                    if sleeper.slot.sleep() & LEAD != 0 {
                        self.lead();
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes everything appended so far hardened.
    pub fn flush(&self) -> Result<Lsn, LogError> {
        let lsn = self.appended();
        self.wait_hardened(lsn)?;
        Ok(lsn)
    }

    fn take_turn(&self, lsn: Lsn, sleeper: &Sleeper) -> Result<Turn, LogError> {
        let shared = &*self.shared;
        let mut waiters = shared.waiters.lock();
        if shared.hardened.load(Ordering::Acquire) >= lsn.0 {
            return Ok(Turn::Done);
        }
        if shared.poisoned.load(Ordering::Acquire) {
            drop(waiters);
            return Err(shared.poison_error());
        }
        if !waiters.flushing {
            waiters.flushing = true;
            return Ok(Turn::Lead);
        }
        sleeper.slot.begin();
        waiters.list.push(Waiter { lsn: lsn.0, slot: Arc::clone(&sleeper.slot) });
        Ok(Turn::Sleep)
    }

    /// One flush, then the lead passes on.
    fn lead(&self) {
        let shared = &*self.shared;
        let _lead = Lead { shared, panicking: thread::panicking() };
        shared.flush_began.store(nanos(shared.clock.now()).max(1), Ordering::Relaxed);
        if let Err(error) = shared.flush_group() {
            shared.poison(error.to_string());
        }
    }
}

/// The right to flush. It passes on when it is dropped, also by a leader who panics: nobody knows what the disk has then.
struct Lead<'a> {
    shared: &'a Shared,
    /// The leader was panicking before it began.
    panicking: bool,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if thread::panicking() && !self.panicking {
            self.shared.poison("an assertion failed while it was flushed".into());
        }
        self.shared.flush_began.store(0, Ordering::Relaxed);
        self.shared.pass_on();
    }
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Shared {
    /// Wakes those whose wait is over, and one who leads after this.
    fn pass_on(&self) {
        let poisoned = self.poisoned.load(Ordering::Acquire);
        let hardened = self.hardened.load(Ordering::Acquire);
        let hook = self.hardened_hook.read().clone();
        if let Some(hook) = hook {
            hook(Lsn(hardened));
        }
        let mut ready: Vec<(Arc<Slot>, u32)> = Vec::new();
        let next = {
            let mut waiters = self.waiters.lock();
            let mut next: Option<Arc<Slot>> = None;
            waiters.list.retain(|waiter| {
                if poisoned || waiter.lsn <= hardened {
                    let bit = if waiter.lsn <= hardened { HARDENED } else { FAILED };
                    ready.push((Arc::clone(&waiter.slot), bit));
                    false
                } else if next.is_none() {
                    next = Some(Arc::clone(&waiter.slot));
                    false
                } else {
                    true
                }
            });
            waiters.flushing = next.is_some();
            next
        };
        if let Some(next) = next {
            next.tell(LEAD);
        }
        for (slot, bit) in ready {
            slot.tell(bit);
        }
    }

    /// Takes the group that has formed and makes it hardened. A group ends where an append does, or a received block.
    fn flush_group(&self) -> io::Result<()> {
        let mut writer = self.writer.lock();
        let (mut group, end) = {
            let mut appender = self.appender.lock();
            appender.close_block(false);
            let spare = std::mem::take(&mut writer.spare);
            (std::mem::replace(&mut appender.group, spare), appender.next_lsn)
        };
        if group.is_empty() {
            writer.spare = group;
            return Ok(());
        }
        self.flush_end.store(end.0, Ordering::Relaxed);
        let began = self.clock.now();
        self.seal(&mut group, &mut writer)?;
        self.show(&group);
        self.write(&group)?;
        self.written.store(end.0, Ordering::Release);
        sync(&group)?;
        self.note_places(&group);
        let whole = group.blocks.last().is_some_and(|last| last.flags & block::FLAG_UNFINISHED == 0);
        if whole && self.agreed.load(Ordering::Relaxed) != u64::MAX {
            self.note_border(end);
        }
        let before = self.hardened.swap(end.0, Ordering::AcqRel);
        assert!(before < end.0, "a flush moves the hardened position forward");
        self.count(&group, self.clock.now().saturating_sub(began));
        group.clear();
        writer.spare = group;
        Ok(())
    }

    /// Fills in the headers of segments and blocks, in order, since each block holds the checksum of the one before.
    /// Received blocks are sealed already. Encrypts the others, while the database is: here, where no session's lock is held.
    fn seal(&self, group: &mut Group, writer: &mut Writer) -> io::Result<()> {
        let key = self.options.keys.log_key();
        let hardened = Lsn(self.hardened.load(Ordering::Acquire));
        let agreed = hardened.min(Lsn(self.agreed.load(Ordering::Relaxed)));
        let own_epoch = Epoch(self.epoch.load(Ordering::Relaxed));
        let mut entered = group.extents.iter().filter(|e| e.enters.is_some()).peekable();
        for planned in &group.blocks {
            let epoch = planned.received.map_or(own_epoch, |received| received.0);
            if epoch != writer.epoch {
                writer.epoch = epoch;
                self.epochs.lock().push((epoch, planned.first_lsn));
            }
            while let Some(extent) = entered.next_if(|e| e.start <= planned.start) {
                let (sequence, first_lsn) = extent.enters.expect("filtered for it");
                let header = SegmentHeader {
                    log_id: self.options.log_id,
                    sequence,
                    first_lsn,
                    size: extent.segment.size,
                    hardened,
                    epoch,
                    previous: writer.previous,
                    incarnation: self.incarnation,
                };
                header.encode(&mut group.bytes[extent.start..extent.start + SEGMENT_HEADER_BYTES]);
            }
            if let Some((_, checksum)) = planned.received {
                writer.previous = checksum;
                continue;
            }
            let header = block::Header {
                flags: planned.flags,
                log_id: self.options.log_id,
                previous: writer.previous,
                epoch,
                first_lsn: planned.first_lsn,
                payload_len: u32::try_from(planned.payload_len).expect("a block is at most 60 KB"),
                incarnation: self.incarnation,
                hardened: agreed,
                checksum: 0,
            };
            let header = if planned.flags & block::FLAG_KEYS == 0 { header.with_key(key) } else { header };
            let end = planned.start + HEADER_BYTES + planned.payload_len;
            let sealer = writer.sealer(&self.options.keys, &header)?;
            writer.previous = block::seal(&mut group.bytes[planned.start..end], &header, sealer);
        }
        if group.blocks.last().is_some_and(|last| last.received.is_none()) {
            self.tip.store(writer.previous, Ordering::Release);
        }
        Ok(())
    }

    fn show(&self, group: &Group) {
        let tap = self.tap.read().clone();
        let Some(tap) = tap else { return };
        for planned in &group.blocks {
            let bytes = &group.bytes[planned.start..planned.start + HEADER_BYTES + planned.payload_len];
            let header = block::decode_header(bytes).expect("sealed just now");
            tap(&SealedBlock { header, bytes });
        }
    }

    fn write(&self, group: &Group) -> io::Result<()> {
        for (i, extent) in group.extents.iter().enumerate() {
            let end = group.extents.get(i + 1).map_or(group.bytes.len(), |next| next.start);
            assert!(
                extent.offset + (end - extent.start) as u64 <= extent.segment.size,
                "blocks stay in the segment"
            );
            let file = extent.segment.direct.as_ref().unwrap_or(&extent.segment.file);
            file.write_at(&group.bytes[extent.start..end], extent.offset)?;
        }
        Ok(())
    }

    /// Enters the new segments and some of the blocks into the directory, before anyone can learn of their LSNs, and keeps
    /// those received for whoever applies them.
    fn note_places(&self, group: &Group) {
        let mut directory = self.directory.lock();
        let mut blocks = group.blocks.iter().peekable();
        for (i, extent) in group.extents.iter().enumerate() {
            if let Some((sequence, first_lsn)) = extent.enters {
                let segment = Arc::clone(&extent.segment);
                directory.live.push_back(LiveSegment { segment, sequence, first_lsn, marks: Vec::new() });
            }
            let end = group.extents.get(i + 1).map_or(group.bytes.len(), |next| next.start);
            let live = directory.live.back_mut().expect("a log has a segment");
            assert!(Arc::ptr_eq(&live.segment, &extent.segment), "groups are written in segment order");
            while let Some(block) = blocks.next_if(|b| b.start < end) {
                let last = live.marks.last().map_or(live.first_lsn, |m| m.0);
                let offset = extent.offset + (block.start - extent.start) as u64;
                if block.first_lsn.0 >= last.0 + MARK_EVERY_BYTES {
                    live.marks.push((block.first_lsn, offset));
                }
                if block.received.is_some() {
                    let bytes = &group.bytes[block.start..block.start + HEADER_BYTES + block.payload_len];
                    self.recent.push(RecentBlock {
                        header: block::decode_header(bytes).expect("checked when it was received"),
                        bytes: bytes.to_vec(),
                        segment: Arc::clone(&extent.segment),
                        sequence: live.sequence,
                        offset,
                    });
                }
            }
        }
    }

    fn count(&self, group: &Group, took: std::time::Duration) {
        let c = &self.counters;
        c.flushes.fetch_add(1, Ordering::Relaxed);
        c.blocks_flushed.fetch_add(group.blocks.len() as u64, Ordering::Relaxed);
        c.bytes_flushed.fetch_add(group.bytes.len() as u64, Ordering::Relaxed);
        c.flush_nanos.fetch_add(nanos(took), Ordering::Relaxed);
        let positions = crate::log::Positions {
            truncated: Lsn(self.truncated.load(Ordering::Acquire)),
            hardened: Lsn(self.hardened.load(Ordering::Acquire)),
            written: Lsn(self.written.load(Ordering::Acquire)),
            appended: Lsn(self.appended.load(Ordering::Acquire)),
        };
        positions.assert_ordered();
    }
}

/// Syncs each file of the group once, where writing it was not enough.
fn sync(group: &Group) -> io::Result<()> {
    for extent in group.extents.iter().filter(|extent| extent.segment.direct.is_none()) {
        extent.segment.file.sync_data()?;
    }
    Ok(())
}
