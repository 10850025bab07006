//! Opening: find the end of the log, and be sure that it is the end.
//!
//! # Finding it
//! 1. Read all segment headers. The highest *hardened* position named in any of them, H, was certainly reached, so the
//!    walk can begin at the segment that holds H (the **anchor**).
//! 2. Follow the chain from there: each block must be valid and *next* ([`crate::block`]); a segment without room for
//!    another block is followed by the one with the next sequence number, the expected first LSN and checksum.
//! 3. The end is behind the last block that finishes an append. Later blocks of an append that never finished were not
//!    acknowledged and are dropped.
//!
//! # Being sure
//! A power cut loses what was not hardened, in any pattern: a valid block may lie behind a torn one. It never loses
//! what was. Every block and segment header says what its writer knew to be hardened, so the rest of the last segment and
//! all segments outside the chain are searched: if anything valid there says that more was hardened than was found, or the
//! caller knows so ([`OpenFrom::must_reach`]), the log is damaged and not opened.
//!
//! A damaged block that was the last one ever hardened cannot be told from a torn tail by the log alone.
//!
//! # A log that receives
//! In a group the blocks say what their *writer* knew, and a copy that catches up stores many of them before it hardens
//! the first. So with [`OpenFrom::received`] only the segment headers (always our own) and the caller are believed, and
//! blocks behind the end that claim more are the remains of a torn tail or of a cut: they are wiped. The last append is
//! kept even when it never finished, because it was acknowledged block by block. Such a log has no writer until
//! [`Log::start_term`].
//!
//! # Afterwards
//! What was read may have been in the system's cache only, so the files are synced before anything is called hardened.
//! Headers of segments that were entered by a lost group are wiped, so that they cannot be taken for later ones.

use crate::appender::Appender;
use crate::block::{self, Header, SECTOR_BYTES};
use crate::error::LogError;
use crate::log::{LiveSegment, Log, LogOptions, MARK_EVERY_BYTES, Start, random_u32};
use crate::room::Slots;
use crate::scan::Window;
use crate::segment::{self, SEGMENT_HEADER_BYTES, Segment, SegmentHeader, TAIL_BYTES_MIN};
use keel_base::env::Env;
use keel_base::{Epoch, Lsn};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// What the caller knows about a log it opens.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenFrom {
    /// The log certainly reached this: the store holds rows up to it.
    pub must_reach: Lsn,
    /// The log is a group's: blocks may have been received, and a [cut](Log::cut) may have been under way. See the module.
    pub received: bool,
}

struct Candidate {
    segment: Arc<Segment>,
    header: Option<SegmentHeader>,
}

/// A place between two blocks.
#[derive(Clone, Copy)]
struct Place {
    /// Index into [`Walk::path`].
    step: usize,
    offset: u64,
    lsn: Lsn,
    previous: u32,
}

struct Step {
    candidate: usize,
    marks: Vec<(Lsn, u64)>,
}

struct Walk<'a> {
    candidates: &'a [Candidate],
    log_id: u32,
    path: Vec<Step>,
    received: bool,
    /// Where epochs begin on the path.
    epochs: Vec<(Epoch, Lsn)>,
    /// The highest agreed position that a block on the path names.
    agreed: Lsn,
}

impl Log {
    /// Opens the log in `dir`.
    pub fn open(env: &Env, dir: &Path, options: LogOptions, from: OpenFrom) -> Result<Log, LogError> {
        let (candidates, slots) = list(env, dir, options.log_id)?;
        let anchor = find_anchor(&candidates)
            .ok_or_else(|| LogError::corrupt(from.must_reach, "no segment has a valid header"))?;
        let mut walk = Walk {
            candidates: &candidates,
            log_id: options.log_id,
            path: Vec::new(),
            received: from.received,
            epochs: Vec::new(),
            agreed: Lsn::ZERO,
        };
        let end = walk.find_end(anchor)?;
        walk.check_nothing_lost(end, from.must_reach)?;
        walk.settle(end)?;
        let start = walk.into_start(end, slots, random_u32(env));
        let log = Log::start(env, dir, options, start);
        if from.received {
            log.end_term();
        }
        log.find_older_epochs()?;
        Ok(log)
    }
}

fn list(env: &Env, dir: &Path, log_id: u32) -> Result<(Vec<Candidate>, Slots), LogError> {
    let mut slots = Slots { next_slot: 1, file_bytes: 0, last_size: 0 };
    let mut candidates = Vec::new();
    for path in env.disk.list(dir)? {
        let Some(slot) = segment::slot_of(&path) else { continue };
        let segment = Segment::open(env.disk.as_ref(), &path)?;
        slots.next_slot = slots.next_slot.max(slot.saturating_add(1));
        slots.file_bytes += segment.size;
        slots.last_size = slots.last_size.max(segment.size);
        // A file that a crash left half-made is too short to use; it stays until somebody removes it.
        if segment.size < segment::SEGMENT_BYTES_MIN {
            continue;
        }
        let header = segment.header()?.filter(|h| h.log_id == log_id && h.size <= segment.size);
        candidates.push(Candidate { segment, header });
    }
    Ok((candidates, slots))
}

