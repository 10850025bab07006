//! Who waits, and how long, so that pools get the processor time and the reads they are defined to get.
//!
//! Sessions are threads, which the kernel shares out evenly. The governor makes some of them sleep. A session that runs says
//! every millisecond or so what it has used ([`Pacer::charge`]) and is told how long to sleep. This file decides that and
//! touches neither clock nor thread: time is what the caller says.
//!
//! ```text
//!   charge(group, session, used, now)
//!     ├─ counts it for the window
//!     ├─ window over? roll: demand of each group ─► allotment of each pool ─► pace of each group
//!     └─ sleep = the latest of what the pool's cap, its limit of reads and the group's pace ask for
//! ```
//!
//! **Pace.** A bucket knows when the next use is due. Using `u` at a rate of `r` moves that by `u / r`; who comes before it is
//! due sleeps until then. The long-run rate is exact however many sessions use it, and however late they wake up.
//!
//! **Demand.** A group that was held up wants a processor for each of its sessions; one that was not wants a quarter more than it
//! used, so that what the kernel kept from it shows within some windows.
//!
//! **Allotment.** When all pools together want no more than there is, only caps bind: MAX is for contention. Otherwise each pool
//! first gets its MIN as far as it wants it, then pools share the rest by how many of their sessions want to run, up to MAX
//! less what others are guaranteed, and what is left then goes beyond MAX up to the cap. A pool that gets what it wants is not held
//! up; within one that does not, and be it for its cap, groups share by importance and number of sessions.

use std::collections::HashMap;
use std::time::Duration;

/// Between two allotments, seconds.
const WINDOW: f64 = 0.02;
/// What a bucket lets pass at once after being idle, seconds: more than threads oversleep, less than anybody sees.
const ALLOWANCE: f64 = 0.01;
/// The longest that one charge makes wait, seconds: a statement that did not look up for long is not punished for ever.
const DEBT_MAX: f64 = 2.0;
/// Shorter sleeps are put off, seconds: the kernel does not sleep more exactly.
const SLEEP_MIN: f64 = 0.000_5;
/// Paces that only contention asks for are a little generous, or processors would idle while everybody sleeps.
const GENEROSITY: f64 = 1.02;
/// What a group that is not held up is taken to want next, as a multiple of what it used, and a little for who has used nothing.
const GROWTH: (f64, f64) = (1.25, 0.05);

/// What a pool is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolPace {
    /// MIN_CPU_PERCENT
    pub min: i32,
    /// MAX_CPU_PERCENT
    pub max: i32,
    /// CAP_CPU_PERCENT
    pub cap: i32,
    /// Reads a second; 0 for no limit.
    pub iops: i32,
}

/// What a group is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupPace {
    /// Its pool's place in the list.
    pub pool: usize,
    /// Of its importance.
    pub weight: f64,
}

/// What a session has used since it said so last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Processor time.
    pub cpu: Duration,
    /// Reads of data files.
    pub reads: u64,
}

/// See the chapter. Times in it are seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    due: f64,
}

impl Bucket {
    /// Uses so much, which would take `needs` at the rate, and took `took`; how long to wait for the next use.
    fn take(&mut self, needs: f64, took: f64, now: f64) -> f64 {
        self.due = (self.due.max(now - took - ALLOWANCE) + needs).min(now + DEBT_MAX);
        self.due - now
    }
}

struct Pool {
    limits: PoolPace,
    capped: Bucket,
    reading: Bucket,
    /// Processors it may use, when that is less than it wants.
    allotted: Option<f64>,
}

struct Group {
    limits: GroupPace,
    bucket: Bucket,
    /// Processors; `None` when it is not held up.
    pace: Option<f64>,
    /// Processor time used in this window.
    used: f64,
    /// Processors that it was taken to want.
    demand: f64,
}

struct Seen {
    group: usize,
    last: f64,
    asleep_until: f64,
}

/// The deciding core. One for the instance.
pub struct Pacer {
    processors: f64,
    pools: Vec<Pool>,
    groups: Vec<Group>,
    sessions: HashMap<u32, Seen>,
    window_began: f64,
}

impl Pacer {
    /// One that knows no pools yet.
    #[must_use]
    pub fn new(processors: usize) -> Pacer {
        Pacer {
            processors: processors.max(1) as f64,
            pools: Vec::new(),
            groups: Vec::new(),
            sessions: HashMap::new(),
            window_began: 0.0,
        }
    }

