//! Removing old versions of rows: what HISTORY_RETENTION_PERIOD promises.
//!
//! A version is too old when it ended before the table's retention period. Queries stop showing it then (the binder adds the
//! condition), so nobody sees when it really goes: with [`clean`], which the host calls now and then, a few thousand rows a
//! transaction, or with `sys.sp_cleanup_temporal_history`. Only who may write cleans; secondaries hear of it by the log.

use crate::engine::{DatabaseEntry, Engine};
use crate::run::Runner;
use crate::session::scope::Scope;
use crate::session::{Session, SessionOptions};
use keel_base::DatabaseId;
use keel_node::LockMode;
use keel_node::Role;
use keel_parser::ast;
use keel_query::catalog::{Catalog as _, ObjectId, TableDef};
use keel_query::{Dml, NoRows};
use keel_types::error::Result;
use std::sync::Arc;

/// The database's option that lets it happen.
pub const OPTION: &str = "TEMPORAL_HISTORY_RETENTION";
/// Rows removed in one transaction: few enough that writers of the table are not kept waiting for their locks.
const ROWS_MAX: u32 = 10_000;

/// Removes what is too old from every database of the instance that is written here. Stops early when `stopping` says so.
pub fn clean(engine: &Arc<Engine>, stopping: &dyn Fn() -> bool) -> Result<()> {
    for entry in engine.databases() {
        let picture = entry.picture();
        let settings = picture.settings();
        let writes = matches!(entry.store.role(), Role::Standalone | Role::Primary);
        let written = writes && !settings.read_only && !settings.offline;
        if !written || entry.is_restoring() || !picture.limits_history() {
            continue;
        }
        let due = picture.tables().filter(|t| limited(t)).map(|t| t.object_id).collect::<Vec<_>>();
        if due.is_empty() {
            continue;
        }
        let mut session = Session::open(Arc::clone(engine), options(&entry))?;
        session.serve_the_server();
        for table in due {
            while !stopping() && session.clean_history(entry.id, table, ROWS_MAX)? >= u64::from(ROWS_MAX) {}
        }
    }
    Ok(())
}

fn limited(table: &TableDef) -> bool {
    table.versioning().is_some_and(|v| v.retention.is_some())
}

fn options(entry: &DatabaseEntry) -> SessionOptions {
    SessionOptions {
        login: "sa".to_owned(),
        sysadmin: true,
        database: entry.name().to_string(),
        app_name: "history clean-up".to_owned(),
        ..SessionOptions::default()
    }
}

impl Runner<'_> {
    /// Removes at most so many rows that are too old from the history of a table; says how many.
    pub(crate) fn clean_history(
        &mut self,
        database: DatabaseId,
        table: ObjectId,
        rows_max: Option<u32>,
    ) -> Result<u64> {
        let mut removed = 0;
        self.in_statement(|runner| {
            removed = runner.remove_old(database, table, rows_max)?;
            Ok(())
        })?;
        Ok(removed)
    }

    fn remove_old(&mut self, database: DatabaseId, table: ObjectId, rows_max: Option<u32>) -> Result<u64> {
        let info = self.info;
        let Some(entry) = info.engine.database_by_id(database) else { return Ok(0) };
        // Locked before it is looked at: it stays what it is.
        let history = info.picture(&entry).table_by_id(table).and_then(|t| t.versioning().map(|v| v.history));
        let Some(history) = history else { return Ok(0) };
        let txn = self.txns_dyn().transaction(database)?;
        let lock = txn.lock_table(history as u32, LockMode::IntentExclusive);
        lock.map_err(|e| crate::map::txn_error(e, "", info.shared.id))?;
        let picture = info.picture(&entry);
        let (Some(table), Some(history)) = (picture.table_by_id(table), picture.table_by_id(history)) else {
            return Ok(0);
        };
        let Some(statement) = statement(&entry, &picture, &table, &history, rows_max) else { return Ok(0) };
        let parse = keel_parser::ParseOptions { quoted_identifier: true };
        let batch = keel_parser::parse_batch(&statement, parse).map_err(crate::run::parse_error)?;
        let Some(ast::StatementKind::Delete(delete)) = batch.statements.first().map(|s| &s.kind) else {
            return Ok(0);
        };
        let mut scope = Scope::bare(info, database);
        scope.cleans_history = true;
        let plan = keel_query::compile_dml(&scope, Dml::Delete(delete))?;
        let run = plan.run(&mut self.context_with(&mut []), &mut NoRows)?;
        Ok(run.rows)
    }
}

/// `None` when the table limits nothing, or its history is not one any more.
fn statement(
    entry: &DatabaseEntry,
    picture: &crate::catalog::Picture,
    table: &TableDef,
    history: &TableDef,
    rows_max: Option<u32>,
) -> Option<String> {
    let oldest = table.versioning().filter(|v| v.history == history.object_id)?.oldest_kept()?;
    let end = table.period.as_ref()?.end;
    let end = &table.columns.iter().find(|c| c.column_id == end)?.name;
    let quoted = |name: &str| format!("[{}]", name.replace(']', "]]"));
    let schema = picture.schema_name(history.schema_id)?;
    let name = [&*entry.name(), schema.as_str(), history.name.as_str()].map(quoted).join(".");
    let top = rows_max.map_or(String::new(), |n| format!("TOP ({n}) "));
    Some(format!("DELETE {top}FROM {name} WHERE {} < {oldest}", quoted(end)))
}
