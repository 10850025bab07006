//! ALTER DATABASE … SET QUERY_STORE: the options of a database's Query Store, and CLEAR. What it does is in [`crate::query_store`].

use crate::engine::{DatabaseEntry, MASTER, TEMPDB};
use crate::errors::alter_database_failed;
use crate::query_store::{CaptureMode, CapturePolicy, QueryStoreSettings, Wanted};
use crate::run::Runner;
use keel_parser::ast::{Opt, OptValue};
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

/// The option.
pub(super) const OPTION: &str = "QUERY_STORE";
/// Removes what was recorded.
pub(super) const CLEAR: &str = "QUERY_STORE CLEAR";
/// Hours of a STALE_CAPTURE_POLICY_THRESHOLD.
const STALE_HOURS: std::ops::RangeInclusive<i64> = 1..=7 * 24;

fn error(number: i32, severity: u8, state: u8, text: String) -> Box<SqlError> {
    SqlError::new(number, severity, state, text)
}

fn near(word: &str) -> Box<SqlError> {
    error(102, 15, 1, format!("Incorrect syntax near '{word}'."))
}

/// 153
fn invalid(option: &str, severity: u8, state: u8) -> Box<SqlError> {
    error(
        153,
        severity,
        state,
        format!("Invalid usage of the option {option} in the ALTER DATABASE statement."),
    )
}

/// The same option twice: error 12401.
fn check_repeated(options: &[Opt]) -> Result<()> {
    for (at, option) in options.iter().enumerate() {
        if options[..at].iter().any(|o| o.name == option.name) {
            let text = format!(
                "The QUERY_STORE option '{}' was specified more than once. Each option can be specified only once.",
                option.name.to_ascii_lowercase()
            );
            return Err(error(12401, 15, 2, text));
        }
    }
    Ok(())
}

/// A whole number that is not negative.
fn number(option: &Opt) -> Result<i32> {
    let number = match &option.value {
        OptValue::Number(_) => option.value.number(),
        _ => None,
    };
    let fits = number.and_then(|n| i32::try_from(n).ok()).filter(|n| *n >= 0);
    fits.ok_or_else(|| near(&option.name))
}

