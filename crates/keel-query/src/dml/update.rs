//! UPDATE.

use super::block::Blocks;
use super::cascade::{self, Child};
use super::output::{bind_outputs, compile_outputs, slots_of};
use super::target::Target;
use super::{Change, DmlPlan, decoders, refuse_view_rows, renamed, resolve_target, view};
use crate::bind::encrypted::assign_variable;
use crate::bind::expr::{Clause, ExprCx};
use crate::bind::from::join;
use crate::bind::mask::Masks;
use crate::bind::operators::arith_op;
use crate::bind::rel::{Get, JoinKind, Rel, SlotSet};
use crate::bind::{Binder, Scope, Source, SourceColumn, same_name};
use crate::context::DmlAction;
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::exec::node::{Access, Bounds, Node, Op};
use crate::expr::compile::{Code, Compiler};
use crate::expr::{Expr, Slot};
use crate::plan::Planner;
use crate::plan::api::finish;
use crate::plan::run::{Body, Plan};
use crate::policy::PredicateKind;
use crate::scope::BindScope;
use keel_parser::ast;
use keel_types::SqlType;
use std::rc::Rc;
use std::sync::Arc;

/// One item of SET, compiled.
pub(crate) enum SetItem {
    /// Column.
    Column(usize, Code),
    /// Variable.
    Variable(usize, Code),
    /// `@v = column = expression`: the variable takes the column's new value, converted from the slot.
    Both(usize, Code, usize, Code),
}

impl SetItem {
    /// Position of the column it assigns.
    fn column(&self) -> Option<usize> {
        match self {
            SetItem::Column(i, _) | SetItem::Both(i, ..) => Some(*i),
            SetItem::Variable(..) => None,
        }
    }
}

/// How a found row changes.
pub(crate) struct UpdateRow {
    pub sets: Vec<SetItem>,
    /// Positions of all columns that change, computed ones and the rowversion included.
    pub changed: Vec<usize>,
    /// Unchanged columns whose new slot must hold the old value.
    pub copies: Vec<usize>,
    /// Assigned columns that are NOT NULL.
    pub not_null: Vec<usize>,
    /// Foreign keys to check.
    pub parents: Vec<usize>,
    /// Referencing tables to look after.
    pub children: Vec<Child>,
    /// Block predicates on the row as it was.
    pub before: Blocks,
    /// Block predicates on the row as it is stored.
    pub after: Blocks,
}

impl UpdateRow {
    /// Positions of the columns that SET names, in its order.
    pub fn assigned(&self) -> impl Iterator<Item = usize> {
        self.sets.iter().filter_map(|item| item.column())
    }

    /// Evaluates SET into the new slots and variables.
    pub fn evaluate(&self, target: &Target, cx: &mut Cx<'_>) -> Result<()> {
        for item in &self.sets {
            match item {
                SetItem::Column(i, code) => code.eval_into(cx, target.new_first + i)?,
                SetItem::Variable(v, code) => {
                    let value = code.eval(cx)?;
                    cx.vars[*v] = value;
                }
                SetItem::Both(i, code, v, convert) => {
                    code.eval_into(cx, target.new_first + i)?;
                    let value = convert.eval(cx)?;
                    cx.vars[*v] = value;
                }
            }
        }
        Ok(())
    }

    /// Completes and checks the new row; old values lie from `old_first`.
    pub fn complete(&self, target: &Target, cx: &mut Cx<'_>, old_first: usize) -> Result<()> {
        for i in &self.copies {
            cx.slots[target.new_first + i] = cx.slots[old_first + i].clone();
        }
        target.complete(cx)?;
        target.check_nulls(cx, self.not_null.iter().copied(), "UPDATE")?;
        target.check_rules(cx, Some(&self.changed), "UPDATE")
    }
}

/// The table a statement changes, found among its sources.
pub(crate) struct Found {
    /// All sources.
    pub rel: Rel,
    pub sources: Vec<Rc<Source>>,
    /// The source that names the target.
    pub source: Rc<Source>,
    /// The table reference that changes.
    pub get: u32,
    /// The reference alone (no joins).
    pub simple: bool,
}

