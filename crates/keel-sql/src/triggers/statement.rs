//! The events of a statement that changes definitions, and how much of its text they tell.
//!
//! They are found before the statement runs, when what it alters or drops is still there; a statement that fails brings none.
//! Temporary objects bring none either, and neither do ENABLE and DISABLE TRIGGER and TRUNCATE TABLE, as in the product.

use super::event::Event;
use crate::catalog::{DBO, Named};
use crate::engine::{DatabaseEntry, TEMPDB};
use crate::program::Program;
use crate::run::Runner;
use crate::windows;
use keel_parser::ast::{
    AlterRoleAction, AlterTable, AlterTableAction as Alter, AuditAction, AuditSpecificationAction,
    AuditStatement, AvailabilityGroupAction, ContentIndex, CredentialAction, Drop, DropClass, Dropped,
    FullTextStatement, GovernorStatement, Ident, KeyStatement, ModuleVerb, ObjectName, PartitionAction,
    Permission, PermissionVerb, Securable, Statement, StatementKind as S, TableElement, TriggerTarget,
};
use keel_parser::lexer::{Tok, tokenize};
use keel_query::catalog::{Catalog as _, DATABASE_TRIGGERS, ModuleDef, ModuleKind, SERVER_TRIGGERS};
use std::sync::Arc;

