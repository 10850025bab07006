//! Audits and specifications as they are kept: audits and server specifications in master, database specifications in their database.

use super::catalog::Group;
use crate::events::predicate::Predicate;
use serde::{Deserialize, Serialize};

/// A uniqueidentifier as it is stored.
pub type Guid = [u8; 16];

/// Bytes of `MAXSIZE = UNLIMITED`.
pub const SIZE_UNLIMITED: u64 = u64::MAX;
/// `MAX_ROLLOVER_FILES = UNLIMITED`
pub const ROLLOVER_UNLIMITED: u32 = i32::MAX as u32;

/// A server audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditDef {
    /// `audit_id`
    pub id: i32,
    /// Its name.
    pub name: String,
    /// `audit_guid`
    pub guid: Guid,
    /// Who made it: a login's number.
    pub principal: i32,
    /// Where records go.
    pub to: Destination,
    /// QUEUE_DELAY in milliseconds; 0 waits for the disk.
    pub queue_delay_ms: i32,
    /// ON_FAILURE.
    pub on_failure: OnFailure,
    /// WHERE, and how it was written.
    pub predicate: Option<(Predicate, String)>,
    /// STATE = ON.
    pub on: bool,
    /// Create date, local ticks.
    pub created: i64,
    /// Last change, local ticks.
    pub modified: i64,
}

/// Where the records of an audit go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Destination {
    /// TO FILE
    File {
        /// FILEPATH as it was written.
        path: String,
        /// MAXSIZE in bytes.
        size_max: u64,
        /// MAX_ROLLOVER_FILES: so many files are kept besides the one that is written to.
        rollover: u32,
        /// MAX_FILES: no more are made; 0 when it is not set.
        files_max: u32,
        /// RESERVE_DISK_SPACE
        reserve: bool,
    },
    /// TO APPLICATION_LOG: lines of the error log.
    ErrorLog,
}

/// ON_FAILURE: what happens when a record cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnFailure {
    /// CONTINUE: the record is lost.
    #[default]
    Continue,
    /// SHUTDOWN: the server stops.
    Shutdown,
    /// FAIL_OPERATION: what was to be recorded fails.
    FailOperation,
}

impl OnFailure {
    /// Number and name, as the views have them.
    pub const ALL: [(OnFailure, u8, &'static str, &'static str); 3] = [
        (OnFailure::Continue, 0, "CONTINUE", "CONTINUE"),
        (OnFailure::Shutdown, 1, "SHUTDOWN", "SHUTDOWN SERVER INSTANCE"),
        (OnFailure::FailOperation, 2, "FAIL_OPERATION", "FAIL_OPERATION"),
    ];

    /// Number and description, as the views have them.
    #[must_use]
    pub fn shown(self) -> (u8, &'static str) {
        OnFailure::ALL.iter().find(|(f, ..)| *f == self).map_or((0, "CONTINUE"), |(_, n, _, d)| (*n, *d))
    }
}

/// A server or database audit specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpecificationDef {
    /// `server_specification_id` or `database_specification_id`
    pub id: i32,
    /// Its name.
    pub name: String,
    /// `audit_guid` of the audit that takes its records.
    pub audit: Guid,
    /// What it audits, in the order it was added.
    pub parts: Vec<Audited>,
    /// STATE = ON.
    pub on: bool,
    /// Create date, local ticks.
    pub created: i64,
    /// Last change, local ticks.
    pub modified: i64,
}

/// What a specification audits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audited {
    /// A group, by its name.
    Group(String),
    /// An action on something of the database by somebody.
    Action {
        /// `action_id`
        action: String,
        /// On what.
        on: AuditedSecurable,
        /// `principal_id` of the database's user or role.
        by: i32,
    },
}

/// On what an action is audited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditedSecurable {
    /// Everything in the database.
    Database,
    /// Everything in a schema.
    Schema(i32),
    /// An object.
    Object(i32),
}

impl SpecificationDef {
    /// Whether it has one of these groups.
    #[must_use]
    pub fn has_any(&self, groups: &[Group]) -> bool {
        let has = |name: &str| groups.iter().any(|g| g.info().name == name);
        self.parts.iter().any(|part| matches!(part, Audited::Group(name) if has(name)))
    }

    /// Whether it names an action on an object of a schema by one of these principals.
    #[must_use]
    pub fn has_action(&self, id: &str, (object, schema): (i32, i32), principals: &[i32]) -> bool {
        self.parts.iter().any(|part| match part {
            Audited::Group(_) => false,
            Audited::Action { action, on, by } => {
                let covers = match on {
                    AuditedSecurable::Database => true,
                    AuditedSecurable::Schema(s) => *s == schema,
                    AuditedSecurable::Object(o) => *o == object,
                };
                covers && action == id && principals.contains(by)
            }
        })
    }
}

/// A GUID as text, in upper case.
#[must_use]
pub fn guid_text(guid: &Guid) -> String {
    crate::convert::display(&keel_types::Value::Guid(*guid)).to_uppercase()
}
