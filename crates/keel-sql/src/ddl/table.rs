//! CREATE TABLE, and the definition of a table from its elements, which temporary tables, table variables
//! and ALTER TABLE share.

mod foreign_key;
mod rules;
mod select_into;
mod variable;

pub use self::select_into::create_for_select_into;
pub use self::variable::{check_table_variable, table_variable};

use self::foreign_key::Reference;
use super::Place;
use crate::catalog::{CatalogObject, DBO, fold};
use crate::column_keys::column::{encrypted_type, refuse_randomized_key};
use crate::engine::{DatabaseEntry, TEMPDB};
use crate::errors;
use crate::program::Program;
use crate::program::lower::TypeLookup;
use crate::run::Runner;
use crate::session::info::RowSet;
use crate::session::options::Switches;
use crate::session::scope::Scope;
use keel_base::TreeId;
use keel_parser::ast::{self, ConstraintKind, TableElement};
use keel_query::catalog::{
    CheckDef, ColumnDef, ColumnstoreDef, ComputedDef, DefaultDef, IndexColumn, IndexDef, IndexKind, ObjectId,
    TableDef,
};
use keel_query::scope::VirtualColumn;
use keel_types::error::Result;
use keel_types::{Collation, SqlType};
use std::sync::Arc;

/// Builds a table's definition, element by element.
pub(super) struct TableBuilder<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) entry: &'a DatabaseEntry,
    pub(super) table: TableDef,
    /// Columns with neither NULL nor NOT NULL are nullable.
    pub(super) null_default: bool,
    /// Names of constraints are made up and never checked (temporary tables, table variables).
    pub(super) private: bool,
    /// Not all columns are known yet, so that the types of computed ones have to wait.
    columns_follow: bool,
    /// Of columns that name none: the database's.
    pub(super) collation: Collation,
    /// Columns GENERATED ALWAYS AS ROW START and END: `column_id` and HIDDEN.
    pub(super) generated: [Option<(i32, bool)>; 2],
    /// Indexes whose ON was given: `index_id`s.
    pub(super) placed: Vec<i32>,
    /// Columns that were declared NULL: `column_id`s.
    declared_null: Vec<i32>,
    /// Some element says CLUSTERED, so that a PRIMARY KEY that says nothing is not.
    clusters_elsewhere: bool,
    /// All elements of a new table, not some that are added to one.
    creating: bool,
}

/// What is wrong with a column's type, said of the column: which one it is, and of decimals what their scale may be.
fn of_column(
    e: Box<keel_types::SqlError>,
    number: i32,
    name: &str,
    ty: &ast::TypeName,
) -> Box<keel_types::SqlError> {
    match (e.number, ty.args.as_slice()) {
        (2715, _) => errors::no_type(number, &ty.name),
        (192, [ast::TypeArg::Number(precision), ast::TypeArg::Number(scale)]) => {
            errors::column_scale(scale, name, precision)
        }
        (131, [ast::TypeArg::Number(size), ..]) => errors::column_too_long(size, name),
        _ => errors::numbered(e, number),
    }
}

