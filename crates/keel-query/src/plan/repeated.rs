//! Tables on the inner side of nested loops, and in subqueries that are asked row by row, to whose columns no index leads: they are read
//! by way of an index spool ([`crate::exec::index_spool`]), and cost a whole reading the first time only.

use super::Planner;
use super::access::{Path, Request, same_key};
use super::cost;
use super::physical::positions;
use super::shown::{Part, Shown};
use crate::bind::rel::{Get, Hints, SlotSet};
use crate::errors::Result;
use crate::exec::node::{IndexSpoolNode, Node, Op};
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
    conjunct: usize,
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
        if !is_large(path.cost) || !self.is_free(get) {
            return Ok(scan);
        }
        let of_around = |e: &Expr| e.slots().iter().any(|s| get.column_of(*s).is_none());
        let used = path.conjuncts();
        let steady = |e: &Expr| !e.is_volatile() && !e.has_subquery();
        let (around, own): (Vec<Expr>, Vec<Expr>) = conjuncts.iter().cloned().partition(of_around);
        if around.is_empty()
            || used.iter().any(|i| of_around(&conjuncts[*i]))
            || !conjuncts.iter().all(steady)
        {
            return Ok(scan);
        }
        let equal = |(conjunct, e): (usize, &Expr)| {
            let (column, sought) = same_key(get, e)?;
            Some(Equal { column, sought, conjunct })
        };
        let equals: Vec<Equal> = around.iter().enumerate().filter_map(equal).collect();
        if equals.is_empty() {
            return Ok(scan);
        }
        self.spool(get, scan, &around, &own, &equals, need)
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
        let written = get.target || self.direct_target == Some(get.id);
        !(locks || skip_locked || no_wait || written || get.hints.force_scan) && get.policy.is_empty()
    }

    fn spool(
        &mut self,
        get: &Get,
        scan: Node,
        around: &[Expr],
        own: &[Expr],
        equals: &[Equal],
        need: &SlotSet,
    ) -> Result<Node> {
        let rest: Vec<Expr> = around
            .iter()
            .enumerate()
            .filter(|(i, _)| !equals.iter().any(|e| e.conjunct == *i))
            .map(|(_, e)| e.clone())
            .collect();
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
        let (mut sought, mut columns, mut key_columns) = (Vec::new(), Vec::new(), Vec::new());
        for e in equals {
            let column = &get.table.columns[e.column];
            sought.push(self.compiler().value(&e.sought)?);
            let own = self.binder.read(get.slot(e.column));
            columns.push(self.compiler().value(&own)?);
            key_columns.push(KeyColumn::ascending(column.ty, column.collation));
        }
        let integers = |e: &Equal| e.sought.ty.is_integer() && get.table.columns[e.column].ty.is_integer();
        let seek = equals.iter().map(|e| self.seek_key(get, &around[e.conjunct])).collect();
        let (rows, cost) = (scan.rows, scan.cost);
        let node = IndexSpoolNode {
            bytes: (fill.cost * ROW_BYTES) as u64,
            scan: Arc::new(scan),
            fill: Arc::new(fill),
            integer_key: matches!(equals, [one] if integers(one)),
            sought,
            own: columns,
            key_columns,
            residual: self.pred(&rest)?,
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

/// What reading a node for each of so many rows costs.
pub(super) fn for_each(rows: f64, node: &Node) -> f64 {
    node.cost * rows.min(1.0) + again(node) * (rows - 1.0).max(0.0)
}

/// What reading it once more costs, when it has been read before.
pub(super) fn again(node: &Node) -> f64 {
    match &node.op {
        Op::IndexSpool(_) => cost::SEEK + node.rows * cost::ROW,
        Op::Loop(n) => again(&n.outer) + n.outer.rows * again(&n.inner),
        _ => {
            let saved: f64 = node.inputs().into_iter().map(|input| input.cost - again(input)).sum();
            (node.cost - saved).max(cost::TOUCH)
        }
    }
}
