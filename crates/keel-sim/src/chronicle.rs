//! What is told of a world: rare things counted, the story that transcripts keep, and what a trace says of the stores.

use crate::instance::instance_index;
use crate::world::World;
use keel_base::Lsn;
use keel_cluster::{
    Action, FailoverCause, FailoverKind, FailoverRecord, FenceReason, LeaveReason, LogEntry, LogEvent,
    MemberStatus, Msg, Node, RefuseReason, ReplicaId, SuspendReason,
};
use std::time::Duration;

/// A failover's record in one line; times in milliseconds since the claim.
fn told(i: usize, record: &FailoverRecord) -> String {
    let after = |at: Option<Duration>| {
        at.map_or("-".into(), |at| format!("{:+.0}", (at.as_secs_f64() - record.claimed.as_secs_f64()) * 1e3))
    };
    let passed = match &*record.choice.passed_over {
        [] => String::new(),
        preferred => {
            let each =
                preferred.iter().map(|(r, redo)| format!("{} with {}", r.0.as_u128() & 0xff, redo.bytes));
            format!(
                "; {} bytes to redo, before {}",
                record.choice.redo.bytes,
                each.collect::<Vec<_>>().join(", ")
            )
        }
    };
    let from = record.from.map_or("nobody".into(), |r| (r.0.as_u128() & 0xff).to_string());
    format!(
        "{i} leads after {from}: {} {}{}, heard {}, suspected {}, agreed {}, decided {}, open {}, first commit {}; {} go on{passed}",
        record.kind.description(),
        record.cause.description(),
        record.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})")),
        after(record.last_heard),
        after(record.suspected),
        after(record.polled),
        after(record.decided),
        after(record.opened),
        after(record.first_commit),
        record.survivors,
    )
}

impl World {
    /// What each member of a store has of it, when that has changed.
    pub(crate) fn trace_store(&mut self, i: usize) {
        let status =
            self.instances[i].node.as_ref().and_then(Node::cluster_status).filter(|_| self.trace.is_some());
        let Some(status) = status else { return };
        let of = |wanted: &dyn Fn(&MemberStatus) -> bool| {
            let members = status.members.iter().filter(|m| wanted(m));
            members.map(|m| instance_index(m.member.instance)).collect::<Vec<_>>()
        };
        let (votes, leads, applied) = (of(&|m| m.vote), of(&|m| m.leads), status.applied);
        let line = format!("{i} has the store at {applied}, votes {votes:?}, led by {leads:?}");
        if self.instances[i].store_seen != line {
            self.instances[i].store_seen.clone_from(&line);
            self.note(|| line);
        }
    }

    /// The leader of the store tells who has a vote.
    pub(crate) fn tell_votes(&mut self, i: usize) {
        if self.story.is_none() {
            return;
        }
        let status = self.instances[i].node.as_ref().and_then(Node::cluster_status);
        let Some(status) = status.filter(|s| s.members.iter().any(|m| m.local && m.leads)) else { return };
        let mut votes: Vec<usize> =
            status.members.iter().filter(|m| m.vote).map(|m| instance_index(m.member.instance)).collect();
        votes.sort_unstable();
        let votes = format!("votes: {votes:?}, generation {}", status.generation);
        if votes != self.votes {
            self.votes.clone_from(&votes);
            self.tell_story(|| votes);
        }
    }

