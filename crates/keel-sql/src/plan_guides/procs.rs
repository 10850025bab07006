//! `sp_create_plan_guide`, `sp_control_plan_guide`, and what is wrong with a guide.

use super::{PlanGuideDef, declared, normal_form};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, Named, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::parameterization::template_mode;
use crate::procs::{Outcome, argument, ok, string};
use crate::program::{Op, Program, UnitSource};
use crate::query_store::{parse_hints, with_hints};
use crate::run::{Argument, Runner, procedure_name};
use crate::session::info::Info;
use crate::session::scope::{FrameTables, Scope};
use keel_parser::ast::{self, QueryHint, StatementKind};
use keel_query::catalog::{Catalog as _, ObjectId};
use keel_query::plan::Dml;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

/// Longest name, characters.
const NAME_MAX: usize = 124;

/// An error of making a guide: what is wrong stands behind the name.
fn cannot_create(number: i32, name: &str, why: &str) -> Box<SqlError> {
    SqlError::new(number, 16, 1, format!("Cannot create plan guide '{name}' because {why}"))
}

/// 10519
fn hints_do_not_fit(name: &str) -> Box<SqlError> {
    let why = "the hints specified in @hints cannot be applied to the statement specified by either @stmt or @statement_start_offset. Verify that the hints can be applied to the statement.";
    cannot_create(10519, name, why)
}

/// Error 10513 for a module that a guide is about. `verb` is what is to be done to it, and `kind` what it is.
pub(crate) fn refuse_guided(
    runner: &Runner<'_>,
    entry: &Arc<DatabaseEntry>,
    (verb, kind, name): (&str, &str, &str),
    module: ObjectId,
) -> Result<()> {
    match guide_of(runner, entry, module) {
        None => Ok(()),
        Some(guide) => Err(is_guided(10513, &format!("{verb} {kind} '{name}'"), "it", &guide)),
    }
}

/// Error 10526 for a table or view to be dropped with a trigger that a guide is about.
pub(crate) fn refuse_guided_triggers(
    runner: &Runner<'_>,
    entry: &Arc<DatabaseEntry>,
    (kind, name): (&str, &str),
    parent: ObjectId,
) -> Result<()> {
    for trigger in runner.info.picture(entry).triggers(parent) {
        if let Some(guide) = guide_of(runner, entry, trigger.object_id) {
            let its = format!("its trigger '{}'", trigger.name);
            return Err(is_guided(10526, &format!("drop {kind} '{name}'"), &its, &guide));
        }
    }
    Ok(())
}

fn guide_of(runner: &Runner<'_>, entry: &Arc<DatabaseEntry>, module: ObjectId) -> Option<Arc<PlanGuideDef>> {
    runner.info.picture(entry).plan_guides().find(|guide| guide.object == module).cloned()
}

fn is_guided(number: i32, what: &str, which: &str, guide: &PlanGuideDef) -> Box<SqlError> {
    let text = format!(
        "Cannot {what} because {which} is referenced by plan guide '{}'. Use sp_control_plan_guide to drop the plan guide first. Record the plan guide definition for future use if needed.",
        guide.name
    );
    SqlError::new(number, 16, 1, text)
}

/// What a call of `sp_create_plan_guide` says.
struct Call {
    name: String,
    statement: String,
    kind: String,
    scope: Option<String>,
    parameters: Option<String>,
    hints: Option<String>,
}

impl Call {
    /// Errors 10501, 10509, 10520, 10521, 10523, 10528 and 10533, and 40517 for what is not there.
    fn of(args: &[Argument]) -> Result<Call> {
        let given = |name: &str, at: usize| string(args, name, at);
        let name = given("name", 0).unwrap_or_default();
        let call = Call {
            statement: given("stmt", 1).unwrap_or_default(),
            kind: given("type", 2).unwrap_or_default().trim().to_uppercase(),
            scope: given("module_or_batch", 3),
            parameters: given("params", 4),
            hints: given("hints", 5),
            name,
        };
        let name = &*call.name;
        if name.is_empty() || argument(args, "type", 2).is_none() {
            return Err(errors::parameter_missing(
                "sp_create_plan_guide",
                if name.is_empty() { "@name" } else { "@type" },
            ));
        }
        if name.starts_with('#') {
            return Err(cannot_create(
                10528,
                name,
                "its name is invalid. Plan guide name cannot begin with a '#' character.",
            ));
        }
        if name.chars().count() > NAME_MAX {
            return Err(cannot_create(
                10533,
                name,
                "the plan guide name exceeds 124 characters, the maximum number allowed. Specify a name that contains fewer than 125 characters.",
            ));
        }
        call.check_kind()?;
        Ok(call)
    }

