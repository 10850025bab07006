//! Full-text catalogs.

use super::{catalog_exists, catalog_used, default_dropped, no_catalog};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, object_class};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_parser::ast::{self, CatalogChange};
use keel_query::catalog::TableDef;
use keel_query::full_text::{FullTextCatalogDef, FullTextDef, Reorganizing};
use keel_types::error::Result;
use std::sync::Arc;

/// First `fulltext_catalog_id`, as in the product.
const FIRST_CATALOG: i32 = 5;

impl Runner<'_> {
    pub(super) fn create_catalog(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        accents: bool,
        is_default: bool,
        owner: Option<&ast::Ident>,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if picture.full_text_catalog_named(name).is_some() {
            return Err(catalog_exists(name));
        }
        let catalog_id =
            picture.full_text_catalogs().map(|c| c.catalog_id + 1).max().unwrap_or(FIRST_CATALOG);
        let owner = self.full_text_owner(entry, owner)?;
        if is_default {
            self.no_default_catalog(entry)?;
        }
        let def = FullTextCatalogDef { catalog_id, name: name.to_owned(), accents, is_default, owner };
        self.put(entry, CatalogObject::FullTextCatalog(Arc::new(def)))
    }

    /// A catalog by name. Error 7641.
    pub(super) fn catalog_named(
        &self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
    ) -> Result<Arc<FullTextCatalogDef>> {
        let picture = self.info.picture(entry);
        let found = picture.full_text_catalog_named(name).cloned();
        found.ok_or_else(|| no_catalog(name, entry.name()))
    }

    fn no_default_catalog(&mut self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        let picture = self.info.picture(entry);
        for other in picture.full_text_catalogs().filter(|c| c.is_default) {
            let def = FullTextCatalogDef { is_default: false, ..(**other).clone() };
            self.put(entry, CatalogObject::FullTextCatalog(Arc::new(def)))?;
        }
        Ok(())
    }

    pub(super) fn alter_catalog(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        change: CatalogChange,
    ) -> Result<()> {
        let catalog = self.catalog_named(entry, name)?;
        let id = catalog.catalog_id;
        match change {
            CatalogChange::AsDefault => {
                self.no_default_catalog(entry)?;
                let def = FullTextCatalogDef { is_default: true, ..(*catalog).clone() };
                self.put(entry, CatalogObject::FullTextCatalog(Arc::new(def)))
            }
            CatalogChange::Rebuild(accents) => {
                let accents = accents.unwrap_or(catalog.accents);
                let def = FullTextCatalogDef { accents, ..(*catalog).clone() };
                self.put(entry, CatalogObject::FullTextCatalog(Arc::new(def)))?;
                for table in self.lock_indexed(entry, |index| index.catalog_id == id)? {
                    let Some(index) = table.full_text.clone() else { continue };
                    self.restart(&table, FullTextDef { accents, ..index }, true)?;
                }
                Ok(())
            }
            CatalogChange::Reorganize => {
                for table in self.lock_indexed(entry, |index| index.catalog_id == id)? {
                    self.reorganize(&table)?;
                }
                Ok(())
            }
        }
    }

    fn reorganize(&mut self, table: &TableDef) -> Result<()> {
        let Some(index) = &table.full_text else { return Ok(()) };
        self.change_crawl(table, index, |crawl| {
            crawl.reorganizing = Some(Reorganizing::default());
        })
    }

    pub(super) fn drop_catalog(&mut self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let catalog = self.catalog_named(entry, name)?;
        let id = catalog.catalog_id;
        let uses = |t: &Arc<TableDef>| t.full_text.as_ref().is_some_and(|index| index.catalog_id == id);
        if self.info.picture(entry).stored().any(uses) {
            return Err(catalog_used(name));
        }
        if catalog.is_default {
            self.info.say(default_dropped(name));
        }
        self.change(entry, CatalogOp::Remove(CatalogKey { class: object_class::FULL_TEXT_CATALOG, id }))
    }
}
