//! CREATE, ALTER and DROP of full-text catalogs, indexes and stop lists. What they hold is in [`keel_query::full_text`], what fills
//! them in [`crate::full_text`].
//!
//! A catalog is a name that indexes belong to, with the accent sensitivity they are built with. An index is part of its table's
//! definition. Whatever makes an index start anew gives it new trees: the crawl fills them, and searches find what it has come to.

mod catalog;
mod index;
mod populate;
mod stoplist;

use crate::catalog::SecurableRef;
use crate::engine::{DatabaseEntry, MODEL};
use crate::errors;
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_parser::ast::{self, FullTextStatement as S};
use keel_query::catalog::TableDef;
use keel_text::language;
use keel_types::error::Result;
use keel_types::{SqlError, Value};
use std::sync::Arc;

pub(super) use index::{refuse_column, refuse_key_index, refuse_nullable, refuse_switch};

type E = Box<SqlError>;

crate::errors::error_functions! {
    /// Another population is under way.
    already_populating(table) = 7636, 10, 1, "Warning: Request to start a full-text index population on table or indexed view '{table}' is ignored because a population is currently active for this table or indexed view.";
    /// CHANGE_TRACKING OFF.
    changes_deleted(table) = 7638, 10, 1, "Warning: Request to stop change tracking has deleted all changes tracked on table or indexed view '{table}'.";
    no_catalog(name, database) = 7641, 16, 2, "Full-Text catalog '{name}' does not exist in database '{database}' or user does not have permission to perform this action.";
    catalog_exists(name) = 7642, 16, 1, "A full-text catalog named '{name}' already exists in this database. Use a different name.";
    index_exists(table) = 7652, 16, 1, "A full-text index for table or indexed view '{table}' has already been created.";
    not_a_key(index) = 7653, 16, 1, "'{index}' is not a valid index to enforce a full-text search key. A full-text search key must be a unique, non-nullable, single-column index which is not offline, is not defined on a non-deterministic or imprecise nonpersisted computed column, does not have a filter, and has maximum size of 900 bytes. Choose another index for the full-text key.";
    type_column_missing() = 7655, 16, 1, "TYPE COLUMN option must be specified with column of image or varbinary(max) type.";
    no_index(table) = 7658, 16, 1, "Table or indexed view '{table}' does not have a full-text index or user does not have permission to perform this action.";
    no_columns(table) = 7659, 16, 2, "Cannot activate full-text search for table or indexed view '{table}' because no columns have been enabled for full-text search.";
    not_active(table) = 7660, 16, 1, "Full-text search must be activated on table or indexed view '{table}' before this operation can be performed.";
    no_population_with_tracking() = 7663, 16, 1, "Option 'WITH NO POPULATION' should not be used when change tracking is enabled.";
    not_tracked(table) = 7664, 16, 1, "Full-text change tracking must be started on table or indexed view '{table}' before the changes can be flushed.";
    catalog_used(name) = 7668, 16, 1, "Cannot drop full-text catalog '{name}' because it contains a full-text index.";
    not_searchable(column) = 7670, 16, 1, "Column '{column}' cannot be used for full-text search because it is not a character-based, XML, image or varbinary(max) type column.";
    not_a_type_column(column) = 7671, 16, 1, "Column '{column}' cannot be used as full-text type column for image column. It must be a character-based column with a size less or equal than 260 characters.";
    column_twice(table, column) = 7672, 16, 1, "A full-text index cannot be created on table or indexed view '{table}' because duplicate column '{column}' is specified.";
    default_dropped(name) = 7674, 10, 1, "Warning: The fulltext catalog '{name}' is being dropped and is currently set as default.";
    stop_ignored() = 7676, 10, 1, "Warning: Full-text auto propagation is on. Stop crawl request is ignored.";
    column_not_indexed(column) = 7677, 16, 1, "Column \"{column}\" is not full-text indexed.";
    no_alias(name) = 7678, 16, 1, "The following string is not defined as a language alias in syslanguages: {name}.";
    /// `default full-text language`.
    no_default_language() = 7680, 16, 1, "Default full-text index language is not a language supported by full-text search.";
    no_locale() = 7696, 16, 1, "Invalid locale ID was specified. Please verify that the locale ID is correct and corresponding language resource has been installed.";
    type_column_not_allowed() = 7699, 16, 1, "TYPE COLUMN option is not allowed for column types other than image or varbinary(max).";
    computed_column(column) = 9928, 16, 1, "Computed column '{column}' cannot be used for full-text search because it is nondeterministic or imprecise nonpersisted computed column.";
    system_database() = 9966, 16, 1, "Cannot use full-text search in master, tempdb, or model database.";
    no_default_catalog(database) = 9967, 16, 1, "A default full-text catalog does not exist in database '{database}' or user does not have permission to perform this action.";
    only_full_pauses() = 9974, 10, 1, "Warning: Only running full population can be paused. The command is ignored. Other type of population can just be stopped and it will continue when you start the same type of crawl again.";
    only_paused_resumes() = 9975, 10, 1, "Warning: Only paused full population can be resumed. The command is ignored.";
    word_too_long(word) = 9983, 16, 1, "The value '{word}' for the full-text component 'stopword' is longer than the maximum permitted (64 characters). Please reduce the length of the value.";
    /// The number is ours.
    stoplist_used(name) = 30018, 16, 1, "The full-text stoplist '{name}' cannot be dropped because it is being used by at least one full-text index. To identify which full-text index is using the stoplist, query the stoplist_id column of the sys.fulltext_indexes catalog view.";
    inconsistent() = 30022, 10, 1, "Warning: The configuration of a full-text stoplist was modified using the WITH NO POPULATION clause. This put the full-text index into an inconsistent state. To bring the full-text index into a consistent state, start a full population using the command ALTER FULLTEXT INDEX ON table_name START FULL POPULATION.";
    no_stopword(list, word, lcid) = 30023, 16, 1, "The fulltext stoplist '{list}' does not contain fulltext stopword '{word}' with locale ID {lcid}. Specify a valid stopword and locale identifier (LCID) in the Transact-SQL statement.";
    stopword_exists(list, word, lcid) = 30024, 16, 1, "The fulltext stoplist '{list}' already contains full-text stopword '{word}' with locale ID {lcid}. Specify a unique stopword and locale identifier (LCID) in the Transact-SQL statement.";
    no_property_list(name) = 30025, 16, 1, "The search property list '{name}' does not exist or you do not have permission to perform this action. Verify that the correct search property list name is specified and that you have the permission required by the Transact-SQL statement.";
    no_semantics() = 41_209, 16, 3, "A semantic language statistics database is not registered. Full-text indexes using 'STATISTICAL_SEMANTICS' cannot be created or populated.";
}

