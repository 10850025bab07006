//! Application roles: users without login that a session becomes by their password (`sp_setapprole`).

use crate::catalog::{CatalogKey, CatalogOp, PrincipalDef, SecurableRef, fold, object_class};
use crate::errors;
use crate::run::Runner;
use crate::session::identity::{Cookie, Identity};
use keel_parser::ast::{self, AlterRoleAction};
use keel_types::error::Result;

fn option<'o>(options: &'o [ast::Opt], name: &str) -> Option<&'o str> {
    options.iter().find(|o| o.name == name)?.value.text()
}

impl Runner<'_> {
    fn may_alter_application_roles(&self) -> bool {
        self.info.may(&self.info.current_database(), "ALTER ANY APPLICATION ROLE", SecurableRef::Database)
    }

    /// CREATE APPLICATION ROLE
    pub(crate) fn create_application_role(&mut self, name: &str, options: &[ast::Opt]) -> Result<()> {
        if !self.may_alter_application_roles() {
            return Err(errors::no_permission(""));
        }
        let entry = self.info.current_database();
        let mut role = self.new_principal(&entry, name, false)?;
        let password = option(options, "PASSWORD").ok_or_else(|| errors::bad_parameter("PASSWORD"))?;
        role.application = Some(self.info.engine.options().hasher.hash(password));
        if let Some(schema) = option(options, "DEFAULT_SCHEMA") {
            schema.clone_into(&mut role.default_schema);
        }
        self.put_principal(&entry, role)
    }

    /// ALTER APPLICATION ROLE … WITH NAME, PASSWORD, DEFAULT_SCHEMA
    pub(super) fn alter_application_role(&mut self, a: &ast::AlterRole) -> Result<()> {
        let AlterRoleAction::Set(options) = &a.action else {
            return Err(errors::not_supported("This ALTER APPLICATION ROLE"));
        };
        let entry = self.info.current_database();
        let mut role = self.application_role("alter", &a.name.text)?;
        if let Some(name) = option(options, "NAME") {
            let taken = self.info.picture(&entry).principal_named(name).is_some();
            if taken && fold(name) != fold(&role.name) {
                return Err(errors::principal_exists(name));
            }
            name.clone_into(&mut role.name);
        }
        if let Some(password) = option(options, "PASSWORD") {
            role.application = Some(self.info.engine.options().hasher.hash(password));
        }
        if let Some(schema) = option(options, "DEFAULT_SCHEMA") {
            schema.clone_into(&mut role.default_schema);
        }
        self.put_principal(&entry, role)
    }

    /// DROP APPLICATION ROLE
    pub(crate) fn drop_application_role(&mut self, name: &str) -> Result<()> {
        let entry = self.info.current_database();
        let role = self.application_role("drop", name)?;
        let picture = self.info.picture(&entry);
        if picture.schemas().any(|s| s.owner == role.principal_id) {
            return Err(errors::principal_owns_schema());
        }
        let key = CatalogKey { class: object_class::PRINCIPAL, id: role.principal_id };
        self.change(&entry, CatalogOp::Remove(key))
    }

    /// One that the session may change. Error 15151.
    fn application_role(&self, verb: &str, name: &str) -> Result<PrincipalDef> {
        let picture = self.info.picture(&self.info.current_database());
        let found = picture.principal_named(name).filter(|p| p.application.is_some());
        let found = found.filter(|_| self.may_alter_application_roles());
        found.ok_or_else(|| errors::cannot_alter_principal(verb, "application role", name))
    }

    /// The session becomes an application role of its database until who has the cookie says otherwise, or it ends. Its login stays.
    ///
    /// # Errors
    /// 15161 without the role, or with another password; 15422 inside a module.
    pub(crate) fn set_application_role(&mut self, name: &str, password: &str) -> Result<Cookie> {
        if self.info.module().is_some_and(|module| module.object_id != 0) {
            return Err(errors::application_role_in_module());
        }
        let entry = self.info.current_database();
        let role = self.info.picture(&entry).principal_named(name);
        let hasher = &self.info.engine.options().hasher;
        let fits =
            |role: &PrincipalDef| role.application.as_ref().is_some_and(|hash| hasher.verify(password, hash));
        let role = role.filter(fits);
        self.info.audit_impersonation("AR", &entry, name, role.is_some())?;
        let role = role.ok_or_else(|| errors::no_application_role(name))?;
        let login = self.info.identity_now().login;
        let user = Some((entry.id, role.principal_id));
        self.info.impersonate(Identity { login, user, ..Identity::default() });
        let mut cookie = Cookie::default();
        self.info.engine.options().env.random.fill(&mut cookie);
        self.info.lock_identity(cookie);
        Ok(cookie)
    }
}
