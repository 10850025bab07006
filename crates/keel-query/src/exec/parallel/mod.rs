//! Parallel execution: several threads run the same part of a plan over parts of a table.
//!
//! ```text
//!             consumer (aggregate, sort, build side, or rows as they come)
//!                 │ what each thread has made of its rows, brought together
//!   session's thread   helper   helper        same operators, each with its own state
//!                 └──────┴────────┘
//!          parts of one table (morsels), taken in turn;  hash tables that were built before, shared
//! ```
//!
//! A [`GatherNode`] marks such a part. Its *driver* is the table that is cut into parts: rows of it flow up through filters,
//! projections and the probe and outer sides of joins. Before the helpers begin, the session's thread computes what all share: the
//! build sides of these joins, the answers of subqueries that have one for all rows, the statement's view of each database, the parts. Then it does its own share like the others, so
//! that a statement for which no helper is free runs as it would have without.
//!
//! **What a consumer takes** is its choice: an aggregate, a sort and the build side of a join (`Source`) have each thread make a
//! partial result and bring these together; everybody else has rows sent ([`GatherOp`]).
//!
//! **Errors.** The first to fail stops the others. Of several errors the session's own counts, then that of the helper that was
//! started first. A cancelled session stops its helpers; who closes a gather waits until they have.
//!
//! **Memory** is the statement's: all its threads take from one grant, of the resource pool that the session knew before they began.
//! What a helper does not fit into that goes to files as the session's own would; what cannot go there is limited for all threads
//! together.
//!
//! Deliberately absent: helpers for statements that lock what they read, for transactions that have written (only their own thread
//! sees their rows), and inside of what a helper runs.

mod ahead;
mod frozen;
mod gather;
mod morsels;
mod team;
mod workers;

pub use gather::GatherOp;
pub(crate) use morsels::Morsels;
pub(crate) use team::Source;
pub use workers::Workers;

use super::cx::{Common, Report};
use super::hash::Fill;
use super::node::{Access, HashJoinNode, Node};
use crate::plan::SubPlan;
use crate::plan::shown::Shown;
use keel_base::DatabaseId;
use keel_node::Isolation;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A part of a plan that several threads may run.
pub struct GatherNode {
    /// What each runs.
    pub input: Arc<Node>,
    /// Slots of the rows that are sent; `None` where the consumer makes something of each thread's rows.
    pub slots: Option<Vec<usize>>,
    /// The table that is read in parts.
    pub driver: Arc<Access>,
    /// Rows with one value of the driver's leading column belong to one thread.
    pub whole: bool,
    /// Joins on the way up from there whose build side is shared, topmost first.
    pub joins: Vec<Arc<HashJoinNode>>,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// What a plan says of its parallel parts.
pub struct ParallelPlan {
    /// The statement's subqueries, which helpers run too.
    pub subplans: Arc<[SubPlan]>,
    /// Everything the statement reads: of which database, and in which view.
    pub reads: Vec<(DatabaseId, Option<Isolation>)>,
    /// MAXDOP of the statement.
    pub max_degree: Option<u16>,
    /// Threads that might work for it when it was compiled.
    pub degree: usize,
}

/// Helpers that a session may have.
pub struct Help {
    /// Where they come from.
    pub workers: Arc<Workers>,
    /// Threads at once, its own among them.
    pub degree: usize,
    /// Processor time of helpers, nanoseconds, is added here while they run.
    pub used: Arc<AtomicU64>,
}

/// Tells a node from the others of its plan.
fn address<T>(node: &Arc<T>) -> usize {
    Arc::as_ptr(node) as usize
}

/// What one execution knows of its parallel parts.
#[derive(Default)]
pub(crate) struct Together {
    /// None in a helper: it has no helpers of its own.
    plan: Option<Arc<ParallelPlan>>,
    /// Tables that are read in parts, by the address of their access.
    parts: Vec<(usize, Arc<Morsels>)>,
    /// Build sides that are there already, by the address of their join.
    built: Vec<(usize, Fill)>,
    /// What all threads of the statement have, once it has had helpers.
    pub common: Option<Arc<Mutex<Common>>>,
    /// What this thread has told the others that it holds, bytes.
    pub told: usize,
    /// What helpers have told whose gather had ended before.
    late: Arc<Mutex<Vec<Report>>>,
    /// This is a helper.
    helps: bool,
}

impl Together {
    /// Of a session's own execution.
    pub fn of(plan: &Arc<ParallelPlan>) -> Together {
        Together { plan: Some(Arc::clone(plan)), ..Together::default() }
    }

    /// The parts of a table, where it is read in parts.
    pub fn parts_of(&self, access: &Arc<Access>) -> Option<Arc<Morsels>> {
        self.parts.iter().find(|(of, _)| *of == address(access)).map(|(_, parts)| Arc::clone(parts))
    }

    /// A build side that is there already, once.
    pub fn take_built(&mut self, join: &Arc<HashJoinNode>) -> Option<Fill> {
        let at = self.built.iter().position(|(of, _)| *of == address(join))?;
        Some(self.built.swap_remove(at).1)
    }

    /// What helpers have told whose gather had ended before: each of them once.
    pub fn take_late(&self) -> Vec<Report> {
        std::mem::take(&mut *self.late.lock())
    }

    /// The build sides of a gather's joins, for a helper.
    fn built_for(&self, gather: &GatherNode) -> Vec<(usize, Fill)> {
        let of_gather = |(of, _): &&(usize, Fill)| gather.joins.iter().any(|join| *of == address(join));
        self.built.iter().filter(of_gather).map(|(of, fill)| (*of, fill.share())).collect()
    }

    /// A gather begins anew: what is left of its last time counts no more.
    fn forget(&mut self, gather: &GatherNode) {
        self.parts.retain(|(of, _)| *of != address(&gather.driver));
        self.built.retain(|(of, _)| gather.joins.iter().all(|join| *of != address(join)));
    }

    /// Whether this is a helper.
    pub fn helps(&self) -> bool {
        self.helps
    }
}
