//! Every span of time the machine uses, in one place. Safety rests on none of them.

use std::time::Duration;

/// How often [`crate::Node::tick`] should be called; more often does no harm.
pub const TICK_EVERY: Duration = Duration::from_millis(50);
/// A heartbeat to each connected peer. A quarter of a second is seen as silence only after many are lost (the least session
/// time-out is 5 s), and a lost message is repaired one beat later.
pub(crate) const BEAT_EVERY: Duration = Duration::from_millis(250);
/// An unanswered request of the data session is made again after this.
pub(crate) const RETRY_AFTER: Duration = Duration::from_millis(1000);
/// After a failure to write, the follower tries again after this, doubled each time up to [`BACKOFF_MAX`].
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(500);
/// Longest pause between two tries.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// A planned failover that has not come to the point of no return by then is called off and writes go on.
pub(crate) const HANDOVER_MAX: Duration = Duration::from_secs(2);
/// An asked-for takeover that was neither granted nor refused is given up by the asker after this.
pub(crate) const TAKE_OVER_MAX: Duration = Duration::from_secs(5);
/// How long JOIN waits for the group's configuration (47106 after it).
pub(crate) const JOIN_WAIT_MAX: Duration = Duration::from_secs(30);
/// A secondary this close to the end is let into the synchronized set: commits wait the moment it needs for the rest.
pub(crate) const JOIN_LAG_BYTES_MAX: u64 = 1 << 20;
/// If it has not closed the gap by then, commits stop waiting for it and it has to come close again.
pub(crate) const JOIN_GAP_MAX: Duration = Duration::from_millis(1000);

const _: () = assert!(BEAT_EVERY.as_millis() * 2 < RETRY_AFTER.as_millis());
const _: () = assert!(HANDOVER_MAX.as_millis() < TAKE_OVER_MAX.as_millis());
