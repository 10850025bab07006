//! DECLARE CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE, WHERE CURRENT OF.

use super::{Frame, Runner};
use crate::cursor::{Cursor, CursorRow};
use crate::errors;
use crate::program::{
    CompiledCode, CursorName, CursorOp, FetchDirection, FetchOp, Positioned, Program, Unit, UnitSource,
    VariableDef,
};
use crate::run::query::column_meta;
use crate::sink::command;
use keel_parser::ast;
use keel_query::RowBuffer;
use keel_query::catalog::{ColumnDef, TableDef};
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use std::sync::Arc;

impl Runner<'_> {
    fn cursor_id(&self, frame: &Frame, name: &CursorName) -> Result<u64> {
        match name {
            CursorName::Named { global, name } => {
                let found = self.info.cursors.borrow().find(name, frame.level, *global);
                found.ok_or_else(|| errors::no_cursor(name))
            }
            CursorName::Variable(index) => {
                frame.cursors[*index].ok_or_else(|| errors::cursor_unallocated(format!("@{index}")))
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
        let key_columns = self.hidden_keys(program, frame, &op.definition);
        let with_keys = keyed_query(op, &key_columns);
        let compiled = match &with_keys {
            Some(unit) => self.unit_once(program, frame, unit)?,
            None => self.unit(program, frame, &op.query)?,
        };
        let CompiledCode::Plan(plan) = &compiled.code else { unreachable!("a query compiles to a plan") };
        let mut columns: Vec<_> = plan.columns().iter().map(column_meta).collect();
        columns.truncate(columns.len() - key_columns.len());
        let local = match &op.name {
            CursorName::Named { global, .. } => !global,
            CursorName::Variable(_) => true,
        };
        let scroll = crate::cursor::scrollable(&op.definition);
        let cursor = Cursor {
            name: match &op.name {
                CursorName::Named { name, .. } => name.clone(),
                CursorName::Variable(_) => smol_str::SmolStr::default(),
            },
            level: if local { frame.level } else { 0 },
            scroll,
            compiled: Arc::clone(&compiled),
            // Variables in the query have the values they have now.
            vars: frame.vars.clone(),
            columns,
            key_columns,
            rows: Vec::new(),
            position: 0,
            open: false,
            read_only: op.definition.read_only
                || matches!(op.definition.concurrency, Some(keel_parser::ast::CursorConcurrency::ReadOnly)),
            program: Arc::clone(program),
            definition: op.definition.clone(),
        };
        let mut cursors = self.info.cursors.borrow_mut();
        let id = cursors.declare(cursor)?;
        if let CursorName::Variable(index) = &op.name {
            frame.cursors[*index] = Some(id);
        }
        drop(cursors);
        self.succeed(0);
        Ok(())
    }

    pub(super) fn open_cursor(&mut self, frame: &mut Frame, name: &CursorName) -> Result<()> {
        self.info.begin_statement();
        let id = self.cursor_id(frame, name)?;
        let (compiled, mut vars, open) = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the id was just found");
            (Arc::clone(&c.compiled), c.vars.clone(), c.open)
        };
        if open {
            return Err(errors::cursor_open());
        }
        let CompiledCode::Plan(plan) = &compiled.code else { unreachable!("a query compiles to a plan") };
        let mut rows = RowBuffer::default();
        plan.run(&mut self.context(&mut vars), &mut rows)?;
        self.statement_succeeded()?;
        let count = rows.rows.len() as u64;
        {
            let mut cursors = self.info.cursors.borrow_mut();
            let c = cursors.get_mut(id).expect("the id was just found");
            c.rows = rows.rows.into_iter().map(CursorRow::new).collect();
            c.position = 0;
            c.open = true;
            cursors.last_count = count as i64;
        }
        self.succeed(0);
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
        self.succeed(0);
        Ok(())
    }

    pub(super) fn deallocate_cursor(&mut self, frame: &mut Frame, name: &CursorName) -> Result<()> {
        let id = self.cursor_id(frame, name)?;
        match name {
            CursorName::Variable(index) => frame.cursors[*index] = None,
            CursorName::Named { .. } => {}
        }
        self.info.cursors.borrow_mut().remove(id);
        self.succeed(0);
        Ok(())
    }

    pub(super) fn copy_cursor(&mut self, frame: &mut Frame, to: usize, from: &CursorName) -> Result<()> {
        frame.cursors[to] = Some(self.cursor_id(frame, from)?);
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
        let (row, columns) = {
            let mut cursors = self.info.cursors.borrow_mut();
            let c = cursors.get_mut(id).expect("the id was just found");
            if !c.open {
                return Err(errors::cursor_not_open());
            }
            if !c.scroll && name != "Next" {
                return Err(errors::fetch_forward_only(name));
            }
            if !op.into.is_empty() && op.into.len() != c.columns.len() {
                return Err(errors::fetch_variables());
            }
            let row = c.move_to(&op.direction, argument).map(|r| r.values.clone());
            let columns = if op.into.is_empty() { c.columns.clone() } else { Vec::new() };
            (row, columns)
        };
        let found = row.is_some();
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
                frame.set(*slot, crate::convert::assign(value, from, to)?);
            }
        }
        self.info.fetch_status.set(if found { 0 } else { -1 });
        self.succeed(u64::from(found));
        if op.into.is_empty() {
            self.done(Some(u64::from(found)), command::SELECT);
        }
        Ok(())
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
        let (statement, key) = self.keyed_statement(program, frame, op, id, &row)?;
        let unit = Unit::new(UnitSource::Statement(statement));
        let mut with_key = (**program).bare_copy();
        let mut inner = Frame::new(program, frame.level);
        inner.vars.clone_from(&frame.vars);
        std::mem::swap(&mut inner.tables, &mut frame.tables);
        for (n, (value, ty)) in key.into_iter().enumerate() {
            with_key.variables.push(VariableDef { name: format!("@$key{n}").into(), ty });
            inner.vars.push(value);
        }
        let outcome = self.dml(&Arc::new(with_key), &mut inner, &unit, op.command);
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
        op: &Positioned,
        id: u64,
        row: &[Value],
    ) -> Result<(ast::Statement, Vec<(Value, SqlType)>)> {
        let mut statement = op.statement.clone();
        let (target, filter) = match &mut statement.kind {
            ast::StatementKind::Update(u) => (&u.target, &mut u.filter),
            ast::StatementKind::Delete(d) => (&d.target, &mut d.filter),
            _ => return Err(errors::not_supported("WHERE CURRENT OF here")),
        };
        let ast::TableRef::Named(name) = &target.table else {
            return Err(errors::not_supported("WHERE CURRENT OF a table variable"));
        };
        let table = crate::ddl::find_table(&self.scope(program, frame), name)
            .ok_or_else(|| errors::invalid_object_name(name))?;
        let cursors = self.info.cursors.borrow();
        let cursor = cursors.get(id).expect("the id was just found");
        let span = op.statement.span;
        let mut terms = Vec::new();
        let mut key = Vec::new();
        for column in key_columns(&table) {
            // The hidden columns stand behind the declared ones; a column the query selects itself will do as well.
            let at =
                cursor.key_columns.iter().position(|c| *c == column.name).map(|i| cursor.columns.len() + i);
            let at =
                at.or_else(|| cursor.columns.iter().position(|c| crate::views::same(&c.name, &column.name)));
            let Some(value) = at.and_then(|i| row.get(i)) else {
                return Err(errors::cursor_read_only());
            };
            let left = expr(
                ast::ExprKind::Column(ast::ColumnRef {
                    qualifier: None,
                    name: ast::Ident::new(column.name.as_str()),
                }),
                span,
            );
            let right = expr(ast::ExprKind::Variable(format!("@$key{}", key.len()).into()), span);
            let kind = ast::ExprKind::Compare {
                op: ast::CompareOp::Equal,
                left: Box::new(left),
                right: Box::new(right),
            };
            terms.push(expr(kind, span));
            key.push((value.clone(), column.ty));
        }
        let condition = if terms.len() == 1 {
            terms.remove(0)
        } else {
            expr(ast::ExprKind::Logical { op: ast::LogicalOp::And, terms }, span)
        };
        *filter = Some(ast::DmlFilter::Where(condition));
        Ok((statement, key))
    }

    /// The key columns that an updatable cursor selects besides its own: those of the single table it reads.
    fn hidden_keys(
        &self,
        program: &Program,
        frame: &Frame,
        definition: &ast::CursorDefinition,
    ) -> Vec<String> {
        let ast::QueryBody::Select(select) = &definition.select.query.body else { return Vec::new() };
        let plain = !select.distinct
            && select.group_by.is_none()
            && select.having.is_none()
            && select.from.len() == 1;
        let Some(ast::TableSourceKind::Named { name, .. }) = select.from.first().map(|f| &f.kind) else {
            return Vec::new();
        };
        let aggregates = select.items.iter().any(|i| {
            matches!(i, ast::SelectItem::Expr { expr, .. } if matches!(expr.kind, ast::ExprKind::Function(_)))
        });
        if !plain || aggregates || definition.insensitive {
            return Vec::new();
        }
        match crate::ddl::find_table(&self.scope(program, frame), name) {
            Some(table) => key_columns(&table).iter().map(|c| c.name.clone()).collect(),
            None => Vec::new(),
        }
    }
}

