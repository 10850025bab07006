//! Users, roles and what they may do: stored with the principal they are granted to, decided here.
//!
//! ```text
//!   login ──sid──► user ──member of──► roles … public        the token of a session in a database
//!   token × (object, its schema, the database) × permission ──► Allowed | Denied | NotGranted
//! ```
//!
//! A DENY anywhere beats every GRANT, but for one thing that the product keeps from older times: a GRANT on a column beats a
//! DENY on its table. What is said of a table takes the place of what was said of its columns. The owner of an object's schema, dbo and members of db_owner may everything. CONTROL
//! stands for every permission on what it is granted on.
//!
//! An application role is a user without login that a session becomes by its password.
//!
//! Deliberately absent: who granted what (dbo did).

use super::{DBO, Picture};
use crate::keys::principal::Mapped;
use crate::windows::Account;
use keel_query::catalog::{Catalog as _, ObjectId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// `public`
pub const PUBLIC: i32 = 0;
/// `dbo`
pub const DBO_USER: i32 = 1;
/// `guest`
pub const GUEST_USER: i32 = 2;
/// The first id of a user or role that somebody made.
pub const FIRST_PRINCIPAL: i32 = 5;
/// `db_owner`
pub const DB_OWNER: i32 = 16_384;

/// Roles every database has.
pub const FIXED_ROLES: &[(&str, i32)] = &[
    ("db_owner", DB_OWNER),
    ("db_accessadmin", 16_385),
    ("db_securityadmin", 16_386),
    ("db_ddladmin", 16_387),
    ("db_backupoperator", 16_389),
    ("db_datareader", 16_390),
    ("db_datawriter", 16_391),
    ("db_denydatareader", 16_392),
    ("db_denydatawriter", 16_393),
];

/// Roles of the instance, with their ids.
pub const FIXED_SERVER_ROLES: &[(&str, i32)] = &[
    ("sysadmin", 3),
    ("securityadmin", 4),
    ("serveradmin", 5),
    ("setupadmin", 6),
    ("processadmin", 7),
    ("diskadmin", 8),
    ("dbcreator", 9),
    ("bulkadmin", 10),
];

/// What a permission is granted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecurableRef {
    /// The instance.
    Server,
    /// The database.
    Database,
    /// A schema.
    Schema(i32),
    /// A table, view, procedure, function, sequence or synonym.
    Object(ObjectId),
    /// A user or role.
    Principal(i32),
    /// An endpoint of the instance.
    Endpoint(i32),
    /// An availability group, by its id.
    AvailabilityGroup([u8; 16]),
    /// A column of a table or view.
    Column(ObjectId, i32),
    /// A certificate of the database.
    Certificate(i32),
    /// An asymmetric key of the database.
    AsymmetricKey(i32),
    /// A symmetric key of the database.
    SymmetricKey(i32),
    /// An XML schema collection.
    XmlCollection(i32),
    /// A message type of the broker.
    MessageType(i32),
    /// A contract.
    Contract(i32),
    /// A service.
    Service(i32),
    /// A route.
    Route(i32),
}

/// GRANT or DENY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PermissionState {
    /// GRANT
    Grant,
    /// GRANT … WITH GRANT OPTION
    GrantOption,
    /// DENY
    Deny,
}

/// A permission that a principal has or is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionDef {
    /// On what.
    pub on: SecurableRef,
    /// Upper-case name.
    pub name: String,
    /// Granted or denied.
    pub state: PermissionState,
}

