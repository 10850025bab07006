//! Which actions a statement is that defines or administers.

use super::catalog::{Group, class_named};
use super::record::Happening;
use super::tell::is_refusal;
use crate::engine::MASTER;
use crate::program::Program;
use crate::run::{Frame, Runner};
use crate::triggers::Event;
use keel_parser::ast::{
    self, AlterLoginAction, AlterRoleAction, AuditAction, AuditSpecificationAction, AuditStatement,
    CredentialAction, DatabaseEncryptionKey, KeyStatement, MasterKey, OptValue, PermissionVerb, RestoreKind,
    Securable, Statement, StatementKind as S, TriggerTarget,
};
use keel_query::catalog::Catalog as _;
use keel_types::error::Result;

impl Runner<'_> {
    /// Records a statement that is not permitted, or is about to run.
    pub(crate) fn audit_statement(
        &self,
        program: &Program,
        frame: &Frame,
        statement: &Statement,
        events: &[Event],
        succeeded: bool,
    ) -> Result<()> {
        let mut all = self.actions_of(program, frame, statement, events);
        all.iter_mut().for_each(|h| h.succeeded = succeeded);
        let told = all.iter().try_for_each(|h| self.info.audit(h));
        // Who could not switch an audit off that cannot be written to could do nothing about it.
        if switches_off(statement) { Ok(()) } else { told }
    }

    /// Records a statement that has ended, of a session that is asked for its permissions as it goes.
    pub(crate) fn audit_ended(
        &self,
        program: &Program,
        frame: &Frame,
        statement: &Statement,
        events: &[Event],
        outcome: &Result<u16>,
    ) -> Result<()> {
        let succeeded = !matches!(outcome, Err(e) if is_refusal(e));
        self.audit_statement(program, frame, statement, events, succeeded)
    }

    /// Records a definition that a statement makes besides what it reads and writes.
    pub(crate) fn audit_definition(&self, event: &Event, succeeded: bool) -> Result<()> {
        if !self.info.engine.audits.any() {
            return Ok(());
        }
        self.of_event(event).map_or(Ok(()), |h| self.info.audit(&Happening { succeeded, ..h }))
    }

    fn actions_of(
        &self,
        program: &Program,
        frame: &Frame,
        statement: &Statement,
        events: &[Event],
    ) -> Vec<Happening> {
        let here = || Happening { database: Some(self.info.current_database().id), ..Happening::default() };
        match &statement.kind {
            S::AlterLogin(a) => vec![self.login_altered(a)],
            S::AlterUser(a) if a.options.iter().any(|o| o.name == "PASSWORD") => {
                let own = self.info.shared.login.user.is_some();
                let action = if own { "PWCS" } else { "PWC" };
                let name = a.name.text.to_string();
                vec![Happening {
                    action,
                    groups: &[Group::UserChangePassword],
                    class: "SU",
                    target_user: name.clone(),
                    object_name: name,
                    ..here()
                }]
            }
            S::CreateRole(c) if c.application => vec![Happening {
                action: "CR",
                groups: &[Group::DatabasePrincipalChange],
                class: "AR",
                target_user: c.name.text.to_string(),
                object_name: c.name.text.to_string(),
                ..here()
            }],
            S::AlterRole(a) => vec![self.role_altered(a)],
            S::Permission(p) => self.permission_actions(program, p),
            S::AlterAuthorization(a) => vec![self.owner_changed(program, a)],
            S::Backup(b) => vec![Happening {
                action: if b.log { "BAL" } else { "BA" },
                ..self.to_database(&[Group::BackupRestore], named_by(program, frame, &b.database))
            }],
            S::Restore(r) if matches!(r.kind, RestoreKind::Database | RestoreKind::Log) => vec![Happening {
                action: "RS",
                ..self.to_database(
                    &[Group::BackupRestore],
                    r.database.as_ref().and_then(|name| named_by(program, frame, name)),
                )
            }],
            S::Dbcc(d) => vec![Happening {
                action: "DBCC",
                groups: &[Group::Dbcc],
                class: "DB",
                object_name: d.command.to_string(),
                ..here()
            }],
            S::Checkpoint(_) => {
                vec![Happening { action: "CP", ..self.to_database(&[Group::DatabaseOperation], None) }]
            }
            S::Kill(_) => vec![self.to_server("ALCN", &[Group::ServerOperation])],
            S::Reconfigure { .. } => vec![self.to_server("ALST", &[Group::ServerOperation])],
            S::Shutdown { .. } => vec![self.to_server("SVSD", &[Group::ServerStateChange])],
            S::Truncate(t) => self.table_emptied(program, &t.table).into_iter().collect(),
            S::InsertBulk(b) => self.bulk_loaded(program, &b.table).into_iter().collect(),
            S::BulkInsert(b) => self.bulk_loaded(program, &b.table).into_iter().collect(),
            S::EnableTrigger(e) => {
                let groups: &'static [Group] = match e.target {
                    TriggerTarget::Object(_) => &[Group::SchemaObjectChange],
                    _ => &[Group::DatabaseObjectChange],
                };
                let of = |name: &ast::ObjectName| Happening {
                    action: "AL",
                    groups,
                    class: "TR",
                    object_name: name.name.text.to_string(),
                    ..here()
                };
                e.names.iter().map(of).collect()
            }
            S::EventSession(e) => {
                let action = match e.action {
                    ast::EventSessionAction::Create { .. } => "CR",
                    ast::EventSessionAction::Alter { .. } => "AL",
                    ast::EventSessionAction::Drop => "DR",
                };
                vec![Happening {
                    action,
                    groups: &[Group::ServerObjectChange],
                    class: "ES",
                    object_name: e.name.text.to_string(),
                    ..Happening::default()
                }]
            }
            S::Audit(a) => vec![self.audit_changed(a)],
            S::DatabaseEncryptionKey(k) => vec![Happening {
                action: match **k {
                    DatabaseEncryptionKey::Create { .. } => "CR",
                    DatabaseEncryptionKey::Alter { .. } => "AL",
                    DatabaseEncryptionKey::Drop => "DR",
                },
                groups: &[Group::DatabaseObjectChange],
                class: "DK",
                ..here()
            }],
            S::Credential(c) if c.scoped => vec![Happening {
                action: match c.action {
                    CredentialAction::Create(_) => "CR",
                    CredentialAction::Alter(_) => "AL",
                    CredentialAction::Drop { .. } => "DR",
                },
                groups: &[Group::DatabaseObjectChange],
                class: "DC",
                object_name: c.name.text.to_string(),
                ..here()
            }],
            S::Key(k) => match key_used(k) {
                Some(used) => vec![Happening { database: here().database, ..used }],
                None => events.iter().filter_map(|event| self.of_event(event)).collect(),
            },
            _ => events.iter().filter_map(|event| self.of_event(event)).collect(),
        }
    }

    /// A definition that is made, changed or dropped.
    fn of_event(&self, event: &Event) -> Option<Happening> {
        let (verb, rest) = event.kind.name.split_once('_')?;
        let action = match verb {
            "CREATE" => "CR",
            "DROP" => "DR",
            "ALTER" | "UPDATE" => "AL",
            _ => return None,
        };
        if rest == "DATABASE" {
            let name = event.database_name().map(str::to_owned);
            return Some(Happening { action, ..self.to_database(&[Group::DatabaseChange], name) });
        }
        // A master key has no name.
        let unnamed = rest.strip_suffix("MASTER_KEY").map(|_| "MASTER KEY");
        let class = class_named(event.said("ObjectType").or(unnamed)?)?;
        let groups: &'static [Group] = match class {
            "TR" => match event.said("TargetObjectType") {
                Some("DATABASE") => &[Group::DatabaseObjectChange],
                Some("SERVER") => &[Group::ServerObjectChange],
                _ => &[Group::SchemaObjectChange],
            },
            "U" | "V" | "P" | "FN" | "SO" | "SN" | "TY" | "IX" | "ST" | "SP" | "D" => {
                &[Group::SchemaObjectChange]
            }
            "SU" | "RL" | "AR" => &[Group::DatabasePrincipalChange],
            "SL" | "LX" | "SG" => &[Group::ServerPrincipalChange],
            "EP" | "AG" | "RG" | "ES" | "CD" => &[Group::ServerObjectChange],
            _ => &[Group::DatabaseObjectChange],
        };
        let text = |tag: &str| event.said(tag).unwrap_or_default().to_owned();
        let object_id = event.database.as_ref().and_then(|entry| {
            let picture = self.info.picture(entry);
            let named =
                picture.named(picture.schema_id(event.said("SchemaName")?)?, event.said("ObjectName")?)?;
            Some(crate::catalog::id_of(&named))
        });
        Some(Happening {
            action,
            groups,
            class,
            database: event.database.as_ref().map(|entry| entry.id),
            object_id: object_id.unwrap_or_default(),
            schema_name: text("SchemaName"),
            object_name: text("ObjectName"),
            target_login: if matches!(class, "SL" | "SG") { text("ObjectName") } else { String::new() },
            target_user: if matches!(class, "SU" | "RL" | "AR") { text("ObjectName") } else { String::new() },
            ..Happening::default()
        })
    }

    /// To a database as a whole; the current one when none is named.
    pub(super) fn to_database(&self, groups: &'static [Group], name: Option<String>) -> Happening {
        let here = self.info.current_database();
        let name = name.unwrap_or_else(|| here.name().to_string());
        let entry = self.info.find_database(&name);
        let id = entry.as_ref().map(|e| e.id);
        Happening {
            groups,
            class: "DB",
            database: id,
            object_id: id.and_then(|d| i32::try_from(d.0).ok()).unwrap_or_default(),
            database_name: name.clone(),
            object_name: name,
            ..Happening::default()
        }
    }

    pub(super) fn to_server(&self, action: &'static str, groups: &'static [Group]) -> Happening {
        let object_name = self.info.engine.options().server_name.clone();
        Happening { action, groups, class: "SR", object_name, ..Happening::default() }
    }

    fn login_altered(&self, a: &ast::AlterLogin) -> Happening {
        let name = a.name.text.to_string();
        let own = crate::views::same(&name, &self.info.login());
        let (action, groups): (_, &'static [Group]) = match &a.action {
            AlterLoginAction::Enable(true) => ("LGEA", &[Group::ServerPrincipalChange]),
            AlterLoginAction::Enable(false) => ("LGDA", &[Group::ServerPrincipalChange]),
            AlterLoginAction::Set { password: Some(_), .. } if own => ("PWCS", &[Group::LoginChangePassword]),
            AlterLoginAction::Set { password: Some(_), .. } => ("PWC", &[Group::LoginChangePassword]),
            AlterLoginAction::Credential { add: true, .. } => ("CMLG", &[Group::ServerPrincipalChange]),
            AlterLoginAction::Credential { add: false, .. } => ("NMLG", &[Group::ServerPrincipalChange]),
            AlterLoginAction::Set { .. } => ("AL", &[Group::ServerPrincipalChange]),
        };
        Happening {
            action,
            groups,
            class: "SL",
            target_login: name.clone(),
            object_name: name,
            ..Happening::default()
        }
    }

    fn role_altered(&self, a: &ast::AlterRole) -> Happening {
        let database = Some(self.info.current_database().id);
        let role = a.name.text.to_string();
        let base = if a.server {
            Happening { groups: &[Group::ServerPrincipalChange], class: "SG", ..Happening::default() }
        } else {
            Happening {
                groups: &[Group::DatabasePrincipalChange],
                class: "RL",
                database,
                ..Happening::default()
            }
        };
        let base = Happening { action: "AL", object_name: role, ..base };
        let member = |action, member: &ast::Ident| {
            let groups: &'static [Group] =
                if a.server { &[Group::ServerRoleMemberChange] } else { &[Group::DatabaseRoleMemberChange] };
            let name = member.text.to_string();
            let (target_login, target_user) =
                if a.server { (name, String::new()) } else { (String::new(), name) };
            Happening { action, groups, target_login, target_user, ..base.clone() }
        };
        match &a.action {
            AlterRoleAction::AddMember(m) => member("APRL", m),
            AlterRoleAction::DropMember(m) => member("DPRL", m),
            AlterRoleAction::Set(options) if options.iter().any(|o| o.name == "PASSWORD") => Happening {
                action: "PWC",
                groups: &[Group::ApplicationRoleChangePassword],
                class: "AR",
                ..base
            },
            _ => base,
        }
    }

    /// One for each who is given or refused a permission.
    fn permission_actions(&self, program: &Program, p: &ast::Permission) -> Vec<Happening> {
        let action = match (p.verb, p.grant_option, p.cascade) {
            (PermissionVerb::Grant, false, _) => "G",
            (PermissionVerb::Grant, true, _) => "GWG",
            (PermissionVerb::Deny, _, false) => "D",
            (PermissionVerb::Deny, _, true) => "DWC",
            (PermissionVerb::Revoke, true, _) => "RWG",
            (PermissionVerb::Revoke, false, true) => "RWC",
            (PermissionVerb::Revoke, false, false) => "R",
        };
        let of_server = crate::ddl::is_of_server(p);
        let class = p.on.as_ref().and_then(|on| on.class.as_deref());
        let (groups, kind): (&'static [Group], _) = match (&p.on, class) {
            (None, _) if of_server => (&[Group::ServerPermissionChange], "SR"),
            (Some(_), Some("SERVER")) => (&[Group::ServerPermissionChange], "SR"),
            (Some(_), class) if of_server => {
                (&[Group::ServerObjectPermissionChange], class.and_then(class_named).unwrap_or("SR"))
            }
            (None, _) | (Some(_), Some("DATABASE")) => (&[Group::DatabasePermissionChange], "DB"),
            (Some(_), None | Some("OBJECT")) => (&[Group::SchemaObjectPermissionChange], "U"),
            (Some(_), Some(class)) => {
                (&[Group::DatabaseObjectPermissionChange], class_named(class).unwrap_or("SC"))
            }
        };
        let base = Happening {
            action,
            groups,
            class: kind,
            database: (!of_server).then(|| self.info.current_database().id),
            columns: p.on.as_ref().is_some_and(|on| !on.columns.is_empty()),
            ..Happening::default()
        };
        let base = self.about_securable(program, base, p.on.as_ref());
        let to = |name: &ast::Ident| {
            let name = name.text.to_string();
            let (target_login, target_user) =
                if of_server { (name, String::new()) } else { (String::new(), name) };
            Happening { target_login, target_user, ..base.clone() }
        };
        p.principals.iter().map(to).collect()
    }

    fn owner_changed(&self, program: &Program, a: &ast::AlterAuthorization) -> Happening {
        let (groups, class): (&'static [Group], _) = match a.on.class.as_deref() {
            None | Some("OBJECT") => (&[Group::SchemaObjectOwnershipChange], "U"),
            Some("DATABASE") => {
                let h = self
                    .to_database(&[Group::DatabaseOwnershipChange], Some(a.on.name.name.text.to_string()));
                let target_login = a.to.as_ref().map(|to| to.text.to_string()).unwrap_or_default();
                return Happening { action: "TO", target_login, ..h };
            }
            Some(class @ ("ENDPOINT" | "AVAILABILITY GROUP" | "SERVER ROLE")) => {
                (&[Group::ServerObjectOwnershipChange], class_named(class).unwrap_or("SR"))
            }
            Some(class) => (&[Group::DatabaseObjectOwnershipChange], class_named(class).unwrap_or("SC")),
        };
        let target_user = a.to.as_ref().map(|to| to.text.to_string()).unwrap_or_default();
        let database = Some(self.info.current_database().id);
        let h = Happening { action: "TO", groups, class, database, target_user, ..Happening::default() };
        self.about_securable(program, h, Some(&a.on))
    }

    /// Names what a permission or an owner is of.
    fn about_securable(&self, program: &Program, h: Happening, on: Option<&Securable>) -> Happening {
        let Some(on) = on else {
            let here = self.info.current_database();
            return if h.class == "SR" { h } else { Happening { object_name: here.name().to_string(), ..h } };
        };
        let object_name = on.name.name.text.to_string();
        if !matches!(on.class.as_deref(), None | Some("OBJECT")) {
            return Happening { object_name, ..h };
        }
        let Some((entry, named)) = self.named(program, &on.name) else {
            return Happening { object_name, ..h };
        };
        let (schema, name, kind) = crate::triggers::described(&named);
        Happening {
            class: class_named(kind).unwrap_or(h.class),
            object_id: crate::catalog::id_of(&named),
            schema_name: self.info.picture(&entry).schema_name(schema).unwrap_or_default(),
            object_name: name,
            ..h
        }
    }

    fn table_emptied(&self, program: &Program, name: &ast::ObjectName) -> Option<Happening> {
        self.on_table(program, name, "AL", &[Group::SchemaObjectChange])
    }

    fn bulk_loaded(&self, program: &Program, name: &ast::ObjectName) -> Option<Happening> {
        self.on_table(program, name, "IN", &[Group::SchemaObjectAccess])
    }

    fn on_table(
        &self,
        program: &Program,
        name: &ast::ObjectName,
        action: &'static str,
        groups: &'static [Group],
    ) -> Option<Happening> {
        if name.is_temporary() {
            return None;
        }
        let (entry, named) = self.named(program, name)?;
        let (schema, object_name, kind) = crate::triggers::described(&named);
        let object_id = crate::catalog::id_of(&named);
        Some(Happening {
            action,
            groups,
            class: class_named(kind)?,
            database: Some(entry.id),
            object: (action == "IN").then_some((object_id, schema)),
            object_id,
            schema_name: self.info.picture(&entry).schema_name(schema).unwrap_or_default(),
            object_name,
            ..Happening::default()
        })
    }

    fn audit_changed(&self, a: &AuditStatement) -> Happening {
        let (class, name, action, database) = match a {
            AuditStatement::Audit { name, action } => {
                let action = match action {
                    AuditAction::Create { .. } => "CR",
                    AuditAction::Drop => "DR",
                    _ => "AL",
                };
                ("A", name, action, MASTER)
            }
            AuditStatement::Specification { database, name, action } => {
                let action = match action {
                    AuditSpecificationAction::Create { .. } => "CR",
                    AuditSpecificationAction::Alter { .. } => "AL",
                    AuditSpecificationAction::Drop => "DR",
                };
                if *database {
                    ("DA", name, action, self.info.current_database().id)
                } else {
                    ("SA", name, action, MASTER)
                }
            }
        };
        Happening {
            action,
            groups: &[Group::AuditChange],
            class,
            database: Some(database),
            object_name: name.text.to_string(),
            ..Happening::default()
        }
    }
}

