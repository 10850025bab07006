//! The options of both statements, looked at before anything is done.

use super::url::{self, is_url};
use super::{encryption, errors};
use crate::engine::Restoring;
use crate::errors as sql_errors;
use crate::hadr::lsn::{from_number, to_number};
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_base::Lsn;
use keel_node::backup::{FAMILIES_MAX, SetKey};
use keel_parser::ast::{self, DeviceName, NameOrVariable, OptValue};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

/// Where restoring ends before the end of the log.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// STOPAT: local ticks.
    Time(i64),
    /// At a marked transaction.
    Mark {
        name: String,
        /// AFTER: local ticks.
        after: Option<i64>,
        /// STOPATMARK takes it, STOPBEFOREMARK does not.
        inclusive: bool,
    },
    /// At the transaction that has a position of the log.
    Position { at: Lsn, inclusive: bool },
}

impl Stop {
    pub(super) fn time(&self) -> Option<i64> {
        if let Stop::Time(at) = self { Some(*at) } else { None }
    }

    /// Of the mark, as it was given.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Stop::Time(_) => None,
            Stop::Mark { name, .. } => Some(name.clone()),
            Stop::Position { at, .. } => Some(format!("lsn:{}", to_number(at.0))),
        }
    }

    /// STOPBEFOREMARK.
    pub(super) fn ends_before(&self) -> bool {
        matches!(self, Stop::Mark { inclusive: false, .. } | Stop::Position { inclusive: false, .. })
    }

    fn mark(text: &str, after: Option<i64>, inclusive: bool) -> Result<Stop> {
        let Some(("lsn", number)) = text.split_once(':').filter(|_| after.is_none()) else {
            return Ok(Stop::Mark { name: text.to_owned(), after, inclusive });
        };
        let at = number.trim().parse().ok().and_then(from_number).ok_or_else(errors::no_such_lsn)?;
        Ok(Stop::Position { at: Lsn(at), inclusive })
    }
}

/// What is asked for, by either statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    /// INIT or FORMAT: the file is begun anew.
    pub init: bool,
    /// SKIP or FORMAT: whether or not it is to be kept.
    pub skip: bool,
    /// The files are begun anew, whatever they are.
    pub format: bool,
    /// COMPRESSION, or what `sp_configure` says.
    pub compress: Option<bool>,
    pub copy_only: bool,
    pub differential: bool,
    pub name: Option<String>,
    pub description: Option<String>,
    pub encryption: Option<encryption::Wanted>,
    /// The set's key, made before anything is written over.
    pub key: Option<(SetKey, encryption::Encryption)>,
    /// RETAINDAYS.
    pub retain_days: i64,
    /// EXPIREDATE: local ticks.
    pub expires: Option<i64>,
    /// RESTRICTED_USER: who may use the database once it is recovered.
    pub restricted: bool,
    /// STATS: a word at each so many percent; 0 for none.
    pub stats: u64,
    /// FILE: which set, from 1.
    pub file: Option<i64>,
    pub replace: bool,
    /// NORECOVERY, STANDBY: what the database is afterwards.
    pub leaves: Restoring,
    /// STOPAT, STOPATMARK, STOPBEFOREMARK.
    pub stop: Option<Stop>,
    /// Logical names of MOVE.
    pub moved: Vec<String>,
    /// CREDENTIAL: with which URLs are reached.
    pub credential: Option<String>,
    /// BACKUP_OPTIONS, RESTORE_OPTIONS: where a storage is said to be.
    pub region: Option<String>,
    /// MAXTRANSFERSIZE: bytes of an object's parts. Files on disks are written as they come.
    pub max_transfer: Option<i64>,
}

/// Taken, because what they say is so anyway or concerns tapes and buffers that are not here.
const IDLE: &[&str] = &[
    "BUFFERCOUNT",
    "MEDIANAME",
    "MEDIADESCRIPTION",
    "REWIND",
    "NOREWIND",
    "UNLOAD",
    "NOUNLOAD",
    "NOFORMAT",
    "NOINIT",
    "NOSKIP",
    // Every frame has a checksum, and every one is checked.
    "CHECKSUM",
    "NO_CHECKSUM",
    "STOP_ON_ERROR",
    "RESTART",
];
const IDLE_RESTORING: &[&str] = &[
    "KEEP_REPLICATION",
    "KEEP_CDC",
    "ENABLE_BROKER",
    "ERROR_BROKER_CONVERSATIONS",
    "NEW_BROKER",
    "LOADHISTORY",
];
/// Known, and not here.
const MISSING: &[&str] = &["FILE_SNAPSHOT", "PARTIAL", "CONTINUE_AFTER_ERROR", "METADATA_ONLY", "SNAPSHOT"];
const STATS_DEFAULT: u64 = 10;

