//! Where sessions tell what happens.

use super::catalog::{Group, access_id};
use super::record::{Happening, Record};
use crate::catalog::{Named, Picture};
use crate::engine::{DatabaseEntry, Engine, MASTER, TABLE_VARIABLES, TEMPDB};
use crate::events::actor::Attempt;
use crate::program::{ModuleIdentity, Need};
use crate::session::info::Info;
use keel_query::catalog::Catalog as _;
use keel_types::error::Result;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Who is asked for when nobody may be there.
const NOBODY: &[i32] = &[crate::catalog::PUBLIC];

/// Characters of a statement that are recorded: a longer one must not make a record that nobody reads.
const STATEMENT_CHARS_MAX: usize = 1 << 20;

/// A text as it is recorded: without its passwords, and cut.
fn without_passwords(text: &str) -> String {
    let mut text = crate::secrets::without_secrets(text).into_owned();
    if let Some((end, _)) = text.char_indices().nth(STATEMENT_CHARS_MAX) {
        text.truncate(end);
    }
    text
}

impl Info {
    /// Records what happens, in all audits that want it. Error 33239 when one cannot, and what happens must not happen then.
    pub fn audit(&self, h: &Happening) -> Result<()> {
        let entry = h.database.and_then(|d| self.engine.database_by_id(d));
        let principals = || {
            let token = entry.as_ref().and_then(|entry| self.token_in(entry));
            token.map_or_else(|| NOBODY.to_vec(), |token| token.ids.clone())
        };
        let takers = self.engine.audits.takers(h, entry.as_deref(), principals);
        if takers.is_empty() {
            return Ok(());
        }
        let record = self.audit_record(h, entry.as_ref());
        self.engine.record_in(&takers, &record, self)
    }

    /// What is known of the session.
    pub(crate) fn audit_actor(&self) -> Record {
        let (shared, now) = (&self.shared, self.identity_now());
        let (name, login) = (now.login.to_string(), self.login_of(&now));
        let open = self.transaction.borrow().count > 0;
        Record {
            event_time: self.engine.now_utc(),
            session_id: i32::try_from(shared.id).unwrap_or(i32::MAX),
            server_principal_id: login.as_ref().map_or(0, |l| l.principal_id),
            server_principal_sid: login.map(|l| l.sid).unwrap_or_default(),
            server_principal_name: name,
            session_server_principal_name: shared.login.login.clone(),
            server_instance_name: self.engine.options().server_name.clone(),
            transaction_id: if open { shared.transaction_id.load(Ordering::Relaxed) } else { 0 },
            client_ip: match shared.login.client_address.as_str() {
                "" | "<local machine>" => "local machine".to_owned(),
                address => address.to_owned(),
            },
            application_name: shared.login.app_name.clone(),
            host_name: shared.login.host_name.clone(),
            ..Record::default()
        }
    }

    fn audit_record(&self, h: &Happening, entry: Option<&Arc<DatabaseEntry>>) -> Record {
        let user = entry.and_then(|entry| {
            let token = self.token_in(entry)?;
            Some((token.user, self.picture(entry).principal(token.user)?.name))
        });
        let (database_principal_id, database_principal_name) = user.unwrap_or_default();
        let (id, information) = h.user_defined.clone().unwrap_or_default();
        let target = self.logins().ok().and_then(|all| all.principal(&h.target_login).cloned());
        let target_user = entry.and_then(|e| self.picture(e).principal_named(&h.target_user));
        let statement = match &h.statement {
            Some(text) => without_passwords(text),
            None => {
                self.shared.current.statement().map_or_else(String::new, |at| without_passwords(at.text()))
            }
        };
        Record {
            action_id: h.action.to_owned(),
            succeeded: h.succeeded,
            is_column_permission: h.columns,
            database_principal_id,
            database_principal_name,
            target_server_principal_id: target.as_ref().map_or(0, |l| l.principal_id),
            target_server_principal_sid: target.map(|l| l.sid).unwrap_or_default(),
            target_server_principal_name: h.target_login.clone(),
            target_database_principal_id: target_user.map_or(0, |u| u.principal_id),
            target_database_principal_name: h.target_user.clone(),
            object_id: h.object_id,
            class_type: h.class.to_owned(),
            database_name: match (h.database_name.as_str(), entry) {
                ("", Some(entry)) => entry.name().to_string(),
                (name, _) => name.to_owned(),
            },
            schema_name: h.schema_name.clone(),
            object_name: h.object_name.clone(),
            statement,
            additional_information: format!("{}{}", self.audit_stack(), h.information),
            user_defined_event_id: id,
            user_defined_information: information,
            sequence_group_id: self.audit_group(),
            duration_milliseconds: h.cost[0],
            response_rows: h.cost[1],
            affected_rows: h.cost[2],
            ..self.audit_actor()
        }
    }

