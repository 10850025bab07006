//! The catalog as it is published: what everybody compiles against, and how it follows the log.
//!
//! ```text
//!   DDL commits      publish ─► in the log, hardened ─► settle          by their sessions
//!   role, redo       noted in the history ─► refresh: read again        by whoever asks for the catalog next
//! ```
//! The two exclude each other: what one session publishes is not lost to another that reads the catalog again, nor made of what a
//! secondary knew. While something published is not settled, nothing is read again, for it cannot be read yet; who compiles waits for it.
//!
//! Lock order: `refreshing` → `pending`. Who holds `pending` waits for nobody but readers of the system tree.

use super::{DatabaseEntry, Stored, next_object};
use crate::catalog::{CatalogOp, Picture, object_class};
use keel_base::TreeId;
use keel_node::ReadPoint;
use keel_query::catalog::{Catalog as _, ObjectId};
use keel_types::error::Result;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl DatabaseEntry {
    /// The catalog as a snapshot shows it.
    ///
    /// # Errors
    /// 5180-like when the system tree cannot be read.
    pub fn picture_at(&self, point: &ReadPoint) -> Result<Arc<Picture>> {
        if let Some(picture) = self.history.find(point.lsn()) {
            return Ok(picture);
        }
        let _one = self.refreshing.lock();
        let life = self.history.life();
        if let Some(picture) = self.history.find(point.lsn()) {
            return Ok(picture);
        }
        let stored = Stored::read(&self.store, &self.name(), point, &self.fingerprints)?;
        self.picture_of(&stored, life)
    }

    /// The picture of what was read in one life of the history, kept for others who read there.
    fn picture_of(&self, stored: &Stored, life: u64) -> Result<Arc<Picture>> {
        let picture = match self.history.alike(stored.fingerprint) {
            Some(picture) => picture,
            None => Arc::new(stored.picture(self.id, &self.name(), self.next_version())?),
        };
        self.history.keep(life, stored.at, stored.fingerprint, &picture);
        Ok(picture)
    }

    fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Reads the catalog again after a change of role, and after redo has changed it: who becomes primary must not hand out
    /// numbers that the last one did.
    #[inline]
    fn follow_role(&self) {
        if self.role_seen.load(Ordering::Acquire) != self.store.role() as u8 {
            self.see_role();
        }
        if self.history.stale() != 0 {
            self.refresh();
        }
    }

    /// Who finds the role seen finds the history told of it as well.
    #[cold]
    fn see_role(&self) {
        {
            let _one = self.refreshing.lock();
            let role = self.store.role() as u8;
            if self.role_seen.load(Ordering::Acquire) == role {
                return;
            }
            self.history.role_changed();
            self.role_seen.store(role, Ordering::Release);
        }
        self.capture.role_changed();
        self.query_store.role_changed();
    }

    /// A number that is another when redo has changed, or is about to change, anything of the catalog since.
    pub(in crate::engine) fn redone(&self) -> u64 {
        self.history.told()
    }

    /// Reads the catalog again if it has to be. Nobody publishes between what is read and what is kept of it, or what he
    /// publishes would be lost, or would be made of what a secondary knew.
    fn refresh(&self) {
        let _one = self.refreshing.lock();
        let stale = self.history.stale();
        if stale == 0 || self.store.applied().0 < stale {
            return;
        }
        let life = self.history.life();
        self.store.wait_for_term_start();
        let pending = self.pending.lock();
        if *pending > 0 {
            // What cannot be read yet. Who compiles waits for it and comes here again.
            return;
        }
        // A copy that cannot be read is refused to everybody by its role; the next reader tries again.
        let point = self.store.read_point();
        let Ok(stored) = Stored::read(&self.store, &self.name(), &point, &self.fingerprints) else { return };
        let Ok(picture) = self.picture_of(&stored, life) else { return };
        self.history.caught_up(stale);
        self.next_object.fetch_max(next_object(&picture), Ordering::Relaxed);
        self.next_tree.fetch_max(stored.next_tree(&picture), Ordering::Relaxed);
        self.rowversion.store(stored.rowversion(), Ordering::Relaxed);
        self.row_ids.write().clear();
        *self.counters.write() = stored.counters;
        let version = picture.version();
        self.picture.store(picture);
        self.version.store(version, Ordering::Release);
        drop(pending);
        self.keep_log();
    }

    /// The version of the published catalog: one load, for plan validation.
    #[must_use]
    #[inline]
    pub fn version(&self) -> u64 {
        self.follow_role();
        self.version.load(Ordering::Acquire)
    }

    /// The published catalog, once its commit is hardened.
    #[must_use]
    pub fn picture(&self) -> Arc<Picture> {
        self.follow_role();
        let mut pending = self.pending.lock();
        if *pending > 0 {
            self.wait_settled(&mut pending);
            // That was in the way of who read the catalog again.
            MutexGuard::unlocked(&mut pending, || self.follow_role());
            self.wait_settled(&mut pending);
        }
        // Before the next one may be published, which is not settled yet.
        self.picture.load_full()
    }

    fn wait_settled(&self, pending: &mut MutexGuard<'_, u32>) {
        while **pending > 0 {
            self.settled.wait(pending);
        }
    }

    /// Makes changes visible. Until [`DatabaseEntry::settle`] nobody compiles against them.
    pub fn publish(&self, ops: &[CatalogOp]) {
        // Not over what a secondary knew.
        self.follow_role();
        let mut pending = self.pending.lock();
        *pending += 1;
        let old = self.picture.load_full();
        let mut next = (*old).clone();
        for op in ops {
            crate::catalog::apply_op(&mut next, op);
        }
        let version = self.next_version();
        next.note_changes(ops, version);
        self.forget_gone_trees(&old, &next, ops);
        self.forget_gone_counters(ops);
        self.picture.store(Arc::new(next.at_version(version)));
        self.version.store(version, Ordering::Release);
    }

    /// Forgets the identities of tables and the values of sequences that were dropped.
    fn forget_gone_counters(&self, ops: &[CatalogOp]) {
        for op in ops {
            match op {
                CatalogOp::Remove(key) if key.class == object_class::TABLE => {
                    self.forget_counter(object_class::COUNTER, key.id);
                }
                CatalogOp::Remove(key) if key.class == object_class::SEQUENCE => {
                    self.forget_counter(object_class::SEQUENCE_VALUE, key.id);
                }
                _ => {}
            }
        }
    }

    /// Forgets what is remembered of trees that no table has any more. One may have gone to another table (SWITCH).
    fn forget_gone_trees(&self, old: &Picture, next: &Picture, ops: &[CatalogOp]) {
        let key_of = |op: &CatalogOp| match op {
            CatalogOp::Put(object) => object.key(),
            CatalogOp::Remove(key) => *key,
        };
        let tables = ops.iter().map(key_of).filter(|key| key.class == object_class::TABLE);
        let tables: Vec<ObjectId> = tables.map(|key| key.id).collect();
        let trees_in = |picture: &Picture| -> Vec<TreeId> {
            let tables = tables.iter().filter_map(|id| picture.table_by_id(*id));
            tables.flat_map(|t| t.indexes.iter().map(|i| i.tree).collect::<Vec<_>>()).collect()
        };
        let kept = trees_in(next);
        trees_in(old).into_iter().filter(|tree| !kept.contains(tree)).for_each(|tree| self.forget_tree(tree));
    }

    /// The commit whose changes were published is hardened (or has failed, in which case the database has stopped).
    pub fn settle(&self) {
        // Before anybody sees it: what the new picture gives up is hardened elsewhere by now.
        self.keep_log();
        *self.pending.lock() -= 1;
        self.settled.notify_all();
    }
}
