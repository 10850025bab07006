//! What the broker's objects are, as the catalog stores them, and those that every database has.

use keel_query::catalog::{ObjectId, TableDef};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};

/// Ids of message types, contracts, services and routes that somebody made begin here.
pub const FIRST_ID: i32 = 65_536;
/// The route that every database has.
pub const LOCAL_ROUTE: i32 = FIRST_ID;
/// The contract that every database has.
pub const DEFAULT_CONTRACT: i32 = 6;
/// The type of messages that say that the other end has failed.
pub const ERROR: i32 = 1;
/// Of those that say that it has ended.
pub const END_DIALOG: i32 = 2;
/// Of those that a timer sends.
pub const DIALOG_TIMER: i32 = 4;
/// The message type that every database has.
pub const DEFAULT_TYPE: i32 = 14;
/// Of those that say that the result of a query has changed.
pub const QUERY_NOTIFICATION: i32 = 5;
/// Of those that say that an event has happened.
pub const EVENT_NOTIFICATION: i32 = 6;
/// The contract of the former.
pub const POST_QUERY_CONTRACT: i32 = 1;
/// The contract of the latter.
pub const POST_EVENT_CONTRACT: i32 = 2;
/// The service that the former come from.
pub const QUERY_SERVICE: i32 = 1;
/// The service that the latter come from.
pub const EVENT_SERVICE: i32 = 2;

/// How the bodies of messages of a type are validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValidationDef {
    /// NONE
    None,
    /// EMPTY
    Empty,
    /// WELL_FORMED_XML
    WellFormedXml,
    /// VALID_XML, with the collection.
    ValidXml(i32),
}

impl ValidationDef {
    /// `validation` of messages.
    #[must_use]
    pub fn code(self) -> char {
        match self {
            ValidationDef::None => 'N',
            ValidationDef::Empty => 'E',
            ValidationDef::WellFormedXml | ValidationDef::ValidXml(_) => 'X',
        }
    }
}

/// A message type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageTypeDef {
    /// `message_type_id`
    pub id: i32,
    /// Name; the case of its letters counts.
    pub name: String,
    /// `principal_id`
    pub owner: i32,
    /// VALIDATION
    pub validation: ValidationDef,
}

/// A message type in a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractMessage {
    /// Which.
    pub message_type: i32,
    /// The initiator may send it.
    pub by_initiator: bool,
    /// The target may.
    pub by_target: bool,
}

/// A contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractDef {
    /// `service_contract_id`
    pub id: i32,
    /// Name; the case of its letters counts.
    pub name: String,
    /// `principal_id`
    pub owner: i32,
    /// Its message types.
    pub messages: Vec<ContractMessage>,
}

/// ACTIVATION of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivationDef {
    /// STATUS
    pub enabled: bool,
    /// The procedure's name in three parts, quoted.
    pub procedure: String,
    /// MAX_QUEUE_READERS
    pub max_readers: i16,
    /// `principal_id` of who it runs as; [`keel_query::catalog::EXECUTE_AS_OWNER`] for the queue's owner.
    pub execute_as: i32,
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueDef {
    /// `object_id`
    pub object_id: ObjectId,
    /// Schema.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// STATUS
    pub enabled: bool,
    /// RETENTION
    pub retention: bool,
    /// POISON_MESSAGE_HANDLING
    pub poison_handling: bool,
    /// ACTIVATION
    pub activation: Option<ActivationDef>,
    /// Its messages.
    #[serde(with = "shared_rows")]
    pub rows: Arc<TableDef>,
    /// Local ticks.
    pub created: i64,
    /// Local ticks.
    pub modified: i64,
}