    /// Begins anew with these pools and groups.
    pub fn configure(&mut self, pools: &[PoolPace], groups: &[GroupPace], now: Duration) {
        let pool = |limits: &PoolPace| Pool {
            limits: *limits,
            capped: Bucket::default(),
            reading: Bucket::default(),
            allotted: None,
        };
        let group = |limits: &GroupPace| Group {
            limits: *limits,
            bucket: Bucket::default(),
            pace: None,
            used: 0.0,
            demand: 0.0,
        };
        assert!(groups.iter().all(|g| g.pool < pools.len()), "every group has a pool");
        self.pools = pools.iter().map(pool).collect();
        self.groups = groups.iter().map(group).collect();
        self.sessions.clear();
        self.window_began = now.as_secs_f64();
    }

    /// A session has used so much: how long it has to sleep before it goes on. Groups that are not there are not held up.
    pub fn charge(&mut self, group: usize, session: u32, used: Used, now: Duration) -> Duration {
        let (now, cpu) = (now.as_secs_f64(), used.cpu.as_secs_f64());
        if now - self.window_began >= WINDOW {
            self.roll(now);
        }
        let Some(of) = self.groups.get_mut(group) else { return Duration::ZERO };
        let pool = &mut self.pools[of.limits.pool];
        of.used += cpu;
        let mut wait: f64 = 0.0;
        if pool.limits.cap < 100 {
            let rate = self.processors * f64::from(pool.limits.cap) / 100.0;
            wait = wait.max(pool.capped.take(cpu / rate, cpu, now));
        }
        if pool.limits.iops > 0 && used.reads > 0 {
            let needs = used.reads as f64 / f64::from(pool.limits.iops);
            wait = wait.max(pool.reading.take(needs, cpu, now));
        }
        if let Some(rate) = of.pace {
            wait = wait.max(of.bucket.take(cpu / rate, cpu, now));
        }
        let sleeps = wait >= SLEEP_MIN;
        let asleep_until = if sleeps { now + wait } else { now };
        self.sessions.insert(session, Seen { group, last: now, asleep_until });
        if sleeps { Duration::from_secs_f64(wait) } else { Duration::ZERO }
    }

    /// Percent of the processors that a pool may use now: its cap, or what contention leaves it.
    #[must_use]
    pub fn target_percent(&self, pool: usize) -> i32 {
        let Some(pool) = self.pools.get(pool) else { return 100 };
        let allotted = pool.allotted.map_or(100.0, |processors| processors / self.processors * 100.0);
        (allotted.round() as i32).min(pool.limits.cap)
    }

    /// The window is over.
    fn roll(&mut self, now: f64) {
        let (began, lasted) = (self.window_began, now - self.window_began);
        self.window_began = now;
        self.sessions.retain(|_, seen| seen.last.max(seen.asleep_until) >= began);
        let mut running = vec![0.0; self.groups.len()];
        for seen in self.sessions.values() {
            running[seen.group] += 1.0;
        }
        for (i, (group, running)) in self.groups.iter_mut().zip(&running).enumerate() {
            let held = self.sessions.values().any(|s| s.group == i && s.asleep_until > began);
            // What it wanted a window ago fades: one that was not heard of may only have been kept from running.
            let wants = group.used / lasted * GROWTH.0 + if *running > 0.0 { GROWTH.1 } else { 0.0 };
            group.demand = if held { *running } else { wants.max(group.demand / 2.0).min(*running) };
            group.used = 0.0;
        }
        self.allot(&running);
    }

    fn allot(&mut self, running: &[f64]) {
        let mut wants = vec![0.0; self.pools.len()];
        let mut weights = vec![0.0; self.pools.len()];
        for (group, running) in self.groups.iter().zip(running) {
            wants[group.limits.pool] += group.demand;
            weights[group.limits.pool] += running;
        }
        let capped: Vec<f64> = wants.iter().zip(&self.pools).map(|(want, p)| want.min(self.cap(p))).collect();
        let contention = capped.iter().sum::<f64>() > self.processors;
        let given = if contention { self.given(&capped, &weights) } else { capped };
        for (i, pool) in self.pools.iter_mut().enumerate() {
            pool.allotted = (given[i] + 1e-9 < wants[i]).then_some(given[i]);
        }
        self.pace_groups(running);
    }

    /// Processors that a pool may use at most.
    fn cap(&self, pool: &Pool) -> f64 {
        match pool.limits.cap {
            // It may want more than there is: that is contention.
            100 => f64::INFINITY,
            cap => f64::from(cap) / 100.0 * self.processors,
        }
    }

