//! Join order: a cluster of inner joins is taken apart into leaves and conditions and put together by cost.
//!
//! Up to `EXHAUSTIVE_MAX` leaves all left-deep orders are considered (dynamic programming over subsets); larger
//! clusters grow greedily from the cheapest start, and at each step at most `CANDIDATES_MAX` leaves are compared: what
//! that costs grows with the number of leaves, not with its square. Which leaves a condition is about is found out once,
//! before the search. Each join that is considered is a step, at which a cancelled statement ends.
//!
//! FORCE ORDER, and a hint at any join of the cluster, leave one order: the written one, with what is joined so far as the side that a
//! hash table is built of. Hints about the way to join are followed wherever there is such a way. Directions ([`super::directions`]) leave
//! one order and one way for each leaf.

use super::access::{Path, Request};
use super::cost;
use super::directions::{InnerWay, Place};
use super::equal::Equality;
use super::physical::Planned;
use super::repeated::{Repeated, is_large};
use super::{Planner, SortOrder};
use crate::bind::rel::{Get, JoinKind, JoinMethod, Rel, SlotSet};
use crate::errors::{self, Result};
use crate::exec::node::{Node, Op};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Leaves up to which all orders are tried.
const EXHAUSTIVE_MAX: usize = 9;
/// Leaves compared at each step of the greedy order: those of the fewest rows.
const CANDIDATES_MAX: usize = 32;

/// A table of which less than one row in so many is left by its own conditions is kept rather than read again and again.
const KEPT_FRACTION: f64 = 4.0;

/// One input of a cluster.
struct Leaf {
    source: Source,
    slots: SlotSet,
    /// Slots of other leaves it reads (lateral).
    needs: SlotSet,
    /// The leaves that have them: they must come before it.
    after: Vec<usize>,
    /// Rows, and what it costs, when read alone with its own conditions.
    rows: f64,
    reading: Repeated,
}

#[allow(clippy::large_enum_variant, reason = "a handful per statement, while it is compiled")]
enum Source {
    Table(Box<Get>, Path),
    Other(Option<Planned>),
}

/// Whether a system view or table function is read as it is.
fn is_view(node: &Node) -> bool {
    match &node.op {
        Op::Virtual(_) => true,
        Op::Filter(f) => is_view(&f.input),
        Op::Spool(s) => is_view(&s.input),
        _ => false,
    }
}

/// A join order under construction.
#[derive(Clone)]
struct Partial {
    tree: Rc<Tree>,
    cost: f64,
    rows: f64,
}

/// The leaves that an order under construction has.
#[derive(Clone)]
struct Joined(Vec<bool>);

impl Joined {
    fn of_mask(mask: usize, leaves: usize) -> Joined {
        Joined((0..leaves).map(|i| mask & (1 << i) != 0).collect())
    }
    fn all(&self, leaves: &[usize]) -> bool {
        leaves.iter().all(|i| self.0[*i])
    }
}

/// Which leaves each condition is about.
struct Conditions {
    /// By condition: its leaves, ascending. None: it is about the query around the cluster.
    touched: Vec<Vec<usize>>,
    /// By condition: the leaves of the two sides of an equality that a hash join can use.
    sides: Vec<Option<[Vec<usize>; 2]>>,
    /// By leaf: the conditions on it alone.
    own: Vec<Vec<usize>>,
    /// By leaf: the conditions on it and on others.
    joining: Vec<Vec<usize>>,
}

impl Conditions {
    fn new(conjuncts: &[Expr], produced: &[SlotSet]) -> Conditions {
        let leaf_of: HashMap<Slot, usize> =
            produced.iter().enumerate().flat_map(|(i, slots)| slots.iter().map(move |s| (*s, i))).collect();
        let leaves = |e: &Expr| {
            let found: BTreeSet<usize> = e.slots().iter().filter_map(|s| leaf_of.get(s).copied()).collect();
            found.into_iter().collect::<Vec<usize>>()
        };
        let sides = |e: &Expr| Equality::of(e).map(|equal| [leaves(equal.left), leaves(equal.right)]);
        let touched: Vec<Vec<usize>> = conjuncts.iter().map(&leaves).collect();
        let (mut own, mut joining) = (vec![Vec::new(); produced.len()], vec![Vec::new(); produced.len()]);
        for (i, of) in touched.iter().enumerate() {
            match of[..] {
                [leaf] => own[leaf].push(i),
                _ => of.iter().for_each(|leaf| joining[*leaf].push(i)),
            }
        }
        Conditions { sides: conjuncts.iter().map(sides).collect(), touched, own, joining }
    }

