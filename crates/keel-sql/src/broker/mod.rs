//! # Service Broker: conversations between queues, and procedures that read them
//!
//! ```text
//!   BEGIN DIALOG ─► endpoint ── SEND ──► delivery ─────────► queue of the other service ─► RECEIVE
//!                   (a row)                 │                 (a table, and its endpoint)     ▲
//!                                           └ not now ─► waits (sys.transmission_queue)       │ wakes who waits,
//!                                                              ▲                              │ starts procedures
//!                                     a turn of the broker ────┴── timers, lifetimes ─────────┘
//! ```
//!
//! Everything is rows of the databases that the two services are in: messages are rows of the queue's table ([`keel_query::queue`]), conversations
//! of a hidden tree (`store`). They change in the session's transaction, and go through its log; so crashes, backups and failovers need nothing
//! here. A message is delivered by the transaction that sends it, also into another database: both commit or none. What cannot be delivered then
//! waits beside its conversation, and all that is sent behind it.
//!
//! | file | owns |
//! | --- | --- |
//! | [`definition`] | what message types, contracts, queues, services, routes are; those that every database has |
//! | `ddl` | their CREATE, ALTER, DROP, and who may |
//! | [`mod@plan`] | the statements of conversations as a program keeps them |
//! | `store` | conversations as rows |
//! | `conversation` | BEGIN DIALOG, SEND, END, MOVE, timers |
//! | `deliver` | where a message goes, and why it does not |
//! | `notice` | messages that the instance itself sends |
//! | `receive` | RECEIVE, GET CONVERSATION GROUP, WAITFOR around them |
//! | [`post`] | what is known in memory: who waits, what was rolled back, what runs |
//! | `turn` | what the broker does by itself: deliveries tried again, timers, activation |
//!
//! ## Invariants
//!
//! * Who reads or writes what belongs to a conversation holds the lock of its group, to the end of the transaction. A receiver takes the first
//!   group that has a message and that nobody has locked, and messages of no other.
//! * Nobody writes the other end's row: what an end knows of the other stands in its own queue. So two ends never wait for each other.
//! * Messages of one conversation are numbered under its group's lock, and stand in the queue in that order: what waits to be delivered goes before
//!   what is sent later.
//!
//! ## Deliberately absent
//!
//! Other instances: routes lead to services of this one, there are no endpoints, no remote bindings and no forwarding. Priorities.

mod conversation;
mod ddl;
pub mod definition;
mod deliver;
pub(crate) mod errors;
mod notice;
pub mod plan;
pub mod post;
mod receive;
pub(crate) mod store;
mod turn;

pub(crate) use conversation::Parcel;
pub(crate) use ddl::{named_by, securable};
use definition::QueueDef;
pub use errors::RAISED;
pub(crate) use notice::{Notice, Sent};
pub use plan::Plan;
pub use post::{Broker, Touched};
pub(crate) use turn::sp_keel_broker_turn;
pub use turn::{Activation, Monitor};

use crate::catalog::{CatalogObject, DatabaseSettings};
use crate::engine::{DatabaseEntry, Engine, MASTER, MODEL};
use crate::event_notifications::raise::{Elements, Place};
use crate::event_notifications::types::Raised;
use crate::map::txn_error;
use crate::run::Runner;
use keel_node::{Isolation, LockMode, Role, Transaction, TxnError};
use keel_query::catalog::{Catalog as _, ObjectId};
use keel_query::queue::Guid;
use keel_types::error::Result;
use std::sync::Arc;

/// The flag of ENABLE_BROKER.
pub(crate) const ENABLED: &str = "BROKER";

impl DatabaseEntry {
    /// `service_broker_guid`
    #[must_use]
    pub fn broker_id(&self) -> Guid {
        self.picture().settings().broker_id.unwrap_or_else(|| self.store.control().family)
    }

    /// `is_broker_enabled`
    #[must_use]
    pub fn has_broker(&self) -> bool {
        let of_itself = !matches!(self.id, MASTER | MODEL);
        is_enabled(self.picture().settings(), of_itself)
    }

