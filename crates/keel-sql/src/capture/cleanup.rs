//! Removing changes whose retention is over, on the primary; secondaries hear of it by the log.
//!
//! The work is `sys.sp_cdc_cleanup_change_table`, done for all instances at once by a session of the system's own.

use crate::agent::{Clerk, Office};
use crate::engine::{DatabaseEntry, Engine};
use keel_node::Role;
use keel_parser::to_text::quote_name;
use keel_types::error::Result;
use std::sync::Arc;

/// Removes what is too old from every database of the instance that is written here and has a clean-up job. Stops early when
/// `stopping` says so.
pub fn clean(engine: &Arc<Engine>, stopping: &dyn Fn() -> bool) -> Result<()> {
    for entry in engine.databases() {
        let picture = entry.picture();
        let settings = picture.settings();
        let writes = matches!(entry.store.role(), Role::Standalone | Role::Primary);
        let written = writes && !settings.read_only && !settings.offline && !entry.is_restoring();
        if stopping() {
            return Ok(());
        }
        if written && settings.capture.is_some_and(|c| c.cleanup.is_some()) {
            clean_database(engine, &entry)?;
        }
    }
    Ok(())
}

/// Removes what is too old from a database.
pub(super) fn clean_database(engine: &Arc<Engine>, entry: &Arc<DatabaseEntry>) -> Result<()> {
    let Some(job) = entry.picture().settings().capture.and_then(|c| c.cleanup) else { return Ok(()) };
    let mut clerk = Clerk::new(&Office::of_instance(engine), "SQLAgent - CDC Cleanup")?;
    clerk.run(&format!(
        "exec {}.sys.sp_keel_cdc_cleanup {}, {}",
        quote_name(&entry.name()),
        job.retention,
        job.threshold
    ))
}
