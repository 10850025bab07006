//! Cursors of a session.
//!
//! Static and keyset cursors keep the rows their query gave when they were opened: static ones show them as they were, keyset ones read
//! each row again by its key when it is fetched ([`Sensitivity`]). A dynamic cursor keeps the rows last fetched and looks for the next ones
//! in its table ([`Walk`]), or where their order is not the table's does as a keyset one and passes over what is gone. A fast-forward cursor
//! walks, too, some rows ahead. Those of the API are in [`crate::api_cursor`].

use crate::api_cursor::{Agreed, Window};
use crate::errors;
use crate::program::{Compiled, FetchDirection, Program};
use crate::session::scope::FrameTables;
use crate::sink::ColumnMeta;
use keel_parser::ast;
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use smol_str::SmolStr;
use std::sync::Arc;

/// A row of an open cursor.
#[derive(Clone, Debug)]
pub struct CursorRow {
    /// Values of the query's columns.
    pub values: Vec<Value>,
}

impl CursorRow {
    /// A row.
    #[must_use]
    pub fn new(values: Vec<Value>) -> CursorRow {
        CursorRow { values }
    }
}

/// Level of a cursor that ends with the batch that has made it.
const OF_BATCH: u32 = u32::MAX;

/// The level that a local cursor of a frame's level ends with.
#[must_use]
pub fn local_level(frame: u32) -> u32 {
    if frame == 0 { OF_BATCH } else { frame }
}

/// A cursor.
pub struct Cursor {
    /// Folded name; empty for one that only variables name.
    pub name: SmolStr,
    /// [Level](local_level) it ends with; 0 for GLOBAL.
    pub level: u32,
    /// All directions of FETCH.
    pub scroll: bool,
    /// The query, as it was compiled last.
    pub query: CursorQuery,
    /// Variables as they were when it was declared.
    pub vars: Vec<Value>,
    /// Columns the client sees.
    pub columns: Vec<ColumnMeta>,
    /// The table's column behind each of them; `None` for expressions.
    pub sources: Vec<Option<SmolStr>>,
    /// Key columns that stand behind them in each row, for WHERE CURRENT OF.
    pub key_columns: Vec<CursorKey>,
    /// Rows, when open; those last fetched, where it walks.
    pub rows: Vec<CursorRow>,
    /// 0 before the first row, n + 1 after the last.
    pub position: usize,
    /// How it finds its rows when they are fetched; `None` where it has kept them.
    pub walk: Option<Walk>,
    /// OPEN was done.
    pub open: bool,
    /// No positioned update.
    pub read_only: bool,
    /// Program that declared it.
    pub program: Arc<Program>,
    /// Table variables that it could see then.
    pub tables: FrameTables,
    /// Definition.
    pub definition: ast::CursorDefinition,
    /// What it shows of changes since it was opened.
    pub sensitivity: Sensitivity,
    /// Reads one row by its key; made when it is first needed.
    pub reread: Option<CursorQuery>,
    /// What it has as a cursor of the API.
    pub api: Option<ApiState>,
}

/// What a cursor shows of what happened since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// Nothing.
    Static,
    /// Its rows with their values of now; those that are gone are holes.
    Keyset,
    /// What is there, as far as it belongs to the query: no holes, and, where it walks, rows that came later.
    Dynamic,
}

/// The way of a cursor that looks for its rows in its table, by their places there.
#[derive(Clone, Default)]
pub struct Walk {
    /// Its order is the table's from the end to the beginning.
    pub descending: bool,
    /// How many rows it reads at once where one is asked for: a fast-forward one need not know what is there now.
    pub ahead: u64,
    /// Queries that were compiled for steps, with how many rows they give.
    steps: [Option<(u64, CursorQuery)>; 4],
}

/// Where a walking cursor reads from, in its own order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From its first row on.
    First,
    /// From its last row back.
    Last,
    /// On from behind a place.
    Behind,
    /// Back from before a place.
    Before,
}

impl Step {
    /// Whether it reads from the end to the beginning.
    #[must_use]
    pub fn is_back(self) -> bool {
        matches!(self, Step::Last | Step::Before)
    }
}