impl Runner<'_> {
    /// The events that a statement will have been.
    pub(crate) fn events_of(&self, program: &Program, statement: &Statement) -> Vec<Event> {
        let here = self.info.current_database();
        let within = |kind: &str| Event::within(kind, &here);
        let one = match &statement.kind {
            S::CreateTable(c) => self.object_event(program, "CREATE", "TABLE", &c.name),
            S::AlterTable(a) => self.altered_table(program, a),
            S::CreateView(c) => self.module(program, c.verb, "VIEW", &c.name),
            S::CreateProcedure(c) => self.module(program, c.verb, "PROCEDURE", &c.name),
            S::CreateFunction(c) => self.module(program, c.verb, "FUNCTION", &c.name),
            S::CreateTrigger(c) => self.created_trigger(program, c.verb, &c.name, &c.target),
            S::CreateSequence(c) => self.object_event(program, "CREATE", "SEQUENCE", &c.name),
            S::AlterSequence(c) => self.object_event(program, "ALTER", "SEQUENCE", &c.name),
            S::CreateSynonym(c) => self
                .object_event(program, "CREATE", "SYNONYM", &c.name)
                .map(|e| e.element("TargetObjectName", &c.target.name.text)),
            S::CreateBindable(c) => {
                self.object_event(program, "CREATE", if c.is_rule { "RULE" } else { "DEFAULT" }, &c.name)
            }
            S::CreateType(c) => self.object_event(program, "CREATE", "TYPE", &c.name),
            S::XmlCollection(c) => {
                let verb = if c.add { "ALTER" } else { "CREATE" };
                self.object_event(program, verb, "XML SCHEMA COLLECTION", &c.name)
            }
            S::CreateIndex(c) => {
                let kind = match &c.content {
                    Some(ContentIndex::Spatial { .. }) => "CREATE_SPATIAL_INDEX",
                    Some(_) => "CREATE_XML_INDEX",
                    None => "CREATE_INDEX",
                };
                self.part(program, kind, &c.name.text, "INDEX", &c.table)
            }
            S::AlterIndex(a) => {
                let name = a.name.as_ref().map_or("", |n| n.text.as_str());
                self.part(program, "ALTER_INDEX", name, "INDEX", &a.table)
            }
            S::DropIndex(d) => {
                let dropped = |i: &keel_parser::ast::DropIndexItem| {
                    self.part(program, "DROP_INDEX", &i.index.text, "INDEX", &i.table)
                };
                return d.items.iter().filter_map(dropped).collect();
            }
            S::CreateStatistics(c) => {
                self.part(program, "CREATE_STATISTICS", &c.name.text, "STATISTICS", &c.table)
            }
            S::UpdateStatistics(u) => {
                let name = u.names.first().map_or("", |n| n.text.as_str());
                self.part(program, "UPDATE_STATISTICS", name, "STATISTICS", &u.table).map(Event::before)
            }
            S::CreateSchema(c) => {
                let name = c.name.as_ref().or(c.authorization.as_ref()).map_or("", |n| n.text.as_str());
                within("CREATE_SCHEMA").map(|e| e.element("SchemaName", name).object(name, "SCHEMA"))
            }
            S::SensitivityClassification(c) => {
                let verb = if c.options.is_some() { "ADD" } else { "DROP" };
                let kind = format!("{verb}_SENSITIVITY_CLASSIFICATION");
                let part = |(table, column): &(ObjectName, Ident)| {
                    self.part(program, &kind, &column.text, "COLUMN", table)
                };
                return c.columns.iter().filter_map(part).collect();
            }
            S::AlterSchema(a) => self.named(program, &a.object).and_then(|(_, named)| {
                let event = within("ALTER_SCHEMA")?.element("SchemaName", &a.schema.text);
                Some(event.object(&a.object.name.text, kind_of(&named)))
            }),
            S::Partition(p) => {
                let (kind, object) = match &p.action {
                    PartitionAction::CreateFunction { .. } => ("CREATE", "FUNCTION"),
                    PartitionAction::Split(_) | PartitionAction::Merge(_) => ("ALTER", "FUNCTION"),
                    PartitionAction::DropFunction => ("DROP", "FUNCTION"),
                    PartitionAction::CreateScheme { .. } => ("CREATE", "SCHEME"),
                    PartitionAction::NextUsed(_) => ("ALTER", "SCHEME"),
                    PartitionAction::DropScheme => ("DROP", "SCHEME"),
                };
                let event = within(&format!("{kind}_PARTITION_{object}"));
                event.map(|e| e.object(&p.name.text, &format!("PARTITION {object}")))
            }
            S::FullText(f) => {
                let (verb, class) = crate::ddl::full_text_statement_name(f);
                let event = within(&format!("{verb}_FULLTEXT_{class}"));
                event.map(|e| e.object(full_text_object(f), &format!("FULLTEXT {class}")))
            }
            S::SecurityPolicy(p) => {
                let verb = if p.alter { "ALTER" } else { "CREATE" };
                self.object_event(program, verb, "SECURITY POLICY", &p.name)
            }
            S::CreateUser(c) => within("CREATE_USER").map(|e| e.object(&c.name.text, "SQL USER")),
            S::AlterUser(a) => within("ALTER_USER").map(|e| e.object(&a.name.text, "SQL USER")),
            S::CreateRole(c) if c.server => {
                Event::server("CREATE_SERVER_ROLE").map(|e| e.object(&c.name.text, "SERVER ROLE"))
            }
            S::CreateRole(c) => within("CREATE_ROLE").map(|e| e.object(&c.name.text, "ROLE")),
            S::AlterRole(a) => self.altered_role(&here, a.server, &a.name.text, &a.action),
            S::Permission(p) => self.permission_event(program, &here, p),
            S::AlterAuthorization(a) => {
                let event = within("ALTER_AUTHORIZATION_DATABASE");
                event.map(|e| self.on_securable(program, e, Some(&a.on)))
            }
            S::Key(k) => key_event(k).and_then(|(verb, kind, name)| {
                let event = within(&format!("{verb}_{}", kind.replace(' ', "_")))?;
                Some(name.map_or(event.clone(), |name| event.object(name, kind)))
            }),
            S::Credential(c) => {
                let verb = match c.action {
                    CredentialAction::Create(_) => "CREATE",
                    CredentialAction::Alter(_) => "ALTER",
                    CredentialAction::Drop { .. } => "DROP",
                };
                let event = if c.scoped { None } else { Event::server(&format!("{verb}_CREDENTIAL")) };
                event.map(|e| e.object(&c.name.text, "CREDENTIAL"))
            }
            S::CreateDatabase(c) => Event::to_database("CREATE_DATABASE", &c.name.text),
            S::AlterDatabase(a) => {
                let name = a.name.as_ref().map_or_else(|| here.name(), |n| n.text.as_str().into());
                Event::to_database("ALTER_DATABASE", &name)
            }
            S::CreateLogin(c) => self.login_event("CREATE_LOGIN", &c.name.text),
            S::AlterLogin(a) => self.login_event("ALTER_LOGIN", &a.name.text),
            S::Endpoint(s) => {
                let kind = if s.create { "CREATE_ENDPOINT" } else { "ALTER_ENDPOINT" };
                Event::server(kind).map(|e| e.object(&s.name.text, "ENDPOINT"))
            }
            S::AvailabilityGroup(s) => {
                let kind = match s.action {
                    AvailabilityGroupAction::Create { .. } => "CREATE_AVAILABILITY_GROUP",
                    _ => "ALTER_AVAILABILITY_GROUP",
                };
                Event::server(kind).map(|e| e.object(&s.name.text, "AVAILABILITY GROUP"))
            }
            S::Governor(g) => governor_event(g),
            S::Audit(a) => audit_event(a, &here),
            S::Broker(b) => {
                let (verb, class, name) = crate::broker::named_by(b);
                match class == "QUEUE" {
                    true => self.object_event(program, verb, class, &name),
                    false => {
                        let event = within(&format!("{verb}_{}", class.replace(' ', "_")));
                        event.map(|e| e.object(&name.name.text, class))
                    }
                }
            }
            S::Drop(d) if d.class == DropClass::MasterKey => within("DROP_MASTER_KEY"),
            S::Drop(d) => return d.names.iter().filter_map(|n| self.dropped(program, &here, d, n)).collect(),
            _ => None,
        };
        one.into_iter().collect()
    }

    /// An object of a schema, there or to be.
    pub(crate) fn object_event(
        &self,
        program: &Program,
        verb: &str,
        kind: &str,
        name: &ObjectName,
    ) -> Option<Event> {
        if name.is_temporary() {
            return None;
        }
        let place = self.place(program, name).ok().filter(|p| p.entry.id != TEMPDB)?;
        let schema = self.info.picture(&place.entry).schema_name(place.schema_id)?;
        let event = Event::within(&format!("{verb}_{}", kind.replace(' ', "_")), &place.entry)?;
        Some(event.element("SchemaName", &schema).object(&place.name, kind))
    }

    fn module(&self, program: &Program, verb: ModuleVerb, kind: &str, name: &ObjectName) -> Option<Event> {
        let there = || self.named(program, name).is_some();
        self.object_event(program, if alters(verb, there) { "ALTER" } else { "CREATE" }, kind, name)
    }

    fn created_trigger(
        &self,
        program: &Program,
        verb: ModuleVerb,
        name: &ObjectName,
        target: &TriggerTarget,
    ) -> Option<Event> {
        let TriggerTarget::Object(table) = target else {
            let (entry, scope) = self.trigger_scope(target)?;
            let there = || self.info.picture(&entry).named(scope, &name.name.text).is_some();
            let alters = alters(verb, there);
            let mut event = scoped_trigger(if alters { "ALTER" } else { "CREATE" }, &entry, scope, name)?;
            event.newborn = (!alters).then(|| (scope, name.name.text.clone()));
            return Some(event);
        };
        let there = || self.named(program, name).is_some();
        let kind = if alters(verb, there) { "ALTER_TRIGGER" } else { "CREATE_TRIGGER" };
        self.part(program, kind, &name.name.text, "TRIGGER", table)
    }

    /// The database that keeps the triggers of a database or of the server, and their namespace.
    pub(crate) fn trigger_scope(&self, target: &TriggerTarget) -> Option<(Arc<DatabaseEntry>, i32)> {
        match target {
            TriggerTarget::Object(_) => None,
            TriggerTarget::Database => Some((self.info.current_database(), DATABASE_TRIGGERS)),
            TriggerTarget::AllServer => Some((self.info.find_database("master")?, SERVER_TRIGGERS)),
        }
    }

    /// Something that belongs to a table or view.
    fn part(
        &self,
        program: &Program,
        kind: &str,
        name: &str,
        object_type: &str,
        table: &ObjectName,
    ) -> Option<Event> {
        if table.is_temporary() {
            return None;
        }
        let (entry, named) = self.named(program, table)?;
        let schema = self.info.picture(&entry).schema_name(schema_of(&named))?;
        let event = Event::within(kind, &entry)?.element("SchemaName", &schema);
        Some(event.object(name, object_type).target(&table.name.text, kind_of(&named)))
    }

    fn altered_table(&self, program: &Program, a: &AlterTable) -> Option<Event> {
        let event = self.object_event(program, "ALTER", "TABLE", &a.table)?;
        let mut parts: [(&str, Vec<&str>, Vec<&str>); 3] =
            [("Create", vec![], vec![]), ("Alter", vec![], vec![]), ("Drop", vec![], vec![])];
        match &a.action {
            Alter::Add { elements, .. } => {
                for element in elements {
                    match element {
                        TableElement::Column(c) => parts[0].1.push(&c.name.text),
                        TableElement::Constraint(c) => {
                            parts[0].2.push(c.name.as_ref().map_or("", |n| n.text.as_str()));
                        }
                        TableElement::Index(_) | TableElement::Period { .. } => {}
                    }
                }
            }
            Alter::AlterColumn { column, .. } => parts[1].1.push(&column.text),
            Alter::CheckConstraint { names, .. } => parts[1].2.extend(names.iter().map(|n| n.text.as_str())),
            Alter::Drop(dropped) => {
                for d in dropped {
                    match d.what {
                        Dropped::Column => parts[2].1.push(&d.name.text),
                        Dropped::Constraint | Dropped::Period => parts[2].2.push(&d.name.text),
                        Dropped::Index => {}
                    }
                }
            }
            _ => {}
        }
        Some(event.actions(&parts))
    }

    fn altered_role(
        &self,
        here: &Arc<DatabaseEntry>,
        server: bool,
        role: &str,
        action: &AlterRoleAction,
    ) -> Option<Event> {
        let event = |kind: &str| if server { Event::server(kind) } else { Event::within(kind, here) };
        let infix = if server { "SERVER_ROLE" } else { "ROLE" };
        let (verb, member) = match action {
            AlterRoleAction::AddMember(m) => ("ADD", m),
            AlterRoleAction::DropMember(m) => ("DROP", m),
            _ => {
                let kind = if server { "SERVER ROLE" } else { "ROLE" };
                return event(&format!("ALTER_{infix}")).map(|e| e.object(role, kind));
            }
        };
        let is_role = || self.info.picture(here).principal_named(&member.text).is_some_and(|p| p.role);
        let kind = match server {
            true => "LOGIN",
            false if is_role() => "ROLE",
            false => "SQL USER",
        };
        let event = event(&format!("{verb}_{infix}_MEMBER"))?;
        Some(event.object(&member.text, kind).element("RoleName", role))
    }

    fn permission_event(
        &self,
        program: &Program,
        here: &Arc<DatabaseEntry>,
        p: &Permission,
    ) -> Option<Event> {
        let verb = match p.verb {
            PermissionVerb::Grant => "GRANT",
            PermissionVerb::Deny => "DENY",
            PermissionVerb::Revoke => "REVOKE",
        };
        let event = if crate::ddl::is_of_server(p) {
            Event::server(&format!("{verb}_SERVER"))?
        } else {
            let event = Event::within(&format!("{verb}_DATABASE"), here)?;
            self.on_securable(program, event, p.on.as_ref())
        };
        let user = self.info.token_in(here).and_then(|t| self.info.picture(here).principal(t.user));
        let names: Vec<String> = p.permissions.iter().map(|i| i.name.to_lowercase()).collect();
        let flag = |on: bool| if on { "1" } else { "0" };
        let event = event
            .element("Grantor", user.as_ref().map_or("", |u| u.name.as_str()))
            .list("Permissions", "Permission", names.iter().map(String::as_str))
            .list("Grantees", "Grantee", p.principals.iter().map(|g| g.text.as_str()))
            .element("AsGrantor", p.as_principal.as_ref().map_or("", |a| a.text.as_str()))
            .element("GrantOption", flag(p.grant_option));
        Some(event.element("CascadeOption", flag(p.cascade)))
    }

    /// Names what a permission or an owner is of.
    fn on_securable(&self, program: &Program, event: Event, on: Option<&Securable>) -> Event {
        let Some(on) = on else {
            let name = event.database.as_ref().map_or_else(|| "".into(), |d| d.name());
            return event.element("SchemaName", "").object(&name, "DATABASE");
        };
        match on.class.as_deref() {
            None | Some("OBJECT") => {
                let found = self.named(program, &on.name);
                let schema = found.as_ref().map_or(DBO, |(_, n)| schema_of(n));
                let picture = found.as_ref().map(|(e, _)| self.info.picture(e));
                let schema = picture.and_then(|p| p.schema_name(schema)).unwrap_or_default();
                let kind = found.as_ref().map_or("TABLE", |(_, n)| kind_of(n));
                event.element("SchemaName", &schema).object(&on.name.name.text, kind)
            }
            Some(class) => event.element("SchemaName", "").object(&on.name.name.text, class),
        }
    }

    fn login_event(&self, kind: &str, name: &str) -> Option<Event> {
        use base64::Engine as _;
        let known = self.info.login_named(name);
        let event = Event::server(kind)?.object(name, "LOGIN");
        let text = |of: Option<&str>, otherwise: &str| of.unwrap_or(otherwise).to_owned();
        let language = text(known.as_ref().map(|l| l.default_language.as_str()), "us_english");
        let database = text(known.as_ref().map(|l| l.default_database.as_str()), "master");
        let sid = known.map(|l| l.sid).unwrap_or_default();
        let shown = base64::engine::general_purpose::STANDARD.encode(&sid);
        let event = event.element("DefaultLanguage", &language).element("DefaultDatabase", &database);
        Some(event.element("LoginType", windows::login_type(&sid)).element("SID", &shown))
    }

    fn dropped(
        &self,
        program: &Program,
        here: &Arc<DatabaseEntry>,
        d: &Drop,
        name: &ObjectName,
    ) -> Option<Event> {
        let plain = &name.name.text;
        let principal = || self.info.picture(here).principal_named(plain).is_some();
        let object = |kind: &str| {
            self.named(program, name)?;
            self.object_event(program, "DROP", kind, name)
        };
        match &d.class {
            DropClass::Table => object("TABLE"),
            DropClass::View => object("VIEW"),
            DropClass::Procedure => object("PROCEDURE"),
            DropClass::Function => object("FUNCTION"),
            DropClass::Sequence => object("SEQUENCE"),
            DropClass::Synonym => object("SYNONYM"),
            DropClass::Rule => object("RULE"),
            DropClass::Default => object("DEFAULT"),
            DropClass::SecurityPolicy => object("SECURITY POLICY"),
            DropClass::Type => self.object_event(program, "DROP", "TYPE", name),
            DropClass::XmlCollection => self.object_event(program, "DROP", "XML SCHEMA COLLECTION", name),
            DropClass::Trigger => self.dropped_trigger(program, d.trigger_target.as_ref(), name),
            DropClass::Statistics => {
                let (table, _) = crate::ddl::table_and_statistics(name)?;
                self.part(program, "DROP_STATISTICS", plain, "STATISTICS", &table)
            }
            DropClass::Schema => {
                self.info.picture(here).schema_id(plain)?;
                let event = Event::within("DROP_SCHEMA", here)?;
                Some(event.element("SchemaName", plain).object(plain, "SCHEMA"))
            }
            DropClass::User if principal() => {
                Some(Event::within("DROP_USER", here)?.object(plain, "SQL USER"))
            }
            DropClass::Role if principal() => Some(Event::within("DROP_ROLE", here)?.object(plain, "ROLE")),
            DropClass::Certificate => {
                Some(Event::within("DROP_CERTIFICATE", here)?.object(plain, "CERTIFICATE"))
            }
            DropClass::AsymmetricKey => {
                Some(Event::within("DROP_ASYMMETRIC_KEY", here)?.object(plain, "ASYMMETRIC KEY"))
            }
            DropClass::SymmetricKey => {
                Some(Event::within("DROP_SYMMETRIC_KEY", here)?.object(plain, "SYMMETRIC KEY"))
            }
            DropClass::ColumnMasterKey => {
                Some(Event::within("DROP_COLUMN_MASTER_KEY", here)?.object(plain, "COLUMN MASTER KEY"))
            }
            DropClass::ColumnEncryptionKey => Some(
                Event::within("DROP_COLUMN_ENCRYPTION_KEY", here)?.object(plain, "COLUMN ENCRYPTION KEY"),
            ),
            DropClass::Login => {
                self.info.login_named(plain)?;
                self.login_event("DROP_LOGIN", plain)
            }
            DropClass::Database => {
                self.info.find_database(plain)?;
                Event::to_database("DROP_DATABASE", plain)
            }
            DropClass::Endpoint => Some(Event::server("DROP_ENDPOINT")?.object(plain, "ENDPOINT")),
            DropClass::AvailabilityGroup => {
                Some(Event::server("DROP_AVAILABILITY_GROUP")?.object(plain, "AVAILABILITY GROUP"))
            }
            _ => None,
        }
    }

    fn dropped_trigger(
        &self,
        program: &Program,
        target: Option<&TriggerTarget>,
        name: &ObjectName,
    ) -> Option<Event> {
        if let Some((entry, scope)) = target.and_then(|t| self.trigger_scope(t)) {
            self.info.picture(&entry).named(scope, &name.name.text)?;
            return scoped_trigger("DROP", &entry, scope, name);
        }
        let Some((entry, Named::Module(trigger))) = self.named(program, name) else { return None };
        let picture = self.info.picture(&entry);
        let schema = picture.schema_name(trigger.schema_id)?;
        let (parent, kind) = match picture.table_by_id(trigger.parent) {
            Some(table) => (table.name.clone(), "TABLE"),
            None => (picture.module_by_id(trigger.parent)?.name.clone(), "VIEW"),
        };
        let event = Event::within("DROP_TRIGGER", &entry)?.element("SchemaName", &schema);
        Some(event.object(&name.name.text, "TRIGGER").target(&parent, kind))
    }
}