    /// Processors for each pool, where all together want more than there is.
    fn given(&self, wants: &[f64], weights: &[f64]) -> Vec<f64> {
        let all = self.processors;
        let minima: i32 = self.pools.iter().map(|p| p.limits.min).sum();
        let share = |n: i32| f64::from(n) / 100.0 * all;
        let mut given: Vec<f64> =
            self.pools.iter().zip(wants).map(|(p, want)| want.min(share(p.limits.min))).collect();
        // MAX, or less where the others' guarantees leave less.
        let maximum = |p: &Pool| share(p.limits.max.min(100 - (minima - p.limits.min)));
        let soft: Vec<f64> = self.pools.iter().zip(wants).map(|(p, want)| want.min(maximum(p))).collect();
        fill(&mut given, &soft, weights, all);
        fill(&mut given, wants, weights, all);
        given
    }

    /// The pace of each group, so that together they keep to their pool's allotment.
    fn pace_groups(&mut self, running: &[f64]) {
        for at in 0..self.pools.len() {
            let Some(allotted) = self.pools[at].allotted else {
                self.groups.iter_mut().filter(|g| g.limits.pool == at).for_each(|g| g.pace = None);
                continue;
            };
            let own: Vec<usize> =
                (0..self.groups.len()).filter(|i| self.groups[*i].limits.pool == at).collect();
            let wants: Vec<f64> = own.iter().map(|i| self.groups[*i].demand).collect();
            let weights: Vec<f64> = own.iter().map(|i| self.groups[*i].limits.weight * running[*i]).collect();
            let mut given = vec![0.0; own.len()];
            fill(&mut given, &wants, &weights, allotted);
            for (place, i) in own.into_iter().enumerate() {
                let short = given[place] + 1e-9 < wants[place];
                self.groups[i].pace = short.then_some((given[place] * GENEROSITY).max(0.001));
            }
        }
    }
}

