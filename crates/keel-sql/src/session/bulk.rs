//! Bulk load: the rows that follow `INSERT BULK`, and table-valued parameters.

use super::Session;
use super::info::RowSet;
use crate::catalog::fold;
use crate::errors;
use crate::program::lower::insert_captured;
use crate::program::{ModuleIdentity, Program, ProgramKind, Unit, UnitSource};
use crate::run::{Frame, Runner};
use crate::sink::{ColumnMeta, ResultSink, TvpName, command};
use keel_parser::ast;
use keel_query::catalog::TableDef;
use keel_query::scope::VirtualColumn;
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

/// Rows inserted by one execution of the plan.
const BATCH_ROWS: usize = 5_000;

/// Where the rows of a bulk load go (answer to `INSERT BULK`).
#[derive(Clone, Debug)]
pub struct BulkTarget {
    /// The columns the client announced, with the types of the table; rows have values in this order.
    pub columns: Vec<ColumnMeta>,
}

/// Rows of a bulk load; filled row by row.
pub trait BulkSource {
    /// Puts the next row into `row` (cleared before); false at the end.
    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool>;
}

/// A bulk load that was announced.
#[derive(Clone, Debug)]
pub struct PendingBulk {
    target: BulkTarget,
    table: ast::ObjectName,
    keep_identity: bool,
    fire_triggers: bool,
}

impl PendingBulk {
    pub(super) fn new(
        target: BulkTarget,
        table: ast::ObjectName,
        keep_identity: bool,
        fire_triggers: bool,
    ) -> PendingBulk {
        PendingBulk { target, table, keep_identity, fire_triggers }
    }

    /// What its rows look like.
    #[must_use]
    pub fn target(&self) -> BulkTarget {
        self.target.clone()
    }
}

impl Session {
    /// After an `INSERT BULK` batch: what the rows of the following bulk-load message must look like.
    #[must_use]
    pub fn bulk_target(&self) -> Option<&BulkTarget> {
        self.bulk_target.as_ref()
    }

    /// Loads the rows that follow an `INSERT BULK` batch.
    pub fn bulk_load(&mut self, rows: &mut dyn BulkSource, sink: &mut dyn ResultSink) {
        let Some(bulk) = self.info.bulk.borrow_mut().take() else {
            let e = keel_types::SqlError::new(
                4022,
                16,
                1,
                "Bulk load data was expected but not sent. The batch will be terminated.",
            );
            sink.message(&e);
            Runner::new(&self.info, &mut self.txns, sink).final_done(true);
            return;
        };
        self.begin_request("");
        let mut runner = Runner::new(&self.info, &mut self.txns, sink);
        match load(&mut runner, &bulk, rows) {
            Ok(count) => runner.done_statement(Some(count), command::INSERT),
            Err(e) => {
                let e = errors::located(e, 1, None);
                runner.report(&e);
                runner.final_done(true);
            }
        }
        self.end_request(sink);
    }
}

pub(super) fn load(runner: &mut Runner<'_>, bulk: &PendingBulk, rows: &mut dyn BulkSource) -> Result<u64> {
    let table = {
        let database = runner.info.current_database().id;
        let scope = super::scope::Scope::bare(runner.info, database);
        crate::ddl::find_table(&scope, &bulk.table).ok_or_else(|| errors::invalid_object_name(&bulk.table))?
    };
    let own = runner.info.transaction.borrow().count == 0;
    if own {
        runner.begin_named("".into())?;
    }
    let savepoint = runner.savepoint("".into());
    let identity_insert = runner.info.identity_insert.get();
    if bulk.keep_identity {
        runner.info.identity_insert.set(Some((table.database, table.object_id)));
    }
    let outcome = load_rows(runner, bulk, rows);
    runner.info.identity_insert.set(identity_insert);
    match outcome {
        Ok(count) => {
            if own {
                runner.commit_one()?;
            }
            Ok(count)
        }
        Err(e) => {
            if own {
                runner.rollback_everything();
            } else if let Some(savepoint) = savepoint {
                runner.rollback_to(&savepoint)?;
            }
            Err(e)
        }
    }
}

