//! [`Throttle`]: no more than so many bytes per second, evenly.

use std::time::Duration;

/// Tells how long to wait before sending more. Does not wait itself.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// 0: no limit.
    bytes_per_second: u64,
    /// When everything sent so far would have been sent at exactly the rate.
    paid_until: Duration,
}

/// Credit for a time in which nothing was sent is not saved up beyond this.
const SLACK: Duration = Duration::from_millis(100);

impl Throttle {
    pub(crate) fn new(bytes_per_second: u64) -> Throttle {
        Throttle { bytes_per_second, paid_until: Duration::ZERO }
    }

    /// Counts bytes about to be sent and returns how long to wait first.
    pub(crate) fn spend(&mut self, bytes: usize, now: Duration) -> Duration {
        if self.bytes_per_second == 0 {
            return Duration::ZERO;
        }
        let start = self.paid_until.max(now.saturating_sub(SLACK));
        let cost = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        self.paid_until = start + cost;
        self.paid_until.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_whatever_the_sizes() {
        let mut throttle = Throttle::new(1_000_000);
        let mut now = Duration::from_secs(10);
        let mut sent = 0;
        for n in 1..200 {
            let bytes = (n * 7919) % 65_536;
            now += throttle.spend(bytes, now);
            sent += bytes;
        }
        let took = (now - Duration::from_secs(10)).as_secs_f64() + SLACK.as_secs_f64();
        let wanted = sent as f64 / 1e6;
        assert!((took - wanted).abs() < 0.001, "{took} s for {wanted} s worth");
        assert_eq!(Throttle::new(0).spend(1 << 30, now), Duration::ZERO);
    }
}
