//! Which actions a call of a system procedure is that defines or administers.

use super::catalog::{Group, class_named};
use super::record::Happening;
use super::tell::is_refusal;
use crate::engine::TEMPDB;
use crate::functions::find_named;
use crate::procs::{Outcome, number, owner_of_part, string};
use crate::run::{Argument, Halt, Runner};
use keel_query::catalog::Catalog as _;

impl Runner<'_> {
    /// Runs a procedure of the system, and records what it is: as with statements, before it runs where nothing is asked about
    /// permissions, and else when they have been.
    pub(crate) fn audit_call(
        &mut self,
        procedure: &str,
        args: &[Argument],
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let happening =
            if self.info.engine.audits.any() { self.action_of_call(procedure, args) } else { None };
        let Some(mut happening) = happening else { return run(self) };
        let before = self.info.unrestricted.get();
        if before {
            happening.succeeded = true;
            self.info.audit(&happening)?;
            return run(self);
        }
        let outcome = run(self);
        happening.succeeded = !matches!(&outcome, Err(Halt::Raised(e)) if is_refusal(e));
        self.info.audit(&happening)?;
        outcome
    }

    fn action_of_call(&self, procedure: &str, args: &[Argument]) -> Option<Happening> {
        let text = |name: &str, at: usize| string(args, name, at).unwrap_or_default();
        match procedure {
            "sp_rename" => self.renamed(&text("objname", 0), &text("objtype", 2)),
            "sp_changedbowner" => Some(Happening {
                action: "TO",
                target_login: text("loginame", 0),
                ..self.to_database(&[Group::DatabaseOwnershipChange], None)
            }),
            "sp_configure" => {
                number(args, "configvalue", 1)?;
                Some(self.to_server("ALST", &[Group::ServerOperation]))
            }
            "sp_addsrvrolemember" => Some(server_role("APRL", text("rolename", 1), text("loginame", 0))),
            "sp_dropsrvrolemember" => Some(server_role("DPRL", text("rolename", 1), text("loginame", 0))),
            "sp_addlinkedserver" => Some(linked_server("CR", text("server", 0), String::new())),
            "sp_dropserver" => Some(linked_server("DR", text("server", 0), String::new())),
            "sp_serveroption" | "sp_setnetname" => {
                Some(linked_server("AL", text("server", 0), String::new()))
            }
            "sp_addlinkedsrvlogin" => Some(linked_server("AL", text("rmtsrvname", 0), text("locallogin", 2))),
            "sp_droplinkedsrvlogin" => {
                Some(linked_server("AL", text("rmtsrvname", 0), text("locallogin", 1)))
            }
            "sp_migrate_user_to_contained" => Some(Happening {
                action: "AL",
                groups: &[Group::DatabasePrincipalChange],
                class: "SU",
                database: Some(self.info.current_database().id),
                target_user: text("username", 0),
                object_name: text("username", 0),
                ..Happening::default()
            }),
            _ => None,
        }
    }

    /// What has another name changes what it is part of: a column its table, a database itself.
    fn renamed(&self, old: &str, kind: &str) -> Option<Happening> {
        if kind.eq_ignore_ascii_case("DATABASE") {
            let h = self.to_database(&[Group::DatabaseChange], Some(old.to_owned()));
            return Some(Happening { action: "AL", ..h });
        }
        let whole = if kind.is_empty() || kind.eq_ignore_ascii_case("OBJECT") {
            find_named(self.info, old)
        } else {
            None
        };
        let (entry, named) = match whole {
            Some(found) => found,
            None => {
                let (table, _) = owner_of_part(self, old).ok()?;
                (self.info.engine.database_by_id(table.database)?, crate::catalog::Named::Table(table))
            }
        };
        if entry.id == TEMPDB {
            return None;
        }
        let (schema, object_name, kind) = crate::triggers::described(&named);
        Some(Happening {
            action: "AL",
            groups: &[Group::SchemaObjectChange],
            class: class_named(kind)?,
            database: Some(entry.id),
            object_id: crate::catalog::id_of(&named),
            schema_name: self.info.picture(&entry).schema_name(schema).unwrap_or_default(),
            object_name,
            ..Happening::default()
        })
    }
}

fn server_role(action: &'static str, role: String, login: String) -> Happening {
    Happening {
        action,
        groups: &[Group::ServerRoleMemberChange],
        class: "SG",
        target_login: login,
        object_name: role,
        ..Happening::default()
    }
}

fn linked_server(action: &'static str, name: String, login: String) -> Happening {
    Happening {
        action,
        groups: &[Group::ServerObjectChange],
        class: "SR",
        target_login: login,
        object_name: name,
        ..Happening::default()
    }
}
