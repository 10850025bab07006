//! Extended events: what there is (`dm_xe_packages` and its like), the sessions as they are kept (`server_event_session…`), those
//! that run (`dm_xe_session…`), and files of events.

use super::{
    BIG, BIT, Column, DATE, GUID, INT, NAME, NULL, SystemView, TEXT, VARIANT, ViewContext, bit, date, int,
    text, view,
};
use crate::events::catalog::{self, Event, Package, Ty};
use crate::events::definition::{Definition, Setting};
use crate::events::running::Running;
use crate::events::target::Target;
use crate::events::{errors, file};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const N60: SqlType = SqlType::NVarChar(Length::Limited(60));
const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const N3000: SqlType = SqlType::NVarChar(Length::Limited(3000));
const ADDRESS: SqlType = SqlType::VarBinary(Length::Limited(8));
/// `capabilities`: a column that sessions may or may not collect.
const NO_CAPABILITIES: [Value; 2] = [Value::Int(0), NULL];

const EVENT_PART: &[Column] =
    &[("event_session_id", INT), ("event_id", INT), ("name", NAME), ("package", NAME), ("module", NAME)];

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("server_event_sessions", &[
        ("event_session_id", INT), ("name", NAME), ("event_retention_mode", SqlType::NChar(1)), ("event_retention_mode_desc", NAME),
        ("max_dispatch_latency", INT), ("max_memory", INT), ("max_event_size", INT), ("memory_partition_mode", SqlType::NChar(1)),
        ("memory_partition_mode_desc", NAME), ("track_causality", BIT), ("startup_state", BIT), ("has_long_running_target", BIT),
        ("max_duration", BIG),
    ], |cx| kept(cx).iter().map(session).collect()),
    view("server_event_session_events", &[
        ("event_session_id", INT), ("event_id", INT), ("name", NAME), ("package", NAME), ("module", NAME), ("predicate", N3000),
        ("predicate_xml", N3000),
    ], events),
    view("server_event_session_actions", EVENT_PART, actions),
    view("server_event_session_targets", &[
        ("event_session_id", INT), ("target_id", INT), ("name", NAME), ("package", NAME), ("module", NAME),
    ], targets),
    view("server_event_session_fields", &[("event_session_id", INT), ("object_id", INT), ("name", NAME), ("value", VARIANT)], settings),
    view("dm_xe_sessions", &[
        ("address", ADDRESS), ("name", N256), ("pending_buffers", INT), ("total_regular_buffers", INT), ("regular_buffer_size", BIG),
        ("total_large_buffers", INT), ("large_buffer_size", BIG), ("total_buffer_size", BIG), ("buffer_policy_flags", INT),
        ("buffer_policy_desc", N256), ("flags", INT), ("flag_desc", N256), ("dropped_event_count", INT), ("dropped_buffer_count", INT),
        ("blocked_event_fire_time", INT), ("create_time", DATE), ("largest_event_dropped_size", INT), ("session_source", N256),
        ("buffer_processed_count", BIG), ("buffer_full_count", BIG), ("total_bytes_generated", BIG), ("total_target_memory", BIG),
    ], |cx| cx.engine.events.all().iter().map(|r| running(r)).collect()),
    view("dm_xe_session_targets", &[
        ("event_session_address", ADDRESS), ("target_name", N60), ("target_package_guid", GUID), ("execution_count", BIG),
        ("execution_duration_ms", BIG), ("target_data", TEXT), ("bytes_written", BIG), ("failed_buffer_count", BIG),
    ], running_targets),
    view("dm_xe_session_events", &[
        ("event_session_address", ADDRESS), ("event_name", N60), ("event_package_guid", GUID), ("event_predicate", TEXT),
        ("event_fire_count", BIG), ("event_fire_average_time", BIG), ("event_fire_min_time", BIG), ("event_fire_max_time", BIG),
    ], running_events),
    view("dm_xe_session_event_actions", &[
        ("event_session_address", ADDRESS), ("action_name", N60), ("action_package_guid", GUID), ("event_name", N60),
        ("event_package_guid", GUID),
    ], running_actions),
    view("dm_xe_session_object_columns", &[
        ("event_session_address", ADDRESS), ("column_name", N60), ("column_id", INT), ("column_value", N3000),
        ("object_type", N60), ("object_name", N60), ("object_package_guid", GUID),
    ], running_settings),
    view("dm_xe_objects", &[
        ("name", N60), ("object_type", N60), ("package_guid", GUID), ("description", N256), ("capabilities", INT),
        ("capabilities_desc", N256), ("type_name", N60), ("type_package_guid", GUID), ("type_size", INT),
    ], objects),
    view("dm_xe_object_columns", &[
        ("name", N60), ("column_id", INT), ("object_name", N60), ("object_package_guid", GUID), ("type_name", N60),
        ("type_package_guid", GUID), ("column_type", N60), ("column_value", N256), ("capabilities", INT),
        ("capabilities_desc", N256), ("description", N256),
    ], columns),
    view("dm_xe_packages", &[
        ("name", N256), ("guid", GUID), ("description", N256), ("capabilities", INT), ("capabilities_desc", N256),
        ("module_guid", GUID), ("module_address", ADDRESS),
    ], packages),
    view("dm_xe_map_values", &[("name", N60), ("object_package_guid", GUID), ("map_key", INT), ("map_value", N3000)], maps),
    view("fn_xe_file_target_read_file", &[
        ("module_guid", GUID), ("package_guid", GUID), ("object_name", N256), ("event_data", TEXT), ("file_name", N256),
        ("file_offset", BIG), ("timestamp_utc", SqlType::DateTime2(7)),
    ], read_files),
];

