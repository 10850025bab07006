//! Operators' commands, but for those that change roles ([`crate::failover`]).

use crate::action::{Action, FenceReason, LogEvent};
use crate::config::{GroupDatabase, GroupOptions, Replica, ReplicaOptions, Stamp, SuspendReason};
use crate::event::{Command, CommandError};
use crate::group::{Database, Effect, Group, Role};
use crate::ids::{CommandId, GroupDatabaseId, GroupId, InstanceId, ReplicaId};
use crate::message::Msg;
use crate::node::Cx;
use keel_base::Epoch;
use std::collections::BTreeSet;

impl Group {
    /// Which group a command is for, or which database.
    pub(crate) fn target_of(command: &Command) -> Result<GroupId, GroupDatabaseId> {
        match command {
            Command::CreateGroup { config, .. } => Ok(config.id),
            Command::Join { .. }
            | Command::FormCluster { .. }
            | Command::AddMember { .. }
            | Command::RemoveMember { .. }
            | Command::ForceQuorum => Ok(GroupId(uuid::Uuid::nil())),
            Command::DropGroup { group }
            | Command::AddReplica { group, .. }
            | Command::RemoveReplica { group, .. }
            | Command::ModifyReplica { group, .. }
            | Command::SetOptions { group, .. }
            | Command::SetListeners { group, .. }
            | Command::SetUpDistributed { group, .. }
            | Command::ModifyDistributed { group, .. }
            | Command::DropDistributed { group }
            | Command::YieldDistributed { group }
            | Command::ForceDistributed { group }
            | Command::AddDatabase { group, .. }
            | Command::Failover { group }
            | Command::ForceFailover { group }
            | Command::Offline { group }
            | Command::Follow { group }
            | Command::AllowCreate { group, .. } => Ok(*group),
            Command::RemoveDatabase { database }
            | Command::LeaveDatabase { database }
            | Command::JoinDatabase { database }
            | Command::Suspend { database }
            | Command::Resume { database } => Err(*database),
        }
    }

    pub(crate) fn command(&mut self, cx: &mut Cx<'_>, id: CommandId, command: Command) {
        match command {
            Command::DropGroup { .. } => self.drop_group(cx, id),
            Command::Failover { .. } => self.failover(cx, id),
            Command::ForceFailover { .. } => self.force_failover(cx, id),
            Command::Offline { .. } => self.offline(cx, id),
            Command::Follow { .. } => self.follow_when_told(cx, id),
            Command::Suspend { database } => {
                self.suspend(cx, database, SuspendReason::User);
                self.reply_when_durable(id, Ok(()));
            }
            Command::Resume { database } => self.resume(cx, id, database),
            Command::LeaveDatabase { database } => {
                let result = self.leave_database(cx, database);
                self.answer(cx, id, result);
            }
            Command::JoinDatabase { database } => {
                let result = self.join_database(cx, database);
                self.answer(cx, id, result);
            }
            Command::AllowCreate { allowed, .. } => {
                self.local.may_create_databases = allowed;
                self.touch();
                self.reply_when_durable(id, Ok(()));
            }
            // It will be the primary in a moment, as when a distributed group's roles have just changed.
            command if matches!(self.role, Role::Promoting { .. }) => {
                self.awaiting_primary.push((id, command))
            }
            Command::SetUpDistributed { .. }
            | Command::ModifyDistributed { .. }
            | Command::DropDistributed { .. }
            | Command::YieldDistributed { .. }
            | Command::ForceDistributed { .. } => self.distributed_command(cx, id, command),
            // The databases of a group that forwards are those of the source.
            Command::AddDatabase { .. } | Command::RemoveDatabase { .. } if self.config.forwards() => {
                cx.reply(id, Err(CommandError::NotPrimary));
            }
            // The rest changes the shared configuration.
            _ if !self.is_primary() => cx.reply(id, Err(CommandError::NotPrimary)),
            Command::AddReplica { replica, .. } => {
                let result = self.add_replica(*replica);
                self.answer(cx, id, result);
            }
            Command::RemoveReplica { replica, .. } => {
                let result = self.remove_replica(cx, replica);
                self.answer(cx, id, result);
            }
            Command::ModifyReplica { replica, options, .. } => {
                let result = self.modify_replica(replica, *options);
                self.answer(cx, id, result);
            }
            Command::SetOptions { options, .. } => {
                let result = self.set_options(*options);
                self.answer(cx, id, result);
            }
            Command::SetListeners { listeners, .. } => {
                self.config.listeners = listeners;
                self.touch_config();
                self.reply_when_durable(id, Ok(()));
            }
            Command::AddDatabase { database, log_epoch, .. } => {
                let result = self.add_database(cx, *database, log_epoch);
                self.answer(cx, id, result);
            }
            Command::RemoveDatabase { database } => self.remove_database(cx, id, database),
            Command::CreateGroup { .. }
            | Command::Join { .. }
            | Command::FormCluster { .. }
            | Command::AddMember { .. }
            | Command::RemoveMember { .. }
            | Command::ForceQuorum => {
                unreachable!("the node carries these out itself")
            }
        }
        self.settle(cx);
    }

