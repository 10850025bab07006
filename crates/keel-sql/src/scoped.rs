//! ALTER DATABASE SCOPED CONFIGURATION: settings of one database that SQL Server keeps beside those of ALTER DATABASE SET, as
//! `sys.database_scoped_configurations` lists them. Numbers, names and defaults are SQL Server 2022's. MAXDOP, PARAMETER_SNIFFING, OPTIMIZE_FOR_AD_HOC_WORKLOADS and
//! CLEAR PROCEDURE_CACHE act;
//! the others direct an optimizer or caches that are not here, and are checked, remembered and shown.

use crate::catalog::DatabaseSettings;
use keel_parser::ast::{Opt, OptValue};
use keel_types::SqlError;
use keel_types::error::Result;
use serde::{Deserialize, Serialize};

/// What a configuration may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// A whole number from 0 to the given one.
    Number(u32),
    /// ON or OFF.
    Switch,
    /// One of these words.
    Words(&'static [&'static str]),
    /// OFF, or any text.
    Text,
}

/// A configuration that there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    /// `configuration_id`.
    pub id: i32,
    /// `name`.
    pub name: &'static str,
    /// Its values.
    pub domain: Domain,
    /// What it is unless set.
    pub default: Value<'static>,
    /// Whether copies may have a value of their own.
    pub of_copies: bool,
}

/// A value of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number.
    Number(u32),
    /// ON or OFF; a `bit`, as clients of SQL Server expect.
    Switch(bool),
    /// A word or text.
    Text(&'a str),
}

/// What was set, by name in upper case, of the database and where FOR SECONDARY said another value, of its copies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopedSetting {
    /// The database's own value; `None` leaves the default.
    pub primary: Option<ScopedValue>,
    /// That of copies; `None` is the database's own.
    pub secondary: Option<ScopedValue>,
}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopedValue {
    /// A number.
    Number(u32),
    /// ON or OFF.
    Switch(bool),
    /// A word or text.
    Text(String),
}

impl ScopedValue {
    /// The same, borrowed.
    pub(crate) fn shown(&self) -> Value<'_> {
        match self {
            ScopedValue::Number(n) => Value::Number(*n),
            ScopedValue::Switch(on) => Value::Switch(*on),
            ScopedValue::Text(text) => Value::Text(text),
        }
    }
}

/// The name of the one that acts.
pub(crate) const MAX_DOP: &str = "MAXDOP";
/// Its name.
const SNIFFING: &str = "PARAMETER_SNIFFING";
/// Its name.
const AD_HOC_WORKLOADS: &str = "OPTIMIZE_FOR_AD_HOC_WORKLOADS";

const ELEVATE: Domain = Domain::Words(&["OFF", "WHEN_SUPPORTED", "FAIL_UNSUPPORTED"]);
const OFF: Value<'static> = Value::Text("OFF");

const fn number(id: i32, name: &'static str, most: u32, default: u32) -> Configuration {
    let default = Value::Number(default);
    Configuration { id, name, domain: Domain::Number(most), default, of_copies: false }
}

const fn switch(id: i32, name: &'static str, on: bool) -> Configuration {
    Configuration { id, name, domain: Domain::Switch, default: Value::Switch(on), of_copies: false }
}

const fn off(id: i32, name: &'static str, domain: Domain) -> Configuration {
    Configuration { id, name, domain, default: OFF, of_copies: false }
}

const fn of_copies(mut configuration: Configuration) -> Configuration {
    configuration.of_copies = true;
    configuration
}

/// All of them, by their numbers.
#[rustfmt::skip]
pub(crate) static CONFIGURATIONS: &[Configuration] = &[
    of_copies(number(1, MAX_DOP, i16::MAX as u32, 0)),
    of_copies(switch(2, "LEGACY_CARDINALITY_ESTIMATION", false)),
    of_copies(switch(3, "PARAMETER_SNIFFING", true)),
    of_copies(switch(4, "QUERY_OPTIMIZER_HOTFIXES", false)),
    switch(6, "IDENTITY_CACHE", true),
    switch(7, "INTERLEAVED_EXECUTION_TVF", true),
    switch(8, "BATCH_MODE_MEMORY_GRANT_FEEDBACK", true),
    switch(9, "BATCH_MODE_ADAPTIVE_JOINS", true),
    switch(10, "TSQL_SCALAR_UDF_INLINING", true),
    off(11, "ELEVATE_ONLINE", ELEVATE),
    off(12, "ELEVATE_RESUMABLE", ELEVATE),
    switch(13, AD_HOC_WORKLOADS, false),
    switch(14, "XTP_PROCEDURE_EXECUTION_STATISTICS", false),
    switch(15, "XTP_QUERY_EXECUTION_STATISTICS", false),
    switch(16, "ROW_MODE_MEMORY_GRANT_FEEDBACK", true),
    switch(17, "ISOLATE_SECURITY_POLICY_CARDINALITY", false),
    switch(18, "BATCH_MODE_ON_ROWSTORE", true),
    switch(19, "DEFERRED_COMPILATION_TV", true),
    switch(20, "ACCELERATED_PLAN_FORCING", true),
    switch(21, "GLOBAL_TEMPORARY_TABLE_AUTO_DROP", true),
    switch(22, "LIGHTWEIGHT_QUERY_PROFILING", true),
    switch(23, "VERBOSE_TRUNCATION_WARNINGS", true),
    switch(24, "LAST_QUERY_PLAN_STATS", false),
    number(25, "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES", 71_582, 1440),
    switch(27, "EXEC_QUERY_STATS_FOR_SCALAR_FUNCTIONS", true),
    switch(28, "PARAMETER_SENSITIVE_PLAN_OPTIMIZATION", true),
    switch(29, "ASYNC_STATS_UPDATE_WAIT_AT_LOW_PRIORITY", false),
    switch(31, "CE_FEEDBACK", true),
    switch(33, "MEMORY_GRANT_FEEDBACK_PERSISTENCE", true),
    switch(34, "MEMORY_GRANT_FEEDBACK_PERCENTILE_GRANT", true),
    switch(35, "OPTIMIZED_PLAN_FORCING", true),
    switch(37, "DOP_FEEDBACK", false),
    off(38, "LEDGER_DIGEST_STORAGE_ENDPOINT", Domain::Text),
    switch(39, "FORCE_SHOWPLAN_RUNTIME_PARAMETER_COLLECTION", false),
    // Of the product's next version, whose number for it could not be looked up; its functions are there without it.
    switch(48, "PREVIEW_FEATURES", false),
];

