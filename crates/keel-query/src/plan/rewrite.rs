//! Rewrites of the logical tree. Each pass has a name, can be switched off, and leaves a tree that means the same.

use crate::bind::Binder;
use crate::bind::expr::is_null;
use crate::bind::rel::{AggFunc, JoinKind, Rel, SetKind, SlotSet, SortKey, Subquery, SubqueryUse};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use keel_types::{Collation, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The passes in the order they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// EXISTS and IN in WHERE become semi and anti joins.
    UnnestSubqueries,
    /// Conditions move towards the tables they are about; outer joins that cannot keep NULLs become inner.
    PushPredicates,
    /// MIN or MAX of a table becomes its first row in that order.
    MinMaxToTop,
    /// What other servers can compute is sent to them ([`super::remote`]).
    Ship,
    /// Parts that stand in the query more than once are computed once, where the planner finds that cheaper ([`super::share`]).
    ShareParts,
}

impl Pass {
    /// All passes in order.
    pub const ALL: [Pass; 5] =
        [Pass::UnnestSubqueries, Pass::PushPredicates, Pass::MinMaxToTop, Pass::Ship, Pass::ShareParts];
    /// Its name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pass::UnnestSubqueries => "unnest_subqueries",
            Pass::PushPredicates => "push_predicates",
            Pass::MinMaxToTop => "min_max_to_top",
            Pass::Ship => "ship",
            Pass::ShareParts => "share_parts",
        }
    }
    /// Runs it.
    #[must_use]
    pub fn run(self, rel: Rel, binder: &mut Binder<'_>) -> Rel {
        match self {
            Pass::UnnestSubqueries => unnest(rel, binder),
            Pass::PushPredicates => push(rel, Vec::new()),
            Pass::MinMaxToTop => min_max(rel),
            Pass::Ship => super::remote::ship(rel, binder),
            // Of the whole statement, when the other passes are through.
            Pass::ShareParts => rel,
        }
    }
}

/// Puts in the values of variables where the statement is compiled for them, then runs all passes that are on.
#[must_use]
pub fn rewrite(rel: Rel, binder: &mut Binder<'_>) -> Rel {
    let mut rel = super::known::embed(rel, binder);
    for pass in Pass::ALL {
        if !binder.scope.disabled_passes().contains(&pass) {
            rel = pass.run(rel, binder);
        }
    }
    rel
}

/// Applies `f` to every direct input.
fn map_inputs(mut rel: Rel, f: &mut dyn FnMut(Rel) -> Rel) -> Rel {
    for input in rel.inputs_mut() {
        let old = std::mem::replace(input, Rel::One);
        *input = f(old);
    }
    rel
}

// ---- subqueries ----

pub(super) fn unnest(rel: Rel, binder: &mut Binder<'_>) -> Rel {
    let rel = map_inputs(rel, &mut |r| unnest(r, binder));
    let Rel::Filter { input, predicates } = rel else { return rel };
    let mut base = *input;
    let mut kept = Vec::new();
    for p in predicates {
        let produced = base.produced();
        match unnest_one(&p, &produced, binder) {
            Some(Unnested { kind, right, on, then }) => {
                let right = unnest(right, binder);
                let below = kind != JoinKind::Inner && !binder.asked.force_order;
                base = if below { test_below(base, kind, right, on) } else { joined(base, kind, right, on) };
                kept.extend(then);
            }
            None => kept.push(p),
        }
    }
    for p in &mut kept {
        base = super::mark::marked(base, p, binder);
    }
    base.filter(kept)
}

fn joined(left: Rel, kind: JoinKind, right: Rel, on: Vec<Expr>) -> Rel {
    Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, hint: None }
}

/// A join that only decides which rows of its left side stay, below the outer joins whose right side it does not ask about: these keep
/// all rows, and the table behind them can be read by what the test compares.
fn test_below(base: Rel, kind: JoinKind, right: Rel, on: Vec<Expr>) -> Rel {
    match base {
        Rel::Join { kind: JoinKind::Left, left, right: optional, on: of_left, hint: None }
            if !asks(&right, &on, &optional.produced()) =>
        {
            let left = Box::new(test_below(*left, kind, right, on));
            Rel::Join { kind: JoinKind::Left, left, right: optional, on: of_left, hint: None }
        }
        base => joined(base, kind, right, on),
    }
}

