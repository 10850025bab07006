//! The plan cache: programs by text, modules by object, shared by all sessions.
//!
//! A batch is keyed by its text, database and the options that change its meaning; a module by its database and object
//! id. Programs carry no resolved names, so an entry never becomes wrong: what depends on catalogs is checked unit by
//! unit when it runs (see [`crate::program::Unit`]). A module's entry is replaced when its definition is another object.

use crate::program::Program;
use hashbrown::HashMap;
use keel_base::DatabaseId;
use keel_query::catalog::{ModuleDef, ObjectId};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Batches kept at most; at the limit the cache starts anew. Texts with literals come and go, procedures stay.
const BATCHES_MAX: usize = 10_000;
/// Longer texts are not worth keeping.
const TEXT_MAX: usize = 256 * 1024;

/// What a batch is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BatchKey {
    /// Text.
    pub text: Arc<str>,
    /// Parameter declarations of sp_executesql and sp_prepare.
    pub parameters: Arc<str>,
    /// Database.
    pub database: DatabaseId,
    /// Where names without a schema are looked for first.
    pub schema: i32,
    /// Options that change what it means.
    pub switches: u32,
    /// EXEC('…') and sp_executesql rather than a client's batch.
    pub dynamic: bool,
}

type Batches = HashMap<BatchKey, Arc<Program>, foldhash::fast::RandomState>;
type Modules = HashMap<(DatabaseId, ObjectId), (Arc<ModuleDef>, Arc<Program>), foldhash::fast::RandomState>;

/// Programs by text and by module.
#[derive(Default)]
pub struct ProgramCache {
    batches: RwLock<Batches>,
    modules: RwLock<Modules>,
    /// Look-ups that found something.
    pub hits: AtomicU64,
    /// Look-ups that did not.
    pub misses: AtomicU64,
    /// Modules compiled.
    pub compiled_modules: AtomicU64,
}

impl ProgramCache {
    /// A batch.
    pub fn batch(&self, key: &BatchKey) -> Option<Arc<Program>> {
        let found = self.batches.read().get(key).cloned();
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a batch.
    pub fn keep_batch(&self, key: BatchKey, program: Arc<Program>) {
        if key.text.len() > TEXT_MAX {
            return;
        }
        let mut batches = self.batches.write();
        if batches.len() >= BATCHES_MAX {
            batches.clear();
        }
        batches.insert(key, program);
    }

    /// A module's program, if it is still that definition's.
    pub fn module(&self, database: DatabaseId, module: &Arc<ModuleDef>) -> Option<Arc<Program>> {
        let modules = self.modules.read();
        let (definition, program) = modules.get(&(database, module.object_id))?;
        Arc::ptr_eq(definition, module).then(|| Arc::clone(program))
    }

    /// Keeps a module's program.
    pub fn keep_module(&self, database: DatabaseId, module: &Arc<ModuleDef>, program: Arc<Program>) {
        self.compiled_modules.fetch_add(1, Ordering::Relaxed);
        self.modules.write().insert((database, module.object_id), (Arc::clone(module), program));
    }

    /// DBCC FREEPROCCACHE
    pub fn clear(&self) {
        self.batches.write().clear();
        self.modules.write().clear();
    }

    /// Every program kept; texts that a client sent as such, prepared ones, and modules, in this order.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Program>> {
        let mut all: Vec<_> = self.batches.read().values().cloned().collect();
        all.sort_by_key(|p| p.id);
        let mut modules: Vec<_> = self.modules.read().values().map(|(_, p)| Arc::clone(p)).collect();
        modules.sort_by_key(|p| p.id);
        all.extend(modules);
        all
    }

    /// Number of batches and modules.
    #[must_use]
    pub fn len(&self) -> (usize, usize) {
        (self.batches.read().len(), self.modules.read().len())
    }
}
