//! Hints that a query is compiled with: those of `sp_query_store_set_hints`, in the place of its own.

use super::identity::Identity;
use super::rows::{HintRow, QueryRow, TextRow, read_rows};
use super::{Map, Wanted};
use crate::engine::DatabaseEntry;
use crate::program::Program;
use keel_parser::ast::{self, StatementKind};
use keel_types::error::Result;
use parking_lot::Mutex;
use std::sync::Arc;

/// Hints by text and module.
type ByQuery = Map<(String, i32), Arc<str>>;

/// Which queries have hints.
#[derive(Default)]
pub(super) struct Hints(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Grows when they change.
    change: u64,
    /// `None` before anybody has asked, or after a change.
    hints: Option<Found>,
    /// Those that the plans which are kept were made with: of a copy only.
    followed: Arc<ByQuery>,
}

/// Hints as they were read.
struct Found {
    /// How far a copy was redone.
    at: u64,
    rows: Vec<(u64, HintRow)>,
    by_query: Arc<ByQuery>,
}

impl Hints {
    /// They have changed.
    pub fn forget(&self) {
        let mut known = self.0.lock();
        known.change += 1;
        known.hints = None;
    }

    /// Whether those of a copy are others than when this was last asked: plans that were made before have to be made anew.
    pub fn follow(&self, entry: &DatabaseEntry) -> Result<bool> {
        let now = self.of(entry)?;
        let before = std::mem::replace(&mut self.0.lock().followed, Arc::clone(&now));
        Ok(*before != *now)
    }

    /// Those of a database. Where a copy has been redone since, the few rows of hints are read, and the queries that they are of when those
    /// have changed. Nothing is held while they are read: that may find that the role has changed, which forgets them.
    fn of(&self, entry: &DatabaseEntry) -> Result<Arc<ByQuery>> {
        let at = if entry.is_copy() { entry.store.applied().0 } else { 0 };
        let change = {
            let known = self.0.lock();
            if let Some(found) = known.hints.as_ref().filter(|found| found.at == at) {
                return Ok(Arc::clone(&found.by_query));
            }
            known.change
        };
        let rows = read_rows::<HintRow>(entry)?;
        if let Some(found) = self.0.lock().hints.as_mut().filter(|found| found.rows == rows) {
            found.at = found.at.max(at);
            return Ok(Arc::clone(&found.by_query));
        }
        let by_query = Arc::new(by_query(entry, &rows)?);
        let mut known = self.0.lock();
        if known.change == change {
            known.hints = Some(Found { at, rows, by_query: Arc::clone(&by_query) });
        }
        Ok(by_query)
    }
}

fn by_query(entry: &DatabaseEntry, rows: &[(u64, HintRow)]) -> Result<ByQuery> {
    if rows.is_empty() {
        return Ok(ByQuery::default());
    }
    let queries: Map<u64, QueryRow> = read_rows::<QueryRow>(entry)?.into_iter().collect();
    let texts: Map<u64, TextRow> = read_rows::<TextRow>(entry)?.into_iter().collect();
    let by_query = rows.iter().filter_map(|(_, hint)| {
        let query = queries.get(&hint.query)?;
        Some(((texts.get(&query.text)?.text.clone(), query.object), hint.text.as_str().into()))
    });
    Ok(by_query.collect())
}

/// The statement as its hints say; `None` of one that has none, which are nearly all.
pub(crate) fn hinted(
    entry: &DatabaseEntry,
    program: &Program,
    statement: &ast::Statement,
) -> Result<Option<ast::Statement>> {
    let picture = entry.picture();
    let is_on = picture.settings().query_store.as_ref().is_some_and(|s| s.wanted != Wanted::Off);
    if !is_on {
        return Ok(None);
    }
    // A store that cannot be read keeps nobody from his queries; the thread that cleans it says so in the error log.
    let Ok(hints) = entry.query_store.hints.of(entry) else { return Ok(None) };
    if hints.is_empty() {
        return Ok(None);
    }
    let identity = Identity::of(program, (statement.span.start, statement.span.end));
    let Some(text) = hints.get(&(identity.text, identity.object)) else { return Ok(None) };
    // What was accepted can be read.
    let Some(options) = parse(text).ok() else { return Ok(None) };
    let mut statement = statement.clone();
    let own = match &mut statement.kind {
        StatementKind::Select(s) => &mut s.options,
        StatementKind::Insert(s) => &mut s.options,
        StatementKind::Update(s) => &mut s.options,
        StatementKind::Delete(s) => &mut s.options,
        StatementKind::Merge(s) => &mut s.options,
        _ => return Ok(None),
    };
    *own = options;
    Ok(Some(statement))
}

/// Hints as they are written: `OPTION (…)`.
pub(super) fn parse(text: &str) -> std::result::Result<Vec<ast::QueryHint>, Box<keel_parser::ParseError>> {
    let batch = keel_parser::parse_batch(
        &format!("SELECT 1\n{text}"),
        keel_parser::ParseOptions { quoted_identifier: true },
    )?;
    match batch.statements.into_iter().next().map(|s| s.kind) {
        Some(StatementKind::Select(select)) => Ok(select.options),
        _ => Ok(Vec::new()),
    }
}
