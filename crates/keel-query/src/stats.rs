//! Statistics: row counts, distinct values and histograms, from a sample.
//!
//! A [`StatisticsCache`] belongs to the instance; the session layer asks it on behalf of the planner. `places` says where a sample looks.

mod places;

use crate::catalog::TableDef;
use crate::usage::Changes;
use keel_base::{DatabaseId, TreeId};
use keel_node::{Database, Direction, Isolation};
use keel_store::row::Row;
use keel_types::compare::order;
use keel_types::key::{self, KeyColumn};
use keel_types::{Collation, Value, column};
use parking_lot::Mutex;
use places::{Part, more_places, parts_from, place, shares};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// What is known of a table.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Number of rows.
    pub rows: f64,
    /// Rows that were looked at.
    pub sampled: f64,
    /// When, in nanoseconds since 1970-01-01 UTC.
    pub taken_unix_nanos: i128,
    /// Per column position in `TableDef::columns`; empty when only the row count is known.
    pub columns: Vec<ColumnStatistics>,
    /// What columns have together: the first two, three… columns of every key and of every CREATE STATISTICS.
    pub prefixes: Vec<PrefixStatistics>,
}

/// Distinct combinations of the first columns of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct PrefixStatistics {
    /// Their `column_id`s, in the order of the key; two at least.
    pub columns: Vec<i32>,
    /// Distinct combinations, estimated for the whole table.
    pub distinct: f64,
}

impl TableStatistics {
    /// The most columns among `ids` of which it is known what they have together.
    #[must_use]
    pub fn together(&self, ids: &[i32]) -> Option<&PrefixStatistics> {
        let known = self.prefixes.iter().filter(|p| p.columns.iter().all(|c| ids.contains(c)));
        known.max_by_key(|p| p.columns.len())
    }
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
    /// The same ends, each once, with the rows at and before them (`DBCC SHOW_STATISTICS`).
    pub steps: Vec<Step>,
    /// Rows of the table that a sampled one stands for.
    pub scale: f64,
    /// Mean size of a value as it is stored, NULLs included, in bytes.
    pub average_bytes: f64,
    /// Collation of the bounds.
    pub collation: Collation,
}

/// A step of a histogram; rows are estimated for the whole table.
#[derive(Clone, Debug)]
pub struct Step {
    /// The highest value of the step.
    pub high: Value,
    /// Rows with that value.
    pub equal_rows: f64,
    /// Rows above the step before, and below that value.
    pub range_rows: f64,
    /// Distinct values among those.
    pub range_distinct: f64,
}

/// The least that a histogram is believed to know of a range.
const RANGE_MIN: f64 = 0.005;
/// Buckets of a histogram.
const BUCKETS: usize = 64;
/// A value is frequent when a sample has it so many times: fewer may be chance.
const FREQUENT: f64 = 4.0;
/// Columns of a key whose prefixes are looked at.
const PREFIX_COLUMNS_MAX: usize = 8;

/// In how many places things were seen in a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    distinct: f64,
    once: f64,
    twice: f64,
}

impl Seen {
    fn add(&mut self, times: usize) {
        self.distinct += 1.0;
        self.once += f64::from(u8::from(times == 1));
        self.twice += f64::from(u8::from(times == 2));
    }

    /// How many there are in all, when everything seen stands for `scale` of its kind. How many are unseen shows in how many were seen
    /// once and twice (Chao's estimator): a sample of few repetitions comes from many values.
    fn estimate(self, scale: f64) -> f64 {
        if scale <= 1.0 || self.once == 0.0 {
            self.distinct
        } else if self.twice == 0.0 {
            self.distinct - self.once + self.once * scale
        } else {
            self.distinct + self.once * self.once / (2.0 * self.twice)
        }
    }
}

