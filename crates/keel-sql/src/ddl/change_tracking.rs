//! CHANGE_TRACKING: of a database (how long changes are kept) and of a table (that they are). What is kept is in
//! [`keel_query::changes`].

use crate::catalog::ChangeRetention;
use crate::engine::{DatabaseEntry, MSDB};
use crate::errors::alter_database_failed;
use crate::map::txn_error;
use crate::run::Runner;
use keel_node::Isolation;
use keel_parser::ast::{Opt, OptValue};
use keel_query::catalog::{ChangeTrackingDef, ChangeTrees, TableDef};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType};
use std::sync::Arc;

fn error(number: i32, state: u8, text: String) -> Box<SqlError> {
    SqlError::new(number, 16, state, text)
}

/// 3735
pub(super) fn key_needed(constraint: &str, table: &str) -> Box<SqlError> {
    error(
        3735,
        1,
        format!(
            "The primary key constraint '{constraint}' on table '{table}' cannot be dropped because change tracking is enabled on the table. Change tracking requires a primary key constraint on the table. Disable change tracking before dropping the constraint."
        ),
    )
}

/// 22113
pub(super) fn not_allowed(what: &str) -> Box<SqlError> {
    error(22113, 1, format!("{what} is not allowed because the table is being tracked for change tracking."))
}

/// What ALTER DATABASE … SET CHANGE_TRACKING asks for.
enum Asked {
    On(Vec<Opt>),
    Off,
    Change(Vec<Opt>),
}

/// Options in parentheses over what is in force.
fn retention(mut retention: ChangeRetention, options: &[Opt], state: u8) -> Result<ChangeRetention> {
    let mut seen: Vec<&str> = Vec::new();
    for option in options {
        let name = option.name.as_str();
        if seen.contains(&name) {
            let text = format!(
                "ALTER DATABASE change tracking option '{name}' was specified more than once. Each option can be specified only once."
            );
            return Err(SqlError::new(5091, 15, state, text));
        }
        seen.push(name);
        match (name, &option.value) {
            ("AUTO_CLEANUP", OptValue::On) => retention.auto_cleanup = true,
            ("AUTO_CLEANUP", OptValue::Off) => retention.auto_cleanup = false,
            ("CHANGE_RETENTION", OptValue::Measure(_, unit)) => {
                let place = ChangeRetention::UNITS.iter().position(|u| unit.eq_ignore_ascii_case(u));
                let place = place.ok_or_else(|| {
                    let text = format!("'{unit}' is not a recognized CHANGE RETENTION UNIT option.");
                    SqlError::new(155, 15, 2, text)
                })?;
                let count = option.value.number().and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
                retention.count = count;
                retention.unit = place as u8 + 1;
                if count <= 0 || retention.minutes() > i32::MAX.into() {
                    let text = format!(
                        "The value for change tracking option '{name}' is not valid. The value must be between 1 and {} minutes.",
                        i32::MAX
                    );
                    return Err(SqlError::new(5092, 15, 1, text));
                }
            }
            _ => return Err(SqlError::new(102, 15, 1, format!("Incorrect syntax near '{name}'."))),
        }
    }
    Ok(retention)
}

