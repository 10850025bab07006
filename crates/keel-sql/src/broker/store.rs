//! What a database keeps of its conversations: rows of one hidden tree, that nobody reaches by name.
//!
//! | key | row |
//! | --- | --- |
//! | `E` handle | the endpoint, as JSON |
//! | `C` conversation, 1 for its initiator | handle |
//! | `G` group, handle | nothing: who belongs to the group |
//! | `D` time, handle, kind | nothing: timers and lifetimes by when they end, UTC |
//! | `S` conversation, 1 from its initiator | number of the last message that came by a commit of its own |
//! | `T` handle, number | a message that waits to be delivered: JSON, and its body |
//! | `Q` id | a subscription to a query, as JSON ([`crate::notify`]) |
//!
//! The key `L` group has no row: its lock is the group's. Who holds it to the end of the transaction is the only one who reads and writes what the
//! conversations of the group are, so rows need no locks of their own.

use crate::notify::registry::Stored as Subscription;
use keel_base::TreeId;
use keel_node::{Direction, Isolation, LockMode, Transaction, TxnError};
use keel_query::queue::Guid;
use keel_store::row::{self, RowBuilder};
use serde::{Deserialize, Serialize};
use std::ops::Bound;
use std::sync::Arc;

/// See the module. Every database has it.
const TREE: TreeId = TreeId(3);

/// What kind of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    /// BEGIN CONVERSATION TIMER
    Timer = 1,
    /// LIFETIME
    Lifetime = 2,
}

/// `state` of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Begun, nothing sent yet.
    StartedOutbound,
    /// Messages go both ways.
    Conversing,
    /// It has ended, and the other end has not heard of it.
    DisconnectedOutbound,
    /// The other end has ended.
    DisconnectedInbound,
    /// The other end has failed.
    Error,
}

impl State {
    /// Two letters, and `state_desc`.
    pub fn shown(self) -> (&'static str, &'static str) {
        match self {
            State::StartedOutbound => ("SO", "STARTED_OUTBOUND"),
            State::Conversing => ("CO", "CONVERSING"),
            State::DisconnectedOutbound => ("DO", "DISCONNECTED_OUTBOUND"),
            State::DisconnectedInbound => ("DI", "DISCONNECTED_INBOUND"),
            State::Error => ("ER", "ERROR"),
        }
    }

    /// Whether messages may be sent.
    pub fn is_open(self) -> bool {
        matches!(self, State::StartedOutbound | State::Conversing)
    }
}

/// One end of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    /// `conversation_handle`
    pub handle: Guid,
    /// `conversation_id`, of both ends.
    pub conversation: Guid,
    /// This end has begun it.
    pub initiator: bool,
    /// `conversation_group_id`
    pub group: Guid,
    /// The service here.
    pub service: i32,
    /// The contract.
    pub contract: i32,
    /// When it ends by itself, UTC ticks; `None` where that is beyond all times.
    pub lifetime: Option<i64>,
    /// See [`State`].
    pub state: State,
    /// The other service.
    pub far_service: String,
    /// The broker that BEGIN DIALOG has asked for.
    pub wanted_broker: Option<String>,
    /// The broker of the other end, once it is known.
    pub far_broker: Option<Guid>,
    /// Who has begun it, or whose service it is.
    pub owner: i32,
    /// ENCRYPTION
    pub encrypted: bool,
    /// When the timer ends, UTC ticks.
    pub timer: Option<i64>,
    /// Number of the next message.
    pub sent: i64,
    /// Number of the next to be received.
    pub received: i64,
}

/// A message that waits to be delivered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    /// Whose.
    pub handle: Guid,
    /// Its number in the conversation.
    pub sequence: i64,
    /// Name of its type.
    pub message_type: String,
    /// When it was sent, local ticks.
    pub enqueued: i64,
    /// Why it waits.
    pub status: String,
    /// Its body.
    #[serde(skip)]
    pub body: Option<Arc<[u8]>>,
}

type Done = Result<(), TxnError>;