/// The rows of a queue as they are stored: a definition that is shared in memory.
mod shared_rows {
    use super::TableDef;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(rows: &Arc<TableDef>, to: S) -> Result<S::Ok, S::Error> {
        (**rows).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<TableDef>, D::Error> {
        TableDef::deserialize(from).map(Arc::new)
    }
}

/// A service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceDef {
    /// `service_id`
    pub id: i32,
    /// Name; the case of its letters counts.
    pub name: String,
    /// `principal_id`
    pub owner: i32,
    /// `service_queue_id`
    pub queue: ObjectId,
    /// Contracts by which it is a target.
    pub contracts: Vec<i32>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteDef {
    /// `route_id`
    pub id: i32,
    /// Name; the case of its letters counts.
    pub name: String,
    /// `principal_id`
    pub owner: i32,
    /// SERVICE_NAME; any when there is none.
    pub service: Option<String>,
    /// BROKER_INSTANCE; any when there is none.
    pub broker_instance: Option<String>,
    /// Until when it counts, UTC ticks.
    pub lifetime: Option<i64>,
    /// It was dropped: of the one that every database has, which is not stored.
    #[serde(default)]
    pub dropped: bool,
}

/// Message types that every database has.
pub static SYSTEM_TYPES: LazyLock<Vec<Arc<MessageTypeDef>>> = LazyLock::new(|| {
    let of = |id, name: &str, validation| {
        Arc::new(MessageTypeDef { id, name: name.to_owned(), owner: crate::catalog::DBO_USER, validation })
    };
    vec![
        of(ERROR, "http://schemas.microsoft.com/SQL/ServiceBroker/Error", ValidationDef::WellFormedXml),
        of(END_DIALOG, "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog", ValidationDef::Empty),
        of(DIALOG_TIMER, "http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer", ValidationDef::Empty),
        of(
            QUERY_NOTIFICATION,
            "http://schemas.microsoft.com/SQL/Notifications/QueryNotification",
            ValidationDef::WellFormedXml,
        ),
        of(
            EVENT_NOTIFICATION,
            "http://schemas.microsoft.com/SQL/Notifications/EventNotification",
            ValidationDef::WellFormedXml,
        ),
        of(DEFAULT_TYPE, "DEFAULT", ValidationDef::None),
    ]
});

/// The contracts that every database has.
pub static SYSTEM_CONTRACTS: LazyLock<Vec<Arc<ContractDef>>> = LazyLock::new(|| {
    let of = |id, name: &str, message_type, by_target| {
        let messages = vec![ContractMessage { message_type, by_initiator: true, by_target }];
        Arc::new(ContractDef { id, name: name.to_owned(), owner: crate::catalog::DBO_USER, messages })
    };
    vec![
        of(
            POST_QUERY_CONTRACT,
            "http://schemas.microsoft.com/SQL/Notifications/PostQueryNotification",
            QUERY_NOTIFICATION,
            false,
        ),
        of(
            POST_EVENT_CONTRACT,
            "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification",
            EVENT_NOTIFICATION,
            false,
        ),
        of(DEFAULT_CONTRACT, "DEFAULT", DEFAULT_TYPE, true),
    ]
});

/// The services that messages of the instance itself come from. They have no queues: nobody reads what is answered.
pub static SYSTEM_SERVICES: LazyLock<Vec<Arc<ServiceDef>>> = LazyLock::new(|| {
    let of = |id, name: &str| {
        let (owner, contracts) = (crate::catalog::DBO_USER, Vec::new());
        Arc::new(ServiceDef { id, name: name.to_owned(), owner, queue: 0, contracts })
    };
    vec![
        of(QUERY_SERVICE, "http://schemas.microsoft.com/SQL/Notifications/QueryNotificationService"),
        of(EVENT_SERVICE, "http://schemas.microsoft.com/SQL/Notifications/EventNotificationService"),
    ]
});

/// The route that every database has.
pub static SYSTEM_ROUTE: LazyLock<Arc<RouteDef>> = LazyLock::new(|| {
    Arc::new(RouteDef {
        id: LOCAL_ROUTE,
        name: "AutoCreatedLocal".to_owned(),
        owner: crate::catalog::DBO_USER,
        service: None,
        broker_instance: None,
        lifetime: None,
        dropped: false,
    })
});
