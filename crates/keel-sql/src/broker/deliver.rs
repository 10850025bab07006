//! Where a message goes, and why it does not.
//!
//! The other service is looked for in this instance: in the database whose broker is known, or asked for by id; else in all of them, the
//! sender's own first, as far as a route of the sender's says LOCAL. There the first message makes the other endpoint.
//!
//! Where the two databases cannot commit as one, which those of availability groups without DTC_SUPPORT cannot, the message waits with the sender, and
//! the broker commits it into the other database first, with its number. After a crash in between it finds the number there.
//!
//! From one database into another what the sender may there is what counts: where its own is TRUSTWORTHY, the owner of the sending service does as
//! its login; otherwise nobody in particular, so that SEND has to be granted to `public`. For messages of the instance itself whoever wants them
//! sends them, as its login.

use super::conversation::Parcel;
use super::definition::{ERROR, QueueDef, RouteDef, ServiceDef, ValidationDef};
use super::errors::status;
use super::guid_text;
use super::store::{self, Endpoint, State};
use crate::catalog::{Picture, SecurableRef, Token, Verdict};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_node::Role;
use keel_query::queue::{self, Guid, Message, MessageStatus};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// What became of a message.
pub(super) enum Delivery {
    /// It is in the other queue, or nobody wants it any more.
    Done,
    /// It has to wait, for this reason.
    Waits(String),
    /// It will never be: the conversation has failed.
    Failed(Box<SqlError>),
    /// The two databases cannot commit as one: the broker takes it over by itself.
    Apart,
}

/// How the message and what sends it are committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Commits {
    /// As one.
    Together,
    /// The message first: the other database remembers which it has.
    Apart,
}

/// Where it goes.
struct Target {
    entry: Arc<DatabaseEntry>,
    service: Arc<ServiceDef>,
}

