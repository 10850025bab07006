//! Columns and types.

use super::{
    BIT, Column, DESC, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, VARIANT, ViewContext, bit, facts, int,
    text,
};
use crate::catalog::SecurableRef;
use crate::ddl::sensitivity::RANKS;
use crate::engine::TEMPDB;
use crate::session::info::Info;
use keel_query::catalog::{ColumnDef, RuleDef, TableDef, TypeDef};
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

/// The columns of the view with that object id, the current database's or the system's; none when there is no such view.
pub(crate) fn view_columns(info: &Info, id: i64) -> Arc<[ColumnDef]> {
    let Ok(id) = i32::try_from(id) else { return Arc::default() };
    if let Some(view) = super::by_object_id(id) {
        let plain = |(i, (name, ty)): (usize, &Column)| ColumnDef::plain(i, *name, *ty);
        return view.columns.iter().enumerate().map(plain).collect();
    }
    let entry = info.current_database();
    let picture = info.picture(&entry);
    match picture.module_by_id(id).cloned() {
        Some(m) => info.columns_of_view(picture, id, || super::module_columns(info, &entry, &m)),
        None => Arc::default(),
    }
}

const COLUMN: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("column_id", INT),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("max_length", SMALL),
    ("precision", TINY),
    ("scale", TINY),
    ("collation_name", NAME),
    ("is_nullable", BIT),
    ("is_ansi_padded", BIT),
    ("is_rowguidcol", BIT),
    ("is_identity", BIT),
    ("is_computed", BIT),
    ("is_filestream", BIT),
    ("is_replicated", BIT),
    ("is_non_sql_subscribed", BIT),
    ("is_merge_published", BIT),
    ("is_dts_replicated", BIT),
    ("is_xml_document", BIT),
    ("xml_collection_id", INT),
    ("default_object_id", INT),
    ("rule_object_id", INT),
    ("is_sparse", BIT),
    ("is_column_set", BIT),
    ("generated_always_type", TINY),
    ("generated_always_type_desc", DESC),
    ("encryption_type", INT),
    ("encryption_type_desc", DESC),
    ("encryption_algorithm_name", NAME),
    ("column_encryption_key_id", INT),
    ("column_encryption_key_database_name", NAME),
    ("is_hidden", BIT),
    ("is_masked", BIT),
    ("graph_type", INT),
    ("graph_type_desc", DESC),
];

/// Positions of `generated_always_type` and `is_hidden` in [`COLUMN`].
const GENERATED_ALWAYS: usize = 25;
const IS_HIDDEN: usize = 32;

const TYPE: &[Column] = &[
    ("name", NAME),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("schema_id", INT),
    ("principal_id", INT),
    ("max_length", SMALL),
    ("precision", TINY),
    ("scale", TINY),
    ("collation_name", NAME),
    ("is_nullable", BIT),
    ("is_user_defined", BIT),
    ("is_assembly_type", BIT),
    ("default_object_id", INT),
    ("rule_object_id", INT),
    ("is_table_type", BIT),
];

const TABLE_TYPE: &[Column] =
    &super::joined::<17>(TYPE, &[("type_table_object_id", INT), ("is_memory_optimized", BIT)]);

const OLD_TYPE: &[Column] = &[
    ("name", NAME),
    ("xtype", TINY),
    ("status", TINY),
    ("xusertype", SMALL),
    ("length", SMALL),
    ("xprec", TINY),
    ("xscale", TINY),
    ("tdefault", INT),
    ("domain", INT),
    ("uid", SMALL),
    ("usertype", SMALL),
    ("variable", BIT),
    ("allownulls", BIT),
    ("type", TINY),
    ("prec", SMALL),
    ("scale", TINY),
    ("collation", NAME),
];

const IDENTITY: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("column_id", INT),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("is_nullable", BIT),
    ("is_identity", BIT),
    ("seed_value", VARIANT),
    ("increment_value", VARIANT),
    ("last_value", VARIANT),
    ("is_not_for_replication", BIT),
];

const COMPUTED: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("column_id", INT),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("is_nullable", BIT),
    ("is_computed", BIT),
    ("definition", TEXT),
    ("uses_database_collation", BIT),
    ("is_persisted", BIT),
];

