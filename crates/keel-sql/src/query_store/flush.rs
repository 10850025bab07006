//! From memory to the tree of the database, and what is removed from there: by age, and by size.

use super::gather::gather_held;
use super::memory::Memory;
use super::rows::{IntervalRow, Key, RuntimeRow, Stored, WaitRow, key_bytes, read_rows};
use super::settings::FULL;
use super::{ActualState, QueryStoreSettings, actual_state, gather, is_written, loaded, tree_of};
use crate::engine::{DatabaseEntry, Engine};
use crate::map::{db_error, txn_error};
use keel_node::Isolation;
use keel_store::row;
use keel_types::SqlError;
use keel_types::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Rows written in one transaction.
const ROWS_MAX: usize = 2000;
/// How often old rows are looked for, and a full store is cleaned, ticks of 100 ns.
const CLEANING_REST: i64 = 10 * 600_000_000;
const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// Where cleaning by size begins, and where it ends, percent of what the store may have.
const BEGINS_AT: u64 = 90;
const ENDS_AT: u64 = 80;

/// When a database's store was last written and cleaned, UTC in ticks of 100 ns.
#[derive(Default)]
pub(super) struct Turns {
    flushed: AtomicI64,
    cleaned: AtomicI64,
}

/// One round: gathers, writes what is due, cleans. Says what went wrong.
pub fn rounds(engine: &Arc<Engine>, stopping: &dyn Fn() -> bool) -> Vec<SqlError> {
    engine.follow_query_stores();
    engine.databases().iter().for_each(|entry| follow(engine, entry));
    // Databases with a store that is full record nothing, and are to be cleaned.
    let full = |entry: &Arc<DatabaseEntry>| actual_state(entry) == ActualState::ReadOnly(FULL);
    if !engine.databases().iter().any(full) && !engine.query_stores.load(Ordering::Relaxed) {
        return Vec::new();
    }
    gather(engine);
    let mut failed = Vec::new();
    for entry in engine.databases() {
        if stopping() {
            break;
        }
        if let Err(e) = turn(engine, &entry) {
            failed.push(SqlError { message: format!("[{}]: {}", entry.name(), e.message), ..*e });
        }
    }
    // One that was full may have room again.
    engine.follow_query_stores();
    failed
}

/// Plans of a copy are made anew where the primary has other hints or forced plans now; a store that is off needs no memory.
fn follow(engine: &Engine, entry: &DatabaseEntry) {
    let picture = entry.picture();
    let is_on = picture.settings().query_store.as_ref().is_some_and(|s| s.wanted != super::Wanted::Off);
    if !is_on {
        entry.query_store.memory.lock().leave();
    } else if entry.is_copy() && entry.query_store.advice.follow(entry).unwrap_or(false) {
        engine.programs.forget(entry.id);
    }
}

fn turn(engine: &Engine, entry: &Arc<DatabaseEntry>) -> Result<()> {
    let picture = entry.picture();
    let Some(settings) =
        picture.settings().query_store.as_ref().filter(|s| s.wanted == super::Wanted::ReadWrite)
    else {
        return Ok(());
    };
    if !is_written(entry) {
        return Ok(());
    }
    let now = engine.now_utc();
    let turns = &entry.query_store.turns;
    let is_due = |last: &AtomicI64, rest: i64| now - last.load(Ordering::Relaxed) >= rest;
    if is_due(&turns.cleaned, CLEANING_REST) {
        turns.cleaned.store(now, Ordering::Relaxed);
        clean(engine, entry, settings)?;
    }
    // From when it was first looked at.
    let _ = turns.flushed.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    if is_due(&turns.flushed, i64::from(settings.flush_seconds) * TICKS_PER_SECOND) {
        turns.flushed.store(now, Ordering::Relaxed);
        flush(entry)?;
    }
    Ok(())
}

/// Writes what the stores of all databases have in memory: at the end.
pub(crate) fn flush_all(engine: &Engine) {
    gather(engine);
    for entry in engine.databases() {
        if is_written(&entry)
            && let Err(e) = flush(&entry)
        {
            let text =
                format!("The Query Store of database '{}' was not written. {}", entry.name(), e.message);
            engine.options().log.write(&text);
        }
    }
}

/// Writes what a database's store has in memory. It is durable here when this returns; replicas are not waited for.
pub(super) fn flush(entry: &Arc<DatabaseEntry>) -> Result<()> {
    let Some(tree) = tree_of(entry) else { return Ok(()) };
    let failed = |e| txn_error(e, &entry.name(), 0);
    let _one = entry.query_store.flushing.lock();
    loop {
        let rows = entry.query_store.memory.lock().unwritten(ROWS_MAX);
        if rows.is_empty() {
            return Ok(());
        }
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        for (key, bytes, _) in &rows {
            let key = key_bytes(*key);
            match bytes {
                Some(bytes) => txn.put_index(tree, &key, &row::RowBuilder::build(&[Some(bytes)])),
                None => txn.delete_index(tree, &key),
            }
            .map_err(failed)?;
        }
        let commit = txn.commit().map_err(failed)?;
        entry.store.harden().map_err(|e| db_error(e, &entry.name()))?;
        let rows = rows.into_iter().map(|(key, _, change)| (key, change)).collect();
        entry.query_store.memory.lock().written(rows, commit);
    }
}

/// Writes what one has in memory, where it is written here: it is about to be switched off.
pub(crate) fn write_out(engine: &Engine, entry: &Arc<DatabaseEntry>) -> Result<()> {
    gather(engine);
    if is_written(entry) { flush(entry) } else { Ok(()) }
}

