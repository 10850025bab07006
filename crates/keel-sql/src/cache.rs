//! The plan cache: programs by text, modules by object, shared by all sessions.
//!
//! A batch is keyed by its text, database and the options that change its meaning; a module by its database and object
//! id. Programs carry no resolved names, so an entry never becomes wrong: what depends on catalogs is checked unit by
//! unit when it runs (see [`crate::program::Unit`]). A module's entry is replaced when its definition is another object.
//!
//! Batches may have a share of `max server memory`; whose turn it is to go is decided by how recently and how often a text was found
//! (Clock-PRO), one at a time, so that texts with literals, which come once, do not drive out those that come again. What goes is
//! freed without a lock: ten thousand plans take a tenth of a second.
//!
//! Beside programs stands what is known of shapes of texts (see [`crate::parameterization`]), the programs with parameters among it.

use crate::program::Program;
use hashbrown::HashMap;
use keel_base::DatabaseId;
use keel_query::catalog::{ModuleDef, ObjectId};
use parking_lot::RwLock;
use quick_cache::OptionsBuilder;
use quick_cache::sync::{Cache, DefaultLifecycle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Batches have this part of `max server memory`, ...
const MEMORY_SHARE: usize = 16;
/// ... but not less than these bytes, ...
const BYTES_MIN: usize = 16 << 20;
/// ... nor more.
const BYTES_MAX: usize = 2 << 30;
/// What the cache expects a batch to take, bytes.
const BATCH_BYTES_EXPECTED: usize = 16 << 10;
/// Parts with a lock of their own. A text that weighs more than one of them may hold is not kept, so they are few: at the least memory that
/// is about 50,000 characters.
const SHARDS: usize = 4;
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
    /// What is known of encrypted columns ([`crate::column_keys`]): which variables are encrypted depends on it.
    pub encryption: u64,
}

/// What is kept of a text.
#[derive(Clone, Debug)]
pub enum Kept {
    /// Its program.
    Program(Arc<Program>),
    /// A program without code: the text has come once (`optimize for ad hoc workloads`).
    Stub(Arc<Program>),
    /// The key is that of a shape: what became of its texts.
    Shape(Arc<KnownShape>),
}

/// What was found out about a shape.
#[derive(Debug)]
pub struct KnownShape {
    /// The version of the database's catalog at which that was.
    pub version: u64,
    /// How texts of this shape run.
    pub used: Use,
}

/// How texts of a shape run.
#[derive(Clone, Debug)]
pub enum Use {
    /// As they are written.
    AsWritten,
    /// By this program, whose parameters stand for literals.
    Parameters(Arc<Program>),
    /// Which literals are parameters; the others are part of the shape by which to look again.
    Partly(Arc<[bool]>),
}

impl Kept {
    fn program(self) -> Option<Arc<Program>> {
        match self {
            Kept::Program(program) | Kept::Stub(program) => Some(program),
            Kept::Shape(shape) => match &shape.used {
                Use::Parameters(program) => Some(Arc::clone(program)),
                Use::AsWritten | Use::Partly(_) => None,
            },
        }
    }
}

/// What has no program takes so much beside its text, bytes.
const SHAPE_BYTES: usize = 256;

/// A batch weighs what it takes of memory, bytes.
#[derive(Clone, Copy)]
struct Bytes;

impl quick_cache::Weighter<BatchKey, Kept> for Bytes {
    fn weight(&self, key: &BatchKey, kept: &Kept) -> u64 {
        let of_program = |program: &Program| program.kept_bytes();
        let bytes = match kept {
            Kept::Program(program) | Kept::Stub(program) => of_program(program),
            Kept::Shape(shape) => match &shape.used {
                Use::Parameters(program) => of_program(program) + SHAPE_BYTES + key.text.len(),
                Use::AsWritten | Use::Partly(_) => SHAPE_BYTES + key.text.len(),
            },
        };
        bytes as u64
    }
}

type Batches = Cache<BatchKey, Kept, Bytes, foldhash::fast::RandomState>;
type Modules =
    HashMap<(DatabaseId, ObjectId), (Arc<ModuleDef>, u64, Arc<Program>), foldhash::fast::RandomState>;

/// Programs by text and by module.
pub struct ProgramCache {
    batches: Batches,
    modules: RwLock<Modules>,
    /// Look-ups that found something.
    pub hits: AtomicU64,
    /// Look-ups that did not.
    pub misses: AtomicU64,
    /// Modules compiled.
    pub compiled_modules: AtomicU64,
    /// Statements compiled again: for other definitions or data, or because they say so.
    pub recompilations: AtomicU64,
    /// Texts whose literals became parameters, or did not.
    pub parameterized: crate::parameterization::Counts,
}

