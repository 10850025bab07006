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
use crate::engine::TABLE_VARIABLES;
use crate::program::{Dependencies, InUse, Program, Unit};
use keel_base::DatabaseId;
use keel_node::{Isolation, LockMode};
use keel_query::catalog::ObjectId;
use keel_query::context::{IsolationLevel, SessionInfo};
use keel_types::error::Result;
use std::sync::Arc;

/// A table or module of a database.
type Object = (DatabaseId, ObjectId);

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
            if self.keeps(&compiled.dependencies, &compiled.targets)? {
                return Ok(compiled);
            }
        }
    }

    /// Takes what keeps that as it is which something was compiled against that is about to run. False when DDL was faster.
    pub(crate) fn keeps(&mut self, dependencies: &Dependencies, targets: &[Object]) -> Result<bool> {
        if targets.is_empty() && dependencies.objects.is_empty() {
            return Ok(true);
        }
        self.guard(dependencies, targets)?;
        // What else it was compiled against is this session's.
        Ok(self.has_catalogs_of(dependencies))
    }

    /// Takes those locks and makes those views; what was defined otherwise before is not looked for.
    pub(super) fn guard(&mut self, dependencies: &Dependencies, targets: &[Object]) -> Result<()> {
        self.keep_ddl_away(dependencies, targets)?;
        self.make_views(dependencies, targets)
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

    /// Makes those views, of each database that has what is read; nobody needs one for tables that are locked.
    fn make_views(&mut self, dependencies: &Dependencies, targets: &[Object]) -> Result<()> {
        let Dependencies { objects, locked, committed, .. } = dependencies;
        let Some(set) = self.viewed_txns() else { return Ok(()) };
        set.leave_views();
        let is_read = |object: &&Object| !targets.contains(object) && !locked.contains(object);
        for (database, _) in objects.iter().filter(is_read) {
            set.make_view(*database, None)?;
        }
        for database in committed {
            set.make_view(*database, Some(Isolation::ReadCommitted))?;
        }
        Ok(())
    }

    /// The statement is over that they were made for.
    pub(crate) fn leave_views(&mut self) {
        if let Some(set) = self.viewed_txns() {
            set.leave_views();
        }
    }

    /// Takes those locks.
    fn keep_ddl_away(&mut self, dependencies: &Dependencies, targets: &[Object]) -> Result<()> {
        let Dependencies { objects, locked, .. } = dependencies;
        for target in targets {
            self.lock_table(*target, LockMode::IntentExclusive)?;
        }
        for object in locked {
            if !targets.contains(object) {
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

    fn lock_table(&mut self, (database, object): Object, mode: LockMode) -> Result<()> {
        let session = self.info.shared.id;
        let txn = self.txns.as_dyn().transaction(database)?;
        if txn.holds_table(object as u32, mode) {
            return Ok(());
        }
        txn.lock_table(object as u32, mode).map_err(|e| crate::map::txn_error(e, "", session))
    }
}
