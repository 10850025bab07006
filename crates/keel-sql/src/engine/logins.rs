//! The logins of the instance, or of a contained availability group: rows of its master, and in memory as they are there.
//!
//! Whoever connects is looked for by name, and a session without CONTROL SERVER at each of its questions about permissions, so
//! all of them are read once and kept until one changes. Changes are made one after another: each begins with what the last one
//! left, so that two at a time lose nothing and two new logins do not get one number. Whoever changes or drops one says which it has
//! found: the number of a login that is gone may be another's by then, its security identifier is not.
//!
//! Redo changes those of a contained group on its secondaries: there they are good as long as the catalog as of the applied point is
//! the one they were read with, and who becomes primary, again perhaps, begins with what redo has left.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use keel_query::catalog::Catalog as _;
use keel_types::error::Result;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{DatabaseEntry, Engine};
use crate::catalog::{PermissionDef, PermissionState, fold, object_class};
use crate::keys::principal::Mapped;
use crate::session::identity::Identity;
use crate::windows::Account;
use crate::{errors, windows};

/// New logins get numbers above this one.
const HIGHEST_FIXED: i32 = 256;

/// A login, or a server role of one's own, as stored in master.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoginRecord {
    /// `principal_id`; 1 is sa.
    pub principal_id: i32,
    /// Name.
    pub name: String,
    /// 16 bytes (1 byte for sa); that of its account of a login of a domain ([`crate::windows`]).
    pub sid: Vec<u8>,
    /// What [`super::PasswordHasher::hash`] made.
    pub password_hash: Vec<u8>,
    /// ALTER LOGIN … DISABLE.
    pub disabled: bool,
    /// DEFAULT_DATABASE.
    pub default_database: String,
    /// DEFAULT_LANGUAGE.
    pub default_language: String,
    /// Member of sysadmin.
    pub sysadmin: bool,
    /// Create date, ticks.
    #[serde(default)]
    pub created: i64,
    /// Server roles besides sysadmin that it is a member of.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Permissions on the instance.
    #[serde(default)]
    pub permissions: Vec<PermissionDef>,
    /// A server role of one's own: it has members and permissions, and nobody logs in as it.
    #[serde(default)]
    pub role: bool,
    /// Credentials that it has.
    #[serde(default)]
    pub credentials: Vec<i32>,
    /// Of a domain's group: whoever is in it may log in.
    #[serde(default)]
    pub group: bool,
}

impl LoginRecord {
    /// One of an account of a domain: it has no password, its domain says who it is.
    #[must_use]
    pub fn is_windows(&self) -> bool {
        windows::is_account(&self.sid)
    }

    /// One of a group of such.
    #[must_use]
    pub fn is_windows_group(&self) -> bool {
        self.group || windows::is_shipped_group(&self.sid)
    }

    /// What it is mapped to, if it is the login of a certificate or an asymmetric key: nobody comes or becomes that.
    #[must_use]
    pub fn mapped(&self) -> Option<Mapped> {
        Mapped::of(&self.sid)
    }

    /// It may also what another one may, and may not what that one may not.
    fn join(&mut self, other: &LoginRecord) {
        self.sysadmin |= other.sysadmin;
        self.roles.extend(other.roles.iter().cloned());
        self.permissions.extend(other.permissions.iter().cloned());
    }

    /// `sys.server_principals.type` and its description.
    #[must_use]
    pub(crate) fn kind(&self) -> (&'static str, &'static str) {
        match self.mapped() {
            Some(Mapped::Certificate) => ("C", "CERTIFICATE_MAPPED_LOGIN"),
            Some(Mapped::AsymmetricKey) => ("K", "ASYMMETRIC_KEY_MAPPED_LOGIN"),
            None if self.is_windows_group() => ("G", "WINDOWS_GROUP"),
            None if self.is_windows() => ("U", "WINDOWS_LOGIN"),
            None => ("S", "SQL_LOGIN"),
        }
    }

