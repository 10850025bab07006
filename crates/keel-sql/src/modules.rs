//! Procedures, functions and triggers: from stored text to programs, and running them inside statements. Which triggers
//! run, and when: [`crate::triggers`].

use crate::column_keys::deduce;
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::lower::TextOptions;
use crate::program::{ModuleIdentity, ModuleShape, Program, ProgramKind, lower_module};
use crate::run::{Frame, Halt, Later, NEST_LEVEL_MAX, Runner, parse_error};
use crate::session::info::Info;
use crate::session::options::Switches;
use crate::session::scope::Scope;
use crate::session::txns::{TxnSet, Views};
use keel_base::DatabaseId;
use keel_parser::ast::{self, StatementKind};
use keel_query::catalog::{ModuleDef, ModuleKind, ObjectId};
use keel_query::scope::{ParameterInfo, RowSource, VirtualColumn, VirtualTable};
use keel_query::{ExecCtx, FunctionInvoker};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

/// Parses a module's text down to its CREATE statement.
pub fn parse(module: &ModuleDef) -> Result<ast::Statement> {
    let options = keel_parser::ParseOptions { quoted_identifier: module.quoted_identifier };
    let batch = keel_parser::parse_batch(&module.text, options).map_err(parse_error)?;
    batch.statements.into_iter().next().ok_or_else(|| errors::no_procedure(&module.name))
}

/// Whether a view or function is made WITH SCHEMABINDING. Most texts are not parsed for it.
pub fn is_schema_bound(module: &ModuleDef) -> bool {
    if !module.text.to_ascii_uppercase().contains("SCHEMABINDING") {
        return false;
    }
    options(module).schema_binding
}

/// Whether a trigger is NOT FOR REPLICATION. Most texts are not parsed for it.
pub fn not_for_replication(module: &ModuleDef) -> bool {
    if !module.text.to_ascii_uppercase().contains("REPLICATION") {
        return false;
    }
    let kind = parse(module).map(|statement| statement.kind);
    matches!(kind, Ok(ast::StatementKind::CreateTrigger(t)) if t.not_for_replication)
}

/// The options that a module is made WITH; none when its text can no longer be read.
pub fn options(module: &ModuleDef) -> ast::ModuleOptions {
    match parse(module).map(|statement| statement.kind) {
        Ok(StatementKind::CreateView(v)) => v.options,
        Ok(StatementKind::CreateFunction(f)) => f.options,
        Ok(StatementKind::CreateProcedure(p)) => p.options,
        Ok(StatementKind::CreateTrigger(t)) => t.options,
        _ => ast::ModuleOptions::default(),
    }
}

/// The program of a module, from the cache when it is there.
pub fn program(info: &Info, entry: &Arc<DatabaseEntry>, module: &Arc<ModuleDef>) -> Result<Arc<Program>> {
    let encryption = deduce::version(info, entry);
    if let Some(program) = info.engine.programs.module(entry.id, module, encryption) {
        return Ok(program);
    }
    let program = program_anew(info, entry, module)?;
    // What a schema collection holds may be more next time.
    if !program.recompile && !names_schemas(&program) && !deduce::is_under_way() {
        info.engine.programs.keep_module(entry.id, module, encryption, Arc::clone(&program));
    }
    Ok(program)
}

/// The same for one call: nothing of it has been compiled yet, and nothing is kept.
pub fn program_anew(
    info: &Info,
    entry: &Arc<DatabaseEntry>,
    module: &Arc<ModuleDef>,
) -> Result<Arc<Program>> {
    Ok(Arc::new(deduce::settled(info, lower(info, entry.id, module)?)))
}

fn names_schemas(program: &Program) -> bool {
    let typed = |ty: keel_types::SqlType| ty.xml_schema().is_some();
    program.parameters.iter().any(|p| typed(p.ty))
        || program.returns.is_some_and(typed)
        || program.variables.iter().any(|v| typed(v.ty))
}