/// A user or role with its memberships and permissions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrincipalDef {
    /// `principal_id`
    pub principal_id: i32,
    /// Name.
    pub name: String,
    /// A role.
    pub role: bool,
    /// `sid` of its login; `None` for roles and users without login.
    pub sid: Option<Vec<u8>>,
    /// DEFAULT_SCHEMA.
    pub default_schema: String,
    /// Roles it is a member of.
    pub member_of: Vec<i32>,
    /// Its permissions.
    pub permissions: Vec<PermissionDef>,
    /// Create date, local ticks.
    pub created: i64,
    /// Last change, local ticks.
    pub modified: i64,
    /// A user who logs in to the database itself: what [`crate::engine::PasswordHasher::hash`] made of the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<Vec<u8>>,
    /// An application role: what was made of the password by which a session becomes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Vec<u8>>,
    /// The user of a domain's group.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub group: bool,
}

impl PrincipalDef {
    /// The user of an account of a domain ([`crate::windows`]).
    #[must_use]
    pub fn is_windows(&self) -> bool {
        self.sid.as_deref().is_some_and(crate::windows::is_account)
    }

    /// What it is mapped to, if it is the user of a certificate or an asymmetric key: nobody comes or becomes that.
    #[must_use]
    pub fn mapped(&self) -> Option<Mapped> {
        self.sid.as_deref().and_then(Mapped::of)
    }

    /// The user of a group of such.
    #[must_use]
    pub fn is_windows_group(&self) -> bool {
        self.group || self.sid.as_deref().is_some_and(crate::windows::is_shipped_group)
    }

    /// One of those every database has, as it is before anything was granted to it.
    #[must_use]
    pub fn fixed(id: i32) -> Option<PrincipalDef> {
        let users = [("public", 0, true), ("dbo", 1, false), ("guest", 2, false)];
        let others = [("INFORMATION_SCHEMA", 3, false), ("sys", 4, false)];
        let roles = FIXED_ROLES.iter().map(|(name, id)| (*name, *id, true));
        let (name, principal_id, role) =
            users.into_iter().chain(others).chain(roles).find(|(_, i, _)| *i == id)?;
        Some(PrincipalDef {
            principal_id,
            name: name.to_owned(),
            role,
            sid: (id == DBO_USER).then(|| vec![1]),
            default_schema: if role { String::new() } else { "dbo".to_owned() },
            member_of: if id == DBO_USER { vec![DB_OWNER] } else { Vec::new() },
            permissions: Vec::new(),
            created: 0,
            modified: 0,
            password_hash: None,
            application: None,
            group: false,
        })
    }

    /// A user, no role of any kind.
    #[must_use]
    pub fn is_user(&self) -> bool {
        !self.role && self.application.is_none()
    }

    /// Whether every database has it.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.principal_id < FIRST_PRINCIPAL || self.principal_id >= DB_OWNER
    }

    /// Sets or takes away a permission. On a table it takes the place of those on its columns.
    pub fn set(&mut self, on: SecurableRef, name: &str, state: Option<PermissionState>) {
        let within = |p: &SecurableRef| match (*p, on) {
            (SecurableRef::Column(table, _), SecurableRef::Object(object)) => table == object,
            _ => false,
        };
        self.permissions.retain(|p| p.on != on && !within(&p.on) || p.name != name);
        if let Some(state) = state {
            self.permissions.push(PermissionDef { on, name: name.to_owned(), state });
        }
    }
}

/// Who a session is in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The user.
    pub user: i32,
    /// The user, `public` and all roles it belongs to.
    pub ids: Vec<i32>,
    /// dbo or a member of db_owner.
    pub owner: bool,
    /// DEFAULT_SCHEMA: where names without a schema are looked for first, and made.
    pub schema: i32,
    /// An account of a domain that has no user of its own here: `user` is the first of its groups'.
    pub by_group: bool,
}

impl Token {
    /// dbo's.
    #[must_use]
    pub fn dbo() -> Token {
        Token {
            user: DBO_USER,
            ids: vec![DBO_USER, PUBLIC, DB_OWNER],
            owner: true,
            schema: DBO,
            by_group: false,
        }
    }

    /// Whether it belongs to a role, or is that user.
    #[must_use]
    pub fn is(&self, principal: i32) -> bool {
        self.ids.contains(&principal)
    }

