//! [`Share`]: how much processor time the making of copies takes beside other work.
//!
//! Reading, packing and encrypting a database keeps a processor busy for as long as it lasts. Clients that need the
//! processor come first: the share grows while processors stand idle, up to all there are, and shrinks while none does,
//! down to a floor, at which a copy is done one day whatever the load. What is judged is what *nobody* uses, of the
//! processors that this process may run on: a share that is only just not in the way would be invisible in any other
//! measure, since the scheduler gives every thread its part.
//!
//! Absent: limits that a control group sets to processor time; they do not show as processors that are busy.

use std::time::Duration;

/// What must stand idle for the share to grow, as a part of the processors.
const SPARE: f64 = 0.2;
/// Below this it shrinks; between the two it stays as it is.
const TIGHT: f64 = 0.1;
/// The factor by which it grows or shrinks at one look.
const STEP: f64 = 2.0;
/// Time between two looks; the system counts idle time in hundredths of a second.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Credit for a time in which nothing was done is not saved up beyond this.
const SLACK: Duration = Duration::from_millis(20);
/// The floor unless it is configured.
pub(crate) const FLOOR_PERCENT: u32 = 5;

/// Processor time so far: of all processors that may be used together, in any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    /// In which nothing ran.
    pub(crate) idle: u64,
    /// Altogether.
    pub(crate) all: u64,
}

/// Tells how long to rest after some work. Does not rest itself.
#[derive(Debug)]
pub(crate) struct Share {
    /// Processors; between `floor` and `most`.
    now: f64,
    floor: f64,
    most: f64,
    /// When the last look was, and what it saw.
    looked: Option<(Duration, Used)>,
    /// When the work done so far would have been done at exactly the share.
    paid_until: Duration,
}

impl Default for Share {
    fn default() -> Share {
        Share::new(FLOOR_PERCENT, std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Share {
    /// For so many processors, beginning at a floor of so many percent of one.
    pub(crate) fn new(floor_percent: u32, processors: usize) -> Share {
        let floor = f64::from(floor_percent.clamp(1, 100)) / 100.0;
        Share { now: floor, floor, most: processors.max(1) as f64, looked: None, paid_until: Duration::ZERO }
    }

    /// Changes the floor.
    pub(crate) fn set_floor(&mut self, percent: u32) {
        self.floor = f64::from(percent.clamp(1, 100)) / 100.0;
        self.now = self.now.max(self.floor);
    }

    /// Whether it is time for another look.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        self.looked.is_none_or(|(at, _)| now >= at + LOOK_EVERY)
    }

    /// Judges by what stood idle since the last look. Without knowledge (`None`) nothing is held back.
    pub(crate) fn look(&mut self, used: Option<Used>, now: Duration) {
        let Some(used) = used else {
            self.now = self.most;
            return;
        };
        let before = self.looked.replace((now, used));
        let Some((_, before)) = before.filter(|(_, before)| used.all > before.all) else { return };
        let idle = used.idle.saturating_sub(before.idle) as f64 / (used.all - before.all) as f64;
        if idle > SPARE {
            self.now = (self.now * STEP).min(self.most);
        } else if idle < TIGHT {
            self.now = (self.now / STEP).max(self.floor);
        }
    }

    /// Counts processor time that was spent and returns how long to rest for it.
    pub(crate) fn spend(&mut self, worked: Duration, now: Duration) -> Duration {
        let start = self.paid_until.max(now.saturating_sub(SLACK + worked));
        self.paid_until = start + worked.div_f64(self.now);
        self.paid_until.saturating_sub(now)
    }
}

/// What the processors have done that this process may run on; `None` where the system does not say.
pub(crate) fn used() -> Option<Used> {
    // SAFETY: a mask of processors is plain bits, for which zeros are valid.
    let mut mask: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the mask is valid for writing and as large as said.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut mask) };
    if failed != 0 {
        return None;
    }
    // SAFETY: asks for a bit of a valid mask; numbers beyond its end are not asked for.
    let mine = |n: usize| n < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(n, &mask) };
    of_statistics(&std::fs::read_to_string("/proc/stat").ok()?, mine)
}

/// From the text of `/proc/stat`, for some of the processors.
fn of_statistics(text: &str, mine: impl Fn(usize) -> bool) -> Option<Used> {
    let mut sum: Option<Used> = None;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let processor = words.next().and_then(|word| word.strip_prefix("cpu")?.parse().ok());
        if !processor.is_some_and(&mine) {
            continue;
        }
        // user, nice, system, idle, waiting for a disk, interrupts (two), taken by other guests; more is in these already.
        let times: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let idle = times.get(3)? + times.get(4).unwrap_or(&0);
        let sum = sum.get_or_insert(Used { idle: 0, all: 0 });
        sum.idle += idle;
        sum.all += times.iter().sum::<u64>();
    }
    sum
}

