//! The simple operators: one row, literal rows, virtual tables, filter, projection, spool.

use super::count::Counts;
use super::cx::Cx;
use super::node::{FilterNode, Node, ProjectNode, SpoolNode, ValuesNode, VirtualScan};
use super::{Operator, restore, row_bytes, save};
use crate::errors::{self, Result};
use crate::scope::RowSource;
use keel_node::Isolation;
use keel_types::Value;
use std::sync::Arc;

/// One row without columns.
#[derive(Default)]
pub struct OneOp {
    pending: bool,
}

impl Operator for OneOp {
    fn open(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.pending = true;
        Ok(())
    }
    fn next(&mut self, _: &mut Cx<'_>) -> Result<bool> {
        Ok(std::mem::take(&mut self.pending))
    }
    fn close(&mut self) {}
}

/// No rows.
pub struct EmptyOp;

impl Operator for EmptyOp {
    fn open(&mut self, _: &mut Cx<'_>) -> Result<()> {
        Ok(())
    }
    fn next(&mut self, _: &mut Cx<'_>) -> Result<bool> {
        Ok(false)
    }
    fn close(&mut self) {}
}

/// Literal rows.
pub struct ValuesOp {
    node: Arc<ValuesNode>,
    at: usize,
}

impl ValuesOp {
    /// An operator for these rows.
    #[must_use]
    pub fn new(node: Arc<ValuesNode>) -> ValuesOp {
        ValuesOp { node, at: 0 }
    }
}

impl Operator for ValuesOp {
    fn open(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.at = 0;
        Ok(())
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(row) = self.node.rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        for (code, slot) in row.iter().zip(&self.node.slots) {
            code.eval_into(cx, *slot)?;
        }
        Ok(true)
    }
    fn close(&mut self) {}
}

/// A virtual table.
pub struct VirtualOp {
    node: Arc<VirtualScan>,
    rows: Option<RowSource>,
}

// SAFETY: the iterator is made, used and dropped within one execution on one thread; an operator that is sent to
// another thread has been closed and holds none.
unsafe impl Send for VirtualOp {}

impl VirtualOp {
    /// An operator for this table.
    #[must_use]
    pub fn new(node: Arc<VirtualScan>) -> VirtualOp {
        VirtualOp { node, rows: None }
    }
}

impl Operator for VirtualOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let args = self.node.args.iter().map(|a| a.eval(cx)).collect::<Result<Vec<_>>>()?;
        let table = &self.node.table.0;
        let view = match table.reads() {
            Some(database) => {
                // A view under locks would wait for writers.
                let locks = cx.txn(database)?.isolation() != Isolation::Snapshot;
                Some(cx.view(database, locks.then_some(Isolation::ReadCommitted))?.1.clone())
            }
            None => None,
        };
        let vars = std::mem::take(&mut cx.vars);
        let rows = cx.exec_ctx(vars, |ctx| match view {
            Some(view) => table.open_at(ctx, &args, view),
            None => table.open(ctx, &args),
        });
        cx.vars = vars;
        self.rows = Some(rows?);
        Ok(())
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(rows) = &mut self.rows else { return Ok(false) };
        for row in rows {
            cx.tick()?;
            let mut row = match row {
                Ok(row) => row,
                Err(e) if e.severity <= 10 => {
                    cx.say(e);
                    continue;
                }
                Err(e) => {
                    self.node.table.0.tell(cx.session, e)?;
                    continue;
                }
            };
            for (from, slot) in &self.node.columns {
                if let Some(v) = row.get_mut(*from) {
                    cx.slots[*slot] = std::mem::take(v);
                }
            }
            match &self.node.residual {
                Some(p) if !p.test(cx)? => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
    fn close(&mut self) {
        self.rows = None;
    }
}

/// A filter.
pub struct FilterOp {
    node: Arc<FilterNode>,
    input: Box<dyn Operator>,
    passes: bool,
}

impl FilterOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<FilterNode>, counts: Option<&Counts>) -> FilterOp {
        let input = node.input.operator(counts);
        FilterOp { node, input, passes: false }
    }
}