fn find_anchor(candidates: &[Candidate]) -> Option<usize> {
    let headers = || candidates.iter().enumerate().filter_map(|(i, c)| Some((i, c.header?)));
    let reached = headers().map(|(_, h)| h.hardened).max()?;
    let holding = headers().filter(|(_, h)| h.first_lsn < reached).max_by_key(|(_, h)| h.first_lsn);
    holding.or_else(|| headers().min_by_key(|(_, h)| h.sequence)).map(|(i, _)| i)
}

impl Walk<'_> {
    fn segment(&self, step: usize) -> &Arc<Segment> {
        &self.candidates[self.path[step].candidate].segment
    }

    fn header(&self, step: usize) -> SegmentHeader {
        self.candidates[self.path[step].candidate].header.expect("the path holds segments in use only")
    }

    fn find_end(&mut self, anchor: usize) -> Result<Place, LogError> {
        self.path.push(Step { candidate: anchor, marks: Vec::new() });
        let first = self.header(0);
        if first.sequence == 1 && first.previous != self.log_id {
            // Made to go on where another copy stood, in that epoch.
            self.epochs.push((first.epoch, first.first_lsn));
        }
        let mut place = Place {
            step: 0,
            offset: SEGMENT_HEADER_BYTES as u64,
            lsn: first.first_lsn,
            previous: first.previous,
        };
        let mut end = place;
        let mut window = Window::default();
        loop {
            let full = self.segment(place.step).size - place.offset < TAIL_BYTES_MIN;
            let here = if full { None } else { window.block(self.segment(place.step), place.offset)?.ok() };
            let Some(header) = here.filter(|header| self.is_next(header, place)) else {
                // The segment is full, or the next block was received and did not fit.
                let Some(next) = self.find_next(place) else { return Ok(end) };
                self.path.push(Step { candidate: next, marks: Vec::new() });
                place.step += 1;
                place.offset = SEGMENT_HEADER_BYTES as u64;
                window.clear();
                continue;
            };
            self.note_mark(place);
            self.note_epoch(&header);
            place.offset += header.stored_bytes() as u64;
            place.lsn = header.end_lsn();
            place.previous = header.checksum;
            if self.received || header.flags & block::FLAG_UNFINISHED == 0 {
                end = place;
            }
        }
    }

    fn is_next(&self, header: &Header, place: Place) -> bool {
        header.log_id == self.log_id && header.first_lsn == place.lsn && header.previous == place.previous
    }

    fn find_next(&self, place: Place) -> Option<usize> {
        let sequence = self.header(place.step).sequence + 1;
        self.candidates.iter().position(|c| {
            c.header.is_some_and(|h| {
                h.sequence == sequence && h.first_lsn == place.lsn && h.previous == place.previous
            })
        })
    }

    fn note_epoch(&mut self, header: &Header) {
        self.agreed = self.agreed.max(header.hardened);
        if self.epochs.last().is_none_or(|last| last.0 < header.epoch) {
            self.epochs.push((header.epoch, header.first_lsn));
        }
    }

    fn note_mark(&mut self, place: Place) {
        let first_lsn = self.header(place.step).first_lsn;
        let marks = &mut self.path[place.step].marks;
        let last = marks.last().map_or(first_lsn, |m| m.0);
        if place.lsn.0 >= last.0 + MARK_EVERY_BYTES {
            marks.push((place.lsn, place.offset));
        }
    }

    fn check_nothing_lost(&self, end: Place, must_reach: Lsn) -> Result<(), LogError> {
        if must_reach > end.lsn {
            return Err(LogError::corrupt(end.lsn, format!("the store holds rows up to {must_reach}")));
        }
        let anchor_sequence = self.header(0).sequence;
        for (index, candidate) in self.candidates.iter().enumerate() {
            if candidate.header.is_some_and(|h| h.hardened > end.lsn) {
                let what = format!("{} knows of more", candidate.segment.path.display());
                return Err(LogError::corrupt(end.lsn, what));
            }
            let step = self.path.iter().position(|s| s.candidate == index);
            let from = match (step, candidate.header) {
                (Some(step), _) if step < end.step => continue,
                (Some(step), _) if step == end.step => end.offset,
                (None, Some(header)) if header.sequence < anchor_sequence => continue,
                _ => SEGMENT_HEADER_BYTES as u64,
            };
            if self.received {
                self.wipe_claims(&candidate.segment, from, end.lsn)?;
            } else if let Some(witness) = self.find_witness(&candidate.segment, from, end.lsn)? {
                let path = candidate.segment.path.display();
                let what = format!(
                    "a later block at {} in {path} says that {} was hardened",
                    witness.first_lsn, witness.hardened
                );
                return Err(LogError::corrupt(end.lsn, what));
            }
        }
        Ok(())
    }

    /// A valid block in the rest of a segment whose writer knew more to be hardened than was found.
    fn find_witness(&self, segment: &Segment, from: u64, end: Lsn) -> Result<Option<Header>, LogError> {
        let mut window = Window::default();
        let mut found = None;
        self.each_header(segment, from, &mut |at, header| {
            if header.hardened > end
                && let Ok(header) = window.block(segment, at)?
            {
                found = Some(header);
            }
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Wipes the headers in the rest of a segment that lie, or claim something, behind the end of the log.
    fn wipe_claims(&self, segment: &Segment, from: u64, end: Lsn) -> Result<(), LogError> {
        let mut wiped = false;
        self.each_header(segment, from, &mut |at, header| {
            if header.hardened > end || header.first_lsn >= end {
                segment.file.write_at(&[0; SECTOR_BYTES], at)?;
                wiped = true;
            }
            Ok(true)
        })?;
        if wiped {
            segment.file.sync_data()?;
        }
        Ok(())
    }

    /// Shows every sector from `from` on that begins like a block of this log, until `each` says false.
    fn each_header(
        &self,
        segment: &Segment,
        from: u64,
        each: &mut dyn FnMut(u64, Header) -> Result<bool, LogError>,
    ) -> Result<(), LogError> {
        const CHUNK: usize = 1 << 20;
        let mut chunk = vec![0; CHUNK];
        let mut at = from;
        while at < segment.size {
            let n = segment.file.read_at(&mut chunk, at)?;
            if n < SECTOR_BYTES {
                break;
            }
            for (i, sector) in chunk[..n].chunks_exact(SECTOR_BYTES).enumerate() {
                let header = block::decode_header(sector).ok().filter(|h| h.log_id == self.log_id);
                if let Some(header) = header
                    && !each(at + (i * SECTOR_BYTES) as u64, header)?
                {
                    return Ok(());
                }
            }
            at += n as u64 / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        }
        Ok(())
    }

    /// Makes what was found durable and wipes what was not kept.
    fn settle(&mut self, end: Place) -> Result<(), LogError> {
        self.path.truncate(end.step + 1);
        if let Some(last) = self.path.last_mut() {
            last.marks.retain(|mark| mark.0 < end.lsn);
        }
        let first = self.header(0).first_lsn;
        self.epochs.retain(|epoch| epoch.1 < end.lsn || epoch.1 == first);
        for step in 0..self.path.len() {
            self.segment(step).file.sync_data()?;
        }
        let last = self.header(end.step).sequence;
        let on_path = |index: usize| self.path.iter().any(|s| s.candidate == index);
        for (index, candidate) in self.candidates.iter().enumerate() {
            if !on_path(index) && candidate.header.is_some_and(|h| h.sequence >= last) {
                candidate.segment.wipe_header()?;
            }
        }
        Ok(())
    }

    fn into_start(self, end: Place, slots: Slots, incarnation: u32) -> Start {
        let mut live = VecDeque::new();
        let mut used = vec![false; self.candidates.len()];
        for step in &self.path {
            used[step.candidate] = true;
            let candidate = &self.candidates[step.candidate];
            let header = candidate.header.expect("the path holds segments in use only");
            live.push_back(LiveSegment {
                segment: Arc::clone(&candidate.segment),
                sequence: header.sequence,
                first_lsn: header.first_lsn,
                marks: step.marks.clone(),
            });
        }
        // Older segments are kept until the database truncates: it knows what it still needs.
        while let Some(older) = self.older_than(&live) {
            used[older] = true;
            let candidate = &self.candidates[older];
            let header = candidate.header.expect("found by its header");
            live.push_front(LiveSegment {
                segment: Arc::clone(&candidate.segment),
                sequence: header.sequence,
                first_lsn: header.first_lsn,
                marks: Vec::new(),
            });
        }
        let mut free: Vec<&Candidate> =
            self.candidates.iter().zip(&used).filter(|(_, used)| !**used).map(|(c, _)| c).collect();
        free.sort_by_key(|c| c.header.map_or(0, |h| h.sequence));
        let retired = free.into_iter().map(|c| Arc::clone(&c.segment)).collect();
        let last = live.back().expect("the anchor is on the path");
        let appender = Appender::new(Arc::clone(&last.segment), last.sequence, end.offset, end.lsn);
        let agreed = if self.received { self.agreed.min(end.lsn) } else { Lsn::MAX };
        Start {
            live,
            retired,
            appender,
            previous: end.previous,
            slots,
            incarnation,
            epochs: self.epochs,
            agreed,
        }
    }

    fn older_than(&self, live: &VecDeque<LiveSegment>) -> Option<usize> {
        let first = live.front()?;
        self.candidates.iter().position(|c| {
            c.header.is_some_and(|h| h.sequence + 1 == first.sequence && h.first_lsn < first.first_lsn)
        })
    }
}
