//! Logins, users, roles, permissions.

use super::Parser;
use crate::ast::{
    AlterAuthorization, AlterLogin, AlterLoginAction, AlterRole, AlterRoleAction, AlterUser, CreateLogin,
    CreateRole, CreateUser, Ident, Literal, LoginSource, Password, Permission, PermissionItem,
    PermissionVerb, Securable, StatementKind, UserSource,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    // ---- logins ----

    /// Behind CREATE LOGIN.
    pub(super) fn create_login(&mut self) -> Result<CreateLogin> {
        let name = self.ident()?;
        if self.eat_kw(Kw::FROM) {
            return self.create_login_from(name);
        }
        self.expect_kw(Kw::WITH)?;
        self.expect_word("PASSWORD")?;
        self.expect(Tok::Eq)?;
        let password = self.password()?;
        let must_change = self.eat_word("MUST_CHANGE");
        let options = if self.eat(Tok::Comma) { self.option_list()? } else { Vec::new() };
        Ok(CreateLogin { name, source: LoginSource::Password { password, must_change }, options })
    }

    fn create_login_from(&mut self, name: Ident) -> Result<CreateLogin> {
        let source = if self.eat_word("WINDOWS") {
            LoginSource::Windows
        } else if self.eat_word("CERTIFICATE") {
            LoginSource::Certificate(self.ident()?)
        } else if self.eat_words(&["ASYMMETRIC", "KEY"]) {
            LoginSource::AsymmetricKey(self.ident()?)
        } else {
            self.expect_words(&["EXTERNAL", "PROVIDER"])?;
            LoginSource::ExternalProvider
        };
        let options = if self.eat_kw(Kw::WITH) { self.option_list()? } else { Vec::new() };
        Ok(CreateLogin { name, source, options })
    }

    /// `'text'` or `0x… HASHED`
    fn password(&mut self) -> Result<Password> {
        if self.tok() == Tok::Binary {
            let Some(Literal::Binary(hash)) = self.literal()? else { return Err(self.unexpected()) };
            self.expect_word("HASHED")?;
            return Ok(Password::Hashed(hash));
        }
        Ok(Password::Plain(self.string()?))
    }

    /// Behind ALTER LOGIN.
    pub(super) fn alter_login(&mut self) -> Result<AlterLogin> {
        let name = self.ident()?;
        if let Some(word) = self.one_of(&["ENABLE", "DISABLE"]) {
            return Ok(AlterLogin { name, action: AlterLoginAction::Enable(word == "ENABLE") });
        }
        if let Some(word) = self.one_of(&["ADD", "DROP"]) {
            self.expect_word("CREDENTIAL")?;
            let action = AlterLoginAction::Credential { add: word == "ADD", name: self.ident()? };
            return Ok(AlterLogin { name, action });
        }
        self.expect_kw(Kw::WITH)?;
        let (mut password, mut old_password, mut must_change, mut unlock) = (None, None, false, false);
        let mut options = Vec::new();
        loop {
            if self.eat_word("PASSWORD") {
                self.expect(Tok::Eq)?;
                password = Some(self.password()?);
                loop {
                    if self.eat_word("OLD_PASSWORD") {
                        self.expect(Tok::Eq)?;
                        old_password = Some(self.string()?);
                    } else if self.eat_word("MUST_CHANGE") {
                        must_change = true;
                    } else if self.eat_word("UNLOCK") {
                        unlock = true;
                    } else {
                        break;
                    }
                }
            } else {
                options.push(self.option()?);
            }
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(AlterLogin {
            name,
            action: AlterLoginAction::Set { password, old_password, must_change, unlock, options },
        })
    }

    // ---- users and roles ----

    /// Behind CREATE USER.
    pub(super) fn create_user(&mut self) -> Result<CreateUser> {
        let name = self.ident()?;
        let mut source = UserSource::Login(None);
        if self.eat_kw(Kw::FOR) || self.eat_kw(Kw::FROM) {
            source = if self.eat_word("LOGIN") {
                UserSource::Login(Some(self.ident()?))
            } else if self.eat_word("CERTIFICATE") {
                UserSource::Certificate(self.ident()?)
            } else if self.eat_words(&["ASYMMETRIC", "KEY"]) {
                UserSource::AsymmetricKey(self.ident()?)
            } else {
                self.expect_words(&["EXTERNAL", "PROVIDER"])?;
                UserSource::ExternalProvider
            };
        } else if self.eat_word("WITHOUT") {
            self.expect_word("LOGIN")?;
            source = UserSource::WithoutLogin;
        }
        let mut options = Vec::new();
        if self.eat_kw(Kw::WITH) {
            if self.eat_word("PASSWORD") {
                self.expect(Tok::Eq)?;
                source = UserSource::Password(self.password()?);
                if self.eat(Tok::Comma) {
                    options = self.option_list()?;
                }
            } else {
                options = self.option_list()?;
            }
        }
        Ok(CreateUser { name, source, options })
    }

    /// Behind ALTER USER.
    pub(super) fn alter_user(&mut self) -> Result<AlterUser> {
        let name = self.ident()?;
        self.expect_kw(Kw::WITH)?;
        let mut options = self.option_list()?;
        // No comma stands between the new password and the old one.
        if self.at_word("OLD_PASSWORD") {
            options.extend(self.option_list()?);
        }
        Ok(AlterUser { name, options })
    }

    /// Behind CREATE [SERVER|APPLICATION] ROLE.
    pub(super) fn create_role(&mut self, server: bool, application: bool) -> Result<CreateRole> {
        let name = self.ident()?;
        let authorization = if self.eat_kw(Kw::AUTHORIZATION) { Some(self.ident()?) } else { None };
        let options = if self.eat_kw(Kw::WITH) { self.option_list()? } else { Vec::new() };
        Ok(CreateRole { server, application, name, authorization, options })
    }

    /// Behind ALTER [SERVER|APPLICATION] ROLE.
    pub(super) fn alter_role(&mut self, server: bool, application: bool) -> Result<AlterRole> {
        let name = self.any_word()?;
        let action = if self.eat_words(&["ADD", "MEMBER"]) {
            AlterRoleAction::AddMember(self.any_word()?)
        } else if self.eat_words(&["DROP", "MEMBER"]) {
            AlterRoleAction::DropMember(self.any_word()?)
        } else {
            self.expect_kw(Kw::WITH)?;
            if !application && self.eat_word("NAME") {
                self.expect(Tok::Eq)?;
                AlterRoleAction::Rename(self.ident()?)
            } else {
                AlterRoleAction::Set(self.option_list()?)
            }
        };
        Ok(AlterRole { server, application, name, action })
    }

    // ---- permissions ----

    /// GRANT, DENY, REVOKE.
    #[inline(never)]
    pub(super) fn permission(&mut self) -> Result<StatementKind> {
        let verb = match self.bump().tok {
            Tok::Kw(Kw::GRANT) => PermissionVerb::Grant,
            Tok::Kw(Kw::DENY) => PermissionVerb::Deny,
            _ => PermissionVerb::Revoke,
        };
        let mut grant_option = verb == PermissionVerb::Revoke && self.eat_words(&["GRANT", "OPTION", "FOR"]);
        let permissions = self.list(Self::permission_item)?;
        let on = if self.eat_kw(Kw::ON) { Some(self.securable()?) } else { None };
        if !(self.eat_kw(Kw::TO) || (verb == PermissionVerb::Revoke && self.eat_kw(Kw::FROM))) {
            return Err(self.unexpected());
        }
        let principals = self.list(Self::any_word)?;
        let mut cascade = false;
        loop {
            if self.eat_kw(Kw::CASCADE) {
                cascade = true;
            } else if self.eat_words(&["WITH", "GRANT", "OPTION"]) {
                grant_option = true;
            } else {
                break;
            }
        }
        let as_principal = if self.eat_kw(Kw::AS) { Some(self.any_word()?) } else { None };
        let permission =
            Permission { verb, permissions, on, principals, grant_option, cascade, as_principal };
        Ok(StatementKind::Permission(Box::new(permission)))
    }

    /// Words up to a comma, ON, TO, FROM or a column list.
    fn permission_item(&mut self) -> Result<PermissionItem> {
        let mut name = self.upper_word()?.to_string();
        loop {
            match self.tok() {
                Tok::Kw(Kw::ON | Kw::TO | Kw::FROM) => break,
                Tok::Word | Tok::Kw(_) => {
                    name.push(' ');
                    name.push_str(&self.upper_word()?);
                }
                _ => break,
            }
        }
        Ok(PermissionItem { name: SmolStr::from(name), columns: self.optional_ident_list()? })
    }

    /// `[class::]name [(columns)]`; a class may be several words.
    fn securable(&mut self) -> Result<Securable> {
        let mut words = 0;
        while matches!(self.tok_ahead(words), Tok::Word | Tok::Kw(_)) && words < 5 {
            words += 1;
        }
        let mut class = None;
        if words > 0 && self.tok_ahead(words) == Tok::DoubleColon {
            let mut text = self.upper_word()?.to_string();
            for _ in 1..words {
                text.push(' ');
                text.push_str(&self.upper_word()?);
            }
            self.bump();
            class = Some(SmolStr::from(text));
        }
        let name = if class.is_some() && matches!(self.tok(), Tok::Kw(_)) {
            crate::ast::ObjectName::simple(self.any_word()?)
        } else {
            self.object_name()?
        };
        Ok(Securable { class, name, columns: self.optional_ident_list()? })
    }

    /// Behind ALTER AUTHORIZATION.
    pub(super) fn alter_authorization(&mut self) -> Result<AlterAuthorization> {
        self.expect_kw(Kw::ON)?;
        let on = self.securable()?;
        self.expect_kw(Kw::TO)?;
        let to = if self.eat_words(&["SCHEMA", "OWNER"]) { None } else { Some(self.any_word()?) };
        Ok(AlterAuthorization { on, to })
    }
}
