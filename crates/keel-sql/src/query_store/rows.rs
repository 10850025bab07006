//! What is stored: rows of the database's tree, by kind and number.
//!
//! | byte | key |
//! | --- | --- |
//! | 0 | kind |
//! | 1..9 | number, big-endian, from 1 |
//!
//! The value is one column: JSON of the row, but for a plan's document, which is its text. Rows that are not understood are passed over:
//! they are statistics.

use super::record::Figure;
use crate::engine::DatabaseEntry;
use crate::map::txn_error;
use keel_base::TreeId;
use keel_node::{Direction, Isolation};
use keel_query::plan::Directions;
use keel_store::row;
use keel_types::error::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Bound;

/// A row's key.
pub(super) type Key = (u8, u64);

/// A kind of rows.
pub(crate) trait Stored: Serialize + DeserializeOwned {
    const KIND: u8;

    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers and texts can be written as JSON")
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Key of the documents of plans.
pub(super) const DOCUMENT: u8 = 5;

macro_rules! stored {
    ($($row:ident = $kind:literal;)*) => { $(impl Stored for $row { const KIND: u8 = $kind; })* };
}

stored! {
    TextRow = 1;
    ContextRow = 2;
    QueryRow = 3;
    PlanRow = 4;
    IntervalRow = 6;
    RuntimeRow = 7;
    WaitRow = 8;
    HintRow = 9;
    DirectionsRow = 10;
    ForcedRow = 11;
}

/// `query_store_query_text`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TextRow {
    pub text: String,
    /// Passwords were left out of it.
    #[serde(default)]
    pub restricted: bool,
}

/// `query_context_settings`
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ContextRow {
    /// As `dm_exec_plan_attributes` has them.
    pub set_options: i32,
    pub language: i16,
    pub date_format: i16,
    pub date_first: u8,
    /// Where names without a schema were looked for; -2 in modules.
    pub schema: i32,
    pub contained: bool,
}

/// How often something was compiled, and what that took, µs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Compiles {
    pub count: u64,
    pub total_us: u64,
    pub last_us: u64,
    /// UTC, ticks of 100 ns.
    pub first: i64,
    pub last: i64,
}

impl Compiles {
    pub fn add(&mut self, us: u64, at: i64) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
        self.total_us += us;
        self.last_us = us;
        self.last = self.last.max(at);
    }

    pub fn average_us(&self) -> f64 {
        self.total_us as f64 / self.count.max(1) as f64
    }
}

/// `query_store_query`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct QueryRow {
    pub text: u64,
    pub context: u64,
    /// The module; 0 for batches.
    pub object: i32,
    pub hash: u64,
    /// 0 none, 1 by the user.
    pub parameters: u8,
    /// Where it was in its batch or module, bytes of UTF-16.
    pub offsets: (i64, i64),
    pub compiles: Compiles,
    /// UTC, ticks of 100 ns.
    pub executed: i64,
}

/// `query_store_plan`; its document is a row of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlanRow {
    pub query: u64,
    pub hash: u64,
    pub compiles: Compiles,
    pub executed: i64,
    pub parallel: bool,
    pub compatibility: u8,
    /// How often it could not be forced since it was to be, and the number of the error of the last time.
    #[serde(default)]
    pub failures: u64,
    #[serde(default)]
    pub failure: i32,
}

/// `query_store_runtime_stats_interval`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IntervalRow {
    /// UTC, ticks of 100 ns.
    pub start: i64,
    pub end: i64,
}

/// `query_store_runtime_stats`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RuntimeRow {
    pub plan: u64,
    pub interval: u64,
    /// 0 regular, 3 aborted, 4 exception.
    pub execution: u8,
    pub count: u64,
    /// UTC, ticks of 100 ns.
    pub first: i64,
    pub last: i64,
    /// In the order of [`super::record::figure`].
    pub figures: Vec<Figure>,
}

/// `query_store_wait_stats`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WaitRow {
    pub plan: u64,
    pub interval: u64,
    pub execution: u8,
    pub category: u8,
    /// Executions that waited.
    pub count: u64,
    /// Nanoseconds.
    pub waited: Figure,
}

