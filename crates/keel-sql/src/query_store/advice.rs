//! What a query is compiled by: hints of `sp_query_store_set_hints`, in the place of its own, or the directions of a plan that
//! `sp_query_store_force_plan` forces. A query has one or the other.
//!
//! What is compiled by a plan's directions has to be that plan, by its shape; otherwise the query is compiled as if there were none, and that is
//! counted with the number of the error that the product has for the reason.

use super::identity::{Identity, shape_anywhere};
use super::rows::{
    ContextRow, DirectionsRow, ForcedRow, HintRow, QueryRow, Stored, TextRow, read_all, read_rows,
};
use super::{Map, Wanted, is_written, loaded};
use crate::engine::DatabaseEntry;
use crate::program::{CompiledCode, Program};
use crate::session::info::Info;
use keel_parser::ast::{self, StatementKind};
use keel_query::plan::{Directions, Told};
use keel_types::error::Result;
use parking_lot::Mutex;
use std::sync::Arc;

/// An index of the plan is not there any more, ...
const NO_INDEX: i32 = 8712;
/// ... or no plan is the forced one.
const NO_PLAN: i32 = 8698;

/// What tells queries apart here: text and module.
type Name = (String, i32);

/// What queries are compiled by.
#[derive(Default)]
struct ByQuery {
    hints: Map<Name, Arc<str>>,
    /// A text may be several queries, which differ in their settings.
    plans: Map<Name, Vec<(ContextRow, u8, Forced)>>,
}

/// A plan that is forced.
#[derive(Clone)]
pub(crate) struct Forced {
    plan: u64,
    shape: u64,
    /// What it is made by.
    pub directions: Arc<Directions>,
}

/// Which queries have hints, and which have a plan that is forced.
#[derive(Default)]
pub(super) struct Advice(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Grows when they change.
    change: u64,
    /// `None` before anybody has asked, or after a change.
    found: Option<Found>,
    /// Those that the plans which are kept were made with: of a copy only.
    followed: Rows,
}

/// The rows that say so.
#[derive(Clone, Default, PartialEq)]
struct Rows {
    hints: Vec<(u64, HintRow)>,
    plans: Vec<(u64, ForcedRow)>,
}

impl Rows {
    fn read(entry: &DatabaseEntry) -> Result<Rows> {
        Ok(Rows { hints: read_rows(entry)?, plans: read_rows(entry)? })
    }

    fn is_empty(&self) -> bool {
        self.hints.is_empty() && self.plans.is_empty()
    }
}

/// What was read.
struct Found {
    /// How far a copy was redone.
    at: u64,
    rows: Rows,
    by_query: Arc<ByQuery>,
}

impl Advice {
    /// They have changed.
    pub fn forget(&self) {
        let mut known = self.0.lock();
        known.change += 1;
        known.found = None;
    }

    /// Whether those of a copy are others than when this was last asked: plans that were made before have to be made anew.
    pub fn follow(&self, entry: &DatabaseEntry) -> Result<bool> {
        self.of(entry)?;
        let mut known = self.0.lock();
        let Some(now) = known.found.as_ref().map(|found| found.rows.clone()) else { return Ok(false) };
        let before = std::mem::replace(&mut known.followed, now);
        Ok(before != known.followed)
    }

    /// Those of a database. Where a copy has been redone since, the few rows are read, and the queries that they are of when those
    /// have changed. Nothing is held while they are read: that may find that the role has changed, which forgets them.
    fn of(&self, entry: &DatabaseEntry) -> Result<Arc<ByQuery>> {
        let at = if entry.is_copy() { entry.store.applied().0 } else { 0 };
        let change = {
            let known = self.0.lock();
            if let Some(found) = known.found.as_ref().filter(|found| found.at == at) {
                return Ok(Arc::clone(&found.by_query));
            }
            known.change
        };
        let rows = Rows::read(entry)?;
        if let Some(found) = self.0.lock().found.as_mut().filter(|found| found.rows == rows) {
            found.at = found.at.max(at);
            return Ok(Arc::clone(&found.by_query));
        }
        let by_query = Arc::new(by_query(entry, &rows)?);
        let mut known = self.0.lock();
        if known.change == change {
            known.found = Some(Found { at, rows, by_query: Arc::clone(&by_query) });
        }
        Ok(by_query)
    }
}

fn by_query(entry: &DatabaseEntry, rows: &Rows) -> Result<ByQuery> {
    let mut found = ByQuery::default();
    if rows.is_empty() {
        return Ok(found);
    }
    let queries: Map<u64, QueryRow> = read_rows::<QueryRow>(entry)?.into_iter().collect();
    let texts: Map<u64, TextRow> = read_rows::<TextRow>(entry)?.into_iter().collect();
    let named = |query: &u64| {
        let query = queries.get(query)?;
        Some(((texts.get(&query.text)?.text.clone(), query.object), query))
    };
    for (_, hint) in &rows.hints {
        if let Some((name, _)) = named(&hint.query) {
            found.hints.insert(name, hint.text.as_str().into());
        }
    }
    if rows.plans.is_empty() {
        return Ok(found);
    }
    let contexts: Map<u64, ContextRow> = read_rows::<ContextRow>(entry)?.into_iter().collect();
    let directions = directions_of(entry, &rows.plans)?;
    for (_, forced) in &rows.plans {
        if let Some((name, query)) = named(&forced.query)
            && let Some(context) = contexts.get(&query.context)
            && let Some(row) = directions.get(&forced.plan)
        {
            let directions = Arc::clone(&row.1);
            let forced = Forced { plan: forced.plan, shape: row.0, directions };
            let of = found.plans.entry(name).or_default();
            of.push((context.clone(), query.parameters, forced));
        }
    }
    Ok(found)
}

