//! What indexes are used for: `dm_db_index_usage_stats` and `dm_db_index_operational_stats`.
//!
//! Both begin with the opening of the database. Of the second only rows, scans, lookups and row locks have a meaning here:
//! rows lie in no pages of their own until the next checkpoint, which builds pages anew, so page splits, latches,
//! forwarded and off-row parts do not exist and are 0.

use super::{BIG, Column, DATE, INT, NULL, SMALL, SystemView, ViewContext, date, int};
use crate::engine::{DatabaseEntry, TEMPDB};
use keel_query::catalog::{IndexDef, TableDef};
use keel_query::usage::{Operations, Uses};
use keel_types::Value;
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const USAGE: &[Column] = &[
    ("database_id", SMALL),
    ("object_id", INT),
    ("index_id", INT),
    ("user_seeks", BIG),
    ("user_scans", BIG),
    ("user_lookups", BIG),
    ("user_updates", BIG),
    ("last_user_seek", DATE),
    ("last_user_scan", DATE),
    ("last_user_lookup", DATE),
    ("last_user_update", DATE),
    ("system_seeks", BIG),
    ("system_scans", BIG),
    ("system_lookups", BIG),
    ("system_updates", BIG),
    ("last_system_seek", DATE),
    ("last_system_scan", DATE),
    ("last_system_lookup", DATE),
    ("last_system_update", DATE),
];

const OPERATIONAL: &[Column] = &[
    ("database_id", SMALL),
    ("object_id", INT),
    ("index_id", INT),
    ("partition_number", INT),
    ("hobt_id", BIG),
    ("leaf_insert_count", BIG),
    ("leaf_delete_count", BIG),
    ("leaf_update_count", BIG),
    ("leaf_ghost_count", BIG),
    ("nonleaf_insert_count", BIG),
    ("nonleaf_delete_count", BIG),
    ("nonleaf_update_count", BIG),
    ("leaf_allocation_count", BIG),
    ("nonleaf_allocation_count", BIG),
    ("leaf_page_merge_count", BIG),
    ("nonleaf_page_merge_count", BIG),
    ("range_scan_count", BIG),
    ("singleton_lookup_count", BIG),
    ("forwarded_fetch_count", BIG),
    ("lob_fetch_in_pages", BIG),
    ("lob_fetch_in_bytes", BIG),
    ("lob_orphan_create_count", BIG),
    ("lob_orphan_insert_count", BIG),
    ("row_overflow_fetch_in_pages", BIG),
    ("row_overflow_fetch_in_bytes", BIG),
    ("column_value_push_off_row_count", BIG),
    ("column_value_pull_in_row_count", BIG),
    ("row_lock_count", BIG),
    ("row_lock_wait_count", BIG),
    ("row_lock_wait_in_ms", BIG),
    ("page_lock_count", BIG),
    ("page_lock_wait_count", BIG),
    ("page_lock_wait_in_ms", BIG),
    ("index_lock_promotion_attempt_count", BIG),
    ("index_lock_promotion_count", BIG),
    ("page_latch_wait_count", BIG),
    ("page_latch_wait_in_ms", BIG),
    ("page_io_latch_wait_count", BIG),
    ("page_io_latch_wait_in_ms", BIG),
    ("tree_page_latch_wait_count", BIG),
    ("tree_page_latch_wait_in_ms", BIG),
    ("tree_page_io_latch_wait_count", BIG),
    ("tree_page_io_latch_wait_in_ms", BIG),
    ("page_compression_attempt_count", BIG),
    ("page_compression_success_count", BIG),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_db_index_usage_stats", columns: USAGE, rows: usage },
    SystemView {
        schema: "sys",
        name: "dm_db_index_operational_stats",
        columns: OPERATIONAL,
        rows: operational,
    },
];

/// Indexes and heaps of a database, those of temporary tables left out: nobody counts them.
fn indexes(cx: &ViewContext<'_>, d: &Arc<DatabaseEntry>) -> Vec<(Arc<TableDef>, usize)> {
    if d.id == TEMPDB {
        return Vec::new();
    }
    let picture = if d.id == cx.entry.id { Arc::clone(&cx.picture) } else { d.picture() };
    let all = |t: &Arc<TableDef>| (0..t.indexes.len()).map(|n| (Arc::clone(t), n)).collect::<Vec<_>>();
    picture.stored().flat_map(all).collect()
}

fn usage(cx: &ViewContext<'_>) -> Rows {
    let last = |u: Uses| u.last().map_or(NULL, date);
    let mut rows = Rows::new();
    for d in cx.engine.databases() {
        for (table, n) in indexes(cx, &d) {
            let index = &table.indexes[n];
            let Some(counted) = d.usage.known(index.tree) else { continue };
            let uses = counted.uses();
            let all = [uses.seeks, uses.scans, uses.lookups, uses.updates];
            // Planned for and never used: as the product shows it, not at all.
            if all.iter().all(|u| u.count() == 0) {
                continue;
            }
            let mut row = vec![int(d.id.0), int(table.object_id), int(index.index_id)];
            row.extend(all.map(|u| int(u.count() as i64)));
            row.extend(all.map(last));
            // Nothing but users' statements reads or changes indexes.
            row.extend([0; 4].map(int));
            row.extend([NULL, NULL, NULL, NULL]);
            rows.push(row);
        }
    }
    rows
}

/// Arguments: database, object, index, partition; NULL or 0 stands for all.
fn operational(cx: &ViewContext<'_>) -> Rows {
    let wanted = |at: usize| cx.args.get(at).and_then(Value::as_int);
    let fits = |t: &TableDef, i: &IndexDef| {
        wanted(1).is_none_or(|id| id == 0 || id == i64::from(t.object_id))
            && wanted(2).is_none_or(|id| id < 0 || id == i64::from(i.index_id))
            && wanted(3).is_none_or(|n| n <= 1)
    };
    let mut rows = Rows::new();
    for d in cx.engine.databases() {
        if wanted(0).is_some_and(|id| id != 0 && id != i64::from(d.id.0)) {
            continue;
        }
        for (table, n) in indexes(cx, &d) {
            let index = &table.indexes[n];
            if fits(&table, index) {
                let done = d.usage.known(index.tree).map(|u| u.operations()).unwrap_or_default();
                rows.push(operational_row(&d, &table, index, done));
            }
        }
    }
    rows
}

fn operational_row(d: &DatabaseEntry, table: &TableDef, index: &IndexDef, done: Operations) -> Vec<Value> {
    let value = |(name, _): &Column| {
        let n = match *name {
            "database_id" => i64::from(d.id.0),
            "object_id" => i64::from(table.object_id),
            "index_id" => i64::from(index.index_id),
            "partition_number" => 1,
            "hobt_id" => i64::from(index.tree.0),
            "leaf_insert_count" => done.inserted as i64,
            "leaf_delete_count" => done.deleted as i64,
            "leaf_update_count" => done.updated as i64,
            "range_scan_count" => done.ranges as i64,
            "singleton_lookup_count" => done.points as i64,
            "row_lock_count" => done.row_locks as i64,
            "row_lock_wait_count" => done.lock_waits as i64,
            "index_lock_promotion_attempt_count" => done.escalations_tried as i64,
            "index_lock_promotion_count" => done.escalations as i64,
            "row_lock_wait_in_ms" => (done.lock_wait_nanos / 1_000_000) as i64,
            _ => 0,
        };
        int(n)
    };
    OPERATIONAL.iter().map(value).collect()
}
