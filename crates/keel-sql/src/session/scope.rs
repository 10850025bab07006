//! What names mean to a statement of this session: [`BindScope`] for keel-query.

mod closed_views;
mod elsewhere;
mod rows;
mod types;
mod values;

use super::identity::owner;
use super::info::Info;
use super::options::Switches;
use crate::catalog::{DBO, Named, Picture, SystemDatabase, fold};
use crate::engine::{DatabaseEntry, TABLE_VARIABLES, TEMPDB};
use crate::errors;
use crate::functions;
use crate::modules;
use crate::program::lower::TypeLookup;
use crate::program::{Dependencies, ModuleIdentity, Need, Program, Sampled, TableShape};
use crate::views;
use keel_base::DatabaseId;
use keel_parser::ast;
use keel_query::SessionInfo as _;
use keel_query::catalog::{Catalog, ModuleDef, ModuleKind, TableDef};
use keel_query::plan::Directions;
use keel_query::scope::{
    BindOptions, BindScope, NameParts, ObjectRef, ParameterInfo, PartitionFunctionInfo, RemoteRowset,
    ScalarFunctionInfo, SessionFunction, VariableInfo, VirtualTable,
};
use keel_types::error::Result;
use keel_types::ty::parse::{TypeArg, TypeSite, parse_type};
use keel_types::{Collation, SqlType, Value};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Table variables of a frame, made when first mentioned.
pub type FrameTables = RefCell<Vec<Option<Arc<TableDef>>>>;

/// The surroundings of one statement being compiled.
pub struct Scope<'a> {
    /// The session.
    pub info: &'a Info,
    /// The program, when variables can be seen.
    pub program: Option<&'a Program>,
    /// Its frame's table variables.
    pub tables: Option<&'a FrameTables>,
    /// Where one-part names are looked for.
    pub identity: ModuleIdentity,
    /// What the names found so far stand for.
    pub found: RefCell<Dependencies>,
    /// What whoever runs the statement must be allowed to do.
    pub needs: RefCell<Vec<Need>>,
    /// Permissions that the owner of a view or function answers for.
    pub answered: RefCell<Vec<Need>>,
    /// Views and inline functions being bound, innermost last: names in them mean what they mean there, and what belongs to the
    /// same owner is the owner's business.
    homes: RefCell<Vec<Home>>,
    /// Modules that names stood for, with their databases.
    modules: RefCell<Vec<(Arc<ModuleDef>, DatabaseId)>>,
    /// A system view was among what was found: it may lack columns that the product's has.
    pub reads_system: Cell<bool>,
    /// The database in which a name was found last.
    pub last: Cell<Option<DatabaseId>>,
    /// The statement removes what is too old from a history table.
    pub cleans_history: bool,
    /// Predicates of security policies being bound, innermost last: whether their policy is schema-bound.
    predicates: RefCell<Vec<bool>>,
    /// The first name of the statement's own that is found and has not just a schema in front of it: nothing can be bound to it.
    pub odd_name: RefCell<Option<String>>,
    /// Decisions that the statement's plan is to be made by.
    directions: Option<Arc<Directions>>,
    /// What the program's variables have; plans may be made for it.
    values: &'a [Value],
    /// Statistics that estimates were made from.
    pub sampled: RefCell<Vec<Sampled>>,
}

/// Where a view or inline function is.
#[derive(Clone, Copy)]
struct Home {
    database: DatabaseId,
    schema: i32,
}

