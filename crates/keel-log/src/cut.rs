//! Cutting the end off a log: what a copy does with blocks that the group's history does not have.
//!
//! Whatever moment a power cut chooses, the log found afterwards is a prefix of the old one that reaches at least to the
//! cut: headers of whole segments are wiped from the last one down, then the blocks behind the cut in the segment that
//! stays, the first of them last. No wiped block can come back by chance, because a chain has no holes.

use crate::appender::Group;
use crate::block::SECTOR_BYTES;
use crate::error::LogError;
use crate::log::Log;
use crate::segment::Segment;
use keel_base::Lsn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where a block lies.
struct Place {
    segment: Arc<Segment>,
    sequence: u64,
    offset: u64,
}

impl Log {
    /// Removes every block from position `at` on, durably. `at` must be the border of a block. Local appends must have
    /// been [stopped](Log::end_term), and what was appended is hardened first; afterwards the log goes on at `at`.
    /// Scanners behind the cut fail, others go on.
    ///
    /// # Errors
    /// [`LogError::NotNext`] when no block ends at `at`, [`LogError::NotWriter`] when this copy is still the writer. After
    /// a failed write the log is poisoned; open it again, and cut again.
    pub fn cut(&self, at: Lsn) -> Result<(), LogError> {
        self.flush()?;
        if at < self.truncated() {
            return Err(LogError::Truncated { wanted: at, start: self.truncated() });
        }
        let (places, previous, epoch_before) = self.find_cut(at)?;
        let Some(first) = places.first() else { return Ok(()) };
        let shared = &*self.shared;
        let mut writer = shared.writer.lock();
        let mut directory = shared.directory.lock();
        let mut appender = shared.appender.lock();
        if appender.term != 0 {
            return Err(LogError::NotWriter);
        }
        if shared.poisoned.load(Ordering::Acquire) {
            drop(appender);
            return Err(shared.poison_error());
        }
        if appender.next_lsn != self.hardened() {
            return Err(self.not_next(appender.next_lsn, "blocks are being received"));
        }
        if let Err(error) = wipe(&places) {
            shared.poison(error.to_string());
            return Err(error.into());
        }
        let mut freed = Vec::new();
        while directory.live.back().is_some_and(|live| live.sequence > first.sequence) {
            freed.extend(directory.live.pop_back());
        }
        let live = directory.live.back_mut().expect("the segment of the cut is live");
        live.marks.retain(|mark| mark.0 < at);
        shared.give(&mut appender, freed.into_iter().map(|live| live.segment));
        appender.segment = Arc::clone(&first.segment);
        appender.sequence = first.sequence;
        appender.position = first.offset;
        appender.next_lsn = at;
        appender.open = None;
        appender.group = Group::default();
        appender.receiving = false;
        writer.previous = previous;
        writer.epoch = epoch_before;
        shared.tip.store(previous, Ordering::Release);
        shared.hardened.store(at.0, Ordering::Release);
        shared.written.store(at.0, Ordering::Release);
        shared.appended.store(at.0, Ordering::Release);
        shared.epochs.lock().retain(|epoch| epoch.1 < at);
        shared.borders.lock().retain(|border| *border <= at);
        shared.recent.clear();
        shared.cuts.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// The blocks from `at` on, the checksum before them, and the epoch before them.
    fn find_cut(&self, at: Lsn) -> Result<(Vec<Place>, u32, keel_base::Epoch), LogError> {
        let mut places = Vec::new();
        if at == self.hardened() {
            return Ok((places, self.last_checksum(), keel_base::Epoch(0)));
        }
        if at > self.hardened() {
            return Err(self.not_next(self.hardened(), format!("there is nothing to cut at {at}")));
        }
        let mut scanner = self.scan(at)?;
        if scanner.position() != at {
            return Err(self.not_next(self.hardened(), format!("no block ends at {at}")));
        }
        let mut previous = None;
        while let Some(block) = scanner.next()? {
            let header = block.header;
            previous = previous.or(Some(header.previous));
            let (segment, sequence, end) = scanner.place();
            let offset = end - header.stored_bytes() as u64;
            places.push(Place { segment: Arc::clone(segment), sequence, offset });
        }
        let before = self.epochs().into_iter().rev().find(|epoch| epoch.1 < at);
        let previous = previous.ok_or_else(|| LogError::corrupt(at, "a hardened block is gone"))?;
        Ok((places, previous, before.map_or(keel_base::Epoch(0), |epoch| epoch.0)))
    }
}

/// Wipes the segments entered behind the first place, last one first, then the blocks in the first place's segment.
fn wipe(places: &[Place]) -> io::Result<()> {
    let Some((first, later)) = places.split_first() else { return Ok(()) };
    let mut rest = later;
    while let Some(last) = rest.last().filter(|last| last.sequence > first.sequence) {
        let from = rest.partition_point(|place| place.sequence < last.sequence);
        last.segment.wipe_header()?;
        wipe_blocks(&rest[from..])?;
        rest = &rest[..from];
    }
    wipe_blocks(rest)?;
    first.segment.file.write_durable_at(&[0; SECTOR_BYTES], first.offset)
}

fn wipe_blocks(places: &[Place]) -> io::Result<()> {
    let Some(any) = places.first() else { return Ok(()) };
    for place in places {
        place.segment.file.write_at(&[0; SECTOR_BYTES], place.offset)?;
    }
    any.segment.file.sync_data()
}
