//! Who a session is, and whether that may do what it asks for.
//!
//! Members of sysadmin are asked nothing: one flag, [`Info::unrestricted`], stands before every check. For others a compiled
//! statement carries what it needs ([`Need`]), and each execution compares that with the session's token in the
//! database, which is kept until the catalog or the identity changes.

use super::info::Info;
use crate::catalog::{
    DBO, GUEST_USER, Picture, PrincipalDef, Refusal, SYS, SecurableRef, Token, Verdict, decide,
};
use crate::engine::{DatabaseEntry, LoginRecord, MASTER, MSDB, TABLE_VARIABLES, TEMPDB};
use crate::errors;
use crate::keys::signature::ModuleSigner;
use crate::program::{ModuleIdentity, Need, Program, ProgramKind};
use crate::windows::Account;
use keel_base::DatabaseId;
use keel_query::SessionInfo as _;
use keel_query::bind::mask::{self, MaskSource};
use keel_query::catalog::{Catalog as _, EXECUTE_AS_OWNER, TableDef};
use keel_types::error::Result;
use smol_str::SmolStr;
use std::borrow::Cow;
use std::sync::Arc;

/// A login, or a user that EXECUTE AS USER made of it.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Login name.
    pub login: SmolStr,
    /// Member of sysadmin.
    pub sysadmin: bool,
    /// EXECUTE AS USER: good in this database only.
    pub user: Option<(DatabaseId, i32)>,
    /// The account of a domain that it is; it may have no login of its own but for its groups'.
    pub account: Option<Arc<Account>>,
    /// Who has signed the module that runs: security identifiers of logins and users that it may be as well.
    pub signers: Option<Arc<[Vec<u8>]>>,
    /// EXECUTE AS … WITH COOKIE: what REVERT has to say.
    pub cookie: Option<Cookie>,
}

/// What only who became somebody knows.
pub type Cookie = [u8; 16];

/// A token with what it was made from.
pub type CachedToken = (DatabaseId, u64, Option<Arc<Token>>);

impl Info {
    /// Who the session is now.
    #[must_use]
    pub fn identity_now(&self) -> Identity {
        self.impersonated.borrow().last().cloned().unwrap_or_else(|| self.identity_at_login())
    }

    /// Who it came as.
    #[must_use]
    pub fn identity_at_login(&self) -> Identity {
        Identity {
            login: SmolStr::new(&self.shared.login.login),
            sysadmin: self.shared.login.sysadmin,
            user: self.shared.login.user,
            account: self.shared.login.account.clone(),
            signers: None,
            cookie: None,
        }
    }

    /// The login that the session is now; none for who is a user of a database only, whatever the name.
    #[must_use]
    pub fn login_now(&self) -> Option<LoginRecord> {
        let now = self.identity_now();
        if now.user.is_some() { None } else { self.login_of(&now) }
    }

    /// The security identifier of the login in force; empty of who is none.
    #[must_use]
    pub fn own_sid(&self) -> Vec<u8> {
        self.login_of(&self.identity_now()).map(|login| login.sid).unwrap_or_default()
    }

    /// What somebody is as a login, whether he is a user of a database only or not.
    #[must_use]
    pub fn login_of(&self, who: &Identity) -> Option<LoginRecord> {
        self.logins().ok()?.of(who).map(Cow::into_owned)
    }

    /// The next REVERT takes this cookie.
    pub fn lock_identity(&self, cookie: Cookie) {
        if let Some(now) = self.impersonated.borrow_mut().last_mut() {
            now.cookie = Some(cookie);
        }
    }

    /// REVERT: who the session was before, if there is a level to leave and the cookie is its. Error 15591 otherwise.
    pub fn revert(&self, cookie: Option<&[u8]>) -> Result<()> {
        let depth = self.impersonated.borrow().len();
        let before = depth.saturating_sub(1).max(self.revert_floor.get());
        let wanted = self.impersonated.borrow().last().and_then(|now| now.cookie).filter(|_| before < depth);
        if wanted.as_ref().map(|cookie| &cookie[..]) != cookie {
            return Err(errors::cannot_revert());
        }
        self.revert_to(before);
        Ok(())
    }

