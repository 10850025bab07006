//! How many rows: selectivities and distinct counts from statistics, or guesses.

use super::Planner;
use super::cost;
use crate::bind::rel::Get;
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::stats::ColumnStatistics;
use keel_types::Value;

impl Planner<'_, '_> {
    fn base_slot(e: &Expr) -> Option<Slot> {
        match &e.kind {
            ExprKind::Slot(s) => Some(*s),
            ExprKind::Cast(c) => Self::base_slot(&c.input),
            _ => None,
        }
    }

    /// Rows of the table a slot was read from, its distinct values, and its statistics when sampled.
    fn column(&self, slot: Slot) -> Option<(f64, f64, Option<ColumnStatistics>)> {
        let (get, column) = self.binder.slots[slot as usize].origin?;
        let table = self.tables.get(&get)?;
        let stats = self.statistics(table);
        let rows = stats.as_ref().map_or(cost::DEFAULT_ROWS, |s| s.rows.max(cost::ROWS_MIN));
        let id = table.columns[column].column_id;
        let alone = table.indexes.iter().any(|i| i.unique && i.key.len() == 1 && i.key[0].column_id == id);
        if alone {
            let known = stats.as_ref().and_then(|s| s.columns.get(column)).cloned();
            return Some((rows, rows, known));
        }
        if let Some(c) = stats.as_ref().and_then(|s| s.columns.get(column)) {
            return Some((rows, c.distinct.clamp(1.0, rows), Some(c.clone())));
        }
        let in_key = table.indexes.iter().any(|i| i.key.iter().any(|k| k.column_id == id));
        let guess = if in_key { rows.powf(0.6) } else { rows.powf(0.5) };
        Some((rows, guess.max(1.0), None))
    }

    /// Distinct combinations of slots among `rows` rows.
    #[must_use]
    pub fn distinct_of(&self, slots: &[Slot], rows: f64) -> f64 {
        let mut product = 1.0f64;
        for s in slots {
            product *= self.column(*s).map_or(rows.powf(0.5), |(_, d, _)| d);
            if product > rows {
                break;
            }
        }
        product.min(rows).max(1.0).min(rows.max(1.0))
    }

    /// Fraction of rows a condition lets through.
    #[must_use]
    pub fn selectivity(&self, e: &Expr, get: Option<&Get>) -> f64 {
        let s = match &e.kind {
            ExprKind::Compare(op, l, r) => self.comparison_selectivity(*op, l, r, get),
            ExprKind::And(parts) => parts.iter().map(|p| self.selectivity(p, get)).product(),
            ExprKind::Or(parts) => {
                1.0 - parts.iter().map(|p| 1.0 - self.selectivity(p, get)).product::<f64>()
            }
            ExprKind::Not(inner) => 1.0 - self.selectivity(inner, get),
            ExprKind::IsNull(inner) => Self::base_slot(inner)
                .and_then(|s| self.column(s))
                .and_then(|(_, _, c)| c)
                .map_or(0.05, |c| c.null_fraction),
            ExprKind::Like(..) => cost::LIKE,
            ExprKind::InList(l, list) => {
                let one =
                    Self::base_slot(l).and_then(|s| self.column(s)).map_or(cost::EQUAL, |(_, d, _)| 1.0 / d);
                one * list.len() as f64
            }
            ExprKind::Const(Value::Bit(true)) => 1.0,
            ExprKind::Const(_) => 0.0,
            ExprKind::Subquery(_) => 0.5,
            _ => cost::OTHER,
        };
        s.clamp(1e-7, 1.0)
    }

    fn comparison_selectivity(&self, op: CmpOp, l: &Expr, r: &Expr, get: Option<&Get>) -> f64 {
        let known = |e: &Expr| Self::base_slot(e).and_then(|s| Some((s, self.column(s)?)));
        let mine = |s: Slot| get.is_none_or(|g| g.column_of(s).is_some());
        match (op, known(l), known(r)) {
            (CmpOp::Eq, Some((_, (_, a, _))), Some((_, (_, b, _)))) => 1.0 / a.max(b),
            (CmpOp::Eq, Some((s, (_, d, _))), None) | (CmpOp::Eq, None, Some((s, (_, d, _)))) if mine(s) => {
                1.0 / d
            }
            (CmpOp::Eq, ..) => cost::EQUAL,
            (CmpOp::Ne, ..) => 0.9,
            (op, Some((_, (.., Some(c)))), None) => self.range_selectivity(op, &c, r),
            (op, None, Some((_, (.., Some(c))))) => self.range_selectivity(op.flip(), &c, l),
            _ => cost::RANGE,
        }
    }

    fn range_selectivity(&self, op: CmpOp, c: &ColumnStatistics, value: &Expr) -> f64 {
        let Some(below) = constant_of(value).and_then(|v| c.fraction_below(&v)) else { return cost::RANGE };
        match op {
            CmpOp::Lt | CmpOp::Le => below.max(0.005),
            _ => (1.0 - below).max(0.005),
        }
    }
}

/// The value of a constant expression (folding conversions of constants).
fn constant_of(e: &Expr) -> Option<Value> {
    if let Some(v) = e.as_const() {
        return Some(v.clone());
    }
    if !e.is_constant() {
        return None;
    }
    let mut none = crate::expr::compile::NoSubqueries;
    let code = crate::expr::compile::Compiler { subqueries: &mut none }.value(e).ok()?;
    crate::expr::fold::evaluate(&code)
}
