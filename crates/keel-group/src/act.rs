//! Carrying out what the machine decides.
//!
//! Everything here that runs at once is short: it is done under the machine's lock. What waits for a disk or for sessions
//! goes to the workers under the group's key, so that it keeps the order in which it was decided.

use crate::copy::Copy;
use crate::host::RoleChange;
use crate::lanes::{Flight, Lane};
use crate::shell::Shared;
use keel_base::{Epoch, Lsn, panics};
use keel_cluster::{
    Action, AvailabilityMode, Event, FenceReason, GroupDatabaseId, GroupId, InstanceId, LogFacts,
    ReceiveFailure, RoleStatus, SessionId,
};
use keel_node::{DbError, Role};
use keel_transport::Session;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Databases of one group that are promoted at the same time.
const PROMOTIONS_MAX: usize = 4;

fn reason(reason: FenceReason) -> &'static str {
    match reason {
        FenceReason::NewerEpoch => "another replica has become primary",
        FenceReason::GaveUp => "the replica gave up the primary role",
        FenceReason::CannotPersist => "the configuration of the availability group cannot be written",
        FenceReason::LostQuorum => "the cluster has no quorum",
        FenceReason::Unhealthy => "the instance is unfit to lead the availability group",
        FenceReason::Removed => "the replica is no longer part of the availability group",
    }
}

impl Shared {
    /// Carries out one action. Called with the machine locked.
    pub(crate) fn act(self: &Arc<Self>, action: Action) {
        match action {
            Action::Send { peer, msg } => self.send_msg(peer, &msg),
            Action::Disconnect { peer } => self.cut_off(peer),
            Action::Persist { group, revision, record } => self.records.write(group, revision, record),
            Action::Forget { group } => self.records.remove(group),
            Action::PersistStore { revision, record } => self.stored.write(revision, record),
            Action::ForgetStore => self.stored.forget(),
            Action::Agree { database, lsn } => {
                if let Some(copy) = self.copy(database) {
                    copy.set_agreed(lsn);
                }
            }
            Action::ApplyUpTo { database, lsn } => self.apply_up_to(database, lsn),
            Action::StartSending { peer, database, session, from, limit } => {
                self.start_sending(peer, database, session, from, limit);
            }
            Action::SendUntil { peer, database, session, limit } => {
                if let Some(peer) = self.peer(peer) {
                    peer.lanes.lock().set_limit(database, session, limit);
                    peer.bell.ring();
                }
            }
            Action::SlowWriters { database, time } => {
                if let Some(copy) = self.copy(database) {
                    copy.db.slow_writers(time);
                }
            }
            Action::StopSending { peer, database } => self.stop_sending(peer, database),
            Action::Receive { database, peer, session, epoch, .. } => {
                self.receive(database, peer, session, epoch);
            }
            Action::AckUpTo { database, lsn } => self.acknowledge_up_to(database, lsn),
            Action::StopReceiving { database } => {
                if let Some(copy) = self.copy(database) {
                    copy.stop_receiving();
                }
                self.stop_seeding(database);
            }
            Action::Inspect { database, session } => self.on_copy(database, move |shared, copy| {
                let facts = copy.facts_to_go_on();
                shared.step(Event::Inspected { database, session, facts });
            }),
            Action::CutLog { database, session, at } => {
                self.on_copy(database, move |shared, copy| shared.cut_log(copy, session, at));
            }
            Action::Promote { group, epoch, databases } => {
                self.give(group, move |shared| shared.promote(group, epoch, &databases));
            }
            Action::PromoteDatabase { group, epoch, database } => {
                self.give(group, move |shared| shared.promote(group, epoch, &[database]));
            }
            Action::Demote { group, databases } => {
                self.give(group, move |shared| shared.demote(group, &databases));
            }
            Action::Fence { group, reason: why } => {
                self.copies_of(group).iter().for_each(|copy| copy.db.fence(reason(why)));
                self.give(group, move |shared| shared.tell_roles(group, RoleStatus::Resolving));
            }
            Action::Drain { group } => self.give(group, move |shared| shared.drain(group)),
            Action::Undrain { group } => {
                self.give(group, move |shared| {
                    shared.copies_of(group).iter().for_each(|copy| copy.log().hold_appends(false));
                });
            }
            Action::Release { database, writable } => {
                self.on_copy(database, move |shared, copy| shared.release(copy, writable));
            }
            Action::Seed { peer, database } => self.seed(peer, database),
            Action::ExpectSeed { peer, database } => self.expect_seed(peer, database),
            Action::Reply { command, result } => {
                if let Some(waiting) = self.replies.lock().remove(&command) {
                    // Nobody listens any more when the session was killed.
                    let _ = waiting.send(result);
                }
            }
            Action::PrimaryMoved { group } => self.host.primary_moved(group),
            Action::Log(entry) => {
                let shared = Arc::clone(self);
                // The host writes a file: not under the machine's lock.
                let key = entry.group.unwrap_or(GroupId(uuid::Uuid::nil()));
                self.work.give(key, move || shared.host.log(&entry));
            }
        }
    }