    /// Becomes somebody else until [`Info::revert_to`].
    pub fn impersonate(&self, identity: Identity) {
        self.impersonated.borrow_mut().push(identity);
        self.identity_changed();
    }

    /// Becomes who it was before the `depth`-th EXECUTE AS still open.
    pub fn revert_to(&self, depth: usize) {
        if self.impersonated.borrow().len() > depth {
            self.impersonated.borrow_mut().truncate(depth);
            self.identity_changed();
        }
    }

    /// Who a module that is about to run does so as: by its WITH EXECUTE AS, which audits are told, and with those who have signed it. `None`
    /// when that is who it is called by.
    ///
    /// # Errors
    /// 33239: an audit that must record it cannot.
    ///
    /// 15406, 15517: that login or user is no more. Its drop is refused while a module names it; a module whose one is gone
    /// all the same must not run as anybody else.
    pub fn identity_of_module(&self, program: &Program) -> Result<Option<Identity>> {
        let runs_as = match program.execute_as {
            Some(principal) => Some(self.identity_executed_as(program, principal)?),
            None => None,
        };
        Ok(self.with_signers(program, runs_as))
    }

    /// What a module's signatures change about who it runs as. Its dynamic SQL, and procedures of the system, have what it has.
    fn with_signers(&self, program: &Program, runs_as: Option<Identity>) -> Option<Identity> {
        let held = self.impersonated.borrow().last().and_then(|now| now.signers.clone());
        let of_its_caller = match program.identity.kind {
            ProgramKind::Dynamic => true,
            _ => program.identity.schema_id == SYS,
        };
        if program.signers.is_empty() && held.is_none() || of_its_caller {
            return runs_as;
        }
        let held = held.unwrap_or_default();
        let counts = |s: &&ModuleSigner| !s.counter || held.contains(&s.sid);
        let mut signers: Vec<_> = program.signers.iter().filter(counts).map(|s| s.sid.clone()).collect();
        signers.sort_unstable();
        signers.dedup();
        if runs_as.is_none() && *signers == *held {
            return None;
        }
        let logins = self.logins().unwrap_or_default();
        let sysadmin = |sid: &Vec<u8>| logins.of_sid(sid).is_some_and(|login| login.sysadmin);
        let who = runs_as.unwrap_or_else(|| self.identity_now());
        Some(Identity {
            sysadmin: self.is_sysadmin(&who) || who.user.is_none() && signers.iter().any(sysadmin),
            signers: (!signers.is_empty()).then(|| signers.into()),
            cookie: None,
            ..who
        })
    }

    /// Whether somebody is a member of sysadmin but for who has signed what runs.
    fn is_sysadmin(&self, who: &Identity) -> bool {
        match who.signers {
            None => who.sysadmin,
            Some(_) => self.login_of(&Identity { signers: None, ..who.clone() }).is_some_and(|l| l.sysadmin),
        }
    }

    /// Who a module's WITH EXECUTE AS means.
    fn identity_executed_as(&self, program: &Program, principal: i32) -> Result<Identity> {
        // Its name is gone with it.
        let gone = || format!("{principal} of {}", program.identity.name.as_deref().unwrap_or_default());
        let missing = || errors::cannot_execute_as_user(gone());
        let entry = self.engine.database_by_id(program.identity.database).ok_or_else(missing)?;
        if program.identity.schema_id == keel_query::catalog::SERVER_TRIGGERS {
            // It is a login's number.
            let logins = self.logins()?;
            let login = logins.of_id(principal).ok_or_else(|| errors::cannot_execute_as_login(gone()))?;
            self.audit_impersonation("SL", &entry, &login.name, true)?;
            let (login, sysadmin) = (login.name.as_str().into(), login.sysadmin);
            return Ok(Identity { login, sysadmin, ..Identity::default() });
        }
        let picture = self.picture(&entry);
        let owned = principal == EXECUTE_AS_OWNER;
        let id = if owned { owner(&picture, program.identity.schema_id) } else { principal };
        let user = picture.principal(id).filter(|p| !p.role);
        // What a role owns runs as dbo.
        let user = user.or_else(|| picture.principal(crate::catalog::DBO).filter(|_| owned));
        let user = user.ok_or_else(missing)?;
        self.audit_impersonation("SU", &entry, &user.name, true)?;
        Ok(self.identity_of_user(&entry, &user))
    }