/// Processor time of the calling thread; zero where the system does not say.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is valid for writing.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if failed != 0 {
        return Duration::ZERO;
    }
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: Duration = Duration::from_millis(2);

    /// A share, and processors of which so many hundredths stand idle in each look.
    struct Machine {
        share: Share,
        now: Duration,
        used: Used,
    }

    impl Machine {
        fn new(floor_percent: u32, processors: usize) -> Machine {
            let share = Share::new(floor_percent, processors);
            Machine { share, now: Duration::from_secs(100), used: Used { idle: 0, all: 0 } }
        }

        fn looks(&mut self, times: usize, idle: u64) -> f64 {
            for _ in 0..times {
                self.now += LOOK_EVERY;
                assert!(self.share.is_due(self.now));
                self.used = Used { idle: self.used.idle + idle, all: self.used.all + 100 };
                self.share.look(Some(self.used), self.now);
                assert!(!self.share.is_due(self.now));
            }
            self.share.now
        }
    }

    #[test]
    fn idle_processors_are_used_and_busy_ones_given_back() {
        let mut machine = Machine::new(5, 2);
        assert_eq!(machine.looks(1, 0), 0.05);
        // All of them within two seconds.
        assert_eq!(machine.looks(7, 90), 2.0);
        assert_eq!(machine.looks(1, 15), 2.0);
        assert_eq!(machine.looks(1, 5), 1.0);
        // Never below the floor.
        assert_eq!(machine.looks(20, 0), 0.05);
        assert_eq!(machine.looks(1, 50), 0.1);
    }

    #[test]
    fn the_floor_is_kept_whatever_the_load() {
        let mut machine = Machine::new(5, 1);
        machine.looks(10, 0);
        let (began, mut worked) = (machine.now, Duration::ZERO);
        for n in 0..200 {
            let chunk = CHUNK + Duration::from_micros(n * 13);
            machine.now += chunk;
            machine.now += machine.share.spend(chunk, machine.now);
            worked += chunk;
        }
        let share = worked.as_secs_f64() / (machine.now - began).as_secs_f64();
        assert!((0.049..0.051).contains(&share), "{share}");
        machine.share.set_floor(10);
        machine.looks(5, 0);
        assert_eq!(machine.share.now, 0.1);
        // The rest that was owed at the old share, then that of the new.
        machine.now += machine.share.spend(Duration::ZERO, machine.now);
        machine.now += CHUNK;
        let rest = machine.share.spend(CHUNK, machine.now).as_secs_f64() + SLACK.as_secs_f64();
        assert!(rest <= CHUNK.as_secs_f64() * 9.0 + SLACK.as_secs_f64(), "{rest}");
    }

    #[test]
    fn with_all_processors_there_is_no_rest() {
        let mut machine = Machine::new(5, 1);
        machine.looks(10, 90);
        for _ in 0..100 {
            machine.now += CHUNK;
            assert_eq!(machine.share.spend(CHUNK, machine.now), Duration::ZERO);
        }
        // Two streams at once on one processor are as one.
        machine.now += CHUNK;
        assert_eq!(machine.share.spend(CHUNK, machine.now), Duration::ZERO);
        let rests: Duration = (0..20).map(|_| machine.share.spend(CHUNK, machine.now)).max().unwrap();
        assert!(rests >= CHUNK * 8, "{rests:?}");
    }

    #[test]
    fn where_nothing_is_known_nothing_is_held_back() {
        let mut share = Share::new(5, 4);
        share.look(None, Duration::from_secs(1));
        assert_eq!(share.now, 4.0);
    }

    #[test]
    fn only_the_processors_that_may_be_used_count() {
        let text =
            "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 10 0 20 60 5 1 2 2 9 9\ncpu1 100 0 0 0 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(of_statistics(text, |n| n == 0), Some(Used { idle: 65, all: 100 }));
        assert_eq!(of_statistics(text, |_| true), Some(Used { idle: 65, all: 200 }));
        assert_eq!(of_statistics(text, |n| n == 7), None);
        assert_eq!(of_statistics("cpu0 1 2\n", |_| true), None);
        assert_eq!(of_statistics("", |_| true), None);
    }
}
