//! Types of a database by name.

use super::Scope;
use crate::catalog::{DBO, Picture};
use crate::engine::DatabaseEntry;
use crate::errors;
use keel_parser::ast;
use keel_query::catalog::Catalog as _;
use keel_types::SqlType;
use keel_types::error::Result;
use std::sync::Arc;

impl Scope<'_> {
    /// The definition of a table type.
    #[must_use]
    pub fn table_type(&self, name: &ast::ObjectName) -> Option<Arc<keel_query::catalog::TypeDef>> {
        let entry = self.entry(name.database.as_ref().map(|d| d.text.as_str()))?;
        let picture = self.info.picture(&entry);
        let schema = name.schema.as_ref().map(|s| s.text.as_str());
        self.type_in(&entry, &picture, schema, &name.name.text).filter(|t| t.table.is_some())
    }

    /// The definition of a type that a user made, alias or table type; `None` of the system's own.
    #[must_use]
    pub fn made_type(&self, ty: &ast::TypeName) -> Option<Arc<keel_query::catalog::TypeDef>> {
        let entry = self.entry(None)?;
        let schema = ty.name.schema.as_ref().map(|s| s.text.as_str());
        self.type_in(&entry, &self.info.picture(&entry), schema, &ty.name.name.text)
    }

    /// `xml(collection)`. Who names it in a batch of his own needs EXECUTE or REFERENCES on it.
    pub(super) fn typed_xml(&self, name: &ast::ObjectName, document: bool) -> Result<SqlType> {
        let missing = || keel_query::errors::no_xml_collection(&name.name.text);
        let entry = self.entry(None).ok_or_else(missing)?;
        self.note_catalog(entry.id);
        let picture = self.info.picture(&entry);
        let found = self.collection_in(&entry, &picture, name).ok_or_else(missing)?;
        if self.identity.object_id == 0 {
            let on = crate::catalog::SecurableRef::XmlCollection(found.collection_id);
            let may =
                ["EXECUTE", "REFERENCES"].iter().any(|permission| self.info.may(&entry, permission, on));
            if !may {
                let schema = picture.schema_name(found.schema_id).unwrap_or_default();
                return Err(errors::permission_denied("EXECUTE", &found.name, entry.name(), &schema));
            }
        }
        let (collection, version) = (found.collection_id, found.version());
        Ok(SqlType::TypedXml(keel_types::XmlSchema { collection, version, document }))
    }

    /// An XML schema collection of a database, found as types are.
    pub(super) fn collection_in(
        &self,
        entry: &DatabaseEntry,
        picture: &Picture,
        name: &ast::ObjectName,
    ) -> Option<Arc<keel_query::xml_collection::XmlCollectionDef>> {
        if let Some(schema) = &name.schema {
            return picture.xml_collection_named(picture.schema_id(&schema.text)?, &name.name.text).cloned();
        }
        let home = self.home();
        let own = if entry.id == home.database { home.schema.max(DBO) } else { DBO };
        let found = picture.xml_collection_named(own, &name.name.text);
        found.or_else(|| picture.xml_collection_named(DBO, &name.name.text)).cloned()
    }

    /// A type of a database. Without a schema it is looked for where other names are, then in dbo.
    pub(super) fn type_in(
        &self,
        entry: &DatabaseEntry,
        picture: &Picture,
        schema: Option<&str>,
        name: &str,
    ) -> Option<Arc<keel_query::catalog::TypeDef>> {
        if let Some(schema) = schema {
            return picture.user_type(picture.schema_id(schema)?, name);
        }
        let home = self.home();
        let own = if entry.id == home.database { home.schema.max(DBO) } else { DBO };
        picture.user_type(own, name).or_else(|| picture.user_type(DBO, name))
    }
}
