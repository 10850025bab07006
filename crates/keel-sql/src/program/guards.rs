//! What is taken before something runs, so that it finds what it was compiled against.

use super::Dependencies;
use crate::engine::TABLE_VARIABLES;
use keel_base::DatabaseId;
use keel_node::{Isolation, LockMode};
use keel_query::catalog::ObjectId;

/// A table or module of a database.
pub type Object = (DatabaseId, ObjectId);

/// Made when it is compiled: each execution goes through these lists.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    /// Tables that are locked until the transaction ends, each once.
    pub locks: Vec<(Object, LockMode)>,
    /// What is read besides, which readers that lock rows keep from being defined otherwise.
    pub read: Vec<Object>,
    /// Databases that are read in views, each view once; `None` is one of the session's isolation level.
    pub views: Vec<(DatabaseId, Option<Isolation>)>,
}

impl Guards {
    /// For what was compiled against these, and changes these tables.
    #[must_use]
    pub fn of(dependencies: &Dependencies, targets: &[Object]) -> Guards {
        let Dependencies { objects, locked, committed, .. } = dependencies;
        let mut guards = Guards::default();
        let exclusive = targets.iter().map(|object| (*object, LockMode::IntentExclusive));
        for (object, mode) in exclusive.chain(locked.iter().map(|object| (*object, LockMode::IntentShared))) {
            if !guards.locks.iter().any(|(other, _)| *other == object) {
                guards.locks.push((object, mode));
            }
        }
        for object in objects.iter().filter(|o| !targets.contains(o) && !locked.contains(o)) {
            if object.0 != TABLE_VARIABLES {
                guards.read.push(*object);
            }
            guards.view(object.0, None);
        }
        for database in committed {
            guards.view(*database, Some(Isolation::ReadCommitted));
        }
        guards
    }

    fn view(&mut self, database: DatabaseId, level: Option<Isolation>) {
        if !self.views.contains(&(database, level)) {
            self.views.push((database, level));
        }
    }

    /// Nothing is taken: it is compiled against nothing that others may define.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.read.is_empty() && self.views.is_empty()
    }
}