    /// `sa`, with what [`super::PasswordHasher::hash`] made of its password.
    #[must_use]
    pub fn sa(password_hash: Vec<u8>) -> LoginRecord {
        LoginRecord {
            principal_id: 1,
            name: "sa".to_owned(),
            sid: vec![1],
            password_hash,
            disabled: false,
            default_database: "master".to_owned(),
            default_language: "us_english".to_owned(),
            sysadmin: true,
            created: 0,
            roles: Vec::new(),
            permissions: Vec::new(),
            role: false,
            credentials: Vec::new(),
            group: false,
        }
    }
}

/// All logins and server roles of one's own, by id.
#[derive(Debug, Default)]
pub struct Logins {
    all: Vec<LoginRecord>,
    /// Places in it, by folded name.
    by_name: HashMap<SmolStr, usize>,
}

impl Logins {
    fn new(all: Vec<LoginRecord>) -> Logins {
        let by_name = all.iter().enumerate().map(|(n, login)| (fold(&login.name), n)).collect();
        Logins { all, by_name }
    }

    /// The login of that name (names compare without case).
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&LoginRecord> {
        self.principal(name).filter(|login| !login.role)
    }

    /// The server role of one's own of that name.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<&LoginRecord> {
        self.principal(name).filter(|role| role.role)
    }

    /// Either of the two.
    #[must_use]
    pub fn principal(&self, name: &str) -> Option<&LoginRecord> {
        self.by_name.get(&fold(name)).map(|n| &self.all[*n])
    }

    /// Names of the server roles, besides sysadmin, that one is a member of, directly and by others.
    #[must_use]
    pub fn roles_of<'a>(&'a self, login: &'a LoginRecord) -> Vec<&'a str> {
        let mut roles: Vec<&str> = login.roles.iter().map(String::as_str).collect();
        let mut at = 0;
        while let Some(role) = roles.get(at) {
            let of_it = self.role(role).map(|role| role.roles.as_slice()).unwrap_or_default();
            let new: Vec<&str> =
                of_it.iter().map(String::as_str).filter(|name| !roles.contains(name)).collect();
            roles.extend(new);
            at += 1;
        }
        roles
    }

    /// What was granted to one and denied it, to itself and to its roles.
    #[must_use]
    pub fn permissions_of<'a>(&'a self, login: &'a LoginRecord) -> Vec<&'a PermissionDef> {
        let of_roles = self.roles_of(login).into_iter().filter_map(|role| self.role(role));
        std::iter::once(login).chain(of_roles).flat_map(|holder| &holder.permissions).collect()
    }

    /// Whether one may come in at all: `DENY CONNECT SQL` to it or a role of its says no.
    #[must_use]
    pub fn may_connect(&self, login: &LoginRecord) -> bool {
        let denied = |p: &&PermissionDef| p.name == "CONNECT SQL" && p.state == PermissionState::Deny;
        login.sysadmin || !self.permissions_of(login).iter().any(denied)
    }

    /// What an account of a domain is as a login: its own one with all that those of its groups have, or, where it has none of its
    /// own, what the groups' have under the account's name. `None` when neither it nor a group of its is known. A group's login that is
    /// disabled gives nothing; what was denied to it stays denied.
    #[must_use]
    pub fn of_account<'a>(&'a self, account: &'a Account) -> Option<Cow<'a, LoginRecord>> {
        let own = self.all.iter().find(|login| account.is(&login.sid));
        let mut groups = self.groups_of(account);
        let first = own.or_else(|| groups.next())?;
        let mut all = Cow::Borrowed(first);
        if own.is_none() {
            let (named, all) = (account.name(), all.to_mut());
            (all.name, all.sid, all.group) = (named.to_owned(), account.sid().to_vec(), false);
        }
        for group in groups {
            let all = all.to_mut();
            if own.is_none() && all.default_database == "master" {
                all.default_database.clone_from(&group.default_database);
            }
            all.join(group);
        }
        let denied = |q: &&PermissionDef| q.state == PermissionState::Deny;
        for group in self.all.iter().filter(|login| login.disabled && account.is_in(&login.sid)) {
            all.to_mut().permissions.extend(group.permissions.iter().filter(denied).cloned());
        }
        Some(all)
    }

    /// The logins of an account's groups that let it in.
    pub fn groups_of<'a>(&'a self, account: &'a Account) -> impl Iterator<Item = &'a LoginRecord> {
        self.all.iter().filter(|login| !login.disabled && account.is_in(&login.sid))
    }

    /// What somebody is as a login; `None` of who is none.
    #[must_use]
    pub fn of<'a>(&'a self, who: &'a Identity) -> Option<Cow<'a, LoginRecord>> {
        let mut all = match &who.account {
            Some(account) => self.of_account(account)?,
            None => Cow::Borrowed(self.named(&who.login)?),
        };
        for signer in self.signers_of(who) {
            all.to_mut().join(signer);
        }
        Some(all)
    }

    /// The logins of those who have signed what somebody runs.
    pub fn signers_of<'a>(&'a self, who: &'a Identity) -> impl Iterator<Item = &'a LoginRecord> {
        who.signers.iter().flat_map(|all| all.iter()).filter_map(|sid| self.of_sid(sid))
    }

    /// The one with this security identifier.
    #[must_use]
    pub fn of_sid(&self, sid: &[u8]) -> Option<&LoginRecord> {
        self.all.iter().find(|login| login.sid == sid)
    }

    /// The one with this number.
    #[must_use]
    pub fn of_id(&self, principal_id: i32) -> Option<&LoginRecord> {
        self.all.iter().find(|login| login.principal_id == principal_id)
    }

    fn still(&self, found: &LoginRecord) -> Option<&LoginRecord> {
        self.of_id(found.principal_id).filter(|login| login.sid == found.sid)
    }
}

