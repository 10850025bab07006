//! What people do: operators' commands, the end of the faults, and the looks from outside that judge the result.

use crate::engine::{Commit, Engine, Mode, Trouble};
use crate::instance::{database_dir, database_id, index_of, instance_id, instance_index, log_id, name};
use crate::plan::{Op, Plan};
use crate::world::{GROUPS, MS, Micros, What, World};
use keel_base::Epoch;
use keel_cluster::{
    AvailabilityMode, ClusterStatus, ClusterType, Command, CommandError, CommandId, Event, FailoverMode,
    GroupConfig, GroupDatabase, GroupDatabaseId, GroupOptions, GroupStatus, Node, QuorumState, Replica,
    ReplicaId, ReplicaOptions, RoleStatus, SeedingMode, SynchronizationState,
};
use std::path::Path;
use std::sync::Arc;
use uuid::Uuid;

/// How long the operator looks at a group without a primary before doing something, once the faults have stopped.
const PATIENCE: Micros = 20_000 * MS;
/// Where an instance's databases are.
const DATA: &str = "/data";

pub(crate) fn options(i: usize, plan: &Plan) -> ReplicaOptions {
    let url = format!("TCP://{}:5022", name(i));
    let mode = match (plan.external, plan.cluster) {
        (true, _) => FailoverMode::External,
        (false, true) => FailoverMode::Automatic,
        (false, false) => FailoverMode::Manual,
    };
    let mut options = ReplicaOptions::new(url, AvailabilityMode::Synchronous, mode);
    options.seeding_mode = SeedingMode::Automatic;
    options.session_timeout_s = 5;
    options
}

pub(crate) fn group_options(plan: &Plan) -> GroupOptions {
    let cluster_type = match (plan.external, plan.cluster) {
        (true, _) => ClusterType::External,
        (false, true) => ClusterType::Wsfc,
        (false, false) => ClusterType::None,
    };
    GroupOptions { cluster_type, ..GroupOptions::default() }
}

pub(crate) fn replica_id(i: usize, generation: u64) -> ReplicaId {
    ReplicaId(Uuid::from_u128(0x5000 + i as u128 + (u128::from(generation) << 32)))
}

/// Name of the group of a side.
pub(crate) fn group_name(side: usize) -> String {
    ["AG", "AG2"][side].into()
}

impl World {
    /// The first instance of a side makes the group; the others are told to join. The second side's has no databases yet.
    pub(crate) fn create_group(&mut self, side: usize) {
        let mut config = GroupConfig::new(GROUPS[side], group_name(side), group_options(&self.plan));
        let members = self.members_of(side);
        let (first, end) = (members.start, members.end.min(self.plan.instances));
        let members = first..end - self.plan.late;
        for i in members.clone() {
            config.replicas.push(Replica::new(replica_id(i, 0), name(i), options(i, &self.plan)));
        }
        let mut opened = Vec::new();
        for d in (0..self.plan.databases).filter(|_| side == 0) {
            let engine = Engine::create(&self.instances[0].ground(), &database_dir(d), log_id(d))
                .expect("a new disk takes a new database");
            let name = format!("db{d}");
            config.databases.push(GroupDatabase::new(database_id(d, 0), name, engine.log.log_id()));
            let facts = engine.facts();
            opened.push(Event::DatabaseOpened { database: database_id(d, 0), facts });
            self.instances[0].engines.insert(d, engine);
        }
        self.order(first, Command::CreateGroup { config: Box::new(config), log_epoch: Epoch(1) });
        for event in opened {
            self.at(0, 0, What::Tell(Box::new(event)));
        }
        for i in members.skip(1) {
            self.order(i, Command::Join { name: group_name(side), cluster_type: None });
        }
    }

    /// The witness is made a member of the cluster, and again when it lost its disk.
    fn call_witness(&mut self) {
        if !self.plan.witness || self.now < self.witness_asked + 1000 * MS {
            return;
        }
        if self.witness_dismissed {
            return;
        }
        self.witness_asked = self.now;
        let witness = instance_id(self.plan.instances);
        for i in 0..self.plan.instances {
            let members = self.instances[i].node.as_ref().and_then(|n| n.cluster_status());
            let Some(status) = members else { continue };
            let there = status.members.iter().any(|m| m.member.instance == witness);
            if !there && self.instances[i].connections.contains_key(&self.plan.instances) {
                let url = format!("TCP://{}:5022", name(self.plan.instances));
                self.order(i, Command::AddMember { instance: witness, url, witness: true });
                return;
            }
        }
    }