/// 15151
fn missing(verb: &str, what: &str, name: &str) -> Box<SqlError> {
    errors::cannot_alter_principal(verb, what, name)
}

/// What a statement is called where it is refused in a transaction, where triggers are told of it, and what it is about.
pub(crate) fn name_of(s: &S) -> (&'static str, &'static str) {
    match s {
        S::CreateCatalog { .. } => ("CREATE", "CATALOG"),
        S::AlterCatalog { .. } => ("ALTER", "CATALOG"),
        S::DropCatalog(_) => ("DROP", "CATALOG"),
        S::CreateIndex(_) => ("CREATE", "INDEX"),
        S::AlterIndex { .. } => ("ALTER", "INDEX"),
        S::DropIndex(_) => ("DROP", "INDEX"),
        S::CreateStoplist { .. } => ("CREATE", "STOPLIST"),
        S::AlterStoplist { .. } => ("ALTER", "STOPLIST"),
        S::DropStoplist(_) => ("DROP", "STOPLIST"),
    }
}

/// Errors 9966 and 3906 where there are no full-text objects, or none may be changed.
fn check_database(entry: &DatabaseEntry) -> Result<()> {
    if entry.id <= MODEL {
        return Err(system_database());
    }
    if entry.is_read_only() { Err(errors::database_read_only(entry.name())) } else { Ok(()) }
}