    fn give(self: &Arc<Self>, group: GroupId, job: impl FnOnce(&Arc<Shared>) + Send + 'static) {
        let shared = Arc::clone(self);
        self.work.give(group, move || job(&shared));
    }

    fn on_copy(
        self: &Arc<Self>,
        database: GroupDatabaseId,
        job: impl FnOnce(&Arc<Shared>, &Arc<Copy>) + Send + 'static,
    ) {
        if let Some(copy) = self.copy(database) {
            self.give(copy.group, move |shared| job(shared, &copy));
        }
    }

    /// The machine has given a silent peer up, or says good-bye to whom it does not hear.
    fn cut_off(self: &Arc<Self>, peer: InstanceId) {
        // The reader finds the link closed and takes the peer off the list.
        if let Some(peer) = self.peer(peer) {
            self.drop_lanes(&peer);
            let silent = crate::ConnectError::Refused(format!("{} was silent for too long", peer.name));
            self.dialer.lock().lost(&peer.name, silent, self.env.clock.unix_nanos());
            peer.link.reset();
        }
    }

    fn apply_up_to(self: &Arc<Self>, database: GroupDatabaseId, lsn: Lsn) {
        let Some(copy) = self.copy(database) else { return };
        copy.agreed.fetch_max(lsn.0, Ordering::AcqRel);
        // Refused only when the role has changed meanwhile, and then it no longer matters; trouble with redo itself is
        // found by the tick.
        let _ = copy.db.apply_up_to(lsn);
    }

    fn start_sending(
        self: &Arc<Self>,
        peer: InstanceId,
        database: GroupDatabaseId,
        session: SessionId,
        from: Lsn,
        limit: Lsn,
    ) {
        let (Some(peer), Some(copy)) = (self.peer(peer), self.copy(database)) else { return };
        let flight = Arc::new(Flight::default());
        peer.note_session(Session(session.0), database, Arc::clone(&flight));
        let lane = Lane {
            session,
            feed: copy.feed(from),
            flight: Arc::clone(&flight),
            compress: false,
            limit,
            unfinished: true,
            agreed: Arc::clone(&copy.agreed),
            announced: 0,
            busy: false,
        };
        let old = {
            let mut lanes = peer.lanes.lock();
            let old = lanes.close(database);
            lanes.open(database, lane);
            old
        };
        if let Some(old) = old {
            peer.forget_session(Session(old.session.0));
        }
        copy.add_target(&peer, flight);
        peer.bell.ring();
        self.compression_due.store(true, Ordering::Release);
        self.bells.keeper.ring();
    }

    fn stop_sending(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        let Some(peer) = self.peer(peer) else { return };
        if let Some(copy) = self.copy(database) {
            copy.remove_target(&peer);
        }
        let old = peer.lanes.lock().close(database);
        if let Some(old) = old {
            peer.forget_session(Session(old.session.0));
        }
    }

    fn receive(
        self: &Arc<Self>,
        database: GroupDatabaseId,
        peer: InstanceId,
        session: SessionId,
        epoch: Epoch,
    ) {
        if let Some(copy) = self.copy(database) {
            copy.receive(session, peer, epoch);
        }
    }