/// `query_store_query_hints`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HintRow {
    pub query: u64,
    /// `OPTION (…)`
    pub text: String,
}

/// How a plan can be made again; its number is the plan's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DirectionsRow {
    /// What tells it from other plans of its query, whatever its database is called.
    pub shape: u64,
    pub directions: Directions,
}

/// A plan that is forced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForcedRow {
    pub query: u64,
    pub plan: u64,
    /// Since when, UTC, ticks of 100 ns.
    pub since: i64,
}

pub(super) fn key_bytes((kind, number): Key) -> [u8; 9] {
    let mut bytes = [kind; 9];
    bytes[1..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn key_of(bytes: &[u8]) -> Option<Key> {
    let (kind, number) = bytes.split_first()?;
    Some((*kind, u64::from_be_bytes(number.try_into().ok()?)))
}

/// Calls with every row of a kind, or of all, as it is stored.
pub(super) fn scan(
    entry: &DatabaseEntry,
    tree: TreeId,
    kind: Option<u8>,
    mut each: impl FnMut(Key, &[u8]),
) -> Result<()> {
    let failed = |e| txn_error(e, &entry.name(), 0);
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    let view = txn.view_as(Isolation::ReadCommitted);
    let (from, to) = kind.map_or(([0], [u8::MAX]), |kind| ([kind], [kind + 1]));
    let (from, to) = (Bound::Included(&from[..]), Bound::Excluded(&to[..]));
    let mut cursor = txn.scan(&view, tree, from, to, Direction::Forward).map_err(failed)?;
    while let Some((key, bytes)) = cursor.next().map_err(failed)? {
        if let (Some(key), Some(value)) = (key_of(key), row::column(&bytes, 0)) {
            each(key, value);
        }
    }
    Ok(())
}

/// The rows of a kind by number, as they are now: those that are yet to be written too, where the database is written.
pub(crate) fn read_rows<T: Stored>(entry: &DatabaseEntry) -> Result<Vec<(u64, T)>> {
    let mut rows = Vec::new();
    read_all(entry, T::KIND, |number, bytes| rows.extend(T::decode(bytes).map(|row| (number, row))))?;
    Ok(rows)
}

/// The same of any kind, with what is in them.
pub(super) fn read_all(entry: &DatabaseEntry, kind: u8, mut each: impl FnMut(u64, &[u8])) -> Result<()> {
    let tree = super::tree_of(entry);
    // Before the tree is read: what is written meanwhile is seen twice, and not missed.
    let over = entry.query_store.memory.lock().waiting(kind);
    if let Some(tree) = tree {
        scan(entry, tree, Some(kind), |(_, number), bytes| {
            if !over.contains_key(&number) {
                each(number, bytes);
            }
        })?;
    }
    for (number, bytes) in over {
        if let Some(bytes) = bytes {
            each(number, &bytes);
        }
    }
    Ok(())
}

/// Documents of plans, by the plan's number.
pub(crate) fn read_documents(entry: &DatabaseEntry) -> Result<std::collections::BTreeMap<u64, String>> {
    let mut all = std::collections::BTreeMap::new();
    read_all(entry, DOCUMENT, |number, bytes| {
        all.insert(number, String::from_utf8_lossy(bytes).into_owned());
    })?;
    Ok(all)
}

/// Bytes of all rows that are stored.
pub(super) fn stored_bytes(entry: &DatabaseEntry) -> Result<u64> {
    let mut bytes = 0;
    if let Some(tree) = super::tree_of(entry) {
        scan(entry, tree, None, |_, value| bytes += (value.len() + size_of::<Key>()) as u64)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_that_were_stored_before_they_could_be_forced_have_not_failed() {
        let stored = br#"{"query":3,"hash":5,"compiles":{"count":1,"total_us":2,"last_us":2,"first":7,"last":7},"executed":9,"parallel":false,"compatibility":160}"#;
        let row = PlanRow::decode(stored).expect("it is understood");
        assert_eq!((row.query, row.hash, row.failures, row.failure), (3, 5, 0, 0));
    }
}
