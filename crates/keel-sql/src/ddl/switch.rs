//! `ALTER TABLE a SWITCH TO b`: the rows of one table become those of another that was empty.
//!
//! Both definitions stay; they exchange their trees. So the tables must store rows alike: same columns in the same
//! order, same keys. What the product asks for besides (filegroups, compression) has no meaning here.

use super::find_table;
use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use keel_node::Direction;
use keel_parser::ast;
use keel_query::catalog::{Catalog as _, ColumnDef, IndexDef, TableDef};
use keel_types::SqlError;
use keel_types::error::Result;
use std::ops::Bound;
use std::sync::Arc;

fn failed(number: i32, text: String) -> Box<SqlError> {
    SqlError::new(number, 16, 1, format!("ALTER TABLE SWITCH statement failed. {text}"))
}

fn same_column(a: &ColumnDef, b: &ColumnDef) -> bool {
    (a.ordinal, a.ty, a.collation, a.nullable) == (b.ordinal, b.ty, b.collation, b.nullable)
        && a.computed.is_some() == b.computed.is_some()
        && a.missing_value == b.missing_value
        && crate::catalog::fold(&a.name) == crate::catalog::fold(&b.name)
}

/// Whether entries of one index can be those of the other.
fn same_index(a: &IndexDef, b: &IndexDef, from: &TableDef, to: &TableDef) -> bool {
    let columns = |i: &IndexDef, t: &TableDef| -> Vec<_> {
        let of = |id: i32| t.column_index(id);
        i.key
            .iter()
            .map(|k| (of(k.column_id), k.descending))
            .chain(i.stored_columns(t).into_iter().map(|c| (of(c), false)))
            .collect()
    };
    (a.kind, a.unique, &a.filter) == (b.kind, b.unique, &b.filter) && columns(a, from) == columns(b, to)
}

impl Runner<'_> {
    pub(super) fn switch_tables(
        &mut self,
        program: &Program,
        from: &Arc<TableDef>,
        to: &ast::ObjectName,
    ) -> Result<()> {
        let found = find_table(&self.ddl_scope(program), to);
        let to = found.ok_or_else(|| errors::cannot_find_object(to))?;
        if to.database != from.database || to.object_id == from.object_id {
            return Err(errors::not_supported("ALTER TABLE SWITCH to itself or another database"));
        }
        self.lock_schema(to.database, to.object_id)?;
        for (table, way) in [(&**from, "out"), (&*to, "in")] {
            if table.versioning().is_some() || table.history_of.is_some() {
                let (number, name) = (if way == "out" { 13546 } else { 13547 }, self.full_name(table));
                return Err(SqlError::new(
                    number,
                    16,
                    1,
                    format!(
                        "Switching {way} partition failed on table '{name}' because it is not a supported operation on system-versioned tables. Consider setting SYSTEM_VERSIONING to OFF and trying again."
                    ),
                ));
            }
        }
        let entry = self.entry_of(from.database)?;
        let (source, target) = (&from.name, &to.name);
        if from.columns.len() != to.columns.len() {
            return Err(failed(
                4943,
                format!(
                    "The table '{source}' has {} columns and the table '{target}' has {}.",
                    from.columns.len(),
                    to.columns.len()
                ),
            ));
        }
        let pairs = from.columns.iter().zip(&to.columns);
        if let Some((a, _)) = pairs.into_iter().find(|(a, b)| !same_column(a, b)) {
            return Err(failed(
                4957,
                format!(
                    "Column '{}' is not the same in source table '{source}' and target table '{target}'.",
                    a.name
                ),
            ));
        }
        let picture = self.info.picture(&entry);
        if picture.referencing(from.object_id).iter().any(|(t, _)| t.object_id != from.object_id) {
            return Err(failed(
                4967,
                format!(
                    "SWITCH is not allowed because source table '{source}' contains primary key for constraints of other tables."
                ),
            ));
        }
        let Some(order) = matching(from, &to) else {
            return Err(failed(
                4947,
                format!(
                    "There is no identical index in source table '{source}' for the indexes in target table '{target}'."
                ),
            ));
        };
        if !to.foreign_keys.is_empty() || !to.checks.is_empty() {
            let same = from.foreign_keys.len() == to.foreign_keys.len()
                && to
                    .checks
                    .iter()
                    .all(|c| from.checks.iter().any(|own| own.text == c.text && !own.disabled))
                && to.foreign_keys.iter().all(|k| {
                    from.foreign_keys.iter().any(|own| {
                        own.referenced_table == k.referenced_table
                            && own.columns == k.columns
                            && !own.disabled
                    })
                });
            if !same {
                return Err(failed(
                    4972,
                    format!(
                        "Check constraints or foreign keys of source table '{source}' allow values that are not allowed by those of target table '{target}'."
                    ),
                ));
            }
        }
        if self.has_rows(&to)? {
            return Err(failed(4905, format!("The target table '{target}' must be empty.")));
        }
        let (mut source, mut target) = ((**from).clone(), (*to).clone());
        for (i, j) in order.into_iter().enumerate() {
            std::mem::swap(&mut source.indexes[j].tree, &mut target.indexes[i].tree);
        }
        self.replace_table(source)?;
        self.replace_table(target)?;
        Ok(())
    }
}

impl Runner<'_> {
    /// Whether the transaction finds a row, its own included. The caller holds the schema lock.
    fn has_rows(&mut self, table: &TableDef) -> Result<bool> {
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(table.database)?;
        let all = (Bound::Unbounded, Bound::Unbounded);
        let found = txn
            .scan_latest(table.indexes[0].tree, all.0, all.1, Direction::Forward)
            .and_then(|mut cursor| Ok(cursor.next()?.is_some()));
        found.map_err(|e| crate::map::txn_error(e, "", session))
    }
}

/// For each index of the target, the one of the source that holds the same; `None` when there is a difference.
fn matching(from: &TableDef, to: &TableDef) -> Option<Vec<usize>> {
    if from.indexes.len() != to.indexes.len() {
        return None;
    }
    let mut order = Vec::new();
    for b in &to.indexes {
        let same = |j: &usize| !order.contains(j) && same_index(&from.indexes[*j], b, from, to);
        order.push((0..from.indexes.len()).find(same)?);
    }
    Some(order)
}
