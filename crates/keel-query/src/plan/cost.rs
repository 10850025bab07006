//! Cost units (one row read in a scan is 1) and default guesses.

/// Rows of a table nobody has counted.
pub const DEFAULT_ROWS: f64 = 1000.0;
/// No table is assumed to have fewer rows: plans outlive the day the table was empty.
pub const ROWS_MIN: f64 = 30.0;
/// Nor fewer than this when scans and seeks are compared.
pub const PATH_ROWS_MIN: f64 = 200.0;
/// Finding a place in a tree.
pub const SEEK: f64 = 4.0;
/// Reading the next row.
pub const ROW: f64 = 1.0;
/// Fetching the clustered row for an index entry.
pub const LOOKUP: f64 = 4.0;
/// Putting a row into a hash table.
pub const HASH_BUILD: f64 = 1.5;
/// Putting one into an index spool, whose rows nothing has sorted out before.
pub const SPOOL_BUILD: f64 = 3.0;
/// Looking a row up in a hash table.
pub const HASH_PROBE: f64 = 0.7;
/// Starting a hash join.
pub const HASH_START: f64 = 20.0;
/// Evaluating a condition or passing a row on.
pub const TOUCH: f64 = 0.2;

/// Asking another server.
pub const REMOTE_START: f64 = 500.0;
/// A row that it sends.
pub const REMOTE_ROW: f64 = 10.0;

/// Selectivity of an equality nobody knows better.
pub const EQUAL: f64 = 0.05;
/// Of a range with one end.
pub const RANGE: f64 = 0.3;
/// Of a LIKE.
pub const LIKE: f64 = 0.1;
/// Of IS NULL.
pub const NULLS: f64 = 0.05;
/// Of IS NULL for what only an outer join makes NULL.
pub const UNMATCHED: f64 = 0.5;
/// Of anything else.
pub const OTHER: f64 = 0.33;

/// Sorting n rows.
#[must_use]
pub fn sort(rows: f64) -> f64 {
    let n = rows.max(2.0);
    n * n.log2() * 0.15 + n * 0.5
}
