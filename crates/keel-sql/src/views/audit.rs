//! Audits: what there is, what runs, what was recorded (`sys.server_audits` and its neighbours, `sys.fn_get_audit_file`).

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, KIND, NAME, NULL, SID, SMALL, SystemView, TINY, ViewContext,
    bit, date, int, text, view,
};
use crate::audit::catalog::{ACCESSES, ACTIONS, CLASSES, GROUPS, Group};
use crate::audit::definition::{
    AuditDef, Audited, AuditedSecurable, Destination, ROLLOVER_UNLIMITED, SIZE_UNLIMITED, SpecificationDef,
};
use crate::audit::errors;
use crate::audit::record::Record;
use crate::audit::running::{EXTENSION, file_path};
use crate::catalog::SecurableRef;
use crate::events::file::{self, Stored};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use std::path::Path;

type Rows = Vec<Vec<Value>>;

const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const N260: SqlType = SqlType::NVarChar(Length::Limited(260));
const N128: SqlType = SqlType::NVarChar(Length::Limited(128));
const N3000: SqlType = SqlType::NVarChar(Length::Limited(3000));
const N4000: SqlType = SqlType::NVarChar(Length::Limited(4000));
const ID: SqlType = SqlType::VarChar(Length::Limited(4));
const TIME: SqlType = SqlType::DateTime2(7);
/// Characters of a statement in one row; what is longer goes on in the next.
const STATEMENT_CHARS: usize = 4000;

const DETAIL: &[Column] = &[
    ("audit_action_id", SqlType::Char(4)),
    ("audit_action_name", N256),
    ("class", TINY),
    ("class_desc", DESC),
    ("major_id", INT),
    ("minor_id", INT),
    ("audited_principal_id", INT),
    ("audited_result", DESC),
    ("is_group", BIT),
];

const SERVER_DETAIL: &[Column] = &super::joined::<10>(&[("server_specification_id", INT)], DETAIL);
const DATABASE_DETAIL: &[Column] = &super::joined::<10>(&[("database_specification_id", INT)], DETAIL);

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("server_audits", &[
        ("audit_id", INT), ("name", NAME), ("audit_guid", GUID), ("create_date", DATE), ("modify_date", DATE), ("principal_id", INT),
        ("type", KIND), ("type_desc", DESC), ("on_failure", TINY), ("on_failure_desc", DESC), ("is_state_enabled", BIT),
        ("queue_delay", INT), ("predicate", N3000), ("is_operator_audit", BIT),
    ], audits),
    view("server_file_audits", &[
        ("audit_id", INT), ("name", NAME), ("audit_guid", GUID), ("create_date", DATE), ("modify_date", DATE), ("principal_id", INT),
        ("type", KIND), ("type_desc", DESC), ("on_failure", TINY), ("on_failure_desc", DESC), ("is_state_enabled", BIT),
        ("queue_delay", INT), ("predicate", N3000), ("max_file_size", BIG), ("max_rollover_files", INT), ("max_files", INT),
        ("reserve_disk_space", BIT), ("log_file_path", N260), ("log_file_name", N260), ("retention_days", INT),
        ("is_operator_audit", BIT),
    ], file_audits),
    view("server_audit_specifications", &[
        ("server_specification_id", INT), ("name", NAME), ("create_date", DATE), ("modify_date", DATE), ("audit_guid", GUID),
        ("is_state_enabled", BIT),
    ], server_specifications),
    view("database_audit_specifications", &[
        ("database_specification_id", INT), ("name", NAME), ("create_date", DATE), ("modify_date", DATE), ("audit_guid", GUID),
        ("is_state_enabled", BIT),
    ], database_specifications),
    view("server_audit_specification_details", SERVER_DETAIL, server_details),
    view("database_audit_specification_details", DATABASE_DETAIL, database_details),
    view("dm_server_audit_status", &[
        ("audit_id", INT), ("name", NAME), ("status", SMALL), ("status_desc", N256), ("status_time", TIME),
        ("event_session_address", SID), ("audit_file_path", N256), ("audit_file_size", BIG),
    ], status),
    view("dm_audit_actions", &[
        ("action_id", ID), ("action_in_log", BIT), ("name", N128), ("class_desc", N128), ("parent_class_desc", N128),
        ("covering_parent_action_name", N128), ("configuration_level", N128), ("containing_group_name", N128),
    ], actions),
    view("dm_audit_class_type_map", &[
        ("class_type", KIND), ("class_type_desc", N128), ("securable_class_desc", N128),
    ], classes),
    view("fn_get_audit_file", &[
        ("event_time", TIME), ("sequence_number", INT), ("action_id", ID), ("succeeded", BIT),
        ("permission_bitmask", SqlType::VarBinary(Length::Limited(16))), ("is_column_permission", BIT), ("session_id", SMALL),
        ("server_principal_id", INT), ("database_principal_id", INT), ("target_server_principal_id", INT),
        ("target_database_principal_id", INT), ("object_id", INT), ("class_type", SqlType::VarChar(Length::Limited(2))),
        ("session_server_principal_name", NAME), ("server_principal_name", NAME), ("server_principal_sid", SID),
        ("database_principal_name", NAME), ("target_server_principal_name", NAME), ("target_server_principal_sid", SID),
        ("target_database_principal_name", NAME), ("server_instance_name", NAME), ("database_name", NAME), ("schema_name", NAME),
        ("object_name", NAME), ("statement", N4000), ("additional_information", N4000), ("file_name", N260),
        ("audit_file_offset", BIG), ("user_defined_event_id", SMALL), ("user_defined_information", N4000),
        ("audit_schema_version", INT), ("sequence_group_id", SID), ("transaction_id", BIG), ("client_ip", N128),
        ("application_name", N128), ("duration_milliseconds", BIG), ("response_rows", BIG), ("affected_rows", BIG),
        ("connection_id", GUID), ("data_sensitivity_information", N4000), ("host_name", N128), ("session_context", N4000),
        ("client_tls_version", BIG), ("client_tls_version_name", N128), ("database_transaction_id", BIG),
        ("ledger_start_sequence_number", BIG), ("external_policy_permissions_checked", N4000),
        ("obo_middle_tier_app_id", SqlType::VarChar(Length::Limited(120))), ("is_local_secondary_replica", BIT),
    ], read_files),
];

