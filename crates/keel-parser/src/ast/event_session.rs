//! CREATE, ALTER and DROP EVENT SESSION.

use super::{CompareOp, Expr, Ident, ObjectName, Opt, Span};

#[derive(Clone, Debug, PartialEq)]
pub struct EventSessionStatement {
    pub name: Ident,
    /// ON DATABASE; ON SERVER otherwise.
    pub on_database: bool,
    pub action: EventSessionAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EventSessionAction {
    /// Changes are all of ADD.
    Create {
        changes: Vec<EventSessionChange>,
        options: Vec<Opt>,
    },
    Alter {
        changes: Vec<EventSessionChange>,
        options: Vec<Opt>,
        /// STATE = START (true) or STOP.
        state: Option<bool>,
    },
    Drop,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EventSessionChange {
    AddEvent(SessionEvent),
    DropEvent(ObjectName),
    AddTarget(SessionTarget),
    DropTarget(ObjectName),
}

/// `package.event ( SET … ACTION ( … ) WHERE … )`. Packages are written as schemas, modules as databases.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionEvent {
    pub name: ObjectName,
    pub settings: Vec<Opt>,
    pub actions: Vec<ObjectName>,
    pub predicate: Option<EventPredicate>,
    pub span: Span,
}

/// `package.target ( SET … )`
#[derive(Clone, Debug, PartialEq)]
pub struct SessionTarget {
    pub name: ObjectName,
    pub settings: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EventPredicate {
    And(Vec<EventPredicate>),
    Or(Vec<EventPredicate>),
    Not(Box<EventPredicate>),
    Compare {
        source: ObjectName,
        op: CompareOp,
        value: Expr,
    },
    Like {
        source: ObjectName,
        pattern: Expr,
    },
    /// `package.comparator ( source, value )`
    Call {
        comparator: ObjectName,
        source: ObjectName,
        value: Expr,
    },
}
