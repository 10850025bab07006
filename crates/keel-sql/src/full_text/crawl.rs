//! A step of the crawl: what is to be done next in an index, and one transaction of it.

use super::LastCommits;
use super::source::{Row, Source};
use crate::engine::{DatabaseEntry, Engine};
use crate::map::{db_error, txn_error};
use keel_node::{Direction, Isolation, LockMode, ReadView, Transaction, TxnError};
use keel_query::catalog::{Catalog as _, ObjectId, TableDef};
use keel_query::full_text::{
    self, Amount, Batch, Crawl, FullTextDef, PopulationKind, PopulationState, StoplistDef, Tracking,
};
use keel_store::row;
use keel_types::error::Result;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// Rows of one transaction: the words of these stay in memory until it commits.
const ROWS_MAX: usize = 4000;
/// Bytes of rows of one transaction, about.
const BYTES_MAX: usize = 2 << 20;
/// What REORGANIZE reads in one transaction.
const COMPACTED: Amount = Amount { chunks: 4000, bytes: BYTES_MAX };

/// What became of a step.
pub(super) enum Turn {
    /// It has done something: there may be more.
    Done,
    /// There is nothing to do.
    Nothing,
    /// The index's last step is not through: replicas have not answered yet.
    Waits,
}

/// What a step is for.
pub(super) struct Errand<'e> {
    pub engine: &'e Engine,
    pub entry: &'e Arc<DatabaseEntry>,
    pub table: ObjectId,
    /// How long it waits for who changes the definition of the table. Error 1222 when that is over.
    pub patience: Duration,
    /// Only what waited at a time, whose last pending entry this was (if there was one); `None` for all that waits.
    pub until: Option<&'e Option<Vec<u8>>>,
}

impl Errand<'_> {
    /// One transaction. `last` are the commits of the database's last steps, under its lock.
    pub fn step(&self, last: &mut LastCommits) -> Result<Turn> {
        let failed = |e| txn_error(e, &self.entry.name(), 0);
        // A view would not have what it has written.
        if last.get(&self.table).is_some_and(|commit| !commit.is_decided()) {
            return Ok(Turn::Waits);
        }
        last.remove(&self.table);
        let mut txn = self.entry.store.begin(Isolation::ReadCommitted);
        txn.set_lock_timeout(Some(self.patience));
        txn.lock_table(self.table as u32, LockMode::SchemaStability).map_err(failed)?;
        // Looked at once it is locked: its trees stay what they are.
        let picture = self.entry.picture();
        let Some(table) = picture.stored_by_id(self.table) else { return Ok(Turn::Nothing) };
        let Some(def) = table.full_text.as_ref().filter(|def| def.enabled) else { return Ok(Turn::Nothing) };
        // While the key's index is disabled, rows are not found by their keys.
        let usable =
            def.key_index(&table).is_some_and(|index| !index.disabled) && !table.clustered().disabled;
        let Some(source) = Source::of(&table, def).filter(|_| usable) else { return Ok(Turn::Nothing) };
        let stoplist = def.stoplist.and_then(|id| picture.stoplist(id));
        let view = txn.view_as(Isolation::ReadCommitted);
        let crawl = Crawl::read(&txn, &view, &def.trees).map_err(failed)?;
        let stoplist = stoplist.as_deref();
        let mut work = Work { engine: self.engine, source, stoplist, txn: &mut txn, view, crawl, unread: 0 };
        if work.is_reached(self.until).map_err(failed)? || !work.next().map_err(failed)? {
            return Ok(Turn::Nothing);
        }
        let (crawl, unread) = (work.crawl, work.unread);
        crawl.write(&mut txn, &def.trees).map_err(failed)?;
        let commit = txn.commit().map_err(failed)?;
        // Its own disk is waited for, other replicas are not.
        self.entry.store.harden().map_err(|e| db_error(e, &self.entry.name()))?;
        if !commit.is_decided() {
            last.insert(self.table, commit);
        }
        if unread > 0 {
            self.say_unread(&table, unread);
        }
        Ok(Turn::Done)
    }

    /// 9968, in the error log: once for a step, however many they are.
    fn say_unread(&self, table: &TableDef, count: u64) {
        let text = format!(
            "Warning: No appropriate filter was found during full-text index population for table or indexed view '[{}].[{}]' (table or indexed view ID '{}', database ID '{}'). Some columns of the row were not indexed. Values: {count}.",
            self.entry.name(),
            table.name,
            table.object_id,
            self.entry.id.0
        );
        self.engine.options().log.write(&text);
    }
}

/// What a step works with.
struct Work<'w> {
    engine: &'w Engine,
    source: Source<'w>,
    stoplist: Option<&'w StoplistDef>,
    txn: &'w mut Transaction,
    view: ReadView,
    crawl: Crawl,
    /// Values that were no documents to be read.
    unread: u64,
}

