//! Service Broker: its objects, and the statements of conversations.

use super::{Expr, Ident, ObjectName, SelectItem, Top, Variable};
use smol_str::SmolStr;

/// CREATE, ALTER and DROP of the broker's objects.
#[derive(Clone, Debug, PartialEq)]
pub enum BrokerStatement {
    /// CREATE MESSAGE TYPE
    CreateMessageType { name: Ident, owner: Option<Ident>, validation: Validation },
    /// ALTER MESSAGE TYPE
    AlterMessageType { name: Ident, validation: Validation },
    /// CREATE CONTRACT
    CreateContract { name: Ident, owner: Option<Ident>, messages: Vec<(Ident, SentBy)> },
    /// CREATE QUEUE
    CreateQueue { name: ObjectName, options: QueueOptions },
    /// ALTER QUEUE … WITH
    AlterQueue { name: ObjectName, options: QueueOptions },
    /// ALTER QUEUE … REBUILD, REORGANIZE, MOVE TO
    MaintainQueue { name: ObjectName },
    /// CREATE SERVICE
    CreateService { name: Ident, owner: Option<Ident>, queue: ObjectName, contracts: Vec<Ident> },
    /// ALTER SERVICE; true adds a contract.
    AlterService { name: Ident, queue: Option<ObjectName>, contracts: Vec<(bool, Ident)> },
    /// CREATE ROUTE
    CreateRoute { name: Ident, owner: Option<Ident>, options: RouteOptions },
    /// ALTER ROUTE
    AlterRoute { name: Ident, options: RouteOptions },
    /// CREATE EVENT NOTIFICATION
    CreateEventNotification(Box<EventNotification>),
    /// DROP EVENT NOTIFICATION
    DropEventNotification { names: Vec<Ident>, on: EventScope },
    /// DROP of any of the others
    Drop { class: BrokerClass, name: ObjectName, if_exists: bool },
}

/// CREATE EVENT NOTIFICATION
#[derive(Clone, Debug, PartialEq)]
pub struct EventNotification {
    pub name: Ident,
    pub on: EventScope,
    /// WITH FAN_IN
    pub fan_in: bool,
    /// Events and groups, as written.
    pub events: Vec<SmolStr>,
    pub service: SmolStr,
    /// A broker's id, or `current database`.
    pub broker: SmolStr,
}

/// What event notifications are on.
#[derive(Clone, Debug, PartialEq)]
pub enum EventScope {
    /// SERVER
    Server,
    /// DATABASE
    Database,
    /// QUEUE
    Queue(ObjectName),
}

/// Classes of the broker's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerClass {
    /// MESSAGE TYPE
    MessageType,
    /// CONTRACT
    Contract,
    /// QUEUE
    Queue,
    /// SERVICE
    Service,
    /// ROUTE
    Route,
}

impl BrokerClass {
    /// As messages have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BrokerClass::MessageType => "message type",
            BrokerClass::Contract => "contract",
            BrokerClass::Queue => "queue",
            BrokerClass::Service => "service",
            BrokerClass::Route => "route",
        }
    }
}

/// VALIDATION of a message type.
#[derive(Clone, Debug, PartialEq)]
pub enum Validation {
    /// NONE
    None,
    /// EMPTY
    Empty,
    /// WELL_FORMED_XML
    WellFormedXml,
    /// VALID_XML WITH SCHEMA COLLECTION
    ValidXml(ObjectName),
}

/// Who may send messages of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentBy {
    /// INITIATOR
    Initiator,
    /// TARGET
    Target,
    /// ANY
    Any,
}

/// WITH of CREATE and ALTER QUEUE: what is not said is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueOptions {
    pub status: Option<bool>,
    pub retention: Option<bool>,
    pub poison_handling: Option<bool>,
    pub activation: Option<ActivationOptions>,
}

/// ACTIVATION of a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum ActivationOptions {
    /// `ACTIVATION (DROP)`
    Drop,
    /// What is not said is `None`.
    Set {
        status: Option<bool>,
        procedure: Option<ObjectName>,
        max_readers: Option<i64>,
        execute_as: Option<ActivationUser>,
    },
}

/// EXECUTE AS of ACTIVATION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActivationUser {
    /// SELF
    Myself,
    /// OWNER
    Owner,
    /// `'user'`
    Named(SmolStr),
}

/// WITH of CREATE and ALTER ROUTE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteOptions {
    pub service: Option<SmolStr>,
    pub broker_instance: Option<SmolStr>,
    pub lifetime: Option<i64>,
    pub address: Option<SmolStr>,
    pub mirror_address: Option<SmolStr>,
}

/// Statements of conversations.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversation {
    /// BEGIN DIALOG
    Begin(BeginDialog),
    /// SEND
    Send(SendMessage),
    /// `RECEIVE`, alone or within WAITFOR
    Receive(Receive),
    /// GET CONVERSATION GROUP, alone or within WAITFOR
    GetGroup { group: Variable, queue: ObjectName, wait: Option<Patience> },
    /// END CONVERSATION
    End { handle: Expr, how: EndConversation },
    /// MOVE CONVERSATION
    Move { handle: Expr, group: Expr },
    /// BEGIN CONVERSATION TIMER
    Timer { handle: Expr, seconds: Expr },
}

/// WAITFOR around a statement; TIMEOUT in milliseconds when there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Patience {
    pub timeout: Option<Expr>,
}

/// BEGIN DIALOG
#[derive(Clone, Debug, PartialEq)]
pub struct BeginDialog {
    pub handle: Variable,
    pub from: Ident,
    pub to: Expr,
    pub broker_instance: Option<Expr>,
    pub contract: Option<Ident>,
    pub related: Option<Related>,
    pub lifetime: Option<Expr>,
    pub encryption: bool,
}

/// RELATED_CONVERSATION, RELATED_CONVERSATION_GROUP
#[derive(Clone, Debug, PartialEq)]
pub enum Related {
    Conversation(Expr),
    Group(Expr),
}

/// SEND
#[derive(Clone, Debug, PartialEq)]
pub struct SendMessage {
    pub handles: Vec<Expr>,
    pub message_type: Option<Ident>,
    pub body: Option<Expr>,
}

/// RECEIVE
#[derive(Clone, Debug, PartialEq)]
pub struct Receive {
    pub top: Option<Top>,
    pub items: Vec<SelectItem>,
    pub queue: ObjectName,
    /// INTO a table variable
    pub into: Option<Variable>,
    pub filter: Option<ReceiveFilter>,
    pub wait: Option<Patience>,
}

/// WHERE of RECEIVE
#[derive(Clone, Debug, PartialEq)]
pub enum ReceiveFilter {
    /// `conversation_handle =`
    Handle(Expr),
    /// `conversation_group_id =`
    Group(Expr),
}

/// WITH of END CONVERSATION
#[derive(Clone, Debug, PartialEq)]
pub enum EndConversation {
    /// Nothing.
    Plain,
    /// ERROR, DESCRIPTION
    Error { code: Expr, description: Expr },
    /// CLEANUP
    Cleanup,
}
