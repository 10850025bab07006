//! sys.objects and its kin.

use super::{
    BIT, Column, DATE, DESC, INT, KIND, NAME, NULL, SMALL, SystemView, ViewContext, bit, date, int, text,
};
use crate::catalog::{ObjectRef, SystemDatabase, table_objects};
use crate::engine::{MSDB, TEMPDB};
use keel_query::catalog::{Durability, IndexKind, LockEscalation, TableDef, VersioningDef};
use keel_types::Value;

type Rows = Vec<Vec<Value>>;

const OBJECT: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
];

const TABLE: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("lob_data_space_id", INT),
    ("filestream_data_space_id", INT),
    ("max_column_id_used", INT),
    ("lock_on_bulk_load", BIT),
    ("uses_ansi_nulls", BIT),
    ("is_replicated", BIT),
    ("has_replication_filter", BIT),
    ("is_merge_published", BIT),
    ("is_sync_tran_subscribed", BIT),
    ("has_unchecked_assembly_data", BIT),
    ("text_in_row_limit", INT),
    ("large_value_types_out_of_row", BIT),
    ("is_tracked_by_cdc", BIT),
    ("lock_escalation", super::TINY),
    ("lock_escalation_desc", DESC),
    ("is_filetable", BIT),
    ("is_memory_optimized", BIT),
    ("durability", super::TINY),
    ("durability_desc", DESC),
    ("temporal_type", super::TINY),
    ("temporal_type_desc", DESC),
    ("history_table_id", INT),
    ("is_remote_data_archive_enabled", BIT),
    ("is_external", BIT),
    ("history_retention_period", INT),
    ("history_retention_period_unit", INT),
    ("history_retention_period_unit_desc", DESC),
    ("is_node", BIT),
    ("is_edge", BIT),
    ("ledger_type", super::TINY),
    ("is_dropped_ledger_table", BIT),
];

const VIEW: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("is_replicated", BIT),
    ("has_replication_filter", BIT),
    ("has_opaque_metadata", BIT),
    ("has_unchecked_assembly_data", BIT),
    ("with_check_option", BIT),
    ("is_date_correlation_view", BIT),
    ("is_tracked_by_cdc", BIT),
];

const PROCEDURE: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("is_auto_executed", BIT),
    ("is_execution_replicated", BIT),
    ("is_repl_serializable_only", BIT),
    ("skips_repl_constraints", BIT),
];

const SYNONYM: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("base_object_name", NAME),
];

const SEQUENCE: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("start_value", super::VARIANT),
    ("increment", super::VARIANT),
    ("minimum_value", super::VARIANT),
    ("maximum_value", super::VARIANT),
    ("is_cycling", BIT),
    ("is_cached", BIT),
    ("cache_size", INT),
    ("system_type_id", super::TINY),
    ("user_type_id", INT),
    ("precision", super::TINY),
    ("scale", super::TINY),
    ("current_value", super::VARIANT),
    ("is_exhausted", BIT),
    ("last_used_value", super::VARIANT),
];