/// Whether the session may see what is audited of the server.
fn sees_server(cx: &ViewContext<'_>) -> bool {
    cx.info.unrestricted.get()
        || ["ALTER ANY SERVER AUDIT", "VIEW ANY DEFINITION", "VIEW ANY SECURITY DEFINITION"]
            .iter()
            .any(|permission| cx.info.may_on_server(permission))
}

fn kept<T>(cx: &ViewContext<'_>, all: Result<Vec<T>>) -> Vec<T> {
    if !sees_server(cx) {
        return Vec::new();
    }
    all.unwrap_or_else(|e| {
        cx.fail(e);
        Vec::new()
    })
}

/// What both views of audits begin with.
fn audit(a: &AuditDef) -> Vec<Value> {
    let (kind, name) = match a.to {
        Destination::File { .. } => ("FL", "FILE"),
        Destination::ErrorLog => ("AL", "APPLICATION LOG"),
    };
    let (failure, failure_name) = a.on_failure.shown();
    vec![
        int(a.id),
        text(a.name.as_str()),
        Value::Guid(a.guid),
        date(a.created),
        date(a.modified),
        int(a.principal),
        text(kind),
        text(name),
        int(failure),
        text(failure_name),
        bit(a.on),
        int(a.queue_delay_ms),
        a.predicate.as_ref().map_or(NULL, |(p, _)| text(p.written())),
    ]
}

fn audits(cx: &ViewContext<'_>) -> Rows {
    let row = |a: &AuditDef| {
        let mut row = audit(a);
        row.push(bit(false));
        row
    };
    kept(cx, cx.engine.server_audits()).iter().map(row).collect()
}

fn file_audits(cx: &ViewContext<'_>) -> Rows {
    let row = |a: &AuditDef| {
        let Destination::File { path, size_max, rollover, files_max, reserve } = &a.to else { return None };
        let mut row = audit(a);
        let megabytes = if *size_max == SIZE_UNLIMITED { 0 } else { (size_max >> 20) as i64 };
        // The product's two ways of saying how many.
        let (rollover, files) = if *files_max > 0 { (0, *files_max) } else { (*rollover, 0) };
        row.extend([int(megabytes), int(rollover.min(ROLLOVER_UNLIMITED)), int(files), bit(*reserve)]);
        let file = file_path(Path::new(""), a, path);
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        row.extend([text(path.as_str()), text(name), int(0), bit(false)]);
        Some(row)
    };
    kept(cx, cx.engine.server_audits()).iter().filter_map(row).collect()
}

fn specification(s: &SpecificationDef) -> Vec<Value> {
    vec![int(s.id), text(s.name.as_str()), date(s.created), date(s.modified), Value::Guid(s.audit), bit(s.on)]
}

fn server_specifications(cx: &ViewContext<'_>) -> Rows {
    kept(cx, cx.engine.server_audit_specifications()).iter().map(specification).collect()
}

/// The specifications of the database, for who may see them.
fn of_database(cx: &ViewContext<'_>) -> Vec<SpecificationDef> {
    let may = |permission| cx.info.may(&cx.entry, permission, SecurableRef::Database);
    if !sees_server(cx) && !may("ALTER ANY DATABASE AUDIT") && !may("VIEW DEFINITION") {
        return Vec::new();
    }
    cx.info.picture(&cx.entry).audit_specifications().map(|s| (**s).clone()).collect()
}

