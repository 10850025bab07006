//! The definition of an XML schema collection, and which types of xml are of which.

pub mod components;

use crate::catalog::{ColumnDef, TableDef};
use crate::errors::Result;
use keel_types::{SqlType, XmlSchema};
use keel_xml::schema::read::read;
use keel_xml::schema::registry::{self, Registered};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// `xml_collection_id` of the first collection of users; 1 is the product's own.
pub const FIRST_COLLECTION: i32 = 65_536;

/// CREATE XML SCHEMA COLLECTION.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct XmlCollectionDef {
    /// `xml_collection_id`, from [`FIRST_COLLECTION`]; never used again while anything has it.
    pub collection_id: i32,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// Its owner when it is not its schema's.
    pub owner: Option<i32>,
    /// Schema documents in the order in which they were added, as they were given.
    pub documents: Vec<String>,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
    /// This version of it, which types name by its number; a catalog sees to it.
    #[serde(skip)]
    pub registered: Option<Arc<Registered>>,
}

impl XmlCollectionDef {
    /// The number of this version; 0 outside of a catalog.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.registered.as_ref().map_or(0, |r| r.number())
    }
}

/// Compiles documents, of which the first `old` were there before. Errors: 94xx, 2378, 6310, 23xx, 69xx.
pub fn check(documents: &[String], old: usize) -> Result<()> {
    read(documents, old).map(drop).map_err(crate::xml::error)
}

/// Gives a definition that comes into a catalog its version's number. `schema` is the name of its schema.
pub fn register(collection: &mut XmlCollectionDef, schema: &str) {
    let name = [schema.to_owned(), collection.name.clone()];
    collection.registered = Some(registry::register(collection.documents.clone(), name));
}

/// Schema and name of the collection of typed xml, while it is there.
#[must_use]
pub fn name_of(of: XmlSchema) -> Option<[String; 2]> {
    registry::find(of.version).map(|r| r.name().clone())
}

/// The collection of a column.
#[must_use]
pub fn collection_of(column: &ColumnDef) -> Option<i32> {
    column.ty.xml_schema().map(|of| of.collection)
}

/// Whether a column of a table is of a collection.
#[must_use]
pub fn uses(table: &TableDef, collection: i32) -> bool {
    table.columns.iter().any(|c| collection_of(c) == Some(collection))
}

/// Whether some column names a version that is not the one that `current` says.
#[must_use]
pub fn is_stale(table: &TableDef, current: &dyn Fn(i32) -> u32) -> bool {
    table.columns.iter().filter_map(|c| c.ty.xml_schema()).any(|of| current(of.collection) != of.version)
}

/// Lets the columns of a table name the versions that `current` says of their collections.
pub fn refresh(table: &mut TableDef, current: &dyn Fn(i32) -> u32) {
    for column in &mut table.columns {
        if let SqlType::TypedXml(of) = &mut column.ty {
            of.version = current(of.collection);
        }
    }
}
