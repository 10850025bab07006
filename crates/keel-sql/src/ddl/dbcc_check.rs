//! DBCC CHECKDB, CHECKTABLE and CHECKCONSTRAINTS: whether what is stored is what should be.

use super::alter::mentions_column;
use super::storage::{self, Rows};
use crate::catalog::Picture;
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::{Guards, Program};
use crate::run::{Frame, Halt, Runner};
use crate::session::scope::Scope;
use keel_node::{Isolation, ReadView};
use keel_parser::ast;
use keel_parser::to_text::quote_name;
use keel_query::RowBuffer;
use keel_query::catalog::{Catalog as _, TableDef};
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

/// Rows that CHECKCONSTRAINTS shows of each constraint, unless it is asked for all.
const SHOWN_ROWS: u32 = 200;

impl Runner<'_> {
    /// CHECKDB: the database's files, and every table.
    pub(super) fn check_database(&mut self, d: &ast::Dbcc, quiet: bool) -> Result<()> {
        let entry = match d.args.first().map(|a| &a.kind) {
            Some(ast::ExprKind::Column(c)) => {
                self.info.find_database(&c.name.text).ok_or_else(|| errors::no_database(&c.name.text))?
            }
            Some(ast::ExprKind::Literal(ast::Literal::String { value, .. })) => {
                self.info.find_database(value).ok_or_else(|| errors::no_database(value))?
            }
            _ => self.info.current_database(),
        };
        let checked = entry.store.check().map_err(|e| crate::map::db_error(e, &entry.name()))?;
        let mut found = 0;
        for problem in checked.problems() {
            let text = format!("Database error: Database '{}', {problem}.", entry.name());
            self.report(&SqlError::new(8939, 16, 98, text));
            found += 1;
        }
        let (picture, view) = self.seen_catalog(&entry)?;
        for table in picture.stored() {
            found += self.tell_of_table(&entry, table, &view, quiet)?;
        }
        if !quiet || found > 0 {
            let text = format!(
                "CHECKDB found 0 allocation errors and {found} consistency errors in database '{}'.",
                entry.name()
            );
            self.report(&SqlError::new(8989, 10, 1, text));
        }
        Ok(())
    }

    /// CHECKTABLE
    pub(super) fn check_one_table(&mut self, table: &Arc<TableDef>, quiet: bool) -> Result<()> {
        let Some(entry) = self.info.engine.database_by_id(table.database) else { return Ok(()) };
        let (picture, view) = self.seen_catalog(&entry)?;
        let now = picture.stored_by_id(table.object_id);
        let found = self.tell_of_table(&entry, now.as_ref().unwrap_or(table), &view, quiet)?;
        if found > 0 {
            let text = format!(
                "CHECKTABLE found 0 allocation errors and {found} consistency errors in table '{}'.",
                table.name
            );
            self.report(&SqlError::new(8990, 10, 1, text));
        }
        Ok(())
    }

    /// A database's catalog and a view of the rows that it tells of: what others do meanwhile is not taken for damage.
    fn seen_catalog(&mut self, entry: &Arc<DatabaseEntry>) -> Result<(Arc<Picture>, ReadView)> {
        loop {
            let version = self.info.catalog_version(entry.id);
            let picture = self.info.picture(entry);
            let view = self.txns_dyn().transaction(entry.id)?.view_as(Isolation::ReadCommitted);
            if self.info.catalog_version(entry.id) == version {
                return Ok((picture, view));
            }
        }
    }

    /// Checks a table and says what it has, and what is wrong with it; how much that is.
    fn tell_of_table(
        &mut self,
        entry: &DatabaseEntry,
        table: &Arc<TableDef>,
        view: &ReadView,
        quiet: bool,
    ) -> Result<usize> {
        let (rows, problems) = self.check_table(table, view)?;
        if !quiet {
            // Pages as of the last checkpoint: rows since then are in memory and in the log.
            let tree = table.indexes[0].tree.0;
            let (from, to) = (tree.to_be_bytes(), tree.wrapping_add(1).to_be_bytes());
            let root = entry.store.store().base().root();
            let pages = root
                .approximate_leaf_pages(&from, Some(&to))
                .map_err(|e| SqlError::new(824, 24, 2, format!("Database '{}': {e}.", entry.name())))?;
            let text = format!("There are {rows} rows in {pages} pages for object \"{}\".", table.name);
            self.report(&SqlError::new(2593, 10, 1, text));
        }
        let mut problems: Vec<(i32, String)> = problems.into_iter().map(|p| (8951, p)).collect();
        problems.extend(self.check_view(entry, table)?);
        for (number, problem) in &problems {
            self.report(&SqlError::new(*number, 16, 1, problem.clone()));
        }
        Ok(problems.len())
    }

    /// Of an indexed view: whether its rows are those of its query. Errors 8907 and 8908.
    fn check_view(&mut self, entry: &DatabaseEntry, rows: &TableDef) -> Result<Vec<(i32, String)>> {
        let mut problems = Vec::new();
        if rows.view_of.is_empty() || rows.clustered().disabled {
            return Ok(problems);
        }
        let schema = self.info.picture(&self.entry_of(entry.id)?).schema_name(rows.schema_id);
        let name = format!("{}.{}", quote_name(&schema.unwrap_or_default()), quote_name(&rows.name));
        let columns: Vec<String> = rows.columns.iter().map(|c| quote_name(&c.name)).collect();
        let columns = columns.join(", ");
        let (stored, asked) = (format!("{name} with (noexpand)"), name);
        let checks = [
            (8907, &stored, &asked, "contains rows that were not produced by the view definition"),
            (8908, &asked, &stored, "does not contain all rows that the view definition produces"),
        ];
        for (number, more, less, text) in checks {
            let query = format!(
                "select top (1) 1 from (select {columns} from {more} except select {columns} from {less}) as [$d] option (expand views)"
            );
            if self.finds_row(entry, &query)? {
                problems.push((number, format!(
                    "The spatial index, XML index or indexed view '{}' (object ID {}) {text}. This does not necessarily represent an integrity issue with the data in this database.",
                    rows.name, rows.object_id
                )));
            }
        }
        Ok(problems)
    }

    fn finds_row(&mut self, entry: &DatabaseEntry, query: &str) -> Result<bool> {
        let batch = keel_parser::parse_batch(query, keel_parser::ParseOptions::default());
        let statement = batch.map_err(crate::run::parse_error)?.statements.remove(0);
        let ast::StatementKind::Select(select) = statement.kind else { return Ok(false) };
        let plan = loop {
            let scope = Scope::bare(self.info, entry.id);
            let plan = keel_query::compile_select(&scope, &select)?;
            let dependencies = scope.found.take();
            if self.keeps(&Guards::of(&dependencies, &[]), &dependencies)? {
                break plan;
            }
        };
        let mut found = RowBuffer::default();
        let run = plan.run(&mut self.context_with(&mut []), &mut found);
        self.leave_views();
        run?;
        Ok(!found.rows.is_empty())
    }

    /// Reads every row of a table and every entry of its indexes, and compares their numbers.
    fn check_table(&mut self, table: &Arc<TableDef>, view: &ReadView) -> Result<(u64, Vec<String>)> {
        let info = self.info;
        let indexes: Vec<_> = table.indexes.iter().skip(1).filter(|i| !i.disabled).collect();
        let mut expected = Vec::with_capacity(indexes.len());
        for index in &indexes {
            let filter = index.filter.as_ref().map(|text| self.row_condition(table, text)).transpose()?;
            expected.push((filter, 0u64));
        }
        let mut rows = 0u64;
        let mut problems = Vec::new();
        let mut stored =
            Rows::seen(self.txns_dyn().transaction(table.database)?, view, table.indexes[0].tree)?;
        while let Some((_, bytes)) = stored.next(info)? {
            rows += 1;
            if !keel_store::row::validate(&bytes) {
                problems.push(format!("Table error: row {rows} of table '{}' cannot be read.", table.name));
                continue;
            }
            for (filter, count) in &mut expected {
                let inside = match filter {
                    Some(filter) => self.row_matches(filter, &storage::decode_row(table, &bytes))?,
                    None => true,
                };
                *count += u64::from(inside);
            }
        }
        for (index, (_, expected)) in indexes.into_iter().zip(expected) {
            let mut entries = 0u64;
            let mut stored = Rows::seen(self.txns_dyn().transaction(table.database)?, view, index.tree)?;
            while stored.next(info)?.is_some() {
                entries += 1;
            }
            if entries != expected {
                problems.push(format!(
                    "Table error: index '{}' of table '{}' has {entries} entries for {expected} rows.",
                    index.name, table.name
                ));
            }
        }
        Ok((rows, problems))
    }

    /// CHECKCONSTRAINTS: the rows that break a constraint of the database, of a table, or the one that is named. Constraints
    /// that are disabled are left out, unless all are asked for.
    pub(super) fn check_constraints(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<()> {
        let asked = |name: &str| d.options.iter().any(|o| o.name == name);
        let disabled_too = asked("ALL_CONSTRAINTS");
        let most = if asked("ALL_ERRORMSGS") { u32::MAX } else { SHOWN_ROWS };
        let picture = self.info.picture(&self.info.current_database());
        let (tables, wanted) = self.constrained_tables(program, frame, d)?;
        let mut text = SHOW_FOUND_BEGIN.to_owned();
        for table in &tables {
            let schema = picture.schema_name(table.schema_id).unwrap_or_default();
            let full = format!("{}.{}", quote_name(&schema), quote_name(&table.name));
            for rule in self.rules(table) {
                let is_wanted = match &wanted {
                    Some(name) => rule.name.eq_ignore_ascii_case(name),
                    None => !rule.disabled || disabled_too,
                };
                if is_wanted {
                    text += &format!(
                        "insert @found select top ({most}) {}, {}, {} from {full} as [$t] where {}\n",
                        literal(&full),
                        literal(&quote_name(&rule.name)),
                        shown_values(&rule.columns),
                        rule.broken
                    );
                }
            }
        }
        text += SHOW_FOUND_END;
        match self.run_dynamic(text.into(), "".into(), &[], &[]) {
            Ok(_) => Ok(()),
            Err(Halt::Raised(e)) => Err(e),
            // What ended it has been told.
            Err(Halt::Batch) => Err(errors::cancelled()),
        }
    }

    /// The tables whose constraints are meant, and the constraint, if one is named.
    fn constrained_tables(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<(Vec<Arc<TableDef>>, Option<String>)> {
        let picture = self.info.picture(&self.info.current_database());
        if d.args.is_empty() {
            return Ok((picture.tables().cloned().collect(), None));
        }
        let missing = match self.dbcc_table(program, frame, d) {
            Ok((_, table)) => return Ok((vec![table], None)),
            Err(e) => e,
        };
        let name = self.dbcc_name(program, frame, d.args.first())?.unwrap_or_default();
        let name = name.rsplit('.').next().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let owns = |t: &&Arc<TableDef>| {
            let checks = t.checks.iter().map(|c| &c.name);
            checks.chain(t.foreign_keys.iter().map(|k| &k.name)).any(|c| c.eq_ignore_ascii_case(&name))
        };
        let table = picture.tables().find(owns).cloned().ok_or(missing)?;
        Ok((vec![table], Some(name)))
    }

    /// The CHECK and FOREIGN KEY constraints of a table.
    fn rules(&self, table: &TableDef) -> Vec<Rule> {
        let checks = table.checks.iter().map(|check| {
            let columns = table.columns.iter().filter(|c| mentions_column(&check.text, &c.name));
            Rule {
                name: check.name.clone(),
                disabled: check.disabled,
                columns: columns.map(|c| quote_name(&c.name)).collect(),
                broken: format!("not ({})", check.text),
            }
        });
        let keys = table.foreign_keys.iter().filter_map(|key| {
            let parent = self.info.table_by_id(table.database, key.referenced_table)?;
            let entry = self.info.engine.database_by_id(table.database)?;
            let schema = self.info.picture(&entry).schema_name(parent.schema_id)?;
            let columns: Vec<String> = key.columns.iter().map(|id| quoted_column(table, *id)).collect();
            let given: Vec<String> = columns.iter().map(|c| format!("[$t].{c} is not null")).collect();
            let parents = key.referenced_columns.iter().map(|id| quoted_column(&parent, *id));
            let same: Vec<String> =
                columns.iter().zip(parents).map(|(c, p)| format!("[$p].{p} = [$t].{c}")).collect();
            let broken = format!(
                "{} and not exists (select 1 from {}.{} as [$p] where {})",
                given.join(" and "),
                quote_name(&schema),
                quote_name(&parent.name),
                same.join(" and ")
            );
            Some(Rule { name: key.name.clone(), disabled: key.disabled, columns, broken })
        });
        checks.chain(keys).collect()
    }
}

const SHOW_FOUND_BEGIN: &str = "set nocount on
declare @found table ([Table] nvarchar(517), [Constraint] nvarchar(258), [Where] nvarchar(max))
";
const SHOW_FOUND_END: &str =
    "if exists (select 1 from @found) select [Table], [Constraint], [Where] from @found";

/// A constraint: its name, quoted columns, and the condition of the rows that break it.
struct Rule {
    name: String,
    disabled: bool,
    columns: Vec<String>,
    broken: String,
}

fn quoted_column(table: &TableDef, id: i32) -> String {
    table.columns.iter().find(|c| c.column_id == id).map_or_else(String::new, |c| quote_name(&c.name))
}

/// An expression for `[a] = '1' AND [b] IS NULL` of these columns.
fn shown_values(columns: &[String]) -> String {
    let one = |c: &String| {
        let name = c.replace('\'', "''");
        let value = format!("N'{name} = ''' + convert(nvarchar(4000), [$t].{c}) + N''''");
        format!("isnull({value}, N'{name} IS NULL')")
    };
    match columns {
        [] => "N''".to_owned(),
        columns => columns.iter().map(one).collect::<Vec<_>>().join(" + N' AND ' + "),
    }
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}
