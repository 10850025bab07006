//! What a statement reads is defined as it was when the statement was compiled.
//!
//! DDL needs a lock of the table that nobody else has, and gives it new trees: after TRUNCATE, SWITCH or a rebuild the old ones have no rows, or
//! those of another table. So whoever runs something compiled takes first what keeps DDL away, then the views in which it reads, and only
//! then looks whether something was defined otherwise since. If so, it is compiled again.
//!
//! * Tables that are changed, read under locks, or looked up for foreign keys are **locked**: their definitions stay until the transaction
//!   ends.
//! * What is read without locks is read in **views** made before the look, one of each database: trees that go later are there in it as they
//!   were.
//!
//! Statements of functions and triggers do the same in the transactions of the statement that called them; its views, in which it may not
//! have read yet, are put aside meanwhile ([`crate::modules`]). So do queries of cursors, when they are opened and when a row is read again, SELECT INTO,
//! bulk loads and DBCC.
//!
//! Not covered: dirty reads, which may find rows of a tree that goes away, or none of them.

use super::{Frame, Runner};
use crate::program::{Dependencies, Guards, InUse, Object, Program, Unit};
use keel_base::DatabaseId;
use keel_node::LockMode;
use keel_query::context::{IsolationLevel, SessionInfo};
use keel_types::error::Result;
use std::sync::Arc;

/// Versions of published catalogs.
pub(super) struct Published(Vec<(DatabaseId, u64)>);

impl Runner<'_> {
    /// Compiles, takes the locks that keep DDL away from the tables to be changed and from those that are read under locks, makes the views
    /// that are read without locks, and compiles again if DDL was faster: the plan would read trees that are no more, or have no rows yet.
    pub(super) fn locked_unit<'u>(
        &mut self,
        program: &Arc<Program>,
        frame: &Frame,
        unit: &'u Unit,
    ) -> Result<InUse<'u>> {
        loop {
            let compiled = self.unit(program, frame, unit)?;
            if self.keeps(&compiled.guards, &compiled.dependencies)? {
                return Ok(compiled);
            }
        }
    }

    /// Takes what keeps that as it is which something was compiled against that is about to run. False when DDL was faster.
    pub(crate) fn keeps(&mut self, guards: &Guards, dependencies: &Dependencies) -> Result<bool> {
        if guards.is_empty() {
            return Ok(true);
        }
        self.guard(guards)?;
        // What else it was compiled against is this session's.
        Ok(self.has_catalogs_of(dependencies))
    }

    /// Takes those locks and makes those views; what was defined otherwise before is not looked for.
    pub(super) fn guard(&mut self, guards: &Guards) -> Result<()> {
        for (object, mode) in &guards.locks {
            self.lock_table(*object, *mode)?;
        }
        let locks_rows = || {
            let level = SessionInfo::isolation(self.info);
            matches!(level, IsolationLevel::RepeatableRead | IsolationLevel::Serializable)
        };
        if !guards.read.is_empty() && locks_rows() {
            for object in &guards.read {
                self.lock_table(*object, LockMode::SchemaStability)?;
            }
        }
        let Some(set) = self.viewed_txns() else { return Ok(()) };
        set.leave_views();
        guards.views.iter().try_for_each(|(database, level)| set.make_view(*database, *level))
    }

    /// The published catalogs that something was compiled against, whatever this session's transaction adds to them. `None` when DDL was
    /// faster.
    pub(super) fn published(&self, dependencies: &Dependencies) -> Option<Published> {
        let version = |(database, _): &(DatabaseId, u64)| (*database, self.info.published_version(*database));
        let published = Published(dependencies.catalogs.iter().map(version).collect());
        self.has_catalogs_of(dependencies).then_some(published)
    }

    /// Whether these are still published.
    pub(super) fn are_published(&self, Published(catalogs): &Published) -> bool {
        catalogs.iter().all(|(database, version)| self.info.published_version(*database) == *version)
    }

    /// The statement is over that they were made for.
    pub(crate) fn leave_views(&mut self) {
        if let Some(set) = self.viewed_txns() {
            set.leave_views();
        }
    }

    fn lock_table(&mut self, (database, object): Object, mode: LockMode) -> Result<()> {
        let session = self.info.shared.id;
        let txn = self.txns.as_dyn().transaction(database)?;
        if txn.holds_table(object as u32, mode) {
            return Ok(());
        }
        txn.lock_table(object as u32, mode).map_err(|e| crate::map::txn_error(e, "", session))
    }
}
