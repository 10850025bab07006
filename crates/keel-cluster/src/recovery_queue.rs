//! The bound on the recovery queue: what a copy has hardened, may redo, and has not redone.
//!
//! A copy can take log in and make it safe, and still not redo it: its memory is full until a checkpoint is through, or a reader
//! holds old rows. Then its queue grows with the load, and with it the time a failover to it takes and the memory that takes. The
//! primary knows how far each copy is redone from its acknowledgements and heartbeats, and holds the queue down:
//!
//! ```text
//!   0 ──────────────── half ───────────────── the bound
//!     nothing           writers wait 0 … 20 ms  no more is sent than the bound beyond what is redone
//!                       (for members of the set, and who is about to be one)
//! ```
//! * The wait grows with the square of the way, as that for memory does: a slope and no step.
//! * At the bound commits go on as fast as the member redoes. One that redoes nothing for as long as a member may hold commits
//!   up ([`ClusterOptions::stall`]) leaves the set ([`LeaveReason::Behind`](crate::LeaveReason)), and nobody waits for it any more.
//! * Who is not in the set slows nobody: it is sent less, and does not enter before its queue is below half the bound.
//!
//! What counts is the queue up to the commit point: what is not agreed on cannot be redone, so no log that a copy needs in order
//! to come into the set is held back for what it may not redo yet. A transaction's records that began before the limit are sent
//! to their end, because only whole ones are redone: the bound is exceeded by one such group at most.

use crate::action::Action;
use crate::group::{Database, Group};
use crate::ids::{GroupDatabaseId, InstanceId, ReplicaId};
use crate::node::Cx;
use crate::primary::{Follower, Session};
use keel_base::Lsn;
use std::time::Duration;

/// Writers wait no longer than this before a transaction.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// The wait changes in so many steps.
const STEPS: u64 = 16;
/// A limit is told anew after so many parts of the bound.
const LIMITS: u64 = 128;

/// Blocks that begin before this may be sent to a copy that has redone up to `applied`.
pub(crate) fn send_limit(applied: Lsn, agreed: Lsn, bound: u64) -> Lsn {
    let behind = agreed.0.saturating_sub(applied.0);
    if bound == 0 || behind < bound / 2 { Lsn::MAX } else { applied.advance(bound) }
}

/// How long a writer waits when a member it waits for has so much to redo.
fn wait(behind: u64, bound: u64) -> Duration {
    let half = bound / 2;
    if bound == 0 || behind <= half {
        return Duration::ZERO;
    }
    let step = ((behind - half).saturating_mul(STEPS) / half.max(1)).min(STEPS);
    let way = step as f64 / STEPS as f64;
    WAIT_MAX.mul_f64(way * way)
}

impl Follower {
    /// What it has to redo, as last told.
    fn behind(&self, agreed: Lsn) -> u64 {
        agreed.0.saturating_sub(self.positions.applied.0)
    }

    /// No more is sent to it than it can redo.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit != Lsn::MAX
    }
}

impl Database {
    /// Tells the sender of a copy how far it may go, when that has changed by enough to matter.
    pub(crate) fn limit_sending(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        replica: ReplicaId,
    ) {
        let bound = cx.options().recovery_queue_max;
        let agreed = self.agreed;
        let Some(follower) = self.followers.get_mut(&replica) else { return };
        let Session::Sending(session) = follower.session else { return };
        let limit = send_limit(follower.positions.applied, agreed, bound);
        let turned = (limit == Lsn::MAX) != (follower.limit == Lsn::MAX);
        let step = (bound / LIMITS).max(1);
        let grown = limit != Lsn::MAX && limit.0 >= follower.limit.0.saturating_add(step);
        if turned || grown {
            follower.limit = limit;
            cx.push(Action::SendUntil { peer, database, session, limit });
        }
    }
}

impl Group {
    /// Sets how long writers wait for members that have much to redo.
    pub(crate) fn slow_writers(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let bound = cx.options().recovery_queue_max;
        let Some(db) = self.databases.get(&database) else { return };
        let (agreed, before) = (db.agreed, db.writers_wait);
        let waited_for = |(replica, follower): (&ReplicaId, &Follower)| {
            let member = || self.config.database(database).is_some_and(|d| d.synchronized.contains(replica));
            let slow = follower.behind(agreed) > bound / 2 && follower.sending_session().is_some();
            (slow && (follower.gating.is_some() || member())).then(|| wait(follower.behind(agreed), bound))
        };
        let time = db.followers.iter().filter_map(waited_for).max().unwrap_or_default();
        if time != before
            && let Some(db) = self.databases.get_mut(&database)
        {
            db.writers_wait = time;
            cx.push(Action::SlowWriters { database, time });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn nothing_is_held_back_below_half_of_the_bound() {
        assert_eq!(send_limit(Lsn(0), Lsn(49), 100), Lsn::MAX);
        assert_eq!(send_limit(Lsn(0), Lsn(50), 100), Lsn(100));
        assert_eq!(send_limit(Lsn(30), Lsn(1000), 100), Lsn(130));
        assert_eq!(send_limit(Lsn(0), Lsn(1 << 40), 0), Lsn::MAX, "no bound");
        // What is not agreed on may be as much as it likes: redo waits for nothing that it has.
        assert_eq!(send_limit(Lsn(500), Lsn(500), 100), Lsn::MAX);
    }

    #[test]
    fn writers_feel_a_slope_and_no_step() {
        assert_eq!(wait(64 * MB, 128 * MB), Duration::ZERO);
        let waits: Vec<_> = (64..=140).map(|mb| wait(mb * MB, 128 * MB)).collect();
        assert!(
            waits.windows(2).all(|w| w[0] <= w[1] && w[1] - w[0] < Duration::from_millis(3)),
            "{waits:?}"
        );
        assert_eq!(waits.last(), Some(&WAIT_MAX));
        assert_eq!(wait(1 << 50, 0), Duration::ZERO);
    }
}