/// Binds FROM and finds the target in it; a target that FROM does not name is added. `assigned` are the columns SET names.
pub(crate) fn find_target(
    binder: &mut Binder<'_>,
    target: &ast::DmlTarget,
    from: &[ast::TableSource],
    assigned: &[&ast::ColumnRef],
) -> Result<Found> {
    super::nested::refuse(from, errors::nested_in_change)?;
    let (mut rel, mut sources) = binder.expanding(|b| b.from_clause(from, None))?;
    let named = match &target.table {
        ast::TableRef::Named(n) => {
            let by_alias = sources.iter().find(|s| n.is_simple() && same_name(&s.alias, &n.name.text));
            by_alias.or_else(|| crate::bind::meant(&sources, Some(n)).next()).cloned()
        }
        ast::TableRef::Variable(v) => sources.iter().find(|s| same_name(&s.alias, &v.name)).cloned(),
    };
    let named = match (named, &target.table) {
        (Some(s), _) => Some(s),
        // FROM may name the same table under an alias only: UPDATE t SET … FROM t AS x.
        (None, ast::TableRef::Named(n)) if !from.is_empty() => resolve_target(binder, &target.table)
            .ok()
            .and_then(|table| {
                let mut gets = Vec::new();
                references(&rel, &mut gets);
                let mut same = gets.iter().filter(|(_, t)| super::foreign::same_table(t, &table));
                let first = same.next().map(|(id, _)| *id);
                first.filter(|_| same.next().is_none() && !n.is_temporary() || same.next().is_none())
            })
            .and_then(|id| sources.iter().find(|s| s.get == Some(id)).cloned()),
        _ => None,
    };
    let source = match named {
        Some(s) => s,
        None => {
            let kind = match &target.table {
                ast::TableRef::Named(name) => ast::TableSourceKind::Named {
                    name: name.clone(),
                    alias: None,
                    hints: target.hints.clone(),
                    sample: None,
                    system_time: None,
                },
                ast::TableRef::Variable(variable) => ast::TableSourceKind::Variable {
                    variable: variable.clone(),
                    alias: None,
                    hints: target.hints.clone(),
                },
            };
            let item = ast::TableSource { kind, span: ast::Span::default() };
            let (own, mut own_sources) = binder.expanding(|b| b.table_source(&item, None, &[]))?;
            rel = if matches!(rel, Rel::One) { own } else { join(JoinKind::Inner, own, rel, Vec::new()) };
            let s = own_sources[0].clone();
            own_sources.append(&mut sources);
            sources = own_sources;
            s
        }
    };
    let get = match source.get {
        Some(id) => id,
        None => view::updatable_base(binder, &rel, &source, assigned)?,
    };
    let simple = matches!(&rel, Rel::Get(g) if g.id == get);
    Ok(Found { rel, sources, source, get, simple })
}

pub(crate) fn references(rel: &Rel, into: &mut Vec<(u32, crate::bind::ArcTable)>) {
    if let Rel::Get(g) = rel {
        into.push((g.id, g.table.clone()));
    }
    rel.inputs().into_iter().for_each(|r| references(r, into));
}

/// The reference with this number.
pub(crate) fn reference(rel: &mut Rel, id: u32) -> Option<&mut crate::bind::rel::Get> {
    if let Rel::Get(g) = rel {
        return (g.id == id).then_some(&mut **g);
    }
    rel.inputs_mut().into_iter().find_map(|r| reference(r, id))
}

/// Stands before a column's name where SET means the target's, whatever other sources have.
const OWN: &str = "\u{0}target";

/// Binds SET. Column values may read the old row and the other sources.
pub(crate) fn bind_sets(
    binder: &mut Binder<'_>,
    target: &Target,
    source: &Source,
    scope: &Scope<'_>,
    sets: &[ast::UpdateSet],
) -> Result<Vec<BoundSet>> {
    // The target's columns as `OWN` ones are seen from further out, where no other name finds them.
    let own = Scope::new(vec![renamed(source, OWN)], scope.parent);
    let scope = &Scope::new(scope.sources.clone(), Some(&own));
    let mut bound: Vec<BoundSet> = Vec::new();
    for set in sets {
        let set = bind_set(binder, target, source, scope, set)?;
        if let Some(i) = set.column
            && bound.iter().any(|b| b.column == Some(i))
        {
            return Err(errors::column_set_twice(&target.table.columns[i].name));
        }
        bound.push(set);
    }
    Ok(bound)
}

