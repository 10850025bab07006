//! What the broker does by itself, on a thread of the host: deliveries tried again, timers and lifetimes that are over, procedures that queues start.
//!
//! It works when somebody rings, when a deadline is over, and as long as something waits that it must look after. Only where the database is
//! written: on another replica, the next primary's broker goes on.

use super::definition::{ActivationDef, DIALOG_TIMER, QueueDef};
use super::deliver::{Commits, Delivery, PRIORITY};
use super::post::{Seen, Task, Watched};
use super::store::{self, Deadline, Endpoint, State, Waiting};
use super::{Parcel, receive};
use crate::agent::{Clerk, Office};
use crate::engine::{DatabaseEntry, Engine};
use crate::event_notifications::raise::Place;
use crate::event_notifications::types::Raised;
use crate::map::txn_error;
use crate::notify::find_forgotten;
use crate::procs::{Outcome, ok, string};
use crate::run::{Argument, Runner};
use crate::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use hashbrown::HashMap;
use keel_base::DatabaseId;
use keel_node::Isolation;
use keel_query::catalog::{Catalog as _, EXECUTE_AS_OWNER};
use keel_query::queue::{Guid, Message, MessageStatus};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long after a procedure was started another one is, when messages wait still.
const NEXT_READER: Duration = Duration::from_secs(5);
/// How long after a failed try what waits is tried again: at first, and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(64));

/// Who has the turns.
pub struct Monitor {
    engine: Arc<Engine>,
    clerk: Option<Clerk>,
    databases: HashMap<DatabaseId, Known>,
    /// Databases in which subscriptions were looked for that the memory does not have. Another one may have the number of one that was dropped.
    looked: HashMap<DatabaseId, Weak<DatabaseEntry>>,
}

/// What is known of a database.
#[derive(Default)]
struct Known {
    /// Version of its catalog when it was looked at.
    version: u64,
    /// When its next deadline is over, UTC ticks.
    due: Option<i64>,
    /// When what waits there is tried again, and how long that was after the last try.
    retry: Option<(Instant, Duration)>,
}

/// A procedure that is to run on a thread of its own.
pub struct Activation {
    engine: Arc<Engine>,
    queue_name: String,
    database: String,
    activation: ActivationDef,
    user: String,
    watched: Arc<Watched>,
}

impl Monitor {
    /// For an instance.
    #[must_use]
    pub fn new(engine: &Arc<Engine>) -> Monitor {
        Monitor { engine: Arc::clone(engine), clerk: None, databases: HashMap::new(), looked: HashMap::new() }
    }

    /// One turn. Gives the procedures that start now, and what went wrong.
    pub fn turn(&mut self) -> (Vec<Activation>, Vec<SqlError>) {
        let mut all = self.engine.broker.was_stirred();
        let now = Instant::now();
        for (_, watched) in self.engine.broker.queues() {
            watched.with(|seen| {
                if seen.again.is_some_and(|at| at <= now) {
                    (seen.again, seen.look) = (None, true);
                }
            });
        }
        let (mut started, mut failed) = (Vec::new(), Vec::new());
        self.engine.subscriptions.expire(self.engine.now_utc());
        let mut carried = Vec::new();
        for entry in self.engine.databases() {
            if !entry.carries_conversations() {
                self.looked.remove(&entry.id);
                self.engine.subscriptions.forget(entry.id);
                continue;
            }
            let itself = Arc::downgrade(&entry);
            if self.looked.get(&entry.id).is_none_or(|looked| !looked.ptr_eq(&itself)) {
                match find_forgotten(&self.engine, &entry) {
                    Ok(()) => drop(self.looked.insert(entry.id, itself)),
                    Err(e) => failed.push(*e),
                }
            }
            let sends = {
                let picture = entry.picture();
                picture.has_queues()
                    || picture.event_notifications().next().is_some()
                    || self.engine.subscriptions.is_sending(entry.id)
            };
            if !sends {
                continue;
            }
            let version = entry.version();
            let known = self.databases.get(&entry.id);
            // What came here, or changed, may be what messages of another database wait for.
            all |= known.is_none_or(|known| known.version != version);
            carried.push((entry, version));
        }
        // What is dropped, or carried on elsewhere, is nobody's to wait for.
        self.databases.retain(|id, _| carried.iter().any(|(entry, _)| entry.id == *id));
        for (entry, version) in carried {
            let (now, utc) = (Instant::now(), self.engine.now_utc());
            let known = self.databases.get(&entry.id);
            let fresh = known.is_none();
            let wanted = all
                || self.engine.subscriptions.is_due(entry.id)
                || self.engine.raised.any(entry.id)
                || known.is_some_and(|k| {
                    k.due.is_some_and(|due| due <= utc) || k.retry.is_some_and(|(at, _)| at <= now)
                });
            if wanted && let Err(e) = self.look_after(&entry, version, all) {
                failed.push(SqlError { message: format!("[{}]: {}", entry.name(), e.message), ..*e });
            }
            for queue in entry.picture().queues() {
                match self.activate(&entry, queue, fresh || all) {
                    Ok(activation) => started.extend(activation),
                    Err(e) => failed.push(*e),
                }
            }
        }
        (started, failed)
    }

