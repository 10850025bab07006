//! CREATE and ALTER of views, procedures, functions and triggers; what only triggers have is in [`super::trigger`].

use super::trigger::target_name;
use super::{Place, module_rules};
use crate::catalog::{CatalogObject, Named};
use crate::errors;
use crate::modules;
use crate::program::Program;
use crate::run::Runner;
use crate::session::info::{Occasion, RunningTrigger, TriggerRows};
use crate::session::options::Switches;
use crate::session::temp::TempProcedure;
use keel_parser::ast::{self, ModuleVerb, Statement, StatementKind};
use keel_parser::lexer::Tok;
use keel_query::catalog::{EXECUTE_AS_OWNER, ModuleDef, ModuleKind, TableDef};
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    pub(super) fn create_module(&mut self, program: &Program, statement: &Statement) -> Result<()> {
        let (verb, name, kind) = match &statement.kind {
            StatementKind::CreateView(v) => (v.verb, &v.name, ModuleKind::View),
            StatementKind::CreateProcedure(p) => (p.verb, &p.name, ModuleKind::Procedure),
            StatementKind::CreateFunction(f) => {
                let kind = match f.returns {
                    ast::FunctionReturns::Scalar(_) => ModuleKind::ScalarFunction,
                    ast::FunctionReturns::Inline => ModuleKind::InlineTableFunction,
                    ast::FunctionReturns::Table { .. } => ModuleKind::TableFunction,
                };
                (f.verb, &f.name, kind)
            }
            StatementKind::CreateTrigger(t) => (t.verb, &t.name, ModuleKind::Trigger),
            _ => return Err(errors::not_supported("This statement")),
        };
        let mut place = self.place(program, name)?;
        let facts = match &statement.kind {
            StatementKind::CreateTrigger(t) => Some(self.trigger_facts(program, t)?),
            _ => None,
        };
        if let Some(facts) = &facts {
            place.entry = Arc::clone(&facts.entry);
            place.schema_id = facts.schema_id;
        }
        let temporary = name.is_temporary() && !name.is_global_temporary() && kind == ModuleKind::Procedure;
        let existing = if temporary {
            let temp = self.info.temp.borrow();
            temp.find_procedure(&place.name).map(|p| Named::Module(Arc::clone(&p.module)))
        } else {
            self.lock_name(&place)?;
            self.info.picture(&place.entry).named(place.schema_id, &place.name)
        };
        let old = match (existing, verb) {
            (None, ModuleVerb::Alter) => return Err(errors::no_module_to_alter(name)),
            (None, _) => {
                place.refuse_system_schema()?;
                None
            }
            (Some(Named::Module(old)), ModuleVerb::Alter | ModuleVerb::CreateOrAlter)
                if same_family(old.kind, kind) =>
            {
                Some(old)
            }
            (Some(_), ModuleVerb::Create) => return Err(exists(&place, kind)),
            (Some(_), _) => {
                return Err(SqlError::new(
                    2010,
                    16,
                    1,
                    format!("Cannot perform alter on '{name}' because it is an incompatible object type."),
                ));
            }
        };
        if let (StatementKind::CreateTrigger(t), Some(facts)) = (&statement.kind, &facts) {
            if old.as_ref().is_some_and(|o| o.parent != facts.parent) {
                return Err(errors::trigger_of_another(&place.name, target_name(t)));
            }
            self.check_instead_of(&place, old.as_ref().map(|o| o.object_id), t, facts)?;
        }
        let now = self.info.engine.now_local();
        let options = self.info.options.borrow().clone();
        let module = ModuleDef {
            object_id: old.as_ref().map_or_else(|| place.entry.allocate_object(), |o| o.object_id),
            schema_id: place.schema_id,
            name: place.name.clone(),
            kind,
            text: module_text(program, statement),
            ansi_nulls: options.on(Switches::ANSI_NULLS),
            quoted_identifier: options.on(Switches::QUOTED_IDENTIFIER),
            parent: facts.as_ref().map_or(0, |f| f.parent),
            trigger: facts.as_ref().map(|f| f.rows),
            events: facts.and_then(|f| f.events),
            execute_as: self.runs_as(&place, statement)?,
            // Those of another text are none of this one.
            signatures: Vec::new(),
            rows: None,
            startup: old.as_ref().is_some_and(|o| o.startup),
            created: old.as_ref().map_or(now, |o| o.created),
            modified: now,
        };
        self.check_module(&place, &module, statement)?;
        self.check_binding(&place, &module, statement)?;
        if temporary {
            self.before_temp_change();
            let procedure = TempProcedure { database: place.entry.id, module: Arc::new(module) };
            self.info.temp.borrow_mut().put_procedure(procedure);
            return Ok(());
        }
        if let Some(old) = &old {
            match &old.rows {
                Some(rows) => self.lock_stored(rows)?,
                None => self.lock_schema(place.entry.id, module.object_id)?,
            }
            if crate::governor::classifier_is(&self.info.engine, place.entry.id, module.object_id) {
                return Err(crate::governor::errors::is_classifier("alter", &module.name));
            }
            self.refuse_bound("ALTER", name, &place.entry, module.object_id)?;
            let what = ("alter", kind_word(kind), &*module.name);
            crate::plan_guides::refuse_guided(self, &place.entry, what, module.object_id)?;
        }
        if let Some(rows) = old.as_ref().and_then(|o| o.rows.as_ref()) {
            self.forget_view_rows(rows)?;
        }
        self.put(&place.entry, CatalogObject::Module(Arc::new(module)))
    }

    /// WITH EXECUTE AS of a module: who it will run as.
    fn runs_as(&self, place: &Place, statement: &Statement) -> Result<Option<i32>> {
        if let StatementKind::CreateTrigger(t) = &statement.kind
            && t.target == ast::TriggerTarget::AllServer
        {
            return self.login_to_be(&t.options);
        }
        let options = match &statement.kind {
            StatementKind::CreateProcedure(p) => &p.options,
            StatementKind::CreateFunction(f) => &f.options,
            StatementKind::CreateTrigger(t) => &t.options,
            _ => return Ok(None),
        };
        Ok(match &options.execute_as {
            None | Some((ast::Principal::Caller, _)) => None,
            Some((ast::Principal::Owner, _)) => Some(EXECUTE_AS_OWNER),
            Some((ast::Principal::User, Some(name))) => {
                Some(self.user_to_be(&place.entry, name)?.principal_id)
            }
            Some((ast::Principal::SelfUser, _)) => self.info.token_in(&place.entry).map(|t| t.user),
            Some(_) => return Err(errors::not_supported("EXECUTE AS LOGIN of a module")),
        })
    }

    /// Compiles what can be compiled now: control flow, variables and types of a body, its statements over tables that are
    /// there, the query of a view or inline function.
    fn check_module(&mut self, place: &Place, module: &ModuleDef, statement: &Statement) -> Result<()> {
        let named = |e| errors::located(e, 1, Some(&module.name));
        if let StatementKind::CreateView(v) = &statement.kind {
            let mut scope = crate::session::scope::Scope::bare(self.info, place.entry.id);
            scope.identity.schema_id = place.schema_id;
            keel_query::refuse_loose_order(v.query.query()).map_err(named)?;
            let plan = keel_query::compile_select(&scope, &v.query.select).map_err(named)?;
            if !scope.found.borrow().temporary.is_empty() {
                return Err(named(errors::module_of_temporary()));
            }
            return module_rules::check_view_columns(v, plan.columns()).map_err(named);
        }
        if let StatementKind::CreateFunction(f) = &statement.kind {
            self.report_all(module_rules::function_faults(f, module), module)?;
        }
        let program = modules::lower(self.info, place.entry.id, module)?;
        if let StatementKind::CreateFunction(f) = &statement.kind
            && let ast::FunctionBody::Inline(query) = &f.body
        {
            keel_query::refuse_loose_order(query.query()).map_err(named)?;
            let plan = self.check_query(&program, &query.select).map_err(named)?;
            return module_rules::check_function_columns(&f.name, plan.columns()).map_err(named);
        }
        let parent = match module.kind {
            ModuleKind::Trigger => self.info.table_by_id(place.entry.id, module.parent),
            _ => None,
        };
        let Some(table) = parent else { return self.check_names(&program) };
        self.report_all(module_rules::unknown_updates(module, &table), module)?;
        self.as_if_fired(place, module, table, |runner| runner.check_names(&program))
    }

    /// Looks at a trigger's statements while `inserted` and `deleted` have the columns of its table.
    fn as_if_fired(
        &mut self,
        place: &Place,
        module: &ModuleDef,
        table: Arc<TableDef>,
        look: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let none = Arc::new(Vec::new());
        let rows = TriggerRows { table, inserted: Arc::clone(&none), deleted: none, updated: Vec::new() };
        let occasion = Occasion::After(rows);
        let fired = RunningTrigger { database: place.entry.id, trigger: module.object_id, occasion };
        self.info.triggers.borrow_mut().push(fired);
        let outcome = look(self);
        self.info.triggers.borrow_mut().pop();
        outcome
    }

    /// Tells all faults of a module, the last as the error.
    fn report_all(&mut self, mut faults: Vec<SqlError>, module: &ModuleDef) -> Result<()> {
        faults.iter_mut().for_each(|e| e.procedure = Some(module.name.clone()));
        let Some(last) = faults.pop() else { return Ok(()) };
        faults.iter().for_each(|e| self.report(e));
        Err(Box::new(last))
    }
}

