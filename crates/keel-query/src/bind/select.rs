//! Binding of one SELECT block.

use super::expr::{Clause, Collect, ExprCx};
use super::merge_types::{is_incomparable, refuse_incomparable, unresolved_column};
use super::over;
use super::query::{BoundSelect, Destination, position, under_collation};
use super::rel::{Rel, SortKey};
use super::{Binder, BoundQuery, OutputColumn, Scope, Source, same_name};
use crate::errors::{self, Result};
use crate::expr::fold::constant;
use crate::expr::{Coercibility, Expr, ExprKind, Slot};
use crate::scope::VariableInfo;
use keel_parser::ast;
use keel_types::Value;
use std::rc::Rc;

/// A select list item after binding.
struct Item {
    name: String,
    expr: Expr,
}

/// A bound SELECT block with what it was made of.
pub struct Selected {
    /// The query.
    pub query: BoundQuery,
    /// What its FROM clause exposes.
    pub sources: Vec<Rc<Source>>,
    /// The exposed names as written: with their schema when that is, and no alias.
    pub names: Vec<String>,
    /// GROUP BY or aggregates.
    pub grouped: bool,
}

/// Everything of a SELECT block before its operators are stacked.
struct Block {
    sources: Vec<Rc<Source>>,
    grouped: bool,
    rel: Rel,
    items: Vec<Item>,
    /// Sort keys; `Err(i)` refers to item i.
    order: Vec<(std::result::Result<Expr, usize>, bool)>,
}

/// What a source is called in FROM: its alias, or the name of its table as written.
pub(super) fn written_name(from: &[ast::TableSource], source: &Source) -> String {
    use ast::TableSourceKind as K;
    fn find(written: &ast::TableSource, source: &Source) -> Option<String> {
        match &written.kind {
            K::Named { name, alias: None, .. } if source.matches(name) => Some(name.to_string()),
            K::Join { left, right, .. } => find(left, source).or_else(|| find(right, source)),
            _ => None,
        }
    }
    from.iter().find_map(|written| find(written, source)).unwrap_or_else(|| source.alias.clone())
}