impl Deref for Logins {
    type Target = [LoginRecord];

    fn deref(&self) -> &[LoginRecord] {
        &self.all
    }
}

/// What a master keeps of them.
#[derive(Debug, Default)]
pub(super) struct LoginBook {
    /// Held while one changes, and while they are read for [`LoginBook::known`].
    changing: Mutex<()>,
    /// `None` before they are asked for, and when one has changed.
    known: RwLock<Option<(Era, Arc<Logins>)>>,
}

/// How long what was read holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Era {
    /// [`DatabaseEntry::redone`].
    redone: u64,
    /// Of the catalog as of the applied point, on a copy. Elsewhere statements say when something has changed.
    version: Option<u64>,
}

impl LoginBook {
    fn known(&self, era: Era) -> Option<Arc<Logins>> {
        let known = self.known.read();
        known.as_ref().filter(|(of, _)| *of == era).map(|(_, logins)| Arc::clone(logins))
    }
}

/// Who logs in to a database itself.
pub struct DatabaseUser {
    /// The database and the user's `principal_id` in it.
    pub user: (keel_base::DatabaseId, i32),
    /// Name.
    pub name: String,
    /// Security identifier.
    pub sid: Vec<u8>,
    /// What [`super::PasswordHasher::hash`] made of the password; empty for an account of a domain.
    pub password_hash: Vec<u8>,
}

impl Engine {
    /// `contained database authentication`: users of databases may log in.
    #[must_use]
    pub fn takes_database_users(&self) -> bool {
        self.configuration(crate::config::CONTAINED_AUTHENTICATION).running != 0
    }

    /// The user with a password of that name, in the database that a client names.
    #[must_use]
    pub fn database_user(&self, database: &str, name: &str) -> Option<DatabaseUser> {
        let entry = self.database(database).filter(|_| self.takes_database_users())?;
        let picture = entry.picture();
        let user = picture.principal_named(name).filter(|_| picture.settings().is_contained())?;
        let password_hash = user.password_hash.clone()?;
        let sid = user.sid.unwrap_or_default();
        Some(DatabaseUser { user: (entry.id, user.principal_id), name: user.name, sid, password_hash })
    }

    /// The user of an account of a domain, or of a group of its, in the database that a client names. Its domain has said who it is.
    #[must_use]
    pub fn database_user_of(&self, database: &str, account: &Account) -> Option<DatabaseUser> {
        let entry = self.database(database).filter(|_| self.takes_database_users())?;
        let picture = entry.picture();
        if !picture.settings().is_contained() {
            return None;
        }
        let user = (entry.id, picture.users_of(account).first()?.principal_id);
        let (name, sid) = (account.name().to_owned(), account.sid().to_vec());
        Some(DatabaseUser { user, name, sid, password_hash: Vec::new() })
    }