    /// Conditions that become testable when leaf j joins.
    fn pairs(&self, joined: &Joined, j: usize) -> Vec<usize> {
        let testable = |i: &usize| self.touched[*i].iter().all(|leaf| *leaf == j || joined.0[*leaf]);
        self.joining[j].iter().copied().filter(testable).collect()
    }

    /// Whether a testable condition is an equality between leaf j and what was joined before.
    fn is_key(&self, condition: usize, j: usize) -> bool {
        let Some([a, b]) = &self.sides[condition] else { return false };
        let between = |own: &Vec<usize>, others: &Vec<usize>| {
            own[..] == [j] && !others.is_empty() && !others.contains(&j)
        };
        between(a, b) || between(b, a)
    }
}

/// The leaves that wait for their place in a greedy order, those of the fewest rows first.
struct Waiting {
    /// Those that a condition connects to what is joined, and lateral ones.
    connected: BTreeSet<(u64, usize)>,
    /// The others.
    apart: BTreeSet<(u64, usize)>,
    /// By condition: how many of its leaves wait.
    missing: Vec<usize>,
}

impl Waiting {
    fn new(leaves: &[Leaf], conditions: &Conditions) -> Waiting {
        let (mut connected, mut apart) = (BTreeSet::new(), BTreeSet::new());
        for (i, leaf) in leaves.iter().enumerate() {
            let set = if leaf.after.is_empty() { &mut apart } else { &mut connected };
            set.insert((leaf.rank(), i));
        }
        Waiting { connected, apart, missing: conditions.touched.iter().map(Vec::len).collect() }
    }

    /// Leaf j has got its place.
    fn joined(&mut self, j: usize, leaves: &[Leaf], conditions: &Conditions, joined: &Joined) {
        let of = |i: usize| (leaves[i].rank(), i);
        self.connected.remove(&of(j));
        self.apart.remove(&of(j));
        for &i in &conditions.joining[j] {
            self.missing[i] -= 1;
            let last = conditions.touched[i].iter().find(|leaf| !joined.0[**leaf]);
            if let (1, Some(last)) = (self.missing[i], last)
                && self.apart.remove(&of(*last))
            {
                self.connected.insert(of(*last));
            }
        }
    }

    /// The leaves to compare next, in the order they were written.
    fn candidates(&self, leaves: &[Leaf], joined: &Joined) -> Vec<usize> {
        let ready = |i: &usize| joined.all(&leaves[*i].after);
        let first = |of: &BTreeSet<(u64, usize)>| -> BTreeSet<usize> {
            of.iter().map(|(_, i)| *i).filter(ready).take(CANDIDATES_MAX).collect()
        };
        let connected = first(&self.connected);
        // Cross products only where nothing is connected.
        let of = if connected.is_empty() { first(&self.apart) } else { connected };
        of.into_iter().collect()
    }
}

impl Leaf {
    /// Orders by estimated rows, which are never negative.
    fn rank(&self) -> u64 {
        self.rows.max(0.0).to_bits()
    }

    /// Whether its rows are a system view's.
    fn is_view(&self) -> bool {
        matches!(&self.source, Source::Other(Some(p)) if is_view(&p.node))
    }
}

#[allow(clippy::large_enum_variant, reason = "a handful per statement, while it is compiled")]
enum Tree {
    Leaf(usize),
    /// Inner leaf read once per outer row.
    Loop {
        outer: Rc<Tree>,
        inner: usize,
        path: Option<Path>,
        pairs: Vec<usize>,
    },
    Hash {
        outer: Rc<Tree>,
        inner: usize,
        build_inner: bool,
        keys: Vec<usize>,
        rest: Vec<usize>,
    },
}

