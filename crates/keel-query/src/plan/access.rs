//! Choosing how a stored table is read: which index, which part of it, in which direction.

use super::Planner;
use super::cost;
use super::days::{self, day_of};
use super::shown::Part;
use super::through;
use crate::bind::rel::{Get, Hints, SlotSet};
use crate::catalog::{IndexDef, IndexKind, TableDef};
use crate::errors::Result;
use crate::exec::node::{Access, Beyond, Bounds, Decode, KeyPart, Leading, Lookup, LowHigh, Node, Op, Test};
use crate::expr::compile::Compiler;
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use keel_node::{Isolation, LockMode};
use keel_types::key::KeyColumn;
use keel_types::{SqlType, Value, column};
use std::borrow::Cow;
use std::sync::Arc;

/// A condition an index can use.
#[derive(Clone, Debug)]
pub struct Sarg {
    /// Column position.
    pub(super) column: usize,
    pub(super) kind: SargKind,
    /// Position of the conjunct it comes from.
    pub(super) conjunct: usize,
    answers: Answers,
}

/// What of its conjunct a bound says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// All of it.
    All,
    /// All of it together with the other end.
    Half,
    /// Less than it: the conjunct is tested all the same.
    Part,
}

#[derive(Clone, Debug)]
pub(super) enum SargKind {
    Eq(Expr),
    Low(Expr, bool),
    High(Expr, bool),
    In(Vec<Expr>),
    Like(Expr),
}

/// Up to this many wanted rows a serializable read locks row by row.
const STEPWISE_ROWS_MAX: f64 = 100.0;

/// The first key column, where a path reads more than one value of it.
fn leading_of(get: &Get, path: &Path, index: &IndexDef, decode: &[Decode]) -> Option<Leading> {
    let first = index.key.first().filter(|_| path.eq.is_empty() && path.list.is_none())?;
    let position = get.table.columns.iter().position(|c| c.column_id == first.column_id)?;
    let slot = get.slot(position) as usize;
    let integer = get.table.columns[position].ty.is_integer();
    let decoded = decode.iter().any(|d| d.slot == slot);
    (integer && decoded).then_some(Leading { slot, descending: first.descending })
}

/// A way to read a table.
#[derive(Clone, Debug)]
pub struct Path {
    /// Position in `TableDef::indexes`.
    pub index: usize,
    eq: Vec<Sarg>,
    low: Option<Sarg>,
    high: Option<Sarg>,
    list: Option<Sarg>,
    /// The conjunct that gives the locator.
    row: Option<usize>,
    /// The conjunct that says behind or before which locator it reads.
    beyond: Option<usize>,
    /// The rows are wanted in the order of their locators, which is that of the tree.
    by_locator: bool,
    /// Whole unique key bound by equalities.
    pub point: bool,
    covering: bool,
    /// Reads backwards.
    pub backward: bool,
    /// Estimated rows out of it (after all conjuncts).
    pub rows: f64,
    /// Estimated cost of one reading.
    pub cost: f64,
    /// Only its first rows are wanted.
    first_rows: bool,
}

/// The slots a path's rows come ordered by.
pub type Ordering = Vec<(Slot, bool)>;

/// What a table is read for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The reference.
    pub get: &'a Get,
    /// Conditions to satisfy; they may read slots of other tables that are available.
    pub conjuncts: &'a [Expr],
    /// Columns needed above.
    pub need: &'a SlotSet,
    /// Wished order, when it would save a sort.
    pub order: Option<&'a [(Slot, bool)]>,
    /// Only about this many rows will be asked for.
    pub row_goal: Option<f64>,
}

