//! Automatic failover: who finds the primary lost, who takes its place, and when not.
//!
//! 1. **Suspected**: the primary's connection is closed, nothing is heard from it, it hears nothing; or it is there and says
//!    that it does not lead.
//! 2. **Polled**: it is lost to a majority of the votes ([`crate::cluster`]); what the primary says of itself needs no poll.
//! 3. **Claimed**: each candidate waits its turn ([`crate::ranking`]), and then writes a configuration of a new
//!    epoch with itself as primary and with those members of the set that it hears. The store takes one of them over.
//! 4. **Decided**, opened, first commit: as with every promotion.
//!
//! A candidate has stopped acknowledging the old epoch before it claims. So nothing that the old primary acknowledges after
//! that lacks what the candidate has; and it can take nobody out of its set any more once the claim is agreed.
//!
//! Too many in a short time are held back, each longer than the one before, and never for ever: this is shown and logged.

use crate::action::{Action, LogEntry, LogEvent};
use crate::config::{FailoverMode, Replica};
use crate::event::Fitness;
use crate::failover::Claim;
use crate::group::{Group, Role};
use crate::ids::{GroupDatabaseId, InstanceId, ReplicaId};
use crate::message::LogBeat;
use crate::node::Cx;
use crate::status::{FailoverCause, FailoverKind, FailoverRecord};
use crate::timing::{ClusterOptions, RESUME_WITHIN};
use keel_base::{Epoch, Lsn};
use std::collections::BTreeSet;
use std::time::Duration;

/// Records kept in memory.
const RECORDS_MAX: usize = 32;
/// An unfit primary whose place nobody takes leads again after this.
const UNFIT_PATIENCE: Duration = Duration::from_secs(10);

/// A member that does not show its log by then is not waited for.
const COMPARE_MAX: Duration = Duration::from_secs(10);
/// A candidate with a longer log that does not lead by then is not waited for, unless something agreed on is missing here.
const YIELD_MAX: Duration = Duration::from_secs(10);

/// What a primary has said of itself since it connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Says {
    pub(crate) peer: InstanceId,
    pub(crate) leads: bool,
    pub(crate) taking: bool,
    pub(crate) fitness: Fitness,
    /// The epoch of its durable configuration: in an older one it may not know yet that the role is its own.
    pub(crate) epoch: Epoch,
    /// In which epoch it was taken for the primary here when it said so, and since when.
    pub(crate) taken_for: (Epoch, Duration),
}

/// The primary seems lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspicion {
    cause: FailoverCause,
    last_heard: Option<Duration>,
    since: Duration,
    /// When a majority agreed.
    polled: Option<Duration>,
}

impl Group {
    /// A restarted (or resigned) primary of a cluster takes its role up as soon as it can: if somebody else has it, the
    /// store refuses.
    pub(crate) fn may_resume_clustered(&self, cx: &Cx<'_>) -> bool {
        let waited = |span: Duration| cx.now.saturating_sub(self.role_since) >= span;
        self.is_durable()
            && self.store.retry_at.is_none()
            && cx.now >= self.claim_after
            && (!self.lacks_copies() || waited(self.my_session_timeout()))
            && self.others_lack_them_too()
            && match self.fitness {
                Fitness::Fit => true,
                Fitness::Recovering(_) => waited(RESUME_WITHIN),
                Fitness::Unfit(_) => waited(UNFIT_PATIENCE),
            }
            && cx.cluster.is_quorate(&cx.sight())
            && self.is_trusted(cx)
            && self.logs_allow(cx)
    }

    /// Of the databases that this replica has no copy of, be it that an operator took it out, no other member of the set has one that
    /// would be lost to it: the others could not follow, would leave the set, and nobody could be made to lead but by force.
    pub(crate) fn others_lack_them_too(&self) -> bool {
        let lacks = |id| self.databases.get(id).is_none_or(|db| !db.is_whole());
        let missing = self.config.databases.iter().filter(|d| lacks(&d.id));
        missing.flat_map(|d| &d.synchronized).all(|replica| *replica == self.me)
    }