fn bind_set(
    binder: &mut Binder<'_>,
    target: &Target,
    source: &Source,
    scope: &Scope<'_>,
    set: &ast::UpdateSet,
) -> Result<BoundSet> {
    let written;
    let (column, variable, op, value) = match set {
        ast::UpdateSet::Column { column, op, value } => (Some(column), None, *op, value),
        ast::UpdateSet::Variable { variable, op, value } => (None, Some(variable), *op, value),
        ast::UpdateSet::VariableAndColumn { variable, column, op, value } => {
            (Some(column), Some(variable), *op, value)
        }
        ast::UpdateSet::Write { column, value, offset, length } => {
            written = write_expr(column, value, offset, length);
            (Some(column), None, ast::AssignOp::Set, &written)
        }
    };
    let own = column.and_then(|c| own_mutation(c, value));
    let value = own.as_ref().unwrap_or(value);
    let position = column.map(|c| set_column(binder, target, source, scope, c)).transpose()?;
    let info = match variable {
        Some(v) => Some(binder.scope.variable(&v.name).ok_or_else(|| errors::undeclared_variable(&v.name))?),
        None => None,
    };
    binder.assigns_variables |= info.is_some();
    let mut cx = ExprCx::new(scope, Clause::Set);
    if let Some(i) = position {
        cx.default = Some(target.default_of(binder, i)?);
    }
    let mut e = binder.value(value, &mut cx)?;
    if let ast::AssignOp::Compound(op) = op {
        let left = match (column, &info) {
            (Some(c), _) => binder.value(&own_column(c), &mut cx)?,
            (None, Some(v)) => {
                let name = variable.map_or(String::new(), |x| x.name.to_string());
                Expr { ty: v.ty, ..binder.variable(&name)? }
            }
            (None, None) => return Err(errors::syntax_near("=")),
        };
        e = binder.binary_values(arith_op(op)?, left, e)?;
    }
    Ok(BoundSet { column: position, variable: info, value: binder.to_assign(e) })
}

/// `column.modify(…)` of a column without qualifier, which is the target's.
fn own_mutation(column: &ast::ColumnRef, value: &ast::Expr) -> Option<ast::Expr> {
    let mut own = value.clone();
    let ast::ExprKind::Mutated { target, .. } = &mut own.kind else { return None };
    let ast::ExprKind::Column(_) = &target.kind else { return None };
    target.kind = own_column(column).kind;
    Some(own)
}

fn assigned_column(set: &ast::UpdateSet) -> Option<&ast::ColumnRef> {
    match set {
        ast::UpdateSet::Variable { .. } => None,
        ast::UpdateSet::Column { column, .. }
        | ast::UpdateSet::VariableAndColumn { column, .. }
        | ast::UpdateSet::Write { column, .. } => Some(column),
    }
}

/// A bound item of SET.
pub(crate) struct BoundSet {
    pub column: Option<usize>,
    pub variable: Option<crate::scope::VariableInfo>,
    pub value: Expr,
}

/// `column.WRITE(value, offset, length)` as the expression it assigns: the value takes the place of `length` units from
/// `offset`; without offset it is appended, without length it replaces the rest, and NULL cuts the rest off.
fn write_expr(
    column: &ast::ColumnRef,
    value: &ast::Expr,
    offset: &ast::Expr,
    length: &ast::Expr,
) -> ast::Expr {
    let make = |kind| ast::Expr { kind, span: value.span };
    let int = |n| make(ast::ExprKind::Literal(ast::Literal::Int(n)));
    let add = |left, right| {
        let (left, right) = (Box::new(left), Box::new(right));
        make(ast::ExprKind::Binary { op: ast::BinaryOp::Add, left, right })
    };
    let part = |from: ast::Expr, count: ast::Expr| {
        let mut call = keel_parser::parse_expr("substring(0, 0, 0)").expect("a constant of this file");
        if let ast::ExprKind::Function(f) = &mut call.kind {
            f.args = vec![own_column(column), from, count];
        }
        call
    };
    let is_null =
        |e: &ast::Expr| make(ast::ExprKind::IsNull { operand: Box::new(e.clone()), negated: false });
    let head = || part(int(1), offset.clone());
    let appended = add(own_column(column), value.clone());
    let replaced = add(head(), value.clone());
    let behind = add(add(offset.clone(), length.clone()), int(1));
    let spliced = add(replaced.clone(), part(behind, int(i32::MAX)));
    let literal_null = |e: &ast::Expr| matches!(e.kind, ast::ExprKind::Literal(ast::Literal::Null));
    // Literal NULLs, the usual way to leave something out, decide here: they have no type to compute with.
    if literal_null(offset) {
        return appended;
    }
    if literal_null(value) {
        return head();
    }
    if literal_null(length) {
        return replaced;
    }
    let whens = vec![(is_null(offset), appended), (is_null(value), head()), (is_null(length), replaced)];
    make(ast::ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(spliced)) })
}

