//! Join order: a cluster of inner joins is taken apart into leaves and conditions and put together by cost.
//!
//! Up to `EXHAUSTIVE_MAX` leaves all left-deep orders are considered (dynamic programming over subsets); larger
//! clusters grow greedily from the cheapest start.

use super::access::{Path, Request};
use super::cost;
use super::physical::Planned;
use super::{Planner, SortOrder};
use crate::bind::rel::{Get, JoinKind, JoinMethod, Rel, SlotSet};
use crate::errors::Result;
use crate::expr::{CmpOp, Expr, ExprKind};
use std::rc::Rc;

/// Leaves up to which all orders are tried.
const EXHAUSTIVE_MAX: usize = 9;

/// One input of a cluster.
struct Leaf {
    source: Source,
    slots: SlotSet,
    /// Slots of other leaves it reads (lateral): they must come before it.
    needs: SlotSet,
    /// Rows and cost when read alone with its own conditions.
    rows: f64,
    cost: f64,
}

#[allow(clippy::large_enum_variant, reason = "a handful per statement, while it is compiled")]
enum Source {
    Table(Box<Get>, Path),
    Other(Option<Planned>),
}

/// A join order under construction.
#[derive(Clone)]
struct Partial {
    tree: Rc<Tree>,
    cost: f64,
    rows: f64,
    slots: Rc<SlotSet>,
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

/// Takes a tree of inner joins and filters apart.
pub fn flatten(rel: Rel, leaves: &mut Vec<Rel>, conjuncts: &mut Vec<Expr>, hints: &mut Vec<JoinMethod>) {
    match rel {
        Rel::Filter { input, predicates } => {
            conjuncts.extend(predicates);
            flatten(*input, leaves, conjuncts, hints);
        }
        Rel::Join { kind: JoinKind::Inner, left, right, on, hint } => {
            conjuncts.extend(on);
            hints.extend(hint);
            flatten(*left, leaves, conjuncts, hints);
            flatten(*right, leaves, conjuncts, hints);
        }
        Rel::One => {}
        other => leaves.push(other),
    }
}

/// The sides of an equality between two disjoint sets of slots.
pub fn equi_sides<'e>(e: &'e Expr, left: &SlotSet, right: &SlotSet) -> Option<(&'e Expr, &'e Expr)> {
    let ExprKind::Compare(CmpOp::Eq, a, b) = &e.kind else { return None };
    if a.has_subquery() || b.has_subquery() {
        return None;
    }
    let (sa, sb) = (a.slots(), b.slots());
    let on = |s: &SlotSet, this: &SlotSet, other: &SlotSet| {
        s.iter().any(|x| this.contains(x)) && !s.iter().any(|x| other.contains(x))
    };
    if on(&sa, left, right) && on(&sb, right, left) {
        Some((a, b))
    } else if on(&sb, left, right) && on(&sa, right, left) {
        Some((b, a))
    } else {
        None
    }
}

impl Planner<'_, '_> {
    /// Plans a cluster.
    pub fn cluster(&mut self, rel: Rel, need: &SlotSet, want: &SortOrder) -> Result<Planned> {
        let (mut rels, mut conjuncts, mut hints) = (Vec::new(), Vec::new(), Vec::new());
        flatten(rel, &mut rels, &mut conjuncts, &mut hints);
        if rels.is_empty() {
            let one = Planned::one();
            return self.filtered(one, conjuncts, need);
        }
        let mut all = need.clone();
        conjuncts.iter().for_each(|c| c.add_slots(&mut all));
        for r in &rels {
            all.extend(r.outer_slots());
        }
        let produced: Vec<SlotSet> = rels.iter().map(Rel::produced).collect();
        let cluster_slots: SlotSet = produced.iter().flatten().copied().collect();
        let mut leaves = Vec::new();
        let mut own: Vec<Vec<usize>> = Vec::new();
        let mut startup = Vec::new();
        for (i, c) in conjuncts.iter().enumerate() {
            if !c.slots().iter().any(|s| cluster_slots.contains(s)) {
                startup.push(i);
            }
        }
        let single = rels.len() == 1;
        for (r, slots) in rels.into_iter().zip(produced) {
            let outer = r.outer_slots();
            let needs: SlotSet =
                outer.iter().filter(|s| cluster_slots.contains(s) && !slots.contains(s)).copied().collect();
            let mine: Vec<usize> = (0..conjuncts.len())
                .filter(|i| !startup.contains(i))
                .filter(|i| {
                    conjuncts[*i].slots().iter().all(|s| slots.contains(s) || !cluster_slots.contains(s))
                })
                .collect();
            let local: Vec<Expr> = mine.iter().map(|i| conjuncts[*i].clone()).collect();
            let leaf =
                self.leaf(r, slots, needs, &local, &all, if single { want } else { &SortOrder::NONE })?;
            leaves.push(leaf);
            own.push(mine);
        }
        let mut join =
            ClusterPlanner { planner: self, leaves, conjuncts: &conjuncts, own: &own, need: &all, hints };
        let best = join.search();
        let mut planned = join.build(&best.tree, need)?;
        planned.node.rows = best.rows.max(0.01);
        planned.node.cost = best.cost;
        let startup: Vec<Expr> = startup.into_iter().map(|i| conjuncts[i].clone()).collect();
        self.filtered(planned, startup, need)
    }