/// Whether a join's right side or condition reads one of the slots.
fn asks(right: &Rel, on: &[Expr], slots: &SlotSet) -> bool {
    on.iter().any(|e| joins(e, slots)) || right.outer_slots().iter().any(|s| slots.contains(s))
}

struct Unnested {
    kind: JoinKind,
    right: Rel,
    on: Vec<Expr>,
    /// A condition to test above the join.
    then: Option<Expr>,
}

fn unnest_one(p: &Expr, produced: &SlotSet, binder: &mut Binder<'_>) -> Option<Unnested> {
    let (negated, inner) = match &p.kind {
        ExprKind::Not(inner) => (true, &**inner),
        _ => (false, p),
    };
    let ExprKind::Subquery(s) = &inner.kind else { return unnest_scalar(p, produced, binder) };
    let mut outer = SlotSet::new();
    s.add_outer_slots(&mut outer);
    if !outer.is_subset(produced) {
        // Reads something further out: joins here would not see a stable row. Still fine as an expression.
        let foreign: Vec<_> = outer.difference(produced).collect();
        if !foreign.is_empty() && matches!(s.usage, SubqueryUse::Scalar(_)) {
            return None;
        }
    }
    let body = match &s.usage {
        SubqueryUse::Exists => strip_for_exists(s.rel.clone()),
        _ => s.rel.clone(),
    };
    let (right, mut on) = pull_correlated(body, produced)?;
    let kind = match (&s.usage, negated) {
        (SubqueryUse::Exists, false) => JoinKind::Semi,
        (SubqueryUse::Exists, true) => JoinKind::Anti,
        (SubqueryUse::Any { op, needle, item }, negated) => {
            let visible = right.produced();
            if needle.has_subquery() || !item.slots().is_subset(&visible) {
                return None;
            }
            let nullable = needle.nullable || item.nullable;
            let mut equal = Expr::compare(*op, (**needle).clone(), (**item).clone());
            equal.collation = inner.collation;
            let kind = match (negated, nullable) {
                (false, _) => JoinKind::Semi,
                (true, false) => JoinKind::Anti,
                // NULLs are looked for among the keys of a hash join, so both sides have to give one.
                (true, true)
                    if on.is_empty()
                        && *op == CmpOp::Eq
                        && joins(needle, produced)
                        && joins(item, &visible) =>
                {
                    JoinKind::NotIn
                }
                (true, true) => return None,
            };
            on.push(equal);
            kind
        }
        (SubqueryUse::Scalar(_), _) => return None,
    };
    Some(Unnested { kind, right, on, then: None })
}

/// Whether an expression reads a slot of the set.
fn joins(e: &Expr, slots: &SlotSet) -> bool {
    e.slots().iter().any(|s| slots.contains(s))
}

/// Under EXISTS neither columns nor order nor duplicates matter.
pub(crate) fn strip_for_exists(rel: Rel) -> Rel {
    match rel {
        Rel::Project { input, .. } | Rel::Sort { input, .. } | Rel::Distinct { input, .. } => {
            strip_for_exists(*input)
        }
        Rel::Top { input, count: Some(count), offset: None, percent: false, ties } => {
            if matches!(count.as_const(), Some(Value::Int(n)) if *n > 0) {
                strip_for_exists(*input)
            } else {
                Rel::Top { input, count: Some(count), offset: None, percent: false, ties }
            }
        }
        other => other,
    }
}