    /// A module begins, as who [`Info::identity_of_module`] says; REVERT inside undoes only what it does itself. Gives what
    /// [`Info::leave_security_level`] wants.
    pub fn enter_security_level(&self, identity: Option<Identity>) -> (usize, usize) {
        let depth = self.impersonated.borrow().len();
        if let Some(identity) = identity {
            self.impersonate(identity);
        }
        (depth, self.revert_floor.replace(self.impersonated.borrow().len()))
    }

    /// The module has ended.
    pub fn leave_security_level(&self, (depth, floor): (usize, usize)) {
        self.revert_floor.set(floor);
        self.revert_to(depth);
    }

    /// A user of a database as who a session is.
    #[must_use]
    pub fn identity_of_user(&self, entry: &Arc<DatabaseEntry>, user: &PrincipalDef) -> Identity {
        let logins = self.logins().unwrap_or_default();
        let login = user.sid.as_ref().and_then(|sid| logins.of_sid(sid));
        let login = login.map_or_else(|| user.name.clone(), |l| l.name.clone());
        Identity { login: login.into(), user: Some((entry.id, user.principal_id)), ..Identity::default() }
    }

    fn identity_changed(&self) {
        let now = self.identity_now();
        self.unrestricted.set(now.sysadmin && now.user.is_none());
        *self.token.borrow_mut() = None;
    }

    /// Who the session is in a database; `None` when it may not be there at all.
    #[must_use]
    pub fn token_in(&self, entry: &Arc<DatabaseEntry>) -> Option<Arc<Token>> {
        if self.unrestricted.get() {
            return Some(Arc::new(Token::dbo()));
        }
        let version = self.catalog_version(entry.id);
        if let Some((database, at, token)) = &*self.token.borrow()
            && (*database, *at) == (entry.id, version)
        {
            return token.clone();
        }
        let token = self.find_token(entry).map(Arc::new);
        *self.token.borrow_mut() = Some((entry.id, version, token.clone()));
        token
    }

    /// Where names without a schema are looked for first in a database, and what is made without one is.
    #[must_use]
    pub fn default_schema(&self, entry: &Arc<DatabaseEntry>) -> i32 {
        if self.unrestricted.get() { DBO } else { self.token_in(entry).map_or(DBO, |token| token.schema) }
    }

    fn find_token(&self, entry: &Arc<DatabaseEntry>) -> Option<Token> {
        let now = self.identity_now();
        let own = self.own_token(entry, &now);
        let signers = now.signers.filter(|_| now.user.is_none_or(|(database, _)| database == entry.id));
        match signers {
            Some(signers) => self.picture(entry).token_with_signers(own, &signers),
            None => own,
        }
    }

    /// The same without those who have signed what runs.
    fn own_token(&self, entry: &Arc<DatabaseEntry>, now: &Identity) -> Option<Token> {
        let picture = self.picture(entry);
        let open = matches!(entry.id, MASTER | TEMPDB | MSDB) || self.system_database(entry.id).is_some();
        match now.user {
            Some((database, user)) if database == entry.id => {
                let of_account = now.account.as_ref().and_then(|a| picture.token_of_account(a, false));
                Some(of_account.unwrap_or_else(|| picture.token_of(user)))
            }
            // A user of one database is nobody in the others.
            Some(_) => (entry.id == TEMPDB).then(|| picture.token_of(GUEST_USER)),
            None if now.sysadmin => Some(Token::dbo()),
            None => {
                let login = self.login_of(now)?;
                match &now.account {
                    Some(account) => picture.token_of_account(account, open),
                    None => picture.token_of_login(&login.sid, open),
                }
            }
        }
    }

