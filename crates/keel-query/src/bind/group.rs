//! GROUP BY: grouping sets, and rewriting of the expressions above it to what it produces.

use super::expr::{Clause, ExprCx};
use super::merge_types::refuse_incomparable;
use super::rel::{Aggregate, Rel, SlotSet};
use super::{Binder, Scope, Source};
use crate::errors::{self, Result};
use crate::expr::{ArithOp, Expr, ExprKind, Slot};
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The bound GROUP BY list.
#[derive(Debug, Default)]
pub struct Groups {
    exprs: Vec<Expr>,
    sets: Option<Vec<Vec<usize>>>,
    /// The query's sources, with their names in FROM.
    sources: Vec<(String, Rc<Source>)>,
    /// No GROUP BY clause: one group of everything.
    scalar: bool,
}

/// Replaces group expressions by the slots the aggregation writes.
pub struct Rewriter {
    groups: Vec<(Slot, Expr)>,
    prints: HashMap<String, usize>,
    sets: Option<Vec<Vec<usize>>>,
    grouping_id: Option<Slot>,
    /// Slots of the input: not visible above unless grouped by.
    hidden: SlotSet,
    /// Calls of GROUPING by their placeholder slot.
    groupings: HashMap<Slot, Vec<usize>>,
    /// The query's sources, with their names in FROM.
    sources: Vec<(String, Rc<Source>)>,
    bad_grouping: bool,
    scalar: bool,
}

fn print(e: &Expr) -> String {
    format!("{:?}", e.kind)
}

impl Groups {
    /// Takes over the query's sources and their names in FROM, for messages.
    #[must_use]
    pub fn of_sources(self, sources: Vec<(String, Rc<Source>)>) -> Groups {
        Groups { sources, ..self }
    }

    /// Allocates the slots above the aggregation.
    pub fn rewriter(
        self,
        binder: &mut Binder<'_>,
        aggs: &[Aggregate],
        hidden: SlotSet,
        groupings: Vec<(Slot, Vec<Expr>)>,
    ) -> Rewriter {
        debug_assert!(aggs.iter().all(|a| !hidden.contains(&a.slot)));
        let mut groups = Vec::new();
        let mut prints = HashMap::new();
        for (i, e) in self.exprs.into_iter().enumerate() {
            let name = e.as_slot().map(|s| binder.slots[s as usize].name.clone()).unwrap_or_default();
            let slot = binder.slot_for(&name, &e);
            if self.sets.is_some() {
                binder.slots[slot as usize].nullable = true;
            }
            if let Some(s) = e.as_slot() {
                binder.slots[slot as usize].origin = binder.slots[s as usize].origin;
            }
            prints.insert(print(&e), i);
            groups.push((slot, e));
        }
        let grouping_id = (self.sets.is_some() || !groupings.is_empty())
            .then(|| binder.typed_slot("", SqlType::BigInt, false));
        let mut bad_grouping = false;
        let groupings = groupings
            .into_iter()
            .map(|(slot, args)| {
                let positions: Vec<usize> =
                    args.iter().filter_map(|a| prints.get(&print(a)).copied()).collect();
                bad_grouping |= positions.len() != args.len();
                (slot, positions)
            })
            .collect();
        Rewriter {
            groups,
            prints,
            sets: self.sets,
            sources: self.sources,
            grouping_id,
            hidden,
            groupings,
            bad_grouping,
            scalar: self.scalar,
        }
    }
}

impl Rewriter {
    /// Rewrites one expression; a column that is not grouped is error 8120 (8121 in HAVING, 8127 in ORDER BY), unless it decides
    /// nothing.
    pub fn apply(&mut self, binder: &Binder<'_>, e: &mut Expr, clause: Clause) -> Result<()> {
        self.rewrite(binder, e, clause).or_else(|_| {
            e.simplify();
            self.rewrite(binder, e, clause)
        })
    }