impl ColumnStatistics {
    /// From a sample of a column's values out of `total` rows. They were read in runs of neighbours, which begin at `runs`, the first at 0.
    #[must_use]
    pub fn of_sample(
        values: Vec<Value>,
        runs: &[usize],
        total: f64,
        collation: Collation,
    ) -> ColumnStatistics {
        // Large values are not read.
        let runs = if values.is_empty() { &[] } else { runs };
        let sampled = values.len().max(1) as f64;
        let scale = (total / sampled).max(1.0);
        let mut sorted: Vec<(Value, usize)> =
            values.into_iter().zip(0..).filter(|(v, _)| !matches!(v, Value::Null)).collect();
        sorted.sort_by(|(a, _), (b, _)| order(a, b, collation));
        let mut groups = vec![None; if scale > 1.0 { sampled as usize } else { 0 }];
        let mut group = 0;
        for (i, (value, at)) in sorted.iter().enumerate() {
            group += usize::from(i > 0 && order(&sorted[i - 1].0, value, collation).is_ne());
            if let Some(of_row) = groups.get_mut(*at) {
                *of_row = Some(group);
            }
        }
        let distinct = if scale > 1.0 { distinct_in_runs(&groups, runs, total) } else { (group + 1) as f64 };
        let distinct = distinct.min(between_ends(&sorted).unwrap_or(f64::INFINITY));
        let values: Vec<Value> = sorted.into_iter().map(|(value, _)| value).collect();
        let present = values.len();
        let bounds = if present >= 2 {
            (0..=BUCKETS).map(|b| values[(b * (present - 1)) / BUCKETS].clone()).collect()
        } else {
            Vec::new()
        };
        ColumnStatistics {
            distinct: distinct.clamp(1.0, total.max(1.0)),
            null_fraction: 1.0 - present as f64 / sampled,
            steps: steps(&values, &bounds, scale, collation),
            scale,
            average_bytes: 0.0,
            bounds,
            collation,
        }
    }

    /// Fraction of the values below one, of those that are not NULL. In its bucket they lie evenly.
    #[must_use]
    pub fn fraction_below(&self, v: &Value) -> Option<f64> {
        if self.bounds.len() < 2 {
            return None;
        }
        let below = self.bounds.partition_point(|b| order(b, v, self.collation).is_lt());
        let Some(before) = below.checked_sub(1) else { return Some(0.0) };
        let Some(high) = self.bounds.get(below) else { return Some(1.0) };
        let within = between(&self.bounds[before], v, high).unwrap_or(0.5);
        Some((before as f64 + within) / (self.bounds.len() - 1) as f64)
    }

    /// What part of the span of these values another column's lie in; `None` of those that are no numbers.
    #[must_use]
    pub fn span_covered_by(&self, other: &ColumnStatistics) -> Option<f64> {
        let ends = |c: &ColumnStatistics| Some((number(c.bounds.first()?)?, number(c.bounds.last()?)?));
        let ((low, high), (from, to)) = (ends(self)?, ends(other)?);
        let part = (to.min(high) - from.max(low)) / (high - low);
        part.is_finite().then(|| part.clamp(0.0, 1.0))
    }

    /// Fraction of rows with values in a range that has such a fraction of the values, as far as a histogram is believed.
    #[must_use]
    pub fn of_all(&self, range: f64) -> f64 {
        range.max(RANGE_MIN) * (1.0 - self.null_fraction)
    }

    /// Fraction of rows with texts that begin with this one.
    #[must_use]
    pub fn fraction_beginning(&self, prefix: &str) -> Option<f64> {
        if self.bounds.len() < 2 {
            return None;
        }
        let (length, prefix) = (prefix.chars().count(), Value::Str(prefix.into()));
        let begins = |bound: &&Value| {
            let Value::Str(text) = bound else { return false };
            let end = text.char_indices().nth(length).map_or(text.len(), |(at, _)| at);
            order(&Value::Str(text[..end].into()), &prefix, self.collation).is_eq()
        };
        let found = self.bounds.iter().filter(begins).count();
        // Between two bounds there may be half a bucket of them.
        Some((found as f64).max(0.5) / self.bounds.len() as f64 * (1.0 - self.null_fraction))
    }

    /// Fraction of rows with a value: what the sample says of one that it has often, and for all others what is left, evenly.
    /// `None` without a histogram.
    #[must_use]
    pub fn fraction_equal(&self, v: &Value) -> Option<f64> {
        let total: f64 = self.steps.iter().map(|s| s.equal_rows + s.range_rows).sum();
        if total < 1.0 || matches!(v, Value::Null) {
            return None;
        }
        let is_frequent = |s: &&Step| s.equal_rows >= FREQUENT * self.scale;
        let mine = self.steps.iter().filter(is_frequent).find(|s| order(&s.high, v, self.collation).is_eq());
        let rows = match mine {
            Some(step) => step.equal_rows,
            None => {
                let frequent = self.steps.iter().filter(is_frequent);
                let (values, rows) = frequent.fold((0.0, 0.0), |(n, r), s| (n + 1.0, r + s.equal_rows));
                // A value that the sample has not may still be there about half as often as one that it has once.
                ((total - rows) / (self.distinct - values).max(1.0)).max(self.scale * 0.5)
            }
        };
        Some((rows / total * (1.0 - self.null_fraction)).clamp(0.0, 1.0))
    }
}

