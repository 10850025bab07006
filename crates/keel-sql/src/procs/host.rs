//! What administrators ask about the machine and the server's own log: the registry's values, the network name, the error log.

use super::{Outcome, argument, number, ok, output, string};
use crate::errors;
use crate::run::{Argument, Runner};
use crate::views::{INT, text};
use keel_types::{Length, SqlError, SqlType, Value};

const WORDS: SqlType = SqlType::NVarChar(Length::Limited(256));

/// Error 15247 for who may not see the server's state.
fn watchers_only(runner: &Runner<'_>) -> keel_types::Result<()> {
    if runner.info.may_on_server("VIEW SERVER PERFORMANCE STATE") {
        Ok(())
    } else {
        Err(errors::no_permission(""))
    }
}

/// `xp_instance_regread @rootkey, @key, @value_name, @value OUTPUT [, 'no_output']`, and `xp_regread`, which differs only where
/// there are several instances: the values that the product keeps there and that mean something here. Another value is not
/// there, which is said (22001) as the product says it.
pub(super) fn xp_regread(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let key = string(args, "key", 1).unwrap_or_default();
    let name = string(args, "value_name", 2).unwrap_or_default();
    let found = registry(runner, &key, &name);
    let at = args.iter().position(|a| a.output);
    let quiet = string(args, "no_output", 4).is_some_and(|s| s.eq_ignore_ascii_case("no_output"));
    match (found, at) {
        (Some(value), Some(at)) => {
            let ty = if matches!(value, Value::Int(_)) { INT } else { WORDS };
            return Ok(output(at, value, ty));
        }
        (Some(value), None) => {
            let shown = if matches!(value, Value::Int(_)) { INT } else { WORDS };
            runner.result_set(&[("Value", WORDS), ("Data", shown)], &[vec![text(name), value]])?;
        }
        (None, _) if !quiet => {
            let said = "RegQueryValueEx() returned error 2, 'The system cannot find the file specified.'";
            runner.report(&SqlError::new(22001, 1, 1, said));
        }
        (None, _) => {}
    }
    ok()
}

/// `xp_instance_regwrite`, `xp_regwrite`: there is no registry, so nothing is written, which is said as of one that the service may not
/// write to.
pub(super) fn xp_regwrite(runner: &mut Runner<'_>, _args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    Err(SqlError::new(22002, 16, 1, "RegCreateKeyEx() returned error 5, 'Access is denied.'").into())
}

/// Names of the values that [`registry`] knows.
const VALUES: [&str; 9] = [
    "AuditLevel",
    "BackupDirectory",
    "DefaultData",
    "DefaultLog",
    "Enabled",
    "LoginMode",
    "NumErrorLogs",
    "SQLPath",
    "TcpPort",
];

/// `xp_instance_regenumvalues @rootkey, @key`, and `xp_regenumvalues`: all values of a key, numbers as texts.
pub(super) fn xp_regenumvalues(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let key = string(args, "key", 1).unwrap_or_default();
    let row = |name: &&str| {
        let value = registry(runner, &key, name)?;
        Some(vec![text(*name), Value::str(crate::convert::display(&value))])
    };
    let rows: Vec<_> = VALUES.iter().filter_map(row).collect();
    if rows.is_empty() {
        let said = "RegOpenKeyEx() returned error 2, 'The system cannot find the file specified.'";
        runner.report(&SqlError::new(22001, 1, 1, said));
        return ok();
    }
    runner.result_set(&[("Value", WORDS), ("Data", WORDS)], &rows)?;
    ok()
}

/// A value of the product's part of the registry, by the end of its key.
fn registry(runner: &Runner<'_>, key: &str, name: &str) -> Option<Value> {
    let options = runner.info.engine.options();
    let key = key.trim_end_matches('\\').to_ascii_lowercase();
    let end = key.rsplit('\\').next().unwrap_or_default();
    let directory = || Some(text(options.data_dir.display().to_string()));
    match (end, name.to_ascii_lowercase().as_str()) {
        // Logins of this server have passwords; there are no others, but clients may send theirs: mixed.
        ("mssqlserver", "loginmode") => Some(Value::Int(2)),
        // Failed logins are written to the error log.
        ("mssqlserver", "auditlevel") => Some(Value::Int(2)),
        ("mssqlserver", "numerrorlogs") => i64::try_from(options.log.archives().len()).ok().map(Value::Int),
        ("mssqlserver", "defaultdata" | "defaultlog") | ("setup", "sqlpath") => directory(),
        ("mssqlserver", "backupdirectory") => {
            let path = crate::backup::default_directory(&runner.info.engine);
            Some(Value::str(path.display().to_string()))
        }
        ("tcp", "enabled") => Some(Value::Int(1)),
        ("np" | "sm", "enabled") => Some(Value::Int(0)),
        ("ipall", "tcpport") => Some(text(runner.info.engine.listening().first()?.port().to_string())),
        _ => None,
    }
}

/// `xp_create_subdir 'directory'`: with those above it; one that is there is none the worse.
pub(super) fn xp_create_subdir(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let missing = || errors::parameter_missing("xp_create_subdir", "@directory");
    let path = string(args, "directory", 0).ok_or_else(missing)?;
    let made = runner.info.engine.options().env.disk.create_dir_all(std::path::Path::new(&path));
    made.map_err(|e| {
        let text = format!("Error executing extended stored procedure: xp_create_subdir: '{path}': {e}");
        SqlError::new(22048, 16, 1, text)
    })?;
    ok()
}