const OLD_OBJECT: &[Column] = &[
    ("name", NAME),
    ("id", INT),
    ("xtype", KIND),
    ("uid", SMALL),
    ("info", SMALL),
    ("status", INT),
    ("base_schema_ver", INT),
    ("replinfo", INT),
    ("parent_obj", INT),
    ("crdate", DATE),
    ("ftcatid", SMALL),
    ("schema_ver", INT),
    ("stats_schema_ver", INT),
    ("type", KIND),
    ("userstat", SMALL),
    ("sysstat", SMALL),
    ("indexdel", SMALL),
    ("refdate", DATE),
    ("version", INT),
    ("deltrig", INT),
    ("instrig", INT),
    ("updtrig", INT),
    ("seltrig", INT),
    ("category", INT),
    ("cache", SMALL),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "objects", columns: OBJECT, rows: objects },
    SystemView { schema: "sys", name: "all_objects", columns: OBJECT, rows: all_objects },
    SystemView { schema: "sys", name: "system_objects", columns: OBJECT, rows: system_objects },
    SystemView { schema: "sys", name: "tables", columns: TABLE, rows: tables },
    SystemView { schema: "sys", name: "views", columns: VIEW, rows: views },
    SystemView { schema: "sys", name: "all_views", columns: VIEW, rows: all_views },
    SystemView { schema: "sys", name: "system_views", columns: VIEW, rows: system_views },
    SystemView { schema: "sys", name: "procedures", columns: PROCEDURE, rows: procedures },
    SystemView { schema: "sys", name: "synonyms", columns: SYNONYM, rows: synonyms },
    SystemView { schema: "sys", name: "sequences", columns: SEQUENCE, rows: sequences },
    SystemView {
        schema: "sys",
        name: "periods",
        columns: &[
            ("name", NAME),
            ("period_type", super::TINY),
            ("period_type_desc", DESC),
            ("object_id", INT),
            ("start_column_id", INT),
            ("end_column_id", INT),
        ],
        rows: periods,
    },
    SystemView {
        schema: "sys",
        name: "schemas",
        columns: &[("name", NAME), ("schema_id", INT), ("principal_id", INT)],
        rows: schemas,
    },
    SystemView { schema: "sys", name: "sysobjects", columns: OLD_OBJECT, rows: old_objects },
    SystemView {
        schema: "sys",
        name: "fn_listextendedproperty",
        columns: &[("objtype", NAME), ("objname", NAME), ("name", NAME), ("value", super::VARIANT)],
        rows: |cx| {
            let here = crate::procs::PropertiesHere { info: cx.info, entry: &cx.entry, picture: &cx.picture };
            crate::procs::listed_properties(&here, cx.args)
        },
    },
    SystemView {
        schema: "sys",
        name: "extended_properties",
        columns: &[
            ("class", super::TINY),
            ("class_desc", DESC),
            ("major_id", INT),
            ("minor_id", INT),
            ("name", NAME),
            ("value", super::VARIANT),
        ],
        rows: extended_properties,
    },
];

/// `type_desc` of a `type`.
#[must_use]
pub(super) fn describe(kind: &str) -> &'static str {
    match kind.trim() {
        "U" => "USER_TABLE",
        "V" => "VIEW",
        "P" => "SQL_STORED_PROCEDURE",
        "FN" => "SQL_SCALAR_FUNCTION",
        "IF" => "SQL_INLINE_TABLE_VALUED_FUNCTION",
        "TF" => "SQL_TABLE_VALUED_FUNCTION",
        "TR" => "SQL_TRIGGER",
        "PK" => "PRIMARY_KEY_CONSTRAINT",
        "UQ" => "UNIQUE_CONSTRAINT",
        "F" => "FOREIGN_KEY_CONSTRAINT",
        "C" => "CHECK_CONSTRAINT",
        "D" => "DEFAULT_CONSTRAINT",
        "R" => "RULE",
        "SN" => "SYNONYM",
        "SO" => "SEQUENCE_OBJECT",
        "SP" => "SECURITY_POLICY",
        "SQ" => "SERVICE_QUEUE",
        "S" => "SYSTEM_TABLE",
        _ => "",
    }
}

/// The columns all object views begin with.
pub(super) fn common(o: &ObjectRef<'_>) -> Vec<Value> {
    vec![
        text(o.name),
        int(o.object_id),
        NULL,
        int(o.schema_id),
        int(o.parent),
        text(o.kind),
        text(describe(o.kind)),
        date(o.created),
        date(o.modified),
        bit(false),
        bit(false),
        bit(false),
    ]
}

/// The same, and whether the object came with the product: the agent's in `msdb` did, constraints with their tables.
fn with_origin(cx: &ViewContext<'_>, o: &ObjectRef<'_>) -> Vec<Value> {
    let mut row = common(o);
    if cx.entry.id == MSDB || cx.picture.settings().system == Some(SystemDatabase::Msdb) {
        let parent = cx.picture.objects().find(|p| o.parent != 0 && p.object_id == o.parent);
        let shipped = super::msdb::shown(cx.info, cx.entry.id).iter().any(|t| t.object_id == o.object_id);
        row[9] = bit(shipped || crate::agent::install::is_shipped(parent.map_or(o.name, |p| p.name)));
    }
    if cx.picture.settings().capture.is_some()
        && cx.picture.schema(o.schema_id).is_some_and(|s| s.name == crate::capture::SCHEMA)
    {
        row[9] = bit(true);
    }
    row
}