/// Counts sorted values between the ends of buckets, each value standing for `scale` rows.
fn steps(values: &[Value], bounds: &[Value], scale: f64, collation: Collation) -> Vec<Step> {
    let single = values.first().filter(|_| bounds.is_empty());
    let mut steps = Vec::new();
    let mut from = 0;
    for high in bounds.iter().chain(single) {
        let begin = from + values[from..].partition_point(|v| order(v, high, collation).is_lt());
        let end = begin + values[begin..].partition_point(|v| order(v, high, collation).is_eq());
        // A value that fills several buckets ends them all.
        if begin == end {
            continue;
        }
        let range = &values[from..begin];
        let changes = range.windows(2).filter(|w| order(&w[0], &w[1], collation).is_ne()).count();
        steps.push(Step {
            high: high.clone(),
            equal_rows: (end - begin) as f64 * scale,
            range_rows: range.len() as f64 * scale,
            range_distinct: (changes + usize::from(!range.is_empty())) as f64,
        });
        from = end;
    }
    steps
}

/// Where a value is between two, from 0 to 1; `None` of those that are no numbers.
fn between(low: &Value, value: &Value, high: &Value) -> Option<f64> {
    let (low, value, high) = (number(low)?, number(value)?, number(high)?);
    let part = (value - low) / (high - low);
    part.is_finite().then(|| part.clamp(0.0, 1.0))
}

/// A value as a number; `None` of those that are none.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n)
        | Value::Money(n)
        | Value::Time(n)
        | Value::DateTime(n)
        | Value::DateTimeOffset(n, _) => Some(*n as f64),
        Value::Date(day) => Some(f64::from(*day)),
        Value::Decimal(d) => Some(d.to_f64()),
        Value::Float(f) => Some(*f),
        _ => None,
    }
}

/// Places in a table's key range at which a sample looks first.
const PROBES: u64 = 64;
/// Rows read at each of these in the mean, when nobody asks for more.
const PROBE_ROWS: usize = 32;
/// Rows of a sample nobody asked to be larger.
const SAMPLE_ROWS: usize = PROBES as usize * PROBE_ROWS;
/// Rows of the largest sample: they are in memory while it is looked at.
const SAMPLE_ROWS_MAX: usize = 400_000;

/// How much of a table UPDATE STATISTICS looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// As much as a plan that needs to know.
    Default,
    /// So many rows; never fewer than by default, never more than 400,000.
    Rows(usize),
    /// Such a part of them, within the same limits.
    Fraction(f64),
}

/// Tables whose statistics are kept.
const TABLES_MAX: usize = 4096;
/// A table's size is looked at again after this long.
const RECOUNT_AFTER: Duration = Duration::from_secs(10);
/// Grown or shrunk by more than this fraction beyond what was counted (redo of another's changes), it is sampled again.
const RESAMPLE_AT: f64 = 0.25;

/// Changes since a sample of so many rows after which it is out of date; the product's, for compatibility level 130 and up.
#[must_use]
pub fn update_threshold(rows: f64) -> f64 {
    if rows < 1.0 {
        1.0
    } else if rows <= 500.0 {
        500.0
    } else {
        (500.0 + 0.2 * rows).min((1000.0 * rows).sqrt())
    }
}

/// Statistics of all tables of an instance, made when asked for.
#[derive(Default)]
pub struct StatisticsCache {
    tables: Mutex<HashMap<(DatabaseId, TreeId), Entry>>,
}

struct Entry {
    statistics: Arc<TableStatistics>,
    /// What had been changed when the sample was taken.
    changes: Changes,
    counted: Duration,
    shape: u64,
    /// Somebody is taking a new one: meanwhile this is good enough.
    sampling: bool,
}

