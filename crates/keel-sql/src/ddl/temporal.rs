//! System-versioned temporal tables: PERIOD FOR SYSTEM_TIME, SYSTEM_VERSIONING, the history table.
//!
//! The definition of the current table names its history table and the other way round. What the current table's columns
//! become, the history's become in the same transaction; the rows of both are found together by the columns' names.

use super::storage;
use super::table::TableBuilder;
use crate::catalog::{CatalogObject, Named, fold};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::run::Runner;
use keel_parser::ast::{self, AlterTableAction, ColumnDefinition, Opt, OptValue, TableElement};
use keel_query::catalog::{
    Catalog as _, ColumnDef, IndexColumn, IndexDef, IndexKind, PeriodDef, TableDef, VersioningDef,
};
use keel_query::{EntrySort, SessionInfo as _};
use keel_types::error::Result;
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlType, Value};
use std::sync::Arc;

/// 9999-12-31 23:59:59 in ticks of 100 ns: whatever the fraction, a period that ends then has not ended.
const LAST_SECOND: i64 = 3_155_378_975_990_000_000;

/// What SYSTEM_VERSIONING = ON asks for.
pub(super) struct Versioning {
    /// HISTORY_TABLE: schema and name.
    history: Option<(String, String)>,
    /// DATA_CONSISTENCY_CHECK.
    check: bool,
    /// HISTORY_RETENTION_PERIOD, when it is written; `None` inside is INFINITE.
    retention: Option<Option<(i32, i32)>>,
}

/// SYSTEM_VERSIONING among options: nothing, OFF or ON.
pub(super) fn asked(options: &[Opt]) -> Result<Option<Option<Versioning>>> {
    let Some(option) = options.iter().find(|o| o.name == "SYSTEM_VERSIONING") else { return Ok(None) };
    let mut versioning = Versioning { history: None, check: true, retention: None };
    let details = match &option.value {
        OptValue::Off => return Ok(Some(None)),
        OptValue::WordList(_, details) => details.as_slice(),
        _ => &[],
    };
    for detail in details {
        match detail.name.as_str() {
            "HISTORY_TABLE" => {
                let name = detail.value.text().unwrap_or_default();
                let mut parts = crate::functions::split_name(name);
                let (Some(table), Some(schema), true) = (parts.pop(), parts.pop(), parts.is_empty()) else {
                    return Err(errors::history_name_parts(name));
                };
                versioning.history = Some((schema.to_string(), table.to_string()));
            }
            "DATA_CONSISTENCY_CHECK" => versioning.check = !matches!(detail.value, OptValue::Off),
            "HISTORY_RETENTION_PERIOD" => versioning.retention = Some(retention(&detail.value)?),
            _ => {}
        }
    }
    Ok(Some(Some(versioning)))
}

/// Count and unit, as `sys.tables` numbers them.
fn retention(value: &OptValue) -> Result<Option<(i32, i32)>> {
    let OptValue::Measure(_, unit) = value else { return Ok(None) };
    let count = value.number().unwrap_or(0);
    let count = i32::try_from(count).ok().filter(|n| *n > 0).ok_or_else(|| errors::retention_count(count))?;
    let number = match unit.to_ascii_uppercase().trim_end_matches('S') {
        "DAY" => 3,
        "WEEK" => 4,
        "MONTH" => 5,
        "YEAR" => 6,
        _ => return Err(errors::retention_unit(unit)),
    };
    Ok(Some((count, number)))
}

