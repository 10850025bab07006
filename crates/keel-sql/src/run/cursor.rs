//! DECLARE CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE, WHERE CURRENT OF.

use super::live_cursor::hole;
use super::{Frame, Runner};
use crate::cursor::{Cursor, CursorKey, CursorQuery, CursorRow, Rows, Sensitivity, Walk, local_level};
use crate::errors;
use crate::program::{
    CompiledCode, CursorName, CursorOp, FetchDirection, FetchOp, Positioned, Program, Unit, UnitSource,
    VariableDef,
};
use crate::run::query::column_meta;
use crate::sink::command;
use keel_parser::ast;
use keel_query::bind::LOCATOR;
use keel_query::bind::function::aggregate_function;
use keel_query::catalog::{IndexDef, TableDef};
use keel_query::scope::BindScope as _;
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

/// `@@FETCH_STATUS` where there is no row.
const NO_ROW: i32 = -1;
/// `@@FETCH_STATUS` of a row that is gone.
const HOLE: i32 = -2;

impl Runner<'_> {
    fn cursor_id(&self, frame: &Frame, name: &CursorName) -> Result<u64> {
        match name {
            CursorName::Named { global, name } => {
                let found = self.info.cursors.borrow().find(name, frame.level, *global);
                found.ok_or_else(|| errors::no_cursor(name))
            }
            CursorName::Variable(index) => {
                // Another variable may have been the one that gave it back.
                let is_there = |id: &u64| self.info.cursors.borrow().get(*id).is_some();
                let assigned = frame.cursors[*index].filter(is_there);
                assigned.ok_or_else(|| errors::cursor_unallocated(self.info.cursor_variable_name(*index)))
            }
        }
    }

    pub(super) fn declare_cursor(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        op: &CursorOp,
    ) -> Result<()> {
        self.info.begin_statement();
        let keys = self.hidden_keys(program, frame, &op.definition);
        let kind = self.kind_of_declared(program, frame, &op.definition, &keys);
        let mut cursor = self.new_cursor((program, frame), (&op.definition, &op.query), keys, kind)?;
        cursor.read_only |= cursor.sensitivity == Sensitivity::Static;
        match &op.name {
            CursorName::Named { global, name } => {
                cursor.name = name.clone();
                cursor.level = if *global { 0 } else { local_level(frame.level) };
            }
            CursorName::Variable(_) => cursor.level = local_level(frame.level),
        }
        let mut cursors = self.info.cursors.borrow_mut();
        let id = cursors.declare(cursor)?;
        if let CursorName::Variable(index) = &op.name {
            self.info.assign_cursor(*index, Some(id));
            frame.cursors[*index] = Some(id);
        }
        drop(cursors);
        self.succeed_plainly();
        Ok(())
    }

    /// A closed cursor of a kind, with its [keys](Self::hidden_keys), without a name, which belongs to the session.
    pub(super) fn new_cursor(
        &mut self,
        (program, frame): (&Arc<Program>, &Frame),
        (definition, query): (&ast::CursorDefinition, &Unit),
        mut key_columns: Vec<CursorKey>,
        (sensitivity, walk): (Sensitivity, Option<Walk>),
    ) -> Result<Cursor> {
        if walk.is_some() && key_columns.iter().all(|k| k.name != LOCATOR) {
            key_columns.push(place());
        }
        let compiled = match keyed_query(definition, &key_columns) {
            Some(unit) => self.unit_once(program, frame, &unit)?,
            None => self.unit(program, frame, query)?.share(),
        };
        let CompiledCode::Plan(plan) = &compiled.code else { unreachable!("a query compiles to a plan") };
        let shown = &plan.columns()[..plan.columns().len() - key_columns.len()];
        let source = |c: &keel_query::ColumnMeta| c.source.as_ref().map(|s| s.column.as_str().into());
        Ok(Cursor {
            name: smol_str::SmolStr::default(),
            level: 0,
            scroll: crate::cursor::scrollable(definition),
            // Variables in the query have the values they have now.
            vars: frame.vars.clone(),
            columns: shown.iter().map(column_meta).collect(),
            sources: shown.iter().map(source).collect(),
            key_columns,
            rows: Vec::new(),
            position: 0,
            open: false,
            read_only: definition.read_only
                || matches!(definition.concurrency, Some(ast::CursorConcurrency::ReadOnly)),
            program: Arc::clone(program),
            tables: frame.tables.clone(),
            definition: definition.clone(),
            api: None,
            sensitivity,
            walk,
            reread: None,
            query: CursorQuery { program: Arc::clone(program), compiled },
        })
    }

    pub(super) fn open_cursor(&mut self, frame: &mut Frame, name: &CursorName) -> Result<()> {
        self.info.begin_statement();
        let id = self.cursor_id(frame, name)?;
        self.fill_cursor(id)?;
        self.succeed_plainly();
        Ok(())
    }

    /// Runs a cursor's query and keeps its rows.
    pub(super) fn fill_cursor(&mut self, id: u64) -> Result<()> {
        let (mut vars, walks) = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the id was just found");
            if c.open {
                return Err(errors::cursor_open());
            }
            (c.vars.clone(), c.walk.is_some())
        };
        if walks {
            let mut cursors = self.info.cursors.borrow_mut();
            cursors.get_mut(id).expect("the id was just found").start();
            cursors.last_count = -1;
            return Ok(());
        }
        let CursorQuery { compiled, .. } = self.cursor_query(id, Rows::All)?;
        let rows = self.run_cursor_query(&compiled, &mut vars)?;
        self.statement_succeeded()?;
        let count = rows.len() as u64;
        {
            let mut cursors = self.info.cursors.borrow_mut();
            let c = cursors.get_mut(id).expect("the id was just found");
            c.start();
            c.rows = rows.into_iter().map(CursorRow::new).collect();
            let known = c.sensitivity != Sensitivity::Dynamic;
            cursors.last_count = if known { count as i64 } else { -1 };
        }
        Ok(())
    }

    pub(super) fn close_cursor(&mut self, frame: &mut Frame, name: &CursorName) -> Result<()> {
        let id = self.cursor_id(frame, name)?;
        let mut cursors = self.info.cursors.borrow_mut();
        let c = cursors.get_mut(id).expect("the id was just found");
        if !c.open {
            return Err(errors::cursor_not_open());
        }
        c.open = false;
        c.rows = Vec::new();
        drop(cursors);
        self.succeed_plainly();
        Ok(())
    }

    pub(super) fn deallocate_cursor(&mut self, frame: &mut Frame, name: &CursorName) -> Result<()> {
        let id = self.cursor_id(frame, name)?;
        let named = match name {
            CursorName::Variable(index) => {
                self.info.assign_cursor(*index, None);
                frame.cursors[*index] = None;
                self.info.cursors.borrow().get(id).is_some_and(|c| !c.name.is_empty())
            }
            CursorName::Named { .. } => false,
        };
        // A variable gives back no more than its own hold on it.
        let is_variable = matches!(name, CursorName::Variable(_));
        if !(named || is_variable && self.info.is_assigned(id)) {
            self.info.cursors.borrow_mut().remove(id);
        }
        self.succeed_plainly();
        Ok(())
    }

    pub(super) fn copy_cursor(&mut self, frame: &mut Frame, to: usize, from: &CursorName) -> Result<()> {
        let id = self.cursor_id(frame, from)?;
        self.info.assign_cursor(to, Some(id));
        frame.cursors[to] = Some(id);
        self.succeed(0);
        Ok(())
    }

    pub(super) fn fetch(&mut self, program: &Arc<Program>, frame: &mut Frame, op: &FetchOp) -> Result<()> {
        self.info.begin_statement();
        let id = self.cursor_id(frame, &op.cursor)?;
        let offset = |runner: &mut Self, frame: &mut Frame, unit| -> Result<i64> {
            match runner.eval(program, frame, unit)? {
                Value::Int(n) => Ok(n),
                _ => Ok(0),
            }
        };
        let (name, argument) = match &op.direction {
            FetchDirection::Next => ("Next", 0),
            FetchDirection::Prior => ("Prior", 0),
            FetchDirection::First => ("First", 0),
            FetchDirection::Last => ("Last", 0),
            FetchDirection::Absolute(unit) => ("Absolute", offset(self, frame, unit)?),
            FetchDirection::Relative(unit) => ("Relative", offset(self, frame, unit)?),
        };
        let columns = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the id was just found");
            if !c.open {
                return Err(errors::cursor_not_open());
            }
            if c.sensitivity == Sensitivity::Dynamic && name == "Absolute" {
                return Err(errors::fetch_dynamic(name));
            }
            if !c.scroll && name != "Next" {
                return Err(errors::fetch_forward_only(name.to_lowercase()));
            }
            if !op.into.is_empty() && op.into.len() != c.columns.len() {
                return Err(errors::fetch_variables());
            }
            if op.into.is_empty() { c.columns.clone() } else { Vec::new() }
        };
        let (row, status) = self.row_there(id, &op.direction, argument)?;
        if op.into.is_empty() {
            self.sink.columns(&columns);
            if let Some(row) = &row {
                self.sink.row(&row[..columns.len()]).map_err(|_| errors::cancelled())?;
            }
        } else if let Some(row) = row {
            let types: Vec<_> = {
                let cursors = self.info.cursors.borrow();
                cursors.get(id).expect("still there").columns.iter().map(|c| c.ty).collect()
            };
            for ((slot, value), from) in op.into.iter().zip(row).zip(types) {
                let to = program.variables[*slot as usize].ty;
                frame.set(*slot, crate::convert::assign(value, from, to, self.dates())?);
            }
        }
        let found = status != NO_ROW;
        self.info.fetch_status.set(status);
        self.succeed(u64::from(found));
        match op.into.is_empty() {
            true => self.done(Some(u64::from(found)), command::SELECT),
            false => self.done(None, command::OTHER),
        }
        Ok(())
    }

    /// Moves a cursor and reads the row there, with `@@FETCH_STATUS`.
    fn row_there(
        &mut self,
        id: u64,
        direction: &FetchDirection,
        argument: i64,
    ) -> Result<(Option<Vec<Value>>, i32)> {
        let walks = self.info.cursors.borrow().get(id).and_then(|c| Some(c.walk.as_ref()?.ahead));
        if let Some(ahead) = walks {
            let row = self.walk_to(id, direction.as_fetch(argument), ahead)?;
            let status = if row.is_some() { 0 } else { NO_ROW };
            return Ok((row, status));
        }
        let mut step = (direction, argument);
        loop {
            let (at, dynamic) = {
                let mut cursors = self.info.cursors.borrow_mut();
                let c = cursors.get_mut(id).expect("the caller has found it");
                if c.move_to(step.0, step.1).is_none() {
                    return Ok((None, NO_ROW));
                }
                (c.position - 1, c.sensitivity == Sensitivity::Dynamic)
            };
            let there = self.reread(id, at)?;
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the caller has found it");
            match (there, dynamic) {
                (true, _) => return Ok((Some(c.rows[at].values.clone()), 0)),
                (false, false) => {
                    let holes = c.columns.iter().map(|c| hole(c.ty, c.nullable)).collect();
                    return Ok((Some(holes), HOLE));
                }
                (false, true) => step = (beyond(direction, argument), 0),
            }
        }
    }

    /// UPDATE or DELETE … WHERE CURRENT OF: by the values of the row's key columns, which the cursor selected too.
    pub(super) fn positioned(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        op: &Positioned,
    ) -> std::result::Result<(), super::Halt> {
        self.info.begin_statement();
        let id = self.cursor_id(frame, &op.cursor)?;
        let (read_only, open, row) = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the id was just found");
            let row = c.position.checked_sub(1).and_then(|i| c.rows.get(i)).map(|r| r.values.clone());
            (c.read_only, c.open, row)
        };
        if !open {
            return Err(errors::cursor_not_open().into());
        }
        if read_only {
            return Err(errors::cursor_read_only().into());
        }
        let Some(row) = row else { return Err(errors::cursor_no_row().into()) };
        self.change_row(program, frame, &op.statement, op.command, (id, &row), false)?;
        match self.info.row_count.get() {
            0 => Err(errors::cursor_row_gone().into()),
            _ => Ok(()),
        }
    }

    /// Runs a data change on one row of a cursor: that with the key of `row`, and, when `unchanged` is asked for, with
    /// its other values as well.
    pub(super) fn change_row(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        statement: &ast::Statement,
        command: u16,
        (id, row): (u64, &[Value]),
        unchanged: bool,
    ) -> std::result::Result<(), super::Halt> {
        let (statement, key) = self.keyed_statement(program, frame, statement, (id, row), unchanged)?;
        let unit = Unit::new(UnitSource::Statement(statement));
        let mut with_key = (**program).bare_copy();
        let mut inner = Frame::new(program, frame.level);
        inner.vars.clone_from(&frame.vars);
        std::mem::swap(&mut inner.tables, &mut frame.tables);
        for (n, (value, ty)) in key.into_iter().enumerate() {
            with_key.variables.push(VariableDef { name: format!("@$key{n}").into(), ty });
            inner.vars.push(value);
        }
        let outcome = self.dml(&Arc::new(with_key), &mut inner, &unit, command);
        std::mem::swap(&mut inner.tables, &mut frame.tables);
        inner.vars.truncate(frame.vars.len());
        frame.vars = inner.vars;
        outcome
    }

    /// The statement with `WHERE key = @$key…`, and the key's values.
    fn keyed_statement(
        &self,
        program: &Program,
        frame: &Frame,
        statement: &ast::Statement,
        (id, row): (u64, &[Value]),
        unchanged: bool,
    ) -> Result<(ast::Statement, Vec<(Value, SqlType)>)> {
        let span = statement.span;
        let table = self.changed_table(program, frame, statement)?;
        let mut statement = statement.clone();
        let cursors = self.info.cursors.borrow();
        let cursor = cursors.get(id).expect("the id was just found");
        let mut terms = Vec::new();
        let mut key = Vec::new();
        for key_column in key_of(&table) {
            // The hidden columns stand behind the declared ones; a column the query selects itself will do as well.
            let at = cursor
                .key_columns
                .iter()
                .position(|c| c.name == key_column.name)
                .map(|i| cursor.columns.len() + i);
            let at = at.or_else(|| {
                cursor.columns.iter().position(|c| crate::views::same(&c.name, &key_column.name))
            });
            let Some(value) = at.and_then(|i| row.get(i)) else {
                return Err(errors::cursor_read_only());
            };
            if value.is_null() {
                terms.push(is_null(&key_column.name, span));
            } else {
                terms.push(equals(&key_column.name, key.len(), span));
                key.push((value.clone(), key_column.ty));
            }
        }
        if unchanged {
            for ((meta, source), value) in cursor.columns.iter().zip(&cursor.sources).zip(row) {
                let Some(name) = source.as_ref().filter(|_| comparable(meta.ty)) else { continue };
                if value.is_null() {
                    terms.push(is_null(name, span));
                } else {
                    terms.push(equals(name, key.len(), span));
                    key.push((value.clone(), meta.ty));
                }
            }
        }
        let filter = match &mut statement.kind {
            ast::StatementKind::Update(u) => &mut u.filter,
            ast::StatementKind::Delete(d) => &mut d.filter,
            _ => unreachable!("its table was just found"),
        };
        *filter = Some(ast::DmlFilter::Where(all_of(terms, span)));
        Ok((statement, key))
    }

    /// The table that a positioned change names, also by an alias.
    fn changed_table(
        &self,
        program: &Program,
        frame: &Frame,
        statement: &ast::Statement,
    ) -> Result<Arc<TableDef>> {
        let scope = self.scope(program, frame);
        let target = match &statement.kind {
            ast::StatementKind::Update(u) => &u.target.table,
            ast::StatementKind::Delete(d) => &d.target.table,
            _ => return Err(errors::not_supported("WHERE CURRENT OF here")),
        };
        match target {
            ast::TableRef::Named(name) => {
                let name = super::target::direct(&statement.kind).unwrap_or(name);
                crate::ddl::find_table(&scope, name).ok_or_else(|| errors::invalid_object_name(name))
            }
            ast::TableRef::Variable(variable) => scope
                .table_variable(&variable.name)
                .ok_or_else(|| errors::undeclared_table_variable(&variable.name)),
        }
    }

    /// The key columns that an updatable cursor selects besides its own: those of the single table it reads.
    pub(super) fn hidden_keys(
        &self,
        program: &Program,
        frame: &Frame,
        definition: &ast::CursorDefinition,
    ) -> Vec<CursorKey> {
        let ast::QueryBody::Select(select) = &definition.select.query.body else { return Vec::new() };
        let plain = !select.distinct
            && select.group_by.is_none()
            && select.having.is_none()
            && select.from.len() == 1;
        let aggregates = select
            .items
            .iter()
            .any(|i| matches!(i, ast::SelectItem::Expr { expr, .. } if is_of_several_rows(expr)));
        if !plain || aggregates || definition.insensitive || definition.select.query.for_clause.is_some() {
            return Vec::new();
        }
        self.table_of(program, frame, definition).map(|table| key_of(&table)).unwrap_or_default()
    }
}