/// A number that changes with the columns, keys and statistics of a table.
fn shape(table: &TableDef) -> u64 {
    let mut hasher = DefaultHasher::new();
    table.columns.len().hash(&mut hasher);
    for set in column_sets(table) {
        set.hash(&mut hasher);
    }
    hasher.finish()
}

/// The first column of every key and of every CREATE STATISTICS: those whose changes count.
fn leading_columns(table: &TableDef) -> impl Iterator<Item = i32> {
    let keys = table.indexes.iter().filter_map(|i| i.key.first().map(|k| k.column_id));
    // A heap without any still has rows that come and go.
    keys.chain(table.statistics.iter().filter_map(|s| s.columns.first().copied())).chain([0])
}

/// The columns of every key and of every CREATE STATISTICS that has several.
fn column_sets(table: &TableDef) -> Vec<Vec<i32>> {
    let keys = table.indexes.iter().map(|i| i.key.iter().map(|k| k.column_id).collect::<Vec<_>>());
    let sets = keys.chain(table.statistics.iter().map(|s| s.columns.clone()));
    sets.filter(|columns| columns.len() > 1).collect()
}

impl StatisticsCache {
    /// What is known of a table, sampling it when it is new or, with `automatic`, when so much of it has
    /// [changed](update_threshold) that the sample is out of date.
    pub fn get(
        &self,
        db: &Arc<Database>,
        table: &TableDef,
        automatic: bool,
        changes: Changes,
    ) -> Arc<TableStatistics> {
        let now = db.instance().env().clock.now();
        let key = (db.id(), table.clustered().tree);
        let shape = shape(table);
        let mut old = None;
        {
            let mut tables = self.tables.lock();
            if let Some(e) = tables.get_mut(&key).filter(|e| e.shape == shape) {
                let changed = leading_columns(table).map(|c| changes.since(&e.changes, c)).max().unwrap_or(0);
                let is_current = (changed as f64) < update_threshold(e.statistics.rows);
                // Of temporary tables nobody counts changes.
                let uncounted = changes == Changes::default() && e.changes == changes;
                let is_recent = is_current && !uncounted && now.saturating_sub(e.counted) < RECOUNT_AFTER;
                if !automatic || is_recent || e.sampling {
                    return e.statistics.clone();
                }
                e.sampling = true;
                old = is_current.then(|| (e.statistics.clone(), e.changes.clone(), changed as f64));
            }
        }
        let count = count(db, table);
        let beyond = |s: &TableStatistics, changed: f64| (s.rows - count).abs() - changed;
        let (statistics, changes) = match old {
            Some((s, then, changed)) if beyond(&s, changed) <= s.rows * RESAMPLE_AT + 100.0 => (s, then),
            _ => (Arc::new(sample(db, table, count, SAMPLE_ROWS)), changes),
        };
        self.keep(
            key,
            Entry { statistics: statistics.clone(), changes, counted: now, shape, sampling: false },
        );
        statistics
    }

    /// Keeps what was found. Of too many tables those go that nobody has asked for the longest: most of them are no more.
    fn keep(&self, key: (DatabaseId, TreeId), entry: Entry) {
        let mut tables = self.tables.lock();
        if tables.len() >= TABLES_MAX && !tables.contains_key(&key) {
            let mut counted: Vec<Duration> = tables.values().map(|e| e.counted).collect();
            let (_, old, _) = counted.select_nth_unstable(TABLES_MAX / 4);
            let old = *old;
            tables.retain(|_, e| e.counted > old);
        }
        tables.insert(key, entry);
    }

    /// What was found the last time, if it has been asked for since the start or since it was forgotten, and what had been
    /// changed then.
    #[must_use]
    pub fn known(&self, db: &Arc<Database>, table: &TableDef) -> Option<(Arc<TableStatistics>, Changes)> {
        let key = (db.id(), table.clustered().tree);
        self.tables.lock().get(&key).map(|entry| (entry.statistics.clone(), entry.changes.clone()))
    }

