//! What is particular to triggers: whom they belong to, what fires them, ENABLE and DISABLE.
//!
//! A trigger of a table or view lives in its schema. Those of a database and of the server have a namespace of their own,
//! the latter in `master`; neither is an entry of `sys.objects`.

use super::Place;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, Named, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use crate::triggers::event_types;
use keel_parser::ast::{self, TriggerTarget, TriggerTiming};
use keel_query::catalog::{
    Catalog as _, EventTriggerDef, ModuleDef, ModuleKind, SERVER_TRIGGERS, TriggerDef,
};
use keel_types::error::Result;
use std::sync::Arc;

/// Where a trigger lives and what fires it.
pub(super) struct TriggerFacts {
    pub entry: Arc<DatabaseEntry>,
    pub schema_id: i32,
    /// Table or view; 0 for a database or the server.
    pub parent: i32,
    pub rows: TriggerDef,
    pub events: Option<Box<EventTriggerDef>>,
}

/// What a trigger is on, for messages.
pub(super) fn target_name(t: &ast::CreateTrigger) -> String {
    match &t.target {
        TriggerTarget::Object(table) => table.to_string(),
        TriggerTarget::Database => "DATABASE".to_owned(),
        TriggerTarget::AllServer => "ALL SERVER".to_owned(),
    }
}