    /// Until when there is nothing to do unless somebody rings.
    #[must_use]
    pub fn rest(&self) -> Option<Duration> {
        let now = Instant::now();
        let utc = self.engine.now_utc();
        let of_ticks = |ticks: i64| Duration::from_nanos(ticks.max(0).unsigned_abs().saturating_mul(100));
        let dues = self.databases.values().filter_map(|k| k.due).map(|due| of_ticks(due - utc));
        let retries = self.databases.values().filter_map(|k| k.retry);
        let retries = retries.map(|(at, _)| at.saturating_duration_since(now));
        let queues = self.engine.broker.queues();
        let again = queues.iter().filter_map(|(_, watched)| watched.with(|seen| seen.again));
        let again = again.map(|at| at.saturating_duration_since(now));
        let expiry = self.engine.subscriptions.next_expiry().map(|at| of_ticks(at - utc));
        dues.chain(retries).chain(again).chain(expiry).min()
    }

    fn look_after(&mut self, entry: &Arc<DatabaseEntry>, version: u64, anew: bool) -> Result<()> {
        let before = self.databases.remove(&entry.id).unwrap_or_default();
        let known = self.databases.entry(entry.id).or_default();
        *known = Known { version, ..Known::default() };
        let clerk = match &mut self.clerk {
            Some(clerk) => clerk,
            none => none.insert(Clerk::new(&Office::of_instance(&self.engine), "Service Broker")?),
        };
        let name = entry.name().replace('\'', "''");
        let done = clerk.run(&format!("EXEC sys.sp_keel_broker_turn N'{name}'"));
        let turned = self.engine.broker.turned(entry.id);
        known.due = turned.due;
        if turned.waits || done.is_err() {
            let last = before.retry.map_or(Duration::ZERO, |(_, last)| last);
            let pause = if anew { RETRY.0 } else { (last * 2).clamp(RETRY.0, RETRY.1) };
            known.retry = Some((Instant::now() + pause, pause));
        }
        done
    }

    /// A queue has messages that nobody waits for: services that want to know are told, once until somebody has received.
    fn tell_of_messages(&self, entry: &Arc<DatabaseEntry>, queue: &Arc<QueueDef>, look: bool) -> Result<()> {
        let place = Place { database: Some(entry.id), queue: Some(queue.object_id) };
        let of_itself = queue.activation.as_ref().is_some_and(|a| a.enabled);
        if of_itself || !queue.enabled || self.engine.who_wants(Raised::QueueActivation, place).is_empty() {
            return Ok(());
        }
        let watched = self.engine.broker.queue((entry.id, queue.object_id));
        let asks = |seen: &mut Seen| {
            let fresh = std::mem::take(&mut seen.look) || look;
            fresh && seen.waiting == 0 && seen.told != Some(seen.receives)
        };
        if !watched.with(asks) {
            return Ok(());
        }
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let free = receive::is_any_free(&mut txn, &queue.rows);
        txn.rollback();
        watched.stir();
        if free.map_err(|e| txn_error(e, &entry.name(), 0))? {
            watched.with(|seen| seen.told = Some(seen.receives));
            self.engine.raise_of_queue(Raised::QueueActivation, entry, queue);
        }
        Ok(())
    }