impl Tree {
    /// Its leaves in the order in which they are joined, and how each but the first is.
    fn decided(&self, order: &mut Vec<usize>, ways: &mut Vec<InnerWay>) {
        let (outer, inner, way) = match self {
            Tree::Leaf(i) => return order.push(*i),
            Tree::Loop { outer, inner, .. } => (outer, inner, InnerWay::Loop),
            Tree::Hash { outer, inner, build_inner: true, .. } => (outer, inner, InnerWay::Built),
            Tree::Hash { outer, inner, .. } => (outer, inner, InnerWay::Probed),
        };
        outer.decided(order, ways);
        order.push(*inner);
        ways.push(way);
    }
}

/// Takes a tree of inner joins and filters apart. A hint belongs to the first leaf on the right of its join.
pub fn flatten(
    rel: Rel,
    leaves: &mut Vec<Rel>,
    conjuncts: &mut Vec<Expr>,
    hints: &mut Vec<(usize, JoinMethod)>,
) {
    match rel {
        Rel::Filter { input, predicates } => {
            conjuncts.extend(predicates);
            flatten(*input, leaves, conjuncts, hints);
        }
        Rel::Join { kind: JoinKind::Inner, left, right, on, hint } => {
            conjuncts.extend(on);
            flatten(*left, leaves, conjuncts, hints);
            hints.extend(hint.map(|hint| (leaves.len(), hint)));
            flatten(*right, leaves, conjuncts, hints);
        }
        Rel::One => {}
        other => leaves.push(other),
    }
}

impl Planner<'_, '_> {
    /// Plans a cluster.
    pub fn cluster(&mut self, rel: Rel, need: &SlotSet, want: &SortOrder) -> Result<Planned> {
        let at = Place::above(&[&rel]);
        let (mut rels, mut conjuncts, mut hints) = (Vec::new(), Vec::new(), Vec::new());
        flatten(rel, &mut rels, &mut conjuncts, &mut hints);
        if rels.is_empty() {
            let one = Planned::one();
            return self.filtered(one, conjuncts, need);
        }
        let mut all = need.clone();
        conjuncts.iter().for_each(|c| c.add_slots(&mut all));
        let outers: Vec<SlotSet> = rels.iter().map(Rel::outer_slots).collect();
        all.extend(outers.iter().flatten());
        let produced: Vec<SlotSet> = rels.iter().map(Rel::produced).collect();
        let conditions = Conditions::new(&conjuncts, &produced);
        let mut leaves = Vec::new();
        let single = rels.len() == 1;
        for (i, r) in rels.into_iter().enumerate() {
            let mut leaf_needs = (SlotSet::new(), Vec::new());
            if !outers[i].is_empty() {
                for (other, slots) in produced.iter().enumerate().filter(|(other, _)| *other != i) {
                    let read: Vec<Slot> = outers[i].iter().filter(|s| slots.contains(s)).copied().collect();
                    if !read.is_empty() {
                        leaf_needs.0.extend(read);
                        leaf_needs.1.push(other);
                    }
                }
            }
            let local: Vec<Expr> = conditions.own[i].iter().map(|i| conjuncts[*i].clone()).collect();
            let want = if single { want } else { &SortOrder::NONE };
            leaves.push(self.leaf(r, produced[i].clone(), leaf_needs, &local, &all, want)?);
        }
        let startup = (0..conjuncts.len()).filter(|i| conditions.touched[*i].is_empty());
        let startup: Vec<Expr> = startup.map(|i| conjuncts[i].clone()).collect();
        let mut join =
            ClusterPlanner { planner: self, leaves, conjuncts: &conjuncts, conditions, need: &all, hints };
        let told =
            join.planner.told_inner(at).map(|(order, ways)| join.as_told(&order, &ways)).transpose()?;
        let best = match told.flatten() {
            Some(best) => best,
            None => join.search()?,
        };
        if !single {
            let (mut order, mut ways) = (Vec::new(), Vec::new());
            best.tree.decided(&mut order, &mut ways);
            join.planner.decide_inner(at, order, ways);
        }
        let mut planned = join.build(&best.tree, need)?;
        planned.node.rows = best.rows.max(0.01);
        planned.node.cost = best.cost;
        self.filtered(planned, startup, need)
    }

