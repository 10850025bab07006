//! `xp_logininfo`: by which logins an account of a domain gets in, and who is in a group.

use super::{Outcome, argument, string};
use crate::engine::{LoginRecord, Logins};
use crate::errors;
use crate::run::{Argument, Returned, Runner};
use crate::windows::{self, Account, Listed};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};

const COLUMNS: [(&str, SqlType); 5] = [
    ("account name", SqlType::SYSNAME),
    ("type", SqlType::Char(8)),
    ("privilege", SqlType::Char(9)),
    ("mapped login name", SqlType::SYSNAME),
    ("permission path", SqlType::SYSNAME),
];

/// A way in.
struct Path {
    account: String,
    group: bool,
    sysadmin: bool,
    /// The group by which it is one.
    by: Option<String>,
}

impl Path {
    fn privilege(&self) -> &'static str {
        if self.sysadmin { "admin" } else { "user" }
    }

    fn row(self) -> Vec<Value> {
        let kind = SqlType::Char(8);
        let text = |text: &str, ty| keel_types::cast::convert(&Value::str(text), SqlType::SYSNAME, ty);
        let fixed = |word: &str, ty| text(word, ty).unwrap_or(Value::Null);
        let (kind, privilege) = (
            fixed(if self.group { "group" } else { "user" }, kind),
            fixed(self.privilege(), SqlType::Char(9)),
        );
        let name = Value::str(self.account);
        vec![name.clone(), kind, privilege, name, self.by.map_or(Value::Null, Value::str)]
    }
}

/// `xp_logininfo [@acctname [, 'all' | 'members' [, @privilege OUTPUT]]]`: all logins of accounts and groups; the ways in of an account,
/// the one that gives most first and, without `all`, alone; those who are in a group. With the third argument nothing but what the
/// account may. Errors 15407 and 15600, 229, and those of asking the directory.
pub(super) fn xp_logininfo(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    if !runner.info.may_on_server("VIEW ANY DEFINITION") && !runner.info.may_on_server("ALTER ANY LOGIN") {
        return Err(errors::permission_denied("EXECUTE", "xp_logininfo", "mssqlsystemresource", "sys").into());
    }
    let name = string(args, "acctname", 0);
    if let Some(name) = name.as_deref().filter(|name| windows::parts(name).is_none()) {
        return Err(errors::not_a_windows_name(name).into());
    }
    let option = string(args, "option", 1).map(|option| option.trim().to_ascii_lowercase());
    let logins = runner.info.logins()?;
    let mut paths = match (name.as_deref(), option.as_deref()) {
        (None, None | Some("all")) => every(&logins),
        (Some(name), None | Some("all")) => ways_in(runner, &logins, name)?,
        (Some(group), Some("members")) => members(runner, &logins, group)?,
        _ => return Err(errors::invalid_procedure_option("xp_logininfo").into()),
    };
    let mut returned = Returned::default();
    if let Some(asked) = argument(args, "privilege", 2) {
        let at = args.iter().position(|arg| std::ptr::eq(arg, asked)).unwrap_or(2);
        let privilege = paths.first().map_or(Value::Null, |path| Value::str(path.privilege()));
        returned.outputs.push((at, privilege, SqlType::VarChar(Length::Limited(10))));
        return Ok(returned);
    }
    if name.is_some() && option.is_none() {
        paths.truncate(1);
    }
    let rows: Vec<_> = paths.into_iter().map(Path::row).collect();
    runner.result_set(&COLUMNS, &rows)?;
    Ok(returned)
}

/// Whoever has a login.
fn every(logins: &Logins) -> Vec<Path> {
    let mut all: Vec<&LoginRecord> =
        logins.iter().filter(|login| login.is_windows() && !login.role).collect();
    all.sort_by_key(|login| login.name.to_uppercase());
    all.into_iter().map(own).collect()
}

fn own(login: &LoginRecord) -> Path {
    let (account, group) = (login.name.clone(), login.is_windows_group());
    Path { account, group, sysadmin: login.sysadmin, by: None }
}

/// An account's own login and those of its groups; of an account that no directory knows, its own.
fn ways_in(runner: &Runner<'_>, logins: &Logins, name: &str) -> Result<Vec<Path>> {
    let engine = &runner.info.engine;
    let account = match logins.named(name).filter(|login| login.is_windows_group()) {
        // A group may be in others.
        Some(login) if login.group => engine.account(name)?,
        Some(login) => Account::new(login.name.clone(), Some(login.sid.clone()), Vec::new()),
        None => engine.account(name)?,
    };
    let group = logins.named(name).is_some_and(LoginRecord::is_windows_group);
    let by = |of: &LoginRecord| Path {
        account: account.name().to_owned(),
        group,
        sysadmin: of.sysadmin,
        by: Some(of.name.clone()),
    };
    let mut paths: Vec<Path> = logins.iter().filter(|login| account.is(&login.sid)).map(own).collect();
    let told = |login: &&LoginRecord| login.group;
    paths.extend(logins.groups_of(&account).filter(told).map(by));
    paths.sort_by_key(|path| !path.sysadmin);
    Ok(paths)
}

/// Those in a group, with what they may by its login.
fn members(runner: &Runner<'_>, logins: &Logins, group: &str) -> Result<Vec<Path>> {
    let sysadmin = logins.named(group).is_some_and(|login| login.sysadmin);
    let by = |listed: Listed| Path {
        sysadmin: sysadmin || logins.of_sid(&listed.sid).is_some_and(|login| login.sysadmin),
        account: listed.name,
        group: listed.group,
        by: Some(group.to_owned()),
    };
    Ok(runner.info.engine.members_of_group(group)?.into_iter().map(by).collect())
}