fn governor_event(s: &GovernorStatement) -> Option<Event> {
    let verb = |alter: bool| if alter { "ALTER" } else { "CREATE" };
    let event = |verb: &str, kind: &str, name: &str| {
        Some(Event::server(&format!("{verb}_{}", kind.replace(' ', "_")))?.object(name, kind))
    };
    match s {
        GovernorStatement::Pool { alter, name, .. } => event(verb(*alter), "RESOURCE POOL", &name.text),
        GovernorStatement::DropPool(name) => event("DROP", "RESOURCE POOL", &name.text),
        GovernorStatement::Group { alter, name, .. } => event(verb(*alter), "WORKLOAD GROUP", &name.text),
        GovernorStatement::DropGroup(name) => event("DROP", "WORKLOAD GROUP", &name.text),
        GovernorStatement::Governor(_) => Event::server("ALTER_RESOURCE_GOVERNOR_CONFIG"),
    }
}

fn audit_event(a: &AuditStatement, here: &Arc<DatabaseEntry>) -> Option<Event> {
    let specification = |action: &AuditSpecificationAction| match action {
        AuditSpecificationAction::Create { .. } => "CREATE",
        AuditSpecificationAction::Alter { .. } => "ALTER",
        AuditSpecificationAction::Drop => "DROP",
    };
    let (event, name, kind) = match a {
        AuditStatement::Audit { name, action } => {
            let verb = match action {
                AuditAction::Create { .. } => "CREATE",
                AuditAction::Drop => "DROP",
                _ => "ALTER",
            };
            (Event::server(&format!("{verb}_SERVER_AUDIT")), name, "SERVER AUDIT")
        }
        AuditStatement::Specification { database: false, name, action } => {
            let kind = format!("{}_SERVER_AUDIT_SPECIFICATION", specification(action));
            (Event::server(&kind), name, "SERVER AUDIT SPECIFICATION")
        }
        AuditStatement::Specification { database: true, name, action } => {
            let kind = format!("{}_DATABASE_AUDIT_SPECIFICATION", specification(action));
            (Event::within(&kind, here), name, "DATABASE AUDIT SPECIFICATION")
        }
    };
    Some(event?.object(&name.text, kind))
}