/// Takes the conditions that read outer slots out of the top filters. `None` when outer slots are read elsewhere too.
pub(super) fn pull_correlated(rel: Rel, outer: &SlotSet) -> Option<(Rel, Vec<Expr>)> {
    let reads_outer = |e: &Expr| e.slots().iter().any(|s| outer.contains(s));
    match rel {
        Rel::Filter { input, predicates } => {
            let (mut correlated, local): (Vec<Expr>, Vec<Expr>) =
                predicates.into_iter().partition(reads_outer);
            if correlated.iter().any(Expr::has_subquery) {
                return None;
            }
            let (input, mut deeper) = pull_correlated(*input, outer)?;
            correlated.append(&mut deeper);
            let rel = input.filter(local);
            if rel.outer_slots().iter().any(|s| outer.contains(s)) {
                return None;
            }
            Some((rel, correlated))
        }
        Rel::Project { input, exprs } if !exprs.iter().any(|(_, e)| reads_outer(e)) => {
            let (input, on) = pull_correlated(*input, outer)?;
            Some((input.project(exprs), on))
        }
        Rel::Join { kind: JoinKind::Inner, left, right, on, hint } => {
            let (mut correlated, local): (Vec<Expr>, Vec<Expr>) = on.into_iter().partition(reads_outer);
            let (left, mut a) = pull_correlated(*left, outer)?;
            let (right, mut b) = pull_correlated(*right, outer)?;
            correlated.append(&mut a);
            correlated.append(&mut b);
            let rel = Rel::Join {
                kind: JoinKind::Inner,
                left: Box::new(left),
                right: Box::new(right),
                on: local,
                hint,
            };
            Some((rel, correlated))
        }
        other => {
            if other.outer_slots().iter().any(|s| outer.contains(s)) {
                return None;
            }
            Some((other, Vec::new()))
        }
    }
}

/// `x op (SELECT agg FROM … WHERE inner = outer)` becomes a join with the aggregate grouped by the inner columns, unless an
/// index makes computing it per row cheap.
fn unnest_scalar(p: &Expr, produced: &SlotSet, binder: &mut Binder<'_>) -> Option<Unnested> {
    let ExprKind::Compare(..) = &p.kind else { return None };
    let subquery = find_scalar(p)?;
    let SubqueryUse::Scalar(result) = subquery.usage else { return None };
    let (exprs, aggregate) = match &subquery.rel {
        Rel::Project { input, exprs } => (exprs.clone(), &**input),
        other => (Vec::new(), other),
    };
    let Rel::Aggregate { input, groups, sets: None, aggs, scalar: true, .. } = aggregate else { return None };
    let counts = aggs
        .iter()
        .any(|a| matches!(a.func, AggFunc::Count | AggFunc::CountStar | AggFunc::ApproxCountDistinct));
    if !groups.is_empty()
        || counts
        || exprs.iter().any(|(_, e)| e.slots().iter().any(|s| produced.contains(s)))
    {
        return None;
    }
    let (body, correlated) = pull_correlated((**input).clone(), produced)?;
    if correlated.is_empty() || indexed(&body, &correlated, produced) {
        return None;
    }
    let mut new_groups = Vec::new();
    let mut on = Vec::new();
    for c in correlated {
        let ExprKind::Compare(CmpOp::Eq, l, r) = &c.kind else { return None };
        let outer_side = |e: &Expr| !e.slots().is_empty() && e.slots().is_subset(produced);
        let (outer, inner) = if outer_side(l) {
            (l, r)
        } else if outer_side(r) {
            (r, l)
        } else {
            return None;
        };
        if inner.slots().iter().any(|s| produced.contains(s)) {
            return None;
        }
        let slot = binder.slot_for("", inner);
        new_groups.push((slot, (**inner).clone()));
        let mut equal = Expr::compare(CmpOp::Eq, (**outer).clone(), binder.read(slot));
        equal.collation = c.collation;
        on.push(equal);
    }
    let right = Rel::Aggregate {
        input: Box::new(body),
        groups: new_groups,
        sets: None,
        grouping_id: None,
        aggs: aggs.clone(),
        scalar: false,
    }
    .project(exprs);
    let mut then = p.clone();
    let value = binder.read(result);
    replace_scalar(&mut then, &value);
    Some(Unnested { kind: JoinKind::Inner, right, on, then: Some(then) })
}

/// The scalar subquery of a comparison, when only operators that pass NULL on stand above it.
fn find_scalar(e: &Expr) -> Option<Arc<Subquery>> {
    match &e.kind {
        ExprKind::Subquery(s) => matches!(s.usage, SubqueryUse::Scalar(_)).then(|| s.clone()),
        ExprKind::Compare(_, a, b) | ExprKind::Arith(_, a, b) => match (find_scalar(a), find_scalar(b)) {
            (Some(s), None) | (None, Some(s)) => Some(s),
            _ => None,
        },
        ExprKind::Neg(a) => find_scalar(a),
        ExprKind::Cast(c) if !c.lenient => find_scalar(&c.input),
        _ => None,
    }
}

