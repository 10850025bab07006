//! RECEIVE and GET CONVERSATION GROUP, alone or within WAITFOR.

use super::definition::{END_DIALOG, ERROR, QueueDef};
use super::plan::Receive;
use super::post::RECEIVE_WAIT;
use super::store::{self, State};
use super::{errors, guid_text};
use crate::catalog::Named;
use crate::engine::DatabaseEntry;
use crate::program::{Program, Slot, Unit};
use crate::run::{Frame, Halt, Runner};
use crate::session::info::RowSet;
use crate::sink::command;
use hashbrown::HashSet;
use keel_node::{Isolation, Transaction, TxnError};
use keel_parser::ast;
use keel_query::SessionInfo as _;
use keel_query::catalog::TableDef;
use keel_query::queue::{self, COLUMNS, Guid, Message, MessageStatus};
use keel_query::scope::VirtualColumn;
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a receiver wants.
#[derive(Clone, Copy)]
enum Wanted {
    /// Of whatever group it is the turn.
    Any,
    /// Of one conversation.
    Handle(Guid),
    /// Of one group.
    Group(Guid),
}

/// How long a statement waits.
enum Patience {
    /// Not at all.
    None,
    /// Until then.
    Until(Instant),
    /// For ever.
    Endless,
}

impl Runner<'_> {
    /// RECEIVE
    pub(super) fn receive(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        r: &Receive,
    ) -> std::result::Result<(), Halt> {
        if r.mixed {
            return Err(errors::assigns_and_returns().into());
        }
        if r.into && r.assigns {
            return Err(errors::assigns_into().into());
        }
        self.check_writable()?;
        self.begin_implicit()?;
        let top = match &r.top {
            None => usize::MAX,
            Some(unit) => match self.eval_once(program, frame, unit)? {
                Value::Int(n) => usize::try_from(n).unwrap_or(0),
                _ => 0,
            },
        };
        let wanted = match &r.filter {
            None => Wanted::Any,
            Some((true, unit)) => Wanted::Group(self.guid(program, frame, unit, errors::no_group)?),
            Some((false, unit)) => Wanted::Handle(self.guid(program, frame, unit, errors::no_handle)?),
        };
        let patience = self.patience(program, frame, r.wait.as_ref())?;
        // Outside a transaction the statement is one, and gives way while it waits.
        let within = self.info.transaction.borrow().count > 0;
        let savepoint = if within { self.savepoint("".into()) } else { None };
        let done = self
            .await_messages(program, &r.queue, &patience, |runner, entry, queue| {
                let taken = runner.take(entry, queue, wanted, top)?;
                Ok((!taken.is_empty()).then_some(taken))
            })
            .and_then(|taken| self.give(program, frame, r, taken.unwrap_or_default()));
        match done {
            Ok(rows) => {
                self.statement_succeeded()?;
                self.info.error.set(0);
                self.info.row_count.set(rows);
                let kind = if r.into { command::INSERT } else { command::SELECT };
                self.done_statement((!r.assigns).then_some(rows), kind);
                Ok(())
            }
            Err(e) => {
                if let Some(savepoint) = savepoint {
                    self.rollback_to(&savepoint)?;
                }
                Err(e.into())
            }
        }
    }

    /// GET CONVERSATION GROUP
    pub(super) fn get_group(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        group: Slot,
        queue: &ast::ObjectName,
        wait: Option<&Option<Unit>>,
    ) -> Result<()> {
        self.check_writable()?;
        self.begin_implicit()?;
        let patience = self.patience(program, frame, wait)?;
        let found = self.await_messages(program, queue, &patience, |runner, entry, queue| {
            let first = runner.broker_rows(entry, |txn| next(txn, &queue.rows, 1))?;
            runner.note_locked(entry, queue, &first, false);
            Ok(first.messages.into_iter().next())
        })?;
        if let Some(message) = found {
            self.set_guid(program, frame, group, message.group)?;
        }
        self.statement_succeeded()?;
        self.info.error.set(0);
        self.info.row_count.set(0);
        self.done_statement(None, command::OTHER);
        Ok(())
    }

    fn patience(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        wait: Option<&Option<Unit>>,
    ) -> Result<Patience> {
        let Some(timeout) = wait else { return Ok(Patience::None) };
        let Some(unit) = timeout else { return Ok(Patience::Endless) };
        Ok(match self.eval_once(program, frame, unit)? {
            Value::Int(ms) if ms >= 0 => {
                Patience::Until(Instant::now() + Duration::from_millis(ms.unsigned_abs()))
            }
            _ => Patience::Endless,
        })
    }

    /// Tries, and again whenever something has come into the queue, as long as there is patience. Errors 208, 229 and 9617.
    fn await_messages<T>(
        &mut self,
        program: &Arc<Program>,
        name: &ast::ObjectName,
        patience: &Patience,
        mut attempt: impl FnMut(&mut Self, &Arc<DatabaseEntry>, &QueueDef) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        loop {
            let (entry, queue) = self.queue_to_receive(program, name)?;
            let id = (entry.id, queue.object_id);
            let watched = self.info.engine.broker.queue(id);
            let changes = watched.changes();
            self.lock_queue(&entry, queue.object_id)?;
            let found = attempt(self, &entry, &queue)?;
            watched.with(|seen| {
                seen.receives += 1;
                if found.is_none() {
                    seen.empty_at = Some(self.info.engine.now_local());
                }
            });
            if found.is_some() {
                return Ok(found);
            }
            let until = match patience {
                Patience::None => return Ok(None),
                Patience::Until(until) => Some(*until),
                Patience::Endless => None,
            };
            // Nothing of it is kept while it waits: DDL may go on.
            if self.info.transaction.borrow().count == 0
                && let Some(set) = self.own_txns()
            {
                set.end_reading();
                set.tell_broker(false);
            }
            self.info.shared.unsettled.settle_soon();
            let (began, resting) =
                (Instant::now(), self.info.shared.rest(RECEIVE_WAIT, self.info.engine.now_local()));
            let changed = watched.wait(changes, until, &self.info.shared.cancel);
            drop(resting);
            self.info.engine.broker.receives.note(RECEIVE_WAIT, began.elapsed());
            if self.info.cancelled() {
                return Err(crate::errors::cancelled());
            }
            if !changed {
                return Ok(None);
            }
        }
    }

    fn queue_to_receive(
        &self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Result<(Arc<DatabaseEntry>, Arc<QueueDef>)> {
        let found = self.named(program, name);
        let Some((entry, Named::Queue(queue))) = found else {
            return Err(crate::errors::invalid_object_name(name));
        };
        self.may_receive(program, &entry, &queue)?;
        if entry.is_read_only() || entry.is_copy() {
            return Err(crate::errors::database_read_only(entry.name()));
        }
        if !queue.enabled {
            return Err(errors::queue_disabled(&queue.name));
        }
        Ok((entry, queue))
    }

    /// Takes messages of one group, and notes in their conversations what they say.
    fn take(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        queue: &QueueDef,
        wanted: Wanted,
        top: usize,
    ) -> Result<Vec<Message>> {
        let found = match wanted {
            Wanted::Any => self.broker_rows(entry, |txn| next(txn, &queue.rows, top))?,
            Wanted::Group(group) => {
                self.broker_rows(entry, |txn| of_group_locked(txn, &queue.rows, &group, None, top))?
            }
            Wanted::Handle(handle) => {
                let e = self.broker_rows(entry, |txn| store::endpoint(txn, &handle))?;
                let own = |service| self.info.picture(entry).service(service).map(|s| s.queue);
                let e = e.filter(|e| own(e.service) == Some(queue.object_id));
                let group = e.ok_or_else(|| errors::unknown_handle(guid_text(&handle)))?.group;
                self.broker_rows(entry, |txn| of_group_locked(txn, &queue.rows, &group, Some(&handle), top))?
            }
        };
        self.note_locked(entry, queue, &found, true);
        let taken = found.messages;
        self.broker_rows(entry, |txn| {
            for message in &taken {
                if queue.retention {
                    let kept = Message { status: MessageStatus::Received, ..message.clone() };
                    queue::mark(txn, &queue.rows, &kept)?;
                } else {
                    queue::remove(txn, &queue.rows, message)?;
                }
            }
            note_received(txn, &taken)
        })?;
        Ok(taken)
    }

    /// Who waits hears of it when what was locked for messages is free again; that they were received counts when this is rolled back.
    fn note_locked(&mut self, entry: &DatabaseEntry, queue: &QueueDef, found: &Found, receives: bool) {
        let id = (entry.id, queue.object_id);
        let Some(set) = self.own_txns() else { return };
        match found.messages.is_empty() {
            false if receives => set.broker.received(id),
            false => set.broker.queue(id),
            true if found.locked => set.broker.queue(id),
            true => {}
        }
    }

    /// Hands messages to the statement's SELECT or INSERT.
    fn give(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        r: &Receive,
        taken: Vec<Message>,
    ) -> Result<u64> {
        let collation = {
            let entry = self.info.current_database();
            self.info.picture(&entry).settings().default_collation()
        };
        let column = |(name, ty): &(&str, keel_types::SqlType)| VirtualColumn {
            collation,
            ..VirtualColumn::new(*name, *ty)
        };
        let columns = COLUMNS.iter().map(column).collect();
        let rows: Vec<Vec<Value>> = taken.iter().map(Message::values).collect();
        let rows = RowSet { columns, rows: Arc::new(rows) };
        self.over_captured(program, frame, &r.rows, rows, !r.assigns && !r.into)
    }
}