    fn check_kind(&self) -> Result<()> {
        let name = &*self.name;
        match (&*self.kind, &self.scope, &self.parameters) {
            ("TEMPLATE", Some(_), _) => {
                let why = "@type was specified as 'TEMPLATE' and a non-NULL value is specified for the parameter '@module_or_batch'. This type requires a NULL value for the parameter. Specify NULL for the parameter, or change the type to one that allows a non-NULL value for the parameter.";
                Err(cannot_create(10520, name, why))
            }
            ("TEMPLATE", _, None) => {
                let why = "@type was specified as 'TEMPLATE' and the parameter '@params' is NULL. This type requires a non-NULL value for the parameter. Specify a non-NULL value for the parameter, or change the type to one that allows a NULL value for the parameter.";
                Err(cannot_create(10521, name, why))
            }
            ("TEMPLATE", ..) if self.hints.as_deref().and_then(template_mode).is_none() => {
                let why = "@hints has illegal value. @hints must be OPTION(PARAMETERIZATION FORCED) or OPTION(PARAMETERIZATION SIMPLE) if @type is 'template'.";
                Err(cannot_create(10523, name, why))
            }
            ("OBJECT", None, _) => {
                let why = "@type was specified as 'OBJECT' and the parameter '@module_or_batch' is NULL. This type requires a non-NULL value for the parameter. Specify a non-NULL value for the parameter, or change the type to one that allows a NULL value for the parameter.";
                Err(cannot_create(10521, name, why))
            }
            ("OBJECT", _, Some(_)) => {
                let why = "@type was specified as 'OBJECT' and a non-NULL value is specified for the parameter '@params'. This type requires a NULL value for the parameter. Specify NULL for the parameter, or change the type to one that allows a non-NULL value for the parameter.";
                Err(cannot_create(10520, name, why))
            }
            ("OBJECT" | "SQL" | "TEMPLATE", ..) => Ok(()),
            (kind, ..) => {
                Err(cannot_create(10501, &self.name, &format!("type '{kind}' provided is not allowed.")))
            }
        }
    }

    /// The one statement. Errors 10506 and 10509.
    fn parsed(&self) -> Result<()> {
        let parse = keel_parser::ParseOptions { quoted_identifier: true };
        let batch = keel_parser::parse_batch(&self.statement, parse);
        let statements = batch.map(|batch| batch.statements).unwrap_or_default();
        match &statements[..] {
            [_, _, ..] => {
                Err(cannot_create(10506, &self.name, "parameter @stmt has more than one statement."))
            }
            [statement] if with_hints(statement, Vec::new()).is_some() => Ok(()),
            _ => Err(cannot_create(
                10509,
                &self.name,
                "the statement specified by @stmt or @statement_start_offset either contains a syntax error or is ineligible for use in a plan guide. Provide a single valid Transact-SQL statement or a valid starting position of the statement within the batch. To obtain a valid starting position, query the 'statement_start_offset' column in the sys.dm_exec_query_stats dynamic management function.",
            )),
        }
    }

