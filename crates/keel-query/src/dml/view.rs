//! Views and common table expressions as targets: which table stands behind one, whether it may be changed through it,
//! and what WITH CHECK OPTION asks of the new rows.
//!
//! A view is bound like in a query; the columns a statement names lead to the one reference whose rows change. Nothing
//! between that reference and the top of the tree may combine rows.

use super::target::Target;
use super::update::references;
use crate::bind::from::parts;
use crate::bind::rel::Rel;
use crate::bind::{Binder, OutputColumn, Source, SourceColumn, parse_error, same_name};
use crate::catalog::{ModuleDef, ModuleKind, TableDef};
use crate::errors::{self, Result};
use crate::expr::{Expr, Slot};
use crate::scope::{BindScope, ObjectRef};
use keel_parser::ast;
use keel_types::SqlType;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The view that a name stands for, if it is one.
fn view_of(binder: &Binder<'_>, table: &ast::TableRef) -> Option<Arc<ModuleDef>> {
    let ast::TableRef::Named(name) = table else { return None };
    match binder.scope.object(parts(name)) {
        _ if binder.is_cte(name) => None,
        Some(ObjectRef::Module(m)) if m.kind == ModuleKind::View => Some(m),
        _ => None,
    }
}

/// Whether a name is that of a table, not of a view or CTE.
pub(super) fn is_stored(binder: &Binder<'_>, name: &ast::ObjectName) -> bool {
    !binder.is_cte(name) && view_of(binder, &ast::TableRef::Named(name.clone())).is_none()
}

/// The one table behind a view or CTE whose `assigned` columns change (all columns when there are none).
pub(crate) fn updatable_base(
    binder: &Binder<'_>,
    rel: &Rel,
    source: &Source,
    assigned: &[&ast::ColumnRef],
) -> Result<u32> {
    let named = |name: &str| assigned.is_empty() || assigned.iter().any(|a| same_name(&a.name.text, name));
    let mut ids: Vec<u32> = source
        .columns
        .iter()
        .filter(|c| named(&c.name))
        .filter_map(|c| binder.slots[c.slot as usize].origin.map(|(id, _)| id))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    match ids.as_slice() {
        [one] => {
            plain_path(rel, *one, &source.alias)?;
            Ok(*one)
        }
        [] if combines(rel) => Err(errors::view_of_groups(&source.alias)),
        [] if unites(rel) => Err(errors::view_of_union(&source.alias)),
        [] => match &tables_behind(rel)[..] {
            // Whoever deletes names no column.
            [one] if assigned.is_empty() && plain_path(rel, *one, &source.alias)? => Ok(*one),
            [_, _, ..] if assigned.is_empty() => Err(errors::view_not_updatable_multiple(&source.alias)),
            _ => Err(errors::view_not_updatable(&source.alias)),
        },
        _ => Err(errors::view_not_updatable_multiple(&source.alias)),
    }
}

/// The references to tables in it.
fn tables_behind(rel: &Rel) -> Vec<u32> {
    let mut tables = Vec::new();
    references(rel, &mut tables);
    tables.into_iter().map(|(id, _)| id).collect()
}

fn combines(rel: &Rel) -> bool {
    matches!(rel, Rel::Aggregate { .. } | Rel::Distinct { .. }) || rel.inputs().into_iter().any(combines)
}

fn unites(rel: &Rel) -> bool {
    matches!(rel, Rel::SetOp { .. }) || rel.inputs().into_iter().any(unites)
}

/// Errors 4403 and 4426 when rows are combined between the reference and the top; true when it was found.
fn plain_path(rel: &Rel, id: u32, view: &str) -> Result<bool> {
    if let Rel::Get(g) = rel {
        return Ok(g.id == id);
    }
    for input in rel.inputs() {
        if !plain_path(input, id, view)? {
            continue;
        }
        return match rel {
            Rel::Aggregate { .. } | Rel::Distinct { .. } => Err(errors::view_of_groups(view)),
            Rel::SetOp { .. } => Err(errors::view_of_union(view)),
            _ => Ok(true),
        };
    }
    Ok(false)
}

