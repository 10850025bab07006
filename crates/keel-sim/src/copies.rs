//! What a shell does on its disk for the machine: the records, and copies of databases that are written, followed, promoted
//! and seeded.

use crate::engine::{self, Engine, Mode, Trouble, write_file};
use crate::instance::{STORE, Worker, database_dir, database_id, index_of, instance_id, log_id, record_path};
use crate::world::{Frame, GROUPS, MS, What, World};
use keel_base::env::sim::SplitMix;
use keel_base::{Epoch, Lsn};
use keel_cluster::{
    CopyPositions, Event, GroupDatabaseId, GroupId, GroupRecord, LogFacts, Msg, ReceiveFailure, SendFailure,
    SessionId,
};
use std::path::Path;

impl World {
    // ---- the record -------------------------------------------------------------------------------------------------

    pub(crate) fn persist(&mut self, i: usize, revision: u64, bytes: &[u8]) {
        let Ok(record) = GroupRecord::decode(bytes) else { return };
        let group = record.config.id;
        let instance = &mut self.instances[i];
        let written = write_file(instance.env.disk.as_ref(), &record_path(group), bytes);
        match written {
            Ok(()) => {
                instance.remember(&record);
                self.note_turn(i, &record.config);
                self.answer_in_order(i, Worker::Records, (0, 2 * MS), Event::Persisted { group, revision });
            }
            Err(error) if instance.tear.is_some() => self.disk_failed(i, &error.into()),
            // As late as a success.
            Err(_) => self.answer_in_order(
                i,
                Worker::Records,
                (0, 2 * MS),
                Event::PersistFailed { group, revision },
            ),
        }
    }

    pub(crate) fn forget(&mut self, i: usize, group: GroupId) {
        let instance = &mut self.instances[i];
        instance.allowed = None;
        if group == GROUPS[0] || group == GROUPS[1] {
            instance.recorded.clear();
        }
        self.remove_small(i, &record_path(group));
    }

    pub(crate) fn persist_store(&mut self, i: usize, revision: u64, bytes: &[u8]) {
        let instance = &mut self.instances[i];
        let written = write_file(instance.env.disk.as_ref(), Path::new(STORE), bytes);
        match written {
            Ok(()) => self.answer_in_order(i, Worker::Records, (0, MS), Event::StorePersisted { revision }),
            Err(error) if instance.tear.is_some() => self.disk_failed(i, &error.into()),
            Err(_) => {
                self.answer_in_order(i, Worker::Records, (0, MS), Event::StorePersistFailed { revision })
            }
        }
    }

    pub(crate) fn remove_small(&mut self, i: usize, path: &Path) {
        let disk = &self.instances[i].env.disk;
        let removed = if disk.exists(path) {
            disk.remove(path).and_then(|()| disk.sync_dir(Path::new("/data/group")))
        } else {
            Ok(())
        };
        if let Err(error) = removed {
            self.disk_failed(i, &error.into());
        }
    }

    /// What a database was in the group counts no more; it will be another one there.
    pub(crate) fn forget_membership(&mut self, index: usize) {
        self.check.database_left(index);
        self.instances.iter_mut().for_each(|instance| drop(instance.held.remove(&index)));
        let generation = self.check.generations.get(&index).copied().unwrap_or(0);
        self.database_ids[index] = database_id(index, generation);
    }

    pub(crate) fn release(&mut self, i: usize, database: GroupDatabaseId, writable: bool) {
        let index = index_of(database);
        if self.database_ids.get(index) != Some(&database) {
            return;
        }
        if writable {
            if self.instances[i].engines.get(&index).is_some_and(|e| e.mode == Mode::Standalone) {
                // It was given to a group that was not made.
                return;
            }
            self.check_let_go(i, index);
            self.forget_membership(index);
            self.instances[i].alone.insert(self.database_ids[index]);
            if let Some(engine) = self.instances[i].engines.get_mut(&index) {
                engine.mode = Mode::Standalone;
                engine.pending.clear();
                engine.senders.clear();
                if let Err(error) = engine.content.leave() {
                    self.disk_failed(i, &error);
                }
            }
            // What other instances have of it is a restoring copy of nothing.
            for other in 0..self.instances.len() {
                if other != i {
                    self.instances[other].engines.remove(&index);
                }
            }
            if self.remade && self.instances[i].up {
                self.write_alone(i, index);
            }
            return;
        }
        if let Some(mut engine) = self.instances[i].engines.remove(&index)
            && let Err(error) = engine.content.fence()
        {
            self.disk_failed(i, &error);
        }
        let group = self.group_of(i);
        if self.instances[i].node.as_ref().is_some_and(|node| node.has_left(group, database)) {
            self.probe("copy left alone");
            self.instances[i].left.insert(database);
            return;
        }
        if self.was_dropped(i, database) {
            self.probe("let go, restoring");
            self.instances[i].let_go.insert(database);
            return;
        }
        let instance = &self.instances[i];
        let strikes = instance.tear.is_some() || instance.failing.is_some();
        if let Err(error) = Engine::remove(&instance.ground(), &database_dir(index))
            && strikes
        {
            self.disk_failed(i, &error);
        }
    }