/// The column and value type a comparison side stands for, looking through conversions that keep order and key bytes.
pub(super) fn column_side(get: &Get, e: &Expr) -> Option<usize> {
    match &e.kind {
        ExprKind::Slot(s) => get.column_of(*s),
        ExprKind::Cast(c) if !c.lenient && c.style.is_none() => {
            let i = get.column_of(c.input.as_slot()?)?;
            let from = c.input.ty;
            let keeps = (from.is_integer() && e.ty.is_integer())
                || (from.is_string()
                    && e.ty.is_string()
                    && !matches!(e.ty.length(), Some(keel_types::Length::Limited(n)) if n < 4000))
                || matches!((from.decimal_parts(), e.ty.decimal_parts()), (Some((_, a)), Some((_, b))) if a == b)
                || (from == SqlType::Bit && e.ty.is_integer());
            keeps.then_some(i)
        }
        _ => None,
    }
}

/// The conditions on a table's rows, those of its security policies before the statement's own.
fn with_policy<'c>(get: &Get, conjuncts: &'c [Expr]) -> Cow<'c, [Expr]> {
    if get.policy.is_empty() {
        return Cow::Borrowed(conjuncts);
    }
    Cow::Owned(get.policy.iter().chain(conjuncts).cloned().collect())
}

/// A value usable as key of the column, or `None` when its bytes would not compare.
fn key_value(table: &TableDef, column: usize, e: &Expr, collation: keel_types::Collation) -> Option<Expr> {
    let c = &table.columns[column];
    if e.is_volatile() {
        return None;
    }
    let same = (c.ty.is_integer() && e.ty.is_integer())
        || (c.ty.is_string() && e.ty.is_string() && collation == c.collation)
        || (c.ty.is_binary() && e.ty.is_binary())
        || matches!((c.ty.decimal_parts(), e.ty.decimal_parts()), (Some((_, a)), Some((_, b))) if a == b);
    if same {
        return Some(e.clone());
    }
    if c.ty.is_string() || e.ty.is_string() {
        return None;
    }
    if c.ty == e.ty {
        return Some(e.clone());
    }
    match (c.ty, e.as_const()) {
        (SqlType::Bit, Some(Value::Int(n @ (0 | 1)))) => {
            Some(Expr::constant(Value::Bit(*n == 1), SqlType::Bit))
        }
        _ => None,
    }
}

/// The other side of a condition that compares the locator with something.
fn locator_value<'e>(get: &Get, e: &'e Expr, ops: &[CmpOp]) -> Option<(CmpOp, &'e Expr)> {
    let ExprKind::Compare(op, left, right) = &e.kind else { return None };
    let own = |e: &Expr| e.slots().iter().any(|s| get.column_of(*s).is_some() || *s == get.locator);
    let found = ops.contains(op) && left.as_slot() == Some(get.locator) && !own(right);
    found.then_some((*op, &**right))
}

/// Whether an index with so many leading columns given has its rows in the order of their locators: the tree of the rows has, and the entries
/// of one key that is not unique, which end with them.
fn is_by_locator(index: &IndexDef, position: usize, given: usize) -> bool {
    position == 0 || !index.unique && given == index.key.len()
}

/// How a condition gives the locator.
const IS: [CmpOp; 1] = [CmpOp::Eq];
/// How a condition says behind or before which locator rows are.
const BEYOND: [CmpOp; 2] = [CmpOp::Gt, CmpOp::Lt];

/// The column that a comparison converts, the range of its values in which the answer is, and what of the comparison that says.
fn range_of(
    get: &Get,
    op: CmpOp,
    side: &Expr,
    value: &Expr,
) -> Option<(usize, [Option<days::End>; 2], Answers)> {
    if let Some(column) = day_of(get, side).filter(|_| value.ty == SqlType::Date && !value.is_volatile()) {
        let (low, high) = days::range(op, value, get.table.columns[column].ty);
        let answers = if op == CmpOp::Eq { Answers::Half } else { Answers::All };
        return Some((column, [low, high], answers));
    }
    if column_side(get, side).is_some() {
        return None;
    }
    let (column, ends) = through::range(get, op, side, value)?;
    Some((column, ends.map(|end| end.map(|v| (v, true))), Answers::Part))
}