    /// Samples a table now, looking at about so many of its rows. As many as it has: all are read, in order.
    pub fn refresh(&self, db: &Arc<Database>, table: &TableDef, size: SampleSize, changes: Changes) {
        let count = count(db, table);
        let rows = match size {
            SampleSize::Default => SAMPLE_ROWS,
            SampleSize::Rows(rows) => rows,
            SampleSize::Fraction(fraction) => (count * fraction).ceil() as usize,
        };
        let rows = rows.clamp(SAMPLE_ROWS, SAMPLE_ROWS_MAX);
        let entry = Entry {
            statistics: Arc::new(sample(db, table, count, rows)),
            changes,
            counted: db.instance().env().clock.now(),
            shape: shape(table),
            sampling: false,
        };
        self.keep((db.id(), table.clustered().tree), entry);
    }

    /// Forgets a table whose rows lie in a tree that is no more.
    pub fn forget_tree(&self, database: DatabaseId, tree: TreeId) {
        self.tables.lock().remove(&(database, tree));
    }

    /// Forgets everything about a database.
    pub fn forget(&self, database: DatabaseId) {
        self.tables.lock().retain(|(d, _), _| *d != database);
    }
}

/// How many rows a table has; nothing else is known of it.
#[must_use]
pub fn counted(db: &Arc<Database>, table: &TableDef) -> TableStatistics {
    TableStatistics { rows: count(db, table).max(1.0), ..TableStatistics::default() }
}

fn count(db: &Arc<Database>, table: &TableDef) -> f64 {
    let all = (Bound::Unbounded, Bound::Unbounded);
    db.store().approximate_count(table.clustered().tree, all).map_or(1000.0, |n| n as f64)
}

/// Samples a table at places spread over its key range.
fn sample(db: &Arc<Database>, table: &TableDef, rows: f64, wanted: usize) -> TableStatistics {
    let taken_unix_nanos = db.instance().env().clock.unix_nanos();
    let mut columns: Vec<Sampled> = vec![Sampled::default(); table.columns.len()];
    let mut runs = Vec::new();
    // A sample that cannot be read leaves the planner with the row count.
    let seen = read_sample(db, table, (rows, wanted), &mut columns, &mut runs).unwrap_or(0);
    if seen == 0 {
        let rows = rows.max(1.0);
        return TableStatistics { rows, taken_unix_nanos, ..TableStatistics::default() };
    }
    // Few rows were read completely: then they are the count.
    let rows = if seen < PROBE_ROWS { seen as f64 } else { rows.max(seen as f64) };
    let prefixes = prefixes(table, &columns, &runs, rows);
    let columns = columns
        .into_iter()
        .zip(&table.columns)
        .map(|(column, c)| ColumnStatistics {
            average_bytes: column.bytes as f64 / seen as f64,
            ..ColumnStatistics::of_sample(column.values, &runs, rows, c.collation)
        })
        .collect();
    TableStatistics { rows, sampled: seen as f64, taken_unix_nanos, columns, prefixes }
}

/// What the columns of each key have together, prefix by prefix.
fn prefixes(table: &TableDef, columns: &[Sampled], runs: &[usize], rows: f64) -> Vec<PrefixStatistics> {
    let mut found: Vec<PrefixStatistics> = Vec::new();
    for set in column_sets(table) {
        let clustered = table.clustered().key.iter().map(|k| k.column_id).eq(set.iter().copied());
        let mut tuples: Vec<Vec<u8>> = Vec::new();
        for (n, id) in set.iter().enumerate().take(PREFIX_COLUMNS_MAX) {
            let Some(at) = table.column_index(*id) else { break };
            let column = KeyColumn::ascending(table.columns[at].ty, table.columns[at].collation);
            let values = &columns[at].values;
            if values.is_empty() {
                break;
            }
            tuples.resize(values.len(), Vec::new());
            for (tuple, value) in tuples.iter_mut().zip(values) {
                key::append(tuple, value, &column);
            }
            let known = found.iter().any(|p| p.columns == set[..=n]);
            if n == 0 || known {
                continue;
            }
            let distinct = if clustered {
                distinct_in_order(&tuples, runs, rows)
            } else {
                distinct_in_runs(&groups(&tuples), runs, rows)
            };
            let distinct = distinct.clamp(1.0, rows.max(1.0));
            found.push(PrefixStatistics { columns: set[..=n].to_vec(), distinct });
        }
    }
    found
}