    fn audit_group(&self) -> [u8; 16] {
        let mut id = [0; 16];
        self.engine.options().env.random.fill(&mut id);
        id
    }

    /// The modules that run, outermost first, as `additional_information` has them.
    fn audit_stack(&self) -> String {
        let modules = self.modules.borrow();
        let mut out = String::new();
        for (level, module) in modules.iter().enumerate() {
            let Some(name) = &module.name else { continue };
            let name = name.rsplit('.').next().unwrap_or(name);
            let entry = self.engine.database_by_id(module.database);
            let schema =
                entry.and_then(|e| self.picture(&e).schema_name(module.schema_id)).unwrap_or_default();
            let _ = write!(out, "<frame nest_level = '{}' database_name = '", level + 1);
            keel_query::xml::push_text(&self.engine.database_name(module.database.0), true, &mut out);
            out.push_str("' schema_name = '");
            keel_query::xml::push_text(&schema, true, &mut out);
            out.push_str("' object_name = '");
            keel_query::xml::push_text(name, true, &mut out);
            out.push_str("'/>");
        }
        if out.is_empty() { out } else { format!("<tsql_stack>{out}</tsql_stack>") }
    }

    // ---- being somebody else ----

    /// The session is about to become a login (`SL`), or a user or application role of a database (`SU`, `AR`), or is refused to. The
    /// record is of who it is until then.
    pub(crate) fn audit_impersonation(
        &self,
        class: &'static str,
        entry: &DatabaseEntry,
        name: &str,
        succeeded: bool,
    ) -> Result<()> {
        if !self.engine.audits.any() {
            return Ok(());
        }
        let base = Happening {
            action: "IMP",
            class,
            succeeded,
            object_name: name.to_owned(),
            ..Happening::default()
        };
        let h = if class == "SL" {
            let groups = &[Group::ServerPrincipalImpersonation];
            Happening { groups, target_login: name.to_owned(), ..base }
        } else {
            let groups = &[Group::DatabasePrincipalImpersonation];
            Happening { groups, database: Some(entry.id), target_user: name.to_owned(), ..base }
        };
        self.audit(&h)
    }

    // ---- access to objects ----

    /// A statement is about to use these permissions, `answered` ones for the owner of a view or function. Unless it `may`, the session
    /// does not have one of them. Those from the first missing one on are not used.
    pub fn audit_accesses(
        &self,
        caller: &ModuleIdentity,
        needs: &[Need],
        answered: &[Need],
        may: bool,
    ) -> Result<()> {
        let mut told: Vec<(&Need, bool)> = Vec::new();
        for (need, owned) in needs.iter().map(|n| (n, false)).chain(answered.iter().map(|n| (n, true))) {
            let allowed = may || owned || self.authorize(caller, std::slice::from_ref(need)).is_ok();
            let known = told.iter().any(|(n, _)| n.object() == need.object() && n.object().is_some());
            if !known || !allowed {
                told.push((need, allowed));
            }
            if !allowed {
                break;
            }
        }
        told.iter().try_for_each(|(need, allowed)| self.audit_access(need, *allowed))
    }

