//! INSTEAD OF triggers: the rows a data change would make are computed by a query and handed to the trigger.

use super::Runner;
use crate::catalog::{Named, fold};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::session::info::{Occasion, TriggerRows};
use crate::session::scope::Scope;
use keel_parser::ast::{self, StatementKind};
use keel_query::catalog::{Catalog as _, ColumnDef, ModuleDef, TableDef};
use keel_query::context::DmlAction;
use keel_query::scope::NameParts;
use keel_query::{Plan, RowBuffer, RunInfo};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

/// A data change that an INSTEAD OF trigger takes over.
pub struct Instead {
    /// Gives the old values of each row, then the new ones, as far as the action has them.
    plan: Plan,
    action: DmlAction,
    table: Arc<TableDef>,
    entry: Arc<DatabaseEntry>,
    trigger: Arc<ModuleDef>,
    updated: Vec<i32>,
}

/// Name the rows of an INSERT are selected under.
const SOURCE: &str = "$source";

impl Runner<'_> {
    pub(super) fn run_instead(&mut self, instead: &Instead, vars: &mut [Value]) -> Result<RunInfo> {
        let mut rows = RowBuffer::default();
        instead.plan.run(&mut self.context_with(vars), &mut rows)?;
        let count = rows.rows.len() as u64;
        let width = instead.table.columns.len();
        let (mut inserted, mut deleted) = (Vec::new(), Vec::new());
        for mut row in rows.rows {
            match instead.action {
                DmlAction::Insert => inserted.push(row),
                DmlAction::Delete => deleted.push(row),
                DmlAction::Update => {
                    inserted.push(row.split_off(width));
                    deleted.push(row);
                }
            }
        }
        let types = instead.plan.columns().iter().map(|c| c.ty);
        let new = if instead.action == DmlAction::Update { width } else { 0 };
        let types: Vec<_> = types.skip(new).collect();
        for row in &mut inserted {
            // The trigger sees the columns' types, whatever the statement gave.
            for ((value, from), column) in row.iter_mut().zip(&types).zip(&instead.table.columns) {
                if *from != column.ty && !value.is_null() {
                    *value = crate::convert::assign(std::mem::take(value), *from, column.ty, self.dates())?;
                }
            }
        }
        let rows = TriggerRows {
            table: Arc::clone(&instead.table),
            inserted: Arc::new(inserted),
            deleted: Arc::new(deleted),
            updated: instead.updated.clone(),
        };
        let occasion = Occasion::InsteadOf(rows);
        crate::triggers::run(&mut self.context_with(vars), &instead.entry, &instead.trigger, occasion)?;
        Ok(RunInfo { rows: count, identity: None })
    }
}

/// The INSTEAD OF trigger that takes a statement over, with the query of its rows. `None`: the statement runs itself.
pub(super) fn instead_of(scope: &Scope<'_>, statement: &StatementKind) -> Result<Option<Instead>> {
    let (target, action) = match statement {
        StatementKind::Insert(i) => (&i.target, DmlAction::Insert),
        StatementKind::Update(u) => (&u.target, DmlAction::Update),
        StatementKind::Delete(d) => (&d.target, DmlAction::Delete),
        _ => return Ok(None),
    };
    let ast::TableRef::Named(named) = &target.table else { return Ok(None) };
    if named.is_temporary() {
        return Ok(None);
    }
    let Some(name) = super::target::direct(statement) else { return Ok(None) };
    let parts = NameParts {
        database: name.database.as_ref().map(|i| i.text.as_str()),
        schema: name.schema.as_ref().map(|i| i.text.as_str()),
        object: &name.name.text,
    };
    let Some((entry, found)) = scope.resolve(parts) else { return Ok(None) };
    let id = match &found {
        Named::Table(t) => t.object_id,
        Named::Module(m) => m.object_id,
        _ => return Ok(None),
    };
    let picture = scope.info.picture(&entry);
    let takes = |m: &&Arc<ModuleDef>| {
        m.trigger.is_some_and(|t| {
            let event = match action {
                DmlAction::Insert => t.on_insert,
                DmlAction::Update => t.on_update,
                DmlAction::Delete => t.on_delete,
            };
            t.instead_of && event && !t.disabled
        })
    };
    let triggers = picture.triggers(id);
    let Some(trigger) = triggers.iter().find(takes).cloned() else { return Ok(None) };
    // Inside the trigger the statement means itself.
    if crate::triggers::is_innermost(scope.info, &entry, trigger.object_id) {
        return Ok(None);
    }
    let outputs = match statement {
        StatementKind::Insert(i) => &i.output,
        StatementKind::Update(u) => &u.output,
        StatementKind::Delete(d) => &d.output,
        _ => return Ok(None),
    };
    if outputs.iter().any(|output| output.into.is_none()) {
        return Err(keel_query::errors::output_beside_triggers(&name.to_string()));
    }
    let table = match found {
        Named::Table(t) => t,
        _ => view_shape(scope, name, &entry, id)?,
    };
    let (select, updated) = rows_query(statement, named, &table)?;
    let plan = keel_query::compile_select(scope, &select)?;
    Ok(Some(Instead { plan, action, table, entry, trigger, updated }))
}

