//! Statements that change definitions.
//!
//! Every change goes the same way: the new definition becomes a [`CatalogOp`], is written as a row of the database's
//! system tree through the session's transaction, and joins the transaction's overlay, so that the rest of the transaction
//! sees it and nobody else does until commit. The object is locked (Sch-M) before it is looked at.
//!
//! Temporary tables and table variables never touch a catalog: they live in the session (see `session::temp`).

mod administer;
mod alter;
mod application_role;
mod attach;
mod audit;
mod audit_specification;
mod bindable;
mod binding;
mod capture;
mod change_tracking;
mod clone;
mod collate;
mod compression;
mod database;
mod database_snapshot;
mod database_state;
mod dbcc;
mod dbcc_check;
mod dbcc_show;
mod dependents;
pub(crate) mod determinism;
mod drop;
mod encryption;
mod event_session;
mod full_text;
mod governor;
mod index;
mod mask;
mod module;
mod module_rules;
mod object;
mod options;
mod page_options;
mod partition;
mod partition_rows;
mod permission;
mod placement;
mod policy;
mod principal;
mod query_store;
mod security;
pub(crate) mod sensitivity;
mod server_role;
mod statistics;
mod storage;
mod switch;
mod table;
mod temporal;
mod trigger;
mod xml_collection;

pub(crate) use alter::mentions_column;
pub(crate) use attach::RAISED as RAISED_BY_ATTACHING;
pub(crate) use bindable::{Binding, RAISED as RAISED_BY_BINDABLES, default_usage, rule_usage};
pub(crate) use binding::Named as NamedByModule;
pub(crate) use capture::{column_renamed, table_renamed};
pub(crate) use database_snapshot::RAISED as RAISED_BY_SNAPSHOTS;
pub(crate) use database_state::RAISED as RAISED_BY_STATES;
pub(crate) use encryption::RAISED as RAISED_BY_ENCRYPTION;
pub(crate) use full_text::{RAISED as RAISED_BY_FULL_TEXT, name_of as full_text_statement_name};
pub(crate) use index::{OTHER_AGGREGATES, is_indexable, shape_of};
pub(crate) use module::kind_word;
pub(crate) use policy::{RAISED as RAISED_BY_POLICIES, guarded_columns};
pub(crate) use principal::is_of_server;
pub(crate) use statistics::table_and_statistics;
pub use storage::read_all;
pub use table::{check_table_variable, create_for_select_into, table_variable};

use crate::catalog::{
    CatalogObject, CatalogOp, INFORMATION_SCHEMA, Named, SYS, SYSTEM_TREE, SecurableRef, object_class,
};
use crate::engine::{DatabaseEntry, TEMPDB};
use crate::errors;
use crate::map::txn_error;
use crate::run::Runner;
use crate::session::info::Info;
use crate::session::scope::Scope;
use keel_base::DatabaseId;
use keel_node::LockMode;
use keel_parser::ast;
use keel_query::catalog::{Catalog, ObjectId, TableDef};
use keel_query::scope::{BindScope, NameParts, ObjectRef};
use keel_types::error::Result;
use std::sync::Arc;

/// Where a new object goes.
pub(crate) struct Place {
    /// Database.
    pub entry: Arc<DatabaseEntry>,
    /// Schema.
    pub schema_id: i32,
    /// Name.
    pub name: String,
}

impl Place {
    /// Error 2760 where nobody may make anything.
    fn refuse_system_schema(&self) -> Result<()> {
        match self.schema_id {
            SYS => Err(errors::no_schema("sys")),
            INFORMATION_SCHEMA => Err(errors::no_schema("INFORMATION_SCHEMA")),
            _ => Ok(()),
        }
    }
}

/// A name's parts as the binder takes them.
pub(crate) fn parts(name: &ast::ObjectName) -> NameParts<'_> {
    NameParts {
        database: name.database.as_ref().map(|i| i.text.as_str()),
        schema: name.schema.as_ref().map(|i| i.text.as_str()),
        object: &name.name.text,
    }
}

/// The same, of a name that means something of this server; `None` for what other servers have.
pub(crate) fn parts_here<'n>(info: &Info, name: &'n ast::ObjectName) -> Option<NameParts<'n>> {
    let elsewhere = name.server.as_ref().is_some_and(|server| !info.is_own_server(&server.text));
    (!elsewhere).then(|| parts(name))
}

