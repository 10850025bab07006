//! Functions about logins, users and permissions.

use super::{int, number, string, text};
use crate::catalog::{
    FIXED_SERVER_ROLES, Named, PERMISSIONS, PUBLIC, Picture, PrincipalDef, SecurableRef, Token,
};
use crate::engine::{DatabaseEntry, LoginRecord};
use crate::session::info::Info;
use crate::session::scope::Scope;
use crate::windows;
use keel_query::catalog::Catalog as _;
use keel_query::scope::NameParts;
use keel_types::Value;
use keel_types::error::Result;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn login_name(info: &Info, args: &[Value]) -> Result<Value> {
    match args.first() {
        None => Ok(Value::str(info.login())),
        Some(Value::Null) => Ok(Value::Null),
        Some(Value::Int(id)) => {
            let (logins, id) = (info.logins()?, i32::try_from(*id).ok());
            Ok(string(id.and_then(|id| logins.of_id(id)).map(|l| l.name.clone())))
        }
        Some(sid) => {
            let bytes = sid.as_bytes().unwrap_or_default();
            let own = || info.login_now().filter(|login| login.sid == bytes).map(|login| login.name);
            Ok(string(info.logins()?.of_sid(bytes).map(|l| l.name.clone()).or_else(own)))
        }
    }
}

pub(super) fn original_login(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.shared.login.login.as_str()))
}

pub(super) fn login_id(info: &Info, args: &[Value]) -> Result<Value> {
    let login =
        if args.is_empty() { info.login_now() } else { text(args, 0).and_then(|n| info.login_named(n)) };
    Ok(int(login.map(|l| i64::from(l.principal_id))))
}

pub(super) fn login_sid(info: &Info, args: &[Value]) -> Result<Value> {
    if let Some((database, user)) = info.identity_now().user.filter(|_| args.is_empty()) {
        let entry = info.engine.database_by_id(database);
        let user = entry.and_then(|entry| info.picture(&entry).principal(user));
        return Ok(user.and_then(|u| crate::views::sid_of(&u)).map_or(Value::Null, Value::bytes));
    }
    let login =
        if args.is_empty() { info.login_now() } else { text(args, 0).and_then(|n| info.login_named(n)) };
    Ok(login.map_or(Value::Null, |l| Value::bytes(l.sid)))
}

/// `LOGINPROPERTY(login, property)`. Logins here do not expire and are not locked; when a password was set is not kept (NULL).
pub(super) fn login_property(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(login) = text(args, 0).and_then(|name| info.login_named(name)) else { return Ok(Value::Null) };
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "defaultdatabase" => super::variant_text(login.default_database),
        "defaultlanguage" => super::variant_text(login.default_language),
        "passwordhash" if info.unrestricted.get() => super::variant(HASH, Value::bytes(login.password_hash)),
        "passwordhashalgorithm" => super::variant_int(i64::from(login.password_hash.first() == Some(&0)) * 2),
        "isexpired" | "islocked" | "ismustchange" | "badpasswordcount" | "historylength" => {
            super::variant_int(0)
        }
        _ => Value::Null,
    })
}

const HASH: keel_types::SqlType = keel_types::SqlType::VarBinary(keel_types::Length::Limited(256));

fn token(info: &Info) -> Option<std::sync::Arc<Token>> {
    info.token_in(&info.current_database())
}

pub(super) fn user_name(info: &Info, args: &[Value]) -> Result<Value> {
    let id = match number(args, 0) {
        None if args.is_empty() => match token(info) {
            // Who is here by a group has no user of that name; it is called as its domain calls it.
            Some(token) if token.by_group => return Ok(Value::str(info.login().as_str())),
            token => token.map(|t| t.user),
        },
        None => None,
        Some(id) => i32::try_from(id).ok(),
    };
    let picture = info.picture(&info.current_database());
    Ok(string(id.and_then(|id| picture.principal(id)).map(|p| p.name)))
}

pub(super) fn user_id(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(name) = text(args, 0) else {
        return Ok(int(token(info).filter(|_| args.is_empty()).map(|t| i64::from(t.user))));
    };
    let picture = info.picture(&info.current_database());
    Ok(int(picture.principal_named(name).map(|p| i64::from(p.principal_id))))
}