    /// No forced quorum has put the configuration in question.
    pub(crate) fn is_trusted(&self, cx: &Cx<'_>) -> bool {
        cx.cluster.contents().is_some() && !self.is_in_question(cx)
    }

    /// A forced quorum has, and no failover has been forced since.
    pub(crate) fn is_in_question(&self, cx: &Cx<'_>) -> bool {
        cx.cluster.contents().is_some_and(|c| c.untrusted.contains(&self.config.id))
    }

    /// Takes the role when its primary is lost, this replica may, and it is its turn.
    pub(crate) fn consider_failover(&mut self, cx: &mut Cx<'_>) {
        let primary = self.config.primary.filter(|p| *p != self.me);
        let Some(primary) = primary.filter(|p| self.may_claim(cx, *p)) else {
            self.suspicion = None;
            return;
        };
        let Some(instance) = self.config.instance_of(primary) else { return };
        let Some((cause, polled)) = self.suspect(cx, primary, instance) else {
            self.suspicion = None;
            return;
        };
        let fresh = Suspicion {
            cause,
            last_heard: self.last_heard.get(&primary).copied(),
            since: cx.now,
            polled: None,
        };
        let suspicion = self.suspicion.get_or_insert(fresh);
        if !polled {
            suspicion.polled = None;
            return;
        }
        let agreed = *suspicion.polled.get_or_insert(cx.now);
        let turn = agreed + cx.options().stagger * self.rank(cx, primary);
        if cx.now < turn || self.is_held_back(cx) {
            return;
        }
        let survivors = self.heard_replicas(cx, primary);
        self.claim_role(cx, Claim::Survivors(survivors));
        self.settle(cx);
    }

    fn may_claim(&self, cx: &Cx<'_>, primary: ReplicaId) -> bool {
        let automatic = |r: ReplicaId| {
            self.config.replica(r).is_some_and(|r| r.options.failover_mode == FailoverMode::Automatic)
        };
        self.clustered()
            && matches!(self.role, Role::Resolving { .. } | Role::Demoting | Role::Secondary)
            && automatic(self.me)
            && automatic(primary)
            && self.both_synchronous(primary)
            && self.config.is_failover_ready(self.me)
            && !self.lacks_copies()
            && self.others_lack_them_too()
            && !self.fitness.is_unfit()
            && self.is_durable()
            && cx.now >= self.claim_after
            && cx.cluster.is_quorate(&cx.sight())
            && self.is_trusted(cx)
            && self.logs_allow(cx)
    }

    /// The logs with which this replica would lead hold everything that was acknowledged, as far as can be known: those it
    /// has followed or led with since it opened them do; the others are compared with the other members', because a disk may
    /// have lost the end of a log without a trace. The longest wins.
    pub(crate) fn logs_allow(&self, cx: &Cx<'_>) -> bool {
        if self.has_short_log() {
            return false;
        }
        let waited = cx.now.saturating_sub(self.role_since);
        let mut pairs = self.unproven_pairs();
        pairs.all(|(id, replica)| {
            let db = &self.databases[&id];
            match self.log_of(replica, id) {
                None => waited >= COMPARE_MAX,
                // What was agreed on elsewhere is missing here.
                Some(log) if log.agreed > db.hardened => false,
                Some(log) => {
                    (log.epoch, log.end) <= (db.tail, db.hardened) || waited >= YIELD_MAX || {
                        // Nobody else could lead with the longer one.
                        !self.config.replica(replica).is_some_and(|r| self.could_lead(r))
                    }
                }
            }
        })
    }

    /// A log here lacks what it once held: nobody but an operator by force makes this replica lead with it, however long the
    /// members that have the rest stay away.
    pub(crate) fn has_short_log(&self) -> bool {
        self.config.databases.iter().any(|d| self.databases.get(&d.id).is_some_and(|db| db.is_short()))
    }

