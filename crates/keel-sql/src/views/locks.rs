//! Locks and transactions.

use super::{BIG, BIT, Column, DATE, DESC, INT, NULL, SMALL, SystemView, ViewContext, bit, date, int, text};
use crate::distributed::{Doubt, Uow};
use crate::engine::SessionShared;
use hashbrown::HashMap;
use keel_store::lock::RequestStatus;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

type Rows = Vec<Vec<Value>>;

const LOCK: &[Column] = &[
    ("resource_type", DESC),
    ("resource_subtype", DESC),
    ("resource_database_id", INT),
    ("resource_description", SqlType::NVarChar(Length::Limited(256))),
    ("resource_associated_entity_id", BIG),
    ("resource_lock_partition", INT),
    ("request_mode", DESC),
    ("request_type", DESC),
    ("request_status", DESC),
    ("request_reference_count", SMALL),
    ("request_lifetime", INT),
    ("request_session_id", INT),
    ("request_exec_context_id", INT),
    ("request_request_id", INT),
    ("request_owner_type", DESC),
    ("request_owner_id", BIG),
    ("request_owner_guid", super::GUID),
    ("request_owner_lockspace_id", SqlType::NVarChar(Length::Limited(32))),
    ("lock_owner_address", SqlType::VarBinary(Length::Limited(8))),
];

const ACTIVE: &[Column] = &[
    ("transaction_id", BIG),
    ("name", SqlType::NVarChar(Length::Limited(32))),
    ("transaction_begin_time", DATE),
    ("transaction_type", INT),
    ("transaction_uow", super::GUID),
    ("transaction_state", INT),
    ("transaction_status", INT),
    ("transaction_status2", INT),
    ("dtc_state", INT),
    ("dtc_status", INT),
    ("dtc_isolation_level", INT),
    ("filestream_transaction_id", SqlType::VarBinary(Length::Limited(128))),
];

const OF_SESSION: &[Column] = &[
    ("session_id", INT),
    ("transaction_id", BIG),
    ("transaction_descriptor", SqlType::Binary(8)),
    ("enlist_count", INT),
    ("is_user_transaction", BIT),
    ("is_local", BIT),
    ("is_enlisted", BIT),
    ("is_bound", BIT),
    ("open_transaction_count", INT),
];

const OF_DATABASE: &[Column] = &[
    ("transaction_id", BIG),
    ("database_id", INT),
    ("database_transaction_begin_time", DATE),
    ("database_transaction_type", INT),
    ("database_transaction_state", INT),
    ("database_transaction_status", INT),
    ("database_transaction_status2", INT),
    ("database_transaction_log_record_count", BIG),
    ("database_transaction_log_bytes_used", BIG),
    ("database_transaction_log_bytes_reserved", BIG),
    ("database_transaction_begin_lsn", SqlType::Decimal { precision: 25, scale: 0 }),
    ("database_transaction_commit_lsn", SqlType::Decimal { precision: 25, scale: 0 }),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_tran_locks", columns: LOCK, rows: locks },
    SystemView { schema: "sys", name: "dm_tran_active_transactions", columns: ACTIVE, rows: active },
    SystemView {
        schema: "sys",
        name: "dm_tran_session_transactions",
        columns: OF_SESSION,
        rows: of_sessions,
    },
    SystemView {
        schema: "sys",
        name: "dm_tran_database_transactions",
        columns: OF_DATABASE,
        rows: of_databases,
    },
    SystemView {
        schema: "sys",
        name: "dm_tran_current_transaction",
        columns: &[
            ("transaction_id", BIG),
            ("transaction_sequence_num", BIG),
            ("transaction_is_snapshot", BIT),
            ("first_snapshot_sequence_num", BIG),
            ("last_transaction_sequence_num", BIG),
            ("first_useful_sequence_num", BIG),
        ],
        rows: |cx| {
            let own = cx.info.shared.transaction_id.load(Ordering::Relaxed);
            vec![vec![int(own as i64), int(0), bit(false), NULL, int(0), int(0)]]
        },
    },
];