/// The program that all packages are in, as the product's is numbered: sessions' parts name it, and Management Objects joins by it.
const MODULE: &str = "CE79811F-1A80-40E1-8F5D-7445A3F375E7";

fn guid(package: &Package) -> Value {
    guid_of(package.guid)
}

fn guid_of(written: &'static str) -> Value {
    keel_types::cast::convert(&text(written), SqlType::VarChar(Length::Limited(36)), GUID).unwrap_or(NULL)
}

/// The sessions as they are kept, for who may look after them.
fn kept(cx: &ViewContext<'_>) -> Vec<Definition> {
    let may = cx.info.unrestricted.get()
        || cx.info.may_on_server("VIEW SERVER PERFORMANCE STATE")
        || cx.info.may_on_server("ALTER ANY EVENT SESSION");
    if !may {
        return Vec::new();
    }
    cx.engine.event_sessions().unwrap_or_else(|e| {
        cx.fail(e);
        Vec::new()
    })
}

fn session(d: &Definition) -> Vec<Value> {
    let o = &d.options;
    let (retention, partition) = (o.retention.names(), o.partition.names());
    vec![
        int(d.id),
        text(d.name.as_str()),
        text(retention.0),
        text(retention.1),
        int(i64::from(o.dispatch_latency) * 1000),
        int(o.memory_kb),
        int(o.event_size_kb),
        text(partition.0),
        text(partition.1),
        bit(o.causality),
        bit(o.startup),
        bit(false),
        int(0),
    ]
}

fn events(cx: &ViewContext<'_>) -> Rows {
    let rows = |d: &Definition| -> Rows {
        let row = |e: &crate::events::definition::EventPart| {
            let (written, tree) = match (&e.predicate, Event::named(&e.name)) {
                (Some(predicate), Some(event)) => {
                    let mut xml = String::new();
                    predicate.push_xml(event, &mut xml);
                    (text(predicate.written()), text(xml))
                }
                _ => (NULL, NULL),
            };
            let (name, package) = (text(e.name.as_str()), text(e.package.as_str()));
            vec![int(d.id), int(e.id), name, package, text(MODULE), written, tree]
        };
        d.events.iter().map(row).collect()
    };
    kept(cx).iter().flat_map(rows).collect()
}

