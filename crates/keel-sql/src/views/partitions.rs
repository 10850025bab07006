//! Partition functions and schemes, and the partitions of tables and indexes.
//!
//! A table is one tree: how many of its rows are in each partition is counted when it is asked.

use super::columns::stored;
use super::{
    BIG, BIT, Column, DATE, DESC, INT, NAME, SMALL, SystemView, TINY, VARIANT, ViewContext, bit, date, int,
    text,
};
use keel_node::CATALOG_TREE;
use keel_query::catalog::{Compression, IndexDef, TableDef};
use keel_types::Value;
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const PARTITION: &[Column] = &[
    ("partition_id", BIG),
    ("object_id", INT),
    ("index_id", INT),
    ("partition_number", INT),
    ("hobt_id", BIG),
    ("rows", BIG),
    ("filestream_filegroup_id", SMALL),
    ("data_compression", TINY),
    ("data_compression_desc", DESC),
    ("xml_compression", BIT),
    ("xml_compression_desc", DESC),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "partitions", columns: PARTITION, rows: partitions },
    SystemView {
        schema: "sys",
        name: "partition_functions",
        columns: &[
            ("name", NAME),
            ("function_id", INT),
            ("type", super::KIND),
            ("type_desc", DESC),
            ("fanout", INT),
            ("boundary_value_on_right", BIT),
            ("is_system", BIT),
            ("create_date", DATE),
            ("modify_date", DATE),
        ],
        rows: functions,
    },
    SystemView {
        schema: "sys",
        name: "partition_schemes",
        columns: &[
            ("name", NAME),
            ("data_space_id", INT),
            ("type", super::KIND),
            ("type_desc", DESC),
            ("is_default", BIT),
            ("is_system", BIT),
            ("function_id", INT),
        ],
        rows: schemes,
    },
    SystemView {
        schema: "sys",
        name: "partition_range_values",
        columns: &[("function_id", INT), ("boundary_id", INT), ("parameter_id", INT), ("value", VARIANT)],
        rows: range_values,
    },
    SystemView {
        schema: "sys",
        name: "partition_parameters",
        columns: &[
            ("function_id", INT),
            ("parameter_id", INT),
            ("system_type_id", TINY),
            ("max_length", SMALL),
            ("precision", TINY),
            ("scale", TINY),
            ("collation_name", NAME),
            ("user_type_id", INT),
        ],
        rows: parameters,
    },
    SystemView {
        schema: "sys",
        name: "destination_data_spaces",
        columns: &[("partition_scheme_id", INT), ("destination_id", INT), ("data_space_id", INT)],
        rows: destinations,
    },
];

/// A partition of a table's index or heap.
pub(super) struct Part<'t> {
    pub(super) index: &'t IndexDef,
    /// From 1.
    pub(super) number: i64,
    /// Rows in it.
    pub(super) rows: i64,
    /// Rows in all of them.
    pub(super) all: i64,
    /// How many there are.
    pub(super) fanout: usize,
}

impl Part<'_> {
    /// `partition_id`.
    pub(super) fn id(&self) -> i64 {
        ((self.number - 1) << 32) | i64::from(self.index.tree.0)
    }
}

/// The partitions of all indexes of a table.
pub(super) fn of_table<'t>(cx: &ViewContext<'_>, table: &'t TableDef) -> Vec<Part<'t>> {
    // Indexes of a table are mostly partitioned alike.
    let mut counted: Vec<(_, Vec<i64>)> = Vec::new();
    let mut parts = Vec::new();
    for index in &table.indexes {
        let known = counted.iter().position(|(by, _)| *by == index.partitioned);
        let at = known.unwrap_or_else(|| {
            counted.push((index.partitioned, cx.partition_counts(table, index.partitioned)));
            counted.len() - 1
        });
        let counts = &counted[at].1;
        let (all, fanout) = (counts.iter().sum(), counts.len());
        let numbered = (1..).zip(counts);
        parts.extend(numbered.map(|(number, rows)| Part { index, number, rows: *rows, all, fanout }));
    }
    parts
}

/// The `object_id` under which the catalog's own rows are counted: that of `sys.sysrscols`, the first of the product's system tables. So
/// sums over a database without tables are numbers, which Management Objects relies on; it is in no view of objects.
pub(crate) const CATALOG_OBJECT: i32 = 3;

/// The number of objects, for the rows of the catalog.
pub(super) fn catalog_rows(cx: &ViewContext<'_>) -> i64 {
    cx.picture.objects().count() as i64
}

fn partitions(cx: &ViewContext<'_>) -> Rows {
    let row = |(object, index): (i32, i32), number: i64, id: i64, rows: i64, compression: Compression| {
        let mut row = vec![int(id), int(object), int(index), int(number), int(id), int(rows)];
        let kind = Compression::ALL.iter().position(|(kind, _)| *kind == compression).unwrap_or(0);
        row.extend([int(0), int(kind as i64), text(Compression::ALL[kind].1), bit(false), text("OFF")]);
        row
    };
    let catalog = (CATALOG_OBJECT, 1);
    let mut rows = vec![row(catalog, 1, CATALOG_TREE.0.into(), catalog_rows(cx), Compression::None)];
    for t in stored(cx) {
        for part in of_table(cx, &t) {
            let compression = part.index.compression_of(i32::try_from(part.number).unwrap_or(0));
            rows.push(row(
                (t.object_id, part.index.index_id),
                part.number,
                part.id(),
                part.rows,
                compression,
            ));
        }
    }
    rows
}

fn functions(cx: &ViewContext<'_>) -> Rows {
    let row = |f: &Arc<keel_query::partition::PartitionFunctionDef>| {
        let mut row = vec![text(f.name.as_str()), int(f.function_id), text("R "), text("RANGE")];
        row.extend([int(f.fanout() as i64), bit(f.right), bit(false), date(f.created), date(f.modified)]);
        row
    };
    cx.picture.partition_functions().map(row).collect()
}

/// The rows of `sys.partition_schemes`; the first six columns are those of `sys.data_spaces`.
pub(super) fn schemes(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &Arc<keel_query::partition::PartitionSchemeDef>| {
        let mut row = vec![text(s.name.as_str()), int(s.data_space_id), text("PS"), text("PARTITION_SCHEME")];
        row.extend([bit(false), bit(false), int(s.function_id)]);
        row
    };
    cx.picture.partition_schemes().map(row).collect()
}

fn range_values(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for f in cx.picture.partition_functions() {
        for (n, value) in f.values().into_iter().enumerate() {
            let value = match value {
                Value::Null => Value::Null,
                // What is a variant is one already.
                value @ Value::Variant(_) => value,
                value => Value::Variant(Arc::new((f.ty, value))),
            };
            rows.push(vec![int(f.function_id), int(n as i64 + 1), int(1), value]);
        }
    }
    rows
}

fn parameters(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for f in cx.picture.partition_functions() {
        let facts = super::facts(f.ty);
        let collation = if f.ty.is_string() { text(f.collation.name()) } else { Value::Null };
        let mut row = vec![int(f.function_id), int(1), int(facts.system_type_id), int(facts.max_length)];
        row.extend([int(facts.precision), int(facts.scale), collation, int(facts.user_type_id)]);
        rows.push(row);
    }
    rows
}

/// Filegroups are not kept apart: every partition is in PRIMARY.
fn destinations(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for s in cx.picture.partition_schemes() {
        let next = usize::from(s.next_used.is_some());
        let all = 1..=(s.filegroups.len() + next) as i64;
        rows.extend(all.map(|n| vec![int(s.data_space_id), int(n), int(1)]));
    }
    rows
}