/// One of some words.
fn word<T: Copy>(option: &Opt, words: &[(T, &'static str)]) -> Result<T> {
    let said = option.value.text().unwrap_or_default();
    let known = words.iter().find(|(_, word)| word.eq_ignore_ascii_case(said));
    known
        .map(|(value, _)| *value)
        .ok_or_else(|| near(if said.is_empty() { option.name.as_str() } else { said }))
}

fn set(settings: &mut QueryStoreSettings, option: &Opt) -> Result<()> {
    match (option.name.as_str(), &option.value) {
        ("OPERATION_MODE", _) => settings.wanted = word(option, &Wanted::ALL[1..])?,
        ("CLEANUP_POLICY", OptValue::List(details)) => {
            check_repeated(details)?;
            for detail in details {
                match detail.name.as_str() {
                    "STALE_QUERY_THRESHOLD_DAYS" => settings.stale_days = number(detail)?,
                    name => return Err(near(name)),
                }
            }
        }
        ("DATA_FLUSH_INTERVAL_SECONDS", _) => {
            let seconds = number(option)?;
            if seconds < 60 {
                return Err(invalid("flush_interval_seconds", 15, 5));
            }
            settings.flush_seconds = seconds;
        }
        ("MAX_STORAGE_SIZE_MB", _) => settings.size_mb_max = number(option)?,
        ("INTERVAL_LENGTH_MINUTES", _) => {
            let minutes = number(option)?;
            if !QueryStoreSettings::INTERVALS.contains(&minutes) {
                return Err(invalid("interval_length_minutes", 16, 6));
            }
            settings.interval_minutes = minutes;
        }
        ("SIZE_BASED_CLEANUP_MODE", _) => {
            settings.cleans_by_size = word(option, &[(true, "AUTO"), (false, "OFF")])?
        }
        ("QUERY_CAPTURE_MODE", _) => settings.capture = word(option, &CaptureMode::ALL)?,
        ("MAX_PLANS_PER_QUERY", _) => settings.plans_max = number(option)?,
        ("WAIT_STATS_CAPTURE_MODE", _) => settings.waits = word(option, &[(true, "ON"), (false, "OFF")])?,
        ("QUERY_CAPTURE_POLICY", OptValue::List(details)) => set_policy(&mut settings.policy, details)?,
        (name, _) => return Err(near(name)),
    }
    Ok(())
}

fn set_policy(policy: &mut CapturePolicy, details: &[Opt]) -> Result<()> {
    check_repeated(details)?;
    for detail in details {
        let positive = |name: &str, state: u8| match number(detail)? {
            0 => {
                let text = format!(
                    "The value 0 is not valid for query_capture_policy option {name}. The value must be between 1 and 2147483647."
                );
                Err(error(12452, 15, state, text))
            }
            n => Ok(n),
        };
        match detail.name.as_str() {
            "EXECUTION_COUNT" => policy.executions = positive("execution_count", 1)?,
            "TOTAL_COMPILE_CPU_TIME_MS" => policy.compile_ms = positive("total_compile_cpu_time_ms", 1)?,
            "TOTAL_EXECUTION_CPU_TIME_MS" => {
                policy.execution_ms = positive("total_execution_cpu_time_ms", 2)?
            }
            "STALE_CAPTURE_POLICY_THRESHOLD" => policy.stale_hours = stale_hours(detail)?,
            name => return Err(near(name)),
        }
    }
    Ok(())
}

/// Hours or days: error 12453 when it is less than one or more than seven days.
fn stale_hours(option: &Opt) -> Result<i32> {
    let OptValue::Measure(_, unit) = &option.value else { return Err(near(&option.name)) };
    let hours_of_unit = match unit.to_ascii_uppercase().as_str() {
        "HOUR" | "HOURS" => 1,
        "DAY" | "DAYS" => 24,
        _ => return Err(near(&option.name)),
    };
    let hours = option.value.number().unwrap_or(0).saturating_mul(hours_of_unit);
    if !STALE_HOURS.contains(&hours) {
        let text = "Invalid value provided for query_capture_policy option stale_capture_policy_threshold. The value must be between 1 hour and 7 days.";
        return Err(error(12453, 16, 1, text.to_owned()));
    }
    Ok(hours as i32)
}

/// What an option makes of settings.
fn changed(now: &QueryStoreSettings, option: &Opt) -> Result<QueryStoreSettings> {
    let mut then = now.clone();
    let (switches_on, details) = match &option.value {
        OptValue::Off => {
            then.wanted = Wanted::Off;
            return Ok(then);
        }
        OptValue::On => (true, &[][..]),
        OptValue::WordList(word, details) if word.is("ON") => (true, &details[..]),
        OptValue::List(details) => (false, &details[..]),
        _ => return Err(near(OPTION)),
    };
    check_repeated(details)?;
    if switches_on {
        then.wanted = Wanted::ReadWrite;
    }
    for detail in details {
        set(&mut then, detail)?;
    }
    // A list by itself switches nothing on.
    if !switches_on && now.wanted == Wanted::Off {
        then.wanted = Wanted::Off;
    }
    Ok(then)
}

impl Runner<'_> {
    /// The Query Store's settings as options change them; `None` when they are about something else.
    pub(super) fn query_store_settings(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        options: &[Opt],
    ) -> Result<Option<QueryStoreSettings>> {
        let mut about = options.iter().filter(|o| o.name == OPTION);
        let Some(option) = about.next() else { return Ok(None) };
        if about.next().is_some() {
            let text = "Only one Query Store option can be given in ALTER DATABASE statement.";
            return Err(error(12417, 16, 1, text.to_owned()));
        }
        let now = entry.picture().settings().query_store.clone().unwrap_or_default();
        let mut then = changed(&now, option)?;
        self.may_have_query_store(entry)?;
        if then.wanted != Wanted::Off && then.tree.is_none() {
            then.tree = Some(entry.allocate_tree()?);
        }
        Ok(Some(then))
    }

    /// A new database has a store of its own where `model` has one that is on.
    pub(super) fn begin_query_store(&mut self, database: &str) -> Result<()> {
        let Some(entry) = self.info.find_database(database) else { return Ok(()) };
        let is_on = |s: &QueryStoreSettings| s.wanted != Wanted::Off && s.tree.is_none();
        if !entry.picture().settings().query_store.as_ref().is_some_and(is_on) {
            return Ok(());
        }
        let tree = entry.allocate_tree()?;
        entry.change_settings(|settings| {
            if let Some(store) = &mut settings.query_store {
                store.tree = Some(tree);
            }
            Ok(())
        })?;
        self.info.engine.follow_query_stores();
        Ok(())
    }

    /// Errors 12438 and 5069 for databases that have none.
    fn may_have_query_store(&self, entry: &DatabaseEntry) -> Result<()> {
        if entry.id != MASTER && entry.id != TEMPDB {
            return Ok(());
        }
        let text = format!(
            "Cannot perform action because Query Store cannot be enabled on system database {}.",
            entry.name()
        );
        self.info.say(error(12438, 16, 1, text));
        Err(alter_database_failed())
    }

    /// CLEAR.
    pub(super) fn clear_query_store(&mut self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        self.may_have_query_store(entry)?;
        if !crate::query_store::is_written(entry) {
            return Err(crate::errors::database_read_only(entry.name()));
        }
        self.info.add_up();
        crate::query_store::clear(&self.info.engine, entry)
    }
}
