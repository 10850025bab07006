//! Wall-clock time in the product's unit: 100 ns ticks since 0001-01-01.

use keel_base::env::Clock;

/// Ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;
/// Ticks in a minute.
pub const TICKS_PER_MINUTE: i64 = 600_000_000;

/// UTC now.
#[must_use]
pub fn utc_ticks(clock: &dyn Clock) -> i64 {
    UNIX_EPOCH_TICKS + (clock.unix_nanos() / 100) as i64
}

/// Nanoseconds since 1970-01-01 UTC as local time.
#[must_use]
pub fn unix_to_local_ticks(nanos: i128) -> i64 {
    UNIX_EPOCH_TICKS + (nanos / 100) as i64 + i64::from(offset_minutes()) * TICKS_PER_MINUTE
}

/// Local time now.
#[must_use]
pub fn local_ticks(clock: &dyn Clock) -> i64 {
    utc_ticks(clock) + i64::from(offset_minutes()) * TICKS_PER_MINUTE
}

/// Offset of local time from UTC. Read once: the server keeps one zone for its life.
#[must_use]
pub fn offset_minutes() -> i16 {
    static OFFSET: std::sync::OnceLock<i16> = std::sync::OnceLock::new();
    *OFFSET.get_or_init(|| time::UtcOffset::current_local_offset().map_or(0, |o| o.whole_minutes()))
}
