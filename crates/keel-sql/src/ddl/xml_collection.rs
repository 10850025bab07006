//! CREATE, ALTER and DROP XML SCHEMA COLLECTION.

use super::Place;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::{Program, Unit};
use crate::run::{Frame, Runner};
use keel_parser::ast::{self, XmlCollection};
use keel_query::catalog::{Catalog as _, TableDef};
use keel_query::xml_collection::{FIRST_COLLECTION, XmlCollectionDef, check, uses};
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use std::sync::Arc;

impl Runner<'_> {
    pub(super) fn xml_collection(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        c: &XmlCollection,
    ) -> Result<()> {
        let place = self.place(program, &c.name)?;
        self.lock_name(&place)?;
        let picture = self.info.picture(&place.entry);
        if is_own(&picture, &place) {
            return Err(errors::builtin_xml_collection(&place.name));
        }
        let existing = picture.xml_collection_named(place.schema_id, &place.name).cloned();
        let existing = match (existing, c.add) {
            (None, true) => return Err(errors::no_xml_collection_to_alter(&place.name)),
            (Some(_), false) => return Err(errors::xml_collection_exists(&place.name)),
            (Some(old), true)
                if !self.info.may(&place.entry, "ALTER", SecurableRef::XmlCollection(old.collection_id)) =>
            {
                return Err(errors::no_xml_collection_to_alter(&place.name));
            }
            (existing, _) => existing,
        };
        let text = self.schema_text(program, frame, &c.documents)?;
        let now = self.info.engine.now_local();
        let mut def = match existing {
            Some(old) => XmlCollectionDef { registered: None, modified: now, ..(*old).clone() },
            None => XmlCollectionDef {
                collection_id: picture
                    .xml_collections()
                    .map(|c| c.collection_id + 1)
                    .max()
                    .unwrap_or(FIRST_COLLECTION),
                schema_id: place.schema_id,
                name: place.name.clone(),
                owner: None,
                documents: Vec::new(),
                created: now,
                modified: now,
                registered: None,
            },
        };
        let old = def.documents.len();
        if !text.trim().is_empty() {
            def.documents.push(text);
        }
        check(&def.documents, old)?;
        self.put(&place.entry, CatalogObject::XmlCollection(Arc::new(def)))
    }

    /// The text of the documents: a constant or a variable, of a string type or untyped xml.
    fn schema_text(&mut self, program: &Arc<Program>, frame: &mut Frame, e: &ast::Expr) -> Result<String> {
        let (value, ty) = self.eval_typed(program, frame, &Unit::expr(e.clone(), None))?;
        if matches!(value, Value::Null) {
            return Err(errors::xml_collection_null());
        }
        if !(ty.is_string() || ty == SqlType::Xml) {
            return Err(errors::xml_collection_parameter());
        }
        match value {
            Value::Str(text) => Ok(text.trim_start_matches('\u{FEFF}').to_owned()),
            _ => Err(errors::xml_collection_null()),
        }
    }

    pub(super) fn drop_xml_collection(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
        if_exists: bool,
    ) -> Result<()> {
        let place = self.place(program, name)?;
        let picture = self.info.picture(&place.entry);
        if is_own(&picture, &place) {
            return Err(errors::builtin_xml_collection(&place.name));
        }
        let found = picture.xml_collection_named(place.schema_id, &place.name).cloned();
        let may = |c: &Arc<XmlCollectionDef>| {
            let on = SecurableRef::XmlCollection(c.collection_id);
            self.info.may(&place.entry, "CONTROL", on)
                || self.info.may(&place.entry, "ALTER", SecurableRef::Schema(c.schema_id))
        };
        let Some(found) = found.filter(may) else {
            return if if_exists {
                Ok(())
            } else {
                Err(errors::cannot_drop_missing("xml schema collection", name))
            };
        };
        if let Some(user) = self.user_of_collection(&place.entry, &found) {
            return Err(errors::xml_collection_used(&place.name, &user));
        }
        let id = found.collection_id;
        self.forget_permissions(&place.entry, SecurableRef::XmlCollection(id))?;
        self.change(&place.entry, CatalogOp::Remove(CatalogKey { class: object_class::XML_COLLECTION, id }))
    }

    /// A collection of the current database by name.
    pub(super) fn collection_named(&self, name: &ast::ObjectName) -> Option<Arc<XmlCollectionDef>> {
        let entry = self.info.current_database();
        let picture = self.info.picture(&entry);
        let schema = match &name.schema {
            Some(schema) => picture.schema_id(&schema.text)?,
            None => self.info.default_schema(&entry),
        };
        picture.xml_collection_named(schema, &name.name.text).cloned()
    }

    /// ALTER SCHEMA … TRANSFER XML SCHEMA COLLECTION::…
    pub(super) fn transfer_collection(&mut self, schema_id: i32, name: &ast::ObjectName) -> Result<()> {
        let entry = self.info.current_database();
        let missing = || errors::cannot_alter_principal("find", "xml schema collection", name);
        let found = self.collection_named(name).ok_or_else(missing)?;
        if found.schema_id == schema_id {
            return Ok(());
        }
        let on = SecurableRef::XmlCollection(found.collection_id);
        if !self.info.may(&entry, "CONTROL", on) {
            return Err(missing());
        }
        if self.info.picture(&entry).xml_collection_named(schema_id, &found.name).is_some() {
            return Err(errors::name_taken_in_schema(&found.name));
        }
        self.forget_permissions(&entry, on)?;
        let def = XmlCollectionDef { schema_id, owner: None, registered: None, ..(*found).clone() };
        self.put(&entry, CatalogObject::XmlCollection(Arc::new(def)))
    }

    /// What a collection cannot be dropped because of: a table, a table type, or a module with a parameter of its type.
    /// Keeps the collections that a table's columns are of from being dropped before the table is there.
    pub(super) fn lock_collections(&mut self, entry: &Arc<DatabaseEntry>, table: &TableDef) -> Result<()> {
        let mut of: Vec<i32> =
            table.columns.iter().filter_map(|c| Some(c.ty.xml_schema()?.collection)).collect();
        of.sort_unstable();
        of.dedup();
        for id in of {
            let found = |runner: &Self| {
                let picture = runner.info.picture(entry);
                picture
                    .xml_collections()
                    .find(|c| c.collection_id == id)
                    .map(|c| (c.schema_id, c.name.clone()))
            };
            let gone = || keel_query::errors::no_xml_collection(&id.to_string());
            let (schema_id, name) = found(self).ok_or_else(gone)?;
            self.lock_name(&Place { entry: Arc::clone(entry), schema_id, name })?;
            found(self).ok_or_else(gone)?;
        }
        Ok(())
    }

    fn user_of_collection(&self, entry: &Arc<DatabaseEntry>, c: &XmlCollectionDef) -> Option<String> {
        let picture = self.info.picture(entry);
        let named =
            |schema: i32, name: &str| format!("{}.{name}", picture.schema_name(schema).unwrap_or_default());
        let id = c.collection_id;
        if let Some(table) = picture.tables().find(|t| uses(t, id)) {
            return Some(named(table.schema_id, &table.name));
        }
        if let Some(ty) = picture.types().find(|t| t.table.as_ref().is_some_and(|t| uses(t, id))) {
            return Some(named(ty.schema_id, &ty.name));
        }
        let takes = |m: &&Arc<keel_query::catalog::ModuleDef>| {
            let program = crate::modules::program(self.info, entry, m).ok();
            let of = |ty: SqlType| ty.xml_schema().is_some_and(|of| of.collection == id);
            program.is_some_and(|p| p.parameters.iter().any(|p| of(p.ty)) || p.returns.is_some_and(of))
        };
        picture.modules().find(takes).map(|m| named(m.schema_id, &m.name))
    }
}

/// Whether the product's own collection is meant, `sys.sys`.
fn is_own(picture: &crate::catalog::Picture, place: &Place) -> bool {
    picture.schema_id("sys") == Some(place.schema_id) && place.name.eq_ignore_ascii_case("sys")
}