    fn leaf(
        &mut self,
        rel: Rel,
        slots: SlotSet,
        (needs, after): (SlotSet, Vec<usize>),
        local: &[Expr],
        need: &SlotSet,
        want: &SortOrder,
    ) -> Result<Leaf> {
        if let Rel::Get(get) = rel {
            get.table.check_enabled()?;
            self.tables.insert(get.id, get.table.clone());
            self.learn_filters(&get)?;
            let request = Request {
                get: &get,
                conjuncts: local,
                need,
                order: want.keys.as_deref(),
                row_goal: want.row_goal.filter(|_| !self.binder.asked.no_row_goal),
            };
            let path = self.best_path(&request);
            let (rows, reading) = (path.rows, self.cost_of_read(&get, &path, local));
            return Ok(Leaf { source: Source::Table(get, path), slots, needs, after, rows, reading });
        }
        let inside: SlotSet = need.intersection(&slots).copied().collect();
        let planned = self.plan(rel, &inside, want)?;
        let selectivity = self.selectivity_of(local, None);
        let rows = (planned.node.rows * selectivity).max(0.01);
        let reading = Repeated::of(&planned.node).and(planned.node.rows * cost::TOUCH);
        Ok(Leaf { source: Source::Other(Some(planned)), slots, needs, after, rows, reading })
    }
}

struct ClusterPlanner<'p, 'b, 'a> {
    planner: &'p mut Planner<'b, 'a>,
    leaves: Vec<Leaf>,
    conjuncts: &'p [Expr],
    conditions: Conditions,
    need: &'p SlotSet,
    /// What is written at the joins, by leaf.
    hints: Vec<(usize, JoinMethod)>,
}

