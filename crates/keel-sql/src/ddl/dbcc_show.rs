//! DBCC commands that show what the instance knows: statistics, the log's files, caches, space.

use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::Program;
use crate::run::{Frame, Runner};
use crate::views::{self, BIG, INT, NAME, NULL, SMALL, TEXT, int, text};
use keel_parser::ast;
use keel_query::catalog::{IndexDef, TableDef};
use keel_query::stats::{ColumnStatistics, TableStatistics};
use keel_types::error::Result;
use keel_types::{Decimal, Length, SqlError, SqlType, Value};
use std::sync::Arc;

const WORDS: SqlType = SqlType::NVarChar(Length::Limited(256));

/// What `DBCC HELP` says of each command.
const SYNTAX: &[(&str, &str)] = &[
    ("CHECKALLOC", "dbcc CHECKALLOC [ ( 'database_name' | database_id ) ] [ WITH { [ NO_INFOMSGS ] } ]"),
    ("CHECKCATALOG", "dbcc CHECKCATALOG [ ( 'database_name' | database_id ) ] [ WITH NO_INFOMSGS ]"),
    ("CHECKDB", "dbcc CHECKDB [ ( 'database_name' | database_id ) ] [ WITH { [ NO_INFOMSGS ] } ]"),
    (
        "CHECKIDENT",
        "dbcc CHECKIDENT ( 'table_name' [ , { NORESEED | { RESEED [ , new_reseed_value ] } } ] ) [ WITH NO_INFOMSGS ]",
    ),
    ("CHECKTABLE", "dbcc CHECKTABLE ( 'table_name' | 'view_name' ) [ WITH { [ NO_INFOMSGS ] } ]"),
    ("DBINFO", "dbcc DBINFO [ ( 'database_name' ) ] [ WITH TABLERESULTS ]"),
    ("DROPCLEANBUFFERS", "dbcc DROPCLEANBUFFERS [ WITH NO_INFOMSGS ]"),
    ("FREEPROCCACHE", "dbcc FREEPROCCACHE [ WITH NO_INFOMSGS ]"),
    ("HELP", "dbcc HELP ( 'dbcc_statement' | @dbcc_statement_var | '?' ) [ WITH NO_INFOMSGS ]"),
    ("INPUTBUFFER", "dbcc INPUTBUFFER ( session_id ) [ WITH NO_INFOMSGS ]"),
    ("LOGINFO", "dbcc LOGINFO [ ( 'database_name' | database_id ) ]"),
    ("MEMORYSTATUS", "dbcc MEMORYSTATUS"),
    ("OPENTRAN", "dbcc OPENTRAN [ WITH NO_INFOMSGS ]"),
    ("PROCCACHE", "dbcc PROCCACHE [ WITH NO_INFOMSGS ]"),
    (
        "SHOWCONTIG",
        "dbcc SHOWCONTIG [ ( table_name [ , index_name ] ) ] [ WITH { [ TABLERESULTS ] [ , ALL_INDEXES ] } ]",
    ),
    (
        "SHOW_STATISTICS",
        "dbcc SHOW_STATISTICS ( 'table_name' , target_name ) [ WITH { [ NO_INFOMSGS ] [ , STAT_HEADER ] [ , DENSITY_VECTOR ] [ , HISTOGRAM ] } ]",
    ),
    ("SQLPERF", "dbcc SQLPERF ( LOGSPACE ) [ WITH NO_INFOMSGS ]"),
    ("TRACEOFF", "dbcc TRACEOFF ( trace# [ ,...n ] [ , -1 ] ) [ WITH NO_INFOMSGS ]"),
    ("TRACEON", "dbcc TRACEON ( trace# [ ,...n ] [ , -1 ] ) [ WITH NO_INFOMSGS ]"),
    ("TRACESTATUS", "dbcc TRACESTATUS [ ( [ trace# [ ,...n ] ] [ , ] [ -1 ] ) ] [ WITH NO_INFOMSGS ]"),
    ("USEROPTIONS", "dbcc USEROPTIONS [ WITH NO_INFOMSGS ]"),
];