    fn rewrite(&mut self, binder: &Binder<'_>, e: &mut Expr, clause: Clause) -> Result<()> {
        if self.bad_grouping {
            let m = "Argument 1 of the GROUPING function does not match any of the expressions in the GROUP BY clause.";
            return Err(keel_types::SqlError::new(8161, 15, 1, m));
        }
        if !matches!(e.kind, ExprKind::Const(_) | ExprKind::Var(_))
            && let Some(&i) = self.prints.get(&print(e))
        {
            *e = binder.read(self.groups[i].0);
            return Ok(());
        }
        match &mut e.kind {
            ExprKind::Slot(slot) => {
                if let Some(positions) = self.groupings.get(slot) {
                    *e = Expr { ty: e.ty, ..self.grouping(binder, positions) };
                    return Ok(());
                }
                if self.hidden.contains(slot) {
                    return Err(self.ungrouped(binder, *slot, clause));
                }
                Ok(())
            }
            ExprKind::Subquery(s) => {
                let mut outer = SlotSet::new();
                s.add_outer_slots(&mut outer);
                if outer.iter().any(|s| self.hidden.contains(s)) {
                    Arc::make_mut(s).for_each_expr_mut(&mut |e| self.read_groups(binder, e));
                    outer.clear();
                    s.add_outer_slots(&mut outer);
                }
                let mut map = HashMap::new();
                for slot in outer.into_iter().filter(|s| self.hidden.contains(s)) {
                    let group = self.groups.iter().find(|(_, g)| g.as_slot() == Some(slot));
                    let Some((to, _)) = group else {
                        return Err(self.ungrouped(binder, slot, clause));
                    };
                    map.insert(slot, binder.read(*to));
                }
                if !map.is_empty() {
                    Arc::make_mut(s).for_each_expr_mut(&mut |e| e.substitute(&map));
                }
                Ok(())
            }
            _ => {
                let mut result = Ok(());
                e.for_each_child_mut(&mut |c| {
                    if result.is_ok() {
                        result = self.rewrite(binder, c, clause);
                    }
                });
                result
            }
        }
    }

    /// The error of a column that is no group's, under its table's name as FROM has it.
    fn ungrouped(&self, binder: &Binder<'_>, slot: Slot, clause: Clause) -> errors::Error {
        let column = &binder.slots[slot as usize].name;
        let of = |(_, source): &&(String, Rc<Source>)| source.columns.iter().any(|c| c.slot == slot);
        let name = match self.sources.iter().find(of) {
            Some((table, _)) => format!("{table}.{column}"),
            None => column.clone(),
        };
        match clause {
            Clause::Having => errors::having_column(&name),
            Clause::OrderBy => errors::order_by_not_in_group_by(&name),
            _ => errors::not_in_group_by(&name),
        }
    }

    /// Inside a subquery: whatever is written as a group's expression reads the group.
    fn read_groups(&self, binder: &Binder<'_>, e: &mut Expr) {
        match &mut e.kind {
            ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Slot(_) => {}
            ExprKind::Subquery(s) => {
                Arc::make_mut(s).for_each_expr_mut(&mut |e| self.read_groups(binder, e));
            }
            _ => match self.prints.get(&print(e)) {
                Some(&i) => *e = binder.read(self.groups[i].0),
                None => e.for_each_child_mut(&mut |c| self.read_groups(binder, c)),
            },
        }
    }

    /// GROUPING(a) is bit a of the grouping id; GROUPING_ID(a, b) packs several, the first one highest.
    fn grouping(&self, binder: &Binder<'_>, positions: &[usize]) -> Expr {
        let Some(id) = self.grouping_id else { return Expr::int(0) };
        let int = |kind| Expr { kind, ty: SqlType::Int, nullable: false, ..Expr::int(0) };
        let mut sum: Option<Expr> = None;
        for (k, position) in positions.iter().rev().enumerate() {
            let mask = Expr::constant(Value::Int(1 << position), SqlType::BigInt);
            let bit = Expr {
                kind: ExprKind::Arith(ArithOp::BitAnd, Box::new(binder.read(id)), Box::new(mask.clone())),
                ty: SqlType::BigInt,
                nullable: false,
                ..Expr::int(0)
            };
            let set = Expr::compare(crate::expr::CmpOp::Eq, bit, mask);
            let case = int(ExprKind::Case(vec![(set, Expr::int(1 << k))], Some(Box::new(Expr::int(0)))));
            sum = Some(match sum {
                None => case,
                Some(s) => int(ExprKind::Arith(ArithOp::Add, Box::new(s), Box::new(case))),
            });
        }
        sum.unwrap_or_else(|| Expr::int(0))
    }