    /// An operator gives a command.
    pub(crate) fn order(&mut self, i: usize, command: Command) -> CommandId {
        let id = self.next_command();
        let dull = matches!(
            command,
            Command::AllowCreate { .. } | Command::Join { .. } | Command::CreateGroup { .. }
        );
        if !dull {
            self.ordered.insert(id);
        }
        self.at(i, 0, What::Tell(Box::new(Event::Command { id, command })));
        id
    }

    pub(crate) fn status(&self, i: usize) -> Option<GroupStatus> {
        self.instances[i].node.as_ref().and_then(|n| n.status().into_iter().next())
    }

    /// The instance that leads a side in the newest epoch.
    pub(crate) fn leader(&self, side: usize) -> Option<usize> {
        self.members_of(side)
            .filter_map(|i| self.status(i).filter(|s| s.role == RoleStatus::Primary).map(|s| (s.durable, i)))
            .max()
            .map(|(_, i)| i)
    }

    pub(crate) fn operate(&mut self, op: Op) {
        match op {
            Op::Write(database, count) => self.write(database, count),
            Op::Crash(i, keep) => self.crash(i, keep),
            Op::PowerCut(i, operations, keep) => {
                if self.instances[i].up {
                    self.instances[i].tear = Some(keep);
                    self.instances[i].disk.cut_power_at(operations);
                }
            }
            Op::Restart(i) => {
                if !self.instances[i].up {
                    self.start(i);
                }
            }
            Op::Cut(a, b) => self.cut[a][b] = true,
            Op::Heal(a, b) => self.cut[a][b] = false,
            Op::Reset(a, b) => {
                self.disconnect(a, b, true);
                self.disconnect(b, a, true);
            }
            Op::Lag(i, 1) => self.instances[i].lags = true,
            Op::Lag(i, _) => self.redo_goes_on(i),
            Op::Pause(i, ms) => self.instances[i].paused_until = self.now + ms * MS,
            Op::Jump(i, ms) => self.instances[i].clock_ahead += ms * MS,
            Op::Slow(i, ms) => self.instances[i].sync = ms.max(1) * MS,
            Op::Fail(i, operations, keep) => {
                if self.instances[i].up {
                    let instance = &mut self.instances[i];
                    instance.struck |= instance.failing.is_some() && !instance.disk.fault_pending();
                    instance.failing = Some(keep);
                    self.instances[i].disk.fail_nth(operations);
                }
            }
            Op::Full(i) => {
                let used = self.instances[i].disk.used();
                self.instances[i].disk.set_capacity(used);
            }
            Op::FullLog(i) => {
                self.instances[i].disk.fill(|path| path.components().any(|c| c.as_os_str() == "log"))
            }
            Op::FullData(i) => {
                self.instances[i].disk.fill(|path| path.components().all(|c| c.as_os_str() != "log"))
            }
            Op::Free(i) => self.free(i),
            Op::Drop(i) => self.drop_group(i),
            Op::Create(i, which) => self.make_group(i, which),
            Op::Checkpoint(i, database) => self.checkpoint(i, database),
            Op::CheckpointCut(i, database, operations, keep) => {
                self.operate(Op::PowerCut(i, operations, keep));
                self.checkpoint(i, database);
            }
            Op::Failover(i) => drop(self.order(i, Command::Failover { group: self.group_of(i) })),
            Op::Force(i) => {
                if self.may_force(i) {
                    self.order(i, Command::ForceFailover { group: self.group_of(i) });
                }
            }
            Op::Offline(i) => drop(self.order(i, Command::Offline { group: self.group_of(i) })),
            Op::Suspend(i, d) => drop(self.order(i, Command::Suspend { database: self.database_ids[d] })),
            Op::Leave(i, d) => drop(self.order(i, Command::LeaveDatabase { database: self.database_ids[d] })),
            Op::Join(i, d) => drop(self.order(i, Command::JoinDatabase { database: self.database_ids[d] })),
            Op::Isolate(i, ways) => {
                for j in (0..self.instances.len()).filter(|j| *j != i) {
                    self.cut[i][j] |= ways & 1 != 0;
                    self.cut[j][i] |= ways & 2 != 0;
                }
            }
            Op::HealAll => self.cut.iter_mut().flatten().for_each(|cut| *cut = false),
            Op::CrashAll(keep) => {
                self.probe("everybody lost power");
                for i in 0..self.instances.len() {
                    self.crash(i, keep.wrapping_add(i as u64));
                }
            }
            Op::RestartAll(apart, order) => {
                let n = self.instances.len();
                for k in 0..n {
                    let i = (k * (1 + (order % 2) as usize * (n - 2)) + order as usize / 2) % n;
                    let at = self.now + apart * MS * k as u64;
                    self.schedule(at, i, 0, What::Start);
                }
            }
            Op::Wipe(i) => {
                if self.may_wipe(i) {
                    self.wipe(i);
                }
            }
            Op::Keep(i) => self.put_aside(i),
            Op::Old(i) => {
                if self.may_wipe(i) {
                    self.go_back(i);
                }
            }
            Op::Damage(i, n) => {
                if !self.instances[i].up {
                    self.damage(i, n);
                }
            }
            Op::ForceQuorum(i) => {
                self.probe("quorum forced");
                self.order(i, Command::ForceQuorum);
            }
            Op::Enlist => {
                self.probe("witness asked in again");
                self.witness_dismissed = false;
            }
            Op::Dismiss(i) => {
                self.witness_dismissed |= i == self.plan.instances;
                if let Some(leader) = self.leader(self.side_of(i)) {
                    self.order(leader, Command::RemoveMember { instance: instance_id(i) });
                }
            }
            Op::Sick(i) => {
                let reason = "the plan says so".into();
                self.at(i, 0, What::Tell(Box::new(Event::Unhealthy { group: None, reason })));
            }
            Op::Better(i) => {
                let reason = "the plan said so".into();
                self.at(i, 0, What::Tell(Box::new(Event::Recovering { group: None, reason })));
            }
            Op::Well(i) => self.at(i, 0, What::Tell(Box::new(Event::Healthy { group: None }))),
            Op::Resume(i, d) => drop(self.order(i, Command::Resume { database: self.database_ids[d] })),
            Op::Yield(side) => self.give_up(side),
            Op::Take(side) => self.take(side),
            Op::Apart(ways) => self.part(ways),
            Op::Far(ms) => self.far = ms * MS,
            Op::Pace(pace) => self.pace(pace),
            _ => self.operate_on_leader(op),
        }
    }

