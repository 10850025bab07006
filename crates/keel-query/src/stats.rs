//! Statistics: row counts, distinct values and histograms, from a sample.
//!
//! The session layer keeps one [`TableStatistics`] per table and modification count; the planner only reads them.

use keel_types::compare::order;
use keel_types::{Collation, Value};

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
        let (mut distinct, mut once, mut run) = (0.0, 0.0, 0usize);
        for i in 0..present {
            run += 1;
            if i + 1 == present || order(&values[i], &values[i + 1], collation).is_ne() {
                distinct += 1.0;
                once += f64::from(u8::from(run == 1));
                run = 0;
            }
        }
        // Values seen once in the sample stand for unseen ones in proportion (a simple jackknife).
        let scale = (total / sampled).max(1.0);
        let estimate = if present == 0 {
            1.0
        } else {
            distinct - once + once * scale.min(if once / distinct > 0.9 { scale } else { scale.sqrt() })
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