/// The stored table of that name: permanent or temporary.
pub fn find_table(scope: &Scope<'_>, name: &ast::ObjectName) -> Option<Arc<TableDef>> {
    match scope.object(parts_here(scope.info, name)?)? {
        ObjectRef::Table(table) => Some(table).filter(|table| !table.queue),
        _ => None,
    }
}

/// The number under which [`Runner::lock_catalog`] locks: no table's, and no name's ([`Runner::lock_name`]).
const CATALOG_LOCK: u32 = 1;

impl Runner<'_> {
    /// A scope for the statements of a program, by its identity only.
    pub(crate) fn ddl_scope(&self, program: &crate::program::Program) -> Scope<'_> {
        let entry = self.info.current_database();
        let mut scope = Scope::bare(self.info, entry.id);
        if program.identity.object_id == 0 {
            scope.identity.schema_id = self.info.default_schema(&entry);
        } else {
            scope.identity = program.identity.clone();
        }
        scope
    }

    /// Where an object of that name would be made.
    pub(crate) fn place(&self, program: &crate::program::Program, name: &ast::ObjectName) -> Result<Place> {
        if name.server.as_ref().is_some_and(|server| !self.info.is_own_server(&server.text)) {
            return Err(errors::too_many_prefixes(name, 2));
        }
        let entry = match &name.database {
            Some(d) => self.info.find_database(&d.text).ok_or_else(|| errors::no_database(&d.text))?,
            None if program.identity.object_id != 0 => self
                .info
                .engine
                .database_by_id(program.identity.database)
                .ok_or_else(|| errors::no_database(program.identity.database.0))?,
            None => self.info.current_database(),
        };
        if entry.is_read_only() {
            return Err(errors::database_read_only(entry.name()));
        }
        let schema_id = match &name.schema {
            None => self.info.default_schema(&entry),
            Some(s) => {
                let picture = self.info.picture(&entry);
                picture.schema_id(&s.text).ok_or_else(|| errors::no_schema(&s.text))?
            }
        };
        Ok(Place { entry, schema_id, name: name.name.text.to_string() })
    }

    /// Error 2714 when the name is taken.
    pub(crate) fn check_free(&self, place: &Place) -> Result<()> {
        match self.info.picture(&place.entry).named(place.schema_id, &place.name) {
            Some(_) => Err(errors::object_exists(&place.name)),
            None => Ok(()),
        }
    }

    /// Locks an object against everybody else, to the end of the transaction; 3906 on a copy.
    pub(crate) fn lock_schema(&mut self, database: DatabaseId, object: ObjectId) -> Result<()> {
        if database == TEMPDB && object < 0 {
            // This session's own.
            return Ok(());
        }
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(database)?;
        if txn.reads_a_point() {
            let name = self.info.engine.database_by_id(database).map(|entry| entry.name());
            return Err(errors::database_read_only(name.unwrap_or_default()));
        }
        txn.lock_table(object as u32, LockMode::SchemaModification).map_err(|e| txn_error(e, "", session))
    }

    /// Locks a name, so that two sessions do not make it at the same time.
    pub(crate) fn lock_name(&mut self, place: &Place) -> Result<()> {
        use std::hash::BuildHasher;

        // Names share the numbers of objects; a collision only means waiting for a stranger.
        let number = (foldhash::fast::FixedState::default()
            .hash_one(&(place.schema_id, crate::catalog::fold(&place.name))) as u32)
            | 0x8000_0000;
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(place.entry.id)?;
        txn.lock_table(number, LockMode::Exclusive).map_err(|e| txn_error(e, "", session))
    }

    /// Locks what has no lock of its own and is numbered one after the other, or changed in part: schemas, types, partition
    /// functions and schemes, users and roles with their permissions, extended properties. To the end of the transaction; what
    /// is looked at afterwards stays. 3906 on a copy.
    pub(crate) fn lock_catalog(&mut self, entry: &DatabaseEntry) -> Result<()> {
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(entry.id)?;
        if txn.reads_a_point() {
            return Err(errors::database_read_only(entry.name()));
        }
        txn.lock_table(CATALOG_LOCK, LockMode::Exclusive).map_err(|e| txn_error(e, "", session))
    }

    /// Makes or replaces a definition.
    pub(crate) fn put(&mut self, entry: &Arc<DatabaseEntry>, object: CatalogObject) -> Result<()> {
        self.change(entry, CatalogOp::Put(object))
    }

    /// Writes a change of the catalog and shows it to the rest of the transaction.
    pub(crate) fn change(&mut self, entry: &Arc<DatabaseEntry>, op: CatalogOp) -> Result<()> {
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(entry.id)?;
        let key = match &op {
            CatalogOp::Put(object) => object.key(),
            CatalogOp::Remove(key) => *key,
        };
        txn.lock_row(SYSTEM_TREE, &key.bytes(), LockMode::Exclusive)
            .map_err(|e| txn_error(e, "", session))?;
        entry.write_ops(txn, std::slice::from_ref(&op))?;
        let gone = match &op {
            CatalogOp::Remove(key) => match key.class {
                object_class::TABLE
                | object_class::MODULE
                | object_class::SYNONYM
                | object_class::BINDABLE
                | object_class::SEQUENCE
                | object_class::QUEUE
                | object_class::POLICY => Some(SecurableRef::Object(key.id)),
                object_class::MESSAGE_TYPE => Some(SecurableRef::MessageType(key.id)),
                object_class::CONTRACT => Some(SecurableRef::Contract(key.id)),
                object_class::SERVICE => Some(SecurableRef::Service(key.id)),
                object_class::ROUTE => Some(SecurableRef::Route(key.id)),
                object_class::SCHEMA => Some(SecurableRef::Schema(key.id)),
                object_class::PRINCIPAL => Some(SecurableRef::Principal(key.id)),
                object_class::CERTIFICATE => Some(SecurableRef::Certificate(key.id)),
                object_class::ASYMMETRIC_KEY => Some(SecurableRef::AsymmetricKey(key.id)),
                object_class::SYMMETRIC_KEY => Some(SecurableRef::SymmetricKey(key.id)),
                _ => None,
            },
            CatalogOp::Put(_) => None,
        };
        let removed = match &op {
            CatalogOp::Remove(key) => {
                crate::catalog::property_class_of(key.class).map(|class| (class, key.id))
            }
            CatalogOp::Put(_) => None,
        };
        self.info.change_catalog(entry, op);
        if let Some((class, id)) = removed {
            self.forget_properties(entry, class, id, None)?;
        }
        gone.map_or(Ok(()), |on| self.forget_permissions(entry, on))
    }

    /// Replaces a table's definition, wherever it lives.
    pub(crate) fn replace_table(&mut self, table: TableDef) -> Result<Arc<TableDef>> {
        let table = Arc::new(TableDef { modified: self.info.engine.now_local(), ..table });
        if self.info.temp.borrow().by_id(table.object_id).is_some() {
            self.before_temp_change();
            self.info.temp.borrow_mut().replace(Arc::clone(&table));
            return Ok(table);
        }
        let entry = self
            .info
            .engine
            .database_by_id(table.database)
            .ok_or_else(|| errors::no_database(table.database.0))?;
        if !table.view_of.is_empty() {
            self.put_view_rows(&entry, table.object_id, Some(Arc::clone(&table)))?;
            return Ok(table);
        }
        self.put(&entry, CatalogObject::Table(Arc::clone(&table)))?;
        Ok(table)
    }

    /// Remembers the temporary tables, once per transaction, so that ROLLBACK brings them back.
    pub(crate) fn before_temp_change(&self) {
        if self.info.transaction.borrow().count > 0 {
            let mut at_begin = self.info.temp_at_begin.borrow_mut();
            if at_begin.is_none() {
                *at_begin = Some(self.info.temp.borrow().snapshot());
            }
        }
    }

    /// Allocates an object id where a table lives.
    pub(crate) fn entry_of(&self, database: DatabaseId) -> Result<Arc<DatabaseEntry>> {
        self.info.engine.database_by_id(database).ok_or_else(|| errors::no_database(database.0))
    }

    /// What a name stands for, or `None`.
    pub(crate) fn named(
        &self,
        program: &crate::program::Program,
        name: &ast::ObjectName,
    ) -> Option<(Arc<DatabaseEntry>, Named)> {
        self.ddl_scope(program).resolve_unfollowed(parts_here(self.info, name)?)
    }
}