    /// The procedure that a queue starts now.
    fn activate(
        &self,
        entry: &Arc<DatabaseEntry>,
        queue: &Arc<QueueDef>,
        look: bool,
    ) -> Result<Option<Activation>> {
        let id = (entry.id, queue.object_id);
        self.tell_of_messages(entry, queue, look)?;
        let Some(activation) = queue.activation.as_ref().filter(|a| a.enabled && a.max_readers > 0) else {
            return Ok(None);
        };
        if !queue.enabled || !entry.has_broker() {
            return Ok(None);
        }
        let watched = self.engine.broker.queue(id);
        let now = Instant::now();
        if !watched.with(|seen| std::mem::take(&mut seen.look) || look) {
            return Ok(None);
        }
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let free = receive::is_any_free(&mut txn, &queue.rows);
        txn.rollback();
        // Who has looked meanwhile may have passed over what was locked here.
        watched.stir();
        if !free.map_err(|e| txn_error(e, &entry.name(), 0))? {
            return Ok(None);
        }
        let starts = watched.with(|seen| {
            let running = seen.tasks.len() + seen.starting;
            let since = seen.started.map(|(at, receives)| (at + NEXT_READER, receives == seen.receives));
            let starts = match since {
                _ if running >= usize::try_from(activation.max_readers).unwrap_or(0) => return false,
                // Somebody who waits has it in a moment.
                _ if running == 0 && seen.waiting > 0 => false,
                None => true,
                // The last one has not even looked into the queue: it would not do so now.
                Some((next, idle)) if running == 0 => !idle || next <= now,
                Some((next, _)) => next <= now,
            };
            if starts {
                seen.started = Some((now, seen.receives));
                seen.activated_at = Some(self.engine.now_local());
                seen.starting += 1;
            }
            // More may wait than one can take.
            seen.again = Some(match seen.started {
                Some((at, _)) if at + NEXT_READER > now => at + NEXT_READER,
                _ => now + NEXT_READER,
            });
            starts
        });
        let picture = entry.picture();
        let owner = || picture.schema(queue.schema_id).map(|s| s.owner).unwrap_or(crate::catalog::DBO_USER);
        let user = if activation.execute_as == EXECUTE_AS_OWNER { owner() } else { activation.execute_as };
        Ok(starts.then(|| Activation {
            engine: Arc::clone(&self.engine),
            queue_name: format!(
                "{}.{}.{}",
                entry.name(),
                picture.schema_name(queue.schema_id).unwrap_or_default(),
                queue.name
            ),
            database: entry.name().to_string(),
            activation: activation.clone(),
            user: picture.principal(user).map_or_else(String::new, |p| p.name),
            watched,
        }))
    }
}

impl Activation {
    /// Runs the procedure to its end.
    pub fn execute(self) {
        let said = self.run();
        let id = said.session;
        self.watched.with(|seen| {
            match id {
                Some(id) => seen.tasks.retain(|task| task.session != id),
                None => seen.starting = seen.starting.saturating_sub(1),
            }
            seen.look = true;
        });
        for text in said.texts {
            self.engine.options().log.write(&format!(
                "The activated proc '{}' running on queue '{}' output the following:  '{text}'",
                self.activation.procedure, self.queue_name
            ));
        }
        self.engine.broker.bell.ring();
    }

    fn run(&self) -> Heard {
        let mut heard = Heard::default();
        let options = crate::agent::session_options(&self.engine, "Service Broker", &self.database);
        let mut session = match self.engine.session(options) {
            Ok(session) => session,
            Err(e) => {
                heard.texts.push(e.message.clone());
                return heard;
            }
        };
        session.classify();
        heard.session = Some(session.id().into());
        let task = Task {
            session: session.id().into(),
            execute_as: self.activation.execute_as,
            procedure: self.activation.procedure.clone(),
            cancel: session.cancel_handle(),
        };
        self.watched.with(|seen| {
            seen.starting = seen.starting.saturating_sub(1);
            seen.tasks.push(task);
        });
        let user = self.user.replace('\'', "''");
        session.execute_batch(&format!("EXECUTE AS USER = N'{user}' WITH NO REVERT"), &mut heard);
        if heard.texts.is_empty() {
            session.execute_batch(&format!("EXEC {}", self.activation.procedure), &mut heard);
        }
        heard
    }
}

/// What a procedure has to say, for the error log.
#[derive(Default)]
struct Heard {
    session: Option<u32>,
    texts: Vec<String>,
}

impl ResultSink for Heard {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }
    fn done(&mut self, _: DoneInfo) {}
    fn message(&mut self, message: &SqlError) {
        self.texts.push(message.message.clone());
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}

/// What is left of what waits in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Nothing that trying again would help.
    Nothing,
    /// It is to be tried again.
    Waits,
    /// The broker has to take it over by itself.
    Apart,
}

/// A message that waits as it goes.
fn parcel_of(e: &Endpoint, waiting: &Waiting) -> Parcel {
    Parcel {
        sequence: waiting.sequence,
        message_type: waiting.message_type.clone(),
        ends: e.state == State::DisconnectedOutbound && waiting.sequence + 1 == e.sent,
        body: waiting.body.clone(),
    }
}