pub(super) fn sargs(get: &Get, conjuncts: &[Expr]) -> Vec<Sarg> {
    let own = |e: &Expr| e.slots().iter().any(|s| get.column_of(*s).is_some());
    let mut found = Vec::new();
    for (i, e) in conjuncts.iter().enumerate() {
        let mut add = |column: usize, kind: SargKind| {
            let answers = if matches!(kind, SargKind::Like(_)) { Answers::Part } else { Answers::All };
            found.push(Sarg { column, kind, conjunct: i, answers });
        };
        match &e.kind {
            ExprKind::Compare(op, l, r) => {
                for (side, value, op) in [(l, r, *op), (r, l, op.flip())] {
                    if op == CmpOp::Eq
                        && let Some((column, value)) =
                            through::equal(get, side, value).filter(|_| !own(value))
                    {
                        add(column, SargKind::Eq(value));
                        break;
                    }
                    if let Some((column, ends, answers)) =
                        range_of(get, op, side, value).filter(|_| !own(value))
                    {
                        let kinds = [SargKind::Low, SargKind::High].into_iter().zip(ends);
                        let kinds =
                            kinds.filter_map(|(kind, end)| end.map(|(v, inclusive)| kind(v, inclusive)));
                        found.extend(kinds.map(|kind| Sarg { column, kind, conjunct: i, answers }));
                        break;
                    }
                    let Some(column) = column_side(get, side).filter(|_| !own(value)) else { continue };
                    let Some(v) = key_value(&get.table, column, value, e.collation) else { continue };
                    match op {
                        CmpOp::Eq => add(column, SargKind::Eq(v)),
                        CmpOp::Lt => add(column, SargKind::High(v, false)),
                        CmpOp::Le => add(column, SargKind::High(v, true)),
                        CmpOp::Gt => add(column, SargKind::Low(v, false)),
                        CmpOp::Ge => add(column, SargKind::Low(v, true)),
                        CmpOp::Ne => {}
                    }
                }
            }
            ExprKind::InList(l, list) => {
                let Some(column) = column_side(get, l) else { continue };
                let values: Option<Vec<Expr>> = list
                    .iter()
                    .map(|v| if own(v) { None } else { key_value(&get.table, column, v, e.collation) })
                    .collect();
                if let Some(values) = values {
                    add(column, SargKind::In(values));
                }
            }
            ExprKind::Like(l, p, None) if !own(p) && p.ty.is_string() => {
                let Some(column) = column_side(get, l) else { continue };
                let starts_wild =
                    matches!(p.as_const(), Some(Value::Str(s)) if s.starts_with(['%', '_', '[']));
                if !starts_wild
                    && get.table.columns[column].collation == e.collation
                    && get.table.columns[column].ty.is_string()
                {
                    add(column, SargKind::Like((**p).clone()));
                }
            }
            _ => {}
        }
    }
    found
}

/// Columns (positions) an index row can supply.
fn supplies(table: &TableDef, index: &IndexDef) -> Option<Vec<i32>> {
    (index.kind == IndexKind::Nonclustered).then(|| index.stored_columns(table))
}

/// The column that a condition says to be equal to something else, and that, where both have the same keys.
pub(super) fn same_key(get: &Get, e: &Expr) -> Option<(usize, Expr)> {
    sargs(get, std::slice::from_ref(e)).into_iter().find_map(|s| match s.kind {
        SargKind::Eq(value) => Some((s.column, value)),
        _ => None,
    })
}

impl Path {
    /// The conjuncts that its seek uses.
    pub(super) fn conjuncts(&self) -> Vec<usize> {
        let parts = self.eq.iter().chain(&self.low).chain(&self.high).chain(&self.list);
        parts.map(|s| s.conjunct).chain(self.row).chain(self.beyond).collect()
    }

    /// The conjuncts that bound the search and are tested all the same: patterns by their first letters, converted columns.
    pub(super) fn tested(&self) -> Vec<usize> {
        let ends = self.low.iter().chain(&self.high);
        ends.filter(|end| end.answers == Answers::Part).map(|end| end.conjunct).collect()
    }

    /// Whether it goes to one row by its locator.
    pub(super) fn is_by_row(&self) -> bool {
        self.row.is_some()
    }

