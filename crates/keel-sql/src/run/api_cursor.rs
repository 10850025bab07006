//! Cursors of the API: open, fetch, change. See [`crate::api_cursor`] for the rules, [`super::cursor`] for the machinery.

use super::call::bind_arguments;
use super::{Argument, Frame, Halt, Returned, Runner};
use crate::api_cursor::{
    Agreed, FetchKind, ROW_FETCHED, ROW_MISSING, Window, concurrency, operation, scroll,
};
use crate::cursor::{ApiState, Cursor, CursorRow, Cursors, Sensitivity};
use crate::errors;
use crate::program::{CursorOp, Op, Program, ProgramKind, UnitSource, lower_batch};
use crate::sink::{ColumnMeta, ColumnOrigin, command};
use keel_parser::ast;
use keel_parser::to_text::quote_name;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use smol_str::SmolStr;
use std::sync::Arc;

/// What `sp_cursoropen` and `sp_cursorexecute` ask for.
#[derive(Debug)]
pub struct OpenCursor<'a> {
    /// Which of the procedures, for messages.
    pub procedure: &'static str,
    /// The query.
    pub text: Arc<str>,
    /// Its parameters.
    pub declarations: Arc<str>,
    /// Their values.
    pub values: &'a [Argument],
    /// `scrollopt`
    pub scroll: i32,
    /// `ccopt`
    pub concurrency: i32,
    /// `rowcount`: rows to fetch with AUTO_FETCH.
    pub rows: i64,
}

/// A cursor, or what was executed instead of one.
#[derive(Debug, Default)]
pub struct Opened {
    /// The cursor's number; 0 when there is none.
    pub handle: i32,
    /// Kind.
    pub scroll: i32,
    /// Concurrency.
    pub concurrency: i32,
    /// Rows it has; -1 when that is not known.
    pub rows: i64,
    /// Return status of the procedure.
    pub status: i32,
    /// What direct execution gave back.
    pub returned: Returned,
}

/// Return status of a fetch that was to begin before the first row and was made to begin on it.
const ADJUSTED: i32 = 0x02;
/// Return status of a fetch or an opening that has closed a fast-forward cursor.
const CLOSED: i32 = 0x10;