    /// Whether conversations can be carried on here: it is written here, and not on another replica.
    pub(crate) fn carries_conversations(&self) -> bool {
        let writes = matches!(self.store.role(), Role::Standalone | Role::Primary);
        writes && self.snapshot().is_none() && !self.is_restoring() && !self.is_dropped() && {
            let picture = self.picture();
            let settings = picture.settings();
            !settings.read_only && !settings.offline
        }
    }
}

/// Whether messages are delivered to and from a database with these settings; of most, when nobody has said so, too.
pub(crate) fn is_enabled(settings: &DatabaseSettings, of_itself: bool) -> bool {
    settings.flags.get(ENABLED).copied().unwrap_or(of_itself)
}

/// An id as text.
pub(crate) fn guid_text(guid: &Guid) -> String {
    crate::convert::display(&keel_types::Value::Guid(*guid))
}

impl Engine {
    /// A transaction is over that has sent messages or received some. A queue whose receivers were rolled back too often is switched off.
    pub(crate) fn end_conversing(&self, touched: Touched, committed: bool) {
        for (database, queue) in self.broker.ended(touched, committed) {
            let Some(entry) = self.database_by_id(database) else { continue };
            let done = disable(&entry, queue, self.now_local());
            if done.is_ok()
                && let Some(queue) = entry.picture().queue(queue)
            {
                self.raise_of_queue(Raised::BrokerQueueDisabled, &entry, queue);
            }
            if let Err(e) = done {
                let text = format!(
                    "An error occurred in the service broker queue rollback handler, while trying to disable a queue. Database ID: {}, Queue ID: {queue}, Error: {}, State: {}.",
                    database.0, e.number, e.state
                );
                self.options().log.write(&text);
            }
        }
    }
}

/// Switches a queue off that handles poison messages so.
fn disable(entry: &DatabaseEntry, id: ObjectId, now: i64) -> Result<()> {
    let picture = entry.picture();
    let Some(queue) = picture.queue(id).filter(|q| q.poison_handling && q.enabled) else { return Ok(()) };
    let queue = QueueDef { enabled: false, modified: now, ..(**queue).clone() };
    entry.put_now(CatalogObject::Queue(Arc::new(queue)))
}

impl Engine {
    /// Tells the services that want to know what has happened to a queue.
    pub(crate) fn raise_of_queue(&self, raised: Raised, entry: &DatabaseEntry, queue: &QueueDef) {
        let place = Place { database: Some(entry.id), queue: Some(queue.object_id) };
        self.raise(raised, place, 0, || {
            Elements::default()
                .with("ServerName", &self.options().server_name)
                .with("LoginName", "sa")
                .with("UserName", "dbo")
                .with("DatabaseName", &entry.name())
                .with("SchemaName", &entry.picture().schema_name(queue.schema_id).unwrap_or_default())
                .with("ObjectName", &queue.name)
                .with("ObjectType", "QUEUE")
        });
    }
}

impl Runner<'_> {
    /// Works in the session's transaction of a database, at the level that the broker's rows are read and written at.
    pub(crate) fn broker_rows<T>(
        &mut self,
        entry: &DatabaseEntry,
        work: impl FnOnce(&mut Transaction) -> std::result::Result<T, TxnError>,
    ) -> Result<T> {
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(entry.id)?;
        let level = txn.isolation();
        txn.set_isolation(Isolation::ReadCommitted);
        let done = work(txn);
        txn.set_isolation(level);
        done.map_err(|e| txn_error(e, &entry.name(), session))
    }

    /// Keeps DDL away from a queue.
    fn lock_queue(&mut self, entry: &DatabaseEntry, queue: ObjectId) -> Result<()> {
        self.broker_rows(entry, |txn| txn.lock_table(queue as u32, LockMode::IntentExclusive))
    }

    /// Something has come into a queue, or will be changed about it, once the transaction is over.
    fn touch_queue(&mut self, entry: &DatabaseEntry, queue: ObjectId) {
        if let Some(set) = self.own_txns() {
            set.broker.queue((entry.id, queue));
            set.broker.stirs = true;
        }
    }

    /// Messages may be delivered that could not be before, once the transaction is over.
    fn touch_everything(&mut self) {
        if let Some(set) = self.own_txns() {
            set.broker.stirs = true;
        }
    }
}
