//! Users who take their login's password into their database; application roles.

use super::{Outcome, argument, number, ok, output, string};
use crate::errors;
use crate::run::{Argument, Runner};
use keel_types::{Length, SqlType, Value};

/// `sp_migrate_user_to_contained @username, @rename, @disablelogin`: a user of a login becomes one who logs in to the database with
/// the same password, so that it goes where the database goes.
pub(super) fn sp_migrate_user_to_contained(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = string(args, "username", 0).ok_or_else(|| errors::bad_parameter("username"))?;
    let rename = match string(args, "rename", 1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "keep_name" => false,
        "copy_login_name" => true,
        _ => return Err(errors::bad_parameter("rename").into()),
    };
    let disable = match string(args, "disablelogin", 2).unwrap_or_default().to_ascii_lowercase().as_str() {
        "do_not_disable_login" => false,
        "disable_login" => true,
        _ => return Err(errors::bad_parameter("disablelogin").into()),
    };
    let login = runner.in_statement(|runner| runner.contain_user(&name, rename))?;
    if disable {
        runner.info.master()?.change_login(&login, |login| login.disabled = true)?;
    }
    ok()
}

/// `sp_setapprole @rolename, @password, @encrypt, @fCreateCookie, @cookie OUTPUT`: the session becomes an application role.
pub(super) fn sp_setapprole(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = string(args, "rolename", 0).ok_or_else(|| errors::bad_parameter("rolename"))?;
    let password = string(args, "password", 1).unwrap_or_default();
    let cookie = runner.set_application_role(&name, &password)?;
    let at = args.iter().position(|a| a.output);
    match at.filter(|_| number(args, "fCreateCookie", 3).is_some_and(|wanted| wanted != 0)) {
        Some(at) => Ok(output(at, Value::bytes(cookie), SqlType::VarBinary(Length::Limited(8000)))),
        None => ok(),
    }
}

/// `sp_unsetapprole @cookie`: the session is again who it was before `sp_setapprole` gave that cookie.
pub(super) fn sp_unsetapprole(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let cookie = argument(args, "cookie", 0).and_then(|a| a.value.as_ref()?.as_bytes().map(<[u8]>::to_vec));
    let cookie = cookie.ok_or_else(errors::no_application_role_set)?;
    runner.info.revert(Some(&cookie)).map_err(|_| errors::no_application_role_set())?;
    ok()
}