const OLD_COLUMN: &[Column] = &[
    ("name", NAME),
    ("id", INT),
    ("xtype", TINY),
    ("typestat", TINY),
    ("xusertype", SMALL),
    ("length", SMALL),
    ("xprec", TINY),
    ("xscale", TINY),
    ("colid", SMALL),
    ("xoffset", SMALL),
    ("bitpos", TINY),
    ("reserved", TINY),
    ("colstat", SMALL),
    ("cdefault", INT),
    ("domain", INT),
    ("number", SMALL),
    ("colorder", SMALL),
    ("autoval", SqlType::VarBinary(Length::Limited(8000))),
    ("offset", SMALL),
    ("collationid", INT),
    ("language", INT),
    ("status", TINY),
    ("type", TINY),
    ("usertype", SMALL),
    ("printfmt", SqlType::VarChar(Length::Limited(255))),
    ("prec", SMALL),
    ("scale", INT),
    ("iscomputed", INT),
    ("isoutparam", INT),
    ("isnullable", INT),
    ("collation", NAME),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "columns", columns: COLUMN, rows: columns },
    SystemView {
        schema: "sys",
        name: "masked_columns",
        columns: &super::joined::<37>(COLUMN, &[("masking_function", super::TEXT)]),
        rows: masked_columns,
    },
    SystemView {
        schema: "sys",
        name: "sensitivity_classifications",
        columns: SENSITIVITY,
        rows: sensitivity_classifications,
    },
    SystemView { schema: "sys", name: "all_columns", columns: COLUMN, rows: all_columns },
    SystemView { schema: "sys", name: "system_columns", columns: COLUMN, rows: |_| system_columns() },
    SystemView { schema: "sys", name: "types", columns: TYPE, rows: types },
    SystemView { schema: "sys", name: "table_types", columns: TABLE_TYPE, rows: table_types },
    SystemView { schema: "sys", name: "systypes", columns: OLD_TYPE, rows: old_types },
    SystemView {
        schema: "sys",
        name: "fn_helpcollations",
        columns: &[("name", NAME), ("description", SqlType::NVarChar(keel_types::Length::Limited(1000)))],
        rows: |_| collations(),
    },
    SystemView { schema: "sys", name: "identity_columns", columns: IDENTITY, rows: identity_columns },
    SystemView { schema: "sys", name: "computed_columns", columns: COMPUTED, rows: computed_columns },
    SystemView { schema: "sys", name: "syscolumns", columns: OLD_COLUMN, rows: old_columns },
];

/// The tables a view of the database shows: the reader's temporary ones too, in tempdb.
pub(super) fn tables(cx: &ViewContext<'_>) -> Vec<Arc<TableDef>> {
    let mut tables = stored_tables(cx);
    tables.extend(super::msdb::shown(cx.info, cx.entry.id).iter().cloned());
    tables
}

fn stored_tables(cx: &ViewContext<'_>) -> Vec<Arc<TableDef>> {
    let mut tables: Vec<_> = cx.picture.tables().cloned().collect();
    if cx.entry.id == TEMPDB {
        tables.extend(cx.info.temp.borrow().iter().map(|t| Arc::clone(&t.table)));
    }
    tables
}

/// All that has rows and indexes: tables, and indexed views.
pub(super) fn stored(cx: &ViewContext<'_>) -> Vec<Arc<TableDef>> {
    let mut stored = stored_tables(cx);
    stored.extend(cx.picture.view_rows().cloned());
    stored
}

/// The tables behind table types: they have columns and keys, and no rows.
pub(super) fn type_tables(cx: &ViewContext<'_>) -> impl Iterator<Item = Arc<TableDef>> {
    cx.picture.types().filter_map(|t| Some(Arc::new(TableDef::clone(t.table.as_ref()?))))
}

pub(super) fn collation(c: &ColumnDef) -> Value {
    if facts(c.ty).is_text { text(c.collation.name()) } else { NULL }
}

/// `is_xml_document` and `xml_collection_id` of a type.
pub(super) fn xml_facts(ty: SqlType) -> (bool, i32) {
    ty.xml_schema().map_or((false, 0), |of| (of.document, of.collection))
}

/// `user_type_id` of a column: the alias it was declared with, or its type's own.
pub(super) fn user_type(c: &ColumnDef) -> i32 {
    c.alias.unwrap_or_else(|| facts(c.ty).user_type_id)
}

/// `encryption_type` and what stands behind it.
pub(super) fn encryption(ty: SqlType) -> [Value; 5] {
    let Some(scheme) = ty.scheme() else { return [NULL; 5] };
    [
        int(scheme.kind()),
        text(scheme.kind_name()),
        text(keel_types::ty::encrypted::ALGORITHM),
        int(scheme.key.id),
        NULL,
    ]
}

fn column_row(id: i32, c: &ColumnDef) -> Vec<Value> {
    let f = facts(c.ty);
    let mut row = vec![
        int(id),
        text(c.name.as_str()),
        int(c.column_id),
        int(f.system_type_id),
        int(user_type(c)),
        int(f.max_length),
        int(f.precision),
        int(f.scale),
        collation(c),
        bit(c.nullable),
        bit(true),
        bit(c.rowguid),
        bit(c.identity.is_some()),
        bit(c.computed.is_some()),
    ];
    row.extend(std::iter::repeat_n(bit(false), 5));
    let (document, collection) = xml_facts(c.ty);
    row.extend([bit(document), int(collection)]);
    row.extend([int(c.default.as_ref().map_or(0, |d| d.object_id)), int(rule(c.rule.as_ref()))]);
    row.extend([bit(false), bit(false)]);
    row.extend([int(0), text("NOT_APPLICABLE")]);
    row.extend(encryption(c.ty));
    row.extend([bit(false), bit(c.mask.is_some()), NULL, NULL]);
    row
}