/// The target's column of a name that SET assigns to, as an expression.
fn own_column(c: &ast::ColumnRef) -> ast::Expr {
    let own = ast::Ident { text: OWN.into(), quoted: true, span: ast::Span::default() };
    let qualifier = Some(Box::new(ast::ObjectName::simple(own)));
    let kind = ast::ExprKind::Column(ast::ColumnRef { qualifier, name: c.name.clone() });
    ast::Expr { kind, span: ast::Span::default() }
}

/// The column that SET names: through the target's source, so that views and CTEs work.
fn set_column(
    binder: &Binder<'_>,
    target: &Target,
    source: &Source,
    scope: &Scope<'_>,
    c: &ast::ColumnRef,
) -> Result<usize> {
    // The table's own name will do beside an alias, unless another source is called so.
    if let Some(q) = &c.qualifier
        && !source.matches(q)
        && (!same_name(&q.name.text, &target.table.name) || scope.sources.iter().any(|s| s.matches(q)))
    {
        return Err(errors::multi_part(&format!("{q}.{}", c.name.text)));
    }
    let shown = source.columns.iter().find(|s| same_name(&s.name, &c.name.text));
    let shown = shown.ok_or_else(|| errors::invalid_column(&c.name.text))?;
    let origin = binder.slots[shown.slot as usize].origin;
    let i = origin.map(|(_, i)| i).ok_or_else(|| errors::view_not_updatable(&source.alias))?;
    let column = &target.table.columns[i];
    if column.computed.is_some() {
        return Err(errors::computed_column_modified(&column.name));
    }
    if column.ty == SqlType::RowVersion {
        return Err(errors::timestamp_updated());
    }
    if target.table.period_part(i).is_some() {
        return Err(errors::generated_updated(&target.full_name));
    }
    if column.identity.is_some() {
        return Err(errors::identity_updated(&column.name));
    }
    Ok(i)
}

/// SET with what it takes from masked columns behind masks, unless it stays in a masked column.
pub(crate) fn masked_sets(masks: &mut Masks, target: &Target, sets: Vec<BoundSet>) -> Vec<BoundSet> {
    let stays = |s: &BoundSet| {
        s.variable.is_none() && s.column.is_some_and(|i| target.table.columns[i].mask.is_some())
    };
    let on = |s: BoundSet| if stays(&s) { s } else { BoundSet { value: masks.put_on(s.value), ..s } };
    sets.into_iter().map(on).collect()
}

/// All columns an update changes.
pub(crate) fn changed_columns(target: &Target, sets: &[BoundSet]) -> Vec<usize> {
    let mut changed: Vec<usize> = sets.iter().filter_map(|s| s.column).collect();
    if !changed.is_empty() {
        changed.extend(target.period.as_ref().map(|p| p.start));
    }
    for ((i, _), inputs) in target.computed.iter().zip(&target.computed_inputs) {
        if inputs.iter().any(|c| changed.contains(c)) {
            changed.push(*i);
        }
    }
    changed.extend(target.rowversion);
    changed.sort_unstable();
    changed.dedup();
    changed
}

/// Compiles SET.
pub(crate) fn compile_sets(
    planner: &mut Planner<'_, '_>,
    target: &Target,
    sets: Vec<BoundSet>,
) -> Result<Vec<SetItem>> {
    let mut compiled = Vec::new();
    for s in sets {
        let mut compiler = Compiler { subqueries: planner };
        compiled.push(match (s.column, s.variable) {
            (Some(i), None) => SetItem::Column(i, target.assignment(s.value, i, &mut compiler)?),
            (None, Some(v)) => SetItem::Variable(v.index, compiler.value(&assign_variable(s.value, &v)?)?),
            (Some(i), Some(v)) => {
                let code = target.assignment(s.value, i, &mut compiler)?;
                let c = &target.table.columns[i];
                let read = Expr::slot((target.new_first + i) as Slot, c.ty, c.collation, true);
                SetItem::Both(i, code, v.index, compiler.value(&assign_variable(read, &v)?)?)
            }
            (None, None) => continue,
        });
    }
    Ok(compiled)
}

