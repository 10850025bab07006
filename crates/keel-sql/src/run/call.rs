//! EXECUTE: procedures, system procedures and dynamic batches.

use super::step::{put_in, use_database};
use super::{Frame, Halt, NEST_LEVEL_MAX, Runner};
use crate::cache::BatchKey;
use crate::catalog::{Named, SystemDatabase};
use crate::column_keys::deduce;
use crate::convert;
use crate::engine::{DatabaseEntry, Stay};
use crate::errors;
use crate::modules;
use crate::procs;
use crate::program::lower::TextOptions;
use crate::program::{
    ArgValue, Call, CallTarget, ModuleIdentity, ParameterDef, Program, ProgramKind, Unit, lower_batch,
};
use crate::session::options::Switches;
use crate::session::scope::Scope;
use crate::sink::command;
use keel_parser::ast;
use keel_query::catalog::{ModuleKind, TableDef};
use keel_query::scope::NameParts;
use keel_types::datetime::language::Dates;
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use smol_str::SmolStr;
use std::sync::Arc;

/// An actual parameter of a call.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Name with its `@`; empty when positional.
    pub name: SmolStr,
    /// Value; `None` is DEFAULT.
    pub value: Option<Value>,
    /// Type of the value.
    pub ty: SqlType,
    /// OUTPUT was written.
    pub output: bool,
    /// A table variable of the caller.
    pub table: Option<Arc<TableDef>>,
    /// A cursor.
    pub cursor: Option<u64>,
}

/// What a call gave back.
#[derive(Debug, Default)]
pub struct Returned {
    /// RETURN status.
    pub status: i32,
    /// Values of OUTPUT arguments by position in the argument list, with their types.
    pub outputs: Vec<(usize, Value, SqlType)>,
    /// Cursors of OUTPUT arguments.
    pub cursors: Vec<(usize, Option<u64>)>,
    /// Value and type, when a scalar function was called; a procedure has its status instead.
    pub result: Option<(Value, SqlType)>,
}