impl Walk {
    /// A walk in the order of the table, or against it, row by row.
    #[must_use]
    pub fn new(descending: bool) -> Walk {
        Walk { descending, ahead: 1, ..Walk::default() }
    }

    /// The same, reading ahead.
    #[must_use]
    pub fn reading_ahead(self) -> Walk {
        const ROWS: u64 = 64;
        Walk { ahead: ROWS, ..self }
    }

    /// The query of a step for so many rows, as it was compiled last.
    #[must_use]
    pub fn query(&self, step: Step, count: u64) -> Option<&CursorQuery> {
        self.steps[step as usize].as_ref().filter(|(n, _)| *n == count).map(|(_, query)| query)
    }

    /// One of its queries.
    #[must_use]
    pub fn any_query(&self) -> Option<&CursorQuery> {
        self.steps.iter().flatten().map(|(_, query)| query).next()
    }

    /// Keeps it.
    pub fn keep(&mut self, step: Step, count: u64, query: CursorQuery) {
        self.steps[step as usize] = Some((count, query));
    }
}

/// A column by which a cursor finds a row again.
#[derive(Clone, Debug)]
pub struct CursorKey {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// What a cursor of the API has besides.
#[derive(Clone)]
pub struct ApiState {
    /// Kind and concurrency.
    pub agreed: Agreed,
    /// It closes itself behind its last row.
    pub auto_close: bool,
    /// The rows last fetched.
    pub window: Window,
    /// How some of its columns come was changed since they were last told to the client.
    pub reshaped: bool,
}

/// A compiled query of a cursor.
#[derive(Clone)]
pub struct CursorQuery {
    /// The cursor's program; where one row is asked for, with the key's variables behind its own.
    pub program: Arc<Program>,
    /// The query.
    pub compiled: Arc<Compiled>,
}

/// Which rows a query of a cursor gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All.
    All,
    /// That with a key.
    One,
    /// So many of a walk's next ones.
    Next(Step, u64),
}

impl Cursor {
    /// The columns by which a row is found again. Where a walking cursor's rows are, in its last hidden column, is not among them if they have
    /// another key: that finds a row also where it was moved to.
    #[must_use]
    pub fn finding_keys(&self) -> &[CursorKey] {
        match self.key_columns.as_slice() {
            [keys @ .., _] if self.walk.is_some() && !keys.is_empty() => keys,
            keys => keys,
        }
    }

    /// The values of a row's key.
    #[must_use]
    pub fn key_of<'r>(&self, row: &'r [Value]) -> &'r [Value] {
        row.get(self.columns.len()..).unwrap_or_default()
    }

    /// How many rows it has; -1 where that is not known.
    #[must_use]
    pub fn row_count(&self) -> i64 {
        if self.scroll && self.walk.is_none() { self.rows.len() as i64 } else { -1 }
    }

    /// Opens it before its first row.
    pub fn start(&mut self) {
        self.rows.clear();
        self.position = 0;
        self.open = true;
        if let Some(api) = &mut self.api {
            api.window = Window::default();
        }
    }

    /// Moves and gives the row there.
    pub fn move_to(&mut self, direction: &FetchDirection, argument: i64) -> Option<&CursorRow> {
        let (len, at) = (self.rows.len() as i64, self.position as i64);
        let to = match direction {
            FetchDirection::Next => at + 1,
            FetchDirection::Prior => at - 1,
            FetchDirection::First => 1,
            FetchDirection::Last => len,
            FetchDirection::Absolute(_) if argument < 0 => len + 1 + argument,
            FetchDirection::Absolute(_) => argument,
            FetchDirection::Relative(_) => at + argument,
        };
        self.position = to.clamp(0, len + 1) as usize;
        self.rows.get(self.position.checked_sub(1)?)
    }
}

/// Whether a definition allows all directions of FETCH.
#[must_use]
pub fn scrollable(definition: &ast::CursorDefinition) -> bool {
    match definition.scroll {
        Some(scroll) => scroll,
        None => matches!(
            definition.kind,
            Some(ast::CursorKind::Static | ast::CursorKind::Keyset | ast::CursorKind::Dynamic)
        ),
    }
}

