//! Copies of a log: blocks that another writer sealed, and who may write.
//!
//! Exactly one copy has a **writer** at a time; it appends within a **term**, a number that changes each time the role
//! does. All other copies **follow**: local appends are refused, and blocks are taken in stored form. Who says that it
//! speaks for the writer names the epoch of that claim (the *session's* epoch); it must not be older than the newest
//! epoch this copy has [promised](Log::set_epoch). Each block holds the epoch in which it was written, which may be older.
//!
//! A follower's log may end inside an append. If the writer goes away there, the next writer begins a new append without
//! the continuing flag, and readers drop the unfinished bytes.

use crate::appender::PlannedBlock;
use crate::block::{self, FLAG_CONTINUES, FLAG_UNFINISHED, Header};
use crate::error::LogError;
use crate::log::Log;
use crate::segment::{SEGMENT_HEADER_BYTES, TAIL_BYTES_MIN};
use keel_base::{Epoch, Lsn};
use std::sync::atomic::Ordering;

/// Ends of appends that are remembered.
const BORDERS_MAX: usize = 4096;

impl Log {
    /// Makes this copy the writer, in `epoch`, which must be at least what was promised. Everything received is hardened
    /// first. Returns the term for [`Log::append_in`].
    pub fn start_term(&self, epoch: Epoch) -> Result<u64, LogError> {
        self.flush()?;
        let mut appender = self.shared.appender.lock();
        let promised = self.epoch();
        if epoch < promised {
            return Err(self.not_next(appender.next_lsn, format!("epoch {} is promised", promised.0)));
        }
        self.shared.epoch.store(epoch.0, Ordering::Release);
        self.shared.borders.lock().clear();
        appender.last_term += 1;
        appender.term = appender.last_term;
        appender.held = false;
        Ok(appender.term)
    }

    /// Takes no local appends from now on. What was appended stays and can be hardened.
    pub fn end_term(&self) {
        self.shared.appender.lock().term = 0;
        self.shared.appends_released.notify_all();
    }

    /// Holds back local appends, or lets them go on: who appends meanwhile waits. What was appended stays and can be
    /// hardened, and received blocks are taken. It ends by itself with the term, in which those waiting are refused.
    pub fn hold_appends(&self, held: bool) {
        self.shared.appender.lock().held = held;
        if !held {
            self.shared.appends_released.notify_all();
        }
    }

    /// The term in which local appends are taken; 0 when none are.
    pub fn term(&self) -> u64 {
        self.shared.appender.lock().term
    }

    /// Promises not to take blocks from who speaks for an older epoch; never goes back. When it returns, none such is
    /// under way.
    pub fn set_epoch(&self, epoch: Epoch) {
        let _appender = self.shared.appender.lock();
        self.shared.epoch.fetch_max(epoch.0, Ordering::AcqRel);
    }