impl<'a> Scope<'a> {
    /// For a statement of a program.
    #[must_use]
    pub fn new(info: &'a Info, program: &'a Program, tables: &'a FrameTables) -> Scope<'a> {
        let mut identity = program.identity.clone();
        let mut found = Dependencies::default();
        if identity.object_id == 0 {
            // A batch follows USE, and who the session becomes.
            let entry = info.current_database();
            identity.database = entry.id;
            identity.schema_id = info.default_schema(&entry);
            found.current = Some((entry.id, identity.schema_id));
        }
        Scope {
            info,
            program: Some(program),
            tables: Some(tables),
            identity,
            found: RefCell::new(found),
            needs: RefCell::default(),
            answered: RefCell::default(),
            homes: RefCell::default(),
            modules: RefCell::default(),
            reads_system: Cell::new(false),
            last: Cell::new(None),
            cleans_history: false,
            predicates: RefCell::default(),
            odd_name: RefCell::default(),
            directions: None,
            values: &[],
            sampled: RefCell::default(),
        }
    }

    /// For an expression that no program surrounds: defaults, checks, parameters of a call.
    #[must_use]
    pub fn bare(info: &'a Info, database: DatabaseId) -> Scope<'a> {
        let identity = ModuleIdentity {
            database,
            object_id: 0,
            schema_id: DBO,
            name: None,
            kind: crate::program::ProgramKind::Batch,
        };
        Scope {
            info,
            program: None,
            tables: None,
            identity,
            found: RefCell::default(),
            needs: RefCell::default(),
            answered: RefCell::default(),
            homes: RefCell::default(),
            modules: RefCell::default(),
            reads_system: Cell::new(false),
            last: Cell::new(None),
            cleans_history: false,
            predicates: RefCell::default(),
            odd_name: RefCell::default(),
            directions: None,
            values: &[],
            sampled: RefCell::default(),
        }
    }

    /// The same, for a plan that is made by these decisions.
    pub(crate) fn directed(self, directions: Arc<Directions>) -> Scope<'a> {
        Scope { directions: Some(directions), ..self }
    }

    /// The same, where a program's variables can be seen.
    pub(crate) fn with_program(self, program: &'a Program) -> Scope<'a> {
        Scope { program: Some(program), ..self }
    }

    /// The collation of what names none: the current database's.
    pub(crate) fn database_collation(&self) -> Collation {
        let entry = self.entry(None);
        entry.map_or_else(Collation::default, |e| self.info.picture(&e).settings().default_collation())
    }

    pub(super) fn note_catalog(&self, database: DatabaseId) {
        let mut found = self.found.borrow_mut();
        if !found.catalogs.iter().any(|(d, _)| *d == database) {
            found.catalogs.push((database, self.info.catalog_version(database)));
        }
    }

    fn note_object(&self, database: DatabaseId, named: &Named) {
        let id = match named {
            Named::Table(t) => t.object_id,
            Named::Module(m) => m.object_id,
            _ => return,
        };
        self.found.borrow_mut().objects.push((database, id));
    }

    fn note_temporary(&self, name: &str, version: u64) {
        self.found.borrow_mut().temporary.push((fold(name), version));
    }

    fn entry(&self, name: Option<&str>) -> Option<Arc<DatabaseEntry>> {
        match name {
            Some(name) if !name.is_empty() => self.database(name),
            _ => self.info.engine.database_by_id(self.home().database),
        }
    }

    /// A database by name; what `master` and `msdb` are depends on the context.
    fn database(&self, name: &str) -> Option<Arc<DatabaseEntry>> {
        if crate::hadr::contained::system_of(name).is_some() {
            self.found.borrow_mut().context = Some(self.info.context().map(|group| group.id));
        }
        self.info.find_database(name)
    }

    /// Where one-part names are looked for now.
    fn home(&self) -> Home {
        let here = Home { database: self.identity.database, schema: self.identity.schema_id };
        match self.homes.borrow().last() {
            // A view's one-part names are found like its caller's, as long as it is in the same database.
            Some(home) if home.database != here.database => *home,
            _ => here,
        }
    }

    fn note_module(&self, entry: &DatabaseEntry, named: &Named) {
        if let Named::Module(module) = named {
            self.modules.borrow_mut().push((Arc::clone(module), entry.id));
        }
    }

    fn note_parts(&self, name: NameParts<'_>) {
        let in_two_parts = name.schema.is_some() && name.database.is_none();
        if !in_two_parts && self.homes.borrow().is_empty() && self.predicates.borrow().is_empty() {
            let parts = [name.database, name.database.and(name.schema.or(Some(""))), Some(name.object)];
            let text = || parts.into_iter().flatten().collect::<Vec<_>>().join(".");
            self.odd_name.borrow_mut().get_or_insert_with(text);
        }
    }

    /// Whether something belongs to the owner of the view or function that names it.
    fn is_chained(&self, home: Home, database: DatabaseId, schema: i32) -> bool {
        home.database == database
            && self.info.engine.database_by_id(database).is_none_or(|entry| {
                let picture = self.info.picture(&entry);
                owner(&picture, home.schema) == owner(&picture, schema)
            })
    }

    /// Resolves a name to whatever has it.
    #[must_use]
    pub fn resolve(&self, name: NameParts<'_>) -> Option<(Arc<DatabaseEntry>, Named)> {
        if let Some(procedure) = self.temporary_procedure(name.object) {
            return Some(procedure);
        }
        let entry = self.entry(name.database)?;
        self.note_catalog(entry.id);
        self.last.set(Some(entry.id));
        let picture = self.info.picture(&entry);
        let named = self.named_in(&entry, &picture, name)?;
        self.note_parts(name);
        match named {
            Named::Synonym(synonym) => {
                let found = self.follow(&entry, &picture, &synonym.target)?;
                self.last.set(Some(found.0.id));
                self.note_module(&found.0, &found.1);
                self.note_object(found.0.id, &found.1);
                Some(found)
            }
            other => {
                self.note_module(&entry, &other);
                self.note_object(entry.id, &other);
                Some((entry, other))
            }
        }
    }

    /// Resolves a name; a synonym stands for itself.
    #[must_use]
    pub fn resolve_unfollowed(&self, name: NameParts<'_>) -> Option<(Arc<DatabaseEntry>, Named)> {
        if let Some(procedure) = self.temporary_procedure(name.object) {
            return Some(procedure);
        }
        let entry = self.entry(name.database)?;
        let picture = self.info.picture(&entry);
        let named = self.named_in(&entry, &picture, name)?;
        Some((entry, named))
    }

    fn temporary_procedure(&self, name: &str) -> Option<(Arc<DatabaseEntry>, Named)> {
        if !name.starts_with('#') {
            return None;
        }
        let temp = self.info.temp.borrow();
        let found = temp.find_procedure(name)?;
        Some((self.info.engine.database_by_id(found.database)?, Named::Module(Arc::clone(&found.module))))
    }

    /// What has a name in a database. Only a name without a schema is looked for in more than one.
    fn named_in(&self, entry: &DatabaseEntry, picture: &Picture, name: NameParts<'_>) -> Option<Named> {
        match name.schema {
            Some(schema) if !schema.is_empty() => picture.named(picture.schema_id(schema)?, name.object),
            _ => {
                // Triggers of databases are in none.
                let home = self.home();
                let own = if entry.id == home.database { home.schema.max(DBO) } else { DBO };
                picture.named(own, name.object).or_else(|| picture.named(DBO, name.object))
            }
        }
    }

    /// Notes a permission that the statement needs, unless a module's owner answers for it.
    fn need(&self, need: Need) {
        let home = self.homes.borrow().last().copied();
        let answered = match self.predicates.borrow().last() {
            Some(schema_bound) => *schema_bound,
            None => self.is_answered(home, &need),
        };
        let list = if answered { &self.answered } else { &self.needs };
        list.borrow_mut().push(need);
    }

    /// Whether the owner of a view or function answers for what it reads.
    fn is_answered(&self, home: Option<Home>, need: &Need) -> bool {
        home.is_some_and(|home| match need {
            Need::Server { .. } => true,
            Need::Object { database, schema, .. } => self.is_chained(home, *database, *schema),
        })
    }

    fn need_of_module(&self, database: DatabaseId, module: &ModuleDef, permission: &'static str) {
        let (object, schema) = (module.object_id, module.schema_id);
        self.need(Need::Object { database, object, schema, permission, columns: None });
    }

    fn system_view(&self, name: NameParts<'_>) -> Option<ObjectRef> {
        if let Some(permission) = closed_views::server_permission(name.object) {
            self.need(Need::Server { permission });
        }
        let entry = self.entry(name.database)?;
        let is = |system| self.info.system_database(entry.id) == Some(system);
        let in_msdb = || views::find_in_msdb(name.schema, name.object).filter(|_| is(SystemDatabase::Msdb));
        let in_master =
            || views::find_in_master(name.schema, name.object).filter(|_| is(SystemDatabase::Master));
        views::find(name.schema, name.object)
            .or_else(in_msdb)
            .or_else(in_master)
            .inspect(|_| self.reads_system.set(true))
            .map(|view| ObjectRef::Virtual(views::bind(view, &self.info.engine, entry.id)))
    }

    /// The database and module of a scalar or table function.
    fn function(&self, name: NameParts<'_>) -> Option<(Arc<DatabaseEntry>, Arc<ModuleDef>)> {
        if name.schema.is_some_and(|s| s.eq_ignore_ascii_case("sys"))
            && let Some(module) = crate::procs::catalog::find_function(name.object)
        {
            return Some((self.entry(name.database)?, Arc::clone(module)));
        }
        match self.resolve(name)? {
            (entry, Named::Module(module)) => Some((entry, module)),
            _ => None,
        }
    }
}

/// The function over which the binder asks for versions of change tracking.
fn is_versions_function(name: NameParts<'_>) -> bool {
    let sys = name.schema.is_some_and(|s| s.eq_ignore_ascii_case("sys"));
    sys && name.object == keel_query::bind::VERSIONS_FUNCTION
}

impl BindScope for Scope<'_> {
    fn cleans_history(&self) -> bool {
        self.cleans_history
    }
    fn options(&self) -> BindOptions {
        let options = self.info.options.borrow();
        // A module has the ANSI_NULLS it was made with, a batch what the session has by now.
        let (quoted_identifier, ansi_nulls) = match self.program {
            Some(p) if p.identity.object_id == 0 => (p.quoted_identifier, options.on(Switches::ANSI_NULLS)),
            Some(p) => (p.quoted_identifier, p.ansi_nulls),
            None => (true, true),
        };
        BindOptions {
            quoted_identifier,
            ansi_nulls,
            concat_null_yields_null: options.on(Switches::CONCAT_NULL),
            force_plan: options.on(Switches::FORCEPLAN),
            collation: self.database_collation(),
        }
    }

    fn directions(&self) -> Option<Arc<Directions>> {
        self.directions.clone()
    }

    fn wrong_index_options(&self) -> Vec<&'static str> {
        let own = self.options();
        let own = [("ANSI_NULLS", own.ansi_nulls), ("QUOTED_IDENTIFIER", own.quoted_identifier)];
        let own = own.into_iter().filter(|(_, on)| !on).map(|(name, _)| name);
        own.chain(self.info.wrong_index_options()).collect()
    }
    fn indexed_views(&self, table: &TableDef) -> Vec<Arc<ModuleDef>> {
        if table.database == TABLE_VARIABLES {
            return Vec::new();
        }
        let Some(entry) = self.info.engine.database_by_id(table.database) else { return Vec::new() };
        let views = self.info.picture(&entry).indexed_views(table.object_id);
        for view in &views {
            self.note_module(&entry, &Named::Module(Arc::clone(view)));
            self.note_object(entry.id, &Named::Module(Arc::clone(view)));
        }
        views
    }

