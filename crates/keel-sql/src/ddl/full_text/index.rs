//! Full-text indexes: what may be indexed, and by which key.

use super::populate::tracking;
use super::{
    column_not_indexed, column_twice, computed_column, inconsistent, index_exists, no_columns,
    no_default_catalog, no_default_language, no_index, no_population_with_tracking, no_property_list,
    no_semantics, not_a_key, not_a_type_column, not_active, not_searchable, type_column_missing,
    type_column_not_allowed,
};
use crate::catalog::fold;
use crate::errors;
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_parser::ast::{self, FullTextIndexChange as Change, StoplistChoice};
use keel_query::catalog::{ColumnDef, IndexDef, TableDef};
use keel_query::full_text::{FullTextColumn, FullTextDef, SYSTEM_STOPLIST, Tracking};
use keel_text::language;
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType};
use std::sync::Arc;

/// Bytes of a full-text key at most.
const KEY_MAX: u16 = 900;
/// Characters of a type column at most.
const TYPE_COLUMN_MAX: u16 = 260;

/// 7614
fn column_enabled(column: &str) -> Box<SqlError> {
    let text = format!("Cannot alter or drop column '{column}' because it is enabled for Full-Text Search.");
    SqlError::new(7614, 16, 1, text)
}

/// Error 7614 where the column of a full-text key would be one that may be NULL.
pub(in crate::ddl) fn refuse_nullable(table: &TableDef, at: usize) -> Result<()> {
    let key = table.full_text.as_ref().and_then(|index| index.key_column(table));
    if key == Some(at) { Err(column_enabled(&table.columns[at].name)) } else { Ok(()) }
}

/// Error 7614 where a column of a full-text index is altered or dropped.
pub(in crate::ddl) fn refuse_column(table: &TableDef, c: &ColumnDef) -> Result<()> {
    let reads = table.full_text.as_ref().is_some_and(|index| index.reads(c.column_id));
    if reads { Err(column_enabled(&c.name)) } else { Ok(()) }
}

/// Error 7613 where the key index of a full-text index is dropped.
pub(in crate::ddl) fn refuse_key_index(table: &TableDef, index: &IndexDef) -> Result<()> {
    if table.full_text.as_ref().is_none_or(|own| own.key_index != index.index_id) {
        return Ok(());
    }
    let text = format!(
        "Cannot drop index '{}' because it enforces the full-text key for table or indexed view '{}'.",
        index.name, table.name
    );
    Err(SqlError::new(7613, 16, 1, text))
}

/// ALTER TABLE … SWITCH moves rows that no crawl would hear of. The number is ours.
pub(in crate::ddl) fn refuse_switch(table: &TableDef) -> Result<()> {
    if table.full_text.is_none() {
        return Ok(());
    }
    let text = format!(
        "ALTER TABLE SWITCH statement failed because table '{}' has fulltext index on it.",
        table.name
    );
    Err(SqlError::new(4958, 16, 1, text))
}