    /// A disk may be lost when nobody else's is, and another replica has every database whole by anybody's account.
    fn may_wipe(&self, i: usize) -> bool {
        // Nor may it take the majority of the votes along, and everybody must know whose votes those are and will be:
        // a vote is taken from who is not heard.
        let votes = |w: &World| {
            let side = &w.instances[w.members_of(w.side_of(i))];
            let statuses = side.iter().map(|o| o.node.as_ref()?.cluster_status());
            let statuses = statuses.collect::<Option<Vec<_>>>()?;
            let voters = |status: &ClusterStatus| {
                let voters = status.members.iter().filter(|m| m.vote).map(|m| m.member.instance);
                voters.collect::<Vec<_>>()
            };
            let all = voters(statuses.first()?);
            let undecided = side.iter().filter_map(|o| o.node.as_ref()).any(Node::votes_are_undecided);
            let heard = statuses.iter().flat_map(|s| &s.members).all(|m| m.local || m.heard);
            let settled = statuses.iter().all(|s| !s.waits_for_disk && voters(s) == all);
            let settled = settled && heard && !undecided;
            let left = all.iter().filter(|v| **v != instance_id(i)).count();
            Some(settled && left * 2 > all.len())
        };
        self.instances.iter().all(|o| o.up) && votes(self).unwrap_or(false) && self.may_lose(i)
    }