/// Messages whose group is locked now.
#[derive(Default)]
struct Found {
    messages: Vec<Message>,
    /// A group was locked, also if nothing was found in it then.
    locked: bool,
}

/// The first messages of the first group that has any and that nobody else has locked.
fn next(txn: &mut Transaction, rows: &TableDef, top: usize) -> std::result::Result<Found, TxnError> {
    let view = txn.view_as(Isolation::ReadCommitted);
    let (mut passed, mut found) = (HashSet::new(), Found::default());
    queue::next_group(txn, &view, rows, |txn, group| {
        if !passed.insert(*group) || !store::try_lock_group(txn, group)? {
            return Ok(false);
        }
        found.locked = true;
        found.messages = waiting(txn, rows, group, None, top.max(1))?;
        if found.messages.is_empty() {
            store::unlock_group(txn, group);
        }
        Ok(!found.messages.is_empty())
    })?;
    found.messages.truncate(top);
    Ok(found)
}

/// Messages of one group or conversation. Its lock is waited for only when there are any: who looks often is in nobody's way.
fn of_group_locked(
    txn: &mut Transaction,
    rows: &TableDef,
    group: &Guid,
    of: Option<&Guid>,
    top: usize,
) -> std::result::Result<Found, TxnError> {
    let view = txn.view_as(Isolation::ReadCommitted);
    let any = queue::of_group(txn, &view, rows, group, |status, handle| {
        let is_one = status == MessageStatus::Ready && of.is_none_or(|of| of == handle);
        (is_one, !is_one)
    })?;
    if any.is_empty() {
        return Ok(Found::default());
    }
    store::lock_group(txn, group)?;
    Ok(Found { messages: waiting(txn, rows, group, of, top)?, locked: true })
}

