//! How many rows: selectivities and distinct counts from statistics, or guesses.
//!
//! Conditions are taken to be independent of each other, but for the two ends of a range of one column. What lies between
//! constants the histogram says. Between `@x - 20` and `@x` it is not known where they are, but that they are at most 21
//! values: guessing for each end on its own would make of it a share of the table, which grows with the table.

use super::Planner;
use super::cost;
use crate::bind::rel::Get;
use crate::expr::{ArithOp, CmpOp, Expr, ExprKind, Slot};
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
            ExprKind::And(parts) => self.selectivity_of(parts, get),
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

    /// Fraction of rows that conditions let through together.
    #[must_use]
    pub fn selectivity_of<'e>(
        &self,
        conditions: impl IntoIterator<Item = &'e Expr>,
        get: Option<&Get>,
    ) -> f64 {
        let mut product = 1.0;
        // Ends of ranges that have found no other end, and what they let through alone.
        let mut ends: Vec<(End<'_>, f64)> = Vec::new();
        for e in conditions {
            let alone = self.selectivity(e, get);
            let Some(end) = End::of(e) else {
                product *= alone;
                continue;
            };
            let between = |(other, with): &(End<'_>, f64)| Some((self.between(other, &end)?, *with));
            let found = ends.iter().enumerate().find_map(|(i, other)| Some((i, between(other)?)));
            match found {
                Some((i, (both, with))) => {
                    ends.swap_remove(i);
                    product *= both.min(alone).min(with);
                }
                None => ends.push((end, alone)),
            }
        }
        ends.iter().map(|(_, alone)| alone).product::<f64>() * product
    }

    /// Fraction of rows between two ends of one range; `None` when they are not, or nothing is known.
    fn between(&self, a: &End<'_>, b: &End<'_>) -> Option<f64> {
        if a.slot != b.slot || a.low == b.low {
            return None;
        }
        let (low, high) = if a.low { (a, b) } else { (b, a) };
        let (_, distinct, column) = self.column(a.slot)?;
        let column = column?;
        let place = |end: &End<'_>| constant_of(end.value).and_then(|v| column.fraction_below(&v));
        if let (Some(from), Some(to)) = (place(low), place(high)) {
            return Some((to - from).max(RANGE_MIN));
        }
        let values = (distance(low.value, high.value)? + 1.0).max(1.0);
        let spread = match (column.bounds.first(), column.bounds.last()) {
            (Some(Value::Int(first)), Some(Value::Int(last))) => {
                (*last as f64 - *first as f64 + 1.0).max(1.0)
            }
            _ => return None,
        };
        Some((values / spread).max(1.0 / distinct))
    }

    fn range_selectivity(&self, op: CmpOp, c: &ColumnStatistics, value: &Expr) -> f64 {
        let Some(below) = constant_of(value).and_then(|v| c.fraction_below(&v)) else { return cost::RANGE };
        match op {
            CmpOp::Lt | CmpOp::Le => below.max(RANGE_MIN),
            _ => (1.0 - below).max(RANGE_MIN),
        }
    }
}

/// The least that a histogram is believed to know of a range.
const RANGE_MIN: f64 = 0.005;

/// One end of a range: `column >= value` and the like.
struct End<'e> {
    slot: Slot,
    low: bool,
    value: &'e Expr,
}

impl<'e> End<'e> {
    fn of(e: &'e Expr) -> Option<End<'e>> {
        let ExprKind::Compare(op, l, r) = &e.kind else { return None };
        let slot = |e: &Expr| Planner::base_slot(e);
        let (slot, op, value) = match (slot(l), slot(r)) {
            (Some(s), None) => (s, *op, &**r),
            (None, Some(s)) => (s, op.flip(), &**l),
            _ => return None,
        };
        let low = matches!(op, CmpOp::Gt | CmpOp::Ge);
        (low || matches!(op, CmpOp::Lt | CmpOp::Le)).then_some(End { slot, low, value })
    }
}

/// How far apart two integers are that are the same variable, plus or minus constants.
fn distance(low: &Expr, high: &Expr) -> Option<f64> {
    let ((of_low, low), (of_high, high)) = (from_variable(low)?, from_variable(high)?);
    (of_low == of_high).then_some(high - low)
}

/// A variable, and what is added to it.
fn from_variable(e: &Expr) -> Option<(usize, f64)> {
    let constant = |e: &Expr| match constant_of(e) {
        Some(Value::Int(n)) => Some(n as f64),
        _ => None,
    };
    match &e.kind {
        ExprKind::Var(v) if e.ty.is_integer() => Some((*v, 0.0)),
        ExprKind::Cast(c) if e.ty.is_integer() => from_variable(&c.input),
        ExprKind::Arith(ArithOp::Add, l, r) => match (constant(l), constant(r)) {
            (None, Some(n)) => from_variable(l).map(|(v, add)| (v, add + n)),
            (Some(n), None) => from_variable(r).map(|(v, add)| (v, add + n)),
            _ => None,
        },
        ExprKind::Arith(ArithOp::Sub, l, r) => {
            let n = constant(r)?;
            from_variable(l).map(|(v, add)| (v, add - n))
        }
        _ => None,
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