    fn note_read(&self, object: &ObjectRef) {
        match object {
            ObjectRef::Table(t) => {
                if t.history_of.is_some() {
                    self.found.borrow_mut().objects.push((t.database, t.object_id));
                }
                self.need(Need::Object {
                    database: t.database,
                    object: t.object_id,
                    schema: t.schema_id,
                    permission: "SELECT",
                    columns: None,
                });
            }
            ObjectRef::Module(m) => {
                if let Some(database) = self.last.get() {
                    self.need_of_module(database, m, "SELECT");
                }
            }
            ObjectRef::Virtual(_) => {}
        }
    }
    fn note_changes(&self, table: &Arc<TableDef>, key: &[i32]) {
        for (permission, columns) in [("SELECT", Some(key.to_vec())), ("VIEW CHANGE TRACKING", None)] {
            let (object, schema) = (table.object_id, table.schema_id);
            self.need(Need::Object { database: table.database, object, schema, permission, columns });
        }
    }
    fn note_columns(&self, object: &ObjectRef, read: &[i32]) {
        let id = match object {
            ObjectRef::Table(t) => t.object_id,
            ObjectRef::Module(m) => m.object_id,
            ObjectRef::Virtual(_) => return,
        };
        // Names of one object are noted in turn, each of its references reads columns of its own.
        for need in self.needs.borrow_mut().iter_mut() {
            if let Need::Object { object, permission: "SELECT", columns, .. } = need
                && *object == id
            {
                columns.get_or_insert_default().extend(read);
            }
        }
    }
    fn parallelism(&self) -> keel_query::Parallelism {
        self.info.parallelism()
    }
    fn cancelled(&self) -> bool {
        self.info.shared.cancel.is_cancelled()
    }
    fn enter_module(&self, module: &ModuleDef) {
        let database = self.database_of(module).unwrap_or_else(|| self.home().database);
        self.homes.borrow_mut().push(Home { database, schema: module.schema_id });
    }
    fn enter_database(&self, database: DatabaseId) -> bool {
        // A temporary table's expressions are of the session's database.
        let elsewhere = database != self.home().database && database != TEMPDB;
        if elsewhere {
            self.homes.borrow_mut().push(Home { database, schema: DBO });
        }
        elsewhere
    }
    fn leave_module(&self) {
        self.homes.borrow_mut().pop();
    }
    fn database_of(&self, module: &ModuleDef) -> Option<DatabaseId> {
        let is_it = |found: &&(Arc<ModuleDef>, DatabaseId)| std::ptr::eq(Arc::as_ptr(&found.0), module);
        self.modules.borrow().iter().rev().find(is_it).map(|found| found.1)
    }
    fn enter_predicate(&self, schema_bound: bool) {
        self.predicates.borrow_mut().push(schema_bound);
    }
    fn leave_predicate(&self) {
        self.predicates.borrow_mut().pop();
    }
    fn predicate_function(&self, database: DatabaseId, name: NameParts<'_>) -> Option<Arc<ModuleDef>> {
        let entry = self.info.engine.database_by_id(database)?;
        self.note_catalog(entry.id);
        let picture = self.info.picture(&entry);
        let Named::Module(function) = self.named_in(&entry, &picture, name)? else { return None };
        if function.kind != ModuleKind::InlineTableFunction {
            return None;
        }
        let named = Named::Module(Arc::clone(&function));
        self.note_module(&entry, &named);
        self.note_object(entry.id, &named);
        self.need_of_module(entry.id, &function, "SELECT");
        Some(function)
    }