/// A trigger of a database or of the server.
fn scoped_trigger(verb: &str, entry: &Arc<DatabaseEntry>, scope: i32, name: &ObjectName) -> Option<Event> {
    let kind = format!("{verb}_TRIGGER");
    let (event, target, target_type) = if scope == SERVER_TRIGGERS {
        (Event::server(&kind)?, "".into(), "SERVER")
    } else {
        (Event::within(&kind, entry)?.element("SchemaName", ""), entry.name(), "DATABASE")
    };
    let event = event.afterwards();
    Some(event.object(&name.name.text, "TRIGGER").target(&target, target_type))
}

/// Whether a verb alters, where `there` says whether the object is there.
fn alters(verb: ModuleVerb, there: impl FnOnce() -> bool) -> bool {
    match verb {
        ModuleVerb::Create => false,
        ModuleVerb::Alter => true,
        ModuleVerb::CreateOrAlter => there(),
    }
}

fn schema_of(named: &Named) -> i32 {
    match named {
        Named::Table(t) | Named::Constraint(t, _) => t.schema_id,
        Named::Module(m) => m.schema_id,
        Named::Synonym(s) => s.schema_id,
        Named::Bindable(b) => b.schema_id,
        Named::Sequence(s) => s.schema_id,
        Named::Policy(p) => p.schema_id,
        Named::Queue(q) => q.schema_id,
    }
}

