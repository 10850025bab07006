//! Users, roles, GRANT, DENY, REVOKE, EXECUTE AS.

use crate::catalog::{
    CatalogKey, CatalogObject, CatalogOp, DBO_USER, ENDPOINT_PERMISSIONS, FIRST_PRINCIPAL, GROUP_PERMISSIONS,
    GUEST_USER, KEY_PERMISSIONS, Named, PERMISSIONS, PermissionState, PrincipalDef, SERVER_PERMISSIONS,
    SecurableRef, XML_COLLECTION_PERMISSIONS, fold, object_class,
};
use crate::engine::{DatabaseEntry, LoginRecord};
use crate::errors;
use crate::keys::principal::Mapped;
use crate::program::{Program, ProgramKind, VariableDef};
use crate::run::{Frame, Runner};
use crate::session::identity::{Cookie, Identity};
use crate::windows;
use keel_parser::ast::{self, AlterRoleAction, PermissionVerb, UserSource};
use keel_query::catalog::{Catalog as _, SERVER_TRIGGERS};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

impl Runner<'_> {
    fn may_here(&self, permission: &str) -> bool {
        self.info.may(&self.info.current_database(), permission, SecurableRef::Database)
    }

    pub(super) fn new_principal(
        &self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        role: bool,
    ) -> Result<PrincipalDef> {
        let picture = self.info.picture(entry);
        if picture.principal_named(name).is_some() {
            return Err(errors::principal_exists(name));
        }
        let used = picture.stored_principals().map(|p| p.principal_id).filter(|id| *id < FIRST_FIXED_ROLE);
        let now = self.info.engine.now_local();
        Ok(PrincipalDef {
            principal_id: used.max().unwrap_or(0).max(FIRST_PRINCIPAL - 1) + 1,
            name: name.to_owned(),
            role,
            sid: None,
            default_schema: if role { String::new() } else { "dbo".to_owned() },
            member_of: Vec::new(),
            permissions: Vec::new(),
            created: now,
            modified: now,
            password_hash: None,
            application: None,
            group: false,
        })
    }

    pub(super) fn put_principal(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        principal: PrincipalDef,
    ) -> Result<()> {
        let modified = self.info.engine.now_local();
        self.put(entry, CatalogObject::Principal(Arc::new(PrincipalDef { modified, ..principal })))
    }

    pub(super) fn create_user(&mut self, c: &ast::CreateUser) -> Result<()> {
        if !self.may_here("ALTER ANY USER") {
            return Err(errors::no_permission(""));
        }
        let entry = self.info.current_database();
        let mut user = self.new_principal(&entry, &c.name.text, false)?;
        match &c.source {
            UserSource::Login(login) => {
                let name = login.as_ref().map_or(c.name.text.as_str(), |l| l.text.as_str());
                let sid = match self.info.login_named(name) {
                    Some(login) => {
                        user.group = login.group;
                        login.sid
                    }
                    // An account of a domain may be a user without a login here.
                    None if login.is_none() && windows::parts(name).is_some() => {
                        let account = self.info.engine.find_account(name)?;
                        user.group = account.group;
                        account.sid
                    }
                    None => return Err(errors::not_a_login(name)),
                };
                let picture = self.info.picture(&entry);
                let taken = picture.stored_principals().any(|p| p.sid.as_ref() == Some(&sid));
                if taken || picture.settings().owner == sid {
                    return Err(errors::login_has_user());
                }
                user.sid = Some(sid);
            }
            UserSource::WithoutLogin => {}
            UserSource::Password(password) => {
                if !entry.picture().settings().is_contained() {
                    return Err(errors::user_with_password());
                }
                user.sid = Some(self.sid_of_new(&c.options)?);
                user.password_hash = Some(self.hash(password)?);
            }
            UserSource::Certificate(name) => {
                user.sid = Some(self.sid_of_new_mapped_user(&entry, Mapped::Certificate, &name.text)?);
            }
            UserSource::AsymmetricKey(name) => {
                user.sid = Some(self.sid_of_new_mapped_user(&entry, Mapped::AsymmetricKey, &name.text)?);
            }
            UserSource::ExternalProvider => {
                return Err(errors::not_supported("A user of an external provider"));
            }
        }
        // Who has a user may come in, until somebody revokes it.
        user.set(SecurableRef::Database, "CONNECT", Some(PermissionState::Grant));
        apply(&mut user, &c.options);
        self.put_principal(&entry, user)
    }

    /// The security identifier of a new user of a certificate or key. Errors 15151, 15063.
    fn sid_of_new_mapped_user(&self, entry: &Arc<DatabaseEntry>, to: Mapped, name: &str) -> Result<Vec<u8>> {
        let sid = self.sid_of_mapped(entry, to, name)?;
        let taken = self.info.picture(entry).stored_principals().any(|p| p.sid.as_ref() == Some(&sid));
        if taken { Err(errors::login_has_user()) } else { Ok(sid) }
    }

    pub(super) fn alter_user(&mut self, a: &ast::AlterUser) -> Result<()> {
        let entry = self.info.current_database();
        let found = self.info.picture(&entry).principal_named(&a.name.text).filter(PrincipalDef::is_user);
        let own = |user: &PrincipalDef| self.changes_own(&entry, user, &a.options);
        if found.as_ref().is_some_and(|p| p.principal_id == DBO_USER) {
            return Err(errors::cannot_alter_user(&a.name.text));
        }
        let found = found.filter(|p| !p.is_fixed() || p.principal_id == GUEST_USER);
        let found = found.filter(|p| self.may_here("ALTER ANY USER") || own(p));
        let mut user = found.ok_or_else(|| errors::cannot_alter_principal("alter", "user", &a.name))?;
        self.set_password(&mut user, &a.options)?;
        for option in a.options.iter().filter(|o| o.name == "LOGIN") {
            if user.mapped().is_some() {
                return Err(errors::cannot_remap());
            }
            let name = option.value.text().unwrap_or("");
            let login = self.info.login_named(name).ok_or_else(|| errors::not_a_login(name))?;
            if user.sid.as_deref().is_some_and(windows::is_account) != login.is_windows() {
                return Err(errors::another_kind_of_login());
            }
            user.group = login.group;
            user.sid = Some(login.sid);
        }
        apply(&mut user, &a.options);
        self.put_principal(&entry, user)
    }

    /// Whether a user changes nothing of its own but the default schema, or one of the database itself the password it knows.
    fn changes_own(&self, entry: &Arc<DatabaseEntry>, user: &PrincipalDef, options: &[ast::Opt]) -> bool {
        let token = self.info.token_in(entry).filter(|token| !token.by_group);
        if options.iter().all(|o| o.name == "DEFAULT_SCHEMA") {
            return token.is_some_and(|token| token.user == user.principal_id);
        }
        let itself = self.info.identity_now().user == Some((entry.id, user.principal_id));
        let only = options.iter().all(|o| matches!(o.name.as_str(), "PASSWORD" | "OLD_PASSWORD"));
        itself && only && options.iter().any(|o| o.name == "OLD_PASSWORD")
    }

    /// PASSWORD of ALTER USER. Errors 15151 for another old one, 33233 for a user of a login.
    fn set_password(&self, user: &mut PrincipalDef, options: &[ast::Opt]) -> Result<()> {
        let named =
            |name: &str| options.iter().find(|o| o.name == name).map(|o| o.value.text().unwrap_or(""));
        let Some(new) = named("PASSWORD") else { return Ok(()) };
        let hash = user.password_hash.as_deref().ok_or_else(errors::user_with_password)?;
        let hasher = &self.info.engine.options().hasher;
        if named("OLD_PASSWORD").is_some_and(|old| !hasher.verify(old, hash)) {
            return Err(errors::cannot_alter_principal("alter", "user", &user.name));
        }
        user.password_hash = Some(hasher.hash(new));
        Ok(())
    }

    /// A user of a login becomes one with the login's password, and maybe its name. Gives the login.
    pub(crate) fn contain_user(&mut self, name: &str, rename: bool) -> Result<LoginRecord> {
        let entry = self.info.current_database();
        if !entry.picture().settings().is_contained() {
            return Err(errors::user_with_password());
        }
        let picture = self.info.picture(&entry);
        let missing = || errors::cannot_alter_principal("alter", "user", name);
        // The password goes with it: only who may do everything to logins gives that away.
        let may = self.info.may_on_server("CONTROL SERVER");
        let found = picture.principal_named(name).filter(|p| p.is_user() && !p.is_fixed() && may);
        let mut user = found.ok_or_else(missing)?;
        let sid = user.sid.clone().filter(|_| user.password_hash.is_none()).ok_or_else(missing)?;
        let login = self.info.logins()?.of_sid(&sid).cloned().ok_or_else(missing)?;
        if rename && fold(&user.name) != fold(&login.name) {
            if picture.principal_named(&login.name).is_some() {
                return Err(errors::principal_exists(&login.name));
            }
            user.name.clone_from(&login.name);
        }
        user.password_hash = Some(login.password_hash.clone());
        // The login has no user here any more.
        user.sid = Some(self.sid_of_new(&[])?);
        self.put_principal(&entry, user)?;
        Ok(login)
    }

    pub(super) fn create_role(&mut self, c: &ast::CreateRole) -> Result<()> {
        if c.server {
            return self.create_server_role(c);
        }
        if c.application {
            return self.create_application_role(&c.name.text, &c.options);
        }
        if !self.may_here("CREATE ROLE") && !self.may_here("ALTER ANY ROLE") {
            return Err(errors::database_permission_denied(
                "CREATE ROLE",
                self.info.current_database().name(),
            ));
        }
        let entry = self.info.current_database();
        let role = self.new_principal(&entry, &c.name.text, true)?;
        self.put_principal(&entry, role)
    }

    pub(super) fn alter_role(&mut self, a: &ast::AlterRole) -> Result<()> {
        if a.server {
            return self.alter_server_role(a);
        }
        if a.application {
            return self.alter_application_role(a);
        }
        let entry = self.info.current_database();
        let picture = self.info.picture(&entry);
        let missing = || errors::cannot_alter_principal("alter", "role", &a.name);
        let mut role = picture.principal_named(&a.name.text).filter(|p| p.role).ok_or_else(missing)?;
        if role.principal_id == crate::catalog::PUBLIC {
            return Err(errors::special_principal("public"));
        }
        // What fixed roles carry is the owner's to give.
        let owner = self.info.token_in(&entry).is_some_and(|t| t.owner);
        if !owner && (role.is_fixed() || !self.may_here("ALTER ANY ROLE")) {
            return Err(missing());
        }
        match &a.action {
            AlterRoleAction::AddMember(name) | AlterRoleAction::DropMember(name) => {
                let add = matches!(a.action, AlterRoleAction::AddMember(_));
                let verb = if add { "add" } else { "drop" };
                let member = picture.principal_named(&name.text);
                let mut member =
                    member.ok_or_else(|| errors::cannot_alter_principal(verb, "principal", name))?;
                if member.is_fixed() && member.principal_id != crate::catalog::GUEST_USER {
                    return Err(errors::special_principal(name));
                }
                if picture.token_of(role.principal_id).is(member.principal_id) && add {
                    let text = format!("Cannot make a role a member of itself ('{name}').");
                    return Err(keel_types::SqlError::new(15_413, 11, 1, text));
                }
                member.member_of.retain(|r| *r != role.principal_id);
                if add {
                    member.member_of.push(role.principal_id);
                }
                self.put_principal(&entry, member)
            }
            AlterRoleAction::Rename(name) if !role.is_fixed() => {
                if picture.principal_named(&name.text).is_some() {
                    return Err(errors::principal_exists(name));
                }
                role.name = name.text.to_string();
                self.put_principal(&entry, role)
            }
            _ => Err(errors::not_supported("This ALTER ROLE")),
        }
    }

    pub(super) fn drop_principal(
        &mut self,
        name: &ast::ObjectName,
        if_exists: bool,
        role: bool,
    ) -> Result<()> {
        let kind = if role { "role" } else { "user" };
        let entry = self.info.current_database();
        let picture = self.info.picture(&entry);
        let found = picture.principal_named(&name.name.text);
        let found = found.filter(|p| p.role == role && p.application.is_none() && !p.is_fixed());
        if found.is_none() && if_exists {
            return Ok(());
        }
        let permission = if role { "ALTER ANY ROLE" } else { "ALTER ANY USER" };
        let found = found.filter(|_| self.may_here(permission));
        let principal = found.ok_or_else(|| errors::cannot_alter_principal("drop", kind, name))?;
        let id = principal.principal_id;
        if picture.stored_principals().any(|p| p.member_of.contains(&id)) {
            return Err(errors::role_has_members());
        }
        if picture.schemas().any(|s| s.owner == id && s.schema_id > 4) {
            return Err(errors::principal_owns_schema());
        }
        if let Some(kind) = picture.owned_key(id) {
            return Err(crate::keys::errors::principal_owns(kind));
        }
        if picture.xml_collections().any(|c| c.owner == Some(id)) {
            return Err(crate::keys::errors::principal_owns("xml schema collection"));
        }
        if picture.modules().any(|m| m.execute_as == Some(id) && m.schema_id != SERVER_TRIGGERS) {
            return Err(errors::principal_runs_modules());
        }
        self.change(&entry, CatalogOp::Remove(CatalogKey { class: object_class::PRINCIPAL, id }))
    }

    pub(super) fn permission(&mut self, program: &Program, p: &ast::Permission) -> Result<()> {
        let class = p.on.as_ref().and_then(|s| s.class.as_deref());
        if is_of_whole_server(p) {
            return self.server_permission(p, SecurableRef::Server);
        }
        if let Some(s) = p.on.as_ref().filter(|_| class == Some("ENDPOINT")) {
            let on = self.endpoint_permissions(p, &s.name)?;
            return self.server_permission(p, on);
        }
        if let Some(s) = p.on.as_ref().filter(|_| class == Some("AVAILABILITY GROUP")) {
            let on = self.group_permissions(p, &s.name)?;
            return self.server_permission(p, on);
        }
        let entry = self.info.current_database();
        let (on, names) = match &p.on {
            None => (SecurableRef::Database, DATABASE_ALL),
            Some(securable) => self.securable(program, securable)?,
        };
        let state = match p.verb {
            PermissionVerb::Grant if p.grant_option => Some(PermissionState::GrantOption),
            PermissionVerb::Grant => Some(PermissionState::Grant),
            PermissionVerb::Deny => Some(PermissionState::Deny),
            // GRANT OPTION FOR leaves the permission itself.
            PermissionVerb::Revoke if p.grant_option => Some(PermissionState::Grant),
            PermissionVerb::Revoke => None,
        };
        let mut wanted: Vec<(&str, SecurableRef)> = Vec::new();
        for item in &p.permissions {
            let places = self.columns_meant(&entry, on, item, p.on.as_ref())?;
            let wanted_all = |name: &'static str| places.iter().map(move |on| (name, *on));
            match item.name.trim_end_matches(" PRIVILEGES") {
                "ALL" => wanted.extend(names.iter().flat_map(|name| wanted_all(name))),
                "EXEC" => wanted.extend(wanted_all("EXECUTE")),
                name => {
                    let known = PERMISSIONS.iter().find(|(n, _)| *n == name);
                    let Some((known, _)) = known else {
                        let text = format!("Incorrect syntax near '{}'.", item.name);
                        return Err(keel_types::SqlError::new(102, 15, 1, text));
                    };
                    wanted.extend(wanted_all(known));
                }
            }
        }
        let picture = self.info.picture(&entry);
        let of_table = |on: &SecurableRef| match on {
            SecurableRef::Object(id) | SecurableRef::Column(id, _) => picture.table_by_id(*id).is_some(),
            _ => true,
        };
        if wanted.iter().any(|(permission, on)| *permission == "UNMASK" && !of_table(on)) {
            return Err(errors::permission_not_compatible("UNMASK"));
        }
        let of_key = |on: &SecurableRef| picture.key_owner(*on).is_some();
        let strange = wanted.iter().find(|(name, on)| of_key(on) && !KEY_PERMISSIONS.contains(name));
        if let Some((name, _)) = strange {
            return Err(errors::permission_not_compatible(name));
        }
        let strange = wanted.iter().find(|(name, on)| {
            matches!(on, SecurableRef::XmlCollection(_)) && !XML_COLLECTION_PERMISSIONS.contains(name)
        });
        if let Some((name, _)) = strange {
            return Err(errors::permission_not_compatible(name));
        }
        for (permission, on) in &wanted {
            self.check_may_grant(&entry, permission, *on, p)?;
        }
        for name in &p.principals {
            let picture = self.info.picture(&entry);
            let found = picture.principal_named(&name.text);
            let mut principal = found.ok_or_else(|| errors::cannot_alter_principal("find", "user", name))?;
            match principal.principal_id {
                1 | 3 | 4 => return Err(errors::grant_to_owner()),
                id if id >= FIRST_FIXED_ROLE => return Err(errors::grant_to_special()),
                _ => {}
            }
            for (permission, on) in &wanted {
                principal.set(*on, permission, state);
            }
            self.put_principal(&entry, principal)?;
        }
        Ok(())
    }

    /// What a permission is about: the securable itself, or the columns listed behind the permission or the object.
    fn columns_meant(
        &self,
        entry: &Arc<DatabaseEntry>,
        on: SecurableRef,
        item: &ast::PermissionItem,
        securable: Option<&ast::Securable>,
    ) -> Result<Vec<SecurableRef>> {
        let behind = securable.map_or(&[][..], |s| &s.columns);
        let listed = match (item.columns.as_slice(), behind) {
            ([], []) => return Ok(vec![on]),
            (listed, []) | ([], listed) => listed,
            _ => return Err(errors::columns_after_object()),
        };
        let SecurableRef::Object(object) = on else { return Err(errors::columns_for_entity()) };
        let of_columns = matches!(
            item.name.as_str(),
            "SELECT" | "UPDATE" | "REFERENCES" | "UNMASK" | "ALL" | "ALL PRIVILEGES"
        );
        let known = self.info.column_names(entry, object);
        if !of_columns || known.is_empty() {
            return Err(errors::columns_for_entity());
        }
        let id = |c: &ast::Ident| {
            let found = known.iter().find(|(_, name)| fold(name) == fold(&c.text));
            found.map(|(id, _)| SecurableRef::Column(object, *id)).ok_or_else(|| {
                let text = format!("Column name '{}' does not exist in the target table or view.", c.text);
                keel_types::SqlError::new(1911, 16, 1, text)
            })
        };
        listed.iter().map(id).collect()
    }

    fn check_may_grant(
        &self,
        entry: &Arc<DatabaseEntry>,
        permission: &str,
        on: SecurableRef,
        p: &ast::Permission,
    ) -> Result<()> {
        let Some(token) = self.info.token_in(entry) else {
            return Err(errors::no_access(self.info.login(), entry.name()));
        };
        let picture = self.info.picture(entry);
        let option = |id: &i32| {
            let held = picture.stored_principal(*id);
            held.is_some_and(|held| {
                held.permissions
                    .iter()
                    .any(|q| q.on == on && q.name == permission && q.state == PermissionState::GrantOption)
            })
        };
        let whole = match on {
            SecurableRef::Column(object, _) => SecurableRef::Object(object),
            on => on,
        };
        if token.owner || self.info.may(entry, "CONTROL", whole) || token.ids.iter().any(option) {
            return Ok(());
        }
        Err(match &p.on {
            Some(s) => errors::cannot_alter_principal("find", "object", &s.name.name),
            None => errors::grantor_without_permission(),
        })
    }

    /// What a securable is, and what ALL means for it.
    fn securable(
        &self,
        program: &Program,
        s: &ast::Securable,
    ) -> Result<(SecurableRef, &'static [&'static str])> {
        let entry = self.info.current_database();
        let picture = self.info.picture(&entry);
        let missing = |kind: &str| errors::cannot_alter_principal("find", kind, &s.name.name);
        Ok(match s.class.as_deref() {
            None | Some("OBJECT") => {
                let found = self.named(program, &s.name).filter(|(e, _)| e.id == entry.id);
                match found.ok_or_else(|| missing("object"))?.1 {
                    Named::Table(t) => (SecurableRef::Object(t.object_id), TABLE_ALL),
                    Named::Module(m) => {
                        use keel_query::catalog::ModuleKind as K;
                        let all = match m.kind {
                            K::View | K::InlineTableFunction => TABLE_ALL,
                            K::TableFunction => &["SELECT"][..],
                            _ => &["EXECUTE"][..],
                        };
                        (SecurableRef::Object(m.object_id), all)
                    }
                    Named::Synonym(d) => (SecurableRef::Object(d.object_id), TABLE_ALL),
                    Named::Bindable(d) => (SecurableRef::Object(d.object_id), &["REFERENCES"]),
                    Named::Sequence(d) => (SecurableRef::Object(d.object_id), &["UPDATE"]),
                    Named::Policy(d) => (SecurableRef::Object(d.object_id), &["VIEW DEFINITION"]),
                    Named::Queue(d) => (SecurableRef::Object(d.object_id), &["RECEIVE"]),
                    Named::Constraint(..) => return Err(missing("object")),
                }
            }
            Some("SCHEMA") => {
                let id = picture.schema_id(&s.name.name.text).ok_or_else(|| missing("schema"))?;
                (SecurableRef::Schema(id), TABLE_ALL)
            }
            Some("DATABASE") if fold(&s.name.name.text) == fold(&entry.name()) => {
                (SecurableRef::Database, DATABASE_ALL)
            }
            Some("DATABASE") => return Err(missing("database")),
            Some("USER" | "ROLE") => {
                let found = picture.principal_named(&s.name.name.text).ok_or_else(|| missing("user"))?;
                (SecurableRef::Principal(found.principal_id), &["CONTROL"])
            }
            Some("XML SCHEMA COLLECTION") => {
                let found = self.collection_named(&s.name).ok_or_else(|| missing("xml schema collection"))?;
                (SecurableRef::XmlCollection(found.collection_id), XML_COLLECTION_PERMISSIONS)
            }
            Some(class @ ("MESSAGE TYPE" | "CONTRACT" | "SERVICE" | "ROUTE")) => {
                let found = crate::broker::securable(&picture, class, &s.name.name.text);
                found.ok_or_else(|| missing(&class.to_ascii_lowercase()))?
            }
            Some(class @ ("CERTIFICATE" | "ASYMMETRIC KEY" | "SYMMETRIC KEY")) => {
                let found = crate::keys::securable(&picture, class, &s.name.name.text);
                (found.ok_or_else(|| missing(&class.to_ascii_lowercase()))?, KEY_PERMISSIONS)
            }
            Some(other) => return Err(errors::not_supported(format!("A permission on a {other}"))),
        })
    }

    /// The endpoint that a permission is on, once the permission is one of an endpoint.
    fn endpoint_permissions(&self, p: &ast::Permission, name: &ast::ObjectName) -> Result<SecurableRef> {
        only_these(p, ENDPOINT_PERMISSIONS)?;
        let wanted = fold(&name.name.text);
        let found = self.info.engine.endpoints()?.into_iter().find(|e| fold(&e.name) == wanted);
        let found = found.ok_or_else(|| errors::cannot_alter_principal("find", "endpoint", &name.name))?;
        Ok(SecurableRef::Endpoint(found.id))
    }

    /// The availability group that a permission is on, once the permission is one of a group.
    fn group_permissions(&self, p: &ast::Permission, name: &ast::ObjectName) -> Result<SecurableRef> {
        only_these(p, GROUP_PERMISSIONS)?;
        let state = self.info.engine.hadr().map(|h| h.state());
        let found = state.as_ref().and_then(|s| s.group(&name.name.text));
        let kind = "availability group";
        let found = found.ok_or_else(|| errors::cannot_alter_principal("find", kind, &name.name))?;
        Ok(SecurableRef::AvailabilityGroup(found.id))
    }

    /// A permission on the instance, on one of its endpoints or on a group.
    fn server_permission(&mut self, p: &ast::Permission, on: SecurableRef) -> Result<()> {
        if !self.info.unrestricted.get() && !self.info.may_on_server("CONTROL SERVER") {
            return Err(errors::grantor_without_permission());
        }
        let here = self.info.current_database().id;
        if self.info.system_database(here) != Some(crate::catalog::SystemDatabase::Master) {
            let text =
                "Permissions at the server scope can only be granted when the current database is master.";
            return Err(keel_types::SqlError::new(4621, 16, 10, text));
        }
        let state = match p.verb {
            PermissionVerb::Grant if p.grant_option => Some(PermissionState::GrantOption),
            PermissionVerb::Grant => Some(PermissionState::Grant),
            PermissionVerb::Deny => Some(PermissionState::Deny),
            PermissionVerb::Revoke => None,
        };
        for name in &p.principals {
            let missing = || errors::cannot_alter_principal("find", "login", name);
            let found = self.info.logins()?.principal(&name.text).cloned().ok_or_else(missing)?;
            if found.principal_id == 1 {
                return Err(errors::grant_to_owner());
            }
            let there = self.info.master()?.change_login(&found, |login| {
                for item in &p.permissions {
                    login.permissions.retain(|q| q.on != on || *q.name != *item.name);
                    if let Some(state) = state {
                        let name = item.name.to_string();
                        login.permissions.push(crate::catalog::PermissionDef { on, name, state });
                    }
                }
            })?;
            if !there {
                return Err(missing());
            }
        }
        // Who may connect is the replication side's to know.
        if matches!(on, SecurableRef::Endpoint(_)) { self.endpoint_changed() } else { Ok(()) }
    }

    pub(super) fn alter_authorization(&mut self, a: &ast::AlterAuthorization) -> Result<()> {
        let entry = self.info.current_database();
        let name = &a.on.name.name.text;
        match (a.on.class.as_deref(), &a.to) {
            (Some("DATABASE"), Some(to)) => {
                let target = self.info.find_database(name).ok_or_else(|| errors::no_database(name))?;
                self.change_owner(&target, &to.text)
            }
            (Some("SCHEMA"), Some(to)) => {
                let picture = self.info.picture(&entry);
                let missing = || errors::cannot_alter_principal("find", "schema", name);
                let schema = picture.schema_id(name).and_then(|id| picture.schema(id)).ok_or_else(missing)?;
                if !self.info.may(&entry, "CONTROL", SecurableRef::Schema(schema.schema_id)) {
                    return Err(missing());
                }
                let owner = picture.principal_named(&to.text);
                let owner = owner.ok_or_else(|| errors::cannot_alter_principal("find", "user", to))?;
                let schema = crate::catalog::SchemaDef { owner: owner.principal_id, ..(**schema).clone() };
                self.put(&entry, CatalogObject::Schema(Arc::new(schema)))
            }
            (Some("XML SCHEMA COLLECTION"), to) => {
                let missing = || errors::cannot_alter_principal("find", "xml schema collection", name);
                let found = self.collection_named(&a.on.name).ok_or_else(missing)?;
                let on = SecurableRef::XmlCollection(found.collection_id);
                if !self.info.may(&entry, "TAKE OWNERSHIP", on) && !self.info.may(&entry, "CONTROL", on) {
                    return Err(missing());
                }
                let owner = match to {
                    Some(to) => {
                        let owner = self.info.picture(&entry).principal_named(&to.text);
                        Some(
                            owner
                                .ok_or_else(|| errors::cannot_alter_principal("find", "user", to))?
                                .principal_id,
                        )
                    }
                    None => None,
                };
                let def = keel_query::xml_collection::XmlCollectionDef { owner, ..(*found).clone() };
                self.put(&entry, CatalogObject::XmlCollection(Arc::new(def)))
            }
            (Some(class @ ("MESSAGE TYPE" | "CONTRACT" | "SERVICE" | "ROUTE")), Some(to)) => {
                self.give_broker_object(&entry, class, name, to)
            }
            (Some(class @ ("CERTIFICATE" | "ASYMMETRIC KEY" | "SYMMETRIC KEY")), Some(to)) => {
                self.give_key(&entry, class, name, to)
            }
            _ => Err(errors::not_supported("This ALTER AUTHORIZATION")),
        }
    }

    /// Gives a database to a login, who may not be a user of it yet.
    pub(crate) fn change_owner(&mut self, target: &Arc<DatabaseEntry>, login: &str) -> Result<()> {
        if !self.info.unrestricted.get() {
            return Err(errors::cannot_alter_principal("find", "database", target.name()));
        }
        let login = self.info.login_named(login).ok_or_else(|| errors::not_a_login(login))?;
        let picture = self.info.picture(target);
        if picture.stored_principals().any(|p| !p.role && p.sid.as_ref() == Some(&login.sid)) {
            return Err(errors::owner_is_user());
        }
        let mut settings = (**picture.settings()).clone();
        settings.owner = login.sid;
        self.put(target, CatalogObject::Settings(Arc::new(settings)))
    }

    pub(super) fn execute_as(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        e: &ast::ExecuteAs,
    ) -> Result<()> {
        let name = match &e.name {
            Some(name) => self.value(program, frame, name, None)?.as_str().unwrap_or("").to_owned(),
            // EXECUTE AS CALLER changes nothing at this level; REVERT undoes it.
            None => {
                self.info.impersonate(Identity { cookie: None, ..self.info.identity_now() });
                return Ok(());
            }
        };
        if e.cookie.is_some() && program.identity.kind == ProgramKind::Procedure {
            return Err(errors::cookie_in_module());
        }
        let variable = |variable: &ast::Variable| {
            let same = |v: &VariableDef| crate::views::same(&v.name, &variable.name);
            program.variables.iter().position(same).ok_or_else(|| errors::undeclared_variable(&variable.name))
        };
        let into = e.cookie.as_ref().map(variable).transpose()?;
        self.impersonate(e.principal, &name)?;
        if let Some(at) = into {
            let mut cookie = Cookie::default();
            self.info.engine.options().env.random.fill(&mut cookie);
            self.info.lock_identity(cookie);
            let value = Value::Bytes(cookie.as_slice().into());
            let (from, to) = (SqlType::VarBinary(Length::Limited(100)), program.variables[at].ty);
            frame.vars[at] = crate::convert::assign(value, from, to, self.dates())?;
        }
        if e.no_revert {
            self.info.revert_floor.set(self.info.impersonated.borrow().len());
        }
        Ok(())
    }

    /// The login of that name as who a session is. An account of a domain, which may have none of its own, is also what its groups are:
    /// without an answer of the directory nobody becomes one, as something may be denied to them (15404).
    fn login_as_identity(&self, name: &str) -> Result<Option<Identity>> {
        let login = self.info.login_named(name);
        let account = match &login {
            // Nobody is a group.
            Some(login) if login.is_windows_group() || login.mapped().is_some() => return Ok(None),
            Some(login) if !login.is_windows() => None,
            None if windows::parts(name).is_none() => return Ok(None),
            _ => match self.info.engine.account(name) {
                Err(e) if e.number == errors::no_windows_account("").number => return Ok(None),
                account => Some(Arc::new(account?)),
            },
        };
        let who = Identity { login: name.into(), account, ..Identity::default() };
        let login = self.info.login_of(&who);
        Ok(login.map(|login| Identity { login: login.name.into(), sysadmin: login.sysadmin, ..who }))
    }

    /// Becomes a login or a user of the current database, when the session may. Errors 15406, 15517.
    pub(crate) fn impersonate(&mut self, principal: ast::Principal, name: &str) -> Result<()> {
        match principal {
            ast::Principal::Login => {
                let allowed =
                    self.info.unrestricted.get() || self.info.may_on_server("IMPERSONATE ANY LOGIN");
                let identity = if allowed { self.login_as_identity(name)? } else { None };
                let entry = self.info.current_database();
                self.info.audit_impersonation("SL", &entry, name, identity.is_some())?;
                self.info.impersonate(identity.ok_or_else(|| errors::cannot_execute_as_login(name))?);
            }
            _ => {
                let entry = self.info.current_database();
                let user = self.user_to_be(&entry, name);
                self.info.audit_impersonation("SU", &entry, name, user.is_ok())?;
                let user = user?;
                self.info.impersonate(self.info.identity_of_user(&entry, &user));
            }
        }
        Ok(())
    }

    /// A user that the session may run as. Error 15517.
    pub(crate) fn user_to_be(&self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<PrincipalDef> {
        let user = self.info.picture(entry).principal_named(name).filter(PrincipalDef::is_user);
        let user = user.filter(|p| !p.is_windows_group() && p.mapped().is_none()).filter(|p| {
            let on = SecurableRef::Principal(p.principal_id);
            self.info.may(entry, "IMPERSONATE", on)
        });
        user.ok_or_else(|| errors::cannot_execute_as_user(name))
    }

    /// What was granted on an object goes with it: its number may come again.
    pub(super) fn forget_permissions(&mut self, entry: &Arc<DatabaseEntry>, on: SecurableRef) -> Result<()> {
        let picture = self.info.picture(entry);
        let about = |q: &crate::catalog::PermissionDef| match (q.on, on) {
            (SecurableRef::Column(table, _), SecurableRef::Object(object)) => table == object,
            (q, on) => q == on,
        };
        if !picture.stored_principals().any(|p| p.permissions.iter().any(about)) {
            return Ok(());
        }
        self.lock_catalog(entry)?;
        let picture = self.info.picture(entry);
        let holders = picture.stored_principals().filter(|p| p.permissions.iter().any(about));
        for holder in holders {
            let mut principal = (**holder).clone();
            principal.permissions.retain(|q| !about(q));
            self.put_principal(entry, principal)?;
        }
        Ok(())
    }
}