    fn may_lose(&self, i: usize) -> bool {
        if self.instances.iter().any(|o| o.wiped || !o.left.is_empty()) {
            return false;
        }
        if i >= self.plan.instances {
            return true;
        }
        let elsewhere = |config: &GroupConfig| {
            let others = config.replicas.iter().filter(|r| r.instance != Some(instance_id(i)));
            others.into_iter().any(|r| config.is_failover_ready(r.id))
        };
        // Nor while a member has it in its store's log that only this one shall be in the set: that may be decided yet, or
        // is already and nobody knows.
        let side = &self.instances[self.members_of(self.side_of(i))];
        let nodes = side.iter().filter_map(|o| o.node.as_ref());
        let foreseen: Vec<GroupConfig> = nodes.flat_map(Node::foreseen_configs).collect();
        let agreed = &self.agreed[self.side_of(i)];
        agreed.iter().chain(&foreseen).all(elsewhere) && agreed.is_some()
    }

    /// Nobody forces a replica that was removed (and perhaps added again as another one), that counts on another one which was, or
    /// that holds a database that was removed, and does not know it yet: that makes two groups of one.
    fn may_force(&self, i: usize) -> bool {
        let config = self.leader(self.side_of(i)).and_then(|l| self.status(l)).map(|s| s.config);
        let known = self.status(i).map(|s| s.config.replicas).unwrap_or_default();
        let member = config.is_none_or(|c| {
            c.replica_named(&name(i)).is_some() && known.iter().all(|r| c.replica(r.id).is_some())
        });
        let theirs = self.status(i).map(|s| s.config.databases).unwrap_or_default();
        member && theirs.iter().all(|d| self.database_ids[index_of(d.id)] == d.id)
    }

    /// An instance, which may be down, has begun a later epoch than this.
    fn has_led_since(&self, i: usize, epoch: Epoch) -> bool {
        let later = (std::ops::Bound::Excluded(epoch), std::ops::Bound::Unbounded);
        self.check.epochs.range(later).any(|(_, start)| start.instance == i)
    }

    /// Commands that are given to whoever leads.
    fn operate_on_leader(&mut self, op: Op) {
        let side = match op {
            Op::Mode(i, _) | Op::Automatic(i, _) | Op::Seeding(i, _) | Op::Timeout(i, _) => self.side_of(i),
            Op::Remove(i) | Op::Add(i) => self.side_of(i),
            _ => self.source_side(),
        };
        let Some(leader) = self.leader(side) else { return };
        let Some(config) = self.status(leader).map(|s| s.config) else { return };
        let group = config.id;
        // Who is paused may be about to lead: somebody told it to, and it has not heard that yet.
        let asleep = |i: &usize| self.instances[*i].paused_until > self.now && !self.plan.cluster;
        let others = self.members_of(side).filter(|i| *i != leader);
        let unaware = others.clone().any(|i| asleep(&i) || self.has_led_since(i, config.stamp.epoch))
            || others
                .filter_map(|i| self.status(i))
                .any(|s| s.role == RoleStatus::Primary || s.config.stamp.epoch > config.stamp.epoch);
        if unaware && matches!(op, Op::Remove(_) | Op::RemoveDatabase(_) | Op::AddDatabase(_)) {
            // Two lead after a forced failover: nobody changes the group before it is one again.
            return;
        }
        match op {
            Op::Required(n) => self.require(leader, &config, n),
            Op::Listeners(count) => self.set_listeners(leader, group, count),
            Op::Mode(i, _) | Op::Automatic(i, _) | Op::Seeding(i, _) | Op::Timeout(i, _) => {
                self.modify_replica(leader, &config, i, op)
            }
            Op::Remove(i) => {
                let Some(replica) = config.replica_named(&name(i)).map(|r| r.id) else { return };
                self.order(leader, Command::RemoveReplica { group, replica });
            }
            Op::Add(i) if config.replica_named(&name(i)).is_none() => {
                self.probe("replica added");
                let replica = Replica::new(replica_id(i, self.commands + 1), name(i), options(i, &self.plan));
                self.order(leader, Command::AddReplica { group, replica: Box::new(replica) });
                let name = group_name(self.side_of(i));
                self.order(i, Command::Join { name, cluster_type: None });
            }
            // A removal that crosses a forced failover leaves the database in the group and out of it at once.
            Op::RemoveDatabase(d) if !self.plan.force => {
                self.order(leader, Command::RemoveDatabase { database: self.database_ids[d] });
            }
            Op::AddDatabase(d) => self.add_database(leader, d),
            _ => {}
        }
    }