fn actions(cx: &ViewContext<'_>) -> Rows {
    let mut out = Vec::new();
    for d in kept(cx) {
        for e in &d.events {
            let row = |(package, name): &(String, String)| {
                vec![int(d.id), int(e.id), text(name.as_str()), text(package.as_str()), text(MODULE)]
            };
            out.extend(e.actions.iter().map(row));
        }
    }
    out
}

fn targets(cx: &ViewContext<'_>) -> Rows {
    let rows = |d: &Definition| -> Rows {
        let row = |t: &crate::events::definition::TargetPart| {
            vec![int(d.id), int(t.id), text(t.name.as_str()), text("package0"), text(MODULE)]
        };
        d.targets.iter().map(row).collect()
    };
    kept(cx).iter().flat_map(rows).collect()
}

/// The type of a setting that is a text.
const LONG: SqlType = SqlType::NVarChar(Length::Limited(4000));

/// A setting as sql_variant shows it.
fn setting(value: &Setting) -> Value {
    match value {
        Setting::Number(n) => super::whole_number(INT, *n),
        Setting::Text(s) => crate::functions::variant(LONG, Value::str(s.as_str())),
    }
}

fn settings(cx: &ViewContext<'_>) -> Rows {
    let mut out = Vec::new();
    for d in kept(cx) {
        let events = d.events.iter().map(|e| (e.id, &e.settings));
        for (id, settings) in events.chain(d.targets.iter().map(|t| (t.id, &t.settings))) {
            let row = |(name, value): &(String, Setting)| {
                vec![int(d.id), int(id), text(name.as_str()), setting(value)]
            };
            out.extend(settings.iter().map(row));
        }
    }
    out
}

/// What joins the views of sessions that run.
fn address(r: &Running) -> Value {
    Value::bytes(u64::from(r.definition.id.unsigned_abs()).to_be_bytes().to_vec())
}

fn running(r: &Running) -> Vec<Value> {
    let o = &r.definition.options;
    let bytes = i64::from(o.memory_kb) * 1024;
    let dropped: u64 = r.targets(Target::dropped).into_iter().sum();
    let written: u64 = r.targets(Target::written).into_iter().sum();
    let mut row = vec![
        address(r),
        text(r.definition.name.as_str()),
        int(0),
        int(1),
        int(bytes),
        int(0),
        int(0),
        int(bytes),
    ];
    row.extend([int(0), text("drop_event"), int(0), text("")]);
    row.extend([int(i64::try_from(dropped).unwrap_or(i64::MAX)), int(0), int(0), date(r.started), int(0)]);
    row.extend([text("server"), int(0), int(0), int(written as i64), int(0)]);
    row
}

fn running_targets(cx: &ViewContext<'_>) -> Rows {
    let rows = |r: Arc<Running>| -> Rows {
        r.targets(|target| {
            vec![
                address(&r),
                text(target.name()),
                guid(&catalog::PACKAGE0),
                int(0),
                int(0),
                text(target.data()),
                int(target.written() as i64),
                int(target.dropped() as i64),
            ]
        })
    };
    cx.engine.events.all().into_iter().flat_map(rows).collect()
}

fn running_events(cx: &ViewContext<'_>) -> Rows {
    let mut out = Vec::new();
    for r in cx.engine.events.all() {
        for part in &r.definition.events {
            let Some(event) = Event::named(&part.name) else { continue };
            let predicate = part.predicate.as_ref().map_or(NULL, |p| {
                let mut xml = String::new();
                p.push_xml(event, &mut xml);
                text(xml)
            });
            let mut row = vec![address(&r), text(event.info().name), guid(&catalog::SQLSERVER), predicate];
            row.extend([int(r.fired(event) as i64), int(0), int(0), int(0)]);
            out.push(row);
        }
    }
    out
}

