//! Whether a plan still suits the data that it was made for.
//!
//! A plan is made from samples of its tables ([`keel_query::stats`]) and kept. The product makes it anew when so much of a table has
//! changed that the sample is out of date; so whoever is about to execute a plan asks whether the samples that it was made from are
//! still the ones that would be used now:
//!
//! ```text
//! execution ── look() as when it was last asked? ── yes ──► execute
//!                   │ no: a second has gone by, or a statement has changed many rows
//!                   ▼
//!              statistics_of(each table): out of date ones are sampled again
//!                   │ all as the plan has them ──► remember look(), execute
//!                   └ another ──► compile again
//! ```
//!
//! Asking costs a look at the system's coarse clock and at a counter that hardly ever changes.

use super::{DatabaseEntry, Engine};
use keel_query::catalog::TableDef;
use keel_query::stats::TableStatistics;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Fewer changed rows make no sample out of date at once: the least of the product's thresholds.
const MANY_ROWS: u64 = 500;
/// A second and a bit, as a power of two of nanoseconds.
const SECOND_BITS: u32 = 30;
/// Of the number that [`Engine::look`] gives, those that tell seconds.
const COUNT_BITS: u32 = 24;

impl Engine {
    /// What is known of a table, as it is now unless its statistics are not to be updated.
    pub(crate) fn statistics_of(&self, entry: &DatabaseEntry, table: &TableDef) -> Arc<TableStatistics> {
        let picture = entry.picture();
        let switched_off = picture.settings().flags.get("AUTO_UPDATE_STATISTICS") == Some(&false);
        let automatic = !switched_off && !table.no_auto_statistics;
        self.statistics.get(&entry.store, table, automatic, entry.usage.changes(table))
    }

    /// A number that is another when plans should be looked at.
    #[inline]
    pub(crate) fn look(&self) -> u64 {
        let second = (self.options.env.clock.unix_nanos_about() >> SECOND_BITS) as u64;
        (second << COUNT_BITS) ^ self.much_changed.load(Ordering::Relaxed)
    }

    /// A statement has changed so many rows.
    pub(crate) fn note_changes(&self, rows: u64) {
        if rows >= MANY_ROWS {
            self.much_changed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
