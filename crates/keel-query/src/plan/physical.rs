//! From logical to physical operators, apart from tables and inner joins (see `access` and `cluster`).

use super::access::satisfies;
use super::cost;
use super::directions::{OuterWay, Place};
use super::equal::Equality;
use super::remote::show_sent;
use super::repeated::Repeated;
use super::shown::{Object, Part, Shown};
use super::text::show_loop;
use super::{Estimated, Planner, SortOrder, rewrite};
use crate::bind::rel::{Get, JoinKind, JoinMethod, Rel, SetKind, SharedRel, SlotSet, SortKey, WindowCall};
use crate::errors::{self, Result};
use crate::exec::node::{
    FilterNode, HashJoinNode, HashKey, HashKeys, LoopNode, Node, Op, OrderKey, ProjectNode, RecursiveNode,
    SetOpNode, SharedNode, SharedPart, SortNode, SpoolNode, TopNode, ValuesNode, VirtualScan, WindowCallNode,
    WindowNode, WorkTableNode,
};
use crate::exec::window_stream;
use crate::expr::compile::{Compiler, Pred};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use keel_types::key::KeyColumn;
use keel_types::{SqlType, Value};
use std::sync::Arc;

/// Deepest nesting of outer, semi and anti joins below one that is planned both ways.
const NESTED_JOINS_MAX: usize = 3;
/// Left rows up to which such a join, when it has more below it, uses nested loops.
const FEW_ROWS: f64 = 10.0;

/// A join that is not inner, and what is known about how to make it.
struct Driven {
    kind: JoinKind,
    left: Rel,
    right: Rel,
    on: Vec<Expr>,
    hint: Option<JoinMethod>,
    at: Place,
    told: Option<OuterWay>,
}

/// A planned subtree.
pub struct Planned {
    /// The operator.
    pub node: Node,
    /// Order its rows come in.
    pub order: Vec<(Slot, bool)>,
    /// Slots that have one value throughout.
    pub fixed: SlotSet,
    /// Slots it writes.
    pub produced: SlotSet,
}

impl Planned {
    /// One row without columns.
    #[must_use]
    pub fn one() -> Planned {
        Planned::plain(Op::One, 1.0, 0.0, SlotSet::new())
    }
    /// Itself, unless hints leave no way to read some table: error 8622.
    pub(super) fn if_possible(self) -> Result<Planned> {
        if self.node.cost.is_finite() { Ok(self) } else { Err(errors::no_plan()) }
    }
    pub(super) fn plain(op: Op, rows: f64, cost: f64, produced: SlotSet) -> Planned {
        Planned { node: Node { op, rows, cost }, order: Vec::new(), fixed: SlotSet::new(), produced }
    }
}

pub(super) fn positions(set: impl IntoIterator<Item = Slot>) -> Vec<usize> {
    set.into_iter().map(|s| s as usize).collect()
}

impl Planner<'_, '_> {
    /// Compiles a conjunction.
    pub fn pred(&mut self, parts: &[Expr]) -> Result<Option<Pred>> {
        Compiler { subqueries: self }.conjunction(parts)
    }

