//! `ON scheme(column)`: by what tables and indexes are partitioned.
//!
//! The table is partitioned as its clustered index or heap is. An index for which no place is named goes with the table.

use super::table::TableBuilder;
use super::{Place, partition};
use crate::catalog::fold;
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::run::Runner;
use crate::session::scope::Scope;
use keel_parser::ast;
use keel_query::catalog::{ColumnDef, IndexDef, IndexKind, TableDef};
use keel_query::partition::{PartitionFunctionDef, PartitionedBy};
use keel_types::error::Result;
use std::sync::Arc;

impl TableBuilder<'_> {
    /// Puts the index made last where its ON says.
    pub(super) fn place_last(&mut self, on: Option<&ast::Filegroup>) -> Result<()> {
        let Some(on) = on else { return Ok(()) };
        let by = self.partitioning(on)?;
        if let Some(index) = self.table.indexes.last_mut() {
            index.partitioned = by;
            self.placed.push(index.index_id);
        }
        Ok(())
    }

    /// Puts the indexes that have no ON of their own where the table is; `before` are those that were there before. Error
    /// 1908.
    pub(super) fn align(&mut self, on: Option<&ast::Filegroup>, before: &[i32]) -> Result<()> {
        let on = on.map(|on| self.partitioning(on)).transpose()?.flatten();
        // A heap that was there comes before the clustered index that takes its place.
        let heap = self.table.indexes.iter().find(|i| i.kind != IndexKind::Nonclustered);
        let of_table = on.or(heap.and_then(|i| i.partitioned));
        let clustered = self.table.indexes.iter().find(|i| i.kind == IndexKind::Clustered);
        let of_table = match clustered {
            Some(index) if self.placed.contains(&index.index_id) => index.partitioned,
            _ => of_table,
        };
        for at in 0..self.table.indexes.len() {
            let id = self.table.indexes[at].index_id;
            if before.contains(&id) {
                continue;
            }
            if !self.placed.contains(&id) {
                self.table.indexes[at].partitioned = of_table;
            }
            check_unique(&self.table, &self.table.indexes[at])?;
        }
        Ok(())
    }

    /// By what ON of a new index partitions it; `None` for a filegroup.
    pub(super) fn partitioning(&self, on: &ast::Filegroup) -> Result<Option<PartitionedBy>> {
        let entry = self.scope.info.engine.database_by_id(self.entry.id);
        let picture = entry.map(|e| self.scope.info.picture(&e));
        let scheme = picture.as_ref().and_then(|p| p.partition_scheme_named(&on.name.text));
        let [column] = on.columns.as_slice() else {
            return match scheme {
                None if on.columns.is_empty() => Ok(None),
                None => Err(errors::invalid_data_space("partition scheme", &on.name.text)),
                Some(_) if on.columns.is_empty() => {
                    Err(errors::invalid_data_space("filegroup", &on.name.text))
                }
                Some(scheme) => {
                    let function = picture.as_ref().and_then(|p| p.partition_function(scheme.function_id));
                    Err(errors::partition_column_count(function.map_or("", |f| &f.name), 1))
                }
            };
        };
        let found = scheme.and_then(|s| Some((s, picture.as_ref()?.partition_function(s.function_id)?)));
        let (scheme, function) =
            found.ok_or_else(|| errors::invalid_data_space("partition scheme", &on.name.text))?;
        let found = self.table.columns.iter().find(|c| fold(&c.name) == fold(&column.text));
        let found = found.ok_or_else(|| errors::no_column_in_target(&column.text))?;
        fits(&self.table, found, function)?;
        Ok(Some(PartitionedBy { scheme: scheme.data_space_id, column: found.column_id }))
    }
}

/// Errors 7724, 7726 and 7727.
fn fits(table: &TableDef, column: &ColumnDef, function: &PartitionFunctionDef) -> Result<()> {
    if column.computed.as_ref().is_some_and(|c| !c.persisted) {
        return Err(errors::partition_column_computed(&column.name, &table.name));
    }
    if column.ty != function.ty {
        let (ty, wanted) = (partition::type_name(column.ty), partition::type_name(function.ty));
        return Err(errors::partition_column_type(&column.name, ty, &function.name, wanted));
    }
    if column.ty.is_string() && column.collation != function.collation {
        return Err(errors::partition_column_collation(&column.name, &function.name));
    }
    Ok(())
}

