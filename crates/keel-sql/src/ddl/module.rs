//! CREATE and ALTER of views, procedures, functions and triggers.

use super::Place;
use crate::catalog::{CatalogObject, Named};
use crate::errors;
use crate::modules;
use crate::program::Program;
use crate::run::Runner;
use crate::session::options::Switches;
use crate::session::temp::TempProcedure;
use keel_parser::ast::{self, ModuleVerb, Statement, StatementKind};
use keel_query::catalog::{Catalog as _, EXECUTE_AS_OWNER, ModuleDef, ModuleKind, TriggerDef};
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
        let (parent, trigger) = match &statement.kind {
            StatementKind::CreateTrigger(t) => {
                let (table, schema_id, def) = self.trigger_facts(program, t)?;
                place.schema_id = schema_id;
                (table, Some(def))
            }
            _ => (0, None),
        };
        let temporary = name.is_temporary() && !name.is_global_temporary() && kind == ModuleKind::Procedure;
        let existing = if temporary {
            let temp = self.info.temp.borrow();
            temp.find_procedure(&place.name).map(|p| Named::Module(Arc::clone(&p.module)))
        } else {
            self.lock_name(&place)?;
            self.info.picture(&place.entry).named(place.schema_id, &place.name)
        };
        let old = match (existing, verb) {
            (None, ModuleVerb::Alter) => return Err(errors::invalid_object_name(name)),
            (None, _) => None,
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
        if let (StatementKind::CreateTrigger(t), Some(def)) = (&statement.kind, trigger) {
            self.check_instead_of(&place, old.as_ref().map(|o| o.object_id), t, parent, def)?;
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
            parent,
            trigger,
            execute_as: self.runs_as(&place, statement)?,
            created: old.as_ref().map_or(now, |o| o.created),
            modified: now,
        };
        self.check_module(&place, &module, statement)?;
        if temporary {
            self.before_temp_change();
            let procedure = TempProcedure { database: place.entry.id, module: Arc::new(module) };
            self.info.temp.borrow_mut().put_procedure(procedure);
            return Ok(());
        }
        if old.is_some() {
            self.lock_schema(place.entry.id, module.object_id)?;
        }
        self.put(&place.entry, CatalogObject::Module(Arc::new(module)))
    }

    /// WITH EXECUTE AS of a module: who it will run as.
    fn runs_as(&self, place: &Place, statement: &Statement) -> Result<Option<i32>> {
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

    /// Compiles what can be compiled now: control flow, variables and types of a body, the query of a view.
    fn check_module(&mut self, place: &Place, module: &ModuleDef, statement: &Statement) -> Result<()> {
        let query = match &statement.kind {
            StatementKind::CreateView(v) => Some(&v.query.select),
            _ => None,
        };
        if let Some(select) = query {
            let mut scope = crate::session::scope::Scope::bare(self.info, place.entry.id);
            scope.identity.schema_id = place.schema_id;
            keel_query::compile_select(&scope, select)?;
            return Ok(());
        }
        modules::lower(self.info, place.entry.id, module).map(|_| ())
    }

    fn trigger_facts(&mut self, program: &Program, t: &ast::CreateTrigger) -> Result<(i32, i32, TriggerDef)> {
        let ast::TriggerTarget::Object(target) = &t.target else {
            return Err(errors::not_supported("A DDL or logon trigger"));
        };
        let missing = || {
            SqlError::new(
                8197,
                16,
                6,
                format!("The object '{target}' does not exist or is invalid for this operation."),
            )
        };
        let (object_id, schema_id) = match self.named(program, target) {
            Some((_, Named::Table(table))) => {
                let instead = t.timing == ast::TriggerTiming::InsteadOf;
                if table.history_of.is_some() || instead && table.versioning().is_some() {
                    return Err(errors::versioned_trigger(self.full_name(&table)));
                }
                (table.object_id, table.schema_id)
            }
            Some((_, Named::Module(view))) if view.kind == ModuleKind::View => {
                (view.object_id, view.schema_id)
            }
            _ => return Err(missing()),
        };
        let has = |event: &str| t.events.iter().any(|e| e == event);
        let def = TriggerDef {
            on_insert: has("INSERT"),
            on_update: has("UPDATE"),
            on_delete: has("DELETE"),
            instead_of: t.timing == ast::TriggerTiming::InsteadOf,
            disabled: false,
        };
        Ok((object_id, schema_id, def))
    }

    /// A table or view has one INSTEAD OF trigger for each event.
    fn check_instead_of(
        &self,
        place: &Place,
        own: Option<i32>,
        t: &ast::CreateTrigger,
        parent: i32,
        new: TriggerDef,
    ) -> Result<()> {
        if !new.instead_of {
            return Ok(());
        }
        for other in self.info.picture(&place.entry).triggers(parent) {
            let Some(old) = other.trigger.filter(|o| o.instead_of && own != Some(other.object_id)) else {
                continue;
            };
            let event = match () {
                () if old.on_insert && new.on_insert => "INSERT",
                () if old.on_update && new.on_update => "UPDATE",
                () if old.on_delete && new.on_delete => "DELETE",
                () => continue,
            };
            let ast::TriggerTarget::Object(target) = &t.target else { continue };
            let kind = match self.info.picture(&place.entry).table_by_id(parent) {
                Some(_) => "table",
                None => "view",
            };
            let verb = if own.is_some() { "alter" } else { "create" };
            return Err(errors::second_instead_of(verb, &place.name, kind, target, event));
        }
        Ok(())
    }

    pub(super) fn enable_trigger(&mut self, program: &Program, e: &ast::EnableTrigger) -> Result<()> {
        let ast::TriggerTarget::Object(target) = &e.target else { return Ok(()) };
        let (entry, table) = match self.named(program, target) {
            Some((entry, Named::Table(table))) => (entry, table.object_id),
            Some((entry, Named::Module(view))) => (entry, view.object_id),
            _ => return Err(errors::cannot_find_object(target)),
        };
        let names: Vec<&str> = e.names.iter().map(|n| n.name.text.as_str()).collect();
        self.switch_triggers(&entry, table, &names, e.enable)
    }

    pub(super) fn switch_triggers(
        &mut self,
        entry: &Arc<crate::engine::DatabaseEntry>,
        table: i32,
        names: &[&str],
        enable: bool,
    ) -> Result<()> {
        for module in self.info.picture(entry).triggers(table) {
            if !names.is_empty() && !names.iter().any(|n| crate::views::same(n, &module.name)) {
                continue;
            }
            let mut new = (*module).clone();
            if let Some(trigger) = &mut new.trigger {
                trigger.disabled = !enable;
            }
            self.put(entry, CatalogObject::Module(Arc::new(new)))?;
        }
        Ok(())
    }
}

/// The CREATE statement as sent: the whole batch, comments included, is what the product keeps.
fn module_text(program: &Program, statement: &Statement) -> String {
    if program.identity.object_id == 0 {
        program.text.to_string()
    } else {
        statement.span.text(&program.text).to_owned()
    }
}

fn same_family(a: ModuleKind, b: ModuleKind) -> bool {
    a == b
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
