//! [`Rate`]: how fast something goes lately, for estimates of when it will be done.

use std::time::Duration;

/// What lies further back than this counts for little.
const MEMORY: Duration = Duration::from_secs(5);

/// A mean over the last seconds.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    /// When it was last told, and of how much.
    last: Option<(Duration, u64)>,
    /// None until something was done in some time.
    per_second: Option<f64>,
}

impl Rate {
    /// So much had been done at that time.
    pub(crate) fn tell(&mut self, done: u64, now: Duration) {
        let Some((at, before)) = self.last.replace((now, done)) else { return };
        let took = now.saturating_sub(at).as_secs_f64();
        if took <= 0.0 {
            return;
        }
        let lately = done.saturating_sub(before) as f64 / took;
        let weight = 1.0 - (-took / MEMORY.as_secs_f64()).exp();
        self.per_second = Some(self.per_second.map_or(lately, |mean| mean + (lately - mean) * weight));
    }

    /// Per second; `None` as long as nobody can know.
    pub(crate) fn per_second(&self) -> Option<f64> {
        self.per_second.filter(|rate| *rate > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_how_fast_it_was() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(), None);
        let (mut now, mut done) = (Duration::from_secs(7), 1000);
        let mut go = |per_second: u64, seconds: u64, rate: &mut Rate| {
            for _ in 0..seconds * 4 {
                now += Duration::from_millis(250);
                done += per_second / 4;
                rate.tell(done, now);
            }
            rate.per_second()
        };
        // What was done before the first look counts for nothing.
        assert_eq!(go(8000, 20, &mut rate), Some(8000.0));
        let after = go(800, 5, &mut rate).unwrap();
        assert!((3000.0..4000.0).contains(&after), "{after}");
        let after = go(800, 25, &mut rate).unwrap();
        assert!((800.0..850.0).contains(&after), "{after}");
    }
}