/// The CREATE statement as sent: the whole batch, comments included, is what the product keeps.
pub(super) fn module_text(program: &Program, statement: &Statement) -> String {
    let before = program.text.get(..statement.span.start as usize).unwrap_or_default();
    let tokens = keel_parser::lexer::tokenize(before, true).unwrap_or_default();
    let first = tokens.iter().all(|t| matches!(t.tok, Tok::Semi | Tok::Eof));
    // A view inside of CREATE SCHEMA has its own words only.
    let whole = program.identity.object_id == 0 && first;
    as_created(if whole { &program.text } else { statement.span.text(&program.text) })
}

/// The text as if it had been CREATE from the beginning: ALTER becomes CREATE, and of CREATE OR ALTER the last two words go.
fn as_created(text: &str) -> String {
    let Ok(tokens) = keel_parser::lexer::tokenize(text, true) else { return text.to_owned() };
    let mut words = tokens.iter().map(|t| t.start as usize..t.end as usize);
    let is = |at: &std::ops::Range<usize>, word: &str| text[at.clone()].eq_ignore_ascii_case(word);
    match (words.next(), words.next(), words.next()) {
        (Some(verb), ..) if is(&verb, "ALTER") => [&text[..verb.start], "CREATE", &text[verb.end..]].concat(),
        (Some(_), Some(or), Some(alter)) if is(&or, "OR") && is(&alter, "ALTER") => {
            [&text[..or.start], &text[or.end..alter.start], &text[alter.end..]].concat()
        }
        _ => text.to_owned(),
    }
}

fn same_family(a: ModuleKind, b: ModuleKind) -> bool {
    a == b
}

/// What messages call a module.
pub(crate) fn kind_word(kind: ModuleKind) -> &'static str {
    match kind {
        ModuleKind::View => "view",
        ModuleKind::Procedure => "procedure",
        ModuleKind::Trigger => "trigger",
        _ => "function",
    }
}

fn exists(place: &Place, kind: ModuleKind) -> Box<SqlError> {
    let state = match kind {
        ModuleKind::Trigger => 2,
        ModuleKind::View | ModuleKind::Procedure => 3,
        _ => 3,
    };
    let mut e = errors::object_exists(&place.name);
    e.state = state;
    e
}
