//! CREATE, ALTER and DROP INDEX, and building an index over existing rows.

use super::compression::compress;
use super::page_options::{refuse_reorganizing, tell};
use super::storage;
use super::table::{TableBuilder, kind_of, option_on};
use crate::catalog::{Named, fold};
use crate::errors;
use crate::map::txn_error;
use crate::program::Program;
use crate::run::Runner;
use keel_parser::ast::{self, AlterIndexAction};
use keel_query::catalog::{
    Catalog as _, ColumnstoreDef, ContentIndexDef, IndexDef, IndexKind, ModuleKind, TableDef,
};
use keel_query::{EntrySort, SessionInfo as _};
use keel_store::row::RowBuilder;
use keel_types::error::Result;
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlError, Value, column};
use std::sync::Arc;

/// Entries between two looks whether the statement was cancelled.
const ENTRIES_PER_LOOK: u32 = 512;

mod content;
mod disable;
mod view;
mod view_rules;

pub(crate) use view::{is_indexable, shape_of};
pub(crate) use view_rules::OTHER_AGGREGATES;

impl Runner<'_> {
    pub(super) fn table_for_index(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Result<Arc<TableDef>> {
        let found = super::find_table(&self.ddl_scope(program), name);
        let Some(table) = found else {
            return Err(match self.named(program, name) {
                Some((_, Named::Module(view))) if view.kind == ModuleKind::View => {
                    return self.rows_of_view(program, name);
                }
                _ => errors::no_table_for_index(name),
            });
        };
        self.lock_schema(table.database, table.object_id)?;
        // Another session may have changed it while we waited.
        super::find_table(&self.ddl_scope(program), name).ok_or_else(|| errors::no_table_for_index(name))
    }

    pub(super) fn create_index(&mut self, program: &Program, c: &ast::CreateIndex) -> Result<()> {
        super::options::of_index(&c.options, "CREATE INDEX")?;
        if self.is_first_of_view(program, c)? {
            return self.materialize_view(program, c);
        }
        let table = self.table_for_index(program, &c.table)?;
        if let Some(content) = &c.content {
            return self.create_content_index(&table, c, content);
        }
        if c.columnstore {
            return self.create_columnstore(program, &table, c);
        }
        if table.columnstores.iter().any(|i| fold(&i.name) == fold(&c.name.text))
            || table.content_indexes.iter().any(|i| fold(&i.name) == fold(&c.name.text))
            || table.statistics.iter().any(|s| fold(&s.name) == fold(&c.name.text))
        {
            return Err(errors::index_exists(&c.table, &c.name.text));
        }
        if option_on(&c.options, "IGNORE_DUP_KEY") && !c.unique {
            return Err(errors::ignored_duplicates_of_all());
        }
        let existing = table.indexes.iter().position(|i| fold(&i.name) == fold(&c.name.text));
        if existing.is_some() && !option_on(&c.options, "DROP_EXISTING") {
            return Err(match table.view_of.is_empty() {
                true => errors::index_exists(&c.table, &c.name.text),
                false => errors::view_index_exists(&c.table, &c.name.text),
            });
        }
        let mut base = (*table).clone();
        let mut discarded = Vec::new();
        if let Some(at) = existing {
            super::full_text::refuse_key_index(&table, &table.indexes[at])?;
            discarded.push(base.indexes.remove(at));
        }
        let hypothetical = (c.options.iter().any(|o| o.name == "STATISTICS_ONLY"))
            .then(|| kind_of(c.clustered.unwrap_or(false)));
        let clustered = c.clustered.unwrap_or(false) && hypothetical.is_none();
        if clustered && let Some(other) = base.indexes.iter().find(|i| i.kind == IndexKind::Clustered) {
            return Err(match table.view_of.is_empty() {
                true => errors::second_clustered(&c.table, &other.name),
                false => errors::second_clustered_of_view(&c.table, &other.name),
            });
        }
        let entry = self.entry_of(table.database)?;
        let filter = c.filter.as_ref().map(|f| of_columns(f, &table.name)).transpose()?;
        let mut index = {
            let scope = self.ddl_scope(program);
            let mut builder = TableBuilder::new(&scope, &entry, table.schema_id, &table.name);
            builder.table = base.clone();
            let key = builder.index_columns(&c.columns, None)?;
            let included = builder.included_columns(&c.include, &key)?;
            let index_id = if clustered { 1 } else { builder.next_index_id() };
            let (tree, name) = (entry.allocate_tree()?, c.name.text.as_str());
            IndexDef {
                unique: c.unique,
                included,
                filter: filter.as_ref().map(|f| builder.expression_text(f)),
                ignore_dup_key: option_on(&c.options, "IGNORE_DUP_KEY"),
                disabled: hypothetical.is_some(),
                hypothetical,
                // Where nothing is said it stays with the table, also when the clustered index is made anew.
                partitioned: match &c.filegroup {
                    Some(on) => builder.partitioning(on)?,
                    None => table.clustered().partitioned,
                },
                ..IndexDef::plain(index_id, tree, name, kind_of(clustered), key)
            }
        };
        tell(&mut index, &c.options)?;
        compress(&mut index, &c.options, None);
        super::placement::check_unique(&base, &index)?;
        self.refuse_index_of_changes(&table, &index)?;
        self.check_view_key(&table, &index)?;
        if let Some(by) = index.partitioned {
            self.lock_scheme(&entry, by)?;
        }
        if clustered {
            return self.cluster(&table, base, index);
        }
        if hypothetical.is_none() {
            self.build_index(&base, &index)?;
        }
        base.indexes.push(index);
        self.replace_table(base)?;
        for old in discarded {
            self.discard_tree(&table, old.tree)?;
        }
        Ok(())
    }

    /// Remembers a columnstore index. It holds no rows: queries read the table as before.
    fn create_columnstore(
        &mut self,
        program: &Program,
        table: &TableDef,
        c: &ast::CreateIndex,
    ) -> Result<()> {
        let clustered = c.clustered.unwrap_or(false);
        let is = |name: &str| fold(name) == fold(&c.name.text);
        let mut base = table.clone();
        if option_on(&c.options, "DROP_EXISTING") {
            base.columnstores.retain(|i| !is(&i.name));
        }
        if base.indexes.iter().any(|i| is(&i.name))
            || base.columnstores.iter().any(|i| is(&i.name))
            || base.content_indexes.iter().any(|i| is(&i.name))
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
        if clustered && let Some(on) = &c.filegroup {
            // The rows go where the index of all columns is.
            let entry = self.entry_of(table.database)?;
            let scope = self.ddl_scope(program);
            let mut builder = TableBuilder::new(&scope, &entry, table.schema_id, &table.name);
            builder.table = base.clone();
            base.indexes[0].partitioned = builder.partitioning(on)?;
            self.lock_schemes(&entry, &base)?;
        }
        let filter = c.filter.as_ref().map(|f| of_columns(f, &table.name)).transpose()?;
        base.columnstores.push(ColumnstoreDef {
            index_id: if clustered { 1 } else { base.next_index_id() },
            name: c.name.text.to_string(),
            clustered,
            columns,
            filter: filter.as_ref().map(keel_parser::to_text::stored_text),
        });
        self.replace_table(base).map(|_| ())
    }

    /// Fills a nonclustered index from the table's rows.
    /// Makes the entries of a nonclustered index of the rows that are there. They are sorted in the statement's share of
    /// memory and in files.
    pub(super) fn build_index(&mut self, table: &TableDef, index: &IndexDef) -> Result<()> {
        let info = self.info;
        let filter = self.index_filter(table, index)?;
        let mut maker = EntryMaker::new(table, index);
        let mut sort = EntrySort::new(info.engine.work_space(), info.memory_share());
        let mut rows = self.stored_rows(table)?;
        while let Some((clustered_key, bytes)) = rows.next(info)? {
            if let Some(filter) = &filter
                && !self.row_matches(filter, &storage::decode_row(table, &bytes))?
            {
                continue;
            }
            let (key, row) = maker.entry(&bytes, clustered_key);
            sort.push(key, row)?;
        }
        self.put_sorted(table, index, sort)
    }

    /// Puts sorted entries into the tree of an index; equal keys of a unique one are error 1505, whose text shows a row.
    fn put_sorted(&mut self, table: &TableDef, index: &IndexDef, sort: EntrySort) -> Result<()> {
        let info = self.info;
        let txn = self.txns_dyn().transaction(table.database)?;
        let mut sorted = sort.finish()?;
        let mut before: Option<Vec<u8>> = None;
        let mut entries = 0u32;
        while let Some((key, row)) = sorted.next()? {
            entries = entries.wrapping_add(1);
            if entries.is_multiple_of(ENTRIES_PER_LOOK) {
                info.look_up()?;
            }
            if index.unique {
                if before.as_deref() == Some(key) {
                    let whole = index.kind == IndexKind::Clustered;
                    let values = whole.then(|| storage::decode_row(table, row));
                    return Err(self.duplicate(table, index, key, values));
                }
                let before = before.get_or_insert_default();
                before.clear();
                before.extend_from_slice(key);
            }
            txn.put_index(index.tree, key, row).map_err(|e| txn_error(e, "", info.shared.id))?;
        }
        Ok(())
    }

    /// Error 1505, with the values of a row that has a key: those given, or of the first in the table.
    fn duplicate(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        values: Option<Vec<Value>>,
    ) -> Box<SqlError> {
        let info = self.info;
        let values = values.or_else(|| self.first_with_key(table, index, key).unwrap_or_default());
        let shown = values.map(|values| {
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
        let picture = info.engine.database_by_id(table.database).map(|e| info.picture(&e));
        let schema = picture.and_then(|p| p.schema_name(table.schema_id)).unwrap_or_else(|| "dbo".to_owned());
        errors::duplicate_in_index(format!("{schema}.{}", table.name), &index.name, shown.unwrap_or_default())
    }

    fn first_with_key(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
    ) -> Result<Option<Vec<Value>>> {
        let info = self.info;
        let mut found = Vec::new();
        let mut rows = self.stored_rows(table)?;
        while let Some((_, bytes)) = rows.next(info)? {
            let values = storage::decode_row(table, &bytes);
            found.clear();
            append_key(&mut found, table, index, &values);
            if found == key {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }

    /// Moves a table's rows into the order of a new clustered index (or into a heap); every other index follows.
    pub(super) fn cluster(&mut self, old: &TableDef, mut base: TableDef, first: IndexDef) -> Result<()> {
        let info = self.info;
        let entry = self.entry_of(old.database)?;
        base.indexes.retain(|i| i.kind == IndexKind::Nonclustered);
        base.indexes.insert(0, first);
        for index in base.indexes.iter_mut().skip(1) {
            index.tree = entry.allocate_tree()?;
        }
        let first = &base.indexes[0];
        let mut sort = EntrySort::new(info.engine.work_space(), info.memory_share());
        let (mut key, mut number) = (Vec::new(), 0u64);
        let mut rows = self.stored_rows(old)?;
        while let Some((_, bytes)) = rows.next(info)? {
            let values = storage::decode_row(old, &bytes);
            number += 1;
            key.clear();
            append_key(&mut key, &base, first, &values);
            if !first.unique {
                key.extend_from_slice(&number.to_be_bytes());
            }
            sort.push(&key, &encode_row(&base, &values))?;
        }
        self.put_sorted(&base, first, sort)?;
        for index in base.indexes.iter().skip(1) {
            self.build_index(&base, index)?;
        }
        self.replace_table(base)?;
        // What is kept beside the rows stays: changes that are tracked or captured, words.
        self.discard_indexes(old)
    }

    pub(super) fn drop_index(&mut self, program: &Program, d: &ast::DropIndex) -> Result<()> {
        for item in &d.items {
            let mut found = self.stored_object(program, &item.table);
            let name = format!("{}.{}", item.table, item.index.text);
            if let Some(table) = &found {
                self.lock_stored(table)?;
                // Another session may have changed it while we waited.
                found = self.stored_object(program, &item.table);
            }
            let Some(table) = found else {
                if d.if_exists {
                    continue;
                }
                return Err(errors::cannot_drop_missing("index", name));
            };
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
            if self.drop_content_index(&table, &item.index.text)? {
                continue;
            }
            let Some(at) = at else {
                if d.if_exists {
                    continue;
                }
                return Err(errors::cannot_drop_missing("index", name));
            };
            let index = &table.indexes[at];
            if !table.view_of.is_empty() && index.kind == IndexKind::Clustered {
                self.forget_view_rows(&table)?;
                continue;
            }
            if index.constraint_id != 0 {
                let kind = if index.is_primary_key { "PRIMARY KEY" } else { "UNIQUE KEY" };
                return Err(errors::index_of_constraint(name, kind));
            }
            self.remove_index(&table, at, &item.options)?;
        }
        Ok(())
    }

    /// ALTER TABLE … DROP INDEX.
    ///
    /// # Errors
    /// 10785 and 1750 for a table that is not memory-optimized, 3701 for an index that it does not have.
    pub(super) fn drop_index_of(&mut self, table: &TableDef, item: &ast::AlterTableDrop) -> Result<()> {
        self.memory_optimized_only(table, "DROP")?;
        let is = |i: &IndexDef| {
            i.constraint_id == 0 && !i.name.is_empty() && fold(&i.name) == fold(&item.name.text)
        };
        match table.indexes.iter().position(is) {
            Some(at) => self.remove_index(table, at, &item.options),
            None if item.if_exists => Ok(()),
            None => Err(errors::no_index_to_drop(&item.name.text)),
        }
    }

    /// Errors 10785 and 1750 when ALTER TABLE … ADD or DROP INDEX names another kind of table.
    pub(super) fn memory_optimized_only(&self, table: &TableDef, word: &str) -> Result<()> {
        if table.memory_optimized.is_some() {
            return Ok(());
        }
        self.info.say(errors::memory_optimized_only(word));
        Err(errors::constraint_not_created())
    }

    /// Takes an index out of a table; a clustered one leaves a heap behind.
    pub(super) fn remove_index(&mut self, table: &TableDef, at: usize, options: &[ast::Opt]) -> Result<()> {
        super::capture::refuse_key(table, &table.indexes[at])?;
        super::full_text::refuse_key_index(table, &table.indexes[at])?;
        self.refuse_index_of_changes(table, &table.indexes[at])?;
        let entry = self.entry_of(table.database)?;
        let mut base = table.clone();
        let index = base.indexes.remove(at);
        if index.kind == IndexKind::Clustered {
            let partitioned = self.moved_to(table, &index, options)?;
            let first = IndexDef { partitioned, ..IndexDef::heap(entry.allocate_tree()?) };
            return self.cluster(table, base, first);
        }
        self.replace_table(base)?;
        self.discard_tree(table, index.tree)
    }

    pub(super) fn alter_index(&mut self, program: &Program, a: &ast::AlterIndex) -> Result<()> {
        super::options::of_index(&a.options, "ALTER INDEX")?;
        let table = self.table_for_index(program, &a.table)?;
        let mut new = (*table).clone();
        // There is nothing in a columnstore index that could be rebuilt, and nothing reads it that could be kept from it.
        let named = |c: &ColumnstoreDef| a.name.as_ref().is_none_or(|n| fold(&n.text) == fold(&c.name));
        let content = |c: &ContentIndexDef| a.name.as_ref().is_some_and(|n| fold(&n.text) == fold(&c.name));
        let mut any = table.columnstores.iter().any(named) || table.content_indexes.iter().any(content);
        if any && matches!(a.action, AlterIndexAction::Disable) {
            return Err(errors::not_supported(
                "ALTER INDEX … DISABLE of a columnstore, XML or spatial index",
            ));
        }
        for at in 0..new.indexes.len() {
            let index = &new.indexes[at];
            let named = a.name.as_ref().is_none_or(|n| fold(&n.text) == fold(&index.name));
            if !named || index.hypothetical.is_some() {
                continue;
            }
            any = true;
            let shown = if index.name.is_empty() { &table.name } else { &index.name };
            self.check_partition(&table, index, a.partition.as_deref(), ("index", shown))?;
            if matches!(a.action, AlterIndexAction::Rebuild | AlterIndexAction::Set) {
                keep_of_constraint(index, &a.options)?;
                set_ignore_dup_key(&mut new.indexes[at], &a.options)?;
                tell(&mut new.indexes[at], &a.options)?;
            }
            if a.action == AlterIndexAction::Rebuild {
                compress(&mut new.indexes[at], &a.options, a.partition.as_deref());
            }
            let index = &new.indexes[at];
            match a.action {
                AlterIndexAction::Disable => self.disable_index(&mut new, at)?,
                AlterIndexAction::Rebuild if index.kind == IndexKind::Clustered => {
                    if index.disabled && !table.view_of.is_empty() {
                        self.refill_view(&mut new)?;
                    }
                    new.indexes[at].disabled = false;
                }
                AlterIndexAction::Rebuild if index.disabled && index.kind == IndexKind::Nonclustered => {
                    let entry = self.entry_of(table.database)?;
                    let mut rebuilt = index.clone();
                    rebuilt.disabled = false;
                    let old = std::mem::replace(&mut rebuilt.tree, entry.allocate_tree()?);
                    self.build_index(&table, &rebuilt)?;
                    new.indexes[at] = rebuilt;
                    self.discard_tree(&table, old)?;
                }
                AlterIndexAction::Reorganize => refuse_reorganizing(&table, index)?,
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

    /// ALTER TABLE … REBUILD. Trees are rewritten by every checkpoint; of the options those about storage are accepted, and the others
    /// are the clustered index's.
    pub(super) fn rebuild_table(
        &mut self,
        table: &TableDef,
        partition: Option<&str>,
        options: &[ast::Opt],
    ) -> Result<()> {
        self.check_partition(table, table.clustered(), partition, ("table", &table.name))?;
        let mut new = table.clone();
        if let Some(clustered) = new.indexes.iter_mut().find(|i| i.kind == IndexKind::Clustered) {
            set_ignore_dup_key(clustered, options)?;
            tell(clustered, options)?;
        }
        if let Some(rows) = new.indexes.first_mut() {
            compress(rows, options, partition);
        }
        if new != *table {
            self.replace_table(new)?;
        }
        Ok(())
    }

    pub(super) fn index_filter(
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

/// The condition of a filtered index without the name of its table before columns; error 4104 of another table's.
fn of_columns(filter: &ast::Expr, table: &str) -> Result<ast::Expr> {
    let mut filter = filter.clone();
    leave_out(&mut filter, table)?;
    Ok(filter)
}

fn leave_out(filter: &mut ast::Expr, table: &str) -> Result<()> {
    use ast::ExprKind as K;
    match &mut filter.kind {
        K::Column(column) => match column.qualifier.take() {
            Some(other) if fold(&other.name.text) != fold(table) => {
                Err(keel_query::errors::multi_part(&format!("{other}.{}", column.name.text)))
            }
            _ => Ok(()),
        },
        K::Logical { terms, .. } => terms.iter_mut().try_for_each(|term| leave_out(term, table)),
        K::Compare { left, right, .. } => {
            leave_out(left, table)?;
            leave_out(right, table)
        }
        K::IsNull { operand, .. } | K::InList { operand, .. } => leave_out(operand, table),
        _ => Ok(()),
    }
}

/// ALTER INDEX leaves IGNORE_DUP_KEY of a constraint to ALTER TABLE … REBUILD.
fn keep_of_constraint(index: &IndexDef, options: &[ast::Opt]) -> Result<()> {
    if index.constraint_id != 0 && options.iter().any(|o| o.name == "IGNORE_DUP_KEY") {
        return Err(errors::option_of_constraint(&index.name));
    }
    Ok(())
}

/// IGNORE_DUP_KEY, when it is among the options. Those that are not taken up here are about locks and statistics, which are always here.
fn set_ignore_dup_key(index: &mut IndexDef, options: &[ast::Opt]) -> Result<()> {
    if options.iter().any(|o| o.name == "IGNORE_DUP_KEY") {
        let on = option_on(options, "IGNORE_DUP_KEY");
        if on && !index.unique {
            return Err(errors::ignored_duplicates_of_all());
        }
        index.ignore_dup_key = on;
    }
    Ok(())
}

/// Appends the key bytes of a row in an index, without uniquifier or clustered key.
fn append_key(out: &mut Vec<u8>, table: &TableDef, index: &IndexDef, values: &[Value]) {
    for (at, column) in key_columns(table, index) {
        key::append(out, &values[at], &column);
    }
}

/// Places and kinds of an index's key columns.
pub(super) fn key_columns<'t>(
    table: &'t TableDef,
    index: &'t IndexDef,
) -> impl Iterator<Item = (usize, KeyColumn)> + use<'t> {
    index.key.iter().map(|k| {
        let at = place(table, k.column_id);
        let c = &table.columns[at];
        (at, KeyColumn { ty: c.ty, collation: c.collation, descending: k.descending })
    })
}

fn place(table: &TableDef, column_id: i32) -> usize {
    table.columns.iter().position(|c| c.column_id == column_id).expect("columns of an index are columns")
}

/// Makes entries of a nonclustered index. Of a row only what the index has is decoded.
pub(super) struct EntryMaker<'t> {
    table: &'t TableDef,
    unique: bool,
    key_columns: Vec<(usize, KeyColumn)>,
    stored: Vec<usize>,
    key: Vec<u8>,
    row: RowBuilder,
}

impl<'t> EntryMaker<'t> {
    pub(super) fn new(table: &'t TableDef, index: &IndexDef) -> EntryMaker<'t> {
        EntryMaker {
            table,
            unique: index.unique,
            key_columns: key_columns(table, index).collect(),
            stored: index.stored_columns(table).into_iter().map(|id| place(table, id)).collect(),
            key: Vec::new(),
            row: RowBuilder::new(),
        }
    }

    /// Key and row of the entry for a table's row.
    pub(super) fn entry(&mut self, bytes: &[u8], clustered_key: &[u8]) -> (&[u8], &[u8]) {
        let value = |at: &usize| storage::decode_column(&self.table.columns[*at], bytes);
        self.key.clear();
        for (at, column) in &self.key_columns {
            key::append(&mut self.key, &value(at), column);
        }
        if !self.unique {
            self.key.extend_from_slice(clustered_key);
        }
        self.row.clear(self.stored.len() + 1);
        for at in &self.stored {
            push(&mut self.row, &value(at), &self.table.columns[*at].ty);
        }
        self.row.push(Some(clustered_key));
        (&self.key, self.row.finish())
    }
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