impl Runner<'_> {
    pub(super) fn call(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        call: &Call,
    ) -> std::result::Result<(), Halt> {
        match &call.results {
            Some(wanted) => self.call_with_results(program, frame, call, wanted),
            None => self.call_plainly(program, frame, call),
        }
    }

    /// The same, with results as the callee gives them.
    pub(super) fn call_plainly(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        call: &Call,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        let mut at = String::new();
        let name = match &call.target {
            CallTarget::Name(name) => name.clone(),
            CallTarget::Slot(slot) => {
                let text = frame.vars[*slot as usize].as_str().unwrap_or("").to_owned();
                procedure_name(&text)?
            }
            CallTarget::Text(text) => return self.exec_text(program, frame, text, call.run_as.as_ref()),
            CallTarget::At(_, text) => {
                at = convert::display(&self.eval(program, frame, text)?);
                ast::ObjectName::simple(ast::Ident::new(""))
            }
        };
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(self.argument(program, frame, arg)?);
        }
        *self.info.calling.borrow_mut() = Some((Arc::clone(&program.text), call.span));
        let returned = match &call.target {
            CallTarget::At(server, _) => match &call.run_as {
                None => self.exec_at(server, &at, &args)?,
                Some((principal, name)) => {
                    let name = self.eval(program, frame, name)?;
                    let depth = self.info.impersonated.borrow().len();
                    self.impersonate(*principal, name.as_str().unwrap_or(""))?;
                    let outcome = self.exec_at(server, &at, &args);
                    self.info.revert_to(depth);
                    outcome?
                }
            },
            _ => {
                self.anew = call.recompile;
                let outcome = self.call_named(&program.identity, &name, &args);
                self.anew = false;
                outcome?
            }
        };
        for (at, value, ty) in returned.outputs {
            // Procedures of the system give what the call may not have asked for.
            if let Some(ArgValue::Slot(slot)) = call.args.get(at).map(|a| &a.value) {
                let slot = *slot;
                let to = program.variables[slot as usize].ty;
                frame.set(slot, convert::assign(value, ty, to, self.dates())?);
            }
        }
        for (at, cursor) in returned.cursors {
            if let ArgValue::Cursor(index) = call.args[at].value {
                self.info.assign_cursor(index, cursor);
                frame.cursors[index] = cursor;
            }
        }
        if let Some(slot) = call.status {
            let to = program.variables[slot as usize].ty;
            let status = || (Value::Int(i64::from(returned.status)), SqlType::Int);
            let (value, ty) = returned.result.unwrap_or_else(status);
            frame.set(slot, convert::assign(value, ty, to, self.dates())?);
        }
        if !self.in_proc {
            self.sink.return_status(returned.status);
            let mut done = self.done_info(None, command::EXECUTE, false);
            done.kind = crate::sink::DoneKind::Proc;
            self.flush_pending();
            self.sink.done(done);
        }
        Ok(())
    }

    fn argument(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        arg: &crate::program::CallArg,
    ) -> Result<Argument> {
        let mut out = Argument {
            name: arg.name.clone().unwrap_or_default(),
            value: None,
            ty: SqlType::Null,
            output: arg.output,
            table: None,
            cursor: None,
        };
        match &arg.value {
            ArgValue::Default => {}
            ArgValue::Constant(value, ty) => {
                out.value = Some(value.clone());
                out.ty = *ty;
            }
            ArgValue::Slot(slot) => {
                out.value = Some(frame.vars[*slot as usize].clone());
                out.ty = program.variables[*slot as usize].ty;
            }
            ArgValue::Table(index) => {
                use keel_query::BindScope as _;
                let name = program.tables[*index].name.clone();
                out.table = self.scope(program, frame).table_variable(&name);
            }
            ArgValue::Cursor(index) => out.cursor = frame.cursors[*index],
            ArgValue::Expr(unit) => {
                let (value, ty) = self.eval_typed(program, frame, unit)?;
                out.value = Some(value);
                out.ty = ty;
            }
        }
        Ok(out)
    }

    /// Calls a procedure by name. `from` is who calls: its database and schema are where the name is looked for.
    pub fn call_named(
        &mut self,
        from: &ModuleIdentity,
        name: &ast::ObjectName,
        args: &[Argument],
    ) -> std::result::Result<Returned, Halt> {
        if let Some(server) = &name.server {
            if !self.info.is_own_server(&server.text) {
                return self.call_remote(&server.text, name, args);
            }
            let here = ast::ObjectName { server: None, ..name.clone() };
            return self.call_named(from, &here, args);
        }
        if let Some(procedure) = procs::find(name) {
            if self.passes_over_procedure(procedure.name) {
                return Ok(Returned::default());
            }
            if !super::compile_only::runs_text(procedure.name) {
                self.info.settle()?;
            }
            return self.in_database(name.database.as_ref(), |runner| procs::run(runner, procedure, args));
        }
        if let Some(module) = procs::catalog::find(name) {
            let entry = match &name.database {
                Some(database) => self.info.find_database(&database.text),
                None => Some(self.info.current_database()),
            };
            let entry = entry.ok_or_else(|| errors::no_procedure(name))?;
            let program = modules::program(self.info, &entry, &module)?;
            return self.call_program(&entry, &program, args);
        }
        if let Some((server, there)) = self.called_by_synonym(from, name) {
            return self.call_remote(&server, &there, args);
        }
        let (entry, program) = self.resolve_callable(from, name)?;
        // A temporary procedure is the session's own.
        let own = name.is_temporary() && !name.is_global_temporary();
        if !own && (self.info.engine.audits.any() || !self.info.unrestricted.get()) {
            let called = &program.identity;
            let need = crate::program::Need::Object {
                database: entry.id,
                object: called.object_id,
                schema: called.schema_id,
                permission: "EXECUTE",
                columns: None,
            };
            let may = if self.info.unrestricted.get() {
                Ok(())
            } else {
                self.info.authorize(from, std::slice::from_ref(&need))
            };
            if self.info.engine.audits.any() {
                self.info.audit_access(&need, may.is_ok())?;
            }
            may?;
        }
        let in_master = || self.info.system_database(entry.id) == Some(SystemDatabase::Master);
        let place = if is_shared(name) && in_master() { self.info.current_database() } else { entry };
        self.call_program(&place, &program, args)
    }

    /// Runs a procedure of the system where its name says: `EXEC shop.sys.sp_executesql …` runs in `shop`, whatever USE has said.
    fn in_database<T>(
        &mut self,
        database: Option<&ast::Ident>,
        run: impl FnOnce(&mut Self) -> std::result::Result<T, Halt>,
    ) -> std::result::Result<T, Halt> {
        let Some(database) = database else { return run(self) };
        let before = self.info.current_database();
        let _stay = Stay::new(&self.info.shared, &before);
        let outcome = use_database(self.info, &database.text).map_err(Halt::from).and_then(|()| run(self));
        put_in(self.info, before);
        outcome
    }

    /// The server and procedure there that a synonym stands for.
    fn called_by_synonym(
        &self,
        from: &ModuleIdentity,
        name: &ast::ObjectName,
    ) -> Option<(String, ast::ObjectName)> {
        use keel_query::BindScope as _;
        let database = if from.object_id == 0 { self.info.current_database().id } else { from.database };
        let mut scope = Scope::bare(self.info, database);
        scope.identity.schema_id = from.schema_id;
        let parts = NameParts {
            database: name.database.as_ref().map(|i| i.text.as_str()),
            schema: name.schema.as_ref().map(|i| i.text.as_str()),
            object: &name.name.text,
        };
        let target = scope.remote_synonym(parts)?;
        let [server, database, schema, object] = target.as_slice() else { return None };
        let part = |text: &String| (!text.is_empty()).then(|| ast::Ident::new(text.as_str()));
        let there = ast::ObjectName {
            server: None,
            database: part(database),
            schema: part(schema),
            ..ast::ObjectName::simple(ast::Ident::new(object.as_str()))
        };
        Some((server.clone(), there))
    }

    /// The procedure or scalar function of that name: EXECUTE takes both.
    pub(super) fn resolve_callable(
        &mut self,
        from: &ModuleIdentity,
        name: &ast::ObjectName,
    ) -> Result<(Arc<DatabaseEntry>, Arc<Program>)> {
        // A batch looks where USE has put it, a module in its own database.
        let database = if from.object_id == 0 { self.info.current_database().id } else { from.database };
        let mut scope = Scope::bare(self.info, database);
        scope.identity.schema_id = from.schema_id;
        let parts = NameParts {
            database: name.database.as_ref().map(|i| i.text.as_str()),
            schema: name.schema.as_ref().map(|i| i.text.as_str()),
            object: &name.name.text,
        };
        let found = scope.resolve(parts).or_else(|| self.shared_procedure(from, name));
        match found {
            Some((entry, Named::Module(module)))
                if matches!(module.kind, ModuleKind::Procedure | ModuleKind::ScalarFunction) =>
            {
                let program = match std::mem::take(&mut self.anew) {
                    true => modules::program_anew(self.info, &entry, &module)?,
                    false => modules::program(self.info, &entry, &module)?,
                };
                Ok((entry, program))
            }
            _ => Err(errors::no_procedure(name)),
        }
    }

    /// A procedure of master whose name begins with `sp_` is there in every database, and runs in the caller's.
    fn shared_procedure(
        &self,
        from: &ModuleIdentity,
        name: &ast::ObjectName,
    ) -> Option<(Arc<DatabaseEntry>, Named)> {
        if !is_shared(name) {
            return None;
        }
        let master = self.info.master().ok()?.id;
        if from.database == master && from.object_id != 0 {
            return None;
        }
        let parts = NameParts { database: Some("master"), schema: Some("dbo"), object: &name.name.text };
        Scope::bare(self.info, master).resolve(parts)
    }

    /// Calls a procedure; it runs in `entry`.
    pub fn call_program(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        program: &Arc<Program>,
        args: &[Argument],
    ) -> std::result::Result<Returned, Halt> {
        if self.info.nest_level() >= NEST_LEVEL_MAX {
            return Err(errors::nesting_level().into());
        }
        let mut frame = Frame::new(program, self.info.nest_level() + 1);
        let name = program.identity.name.clone().unwrap_or_default();
        let bound =
            bind_arguments(&program.parameters, &name, args, &mut frame, self.dates()).map_err(|mut e| {
                e.procedure = Some(name.to_string());
                e
            })?;
        let given = &frame.vars[..program.parameters.len()];
        if program.null_on_null_input && given.iter().any(Value::is_null) {
            let result = program.returns.map(|ty| (Value::Null, ty));
            return Ok(Returned { result, ..Returned::default() });
        }
        let cursor_of = |parameter: usize| {
            let name = crate::catalog::fold(&program.parameters[parameter].name);
            program.cursors.iter().position(|c| *c == name)
        };
        let status = self.enter(program, &mut frame, entry)?;
        let result = program.returns.map(|ty| (std::mem::take(&mut frame.result), ty));
        let mut returned = Returned { status, result, ..Returned::default() };
        for (at, parameter) in bound {
            let def = &program.parameters[parameter];
            if def.cursor {
                returned.cursors.push((at, cursor_of(parameter).and_then(|i| frame.cursors[i])));
            } else {
                returned.outputs.push((at, frame.vars[parameter].clone(), def.ty));
            }
        }
        Ok(returned)
    }

    /// Runs a module's program one level deeper: its temporary tables, SET options and scope identity end with it.
    fn enter(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        place: &Arc<DatabaseEntry>,
    ) -> std::result::Result<i32, Halt> {
        let info = self.info;
        let identity = info.identity_of_module(program)?;
        let before = info.transaction.borrow().count;
        let options = info.options.borrow().clone();
        let scope_identity = info.scope_identity.replace(None);
        let identity_insert = info.identity_insert.get();
        let in_proc = std::mem::replace(&mut self.in_proc, true);
        // The text of a remote call is at the level of a batch: who it becomes, and where it goes, the session stays.
        let of_the_client =
            in_proc && program.identity.kind == ProgramKind::Dynamic && info.modules.borrow().is_empty();
        let database = info.current_database();
        // It may say USE.
        let _stay =
            (program.identity.kind == ProgramKind::Dynamic).then(|| Stay::new(&info.shared, &database));
        info.modules.borrow_mut().push(program.identity.clone());
        if database.id != place.id && program.identity.kind == ProgramKind::Procedure {
            info.database.replace(Arc::clone(place));
        }
        let security = (!of_the_client).then(|| info.enter_security_level(identity));
        let entered = info.enter_program();
        let outcome = self.run(program, frame);
        security.into_iter().for_each(|level| info.leave_security_level(level));
        info.leave_program(program, &entered);
        info.modules.borrow_mut().pop();
        if !of_the_client {
            self.return_to(database, program.identity.kind);
        }
        self.in_proc = in_proc;
        self.hand_over_cursors(program, frame);
        self.leave_level(frame);
        info.scope_identity.set(scope_identity);
        info.identity_insert.set(identity_insert);
        if *info.options.borrow() != options {
            let isolation = options.isolation != info.options.borrow().isolation;
            info.change_options(|now| *now = options);
            if isolation {
                self.configure_txns();
            }
        }
        let status = outcome?;
        let after = info.transaction.borrow().count;
        if before != after && program.identity.kind == ProgramKind::Procedure && !self.raise_all {
            let mut e = errors::count_mismatch(before, after);
            e.procedure = program.identity.name.as_deref().map(str::to_owned);
            if self.try_depth > 0 {
                return Err(Halt::Raised(e));
            }
            self.report(&e);
            info.error.set(266);
        }
        Ok(status)
    }

    /// Puts the session back where it was before a call, and tells the client if a text has said USE.
    fn return_to(&mut self, database: Arc<DatabaseEntry>, kind: ProgramKind) {
        let left = self.info.current_database();
        if left.id == database.id {
            return;
        }
        if kind == ProgramKind::Procedure {
            self.info.database.replace(database);
            return;
        }
        let old = self.info.here();
        put_in(self.info, database);
        old.left_for(&self.info.here(), self.sink);
    }

    /// The cursors of CURSOR VARYING OUTPUT parameters go to the caller, and end with its level.
    fn hand_over_cursors(&self, program: &Program, frame: &Frame) {
        let mut cursors = self.info.cursors.borrow_mut();
        for parameter in program.parameters.iter().filter(|p| p.cursor) {
            let index = program.cursors.iter().position(|c| *c == crate::catalog::fold(&parameter.name));
            let assigned = index.and_then(|i| frame.cursors[i]);
            if let Some(cursor) = assigned.and_then(|id| cursors.get_mut(id))
                && cursor.level == frame.level
            {
                cursor.level = crate::cursor::local_level(frame.level.saturating_sub(1));
                cursor.name = Default::default();
            }
        }
    }

    /// Drops what belonged to a level that has ended.
    pub(super) fn leave_level(&mut self, frame: &Frame) {
        let gone = self.info.temp.borrow_mut().leave_level(frame.level.max(1));
        for table in gone {
            self.drop_storage(&table);
        }
        self.info.cursors.borrow_mut().leave_level(frame.level);
        let tables: Vec<_> =
            frame.tables.borrow().iter().skip(frame.borrowed_tables).flatten().cloned().collect();
        for table in tables {
            self.drop_storage(&table);
        }
    }

    /// Drops the trees of a temporary table or table variable whose scope has ended. An open transaction that wrote to
    /// them drops them when it ends.
    pub(crate) fn drop_storage(&mut self, table: &Arc<TableDef>) {
        let open = table.database == crate::engine::TABLE_VARIABLES
            || self.info.transaction.borrow().count > 0
            || matches!(self.txns, super::Txns::Lent(_));
        if open {
            self.info.forget_temporary(table);
            crate::modules::drop_trees(self.txns.as_dyn(), table);
            // What cannot be dropped is only space in tempdb.
            let _ = self.end_table_statement();
        } else {
            self.info.drop_temporary_storage(table);
        }
    }

    pub(super) fn exec_text(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        text: &Unit,
        run_as: Option<&(ast::Principal, Unit)>,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        let value = self.eval(program, frame, text)?;
        let text: Arc<str> = convert::display(&value).into();
        let Some((principal, name)) = run_as else {
            self.run_dynamic(text, "".into(), &[], &[])?;
            return Ok(());
        };
        let name = self.eval(program, frame, name)?;
        let depth = self.info.impersonated.borrow().len();
        self.impersonate(*principal, name.as_str().unwrap_or(""))?;
        let outcome = self.run_dynamic(text, "".into(), &[], &[]);
        self.info.revert_to(depth);
        outcome.map(|_| ())
    }

    /// Runs a text in a scope of its own: EXEC('…') and sp_executesql.
    pub fn run_dynamic(
        &mut self,
        text: Arc<str>,
        declarations: Arc<str>,
        parameters: &[ast::Parameter],
        args: &[Argument],
    ) -> std::result::Result<Returned, Halt> {
        if self.info.nest_level() >= NEST_LEVEL_MAX {
            return Err(errors::nesting_level().into());
        }
        let has_none = declarations.trim().is_empty() && parameters.is_empty() && args.is_empty();
        let (program, values) = if has_none {
            self.text_program(&text, true)?
        } else {
            (self.batch_program(&text, &declarations, parameters, true)?, Vec::new())
        };
        let mut frame = Frame::new(&program, self.info.nest_level() + 1);
        let bound = if program.parameterized.is_some() {
            frame.vars.splice(..values.len(), values);
            Vec::new()
        } else {
            bind_arguments(&program.parameters, "", args, &mut frame, self.dates())?
        };
        if let Some(status) = self.refused(&program, &frame)? {
            return Ok(Returned { status, ..Returned::default() });
        }
        let place = self.info.current_database();
        let status = self.enter(&program, &mut frame, &place)?;
        let mut returned = Returned { status, ..Returned::default() };
        for (at, parameter) in bound {
            returned.outputs.push((at, frame.vars[parameter].clone(), program.parameters[parameter].ty));
        }
        Ok(returned)
    }

    /// The program of a batch, from the cache when it is there. Declarations are parsed when `parameters` is empty.
    pub fn batch_program(
        &mut self,
        text: &Arc<str>,
        declarations: &Arc<str>,
        parameters: &[ast::Parameter],
        dynamic: bool,
    ) -> Result<Arc<Program>> {
        let key = self.batch_key(text, declarations, dynamic);
        if let Some(program) = self.info.engine.programs.batch(&key) {
            return Ok(program);
        }
        let batch = self.parse(text)?;
        let parsed;
        let parameters = if parameters.is_empty() && !declarations.trim().is_empty() {
            parsed = keel_parser::parse_parameters(declarations).map_err(parse_error)?;
            &parsed
        } else {
            parameters
        };
        let (program, keeps) = self.lower(&key, &batch, parameters)?;
        self.info.engine.programs.missed();
        if keeps {
            self.info.engine.programs.keep_program(key, &program, false);
        }
        Ok(program)
    }

    /// By what a text is found in the cache.
    pub(crate) fn batch_key(&self, text: &Arc<str>, declarations: &Arc<str>, dynamic: bool) -> BatchKey {
        let info = self.info;
        let entry = info.current_database();
        BatchKey {
            text: Arc::clone(text),
            parameters: Arc::clone(declarations),
            database: entry.id,
            schema: info.default_schema(&entry),
            switches: info.options.borrow().switches.0 & Switches::PLAN_AFFECTING.0,
            dynamic,
            encryption: deduce::version(info, &entry),
        }
    }

    /// The statements of a text.
    pub(crate) fn parse(&self, text: &str) -> Result<ast::Batch> {
        let quoted_identifier = self.info.on(Switches::QUOTED_IDENTIFIER);
        keel_parser::parse_batch(text, keel_parser::ParseOptions { quoted_identifier }).map_err(parse_error)
    }

    /// The program of a text's statements, and whether it may be kept.
    pub(crate) fn lower(
        &self,
        key: &BatchKey,
        batch: &ast::Batch,
        parameters: &[ast::Parameter],
    ) -> Result<(Arc<Program>, bool)> {
        let info = self.info;
        let options = TextOptions {
            quoted_identifier: info.on(Switches::QUOTED_IDENTIFIER),
            ansi_nulls: info.on(Switches::ANSI_NULLS),
        };
        let identity = ModuleIdentity {
            database: key.database,
            object_id: 0,
            schema_id: key.schema,
            name: None,
            kind: if key.dynamic { ProgramKind::Dynamic } else { ProgramKind::Batch },
        };
        let mut scope = Scope::bare(info, key.database);
        scope.identity.schema_id = key.schema;
        let program = lower_batch(identity, Arc::clone(&key.text), batch, parameters, options, &scope)?;
        let program = Arc::new(deduce::settled(info, program));
        // Types may have been looked up in the catalog; a text that names one of the user's is compiled each time.
        let keeps = scope.found.borrow().catalogs.is_empty();
        Ok((program, keeps))
    }
}

