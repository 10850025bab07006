//! ALTER INDEX … DISABLE, and what goes out of use with an index: with the clustered one all others (message 3750) and the table
//! itself (error 8655 of those who read or write it), with a unique one the foreign keys that refer to it (message 1992).

use crate::errors;
use crate::run::Runner;
use keel_query::catalog::{Catalog as _, IndexDef, IndexKind, ObjectId, TableDef};
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// Takes an index of a changed definition out of use. The caller writes the definition.
    pub(super) fn disable_index(&mut self, table: &mut TableDef, at: usize) -> Result<()> {
        if table.indexes[at].disabled || table.indexes[at].kind == IndexKind::Heap {
            return Ok(());
        }
        self.let_go_of(table, at)?;
        if table.indexes[at].kind == IndexKind::Clustered {
            for other in 0..table.indexes.len() {
                if !table.indexes[other].disabled {
                    let kind = if table.view_of.is_empty() { "table" } else { "view" };
                    let message = errors::index_disabled_too(&table.indexes[other].name, kind, &table.name);
                    self.info.say(message);
                    self.let_go_of(table, other)?;
                }
            }
            self.disable_views_over(table, at)?;
        }
        Ok(())
    }

    /// Takes the indexes of the views over a table out of use: message 1998 of each clustered one.
    fn disable_views_over(&mut self, table: &TableDef, at: usize) -> Result<()> {
        let Some(entry) = self.info.engine.database_by_id(table.database) else { return Ok(()) };
        for view in self.info.picture(&entry).indexed_views(table.object_id) {
            let Some(rows) = view.rows.as_ref().filter(|rows| !rows.clustered().disabled) else { continue };
            self.lock_schema(rows.database, rows.object_id)?;
            let mut rows = (**rows).clone();
            rows.indexes.iter_mut().for_each(|index| index.disabled = true);
            let (own, index) = (&rows.clustered().name, &table.indexes[at].name);
            let message = errors::view_index_disabled_too(own, &rows.name, &table.name, index);
            self.info.say(message);
            self.replace_table(rows)?;
        }
        Ok(())
    }

    fn let_go_of(&mut self, table: &mut TableDef, at: usize) -> Result<()> {
        table.indexes[at].disabled = true;
        let index = table.indexes[at].clone();
        let Some(entry) = self.info.engine.database_by_id(table.database) else { return Ok(()) };
        let mut tables: Vec<Arc<TableDef>> =
            self.info.picture(&entry).referencing(table.object_id).into_iter().map(|(t, _)| t).collect();
        tables.dedup_by_key(|t| t.object_id);
        for referencing in tables {
            if referencing.object_id == table.object_id {
                let name = table.name.clone();
                self.disable_foreign_keys(table, table.object_id, &name, &index);
                continue;
            }
            self.lock_schema(referencing.database, referencing.object_id)?;
            let mut changed = (*referencing).clone();
            if self.disable_foreign_keys(&mut changed, table.object_id, &table.name, &index) {
                self.replace_table(changed)?;
            }
        }
        Ok(())
    }

    /// Whether any foreign key of a table rests on the index of the table referred to; they are disabled.
    fn disable_foreign_keys(
        &self,
        table: &mut TableDef,
        referenced: ObjectId,
        referenced_name: &str,
        index: &IndexDef,
    ) -> bool {
        let mut any = false;
        for key in &mut table.foreign_keys {
            let rests = key.referenced_table == referenced && index.is_key_over(&key.referenced_columns);
            if rests && !key.disabled {
                key.disabled = true;
                any = true;
                let message =
                    errors::foreign_key_disabled_too(&key.name, &table.name, referenced_name, &index.name);
                self.info.say(message);
            }
        }
        any
    }
}