impl Runner<'_> {
    /// Opens a cursor, or executes directly what cannot be one.
    pub fn open_api_cursor(&mut self, open: &OpenCursor<'_>) -> std::result::Result<Opened, Halt> {
        let (program, is_definition) = self.cursor_program(&open.text, &open.declarations)?;
        let declared = declared_cursor(&program).filter(|_| is_definition);
        let found = declared.map(|c| (&c.query, &c.definition.select)).or_else(|| single_query(&program));
        let Some(query) = found else {
            if open.concurrency & concurrency::ALLOW_DIRECT == 0 {
                return Err(errors::cursor_statement(open.procedure).into());
            }
            self.report(&errors::cursor_direct());
            let returned =
                self.run_dynamic(Arc::clone(&open.text), Arc::clone(&open.declarations), &[], open.values)?;
            return Ok(Opened { returned, ..Opened::default() });
        };
        self.info.begin_statement();
        let mut frame = Frame::new(&program, self.info.nest_level() + 1);
        bind_arguments(&program.parameters, "", open.values, &mut frame, self.dates())?;
        let definition = definition(query.1, open.scroll);
        let keys = self.hidden_keys(&program, &frame, &definition);
        let walk = self.walk_of(&program, &frame, &definition, &keys);
        let changes = !keys.is_empty() && declared.is_none_or(|c| !c.definition.read_only);
        let agreed = crate::api_cursor::negotiate(open.scroll, open.concurrency, changes, walk.is_some())?;
        let kind = match agreed.kind {
            scroll::DYNAMIC | scroll::FORWARD_ONLY if walk.is_some() => (Sensitivity::Dynamic, walk),
            scroll::KEYSET | scroll::FORWARD_ONLY => (Sensitivity::Keyset, None),
            scroll::FAST_FORWARD => (Sensitivity::Static, walk),
            _ => (Sensitivity::Static, None),
        };
        let mut cursor = self.new_cursor((&program, &frame), (&definition, query.0), keys, kind)?;
        cursor.scroll = !matches!(agreed.kind, scroll::FORWARD_ONLY | scroll::FAST_FORWARD);
        cursor.read_only = agreed.concurrency == concurrency::READ_ONLY;
        // One that looks for its rows when they are fetched does not know which is the last.
        let auto_close = open.scroll & scroll::AUTO_CLOSE != 0 && agreed.kind == scroll::FAST_FORWARD;
        cursor.api = Some(ApiState { agreed, auto_close, window: Window::default(), reshaped: false });
        self.begin_implicit()?;
        let id = self.info.cursors.borrow_mut().declare(cursor)?;
        let filled = self.fill_cursor(id).and_then(|()| self.answer_open(open, id));
        let status = match filled {
            Ok(status) => status,
            Err(e) => {
                self.info.cursors.borrow_mut().remove(id);
                return Err(e.into());
            }
        };
        let cursors = self.info.cursors.borrow();
        // It may have closed itself already.
        let rows = cursors.get(id).map_or(-1, Cursor::row_count);
        let handle = if cursors.get(id).is_some() { Cursors::handle(id) } else { 0 };
        let Agreed { kind, concurrency } = agreed;
        Ok(Opened { handle, scroll: kind, concurrency, rows, status, returned: Returned::default() })
    }

    /// The program of a cursor's text, and whether it is the definition of a cursor: a query that ends with FOR UPDATE or FOR READ ONLY
    /// is one only there.
    fn cursor_program(&mut self, text: &Arc<str>, declarations: &Arc<str>) -> Result<(Arc<Program>, bool)> {
        match self.batch_program(text, declarations, &[], true) {
            Ok(program) => Ok((program, false)),
            Err(e) => {
                let text = format!("{DEFINED}{text}").into();
                match self.batch_program(&text, declarations, &[], true) {
                    Ok(program) if declared_cursor(&program).is_some() => Ok((program, true)),
                    _ => Err(e),
                }
            }
        }
    }

    /// What of a cursor's text is a query: the text without FOR UPDATE or FOR READ ONLY. Errors of the text.
    pub fn query_of_cursor<'t>(&mut self, text: &'t Arc<str>, declarations: &Arc<str>) -> Result<&'t str> {
        let (program, is_definition) = self.cursor_program(text, declarations)?;
        let declared = declared_cursor(&program).filter(|_| is_definition);
        let end = declared.map(|c| c.definition.select.query.span.end as usize - DEFINED.len());
        Ok(end.and_then(|end| text.get(..end)).unwrap_or(text))
    }

    fn answer_open(&mut self, open: &OpenCursor<'_>, id: u64) -> Result<i32> {
        if open.scroll & scroll::AUTO_FETCH != 0 {
            return self.fetch_api_cursor(id, FetchKind::Next, 0, open.rows);
        }
        self.describe_api_cursor(id);
        self.succeed(0);
        self.done(Some(0), command::SELECT);
        Ok(0)
    }

    /// Tells the client what columns the first result set of a text has, as `sp_prepare` and `sp_cursorprepare` may be asked to; nothing
    /// where only its execution can tell. Errors of a text that is a single statement.
    pub fn describe_text(&mut self, text: &str, declarations: &str) -> Result<()> {
        let columns = crate::describe::first_columns(self.info, text, declarations)?;
        if !columns.is_empty() {
            self.sink.columns(&columns);
            self.done(None, command::SELECT);
        }
        Ok(())
    }

    /// COLMETADATA and where the columns come from. Every row of a cursor ends with ROWSTAT.
    fn describe_api_cursor(&mut self, id: u64) {
        let (columns, table, origins, reshaped) = {
            let mut cursors = self.info.cursors.borrow_mut();
            let c = cursors.get_mut(id).expect("the caller has found it");
            let reshaped = c.api.as_mut().is_some_and(|api| std::mem::take(&mut api.reshaped));
            let mut columns = c.columns.clone();
            let status = ColumnMeta { nullable: false, ..ColumnMeta::new("ROWSTAT", SqlType::Int) };
            columns.push(status);
            let base = base_table(c);
            let origin = |column: &Option<SmolStr>| ColumnOrigin {
                key: column.as_ref().is_some_and(|c2| c.key_columns.iter().any(|k| k.name == c2.as_str())),
                column: column.clone().filter(|_| base.is_some()),
                hidden: false,
            };
            let mut origins: Vec<_> = c.sources.iter().map(origin).collect();
            origins.push(ColumnOrigin { column: None, key: false, hidden: true });
            (columns, base.map(table_parts).unwrap_or_default(), origins, reshaped)
        };
        if reshaped {
            self.sink.reshaped();
        }
        self.sink.columns(&columns);
        self.sink.origins(&table, &origins);
    }

    /// Moves a cursor's window and sends its rows; gives the return status.
    pub fn fetch_api_cursor(&mut self, id: u64, kind: FetchKind, row: i64, count: i64) -> Result<i32> {
        self.info.begin_statement();
        let walks = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the caller has found it");
            let forward = matches!(kind, FetchKind::Next | FetchKind::Refresh | FetchKind::Info);
            if !c.scroll && !forward {
                return Err(errors::api_fetch_forward_only(kind.name()));
            }
            c.walk.is_some()
        };
        let mut adjusted = walks && self.walk(id, kind, row, count.max(0).unsigned_abs())?;
        let (window, total) = {
            let mut cursors = self.info.cursors.borrow_mut();
            let c = cursors.get_mut(id).expect("the caller has found it");
            let total = c.rows.len() as i64;
            let api = c.api.as_mut().expect("a cursor of the API");
            if walks {
                let kept = if count > 0 || kind == FetchKind::Refresh { c.rows.len() } else { 0 };
                api.window = Window::of_all(kept, c.position);
            } else {
                adjusted = api.window.fetch(kind, row, count.max(0), total);
                c.position = api.window.start as usize;
            }
            (api.window, total)
        };
        if kind == FetchKind::Info {
            self.succeed(0);
            return Ok(0);
        }
        self.describe_api_cursor(id);
        let read = walks && kind != FetchKind::Refresh;
        for at in window.start..window.start + window.len {
            if read {
                self.send_read(id, at as usize - 1, true)?
            } else {
                self.send_row(id, at as usize - 1)?
            }
        }
        self.statement_succeeded()?;
        self.succeed(window.len as u64);
        self.info.fetch_status.set(if window.len > 0 { 0 } else { -1 });
        self.done(Some(window.len as u64), command::SELECT);
        let at_end = kind == FetchKind::Next && (window.start > total || window.len < count);
        let mut cursors = self.info.cursors.borrow_mut();
        if at_end && cursors.get(id).and_then(|c| c.api.as_ref()).is_some_and(|a| a.auto_close) {
            cursors.remove(id);
            return Ok(CLOSED);
        }
        Ok(if adjusted { ADJUSTED } else { 0 })
    }

    fn send_row(&mut self, id: u64, at: usize) -> Result<()> {
        let found = self.reread(id, at)?;
        self.send_read(id, at, found)
    }

    /// Sends a row as it was read.
    fn send_read(&mut self, id: u64, at: usize, found: bool) -> Result<()> {
        let mut row = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("nothing removes it while it is fetched from");
            c.rows[at].values[..c.columns.len()].to_vec()
        };
        row.push(Value::Int(if found { ROW_FETCHED } else { ROW_MISSING }));
        self.sink.row(&row).map_err(|_| errors::cancelled())
    }

    /// `sp_cursor`: changes, locks or reads again rows of the window, or inserts into the cursor's table.
    pub fn change_api_cursor(
        &mut self,
        id: u64,
        operations: i32,
        row: i64,
        table: &str,
        values: &[Argument],
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        let changes = operations & (operation::UPDATE | operation::DELETE | operation::INSERT) != 0;
        if operations & operation::ABSOLUTE != 0 && operations & (operation::UPDATE | operation::DELETE) == 0
        {
            return Err(errors::cursor_absolute().into());
        }
        if changes && self.info.cursors.borrow().get(id).is_some_and(|c| c.read_only) {
            return Err(errors::cursor_read_only().into());
        }
        if operations & operation::INSERT != 0 {
            return self.insert_through(id, table, values);
        }
        let rows = self.addressed_rows(id, operations, row)?;
        if operations & (operation::SET_POSITION | operation::LOCK) != 0
            && let (Some(first), Some(c)) = (rows.first(), self.info.cursors.borrow_mut().get_mut(id))
        {
            c.position = first + 1;
        }
        if operations & operation::REFRESH != 0 {
            self.describe_api_cursor(id);
            for at in &rows {
                self.send_row(id, *at)?;
            }
            self.statement_succeeded()?;
            self.succeed(rows.len() as u64);
            self.done(Some(rows.len() as u64), command::SELECT);
        }
        for at in rows {
            if operations & operation::DELETE != 0 {
                let table = self.target(id, table)?;
                self.change_one(id, at, &format!("DELETE {table}"), &[])?;
            } else if operations & operation::UPDATE != 0 {
                let text = self.update_text(id, table, values)?;
                self.change_one(id, at, &text, values)?;
                self.follow_key(id, at, values);
            } else if operations & operation::LOCK != 0 {
                self.reread(id, at)?;
                self.statement_succeeded()?;
            }
        }
        Ok(())
    }

    /// Rows of the cursor, from 0, that a row number of `sp_cursor` means; 0 is the whole window.
    fn addressed_rows(&self, id: u64, operations: i32, row: i64) -> Result<Vec<usize>> {
        let cursors = self.info.cursors.borrow();
        let c = cursors.get(id).expect("the caller has found it");
        let window = c.api.as_ref().expect("a cursor of the API").window;
        if operations & operation::ABSOLUTE != 0 {
            if row < 1 || row > c.rows.len() as i64 {
                return Err(errors::cursor_not_in_buffer());
            }
            return Ok(vec![row as usize - 1]);
        }
        if window.len == 0 {
            return Err(errors::cursor_no_row());
        }
        if row < 0 || row > window.len {
            return Err(errors::cursor_not_in_buffer());
        }
        let all = window.start..window.start + window.len;
        let one = window.start + row - 1;
        let rows = if row == 0 { all } else { one..one + 1 };
        Ok(rows.map(|at| at as usize - 1).collect())
    }

    /// The table a change goes to: the one named, or the cursor's.
    fn target(&self, id: u64, table: &str) -> Result<String> {
        let cursors = self.info.cursors.borrow();
        let c = cursors.get(id).expect("the caller has found it");
        let own = base_table(c).ok_or_else(errors::cursor_read_only)?;
        if table.trim().is_empty() {
            return Ok(own.to_string_quoted());
        }
        let named = super::procedure_name(table)?;
        if named.name.is(&own.name.text) {
            return Ok(own.to_string_quoted());
        }
        Err(errors::cursor_parameter("sp_cursor", "table"))
    }

    /// `UPDATE t SET c = @$v0, …` of named values; what is given as text is taken as it is.
    fn update_text(&self, id: u64, table: &str, values: &[Argument]) -> Result<String> {
        let target = self.target(id, table)?;
        if let Some(text) = statement_text(values) {
            let head = text.trim_start().get(..4).unwrap_or("");
            let bare = head.get(..3).is_some_and(|w| w.eq_ignore_ascii_case("SET"));
            return Ok(if bare { format!("UPDATE {target} {text}") } else { text });
        }
        let assign = |(n, v): (usize, &Argument)| format!("{} = @$v{n}", quote_name(column_name(v)));
        let assignments: Vec<_> = values.iter().enumerate().map(assign).collect();
        if assignments.is_empty() {
            return Err(errors::cursor_parameters("sp_cursor"));
        }
        Ok(format!("UPDATE {target} SET {}", assignments.join(", ")))
    }

    fn insert_through(&mut self, id: u64, table: &str, values: &[Argument]) -> std::result::Result<(), Halt> {
        let target = self.target(id, table)?;
        let text = match statement_text(values) {
            Some(text) => {
                let bare = !text.trim_start().get(..6).is_some_and(|w| w.eq_ignore_ascii_case("INSERT"));
                if bare { format!("INSERT {target} {text}") } else { text }
            }
            None => {
                let names: Vec<_> = values.iter().map(|v| quote_name(column_name(v))).collect();
                let slots: Vec<_> = (0..values.len()).map(|n| format!("@$v{n}")).collect();
                format!("INSERT {target} ({}) VALUES ({})", names.join(", "), slots.join(", "))
            }
        };
        let (program, mut frame) = self.values_program(&text, values)?;
        let Some(Op::Dml { statement, command }) = program.code.first().map(|i| &i.op) else {
            return Err(errors::cursor_parameter("sp_cursor", "value").into());
        };
        self.dml(&program, &mut frame, statement, *command)
    }

    /// Runs an UPDATE or DELETE on one row.
    fn change_one(
        &mut self,
        id: u64,
        at: usize,
        text: &str,
        values: &[Argument],
    ) -> std::result::Result<(), Halt> {
        let (program, mut frame) = self.values_program(text, values)?;
        let Some(Op::Dml { statement, command }) = program.code.first().map(|i| &i.op) else {
            return Err(errors::cursor_parameter("sp_cursor", "value").into());
        };
        let UnitSource::Statement(statement) = &statement.source else {
            unreachable!("a data change is a statement")
        };
        let (row, optimistic) = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the caller has found it");
            let agreed = c.api.as_ref().expect("a cursor of the API").agreed;
            let optimistic =
                matches!(agreed.concurrency, concurrency::OPTIMISTIC | concurrency::OPTIMISTIC_VALUES);
            (c.rows[at].values.clone(), optimistic)
        };
        self.change_row(&program, &mut frame, statement, *command, (id, &row), optimistic)?;
        if self.info.row_count.get() > 0 {
            return Ok(());
        }
        let there = self.reread(id, at)?;
        // What was read is not what the client has seen.
        if let Some(c) = self.info.cursors.borrow_mut().get_mut(id) {
            c.rows[at] = CursorRow::new(row);
        }
        self.statement_succeeded()?;
        let e = if there && optimistic { errors::cursor_optimistic() } else { errors::cursor_row_gone() };
        Err(e.into())
    }

    /// A cursor's own change of a key does not lose the row.
    fn follow_key(&self, id: u64, at: usize, values: &[Argument]) {
        let mut cursors = self.info.cursors.borrow_mut();
        let Some(c) = cursors.get_mut(id) else { return };
        let shown = c.columns.len();
        for v in values {
            let key = c.key_columns.iter().position(|k| crate::views::same(&k.name, column_name(v)));
            let ty = key.map(|k| c.key_columns[k].ty);
            if let (Some(k), Some(ty), Some(value)) = (key, ty, &v.value)
                && let Ok(value) = crate::convert::assign(value.clone(), v.ty, ty, self.dates())
            {
                c.rows[at].values[shown + k] = value;
            }
        }
    }

    /// A statement with the values as variables `@$v0`…
    fn values_program(&mut self, text: &str, values: &[Argument]) -> Result<(Arc<Program>, Frame)> {
        let batch = keel_parser::parse_batch(text, keel_parser::ParseOptions::default());
        let batch = batch.map_err(super::parse_error)?;
        let mut identity = super::rpc::outside_modules(self);
        identity.kind = ProgramKind::Dynamic;
        let options = crate::program::lower::TextOptions { quoted_identifier: true, ansi_nulls: true };
        let database = identity.database;
        let scope = crate::session::scope::Scope::bare(self.info, database);
        let mut declarations = Vec::new();
        for (n, v) in values.iter().enumerate() {
            let ty = if v.ty == SqlType::Null { SqlType::Int } else { v.ty };
            declarations.push(format!("@$v{n} {ty}"));
        }
        let parameters = match declarations.is_empty() || statement_text(values).is_some() {
            true => Vec::new(),
            false => keel_parser::parse_parameters(&declarations.join(", ")).map_err(super::parse_error)?,
        };
        let mut program = lower_batch(identity, text.into(), &batch, &parameters, options, &scope)?;
        // Not to be mistaken for a program that is kept.
        program.id = 0;
        let mut frame = Frame::new(&program, self.info.nest_level() + 1);
        for (slot, v) in frame.vars.iter_mut().zip(values).take(parameters.len()) {
            *slot = v.value.clone().unwrap_or(Value::Null);
        }
        Ok((Arc::new(program), frame))
    }
}