/// Compiles UPDATE.
pub fn compile_update(scope: &dyn BindScope, update: &ast::Update) -> Result<Plan> {
    let mut binder = Binder::directed(scope);
    binder.query_hints(&update.options)?;
    binder.with_ctes(update.with.as_ref(), |b| update_with(b, update))
}

fn update_with(binder: &mut Binder<'_>, update: &ast::Update) -> Result<Plan> {
    let assigned: Vec<&ast::ColumnRef> = update.assignments.iter().filter_map(assigned_column).collect();
    let mut found = find_target(binder, &update.target, &update.from, &assigned)?;
    let table = match reference(&mut found.rel, found.get) {
        Some(g) => {
            let extra = binder.hints(&update.target.hints, Some(&g.table))?;
            merge_hints(&mut g.hints, extra);
            g.table.clone()
        }
        None => return Err(errors::view_not_updatable(&found.source.alias)),
    };
    refuse_view_rows(&table)?;
    let mut target = Target::new(binder, &table)?;
    if table.history_of.is_some() {
        return Err(errors::history_updated(&target.full_name));
    }
    target.bind_blocks(binder)?;
    if found.source.get.is_none() {
        let conditions = binder.unnoticed(|b| view::check_option(b, &update.target.table, &target))?;
        target.set_view_checks(&conditions)?;
    }
    let scope = Scope::new(found.sources.clone(), None);
    let sets = bind_sets(binder, &target, &found.source, &scope, &update.assignments)?;
    let filter = where_clause(binder, update.filter.as_ref(), &scope)?;
    let changed = changed_columns(&target, &sets);
    let inserted = inserted_source(binder, &target, &found.source);
    same_columns(binder, &inserted, &found.source);
    let mut sources = vec![inserted, renamed(&found.source, "deleted")];
    sources.extend(found.sources.iter().cloned());
    let outputs = bind_outputs(binder, &update.output, sources, None)?;
    let mut masks = binder.masks(&found.rel);
    let sets = masked_sets(&mut masks, &target, sets);
    let outputs = super::output::masked(outputs, masks, &target);
    let top = match &update.top {
        Some(t) => Some((binder.count_value(&t.count, &Scope::default(), t.percent)?, t.percent)),
        None => None,
    };
    build_update(binder, found, target, sets, filter, changed, outputs, top)
}

/// Reading `inserted` is reading the target's columns.
pub(crate) fn same_columns(binder: &mut Binder<'_>, inserted: &Source, target: &Source) {
    for c in &inserted.columns {
        if let Some(old) = target.columns.iter().find(|o| o.name == c.name) {
            binder.same_column(c.slot, old.slot);
        }
    }
}

/// `inserted` shows the target source's columns with their new values.
pub(crate) fn inserted_source(binder: &Binder<'_>, target: &Target, source: &Source) -> Rc<Source> {
    let columns = source
        .columns
        .iter()
        .filter_map(|c| {
            let (_, i) = binder.slots[c.slot as usize].origin?;
            Some(SourceColumn { name: c.name.clone(), slot: (target.new_first + i) as Slot })
        })
        .collect();
    let hidden = source.hidden.iter().filter_map(|s| {
        let (_, i) = binder.slots[*s as usize].origin?;
        Some((target.new_first + i) as Slot)
    });
    let hidden = hidden.collect();
    Rc::new(Source { hidden, ..Source::of("inserted", columns) })
}

pub(crate) fn merge_hints(into: &mut crate::bind::rel::Hints, extra: crate::bind::rel::Hints) {
    into.serializable |= extra.serializable;
    into.repeatable |= extra.repeatable;
    into.table |= extra.table;
    into.table_exclusive |= extra.table_exclusive;
    into.exclusive |= extra.exclusive;
    into.skip_locked |= extra.skip_locked;
    into.no_wait |= extra.no_wait;
    into.indexes.extend(extra.indexes);
}

pub(crate) fn where_clause(
    binder: &mut Binder<'_>,
    filter: Option<&ast::DmlFilter>,
    scope: &Scope<'_>,
) -> Result<Vec<Expr>> {
    match filter {
        None => Ok(Vec::new()),
        Some(ast::DmlFilter::Where(e)) => binder.conjuncts(e, &mut ExprCx::new(scope, Clause::Where)),
        Some(ast::DmlFilter::CurrentOf(_)) => Err(errors::not_supported("WHERE CURRENT OF")),
    }
}

