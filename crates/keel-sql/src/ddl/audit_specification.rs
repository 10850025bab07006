//! CREATE, ALTER and DROP of SERVER and DATABASE AUDIT SPECIFICATION.
//!
//! Those of the server are rows of master; those of a database are a part of its catalog, changed in the session's transaction.

use super::audit::verb_of;
use crate::audit::catalog::{ACCESSES, Group};
use crate::audit::definition::{Audited, AuditedSecurable, SpecificationDef};
use crate::audit::errors;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::program::Program;
use crate::run::Runner;
use keel_parser::ast::{AuditPart, AuditSpecificationAction, AuditedActions, Ident};
use keel_query::catalog::Catalog as _;
use keel_types::error::Result;
use std::sync::Arc;

/// What messages call them.
const OF_SERVER: &str = "server audit specification";
const OF_DATABASE: &str = "database audit specification";
/// Numbers begin here, as in the product.
const FIRST_ID: i32 = 65_536;

impl Runner<'_> {
    /// SERVER AUDIT SPECIFICATION.
    pub(super) fn server_specification(
        &mut self,
        name: &str,
        action: &AuditSpecificationAction,
    ) -> Result<()> {
        let verb = verb_of(action);
        let may = self.may_audit_server(verb, OF_SERVER)?;
        let engine = Arc::clone(&self.info.engine);
        let _admin = engine.audits.admin.lock();
        let all = engine.server_audit_specifications()?;
        let found = all.iter().find(|s| crate::views::same(&s.name, name)).filter(|_| may);
        if matches!(action, AuditSpecificationAction::Create { .. }) {
            check_new(may, found.is_some(), OF_SERVER, name)?;
        }
        let parse = |part: &AuditPart| match &part.what {
            AuditedActions::Group(group) => {
                let found = Group::named(&group.text);
                let found = found.ok_or_else(|| errors::syntax_near(&group.text))?;
                Ok(vec![Audited::Group(found.name.to_owned())])
            }
            AuditedActions::On { .. } => Err(errors::syntax_near("ON")),
        };
        match self.changed(name, action, &all, found, OF_SERVER, &parse)? {
            Some(definition) => engine.put_server_specification(definition.id, Some(&definition)),
            None => engine.put_server_specification(found.map_or(0, |s| s.id), None),
        }
    }

    /// DATABASE AUDIT SPECIFICATION.
    pub(super) fn database_specification(
        &mut self,
        program: &Program,
        name: &str,
        action: &AuditSpecificationAction,
    ) -> Result<()> {
        let entry = self.info.current_database();
        let may = self.info.may(&entry, "ALTER ANY DATABASE AUDIT", SecurableRef::Database)
            || self.info.may_on_server("ALTER ANY SERVER AUDIT");
        if entry.is_read_only() {
            return Err(crate::errors::database_read_only(entry.name()));
        }
        let picture = self.info.picture(&entry);
        let all: Vec<SpecificationDef> = picture.audit_specifications().map(|s| (**s).clone()).collect();
        let found = all.iter().find(|s| crate::views::same(&s.name, name)).filter(|_| may);
        if matches!(action, AuditSpecificationAction::Create { .. }) {
            check_new(may, found.is_some(), OF_DATABASE, name)?;
        }
        let parse = |part: &AuditPart| self.audited_part(program, &entry, part);
        match self.changed(name, action, &all, found, OF_DATABASE, &parse)? {
            Some(definition) => self.put(&entry, CatalogObject::AuditSpecification(Arc::new(definition))),
            None => {
                let id = found.map_or(0, |s| s.id);
                let key = CatalogKey { class: object_class::DATABASE_AUDIT_SPECIFICATION, id };
                self.change(&entry, CatalogOp::Remove(key))
            }
        }
    }

    /// The definition as a statement makes it, of `all` that there are; `None` when it is dropped.
    fn changed(
        &self,
        name: &str,
        action: &AuditSpecificationAction,
        all: &[SpecificationDef],
        found: Option<&SpecificationDef>,
        what: &str,
        parse: &dyn Fn(&AuditPart) -> Result<Vec<Audited>>,
    ) -> Result<Option<SpecificationDef>> {
        let now = self.info.engine.now_local();
        let (audit, parts, state, mut definition) = match action {
            AuditSpecificationAction::Create { audit, parts, state } => {
                let id = all.iter().map(|s| s.id).max().map_or(FIRST_ID, |last| last + 1);
                let definition = SpecificationDef {
                    id,
                    name: name.to_owned(),
                    audit: [0; 16],
                    parts: Vec::new(),
                    on: false,
                    created: now,
                    modified: now,
                };
                (Some(audit), parts.as_slice(), *state, definition)
            }
            AuditSpecificationAction::Alter { audit, parts, state } => {
                let definition = found.cloned().ok_or_else(|| errors::no_such("alter", what, name))?;
                if definition.on && !parts.is_empty() {
                    return Err(errors::specification_enabled());
                }
                (audit.as_ref(), parts.as_slice(), *state, definition)
            }
            AuditSpecificationAction::Drop => {
                let definition = found.ok_or_else(|| errors::no_such("drop", what, name))?;
                return if definition.on { Err(errors::must_be_disabled(what)) } else { Ok(None) };
            }
        };
        if let Some(audit) = audit {
            let guid = self.audit_for(audit, all, &definition)?;
            if definition.on && definition.audit != guid {
                return Err(errors::specification_enabled());
            }
            definition.audit = guid;
        }
        for part in parts {
            apply(&mut definition.parts, part.add, parse(part)?);
        }
        definition.on = state.unwrap_or(definition.on);
        definition.modified = now;
        Ok(Some(definition))
    }

    /// The audit that takes the records: 33073 when there is none, 33230 when another specification has it.
    fn audit_for(&self, name: &Ident, all: &[SpecificationDef], own: &SpecificationDef) -> Result<[u8; 16]> {
        let audit = self.info.engine.server_audit(&name.text)?;
        let guid = audit.ok_or_else(|| errors::not_found("server audit", &name.text))?.guid;
        if all.iter().any(|s| s.audit == guid && s.id != own.id) {
            return Err(errors::specification_exists(&name.text));
        }
        Ok(guid)
    }

    /// ADD or DROP of a database specification.
    fn audited_part(
        &self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        part: &AuditPart,
    ) -> Result<Vec<Audited>> {
        match &part.what {
            AuditedActions::Group(name) => {
                let found = Group::named(&name.text).ok_or_else(|| errors::syntax_near(&name.text))?;
                if !found.of_database {
                    return Err(errors::server_actions_in_master());
                }
                Ok(vec![Audited::Group(found.name.to_owned())])
            }
            AuditedActions::On { actions, class, name, by } => {
                let on = self.audited_securable(program, entry, class.as_deref(), name)?;
                let picture = self.info.picture(entry);
                let mut out = Vec::new();
                for action in actions {
                    let found = ACCESSES.iter().find(|(_, n)| *n == action.as_str());
                    let (id, _) = found.ok_or_else(|| errors::syntax_near(action))?;
                    for principal in by {
                        let found = picture.principal_named(&principal.text);
                        let found = found
                            .ok_or_else(|| errors::no_such("find", "user", &principal.text))?
                            .principal_id;
                        out.push(Audited::Action { action: (*id).to_owned(), on, by: found });
                    }
                }
                Ok(out)
            }
        }
    }

    fn audited_securable(
        &self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        class: Option<&str>,
        name: &keel_parser::ast::ObjectName,
    ) -> Result<AuditedSecurable> {
        match class {
            None | Some("OBJECT") => {
                let found = self
                    .named(program, name)
                    .ok_or_else(|| errors::no_such("find", "object", &name.name.text))?;
                if found.0.id != entry.id {
                    return Err(errors::other_database());
                }
                Ok(AuditedSecurable::Object(crate::catalog::id_of(&found.1)))
            }
            Some("SCHEMA") => {
                let id = self.info.picture(entry).schema_id(&name.name.text);
                Ok(AuditedSecurable::Schema(
                    id.ok_or_else(|| errors::no_such("find", "schema", &name.name.text))?,
                ))
            }
            Some("DATABASE") if crate::views::same(&name.name.text, &entry.name()) => {
                Ok(AuditedSecurable::Database)
            }
            Some("DATABASE") => Err(errors::other_database()),
            Some(_) => Err(errors::bad_class()),
        }
    }
}

fn check_new(may: bool, taken: bool, what: &str, name: &str) -> Result<()> {
    if !may {
        return Err(errors::no_permission());
    }
    if taken { Err(errors::exists(what, name)) } else { Ok(()) }
}

/// Adds what is not there yet, or takes away what is.
fn apply(parts: &mut Vec<Audited>, add: bool, what: Vec<Audited>) {
    for part in what {
        let at = parts.iter().position(|p| *p == part);
        match (add, at) {
            (true, None) => parts.push(part),
            (false, Some(at)) => drop(parts.remove(at)),
            _ => {}
        }
    }
}