    /// It is also what another one is, and may what that one may.
    fn join(&mut self, other: Token) {
        self.owner |= other.owner;
        for id in other.ids {
            if !self.ids.contains(&id) {
                self.ids.push(id);
            }
        }
    }

    fn in_fixed(&self, role: &str) -> bool {
        FIXED_ROLES.iter().any(|(name, id)| *name == role && self.is(*id))
    }
}

/// The answer to a question about a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Allowed,
    /// Somebody said no.
    Denied,
    /// Nobody said yes.
    NotGranted,
}

/// Why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// For the object as a whole.
    Object,
    /// For a column of it.
    Column(i32),
}

/// Folds permissions into a verdict: a DENY wins, then a GRANT.
pub fn decide<'p>(permissions: impl Iterator<Item = &'p PermissionDef>, name: &str) -> Verdict {
    let mut verdict = Verdict::NotGranted;
    for p in permissions.filter(|p| p.name == name || p.name == "CONTROL") {
        match p.state {
            PermissionState::Deny => return Verdict::Denied,
            PermissionState::Grant | PermissionState::GrantOption => verdict = Verdict::Allowed,
        }
    }
    verdict
}

impl Picture {
    /// A user or role: what is stored, or what every database has.
    #[must_use]
    pub fn principal(&self, id: i32) -> Option<PrincipalDef> {
        self.stored_principal(id).map(|p| (**p).clone()).or_else(|| PrincipalDef::fixed(id))
    }

    /// All users and roles by id.
    #[must_use]
    pub fn principals(&self) -> Vec<PrincipalDef> {
        let mut ids: Vec<i32> = (0..FIRST_PRINCIPAL).chain(FIXED_ROLES.iter().map(|(_, id)| *id)).collect();
        ids.extend(self.stored_principals().map(|p| p.principal_id));
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().filter_map(|id| self.principal(id)).collect()
    }

    /// A user or role by name.
    #[must_use]
    pub fn principal_named(&self, name: &str) -> Option<PrincipalDef> {
        let name = super::fold(name);
        self.principals().into_iter().find(|p| super::fold(&p.name) == name)
    }

    /// The token of a login; `None` when it may not enter the database. `open` lets in as guest who has no user.
    #[must_use]
    pub fn token_of_login(&self, sid: &[u8], open: bool) -> Option<Token> {
        if self.settings().owner.as_slice() == sid {
            return Some(Token::dbo());
        }
        let own = self.stored_principals().find(|p| p.sid.as_deref() == Some(sid));
        own.map(|user| self.token_of(user.principal_id)).or_else(|| self.token_of_guest(open))
    }

    fn token_of_guest(&self, open: bool) -> Option<Token> {
        let guest = self.token_of(GUEST_USER);
        let enabled = open || self.permits(&guest, "CONNECT", SecurableRef::Database) == Verdict::Allowed;
        enabled.then_some(guest)
    }

    /// The token of an account of a domain: what its user and those of its groups are and have.
    #[must_use]
    pub fn token_of_account(&self, account: &Account, open: bool) -> Option<Token> {
        if account.is(&self.settings().owner) {
            return Some(Token::dbo());
        }
        let users = self.users_of(account);
        let Some((first, others)) = users.split_first() else { return self.token_of_guest(open) };
        let mut token = self.token_of(first.principal_id);
        token.by_group = !first.sid.as_deref().is_some_and(|sid| account.is(sid));
        for user in others {
            let other = self.token_of(user.principal_id);
            if token.by_group && token.schema == DBO {
                token.schema = other.schema;
            }
            token.join(other);
        }
        Some(token)
    }