    /// The order its rows come in.
    #[must_use]
    pub fn ordering(&self, get: &Get) -> Ordering {
        if self.list.is_some() {
            return Vec::new();
        }
        if self.by_locator {
            return vec![(get.locator, self.backward)];
        }
        let table = &get.table;
        let index = &table.indexes[self.index];
        let keys = index.key.iter().skip(self.eq.len());
        keys.filter_map(|k| {
            table.column_index(k.column_id).map(|i| (get.slot(i), k.descending != self.backward))
        })
        .collect()
    }
    /// Whether it looks rows up in an index, by so many columns of the key or more.
    fn seeks(&self, columns: usize) -> bool {
        let last = self.low.is_some() || self.high.is_some() || self.list.is_some();
        self.eq.len() + usize::from(last) >= columns.max(1)
    }
    /// Whether it reads from a value, or up to one.
    pub(super) fn is_range(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }
    /// Slots bound to one value.
    #[must_use]
    pub fn fixed(&self, get: &Get) -> SlotSet {
        self.eq.iter().map(|s| get.slot(s.column)).collect()
    }
}

/// Whether rows ordered by `have`, with `fixed` slots constant, satisfy the wished order.
#[must_use]
pub fn satisfies(have: &[(Slot, bool)], fixed: &SlotSet, want: &[(Slot, bool)]) -> bool {
    let mut have = have.iter().filter(|(s, _)| !fixed.contains(s));
    want.iter().filter(|(s, _)| !fixed.contains(s)).all(|w| have.next() == Some(w))
}

impl Planner<'_, '_> {
    /// The cheapest way to read a table.
    pub fn best_path(&self, r: &Request<'_>) -> Path {
        let conjuncts = with_policy(r.get, r.conjuncts);
        let r = &Request { conjuncts: &conjuncts, ..*r };
        let table = &r.get.table;
        let sargs = sargs(r.get, r.conjuncts);
        let stats = self.statistics(table);
        let total = stats.as_ref().map_or(cost::DEFAULT_ROWS, |s| s.rows.max(cost::ROWS_MIN));
        let selectivity = self.selectivity_of(r.conjuncts, Some(r.get));
        let mut needed: Vec<i32> = Vec::new();
        for (i, c) in table.columns.iter().enumerate() {
            let slot = r.get.slot(i);
            if r.need.contains(&slot) || r.conjuncts.iter().any(|e| e.slots().contains(&slot)) {
                needed.push(c.column_id);
            }
        }
        let by_locator = |e: &Expr| locator_value(r.get, e, &IS).is_some();
        if let Some(conjunct) = r.conjuncts.iter().position(by_locator) {
            let path = self.path(r, 0, &[], total);
            return Path {
                row: Some(conjunct),
                point: true,
                rows: 1.0,
                cost: cost::SEEK + cost::ROW,
                ..path
            };
        }
        let mut best: Option<Path> = None;
        let mut ways = 0;
        let hinted = &r.get.hints.indexes;
        let told = self.told_read(r.get);
        for (i, index) in table.indexes.iter().enumerate() {
            let others = told.is_some_and(|told| told != i);
            if index.disabled || others || (!hinted.is_empty() && !hinted.contains(&i)) {
                continue;
            }
            let filter = match &index.filter {
                None => &[][..],
                Some(_) => match self.filter_met(r, i) {
                    Some(filter) => filter,
                    None => continue,
                },
            };
            let mut path = self.path(r, i, &sargs, total);
            if r.get.hints.force_seek.is_some_and(|columns| !path.seeks(columns)) {
                continue;
            }
            ways += 1;
            path.covering = supplies(table, index).is_none_or(|s| needed.iter().all(|c| s.contains(c)));
            if (r.get.target || r.need.contains(&r.get.locator)) && i != 0 {
                // Targets of changes need the whole row.
                path.covering = false;
            }
            path.rows = if path.point { path.rows.min(1.0) } else { (total * selectivity).max(0.01) };
            let touched = self.touched(&path, r, filter, total.max(cost::PATH_ROWS_MIN));
            let row = if path.covering { cost::ROW } else { cost::ROW + cost::LOOKUP };
            path.cost = cost::SEEK + touched * row;
            if i != 0 && path.covering {
                // A narrower row: slightly cheaper than the whole one.
                path.cost *= 0.7;
            }
            if let Some(want) = r.order {
                let fixed = path.fixed(r.get);
                if !satisfies(&path.ordering(r.get), &fixed, want) {
                    path.backward = true;
                    if !satisfies(&path.ordering(r.get), &fixed, want) {
                        path.backward = false;
                        path.cost += cost::sort(path.rows);
                    } else if let Some(goal) = r.row_goal {
                        path.cost = scaled(path.cost, goal, path.rows);
                    }
                } else if let Some(goal) = r.row_goal {
                    path.cost = scaled(path.cost, goal, path.rows);
                }
            } else if let Some(goal) = r.row_goal {
                path.cost = scaled(path.cost, goal, path.rows);
            }
            if best.as_ref().is_none_or(|b| better(&path, b)) {
                best = Some(path);
            }
        }
        self.note_weighing(r, best.as_ref(), ways, total);
        best.unwrap_or_else(|| {
            // Hints leave no way: whoever chooses among ways takes another.
            Path { cost: f64::INFINITY, rows: total, ..self.path(r, 0, &[], total) }
        })
    }