    /// Puts the aggregation over its input.
    #[must_use]
    pub fn build(self, input: Rel, aggs: Vec<Aggregate>) -> Rel {
        Rel::Aggregate {
            input: Box::new(input),
            groups: self.groups,
            sets: self.sets,
            grouping_id: self.grouping_id,
            aggs,
            scalar: self.scalar,
        }
    }
}

impl Binder<'_> {
    /// Binds the GROUP BY list and expands ROLLUP, CUBE and GROUPING SETS.
    pub fn group_by(&mut self, group: Option<&ast::GroupBy>, scope: &Scope<'_>) -> Result<Groups> {
        let Some(group) = group else { return Ok(Groups { scalar: true, ..Groups::default() }) };
        let mut groups = Groups::default();
        // Each item contributes alternatives; the grouping sets are their cross product.
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        let mut plain = true;
        for item in &group.items {
            plain &= matches!(item, ast::GroupItem::Expr(_))
                || matches!(item, ast::GroupItem::Composite(list) if !list.is_empty());
            let alternatives = self.group_item(item, scope, &mut groups)?;
            sets = sets
                .iter()
                .flat_map(|s| alternatives.iter().map(move |a| s.iter().chain(a).copied().collect()))
                .collect();
        }
        let all: Vec<usize> = (0..groups.exprs.len()).collect();
        match group.with {
            Some(ast::GroupWith::Rollup) => sets = (0..=all.len()).rev().map(|n| all[..n].to_vec()).collect(),
            Some(ast::GroupWith::Cube) => sets = cube(&all.iter().map(|i| vec![*i]).collect::<Vec<_>>()),
            None if plain => return Ok(groups),
            None => {}
        }
        groups.sets = Some(sets);
        Ok(groups)
    }

    fn group_item(
        &mut self,
        item: &ast::GroupItem,
        scope: &Scope<'_>,
        groups: &mut Groups,
    ) -> Result<Vec<Vec<usize>>> {
        Ok(match item {
            ast::GroupItem::Expr(e) => vec![vec![self.group_expr(e, scope, groups)?]],
            ast::GroupItem::Composite(list) => vec![self.group_list(list, scope, groups)?],
            ast::GroupItem::Rollup(lists) => {
                let parts =
                    lists.iter().map(|l| self.group_list(l, scope, groups)).collect::<Result<Vec<_>>>()?;
                (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
            }
            ast::GroupItem::Cube(lists) => {
                let parts =
                    lists.iter().map(|l| self.group_list(l, scope, groups)).collect::<Result<Vec<_>>>()?;
                cube(&parts)
            }
            ast::GroupItem::GroupingSets(items) => {
                let mut all = Vec::new();
                for item in items {
                    all.extend(self.group_item(item, scope, groups)?);
                }
                all
            }
        })
    }

    fn group_list(
        &mut self,
        list: &[ast::Expr],
        scope: &Scope<'_>,
        groups: &mut Groups,
    ) -> Result<Vec<usize>> {
        list.iter().map(|e| self.group_expr(e, scope, groups)).collect()
    }

    fn group_expr(&mut self, e: &ast::Expr, scope: &Scope<'_>, groups: &mut Groups) -> Result<usize> {
        let bound = self.value(e, &mut ExprCx::new(scope, Clause::GroupBy))?;
        if bound.has_subquery() {
            return Err(errors::aggregate_in_group_by());
        }
        let own =
            bound.slots().iter().any(|s| scope.sources.iter().flat_map(|x| &x.columns).any(|c| c.slot == *s));
        if !own {
            let m =
                "Each GROUP BY expression must contain at least one column that is not an outer reference.";
            return Err(keel_types::SqlError::new(164, 15, 1, m));
        }
        self.refuse_randomized(&bound)?;
        refuse_incomparable(bound.ty, "GROUP BY")?;
        let key = print(&bound);
        if let Some(i) = groups.exprs.iter().position(|g| print(g) == key) {
            return Ok(i);
        }
        groups.exprs.push(bound);
        Ok(groups.exprs.len() - 1)
    }
}

fn cube(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    (0..1usize << parts.len())
        .rev()
        .map(|mask| {
            let chosen = parts.iter().enumerate().filter(|(i, _)| mask & (1 << (parts.len() - 1 - i)) != 0);
            chosen.flat_map(|(_, p)| p.iter().copied()).collect()
        })
        .collect()
}
