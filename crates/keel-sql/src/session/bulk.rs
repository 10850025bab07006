//! Bulk load: the rows that follow `INSERT BULK`, and table-valued parameters.
//!
//! Rows go from the wire to the store through [`keel_query::dml::BulkInserter`], without a statement. Only a load that
//! shall fire triggers, into a table that has some, is a sequence of INSERTs.
//!
//! Options: KEEP_NULLS, CHECK_CONSTRAINTS, FIRE_TRIGGERS and TABLOCK do what they say; values of an identity column are kept if they are sent. ORDER,
//! ROWS_PER_BATCH and KILOBYTES_PER_BATCH are estimates that nothing here needs: rows in any order are right, and those
//! in key order are fastest without being announced.

use super::Session;
use super::info::RowSet;
use crate::catalog::fold;
use crate::errors;
use crate::program::captured::insert_captured;
use crate::program::{Guards, ModuleIdentity, Need, Program, ProgramKind, Unit, UnitSource};
use crate::run::{Frame, Runner};
use crate::sink::{ColumnMeta, ResultSink, command};
use keel_parser::ast;
use keel_query::catalog::{Catalog as _, ColumnDef, ModuleDef, TableDef};
use keel_query::dml::{BulkInserter, BulkOptions, BulkRow, Cell, loaded_view};
use keel_query::scope::VirtualColumn;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// Rows that fire triggers together.
const TRIGGER_ROWS: usize = 5_000;

/// Where the rows of a bulk load go (answer to `INSERT BULK`).
#[derive(Clone, Debug)]
pub struct BulkTarget {
    /// The columns the client announced, with the types of the table; rows have values in this order.
    pub columns: Vec<ColumnMeta>,
}

/// Rows of a bulk load.
pub trait BulkSource {
    /// The types of the values of a row, in order. Asked for once, before the first row.
    fn types(&mut self) -> Result<Vec<SqlType>>;
    /// Hands the values of the next row to `row`; false at the end.
    fn next(&mut self, row: &mut dyn BulkRow) -> Result<bool>;
}

/// A bulk load that was announced.
#[derive(Clone, Debug)]
pub struct PendingBulk {
    target: BulkTarget,
    table: ast::ObjectName,
    options: BulkOptions,
    fire_triggers: bool,
    /// ALLOW_ENCRYPTED_VALUE_MODIFICATIONS
    encrypted_values: bool,
}

impl PendingBulk {
    pub(super) fn new(
        target: BulkTarget,
        table: ast::ObjectName,
        options: BulkOptions,
        fire_triggers: bool,
    ) -> PendingBulk {
        PendingBulk { target, table, options, fire_triggers, encrypted_values: false }
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
        if !self.info.admit() {
            self.end_request(sink);
            return;
        }
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
        self.settle(sink);
    }
}

