//! Dynamic cursors that walk: each fetch looks for its rows in the table, from the place of those fetched before it. So they see what was
//! inserted since, pass over what is gone, cost nothing to open, and keep no more than a fetch's rows however large the table is.
//!
//! ```text
//!   the cursor's query [AND locator > @place] ORDER BY locator, TOP n       Next from a row, First
//!   the cursor's query [AND locator < @place] ORDER BY locator DESC, TOP n  Prior to a row, Last
//! ```
//!
//! A locator is the key under which the clustered index or heap has a row, so its order is that of the table, and both queries are ranges of it
//! ([`keel_query::bind::LOCATOR`]). A place stays where it is when its row goes. Movements are those of rowsets of dynamic cursors in ODBC
//! (SQLFetchScroll, "Cursor positioning rules").
//!
//! Fast-forward cursors go the same way. They only go forwards, and read some rows ahead.
//!
//! Deliberately absent: orders of other indexes than the clustered one. Cursors with them keep their rows ([`super::live_cursor`]).

use super::Runner;
use super::cursor::{add_keys, all_of, column, exposed_name, expr, select_unit};
use super::live_cursor::lock_rows;
use crate::api_cursor::FetchKind;
use crate::cursor::{Cursor, CursorQuery, CursorRow, Rows, Step};
use crate::errors;
use crate::program::{FetchDirection, Unit};
use keel_parser::ast;
use keel_query::bind::LOCATOR;
use keel_types::Value;
use keel_types::error::Result;

/// Where a walking cursor stands.
enum Stand {
    /// Before its first row.
    Before,
    /// On rows with their places.
    On {
        /// That of the first row.
        first: Value,
        /// That of the last row.
        last: Value,
    },
    /// Behind its last row.
    Behind,
}

/// Where a movement ends.
enum Landing {
    Before,
    /// On these rows, true when they are others than those asked for, which would have begun before the first row.
    On(Vec<Vec<Value>>, bool),
    Behind,
}

impl Landing {
    /// On rows that were read towards the end.
    fn forward(rows: Vec<Vec<Value>>) -> Landing {
        if rows.is_empty() { Landing::Behind } else { Landing::On(rows, false) }
    }
}

impl Runner<'_> {
    /// Moves a walking cursor to one row and gives it: from those that were read ahead, if it is the next of them.
    pub(super) fn walk_to(
        &mut self,
        id: u64,
        (kind, row): (FetchKind, i64),
        ahead: u64,
    ) -> Result<Option<Vec<Value>>> {
        let known = {
            let mut cursors = self.info.cursors.borrow_mut();
            let c = cursors.get_mut(id).expect("the caller has found it");
            let known = ahead > 1 && c.position > 0 && c.position < c.rows.len();
            c.position += usize::from(known);
            known
        };
        if !known {
            self.walk(id, kind, row, ahead)?;
        }
        let cursors = self.info.cursors.borrow();
        let c = cursors.get(id).expect("nothing removes it while it is fetched from");
        Ok(c.rows.get(c.position.saturating_sub(1)).map(|row| row.values.clone()))
    }

    /// Moves a walking cursor to `count` rows, of which the first is told by `kind` and `row`. True when a move before the first row was made to
    /// end on it. 16925 for ABSOLUTE.
    pub(super) fn walk(&mut self, id: u64, kind: FetchKind, row: i64, count: u64) -> Result<bool> {
        let stand = {
            let cursors = self.info.cursors.borrow();
            stand(cursors.get(id).expect("the caller has found it"))
        };
        let landing = match kind {
            FetchKind::Refresh | FetchKind::Info => return Ok(false),
            FetchKind::Absolute => return Err(errors::fetch_dynamic(kind.name())),
            FetchKind::First if count == 0 => Landing::Before,
            FetchKind::Last if count == 0 => Landing::Behind,
            // Nothing is asked for.
            _ if count == 0 => return Ok(false),
            FetchKind::First => Landing::forward(self.steps(id, Step::First, None, count)?),
            FetchKind::Last => Landing::forward(self.steps(id, Step::Last, None, count)?),
            FetchKind::Next => self.walk_on(id, stand, count)?,
            FetchKind::Previous | FetchKind::PreviousCut => self.walk_back(id, stand, kind, count, count)?,
            FetchKind::Relative if row < 0 => self.walk_back(id, stand, kind, row.unsigned_abs(), count)?,
            FetchKind::Relative => self.walk_by(id, stand, row.unsigned_abs(), count)?,
        };
        Ok(self.land(id, landing))
    }

    /// The rows behind those it stands on.
    fn walk_on(&mut self, id: u64, stand: Stand, count: u64) -> Result<Landing> {
        Ok(match stand {
            Stand::Before => Landing::forward(self.steps(id, Step::First, None, count)?),
            Stand::On { last, .. } => Landing::forward(self.steps(id, Step::Behind, Some(last), count)?),
            Stand::Behind => Landing::Behind,
        })
    }

    /// Rows that begin `by` rows behind the first one it stands on.
    fn walk_by(&mut self, id: u64, stand: Stand, by: u64, count: u64) -> Result<Landing> {
        let first = match stand {
            Stand::Behind => return Ok(Landing::Behind),
            Stand::Before if by == 0 => return Ok(Landing::Before),
            Stand::Before => None,
            Stand::On { first, .. } => Some(first),
        };
        if by == 0 && self.reread(id, 0)? {
            let cursors = self.info.cursors.borrow();
            let mut rows = vec![cursors.get(id).expect("it was just read").rows[0].values.clone()];
            drop(cursors);
            rows.extend(self.steps(id, Step::Behind, first, count.saturating_sub(1))?);
            return Ok(Landing::On(rows, false));
        }
        let skipped = by.saturating_sub(1);
        let step = if first.is_some() { Step::Behind } else { Step::First };
        let mut rows = self.steps(id, step, first, skipped.saturating_add(count))?;
        rows.drain(..rows.len().min(usize::try_from(skipped).unwrap_or(usize::MAX)));
        Ok(Landing::forward(rows))
    }

    /// Rows that begin `by` rows before the first one it stands on.
    fn walk_back(&mut self, id: u64, stand: Stand, kind: FetchKind, by: u64, count: u64) -> Result<Landing> {
        let (step, place) = match stand {
            Stand::Before => return Ok(Landing::Before),
            Stand::On { first, .. } => (Step::Before, Some(first)),
            Stand::Behind => (Step::Last, None),
        };
        let mut rows = self.steps(id, step, place, by)?;
        if rows.is_empty() {
            return Ok(Landing::Before);
        }
        if kind == FetchKind::PreviousCut || rows.len() as u64 == by {
            let missing = count.saturating_sub(rows.len() as u64);
            if kind == FetchKind::Relative && missing > 0 {
                let last = rows.last().and_then(|row| row.last().cloned());
                rows.extend(self.steps(id, Step::Behind, last, missing)?);
            }
            rows.truncate(usize::try_from(count).unwrap_or(usize::MAX));
            return Ok(Landing::On(rows, false));
        }
        if by > count {
            return Ok(Landing::Before);
        }
        Ok(Landing::On(self.steps(id, Step::First, None, count)?, true))
    }

    /// Up to `count` rows of a step, in the cursor's order.
    fn steps(&mut self, id: u64, step: Step, place: Option<Value>, count: u64) -> Result<Vec<Vec<Value>>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let CursorQuery { program, compiled } = self.cursor_query(id, Rows::Next(step, count))?;
        let mut vars = self.info.cursors.borrow().get(id).expect("the caller has found it").vars.clone();
        vars.resize(program.variables.len(), Value::Null);
        if let (Some(place), Some(slot)) = (place, vars.last_mut()) {
            *slot = place;
        }
        let mut rows = self.run_cursor_query(&compiled, &mut vars)?;
        if step.is_back() {
            rows.reverse();
        }
        Ok(rows)
    }

    /// Stands where a movement ended.
    fn land(&mut self, id: u64, landing: Landing) -> bool {
        let mut cursors = self.info.cursors.borrow_mut();
        let c = cursors.get_mut(id).expect("nothing removes it while it is fetched from");
        let (rows, position, adjusted) = match landing {
            Landing::Before => (Vec::new(), 0, false),
            Landing::On(rows, adjusted) => (rows, 1, adjusted),
            Landing::Behind => (Vec::new(), 1, false),
        };
        c.rows = rows.into_iter().map(CursorRow::new).collect();
        c.position = position;
        adjusted
    }
}

