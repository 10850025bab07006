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
    /// A forced failover with loss took it, or its database left the group.
    pub(crate) excused: bool,
}

/// One start of an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) instance: usize,
    pub(crate) forced: bool,
    /// Which one it was in time.
    order: usize,
}

#[derive(Default)]
pub(crate) struct Checker {
    pub(crate) ledger: Vec<Acknowledged>,
    /// Every block ever sealed: (generation of the database, first LSN, epoch) → checksum.
    blocks: BTreeMap<(u64, Lsn, Epoch), u32>,
    pub(crate) epochs: BTreeMap<Epoch, Start>,
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

    /// An instance began to write in an epoch.
    pub(crate) fn epoch_started(&mut self, epoch: Epoch, instance: usize, forced: bool) {
        let order = self.epochs.len();
        if let Some(before) = self.epochs.insert(epoch, Start { instance, forced, order }) {
            self.fail(format!(
                "epoch {} was started by instance {} and again by {instance}",
                epoch.0, before.instance
            ));
        }
    }

    /// A client is told that its commit is done.
    pub(crate) fn acknowledge(&mut self, database: usize, commit: Commit, epoch: Epoch) {
        let mut later = self.epochs.range((std::ops::Bound::Excluded(epoch), std::ops::Bound::Unbounded));
        // Forced here, without knowing of a newer epoch: as much a fork as one forced elsewhere.
        let unaware = self
            .epochs
            .get(&epoch)
            .is_some_and(|mine| mine.forced && later.clone().any(|(_, newer)| newer.order < mine.order));
        let forced = unaware || later.clone().any(|(_, start)| start.forced);
        if let Some((newer, start)) = later.next()
            && !forced
        {
            let (newer, instance) = (newer.0, start.instance);
            self.fail(format!(
                "commit {} acknowledged in epoch {} after instance {instance} had begun epoch {newer}",
                commit.number, epoch.0
            ));
        }
        self.ledger.push(Acknowledged { database, commit, epoch, excused: forced });
    }

    /// The database left the group: what it held is nobody's business any more.
    pub(crate) fn database_left(&mut self, database: usize) {
        *self.generations.entry(database).or_default() += 1;
        for entry in self.ledger.iter_mut().filter(|e| e.database == database) {
            entry.excused = true;
        }
    }

    /// What was told in earlier epochs and must be in the log of whoever begins this one.
    pub(crate) fn owed(&self, database: usize, epoch: Epoch) -> Vec<Commit> {
        let owed = |e: &&Acknowledged| e.database == database && !e.excused && e.epoch < epoch;
        self.ledger.iter().filter(owed).map(|e| e.commit).collect()
    }

    /// A forced failover lost these.
    pub(crate) fn excuse(&mut self, database: usize, lost: &[Commit]) {
        for entry in self.ledger.iter_mut().filter(|e| e.database == database) {
            entry.excused |= lost.contains(&entry.commit);
        }
    }
}