/// Shares out what `given` leaves of `all`, by weight, up to each one's limit; what somebody does not take goes to the others.
fn fill(given: &mut [f64], limits: &[f64], weights: &[f64], all: f64) {
    loop {
        let left = all - given.iter().sum::<f64>();
        let open: Vec<usize> =
            (0..given.len()).filter(|i| weights[*i] > 0.0 && given[*i] + 1e-9 < limits[*i]).collect();
        let weight: f64 = open.iter().map(|i| weights[*i]).sum();
        if left <= 1e-9 || open.is_empty() {
            return;
        }
        let mut filled = false;
        let shares: Vec<f64> = open.iter().map(|i| left * weights[*i] / weight).collect();
        for (i, share) in open.iter().zip(&shares) {
            if given[*i] + share >= limits[*i] {
                given[*i] = limits[*i];
                filled = true;
            }
        }
        if !filled {
            open.iter().zip(&shares).for_each(|(i, share)| given[*i] += share);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 0.001;

    /// Busy threads under a kernel that shares processors out evenly, a millisecond at a time.
    struct Machine {
        pacer: Pacer,
        processors: usize,
        /// Group of each thread, when it wakes up, and what it has used.
        threads: Vec<(usize, f64, f64)>,
        now: f64,
        /// Whose turn it is.
        turn: usize,
    }

    impl Machine {
        fn new(processors: usize, pools: &[PoolPace], groups: &[GroupPace], threads: &[usize]) -> Machine {
            let mut pacer = Pacer::new(processors);
            pacer.configure(pools, groups, Duration::ZERO);
            let threads = threads.iter().map(|group| (*group, 0.0, 0.0)).collect();
            Machine { pacer, processors, threads, now: 0.0, turn: 0 }
        }

        fn run(&mut self, seconds: f64) {
            let end = self.now + seconds;
            while self.now < end {
                self.now += STEP;
                let mut free = self.processors;
                for k in 0..self.threads.len() {
                    let i = (self.turn + k) % self.threads.len();
                    let (group, wakes, used) = &mut self.threads[i];
                    if free == 0 || *wakes > self.now {
                        continue;
                    }
                    free -= 1;
                    *used += STEP;
                    let used = Used { cpu: Duration::from_secs_f64(STEP), reads: 0 };
                    let now = Duration::from_secs_f64(self.now);
                    *wakes = self.now + self.pacer.charge(*group, i as u32, used, now).as_secs_f64();
                }
                self.turn += self.processors;
            }
        }

        /// Percent of the processors that each group has had in so many seconds, after a second to settle.
        fn shares(&mut self, seconds: f64) -> Vec<f64> {
            self.run(1.0);
            let groups = self.threads.iter().map(|t| t.0).max().map_or(0, |g| g + 1);
            let sum = |threads: &[(usize, f64, f64)]| {
                let mut all = vec![0.0; groups];
                threads.iter().for_each(|(group, _, used)| all[*group] += used);
                all
            };
            let before = sum(&self.threads);
            self.run(seconds);
            let of_all = 100.0 / (seconds * self.processors as f64);
            sum(&self.threads).iter().zip(before).map(|(after, before)| (after - before) * of_all).collect()
        }
    }

    fn pool(min: i32, max: i32, cap: i32) -> PoolPace {
        PoolPace { min, max, cap, iops: 0 }
    }

    fn group(pool: usize) -> GroupPace {
        GroupPace { pool, weight: 3.0 }
    }

    fn check(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 3.0, "{found:.1} is not about {expected}");
        }
    }

    #[test]
    fn a_cap_holds_without_contention() {
        let mut machine = Machine::new(2, &[pool(0, 100, 20)], &[group(0)], &[0, 0, 0]);
        check(&machine.shares(5.0), &[20.0]);
        let mut machine = Machine::new(2, &[pool(0, 100, 20)], &[group(0)], &[0]);
        check(&machine.shares(5.0), &[20.0]);
    }

    #[test]
    fn two_caps_share_the_machine() {
        let pools = [pool(0, 100, 20), pool(0, 100, 80)];
        let mut machine = Machine::new(2, &pools, &[group(0), group(1)], &[0, 0, 1, 1]);
        check(&machine.shares(5.0), &[20.0, 80.0]);
    }

    #[test]
    fn a_maximum_binds_only_when_others_want_to_run() {
        let pools = [pool(0, 30, 100), pool(0, 100, 100)];
        let groups = [group(0), group(1)];
        check(&Machine::new(2, &pools, &groups, &[0, 0]).shares(5.0), &[100.0]);
        check(&Machine::new(2, &pools, &groups, &[0, 0, 1, 1, 1]).shares(5.0), &[30.0, 70.0]);
    }

    #[test]
    fn a_minimum_is_had_against_many() {
        let pools = [pool(50, 100, 100), pool(0, 100, 100)];
        let threads = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        check(&Machine::new(2, &pools, &[group(0), group(1)], &threads).shares(5.0), &[50.0, 50.0]);
        // Nobody of the guaranteed runs: it is not kept free for them.
        check(&Machine::new(2, &pools, &[group(0), group(1)], &[1, 1, 1]).shares(5.0), &[0.0, 100.0]);
    }

    #[test]
    fn importance_weighs_within_a_pool() {
        let groups = [GroupPace { pool: 0, weight: 9.0 }, GroupPace { pool: 0, weight: 1.0 }];
        let mut machine = Machine::new(1, &[pool(0, 100, 100)], &groups, &[0, 0, 1, 1]);
        check(&machine.shares(5.0), &[90.0, 10.0]);
    }

    #[test]
    fn importance_weighs_under_a_cap() {
        let groups = [GroupPace { pool: 0, weight: 9.0 }, GroupPace { pool: 0, weight: 3.0 }];
        let mut machine = Machine::new(4, &[pool(0, 100, 40)], &groups, &[0, 0, 1, 1]);
        check(&machine.shares(5.0), &[30.0, 10.0]);
    }

    #[test]
    fn reads_keep_to_their_rate() {
        let mut pacer = Pacer::new(2);
        pacer.configure(&[PoolPace { iops: 100, ..pool(0, 100, 100) }], &[group(0)], Duration::ZERO);
        let (mut now, mut reads) = (Duration::from_secs(1), 0);
        let end = Duration::from_secs(11);
        while now < end {
            let used = Used { cpu: Duration::from_micros(100), reads: 5 };
            reads += used.reads;
            now += used.cpu + pacer.charge(0, 51, used, now + used.cpu);
        }
        assert!((980..=1020).contains(&reads), "{reads} reads in ten seconds");
    }

    #[test]
    fn a_debt_has_an_end() {
        let mut pacer = Pacer::new(1);
        pacer.configure(&[pool(0, 100, 1)], &[group(0)], Duration::ZERO);
        let used = Used { cpu: Duration::from_secs(60), reads: 0 };
        let sleep = pacer.charge(0, 51, used, Duration::from_secs(60));
        assert!(sleep <= Duration::from_secs_f64(DEBT_MAX), "{sleep:?}");
    }

    #[test]
    fn what_is_left_goes_to_who_can_use_it() {
        let mut given = vec![0.0, 0.5, 0.0];
        fill(&mut given, &[0.2, 2.0, 2.0], &[1.0, 1.0, 1.0], 2.0);
        assert!((given[0] - 0.2).abs() < 1e-6 && (given.iter().sum::<f64>() - 2.0).abs() < 1e-6, "{given:?}");
    }
}