    fn is_own_server(&self, name: &str) -> bool {
        self.info.is_own_server(name)
    }

    fn remote_object(&self, server: &str, name: NameParts<'_>) -> Result<Arc<dyn VirtualTable>> {
        self.table_elsewhere(server, name)
    }

    fn remote_rowset(&self, rowset: &RemoteRowset<'_>) -> Result<Arc<dyn VirtualTable>> {
        self.rows_elsewhere(rowset)
    }

    fn bulk_rowset(&self, file: &str, options: &[keel_parser::ast::Opt]) -> Result<Arc<dyn VirtualTable>> {
        self.rows_of_file(file, options)
    }

    fn remote_synonym(&self, name: NameParts<'_>) -> Option<Vec<String>> {
        self.synonym_elsewhere(name)
    }

    fn is_synonym(&self, name: NameParts<'_>) -> bool {
        matches!(self.resolve_unfollowed(name), Some((_, Named::Synonym(_))))
    }

    fn object(&self, name: NameParts<'_>) -> Option<ObjectRef> {
        if name.object.starts_with('#') {
            return self.own_rows(name.object).or_else(|| self.temporary(name.object));
        }
        if name.schema.is_none()
            && name.database.is_none()
            && let Some(rows) = self.own_rows(name.object)
        {
            return Some(rows);
        }
        match self.resolve(name) {
            Some((_, Named::Table(table))) => Some(ObjectRef::Table(table)),
            Some((_, Named::Queue(queue))) => Some(ObjectRef::Table(Arc::clone(&queue.rows))),
            Some((_, Named::Module(module))) if module.kind == ModuleKind::View => {
                Some(ObjectRef::Module(module))
            }
            _ => self.system_view(name),
        }
    }

