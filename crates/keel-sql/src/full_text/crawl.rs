//! A step of the crawl: what is to be done next in an index, and one transaction of it.

use super::source::{Row, Source};
use crate::engine::{DatabaseEntry, Engine};
use crate::map::{db_error, txn_error};
use crate::procs::{Outcome, ok};
use crate::run::{Argument, Runner};
use keel_node::{Direction, Isolation, LockMode, ReadView, Role, Transaction, TxnError};
use keel_query::catalog::{Catalog as _, ObjectId, TableDef};
use keel_query::full_text::{
    self, Batch, Crawl, FullTextDef, PopulationKind, PopulationState, StoplistDef, Tracking,
};
use keel_store::row;
use keel_types::error::Result;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// How long it waits for who changes the definition of the table: then it is for the next time.
const WAIT: Duration = Duration::from_secs(5);
/// 1222: the wait was too long.
const LOCK_TIMEOUT: i32 = 1222;
/// Rows of one transaction: the words of these stay in memory until it commits.
const ROWS_MAX: usize = 4000;
/// Bytes of text of one transaction, about.
const BYTES_MAX: usize = 2 << 20;
/// Chunks of postings that REORGANIZE reads in one transaction.
const CHUNKS_MAX: usize = 4000;

/// Crawls in every database that is written here, until nothing waits. Stops early when `stopping` says so; what went wrong in
/// one index is the answer when all others are crawled.
pub fn crawl_all(engine: &Arc<Engine>, stopping: &dyn Fn() -> bool) -> Result<()> {
    let mut failed = None;
    for entry in engine.databases() {
        if !is_written(&entry) {
            continue;
        }
        match crawl_database(engine, &entry, stopping) {
            Err(e) if e.number != LOCK_TIMEOUT => drop(failed.get_or_insert(e)),
            _ => {}
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Whether the database is written here.
fn is_written(entry: &DatabaseEntry) -> bool {
    let picture = entry.picture();
    let settings = picture.settings();
    let writes = matches!(entry.store.role(), Role::Standalone | Role::Primary);
    writes && !settings.read_only && !settings.offline && !entry.is_restoring()
}

/// Crawls in a database until nothing waits. Error 1222 when a table was locked: the others are crawled.
fn crawl_database(engine: &Engine, entry: &Arc<DatabaseEntry>, stopping: &dyn Fn() -> bool) -> Result<()> {
    let indexed = |t: &&Arc<TableDef>| t.full_text.as_ref().is_some_and(|def| def.enabled);
    let tables: Vec<ObjectId> = entry.picture().stored().filter(indexed).map(|t| t.object_id).collect();
    let positions = entry.store.positions();
    if !tables.is_empty() && positions.hardened < positions.appended {
        // A commit rings when it has its place in the log, and is seen when it is durable.
        entry.store.harden().map_err(|e| db_error(e, &entry.name()))?;
    }
    let mut passed_over = None;
    for table in tables {
        loop {
            if stopping() {
                return Ok(());
            }
            match step(engine, entry, table) {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) if e.number == LOCK_TIMEOUT => {
                    passed_over = Some(e);
                    break;
                }
                Err(e) => return Err(e),
            }
        }
    }
    passed_over.map_or(Ok(()), Err)
}

/// One transaction; says whether there was something to do.
fn step(engine: &Engine, entry: &Arc<DatabaseEntry>, table: ObjectId) -> Result<bool> {
    let failed = |e| txn_error(e, &entry.name(), 0);
    let _crawling = entry.full_text.crawling.lock();
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    txn.set_lock_timeout(Some(WAIT));
    txn.lock_table(table as u32, LockMode::SchemaStability).map_err(failed)?;
    // Looked at once it is locked: its trees stay what they are.
    let picture = entry.picture();
    let Some(table) = picture.stored_by_id(table) else { return Ok(false) };
    let Some(def) = table.full_text.as_ref().filter(|def| def.enabled) else { return Ok(false) };
    // While the key's index is disabled, rows are not found by their keys.
    let usable = def.key_index(&table).is_some_and(|index| !index.disabled) && !table.clustered().disabled;
    let Some(source) = Source::of(&table, def).filter(|_| usable) else { return Ok(false) };
    let stoplist = def.stoplist.and_then(|id| picture.stoplist(id));
    let view = txn.view_as(Isolation::ReadCommitted);
    let crawl = Crawl::read(&txn, &view, &def.trees).map_err(failed)?;
    let mut work = Work { engine, entry, source, stoplist: stoplist.as_deref(), txn: &mut txn, view, crawl };
    if !work.next().map_err(failed)? {
        return Ok(false);
    }
    let crawl = work.crawl;
    crawl.write(&mut txn, &def.trees).map_err(failed)?;
    txn.commit().and_then(keel_node::Commit::wait).map_err(failed)?;
    Ok(true)
}

/// What a step works with.
struct Work<'w> {
    engine: &'w Engine,
    entry: &'w DatabaseEntry,
    source: Source<'w>,
    stoplist: Option<&'w StoplistDef>,
    txn: &'w mut Transaction,
    view: ReadView,
    crawl: Crawl,
}

type Step = std::result::Result<bool, TxnError>;

impl Work<'_> {
    /// Does what is next; false when nothing is.
    fn next(&mut self) -> Step {
        let follows = self.source.def.tracking == Tracking::Auto;
        match self.crawl.population.clone() {
            Some(population) if population.paused => Ok(false),
            Some(population) if population.looking_for_gone => self.look_for_gone(population),
            Some(population) if population.kind == PopulationKind::Update => {
                if !self.pending()? {
                    self.end(&population);
                }
                Ok(true)
            }
            Some(population) => self.populate(population),
            None if follows && self.pending()? => Ok(true),
            None => self.reorganize(),
        }
    }

    /// The next rows of a population of all rows.
    fn populate(&mut self, mut population: PopulationState) -> Step {
        // Places are keys of one tree: in another, which an index that was made anew has, it begins again.
        let tree = self.source.table.clustered().tree;
        if population.tree != Some(tree) {
            population.from = None;
            population.tree = Some(tree);
        }
        let from = population.from.as_deref();
        let (rows, next) = self.source.rows_behind(self.txn, &self.view, from, (ROWS_MAX, BYTES_MAX))?;
        let least = match population.kind {
            PopulationKind::Incremental => self.crawl.last_row_version,
            _ => 0,
        };
        let rows: Vec<Row> = rows.into_iter().filter(|row| row.row_version >= least).collect();
        population.processed += rows.len() as u64;
        self.index(rows)?;
        let ended = next.is_none();
        population.from = next;
        match population.kind {
            _ if !ended => self.crawl.population = Some(population),
            PopulationKind::Incremental => {
                population.looking_for_gone = true;
                self.crawl.population = Some(population);
            }
            _ => self.end(&population),
        }
        Ok(true)
    }

    /// Takes out documents whose rows are gone.
    fn look_for_gone(&mut self, mut population: PopulationState) -> Step {
        let keys = self.keys_behind(population.from.as_deref())?;
        population.from = keys.last().filter(|_| keys.len() >= ROWS_MAX).cloned();
        for key in &keys {
            if self.source.row_of(self.txn, &self.view, key)?.is_none() {
                full_text::forget(self.txn, &self.view, &self.source.def.trees, &mut self.crawl, key)?;
            }
        }
        match population.from {
            Some(_) => self.crawl.population = Some(population),
            None => self.end(&population),
        }
        Ok(true)
    }

    fn keys_behind(&self, from: Option<&[u8]>) -> std::result::Result<Vec<Vec<u8>>, TxnError> {
        let lower = from.map_or(Bound::Unbounded, Bound::Excluded);
        let tree = self.source.def.trees.keys;
        let mut cursor = self.txn.scan(&self.view, tree, lower, Bound::Unbounded, Direction::Forward)?;
        let mut keys = Vec::new();
        while keys.len() < ROWS_MAX
            && let Some((key, _)) = cursor.next()?
        {
            keys.push(key.to_vec());
        }
        Ok(keys)
    }

    /// Indexes rows that wait; says whether some did.
    fn pending(&mut self) -> Step {
        let pending = Pending::first(self.txn, &self.view, self.source.def, ROWS_MAX)?;
        if pending.entries.is_empty() {
            return Ok(false);
        }
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for key in &pending.keys {
            match self.source.row_of(self.txn, &self.view, key)? {
                Some(row) => {
                    bytes += row.size();
                    rows.push(row);
                }
                None => {
                    full_text::forget(self.txn, &self.view, &self.source.def.trees, &mut self.crawl, key)?;
                }
            }
            // Large rows are not kept for the end.
            if bytes >= BYTES_MAX {
                bytes = 0;
                let some = std::mem::take(&mut rows);
                self.index(some)?;
                self.view = self.txn.view_as(Isolation::ReadCommitted);
            }
        }
        if let Some(population) = &mut self.crawl.population {
            population.processed += pending.keys.len() as u64;
        }
        self.index(rows)?;
        for entry in &pending.entries {
            self.txn.delete_index(self.source.def.trees.pending, entry)?;
        }
        Ok(true)
    }

    /// Puts rows into the index, in the place of what it has of them.
    fn index(&mut self, rows: Vec<Row>) -> std::result::Result<(), TxnError> {
        let (def, stoplist) = (self.source.def, self.stoplist);
        let mut batch = Batch::new(def, |lcid| def.reading(lcid, stoplist));
        for row in &rows {
            full_text::forget(self.txn, &self.view, &def.trees, &mut self.crawl, &row.key)?;
            batch.add(self.txn, &mut self.crawl, (&row.key, &row.value), &row.texts)?;
            if row.unread > 0 {
                self.crawl.failed += row.unread;
                self.say_unread();
            }
        }
        batch.write(self.txn, &self.view)
    }

    /// 9968, in the error log.
    fn say_unread(&self) {
        let (table, database) = (self.source.table, self.entry.id);
        let text = format!(
            "Warning: No appropriate filter was found during full-text index population for table or indexed view '[{}].[{}]' (table or indexed view ID '{}', database ID '{}'). Some columns of the row were not indexed.",
            self.entry.name(),
            table.name,
            table.object_id,
            database.0
        );
        self.engine.options().log.write(&text);
    }

    fn end(&mut self, population: &PopulationState) {
        let crawl = &mut self.crawl;
        crawl.population = None;
        crawl.last_kind = Some(population.kind);
        crawl.last_started = population.started;
        crawl.last_ended = self.engine.now_local();
        crawl.last_row_version = population.row_version;
    }

    /// The next words of a REORGANIZE.
    fn reorganize(&mut self) -> Step {
        let Some(place) = self.crawl.reorganizing.clone() else { return Ok(false) };
        let trees = &self.source.def.trees;
        let next = full_text::compact(self.txn, &self.view, trees, place.behind.as_ref(), CHUNKS_MAX)?;
        self.crawl.reorganizing = next.map(|behind| full_text::Reorganizing { behind: Some(behind) });
        Ok(true)
    }
}

