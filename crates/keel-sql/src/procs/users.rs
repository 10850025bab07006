//! Users who take their login's password into their database.

use super::{Outcome, ok, string};
use crate::errors;
use crate::run::{Argument, Runner};

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
        runner.info.engine.change_login(&login, |login| login.disabled = true)?;
    }
    ok()
}
