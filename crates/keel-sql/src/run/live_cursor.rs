//! Cursors that show what happened since they were opened: which do, and how a row is read again.
//!
//! A keyset cursor keeps its rows and shows their values of now; a row that is gone is a hole. A dynamic one that cannot [walk](super::walking)
//! passes over holes, and over rows that do not belong to the query any more, and does not see rows that came later.

use super::cursor::{add_keys, all_of, column, equal, exposed_name, expr, select_unit};
use super::{Frame, Runner};
use crate::api_cursor::concurrency;
use crate::cursor::{Cursor, CursorKey, CursorQuery, Rows, Sensitivity, Walk, scrollable};
use crate::program::{Program, Unit, VariableDef};
use keel_parser::ast;
use keel_query::bind::LOCATOR;
use keel_query::catalog::{IndexDef, IndexKind, TableDef};
use keel_query::scope::BindScope as _;
use keel_types::cast;
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

impl Runner<'_> {
    /// What a cursor that T-SQL declares becomes: what was asked for, as far as its query and its table allow it. One that
    /// shows rows as they were is read-only.
    pub(super) fn kind_of_declared(
        &self,
        program: &Program,
        frame: &Frame,
        definition: &ast::CursorDefinition,
        keys: &[CursorKey],
    ) -> (Sensitivity, Option<Walk>) {
        use ast::CursorKind as K;
        let read_only =
            definition.read_only || matches!(definition.concurrency, Some(ast::CursorConcurrency::ReadOnly));
        let walk = || self.walk_of(program, frame, definition, keys);
        let forward = !definition.insensitive && !scrollable(definition);
        let fast = definition.kind == Some(K::FastForward) || definition.kind.is_none() && read_only;
        if forward
            && fast
            && let Some(walk) = walk()
        {
            return (Sensitivity::Static, Some(walk.reading_ahead()));
        }
        let asked = match definition.kind {
            _ if definition.insensitive || keys.is_empty() => Sensitivity::Static,
            Some(K::Static | K::FastForward) => Sensitivity::Static,
            Some(K::Keyset) => Sensitivity::Keyset,
            Some(K::Dynamic) => Sensitivity::Dynamic,
            None if scrollable(definition) => Sensitivity::Keyset,
            // Forward only and read-only is FAST_FORWARD.
            None if read_only => Sensitivity::Static,
            None => Sensitivity::Dynamic,
        };
        let table = self.table_of(program, frame, definition);
        let ordered = &definition.select.query.order_by;
        let sorted = !table.as_ref().is_some_and(|t| ordered.is_empty() || delivers(t, ordered));
        let capped = match asked {
            Sensitivity::Dynamic if is_limited(definition) || sorted => Sensitivity::Keyset,
            other => other,
        };
        let placed = table.is_some_and(|t| t.clustered().kind != IndexKind::Heap);
        let found_by_key = placed || keys.iter().all(|k| k.name != LOCATOR);
        match capped {
            Sensitivity::Keyset if !found_by_key => (Sensitivity::Static, None),
            Sensitivity::Dynamic => (Sensitivity::Dynamic, walk()),
            other => (other, None),
        }
    }

    /// How a cursor with these keys finds its rows when they are fetched, if its query can be read from any place of its table on.
    pub(super) fn walk_of(
        &self,
        program: &Program,
        frame: &Frame,
        definition: &ast::CursorDefinition,
        keys: &[CursorKey],
    ) -> Option<Walk> {
        if keys.is_empty() || is_limited(definition) {
            return None;
        }
        let ast::QueryBody::Select(body) = &definition.select.query.body else { return None };
        let some_versions = |kind: &ast::TableSourceKind| matches!(kind, ast::TableSourceKind::Named { sample, system_time, .. } if sample.is_some() || system_time.is_some());
        if some_versions(&body.from.first()?.kind) {
            return None;
        }
        let table = self.table_of(program, frame, definition)?;
        let wanted = wanted_order(&table, &definition.select.query.order_by)?;
        leads(table.clustered().key.iter().map(|k| (k.column_id, k.descending)), &wanted).map(Walk::new)
    }

    /// The stored table that a cursor's query reads first.
    pub(super) fn table_of(
        &self,
        program: &Program,
        frame: &Frame,
        definition: &ast::CursorDefinition,
    ) -> Option<Arc<TableDef>> {
        let ast::QueryBody::Select(body) = &definition.select.query.body else { return None };
        let scope = self.scope(program, frame);
        let ctes = definition.select.with.iter().flat_map(|with| &with.ctes);
        match &body.from.first()?.kind {
            ast::TableSourceKind::Named { name, .. } if super::target::cte(name, ctes).is_some() => None,
            ast::TableSourceKind::Named { name, .. } => crate::ddl::find_table(&scope, name),
            ast::TableSourceKind::Variable { variable, .. } => scope.table_variable(&variable.name),
            _ => None,
        }
    }

    /// Reads a row anew if the cursor's kind does that; false when it is no longer there.
    pub(super) fn reread(&mut self, id: u64, at: usize) -> Result<bool> {
        let (cursor_vars, key) = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the caller has found it");
            if c.sensitivity == Sensitivity::Static || c.key_columns.is_empty() {
                return Ok(true);
            }
            (c.vars.clone(), c.key_of(&c.rows[at].values).to_vec())
        };
        let CursorQuery { program, compiled } = self.cursor_query(id, Rows::One)?;
        let mut vars = cursor_vars;
        vars.resize(program.variables.len() - key.len(), Value::Null);
        vars.extend(key);
        let rows = self.run_cursor_query(&compiled, &mut vars)?;
        let mut cursors = self.info.cursors.borrow_mut();
        let c = cursors.get_mut(id).expect("nothing removes it while it is fetched from");
        let Some(new) = rows.into_iter().next() else { return Ok(false) };
        for (to, value) in c.rows[at].values.iter_mut().zip(new) {
            *to = value;
        }
        Ok(true)
    }
}

