//! The rows of partitions: TRUNCATE TABLE … WITH (PARTITIONS (…)) and ALTER TABLE … SWITCH PARTITION.
//!
//! A table is one tree however it is partitioned, so that rows are taken out and put in one by one. Nobody else sees the
//! tables meanwhile: the caller holds their schema locks.

use super::index::EntryMaker;
use super::storage;
use super::switch::failed;
use crate::errors;
use crate::map::txn_error;
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_parser::ast;
use keel_query::CompiledCondition;
use keel_query::catalog::{ColumnDef, IndexDef, IndexKind, TableDef};
use keel_query::partition::PartitionFunctionDef;
use keel_types::SqlType;
use keel_types::error::Result;
use std::sync::Arc;

/// Partitions of a table.
pub(super) struct Part<'t> {
    function: Arc<PartitionFunctionDef>,
    column: &'t ColumnDef,
    /// By number, from 1.
    wanted: Vec<bool>,
}

impl Part<'_> {
    /// Whether a stored row is in them.
    pub(super) fn has(&self, row: &[u8]) -> bool {
        let number = self.function.partition_of(&storage::decode_column(self.column, row));
        self.wanted.get(number).copied().unwrap_or(false)
    }
}

impl Runner<'_> {
    /// The function that a table is partitioned by, and the column. All its indexes are partitioned alike, else error
    /// `unaligned`.
    fn partitioning_of<'t>(
        &self,
        table: &'t TableDef,
        unaligned: impl Fn(&IndexDef, &PartitionFunctionDef) -> Box<keel_types::SqlError>,
    ) -> Result<Option<(Arc<PartitionFunctionDef>, &'t ColumnDef)>> {
        let Some(by) = table.clustered().partitioned else { return Ok(None) };
        let picture = self.info.picture(&self.entry_of(table.database)?);
        let Some(function) = picture.partitioned_by(Some(by)) else { return Ok(None) };
        for index in &table.indexes {
            let own = picture.partitioned_by(index.partitioned);
            let alike = own.is_some_and(|f| f.boundaries == function.boundaries && f.right == function.right);
            if !alike || index.partitioned.is_some_and(|p| p.column != by.column) {
                return Err(unaligned(index, function));
            }
        }
        let at = table.column_index(by.column).expect("the partitioning column is a column");
        Ok(Some((Arc::clone(function), &table.columns[at])))
    }

    fn partition_number_of(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        e: &ast::Expr,
    ) -> Result<Option<i64>> {
        Ok(self.value(program, frame, e, Some(SqlType::Int))?.as_int())
    }

    /// TRUNCATE TABLE … WITH (PARTITIONS (…)).
    pub(super) fn truncate_partitions(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        table: &TableDef,
        ranges: &[ast::PartitionRange],
    ) -> Result<()> {
        let name = &table.name;
        let unaligned = |index: &IndexDef, f: &PartitionFunctionDef| {
            errors::truncate_unaligned(&index.name, name, &f.name)
        };
        let Some((function, column)) = self.partitioning_of(table, unaligned)? else {
            return Err(errors::not_partitioned("truncate table", "table", name));
        };
        let count = function.fanout();
        let mut wanted = vec![false; count + 1];
        for range in ranges {
            let first = self.partition_number_of(program, frame, &range.first)?.unwrap_or(0);
            let last = match &range.last {
                Some(last) => self.partition_number_of(program, frame, last)?.unwrap_or(0),
                None => first,
            };
            if let Some(wrong) = [first, last].into_iter().find(|n| !(1..=count as i64).contains(n)) {
                return Err(errors::no_such_partition(wrong, "table", name, count));
            }
            if first > last {
                return Err(errors::partition_range_backwards(first, last));
            }
            wanted[first as usize..=last as usize].fill(true);
        }
        let part = Part { function, column, wanted };
        let info = self.info;
        let mut entries = self.entries_of(table)?;
        let mut rows = self.stored_rows(table)?;
        while let Some((key, bytes)) = rows.next(info)? {
            if part.has(&bytes) {
                entries.iter_mut().try_for_each(|e| self.remove_entry(table, e, key, &bytes))?;
            }
        }
        Ok(())
    }

    /// The partition of a table that SWITCH names; `None` for the whole of one that is not partitioned.
    pub(super) fn switched<'t>(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        table: &'t TableDef,
        number: Option<&ast::Expr>,
    ) -> Result<Option<(usize, Part<'t>)>> {
        let name = self.full_name(table);
        let unaligned =
            |index: &IndexDef, _: &PartitionFunctionDef| errors::switch_unaligned(&name, &index.name);
        let found = self.partitioning_of(table, unaligned)?;
        let ((function, column), number) = match (found, number) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(errors::not_partitioned("alter table switch", "table", &name)),
            (Some(_), None) => return Err(errors::switch_without_partition(&name)),
            (Some(found), Some(number)) => (found, number),
        };
        let asked = self.partition_number_of(program, frame, number)?.unwrap_or(0);
        let number = usize::try_from(asked).ok().filter(|n| (1..=function.fanout()).contains(n));
        let number = number.ok_or_else(|| errors::no_switched_partition(asked, &name))?;
        let mut wanted = vec![false; function.fanout() + 1];
        wanted[number] = true;
        Ok(Some((number, Part { function, column, wanted })))
    }

    /// Moves the rows of a table, or of one partition, to another with the same columns and indexes. Errors 4904, 4905, 4972
    /// and 4982.
    pub(super) fn move_rows(
        &mut self,
        (from, source): (&TableDef, Option<&Part<'_>>),
        (to, target): (&TableDef, Option<(usize, &Part<'_>)>),
    ) -> Result<()> {
        let info = self.info;
        let (from_name, to_name) = (self.full_name(from), self.full_name(to));
        let mut greatest = 0;
        let mut rows = self.stored_rows(to)?;
        while let Some((key, bytes)) = rows.next(info)? {
            greatest = greatest.max(number_of(key));
            match target {
                Some((n, part)) if part.has(&bytes) => {
                    let text =
                        format!("The specified partition {n} of target table '{to_name}' must be empty.");
                    return Err(failed(4904, text));
                }
                Some(_) => {}
                None => return Err(failed(4905, format!("The target table '{to_name}' must be empty."))),
            }
        }
        let entry = self.entry_of(to.database)?;
        let numbered = !to.clustered().unique;
        let (mut out, mut into) = (self.entries_of(from)?, self.entries_of(to)?);
        let mut new_key = Vec::new();
        let mut rows = self.stored_rows(from)?;
        while let Some((key, bytes)) = rows.next(info)? {
            if source.is_some_and(|part| !part.has(&bytes)) {
                continue;
            }
            let row = super::index::encode_row(to, &storage::decode_row(from, &bytes));
            if let Some((n, _)) = target.filter(|(_, part)| !part.has(&row)) {
                return Err(outside(&from_name, source.is_some(), &to_name, n));
            }
            new_key.clear();
            new_key.extend_from_slice(key);
            if numbered {
                let number = entry.next_row_id(to.clustered().tree, &mut || Ok(greatest))?;
                new_key.truncate(key.len().saturating_sub(8));
                new_key.extend_from_slice(&number.to_be_bytes());
            }
            out.iter_mut().try_for_each(|e| self.remove_entry(from, e, key, &bytes))?;
            into.iter_mut().try_for_each(|e| self.put_entry(to, e, &new_key, &row))?;
        }
        Ok(())
    }

    /// How the entries of each index of a table are made.
    fn entries_of<'t>(&self, table: &'t TableDef) -> Result<Vec<Entries<'t>>> {
        let entries = |index: &'t IndexDef| {
            let filter = self.index_filter(table, index)?;
            Ok(Entries { index, filter, maker: EntryMaker::new(table, index) })
        };
        table.indexes.iter().map(entries).collect()
    }

    fn has_entry(&mut self, table: &TableDef, e: &Entries<'_>, row: &[u8]) -> Result<bool> {
        match &e.filter {
            _ if e.index.disabled => Ok(false),
            Some(filter) => self.row_matches(filter, &storage::decode_row(table, row)),
            None => Ok(true),
        }
    }

    fn remove_entry(&mut self, table: &TableDef, e: &mut Entries<'_>, key: &[u8], row: &[u8]) -> Result<()> {
        if !self.has_entry(table, e, row)? {
            return Ok(());
        }
        let key = if e.index.kind == IndexKind::Nonclustered { e.maker.entry(row, key).0 } else { key };
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(table.database)?;
        txn.delete_index(e.index.tree, key).map_err(|e| txn_error(e, "", session))
    }

    fn put_entry(&mut self, table: &TableDef, e: &mut Entries<'_>, key: &[u8], row: &[u8]) -> Result<()> {
        if !self.has_entry(table, e, row)? {
            return Ok(());
        }
        let nonclustered = e.index.kind == IndexKind::Nonclustered;
        let (key, row) = if nonclustered { e.maker.entry(row, key) } else { (key, row) };
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(table.database)?;
        txn.put_index(e.index.tree, key, row).map_err(|e| txn_error(e, "", session))
    }
}

/// An index of a table whose rows come or go.
struct Entries<'t> {
    index: &'t IndexDef,
    filter: Option<CompiledCondition>,
    maker: EntryMaker<'t>,
}

/// The hidden number at the end of a key.
fn number_of(key: &[u8]) -> u64 {
    let number = key.len().checked_sub(8).and_then(|at| key[at..].try_into().ok());
    number.map_or(0, u64::from_be_bytes)
}

/// Errors 4972 and 4982: a row belongs to another partition of the target.
fn outside(from: &str, partitioned: bool, to: &str, number: usize) -> Box<keel_types::SqlError> {
    if partitioned {
        let text = format!(
            "Check constraints or partition function of source table '{from}' allows values that are not allowed by check constraints or partition function on target table '{to}'."
        );
        return failed(4972, text);
    }
    let text = format!(
        "Check constraints of source table '{from}' allow values that are not allowed by range defined by partition {number} on target table '{to}'."
    );
    failed(4982, text)
}