    /// The hints, if some are given. Errors 10504 and 10519, and 40517 for plans.
    fn parsed_hints(&self) -> Result<Vec<QueryHint>> {
        let Some(hints) = &self.hints else { return Ok(Vec::new()) };
        if hints.trim_start().starts_with('<') {
            return Err(errors::not_supported("A plan guide with a plan"));
        }
        let is_option = hints.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("OPTION"));
        let Some(parsed) = parse_hints(hints).ok().filter(|parsed| is_option && !parsed.is_empty()) else {
            let why = "parameter @hints is incorrect. Use N'OPTION ( <query_hint> [ ,...n ] )'.";
            return Err(cannot_create(10504, &self.name, why));
        };
        for hint in &parsed {
            match hint {
                QueryHint::Other(words) if words.starts_with("USE PLAN") => {
                    return Err(errors::not_supported("A plan guide with a plan"));
                }
                QueryHint::Other(words) if words.starts_with("PARAMETERIZATION") => {
                    return Err(hints_do_not_fit(&self.name));
                }
                _ => {}
            }
        }
        Ok(parsed)
    }

    /// The module of a guide of type OBJECT. Errors 10505, 10515 and 10527.
    fn module(&self, runner: &Runner<'_>, entry: &Arc<DatabaseEntry>) -> Result<ObjectId> {
        let written = self.scope.as_deref().unwrap_or_default();
        let name =
            procedure_name(written).ok().filter(|name| name.database.is_none() && name.server.is_none());
        let Some(name) = name else {
            let why = format!(
                "value '{written}' provided for @module_or_batch is not legal two-part name. Use 'schema_name.object_name'."
            );
            return Err(cannot_create(10505, &self.name, &why));
        };
        if name.is_temporary() {
            return Err(cannot_create(
                10527,
                &self.name,
                &format!("the object '{written}' is a temporary object."),
            ));
        }
        let picture = runner.info.picture(entry);
        let schema = match &name.schema {
            Some(schema) => picture.schema_id(&schema.text),
            None => Some(runner.info.default_schema(entry)),
        };
        let found = schema.and_then(|schema| picture.named(schema, &name.name.text));
        match found {
            Some(Named::Module(module))
                if runner.info.may(entry, "ALTER", SecurableRef::Object(module.object_id)) =>
            {
                Ok(module.object_id)
            }
            _ => Err(cannot_create(
                10515,
                &self.name,
                &format!("the module '{written}' does not exist or you do not have needed permission."),
            )),
        }
    }

    /// The batch or module, with the statement in it. Errors 10507, 10516 and 10534.
    fn program(&self, info: &Info, entry: &Arc<DatabaseEntry>, module: ObjectId) -> Result<Arc<Program>> {
        if module != 0 {
            let def = info.picture(entry).module_by_id(module).cloned();
            let def =
                def.ok_or_else(|| cannot_create(10516, &self.name, "@module_or_batch can not be compiled."))?;
            return crate::modules::program(info, entry, &def);
        }
        let declarations = self.parameters.as_deref().unwrap_or_default();
        if crate::describe::parameters(declarations).is_err() {
            let why = "the value specified for @params is invalid. Specify the value in the form <parameter_name> <parameter_type>, or specify NULL.";
            return Err(cannot_create(10534, &self.name, why));
        }
        let batch = self.scope.as_deref().unwrap_or(&self.statement);
        crate::describe::program(info, batch, declarations)
            .map_err(|_| cannot_create(10516, &self.name, "@module_or_batch can not be compiled."))
    }
}

/// The statement of a program that a guide is about.
fn find<'p>(program: &'p Program, statement: &str) -> Option<&'p ast::Statement> {
    let wanted = normal_form(statement, program.quoted_identifier);
    program.code.iter().find_map(|instruction| {
        let (Op::Select { query: unit, .. } | Op::Dml { statement: unit, .. }) = &instruction.op else {
            return None;
        };
        let UnitSource::Statement(statement) = &unit.source else { return None };
        let own = normal_form(statement.span.text(&program.text), program.quoted_identifier);
        (own == wanted).then_some(statement)
    })
}

/// What compiling a statement of a program says.
fn compiles(info: &Info, program: &Program, statement: &ast::Statement) -> Result<()> {
    let tables = FrameTables::default();
    let scope = Scope::new(info, program, &tables);
    match &statement.kind {
        StatementKind::Select(select) => keel_query::compile_select(&scope, select),
        StatementKind::Insert(i) => keel_query::compile_dml(&scope, Dml::Insert(i)),
        StatementKind::Update(u) => keel_query::compile_dml(&scope, Dml::Update(u)),
        StatementKind::Delete(d) => keel_query::compile_dml(&scope, Dml::Delete(d)),
        StatementKind::Merge(m) => keel_query::compile_dml(&scope, Dml::Merge(m)),
        _ => return Ok(()),
    }
    .map(drop)
}