/// What batches may take of so much max server memory, bytes.
fn batches_bytes(memory_bytes: usize) -> usize {
    (memory_bytes / MEMORY_SHARE).clamp(BYTES_MIN, BYTES_MAX)
}

impl ProgramCache {
    /// An empty one, for an instance with so many bytes of max server memory.
    #[must_use]
    pub fn new(memory_bytes: usize) -> ProgramCache {
        let bytes = batches_bytes(memory_bytes);
        let expected = bytes / BATCH_BYTES_EXPECTED;
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .estimated_items_capacity(expected)
            .weight_capacity(bytes as u64)
            .build()
            .expect("both capacities are set");
        let batches = Cache::with_options(options, Bytes, Default::default(), DefaultLifecycle::default());
        ProgramCache {
            batches,
            modules: RwLock::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            compiled_modules: AtomicU64::new(0),
            recompilations: AtomicU64::new(0),
            parameterized: Default::default(),
        }
    }

    /// `max server memory` has become another.
    pub fn set_memory(&self, memory_bytes: usize) {
        self.batches.set_capacity(batches_bytes(memory_bytes) as u64);
    }

    /// A batch. Who makes one that is not there says so: [`ProgramCache::missed`].
    pub fn batch(&self, key: &BatchKey) -> Option<Arc<Program>> {
        let Some(Kept::Program(found)) = self.batches.get(key) else { return None };
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    /// How texts of a shape run, if that was found out at this version of the catalog.
    pub fn shape(&self, key: &BatchKey, version: u64) -> Option<Use> {
        let Some(Kept::Shape(shape)) = self.batches.get(key) else { return None };
        if shape.version != version {
            return None;
        }
        if matches!(shape.used, Use::Parameters(_)) {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
        Some(shape.used.clone())
    }

    /// A batch was not there, and has been made.
    pub fn missed(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps a batch that was not there; with `stubs` that it has come, where that is not known.
    pub fn keep_program(&self, key: BatchKey, program: &Arc<Program>, stubs: bool) {
        let first = stubs && !matches!(self.batches.peek(&key), Some(Kept::Stub(_)));
        let kept =
            if first { Kept::Stub(Arc::new(program.stub())) } else { Kept::Program(Arc::clone(program)) };
        self.keep_batch(key, kept);
    }

    /// Keeps a batch, or what is known of a shape.
    pub fn keep_batch(&self, key: BatchKey, kept: Kept) {
        if key.text.len() <= TEXT_MAX {
            self.batches.insert(key, kept);
        }
    }

    /// A module's program, if it is still that definition's, and was made with what is known of encrypted columns.
    pub fn module(
        &self,
        database: DatabaseId,
        module: &Arc<ModuleDef>,
        encryption: u64,
    ) -> Option<Arc<Program>> {
        let modules = self.modules.read();
        let (definition, known, program) = modules.get(&(database, module.object_id))?;
        (Arc::ptr_eq(definition, module) && *known == encryption).then(|| Arc::clone(program))
    }

    /// Keeps a module's program.
    pub fn keep_module(
        &self,
        database: DatabaseId,
        module: &Arc<ModuleDef>,
        encryption: u64,
        program: Arc<Program>,
    ) {
        self.compiled_modules.fetch_add(1, Ordering::Relaxed);
        let kept = (Arc::clone(module), encryption, program);
        self.modules.write().insert((database, module.object_id), kept);
    }

    /// DBCC FREEPROCCACHE
    pub fn clear(&self) {
        // One after the other, each without the lock.
        self.batches.drain().for_each(drop);
        let modules = std::mem::take(&mut *self.modules.write());
        drop(modules);
    }

    /// Plans of one database are made anew: its statistics are others, or it is gone. The other databases' stay.
    pub fn forget(&self, database: DatabaseId) {
        let keys = self.batches.iter().map(|(key, _)| key).filter(|key| key.database == database);
        for key in keys.collect::<Vec<_>>() {
            // One after the other, each freed without the lock.
            drop(self.batches.remove(&key));
        }
        let modules: Vec<_> = self.modules.write().extract_if(|(of, _), _| *of == database).collect();
        drop(modules);
    }

    /// Every program kept, stubs too; texts that a client sent as such, prepared ones, and modules, in this order.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Program>> {
        let mut all: Vec<_> = self.batches.iter().filter_map(|(_, kept)| kept.program()).collect();
        all.sort_by_key(|p| p.id);
        let mut modules: Vec<_> = self.modules.read().values().map(|(_, _, p)| Arc::clone(p)).collect();
        modules.sort_by_key(|p| p.id);
        all.extend(modules);
        all
    }

    /// Number of batches, with what is known of shapes, and of modules.
    #[must_use]
    pub fn len(&self) -> (usize, usize) {
        (self.batches.len(), self.modules.read().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Instruction, ModuleIdentity, Op, ProgramKind};

    fn key(text: String) -> BatchKey {
        let (parameters, database) = ("".into(), DatabaseId(5));
        BatchKey {
            text: text.into(),
            parameters,
            database,
            schema: 1,
            switches: 0,
            dynamic: false,
            encryption: 0,
        }
    }

    fn program(key: &BatchKey) -> Kept {
        let kind = ProgramKind::Batch;
        let identity =
            ModuleIdentity { database: key.database, object_id: 0, schema_id: 1, name: None, kind };
        let code = vec![Instruction { op: Op::Return(None), line: 1, start: 0, end: 0, stats: None }];
        let text = Arc::clone(&key.text);
        Kept::Program(Arc::new(Program { text, code, ..Program::bare(identity) }))
    }

    #[test]
    fn texts_that_come_once_do_not_drive_out_those_that_come_again() {
        let cache = ProgramCache::new(64 << 20);
        let often = key("EXEC often".into());
        cache.keep_batch(often.clone(), program(&often));
        for n in 0..20_000 {
            let once = key(format!("INSERT INTO t VALUES ({n})"));
            assert!(cache.batch(&once).is_none());
            cache.keep_batch(once.clone(), program(&once));
            assert!(cache.batch(&often).is_some(), "gone after {n}");
        }
        let kept: usize = cache.all().iter().map(|p| p.kept_bytes()).sum();
        assert!((BYTES_MIN / 2..=BYTES_MIN).contains(&kept), "{kept} bytes are kept");
        cache.clear();
        assert_eq!(cache.len(), (0, 0));
    }

    #[test]
    fn a_text_that_has_come_once_leaves_a_stub() {
        let cache = ProgramCache::new(64 << 20);
        let key = key("SELECT 1".into());
        let Kept::Program(program) = program(&key) else { unreachable!("it makes programs") };
        cache.keep_program(key.clone(), &program, true);
        assert!(cache.batch(&key).is_none());
        assert!(cache.all().iter().all(|p| p.is_stub() && p.text == key.text));
        cache.keep_program(key.clone(), &program, true);
        assert!(cache.batch(&key).is_some());
    }

    #[test]
    fn what_is_known_of_a_shape_holds_for_one_version() {
        let cache = ProgramCache::new(64 << 20);
        let key = key("SELECT \u{1}i".into());
        let Kept::Program(program) = program(&key) else { unreachable!("it makes programs") };
        let shape = KnownShape { version: 7, used: Use::Parameters(program) };
        cache.keep_batch(key.clone(), Kept::Shape(Arc::new(shape)));
        assert!(matches!(cache.shape(&key, 7), Some(Use::Parameters(_))));
        assert!(cache.shape(&key, 8).is_none());
        assert!(cache.batch(&key).is_none(), "a shape is no text");
    }

    #[test]
    fn what_is_forgotten_is_one_databases() {
        let cache = ProgramCache::new(64 << 20);
        let here = key("SELECT 1".into());
        let there = BatchKey { database: DatabaseId(6), ..here.clone() };
        for key in [&here, &there] {
            cache.keep_batch(key.clone(), program(key));
        }
        cache.forget(there.database);
        assert!(cache.batch(&here).is_some());
        assert!(cache.batch(&there).is_none());
    }

    #[test]
    fn less_memory_is_less_kept() {
        let cache = ProgramCache::new(4 << 30);
        for n in 0..10_000 {
            let once = key(format!("SELECT {n}"));
            cache.keep_batch(once.clone(), program(&once));
        }
        assert_eq!(cache.len().0, 10_000);
        cache.set_memory(64 << 20);
        let long = key(format!("SELECT '{}'", "x".repeat(40_000)));
        cache.keep_batch(long.clone(), program(&long));
        assert!(cache.batch(&long).is_some(), "large scripts are kept where there is little memory, too");
        let kept: usize = cache.all().iter().map(|p| p.kept_bytes()).sum();
        assert!(kept <= BYTES_MIN, "{kept} bytes are kept");
    }
}