    /// What was joined again is opened, unless a new copy is on its way.
    pub(crate) fn take_back_what_left(&mut self, i: usize) {
        let group = self.group_of(i);
        let Some(node) = self.instances[i].node.as_ref().filter(|_| self.instances[i].up) else { return };
        let joined: Vec<GroupDatabaseId> =
            self.instances[i].left.iter().copied().filter(|id| !node.has_left(group, *id)).collect();
        for database in joined {
            self.instances[i].left.remove(&database);
            let index = index_of(database);
            let there = self.instances[i].engines.contains_key(&index)
                || self.instances[i].expecting.contains_key(&database);
            if there || self.database_ids.get(index) != Some(&database) {
                continue;
            }
            match Engine::open(&self.instances[i].ground(), &database_dir(index), log_id(index)) {
                Ok(Some(engine)) => {
                    self.probe("copy joined again");
                    let reached = self.instances[i].mark_of(database);
                    let facts = LogFacts { reached, ..engine.facts() };
                    self.instances[i].engines.insert(index, engine);
                    self.at(i, 0, What::Tell(Box::new(Event::DatabaseOpened { database, facts })));
                }
                Ok(None) => self.at(i, 0, What::Tell(Box::new(Event::DatabaseClosed { database }))),
                Err(error) => self.disk_failed(i, &error),
            }
        }
    }

    /// A database that stands alone on the disk of who leads the group that has taken it in: the record that names it was agreed on and
    /// not on that disk when the process started.
    pub(crate) fn bind(&mut self, i: usize) {
        let Some(status) = self.status(i).filter(|s| s.config.primary == Some(s.me) && !s.config.forwards())
        else {
            return;
        };
        for database in status.databases.iter().filter(|d| !d.open && !d.left).map(|d| d.database) {
            let index = index_of(database);
            let instance = &self.instances[i];
            let waits = instance.engines.get(&index).is_some_and(|engine| engine.mode == Mode::Standalone);
            if waits && self.database_ids.get(index) == Some(&database) {
                self.give_alone(i, database);
                continue;
            }
            let there = instance.engines.contains_key(&index) || instance.expecting.contains_key(&database);
            if there || self.database_ids.get(index) != Some(&database) {
                continue;
            }
            match Engine::open(&instance.ground(), &database_dir(index), log_id(index)) {
                Ok(Some(mut engine)) => {
                    self.probe("stood alone, and was taken in");
                    engine.content.enter();
                    let facts = LogFacts { reached: self.instances[i].mark_of(database), ..engine.facts() };
                    self.instances[i].engines.insert(index, engine);
                    self.at(i, 0, What::Tell(Box::new(Event::DatabaseOpened { database, facts })));
                }
                Ok(None) => {}
                Err(error) => self.disk_failed(i, &error),
            }
        }
    }

    /// A group has a database that stands alone: it was given up when it was made, and is there all the same.
    fn give_alone(&mut self, i: usize, database: GroupDatabaseId) {
        self.probe("stood alone, and was taken in");
        let Some(engine) = self.engine(i, database) else { return };
        engine.content.enter();
        let facts = engine.facts();
        self.at(i, 0, What::Tell(Box::new(Event::DatabaseOpened { database, facts })));
    }

    // ---- writing ----------------------------------------------------------------------------------------------------

