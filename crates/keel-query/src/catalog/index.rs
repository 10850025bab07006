//! Indexes: what they are made of and what they were told.

use super::{Compression, ObjectId, TableDef};
use crate::partition::PartitionedBy;
use keel_base::TreeId;
use serde::{Deserialize, Serialize};

/// One key column of an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexColumn {
    /// `column_id` in the table.
    pub column_id: i32,
    /// DESC.
    pub descending: bool,
}

/// What an index is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKind {
    /// The rows themselves, in insertion order under a hidden 8-byte row id (a heap).
    Heap,
    /// The rows themselves, in key order.
    Clustered,
    /// Key → row in the clustered tree.
    Nonclustered,
}

/// An index, a heap, or the index behind a PRIMARY KEY or UNIQUE constraint.
///
/// Key bytes: the order-preserving encoding of the key columns (`keel_types::key`); a non-unique clustered index
/// appends an 8-byte uniquifier, a non-unique nonclustered index appends the clustered key.
/// Row bytes: clustered/heap hold all columns by `ordinal`; nonclustered hold [`IndexDef::stored_columns`], then as last
/// column the encoded clustered key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexDef {
    /// `index_id`: 0 heap, 1 clustered, 2… nonclustered.
    pub index_id: i32,
    /// Its tree in the store.
    pub tree: TreeId,
    /// Name; empty for a heap.
    pub name: String,
    /// Kind.
    pub kind: IndexKind,
    /// UNIQUE.
    pub unique: bool,
    /// Behind a PRIMARY KEY constraint.
    pub is_primary_key: bool,
    /// Behind a UNIQUE constraint.
    pub is_unique_constraint: bool,
    /// Object id of that constraint, 0 for a plain index.
    pub constraint_id: ObjectId,
    /// Key columns in order.
    pub key: Vec<IndexColumn>,
    /// INCLUDE columns.
    pub included: Vec<i32>,
    /// WHERE of a filtered index, as text.
    pub filter: Option<String>,
    /// ALTER INDEX … DISABLE, or it is hypothetical.
    pub disabled: bool,
    /// WITH STATISTICS_ONLY: what it would be. It has no entries, and no plan reads it.
    #[serde(default)]
    pub hypothetical: Option<IndexKind>,
    /// IGNORE_DUP_KEY = ON.
    pub ignore_dup_key: bool,
    /// FILLFACTOR, which is only shown: pages are written full. 0 when none was given.
    #[serde(default)]
    pub fill_factor: u8,
    /// What else it was told about pages and locks.
    #[serde(default, skip_serializing_if = "PageOptions::are_plain")]
    pub pages: PageOptions,
    /// ON scheme(column).
    #[serde(default)]
    pub partitioned: Option<PartitionedBy>,
    /// DATA_COMPRESSION, which is only shown: of all partitions (0) and of single ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compression: Vec<(i32, Compression)>,
}

/// What an index was told about pages and locks. It is only shown: pages are written full, and locks are of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageOptions {
    /// PAD_INDEX = ON.
    pub padded: bool,
    /// ALLOW_ROW_LOCKS = OFF.
    pub no_row_locks: bool,
    /// ALLOW_PAGE_LOCKS = OFF, which REORGANIZE refuses (2552).
    pub no_page_locks: bool,
    /// OPTIMIZE_FOR_SEQUENTIAL_KEY = ON.
    pub sequential_key: bool,
    /// STATISTICS_NORECOMPUTE = ON.
    pub no_recompute: bool,
}

impl PageOptions {
    /// Whether nothing was told.
    #[must_use]
    pub fn are_plain(&self) -> bool {
        *self == PageOptions::default()
    }
}

impl IndexDef {
    /// Whether it keeps exactly these columns unique, in whatever order.
    #[must_use]
    pub fn is_key_over(&self, column_ids: &[i32]) -> bool {
        let whole = self.unique && self.filter.is_none() && self.key.len() == column_ids.len();
        whole && self.key.iter().all(|k| column_ids.contains(&k.column_id))
    }

    /// The `column_id`s whose values a nonclustered index row holds, in order: key columns, included columns, and the
    /// clustered key's columns that are not among them (so that they need no lookup). The encoded clustered key follows
    /// as one more column.
    #[must_use]
    pub fn stored_columns(&self, table: &TableDef) -> Vec<i32> {
        let mut columns: Vec<i32> = Vec::with_capacity(self.key.len() + self.included.len() + 2);
        let clustered = table.clustered().key.iter().map(|k| k.column_id);
        for id in self.key.iter().map(|k| k.column_id).chain(self.included.iter().copied()).chain(clustered) {
            if !columns.contains(&id) {
                columns.push(id);
            }
        }
        columns
    }
}
