//! Statistics: row counts, distinct values and histograms, from a sample.
//!
//! A [`StatisticsCache`] belongs to the instance; the session layer asks it on behalf of the planner.

use crate::catalog::TableDef;
use keel_base::{DatabaseId, TreeId};
use keel_node::{Database, Direction, Isolation};
use keel_store::row::Row;
use keel_types::compare::order;
use keel_types::{Collation, Value, column};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// What is known of a table.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Number of rows.
    pub rows: f64,
    /// Per column position in `TableDef::columns`; empty when only the row count is known.
    pub columns: Vec<ColumnStatistics>,
}

/// What is known of a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// Distinct values, estimated for the whole table.
    pub distinct: f64,
    /// Fraction of NULLs.
    pub null_fraction: f64,
    /// Ends of equally full buckets, ascending; empty when not sampled.
    pub bounds: Vec<Value>,
    /// Collation of the bounds.
    pub collation: Collation,
}

/// Buckets of a histogram.
const BUCKETS: usize = 64;

impl ColumnStatistics {
    /// From a sample of a column's values out of `total` rows.
    #[must_use]
    pub fn of_sample(mut values: Vec<Value>, total: f64, collation: Collation) -> ColumnStatistics {
        let sampled = values.len().max(1) as f64;
        values.retain(|v| !matches!(v, Value::Null));
        let present = values.len();
        values.sort_by(|a, b| order(a, b, collation));
        let (mut distinct, mut once, mut twice, mut run) = (0.0, 0.0, 0.0, 0usize);
        for i in 0..present {
            run += 1;
            if i + 1 == present || order(&values[i], &values[i + 1], collation).is_ne() {
                distinct += 1.0;
                once += f64::from(u8::from(run == 1));
                twice += f64::from(u8::from(run == 2));
                run = 0;
            }
        }
        // How many values are unseen shows in how many were seen once and twice (Chao's estimator): a sample of few
        // repetitions comes from many values.
        let scale = (total / sampled).max(1.0);
        let estimate = if scale <= 1.0 || once == 0.0 {
            distinct
        } else if twice == 0.0 {
            distinct - once + once * scale
        } else {
            distinct + once * once / (2.0 * twice)
        };
        let bounds = if present >= 2 {
            (0..=BUCKETS).map(|b| values[(b * (present - 1)) / BUCKETS].clone()).collect()
        } else {
            Vec::new()
        };
        ColumnStatistics {
            distinct: estimate.clamp(1.0, total.max(1.0)),
            null_fraction: 1.0 - present as f64 / sampled,
            bounds,
            collation,
        }
    }

    /// Fraction of rows below a value (or at it).
    #[must_use]
    pub fn fraction_below(&self, v: &Value) -> Option<f64> {
        if self.bounds.len() < 2 {
            return None;
        }
        let below = self.bounds.partition_point(|b| order(b, v, self.collation).is_lt());
        Some((below as f64 / self.bounds.len() as f64).clamp(0.0, 1.0))
    }
}

/// Places in a table's key range at which a sample looks.
const PROBES: u64 = 64;
/// Rows read at each place.
const PROBE_ROWS: usize = 32;
/// A table's size is looked at again after this long.
const RECOUNT_AFTER: Duration = Duration::from_secs(10);
/// Changed by more than this fraction, it is sampled again.
const RESAMPLE_AT: f64 = 0.25;

/// Statistics of all tables of an instance, made when asked for.
#[derive(Default)]
pub struct StatisticsCache {
    tables: Mutex<HashMap<(DatabaseId, TreeId), Entry>>,
}

struct Entry {
    statistics: Arc<TableStatistics>,
    counted: Duration,
    columns: usize,
}

