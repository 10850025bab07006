//! Trivial plans: those that stay the same whatever their variables have.
//!
//! A statement with literals may be compiled with variables in their place, for all texts that differ in these alone, only if that costs none
//! of them a better plan (the product's *simple parameterization* calls such a statement safe). So it is where nothing was chosen by
//! estimates: one table, read by its unique key, in the one way that there is, or in one that no variable has a say in.

use super::Planner;
use super::access::{Path, Request};
use super::parallel::PART_COST_MIN;
use super::run::{Body, Plan};
use crate::catalog::TableDef;
use crate::exec::node::{Node, Op};
use crate::expr::{Expr, ExprKind};
use keel_types::SqlType;

impl Plan {
    /// Whether values of variables can make no difference to it, nor to what it gives but by what they are.
    #[must_use]
    pub fn is_trivial(&self) -> bool {
        let root = match &self.body {
            Body::Query { root, .. } | Body::Assign { root, .. } => root,
            Body::Dml(dml) => &dml.source,
        };
        let keeps_base_types = |table: &TableDef| table.columns.iter().all(|c| c.ty != SqlType::SqlVariant);
        !self.weighed
            && self.subplans.is_empty()
            && self.parallel.is_none()
            && self.target().is_none_or(|table| keeps_base_types(table) && !has_long_decimals(table))
            && reads_one_table(root)
    }
}

/// Digits of a decimal beside which an integer literal, which has just its digits, and an int variable, which has ten, come to the same:
/// their product has 38 at most, so nothing is rounded off.
const DIGITS_MAX: u8 = 27;

fn has_long_decimals(table: &TableDef) -> bool {
    table.columns.iter().any(|c| c.ty.decimal_parts().is_some_and(|(digits, _)| digits > DIGITS_MAX))
}

fn reads_one_table(node: &Node) -> bool {
    let simple = match &node.op {
        Op::One | Op::Empty | Op::Access(_) | Op::Values(_) => true,
        Op::Filter(_) | Op::Project(_) | Op::Sort(_) => true,
        Op::Aggregate(n) => n.groups.is_empty(),
        _ => false,
    };
    simple && node.inputs().into_iter().all(reads_one_table)
}

fn has_value(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e.kind, ExprKind::Var(_) | ExprKind::Const(_)))
}

impl Planner<'_, '_> {
    /// Notes whether values had a say in how a table with so many rows is read, for which there were so many ways.
    pub(super) fn note_weighing(&self, r: &Request<'_>, best: Option<&Path>, ways: usize, rows: f64) {
        if !r.conjuncts.iter().any(has_value) {
            return;
        }
        if has_long_decimals(&r.get.table) {
            self.binder.steering.weighed.set(true);
        }
        if best.is_some_and(|path| path.point) {
            return;
        }
        // Of a large table a range may be little, or so much that several threads read it.
        let ranges = rows > PART_COST_MIN && best.is_some_and(Path::is_range);
        if ways > 1 || ranges {
            self.binder.steering.weighed.set(true);
        }
    }
}
