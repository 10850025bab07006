//! [`Checker`]: the invariants, from outside. It knows what clients were told and what blocks were ever sealed, and looks
//! into logs; it never asks the machines what they think.

use crate::engine::{Commit, Sealed};
use keel_base::{Epoch, Lsn};
use std::collections::BTreeMap;

/// A commit a client was told is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) database: usize,
    pub(crate) commit: Commit,
    pub(crate) epoch: Epoch,
    /// The other side's group had it too: the epoch of that group then.
    mirrored: Option<Epoch>,
    /// A forced failover with loss took it, or its database left the group.
    pub(crate) excused: bool,
}

/// One start of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    pub(crate) instance: usize,
    /// What its logs held then, by database.
    had: BTreeMap<usize, Vec<Commit>>,
}

/// An epoch as it was claimed.
struct Claim {
    /// The one it came out of.
    parent: Epoch,
    /// By force, within its group.
    forced: bool,
    /// The turn of a distributed group by which its group is the source.
    turn: Option<u64>,
    /// The other side gave the role up in this epoch, and this one took it.
    after: Option<Epoch>,
}

/// A change of roles between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The source gave the role up, in the epoch in which it had led.
    Given(Epoch),
    Taken,
}

#[derive(Default)]
pub(crate) struct Checker {
    pub(crate) ledger: Vec<Acknowledged>,
    /// Every block ever sealed: (generation of the database, first LSN, epoch) → checksum.
    blocks: BTreeMap<(u64, Lsn, Epoch), u32>,
    pub(crate) epochs: BTreeMap<Epoch, Start>,
    /// Every epoch that somebody claimed, started or not.
    claims: BTreeMap<Epoch, Claim>,
    /// Changes of roles between the sides of a pair, by number.
    turns: BTreeMap<u64, Turn>,
    /// What members of the store made of their entries: (side, generation, position) → digest.
    store: BTreeMap<(usize, u64, u64), u64>,
    /// What a reader had before him: (generation of the database, last commit) → digest of all of them.
    prefixes: BTreeMap<(u64, Commit), u64>,
    /// Databases removed from the group, by index: how often.
    pub(crate) generations: BTreeMap<usize, u64>,
    /// The first thing that was wrong.
    pub(crate) violation: Option<String>,
}