/// Compiles a bound update; also used for cascades.
#[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
pub(crate) fn build_update(
    binder: &mut Binder<'_>,
    found: Found,
    target: Target,
    sets: Vec<BoundSet>,
    filter: Vec<Expr>,
    changed: Vec<usize>,
    outputs: Vec<super::output::BoundOutput>,
    top: Option<(Expr, bool)>,
) -> Result<Plan> {
    let mut planner = Planner::new(binder);
    let (plan, columns) = update_plan(&mut planner, found, target, sets, filter, changed, outputs, top)?;
    let subplans = planner.subplans;
    Ok(finish(binder, Body::Dml(Box::new(plan)), subplans, columns, None))
}

#[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
pub(crate) fn update_plan(
    planner: &mut Planner<'_, '_>,
    mut found: Found,
    target: Target,
    sets: Vec<BoundSet>,
    filter: Vec<Expr>,
    changed: Vec<usize>,
    outputs: Vec<super::output::BoundOutput>,
    top: Option<(Expr, bool)>,
) -> Result<(DmlPlan, Vec<crate::meta::ColumnMeta>)> {
    let self_reading = sets.iter().any(|s| s.value.has_subquery())
        || filter.iter().any(Expr::has_subquery)
        || guards_read(&mut found, &target);
    let old_first = reference(&mut found.rel, found.get).map_or(0, |g| g.first_slot as usize);
    let mut need = SlotSet::new();
    // `inserted.c` of a column that does not change is its old value.
    let mut outputs = outputs;
    let unchanged = (0..target.table.columns.len()).filter(|i| !changed.contains(i));
    let map = unchanged
        .map(|i| ((target.new_first + i) as Slot, planner.binder.read((old_first + i) as Slot)))
        .collect();
    super::output::substitute(&mut outputs, &map);
    sets.iter().for_each(|s| s.value.add_slots(&mut need));
    slots_of(&outputs, &mut need);
    let mut touched = target.needed_for_update(&changed);
    let children = cascade::children(planner, &target, old_first, Some(&changed))?;
    touched.extend(children.iter().flat_map(|c| c.referenced.iter().copied()));
    need.extend(touched.iter().map(|i| (old_first + i) as Slot));
    // New values shown by OUTPUT that do not change come from the old row.
    let new_range = target.new_first..target.new_first + target.table.columns.len();
    let mut copies: Vec<usize> = touched.clone();
    for slot in need.clone() {
        if new_range.contains(&(slot as usize)) {
            let i = slot as usize - target.new_first;
            copies.push(i);
            need.insert((old_first + i) as Slot);
            need.remove(&slot);
        }
    }
    // A row that leaves its place, or waits outside for its unique key to be free, is written anew.
    if target.moves(&changed) || target.shifts(&changed) {
        copies.extend(0..target.table.columns.len());
        need.extend((0..target.table.columns.len()).map(|i| (old_first + i) as Slot));
    }
    copies.sort_unstable();
    copies.dedup();
    copies.retain(|i| !changed.contains(i));
    let located = locate(planner, found, filter, top, &need, &changed)?;
    let not_null: Vec<usize> =
        sets.iter().filter_map(|s| s.column).filter(|i| !target.table.columns[*i].nullable).collect();
    let parents: Vec<usize> = (0..target.parents.len())
        .filter(|p| target.parents[*p].columns.iter().any(|c| changed.contains(c)))
        .collect();
    parents.iter().for_each(|p| target.parents[*p].announce(planner.binder.scope));
    let sets = compile_sets(planner, &target, sets)?;
    let before = target.blocks_before(planner, PredicateKind::BeforeUpdate, old_first)?;
    let after = target.blocks_after(planner, Some(&changed))?;
    let outputs = compile_outputs(planner, outputs)?;
    let triggers = planner.binder.scope.has_triggers(&target.table, DmlAction::Update);
    outputs.refuse_triggers(triggers, &target.name)?;
    let copies = if triggers {
        (0..target.table.columns.len()).filter(|i| !changed.contains(i)).collect()
    } else {
        copies
    };
    let decode_columns: Vec<usize> = if triggers {
        (0..target.table.columns.len()).collect()
    } else {
        let last = old_first + target.table.columns.len();
        need.iter()
            .map(|s| *s as usize)
            .filter(|s| (old_first..last).contains(s))
            .map(|s| s - old_first)
            .collect()
    };
    let shown = planner.show_change("Table Update", "Update", &target, Some(&changed));
    let parts = target.indexes.iter().any(|i| i.touched_by(&changed)) || target.moves(&changed);
    let savepoint = !located.single
        || parts
        || !children.is_empty()
        || !outputs.list.is_empty()
        || triggers
        || !target.blocks.is_empty()
        || !target.parents.is_empty();
    let decode = decoders(&target.table, &decode_columns, old_first);
    // Rows that take over each other's unique keys are changed only when all are known.
    let shifts = !located.single && target.shifts(&changed);
    let plan = DmlPlan {
        change: Change::Update(UpdateRow {
            sets,
            changed,
            copies,
            not_null,
            parents,
            children,
            before,
            after,
        }),
        target: Arc::new(target),
        source: Arc::new(located.node),
        outputs: outputs.list,
        in_place: located.in_place && !self_reading && !triggers && !shifts,
        row_key: located.row_key,
        carried: located.carried,
        decode,
        old_first,
        savepoint,
        triggers,
        nested: None,
        shown,
    };
    Ok((plan, outputs.columns))
}