    fn add_database(&mut self, leader: usize, d: usize) {
        if self.instances[leader].engines.get(&d).is_none_or(|e| e.mode != Mode::Standalone) {
            return;
        }
        for other in (0..self.instances.len()).filter(|i| *i != leader) {
            self.purge(other, d);
        }
        if self.dice.coin() {
            // Another database of that name, without a past.
            self.forget_membership(d);
            self.instances[leader].engines.remove(&d);
            let ground = self.instances[leader].ground();
            let (dir, disk) = (database_dir(d), &ground.env.disk);
            let gone = disk.remove_dir_all(&dir).and_then(|()| disk.sync_dir(Path::new(DATA)));
            let gone = gone.map_err(Trouble::from);
            match gone.and_then(|()| Engine::create(&ground, &dir, log_id(d))) {
                Ok(engine) => drop(self.instances[leader].engines.insert(d, engine)),
                Err(_) => return,
            }
        }
        let Some(engine) = self.instances[leader].engines.get_mut(&d) else { return };
        engine.mode = Mode::Resolving;
        engine.content.enter();
        let facts = engine.facts();
        let log_epoch = engine.log.epoch();
        let id = self.database_ids[d];
        let database = Box::new(GroupDatabase::new(id, format!("db{d}"), engine.log.log_id()));
        self.order(leader, Command::AddDatabase { group: self.group_of(leader), database, log_epoch });
        self.at(leader, 0, What::Tell(Box::new(Event::DatabaseOpened { database: id, facts })));
    }

    /// What is left of an earlier membership of a database is thrown away by hand.
    pub(crate) fn purge(&mut self, i: usize, database: usize) {
        self.instances[i].engines.remove(&database);
        let disk = &self.instances[i].env.disk;
        let disk = if self.instances[i].up { disk.clone() } else { Arc::new(self.instances[i].disk.clone()) };
        let dir = database_dir(database);
        let gone = disk.remove_dir_all(&dir).and_then(|()| disk.sync_dir(Path::new(DATA)));
        let (tear, failing) = (self.instances[i].tear, self.instances[i].failing);
        if gone.is_err() && tear.or(failing).is_some() {
            // Whoever does it sees that it failed, and does it again: half of a copy is none that could be opened.
            if let Some(keep) = tear {
                self.crash(i, keep);
            }
            self.purge(i, database);
        }
    }

    fn checkpoint(&mut self, i: usize, database: usize) {
        let Some(engine) = self.instances[i].engines.get_mut(&database) else { return };
        let primary = engine.mode == Mode::Primary;
        match engine.content.checkpoint(primary) {
            Err(Trouble::Broken(what)) => self.check.fail(format!("checkpoint on instance {i}: {what}")),
            Err(_) => {
                if let Some(keep) = self.instances[i].tear {
                    self.crash(i, keep);
                }
            }
            Ok(()) => self.look(i, database),
        }
    }

    fn free(&mut self, i: usize) {
        // A power cut that was to come is not undone by making room.
        if self.instances[i].tear.is_none() {
            self.instances[i].disk.heal();
        }
    }

    // ---- care -------------------------------------------------------------------------------------------------------