/// Removes all that a store has.
pub(crate) fn clear(engine: &Engine, entry: &Arc<DatabaseEntry>) -> Result<()> {
    {
        // What sessions have run so far goes too.
        let _one = engine.gathering.lock();
        gather_held(engine);
        loaded(entry)?.clear();
        entry.query_store.bytes.store(0, Ordering::Relaxed);
    }
    flush(entry)?;
    entry.query_store.advice.forget();
    engine.programs.forget(entry.id);
    engine.follow_query_stores();
    Ok(())
}

// ---- cleaning ----

/// What statistics say of queries: what they took together, ns, and which rows they have.
struct Statistics {
    cpu: BTreeMap<u64, u64>,
    rows: Vec<(Key, u64)>,
    /// Rows of statistics with their interval.
    intervals: Vec<(Key, u64)>,
}

impl Statistics {
    fn read(entry: &DatabaseEntry) -> Result<Statistics> {
        let mut all = Statistics { cpu: BTreeMap::new(), rows: Vec::new(), intervals: Vec::new() };
        for (number, row) in read_rows::<RuntimeRow>(entry)? {
            let cpu = row.figures.get(super::figure::CPU).map_or(0, |f| f.total);
            *all.cpu.entry(row.plan).or_default() += cpu;
            all.rows.push(((RuntimeRow::KIND, number), row.plan));
            all.intervals.push(((RuntimeRow::KIND, number), row.interval));
        }
        for (number, row) in read_rows::<WaitRow>(entry)? {
            all.rows.push(((WaitRow::KIND, number), row.plan));
            all.intervals.push(((WaitRow::KIND, number), row.interval));
        }
        Ok(all)
    }
}

/// The rows of statistics that are stored, with their plan.
pub(super) fn statistics_rows(entry: &DatabaseEntry) -> Result<Vec<(Key, u64)>> {
    Ok(Statistics::read(entry)?.rows)
}

fn clean(engine: &Engine, entry: &Arc<DatabaseEntry>, settings: &QueryStoreSettings) -> Result<()> {
    drop(loaded(entry)?);
    if settings.stale_days > 0 {
        let before = engine.now_utc() - i64::from(settings.stale_days) * TICKS_PER_DAY;
        clean_by_age(entry, before)?;
    }
    if settings.cleans_by_size {
        clean_by_size(entry, settings)?;
    }
    let bytes = entry.query_store.memory.lock().bytes();
    entry.query_store.bytes.store(bytes, Ordering::Relaxed);
    entry.query_store.follow(entry);
    Ok(())
}

/// Removes queries that have not run since a time, and statistics of intervals that ended before it.
fn clean_by_age(entry: &Arc<DatabaseEntry>, before: i64) -> Result<()> {
    let intervals = read_rows::<IntervalRow>(entry)?;
    let old: BTreeSet<u64> = intervals.iter().filter(|(_, row)| row.end < before).map(|(n, _)| *n).collect();
    let stale: Vec<u64> = {
        let memory = entry.query_store.memory.lock();
        let stale = memory.queries.iter().filter(|(n, row)| row.executed < before && !memory.is_advised(**n));
        stale.map(|(n, _)| *n).collect()
    };
    if old.is_empty() && stale.is_empty() {
        return Ok(());
    }
    let statistics = Statistics::read(entry)?;
    let mut memory = entry.query_store.memory.lock();
    let running = memory.interval();
    for (key, interval) in &statistics.intervals {
        if old.contains(interval) && running != Some(*interval) {
            memory.remove_row(*key);
        }
    }
    for interval in old.into_iter().filter(|n| running != Some(*n)) {
        memory.remove_row((IntervalRow::KIND, interval));
    }
    remove_queries(&mut memory, &stale, &statistics.rows);
    Ok(())
}

/// Removes the queries that took the least, the oldest first, until there is room.
fn clean_by_size(entry: &Arc<DatabaseEntry>, settings: &QueryStoreSettings) -> Result<()> {
    let (begins, ends) = (settings.bytes_max() / 100 * BEGINS_AT, settings.bytes_max() / 100 * ENDS_AT);
    let bytes = entry.query_store.memory.lock().bytes();
    if bytes <= begins || bytes == 0 {
        return Ok(());
    }
    let statistics = Statistics::read(entry)?;
    let mut memory = entry.query_store.memory.lock();
    let mut by_cost: Vec<(u64, i64, u64)> = Vec::new();
    for (number, row) in memory.queries.iter().filter(|(n, _)| !memory.is_advised(**n)) {
        let cpu = memory.plans_of(*number).filter_map(|plan| statistics.cpu.get(&plan)).sum();
        by_cost.push((cpu, row.executed, *number));
    }
    by_cost.sort_unstable();
    // Some at once: texts are looked through for each lot.
    for lot in by_cost.chunks(by_cost.len().div_ceil(20).max(1)) {
        if memory.bytes() <= ends {
            break;
        }
        let queries: Vec<u64> = lot.iter().map(|(_, _, number)| *number).collect();
        remove_queries(&mut memory, &queries, &statistics.rows);
    }
    Ok(())
}

/// Removes queries with all that belongs to them. `rows` are the rows of statistics that are stored.
pub(super) fn remove_queries(memory: &mut Memory, queries: &[u64], rows: &[(Key, u64)]) {
    let plans: BTreeSet<u64> =
        queries.iter().flat_map(|query| memory.plans_of(*query).collect::<Vec<_>>()).collect();
    memory.remove_statistics(&plans, rows);
    memory.remove_plans(&plans);
    memory.remove_queries(queries);
}