    fn acknowledge_up_to(&self, database: GroupDatabaseId, lsn: Lsn) {
        let Some(copy) = self.copy(database) else { return };
        copy.limit_acks(lsn);
        let from = copy.receiving_from();
        if let Some((session, peer)) = from.and_then(|(session, peer)| Some((session, self.peer(peer)?))) {
            copy.acknowledge(&peer, Session(session.0));
        }
    }

    fn cut_log(self: &Arc<Self>, copy: &Arc<Copy>, session: SessionId, at: Lsn) {
        let result = {
            let _quiet = copy.quiet();
            copy.db.cut(at)
        };
        let database = copy.id;
        match result {
            Ok(()) => self.step(Event::LogCut { database, session }),
            Err(error) => {
                self.note(
                    Some(database),
                    &format!("The log of {} could not be cut at {at}: {error}", copy.name),
                );
                self.step(Event::ReceiveFailed { database, session, failure: ReceiveFailure::WriteFailed });
            }
        }
    }

    fn promote(self: &Arc<Self>, group: GroupId, epoch: Epoch, databases: &[GroupDatabaseId]) {
        let copies: Vec<Arc<Copy>> = databases.iter().filter_map(|d| self.copy(*d)).collect();
        for copy in &copies {
            // Before the first session can write: each of its flushes must be heard of.
            let shared = Arc::downgrade(self);
            copy.tap(move |copy| {
                if let Some(shared) = shared.upgrade() {
                    shared.own_log_hardened(copy);
                }
            });
        }
        let left = AtomicUsize::new(copies.len());
        let redone = || {
            if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.step(Event::Redone { group, epoch });
            }
        };
        let mut promoted: Vec<(GroupDatabaseId, LogFacts)> = Vec::new();
        for some in copies.chunks(PROMOTIONS_MAX) {
            let results = side_by_side(some, |copy| {
                promote_one(copy, epoch, &redone).map_err(|error| error.to_string())
            });
            for (copy, result) in some.iter().zip(results) {
                match result {
                    Ok(facts) => promoted.push((copy.id, facts)),
                    Err(error) => {
                        self.note(Some(copy.id), &format!("{} could not become primary: {error}", copy.name));
                    }
                }
            }
        }
        self.step(Event::Promoted { group, epoch, databases: promoted.clone() });
        for (database, _) in promoted {
            if let Some(copy) = self.copy(database) {
                // What sessions have flushed meanwhile was news too early.
                self.step(Event::Hardened { database, lsn: copy.log().hardened() });
                self.tell_role(&copy, Some(RoleStatus::Primary), true);
            }
        }
    }

    fn demote(self: &Arc<Self>, group: GroupId, databases: &[GroupDatabaseId]) {
        for copy in databases.iter().filter_map(|d| self.copy(*d)) {
            copy.untap();
            copy.relay();
            copy.log().hold_appends(false);
            let _quiet = copy.quiet();
            if let Err(error) = copy.db.demote() {
                self.note(Some(copy.id), &format!("{} could not become a secondary: {error}", copy.name));
            }
        }
        self.step(Event::Demoted { group });
        self.tell_roles(group, RoleStatus::Secondary);
    }

    fn drain(self: &Arc<Self>, group: GroupId) {
        let copies = self.copies_of(group);
        copies.iter().for_each(|copy| copy.log().hold_appends(true));
        let mut ends = Vec::new();
        for copy in copies {
            match copy.log().flush() {
                Ok(end) => ends.push((copy.id, end)),
                Err(error) => {
                    return self.note(Some(copy.id), &format!("{} cannot be drained: {error}", copy.name));
                }
            }
        }
        self.step(Event::Drained { group, ends });
    }

    fn release(self: &Arc<Self>, copy: &Arc<Copy>, writable: bool) {
        copy.stop_receiving();
        copy.untap();
        copy.log().hold_appends(false);
        self.copies.write().remove(&copy.id);
        let result = if writable {
            copy.db.leave_group()
        } else {
            copy.db.fence("the replica is no longer part of the availability group");
            Ok(())
        };
        if let Err(error) = &result {
            self.note(Some(copy.id), &format!("{} could not leave the group: {error}", copy.name));
        }
        self.tell_role(copy, None, writable && result.is_ok());
    }

    fn tell_roles(&self, group: GroupId, role: RoleStatus) {
        let usable = role != RoleStatus::Resolving;
        self.copies_of(group).iter().for_each(|copy| self.tell_role(copy, Some(role), usable));
    }

    pub(crate) fn tell_role(&self, copy: &Copy, role: Option<RoleStatus>, usable: bool) {
        let (group, database, name) = (copy.group, copy.id, copy.name.clone());
        self.host.role_changed(&RoleChange { group, database, name, role, usable });
    }

    /// Sets the compression of each lane by its replica's mode. Called from the tick.
    pub(crate) fn settle_compression(&self) {
        let wanted = *self.compression.read();
        let modes: Vec<(InstanceId, AvailabilityMode, Vec<GroupDatabaseId>)> = {
            let machine = self.machine.lock();
            let replica_modes = machine.configs().flat_map(|config| {
                let databases: Vec<GroupDatabaseId> = config.databases.iter().map(|d| d.id).collect();
                config
                    .replicas
                    .iter()
                    .filter_map(move |r| Some((r.instance?, r.options.availability_mode, databases.clone())))
            });
            let mut modes: Vec<_> = replica_modes.collect();
            modes.extend(machine.forwarders().map(|(instance, mode, config)| {
                (instance, mode, config.databases.iter().map(|d| d.id).collect())
            }));
            modes
        };
        for (instance, mode, databases) in modes {
            let Some(peer) = self.peer(instance) else { continue };
            let compress = match mode {
                AvailabilityMode::Asynchronous => wanted.asynchronous,
                _ => wanted.synchronous,
            };
            let mut lanes = peer.lanes.lock();
            databases.iter().for_each(|database| lanes.set_compression(*database, compress));
        }
    }
}