pub(super) fn expr(kind: ast::ExprKind, span: ast::Span) -> ast::Expr {
    ast::Expr { kind, span }
}

/// Which way a dynamic cursor goes on from a row that is gone.
fn beyond(direction: &FetchDirection, argument: i64) -> &'static FetchDirection {
    let back = match direction {
        FetchDirection::Prior | FetchDirection::Last => true,
        FetchDirection::Relative(_) => argument < 0,
        _ => false,
    };
    if back { &FetchDirection::Prior } else { &FetchDirection::Next }
}

/// By what a table's rows are found again: the columns of a unique index, best one without NULLs; their locator when there is none.
fn key_of(table: &TableDef) -> Vec<CursorKey> {
    let key = |index: &IndexDef| -> Vec<CursorKey> {
        let columns =
            index.key.iter().filter_map(|k| table.columns.iter().find(|c| c.column_id == k.column_id));
        columns.map(|c| CursorKey { name: c.name.clone(), ty: c.ty, nullable: c.nullable }).collect()
    };
    let unique = |i: &&IndexDef| i.unique && i.filter.is_none() && !i.disabled && !i.key.is_empty();
    // What a mask hides is masked in the cursor's rows too, and finds nothing again.
    let masked = |i: &&IndexDef| {
        let is = |id| table.columns.iter().any(|c| c.column_id == id && c.mask.is_some());
        i.key.iter().any(|k| is(k.column_id))
    };
    let keys = table.indexes.iter().filter(unique).filter(|i| !masked(i)).map(key);
    keys.min_by_key(|key| key.iter().any(|c| c.nullable)).unwrap_or_else(|| vec![place()])
}