/// Schema, name and ObjectType of what a name stands for.
pub(crate) fn described(named: &Named) -> (i32, String, &'static str) {
    let name = match named {
        Named::Table(t) => t.name.clone(),
        Named::Constraint(t, id) => crate::catalog::table_objects(t)
            .iter()
            .find(|o| o.object_id == *id)
            .map_or_else(String::new, |o| o.name.to_owned()),
        Named::Module(m) => m.name.clone(),
        Named::Synonym(s) => s.name.clone(),
        Named::Bindable(b) => b.name.clone(),
        Named::Sequence(s) => s.name.clone(),
        Named::Policy(p) => p.name.clone(),
        Named::Queue(q) => q.name.clone(),
    };
    (schema_of(named), name, kind_of(named))
}

/// ObjectType.
fn kind_of(named: &Named) -> &'static str {
    match named {
        Named::Table(_) => "TABLE",
        Named::Constraint(..) => "CONSTRAINT",
        Named::Module(m) => module_kind(m),
        Named::Synonym(_) => "SYNONYM",
        Named::Bindable(b) if b.is_rule => "RULE",
        Named::Bindable(_) => "DEFAULT",
        Named::Sequence(_) => "SEQUENCE",
        Named::Policy(_) => "SECURITY POLICY",
        Named::Queue(_) => "QUEUE",
    }
}