    pub(crate) fn answer(&mut self, cx: &mut Cx<'_>, id: CommandId, result: Result<(), CommandError>) {
        match result {
            Ok(()) => self.reply_when_durable(id, Ok(())),
            Err(error) => cx.reply(id, Err(error)),
        }
    }

    // ---- replicas ---------------------------------------------------------------------------------------------------

    fn add_replica(&mut self, replica: Replica) -> Result<(), CommandError> {
        let taken = self.config.replica_named(&replica.server_name).is_some()
            || self.config.replica(replica.id).is_some();
        if taken {
            return Err(CommandError::ReplicaExists);
        }
        self.config.replicas.push(Replica { instance: None, ordinal: 0, ..replica });
        self.config.give_ordinals();
        self.touch_config();
        Ok(())
    }

    fn remove_replica(&mut self, cx: &mut Cx<'_>, replica: ReplicaId) -> Result<(), CommandError> {
        if replica == self.me {
            return Err(CommandError::CannotRemovePrimary);
        }
        let found = self.config.replica(replica).ok_or(CommandError::NoSuchReplica)?;
        let left = self.synchronous_secondaries_without(replica);
        if found.is_synchronous() && left < usize::from(self.config.options.required_synchronized_secondaries)
        {
            return Err(CommandError::TooManyRequired);
        }
        let handover = match &self.role {
            Role::Primary { handover } => handover.as_ref().and_then(|h| h.target),
            _ => None,
        };
        if handover == Some(replica) {
            self.call_off_handover(cx, CommandError::NotAMember);
        }
        for database in self.members() {
            self.stop_feeding(cx, database, Some(replica));
        }
        // It stays in the gate until the configuration without it is durable.
        for database in &mut self.config.databases {
            database.synchronized.remove(&replica);
            database.awaiting_resume.remove(&replica);
        }
        self.config.to_confirm.remove(&replica);
        self.config.replicas.retain(|r| r.id != replica);
        self.touch_config();
        Ok(())
    }

    fn synchronous_secondaries_without(&self, replica: ReplicaId) -> usize {
        self.config
            .replicas
            .iter()
            .filter(|r| r.id != self.me && r.id != replica && r.is_synchronous())
            .count()
    }

    fn modify_replica(&mut self, replica: ReplicaId, options: ReplicaOptions) -> Result<(), CommandError> {
        let required = usize::from(self.config.options.required_synchronized_secondaries);
        let left = self.synchronous_secondaries_without(replica);
        let me = self.me;
        let found = self.config.replica_mut(replica).ok_or(CommandError::NoSuchReplica)?;
        if !found.keeps_data() && options.availability_mode != found.options.availability_mode {
            return Err(CommandError::ConfigurationOnly);
        }
        let lessens = found.is_synchronous()
            && options.availability_mode != crate::config::AvailabilityMode::Synchronous;
        if lessens && (replica == me && required > 0 || replica != me && left < required) {
            return Err(CommandError::TooManyRequired);
        }
        found.options = options;
        self.touch_config();
        Ok(())
    }

    fn set_options(&mut self, options: GroupOptions) -> Result<(), CommandError> {
        let secondaries = self.config.replicas.len().saturating_sub(1);
        if usize::from(options.required_synchronized_secondaries) > secondaries {
            return Err(CommandError::TooManyRequired);
        }
        // Who decides about failovers is fixed when the group is made.
        let cluster_type = self.config.options.cluster_type;
        self.config.options = GroupOptions { cluster_type, ..options };
        self.touch_config();
        Ok(())
    }