impl Runner<'_> {
    /// The table or indexed view of a statement, locked. Error 1088.
    fn searched_table(&mut self, program: &Program, name: &ast::ObjectName) -> Result<Arc<TableDef>> {
        let missing = || errors::no_table_for_index(name);
        let table = self.stored_object(program, name).ok_or_else(missing)?;
        let entry = self.entry_of(table.database)?;
        super::check_database(&entry)?;
        self.lock_stored(&table)?;
        // Another session may have changed it while we waited.
        self.stored_object(program, name).ok_or_else(missing)
    }

    pub(super) fn create_full_text_index(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        c: &ast::CreateFullTextIndex,
    ) -> Result<()> {
        let table = self.searched_table(program, &c.table)?;
        if table.full_text.is_some() {
            return Err(index_exists(&table.name));
        }
        let entry = self.entry_of(table.database)?;
        let key =
            table.indexes.iter().find(|i| !i.name.is_empty() && fold(&i.name) == fold(&c.key_index.text));
        let key = key.filter(|index| is_key(&table, index)).ok_or_else(|| not_a_key(&c.key_index.text))?;
        let catalog = match &c.catalog {
            Some(name) => self.catalog_named(&entry, &name.text)?,
            None => {
                let picture = self.info.picture(&entry);
                let default = picture.full_text_catalogs().find(|c| c.is_default).cloned();
                default.ok_or_else(|| no_default_catalog(entry.name()))?
            }
        };
        if let Some(list) = &c.property_list {
            return Err(no_property_list(&list.text));
        }
        let tracking = c.tracking.map_or(Tracking::Auto, tracking);
        if c.no_population && tracking != Tracking::Off {
            return Err(no_population_with_tracking());
        }
        let columns = self.full_text_columns(program, frame, &table, &c.columns, Vec::new())?;
        let stoplist = self.stoplist_id(&table, c.stoplist.as_ref().unwrap_or(&StoplistChoice::System))?;
        let index = FullTextDef {
            catalog_id: catalog.catalog_id,
            key_index: key.index_id,
            enabled: !columns.is_empty(),
            columns,
            stoplist,
            tracking,
            accents: catalog.accents,
            trees: self.full_text_trees(&table)?,
        };
        let populate = index.enabled && !c.no_population;
        self.begin_full_text(&table, index, populate)
    }

    /// `stoplist_id` of what STOPLIST names.
    fn stoplist_id(&self, table: &TableDef, choice: &StoplistChoice) -> Result<Option<i32>> {
        match choice {
            StoplistChoice::Off => Ok(None),
            StoplistChoice::System => Ok(Some(SYSTEM_STOPLIST)),
            StoplistChoice::Named(name) => {
                let entry = self.entry_of(table.database)?;
                self.stoplist_named("find", &entry, &name.text).map(|list| Some(list.stoplist_id))
            }
        }
    }

    /// Columns as they are asked for, behind those that there are. Errors 1911, 7655, 7670 to 7672, 7699, 9928, and those of languages.
    fn full_text_columns(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        table: &TableDef,
        asked: &[ast::FullTextColumn],
        mut columns: Vec<FullTextColumn>,
    ) -> Result<Vec<FullTextColumn>> {
        for a in asked {
            let c = column(table, &a.name)?;
            if a.semantics {
                return Err(no_semantics());
            }
            let binary = check_type(c)?;
            if columns.iter().any(|other| other.column_id == c.column_id) {
                return Err(column_twice(&table.name, &c.name));
            }
            let type_column = match &a.type_column {
                Some(_) if !binary => return Err(type_column_not_allowed()),
                None if binary => return Err(type_column_missing()),
                Some(name) => Some(type_column(table, name)?),
                None => None,
            };
            let language = match &a.language {
                Some(term) => self.lcid(program, frame, term)?,
                None => {
                    let default = language::by_lcid(self.info.engine.full_text_language());
                    default.ok_or_else(no_default_language)?.lcid
                }
            };
            columns.push(FullTextColumn { column_id: c.column_id, type_column, language });
        }
        Ok(columns)
    }

    pub(super) fn alter_full_text_index(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        name: &ast::ObjectName,
        change: &Change,
    ) -> Result<()> {
        let table = self.searched_table(program, name)?;
        let Some(index) = table.full_text.clone() else { return Err(no_index(&table.name)) };
        let active = || if index.enabled { Ok(()) } else { Err(not_active(&table.name)) };
        match change {
            Change::Enable if index.columns.is_empty() => Err(no_columns(&table.name)),
            Change::Enable if index.enabled => Ok(()),
            // Of what has changed meanwhile nothing is known, which without tracking is as always.
            Change::Enable => {
                let as_it_is = index.tracking == Tracking::Off;
                self.change_columns(&table, FullTextDef { enabled: true, ..index }, as_it_is)
            }
            Change::Disable => {
                let index = FullTextDef { enabled: false, ..index };
                self.replace_table(TableDef { full_text: Some(index), ..(*table).clone() }).map(|_| ())
            }
            Change::Tracking(asked) => {
                active()?;
                self.set_tracking(&table, &index, tracking(*asked))
            }
            Change::Add { columns, no_population } => {
                check_no_population(&index, *no_population)?;
                let all = self.full_text_columns(program, frame, &table, columns, index.columns.clone())?;
                let index = FullTextDef { columns: all, enabled: true, ..index };
                self.change_columns(&table, index, *no_population)
            }
            Change::Drop { columns, no_population } => {
                check_no_population(&index, *no_population)?;
                let index = without(&table, index, columns)?;
                self.change_columns(&table, index, *no_population)
            }
            Change::Semantics { column: name, add } => {
                let c = column(&table, name)?;
                index.column(c.column_id).ok_or_else(|| column_not_indexed(&c.name))?;
                if *add { Err(no_semantics()) } else { Ok(()) }
            }
            Change::Start(kind) => {
                active()?;
                self.start_population(&table, &index, *kind)
            }
            Change::Stop => self.stop_population(&table, &index),
            Change::Pause => self.pause_population(&table, &index, true),
            Change::Resume => self.pause_population(&table, &index, false),
            Change::Stoplist { choice, no_population } => {
                check_no_population(&index, *no_population)?;
                let stoplist = self.stoplist_id(&table, choice)?;
                if *no_population {
                    self.info.say(inconsistent());
                }
                self.change_columns(&table, FullTextDef { stoplist, ..index }, *no_population)
            }
            Change::PropertyList(Some(list)) => Err(no_property_list(&list.text)),
            Change::PropertyList(None) => Ok(()),
        }
    }

    /// Gives a table's index other columns or another stop list: it is populated anew, or not before somebody asks for it.
    fn change_columns(&mut self, table: &TableDef, index: FullTextDef, as_it_is: bool) -> Result<()> {
        if as_it_is {
            return self.replace_table(TableDef { full_text: Some(index), ..table.clone() }).map(|_| ());
        }
        let populate = index.enabled;
        self.restart(table, index, populate)
    }

    pub(super) fn drop_full_text_index(&mut self, program: &Program, name: &ast::ObjectName) -> Result<()> {
        let table = self.searched_table(program, name)?;
        if table.full_text.is_none() {
            return Err(no_index(&table.name));
        }
        self.discard_full_text(&table)?;
        self.replace_table(TableDef { full_text: None, ..(*table).clone() }).map(|_| ())
    }
}

