//! Schemas, types, sequences, synonyms.

use super::Place;
use super::table::TableBuilder;
use crate::catalog::{CatalogObject, DB_OWNER, Named, SchemaDef, SecurableRef, table_names};
use crate::engine::TEMPDB;
use crate::errors;
use crate::program::Program;
use crate::program::lower::TypeLookup as _;
use crate::run::{Frame, Halt, Runner};
use keel_parser::ast;
use keel_query::catalog::{Catalog as _, ModuleDef, SequenceDef, SynonymDef, TypeDef};
use keel_types::SqlType;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    pub(super) fn create_schema(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        c: &ast::CreateSchema,
    ) -> Result<()> {
        let entry = self.info.current_database();
        let name =
            c.name.as_ref().or(c.authorization.as_ref()).map(|n| n.text.to_string()).unwrap_or_default();
        let picture = self.info.picture(&entry);
        if picture.schema_id(&name).is_some() {
            return Err(errors::object_exists(&name));
        }
        let schema_id =
            picture.schemas().map(|s| s.schema_id).filter(|id| *id < DB_OWNER).max().unwrap_or(4).max(4) + 1;
        let owner = match &c.authorization {
            Some(a) => {
                let found = picture.principal_named(&a.text);
                found.ok_or_else(|| errors::cannot_alter_principal("find", "user", a))?.principal_id
            }
            None => crate::catalog::DBO,
        };
        let schema = SchemaDef { schema_id, name, owner };
        self.put(&entry, CatalogObject::Schema(Arc::new(schema)))?;
        for element in &c.elements {
            match self.administer(program, frame, element) {
                Ok(()) => {}
                Err(Halt::Raised(e)) => return Err(e),
                Err(Halt::Batch) => return Err(errors::cancelled()),
            }
        }
        Ok(())
    }

    /// ALTER SCHEMA … TRANSFER: the object goes on under its name in another schema, where nothing else may have that name. What
    /// was granted on it is no more.
    pub(super) fn alter_schema(&mut self, program: &Program, a: &ast::AlterSchema) -> Result<()> {
        let entry = self.info.current_database();
        let picture = self.info.picture(&entry);
        let schema_id = picture.schema_id(&a.schema.text).ok_or_else(|| errors::no_schema(&a.schema.text))?;
        if a.class.as_deref() == Some("XML SCHEMA COLLECTION") {
            return self.transfer_collection(schema_id, &a.object);
        }
        let (object, from, names) = match self.named(program, &a.object).map(|(_, named)| named) {
            Some(Named::Table(mut t)) => {
                self.lock_schema(entry.id, t.object_id)?;
                let names = table_names(&t).into_iter().map(|(name, _)| name.to_owned()).collect();
                let from = std::mem::replace(&mut Arc::make_mut(&mut t).schema_id, schema_id);
                (CatalogObject::Table(t), from, names)
            }
            Some(Named::Module(mut m)) => {
                let from = std::mem::replace(&mut Arc::make_mut(&mut m).schema_id, schema_id);
                let names = vec![m.name.clone()];
                (CatalogObject::Module(m), from, names)
            }
            Some(Named::Synonym(mut s)) => {
                let from = std::mem::replace(&mut Arc::make_mut(&mut s).schema_id, schema_id);
                let names = vec![s.name.clone()];
                (CatalogObject::Synonym(s), from, names)
            }
            Some(Named::Bindable(mut b)) => {
                let from = std::mem::replace(&mut Arc::make_mut(&mut b).schema_id, schema_id);
                let names = vec![b.name.clone()];
                (CatalogObject::Bindable(b), from, names)
            }
            Some(Named::Sequence(mut s)) => {
                let from = std::mem::replace(&mut Arc::make_mut(&mut s).schema_id, schema_id);
                let names = vec![s.name.clone()];
                (CatalogObject::Sequence(s), from, names)
            }
            Some(Named::Policy(mut p)) => {
                let from = std::mem::replace(&mut Arc::make_mut(&mut p).schema_id, schema_id);
                let names = vec![p.name.clone()];
                (CatalogObject::Policy(p), from, names)
            }
            Some(Named::Queue(mut q)) => {
                let from = std::mem::replace(&mut Arc::make_mut(&mut q).schema_id, schema_id);
                let names = vec![q.name.clone()];
                (CatalogObject::Queue(q), from, names)
            }
            Some(Named::Constraint(..)) | None => {
                return Err(errors::cannot_alter_principal("find", "object", &a.object));
            }
        };
        if from == schema_id {
            return Ok(());
        }
        let id = object.key().id;
        if !self.bound_to(&entry, id).is_empty() {
            return Err(errors::cannot_transfer_bound());
        }
        for name in names {
            let place = Place { entry: Arc::clone(&entry), schema_id, name };
            self.lock_name(&place)?;
            if self.info.picture(&entry).named(schema_id, &place.name).is_some() {
                return Err(errors::name_taken_in_schema(&place.name));
            }
        }
        self.forget_permissions(&entry, SecurableRef::Object(id))?;
        for trigger in picture.triggers(id) {
            let moved = ModuleDef { schema_id, ..(*trigger).clone() };
            self.put(&entry, CatalogObject::Module(Arc::new(moved)))?;
        }
        self.put(&entry, object)
    }

    pub(super) fn create_type(&mut self, program: &Program, c: &ast::CreateType) -> Result<()> {
        let place = self.place(program, &c.name)?;
        self.lock_name(&place)?;
        let picture = self.info.picture(&place.entry);
        if picture.user_type(place.schema_id, &place.name).is_some() {
            return Err(errors::type_exists(&c.name));
        }
        let user_type_id = picture.types().map(|t| t.user_type_id).max().unwrap_or(256).max(256) + 1;
        let mut def = TypeDef {
            user_type_id,
            schema_id: place.schema_id,
            name: place.name.clone(),
            base: SqlType::Null,
            nullable: true,
            table: None,
            default: None,
            rule: None,
        };
        match &c.kind {
            ast::CreateTypeKind::Alias { base, nullable } => {
                def.base = self.ddl_scope(program).scalar(base)?;
                def.nullable = nullable.unwrap_or(true);
            }
            ast::CreateTypeKind::Table { elements, .. } => {
                let tempdb = self.entry_of(TEMPDB)?;
                let scope = self.ddl_scope(program);
                let mut builder = TableBuilder::new(&scope, &tempdb, place.schema_id, &place.name);
                builder.private = true;
                builder.collation = place.entry.picture().settings().default_collation();
                let mut table = builder.all(elements)?;
                // Built as a temporary table is; the catalog shows it among this database's objects.
                table.object_id = place.entry.allocate_object();
                def.table = Some(Box::new(table));
            }
            ast::CreateTypeKind::External(_) => return Err(errors::not_supported("EXTERNAL NAME")),
        }
        self.put(&place.entry, CatalogObject::Type(Arc::new(def)))
    }

    pub(super) fn create_sequence(
        &mut self,
        program: &Program,
        c: &ast::CreateSequence,
        alter: bool,
    ) -> Result<()> {
        let place = self.place(program, &c.name)?;
        self.lock_name(&place)?;
        let existing = self.info.picture(&place.entry).sequence(place.schema_id, &place.name);
        let now = self.info.engine.now_local();
        let mut def = match (existing, alter) {
            (Some(old), true) => (*old).clone(),
            (None, true) => return Err(errors::invalid_object_name(&c.name)),
            (Some(_), false) => return Err(errors::object_exists(&place.name)),
            (None, false) => {
                self.check_free(&place)?;
                let ty = match &c.ty {
                    Some(ty) => self.ddl_scope(program).scalar(ty)?,
                    None => SqlType::BigInt,
                };
                if !is_whole(ty) {
                    return Err(errors::sequence_type(&place.name));
                }
                let (minimum, maximum) = integer_range(ty);
                SequenceDef {
                    object_id: place.entry.allocate_object(),
                    schema_id: place.schema_id,
                    name: place.name.clone(),
                    ty,
                    start: i64::MIN,
                    increment: 1,
                    minimum,
                    maximum,
                    cycle: false,
                    created: now,
                    modified: now,
                }
            }
        };
        let mut restart = None;
        for option in &c.options {
            match option {
                ast::SequenceOption::StartWith(n) => def.start = fitting(n, def.ty, "START WITH")?,
                ast::SequenceOption::Restart(n) => {
                    let n = n.as_ref().map(|n| fitting(n, def.ty, "RESTART WITH")).transpose()?;
                    def.start = n.unwrap_or(def.start);
                    restart = Some(def.start);
                }
                ast::SequenceOption::IncrementBy(n) => match fitting(n, step_type(def.ty), "INCREMENT BY")? {
                    0 => return Err(errors::sequence_increment(&place.name)),
                    n => def.increment = n,
                },
                ast::SequenceOption::MinValue(n) => {
                    let n = n.as_ref().map(|n| fitting(n, def.ty, "MINVALUE")).transpose()?;
                    def.minimum = n.unwrap_or(integer_range(def.ty).0);
                }
                ast::SequenceOption::MaxValue(n) => {
                    let n = n.as_ref().map(|n| fitting(n, def.ty, "MAXVALUE")).transpose()?;
                    def.maximum = n.unwrap_or(integer_range(def.ty).1);
                }
                ast::SequenceOption::Cycle(cycle) => def.cycle = *cycle,
                ast::SequenceOption::Cache(_) => {}
            }
        }
        if def.start == i64::MIN && !alter {
            def.start = if def.increment < 0 { def.maximum } else { def.minimum };
        }
        if def.minimum >= def.maximum {
            return Err(errors::sequence_bounds(&place.name));
        }
        if !(def.minimum..=def.maximum).contains(&restart.unwrap_or(def.start)) {
            return Err(errors::sequence_start(&place.name));
        }
        if let Some(next) = restart {
            place.entry.sequence_restart(def.object_id, next, def.increment)?;
        }
        def.modified = now;
        self.put(&place.entry, CatalogObject::Sequence(Arc::new(def)))
    }

    pub(super) fn create_synonym(&mut self, program: &Program, c: &ast::CreateSynonym) -> Result<()> {
        let place = self.place(program, &c.name)?;
        self.lock_name(&place)?;
        self.check_free(&place)?;
        let t = &c.target;
        let mut target: Vec<String> = Vec::new();
        for part in [&t.server, &t.database, &t.schema] {
            if part.is_some() || !target.is_empty() {
                target.push(part.as_ref().map(|p| p.text.to_string()).unwrap_or_default());
            }
        }
        target.push(t.name.text.to_string());
        let def = SynonymDef {
            object_id: place.entry.allocate_object(),
            schema_id: place.schema_id,
            name: place.name.clone(),
            target,
            created: self.info.engine.now_local(),
        };
        self.put(&place.entry, CatalogObject::Synonym(Arc::new(def)))
    }
}

/// Whether a sequence may be of that type.
fn is_whole(ty: SqlType) -> bool {
    let digits = matches!(ty, SqlType::Decimal { scale: 0, .. } | SqlType::Numeric { scale: 0, .. });
    digits || matches!(ty, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
}

/// What a step of a sequence of that type may be: a tinyint may be counted down.
fn step_type(ty: SqlType) -> SqlType {
    if ty == SqlType::TinyInt { SqlType::SmallInt } else { ty }
}

/// A number of a sequence's definition; error 11708 when its type does not hold it.
fn fitting(n: &ast::Literal, ty: SqlType, argument: &str) -> Result<i64> {
    let (least, most) = integer_range(ty);
    let fits = |n: &i64| (least..=most).contains(n);
    n.as_i64().filter(fits).ok_or_else(|| errors::sequence_argument(argument))
}

/// The whole numbers of a type, as far as a sequence counts.
fn integer_range(ty: SqlType) -> (i64, i64) {
    match ty {
        SqlType::TinyInt => (0, 255),
        SqlType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
            let most = 10i64.checked_pow(precision.into()).map_or(i64::MAX, |n| n - 1);
            (-most, most)
        }
        _ => (i64::MIN, i64::MAX),
    }
}