    /// A token with those of the users who have signed what runs; theirs alone where there is none.
    #[must_use]
    pub fn token_with_signers(&self, own: Option<Token>, signers: &[Vec<u8>]) -> Option<Token> {
        let signed = |p: &&Arc<PrincipalDef>| p.sid.as_ref().is_some_and(|sid| signers.contains(sid));
        let mut token = own;
        for user in self.stored_principals().filter(|p| !p.role).filter(signed) {
            let of_user = self.token_of(user.principal_id);
            match &mut token {
                Some(token) => token.join(of_user),
                None => token = Some(Token { by_group: true, schema: DBO, ..of_user }),
            }
        }
        token
    }

    /// The users of an account and of its groups: its own first, then as they were made.
    #[must_use]
    pub fn users_of(&self, account: &Account) -> Vec<Arc<PrincipalDef>> {
        let sid = |user: &PrincipalDef| user.sid.clone().unwrap_or_default();
        let mut users: Vec<_> = self.stored_principals().filter(|p| !p.role).cloned().collect();
        users.retain(|user| account.is(&sid(user)) || account.is_in(&sid(user)));
        users.sort_by_key(|user| (!account.is(&sid(user)), user.principal_id));
        users
    }

    /// The token of a user.
    #[must_use]
    pub fn token_of(&self, user: i32) -> Token {
        let mut ids = vec![user, PUBLIC];
        let mut at = 0;
        while let Some(id) = ids.get(at) {
            let roles = self.principal(*id).map(|p| p.member_of).unwrap_or_default();
            for role in roles {
                if !ids.contains(&role) {
                    ids.push(role);
                }
            }
            at += 1;
        }
        let owner = user == DBO_USER || ids.contains(&DB_OWNER);
        let schema = self.principal(user).and_then(|p| self.schema_id(&p.default_schema)).unwrap_or(DBO);
        Token { user, ids, owner, schema, by_group: false }
    }

    /// Whether a token has a permission on something.
    #[must_use]
    pub fn permits(&self, token: &Token, name: &str, on: SecurableRef) -> Verdict {
        if token.owner {
            return Verdict::Allowed;
        }
        if let SecurableRef::Column(object, column) = on {
            return match self.permits_columns(token, name, object, Some(&[column])) {
                Ok(()) => Verdict::Allowed,
                Err(_) => Verdict::NotGranted,
            };
        }
        let schema = match on {
            SecurableRef::Object(id) => self.schema_of(id),
            SecurableRef::Schema(id) => Some(id),
            SecurableRef::XmlCollection(id) => self.xml_collection(id).map(|c| c.schema_id),
            _ => None,
        };
        let covers = |p: &SecurableRef| {
            *p == on || *p == SecurableRef::Database || schema.is_some_and(|s| *p == SecurableRef::Schema(s))
        };
        let held: Vec<_> = token.ids.iter().filter_map(|id| self.stored_principal(*id)).collect();
        let applying = held.iter().flat_map(|p| &p.permissions).filter(|p| covers(&p.on));
        let by_grants = decide(applying, name);
        let by_roles = fixed_role_says(token, name);
        if by_grants == Verdict::Denied || by_roles == Verdict::Denied {
            return Verdict::Denied;
        }
        let owner = match on {
            SecurableRef::XmlCollection(id) => self.xml_collection_owner(id),
            _ => schema
                .and_then(|s| self.schema(s))
                .map(|s| s.owner)
                .or_else(|| self.key_owner(on))
                .or_else(|| self.broker_owner(on)),
        };
        let owned = owner.is_some_and(|owner| owner != 0 && token.is(owner));
        if owned || by_grants == Verdict::Allowed { Verdict::Allowed } else { by_roles }
    }

