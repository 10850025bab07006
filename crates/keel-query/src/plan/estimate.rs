//! How many rows: selectivities and distinct counts from statistics, or guesses.
//!
//! Conditions are taken to be independent of each other, but for the two ends of a range of one column, and for equalities of
//! several columns of which it is known what they have together: a postal code and its town let through what the code alone
//! does. What lies between
//! constants the histogram says. Between `@x - 20` and `@x` it is not known where they are, but that they are at most 21
//! values: guessing for each end on its own would make of it a share of the table, which grows with the table. Values are those of
//! constants and those that variables have by now (`known`).

use super::Planner;
use super::cost;
use super::days;
use super::rewrite::Implied;
use crate::bind::rel::Get;
use crate::catalog::IndexDef;
use crate::expr::{ArithOp, CmpOp, Expr, ExprKind, Slot};
use crate::stats::ColumnStatistics;
use keel_types::datetime::TICKS_PER_DAY;
use keel_types::{Decimal, Value};
use std::mem::discriminant;

/// Values in no more than such a part of the span of keys leave doubt about where conditions choose.
const REACHED_MAX: f64 = 0.5;

/// Between 0, keys anywhere in the span are chosen, and 1, only those that have something to join: which of the two it is differs, and
/// many rows where few were expected cost more than the other way round.
const REACH: f64 = 0.75;

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
        self.column_of(get, column)
    }

    /// The same by table reference and position.
    fn column_of(&self, get: u32, column: usize) -> Option<(f64, f64, Option<ColumnStatistics>)> {
        let table = self.tables.get(&get)?;
        let stats = self.statistics(table);
        let rows = stats.as_ref().map_or(cost::DEFAULT_ROWS, |s| s.rows.max(cost::ROWS_MIN));
        let id = table.columns[column].column_id;
        let alone = table
            .indexes
            .iter()
            .any(|i| i.unique && i.filter.is_none() && i.key.len() == 1 && i.key[0].column_id == id);
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
        let mut tables: Vec<(u32, Vec<usize>)> = Vec::new();
        for s in slots {
            match self.binder.slots[*s as usize].origin {
                Some((get, column)) if self.tables.contains_key(&get) => {
                    match tables.iter_mut().find(|(g, _)| *g == get) {
                        Some((_, columns)) => columns.push(column),
                        None => tables.push((get, vec![column])),
                    }
                }
                _ => product *= rows.powf(0.5),
            }
        }
        for (get, columns) in tables {
            product *= self.distinct_together(get, &columns).0;
        }
        product.min(rows).max(1.0).min(rows.max(1.0))
    }

    /// Distinct combinations of columns of a table, and whether more is known than what each has alone.
    fn distinct_together(&self, get: u32, columns: &[usize]) -> (f64, bool) {
        let alone = |columns: &mut dyn Iterator<Item = usize>| -> f64 {
            columns.filter_map(|c| self.column_of(get, c)).map(|(_, d, _)| d).product()
        };
        let Some(table) = self.tables.get(&get) else { return (1.0, false) };
        let stats = self.statistics(table);
        let rows = stats.as_ref().map_or(cost::DEFAULT_ROWS, |s| s.rows.max(cost::ROWS_MIN));
        let ids: Vec<i32> = columns.iter().map(|c| table.columns[*c].column_id).collect();
        let is_key = |i: &IndexDef| {
            i.unique
                && i.filter.is_none()
                && !i.key.is_empty()
                && i.key.iter().all(|k| ids.contains(&k.column_id))
        };
        if columns.len() > 1 && table.indexes.iter().any(is_key) {
            return (rows, true);
        }
        let known = stats.as_ref().and_then(|s| s.together(&ids));
        let Some(known) = known.filter(|_| columns.len() > 1) else {
            return (alone(&mut columns.iter().copied()).min(rows), false);
        };
        let others =
            columns.iter().copied().filter(|c| !known.columns.contains(&table.columns[*c].column_id));
        ((known.distinct * alone(&mut others.into_iter())).min(rows), true)
    }

    /// Fraction of rows that equalities let through together.
    fn equalities(&self, mut all: Vec<Equality>) -> f64 {
        let mut product = 1.0;
        while let Some(tables) = all.first().map(|e| e.tables) {
            let (same, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| e.tables == tables);
            all = others;
            product *= self.equal_together(tables, &same);
        }
        product
    }

    fn equal_together(&self, tables: [Option<u32>; 2], equalities: &[Equality]) -> f64 {
        let independent: f64 = equalities.iter().map(|e| e.alone).product();
        let sides = [0, 1].map(|side| {
            let get = tables[side]?;
            let mut columns: Vec<usize> = equalities.iter().map(|e| e.columns[side]).collect();
            columns.sort_unstable();
            columns.dedup();
            Some(self.distinct_together(get, &columns))
        });
        if equalities.len() < 2 || !sides.iter().flatten().any(|(_, known)| *known) {
            return independent;
        }
        let distinct = sides.iter().flatten().map(|(distinct, _)| *distinct).fold(1.0, f64::max);
        let least = equalities.iter().map(|e| e.alone).fold(1.0, f64::min);
        (1.0 / distinct).min(least)
    }

    /// Of which columns a condition says that they are equal to something.
    fn equality(&self, e: &Expr, get: Option<&Get>, alone: f64) -> Option<Equality> {
        let ExprKind::Compare(CmpOp::Eq, l, r) = &e.kind else { return None };
        if days::compared(CmpOp::Eq, l, r).is_some() {
            return None;
        }
        let mine = |s: Slot| get.is_none_or(|g| g.column_of(s).is_some());
        let slots = [Self::base_slot(l), Self::base_slot(r)];
        if !slots.iter().flatten().any(|s| mine(*s)) {
            return None;
        }
        let origin = |s: Option<Slot>| {
            self.binder.slots[s? as usize].origin.filter(|(get, _)| self.tables.contains_key(get))
        };
        let mut sides = slots.map(origin);
        // The same two tables, whichever way round the conditions are written.
        sides.sort_by_key(|side| side.map_or(u32::MAX, |(get, _)| get));
        sides[0]?;
        let tables = sides.map(|side| side.map(|(get, _)| get));
        if tables[0] == tables[1] {
            return None;
        }
        Some(Equality { tables, columns: sides.map(|side| side.map_or(0, |(_, column)| column)), alone })
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
            ExprKind::IsNull(inner) => self.null_fraction(inner, get),
            ExprKind::Like(value, pattern, escape) => {
                self.like_selectivity(value, pattern, escape.as_deref())
            }
            ExprKind::InList(l, list) => match Self::base_slot(l).and_then(|s| self.column(s)) {
                Some((_, d, c)) => list.iter().map(|item| self.equal_to(d, c.as_ref(), item)).sum(),
                None => cost::EQUAL * list.len() as f64,
            },
            ExprKind::Const(Value::Bit(true)) => 1.0,
            ExprKind::Const(_) => 0.0,
            ExprKind::Subquery(_) => 0.5,
            _ => cost::OTHER,
        };
        s.clamp(1e-7, 1.0)
    }

    /// Fraction of rows whose value is NULL, of a table as it is stored or of what was joined. A column that holds none has them from
    /// an outer join that found nothing, as in the question for rows without a match.
    fn null_fraction(&self, e: &Expr, get: Option<&Get>) -> f64 {
        let Some(slot) = Self::base_slot(e) else { return cost::NULLS };
        let origin = self.binder.slots[slot as usize].origin;
        let column = origin.and_then(|(get, column)| self.tables.get(&get)?.columns.get(column));
        if column.is_some_and(|c| !c.nullable) {
            let stored = get.is_some_and(|g| g.column_of(slot).is_some());
            return if stored { 0.0 } else { cost::UNMATCHED };
        }
        self.column(slot).and_then(|(.., known)| known).map_or(cost::NULLS, |known| known.null_fraction)
    }

    fn comparison_selectivity(&self, op: CmpOp, l: &Expr, r: &Expr, get: Option<&Get>) -> f64 {
        if let Some((moment, ends)) = days::compared(op, l, r) {
            return self.between_moments(moment, ends).unwrap_or(match op {
                CmpOp::Eq => cost::EQUAL,
                CmpOp::Ne => 0.9,
                _ => cost::RANGE,
            });
        }
        let known = |e: &Expr| Self::base_slot(e).and_then(|s| Some((s, self.column(s)?)));
        let mine = |s: Slot| get.is_none_or(|g| g.column_of(s).is_some());
        match (op, known(l), known(r)) {
            (CmpOp::Eq, Some((_, (_, a, _))), Some((_, (_, b, _)))) => 1.0 / a.max(b),
            (CmpOp::Eq, Some((s, (_, d, c))), None) if mine(s) => self.equal_to(d, c.as_ref(), r),
            (CmpOp::Eq, None, Some((s, (_, d, c)))) if mine(s) => self.equal_to(d, c.as_ref(), l),
            (CmpOp::Eq, ..) => cost::EQUAL,
            (CmpOp::Ne, ..) => 0.9,
            (op, Some((_, (.., Some(c)))), None) => self.range_selectivity(op, &c, r),
            (op, None, Some((_, (.., Some(c))))) => self.range_selectivity(op.flip(), &c, l),
            _ => cost::RANGE,
        }
    }

    /// Fraction of rows between two moments, one of which may be missing; `None` when nothing is known.
    fn between_moments(&self, slot: Slot, [low, high]: [Option<Expr>; 2]) -> Option<f64> {
        if low.is_none() && high.is_none() {
            return None;
        }
        let column = self.column(slot)?.2?;
        let place = |end: Option<Expr>, open: f64| match end {
            Some(end) => column.fraction_below(&self.known_for(&column, &end)?),
            None => Some(open),
        };
        Some(column.of_all(place(high, 1.0)? - place(low, 0.0)?))
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
        let mut equalities = Vec::new();
        for e in conditions {
            let mut alone = self.selectivity(e, get);
            if get.is_none() {
                alone = self.beside_implied(e, alone);
            }
            if let Some(equality) = self.equality(e, get, alone) {
                equalities.push(equality);
                continue;
            }
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
        ends.iter().map(|(_, alone)| alone).product::<f64>() * product * self.equalities(equalities)
    }

    /// Fraction of joined rows that a disjunction about several tables lets through of those that meet what it implies: that is among
    /// the conditions by itself ([`super::rewrite`]).
    fn beside_implied(&self, e: &Expr, alone: f64) -> f64 {
        let origin = |s: &Slot| self.binder.slots[*s as usize].origin.map(|(get, _)| get);
        let Some(implied) = Implied::of(e) else { return alone };
        let mut tables: Vec<Option<u32>> = e.slots().iter().map(origin).collect();
        tables.sort_unstable();
        tables.dedup();
        if tables.len() < 2 {
            return alone;
        }
        let limits = tables.iter().filter_map(|t| implied.limit(|slot| origin(&slot) == *t));
        let counted: f64 =
            implied.common.iter().cloned().chain(limits).map(|e| self.selectivity(&e, None)).product();
        (alone / counted).clamp(1e-7, 1.0)
    }

    /// How many times more rows join than equality alone says, where a table's own conditions leave `rows` of it and what joins its key has
    /// values in a part of the span of the keys only: dates of sales in a calendar of two centuries. Whoever asks for a year asks
    /// for one with sales, most likely, and not for any of the two hundred; `REACH` says how likely.
    #[must_use]
    pub fn reach(&self, key: Slot, other: Slot, rows: f64) -> Option<f64> {
        let (all, keys, known) = self.column(key)?;
        let (_, values, others) = self.column(other)?;
        if keys < all || rows >= keys || values >= keys || known?.span_covered_by(&others?)? > REACHED_MAX {
            return None;
        }
        let (anywhere, within) = (rows / keys, (rows / values).min(1.0));
        Some((within / anywhere).max(1.0).powf(REACH))
    }

    /// Fraction of rows whose column, of so many distinct values, has a value.
    fn equal_to(&self, distinct: f64, column: Option<&ColumnStatistics>, value: &Expr) -> f64 {
        let known = column.and_then(|c| c.fraction_equal(&self.known_for(c, value)?));
        known.unwrap_or(1.0 / distinct)
    }

    /// A value that a column is compared with, where it is known, as those are that the column's histogram has.
    fn known_for(&self, column: &ColumnStatistics, value: &Expr) -> Option<Value> {
        let first = column.bounds.first()?;
        let value = self.known(value)?;
        if discriminant(first) == discriminant(&value) { Some(value) } else { near(first, &value) }
    }

    /// Fraction of rows whose column is like a pattern: of one that begins with letters as many as begin with these.
    fn like_selectivity(&self, value: &Expr, pattern: &Expr, escape: Option<&Expr>) -> f64 {
        let column = Self::base_slot(value).filter(|_| escape.is_none()).and_then(|s| self.column(s)?.2);
        let known = column.and_then(|c| {
            let Value::Str(pattern) = self.known_for(&c, pattern)? else { return None };
            let begin = pattern.find(['%', '_', '[']).unwrap_or(pattern.len());
            if begin == pattern.len() {
                return c.fraction_equal(&Value::Str(pattern));
            }
            (begin > 0).then(|| c.fraction_beginning(&pattern[..begin])).flatten()
        });
        known.unwrap_or(cost::LIKE)
    }

    /// Fraction of rows between two ends of one range; `None` when they are not, or nothing is known.
    fn between(&self, a: &End<'_>, b: &End<'_>) -> Option<f64> {
        if a.slot != b.slot || a.low == b.low {
            return None;
        }
        let (low, high) = if a.low { (a, b) } else { (b, a) };
        let (_, distinct, column) = self.column(a.slot)?;
        let column = column?;
        let place = |end: &End<'_>| column.fraction_below(&self.known_for(&column, end.value)?);
        if let (Some(from), Some(to)) = (place(low), place(high)) {
            return Some(column.of_all(to - from));
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
        let Some(below) = self.known_for(c, value).and_then(|v| c.fraction_below(&v)) else {
            return cost::RANGE;
        };
        let range = if matches!(op, CmpOp::Lt | CmpOp::Le) { below } else { 1.0 - below };
        c.of_all(range)
    }
}

/// A number or time as another kind of these has it, as nearly as an estimate needs.
fn near(like: &Value, value: &Value) -> Option<Value> {
    let ticks = || match value {
        Value::Date(day) => Some(i64::from(*day) * TICKS_PER_DAY),
        Value::DateTime(at) | Value::DateTimeOffset(at, _) => Some(*at),
        _ => None,
    };
    let number = || match value {
        Value::Int(n) => Some(*n as f64),
        Value::Money(n) => Some(*n as f64 / MONEY_UNIT),
        Value::Decimal(d) => Some(d.to_f64()),
        Value::Float(f) => Some(*f),
        _ => None,
    };
    Some(match like {
        Value::Date(_) => Value::Date((ticks()? / TICKS_PER_DAY) as i32),
        Value::DateTime(_) => Value::DateTime(ticks()?),
        Value::DateTimeOffset(..) => Value::DateTimeOffset(ticks()?, 0),
        Value::Int(_) => Value::Int(number()? as i64),
        Value::Money(_) => Value::Money((number()? * MONEY_UNIT) as i64),
        Value::Decimal(d) => Value::Decimal(Decimal::from_f64(number()?, d.scale)?),
        Value::Float(_) => Value::Float(number()?),
        _ => return None,
    })
}

/// Parts of one that money has.
const MONEY_UNIT: f64 = 10_000.0;

/// `column = something`, between two tables or of one.
struct Equality {
    /// The table references, the lower number first; the second is `None` when the something is of no table.
    tables: [Option<u32>; 2],
    /// Positions of the columns in them.
    columns: [usize; 2],
    /// What it lets through alone.
    alone: f64,
}

/// One end of a range: `column >= value` and the like.
struct End<'e> {
    slot: Slot,
    low: bool,
    value: &'e Expr,
}