    fn table_function(&self, name: NameParts<'_>) -> Option<ObjectRef> {
        match self.function(name) {
            Some((entry, module)) if module.kind == ModuleKind::InlineTableFunction => {
                self.need_of_module(entry.id, &module, "SELECT");
                Some(ObjectRef::Module(module))
            }
            Some((entry, module)) if module.kind == ModuleKind::TableFunction => {
                self.need_of_module(entry.id, &module, "SELECT");
                modules::table_function(self.info, &entry, &module).map(ObjectRef::Virtual)
            }
            _ if is_versions_function(name) => {
                let entry = self.entry(name.database)?;
                Some(ObjectRef::Virtual(views::change_versions(&self.info.engine, entry.id)))
            }
            _ => self.system_view(name),
        }
    }

    fn catalog(&self, database: DatabaseId) -> Option<Arc<dyn Catalog>> {
        if database == TABLE_VARIABLES {
            return None;
        }
        let entry = self.info.engine.database_by_id(database)?;
        Some(self.info.picture(&entry))
    }

    fn notes_missing_indexes(&self, table: &TableDef) -> bool {
        ![TEMPDB, TABLE_VARIABLES].contains(&table.database) && table.object_id > 0 && !table.queue
    }
    fn statistics(&self, table: &TableDef) -> Option<Arc<keel_query::stats::TableStatistics>> {
        if table.database == TABLE_VARIABLES {
            // Its statements are compiled when they are first executed, for the rows that are there by then.
            let tempdb = self.info.engine.database_by_id(TEMPDB)?;
            return Some(Arc::new(keel_query::stats::counted(&tempdb.store, table)));
        }
        let entry = self.info.engine.database_by_id(table.database)?;
        let known = self.info.engine.statistics_of(&entry, table);
        let sampled =
            Sampled { database: table.database, object: table.object_id, statistics: Arc::clone(&known) };
        self.sampled.borrow_mut().push(sampled);
        Some(known)
    }