fn replace_scalar(e: &mut Expr, value: &Expr) {
    if matches!(&e.kind, ExprKind::Subquery(_)) {
        *e = value.clone();
        return;
    }
    e.for_each_child_mut(&mut |c| replace_scalar(c, value));
}

/// Whether some table of the body has an index led by a correlated column.
pub(super) fn indexed(body: &Rel, correlated: &[Expr], outer: &SlotSet) -> bool {
    let mut columns = SlotSet::new();
    for c in correlated {
        columns.extend(c.slots().into_iter().filter(|s| !outer.contains(s)));
    }
    fn any(rel: &Rel, columns: &SlotSet) -> bool {
        if let Rel::Get(g) = rel {
            return g.table.indexes.iter().any(|i| {
                let first = i.key.first().and_then(|k| g.table.column_index(k.column_id));
                first.is_some_and(|c| columns.contains(&g.slot(c)))
            });
        }
        rel.inputs().into_iter().any(|r| any(r, columns))
    }
    any(body, &columns)
}

// ---- predicates ----

/// Moves conditions down. `preds` are those that hold above `rel` and may be tested anywhere below.
pub(crate) fn push(rel: Rel, mut preds: Vec<Expr>) -> Rel {
    match rel {
        Rel::Filter { input, mut predicates } => {
            // What stands below is tested first: a view's filter before conditions on the view.
            predicates.append(&mut preds);
            push(*input, predicates)
        }
        Rel::Join { kind, left, right, on, hint } => push_join(kind, *left, *right, on, hint, preds),
        Rel::Project { input, exprs } => {
            let map: HashMap<Slot, Expr> = exprs.iter().cloned().collect();
            let movable = |e: &Expr| {
                e.slots().iter().all(|s| map.get(s).is_none_or(|m| !m.is_volatile() && !m.has_subquery()))
                    && !e.has_subquery()
            };
            let (mut down, stay): (Vec<Expr>, Vec<Expr>) = preds.into_iter().partition(movable);
            down.iter_mut().for_each(|e| e.substitute(&map));
            push(*input, down).project(exprs).filter(stay)
        }
        Rel::Aggregate { input, groups, sets, grouping_id, aggs, scalar } => {
            let map: HashMap<Slot, Expr> = groups.iter().cloned().collect();
            let movable = |e: &Expr| {
                sets.is_none()
                    && !groups.is_empty()
                    && !e.has_subquery()
                    && !e.slots().is_empty()
                    && aggs.iter().all(|a| !e.slots().contains(&a.slot))
            };
            let (mut down, stay): (Vec<Expr>, Vec<Expr>) = preds.into_iter().partition(movable);
            down.iter_mut().for_each(|e| e.substitute(&map));
            let input = Box::new(push(*input, down));
            Rel::Aggregate { input, groups, sets, grouping_id, aggs, scalar }.filter(stay)
        }
        Rel::Sort { input, keys } => Rel::Sort { input: Box::new(push(*input, preds)), keys },
        Rel::Distinct { input, slots } => {
            let inside: SlotSet = slots.iter().copied().collect();
            let produced = input.produced();
            let movable = |e: &Expr| e.slots().iter().all(|s| inside.contains(s) || !produced.contains(s));
            let (down, stay): (Vec<Expr>, Vec<Expr>) = preds.into_iter().partition(movable);
            Rel::Distinct { input: Box::new(push(*input, down)), slots }.filter(stay)
        }
        Rel::SetOp { kind: SetKind::UnionAll, left, right, left_slots, right_slots, slots } => {
            let (down, stay): (Vec<Expr>, Vec<Expr>) = preds.into_iter().partition(|e| !e.has_subquery());
            let renamed = |side: &[Slot]| -> Vec<Expr> {
                let map = slots.iter().zip(side).map(|(o, s)| (*o, renamed_slot(*s, *o, &down))).collect();
                down.iter()
                    .cloned()
                    .map(|mut e| {
                        e.substitute(&map);
                        e
                    })
                    .collect()
            };
            let (l, r) = (renamed(&left_slots), renamed(&right_slots));
            let (left, right) = (Box::new(push(*left, l)), Box::new(push(*right, r)));
            Rel::SetOp { kind: SetKind::UnionAll, left, right, left_slots, right_slots, slots }.filter(stay)
        }
        Rel::Get(get) => Rel::Get(get).filter(preds.into_iter().flat_map(without_repetition).collect()),
        other => map_inputs(other, &mut |r| push(r, Vec::new())).filter(preds),
    }
}