impl Operator for FilterOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.passes = match &self.node.startup {
            Some(p) => p.test(cx)?,
            None => true,
        };
        if self.passes { self.input.open(cx) } else { Ok(()) }
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.passes {
            return Ok(false);
        }
        while self.input.next(cx)? {
            match &self.node.pred {
                Some(p) if !p.test(cx)? => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
    fn close(&mut self) {
        self.input.close();
    }
}

/// A projection.
pub struct ProjectOp {
    node: Arc<ProjectNode>,
    input: Box<dyn Operator>,
}

impl ProjectOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<ProjectNode>, counts: Option<&Counts>) -> ProjectOp {
        let input = node.input.operator(counts);
        ProjectOp { node, input }
    }
}

impl Operator for ProjectOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.input.open(cx)
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.input.next(cx)? {
            return Ok(false);
        }
        for (slot, code) in &self.node.exprs {
            code.eval_into(cx, *slot)?;
        }
        Ok(true)
    }
    fn close(&mut self) {
        self.input.close();
    }
}

/// At most one row.
pub struct MaxOneRowOp {
    input: Box<dyn Operator>,
    done: bool,
}

impl MaxOneRowOp {
    /// An operator over this input.
    #[must_use]
    pub fn new(input: &Node, counts: Option<&Counts>) -> MaxOneRowOp {
        MaxOneRowOp { input: input.operator(counts), done: false }
    }
}

impl Operator for MaxOneRowOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.done = false;
        self.input.open(cx)
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.input.next(cx)? {
            if self.done {
                return Err(errors::subquery_many_rows());
            }
            self.done = true;
            return Ok(true);
        }
        Ok(false)
    }
    fn close(&mut self) {
        self.input.close();
    }
}

/// A spool: reads its input once per distinct set of outer values in a row.
pub struct SpoolOp {
    node: Arc<SpoolNode>,
    input: Box<dyn Operator>,
    rows: Vec<Vec<Value>>,
    filled_for: Option<Vec<Value>>,
    at: usize,
    bytes: usize,
}

impl SpoolOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<SpoolNode>, counts: Option<&Counts>) -> SpoolOp {
        let input = node.input.operator(counts);
        SpoolOp { node, input, rows: Vec::new(), filled_for: None, at: 0, bytes: 0 }
    }
}

impl Operator for SpoolOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.at = 0;
        let outer = save(cx, &self.node.outer);
        if self.filled_for.as_ref().is_some_and(|old| same_values(old, &outer)) {
            return Ok(());
        }
        cx.discharge(self.bytes);
        self.bytes = 0;
        self.rows.clear();
        self.filled_for = None;
        self.input.open(cx)?;
        while self.input.next(cx)? {
            let row = save(cx, &self.node.slots);
            let bytes = row_bytes(&row);
            cx.charge(bytes)?;
            self.bytes += bytes;
            self.rows.push(row);
        }
        self.filled_for = Some(outer);
        Ok(())
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(row) = self.rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        restore(cx, &self.node.slots, row);
        Ok(true)
    }
    fn close(&mut self) {
        self.rows = Vec::new();
        self.filled_for = None;
        self.bytes = 0;
        self.input.close();
    }
}

/// Whether two saved rows hold identical values (byte for byte: used only to reuse results).
pub(crate) fn same_values(a: &[Value], b: &[Value]) -> bool {
    a.iter().zip(b).all(|(a, b)| match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Variant(_), _) | (_, Value::Variant(_)) => false,
        (Value::DateTimeOffset(a, x), Value::DateTimeOffset(b, y)) => a == b && x == y,
        (Value::Decimal(a), Value::Decimal(b)) => a == b,
        _ => keel_types::compare::order(a, b, keel_types::Collation::BIN2).is_eq(),
    })
}