/// How many whole numbers or days there are from the first of some sorted values to the last, and a little beyond, as the ends
/// of all are not in a sample.
fn between_ends(sorted: &[(Value, usize)]) -> Option<f64> {
    let span = match (&sorted.first()?.0, &sorted.last()?.0) {
        (Value::Int(first), Value::Int(last)) => *last as f64 - *first as f64,
        (Value::Date(first), Value::Date(last)) => f64::from(*last) - f64::from(*first),
        _ => return None,
    };
    Some((span * (1.0 + 2.0 / sorted.len() as f64)).ceil() + 1.0)
}

/// Numbers for tuples, the same for equal ones.
fn groups(tuples: &[Vec<u8>]) -> Vec<Option<usize>> {
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let number = |tuple| {
        let next = numbers.len();
        Some(*numbers.entry(tuple).or_insert(next))
    };
    tuples.iter().map(Vec::as_slice).map(number).collect()
}

/// How many values there are in all, from the numbers of those that sampled rows have: in their order, read in runs of neighbours.
///
/// Neighbours often share a value, as rows in the order of their numbers share dates, which says nothing of how often it is elsewhere. So
/// a value counts once for each run in which it is, and what is unseen shows in how many are in one run and in two. And there are
/// never more values than changes from row to row, of which the runs tell how many there are in all.
fn distinct_in_runs(values: &[Option<usize>], runs: &[usize], rows: f64) -> f64 {
    let count = values.iter().flatten().max().map_or(0, |most| most + 1);
    let mut times = vec![0; count];
    let mut last_seen = vec![usize::MAX; count];
    let (mut steps, mut changes) = (0.0, 0.0);
    for (n, begin) in runs.iter().enumerate() {
        let end = runs.get(n + 1).copied().unwrap_or(values.len());
        for at in *begin..end {
            steps += f64::from(u8::from(at > *begin));
            let Some(value) = values[at] else { continue };
            changes += f64::from(u8::from(at > *begin && values[at - 1] != Some(value)));
            if last_seen[value] != n {
                last_seen[value] = n;
                times[value] += 1;
            }
        }
    }
    let mut seen = Seen::default();
    times.into_iter().for_each(|n| seen.add(n));
    let estimate = seen.estimate((rows / values.len() as f64).max(1.0));
    if steps == 0.0 {
        return estimate;
    }
    estimate.min(1.0 + changes / steps * (rows - 1.0)).max(seen.distinct)
}

/// Of tuples that are the first columns of the order in which the rows lie, read in runs of neighbours: equal ones are
/// neighbours, so there are as many in all as there are changes from row to row.
fn distinct_in_order(tuples: &[Vec<u8>], runs: &[usize], rows: f64) -> f64 {
    let (mut steps, mut changes) = (0.0, 0.0);
    for (n, begin) in runs.iter().enumerate() {
        let end = runs.get(n + 1).copied().unwrap_or(tuples.len());
        for pair in tuples[*begin..end].windows(2) {
            steps += 1.0;
            changes += f64::from(u8::from(pair[0] != pair[1]));
        }
    }
    let observed = tuples.iter().collect::<HashSet<_>>().len() as f64;
    if steps == 0.0 { observed } else { (1.0 + changes / steps * (rows - 1.0)).max(observed) }
}

/// What was read of a column.
#[derive(Clone, Default)]
struct Sampled {
    values: Vec<Value>,
    /// Stored size of all values together.
    bytes: usize,
}