/// Shapes and directions of plans, by the plan's number.
type ByPlan = Map<u64, (u64, Arc<Directions>)>;

fn directions_of(entry: &DatabaseEntry, plans: &[(u64, ForcedRow)]) -> Result<ByPlan> {
    let mut found = ByPlan::default();
    read_all(entry, DirectionsRow::KIND, |plan, bytes| {
        if plans.iter().any(|(_, row)| row.plan == plan)
            && let Some(row) = DirectionsRow::decode(bytes)
        {
            found.insert(plan, (row.shape, Arc::new(row.directions)));
        }
    })?;
    Ok(found)
}

/// What queries of a database are compiled by, where its store is on. A store that cannot be read keeps nobody from his queries; the
/// thread that cleans it says so in the error log.
fn advice_of(entry: &DatabaseEntry) -> Option<Arc<ByQuery>> {
    let picture = entry.picture();
    let is_on = picture.settings().query_store.as_ref().is_some_and(|s| s.wanted != Wanted::Off);
    if is_on { entry.query_store.advice.of(entry).ok() } else { None }
}

/// The plan that is forced for a statement; `None` of one that has none, which are nearly all.
pub(crate) fn forced(
    info: &Info,
    entry: &DatabaseEntry,
    program: &Program,
    statement: &ast::Statement,
) -> Option<Forced> {
    let advice = advice_of(entry).filter(|advice| !advice.plans.is_empty())?;
    let identity = Identity::of(program, (statement.span.start, statement.span.end));
    let plans = advice.plans.get(&(identity.text, identity.object))?;
    let context = info.context_row(identity.object != 0, program.identity.schema_id);
    let is_own = |(of, parameters, _): &&(ContextRow, u8, Forced)| {
        *of == context && *parameters == identity.parameters
    };
    plans.iter().find(is_own).map(|(_, _, forced)| forced.clone())
}

impl Forced {
    /// Why what was compiled by its directions is not it: the number of an error.
    pub fn failed(&self, compiled: &CompiledCode) -> Option<i32> {
        let CompiledCode::Plan(plan) = compiled else { return Some(NO_PLAN) };
        let is_it = shape_anywhere(&plan.steps()) == self.shape;
        let why = if plan.told() == Told::LostIndex { NO_INDEX } else { NO_PLAN };
        (!is_it).then_some(why)
    }

    /// It could not be forced, because of an error of this number. Counted where the store is written.
    pub fn count_failure(&self, entry: &DatabaseEntry, failure: i32) {
        if is_written(entry)
            && let Ok(mut memory) = loaded(entry)
        {
            memory.count_failure(self.plan, failure);
        }
    }
}

/// The statement as its hints say; `None` of one that has none, which are nearly all.
pub(crate) fn hinted(
    entry: &DatabaseEntry,
    program: &Program,
    statement: &ast::Statement,
) -> Result<Option<ast::Statement>> {
    let Some(advice) = advice_of(entry).filter(|advice| !advice.hints.is_empty()) else { return Ok(None) };
    let identity = Identity::of(program, (statement.span.start, statement.span.end));
    let Some(text) = advice.hints.get(&(identity.text, identity.object)) else { return Ok(None) };
    // What was accepted can be read.
    let Some(options) = parse_hints(text).ok() else { return Ok(None) };
    Ok(with_hints(statement, options))
}

/// A statement with other hints than its own; `None` of one that takes none.
pub(crate) fn with_hints(statement: &ast::Statement, hints: Vec<ast::QueryHint>) -> Option<ast::Statement> {
    let mut statement = statement.clone();
    let own = match &mut statement.kind {
        StatementKind::Select(s) => &mut s.options,
        StatementKind::Insert(s) => &mut s.options,
        StatementKind::Update(s) => &mut s.options,
        StatementKind::Delete(s) => &mut s.options,
        StatementKind::Merge(s) => &mut s.options,
        _ => return None,
    };
    *own = hints;
    Some(statement)
}

/// Hints as they are written: `OPTION (…)`.
pub(crate) fn parse_hints(
    text: &str,
) -> std::result::Result<Vec<ast::QueryHint>, Box<keel_parser::ParseError>> {
    let batch = keel_parser::parse_batch(
        &format!("SELECT 1\n{text}"),
        keel_parser::ParseOptions { quoted_identifier: true },
    )?;
    match batch.statements.into_iter().next().map(|s| s.kind) {
        Some(StatementKind::Select(select)) => Ok(select.options),
        _ => Ok(Vec::new()),
    }
}