    fn variable_value(&self, index: usize, any: bool) -> Option<Value> {
        self.known_value(index, any)
    }

    fn now(&self) -> keel_query::expr::fold::Now {
        keel_query::expr::fold::Now { local: self.info.now_local(), utc: self.info.now_utc() }
    }

    fn will_lock(&self, database: DatabaseId, table: keel_query::catalog::ObjectId) {
        let object = (database, table);
        let mut found = self.found.borrow_mut();
        if object.0 != TABLE_VARIABLES && !found.locked.contains(&object) {
            found.locked.push(object);
        }
    }

    fn reads_committed(&self, database: DatabaseId) {
        let mut found = self.found.borrow_mut();
        if database != TABLE_VARIABLES && !found.committed.contains(&database) {
            found.committed.push(database);
        }
    }

    fn index_use(
        &self,
        database: DatabaseId,
        tree: keel_base::TreeId,
    ) -> Option<Arc<keel_query::usage::IndexUse>> {
        // Temporary tables come and go, each with trees of its own.
        if database == TABLE_VARIABLES || database == TEMPDB {
            return None;
        }
        Some(self.info.engine.database_by_id(database)?.usage.of(tree))
    }

    fn database_name(&self, database: DatabaseId) -> String {
        self.info.engine.database_by_id(database).map_or_else(String::new, |d| d.name().to_string())
    }

