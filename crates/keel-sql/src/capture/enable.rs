//! Enabling and disabling: of a database, and of a table's capture instances.
//!
//! The procedures are natives behind those of `procedures.sql`, which have the product's parameters. What is made is T-SQL, run as one
//! transaction; the part of the source's definition that makes its changes captured is the last step.

use super::instance::{CaptureNames, Instance, literal};
use super::{CaptureSettings, SCHEMA, error};
use crate::catalog::{Picture, fold};
use crate::engine::{DatabaseEntry, MSDB};
use crate::map::txn_error;
use crate::procs::{Outcome, number, ok, string};
use crate::run::{Argument, Runner};
use keel_parser::to_text::quote_name;
use keel_query::Stamp;
use keel_query::catalog::{CaptureDef, Catalog as _, TableDef};
use keel_types::SqlError;
use keel_types::error::Result;
use std::fmt::Write as _;
use std::sync::Arc;

/// Longest name of a capture instance, characters.
const NAME_MAX: usize = 100;
/// Capture instances of a table.
const INSTANCES_MAX: usize = 2;

/// Error 22901 where changes are not captured.
pub(super) fn captured_only(entry: &DatabaseEntry) -> Result<()> {
    if entry.picture().settings().capture.is_some() {
        return Ok(());
    }
    Err(error(
        22901,
        format!(
            "The database '{}' is not enabled for Change Data Capture. Ensure that the correct database context is set and retry the operation. To report on the databases enabled for Change Data Capture, query the is_cdc_enabled column in the sys.databases catalog view.",
            entry.name()
        ),
    ))
}

/// Error 22904 for who does not own the database.
pub(super) fn owner_only(runner: &Runner<'_>) -> Result<()> {
    runner.owner_only().map_err(|_| {
        error(
            22904,
            "Caller is not authorized to initiate the requested action. DBO privileges are required."
                .to_owned(),
        )
    })
}

/// Error 22902 for who is not a sysadmin.
fn sysadmin_only(runner: &Runner<'_>) -> Result<()> {
    runner.sysadmin().map_err(|_| {
        error(
            22902,
            "Caller is not authorized to initiate the requested action. Sysadmin privileges are required."
                .to_owned(),
        )
    })
}

impl Runner<'_> {
    /// Runs batches as one transaction, which is undone when one of them fails.
    fn in_one_transaction(&mut self, batches: &[String]) -> Outcome {
        let mut text = String::from("set nocount on set xact_abort on begin transaction\n");
        for batch in batches {
            let _ = writeln!(text, "exec ({})", literal(batch));
        }
        text.push_str("commit transaction\n");
        self.run_dynamic(text.into(), "".into(), &[], &[])
    }
}

/// `sp_cdc_enable_db`
pub(crate) fn sp_keel_cdc_enable_db(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    let info = runner.info;
    let entry = info.current_database();
    sysadmin_only(runner)?;
    let name = entry.name();
    if entry.id.0 <= MSDB.0 {
        return Err(error(
            22989,
            format!(
                "Could not enable Change Data Capture for database '{name}'. Change data capture is not supported on system databases, or on a distribution database."
            ),
        )
        .into());
    }
    if info.transaction.borrow().count > 0 {
        return Err(crate::errors::not_in_transaction("sp_cdc_enable_db").into());
    }
    if entry.picture().settings().capture.is_some() {
        let text = format!(
            "Database '{name}' is already enabled for Change Data Capture. Ensure that the correct database context is set, and retry the operation. To report on the databases enabled for Change Data Capture, query the is_cdc_enabled column in the sys.databases catalog view."
        );
        runner.report(&SqlError::new(22905, 10, 1, text));
        return ok();
    }
    let picture = info.picture(&entry);
    if picture.schema_id(SCHEMA).is_some() || has_user(&picture) {
        return Err(error(
            22906,
            format!(
                "The database '{name}' cannot be enabled for Change Data Capture because a database user named 'cdc' or a schema named 'cdc' already exists in the current database. These objects are required exclusively by Change Data Capture. Drop or rename the user or schema and retry the operation."
            ),
        )
        .into());
    }
    let order = entry.allocate_tree()?;
    set(&entry, Some(CaptureSettings { order, capture: None, cleanup: None }))?;
    let batches: Vec<String> = include_str!("objects.sql").split("\nGO\n").map(str::to_owned).collect();
    let made = runner.in_one_transaction(&batches);
    // What became of it is in the catalog: an error is the client's already.
    if info.picture(&entry).schema_id(SCHEMA).is_none() {
        set(&entry, None)?;
    }
    made
}