    /// Rows of the tree that are read, of which a filtered index has those that its conditions leave.
    fn touched(&self, path: &Path, r: &Request<'_>, filter: &[Expr], total: f64) -> f64 {
        if path.point {
            return 1.0;
        }
        let mut conjuncts = path.conjuncts();
        conjuncts.sort_unstable();
        conjuncts.dedup();
        let used: Vec<&Expr> = conjuncts.iter().map(|c| &r.conjuncts[*c]).collect();
        let about = |e: &Expr| used.iter().any(|u| u.slots() == e.slots());
        let own = filter.iter().filter(|e| !about(e));
        let fraction = self.selectivity_of(used.iter().copied().chain(own), Some(r.get));
        (total * fraction).max(1.0)
    }

    fn path(&self, r: &Request<'_>, position: usize, sargs: &[Sarg], total: f64) -> Path {
        let table = &r.get.table;
        let index = &table.indexes[position];
        let mut path = Path {
            index: position,
            eq: Vec::new(),
            low: None,
            high: None,
            list: None,
            row: None,
            beyond: None,
            by_locator: false,
            point: false,
            covering: true,
            backward: false,
            rows: total,
            cost: 0.0,
            first_rows: r.row_goal.is_some_and(|g| g <= STEPWISE_ROWS_MAX),
        };
        if r.get.hints.force_scan {
            return path;
        }
        for key in &index.key {
            let Some(column) = table.column_index(key.column_id) else { break };
            let on =
                |f: fn(&SargKind) -> bool| sargs.iter().find(|s| s.column == column && f(&s.kind)).cloned();
            if let Some(eq) = on(|k| matches!(k, SargKind::Eq(_))) {
                path.eq.push(eq);
                continue;
            }
            if let Some(list) = on(|k| matches!(k, SargKind::In(_))) {
                path.list = Some(list);
                break;
            }
            path.low = on(|k| matches!(k, SargKind::Low(..)));
            path.high = on(|k| matches!(k, SargKind::High(..)));
            if path.low.is_none() && path.high.is_none() {
                path.low = on(|k| matches!(k, SargKind::Like(_)));
            }
            break;
        }
        path.point = index.unique && !index.key.is_empty() && path.eq.len() == index.key.len();
        if path.point {
            path.rows = 1.0;
        } else if path.list.is_none() && is_by_locator(index, position, path.eq.len()) {
            path.beyond = r.conjuncts.iter().position(|e| locator_value(r.get, e, &BEYOND).is_some());
            path.by_locator = r.order.is_some_and(|order| matches!(order, [(s, _)] if *s == r.get.locator));
        }
        path
    }