    /// Another candidate that is heard has a longer log.
    pub(crate) fn has_longer_rival(&self, cx: &Cx<'_>) -> bool {
        self.members_ahead(cx).any(|replica| self.is_candidate(replica))
    }

    /// In a cluster: another member of the set that is heard has a longer log, whoever may take the role by itself.
    pub(crate) fn is_behind_others(&self, cx: &Cx<'_>) -> bool {
        self.clustered() && self.members_ahead(cx).next().is_some()
    }

    /// Members of the set of a database whose local log is in question that are heard and have a longer one.
    fn members_ahead<'a>(&'a self, cx: &'a Cx<'_>) -> impl Iterator<Item = &'a Replica> {
        self.unproven_pairs().filter_map(|(id, replica)| {
            let db = &self.databases[&id];
            let longer = self.log_of(replica, id).is_some_and(|l| (l.epoch, l.end) > (db.tail, db.hardened));
            let ahead = self.config.replica(replica).filter(|_| longer)?;
            ahead.instance.is_some_and(|i| cx.hears(i)).then_some(ahead)
        })
    }

    /// Databases whose local log is in question, each with every other member of its set.
    fn unproven_pairs(&self) -> impl Iterator<Item = (GroupDatabaseId, ReplicaId)> + '_ {
        let unproven = self
            .config
            .databases
            .iter()
            .filter(|d| self.databases.get(&d.id).is_some_and(|db| db.open && !db.proven));
        let compared = |r: &&ReplicaId| **r != self.me && self.config.replica(**r).is_some();
        unproven.flat_map(move |d| d.synchronized.iter().filter(compared).map(|r| (d.id, *r)))
    }

    fn log_of(&self, replica: ReplicaId, database: GroupDatabaseId) -> Option<&LogBeat> {
        self.logs.get(&replica)?.get(&database)
    }

    /// What speaks against the primary, and whether that is enough.
    fn suspect(
        &self,
        cx: &Cx<'_>,
        primary: ReplicaId,
        instance: InstanceId,
    ) -> Option<(FailoverCause, bool)> {
        if cx.hears(instance) {
            let says = self.says.as_ref().filter(|s| s.peer == instance)?;
            let told = says.epoch >= self.config.stamp.epoch
                || says.fitness.is_unfit()
                || cx.now.saturating_sub(says.taken_for.1) >= RESUME_WITHIN;
            return (told && !says.leads && !says.taking).then_some((FailoverCause::GaveUp, true));
        }
        let waited = cx.now.saturating_sub(self.role_since) >= RESUME_WITHIN;
        if !self.heard.contains(&primary) && !waited {
            // This instance has just started; so has the primary, perhaps.
            return None;
        }
        let cause = match cx.peers.get(&instance) {
            None => FailoverCause::Closed,
            Some(peer) if cx.now.saturating_sub(peer.sign) >= cx.options().silence => FailoverCause::Silent,
            Some(_) => FailoverCause::Deaf,
        };
        Some((cause, cx.cluster.is_lost(&cx.sight(), instance)))
    }

    pub(crate) fn heard_replicas(&self, cx: &Cx<'_>, but: ReplicaId) -> BTreeSet<ReplicaId> {
        let others = self.config.replicas.iter().filter(|r| r.id != but);
        others.filter(|r| r.instance.is_some_and(|i| cx.hears(i))).map(|r| r.id).collect()
    }

    // ---- flapping ---------------------------------------------------------------------------------------------------

    /// How long the next automatic failover waits, because there were many.
    fn pause(&self, options: &ClusterOptions) -> Option<Duration> {
        let over = self.config.failovers_lately.checked_sub(options.flap_max)?;
        Some(options.flap_pause * 2u32.pow(over.min(4)))
    }

    /// Until when the automatic failover that is due is held back.
    pub(crate) fn held_back_until(&self, options: &ClusterOptions, now: Duration) -> Option<Duration> {
        let due = self.suspicion.and_then(|s| s.polled)?;
        let until = due + self.pause(options)?;
        (now < until).then_some(until)
    }

    fn is_held_back(&mut self, cx: &mut Cx<'_>) -> bool {
        let until = self.held_back_until(cx.options(), cx.now);
        if let Some(until) = until.filter(|_| self.held_back != until) {
            let pause_ms = u64::try_from(until.saturating_sub(cx.now).as_millis()).unwrap_or(u64::MAX);
            cx.log(self.config.id, None, LogEvent::FailoverHeldBack { pause_ms });
        }
        self.held_back = until;
        until.is_some()
    }

    /// A primary that has led for long is not called flapping any more.
    pub(crate) fn forget_flapping(&mut self, cx: &Cx<'_>) {
        let long = cx.now.saturating_sub(self.role_since) >= cx.options().flap_period;
        if long && self.is_primary() && self.config.failovers_lately > 0 {
            self.config.failovers_lately = 0;
            self.touch_config();
        }
    }

    // ---- the record -------------------------------------------------------------------------------------------------

    /// A failover to this replica begins.
    pub(crate) fn begin_record(&mut self, cx: &Cx<'_>, from: Option<ReplicaId>, kind: FailoverKind) {
        let suspicion = self.suspicion.take().filter(|_| kind == FailoverKind::Automatic);
        let gave_up = suspicion.is_some_and(|s| s.cause == FailoverCause::GaveUp);
        let reason =
            self.says.as_ref().filter(|_| gave_up).and_then(|s| s.fitness.reason().map(str::to_owned));
        let everywhere = |r: &&crate::config::Replica| self.config.is_failover_ready(r.id);
        let survivors = self.config.replicas.iter().filter(everywhere).count();
        let choice = self.choice(cx, from);
        self.failovers.push(FailoverRecord {
            group: self.config.id,
            from,
            to: self.me,
            epoch: self.config.stamp.epoch,
            kind,
            cause: suspicion.map_or(FailoverCause::Asked, |s| s.cause),
            reason,
            last_heard: suspicion.and_then(|s| s.last_heard),
            suspected: suspicion.map(|s| s.since),
            polled: suspicion.and_then(|s| s.polled),
            claimed: cx.now,
            decided: None,
            redone: None,
            opened: None,
            first_commit: None,
            survivors: u32::try_from(survivors).unwrap_or(u32::MAX),
            choice,
        });
        if self.failovers.len() > RECORDS_MAX {
            self.failovers.remove(0);
        }
    }

    fn open_record(&mut self) -> Option<&mut FailoverRecord> {
        let epoch = self.config.stamp.epoch;
        self.failovers.last_mut().filter(|r| r.epoch == epoch)
    }

    pub(crate) fn record_decided(&mut self, now: Duration) {
        if let Some(record) = self.open_record() {
            record.decided.get_or_insert(now);
        }
    }

    pub(crate) fn record_redone(&mut self, now: Duration, epoch: Epoch) {
        if let Some(record) = self.open_record().filter(|r| r.epoch == epoch && r.opened.is_none()) {
            record.redone.get_or_insert(now);
        }
    }

    pub(crate) fn record_opened(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        if let Some(record) = self.open_record().filter(|r| r.opened.is_none()) {
            record.opened = Some(now);
            self.log_record(cx);
        }
    }

    /// The commit point moved to `lsn`, in a database whose epoch begins at `epoch_start`.
    pub(crate) fn record_commit(&mut self, cx: &mut Cx<'_>, lsn: Lsn, epoch_start: Lsn) {
        let now = cx.now;
        if lsn > epoch_start
            && let Some(record) =
                self.open_record().filter(|r| r.opened.is_some() && r.first_commit.is_none())
        {
            record.first_commit = Some(now);
            self.log_record(cx);
        }
    }

    fn log_record(&mut self, cx: &mut Cx<'_>) {
        let group = Some(self.config.id);
        if let Some(record) = self.failovers.last() {
            let what = LogEvent::Failover(Box::new(record.clone()));
            cx.push(Action::Log(LogEntry { group, database: None, what }));
        }
    }
}