impl TableBuilder<'_> {
    /// GENERATED ALWAYS AS ROW START or END of a new column.
    pub(super) fn generated_always(&mut self, c: &ColumnDefinition, def: &mut ColumnDef) -> Result<()> {
        let Some(always) = c.options.iter().find(|o| o.name == "GENERATED ALWAYS") else { return Ok(()) };
        let part = usize::from(always.value.text().is_some_and(|word| word.eq_ignore_ascii_case("ROW END")));
        if !matches!(def.ty, SqlType::DateTime2(_)) {
            return Err(errors::generated_type(&def.name));
        }
        if c.nullable == Some(true) {
            return Err(errors::period_nullable(&def.name));
        }
        def.nullable = false;
        let hidden = c.options.iter().any(|o| o.name == "HIDDEN");
        if self.generated[part].replace((def.column_id, hidden)).is_some() {
            return Err(if part == 0 { errors::two_row_starts() } else { errors::two_row_ends() });
        }
        Ok(())
    }

    /// PERIOD FOR SYSTEM_TIME among the elements, over their columns or those that were there before.
    pub(super) fn period(&mut self, elements: &[TableElement]) -> Result<()> {
        let mut periods = elements.iter().filter_map(|e| match e {
            TableElement::Period { start, end } => Some((start, end)),
            _ => None,
        });
        let Some((start, end)) = periods.next() else {
            let generated = self.generated.iter().any(Option::is_some);
            return if generated { Err(errors::generated_without_period()) } else { Ok(()) };
        };
        if periods.next().is_some() || self.table.period.is_some() {
            return Err(errors::two_periods());
        }
        let there = |name: &ast::Ident| self.table.columns.iter().find(|c| fold(&c.name) == fold(&name.text));
        // The columns of ADD PERIOD alone are plain ones until then.
        let added = elements.iter().any(|e| matches!(e, TableElement::Column(_)));
        if !added {
            for (part, name) in [start, end].into_iter().enumerate() {
                let c = there(name).ok_or_else(|| errors::no_column_in_table(&name.text))?;
                if !matches!(c.ty, SqlType::DateTime2(_)) {
                    return Err(errors::generated_type(&c.name));
                }
                if c.nullable {
                    return Err(errors::period_nullable(&c.name));
                }
                self.generated[part] = Some((c.column_id, false));
            }
        }
        let (from, to) = (self.generated[0], self.generated[1]);
        let (from, from_hidden) = from.ok_or_else(errors::no_row_start)?;
        let (to, to_hidden) = to.ok_or_else(errors::no_row_end)?;
        if there(start).is_none_or(|c| c.column_id != from) {
            return Err(errors::other_row_start());
        }
        if there(end).is_none_or(|c| c.column_id != to) {
            return Err(errors::other_row_end());
        }
        let hidden = [from_hidden, to_hidden];
        self.table.period = Some(PeriodDef { start: from, end: to, hidden, versioning: None });
        Ok(())
    }
}

