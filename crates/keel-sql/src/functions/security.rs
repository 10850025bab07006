//! Functions about logins, users and permissions. Everybody is dbo in every database and sysadmin if the login is.

use super::{int, number, string, text};
use crate::session::info::Info;
use keel_types::Value;
use keel_types::error::Result;

pub(super) fn login_name(info: &Info, args: &[Value]) -> Result<Value> {
    match args.first() {
        None => Ok(Value::str(info.login())),
        Some(Value::Null) => Ok(Value::Null),
        Some(Value::Int(id)) => {
            let logins = info.engine.logins()?;
            Ok(string(logins.into_iter().find(|l| i64::from(l.principal_id) == *id).map(|l| l.name)))
        }
        Some(sid) => {
            let bytes = sid.as_bytes().unwrap_or_default();
            Ok(string(info.engine.logins()?.into_iter().find(|l| l.sid == bytes).map(|l| l.name)))
        }
    }
}

pub(super) fn original_login(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.shared.login.login.as_str()))
}

pub(super) fn login_id(info: &Info, args: &[Value]) -> Result<Value> {
    let name = text(args, 0).map_or_else(|| info.login().to_string(), str::to_owned);
    Ok(int(info.engine.login(&name).map(|l| i64::from(l.principal_id))))
}

pub(super) fn login_sid(info: &Info, args: &[Value]) -> Result<Value> {
    let name = text(args, 0).map_or_else(|| info.login().to_string(), str::to_owned);
    Ok(info.engine.login(&name).map_or(Value::Null, |l| Value::bytes(l.sid)))
}

pub(super) fn user_name(_: &Info, args: &[Value]) -> Result<Value> {
    Ok(match number(args, 0) {
        None if args.is_empty() => Value::str("dbo"),
        Some(1) => Value::str("dbo"),
        Some(0) => Value::str("public"),
        Some(2) => Value::str("guest"),
        Some(3) => Value::str("INFORMATION_SCHEMA"),
        Some(4) => Value::str("sys"),
        _ => Value::Null,
    })
}

pub(super) fn user_id(_: &Info, args: &[Value]) -> Result<Value> {
    Ok(match text(args, 0).map(str::to_ascii_lowercase).as_deref() {
        None | Some("dbo") => Value::Int(1),
        Some("public") => Value::Int(0),
        Some("guest") => Value::Int(2),
        Some("sys") => Value::Int(4),
        _ => Value::Null,
    })
}

pub(super) fn is_server_role_member(info: &Info, args: &[Value]) -> Result<Value> {
    let role = text(args, 0).unwrap_or("").to_ascii_lowercase();
    let roles = [
        "sysadmin",
        "serveradmin",
        "securityadmin",
        "processadmin",
        "setupadmin",
        "bulkadmin",
        "diskadmin",
        "dbcreator",
    ];
    let sysadmin = match text(args, 1) {
        Some(login) => info.engine.login(login).is_some_and(|l| l.sysadmin),
        None => info.shared.login.sysadmin,
    };
    Ok(match role.as_str() {
        "public" => Value::Int(1),
        role if roles.contains(&role) => Value::Int(i64::from(sysadmin)),
        _ => Value::Null,
    })
}

pub(super) fn is_member(_: &Info, args: &[Value]) -> Result<Value> {
    let role = text(args, 0).unwrap_or("").to_ascii_lowercase();
    let fixed = role.starts_with("db_");
    Ok(if role == "public" || role == "db_owner" {
        Value::Int(1)
    } else if fixed {
        Value::Int(0)
    } else {
        Value::Null
    })
}

pub(super) fn has_perms(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(1))
}

pub(super) fn has_db_access(info: &Info, args: &[Value]) -> Result<Value> {
    Ok(int(text(args, 0).and_then(|n| info.engine.database(n)).map(|_| 1)))
}

pub(super) fn permissions(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(-1))
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