impl Runner<'_> {
    /// Delivers a message from an endpoint whose group is locked. What the endpoint learns of the other is written to it.
    pub(super) fn deliver(
        &mut self,
        from: &Arc<DatabaseEntry>,
        e: &mut Endpoint,
        parcel: &Parcel,
        commits: Commits,
    ) -> Result<Delivery> {
        if e.answers_instance() {
            return Ok(Delivery::Done);
        }
        let target = match self.find_target(from, e) {
            Ok(target) => target,
            Err(why) => return Ok(Delivery::Waits(why)),
        };
        if let Err(why) = self.may_send(from, e, &target) {
            return Ok(Delivery::Waits(why));
        }
        if commits == Commits::Together && !self.commit_together(from, &target.entry) {
            return Ok(Delivery::Apart);
        }
        self.lock_queue(&target.entry, target.service.queue)?;
        // It may have been altered while the lock was waited for.
        let picture = self.info.picture(&target.entry);
        let service = picture.service(target.service.id).cloned();
        let queue = service.as_ref().and_then(|s| picture.queue(s.queue)).cloned();
        let (Some(service), Some(queue)) = (service, queue) else {
            return Ok(Delivery::Waits(status::no_service()));
        };
        if !queue.enabled {
            return Ok(Delivery::Waits(status::queue_disabled(queue.object_id)));
        }
        let own = self.info.picture(from);
        let Some(contract) = own.contract(e.contract) else {
            return Ok(Delivery::Failed(super::errors::no_contract(e.contract)));
        };
        let there = picture.contract_named(&contract.name);
        let there = there.filter(|c| !e.initiator || service.contracts.contains(&c.id)).cloned();
        let Some(there) = there else {
            let text =
                format!("Target service '{}' does not support contract '{}'.", service.name, contract.name);
            return Ok(Delivery::Failed(SqlError::new(8408, 16, 1, text)));
        };
        let sender_name = own.service(e.service).map_or_else(String::new, |s| s.name.clone());
        let other = match self.other_end(e, &target.entry, &service, there.id, &sender_name, from)? {
            Some(other) => other,
            // Who says that it ends has nobody to say it to.
            None if parcel.ends => return Ok(Delivery::Done),
            None => return Ok(Delivery::Failed(super::errors::other_end_gone())),
        };
        if !other.state.is_open() {
            return Ok(Delivery::Done);
        }
        e.far_broker = Some(target.entry.broker_id());
        let Some(ty) = picture.message_type_named(&parcel.message_type).cloned() else {
            return Ok(Delivery::Failed(super::errors::no_message_type(&parcel.message_type)));
        };
        if from.id != target.entry.id && !is_valid(&picture, ty.validation, parcel.body.as_deref()) {
            let text = format!(
                "A message of type '{}' failed XML validation on the target service. This occurred in the message with Conversation ID '{}', Initiator: {}, and Message sequence number: {}.",
                ty.name,
                guid_text(&e.conversation),
                u8::from(e.initiator),
                parcel.sequence
            );
            return Ok(Delivery::Failed(SqlError::new(9615, 16, 1, text)));
        }
        if commits == Commits::Apart {
            let (of, sequence) = ((e.conversation, e.initiator), parcel.sequence);
            let new = self.broker_rows(&target.entry, |txn| store::note_came(txn, of, sequence))?;
            if !new {
                return Ok(Delivery::Done);
            }
        }
        let message = Message {
            status: MessageStatus::Ready,
            priority: PRIORITY,
            order: 0,
            group: other.group,
            handle: other.handle,
            sequence: parcel.sequence,
            service: (service.id, service.name.as_str().into()),
            contract: (there.id, there.name.as_str().into()),
            message_type: (ty.id, ty.name.as_str().into()),
            validation: ty.validation.code(),
            body: parcel.body.clone(),
            enqueued: self.info.engine.now_local(),
        };
        self.enqueue(&target.entry, &queue, message)?;
        Ok(Delivery::Done)
    }

    /// Whether a transaction over two databases is committed in both or in none.
    fn commit_together(&self, a: &Arc<DatabaseEntry>, b: &Arc<DatabaseEntry>) -> bool {
        let takes_part = |entry: &Arc<DatabaseEntry>| {
            entry.store.role() == Role::Standalone || self.info.engine.has_dtc_support(entry)
        };
        a.id == b.id || takes_part(a) && takes_part(b)
    }

    /// Puts a message behind all others of a queue.
    pub(super) fn enqueue(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        queue: &QueueDef,
        message: Message,
    ) -> Result<()> {
        let order = entry.reserve_identity(queue.object_id, 0, 1, 1)?;
        let message = Message { order, ..message };
        self.broker_rows(entry, |txn| queue::put(txn, &queue.rows, &message))?;
        if let Some(set) = self.own_txns() {
            set.broker.queue((entry.id, queue.object_id));
        }
        Ok(())
    }

    /// The other end, which the initiator's first message makes; `None` when it is gone.
    fn other_end(
        &mut self,
        e: &Endpoint,
        entry: &Arc<DatabaseEntry>,
        service: &ServiceDef,
        contract: i32,
        sender: &str,
        from: &Arc<DatabaseEntry>,
    ) -> Result<Option<Endpoint>> {
        let (conversation, initiator) = (e.conversation, !e.initiator);
        let found =
            self.broker_rows(entry, |txn| match store::handle_of(txn, &conversation, initiator)? {
                Some(handle) => store::endpoint(txn, &handle),
                None => Ok(None),
            })?;
        if found.is_some() || !e.initiator || e.far_broker.is_some() {
            return Ok(found);
        }
        let made = Endpoint {
            handle: self.new_guid(),
            conversation,
            initiator: false,
            group: self.new_guid(),
            service: service.id,
            contract,
            lifetime: e.lifetime,
            state: State::Conversing,
            far_service: sender.to_owned(),
            wanted_broker: None,
            far_broker: Some(from.broker_id()),
            owner: service.owner,
            encrypted: e.encrypted,
            timer: None,
            sent: 0,
            received: 0,
        };
        self.broker_rows(entry, |txn| store::add(txn, &made))?;
        if made.lifetime.is_some() {
            self.touch_everything();
        }
        Ok(Some(made))
    }

    /// An id that nothing else has.
    pub(crate) fn new_guid(&self) -> Guid {
        let mut guid = [0; 16];
        self.info.engine.options().env.random.fill(&mut guid);
        guid
    }

    /// The service that a message is for, or why there is none.
    fn find_target(&self, from: &Arc<DatabaseEntry>, e: &Endpoint) -> std::result::Result<Target, String> {
        // What the instance says of itself comes from master, which has no broker.
        if !from.has_broker() && !e.is_of_instance() {
            return Err(status::disabled_here());
        }
        let known = e.far_broker.map(|id| guid_text(&id)).or_else(|| e.wanted_broker.clone());
        if e.far_broker.is_none() && !self.is_routed(from, e) {
            return Err(status::no_route());
        }
        let mut databases = self.info.engine.databases();
        // Its own first.
        databases.sort_by_key(|d| (d.id != from.id, d.id));
        let mut why = if known.is_some() { status::no_broker() } else { status::no_service() };
        for entry in databases {
            let is_it =
                known.as_ref().is_none_or(|id| guid_text(&entry.broker_id()).eq_ignore_ascii_case(id));
            if !is_it || !entry.carries_conversations() {
                continue;
            }
            let found = self.info.picture(&entry).service_named(&e.far_service).cloned();
            match found {
                Some(_) if !entry.has_broker() => why = status::disabled_there(),
                Some(service) => return Ok(Target { entry, service }),
                None if known.is_some() => why = status::no_service(),
                None => {}
            }
        }
        Err(why)
    }

    /// Whether a route of the sender's database says that the service is here.
    fn is_routed(&self, from: &Arc<DatabaseEntry>, e: &Endpoint) -> bool {
        let now = self.info.engine.now_utc();
        let fits = |route: &Arc<RouteDef>| {
            let same = |a: &String, b: &String| a.eq_ignore_ascii_case(b);
            route.service.as_ref().is_none_or(|s| *s == e.far_service)
                && route
                    .broker_instance
                    .as_ref()
                    .is_none_or(|b| e.wanted_broker.as_ref().is_none_or(|wanted| same(b, wanted)))
                && route.lifetime.is_none_or(|until| now < until)
        };
        self.info.picture(from).routes().any(fits)
    }

    /// Whether the owner of the sending service may send to a target, or why not. Answers need no permission.
    fn may_send(
        &self,
        from: &Arc<DatabaseEntry>,
        e: &Endpoint,
        target: &Target,
    ) -> std::result::Result<(), String> {
        if !e.initiator {
            return Ok(());
        }
        let (own, there) = (self.info.picture(from), self.info.picture(&target.entry));
        let owner = match own.service(e.service) {
            Some(service) if !e.is_of_instance() => service.owner,
            _ => e.owner,
        };
        let token = if from.id == target.entry.id {
            Some(there.token_of(owner))
        } else if e.is_of_instance() || own.settings().flags.get("TRUSTWORTHY").copied().unwrap_or(false) {
            let sid = own.principal(owner).and_then(|p| p.sid);
            // The owner of a database is its dbo.
            let sid =
                if owner == crate::catalog::DBO_USER { Some(own.settings().owner.clone()) } else { sid };
            sid.and_then(|sid| self.token_of_login(&there, &sid))
        } else {
            Some(public(&there))
        };
        let Some(token) = token else {
            let name = own.principal(owner).map_or_else(String::new, |p| p.name);
            return Err(status::not_known(name, target.entry.name()));
        };
        let on = SecurableRef::Service(target.service.id);
        if there.permits(&token, "SEND", on) == Verdict::Allowed {
            return Ok(());
        }
        Err(status::not_permitted(token.user, target.entry.id.0, &target.service.name))
    }

    fn token_of_login(&self, picture: &Picture, sid: &[u8]) -> Option<Token> {
        let logins = self.info.logins().ok()?;
        match logins.of_sid(sid) {
            Some(login) if login.sysadmin => Some(Token::dbo()),
            _ => picture.token_of_login(sid, false),
        }
    }
}