    /// One permission on an object.
    pub(crate) fn audit_access(&self, need: &Need, allowed: bool) -> Result<()> {
        let Need::Object { database, object, schema, permission, columns } = need else { return Ok(()) };
        let (Some(action), Some(entry)) = (access_id(permission), self.engine.database_by_id(*database))
        else {
            return Ok(());
        };
        if *database == TABLE_VARIABLES || *object < 0 {
            return Ok(());
        }
        let picture = self.picture(&entry);
        let Some((class, name)) = object_in(&picture, *object) else { return Ok(()) };
        if *database == TEMPDB && name.starts_with('#') {
            return Ok(());
        }
        self.audit(&Happening {
            action,
            groups: &[Group::SchemaObjectAccess],
            succeeded: allowed,
            class,
            database: Some(*database),
            object: Some((*object, *schema)),
            object_id: *object,
            schema_name: picture.schema_name(*schema).unwrap_or_default(),
            object_name: name,
            columns: columns.is_some(),
            ..Happening::default()
        })
    }

    // ---- sessions, batches, transactions ----

    /// The session begins: error 33239 keeps it out.
    pub fn audit_login(&self, pooled: bool) -> Result<()> {
        if !self.engine.audits.any() {
            return Ok(());
        }
        let login = &self.shared.login;
        let own = login.user.is_some();
        let mut information =
            "<action_info xmlns=\"http://schemas.microsoft.com/sqlserver/2008/sqlaudit_data\">".to_owned();
        let _ = write!(
            information,
            "<pooled_connection>{}</pooled_connection><packet_data_size>{}</packet_data_size><address>",
            u8::from(pooled),
            login.packet_size
        );
        keel_query::xml::push_text(&login.client_address, false, &mut information);
        information.push_str("</address><is_dac>0</is_dac></action_info>");
        self.audit(&Happening {
            action: if own { "DBAS" } else { "LGIS" },
            groups: if own { &[Group::SuccessfulDatabaseAuthentication] } else { &[Group::SuccessfulLogin] },
            succeeded: true,
            class: if own { "DB" } else { "LX" },
            database: own.then(|| self.current_database().id),
            statement: Some(String::new()),
            information,
            ..Happening::default()
        })
    }

    /// The session ends.
    pub fn audit_logout(&self) {
        if self.engine.audits.any() {
            let own = self.shared.login.user;
            let _ = self.audit(&Happening {
                action: if own.is_some() { "DBL" } else { "LGO" },
                groups: if own.is_some() { &[Group::DatabaseLogout] } else { &[Group::Logout] },
                succeeded: true,
                class: if own.is_some() { "DB" } else { "LX" },
                database: own.map(|(database, _)| database),
                statement: Some(String::new()),
                ..Happening::default()
            });
        }
    }

    /// A batch or call begins: error 33239 when that must be recorded and cannot be.
    pub fn audit_batch_started(&self, text: &str) -> Result<()> {
        if self.engine.audits.any() { self.audit_batch("BST", &[Group::BatchStarted], text) } else { Ok(()) }
    }

    /// It has ended.
    pub fn audit_batch_completed(&self, text: &str) {
        if self.engine.audits.any() {
            let _ = self.audit_batch("BCM", &[Group::BatchCompleted], text);
        }
    }

    fn audit_batch(&self, action: &'static str, groups: &'static [Group], text: &str) -> Result<()> {
        let (used, before) = (&self.shared.used, &self.shared.used_before);
        let figure = |of: fn(&crate::engine::Usage) -> &std::sync::atomic::AtomicU64| {
            of(used).load(Ordering::Relaxed).saturating_sub(of(before).load(Ordering::Relaxed))
        };
        let ended = action == "BCM";
        let cost = if ended { [figure(|u| &u.elapsed_us) / 1000, figure(|u| &u.rows), 0] } else { [0; 3] };
        self.audit(&Happening {
            action,
            groups,
            succeeded: !ended || self.error.get() == 0,
            class: "DB",
            database: Some(self.current_database().id),
            object_id: i32::try_from(self.current_database().id.0).unwrap_or_default(),
            object_name: self.current_database().name().to_string(),
            statement: Some(text.to_owned()),
            cost,
            ..Happening::default()
        })
    }