impl Binder<'_> {
    /// Binds a SELECT that is a statement: it may assign variables or fill a table.
    pub fn top_select(&mut self, s: &ast::Select, q: &ast::Query) -> Result<BoundSelect> {
        let assigns = s.items.iter().filter(|i| matches!(i, ast::SelectItem::Assign { .. })).count();
        if assigns > 0 {
            if assigns != s.items.len() || s.into.is_some() {
                return Err(errors::mixed_assignment());
            }
            return self.assign_select(s, q);
        }
        // A new table's columns are like those of the tables, identity included.
        self.expands_views |= s.into.is_some();
        let query = self.query(q, None, false)?;
        let destination = match &s.into {
            Some(name) => Destination::Into(name.clone()),
            None => Destination::Client,
        };
        Ok(BoundSelect { query, destination })
    }

    fn assign_select(&mut self, s: &ast::Select, q: &ast::Query) -> Result<BoundSelect> {
        let mut targets = Vec::new();
        let mut plain = s.clone();
        for (item, out) in s.items.iter().zip(&mut plain.items) {
            let ast::SelectItem::Assign { variable, op, value } = item else { continue };
            let info = self
                .scope
                .variable(&variable.name)
                .ok_or_else(|| errors::undeclared_variable(&variable.name))?;
            targets.push(info);
            let expr = match op {
                ast::AssignOp::Set => value.clone(),
                ast::AssignOp::Compound(op) => {
                    let span = value.span;
                    let left = ast::Expr { kind: ast::ExprKind::Variable(variable.name.clone()), span };
                    let kind = ast::ExprKind::Binary {
                        op: *op,
                        left: Box::new(left),
                        right: Box::new(value.clone()),
                    };
                    ast::Expr { kind, span }
                }
            };
            *out = ast::SelectItem::Expr { expr, alias: None };
        }
        let scope = Scope::default();
        let block = self.block(&plain, q, None)?;
        let Block { rel, items, order, .. } = block;
        let keys = self.sort_keys(order, &items, &[])?;
        let mut rel = rel;
        let exprs: Vec<Expr> = items.into_iter().map(|i| i.expr).collect();
        if s.distinct {
            // The values of one of the distinct rows: order does not matter, so the projection may be early.
            let mut computed = Vec::new();
            let slots: Vec<Slot> =
                exprs.iter().map(|e| self.materialize("", e.clone(), &mut computed)).collect();
            rel = Rel::Distinct { input: Box::new(rel.project(computed)), slots };
        }
        if !keys.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: keys.clone() };
        }
        rel = self.top(rel, s, &keys, &scope)?;
        rel = self.offset(rel, q, None)?;
        let mut assigned: Vec<(VariableInfo, Expr)> = Vec::new();
        for (info, e) in targets.into_iter().zip(exprs) {
            let e = super::encrypted::assign_variable(e, &info)?;
            assigned.push((info, e));
        }
        Ok(BoundSelect {
            query: BoundQuery { rel, columns: Vec::new() },
            destination: Destination::Assign(assigned),
        })
    }

    /// Binds a SELECT block with its ORDER BY and OFFSET into a query.
    pub fn select(
        &mut self,
        s: &ast::Select,
        q: &ast::Query,
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery> {
        Ok(self.selected(s, q, parent)?.query)
    }

    /// Binds a SELECT block, and tells what it reads.
    pub fn selected(
        &mut self,
        s: &ast::Select,
        q: &ast::Query,
        parent: Option<&Scope<'_>>,
    ) -> Result<Selected> {
        let Block { mut rel, items, order, sources, grouped } = self.block(s, q, parent)?;
        let mut computed = Vec::new();
        let mut columns = Vec::with_capacity(items.len());
        // A column of the query around gets a slot of its own: DISTINCT writes it, and an outer join makes it NULL.
        let own = parent.map(|_| rel.produced());
        for item in &items {
            let foreign = |slot: &Slot| own.as_ref().is_some_and(|own| !own.contains(slot));
            let slot = match item.expr.as_slot().filter(foreign) {
                Some(_) => {
                    let slot = self.slot_for(&item.name, &item.expr);
                    computed.push((slot, item.expr.clone()));
                    slot
                }
                None => self.materialize(&item.name, item.expr.clone(), &mut computed),
            };
            columns.push(OutputColumn { name: item.name.clone(), slot });
        }
        let mut keys = self.sort_keys(order, &items, &columns)?;
        if s.distinct {
            items.iter().try_for_each(|i| self.refuse_randomized(&i.expr))?;
            if let Some(item) = items.iter().find(|i| is_incomparable(i.expr.ty)) {
                return Err(errors::incomparable_distinct(item.expr.ty.name()));
            }
            rel = self.distinct(rel.project(computed), &columns, &mut keys, &items)?;
        } else {
            rel = rel.project(computed);
        }
        if !keys.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: keys.clone() };
        }
        let scope = Scope::new(Vec::new(), parent);
        rel = self.top(rel, s, &keys, &scope)?;
        rel = self.offset(rel, q, parent)?;
        let mut names: Vec<String> = sources.iter().map(|s| s.alias.clone()).collect();
        super::for_clause::auto::written_names(&s.from, &mut names);
        Ok(Selected { query: BoundQuery { rel, columns }, sources, names, grouped })
    }

    fn distinct(
        &mut self,
        rel: Rel,
        columns: &[OutputColumn],
        keys: &mut [SortKey],
        items: &[Item],
    ) -> Result<Rel> {
        let slots: Vec<Slot> = columns.iter().map(|c| c.slot).collect();
        for key in keys.iter_mut() {
            let print = format!("{:?}", key.expr.kind);
            let position = items.iter().position(|i| format!("{:?}", i.expr.kind) == print);
            match (key.expr.as_slot().filter(|s| slots.contains(s)), position) {
                (Some(_), _) => {}
                (None, Some(i)) => key.expr = self.read(columns[i].slot),
                (None, None) => return Err(errors::order_by_with_distinct()),
            }
        }
        Ok(Rel::Distinct { input: Box::new(rel), slots })
    }

    /// FROM, WHERE, GROUP BY, HAVING and window functions, with select list and order bound.
    fn block(&mut self, s: &ast::Select, q: &ast::Query, parent: Option<&Scope<'_>>) -> Result<Block> {
        let (mut rel, sources) = self.from_clause(&s.from, parent)?;
        let scope = Scope::new(sources, parent);
        if let Some(filter) = &s.filter {
            let predicates = self.conjuncts(filter, &mut ExprCx::new(&scope, Clause::Where))?;
            rel = rel.filter(unless_never_true(predicates));
        }
        over::refuse_repeated(&s.windows)?;
        let mut collect = Collect { named: s.windows.clone(), ..Collect::default() };
        let items = self.in_row(|binder| binder.select_list(s, &scope, &mut collect))?;
        let order = if s.into.is_some() && q.order_by.is_empty() {
            Vec::new()
        } else {
            self.order_items(&q.order_by, &items, &scope, &mut collect)?
        };
        let having = match &s.having {
            Some(h) => {
                let cx = &mut ExprCx::collecting(&scope, Clause::Having, &mut collect);
                unless_never_true(self.conjuncts(h, cx)?)
            }
            None => Vec::new(),
        };
        if s.group_by.is_none() && !collect.groupings.is_empty() {
            return Err(errors::grouping_without_groups());
        }
        let grouped = s.group_by.is_some() || !collect.aggs.is_empty() || s.having.is_some();
        self.refuse_in_member(s.distinct, errors::recursive_distinct);
        self.refuse_in_member(s.top.is_some() || q.offset.is_some(), errors::recursive_top);
        self.refuse_in_member(grouped, errors::recursive_groups);
        let mut block = Block { sources: scope.sources.clone(), grouped, rel, items, order };
        if grouped {
            let groups = self.group_by(s.group_by.as_ref(), &scope)?;
            let sources =
                block.sources.iter().map(|source| (written_name(&s.from, source), Rc::clone(source)));
            let groups = groups.of_sources(sources.collect());
            self.apply_groups(&mut block, &mut collect, groups, having)?;
        }
        block.rel = self.apply_windows(std::mem::replace(&mut block.rel, Rel::One), collect.windows)?;
        Ok(block)
    }

    fn apply_groups(
        &mut self,
        block: &mut Block,
        collect: &mut Collect,
        groups: super::group::Groups,
        mut having: Vec<Expr>,
    ) -> Result<()> {
        let input = std::mem::replace(&mut block.rel, Rel::One);
        let visible = input.produced();
        let aggs = std::mem::take(&mut collect.aggs);
        let mut rewrite = groups.rewriter(self, &aggs, visible, std::mem::take(&mut collect.groupings));
        for item in &mut block.items {
            rewrite.apply(self, &mut item.expr, Clause::SelectList)?;
        }
        for (key, _) in &mut block.order {
            if let Ok(e) = key {
                rewrite.apply(self, e, Clause::OrderBy)?;
            }
        }
        for h in &mut having {
            rewrite.apply(self, h, Clause::Having)?;
        }
        for w in &mut collect.windows {
            for e in w.exprs_mut() {
                rewrite.apply(self, e, Clause::SelectList)?;
            }
        }
        block.rel = rewrite.build(input, aggs).filter(having);
        Ok(())
    }

    fn select_list(
        &mut self,
        s: &ast::Select,
        scope: &Scope<'_>,
        collect: &mut Collect,
    ) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for item in &s.items {
            match item {
                ast::SelectItem::Star { qualifier, .. } => {
                    self.star(qualifier.as_ref(), scope, &mut items)?
                }
                ast::SelectItem::Expr { expr, alias } => {
                    let mut cx = ExprCx::collecting(scope, Clause::SelectList, collect);
                    let bound = self.value(expr, &mut cx)?;
                    if bound.ty.is_string() && bound.coercibility == Coercibility::Unresolved {
                        return Err(unresolved_column(&bound, items.len() + 1));
                    }
                    let name = match (alias, &expr.kind) {
                        (Some(a), _) => a.text.to_string(),
                        // As spelled here, not where it was defined: programs look result columns up by it.
                        (None, ast::ExprKind::Column(c)) => c.name.text.to_string(),
                        (None, ast::ExprKind::Pseudo { name, .. }) => match bound.as_slot() {
                            Some(slot) => self.slots[slot as usize].name.clone(),
                            None => name.to_lowercase(),
                        },
                        _ => String::new(),
                    };
                    items.push(Item { name, expr: bound });
                }
                ast::SelectItem::Assign { .. } => return Err(errors::mixed_assignment()),
            }
        }
        Ok(items)
    }

    fn star(
        &mut self,
        qualifier: Option<&ast::ObjectName>,
        scope: &Scope<'_>,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let mut matched = false;
        // A prefix may name a table of the query around, as in `(SELECT t.* FOR XML RAW)`.
        let named = |scope: &&Scope<'_>| {
            qualifier.is_none_or(|q| scope.sources.iter().any(|source| source.matches(q)))
        };
        let found = std::iter::successors(Some(scope), |scope| scope.parent).find(named);
        let sources = found.map_or(&[][..], |scope| &scope.sources);
        for source in super::meant(sources, qualifier) {
            matched = true;
            for c in source.columns.iter().filter(|c| !source.hidden.contains(&c.slot)) {
                self.refuse_xml_row(c.slot, &c.name)?;
                self.note_slot(c.slot);
                items.push(Item { name: c.name.clone(), expr: self.read(c.slot) });
            }
        }
        match qualifier {
            Some(q) if !matched => Err(errors::bad_star_prefix(&q.to_string())),
            None if !matched => {
                Err(keel_types::SqlError::new(263, 16, 1, "Must specify table to select from."))
            }
            _ => Ok(()),
        }
    }

    fn order_items(
        &mut self,
        order: &[ast::OrderItem],
        items: &[Item],
        scope: &Scope<'_>,
        collect: &mut Collect,
    ) -> Result<Vec<(std::result::Result<Expr, usize>, bool)>> {
        let mut keys = Vec::new();
        for (at, item) in order.iter().enumerate() {
            let (named, collation) = under_collation(&item.expr);
            let key = match (self.item_reference(named, items)?, collation) {
                (Some(i), None) => Err(i),
                (Some(i), Some(collation)) => Ok(self.in_named_collation(items[i].expr.clone(), collation)?),
                (None, _) => {
                    let mut cx = ExprCx::collecting(scope, Clause::OrderBy, collect);
                    let bound = self.value(&item.expr, &mut cx)?;
                    if over::is_written_constant(&bound)
                        && (bound.as_const().is_some() || constant(&bound).is_some())
                    {
                        return Err(errors::order_by_constant(at + 1));
                    }
                    if is_variable(&bound) {
                        return Err(errors::order_by_variable(at + 1));
                    }
                    Ok(bound)
                }
            };
            keys.push((key, item.descending));
        }
        Ok(keys)
    }

    /// A position or an alias of the select list.
    fn item_reference(&self, item: &ast::Expr, items: &[Item]) -> Result<Option<usize>> {
        if let Some(n) = position(item) {
            let index = usize::try_from(n - 1).ok().filter(|i| *i < items.len());
            return index.map(Some).ok_or_else(|| errors::order_position_out_of_range(n));
        }
        match &item.kind {
            ast::ExprKind::Column(c) if c.qualifier.is_none() => {
                let mut matching = items
                    .iter()
                    .enumerate()
                    .filter(|(_, o)| !o.name.is_empty() && same_name(&o.name, &c.name.text));
                let Some((first, found)) = matching.next() else { return Ok(None) };
                if matching
                    .any(|(_, o)| o.expr.as_slot().is_none() || o.expr.as_slot() != found.expr.as_slot())
                {
                    return Err(errors::ambiguous_column(&c.name.text));
                }
                Ok(Some(first))
            }
            _ => Ok(None),
        }
    }

    fn sort_keys(
        &mut self,
        order: Vec<(std::result::Result<Expr, usize>, bool)>,
        items: &[Item],
        columns: &[OutputColumn],
    ) -> Result<Vec<SortKey>> {
        order
            .into_iter()
            .map(|(key, descending)| {
                let expr = match key {
                    Ok(e) => e,
                    Err(i) => columns.get(i).map_or_else(|| items[i].expr.clone(), |c| self.read(c.slot)),
                };
                refuse_incomparable(expr.ty, "ORDER BY")?;
                self.refuse_encrypted([&expr])?;
                Ok(SortKey { expr, descending })
            })
            .collect()
    }

    /// Adds TOP.
    fn top(&mut self, rel: Rel, s: &ast::Select, keys: &[SortKey], scope: &Scope<'_>) -> Result<Rel> {
        let Some(top) = &s.top else { return Ok(rel) };
        let count = self.count_value(&top.count, scope, top.percent)?;
        if top.with_ties && keys.is_empty() {
            return Err(errors::with_ties_needs_order());
        }
        let ties = top.with_ties.then(|| keys.to_vec());
        Ok(Rel::Top { input: Box::new(rel), count: Some(count), percent: top.percent, ties, offset: None })
    }
}

/// A variable, or a conversion of one: as a sort key it would be a position.
fn is_variable(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Var(_) => true,
        ExprKind::Cast(cast) => is_variable(&cast.input),
        _ => false,
    }
}

/// A conjunction, or nothing but false when it is known that no row passes.
fn unless_never_true(predicates: Vec<Expr>) -> Vec<Expr> {
    if !predicates.iter().any(Expr::is_never_true) {
        return predicates;
    }
    vec![Expr::condition(ExprKind::Const(Value::Bit(false)))]
}
