//! `ALTER TABLE a SWITCH [PARTITION n] TO b [PARTITION m]`: the rows of one table, or of one of its partitions, become those
//! of another that was empty.
//!
//! Both definitions stay. Tables that are not partitioned exchange their trees when they store rows alike; otherwise the
//! rows are moved one by one. What the product asks for besides (filegroups, compression) has no meaning here; that rows
//! belong into the target's range is looked up in the rows, not in constraints.

use super::find_table;
use super::partition_rows::Part;
use crate::catalog::fold;
use crate::errors;
use crate::notify::Reason;
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_node::Direction;
use keel_parser::ast;
use keel_query::catalog::{Catalog as _, ColumnDef, IndexDef, IndexKind, TableDef};
use keel_query::context::DmlAction;
use keel_types::SqlError;
use keel_types::error::Result;
use std::ops::Bound;
use std::sync::Arc;

/// The tables and partitions of a SWITCH.
pub(super) struct Switch<'a> {
    pub(super) partition: Option<&'a ast::Expr>,
    pub(super) target: &'a ast::ObjectName,
    pub(super) target_partition: Option<&'a ast::Expr>,
}

pub(super) fn failed(number: i32, text: String) -> Box<SqlError> {
    SqlError::new(number, 16, 1, format!("ALTER TABLE SWITCH statement failed. {text}"))
}

fn failed_because(number: i32, text: String) -> Box<SqlError> {
    SqlError::new(number, 16, 1, format!("ALTER TABLE SWITCH statement failed because {text}"))
}

/// Errors 4942 to 4945, 4965, 4966 and 4985: the columns are not the same.
fn same_columns((from, source): (&TableDef, &str), (to, target): (&TableDef, &str)) -> Result<()> {
    if from.columns.len() != to.columns.len() {
        let (n, m) = (from.columns.len(), to.columns.len());
        let text = format!("table '{source}' has {n} columns and table '{target}' has {m} columns.");
        return Err(failed_because(4943, text));
    }
    for (n, (a, b)) in from.columns.iter().zip(&to.columns).enumerate() {
        let name = &a.name;
        if fold(name) != fold(&b.name) {
            let text = format!(
                "column '{name}' at ordinal {} in table '{source}' has a different name than the column '{}' at the same ordinal in table '{target}'.",
                n + 1,
                b.name
            );
            return Err(failed_because(4942, text));
        }
        if a.ty != b.ty {
            let text = format!(
                "column '{name}' has data type {} in source table '{source}' which is different from its type {} in target table '{target}'.",
                a.ty, b.ty
            );
            return Err(failed_because(4944, text));
        }
        let differs = |what: &str| {
            format!("column '{name}' does not have the same {what} in tables '{source}' and '{target}'.")
        };
        if a.ty.is_string() && a.collation != b.collation {
            return Err(failed_because(4945, differs("collation")));
        }
        if a.nullable != b.nullable {
            return Err(failed_because(4985, differs("nullability attribute")));
        }
        match (&a.computed, &b.computed) {
            (None, None) => {}
            (Some(x), Some(y)) if x.text == y.text => {}
            (Some(x), Some(y)) => {
                let text = format!(
                    "Computed column '{name}' defined as '{}' in table '{source}' is different from the same column in table '{target}' defined as '{}'.",
                    x.text, y.text
                );
                return Err(failed(4966, text));
            }
            (computed, _) => {
                let (one, other) = if computed.is_some() { (source, target) } else { (target, source) };
                let text = format!(
                    "Column '{name}' in table '{one}' is computed column but the same column in '{other}' is not computed."
                );
                return Err(failed(4965, text));
            }
        }
    }
    Ok(())
}