/// The only statement of a text, when it is a query that returns rows.
fn single_query(program: &Program) -> Option<(&crate::program::Unit, &ast::SelectStatement)> {
    let [first, end] = program.code.as_slice() else { return None };
    let (Op::Select { query, assigns: false }, Op::Return(None)) = (&first.op, &end.op) else { return None };
    let UnitSource::Statement(statement) = &query.source else { return None };
    let ast::StatementKind::Select(select) = &statement.kind else { return None };
    Some((query, select))
}

/// The cursor whose definition is the only statement of a text.
/// What makes a cursor's text its definition.
const DEFINED: &str = "DECLARE c CURSOR FOR ";

fn declared_cursor(program: &Program) -> Option<&CursorOp> {
    let [first, end] = program.code.as_slice() else { return None };
    match (&first.op, &end.op) {
        (Op::DeclareCursor(cursor), Op::Return(None)) => Some(cursor),
        _ => None,
    }
}

/// The definition by which [`super::cursor`] looks for key columns.
fn definition(select: &ast::SelectStatement, scroll_options: i32) -> ast::CursorDefinition {
    let kinds = scroll_options & scroll::KINDS;
    ast::CursorDefinition {
        insensitive: kinds == scroll::STATIC,
        scope: None,
        scroll: None,
        kind: None,
        concurrency: None,
        type_warning: false,
        select: select.clone(),
        read_only: false,
        for_update: None,
    }
}