/// Whether security policies look at tables to decide about a target's rows.
pub(crate) fn guards_read(found: &mut Found, target: &Target) -> bool {
    let by_filter = |g: &mut Get| g.policy.iter().any(Expr::has_subquery);
    target.blocks_read() || reference(&mut found.rel, found.get).is_some_and(by_filter)
}

/// A planned search for the rows to change.
pub(crate) struct Located {
    pub node: Node,
    pub in_place: bool,
    pub row_key: Option<usize>,
    pub carried: Vec<usize>,
    /// At most one row.
    pub single: bool,
}

/// Plans the search for target rows: locked as they are found.
pub(crate) fn locate(
    planner: &mut Planner<'_, '_>,
    mut found: Found,
    filter: Vec<Expr>,
    top: Option<(Expr, bool)>,
    need: &SlotSet,
    changed: &[usize],
) -> Result<Located> {
    let id = found.get;
    let mut need = need.clone();
    let mut row_key = None;
    // Before TOP … PERCENT knows how many there are it has read them all, and a join that a subquery has become may have written
    // rows to files: which one a row is must be kept with it.
    let kept = matches!(top, Some((_, true))) || filter.iter().any(Expr::has_subquery);
    let simple = found.simple && !kept;
    if simple {
        planner.direct_target = Some(id);
    } else {
        let g = reference(&mut found.rel, id).expect("the search reads its target");
        g.target = true;
        need.insert(g.locator);
        row_key = Some(g.locator as usize);
    }
    let mut rel = found.rel.filter(filter);
    if let Some((count, percent)) = top {
        rel = Rel::Top { input: Box::new(rel), count: Some(count), percent, ties: None, offset: None };
    }
    let planned = planner.plan_tree(rel, &need)?;
    planner.direct_target = None;
    let carried: Vec<usize> = need.iter().map(|s| *s as usize).collect();
    let access = simple_access(&planned.node);
    let in_place = simple
        && access.is_some_and(|a| {
            matches!(a.bounds, Bounds::Point(_) | Bounds::Row(_))
                || a.lookup.is_none() && !assigned_key(a, planner, id, changed)
        });
    let single = access.is_some_and(|a| matches!(a.bounds, Bounds::Point(_) | Bounds::Row(_)));
    Ok(Located { node: planned.node, in_place, row_key, carried, single })
}

/// Whether an assigned column is part of the scanned index's key.
fn assigned_key(a: &Access, planner: &Planner<'_, '_>, id: u32, changed: &[usize]) -> bool {
    let Some(table) = planner.tables.get(&id) else { return true };
    let Some(index) = table.indexes.iter().find(|i| i.tree == a.tree) else { return true };
    index.key.iter().any(|k| table.column_index(k.column_id).is_some_and(|i| changed.contains(&i)))
}

/// The access under nothing but filters and TOP.
fn simple_access(node: &Node) -> Option<&Access> {
    match &node.op {
        Op::Access(a) => Some(a),
        Op::Filter(f) => simple_access(&f.input),
        Op::Top(t) if !t.percent => simple_access(&t.input),
        _ => None,
    }
}