    /// Whether the session has a permission on something of a database.
    #[must_use]
    pub fn verdict(&self, entry: &Arc<DatabaseEntry>, permission: &str, on: SecurableRef) -> Verdict {
        if self.unrestricted.get() {
            return Verdict::Allowed;
        }
        match self.token_in(entry) {
            Some(token) => self.picture(entry).permits(&token, permission, on),
            None => Verdict::NotGranted,
        }
    }

    /// Whether the session may something in a database.
    #[must_use]
    pub fn may(&self, entry: &Arc<DatabaseEntry>, permission: &str, on: SecurableRef) -> bool {
        self.verdict(entry, permission, on) == Verdict::Allowed
    }

    /// Whether the session may see the true values of columns in all rows of a table: of one that a security policy is about only those may who
    /// define what is there, and of masked columns those who have UNMASK. SELECT is asked for elsewhere.
    #[must_use]
    pub fn sees_all(&self, entry: &Arc<DatabaseEntry>, table: &TableDef, columns: &[i32]) -> bool {
        let guarded = !self.picture(entry).policies_on(table.object_id).is_empty();
        (!guarded || self.may(entry, "ALTER", SecurableRef::Database))
            && self.sees(&mask::sources(table, columns))
    }

    /// Whether the values of a masked column may be seen. What is in a temporary table is the session's own.
    pub(super) fn sees_column(&self, column: &MaskSource) -> bool {
        if column.database == TABLE_VARIABLES {
            return self.may(&self.current_database(), "UNMASK", SecurableRef::Database);
        }
        if column.object < 0 {
            return true;
        }
        let Some(entry) = self.engine.database_by_id(column.database) else { return false };
        self.may(&entry, "UNMASK", SecurableRef::Column(column.object, column.column))
    }

    /// Whether the session has a permission on the instance, or a fixed server role that carries it.
    #[must_use]
    pub fn may_on_server(&self, permission: &str) -> bool {
        let now = self.identity_now();
        if now.sysadmin || now.user.is_some() {
            return now.sysadmin && now.user.is_none();
        }
        let Ok(logins) = self.logins() else { return false };
        let Some(login) = logins.of(&now) else { return false };
        let (permissions, roles) = (logins.permissions_of(&login), logins.roles_of(&login));
        let own = || permissions.iter().copied().filter(|q| q.on == SecurableRef::Server);
        if decide(own(), permission) == Verdict::Denied {
            return false;
        }
        let in_role = |role: &str| roles.iter().any(|r| r.eq_ignore_ascii_case(role));
        let implied = match permission {
            "CREATE ANY DATABASE" => self.may_on_server("ALTER ANY DATABASE"),
            "ALTER ANY DATABASE" => in_role("dbcreator"),
            "ALTER ANY LOGIN" => in_role("securityadmin"),
            "ALTER ANY LINKED SERVER" => in_role("setupadmin"),
            "ALTER ANY CONNECTION" => in_role("processadmin"),
            "ADMINISTER BULK OPERATIONS" => in_role("bulkadmin"),
            "ALTER SETTINGS" | "ALTER SERVER STATE" | "SHUTDOWN" => in_role("serveradmin"),
            "VIEW SERVER STATE" => in_role("processadmin") || self.may_on_server("ALTER SERVER STATE"),
            "VIEW SERVER PERFORMANCE STATE" | "VIEW SERVER SECURITY STATE" => {
                self.may_on_server("VIEW SERVER STATE")
            }
            _ => false,
        };
        let holds = |permission| decide(own(), permission) == Verdict::Allowed;
        implied || holds(permission) || holds("CONTROL SERVER")
    }

    /// Whether the session may change an availability group; one not known here only by a permission on all.
    #[must_use]
    pub fn may_alter_group(&self, group: Option<crate::hadr::Guid>) -> bool {
        if self.may_on_server("ALTER ANY AVAILABILITY GROUP") {
            return true;
        }
        let now = self.identity_now();
        let (Some(group), None) = (group, now.user) else { return false };
        let Ok(logins) = self.logins() else { return false };
        let Some(login) = logins.of(&now) else { return false };
        let permissions = logins.permissions_of(&login);
        let here = || permissions.iter().copied().filter(|q| q.on == SecurableRef::AvailabilityGroup(group));
        let alter = decide(here(), "ALTER");
        alter == Verdict::Allowed || alter != Verdict::Denied && decide(here(), "CONTROL") == Verdict::Allowed
    }