    fn leaf(
        &mut self,
        rel: Rel,
        slots: SlotSet,
        needs: SlotSet,
        local: &[Expr],
        need: &SlotSet,
        want: &SortOrder,
    ) -> Result<Leaf> {
        if let Rel::Get(get) = rel {
            self.tables.insert(get.id, get.table.clone());
            let request = Request {
                get: &get,
                conjuncts: local,
                need,
                order: want.keys.as_deref(),
                row_goal: want.row_goal,
            };
            let path = self.best_path(&request);
            let (rows, cost) = (path.rows, path.cost);
            return Ok(Leaf { source: Source::Table(get, path), slots, needs, rows, cost });
        }
        let inside: SlotSet = need.intersection(&slots).copied().collect();
        let planned = self.plan(rel, &inside, want)?;
        let selectivity = self.selectivity_of(local, None);
        let rows = (planned.node.rows * selectivity).max(0.01);
        let cost = planned.node.cost + planned.node.rows * cost::TOUCH;
        Ok(Leaf { source: Source::Other(Some(planned)), slots, needs, rows, cost })
    }
}

struct ClusterPlanner<'p, 'b, 'a> {
    planner: &'p mut Planner<'b, 'a>,
    leaves: Vec<Leaf>,
    conjuncts: &'p [Expr],
    /// Conditions on one leaf alone, by leaf.
    own: &'p [Vec<usize>],
    need: &'p SlotSet,
    hints: Vec<JoinMethod>,
}

