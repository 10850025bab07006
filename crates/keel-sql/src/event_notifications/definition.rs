//! What an event notification is, as the catalog stores it.

use keel_query::catalog::ObjectId;
use serde::{Deserialize, Serialize};

/// What a notification is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum On {
    /// SERVER; it is stored in master.
    Server,
    /// DATABASE
    Database,
    /// QUEUE
    Queue(ObjectId),
}

impl On {
    /// `parent_class`, its name, and `parent_id`.
    #[must_use]
    pub fn parent(self) -> (i64, &'static str, i32) {
        match self {
            On::Server => (100, "SERVER", 0),
            On::Database => (0, "DATABASE", 0),
            On::Queue(id) => (1, "OBJECT_OR_COLUMN", id),
        }
    }
}

/// An event notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventNotificationDef {
    /// `object_id`
    pub id: ObjectId,
    /// Name.
    pub name: String,
    /// What it is on.
    pub on: On,
    /// WITH FAN_IN
    pub fan_in: bool,
    /// Events and groups of events, upper case.
    pub events: Vec<String>,
    /// TO SERVICE
    pub service: String,
    /// The broker, as an id.
    pub broker: String,
    /// `principal_id` of who made it, in its database.
    pub owner: i32,
    /// That one's login.
    pub sid: Vec<u8>,
    /// Local ticks.
    pub created: i64,
}