/// `sp_create_plan_guide @name, @stmt, @type, @module_or_batch, @params, @hints`
pub(crate) fn sp_create_plan_guide(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let call = Call::of(args)?;
    let entry = runner.info.current_database();
    if call.kind != "OBJECT" && !runner.info.may(&entry, "ALTER", SecurableRef::Database) {
        let why = "you do not have needed permission. Alter database permission required.";
        return Err(cannot_create(10517, &call.name, why).into());
    }
    runner.in_statement(|runner| create(runner, &entry, &call))?;
    ok()
}

fn create(runner: &mut Runner<'_>, entry: &Arc<DatabaseEntry>, call: &Call) -> Result<()> {
    runner.lock_catalog(entry)?;
    call.parsed()?;
    let template = call.kind == "TEMPLATE";
    let hints = if template { Vec::new() } else { call.parsed_hints()? };
    let object = if call.kind == "OBJECT" { call.module(runner, entry)? } else { 0 };
    let info = runner.info;
    let program = call.program(info, entry, object)?;
    let Some(statement) = find(&program, &call.statement) else {
        let why = "the statement specified by @stmt and @module_or_batch, or by @plan_handle and @statement_start_offset, does not match any statement in the specified module or batch. Modify the values to match a statement in the module or batch.";
        return Err(cannot_create(10507, &call.name, why));
    };
    // What cannot be compiled either way, as tables are yet to be made, is not the hints' fault.
    let hinted = if template { None } else { with_hints(statement, hints) };
    let fits = hinted.is_none_or(|hinted| compiles(info, &program, &hinted).is_ok());
    if !fits && compiles(info, &program, statement).is_ok() {
        return Err(hints_do_not_fit(&call.name));
    }
    let now = info.engine.now_local();
    let picture = info.picture(entry);
    let def = PlanGuideDef {
        id: entry.allocate_object(),
        name: call.name.clone(),
        statement: call.statement.clone(),
        object,
        batch: if object == 0 { call.scope.clone() } else { None },
        parameters: call.parameters.clone(),
        declared: if object == 0 { declared(&program) } else { String::new() },
        template,
        hints: call.hints.clone(),
        disabled: false,
        created: now,
        modified: now,
    };
    if picture.plan_guides().any(|other| crate::views::same(&other.name, &def.name)) {
        let why = "there is already a plan guide with that name in the database. Use a unique name.";
        return Err(cannot_create(10510, &call.name, why));
    }
    if let Some(other) = picture.plan_guides().find(|other| !other.disabled && other.is_about(&def)) {
        let why = format!(
            "the statement specified by @stmt and @module_or_batch, or by @plan_handle and @statement_start_offset, matches the existing plan guide '{}' in the database. Drop the existing plan guide before creating the new plan guide.",
            other.name
        );
        return Err(cannot_create(10502, &call.name, &why));
    }
    forget_texts(runner, entry, &def);
    runner.put(entry, CatalogObject::PlanGuide(Arc::new(def)))
}

/// Texts are parameterized otherwise from now on, where a guide is a template's.
fn forget_texts(runner: &Runner<'_>, entry: &Arc<DatabaseEntry>, guide: &PlanGuideDef) {
    if guide.template {
        runner.info.engine.programs.forget(entry.id);
    }
}

/// `sp_create_plan_guide_from_handle`: plans that are cached are not kept in guides.
pub(crate) fn sp_create_plan_guide_from_handle(_: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    Err(errors::not_supported("A plan guide with a plan").into())
}

/// `sp_control_plan_guide @operation, @name`
pub(crate) fn sp_control_plan_guide(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let operation = string(args, "operation", 0).unwrap_or_default().trim().to_uppercase();
    let (verb, all) = match operation.strip_suffix("ALL").map(str::trim_end) {
        Some(verb) => (verb.to_owned(), true),
        None => (operation.clone(), false),
    };
    if !["DROP", "ENABLE", "DISABLE"].contains(&&*verb) {
        return Err(SqlError::new(10503, 16, 1, format!("Operation '{operation}' is not allowed.")).into());
    }
    let name = string(args, "name", 1).unwrap_or_default();
    let entry = runner.info.current_database();
    runner.in_statement(|runner| {
        runner.lock_catalog(&entry)?;
        let picture = runner.info.picture(&entry);
        let of_name = |guide: &&Arc<PlanGuideDef>| all || crate::views::same(&guide.name, &name);
        let guides: Vec<_> = picture.plan_guides().filter(of_name).cloned().collect();
        if guides.is_empty() && !all {
            let text = format!(
                "Cannot '{verb}' plan guide '{name}' because it does not exist or you do not have permission. Verify plan guide name and database of current session, and that you have needed permission."
            );
            return Err(SqlError::new(10508, 16, 1, text));
        }
        guides.iter().try_for_each(|guide| control(runner, &entry, &verb, guide))
    })?;
    ok()
}