/// Lowers a module's text; also the check that CREATE and ALTER make.
pub fn lower(info: &Info, database: DatabaseId, module: &ModuleDef) -> Result<Program> {
    let statement = parse(module)?;
    let kind = match module.kind {
        ModuleKind::ScalarFunction => ProgramKind::Function,
        ModuleKind::TableFunction | ModuleKind::InlineTableFunction => ProgramKind::TableFunction,
        ModuleKind::Trigger => ProgramKind::Trigger,
        ModuleKind::Procedure | ModuleKind::View => ProgramKind::Procedure,
    };
    let identity = ModuleIdentity {
        database,
        object_id: module.object_id,
        schema_id: module.schema_id,
        name: Some(module.name.as_str().into()),
        kind,
    };
    let mut scope = Scope::bare(info, database);
    scope.identity = identity.clone();
    let options = TextOptions { quoted_identifier: module.quoted_identifier, ansi_nulls: module.ansi_nulls };
    let text: Arc<str> = module.text.as_str().into();
    let none: &[ast::Statement] = &[];
    let shape = match &statement.kind {
        StatementKind::CreateProcedure(p) => ModuleShape {
            parameters: &p.parameters,
            body: match &p.body {
                ast::ModuleBody::Statements(body) => body,
                ast::ModuleBody::External(_) => return Err(errors::not_supported("EXTERNAL NAME")),
            },
            returns: None,
            returns_table: None,
        },
        StatementKind::CreateFunction(f) => {
            let body = match &f.body {
                ast::FunctionBody::Statements(body) => body.as_slice(),
                ast::FunctionBody::Inline(_) => none,
                ast::FunctionBody::External(_) => return Err(errors::not_supported("EXTERNAL NAME")),
            };
            let (returns, returns_table) = match &f.returns {
                ast::FunctionReturns::Scalar(ty) => {
                    use crate::program::lower::TypeLookup as _;
                    (Some(scope.scalar(ty)?), None)
                }
                ast::FunctionReturns::Inline => (None, None),
                ast::FunctionReturns::Table { variable, elements } => {
                    (None, Some((variable, elements.as_slice())))
                }
            };
            ModuleShape { parameters: &f.parameters, body, returns, returns_table }
        }
        StatementKind::CreateTrigger(t) => {
            ModuleShape { parameters: &[], body: &t.body, returns: None, returns_table: None }
        }
        _ => ModuleShape { parameters: &[], body: none, returns: None, returns_table: None },
    };
    let mut program = lower_module(identity, text, &shape, options, &scope)?;
    program.execute_as = module.execute_as;
    if !module.signatures.is_empty()
        && let Some(entry) = info.engine.database_by_id(database)
    {
        program.signers = crate::keys::signature::signers(&info.picture(&entry), module);
    }
    program.recompile = matches!(&statement.kind, StatementKind::CreateProcedure(p) if p.options.recompile);
    program.null_on_null_input = match &statement.kind {
        StatementKind::CreateFunction(f) => f.options.returns_null_on_null_input,
        _ => false,
    };
    Ok(program)
}

/// Parameters of an inline table function.
pub fn inline_parameters(scope: &Scope<'_>, module: &ModuleDef) -> Vec<ParameterInfo> {
    let database = scope.identity.database;
    match lower(scope.info, database, module) {
        Ok(program) => crate::session::scope::parameters(&program),
        Err(_) => Vec::new(),
    }
}

/// Runs a function's or trigger's program inside a statement.
pub(crate) fn invoke(
    ctx: &mut ExecCtx<'_>,
    program: &Arc<Program>,
    args: &[Value],
    frame: &mut Frame,
) -> Result<()> {
    let info = Info::of(ctx.session);
    if info.nest_level() >= NEST_LEVEL_MAX {
        return Err(errors::nesting_level());
    }
    let runs_as = info.identity_of_module(program)?;
    for (i, value) in args.iter().enumerate() {
        frame.vars[i] = value.clone();
    }
    let borrowed = borrow_tables(info, program, args, frame);
    let (error, row_count) = (info.error.get(), info.row_count.get());
    let identity = info.scope_identity.replace(None);
    // SET inside ends with the module.
    let options = info.options.borrow().clone();
    if program.identity.kind == ProgramKind::Trigger && !options.on(Switches::XACT_ABORT) {
        // Triggers begin with it on, whatever the session has.
        info.change_options(|now| now.switches.set(Switches::XACT_ABORT, true));
    }
    info.modules.borrow_mut().push(program.identity.clone());
    let mut later = Later { info, results: program.identity.kind == ProgramKind::Trigger };
    // The caller's, who may not have read yet, are not for the statements of what it calls.
    let views = TxnSet::behind(ctx.txns).map(|set| set.exchange_views(Views::new()));
    let mut runner = Runner::nested(info, ctx.txns, &mut later);
    let before = info.enter_security_level(runs_as);
    let entered = info.enter_program();
    let outcome = runner.run(program, frame);
    info.leave_program(program, &entered);
    if let (Some(set), Some(views)) = (TxnSet::behind(ctx.txns), views) {
        set.exchange_views(views);
    }
    info.leave_security_level(before);
    info.modules.borrow_mut().pop();
    if *info.options.borrow() != options {
        info.change_options(|now| *now = options);
    }
    info.error.set(error);
    info.row_count.set(row_count);
    info.scope_identity.set(identity);
    // They are the caller's: nobody drops them with the frame.
    borrowed.into_iter().for_each(|index| frame.tables.borrow_mut()[index] = None);
    match outcome {
        Ok(_) => Ok(()),
        Err(Halt::Raised(e)) => Err(e),
        Err(Halt::Batch) => Err(errors::cancelled()),
    }
}