/// What `resource_associated_entity_id` names: the object, or for keys the heap or index (its tree).
fn entity(resource: &keel_store::lock::Resource<'_>) -> i64 {
    use keel_store::lock::Resource as R;
    match resource {
        R::Object(_, id) => i64::from(*id as i32),
        R::Key(_, tree, _) | R::Range(_, tree) => tree.0.into(),
        _ => 0,
    }
}

/// What the product shows as the session of a distributed transaction that none works in.
const NO_SESSION: i64 = -2;

/// The session that an agent of locks is, as views show it.
pub(super) fn session_of(agent: u64) -> i64 {
    u32::try_from(agent).map_or(NO_SESSION, i64::from)
}

/// The units of work of distributed transactions that no session works in, by the agent that their locks name.
fn orphans(cx: &ViewContext<'_>) -> HashMap<u64, Uow> {
    let mut found = HashMap::new();
    for branch in cx.engine.branches() {
        found.extend(branch.left().0.into_iter().map(|agent| (agent, branch.uow)));
    }
    found.extend(cx.engine.in_doubt().iter().map(|doubt| (doubt.info.agent, doubt.name.uow)));
    found
}

/// The rows of `dm_tran_locks`.
pub(super) fn locks(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    let orphans = orphans(cx);
    for lock in cx.engine.instance().locks().locks() {
        let resource = lock.resource.as_ref();
        let state = match lock.status {
            RequestStatus::Grant => "GRANT",
            RequestStatus::Wait => "WAIT",
            RequestStatus::Convert => "CONVERT",
        };
        let session = u32::try_from(lock.agent).ok().and_then(|id| cx.engine.sessions.get(id));
        let as_session = session.as_ref().is_some_and(|s| s.holds_app_lock_as_session(&lock.resource));
        let lock_session = session.clone();
        let (kind, owner) = match session {
            _ if as_session => ("SESSION", 0),
            Some(s) => ("TRANSACTION", transaction_id(&s)),
            None => ("TRANSACTION", lock.owner),
        };
        let (agent, uow) = match (orphans.get(&lock.agent), &lock_session) {
            (Some(uow), _) => (NO_SESSION, *uow),
            (None, Some(s)) => (session_of(lock.agent), s.uow.lock().unwrap_or_default()),
            (None, None) => (session_of(lock.agent), Uow::default()),
        };
        let mut row = vec![text(resource.type_name()), text(""), int(resource.database().0)];
        row.extend([
            text(resource.description()),
            int(entity(&resource)),
            int(0),
            text(lock.mode.to_string()),
        ]);
        row.extend([text("LOCK"), text(state), int(lock.count), int(0), int(agent), int(0), int(0)]);
        row.extend([text(kind), int(owner as i64), Value::Guid(uow)]);
        row.extend([
            text(format!("0x{:016x}:1:1", lock.owner)),
            Value::bytes(lock.owner.to_be_bytes().to_vec()),
        ]);
        rows.push(row);
    }
    // Every session holds its database against being dropped.
    for s in cx.engine.sessions.all() {
        let mut row = vec![text("DATABASE"), text(""), int(s.database.load(Ordering::Relaxed)), text("")];
        row.extend([
            int(0),
            int(0),
            text("S"),
            text("LOCK"),
            text("GRANT"),
            int(1),
            int(0),
            int(s.id),
            int(0),
            int(0),
        ]);
        row.extend([text("SHARED_TRANSACTION_WORKSPACE"), int(0), Value::Guid([0; 16]), text(""), NULL]);
        rows.push(row);
    }
    rows
}

pub(super) fn transaction_id(s: &SessionShared) -> u64 {
    s.transaction_id.load(Ordering::Relaxed)
}

pub(super) fn in_transaction(cx: &ViewContext<'_>) -> Vec<Arc<SessionShared>> {
    let mut all = cx.engine.sessions.all();
    all.retain(|s| s.transactions.load(Ordering::Relaxed) > 0);
    all
}