/// A view's columns as a table that holds nothing.
fn view_shape(
    scope: &Scope<'_>,
    name: &ast::ObjectName,
    entry: &DatabaseEntry,
    object_id: i32,
) -> Result<Arc<TableDef>> {
    let star = ast::SelectItem::Star { qualifier: None, span: name.span };
    let select = select_from(None, vec![star], vec![named_source(name)], None, name.span);
    let plan = keel_query::compile_select(scope, &select)?;
    let column = |(i, c): (usize, &keel_query::ColumnMeta)| ColumnDef::plain(i, &c.name, c.ty);
    let columns: Vec<ColumnDef> = plan.columns().iter().enumerate().map(column).collect();
    let (schema_id, name) = (crate::catalog::DBO, name.name.text.as_str());
    Ok(Arc::new(TableDef::plain(entry.id, object_id, schema_id, name, columns, 0)))
}

fn rows_query(
    statement_kind: &StatementKind,
    named: &ast::ObjectName,
    table: &TableDef,
) -> Result<(ast::SelectStatement, Vec<i32>)> {
    match statement_kind {
        StatementKind::Insert(i) => Ok((insert_rows(i, named, table)?, Vec::new())),
        StatementKind::Delete(d) => {
            let from = if d.from.is_empty() { vec![named_source(named)] } else { d.from.clone() };
            let items =
                table.columns.iter().map(|c| item(column(Some(named), &c.name, named.span))).collect();
            Ok((select_from(d.with.clone(), items, from, filter(d.filter.as_ref())?, named.span), Vec::new()))
        }
        StatementKind::Update(u) => {
            let from = if u.from.is_empty() { vec![named_source(named)] } else { u.from.clone() };
            let mut items: Vec<_> =
                table.columns.iter().map(|c| item(column(Some(named), &c.name, named.span))).collect();
            let mut updated = Vec::new();
            for c in &table.columns {
                match assigned(u, c, named)? {
                    Some(value) => {
                        updated.push(c.column_id);
                        items.push(item(value));
                    }
                    None => items.push(item(column(Some(named), &c.name, named.span))),
                }
            }
            let rows = select_from(u.with.clone(), items, from, filter(u.filter.as_ref())?, named.span);
            Ok((with_computed(rows, table, table.columns.len(), named.span)?, updated))
        }
        _ => Err(errors::not_supported("INSTEAD OF here")),
    }
}

fn filter(f: Option<&ast::DmlFilter>) -> Result<Option<ast::Expr>> {
    match f {
        None => Ok(None),
        Some(ast::DmlFilter::Where(e)) => Ok(Some(e.clone())),
        Some(ast::DmlFilter::CurrentOf(_)) => Err(errors::not_supported("WHERE CURRENT OF here")),
    }
}

/// The new value of a column, when the statement assigns it.
fn assigned(u: &ast::Update, c: &ColumnDef, named: &ast::ObjectName) -> Result<Option<ast::Expr>> {
    for set in &u.assignments {
        let ast::UpdateSet::Column { column: target, op, value } = set else {
            return Err(errors::not_supported("This SET under an INSTEAD OF trigger"));
        };
        if fold(&target.name.text) != fold(&c.name) {
            continue;
        }
        return Ok(Some(match op {
            ast::AssignOp::Set => value.clone(),
            ast::AssignOp::Compound(op) => {
                let left = Box::new(column(Some(named), &c.name, value.span));
                let kind = ast::ExprKind::Binary { op: *op, left, right: Box::new(value.clone()) };
                ast::Expr { kind, span: value.span }
            }
        }));
    }
    Ok(None)
}

