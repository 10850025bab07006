//! Who the session is, with all that it belongs to: `sys.login_token` on the server, `sys.user_token` in the database. And the classes
//! of what permissions are granted on.

use super::{DESC, INT, NAME, NULL, SID, SystemView, ViewContext, int, text};
use crate::catalog::FIXED_SERVER_ROLES;
use crate::engine::LoginRecord;
use crate::keys::principal::Mapped;
use keel_types::Value;

type Rows = Vec<Vec<Value>>;

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    super::view("login_token", TOKEN, login_token),
    super::view("user_token", TOKEN, user_token),
    super::view("securable_classes", &[("class_desc", DESC), ("class", INT)], |_| {
        CLASSES.iter().map(|(name, class)| vec![text(*name), int(*class)]).collect()
    }),
];

const TOKEN: &[super::Column] =
    &[("principal_id", INT), ("sid", SID), ("name", NAME), ("type", NAME), ("usage", NAME)];

/// Every class that the product grants permissions on, by its name.
const CLASSES: [(&str, i64); 26] = [
    ("APPLICATION ROLE", 4),
    ("ASSEMBLY", 5),
    ("ASYMMETRIC KEY", 26),
    ("AVAILABILITY GROUP", 108),
    ("CERTIFICATE", 25),
    ("CONTRACT", 16),
    ("DATABASE", 0),
    ("DATABASE SCOPED CREDENTIAL", 32),
    ("ENDPOINT", 105),
    ("FULLTEXT CATALOG", 23),
    ("FULLTEXT STOPLIST", 29),
    ("LOGIN", 101),
    ("MESSAGE TYPE", 15),
    ("OBJECT", 1),
    ("REMOTE SERVICE BINDING", 18),
    ("ROLE", 4),
    ("ROUTE", 19),
    ("SCHEMA", 3),
    ("SEARCH PROPERTY LIST", 31),
    ("SERVER", 100),
    ("SERVER ROLE", 101),
    ("SERVICE", 17),
    ("SYMMETRIC KEY", 24),
    ("TYPE", 6),
    ("USER", 4),
    ("XML SCHEMA COLLECTION", 10),
];

/// How a principal takes part: all of them are asked when something is granted or denied.
const USAGE: &str = "GRANT OR DENY";
/// `public` on the server.
const SERVER_PUBLIC: i64 = 2;

fn row(id: i64, sid: Value, name: &str, kind: &str) -> Vec<Value> {
    vec![int(id), sid, text(name), text(kind), text(USAGE)]
}

/// Nothing of a login is left for who is a user only.
fn login_token(cx: &ViewContext<'_>) -> Rows {
    let now = cx.info.identity_now();
    let logins = cx.info.logins().unwrap_or_default();
    let Some(login) = logins.of(&now).filter(|_| now.user.is_none()) else { return Vec::new() };
    let of_login = |login: &LoginRecord, kind| {
        row(login.principal_id.into(), Value::bytes(login.sid.clone()), &login.name, kind)
    };
    let kind = if login.is_windows() { "WINDOWS LOGIN" } else { "SQL LOGIN" };
    let mut rows = vec![of_login(&login, kind)];
    rows.extend(logins.signers_of(&now).map(|login| {
        let kind = match login.mapped() {
            Some(Mapped::AsymmetricKey) => "LOGIN MAPPED TO ASYMMETRIC KEY",
            _ => "LOGIN MAPPED TO CERTIFICATE",
        };
        of_login(login, kind)
    }));
    if let Some(account) = &now.account {
        rows.extend(logins.groups_of(account).map(|group| of_login(group, "WINDOWS GROUP")));
    }
    rows.push(row(SERVER_PUBLIC, NULL, "public", "SERVER ROLE"));
    let of = logins.roles_of(&login);
    let fixed = FIXED_SERVER_ROLES.iter();
    let fixed = fixed.filter(|(name, _)| of.contains(name) || *name == "sysadmin" && now.sysadmin);
    rows.extend(fixed.map(|(name, id)| row((*id).into(), NULL, name, "SERVER ROLE")));
    let own = of.iter().filter_map(|name| logins.role(name));
    rows.extend(own.map(|r| row(r.principal_id.into(), Value::bytes(r.sid.clone()), &r.name, "SERVER ROLE")));
    rows
}

/// In the database that is read, not in the session's.
fn user_token(cx: &ViewContext<'_>) -> Rows {
    let Some(token) = cx.info.token_in(&cx.entry) else { return Vec::new() };
    let principal = |id: &i32| {
        let p = cx.picture.principal(*id)?;
        let kind = match &p {
            p if p.role => "ROLE",
            p if p.is_windows_group() => "WINDOWS GROUP",
            p if p.is_windows() => "WINDOWS USER",
            p => match p.mapped() {
                Some(Mapped::Certificate) => "USER MAPPED TO CERTIFICATE",
                Some(Mapped::AsymmetricKey) => "USER MAPPED TO ASYMMETRIC KEY",
                None => "SQL USER",
            },
        };
        let sid = super::sid_of(&p).map_or(NULL, Value::bytes);
        Some(row(p.principal_id.into(), sid, &p.name, kind))
    };
    token.ids.iter().filter_map(principal).collect()
}