fn read_sample(
    db: &Arc<Database>,
    table: &TableDef,
    (rows, wanted): (f64, usize),
    columns: &mut [Sampled],
    runs: &mut Vec<usize>,
) -> Result<usize, keel_node::TxnError> {
    // Changes are counted before they are committed, so rows are looked at as they are; the session may be about to read its own.
    let mut txn = db.begin(Isolation::ReadUncommitted);
    let view = txn.statement_snapshot();
    let tree = table.clustered().tree;
    let end =
        |from: Bound<&[u8]>, to: Bound<&[u8]>, direction| -> Result<Option<Vec<u8>>, keel_node::TxnError> {
            let mut cursor = txn.scan(&view, tree, from, to, direction)?;
            Ok(cursor.next()?.map(|(k, _)| k.to_vec()))
        };
    let edge = |direction| end(Bound::Unbounded, Bound::Unbounded, direction);
    let (Some(first), Some(last)) = (edge(Direction::Forward)?, edge(Direction::Reverse)?) else {
        return Ok(0);
    };
    // Rows that nobody has counted may be twice as many as they seem, unless a sample is to be as large as they are.
    let whole = rows < wanted as f64 * if wanted > SAMPLE_ROWS { 1.01 } else { 0.5 };
    let mut places = vec![first.clone()];
    for n in 1..if whole { 1 } else { PROBES } {
        places.push(place(&first, &last, n, &end)?);
    }
    places.sort_unstable();
    places.dedup();
    let rows_in = |part: &Part<'_>| db.store().approximate_count(tree, *part).unwrap_or(0).max(1);
    let quotas_of = |parts: &[Part<'_>]| shares(wanted, &parts.iter().map(rows_in).collect::<Vec<_>>());
    if !whole {
        places = more_places(&places, &quotas_of(&parts_from(&places)), &end)?;
    }
    let parts = parts_from(&places);
    let quotas = if whole { vec![wanted + wanted / 4] } else { quotas_of(&parts) };
    let mut seen = 0;
    for ((lower, upper), quota) in parts.into_iter().zip(quotas).filter(|(_, quota)| *quota > 0) {
        let mut cursor = txn.scan(&view, tree, lower, upper, Direction::Forward)?;
        runs.push(seen);
        for _ in 0..quota {
            let Some((_, row)) = cursor.next()? else { break };
            seen += 1;
            let stored = Row::new(&row);
            for (c, sampled) in table.columns.iter().zip(columns.iter_mut()) {
                let bytes = stored.column(usize::from(c.ordinal));
                sampled.bytes += bytes.map_or(0, <[u8]>::len);
                // Large values say nothing and cost much.
                if c.ty.is_large() {
                    continue;
                }
                sampled.values.push(match bytes {
                    Some(bytes) => column::decode(bytes, &c.ty),
                    None => Value::Null,
                });
            }
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of two columns: 500 first ones, each with 20 second ones.
    fn two_columns() -> Vec<Vec<u8>> {
        (0..10_000u32).map(|n| [(n / 20).to_be_bytes(), (n % 20).to_be_bytes()].concat()).collect()
    }

    #[test]
    fn neighbours_tell_how_many_there_are_in_all() {
        let rows = two_columns();
        let runs: Vec<usize> = (0..64).map(|n| n * 32).collect();
        let sampled = |columns: usize| -> Vec<Vec<u8>> {
            let places = (0..64).map(|n| n * 150);
            places.flat_map(|at| rows[at..at + 32].iter().map(|r| r[..columns * 4].to_vec())).collect()
        };
        let first = distinct_in_order(&sampled(1), &runs, 10_000.0);
        assert!((450.0..550.0).contains(&first), "{first}");
        let both = distinct_in_order(&sampled(2), &runs, 10_000.0);
        assert!((9_990.0..=10_000.0).contains(&both), "{both}");
        // All rows, read as one run, are counted exactly.
        let all: Vec<Vec<u8>> = rows.iter().map(|r| r[..4].to_vec()).collect();
        let all = (distinct_in_order(&all, &[0], 10_000.0), distinct_in_runs(&groups(&all), &[0], 10_000.0));
        assert_eq!(all, (500.0, 500.0));
    }

    /// 256 runs of 8 rows out of 400,000, and the numbers that these have.
    fn short_runs(number: impl Fn(usize) -> usize) -> f64 {
        let runs: Vec<usize> = (0..256).map(|n| n * 8).collect();
        let rows = (0..256).flat_map(|n| (0..8).map(move |i| n * 1_562 + i));
        let rows: Vec<Vec<u8>> = rows.map(|row| number(row).to_be_bytes().to_vec()).collect();
        distinct_in_runs(&groups(&rows), &runs, 400_000.0)
    }

    #[test]
    fn values_that_neighbours_share_tell_of_more() {
        let mixed = |n: usize| {
            let mut hasher = DefaultHasher::new();
            n.hash(&mut hasher);
            hasher.finish() as usize
        };
        let about = |found: f64, all: f64| (all * 0.5..all * 2.0).contains(&found);
        // Four rows an order, 160 a day, and a day up to a month later; each of 256 runs is of a day or two.
        let orders = short_runs(|row| row / 4);
        assert!(about(orders, 100_000.0), "{orders}");
        let days = short_runs(|row| row / 160);
        assert!(about(days, 2_500.0), "{days}");
        let delivered = short_runs(|row| row / 160 + mixed(row) % 30);
        assert!(about(delivered, 2_530.0), "{delivered}");
        // Values that are anywhere, few and many.
        let parts = short_runs(|row| mixed(row) % 20_000);
        assert!(about(parts, 20_000.0), "{parts}");
        assert_eq!((short_runs(|row| mixed(row) % 3), short_runs(|_| 7)), (3.0, 1.0));
        // Each row has its own.
        assert!((short_runs(|row| row) - 400_000.0).abs() < 1.0);
    }

    #[test]
    fn there_are_no_more_whole_numbers_than_between_the_ends() {
        let of = |values: Vec<Value>| {
            ColumnStatistics::of_sample(values, &[0, 500, 1000], 100_000.0, Collation::default()).distinct
        };
        let years = |n: i64| 1900 + n * 200 / 1499;
        assert!((201.0..203.0).contains(&of((0..1500).map(|n| Value::Int(years(n))).collect())));
        assert!((201.0..203.0).contains(&of((0..1500).map(|n| Value::Date(years(n) as i32)).collect())));
        assert!(of((0..1500).map(|n| Value::Float(n as f64 / 10.0)).collect()) > 50_000.0);
        // Of no value, and of none that was read, one is taken to be there.
        assert_eq!((of(vec![Value::Null; 1500]), of(Vec::new())), (1.0, 1.0));
    }

    #[test]
    fn a_frequent_value_is_told_from_a_rare_one() {
        let values: Vec<Value> = (0..2000).map(|n| Value::Int(if n < 1900 { 1 } else { n })).collect();
        let column = ColumnStatistics::of_sample(values, &[0], 20_000.0, Collation::default());
        let of = |n| column.fraction_equal(&Value::Int(n)).unwrap();
        assert!((0.94..0.96).contains(&of(1)), "{}", of(1));
        assert!(of(1950) < 0.001 && of(7) < 0.001 && of(7) > 0.0, "{} {}", of(1950), of(7));
        assert_eq!(column.fraction_equal(&Value::Null), None);
    }

    #[test]
    fn values_lie_evenly_between_bounds() {
        let values = |all: Vec<i64>| {
            ColumnStatistics::of_sample(
                all.into_iter().map(Value::Int).collect(),
                &[0],
                100_000.0,
                Collation::default(),
            )
        };
        let even = values((0..10_000).collect());
        for (n, expected) in [(-5, 0.0), (0, 0.0), (100, 0.01), (5_000, 0.5), (9_990, 0.999), (20_000, 1.0)] {
            let below = even.fraction_below(&Value::Int(n)).unwrap();
            assert!((below - expected).abs() < 1e-3, "{below} below {n}");
        }
        // One value is half of them: it is not below itself.
        let half = values((0..5_000).map(|n| n / 10).chain([600; 5_000]).collect());
        let below = |n| half.fraction_below(&Value::Int(n)).unwrap();
        assert!((below(600) - 0.5).abs() < 0.02 && below(601) == 1.0, "{} {}", below(600), below(601));
        let texts = ["a", "b", "c"].map(Value::str).to_vec();
        let texts = ColumnStatistics::of_sample(texts, &[0], 3.0, Collation::default());
        assert_eq!(texts.fraction_below(&Value::str("zz")), Some(1.0));
    }

    #[test]
    fn steps_account_for_every_row() {
        let values: Vec<Value> = (0..1000).map(|n| Value::Int(if n < 300 { 7 } else { n })).collect();
        let column = ColumnStatistics::of_sample(values, &[0], 2000.0, Collation::default());
        assert!(column.steps.len() <= BUCKETS + 1);
        let total: f64 = column.steps.iter().map(|s| s.equal_rows + s.range_rows).sum();
        assert!((total - 2000.0).abs() < 1e-6, "{total}");
        let first = &column.steps[0];
        assert_eq!((first.high.as_int(), first.equal_rows, first.range_rows), (Some(7), 600.0, 0.0));
        let rest = &column.steps[1..];
        assert!(rest.iter().all(|s| s.range_rows == 2.0 * s.range_distinct && s.equal_rows == 2.0));
        let one = ColumnStatistics::of_sample(vec![Value::Int(3)], &[0], 1.0, Collation::default());
        assert_eq!(one.steps.len(), 1);
    }
}