pub(super) fn load(runner: &mut Runner<'_>, bulk: &PendingBulk, rows: &mut dyn BulkSource) -> Result<u64> {
    let table = find_table(runner, &bulk.table)?;
    let own = runner.info.transaction.borrow().count == 0;
    if own {
        runner.begin_named("".into())?;
    }
    let savepoint = runner.savepoint("".into());
    let identity_insert = runner.info.identity_insert.get();
    if bulk.options.keep_identity {
        runner.info.identity_insert.set(Some((table.database, table.object_id)));
    }
    let outcome = load_rows(runner, bulk, rows);
    runner.info.identity_insert.set(identity_insert);
    match outcome {
        Ok(count) => {
            if own {
                runner.commit_one(false)?;
            }
            runner.info.engine.note_changes(count);
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
    runner.check_writable()?;
    let table = locked_table(runner, bulk)?;
    runner.check_database_writable(table.database)?;
    let types = rows.types()?;
    if types.len() != bulk.target.columns.len() {
        return Err(SqlError::new(
            4804,
            21,
            1,
            "While reading bulk load data, the incoming tabular data stream was incorrect.",
        ));
    }
    if bulk.fire_triggers && has_triggers(runner, &table) {
        return load_by_statement(runner, bulk, &table, &types, rows);
    }
    let inserter = compiled_inserter(runner, bulk, &table, &types)?;
    let mut messages = Messages::default();
    let run = inserter.insert(&mut runner.context_with(&mut []), &mut |row| rows.next(row), &mut messages);
    for message in messages.0 {
        runner.sink.message(&message);
    }
    Ok(run?.rows)
}

/// What adds the rows to a table that is locked, compiled against what keys refer to as it will stay: that is locked, too.
fn compiled_inserter(
    runner: &mut Runner<'_>,
    bulk: &PendingBulk,
    table: &Arc<TableDef>,
    types: &[SqlType],
) -> Result<BulkInserter> {
    let mut columns = Vec::with_capacity(types.len());
    for (meta, ty) in bulk.target.columns.iter().zip(types) {
        let at = table.columns.iter().position(|c| fold(&c.name) == fold(&meta.name));
        let at = at.ok_or_else(|| no_column(&meta.name))?;
        let own = table.columns[at].ty;
        // Ciphertexts as bytes: their client answers for what they are.
        let taken = bulk.encrypted_values && own.is_encrypted() && ty.is_binary();
        columns.push((at, if taken { own } else { *ty }));
    }
    loop {
        let (inserter, mut dependencies) = {
            let scope = super::scope::Scope::bare(runner.info, table.database);
            scope.note_catalog(table.database);
            (BulkInserter::new(&scope, table, &columns, bulk.options)?, scope.found.take())
        };
        dependencies.locked.retain(|object| *object != (table.database, table.object_id));
        dependencies.objects.clone_from(&dependencies.locked);
        if runner.keeps(&Guards::of(&dependencies, &[]), &dependencies)? {
            return Ok(inserter);
        }
    }
}

/// The table, locked for the load: its definition stays what it is.
fn locked_table(runner: &mut Runner<'_>, bulk: &PendingBulk) -> Result<Arc<TableDef>> {
    loop {
        let table = find_table(runner, &bulk.table)?;
        let session = runner.info.shared.id;
        let txn = runner.txns_dyn().transaction(table.database)?;
        txn.lock_table(table.object_id as u32, bulk.options.lock_mode())
            .map_err(|e| crate::map::txn_error(e, "", session))?;
        if Arc::ptr_eq(&table, &find_table(runner, &bulk.table)?) {
            return Ok(table);
        }
    }
}

fn find_table(runner: &Runner<'_>, name: &ast::ObjectName) -> Result<Arc<TableDef>> {
    let scope = super::scope::Scope::bare(runner.info, runner.info.current_database().id);
    crate::ddl::find_table(&scope, name).ok_or_else(|| errors::invalid_object_name(name))
}

fn has_triggers(runner: &Runner<'_>, table: &TableDef) -> bool {
    let entry = runner.info.engine.database_by_id(table.database);
    entry.is_some_and(|e| !runner.info.picture(&e).triggers(table.object_id).is_empty())
}

fn no_column(name: &str) -> Box<SqlError> {
    SqlError::new(207, 16, 1, format!("Invalid column name '{name}'."))
}

/// Keeps what a plan has to say until the client can be told.
#[derive(Default)]
struct Messages(Vec<SqlError>);

impl keel_query::RowSink for Messages {
    fn row(&mut self, _values: &[Value]) -> Result<()> {
        Ok(())
    }
    fn message(&mut self, message: &Box<SqlError>) {
        self.0.push((**message).clone());
    }
}

/// A row as owned values, without those that the table makes itself.
struct Collected<'a> {
    wanted: &'a [bool],
    values: Vec<Value>,
}

impl BulkRow for Collected<'_> {
    fn start(&mut self) {
        self.values.clear();
    }
    fn put(&mut self, index: usize, cell: Cell<'_>) -> Result<()> {
        if self.wanted.get(index) == Some(&true) {
            self.values.push(cell.into_value());
        }
        Ok(())
    }
}