/// An expression that reads `slot` with the type under which the union's column is read.
fn renamed_slot(slot: Slot, out: Slot, among: &[Expr]) -> Expr {
    fn find(e: &Expr, slot: Slot) -> Option<Expr> {
        if e.as_slot() == Some(slot) {
            return Some(e.clone());
        }
        let mut found = None;
        e.for_each_child(&mut |c| {
            if found.is_none() {
                found = find(c, slot);
            }
        });
        found
    }
    let model = among.iter().find_map(|e| find(e, out)).unwrap_or_else(Expr::null);
    Expr { kind: ExprKind::Slot(slot), nullable: true, ..model }
}

fn push_join(
    kind: JoinKind,
    left: Rel,
    right: Rel,
    on: Vec<Expr>,
    hint: Option<crate::bind::rel::JoinMethod>,
    preds: Vec<Expr>,
) -> Rel {
    let (ls, rs) = (left.produced(), right.produced());
    let lateral = right.outer_slots().iter().any(|s| ls.contains(s));
    let touches = |e: &Expr, set: &SlotSet| e.slots().iter().any(|s| set.contains(s));
    match kind {
        JoinKind::Inner => {
            let (mut l, mut r, mut both) = (Vec::new(), Vec::new(), Vec::new());
            let mut all: Vec<Expr> = on.into_iter().chain(preds).collect();
            let joined = |slot| ls.contains(&slot) || rs.contains(&slot);
            all.extend(transitive(&all, &joined));
            all.extend(factored(&all, [&ls, &rs]));
            all = without_implied(all, &joined);
            for e in all {
                let slots = e.slots();
                let touches = |set: &SlotSet| slots.iter().any(|s| set.contains(s));
                match (touches(&ls), touches(&rs)) {
                    (true, false) | (false, false) => l.push(e),
                    (false, true) => r.push(e),
                    (true, true) => both.push(e),
                }
            }

            Rel::Join { kind, left: Box::new(push(left, l)), right: Box::new(push(right, r)), on: both, hint }
        }
        JoinKind::Left => {
            // A condition above that rejects NULLs of the right side makes it an inner join.
            if preds.iter().any(|e| rejects_nulls(e, &rs)) {
                return push_join(JoinKind::Inner, left, right, on, hint, preds);
            }
            let (above, down): (Vec<Expr>, Vec<Expr>) = preds.into_iter().partition(|e| touches(e, &rs));
            let known = if lateral { Vec::new() } else { known_of_matches(&on, &down, &ls, &rs) };
            let (mut to_right, stay): (Vec<Expr>, Vec<Expr>) =
                on.into_iter().partition(|e| touches(e, &rs) && !touches(e, &ls) && !lateral);
            to_right.extend(known);
            let (left, right) = (Box::new(push(left, down)), Box::new(push(right, to_right)));
            Rel::Join { kind, left, right, on: stay, hint }.filter(above)
        }
        JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn => {
            let to_right =
                |e: &Expr| kind != JoinKind::NotIn && touches(e, &rs) && !touches(e, &ls) && !lateral;
            let known = match kind {
                JoinKind::NotIn => Vec::new(),
                _ if lateral => Vec::new(),
                _ => known_of_matches(&on, &preds, &ls, &rs),
            };
            let (mut r, stay): (Vec<Expr>, Vec<Expr>) = on.into_iter().partition(to_right);
            r.extend(known);
            let (left, right) = (push(left, preds), push(right, r));
            let selective = matches!(&right, Rel::Filter { .. } | Rel::Project { .. }) && having(&right);
            if selective && !lateral && !stay.is_empty() {
                return sink(kind, left, right, stay, hint);
            }
            Rel::Join { kind, left: Box::new(left), right: Box::new(right), on: stay, hint }
        }
        JoinKind::Full => {
            let (left, right) = (Box::new(push(left, Vec::new())), Box::new(push(right, Vec::new())));
            Rel::Join { kind, left, right, on, hint }.filter(preds)
        }
    }
}

