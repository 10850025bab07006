//! Two sides, each a group of its own with its own votes, and a distributed availability group over them: who is on which side, what
//! operators do to the pair, and what must hold between the two.

use crate::care::group_name;
use crate::check::Turn;
use crate::engine::Mode;
use crate::instance::{instance_index, name};
use crate::world::{GROUPS, MS, Micros, World};
use keel_base::{Epoch, Lsn};
use keel_cluster::config::EPOCH_STEP;
use keel_cluster::{
    AvailabilityMode, Command, Distributed, DistributedMember, GroupConfig, GroupDatabaseId, GroupId,
    ReplicaId, SeedingMode,
};
use std::ops::Range;
use uuid::Uuid;

/// How long the operator looks at two groups of which none is the source, once the faults have stopped.
const PATIENCE: Micros = 8_000 * MS;

/// What operators remember of the roles between the sides.
#[derive(Debug, Default)]
pub(crate) struct Vacancy {
    /// The last command that sets the pair up.
    asked: Micros,
    /// The turn after which somebody was told to take the role: once, so that two never take it without force.
    taken: u64,
    /// Nobody is the source, since.
    since: Option<Micros>,
    /// How often somebody was told to be, since.
    tries: usize,
}

/// A side's group as a member, as that side has it until the two have met.
fn member_id(side: usize, joins: bool) -> ReplicaId {
    ReplicaId(Uuid::from_u128(0x9000 + side as u128 + if joins { 0x10 } else { 0 }))
}

impl World {
    // ---- who is where -----------------------------------------------------------------------------------------------

    pub(crate) fn sides(&self) -> usize {
        1 + usize::from(self.plan.pair.is_some())
    }

    pub(crate) fn side_of(&self, i: usize) -> usize {
        self.plan.pair.map_or(0, |pair| usize::from(i >= self.plan.instances - pair.second))
    }

    pub(crate) fn members_of(&self, side: usize) -> Range<usize> {
        let Some(pair) = self.plan.pair else { return 0..self.instances.len() };
        let first = self.plan.instances - pair.second;
        if side == 0 { 0..first } else { first..self.plan.instances }
    }

    /// The group that an instance has; the first of its side where it has none.
    pub(crate) fn group_of(&self, i: usize) -> GroupId {
        self.status(i).map_or(GROUPS[self.side_of(i)], |status| status.config.id)
    }

    /// How much longer the way between two is for being on different sides.
    pub(crate) fn way(&self, from: usize, to: usize) -> Micros {
        if self.far > 0 && self.side_of(from) != self.side_of(to) { self.far } else { 0 }
    }

    fn distributed(&self, side: usize) -> Option<(usize, Distributed)> {
        let leader = self.leader(side)?;
        Some((leader, self.status(leader)?.config.distributed?))
    }

    /// The side whose group says that it is the source; of two the one with the later turn.
    fn source(&self) -> Option<usize> {
        let sources = (0..self.sides()).filter_map(|side| {
            let (_, distributed) = self.distributed(side)?;
            (!distributed.forwards()).then_some((distributed.turn, side))
        });
        sources.max().map(|(_, side)| side)
    }

    /// The side whose group's commands change the databases.
    pub(crate) fn source_side(&self) -> usize {
        if self.plan.pair.is_some() { self.source().unwrap_or(0) } else { 0 }
    }

    /// The group of an instance has something to lose: the second side's has not before it joins.
    pub(crate) fn counts(&self, i: usize) -> bool {
        let joined = || self.status(i).is_some_and(|s| s.config.distributed.is_some());
        self.side_of(i) == 0 || joined()
    }

    // ---- operators --------------------------------------------------------------------------------------------------

    fn members(&self, synchronous: bool, joins: bool) -> Vec<DistributedMember> {
        let member = |side: usize| DistributedMember {
            id: member_id(side, joins),
            group: group_name(side),
            listener_url: format!("TCP://{}:5022", name(self.members_of(side).start)),
            availability_mode: match synchronous {
                true => AvailabilityMode::Synchronous,
                false => AvailabilityMode::Asynchronous,
            },
            seeding_mode: SeedingMode::Automatic,
        };
        vec![member(0), member(1)]
    }