/// Whether there is a user or role of the name.
fn has_user(picture: &Picture) -> bool {
    picture.stored_principals().any(|p| fold(&p.name) == fold(SCHEMA))
}

fn set(entry: &Arc<DatabaseEntry>, capture: Option<CaptureSettings>) -> Result<()> {
    entry.change_settings(|settings| {
        settings.capture = capture;
        Ok(())
    })
}

/// `sp_cdc_disable_db`: all instances go, and what the database has of its own for them.
pub(crate) fn sp_keel_cdc_disable_db(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    let info = runner.info;
    let entry = info.current_database();
    sysadmin_only(runner)?;
    let Some(settings) = entry.picture().settings().capture else { return ok() };
    if info.transaction.borrow().count > 0 {
        return Err(crate::errors::not_in_transaction("sp_cdc_disable_db").into());
    }
    let picture = info.picture(&entry);
    let mut batches = Vec::new();
    for source in picture.tables() {
        for def in &source.captures {
            batches.push(detach(source, def));
        }
    }
    if let Some(schema) = picture.schema_id(SCHEMA) {
        for object in picture.objects().filter(|o| o.schema_id == schema && o.parent == 0) {
            let kind = match object.kind.trim() {
                "U" => "table",
                "IF" | "TF" | "FN" => "function",
                "P" => "procedure",
                "V" => "view",
                _ => continue,
            };
            batches.push(format!("drop {kind} if exists cdc.{}", quote_name(object.name)));
        }
        batches.push("drop schema cdc".to_owned());
    }
    if has_user(&picture) {
        batches.push("drop user cdc".to_owned());
    }
    let done = runner.in_one_transaction(&batches)?;
    if info.picture(&entry).schema_id(SCHEMA).is_none() {
        set(&entry, None)?;
        runner.in_statement(|runner| {
            let txn = runner.txns_dyn().transaction(entry.id)?;
            txn.drop_tree(settings.order).map_err(|e| crate::map::txn_error(e, &entry.name(), 0))
        })?;
    }
    Ok(done)
}

fn detach(source: &TableDef, def: &CaptureDef) -> String {
    format!("exec sys.sp_keel_cdc_attach {}, {}, null", source.object_id, def.change_table)
}

/// What the caller names: the schema, and the table that is a source.
fn source(runner: &Runner<'_>, args: &[Argument]) -> Result<(String, Arc<TableDef>)> {
    let entry = runner.info.current_database();
    let given = |name: &str, position| {
        string(args, name, position).filter(|text| !text.is_empty()).ok_or_else(|| {
            error(
                22963,
                format!(
                    "Parameter '@{name}' cannot be null or empty. Specify a value for the named parameter and retry the operation."
                ),
            )
        })
    };
    let (schema, name) = (given("source_schema", 0)?, given("source_name", 1)?);
    let picture = runner.info.picture(&entry);
    let found = picture.schema_id(&schema).and_then(|id| picture.table(id, &name));
    let found = found.ok_or_else(|| {
        error(
            22931,
            format!(
                "Source table '{schema}.{name}' does not exist in the current database. Ensure that the correct database context is set. Specify a valid schema and table name for the database."
            ),
        )
    })?;
    let schema = picture.schema_name(found.schema_id).unwrap_or(schema);
    Ok((schema, found))
}

