//! Security policies: which rows of a table whoever asks may see and change.

use super::{Expr, ObjectName, Span};

/// `CREATE|ALTER SECURITY POLICY name changes [WITH (…)] [NOT FOR REPLICATION]`
#[derive(Clone, Debug, PartialEq)]
pub struct SecurityPolicy {
    pub alter: bool,
    pub name: ObjectName,
    pub changes: Vec<PredicateChange>,
    /// STATE
    pub state: Option<bool>,
    /// SCHEMABINDING, which only CREATE takes.
    pub schema_binding: Option<bool>,
    pub not_for_replication: Option<bool>,
}

/// `ADD|ALTER|DROP FILTER|BLOCK PREDICATE [function(arguments)] ON table [operation]`
#[derive(Clone, Debug, PartialEq)]
pub struct PredicateChange {
    pub verb: PredicateVerb,
    /// BLOCK; otherwise FILTER.
    pub block: bool,
    /// The call of the predicate function; `None` behind DROP.
    pub call: Option<Expr>,
    pub table: ObjectName,
    /// Of BLOCK: the operation it is about; `None` for all.
    pub operation: Option<BlockOperation>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateVerb {
    Add,
    Alter,
    Drop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOperation {
    AfterInsert,
    AfterUpdate,
    BeforeUpdate,
    BeforeDelete,
}
