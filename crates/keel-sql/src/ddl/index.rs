//! CREATE, ALTER and DROP INDEX, and building an index over existing rows.

use super::storage;
use super::table::{TableBuilder, heap, option_on};
use crate::catalog::fold;
use crate::errors;
use crate::map::txn_error;
use crate::program::Program;
use crate::run::Runner;
use keel_node::{Direction, Transaction};
use keel_parser::ast::{self, AlterIndexAction};
use keel_query::catalog::{Catalog as _, ColumnstoreDef, IndexDef, IndexKind, TableDef};
use keel_store::row::RowBuilder;
use keel_types::error::Result;
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlError, Value, column};
use std::ops::Bound;
use std::sync::Arc;

impl Runner<'_> {
    pub(super) fn table_for_index(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Result<Arc<TableDef>> {
        let found = super::find_table(&self.ddl_scope(program), name);
        let Some(table) = found else {
            return Err(match self.named(program, name) {
                Some((_, crate::catalog::Named::Module(_))) => errors::not_supported("An index on a view"),
                _ => errors::no_table_for_index(name),
            });
        };
        self.lock_schema(table.database, table.object_id)?;
        // Another session may have changed it while we waited.
        super::find_table(&self.ddl_scope(program), name).ok_or_else(|| errors::no_table_for_index(name))
    }

    pub(super) fn create_index(&mut self, program: &Program, c: &ast::CreateIndex) -> Result<()> {
        if let Some(special) = &c.special {
            return Err(errors::not_supported(format!("A {special} index")));
        }
        let table = self.table_for_index(program, &c.table)?;
        if c.columnstore {
            return self.create_columnstore(&table, c);
        }
        if table.columnstores.iter().any(|i| fold(&i.name) == fold(&c.name.text))
            || table.statistics.iter().any(|s| fold(&s.name) == fold(&c.name.text))
        {
            return Err(errors::index_exists(&c.table, &c.name.text));
        }
        let existing = table.indexes.iter().position(|i| fold(&i.name) == fold(&c.name.text));
        if existing.is_some() && !option_on(&c.options, "DROP_EXISTING") {
            return Err(errors::index_exists(&c.table, &c.name.text));
        }
        let mut base = (*table).clone();
        let mut discarded = Vec::new();
        if let Some(at) = existing {
            discarded.push(base.indexes.remove(at));
        }
        let clustered = c.clustered.unwrap_or(false);
        if clustered && let Some(other) = base.indexes.iter().find(|i| i.kind == IndexKind::Clustered) {
            return Err(errors::second_clustered(&c.table, &other.name));
        }
        let entry = self.entry_of(table.database)?;
        let index = {
            let scope = self.ddl_scope(program);
            let mut builder = TableBuilder::new(&scope, &entry, table.schema_id, &table.name);
            builder.table = base.clone();
            let key = builder.index_columns(&c.columns, None)?;
            let mut included = Vec::new();
            for column in &c.include {
                let found = base.columns.iter().find(|o| fold(&o.name) == fold(&column.text));
                included.push(found.ok_or_else(|| errors::no_column_in_table(&column.text))?.column_id);
            }
            IndexDef {
                index_id: if clustered { 1 } else { builder.next_index_id() },
                tree: entry.allocate_tree()?,
                name: c.name.text.to_string(),
                kind: if clustered { IndexKind::Clustered } else { IndexKind::Nonclustered },
                unique: c.unique,
                is_primary_key: false,
                is_unique_constraint: false,
                constraint_id: 0,
                key,
                included,
                filter: c.filter.as_ref().map(|f| builder.expression_text(f)),
                disabled: false,
                ignore_dup_key: option_on(&c.options, "IGNORE_DUP_KEY"),
            }
        };
        if clustered {
            return self.cluster(&table, base, index);
        }
        self.build_index(&base, &index)?;
        base.indexes.push(index);
        self.replace_table(base)?;
        for old in discarded {
            self.discard_tree(&table, old.tree)?;
        }
        Ok(())
    }

    /// Remembers a columnstore index. It holds no rows: queries read the table as before.
    fn create_columnstore(&mut self, table: &TableDef, c: &ast::CreateIndex) -> Result<()> {
        let clustered = c.clustered.unwrap_or(false);
        let is = |name: &str| fold(name) == fold(&c.name.text);
        let mut base = table.clone();
        if option_on(&c.options, "DROP_EXISTING") {
            base.columnstores.retain(|i| !is(&i.name));
        }
        if base.indexes.iter().any(|i| is(&i.name))
            || base.columnstores.iter().any(|i| is(&i.name))
            || base.statistics.iter().any(|s| is(&s.name))
        {
            return Err(errors::index_exists(&c.table, &c.name.text));
        }
        if !base.columnstores.is_empty() {
            return Err(errors::second_columnstore());
        }
        if clustered && let Some(other) = base.indexes.iter().find(|i| i.kind == IndexKind::Clustered) {
            return Err(errors::second_clustered(&c.table, &other.name));
        }
        let mut columns = Vec::new();
        for column in c.columns.iter().filter(|_| !clustered) {
            let found = base.columns.iter().find(|o| fold(&o.name) == fold(&column.name.text));
            columns.push(found.ok_or_else(|| errors::no_column_in_table(&column.name.text))?.column_id);
        }
        base.columnstores.push(ColumnstoreDef {
            index_id: if clustered { 1 } else { base.next_index_id() },
            name: c.name.text.to_string(),
            clustered,
            columns,
            filter: c.filter.as_ref().map(keel_parser::to_text::stored_text),
        });
        self.replace_table(base).map(|_| ())
    }

    /// Fills a nonclustered index from the table's rows.
    pub(super) fn build_index(&mut self, table: &TableDef, index: &IndexDef) -> Result<()> {
        let session = self.info.shared.id;
        let filter = self.index_filter(table, index)?;
        let rows = self.rows_with_keys(table)?;
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::with_capacity(rows.len());
        for (clustered_key, values) in &rows {
            if let Some(filter) = &filter
                && !self.row_matches(table, filter, values)?
            {
                continue;
            }
            entries.push(index_entry(table, index, values, clustered_key));
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        if index.unique
            && let Some(pair) = entries.windows(2).find(|w| w[0].0 == w[1].0)
        {
            return Err(self.duplicate(table, index, &pair[0].0, &rows));
        }
        let txn = self.txns_dyn().transaction(table.database)?;
        for (key, row) in &entries {
            txn.put_index(index.tree, key, row).map_err(|e| txn_error(e, "", session))?;
        }
        Ok(())
    }

    fn rows_with_keys(&mut self, table: &TableDef) -> Result<Vec<(Vec<u8>, Vec<Value>)>> {
        let txn = self.txns_dyn().transaction(table.database)?;
        let mut rows = Vec::new();
        storage::for_each_row(txn, table, &mut |key, bytes| {
            rows.push((key.to_vec(), storage::decode_row(table, bytes)));
            Ok(())
        })?;
        Ok(rows)
    }

    fn duplicate(
        &self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        rows: &[(Vec<u8>, Vec<Value>)],
    ) -> Box<SqlError> {
        let offender = rows.iter().find(|(_, values)| key_bytes(table, index, values) == key);
        let shown = offender.map(|(_, values)| {
            let column = |id: i32| table.columns.iter().position(|c| c.column_id == id);
            let texts: Vec<String> = index
                .key
                .iter()
                .filter_map(|k| column(k.column_id))
                .map(|i| match &values[i] {
                    Value::Null => "<NULL>".to_owned(),
                    v => crate::convert::display_typed(v, table.columns[i].ty),
                })
                .collect();
            texts.join(", ")
        });
        let picture = self.info.engine.database_by_id(table.database).map(|e| self.info.picture(&e));
        let schema = picture.and_then(|p| p.schema_name(table.schema_id)).unwrap_or_else(|| "dbo".to_owned());
        errors::duplicate_in_index(format!("{schema}.{}", table.name), &index.name, shown.unwrap_or_default())
    }

    /// Moves a table's rows into the order of a new clustered index (or into a heap); every other index follows.
    pub(super) fn cluster(&mut self, old: &TableDef, mut base: TableDef, first: IndexDef) -> Result<()> {
        let entry = self.entry_of(old.database)?;
        let session = self.info.shared.id;
        base.indexes.retain(|i| i.kind == IndexKind::Nonclustered);
        base.indexes.insert(0, first);
        for index in base.indexes.iter_mut().skip(1) {
            index.tree = entry.allocate_tree()?;
        }
        let rows = self.rows_with_keys(old)?;
        let mut keyed: Vec<(Vec<u8>, Vec<Value>)> = Vec::with_capacity(rows.len());
        for (number, (_, values)) in rows.into_iter().enumerate() {
            let mut key = key_bytes(&base, &base.indexes[0], &values);
            if !base.indexes[0].unique {
                key.extend_from_slice(&(number as u64 + 1).to_be_bytes());
            }
            keyed.push((key, values));
        }
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        if base.indexes[0].unique
            && let Some(pair) = keyed.windows(2).find(|w| w[0].0 == w[1].0)
        {
            return Err(self.duplicate(&base, &base.indexes[0], &pair[0].0, &keyed));
        }
        for (key, values) in &keyed {
            let row = encode_row(&base, values);
            let txn = self.txns_dyn().transaction(base.database)?;
            txn.put_index(base.indexes[0].tree, key, &row).map_err(|e| txn_error(e, "", session))?;
        }
        let table = base.clone();
        for index in table.indexes.iter().skip(1) {
            self.build_index(&table, index)?;
        }
        self.replace_table(base)?;
        self.discard_trees(old)
    }

    pub(super) fn drop_index(&mut self, program: &Program, d: &ast::DropIndex) -> Result<()> {
        for item in &d.items {
            let found = super::find_table(&self.ddl_scope(program), &item.table);
            let name = format!("{}.{}", item.table, item.index.text);
            let Some(table) = found else {
                if d.if_exists {
                    continue;
                }
                return Err(errors::cannot_drop_missing("index", name));
            };
            self.lock_schema(table.database, table.object_id)?;
            let at = table
                .indexes
                .iter()
                .position(|i| !i.name.is_empty() && fold(&i.name) == fold(&item.index.text));
            if let Some(at) = table.columnstores.iter().position(|i| fold(&i.name) == fold(&item.index.text))
            {
                let mut base = (*table).clone();
                base.columnstores.remove(at);
                self.replace_table(base)?;
                continue;
            }
            let Some(at) = at else {
                if d.if_exists {
                    continue;
                }
                return Err(errors::cannot_drop_missing("index", name));
            };
            let index = &table.indexes[at];
            if index.constraint_id != 0 {
                let kind = if index.is_primary_key { "PRIMARY KEY" } else { "UNIQUE KEY" };
                return Err(errors::index_of_constraint(name, kind));
            }
            self.remove_index(&table, at)?;
        }
        Ok(())
    }

    /// Takes an index out of a table; a clustered one leaves a heap behind.
    pub(super) fn remove_index(&mut self, table: &TableDef, at: usize) -> Result<()> {
        let entry = self.entry_of(table.database)?;
        let mut base = table.clone();
        let index = base.indexes.remove(at);
        if index.kind == IndexKind::Clustered {
            let first = heap(entry.allocate_tree()?);
            return self.cluster(table, base, first);
        }
        self.replace_table(base)?;
        self.discard_tree(table, index.tree)
    }

    pub(super) fn alter_index(&mut self, program: &Program, a: &ast::AlterIndex) -> Result<()> {
        let table = self.table_for_index(program, &a.table)?;
        let mut new = (*table).clone();
        // There is nothing in a columnstore index that could be rebuilt, and nothing reads it that could be kept from it.
        let named = |c: &ColumnstoreDef| a.name.as_ref().is_none_or(|n| fold(&n.text) == fold(&c.name));
        let mut any = table.columnstores.iter().any(named);
        if any && matches!(a.action, AlterIndexAction::Disable) {
            return Err(errors::not_supported("ALTER INDEX … DISABLE of a columnstore index"));
        }
        for at in 0..new.indexes.len() {
            let index = &new.indexes[at];
            let named = a.name.as_ref().is_none_or(|n| fold(&n.text) == fold(&index.name));
            if !named {
                continue;
            }
            any = true;
            match a.action {
                AlterIndexAction::Disable => new.indexes[at].disabled = true,
                AlterIndexAction::Rebuild if index.disabled && index.kind == IndexKind::Nonclustered => {
                    let entry = self.entry_of(table.database)?;
                    let mut rebuilt = index.clone();
                    rebuilt.disabled = false;
                    let old = std::mem::replace(&mut rebuilt.tree, entry.allocate_tree()?);
                    self.build_index(&table, &rebuilt)?;
                    new.indexes[at] = rebuilt;
                    self.discard_tree(&table, old)?;
                }
                // Trees are rewritten by every checkpoint: there is no fragmentation to remove.
                _ => {}
            }
        }
        if !any {
            let name = a.name.as_ref().map_or("ALL", |n| n.text.as_str());
            return Err(SqlError::new(2727, 11, 1, format!("Cannot find index '{name}'.")));
        }
        if new != *table {
            self.replace_table(new)?;
        }
        Ok(())
    }

    fn index_filter(
        &self,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<Option<keel_query::CompiledCondition>> {
        match &index.filter {
            Some(text) => self.row_condition(table, text).map(Some),
            None => Ok(None),
        }
    }
}

/// The key bytes of a row in an index, without uniquifier or clustered key.
pub(super) fn key_bytes(table: &TableDef, index: &IndexDef, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for k in &index.key {
        let at =
            table.columns.iter().position(|c| c.column_id == k.column_id).expect("key columns are columns");
        let c = &table.columns[at];
        let column = KeyColumn { ty: c.ty, collation: c.collation, descending: k.descending };
        key::append(&mut out, &values[at], &column);
    }
    out
}

/// Key and row of a nonclustered index entry.
pub(super) fn index_entry(
    table: &TableDef,
    index: &IndexDef,
    values: &[Value],
    clustered_key: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let mut key = key_bytes(table, index, values);
    if !index.unique {
        key.extend_from_slice(clustered_key);
    }
    let columns = index.stored_columns(table);
    let mut row = RowBuilder::new();
    row.clear(columns.len() + 1);
    for id in columns {
        let at = table.columns.iter().position(|c| c.column_id == id).expect("index columns are columns");
        push(&mut row, &values[at], &table.columns[at].ty);
    }
    row.push(Some(clustered_key));
    (key, row.finish().to_vec())
}

fn push(row: &mut RowBuilder, value: &Value, ty: &keel_types::SqlType) {
    match value {
        Value::Null => row.push_null(),
        value => row.push_with(|out| column::encode(value, ty, out)),
    }
}

/// The stored form of a table's row.
pub(super) fn encode_row(table: &TableDef, values: &[Value]) -> Vec<u8> {
    let mut row = RowBuilder::new();
    row.clear(usize::from(table.next_ordinal));
    for ordinal in 0..table.next_ordinal {
        match table.columns.iter().position(|c| c.ordinal == ordinal) {
            Some(at) => push(&mut row, &values[at], &table.columns[at].ty),
            None => row.push_null(),
        }
    }
    row.finish().to_vec()
}

/// Number of entries of an index.
pub(super) fn count_entries(txn: &mut Transaction, index: &IndexDef) -> Result<u64> {
    let fail = |e| txn_error(e, "", 0);
    let mut cursor =
        txn.scan_latest(index.tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward).map_err(fail)?;
    let mut count = 0;
    while cursor.next().map_err(fail)?.is_some() {
        count += 1;
    }
    Ok(count)
}
