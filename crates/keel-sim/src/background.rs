//! What only worlds with real databases do: background work, piece by piece, log kept for others, and looks at the rows.

use crate::engine::{Mode, Trouble};
use crate::world::{MS, What, World};
use keel_base::Lsn;
use keel_cluster::{Event, RoleStatus};
use std::collections::BTreeMap;

impl World {
    /// What the databases of an instance have left for later is done soon.
    pub(crate) fn want_work(&mut self, i: usize) {
        let instance = &mut self.instances[i];
        let waiting = instance.node_instance.as_ref().is_some_and(|node| node.work_waiting() > 0);
        if waiting && !std::mem::replace(&mut instance.work_waits, true) {
            let after = self.real_dice.below(3 * MS);
            self.at(i, after, What::Work);
        }
    }

    /// One piece of background work: a lane of redo takes a step, a checkpoint, a log segment.
    pub(crate) fn work(&mut self, i: usize) {
        self.instances[i].work_waits = false;
        let Some(node) = self.instances[i].node_instance.clone() else { return };
        let mut trouble = None;
        for engine in self.instances[i].engines.values_mut() {
            trouble = trouble.or(engine.content.real().and_then(|real| real.before_work().err()));
        }
        if let Some(error) = trouble {
            return self.disk_failed(i, &error);
        }
        let which = self.real_dice.below(node.work_waiting() as u64) as usize;
        node.work_queued(which);
        self.tell_applied(i);
    }

    /// The machine and the primary hear how far redo is.
    pub(crate) fn tell_applied(&mut self, i: usize) {
        if !self.plan.real {
            return;
        }
        for (index, id) in self.database_ids.clone().into_iter().enumerate() {
            let look = self.real_dice.below(8) == 0;
            let Some(engine) = self.engine(i, id).filter(|e| e.mode == Mode::Secondary) else { continue };
            let lsn = engine.content.applied();
            let Some((peer, session, _)) = engine.receiving.filter(|_| engine.applied_told != lsn) else {
                continue;
            };
            engine.applied_told = lsn;
            self.tell(i, Event::Applied { database: id, lsn });
            self.acknowledge(i, id, peer, session);
            if look {
                self.look(i, index);
            }
        }
    }

    /// On a primary: the log that others still need is kept.
    pub(crate) fn hold_log(&mut self, i: usize) {
        if !self.plan.real {
            return;
        }
        let Some(status) = self.status(i) else { return };
        let primary = status.role == RoleStatus::Primary;
        for database in &status.databases {
            let copies = database.copies.iter().filter(|_| primary);
            let keep: Vec<_> = copies.map(|c| (c.replica.to_string(), c.positions.hardened)).collect();
            let Some(engine) = self.engine(i, database.database) else { continue };
            engine.content.hold(&keep);
        }
    }

    /// A reader reads everything on a copy: rows are what the commits up to its position have made, and two copies at one
    /// position have had the same commits.
    pub(crate) fn look(&mut self, i: usize, database: usize) {
        let instance = &mut self.instances[i];
        // A machine that is about to find its power gone reads nothing.
        if !instance.up || instance.disk.power_is_cut() {
            return;
        }
        let Some(real) = instance.engines.get_mut(&database).and_then(|e| e.content.real()) else { return };
        let judged = real.judge();
        let met = real.met();
        met.into_iter().for_each(|name| self.probe(name));
        match judged {
            Ok(Some((last, digest))) => {
                self.probe("rows compared with the model");
                self.check.prefix(database, last, digest);
            }
            Ok(None) => self.probe("copy not readable yet"),
            Err(Trouble::Disk(_) | Trouble::LogGone) => {}
            Err(error) => self.check.fail(format!("database {database} on instance {i}: {error}")),
        }
    }

    /// Copies whose readers are at the end of the same log have one logical checksum, and nothing on disk is damaged.
    pub(crate) fn compare(&mut self, database: usize) {
        let mut sums: BTreeMap<Lsn, (usize, String)> = BTreeMap::new();
        for i in 0..self.instances.len() {
            let Some(engine) = self.instances[i].engines.get_mut(&database) else { continue };
            let at = engine.content.applied().min(engine.content.agreed());
            let Some(real) = engine.content.real() else { continue };
            match real.inspect() {
                Ok(sum) => {
                    let known = sums.entry(at).or_insert_with(|| (i, sum.clone()));
                    if known.1 != sum {
                        let other = known.0;
                        let what =
                            format!("{other} and {i} have different rows at {at} of database {database}");
                        self.check.fail(what);
                    }
                }
                Err(error) => self.check.fail(format!("database {database} on instance {i}: {error}")),
            }
        }
    }
}
