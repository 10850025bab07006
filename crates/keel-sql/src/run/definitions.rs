//! What a statement reads is defined as it was when the statement was compiled.
//!
//! DDL needs a lock of the table that nobody else has, and gives it new trees: after TRUNCATE, SWITCH or a rebuild the old ones have no rows, or
//! those of another table. So whoever runs something compiled takes first what keeps DDL away, then the view in which it reads, and only
//! then looks whether something was defined otherwise since. If so, it is compiled again.
//!
//! * Tables that are changed, read under locks, or looked up for foreign keys are **locked**: their definitions stay until the transaction
//!   ends.
//! * What is read without locks is read in a **view** made before the look: trees that go later are there in it as they were.
//!
//! Not covered: statements of functions and triggers, whose transactions are another statement's; SELECT INTO and cursors; views over
//! several databases, which are made one by one.

use super::{Frame, Runner, Txns};
use crate::engine::TABLE_VARIABLES;
use crate::program::{Compiled, Dependencies, InUse, Program, Unit};
use keel_base::DatabaseId;
use keel_node::LockMode;
use keel_query::catalog::ObjectId;
use keel_query::context::{IsolationLevel, SessionInfo};
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// Compiles, takes the locks that keep DDL away from the tables to be changed and from those that are read under locks, makes the view that
    /// is read without locks, and compiles again if DDL was faster: the plan would read trees that are no more, or have no rows yet.
    pub(super) fn locked_unit<'u>(
        &mut self,
        program: &Arc<Program>,
        frame: &Frame,
        unit: &'u Unit,
    ) -> Result<InUse<'u>> {
        loop {
            let compiled = self.unit(program, frame, unit)?;
            if compiled.targets.is_empty() && compiled.dependencies.objects.is_empty() {
                return Ok(compiled);
            }
            self.keep_ddl_away(&compiled)?;
            self.make_view(&compiled)?;
            // What else it was compiled against is this session's.
            if self.has_catalogs_of(&compiled.dependencies) {
                return Ok(compiled);
            }
        }
    }

    /// Makes that view, in the one database that has what is read; nobody needs it for tables that are locked.
    fn make_view(&mut self, compiled: &Compiled) -> Result<()> {
        let Dependencies { catalogs, objects, locked, .. } = &compiled.dependencies;
        let is_locked = |object| compiled.targets.contains(object) || locked.contains(object);
        match (&catalogs[..], &mut self.txns) {
            ([(database, _)], Txns::Own(set)) if !objects.iter().all(is_locked) => set.make_view(*database),
            _ => Ok(()),
        }
    }

    /// The statement is over that the view was made for.
    pub(super) fn leave_view(&mut self) {
        if let Txns::Own(set) = &mut self.txns {
            set.leave_view();
        }
    }

    /// Takes those locks.
    fn keep_ddl_away(&mut self, compiled: &Compiled) -> Result<()> {
        let Dependencies { objects, locked, .. } = &compiled.dependencies;
        for target in &compiled.targets {
            self.lock_table(*target, LockMode::IntentExclusive)?;
        }
        for object in locked {
            if !compiled.targets.contains(object) {
                self.lock_table(*object, LockMode::IntentShared)?;
            }
        }
        let locks_rows = matches!(
            SessionInfo::isolation(self.info),
            IsolationLevel::RepeatableRead | IsolationLevel::Serializable
        );
        if locks_rows {
            for object in objects.iter().filter(|(database, _)| *database != TABLE_VARIABLES) {
                self.lock_table(*object, LockMode::SchemaStability)?;
            }
        }
        Ok(())
    }

    fn lock_table(&mut self, (database, object): (DatabaseId, ObjectId), mode: LockMode) -> Result<()> {
        let session = self.info.shared.id;
        let txn = self.txns.as_dyn().transaction(database)?;
        if txn.holds_table(object as u32, mode) {
            return Ok(());
        }
        txn.lock_table(object as u32, mode).map_err(|e| crate::map::txn_error(e, "", session))
    }
}