fn objects(cx: &ViewContext<'_>) -> Rows {
    let mut rows: Rows = cx.picture.objects().map(|o| with_origin(cx, &o)).collect();
    let shipped = super::msdb::shown(cx.info, cx.entry.id).iter().flat_map(|t| table_objects(t));
    rows.extend(shipped.map(|o| with_origin(cx, &o)));
    for t in own_temporary_tables(cx) {
        rows.extend(table_objects(&t).iter().map(common));
    }
    rows
}

/// The reader's temporary tables, when it reads tempdb, by the names they have there.
pub(super) fn own_temporary_tables(cx: &ViewContext<'_>) -> Vec<TableDef> {
    if cx.entry.id != TEMPDB {
        return Vec::new();
    }
    let named = |t: &crate::session::temp::TempTable| {
        let mut table = TableDef::clone(&t.table);
        table.name = crate::session::temp::shown_name(&t.table);
        table
    };
    cx.info.temp.borrow().iter().map(named).collect()
}

fn system_objects(cx: &ViewContext<'_>) -> Rows {
    use crate::catalog::{INFORMATION_SCHEMA, SYS};
    let started = cx.engine.started();
    let shipped = |(object_id, schema_id, name, kind): (i32, i32, &str, &'static str)| {
        let o =
            ObjectRef { object_id, schema_id, name, parent: 0, kind, created: started, modified: started };
        let mut row = common(&o);
        row[9] = bit(true);
        row
    };
    let view = |v: &'static SystemView| {
        let id = super::object_id(Some(v.schema), v.name).unwrap_or(0);
        shipped((id, if v.schema == "sys" { SYS } else { INFORMATION_SCHEMA }, v.name, kind_of(v.name)))
    };
    let mut rows: Rows = super::all().map(view).collect();
    rows.extend(crate::procs::listed().map(|(id, name, kind)| shipped((id, SYS, name, kind))));
    rows
}

/// Object id and type of a system view, function or procedure.
pub(crate) fn shipped_object(schema: Option<&str>, name: &str) -> Option<(i32, &'static str)> {
    if let Some(id) = super::object_id(schema, name) {
        return Some((id, kind_of(super::by_object_id(id)?.name)));
    }
    let here = schema.is_none_or(|s| s.eq_ignore_ascii_case("sys") || s.eq_ignore_ascii_case("dbo"));
    let mut listed = crate::procs::listed().filter(|_| here);
    listed.find(|(_, n, _)| n.eq_ignore_ascii_case(name)).map(|(id, _, kind)| (id, kind))
}

/// Name and type of the system's object with that id.
pub(crate) fn shipped_name(id: i32) -> Option<(String, &'static str)> {
    if let Some(view) = super::by_object_id(id) {
        return Some((view.name.to_owned(), kind_of(view.name)));
    }
    crate::procs::listed().find(|(n, ..)| *n == id).map(|(_, name, kind)| (name.to_owned(), kind))
}

/// Views that are called with arguments are functions.
fn kind_of(view: &str) -> &'static str {
    const CALLED: [&str; 20] = [
        "dm_db_index_operational_stats",
        "dm_db_index_physical_stats",
        "dm_db_log_info",
        "dm_db_log_stats",
        "dm_db_page_info",
        "dm_db_stats_histogram",
        "dm_db_stats_properties",
        "dm_exec_cursors",
        "dm_exec_describe_first_result_set",
        "dm_exec_describe_first_result_set_for_object",
        "dm_exec_input_buffer",
        "dm_exec_plan_attributes",
        "dm_exec_query_plan",
        "dm_exec_query_plan_stats",
        "dm_exec_sql_text",
        "dm_exec_text_query_plan",
        "dm_io_virtual_file_stats",
        "dm_os_enumerate_filesystem",
        "dm_os_file_exists",
        "dm_os_volume_stats",
    ];
    if view.starts_with("fn_") || CALLED.contains(&view) { "IF" } else { "V " }
}

fn all_objects(cx: &ViewContext<'_>) -> Rows {
    let mut rows = objects(cx);
    rows.extend(system_objects(cx));
    rows
}