/// The cursor's program with the key's variables `@$key0`… behind its own.
pub(super) fn with_key(program: &Program, keys: &[CursorKey]) -> Arc<Program> {
    let mut program = program.bare_copy();
    for (n, key) in keys.iter().enumerate() {
        program.variables.push(VariableDef { name: format!("@$key{n}").into(), ty: key.ty });
    }
    Arc::new(program)
}

/// The cursor's query for the one row with the key `@$key0`…
pub(super) fn row_query(c: &Cursor) -> Option<Unit> {
    let mut select = c.definition.select.clone();
    let span = select.query.span;
    select.query.order_by.clear();
    select.query.offset = None;
    let ast::QueryBody::Select(body) = &mut select.query.body else { return None };
    let qualifier = exposed_name(body)?;
    let term = |(n, key): (usize, &CursorKey)| {
        let column = column(Some(&qualifier), &key.name, span);
        if key.nullable { same(column, n, span) } else { equal(column, n, span) }
    };
    let mut terms: Vec<ast::Expr> = c.finding_keys().iter().enumerate().map(term).collect();
    add_keys(body, &qualifier, &c.key_columns, span);
    let belongs = body.filter.take();
    terms.extend(belongs.filter(|_| c.sensitivity == Sensitivity::Dynamic));
    body.filter = Some(all_of(terms, span));
    body.top = None;
    lock_rows(c, body);
    Some(select_unit(select))
}

/// Reads rows with the locks of a cursor with SCROLL_LOCKS.
pub(super) fn lock_rows(c: &Cursor, body: &mut ast::Select) {
    let locks = c.api.as_ref().is_some_and(|api| api.agreed.concurrency == concurrency::SCROLL_LOCKS);
    if let Some(ast::TableSourceKind::Named { hints, .. }) = body.from.first_mut().map(|f| &mut f.kind)
        && locks
    {
        hints.push(ast::TableHint::UpdLock);
    }
}

/// `left IS NOT DISTINCT FROM @$key<n>`
fn same(left: ast::Expr, n: usize, span: ast::Span) -> ast::Expr {
    let right = expr(ast::ExprKind::Variable(format!("@$key{n}").into()), span);
    let (left, right) = (Box::new(left), Box::new(right));
    expr(ast::ExprKind::IsDistinctFrom { left, right, negated: true }, span)
}

/// Whether a query gives some of its rows only, counted from its first one.
fn is_limited(definition: &ast::CursorDefinition) -> bool {
    matches!(&definition.select.query.body, ast::QueryBody::Select(s) if s.top.is_some())
        || definition.select.query.offset.is_some()
}

/// A column's id, and whether it goes down.
type Ordered = (i32, bool);

/// An order that is by nothing but columns of a table.
fn wanted_order(table: &TableDef, ordered: &[ast::OrderItem]) -> Option<Vec<Ordered>> {
    let plain = |item: &ast::OrderItem| match &item.expr.kind {
        ast::ExprKind::Column(c) => {
            let found = table.columns.iter().find(|t| crate::views::same(&t.name, &c.name.text));
            found.map(|t| (t.column_id, item.descending))
        }
        _ => None,
    };
    ordered.iter().map(plain).collect()
}

/// Whether rows that come in the order of these keys come in the wanted one when they are read forwards (false) or backwards (true).
fn leads(keys: impl Iterator<Item = Ordered>, wanted: &[Ordered]) -> Option<bool> {
    let keys: Vec<_> = keys.take(wanted.len()).collect();
    let reads = |backward: bool| {
        wanted.len() == keys.len()
            && wanted.iter().zip(&keys).all(|(w, k)| w.0 == k.0 && (w.1 != k.1) == backward)
    };
    [false, true].into_iter().find(|backward| reads(*backward))
}

/// Whether rows come out of an index in this order, or out of one that is read backwards.
fn delivers(table: &TableDef, ordered: &[ast::OrderItem]) -> bool {
    let Some(wanted) = wanted_order(table, ordered) else { return false };
    let in_order = |index: &IndexDef| {
        let keys = index.key.iter().chain(&table.clustered().key);
        leads(keys.map(|k| (k.column_id, k.descending)), &wanted).is_some()
    };
    table.indexes.iter().filter(|i| !i.disabled && i.filter.is_none()).any(in_order)
}

/// What a hole shows in a column: NULL, or where there is no NULL the least of its type, texts and binaries at full length.
pub(super) fn hole(ty: SqlType, nullable: bool) -> Value {
    if nullable {
        return Value::Null;
    }
    let length = match ty.length() {
        Some(Length::Limited(n)) => usize::from(n),
        _ => 0,
    };
    let of = |from: SqlType, value: Value| {
        cast::explicit(from, ty).and_then(|c| c.apply(&value)).unwrap_or(Value::Null)
    };
    match ty {
        _ if ty.is_numeric() => of(SqlType::Int, Value::Int(0)),
        _ if ty.is_string() => Value::Str(" ".repeat(length).into()),
        _ if ty.is_binary() => Value::bytes(vec![0; length]),
        SqlType::UniqueIdentifier => of(SqlType::Binary(16), Value::bytes(vec![0; 16])),
        SqlType::Date | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_) => {
            of(SqlType::VarChar(Length::Limited(10)), Value::str("0001-01-01"))
        }
        _ => of(SqlType::VarChar(Length::Limited(1)), Value::str("")),
    }
}