impl Checker {
    pub(crate) fn fail(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    fn generation(&self, database: usize) -> u64 {
        database as u64 * 1000 + self.generations.get(&database).copied().unwrap_or(0)
    }

    /// One writer per epoch: the same place in the same epoch is always the same block.
    pub(crate) fn block(&mut self, database: usize, block: &Sealed) {
        let key = (self.generation(database), block.first, block.epoch);
        let known = *self.blocks.entry(key).or_insert(block.checksum);
        if known != block.checksum {
            self.fail(format!(
                "two blocks at {} in epoch {} of database {database}",
                block.first, block.epoch.0
            ));
        }
    }

    /// A configuration was written down somewhere; with the turn by which its group is the source of a distributed one.
    pub(crate) fn claimed(&mut self, epoch: Epoch, parent: Epoch, forced: bool, turn: Option<u64>) {
        if self.claims.contains_key(&epoch) {
            // A source may go on under a greater number, when the other side gave up meanwhile what it took by force.
            self.turns.extend(turn.map(|turn| (turn, Turn::Taken)));
            return;
        }
        let before = self.claims.get(&parent).and_then(|c| c.turn);
        let takes = turn.filter(|turn| !forced && before != Some(*turn));
        let last = takes.and_then(|turn| self.turns.range(..turn).next_back());
        let after = last.and_then(|(_, last)| match last {
            Turn::Given(epoch) => Some(*epoch),
            Turn::Taken => None,
        });
        self.turns.extend(turn.map(|turn| (turn, Turn::Taken)));
        self.claims.insert(epoch, Claim { parent, forced, turn, after });
    }

    /// The source of a pair has given its role up, durably; false when that is known.
    pub(crate) fn given(&mut self, turn: u64, epoch: Epoch) -> bool {
        let news = !self.turns.contains_key(&turn);
        self.turns.entry(turn).or_insert(Turn::Given(epoch));
        news
    }

    /// The last change of roles between the sides.
    pub(crate) fn last_turn(&self) -> Option<(u64, Turn)> {
        self.turns.last_key_value().map(|(turn, what)| (*turn, *what))
    }

    /// The turn by which the group of an epoch was the source.
    pub(crate) fn turn_of(&self, epoch: Epoch) -> Option<u64> {
        self.claims.get(&epoch).and_then(|c| c.turn)
    }

    /// The epoch in which the other side gave the role up that was taken in this one, unless somebody has taken it since.
    pub(crate) fn taken_after(&self, epoch: Epoch) -> Option<Epoch> {
        let claim = self.claims.get(&epoch)?;
        claim.after.filter(|_| self.last_turn().is_some_and(|(turn, _)| Some(turn) == claim.turn))
    }

    /// The epochs out of which this one came without force, itself first.
    fn lineage(&self, epoch: Epoch) -> Vec<Epoch> {
        let mut line = vec![epoch];
        let mut at = 0;
        while let Some(claim) = line.get(at).map(|epoch| self.claims.get(epoch)) {
            let parent = claim.filter(|c| !c.forced).map(|c| c.parent);
            line.extend(parent.into_iter().chain(claim.and_then(|c| c.after)));
            at += 1;
        }
        line
    }

    /// No epoch that anybody has claimed is later.
    pub(crate) fn newest_epoch(&self) -> Epoch {
        let newest = self.epochs.keys().next_back().max(self.claims.keys().next_back());
        newest.copied().unwrap_or(Epoch(1))
    }

    /// What a database has that stands alone: whatever group takes it has it too.
    pub(crate) fn brought(&mut self, database: usize, commits: &[Commit]) {
        let new = |commit: &Commit| Acknowledged {
            database,
            commit: *commit,
            epoch: Epoch(0),
            mirrored: None,
            excused: false,
        };
        self.ledger.extend(commits.iter().map(new));
    }

    /// An instance began to write in an epoch.
    pub(crate) fn epoch_started(&mut self, epoch: Epoch, instance: usize) {
        if let Some(before) = self.epochs.insert(epoch, Start { instance, ..Start::default() }) {
            self.fail(format!(
                "epoch {} was started by instance {} and again by {instance}",
                epoch.0, before.instance
            ));
        }
    }

    /// A member of the store has applied everything up to a position.
    pub(crate) fn store_applied(&mut self, instance: usize, at: (usize, u64, u64), digest: u64) {
        let known = *self.store.entry(at).or_insert(digest);
        let (_, generation, applied) = at;
        if known != digest {
            self.fail(format!(
                "the store of instance {instance} differs at {applied} of generation {generation}"
            ));
        }
    }

    /// A reader was shown everything up to a commit.
    pub(crate) fn prefix(&mut self, database: usize, last: Commit, digest: u64) {
        let known = *self.prefixes.entry((self.generation(database), last)).or_insert(digest);
        if known != digest {
            self.fail(format!("two readers at {} of database {database} have different pasts", last.end));
        }
    }

    /// A client is told that its commit is done; `mirrored` as in [`Acknowledged`].
    pub(crate) fn acknowledge(
        &mut self,
        database: usize,
        commit: Commit,
        epoch: Epoch,
        mirrored: Option<Epoch>,
    ) {
        let later = self.epochs.range((std::ops::Bound::Excluded(epoch), std::ops::Bound::Unbounded));
        let forked = later.clone().next().is_some();
        // A word that was on its way when another one began is no harm: that one has the commit too.
        let had =
            |start: &Start| start.had.get(&database).is_some_and(|had| had.binary_search(&commit).is_ok());
        let owed = |newer: Epoch| self.lineage(newer).iter().any(|e| *e == epoch || Some(*e) == mirrored);
        let lacking = later.clone().find(|(newer, start)| !had(start) && owed(**newer));
        if let Some((newer, start)) = lacking {
            let (newer, instance) = (newer.0, start.instance);
            self.fail(format!(
                "commit {} acknowledged in epoch {} after instance {instance} had begun epoch {newer}",
                commit.number, epoch.0
            ));
        }
        self.ledger.push(Acknowledged { database, commit, epoch, mirrored, excused: forked });
    }

    /// An instance begins an epoch with these commits in its log: what was acknowledged in the epochs it came out of must be
    /// among them; what another branch acknowledged and this one has not was lost to force.
    pub(crate) fn promoted(&mut self, database: usize, epoch: Epoch, have: &[Commit]) -> Option<Commit> {
        let line = self.lineage(epoch);
        if let Some(start) = self.epochs.get_mut(&epoch) {
            start.had.insert(database, have.to_vec());
        }
        let mut lost = None;
        let entries =
            self.ledger.iter_mut().filter(|e| e.database == database && !e.excused && e.epoch < epoch);
        for entry in entries.filter(|e| have.binary_search(&e.commit).is_err()) {
            if line.contains(&entry.epoch) || entry.mirrored.is_some_and(|e| line.contains(&e)) {
                lost = lost.or(Some(entry.commit));
            }
            entry.excused = true;
        }
        lost
    }

    /// The database left the group: what it held is nobody's business any more.
    pub(crate) fn database_left(&mut self, database: usize) {
        *self.generations.entry(database).or_default() += 1;
        for entry in self.ledger.iter_mut().filter(|e| e.database == database) {
            entry.excused = true;
        }
    }

    /// What was told and must be there in the end.
    pub(crate) fn owed(&self, database: usize) -> Vec<Commit> {
        self.ledger.iter().filter(|e| e.database == database && !e.excused).map(|e| e.commit).collect()
    }
}