/// Rows that wait to be indexed.
pub(crate) struct Pending {
    /// Keys in the tree of pending rows.
    pub entries: Vec<Vec<u8>>,
    /// Full-text keys, each once.
    pub keys: BTreeSet<Vec<u8>>,
}

impl Pending {
    /// The first of them, so many entries at most.
    pub fn first(
        txn: &Transaction,
        view: &ReadView,
        def: &FullTextDef,
        entries_max: usize,
    ) -> std::result::Result<Pending, TxnError> {
        let all = Bound::Unbounded;
        let mut cursor = txn.scan(view, def.trees.pending, all, all, Direction::Forward)?;
        let mut pending = Pending { entries: Vec::new(), keys: BTreeSet::new() };
        while pending.entries.len() < entries_max
            && let Some((entry, row)) = cursor.next()?
        {
            pending.keys.extend(row::column(&row, 0).map(<[u8]>::to_vec));
            pending.entries.push(entry.to_vec());
        }
        Ok(pending)
    }
}

/// `sp_keel_fulltext_wait`: indexes what waits in the current database, populations that have begun too. What is committed when it begins is
/// found when it ends. Error 1222 when somebody changes the definition of a table for long.
pub(crate) fn sp_keel_fulltext_wait(runner: &mut Runner<'_>, _args: &[Argument]) -> Outcome {
    let info = runner.info;
    // It has transactions of its own, which would wait for what the session's has locked.
    if info.transaction.borrow().count > 0 {
        return Err(crate::errors::not_in_transaction("sp_keel_fulltext_wait").into());
    }
    let entry = info.current_database();
    if !is_written(&entry) {
        return Err(crate::errors::database_read_only(entry.name()).into());
    }
    crawl_database(&info.engine, &entry, &|| info.shared.cancel.is_cancelled())?;
    ok()
}