impl<'e> End<'e> {
    fn of(e: &'e Expr) -> Option<End<'e>> {
        let ExprKind::Compare(op, l, r) = &e.kind else { return None };
        if days::compared(*op, l, r).is_some() {
            return None;
        }
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
    let constant = |e: &Expr| match crate::expr::fold::constant(e) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_other_kinds_have_a_place_in_a_histogram() {
        let decimal = |mantissa, scale| Value::Decimal(Decimal::new(mantissa, scale));
        let (day, moment) = (Value::Date(3), Value::DateTime(3 * TICKS_PER_DAY + 5));
        for (like, value, expected) in [
            (&day, &moment, Some(Value::Date(3))),
            (&moment, &day, Some(Value::DateTime(3 * TICKS_PER_DAY))),
            (&moment, &Value::DateTimeOffset(7, 60), Some(Value::DateTime(7))),
            (&Value::Int(0), &decimal(55, 1), Some(Value::Int(5))),
            (&decimal(0, 2), &Value::Int(5), Some(decimal(500, 2))),
            (&Value::Money(0), &Value::Float(1.5), Some(Value::Money(15_000))),
            (&Value::Float(0.0), &decimal(-25, 1), Some(Value::Float(-2.5))),
            (&Value::Int(0), &moment, None),
            (&day, &Value::Null, None),
            (&Value::str("a"), &Value::Int(5), None),
        ] {
            assert_eq!(
                format!("{:?}", near(like, value)),
                format!("{expected:?}"),
                "{value:?} among {like:?}"
            );
        }
    }
}
