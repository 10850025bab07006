//! One transaction's own view of a catalog.

use super::object::{CatalogKey, CatalogObject};
use super::picture::Picture;
use keel_query::catalog::Catalog;
use std::sync::Arc;

/// A change.
#[derive(Clone, Debug)]
pub enum CatalogOp {
    /// An object was made or altered.
    Put(CatalogObject),
    /// An object was dropped.
    Remove(CatalogKey),
}

/// Versions of overlay pictures have this bit, so that no plan made inside a transaction that changed the catalog is
/// ever taken for one of a published version.
const PRIVATE_VERSION: u64 = 1 << 63;

/// The picture a transaction sees: the published one with its own changes.
#[derive(Debug)]
pub struct Overlay {
    ops: Vec<CatalogOp>,
    picture: Arc<Picture>,
    base_version: u64,
}

impl Overlay {
    /// Starts from the published picture.
    #[must_use]
    pub fn new(base: &Arc<Picture>) -> Overlay {
        Overlay { ops: Vec::new(), picture: Arc::clone(base), base_version: base.version() }
    }

    /// What the transaction sees. `published` is the current published picture: others' changes since are taken in.
    pub fn picture(&mut self, published: &Arc<Picture>, stamp: u64) -> &Arc<Picture> {
        if self.base_version != published.version() {
            self.base_version = published.version();
            self.rebuild(published, stamp);
        }
        &self.picture
    }

    /// Whether others have changed nothing since the picture was made.
    #[must_use]
    pub fn is_based_on(&self, published_version: u64) -> bool {
        self.base_version == published_version
    }

    /// What the transaction saw last.
    #[must_use]
    pub fn current(&self) -> &Arc<Picture> {
        &self.picture
    }

    /// Records a change. `stamp` is unique in the instance and makes the private version.
    pub fn apply(&mut self, op: CatalogOp, stamp: u64) {
        let mut next = (*self.picture).clone();
        apply_op(&mut next, &op);
        self.ops.push(op);
        self.picture = Arc::new(next.at_version(PRIVATE_VERSION | stamp));
    }

    /// Number of changes, for savepoints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// True when nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Forgets changes after a savepoint.
    pub fn truncate(&mut self, len: usize, published: &Arc<Picture>, stamp: u64) {
        if len < self.ops.len() {
            self.ops.truncate(len);
            self.rebuild(published, stamp);
        }
    }

    /// The changes, to be published.
    #[must_use]
    pub fn into_ops(self) -> Vec<CatalogOp> {
        self.ops
    }

    fn rebuild(&mut self, published: &Arc<Picture>, stamp: u64) {
        if self.ops.is_empty() {
            self.picture = Arc::clone(published);
            return;
        }
        let mut next = (**published).clone();
        for op in &self.ops {
            apply_op(&mut next, op);
        }
        self.picture = Arc::new(next.at_version(PRIVATE_VERSION | stamp));
    }
}

/// Applies one change to a picture.
pub(crate) fn apply_op(picture: &mut Picture, op: &CatalogOp) {
    match op {
        CatalogOp::Put(object) => picture.put(object.clone()),
        CatalogOp::Remove(key) => picture.remove(*key),
    }
}