impl ClusterPlanner<'_, '_, '_> {
    fn start(&self, i: usize) -> Partial {
        let leaf = &self.leaves[i];
        Partial { tree: Rc::new(Tree::Leaf(i)), cost: leaf.reading.first, rows: leaf.rows }
    }

    fn search(&mut self) -> Result<Partial> {
        let n = self.leaves.len();
        if n == 1 {
            return Ok(self.start(0));
        }
        if self.planner.binder.asked.force_order || !self.hints.is_empty() {
            return self.as_written();
        }
        if n > EXHAUSTIVE_MAX {
            return self.greedy();
        }
        let mut best: Vec<Option<Partial>> = vec![None; 1 << n];
        for i in 0..n {
            if self.leaves[i].after.is_empty() {
                best[1 << i] = Some(self.start(i));
            }
        }
        for mask in 1usize..1 << n {
            let Some(partial) = best[mask].clone() else { continue };
            let joined = Joined::of_mask(mask, n);
            let mut connected = false;
            for pass in 0..2 {
                // Cross products only where nothing is connected.
                if pass == 1 && connected {
                    break;
                }
                for j in (0..n).filter(|j| mask & (1 << j) == 0) {
                    let pairs = self.conditions.pairs(&joined, j);
                    let lateral = !self.leaves[j].after.is_empty();
                    if (pairs.is_empty() && !lateral) == (pass == 0) {
                        continue;
                    }
                    if !joined.all(&self.leaves[j].after) {
                        continue;
                    }
                    connected = true;
                    let next = self.join(&partial, j, &pairs)?;
                    let slot = &mut best[mask | 1 << j];
                    if slot.as_ref().is_none_or(|b| next.cost < b.cost) {
                        *slot = Some(next);
                    }
                }
            }
        }
        match best.pop().flatten() {
            Some(whole) => Ok(whole),
            None => self.greedy(),
        }
    }

    /// Leaf by leaf as directions say; `None` where they are of other leaves.
    fn as_told(&mut self, order: &[usize], ways: &[InnerWay]) -> Result<Option<Partial>> {
        let n = self.leaves.len();
        let mut joined = Joined(vec![false; n]);
        let Some((first, others)) = order.split_first().filter(|_| order.len() == n) else { return Ok(None) };
        if *first >= n || !self.leaves[*first].after.is_empty() {
            return Ok(None);
        }
        let mut partial = self.start(*first);
        joined.0[*first] = true;
        for (j, way) in others.iter().zip(ways) {
            if *j >= n || joined.0[*j] || !joined.all(&self.leaves[*j].after) {
                return Ok(None);
            }
            let pairs = self.conditions.pairs(&joined, *j);
            partial = self.join_by(&partial, *j, &pairs, Some(*way))?;
            joined.0[*j] = true;
        }
        Ok(joined.0.iter().all(|j| *j).then_some(partial))
    }

    /// Leaf by leaf as written, but that one which reads others comes behind them.
    fn as_written(&mut self) -> Result<Partial> {
        let n = self.leaves.len();
        let mut joined = Joined(vec![false; n]);
        let mut partial: Option<Partial> = None;
        for _ in 0..n {
            let next = (0..n).find(|i| !joined.0[*i] && joined.all(&self.leaves[*i].after));
            let j = next.ok_or_else(errors::no_plan)?;
            partial = Some(match partial {
                None => self.start(j),
                Some(partial) => {
                    let pairs = self.conditions.pairs(&joined, j);
                    self.join(&partial, j, &pairs)?
                }
            });
            joined.0[j] = true;
        }
        partial.ok_or_else(errors::no_plan)
    }

    /// The way in which a leaf must be joined, where hints leave one.
    fn directed(&self, j: usize) -> Option<JoinMethod> {
        let own = self.hints.iter().find(|(leaf, _)| *leaf == j).map(|(_, method)| *method);
        own.or_else(|| self.planner.binder.only_join())
    }

    fn greedy(&mut self) -> Result<Partial> {
        let n = self.leaves.len();
        let mut waiting = Waiting::new(&self.leaves, &self.conditions);
        let first = waiting.apart.first().map_or(0, |(_, i)| *i);
        let mut joined = Joined(vec![false; n]);
        joined.0[first] = true;
        waiting.joined(first, &self.leaves, &self.conditions, &joined);
        let mut partial = self.start(first);
        loop {
            let mut best: Option<(usize, Partial)> = None;
            for j in waiting.candidates(&self.leaves, &joined) {
                let pairs = self.conditions.pairs(&joined, j);
                let next = self.join(&partial, j, &pairs)?;
                if best.as_ref().is_none_or(|(_, b)| next.cost < b.cost) {
                    best = Some((j, next));
                }
            }
            let Some((j, next)) = best else { return Ok(partial) };
            joined.0[j] = true;
            waiting.joined(j, &self.leaves, &self.conditions, &joined);
            partial = next;
        }
    }

    /// See [`Planner::reach`]: of equalities with the key of a table that has conditions of its own.
    fn reach(&self, pairs: &[usize]) -> f64 {
        let of_key = |key: Option<Slot>, other: Option<Slot>| {
            let (key, other) = (key?, other?);
            let is_of =
                |leaf: &&Leaf| matches!(&leaf.source, Source::Table(get, _) if get.column_of(key).is_some());
            let leaf = self.leaves.iter().find(is_of)?;
            self.planner.reach(key, other, leaf.rows)
        };
        let of_pair = |i: &usize| {
            let ExprKind::Compare(CmpOp::Eq, l, r) = &self.conjuncts[*i].kind else { return None };
            let (l, r) = (l.as_slot(), r.as_slot());
            of_key(l, r).or_else(|| of_key(r, l))
        };
        pairs.iter().filter_map(of_pair).fold(1.0, f64::max)
    }

    fn join(&mut self, outer: &Partial, j: usize, pairs: &[usize]) -> Result<Partial> {
        self.join_by(outer, j, pairs, None)
    }

    /// Joins a leaf in the way that directions say, or else in the cheapest that hints leave.
    fn join_by(
        &mut self,
        outer: &Partial,
        j: usize,
        pairs: &[usize],
        told: Option<InnerWay>,
    ) -> Result<Partial> {
        self.planner.step()?;
        let selectivity = self.planner.selectivity_of(pairs.iter().map(|i| &self.conjuncts[*i]), None);
        let selectivity = selectivity * self.reach(pairs);
        let leaf = &self.leaves[j];
        let rows = (outer.rows * leaf.rows * selectivity).max(0.01);
        let directed = match told {
            Some(InnerWay::Loop) => Some(JoinMethod::Loop),
            Some(InnerWay::Built | InnerWay::Probed) => Some(JoinMethod::Hash),
            None => self.directed(j),
        };
        let (keys, rest): (Vec<usize>, Vec<usize>) =
            pairs.iter().partition(|i| self.conditions.is_key(**i, j));
        let looped = self.looped(outer, j, pairs, rows);
        let leaf = &self.leaves[j];
        if !leaf.needs.is_empty() || directed == Some(JoinMethod::Loop) {
            return Ok(looped);
        }
        let written = self.planner.binder.asked.force_order || !self.hints.is_empty();
        let rescans = self.rescans(outer, j, &looped);
        let few = leaf.rows * KEPT_FRACTION < leaf.reading.first && !leaf.reading.is_spooled();
        let mut best = match keys.is_empty() {
            true if rescans && few && !written => return Ok(self.kept(outer, j, rest, rows)),
            true => return Ok(looped),
            false => looped,
        };
        let by_keys = |build_inner| {
            let (outer, keys, rest) = (outer.tree.clone(), keys.clone(), rest.clone());
            Rc::new(Tree::Hash { outer, inner: j, build_inner, keys, rest })
        };
        // Rows to which no index leads are looked up by their keys, however few the outer rows are thought to be: comparing each with
        // each takes for ever when there are more. Those of system views leave the outer rows their order, as loops do.
        if directed.is_none() && leaf.is_view() {
            best.tree = by_keys(true);
        } else if matches!(leaf.source, Source::Other(_)) || directed == Some(JoinMethod::Hash) || rescans {
            best.cost = f64::INFINITY;
        }
        let both = outer.cost + leaf.reading.first + cost::HASH_START + rows * cost::TOUCH;
        let fits = |inner: &bool| match told {
            Some(way) => *inner == (way == InnerWay::Built),
            None => !(written && *inner),
        };
        for build_inner in [true, false].into_iter().filter(fits) {
            let (build, probe) = if build_inner { (leaf.rows, outer.rows) } else { (outer.rows, leaf.rows) };
            let c = both + build * cost::HASH_BUILD + probe * cost::HASH_PROBE;
            if c < best.cost {
                (best.cost, best.tree) = (c, by_keys(build_inner));
            }
        }
        Ok(best)
    }

    /// Nested loops: what is read once, or for each outer row.
    fn looped(&mut self, outer: &Partial, j: usize, pairs: &[usize], rows: f64) -> Partial {
        let leaf = &self.leaves[j];
        let mut path = None;
        let inner = match &leaf.source {
            Source::Table(get, _) => {
                let applicable: Vec<Expr> =
                    self.conditions.own[j].iter().chain(pairs).map(|i| self.conjuncts[*i].clone()).collect();
                let request =
                    Request { get, conjuncts: &applicable, need: self.need, order: None, row_goal: None };
                let p = self.planner.best_path(&request);
                let reading = self.planner.cost_of_read(get, &p, &applicable);
                path = Some(p);
                reading.for_each(outer.rows)
            }
            Source::Other(_) if leaf.needs.is_empty() => {
                leaf.reading.first + outer.rows * leaf.rows * cost::TOUCH * 2.0
            }
            Source::Other(_) => leaf.reading.for_each(outer.rows),
        };
        let tree = Tree::Loop { outer: outer.tree.clone(), inner: j, path, pairs: pairs.to_vec() };
        Partial { tree: Rc::new(tree), cost: outer.cost + inner + rows * cost::TOUCH, rows }
    }

    /// A table that nothing but its own conditions chooses from: these rows are read once and kept.
    fn kept(&self, outer: &Partial, j: usize, rest: Vec<usize>, rows: f64) -> Partial {
        let leaf = &self.leaves[j];
        let tree =
            Tree::Hash { outer: outer.tree.clone(), inner: j, build_inner: true, keys: Vec::new(), rest };
        let inner = leaf.reading.first + outer.rows * leaf.rows * cost::TOUCH * 2.0;
        Partial { tree: Rc::new(tree), cost: outer.cost + inner + rows * cost::TOUCH, rows }
    }

    /// Whether loops would read all of a large table for each outer row.
    fn rescans(&self, outer: &Partial, j: usize, looped: &Partial) -> bool {
        let own = self.conditions.own[j].len();
        let seeks = |path: &Path| path.conjuncts().iter().any(|i| *i >= own);
        let Tree::Loop { path: Some(path), .. } = &*looped.tree else { return false };
        is_large(self.leaves[j].reading.first) && !seeks(path) && !self.is_one_row(&outer.tree)
    }

    /// Whether it gives one row at most, by whole keys.
    fn is_one_row(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Leaf(i) => matches!(&self.leaves[*i].source, Source::Table(_, path) if path.point),
            Tree::Loop { outer, path, .. } => {
                path.as_ref().is_some_and(|path| path.point) && self.is_one_row(outer)
            }
            Tree::Hash { .. } => false,
        }
    }

    fn exprs(&self, indexes: &[usize]) -> Vec<Expr> {
        indexes.iter().map(|i| self.conjuncts[*i].clone()).collect()
    }

    /// Builds a leaf with its own conditions and, on the inner side of loops, those that join it.
    fn build_leaf(
        &mut self,
        i: usize,
        path: Option<&Path>,
        extra: &[usize],
        need: &SlotSet,
    ) -> Result<Planned> {
        let mut indexes = self.conditions.own[i].clone();
        indexes.extend_from_slice(extra);
        let conjuncts = self.exprs(&indexes);
        match &mut self.leaves[i].source {
            Source::Table(get, own) => {
                let path = path.unwrap_or(own).clone();
                let get = get.clone();
                let order = path.ordering(&get);
                let fixed = path.fixed(&get);
                let node = self.planner.read(&get, &path, &conjuncts, need)?;
                Ok(Planned { node, order, fixed, produced: self.leaves[i].slots.clone() })
            }
            Source::Other(planned) => {
                let planned = planned.take().expect("each leaf is built once");
                self.planner.filtered(planned, conjuncts, need)
            }
        }
    }

    fn build(&mut self, tree: &Tree, need: &SlotSet) -> Result<Planned> {
        match tree {
            Tree::Leaf(i) => self.build_leaf(*i, None, &[], need),
            Tree::Loop { outer, inner, path, pairs } => {
                let pair_exprs = self.exprs(pairs);
                let own_exprs = self.exprs(&self.conditions.own[*inner].clone());
                let mut outer_need = need.clone();
                pair_exprs.iter().chain(&own_exprs).for_each(|e| e.add_slots(&mut outer_need));
                outer_need.extend(self.leaves[*inner].needs.iter());
                let left = self.build(outer, &outer_need)?;
                match &self.leaves[*inner].source {
                    Source::Table(..) => {
                        let right = self.build_leaf(*inner, path.as_ref(), pairs, need)?;
                        self.planner.loop_join(JoinKind::Inner, left, right, Vec::new(), need)
                    }
                    Source::Other(_) => {
                        let mut inner_need = need.clone();
                        pair_exprs.iter().for_each(|e| e.add_slots(&mut inner_need));
                        let lateral = !self.leaves[*inner].needs.is_empty();
                        let right = self.build_leaf(*inner, None, &[], &inner_need)?;
                        if lateral {
                            self.planner.loop_join(JoinKind::Inner, left, right, pair_exprs, need)
                        } else {
                            self.planner.hash_join(JoinKind::Inner, left, right, Vec::new(), pair_exprs, need)
                        }
                    }
                }
            }
            Tree::Hash { outer, inner, build_inner, keys, rest } => {
                let (key_exprs, rest) = (self.exprs(keys), self.exprs(rest));
                let mut child_need = need.clone();
                key_exprs.iter().chain(&rest).for_each(|e| e.add_slots(&mut child_need));
                let left = self.build(outer, &child_need)?;
                let mut right = self.build_leaf(*inner, None, &[], &child_need)?;
                if let Source::Table(get, _) = &self.leaves[*inner].source {
                    let mut conjuncts = self.exprs(&self.conditions.own[*inner]);
                    conjuncts.extend_from_slice(&key_exprs);
                    self.planner.note_join(get, &conjuncts, &child_need, left.node.rows, &mut right.node);
                }
                let (probe, build) = if *build_inner { (left, right) } else { (right, left) };
                self.planner.hash_join(JoinKind::Inner, probe, build, key_exprs, rest, need)
            }
        }
    }
}