    /// Builds the access for a path. `need` are the slots wanted above; conjuncts not used by the seek are tested here.
    pub fn access(&mut self, get: &Get, path: &Path, conjuncts: &[Expr], need: &SlotSet) -> Result<Node> {
        let conjuncts = &*with_policy(get, conjuncts);
        self.check_told_read(get);
        self.decide_read(get, path.index);
        let table = get.table.clone();
        let index = table.indexes[path.index].clone();
        let (bounds, mut consumed) = self.bounds(get, path, &index, conjuncts)?;
        let beyond = self.beyond(get, path, conjuncts)?;
        consumed.extend(path.beyond);
        let residual: Vec<Expr> = conjuncts
            .iter()
            .enumerate()
            .filter(|(i, _)| !consumed.contains(i))
            .map(|(_, e)| e.clone())
            .collect();
        let mut wanted = need.clone();
        residual.iter().for_each(|e| e.add_slots(&mut wanted));
        // A row's locator is known when everything else has been looked at.
        let (by_locator, residual): (Vec<Expr>, Vec<Expr>) =
            residual.into_iter().partition(|e| e.slots().contains(&get.locator));
        let mut shown = self.show_access(get, path, &index, conjuncts, &consumed, &residual);
        let stored = supplies(&table, &index);
        let (mut decode, mut lookup_decode) = (Vec::new(), Vec::new());
        let (mut names, mut lookup_names) = (Vec::new(), Vec::new());
        for (i, c) in table.columns.iter().enumerate().filter(|(i, _)| wanted.contains(&get.slot(*i))) {
            let slot = get.slot(i) as usize;
            let missing = c.missing_value.as_ref().map_or(Value::Null, |b| column::decode(b, &c.ty));
            let position = stored.as_ref().and_then(|s| s.iter().position(|id| *id == c.column_id));
            if stored.is_none() || position.is_some() {
                names.push(c.name.clone());
            }
            match (&stored, position) {
                (None, _) => decode.push(Decode { ordinal: usize::from(c.ordinal), slot, ty: c.ty, missing }),
                (Some(_), Some(ordinal)) => decode.push(Decode { ordinal, slot, ty: c.ty, missing }),
                (Some(_), None) => {
                    lookup_names.push(c.name.clone());
                    lookup_decode.push(Decode { ordinal: usize::from(c.ordinal), slot, ty: c.ty, missing });
                }
            }
        }
        let located = get.target || wanted.contains(&get.locator);
        let needs_lookup =
            stored.is_some() && (!lookup_decode.is_empty() || located || self.direct_target == Some(get.id));
        // Conditions that the index row can answer are tested before the lookup; the statement's own wait for those of policies.
        let late: SlotSet = lookup_decode.iter().map(|d| d.slot as Slot).collect();
        let is_late = |e: &Expr| e.slots().iter().any(|s| late.contains(s));
        let all_late = get.policy.iter().any(is_late);
        let (after, before): (Vec<Expr>, Vec<Expr>) =
            residual.into_iter().partition(|e| all_late || is_late(e));
        let tests = self.tests(before, &mut decode)?;
        let after = self.pred(&after)?;
        let lookup = needs_lookup.then(|| Lookup {
            tree: table.clustered().tree,
            decode: lookup_decode,
            residual: after,
        });
        shown.parts.push(Part::Columns(names));
        let shown_lookup = lookup.is_some().then(|| self.show_lookup(get, lookup_names));
        let direct = self.direct_target == Some(get.id);
        let target = get.target || direct;
        let h = &get.hints;
        let lock = if h.exclusive || (target && path.point) {
            Some(LockMode::Exclusive)
        } else if h.update || target {
            Some(LockMode::Update)
        } else {
            None
        };
        let table_lock = if h.table_exclusive {
            Some(LockMode::Exclusive)
        } else if h.table {
            Some(LockMode::Shared)
        } else if h.decisive {
            // Keeps loads away, whose rows have no locks of their own.
            Some(LockMode::IntentShared)
        } else {
            None
        };
        if lock.is_some() || table_lock.is_some() || h.repeatable || h.serializable {
            self.binder.scope.will_lock(table.database, table.object_id);
        }
        if h.committed {
            self.binder.scope.reads_committed(table.database);
        }
        let leading = leading_of(get, path, &index, &decode);
        let lacks = self.lack_of(get, path, conjuncts, need);
        self.note_conversions(get, conjuncts);
        let access = Access {
            database: table.database,
            object: table.object_id as u32,
            tree: index.tree,
            bounds,
            beyond,
            backward: path.backward,
            decode,
            tests,
            lookup,
            lock,
            table_lock,
            skip_locked: h.skip_locked,
            repeatable: h.repeatable,
            decisive: h.decisive,
            serializable: h.serializable,
            stepwise: path.first_rows,
            versioned: h.dirty || h.committed || h.snapshot,
            view: match h {
                Hints { dirty: true, .. } => Some(Isolation::ReadUncommitted),
                Hints { committed: true, .. } => Some(Isolation::ReadCommitted),
                _ => None,
            },
            // Who changes the rows asks for it by the number of those.
            escalates: !target && table.escalates_locks(),
            no_wait: h.no_wait,
            base_tree: stored.is_some().then(|| table.clustered().tree),
            uses: self.binder.scope.index_use(table.database, index.tree),
            base_uses: self.binder.scope.index_use(table.database, table.clustered().tree),
            table_name: table.name.clone(),
            row_key: located.then_some(get.locator as usize),
            direct,
            keeps_row: false,
            needs_key: located || direct,
            leading,
            lacks,
            shown,
            shown_lookup,
        };
        let node = Node { op: Op::Access(Arc::new(access)), rows: path.rows, cost: path.cost };
        if by_locator.is_empty() { Ok(node) } else { self.filter_node(node, &[], &by_locator) }
    }

