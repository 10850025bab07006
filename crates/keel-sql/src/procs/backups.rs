//! The history of backups: forgetting it.

use super::{Outcome, argument, ok, string};
use crate::backup::history::forget;
use crate::errors;
use crate::run::{Argument, Runner};
use keel_types::{SqlType, Value};

/// `sp_delete_backuphistory @oldest_date`: of all databases, what is older than that.
pub(super) fn sp_delete_backuphistory(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let given = argument(args, "oldest_date", 0).and_then(|a| Some((a.value.as_ref()?, a.ty)));
    let missing = || errors::parameter_missing("sp_delete_backuphistory", "@oldest_date");
    let (value, ty) = given.ok_or_else(missing)?;
    let Value::DateTime(before) = keel_types::cast::convert(value, ty, SqlType::DateTime)? else {
        return Err(missing().into());
    };
    forget(&runner.info.engine, before, None)?;
    ok()
}

/// `sp_delete_database_backuphistory @database_name`.
pub(super) fn sp_delete_database_backuphistory(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let name = string(args, "database_name", 0);
    let missing = || errors::parameter_missing("sp_delete_database_backuphistory", "@database_name");
    forget(&runner.info.engine, i64::MAX, Some(&name.ok_or_else(missing)?))?;
    ok()
}
