//! Columns, indexes and tables of which nothing is said but what each must have: what whoever makes one begins with.

use super::{ColumnDef, IndexColumn, IndexDef, IndexKind, LockEscalation, ObjectId, PageOptions, TableDef};
use keel_base::{DatabaseId, TreeId};
use keel_types::{Collation, SqlType};

impl ColumnDef {
    /// The column at a position, from 0, of a table that never had others: it allows NULL and has the default collation.
    #[must_use]
    pub fn plain(position: usize, name: impl Into<String>, ty: SqlType) -> ColumnDef {
        ColumnDef {
            column_id: position as i32 + 1,
            ordinal: position as u16,
            name: name.into(),
            ty,
            collation: Collation::default(),
            nullable: true,
            identity: None,
            default: None,
            computed: None,
            missing_value: None,
            rowguid: false,
            mask: None,
            sensitivity: None,
            alias: None,
            rule: None,
        }
    }
}

impl IndexDef {
    /// An index that is behind no constraint and allows equal keys.
    #[must_use]
    pub fn plain(
        index_id: i32,
        tree: TreeId,
        name: impl Into<String>,
        kind: IndexKind,
        key: Vec<IndexColumn>,
    ) -> IndexDef {
        IndexDef {
            index_id,
            tree,
            name: name.into(),
            kind,
            unique: false,
            is_primary_key: false,
            is_unique_constraint: false,
            constraint_id: 0,
            key,
            included: Vec::new(),
            filter: None,
            disabled: false,
            hypothetical: None,
            ignore_dup_key: false,
            fill_factor: 0,
            pages: PageOptions::default(),
            partitioned: None,
            compression: Vec::new(),
        }
    }

    /// A heap.
    #[must_use]
    pub fn heap(tree: TreeId) -> IndexDef {
        IndexDef::plain(0, tree, "", IndexKind::Heap, Vec::new())
    }
}

impl TableDef {
    /// A table of these columns, which were never others, without indexes and constraints; `now` in ticks of 100 ns since
    /// 0001-01-01. It cannot hold rows before it has its heap or clustered index.
    #[must_use]
    pub fn plain(
        database: DatabaseId,
        object_id: ObjectId,
        schema_id: i32,
        name: impl Into<String>,
        columns: Vec<ColumnDef>,
        now: i64,
    ) -> TableDef {
        TableDef {
            database,
            object_id,
            schema_id,
            name: name.into(),
            next_column_id: columns.len() as i32 + 1,
            next_ordinal: columns.len() as u16,
            columns,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            statistics: Vec::new(),
            no_auto_statistics: false,
            columnstores: Vec::new(),
            content_indexes: Vec::new(),
            period: None,
            history_of: None,
            change_tracking: None,
            captures: Vec::new(),
            lock_escalation: LockEscalation::default(),
            memory_optimized: None,
            full_text: None,
            view_of: Vec::new(),
            queue: false,
            created: now,
            modified: now,
        }
    }
}
