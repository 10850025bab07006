//! A name and a password, or an account of a domain: the login they belong to, or the product's refusal and its two lines in the
//! error log.

use std::net::IpAddr;

use keel_sql::events::actor::Attempt;
use keel_sql::hadr::ContainedGroup;
use keel_sql::windows::Account;
use keel_sql::{DatabaseUser, LoginRecord, PasswordHasher};
use keel_types::SqlError;

use crate::server::Shared;

/// Why a login failed. The number goes to the error log as the state of its 18456; clients always see state 1.
pub enum Reason<'a> {
    /// There is no such login.
    UnknownLogin,
    /// It is disabled.
    Disabled,
    /// The password is another one.
    PasswordMismatch,
    /// The database that the client named.
    DatabaseUnavailable(&'a str),
    /// Windows authentication, where nothing is configured for it.
    Integrated,
    /// A password for an account of a domain.
    PasswordOfAccount,
    /// CONNECT SQL is denied to it.
    Denied,
    /// The password is another one than that of the user of this database.
    UserPasswordMismatch(&'a str),
    /// A user of a database does not change the password with the login.
    PasswordOfUser,
}

/// Who a client is.
pub enum Who {
    /// A login of the instance.
    Login(LoginRecord),
    /// A user of the database that the client has named.
    User(DatabaseUser),
}

impl Reason<'_> {
    fn state(&self) -> u8 {
        match self {
            Reason::UnknownLogin => 5,
            Reason::PasswordOfAccount => 6,
            Reason::Disabled => 7,
            Reason::PasswordMismatch | Reason::UserPasswordMismatch(_) => 8,
            Reason::Denied => 12,
            Reason::PasswordOfUser => 18,
            Reason::DatabaseUnavailable(_) => 38,
            Reason::Integrated => 58,
        }
    }

    fn text(&self) -> String {
        match self {
            Reason::UnknownLogin => "Reason: Could not find a login matching the name provided.".to_owned(),
            Reason::Disabled => {
                "Reason: An error occurred while evaluating the password. The account is disabled.".to_owned()
            }
            Reason::PasswordMismatch => {
                "Reason: Password did not match that for the login provided.".to_owned()
            }
            Reason::UserPasswordMismatch(database) => {
                format!("Reason: Password did not match that for the user provided. [Database: '{database}']")
            }
            Reason::PasswordOfUser => {
                "Reason: A user of a contained database changes the password with ALTER USER.".to_owned()
            }
            Reason::DatabaseUnavailable(name) => {
                format!("Reason: Failed to open the explicitly specified database '{name}'.")
            }
            Reason::PasswordOfAccount => {
                "Reason: Attempting to use an NT account name with SQL Server Authentication.".to_owned()
            }
            Reason::Denied => "Reason: Login-based server access validation failed with an infrastructure error. Login \
                               lacks Connect SQL permission."
                .to_owned(),
            Reason::Integrated => {
                "Reason: An attempt to login using Windows authentication. Server is configured for SQL Server \
                 authentication only."
                    .to_owned()
            }
        }
    }
}

/// Who says to be whom, from where.
pub struct Credentials<'a> {
    /// The server asked.
    pub shared: &'a Shared,
    /// Login name as given.
    pub name: &'a str,
    /// The client's address, for the log.
    pub peer: IpAddr,
    /// Program and host, as the client says.
    pub client: (&'a str, &'a str),
    /// The contained group whose logins are meant; none for the instance's.
    pub context: Option<&'a ContainedGroup>,
}

impl Credentials<'_> {
    /// The user of the database that the client names, if it has one of that name; else the login. 18456 or 18470 otherwise.
    pub fn check_in(&self, database: &str, password: &str) -> Result<Who, SqlError> {
        if let Some(user) = self.shared.backend.database_user(database, self.name) {
            if !self.shared.passwords.verify(password, &user.password_hash) {
                return Err(self.failed(&Reason::UserPasswordMismatch(database)));
            }
            return Ok(Who::User(user));
        }
        self.check(password).map(Who::Login)
    }

    /// The login, if the password is its own and it may be used; else 18456 or 18470.
    pub fn check(&self, password: &str) -> Result<LoginRecord, SqlError> {
        let record = self.shared.backend.login(self.context, self.name);
        let record = record.ok_or_else(|| self.failed(&Reason::UnknownLogin))?;
        if record.is_windows() {
            return Err(self.failed(&Reason::PasswordOfAccount));
        }
        if record.mapped().is_some() {
            return Err(self.failed(&Reason::UnknownLogin));
        }
        if !self.shared.passwords.verify(password, &record.password_hash) {
            return Err(self.failed(&Reason::PasswordMismatch));
        }
        self.let_in(record)
    }

    /// Who an account is, of which its domain has said that it is the client's. 18456 or 18470 otherwise.
    pub fn check_in_account(&self, account: &Account, database: &str) -> Result<Who, SqlError> {
        if let Some(user) = self.shared.backend.database_user_of(database, account) {
            return Ok(Who::User(user));
        }
        let record = self.shared.backend.login_of(self.context, account);
        let record = record.ok_or_else(|| self.failed(&Reason::UnknownLogin))?;
        self.let_in(record).map(Who::Login)
    }

    /// Whoever has proved to be this login, if it may be used.
    fn let_in(&self, record: LoginRecord) -> Result<LoginRecord, SqlError> {
        if !self.shared.backend.may_connect(self.context, &record) {
            return Err(self.failed(&Reason::Denied));
        }
        if record.disabled {
            self.failed(&Reason::Disabled);
            let text = format!("Login failed for user '{}'. Reason: The account is disabled.", self.name);
            return Err(SqlError { line: 1, ..*SqlError::new(18470, 14, 1, text) });
        }
        Ok(record)
    }

    /// Writes a failure to the error log; what the client is told of it.
    pub fn failed(&self, reason: &Reason<'_>) -> SqlError {
        let name = self.name;
        let state = reason.state();
        self.shared.log.entry("Logon", &format!("Error: 18456, Severity: 14, State: {state}."));
        // A name must not look like a line of the log.
        let line = name.replace(char::is_control, " ");
        let text = format!("Login failed for user '{line}'. {} [CLIENT: {}]", reason.text(), self.peer);
        self.shared.log.entry("Logon", &text);
        self.shared.backend.login_failed(&Attempt { name, client: self.client, state, text: &text });
        SqlError { line: 1, ..*SqlError::new(18456, 14, 1, format!("Login failed for user '{name}'.")) }
    }
}