/// A name given as such, or as a string.
fn written_name(arg: &ast::Expr) -> Option<String> {
    match &arg.kind {
        ast::ExprKind::Literal(ast::Literal::String { value, .. }) => Some(value.to_string()),
        ast::ExprKind::Column(c) => Some(match &c.qualifier {
            Some(q) => format!("{q}.{}", c.name.text),
            None => c.name.text.to_string(),
        }),
        _ => None,
    }
}

fn has(d: &ast::Dbcc, option: &str) -> bool {
    d.options.iter().any(|o| o.name == option)
}

fn float(n: f64) -> Value {
    Value::Float(n)
}

impl Runner<'_> {
    /// The name in an argument: written, or the value of a variable.
    pub(super) fn dbcc_name(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        arg: Option<&ast::Expr>,
    ) -> Result<Option<String>> {
        let Some(arg) = arg else { return Ok(None) };
        match written_name(arg) {
            Some(name) => Ok(Some(name)),
            None => Ok(self.value(program, frame, arg, None)?.as_str().map(str::to_owned)),
        }
    }

    /// The table of the first argument, by name or id, and what it was called.
    pub(super) fn dbcc_table(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<(String, Arc<TableDef>)> {
        let number = match d.args.first().map(|a| &a.kind) {
            Some(ast::ExprKind::Literal(ast::Literal::Int(n))) => Some(*n),
            _ => None,
        };
        let name = match number {
            Some(id) => id.to_string(),
            None => self.dbcc_name(program, frame, d.args.first())?.unwrap_or_default(),
        };
        let found = match number {
            Some(id) => {
                let picture = self.info.picture(&self.info.current_database());
                picture.stored_by_id(id)
            }
            None if name.is_empty() => None,
            None => self.stored_object(program, &crate::run::procedure_name(&name)?),
        };
        let table = found.ok_or_else(|| errors::dbcc_no_object(&name))?;
        Ok((name, table))
    }

    /// The table of `(database, table, …)`.
    pub(super) fn dbcc_table_of_database(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<(String, Arc<TableDef>)> {
        let mut behind = d.clone();
        if behind.args.len() > 1 {
            behind.args.remove(0);
        }
        self.dbcc_table(program, frame, &behind)
    }

    /// `DBCC SHRINKFILE` and `SHRINKDATABASE`: a checkpoint, which gives free ends of the file back, and how large the file is then.
    pub(super) fn shrink(&mut self, program: &Arc<Program>, frame: &mut Frame, d: &ast::Dbcc) -> Result<()> {
        let entry = if d.command == "SHRINKDATABASE" {
            self.dbcc_database(program, frame, d)?
        } else {
            self.info.current_database()
        };
        entry.store.checkpoint().map_err(|e| crate::map::db_error(e, &entry.name()))?;
        let stats = entry.store.stats();
        let (pages, used) = (stats.data_pages, stats.data_pages.saturating_sub(stats.data_pages_free));
        let mut row = vec![int(i64::from(entry.id.0)), int(1), int(pages as i64), int(0)];
        row.extend([int(used as i64), int(used as i64)]);
        let columns = [
            ("DbId", SMALL),
            ("FileId", SqlType::Int),
            ("CurrentSize", SqlType::Int),
            ("MinimumSize", SqlType::Int),
            ("UsedPages", SqlType::Int),
            ("EstimatedPages", SqlType::Int),
        ];
        self.result_set(&columns, &[row])
    }

    /// The database of the first argument, by name or id; the current one without.
    fn dbcc_database(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<Arc<DatabaseEntry>> {
        let Some(arg) = d.args.first() else { return Ok(self.info.current_database()) };
        let value = match written_name(arg) {
            Some(name) => Value::str(name),
            None => self.value(program, frame, arg, None)?,
        };
        let found = match &value {
            Value::Int(0) => Some(self.info.current_database()),
            Value::Int(n) => self.info.engine.databases().into_iter().find(|d| i64::from(d.id.0) == *n),
            other => self.info.find_database(other.as_str().unwrap_or("")),
        };
        found.ok_or_else(|| errors::no_database(crate::convert::display(&value)))
    }

    /// The sample is of all rows and true values.
    fn may_see_statistics(&self, entry: &Arc<DatabaseEntry>, table: &TableDef, ids: &[i32]) -> Result<()> {
        if self.info.sees_all(entry, table, ids) {
            return Ok(());
        }
        let user = self.info.login();
        Err(errors::cannot_dbcc_object(user, "show_statistics", &table.name))
    }

    /// `DBCC SHOW_STATISTICS (table, target)`: the planner's sample, in the product's three parts. The target is an index,
    /// statistics or a column.
    pub(super) fn show_statistics(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<()> {
        let (_, table) = self.dbcc_table(program, frame, d)?;
        let target = self.dbcc_name(program, frame, d.args.get(1))?.unwrap_or_default();
        let index = table.indexes.iter().find(|i| !i.name.is_empty() && i.name.eq_ignore_ascii_case(&target));
        let made = table.statistics.iter().find(|s| s.name.eq_ignore_ascii_case(&target));
        let column = table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(&target));
        let ids: Vec<i32> = match (index, made, column) {
            (Some(index), ..) => index.key.iter().map(|k| k.column_id).collect(),
            (None, Some(made), _) => made.columns.clone(),
            (None, None, Some(column)) => vec![column.column_id],
            (None, None, None) => return Err(errors::no_statistics(&target)),
        };
        let entry = self.entry_of(table.database)?;
        self.may_see_statistics(&entry, &table, &ids)?;
        let known = self.info.engine.statistics_of(&entry, &table);
        if has(d, "STATS_STREAM") {
            // The sample in the product's stored form is what only the product can read.
            let columns =
                [("Stats_Stream", SqlType::VarBinary(Length::Max)), ("Rows", BIG), ("Data Pages", BIG)];
            return self.result_set(&columns, &[vec![NULL, int(known.rows as i64), NULL]]);
        }
        let parts = ["STAT_HEADER", "DENSITY_VECTOR", "HISTOGRAM"];
        let all = !parts.iter().any(|p| has(d, p));
        let shown = Shown { table: &table, index, ids: &ids, known: &known };
        if all || has(d, parts[0]) {
            self.statistics_header(&shown, &target)?;
        }
        if all || has(d, parts[1]) {
            let columns =
                [("All density", SqlType::Real), ("Average Length", SqlType::Real), ("Columns", TEXT)];
            self.result_set(&columns, &shown.densities())?;
        }
        if all || has(d, parts[2]) {
            let key = shown.leading().map_or(SqlType::Int, |(_, ty)| ty);
            let columns = [
                ("RANGE_HI_KEY", key),
                ("RANGE_ROWS", SqlType::Real),
                ("EQ_ROWS", SqlType::Real),
                ("DISTINCT_RANGE_ROWS", BIG),
                ("AVG_RANGE_ROWS", SqlType::Real),
            ];
            self.result_set(&columns, &shown.histogram())?;
        }
        Ok(())
    }

    fn statistics_header(&mut self, shown: &Shown<'_>, target: &str) -> Result<()> {
        let taken = crate::clock::unix_to_local_ticks(shown.known.taken_unix_nanos);
        let taken = keel_types::cast::to_text(&Value::DateTime(taken), SqlType::DateTime, 100)?;
        let (rows, sampled) = (int(shown.known.rows as i64), int(shown.known.sampled as i64));
        let leading = shown.leading();
        let steps = leading.map_or(0, |(c, _)| c.steps.len() as i64);
        let ranges = leading.map_or(0.0, |(c, _)| c.steps.iter().map(|s| s.range_distinct).sum());
        let density = if ranges > 0.0 { 1.0 / ranges } else { 0.0 };
        let is_text = leading.is_some_and(|(_, ty)| ty.is_string());
        let filter = shown.index.and_then(|i| i.filter.as_deref()).map_or(NULL, text);
        let name = shown.index.map_or(target, |i| i.name.as_str());
        let columns = [
            ("Name", NAME),
            ("Updated", SqlType::NVarChar(Length::Limited(20))),
            ("Rows", BIG),
            ("Rows Sampled", BIG),
            ("Steps", SMALL),
            ("Density", SqlType::Real),
            ("Average key length", SqlType::Real),
            ("String Index", SqlType::Char(3)),
            ("Filter Expression", TEXT),
            ("Unfiltered Rows", BIG),
            ("Persisted Sample Percent", SqlType::Float),
        ];
        let mut row = vec![text(name), text(taken), rows.clone(), sampled, int(steps), float(density)];
        row.extend([float(shown.average_bytes(shown.ids)), text(if is_text { "YES" } else { "NO " })]);
        row.extend([filter, rows, float(0.0)]);
        self.result_set(&columns, &[row])
    }

    /// `DBCC LOGINFO [(database)]`
    pub(super) fn log_info(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<()> {
        let entry = self.dbcc_database(program, frame, d)?;
        let rows: Vec<_> = views::vlfs(&entry)
            .iter()
            .map(|v| {
                let mut row = vec![int(0), int(2), int(v.bytes as i64), int(v.begin as i64)];
                row.extend([int(v.sequence as i64), int(v.status()), int(0)]);
                // When a file was made is not kept: where it begins is the nearest truth.
                row.push(Value::Decimal(Decimal::new(i128::from(v.first_lsn.0), 0)));
                row
            })
            .collect();
        let columns = [
            ("RecoveryUnitId", INT),
            ("FileId", INT),
            ("FileSize", BIG),
            ("StartOffset", BIG),
            ("FSeqNo", INT),
            ("Status", INT),
            ("Parity", SqlType::TinyInt),
            ("CreateLSN", SqlType::Numeric { precision: 25, scale: 0 }),
        ];
        self.result_set(&columns, &rows)
    }

    /// `DBCC PROCCACHE`: plans kept, plans in use, pages of their texts and instructions.
    pub(super) fn procedure_cache(&mut self) -> Result<()> {
        let programs = self.info.engine.programs.all();
        let running = programs.iter().filter(|p| Arc::strong_count(p) > 2);
        let pages = |bytes: usize| int(bytes.div_ceil(8192) as i64);
        let active: usize = running.clone().map(|p| p.kept_bytes()).sum();
        let used: usize = programs.iter().map(|p| p.kept_bytes()).sum();
        let count = int(programs.len() as i64);
        let row =
            vec![count.clone(), count, int(running.count() as i64), pages(used), pages(used), pages(active)];
        let columns = [
            ("num proc buffs", INT),
            ("num proc buffs used", INT),
            ("num proc buffs active", INT),
            ("proc cache size", INT),
            ("proc cache used", INT),
            ("proc cache active", INT),
        ];
        self.result_set(&columns, &[row])
    }

    /// `DBCC MEMORYSTATUS`: what is counted, in sections as the product has them.
    pub(super) fn memory_status(&mut self) -> Result<()> {
        let engine = Arc::clone(&self.info.engine);
        let instance = engine.instance();
        let cache = instance.page_cache().stats();
        let kb = |bytes: u64| int((bytes / 1024) as i64);
        let (delays, delay_nanos, refusals) = instance.pressure().counts();
        let (batches, modules) = engine.programs.len();
        let plans: usize = engine.programs.all().iter().map(|p| p.kept_bytes()).sum();
        let sections: [Section; 4] = [
            (
                "Memory Manager",
                "KB",
                vec![
                    ("Target Committed", kb(instance.memory_limit() as u64)),
                    ("Current Committed", kb(cache.bytes + instance.delta_bytes())),
                ],
            ),
            (
                "Buffer Pool",
                "Value",
                vec![
                    ("Database", int(cache.pages as i64)),
                    ("Target", int((cache.capacity_bytes / 8192) as i64)),
                    (
                        "Page Life Expectancy",
                        int(instance.page_cache().page_life_expectancy(instance.env().clock.now()) as i64),
                    ),
                ],
            ),
            (
                "Version Store",
                "Value",
                vec![
                    ("Kilobytes", kb(instance.delta_bytes())),
                    ("Writers Delayed", int(delays as i64)),
                    ("Writers Delayed (ms)", int((delay_nanos / 1_000_000) as i64)),
                    ("Writers Refused", int(refusals as i64)),
                ],
            ),
            (
                "Procedure Cache",
                "Value",
                vec![
                    ("TotalProcs", int((batches + modules) as i64)),
                    ("TotalPages", int(plans.div_ceil(8192) as i64)),
                ],
            ),
        ];
        for (title, unit, figures) in sections {
            let rows: Vec<_> = figures.into_iter().map(|(name, value)| vec![text(name), value]).collect();
            self.result_set(&[(title, WORDS), (unit, BIG)], &rows)?;
        }
        Ok(())
    }

    /// `DBCC SHOWCONTIG`: leaf pages as of the last checkpoint. Pages are written in key order, so a scan never jumps.
    pub(super) fn show_contiguity(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<()> {
        let entry = self.info.current_database();
        let tables = match d.args.first() {
            Some(_) => vec![self.dbcc_table(program, frame, d)?.1],
            None => self.info.picture(&entry).stored().cloned().collect(),
        };
        let target = self.dbcc_name(program, frame, d.args.get(1))?;
        let root = entry.store.store().base().root();
        let failed = |e: keel_store::base::BaseError| {
            SqlError::new(824, 24, 2, format!("Database '{}': {e}.", entry.name()))
        };
        let mut rows = Vec::new();
        for table in &tables {
            let wanted = |i: &&IndexDef| match &target {
                Some(name) => i.name.eq_ignore_ascii_case(name),
                None => i.index_id <= 1 || has(d, "ALL_INDEXES"),
            };
            let count = self.info.count_rows(table)?;
            for index in table.indexes.iter().filter(wanted) {
                let tree = index.tree.0;
                let (from, to) = (tree.to_be_bytes(), tree.wrapping_add(1).to_be_bytes());
                let pages = root.approximate_leaf_pages(&from, Some(&to)).map_err(failed)? as i64;
                if has(d, "TABLERESULTS") {
                    let mut row = vec![text(table.name.as_str()), int(table.object_id)];
                    row.extend([text(index.name.as_str()), int(index.index_id), int(0)]);
                    row.extend([int(pages), int(count), float(0.0)]);
                    rows.push(row);
                } else {
                    self.tell_contiguity(table, index, pages);
                }
            }
        }
        if !has(d, "TABLERESULTS") {
            return Ok(());
        }
        let columns = [
            ("ObjectName", WORDS),
            ("ObjectId", INT),
            ("IndexName", WORDS),
            ("IndexId", INT),
            ("Level", INT),
            ("Pages", BIG),
            ("Rows", BIG),
            ("LogicalFragmentation", SqlType::Float),
        ];
        self.result_set(&columns, &rows)
    }

    fn tell_contiguity(&mut self, table: &TableDef, index: &IndexDef, pages: i64) {
        let (name, id, index) = (&table.name, table.object_id, index.index_id);
        let level = if index <= 1 { "TABLE" } else { "LEAF" };
        for line in [
            format!("DBCC SHOWCONTIG scanning '{name}' table..."),
            format!("Table: '{name}' ({id}); index ID: {index}, database ID: {}", table.database.0),
            format!("{level} level scan performed."),
            format!("- Pages Scanned................................: {pages}"),
            "- Logical Scan Fragmentation ..................: 0.00%".to_owned(),
        ] {
            self.dbcc_message(&line);
        }
    }

    /// `DBCC DBINFO [(database)]`: the fields that exist here, in the rows of WITH TABLERESULTS.
    pub(super) fn database_info(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<()> {
        let entry = self.dbcc_database(program, frame, d)?;
        let picture = entry.picture();
        let settings = picture.settings();
        let positions = entry.store.positions();
        let position = |lsn: keel_base::Lsn| {
            let n = lsn.0;
            format!("{}:{}:{}", n >> 36, (n >> 9) & 0x7ff_ffff, n & 0x1ff)
        };
        let created = keel_types::cast::to_text(&Value::DateTime(settings.created), SqlType::DateTime, 121)?;
        let fields = [
            ("dbi_dbid", entry.id.0.to_string()),
            ("dbi_dbname", entry.name().to_string()),
            ("dbi_cmptlevel", settings.compatibility.to_string()),
            ("dbi_crdate", created.to_string()),
            ("dbi_checkptLSN", position(positions.checkpoint)),
            ("dbi_collation", settings.collation.clone()),
        ];
        let rows: Vec<_> = fields
            .into_iter()
            .map(|(field, value)| vec![text("DBINFO STRUCTURE:"), text("DBINFO"), text(field), text(value)])
            .collect();
        let columns = [("ParentObject", WORDS), ("Object", WORDS), ("Field", WORDS), ("VALUE", WORDS)];
        self.result_set(&columns, &rows)
    }

    /// `DBCC HELP ('command' | '?')`
    pub(super) fn dbcc_help(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
    ) -> Result<()> {
        let name = self.dbcc_name(program, frame, d.args.first())?.unwrap_or_default();
        if name == "?" {
            for (command, _) in SYNTAX {
                self.dbcc_message(command);
            }
            return Ok(());
        }
        let found = SYNTAX.iter().find(|(command, _)| command.eq_ignore_ascii_case(&name));
        let (_, syntax) = found.ok_or_else(|| {
            SqlError::new(8987, 16, 3, format!("No help available for DBCC statement '{name}'."))
        })?;
        self.dbcc_message(syntax);
        Ok(())
    }
}

/// Title, unit and figures of a part of `DBCC MEMORYSTATUS`.
type Section = (&'static str, &'static str, Vec<(&'static str, Value)>);

/// The statistics of one target.
struct Shown<'a> {
    table: &'a TableDef,
    index: Option<&'a IndexDef>,
    /// Ids of its columns, in order.
    ids: &'a [i32],
    known: &'a TableStatistics,
}

impl<'a> Shown<'a> {
    fn column(&self, id: i32) -> Option<(&'a ColumnStatistics, SqlType)> {
        let at = self.table.column_index(id)?;
        Some((self.known.columns.get(at)?, self.table.columns[at].ty))
    }

    /// Of the first column.
    fn leading(&self) -> Option<(&'a ColumnStatistics, SqlType)> {
        self.column(*self.ids.first()?)
    }

    fn average_bytes(&self, ids: &[i32]) -> f64 {
        ids.iter().filter_map(|id| self.column(*id)).map(|(c, _)| c.average_bytes).sum()
    }

    /// One row per prefix of the columns, those of the clustered index behind them. What several columns have together is
    /// what the planner takes it for: sampled for keys and statistics, for others the product of their distinct values, at
    /// most the number of rows.
    fn densities(&self) -> Vec<Vec<Value>> {
        let mut ids = self.ids.to_vec();
        if self.index.is_some() {
            let clustered = self.table.clustered().key.iter().map(|k| k.column_id);
            ids.extend(clustered.filter(|id| !self.ids.contains(id)));
        }
        let mut rows = Vec::new();
        let mut distinct = 1.0;
        for n in 1..=ids.len() {
            let Some((column, _)) = self.column(ids[n - 1]) else { break };
            let together = self.known.together(&ids[..n]).filter(|p| p.columns.len() == n);
            let most = self.known.rows.max(1.0);
            distinct = together.map_or(distinct * column.distinct, |p| p.distinct).clamp(1.0, most);
            let name = |id: &i32| self.table.column_index(*id).map(|at| self.table.columns[at].name.as_str());
            let names: Vec<_> = ids[..n].iter().filter_map(name).collect();
            let length = self.average_bytes(&ids[..n]);
            rows.push(vec![float(1.0 / distinct), float(length), text(names.join(", "))]);
        }
        rows
    }

    fn histogram(&self) -> Vec<Vec<Value>> {
        let Some((column, _)) = self.leading() else { return Vec::new() };
        let row = |s: &keel_query::stats::Step| {
            let average = if s.range_distinct > 0.0 { s.range_rows / s.range_distinct } else { 1.0 };
            let mut row = vec![s.high.clone(), float(s.range_rows), float(s.equal_rows)];
            row.extend([int(s.range_distinct as i64), float(average)]);
            row
        };
        column.steps.iter().map(row).collect()
    }
}