fn database_specifications(cx: &ViewContext<'_>) -> Rows {
    of_database(cx).iter().map(specification).collect()
}

fn details(s: &SpecificationDef, of_server: bool) -> Rows {
    let (whole, whole_name) = if of_server { (100, "SERVER") } else { (0, "DATABASE") };
    let row = |part: &Audited| {
        let mut row = vec![int(s.id)];
        match part {
            Audited::Group(name) => {
                let id = Group::named(name).map_or("", |g| g.id);
                row.extend([text(format!("{id:<4}")), text(name.as_str()), int(whole), text(whole_name)]);
                row.extend([int(0), int(0), int(0), text("SUCCESS AND FAILURE"), bit(true)]);
            }
            Audited::Action { action, on, by } => {
                let name = ACCESSES.iter().find(|(id, _)| id == action).map_or("", |(_, name)| name);
                let (class, class_name, id) = match on {
                    AuditedSecurable::Database => (0, "DATABASE", 0),
                    AuditedSecurable::Schema(id) => (3, "SCHEMA", *id),
                    AuditedSecurable::Object(id) => (1, "OBJECT_OR_COLUMN", *id),
                };
                row.extend([text(format!("{action:<4}")), text(name), int(class), text(class_name)]);
                row.extend([int(id), int(0), int(*by), text("SUCCESS AND FAILURE"), bit(false)]);
            }
        }
        row
    };
    s.parts.iter().map(row).collect()
}

fn server_details(cx: &ViewContext<'_>) -> Rows {
    kept(cx, cx.engine.server_audit_specifications()).iter().flat_map(|s| details(s, true)).collect()
}

fn database_details(cx: &ViewContext<'_>) -> Rows {
    of_database(cx).iter().flat_map(|s| details(s, false)).collect()
}

fn status(cx: &ViewContext<'_>) -> Rows {
    let row = |a: &AuditDef| {
        let mut row = vec![int(a.id), text(a.name.as_str())];
        let Some(running) = cx.engine.audits.running(&a.guid) else {
            let (status, name) = if a.on { (2, "FAILED") } else { (0, "STOPPED") };
            row.extend([int(status), text(name), Value::DateTime(a.modified), NULL, NULL, NULL]);
            return row;
        };
        let (file, failing) = running.status();
        let (status, name) = if failing { (2, "FAILED") } else { (1, "STARTED") };
        row.extend([int(status), text(name), Value::DateTime(running.since), NULL]);
        row.extend(file.map_or([NULL, NULL], |(path, length)| {
            [text(path.to_string_lossy().into_owned()), int(length as i64)]
        }));
        row
    };
    cx.engine.server_audits().unwrap_or_default().iter().map(row).collect()
}

fn actions(_: &ViewContext<'_>) -> Rows {
    let mut rows: Rows = Vec::new();
    for a in ACTIONS {
        let access = ACCESSES.iter().any(|(id, _)| *id == a.id);
        let level = if access { text("ACTION") } else { NULL };
        let covering = if access { text(a.name) } else { NULL };
        let parent = match a.class {
            "OBJECT" | "TYPE" => text("SCHEMA"),
            "SCHEMA" | "USER" | "ROLE" | "APPLICATION ROLE" => text("DATABASE"),
            "SERVER" => NULL,
            _ => text("SERVER"),
        };
        let (id, name, class) = (text(a.id), text(a.name), text(a.class));
        rows.push(vec![id, bit(true), name, class, parent, covering, level, text(a.group.info().name)]);
    }
    for g in GROUPS {
        let class = if g.of_database { "DATABASE" } else { "SERVER" };
        let parent = if g.of_database { text("SERVER") } else { NULL };
        let covering = if g.of_database { text(g.name) } else { NULL };
        let (id, name) = (text(g.id), text(g.name));
        rows.push(vec![id, bit(false), name, text(class), parent, covering, text("GROUP"), NULL]);
    }
    rows
}

fn classes(_: &ViewContext<'_>) -> Rows {
    CLASSES.iter().map(|c| vec![text(c.id), text(c.name), text(c.securable)]).collect()
}

// ---- files ----

/// `fn_get_audit_file (pattern, initial file, offset)`
fn read_files(cx: &ViewContext<'_>) -> Rows {
    if !cx.info.unrestricted.get() && !cx.info.may_on_server("VIEW SERVER SECURITY AUDIT") {
        let denied =
            "VIEW SERVER SECURITY AUDIT permission was denied on object 'server', database 'master'.";
        cx.fail(keel_types::SqlError::new(300, 14, 1, denied));
        return Vec::new();
    }
    let argument = |n: usize| cx.args.get(n).filter(|v| !v.is_null());
    let Some(pattern) = argument(0).and_then(Value::as_str) else { return Vec::new() };
    let from = (argument(1).and_then(Value::as_str), argument(2).and_then(Value::as_int));
    stored(cx, pattern, from).unwrap_or_else(|e| {
        cx.fail(e);
        Vec::new()
    })
}