/// Where a cursor stands: without rows it is before its first row or behind its last.
fn stand(c: &Cursor) -> Stand {
    let place = |row: &CursorRow| row.values.last().cloned().unwrap_or(Value::Null);
    match (c.rows.first(), c.rows.last()) {
        (Some(first), Some(last)) => Stand::On { first: place(first), last: place(last) },
        _ if c.position == 0 => Stand::Before,
        _ => Stand::Behind,
    }
}

/// The query of a step: the cursor's own for a range of its table, with the place `@$key<n>` of the last hidden column.
pub(super) fn step_query(c: &Cursor, step: Step, count: u64) -> Option<Unit> {
    let descending = c.walk.as_ref()?.descending != step.is_back();
    let mut select = c.definition.select.clone();
    let span = select.query.span;
    let ast::QueryBody::Select(body) = &mut select.query.body else { return None };
    let qualifier = exposed_name(body)?;
    let place = || column(Some(&qualifier), LOCATOR, span);
    add_keys(body, &qualifier, &c.key_columns, span);
    if matches!(step, Step::Behind | Step::Before) {
        let variable = format!("@$key{}", c.key_columns.len() - 1);
        let right = Box::new(expr(ast::ExprKind::Variable(variable.into()), span));
        let op = if descending { ast::CompareOp::Less } else { ast::CompareOp::Greater };
        let beyond = expr(ast::ExprKind::Compare { op, left: Box::new(place()), right }, span);
        let terms = body.filter.take().into_iter().chain([beyond]).collect();
        body.filter = Some(all_of(terms, span));
    }
    let count = match i32::try_from(count) {
        Ok(count) => ast::Literal::Int(count),
        Err(_) => ast::Literal::Numeric { mantissa: count.into(), precision: 20, scale: 0 },
    };
    let count = expr(ast::ExprKind::Literal(count), span);
    body.top = Some(ast::Top { count, percent: false, with_ties: false });
    select.query.order_by = vec![ast::OrderItem { expr: place(), descending }];
    lock_rows(c, body);
    Some(select_unit(select))
}

impl FetchDirection {
    /// The same among the fetches of the API, with its number of rows.
    pub(super) fn as_fetch(&self, argument: i64) -> (FetchKind, i64) {
        match self {
            FetchDirection::Next => (FetchKind::Next, 0),
            FetchDirection::Prior => (FetchKind::Previous, 0),
            FetchDirection::First => (FetchKind::First, 0),
            FetchDirection::Last => (FetchKind::Last, 0),
            FetchDirection::Absolute(_) => (FetchKind::Absolute, argument),
            FetchDirection::Relative(_) => (FetchKind::Relative, argument),
        }
    }
}