/// Numbers of the API's cursors go up from here, as the product's do.
const FIRST_HANDLE: i32 = 180_150_001;

/// The cursors of a session.
#[derive(Default)]
pub struct Cursors {
    all: Vec<(u64, Cursor)>,
    next: u64,
    /// `@@CURSOR_ROWS`
    pub last_count: i64,
}

impl Cursors {
    /// Adds one.
    pub fn declare(&mut self, cursor: Cursor) -> Result<u64> {
        let taken = |c: &Cursor| c.name == cursor.name && c.level == cursor.level;
        if !cursor.name.is_empty() && self.all.iter().any(|(_, c)| taken(c)) {
            return Err(errors::cursor_exists(&cursor.name));
        }
        self.next += 1;
        self.all.push((self.next, cursor));
        Ok(self.next)
    }

    /// A cursor by name: a local one of this level first, unless GLOBAL was written.
    #[must_use]
    pub fn find(&self, name: &str, level: u32, global: bool) -> Option<u64> {
        let by_level =
            |l: u32| self.all.iter().find(|(_, c)| c.name == name && c.level == l).map(|(id, _)| *id);
        if global { by_level(0) } else { by_level(local_level(level)).or_else(|| by_level(0)) }
    }

    /// By id.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<&Cursor> {
        self.all.iter().find(|(i, _)| *i == id).map(|(_, c)| c)
    }

    /// By id.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Cursor> {
        self.all.iter_mut().find(|(i, _)| *i == id).map(|(_, c)| c)
    }

    /// The number that stands for a cursor at a client.
    #[must_use]
    pub fn handle(id: u64) -> i32 {
        FIRST_HANDLE.wrapping_add((id as i32).wrapping_mul(2))
    }

    /// The cursor of the API with that number.
    #[must_use]
    pub fn by_handle(&self, handle: i64) -> Option<u64> {
        let has = |(id, c): &&(u64, Cursor)| c.api.is_some() && i64::from(Self::handle(*id)) == handle;
        self.all.iter().find(has).map(|(id, _)| *id)
    }

    /// Gives a cursor of the API a name by which statements can mention it.
    pub fn rename(&mut self, id: u64, name: SmolStr) -> Result<()> {
        if self.all.iter().any(|(other, c)| *other != id && c.level == 0 && c.name == name) {
            return Err(errors::cursor_exists(&name));
        }
        if let Some(c) = self.get_mut(id) {
            c.name = name;
        }
        Ok(())
    }

    /// Closes every cursor of the API.
    pub fn remove_api(&mut self) {
        self.all.retain(|(_, c)| c.api.is_none());
    }

    /// DEALLOCATE
    pub fn remove(&mut self, id: u64) {
        self.all.retain(|(i, _)| *i != id);
    }

    /// Local cursors end with their level.
    pub fn leave_level(&mut self, level: u32) {
        if !self.all.is_empty() {
            self.all.retain(|(_, c)| c.level < level.max(1) || c.level == OF_BATCH);
        }
    }

    /// Those end that end with their batch.
    pub fn end_batch(&mut self) {
        self.all.retain(|(_, c)| c.level != OF_BATCH);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Closes and forgets all.
    pub fn clear(&mut self) {
        self.all.clear();
    }

    /// CURSOR_STATUS of a cursor variable: -2 when none is assigned to it.
    #[must_use]
    pub fn status_of_variable(&self, id: Option<u64>) -> i64 {
        match self.status(id) {
            -3 => -2,
            status => status,
        }
    }

    /// CURSOR_STATUS
    #[must_use]
    pub fn status(&self, id: Option<u64>) -> i64 {
        match id.and_then(|id| self.get(id)) {
            None => -3,
            Some(c) if !c.open => -1,
            Some(c) => {
                let unknown = c.walk.is_some() || c.sensitivity == Sensitivity::Dynamic;
                i64::from(unknown || !c.rows.is_empty())
            }
        }
    }
}