    /// No more faults from now on; what is down starts.
    pub(crate) fn stop_faults(&mut self) {
        self.healing = Some(self.now);
        self.note(|| "== the faults stop".into());
        for i in 0..self.instances.len() {
            if let Some(keep) = self.instances[i].tear.take() {
                self.crash(i, keep);
            }
            // What a failed operation left behind in a process that went on is gone when an operator starts it again.
            let struck = self.instances[i].struck || !self.instances[i].disk.fault_pending();
            if let Some(keep) = self.instances[i].failing.filter(|_| struck) {
                self.crash(i, keep);
            }
            self.instances[i].disk.heal();
            self.redo_goes_on(i);
            self.instances[i].sync = MS;
            self.instances[i].paused_until = 0;
            self.at(i, 0, What::Tell(Box::new(Event::Healthy { group: None })));
            for j in 0..self.instances.len() {
                self.cut[i][j] = false;
            }
            if !self.instances[i].up {
                self.start(i);
            }
        }
    }

    /// Every fifth of a second: connections, permissions, and in the end the operator who puts things right.
    pub(crate) fn care(&mut self) {
        self.connect_all();
        self.call_witness();
        self.set_up_pair();
        self.manage();
        for i in 0..self.instances.len() {
            // Given again to an instance that lost the group.
            let group = self.status(i).map(|s| s.config.id).filter(|_| self.instances[i].up);
            let before = std::mem::replace(&mut self.instances[i].allowed, group);
            self.take_back_what_left(i);
            self.bind(i);
            self.bind_let_go(i);
            if let Some(group) = group.filter(|_| before != group) {
                self.order(i, Command::AllowCreate { group, allowed: true });
            }
        }
        if let Some(since) = self.healing {
            self.whole = self.wrote_since && self.is_whole();
            if !self.whole {
                self.put_right(since);
            }
        }
    }

    fn put_right(&mut self, since: Micros) {
        for i in 0..self.instances.len() {
            let Some(status) = self.status(i) else { continue };
            for database in status.databases.iter().filter(|d| d.left) {
                self.order(i, Command::JoinDatabase { database: database.database });
            }
            for database in status.databases.iter().filter(|d| d.suspended.is_some()) {
                self.order(i, Command::Resume { database: database.database });
            }
        }
        self.put_group_right();
        let mut led = true;
        for side in 0..self.sides() {
            led &= self.settle_side(side, since);
        }
        if led && self.settle_pair() {
            // Something must be written after the faults, and then be everywhere.
            self.rounds += 1;
            if self.rounds.is_multiple_of(10) {
                for d in 0..self.plan.databases {
                    self.write(d, 1);
                }
                self.wrote_since = true;
            }
        }
    }

    /// A side is led; or, in the end, somebody is told to lead it.
    fn settle_side(&mut self, side: usize, since: Micros) -> bool {
        if let Some(leader) = self.leader(side).filter(|leader| !self.leads_with_nothing(*leader)) {
            self.leaderless_since[side] = None;
            let config = self.status(leader).map(|s| s.config).filter(|_| self.now > since);
            if let Some(config) = config {
                self.restore_options(leader, &config);
            }
            return true;
        }
        let since = *self.leaderless_since[side].get_or_insert(self.now);
        if self.now - since < PATIENCE {
            return false;
        }
        self.leaderless_since[side] = Some(self.now);
        // Nobody has the role: it was given up, or (where force is allowed) those who know are gone from the group.
        let known = |w: &World, i: usize| {
            let status = w.status(i).filter(|s| s.databases.iter().all(|d| d.open) && w.may_force(i))?;
            // As the views show it: who has more of the log.
            let log: u64 = status.databases.iter().map(|d| d.hardened.0).sum();
            Some((status.durable, status.config.is_failover_ready(status.me), log, i))
        };
        let best = self.members_of(side).filter_map(|i| known(self, i)).max();
        let Some((_, ready, _, i)) = best else { return false };
        let given_up = self.status(i).is_some_and(|s| s.config.primary.is_none());
        // Nor does a manager promote who is asynchronous, be it the last primary.
        let by_hand = |r: &Replica| match self.plan.external {
            true => !r.is_synchronous(),
            false => self.plan.cluster && r.options.failover_mode == FailoverMode::Manual,
        };
        let by_hand = self.status(i).is_some_and(|s| s.config.replicas.iter().any(by_hand));
        if self.plan.cluster && !given_up && !by_hand && !self.plan.force {
            // A cluster needs nobody.
            return false;
        }
        let cluster = self.instances[i].node.as_ref().and_then(Node::cluster_status);
        let in_question = cluster.is_some_and(|c| c.quorum == QuorumState::Forced);
        if (given_up || by_hand) && ready && !in_question {
            // Where the primary is there and does not lead, nobody takes the role but by force; who is synchronized loses nothing.
            let refused = |id: &CommandId| {
                self.instances[i].answers.get(id) == Some(&Err(CommandError::PrimaryNotConnected))
            };
            let group = self.group_of(i);
            let forced = !given_up && self.told_to_lead.as_ref().is_some_and(refused);
            let command = if forced { Command::ForceFailover { group } } else { Command::Failover { group } };
            self.told_to_lead = Some(self.order(i, command));
        } else if (given_up || self.plan.force) && self.may_force(i) {
            self.order(i, Command::ForceFailover { group: self.group_of(i) });
        }
        false
    }

