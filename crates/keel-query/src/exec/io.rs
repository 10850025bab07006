//! Counters of SET STATISTICS IO.

use super::node::{Access, Bounds};

/// What SET STATISTICS IO reports: per table, scans and pages' worth of rows read.
#[derive(Default)]
pub struct IoCounters {
    tables: Vec<(String, u64, u64)>,
}

/// Bytes of rows that count as one page.
pub(crate) const PAGE_BYTES: u64 = 8096;
/// Pages passed on the way to a row.
pub(super) const TREE_DEPTH: u64 = 2;

impl IoCounters {
    /// A table or index is opened.
    pub(crate) fn scan(&mut self, node: &Access) {
        let lookups = u64::from(matches!(node.bounds, Bounds::Point(_) | Bounds::Row(_)));
        match self.tables.iter_mut().find(|(t, ..)| *t == node.table_name) {
            Some((_, scans, bytes)) => {
                *scans += 1 - lookups;
                *bytes += TREE_DEPTH * PAGE_BYTES;
            }
            None => self.tables.push((node.table_name.clone(), 1 - lookups, TREE_DEPTH * PAGE_BYTES)),
        }
    }
    /// Adds what a helper has counted.
    pub(crate) fn absorb(&mut self, helper: IoCounters) {
        for (table, scans, bytes) in helper.tables {
            match self.tables.iter_mut().find(|(t, ..)| *t == table) {
                Some((_, own_scans, own_bytes)) => {
                    *own_scans += scans;
                    *own_bytes += bytes;
                }
                None => self.tables.push((table, scans, bytes)),
            }
        }
    }
    /// A row of it is read.
    pub(crate) fn row(&mut self, node: &Access, bytes: usize) {
        if let Some((_, _, read)) = self.tables.iter_mut().find(|(t, ..)| *t == node.table_name) {
            *read += bytes as u64 + if node.lookup.is_some() { TREE_DEPTH * PAGE_BYTES } else { 0 };
        }
    }
    /// The lines of the report.
    #[must_use]
    pub fn report(&self) -> Vec<String> {
        let line = |(table, scans, bytes): &(String, u64, u64)| {
            let pages = bytes.div_ceil(PAGE_BYTES);
            format!(
                "Table '{table}'. Scan count {scans}, logical reads {pages}, physical reads 0, page server reads 0, read-ahead reads 0, page server read-ahead reads 0, lob logical reads 0, lob physical reads 0, lob page server reads 0, lob read-ahead reads 0, lob page server read-ahead reads 0."
            )
        };
        self.tables.iter().map(line).collect()
    }
}