    /// Whether a token has a permission on columns of an object: on all when `columns` is `None`, on any of them for an
    /// empty list. What is said of a column counts before what is said of the object.
    pub fn permits_columns(
        &self,
        token: &Token,
        name: &str,
        object: ObjectId,
        columns: Option<&[i32]>,
    ) -> Result<(), Refusal> {
        let whole = self.permits(token, name, SecurableRef::Object(object));
        let held = token.ids.iter().filter_map(|id| self.stored_principal(*id));
        let said: Vec<(i32, PermissionState)> = held
            .flat_map(|p| &p.permissions)
            .filter(|p| p.name == name)
            .filter_map(|p| match p.on {
                SecurableRef::Column(table, column) if table == object => Some((column, p.state)),
                _ => None,
            })
            .collect();
        if said.is_empty() || token.owner {
            return if whole == Verdict::Allowed { Ok(()) } else { Err(Refusal::Object) };
        }
        let denied = |c: &i32| said.contains(&(*c, PermissionState::Deny));
        let granted = |c: &i32| said.iter().any(|(id, state)| id == c && *state != PermissionState::Deny);
        let allowed = |c: &i32| !denied(c) && (granted(c) || whole == Verdict::Allowed);
        let any_granted = said.iter().any(|(_, state)| *state != PermissionState::Deny);
        let refused = match columns {
            Some([]) if whole == Verdict::Allowed || any_granted => None,
            Some([]) => return Err(Refusal::Object),
            Some(columns) => columns.iter().find(|c| !allowed(c)).copied(),
            // All columns: those of which something is said, and the others by the object.
            None if whole == Verdict::Allowed => said.iter().map(|(c, _)| *c).find(denied),
            None => return Err(Refusal::Object),
        };
        match refused {
            None => Ok(()),
            Some(c) if any_granted || whole == Verdict::Allowed => Err(Refusal::Column(c)),
            Some(_) => Err(Refusal::Object),
        }
    }

    /// The schema of an object.
    #[must_use]
    pub fn schema_of(&self, id: ObjectId) -> Option<i32> {
        let object = self.objects().find(|o| o.object_id == id);
        object.map(|o| o.schema_id)
    }
}

fn fixed_role_says(token: &Token, name: &str) -> Verdict {
    let reads = name == "SELECT";
    let writes = matches!(name, "INSERT" | "UPDATE" | "DELETE");
    if reads && token.in_fixed("db_denydatareader") || writes && token.in_fixed("db_denydatawriter") {
        return Verdict::Denied;
    }
    let defines = matches!(
        name,
        "ALTER"
            | "REFERENCES"
            | "CHECKPOINT"
            | "ALTER ANY DATABASE DDL TRIGGER"
            | "ALTER ANY CERTIFICATE"
            | "ALTER ANY ASYMMETRIC KEY"
            | "ALTER ANY SYMMETRIC KEY"
            | "ALTER ANY MESSAGE TYPE"
            | "ALTER ANY CONTRACT"
            | "ALTER ANY SERVICE"
            | "ALTER ANY ROUTE"
    );
    let creates = name.starts_with("CREATE ") && name != "CREATE ROLE";
    let allowed = reads && token.in_fixed("db_datareader")
        || writes && token.in_fixed("db_datawriter")
        || (defines || creates) && token.in_fixed("db_ddladmin")
        || name == "CHECKPOINT" && token.in_fixed("db_backupoperator")
        || name.starts_with("BACKUP ") && token.in_fixed("db_backupoperator")
        || matches!(
            name,
            "ALTER ANY ROLE" | "ALTER ANY APPLICATION ROLE" | "CREATE ROLE" | "VIEW DEFINITION"
        ) && token.in_fixed("db_securityadmin")
        || matches!(name, "ALTER ANY USER" | "CONNECT") && token.in_fixed("db_accessadmin");
    if allowed { Verdict::Allowed } else { Verdict::NotGranted }
}

