//! Triggers of tables and views, of databases, and of the server; the events there are.

use super::{
    BIT, Column, DATE, DESC, INT, KIND, NAME, NULL, SID, SystemView, TEXT, TINY, ViewContext, bit, date, int,
    text,
};
use crate::event_notifications::definition::{EventNotificationDef, On};
use crate::event_notifications::types;
use crate::triggers::event_types::{self, EventType};
use keel_query::catalog::{DATABASE_TRIGGERS, EventTriggerDef, ModuleDef, ModuleKind, SERVER_TRIGGERS};
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

#[rustfmt::skip]
const TRIGGER: &[Column] = &[
    ("name", NAME), ("object_id", INT), ("parent_class", TINY), ("parent_class_desc", DESC), ("parent_id", INT), ("type", KIND),
    ("type_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("is_ms_shipped", BIT), ("is_disabled", BIT),
];

#[rustfmt::skip]
const EVENT: &[Column] = &[
    ("object_id", INT), ("type", INT), ("type_desc", DESC), ("is_first", BIT), ("is_last", BIT), ("event_group_type", INT),
    ("event_group_type_desc", DESC), ("is_trigger_event", BIT),
];

/// What triggers and event notifications have in common.
#[rustfmt::skip]
const ANY_EVENT: &[Column] = &[
    ("object_id", INT), ("type", INT), ("type_desc", DESC), ("is_trigger_event", BIT), ("event_group_type", INT),
    ("event_group_type_desc", DESC),
];

#[rustfmt::skip]
const EVENT_NOTIFICATION: &[Column] = &[
    ("name", NAME), ("object_id", INT), ("parent_class", TINY), ("parent_class_desc", DESC), ("parent_id", INT), ("create_date", DATE),
    ("modify_date", DATE), ("is_ms_shipped", BIT), ("service_name", SqlType::NVarChar(Length::Limited(256))), ("broker_instance", NAME), ("creator_sid", SID),
    ("principal_id", INT),
];

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "triggers", rows: triggers, columns: &super::joined::<13>(TRIGGER, &[
        ("is_not_for_replication", BIT), ("is_instead_of_trigger", BIT),
    ]) },
    SystemView { schema: "sys", name: "trigger_events", rows: trigger_events, columns: EVENT },
    SystemView { schema: "sys", name: "events", columns: ANY_EVENT, rows: events_here },
    SystemView { schema: "sys", name: "server_events", columns: ANY_EVENT, rows: events_of_server },
    SystemView { schema: "sys", name: "trigger_event_types", rows: event_types, columns: &[
        ("type", INT), ("type_name", DESC), ("parent_type", INT),
    ] },
    SystemView { schema: "sys", name: "event_notifications", columns: EVENT_NOTIFICATION, rows: |cx| notifications(cx, &notifications_here(cx)) },
    SystemView { schema: "sys", name: "server_event_notifications", columns: EVENT_NOTIFICATION, rows: |cx| notifications(cx, &notifications_of_server(cx)) },
    SystemView { schema: "sys", name: "event_notification_event_types", rows: notification_event_types, columns: &[
        ("type", INT), ("type_name", DESC), ("parent_type", INT),
    ] },
    SystemView { schema: "sys", name: "server_triggers", rows: server_triggers, columns: TRIGGER },
    SystemView { schema: "sys", name: "server_trigger_events", rows: server_trigger_events, columns: EVENT },
    SystemView { schema: "sys", name: "server_sql_modules", rows: server_sql_modules, columns: &[
        ("object_id", INT), ("definition", TEXT), ("uses_ansi_nulls", BIT), ("uses_quoted_identifier", BIT), ("execute_as_principal_id", INT),
    ] },
];

/// The server's triggers.
fn of_server(cx: &ViewContext<'_>) -> Vec<Arc<ModuleDef>> {
    let Some(master) = cx.info.find_database("master") else { return Vec::new() };
    cx.info.picture(&master).event_triggers(SERVER_TRIGGERS).cloned().collect()
}

fn head(m: &ModuleDef) -> Vec<Value> {
    let (class, name) = match m.schema_id {
        SERVER_TRIGGERS => (100, "SERVER"),
        DATABASE_TRIGGERS => (0, "DATABASE"),
        _ => (1, "OBJECT_OR_COLUMN"),
    };
    let disabled = m.trigger.is_some_and(|t| t.disabled);
    let mut row = vec![text(m.name.as_str()), int(m.object_id), int(class), text(name), int(m.parent)];
    row.extend([
        text("TR"),
        text("SQL_TRIGGER"),
        date(m.created),
        date(m.modified),
        bit(false),
        bit(disabled),
    ]);
    row
}

fn triggers(cx: &ViewContext<'_>) -> Rows {
    let row = |m: &Arc<ModuleDef>| {
        let mut row = head(m);
        row.extend([
            bit(crate::modules::not_for_replication(m)),
            bit(m.trigger.is_some_and(|t| t.instead_of)),
        ]);
        row
    };
    let here = |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.schema_id != SERVER_TRIGGERS;
    cx.picture.modules().filter(here).map(row).collect()
}

fn server_triggers(cx: &ViewContext<'_>) -> Rows {
    of_server(cx).iter().map(|m| head(m)).collect()
}

