//! Recursive CTEs: the step reads the rows of the round before from a work table.

use super::count::Counts;
use super::cx::{Cx, WorkRows};
use super::node::{RecursiveNode, WorkTableNode};
use super::{Operator, restore, row_bytes, save};
use crate::errors::{self, Result};
use keel_types::Value;
use std::sync::Arc;

/// A recursive CTE.
pub struct RecursiveOp {
    node: Arc<RecursiveNode>,
    anchor: Box<dyn Operator>,
    step: Box<dyn Operator>,
    /// Rows produced in this round, which the next one reads.
    produced: Vec<Vec<Value>>,
    round: u32,
    in_anchor: bool,
}

impl RecursiveOp {
    /// An operator with its inputs.
    #[must_use]
    pub fn new(node: Arc<RecursiveNode>, counts: Option<&Counts>) -> RecursiveOp {
        let (anchor, step) = (node.anchor.operator(counts), node.step.operator(counts));
        RecursiveOp { node, anchor, step, produced: Vec::new(), round: 0, in_anchor: true }
    }

    fn emit(&mut self, cx: &mut Cx<'_>, from: &[usize]) -> Result<()> {
        let row = save(cx, from);
        cx.charge(row_bytes(&row))?;
        restore(cx, &self.node.slots, &row);
        self.produced.push(row);
        Ok(())
    }
}

impl Operator for RecursiveOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.produced.clear();
        self.round = 0;
        self.in_anchor = true;
        let work = &mut cx.rare().work;
        if work.len() <= self.node.id {
            work.resize(self.node.id + 1, WorkRows::default());
        }
        self.anchor.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let node = self.node.clone();
        loop {
            cx.tick()?;
            if self.in_anchor {
                if self.anchor.next(cx)? {
                    self.emit(cx, &node.anchor_slots)?;
                    return Ok(true);
                }
                self.in_anchor = false;
            } else if self.step.next(cx)? {
                // The round that finds nothing more is not one too many.
                if node.limit != 0 && self.round > node.limit {
                    return Err(errors::max_recursion(node.limit));
                }
                self.emit(cx, &node.step_slots)?;
                return Ok(true);
            }
            if self.produced.is_empty() {
                return Ok(false);
            }
            self.round += 1;
            cx.rare().work[node.id] = Arc::new(std::mem::take(&mut self.produced));
            self.step.open(cx)?;
        }
    }

    fn close(&mut self) {
        self.produced = Vec::new();
        self.anchor.close();
        self.step.close();
    }
}

/// The reference inside the CTE.
pub struct WorkTableOp {
    node: Arc<WorkTableNode>,
    rows: WorkRows,
    at: usize,
}

impl WorkTableOp {
    /// An operator for this reference.
    #[must_use]
    pub fn new(node: Arc<WorkTableNode>) -> WorkTableOp {
        WorkTableOp { node, rows: WorkRows::default(), at: 0 }
    }
}

impl Operator for WorkTableOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.rows = cx.rare().work.get(self.node.id).cloned().unwrap_or_default();
        self.at = 0;
        Ok(())
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(row) = self.rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        restore(cx, &self.node.slots, row);
        Ok(true)
    }
    fn close(&mut self) {
        self.rows = WorkRows::default();
    }
}