    /// Conditions as they are tested, quick ones first, each as soon as its columns are decoded: a row that fails one is decoded no
    /// further.
    fn tests(&mut self, conditions: Vec<Expr>, decode: &mut [Decode]) -> Result<Vec<Test>> {
        let (mut quick, others): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_quick);
        let of_integers = |e: &Expr| matches!(&e.kind, ExprKind::Compare(_, a, _) if (a.ty.is_integer() || a.ty.is_temporal()));
        quick.sort_by_key(|e| !of_integers(e));
        let mut tests = Vec::with_capacity(quick.len() + 1);
        let mut decoded = 0;
        for condition in quick.iter().map(std::slice::from_ref).chain([&others[..]]) {
            if let Some(pred) = self.pred(condition)? {
                decoded = read_next(condition, decoded, decode);
                tests.push(Test { decoded, pred });
            }
        }
        Ok(tests)
    }

    fn key_part(
        &mut self,
        table: &TableDef,
        column: usize,
        descending: bool,
        value: &Expr,
    ) -> Result<KeyPart> {
        let c = &table.columns[column];
        let code = Compiler { subqueries: self }.value(value)?;
        Ok(KeyPart { code, column: KeyColumn { ty: c.ty, collation: c.collation, descending } })
    }

    fn bounds(
        &mut self,
        get: &Get,
        path: &Path,
        index: &IndexDef,
        conjuncts: &[Expr],
    ) -> Result<(Bounds, Vec<usize>)> {
        let table = &get.table;
        let mut consumed = Vec::new();
        if let Some((conjunct, value)) =
            path.row.and_then(|at| Some((at, locator_value(get, &conjuncts[at], &IS)?.1)))
        {
            consumed.push(conjunct);
            return Ok((Bounds::Row(Compiler { subqueries: self }.value(value)?), consumed));
        }
        let mut prefix = Vec::new();
        for (sarg, key) in path.eq.iter().zip(&index.key) {
            if let SargKind::Eq(value) = &sarg.kind {
                prefix.push(self.key_part(table, sarg.column, key.descending, value)?);
                consumed.push(sarg.conjunct);
            }
        }
        if path.point {
            return Ok((Bounds::Point(prefix), consumed));
        }
        let next = index.key.get(path.eq.len());
        if let (Some(list), Some(key)) = (&path.list, next)
            && let SargKind::In(values) = &list.kind
        {
            consumed.push(list.conjunct);
            let c = &table.columns[list.column];
            let column = KeyColumn { ty: c.ty, collation: c.collation, descending: key.descending };
            let items = Compiler { subqueries: self }.values(values)?;
            let unique = index.unique && index.key.len() == path.eq.len() + 1;
            return Ok((Bounds::In { prefix, items, column, unique }, consumed));
        }
        let end =
            |sarg: &Option<Sarg>, this: &mut Self, consumed: &mut Vec<usize>| -> Result<Option<LowHigh>> {
                let (Some(sarg), Some(key)) = (sarg, next) else { return Ok(None) };
                Ok(Some(match &sarg.kind {
                    SargKind::Low(v, inclusive) | SargKind::High(v, inclusive) => {
                        if sarg.answers == Answers::All {
                            consumed.push(sarg.conjunct);
                        }
                        LowHigh::Value(this.key_part(table, sarg.column, key.descending, v)?, *inclusive)
                    }
                    SargKind::Like(p) => {
                        let part = this.key_part(table, sarg.column, key.descending, p)?;
                        LowHigh::LikePrefix(part.code, part.column)
                    }
                    SargKind::Eq(_) | SargKind::In(_) => return Ok(None),
                }))
            };
        let low = end(&path.low, self, &mut consumed)?;
        let high = end(&path.high, self, &mut consumed)?;
        if let (Some(low), Some(high)) = (&path.low, &path.high)
            && low.answers == Answers::Half
            && low.conjunct == high.conjunct
        {
            consumed.push(low.conjunct);
        }
        if prefix.is_empty() && low.is_none() && high.is_none() && path.beyond.is_none() {
            return Ok((Bounds::All, consumed));
        }
        Ok((Bounds::Range { prefix, low, high }, consumed))
    }

    /// Behind or before which locator a path reads.
    fn beyond(&mut self, get: &Get, path: &Path, conjuncts: &[Expr]) -> Result<Option<Beyond>> {
        let found = path.beyond.and_then(|at| locator_value(get, &conjuncts[at], &BEYOND));
        let Some((op, value)) = found else { return Ok(None) };
        let locator = Compiler { subqueries: self }.value(value)?;
        Ok(Some(Beyond { locator, before: op == CmpOp::Lt, of_entries: path.index != 0 }))
    }
}

