//! BEGIN DIALOG, SEND, END CONVERSATION, MOVE CONVERSATION, BEGIN CONVERSATION TIMER.

use super::definition::{END_DIALOG, ERROR, QueueDef, ServiceDef};
use super::deliver::{Commits, Delivery, PRIORITY, error_body, is_valid, utf16};
use super::plan::{Dialog, Plan};
use super::store::{self, Endpoint, State, Waiting};
use super::{errors, guid_text};
use crate::engine::DatabaseEntry;
use crate::program::{Need, Program, Slot, Unit};
use crate::run::{Frame, Halt, Runner};
use crate::sink::command;
use keel_node::Isolation;
use keel_query::queue::{self, Guid, Message, MessageStatus};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};
use std::sync::Arc;

const TICKS_PER_SECOND: i64 = 10_000_000;
/// Longest LIFETIME and TIMEOUT, seconds.
const SECONDS_MAX: i64 = i32::MAX as i64;
/// Characters of a name of a service or broker.
pub(super) const NAME_MAX: usize = 256;

/// 8426: a conversation that is not there.
const NOT_FOUND: i32 = 8426;

/// A message under way.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    /// Its number.
    pub sequence: i64,
    /// Name of its type.
    pub message_type: String,
    /// It says that the sender has ended, well or not.
    pub ends: bool,
    /// Its body.
    pub body: Option<Arc<[u8]>>,
}