/// Where a row is in its table.
fn place() -> CursorKey {
    CursorKey { name: LOCATOR.to_owned(), ty: SqlType::VarBinary(Length::Max), nullable: false }
}

/// Whether an expression looks at other rows of its query: aggregates and windowed functions.
fn is_of_several_rows(e: &ast::Expr) -> bool {
    let own = |call: &ast::FunctionCall| {
        call.over.is_some()
            || call.name.schema.is_none() && aggregate_function(&call.name.name.text).is_some()
    };
    matches!(&e.kind, ast::ExprKind::Function(call) if own(call))
        || e.children().into_iter().any(is_of_several_rows)
}

/// The cursor's query with its hidden key columns, qualified by the table's exposed name.
pub(super) fn keyed_query(definition: &ast::CursorDefinition, keys: &[CursorKey]) -> Option<Unit> {
    if keys.is_empty() {
        return None;
    }
    let mut select = definition.select.clone();
    let span = select.query.span;
    let ast::QueryBody::Select(body) = &mut select.query.body else { return None };
    let qualifier = exposed_name(body)?;
    add_keys(body, &qualifier, keys, span);
    Some(select_unit(select))
}

/// Puts key columns behind those of a query.
pub(super) fn add_keys(
    body: &mut ast::Select,
    qualifier: &ast::ObjectName,
    keys: &[CursorKey],
    span: ast::Span,
) {
    let items = keys.iter().map(|key| column(Some(qualifier), &key.name, span));
    body.items.extend(items.map(|expr| ast::SelectItem::Expr { expr, alias: None }));
}