/// Errors 10518 and 10537.
fn control(
    runner: &mut Runner<'_>,
    entry: &Arc<DatabaseEntry>,
    verb: &str,
    guide: &Arc<PlanGuideDef>,
) -> Result<()> {
    if !may_control(runner.info, entry, guide) {
        let text = format!(
            "Cannot execute sp_control_plan_guide because of insufficient permissions to control plan guide '{}'. Alter permission on object referenced by plan guide, or alter database permission required.",
            guide.name
        );
        return Err(SqlError::new(10518, 16, 1, text));
    }
    forget_texts(runner, entry, guide);
    if verb == "DROP" {
        let key = CatalogKey { class: object_class::PLAN_GUIDE, id: guide.id };
        return runner.change(entry, CatalogOp::Remove(key));
    }
    let disabled = verb == "DISABLE";
    if guide.disabled == disabled {
        return Ok(());
    }
    let picture = runner.info.picture(entry);
    let other = picture.plan_guides().find(|o| o.id != guide.id && !o.disabled && o.is_about(guide));
    if let Some(other) = other.filter(|_| !disabled) {
        let text = format!(
            "Cannot enable plan guide '{}' because the enabled plan guide '{}' contains the same scope and starting offset value of the statement. Disable the existing plan guide before enabling the specified plan guide.",
            guide.name, other.name
        );
        return Err(SqlError::new(10537, 16, 1, text));
    }
    let modified = runner.info.engine.now_local();
    let def = PlanGuideDef { disabled, modified, ..(**guide).clone() };
    runner.put(entry, CatalogObject::PlanGuide(Arc::new(def)))
}

/// Whether the session may switch or drop a guide, and look into it.
fn may_control(info: &Info, entry: &Arc<DatabaseEntry>, guide: &PlanGuideDef) -> bool {
    let of_module = guide.object != 0 && info.may(entry, "ALTER", SecurableRef::Object(guide.object));
    of_module || info.may(entry, "ALTER", SecurableRef::Database)
}

/// `sys.fn_validate_plan_guide`: what compiling the statement with the guide's hints says. Error 10538 for a guide that is not there.
pub(crate) fn validate(
    info: &Info,
    entry: &Arc<DatabaseEntry>,
    id: Option<i32>,
) -> Result<Option<Box<SqlError>>> {
    let picture = info.picture(entry);
    let guide = picture.plan_guides().find(|guide| Some(guide.id) == id);
    let Some(guide) = guide.filter(|guide| may_control(info, entry, guide)).cloned() else {
        let text = "Cannot find the plan guide either because the specified plan guide ID is NULL or invalid, or you do not have permission on the object referenced by the plan guide. Verify that the plan guide ID is valid, the current session is set to the correct database context, and you have ALTER permission on the object referenced by the plan guide or ALTER DATABASE permission.";
        return Err(SqlError::new(10538, 16, 1, text.to_owned()));
    };
    let call = Call {
        name: guide.name.clone(),
        statement: guide.statement.clone(),
        kind: String::new(),
        scope: guide.batch.clone(),
        parameters: guide.parameters.clone(),
        hints: guide.hints.clone(),
    };
    let checked = call.program(info, entry, guide.object).and_then(|program| {
        if guide.template {
            return Ok(());
        }
        let hints = call.parsed_hints()?;
        let hinted = find(&program, &guide.statement).and_then(|statement| with_hints(statement, hints));
        hinted.map_or(Ok(()), |hinted| compiles(info, &program, &hinted))
    });
    Ok(checked.err())
}
