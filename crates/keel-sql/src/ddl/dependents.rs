//! What depends on a column, so that it can be neither dropped nor given another type: errors 5074, one each, and 4922.

use super::alter::mentions_column;
use crate::errors;
use crate::run::Runner;
use keel_query::catalog::{Catalog as _, IndexDef, TableDef};
use keel_types::error::Result;

/// What is to become of the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// DROP COLUMN
    Dropped,
    /// ALTER COLUMN: another type or collation.
    Replaced,
    /// ALTER COLUMN: the same type with another length, precision or scale, which a default may keep.
    Resized,
    /// ALTER COLUMN: a type of varying length that takes more now, which indexes, checks and statistics may keep too.
    Widened,
}

impl Fate {
    fn statement(self) -> &'static str {
        if self == Fate::Dropped { "ALTER TABLE DROP COLUMN" } else { "ALTER TABLE ALTER COLUMN" }
    }
}

impl Runner<'_> {
    /// Errors 5074 and 4922 when something depends on the column at a position that does not go with its fate.
    pub(super) fn check_dependents(&mut self, table: &TableDef, at: usize, fate: Fate) -> Result<()> {
        let mut dependents = self.dependents(table, at, fate)?;
        dependents.extend(self.bound_to_column(table, at));
        self.refuse(dependents, &table.columns[at].name, fate)
    }

    /// The same for a column whose type stays: only what is bound to it objects.
    pub(super) fn check_bound(&mut self, table: &TableDef, at: usize) -> Result<()> {
        let bound = self.bound_to_column(table, at);
        self.refuse(bound, &table.columns[at].name, Fate::Widened)
    }

    fn refuse(&self, dependents: Vec<(&'static str, String)>, column: &str, fate: Fate) -> Result<()> {
        if dependents.is_empty() {
            return Ok(());
        }
        for (kind, dependent) in dependents {
            self.info.say(errors::column_dependency(kind, dependent, column));
        }
        Err(errors::alter_dependents(fate.statement(), column))
    }

    /// Modules WITH SCHEMABINDING that name the column.
    fn bound_to_column(&self, table: &TableDef, at: usize) -> Vec<(&'static str, String)> {
        let Some(entry) = self.info.engine.database_by_id(table.database) else { return Vec::new() };
        let mut bound = self.bound_to(&entry, table.object_id);
        bound.retain(|bound| bound.columns.contains(&table.columns[at].column_id));
        bound.into_iter().map(|bound| ("object", bound.module)).collect()
    }

    fn dependents(&mut self, table: &TableDef, at: usize, fate: Fate) -> Result<Vec<(&'static str, String)>> {
        let c = &table.columns[at];
        let mentions = |text: &str| mentions_column(text, &c.name);
        let mut all: Vec<(&'static str, String)> = Vec::new();
        if table.period_part(at).is_some() {
            all.push(("period", "SYSTEM_TIME".to_owned()));
        }
        if fate != Fate::Widened {
            let named =
                |i: &IndexDef| (if i.constraint_id != 0 { "object" } else { "index" }, i.name.clone());
            all.extend(table.indexes.iter().filter(|i| uses(i, c.column_id)).map(named));
            let stored = table.columnstores.iter().filter(|i| i.columns.contains(&c.column_id));
            all.extend(stored.map(|i| ("index", i.name.clone())));
            let content = table.content_indexes.iter().filter(|i| i.column == c.column_id);
            all.extend(content.map(|i| ("index", i.name.clone())));
        }
        all.extend(self.partitioned_on(table, c.column_id)?.map(|f| ("partition function", f)));
        if matches!(fate, Fate::Dropped | Fate::Replaced) {
            all.extend(c.default_constraint().map(|d| ("object", d.name.clone())));
            if let Some(entry) = self.info.engine.database_by_id(table.database) {
                let bound = super::bindable::bound_names(&self.info.picture(&entry), c);
                all.extend(bound.into_iter().map(|name| ("object", name)));
            }
        }
        if fate != Fate::Widened {
            let sampled = table.statistics.iter().filter(|s| s.columns.contains(&c.column_id));
            all.extend(sampled.map(|s| ("statistics", s.name.clone())));
            let checks = table.checks.iter().filter(|k| mentions(&k.text));
            all.extend(checks.map(|k| ("object", k.name.clone())));
        }
        all.extend(self.foreign_keys_of(table, c.column_id).into_iter().map(|name| ("object", name)));
        let computed =
            table.columns.iter().filter(|o| o.computed.as_ref().is_some_and(|e| mentions(&e.text)));
        all.extend(computed.map(|o| ("column", o.name.clone())));
        Ok(all)
    }

    /// Foreign keys that the column refers by, and those that refer to it.
    fn foreign_keys_of(&self, table: &TableDef, column: i32) -> Vec<String> {
        let own = table.foreign_keys.iter().filter(|k| k.columns.contains(&column)).map(|k| k.name.clone());
        let entry = self.info.engine.database_by_id(table.database);
        let others = entry.map(|entry| self.info.picture(&entry).referencing(table.object_id));
        let others = others.unwrap_or_default().into_iter().map(|(_, key)| key);
        own.chain(others.filter(|k| k.referenced_columns.contains(&column)).map(|k| k.name)).collect()
    }
}

fn uses(index: &IndexDef, column: i32) -> bool {
    index.key.iter().any(|k| k.column_id == column) || index.included.contains(&column)
}
