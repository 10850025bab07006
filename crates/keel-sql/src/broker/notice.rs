//! Messages that the instance itself sends: notifications of queries and of events. Each has a conversation of its own, of which the sender's end
//! is only there as long as the message waits; what the other end says is heard by nobody.

use super::Parcel;
use super::conversation::NAME_MAX;
use super::definition::{FIRST_ID, SYSTEM_SERVICES};
use super::deliver::{Commits, Delivery, utf16};
use super::errors::status;
use super::store::{self, Endpoint, State, Waiting};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_query::queue::Guid;
use keel_types::error::Result;
use std::sync::Arc;

/// A message of the instance.
pub(crate) struct Notice<'n> {
    /// The service that it is from, one of those of every database.
    pub from: i32,
    /// The contract.
    pub contract: i32,
    /// The message type.
    pub message_type: i32,
    /// The service that it is for.
    pub to: &'n str,
    /// Its broker.
    pub broker: Option<&'n String>,
    /// The user of the database who may send it, or may not.
    pub owner: i32,
    /// The body.
    pub body: &'n str,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It is in the queue, or waits until it can be.
    Yes,
    /// It never will be.
    Failed {
        /// The conversation that there was to be.
        handle: Guid,
        /// Why.
        why: String,
    },
}

impl Endpoint {
    /// Whether it is an end of the instance itself.
    pub fn is_of_instance(&self) -> bool {
        self.service < FIRST_ID
    }

    /// Whether the other end is one.
    pub fn answers_instance(&self) -> bool {
        !self.initiator && SYSTEM_SERVICES.iter().any(|s| s.name == self.far_service)
    }
}

impl Runner<'_> {
    /// Sends a message in the session's transaction.
    pub(crate) fn send_notice(&mut self, entry: &Arc<DatabaseEntry>, notice: &Notice<'_>) -> Result<Sent> {
        let mut e = Endpoint {
            handle: self.new_guid(),
            conversation: self.new_guid(),
            initiator: true,
            group: self.new_guid(),
            service: notice.from,
            contract: notice.contract,
            lifetime: None,
            // It has nothing more to say, and goes when all is delivered.
            state: State::DisconnectedOutbound,
            far_service: notice.to.to_owned(),
            wanted_broker: notice.broker.cloned(),
            far_broker: None,
            owner: notice.owner,
            encrypted: false,
            timer: None,
            sent: 2,
            received: 0,
        };
        let failed = |e: &Endpoint, why: String| Ok(Sent::Failed { handle: e.handle, why });
        if notice.to.chars().count() > NAME_MAX {
            return failed(&e, super::errors::service_name(notice.to).message.clone());
        }
        let picture = self.info.picture(entry);
        let ty = picture.message_type(notice.message_type).map_or_else(String::new, |t| t.name.clone());
        let body = Some(utf16(notice.body, true));
        let parcel = Parcel { sequence: 0, message_type: ty, ends: false, body };
        let status = match self.deliver(entry, &mut e, &parcel, Commits::Together)? {
            Delivery::Done => return Ok(Sent::Yes),
            Delivery::Failed(why) => return failed(&e, why.message.clone()),
            Delivery::Waits(why) if why == status::no_service() => return failed(&e, why),
            Delivery::Waits(why) => why,
            Delivery::Apart => status::busy(),
        };
        let waiting = Waiting {
            handle: e.handle,
            sequence: parcel.sequence,
            message_type: parcel.message_type,
            enqueued: self.info.engine.now_local(),
            status,
            body: parcel.body,
        };
        self.broker_rows(entry, |txn| {
            store::lock_group(txn, &e.group)?;
            store::add(txn, &e)?;
            store::keep(txn, &waiting)
        })?;
        self.info.engine.subscriptions.sends(entry.id);
        self.touch_everything();
        Ok(Sent::Yes)
    }
}