impl StatisticsCache {
    /// What is known of a table, sampling it when it is new or has grown or shrunk much.
    pub fn get(&self, db: &Arc<Database>, table: &TableDef) -> Arc<TableStatistics> {
        let now = db.instance().env().clock.now();
        let key = (db.id(), table.clustered().tree);
        let old = {
            let tables = self.tables.lock();
            let entry = tables.get(&key).filter(|e| e.columns == table.columns.len());
            match entry {
                Some(e) if now.saturating_sub(e.counted) < RECOUNT_AFTER => return e.statistics.clone(),
                Some(e) => Some(e.statistics.clone()),
                None => None,
            }
        };
        let count = count(db, table);
        let statistics = match old {
            Some(s) if (s.rows - count).abs() <= s.rows * RESAMPLE_AT + 100.0 => s,
            _ => Arc::new(sample(db, table, count)),
        };
        let entry = Entry { statistics: statistics.clone(), counted: now, columns: table.columns.len() };
        self.tables.lock().insert(key, entry);
        statistics
    }

    /// Forgets everything about a database.
    pub fn forget(&self, database: DatabaseId) {
        self.tables.lock().retain(|(d, _), _| *d != database);
    }
}

fn count(db: &Arc<Database>, table: &TableDef) -> f64 {
    let all = (Bound::Unbounded, Bound::Unbounded);
    db.store().approximate_count(table.clustered().tree, all).map_or(1000.0, |n| n as f64)
}

/// Samples a table at places spread over its key range.
fn sample(db: &Arc<Database>, table: &TableDef, rows: f64) -> TableStatistics {
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); table.columns.len()];
    // A sample that cannot be read leaves the planner with the row count.
    let seen = read_sample(db, table, rows, &mut columns).unwrap_or(0);
    if seen == 0 {
        return TableStatistics { rows: rows.max(1.0), columns: Vec::new() };
    }
    // Few rows were read completely: then they are the count.
    let rows = if seen < PROBE_ROWS { seen as f64 } else { rows.max(seen as f64) };
    let columns = columns
        .into_iter()
        .zip(&table.columns)
        .map(|(values, c)| ColumnStatistics::of_sample(values, rows, c.collation))
        .collect();
    TableStatistics { rows, columns }
}

fn read_sample(
    db: &Arc<Database>,
    table: &TableDef,
    rows: f64,
    columns: &mut [Vec<Value>],
) -> Result<usize, keel_node::TxnError> {
    let mut txn = db.begin(Isolation::ReadCommitted);
    let view = txn.statement_snapshot();
    let tree = table.clustered().tree;
    let edge = |direction| -> Result<Option<Vec<u8>>, keel_node::TxnError> {
        let mut cursor = txn.scan(&view, tree, Bound::Unbounded, Bound::Unbounded, direction)?;
        Ok(cursor.next()?.map(|(k, _)| k.to_vec()))
    };
    let (Some(first), Some(last)) = (edge(Direction::Forward)?, edge(Direction::Reverse)?) else {
        return Ok(0);
    };
    let shared = first.iter().zip(&last).take_while(|(a, b)| a == b).count();
    let number = |k: &[u8]| {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(&k[shared..]) {
            *to = *from;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(&first), number(&last));
    let whole = rows < (PROBES as f64) * (PROBE_ROWS as f64) / 2.0;
    let probes = if whole { 1 } else { PROBES };
    let per_probe = if whole { (PROBES as usize) * PROBE_ROWS } else { PROBE_ROWS };
    let mut seen = 0;
    for i in 0..probes {
        let at = low + (high.saturating_sub(low) / probes) * i;
        let mut from = first[..shared].to_vec();
        from.extend_from_slice(&at.to_be_bytes());
        let lower = if i == 0 { Bound::Unbounded } else { Bound::Included(&from[..]) };
        let mut cursor = txn.scan(&view, tree, lower, Bound::Unbounded, Direction::Forward)?;
        for _ in 0..per_probe {
            let Some((_, row)) = cursor.next()? else { break };
            seen += 1;
            let stored = Row::new(&row);
            for (c, values) in table.columns.iter().zip(columns.iter_mut()) {
                // Large values say nothing and cost much.
                if c.ty.is_large() {
                    continue;
                }
                values.push(match stored.column(usize::from(c.ordinal)) {
                    Some(bytes) => column::decode(bytes, &c.ty),
                    None => Value::Null,
                });
            }
        }
    }
    Ok(seen)
}
