//! The options of `SET QUERY_STORE`, which belong to the database, and the state that a store is in.

use super::is_written;
use crate::engine::DatabaseEntry;
use keel_base::TreeId;
use serde::{Deserialize, Serialize};

/// What is asked for: `desired_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// Nothing is recorded.
    #[default]
    Off,
    /// What is there can be read.
    ReadOnly,
    /// Statements are recorded.
    ReadWrite,
}

impl Wanted {
    /// In the order of the catalog's numbers, with their names.
    pub const ALL: [(Wanted, &'static str); 3] =
        [(Wanted::Off, "OFF"), (Wanted::ReadOnly, "READ_ONLY"), (Wanted::ReadWrite, "READ_WRITE")];
}

/// QUERY_CAPTURE_MODE: which queries are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CaptureMode {
    /// All.
    All,
    /// Those that come often or cost much: `DEFAULT_POLICY`.
    #[default]
    Auto,
    /// Those that are known already.
    None,
    /// What QUERY_CAPTURE_POLICY says.
    Custom,
}

impl CaptureMode {
    /// In the order of the catalog's numbers, from 1, with their names.
    pub const ALL: [(CaptureMode, &'static str); 4] = [
        (CaptureMode::All, "ALL"),
        (CaptureMode::Auto, "AUTO"),
        (CaptureMode::None, "NONE"),
        (CaptureMode::Custom, "CUSTOM"),
    ];
}

/// QUERY_CAPTURE_POLICY: a query is captured that reaches one of these within so many hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturePolicy {
    /// EXECUTION_COUNT.
    pub executions: i32,
    /// TOTAL_COMPILE_CPU_TIME_MS.
    pub compile_ms: i32,
    /// TOTAL_EXECUTION_CPU_TIME_MS.
    pub execution_ms: i32,
    /// STALE_CAPTURE_POLICY_THRESHOLD in hours.
    pub stale_hours: i32,
}

/// What AUTO goes by, and CUSTOM before anything else is said.
pub(crate) const DEFAULT_POLICY: CapturePolicy =
    CapturePolicy { executions: 30, compile_ms: 1000, execution_ms: 100, stale_hours: 24 };

/// The store's options. They stay when it is switched off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueryStoreSettings {
    /// ON or OFF, and OPERATION_MODE.
    pub wanted: Wanted,
    /// Where the rows are; `None` until it is first switched on.
    pub tree: Option<TreeId>,
    /// DATA_FLUSH_INTERVAL_SECONDS.
    pub flush_seconds: i32,
    /// INTERVAL_LENGTH_MINUTES, one of [`QueryStoreSettings::INTERVALS`].
    pub interval_minutes: i32,
    /// MAX_STORAGE_SIZE_MB.
    pub size_mb_max: i32,
    /// STALE_QUERY_THRESHOLD_DAYS of CLEANUP_POLICY; 0 keeps all.
    pub stale_days: i32,
    /// MAX_PLANS_PER_QUERY; 0 is without limit.
    pub plans_max: i32,
    /// QUERY_CAPTURE_MODE.
    pub capture: CaptureMode,
    /// SIZE_BASED_CLEANUP_MODE = AUTO.
    pub cleans_by_size: bool,
    /// WAIT_STATS_CAPTURE_MODE.
    pub waits: bool,
    /// QUERY_CAPTURE_POLICY, for CUSTOM.
    pub policy: CapturePolicy,
}

impl QueryStoreSettings {
    /// What INTERVAL_LENGTH_MINUTES may be.
    pub const INTERVALS: [i32; 7] = [1, 5, 10, 15, 30, 60, 1440];

    /// Bytes it may have.
    #[must_use]
    pub fn bytes_max(&self) -> u64 {
        u64::try_from(self.size_mb_max).unwrap_or(0) << 20
    }
}

impl Default for QueryStoreSettings {
    fn default() -> Self {
        QueryStoreSettings {
            wanted: Wanted::Off,
            tree: None,
            flush_seconds: 900,
            interval_minutes: 60,
            size_mb_max: 1000,
            stale_days: 30,
            plans_max: 200,
            capture: CaptureMode::Auto,
            cleans_by_size: true,
            waits: true,
            policy: DEFAULT_POLICY,
        }
    }
}

/// What a store does: `actual_state` and `readonly_reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActualState {
    Off,
    /// Why, as the product's bits.
    ReadOnly(i64),
    ReadWrite,
}

/// READONLY_REASON: the database is read-only, ...
const READ_ONLY_DATABASE: i64 = 1;
/// ... it is a secondary replica, ...
const SECONDARY: i64 = 8;
/// ... or the store has reached MAX_STORAGE_SIZE_MB.
pub(super) const FULL: i64 = 65536;

/// The state of a database's store.
pub(crate) fn actual_state(entry: &DatabaseEntry) -> ActualState {
    let picture = entry.picture();
    let settings = picture.settings().query_store.as_ref().filter(|s| s.wanted != Wanted::Off);
    let Some(settings) = settings else { return ActualState::Off };
    if entry.is_copy() {
        return ActualState::ReadOnly(SECONDARY);
    }
    if !is_written(entry) {
        return ActualState::ReadOnly(READ_ONLY_DATABASE);
    }
    match settings.wanted {
        Wanted::ReadOnly => ActualState::ReadOnly(0),
        _ if entry.query_store.is_full(settings) => ActualState::ReadOnly(FULL),
        _ => ActualState::ReadWrite,
    }
}
