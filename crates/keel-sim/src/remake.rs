//! The group as a whole: it is dropped and made anew, on whatever instance, with databases that stand alone there, are restored, or are
//! new; and what its listeners are.
//!
//! What must hold: a database that is let go to go on alone has everything that was acknowledged, and takes writes at once; of one that is
//! let go RESTORING everywhere, somebody has it; and a new group has all that its databases had when it was made.

use crate::care::{group_name, group_options, options, replica_id};
use crate::engine::{Engine, Mode, Trouble};
use crate::instance::{Instance, database_dir, index_of, instance_id, log_id, name};
use crate::world::{GROUPS, MS, Micros, What, World};
use keel_cluster::{
    Command, Event, GroupConfig, GroupDatabase, GroupDatabaseId, GroupId, LogFacts, Node, Replica, RoleStatus,
};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Who has no group and should, or a group that nobody has, is looked after so often once the faults have stopped.
const CARE_EVERY: Micros = 3000 * MS;

impl Instance {
    /// After a start: databases that stand alone on the disk and that no group has.
    pub(crate) fn open_alone(&mut self, ids: &[GroupDatabaseId]) -> Result<(), Trouble> {
        let ground = self.ground();
        for (index, id) in ids.iter().enumerate() {
            if !self.alone.contains(id) || self.engines.contains_key(&index) {
                continue;
            }
            if let Some(mut engine) = Engine::open(&ground, &database_dir(index), log_id(index))? {
                engine.content.leave()?;
                engine.mode = Mode::Standalone;
                self.engines.insert(index, engine);
            }
        }
        Ok(())
    }
}

impl World {
    /// DROP AVAILABILITY GROUP.
    pub(crate) fn drop_group(&mut self, on: usize) {
        let on = if on < self.plan.instances { Some(on) } else { self.leader(0) };
        let Some(i) = on.filter(|i| self.instances[*i].up) else { return };
        let again = |node: &Node| node.dropped_here(&group_name(0));
        let shown = self.status(i).map(|s| s.config.id);
        let Some(group) = shown.or_else(|| self.instances[i].node.as_ref().and_then(again)) else { return };
        self.probe("group dropped");
        self.remade = true;
        self.order(i, Command::DropGroup { group });
    }

    /// CREATE AVAILABILITY GROUP on an instance, and JOIN on the others.
    pub(crate) fn make_group(&mut self, i: usize, which: u8) {
        let has_one = (0..self.plan.instances).any(|j| self.status(j).is_some());
        // Nothing keeps two groups of a name apart where there is no cluster.
        let clear = self.plan.cluster || !has_one && self.instances.iter().all(|o| o.up);
        if !self.instances[i].up || self.instances[i].paused_until > self.now || !clear {
            return;
        }
        self.remade = true;
        let made = self.groups_made.len();
        let id = GroupId(Uuid::from_u128(0xC000 + made as u128));
        let mut config = GroupConfig::new(id, group_name(0), group_options(&self.plan));
        for k in 0..self.plan.instances {
            let replica = replica_id(k, 0x1000 + made as u64);
            config.replicas.push(Replica::new(replica, name(k), options(k, &self.plan)));
        }
        let mut opened = Vec::new();
        for d in (0..self.plan.databases).filter(|d| which & (1 << d) != 0) {
            if !self.is_to_be_had(i, d) {
                continue;
            }
            let Some(engine) = self.instances[i].engines.get_mut(&d) else { continue };
            engine.content.enter();
            let database = self.database_ids[d];
            config.databases.push(GroupDatabase::new(database, format!("db{d}"), engine.log.log_id()));
            opened.push(Event::DatabaseOpened { database, facts: engine.facts() });
        }
        self.groups_made.push(id);
        let log_epoch = self.check.newest_epoch();
        self.order(i, Command::CreateGroup { config: Box::new(config), log_epoch });
        for event in opened {
            self.at(i, 0, What::Tell(Box::new(event)));
        }
        for j in (0..self.plan.instances).filter(|j| *j != i) {
            self.order(j, Command::Join { name: group_name(0), cluster_type: None });
        }
    }

    /// A database can be given to a new group on this instance: it stands alone there, or is restored, or made.
    fn is_to_be_had(&mut self, i: usize, d: usize) -> bool {
        let id = self.database_ids[d];
        let nodes = || self.instances.iter().filter_map(|o| o.node.as_ref());
        let has = |config: &GroupConfig| !config.dropped && config.database(id).is_some();
        let taken = nodes().any(|n| n.configs().chain(n.agreed_configs()).any(has))
            || nodes().flat_map(Node::foreseen_configs).any(|config| has(&config));
        match self.instances[i].engines.get(&d).map(|engine| engine.mode) {
            _ if taken => false,
            Some(mode) => mode == Mode::Standalone,
            None => self.instances.iter().all(|o| o.up && o.tear.is_none()) && self.restore(i, d),
        }
    }

