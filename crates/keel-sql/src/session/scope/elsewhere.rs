//! What synonyms stand for, and names of other servers.

use super::Scope;
use crate::catalog::{DBO, Named, Picture};
use crate::engine::DatabaseEntry;
use crate::linked::{self, columns::RemoteName};
use keel_parser::ast;
use keel_query::catalog::Catalog as _;
use keel_query::scope::{NameParts, RemoteRowset, VirtualTable};
use keel_types::error::Result;
use std::sync::Arc;

impl Scope<'_> {
    /// What a synonym stands for here; `None` for what other servers have.
    pub(super) fn follow(
        &self,
        entry: &Arc<DatabaseEntry>,
        picture: &Picture,
        target: &[String],
    ) -> Option<(Arc<DatabaseEntry>, Named)> {
        let part = |back: usize| {
            target.len().checked_sub(back).map(|i| target[i].as_str()).filter(|s| !s.is_empty())
        };
        let object = part(1)?;
        if part(4).is_some_and(|server| !self.info.is_own_server(server)) {
            return None;
        }
        let other = part(3).and_then(|d| self.database(d));
        let (entry, picture) = match other {
            Some(other) if other.id != entry.id => {
                let picture = self.info.picture(&other);
                (other, picture)
            }
            _ => (Arc::clone(entry), Arc::new(picture.clone())),
        };
        let schema = part(2).map_or(Some(DBO), |s| picture.schema_id(s))?;
        match picture.named(schema, object)? {
            Named::Synonym(_) => None,
            named => Some((entry, named)),
        }
    }

    /// What other servers have is good for a while only.
    pub(crate) fn note_remote(&self) {
        self.found.borrow_mut().remote =
            Some((self.info.engine.linked().version(), std::time::Instant::now()));
    }

    pub(super) fn table_elsewhere(&self, server: &str, name: NameParts<'_>) -> Result<Arc<dyn VirtualTable>> {
        self.note_remote();
        let own = |part: Option<&str>| part.filter(|p| !p.is_empty()).map(str::to_owned);
        let name = RemoteName {
            database: own(name.database),
            schema: own(name.schema),
            object: name.object.to_owned(),
        };
        let table = linked::bind::table(self.info, server, name)?;
        Ok(table)
    }

    pub(super) fn rows_elsewhere(&self, rowset: &RemoteRowset<'_>) -> Result<Arc<dyn VirtualTable>> {
        self.note_remote();
        linked::bind::rowset(self.info, rowset)
    }

    /// The rows of a file, which have these columns as long as its format file says the same.
    pub(super) fn rows_of_file(&self, file: &str, options: &[ast::Opt]) -> Result<Arc<dyn VirtualTable>> {
        let (table, format) = crate::session::bulk_file::bulk_rowset(self.info, file, options)?;
        self.found.borrow_mut().formats.extend(format);
        Ok(table)
    }

    /// The four parts of a synonym of something at another server.
    pub(super) fn synonym_elsewhere(&self, name: NameParts<'_>) -> Option<Vec<String>> {
        if name.object.starts_with('#') {
            return None;
        }
        match self.resolve_unfollowed(name) {
            Some((entry, Named::Synonym(synonym)))
                if synonym.target.len() == 4 && !self.info.is_own_server(&synonym.target[0]) =>
            {
                self.note_catalog(entry.id);
                Some(synonym.target.clone())
            }
            _ => None,
        }
    }
}