    /// A database is closed where it is led, so nobody can follow there; an operator who may lose something has another one lead.
    fn leads_with_nothing(&self, leader: usize) -> bool {
        let closed = |s: GroupStatus| s.databases.iter().any(|d| !d.open);
        self.plan.force && self.status(leader).is_some_and(closed)
    }

    fn is_whole(&mut self) -> bool {
        let sides = (0..self.sides()).all(|side| self.side_is_whole(side));
        sides && self.pair_is_whole()
    }

    /// One primary; every other member follows it, is in the set when it is synchronous, and has the same log.
    fn side_is_whole(&mut self, side: usize) -> bool {
        let Some(leader) = self.leader(side) else { return false };
        let Some(status) = self.status(leader) else { return false };
        for replica in &status.config.replicas {
            let Some(i) =
                replica.instance.map(|id| (0..self.instances.len()).find(|i| instance_id(*i) == id))
            else {
                if self.remade {
                    return false;
                }
                continue;
            };
            let Some(i) = i else { return false };
            if i == leader {
                continue;
            }
            let Some(theirs) = self.status(i) else { return false };
            if theirs.role != RoleStatus::Secondary || theirs.durable != status.durable {
                return false;
            }
            if theirs.config != status.config {
                return false;
            }
        }
        if self.plan.pair.is_some() && status.databases.len() != self.plan.databases {
            return false;
        }
        for database in &status.databases {
            let index = index_of(database.database);
            if self.database_ids[index] != database.database || !database.open {
                return false;
            }
            for copy in &database.copies {
                let mine = status.config.replica(status.me).is_some_and(Replica::is_synchronous);
                let distributed = status
                    .config
                    .distributed
                    .as_ref()
                    .filter(|d| d.other().is_some_and(|m| m.id == copy.replica));
                let both = match (status.config.replica(copy.replica), distributed) {
                    (Some(replica), _) if replica.joined() => mine && replica.is_synchronous(),
                    (None, Some(distributed)) => distributed.is_synchronous(),
                    _ => continue,
                };
                let wanted = if both {
                    SynchronizationState::Synchronized
                } else {
                    SynchronizationState::Synchronizing
                };
                if copy.state != wanted || copy.positions.hardened < database.hardened {
                    return false;
                }
            }
            let engine = &self.instances[leader].engines[&index];
            if database.agreed < database.hardened || engine.log.appended() > database.agreed {
                return false;
            }
        }
        true
    }

    // ---- judging ----------------------------------------------------------------------------------------------------

    pub(crate) fn commits_of(&mut self, i: usize, database: usize) -> Vec<Commit> {
        let Some(engine) = self.instances[i].engines.get_mut(&database) else { return Vec::new() };
        match engine.content.commits() {
            Ok(rows) => rows.iter().copied().collect(),
            Err(error) => {
                self.check
                    .fail(format!("the log of database {database} on instance {i} cannot be read: {error}"));
                Vec::new()
            }
        }
    }