    /// An invited instance joins.
    pub(crate) fn join_from(&mut self, cx: &mut Cx<'_>, peer: InstanceId, replica: ReplicaId) {
        if !self.is_primary() {
            return;
        }
        let Some(found) = self.config.replica_mut(replica) else { return };
        match found.instance {
            None => {
                found.instance = Some(peer);
                self.touch_config();
            }
            Some(instance) if instance == peer => {
                let durable = self.store.durable.clone();
                if durable.replica_of(peer).is_some() {
                    cx.send(peer, Msg::Config(Box::new(durable)));
                }
            }
            Some(_) => {}
        }
    }

    // ---- databases --------------------------------------------------------------------------------------------------

    fn add_database(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabase,
        log_epoch: Epoch,
    ) -> Result<(), CommandError> {
        let taken = self
            .config
            .databases
            .iter()
            .any(|d| d.id == database.id || d.name.eq_ignore_ascii_case(&database.name));
        if taken {
            return Err(CommandError::DatabaseExists);
        }
        let id = database.id;
        self.config.databases.push(GroupDatabase {
            synchronized: BTreeSet::from([self.me]),
            awaiting_resume: Default::default(),
            ..database
        });
        self.databases.insert(id, Database::default());
        self.touch_config();
        if log_epoch >= self.config.stamp.epoch {
            self.lead_above(cx, log_epoch);
        }
        Ok(())
    }

    fn remove_database(&mut self, cx: &mut Cx<'_>, command: CommandId, database: GroupDatabaseId) {
        self.stop_feeding(cx, database, None);
        self.config.databases.retain(|d| d.id != database);
        self.local.databases.remove(&database);
        let revision = self.touch_config();
        self.when_durable(revision, Effect::Release(database, true));
        self.when_durable(revision, Effect::Reply(command, Ok(())));
    }

    fn leave_database(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) -> Result<(), CommandError> {
        // Nor where the role is this replica's, though it does not lead just now: it would come back to it without the database.
        if !self.config.forwards() && (self.role.leads() || self.config.primary == Some(self.me)) {
            return Err(CommandError::IsPrimary);
        }
        self.stop_feed(cx, database);
        self.stop_feeding(cx, database, None);
        self.local_database(database).left = true;
        let revision = self.touch();
        if let Some(db) = self.databases.get_mut(&database) {
            db.leaving |= std::mem::take(&mut db.open);
        }
        self.when_durable(revision, Effect::Release(database, false));
        Ok(())
    }

    /// The copy that was let go is taken back, and follows: it may be counted on still. A new one is asked for when there is none, or
    /// when it cannot follow. Who leads without it, because nobody else had it either or by force, leads with it then.
    fn join_database(&mut self, cx: &Cx<'_>, database: GroupDatabaseId) -> Result<(), CommandError> {
        if self.role.leads() && !self.config.forwards() && !self.has_left(database) {
            return Err(CommandError::IsPrimary);
        }
        let local = self.local_database(database);
        let left = std::mem::take(&mut local.left);
        local.suspended = None;
        let before = self.effects.len();
        self.effects.retain(|(_, e)| !matches!(e, Effect::Release(id, _) if *id == database));
        let kept = self.effects.len() < before;
        if let Some(db) = self.databases.get_mut(&database) {
            db.feed.reseed = false;
            db.feed.refused = None;
            db.feed.retry_at = Default::default();
            if left && kept && db.leaving {
                // It was not let go yet: what its log has come to is asked for before it follows.
                db.open = true;
            } else if left {
                db.awaited = Some(cx.now);
            }
        }
        self.consent(database);
        self.touch();
        Ok(())
    }

    /// RESUME was given here: a divergent tail may be cut.
    fn consent(&mut self, database: GroupDatabaseId) {
        let me = self.me;
        let forced = self.config.database(database).and_then(|d| d.awaiting_resume.get(&me).copied());
        if let Some(epoch) = forced {
            self.local_database(database).consented = epoch;
        }
    }

