//! Events that belong to no transaction: they wait in memory until the broker has its turn. What a crash takes from there is not told.

use super::definition::EventNotificationDef;
use super::types::Raised;
use crate::engine::{Engine, MASTER};
use base64::Engine as _;
use keel_base::DatabaseId;
use keel_query::catalog::ObjectId;
use keel_query::xml::push_text;
use keel_types::{SqlType, cast};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events that wait at most; what comes then is lost, and the error log says so once before some are sent.
const WAITING_MAX: usize = 10_000;

/// An event, and who is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Where the notification is.
    pub database: DatabaseId,
    pub notification: Arc<EventNotificationDef>,
    pub kind: &'static str,
    pub body: String,
}

/// The events of an instance that wait.
#[derive(Default)]
pub struct Events {
    waiting: Mutex<Vec<Waiting>>,
    /// One was lost since events were taken last.
    overflowed: AtomicBool,
}

impl Events {
    /// Takes those of notifications in a database.
    pub(crate) fn take(&self, database: DatabaseId) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock();
        let (own, others) = std::mem::take(&mut *waiting).into_iter().partition(|w| w.database == database);
        *waiting = others;
        self.overflowed.store(false, Ordering::Relaxed);
        own
    }

    /// Puts back what could not be told.
    pub(crate) fn put_back(&self, of: Waiting) {
        self.waiting.lock().push(of);
    }

    /// Whether any of a database waits.
    pub(crate) fn any(&self, database: DatabaseId) -> bool {
        self.waiting.lock().iter().any(|w| w.database == database)
    }
}

/// Where an event happens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// The database; `None` for what concerns the server only.
    pub database: Option<DatabaseId>,
    /// The queue.
    pub queue: Option<ObjectId>,
}

/// The elements of an event behind those that all have.
#[derive(Default)]
pub(crate) struct Elements(String);

impl Elements {
    /// Adds an element.
    pub(crate) fn with(mut self, tag: &str, text: &str) -> Elements {
        self.0.push_str(&format!("<{tag}>"));
        push_text(text, false, &mut self.0);
        self.0.push_str(&format!("</{tag}>"));
        self
    }

    /// Adds one that holds a document.
    pub(crate) fn holding(mut self, tag: &str, document: &str) -> Elements {
        self.0.push_str(&format!("<{tag}>{document}</{tag}>"));
        self
    }

    /// Adds bytes.
    pub(crate) fn bytes(self, tag: &str, bytes: &[u8]) -> Elements {
        self.with(tag, &base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

impl Engine {
    /// The notifications that want an event; none costs one look into the catalogs.
    pub(crate) fn who_wants(
        &self,
        raised: Raised,
        place: Place,
    ) -> Vec<(DatabaseId, Arc<EventNotificationDef>)> {
        let mut found = Vec::new();
        let databases = [Some(MASTER), place.database.filter(|d| *d != MASTER)];
        for entry in databases.into_iter().flatten().filter_map(|id| self.database_by_id(id)) {
            let picture = entry.picture();
            let wanted = picture.event_notifications().filter(|n| {
                use super::definition::On;
                let here = match n.on {
                    On::Server => entry.id == MASTER,
                    On::Database => Some(entry.id) == place.database,
                    On::Queue(id) => Some(entry.id) == place.database && place.queue == Some(id),
                };
                here && raised.is_among(&n.events)
            });
            found.extend(wanted.map(|n| (entry.id, Arc::clone(n))));
        }
        found
    }

    /// Tells of an event. `elements` gives what it says besides, if anybody wants to know.
    pub(crate) fn raise(&self, raised: Raised, place: Place, spid: u32, elements: impl FnOnce() -> Elements) {
        let wanted = self.who_wants(raised, place);
        if wanted.is_empty() {
            return;
        }
        let now = crate::views::date(self.now_local());
        let now = cast::to_text(&now, SqlType::DateTime, 126).unwrap_or_default();
        let body = format!(
            "<EVENT_INSTANCE><EventType>{}</EventType><PostTime>{now}</PostTime><SPID>{spid}</SPID>{}</EVENT_INSTANCE>",
            raised.name(),
            elements().0
        );
        let mut waiting = self.raised.waiting.lock();
        for (n, (database, notification)) in wanted.iter().enumerate() {
            let twice = |(d, other): &(DatabaseId, Arc<EventNotificationDef>)| {
                d == database && super::send::is_fanned_in(other, notification)
            };
            if wanted[..n].iter().any(twice) {
                continue;
            }
            if waiting.len() >= WAITING_MAX {
                if !self.raised.overflowed.swap(true, Ordering::Relaxed) {
                    self.options().log.write("Event notifications are raised faster than they can be sent.");
                }
                return;
            }
            let (database, notification) = (*database, Arc::clone(notification));
            waiting.push(Waiting { database, notification, kind: raised.name(), body: body.clone() });
        }
        drop(waiting);
        self.broker.bell.ring();
    }
}
