//! The messages of a queue of Service Broker, as rows of a table that nothing but the broker changes.
//!
//! ```text
//!   clustered   group, priority downwards, order → message       what one RECEIVE takes: a group's messages
//!   second      priority downwards, order → the clustered key    whose turn it is
//! ```
//!
//! Everybody else reads it like any table, as SELECT does. Who puts messages in or takes them out holds the lock of their conversation
//! group, or has just made the conversation: see `keel_sql::broker`.

use crate::capture::{insert, stored_row};
use crate::catalog::{ColumnDef, IndexColumn, IndexDef, IndexKind, ObjectId, TableDef};
use keel_base::{DatabaseId, TreeId};
use keel_node::{Direction, ReadView, Transaction, TxnError};
use keel_store::row;
use keel_types::key::{self, KeyColumn};
use keel_types::{Collation, Length, SqlType, Value, column};
use smol_str::SmolStr;
use std::ops::Bound;
use std::sync::Arc;

/// An id of a conversation or of a group of them.
pub type Guid = [u8; 16];

/// The columns of a queue.
pub const COLUMNS: [(&str, SqlType); 15] = [
    ("status", SqlType::TinyInt),
    ("priority", SqlType::TinyInt),
    ("queuing_order", SqlType::BigInt),
    ("conversation_group_id", SqlType::UniqueIdentifier),
    ("conversation_handle", SqlType::UniqueIdentifier),
    ("message_sequence_number", SqlType::BigInt),
    ("service_name", SqlType::NVarChar(Length::Limited(512))),
    ("service_id", SqlType::Int),
    ("service_contract_name", SqlType::NVarChar(Length::Limited(256))),
    ("service_contract_id", SqlType::Int),
    ("message_type_name", SqlType::NVarChar(Length::Limited(256))),
    ("message_type_id", SqlType::Int),
    ("validation", SqlType::NChar(2)),
    ("message_body", SqlType::VarBinary(Length::Max)),
    ("message_enqueue_time", SqlType::DateTime),
];

/// Positions of the columns by which messages are found.
const STATUS: usize = 0;
const PRIORITY: usize = 1;
const ORDER: usize = 2;
const GROUP: usize = 3;
const HANDLE: usize = 4;

/// `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageStatus {
    /// It was received, and is kept: RETENTION.
    Received = 0,
    /// It waits.
    Ready = 1,
    /// It was sent from here, and is kept: RETENTION.
    Sent = 3,
}

impl MessageStatus {
    fn of(number: i64) -> MessageStatus {
        match number {
            1 => MessageStatus::Ready,
            3 => MessageStatus::Sent,
            _ => MessageStatus::Received,
        }
    }
}

/// A message in a queue.
#[derive(Clone, Debug)]
pub struct Message {
    /// What became of it.
    pub status: MessageStatus,
    /// `priority`, 5 when nobody says otherwise.
    pub priority: u8,
    /// Its place among all of the queue.
    pub order: i64,
    /// Its conversation's group.
    pub group: Guid,
    /// Its conversation, as this end knows it.
    pub handle: Guid,
    /// Its place in the conversation.
    pub sequence: i64,
    /// The service that it is for.
    pub service: (i32, SmolStr),
    /// The contract of its conversation.
    pub contract: (i32, SmolStr),
    /// Its type.
    pub message_type: (i32, SmolStr),
    /// How it was validated: E, N or X.
    pub validation: char,
    /// `None` when it has none.
    pub body: Option<Arc<[u8]>>,
    /// When it came, local ticks.
    pub enqueued: i64,
}

