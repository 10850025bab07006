//! Stop lists. An index whose list changes is populated anew: its words are others.

use super::{missing, no_stopword, stoplist_used, stopword_exists, word_too_long};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_parser::ast::{self, StoplistChange, StoplistSource};
use keel_query::catalog::TableDef;
use keel_query::full_text::StoplistDef;
use keel_text::language::LANGUAGES;
use keel_text::words::WORD_MAX;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

/// First `stoplist_id`, as in the product.
const FIRST_STOPLIST: i32 = 5;

/// 15530
fn exists(name: &str) -> Box<SqlError> {
    SqlError::new(15530, 16, 1, format!("The fulltext stoplist with name \"{name}\" already exists."))
}

impl Runner<'_> {
    pub(super) fn create_stoplist(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        from: Option<&StoplistSource>,
        owner: Option<&ast::Ident>,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if picture.stoplist_named(name).is_some() {
            return Err(exists(name));
        }
        let words = match from {
            None => Vec::new(),
            Some(StoplistSource::System) => {
                let of = |l: &keel_text::language::Language| {
                    let lcid = l.lcid;
                    l.stop_words().into_iter().map(move |word| (lcid, word))
                };
                LANGUAGES.iter().flat_map(of).collect()
            }
            Some(StoplistSource::Named { database, name }) => {
                let source = match database {
                    Some(d) => {
                        let found = self.info.find_database(&d.text);
                        found.ok_or_else(|| errors::no_database(&d.text))?
                    }
                    None => Arc::clone(entry),
                };
                self.stoplist_named("find", &source, &name.text)?.words.clone()
            }
        };
        let stoplist_id = picture.stoplists().map(|s| s.stoplist_id + 1).max().unwrap_or(FIRST_STOPLIST);
        let (owner, now) = (self.full_text_owner(entry, owner)?, self.info.engine.now_local());
        let def =
            StoplistDef { stoplist_id, name: name.to_owned(), words, owner, created: now, modified: now };
        self.put(entry, CatalogObject::Stoplist(Arc::new(def)))
    }

    /// A stop list by name. Error 15151.
    pub(super) fn stoplist_named(
        &self,
        verb: &str,
        entry: &Arc<DatabaseEntry>,
        name: &str,
    ) -> Result<Arc<StoplistDef>> {
        let found = self.info.picture(entry).stoplist_named(name).cloned();
        found.ok_or_else(|| missing(verb, "fulltext stoplist", name))
    }

    pub(super) fn alter_stoplist(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        change: &StoplistChange,
    ) -> Result<()> {
        let mut def = (*self.stoplist_named("alter", entry, name)?).clone();
        match change {
            StoplistChange::Add { word, language } => {
                let lcid = self.lcid(program, frame, language)?;
                if word.chars().count() > WORD_MAX {
                    return Err(word_too_long(word));
                }
                let entry = (lcid, word.to_lowercase());
                match def.words.binary_search(&entry) {
                    Ok(_) => return Err(stopword_exists(name, word, lcid)),
                    Err(at) => def.words.insert(at, entry),
                }
            }
            StoplistChange::Drop { word, language } => {
                let lcid = self.lcid(program, frame, language)?;
                match def.words.binary_search(&(lcid, word.to_lowercase())) {
                    Ok(at) => drop(def.words.remove(at)),
                    Err(_) => return Err(no_stopword(name, word, lcid)),
                }
            }
            StoplistChange::DropAll(None) => def.words.clear(),
            StoplistChange::DropAll(Some(language)) => {
                let lcid = self.lcid(program, frame, language)?;
                def.words.retain(|(of, _)| *of != lcid);
            }
        }
        def.modified = self.info.engine.now_local();
        let id = def.stoplist_id;
        self.put(entry, CatalogObject::Stoplist(Arc::new(def)))?;
        for table in self.lock_indexed(entry, |index| index.stoplist == Some(id))? {
            let Some(index) = table.full_text.clone() else { continue };
            self.restart(&table, index, true)?;
        }
        Ok(())
    }

    pub(super) fn drop_stoplist(&mut self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let id = self.stoplist_named("drop", entry, name)?.stoplist_id;
        let uses = |t: &Arc<TableDef>| t.full_text.as_ref().is_some_and(|index| index.stoplist == Some(id));
        if self.info.picture(entry).stored().any(uses) {
            return Err(stoplist_used(name));
        }
        self.change(entry, CatalogOp::Remove(CatalogKey { class: object_class::STOPLIST, id }))
    }
}