pub(super) fn is_server_role_member(info: &Info, args: &[Value]) -> Result<Value> {
    let role = text(args, 0).unwrap_or("").to_ascii_lowercase();
    if role == "public" {
        return Ok(Value::Int(1));
    }
    let logins = info.logins()?;
    let fixed = FIXED_SERVER_ROLES.iter().any(|(name, _)| *name == role);
    if !fixed && logins.role(&role).is_none() {
        return Ok(Value::Null);
    }
    let now = info.identity_now();
    let (login, sysadmin, is_login) = match text(args, 1) {
        Some(name) => (logins.named(name).map(Cow::Borrowed), false, true),
        None => (logins.of(&now), now.sysadmin, now.user.is_none()),
    };
    let Some(login) = login else {
        return Ok(if text(args, 1).is_some() {
            Value::Null
        } else {
            int(Some(i64::from(fixed && sysadmin)))
        });
    };
    let member = logins.roles_of(&login).iter().any(|r| r.eq_ignore_ascii_case(&role));
    // Who may do everything is in every fixed role, and in those of one's own that he was made a member of.
    let all = fixed && (sysadmin || is_login && login.sysadmin && text(args, 1).is_some());
    Ok(Value::Int(i64::from(all || is_login && member)))
}

/// Whether the session is in a domain's group; NULL for a group that nobody knows.
fn is_in_group(info: &Info, picture: &Picture, name: &str) -> Result<Value> {
    let user = picture.principal_named(name).filter(PrincipalDef::is_windows_group).and_then(|user| user.sid);
    let login = || info.login_named(name).filter(LoginRecord::is_windows_group).map(|login| login.sid);
    let listed = || info.engine.find_account(name).ok().filter(|found| found.group).map(|found| found.sid);
    let group = user.or_else(login).or_else(listed);
    let account = info.identity_now().account;
    let is_in = |group: Vec<u8>| i64::from(account.is_some_and(|account| account.is_in(&group)));
    Ok(int(group.map(is_in)))
}

pub(super) fn is_member(info: &Info, args: &[Value]) -> Result<Value> {
    let picture = info.picture(&info.current_database());
    if let (Some(name), 1) = (text(args, 0).filter(|name| windows::parts(name).is_some()), args.len()) {
        return is_in_group(info, &picture, name);
    }
    let Some(role) = text(args, 0).and_then(|n| picture.principal_named(n)).filter(|p| p.role) else {
        return Ok(Value::Null);
    };
    let token = match text(args, 1) {
        Some(name) => match picture.principal_named(name) {
            Some(user) => picture.token_of(user.principal_id),
            None => return Ok(Value::Null),
        },
        None => token(info).map_or_else(|| picture.token_of(PUBLIC), |t| (*t).clone()),
    };
    Ok(Value::Int(i64::from(token.is(role.principal_id))))
}

/// What may be asked of an object.
const OBJECT_PERMISSIONS: [&str; 14] = [
    "ANY",
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "EXECUTE",
    "REFERENCES",
    "RECEIVE",
    "ALTER",
    "CONTROL",
    "TAKE OWNERSHIP",
    "UNMASK",
    "VIEW DEFINITION",
    "VIEW CHANGE TRACKING",
];