fn package(name: &str) -> &'static Package {
    catalog::PACKAGES.into_iter().find(|p| p.name == name).unwrap_or(&catalog::SQLSERVER)
}

fn running_actions(cx: &ViewContext<'_>) -> Rows {
    let mut out = Vec::new();
    for r in cx.engine.events.all() {
        for part in &r.definition.events {
            let row = |(of, name): &(String, String)| {
                let event = text(part.name.as_str());
                vec![address(&r), text(name.as_str()), guid(package(of)), event, guid(&catalog::SQLSERVER)]
            };
            out.extend(part.actions.iter().map(row));
        }
    }
    out
}

fn running_settings(cx: &ViewContext<'_>) -> Rows {
    let mut out = Vec::new();
    for r in cx.engine.events.all() {
        for part in &r.definition.targets {
            let Some(info) = catalog::target(&part.name) else { continue };
            for (n, (name, _, default)) in info.settings.iter().enumerate() {
                let value = part.setting(name).map_or_else(|| (*default).to_owned(), Setting::text);
                let mut row = vec![address(&r), text(*name), int(n as i64), text(value)];
                row.extend([text("target"), text(info.name), guid(&catalog::PACKAGE0)]);
                out.push(row);
            }
        }
    }
    out
}

fn object(
    name: &'static str,
    kind: &'static str,
    of: &Package,
    description: &str,
    ty: Option<Ty>,
) -> Vec<Value> {
    let mut row = vec![text(name), text(kind), guid(of), text(description)];
    row.extend(NO_CAPABILITIES);
    row.extend(ty.map_or([NULL, NULL], |ty| [text(ty.name()), guid(ty.package())]));
    row.push(NULL);
    row
}

fn objects(_: &ViewContext<'_>) -> Rows {
    use catalog::{ACTIONS, EVENTS, MAPS, PACKAGE0, SQLSERVER, TARGETS};
    let mut out: Rows =
        EVENTS.iter().map(|e| object(e.name, "event", &SQLSERVER, e.description, None)).collect();
    for action in &ACTIONS {
        out.push(object(action.name, "action", action.package, action.description, Some(action.ty)));
        if action.source {
            out.push(object(action.name, "pred_source", action.package, action.description, Some(action.ty)));
        }
    }
    let counter = "Counts the number of times the predicate is evaluated";
    out.push(object("counter", "pred_source", &PACKAGE0, counter, Some(Ty::UInt64)));
    out.extend(TARGETS.iter().map(|t| object(t.name, "target", &PACKAGE0, t.description, None)));
    out.extend(MAPS.iter().map(|m| object(m.name, "map", &SQLSERVER, "", None)));
    let types = [
        Ty::UInt16,
        Ty::Int32,
        Ty::UInt32,
        Ty::Int64,
        Ty::UInt64,
        Ty::Boolean,
        Ty::Text,
        Ty::Xml,
        Ty::Binary,
        Ty::Guid,
        Ty::Time,
    ];
    out.extend(types.into_iter().map(|ty| object(ty.name(), "type", &PACKAGE0, "", None)));
    out
}

fn columns(_: &ViewContext<'_>) -> Rows {
    let mut out = Vec::new();
    let mut put = |name: &'static str,
                   n: usize,
                   of: &'static str,
                   package,
                   ty: Ty,
                   kind: &'static str,
                   value: Value| {
        let mut row =
            vec![text(name), int(n as i64), text(of), guid(package), text(ty.name()), guid(ty.package())];
        row.extend([text(kind), value]);
        row.extend(NO_CAPABILITIES);
        row.push(NULL);
        out.push(row);
    };
    for event in &catalog::EVENTS {
        for (n, (name, ty)) in event.columns.iter().enumerate() {
            put(name, n, event.name, &catalog::SQLSERVER, *ty, "data", NULL);
        }
        for (n, name) in event.settings.iter().enumerate() {
            put(name, n, event.name, &catalog::SQLSERVER, Ty::Boolean, "customizable", text("true"));
        }
    }
    for target in &catalog::TARGETS {
        for (n, (name, ty, default)) in target.settings.iter().enumerate() {
            put(name, n, target.name, &catalog::PACKAGE0, *ty, "customizable", text(*default));
        }
    }
    out
}

