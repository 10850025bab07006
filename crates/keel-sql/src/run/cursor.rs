//! DECLARE CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE, WHERE CURRENT OF.

use super::{Frame, Runner};
use crate::cursor::{Cursor, CursorRow};
use crate::errors;
use crate::program::{CompiledCode, CursorName, CursorOp, FetchDirection, FetchOp, Positioned, Program};
use crate::run::query::column_meta;
use crate::sink::command;
use keel_query::RowBuffer;
use keel_types::Value;
use keel_types::error::Result;
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
        let compiled = self.unit(program, frame, &op.query)?;
        let CompiledCode::Plan(plan) = &compiled.code else { unreachable!("a query compiles to a plan") };
        let columns = plan.columns().iter().map(column_meta).collect();
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

    pub(super) fn positioned(
        &mut self,
        _program: &Arc<Program>,
        frame: &mut Frame,
        op: &Positioned,
    ) -> Result<()> {
        self.info.begin_statement();
        let id = self.cursor_id(frame, &op.cursor)?;
        let read_only = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the id was just found");
            if !c.open {
                return Err(errors::cursor_not_open());
            }
            c.read_only
        };
        if read_only {
            return Err(errors::cursor_read_only());
        }
        Err(errors::not_supported("WHERE CURRENT OF"))
    }
}