impl Message {
    /// Its columns.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let named = |(id, name): &(i32, SmolStr)| [Value::Str(name.clone()), Value::Int((*id).into())];
        let mut values = vec![
            Value::Int(self.status as i64),
            Value::Int(self.priority.into()),
            Value::Int(self.order),
            Value::Guid(self.group),
            Value::Guid(self.handle),
            Value::Int(self.sequence),
        ];
        values.extend([&self.service, &self.contract, &self.message_type].into_iter().flat_map(named));
        values.push(Value::str(format!("{} ", self.validation)));
        values.push(self.body.clone().map_or(Value::Null, Value::Bytes));
        values.push(Value::DateTime(keel_types::datetime::round_to_datetime(self.enqueued)));
        values
    }

    fn decode(stored: &[u8]) -> Message {
        let value = |at: usize| value(stored, at);
        let number = |at: usize| match value(at) {
            Value::Int(n) => n,
            _ => 0,
        };
        let text = |at: usize| match value(at) {
            Value::Str(text) => text,
            _ => SmolStr::default(),
        };
        let named = |at: usize| (i32::try_from(number(at + 1)).unwrap_or(0), text(at));
        Message {
            status: MessageStatus::of(number(STATUS)),
            priority: u8::try_from(number(PRIORITY)).unwrap_or(0),
            order: number(ORDER),
            group: guid(stored, GROUP),
            handle: guid(stored, HANDLE),
            sequence: number(5),
            service: named(6),
            contract: named(8),
            message_type: named(10),
            validation: text(12).chars().next().unwrap_or('N'),
            body: match value(13) {
                Value::Bytes(bytes) => Some(bytes),
                _ => None,
            },
            enqueued: match value(14) {
                Value::DateTime(ticks) => ticks,
                _ => 0,
            },
        }
    }

    fn key(&self) -> Vec<u8> {
        let mut key = group_key(&self.group);
        self.append_turn(&mut key);
        key
    }

    fn append_turn(&self, key: &mut Vec<u8>) {
        key::append(key, &Value::Int(self.priority.into()), &part(PRIORITY));
        key::append(key, &Value::Int(self.order), &part(ORDER));
    }
}

/// How a column stands in keys.
fn part(at: usize) -> KeyColumn {
    KeyColumn { ty: COLUMNS[at].1, collation: Collation::default(), descending: at == PRIORITY }
}

fn group_key(group: &Guid) -> Vec<u8> {
    let mut key = Vec::new();
    key::append(&mut key, &Value::Guid(*group), &part(GROUP));
    key
}

fn value(stored: &[u8], at: usize) -> Value {
    row::column(stored, at).map_or(Value::Null, |bytes| column::decode(bytes, &COLUMNS[at].1))
}

fn status(stored: &[u8]) -> MessageStatus {
    match value(stored, STATUS) {
        Value::Int(n) => MessageStatus::of(n),
        _ => MessageStatus::Received,
    }
}

fn guid(stored: &[u8], at: usize) -> Guid {
    match value(stored, at) {
        Value::Guid(guid) => guid,
        _ => [0; 16],
    }
}

/// The table of a new queue, with the queue's name and number.
#[must_use]
pub fn table(
    database: DatabaseId,
    (object_id, schema_id, name): (ObjectId, i32, &str),
    collation: Collation,
    trees: [TreeId; 2],
    now: i64,
) -> TableDef {
    let column = |(at, (name, ty)): (usize, &(&str, SqlType))| ColumnDef {
        collation,
        nullable: at == 13,
        ..ColumnDef::plain(at, *name, *ty)
    };
    let columns: Vec<ColumnDef> = COLUMNS.iter().enumerate().map(column).collect();
    let on = |at: usize| IndexColumn { column_id: at as i32 + 1, descending: at == PRIORITY };
    let index = |index_id: i32, name: &str, kind, key: &[usize]| {
        let (tree, key) = (trees[usize::from(index_id != 1)], key.iter().map(|at| on(*at)).collect());
        IndexDef { unique: true, ..IndexDef::plain(index_id, tree, name, kind, key) }
    };
    let clustered = index(1, "queue_clustered_index", IndexKind::Clustered, &[GROUP, PRIORITY, ORDER]);
    let second = index(2, "queue_secondary_index", IndexKind::Nonclustered, &[PRIORITY, ORDER]);
    TableDef {
        indexes: vec![clustered, second],
        no_auto_statistics: true,
        queue: true,
        ..TableDef::plain(database, object_id, schema_id, name, columns, now)
    }
}

/// Puts a message in.
pub fn put(txn: &mut Transaction, queue: &TableDef, message: &Message) -> Result<(), TxnError> {
    insert(txn, queue, &stored_row(queue, &message.values()))
}

/// Takes a message out. The caller has seen that it is there.
pub fn remove(txn: &mut Transaction, queue: &TableDef, message: &Message) -> Result<(), TxnError> {
    let mut turn = Vec::new();
    message.append_turn(&mut turn);
    txn.delete(queue.indexes[0].tree, &message.key())?;
    txn.delete(queue.indexes[1].tree, &turn)
}

/// Writes a message's status. The caller has seen that it is there.
pub fn mark(txn: &mut Transaction, queue: &TableDef, message: &Message) -> Result<(), TxnError> {
    let stored = stored_row(queue, &message.values());
    txn.update(queue.indexes[0].tree, &message.key(), &stored, None)
}

