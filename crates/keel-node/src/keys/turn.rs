//! Turning a database's files into the form that its keys want, in the background: the encryption scan.
//!
//! 1. The log leaves its present segment ([`keel_log::Log::begin_scrub`]).
//! 2. Pages in another form are written anew, a chunk at a time, resting as long as it works, or by the checkpoints' limit.
//! 3. Free pages are overwritten, once no reader holds a root from before and no [snapshot](crate::snapshot) has one: as long
//!    as one stands the scan is not at its end.
//! 4. A note in the log, so that there is a newer segment; a checkpoint gives back the old log; its segments are overwritten. While something else still needs that log (a log backup, a
//!    replica) this waits for the checkpoint that can: the scan counts as done without.
//!
//! A restart begins with the first step again; pages that are done are passed over.

use super::kept::Kept;
use crate::control::micros;
use crate::database::Database;
use crate::error::DbError;
use keel_log::Log;
use keel_redo::GroupKind;
use keel_redo::record::RecordBuffer;
use keel_store::base::{BaseError, PAGE_SIZE, Rewritten, Throttle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of pages that are published together.
const CHUNK_BYTES: usize = 4 << 20;
/// The longest rest between two looks.
const NAP_MAX: Duration = Duration::from_millis(50);

/// Of one scan.
struct Pace<'d> {
    database: &'d Database,
    began: Duration,
    written: AtomicU64,
}

impl Throttle for Pace<'_> {
    fn pace(&self, bytes: u64) -> bool {
        let instance = self.database.instance();
        self.database.counters.checkpoint_pages.fetch_add(bytes / PAGE_SIZE as u64, Ordering::Relaxed);
        let written = self.written.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let limit = instance.options().checkpoint_bytes_per_second;
        loop {
            if self.database.is_closed() {
                return false;
            }
            if limit == 0 || instance.options().by_hand {
                return true;
            }
            let due = Duration::from_secs_f64(written as f64 / limit as f64);
            let rest = due.saturating_sub(instance.env().clock.now().saturating_sub(self.began));
            if rest.is_zero() {
                return true;
            }
            std::thread::sleep(rest.min(NAP_MAX));
        }
    }
}

/// What a step of the scan led to.
#[derive(PartialEq, Eq)]
enum Step {
    /// Something must happen elsewhere first.
    Waits,
    Ends,
}

impl Database {
    /// Turns the files until they are as they should be, or something keeps it from going on.
    pub(crate) fn turn_in_background(&self) -> Result<(), DbError> {
        let _turning = self.turning.lock();
        let turned = self.turn();
        if let Err(error) = &turned {
            self.keys.state.lock().stopped = Some(Arc::from(error.to_string()));
        }
        turned
    }

    /// What is to be turned; `None` when nothing is, or it must not go on.
    fn wanted_turn(&self) -> Option<Kept> {
        let state = self.keys.state.lock();
        let stopped = state.locked.is_some() || self.is_closed();
        state.kept.clone().filter(|kept| !stopped && !kept.ring.suspended)
    }

    fn turn(&self) -> Result<(), DbError> {
        let Some(kept) = self.wanted_turn() else { return Ok(()) };
        let begins = |log: &&Log| !kept.log_done && !log.is_scrubbing();
        let begun = self.log().filter(begins).map(Log::begin_scrub).transpose()?.is_some();
        if !kept.pages_done && self.turn_pages(&kept)? != Step::Ends {
            return Ok(());
        }
        self.finish_log(begun || !kept.pages_done)
    }

    /// Whether the pages that `kept` speaks of are still those that are wanted.
    fn still(&self, kept: &Kept) -> bool {
        self.wanted_turn().is_some_and(|now| now.before == kept.before && now.ring.goal() == kept.ring.goal())
    }