/// The table whose rows a cursor with a key shows, or whose columns one without shows.
fn base_table(c: &Cursor) -> Option<&ast::ObjectName> {
    let select = &c.definition.select;
    let ast::QueryBody::Select(body) = &select.query.body else { return None };
    if c.key_columns.is_empty() && (body.from.len() != 1 || select.with.is_some()) {
        return None;
    }
    match &body.from.first()?.kind {
        ast::TableSourceKind::Named { name, .. } => Some(name),
        _ => None,
    }
}

fn table_parts(name: &ast::ObjectName) -> Vec<SmolStr> {
    let outer = [&name.database, &name.schema];
    let mut parts: Vec<SmolStr> = outer.into_iter().flatten().map(|i| i.text.clone()).collect();
    parts.push(name.name.text.clone());
    parts
}

/// A value without a name is a statement.
fn statement_text(values: &[Argument]) -> Option<String> {
    let [value] = values else { return None };
    let text = value.value.as_ref()?.as_str()?;
    value.name.is_empty().then(|| text.to_owned())
}

fn column_name(value: &Argument) -> &str {
    value.name.strip_prefix('@').unwrap_or(&value.name)
}

trait Quoted {
    fn to_string_quoted(&self) -> String;
}

impl Quoted for ast::ObjectName {
    fn to_string_quoted(&self) -> String {
        let mut out = String::new();
        for part in [&self.database, &self.schema] {
            match part {
                Some(part) => out += &format!("{}.", quote_name(&part.text)),
                None if !out.is_empty() => out.push('.'),
                None => {}
            }
        }
        out + &quote_name(&self.name.text)
    }
}

/// An error of the cursor procedures about a number that stands for no cursor.
#[must_use]
pub fn bad_handle(procedure: &str, handle: i64) -> Box<SqlError> {
    errors::cursor_handle(procedure, format!("{:x}", handle as i32))
}