/// Error 1908: a unique index must have the partitioning column in its key.
pub(super) fn check_unique(table: &TableDef, index: &IndexDef) -> Result<()> {
    let Some(by) = index.partitioned.filter(|_| index.unique) else { return Ok(()) };
    if index.key.iter().any(|k| k.column_id == by.column) {
        return Ok(());
    }
    let column = table.column_index(by.column).map_or("", |at| &table.columns[at].name);
    Err(errors::partition_column_not_in_key(column, &index.name))
}

impl Runner<'_> {
    /// The partition function by which an index of the table is divided along the column.
    pub(super) fn partitioned_on(&self, table: &TableDef, column: i32) -> Result<Option<String>> {
        let by = table.indexes.iter().filter_map(|i| i.partitioned).find(|by| by.column == column);
        let picture = self.info.picture(&self.entry_of(table.database)?);
        Ok(picture.partitioned_by(by).map(|f| f.name.clone()))
    }

    /// By what the rows are partitioned when their clustered index goes: as it was, or as `MOVE TO scheme(column)` says.
    pub(super) fn moved_to(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        options: &[ast::Opt],
    ) -> Result<Option<PartitionedBy>> {
        let option = options.iter().find(|o| o.name == "MOVE TO");
        let (name, columns) = match option.map(|o| &o.value) {
            Some(ast::OptValue::Word(name)) => (name, &[][..]),
            Some(ast::OptValue::WordList(name, columns)) => (name, columns.as_slice()),
            _ => return Ok(index.partitioned),
        };
        let column = |o: &ast::Opt| ast::Ident { text: o.name.clone(), quoted: true, span: o.span };
        let on = ast::Filegroup { name: name.clone(), columns: columns.iter().map(column).collect() };
        let entry = self.entry_of(table.database)?;
        let by = {
            let scope = Scope::bare(self.info, table.database);
            let mut builder = TableBuilder::new(&scope, &entry, table.schema_id, &table.name);
            builder.table = table.clone();
            builder.partitioning(&on)?
        };
        by.map_or(Ok(()), |by| self.lock_scheme(&entry, by))?;
        Ok(by)
    }

    /// Errors 7730 and 7735: `PARTITION = n` of ALTER INDEX and ALTER TABLE … REBUILD.
    pub(super) fn check_partition(
        &self,
        table: &TableDef,
        index: &IndexDef,
        partition: Option<&str>,
        (kind, name): (&str, &str),
    ) -> Result<()> {
        let number = partition.and_then(|p| p.trim().parse::<usize>().ok());
        let Some(number) = number else { return Ok(()) };
        let picture = self.info.picture(&self.entry_of(table.database)?);
        match picture.partitioned_by(index.partitioned) {
            None => Err(errors::altered_not_partitioned(kind, kind, name)),
            Some(f) if !(1..=f.fanout()).contains(&number) => {
                Err(errors::no_altered_partition(kind, number, kind, name))
            }
            Some(_) => Ok(()),
        }
    }

    /// Keeps the schemes that a table is on from being dropped before the table is there.
    pub(super) fn lock_schemes(&mut self, entry: &Arc<DatabaseEntry>, table: &TableDef) -> Result<()> {
        let mut locked = Vec::new();
        for by in table.indexes.iter().filter_map(|i| i.partitioned) {
            if !locked.contains(&by.scheme) {
                locked.push(by.scheme);
                self.lock_scheme(entry, by)?;
            }
        }
        Ok(())
    }

    pub(super) fn lock_scheme(&mut self, entry: &Arc<DatabaseEntry>, by: PartitionedBy) -> Result<()> {
        let name_of = |runner: &Self| {
            let picture = runner.info.picture(entry);
            picture.partition_scheme(by.scheme).map(|s| s.name.clone())
        };
        let gone = || errors::invalid_data_space("partition scheme", by.scheme);
        let name = name_of(self).ok_or_else(gone)?;
        self.lock_name(&Place {
            entry: Arc::clone(entry),
            schema_id: partition::NAMES,
            name: partition::scheme_lock(&name),
        })?;
        name_of(self).ok_or_else(gone).map(|_| ())
    }
}