fn key(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![kind];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

fn conversation_key(conversation: &Guid, initiator: bool) -> Vec<u8> {
    key(b'C', &[conversation, &[u8::from(initiator)]])
}

fn deadline_key(at: i64, handle: &Guid, kind: Deadline) -> Vec<u8> {
    // Times are positive: their bytes order as they do.
    key(b'D', &[&at.to_be_bytes(), handle, &[kind as u8]])
}

fn waiting_key(handle: &Guid, sequence: i64) -> Vec<u8> {
    key(b'T', &[handle, &sequence.to_be_bytes()])
}

fn put_row(txn: &mut Transaction, key: &[u8], columns: &[Option<&[u8]>]) -> Done {
    txn.put_index(TREE, key, &RowBuilder::build(columns))
}

fn json<T: Serialize>(of: &T) -> Vec<u8> {
    serde_json::to_vec(of).expect("numbers and texts can be written as JSON")
}

fn parsed<T: for<'d> Deserialize<'d>>(stored: &[u8]) -> Option<T> {
    serde_json::from_slice(row::column(stored, 0)?).ok()
}

fn guid_at(bytes: &[u8], at: usize) -> Guid {
    bytes.get(at..at + 16).and_then(|b| b.try_into().ok()).unwrap_or_default()
}

/// Waits for a group's lock, and keeps it to the end of the transaction.
pub(super) fn lock_group(txn: &mut Transaction, group: &Guid) -> Done {
    txn.lock_row(TREE, &key(b'L', &[group]), LockMode::Exclusive)
}

/// The same if nobody has it.
pub(super) fn try_lock_group(txn: &mut Transaction, group: &Guid) -> Result<bool, TxnError> {
    txn.try_lock_row(TREE, &key(b'L', &[group]), LockMode::Exclusive)
}

/// Gives back what [`try_lock_group`] has taken.
pub(super) fn unlock_group(txn: &mut Transaction, group: &Guid) {
    txn.unlock_row(TREE, &key(b'L', &[group]));
}

/// An endpoint by handle.
pub(crate) fn endpoint(txn: &mut Transaction, handle: &Guid) -> Result<Option<Endpoint>, TxnError> {
    let stored = txn.get_latest(TREE, &key(b'E', &[handle]))?;
    Ok(stored.and_then(|stored| parsed(&stored)))
}

/// The handle of one end of a conversation.
pub(super) fn handle_of(
    txn: &mut Transaction,
    conversation: &Guid,
    initiator: bool,
) -> Result<Option<Guid>, TxnError> {
    let stored = txn.get_latest(TREE, &conversation_key(conversation, initiator))?;
    Ok(stored.and_then(|stored| row::column(&stored, 0).map(|bytes| guid_at(bytes, 0))))
}

fn came_key((conversation, by_initiator): (Guid, bool)) -> Vec<u8> {
    key(b'S', &[&conversation, &[u8::from(by_initiator)]])
}

/// Notes that a message has come that its sender's database knows nothing of yet; false when it had come before.
pub(super) fn note_came(txn: &mut Transaction, of: (Guid, bool), sequence: i64) -> Result<bool, TxnError> {
    let key = came_key(of);
    let last = txn.get_latest(TREE, &key)?;
    let last = last.as_ref().and_then(|stored| row::column(stored, 0)?.try_into().ok());
    if last.is_some_and(|last| i64::from_be_bytes(last) >= sequence) {
        return Ok(false);
    }
    put_row(txn, &key, &[Some(&sequence.to_be_bytes())])?;
    Ok(true)
}

/// Adds an endpoint.
pub(super) fn add(txn: &mut Transaction, e: &Endpoint) -> Done {
    write(txn, e)?;
    put_row(txn, &conversation_key(&e.conversation, e.initiator), &[Some(&e.handle)])?;
    put_row(txn, &key(b'G', &[&e.group, &e.handle]), &[])?;
    match e.lifetime {
        Some(at) => put_row(txn, &deadline_key(at, &e.handle, Deadline::Lifetime), &[]),
        None => Ok(()),
    }
}

/// Writes what an endpoint is now; its group, timer and lifetime are as they were.
pub(super) fn write(txn: &mut Transaction, e: &Endpoint) -> Done {
    put_row(txn, &key(b'E', &[&e.handle]), &[Some(&json(e))])
}

/// Gives an endpoint another timer, or none.
pub(super) fn set_timer(txn: &mut Transaction, e: &mut Endpoint, timer: Option<i64>) -> Done {
    if let Some(before) = e.timer {
        txn.delete_index(TREE, &deadline_key(before, &e.handle, Deadline::Timer))?;
    }
    if let Some(at) = timer {
        put_row(txn, &deadline_key(at, &e.handle, Deadline::Timer), &[])?;
    }
    e.timer = timer;
    write(txn, e)
}

/// An endpoint's lifetime counts no more.
pub(super) fn end_lifetime(txn: &mut Transaction, e: &mut Endpoint) -> Done {
    if let Some(at) = e.lifetime.take() {
        txn.delete_index(TREE, &deadline_key(at, &e.handle, Deadline::Lifetime))?;
    }
    write(txn, e)
}

/// Moves an endpoint to another group.
pub(super) fn regroup(txn: &mut Transaction, e: &mut Endpoint, group: &Guid) -> Done {
    txn.delete_index(TREE, &key(b'G', &[&e.group, &e.handle]))?;
    e.group = *group;
    put_row(txn, &key(b'G', &[group, &e.handle]), &[])?;
    write(txn, e)
}

/// Takes an endpoint away, with all that waits to be delivered from it.
pub(super) fn remove(txn: &mut Transaction, e: &Endpoint) -> Done {
    for waiting in waiting_of(txn, &e.handle)? {
        delivered(txn, &waiting)?;
    }
    txn.delete_index(TREE, &key(b'E', &[&e.handle]))?;
    txn.delete_index(TREE, &came_key((e.conversation, !e.initiator)))?;
    txn.delete_index(TREE, &conversation_key(&e.conversation, e.initiator))?;
    txn.delete_index(TREE, &key(b'G', &[&e.group, &e.handle]))?;
    if let Some(at) = e.timer {
        txn.delete_index(TREE, &deadline_key(at, &e.handle, Deadline::Timer))?;
    }
    if let Some(at) = e.lifetime {
        txn.delete_index(TREE, &deadline_key(at, &e.handle, Deadline::Lifetime))?;
    }
    Ok(())
}

/// A key and the row under it.
type Stored = (Vec<u8>, Vec<u8>);

/// Keys that begin with some bytes with their rows, so many at most.
fn scan(txn: &mut Transaction, prefix: &[u8], most: usize) -> Result<Vec<Stored>, TxnError> {
    let view = txn.view_as(Isolation::ReadCommitted);
    let end = keel_types::key::successor(prefix);
    let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut cursor = txn.scan(&view, TREE, Bound::Included(prefix), end, Direction::Forward)?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some((key, stored)) = cursor.next()?
    {
        found.push((key.to_vec(), stored.to_vec()));
    }
    Ok(found)
}

/// An endpoint of a group, if it has any: all of them are of one service.
pub(super) fn any_of_group(txn: &mut Transaction, group: &Guid) -> Result<Option<Endpoint>, TxnError> {
    let found = scan(txn, &key(b'G', &[group]), 1)?;
    match found.first() {
        Some((key, _)) => endpoint(txn, &guid_at(key, 17)),
        None => Ok(None),
    }
}

/// All endpoints.
pub(crate) fn endpoints(txn: &mut Transaction) -> Result<Vec<Endpoint>, TxnError> {
    let found = scan(txn, b"E", usize::MAX)?;
    Ok(found.iter().filter_map(|(_, stored)| parsed(stored)).collect())
}

/// A deadline: its time, whose it is, and of what kind.
pub(super) type Due = (i64, Guid, Deadline);

/// The deadlines that are over at a time, and the first that is not.
pub(super) fn due(txn: &mut Transaction, now: i64) -> Result<(Vec<Due>, Option<i64>), TxnError> {
    let mut over = Vec::new();
    for (key, _) in scan(txn, b"D", DUE_MAX)? {
        let at = key.get(1..9).and_then(|b| b.try_into().ok()).map_or(0, i64::from_be_bytes);
        if at > now {
            return Ok((over, Some(at)));
        }
        let kind =
            if key.last() == Some(&(Deadline::Timer as u8)) { Deadline::Timer } else { Deadline::Lifetime };
        over.push((at, guid_at(&key, 9), kind));
    }
    // There may be more.
    let next = over.last().map(|_| now);
    Ok((over, next))
}

/// Deadlines that are looked at at once.
const DUE_MAX: usize = 256;

/// A deadline that nobody waits for any more.
pub(super) fn forget_deadline(txn: &mut Transaction, at: i64, handle: &Guid, kind: Deadline) -> Done {
    txn.delete_index(TREE, &deadline_key(at, handle, kind))
}

// ---- what waits to be delivered ----

/// Keeps a message, or what is known of it now.
pub(super) fn keep(txn: &mut Transaction, waiting: &Waiting) -> Done {
    let key = waiting_key(&waiting.handle, waiting.sequence);
    put_row(txn, &key, &[Some(&json(waiting)), waiting.body.as_deref()])
}

/// A message waits no more.
pub(super) fn delivered(txn: &mut Transaction, waiting: &Waiting) -> Done {
    txn.delete_index(TREE, &waiting_key(&waiting.handle, waiting.sequence))
}

fn waiting(found: Vec<Stored>) -> Vec<Waiting> {
    let one = |(_, stored): Stored| {
        let body = row::column(&stored, 1).map(Arc::from);
        parsed::<Waiting>(&stored).map(|waiting| Waiting { body, ..waiting })
    };
    found.into_iter().filter_map(one).collect()
}

/// The messages of a conversation that wait, in order.
pub(super) fn waiting_of(txn: &mut Transaction, handle: &Guid) -> Result<Vec<Waiting>, TxnError> {
    scan(txn, &key(b'T', &[handle]), usize::MAX).map(waiting)
}

/// Whether any message of a conversation waits.
pub(super) fn any_waits(txn: &mut Transaction, handle: &Guid) -> Result<bool, TxnError> {
    scan(txn, &key(b'T', &[handle]), 1).map(|found| !found.is_empty())
}

/// All messages that wait.
pub(crate) fn all_waiting(txn: &mut Transaction) -> Result<Vec<Waiting>, TxnError> {
    scan(txn, b"T", usize::MAX).map(waiting)
}

/// Whether any message waits.
pub(crate) fn any_waiting(txn: &mut Transaction) -> Result<bool, TxnError> {
    scan(txn, b"T", 1).map(|found| !found.is_empty())
}

// ---- subscriptions to queries ----

/// Adds one.
pub(crate) fn put_subscription(txn: &mut Transaction, id: &Guid, stored: &Subscription) -> Done {
    put_row(txn, &key(b'Q', &[id]), &[Some(&json(stored))])
}

/// One by id.
pub(crate) fn subscription(txn: &mut Transaction, id: &Guid) -> Result<Option<Subscription>, TxnError> {
    let stored = txn.get_latest(TREE, &key(b'Q', &[id]))?;
    Ok(stored.and_then(|stored| parsed(&stored)))
}

/// Takes one away; false when it is no more.
pub(crate) fn take_subscription(txn: &mut Transaction, id: &Guid) -> Result<bool, TxnError> {
    let key = key(b'Q', &[id]);
    txn.lock_row(TREE, &key, LockMode::Exclusive)?;
    take_locked(txn, &key)
}

/// The same if nobody else is about to: `None` then.
pub(crate) fn try_take_subscription(txn: &mut Transaction, id: &Guid) -> Result<Option<bool>, TxnError> {
    let key = key(b'Q', &[id]);
    match txn.try_lock_row(TREE, &key, LockMode::Exclusive)? {
        true => take_locked(txn, &key).map(Some),
        false => Ok(None),
    }
}

fn take_locked(txn: &mut Transaction, key: &[u8]) -> Result<bool, TxnError> {
    let there = txn.get_latest(TREE, key)?.is_some();
    if there {
        txn.delete_index(TREE, key)?;
    }
    Ok(there)
}

/// All subscriptions.
pub(crate) fn subscriptions(txn: &mut Transaction) -> Result<Vec<(Guid, Subscription)>, TxnError> {
    let found = scan(txn, b"Q", usize::MAX)?;
    Ok(found.iter().filter_map(|(key, stored)| Some((guid_at(key, 1), parsed(stored)?))).collect())
}