/// Nobody in particular.
fn public(picture: &Picture) -> Token {
    Token { owner: false, ..picture.token_of(crate::catalog::GUEST_USER) }
}

/// `priority` of a conversation: nobody says otherwise.
pub(super) const PRIORITY: u8 = 5;

/// Whether a body is what its type says.
pub(super) fn is_valid(picture: &Picture, validation: ValidationDef, body: Option<&[u8]>) -> bool {
    let to = match validation {
        ValidationDef::None => return true,
        ValidationDef::Empty => return body.is_none_or(<[u8]>::is_empty),
        ValidationDef::WellFormedXml => SqlType::Xml,
        ValidationDef::ValidXml(id) => match picture.xml_collection(id) {
            Some(found) => {
                let (collection, version) = (found.collection_id, found.version());
                SqlType::TypedXml(keel_types::XmlSchema { collection, version, document: false })
            }
            None => return false,
        },
    };
    let Some(body) = body.filter(|body| !body.is_empty()) else { return false };
    let cast = keel_types::cast::explicit(SqlType::VarBinary(keel_types::Length::Max), to);
    cast.is_ok_and(|cast| cast.apply(&Value::Bytes(body.into())).is_ok())
}

/// The message that says that the other end has failed: the number is negative where the broker itself says so.
pub(super) fn error_body(code: i64, description: &str) -> Arc<[u8]> {
    let escaped = description.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = format!(
        "<Error xmlns=\"http://schemas.microsoft.com/SQL/ServiceBroker/Error\"><Code>{code}</Code><Description>{escaped}</Description></Error>"
    );
    utf16(&text, true)
}

/// A text as the broker sends it.
pub(super) fn utf16(text: &str, marked: bool) -> Arc<[u8]> {
    let mark = if marked { &[0xFF, 0xFE][..] } else { &[] };
    mark.iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

impl Runner<'_> {
    /// A conversation has failed here: its own queue says so.
    pub(super) fn fail(&mut self, entry: &Arc<DatabaseEntry>, e: &Endpoint, why: &SqlError) -> Result<()> {
        let picture = self.info.picture(entry);
        let service = picture.service(e.service).cloned();
        let Some(queue) = service.as_ref().and_then(|s| picture.queue(s.queue)).cloned() else {
            return Ok(());
        };
        let named = |id: i32| picture.message_type(id).map_or_else(String::new, |t| t.name.clone());
        let contract = picture.contract(e.contract).map_or_else(String::new, |c| c.name.clone());
        let message = Message {
            status: MessageStatus::Ready,
            priority: PRIORITY,
            order: 0,
            group: e.group,
            handle: e.handle,
            sequence: 0,
            service: (e.service, service.map_or_else(String::new, |s| s.name.clone()).into()),
            contract: (e.contract, contract.into()),
            message_type: (ERROR, named(ERROR).into()),
            validation: 'X',
            body: Some(error_body(-i64::from(why.number), &why.message)),
            enqueued: self.info.engine.now_local(),
        };
        self.enqueue(entry, &queue, message)
    }
}