fn trigger_events(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for m in cx.picture.modules().filter(|m| m.schema_id != SERVER_TRIGGERS) {
        let Some(t) = m.trigger else { continue };
        for (on, number, name, first, last) in [
            (t.on_insert, 1, "INSERT", t.first.insert, t.last.insert),
            (t.on_update, 2, "UPDATE", t.first.update, t.last.update),
            (t.on_delete, 3, "DELETE", t.first.delete, t.last.delete),
        ] {
            if on {
                let mut row = vec![int(m.object_id), int(number), text(name)];
                row.extend([bit(first), bit(last), NULL, NULL, bit(true)]);
                rows.push(row);
            }
        }
        rows.extend(m.events.iter().flat_map(|e| events(m, e)));
    }
    rows
}

fn server_trigger_events(cx: &ViewContext<'_>) -> Rows {
    let triggers = of_server(cx);
    triggers.iter().flat_map(|m| m.events.iter().flat_map(|e| events(m, e))).collect()
}

/// Events of triggers as `sys.events` has them, which knows nothing of first and last.
fn without_order(events: Rows) -> Rows {
    let short = |mut row: Vec<Value>| {
        let of_trigger = row.pop();
        row.drain(3..5);
        row.splice(3..3, of_trigger);
        row
    };
    events.into_iter().map(short).collect()
}

/// The events of a trigger: those of the groups it names one by one, with the group.
fn events(m: &ModuleDef, e: &EventTriggerDef) -> Rows {
    let has = |names: &[String], event: &str| bit(names.iter().any(|n| n == event));
    let row = |number: i32, name: &'static str, group: Option<&EventType>| {
        let group = group.filter(|g| g.is_group());
        let mut row =
            vec![int(m.object_id), int(number), text(name), has(&e.first, name), has(&e.last, name)];
        row.extend([group.map_or(NULL, |g| int(g.number)), group.map_or(NULL, |g| text(g.name)), bit(true)]);
        row
    };
    let mut rows = Vec::new();
    for name in &e.events {
        match event_types::named(name) {
            Some(named) => rows.extend(named.events().map(|t| row(t.number, t.name, Some(named)))),
            None => rows.push(row(event_types::LOGON_NUMBER, event_types::LOGON, None)),
        }
    }
    rows
}

fn event_types(_: &ViewContext<'_>) -> Rows {
    let parent = |t: &EventType| if t.parent == 0 { NULL } else { int(t.parent) };
    event_types::ALL.iter().map(|t| vec![int(t.number), text(t.name), parent(t)]).collect()
}

fn server_sql_modules(cx: &ViewContext<'_>) -> Rows {
    let row = |m: &Arc<ModuleDef>| {
        let as_whom = m.execute_as.map_or(NULL, int);
        vec![int(m.object_id), text(m.text.as_str()), bit(m.ansi_nulls), bit(m.quoted_identifier), as_whom]
    };
    of_server(cx).iter().map(row).collect()
}

type Notifications = Vec<Arc<EventNotificationDef>>;

/// The notifications of the database and its queues.
fn notifications_here(cx: &ViewContext<'_>) -> Notifications {
    cx.picture.event_notifications().filter(|n| n.on != On::Server).cloned().collect()
}

/// Those of the server.
fn notifications_of_server(cx: &ViewContext<'_>) -> Notifications {
    let Some(master) = cx.info.find_database("master") else { return Vec::new() };
    let picture = cx.info.picture(&master);
    picture.event_notifications().filter(|n| n.on == On::Server).cloned().collect()
}

fn notifications(_: &ViewContext<'_>, all: &[Arc<EventNotificationDef>]) -> Rows {
    let row = |n: &Arc<EventNotificationDef>| {
        let (class, class_name, parent) = n.on.parent();
        let mut row = vec![text(n.name.as_str()), int(n.id), int(class), text(class_name), int(parent)];
        row.extend([date(n.created), date(n.created), bit(false), text(n.service.as_str())]);
        row.extend([text(n.broker.as_str()), Value::bytes(n.sid.clone()), int(n.owner)]);
        row
    };
    all.iter().map(row).collect()
}

fn events_here(cx: &ViewContext<'_>) -> Rows {
    let mut rows = without_order(trigger_events(cx));
    rows.extend(notifications_here(cx).iter().flat_map(|n| events_of(n)));
    rows
}

fn events_of_server(cx: &ViewContext<'_>) -> Rows {
    let mut rows = without_order(server_trigger_events(cx));
    rows.extend(notifications_of_server(cx).iter().flat_map(|n| events_of(n)));
    rows
}

/// The events of a notification, one by one, with the groups that it names.
fn events_of(n: &EventNotificationDef) -> Rows {
    let row = |ty: &EventType, group: Option<&EventType>| {
        let mut row = vec![int(n.id), int(ty.number), text(ty.name), bit(false)];
        row.extend([group.map_or(NULL, |g| int(g.number)), group.map_or(NULL, |g| text(g.name))]);
        row
    };
    let mut rows = Rows::new();
    for name in &n.events {
        if let Some(known) = event_types::named(name) {
            rows.extend(known.events().map(|ty| row(ty, known.is_group().then_some(known))));
        }
        let of_group = types::group(name).unwrap_or_default();
        let raised = |r| types::named(name) == Some(r) || of_group.contains(&r);
        rows.extend(types::TYPES.iter().filter(|(r, _)| raised(*r)).map(|(_, ty)| row(ty, None)));
    }
    rows
}

fn notification_event_types(cx: &ViewContext<'_>) -> Rows {
    let mut rows = event_types(cx);
    rows.extend(types::TYPES.iter().map(|(_, ty)| vec![int(ty.number), text(ty.name), NULL]));
    rows
}