fn tables(cx: &ViewContext<'_>) -> Rows {
    let shipped = super::msdb::shown(cx.info, cx.entry.id);
    let table = |o: ObjectRef<'_>| {
        let shipped = shipped.iter().find(|t| t.object_id == o.object_id).cloned();
        let definition = shipped.or_else(|| cx.info.table_by_id(cx.entry.id, o.object_id));
        let max = definition.as_ref().map_or(0, |t| t.next_column_id - 1);
        let mut row = with_origin(cx, &o);
        let lobs = definition.as_ref().is_some_and(|t| t.columns.iter().any(|c| is_lob(c.ty)));
        row.extend([int(i32::from(lobs)), NULL, int(max), bit(false), bit(true)]);
        row.extend([bit(false), bit(false), bit(false), bit(false), bit(false)]);
        let captured = definition.as_ref().is_some_and(|t| !t.captures.is_empty());
        let escalation = definition.as_ref().map(|t| t.lock_escalation).unwrap_or_default();
        let number = LockEscalation::ALL.iter().position(|(e, _)| *e == escalation).unwrap_or(0);
        let name = LockEscalation::ALL[number].1;
        row.extend([int(0), bit(false), bit(captured), int(number as i32), text(name), bit(false)]);
        row.extend(match definition.as_ref().and_then(|t| t.memory_optimized) {
            Some(Durability::SchemaOnly) => [bit(true), int(1), text("SCHEMA_ONLY")],
            optimized => [bit(optimized.is_some()), int(0), text("SCHEMA_AND_DATA")],
        });
        let versioning = definition.as_ref().and_then(|t| t.versioning());
        let history = definition.as_ref().is_some_and(|t| t.history_of.is_some());
        row.extend(match versioning {
            Some(v) => [int(2), text("SYSTEM_VERSIONED_TEMPORAL_TABLE"), int(v.history)],
            None if history => [int(1), text("HISTORY_TABLE"), NULL],
            None => [int(0), text("NON_TEMPORAL_TABLE"), NULL],
        });
        row.extend([bit(false), bit(false)]);
        row.extend(retention(versioning));
        row.extend([bit(false), bit(false), int(0), bit(false)]);
        row
    };
    let mut rows: Rows = cx.picture.objects().filter(|o| o.kind == "U ").map(table).collect();
    let own = own_temporary_tables(cx);
    rows.extend(own.iter().flat_map(table_objects).filter(|o| o.kind == "U ").map(table));
    rows.extend(shipped.iter().flat_map(|t| table_objects(t)).map(table));
    rows
}

/// Whether values of a type may be kept apart from their rows.
fn is_lob(ty: keel_types::SqlType) -> bool {
    use keel_types::SqlType::{Image, NText, Text};
    matches!(ty, Text | NText | Image) || super::facts(ty).max_length == -1
}

/// history_retention_period and its unit, of a system-versioned table.
fn retention(versioning: Option<&VersioningDef>) -> [Value; 3] {
    match versioning.map(|v| v.retention) {
        None => [NULL, NULL, NULL],
        Some(None) => [int(-1), int(-1), text("INFINITE")],
        Some(Some((count, unit))) => {
            let name = match unit {
                3 => "DAY",
                4 => "WEEK",
                5 => "MONTH",
                _ => "YEAR",
            };
            [int(count), int(unit), text(name)]
        }
    }
}

/// PERIOD FOR SYSTEM_TIME of the tables that have it.
fn periods(cx: &ViewContext<'_>) -> Rows {
    let row = |t: &std::sync::Arc<TableDef>| {
        let period = t.period.as_ref()?;
        let kind = [text("SYSTEM_TIME"), int(1), text("SYSTEM_TIME_PERIOD")];
        let columns = [int(t.object_id), int(period.start), int(period.end)];
        Some(kind.into_iter().chain(columns).collect())
    };
    super::columns::tables(cx).iter().filter_map(row).collect()
}

fn views(cx: &ViewContext<'_>) -> Rows {
    let view = |o: ObjectRef<'_>| {
        let mut row = with_origin(cx, &o);
        row.resize(VIEW.len(), bit(false));
        row
    };
    cx.picture.objects().filter(|o| o.kind == "V ").map(view).collect()
}

fn system_views(cx: &ViewContext<'_>) -> Rows {
    let widened = |mut row: Vec<Value>| {
        row.resize(VIEW.len(), bit(false));
        row
    };
    let is_view = |row: &Vec<Value>| row[5].as_str().is_some_and(|kind| kind == "V ");
    system_objects(cx).into_iter().filter(is_view).map(widened).collect()
}