fn packages(_: &ViewContext<'_>) -> Rows {
    let row = |p: &&'static Package| {
        let mut row = vec![text(p.name), guid(p), text(p.description)];
        row.extend(NO_CAPABILITIES);
        row.extend([guid_of(MODULE), NULL]);
        row
    };
    catalog::PACKAGES.iter().map(row).collect()
}

fn maps(_: &ViewContext<'_>) -> Rows {
    let rows = |map: &&'static catalog::Map| -> Rows {
        let row = |(key, value): &(u32, &'static str)| {
            vec![text(map.name), guid(&catalog::SQLSERVER), int(*key), text(*value)]
        };
        map.values.iter().map(row).collect()
    };
    catalog::MAPS.iter().flat_map(rows).collect()
}

/// `fn_xe_file_target_read_file (path, metadata path, initial file, initial offset)`
fn read_files(cx: &ViewContext<'_>) -> Rows {
    if !cx.info.unrestricted.get() && !cx.info.may_on_server("VIEW SERVER PERFORMANCE STATE") {
        let denied =
            "VIEW SERVER PERFORMANCE STATE permission was denied on object 'server', database 'master'.";
        cx.fail(keel_types::SqlError::new(300, 14, 1, denied));
        return Vec::new();
    }
    let argument = |n: usize| cx.args.get(n).filter(|v| !v.is_null());
    let Some(pattern) = argument(0).and_then(Value::as_str) else { return Vec::new() };
    let from = (argument(2).and_then(Value::as_str), argument(3).and_then(Value::as_int));
    let from = match from {
        (None, None) => None,
        (Some(file), Some(offset)) => Some((file.to_owned(), offset)),
        _ => {
            cx.fail(errors::file_and_offset());
            return Vec::new();
        }
    };
    stored_events(cx, pattern, from.as_ref()).unwrap_or_else(|e| {
        cx.fail(e);
        Vec::new()
    })
}

/// The events of files, behind a place in one of them.
fn stored_events(cx: &ViewContext<'_>, pattern: &str, from: Option<&(String, i64)>) -> Result<Rows> {
    let disk = &*cx.engine.options().env.disk;
    let missing = || errors::no_file(pattern);
    // A directory that is not there has no such file.
    let files = file::matching(disk, &cx.engine.event_directory().join(pattern)).unwrap_or_default();
    if files.is_empty() {
        return Err(missing());
    }
    let shown = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let mut out = Vec::new();
    for path in files {
        let name = shown(&path);
        let begins = match from {
            Some((file, _)) if name.as_str() < file.as_str() => continue,
            Some((file, offset)) if name == *file => *offset,
            _ => -1,
        };
        let documents = file::read(disk, &path).map_err(|e| errors::cannot_read(e, &name))?;
        for stored in documents.ok_or_else(missing)? {
            let offset = i64::try_from(stored.offset).unwrap_or(i64::MAX);
            if offset <= begins {
                continue;
            }
            let at = stored.attribute("timestamp").map_or(NULL, |at| {
                let zoneless = text(at.trim_end_matches('Z'));
                let (from, to) = (SqlType::VarChar(Length::Limited(30)), SqlType::DateTime2(7));
                keel_types::cast::convert(&zoneless, from, to).unwrap_or(NULL)
            });
            let event = stored.attribute("name").map_or(NULL, text);
            let (module, package) = (guid_of(MODULE), guid(&catalog::SQLSERVER));
            let row = vec![
                module,
                package,
                event,
                text(stored.document.as_str()),
                text(name.as_str()),
                int(offset),
                at,
            ];
            out.push(row);
        }
    }
    Ok(out)
}