/// Whether rows of one table can be read as rows of the other.
fn stored_alike(from: &TableDef, to: &TableDef) -> bool {
    let alike = |a: &ColumnDef, b: &ColumnDef| a.ordinal == b.ordinal && a.missing_value == b.missing_value;
    from.next_ordinal == to.next_ordinal && from.columns.iter().zip(&to.columns).all(|(a, b)| alike(a, b))
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
        program: &Arc<Program>,
        frame: &mut Frame,
        from: &Arc<TableDef>,
        switch: &Switch<'_>,
    ) -> Result<()> {
        let (from, to) = (&**from, self.switch_target(program, from, switch.target)?);
        let (source, target) = (self.full_name(from), self.full_name(&to));
        let from_part = self.switched(program, frame, from, switch.partition)?;
        let to_part = self.switched(program, frame, &to, switch.target_partition)?;
        same_columns((from, &source), (&to, &target))?;
        let entry = self.entry_of(from.database)?;
        for (other, key) in self.info.picture(&entry).referencing(from.object_id) {
            if other.object_id != from.object_id {
                let text = format!(
                    "SWITCH is not allowed because source table '{source}' contains primary key for constraint '{}'.",
                    key.name
                );
                return Err(failed(4967, text));
            }
        }
        let order = matching((from, &source), (&to, &target))?;
        same_constraints(from, &to, &source, &target)?;
        if let Some(set) = self.own_txns() {
            for table in [from, &*to] {
                set.rows_replaced(table.database, table.object_id, Reason::of(DmlAction::Update));
            }
        }
        let in_partitions = from_part.is_some() || to_part.is_some();
        if in_partitions || !stored_alike(from, &to) {
            let from_part: Option<&Part<'_>> = from_part.as_ref().map(|(_, part)| part);
            let to_part = to_part.as_ref().map(|(n, part)| (*n, part));
            return self.move_rows((from, from_part), (&to, to_part));
        }
        if self.has_rows(&to)? {
            return Err(failed(4905, format!("The target table '{target}' must be empty.")));
        }
        let (mut source, mut target) = (from.clone(), (*to).clone());
        // An index that the target has not is empty afterwards.
        for j in (0..source.indexes.len()).filter(|j| !order.contains(j)) {
            let old = std::mem::replace(&mut source.indexes[j].tree, entry.allocate_tree()?);
            self.discard_tree(from, old)?;
        }
        for (i, j) in order.into_iter().enumerate() {
            std::mem::swap(&mut source.indexes[j].tree, &mut target.indexes[i].tree);
        }
        self.replace_table(source)?;
        self.replace_table(target)?;
        Ok(())
    }

    /// Errors 11401 and 11404: no index on a view goes with the rows of its tables' partitions here.
    fn refuse_under_views(&self, table: &TableDef, is_target: bool) -> Result<()> {
        let views = self.info.picture(&self.entry_of(table.database)?).indexed_views(table.object_id);
        let Some(rows) = views.first().and_then(|view| view.rows.as_ref()) else { return Ok(()) };
        let (name, view) = (self.full_name(table), self.full_name(rows));
        if table.clustered().partitioned.is_some() && rows.clustered().partitioned.is_none() {
            let index = &rows.clustered().name;
            let text = format!(
                "Table '{name}' is partitioned, but index '{index}' on indexed view '{view}' is not partitioned."
            );
            return Err(failed(11401, text));
        }
        if !is_target {
            return Err(errors::not_supported("ALTER TABLE SWITCH of a table with indexed views"));
        }
        let text = format!(
            "Target table '{name}' is referenced by {} indexed view(s), but source table is only referenced by 0 matching indexed view(s). Every indexed view on the target table must have at least one matching indexed view on the source table.",
            views.len()
        );
        Err(failed(11404, text))
    }

    /// The target of a SWITCH, locked. Errors 4902, 4955, 13546 and 13547.
    fn switch_target(
        &mut self,
        program: &Program,
        from: &TableDef,
        target: &ast::ObjectName,
    ) -> Result<Arc<TableDef>> {
        let to = find_table(&self.ddl_scope(program), target);
        let to = to.ok_or_else(|| errors::cannot_find_object(target))?;
        if to.database != from.database {
            return Err(errors::not_supported("ALTER TABLE SWITCH to another database"));
        }
        self.lock_schema(to.database, to.object_id)?;
        let to = find_table(&self.ddl_scope(program), target);
        let to = to.ok_or_else(|| errors::cannot_find_object(target))?;
        for (table, way) in [(from, "out"), (&*to, "in")] {
            super::full_text::refuse_switch(table)?;
            if table.change_tracking.is_some() {
                return Err(super::change_tracking::not_allowed("ALTER TABLE SWITCH"));
            }
            if table.captures.iter().any(|c| !c.partition_switch) {
                return Err(super::capture::switched(way == "in"));
            }
            self.refuse_under_views(table, way == "in")?;
            if table.versioning().is_some() || table.history_of.is_some() {
                let (number, name) = (if way == "out" { 13546 } else { 13547 }, self.full_name(table));
                let text = format!(
                    "Switching {way} partition failed on table '{name}' because it is not a supported operation on system-versioned tables. Consider setting SYSTEM_VERSIONING to OFF and trying again."
                );
                return Err(SqlError::new(number, 16, 1, text));
            }
        }
        if to.object_id == from.object_id && from.clustered().partitioned.is_none() {
            let name = self.full_name(from);
            return Err(failed(
                4955,
                format!("The source table '{name}' and target table '{name}' are same."),
            ));
        }
        Ok(to)
    }
}

/// Error 4972: the target has a constraint that the source has not.
fn same_constraints(from: &TableDef, to: &TableDef, source: &str, target: &str) -> Result<()> {
    let checked = to.checks.iter().all(|c| from.checks.iter().any(|own| own.text == c.text && !own.disabled));
    let referring = to.foreign_keys.iter().all(|k| {
        from.foreign_keys.iter().any(|own| {
            own.referenced_table == k.referenced_table && own.columns == k.columns && !own.disabled
        })
    });
    if checked && referring {
        return Ok(());
    }
    let text = format!(
        "Check constraints or partition function of source table '{source}' allows values that are not allowed by check constraints or partition function on target table '{target}'."
    );
    Err(failed(4972, text))
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

/// For each index of the target, the place of the one of the source that holds the same. Errors 4913 and 4947.
fn matching((from, source): (&TableDef, &str), (to, target): (&TableDef, &str)) -> Result<Vec<usize>> {
    let clustered =
        |t: &TableDef| (t.clustered().kind == IndexKind::Clustered).then(|| t.clustered().name.clone());
    let with = match (clustered(from), clustered(to)) {
        (Some(index), None) => Some((source, index, target)),
        (None, Some(index)) => Some((target, index, source)),
        _ => None,
    };
    if let Some((one, index, other)) = with {
        let text = format!(
            "The table '{one}' has clustered index '{index}' while the table '{other}' does not have clustered index."
        );
        return Err(failed(4913, text));
    }
    let mut order = Vec::new();
    let missing = |index: &str| {
        failed(
            4947,
            format!(
                "There is no identical index in source table '{source}' for the index '{index}' in target table '{target}' ."
            ),
        )
    };
    for b in &to.indexes {
        let same = |j: &usize| !order.contains(j) && same_index(&from.indexes[*j], b, from, to);
        order.push((0..from.indexes.len()).find(same).ok_or_else(|| missing(&b.name))?);
    }
    Ok(order)
}