impl ClusterPlanner<'_, '_, '_> {
    fn start(&self, i: usize) -> Partial {
        let leaf = &self.leaves[i];
        Partial {
            tree: Rc::new(Tree::Leaf(i)),
            cost: leaf.cost,
            rows: leaf.rows,
            slots: Rc::new(leaf.slots.clone()),
        }
    }

    fn search(&mut self) -> Partial {
        let n = self.leaves.len();
        if n == 1 {
            return self.start(0);
        }
        if n > EXHAUSTIVE_MAX {
            return self.greedy();
        }
        let mut best: Vec<Option<Partial>> = vec![None; 1 << n];
        for i in 0..n {
            if self.leaves[i].needs.is_empty() {
                best[1 << i] = Some(self.start(i));
            }
        }
        for mask in 1usize..1 << n {
            let Some(partial) = best[mask].clone() else { continue };
            let mut connected = false;
            for pass in 0..2 {
                // Cross products only where nothing is connected.
                if pass == 1 && connected {
                    break;
                }
                for j in (0..n).filter(|j| mask & (1 << j) == 0) {
                    let pairs = self.pairs(&partial.slots, j);
                    let lateral = !self.leaves[j].needs.is_empty();
                    if (pairs.is_empty() && !lateral) == (pass == 0) {
                        continue;
                    }
                    if !self.leaves[j].needs.iter().all(|s| partial.slots.contains(s)) {
                        continue;
                    }
                    connected = true;
                    let next = self.join(&partial, j, &pairs);
                    let slot = &mut best[mask | 1 << j];
                    if slot.as_ref().is_none_or(|b| next.cost < b.cost) {
                        *slot = Some(next);
                    }
                }
            }
        }
        best.pop().flatten().unwrap_or_else(|| self.greedy())
    }

    fn greedy(&mut self) -> Partial {
        let n = self.leaves.len();
        let mut left: Vec<usize> = (0..n).collect();
        let first = left
            .iter()
            .copied()
            .filter(|i| self.leaves[*i].needs.is_empty())
            .min_by(|a, b| self.leaves[*a].rows.total_cmp(&self.leaves[*b].rows))
            .unwrap_or(0);
        left.retain(|i| *i != first);
        let mut partial = self.start(first);
        while !left.is_empty() {
            let mut best: Option<(bool, usize, Partial)> = None;
            for &j in &left {
                if !self.leaves[j].needs.iter().all(|s| partial.slots.contains(s)) {
                    continue;
                }
                let pairs = self.pairs(&partial.slots, j);
                let cross = pairs.is_empty() && self.leaves[j].needs.is_empty();
                let next = self.join(&partial, j, &pairs);
                let wins = best.as_ref().is_none_or(|(c, _, b)| (cross, next.cost) < (*c, b.cost));
                if wins {
                    best = Some((cross, j, next));
                }
            }
            let Some((_, j, next)) = best else { break };
            left.retain(|i| *i != j);
            partial = next;
        }
        partial
    }

    /// Conditions that become testable when leaf j joins.
    fn pairs(&self, slots: &SlotSet, j: usize) -> Vec<usize> {
        let leaf = &self.leaves[j].slots;
        let others: Vec<&SlotSet> = self
            .leaves
            .iter()
            .map(|l| &l.slots)
            .filter(|s| *s != leaf && !s.iter().any(|x| slots.contains(x)))
            .collect();
        (0..self.conjuncts.len())
            .filter(|i| {
                let used = self.conjuncts[*i].slots();
                used.iter().any(|s| leaf.contains(s))
                    && used.iter().any(|s| slots.contains(s))
                    && !used.iter().any(|s| others.iter().any(|o| o.contains(s)))
            })
            .collect()
    }

    fn join(&mut self, outer: &Partial, j: usize, pairs: &[usize]) -> Partial {
        let selectivity = self.planner.selectivity_of(pairs.iter().map(|i| &self.conjuncts[*i]), None);
        let leaf = &self.leaves[j];
        let rows = (outer.rows * leaf.rows * selectivity).max(0.01);
        let slots: Rc<SlotSet> = Rc::new(outer.slots.union(&leaf.slots).copied().collect());
        let forced = self.hints.first().copied();
        // Nested loops.
        let mut path = None;
        let per_row = match &leaf.source {
            Source::Table(get, _) => {
                let applicable: Vec<Expr> =
                    self.own[j].iter().chain(pairs).map(|i| self.conjuncts[*i].clone()).collect();
                let request =
                    Request { get, conjuncts: &applicable, need: self.need, order: None, row_goal: None };
                let p = self.planner.best_path(&request);
                let c = p.cost;
                path = Some(p);
                c
            }
            Source::Other(_) if leaf.needs.is_empty() => leaf.rows * cost::TOUCH * 2.0,
            Source::Other(_) => leaf.cost,
        };
        let once =
            if matches!(leaf.source, Source::Other(_)) && leaf.needs.is_empty() { leaf.cost } else { 0.0 };
        let loop_cost = outer.cost + once + outer.rows * per_row + rows * cost::TOUCH;
        let mut best = Partial {
            tree: Rc::new(Tree::Loop { outer: outer.tree.clone(), inner: j, path, pairs: pairs.to_vec() }),
            cost: loop_cost,
            rows,
            slots: slots.clone(),
        };
        if !leaf.needs.is_empty() || forced == Some(JoinMethod::Loop) {
            return best;
        }
        let (keys, rest): (Vec<usize>, Vec<usize>) =
            pairs.iter().partition(|i| equi_sides(&self.conjuncts[**i], &outer.slots, &leaf.slots).is_some());
        if keys.is_empty() {
            return best;
        }
        let both = outer.cost + leaf.cost + cost::HASH_START + rows * cost::TOUCH;
        for build_inner in [true, false] {
            let (build, probe) = if build_inner { (leaf.rows, outer.rows) } else { (outer.rows, leaf.rows) };
            let c = both + build * cost::HASH_BUILD + probe * cost::HASH_PROBE;
            if c < best.cost || (forced == Some(JoinMethod::Hash) && matches!(*best.tree, Tree::Loop { .. }))
            {
                best.cost = c;
                best.tree = Rc::new(Tree::Hash {
                    outer: outer.tree.clone(),
                    inner: j,
                    build_inner,
                    keys: keys.clone(),
                    rest: rest.clone(),
                });
            }
        }
        best
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
        let mut indexes = self.own[i].clone();
        indexes.extend_from_slice(extra);
        let conjuncts = self.exprs(&indexes);
        match &mut self.leaves[i].source {
            Source::Table(get, own) => {
                let path = path.unwrap_or(own).clone();
                let get = get.clone();
                let order = path.ordering(&get);
                let fixed = path.fixed(&get);
                let node = self.planner.access(&get, &path, &conjuncts, need)?;
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
                let own_exprs = self.exprs(&self.own[*inner].clone());
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
                let right = self.build_leaf(*inner, None, &[], &child_need)?;
                let (probe, build) = if *build_inner { (left, right) } else { (right, left) };
                self.planner.hash_join(JoinKind::Inner, probe, build, key_exprs, rest, need)
            }
        }
    }
}
