//! Server roles: who is in them, and those of one's own.
//!
//! One of one's own is kept among the logins, with members and permissions and without a way to log in
//! ([`LoginRecord::role`](crate::engine::LoginRecord)); members name their roles.

use crate::catalog::FIXED_SERVER_ROLES;
use crate::engine::LoginRecord;
use crate::errors;
use crate::run::Runner;
use keel_parser::ast::{self, AlterRoleAction};
use keel_types::SqlError;
use keel_types::error::Result;

/// The fixed role of that name, as it is kept.
fn fixed(name: &str) -> Option<&'static str> {
    let known = FIXED_SERVER_ROLES.iter().find(|(role, _)| role.eq_ignore_ascii_case(name));
    known.map(|(role, _)| *role)
}

impl Runner<'_> {
    fn may_alter_server_roles(&self) -> bool {
        self.info.unrestricted.get() || self.info.may_on_server("ALTER ANY SERVER ROLE")
    }

    /// A name that no login and no role has: error 15025.
    fn free_server_name(&self, name: &str) -> Result<()> {
        let taken = fixed(name).is_some() || name.eq_ignore_ascii_case("public");
        if taken || self.info.logins()?.principal(name).is_some() {
            return Err(errors::server_principal_exists(name));
        }
        Ok(())
    }

    pub(super) fn create_server_role(&mut self, c: &ast::CreateRole) -> Result<()> {
        if !self.may_alter_server_roles() && !self.info.may_on_server("CREATE SERVER ROLE") {
            return Err(errors::no_permission(""));
        }
        self.free_server_name(&c.name.text)?;
        let mut sid = vec![0; 16];
        self.info.engine.options().env.random.fill(&mut sid);
        self.info.engine.add_login_to(
            &*self.info.master()?,
            LoginRecord {
                principal_id: 0,
                name: c.name.text.to_string(),
                sid,
                password_hash: Vec::new(),
                disabled: true,
                default_database: String::new(),
                default_language: String::new(),
                sysadmin: false,
                created: 0,
                roles: Vec::new(),
                permissions: Vec::new(),
                role: true,
                credentials: Vec::new(),
                group: false,
            },
        )
    }

    /// A role of one's own that the session may change. Error 15151.
    fn own_server_role(&self, name: &str, verb: &str) -> Result<LoginRecord> {
        let found = self.info.logins()?.role(name).cloned().filter(|_| self.may_alter_server_roles());
        found.ok_or_else(|| errors::cannot_alter_principal(verb, "server role", name))
    }

    pub(super) fn drop_server_role(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let logins = self.info.logins()?;
        if if_exists && logins.role(name).is_none() {
            return Ok(());
        }
        let role = self.own_server_role(name, "drop")?;
        if logins.iter().any(|l| l.roles.iter().any(|r| crate::views::same(r, &role.name))) {
            return Err(errors::role_has_members());
        }
        self.info.master()?.drop_login(&role).map(|_| ())
    }

    pub(super) fn alter_server_role(&mut self, a: &ast::AlterRole) -> Result<()> {
        match &a.action {
            AlterRoleAction::AddMember(name) => self.change_server_role(&a.name.text, &name.text, true),
            AlterRoleAction::DropMember(name) => self.change_server_role(&a.name.text, &name.text, false),
            AlterRoleAction::Rename(name) => self.rename_server_role(&a.name.text, &name.text),
            AlterRoleAction::Set(_) => Err(errors::not_supported("This ALTER SERVER ROLE")),
        }
    }

    fn rename_server_role(&mut self, old: &str, new: &str) -> Result<()> {
        let role = self.own_server_role(old, "alter")?;
        self.free_server_name(new)?;
        let master = self.info.master()?;
        let members = master.logins()?;
        master.change_login(&role, |role| new.clone_into(&mut role.name))?;
        let is_old = |name: &String| crate::views::same(name, &role.name);
        for member in members.iter().filter(|l| l.roles.iter().any(is_old)) {
            master.change_login(member, |login| {
                login.roles.iter_mut().filter(|r| is_old(r)).for_each(|r| new.clone_into(r));
            })?;
        }
        Ok(())
    }

    /// Makes a login, or a server role of one's own, a member of a server role, or takes it out.
    pub(crate) fn change_server_role(&mut self, role: &str, member: &str, add: bool) -> Result<()> {
        let role = match fixed(role) {
            Some(fixed) => {
                let missing = || errors::cannot_alter_principal("alter", "server role", fixed);
                let own = self.info.login_now();
                let inside = own.is_some_and(|l| l.roles.iter().any(|r| r == fixed));
                if !self.info.unrestricted.get() && !inside {
                    return Err(missing());
                }
                fixed.to_owned()
            }
            None => self.own_server_role(role, "alter")?.name,
        };
        let missing = || errors::cannot_alter_principal("add", "principal", member);
        let logins = self.info.logins()?;
        let found = logins.principal(member).ok_or_else(missing)?;
        if found.principal_id == 1 {
            return Err(errors::special_principal("sa"));
        }
        if found.role && add {
            let inside = crate::views::same(&role, &found.name)
                || logins
                    .role(&role)
                    .is_some_and(|r| logins.roles_of(r).iter().any(|of| crate::views::same(of, &found.name)));
            if inside {
                let text = format!("Cannot make a role a member of itself ('{}').", found.name);
                return Err(SqlError::new(15_413, 11, 1, text));
            }
            // It would make everybody in it an administrator unseen.
            if role == "sysadmin" {
                return Err(errors::special_principal(&found.name));
            }
        }
        let there = self.info.master()?.change_login(found, |login| {
            if role == "sysadmin" {
                login.sysadmin = add;
                return;
            }
            login.roles.retain(|r| !crate::views::same(r, &role));
            if add {
                login.roles.push(role.clone());
            }
        })?;
        if there { Ok(()) } else { Err(missing()) }
    }
}