fn expr(kind: ast::ExprKind, span: ast::Span) -> ast::Expr {
    ast::Expr { kind, span }
}

/// The columns of a table's first unique index; all columns of a table without one.
fn key_columns(table: &TableDef) -> Vec<&ColumnDef> {
    let unique = table.indexes.iter().find(|i| i.unique && !i.key.is_empty());
    match unique {
        Some(index) => index
            .key
            .iter()
            .filter_map(|k| table.columns.iter().find(|c| c.column_id == k.column_id))
            .collect(),
        None => table.columns.iter().collect(),
    }
}

/// The cursor's query with its hidden key columns, qualified by the table's exposed name.
fn keyed_query(op: &CursorOp, keys: &[String]) -> Option<Unit> {
    if keys.is_empty() {
        return None;
    }
    let mut select = op.definition.select.clone();
    let ast::QueryBody::Select(body) = &mut select.query.body else { return None };
    let ast::TableSourceKind::Named { name, alias, .. } = &body.from.first()?.kind else { return None };
    let qualifier = ast::ObjectName::simple(alias.clone().unwrap_or_else(|| name.name.clone()));
    for key in keys {
        let column = ast::ColumnRef {
            qualifier: Some(Box::new(qualifier.clone())),
            name: ast::Ident::new(key.as_str()),
        };
        let item = expr(ast::ExprKind::Column(column), select.query.span);
        body.items.push(ast::SelectItem::Expr { expr: item, alias: None });
    }
    let span = select.query.span;
    let statement = ast::Statement { kind: ast::StatementKind::Select(Box::new(select)), span };
    Some(Unit::new(UnitSource::Statement(statement)))
}