    fn schema_name(&self, database: DatabaseId, schema_id: i32) -> String {
        let entry = self.info.engine.database_by_id(database);
        entry.and_then(|e| self.info.picture(&e).schema_name(schema_id)).unwrap_or_else(|| "dbo".to_owned())
    }

    fn variable(&self, name: &str) -> Option<VariableInfo> {
        let (slot, def) = self.program?.variable(name)?;
        Some(VariableInfo { index: slot as usize, ty: def.ty, collation: self.database_collation() })
    }

    fn variable_name(&self, index: usize) -> Option<String> {
        Some(self.program?.variables.get(index)?.name.to_string())
    }

    fn table_variable(&self, name: &str) -> Option<Arc<TableDef>> {
        let program = self.program?;
        let index = program.table(name)?;
        let tables = self.tables?;
        let existing = tables.borrow().get(index).cloned().flatten();
        let table = match existing {
            Some(table) => table,
            None => {
                let table = crate::ddl::table_variable(self.info, program, index).ok()?;
                let mut tables = tables.borrow_mut();
                if tables.len() <= index {
                    tables.resize(index + 1, None);
                }
                tables[index] = Some(Arc::clone(&table));
                table
            }
        };
        self.note_temporary(name, super::temp::variable_version(&table));
        Some(table)
    }

    fn lend_table(&self, name: &str, wanted: &str) -> Result<keel_types::Value> {
        let Some((program, index)) = self.program.and_then(|p| Some((p, p.table(name)?))) else {
            let known = self.variable(name).ok_or_else(|| errors::undeclared_variable(name))?;
            return Err(keel_query::errors::operand_clash(known.ty.name(), wanted));
        };
        let own = match &program.tables[index].shape {
            TableShape::Type(ty) => ty.name.text.as_str(),
            TableShape::Elements(_) => "table",
        };
        if fold(own) != fold(wanted) {
            return Err(keel_query::errors::operand_clash(own, wanted));
        }
        let table = self.table_variable(name).ok_or_else(|| errors::undeclared_table_variable(name))?;
        Ok(self.info.lend_table(&table))
    }

    fn lent_table(&self, lent: &keel_types::Value) -> Option<Arc<TableDef>> {
        self.info.lent_table(lent)
    }

    fn is_table_parameter(&self, name: &str) -> bool {
        let index = self.program.and_then(|p| Some((p, p.table(name)?)));
        index.is_some_and(|(p, at)| {
            p.parameters.iter().any(|d| d.table.as_ref().is_some_and(|(t, _)| *t == at))
        })
    }

    fn scalar_function(&self, name: NameParts<'_>) -> Option<ScalarFunctionInfo> {
        let (entry, module) = self.function(name)?;
        if module.kind != ModuleKind::ScalarFunction {
            return None;
        }
        self.need_of_module(entry.id, &module, "EXECUTE");
        let program = modules::program(self.info, &entry, &module).ok()?;
        let schema = self.info.picture(&entry).schema_name(module.schema_id).unwrap_or_default();
        Some(ScalarFunctionInfo {
            database: entry.id,
            object_id: module.object_id,
            name: format!("{schema}.{}", module.name),
            parameters: parameters(&program),
            returns: program.returns?,
        })
    }

    fn sequence_type(&self, name: &str) -> Option<SqlType> {
        match functions::find_named(self.info, name)? {
            (_, Named::Sequence(s)) => Some(s.ty),
            _ => None,
        }
    }