/// Does something with each of a few, at the same time as far as there are threads to be had. Of one that panics the others know nothing.
fn side_by_side<T: Sync, R: Send>(
    some: &[T],
    what: impl Fn(&T) -> Result<R, String> + Sync,
) -> Vec<Result<R, String>> {
    let one = |one: &T| {
        catch_unwind(AssertUnwindSafe(|| what(one))).unwrap_or_else(|panic| {
            Err(format!("a system assertion check has failed: {}", panics::text(&*panic)))
        })
    };
    thread::scope(|scope| {
        let start = |of| thread::Builder::new().name("promotion".into()).spawn_scoped(scope, move || one(of));
        let started: Vec<_> = some.iter().map(|of| (of, start(of))).collect();
        let ended = started.into_iter().map(|(of, run)| match run {
            Ok(run) => run.join().unwrap_or_else(|panic| Err(panics::text(&*panic).to_owned())),
            Err(_) => one(of),
        });
        ended.collect()
    })
}

/// `redone` is called once the log is redone, unless nothing was to be redone.
fn promote_one(copy: &Copy, epoch: Epoch, redone: &dyn Fn()) -> Result<LogFacts, DbError> {
    let _quiet = copy.quiet();
    if copy.db.role() == Role::Standalone {
        copy.db.enter_group(epoch)?;
        copy.db.set_waiting(true)?;
    } else {
        if copy.db.role() == Role::Primary {
            // It leads already and goes on in a newer epoch.
            copy.db.demote()?;
        }
        copy.db.promote_telling(epoch, redone)?;
    }
    copy.log().hold_appends(false);
    Ok(copy.facts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_that_are_done_side_by_side_one_may_fail_and_one_panic() {
        let results = side_by_side(&[1, 2, 3, 4], |n| match n {
            2 => Err("it is two".to_owned()),
            3 => panic!("no {n}"),
            n => Ok(n * 10),
        });
        let panicked = Err("a system assertion check has failed: no 3".to_owned());
        assert_eq!(results, [Ok(10), Err("it is two".to_owned()), panicked, Ok(40)]);
    }
}