/// Statements about keys that change no definition here: they open a key, write it to a file or read it from one. Closing one is no
/// action.
fn key_used(k: &KeyStatement) -> Option<Happening> {
    let used = |action, class, groups, name: &str| {
        Some(Happening { action, class, groups, object_name: name.to_owned(), ..Happening::default() })
    };
    match k {
        KeyStatement::OpenSymmetricKey { name, .. } => {
            used("OP", "SK", &[Group::DatabaseObjectAccess], &name.text)
        }
        KeyStatement::MasterKey(MasterKey::Open { .. }) => {
            used("OP", "MK", &[Group::DatabaseObjectAccess], "")
        }
        KeyStatement::MasterKey(MasterKey::Backup { .. }) => used("BA", "MK", &[Group::BackupRestore], ""),
        KeyStatement::MasterKey(MasterKey::Restore { .. }) => {
            used("RS", "MK", &[Group::BackupRestore, Group::DatabaseObjectChange], "")
        }
        KeyStatement::BackupCertificate(b) => used("BA", "CR", &[Group::BackupRestore], &b.name.text),
        _ => None,
    }
}

/// A database's name, also one in a variable.
fn named_by(program: &Program, frame: &Frame, name: &ast::NameOrVariable) -> Option<String> {
    match name {
        ast::NameOrVariable::Name(name) => Some(name.text.to_string()),
        ast::NameOrVariable::Variable(variable) => {
            let mut all = program.variables.iter().zip(&frame.vars);
            let found = all.find(|(v, _)| crate::views::same(&v.name, &variable.name));
            found.and_then(|(_, value)| value.as_str().map(str::to_owned))
        }
    }
}

/// `ALTER SERVER AUDIT … WITH (STATE = OFF)`
fn switches_off(statement: &Statement) -> bool {
    let S::Audit(a) = &statement.kind else { return false };
    match &**a {
        AuditStatement::Audit { action: AuditAction::Alter { options, .. }, .. } => {
            options.iter().any(|o| o.name == "STATE" && o.value == OptValue::Off)
        }
        _ => false,
    }
}