#[rustfmt::skip]
const SENSITIVITY: &[super::Column] = &[
    ("class", INT), ("class_desc", super::DESC), ("major_id", INT), ("minor_id", INT), ("label", NAME), ("label_id", NAME),
    ("information_type", NAME), ("information_type_id", NAME), ("rank", INT), ("rank_desc", NAME),
];

/// `sys.sensitivity_classifications`: the columns of which something was said, for those who may look at that.
fn sensitivity_classifications(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    let permissions = ["VIEW ANY SENSITIVITY CLASSIFICATION", "ALTER ANY SENSITIVITY CLASSIFICATION"];
    if !permissions.into_iter().any(|p| cx.info.may(&cx.entry, p, SecurableRef::Database)) {
        return rows;
    }
    for t in tables(cx) {
        for c in &t.columns {
            let Some(said) = &c.sensitivity else { continue };
            let rank = said.rank.and_then(|rank| RANKS.into_iter().find(|(_, number)| *number == rank));
            let mut row = vec![int(1), text("OBJECT_OR_COLUMN"), int(t.object_id), int(c.column_id)];
            let texts = [&said.label, &said.label_id, &said.information_type, &said.information_type_id];
            row.extend(texts.map(|said| said.as_deref().map_or(NULL, text)));
            row.push(rank.map_or(NULL, |(_, number)| int(i32::from(number))));
            row.push(rank.map_or(NULL, |(name, _)| text(name)));
            rows.push(row);
        }
    }
    rows
}

/// `sys.masked_columns`: those columns of `sys.columns` that have a mask, with its function.
fn masked_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for t in tables(cx).into_iter().chain(type_tables(cx)) {
        for c in &t.columns {
            let Some(mask) = &c.mask else { continue };
            let mut row = column_row(t.object_id, c);
            row.push(text(mask.text().as_str()));
            rows.push(row);
        }
    }
    rows
}

fn columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows: Rows = Vec::new();
    for t in tables(cx).into_iter().chain(type_tables(cx)) {
        for (i, c) in t.columns.iter().enumerate() {
            let mut row = column_row(t.object_id, c);
            if let Some(part) = t.period_part(i) {
                row[GENERATED_ALWAYS] = int(part as i32 + 1);
                row[GENERATED_ALWAYS + 1] = text(["AS_ROW_START", "AS_ROW_END"][part]);
                row[IS_HIDDEN] = bit(t.is_hidden(i));
            }
            rows.push(row);
        }
    }
    let queries = super::modules::view_columns(cx).into_iter().chain(super::modules::function_columns(cx));
    for (id, columns) in queries {
        rows.extend(columns.iter().map(|c| column_row(id, c)));
    }
    rows
}

fn all_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = columns(cx);
    rows.extend(system_columns());
    rows
}

fn system_columns() -> Rows {
    let of_view = |v: &'static SystemView| {
        let id = super::object_id(Some(v.schema), v.name).unwrap_or(0);
        let columns = v.columns.iter().enumerate();
        columns.map(move |(i, (name, ty))| column_row(id, &ColumnDef::plain(i, *name, *ty)))
    };
    super::all().flat_map(of_view).collect()
}

/// `systypes`: the same types under their names of before.
fn old_types(cx: &ViewContext<'_>) -> Rows {
    let row = |t: Vec<Value>| {
        let at = |name: &str| {
            let at = TYPE.iter().position(|(column, _)| *column == name);
            at.map_or(NULL, |at| t[at].clone())
        };
        let varies = at("name").as_str().is_some_and(|n| n.contains("var") || n == "sysname");
        let mut row = vec![at("name"), at("system_type_id"), int(0), at("user_type_id"), at("max_length")];
        row.extend([at("precision"), at("scale"), int(0), int(0), at("schema_id"), at("user_type_id")]);
        row.extend([bit(varies), at("is_nullable"), at("system_type_id"), at("precision"), at("scale")]);
        row.push(at("collation_name"));
        row
    };
    types(cx).into_iter().map(row).collect()
}

/// `rule_object_id`
fn rule(bound: Option<&RuleDef>) -> i32 {
    bound.map_or(0, |rule| rule.object_id)
}