    pub(super) fn compiler(&mut self) -> Compiler<'_> {
        Compiler { subqueries: self }
    }

    pub(super) fn order_keys(&mut self, keys: &[SortKey]) -> Result<Vec<OrderKey>> {
        keys.iter()
            .map(|k| {
                Ok(OrderKey {
                    code: self.compiler().value(&k.expr)?,
                    descending: k.descending,
                    collation: k.expr.collation,
                })
            })
            .collect()
    }

    fn carried(planned: &Planned, need: &SlotSet) -> Vec<usize> {
        positions(planned.produced.intersection(need).copied())
    }

    /// Puts a filter on top.
    pub fn filtered(&mut self, input: Planned, preds: Vec<Expr>, _need: &SlotSet) -> Result<Planned> {
        if preds.is_empty() {
            return Ok(input);
        }
        let (startup, rest): (Vec<Expr>, Vec<Expr>) = preds
            .into_iter()
            .partition(|e| !e.is_volatile() && !e.slots().iter().any(|s| input.produced.contains(s)));
        let Planned { node, order, fixed, produced } = input;
        Ok(Planned { node: self.filter_node(node, &startup, &rest)?, order, fixed, produced })
    }

    /// A node with a filter: conditions that are looked at once, and those on its rows.
    pub(super) fn filter_node(&mut self, input: Node, startup: &[Expr], rest: &[Expr]) -> Result<Node> {
        let shown = self.show_filter(startup, rest);
        let rows = (input.rows * self.selectivity_of(rest, None)).max(0.01);
        let cost = input.cost + input.rows * cost::TOUCH;
        let (startup, pred) = (self.pred(startup)?, self.pred(rest)?);
        let filter = FilterNode { input: Arc::new(input), startup, pred, shown };
        Ok(Node { op: Op::Filter(Arc::new(filter)), rows, cost })
    }

    /// Plans a tree. `need` are the slots read above it; `want` is an order that would be welcome.
    pub fn plan(&mut self, rel: Rel, need: &SlotSet, want: &SortOrder) -> Result<Planned> {
        self.step()?;
        match rel {
            Rel::One | Rel::Get(_) | Rel::Filter { .. } | Rel::Join { kind: JoinKind::Inner, .. } => {
                self.cluster(rel, need, want)
            }
            Rel::Empty(slots) => Ok(Planned::plain(Op::Empty, 0.0, 0.0, slots)),
            Rel::Join { kind, left, right, on, hint } => self.plan_join(kind, *left, *right, on, hint, need),
            Rel::Virtual { table, alias, args, first_slot } => {
                let args = self.compiler().values(&args)?;
                let count = table.0.columns().len();
                let columns = (0..count).map(|i| (i, first_slot as usize + i));
                let columns = columns.filter(|(_, s)| need.contains(&(*s as Slot))).collect();
                let rows = table.0.row_count_estimate() as f64;
                let produced = (first_slot..first_slot + count as Slot).collect();
                let shown = match table.0.shown() {
                    Some(sent) => show_sent(&sent),
                    None => {
                        let object = Object { table: alias, ..Object::default() };
                        Shown::new("Table-valued function", vec![Part::Object(Box::new(object))])
                    }
                };
                let scan = VirtualScan { table, args, columns, residual: None, shown };
                Ok(Planned::plain(Op::Virtual(Arc::new(scan)), rows, rows * 2.0, produced))
            }
            Rel::Remote(remote) => self.plan_remote(*remote, need),
            Rel::Values { rows, slots } => {
                let compiled = rows.iter().map(|r| self.compiler().values(r)).collect::<Result<Vec<_>>>()?;
                let n = compiled.len() as f64;
                let values = ValuesNode { rows: compiled, slots: positions(slots.iter().copied()) };
                Ok(Planned::plain(
                    Op::Values(Arc::new(values)),
                    n,
                    n * cost::TOUCH,
                    slots.into_iter().collect(),
                ))
            }
            Rel::Project { input, exprs } => self.plan_project(*input, exprs, need, want),
            Rel::Aggregate { input, groups, sets, grouping_id, aggs, scalar } => {
                self.plan_aggregate(*input, groups, sets, grouping_id, aggs, scalar, need)
            }
            Rel::Window { input, partition, order, calls } => {
                self.plan_window(*input, partition, order, calls, need)
            }
            Rel::Sort { input, keys } => self.plan_sort(*input, keys, need, Vec::new(), want.row_goal),
            Rel::Top { input, count, percent, ties, offset } => {
                self.plan_top(*input, count, percent, ties, offset, need)
            }
            Rel::Distinct { input, slots } => self.plan_distinct(*input, slots, want.row_goal),
            Rel::SetOp { kind, left, right, left_slots, right_slots, slots } => {
                self.plan_set(kind, *left, *right, left_slots, right_slots, slots)
            }
            Rel::Recursive { id, anchor, anchor_slots, step, step_slots, slots, limit } => {
                let anchor = self.plan(*anchor, &anchor_slots.iter().copied().collect(), &SortOrder::NONE)?;
                let step = self.plan(*step, &step_slots.iter().copied().collect(), &SortOrder::NONE)?;
                let rows = anchor.node.rows * 10.0;
                let cost = anchor.node.cost + step.node.cost * 10.0;
                let node = RecursiveNode {
                    id: id as usize,
                    anchor: Arc::new(anchor.node),
                    anchor_slots: positions(anchor_slots),
                    step: Arc::new(step.node),
                    step_slots: positions(step_slots),
                    slots: positions(slots.iter().copied()),
                    limit,
                };
                Ok(Planned::plain(Op::Recursive(Arc::new(node)), rows, cost, slots.into_iter().collect()))
            }
            Rel::WorkTable { id, slots } => {
                let node = WorkTableNode { id: id as usize, slots: positions(slots.iter().copied()) };
                Ok(Planned::plain(Op::WorkTable(Arc::new(node)), 10.0, 10.0, slots.into_iter().collect()))
            }
            Rel::Shared { of, slots } => self.plan_shared(&of, slots),
            Rel::MaxOneRow { input } => {
                let planned = self.plan(*input, need, &SortOrder::NONE)?;
                let (cost, produced) = (planned.node.cost, planned.produced);
                Ok(Planned::plain(Op::MaxOneRow(Arc::new(planned.node)), 1.0, cost, produced))
            }
        }
    }

    /// A place that reads a shared part, which is planned for the first of them. Each pays its share of the cost.
    fn plan_shared(&mut self, of: &SharedRel, slots: Vec<Slot>) -> Result<Planned> {
        let known = self.shared.get(&of.number).cloned();
        let Estimated { part, rows, cost } = match known {
            Some(part) => part,
            None => {
                let need = of.slots.iter().copied().collect();
                let Planned { node, .. } = self.plan(of.rel.clone(), &need, &SortOrder::NONE)?;
                let part = Arc::new(SharedPart::new(of.number, positions(of.slots.iter().copied())));
                let estimated = Estimated { part: part.clone(), rows: node.rows, cost: node.cost };
                self.shared.insert(of.number, estimated.clone());
                self.unfinished.push((part, node));
                estimated
            }
        };
        let cost = cost / of.places as f64 + rows * cost::TOUCH * 2.0;
        let node = SharedNode { of: part, slots: positions(slots.iter().copied()) };
        Ok(Planned::plain(Op::Shared(Arc::new(node)), rows, cost, slots.into_iter().collect()))
    }

    /// How a slot compares.
    pub fn key_column(&self, slot: Slot) -> KeyColumn {
        let info = &self.binder.slots[slot as usize];
        KeyColumn::ascending(info.ty, info.collation)
    }

    fn plan_project(
        &mut self,
        input: Rel,
        exprs: Vec<(Slot, Expr)>,
        need: &SlotSet,
        want: &SortOrder,
    ) -> Result<Planned> {
        // Later expressions of one projection may read earlier ones; unneeded ones are dropped.
        let mut wanted = need.clone();
        let mut kept = Vec::new();
        for (slot, e) in exprs.into_iter().rev() {
            if wanted.contains(&slot) {
                e.add_slots(&mut wanted);
                kept.push((slot, e));
            }
        }
        kept.reverse();
        let mut planned = self.plan(input, &wanted, want)?;
        if kept.is_empty() {
            return Ok(planned);
        }
        self.decode_late(&mut planned.node, kept.iter().map(|(_, e)| e), need);
        let shown = self.show_project(&kept);
        let mut compiled = Vec::with_capacity(kept.len());
        for (slot, e) in &kept {
            compiled.push((*slot as usize, self.compiler().value(e)?));
            planned.produced.insert(*slot);
            // An order by a column is also an order by its copy.
            if let Some(from) = e.as_slot() {
                for o in &mut planned.order {
                    if o.0 == from && need.contains(slot) && !need.contains(&from) {
                        o.0 = *slot;
                    }
                }
            }
        }
        let Planned { node, order, fixed, produced } = planned;
        let (rows, cost) = (node.rows, node.cost + node.rows * cost::TOUCH);
        let project = ProjectNode { input: Arc::new(node), exprs: compiled, shown };
        Ok(Planned { node: Node { op: Op::Project(Arc::new(project)), rows, cost }, order, fixed, produced })
    }

    /// Sort keys as slots, when they are nothing else.
    fn slot_order(keys: &[SortKey]) -> Option<Vec<(Slot, bool)>> {
        keys.iter().map(|k| k.expr.as_slot().map(|s| (s, k.descending))).collect()
    }

    pub(super) fn plan_sort(
        &mut self,
        input: Rel,
        keys: Vec<SortKey>,
        need: &SlotSet,
        limit: Vec<Expr>,
        row_goal: Option<f64>,
    ) -> Result<Planned> {
        let mut wanted = need.clone();
        keys.iter().for_each(|k| k.expr.add_slots(&mut wanted));
        let order = Self::slot_order(&keys);
        let want = SortOrder { keys: order.clone(), row_goal };
        let planned = self.plan(input, &wanted, &want)?;
        if let Some(order) = &order
            && satisfies(&planned.order, &planned.fixed, order)
        {
            self.order_used = true;
            return Ok(planned);
        }
        let shown = self.show_sort(&keys, !limit.is_empty());
        let compiled = self.order_keys(&keys)?;
        let limit = self.compiler().values(&limit)?;
        let slots = Self::carried(&planned, need);
        let rows = planned.node.rows;
        let cost = planned.node.cost + cost::sort(rows);
        let node = SortNode { input: Arc::new(planned.node), keys: compiled, slots, limit, shown };
        let mut out = Planned::plain(Op::Sort(Arc::new(node)), rows, cost, planned.produced);
        out.order = order.unwrap_or_default();
        Ok(out)
    }

    fn plan_top(
        &mut self,
        input: Rel,
        count: Option<Expr>,
        percent: bool,
        ties: Option<Vec<SortKey>>,
        offset: Option<Expr>,
        need: &SlotSet,
    ) -> Result<Planned> {
        let number = |e: &Expr| match e.as_const() {
            Some(Value::Int(n)) => Some(*n as f64),
            _ => None,
        };
        let goal = match (&count, percent) {
            (Some(c), false) => {
                Some(number(c).unwrap_or(100.0) + offset.as_ref().map_or(0.0, |o| number(o).unwrap_or(100.0)))
            }
            _ => None,
        };
        let mut wanted = need.clone();
        ties.iter().flatten().for_each(|k| k.expr.add_slots(&mut wanted));
        // TOP over ORDER BY: the sort needs to remember only the first rows.
        let limit = match (&count, percent, &ties) {
            (Some(c), false, None) => std::iter::once(c).chain(&offset).cloned().collect(),
            _ => Vec::new(),
        };
        let planned = match input {
            Rel::Sort { input, keys } => self.plan_sort(*input, keys, &wanted, limit, goal)?,
            other => self.plan(other, &wanted, &SortOrder { keys: None, row_goal: goal })?,
        };
        let may_be_none = count.as_ref().is_some_and(is_select_of_value);
        let shown = self.show_top(count.as_ref(), percent, ties.as_deref(), offset.as_ref());
        let ties = ties.map(|t| self.order_keys(&t)).transpose()?;
        let count = count.map(|c| self.compiler().value(&c)).transpose()?;
        let offset = offset.map(|o| self.compiler().value(&o)).transpose()?;
        let slots = Self::carried(&planned, &wanted);
        let rows = goal.map_or(planned.node.rows, |g| g.min(planned.node.rows));
        let cost = planned.node.cost;
        let input = Arc::new(planned.node);
        let node = TopNode { input, count, percent, ties, offset, may_be_none, slots, shown };
        let mut out = Planned::plain(Op::Top(Arc::new(node)), rows, cost, planned.produced);
        out.order = planned.order;
        out.fixed = planned.fixed;
        Ok(out)
    }

    fn plan_window(
        &mut self,
        input: Rel,
        partition: Vec<Expr>,
        order: Vec<SortKey>,
        calls: Vec<WindowCall>,
        need: &SlotSet,
    ) -> Result<Planned> {
        let mut inside = need.clone();
        partition.iter().for_each(|e| e.add_slots(&mut inside));
        order.iter().for_each(|k| k.expr.add_slots(&mut inside));
        calls.iter().flat_map(|c| &c.args).for_each(|e| e.add_slots(&mut inside));
        let mut keys: Vec<SortKey> =
            partition.iter().map(|e| SortKey { expr: e.clone(), descending: false }).collect();
        keys.extend(order.iter().cloned());
        let planned = if keys.is_empty() {
            self.plan(input, &inside, &SortOrder::NONE)?
        } else {
            self.plan_sort(input, keys, &inside, Vec::new(), None)?
        };
        let mut compiled = Vec::new();
        for c in &calls {
            compiled.push(WindowCallNode {
                func: c.func,
                arg_ty: c.args.first().map_or(SqlType::Int, |a| a.ty),
                collation: c.args.first().map(|a| a.collation).unwrap_or_default(),
                args: self.compiler().values(&c.args)?,
                frame: c.frame,
                slot: c.slot as usize,
                ty: c.ty,
                ignore_nulls: c.ignore_nulls,
                steady: c.args.get(1).is_none_or(|a| a.slots().is_empty() && !a.has_subquery()),
            });
        }
        // What can be computed as the rows pass stands above what cannot, over the same order.
        let (passing, held): (Vec<_>, Vec<_>) = compiled.into_iter().partition(window_stream::streams);
        let mut out = planned;
        for calls in [held, passing] {
            if !calls.is_empty() {
                out = self.window_over(out, &partition, &order, calls, &mut inside)?;
            }
        }
        Ok(out)
    }

    fn window_over(
        &mut self,
        input: Planned,
        partition: &[Expr],
        order: &[SortKey],
        calls: Vec<WindowCallNode>,
        inside: &mut SlotSet,
    ) -> Result<Planned> {
        let partition = partition.iter().map(|e| Ok((self.compiler().value(e)?, e.collation)));
        let partition = partition.collect::<Result<Vec<_>>>()?;
        let order = self.order_keys(order)?;
        let slots = Self::carried(&input, inside);
        let mut produced = input.produced.clone();
        let made: Vec<Slot> = calls.iter().map(|c| c.slot as Slot).collect();
        produced.extend(&made);
        inside.extend(made);
        let (rows, cost) = (input.node.rows, input.node.cost + input.node.rows * 2.0);
        let node = WindowNode { input: Arc::new(input.node), partition, order, calls, slots };
        let mut out = Planned::plain(Op::Window(Arc::new(node)), rows, cost, produced);
        out.order = input.order;
        Ok(out)
    }

    fn plan_set(
        &mut self,
        kind: SetKind,
        left: Rel,
        right: Rel,
        left_slots: Vec<Slot>,
        right_slots: Vec<Slot>,
        slots: Vec<Slot>,
    ) -> Result<Planned> {
        let left = self.plan(left, &left_slots.iter().copied().collect(), &SortOrder::NONE)?;
        let right = self.plan(right, &right_slots.iter().copied().collect(), &SortOrder::NONE)?;
        let columns = slots.iter().map(|s| self.key_column(*s)).collect();
        let (l, r) = (left.node.rows, right.node.rows);
        let rows = if kind == SetKind::UnionAll { l + r } else { l * 0.5 };
        let cost = left.node.cost + right.node.cost + (l + r) * cost::TOUCH;
        let node = SetOpNode {
            kind,
            left: Arc::new(left.node),
            right: Arc::new(right.node),
            left_slots: positions(left_slots),
            right_slots: positions(right_slots),
            slots: positions(slots.iter().copied()),
            columns,
        };
        Ok(Planned::plain(Op::SetOp(Arc::new(node)), rows, cost, slots.into_iter().collect()))
    }

    /// Left, full, semi and anti joins. A semi join may also go down to the table it is about, before the inner joins on its left:
    /// both are planned and compared.
    fn plan_join(
        &mut self,
        kind: JoinKind,
        left: Rel,
        right: Rel,
        on: Vec<Expr>,
        hint: Option<JoinMethod>,
        need: &SlotSet,
    ) -> Result<Planned> {
        let hint = hint.or_else(|| self.binder.only_join());
        let at = Place::above(&[&left, &right]);
        let told = self.told_outer(at);
        let may_sink = match told {
            Some(way) => way == OuterWay::Early,
            None => {
                let free = hint.is_none() && !self.binder.asked.force_order;
                kind == JoinKind::Semi && free && semi_joins(&left) < NESTED_JOINS_MAX
            }
        };
        let early = if may_sink { rewrite::sunk(kind, &left, &right, &on) } else { None };
        let join = Driven { kind, left, right, on, hint, at, told };
        let Some(early) = early else { return self.plan_driven(join, need) };
        let from = self.decided();
        let early = self.plan(early, need, &SortOrder::NONE)?;
        let between = self.decided();
        if told.is_none() {
            let late = self.plan_driven(join, need)?;
            if early.node.cost >= late.node.cost {
                self.strike_out(from..between);
                return Ok(late);
            }
        }
        self.decide_outer(at, OuterWay::Early, Some(between..self.decided()));
        Ok(early)
    }

    /// Such a join where it stands: the left side drives.
    fn plan_driven(&mut self, join: Driven, need: &SlotSet) -> Result<Planned> {
        let start = self.decided();
        let reversed = self.reversed(&join, need)?;
        let Driven { kind, left, right, on, hint, at, told } = join;
        let (ls, rs) = (left.produced(), right.produced());
        let hint = match told {
            Some(OuterWay::Loop) => Some(JoinMethod::Loop),
            Some(OuterWay::Hash) => Some(JoinMethod::Hash),
            _ => hint,
        };
        let driven = self.decided();
        let reversed = match reversed {
            Some(reversed) if told.is_some() => {
                self.decide_outer(at, OuterWay::Reversed, None);
                return Ok(reversed);
            }
            reversed => reversed,
        };
        let cheaper = |other: f64| reversed.as_ref().is_some_and(|r| r.node.cost < other);
        let mut inside = need.clone();
        on.iter().for_each(|e| e.add_slots(&mut inside));
        let right_outer = right.outer_slots();
        let lateral = right_outer.iter().any(|s| ls.contains(s));
        let mut left_need = inside.clone();
        left_need.extend(right_outer);
        let l = self.plan(left, &left_need, &SortOrder::NONE)?;
        let with_left = self.decided();
        let (keys, rest): (Vec<Expr>, Vec<Expr>) =
            on.iter().cloned().partition(|e| Equality::between(e, &ls, &rs).is_some());
        let can_hash = !lateral;
        let can_loop = !matches!(kind, JoinKind::Full | JoinKind::NotIn);
        // Both ways are planned and compared, except high above the leaves: each level doubles the work below it.
        let hint = match hint {
            None if can_loop && can_hash && !keys.is_empty() && nested_joins(&right) > NESTED_JOINS_MAX => {
                let few = l.node.rows <= FEW_ROWS;
                Some(if few { JoinMethod::Loop } else { JoinMethod::Hash })
            }
            hint => hint,
        };
        let looped = if can_loop && (hint != Some(JoinMethod::Hash) || !can_hash) {
            let inner = if self.binder.scope.disabled_passes().is_empty() {
                rewrite::push(right.clone(), on.clone())
            } else {
                right.clone().filter(on.clone())
            };
            Some(self.plan(inner, need, &SortOrder { keys: None, row_goal: semi_goal(kind) })?)
        } else {
            None
        };
        if (!can_hash || hint == Some(JoinMethod::Loop))
            && let Some(inner) = looped
        {
            self.decide_outer(at, OuterWay::Loop, Some(start..driven));
            return self.loop_join(kind, l, inner, Vec::new(), need);
        }
        let with_loop = self.decided();
        let table = table_of(&right);
        let mut hashed = self.plan(right, &inside, &SortOrder::NONE)?;
        if let Some((get, mut conjuncts)) = table {
            conjuncts.extend(keys.iter().cloned());
            self.note_join(&get, &conjuncts, &inside, l.node.rows, &mut hashed.node);
        }
        if let Some(inner) = looped {
            let loop_cost = Repeated::of(&inner.node).for_each(l.node.rows);
            let probe = if keys.is_empty() { hashed.node.rows * cost::TOUCH } else { cost::HASH_PROBE };
            let hash_cost = hashed.node.cost
                + hashed.node.rows * cost::HASH_BUILD
                + l.node.rows * probe
                + cost::HASH_START;
            if cheaper(l.node.cost + loop_cost.min(hash_cost))
                && let Some(reversed) = reversed
            {
                self.decide_outer(at, OuterWay::Reversed, Some(driven..self.decided()));
                return Ok(reversed);
            }
            if loop_cost < hash_cost {
                self.decide_outer(at, OuterWay::Loop, [start..driven, with_loop..self.decided()]);
                return self.loop_join(kind, l, inner, Vec::new(), need);
            }
        }
        self.decide_outer(at, OuterWay::Hash, [start..driven, with_left..with_loop]);
        self.hash_join(kind, l, hashed, keys, rest, need)
    }

    /// A semi join from its right side, where directions say so, or where nothing is said and it may be the cheapest way.
    fn reversed(&mut self, join: &Driven, need: &SlotSet) -> Result<Option<Planned>> {
        let may = match join.told {
            Some(way) => way == OuterWay::Reversed,
            None => join.hint.is_none() && join.kind == JoinKind::Semi && !self.binder.asked.force_order,
        };
        if may { self.by_the_right(&join.left, &join.right, &join.on, need) } else { Ok(None) }
    }

    /// A semi join of a table by way of the other side: for each of its values once, the rows that have it. Values of another type
    /// are converted to the column's first; `None` where the column would be converted, or a row could be found for two of them
    /// because the sides' collations differ.
    fn by_the_right(
        &mut self,
        left: &Rel,
        right: &Rel,
        on: &[Expr],
        need: &SlotSet,
    ) -> Result<Option<Planned>> {
        let stored = match left {
            Rel::Filter { input, .. } => matches!(**input, Rel::Get(_)),
            other => matches!(other, Rel::Get(_)),
        };
        let (ls, rs) = (left.produced(), right.produced());
        let by_left = right.outer_slots().iter().any(|s| ls.contains(s));
        if !stored || by_left || nested_joins(right) > NESTED_JOINS_MAX {
            return Ok(None);
        }
        let mut slots = Vec::with_capacity(on.len());
        let (mut converted, mut equal) = (Vec::new(), Vec::with_capacity(on.len()));
        for e in on {
            let Some(Equality { left: l, right: r, collation, with_nulls }) = Equality::between(e, &ls, &rs)
            else {
                return Ok(None);
            };
            let alike = l.ty == r.ty && (!r.ty.is_string() || r.collation == collation);
            if !matches!(l.kind, ExprKind::Slot(_)) || !alike || with_nulls {
                return Ok(None);
            }
            match &r.kind {
                ExprKind::Slot(slot) => {
                    slots.push(*slot);
                    equal.push(e.clone());
                }
                // A conversion to strings has a collation to look after.
                ExprKind::Cast(c) if matches!(c.input.kind, ExprKind::Slot(_)) && !r.ty.is_string() => {
                    let slot = self.binder.slot_for("", r);
                    converted.push((slot, r.clone()));
                    slots.push(slot);
                    let read = self.binder.read(slot);
                    equal.push(self.binder.comparison(CmpOp::Eq, l.clone(), read)?);
                }
                _ => return Ok(None),
            }
        }
        if slots.is_empty() {
            return Ok(None);
        }
        let values = slots.iter().copied().collect();
        let outer = Rel::Distinct { input: Box::new(right.clone().project(converted)), slots };
        let outer = self.plan(outer, &values, &SortOrder::NONE)?;
        let inner = self.plan(rewrite::push(left.clone(), equal), need, &SortOrder::NONE)?;
        self.loop_join(JoinKind::Inner, outer, inner, Vec::new(), need).map(Some)
    }

    /// Nested loops over planned inputs.
    pub fn loop_join(
        &mut self,
        kind: JoinKind,
        outer: Planned,
        inner: Planned,
        on: Vec<Expr>,
        need: &SlotSet,
    ) -> Result<Planned> {
        let shown = show_loop(kind);
        let selectivity = self.selectivity_of(&on, None);
        let rows = joined_rows(kind, outer.node.rows, inner.node.rows * selectivity);
        let cost = outer.node.cost + Repeated::of(&inner.node).for_each(outer.node.rows);
        let mut produced = outer.produced;
        let inner_slots = positions(inner.produced.intersection(need).copied());
        if matches!(kind, JoinKind::Inner | JoinKind::Left) {
            produced.extend(&inner.produced);
        }
        let node = LoopNode {
            kind,
            outer: Arc::new(outer.node),
            inner: Arc::new(inner.node),
            on: self.pred(&on)?,
            inner_slots,
            shown,
        };
        let mut out = Planned::plain(Op::Loop(Arc::new(node)), rows, cost, produced);
        out.order = outer.order;
        out.fixed = outer.fixed;
        Ok(out)
    }

    /// Hash join over planned inputs; `keys` are equalities between the two sides.
    pub fn hash_join(
        &mut self,
        kind: JoinKind,
        probe: Planned,
        build: Planned,
        keys: Vec<Expr>,
        rest: Vec<Expr>,
        need: &SlotSet,
    ) -> Result<Planned> {
        let shown = self.show_hash(kind, &keys, &rest);
        let (mut probe_keys, mut build_keys, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for k in &keys {
            let Some(equal) = Equality::between(k, &probe.produced, &build.produced) else { continue };
            let column = KeyColumn::ascending(equal.left.ty, equal.collation);
            parts.push(HashKey { column, with_nulls: equal.with_nulls });
            probe_keys.push(self.compiler().value(equal.left)?);
            build_keys.push(self.compiler().value(equal.right)?);
        }
        let selectivity = self.selectivity_of(keys.iter().chain(&rest), None);
        let rows = joined_rows(kind, probe.node.rows, build.node.rows * selectivity);
        let cost = probe.node.cost
            + build.node.cost
            + build.node.rows * cost::HASH_BUILD
            + probe.node.rows * cost::HASH_PROBE
            + cost::HASH_START;
        let mut inside = need.clone();
        rest.iter().for_each(|e| e.add_slots(&mut inside));
        let build_slots = positions(build.produced.intersection(&inside).copied());
        let probe_slots = positions(probe.produced.intersection(need).copied());
        let probe_saved = positions(probe.produced.intersection(&inside).copied());
        let ordered = kind != JoinKind::Full && !probe.order.is_empty();
        let null_aware = kind == JoinKind::NotIn;
        let kind = if null_aware { JoinKind::Anti } else { kind };
        let mut produced = probe.produced;
        if matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Full) {
            produced.extend(&build.produced);
        }
        let node = HashJoinNode {
            kind,
            probe: Arc::new(probe.node),
            build: Arc::new(build.node),
            probe_keys,
            build_keys,
            keys: HashKeys::new(parts),
            residual: self.pred(&rest)?,
            build_slots,
            probe_slots,
            probe_saved,
            ordered,
            null_aware,
            shown,
        };
        let mut out = Planned::plain(Op::HashJoin(Arc::new(node)), rows, cost, produced);
        if kind != JoinKind::Full {
            out.order = probe.order;
            out.fixed = probe.fixed;
        }
        Ok(out)
    }

    /// Remembers an uncorrelated subtree's rows between openings.
    pub fn spooled(&mut self, input: Planned, need: &SlotSet, outer: Vec<usize>) -> Planned {
        let slots = Self::carried(&input, need);
        let (rows, cost, produced) = (input.node.rows, input.node.cost, input.produced);
        let node = SpoolNode { input: Arc::new(input.node), slots, outer };
        Planned::plain(Op::Spool(Arc::new(node)), rows, cost, produced)
    }
}