    /// Clients write wherever writes are taken.
    pub(crate) fn write(&mut self, database: usize, count: u32) {
        for i in 0..self.instances.len() {
            let instance = &self.instances[i];
            let able =
                instance.up && !instance.fenced && !instance.drained && instance.paused_until <= self.now;
            if !able || instance.engines.get(&database).is_none_or(|e| e.mode != Mode::Primary) {
                continue;
            }
            for _ in 0..count {
                self.numbers += 1;
                let number = self.numbers;
                let filling = match self.dice.below(20) {
                    0 => self.dice.below(9000) as usize,
                    _ => self.dice.below(200) as usize,
                };
                let Some(engine) = self.instances[i].engines.get_mut(&database) else { break };
                match engine.content.write(number, filling) {
                    Ok(commits) => engine.pending.extend(commits),
                    Err(Trouble::Disk(_)) if self.instances[i].out_of_room() => break,
                    Err(error) => {
                        self.disk_failed(i, &error);
                        break;
                    }
                }
            }
            self.want_flush(i, database);
        }
    }

    pub(crate) fn want_flush(&mut self, i: usize, database: usize) {
        let sync = self.instances[i].sync;
        let Some(engine) = self.instances[i].engines.get_mut(&database) else { return };
        if !std::mem::replace(&mut engine.flushing, true) {
            let after = self.span(0, sync / 2);
            self.at(i, after, What::Flush(database));
        }
    }

    /// Hardens what was appended or received; its completion is told later. False when the instance died of it.
    pub(crate) fn flush_now(&mut self, i: usize, database: usize) -> bool {
        let Some(engine) = self.instances[i].engines.get_mut(&database) else { return true };
        let flushed = engine.content.flush();
        let sends = engine.mode == Mode::Primary || !engine.senders.is_empty();
        for block in engine.sealed() {
            self.check.block(database, &block);
            if sends {
                // On its way while the disk works: also what the disk then does not keep.
                self.send_block(i, database, block.bytes);
            }
        }
        match flushed {
            Ok(_) => true,
            Err(error) => {
                self.disk_failed(i, &error);
                false
            }
        }
    }

    pub(crate) fn send_block(&mut self, i: usize, database: usize, bytes: Vec<u8>) {
        let Ok(header) = keel_log::block::decode_header(&bytes) else { return };
        let id = self.database_ids[database];
        let apart = self.plan.pair.is_some();
        let Some(engine) = self.instances[i].engines.get_mut(&database) else { return };
        let agreed = if apart { engine.agreed() } else { header.hardened };
        let mut targets = Vec::new();
        for (peer, sender) in &mut engine.senders {
            if sender.may_send(header.first_lsn) {
                sender.sent(&header);
                targets.push((*peer, sender.session));
            }
        }
        for (peer, session) in targets {
            self.send(i, peer, Frame::Block { database: id, session, bytes: bytes.clone(), agreed });
        }
    }

    /// Sends what is on disk and was not sent.
    pub(crate) fn pump(&mut self, i: usize, database: GroupDatabaseId, peer: usize) {
        let apart = self.plan.pair.is_some();
        let Some(engine) = self.engine(i, database) else { return };
        let (log, reached) = (engine.log.clone(), engine.agreed());
        let Some(sender) = engine.senders.get_mut(&peer) else { return };
        let session = sender.session;
        let mut blocks = Vec::new();
        let scanned = (|| {
            let mut scanner = log.scan(sender.next)?;
            while let Some(block) = scanner.next()? {
                if !sender.may_send(block.header.first_lsn) {
                    break;
                }
                sender.sent(&block.header);
                // Who passes a log on says what its own set has of it, which is less than its writer had.
                let agreed = if apart { reached } else { block.header.hardened };
                blocks.push((block.bytes.to_vec(), agreed));
            }
            Ok(())
        })();
        match scanned {
            Ok(()) => {
                for (bytes, agreed) in blocks {
                    self.send(i, peer, Frame::Block { database, session, bytes, agreed });
                }
            }
            Err(Trouble::LogGone) => {
                let peer = instance_id(peer);
                let failure = SendFailure::LogGone;
                self.answer(i, 0, MS, Event::SendFailed { peer, database, session, failure });
            }
            Err(error) => self.disk_failed(i, &error),
        }
    }

    pub(crate) fn flush(&mut self, i: usize, database: usize) {
        if !self.flush_now(i, database) {
            return;
        }
        let Some(engine) = self.instances[i].engines.get_mut(&database) else { return };
        let lsn = engine.log.hardened();
        let sync = self.instances[i].sync;
        let after = self.span(sync / 2, sync);
        self.at(i, after, What::Flushed(database, lsn));
    }