    /// RESTORE DATABASE … WITH RECOVERY of what is there, or another database of that name.
    fn restore(&mut self, i: usize, d: usize) -> bool {
        if (0..self.plan.instances).any(|j| self.instances[j].engines.contains_key(&d)) {
            // It stands alone elsewhere.
            return false;
        }
        let Ok(mut copies) = self.restoring_copies(d) else { return false };
        let mut held = BTreeSet::new();
        for (_, engine) in &mut copies {
            held.extend(engine.content.commits().into_iter().flatten().copied());
        }
        if let Some(lost) = self.check.owed(d).into_iter().find(|commit| !held.contains(commit)) {
            let what = format!("commit {} of database {d} is in no copy that was let go", lost.number);
            self.check.fail(what);
        }
        let kept = copies.into_iter().find(|(k, _)| *k == i).map(|(_, engine)| engine);
        self.forget_membership(d);
        for j in (0..self.instances.len()).filter(|j| *j != i || kept.is_none()) {
            self.purge(j, d);
        }
        let restored = match kept {
            Some(mut engine) => {
                self.probe("database restored");
                engine.content.leave().map(|()| engine)
            }
            None => Engine::create(&self.instances[i].ground(), &database_dir(d), log_id(d)),
        };
        match restored {
            Ok(mut engine) => {
                engine.mode = Mode::Standalone;
                self.instances[i].alone.insert(self.database_ids[d]);
                self.instances[i].engines.insert(d, engine);
                true
            }
            Err(error) => {
                if !self.instances[i].out_of_room() {
                    self.disk_failed(i, &error);
                }
                false
            }
        }
    }

    /// What is on the disks of a database that no group has: opened, by instance.
    fn restoring_copies(&self, d: usize) -> Result<Vec<(usize, Engine)>, Trouble> {
        let mut copies = Vec::new();
        for i in 0..self.plan.instances {
            if let Some(engine) = Engine::open(&self.instances[i].ground(), &database_dir(d), log_id(d))? {
                copies.push((i, engine));
            }
        }
        Ok(copies)
    }

    /// The group of a database was dropped: nothing of it is thrown away.
    pub(crate) fn was_dropped(&self, i: usize, database: GroupDatabaseId) -> bool {
        let dropped = |config: &GroupConfig| config.dropped && config.database(database).is_some();
        let node = || self.instances[i].node.iter();
        let alone = node().any(|node| node.dropped_here(&group_name(0)).is_some());
        self.remade && (!self.plan.cluster || alone || node().flat_map(Node::agreed_configs).any(dropped))
    }

    /// Who has joined a group again that was dropped here alone finds the copies that were let go.
    pub(crate) fn bind_let_go(&mut self, i: usize) {
        let Some(status) = self.status(i) else { return };
        for database in status.databases.iter().filter(|d| !d.open && !d.left).map(|d| d.database) {
            let (index, instance) = (index_of(database), &mut self.instances[i]);
            let there = instance.engines.contains_key(&index) || instance.expecting.contains_key(&database);
            if there || self.database_ids[index] != database || !instance.let_go.remove(&database) {
                continue;
            }
            match Engine::open(&instance.ground(), &database_dir(index), log_id(index)) {
                Ok(Some(engine)) => {
                    let facts = LogFacts { reached: instance.mark_of(database), ..engine.facts() };
                    instance.engines.insert(index, engine);
                    self.at(i, 0, What::Tell(Box::new(Event::DatabaseOpened { database, facts })));
                }
                Ok(None) => {}
                Err(error) => self.disk_failed(i, &error),
            }
        }
    }

    /// A database is let go and goes on alone: it has everything that was acknowledged.
    pub(crate) fn check_let_go(&mut self, i: usize, d: usize) {
        if self.plan.force || self.plan.pair.is_some() {
            return;
        }
        let have = self.commits_of(i, d);
        if let Some(lost) = self.check.owed(d).into_iter().find(|c| have.binary_search(c).is_err()) {
            self.check.fail(format!("database {d} goes on alone on {i} without commit {}", lost.number));
        }
    }

    /// Somebody writes to a database that stands alone; what it has counts from then on.
    pub(crate) fn write_alone(&mut self, i: usize, d: usize) {
        self.numbers += 1;
        let number = self.numbers;
        let Some(engine) = self.instances[i].engines.get_mut(&d) else { return };
        let written = engine.content.write(number, 10).and_then(|_| engine.content.flush());
        for block in engine.sealed() {
            self.check.block(d, &block);
        }
        match written {
            Ok(()) => {
                self.probe("written alone");
                let commits = self.commits_of(i, d);
                self.check.brought(d, &commits);
            }
            Err(Trouble::Disk(_)) if self.instances[i].out_of_room() => {}
            Err(error) => self.disk_failed(i, &error),
        }
    }

    /// Everybody who is named in the group joins it, and where nobody has one it is made.
    pub(crate) fn put_group_right(&mut self) {
        if !self.remade || self.now < self.cared + CARE_EVERY {
            return;
        }
        self.cared = self.now;
        if (0..self.plan.instances).all(|i| self.status(i).is_none()) {
            let gone =
                |i: &usize| self.instances[*i].node.iter().any(|n| n.dropped_here(&group_name(0)).is_some());
            if let Some(i) = (0..self.plan.instances).find(gone) {
                return self.drop_group(i);
            }
            self.probe("group made after the faults");
            let alone = |i: &usize| self.instances[*i].engines.values().any(|e| e.mode == Mode::Standalone);
            let turn = self.groups_made.len() % self.plan.instances;
            let i = (0..self.plan.instances).find(alone).unwrap_or(turn);
            return self.make_group(i, u8::MAX);
        }
        // Who has dropped it alone is in the way of a primary that waits to hear from everybody.
        let shown = (0..self.plan.instances).find(|i| self.status(*i).is_some());
        let Some(leader) = self.leader(0).or(shown) else { return };
        let named = self.status(leader).map(|s| s.config.replicas).unwrap_or_default();
        for i in 0..self.plan.instances {
            if self.status(i).is_none() && named.iter().any(|r| r.server_name == name(i)) {
                self.order(i, Command::Join { name: group_name(0), cluster_type: None });
            }
        }
        let made_anew = self.status(leader).is_some_and(|s| {
            s.role == RoleStatus::Primary
                && s.config.id != GROUPS[0]
                && s.config.instance_of(s.me) == Some(instance_id(leader))
        });
        if made_anew {
            self.probe("group made anew");
        }
    }
}