impl Runner<'_> {
    /// A statement of full-text search. Error 574 in a transaction, 9966 in system databases.
    pub(super) fn full_text_statement(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        s: &S,
    ) -> Result<()> {
        let (verb, class) = name_of(s);
        let entry = self.info.current_database();
        if class != "STOPLIST" && self.info.transaction.borrow().count > 0 {
            return Err(errors::not_in_user_transaction(format!("{verb} FULLTEXT {class} statement")));
        }
        if class != "INDEX" {
            check_database(&entry)?;
        }
        match s {
            S::CreateCatalog { name, accents, default, owner } => {
                self.create_catalog(&entry, &name.text, accents.unwrap_or(true), *default, owner.as_ref())
            }
            S::AlterCatalog { name, change } => self.alter_catalog(&entry, &name.text, *change),
            S::DropCatalog(name) => self.drop_catalog(&entry, &name.text),
            S::CreateIndex(c) => self.create_full_text_index(program, frame, c),
            S::AlterIndex { table, change } => self.alter_full_text_index(program, frame, table, change),
            S::DropIndex(table) => self.drop_full_text_index(program, table),
            S::CreateStoplist { name, from, owner } => {
                self.create_stoplist(&entry, &name.text, from.as_ref(), owner.as_ref())
            }
            S::AlterStoplist { name, change } => {
                self.alter_stoplist(program, frame, &entry, &name.text, change)
            }
            S::DropStoplist(name) => self.drop_stoplist(&entry, &name.text),
        }
    }

    /// Who may run a statement of full-text search: who may alter the table, or make and alter catalogs, which stop lists go with.
    /// Errors 262, 1088, 7641 and 15151.
    pub(in crate::ddl) fn may_define_full_text(
        &self,
        entry: &Arc<DatabaseEntry>,
        program: &Program,
        s: &S,
    ) -> Result<()> {
        let may = |permission| self.info.may(entry, permission, SecurableRef::Database);
        let alters = || may("ALTER ANY FULLTEXT CATALOG");
        match s {
            S::CreateIndex(c) => self.may_alter(program, &c.table),
            S::AlterIndex { table, .. } | S::DropIndex(table) => self.may_alter(program, table),
            S::CreateCatalog { .. } | S::CreateStoplist { .. }
                if alters() || may("CREATE FULLTEXT CATALOG") =>
            {
                Ok(())
            }
            S::CreateCatalog { .. } | S::CreateStoplist { .. } => {
                Err(errors::database_permission_denied("CREATE FULLTEXT CATALOG", entry.name()))
            }
            _ if alters() => Ok(()),
            S::AlterCatalog { name, .. } | S::DropCatalog(name) => Err(no_catalog(&name.text, entry.name())),
            S::AlterStoplist { name, .. } => Err(missing("alter", "fulltext stoplist", &name.text)),
            S::DropStoplist(name) => Err(missing("drop", "fulltext stoplist", &name.text)),
        }
    }

    /// The owner that AUTHORIZATION names, or who runs the statement.
    fn full_text_owner(&self, entry: &Arc<DatabaseEntry>, owner: Option<&ast::Ident>) -> Result<i32> {
        let Some(owner) = owner else { return Ok(crate::catalog::DBO) };
        let picture = self.info.picture(entry);
        let found = picture.principal_named(&owner.text).map(|p| p.principal_id);
        found.ok_or_else(|| missing("find", "user", &owner.text))
    }

    /// The LCID that a language term stands for. Errors 7678 and 7696.
    fn lcid(&mut self, program: &Arc<Program>, frame: &mut Frame, term: &ast::Expr) -> Result<i32> {
        let unit = crate::program::Unit::expr(term.clone(), None);
        let (value, _) = self.eval_typed(program, frame, &unit)?;
        let lcid = match value {
            Value::Str(name) => {
                return language::by_name(&name).map(|l| l.lcid).ok_or_else(|| no_alias(name));
            }
            Value::Int(lcid) => i32::try_from(lcid).ok(),
            Value::Bytes(bytes) if bytes.len() <= 4 => {
                i32::try_from(bytes.iter().fold(0_i64, |n, byte| n << 8 | i64::from(*byte))).ok()
            }
            _ => None,
        };
        lcid.and_then(language::by_lcid).map(|l| l.lcid).ok_or_else(no_locale)
    }

    /// The tables whose indexes are of a kind, locked.
    fn lock_indexed(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        is: impl Fn(&keel_query::full_text::FullTextDef) -> bool,
    ) -> Result<Vec<Arc<TableDef>>> {
        let of_kind = |t: &Arc<TableDef>| t.full_text.as_ref().is_some_and(&is);
        let ids: Vec<i32> =
            self.info.picture(entry).stored().filter(|t| of_kind(t)).map(|t| t.object_id).collect();
        for id in &ids {
            if let Some(table) = self.info.picture(entry).stored_by_id(*id) {
                self.lock_stored(&table)?;
            }
        }
        let picture = self.info.picture(entry);
        Ok(picture.stored().filter(|t| ids.contains(&t.object_id) && of_kind(t)).cloned().collect())
    }
}
