//! Indexes on views. The first one, unique and clustered, makes the view's rows; they are a table in all but name then, kept with
//! the view's definition ([`ModuleDef::rows`]), and further indexes are those of that table. When the clustered index goes,
//! everything goes.
//!
//! Whoever makes or removes such rows locks the tables that the view reads, and those whose changes come to them by foreign
//! keys: no statement that was compiled before changes them any more.

use super::view_rules;
use super::{append_key, encode_row};
use crate::catalog::{CatalogObject, Named, Picture};
use crate::ddl::parts_here;
use crate::ddl::table::TableBuilder;
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::modules;
use crate::program::Program;
use crate::run::Runner;
use crate::session::info::Info;
use crate::session::options::Switches;
use crate::session::scope::Scope;
use keel_parser::ast;
use keel_query::catalog::{
    Catalog as _, ColumnDef, IndexDef, IndexKind, ModuleDef, ModuleKind, ObjectId, TableDef,
};
use keel_query::dml::indexed_view::{ViewShape, compile_view_rows, indexed_view_shape};
use keel_query::{EntrySort, RowSink, SessionInfo as _};
use keel_types::Value;
use keel_types::error::Result;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A view on its way to be indexed.
pub(super) struct ViewToIndex<'c> {
    /// The name of the index.
    pub index: &'c str,
    /// `database.schema.view`
    pub full_name: String,
    /// Its database.
    pub entry: Arc<DatabaseEntry>,
    /// Its definition.
    pub module: Arc<ModuleDef>,
}

