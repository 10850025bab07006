//! Removing changes that CHANGE_RETENTION no longer promises.
//!
//! The host calls [`clean`] now and then; `sys.sp_flush_CT_internal_table_on_demand` does the same for one database at once. Versions go from
//! the oldest on, with the changes of all tables, some thousand in a transaction; the newest version that is gone is
//! remembered in the same transaction, so that CHANGE_TRACKING_MIN_VALID_VERSION and what can be read always fit together. Only who
//! may write cleans; secondaries hear of it by the log.

use crate::engine::{DatabaseEntry, Engine};
use crate::map::txn_error;
use keel_node::{Isolation, LockMode, Role};
use keel_query::catalog::{ChangeTrackingDef, TableDef};
use keel_query::changes;
use keel_types::datetime::TICKS_PER_SECOND;
use keel_types::error::Result;
use std::sync::Arc;
use std::time::Duration;

/// How long it waits for who changes the definition of a tracked table: then it is for the next time.
const WAIT: Duration = Duration::from_secs(10);
/// 1222: the wait was too long.
const LOCK_TIMEOUT: i32 = 1222;
/// Changes removed in one transaction.
const CHANGES_MAX: usize = 10_000;

/// Removes what is too old from every database of the instance that is written here and has AUTO_CLEANUP. Stops early when
/// `stopping` says so.
pub fn clean(engine: &Arc<Engine>, stopping: &dyn Fn() -> bool) -> Result<()> {
    for entry in engine.databases() {
        let picture = entry.picture();
        let settings = picture.settings();
        let writes = matches!(entry.store.role(), Role::Standalone | Role::Primary);
        let written = writes && !settings.read_only && !settings.offline && !entry.is_restoring();
        if written && settings.change_tracking.is_some_and(|tracking| tracking.auto_cleanup) {
            match clean_database(engine, &entry, stopping) {
                Err(e) if e.number == LOCK_TIMEOUT => {}
                done => done?,
            }
        }
    }
    Ok(())
}

/// Removes what is too old from a database.
pub(crate) fn clean_database(
    engine: &Engine,
    entry: &Arc<DatabaseEntry>,
    stopping: &dyn Fn() -> bool,
) -> Result<()> {
    let Some(kept) = entry.picture().settings().change_tracking else { return Ok(()) };
    let before = engine.now_utc() - kept.minutes() * 60 * TICKS_PER_SECOND;
    while !stopping() && clean_some(entry, before)? >= CHANGES_MAX {}
    Ok(())
}

/// One transaction; says how many changes and versions are gone.
fn clean_some(entry: &Arc<DatabaseEntry>, before: i64) -> Result<usize> {
    let failed = |e| txn_error(e, &entry.name(), 0);
    let _cleaning = entry.change_cleaning.lock();
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    txn.set_lock_timeout(Some(WAIT));
    // Locked before they are looked at: their trees stay what they are.
    let tracked = |picture: &crate::catalog::Picture| -> Vec<Arc<TableDef>> {
        picture.tables().filter(|t| t.change_tracking.is_some()).cloned().collect()
    };
    for table in tracked(&entry.picture()) {
        txn.lock_table(table.object_id as u32, LockMode::IntentExclusive).map_err(failed)?;
    }
    let picture = entry.picture();
    let Some(trees) = picture.settings().change_trees else { return Ok(0) };
    let locked = |t: &&Arc<TableDef>| txn.holds_table(t.object_id as u32, LockMode::IntentExclusive);
    let tables: Vec<ChangeTrackingDef> =
        tracked(&picture).iter().filter(locked).filter_map(|t| t.change_tracking.clone()).collect();
    let (_, removed) = changes::clean(&mut txn, trees, &tables, before, CHANGES_MAX).map_err(failed)?;
    if removed > 0 {
        txn.commit().and_then(keel_node::Commit::wait).map_err(failed)?;
    }
    Ok(removed)
}
