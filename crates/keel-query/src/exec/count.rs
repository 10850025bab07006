//! [`Counts`]: what each operator of one execution did, for SET STATISTICS PROFILE and XML.
//!
//! Counting is an operator around the operator. Nobody who does not ask for it has one, and an execution that does has operators of its
//! own, which are not used again.

use super::Operator;
use super::cx::Cx;
use super::node::Node;
use crate::errors::Result;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counters of a plan's operators, by [`Node::identity`].
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Shared with the statement's helpers.
    of: Arc<Mutex<HashMap<usize, Arc<Count>>>>,
    /// The most threads that worked at once.
    degree: Arc<AtomicUsize>,
}

/// What an operator did.
#[derive(Debug, Default)]
pub struct Count {
    rows: AtomicU64,
    executions: AtomicU64,
    ends: AtomicU64,
}

impl Counts {
    /// Of an operator: rows it gave, how often it was opened, and how often it was read to its end. All 0 for one that was never made.
    #[must_use]
    pub fn of(&self, node: usize) -> [u64; 3] {
        let of = self.of.lock();
        let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
        of.get(&node).map_or([0; 3], |c| [read(&c.rows), read(&c.executions), read(&c.ends)])
    }

    /// The most threads that worked at once.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree.load(Ordering::Relaxed).max(1)
    }

    /// So many threads work at once.
    pub(super) fn note_degree(&self, threads: usize) {
        self.degree.fetch_max(threads, Ordering::Relaxed);
    }

    /// The operator, counted.
    pub(super) fn around(&self, node: &Node, operator: Box<dyn Operator>) -> Box<dyn Operator> {
        let count = Arc::clone(self.of.lock().entry(node.identity()).or_default());
        Box::new(Counted { operator, count })
    }
}

struct Counted {
    operator: Box<dyn Operator>,
    count: Arc<Count>,
}

impl Operator for Counted {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.count.executions.fetch_add(1, Ordering::Relaxed);
        self.operator.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let more = self.operator.next(cx)?;
        let counter = if more { &self.count.rows } else { &self.count.ends };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(more)
    }

    fn close(&mut self) {
        self.operator.close();
    }
}
