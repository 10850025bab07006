//! Wall-clock time in the product's unit: 100 ns ticks since 0001-01-01.

use keel_base::env::Clock;

/// Ticks from 0001-01-01 to 1970-01-01.
pub(crate) const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;
/// Ticks in a minute.
pub const TICKS_PER_MINUTE: i64 = 600_000_000;

/// UTC now.
#[must_use]
pub fn utc_ticks(clock: &dyn Clock) -> i64 {
    unix_to_utc_ticks(clock.unix_nanos())
}

/// Nanoseconds since 1970-01-01 UTC as UTC ticks.
fn unix_to_utc_ticks(nanos: i128) -> i64 {
    // Until the year 2262 a shorter division does.
    UNIX_EPOCH_TICKS + i64::try_from(nanos).map_or_else(|_| (nanos / 100) as i64, |nanos| nanos / 100)
}

/// Local time as microseconds since 1970-01-01 UTC.
#[must_use]
pub fn local_ticks_to_unix_micros(ticks: i64) -> i64 {
    (ticks - i64::from(offset_minutes()) * TICKS_PER_MINUTE - UNIX_EPOCH_TICKS).div_euclid(10)
}

/// Nanoseconds since 1970-01-01 UTC as local time.
#[must_use]
pub fn unix_to_local_ticks(nanos: i128) -> i64 {
    unix_to_utc_ticks(nanos) + i64::from(offset_minutes()) * TICKS_PER_MINUTE
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
