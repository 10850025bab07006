//! Names that stand for rows of the session's or of the statement's own: temporary tables, captured rows, those of a trigger.

use super::Scope;
use crate::catalog::{DBO, Named};
use crate::engine::TEMPDB;
use crate::program::captured::CAPTURED_ROWS;
use crate::views;
use keel_query::catalog::Catalog as _;
use keel_query::scope::ObjectRef;
use std::sync::Arc;

impl Scope<'_> {
    pub(super) fn temporary(&self, name: &str) -> Option<ObjectRef> {
        let table = if name.starts_with("##") {
            let tempdb = self.info.engine.database_by_id(TEMPDB)?;
            self.note_catalog(TEMPDB);
            let table = self.info.picture(&tempdb).table(DBO, name)?;
            self.note_object(TEMPDB, &Named::Table(Arc::clone(&table)));
            table
        } else {
            Arc::clone(self.info.temp.borrow().find(name)?)
        };
        self.note_temporary(name, self.info.temporary_version(name)?);
        Some(ObjectRef::Table(table))
    }

    pub(super) fn own_rows(&self, name: &str) -> Option<ObjectRef> {
        if name == CAPTURED_ROWS {
            self.found.borrow_mut().temporary.push((name.into(), 0));
            return views::captured(self.info).map(ObjectRef::Virtual);
        }
        if self.identity.kind == crate::program::ProgramKind::Trigger {
            if name.eq_ignore_ascii_case("inserted") {
                return views::trigger_rows(self.info, true).map(ObjectRef::Virtual);
            }
            if name.eq_ignore_ascii_case("deleted") {
                return views::trigger_rows(self.info, false).map(ObjectRef::Virtual);
            }
        }
        None
    }
}
