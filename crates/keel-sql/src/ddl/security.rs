//! Logins, KILL.

use crate::config;
use crate::engine::LoginRecord;
use crate::errors;
use crate::keys::principal::Mapped;
use crate::program::{Program, Unit};
use crate::run::{Frame, Runner};
use crate::windows;
use keel_parser::ast::{self, AlterLoginAction, LoginSource, Password};
use keel_query::catalog::SERVER_TRIGGERS;
use keel_types::datetime::language::{LANGUAGES, Language};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// `principal_id` of `sa`, whatever it is called by now.
const SA: i32 = 1;

impl Runner<'_> {
    /// What is kept of a password. Error 15021 for a hash of no known form.
    pub(super) fn hash(&self, password: &Password) -> Result<Vec<u8>> {
        let hasher = &self.info.engine.options().hasher;
        match password {
            Password::Plain(text) => Ok(hasher.hash(text)),
            Password::Hashed(bytes) if hasher.knows(bytes) => Ok(bytes.to_vec()),
            Password::Hashed(_) => Err(errors::bad_parameter("PASSWORD")),
        }
    }

    pub(crate) fn sysadmin(&self) -> Result<()> {
        if self.info.unrestricted.get() { Ok(()) } else { Err(errors::no_permission("")) }
    }

    fn may_alter_logins(&self) -> Result<()> {
        if self.info.may_on_server("ALTER ANY LOGIN") { Ok(()) } else { Err(errors::no_permission("")) }
    }

    pub(super) fn create_login(&mut self, c: &ast::CreateLogin) -> Result<()> {
        self.may_alter_logins()?;
        if self.info.login_named(&c.name.text).is_some() {
            return Err(errors::server_principal_exists(&c.name.text));
        }
        let (name, mut group) = (&c.name.text, false);
        let (sid, password_hash) = match &c.source {
            LoginSource::Password { .. } if name.contains('\\') => return Err(errors::invalid_name(name)),
            LoginSource::Password { password, .. } => (self.sid_of_new(&c.options)?, self.hash(password)?),
            LoginSource::Windows => {
                let account = self.account_of_new(name)?;
                group = account.group;
                (account.sid, Vec::new())
            }
            LoginSource::Certificate(to) => {
                (self.sid_of_new_mapped(Mapped::Certificate, &to.text)?, Vec::new())
            }
            LoginSource::AsymmetricKey(to) => {
                (self.sid_of_new_mapped(Mapped::AsymmetricKey, &to.text)?, Vec::new())
            }
            LoginSource::ExternalProvider => {
                return Err(errors::not_supported("A login of an external provider"));
            }
        };
        let language = self.info.engine.configuration(config::DEFAULT_LANGUAGE).running;
        let language =
            usize::try_from(language).ok().and_then(|id| LANGUAGES.get(id)).unwrap_or(&LANGUAGES[0]);
        let mut login = LoginRecord {
            principal_id: 0,
            name: c.name.text.to_string(),
            sid,
            password_hash,
            disabled: false,
            default_database: "master".to_owned(),
            default_language: language.name.to_owned(),
            sysadmin: false,
            created: 0,
            roles: Vec::new(),
            permissions: Vec::new(),
            role: false,
            credentials: self.credentials_said(&c.options)?,
            group,
        };
        self.check_options(&c.options)?;
        apply(&mut login, &c.options);
        self.info.engine.add_login_to(&*self.info.master()?, login)
    }

    /// The security identifier of a new login: what SID says, or a fresh one. Whoever has a user in a database is known there by it, so
    /// that the same login on another replica must have the same. Errors 15419 and 15433.
    pub(super) fn sid_of_new(&self, options: &[ast::Opt]) -> Result<Vec<u8>> {
        let Some(option) = options.iter().find(|o| o.name == "SID") else {
            let mut sid = [0; 16];
            self.info.engine.options().env.random.fill(&mut sid);
            return Ok(sid.to_vec());
        };
        let sid = option.value.binary().filter(|sid| sid.len() == 16).ok_or_else(errors::bad_sid)?;
        if self.info.logins()?.of_sid(sid).is_some() {
            return Err(errors::sid_in_use());
        }
        Ok(sid.to_vec())
    }

    /// That of a certificate's or key's, which is in master. Error 15151 without such a one, 15433 when it has a login.
    fn sid_of_new_mapped(&self, to: Mapped, name: &str) -> Result<Vec<u8>> {
        let sid = self.sid_of_mapped(&self.info.master()?, to, name)?;
        if self.info.logins()?.of_sid(&sid).is_some() {
            return Err(errors::sid_in_use());
        }
        Ok(sid)
    }

    /// The account or group of a new login. Errors 15401, 15404 and 15407 of [`crate::engine::Engine::find_account`]; 15433 when another
    /// login, whose account had another name once, is its already.
    fn account_of_new(&self, name: &str) -> Result<windows::Listed> {
        let account = self.info.engine.find_account(name)?;
        if self.info.logins()?.of_sid(&account.sid).is_some() {
            return Err(errors::sid_in_use());
        }
        Ok(account)
    }

    /// Error 15080 for a password of an account or a certificate's login, 15098 for a name of another account, 15006 for one of an account.
    fn check_account(&self, login: &LoginRecord, password: bool, options: &[ast::Opt]) -> Result<()> {
        let name = options.iter().find(|o| o.name == "NAME").and_then(|o| o.value.text());
        if password && let Some(to) = login.mapped() {
            return Err(errors::not_for_login("PASSWORD", to.kind()));
        }
        match (login.is_windows(), name) {
            (true, _) if password => Err(errors::not_for_login("PASSWORD", "Windows")),
            (true, Some(name)) if self.info.engine.find_account(name)?.sid != login.sid => {
                Err(errors::another_account())
            }
            (false, Some(name)) if name.contains('\\') => Err(errors::invalid_name(name)),
            _ => Ok(()),
        }
    }

    /// What CREDENTIAL names.
    fn credentials_said(&self, options: &[ast::Opt]) -> Result<Vec<i32>> {
        let said = options.iter().find(|o| o.name == "CREDENTIAL");
        let Some(name) = said.and_then(|o| o.value.text()) else { return Ok(Vec::new()) };
        Ok(vec![self.credential_for_login(name)?])
    }

    /// Error 15010 for a database, 15033 for a language that there is not.
    fn check_options(&self, options: &[ast::Opt]) -> Result<()> {
        for option in options {
            let text = option.value.text().unwrap_or("");
            match option.name.as_str() {
                "DEFAULT_DATABASE" if self.info.find_database(text).is_none() => {
                    return Err(errors::no_default_database(text));
                }
                "DEFAULT_LANGUAGE" if language(option).is_none() => {
                    return Err(errors::unknown_language(text));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn alter_login(&mut self, a: &ast::AlterLogin) -> Result<()> {
        let own = crate::catalog::fold(&self.info.login()) == crate::catalog::fold(&a.name.text);
        if !own {
            self.may_alter_logins()?;
        }
        let login = self.info.login_named(&a.name.text).ok_or_else(|| missing(&a.name.text))?;
        if login.sysadmin && !own {
            self.sysadmin()?;
        }
        // That takes a while, and nobody else's change should wait for it.
        let hash = match &a.action {
            AlterLoginAction::Set { password: Some(password), .. } => Some(self.hash(password)?),
            _ => None,
        };
        if let AlterLoginAction::Set { password, options, .. } = &a.action {
            self.check_account(&login, password.is_some(), options)?;
            self.check_options(options)?;
        }
        let said = match &a.action {
            AlterLoginAction::Set { options, .. } => self.credentials_said(options)?,
            AlterLoginAction::Credential { name, .. } => vec![self.credential_for_login(&name.text)?],
            AlterLoginAction::Enable(_) => Vec::new(),
        };
        let lacks = |id| !login.credentials.contains(id);
        if let AlterLoginAction::Credential { add: false, name } = &a.action
            && said.iter().any(lacks)
        {
            return Err(crate::keys::errors::not_found("drop", "credential", &name.text));
        }
        let there = self.info.master()?.change_login(&login, |login| match &a.action {
            AlterLoginAction::Enable(on) => login.disabled = !on,
            AlterLoginAction::Credential { add, .. } => {
                login.credentials.retain(|id| !said.contains(id));
                login.credentials.extend(said.iter().filter(|_| *add));
            }
            AlterLoginAction::Set { options, .. } => {
                if options.iter().any(|o| matches!(o.name.as_str(), "CREDENTIAL" | "NO CREDENTIAL")) {
                    login.credentials = said;
                }
                if let Some(hash) = hash {
                    login.password_hash = hash;
                }
                apply(login, options);
            }
        })?;
        if there { Ok(()) } else { Err(missing(&a.name.text)) }
    }

    pub(super) fn drop_logins(&mut self, d: &ast::Drop) -> Result<()> {
        self.may_alter_logins()?;
        for name in &d.names {
            match self.info.login_named(&name.name.text) {
                Some(login) if login.principal_id == SA => {
                    return Err(errors::special_principal(&login.name));
                }
                Some(login) if login.sysadmin && !self.info.unrestricted.get() => {
                    return Err(missing(&login.name));
                }
                Some(login) if self.runs_triggers(login.principal_id) => {
                    return Err(errors::login_runs_triggers());
                }
                Some(login) if self.info.master()?.drop_login(&login)? => {}
                _ if d.if_exists => {}
                _ => return Err(missing(&name.name.text)),
            }
        }
        Ok(())
    }

    /// Whether a trigger of the server is WITH EXECUTE AS this login.
    fn runs_triggers(&self, principal_id: i32) -> bool {
        let Ok(master) = self.info.master() else { return false };
        let picture = self.info.picture(&master);
        picture.modules().any(|m| m.schema_id == SERVER_TRIGGERS && m.execute_as == Some(principal_id))
    }

    pub(super) fn kill(&mut self, program: &Arc<Program>, frame: &mut Frame, k: &ast::Kill) -> Result<()> {
        let (id, status_only) = match k {
            ast::Kill::Session { id, status_only } => (id, status_only),
            ast::Kill::Transaction { uow, status_only, commit } => {
                return self.kill_transaction(uow, *status_only, *commit);
            }
            ast::Kill::Subscription(id) => {
                let id = match id {
                    Some(id) => match self.value(program, frame, id, Some(SqlType::BigInt))? {
                        Value::Int(n) => Some(n),
                        _ => Some(0),
                    },
                    None => None,
                };
                return self.kill_subscriptions(id);
            }
            ast::Kill::Other(_) => return Err(errors::not_supported("This KILL")),
        };
        let id = match self.value(program, frame, id, Some(SqlType::Int))? {
            Value::Int(n) => n,
            _ => 0,
        };
        if !self.info.may_on_server("ALTER ANY CONNECTION") {
            return Err(errors::cannot_kill());
        }
        if id == i64::from(self.info.shared.id) {
            return Err(errors::kill_self());
        }
        let known = u32::try_from(id).ok().filter(|id| self.info.engine.sessions.get(*id).is_some());
        let Some(known) = known else { return Err(errors::no_process(id)) };
        if *status_only {
            // Nothing is undone record by record.
            return Err(crate::distributed::errors::no_rollback_of_process(id));
        }
        self.info.engine.sessions.kill(known);
        Ok(())
    }

    /// `KILL 'uow'`: a distributed transaction that no session works in.
    fn kill_transaction(&self, text: &str, status_only: bool, commit: Option<bool>) -> Result<()> {
        if !self.info.may_on_server("ALTER ANY CONNECTION") {
            return Err(errors::cannot_kill());
        }
        if self.info.transaction.borrow().count > 0 {
            return Err(crate::distributed::errors::kill_in_transaction());
        }
        let uow = crate::distributed::uow_of(text).ok_or_else(|| crate::distributed::errors::no_uow(text))?;
        if status_only {
            return Err(crate::distributed::errors::no_rollback_of_uow(crate::distributed::uow_text(&uow)));
        }
        self.info.engine.kill_uow(&uow, commit)
    }

    /// The value of an expression of a statement that is interpreted from its tree.
    pub(crate) fn value(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        e: &ast::Expr,
        ty: Option<SqlType>,
    ) -> Result<Value> {
        self.eval_once(program, frame, &Unit::expr(e.clone(), ty))
    }
}

fn apply(login: &mut LoginRecord, options: &[ast::Opt]) {
    for option in options {
        let text = option.value.text().unwrap_or("").to_owned();
        match option.name.as_str() {
            "DEFAULT_DATABASE" => login.default_database = text,
            "DEFAULT_LANGUAGE" => {
                login.default_language = language(option).map_or(text, |l| l.name.to_owned());
            }
            "NAME" => login.name = text,
            _ => {}
        }
    }
}

/// The language that DEFAULT_LANGUAGE names, by a name, an alias or its `lcid`.
fn language(option: &ast::Opt) -> Option<&'static Language> {
    match option.value.number() {
        Some(lcid) => LANGUAGES.iter().find(|l| i64::from(l.lcid) == lcid),
        None => Language::find(option.value.text()?),
    }
}

fn missing(name: &str) -> Box<SqlError> {
    SqlError::new(
        15151,
        16,
        1,
        format!("Cannot alter the login '{name}', because it does not exist or you do not have permission."),
    )
}