/// The table an INSERT fills and the columns it names; a view or CTE stands for its one table.
pub(crate) fn insert_target(
    binder: &mut Binder<'_>,
    insert: &ast::Insert,
) -> Result<(Arc<TableDef>, Vec<ast::Ident>)> {
    let table = &insert.target.table;
    if let ast::TableRef::Named(name) = table
        && binder.is_cte(name)
    {
        let (rel, source) = cte_source(binder, name, None, &insert.target.hints)?;
        return behind(binder, &rel, &source.columns, &insert.columns, &source.alias);
    }
    let Some(module) = view_of(binder, table) else {
        return Ok((super::resolve_target(binder, table)?, insert.columns.clone()));
    };
    let bound = binder.view(&module)?;
    let column = |c: &OutputColumn| SourceColumn { name: c.name.clone(), slot: c.slot };
    let columns: Vec<SourceColumn> = bound.columns.iter().map(column).collect();
    behind(binder, &bound.rel, &columns, &insert.columns, &module.name)
}

/// What a view is to a bulk load: its columns and the table's that each of them is.
#[derive(Clone, Debug)]
pub struct LoadedView {
    /// The table behind it.
    pub table: Arc<TableDef>,
    /// The view's names of columns, each with the place of the table's.
    pub columns: Vec<(String, usize)>,
}

/// The table behind those columns of a view that are `named`, or behind all of them; `None` when `name` is not a view's.
///
/// # Errors
/// As for an INSERT: 207, 4403, 4405, 4406, 4426.
pub fn loaded_view(
    scope: &dyn BindScope,
    name: &ast::ObjectName,
    named: &[ast::Ident],
) -> Result<Option<LoadedView>> {
    let mut binder = Binder::new(scope);
    let Some(module) = view_of(&binder, &ast::TableRef::Named(name.clone())) else { return Ok(None) };
    let bound = binder.view(&module)?;
    let column = |c: &OutputColumn| SourceColumn { name: c.name.clone(), slot: c.slot };
    let columns: Vec<SourceColumn> = bound.columns.iter().map(column).collect();
    let all = || columns.iter().map(|c| ast::Ident::new(c.name.as_str())).collect();
    let shown: Vec<ast::Ident> = if named.is_empty() { all() } else { named.to_vec() };
    let (table, behind) = behind(&binder, &bound.rel, &columns, &shown, &module.name)?;
    let place = |name: &ast::Ident| table.columns.iter().position(|c| same_name(&c.name, &name.text));
    let places =
        shown.iter().zip(&behind).filter_map(|(view, own)| Some((view.text.to_string(), place(own)?)));
    Ok(Some(LoadedView { columns: places.collect(), table }))
}

/// A common table expression as a target.
pub(crate) fn cte_source(
    binder: &mut Binder<'_>,
    name: &ast::ObjectName,
    alias: Option<&ast::Ident>,
    hints: &[ast::TableHint],
) -> Result<(Rel, Rc<Source>)> {
    let (name, alias, hints) = (name.clone(), alias.cloned(), hints.to_vec());
    let kind = ast::TableSourceKind::Named { name, alias, hints, sample: None, system_time: None };
    let item = ast::TableSource { kind, span: ast::Span::default() };
    let (rel, sources) = binder.expanding(|b| b.table_source(&item, None, &[]))?;
    Ok((rel, sources[0].clone()))
}

