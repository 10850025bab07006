//! What DDL means for change data capture: what it may not do to a captured table, and what of it goes on to the change tables.
//!
//! A capture instance keeps the columns it was made with. One that is dropped is NULL from then on, one that is added is not captured; one
//! that gets another type gets it in the change table too, and so do the rows that were not told yet.

use super::alter::is_rewritten;
use crate::capture::{CaptureNames, SCHEMA, literal};
use crate::errors;
use crate::run::{Argument, Halt, Later, Returned, Runner};
use keel_parser::ast::{self, AlterTableAction, TableElement};
use keel_query::capture::FIRST_CAPTURED;
use keel_query::catalog::{CaptureDef, Catalog as _, IndexDef, IndexKind, TableDef};
use keel_store::row::{Row, RowBuilder};
use keel_types::error::Result;
use keel_types::{SqlError, column};
use std::ops::Bound;
use std::sync::Arc;

/// 4711
pub(super) fn truncated(table: &str) -> Box<SqlError> {
    SqlError::new(
        4711,
        16,
        1,
        format!(
            "Cannot truncate table '{table}' because it is published for replication or enabled for Change Data Capture."
        ),
    )
}

/// 4928
pub(crate) fn column_renamed(column: &str) -> Box<SqlError> {
    SqlError::new(4928, 16, 1, format!("Cannot alter column '{column}' because it is 'REPLICATED'."))
}

/// 15051
pub(crate) fn table_renamed() -> Box<SqlError> {
    SqlError::new(15051, 11, 1, "Cannot rename the table because it is published for replication.")
}

/// 22842 and 22843
pub(super) fn switched(into: bool) -> Box<SqlError> {
    let (number, which) = if into { (22842, "destination") } else { (22843, "source") };
    SqlError::new(
        number,
        16,
        1,
        format!(
            "ALTER TABLE SWITCH statement failed because the partitioned {which} table is enabled for Change Data Capture and does not have @allow_partition_switch set to 1."
        ),
    )
}

/// Error 22979 or 22983 when net changes need an index.
pub(super) fn refuse_key(table: &TableDef, index: &IndexDef) -> Result<()> {
    if !table.captures.iter().any(|c| c.index_id == Some(index.index_id)) {
        return Ok(());
    }
    let (index_name, table_name) = (&index.name, &table.name);
    Err(match index.constraint_id {
        0 => SqlError::new(
            22983,
            16,
            1,
            format!(
                "The unique index '{index_name}' on source table '{table_name}' is used by Change Data Capture. To alter or drop the index, you must first disable Change Data Capture on the table."
            ),
        ),
        _ => SqlError::new(
            22979,
            16,
            1,
            format!(
                "The unique index '{index_name}' on table '{table_name}' is used by Change Data Capture. The constraint using this index cannot be dropped or disabled."
            ),
        ),
    })
}