    /// A transaction begins (0), is committed (1) or rolled back (2). Nobody can be told that it was not recorded.
    pub fn audit_transaction(&self, state: u32) {
        let action = match state {
            0 => "TXBG",
            1 => "TXCM",
            2 => "TXRB",
            _ => return,
        };
        if self.engine.audits.any() {
            let _ = self.audit(&Happening {
                action,
                groups: &[Group::Transaction],
                succeeded: true,
                class: "DB",
                database: Some(self.current_database().id),
                object_name: self.current_database().name().to_string(),
                ..Happening::default()
            });
        }
    }

    /// `sp_audit_write`
    pub fn audit_written(&self, id: i32, succeeded: bool, text: String) -> Result<()> {
        if !self.engine.audits.any() {
            return Ok(());
        }
        self.audit(&Happening {
            action: "UDAU",
            groups: &[Group::UserDefinedAudit],
            succeeded,
            class: "DB",
            database: Some(self.current_database().id),
            user_defined: Some((id, text)),
            ..Happening::default()
        })
    }
}

impl Engine {
    /// A login failed.
    pub fn audit_failed_login(&self, attempt: &Attempt<'_>) {
        if !self.audits.any() {
            return;
        }
        let groups = &[Group::FailedLogin];
        let h =
            Happening { action: "LGIF", groups, class: "LX", database: Some(MASTER), ..Happening::default() };
        let address = attempt.text.rsplit_once("[CLIENT: ").and_then(|(_, rest)| rest.strip_suffix(']'));
        let record = Record {
            event_time: self.now_utc(),
            action_id: h.action.to_owned(),
            class_type: h.class.to_owned(),
            server_principal_name: attempt.name.to_owned(),
            session_server_principal_name: attempt.name.to_owned(),
            server_instance_name: self.options().server_name.clone(),
            database_name: "master".to_owned(),
            statement: attempt.text.to_owned(),
            client_ip: address.unwrap_or_default().to_owned(),
            application_name: attempt.client.0.to_owned(),
            host_name: attempt.client.1.to_owned(),
            additional_information: format!(
                "<action_info xmlns=\"http://schemas.microsoft.com/sqlserver/2008/sqlaudit_data\"><error>18456</error><state>{}</state></action_info>",
                attempt.state
            ),
            ..Record::default()
        };
        let _ = self.audit_as(&h, &record, attempt);
    }
}

/// Class and name of an object of a database.
fn object_in(picture: &Picture, id: i32) -> Option<(&'static str, String)> {
    let named = if let Some(table) = picture.table_by_id(id) {
        Named::Table(table)
    } else if let Some(module) = picture.module_by_id(id) {
        Named::Module(Arc::clone(module))
    } else {
        Named::Sequence(Arc::clone(picture.sequences().find(|s| s.object_id == id)?))
    };
    let (_, name, kind) = crate::triggers::described(&named);
    Some((super::catalog::class_named(kind)?, name))
}

impl Need {
    /// What is needed on which object, whatever its columns.
    fn object(&self) -> Option<(keel_base::DatabaseId, i32, &'static str)> {
        match self {
            Need::Object { database, object, permission, .. } => Some((*database, *object, permission)),
            Need::Server { .. } => None,
        }
    }
}

/// Whether an error says that a permission is missing, or that something is missing or not for the caller.
pub(super) fn is_refusal(e: &keel_types::SqlError) -> bool {
    const NUMBERS: [i32; 21] = [
        229, 230, 262, 297, 300, 916, 1088, 2760, 3110, 3701, 4613, 4834, 5011, 5812, 6004, 6102, 7983,
        15_151, 15_247, 15_406, 15_517,
    ];
    NUMBERS.contains(&e.number)
}
