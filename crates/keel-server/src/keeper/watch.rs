//! When the keeper acts: a decision from the age of a beat and the keeper's own wake-ups, without a clock.

use std::time::Duration;

/// How often the keeper looks at the beat. The least time it can be late by.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What one look counts at most. A keeper that comes later than that was itself not given the processor, and cannot know
/// whether the instance would have run.
pub const COUNTED_MAX: Duration = Duration::from_millis(60);

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Wait,
    /// The instance does not run: let its clients go. Said once, until it runs again.
    Release,
    /// It runs again, after its clients were let go. It had not for so long.
    RunsAgain(Duration),
}

/// What is known of the instance. All times are of one monotonic clock that both processes read.
#[derive(Clone, Debug)]
pub struct Watch {
    bound: Duration,
    /// The newest beat seen; `None` before the first.
    beat: Option<Duration>,
    looked: Duration,
    /// Time without a new beat in which the keeper ran.
    silent: Duration,
    released: bool,
}

impl Watch {
    /// Begins to watch. `bound`: an instance that has not beaten for so long does not run.
    #[must_use]
    pub fn new(bound: Duration, now: Duration) -> Watch {
        Watch { bound, beat: None, looked: now, silent: Duration::ZERO, released: false }
    }

    /// A look at the clock and at the time of the newest beat (zero: there was none yet).
    pub fn look(&mut self, now: Duration, beat: Duration) -> Verdict {
        let passed = now.saturating_sub(std::mem::replace(&mut self.looked, now)).min(COUNTED_MAX);
        if beat.is_zero() {
            return Verdict::Wait;
        }
        if self.beat != Some(beat) {
            let before = self.beat.replace(beat);
            self.silent = now.saturating_sub(beat).min(passed);
            return match before.filter(|_| std::mem::take(&mut self.released)) {
                Some(before) => Verdict::RunsAgain(beat.saturating_sub(before)),
                None => Verdict::Wait,
            };
        }
        self.silent += passed;
        if self.silent < self.bound || std::mem::replace(&mut self.released, true) {
            return Verdict::Wait;
        }
        Verdict::Release
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Duration = Duration::from_millis(500);

    /// Looks at these moments, in milliseconds, at a beat of that moment; returns what was said other than to wait.
    fn look(
        watch: &mut Watch,
        times: impl IntoIterator<Item = u64>,
        beat: impl Fn(u64) -> u64,
    ) -> Vec<(u64, Verdict)> {
        let ms = Duration::from_millis;
        let said = times.into_iter().map(|now| (now, watch.look(ms(now), ms(beat(now)))));
        said.filter(|(_, verdict)| *verdict != Verdict::Wait).collect()
    }

    fn every(step: usize, from: u64, to: u64) -> impl Iterator<Item = u64> {
        (from..=to).step_by(step)
    }

    #[test]
    fn an_instance_that_beats_is_left_alone() {
        let mut watch = Watch::new(BOUND, Duration::ZERO);
        assert_eq!(look(&mut watch, every(20, 1, 5_000), |now| now / 50 * 50 + 1), []);
        // Also when its beats are late by less than the bound, again and again.
        assert_eq!(look(&mut watch, every(20, 5_001, 20_000), |now| now / 480 * 480), []);
    }

    #[test]
    fn one_that_has_never_beaten_is_starting() {
        let mut watch = Watch::new(BOUND, Duration::ZERO);
        assert_eq!(look(&mut watch, every(20, 0, 60_000), |_| 0), []);
    }

    #[test]
    fn one_that_stands_still_is_released_once_and_said_to_run_again() {
        let mut watch = Watch::new(BOUND, Duration::ZERO);
        let said = look(&mut watch, every(20, 0, 4_000), |now| if now < 3_000 { now.min(100) } else { now });
        let stood = Duration::from_millis(2_900);
        assert_eq!(said, [(600, Verdict::Release), (3_000, Verdict::RunsAgain(stood))]);
        // And the next time as the first.
        let said = look(&mut watch, every(20, 4_020, 9_000), |_| 4_010);
        assert_eq!(said, [(4_520, Verdict::Release)]);
    }

    #[test]
    fn time_in_which_the_keeper_did_not_run_does_not_count() {
        // The whole machine stood still for a minute: both go on.
        let mut watch = Watch::new(BOUND, Duration::ZERO);
        assert_eq!(look(&mut watch, [20, 40, 60_000], |_| 30), []);
        assert_eq!(look(&mut watch, [60_020, 60_040], |now| now), []);
        // The instance does not: from then on it has the bound.
        let said = look(&mut watch, std::iter::once(120_000).chain(every(20, 120_020, 121_000)), |_| 60_040);
        assert_eq!(said, [(120_440, Verdict::Release)]);
    }

    #[test]
    fn a_keeper_that_gets_the_processor_late_takes_longer() {
        let mut watch = Watch::new(BOUND, Duration::ZERO);
        let said = look(&mut watch, every(200, 0, 4_000), |_| 1);
        assert_eq!(said, [(1_800, Verdict::Release)]);
    }
}