    pub(crate) fn flushed(&mut self, i: usize, database: usize, lsn: Lsn) {
        let id = self.database_ids[database];
        let waits = self.instances[i].node.as_ref().is_some_and(|node| node.waits_for_others(id));
        let Some(engine) = self.instances[i].engines.get_mut(&database) else { return };
        engine.flushing = false;
        let more = engine.log.appended() > engine.log.hardened();
        // A log that was cut meanwhile has not hardened what it no longer has.
        let lsn = lsn.min(engine.log.hardened());
        let receiving = engine.receiving;
        let later = waits && engine.mode == Mode::Primary;
        if later {
            engine.untold = engine.untold.max(lsn);
            self.probe("own log heard of later");
        }
        if more {
            self.want_flush(i, database);
        }
        if !later {
            self.tell(i, Event::Hardened { database: id, lsn });
        }
        if let Some((peer, session, _)) = receiving {
            self.acknowledge(i, id, peer, session);
        }
    }

    pub(crate) fn acknowledge(
        &mut self,
        i: usize,
        database: GroupDatabaseId,
        peer: usize,
        session: SessionId,
    ) {
        let Some(engine) = self.engine(i, database) else { return };
        if engine.receiving.is_none_or(|r| r.1 != session) {
            return;
        }
        let positions = CopyPositions {
            received: engine.log.appended(),
            hardened: engine.log.hardened().min(engine.ack_limit),
            applied: engine.content.applied(),
        };
        self.send(i, peer, Frame::Ack { database, session, positions });
    }

    pub(crate) fn agree(&mut self, i: usize, database: GroupDatabaseId, lsn: Lsn) {
        let epoch = self.instances[i].epoch;
        let fenced = self.instances[i].fenced;
        let Some(engine) = self.engine(i, database) else { return };
        let hardened = engine.log.hardened();
        let told = engine.content.agree(lsn);
        let mut done = Vec::new();
        while let Some(commit) = engine.pending.front().copied().filter(|c| c.end <= lsn) {
            engine.pending.pop_front();
            done.push(commit);
        }
        let senders: Vec<(usize, SessionId)> = engine.senders.iter().map(|(p, s)| (*p, s.session)).collect();
        if lsn > hardened || fenced || self.instances[i].epoch != epoch {
            self.check.fail(format!("instance {i} agrees {lsn} with {hardened} hardened (fenced: {fenced})"));
        }
        if let Err(error) = told {
            self.check.fail(format!("instance {i}: {error}"));
        }
        let beside = self.partner_with(i, database);
        for commit in &done {
            self.check.acknowledge(index_of(database), *commit, epoch, beside.map(|b| b.1));
        }
        self.check_members(i, i, database, &done);
        if let Some((partner, _)) = beside {
            self.check_members(i, partner, database, &done);
        }
        for (peer, session) in senders {
            self.send(i, peer, Frame::Commit { database, session, agreed: lsn });
        }
    }

    // ---- following --------------------------------------------------------------------------------------------------

    pub(crate) fn received(&mut self, i: usize, from: usize, frame: Frame) {
        let peer = instance_id(from);
        match frame {
            Frame::Control(bytes) => match Msg::decode(&bytes) {
                Ok(msg) => self.tell(i, Event::Message { peer, msg }),
                Err(error) => self.check.fail(error.to_string()),
            },
            Frame::Ack { database, session, positions } => {
                self.tell(i, Event::Acked { peer, database, session, positions });
            }
            Frame::Commit { database, session, agreed } => {
                self.tell(i, Event::Announced { database, session, agreed });
            }
            Frame::Block { database, session, bytes, agreed } => {
                self.block(i, from, database, session, &bytes, agreed);
            }
            Frame::Image { database, image } => self.take_image(i, from, database, &image),
        }
    }

