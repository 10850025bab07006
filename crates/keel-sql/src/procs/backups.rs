//! The history of backups, and old files of them: forgetting. Names of devices.

use super::{Outcome, argument, number, ok, string};
use crate::backup::history::forget;
use crate::backup::{device_kind, remove_backup, remove_old};
use crate::errors;
use crate::run::{Argument, Runner};
use keel_types::{SqlError, SqlType, Value};
use std::path::Path;

/// `sp_delete_backuphistory @oldest_date`: of all databases, what is older than that.
pub(super) fn sp_delete_backuphistory(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let given = argument(args, "oldest_date", 0).and_then(|a| Some((a.value.as_ref()?, a.ty)));
    let missing = || errors::parameter_missing("sp_delete_backuphistory", "@oldest_date");
    let (value, ty) = given.ok_or_else(missing)?;
    let Value::DateTime(before) = keel_types::cast::convert(value, ty, SqlType::DateTime)? else {
        return Err(missing().into());
    };
    forget(runner.info, before, None)?;
    ok()
}

/// `sp_delete_database_backuphistory @database_name`.
pub(super) fn sp_delete_database_backuphistory(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let name = string(args, "database_name", 0);
    let missing = || errors::parameter_missing("sp_delete_database_backuphistory", "@database_name");
    forget(runner.info, i64::MAX, Some(&name.ok_or_else(missing)?))?;
    ok()
}

/// `xp_delete_file type, directory, extension, before [, 1]`: removes the backups (type 0) of a directory, and of those in it when asked
/// to, that were finished before a time. `xp_delete_file type, file`: that one. Type 1 means reports of maintenance plans, of which there are none.
pub(super) fn xp_delete_file(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let missing = |name: &str| errors::parameter_missing("xp_delete_file", name);
    let directory = string(args, "directory", 1).ok_or_else(|| missing("@directory"))?;
    let extension = string(args, "extension", 2);
    let before = match argument(args, "before", 3).and_then(|a| Some((a.value.as_ref()?, a.ty))) {
        None => runner.info.engine.now_local(),
        Some((value, ty)) => match keel_types::cast::convert(value, ty, SqlType::DateTime2(7))? {
            Value::DateTime(before) => before,
            _ => return Err(missing("@before").into()),
        },
    };
    if number(args, "type", 0).unwrap_or(0) != 0 {
        return ok();
    }
    let below = number(args, "subdirectories", 4) == Some(1);
    let (engine, path) = (&runner.info.engine, Path::new(&directory));
    let removed = match extension {
        Some(extension) => remove_old(engine, path, extension.trim_start_matches('.'), before, below),
        None => remove_backup(engine, path),
    };
    removed.map_err(|e| {
        let text = format!("Error executing extended stored procedure: xp_delete_file: '{directory}': {e}");
        SqlError::new(22049, 16, 1, text)
    })?;
    ok()
}

fn devices_only(runner: &Runner<'_>) -> keel_types::Result<()> {
    runner.of_the_instance("sp_addumpdevice")?;
    let may = runner.info.unrestricted.get() || runner.info.may_on_server("ALTER RESOURCES");
    if may { Ok(()) } else { Err(errors::no_permission("")) }
}

/// `sp_addumpdevice 'disk', name, path`: a name for a file, which `BACKUP … TO name` takes.
pub(super) fn sp_addumpdevice(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    devices_only(runner)?;
    let missing = |name: &str| errors::parameter_missing("sp_addumpdevice", name);
    let kind = string(args, "devtype", 0).ok_or_else(|| missing("@devtype"))?;
    let name = string(args, "logicalname", 1).ok_or_else(|| missing("@logicalname"))?;
    let path = string(args, "physicalname", 2).ok_or_else(|| missing("@physicalname"))?;
    match kind.trim().to_ascii_lowercase().as_str() {
        "disk" => {}
        "tape" => return Err(errors::not_supported("A backup device of the kind TAPE").into()),
        _ => return Err(device_kind(kind).into()),
    }
    runner.info.engine.add_logical_device(name, path)?;
    ok()
}

/// `sp_dropdevice name [, 'DELFILE']`: forgets it, and removes its file, which must be a backup, when asked to.
pub(super) fn sp_dropdevice(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    devices_only(runner)?;
    let name = string(args, "logicalname", 0).unwrap_or_default();
    let and_file = match string(args, "delfile", 1).as_deref().map(str::trim) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("delfile") => true,
        Some(_) => return Err(errors::bad_parameter("delfile").into()),
    };
    let device = runner.info.engine.drop_logical_device(&name)?;
    if and_file {
        let engine = &runner.info.engine;
        let path = crate::backup::default_directory(engine).join(&device.path);
        let told = |e| SqlError::new(22049, 16, 1, format!("Cannot remove '{}': {e}", path.display()));
        remove_backup(engine, &path).map_err(told)?;
    }
    ok()
}
