//! Service Broker: its objects, its conversations, and what waits or runs.

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, KIND, NAME, NULL, SID, SMALL, SystemView, TINY, ViewContext,
    bit, date, int, text,
};
use crate::broker::definition::{MessageTypeDef, QueueDef, ValidationDef};
use crate::broker::guid_text;
use crate::broker::store::{self, Endpoint, State};
use crate::map::txn_error;
use crate::notify::registry::Subscription;
use keel_node::{Isolation, Transaction, TxnError};
use keel_query::queue;
use keel_types::{Length, SqlType, Value};
use std::collections::BTreeMap;

type Rows = Vec<Vec<Value>>;

const fn chars(n: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(n))
}

const fn view(
    name: &'static str,
    rows: fn(&ViewContext<'_>) -> Rows,
    columns: &'static [Column],
) -> SystemView {
    SystemView { schema: "sys", name, columns, rows }
}

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("service_message_types", message_types, &[
        ("name", NAME), ("message_type_id", INT), ("principal_id", INT), ("validation", SqlType::Char(2)), ("validation_desc", DESC),
        ("xml_collection_id", INT),
    ]),
    view("service_contracts", contracts, &[("name", NAME), ("service_contract_id", INT), ("principal_id", INT)]),
    view("service_contract_message_usages", contract_messages, &[
        ("service_contract_id", INT), ("message_type_id", INT), ("is_sent_by_initiator", BIT), ("is_sent_by_target", BIT),
    ]),
    view("service_queues", queues, &[
        ("name", NAME), ("object_id", INT), ("principal_id", INT), ("schema_id", INT), ("parent_object_id", INT),
        ("type", KIND), ("type_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("is_ms_shipped", BIT),
        ("is_published", BIT), ("is_schema_published", BIT), ("max_readers", SMALL),
        ("activation_procedure", chars(776)), ("execute_as_principal_id", INT), ("is_activation_enabled", BIT),
        ("is_receive_enabled", BIT), ("is_enqueue_enabled", BIT), ("is_retention_enabled", BIT),
        ("is_poison_message_handling_enabled", BIT),
    ]),
    view("services", services, &[("name", NAME), ("service_id", INT), ("principal_id", INT), ("service_queue_id", INT)]),
    view("service_contract_usages", contract_usages, &[("service_id", INT), ("service_contract_id", INT)]),
    view("service_queue_usages", queue_usages, &[("service_id", INT), ("service_queue_id", INT)]),
    view("routes", routes, &[
        ("name", NAME), ("route_id", INT), ("principal_id", INT), ("remote_service_name", chars(256)), ("broker_instance", NAME),
        ("lifetime", DATE), ("address", chars(256)), ("mirror_address", chars(256)),
    ]),
    view("conversation_groups", groups, &[("conversation_group_id", GUID), ("service_id", INT), ("is_system", BIT)]),
    view("conversation_endpoints", endpoints, &[
        ("conversation_handle", GUID), ("conversation_id", GUID), ("is_initiator", BIT), ("service_contract_id", INT),
        ("conversation_group_id", GUID), ("service_id", INT), ("lifetime", DATE), ("state", SqlType::Char(2)), ("state_desc", DESC),
        ("far_service", chars(256)), ("far_broker_instance", NAME), ("principal_id", INT), ("far_principal_id", INT),
        ("outbound_session_key_identifier", GUID), ("inbound_session_key_identifier", GUID), ("security_timestamp", DATE),
        ("dialog_timer", DATE), ("send_sequence", BIG), ("last_send_tran_id", SqlType::Binary(6)), ("end_dialog_sequence", BIG),
        ("receive_sequence", BIG), ("receive_sequence_frag", INT), ("system_sequence", BIG), ("first_out_of_order_sequence", BIG),
        ("last_out_of_order_sequence", BIG), ("last_out_of_order_frag", INT), ("is_system", BIT), ("priority", TINY),
    ]),
    view("transmission_queue", waiting, &[
        ("conversation_handle", GUID), ("to_service_name", chars(256)), ("to_broker_instance", NAME), ("from_service_name", chars(256)),
        ("service_contract_name", chars(256)), ("enqueue_time", DATE), ("message_sequence_number", BIG), ("message_type_name", chars(256)),
        ("is_conversation_error", BIT), ("is_end_of_dialog", BIT), ("message_body", SqlType::VarBinary(Length::Max)),
        ("transmission_status", chars(4000)), ("priority", TINY),
    ]),
    view("dm_qn_subscriptions", subscriptions, &[
        ("id", INT), ("database_id", INT), ("sid", SID), ("object_id", INT), ("created", DATE), ("timeout", INT), ("status", INT),
    ]),
    view("dm_broker_activated_tasks", tasks, &[
        ("spid", INT), ("database_id", SMALL), ("queue_id", INT), ("procedure_name", chars(650)), ("execute_as", INT),
    ]),
    view("dm_broker_queue_monitors", monitors, &[
        ("database_id", INT), ("queue_id", INT), ("state", chars(32)), ("last_empty_rowset_time", DATE),
        ("last_activated_time", DATE), ("tasks_waiting", INT),
    ]),
];

/// `priority` of conversations.
const PRIORITY: i64 = 5;
/// The longest LIFETIME, as it is shown: 2147483647 seconds after its beginning is beyond what matters.
const ENDLESS: i64 = 3_155_378_975_999_970_000;

fn message_types(cx: &ViewContext<'_>) -> Rows {
    let row = |d: &MessageTypeDef| {
        let (code, name, collection) = match d.validation {
            ValidationDef::None => ("N ", "BINARY", NULL),
            ValidationDef::Empty => ("E ", "EMPTY", NULL),
            ValidationDef::WellFormedXml => ("X ", "XML", NULL),
            ValidationDef::ValidXml(id) => ("X ", "XML", int(id)),
        };
        vec![text(d.name.as_str()), int(d.id), int(d.owner), text(code), text(name), collection]
    };
    cx.picture.message_types().map(|d| row(d)).collect()
}

fn contracts(cx: &ViewContext<'_>) -> Rows {
    cx.picture.contracts().map(|d| vec![text(d.name.as_str()), int(d.id), int(d.owner)]).collect()
}

fn contract_messages(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for contract in cx.picture.contracts() {
        rows.extend(
            contract
                .messages
                .iter()
                .map(|m| vec![int(contract.id), int(m.message_type), bit(m.by_initiator), bit(m.by_target)]),
        );
    }
    rows
}

fn queues(cx: &ViewContext<'_>) -> Rows {
    let row = |q: &QueueDef| {
        let activation = q.activation.as_ref();
        let mut row = vec![text(q.name.as_str()), int(q.object_id), NULL, int(q.schema_id), int(0)];
        row.extend([text("SQ"), text("SERVICE_QUEUE"), date(q.created), date(q.modified)]);
        row.extend([bit(false), bit(false), bit(false)]);
        row.extend([
            activation.map_or(int(0), |a| int(a.max_readers)),
            activation.map_or(NULL, |a| text(a.procedure.as_str())),
            activation.map_or(NULL, |a| int(a.execute_as)),
            bit(activation.is_some_and(|a| a.enabled)),
        ]);
        row.extend([bit(q.enabled), bit(q.enabled), bit(q.retention), bit(q.poison_handling)]);
        row
    };
    cx.picture.queues().map(|q| row(q)).collect()
}

fn services(cx: &ViewContext<'_>) -> Rows {
    let all = cx.picture.services();
    all.map(|d| vec![text(d.name.as_str()), int(d.id), int(d.owner), int(d.queue)]).collect()
}

fn contract_usages(cx: &ViewContext<'_>) -> Rows {
    let all = cx.picture.services();
    all.flat_map(|d| d.contracts.iter().map(|c| vec![int(d.id), int(*c)])).collect()
}

fn queue_usages(cx: &ViewContext<'_>) -> Rows {
    cx.picture.services().map(|d| vec![int(d.id), int(d.queue)]).collect()
}

fn routes(cx: &ViewContext<'_>) -> Rows {
    let or_null = |s: &Option<String>| s.as_deref().map_or(NULL, text);
    let all = cx.picture.routes();
    all.map(|d| {
        let head = [
            text(d.name.as_str()),
            int(d.id),
            int(d.owner),
            or_null(&d.service),
            or_null(&d.broker_instance),
        ];
        [&head[..], &[d.lifetime.map_or(NULL, date), text("LOCAL"), NULL]].concat()
    })
    .collect()
}

/// Reads the broker's rows; when they cannot be, the query fails.
fn read<T: Default>(cx: &ViewContext<'_>, what: impl FnOnce(&mut Transaction) -> Result<T, TxnError>) -> T {
    if !cx.entry.picture().has_queues() && !cx.engine.subscriptions.is_sending(cx.entry.id) {
        return T::default();
    }
    let mut txn = cx.entry.store.begin(Isolation::ReadCommitted);
    let found = what(&mut txn);
    txn.rollback();
    found.unwrap_or_else(|e| {
        cx.fail(txn_error(e, &cx.entry.name(), 0));
        T::default()
    })
}

/// Endpoints that the session's user sees, with their states as their queues say.
fn seen(cx: &ViewContext<'_>) -> Vec<(Endpoint, State)> {
    read(cx, |txn| {
        let view = txn.view_as(Isolation::ReadCommitted);
        let mut found = Vec::new();
        for e in store::endpoints(txn)? {
            let Some(service) = cx.picture.service(e.service) else { continue };
            let mut state = e.state;
            if let Some(queue) = cx.picture.queue(service.queue).filter(|_| state.is_open()) {
                state = match queue::last_type(txn, &view, &queue.rows, &e.group, &e.handle)? {
                    Some(crate::broker::definition::END_DIALOG) => State::DisconnectedInbound,
                    Some(crate::broker::definition::ERROR) => State::Error,
                    _ => state,
                };
            }
            found.push((e, state));
        }
        Ok(found)
    })
}

fn groups(cx: &ViewContext<'_>) -> Rows {
    let all: BTreeMap<_, _> = seen(cx).into_iter().map(|(e, _)| (e.group, e.service)).collect();
    all.into_iter().map(|(group, service)| vec![Value::Guid(group), int(service), bit(false)]).collect()
}

fn endpoints(cx: &ViewContext<'_>) -> Rows {
    let row = |(e, state): (Endpoint, State)| {
        let (code, name) = state.shown();
        let mut row =
            vec![Value::Guid(e.handle), Value::Guid(e.conversation), bit(e.initiator), int(e.contract)];
        row.extend([Value::Guid(e.group), int(e.service), date(e.lifetime.unwrap_or(ENDLESS))]);
        row.extend([text(code), text(name), text(e.far_service.as_str())]);
        row.push(e.far_broker.map_or(NULL, |id| text(guid_text(&id))));
        let none = Value::Guid([0; 16]);
        row.extend([int(e.owner), int(-1), none.clone(), none, date(e.lifetime.unwrap_or(ENDLESS))]);
        row.extend([e.timer.map_or(NULL, date), int(e.sent), Value::bytes(vec![0; 6]), int(-1)]);
        row.extend([int(e.received), int(0), int(0), int(-1), int(-1), int(0), bit(false), int(PRIORITY)]);
        row
    };
    seen(cx).into_iter().map(row).collect()
}

fn waiting(cx: &ViewContext<'_>) -> Rows {
    let found = read(cx, |txn| {
        let mut found = Vec::new();
        for waiting in store::all_waiting(txn)? {
            if let Some(e) = store::endpoint(txn, &waiting.handle)? {
                found.push((e, waiting));
            }
        }
        Ok(found)
    });
    let mut rows = Rows::new();
    for (e, w) in found {
        let Some(service) = cx.picture.service(e.service) else { continue };
        let contract = cx.picture.contract(e.contract).map_or(NULL, |c| text(c.name.as_str()));
        let broker = e.far_broker.map(|id| guid_text(&id)).or(e.wanted_broker);
        let failed = w.message_type.ends_with("/ServiceBroker/Error");
        let ended = w.message_type.ends_with("/ServiceBroker/EndDialog");
        let mut row = vec![Value::Guid(e.handle), text(e.far_service.as_str()), broker.map_or(NULL, text)];
        row.extend([text(service.name.as_str()), contract, date(w.enqueued), int(w.sequence)]);
        row.extend([text(w.message_type.as_str()), bit(failed), bit(ended || failed)]);
        row.extend([w.body.map_or(NULL, Value::Bytes), text(w.status.as_str()), int(PRIORITY)]);
        rows.push(row);
    }
    rows
}

fn subscriptions(cx: &ViewContext<'_>) -> Rows {
    let row = |(database, s): (keel_base::DatabaseId, std::sync::Arc<Subscription>)| {
        let table = s.watches.first().map_or(0, |(table, _)| table.object_id);
        let s = &s.stored;
        let mut row = vec![Value::Int(i64::try_from(s.id).unwrap_or(i64::MAX)), int(database.0)];
        row.extend([Value::bytes(s.sid.clone()), int(table), date(s.created), int(s.timeout), int(0)]);
        row
    };
    cx.engine.subscriptions.all().into_iter().map(row).collect()
}

fn tasks(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for ((database, queue), watched) in cx.engine.broker.queues() {
        let running = watched.with(|seen| seen.tasks.clone());
        rows.extend(running.iter().map(|task| {
            vec![
                int(task.session),
                int(database.0),
                int(queue),
                text(task.procedure.as_str()),
                int(task.execute_as),
            ]
        }));
    }
    rows
}

fn monitors(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for entry in cx.engine.databases() {
        let picture = entry.picture();
        let active =
            |q: &&std::sync::Arc<QueueDef>| q.enabled && q.activation.as_ref().is_some_and(|a| a.enabled);
        for queue in picture.queues().filter(active) {
            let watched = cx.engine.broker.queue((entry.id, queue.object_id));
            let or_null = |at: Option<i64>| at.map_or(NULL, date);
            rows.push(watched.with(|seen| {
                let state = match (seen.tasks.is_empty() && seen.starting == 0, seen.again) {
                    (false, _) => "RECEIVES_OCCURRING",
                    (true, Some(_)) => "NOTIFIED",
                    (true, None) => "INACTIVE",
                };
                vec![
                    int(entry.id.0),
                    int(queue.object_id),
                    text(state),
                    or_null(seen.empty_at),
                    or_null(seen.activated_at),
                    int(seen.waiting),
                ]
            }));
        }
    }
    rows
}