/// A load that fires triggers.
fn load_by_statement(
    runner: &mut Runner<'_>,
    bulk: &PendingBulk,
    table: &TableDef,
    types: &[SqlType],
    rows: &mut dyn BulkSource,
) -> Result<u64> {
    let announced = || bulk.target.columns.iter().zip(types);
    let given = |name: &str| {
        let column = table.columns.iter().find(|c| fold(&c.name) == fold(name));
        column.is_some_and(|c| {
            let made = c.computed.is_some() || c.ty == SqlType::RowVersion;
            !made && (c.identity.is_none() || bulk.options.keep_identity)
        })
    };
    let wanted: Vec<bool> = announced().map(|(c, _)| given(&c.name)).collect();
    let kept = || announced().filter(|(c, _)| given(&c.name));
    let columns: Vec<VirtualColumn> =
        kept().map(|(c, ty)| VirtualColumn::new(c.name.as_str(), *ty)).collect();
    let target = ast::TableRef::Named(bulk.table.clone());
    let names = kept().map(|(c, _)| ast::Ident::new(c.name.clone())).collect();
    let (program, unit) = inserter(runner, target, names);
    let mut frame = Frame::new(&program, 0);
    let mut total = 0;
    let mut done = false;
    while !done {
        let mut batch = Vec::with_capacity(TRIGGER_ROWS);
        while batch.len() < TRIGGER_ROWS && !done {
            let mut row = Collected { wanted: &wanted, values: Vec::with_capacity(columns.len()) };
            done = !rows.next(&mut row)?;
            if !done {
                batch.push(row.values);
            }
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
fn inserter(runner: &Runner<'_>, target: ast::TableRef, columns: Vec<ast::Ident>) -> (Arc<Program>, Unit) {
    let insert = ast::Insert {
        with: None,
        top: None,
        target: ast::DmlTarget { table: target, hints: Vec::new() },
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

/// Where a bulk load goes: a table, or the one behind a view.
pub(super) struct Destination {
    pub table: Arc<TableDef>,
    /// The table's whole name.
    pub name: ast::ObjectName,
    /// Columns as they are called where the load goes, each with its place in the table.
    pub columns: Vec<(String, usize)>,
}

pub(super) fn column_meta(c: &ColumnDef) -> ColumnMeta {
    let mut meta = ColumnMeta::new(c.name.as_str(), c.ty);
    meta.collation = c.collation;
    meta.nullable = c.nullable;
    meta.identity = c.identity.is_some();
    meta
}

impl Runner<'_> {
    /// The table that a name stands for, or the one behind the columns of a view that are `named` (all, when none is).
    ///
    /// # Errors
    /// 208; those of an INSERT into the view.
    pub(super) fn bulk_destination(
        &self,
        program: &Program,
        name: &ast::ObjectName,
        named: &[ast::Ident],
        fire_triggers: bool,
    ) -> Result<Destination> {
        let scope = self.ddl_scope(program);
        if let Some(table) = crate::ddl::find_table(&scope, name) {
            let columns = table.columns.iter().enumerate().map(|(at, c)| (c.name.clone(), at)).collect();
            return Ok(Destination { table, name: name.clone(), columns });
        }
        let missing = || errors::invalid_object_name(name);
        let view = loaded_view(&scope, name, named)?.ok_or_else(missing)?;
        let (home, view_id, schema_id) = self.object(program, name).ok_or_else(missing)?;
        let instead =
            |m: &Arc<ModuleDef>| m.trigger.is_some_and(|t| t.instead_of && t.on_insert && !t.disabled);
        if fire_triggers && self.info.picture(&home).triggers(view_id).iter().any(instead) {
            return Err(errors::not_supported("FIRE_TRIGGERS of a view with an INSTEAD OF trigger"));
        }
        // The table is the view's owner's as well, or whoever loads it may do so without the view, too.
        let (kind, name_of_view) = (ProgramKind::Procedure, None);
        let identity =
            ModuleIdentity { database: home.id, object_id: view_id, schema_id, name: name_of_view, kind };
        let (database, object, schema) = (view.table.database, view.table.object_id, view.table.schema_id);
        let need = Need::Object { database, object, schema, permission: "INSERT", columns: None };
        self.info.authorize(&identity, &[need])?;
        let entry = self.info.engine.database_by_id(view.table.database);
        let entry = entry.ok_or_else(missing)?;
        let schema = self.info.picture(&entry).schema(view.table.schema_id).map(|s| s.name.clone());
        let name = ast::ObjectName {
            database: Some(ast::Ident::new(&*entry.name())),
            schema: schema.map(ast::Ident::new),
            ..ast::ObjectName::simple(ast::Ident::new(view.table.name.as_str()))
        };
        Ok(Destination { table: view.table, name, columns: view.columns })
    }

    /// `INSERT BULK`: remembers what is to come.
    pub(crate) fn announce_bulk(&mut self, program: &Program, b: &ast::InsertBulk) -> Result<()> {
        let has = |name: &str| b.options.iter().any(|o| o.name == name);
        let announced: Vec<ast::Ident> = b.columns.iter().map(|c| c.name.clone()).collect();
        let destination = self.bulk_destination(program, &b.table, &announced, has("FIRE_TRIGGERS"))?;
        let mut columns = Vec::with_capacity(announced.len());
        for name in &announced {
            let c = destination.columns.iter().find(|(shown, _)| fold(shown) == fold(&name.text));
            let (_, at) = c.ok_or_else(|| no_column(&name.text))?;
            columns.push(column_meta(&destination.table.columns[*at]));
        }
        // Clients that want the server's values leave the column out, and have no other way to say what they want.
        let keep_identity = columns.iter().any(|c| c.identity);
        *self.info.bulk.borrow_mut() = Some(PendingBulk {
            target: BulkTarget { columns },
            table: destination.name,
            options: BulkOptions {
                keep_identity,
                check_constraints: has("CHECK_CONSTRAINTS"),
                keep_nulls: has("KEEP_NULLS") || has("KEEPNULLS"),
                table_lock: has("TABLOCK"),
            },
            fire_triggers: has("FIRE_TRIGGERS"),
            encrypted_values: has("ALLOW_ENCRYPTED_VALUE_MODIFICATIONS"),
        });
        Ok(())
    }

    /// A table-valued parameter as a table variable that holds its rows, converted from the types in which they are `sent`. Its type
    /// is looked for from `home`.
    pub(crate) fn table_parameter(
        &mut self,
        (home, name): (ModuleIdentity, ast::ObjectName),
        sent: &[Option<SqlType>],
        rows: Vec<Vec<Value>>,
    ) -> Result<Arc<TableDef>> {
        let mut program = Program::bare(home);
        program.tables.push(crate::program::TableVariableDef {
            name: "@rows".into(),
            shape: crate::program::TableShape::Type(name),
        });
        let table = crate::ddl::table_variable(self.info, &program, 0)?;
        if !sent.is_empty() && sent.len() != table.columns.len() {
            self.drop_storage(&table);
            return Err(errors::table_parameter_columns(sent.len(), table.columns.len()));
        }
        if rows.is_empty() {
            return Ok(table);
        }
        let given = || table.columns.iter().zip(sent).filter_map(|(column, ty)| Some((column, (*ty)?)));
        let columns = given().map(|(column, ty)| VirtualColumn::new(column.name.as_str(), ty)).collect();
        let names = given().map(|(column, _)| ast::Ident::new(column.name.as_str())).collect();
        let variable = ast::Variable { name: "@rows".into(), span: ast::Span::default() };
        let (_, unit) = inserter(self, ast::TableRef::Variable(variable), names);
        let program = Arc::new(program);
        let mut frame = Frame::new(&program, 0);
        frame.tables.borrow_mut().push(Some(Arc::clone(&table)));
        self.insert_captured(&program, &mut frame, &unit, RowSet { columns, rows: Arc::new(rows) })?;
        self.end_table_statement()?;
        Ok(table)
    }
}