/// The stored table that is read, and its conditions.
fn table_of(rel: &Rel) -> Option<(Get, Vec<Expr>)> {
    match rel {
        Rel::Get(get) => Some(((**get).clone(), Vec::new())),
        Rel::Filter { input, predicates } => table_of(input).map(|(get, mut all)| {
            all.extend(predicates.iter().cloned());
            (get, all)
        }),
        _ => None,
    }
}

/// Outer, semi and anti joins that are inside each other's right sides, at most.
fn nested_joins(rel: &Rel) -> usize {
    let below = rel.inputs().into_iter().map(nested_joins).max().unwrap_or(0);
    below + usize::from(matches!(rel, Rel::Join { kind, .. } if *kind != JoinKind::Inner))
}

/// Semi joins anywhere in a tree.
fn semi_joins(rel: &Rel) -> usize {
    let below: usize = rel.inputs().into_iter().map(semi_joins).sum();
    below + usize::from(matches!(rel, Rel::Join { kind: JoinKind::Semi, .. }))
}

fn semi_goal(kind: JoinKind) -> Option<f64> {
    matches!(kind, JoinKind::Semi | JoinKind::Anti).then_some(1.0)
}

fn joined_rows(kind: JoinKind, left: f64, matches: f64) -> f64 {
    match kind {
        JoinKind::Inner => (left * matches).max(0.01),
        JoinKind::Left | JoinKind::Full => left * matches.max(1.0),
        JoinKind::Semi => left * matches.clamp(0.05, 1.0),
        JoinKind::Anti | JoinKind::NotIn => left * (1.0 - matches.min(0.9)),
    }
}

/// A subquery that reads nothing, `(SELECT 0)`: in the product its value is not looked at as that of others is.
fn is_select_of_value(e: &Expr) -> bool {
    let reads_nothing = |rel: &Rel| match rel {
        Rel::Project { input, .. } => matches!(**input, Rel::One),
        rel => matches!(rel, Rel::One),
    };
    e.any(&mut |e| matches!(&e.kind, ExprKind::Subquery(s) if reads_nothing(&s.rel)))
}
