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
/// Blocks that did not follow on the log at the place where none did before: asked for again after this, doubled each time.
pub(crate) const GAP_FIRST: Duration = Duration::from_millis(50);
/// Longest pause between two such tries: what stands in the way may be gone at any time, and asking costs one message.
pub(crate) const GAP_MAX: Duration = Duration::from_secs(2);
/// A copy that lacks what was agreed on, gets nothing, and redoes nothing: it asks for it again after this. Blocks were lost that
/// nothing follows which would show it. Long enough for a block on the thinnest link.
pub(crate) const STARVED_AFTER: Duration = Duration::from_secs(10);
/// So many in a row are worth a line in the log.
pub(crate) const GAPS_TOLD: u32 = 3;
/// A planned failover that has not come to the point of no return by then is called off and writes go on.
pub(crate) const HANDOVER_MAX: Duration = Duration::from_secs(2);
/// An asked-for takeover that was neither granted nor refused is given up by the asker after this.
pub(crate) const TAKE_OVER_MAX: Duration = Duration::from_secs(5);
/// A member of the set that the primary does not send to yet asks for the role again after this.
pub(crate) const ASK_READY_AFTER: Duration = Duration::from_millis(50);
/// A group is no longer offered that was offered last this long ago.
pub(crate) const OFFER_LASTS: Duration = Duration::from_secs(3);
/// How long JOIN waits for the group's configuration (47106 after it).
pub(crate) const JOIN_WAIT_MAX: Duration = Duration::from_secs(30);
/// A secondary this close to the end is let into the synchronized set: commits wait the moment it needs for the rest.
pub(crate) const JOIN_LAG_BYTES_MAX: u64 = 1 << 20;
/// If it has not closed the gap by then, commits stop waiting for it and it has to come close again.
pub(crate) const JOIN_GAP_MAX: Duration = Duration::from_millis(1000);

/// A sign of life between members of a cluster.
pub(crate) const PULSE_EVERY: Duration = Duration::from_millis(100);
/// How long a change of the membership is tried.
pub(crate) const WISH_MAX: Duration = Duration::from_secs(30);
/// A change that the store has not taken over is offered again after this: whoever leads it may have changed.
pub(crate) const PROPOSE_AGAIN: Duration = Duration::from_millis(200);

/// Before the only vote elects itself after a start: who is heard and has not said by then what it knows is not waited for.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A primary that is there but does not lead has so long to take its role up before another one does.
pub(crate) const RESUME_WITHIN: Duration = Duration::from_secs(1);

/// Every span of time that decides about failovers, with what suits a local network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Nothing heard for so long: lost. Default 400 ms: four signs of life in a row missed.
    pub silence: Duration,
    /// A secondary that was lost for so long leaves the synchronized set; after the decision about a failover, so that a
    /// primary that is cut off itself does not try. Default 600 ms.
    pub drop_after: Duration,
    /// A secondary that is heard but hardens nothing (or does not follow) for so long while commits wait leaves the set, if
    /// its session time-out is not shorter still. Default 2 s.
    pub stall: Duration,
    /// No sign of life from a majority of the votes for so long: whatever this instance leads it gives up, and its clients
    /// learn so. Default 700 ms: after whoever takes its place has had time to, before a client's patience of a second ends.
    pub lease: Duration,
    /// Not heard for so long: the vote is taken away until it is back. Default 10 s.
    pub vote_after: Duration,
    /// A claim that the store has not taken over by then is taken back. Default 3 s.
    pub claim_max: Duration,
    /// Candidates claim this much apart, the preferred one first. Default 120 ms.
    pub stagger: Duration,
    /// A candidate that needs no more than this longer than the quickest to redo its log is as good as it, and the group's
    /// order decides. Default 500 ms.
    pub redo_slack: Duration,
    /// Bytes a second that redo is taken to be able to do before it could be measured. Default 32 MB.
    pub redo_rate_assumed: u64,
    /// Bytes of log that a copy may have hardened and not redone; writers are slowed from half of it on. 0: no bound. Default
    /// 128 MB.
    pub recovery_queue_max: u64,
    /// Automatic failovers that are not held back, until a primary has led for [`ClusterOptions::flap_period`]. Default 3.
    pub flap_max: u32,
    /// See there. Default 10 min.
    pub flap_period: Duration,
    /// How long the first one over it is held back; each further one twice as long, to 16 times. Default 5 s.
    pub flap_pause: Duration,
}

impl Default for ClusterOptions {
    fn default() -> ClusterOptions {
        ClusterOptions {
            silence: Duration::from_millis(400),
            drop_after: Duration::from_millis(600),
            stall: Duration::from_secs(2),
            lease: Duration::from_millis(700),
            vote_after: Duration::from_secs(10),
            claim_max: Duration::from_secs(3),
            stagger: Duration::from_millis(120),
            redo_slack: Duration::from_millis(500),
            redo_rate_assumed: 32 << 20,
            recovery_queue_max: 128 << 20,
            flap_max: 3,
            flap_period: Duration::from_secs(600),
            flap_pause: Duration::from_secs(5),
        }
    }
}

const _: () = assert!(BEAT_EVERY.as_millis() * 2 < RETRY_AFTER.as_millis());
const _: () = assert!(HANDOVER_MAX.as_millis() < TAKE_OVER_MAX.as_millis());
