//! Checkpoints: when a database merges its rows into the base tree, how fast, and where a replay must begin afterwards.
//!
//! A checkpoint takes what readers may see: what is hardened, in a group also agreed, on a secondary also applied. So the
//! base tree never holds what the group could still take back.

use crate::database::{Database, decode_meta, encode_meta};
use crate::error::DbError;
use crate::marker::Marker;
use crate::pace::Pace;
use crate::role::Role;
use crate::roots::Roots;
use crate::schedule::Plan;
use keel_base::Lsn;
use keel_store::{CheckpointOptions, Traces};
use std::sync::atomic::{AtomicU32, Ordering};

/// One who waits for a checkpoint to come to an end, counted.
struct Waiting<'c>(&'c AtomicU32);

impl<'c> Waiting<'c> {
    fn new(count: &'c AtomicU32) -> Waiting<'c> {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Database {
    /// Merges everything hardened (in a group: agreed and applied) so far into the base tree and gives log space back, as fast as the limit allows.
    pub fn checkpoint(&self) -> Result<(), DbError> {
        self.run_checkpoint(false)
    }

    /// The same, spread over time.
    pub(crate) fn checkpoint_in_background(&self) -> Result<(), DbError> {
        if self.is_closed() || !self.checkpoint_is_due() {
            self.checkpoint_asked.store(false, Ordering::Release);
            return Ok(());
        }
        let done = self.run_checkpoint(true);
        // One that was reverted meanwhile takes none, and needs none.
        if self.is_closed() { Ok(()) } else { done }
    }

    /// Whether a checkpoint that was asked for is still wanted when its turn comes. One that was asked for while another
    /// ran that failed meanwhile pauses as one does that is asked for afterwards.
    fn checkpoint_is_due(&self) -> bool {
        let memory = self.instance.delta_bytes() > self.instance.pressure().checkpoint_bytes();
        (memory || self.log_is_long(self.positions().appended))
            && self.schedule.may_begin(self.instance.env().clock.now())
    }

    #[inline]
    pub(crate) fn log_is_long(&self, end: Lsn) -> bool {
        self.schedule.log_since(end) > self.instance.options().checkpoint_log_bytes
            && !self.instance.checkpoints_held()
    }

    fn run_checkpoint(&self, background: bool) -> Result<(), DbError> {
        self.checkpoint_asked.store(false, Ordering::Release);
        if self.is_snapshot() {
            return Ok(());
        }
        if self.hardened() < self.floor() {
            // Seeded, and its log has not caught up: the base stands ahead of it.
            return Ok(());
        }
        if !self.is_readable() {
            // The base has rows that are ahead of the rest: there is no point yet at which all are the same age.
            return Ok(());
        }
        self.advance_visible();
        let checkpoint = {
            // One that runs in the background hurries when somebody waits.
            let _waiting = (!background).then(|| Waiting::new(&self.checkpoints_waited_for));
            let _nobody_drops = self.dropping.write();
            self.store.begin_checkpoint()
        };
        let lsn = checkpoint.lsn();
        let redo_start = self.replay_must_begin(lsn)?;
        if let Some(log) = &self.log {
            assert!(redo_start >= log.truncated(), "a replay begins in log that is kept");
        }
        let moved = lsn > Lsn(self.checkpoint.load(Ordering::Acquire));
        if !moved && redo_start == Lsn(self.redo_start.load(Ordering::Acquire)) {
            drop(checkpoint);
            // Nothing to merge, but a reader that held up the eviction may have gone.
            self.store.evict(Traces::Keep);
            self.forget_traces_when_full();
            self.settle_seeding()?;
            self.poke_redo();
            return Ok(());
        }
        let clock = self.instance.env().clock.as_ref();
        let began = clock.now();
        self.schedule.begin(lsn);
        let plan = background.then(|| Plan {
            log: self.instance.options().checkpoint_log_bytes,
            deltas: self.instance.delta_bytes(),
            soft: self.instance.pressure().soft_bytes(),
        });
        let pace = Pace::new(self, plan, began);
        let mut meta = encode_meta(self.control.log_id, redo_start).to_vec();
        let replaced = self.store.base().root();
        let mut roots = Roots::decode(replaced.meta());
        roots.add(&replaced, Lsn(self.differential_base.load(Ordering::Acquire)));
        roots.encode(&mut meta);
        // It keeps its pages as long as somebody has it.
        drop(replaced);
        let chunk_bytes = self.instance.options().checkpoint_chunk_bytes;
        let options = CheckpointOptions { meta: Some(&meta), throttle: &pace, chunk_bytes };
        let report = checkpoint
            .run(&options)
            .inspect_err(|_| self.schedule.fail(Lsn(self.checkpoint.load(Ordering::Acquire)), clock.now()))?;
        self.schedule.finish();
        self.forget_traces_when_full();
        assert!(report.lsn == lsn, "the checkpoint stands where it began");
        self.checkpoint.fetch_max(lsn.0, Ordering::AcqRel);
        self.redo_start.fetch_max(redo_start.0, Ordering::AcqRel);
        self.give_log_back();
        self.note_log_given_back();
        self.settle_seeding()?;
        // Redo may have been waiting for memory.
        self.poke_redo();
        self.counters.checkpoints.fetch_add(1, Ordering::Relaxed);
        let took = clock.now().saturating_sub(began);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counters.checkpoint_nanos.fetch_add(took, Ordering::Relaxed);
        self.positions().assert_ordered();
        Ok(())
    }

    /// What open SNAPSHOT transactions want to know of others' changes gives way before writers are slowed.
    fn forget_traces_when_full(&self) {
        if self.instance.delta_bytes() > self.instance.pressure().checkpoint_bytes() {
            self.store.evict(Traces::Forget);
        }
    }

    /// Where a replay must begin that has everything up to `checkpoint`: before the first record of each stream that is
    /// open there, or was and has committed since; and not inside a group, which the agreed point may be. Never before where
    /// the newest root says, not even when whoever published it has not told anybody else yet: log is given back by it.
    fn replay_must_begin(&self, checkpoint: Lsn) -> Result<Lsn, DbError> {
        let root = self.store.base().root();
        let before = decode_meta(root.meta(), self.control.log_id, root.checkpoint_lsn())
            .ok_or_else(|| DbError::Corrupt("the base tree's metadata is of another database".into()))?;
        let mut streams = self.follower.streams.lock();
        streams.retain(|_, stream| stream.decided.is_none_or(|end| end > checkpoint));
        let first = streams.values().map(|stream| stream.first).min().unwrap_or(checkpoint);
        drop(streams);
        let whole = match self.role() {
            Role::Standalone => true,
            Role::Primary => false,
            // Redo stands between groups; a former primary is agreed up to anywhere.
            Role::Secondary | Role::Resolving => checkpoint == self.follower.applied(),
        };
        let border = match &self.log {
            Some(log) if !whole => log.border_before(checkpoint).unwrap_or(before),
            _ => checkpoint,
        };
        // The base of a new copy stands ahead of its redo, which has not met yet what begins between the two.
        let met = match self.role() {
            Role::Standalone | Role::Primary => checkpoint,
            Role::Secondary | Role::Resolving => self.follower.applied(),
        };
        Ok(first.min(border).min(met).max(before))
    }

    /// A seeded base tree that the log has caught up with is like any other.
    fn settle_seeding(&self) -> Result<(), DbError> {
        let Some(log) = self.log.as_ref().filter(|_| self.role() != Role::Standalone) else { return Ok(()) };
        let env = self.instance.env();
        if Marker::read(env, &self.dir)?.is_some_and(|marker| marker.seeding)
            && log.hardened() >= self.store.base().root().highest_lsn()
        {
            Marker { seeding: false }.write(env, &self.dir)?;
        }
        Ok(())
    }
}
