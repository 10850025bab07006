//! XML schema collections: what types of columns name, and who may use them.

use super::{Picture, fold};
use crate::catalog::principal::Token;
use crate::catalog::{SecurableRef, Verdict};
use keel_query::catalog::{ObjectId, TableDef, TypeDef};
use keel_query::xml_collection::{XmlCollectionDef, is_stale, refresh, register, uses};
use keel_types::SqlType;
use std::sync::Arc;

/// Permissions on a collection.
const ON_COLLECTION: &[&str] =
    &["VIEW DEFINITION", "ALTER", "CONTROL", "TAKE OWNERSHIP", "EXECUTE", "REFERENCES"];

impl Picture {
    /// All collections by id.
    pub fn xml_collections(&self) -> impl Iterator<Item = &Arc<XmlCollectionDef>> {
        self.xml_collections.values()
    }

    /// A collection by id.
    #[must_use]
    pub fn xml_collection(&self, id: i32) -> Option<&Arc<XmlCollectionDef>> {
        self.xml_collections.get(&id)
    }

    /// A collection by schema and name.
    #[must_use]
    pub fn xml_collection_named(&self, schema_id: i32, name: &str) -> Option<&Arc<XmlCollectionDef>> {
        let name = fold(name);
        self.xml_collections.values().find(|c| c.schema_id == schema_id && fold(&c.name) == name)
    }

    /// Adds a collection, or another version of one: columns of its type are from now on of that version.
    pub(super) fn put_xml_collection(&mut self, mut collection: Arc<XmlCollectionDef>) {
        if collection.registered.is_none() {
            let schema = self.schemas.get(&collection.schema_id).map_or("", |s| s.name.as_str());
            register(Arc::make_mut(&mut collection), schema);
        }
        let id = collection.collection_id;
        self.xml_collections.insert(id, collection);
        let tables: Vec<ObjectId> =
            self.tables.values().filter(|t| uses(t, id)).map(|t| t.object_id).collect();
        for table in tables {
            if let Some(mut def) = self.tables.get(&table).cloned() {
                self.current_xml(&mut def);
                self.tables.insert(table, def);
            }
        }
        let types: Vec<i32> = self.types.keys().copied().collect();
        for ty in types {
            if let Some(mut def) = self.types.get(&ty).cloned() {
                self.current_xml_of_type(&mut def);
                self.types.insert(ty, def);
            }
        }
    }

    fn version_of(&self, collection: i32) -> u32 {
        self.xml_collections.get(&collection).map_or(0, |c| c.version())
    }

    /// Lets a table's columns name the current versions of their collections.
    pub(super) fn current_xml(&self, table: &mut Arc<TableDef>) {
        let current = |id: i32| self.version_of(id);
        if is_stale(table, &current) {
            refresh(Arc::make_mut(table), &current);
        }
    }

    /// The same for a type: the columns of a table type, the base of an alias.
    pub(super) fn current_xml_of_type(&self, ty: &mut Arc<TypeDef>) {
        let current = |id: i32| self.version_of(id);
        if ty.table.as_ref().is_some_and(|t| is_stale(t, &current)) {
            Arc::make_mut(ty).table.iter_mut().for_each(|t| refresh(t, &current));
        }
        if let SqlType::TypedXml(of) = ty.base
            && of.version != current(of.collection)
        {
            let now = keel_types::XmlSchema { version: current(of.collection), ..of };
            Arc::make_mut(ty).base = SqlType::TypedXml(now);
        }
    }

    /// Tables, by id, whose plans know a collection.
    pub(super) fn users_of_xml(&self, collection: i32) -> Vec<ObjectId> {
        self.tables.values().filter(|t| uses(t, collection)).map(|t| t.object_id).collect()
    }

    /// The owner of a collection: its own, or that of its schema.
    #[must_use]
    pub fn xml_collection_owner(&self, id: i32) -> Option<i32> {
        let collection = self.xml_collections.get(&id)?;
        collection.owner.or_else(|| self.schemas.get(&collection.schema_id).map(|s| s.owner))
    }

    /// Leaves the collections that a user may do something with.
    pub(super) fn see_xml_collections(&mut self, token: Option<&Token>, all: &Picture) {
        self.xml_collections.retain(|id, _| {
            let on = SecurableRef::XmlCollection(*id);
            let permits = |token: &Token| {
                ON_COLLECTION.iter().any(|name| all.permits(token, name, on) == Verdict::Allowed)
            };
            token.is_some_and(permits)
        });
    }
}