impl Runner<'_> {
    /// `database.schema.table`.
    pub(super) fn full_name(&self, table: &TableDef) -> String {
        let entry = self.info.engine.database_by_id(table.database);
        let database = entry.as_ref().map(|e| e.name().to_string()).unwrap_or_default();
        let schema = entry.and_then(|e| self.info.picture(&e).schema_name(table.schema_id));
        format!("{database}.{}.{}", schema.unwrap_or_else(|| "dbo".to_owned()), table.name)
    }

    /// The history table of a system-versioned table.
    pub(crate) fn history_of(&self, table: &TableDef) -> Option<Arc<TableDef>> {
        self.info.table_by_id(table.database, table.versioning()?.history)
    }

    /// ALTER TABLE … SET.
    pub(super) fn set_versioning(&mut self, table: &TableDef, options: &[Opt]) -> Result<()> {
        let Some(asked) = asked(options)? else { return Ok(()) };
        match (asked, table.versioning()) {
            (None, None) => Err(errors::not_versioned(self.full_name(table))),
            (None, Some(_)) => {
                if let Some(history) = self.history_of(table) {
                    self.lock_schema(history.database, history.object_id)?;
                    self.replace_table(TableDef { history_of: None, ..(*history).clone() })?;
                }
                self.put_versioning(table, None)
            }
            (Some(versioning), None) => self.version_table(table, versioning),
            (Some(versioning), Some(old)) => {
                match &versioning.history {
                    Some((schema, name)) => self.same_history(table, old, schema, name)?,
                    // The period by itself may change.
                    None if versioning.retention.is_some() => {}
                    None => return Err(errors::already_versioned(self.full_name(table))),
                }
                let retention = versioning.retention.unwrap_or(old.retention);
                self.put_versioning(table, Some(VersioningDef { history: old.history, retention }))
            }
        }
    }

    /// Error when another history table is named than the one that the table has.
    fn same_history(&self, table: &TableDef, old: &VersioningDef, schema: &str, name: &str) -> Result<()> {
        let entry = self.entry_of(table.database)?;
        let picture = self.info.picture(&entry);
        let named = picture.schema_id(schema).and_then(|id| picture.table(id, name));
        if named.is_some_and(|t| t.object_id == old.history) {
            return Ok(());
        }
        let other = format!("{}.{schema}.{name}", entry.name());
        Err(errors::other_history(other, self.full_name(table)))
    }

    fn put_versioning(&mut self, table: &TableDef, versioning: Option<VersioningDef>) -> Result<()> {
        let mut new = table.clone();
        match &mut new.period {
            Some(period) => period.versioning = versioning,
            None => return Err(errors::versioned_without_period()),
        }
        self.replace_table(new).map(|_| ())
    }

    /// SYSTEM_VERSIONING = ON: over a table that is there, or a new one.
    pub(super) fn version_table(&mut self, table: &TableDef, versioning: Versioning) -> Result<()> {
        let Some(period) = &table.period else { return Err(errors::versioned_without_period()) };
        if !table.indexes.iter().any(|i| i.is_primary_key) {
            return Err(errors::versioned_without_key(self.full_name(table)));
        }
        let entry = self.entry_of(table.database)?;
        let picture = self.info.picture(&entry);
        let found = match &versioning.history {
            None => None,
            Some((schema, name)) => {
                let id = picture.schema_id(schema).ok_or_else(|| errors::no_schema(schema))?;
                Some((id, name.clone(), picture.named(id, name)))
            }
        };
        let history = match found {
            Some((_, _, Some(Named::Table(history)))) => {
                self.lock_schema(history.database, history.object_id)?;
                self.check_history(table, &history)?;
                if versioning.check {
                    self.check_history_rows(table, period, &history)?;
                }
                (*history).clone()
            }
            Some((id, name, Some(_))) => {
                let schema = picture.schema_name(id).unwrap_or_default();
                return Err(errors::not_a_history(format!("{schema}.{name}")));
            }
            Some((id, name, None)) => new_history(&entry, table, period, id, name)?,
            None => {
                let mut name = format!("MSSQL_TemporalHistoryFor_{}", table.object_id);
                if picture.named(table.schema_id, &name).is_some() {
                    name = format!("{name}_{:08X}", entry.allocate_object());
                }
                new_history(&entry, table, period, table.schema_id, name)?
            }
        };
        let id = history.object_id;
        let history =
            TableDef { history_of: Some(table.object_id), modified: self.info.engine.now_local(), ..history };
        self.put(&entry, CatalogObject::Table(Arc::new(history)))?;
        let retention = versioning.retention.flatten();
        self.put_versioning(table, Some(VersioningDef { history: id, retention }))
    }

    /// Whether a table can be the history of another. Errors 13514 to 13531, 13566 and 13574.
    fn check_history(&self, table: &TableDef, history: &TableDef) -> Result<()> {
        let (own, past) = (self.full_name(table), self.full_name(history));
        if history.history_of.is_some() {
            return Err(errors::history_in_use(past));
        }
        if history.versioning().is_some() || history.object_id == table.object_id {
            return Err(errors::versioned_in_use(past));
        }
        if history.period.is_some() {
            return Err(errors::history_with_period(past));
        }
        if history.indexes.iter().any(|i| i.unique) {
            return Err(errors::history_with_keys(past));
        }
        if !history.foreign_keys.is_empty() {
            return Err(errors::history_with_foreign_keys(past));
        }
        if !history.checks.is_empty() {
            return Err(errors::history_with_constraints(past));
        }
        if history.columns.iter().any(|c| c.identity.is_some()) {
            return Err(errors::history_with_identity(past));
        }
        if history.columns.iter().any(|c| c.computed.is_some()) {
            return Err(errors::history_with_computed(past));
        }
        let entry = self.entry_of(history.database)?;
        if !self.info.picture(&entry).triggers(history.object_id).is_empty() {
            return Err(errors::history_with_triggers(past));
        }
        let (columns, theirs) = (table.columns.len(), history.columns.len());
        if columns != theirs {
            return Err(errors::history_columns(own, columns, past, theirs));
        }
        for (i, (c, h)) in table.columns.iter().zip(&history.columns).enumerate() {
            if fold(&c.name) != fold(&h.name) {
                return Err(errors::history_column_name(&h.name, i + 1, past, &c.name, own));
            }
            if kept_type(c.ty) != h.ty {
                return Err(errors::history_column_type(&c.name, h.ty, past, c.ty, own));
            }
            if c.collation != h.collation {
                return Err(errors::history_column_collation(&c.name, own, past));
            }
            if h.nullable && table.period_part(i).is_some() {
                return Err(errors::history_period_nullable(&c.name, past, own));
            }
            if c.nullable != h.nullable {
                return Err(errors::history_column_nullable(&c.name, own, past));
            }
        }
        Ok(())
    }

    /// DATA_CONSISTENCY_CHECK: periods that end before they start or later than now, or that overlap for one key.
    fn check_history_rows(&mut self, table: &TableDef, period: &PeriodDef, history: &TableDef) -> Result<()> {
        let name = self.full_name(history);
        let now = self.info.now_utc();
        let place = |id: i32| table.column_index(id).unwrap_or_default();
        let (start, end) = (place(period.start), place(period.end));
        let key = table.indexes.iter().find(|i| i.is_primary_key).map(|i| i.key.as_slice());
        let key: Vec<usize> = key.unwrap_or_default().iter().map(|k| place(k.column_id)).collect();
        let moment = KeyColumn::ascending(history.columns[start].ty, history.columns[start].collation);
        let info = self.info;
        // By key and beginning, so that what may overlap is side by side.
        let mut sort = EntrySort::new(info.engine.work_space(), info.memory_share());
        let mut bytes = Vec::new();
        let mut rows = self.stored_rows(history)?;
        while let Some((_, row)) = rows.next(info)? {
            let values = storage::decode_row(history, &row);
            let (Value::DateTime(from), Value::DateTime(to)) = (&values[start], &values[end]) else {
                continue;
            };
            if to < from {
                return Err(errors::history_ends_before(&name));
            }
            if *to > now {
                return Err(errors::history_ends_later(&name));
            }
            bytes.clear();
            for i in &key {
                let c = &history.columns[*i];
                key::append(&mut bytes, &values[*i], &KeyColumn::ascending(c.ty, c.collation));
            }
            let of_key = bytes.len() as u64;
            key::append(&mut bytes, &values[start], &moment);
            sort.push(&bytes, &[from.to_le_bytes(), to.to_le_bytes(), of_key.to_le_bytes()].concat())?;
        }
        if overlaps(sort)? { Err(errors::history_overlaps(&name)) } else { Ok(()) }
    }

    /// ADD PERIOD over rows that are there: they must be true now. Errors 13542 and 13575.
    pub(super) fn check_period(&mut self, old: &TableDef, new: &TableDef) -> Result<()> {
        let Some(period) = &new.period else { return Ok(()) };
        let (name, now) = (self.full_name(old), self.info.now_utc());
        let place = |id: i32| new.column_index(id).unwrap_or_default();
        let (start, end) = (place(period.start), place(period.end));
        let info = self.info;
        let mut rows = self.stored_rows(old)?;
        while let Some((_, bytes)) = rows.next(info)? {
            let value = |at: usize| storage::decode_column(&new.columns[at], &bytes);
            match (value(start), value(end)) {
                (_, Value::DateTime(to)) if to < LAST_SECOND => return Err(errors::period_ends_early(&name)),
                (Value::DateTime(from), _) if from > now => return Err(errors::period_starts_later(&name)),
                _ => {}
            }
        }
        Ok(())
    }

    /// ALTER TABLE … DROP PERIOD FOR SYSTEM_TIME: its columns become plain ones.
    pub(super) fn drop_period(&mut self, table: &TableDef) -> Result<()> {
        if table.period.is_none() {
            return Err(errors::no_period(self.full_name(table)));
        }
        if table.versioning().is_some() {
            return Err(errors::period_in_use(self.full_name(table)));
        }
        self.replace_table(TableDef { period: None, ..table.clone() }).map(|_| ())
    }

    /// ALTER TABLE … ALTER COLUMN c ADD or DROP a property: HIDDEN means something, the others are accepted.
    pub(super) fn column_property(
        &mut self,
        table: &TableDef,
        at: usize,
        add: bool,
        property: &str,
    ) -> Result<()> {
        let mut new = table.clone();
        if property.eq_ignore_ascii_case("ROWGUIDCOL") {
            if add && table.columns.iter().any(|c| c.rowguid) {
                return Err(errors::second_rowguid());
            }
            new.columns[at].rowguid = add;
            return self.replace_table(new).map(|_| ());
        }
        let (Some(part), true) = (table.period_part(at), property.eq_ignore_ascii_case("HIDDEN")) else {
            return Ok(());
        };
        if let Some(period) = &mut new.period {
            period.hidden[part] = add;
        }
        self.replace_table(new).map(|_| ())
    }

    /// What may not be altered of a history table, nor added to one that has a history.
    pub(super) fn refuse_history(&self, table: &TableDef, action: &AlterTableAction) -> Result<()> {
        let elements = match action {
            AlterTableAction::Add { elements, .. } => elements.as_slice(),
            _ => &[],
        };
        let columns = || {
            elements.iter().filter_map(|e| match e {
                TableElement::Column(c) => Some(c),
                _ => None,
            })
        };
        if let Some(history) = self.history_of(table) {
            if columns().any(|c| c.identity.is_some()) {
                return Err(errors::versioned_identity(self.full_name(&history)));
            }
            if columns().any(|c| matches!(c.kind, ast::ColumnKind::Computed { .. })) {
                return Err(errors::versioned_computed());
            }
        }
        if table.history_of.is_none() {
            return Ok(());
        }
        let name = self.full_name(table);
        match action {
            AlterTableAction::Add { .. } if columns().next().is_some() => {
                Err(errors::history_column_added(name))
            }
            AlterTableAction::AlterColumn { column, .. } => {
                Err(errors::history_column_altered(&column.text, name))
            }
            AlterTableAction::Drop(items) if items.iter().any(|i| i.what == ast::Dropped::Column) => {
                Err(errors::history_column_dropped(name))
            }
            _ => Ok(()),
        }
    }

    /// The columns that ALTER TABLE ADD gave to a system-versioned table, for its history.
    pub(super) fn history_adds(&mut self, table: &TableDef, elements: &[TableElement]) -> Result<()> {
        let Some(history) = self.history_of(table) else { return Ok(()) };
        let Some(now) = self.info.table_by_id(table.database, table.object_id) else { return Ok(()) };
        if now.columns.len() == table.columns.len() {
            return Ok(());
        }
        self.lock_schema(history.database, history.object_id)?;
        let mut new = (*history).clone();
        let before = new.columns.len();
        for c in &now.columns[table.columns.len()..] {
            new.columns.push(ColumnDef {
                column_id: new.next_column_id,
                ordinal: new.next_ordinal,
                missing_value: None,
                rowguid: false,
                ..c.clone()
            });
            new.next_column_id += 1;
            new.next_ordinal += 1;
        }
        self.fill_missing(&mut new, before, elements)?;
        new.columns.iter_mut().skip(before).for_each(|c| c.default = None);
        self.replace_table(new).map(|_| ())
    }
}