/// Whether there is a message that nobody has locked.
pub(super) fn is_any_free(txn: &mut Transaction, rows: &TableDef) -> std::result::Result<bool, TxnError> {
    next(txn, rows, 1).map(|found| !found.messages.is_empty())
}

/// Messages of a group that is locked, so many at most.
fn waiting(
    txn: &mut Transaction,
    rows: &TableDef,
    group: &Guid,
    of: Option<&Guid>,
    top: usize,
) -> std::result::Result<Vec<Message>, TxnError> {
    loop {
        let view = txn.view_as(Isolation::ReadCommitted);
        let mut count = 0;
        let found = queue::of_group(txn, &view, rows, group, |status, handle| {
            let is_one = status == MessageStatus::Ready && of.is_none_or(|of| of == handle) && count < top;
            count += usize::from(is_one);
            (is_one, count < top)
        })?;
        // The last who had the group locked may have taken some in a commit that the snapshot does not show. The next one does.
        let mut all = true;
        for message in &found {
            all &= queue::is_there(txn, rows, message)?;
        }
        if all {
            return Ok(found);
        }
    }
}

/// Writes into the conversations how far they are received, and that the other end is gone where a message says so.
fn note_received(txn: &mut Transaction, taken: &[Message]) -> std::result::Result<(), TxnError> {
    for (at, message) in taken.iter().enumerate() {
        let state = match message.message_type.0 {
            END_DIALOG => Some(State::DisconnectedInbound),
            ERROR => Some(State::Error),
            _ => None,
        };
        // One write for each conversation is enough, unless its state changes.
        let later = taken[at + 1..].iter().any(|m| m.handle == message.handle);
        if later && state.is_none() {
            continue;
        }
        let Some(mut e) = store::endpoint(txn, &message.handle)? else { continue };
        e.received = e.received.max(message.sequence + 1);
        if let Some(state) = state.filter(|_| e.state.is_open()) {
            e.state = state;
        }
        store::write(txn, &e)?;
    }
    Ok(())
}