    fn turn_pages(&self, kept: &Kept) -> Result<Step, DbError> {
        let began = self.instance().env().clock.now();
        let pace = Pace { database: self, began, written: AtomicU64::new(0) };
        let after = match self.keys.rewritten(kept.before) {
            Some(after) => after,
            None => match self.rewrite_pages(kept, &pace)? {
                Some(after) => after,
                None => return Ok(Step::Waits),
            },
        };
        if kept.ring.goal() != 0 && self.wipe_pages(kept, after, &pace)? != Step::Ends {
            return Ok(Step::Waits);
        }
        let _changing = self.keys.changing.lock();
        let mut state = self.keys.state.lock();
        let same = state.kept.as_ref().is_some_and(|now| now.before == kept.before && now.ring == kept.ring);
        if !same || self.is_closed() {
            self.keys.ask_to_turn(&state);
            return Ok(Step::Waits);
        }
        let done = Kept { pages_done: true, ..state.kept.clone().unwrap_or_else(|| kept.clone()) };
        self.keys.write(&mut state, done)?;
        self.keys.chain.set_no_plain_pages(kept.ring.goal() != 0);
        self.keys.percent.store(0f32.to_bits(), Ordering::Relaxed);
        Ok(Step::Ends)
    }

    /// Writes anew what is in another form; the generation from which on nothing is, `None` when something keeps it from going
    /// on.
    fn rewrite_pages(&self, kept: &Kept, pace: &Pace<'_>) -> Result<Option<u64>, DbError> {
        let by_hand = self.instance().options().by_hand;
        let mut from = Vec::new();
        loop {
            if !self.still(kept) {
                return Ok(None);
            }
            let began = self.instance().env().clock.now();
            let before = self.store().base().rewrite_older(kept.before, from, CHUNK_BYTES, pace);
            match before {
                Ok(Rewritten::To(next)) => from = next,
                Ok(Rewritten::Done) => break,
                Err(BaseError::Cancelled) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            let percent = self.store().base().percent_before(&from);
            self.keys.percent.store(percent.to_bits(), Ordering::Relaxed);
            if !by_hand {
                let took = self.instance().env().clock.now().saturating_sub(began);
                std::thread::sleep(took.min(NAP_MAX));
            }
        }
        self.keys.percent.store(100f32.to_bits(), Ordering::Relaxed);
        let after = self.store().base().generation();
        self.keys.state.lock().rewritten = Some((kept.before, after));
        Ok(Some(after))
    }

    /// Overwrites what is free, once nobody reads it any more.
    fn wipe_pages(&self, kept: &Kept, after: u64, pace: &Pace<'_>) -> Result<Step, DbError> {
        let mut from = 0;
        loop {
            // Until a snapshot from before is dropped, which asks again.
            if !self.still(kept) || self.store().base().is_pinned_before(after) {
                return Ok(Step::Waits);
            }
            match self.store().base().wipe_free(after, from, pace) {
                Ok(Some(next)) => from = next,
                Ok(None) => return Ok(Step::Ends),
                Err(BaseError::Cancelled) if self.instance().options().by_hand => {
                    self.keys.ask_to_turn(&self.keys.state.lock());
                    return Ok(Step::Waits);
                }
                Err(BaseError::Cancelled) => std::thread::sleep(NAP_MAX),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends the scrubbing of the log, if nothing needs the old one any more; after a checkpoint, when there was none since it
    /// began.
    fn finish_log(&self, checkpoint: bool) -> Result<(), DbError> {
        let Some(log) = self.log().filter(|_| !self.is_closed()) else { return Ok(()) };
        if checkpoint {
            // Something must lie in the next segment before the present one can be given back.
            if log.is_scrubbing() && log.term() != 0 {
                let mut note = RecordBuffer::new();
                log.append(note.seal(GroupKind::Note, 0, micros(self.instance().env())), |_| ())?;
                log.flush()?;
            }
            self.checkpoint()?;
        }
        if !log.finish_scrub()? {
            return Ok(());
        }
        let _changing = self.keys.changing.lock();
        let mut state = self.keys.state.lock();
        match state.kept.clone().filter(|kept| kept.pages_done && !kept.log_done && !self.is_closed()) {
            Some(kept) => self.keys.write(&mut state, Kept { log_done: true, ..kept }),
            None => Ok(()),
        }
    }

    /// Log was given back: a scrub that waited for that may go on.
    pub(crate) fn note_log_given_back(&self) {
        if self.log().is_some_and(Log::is_scrubbing) {
            self.keys.ask_to_turn(&self.keys.state.lock());
        }
    }
}