fn all_views(cx: &ViewContext<'_>) -> Rows {
    let mut rows = views(cx);
    rows.extend(system_views(cx));
    rows
}

fn procedures(cx: &ViewContext<'_>) -> Rows {
    let procedure = |o: ObjectRef<'_>| {
        let mut row = with_origin(cx, &o);
        row.resize(PROCEDURE.len(), bit(false));
        if cx.picture.module_by_id(o.object_id).is_some_and(|m| m.startup) {
            let at = PROCEDURE.iter().position(|c| c.0 == "is_auto_executed");
            at.into_iter().for_each(|at| row[at] = bit(true));
        }
        row
    };
    cx.picture.objects().filter(|o| o.kind == "P ").map(procedure).collect()
}

fn synonyms(cx: &ViewContext<'_>) -> Rows {
    let synonym = |o: ObjectRef<'_>| {
        let def = cx.picture.synonyms().find(|s| s.object_id == o.object_id);
        let target = def.map(|s| s.target.iter().map(|p| format!("[{p}]")).collect::<Vec<_>>().join("."));
        let mut row = common(&o);
        row.push(target.map_or(NULL, text));
        row
    };
    cx.picture.objects().filter(|o| o.kind == "SN").map(synonym).collect()
}

fn extended_properties(cx: &ViewContext<'_>) -> Rows {
    let class = |class: u8| match class {
        0 => "DATABASE",
        2 => "PARAMETER",
        3 => "SCHEMA",
        6 => "TYPE",
        10 => "XML_SCHEMA_COLLECTION",
        7 => "INDEX",
        20 => "DATASPACE",
        _ => "OBJECT_OR_COLUMN",
    };
    let row = |p: &std::sync::Arc<crate::catalog::PropertyDef>| {
        let value = crate::procs::property_value(p);
        vec![int(p.class), text(class(p.class)), int(p.major), int(p.minor), text(p.name.as_str()), value]
    };
    cx.picture.properties().map(row).collect()
}

fn sequences(cx: &ViewContext<'_>) -> Rows {
    cx.picture
        .sequences()
        .map(|s| {
            let f = super::facts(s.ty);
            let variant = |n: i64| super::whole_number(s.ty, n);
            // A restarted sequence stands before its start.
            let used = |last: &i64| *last != s.start.saturating_sub(s.increment);
            let last = cx.entry.sequence_current(s.object_id).filter(used);
            let mut row = vec![text(s.name.as_str()), int(s.object_id), NULL, int(s.schema_id), int(0)];
            row.extend([text("SO"), text("SEQUENCE_OBJECT"), date(s.created), date(s.modified)]);
            row.extend([bit(false), bit(false), bit(false)]);
            row.extend([variant(s.start), variant(s.increment), variant(s.minimum), variant(s.maximum)]);
            row.extend([bit(s.cycle), bit(true), NULL, int(f.system_type_id), int(f.user_type_id)]);
            row.extend([int(f.precision), int(f.scale), variant(last.unwrap_or(s.start)), bit(false)]);
            row.push(last.map_or(NULL, variant));
            row
        })
        .collect()
}

fn schemas(cx: &ViewContext<'_>) -> Rows {
    cx.picture.schemas().map(|s| vec![text(s.name.as_str()), int(s.schema_id), int(s.owner)]).collect()
}

fn old_objects(cx: &ViewContext<'_>) -> Rows {
    let clustered = |id| {
        cx.picture.stored_by_id(id).is_some_and(|t| t.indexes.iter().any(|i| i.kind == IndexKind::Clustered))
    };
    cx.picture
        .objects()
        .map(|o| {
            let old_type = match o.kind.trim() {
                "PK" | "UQ" => "K ",
                _ => o.kind,
            };
            let zero = int(0);
            vec![
                text(o.name),
                int(o.object_id),
                text(o.kind),
                int(o.schema_id),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                int(o.parent),
                date(o.created),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                text(old_type),
                int(1),
                zero.clone(),
                int(i32::from(clustered(o.object_id))),
                date(o.created),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                zero,
            ]
        })
        .collect()
}