/// Permissions by name with their codes in the catalog views.
pub const PERMISSIONS: &[(&str, &str)] = &[
    ("SELECT", "SL"),
    ("INSERT", "IN"),
    ("UPDATE", "UP"),
    ("DELETE", "DL"),
    ("EXECUTE", "EX"),
    ("RECEIVE", "RC"),
    ("SEND", "SN"),
    ("REFERENCES", "RF"),
    ("ALTER", "AL"),
    ("CONTROL", "CL"),
    ("TAKE OWNERSHIP", "TO"),
    ("VIEW DEFINITION", "VW"),
    ("VIEW CHANGE TRACKING", "VWCT"),
    ("IMPERSONATE", "IM"),
    ("CONNECT", "CO"),
    ("CREATE TABLE", "CRTB"),
    ("CREATE VIEW", "CRVW"),
    ("CREATE PROCEDURE", "CRPR"),
    ("CREATE FUNCTION", "CRFN"),
    ("CREATE SCHEMA", "CRSM"),
    ("CREATE TYPE", "CRTY"),
    ("CREATE XML SCHEMA COLLECTION", "CRXS"),
    ("CREATE SYNONYM", "CRSN"),
    ("CREATE DEFAULT", "CRDF"),
    ("CREATE RULE", "CRRU"),
    ("CREATE ROLE", "CRRL"),
    ("CREATE FULLTEXT CATALOG", "CRFT"),
    ("CREATE DATABASE", "CRDB"),
    ("CREATE CERTIFICATE", "CRCF"),
    ("CREATE ASYMMETRIC KEY", "CRAK"),
    ("CREATE SYMMETRIC KEY", "CRSK"),
    ("ALTER ANY CERTIFICATE", "ALCF"),
    ("ALTER ANY ASYMMETRIC KEY", "ALAK"),
    ("ALTER ANY SYMMETRIC KEY", "ALSK"),
    ("ALTER ANY USER", "ALUS"),
    ("ALTER ANY ROLE", "ALRL"),
    ("ALTER ANY APPLICATION ROLE", "ALAR"),
    ("ALTER ANY SCHEMA", "ALSM"),
    ("ALTER ANY DATASPACE", "ALDS"),
    ("ALTER ANY SECURITY POLICY", "ALSP"),
    ("ALTER ANY FULLTEXT CATALOG", "ALFT"),
    ("ALTER ANY MASK", "AAMK"),
    ("ALTER ANY DATABASE AUDIT", "ALDA"),
    ("UNMASK", "UMSK"),
    ("ALTER ANY DATABASE DDL TRIGGER", "ALTG"),
    ("VIEW DATABASE STATE", "VWDS"),
    ("VIEW DATABASE PERFORMANCE STATE", "VDP"),
    ("VIEW DATABASE SECURITY STATE", "VDS"),
    ("BACKUP DATABASE", "BADB"),
    ("BACKUP LOG", "BALO"),
    ("CHECKPOINT", "CP"),
    ("SHOWPLAN", "SPLN"),
    ("ALTER ANY DATABASE SCOPED CONFIGURATION", "ALDC"),
    // On what is not here, for scripts that grant them.
    ("ALTER ANY ASSEMBLY", "ALAS"),
    ("ALTER ANY COLUMN ENCRYPTION KEY", "ALCK"),
    ("ALTER ANY COLUMN MASTER KEY", "ALCM"),
    ("ALTER ANY CONTRACT", "ALSC"),
    ("ALTER ANY DATABASE EVENT NOTIFICATION", "ALED"),
    ("ALTER ANY DATABASE EVENT SESSION", "AADS"),
    ("ALTER ANY EXTERNAL DATA SOURCE", "AEDS"),
    ("ALTER ANY EXTERNAL FILE FORMAT", "AEFF"),
    ("ALTER ANY EXTERNAL LANGUAGE", "ALLA"),
    ("ALTER ANY EXTERNAL LIBRARY", "AELI"),
    ("ALTER ANY MESSAGE TYPE", "ALMT"),
    ("ALTER ANY REMOTE SERVICE BINDING", "ALSB"),
    ("ALTER ANY ROUTE", "ALRT"),
    ("ALTER ANY SENSITIVITY CLASSIFICATION", "AASC"),
    ("ALTER ANY SERVICE", "ALSV"),
    ("AUTHENTICATE", "AUTH"),
    ("CONNECT REPLICATION", "CORP"),
    ("CREATE AGGREGATE", "CRAG"),
    ("CREATE ASSEMBLY", "CRAS"),
    ("CREATE CONTRACT", "CRSC"),
    ("CREATE DATABASE DDL EVENT NOTIFICATION", "CRED"),
    ("CREATE MESSAGE TYPE", "CRMT"),
    ("CREATE QUEUE", "CRQU"),
    ("CREATE REMOTE SERVICE BINDING", "CRSB"),
    ("CREATE ROUTE", "CRRT"),
    ("CREATE SERVICE", "CRSV"),
    ("EXECUTE ANY EXTERNAL SCRIPT", "EAES"),
    ("SUBSCRIBE QUERY NOTIFICATIONS", "SUQN"),
    ("VIEW ANY COLUMN ENCRYPTION KEY DEFINITION", "VWCK"),
    ("VIEW ANY COLUMN MASTER KEY DEFINITION", "VWCM"),
    ("VIEW ANY SENSITIVITY CLASSIFICATION", "VASC"),
];