fn module_kind(m: &ModuleDef) -> &'static str {
    match m.kind {
        ModuleKind::View => "VIEW",
        ModuleKind::Procedure => "PROCEDURE",
        ModuleKind::ScalarFunction | ModuleKind::InlineTableFunction | ModuleKind::TableFunction => {
            "FUNCTION"
        }
        ModuleKind::Trigger => "TRIGGER",
    }
}

/// CommandText: the statement; or all that its batch holds, where it has to be alone in it; or all up to the next statement.
/// Passwords are masked.
pub(crate) fn command_text(program: &Program, statement: &Statement) -> String {
    let whole = &*program.text;
    let span = statement.span;
    let text = match &statement.kind {
        S::CreateView(_)
        | S::CreateProcedure(_)
        | S::CreateFunction(_)
        | S::CreateTrigger(_)
        | S::CreateBindable(_)
        | S::CreateSchema(_)
            if program.identity.object_id == 0 =>
        {
            whole
        }
        S::CreateLogin(_)
        | S::AlterLogin(_)
        | S::CreateUser(_)
        | S::AlterUser(_)
        | S::CreateRole(_)
        | S::AlterRole(_)
        | S::Permission(_)
        | S::CreateSynonym(_)
        | S::CreateSequence(_)
        | S::AlterSequence(_)
        | S::CreateType(_)
        | S::XmlCollection(_)
        | S::AlterAuthorization(_)
        | S::Partition(_)
        | S::FullText(_)
        | S::SecurityPolicy(_) => &whole[span.start as usize..next_statement(whole, span.end as usize)],
        S::Drop(d)
            if matches!(
                d.class,
                DropClass::Login
                    | DropClass::Role
                    | DropClass::Type
                    | DropClass::XmlCollection
                    | DropClass::Schema
            ) =>
        {
            &whole[span.start as usize..next_statement(whole, span.end as usize)]
        }
        _ => span.text(whole),
    };
    match &statement.kind {
        S::CreateLogin(_)
        | S::AlterLogin(_)
        | S::CreateUser(_)
        | S::AlterUser(_)
        // Application roles are among them.
        | S::CreateRole(_)
        | S::AlterRole(_)
        | S::Credential(_)
        | S::Key(_) => crate::secrets::without_secrets(text).into_owned(),
        _ => text.to_owned(),
    }
}