/// Whether a message that a snapshot has shown is there still, to whoever holds its group's lock.
pub fn is_there(txn: &mut Transaction, queue: &TableDef, message: &Message) -> Result<bool, TxnError> {
    let stored = txn.get_latest(queue.indexes[0].tree, &message.key())?;
    Ok(stored.is_some_and(|stored| status(&stored) == message.status))
}

/// The messages of a group, in the order in which they are received; `wanted` looks at status and conversation, and says whether the
/// message is one, and `false` beside it to stop.
pub fn of_group(
    txn: &Transaction,
    view: &ReadView,
    queue: &TableDef,
    group: &Guid,
    mut wanted: impl FnMut(MessageStatus, &Guid) -> (bool, bool),
) -> Result<Vec<Message>, TxnError> {
    let from = group_key(group);
    let to = key::successor(&from);
    let to = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let tree = queue.indexes[0].tree;
    let mut cursor = txn.scan(view, tree, Bound::Included(&from), to, Direction::Forward)?;
    let mut found = Vec::new();
    while let Some((_, stored)) = cursor.next()? {
        let (is_one, goes_on) = wanted(status(&stored), &guid(&stored, HANDLE));
        if is_one {
            found.push(Message::decode(&stored));
        }
        if !goes_on {
            break;
        }
    }
    Ok(found)
}

/// All messages of a queue, group by group.
pub fn all(txn: &Transaction, view: &ReadView, queue: &TableDef) -> Result<Vec<Message>, TxnError> {
    let (tree, no_end) = (queue.indexes[0].tree, Bound::Unbounded);
    let mut cursor = txn.scan(view, tree, no_end, no_end, Direction::Forward)?;
    let mut found = Vec::new();
    while let Some((_, stored)) = cursor.next()? {
        found.push(Message::decode(&stored));
    }
    Ok(found)
}

/// The groups with messages that wait, by whose turn it is, from behind a place on; each once for a run of its messages. Gives the first that
/// `takes` says yes to.
pub fn next_group(
    txn: &mut Transaction,
    view: &ReadView,
    queue: &TableDef,
    mut takes: impl FnMut(&mut Transaction, &Guid) -> Result<bool, TxnError>,
) -> Result<Option<Guid>, TxnError> {
    let no_end = Bound::Unbounded;
    let mut last: Vec<u8> = Vec::new();
    loop {
        // So many at a time: whoever is asked needs the transaction.
        let mut turns = Vec::new();
        {
            let from = if last.is_empty() { no_end } else { Bound::Excluded(&last[..]) };
            let mut cursor = txn.scan(view, queue.indexes[1].tree, from, no_end, Direction::Forward)?;
            while turns.len() < TURNS_MAX
                && let Some((turn, entry)) = cursor.next()?
            {
                let place = row::column(&entry, row::count(&entry).saturating_sub(1));
                turns.push((turn.to_vec(), place.map(<[u8]>::to_vec).unwrap_or_default()));
            }
        }
        let Some((turn, _)) = turns.last() else { return Ok(None) };
        last.clone_from(turn);
        for (_, place) in turns {
            let Some(stored) = txn.get(view, queue.indexes[0].tree, &place)? else { continue };
            if status(&stored) != MessageStatus::Ready {
                continue;
            }
            let group = guid(&stored, GROUP);
            if takes(txn, &group)? {
                return Ok(Some(group));
            }
        }
    }
}

/// Turns that are read before anybody is asked.
const TURNS_MAX: usize = 32;

/// The type of a conversation's last message that waits; `None` without one.
pub fn last_type(
    txn: &Transaction,
    view: &ReadView,
    queue: &TableDef,
    group: &Guid,
    handle: &Guid,
) -> Result<Option<i32>, TxnError> {
    let from = group_key(group);
    let to = key::successor(&from);
    let to = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let tree = queue.indexes[0].tree;
    let mut cursor = txn.scan(view, tree, Bound::Included(&from), to, Direction::Reverse)?;
    while let Some((_, stored)) = cursor.next()? {
        if guid(&stored, HANDLE) == *handle && status(&stored) == MessageStatus::Ready {
            return Ok(match value(&stored, 11) {
                Value::Int(id) => i32::try_from(id).ok(),
                _ => None,
            });
        }
    }
    Ok(None)
}