fn load_rows(runner: &mut Runner<'_>, bulk: &PendingBulk, rows: &mut dyn BulkSource) -> Result<u64> {
    let columns: Vec<VirtualColumn> =
        bulk.target.columns.iter().map(|c| VirtualColumn::new(c.name.as_str(), c.ty)).collect();
    let target = ast::TableRef::Named(bulk.table.clone());
    let hints = if bulk.fire_triggers { Vec::new() } else { vec![ast::TableHint::IgnoreTriggers] };
    let names = bulk.target.columns.iter().map(|c| ast::Ident::new(c.name.clone())).collect();
    let (program, unit) = inserter(runner, target, names, hints);
    let mut frame = Frame::new(&program, 0);
    let mut total = 0;
    let mut done = false;
    while !done {
        let mut batch = Vec::with_capacity(BATCH_ROWS);
        while batch.len() < BATCH_ROWS {
            let mut row = Vec::with_capacity(columns.len());
            if !rows.next(&mut row)? {
                done = true;
                break;
            }
            batch.push(row);
        }
        if batch.is_empty() {
            break;
        }
        let set = RowSet { columns: columns.clone(), rows: Arc::new(batch) };
        total += runner.insert_captured(&program, &mut frame, &unit, set)?.rows;
    }
    Ok(total)
}

/// A program with one statement: insert the captured rows into a table.
fn inserter(
    runner: &Runner<'_>,
    target: ast::TableRef,
    columns: Vec<ast::Ident>,
    hints: Vec<ast::TableHint>,
) -> (Arc<Program>, Unit) {
    let insert = ast::Insert {
        with: None,
        top: None,
        target: ast::DmlTarget { table: target, hints },
        columns,
        output: Vec::new(),
        source: ast::InsertSource::DefaultValues,
        options: Vec::new(),
    };
    let statement = insert_captured(ast::Span::default(), &insert);
    let identity = ModuleIdentity {
        database: runner.info.current_database().id,
        object_id: 0,
        schema_id: crate::catalog::DBO,
        name: None,
        kind: ProgramKind::Batch,
    };
    let program = Program::bare(identity);
    (Arc::new(program), Unit::new(UnitSource::Statement(statement)))
}

impl Runner<'_> {
    /// `INSERT BULK`: remembers what is to come.
    pub(crate) fn announce_bulk(&mut self, program: &Program, b: &ast::InsertBulk) -> Result<()> {
        let table = {
            let scope = self.ddl_scope(program);
            crate::ddl::find_table(&scope, &b.table).ok_or_else(|| errors::invalid_object_name(&b.table))?
        };
        let mut columns = Vec::with_capacity(b.columns.len());
        for announced in &b.columns {
            let c = table.columns.iter().find(|c| fold(&c.name) == fold(&announced.name.text));
            let c = c.ok_or_else(|| {
                keel_types::SqlError::new(
                    207,
                    16,
                    1,
                    format!("Invalid column name '{}'.", announced.name.text),
                )
            })?;
            let mut meta = ColumnMeta::new(c.name.as_str(), c.ty);
            meta.collation = c.collation;
            meta.nullable = c.nullable;
            meta.identity = c.identity.is_some();
            columns.push(meta);
        }
        let has = |name: &str| b.options.iter().any(|o| o.name == name);
        *self.info.bulk.borrow_mut() = Some(PendingBulk {
            target: BulkTarget { columns },
            table: b.table.clone(),
            keep_identity: has("KEEP_IDENTITY") || has("KEEPIDENTITY"),
            fire_triggers: has("FIRE_TRIGGERS"),
        });
        Ok(())
    }

    /// A table-valued parameter as a table variable that holds its rows.
    pub(crate) fn table_parameter(&mut self, name: &TvpName, rows: Vec<Vec<Value>>) -> Result<Arc<TableDef>> {
        let mut object = ast::ObjectName::simple(ast::Ident::new(name.name.as_str()));
        if !name.schema.is_empty() {
            object.schema = Some(ast::Ident::new(name.schema.as_str()));
        }
        let identity = ModuleIdentity {
            database: self.info.current_database().id,
            object_id: 0,
            schema_id: crate::catalog::DBO,
            name: None,
            kind: ProgramKind::Batch,
        };
        let mut program = Program::bare(identity);
        program.tables.push(crate::program::TableVariableDef {
            name: "@rows".into(),
            shape: crate::program::TableShape::Type(object),
        });
        let table = crate::ddl::table_variable(self.info, &program, 0)?;
        if rows.is_empty() {
            return Ok(table);
        }
        let variable = ast::Variable { name: "@rows".into(), span: ast::Span::default() };
        let (_, unit) = inserter(self, ast::TableRef::Variable(variable), Vec::new(), Vec::new());
        let program = Arc::new(program);
        let mut frame = Frame::new(&program, 0);
        frame.tables.borrow_mut().push(Some(Arc::clone(&table)));
        let columns = table
            .columns
            .iter()
            .filter(|c| c.identity.is_none() && c.computed.is_none())
            .map(|c| VirtualColumn::new(c.name.as_str(), c.ty))
            .collect();
        self.insert_captured(&program, &mut frame, &unit, RowSet { columns, rows: Arc::new(rows) })?;
        self.end_table_statement()?;
        Ok(table)
    }
}
