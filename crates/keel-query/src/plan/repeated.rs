//! Tables on the inner side of nested loops, and in subqueries that are asked row by row, to whose columns no index leads: they are read
//! by way of an index spool ([`crate::exec::index_spool`]), and cost a whole reading the first time only.

use super::Planner;
use super::access::{Path, Request, same_key};
use super::cost;
use super::physical::positions;
use super::shown::{Part, Shown};
use crate::bind::rel::{Get, Hints, SlotSet};
use crate::errors::Result;
use crate::exec::node::{HashKey, HashKeys, IndexSpoolNode, Node, Op};
use crate::expr::Expr;
use keel_types::key::KeyColumn;
use std::sync::Arc;

/// A table that costs less than this is read as it is.
const COST_MIN: f64 = 1000.0;
/// Bytes of a row, for who does not know better.
const ROW_BYTES: f64 = 64.0;

/// A condition that a column is equal to something of the query around.
struct Equal {
    column: usize,
    sought: Expr,
    whole: Expr,
}

/// The conditions on a table that is read again and again.
struct Split {
    /// What a spool finds rows by.
    equals: Vec<Equal>,
    /// What else there is about the query around.
    rest: Vec<Expr>,
    /// Conditions on the table alone.
    own: Vec<Expr>,
}

/// What it costs to read something for one row of the query around after the other.
#[derive(Clone, Copy)]
pub(super) struct Repeated {
    /// The first time.
    pub(super) first: f64,
    /// Filling its spools, the second time.
    filling: f64,
    /// From then on.
    again: f64,
}

impl Repeated {
    /// Of a node.
    pub(super) fn of(node: &Node) -> Repeated {
        Repeated { first: node.cost, filling: filling(node), again: again(node) }
    }

    /// Whether it fills a spool.
    pub(super) fn is_spooled(self) -> bool {
        self.filling > 0.0
    }

    /// With so much more each time.
    pub(super) fn and(self, touched: f64) -> Repeated {
        Repeated { first: self.first + touched, again: self.again + touched, ..self }
    }

    /// For so many rows.
    pub(super) fn for_each(self, rows: f64) -> f64 {
        let others = (rows - 1.0).max(0.0);
        self.first * rows.min(1.0) + self.filling * others.min(1.0) + self.again * others
    }
}

impl Planner<'_, '_> {
    /// Builds the reading of a table as [`Planner::access`] does, by way of a spool where that may be cheaper.
    pub(super) fn read(
        &mut self,
        get: &Get,
        path: &Path,
        conjuncts: &[Expr],
        need: &SlotSet,
    ) -> Result<Node> {
        let scan = self.access(get, path, conjuncts, need)?;
        match self.split(get, path, conjuncts) {
            Some(split) => self.spool(get, scan, &split, need),
            None => Ok(scan),
        }
    }

    /// What it costs.
    pub(super) fn cost_of_read(&self, get: &Get, path: &Path, conjuncts: &[Expr]) -> Repeated {
        match self.split(get, path, conjuncts) {
            Some(_) => Repeated {
                first: path.cost,
                filling: path.cost * (1.0 + cost::SPOOL_BUILD),
                again: cost::SEEK + path.rows * cost::ROW,
            },
            None => Repeated { first: path.cost, filling: 0.0, again: path.cost },
        }
    }

    /// The conditions, where a spool may answer some of them.
    fn split(&self, get: &Get, path: &Path, conjuncts: &[Expr]) -> Option<Split> {
        let of_around = |e: &Expr| e.slots().iter().any(|s| get.column_of(*s).is_none());
        let steady = |e: &Expr| !e.is_volatile() && !e.has_subquery();
        if !is_large(path.cost)
            || !self.is_free(get)
            || path.conjuncts().iter().any(|i| of_around(&conjuncts[*i]))
            || !conjuncts.iter().all(steady)
        {
            return None;
        }
        let (around, own): (Vec<Expr>, Vec<Expr>) = conjuncts.iter().cloned().partition(of_around);
        let (mut equals, mut rest) = (Vec::new(), Vec::new());
        for e in around {
            match same_key(get, &e) {
                Some((column, sought)) => equals.push(Equal { column, sought, whole: e }),
                None => rest.push(e),
            }
        }
        (!equals.is_empty()).then_some(Split { equals, rest, own })
    }

    /// Whether reading it once for all is as good as reading it each time.
    fn is_free(&self, get: &Get) -> bool {
        let Hints {
            repeatable,
            decisive,
            serializable,
            update,
            exclusive,
            table,
            table_exclusive,
            skip_locked,
            no_wait,
            ..
        } = get.hints;
        let locks = repeatable || decisive || serializable || update || exclusive || table || table_exclusive;
        let written = get.target || self.direct_target == Some(get.id) || self.anew;
        !(locks || skip_locked || no_wait || written || get.hints.force_scan) && get.policy.is_empty()
    }

    fn spool(&mut self, get: &Get, scan: Node, split: &Split, need: &SlotSet) -> Result<Node> {
        let Split { equals, rest, own } = split;
        let mut inside = need.clone();
        rest.iter().for_each(|e| e.add_slots(&mut inside));
        let kept: SlotSet = inside.iter().copied().filter(|s| get.column_of(*s).is_some()).collect();
        inside.extend(equals.iter().map(|e| get.slot(e.column)));
        if inside.contains(&get.locator) {
            return Ok(scan);
        }
        // The same table: directions name it once.
        let from = self.decided();
        let request = Request { get, conjuncts: own, need: &inside, order: None, row_goal: None };
        let path = self.best_path(&request);
        let fill = self.access(get, &path, own, &inside)?;
        self.strike_out(from..self.decided());
        let (mut sought, mut columns, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for e in equals {
            let column = &get.table.columns[e.column];
            sought.push(self.compiler().value(&e.sought)?);
            let own = self.binder.read(get.slot(e.column));
            columns.push(self.compiler().value(&own)?);
            let column = KeyColumn::ascending(column.ty, column.collation);
            parts.push(HashKey { column, with_nulls: false });
        }
        let seek = equals.iter().map(|e| self.seek_key(get, &e.whole)).collect();
        let (rows, cost) = (scan.rows, scan.cost);
        let node = IndexSpoolNode {
            bytes: (fill.cost * ROW_BYTES) as u64,
            scan: Arc::new(scan),
            fill: Arc::new(fill),
            sought,
            own: columns,
            keys: HashKeys::new(parts),
            residual: self.pred(rest)?,
            slots: positions(kept),
            shown: Shown::of("Index Spool", "Eager Spool", vec![Part::Seek(seek)]),
        };
        Ok(Node { op: Op::IndexSpool(Arc::new(node)), rows, cost })
    }
}

/// Whether a table costs so much that it is not read again and again.
pub(super) fn is_large(cost: f64) -> bool {
    cost >= COST_MIN
}

/// What filling its spools costs.
fn filling(node: &Node) -> f64 {
    match &node.op {
        Op::IndexSpool(n) => n.fill.cost + n.fill.rows * cost::SPOOL_BUILD,
        _ => node.inputs().into_iter().map(filling).sum(),
    }
}

/// What reading it once more costs, when it has been read before.
fn again(node: &Node) -> f64 {
    match &node.op {
        Op::IndexSpool(_) => cost::SEEK + node.rows * cost::ROW,
        Op::Loop(n) => again(&n.outer) + n.outer.rows * again(&n.inner),
        _ => {
            let saved: f64 = node.inputs().into_iter().map(|input| input.cost - again(input)).sum();
            (node.cost - saved).max(cost::TOUCH)
        }
    }
}