fn insert_rows(i: &ast::Insert, named: &ast::ObjectName, table: &TableDef) -> Result<ast::SelectStatement> {
    let given: Vec<ast::Ident> = if i.columns.is_empty() {
        let settable = |c: &&ColumnDef| c.identity.is_none() && c.computed.is_none();
        table.columns.iter().filter(settable).map(|c| ast::Ident::new(c.name.as_str())).collect()
    } else {
        i.columns.clone()
    };
    let defaults = matches!(i.source, ast::InsertSource::DefaultValues);
    let given = if defaults { Vec::new() } else { given };
    let alias = Some(ast::Ident::new(SOURCE));
    let kind = match &i.source {
        ast::InsertSource::DefaultValues => None,
        ast::InsertSource::Values(rows) => {
            Some(ast::TableSourceKind::Values { rows: rows.clone(), alias, columns: given.clone() })
        }
        ast::InsertSource::Query(query) => {
            Some(ast::TableSourceKind::Derived { query: query.clone(), alias, columns: given.clone() })
        }
        _ => return Err(errors::not_supported("This INSERT under an INSTEAD OF trigger")),
    };
    let source = kind.map(|kind| ast::TableSource { kind, span: named.span });
    let mut items = Vec::with_capacity(table.columns.len());
    for c in &table.columns {
        let is_given = given.iter().any(|g| fold(&g.text) == fold(&c.name));
        items.push(item(match &c.default {
            _ if is_given => column(None, &c.name, named.span),
            Some(default) => keel_parser::parse_expr(&default.text).map_err(super::parse_error)?,
            // It has no number before the row is stored.
            None if c.identity.is_some() => keel_parser::parse_expr("0").map_err(super::parse_error)?,
            None => ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::Null), span: named.span },
        }));
    }
    let rows = select_from(i.with.clone(), items, source.into_iter().collect(), None, named.span);
    with_computed(rows, table, 0, named.span)
}

/// The rows with computed columns of the new values. `rows` has so many `old` ones in front of those.
fn with_computed(
    rows: ast::SelectStatement,
    table: &TableDef,
    old: usize,
    span: ast::Span,
) -> Result<ast::SelectStatement> {
    if table.columns.iter().all(|c| c.computed.is_none()) {
        return Ok(rows);
    }
    let old: Vec<String> = (0..old).map(|n| format!("$old{n}")).collect();
    let new = table.columns.iter().map(|c| c.name.as_str());
    let columns: Vec<_> = old.iter().map(String::as_str).chain(new).map(ast::Ident::new).collect();
    let mut items: Vec<_> = old.iter().map(|name| item(column(None, name, span))).collect();
    for c in &table.columns {
        items.push(item(match &c.computed {
            Some(def) => keel_parser::parse_expr(&def.text).map_err(super::parse_error)?,
            None => column(None, &c.name, span),
        }));
    }
    let ast::SelectStatement { with, query, .. } = rows;
    let kind = ast::TableSourceKind::Derived {
        query: Box::new(query),
        alias: Some(ast::Ident::new(SOURCE)),
        columns,
    };
    Ok(select_from(with, items, vec![ast::TableSource { kind, span }], None, span))
}

fn item(expr: ast::Expr) -> ast::SelectItem {
    ast::SelectItem::Expr { expr, alias: None }
}

fn column(table: Option<&ast::ObjectName>, name: &str, span: ast::Span) -> ast::Expr {
    let qualifier = table.map(|t| Box::new(ast::ObjectName::simple(t.name.clone())));
    let column = ast::ColumnRef { qualifier, name: ast::Ident { quoted: true, ..ast::Ident::new(name) } };
    ast::Expr { kind: ast::ExprKind::Column(column), span }
}

fn named_source(name: &ast::ObjectName) -> ast::TableSource {
    source_of(name, None, name.span)
}

/// A table in FROM.
pub(crate) fn source_of(
    name: &ast::ObjectName,
    alias: Option<ast::Ident>,
    span: ast::Span,
) -> ast::TableSource {
    let (name, hints) = (name.clone(), Vec::new());
    let kind = ast::TableSourceKind::Named { name, alias, hints, sample: None, system_time: None };
    ast::TableSource { kind, span }
}

/// `WITH … SELECT items FROM … WHERE …`
pub(crate) fn select_from(
    with: Option<ast::With>,
    items: Vec<ast::SelectItem>,
    from: Vec<ast::TableSource>,
    filter: Option<ast::Expr>,
    span: ast::Span,
) -> ast::SelectStatement {
    let select = ast::Select {
        distinct: false,
        top: None,
        items,
        into: None,
        from,
        filter,
        group_by: None,
        having: None,
        windows: Vec::new(),
        span,
    };
    let body = ast::QueryBody::Select(Box::new(select));
    let query = ast::Query { body, order_by: Vec::new(), offset: None, for_clause: None, span };
    ast::SelectStatement { with, query, options: Vec::new() }
}