    /// Names what is rare enough to be worth counting.
    pub(crate) fn count(&mut self, action: &Action) {
        let name = match action {
            Action::Disconnect { .. } => "session timed out",
            Action::CutLog { .. } => "log cut",
            Action::Fence { reason: FenceReason::NewerEpoch, .. } => "fenced by a newer epoch",
            Action::Fence { reason: FenceReason::GaveUp, .. } => "role given up",
            Action::Fence { reason: FenceReason::CannotPersist, .. } => "record not written",
            Action::Fence { reason: FenceReason::LostQuorum, .. } => "quorum lost",
            Action::Fence { reason: FenceReason::Unhealthy, .. } => "unfit to lead",
            Action::Undrain { .. } => "handover called off",
            Action::Forget { .. } => "member removed",
            Action::PromoteDatabase { .. } => "database opened late",
            Action::SendUntil { limit, .. } if *limit != Lsn::MAX => "sent no more than can be redone",
            Action::SlowWriters { time, .. } if !time.is_zero() => "writers slowed",
            Action::Release { writable: true, .. } => "database removed",
            Action::Send { msg: Msg::Refuse { reason, .. }, .. } => match reason {
                RefuseReason::Suspended => "refused: suspended",
                RefuseReason::NoCommonPoint => "refused: no common point",
                RefuseReason::LogGone => "refused: log gone",
                RefuseReason::NotAvailable => "refused: not available",
            },
            Action::Log(LogEntry { what, .. }) => match what {
                LogEvent::Forced { synchronized: true, .. } => "forced, synchronized",
                LogEvent::Forced { synchronized: false, .. } => "forced, not synchronized",
                LogEvent::FailoverHeldBack { .. } => "failover held back",
                LogEvent::OldRecord => "record older than what was acknowledged",
                LogEvent::OldLeader(_) => "leader lacks what was agreed",
                LogEvent::Failover(record) if record.first_commit.is_none() => {
                    match (record.kind, record.cause) {
                        (FailoverKind::Automatic, FailoverCause::Closed) => "failed over: closed",
                        (FailoverKind::Automatic, FailoverCause::Silent) => "failed over: silent",
                        (FailoverKind::Automatic, FailoverCause::Deaf) => "failed over: deaf",
                        (FailoverKind::Automatic, _) => "failed over: gave up",
                        (FailoverKind::Resumed, _) => "role resumed",
                        _ => return,
                    }
                }
                LogEvent::Synchronized(_) => "entered the set",
                LogEvent::NotSynchronized { reason, .. } => match reason {
                    LeaveReason::Disconnected => "left the set: disconnected",
                    LeaveReason::Stopped => "left the set: stopped",
                    LeaveReason::Stalled => "left the set: stalled",
                    LeaveReason::Behind => "left the set: behind",
                    LeaveReason::Configured => "left the set: configured",
                },
                LogEvent::Suspended(SuspendReason::Partner) => "suspended by a forced failover",
                LogEvent::Suspended(SuspendReason::NoCommonPoint) => "suspended: no common point",
                _ => return,
            },
            _ => return,
        };
        self.probe(name);
    }

    /// Tells the story of an action.
    pub(crate) fn chronicle(&mut self, i: usize, action: &Action) {
        let index = |r: &ReplicaId| (r.0.as_u128() & 0xff).to_string();
        let line = match action {
            Action::Fence { reason, .. } => format!("{i} stops acknowledging: {reason:?}"),
            Action::SlowWriters { time, .. } => {
                format!("{i} lets writers wait {:.1} ms", time.as_secs_f64() * 1e3)
            }
            Action::Reply { command, result } => match result {
                Ok(()) if self.ordered.contains(command) => format!("{i} answers: done"),
                Ok(()) => return,
                Err(error) => format!("{i} answers: {error}"),
            },
            Action::Log(LogEntry { what, .. }) => match what {
                LogEvent::RoleChanged { from, to, epoch } => format!("{i} {from} -> {to} ({})", epoch.0),
                LogEvent::Synchronized(r) => format!("{i} takes {} into the set", index(r)),
                LogEvent::NotSynchronized { replica, reason } => {
                    format!("{i} takes {} out of the set: {reason:?}", index(replica))
                }
                LogEvent::Failover(record) => told(i, record),
                LogEvent::FailoverHeldBack { pause_ms } => {
                    format!("{i} holds a failover back for {pause_ms} ms")
                }
                LogEvent::Suspended(reason) => format!("{i} suspends its copy: {reason:?}"),
                LogEvent::LogCut { at, from } => format!("{i} cuts its log from {from} to {at}"),
                LogEvent::LogShort { end, reached } => {
                    format!("{i} misses the end of its log: {end}, it held {reached}")
                }
                LogEvent::OldRecord => {
                    format!("{i} has forgotten what it acknowledged, and gives its vote up")
                }
                LogEvent::OldLeader(name) => {
                    format!("{i} takes nothing from {name}, which lacks what was agreed")
                }
                LogEvent::Unhealthy(_) => format!("{i} is unfit"),
                LogEvent::MuchToRedo(redo) => format!("{i} has {} bytes to redo before it leads", redo.bytes),
                LogEvent::Gaps { at, times } => {
                    format!("{i} is sent blocks that do not follow on {at}, {times} times in a row")
                }
                _ => return,
            },
            _ => return,
        };
        self.tell_story(|| line);
    }
}