impl Runner<'_> {
    /// ALTER DATABASE … SET CHANGE_TRACKING.
    pub(super) fn alter_change_tracking(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        options: &[Opt],
    ) -> Result<()> {
        let asked = match options {
            [option] => match &option.value {
                OptValue::On => Asked::On(Vec::new()),
                OptValue::Off => Asked::Off,
                OptValue::WordList(word, details) if word.is("ON") => Asked::On(details.clone()),
                OptValue::List(details) => Asked::Change(details.clone()),
                _ => return Err(SqlError::new(102, 15, 1, "Incorrect syntax near 'CHANGE_TRACKING'.")),
            },
            _ => {
                let text = "Change tracking options for ALTER DATABASE cannot be combined with other ALTER DATABASE options.";
                self.info.say(error(22114, 1, text.to_owned()));
                return Err(alter_database_failed());
            }
        };
        let (given, state) = match &asked {
            Asked::On(given) => (given.as_slice(), 2),
            Asked::Change(given) => (given.as_slice(), 1),
            Asked::Off => (&[][..], 1),
        };
        let before = entry.picture().settings().change_tracking;
        let wanted = retention(before.unwrap_or_default(), given, state)?;
        if let Some(refused) = refusal(entry, &asked, before) {
            self.info.say(refused);
            return Err(alter_database_failed());
        }
        let wanted = (!matches!(asked, Asked::Off)).then_some(wanted);
        let trees = match entry.picture().settings().change_trees {
            Some(trees) => trees,
            None => ChangeTrees { versions: entry.allocate_tree()?, transactions: entry.allocate_tree()? },
        };
        entry.change_settings(|settings| {
            settings.change_tracking = wanted;
            settings.change_trees.get_or_insert(trees);
            Ok(())
        })
    }

    /// ALTER TABLE … ENABLE CHANGE_TRACKING.
    pub(super) fn enable_tracking(&mut self, table: &TableDef, option: &Opt) -> Result<()> {
        let entry = self.entry_of(table.database)?;
        let picture = self.info.picture(&entry);
        let (name, database) = (&table.name, entry.name());
        let trees = picture.settings().change_trees.filter(|_| picture.settings().change_tracking.is_some());
        let Some(trees) = trees else {
            return Err(error(
                1718,
                1,
                format!(
                    "Change tracking must be enabled on database '{database}' before it can be enabled on table '{name}'."
                ),
            ));
        };
        if table.history_of.is_some() {
            let name = self.full_name(table);
            return Err(error(
                13563,
                1,
                format!("Enabling Change Tracking for a temporal history table '{name}' is not allowed."),
            ));
        }
        if table.change_tracking.is_some() {
            return Err(error(4996, 1, format!("Change tracking is already enabled for table '{name}'.")));
        }
        let Some(key) = table.primary_key() else {
            return Err(error(
                4997,
                1,
                format!(
                    "Cannot enable change tracking on table '{name}'. Change tracking requires a primary key on the table. Create a primary key on the table before enabling change tracking."
                ),
            ));
        };
        let part = |id: i32| table.column_index(id).map(|at| table.columns[at].ty);
        if key.key.iter().any(|k| part(k.column_id) == Some(SqlType::RowVersion)) {
            return Err(error(
                4999,
                1,
                format!(
                    "Cannot enable change tracking on table '{name}'. Change tracking does not support a primary key of type timestamp on a table."
                ),
            ));
        }
        let columns = match &option.value {
            OptValue::List(options) => match options.as_slice() {
                [Opt { name, value: OptValue::On, .. }] if name == "TRACK_COLUMNS_UPDATED" => true,
                [Opt { name, value: OptValue::Off, .. }] if name == "TRACK_COLUMNS_UPDATED" => false,
                options => {
                    let near = options.first().map_or(")", |o| o.name.as_str());
                    return Err(SqlError::new(102, 15, 1, format!("Incorrect syntax near '{near}'.")));
                }
            },
            _ => false,
        };
        let session = self.info.shared.id;
        let begin = {
            let _order = entry.change_order.lock();
            let mut txn = entry.store.begin(Isolation::ReadCommitted);
            keel_query::changes::newest(&mut txn, trees).map_err(|e| txn_error(e, &database, session))?
        };
        let (changes, by_key) = (entry.allocate_tree()?, entry.allocate_tree()?);
        let tracking = ChangeTrackingDef { columns, begin, restarted_by: None, changes, by_key };
        self.replace_table(TableDef { change_tracking: Some(tracking), ..table.clone() }).map(|_| ())
    }

    /// ALTER TABLE … DISABLE CHANGE_TRACKING.
    pub(super) fn disable_tracking(&mut self, table: &TableDef) -> Result<()> {
        if table.change_tracking.is_none() {
            let text = format!("Change tracking is not enabled on table '{}'.", table.name);
            return Err(error(4998, 1, text));
        }
        self.discard_changes(table)?;
        self.replace_table(TableDef { change_tracking: None, ..table.clone() }).map(|_| ())
    }

    /// The trees of a table's changes go when the transaction commits.
    pub(super) fn discard_changes(&mut self, table: &TableDef) -> Result<()> {
        let Some(tracking) = &table.change_tracking else { return Ok(()) };
        self.discard_tree(table, tracking.changes)?;
        self.discard_tree(table, tracking.by_key)
    }

    /// The table is emptied: that takes a version of its own, and who knows an earlier one has to read all of it again.
    pub(super) fn restart_tracking(&mut self, table: &mut TableDef) -> Result<()> {
        let Some(tracking) = &mut table.change_tracking else { return Ok(()) };
        let entry = self.entry_of(table.database)?;
        let (transaction, _) = self.txns_dyn().change_stamp(table.database, keel_query::Stamp::Tracked)?;
        tracking.restarted_by = Some(transaction);
        tracking.changes = entry.allocate_tree()?;
        tracking.by_key = entry.allocate_tree()?;
        Ok(())
    }
}

/// Errors 5088, 5089, 5090 and 22115.
fn refusal(entry: &DatabaseEntry, asked: &Asked, before: Option<ChangeRetention>) -> Option<Box<SqlError>> {
    let database = entry.name();
    if entry.id.0 <= MSDB.0 {
        return Some(error(
            5090,
            1,
            format!(
                "Database '{database}' is a system database. Change tracking settings cannot be modified for system databases."
            ),
        ));
    }
    let disabled = |state| {
        error(
            5089,
            state,
            format!(
                "Change tracking is disabled for database '{database}'. Change tracking must be enabled on a database to modify change tracking settings."
            ),
        )
    };
    match (asked, before) {
        (Asked::On(_), Some(_)) => {
            Some(error(5088, 1, format!("Change tracking is already enabled for database '{database}'.")))
        }
        (Asked::Off, None) => Some(disabled(1)),
        (Asked::Change(_), None) => Some(disabled(2)),
        (Asked::Off, Some(_)) if entry.picture().tables().any(|t| t.change_tracking.is_some()) => {
            Some(error(
                22115,
                1,
                format!(
                    "Change tracking is enabled for one or more tables in database '{database}'. Disable change tracking on each table before disabling it for the database. Use the sys.change_tracking_tables catalog view to obtain a list of tables for which change tracking is enabled."
                ),
            ))
        }
        _ => None,
    }
}