/// A parse error as the client sees it.
#[must_use]
#[allow(clippy::boxed_local, reason = "the parser's results carry boxes")]
pub fn parse_error(e: Box<keel_parser::ParseError>) -> Box<keel_types::SqlError> {
    let mut out = keel_types::SqlError::new(e.number, e.severity, e.state, e.message);
    out.line = e.line;
    out
}

/// A procedure's name from a string.
pub fn procedure_name(text: &str) -> Result<ast::ObjectName> {
    let ty = keel_parser::parse_type(text).map_err(|_| errors::no_procedure(text))?;
    Ok(ty.name)
}

/// An argument that its parameter's type does not take has an error of its own when it goes to a procedure.
fn argument_error(
    e: Box<keel_types::SqlError>,
    from: SqlType,
    to: SqlType,
    procedure: &str,
) -> Box<keel_types::SqlError> {
    if procedure.is_empty() || !matches!(e.number, 241 | 242 | 245 | 8115) {
        return e;
    }
    let text = format!("Error converting data type {} to {}.", from.name(), to.name());
    keel_types::SqlError::new(8114, 16, 5, text)
}

/// Whether a name without a database can be that of a procedure of master, which is there in every database.
fn is_shared(name: &ast::ObjectName) -> bool {
    let object = &name.name.text;
    name.database.is_none() && object.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("sp_"))
}