type Step = std::result::Result<bool, TxnError>;

impl Work<'_> {
    /// Whether what waited at a time is done, and only what has come since is left.
    fn is_reached(&self, until: Option<&Option<Vec<u8>>>) -> Step {
        let Some(last) = until else { return Ok(false) };
        let by_changes = match &self.crawl.population {
            Some(population) => population.kind == PopulationKind::Update,
            None => self.source.def.tracking == Tracking::Auto,
        };
        if !by_changes {
            return Ok(false);
        }
        let first = pending(self.txn, &self.view, self.source.def, 1)?.pop();
        Ok(first.is_some_and(|first| last.as_ref().is_none_or(|last| first.entry > *last)))
    }

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
            population.to = self.source.last_place(self.txn, &self.view)?;
        }
        let places = (population.from.as_deref(), population.to.as_deref());
        let (rows, next) = self.source.rows_between(self.txn, &self.view, places, (ROWS_MAX, BYTES_MAX))?;
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
        let waiting = pending(self.txn, &self.view, self.source.def, ROWS_MAX)?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let (mut keys, mut done) = (BTreeSet::new(), 0);
        for Pending { key, .. } in &waiting {
            done += 1;
            if !keys.insert(key) {
                continue;
            }
            match self.source.row_of(self.txn, &self.view, key)? {
                Some(row) => {
                    bytes += row.size;
                    rows.push(row);
                }
                None => {
                    full_text::forget(self.txn, &self.view, &self.source.def.trees, &mut self.crawl, key)?;
                }
            }
            if bytes >= BYTES_MAX {
                break;
            }
        }
        if let Some(population) = &mut self.crawl.population {
            population.processed += keys.len() as u64;
        }
        self.index(rows)?;
        for Pending { entry, .. } in waiting.iter().take(done) {
            self.txn.delete_index(self.source.def.trees.pending, entry)?;
        }
        Ok(done > 0)
    }

    /// Puts rows into the index, in the place of what it has of them.
    fn index(&mut self, rows: Vec<Row>) -> std::result::Result<(), TxnError> {
        let (def, stoplist) = (self.source.def, self.stoplist);
        let mut batch = Batch::new(def, |lcid| def.reading(lcid, stoplist));
        for row in &rows {
            full_text::forget(self.txn, &self.view, &def.trees, &mut self.crawl, &row.key)?;
            batch.add(self.txn, &mut self.crawl, (&row.key, &row.value), &row.texts)?;
            self.unread += row.unread;
        }
        self.crawl.failed += rows.iter().map(|row| row.unread).sum::<u64>();
        batch.write(self.txn, &self.view)
    }

    fn end(&mut self, population: &PopulationState) {
        let crawl = &mut self.crawl;
        crawl.population = None;
        crawl.last_kind = Some(population.kind);
        crawl.last_started = population.started;
        crawl.last_ended = self.engine.now_local();
        crawl.last_row_version = population.row_version;
    }

    /// The next chunks of a REORGANIZE.
    fn reorganize(&mut self) -> Step {
        let Some(place) = self.crawl.reorganizing.clone() else { return Ok(false) };
        let trees = &self.source.def.trees;
        let next = full_text::compact(self.txn, &self.view, trees, place.behind.as_ref(), COMPACTED)?;
        self.crawl.reorganizing = next.map(|behind| full_text::Reorganizing { behind: Some(behind) });
        Ok(true)
    }
}

/// A change that waits to be indexed.
pub(super) struct Pending {
    /// Its key in the tree of these.
    pub entry: Vec<u8>,
    /// The full-text key of its row.
    pub key: Vec<u8>,
}

/// The first changes that wait, so many at most.
pub(super) fn pending(
    txn: &Transaction,
    view: &ReadView,
    def: &FullTextDef,
    entries_max: usize,
) -> std::result::Result<Vec<Pending>, TxnError> {
    let all = Bound::Unbounded;
    let mut cursor = txn.scan(view, def.trees.pending, all, all, Direction::Forward)?;
    let mut found = Vec::new();
    while found.len() < entries_max
        && let Some((entry, row)) = cursor.next()?
    {
        let key = row::column(&row, 0).ok_or_else(|| full_text::damaged(def.trees.pending))?.to_vec();
        found.push(Pending { entry: entry.to_vec(), key });
    }
    Ok(found)
}

/// The key of the last of them.
pub(super) fn last_pending(
    txn: &Transaction,
    view: &ReadView,
    def: &FullTextDef,
) -> std::result::Result<Option<Vec<u8>>, TxnError> {
    let all = Bound::Unbounded;
    let mut cursor = txn.scan(view, def.trees.pending, all, all, Direction::Reverse)?;
    Ok(cursor.next()?.map(|(entry, _)| entry.to_vec()))
}
