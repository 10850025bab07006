//! CREATE, UPDATE and DROP STATISTICS, `sp_autostats`.
//!
//! Every column of a table is sampled when a plan first asks, and the columns of a key together. CREATE STATISTICS adds columns
//! that are to be known together; its definition lives in the table's. What a sample says is kept in memory, made again when a
//! table has grown or shrunk by a quarter (unless that is switched off) and by UPDATE STATISTICS at once.

use crate::catalog::fold;
use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use keel_parser::ast;
use keel_query::catalog::{StatisticsDef, TableDef};
use keel_query::stats::SampleSize;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// The table, locked. Error 2706 when there is none.
    fn table_for_statistics(&mut self, program: &Program, name: &ast::ObjectName) -> Result<Arc<TableDef>> {
        let missing = || errors::table_does_not_exist(&name.name);
        let table = self.stored_object(program, name).ok_or_else(missing)?;
        self.lock_schema(table.database, table.object_id)?;
        // Another session may have changed it while we waited.
        self.stored_object(program, name).ok_or_else(missing)
    }

    pub(super) fn create_statistics(&mut self, program: &Program, c: &ast::CreateStatistics) -> Result<()> {
        let table = self.table_for_statistics(program, &c.table)?;
        let taken = |name: &str| fold(name) == fold(&c.name.text);
        if table.indexes.iter().any(|i| taken(&i.name)) || table.statistics.iter().any(|s| taken(&s.name)) {
            return Err(errors::statistics_exist(&c.table, &c.name.text));
        }
        let mut columns: Vec<i32> = Vec::new();
        for name in &c.columns {
            let found = table.columns.iter().find(|o| fold(&o.name) == fold(&name.text));
            let column = found.ok_or_else(|| errors::no_column_in_table(&name.text))?;
            if columns.contains(&column.column_id) {
                return Err(errors::duplicate_in_statistics(&name.text));
            }
            if column.ty.is_large() {
                return Err(errors::column_not_for_statistics(&name.text, &c.table));
            }
            crate::column_keys::column::refuse_randomized_key(&table, column)?;
            columns.push(column.column_id);
        }
        let mut table = (*table).clone();
        table.statistics.push(StatisticsDef {
            stats_id: table.next_index_id(),
            name: c.name.text.to_string(),
            columns,
            filter: c.filter.as_ref().map(keel_parser::to_text::stored_text),
            no_recompute: c.options.iter().any(|o| o.name == "NORECOMPUTE"),
        });
        let table = self.replace_table(table)?;
        self.refresh_statistics(&table, &c.options)
    }

    /// `DROP STATISTICS table.name`
    pub(super) fn drop_statistics(&mut self, program: &Program, name: &ast::ObjectName) -> Result<()> {
        let missing = || errors::cannot_drop_missing("statistics", name);
        let (of, statistics) = table_and_statistics(name).ok_or_else(missing)?;
        let table = self.stored_object(program, &of).ok_or_else(missing)?;
        self.lock_schema(table.database, table.object_id)?;
        let mut table = (*self.stored_object(program, &of).ok_or_else(missing)?).clone();
        if table.indexes.iter().any(|i| fold(&i.name) == fold(&statistics.text)) {
            return Err(errors::statistics_of_index(&statistics.text));
        }
        let before = table.statistics.len();
        table.statistics.retain(|s| fold(&s.name) != fold(&statistics.text));
        if table.statistics.len() == before {
            return Err(missing());
        }
        self.replace_table(table).map(|_| ())
    }

    /// `UPDATE STATISTICS table [name | (names)] [WITH FULLSCAN | SAMPLE n PERCENT | SAMPLE n ROWS]`: the table is sampled now, for
    /// all its statistics, and the plans of its database are made anew.
    pub(super) fn update_statistics(&mut self, program: &Program, u: &ast::UpdateStatistics) -> Result<()> {
        let missing = || errors::table_does_not_exist(&u.table.name);
        let table = self.stored_object(program, &u.table).ok_or_else(missing)?;
        for name in &u.names {
            let is = |other: &str| fold(other) == fold(&name.text);
            let known = table.indexes.iter().any(|i| is(&i.name))
                || table.statistics.iter().any(|s| is(&s.name))
                || table.columns.iter().any(|c| is(&c.name));
            if !known {
                return Err(errors::no_statistics(&name.text));
            }
        }
        self.refresh_statistics(&table, &u.options)?;
        self.info.engine.programs.forget(table.database);
        Ok(())
    }

    fn refresh_statistics(&self, table: &TableDef, options: &[ast::Opt]) -> Result<()> {
        let size = sample_size(options)?;
        let entry = self.entry_of(table.database)?;
        self.info.engine.statistics.refresh(&entry.store, table, size, entry.usage.changes(table));
        Ok(())
    }

    /// `sp_autostats table, 'ON' | 'OFF'`
    pub(crate) fn set_automatic_statistics(&mut self, table: &Arc<TableDef>, on: bool) -> Result<()> {
        self.lock_schema(table.database, table.object_id)?;
        let mut table = (**table).clone();
        table.no_auto_statistics = !on;
        self.replace_table(table).map(|_| ())
    }
}

/// `[schema.]table.statistics`, taken apart.
pub(crate) fn table_and_statistics(name: &ast::ObjectName) -> Option<(ast::ObjectName, ast::Ident)> {
    let mut of = name.clone();
    let table = of.schema.take()?;
    let statistics = std::mem::replace(&mut of.name, table);
    of.schema = of.database.take();
    of.database = of.server.take();
    Some((of, statistics))
}

/// How much of the table the options want looked at. Error 1039 for a sample that is none.
fn sample_size(options: &[ast::Opt]) -> Result<SampleSize> {
    if options.iter().any(|o| o.name == "FULLSCAN") {
        return Ok(SampleSize::Fraction(1.0));
    }
    let Some(sample) = options.iter().find(|o| o.name == "SAMPLE" || o.name.starts_with("SAMPLE ")) else {
        return Ok(SampleSize::Default);
    };
    let number = sample.value.number().unwrap_or(0);
    let wrong = || SqlError::new(1039, 16, 1, "Option 'SAMPLE' is specified more than once or out of range.");
    match &sample.value {
        ast::OptValue::Measure(_, unit) if unit.eq_ignore_ascii_case("ROWS") => {
            usize::try_from(number).map(SampleSize::Rows).map_err(|_| wrong())
        }
        _ if (0..=100).contains(&number) => Ok(SampleSize::Fraction(number as f64 / 100.0)),
        _ => Err(wrong()),
    }
}