/// Groups behind a condition: few of many, as a rule.
fn having(rel: &Rel) -> bool {
    match rel {
        Rel::Filter { input, .. } => matches!(&**input, Rel::Aggregate { .. }),
        Rel::Project { input, .. } => having(input),
        _ => false,
    }
}

/// The tree with a semi join below the inner joins on its left; `None` where it cannot go down.
pub(super) fn sunk(kind: JoinKind, left: &Rel, right: &Rel, on: &[Expr]) -> Option<Rel> {
    let ls = left.produced();
    let lateral = right.outer_slots().iter().any(|s| ls.contains(s));
    let (kept, left) = match left {
        Rel::Filter { input, predicates } => (predicates.clone(), &**input),
        other => (Vec::new(), other),
    };
    if lateral || on.is_empty() || !matches!(left, Rel::Join { kind: JoinKind::Inner, .. }) {
        return None;
    }
    let down = sink(kind, left.clone(), right.clone(), on.to_vec(), None);
    matches!(down, Rel::Join { kind: JoinKind::Inner, .. }).then(|| down.filter(kept))
}

/// Puts a semi or anti join as far below the inner joins on its left as its conditions let it.
fn sink(
    kind: JoinKind,
    left: Rel,
    right: Rel,
    on: Vec<Expr>,
    hint: Option<crate::bind::rel::JoinMethod>,
) -> Rel {
    let within = |rel: &Rel, other: &Rel| {
        let other = other.produced();
        rel.outer_slots().is_empty() && on.iter().all(|e| e.slots().iter().all(|s| !other.contains(s)))
    };
    match left {
        Rel::Join { kind: JoinKind::Inner, left: l, right: r, on: own, hint: how } if within(&l, &r) => {
            let l = Box::new(sink(kind, *l, right, on, hint));
            Rel::Join { kind: JoinKind::Inner, left: l, right: r, on: own, hint: how }
        }
        Rel::Join { kind: JoinKind::Inner, left: l, right: r, on: own, hint: how } if within(&r, &l) => {
            let r = Box::new(sink(kind, *r, right, on, hint));
            Rel::Join { kind: JoinKind::Inner, left: l, right: r, on: own, hint: how }
        }
        left => Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, hint },
    }
}

/// A comparison of a column with what none of the tables in question has a part in: a constant, or a value of the query around.
struct Fixed<'e> {
    column: Slot,
    op: CmpOp,
    value: &'e Expr,
    /// The column stands on the left.
    straight: bool,
    collation: Collation,
}