    /// Error 916 unless the session may enter a database.
    pub fn check_entry(&self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        let token = self.token_in(entry);
        let may = if entry.picture().settings().user_access == "RESTRICTED_USER" {
            token.is_some_and(|token| token.owner) || self.may_on_server("CREATE ANY DATABASE")
        } else {
            token.is_some() || self.may_on_server("CONNECT ANY DATABASE")
        };
        if self.unrestricted.get() || may {
            return Ok(());
        }
        Err(errors::no_access(self.identity_now().login, entry.name()))
    }

    /// Errors 229, 230, 262, 300 unless the session has all that a statement needs. Within a module what belongs to the
    /// module's owner is not asked about.
    pub fn authorize(&self, caller: &ModuleIdentity, needs: &[Need]) -> Result<()> {
        for need in needs {
            match need {
                Need::Server { permission } => {
                    if !self.may_on_server(permission) {
                        return Err(errors::server_permission_denied(permission));
                    }
                }
                Need::Object { database, object, schema, permission, columns } => {
                    if *database == TABLE_VARIABLES || *object < 0 {
                        continue;
                    }
                    let object = (*object, *schema);
                    self.authorize_object(caller, *database, object, permission, columns.as_deref())?;
                }
            }
        }
        Ok(())
    }

    fn authorize_object(
        &self,
        caller: &ModuleIdentity,
        database: DatabaseId,
        (object, schema): (i32, i32),
        permission: &str,
        columns: Option<&[i32]>,
    ) -> Result<()> {
        let Some(entry) = self.engine.database_by_id(database) else { return Ok(()) };
        let picture = self.picture(&entry);
        if caller.object_id != 0
            && caller.database == database
            && owner(&picture, caller.schema_id) == owner(&picture, schema)
        {
            return Ok(());
        }
        // Procedures and functions of change data capture decide themselves what of its tables is whose.
        let cdc =
            || picture.schema(schema).is_some_and(|s| s.name.eq_ignore_ascii_case(crate::capture::SCHEMA));
        if caller.object_id < 0 && cdc() {
            return Ok(());
        }
        if database == TEMPDB && picture.schema_of(object).is_none() {
            // Temporary tables are the session's own.
            return Ok(());
        }
        self.check_entry(&entry)?;
        let refused = match self.token_in(&entry) {
            Some(token) => match picture.permits_columns(&token, permission, object, columns) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            },
            None => Refusal::Object,
        };
        let name = picture.objects().find(|o| o.object_id == object).map(|o| o.name.to_owned());
        let name = name.unwrap_or_default();
        let schema = picture.schema(schema).map(|s| s.name.clone()).unwrap_or_default();
        Err(match refused {
            Refusal::Object => errors::permission_denied(permission, name, entry.name(), schema),
            Refusal::Column(id) => {
                let column = self.column_names(&entry, object).into_iter().find(|(i, _)| *i == id);
                let column = column.map(|(_, name)| name).unwrap_or_default();
                errors::column_permission_denied(permission, column, name, entry.name(), schema)
            }
        })
    }
}

impl Info {
    /// Columns of a table or view by id; those of a view count from 1.
    #[must_use]
    pub fn column_names(&self, entry: &Arc<DatabaseEntry>, object: i32) -> Vec<(i32, String)> {
        let picture = self.picture(entry);
        if let Some(table) = picture.table_by_id(object) {
            return table.columns.iter().map(|c| (c.column_id, c.name.clone())).collect();
        }
        let Some(module) = picture.module_by_id(object) else { return Vec::new() };
        let columns = crate::views::module_columns(self, entry, module);
        (1..).zip(columns.into_iter().map(|c| c.name)).collect()
    }
}

/// The principal that owns a schema.
pub(super) fn owner(picture: &Picture, schema: i32) -> i32 {
    picture.schema(schema).map_or(crate::catalog::DBO, |s| s.owner)
}