    pub(crate) fn block(
        &mut self,
        i: usize,
        from: usize,
        database: GroupDatabaseId,
        session: SessionId,
        bytes: &[u8],
        agreed: Lsn,
    ) {
        let Ok(header) = keel_log::block::decode(bytes) else {
            self.check.fail("a block was damaged on the way".into());
            return;
        };
        let Some(engine) = self.engine(i, database) else { return };
        let Some((_, _, epoch)) = engine.receiving.filter(|r| r.0 == from && r.1 == session) else { return };
        let end = engine.log.appended();
        if header.end_lsn() <= end {
            return;
        }
        let last = engine.log.last_checksum();
        match engine.content.receive(epoch, bytes) {
            Ok(()) => {
                self.tell(i, Event::Announced { database, session, agreed });
                self.want_flush(i, index_of(database));
            }
            Err(error @ Trouble::NotNext(_)) => {
                engine.receiving = None;
                let failure = if header.first_lsn > end {
                    self.probe("gap in the blocks");
                    ReceiveFailure::Gap
                } else {
                    let what = format!("instance {i} at {end} ({last:08x}) was sent {header:?}: {error}");
                    self.check.fail(what);
                    ReceiveFailure::Mismatch
                };
                self.tell(i, Event::ReceiveFailed { database, session, failure });
            }
            Err(Trouble::Disk(_)) if self.instances[i].out_of_room() => {
                if let Some(engine) = self.engine(i, database) {
                    engine.receiving = None;
                }
                let failure = ReceiveFailure::WriteFailed;
                self.probe("no room for a block");
                self.tell(i, Event::ReceiveFailed { database, session, failure });
            }
            Err(error) => self.disk_failed(i, &error),
        }
    }

    pub(crate) fn apply(&mut self, i: usize, database: GroupDatabaseId, lsn: Lsn) {
        let lags = self.instances[i].lags;
        let Some(engine) = self.engine(i, database) else { return };
        let hardened = engine.log.hardened();
        if lags && lsn <= hardened {
            engine.lags = Some(lsn);
            self.probe("redo stood still");
            return;
        }
        let trouble = engine.content.apply_up_to(lsn).err();
        let receiving = engine.receiving;
        let senders: Vec<(usize, SessionId)> = engine.senders.iter().map(|(p, s)| (*p, s.session)).collect();
        for (peer, session) in senders {
            self.send(i, peer, Frame::Commit { database, session, agreed: lsn });
        }
        if lsn > hardened {
            self.check.fail(format!("instance {i} redoes up to {lsn} with {hardened} hardened"));
        }
        if let Some(error) = trouble {
            self.check.fail(format!("instance {i}: {error}"));
        }
        if self.plan.real {
            // Redo does it later, and says so.
            return;
        }
        self.answer(i, 0, 3 * MS, Event::Applied { database, lsn });
        if let Some((peer, session, _)) = receiving {
            self.acknowledge(i, database, peer, session);
        }
    }

    /// Redo of an instance's copies no longer stands still.
    pub(crate) fn redo_goes_on(&mut self, i: usize) {
        if !std::mem::take(&mut self.instances[i].lags) {
            return;
        }
        for database in self.database_ids.clone() {
            let Some(engine) = self.engine(i, database) else { continue };
            let held = engine.lags.take().filter(|_| engine.mode == Mode::Secondary);
            if let Some(lsn) = held {
                let lsn = lsn.min(engine.log.hardened());
                self.apply(i, database, lsn);
                self.want_work(i);
            }
        }
    }

    pub(crate) fn inspect(&mut self, i: usize, database: GroupDatabaseId, session: SessionId) {
        let index = index_of(database);
        if self.engine(i, database).is_none() || !self.flush_now(i, index) {
            return;
        }
        let Some(engine) = self.engine(i, database) else { return };
        let facts = engine.facts();
        self.answer_in_order(i, Worker::Copies, (0, 5 * MS), Event::Inspected { database, session, facts });
    }

    pub(crate) fn cut_log(&mut self, i: usize, database: GroupDatabaseId, session: SessionId, at: Lsn) {
        // On a forwarding side a restarted member may have redone, because the source had agreed on it, what the new forwarder lacks.
        let takes_back = self.plan.force || self.status(i).is_some_and(|s| s.config.forwards());
        let Some(engine) = self.engine(i, database) else { return };
        // A primary has redone its log to the end; of that, what was not agreed may go.
        let (agreed, floor) = (engine.content.agreed(), engine.content.floor());
        if at < floor || at < agreed && !takes_back {
            self.check.fail(format!("instance {i} cuts at {at}, agreed {agreed}, base tree {floor}"));
            return;
        }
        engine.lags = engine.lags.map(|lsn| lsn.min(at));
        match engine.content.cut(at) {
            Ok(()) => {
                self.instances[i].held.remove(&index_of(database));
                self.answer_in_order(i, Worker::Copies, (MS, 10 * MS), Event::LogCut { database, session });
                self.look(i, index_of(database));
            }
            Err(error) => self.disk_failed(i, &error),
        }
    }