impl Runner<'_> {
    /// Runs a statement of conversations.
    pub(crate) fn converse(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        plan: &Plan,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        match plan {
            Plan::Receive(receive) => return self.receive(program, frame, receive),
            Plan::GetGroup { group, queue, wait } => {
                return Ok(self.get_group(program, frame, *group, queue, wait.as_ref())?);
            }
            _ => {}
        }
        self.in_statement(|runner| match plan {
            Plan::Begin(dialog) => runner.begin_dialog(program, frame, dialog),
            Plan::Send { handles, message_type, body } => {
                let ty = message_type.as_deref().unwrap_or("DEFAULT");
                runner.send_message(program, frame, handles, ty, body.as_ref())
            }
            Plan::End { handle, error, cleanup } => {
                runner.end_conversation(program, frame, handle, error.as_ref(), *cleanup)
            }
            Plan::Move { handle, group } => runner.move_conversation(program, frame, handle, group),
            Plan::Timer { handle, seconds } => runner.conversation_timer(program, frame, handle, seconds),
            Plan::Receive(_) | Plan::GetGroup { .. } => unreachable!("they went their own way"),
        })?;
        self.info.error.set(0);
        self.info.row_count.set(0);
        self.done_statement(None, command::OTHER);
        Ok(())
    }

    /// The database whose conversations a program means.
    pub(super) fn conversing_in(&self, program: &Program) -> Result<Arc<DatabaseEntry>> {
        let of_module = (program.identity.object_id > 0).then_some(program.identity.database);
        let entry = match of_module {
            Some(database) => self.entry_of(database)?,
            None => self.info.current_database(),
        };
        if entry.is_read_only() {
            return Err(crate::errors::database_read_only(entry.name()));
        }
        Ok(entry)
    }

    /// The value of a handle or group.
    pub(super) fn guid(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        unit: &Unit,
        missing: fn() -> Box<SqlError>,
    ) -> Result<Guid> {
        match self.eval_once(program, frame, unit)? {
            Value::Guid(guid) => Ok(guid),
            _ => Err(missing()),
        }
    }

    /// Gives a variable an id.
    pub(super) fn set_guid(
        &self,
        program: &Program,
        frame: &mut Frame,
        slot: Slot,
        guid: Guid,
    ) -> Result<()> {
        let dates = self.info.options.borrow().dates;
        let to = program.variables[slot as usize].ty;
        let value = crate::convert::assign(Value::Guid(guid), SqlType::UniqueIdentifier, to, dates)?;
        frame.set(slot, value);
        Ok(())
    }

    /// Error 229 for who may not receive from a queue.
    pub(super) fn may_receive(
        &self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        queue: &QueueDef,
    ) -> Result<()> {
        if self.info.unrestricted.get() {
            return Ok(());
        }
        let need = Need::Object {
            database: entry.id,
            object: queue.object_id,
            schema: queue.schema_id,
            permission: "RECEIVE",
            columns: None,
        };
        self.info.authorize(&program.identity, &[need])
    }

    /// The queue of a service.
    pub(super) fn queue_of(
        &self,
        entry: &Arc<DatabaseEntry>,
        service: i32,
    ) -> Result<(Arc<ServiceDef>, Arc<QueueDef>)> {
        let picture = self.info.picture(entry);
        let service = picture.service(service).cloned();
        let service = service.ok_or_else(|| errors::no_service(""))?;
        let queue = picture.queue(service.queue).cloned();
        let queue = queue.ok_or_else(|| errors::no_service(&service.name))?;
        Ok((service, queue))
    }

    /// An endpoint, with its group locked to the end of the transaction. Error 8426.
    pub(super) fn lock_conversation(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        handle: &Guid,
    ) -> Result<Endpoint> {
        let found = self.broker_rows(entry, |txn| {
            let mut found = store::endpoint(txn, handle)?;
            // It may be moved while its group is waited for.
            while let Some(e) = found {
                store::lock_group(txn, &e.group)?;
                found = store::endpoint(txn, handle)?;
                if found.as_ref().is_none_or(|now| now.group == e.group) {
                    break;
                }
            }
            Ok(found)
        })?;
        let e = found.ok_or_else(|| errors::unknown_handle(guid_text(handle)))?;
        self.touch_group(entry, &e);
        Ok(e)
    }

    /// The same of one that may have ended meanwhile.
    fn lock_if_there(&mut self, entry: &Arc<DatabaseEntry>, handle: &Guid) -> Result<Option<Endpoint>> {
        match self.lock_conversation(entry, handle) {
            Ok(e) => Ok(Some(e)),
            Err(e) if e.number == NOT_FOUND => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Who waits for the messages of a group that this transaction has locked hears of its end.
    pub(super) fn touch_group(&mut self, entry: &Arc<DatabaseEntry>, e: &Endpoint) {
        let queue = self.info.picture(entry).service(e.service).map(|s| s.queue).filter(|queue| *queue != 0);
        if let (Some(queue), Some(set)) = (queue, self.own_txns()) {
            set.broker.queue((entry.id, queue));
        }
    }

    /// What an endpoint is, with what its queue says of the other end.
    pub(super) fn state_now(&mut self, entry: &Arc<DatabaseEntry>, e: &Endpoint) -> Result<State> {
        if !e.state.is_open() {
            return Ok(e.state);
        }
        let Ok((_, queue)) = self.queue_of(entry, e.service) else { return Ok(e.state) };
        let last = self.broker_rows(entry, |txn| {
            let view = txn.view_as(Isolation::ReadCommitted);
            queue::last_type(txn, &view, &queue.rows, &e.group, &e.handle)
        })?;
        Ok(match last {
            Some(END_DIALOG) => State::DisconnectedInbound,
            Some(ERROR) => State::Error,
            _ => e.state,
        })
    }

    // ---- BEGIN DIALOG ----

    fn begin_dialog(&mut self, program: &Arc<Program>, frame: &mut Frame, d: &Dialog) -> Result<()> {
        let entry = self.conversing_in(program)?;
        let picture = self.info.picture(&entry);
        let service = picture.service_named(&d.from).cloned().ok_or_else(|| errors::no_service(&d.from))?;
        let contract = d.contract.as_deref().unwrap_or("DEFAULT");
        let contract = picture.contract_named(contract).ok_or_else(|| errors::no_contract(contract))?.id;
        let (_, queue) = self.queue_of(&entry, service.id)?;
        self.may_receive(program, &entry, &queue)?;
        let far_service = match self.eval_once(program, frame, &d.to)? {
            Value::Str(name) if name.chars().count() <= NAME_MAX => name.to_string(),
            Value::Str(name) => return Err(errors::service_name(name)),
            _ => return Err(errors::no_service_name()),
        };
        let wanted_broker = match &d.broker_instance {
            Some(unit) => self.broker_instance(program, frame, unit, &entry)?,
            None => None,
        };
        let lifetime = match &d.lifetime {
            Some(unit) => self.lifetime(program, frame, unit)?,
            None => None,
        };
        self.lock_queue(&entry, queue.object_id)?;
        let group = self.related_group(program, frame, d, &entry, &service)?;
        let owner = self.info.token_in(&entry).map_or(crate::catalog::DBO_USER, |token| token.user);
        let e = Endpoint {
            handle: self.new_guid(),
            conversation: self.new_guid(),
            initiator: true,
            group,
            service: service.id,
            contract,
            lifetime,
            state: State::StartedOutbound,
            far_service,
            wanted_broker,
            far_broker: None,
            owner,
            encrypted: d.encrypted,
            timer: None,
            sent: 0,
            received: 0,
        };
        self.broker_rows(&entry, |txn| {
            store::lock_group(txn, &group)?;
            store::add(txn, &e)
        })?;
        if lifetime.is_some() {
            self.touch_everything();
        }
        self.set_guid(program, frame, d.handle, e.handle)
    }

    fn broker_instance(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        unit: &Unit,
        entry: &Arc<DatabaseEntry>,
    ) -> Result<Option<String>> {
        match self.eval_once(program, frame, unit)? {
            Value::Str(text) if text.chars().count() > NAME_MAX / 2 => Err(errors::broker_instance(text)),
            Value::Str(text) if text.eq_ignore_ascii_case("CURRENT DATABASE") => {
                Ok(Some(guid_text(&entry.broker_id())))
            }
            Value::Str(text) => Ok(Some(text.trim().to_string())),
            _ => Ok(None),
        }
    }

    /// When a LIFETIME ends.
    fn lifetime(&mut self, program: &Arc<Program>, frame: &mut Frame, unit: &Unit) -> Result<Option<i64>> {
        match self.eval_once(program, frame, unit)? {
            Value::Int(seconds) if (1..=SECONDS_MAX).contains(&seconds) => {
                // The longest is the product's way to say never.
                let ends = self.info.engine.now_utc() + seconds * TICKS_PER_SECOND;
                Ok((seconds < SECONDS_MAX).then_some(ends))
            }
            Value::Int(seconds) => Err(errors::lifetime_range(seconds, 1, SECONDS_MAX)),
            _ => Err(errors::lifetime_null(1, SECONDS_MAX)),
        }
    }

    /// The group that a conversation begins in.
    fn related_group(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &Dialog,
        entry: &Arc<DatabaseEntry>,
        service: &ServiceDef,
    ) -> Result<Guid> {
        let Some((by_group, unit)) = &d.related else { return Ok(self.new_guid()) };
        let missing = if *by_group { errors::no_group } else { errors::no_handle };
        let id = self.guid(program, frame, unit, missing)?;
        let (other, by, group) = if *by_group {
            let other = self.broker_rows(entry, |txn| {
                store::lock_group(txn, &id)?;
                store::any_of_group(txn, &id)
            })?;
            (other, "RELATED_CONVERSATION_GROUP", id)
        } else {
            let e = self.lock_conversation(entry, &id)?;
            let group = e.group;
            (Some(e), "RELATED_CONVERSATION", group)
        };
        if let Some(other) = other.filter(|other| other.service != service.id) {
            let picture = self.info.picture(entry);
            let own = picture.service(other.service).map_or_else(String::new, |s| s.name.clone());
            return Err(errors::other_service(&service.name, own, by, guid_text(&id)));
        }
        Ok(group)
    }

    // ---- SEND ----

    fn send_message(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        handles: &[Unit],
        message_type: &str,
        body: Option<&Unit>,
    ) -> Result<()> {
        let entry = self.conversing_in(program)?;
        let body = match body {
            Some(unit) => Some(self.body(program, frame, unit)?),
            None => None,
        };
        let mut ids = Vec::with_capacity(handles.len());
        for unit in handles {
            ids.push(self.guid(program, frame, unit, errors::no_handle)?);
        }
        for id in ids {
            let e = self.lock_conversation(&entry, &id)?;
            self.send_on(program, &entry, e, message_type, body.clone())?;
        }
        Ok(())
    }

    /// A body as bytes.
    fn body(&mut self, program: &Arc<Program>, frame: &mut Frame, unit: &Unit) -> Result<Arc<[u8]>> {
        let (value, ty) = self.eval_typed(program, frame, unit)?;
        match value {
            Value::Null => Err(errors::null_body()),
            Value::Bytes(bytes) => Ok(bytes),
            Value::Str(text) if ty.is_xml() => Ok(utf16(&text, true)),
            value => {
                let to = SqlType::VarBinary(Length::Max);
                match keel_types::cast::explicit(ty, to)?.apply(&value)? {
                    Value::Bytes(bytes) => Ok(bytes),
                    _ => Err(errors::null_body()),
                }
            }
        }
    }

    fn send_on(
        &mut self,
        program: &Arc<Program>,
        entry: &Arc<DatabaseEntry>,
        mut e: Endpoint,
        message_type: &str,
        body: Option<Arc<[u8]>>,
    ) -> Result<()> {
        let (service, queue) = self.queue_of(entry, e.service)?;
        self.may_receive(program, entry, &queue)?;
        let state = self.state_now(entry, &e)?;
        if !state.is_open() {
            return Err(errors::not_to_send(state.shown().0));
        }
        if queue.retention && !queue.enabled {
            return Err(SqlError::new(
                9618,
                16,
                1,
                format!(
                    "The message cannot be sent because the service queue '{}' associated with the dialog is currently disabled and retention is on.",
                    queue.name
                ),
            ));
        }
        let picture = self.info.picture(entry);
        let ty = picture.message_type_named(message_type).cloned();
        let ty = ty.ok_or_else(|| errors::no_message_type(message_type))?;
        let contract = picture.contract(e.contract).ok_or_else(|| errors::no_contract(e.contract))?;
        let part = contract.messages.iter().find(|m| m.message_type == ty.id);
        match part {
            None => return Err(errors::not_in_contract(message_type)),
            Some(m) if e.initiator && !m.by_initiator => return Err(errors::sent_by_target(message_type)),
            Some(m) if !e.initiator && !m.by_target => return Err(errors::sent_by_initiator(message_type)),
            Some(_) => {}
        }
        if !is_valid(&picture, ty.validation, body.as_deref()) {
            return Err(errors::invalid_body());
        }
        if queue.retention {
            let kept = Message {
                status: MessageStatus::Sent,
                priority: PRIORITY,
                order: 0,
                group: e.group,
                handle: e.handle,
                sequence: e.sent,
                service: (service.id, service.name.as_str().into()),
                contract: (contract.id, contract.name.as_str().into()),
                message_type: (ty.id, ty.name.as_str().into()),
                validation: ty.validation.code(),
                body: body.clone(),
                enqueued: self.info.engine.now_local(),
            };
            self.enqueue(entry, &queue, kept)?;
        }
        let parcel = Parcel { sequence: e.sent, message_type: ty.name.clone(), ends: false, body };
        e.sent += 1;
        e.state = State::Conversing;
        self.post(entry, &mut e, &parcel)?;
        self.broker_rows(entry, |txn| store::write(txn, &e))
    }

    /// Delivers a message, or keeps it until it can be. Says whether it was delivered.
    pub(super) fn post(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        e: &mut Endpoint,
        parcel: &Parcel,
    ) -> Result<bool> {
        let handle = e.handle;
        let behind = e.sent > 1 && self.broker_rows(entry, |txn| store::any_waits(txn, &handle))?;
        let delivery = match behind {
            true => Delivery::Waits(String::new()),
            false => self.deliver(entry, e, parcel, Commits::Together)?,
        };
        let status = match delivery {
            Delivery::Done => return Ok(true),
            Delivery::Failed(why) => {
                if !parcel.ends {
                    self.fail(entry, e, &why)?;
                }
                return Ok(true);
            }
            Delivery::Waits(status) => status,
            Delivery::Apart => super::errors::status::busy(),
        };
        let waiting = Waiting {
            handle,
            sequence: parcel.sequence,
            message_type: parcel.message_type.clone(),
            enqueued: self.info.engine.now_local(),
            status,
            body: parcel.body.clone(),
        };
        self.broker_rows(entry, |txn| store::keep(txn, &waiting))?;
        self.touch_everything();
        Ok(false)
    }

    // ---- END CONVERSATION ----

    fn end_conversation(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        handle: &Unit,
        error: Option<&(Unit, Unit)>,
        cleanup: bool,
    ) -> Result<()> {
        let entry = self.conversing_in(program)?;
        let id = self.guid(program, frame, handle, errors::no_handle)?;
        let error = match error {
            Some((code, description)) => {
                let code = self.eval_once(program, frame, code)?;
                let description = self.eval_once(program, frame, description)?;
                match (code, description) {
                    (Value::Int(code), Value::Str(text)) => Some(error_body(code, &text)),
                    _ => return Err(errors::error_incomplete()),
                }
            }
            None => None,
        };
        let e = self.lock_conversation(&entry, &id)?;
        let (_, queue) = self.queue_of(&entry, e.service)?;
        self.may_receive(program, &entry, &queue)?;
        if cleanup {
            return self.forget_conversation(&entry, &e);
        }
        if e.state == State::DisconnectedOutbound {
            return Err(errors::not_to_end(e.state.shown().0));
        }
        self.end_with(&entry, e, error)
    }

    /// Ends a conversation here, and tells the other end; with a failure's message, or well.
    pub(super) fn end_with(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        mut e: Endpoint,
        error: Option<Arc<[u8]>>,
    ) -> Result<()> {
        let heard = !self.state_now(entry, &e)?.is_open();
        // Of one that has sent nothing nobody knows.
        if heard || e.state == State::StartedOutbound {
            return self.forget_conversation(entry, &e);
        }
        let id = if error.is_some() { ERROR } else { END_DIALOG };
        let name = self.info.picture(entry).message_type(id).map_or_else(String::new, |t| t.name.clone());
        let parcel = Parcel { sequence: e.sent, message_type: name, ends: true, body: error };
        e.sent += 1;
        if self.post(entry, &mut e, &parcel)? {
            return self.forget_conversation(entry, &e);
        }
        self.forget_messages(entry, &e)?;
        e.state = State::DisconnectedOutbound;
        self.broker_rows(entry, |txn| {
            store::set_timer(txn, &mut e, None)?;
            store::end_lifetime(txn, &mut e)
        })
    }

    /// Takes an endpoint away with all of its messages. Nobody is told.
    pub(super) fn forget_conversation(&mut self, entry: &Arc<DatabaseEntry>, e: &Endpoint) -> Result<()> {
        self.forget_messages(entry, e)?;
        self.broker_rows(entry, |txn| store::remove(txn, e))
    }

    fn forget_messages(&mut self, entry: &Arc<DatabaseEntry>, e: &Endpoint) -> Result<()> {
        let Ok((_, queue)) = self.queue_of(entry, e.service) else { return Ok(()) };
        self.broker_rows(entry, |txn| {
            let view = txn.view_as(Isolation::ReadCommitted);
            let own = |_, handle: &Guid| (*handle == e.handle, true);
            for message in queue::of_group(txn, &view, &queue.rows, &e.group, own)? {
                if queue::is_there(txn, &queue.rows, &message)? {
                    queue::remove(txn, &queue.rows, &message)?;
                }
            }
            Ok(())
        })
    }

    /// Ends all conversations that something is said of, because what they are made by goes away.
    pub(super) fn end_all(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        why: &SqlError,
        which: impl Fn(&Endpoint) -> bool,
    ) -> Result<()> {
        let all = self.broker_rows(entry, store::endpoints)?;
        for e in all.iter().filter(|e| which(e)) {
            let Some(mut e) = self.lock_if_there(entry, &e.handle)? else { continue };
            let open = self.state_now(entry, &e)?.is_open() && e.state != State::StartedOutbound;
            if open {
                let name =
                    self.info.picture(entry).message_type(ERROR).map_or_else(String::new, |t| t.name.clone());
                let body = error_body(-i64::from(why.number), &why.message);
                let parcel = Parcel { sequence: e.sent, message_type: name, ends: true, body: Some(body) };
                e.sent += 1;
                self.post(entry, &mut e, &parcel)?;
            }
            self.forget_conversation(entry, &e)?;
        }
        Ok(())
    }

    /// Puts the message of a failure into the queue of each conversation that is open.
    pub(super) fn fail_all(&mut self, entry: &Arc<DatabaseEntry>, why: &SqlError) -> Result<()> {
        for e in self.broker_rows(entry, store::endpoints)? {
            let Some(e) = self.lock_if_there(entry, &e.handle)? else { continue };
            if self.state_now(entry, &e)?.is_open() {
                self.fail(entry, &e, why)?;
            }
        }
        Ok(())
    }

    /// Takes all conversations of a database away. Nobody is told.
    pub(super) fn forget_all(&mut self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        for e in self.broker_rows(entry, store::endpoints)? {
            let Some(e) = self.lock_if_there(entry, &e.handle)? else { continue };
            self.forget_conversation(entry, &e)?;
        }
        Ok(())
    }

    // ---- MOVE CONVERSATION, timers ----

    fn move_conversation(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        handle: &Unit,
        group: &Unit,
    ) -> Result<()> {
        let entry = self.conversing_in(program)?;
        let id = self.guid(program, frame, handle, errors::no_handle)?;
        let group = self.guid(program, frame, group, errors::no_group)?;
        let mut e = self.lock_conversation(&entry, &id)?;
        let (_, queue) = self.queue_of(&entry, e.service)?;
        self.may_receive(program, &entry, &queue)?;
        if e.state == State::DisconnectedOutbound {
            return Err(errors::not_to_move(e.state.shown().0));
        }
        if group == e.group {
            return Ok(());
        }
        let other = self.broker_rows(&entry, |txn| {
            store::lock_group(txn, &group)?;
            store::any_of_group(txn, &group)
        })?;
        match other {
            None => return Err(errors::unknown_group(guid_text(&group))),
            Some(other) if other.service != e.service => return Err(errors::wrong_group(guid_text(&group))),
            Some(_) => {}
        }
        self.broker_rows(&entry, |txn| {
            let view = txn.view_as(Isolation::ReadCommitted);
            let own = |_, handle: &Guid| (*handle == id, true);
            for message in queue::of_group(txn, &view, &queue.rows, &e.group, own)? {
                if queue::is_there(txn, &queue.rows, &message)? {
                    queue::remove(txn, &queue.rows, &message)?;
                    queue::put(txn, &queue.rows, &Message { group, ..message })?;
                }
            }
            store::regroup(txn, &mut e, &group)
        })
    }

    fn conversation_timer(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        handle: &Unit,
        seconds: &Unit,
    ) -> Result<()> {
        let entry = self.conversing_in(program)?;
        let id = self.guid(program, frame, handle, errors::no_handle)?;
        let seconds = match self.eval_once(program, frame, seconds)? {
            Value::Int(seconds) if (1..=SECONDS_MAX).contains(&seconds) => seconds,
            value => {
                let shown = crate::convert::display(&value);
                return Err(errors::lifetime_range(shown, 1, SECONDS_MAX));
            }
        };
        let mut e = self.lock_conversation(&entry, &id)?;
        let (_, queue) = self.queue_of(&entry, e.service)?;
        self.may_receive(program, &entry, &queue)?;
        let state = self.state_now(&entry, &e)?;
        if !state.is_open() {
            return Err(errors::not_to_time(state.shown().0));
        }
        let at = self.info.engine.now_utc() + seconds * TICKS_PER_SECOND;
        if e.lifetime.is_some_and(|ends| at > ends) {
            return Err(errors::timer_beyond_lifetime());
        }
        self.broker_rows(&entry, |txn| store::set_timer(txn, &mut e, Some(at)))?;
        self.touch_everything();
        Ok(())
    }

    /// A service has another queue: its messages go there.
    pub(super) fn move_messages(&mut self, entry: &Arc<DatabaseEntry>, service: &ServiceDef) -> Result<()> {
        let (_, from) = self.queue_of(entry, service.id)?;
        let to = self.info.picture(entry).queue(service.queue).cloned();
        let Some(to) = to.filter(|to| to.object_id != from.object_id) else { return Ok(()) };
        self.lock_schema(entry.id, from.object_id)?;
        let messages = self.broker_rows(entry, |txn| {
            let view = txn.view_as(Isolation::ReadCommitted);
            queue::all(txn, &view, &from.rows)
        })?;
        for message in messages.into_iter().filter(|m| m.service.0 == service.id) {
            self.broker_rows(entry, |txn| queue::remove(txn, &from.rows, &message))?;
            self.enqueue(entry, &to, message)?;
        }
        Ok(())
    }
}