impl Runner<'_> {
    pub(super) fn trigger_facts(
        &mut self,
        program: &Program,
        t: &ast::CreateTrigger,
    ) -> Result<TriggerFacts> {
        match &t.target {
            TriggerTarget::Object(target) => self.row_trigger_facts(program, t, target),
            _ => self.event_trigger_facts(t),
        }
    }

    fn row_trigger_facts(
        &mut self,
        program: &Program,
        t: &ast::CreateTrigger,
        target: &ast::ObjectName,
    ) -> Result<TriggerFacts> {
        if target.is_temporary() {
            return Err(errors::trigger_of_temporary());
        }
        if let Some(event) = t.events.iter().find(|e| !matches!(e.as_str(), "INSERT" | "UPDATE" | "DELETE")) {
            return Err(match event_types::named(event) {
                Some(_) => errors::event_not_here(),
                None => errors::no_event(event),
            });
        }
        let instead = t.timing == TriggerTiming::InsteadOf;
        let (entry, parent, schema_id) = match self.named(program, target) {
            Some((entry, Named::Table(table))) => {
                if table.history_of.is_some() || instead && table.versioning().is_some() {
                    return Err(errors::versioned_trigger(self.full_name(&table)));
                }
                (entry, table.object_id, table.schema_id)
            }
            Some((entry, Named::Module(view))) if view.kind == ModuleKind::View && instead => {
                (entry, view.object_id, view.schema_id)
            }
            Some(_) => return Err(errors::not_a_trigger_target(target)),
            None => return Err(errors::no_trigger_target(target)),
        };
        let has = |event: &str| t.events.iter().any(|e| e == event);
        let rows = TriggerDef {
            on_insert: has("INSERT"),
            on_update: has("UPDATE"),
            on_delete: has("DELETE"),
            instead_of: instead,
            ..TriggerDef::default()
        };
        Ok(TriggerFacts { entry, schema_id, parent, rows, events: None })
    }

    fn event_trigger_facts(&self, t: &ast::CreateTrigger) -> Result<TriggerFacts> {
        if t.name.schema.is_some() {
            return Err(errors::trigger_schema_prefix());
        }
        if matches!(&t.options.execute_as, Some((ast::Principal::Owner, _))) {
            return Err(errors::no_owner_of_trigger());
        }
        let of_server = t.target == TriggerTarget::AllServer;
        for event in &t.events {
            let rows = matches!(event.as_str(), "INSERT" | "UPDATE" | "DELETE");
            let logon = event == event_types::LOGON;
            let fits = match event_types::named(event) {
                Some(known) => of_server || !known.is_server_level(),
                None if logon => of_server,
                None if rows => false,
                None => return Err(errors::no_event(event)),
            };
            if !fits || t.timing == TriggerTiming::InsteadOf {
                return Err(errors::event_not_here());
            }
        }
        let (entry, schema_id) =
            self.trigger_scope(&t.target).ok_or_else(|| errors::invalid_object_name(&t.name))?;
        let events = t.events.iter().map(ToString::to_string).collect();
        let events = Some(Box::new(EventTriggerDef { events, ..EventTriggerDef::default() }));
        Ok(TriggerFacts { entry, schema_id, parent: 0, rows: TriggerDef::default(), events })
    }

    /// A table or view has one INSTEAD OF trigger for each event.
    pub(super) fn check_instead_of(
        &self,
        place: &Place,
        own: Option<i32>,
        t: &ast::CreateTrigger,
        facts: &TriggerFacts,
    ) -> Result<()> {
        let (new, parent) = (facts.rows, facts.parent);
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
            let kind = match self.info.picture(&place.entry).table_by_id(parent) {
                Some(_) => "table",
                None => "view",
            };
            let verb = if own.is_some() { "alter" } else { "create" };
            return Err(errors::second_instead_of(verb, &place.name, kind, target_name(t), event));
        }
        Ok(())
    }

    /// WITH EXECUTE AS of a trigger of the server names a login: its number.
    pub(super) fn login_to_be(&self, options: &ast::ModuleOptions) -> Result<Option<i32>> {
        let name = match &options.execute_as {
            None | Some((ast::Principal::Caller, _)) => return Ok(None),
            Some((ast::Principal::SelfUser, _)) => self.info.login().to_string(),
            Some((_, name)) => name.as_ref().map(ToString::to_string).unwrap_or_default(),
        };
        let login = self.info.login_named(&name).ok_or_else(|| errors::no_login_of_trigger(&name))?;
        Ok(Some(login.principal_id))
    }

    pub(super) fn enable_trigger(&mut self, program: &Program, e: &ast::EnableTrigger) -> Result<()> {
        let names: Vec<&str> = e.names.iter().map(|n| n.name.text.as_str()).collect();
        if let Some((entry, scope)) = self.trigger_scope(&e.target) {
            let all: Vec<_> = self.info.picture(&entry).event_triggers(scope).cloned().collect();
            return self.switch_these(&entry, all, &names, e.enable, |name| errors::no_such_trigger(name));
        }
        let TriggerTarget::Object(target) = &e.target else { return Ok(()) };
        let (entry, table) = match self.named(program, target) {
            Some((entry, Named::Table(table))) => (entry, table.object_id),
            Some((entry, Named::Module(view))) => (entry, view.object_id),
            _ => return Err(errors::no_such_trigger(target)),
        };
        let all = self.info.picture(&entry).triggers(table);
        self.switch_these(&entry, all, &names, e.enable, |name| errors::no_such_trigger(name))
    }

    /// ALTER TABLE … ENABLE | DISABLE TRIGGER.
    pub(super) fn switch_triggers(
        &mut self,
        table: &keel_query::catalog::TableDef,
        names: &[&str],
        enable: bool,
    ) -> Result<()> {
        let entry = self.entry_of(table.database)?;
        let all = self.info.picture(&entry).triggers(table.object_id);
        self.switch_these(&entry, all, names, enable, |name| errors::no_trigger_of_table(name, &table.name))
    }

    /// Enables or disables those named, or all; none when one is missing.
    fn switch_these(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        all: Vec<Arc<ModuleDef>>,
        names: &[&str],
        enable: bool,
        missing: impl Fn(&str) -> Box<keel_types::SqlError>,
    ) -> Result<()> {
        let is = |m: &ModuleDef, name: &str| crate::views::same(name, &m.name);
        if let Some(name) = names.iter().find(|name| !all.iter().any(|m| is(m, name))) {
            return Err(missing(name));
        }
        for module in all.iter().filter(|m| names.is_empty() || names.iter().any(|name| is(m, name))) {
            let mut new = (**module).clone();
            if let Some(trigger) = &mut new.trigger {
                trigger.disabled = !enable;
            }
            self.put(entry, CatalogObject::Module(Arc::new(new)))?;
        }
        Ok(())
    }

    /// DROP TRIGGER … ON DATABASE | ALL SERVER.
    pub(super) fn drop_event_trigger(
        &mut self,
        name: &ast::ObjectName,
        target: &TriggerTarget,
        if_exists: bool,
    ) -> Result<()> {
        let found = self.trigger_scope(target).and_then(|(entry, scope)| {
            match self.info.picture(&entry).named(scope, &name.name.text) {
                Some(Named::Module(trigger)) => Some((entry, trigger)),
                _ => None,
            }
        });
        match found {
            Some((entry, trigger)) => {
                self.lock_schema(entry.id, trigger.object_id)?;
                let key = CatalogKey { class: object_class::MODULE, id: trigger.object_id };
                self.change(&entry, CatalogOp::Remove(key))
            }
            None if if_exists => Ok(()),
            None => Err(errors::cannot_drop_missing("trigger", name)),
        }
    }

    /// Whether the session may make, change or drop the triggers of a database or of the server.
    pub(super) fn may_define_trigger(&self, verb: &str, name: &str, target: &TriggerTarget) -> Result<()> {
        let may = match self.trigger_scope(target) {
            Some((_, SERVER_TRIGGERS)) => self.info.may_on_server("CONTROL SERVER"),
            Some((entry, _)) => self.info.may(
                &entry,
                "ALTER ANY DATABASE DDL TRIGGER",
                crate::catalog::SecurableRef::Database,
            ),
            None => true,
        };
        if may { Ok(()) } else { Err(errors::cannot_define_trigger(verb, name)) }
    }
}
