//! Where a session reads in databases that are copies, and what it knows of their catalogs there.
//!
//! On a secondary redo changes rows and catalog at any time and waits for nobody, so all statements of a transaction read at
//! one point of the log, the first time that a name in the database is looked up or a row is read, and names mean what they
//! mean at that point: rows and definitions always belong together. A statement outside a transaction has a point of its
//! own. Nothing here concerns a database that this instance writes.

use crate::catalog::Picture;
use crate::engine::DatabaseEntry;
use keel_base::DatabaseId;
use keel_node::ReadPoint;
use keel_query::catalog::Catalog as _;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The points of a session's open transaction. Shared by what looks up names and what reads rows.
#[derive(Default)]
pub struct Points {
    /// Whether there are any, so that who has none need not look.
    any: AtomicBool,
    open: Mutex<Vec<Point>>,
}

struct Point {
    database: DatabaseId,
    at: ReadPoint,
    picture: Arc<Picture>,
}

impl Points {
    /// Does something with the transaction's point in a database, taken now when there is none; `None` when the database is
    /// not a copy.
    #[inline]
    fn with<T>(&self, entry: &Arc<DatabaseEntry>, use_it: impl FnOnce(&Point) -> T) -> Option<T> {
        if !self.any() && !entry.is_copy() {
            return None;
        }
        let mut open = self.open.lock();
        if let Some(point) = open.iter().find(|p| p.database == entry.id) {
            return Some(use_it(point));
        }
        if !entry.is_copy() {
            return None;
        }
        let at = entry.store.read_point();
        // A catalog that cannot be read is met again by whoever reads rows, and reported there.
        let picture = entry.picture_at(&at).ok()?;
        let point = Point { database: entry.id, at, picture };
        let result = use_it(&point);
        open.push(point);
        self.any.store(true, Ordering::Relaxed);
        Some(result)
    }

    /// The catalog of a copy as the transaction sees it.
    pub fn picture(&self, entry: &Arc<DatabaseEntry>) -> Option<Arc<Picture>> {
        self.with(entry, |point| Arc::clone(&point.picture))
    }

    /// The version of that catalog.
    #[inline]
    pub fn version(&self, entry: &Arc<DatabaseEntry>) -> Option<u64> {
        self.with(entry, |point| point.picture.version())
    }

    /// Where the transaction reads in a copy.
    pub fn read_point(&self, entry: &Arc<DatabaseEntry>) -> Option<ReadPoint> {
        self.with(entry, |point| point.at.clone())
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Lets go of those that nothing was read at.
    pub fn retain(&self, is_read: impl Fn(DatabaseId) -> bool) {
        if self.any() {
            let mut open = self.open.lock();
            open.retain(|point| is_read(point.database));
            self.any.store(!open.is_empty(), Ordering::Relaxed);
        }
    }
}