/// What a turn in a database has left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turned {
    /// When the next deadline is over, UTC ticks.
    pub due: Option<i64>,
    /// Something waits that has to be tried again.
    pub waits: bool,
}

/// `sp_keel_broker_turn database`: does in a database what is due there. For the broker's own thread, and for administrators.
pub(crate) fn sp_keel_broker_turn(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    let name = string(args, "database", 0);
    let entry = match name {
        Some(name) => runner.info.engine.database(&name).ok_or_else(|| crate::errors::no_database(name))?,
        None => runner.info.current_database(),
    };
    if !entry.carries_conversations() {
        return ok();
    }
    let mut turned = Turned::default();
    runner.end_deadlines(&entry, &mut turned)?;
    turned.waits |= runner.tell_due(&entry)?;
    turned.waits |= runner.send_raised(&entry)?;
    runner.deliver_waiting(&entry, &mut turned)?;
    runner.info.engine.broker.note_turn(entry.id, turned);
    ok()
}

impl Runner<'_> {
    /// Timers send, and conversations whose time is over fail.
    fn end_deadlines(&mut self, entry: &Arc<DatabaseEntry>, turned: &mut Turned) -> Result<()> {
        let now = self.info.engine.now_utc();
        let (over, next) =
            self.in_statement(|runner| runner.broker_rows(entry, |txn| store::due(txn, now)))?;
        turned.due = next;
        for (at, handle, kind) in over {
            let done = self.in_statement(|runner| {
                let Some(e) = runner.try_lock_conversation(entry, &handle)? else { return Ok(false) };
                runner.end_deadline(entry, e, at, kind).map(|()| true)
            })?;
            turned.waits |= !done;
        }
        Ok(())
    }

    fn end_deadline(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        mut e: Endpoint,
        at: i64,
        kind: Deadline,
    ) -> Result<()> {
        let open = self.state_now(entry, &e)?.is_open();
        match kind {
            Deadline::Timer if e.timer == Some(at) => {
                if open {
                    self.send_timer(entry, &e)?;
                }
                self.broker_rows(entry, |txn| store::set_timer(txn, &mut e, None))
            }
            Deadline::Lifetime if e.lifetime == Some(at) => {
                if open {
                    let why = SqlError::new(8489, 16, 1, "The dialog has exceeded the specified LIFETIME.");
                    self.fail(entry, &e, &why)?;
                }
                self.broker_rows(entry, |txn| store::end_lifetime(txn, &mut e))
            }
            kind => self.broker_rows(entry, |txn| store::forget_deadline(txn, at, &e.handle, kind)),
        }
    }

    fn send_timer(&mut self, entry: &Arc<DatabaseEntry>, e: &Endpoint) -> Result<()> {
        let (service, queue) = self.queue_of(entry, e.service)?;
        let picture = self.info.picture(entry);
        let name = picture.message_type(DIALOG_TIMER).map_or_else(String::new, |t| t.name.clone());
        let contract = picture.contract(e.contract).map_or_else(String::new, |c| c.name.clone());
        let message = Message {
            status: MessageStatus::Ready,
            priority: PRIORITY,
            order: 0,
            group: e.group,
            handle: e.handle,
            sequence: 0,
            service: (service.id, service.name.as_str().into()),
            contract: (e.contract, contract.into()),
            message_type: (DIALOG_TIMER, name.into()),
            validation: 'E',
            body: None,
            enqueued: self.info.engine.now_local(),
        };
        self.enqueue(entry, &queue, message)
    }

    /// An endpoint, if nobody has its group locked and it is there still.
    fn try_lock_conversation(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        handle: &Guid,
    ) -> Result<Option<Endpoint>> {
        let found = self.broker_rows(entry, |txn| {
            let Some(e) = store::endpoint(txn, handle)? else { return Ok(None) };
            if !store::try_lock_group(txn, &e.group)? {
                return Ok(None);
            }
            let now = store::endpoint(txn, handle)?;
            Ok(now.filter(|now| now.group == e.group))
        })?;
        if let Some(e) = &found {
            self.touch_group(entry, e);
        }
        Ok(found)
    }

    /// Tries again what could not be delivered, conversation by conversation.
    fn deliver_waiting(&mut self, entry: &Arc<DatabaseEntry>, turned: &mut Turned) -> Result<()> {
        let all = self.in_statement(|runner| runner.broker_rows(entry, store::all_waiting))?;
        let mut handles: Vec<Guid> = all.iter().map(|waiting| waiting.handle).collect();
        handles.dedup();
        for handle in handles {
            let mut left = self.in_statement(|runner| runner.deliver_of(entry, &handle))?;
            while left == Left::Apart {
                let went = self.in_statement(|runner| runner.deliver_first(entry, &handle))?;
                left = match went {
                    Some(e) => self.in_statement(|runner| runner.settle_first(entry, &e))?,
                    None => Left::Waits,
                };
            }
            turned.waits |= left == Left::Waits;
        }
        Ok(())
    }

    /// Tries again what waits in a conversation.
    fn deliver_of(&mut self, entry: &Arc<DatabaseEntry>, handle: &Guid) -> Result<Left> {
        let Some(mut e) = self.try_lock_conversation(entry, handle)? else { return Ok(Left::Waits) };
        let told = e.state != State::DisconnectedOutbound && !self.state_now(entry, &e)?.is_open();
        for waiting in self.broker_rows(entry, |txn| store::waiting_of(txn, handle))? {
            if told {
                let status = super::errors::status::told_to_end();
                return self.keep_waiting(entry, &waiting, status).map(|()| Left::Nothing);
            }
            let parcel = parcel_of(&e, &waiting);
            match self.deliver(entry, &mut e, &parcel, Commits::Together)? {
                Delivery::Apart => {
                    self.broker_rows(entry, |txn| store::write(txn, &e))?;
                    return Ok(Left::Apart);
                }
                Delivery::Waits(status) => {
                    self.broker_rows(entry, |txn| store::write(txn, &e))?;
                    return self.keep_waiting(entry, &waiting, status).map(|()| Left::Waits);
                }
                Delivery::Failed(why) if !parcel.ends => self.fail(entry, &e, &why)?,
                Delivery::Failed(_) | Delivery::Done => {}
            }
            self.broker_rows(entry, |txn| store::delivered(txn, &waiting))?;
        }
        self.all_delivered(entry, &e)
    }

    fn all_delivered(&mut self, entry: &Arc<DatabaseEntry>, e: &Endpoint) -> Result<Left> {
        if e.state == State::DisconnectedOutbound {
            self.forget_conversation(entry, e)?;
        } else {
            self.broker_rows(entry, |txn| store::write(txn, e))?;
        }
        Ok(Left::Nothing)
    }

    /// Commits the first message that waits in a conversation into the other database alone, with its number; the endpoint as it knows the
    /// other now, or `None` when it waits on.
    fn deliver_first(&mut self, entry: &Arc<DatabaseEntry>, handle: &Guid) -> Result<Option<Endpoint>> {
        let Some(mut e) = self.try_lock_conversation(entry, handle)? else { return Ok(None) };
        let Some(waiting) = self.first_waiting(entry, handle)? else { return Ok(Some(e)) };
        let parcel = parcel_of(&e, &waiting);
        match self.deliver(entry, &mut e, &parcel, Commits::Apart)? {
            Delivery::Waits(status) => self.keep_waiting(entry, &waiting, status).map(|()| None),
            Delivery::Failed(why) => {
                if !parcel.ends {
                    self.fail(entry, &e, &why)?;
                }
                Ok(Some(e))
            }
            Delivery::Done | Delivery::Apart => Ok(Some(e)),
        }
    }

    /// The first message that waits is in the other database.
    fn settle_first(&mut self, entry: &Arc<DatabaseEntry>, known: &Endpoint) -> Result<Left> {
        let Some(mut e) = self.try_lock_conversation(entry, &known.handle)? else { return Ok(Left::Waits) };
        e.far_broker = known.far_broker;
        if let Some(waiting) = self.first_waiting(entry, &known.handle)? {
            self.broker_rows(entry, |txn| store::delivered(txn, &waiting))?;
        }
        if self.first_waiting(entry, &known.handle)?.is_none() {
            return self.all_delivered(entry, &e);
        }
        self.broker_rows(entry, |txn| store::write(txn, &e))?;
        Ok(Left::Apart)
    }

    fn first_waiting(&mut self, entry: &Arc<DatabaseEntry>, handle: &Guid) -> Result<Option<Waiting>> {
        self.broker_rows(entry, |txn| Ok(store::waiting_of(txn, handle)?.into_iter().next()))
    }

    fn keep_waiting(&mut self, entry: &Arc<DatabaseEntry>, waiting: &Waiting, status: String) -> Result<()> {
        if waiting.status == status {
            return Ok(());
        }
        let waiting = Waiting { status, ..waiting.clone() };
        self.broker_rows(entry, |txn| store::keep(txn, &waiting))
    }
}