    // ---- roles ------------------------------------------------------------------------------------------------------

    pub(crate) fn promote(
        &mut self,
        i: usize,
        group: GroupId,
        epoch: Epoch,
        databases: &[GroupDatabaseId],
        whole: bool,
    ) {
        self.check_source(i);
        let mut opened = Vec::new();
        for &database in databases {
            let Some(engine) = self.engine(i, database) else { continue };
            engine.receiving = None;
            engine.lags = None;
            if engine.mode == Mode::Standalone {
                engine.content.enter();
            }
            let started = engine.content.promote(epoch);
            for block in engine.sealed() {
                self.check.block(index_of(database), &block);
            }
            match started {
                Err(Trouble::Disk(_)) if self.instances[i].out_of_room() => {
                    self.probe("no room to be promoted");
                    continue;
                }
                Err(error) => {
                    self.disk_failed(i, &error);
                    return;
                }
                Ok(()) => {}
            }
            self.look(i, index_of(database));
            let Some(engine) = self.engine(i, database) else { continue };
            engine.mode = Mode::Primary;
            opened.push((database, engine.facts()));
        }
        let instance = &mut self.instances[i];
        if whole {
            instance.fenced = false;
            instance.drained = false;
            instance.epoch = epoch;
            if self.counts(i) {
                self.check.epoch_started(epoch, i);
                self.check_alone(i, epoch);
            }
        }
        self.check_promotion(i, epoch, &opened.iter().map(|o| o.0).collect::<Vec<_>>());
        let event = Event::Promoted { group, epoch, databases: opened };
        self.answer_in_order(i, Worker::Copies, (MS, 20 * MS), event);
    }

    // ---- seeding ----------------------------------------------------------------------------------------------------

    pub(crate) fn seed(&mut self, i: usize, peer: usize, database: GroupDatabaseId) {
        let image = match self.engine(i, database).map(|e| e.content.image()) {
            Some(Ok(image)) => image,
            // No room for a checkpoint; or the role went meanwhile.
            Some(Err(Trouble::Disk(_))) if self.instances[i].out_of_room() => None,
            Some(Err(Trouble::Refused(_))) => None,
            Some(Err(error)) => return self.disk_failed(i, &error),
            None => None,
        };
        let completed = image.is_some();
        if let Some(image) = image {
            self.send(i, peer, Frame::Image { database, image });
        }
        self.tell(i, Event::SeedEnded { peer: instance_id(peer), database, completed });
    }

    pub(crate) fn take_image(
        &mut self,
        i: usize,
        from: usize,
        database: GroupDatabaseId,
        image: &engine::Image,
    ) {
        let index = index_of(database);
        let expected = self.instances[i].expecting.get(&database) == Some(&from);
        if !expected || self.database_ids.get(index) != Some(&database) {
            return;
        }
        self.instances[i].expecting.remove(&database);
        self.instances[i].held.remove(&index);
        self.instances[i].engines.remove(&index);
        let ground = self.instances[i].ground();
        // Chances of its own: worlds without real databases are the same.
        let mut dice = SplitMix(self.plan.chances ^ self.now ^ 0x05EE_D0FF);
        let breaks = self.healing.is_none() && dice.below(3) == 0;
        let made = match breaks.then(|| Engine::begin_from(&ground, &database_dir(index), image, &mut dice)) {
            Some(Ok(true)) => {
                self.probe("seeding broken off");
                Ok(None)
            }
            Some(Err(error)) => Err(error),
            _ => Engine::create_from(&ground, &database_dir(index), log_id(index), image).map(Some),
        };
        match made {
            Ok(None) => {
                self.tell(i, Event::SeedEnded { peer: instance_id(from), database, completed: false });
            }
            Ok(Some(engine)) => {
                let facts = engine.facts();
                self.instances[i].engines.insert(index, engine);
                self.tell(i, Event::DatabaseOpened { database, facts });
            }
            Err(_) if self.instances[i].tear.is_none() => {
                self.tell(i, Event::SeedEnded { peer: instance_id(from), database, completed: false });
            }
            Err(error) => self.disk_failed(i, &error),
        }
    }
}
