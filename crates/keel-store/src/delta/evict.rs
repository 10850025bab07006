//! Eviction: after a checkpoint the delta lets go of what the base shows.
//!
//! Each reader has a root with checkpoint LSN `C` and sees changes up to `S` (a reader of the newest versions: all).
//! Only the delta can show it the changes in `(C, S]`: its **gap**. A change is *in the base* when its LSN is at or
//! below the checkpoint LSN `P` of the newest root and in nobody's gap (`Coverage::has`). So an open snapshot holds
//! back what changed between its root's checkpoint and itself, not what comes after.
//!
//! ```text
//! chain, newest first:     60    40    20     8          readers: S = 10 on the root of C = 5; S = 90 on C = 50 = P
//! in the base:             no    yes   yes    no         gaps (5, 10], (50, 90]
//! after an eviction:       60     ·     ·     8          40 and 20 were seen by nobody: pruned
//! with S = 45 on C = 45:   60    mark   ·     8          40 is seen, and is in that reader's root
//! ```
//!
//! What happens to a chain, under its entry's lock:
//!
//! 1. Versions that nobody sees are pruned, as a push would.
//! 2. The versions in the base from the oldest up leave. With nothing left the entry goes.
//! 3. A version in the base with one below that is not becomes a mark (`InBase`): "from here on, look into your root".
//!
//! **Why every reader finds what it should.** Let `v` be the newest version at or below the reader's `S`.
//! *Kept*: all above it are above `S`, so it is found as before. *Gone by 2*: everything older went with it, so the
//! reader falls off the chain and asks its root. *A mark*: the reader meets it first and asks its root. In both cases
//! `v` was in the base, so `v ≤ C` (it is not in the reader's gap), and the root holds nothing above `S`: the root's
//! row is `v`. Readers that register later have a root with `C ≥ P ≥ v`; readers of the newest version that register
//! nothing look at the chain first and load the root after, and the root with `P` was published before the chain
//! changed. *Gone by 1*: it was nobody's `v`.
//!
//! **Patches** hold the columns that changed since the version, or mark, or evicted chain below them when they were
//! made. Whoever sees a patch at `p` sees more than what had gone before it was made, so by the same argument has that
//! in its root.
//!
//! **Traces.** A transaction under SNAPSHOT must not write a row that changed after its snapshot at `S`. So while such
//! a snapshot is open, the newest version of a chain stays as a mark if it is above `S`. When memory is short
//! ([`Traces::Forget`]) it is not: then a row without a trace counts as changed if the page it lies on has changed.
//!
//! Undecided versions stay, so a write set's pointers to entries stay good until it is decided.

use crossbeam_epoch::Guard;
use keel_base::Lsn;

use super::TreeDelta;
use super::entry::Entry;
use crate::base::Throttle;
use crate::snapshot::{Coverage, Registry};

/// Entries between two looks at who reads what: statements that began before the checkpoint soon end.
const ENTRIES_PER_LOOK: usize = 1024;
/// Looks that may meet a reader who is just registering before an eviction gives up.
const LOOKS_MAX: usize = 64;

/// What becomes of the traces that writing snapshots want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// They stay: a key and a few words for each row that changed.
    Keep,
    /// They go. Open SNAPSHOT transactions may meet conflicts on rows that lie beside a changed one.
    Forget,
}

/// What an eviction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictReport {
    /// Keys that left the delta.
    pub evicted: usize,
    /// Keys with committed versions of which none could go, because they are newer than the base or because of who
    /// is reading.
    pub held: usize,
}

/// One run over a store's deltas.
pub(crate) struct Eviction<'s> {
    pub(crate) coverage: Coverage,
    traces: Traces,
    registry: &'s Registry,
    published: Lsn,
    until_look: usize,
    report: EvictReport,
}

impl<'s> Eviction<'s> {
    /// Begins, given the checkpoint LSN of the newest root. `None` when readers keep registering: try later.
    pub(crate) fn begin(registry: &'s Registry, published: Lsn, traces: Traces) -> Option<Eviction<'s>> {
        let coverage = (0..LOOKS_MAX).find_map(|_| {
            let coverage = registry.coverage(published);
            if coverage.is_none() {
                std::thread::yield_now();
            }
            coverage
        })?;
        let report = EvictReport::default();
        Some(Eviction { coverage, traces, registry, published, until_look: ENTRIES_PER_LOOK, report })
    }

    /// Goes through one tree, as fast as `throttle` lets it.
    pub(crate) fn sweep(&mut self, tree: &TreeDelta, throttle: &dyn Throttle) {
        tree.dead.forget();
        let mut remove = |entry: &Entry, guard: &Guard| {
            self.look_again();
            let done = entry.evict(self, guard);
            tree.account.add(-(done.freed as isize));
            self.report.evicted += usize::from(done.dead);
            self.report.held += usize::from(done.held);
            done.dead
        };
        tree.map.sweep_resting(&mut remove, &|| throttle.breathe());
    }

    pub(crate) fn report(&self) -> EvictReport {
        self.report
    }

    /// Whether a change at `lsn`, the newest of its row, must leave a trace.
    pub(crate) fn wants_trace(&self, lsn: Lsn) -> bool {
        if lsn <= self.coverage.oldest_writer {
            return false;
        }
        if self.traces == Traces::Forget {
            // Before the change leaves: who misses it sees this.
            self.registry.forget(lsn);
        }
        self.traces == Traces::Keep
    }

    /// Who has gone since need not be heeded any more. A coverage stays right for ever, so an old one does if somebody
    /// is just registering.
    fn look_again(&mut self) {
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = ENTRIES_PER_LOOK;
            if let Some(coverage) = self.registry.coverage(self.published) {
                self.coverage = coverage;
            }
        }
    }
}
