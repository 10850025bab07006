//! # keel-cluster: who may write, who is waited for, who follows whom
//!
//! All decisions of availability groups, and nothing else. One [`Node`] per instance takes [`Event`]s and the time and
//! answers with [`Action`]s; `keel-group` carries them out with sockets and disks, `keel-sim` with a seed. There is no I/O
//! here, no thread, no clock: the same events at the same times give the same actions.
//!
//! ```text
//!   operator ── Command ─┐                                    ┌─► Persist … Persisted      the record on disk
//!   peers ── Msg ────────┼──►  Node ──► Group ──► actions ────┼─► Send                     control messages
//!   log ── Hardened ─────┤             (one per group)        ├─► Agree / ApplyUpTo        the commit point
//!   peers ── Acked ──────┤                                    ├─► StartSending / Receive   the data plane
//!   store ── StorePersisted                                   ├─► Promote / Demote / Fence the engine's role
//!                                                             └─► PersistStore             what the cluster agreed on
//! ```
//!
//! ## What everybody must agree on
//! A [`GroupConfig`]: members, options, databases, and for each database the **synchronized set**: the replicas whose log
//! certainly holds every commit that was ever acknowledged. It carries a [`Stamp`] (epoch, version). Within an epoch one
//! replica, the primary, writes it; every member keeps the greatest stamp it has seen, durably, and shows its own in each
//! heartbeat; whoever sees a lower one sends the whole configuration. So a member that was away catches up from anybody,
//! and lost or late messages do no harm.
//!
//! An **epoch** is begun by one replica, once: its number is a multiple of [`config::EPOCH_STEP`] plus the ordinal of
//! who began it, so two replicas can never begin the same one, and whoever begins one has written it down first. Blocks in
//! the log carry it. A replica whose record holds epoch `e` has *promised* it: it takes no blocks of an older epoch, and
//! acknowledges none.
//!
//! ## Roles
//! ```text
//!                    claim or handover                 durable                    engine
//!   RESOLVING ──────────────────────────► PROMOTING ────────────► (opening) ──────────────► PRIMARY
//!      ▲  │ a live primary of this epoch      │ newer epoch, record fails                    │ │
//!      │  ▼                                   ▼                                              │ │ drained, agreed
//!      │ DEMOTING ───────► SECONDARY      RESOLVING ◄── newer epoch, record fails ───────────┘ ▼
//!      └──────────────────── no primary                        DEMOTING ◄── durable ── RENOUNCING
//! ```
//! * A process always starts RESOLVING. The replica that its own record names as primary **resumes** the role, in a new
//!   epoch (its log may have lost what it had sent but not hardened), once it has heard from every member, or after a
//!   session time-out from every member of the sets, that nobody knows better; or when an operator says FAILOVER there.
//! * **Planned failover**: the target asks (`TakeOver`); the primary stops appends (idle transactions are not waited for),
//!   waits until everything appended is agreed and on the target, and then *renounces*: it writes the configuration of a
//!   new epoch that names the target. When that is durable it tells everybody. The target begins that epoch only if it was
//!   following the epoch it came out of ([`GroupConfig::parent`]). Up to the renunciation the handover can be called off,
//!   and is after two seconds; after it nobody but the target (or force) can lead.
//! * **Giving up** (OFFLINE): as above with nobody named. Another member may then take the role when every other candidate
//!   is connected and knows of nothing newer; and because two might still do so at once, each member must have promised
//!   the new epoch before it can be taken out of a set ([`GroupConfig::to_confirm`]): of two such primaries neither can
//!   acknowledge anything until one has given way.
//! * **Forced failover**: the target begins a new epoch with sets that hold only itself. Every other copy is listed in
//!   [`GroupDatabase::awaiting_resume`] and is suspended, its log untouched, until RESUME is given there or on the primary:
//!   that is the consent to cut what the new primary has not. On a target that is whole and connected to the primary it is
//!   a planned one; so is it on the last primary itself, but after a forced quorum, when who that was is not known.
//!
//! ## Following
//! Per database, one attempt at a time, named by a [`SessionId`] that every frame of the data plane carries:
//! ```text
//!   secondary                                   primary
//!   Inspect the quiet log
//!   Follow { epochs, end, floor } ────────────►  newest common epoch → where the logs part
//!   cut the log there if it goes on  ◄─────────  Start { from, agreed }      (or Refuse: seed anew, suspended, …)
//!   Receive; Ready { from } ──────────────────►  StartSending from there
//!   block … harden … Acked ───────────────────►  acknowledged position → commit point
//! ```
//! Who waits for an answer asks again, under a new session; heartbeats name the sessions both sides believe in, so one
//! that only one side believes in ends. The place where two logs part follows from their epochs alone (module `history`);
//! the first block must chain to the last one by checksum, else the copy is suspended, never repaired by guess. What lies
//! before `floor` is in a base tree and cannot be cut: then the copy is seeded anew, after RESUME.
//!
//! ## The commit point
//! For each database the primary takes the least of: its own hardened end, and what each member of the synchronized set has
//! acknowledged *in this epoch*. Who counts as a member is the crux:
//! * **Entering**: a synchronous follower that is near the end is waited for first (commits pause for the moment it needs
//!   to close the gap), is named in the configuration when it has all that is agreed, and is a failover target when that
//!   is durable.
//! * **Leaving** (closed or silent connection, suspension, no progress for its session time-out while there is something to
//!   harden, change of mode, removal): the configuration without it becomes durable first, then commits stop waiting. In
//!   between, and whenever several configurations are on their way to the disk, all that any of them names are waited for.
//! * With fewer than REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT members receiving, the point does not move;
//!   [`DatabaseStatus::blocked`] says so, and [`DatabaseStatus::waited_for`] names who holds it otherwise.
//!
//! ## Why each wait is safe, and ends
//! | who waits | for what | why nothing is lost | what ends it |
//! | --- | --- | --- | --- |
//! | a commit | the set's acknowledgements | every successor is in the set, and the set on anybody's disk is never smaller than what was waited for | acknowledgement, or durable removal after the session time-out |
//! | a removal from the set | the record being durable | until then the member is waited for | the disk; if it fails, the primary is fenced and resolves |
//! | a promotion | its claim being durable | a crash before it leaves no trace, one after it resumes in a newer epoch; a claim that failed is taken back and its number used up | the disk, or failure reported |
//! | a handover | agreement up to the drained end | both sides could still go on | agreement, or two seconds |
//! | a restarted primary | hearing from the set's members | whoever was made primary meanwhile shows a newer stamp | they come, or FAILOVER |
//! | a follower | its promise being durable | it has acknowledged nothing of the new epoch yet | the disk |
//! | a forced-over copy | RESUME | its tail is kept | an operator |
//! | a copy to be made anew | no record naming it in the set | what it has is kept, and counts no more once it has asked | its removal, durable; by the session time-out also when nothing of it was heard |
//! | a copy that was joined | it being opened, or word that there is none | it is not thrown away while it may be counted on | that word, or the session time-out |
//!
//! A failed [`Action::Persist`] stops a primary at once: it fences, takes back in memory what is not durable (whoever asked
//! is told that it failed, so it must not take effect later), and resumes when it can write again.
//!
//! ## Invariants
//! 1. The commit point never passes the local hardened end, nor the acknowledged end of any replica that a configuration
//!    which may be durable names in the set.
//! 2. An epoch is opened for writing at most once per start, by the replica its durable configuration names, after that is
//!    durable there.
//! 3. Redo is never allowed past the commit point, nor past the local hardened end.
//! 4. A copy is cut only at the place its primary named for this session, only while nothing is being received, and never
//!    before its floor.
//! 5. A log of the synchronized set is never replaced by a seeded copy: whoever asks for one has left the set first, in every
//!    configuration that may be durable, and from its asking on nothing counts that it had acknowledged.
//!
//! The first three are asserted between any two steps; `keel-sim` checks all of them, and the promises that follow from
//! them, from outside.
//!
//! ## Groups of a cluster
//! Above is what holds for every group. In a group of type WSFC the members do not keep the configuration by themselves: it
//! is kept by the cluster's **store**, by vote ([`store`]), and everything that follows is one rule more: *a configuration
//! counts when the store has it*, and only then is it written down, shown and acted upon. A write names the stamp it was
//! made from, and is refused when something else is stored by then.
//!
//! ```text
//!   primary's change, or a claim ─► Write { from, config } ─► agreed ─► Persist … Persisted ─► as above
//!                                        └─ refused, or no majority in time: taken back; what was stored is taken over
//! ```
//! * A primary that was cut off can take nobody out of a set, so it acknowledges nothing that its successors lack; of two
//!   claims one wins. Nothing of that rests on a clock.
//! * A restarted primary claims its role at once: if somebody else has it, it is told.
//! * A log that was opened since the last start is in question until a primary has accepted it: its disk may have lost the
//!   end without a trace. With such a log a replica leads only when no other member of the set has a longer one; and never
//!   when it ends before what was noted outside the log ([`LogFacts::reached`]), whoever else is there.
//! * **Who is lost** is found out by all members together, and **votes** follow those that are there (module `cluster`).
//! * **Automatic failover**: suspected, polled, claimed, decided (module `automatic`); whoever would be open soonest goes first,
//!   the group's order where that makes no odds (module `ranking`). The survivors stay in the set. Each leaves a
//!   [`FailoverRecord`].
//! * **Recovery queues are bounded**: a copy is sent no more than it can redo soon, and writers wait a little for a member that
//!   has much to redo (module `recovery_queue`).
//! * **Leases**: who has not heard a majority for [`ClusterOptions::lease`] stops serving. An instance that says it is unfit
//!   ([`Event::Unhealthy`]) gives the role up if somebody can take it; when that has just passed ([`Event::Recovering`]) it comes
//!   after all who are fit, and need not be fit to be better than nobody.
//! * **Forced quorum** begins a new generation of the store; its groups wait for a forced failover, and whatever was
//!   configured elsewhere meanwhile is older.
//!
//! | who waits | for what | why nothing is lost | what ends it |
//! | --- | --- | --- | --- |
//! | a change | a majority of the votes | it takes effect nowhere before | agreement; being overruled; three seconds for a claim, the lease for a primary |
//! | a candidate | a majority to which the primary is lost, its turn, a pause after many failovers | nobody leads meanwhile, or the primary does | the others' pulses; the pause ends |
//! | a restarted member | the other members' logs | it does not lead before | they show them, or ten seconds; also for one with a longer log that does not lead |
//! | a member whose log lacks what it once held | who has the rest | it does not lead before | a primary to follow, or an operator's force |
//!
//! ## Where a cluster manager decides
//! In a group of type EXTERNAL everything is as in one of type WSFC, but for who leads: that is what an outside manager (Pacemaker) says
//! by FAILOVER, OFFLINE and SET (ROLE = SECONDARY), and nobody takes a role by himself (module `external`). The manager need not be
//! right: the store refuses a claim that was made from an old configuration, and a set that is not on all members' disks is not
//! acknowledged upon.
//!
//! ## Mirroring sessions
//! A session of database mirroring is a group of one database, with a principal (the primary), a mirror (the other synchronous or
//! asynchronous replica) and perhaps a witness (a configuration-only replica, which makes the group one of the cluster:
//! [`ClusterType::WitnessedMirroring`]). It differs in how it is entered: nobody says JOIN. The mirror takes up the offer that it
//! was told to expect ([`Event::Expecting`]: whose, and of which log), the witness any that names it. And RESUME after a forced
//! failover is consent enough to make a copy anew that cannot be cut.
//!
//! ## Distributed groups
//! A distributed availability group is two groups, each with its own members, votes and epochs ([`distributed`]). The primary of the
//! one is the source; that of the other, the forwarder, follows it as a secondary does, and is followed by its own secondaries as
//! a primary is (module `forwarding`).
//! * The epoch of blocks is the source's: [`GroupConfig::log_epoch`]. In a forwarding group a new one begins a new epoch of the group, so
//!   that who has promised the one has promised the other.
//! * The forwarder acknowledges ([`Action::AckUpTo`]) and redoes what its own synchronized set has. Where invariants 1 and 3 speak of the
//!   commit point, that of a forwarding group is the lower of the two.
//! * Whoever enters a forwarder's set has all that the source may count on: what was acknowledged to it, and what the session began with.
//! * To the source the forwarder is one follower, whichever instance it is: in the set by its mode, never a candidate.
//!
//! ## Deliberately absent
//! Threads, clocks, sockets, disks, log files, SQL, and any decision by the shell: it reports and obeys. No time is compared between instances, and no safety rests on a time-out.