/// Error 7663.
fn check_no_population(index: &FullTextDef, no_population: bool) -> Result<()> {
    let tracked = no_population && index.tracking != Tracking::Off;
    if tracked { Err(no_population_with_tracking()) } else { Ok(()) }
}

/// An index without some of its columns. Errors 1911 and 7677.
fn without(table: &TableDef, mut index: FullTextDef, names: &[ast::Ident]) -> Result<FullTextDef> {
    for name in names {
        let c = column(table, name)?;
        index.column(c.column_id).ok_or_else(|| column_not_indexed(&c.name))?;
        index.columns.retain(|other| other.column_id != c.column_id);
    }
    index.enabled &= !index.columns.is_empty();
    Ok(index)
}

/// Error 1911.
fn column<'t>(table: &'t TableDef, name: &ast::Ident) -> Result<&'t ColumnDef> {
    let found = table.columns.iter().find(|c| fold(&c.name) == fold(&name.text));
    found.ok_or_else(|| errors::no_column_in_table(&name.text))
}

/// Whether an index tells the rows of a table apart by one value that is always there, and that everybody may see.
fn is_key(table: &TableDef, index: &IndexDef) -> bool {
    let [part] = index.key.as_slice() else { return false };
    let Some(c) = table.column_index(part.column_id).map(|at| &table.columns[at]) else { return false };
    let short = match c.ty {
        SqlType::Char(n) | SqlType::VarChar(Length::Limited(n)) | SqlType::Binary(n) => n <= KEY_MAX,
        SqlType::VarBinary(Length::Limited(n)) => n <= KEY_MAX,
        SqlType::NChar(n) | SqlType::NVarChar(Length::Limited(n)) => n <= KEY_MAX / 2,
        _ => true,
    };
    let stored = c.computed.as_ref().is_none_or(|computed| computed.persisted);
    let shown = c.mask.is_none();
    index.unique && index.filter.is_none() && !index.disabled && !c.nullable && short && stored && shown
}

/// Whether a column holds documents of several kinds. Errors 7670 and 9928 when it cannot be searched.
fn check_type(c: &ColumnDef) -> Result<bool> {
    let binary = match c.ty {
        SqlType::Image | SqlType::VarBinary(Length::Max) => true,
        SqlType::Char(_)
        | SqlType::VarChar(_)
        | SqlType::NChar(_)
        | SqlType::NVarChar(_)
        | SqlType::Text
        | SqlType::NText
        | SqlType::Xml
        | SqlType::TypedXml(_) => false,
        _ => return Err(not_searchable(&c.name)),
    };
    match &c.computed {
        Some(computed) if !computed.persisted => Err(computed_column(&c.name)),
        _ => Ok(binary),
    }
}

/// The id of a type column. Errors 1911 and 7671.
fn type_column(table: &TableDef, name: &ast::Ident) -> Result<i32> {
    let c = column(table, name)?;
    let fits = match c.ty {
        SqlType::Char(n) | SqlType::NChar(n) => n <= TYPE_COLUMN_MAX,
        SqlType::VarChar(Length::Limited(n)) | SqlType::NVarChar(Length::Limited(n)) => n <= TYPE_COLUMN_MAX,
        _ => false,
    };
    let stored = c.computed.as_ref().is_none_or(|computed| computed.persisted);
    if fits && stored { Ok(c.column_id) } else { Err(not_a_type_column(&c.name)) }
}
