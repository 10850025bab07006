//! Whose turn it is to be crawled: in a round, every index of every database has one step.
//!
//! So none waits until another has nothing to do, which may be never. Who has failed, whose table somebody is changing, and whose database
//! waits for replicas loses its turn, and nobody else does.

use super::crawl::{self, Errand, Turn};
use crate::engine::{DatabaseEntry, Engine};
use crate::map::{db_error, txn_error};
use crate::procs::{Outcome, ok};
use crate::run::{Argument, Runner};
use keel_node::Role;
use keel_query::SessionInfo as _;
use keel_query::catalog::ObjectId;
use keel_query::exec::error::panicked;
use keel_types::SqlError;
use keel_types::error::Result;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// 1222: the wait was too long.
const LOCK_TIMEOUT: i32 = 1222;
/// How long `sp_keel_fulltext_wait` waits for who changes the definition of a table. The thread does not wait: it comes again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the thread looks whether replicas have answered, when there is nothing else to do.
const LOOK: Duration = Duration::from_millis(5);
/// So often it looks before the round ends: what has failed in it is told within a second.
const LOOKS: u32 = 200;

/// One round: a step for every index of every database that is written here. Rings the bell when there is more to do; at the end of a round
/// in which nothing was done and some wait for replicas, it waits with them for a second at most. Returns early when `stopping` says so.
/// Says what went wrong, with the name of the index.
pub fn crawl_all(engine: &Arc<Engine>, stopping: &dyn Fn() -> bool) -> Vec<SqlError> {
    let mut round = Round { engine, failed: Vec::new(), more: false, waiting: Vec::new() };
    for entry in engine.databases() {
        if is_written(&entry) {
            round.database(&entry, stopping);
        }
    }
    if !round.more {
        round.rest(stopping);
    }
    if round.more || !round.waiting.is_empty() {
        engine.full_text_bell.ring();
    }
    round.failed
}

struct Round<'r> {
    engine: &'r Engine,
    failed: Vec<SqlError>,
    /// Some step has done something.
    more: bool,
    /// Databases with steps that are not through.
    waiting: Vec<Arc<DatabaseEntry>>,
}

impl Round<'_> {
    fn database(&mut self, entry: &Arc<DatabaseEntry>, stopping: &dyn Fn() -> bool) {
        let tables = indexed(entry);
        if let Err(e) = if tables.is_empty() { Ok(()) } else { show_commits(entry) } {
            self.failed.push(*e);
            return;
        }
        let mut waits = false;
        for table in tables {
            if stopping() {
                return;
            }
            match self.table(entry, table) {
                Ok(Turn::Done) => self.more = true,
                Ok(Turn::Nothing) => {}
                Ok(Turn::Waits) => waits = true,
                Err(e) if e.number == LOCK_TIMEOUT => {}
                Err(e) => self.failed.push(of_index(entry, table, *e)),
            }
        }
        if waits {
            self.waiting.push(Arc::clone(entry));
        }
    }

    /// A step of one index. A panic in it is an error of this index.
    fn table(&self, entry: &Arc<DatabaseEntry>, table: ObjectId) -> Result<Turn> {
        // Somebody waits with `sp_keel_fulltext_wait`, and does what there is to do.
        let Some(mut last) = entry.full_text.last.try_lock() else { return Ok(Turn::Waits) };
        let errand = Errand { engine: self.engine, entry, table, patience: Duration::ZERO, until: None };
        catch_unwind(AssertUnwindSafe(|| errand.step(&mut last))).unwrap_or_else(|p| Err(panicked(&*p)))
    }

    /// Waits until some step is through, or somebody rings.
    fn rest(&self, stopping: &dyn Fn() -> bool) {
        let goes_on = || stopping() || self.waiting.iter().any(|entry| entry.full_text.goes_on());
        let mut looks = 0..LOOKS;
        while !self.waiting.is_empty() && looks.next().is_some() && !goes_on() {
            if self.engine.full_text_bell.wait(LOOK) {
                return;
            }
        }
    }
}

/// Whether the database is written here.
fn is_written(entry: &DatabaseEntry) -> bool {
    let picture = entry.picture();
    let settings = picture.settings();
    let writes = matches!(entry.store.role(), Role::Standalone | Role::Primary);
    writes && !settings.read_only && !settings.offline && !entry.is_restoring()
}

/// Tables and views with an index that is enabled.
fn indexed(entry: &DatabaseEntry) -> Vec<ObjectId> {
    let picture = entry.picture();
    let enabled = picture.stored().filter(|t| t.full_text.as_ref().is_some_and(|def| def.enabled));
    enabled.map(|t| t.object_id).collect()
}

/// A commit rings when it has its place in the log, and is seen when it is durable.
fn show_commits(entry: &DatabaseEntry) -> Result<()> {
    let positions = entry.store.positions();
    if positions.hardened < positions.appended {
        entry.store.harden().map_err(|e| db_error(e, &entry.name()))?;
    }
    Ok(())
}

/// What went wrong, with where.
fn of_index(entry: &DatabaseEntry, table: ObjectId, e: SqlError) -> SqlError {
    let name = entry.picture().stored_by_id(table).map_or_else(|| table.to_string(), |t| t.name.clone());
    SqlError { message: format!("[{}].[{name}]: {}", entry.name(), e.message), ..e }
}

/// `sp_keel_fulltext_wait`: indexes what waits in the current database when it begins, populations that have begun too; not what is changed while
/// it works. What is committed when it begins is found when it ends. Error 1222 when somebody changes the definition of a table for long.
pub(crate) fn sp_keel_fulltext_wait(runner: &mut Runner<'_>, _args: &[Argument]) -> Outcome {
    let info = runner.info;
    // It has transactions of its own, which would wait for what the session's has locked.
    if info.transaction.borrow().count > 0 {
        return Err(crate::errors::not_in_transaction("sp_keel_fulltext_wait").into());
    }
    let entry = info.current_database();
    if !is_written(&entry) {
        return Err(crate::errors::database_read_only(entry.name()).into());
    }
    let failed = |e| txn_error(e, &entry.name(), info.shared.id);
    let tables = indexed(&entry);
    if !tables.is_empty() {
        entry.store.settle_commits().map_err(failed)?;
    }
    let errands = tables.into_iter().map(|table| Ok((table, last_pending(&entry, table)?)));
    for (table, until) in errands.collect::<Result<Vec<_>>>()? {
        let errand =
            Errand { engine: &info.engine, entry: &entry, table, patience: PATIENCE, until: Some(&until) };
        loop {
            info.look_up()?;
            let Some(mut last) = entry.full_text.last.try_lock_for(LOOK) else { continue };
            if let Some(commit) = last.remove(&table) {
                commit.wait().map_err(failed)?;
            }
            if matches!(errand.step(&mut last)?, Turn::Nothing) {
                break;
            }
        }
    }
    ok()
}

/// The last pending entry of a table's index.
fn last_pending(entry: &DatabaseEntry, table: ObjectId) -> Result<Option<Vec<u8>>> {
    let Some(table) = entry.picture().stored_by_id(table) else { return Ok(None) };
    let Some(def) = &table.full_text else { return Ok(None) };
    super::status::read_index(entry, |txn, view| crawl::last_pending(txn, view, def))
}