/// The type under which history keeps values: the number of a row's version is a value like any there.
fn kept_type(ty: SqlType) -> SqlType {
    if ty == SqlType::RowVersion { SqlType::Binary(8) } else { ty }
}

/// A history table of a table's shape, ordered by when its rows ended.
fn new_history(
    entry: &DatabaseEntry,
    table: &TableDef,
    period: &PeriodDef,
    schema_id: i32,
    name: String,
) -> Result<TableDef> {
    let columns: Vec<ColumnDef> = table
        .columns
        .iter()
        .enumerate()
        .map(|(i, c)| ColumnDef {
            collation: c.collation,
            nullable: c.nullable,
            mask: c.mask.clone(),
            alias: c.alias,
            ..ColumnDef::plain(i, &c.name, kept_type(c.ty))
        })
        .collect();
    let key = |id: i32| IndexColumn {
        column_id: table.column_index(id).map_or(0, |i| i as i32 + 1),
        descending: false,
    };
    let ended = vec![key(period.end), key(period.start)];
    let index = IndexDef::plain(1, entry.allocate_tree()?, format!("ix_{name}"), IndexKind::Clustered, ended);
    let (database, object_id) = (table.database, entry.allocate_object());
    Ok(TableDef {
        indexes: vec![index],
        history_of: Some(table.object_id),
        ..TableDef::plain(database, object_id, schema_id, name, columns, table.created)
    })
}

/// Whether a period of a key begins before another of the same key has ended. What is sorted begins with the key; of each there is
/// beginning, end, and the length of the key.
fn overlaps(sort: EntrySort) -> Result<bool> {
    let mut sorted = sort.finish()?;
    let (mut key, mut ended) = (Vec::new(), i64::MIN);
    while let Some((bytes, period)) = sorted.next()? {
        let number = |at: usize| i64::from_le_bytes(period[at..at + 8].try_into().expect("eight bytes"));
        let of_key = &bytes[..number(16) as usize];
        if key == of_key && number(0) < ended {
            return Ok(true);
        }
        key.clear();
        key.extend_from_slice(of_key);
        ended = number(8);
    }
    Ok(false)
}