impl<'e> Fixed<'e> {
    /// Of the conditions of a join; `joined` are the slots of its tables.
    fn all_of(conditions: &'e [Expr], joined: &dyn Fn(Slot) -> bool) -> Vec<Fixed<'e>> {
        let mut found = Vec::new();
        for c in conditions {
            let ExprKind::Compare(op, l, r) = &c.kind else { continue };
            for (column, value, op, straight) in [(l, r, *op, true), (r, l, op.flip(), false)] {
                let Some(column) = column.as_slot() else { continue };
                let read = value.slots();
                let fixed = read.is_empty() || joined(column) && !read.into_iter().any(joined);
                if fixed && !value.is_volatile() && !value.has_subquery() {
                    found.push(Fixed { column, op, value, straight, collation: c.collation });
                }
            }
        }
        found
    }

    fn says(&self, column: Slot, op: CmpOp, value: &Expr) -> bool {
        self.straight && self.column == column && self.op == op && same_text(self.value, value)
    }
}

fn same_text(a: &Expr, b: &Expr) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// `a = b` and `b = constant` give `a = constant`.
fn transitive(all: &[Expr], joined: &dyn Fn(Slot) -> bool) -> Vec<Expr> {
    let fixed = Fixed::all_of(all, joined);
    let mut found: Vec<(Slot, Expr)> = Vec::new();
    if fixed.is_empty() {
        return Vec::new();
    }
    for e in all {
        let ExprKind::Compare(CmpOp::Eq, a, b) = &e.kind else { continue };
        let (Some(sa), Some(sb)) = (a.as_slot(), b.as_slot()) else { continue };
        if a.ty != b.ty {
            continue;
        }
        for f in fixed.iter().filter(|f| f.collation == e.collation) {
            for (from, slot, to) in [(sa, sb, b), (sb, sa, a)] {
                let known = !joined(slot) || fixed.iter().any(|known| known.says(slot, f.op, f.value));
                if f.column != from || known {
                    continue;
                }
                let mut new = Expr::compare(f.op, (**to).clone(), f.value.clone());
                new.collation = f.collation;
                if !found.iter().any(|(s, known)| *s == slot && same_text(known, &new)) {
                    found.push((slot, new));
                }
            }
        }
    }
    found.into_iter().map(|(_, e)| e).collect()
}

/// What the right side's rows that match any row of the left have in common, by what holds of the left and how both are joined: others
/// need not be looked at.
fn known_of_matches(on: &[Expr], left: &[Expr], left_slots: &SlotSet, right_slots: &SlotSet) -> Vec<Expr> {
    let all: Vec<Expr> = on.iter().chain(left).cloned().collect();
    let joined = |slot| left_slots.contains(&slot) || right_slots.contains(&slot);
    transitive(&all, &joined).into_iter().filter(|e| !joins(e, left_slots)).collect()
}

/// `a = b` is implied where both equal the same constant.
fn without_implied(all: Vec<Expr>, joined: &dyn Fn(Slot) -> bool) -> Vec<Expr> {
    let mut fixed: HashMap<Slot, (String, Collation)> = HashMap::new();
    for f in Fixed::all_of(&all, joined).iter().filter(|f| f.straight && f.op == CmpOp::Eq) {
        fixed.entry(f.column).or_insert_with(|| (format!("{:?}", f.value.kind), f.collation));
    }
    if fixed.is_empty() {
        return all;
    }
    let implied = |e: &Expr| match &e.kind {
        ExprKind::Compare(CmpOp::Eq, l, r) if l.ty == r.ty => match (l.as_slot(), r.as_slot()) {
            (Some(l), Some(r)) => {
                fixed.get(&l).is_some_and(|of| of.1 == e.collation && fixed.get(&r) == Some(of))
            }
            _ => false,
        },
        _ => false,
    };
    all.into_iter().filter(|e| !implied(e)).collect()
}

/// What disjunctions imply, of which those that touch one side can go down there, and those that touch both join.
fn factored(all: &[Expr], sides: [&SlotSet; 2]) -> Vec<Expr> {
    let mut found = Vec::new();
    for e in all {
        let touched = e.slots();
        let touches = |set: &SlotSet| touched.iter().any(|s| set.contains(s));
        let Some(mut implied) = Implied::of(e) else { continue };
        found.append(&mut implied.common);
        // One that is about one side goes there as it is.
        if touches(sides[0]) && touches(sides[1]) {
            found.extend(sides.iter().filter_map(|set| implied.limit(|slot| set.contains(&slot))));
        }
    }
    found.retain(|f| {
        let print = format!("{:?}", f.kind);
        !all.iter().any(|a| format!("{:?}", a.kind) == print)
    });
    found
}

/// `(a AND x) OR (a AND y)` as `a` and `x OR y`: an index may lead to `a`.
fn without_repetition(e: Expr) -> Vec<Expr> {
    match Implied::of(&e) {
        Some(implied) if !implied.common.is_empty() && !e.is_volatile() => implied.taken_apart(),
        _ => vec![e],
    }
}

/// Longer disjunctions are not looked through: what they imply would cost more than it saves.
const BRANCHES_MAX: usize = 64;

/// What a disjunction implies: `(a AND x) OR (a AND y)` implies `a`; and one whose branches each limit one table implies the
/// disjunction of those limits.
pub(super) struct Implied {
    /// Conditions of all branches.
    pub(super) common: Vec<Expr>,
    /// What else each branch asks for.
    branches: Vec<Vec<Expr>>,
}

impl Implied {
    /// `None` when the condition is no disjunction, or too long.
    pub(super) fn of(e: &Expr) -> Option<Implied> {
        let ExprKind::Or(branches) = &e.kind else { return None };
        if branches.len() > BRANCHES_MAX {
            return None;
        }
        let mut split: Vec<Vec<(String, Expr)>> = branches
            .iter()
            .map(|b| {
                let mut parts = Vec::new();
                b.clone().conjuncts(&mut parts);
                parts.into_iter().map(|p| (format!("{:?}", p.kind), p)).collect()
            })
            .collect();
        let everywhere = |print: &str| split.iter().all(|b| b.iter().any(|(p, _)| p == print));
        let common: Vec<(String, Expr)> =
            split.first()?.iter().filter(|(print, _)| everywhere(print)).cloned().collect();
        for b in &mut split {
            b.retain(|(print, _)| !common.iter().any(|(p, _)| p == print));
        }
        let bare = |parts: Vec<(String, Expr)>| parts.into_iter().map(|(_, e)| e).collect();
        Some(Implied { common: bare(common), branches: split.into_iter().map(bare).collect() })
    }

