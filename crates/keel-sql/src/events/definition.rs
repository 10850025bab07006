//! An event session as it is kept in master.

use super::predicate::Predicate;
use serde::{Deserialize, Serialize};

/// An event session. Names are as [`super::catalog`] has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// `event_session_id`
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its events, in the order they were added.
    pub events: Vec<EventPart>,
    /// Its targets.
    pub targets: Vec<TargetPart>,
    /// WITH options.
    pub options: SessionOptions,
    /// Number of the part that was added last: events and targets share the numbers.
    pub last_part: i32,
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventPart {
    /// `event_id`
    pub id: i32,
    /// Package of the event.
    pub package: String,
    /// Its name.
    pub name: String,
    /// SET: names and values.
    pub settings: Vec<(String, Setting)>,
    /// ACTION: packages and names.
    pub actions: Vec<(String, String)>,
    /// WHERE.
    pub predicate: Option<Predicate>,
}

/// A target of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetPart {
    /// `target_id`
    pub id: i32,
    /// Its name; all are of `package0`.
    pub name: String,
    /// SET: names and values.
    pub settings: Vec<(String, Setting)>,
}

/// The value of a customizable attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Setting {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Setting {
    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Setting::Number(n) => n.to_string(),
            Setting::Text(text) => text.clone(),
        }
    }

    /// As a number.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            Setting::Number(n) => Some(*n),
            Setting::Text(text) => text.trim().parse().ok(),
        }
    }
}

impl TargetPart {
    /// The value that was set for an attribute.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// What the product does when its buffers are full. Here nothing waits in buffers; it is kept and shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retention {
    /// ALLOW_SINGLE_EVENT_LOSS
    #[default]
    SingleLoss,
    /// ALLOW_MULTIPLE_EVENT_LOSS
    MultipleLoss,
    /// NO_EVENT_LOSS
    NoLoss,
}

impl Retention {
    /// Letter and name, as the views have them.
    #[must_use]
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Retention::SingleLoss => ("S", "ALLOW_SINGLE_EVENT_LOSS"),
            Retention::MultipleLoss => ("M", "ALLOW_MULTIPLE_EVENT_LOSS"),
            Retention::NoLoss => ("N", "NO_EVENT_LOSS"),
        }
    }
}

/// MEMORY_PARTITION_MODE; kept and shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionMode {
    /// NONE
    #[default]
    None,
    /// PER_NODE
    PerNode,
    /// PER_CPU
    PerCpu,
}

impl PartitionMode {
    /// Letter and name, as the views have them.
    #[must_use]
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            PartitionMode::None => ("G", "NONE"),
            PartitionMode::PerNode => ("N", "PER_NODE"),
            PartitionMode::PerCpu => ("C", "PER_CPU"),
        }
    }
}

/// WITH options of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionOptions {
    /// EVENT_RETENTION_MODE
    pub retention: Retention,
    /// MAX_DISPATCH_LATENCY, seconds; 0 is INFINITE.
    pub dispatch_latency: i32,
    /// MAX_MEMORY, KB.
    pub memory_kb: i32,
    /// MAX_EVENT_SIZE, KB; 0 when it was not said.
    pub event_size_kb: i32,
    /// MEMORY_PARTITION_MODE
    pub partition: PartitionMode,
    /// TRACK_CAUSALITY
    pub causality: bool,
    /// STARTUP_STATE
    pub startup: bool,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            retention: Retention::default(),
            dispatch_latency: 30,
            memory_kb: 4096,
            event_size_kb: 0,
            partition: PartitionMode::default(),
            causality: false,
            startup: false,
        }
    }
}