    fn note_sequence(&self, name: &str) {
        if let Some((entry, Named::Sequence(s))) = functions::find_named(self.info, name) {
            self.need(Need::Object {
                database: entry.id,
                object: s.object_id,
                schema: s.schema_id,
                permission: "UPDATE",
                columns: None,
            });
        }
    }

    fn partition_function(&self, database: Option<&str>, name: &str) -> Option<PartitionFunctionInfo> {
        let entry = self.entry(database)?;
        self.note_catalog(entry.id);
        let picture = self.info.picture(&entry);
        let found = picture.partition_function_named(name)?;
        Some(PartitionFunctionInfo { database: entry.id, function_id: found.function_id, ty: found.ty })
    }

    fn module_parameters(&self, module: &ModuleDef) -> Vec<ParameterInfo> {
        modules::inline_parameters(self, module)
    }

    fn session_function(&self, name: &str, args: &[SqlType]) -> Option<SessionFunction> {
        functions::bind(name, args)
    }

    fn has_triggers(&self, table: &TableDef, action: keel_query::context::DmlAction) -> bool {
        if table.object_id < 0 {
            return false;
        }
        let Some(entry) = self.info.engine.database_by_id(table.database) else { return false };
        self.info.picture(&entry).triggers(table.object_id).iter().any(|m| crate::triggers::fires(m, action))
    }

    fn xml_type(&self, name: &ast::ObjectName, document: bool) -> Result<SqlType> {
        self.typed_xml(name, document)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<SqlType> {
        if name.eq_ignore_ascii_case("sysname") {
            return Some(SqlType::SYSNAME);
        }
        let entry = self.entry(None)?;
        self.note_catalog(entry.id);
        let picture = self.info.picture(&entry);
        let found = self.type_in(&entry, &picture, schema, name);
        found.filter(|t| t.table.is_none()).map(|t| t.base)
    }
}

/// Parameters of a program as keel-query wants them.
#[must_use]
pub fn parameters(program: &Program) -> Vec<ParameterInfo> {
    let info = |p: &crate::program::ParameterDef| ParameterInfo {
        name: p.name.to_string(),
        ty: p.ty,
        default: p.default.clone(),
        table: p.table.as_ref().map(|(_, ty)| ty.name.text.to_string()),
    };
    program.parameters.iter().map(info).collect()
}

impl TypeLookup for Scope<'_> {
    fn scalar(&self, ty: &ast::TypeName) -> Result<SqlType> {
        if let Some((name, document)) = keel_query::bind::merge_types::collection_of(ty) {
            return self.xml_type(name, document);
        }
        let schema = ty.name.schema.as_ref().map(|s| s.text.as_str());
        let mut args = Vec::with_capacity(ty.args.len());
        for arg in &ty.args {
            match arg {
                ast::TypeArg::Number(n) => args.push(TypeArg::Number(i64::from(*n))),
                ast::TypeArg::Max => args.push(TypeArg::Max),
                ast::TypeArg::Collection { .. } => {}
            }
        }
        if schema.is_none_or(|s| s.eq_ignore_ascii_case("sys")) {
            let site = TypeSite { line: ty.span.line, ..TypeSite::default() };
            match parse_type(&ty.name.name.text, &args, site) {
                Err(e) if e.number == 2715 => {}
                other => return other,
            }
        }
        self.user_type(schema, &ty.name.name.text).ok_or_else(|| errors::no_type(1, &ty.name))
    }

    fn is_table_type(&self, name: &ast::ObjectName) -> bool {
        self.table_type(name).is_some()
    }

    fn check_table(&self, name: &str, elements: &[ast::TableElement]) -> Result<()> {
        crate::ddl::check_table_variable(self, name, elements)
    }

    fn constant(&self, expr: &ast::Expr, ty: SqlType) -> Result<Value> {
        crate::run::constant(self, expr, ty)
    }
}