/// `sp_cdc_enable_table`, all of its parameters in its order.
pub(crate) fn sp_keel_cdc_enable_table(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let info = runner.info;
    let entry = info.current_database();
    captured_only(&entry)?;
    owner_only(runner)?;
    let instance = instance(runner, args)?;
    let settings = entry.picture().settings().capture;
    let jobs = settings.is_some_and(|s| s.capture.is_none() && s.cleanup.is_none());
    let switch = number(args, "allow_partition_switch", 8);
    if instance.source.clustered().partitioned.is_none() {
        if switch == Some(0) {
            runner.report(&SqlError::new(22857, 10, 1, "Warning: The @allow_partition_switch parameter must be 1 for tables that are not partitioned. The explicit setting of the parameter to 0 was ignored. Refer to books online for more information about partition switching behavior when using Change Data Capture."));
        }
    } else if instance.partition_switch {
        runner.report(&SqlError::new(22855, 10, 1, "Warning: The @allow_partition_switch parameter is set to 1. Change data capture will not track changes introduced in the table resulting from a partition switch which will cause data inconsistency when changes are consumed. Refer to books online for more information about partition switching behavior when using Change Data Capture."));
    } else {
        runner.report(&SqlError::new(22856, 10, 1, "Warning: The @allow_partition_switch parameter is set to 0. ALTER TABLE ... SWITCH PARTITION statement will be disallowed on this partitioned table. Refer to books online for more information about partition switching behavior when using Change Data Capture."));
    }
    runner.in_one_transaction(&instance.batches(jobs))
}

/// What was asked for, when it can be made.
fn instance(runner: &Runner<'_>, args: &[Argument]) -> Result<Instance> {
    let entry = runner.info.current_database();
    let picture = runner.info.picture(&entry);
    let (schema, source) = source(runner, args)?;
    let role = string(args, "role_name", 4);
    if role.as_deref().is_some_and(str::is_empty) {
        let text = "Parameter @role_name cannot be empty. Specify a value for @role_name and retry the operation. Supply null as the value if no role is to be used to gate access to captured change data.";
        return Err(error(22907, text.to_owned()));
    }
    if fold(&schema) == fold(SCHEMA) {
        let text = "Tables contained in the cdc schema cannot be enabled for Change Data Capture.";
        return Err(error(22974, text.to_owned()));
    }
    if source.captures.len() >= INSTANCES_MAX {
        return Err(error(
            22962,
            format!(
                "Two capture instances already exist for source table '{schema}.{}'. A table can have at most two capture instances. If the current tracking options are not appropriate, disable change tracking for the obsolete instance by using sys.sp_cdc_disable_table and retry the operation.",
                source.name
            ),
        ));
    }
    let name = string(args, "capture_instance", 2).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("{schema}_{}", source.name));
    if name.chars().count() > NAME_MAX {
        return Err(error(
            22927,
            format!(
                "Capture instance name '{name}' exceeds the length limit of 100 characters. Specify a name that satisfies the length constraint."
            ),
        ));
    }
    let taken = picture.schema_id(SCHEMA).and_then(|cdc| picture.named(cdc, &format!("{name}_CT")));
    if taken.is_some() {
        return Err(error(
            22926,
            format!(
                "Could not create a capture instance because the capture instance name '{name}' already exists in the current database. Specify an explicit unique name for the parameter @capture_instance."
            ),
        ));
    }
    let filegroup = string(args, "filegroup_name", 7).filter(|name| !name.is_empty());
    if let Some(filegroup) = filegroup.as_ref().filter(|name| fold(name) != fold("PRIMARY")) {
        return Err(error(
            22973,
            format!(
                "The specified filegroup '{filegroup}' is not a valid filegroup for database '{}'. Specify a valid existing filegroup or create the named filegroup, and retry the operation.",
                entry.name()
            ),
        ));
    }
    let index = string(args, "index_name", 5).filter(|name| !name.is_empty());
    let keyed = source.primary_key().is_some();
    let net = number(args, "supports_net_changes", 3).map_or(keyed, |n| n != 0);
    let partitioned = source.clustered().partitioned.is_some();
    let partition_switch = !partitioned || number(args, "allow_partition_switch", 8) != Some(0);
    let (columns, index_at) = (Vec::new(), None);
    let mut wanted =
        Instance { name, schema, source, columns, index: index_at, net, role, filegroup, partition_switch };
    wanted.choose_index(index.as_deref())?;
    let list = string(args, "captured_column_list", 6).filter(|list| !list.trim().is_empty());
    wanted.choose_columns(list.as_deref())?;
    Ok(wanted)
}