impl Configuration {
    /// What was set; `None` where the statement says PRIMARY. Error 102 where it is no value of this configuration.
    fn value(&self, option: &Opt, for_secondary: bool) -> Result<Option<ScopedValue>> {
        let word = option.value.text().map(str::to_ascii_uppercase);
        if for_secondary && word.as_deref() == Some("PRIMARY") {
            return Ok(None);
        }
        let value = match (self.domain, &option.value) {
            (Domain::Switch, OptValue::On) => Some(ScopedValue::Switch(true)),
            (Domain::Switch, OptValue::Off) => Some(ScopedValue::Switch(false)),
            (Domain::Number(most), value) => {
                let fits = value.number().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= most);
                fits.map(ScopedValue::Number)
            }
            (Domain::Words(words), _) => word.filter(|w| words.contains(&w.as_str())).map(ScopedValue::Text),
            (Domain::Text, value) => value.text().map(|text| ScopedValue::Text(text.to_owned())),
            (Domain::Switch, _) => None,
        };
        value.map(Some).ok_or_else(|| near(self.name))
    }

    /// What holds in a database, and in its copies where they have a value of their own.
    pub(crate) fn in_force<'a>(&self, settings: &'a DatabaseSettings) -> (Value<'a>, Option<Value<'a>>) {
        let set = settings.scoped.get(self.name);
        let primary = set.and_then(|s| s.primary.as_ref()).map_or(self.default, ScopedValue::shown);
        (primary, set.and_then(|s| s.secondary.as_ref()).map(ScopedValue::shown))
    }
}

/// Sets what a statement says, and answers the configuration where it now is another than its default and does nothing.
///
/// # Errors
/// 102 where there is no such configuration, where copies cannot have their own, and where the value is none of its.
pub(crate) fn set(
    settings: &mut DatabaseSettings,
    option: &Opt,
    for_secondary: bool,
) -> Result<Option<&'static str>> {
    let known = CONFIGURATIONS.iter().find(|c| c.name == option.name && (c.of_copies || !for_secondary));
    let known = known.ok_or_else(|| near(&option.name))?;
    let value = known.value(option, for_secondary)?;
    let acts = [MAX_DOP, SNIFFING, AD_HOC_WORKLOADS].contains(&known.name);
    let idle = !acts && value.as_ref().is_some_and(|v| v.shown() != known.default);
    let kept = settings.scoped.entry(known.name.to_owned()).or_default();
    *if for_secondary { &mut kept.secondary } else { &mut kept.primary } = value;
    if kept.secondary.is_none() && kept.primary.as_ref().is_none_or(|v| v.shown() == known.default) {
        settings.scoped.remove(known.name);
    }
    Ok(idle.then_some(known.name))
}

/// MAXDOP of a database, or of its copies; 0 leaves it to the instance.
pub(crate) fn max_dop(settings: &DatabaseSettings, copy: bool) -> Option<u16> {
    let set = settings.scoped.get(MAX_DOP)?;
    match set.secondary.as_ref().filter(|_| copy).or(set.primary.as_ref())? {
        ScopedValue::Number(n) => u16::try_from(*n).ok(),
        ScopedValue::Switch(_) | ScopedValue::Text(_) => None,
    }
}

/// OPTIMIZE_FOR_AD_HOC_WORKLOADS of a database.
pub(crate) fn keeps_stubs(settings: &DatabaseSettings) -> bool {
    let set = settings.scoped.get(AD_HOC_WORKLOADS);
    matches!(set.and_then(|set| set.primary.as_ref()), Some(ScopedValue::Switch(true)))
}

/// PARAMETER_SNIFFING of a database, or of its copies.
pub(crate) fn sniffs_parameters(settings: &DatabaseSettings, copy: bool) -> bool {
    let Some(set) = settings.scoped.get(SNIFFING) else { return true };
    let own = set.secondary.as_ref().filter(|_| copy).or(set.primary.as_ref());
    !matches!(own, Some(ScopedValue::Switch(false)))
}

fn near(word: &str) -> Box<SqlError> {
    SqlError::new(102, 15, 1, format!("Incorrect syntax near '{word}'."))
}
