//! DBCC.

use crate::errors;
use crate::program::Program;
use crate::run::{Argument, Frame, Runner};
use crate::sink::{ColumnMeta, command};
use keel_parser::ast;
use keel_parser::to_text::quote_name;
use keel_query::IsolationLevel;
use keel_query::catalog::{Catalog as _, TableDef};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const DONE: &str =
    "DBCC execution completed. If DBCC printed error messages, contact your system administrator.";

impl Runner<'_> {
    pub(super) fn dbcc(&mut self, program: &Arc<Program>, frame: &mut Frame, d: &ast::Dbcc) -> Result<()> {
        let quiet = d.options.iter().any(|o| o.name == "NO_INFOMSGS");
        match d.command.as_str() {
            "CHECKDB" | "CHECKALLOC" | "CHECKCATALOG" | "CHECKFILEGROUP" => self.check_database(d, quiet)?,
            "CHECKTABLE" => {
                let (_, table) = self.dbcc_table(program, frame, d)?;
                self.check_one_table(&table, quiet)?;
            }
            "CHECKCONSTRAINTS" => self.check_constraints(program, frame, d)?,
            "SQLPERF" => self.sqlperf()?,
            "OPENTRAN" => self.oldest_transaction(),
            "INPUTBUFFER" => self.input_buffer(program, frame, d)?,
            "TRACEON" | "TRACEOFF" => {
                let on = d.command == "TRACEON";
                for arg in &d.args {
                    if let Value::Int(flag) = self.value(program, frame, arg, Some(SqlType::Int))?
                        && flag > 0
                    {
                        self.info.engine.set_trace_flag(flag as i32, on);
                    }
                }
            }
            "TRACESTATUS" => self.trace_status(program, frame, d)?,
            "CHECKIDENT" => return self.check_ident(program, frame, d, quiet),
            "FREEPROCCACHE" => self.info.engine.programs.clear(),
            "USEROPTIONS" => self.user_options()?,
            "FREESYSTEMCACHE" => self.info.engine.programs.clear(),
            // A checkpoint is what rewrites trees and gives free ends of files back: there is nothing else to do.
            "SHRINKDATABASE" | "SHRINKFILE" => self.shrink(program, frame, d)?,
            // Trees are rewritten by every checkpoint and their sizes are counted in place. The table must exist.
            "DBREINDEX" => drop(self.dbcc_table(program, frame, d)?),
            "CLEANTABLE" | "INDEXDEFRAG" => drop(self.dbcc_table_of_database(program, frame, d)?),
            // Nothing to drop or refresh: caches here are warm state only, and sizes are always right.
            "DROPCLEANBUFFERS" | "FREESESSIONCACHE" | "UPDATEUSAGE" | "FLUSHAUTHCACHE" => {}
            "ERRORLOG" => self.cycle_error_log()?,
            "SHOW_STATISTICS" => self.show_statistics(program, frame, d)?,
            "LOGINFO" => self.log_info(program, frame, d)?,
            "PROCCACHE" => self.procedure_cache()?,
            "MEMORYSTATUS" => self.memory_status()?,
            "SHOWCONTIG" => self.show_contiguity(program, frame, d)?,
            "DBINFO" => self.database_info(program, frame, d)?,
            "HELP" => self.dbcc_help(program, frame, d)?,
            "CLONEDATABASE" => self.clone_database(d)?,
            // Whoever asks wants a file: silence would read as an answer.
            "STACKDUMP" => return Err(errors::not_supported("DBCC STACKDUMP")),
            other => {
                return Err(SqlError::new(
                    2526,
                    16,
                    3,
                    format!(
                        "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options. '{other}'"
                    ),
                ));
            }
        }
        if !quiet {
            self.dbcc_message(DONE);
        }
        Ok(())
    }

    /// Begins a new error log, as a start of the server does.
    fn cycle_error_log(&mut self) -> Result<()> {
        if !self.info.identity_now().sysadmin {
            return Err(errors::cannot_dbcc(self.info.login(), "errorlog"));
        }
        let log = &self.info.engine.options().log;
        let failed = |e| SqlError::new(17049, 16, 1, format!("Unable to cycle error log file: {e}"));
        log.cycle().map_err(failed)?;
        log.write("The error log has been reinitialized. See the previous log for older entries.");
        Ok(())
    }

    pub(super) fn dbcc_message(&mut self, text: &str) {
        self.report(&SqlError::new(2528, 0, 1, text));
    }

    pub(crate) fn result_set(&mut self, columns: &[(&str, SqlType)], rows: &[Vec<Value>]) -> Result<()> {
        let columns: Vec<_> = columns.iter().map(|(n, ty)| ColumnMeta::new(*n, *ty)).collect();
        self.sink.columns(&columns);
        for row in rows {
            self.sink.row(row).map_err(|_| errors::cancelled())?;
        }
        self.done_statement(Some(rows.len() as u64), command::SELECT);
        Ok(())
    }

    /// Tells of the transaction that has been open longest among sessions whose current database is this one.
    fn oldest_transaction(&mut self) {
        let here = self.info.current_database();
        let sessions = self.info.engine.sessions.all();
        let oldest = sessions
            .iter()
            .filter(|s| s.transactions.load(Ordering::Relaxed) > 0)
            .filter(|s| s.database.load(Ordering::Relaxed) == here.id.0)
            .min_by_key(|s| s.transaction_began.load(Ordering::Relaxed));
        let Some(session) = oldest else { return self.dbcc_message("No active open transactions.") };
        let began = Value::DateTime(session.transaction_began.load(Ordering::Relaxed));
        let began = keel_types::cast::to_text(&began, SqlType::DateTime, 109);
        let text = format!(
            "Transaction information for database '{}'.\n\nOldest active transaction:\n    SPID (server process ID): {}\n    \
             Name          : user_transaction\n    Start time    : {}",
            here.name(),
            session.id,
            began.unwrap_or_default()
        );
        self.dbcc_message(&text);
    }

    fn sqlperf(&mut self) -> Result<()> {
        let rows: Vec<Vec<Value>> = self
            .info
            .engine
            .databases()
            .iter()
            .map(|e| {
                let stats = e.store.stats();
                let (size, used) = (stats.log_file_bytes as f64, stats.log_used_bytes as f64);
                let percent = if size == 0.0 { 0.0 } else { 100.0 * used / size };
                vec![
                    Value::str(&*e.name()),
                    Value::Float(size / 1_048_576.0),
                    Value::Float(percent),
                    Value::Int(0),
                ]
            })
            .collect();
        let columns = [
            ("Database Name", SqlType::SYSNAME),
            ("Log Size (MB)", SqlType::Real),
            ("Log Space Used (%)", SqlType::Real),
            ("Status", SqlType::Int),
        ];
        self.result_set(&columns, &rows)
    }

    fn input_buffer(&mut self, program: &Arc<Program>, frame: &mut Frame, d: &ast::Dbcc) -> Result<()> {
        let id = match d.args.first() {
            Some(arg) => self.value(program, frame, arg, Some(SqlType::Int))?,
            None => Value::Int(i64::from(self.info.shared.id)),
        };
        let session = match id {
            Value::Int(n) => u32::try_from(n).ok().and_then(|n| self.info.engine.sessions.get(n)),
            _ => None,
        };
        let Some(session) = session else {
            return Err(SqlError::new(7955, 16, 2, "Invalid SPID specified."));
        };
        let text = session.shown_text();
        let columns = [
            ("EventType", SqlType::NVarChar(Length::Limited(30))),
            ("Parameters", SqlType::SmallInt),
            ("EventInfo", SqlType::NVarChar(Length::Limited(4000))),
        ];
        self.result_set(&columns, &[vec![Value::str("Language Event"), Value::Int(0), Value::str(text)]])
    }

    /// DBCC TRACESTATUS: of the flags that it names, or of all that are set; no result when there are none.
    fn trace_status(&mut self, program: &Arc<Program>, frame: &mut Frame, d: &ast::Dbcc) -> Result<()> {
        let set = self.info.engine.trace_flags();
        let mut flags = Vec::new();
        for arg in &d.args {
            match self.value(program, frame, arg, Some(SqlType::Int))? {
                Value::Int(flag) if flag > 0 => flags.push(flag as i32),
                _ => {}
            }
        }
        if flags.is_empty() {
            flags.clone_from(&set);
        }
        if flags.is_empty() {
            return Ok(());
        }
        let row = |f: &i32| {
            let on = Value::Int(i64::from(set.contains(f)));
            vec![Value::Int(i64::from(*f)), on.clone(), on, Value::Int(0)]
        };
        let rows: Vec<_> = flags.iter().map(row).collect();
        let columns = [
            ("TraceFlag", SqlType::Int),
            ("Status", SqlType::SmallInt),
            ("Global", SqlType::SmallInt),
            ("Session", SqlType::SmallInt),
        ];
        self.result_set(&columns, &rows)
    }

    fn user_options(&mut self) -> Result<()> {
        use crate::session::options::Switches;
        let options = self.info.options.borrow().clone();
        let mut rows = vec![
            vec![Value::str("textsize"), Value::str(options.text_size.to_string())],
            vec![Value::str("language"), Value::str(options.dates.language.name)],
            vec![Value::str("dateformat"), Value::str(options.dates.order.name())],
            vec![Value::str("datefirst"), Value::str(options.date_first.to_string())],
            vec![Value::str("lock_timeout"), Value::str(options.lock_timeout_ms.to_string())],
        ];
        for (name, switch) in [
            ("quoted_identifier", Switches::QUOTED_IDENTIFIER),
            ("arithabort", Switches::ARITHABORT),
            ("nocount", Switches::NOCOUNT),
            ("xact_abort", Switches::XACT_ABORT),
            ("ansi_null_dflt_on", Switches::NULL_DEFAULT_ON),
            ("ansi_warnings", Switches::ANSI_WARNINGS),
            ("ansi_padding", Switches::ANSI_PADDING),
            ("ansi_nulls", Switches::ANSI_NULLS),
            ("concat_null_yields_null", Switches::CONCAT_NULL),
        ] {
            if options.on(switch) {
                rows.push(vec![Value::str(name), Value::str("SET")]);
            }
        }
        let by_versions = self.info.current_database().picture().settings().read_committed_snapshot;
        let level = match options.isolation {
            IsolationLevel::ReadCommitted if by_versions => "read committed snapshot",
            level => crate::functions::isolation_name(level),
        };
        rows.push(vec![Value::str("isolation level"), Value::str(level)]);
        let columns = [("Set Option", SqlType::SYSNAME), ("Value", SqlType::SYSNAME)];
        self.result_set(&columns, &rows)
    }

    fn check_ident(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        d: &ast::Dbcc,
        quiet: bool,
    ) -> Result<()> {
        let (name, table) = self.dbcc_table(program, frame, d)?;
        let identity = table.columns.iter().find_map(|c| Some((c.name.as_str(), c.identity?.1)));
        let Some((column, increment)) = identity else {
            return Err(SqlError::new(7997, 16, 1, format!("'{name}' does not contain an identity column.")));
        };
        let entry = self.entry_of(table.database)?;
        let current = entry.current_identity(table.object_id);
        let word = |wanted: &str| {
            d.args.get(1).is_some_and(|a| matches!(&a.kind, ast::ExprKind::Column(c) if c.name.is(wanted)))
        };
        let shown = |n: Option<i64>| n.map_or("NULL".to_owned(), |n| n.to_string());
        let mut text = format!("Checking identity information: current identity value '{}'", shown(current));
        let seed = d.args.get(2).filter(|_| word("RESEED"));
        let to = if let Some(value) = seed {
            let value = self.value(program, frame, value, Some(SqlType::BigInt))?;
            let Value::Int(n) = value else { return Err(errors::not_supported("This value")) };
            // In a table that never had rows the next value is the new seed itself.
            Some(if current.is_none() { n.saturating_sub(increment) } else { n })
        } else {
            let last = self.last_identity_of_rows(&table, column, increment)?;
            text += &format!(", current column value '{}'", shown(last));
            let is_behind =
                |last: &i64| current.is_none_or(|n| if increment < 0 { n > *last } else { n < *last });
            last.filter(is_behind).filter(|_| !word("NORESEED"))
        };
        if to.is_some() && self.info.transaction.borrow().count > 0 {
            // Nobody takes a value before it is certain that this stays.
            self.lock_schema(table.database, table.object_id)?;
        }
        if to.is_some() {
            self.info.restart_identity(&entry, table.object_id, to)?;
        }
        if quiet {
            return Ok(());
        }
        self.report(&SqlError::new(7998, 10, 1, text + "."));
        self.dbcc_message(DONE);
        Ok(())
    }

    /// The greatest value in an identity column, the least where it goes down; none without rows.
    fn last_identity_of_rows(
        &mut self,
        table: &TableDef,
        column: &str,
        increment: i64,
    ) -> Result<Option<i64>> {
        let entry = self.entry_of(table.database)?;
        let schema = self.info.picture(&entry).schema_name(table.schema_id).unwrap_or_default();
        let name = match table.name.starts_with('#') {
            true => quote_name(&table.name),
            false => [&*entry.name(), &schema, &table.name].map(quote_name).join("."),
        };
        let last = if increment < 0 { "MIN" } else { "MAX" };
        let text = format!("SELECT @last = {last}({}) FROM {name}", quote_name(column));
        let (name, value) = ("@last".into(), Some(Value::Null));
        let last = Argument { name, value, ty: SqlType::BigInt, output: true, table: None, cursor: None };
        let returned = self.call_inside(&text, "@last bigint OUTPUT", &[last])?;
        Ok(returned.outputs.first().and_then(|(_, value, _)| value.as_int()))
    }
}