    /// Whoever the durable record of `keeper` names as synchronized has what `i` just acknowledged.
    pub(crate) fn check_members(
        &mut self,
        i: usize,
        keeper: usize,
        database: GroupDatabaseId,
        done: &[Commit],
    ) {
        // That a database has left the group is known to the others before it is on the primary's disk: they had all that it tells till then.
        let agreed = self.agreed[self.side_of(keeper)].as_ref();
        if agreed.is_some_and(|config| config.dropped || config.database(database).is_none()) {
            return;
        }
        let members = self.instances[keeper].recorded.get(&database).cloned().unwrap_or_default();
        for member in members {
            let Some(m) = (0..self.instances.len()).find(|m| instance_id(*m) == member) else { continue };
            let left = self.instances[m].left.contains(&database);
            if m == i || !self.instances[m].up || self.instances[m].wiped || left {
                continue;
            }
            for commit in done {
                let has = match self.engine(m, database).map(|e| e.content.commits()) {
                    Some(Ok(commits)) => commits.contains(commit),
                    _ => false,
                };
                if !has {
                    let number = commit.number;
                    self.check
                        .fail(format!("commit {number} acknowledged by {i}, but {m} in its set has it not"));
                }
            }
        }
    }

    /// A new primary has everything that was acknowledged before it, unless force was used.
    pub(crate) fn check_promotion(&mut self, i: usize, epoch: Epoch, opened: &[GroupDatabaseId]) {
        for database in opened.iter().map(|d| index_of(*d)) {
            let have = self.commits_of(i, database);
            if let Some(lost) = self.check.promoted(database, epoch, &have) {
                self.check.fail(format!(
                    "instance {i} begins epoch {} of database {database} without commit {} at {}",
                    epoch.0, lost.number, lost.end
                ));
            }
            let held = self.instances[i].held.get(&database).map_or(&[][..], Vec::as_slice);
            if let Some(lost) = held.iter().find(|commit| have.binary_search(commit).is_err()) {
                let what = format!("without commit {}, which was on its disk of before", lost.number);
                self.check
                    .fail(format!("instance {i} begins epoch {} of database {database} {what}", epoch.0));
            }
        }
    }

    /// When all is quiet: nothing acknowledged is missing, and all copies are equal.
    pub(crate) fn final_check(&mut self) {
        let Some(leader) = self.leader(self.source_side()) else { return };
        let Some(status) = self.status(leader) else { return };
        let sides = (0..self.sides()).filter_map(|side| self.status(self.leader(side)?));
        let members = sides.flat_map(|s| s.config.replicas).filter_map(|r| r.instance);
        let members: Vec<usize> = members.map(instance_index).collect();
        for database in &status.databases {
            let index = index_of(database.database);
            let have = self.commits_of(leader, index);
            let lost = self.check.owed(index).into_iter().find(|c| have.binary_search(c).is_err());
            if let Some(lost) = lost {
                self.check.fail(format!("commit {} of database {index} is lost in the end", lost.number));
            }
            for i in members.clone() {
                self.look(i, index);
                let theirs = self.commits_of(i, index);
                let lacks = have.iter().find(|c| theirs.binary_search(c).is_err());
                let other = theirs.iter().find(|c| have.binary_search(c).is_err());
                if lacks.is_some() || other.is_some() {
                    let what = format!("{i} lacks {lacks:?} and has {other:?}");
                    self.check.fail(format!("database {index} differs between {leader} and {i}: {what}"));
                }
            }
            self.compare(index);
        }
    }

    /// Everybody's own view, for the report of a group that does not become whole.
    pub(crate) fn describe(&self) -> String {
        let mut lines = Vec::new();
        for (i, instance) in self.instances.iter().enumerate() {
            let connected: Vec<&usize> = instance.connections.keys().collect();
            lines.push(format!("\ninstance {i} up {} connected to {connected:?}", instance.up));
            if let Some(status) = instance.node.as_ref().and_then(|n| n.cluster_status()) {
                lines.push(format!("  {status:?}"));
            }
            if let Some(status) = self.status(i) {
                let config = &status.config;
                lines.push(format!(
                    "  {:?} {:?} durable {:?} primary {:?} required {}",
                    status.role,
                    status.operational,
                    status.durable,
                    config.primary,
                    config.options.required_synchronized_secondaries
                ));
                for d in &status.databases {
                    lines.push(format!("  {d:?}"));
                    lines.push(format!("    config {:?}", config.database(d.database)));
                }
            }
        }
        lines.join("\n")
    }
}
