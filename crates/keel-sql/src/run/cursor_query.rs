//! What a cursor reads: its query when it is opened, that of one row when it shows it anew, those of its next rows when it walks. They run long after they were compiled, so they are
//! compiled again where something was defined otherwise since.

use super::cursor::{keyed_query, select_unit};
use super::live_cursor::{row_query, with_key};
use super::walking::step_query;
use super::{Frame, Runner};
use crate::cursor::{Cursor, CursorQuery, Rows};
use crate::errors;
use crate::program::{Compiled, CompiledCode, Program};
use keel_query::RowBuffer;
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// A query of a cursor as the catalog is now, with what keeps it so until it has run.
    pub(super) fn cursor_query(&mut self, id: u64, rows: Rows) -> Result<CursorQuery> {
        loop {
            let query = match self.standing_query(id, rows) {
                Some(query) => query,
                None => self.compile_cursor(id, rows)?,
            };
            if self.keeps(&query.compiled.guards, &query.compiled.dependencies)? {
                return Ok(query);
            }
        }
    }

    /// Runs it.
    pub(super) fn run_cursor_query(
        &mut self,
        compiled: &Compiled,
        vars: &mut [Value],
    ) -> Result<Vec<Vec<Value>>> {
        let CompiledCode::Plan(plan) = &compiled.code else { unreachable!("a query compiles to a plan") };
        let mut rows = RowBuffer::limited(self.info);
        let run = plan.run(&mut self.context(vars), &mut rows);
        self.leave_views();
        run.map(|_| rows.rows)
    }

    /// The query as it was compiled last, if that is what it still means.
    fn standing_query(&self, id: u64, rows: Rows) -> Option<CursorQuery> {
        let cursors = self.info.cursors.borrow();
        let c = cursors.get(id).expect("the caller has found it");
        let query = match rows {
            Rows::All => &c.query,
            Rows::One => c.reread.as_ref()?,
            Rows::Next(step, count) => c.walk.as_ref()?.query(step, count)?,
        };
        let frame = frame_of(c, &query.program);
        self.means_the_same(&query.program, &frame, &query.compiled.dependencies).then(|| query.clone())
    }

    /// Compiles it, and keeps it with the cursor. 16943 when it would show other columns than the cursor has, or names would stand for
    /// something else where the session is now.
    fn compile_cursor(&mut self, id: u64, rows: Rows) -> Result<CursorQuery> {
        let (unit, program, frame) = {
            let cursors = self.info.cursors.borrow();
            let c = cursors.get(id).expect("the caller has found it");
            if !self.is_there(&c.query.compiled.dependencies) {
                return Err(errors::cursor_schema_changed());
            }
            let (unit, program) = match rows {
                Rows::All => {
                    let keyed = keyed_query(&c.definition, &c.key_columns);
                    let unit = keyed.unwrap_or_else(|| select_unit(c.definition.select.clone()));
                    (unit, Arc::clone(&c.program))
                }
                Rows::One => (row_query(c).expect("a cursor with a key has a table"), keyed_program(c)),
                Rows::Next(step, count) => {
                    (step_query(c, step, count).expect("a walking cursor has a table"), keyed_program(c))
                }
            };
            let frame = frame_of(c, &program);
            (unit, program, frame)
        };
        let query = CursorQuery { compiled: self.unit_once(&program, &frame, &unit)?, program };
        let mut cursors = self.info.cursors.borrow_mut();
        let c = cursors.get_mut(id).expect("nothing removes it while it is used");
        if !shows_the_same(c, &query.compiled) {
            return Err(errors::cursor_schema_changed());
        }
        match rows {
            Rows::All => c.query = query.clone(),
            Rows::One => c.reread = Some(query.clone()),
            Rows::Next(step, count) => {
                c.walk.as_mut().expect("it has this query").keep(step, count, query.clone());
            }
        }
        Ok(query)
    }
}

/// A cursor's program with the key's variables, for all of its queries that have them.
fn keyed_program(c: &Cursor) -> Arc<Program> {
    let made = c.reread.as_ref().or_else(|| c.walk.as_ref()?.any_query());
    made.map_or_else(|| with_key(&c.program, &c.key_columns), |query| Arc::clone(&query.program))
}

/// A frame with the table variables that the cursor's query can see. Its variables have no values to plan for: those of the key that is
/// read again are others for each row.
fn frame_of(c: &Cursor, program: &Program) -> Frame {
    Frame { tables: c.tables.clone(), vars: Vec::new(), ..Frame::new(program, 0) }
}

/// Whether a query has the columns that the cursor's had when it was declared.
fn shows_the_same(c: &Cursor, compiled: &Compiled) -> bool {
    compiled.columns.len() == c.columns.len() + c.key_columns.len()
        && c.columns.iter().zip(&compiled.columns).all(|(was, is)| was.ty == is.ty && was.name == is.name)
}