/// The records of files, from a file on, and there from behind an offset on.
fn stored(cx: &ViewContext<'_>, pattern: &str, (first, offset): (Option<&str>, Option<i64>)) -> Result<Rows> {
    let disk = &*cx.engine.options().env.disk;
    // A directory means its files of audits.
    let pattern = if pattern.ends_with('/') { format!("{pattern}*.{EXTENSION}") } else { pattern.to_owned() };
    let files = file::matching(disk, &cx.engine.audit_directory().join(&pattern)).unwrap_or_default();
    if files.is_empty() {
        return Err(errors::no_files());
    }
    let name_of = |path: &Path| path.to_string_lossy().into_owned();
    let at = match first {
        None if offset.is_some() => return Err(errors::no_place()),
        None => 0,
        Some(first) => {
            let is_first = |path: &std::path::PathBuf| {
                name_of(path) == first || path.file_name().is_some_and(|n| n.to_string_lossy() == first)
            };
            files.iter().position(is_first).ok_or_else(errors::no_place)?
        }
    };
    let mut rows = Vec::new();
    for (n, path) in files[at..].iter().enumerate() {
        let name = name_of(path);
        let read = file::read_to_torn(disk, path).ok().flatten();
        let (documents, torn) = read.ok_or_else(|| errors::cannot_read(&pattern))?;
        let begins = offset.filter(|_| n == 0);
        if let Some(begins) = begins
            && !documents.iter().any(|d| i64::try_from(d.offset) == Ok(begins))
        {
            return Err(errors::no_place());
        }
        for document in documents {
            let at = i64::try_from(document.offset).unwrap_or(i64::MAX);
            if begins.is_some_and(|begins| at <= begins) {
                continue;
            }
            match Record::parse(&document.document) {
                Some(record) => rows.extend(rows_of(&record, &name, &document)),
                None => cx.info.say(errors::skipping(&name, at)),
            }
        }
        if let Some(offset) = torn {
            cx.info.say(errors::skipping(&name, offset));
        }
    }
    Ok(rows)
}

/// A record, as many rows as its statement takes.
fn rows_of(r: &Record, file: &str, stored: &Stored) -> Rows {
    let characters: Vec<char> = r.statement.chars().collect();
    let parts: Vec<String> = if characters.is_empty() {
        vec![String::new()]
    } else {
        characters.chunks(STATEMENT_CHARS).map(|part| part.iter().collect()).collect()
    };
    let row = |(n, statement): (usize, &String)| {
        let s = |t: &str| text(t.chars().take(STATEMENT_CHARS).collect::<String>());
        let sid = |bytes: &[u8]| if bytes.is_empty() { NULL } else { Value::bytes(bytes.to_vec()) };
        let big = |n: u64| int(i64::try_from(n).unwrap_or(i64::MAX));
        vec![
            Value::DateTime(r.event_time),
            int(n as i64 + 1),
            s(&r.action_id),
            bit(r.succeeded),
            Value::bytes(vec![0; 16]),
            bit(r.is_column_permission),
            int(r.session_id),
            int(r.server_principal_id),
            int(r.database_principal_id),
            int(r.target_server_principal_id),
            int(r.target_database_principal_id),
            int(r.object_id),
            s(&r.class_type),
            s(&r.session_server_principal_name),
            s(&r.server_principal_name),
            sid(&r.server_principal_sid),
            s(&r.database_principal_name),
            s(&r.target_server_principal_name),
            sid(&r.target_server_principal_sid),
            s(&r.target_database_principal_name),
            s(&r.server_instance_name),
            s(&r.database_name),
            s(&r.schema_name),
            s(&r.object_name),
            text(statement.as_str()),
            s(&r.additional_information),
            text(file),
            int(i64::try_from(stored.offset).unwrap_or(i64::MAX)),
            int(r.user_defined_event_id),
            s(&r.user_defined_information),
            int(1),
            Value::bytes(r.sequence_group_id.to_vec()),
            big(r.transaction_id),
            s(&r.client_ip),
            s(&r.application_name),
            big(r.duration_milliseconds),
            big(r.response_rows),
            big(r.affected_rows),
            NULL,
            s(""),
            s(&r.host_name),
            NULL,
            int(0),
            NULL,
            int(0),
            int(0),
            NULL,
            NULL,
            bit(false),
        ]
    };
    parts.iter().enumerate().map(row).collect()
}