/// `HAS_PERMS_BY_NAME(securable, class, permission, column, 'COLUMN')`
pub(super) fn has_perms(info: &Info, args: &[Value]) -> Result<Value> {
    let class = text(args, 1).unwrap_or("").to_ascii_uppercase();
    let Some(permission) = text(args, 2).map(str::to_ascii_uppercase) else { return Ok(Value::Null) };
    let mut entry = info.current_database();
    let on = match (class.as_str(), text(args, 0)) {
        ("SERVER" | "", None) => return Ok(Value::Int(i64::from(info.may_on_server(&permission)))),
        ("DATABASE", None) => SecurableRef::Database,
        ("DATABASE", Some(name)) => {
            let Some(other) = info.find_database(name) else { return Ok(Value::Null) };
            let allowed = permission == "ANY" && info.token_in(&other).is_some()
                || info.may(&other, &permission, SecurableRef::Database);
            return Ok(Value::Int(i64::from(allowed)));
        }
        ("SCHEMA", Some(name)) => match info.picture(&entry).schema_id(name) {
            Some(id) => SecurableRef::Schema(id),
            None => return Ok(Value::Null),
        },
        ("LOGIN", Some(name)) => {
            let known = info.login_named(name).is_some();
            let needed =
                if permission == "VIEW DEFINITION" { "VIEW ANY DEFINITION" } else { "ALTER ANY LOGIN" };
            return Ok(if known { Value::Int(i64::from(info.may_on_server(needed))) } else { Value::Null });
        }
        ("USER" | "ROLE", Some(name)) => {
            let all = info.picture(&entry).principals();
            match all.iter().find(|p| p.role == (class == "ROLE") && crate::views::same(&p.name, name)) {
                Some(p) => SecurableRef::Principal(p.principal_id),
                None => return Ok(Value::Null),
            }
        }
        (class @ ("CERTIFICATE" | "ASYMMETRIC KEY" | "SYMMETRIC KEY"), Some(name)) => {
            match crate::keys::securable(&info.picture(&entry), class, name) {
                Some(on) => return Ok(Value::Int(i64::from(info.may_key(&entry, &permission, on)))),
                None => return Ok(Value::Null),
            }
        }
        // Nothing is granted on types: whoever has a permission on the schema has it on what is in it.
        ("TYPE", Some(name)) => {
            let picture = info.picture(&entry);
            let number = super::metadata::type_number(&picture, name);
            match number.and_then(|id| picture.type_by_id(id)) {
                Some(ty) => SecurableRef::Schema(ty.schema_id),
                None => return Ok(Value::Null),
            }
        }
        ("OBJECT", Some(_)) if !OBJECT_PERMISSIONS.contains(&permission.as_str()) => return Ok(Value::Null),
        ("OBJECT", Some(name)) => {
            let Ok(name) = crate::run::procedure_name(name) else { return Ok(Value::Null) };
            let scope = Scope::bare(info, entry.id);
            let parts = crate::ddl::parts(&name);
            let Some((home, found)) = scope.resolve_unfollowed(parts) else {
                return Ok(on_shipped(info, &entry, parts, &permission));
            };
            // What it takes is asked where the object is.
            entry = home;
            SecurableRef::Object(match found {
                Named::Table(t) => t.object_id,
                Named::Module(m) => m.object_id,
                Named::Synonym(s) => s.object_id,
                Named::Bindable(b) => b.object_id,
                Named::Sequence(s) => s.object_id,
                Named::Policy(p) => p.object_id,
                Named::Queue(q) => q.object_id,
                _ => return Ok(Value::Null),
            })
        }
        _ => return Ok(Value::Null),
    };
    let on = match (text(args, 3), text(args, 4), on) {
        (None, None, on) => on,
        (Some(name), Some(kind), SecurableRef::Object(object)) if kind.eq_ignore_ascii_case("COLUMN") => {
            let known = info.column_names(&entry, object);
            match known.iter().find(|(_, n)| crate::views::same(n, name)) {
                Some((id, _)) => SecurableRef::Column(object, *id),
                None => return Ok(Value::Null),
            }
        }
        _ => return Ok(Value::Null),
    };
    let any = || PERMISSIONS.iter().any(|(name, _)| info.may(&entry, name, on));
    let allowed = if permission == "ANY" { any() } else { info.may(&entry, &permission, on) };
    Ok(Value::Int(i64::from(allowed)))
}

/// A permission on an object that comes with the server: everybody reads, calls and sees the definition of these, and the rest is what one may in
/// the database.
fn on_shipped(info: &Info, entry: &Arc<DatabaseEntry>, name: NameParts<'_>, permission: &str) -> Value {
    if crate::views::shipped_object(name.schema, name.object).is_none() {
        return Value::Null;
    }
    let public = matches!(permission, "ANY" | "SELECT" | "EXECUTE" | "VIEW DEFINITION");
    Value::Int(i64::from(public || info.may(entry, permission, SecurableRef::Database)))
}

pub(super) fn has_db_access(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = text(args, 0).and_then(|n| info.find_database(n));
    Ok(int(entry.map(|e| i64::from(info.check_entry(&e).is_ok()))))
}

/// `PERMISSIONS()`: bits of what may be made here, all of it or nothing.
pub(super) fn permissions(info: &Info, _: &[Value]) -> Result<Value> {
    let owner = token(info).is_some_and(|t| t.owner);
    Ok(Value::Int(if owner { -1 } else { 0 }))
}

pub(super) fn password_compare(info: &Info, args: &[Value]) -> Result<Value> {
    let stored = args[1].as_bytes().unwrap_or_default();
    let same = text(args, 0).is_some_and(|p| info.engine.options().hasher.verify(p, stored));
    Ok(Value::Int(i64::from(same)))
}

pub(super) fn host_name(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.shared.login.host_name.as_str()))
}

pub(super) fn host_id(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.shared.login.client_pid.to_string()))
}

pub(super) fn app_name(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.shared.login.app_name.as_str()))
}