/// What a statement about keys tells triggers: verb, kind and name.
fn key_event(s: &KeyStatement) -> Option<(&'static str, &'static str, Option<&str>)> {
    use keel_parser::ast::MasterKey as M;
    Some(match s {
        KeyStatement::MasterKey(M::Create { .. }) => ("CREATE", "MASTER KEY", None),
        KeyStatement::MasterKey(M::Regenerate { .. } | M::Encryption { .. } | M::Restore { .. }) => {
            ("ALTER", "MASTER KEY", None)
        }
        KeyStatement::CreateCertificate(c) => ("CREATE", "CERTIFICATE", Some(&c.name.text)),
        KeyStatement::AlterCertificate { name, .. } => ("ALTER", "CERTIFICATE", Some(&name.text)),
        KeyStatement::CreateAsymmetricKey(c) => ("CREATE", "ASYMMETRIC KEY", Some(&c.name.text)),
        KeyStatement::AlterAsymmetricKey { name, .. } => ("ALTER", "ASYMMETRIC KEY", Some(&name.text)),
        KeyStatement::Signature(s) => {
            (if s.add { "ADD" } else { "DROP" }, "SIGNATURE SCHEMA OBJECT", Some(&s.module.name.text))
        }
        KeyStatement::CreateSymmetricKey(c) => ("CREATE", "SYMMETRIC KEY", Some(&c.name.text)),
        KeyStatement::AlterSymmetricKey { name, .. } => ("ALTER", "SYMMETRIC KEY", Some(&name.text)),
        KeyStatement::CreateColumnMasterKey { name, .. } => ("CREATE", "COLUMN MASTER KEY", Some(&name.text)),
        KeyStatement::CreateColumnEncryptionKey { name, .. } => {
            ("CREATE", "COLUMN ENCRYPTION KEY", Some(&name.text))
        }
        KeyStatement::AlterColumnEncryptionKey { name, .. } => {
            ("ALTER", "COLUMN ENCRYPTION KEY", Some(&name.text))
        }
        _ => return None,
    })
}

/// What a statement of full-text search is about.
fn full_text_object(f: &FullTextStatement) -> &str {
    match f {
        FullTextStatement::CreateCatalog { name, .. }
        | FullTextStatement::AlterCatalog { name, .. }
        | FullTextStatement::DropCatalog(name)
        | FullTextStatement::CreateStoplist { name, .. }
        | FullTextStatement::AlterStoplist { name, .. }
        | FullTextStatement::DropStoplist(name) => &name.text,
        FullTextStatement::CreateIndex(c) => &c.table.name.text,
        FullTextStatement::AlterIndex { table, .. } | FullTextStatement::DropIndex(table) => &table.name.text,
    }
}

/// Where the next statement begins, or the end of the text.
fn next_statement(text: &str, from: usize) -> usize {
    let Ok(tokens) = tokenize(&text[from..], true) else { return text.len() };
    let next = tokens.iter().find(|t| !matches!(t.tok, Tok::Semi));
    next.map_or(text.len(), |t| if t.tok == Tok::Eof { text.len() } else { from + t.start as usize })
}