    /// All logins of the instance.
    ///
    /// # Errors
    /// When master cannot be read.
    pub fn logins(&self) -> Result<Arc<Logins>> {
        self.master().logins()
    }

    /// The instance's login of that name (names compare without case).
    #[must_use]
    pub fn login(&self, name: &str) -> Option<LoginRecord> {
        self.logins().ok()?.named(name).cloned()
    }

    /// Adds a login to the instance; principal id 0 gets the next free one.
    ///
    /// # Errors
    /// 15025 when there is one of that name; when master cannot be written.
    pub fn add_login(&self, login: LoginRecord) -> Result<()> {
        self.add_login_to(&self.master(), login)
    }

    /// The same for the instance or a contained group, whose master that is.
    ///
    /// # Errors
    /// As for [`Engine::add_login`]; 3906 on a copy.
    pub fn add_login_to(&self, master: &DatabaseEntry, mut login: LoginRecord) -> Result<()> {
        if login.created == 0 {
            login.created = self.now_local();
        }
        master.add_login(login)
    }
}

impl DatabaseEntry {
    /// All logins of a master.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn logins(&self) -> Result<Arc<Logins>> {
        if let Some(known) = self.login_book.known(self.logins_era()?) {
            return Ok(known);
        }
        let _changing = self.login_book.changing.lock();
        self.logins_unchanging()
    }

    fn logins_era(&self) -> Result<Era> {
        let redone = self.redone();
        let version = match self.is_copy() {
            true => Some(self.picture_at(&self.store.read_point())?.version()),
            false => None,
        };
        Ok(Era { redone, version })
    }

    /// The same for whoever keeps them from changing.
    fn logins_unchanging(&self) -> Result<Arc<Logins>> {
        // Before they are read: what comes meanwhile belongs to a later one.
        let era = self.logins_era()?;
        if let Some(known) = self.login_book.known(era) {
            return Ok(known);
        }
        let logins = Arc::new(Logins::new(self.own_rows(object_class::LOGIN)?));
        *self.login_book.known.write() = Some((era, Arc::clone(&logins)));
        Ok(logins)
    }

    fn add_login(&self, mut login: LoginRecord) -> Result<()> {
        let _changing = self.login_book.changing.lock();
        let logins = self.logins_unchanging()?;
        if logins.principal(&login.name).is_some() {
            return Err(errors::server_principal_exists(&login.name));
        }
        if login.principal_id == 0 {
            let used = logins.iter().map(|l| l.principal_id).max().unwrap_or(0);
            login.principal_id = used.max(HIGHEST_FIXED) + 1;
        }
        self.put_login(login.principal_id, Some(&login))
    }

    /// Changes the login that was found, as it is now. Returns whether it is still there.
    ///
    /// # Errors
    /// When it cannot be written: 3906 on a copy.
    pub fn change_login(&self, found: &LoginRecord, change: impl FnOnce(&mut LoginRecord)) -> Result<bool> {
        let _changing = self.login_book.changing.lock();
        let Some(mut login) = self.logins_unchanging()?.still(found).cloned() else { return Ok(false) };
        change(&mut login);
        self.put_login(login.principal_id, Some(&login)).map(|()| true)
    }

    /// DROP LOGIN of the one that was found. Returns whether it was still there.
    ///
    /// # Errors
    /// As for [`DatabaseEntry::change_login`].
    pub fn drop_login(&self, found: &LoginRecord) -> Result<bool> {
        let _changing = self.login_book.changing.lock();
        if self.logins_unchanging()?.still(found).is_none() {
            return Ok(false);
        }
        self.put_login(found.principal_id, None).map(|()| true)
    }

    /// For whoever keeps the others from changing.
    fn put_login(&self, principal_id: i32, login: Option<&LoginRecord>) -> Result<()> {
        let done = self.put_own_row(object_class::LOGIN, principal_id, login);
        // Also when that failed: what there is now is read anew.
        *self.login_book.known.write() = None;
        done
    }
}