    /// Conditions that say together what the disjunction says.
    fn taken_apart(self) -> Vec<Expr> {
        let mut parts = self.common;
        if self.branches.iter().all(|b| !b.is_empty()) {
            let branches = self.branches.into_iter().map(Expr::and).collect();
            parts.push(Expr::condition(ExprKind::Or(branches)));
        }
        parts
    }

    /// The disjunction of what the branches say about some slots alone, when each says something.
    pub(super) fn limit(&self, about: impl Fn(Slot) -> bool) -> Option<Expr> {
        let of_branch = |parts: &Vec<Expr>| {
            let alone = |e: &&Expr| {
                let slots = e.slots();
                !slots.is_empty() && slots.iter().all(|s| about(*s)) && !e.has_subquery() && !e.is_volatile()
            };
            let parts: Vec<Expr> = parts.iter().filter(alone).cloned().collect();
            (!parts.is_empty()).then(|| Expr::and(parts))
        };
        let limits: Option<Vec<Expr>> = self.branches.iter().map(of_branch).collect();
        Some(Expr::condition(ExprKind::Or(limits?)))
    }
}

/// Whether the condition cannot be true when all slots of the set are NULL.
fn rejects_nulls(e: &Expr, set: &SlotSet) -> bool {
    fn null_in(e: &Expr, set: &SlotSet) -> bool {
        match &e.kind {
            ExprKind::Slot(s) => set.contains(s),
            ExprKind::Arith(_, a, b) => null_in(a, set) || null_in(b, set),
            ExprKind::Neg(a) => null_in(a, set),
            ExprKind::Cast(c) => null_in(&c.input, set),
            _ => false,
        }
    }
    match &e.kind {
        ExprKind::Compare(_, a, b) => null_in(a, set) || null_in(b, set),
        ExprKind::Like(a, b, _) => null_in(a, set) || null_in(b, set),
        ExprKind::InList(a, _) => null_in(a, set),
        ExprKind::And(parts) => parts.iter().any(|p| rejects_nulls(p, set)),
        ExprKind::Or(parts) => parts.iter().all(|p| rejects_nulls(p, set)),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(x) => null_in(x, set),
            ExprKind::Compare(..) | ExprKind::Like(..) | ExprKind::InList(..) => rejects_nulls(inner, set),
            _ => false,
        },
        _ => false,
    }
}

// ---- MIN and MAX ----

fn min_max(rel: Rel) -> Rel {
    let rel = map_inputs(rel, &mut min_max);
    match rel {
        Rel::Aggregate { input, groups, sets: None, grouping_id, aggs, scalar: true }
            if groups.is_empty()
                && aggs.len() == 1
                && matches!(aggs[0].func, AggFunc::Min | AggFunc::Max)
                && matches!(&*input, Rel::Get(_) | Rel::Filter { .. }) =>
        {
            let Some(arg) = aggs[0].arg.clone().filter(|a| a.as_slot().is_some()) else {
                return Rel::Aggregate { input, groups, sets: None, grouping_id, aggs, scalar: true };
            };
            let descending = aggs[0].func == AggFunc::Max;
            let present = if arg.nullable { vec![is_null(arg.clone()).not()] } else { Vec::new() };
            let sorted = Rel::Sort {
                input: Box::new(input.filter(present)),
                keys: vec![SortKey { expr: arg, descending }],
            };
            let first = Rel::Top {
                input: Box::new(sorted),
                count: Some(Expr::constant(Value::Int(1), SqlType::BigInt)),
                percent: false,
                ties: None,
                offset: None,
            };
            Rel::Aggregate { input: Box::new(first), groups, sets: None, grouping_id, aggs, scalar: true }
        }
        other => other,
    }
}