    /// CREATE AVAILABILITY GROUP … WITH (DISTRIBUTED) on the first side, ALTER … JOIN on the second, as soon as each is led.
    pub(crate) fn set_up_pair(&mut self) {
        let Some(pair) = self.plan.pair else { return };
        if self.now < self.vacancy.asked + 1000 * MS {
            return;
        }
        for side in 0..2 {
            let Some(leader) = self.leader(side) else { continue };
            if self.status(leader).is_none_or(|s| s.config.distributed.is_some()) {
                continue;
            }
            let joins = side == 1;
            let distributed = Distributed {
                id: GroupId(Uuid::from_u128(0xDA6 + side as u128)),
                name: "DAG".into(),
                bound: !joins,
                turn: 0,
                primary: Some(member_id(0, joins)),
                mine: member_id(side, joins),
                members: self.members(pair.synchronous, joins),
                required: 0,
                endpoints: Vec::new(),
                source_epoch: Epoch(0),
                own_epoch: Epoch(0),
            };
            let distributed = Box::new(distributed);
            let group = self.group_of(leader);
            self.order(leader, Command::SetUpDistributed { group, distributed });
            self.vacancy.asked = self.now;
        }
    }

    /// SET (ROLE = SECONDARY).
    pub(crate) fn give_up(&mut self, side: usize) {
        if let Some(leader) = self.leader(side).filter(|_| side < self.sides()) {
            self.order(leader, Command::YieldDistributed { group: self.group_of(leader) });
        }
    }

    /// FORCE_FAILOVER_ALLOW_DATA_LOSS: where no loss is allowed, only when the role was given up, and once.
    pub(crate) fn take(&mut self, side: usize) {
        let Some(leader) = self.leader(side).filter(|_| side < self.sides()) else { return };
        if !self.plan.force {
            let Some((turn, Turn::Given(_))) = self.check.last_turn() else { return };
            if self.vacancy.taken >= turn {
                return;
            }
            self.vacancy.taken = turn;
        }
        self.order(leader, Command::ForceDistributed { group: self.group_of(leader) });
    }

    /// Nothing gets from the first side to the second (1), back (2), both (3); everything (0).
    pub(crate) fn part(&mut self, ways: u8) {
        for a in self.members_of(0) {
            for b in self.members_of(1).filter(|b| *b != a) {
                self.cut[a][b] = ways & 1 != 0;
                self.cut[b][a] = ways & 2 != 0;
            }
        }
    }

    /// The modes of the members, given to both sides: asynchronous (0), synchronous (1), and commits wait for it (2).
    pub(crate) fn pace(&mut self, pace: u8) {
        for side in 0..self.sides() {
            let Some(leader) = self.leader(side) else { continue };
            let (members, required) = (self.members(pace > 0, false), pace / 2);
            self.order(
                leader,
                Command::ModifyDistributed { group: self.group_of(leader), members, required },
            );
        }
    }

    /// Somebody is the source; or, in the end, is told to be: who it was given up to, then who gave it up.
    pub(crate) fn settle_pair(&mut self) -> bool {
        if self.plan.pair.is_none() || self.source().is_some() {
            if (0..self.sides()).any(|side| self.distributed(side).is_some_and(|(_, d)| d.required > 0)) {
                self.pace(1);
            }
            self.vacancy.since = None;
            self.vacancy.tries = 0;
            return true;
        }
        let since = *self.vacancy.since.get_or_insert(self.now);
        if self.now - since >= PATIENCE {
            let turn = self.check.last_turn().map_or(0, |(turn, _)| turn);
            let side = 1 - (turn as usize + self.vacancy.tries) % 2;
            self.vacancy.since = None;
            self.vacancy.tries += 1;
            if let Some(leader) = self.leader(side) {
                self.order(leader, Command::ForceDistributed { group: self.group_of(leader) });
            }
        }
        false
    }

    /// Both sides are of one mind, and one of them is the source.
    pub(crate) fn pair_is_whole(&self) -> bool {
        if self.plan.pair.is_none() {
            return true;
        }
        let (Some((_, one)), Some((_, other))) = (self.distributed(0), self.distributed(1)) else {
            return false;
        };
        let equal = (one.id, one.turn, one.primary) == (other.id, other.turn, other.primary);
        equal && one.bound && other.bound && one.forwards() != other.forwards()
    }

    // ---- judging ----------------------------------------------------------------------------------------------------