/// Puts arguments into a frame; gives, for each OUTPUT argument, its position and the parameter's.
pub(super) fn bind_arguments(
    parameters: &[ParameterDef],
    procedure: &str,
    args: &[Argument],
    frame: &mut Frame,
    dates: Dates,
) -> Result<Vec<(usize, usize)>> {
    let mut outputs = Vec::new();
    let mut given = smallvec::SmallVec::<[bool; 16]>::from_elem(false, parameters.len());
    for (at, arg) in args.iter().enumerate() {
        let parameter = if arg.name.is_empty() {
            if at >= parameters.len() {
                return Err(errors::too_many_arguments(procedure));
            }
            at
        } else {
            parameters
                .iter()
                .position(|p| p.name.eq_ignore_ascii_case(&arg.name))
                .ok_or_else(|| errors::no_such_parameter(&arg.name, procedure))?
        };
        let def = &parameters[parameter];
        if std::mem::replace(&mut given[parameter], true) {
            return Err(errors::parameter_twice(&def.name));
        }
        if let Some((index, _)) = &def.table {
            let mut tables = frame.tables.borrow_mut();
            if tables.len() <= *index {
                tables.resize(*index + 1, None);
            }
            tables[*index] = arg.table.clone();
            frame.borrowed_tables = frame.borrowed_tables.max(*index + 1);
            continue;
        }
        if def.cursor {
            outputs.push((at, parameter));
            continue;
        }
        match &arg.value {
            Some(value) => {
                let converted = convert::assign(value.clone(), arg.ty, def.ty, dates);
                frame.vars[parameter] =
                    converted.map_err(|e| argument_error(e, arg.ty, def.ty, procedure))?;
            }
            None => given[parameter] = false,
        }
        if arg.output {
            if !def.output && !procedure.is_empty() {
                return Err(errors::not_output(&def.name));
            }
            outputs.push((at, parameter));
        }
    }
    for (i, def) in parameters.iter().enumerate() {
        if given[i] || def.table.is_some() || def.cursor {
            continue;
        }
        match &def.default {
            Some(value) => frame.vars[i] = value.clone(),
            None if procedure.is_empty() => {
                let text = format!(
                    "The parameterized query '' expects the parameter '{}', which was not supplied.",
                    def.name
                );
                return Err(keel_types::SqlError::new(8178, 16, 1, text));
            }
            None => return Err(errors::parameter_missing(procedure, &def.name)),
        }
    }
    Ok(outputs)
}