/// BLOCKSIZE has to be one that the product takes, and is of no use: there are no blocks in the file's form. Errors 3217 and 3253.
fn block_size(said: Option<i64>) -> Result<()> {
    let bytes = said.and_then(|n| u64::try_from(n).ok()).ok_or_else(|| errors::bad_value("BLOCKSIZE"))?;
    match bytes {
        n if !n.is_power_of_two() => Err(errors::block_size()),
        512..=65_536 => Ok(()),
        _ => Err(errors::bad_value("BLOCKSIZE")),
    }
}

/// A time as STOPAT and EXPIREDATE give it: local ticks.
fn time_of(text: Option<&str>, option: &str) -> Result<i64> {
    let value = Value::str(text.unwrap_or_default());
    match keel_types::cast::convert(&value, SqlType::NVarChar(Length::Max), SqlType::DateTime2(7))? {
        Value::DateTime(ticks) => Ok(ticks),
        _ => Err(errors::no_option(option, "RESTORE")),
    }
}

impl Runner<'_> {
    /// The text of a name, a string or a variable.
    fn backup_text(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        variable: &ast::Variable,
    ) -> Result<String> {
        let kind = ast::ExprKind::Variable(variable.name.clone());
        let expr = ast::Expr { kind, span: variable.span };
        let value = self.value(program, frame, &expr, Some(SqlType::NVarChar(Length::Max)))?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    pub(super) fn backup_database_name(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        name: &NameOrVariable,
    ) -> Result<String> {
        match name {
            NameOrVariable::Name(name) => Ok(name.text.to_string()),
            NameOrVariable::Variable(variable) => self.backup_text(program, frame, variable),
        }
    }

    /// The paths of the devices.
    pub(super) fn backup_devices(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        devices: &[ast::BackupDevice],
    ) -> Result<Vec<String>> {
        if devices.len() > FAMILIES_MAX {
            return Err(errors::too_many_devices());
        }
        let devices: Vec<String> =
            devices.iter().map(|device| self.backup_device(program, frame, device)).collect::<Result<_>>()?;
        if devices.iter().any(|device| is_url(device)) && !devices.iter().all(|device| is_url(device)) {
            return Err(sql_errors::not_supported("A backup set on disks and URLs"));
        }
        Ok(devices)
    }

    fn backup_device(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        device: &ast::BackupDevice,
    ) -> Result<String> {
        let kind = device.kind.as_deref().unwrap_or("DISK");
        if !matches!(kind, "DISK" | "URL") {
            return Err(sql_errors::not_supported(format!("A backup device of the kind {kind}")));
        }
        let name = match &device.name {
            DeviceName::Text(text) => text.to_string(),
            DeviceName::Variable(variable) => self.backup_text(program, frame, variable)?,
            DeviceName::Logical(name) => {
                let known = self.info.engine.logical_device(&name.text)?;
                known.ok_or_else(|| errors::no_device(&name.text))?.path
            }
        };
        match (kind == "URL", is_url(&name)) {
            (true, false) => Err(sql_errors::not_supported(format!(
                "The URL '{name}', which begins with neither s3:// nor https://,"
            ))),
            // Where a name leads is seen from it from here on.
            (false, true) => Err(errors::cannot_open(
                name,
                "123(The filename, directory name, or volume label syntax is incorrect.)",
            )),
            _ => Ok(name),
        }
    }

    pub(super) fn backup_options(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        options: &[ast::Opt],
        statement: &str,
    ) -> Result<Options> {
        let mut found = Options::default();
        let (restores, ends) = (!statement.starts_with("BACKUP"), statement == "BACKUP LOG");
        for option in options {
            let text = match &option.value {
                OptValue::Variable(variable) => Some(self.backup_text(program, frame, variable)?),
                value => value.text().map(str::to_owned),
            };
            let number = option.value.number().or_else(|| text.as_deref()?.trim().parse().ok());
            match option.name.as_str() {
                "INIT" if !restores => found.init = true,
                "FORMAT" if !restores => (found.init, found.skip, found.format) = (true, true, true),
                "SKIP" if !restores => found.skip = true,
                "COMPRESSION" if !restores => found.compress = Some(true),
                "NO_COMPRESSION" if !restores => found.compress = Some(false),
                "COPY_ONLY" if !restores => found.copy_only = true,
                "DIFFERENTIAL" if statement == "BACKUP" => found.differential = true,
                "DIFFERENTIAL" if !restores => return Err(errors::not_for_this("differential")),
                "ENCRYPTION" if !restores => found.encryption = Some(encryption::Wanted::of(&option.value)?),
                "NAME" if !restores => found.name = text,
                "DESCRIPTION" if !restores => found.description = text,
                "EXPIREDATE" if !restores => found.expires = Some(time_of(text.as_deref(), "EXPIREDATE")?),
                // What it is for, a database whose files are damaged, is no other here: the log is by itself.
                "NO_TRUNCATE" if ends => found.copy_only = true,
                "RESTRICTED_USER" if restores => found.restricted = true,
                "RETAINDAYS" if !restores => found.retain_days = number.unwrap_or(0),
                "STATS" => {
                    found.stats = number.and_then(|n| n.try_into().ok()).unwrap_or(STATS_DEFAULT).min(100)
                }
                "CREDENTIAL" => found.credential = text,
                "BLOCKSIZE" => block_size(number)?,
                "MAXTRANSFERSIZE" => found.max_transfer = number.or(Some(0)),
                name @ "BACKUP_OPTIONS" if !restores => found.region = url::region(text.as_deref(), name)?,
                name @ "RESTORE_OPTIONS" if restores => found.region = url::region(text.as_deref(), name)?,
                "FILE" if restores => found.file = number,
                "REPLACE" if restores => found.replace = true,
                "RECOVERY" if restores => {}
                "NORECOVERY" if restores || ends => found.leaves = Restoring::Closed,
                // The file is for what the product undoes; here nothing is, so none is made.
                "STANDBY" if (restores || ends) && text.as_deref().is_some_and(|t| !t.trim().is_empty()) => {
                    found.leaves = Restoring::Standby;
                }
                "MOVE" if restores => found.moved.extend(self.moved_name(program, frame, &option.value)?),
                name if IDLE.contains(&name) || restores && IDLE_RESTORING.contains(&name) => {}
                "STOPAT" if restores => found.stop = Some(Stop::Time(time_of(text.as_deref(), "STOPAT")?)),
                "STOPATMARK" | "STOPBEFOREMARK" if restores => {
                    found.stop = Some(self.stop_mark(program, frame, option)?);
                }
                name if MISSING.contains(&name) => {
                    return Err(sql_errors::not_supported(format!("{statement} WITH {name}")));
                }
                name => return Err(errors::no_option(name, statement)),
            }
        }
        // As the product does: a differential backup moves nothing anyway.
        found.copy_only &= !found.differential;
        let both = |a: &str, b: &str| {
            let has = |name: &str| options.iter().any(|option| option.name == name);
            has(a) && has(b)
        };
        for (one, other) in [("RECOVERY", "NORECOVERY"), ("STANDBY", "RECOVERY"), ("STANDBY", "NORECOVERY")] {
            if both(one, other) {
                return Err(errors::conflicting(one, other));
            }
        }
        Ok(found)
    }

    /// `STOPATMARK = 'name' AFTER 'time'`, `STOPBEFOREMARK = 'lsn:…'`.
    fn stop_mark(&mut self, program: &Arc<Program>, frame: &mut Frame, option: &ast::Opt) -> Result<Stop> {
        let no_option = || errors::no_option(&option.name, "RESTORE");
        let mut text = |value: &OptValue| match value {
            OptValue::Variable(variable) => self.backup_text(program, frame, variable),
            value => value.text().map(str::to_owned).ok_or_else(no_option),
        };
        let (mark, after) = match &option.value {
            OptValue::List(pair) => match &pair[..] {
                [mark, after] => (text(&mark.value)?, Some(time_of(Some(&text(&after.value)?), "AFTER")?)),
                _ => return Err(no_option()),
            },
            value => (text(value)?, None),
        };
        Stop::mark(&mark, after, option.name == "STOPATMARK")
    }

    /// The logical name of `MOVE 'name' TO 'path'`. The path is not looked at: a database is a directory of the instance's.
    fn moved_name(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        value: &OptValue,
    ) -> Result<Option<String>> {
        let OptValue::List(pair) = value else { return Ok(None) };
        let Some(from) = pair.first() else { return Ok(None) };
        match &from.value {
            OptValue::Variable(variable) => self.backup_text(program, frame, variable).map(Some),
            _ => Ok(Some(from.name.to_string())),
        }
    }
}
