//! Whose jobs an agent has: the instance's, or those of a contained availability group, whose `msdb` goes with the group.

use super::Board;
use crate::engine::{DatabaseEntry, Engine};
use crate::errors;
use crate::hadr::ContainedGroup;
use keel_types::error::Result;
use std::sync::Arc;

/// See the module.
#[derive(Clone)]
pub struct Office {
    engine: Arc<Engine>,
    context: Option<ContainedGroup>,
    msdb: Arc<DatabaseEntry>,
    /// The term as primary for which it was opened.
    term: Option<u64>,
}

impl Office {
    /// That of the instance.
    #[must_use]
    pub fn of_instance(engine: &Arc<Engine>) -> Office {
        let msdb = engine.msdb();
        Office { engine: Arc::clone(engine), context: None, term: msdb.store.writing_term(), msdb }
    }

    /// That of a contained group.
    ///
    /// # Errors
    /// 911 where it has no copy of its `msdb` here.
    pub fn of_group(engine: &Arc<Engine>, group: &ContainedGroup) -> Result<Office> {
        let msdb = engine.database(&group.msdb).ok_or_else(|| errors::no_database(&group.msdb))?;
        let term = msdb.store.writing_term();
        Ok(Office { engine: Arc::clone(engine), context: Some(group.clone()), msdb, term })
    }

    /// The instance.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The group, if it is one's.
    #[must_use]
    pub fn context(&self) -> Option<&ContainedGroup> {
        self.context.as_ref()
    }

    /// Its jobs' tables.
    #[must_use]
    pub fn msdb(&self) -> &Arc<DatabaseEntry> {
        &self.msdb
    }

    /// What its jobs do and are asked to do.
    #[must_use]
    pub fn board(&self) -> &Board {
        self.msdb.agent()
    }

    /// Whether its jobs run here: those of a group run where its primary is, and begin anew with each.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let leads = || self.term.is_some() && self.msdb.store.writing_term() == self.term;
        self.context.is_none() || !self.msdb.is_dropped() && leads()
    }
}