impl Runner<'_> {
    /// Runs statements of the system's own inside the one that is running, whoever runs it.
    pub(crate) fn run_inside(&mut self, text: &str) -> Result<()> {
        self.call_inside(text, "", &[]).map(drop)
    }

    /// The same with parameters, and what they gave back.
    pub(crate) fn call_inside(
        &mut self,
        text: &str,
        declarations: &str,
        args: &[Argument],
    ) -> Result<Returned> {
        let info = self.info;
        let (error, row_count) = (info.error.get(), info.row_count.get());
        let before = info.unrestricted.replace(true);
        let mut later = Later { info, results: false };
        let done = Runner::nested(info, self.txns_dyn(), &mut later).run_dynamic(
            text.into(),
            declarations.into(),
            &[],
            args,
        );
        info.unrestricted.set(before);
        info.error.set(error);
        info.row_count.set(row_count);
        match done {
            Ok(returned) => Ok(returned),
            Err(Halt::Raised(e)) => Err(e),
            Err(Halt::Batch) => Err(errors::cancelled()),
        }
    }

    /// A table goes: so do its capture instances.
    pub(super) fn drop_instances(&mut self, table: &TableDef) -> Result<()> {
        for def in &table.captures {
            let entry = self.entry_of(table.database)?;
            self.lock_schema(table.database, def.change_table)?;
            let change_table = self.info.picture(&entry).table_by_id(def.change_table);
            if let Some(names) = change_table.as_deref().and_then(CaptureNames::of) {
                self.replace_table(TableDef { captures: Vec::new(), ..table.clone() })?;
                self.run_inside(&names.drop_objects())?;
            }
        }
        Ok(())
    }

    /// Whether changes are told to a table.
    fn is_told_to(&self, table: &TableDef) -> Result<bool> {
        let entry = self.entry_of(table.database)?;
        let picture = self.info.picture(&entry);
        if picture.settings().capture.is_none() || picture.schema_id(SCHEMA) != Some(table.schema_id) {
            return Ok(false);
        }
        let of_instance = |t: &Arc<TableDef>| t.captures.iter().any(|c| c.change_table == table.object_id);
        // Not while it is made.
        let mapping = table.name == "lsn_time_mapping" && table.clustered().kind == IndexKind::Clustered;
        Ok(mapping || picture.tables().any(of_instance))
    }

    /// What telling does not keep: filtered indexes, and rows without the clustered index that they were made with.
    pub(super) fn refuse_index_of_changes(&self, table: &TableDef, index: &IndexDef) -> Result<()> {
        let kept = index.filter.is_none() && index.kind == IndexKind::Nonclustered;
        if kept || !self.is_told_to(table)? {
            return Ok(());
        }
        Err(errors::not_supported("A filtered index on a change table, or another clustered one,"))
    }

    /// Error 3724: a change table goes with its instance.
    pub(super) fn refuse_change_table(&self, table: &TableDef) -> Result<()> {
        if table.name == "lsn_time_mapping" || !self.is_told_to(table)? {
            return Ok(());
        }
        let text =
            format!("Cannot drop the table '{}' because it is being used for replication.", table.name);
        Err(SqlError::new(3724, 16, 2, text))
    }

    /// The rows that were staged for an instance go when the transaction commits.
    pub(crate) fn discard_staged(&mut self, table: &TableDef, def: &CaptureDef) -> Result<()> {
        self.discard_tree(table, def.staged)
    }

    /// Writes down that the columns of a captured table have changed.
    pub(super) fn note_columns(
        &mut self,
        before: &TableDef,
        action: &AlterTableAction,
        text: &dyn Fn() -> String,
    ) -> Result<()> {
        let of_columns = match action {
            AlterTableAction::Add { elements, .. } => {
                elements.iter().any(|e| matches!(e, TableElement::Column(_)))
            }
            AlterTableAction::AlterColumn { .. } => true,
            AlterTableAction::Drop(items) => items.iter().any(|item| item.what == ast::Dropped::Column),
            _ => false,
        };
        if before.captures.is_empty() || !of_columns {
            return Ok(());
        }
        let entry = self.entry_of(before.database)?;
        let required = match action {
            AlterTableAction::AlterColumn { column, .. } => self.altered(before, column).is_some().into(),
            _ => 0,
        };
        let (command, lsn) = (literal(&text()), crate::capture::lsn_literal(&entry));
        for def in &before.captures {
            self.run_inside(&format!(
                "insert cdc.ddl_history values ({}, {}, {required}, {command}, {lsn}, getdate())",
                before.object_id, def.change_table
            ))?;
        }
        self.txns_dyn().change_stamp(before.database, keel_query::Stamp::Captured).map(|_| ())
    }

    /// The place of a column and the table as it is now, when the column has another type or mask than it had.
    fn altered(&self, before: &TableDef, name: &ast::Ident) -> Option<(usize, Arc<TableDef>)> {
        let at = before.columns.iter().position(|c| crate::views::same(&c.name, &name.text))?;
        let now = self.info.table_by_id(before.database, before.object_id)?;
        let (old, new) = (&before.columns[at], now.columns.get(at)?);
        let same = old.ty == new.ty && old.collation == new.collation && old.mask == new.mask;
        (!same).then_some((at, now))
    }

    /// A captured column has got another type or mask: it gets it in the change tables, too.
    pub(super) fn alter_captured(
        &mut self,
        program: &crate::program::Program,
        before: &TableDef,
        name: &ast::Ident,
        action: &ast::AlterColumn,
    ) -> Result<()> {
        if before.captures.is_empty() {
            return Ok(());
        }
        let Some((at, now)) = self.altered(before, name) else { return Ok(()) };
        let mut action = action.clone();
        if let ast::AlterColumn::Type { nullable, .. } = &mut action {
            *nullable = Some(true);
        }
        for def in &before.captures {
            let id = before.columns[at].column_id;
            let Some(place) = def.columns.iter().position(|c| *c == id) else { continue };
            self.lock_schema(before.database, def.change_table)?;
            let Some(table) = self.info.table_by_id(before.database, def.change_table) else { continue };
            let column = ast::Ident {
                text: table.columns[FIRST_CAPTURED + place].name.as_str().into(),
                ..name.clone()
            };
            self.alter_column(program, &table, &column, &action)?;
            if is_rewritten(&before.columns[at], &now.columns[at]) {
                self.rewrite_staged(before, &now, def, (at, FIRST_CAPTURED + place))?;
            }
            let mask =
                now.columns[at].mask.as_ref().map_or_else(|| "null".to_owned(), |m| literal(&m.text()));
            self.run_inside(&format!(
                "update cdc.captured_columns set column_type = {}, masking_function = {mask} where object_id = {} and column_ordinal = {}",
                literal(now.columns[at].ty.name()),
                def.change_table,
                place + 1
            ))?;
        }
        Ok(())
    }

    /// Converts a column of rows that were not told yet. `places` are the column's in the source and in the change table.
    fn rewrite_staged(
        &mut self,
        before: &TableDef,
        now: &TableDef,
        def: &CaptureDef,
        places: (usize, usize),
    ) -> Result<()> {
        let (from, to) = (before.columns[places.0].ty, now.columns[places.0].ty);
        let (entry, session) = (self.entry_of(before.database)?, self.info.shared.id);
        let failed = |e| crate::map::txn_error(e, &entry.name(), session);
        let mut rows = Vec::new();
        let txn = self.txns_dyn().transaction(before.database)?;
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor =
            txn.scan_latest(def.staged, all.0, all.1, keel_node::Direction::Forward).map_err(failed)?;
        while let Some((key, row)) = cursor.next().map_err(failed)? {
            rows.push((key.to_vec(), row));
        }
        drop(cursor);
        for (key, row) in rows {
            let staged = Row::new(&row);
            let mut built = RowBuilder::new();
            built.clear(staged.count());
            for (n, stored) in staged.columns().enumerate() {
                match stored {
                    Some(bytes) if n == places.1 => {
                        let value = crate::convert::store(column::decode(bytes, &from), from, to)?;
                        built.push_with(|out| column::encode(&value, &to, out));
                    }
                    stored => built.push(stored),
                }
            }
            txn.put_index(def.staged, &key, built.finish()).map_err(failed)?;
        }
        Ok(())
    }
}
