//! CREATE, ALTER and DROP of SERVER AUDIT, SERVER AUDIT SPECIFICATION and DATABASE AUDIT SPECIFICATION.

use super::{EventPredicate, Ident, ObjectName, Opt};
use smol_str::SmolStr;

#[derive(Clone, Debug, PartialEq)]
pub enum AuditStatement {
    /// SERVER AUDIT
    Audit { name: Ident, action: AuditAction },
    /// SERVER or DATABASE AUDIT SPECIFICATION
    Specification {
        /// Of the database; of the server otherwise.
        database: bool,
        name: Ident,
        action: AuditSpecificationAction,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum AuditAction {
    Create {
        to: AuditTarget,
        options: Vec<Opt>,
        predicate: Option<Box<AuditPredicate>>,
    },
    Alter {
        to: Option<AuditTarget>,
        options: Vec<Opt>,
        predicate: Option<Box<AuditPredicate>>,
    },
    /// REMOVE WHERE
    RemoveWhere,
    /// MODIFY NAME =
    Rename(Ident),
    Drop,
}

/// `TO FILE ( … )`, `TO APPLICATION_LOG`, …
#[derive(Clone, Debug, PartialEq)]
pub struct AuditTarget {
    /// In upper case.
    pub kind: SmolStr,
    pub options: Vec<Opt>,
}

/// WHERE, with how it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPredicate {
    pub condition: EventPredicate,
    pub text: SmolStr,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AuditSpecificationAction {
    Create {
        audit: Ident,
        parts: Vec<AuditPart>,
        /// STATE = ON (true) or OFF.
        state: Option<bool>,
    },
    Alter {
        audit: Option<Ident>,
        parts: Vec<AuditPart>,
        state: Option<bool>,
    },
    Drop,
}

/// `ADD ( … )` or `DROP ( … )`
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPart {
    /// ADD; DROP otherwise.
    pub add: bool,
    pub what: AuditedActions,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AuditedActions {
    Group(Ident),
    /// `SELECT, INSERT ON OBJECT::dbo.t BY public, u`
    On {
        /// In upper case.
        actions: Vec<SmolStr>,
        /// In upper case; OBJECT where none is written.
        class: Option<SmolStr>,
        name: Box<ObjectName>,
        by: Vec<Ident>,
    },
}