/// Ids from here on are those of fixed roles.
const FIRST_FIXED_ROLE: i32 = 16_384;
const TABLE_ALL: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES"];
const DATABASE_ALL: &[&str] =
    &["CREATE TABLE", "CREATE VIEW", "CREATE PROCEDURE", "CREATE FUNCTION", "BACKUP DATABASE", "BACKUP LOG"];

fn is_server_permission(name: &str) -> bool {
    SERVER_PERMISSIONS.iter().any(|(n, _)| *n == name)
}

fn is_of_whole_server(p: &ast::Permission) -> bool {
    match &p.on {
        None => p.permissions.iter().all(|i| is_server_permission(&i.name)),
        Some(on) => on.class.as_deref() == Some("SERVER"),
    }
}

/// Whether permissions are of the server or of what belongs to it, not of a database.
pub(crate) fn is_of_server(p: &ast::Permission) -> bool {
    let class = p.on.as_ref().and_then(|s| s.class.as_deref());
    is_of_whole_server(p) || matches!(class, Some("ENDPOINT" | "AVAILABILITY GROUP"))
}

fn apply(user: &mut PrincipalDef, options: &[ast::Opt]) {
    for option in options {
        let text = option.value.text().unwrap_or("").to_owned();
        match option.name.as_str() {
            "DEFAULT_SCHEMA" => user.default_schema = text,
            "NAME" => user.name = text,
            _ => {}
        }
    }
}

/// Error 102 at a permission that its securable does not have.
fn only_these(p: &ast::Permission, known: &[(&str, &str)]) -> Result<()> {
    match p.permissions.iter().find(|i| !known.iter().any(|(name, _)| i.name == *name)) {
        Some(item) => {
            let text = format!("Incorrect syntax near '{}'.", item.name);
            Err(keel_types::SqlError::new(102, 15, 1, text))
        }
        None => Ok(()),
    }
}