/// A query that no program has.
pub(super) fn select_unit(select: ast::SelectStatement) -> Unit {
    let span = select.query.span;
    Unit::new(UnitSource::Statement(ast::Statement {
        kind: ast::StatementKind::Select(Box::new(select)),
        span,
    }))
}

pub(super) fn exposed_name(body: &ast::Select) -> Option<ast::ObjectName> {
    let (alias, own) = match &body.from.first()?.kind {
        ast::TableSourceKind::Named { name, alias, .. } => (alias, name.name.clone()),
        ast::TableSourceKind::Variable { variable, alias, .. } => {
            (alias, ast::Ident::new(variable.name.clone()))
        }
        _ => return None,
    };
    Some(ast::ObjectName::simple(alias.clone().unwrap_or(own)))
}

pub(super) fn column(qualifier: Option<&ast::ObjectName>, name: &str, span: ast::Span) -> ast::Expr {
    let qualifier = qualifier.cloned().map(Box::new);
    expr(ast::ExprKind::Column(ast::ColumnRef { qualifier, name: ast::Ident::new(name) }), span)
}

/// `name = @$key<n>`
fn equals(name: &str, n: usize, span: ast::Span) -> ast::Expr {
    equal(column(None, name, span), n, span)
}

pub(super) fn equal(left: ast::Expr, n: usize, span: ast::Span) -> ast::Expr {
    let right = expr(ast::ExprKind::Variable(format!("@$key{n}").into()), span);
    let (op, left, right) = (ast::CompareOp::Equal, Box::new(left), Box::new(right));
    expr(ast::ExprKind::Compare { op, left, right }, span)
}

fn is_null(name: &str, span: ast::Span) -> ast::Expr {
    let operand = Box::new(column(None, name, span));
    expr(ast::ExprKind::IsNull { operand, negated: false }, span)
}

pub(super) fn all_of(mut terms: Vec<ast::Expr>, span: ast::Span) -> ast::Expr {
    if terms.len() == 1 {
        return terms.remove(0);
    }
    expr(ast::ExprKind::Logical { op: ast::LogicalOp::And, terms }, span)
}

/// Whether values of a type can be compared with `=`.
fn comparable(ty: SqlType) -> bool {
    !matches!(ty, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::TypedXml(_))
        && !ty.is_spatial()
}
