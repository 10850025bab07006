//! CREATE, ALTER and DROP PARTITION FUNCTION and PARTITION SCHEME.
//!
//! Both are rows of the catalog, like every other definition. A table is one tree however it is partitioned, so that a range
//! is split or merged by changing the function alone; the tables that it divides are locked meanwhile, because the numbers
//! of their partitions change.

use super::Place;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::lower::TypeLookup as _;
use crate::program::{Program, Unit};
use crate::run::{Frame, Runner};
use keel_parser::ast::{self, PartitionAction as Action};
use keel_query::catalog::ObjectId;
use keel_query::partition::{MAX_PARTITIONS, PartitionFunctionDef, PartitionSchemeDef};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value, cast};
use std::sync::Arc;

/// First `function_id`.
const FIRST_FUNCTION: i32 = 65_536;
/// First `data_space_id` of a scheme.
const FIRST_SCHEME: i32 = 65_601;
/// Where names of functions and schemes are locked: in no schema.
pub(super) const NAMES: i32 = 0;

/// What is locked for a scheme's name.
pub(super) fn scheme_lock(name: &str) -> String {
    format!("partition scheme {name}")
}

/// A type as the errors of partitioning write it.
pub(super) fn type_name(ty: SqlType) -> String {
    ty.to_string()
}