/// `sp_cdc_disable_table @source_schema, @source_name, @capture_instance`: one instance, or `all`.
pub(crate) fn sp_keel_cdc_disable_table(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let info = runner.info;
    let entry = info.current_database();
    captured_only(&entry)?;
    owner_only(runner)?;
    let (schema, source) = source(runner, args)?;
    let wanted = string(args, "capture_instance", 2).unwrap_or_default();
    if wanted.is_empty() {
        let text = "Parameter '@capture_instance' cannot be null or empty. Specify a value for the named parameter and retry the operation.";
        return Err(error(22963, text.to_owned()).into());
    }
    if source.captures.is_empty() {
        return Err(not_captured(&schema, &source.name).into());
    }
    let picture = info.picture(&entry);
    let all = fold(&wanted) == fold("all");
    let mut batches = Vec::new();
    for def in &source.captures {
        let table = picture.table_by_id(def.change_table);
        let Some(names) = table.as_deref().and_then(CaptureNames::of) else { continue };
        if all || fold(names.instance()) == fold(&wanted) {
            batches.push(detach(&source, def));
            batches.push(names.drop_objects());
        }
    }
    if batches.is_empty() {
        return Err(error(
            22960,
            format!(
                "Change data capture instance '{wanted}' has not been enabled for the source table '{schema}.{}'. Use sys.sp_cdc_help_change_data_capture to verify the capture instance name and retry the operation.",
                source.name
            ),
        )
        .into());
    }
    runner.in_one_transaction(&batches)
}

fn not_captured(schema: &str, table: &str) -> Box<SqlError> {
    error(
        22985,
        format!(
            "Change data capture has not been enabled for source table '{schema}.{table}'. Specify the name of a table enabled for Change Data Capture. To report on the tables enabled for Change Data Capture, query the is_tracked_by_cdc column in the sys.tables catalog view."
        ),
    )
}

/// `@source, @change_table, @columns, @index, @partition_switch`: makes an instance a part of its source's definition, from whose next
/// change on it captures; with no columns, it ceases to be.
pub(crate) fn sp_keel_cdc_attach(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    owner_only(runner)?;
    let info = runner.info;
    let entry = info.current_database();
    let id = |name, position| number(args, name, position).and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
    let (source, change_table) = (id("source", 0), id("change_table", 1));
    let columns = string(args, "columns", 2);
    let (index, switch) = (number(args, "index", 3), number(args, "partition_switch", 4) != Some(0));
    runner.in_statement(|runner| {
        runner.lock_schema(entry.id, source)?;
        runner.lock_schema(entry.id, change_table)?;
        let Some(table) = info.picture(&entry).table_by_id(source) else { return Ok(()) };
        let mut table = (*table).clone();
        if let Some(at) = table.captures.iter().position(|c| c.change_table == change_table) {
            let gone = table.captures.remove(at);
            runner.discard_staged(&table, &gone)?;
        }
        if let Some(columns) = &columns {
            let columns = columns.split(',').filter_map(|id| id.parse().ok()).collect();
            let index_id = index.and_then(|n| i32::try_from(n).ok());
            let staged = entry.allocate_tree()?;
            table.captures.push(CaptureDef {
                change_table,
                staged,
                columns,
                index_id,
                partition_switch: switch,
            });
            runner.begin_instance(&entry, change_table)?;
        }
        runner.replace_table(table).map(|_| ())
    })?;
    ok()
}

impl Runner<'_> {
    /// From here on changes are captured: the transaction gets a place among those that are, and what comes later has greater LSNs than
    /// the instance's start.
    fn begin_instance(&mut self, entry: &Arc<DatabaseEntry>, change_table: i32) -> Result<()> {
        self.txns_dyn().change_stamp(entry.id, Stamp::Captured)?;
        let txn = self.txns_dyn().transaction(entry.id)?;
        let start = super::start_of_instance(entry, txn).map_err(|e| txn_error(e, &entry.name(), 0))?;
        self.run_inside(&format!(
            "update cdc.change_tables set start_lsn = {start} where object_id = {change_table}"
        ))
    }
}

/// `@owner`: error 22901 where changes are not captured, and 22904 for who does not own the database when that is asked for.
pub(crate) fn sp_keel_cdc_check(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    captured_only(&runner.info.current_database())?;
    if number(args, "owner", 0) == Some(1) {
        owner_only(runner)?;
    }
    ok()
}