/// Puts the table variables that came as arguments where the program has its own; says where.
fn borrow_tables(info: &Info, program: &Program, args: &[Value], frame: &Frame) -> Vec<usize> {
    let mut borrowed = Vec::new();
    for (parameter, value) in program.parameters.iter().zip(args) {
        let Some((index, _)) = &parameter.table else { continue };
        let Some(table) = info.lent_table(value) else { continue };
        let mut tables = frame.tables.borrow_mut();
        if tables.len() <= *index {
            tables.resize(*index + 1, None);
        }
        tables[*index] = Some(table);
        borrowed.push(*index);
    }
    borrowed
}

/// Runs scalar functions for plans.
pub struct Functions;

impl FunctionInvoker for Functions {
    fn invoke_scalar(
        &self,
        ctx: &mut ExecCtx<'_>,
        database: DatabaseId,
        function: ObjectId,
        args: &[Value],
    ) -> Result<Value> {
        let info = Info::of(ctx.session);
        let entry = info.engine.database_by_id(database).ok_or_else(|| errors::no_database(database.0))?;
        let module = match function {
            shipped if shipped < 0 => crate::procs::catalog::function_by_id(shipped).cloned(),
            own => info.picture(&entry).module_by_id(own).cloned(),
        };
        let module = module.ok_or_else(|| errors::invalid_object_name(function))?;
        let program = program(info, &entry, &module)?;
        if program.null_on_null_input && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let mut frame = Frame::new(&program, info.nest_level() + 1);
        // Those of the system ask who somebody is where they were named.
        let before = (function < 0).then(|| info.database.replace(entry));
        let done = invoke(ctx, &program, args, &mut frame);
        if let Some(before) = before {
            info.database.replace(before);
        }
        done?;
        drop_tables(ctx, &frame);
        Ok(std::mem::take(&mut frame.result))
    }
}

pub(crate) fn drop_tables(ctx: &mut ExecCtx<'_>, frame: &Frame) {
    let info = Info::of(ctx.session);
    for table in frame.tables.borrow().iter().flatten() {
        info.forget_temporary(table);
        drop_trees(ctx.txns, table);
    }
}

/// Drops the trees of a table when the transaction that works with it ends. What cannot be dropped is only space.
pub fn drop_trees(txns: &mut dyn keel_query::Transactions, table: &keel_query::catalog::TableDef) {
    if let Ok(txn) = txns.transaction(table.database) {
        for index in &table.indexes {
            let _ = txn.drop_tree(index.tree);
        }
    }
}

/// A multi-statement table function as a table.
struct TableFunction {
    program: Arc<Program>,
    columns: Vec<VirtualColumn>,
}

/// A multi-statement table function for the binder.
pub fn table_function(
    info: &Info,
    entry: &Arc<DatabaseEntry>,
    module: &Arc<ModuleDef>,
) -> Option<Arc<dyn VirtualTable>> {
    let program = program(info, entry, module).ok()?;
    let table = crate::ddl::table_variable(info, &program, 0).ok()?;
    let column = |c: &keel_query::catalog::ColumnDef| VirtualColumn {
        name: c.name.clone(),
        ty: c.ty,
        nullable: c.nullable,
        collation: c.collation,
    };
    let columns = table.columns.iter().map(column).collect();
    Some(Arc::new(TableFunction { program, columns }))
}

impl VirtualTable for TableFunction {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn parameters(&self) -> Option<Vec<ParameterInfo>> {
        Some(crate::session::scope::parameters(&self.program))
    }

    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let info = Info::of(ctx.session);
        let mut frame = Frame::new(&self.program, info.nest_level() + 1);
        let table = crate::ddl::table_variable(info, &self.program, 0)?;
        frame.tables.borrow_mut().push(Some(Arc::clone(&table)));
        invoke(ctx, &self.program, args, &mut frame)?;
        let rows = crate::ddl::read_all(ctx, &table)?;
        drop_tables(ctx, &frame);
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}