impl Runner<'_> {
    pub(super) fn partition_statement(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        p: &ast::PartitionStatement,
    ) -> Result<()> {
        let entry = self.info.current_database();
        if entry.is_read_only() {
            return Err(errors::database_read_only(entry.name()));
        }
        let name = p.name.text.as_str();
        match &p.action {
            Action::CreateFunction { .. } | Action::Split(_) | Action::Merge(_) | Action::DropFunction => {
                self.lock_name(&Place {
                    entry: Arc::clone(&entry),
                    schema_id: NAMES,
                    name: format!("partition function {name}"),
                })?;
            }
            _ => self.lock_name(&Place {
                entry: Arc::clone(&entry),
                schema_id: NAMES,
                name: scheme_lock(name),
            })?,
        }
        match &p.action {
            Action::CreateFunction { types, collation, right, values } => {
                let collation = collation.as_ref();
                self.create_partition_function(program, frame, name, (types, collation), *right, values)
            }
            Action::Split(value) => self.split(program, frame, &entry, name, value.as_ref()),
            Action::Merge(value) => self.merge_range(program, frame, &entry, name, value.as_ref()),
            Action::DropFunction => self.drop_partition_function(&entry, name),
            Action::CreateScheme { function, all, filegroups } => {
                self.create_partition_scheme(&entry, name, &function.text, *all, filegroups)
            }
            Action::NextUsed(filegroup) => self.next_used(&entry, name, filegroup.as_ref()),
            Action::DropScheme => self.drop_partition_scheme(&entry, name),
        }
    }

    fn create_partition_function(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        name: &str,
        (types, collation): (&[ast::TypeName], Option<&ast::Ident>),
        right: bool,
        values: &[ast::Expr],
    ) -> Result<()> {
        let entry = self.info.current_database();
        let picture = self.info.picture(&entry);
        if picture.partition_function_named(name).is_some() {
            return Err(errors::object_exists(name));
        }
        let [ty] = types else { return Err(errors::partition_parameters()) };
        let shown = ty.name.to_string();
        let ty = self.ddl_scope(program).scalar(ty)?;
        if !may_partition(ty) {
            return Err(errors::partition_type(shown));
        }
        if values.len() >= MAX_PARTITIONS {
            return Err(errors::too_many_partitions(MAX_PARTITIONS));
        }
        let default = picture.settings().default_collation();
        let collation = super::collate::column_collation(collation, ty, default, default)?;
        let id = picture.partition_functions().map(|f| f.function_id + 1).max().unwrap_or(FIRST_FUNCTION);
        let mut function = PartitionFunctionDef::new(id, name.to_owned(), ty, collation, right);
        let mut ordinals = Vec::new();
        for (n, e) in values.iter().enumerate() {
            let value = self.boundary(program, frame, e, ty, n + 1)?;
            match function.find(&value) {
                Ok(at) => return Err(errors::partition_values_equal(ordinals[at], n + 1)),
                Err(at) => {
                    function = function.with(at, &value);
                    ordinals.insert(at, n + 1);
                }
            }
        }
        if !ordinals.is_sorted() {
            self.info.say(errors::partition_values_unsorted(name));
        }
        function.created = self.info.engine.now_local();
        function.modified = function.created;
        self.put(&entry, CatalogObject::PartitionFunction(Arc::new(function)))
    }

    /// A boundary value in the type of the parameter. Errors 7705 and 7720.
    fn boundary(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        e: &ast::Expr,
        ty: SqlType,
        ordinal: usize,
    ) -> Result<Value> {
        let (value, from) = self.eval_typed(program, frame, &Unit::expr(e.clone(), None))?;
        if matches!(value, Value::Null) {
            return Ok(value);
        }
        let converted = cast::implicit(from, ty).and_then(|cast| cast.apply(&value));
        let converted = converted.map_err(|_| errors::partition_value_type(ordinal))?;
        let longest = match ty {
            SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => usize::from(n),
            SqlType::VarChar(Length::Limited(n))
            | SqlType::NVarChar(Length::Limited(n))
            | SqlType::VarBinary(Length::Limited(n)) => usize::from(n),
            _ => usize::MAX,
        };
        let length = match &value {
            Value::Str(s) => s.trim_end_matches(' ').encode_utf16().count(),
            Value::Bytes(b) => b.len(),
            _ => 0,
        };
        if length > longest {
            return Err(errors::partition_value_truncated(ordinal));
        }
        Ok(converted)
    }

    fn function_named(&self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<Arc<PartitionFunctionDef>> {
        let picture = self.info.picture(entry);
        picture.partition_function_named(name).cloned().ok_or_else(|| errors::invalid_object_name(name))
    }

    fn schemes_of(&self, entry: &Arc<DatabaseEntry>, function: i32) -> Vec<Arc<PartitionSchemeDef>> {
        let picture = self.info.picture(entry);
        picture.partition_schemes().filter(|s| s.function_id == function).cloned().collect()
    }

    /// Locks the schemes of a function and the tables on them.
    fn lock_partitioned(&mut self, entry: &Arc<DatabaseEntry>, function: i32) -> Result<()> {
        let schemes: Vec<i32> = self.schemes_of(entry, function).iter().map(|s| s.data_space_id).collect();
        let on =
            |p: Option<keel_query::partition::PartitionedBy>| p.is_some_and(|p| schemes.contains(&p.scheme));
        let picture = self.info.picture(entry);
        let tables: Vec<ObjectId> = picture
            .stored()
            .filter(|t| t.indexes.iter().any(|i| on(i.partitioned)))
            .map(|t| t.object_id)
            .collect();
        tables.into_iter().try_for_each(|id| self.lock_schema(entry.id, id))
    }

    fn split(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        value: Option<&ast::Expr>,
    ) -> Result<()> {
        let function = self.function_named(entry, name)?;
        let value = value.ok_or_else(errors::partition_value_missing)?;
        let value = self.boundary(program, frame, value, function.ty, 1)?;
        self.lock_partitioned(entry, function.function_id)?;
        let at = match function.find(&value) {
            Ok(at) => return Err(errors::partition_value_known(at + 1)),
            Err(at) => at,
        };
        if function.fanout() >= MAX_PARTITIONS {
            return Err(errors::too_many_partitions(MAX_PARTITIONS));
        }
        for scheme in self.schemes_of(entry, function.function_id) {
            let mut scheme = (*scheme).clone();
            let next = scheme.next_used.take();
            let next = next.ok_or_else(|| errors::partition_filegroups(&function.name, &scheme.name))?;
            // The new partition is the one that the new boundary belongs to.
            let at = if function.right { at + 1 } else { at };
            scheme.filegroups.insert(at.min(scheme.filegroups.len()), next);
            self.put(entry, CatalogObject::PartitionScheme(Arc::new(scheme)))?;
        }
        self.put_function(entry, function.with(at, &value))
    }

    fn merge_range(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        value: Option<&ast::Expr>,
    ) -> Result<()> {
        let function = self.function_named(entry, name)?;
        let value = value.ok_or_else(errors::partition_value_missing)?;
        let value = self.boundary(program, frame, value, function.ty, 1)?;
        self.lock_partitioned(entry, function.function_id)?;
        let at = function.find(&value).map_err(|_| errors::partition_value_unknown())?;
        for scheme in self.schemes_of(entry, function.function_id) {
            let mut scheme = (*scheme).clone();
            let gone = if function.right { at + 1 } else { at };
            if gone < scheme.filegroups.len() {
                scheme.filegroups.remove(gone);
            }
            self.put(entry, CatalogObject::PartitionScheme(Arc::new(scheme)))?;
        }
        self.put_function(entry, function.without(at))
    }

    fn put_function(&mut self, entry: &Arc<DatabaseEntry>, mut function: PartitionFunctionDef) -> Result<()> {
        function.modified = self.info.engine.now_local();
        self.put(entry, CatalogObject::PartitionFunction(Arc::new(function)))
    }

    fn drop_partition_function(&mut self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let picture = self.info.picture(entry);
        let Some(function) = picture.partition_function_named(name) else {
            return Err(errors::cannot_drop_missing("partition function", name));
        };
        if picture.partition_schemes().any(|s| s.function_id == function.function_id) {
            return Err(errors::partition_function_in_use(name));
        }
        let key = CatalogKey { class: object_class::PARTITION_FUNCTION, id: function.function_id };
        self.change(entry, CatalogOp::Remove(key))
    }

    fn create_partition_scheme(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        function: &str,
        all: bool,
        filegroups: &[ast::Ident],
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if picture.partition_scheme_named(name).is_some() {
            return Err(errors::object_exists(name));
        }
        self.lock_name(&Place {
            entry: Arc::clone(entry),
            schema_id: NAMES,
            name: format!("partition function {function}"),
        })?;
        let function = self.function_named(entry, function)?;
        let mut filegroups: Vec<String> = filegroups.iter().map(|f| f.text.to_string()).collect();
        if all {
            let [one] = filegroups.as_slice() else { return Err(errors::one_filegroup_for_all()) };
            filegroups = vec![one.clone(); function.fanout() + 1];
        }
        if filegroups.len() < function.fanout() {
            return Err(errors::partition_filegroups(&function.name, name));
        }
        let extra = filegroups.split_off(function.fanout());
        let next_used = extra.first().cloned();
        if let (Some(next), false) = (&next_used, all) {
            self.info.say(errors::next_used(name, next));
        }
        if extra.len() > 1 {
            self.info.say(errors::filegroups_ignored(extra.len() - 1));
        }
        let id = picture.partition_schemes().map(|s| s.data_space_id + 1).max().unwrap_or(FIRST_SCHEME);
        let scheme = PartitionSchemeDef {
            data_space_id: id,
            name: name.to_owned(),
            function_id: function.function_id,
            filegroups,
            next_used,
        };
        self.put(entry, CatalogObject::PartitionScheme(Arc::new(scheme)))
    }

    fn next_used(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        filegroup: Option<&ast::Ident>,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        let scheme = picture.partition_scheme_named(name).ok_or_else(|| errors::invalid_object_name(name))?;
        if filegroup.is_none() && scheme.next_used.is_none() {
            self.info.say(errors::no_next_used(name));
            return Ok(());
        }
        let next_used = filegroup.map(|f| f.text.to_string());
        let scheme = PartitionSchemeDef { next_used, ..(**scheme).clone() };
        self.put(entry, CatalogObject::PartitionScheme(Arc::new(scheme)))
    }

    fn drop_partition_scheme(&mut self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let picture = self.info.picture(entry);
        let Some(scheme) = picture.partition_scheme_named(name) else {
            return Err(errors::cannot_drop_missing("partition scheme", name));
        };
        let id = scheme.data_space_id;
        let mut indexes = picture.stored().flat_map(|t| &t.indexes);
        if indexes.any(|i| i.partitioned.is_some_and(|p| p.scheme == id)) {
            return Err(errors::partition_scheme_in_use(name));
        }
        self.change(entry, CatalogOp::Remove(CatalogKey { class: object_class::PARTITION_SCHEME, id }))
    }
}

/// Whether a column of the type can be a partitioning column.
fn may_partition(ty: SqlType) -> bool {
    let whole = |n: Length| n == Length::Max;
    match ty {
        SqlType::Text
        | SqlType::NText
        | SqlType::Image
        | SqlType::Xml
        | SqlType::TypedXml(_)
        | SqlType::RowVersion => false,
        ty if ty.is_clr() || ty.is_encrypted() => false,
        SqlType::VarChar(n) | SqlType::NVarChar(n) | SqlType::VarBinary(n) => !whole(n),
        _ => true,
    }
}
