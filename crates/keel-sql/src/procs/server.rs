//! Procedures about the instance and about definitions.

use super::rename::owner_of_part;
use super::{Outcome, number, ok, string};
use crate::catalog::Named;
use crate::config;
use crate::errors;
use crate::functions::{PRODUCT_VERSION, find_seen};
use crate::map::txn_error;
use crate::run::{Argument, Runner};
use crate::views::{INT, NAME};
use keel_parser::to_text::quote_name;
use keel_types::{Length, SqlError, SqlType, Value};
use std::sync::Arc;

/// Options of tables and indexes about what does not exist here (lock granularity, text in row): the object must.
pub(super) fn nothing(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = args.first().and_then(|a| a.value.as_ref()).map(crate::convert::display).unwrap_or_default();
    let table = |name: &str| matches!(find_seen(runner.info, name), Some((_, Named::Table(_))));
    if table(&name) || owner_of_part(runner, &name).is_ok() {
        return ok();
    }
    Err(errors::object_missing(name, runner.info.current_database().name()).into())
}

/// `sp_recompile @objname`: plans of all modules are made anew.
pub(super) fn sp_recompile(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = string(args, "objname", 0).unwrap_or_default();
    if find_seen(runner.info, &name).is_none() {
        return Err(errors::object_missing(name, runner.info.current_database().name()).into());
    }
    runner.info.engine.programs.clear();
    let text = format!("Object '{name}' was successfully marked for recompilation.");
    runner.report(&SqlError::new(15070, 0, 1, text));
    ok()
}

/// `sp_flush_log`: returns when all commits of the current database are durable, here and where its group wants it.
pub(super) fn sp_flush_log(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    let entry = runner.info.current_database();
    entry.store.settle_commits().map_err(|e| txn_error(e, &entry.name(), runner.info.shared.id))?;
    ok()
}

/// `sp_autostats @tblname [, 'ON' | 'OFF']`: whether a table that changes much is sampled again.
pub(super) fn sp_autostats(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = string(args, "tblname", 0).unwrap_or_default();
    let found = match find_seen(runner.info, &name) {
        Some((entry, Named::Table(table))) => Some((entry, table)),
        Some((entry, Named::Module(view))) => view.rows.clone().map(|rows| (entry, rows)),
        _ => None,
    };
    let Some((entry, table)) = found else {
        return Err(errors::object_missing(name, runner.info.current_database().name()).into());
    };
    if string(args, "indname", 2).is_some() {
        return Err(errors::not_supported("sp_autostats of one index: a table is sampled as a whole;").into());
    }
    if let Some(flag) = string(args, "flagc", 1) {
        runner.owner_only()?;
        let on = match flag.trim().to_ascii_uppercase().as_str() {
            "ON" => true,
            "OFF" => false,
            _ => {
                let text = "Usage: sp_autostats <table_name> [, {ON|OFF} [, <index_name>] ]";
                return Err(SqlError::new(17000, 16, 1, text).into());
            }
        };
        runner.in_statement(|runner| runner.set_automatic_statistics(&table, on))?;
        return ok();
    }
    let known = runner.info.engine.statistics.known(&entry.store, &table);
    let taken = known
        .map_or(Value::Null, |k| Value::DateTime(crate::clock::unix_to_local_ticks(k.0.taken_unix_nanos)));
    let keys =
        table.indexes.iter().filter(|i| !i.name.is_empty()).map(|i| (i.name.clone(), i.pages.no_recompute));
    let made = table.statistics.iter().map(|s| (s.name.clone(), s.no_recompute));
    let rows: Vec<_> = keys
        .chain(made)
        .map(|(name, frozen)| {
            let on = if frozen || table.no_auto_statistics { "OFF" } else { "ON" };
            vec![Value::str(format!("[{name}]")), Value::str(on), taken.clone()]
        })
        .collect();
    let columns = [
        ("Index Name", NAME),
        ("AUTOSTATS", SqlType::VarChar(Length::Limited(3))),
        ("Last Updated", SqlType::DateTime),
    ];
    runner.result_set(&columns, &rows)?;
    ok()
}

/// `sp_configure [name [, value]]`
pub(super) fn sp_configure(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    if args.len() > 1 {
        runner.settings_only()?;
        runner.of_the_instance("sp_configure")?;
    }
    let engine = Arc::clone(&runner.info.engine);
    let advanced =
        config::find("show advanced options").is_some_and(|o| engine.configuration(o.id).running != 0);
    let name = string(args, "configname", 0);
    let wanted = match &name {
        None => None,
        Some(name) => {
            let option = config::find(name).filter(|o| advanced || !o.advanced);
            Some(option.ok_or_else(|| errors::no_configuration(name))?)
        }
    };
    if let (Some(option), Some(value)) = (wanted, number(args, "configvalue", 1)) {
        let old = engine.configuration(option.id).configured;
        engine.configure(option, value)?;
        let text = format!(
            "Configuration option '{}' changed from {old} to {value}. Run the RECONFIGURE statement to install.",
            option.name
        );
        runner.report(&SqlError::new(15457, 0, 1, text));
        return ok();
    }
    let shown = config::OPTIONS.iter().filter(|o| match wanted {
        Some(w) => w.id == o.id,
        None => advanced || !o.advanced,
    });
    let rows: Vec<_> = shown
        .map(|o| {
            let v = engine.configuration(o.id);
            let numbers = [o.minimum, o.maximum, v.configured, v.running];
            std::iter::once(Value::str(o.name)).chain(numbers.map(Value::Int)).collect()
        })
        .collect();
    let columns =
        [("name", NAME), ("minimum", INT), ("maximum", INT), ("config_value", INT), ("run_value", INT)];
    runner.result_set(&columns, &rows)?;
    ok()
}