    /// A configuration is to be written down.
    pub(crate) fn note_claim(&mut self, i: usize, config: &GroupConfig) {
        let distributed = config.distributed.as_ref();
        if self.side_of(i) == 1 && distributed.is_none() {
            // Not under its own ordinals yet.
            return;
        }
        let epoch = config.stamp.epoch;
        let forced = config.databases.iter().any(|d| d.awaiting_resume.values().any(|e| *e == epoch));
        let turn = distributed.filter(|d| !d.forwards() && d.turn > 0).map(|d| d.turn);
        // What the second side's group was before it joined has the first side's numbers.
        let own = self.side_of(i) == 0 || config.parent.0 % EPOCH_STEP >= 128;
        let parent = if own { config.parent } else { Epoch(0) };
        self.check.claimed(epoch, parent, forced, turn);
    }

    /// It is written down.
    pub(crate) fn note_turn(&mut self, i: usize, config: &GroupConfig) {
        let Some(d) = config.distributed.as_ref().filter(|d| d.primary.is_none()) else { return };
        if d.turn as usize % 2 == self.side_of(i) && self.check.given(d.turn, d.own_epoch) {
            self.probe("role given up to the other side");
        }
    }

    /// When the durable record of a source says that the other side has every commit: the forwarder, and the epoch it leads in.
    pub(crate) fn partner_with(&self, i: usize, database: GroupDatabaseId) -> Option<(usize, Epoch)> {
        if !self.instances[i].mirrored.contains(&database) {
            return None;
        }
        let partner = self.status(i)?.partner?;
        Some((instance_index(partner.instance), partner.stamp.epoch))
    }

    /// What a forwarder acknowledges is in every log of its own set.
    pub(crate) fn acknowledge_up_to(&mut self, i: usize, database: GroupDatabaseId, lsn: Lsn) {
        let Some(engine) = self.engine(i, database) else { return };
        engine.ack_limit = lsn;
        let (receiving, own) = (engine.receiving, engine.log.hardened());
        for member in self.instances[i].recorded.get(&database).cloned().unwrap_or_default() {
            let m = instance_index(member);
            let left = self.instances[m].left.contains(&database);
            if !self.instances[m].up || self.instances[m].wiped || left {
                continue;
            }
            let hardened = self.engine(m, database).map_or(Lsn::ZERO, |e| e.log.hardened());
            if hardened < lsn {
                self.check
                    .fail(format!("{i} acknowledges {lsn} to the other side, {m} in its set has {hardened}"));
            }
        }
        if lsn > own {
            self.check.fail(format!("{i} acknowledges {lsn} to the other side and has {own}"));
        }
        if let Some((peer, session, _)) = receiving {
            self.acknowledge(i, database, peer, session);
        }
    }

    /// Who forwards never writes.
    pub(crate) fn check_source(&mut self, i: usize) {
        if self.plan.pair.is_some() && self.status(i).is_some_and(|s| s.config.forwards()) {
            self.check
                .fail(format!("instance {i} is to write although its group takes its log from the other"));
        }
    }

    /// Both sides may write after a force: the one that has not heard of it, until it does.
    fn look_for_two(&mut self) {
        let writes = |side: usize| {
            let mut members = self.instances[self.members_of(side)].iter().filter(|i| i.up && !i.fenced);
            members.any(|i| i.engines.values().any(|e| e.mode == Mode::Primary))
        };
        if writes(0) && writes(1) {
            self.probe("two sides are the source");
        }
    }

    /// Who takes a role that was given up is alone in it.
    pub(crate) fn check_alone(&mut self, i: usize, epoch: Epoch) {
        let Some(given) = self.check.taken_after(epoch) else {
            let config = self.status(i).map(|s| s.config);
            let new =
                config.and_then(|c| Some((c.distributed?.turn, c.parent))).filter(|(turn, _)| *turn > 0);
            if new.is_some_and(|(turn, parent)| self.check.turn_of(parent) != Some(turn)) {
                self.probe("role taken by force");
                self.look_for_two();
            }
            return;
        };
        self.probe("role taken that was given up");
        for other in self.members_of(1 - self.side_of(i)) {
            let instance = &self.instances[other];
            let writes = instance.up && !instance.fenced && instance.epoch >= given && instance.epoch < epoch;
            if writes && instance.engines.values().any(|e| e.mode == Mode::Primary) {
                self.check.fail(format!("{i} leads in epoch {} while {other} still writes", epoch.0));
            }
        }
    }
}
