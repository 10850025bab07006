//! The work of a distributed transaction's branch, between the sessions that do it and without any.

use super::{Open, TxnSet};
use crate::distributed::Name;
use crate::engine::{TABLE_VARIABLES, TEMPDB, Visit};
use crate::map::txn_error;
use keel_node::Commit;
use keel_types::error::Result;

/// What a session has done in a branch that it does not work in any more.
#[derive(Default)]
pub struct Work {
    open: Vec<Open>,
}

/// How a branch votes when it is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// It can be committed whatever happens.
    Prepared,
    /// It has written nothing, and is over.
    ReadOnly,
}

impl TxnSet {
    /// Takes the open transactions out: the session has nothing to do with them any more. Points of reading on copies are let go.
    pub fn take_work(&mut self) -> Work {
        self.end_statements();
        self.log_mark = None;
        self.points.retain(|_| false);
        let (kept, taken) = self.open.drain(..).partition(|open| open.database == TABLE_VARIABLES);
        self.open = kept;
        let mut work = Work { open: taken };
        for open in &mut work.open {
            open.txn.serve_nobody();
            open.visit = None;
        }
        work
    }

    /// Goes on with a branch's work. Nothing else is open.
    pub fn put_work(&mut self, work: Work) {
        let agent = self.agent();
        for mut open in work.open {
            open.txn.serve(agent.clone());
            open.visit = Some(Visit::new(&self.shared, open.database));
            self.open.push(open);
        }
        self.configure(self.isolation, self.lock_timeout_ms, self.deadlock_priority);
    }
}

impl Work {
    /// Who holds its locks, as they say.
    pub fn agents(&self) -> impl Iterator<Item = u64> + '_ {
        self.open.iter().map(|open| open.txn.agent_id())
    }

    /// The databases that it has used.
    pub fn databases(&self) -> impl Iterator<Item = (keel_base::DatabaseId, u64)> + '_ {
        self.open.iter().map(|open| (open.database, open.txn.log_bytes()))
    }

    fn has_writes(&self) -> bool {
        self.open.iter().any(|open| open.database != TEMPDB && open.txn.has_writes())
    }

    /// Prepares it in all databases that it has written to. After an error it is rolled back.
    ///
    /// # Errors
    /// Those of writing log; 8523 of what cannot be left to somebody who decides later.
    pub fn prepare(mut self, name: &Name) -> Result<Vote> {
        if !self.has_writes() {
            return Ok(Vote::ReadOnly);
        }
        if let Some(open) = self.open.iter().find(|open| open.awaits_place()) {
            // Their numbers are in the order of commits.
            return Err(crate::distributed::errors::prepare_with_changes(open.entry.name()));
        }
        let encoded = name.encode();
        let mut waiting: Vec<(usize, Commit)> = Vec::new();
        for (at, open) in self.open.iter_mut().enumerate() {
            if open.database != TEMPDB && open.txn.has_writes() {
                let prepared = open.txn.prepare(&encoded);
                waiting.push((at, prepared.map_err(|e| txn_error(e, &open.entry.name(), 0))?));
            }
        }
        for (at, durable) in waiting {
            durable.wait().map_err(|e| txn_error(e, &self.open[at].entry.name(), 0))?;
        }
        for open in self.open {
            if open.database == TEMPDB {
                // Nobody finds it after a restart anyway.
                let _ = open.txn.commit();
            } else {
                // Of one that has only read nothing is left to decide.
                open.txn.leave();
            }
        }
        Ok(Vote::Prepared)
    }
}