/// The table behind columns of a view or CTE, and their names there: of those that are named, or of all but the ones that the table
/// fills by itself.
pub(crate) fn behind(
    binder: &Binder<'_>,
    rel: &Rel,
    columns: &[SourceColumn],
    named: &[ast::Ident],
    view: &str,
) -> Result<(Arc<TableDef>, Vec<ast::Ident>)> {
    let mut tables = Vec::new();
    references(rel, &mut tables);
    let position = |name: &str| -> Result<&SourceColumn> {
        let found = columns.iter().find(|c| same_name(&c.name, name));
        found.ok_or_else(|| errors::invalid_column(name))
    };
    let shown: Vec<&SourceColumn> = if named.is_empty() {
        columns.iter().collect()
    } else {
        named.iter().map(|c| position(&c.text)).collect::<Result<_>>()?
    };
    let mut base = None;
    let mut names = Vec::new();
    for c in shown {
        let Some((get, i)) = binder.slots[c.slot as usize].origin else {
            plain_path(rel, base.unwrap_or(u32::MAX), view)?;
            return Err(if combines(rel) {
                errors::view_of_groups(view)
            } else {
                errors::view_not_updatable(view)
            });
        };
        if base.is_some_and(|b| b != get) {
            return Err(errors::view_not_updatable_multiple(view));
        }
        base = Some(get);
        let table = tables.iter().find(|(id, _)| *id == get).map(|(_, t)| t);
        let table = table.ok_or_else(|| errors::view_not_updatable(view))?;
        let column = &table.columns[i];
        let ours = column.identity.is_some() || column.ty == SqlType::RowVersion;
        if !(ours && named.is_empty()) {
            names.push(ast::Ident::new(column.name.as_str()));
        }
    }
    plain_path(rel, base.unwrap_or(u32::MAX), view)?;
    let table = tables.into_iter().find(|(id, _)| Some(*id) == base).map(|(_, t)| t);
    Ok((table.ok_or_else(|| errors::view_not_updatable(view))?, names))
}

/// Conditions on the new row, over the target's new slots: those of the view named, or of the views below it, that are
/// WITH CHECK OPTION.
pub(crate) fn check_option(
    binder: &mut Binder<'_>,
    named: &ast::TableRef,
    target: &Target,
) -> Result<Vec<Expr>> {
    let mut at = named.clone();
    while let Some(module) = view_of(binder, &at) {
        let options = keel_parser::ParseOptions { quoted_identifier: module.quoted_identifier };
        let batch = keel_parser::parse_batch(&module.text, options).map_err(|e| parse_error(*e))?;
        let Some(ast::StatementKind::CreateView(view)) = batch.statements.into_iter().next().map(|s| s.kind)
        else {
            break;
        };
        if view.check_option {
            // What policies hide is no business of the check.
            let bound = binder.unguarded(|b| b.view(&module))?;
            return new_row_conditions(binder, &bound.rel, target);
        }
        let ast::QueryBody::Select(select) = &view.query.select.query.body else { break };
        let [ast::TableSource { kind: ast::TableSourceKind::Named { name, .. }, .. }] =
            select.from.as_slice()
        else {
            break;
        };
        at = ast::TableRef::Named(name.clone());
    }
    Ok(Vec::new())
}

fn new_row_conditions(binder: &Binder<'_>, rel: &Rel, target: &Target) -> Result<Vec<Expr>> {
    let mut tables = Vec::new();
    references(rel, &mut tables);
    if tables.len() != 1 {
        return Err(errors::not_supported("WITH CHECK OPTION of a view of several tables"));
    }
    let mut conditions = Vec::new();
    let mut first = 0;
    collect(rel, &mut conditions, &mut first);
    if conditions.iter().any(Expr::has_subquery) {
        return Err(errors::not_supported("WITH CHECK OPTION of a view with a subquery"));
    }
    let map: HashMap<Slot, Expr> = (0..target.table.columns.len())
        .map(|i| (first + i as Slot, binder.read((target.new_first + i) as Slot)))
        .collect();
    conditions.iter_mut().for_each(|e| e.substitute(&map));
    Ok(conditions)
}

fn collect(rel: &Rel, conditions: &mut Vec<Expr>, first: &mut Slot) {
    match rel {
        Rel::Get(g) => *first = g.first_slot,
        Rel::Filter { predicates, .. } => conditions.extend(predicates.iter().cloned()),
        _ => {}
    }
    rel.inputs().into_iter().for_each(|r| collect(r, conditions, first));
}