    fn resume(&mut self, cx: &mut Cx<'_>, command: CommandId, database: GroupDatabaseId) {
        let before = self.local_database(database).suspended.take();
        self.consent(database);
        self.touch();
        if let Some(db) = self.databases.get_mut(&database) {
            db.feed.retry_at = Default::default();
            db.feed.refused = None;
            db.feed.reseed |= before == Some(SuspendReason::NoCommonPoint);
        }
        if before.is_some() {
            cx.log(self.config.id, Some(database), LogEvent::Resumed);
        }
        if self.role.leads()
            && let Some(config) = self.config.database_mut(database)
            && !config.awaiting_resume.is_empty()
        {
            // Given on the primary it holds for every copy that was not suspended on its own account.
            config.awaiting_resume.clear();
            self.touch_config();
        }
        self.reply_when_durable(command, Ok(()));
    }

    // ---- the group --------------------------------------------------------------------------------------------------

    fn drop_group(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        if self.is_primary() {
            self.drop_all(cx);
            let revision = self.store.revision;
            self.when_durable(revision, Effect::Reply(command, Ok(())));
        } else if let Some(primary) = self.live_primary(cx) {
            cx.send(primary, Msg::Drop { group: self.config.id });
            cx.reply(command, Ok(()));
        } else if self.is_dropped_by_vote() && cx.cluster.is_quorate(&cx.sight()) {
            self.drop_by_vote(cx, command);
        } else {
            // Only this instance forgets it; the primary finds out when it is asked to remove the replica.
            self.step_down(cx, FenceReason::Removed);
            self.local.gone = true;
            let revision = self.touch();
            self.let_go(revision, false);
            let result = if self.is_dropped_by_vote() { Err(CommandError::DropIncomplete) } else { Ok(()) };
            self.when_durable(revision, Effect::Reply(command, result));
        }
    }

    /// A mirror ends its session alone, and its principal does when it hears of that.
    pub(crate) fn is_dropped_by_vote(&self) -> bool {
        self.clustered() && !self.config.options.cluster_type.is_mirroring()
    }

    /// Nobody leads the group whom this instance could ask: it is dropped in an epoch above, so that whoever leads it all the same does so
    /// no longer, and nobody's databases go on alone.
    fn drop_by_vote(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        let epoch = self.next_epoch(cx);
        self.local.gone = false;
        self.take_back_changes(cx, FenceReason::Removed);
        self.step_down(cx, FenceReason::Removed);
        self.config = self.store.settled.clone();
        self.config.parent = self.config.stamp.epoch;
        self.config.stamp = Stamp { epoch, version: self.config.stamp.version + 1 };
        self.config.dropped = true;
        let revision = self.touch();
        // Of a group that was still being made they have never been anybody else's.
        self.let_go(revision, self.store.settled.stamp == Stamp::default());
        self.when_durable(revision, Effect::Reply(command, Ok(())));
        self.set_role(cx, Role::Resolving { since: cx.now });
    }

    /// Once a revision is durable all databases are no members any more.
    pub(crate) fn let_go(&mut self, revision: u64, writable: bool) {
        for database in self.databases.keys().copied().collect::<Vec<_>>() {
            self.when_durable(revision, Effect::Release(database, writable));
        }
    }

    pub(crate) fn drop_from(&mut self, cx: &mut Cx<'_>, peer: InstanceId) {
        let Some(replica) = self.config.replica_of(peer).map(|r| r.id) else { return };
        if self.is_primary() {
            self.drop_all(cx);
        } else if self.config.options.cluster_type.is_mirroring() && self.config.primary == Some(self.me) {
            // The mirror has ended the session, and did not become the principal before: nobody else leads. Once this replica leads
            // again it hears the same and ends the session too.
            self.heard.insert(replica);
            self.settle(cx);
        }
    }

    /// The primary drops the group: once that is durable its databases go on alone.
    fn drop_all(&mut self, cx: &mut Cx<'_>) {
        self.call_off_handover(cx, CommandError::Busy);
        self.stop_feeding_all(cx);
        // Those of a forwarder are another group's.
        let writable = !self.config.forwards();
        self.config.dropped = true;
        let revision = self.touch_config();
        self.let_go(revision, writable);
        cx.push(Action::Log(crate::action::LogEntry {
            group: Some(self.config.id),
            database: None,
            what: LogEvent::RoleChanged {
                from: self.role.name(),
                to: "NOT_AVAILABLE",
                epoch: self.config.stamp.epoch,
            },
        }));
        self.role = Role::Resolving { since: cx.now };
    }
}