fn scaled(cost: f64, goal: f64, rows: f64) -> f64 {
    cost::SEEK + cost * (goal / rows.max(1.0)).min(1.0)
}

/// A unique key wins whatever the table's size is today; then lower cost; equal cost prefers the clustered index, then more bound columns.
fn better(a: &Path, b: &Path) -> bool {
    if a.point != b.point {
        return a.point;
    }
    if (a.cost - b.cost).abs() > 1e-9 {
        return a.cost < b.cost;
    }
    a.eq.len() > b.eq.len()
}

/// Whether a condition compares numbers or dates that are there already, which costs little and cannot fail.
fn is_quick(e: &Expr) -> bool {
    let is_leaf = |e: &Expr| {
        let leaf = matches!(e.kind, ExprKind::Slot(_) | ExprKind::Const(_) | ExprKind::Var(_));
        leaf && (e.ty.is_numeric() || e.ty.is_temporal())
    };
    matches!(&e.kind, ExprKind::Compare(_, a, b) if is_leaf(a) && is_leaf(b))
}

/// Puts the columns that a condition reads behind the first `from`, and the others behind these. Up to where it needs them decoded.
fn read_next(condition: &[Expr], from: usize, decode: &mut [Decode]) -> usize {
    if condition.iter().any(Expr::has_subquery) {
        return decode.len();
    }
    let mut read = SlotSet::default();
    condition.iter().for_each(|e| e.add_slots(&mut read));
    let open = &mut decode[from..];
    let is_read = |d: &Decode| read.contains(&(d.slot as Slot));
    open.sort_by_key(|d| !is_read(d));
    from + open.iter().filter(|d| is_read(d)).count()
}