pub mod action;
mod agreement;
mod automatic;
mod cluster;
mod command;
pub mod config;
pub mod databases;
pub mod distributed;
pub mod event;
mod external;
mod failover;
mod forwarding;
mod group;
mod history;
pub mod ids;
pub mod message;
mod node;
mod primary;
mod ranking;
mod recovery_queue;
mod secondary;
mod spread;
pub mod status;
pub mod store;
mod timing;
mod view;

#[cfg(test)]
mod tests;

pub use action::{Action, FenceReason, LeaveReason, LogEntry, LogEvent};
pub use cluster::Pulse;
pub use config::{
    AvailabilityMode, BackupPreference, ClusterType, DtcSupport, FailoverMode, GroupConfig, GroupDatabase,
    GroupOptions, GroupRecord, Listener, ListenerAddress, LocalDatabase, LocalState, PrimaryConnections,
    Replica, ReplicaOptions, SecondaryConnections, SeedingMode, Stamp, SuspendReason,
};
pub use databases::Databases;
pub use distributed::{Distributed, DistributedBeat, DistributedMember, MemberEndpoint, Partner};
pub use event::{
    Command, CommandError, CopyPositions, Event, ExpectedSession, Fitness, LogFacts, ReceiveFailure,
    SendFailure,
};
pub use ids::{ClusterId, CommandId, GroupDatabaseId, GroupId, InstanceId, ReplicaId, SessionId};
pub use message::{DecodeError, Msg, RefuseReason};
pub use node::{Identity, Node};
pub use status::{
    Blocked, Choice, ClusterStatus, CopyStatus, DatabaseStatus, FailoverCause, FailoverKind, FailoverRecord,
    GroupStatus, Health, MemberStatus, OperationalState, PrimaryPlace, QuorumState, RedoLeft, ReplicaStatus,
    RoleStatus, SeedState, SeedStatus, SynchronizationState,
};
pub use store::{Contents, StoreMember, StoreMsg, StoreRecord};
pub use timing::{ClusterOptions, TICK_EVERY};