impl<'a> TableBuilder<'a> {
    pub(super) fn new(
        scope: &'a Scope<'a>,
        entry: &'a DatabaseEntry,
        schema_id: i32,
        name: &str,
    ) -> TableBuilder<'a> {
        let now = scope.info.engine.now_local();
        let options = scope.info.options.borrow();
        TableBuilder {
            scope,
            entry,
            table: TableDef::plain(entry.id, entry.allocate_object(), schema_id, name, Vec::new(), now),
            null_default: options.on(Switches::NULL_DEFAULT_ON) || !options.on(Switches::NULL_DEFAULT_OFF),
            private: false,
            columns_follow: false,
            collation: entry.picture().settings().default_collation(),
            generated: [None; 2],
            placed: Vec::new(),
            declared_null: Vec::new(),
            clusters_elsewhere: false,
            creating: false,
        }
    }

    fn object_id(&self) -> ObjectId {
        self.entry.allocate_object()
    }

    fn tree(&self) -> Result<TreeId> {
        self.entry.allocate_tree()
    }

    fn constraint_name(
        &self,
        given: Option<&ast::Ident>,
        prefix: &str,
        column: &str,
        id: ObjectId,
    ) -> String {
        match given {
            Some(name) => name.text.to_string(),
            None => {
                // Keys have the name of no column in theirs, and less of the table's.
                let of_table = if matches!(prefix, "PK" | "UQ") { 8 } else { 9 };
                let table: String = self.table.name.chars().take(of_table).collect();
                let column: String = column.chars().take(5).collect();
                let middle = if column.is_empty() { String::new() } else { format!("{column}__") };
                format!("{prefix}__{table}__{middle}{id:08X}")
            }
        }
    }

    pub(super) fn all(self, elements: &[TableElement]) -> Result<TableDef> {
        self.all_on(elements, None)
    }

    /// [`TableBuilder::all`] with the ON of the table.
    fn all_on(mut self, elements: &[TableElement], on: Option<&ast::Filegroup>) -> Result<TableDef> {
        self.creating = true;
        self.clusters_elsewhere = elements.iter().any(says_clustered);
        self.columns_follow = true;
        for element in elements {
            if let TableElement::Column(c) = element {
                self.column(c)?;
            }
        }
        self.columns_follow = false;
        self.period(elements)?;
        for element in elements {
            if let TableElement::Column(c) = element
                && let ast::ColumnKind::Computed { expr, .. } = &c.kind
            {
                let result = self.computed_type(expr)?;
                let at = self.find_column(&c.name)?;
                let column = &mut self.table.columns[at];
                column.ty = result.ty;
                column.collation = result.collation;
                column.nullable = c.nullable.unwrap_or(result.nullable);
            }
        }
        // Keys first: the clustered one decides whether the table is a heap, and checks may name any column.
        for element in elements {
            self.keys_of(element)?;
        }
        if !self.table.indexes.iter().any(|i| i.kind == IndexKind::Clustered) {
            let tree = self.tree()?;
            self.table.indexes.insert(0, IndexDef::heap(tree));
        }
        self.order_indexes();
        self.align(on, &[])?;
        self.check_row_size()?;
        for element in elements {
            self.rest_of(element)?;
        }
        Ok(self.table)
    }

    /// The clustered index or heap first, the others in index_id order.
    pub(super) fn order_indexes(&mut self) {
        self.table.indexes.sort_by_key(|i| (i.kind == IndexKind::Nonclustered, i.index_id));
    }

    pub(super) fn column(&mut self, c: &ast::ColumnDefinition) -> Result<()> {
        let name = c.name.text.to_string();
        if self.table.columns.iter().any(|o| fold(&o.name) == fold(&name)) {
            return Err(errors::duplicate_column(&self.table.name, &name));
        }
        self.check_inline_constraints(c)?;
        let column_id = self.table.next_column_id;
        let ordinal = self.table.next_ordinal;
        let mut def = ColumnDef {
            column_id,
            ordinal,
            collation: self.collation,
            nullable: c.nullable.unwrap_or(self.null_default),
            rowguid: c.rowguidcol,
            ..ColumnDef::plain(self.table.columns.len(), name, SqlType::Int)
        };
        match &c.kind {
            ast::ColumnKind::Typed(ty) => {
                def.ty = self.scope.scalar(ty).map_err(|e| of_column(e, column_id, &def.name, ty))?;
                self.own_collection(&def, ty)?;
                // The database where a temporary table is used, not that where it is.
                let temporary = self.entry.id == TEMPDB;
                let here = if temporary { self.scope.database_collation() } else { self.collation };
                def.collation =
                    super::collate::column_collation(c.collation.as_ref(), def.ty, self.collation, here)?;
                if c.nullable.is_none() && def.ty == SqlType::RowVersion {
                    def.nullable = false;
                }
                let made = self.scope.made_type(ty);
                // A system's type is not NULL unless said for `sysname` alone.
                let nullable = made.as_ref().map_or(!ty.name.name.is("sysname"), |t| t.nullable);
                if c.nullable.is_none() && !nullable {
                    def.nullable = false;
                }
                // A temporary table's types are of this database, and the table is not.
                let here = self.private || self.entry.id == self.scope.info.current_database().id;
                if let Some(made) = made.filter(|_| here) {
                    def.alias = Some(made.user_type_id);
                    super::bindable::inherit(&mut def, &made);
                }
            }
            ast::ColumnKind::Timestamp => {
                def.ty = SqlType::RowVersion;
                def.nullable = c.nullable.unwrap_or(false);
            }
            ast::ColumnKind::Computed { expr, persisted } => {
                // It may name columns that come behind it.
                if !self.columns_follow {
                    let result = self.computed_type(expr)?;
                    def.ty = result.ty;
                    def.collation = result.collation;
                    def.nullable = c.nullable.unwrap_or(result.nullable);
                }
                let text = self.expression_text(expr);
                def.computed = Some(ComputedDef { text, persisted: *persisted });
            }
        }
        if let Some(identity) = &c.identity {
            if self.table.columns.iter().any(|c| c.identity.is_some()) {
                return Err(errors::two_identities(&self.table.name));
            }
            if !identity_type(def.ty) || c.nullable == Some(true) {
                return Err(errors::identity_type(&def.name));
            }
            let seed = identity.seed.as_i64().unwrap_or(1);
            let increment = identity.increment.as_i64().unwrap_or(1);
            if increment == 0 {
                return Err(errors::identity_increment(&def.name));
            }
            def.identity = Some((seed, increment));
            def.nullable = false;
            def.default = None;
        }
        for constraint in &c.constraints {
            if let ConstraintKind::Default { value, .. } = &constraint.kind {
                if def.identity.is_some() {
                    return Err(errors::default_on_identity(&self.table.name, &def.name));
                }
                let default = self.default(constraint.name.as_ref(), value, &def.name);
                self.refuse_variables(&default.text)?;
                self.check_default(value, def.ty)?;
                def.default = Some(default);
            }
        }
        def.mask = super::mask::declared(c, &def)?;
        if let Some(with) = c.options.iter().find(|o| o.name == "ENCRYPTED") {
            if self.private && self.table.object_id > 0 {
                return Err(errors::not_supported("ENCRYPTED WITH in table types and table variables"));
            }
            let picture = self.scope.info.picture(&self.key_database());
            def.ty = encrypted_type(&picture, &self.table.name, &def, &with.value)?;
        }
        self.check_column(&def)?;
        if def.rowguid && self.table.columns.iter().any(|o| o.rowguid) {
            return Err(errors::second_rowguid());
        }
        self.generated_always(c, &mut def)?;
        self.declared_null.extend((c.nullable == Some(true)).then_some(column_id));
        self.table.columns.push(def);
        self.table.next_column_id += 1;
        self.table.next_ordinal += 1;
        Ok(())
    }

    /// The database whose column encryption keys columns name: a temporary table's columns are encrypted with keys of the session's.
    fn key_database(&self) -> Arc<DatabaseEntry> {
        let info = self.scope.info;
        let own = info.engine.database_by_id(self.entry.id).filter(|own| own.id != crate::engine::TEMPDB);
        own.unwrap_or_else(|| info.current_database())
    }

    /// A temporary table's typed xml is of a collection of tempdb, as that of any table is of its database's.
    fn own_collection(&self, def: &ColumnDef, ty: &ast::TypeName) -> Result<()> {
        let elsewhere = !self.private && self.entry.id != self.scope.info.current_database().id;
        match keel_query::bind::merge_types::collection_of(ty) {
            Some((name, _)) if elsewhere && def.ty.xml_schema().is_some() => {
                Err(keel_query::errors::no_xml_collection(&name.name.text))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn default(&self, name: Option<&ast::Ident>, value: &ast::Expr, column: &str) -> DefaultDef {
        let object_id = self.object_id();
        let name = self.constraint_name(name, "DF", column, object_id);
        DefaultDef { object_id, name, text: self.expression_text(value) }
    }

    /// An expression as the catalog keeps it.
    pub(super) fn expression_text(&self, e: &ast::Expr) -> String {
        keel_parser::to_text::stored_text(e)
    }

    /// Type of an expression over the columns that are not computed themselves.
    fn computed_type(&self, e: &ast::Expr) -> Result<VirtualColumn> {
        let stored = self.table.columns.iter().filter(|c| c.computed.is_none());
        let outcome =
            self.over_columns(stored, |rows| format!("SELECT {} FROM {rows}", self.expression_text(e)));
        outcome.map_err(|e| {
            let named = |c: &&ColumnDef| e.number == 207 && e.message.contains(&format!("'{}'", c.name));
            match self.table.columns.iter().filter(|c| c.computed.is_some()).find(named) {
                Some(c) => errors::computed_of_computed(&c.name, &self.table.name),
                None => e,
            }
        })
    }

    /// Compiles a query over a rowset that has these columns: type and nullability of its first one.
    fn over_columns<'c>(
        &self,
        columns: impl Iterator<Item = &'c ColumnDef>,
        query: impl Fn(&str) -> String,
    ) -> Result<VirtualColumn> {
        let column = |c: &ColumnDef| VirtualColumn {
            name: c.name.clone(),
            ty: c.ty,
            nullable: c.nullable,
            collation: c.collation,
        };
        let info = self.scope.info;
        info.captured
            .borrow_mut()
            .push(RowSet { columns: columns.map(column).collect(), rows: Arc::default() });
        let text = query(&format!("[{}]", crate::program::captured::CAPTURED_ROWS));
        let outcome = self.at_home(|scope| type_of_query(scope, &text));
        info.captured.borrow_mut().pop();
        outcome
    }

    /// What is compiled where the table's expressions will be: in its database, a temporary table's in the session's.
    fn at_home<T>(&self, compile: impl FnOnce(&Scope<'_>) -> T) -> T {
        let here = [self.scope.info.current_database().id, TEMPDB].contains(&self.entry.id);
        if here { compile(self.scope) } else { compile(&Scope::bare(self.scope.info, self.entry.id)) }
    }

    fn find_column(&self, name: &ast::Ident) -> Result<usize> {
        let key = fold(&name.text);
        let at = self.table.columns.iter().position(|c| fold(&c.name) == key);
        at.ok_or_else(|| errors::no_column_in_table(&name.text))
    }

    fn keys_of(&mut self, element: &TableElement) -> Result<()> {
        match element {
            TableElement::Column(c) => {
                for constraint in &c.constraints {
                    self.key(constraint, Some(&c.name))?;
                }
                if let Some(index) = &c.index {
                    self.inline_index(index, Some(&c.name))?;
                }
            }
            TableElement::Constraint(c) => self.key(c, None)?,
            TableElement::Index(i) => self.inline_index(i, None)?,
            TableElement::Period { .. } => {}
        }
        Ok(())
    }

    pub(super) fn rest_of(&mut self, element: &TableElement) -> Result<()> {
        match element {
            TableElement::Column(c) => {
                for constraint in &c.constraints {
                    self.check_or_reference(constraint, Some(&c.name))?;
                }
            }
            TableElement::Constraint(c) => self.check_or_reference(c, None)?,
            _ => {}
        }
        Ok(())
    }

    pub(super) fn index_columns(
        &self,
        columns: &[ast::IndexColumnRef],
        own: Option<&ast::Ident>,
    ) -> Result<Vec<IndexColumn>> {
        if let (true, Some(own)) = (columns.is_empty(), own) {
            let column = &self.table.columns[self.find_column(own)?];
            self.check_key_type(column)?;
            self.check_key_is_deterministic(column)?;
            return Ok(vec![IndexColumn { column_id: column.column_id, descending: false }]);
        }
        let mut key = Vec::with_capacity(columns.len());
        for c in columns {
            let column = &self.table.columns[self.find_column(&c.name)?];
            if key.iter().any(|k: &IndexColumn| k.column_id == column.column_id) {
                return Err(errors::index_column_twice(&column.name));
            }
            self.check_key_type(column)?;
            self.check_key_is_deterministic(column)?;
            key.push(IndexColumn { column_id: column.column_id, descending: c.descending });
        }
        Ok(key)
    }

    /// Error 1919 for a type that has no order, or whose values are too long for one; 33282 for one whose equal values differ.
    fn check_key_type(&self, column: &ColumnDef) -> Result<()> {
        if !column.ty.plain().is_key_type() {
            return Err(errors::column_not_for_key(&column.name, &self.table.name));
        }
        refuse_randomized_key(&self.table, column)
    }

    /// Columns of INCLUDE. None may be there twice, or be in the key too.
    pub(super) fn included_columns(&self, names: &[ast::Ident], key: &[IndexColumn]) -> Result<Vec<i32>> {
        let mut included = Vec::with_capacity(names.len());
        for name in names {
            let column = &self.table.columns[self.find_column(name)?];
            if included.contains(&column.column_id) || key.iter().any(|k| k.column_id == column.column_id) {
                return Err(errors::index_column_twice(&column.name));
            }
            included.push(column.column_id);
        }
        Ok(included)
    }

    pub(super) fn next_index_id(&self) -> i32 {
        self.table.next_index_id()
    }

    /// A PRIMARY KEY or UNIQUE constraint.
    pub(super) fn key(&mut self, constraint: &ast::TableConstraint, own: Option<&ast::Ident>) -> Result<()> {
        let ConstraintKind::Key { primary, clustered, columns, options, filegroup } = &constraint.kind else {
            return Ok(());
        };
        let key = self.index_columns(columns, own).map_err(|e| match e.number {
            1919 | 2729 | 33282 => {
                self.scope.info.say(e);
                errors::constraint_not_created()
            }
            _ => e,
        })?;
        if *primary {
            if self.table.indexes.iter().any(|i| i.is_primary_key) {
                return Err(errors::two_primary_keys(&self.table.name));
            }
            if key.iter().any(|k| self.declared_null.contains(&k.column_id)) {
                self.scope.info.say(errors::nullable_primary_key(&self.table.name));
                return Err(errors::constraint_not_created());
            }
            let uncertain = |c: &&ColumnDef| {
                c.computed.is_some() && c.nullable && key.iter().any(|k| k.column_id == c.column_id)
            };
            if let Some(column) = self.table.columns.iter().find(uncertain) {
                let e = errors::nullable_computed_key(&column.name, &self.table.name);
                self.scope.info.say(e);
                return Err(errors::constraint_not_created());
            }
            for k in &key {
                let column = self.table.columns.iter_mut().find(|c| c.column_id == k.column_id);
                column.expect("key columns are columns").nullable = false;
            }
        }
        let other = self.clustering();
        let clustered = clustered.unwrap_or(*primary && other.is_none() && !self.clusters_elsewhere);
        if clustered && let Some(other) = other {
            let constraint = other.constraint_id != 0 && self.creating;
            return Err(if constraint {
                errors::two_clustered_constraints(&self.table.name)
            } else {
                errors::second_clustered(&self.table.name, &other.name)
            });
        }
        let object_id = self.object_id();
        let name =
            self.constraint_name(constraint.name.as_ref(), if *primary { "PK" } else { "UQ" }, "", object_id);
        let index_id = if clustered { 1 } else { self.next_index_id() };
        let mut index = IndexDef {
            unique: true,
            is_primary_key: *primary,
            is_unique_constraint: !*primary,
            constraint_id: object_id,
            ignore_dup_key: option_on(options, "IGNORE_DUP_KEY"),
            ..IndexDef::plain(index_id, self.tree()?, name, kind_of(clustered), key)
        };
        super::page_options::tell(&mut index, options)?;
        super::compression::compress(&mut index, options, None);
        self.table.indexes.push(index);
        self.place_last(filegroup.as_ref())
    }

    /// The index that the rows are kept in.
    fn clustering(&self) -> Option<&IndexDef> {
        self.table.indexes.iter().find(|i| i.kind == IndexKind::Clustered)
    }

    pub(super) fn inline_index(&mut self, index: &ast::InlineIndex, own: Option<&ast::Ident>) -> Result<()> {
        if index.columnstore {
            return self.inline_columnstore(index);
        }
        let key = self.index_columns(&index.columns, own)?;
        let included = self.included_columns(&index.include, &key)?;
        let clustered = index.clustered.unwrap_or(false);
        if clustered && let Some(other) = self.clustering() {
            return Err(errors::second_clustered(&self.table.name, &other.name));
        }
        let filter = index.filter.as_ref().map(|f| self.expression_text(f));
        let (index_id, name) = (if clustered { 1 } else { self.next_index_id() }, index.name.text.as_str());
        let mut def = IndexDef {
            unique: index.unique,
            included,
            filter,
            ignore_dup_key: option_on(&index.options, "IGNORE_DUP_KEY"),
            ..IndexDef::plain(index_id, self.tree()?, name, kind_of(clustered), key)
        };
        super::page_options::tell(&mut def, &index.options)?;
        super::compression::compress(&mut def, &index.options, None);
        self.table.indexes.push(def);
        self.place_last(index.filegroup.as_ref())
    }

    /// A columnstore index is remembered, and holds no rows.
    fn inline_columnstore(&mut self, index: &ast::InlineIndex) -> Result<()> {
        if !self.table.columnstores.is_empty() {
            return Err(errors::second_columnstore());
        }
        let clustered = index.clustered.unwrap_or(false);
        let columns = index.columns.iter().filter(|_| !clustered);
        let columns = columns
            .map(|c| self.find_column(&c.name).map(|i| self.table.columns[i].column_id))
            .collect::<Result<Vec<_>>>()?;
        self.table.columnstores.push(ColumnstoreDef {
            index_id: if clustered { 1 } else { self.next_index_id() },
            name: index.name.text.to_string(),
            clustered,
            columns,
            filter: index.filter.as_ref().map(keel_parser::to_text::stored_text),
        });
        Ok(())
    }

    pub(super) fn check_or_reference(
        &mut self,
        constraint: &ast::TableConstraint,
        own: Option<&ast::Ident>,
    ) -> Result<()> {
        match &constraint.kind {
            ConstraintKind::Check { condition, .. } => {
                rules::refuse_queries(condition)?;
                let object_id = self.object_id();
                let column = own.map_or("", |c| c.text.as_str());
                let name = self.constraint_name(constraint.name.as_ref(), "CK", column, object_id);
                let text = self.expression_text(condition);
                if own.is_some() {
                    self.check_of_column(column, &text)?;
                }
                self.check_condition(&text)?;
                let column = match own {
                    Some(_) => self.table.columns.iter().find(|c| fold(&c.name) == fold(column)),
                    None => only_column(&self.table, &text),
                };
                let column = column.map_or(0, |c| c.column_id);
                self.table.checks.push(CheckDef {
                    object_id,
                    name,
                    text,
                    column,
                    disabled: false,
                    untrusted: false,
                });
                Ok(())
            }
            ConstraintKind::ForeignKey { columns, table, referenced, on_delete, on_update, .. } => {
                if self.private {
                    let object_id = self.object_id();
                    let first = own.or(columns.first()).map_or("", |c| c.text.as_str());
                    let name = self.constraint_name(constraint.name.as_ref(), "FK", first, object_id);
                    self.scope.info.say(errors::foreign_key_skipped(&name));
                    return Ok(());
                }
                let columns: Vec<ast::Ident> = match own {
                    Some(own) if columns.is_empty() => vec![own.clone()],
                    _ => columns.clone(),
                };
                self.foreign_key(&Reference {
                    name: constraint.name.as_ref(),
                    columns: &columns,
                    table,
                    referenced,
                    on_delete: on_delete.as_ref(),
                    on_update: on_update.as_ref(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Whether a constraint or index of an element says CLUSTERED.
fn says_clustered(element: &TableElement) -> bool {
    let key = |c: &ast::TableConstraint| matches!(c.kind, ConstraintKind::Key { clustered: Some(true), .. });
    let index = |i: &ast::InlineIndex| i.clustered == Some(true);
    match element {
        TableElement::Column(c) => c.constraints.iter().any(key) || c.index.as_ref().is_some_and(index),
        TableElement::Constraint(c) => key(c),
        TableElement::Index(i) => index(i),
        TableElement::Period { .. } => false,
    }
}

/// Whether a list of options turns one on.
pub(super) fn option_on(options: &[ast::Opt], name: &str) -> bool {
    options.iter().any(|o| o.name == name && matches!(o.value, ast::OptValue::On))
}

fn identity_type(ty: SqlType) -> bool {
    matches!(
        ty,
        SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Decimal { scale: 0, .. }
            | SqlType::Numeric { scale: 0, .. }
    )
}

/// What an index is that was made CLUSTERED or NONCLUSTERED.
pub(super) fn kind_of(clustered: bool) -> IndexKind {
    if clustered { IndexKind::Clustered } else { IndexKind::Nonclustered }
}

/// Type and nullability of a query's first column.
fn type_of_query(scope: &Scope<'_>, text: &str) -> Result<VirtualColumn> {
    let batch = keel_parser::parse_batch(text, keel_parser::ParseOptions::default())
        .map_err(crate::run::parse_error)?;
    let Some(ast::StatementKind::Select(select)) = batch.statements.into_iter().next().map(|s| s.kind) else {
        return Err(errors::not_supported("This expression"));
    };
    let plan = keel_query::compile_select(scope, &select)?;
    let c = &plan.columns()[0];
    Ok(VirtualColumn { name: c.name.clone(), ty: c.ty, nullable: c.nullable, collation: c.collation })
}

impl Runner<'_> {
    pub(super) fn create_table(&mut self, program: &Program, c: &ast::CreateTable) -> Result<()> {
        super::options::of_table(c)?;
        if c.name.is_temporary() && !c.name.is_global_temporary() {
            return self.create_temporary(program, c);
        }
        let mut place = self.place(program, &c.name)?;
        if c.name.is_global_temporary() {
            place = Place { entry: self.entry_of(TEMPDB)?, schema_id: DBO, name: place.name };
        }
        place.refuse_system_schema()?;
        self.lock_name(&place)?;
        self.check_free(&place)?;
        let mut table = {
            let scope = self.ddl_scope(program);
            let mut builder = TableBuilder::new(&scope, &place.entry, place.schema_id, &place.name);
            builder.table.memory_optimized = super::options::memory(&c.options)?;
            builder.all_on(&c.elements, c.filegroup.as_ref())?
        };
        if let Some(rows) = table.indexes.first_mut() {
            super::compression::compress(rows, &c.options, None);
        }
        self.lock_schemes(&place.entry, &table)?;
        self.lock_collections(&place.entry, &table)?;
        self.check_constraint_names(&place.entry, &table, Vec::new())?;
        let versioning = super::temporal::asked(&c.options)?;
        if versioning.is_some() && place.entry.id == TEMPDB {
            return Err(errors::versioned_in_tempdb(&place.name));
        }
        let table = Arc::new(table);
        self.put(&place.entry, CatalogObject::Table(Arc::clone(&table)))?;
        if c.name.is_global_temporary() {
            self.info.global_tables.borrow_mut().push(table.object_id);
        }
        match versioning {
            Some(Some(versioning)) => self.version_table(&table, versioning),
            _ => Ok(()),
        }
    }

    /// Error 1750 behind 2714 when a new constraint has the name of an object, of its table or of another of its constraints; `had` are
    /// the names of those that were there before.
    pub(super) fn check_constraint_names(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        table: &TableDef,
        had: Vec<String>,
    ) -> Result<()> {
        let mut new = super::storage::constraint_names(table);
        for old in had {
            if let Some(at) = new.iter().position(|name| *name == old) {
                new.swap_remove(at);
            }
        }
        let mut met = vec![fold(&table.name)];
        for name in new {
            let place = Place { entry: Arc::clone(entry), schema_id: table.schema_id, name };
            self.lock_name(&place)?;
            let again = met.contains(&fold(&place.name));
            if again || self.check_free(&place).is_err() {
                self.info.say(errors::object_exists(&place.name));
                return Err(errors::constraint_not_created());
            }
            met.push(fold(&place.name));
        }
        Ok(())
    }

    fn create_temporary(&mut self, program: &Program, c: &ast::CreateTable) -> Result<()> {
        let name = &c.name.name.text;
        if super::temporal::asked(&c.options)?.is_some() {
            return Err(errors::versioned_in_tempdb(name));
        }
        let level = self.info.nest_level();
        if self.info.temp.borrow().exists_at(name, level) {
            return Err(errors::object_exists(name));
        }
        let tempdb = self.entry_of(TEMPDB)?;
        let table = {
            let scope = self.ddl_scope(program);
            let mut builder = TableBuilder::new(&scope, &tempdb, DBO, name);
            builder.private = true;
            // Those of a contained database are in its collation, wherever it is.
            if self.info.current_database().picture().settings().is_contained() {
                builder.collation = scope.database_collation();
            }
            // The product gives negative ids to them.
            builder.table.object_id = -builder.table.object_id;
            builder.all_on(&c.elements, c.filegroup.as_ref())?
        };
        self.before_temp_change();
        self.info.temp.borrow_mut().add(level, Arc::new(table));
        Ok(())
    }
}

/// The column that the stored text of a condition names, if it names one only: its constraint is one of that column, wherever it is declared.
fn only_column<'t>(table: &'t TableDef, text: &str) -> Option<&'t ColumnDef> {
    let mut named = table.columns.iter().filter(|c| super::mentions_column(text, &c.name));
    named.next().filter(|_| named.next().is_none())
}