/// Permissions on a key or a certificate.
pub const KEY_PERMISSIONS: &[&str] = &["REFERENCES", "VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL"];

/// Permissions on an XML schema collection.
pub const XML_COLLECTION_PERMISSIONS: &[&str] =
    &["EXECUTE", "REFERENCES", "VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL"];

/// Permissions on an endpoint with their codes.
pub const ENDPOINT_PERMISSIONS: &[(&str, &str)] = &[
    ("CONNECT", "CO"),
    ("ALTER", "AL"),
    ("CONTROL", "CL"),
    ("TAKE OWNERSHIP", "TO"),
    ("VIEW DEFINITION", "VW"),
];

/// Permissions on an availability group with their codes.
pub const GROUP_PERMISSIONS: &[(&str, &str)] =
    &[("ALTER", "AL"), ("CONTROL", "CL"), ("TAKE OWNERSHIP", "TO"), ("VIEW DEFINITION", "VW")];

/// Permissions on the instance with their codes.
pub const SERVER_PERMISSIONS: &[(&str, &str)] = &[
    ("CONTROL SERVER", "CL"),
    ("VIEW SERVER STATE", "VWSS"),
    ("VIEW SERVER PERFORMANCE STATE", "VSP"),
    ("VIEW SERVER SECURITY STATE", "VSS"),
    ("VIEW ANY DATABASE", "VWDB"),
    ("VIEW ANY DEFINITION", "VWAD"),
    ("CONNECT SQL", "COSQ"),
    ("CONNECT ANY DATABASE", "CADB"),
    ("CREATE ANY DATABASE", "CRDB"),
    ("ALTER ANY DATABASE", "ALDB"),
    ("ALTER ANY CREDENTIAL", "ALCD"),
    ("ALTER ANY LINKED SERVER", "ALLS"),
    ("ALTER ANY LOGIN", "ALLG"),
    ("ALTER ANY SERVER ROLE", "ALSR"),
    ("CREATE SERVER ROLE", "CRSR"),
    ("ALTER ANY CONNECTION", "ALCO"),
    ("ALTER SETTINGS", "ALST"),
    ("ALTER SERVER STATE", "ALSS"),
    ("ALTER ANY AVAILABILITY GROUP", "ALAG"),
    ("ALTER ANY EVENT SESSION", "AAES"),
    ("ALTER ANY SERVER AUDIT", "ALAA"),
    ("VIEW ANY SECURITY DEFINITION", "VWSD"),
    ("VIEW SERVER SECURITY AUDIT", "VSSA"),
    ("IMPERSONATE ANY LOGIN", "IAL"),
    ("SELECT ALL USER SECURABLES", "SUS"),
    ("ADMINISTER BULK OPERATIONS", "ADBO"),
    ("SHUTDOWN", "SHDN"),
];
