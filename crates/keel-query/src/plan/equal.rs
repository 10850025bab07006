//! Equalities that a hash table can find: `a = b`, and `a = b OR a IS NULL AND b IS NULL`, under which NULL is NULL. The latter is what
//! `IS NOT DISTINCT FROM` is bound to, and what translators of other languages' equality write.

use crate::bind::rel::SlotSet;
use crate::expr::{CmpOp, Expr, ExprKind};
use keel_types::Collation;

/// An equality.
#[derive(Clone, Copy)]
pub struct Equality<'e> {
    /// One side.
    pub left: &'e Expr,
    /// The other.
    pub right: &'e Expr,
    /// How strings compare.
    pub collation: Collation,
    /// NULL equals NULL.
    pub with_nulls: bool,
}

impl<'e> Equality<'e> {
    /// What a condition says to be equal; the sides are as they are written, and read no subquery.
    #[must_use]
    pub fn of(e: &'e Expr) -> Option<Equality<'e>> {
        let (with_nulls, equal) = match &e.kind {
            ExprKind::Compare(CmpOp::Eq, ..) => (false, e),
            ExprKind::Or(branches) => (true, with_nulls(branches)?),
            _ => return None,
        };
        let ExprKind::Compare(CmpOp::Eq, left, right) = &equal.kind else { return None };
        let alone = !left.has_subquery() && !right.has_subquery();
        alone.then_some(Equality { left, right, collation: equal.collation, with_nulls })
    }

    /// The sides, when one reads some of these slots and none of those, and the other the other way round.
    #[must_use]
    pub fn between(e: &'e Expr, left: &SlotSet, right: &SlotSet) -> Option<Equality<'e>> {
        let equality = Equality::of(e)?;
        let (a, b) = (equality.left.slots(), equality.right.slots());
        let on = |s: &SlotSet, this: &SlotSet, other: &SlotSet| {
            s.iter().any(|x| this.contains(x)) && !s.iter().any(|x| other.contains(x))
        };
        if on(&a, left, right) && on(&b, right, left) {
            Some(equality)
        } else if on(&b, left, right) && on(&a, right, left) {
            Some(Equality { left: equality.right, right: equality.left, ..equality })
        } else {
            None
        }
    }
}

/// The equality of `a = b OR a IS NULL AND b IS NULL`, whichever comes first, and whether or not it says that `a` and `b` are not NULL.
fn with_nulls(branches: &[Expr]) -> Option<&Expr> {
    let [one, other] = branches else { return None };
    let (nulls, equal) = match both_null(one) {
        Some(nulls) => (nulls, other),
        None => (both_null(other)?, one),
    };
    let parts = match &equal.kind {
        ExprKind::And(parts) => &parts[..],
        _ => std::slice::from_ref(equal),
    };
    let is_equality = |e: &&Expr| matches!(e.kind, ExprKind::Compare(CmpOp::Eq, ..));
    let equal = parts.iter().find(is_equality)?;
    let ExprKind::Compare(_, a, b) = &equal.kind else { return None };
    let (a, b) = (bare(a), bare(b));
    let pair = |x: &Expr, y: &Expr| same(a, x) && same(b, y);
    let is_same = pair(nulls.0, nulls.1) || pair(nulls.1, nulls.0);
    let implied = |e: &Expr| match &e.kind {
        ExprKind::Compare(..) => std::ptr::eq(e, equal),
        ExprKind::Not(e) => matches!(&e.kind, ExprKind::IsNull(x) if same(a, bare(x)) || same(b, bare(x))),
        _ => false,
    };
    (is_same && parts.iter().all(implied)).then_some(equal)
}

/// What `x IS NULL AND y IS NULL` asks about.
fn both_null(e: &Expr) -> Option<(&Expr, &Expr)> {
    let ExprKind::And(parts) = &e.kind else { return None };
    match &parts[..] {
        [Expr { kind: ExprKind::IsNull(x), .. }, Expr { kind: ExprKind::IsNull(y), .. }] => {
            Some((bare(x), bare(y)))
        }
        _ => None,
    }
}

/// Without the conversions of a comparison, which leave NULL as it is and make none.
fn bare(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Cast(c) if !c.lenient => bare(&c.input),
        _ => e,
    }
}

fn same(a: &Expr, b: &Expr) -> bool {
    !a.is_volatile() && format!("{:?}", a.kind) == format!("{:?}", b.kind)
}