    /// The newest epoch promised, or found in the log.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.shared.epoch.load(Ordering::Acquire))
    }

    /// Where the blocks of each epoch begin, ascending, as far back as the log reaches. Each ends where the next begins,
    /// the last at [`Log::appended`].
    pub fn epochs(&self) -> Vec<(Epoch, Lsn)> {
        self.shared.epochs.lock().clone()
    }

    /// Checksum of the last block, hardened or not; of a log without blocks what its first must name.
    pub fn last_checksum(&self) -> u32 {
        self.shared.tip.load(Ordering::Acquire)
    }

    /// The checksum that a block beginning at `at` must name as the one before it; `None` when no block begins or ends
    /// there. May flush.
    pub fn checksum_before(&self, at: Lsn) -> Result<Option<u32>, LogError> {
        if at == self.hardened() {
            let tip = self.last_checksum();
            // Asked for last: a later block would change both.
            if at == self.appended() {
                return Ok(Some(tip));
            }
            // The block that begins there is under way: it names what is asked for.
            self.flush()?;
        }
        if at >= self.hardened() {
            return Ok(None);
        }
        let mut scanner = self.scan(at)?;
        if scanner.position() != at {
            return Ok(None);
        }
        Ok(scanner.next()?.map(|block| block.header.previous))
    }

    /// Where the block begins that holds the byte at `at`; `at` itself at the hardened end.
    pub fn block_start(&self, at: Lsn) -> Result<Lsn, LogError> {
        // Looked at once: it moves on.
        let hardened = self.hardened();
        if at >= hardened {
            return Ok(hardened);
        }
        Ok(self.scan(at)?.position())
    }

    /// Says what all replicas that count have agreed on: written into the block headers from now on, in place of the own
    /// hardened position, when it is lower. [`Lsn::MAX`] when nobody else has a say.
    pub fn set_agreed(&self, agreed: Lsn) {
        self.shared.agreed.store(agreed.0, Ordering::Release);
    }

    /// What was [said](Log::set_agreed) to be agreed, or found in the block headers at opening.
    pub fn agreed(&self) -> Lsn {
        Lsn(self.shared.agreed.load(Ordering::Acquire))
    }

    /// The last position at or before `at` that is certainly the end of an append; known only for what was flushed lately
    /// and while there was an [agreed](Log::set_agreed) point.
    pub fn border_before(&self, at: Lsn) -> Option<Lsn> {
        if self.shared.agreed.load(Ordering::Acquire) == u64::MAX {
            return Some(at);
        }
        let borders = self.shared.borders.lock();
        let after = borders.partition_point(|border| *border <= at);
        after.checked_sub(1).and_then(|last| borders.get(last)).copied()
    }

    /// Takes a block in stored form (padding may be missing) from who speaks for the epoch `session`, and returns the
    /// position behind it. It is durable after the next [`Log::flush`].
    ///
    /// # Errors
    /// [`LogError::NotNext`] when it is damaged, does not continue the log, or `session` is older than what was promised;
    /// [`LogError::NotWriter`] when this copy is the writer itself; [`LogError::Full`], [`LogError::Poisoned`].
    pub fn append_block(&self, session: Epoch, stored: &[u8]) -> Result<Lsn, LogError> {
        let shared = &*self.shared;
        let header = block::decode(stored)
            .map_err(|invalid| self.not_next(self.appended(), format!("not a valid block ({invalid:?})")))?;
        let payload = &stored[block::HEADER_BYTES..block::HEADER_BYTES + header.payload_len as usize];
        let mut appender = shared.appender.lock();
        loop {
            if shared.poisoned.load(Ordering::Relaxed) {
                drop(appender);
                return Err(shared.poison_error());
            }
            if appender.term != 0 {
                return Err(LogError::NotWriter);
            }
            if let Some(what) = self.why_not_next(&header, session, appender.next_lsn, appender.receiving) {
                return Err(self.not_next(appender.next_lsn, what));
            }
            let pending = appender.group.bytes.len();
            if pending > 0 && pending + payload.len() > shared.options.unwritten_bytes_max {
                let formed = appender.next_lsn;
                drop(appender);
                shared.counters.append_stalls.fetch_add(1, Ordering::Relaxed);
                self.wait_hardened(formed)?;
                appender = shared.appender.lock();
            } else if appender.spares.is_empty()
                && appender.segment.size - appender.position
                    < (header.stored_bytes() as u64).max(TAIL_BYTES_MIN)
            {
                drop(appender);
                self.make_room_for_block(&header)?;
                appender = shared.appender.lock();
            } else {
                break;
            }
        }
        let sequence_before = appender.sequence;
        appender.place(header.stored_bytes() as u64);
        let start = appender.group.bytes.len();
        appender.group.bytes.extend_from_slice(&stored[..block::HEADER_BYTES + payload.len()]);
        appender.group.bytes.extend_to(start + header.stored_bytes());
        appender.group.blocks.push(PlannedBlock {
            start,
            first_lsn: header.first_lsn,
            payload_len: payload.len(),
            flags: header.flags,
            received: Some((header.epoch, header.checksum)),
        });
        appender.position += header.stored_bytes() as u64;
        appender.next_lsn = header.end_lsn();
        appender.receiving = true;
        shared.tip.store(header.checksum, Ordering::Release);
        shared.appended.store(header.end_lsn().0, Ordering::Release);
        let wants_segment = appender.sequence != sequence_before && appender.spares.is_empty();
        drop(appender);
        shared.counters.appends.fetch_add(1, Ordering::Relaxed);
        shared.counters.bytes_appended.fetch_add(payload.len() as u64, Ordering::Relaxed);
        if wants_segment {
            self.ask_for_segment();
        }
        Ok(header.end_lsn())
    }

    fn why_not_next(&self, header: &Header, session: Epoch, end: Lsn, receiving: bool) -> Option<String> {
        let promised = self.epoch();
        let newest = self.shared.epochs.lock().last().map_or(Epoch(0), |last| last.0);
        if session < promised {
            Some(format!("it comes from epoch {}, but {} is promised", session.0, promised.0))
        } else if header.epoch > session || header.epoch < newest {
            Some(format!("its epoch {} does not lie between {} and {}", header.epoch.0, newest.0, session.0))
        } else if header.log_id != self.log_id() {
            Some("it belongs to another log".into())
        } else if header.first_lsn != end {
            Some(format!("it begins at {}", header.first_lsn))
        } else if !receiving && self.hardened() != end {
            // Until then the checksum of the last block is not known.
            Some("what was appended here is not hardened yet".into())
        } else if header.previous != self.last_checksum() {
            Some("the block before it is another one".into())
        } else {
            None
        }
    }

    fn make_room_for_block(&self, header: &Header) -> Result<(), LogError> {
        // A new segment holds at least two blocks; one more than fits here makes sure that there is one.
        let here = {
            let appender = self.shared.appender.lock();
            crate::segment::room_after(appender.position, appender.segment.size)
        };
        let wanted = usize::try_from(here).unwrap_or(usize::MAX).saturating_add(header.payload_len as usize);
        self.make_room(wanted)
    }

    pub(crate) fn not_next(&self, at: Lsn, what: impl Into<String>) -> LogError {
        LogError::NotNext { at, what: what.into() }
    }

    /// The epochs of the segments that opening did not walk through: those before the one that holds the end.
    pub(crate) fn find_older_epochs(&self) -> Result<(), LogError> {
        let walked = self.epochs();
        let Some(first_walked) = walked.first().copied() else { return Ok(()) };
        let segments: Vec<(Lsn, Option<Epoch>)> = {
            let directory = self.shared.directory.lock();
            directory.live.iter().map(|s| (s.first_lsn, first_epoch(&s.segment))).collect()
        };
        let mut found: Vec<(Epoch, Lsn)> = Vec::new();
        for (i, (first_lsn, epoch)) in segments.iter().enumerate() {
            let Some(epoch) = epoch.filter(|_| *first_lsn < first_walked.1) else { continue };
            if found.last().is_none_or(|last| last.0 < epoch) {
                found.push((epoch, *first_lsn));
            }
            let next = segments.get(i + 1).and_then(|next| next.1).unwrap_or(first_walked.0);
            if next == epoch {
                continue;
            }
            let mut scanner = self.scan(*first_lsn)?;
            while let Some(block) = scanner.next()? {
                let header = block.header;
                if header.first_lsn >= first_walked.1 || header.epoch > next {
                    break;
                }
                if found.last().is_none_or(|last| last.0 < header.epoch) {
                    found.push((header.epoch, header.first_lsn));
                }
            }
        }
        let known = found.last().map(|last| last.0);
        found.extend(walked.into_iter().filter(|walked| known.is_none_or(|known| known < walked.0)));
        *self.shared.epochs.lock() = found;
        Ok(())
    }
}

impl crate::log::Shared {
    /// Remembers where an append ended. When nobody agrees for long, fewer of the older ones.
    pub(crate) fn note_border(&self, end: Lsn) {
        let mut borders = self.borders.lock();
        borders.push_back(end);
        if borders.len() > BORDERS_MAX {
            let mut number = 0;
            borders.retain(|_| {
                number += 1;
                number % 2 == 0
            });
        }
    }
}

/// Epoch of the first block of a segment.
fn first_epoch(segment: &crate::segment::Segment) -> Option<Epoch> {
    let mut head = [0; block::HEADER_BYTES];
    let n = segment.file.read_at(&mut head, SEGMENT_HEADER_BYTES as u64).ok()?;
    block::decode_header(&head[..n]).ok().map(|header| header.epoch)
}

/// Whether a block begins an append while the one before it ended inside another: then that other one is void.
pub fn voids_unfinished(before_flags: u8, flags: u8) -> bool {
    before_flags & FLAG_UNFINISHED != 0 && flags & FLAG_CONTINUES == 0
}