/// `xp_getnetname [@netname OUTPUT [, 1]]`: the machine's name; both forms of it are the same here.
pub(super) fn xp_getnetname(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let server = runner.info.engine.options().server_name.clone();
    let machine = text(server.split('\\').next().unwrap_or_default());
    if let Some(at) = args.iter().position(|a| a.output) {
        return Ok(output(at, machine, WORDS));
    }
    runner.result_set(&[("Server Net Name", WORDS)], &[vec![machine]])?;
    ok()
}

/// `xp_logevent number, 'message' [, 'informational' | 'warning' | 'error']`: an entry of the error log, and nothing to the client.
pub(super) fn xp_logevent(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let missing = |name: &str| errors::parameter_missing("xp_logevent", name);
    let id = number(args, "error_number", 0).ok_or_else(|| missing("@error_number"))?;
    let said = string(args, "message", 1).ok_or_else(|| missing("@message"))?;
    if !LOG_EVENTS.contains(&id) {
        return Err(errors::bad_parameter("error_number").into());
    }
    let severity = match string(args, "severity", 2).unwrap_or_default().trim().to_ascii_lowercase().as_str()
    {
        "" | "informational" => 10,
        "warning" => 11,
        "error" => 16,
        _ => return Err(errors::bad_parameter("severity").into()),
    };
    let log = &runner.info.engine.options().log;
    log.write(&format!("Error: {id}, Severity: {severity}, State: 1."));
    log.write(&said);
    ok()
}

/// Numbers of events of users.
const LOG_EVENTS: std::ops::Range<i64> = 50_001..1_073_741_824;

/// `sp_enumerrorlogs [1]`: the error logs that are kept. 2 asks for the agent's: there is none.
pub(super) fn sp_enumerrorlogs(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    watchers_only(runner)?;
    let mut rows = Vec::new();
    if number(args, "p1", 0).unwrap_or(1) == 1 {
        for (n, path) in runner.info.engine.options().log.archives() {
            let Ok(about) = std::fs::metadata(&path) else { continue };
            let written = about.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
            let nanos = written.map_or(0, |t| i128::try_from(t.as_nanos()).unwrap_or(0));
            let when = Value::DateTime(crate::clock::unix_to_local_ticks(nanos));
            let when = keel_types::cast::to_text(&when, SqlType::DateTime, 120)?;
            let bytes = i64::try_from(about.len()).unwrap_or(i64::MAX);
            rows.push(vec![Value::Int(n.into()), text(when), Value::Int(bytes)]);
        }
    }
    let columns = [("Archive #", INT), ("Date", WORDS), ("Log File Size (Byte)", INT)];
    runner.result_set(&columns, &rows)?;
    ok()
}

/// `sp_readerrorlog [archive [, 1 [, text [, text]]]]` and `xp_readerrorlog`, which takes a time to begin at, one to end at and
/// `asc` or `desc` besides.
pub(super) fn xp_readerrorlog(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    watchers_only(runner)?;
    let archive = number(args, "p1", 0).unwrap_or(0);
    let archives = runner.info.engine.options().log.archives();
    let own = number(args, "p2", 1).unwrap_or(1) == 1;
    let path = archives.into_iter().find(|(n, _)| own && i64::from(*n) == archive).map(|(_, path)| path);
    let Some(read) = path.and_then(|p| std::fs::read(p).ok()) else {
        let said = "xp_readerrorlog() returned error 2, 'The system cannot find the file specified.'";
        return Err(SqlError::new(22004, 16, 1, said).into());
    };
    let log = String::from_utf8_lossy(&read);
    let wanted = [string(args, "p3", 2), string(args, "p4", 3)].map(|w| w.map(|w| w.to_lowercase()));
    let time = |name: &str, at: usize| match argument(args, name, at)?.value.as_ref()? {
        Value::Null => None,
        value => keel_types::cast::convert(value, argument(args, name, at)?.ty, SqlType::DateTime).ok(),
    };
    let (from, to) = (time("p5", 4), time("p6", 5));
    let mut rows: Vec<Vec<Value>> = log.lines().filter_map(entry).collect();
    rows.retain(|row| {
        let said = row[2].as_str().unwrap_or_default().to_lowercase();
        let ticks = |v: &Value| if let Value::DateTime(t) = v { Some(*t) } else { None };
        let after = from.as_ref().and_then(ticks).is_none_or(|f| ticks(&row[0]).is_some_and(|t| t >= f));
        let before = to.as_ref().and_then(ticks).is_none_or(|f| ticks(&row[0]).is_some_and(|t| t <= f));
        wanted.iter().flatten().all(|w| said.contains(w.as_str())) && after && before
    });
    if string(args, "p7", 6).is_some_and(|order| order.trim().eq_ignore_ascii_case("desc")) {
        rows.reverse();
    }
    let columns = [
        ("LogDate", SqlType::DateTime),
        ("ProcessInfo", SqlType::NVarChar(Length::Limited(50))),
        ("Text", crate::views::TEXT),
    ];
    runner.result_set(&columns, &rows)?;
    ok()
}

/// A line of the error log: when, who, what.
fn entry(line: &str) -> Option<Vec<Value>> {
    let (stamp, rest) = line.split_at_checked(22)?;
    let when = keel_types::cast::convert(&text(stamp), WORDS, SqlType::DateTime).ok()?;
    let (who, what) = rest.trim_start().split_once(' ')?;
    Some(vec![when, text(who), text(what.trim_start())])
}