impl Runner<'_> {
    /// A table, or the rows of an indexed view.
    pub(in crate::ddl) fn stored_object(
        &self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Option<Arc<TableDef>> {
        let scope = self.ddl_scope(program);
        crate::ddl::find_table(&scope, name).or_else(|| {
            match scope.resolve(parts_here(self.info, name)?)? {
                (_, Named::Module(view)) if view.kind == ModuleKind::View => view.rows.clone(),
                _ => None,
            }
        })
    }

    fn view_named(
        &self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Option<(Arc<DatabaseEntry>, Arc<ModuleDef>)> {
        match self.ddl_scope(program).resolve(parts_here(self.info, name)?)? {
            (entry, Named::Module(view)) if view.kind == ModuleKind::View => Some((entry, view)),
            _ => None,
        }
    }

    /// The rows of an indexed view, locked against everybody else. Error 1940 when it has none.
    pub(super) fn rows_of_view(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Result<Arc<TableDef>> {
        let (_, view) = self.locked_view(program, name)?.ok_or_else(|| errors::no_table_for_index(name))?;
        view.rows.clone().ok_or_else(|| errors::view_without_clustered(name))
    }

    /// A view, locked against everybody else, and before it, when it has rows, the tables that it reads: whoever changes those
    /// comes to the view from there.
    fn locked_view(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Result<Option<(Arc<DatabaseEntry>, Arc<ModuleDef>)>> {
        let Some((entry, view)) = self.view_named(program, name) else { return Ok(None) };
        if let Some(rows) = &view.rows {
            self.lock_tables_of(&entry, rows.view_of.iter().copied())?;
        }
        self.lock_schema(entry.id, view.object_id)?;
        // Another session may have changed it while we waited.
        Ok(self.view_named(program, name))
    }

    /// Whether an index is to be made on a view that has none. What a view's indexes cannot be is refused.
    pub(super) fn is_first_of_view(&mut self, program: &Program, c: &ast::CreateIndex) -> Result<bool> {
        let Some((_, module)) = self.locked_view(program, &c.table)? else { return Ok(false) };
        view_rules::check_statement(c, &module)?;
        let wrong = self.wrong_index_options(program);
        if !wrong.is_empty() {
            return Err(keel_query::errors::wrong_set_options("CREATE INDEX", &wrong.join(", ")));
        }
        Ok(module.rows.is_none())
    }

    /// The SET options, by name, under which no index of a view is made.
    fn wrong_index_options(&self, program: &Program) -> Vec<&'static str> {
        let nulls = match program.identity.object_id {
            0 => self.info.on(Switches::ANSI_NULLS),
            _ => program.ansi_nulls,
        };
        let own = [("ANSI_NULLS", nulls), ("QUOTED_IDENTIFIER", program.quoted_identifier)];
        let own = own.into_iter().filter(|(_, on)| !on).map(|(name, _)| name);
        own.chain(self.info.wrong_index_options()).collect()
    }

    /// CREATE UNIQUE CLUSTERED INDEX: the view gets rows.
    pub(super) fn materialize_view(&mut self, program: &Program, c: &ast::CreateIndex) -> Result<()> {
        let (entry, module) =
            self.view_named(program, &c.table).ok_or_else(|| errors::no_table_for_index(&c.table))?;
        let full_name = name_in_full(self.info, &entry, &module);
        let view = ViewToIndex { index: &c.name.text, full_name, entry, module };
        let shape = view_rules::check_query(self.info, &view)?;
        let tables: BTreeSet<ObjectId> = shape.tables.iter().map(|t| t.object_id).collect();
        self.lock_tables_of(&view.entry, tables.iter().copied())?;
        let mut rows = self.rows_to_be(&view, &shape, tables)?;
        let mut index = {
            let scope = self.ddl_scope(program);
            let mut builder = TableBuilder::new(&scope, &view.entry, rows.schema_id, &rows.name);
            builder.table = rows.clone();
            let key = builder.index_columns(&c.columns, None)?;
            view_rules::check_key(&view, &shape, &key, true)?;
            let (tree, name) = (view.entry.allocate_tree()?, c.name.text.as_str());
            IndexDef {
                unique: true,
                partitioned: match &c.filegroup {
                    Some(on) => builder.partitioning(on)?,
                    None => None,
                },
                ..IndexDef::plain(1, tree, name, IndexKind::Clustered, key)
            }
        };
        crate::ddl::page_options::tell(&mut index, &c.options)?;
        crate::ddl::compression::compress(&mut index, &c.options, None);
        if let Some(by) = index.partitioned {
            self.lock_scheme(&view.entry, by)?;
        }
        rows.indexes.push(index);
        self.fill_view(&view.module, &rows)?;
        self.put_view_rows(&view.entry, rows.object_id, Some(Arc::new(rows)))
    }

    /// Whether a further index of a view, or its clustered one made anew, can have this key.
    pub(super) fn check_view_key(&self, rows: &TableDef, index: &IndexDef) -> Result<()> {
        if rows.view_of.is_empty() {
            return Ok(());
        }
        let entry = self.entry_of(rows.database)?;
        let module = self.info.picture(&entry).module_by_id(rows.object_id).cloned();
        let module = module.ok_or_else(|| errors::invalid_object_name(&rows.name))?;
        let full_name = name_in_full(self.info, &entry, &module);
        let view = ViewToIndex { index: &index.name, full_name, entry, module };
        let shape = shape_of(self.info, &view.entry, &view.module)?;
        view_rules::check_key(&view, &shape, &index.key, index.kind == IndexKind::Clustered)
    }

    /// The table that a view's rows will be, without indexes.
    fn rows_to_be(
        &self,
        view: &ViewToIndex<'_>,
        shape: &ViewShape,
        view_of: BTreeSet<ObjectId>,
    ) -> Result<TableDef> {
        let columns = shape.columns.iter().enumerate().map(|(i, c)| ColumnDef {
            collation: c.collation,
            nullable: c.nullable,
            ..ColumnDef::plain(i, &c.name, c.ty)
        });
        let columns: Vec<ColumnDef> = columns.collect();
        let now = self.info.engine.now_local();
        let module = &view.module;
        let (object_id, schema_id) = (module.object_id, module.schema_id);
        Ok(TableDef {
            view_of: view_of.into_iter().collect(),
            ..TableDef::plain(view.entry.id, object_id, schema_id, &module.name, columns, now)
        })
    }

    /// Fills the clustered index of a view's rows with what its query yields.
    fn fill_view(&mut self, module: &ModuleDef, rows: &TableDef) -> Result<()> {
        let info = self.info;
        let plan = {
            let mut scope = Scope::bare(info, rows.database);
            scope.identity.schema_id = module.schema_id;
            compile_view_rows(&scope, module)?
        };
        let index = &rows.indexes[0];
        let sort = EntrySort::new(info.engine.work_space(), info.memory_share());
        let mut filling = Filling { rows, index, sort, key: Vec::new() };
        plan.run(&mut self.context_with(&mut []), &mut filling)?;
        let sort = filling.sort;
        self.put_sorted(rows, index, sort)
    }

    /// Fills the clustered index of a view anew, in a tree of its own; the other indexes stay out of use.
    pub(super) fn refill_view(&mut self, rows: &mut TableDef) -> Result<()> {
        let entry = self.entry_of(rows.database)?;
        let module = self.info.picture(&entry).module_by_id(rows.object_id).cloned();
        let module = module.ok_or_else(|| errors::invalid_object_name(&rows.name))?;
        let old = std::mem::replace(&mut rows.indexes[0].tree, entry.allocate_tree()?);
        self.fill_view(&module, rows)?;
        self.discard_tree(rows, old)
    }

    /// A view has no rows of its own any more. The caller has locked it.
    pub(in crate::ddl) fn forget_view_rows(&mut self, rows: &TableDef) -> Result<()> {
        let entry = self.entry_of(rows.database)?;
        self.put_view_rows(&entry, rows.object_id, None)?;
        self.discard_trees(rows)
    }

    /// Writes what rows a view has.
    pub(in crate::ddl) fn put_view_rows(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        view: ObjectId,
        rows: Option<Arc<TableDef>>,
    ) -> Result<()> {
        let module = self.info.picture(entry).module_by_id(view).cloned();
        let module = module.ok_or_else(|| errors::invalid_object_name(view))?;
        self.put(entry, CatalogObject::Module(Arc::new(ModuleDef { rows, ..(*module).clone() })))
    }

    /// Locks a table, or a view with the tables that it reads.
    pub(in crate::ddl) fn lock_stored(&mut self, table: &TableDef) -> Result<()> {
        if !table.view_of.is_empty() {
            let entry = self.entry_of(table.database)?;
            self.lock_tables_of(&entry, table.view_of.iter().copied())?;
        }
        self.lock_schema(table.database, table.object_id)
    }

    /// Locks tables against everybody else, and all from which foreign keys carry changes to them.
    pub(in crate::ddl) fn lock_tables_of(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        tables: impl Iterator<Item = ObjectId>,
    ) -> Result<()> {
        for table in with_origins(&self.info.picture(entry), tables.collect()) {
            self.lock_schema(entry.id, table)?;
        }
        Ok(())
    }
}

/// `database.schema.view`
fn name_in_full(info: &Info, entry: &Arc<DatabaseEntry>, module: &ModuleDef) -> String {
    let schema = info.picture(entry).schema_name(module.schema_id);
    format!("{}.{}.{}", entry.name(), schema.unwrap_or_default(), module.name)
}

/// What a view of a database is made of.
pub(crate) fn shape_of(info: &Info, entry: &DatabaseEntry, module: &ModuleDef) -> Result<ViewShape> {
    let mut scope = Scope::bare(info, entry.id);
    scope.identity.schema_id = module.schema_id;
    indexed_view_shape(&scope, module)
}

/// Whether a view could have an index.
pub(crate) fn is_indexable(info: &Info, entry: &Arc<DatabaseEntry>, module: &Arc<ModuleDef>) -> bool {
    let (entry, module) = (Arc::clone(entry), Arc::clone(module));
    let view = ViewToIndex { index: "", full_name: name_in_full(info, &entry, &module), entry, module };
    modules::is_schema_bound(&view.module) && view_rules::check_query(info, &view).is_ok()
}

/// Tables, with those whose changes come to them: by foreign keys, or as the history of another.
fn with_origins(picture: &Picture, mut tables: BTreeSet<ObjectId>) -> BTreeSet<ObjectId> {
    let mut waiting: Vec<ObjectId> = tables.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        let Some(table) = picture.table_by_id(id) else { continue };
        let referenced = table.foreign_keys.iter().map(|f| f.referenced_table);
        for origin in referenced.chain(table.history_of) {
            if tables.insert(origin) {
                waiting.push(origin);
            }
        }
    }
    tables
}

/// Takes the rows of a view's query.
struct Filling<'r> {
    rows: &'r TableDef,
    index: &'r IndexDef,
    sort: EntrySort,
    key: Vec<u8>,
}

impl RowSink for Filling<'_> {
    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.key.clear();
        append_key(&mut self.key, self.rows, self.index, values);
        self.sort.push(&self.key, &encode_row(self.rows, values))
    }
}