/// `sp_changedbowner @loginame`
pub(super) fn sp_changedbowner(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let login = string(args, "loginame", 0).unwrap_or_default();
    let entry = runner.info.current_database();
    runner.in_statement(|runner| runner.change_owner(&entry, &login))?;
    ok()
}

/// `sp_audit_write @user_defined_event_id, @succeeded, @user_defined_information`: for audits that have USER_DEFINED_AUDIT_GROUP.
pub(super) fn sp_audit_write(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let id = number(args, "user_defined_event_id", 0)
        .ok_or_else(|| errors::bad_parameter("user_defined_event_id"))?;
    let id = i16::try_from(id).map_err(|_| errors::bad_parameter("user_defined_event_id"))?;
    let succeeded = number(args, "succeeded", 1).ok_or_else(|| errors::bad_parameter("succeeded"))? != 0;
    let text = string(args, "user_defined_information", 2).unwrap_or_default();
    runner.info.audit_written(i32::from(id), succeeded, text.chars().take(4000).collect())?;
    ok()
}

/// `sp_addsrvrolemember @loginame, @rolename`
pub(super) fn sp_addsrvrolemember(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    server_role(runner, args, true)
}

/// `sp_dropsrvrolemember @loginame, @rolename`
pub(super) fn sp_dropsrvrolemember(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    server_role(runner, args, false)
}

fn server_role(runner: &mut Runner<'_>, args: &[Argument], add: bool) -> Outcome {
    let login = string(args, "loginame", 0).unwrap_or_default();
    let role = string(args, "rolename", 1).unwrap_or_default();
    runner.change_server_role(&role, &login, add)?;
    ok()
}

/// `sp_addrolemember @rolename, @membername`
pub(super) fn sp_addrolemember(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    database_role(runner, args, "ADD")
}

/// `sp_droprolemember @rolename, @membername`
pub(super) fn sp_droprolemember(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    database_role(runner, args, "DROP")
}

fn database_role(runner: &mut Runner<'_>, args: &[Argument], verb: &str) -> Outcome {
    let role = quote_name(&string(args, "rolename", 0).unwrap_or_default());
    let member = quote_name(&string(args, "membername", 1).unwrap_or_default());
    let text = format!("ALTER ROLE {role} {verb} MEMBER {member}");
    runner.run_dynamic(text.into(), "".into(), &[], &[])?;
    ok()
}

/// The text of a module, of a constraint, or of a computed column.
fn text_of(named: &Named, column: Option<&str>) -> Option<String> {
    match (named, column) {
        (Named::Module(m), None) => Some(m.text.clone()),
        (Named::Bindable(b), None) => Some(b.text.clone()),
        (Named::Table(t), Some(column)) => {
            let column = t.columns.iter().find(|c| crate::views::same(&c.name, column))?;
            column.computed.as_ref().map(|c| c.text.clone())
        }
        (Named::Constraint(t, id), None) => {
            let default =
                t.columns.iter().filter_map(|c| c.default_constraint()).find(|d| d.object_id == *id);
            let check = || t.checks.iter().find(|c| c.object_id == *id).map(|c| c.text.clone());
            default.map(|d| d.text.clone()).or_else(check)
        }
        _ => None,
    }
}

/// `sp_helptext @objname [, @columnname]`: the text, a line a row.
pub(super) fn sp_helptext(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = string(args, "objname", 0).unwrap_or_default();
    let column = string(args, "columnname", 1);
    let found = find_seen(runner.info, &name);
    let Some((entry, named)) = found else {
        let database = runner.info.current_database().name();
        return Err(errors::object_missing(name, database).into());
    };
    let picture = runner.info.seen_picture(&entry);
    let may_read = !matches!(&named, Named::Module(m) if picture.text_of(m).is_none());
    let text = text_of(&named, column.as_deref()).filter(|_| may_read);
    let text = text.ok_or_else(|| errors::no_text(&name))?;
    let rows: Vec<_> = text.split_inclusive('\n').map(|line| vec![Value::str(line)]).collect();
    runner.result_set(&[("Text", SqlType::NVarChar(Length::Limited(255)))], &rows)?;
    ok()
}

/// `xp_msver [@optname]`: the product and the machine it runs on.
pub(super) fn xp_msver(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let wanted = string(args, "optname", 0);
    let (processors, memory) = crate::views::machine_size();
    let all = [
        (1, "ProductName", None, "Evenkeel".to_owned()),
        (2, "ProductVersion", Some(1_048_576), PRODUCT_VERSION.to_owned()),
        (3, "Language", Some(1033), "English (United States)".to_owned()),
        (4, "Platform", None, "NT x64".to_owned()),
        (16, "ProcessorCount", Some(processors), processors.to_string()),
        (19, "PhysicalMemory", Some(memory), format!("{memory} ({})", memory << 20)),
        (20, "ProcessorType", Some(8664), "8664".to_owned()),
    ];
    let rows: Vec<_> = all
        .into_iter()
        .filter(|(_, name, _, _)| wanted.as_deref().is_none_or(|w| w.eq_ignore_ascii_case(name)))
        .map(|(i, name, n, text)| {
            vec![Value::Int(i), Value::str(name), n.map_or(Value::Null, Value::Int), Value::str(text)]
        })
        .collect();
    let columns = [
        ("Index", INT),
        ("Name", NAME),
        ("Internal_Value", INT),
        ("Character_Value", SqlType::NVarChar(Length::Limited(256))),
    ];
    runner.result_set(&columns, &rows)?;
    ok()
}
