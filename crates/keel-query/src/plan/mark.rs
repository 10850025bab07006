//! EXISTS and IN under OR: `a OR EXISTS (…)` cannot be a semi join, and would run the subquery for each row. The rows are joined
//! with the distinct values of the subquery instead, outer, and each has a mark that says whether there is one for it.

use super::rewrite::{indexed, pull_correlated, strip_for_exists, unnest};
use crate::bind::Binder;
use crate::bind::expr::is_null;
use crate::bind::rel::{JoinKind, Rel, SlotSet, Subquery, SubqueryUse};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use keel_types::{SqlType, Value};
use std::sync::Arc;

/// The input of a filter, joined with what the subqueries of one of its conditions find, which reads the marks now.
pub(super) fn marked(base: Rel, condition: &mut Expr, binder: &mut Binder<'_>) -> Rel {
    let compound = matches!(&condition.kind, ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_));
    let mut base = base;
    if compound && condition.has_subquery() {
        mark(condition, true, &mut base, binder);
    }
    base
}

/// `positive`: it makes no difference whether this condition is false or unknown.
fn mark(e: &mut Expr, positive: bool, base: &mut Rel, binder: &mut Binder<'_>) {
    match &mut e.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) => {
            parts.iter_mut().for_each(|p| mark(p, positive, base, binder));
        }
        ExprKind::Not(inner) => mark(inner, false, base, binder),
        ExprKind::Subquery(s) => {
            if let Some(found) = found(&s.clone(), e, positive, base, binder) {
                *e = found;
            }
        }
        _ => {}
    }
}

/// Joins the input with a subquery; the condition that a row has found something there.
fn found(
    s: &Arc<Subquery>,
    e: &Expr,
    positive: bool,
    base: &mut Rel,
    binder: &mut Binder<'_>,
) -> Option<Expr> {
    let produced = base.produced();
    let body = match &s.usage {
        SubqueryUse::Exists => strip_for_exists(s.rel.clone()),
        _ => s.rel.clone(),
    };
    let (right, mut on) = pull_correlated(body, &produced)?;
    match &s.usage {
        SubqueryUse::Exists if on.is_empty() || indexed(&right, &on, &produced) => return None,
        SubqueryUse::Exists => {}
        SubqueryUse::Any { op: CmpOp::Eq, needle, item } if positive && !needle.has_subquery() => {
            if !on.is_empty() && indexed(&right, &on, &produced) {
                return None;
            }
            let mut equal = Expr::compare(CmpOp::Eq, (**needle).clone(), (**item).clone());
            equal.collation = e.collation;
            on.push(equal);
        }
        _ => return None,
    }
    let inside = right.produced();
    let sides = on.iter().map(|e| sides(e, &produced, &inside)).collect::<Option<Vec<_>>>()?;
    let (mut values, mut equal) = (Vec::new(), Vec::new());
    for (condition, (outer, inner)) in on.iter().zip(sides) {
        let slot = binder.slot_for("", inner);
        let mut joined = Expr::compare(CmpOp::Eq, outer.clone(), binder.read(slot));
        joined.collation = condition.collation;
        values.push((slot, inner.clone()));
        equal.push(joined);
    }
    let slots: Vec<Slot> = values.iter().map(|(slot, _)| *slot).collect();
    let one = Expr::constant(Value::Int(1), SqlType::Int);
    let mark = binder.slot_for("", &one);
    binder.slots[mark as usize].nullable = true;
    let distinct = Rel::Distinct { input: Box::new(unnest(right, binder).project(values)), slots };
    let left = std::mem::replace(base, Rel::One);
    *base = Rel::Join {
        kind: JoinKind::Left,
        left: Box::new(left),
        right: Box::new(distinct.project(vec![(mark, one)])),
        on: equal,
        hint: None,
    };
    Some(is_null(binder.read(mark)).not())
}

/// The outer and the inner side of an equality, where values of the inner side that differ do not equal the same outer one.
fn sides<'e>(e: &'e Expr, outer: &SlotSet, inside: &SlotSet) -> Option<(&'e Expr, &'e Expr)> {
    let ExprKind::Compare(CmpOp::Eq, l, r) = &e.kind else { return None };
    let within = |e: &Expr, set: &SlotSet| e.slots().is_subset(set);
    let reads = |e: &Expr, set: &SlotSet| !e.slots().is_empty() && within(e, set);
    let (out, inner) = match (reads(l, outer), reads(r, outer)) {
        (true, false) => (l, r),
        (false, true) => (r, l),
        _ => return None,
    };
    let apart = within(inner, inside) && !inner.is_volatile() && !inner.has_subquery();
    let alike = out.ty == inner.ty && (!inner.ty.is_string() || inner.collation == e.collation);
    (apart && alike).then_some((out, inner))
}