fn active(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &Arc<SessionShared>| {
        let began = date(s.transaction_began.load(Ordering::Relaxed));
        let name = s.transaction_name.lock().clone();
        let name = if name.is_empty() { "user_transaction" } else { name.as_str() };
        active_row(transaction_id(s), (name, began), *s.uow.lock(), ACTIVE_NOW)
    };
    let mut rows: Rows = in_transaction(cx).iter().map(row).collect();
    for branch in cx.engine.branches() {
        let (agents, _) = branch.left();
        if let Some(agent) = agents.first() {
            // The agent is its transaction's number, with a bit that no number has.
            let id = agent & !(1 << 63);
            rows.push(active_row(id, ("DTCXact", date(branch.began)), Some(branch.uow), ACTIVE_NOW));
        }
    }
    let mut told: Vec<Uow> = Vec::new();
    for doubt in cx.engine.in_doubt() {
        if !told.contains(&doubt.name.uow) {
            told.push(doubt.name.uow);
            let about = ("DTCXact", since(&doubt));
            rows.push(active_row(doubt.info.txn.0, about, Some(doubt.name.uow), PREPARED));
        }
    }
    rows
}

/// States of a transaction, and of a distributed one with its coordinator.
const ACTIVE_NOW: (i64, i64) = (2, 1);
const PREPARED: (i64, i64) = (5, 2);

fn active_row(id: u64, about: (&str, Value), uow: Option<Uow>, state: (i64, i64)) -> Vec<Value> {
    /// Read and write; distributed.
    const TYPES: [i64; 2] = [1, 4];
    let kind = TYPES[usize::from(uow.is_some())];
    let dtc = if uow.is_some() { state.1 } else { 0 };
    let mut row = vec![int(id as i64), text(about.0), about.1, int(kind), uow.map_or(NULL, Value::Guid)];
    row.extend([int(state.0), int(0), int(0), int(dtc), int(0), int(-1), NULL]);
    row
}

/// When a transaction in doubt was prepared, local time.
fn since(doubt: &Doubt) -> Value {
    date(crate::clock::unix_to_local_ticks(i128::from(doubt.info.since_us) * 1000))
}

fn of_sessions(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &Arc<SessionShared>| {
        let id = transaction_id(s);
        let mut row = vec![int(s.id), int(id as i64), Value::bytes(id.to_le_bytes().to_vec()), int(0)];
        let distributed = s.uow.lock().is_some();
        row.extend([
            bit(true),
            bit(!distributed),
            bit(s.enlisted.load(Ordering::Relaxed)),
            bit(false),
            int(s.transactions.load(Ordering::Relaxed)),
        ]);
        row
    };
    in_transaction(cx).iter().map(row).collect()
}

/// A row for each database in which an open transaction holds locks, and one for the current database of a transaction
/// that holds none.
fn of_databases(cx: &ViewContext<'_>) -> Rows {
    let mut used = std::collections::BTreeMap::new();
    for lock in cx.engine.instance().locks().locks() {
        used.insert((lock.agent, lock.resource.as_ref().database().0), lock.log_used);
    }
    let mut rows = Vec::new();
    for s in in_transaction(cx) {
        let agent = u64::from(s.id);
        let mut own: Vec<_> =
            used.range((agent, 0)..=(agent, u32::MAX)).map(|((_, d), n)| (*d, *n)).collect();
        if own.is_empty() {
            own.push((s.database.load(Ordering::Relaxed), 0));
        }
        rows.extend(own.into_iter().map(|(database, bytes)| of_database(&s, database, bytes)));
    }
    for doubt in cx.engine.in_doubt() {
        /// Prepared.
        const STATE: i64 = 5;
        let mut row =
            vec![int(doubt.info.txn.0 as i64), int(doubt.entry.id.0), since(&doubt), int(1), int(STATE)];
        row.extend([int(0), int(0), NULL, int(doubt.info.log_bytes as i64), int(0), NULL, NULL]);
        rows.push(row);
    }
    rows
}

fn of_database(s: &SessionShared, database: u32, log_bytes: u64) -> Vec<Value> {
    /// It has written log.
    const WROTE: i64 = 4;
    /// It is there and has not.
    const READ: i64 = 3;
    let began = date(s.transaction_began.load(Ordering::Relaxed));
    let state = if log_bytes > 0 { WROTE } else { READ };
    let kind = if log_bytes > 0 { 1 } else { 2 };
    let mut row =
        vec![int(transaction_id(s) as i64), int(database), began, int(kind), int(state), int(0), int(0)];
    row.extend([NULL, int(log_bytes as i64), int(0), NULL, NULL]);
    row
}
