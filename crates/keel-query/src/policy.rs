//! Security policies: which rows of a table or view whoever asks may see, and which they may write.
//!
//! A policy binds calls of inline table-valued functions to tables. A row *passes* a predicate when the function, called with
//! values of the row, returns a row.
//!
//! ```text
//!                 ┌ FILTER ── of every row read ───────► those that do not pass are not there
//!   predicate ────┤
//!                 └ BLOCK ─── of the row before or ────► error 33504
//!                             after it is changed
//! ```
//!
//! Filters become part of the reference to the table (see [`crate::bind::rel::Get::policy`]): they are tested before any
//! condition of the statement, so that nothing is computed from a row that is not there. What the database does by itself
//! (foreign keys and their cascades, index builds, checks, backups, the cleaning of history) sees all rows.
//!
//! While a predicate is bound no policy counts: a function reads its tables whole, the one that it guards among them.
//! The definitions are stored in the catalog (see [`crate::catalog`]).

use crate::catalog::ObjectId;
use serde::{Deserialize, Serialize};

/// CREATE SECURITY POLICY.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDef {
    /// Object id.
    pub object_id: ObjectId,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// STATE = ON.
    pub enabled: bool,
    /// SCHEMABINDING = ON: what its functions read is not asked of whoever reads the table, and functions, tables and columns
    /// stay as they are.
    pub schema_bound: bool,
    /// NOT FOR REPLICATION, which is only shown.
    pub not_for_replication: bool,
    /// Its predicates by id.
    pub predicates: Vec<PredicateDef>,
    /// Next free `security_predicate_id`; never reused.
    pub next_predicate: i32,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
}

/// A predicate of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredicateDef {
    /// `security_predicate_id`.
    pub predicate_id: i32,
    /// The table or view it guards.
    pub target: ObjectId,
    /// What it is for.
    pub kind: PredicateKind,
    /// The call as normalised text, with its outer parentheses.
    pub text: String,
}

/// What a predicate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PredicateKind {
    /// FILTER
    Filter,
    /// BLOCK of all operations.
    Block,
    /// BLOCK … AFTER INSERT
    AfterInsert,
    /// BLOCK … AFTER UPDATE
    AfterUpdate,
    /// BLOCK … BEFORE UPDATE
    BeforeUpdate,
    /// BLOCK … BEFORE DELETE
    BeforeDelete,
}

impl PredicateKind {
    /// Whether it filters.
    #[must_use]
    pub fn filters(self) -> bool {
        self == PredicateKind::Filter
    }
    /// Whether it blocks an operation.
    #[must_use]
    pub fn blocks(self, operation: PredicateKind) -> bool {
        !self.filters() && (self == operation || self == PredicateKind::Block)
    }
    /// Whether two predicates of one policy on one table would be about the same operation.
    #[must_use]
    pub fn overlaps(self, other: PredicateKind) -> bool {
        let either = self == PredicateKind::Block || other == PredicateKind::Block;
        self == other || either && !self.filters() && !other.filters()
    }
}

impl PolicyDef {
    /// Its predicates on a table or view.
    pub fn predicates_on(&self, target: ObjectId) -> impl Iterator<Item = &PredicateDef> {
        self.predicates.iter().filter(move |p| p.target == target)
    }
}