fn types(cx: &ViewContext<'_>) -> Rows {
    let collation = cx.picture.settings().default_collation().name();
    let system = keel_types::ty::catalog::system_types().iter().map(|t| {
        vec![
            text(t.name),
            int(t.system_type_id),
            int(t.user_type_id),
            int(crate::catalog::SYS),
            NULL,
            int(t.max_length),
            int(t.precision),
            int(t.scale),
            if t.has_collation { text(collation) } else { NULL },
            bit(t.name != "timestamp" && t.name != "sysname"),
            bit(false),
            bit(t.system_type_id == SqlType::HierarchyId.system_type_id()),
            int(0),
            int(0),
            bit(false),
        ]
    });
    let mut rows: Rows = system.collect();
    rows.extend(cx.picture.types().map(|t| {
        let f = facts(t.base);
        let table = t.table.is_some();
        let zero = |n: i64| if table { int(0) } else { int(n) };
        vec![
            text(t.name.as_str()),
            int(if table { 243 } else { i32::from(f.system_type_id) }),
            int(t.user_type_id),
            int(t.schema_id),
            NULL,
            if table { int(-1) } else { int(f.max_length) },
            zero(f.precision.into()),
            zero(f.scale.into()),
            if f.is_text && !table { text(collation) } else { NULL },
            bit(t.nullable && !table),
            bit(true),
            bit(false),
            int(t.default.as_ref().map_or(0, |d| d.object_id)),
            int(rule(t.rule.as_ref())),
            bit(table),
        ]
    }));
    rows
}

fn table_types(cx: &ViewContext<'_>) -> Rows {
    let of_table = |t: &std::sync::Arc<TypeDef>| Some((t.user_type_id, t.table.as_ref()?.object_id));
    let tables: Vec<_> = cx.picture.types().filter_map(of_table).collect();
    let row = |mut row: Vec<Value>| {
        let (_, table) =
            tables.iter().find(|(id, _)| matches!(row[2], Value::Int(n) if n == i64::from(*id)))?;
        row.extend([int(*table), bit(false)]);
        Some(row)
    };
    types(cx).into_iter().filter_map(row).collect()
}

/// The orders of strings there are.
fn collations() -> Rows {
    keel_types::Collation::listed().iter().map(|c| vec![text(c.name()), text(c.description())]).collect()
}

fn identity_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx).into_iter().chain(type_tables(cx)) {
        for c in &t.columns {
            let Some((seed, increment)) = c.identity else { continue };
            let f = facts(c.ty);
            let variant = |n: i64| super::whole_number(c.ty, n);
            rows.push(vec![
                int(t.object_id),
                text(c.name.as_str()),
                int(c.column_id),
                int(f.system_type_id),
                int(user_type(c)),
                bit(c.nullable),
                bit(true),
                variant(seed),
                variant(increment),
                cx.entry.current_identity(t.object_id).map_or(NULL, variant),
                bit(false),
            ]);
        }
    }
    // Columns of views that show one: known to be identities, without seed.
    for (id, columns) in super::modules::view_columns(cx) {
        for c in columns.iter().filter(|c| c.identity.is_some()) {
            let mut row = column_row(id, c);
            row.truncate(5);
            row.extend([bit(c.nullable), bit(true), NULL, NULL, NULL, bit(false)]);
            rows.push(row);
        }
    }
    rows
}

fn computed_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx).into_iter().chain(type_tables(cx)) {
        for c in &t.columns {
            let Some(computed) = &c.computed else { continue };
            let f = facts(c.ty);
            rows.push(vec![
                int(t.object_id),
                text(c.name.as_str()),
                int(c.column_id),
                int(f.system_type_id),
                int(user_type(c)),
                bit(c.nullable),
                bit(true),
                text(computed.text.as_str()),
                bit(false),
                bit(computed.persisted),
            ]);
        }
    }
    rows
}

fn old_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for c in &t.columns {
            let f = facts(c.ty);
            let zero = || int(0);
            rows.push(vec![
                text(c.name.as_str()),
                int(t.object_id),
                int(f.system_type_id),
                zero(),
                int(user_type(c)),
                int(f.max_length),
                int(f.precision),
                int(f.scale),
                int(c.column_id),
                zero(),
                zero(),
                zero(),
                int(i32::from(c.identity.is_some())),
                int(c.default.as_ref().map_or(0, |d| d.object_id)),
                int(rule(c.rule.as_ref())),
                zero(),
                int(c.column_id),
                NULL,
                zero(),
                zero(),
                zero(),
                int(if c.identity.is_some() { 128 } else { i32::from(c.nullable) * 8 }),
                int(f.system_type_id),
                int(user_type(c)),
                NULL,
                f.characters.map_or(int(f.precision), |n| int(n.min(i32::from(i16::MAX)))),
                int(f.scale),
                int(i32::from(c.computed.is_some())),
                zero(),
                int(i32::from(c.nullable)),
                collation(c),
            ]);
        }
    }
    rows
}
