//! What the figures mean: pure, so that every rule has a test.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keel_cluster::{Fitness, GroupId};
use keel_group::{HealthSubject, LogHealth};

/// Turns of the judge that must be late running before the processor counts as starved.
const LATE_TURNS: u32 = 3;
/// Turns come so often while a flush is under way that may become a stall of this disk alone.
const WATCH_EVERY: Duration = Duration::from_millis(25);
/// A flush is given time for its bytes at this rate, as of a slow disk, before it may be called a stall of this disk alone.
const BYTES_PER_SECOND: u64 = 16 << 20;
/// For how long the slowest flush is remembered, at least; at most twice as long.
const REMEMBERED: Duration = Duration::from_secs(300);
/// How long nothing may be wrong before an unfit instance is fit again.
const CALM: Duration = Duration::from_secs(5);
/// How long nothing may be wrong, and no flush of the group's logs old, before it may lead if nobody is better. Three looks in a
/// row.
const BETTER: Duration = Duration::from_millis(300);
/// A flush that has taken longer is old.
const OLD: Duration = Duration::from_millis(100);

/// `state` of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// 1.
    Clean,
    /// 2.
    Warning,
    /// 3.
    Error,
}

/// Thresholds; zero switches a rule off.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A flush that takes longer is a disk that stalls.
    pub disk_stall: Duration,
    /// The same when the disks of the others go on; longer for large flushes, and where they took long lately.
    pub disk_stall_alone: Duration,
    /// A turn that begins this much late counts as late.
    pub starved: Duration,
    /// How long memory or connections must be used up.
    pub exhausted: Duration,
    /// Connections there can be.
    pub sessions_max: usize,
}

/// What the sampler has seen.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub taken: Instant,
    /// Row versions in memory, bytes.
    pub delta_bytes: u64,
    /// Where writes are refused.
    pub delta_bytes_max: u64,
    /// Page cache, bytes.
    pub cache_bytes: u64,
    /// Writes refused for lack of memory, since the start.
    pub refusals: u64,
    /// Sessions now.
    pub sessions: usize,
    /// Requests ended since the start.
    pub requests: u64,
}

impl Sample {
    /// Before anything was seen.
    #[must_use]
    pub fn first(now: Instant) -> Sample {
        Sample {
            taken: now,
            delta_bytes: 0,
            delta_bytes_max: u64::MAX,
            cache_bytes: 0,
            refusals: 0,
            sessions: 0,
            requests: 0,
        }
    }
}

/// A group this instance is a member of, as far as its health goes.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Which.
    pub group: GroupId,
    /// Its name.
    pub name: String,
    /// FAILURE_CONDITION_LEVEL.
    pub level: u8,
    /// HEALTH_CHECK_TIMEOUT.
    pub timeout: Duration,
    /// DB_FAILOVER.
    pub db_failover: bool,
    /// The primary is here.
    pub leads: bool,
    /// The logs of its databases here.
    pub databases: Vec<LogHealth>,
}

impl From<HealthSubject> for Subject {
    fn from(s: HealthSubject) -> Subject {
        Subject {
            group: s.group,
            name: s.name,
            level: s.failure_condition_level,
            timeout: Duration::from_millis(s.health_check_timeout_ms.into()),
            db_failover: s.db_failover,
            leads: s.leads,
            databases: s.databases,
        }
    }
}

/// A group for which the fitness of this instance has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub group: GroupId,
    /// Its name.
    pub name: String,
    /// What it is now.
    pub fitness: Fitness,
}

/// Why this instance is not fit to lead a group, and how long nothing has been wrong any more.
#[derive(Debug)]
struct Sick {
    reason: String,
    calm: Lasting,
    /// Nor any flush old.
    better: Lasting,
    /// It has been said that it is recovering.
    recovering: bool,
}

/// A group's row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The group.
    pub subject: Subject,
    /// Its replica here.
    pub state: State,
    /// What is wrong.
    pub reason: Option<String>,
}

/// What holds for how long.
#[derive(Clone, Copy, Debug, Default)]
struct Lasting(Option<Instant>);

impl Lasting {
    fn is(&mut self, now: Instant, holds: bool) -> Duration {
        self.0 = if holds { self.0.or(Some(now)) } else { None };
        self.0.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// The flush of a log that is under way, as it was seen last.
#[derive(Clone, Copy, Debug)]
struct Flush {
    age: Duration,
    /// So much of it this process did not run.
    slept: Duration,
    /// Since when every look has found that those who could take over had hardened more.
    outrun: Option<Instant>,
    /// It has made this instance unfit.
    called: bool,
}

/// The slowest flush of late.
#[derive(Clone, Copy, Debug)]
struct Slowest {
    since: Instant,
    now: Duration,
    before: Duration,
}

impl Slowest {
    fn note(&mut self, at: Instant, took: Duration) {
        let age = at.saturating_duration_since(self.since);
        if age >= REMEMBERED {
            let before = if age < REMEMBERED * 2 { self.now } else { Duration::ZERO };
            *self = Slowest { since: at, now: Duration::ZERO, before };
        }
        self.now = self.now.max(took);
    }

    fn took(&self, at: Instant) -> Duration {
        match at.saturating_duration_since(self.since) {
            age if age < REMEMBERED => self.now.max(self.before),
            age if age < REMEMBERED * 2 => self.now,
            _ => Duration::ZERO,
        }
    }
}

/// See the module's chapter.
pub struct Judge {
    limits: Limits,
    every: Duration,
    last: Instant,
    late_turns: u32,
    /// How late the last turn was, and the latest since the start.
    pub(super) late: Duration,
    pub(super) late_max: Duration,
    full: Lasting,
    crowded: Lasting,
    last_refusals: u64,
    last_requests: u64,
    last_sample: Option<Instant>,
    /// Flushes under way, by group and database.
    flushes: BTreeMap<(GroupId, String), Flush>,
    slowest: Slowest,
    /// A flush that was called a stall was last seen here: what was under way then says nothing of what this disk usually takes.
    stalled_at: Option<Instant>,
    /// `system`, `resource`, `query_processing`, `io_subsystem`.
    pub(super) states: [State; 4],
    pub(super) full_for: Duration,
    pub(super) crowded_for: Duration,
    pub(super) flush_age: Duration,
    pub(super) stalls: u64,
    pub(super) rows: Vec<Row>,
    /// Groups for which this instance is not fit.
    sick: BTreeMap<GroupId, Sick>,
}

impl Judge {
    /// A judge whose turns come `every` so often.
    #[must_use]
    pub fn new(limits: Limits, every: Duration, now: Instant) -> Judge {
        Judge {
            limits,
            every,
            last: now,
            late_turns: 0,
            late: Duration::ZERO,
            late_max: Duration::ZERO,
            full: Lasting::default(),
            crowded: Lasting::default(),
            last_refusals: 0,
            last_requests: 0,
            last_sample: None,
            flushes: BTreeMap::new(),
            slowest: Slowest { since: now, now: Duration::ZERO, before: Duration::ZERO },
            stalled_at: None,
            states: [State::Clean; 4],
            full_for: Duration::ZERO,
            crowded_for: Duration::ZERO,
            flush_age: Duration::ZERO,
            stalls: 0,
            rows: Vec::new(),
            sick: BTreeMap::new(),
        }
    }

    /// Connections there can be.
    #[must_use]
    pub fn sessions_max(&self) -> usize {
        self.limits.sessions_max
    }

    /// Looks at everything. Returns the groups for which the answer has changed.
    pub fn turn(&mut self, now: Instant, sample: &Sample, subjects: &[Subject]) -> Vec<Change> {
        let system = self.punctuality(now);
        let (resource, query_processing) = self.exhaustion(now, sample);
        let io = self.disks(now, subjects);
        self.states = [system, resource, query_processing, io];
        let age = now.saturating_duration_since(sample.taken);
        let rows: Vec<Row> = subjects.iter().map(|s| self.row(s, now, age)).collect();
        let changes = rows.iter().filter_map(|row| self.changed(now, row)).collect();
        self.rows = rows;
        self.sick.retain(|group, _| subjects.iter().any(|s| s.group == *group));
        changes
    }

    fn punctuality(&mut self, now: Instant) -> State {
        self.late = now.saturating_duration_since(self.last).saturating_sub(self.every);
        self.last = now;
        self.late_max = self.late_max.max(self.late);
        if self.limits.starved.is_zero() || self.late < self.limits.starved {
            self.late_turns = 0;
            return State::Clean;
        }
        self.late_turns += 1;
        if self.late_turns >= LATE_TURNS { State::Error } else { State::Warning }
    }

    fn exhaustion(&mut self, now: Instant, sample: &Sample) -> (State, State) {
        if self.last_sample != Some(sample.taken) {
            let refused = sample.refusals > self.last_refusals;
            let full = refused && sample.delta_bytes >= sample.delta_bytes_max / 8 * 7;
            let nothing_ends = sample.requests == self.last_requests;
            let crowded = sample.sessions >= self.limits.sessions_max && nothing_ends;
            self.full_for = self.full.is(now, full);
            self.crowded_for = self.crowded.is(now, crowded);
            self.last_refusals = sample.refusals;
            self.last_requests = sample.requests;
            self.last_sample = Some(sample.taken);
        }
        let state = |lasting: &Lasting, time: Duration| match lasting.0 {
            None => State::Clean,
            Some(_) if !self.limits.exhausted.is_zero() && time >= self.limits.exhausted => State::Error,
            Some(_) => State::Warning,
        };
        (state(&self.full, self.full_for), state(&self.crowded, self.crowded_for))
    }

    /// When the next turn is due.
    #[must_use]
    pub fn next_turn(&self) -> Duration {
        let watched = !self.limits.disk_stall_alone.is_zero()
            && self.flushes.values().any(|f| f.outrun.is_some() && f.age >= self.limits.disk_stall_alone / 4);
        if watched { WATCH_EVERY.min(self.every) } else { self.every }
    }

    /// How long a flush of a primary may take while every replica that could take its place has hardened all of it: twice as
    /// long as the slowest of late, but not less than `disk_stall_alone` and the time for its bytes. So a disk that is known to be
    /// slow is given time, and one that was quick is not waited for.
    fn stall_alone(&self, now: Instant, bytes: u64) -> Duration {
        let writing = Duration::from_millis(bytes.saturating_mul(1000) / BYTES_PER_SECOND);
        (self.limits.disk_stall_alone + writing).max(self.slowest.took(now) * 2)
    }

    /// Looks at the flushes under way, and remembers how long those took that have ended.
    fn watch_flushes(&mut self, now: Instant, subjects: &[Subject]) {
        let before = std::mem::take(&mut self.flushes);
        // What happened while this process slept is not known yet: it may have been said, and not been heard.
        let slept = self.late >= self.limits.disk_stall_alone / 4;
        for subject in subjects {
            for log in subject.databases.iter().filter(|log| !log.flushing_for.is_zero()) {
                let key = (subject.group, log.database.clone());
                let same = before.get(&key).filter(|f| f.age <= log.flushing_for);
                let outrun = same.and_then(|f| f.outrun).filter(|_| !slept).or(Some(now));
                let asleep = if slept { self.late } else { Duration::ZERO };
                let flush = Flush {
                    age: log.flushing_for,
                    slept: same.map_or(Duration::ZERO, |f| f.slept) + asleep,
                    outrun: outrun.filter(|_| subject.leads && log.outrun),
                    called: same.is_some_and(|f| f.called),
                };
                self.flushes.insert(key, flush);
            }
        }
        if before.values().chain(self.flushes.values()).any(|f| f.called) {
            self.stalled_at = Some(now);
        }
        for (key, flush) in before {
            let ended = self.flushes.get(&key).is_none_or(|f| f.age < flush.age);
            // A copy that changes its role is out of sight for a moment, and its flush not known again.
            let began = now.checked_sub(flush.age);
            if ended && began > self.stalled_at {
                self.slowest.note(now, flush.age.saturating_sub(flush.slept));
            }
        }
    }

    /// A flush that does not end: its database, and what is to be said of it.
    fn stalled(&self, s: &Subject, now: Instant) -> Option<(String, String)> {
        let (limit, alone) = (self.limits.disk_stall, self.limits.disk_stall_alone);
        let log = s.databases.iter().find(|log| {
            !limit.is_zero() && log.flushing_for >= limit
                || !alone.is_zero() && self.is_stalled_alone(s, log, now)
        })?;
        let (name, age) = (&log.database, log.flushing_for);
        let slowest = self.slowest.took(now);
        let others = if limit.is_zero() || age < limit {
            ", and the synchronized secondaries have written theirs".to_owned()
        } else if slowest * 2 > alone {
            format!(" (this disk has taken {} ms for one lately)", slowest.as_millis())
        } else {
            String::new()
        };
        let text =
            format!("the log of database '{name}' has not been written for {} ms{others}", age.as_millis());
        Some((name.clone(), text))
    }

    fn is_stalled_alone(&self, s: &Subject, log: &LogHealth, now: Instant) -> bool {
        if log.flushing_for.is_zero() {
            return false;
        }
        self.flushes.get(&(s.group, log.database.clone())).is_some_and(|flush| {
            let outrun = flush.outrun.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
            flush.called
                || log.flushing_for >= self.stall_alone(now, log.flushing_bytes)
                    && outrun >= self.limits.disk_stall_alone / 2
        })
    }

    fn disks(&mut self, now: Instant, subjects: &[Subject]) -> State {
        self.watch_flushes(now, subjects);
        let ages = subjects.iter().flat_map(|s| &s.databases).map(|log| log.flushing_for);
        let age = ages.max().unwrap_or_default();
        let limit = self.limits.disk_stall;
        if !limit.is_zero() && age >= limit && self.flush_age < limit {
            self.stalls += 1;
        }
        self.flush_age = age;
        // The product never calls this component worse.
        if !limit.is_zero() && age >= limit / 2 { State::Warning } else { State::Clean }
    }

    /// What is wrong with this instance as a member of the group, by the group's rules.
    fn row(&mut self, s: &Subject, now: Instant, sample_age: Duration) -> Row {
        let failed = s.databases.iter().find(|log| log.failed);
        let [system, resource, query_processing, _] = self.states;
        let mut state = if failed.is_some() { State::Warning } else { State::Clean };
        let reason = if let Some((database, why)) = self.stalled(s, now) {
            state = State::Error;
            if let Some(flush) = self.flushes.get_mut(&(s.group, database)) {
                flush.called = true;
            }
            Some(why)
        } else if let Some(log) = failed.filter(|_| s.db_failover) {
            state = State::Error;
            Some(format!("the log of database '{}' has failed (41653, DB_FAILOVER)", log.database))
        } else if s.level >= 2 && sample_age >= s.timeout {
            state = State::Error;
            Some(format!("nothing was heard of its health for {} ms", sample_age.as_millis()))
        } else if s.level >= 3 && system == State::Error {
            Some(format!("it gets the processor {} ms late", self.late.as_millis()))
        } else if s.level >= 4 && resource == State::Error {
            Some(format!("writes have been refused for lack of memory for {} s", self.full_for.as_secs()))
        } else if s.level >= 5 && query_processing == State::Error {
            Some(format!(
                "every connection has been taken and no request has ended for {} s",
                self.crowded_for.as_secs()
            ))
        } else {
            None
        };
        Row { subject: s.clone(), state, reason }
    }

    fn changed(&mut self, now: Instant, row: &Row) -> Option<Change> {
        let (group, name) = (row.subject.group, row.subject.name.clone());
        let change = |fitness| Some(Change { group, name, fitness });
        let Some(sick) = self.sick.get_mut(&group) else {
            let reason = row.reason.clone()?;
            let (calm, better) = Default::default();
            self.sick.insert(group, Sick { reason: reason.clone(), calm, better, recovering: false });
            return change(Fitness::Unfit(reason));
        };
        let fine = row.reason.is_none();
        let old = row.subject.databases.iter().any(|log| log.flushing_for >= OLD);
        let (calm, better) = (sick.calm.is(now, fine), sick.better.is(now, fine && !old));
        if let Some(reason) = row.reason.as_ref().filter(|_| sick.recovering) {
            sick.recovering = false;
            sick.reason.clone_from(reason);
            return change(Fitness::Unfit(reason.clone()));
        }
        if calm >= CALM {
            self.sick.remove(&group);
            return change(Fitness::Fit);
        }
        if better >= BETTER && !sick.recovering {
            sick.recovering = true;
            return change(Fitness::Recovering(sick.reason.clone()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(100);

    struct World {
        judge: Judge,
        now: Instant,
        sample: Sample,
        subject: Subject,
        /// How often it was said to be recovering.
        recovering: usize,
    }

    impl World {
        fn new(level: u8) -> World {
            let now = Instant::now();
            let limits = Limits {
                disk_stall: Duration::from_secs(2),
                disk_stall_alone: Duration::from_millis(400),
                starved: Duration::from_millis(500),
                exhausted: Duration::from_secs(10),
                sessions_max: 100,
            };
            let subject = Subject {
                group: GroupId(uuid::Uuid::nil()),
                name: "ag1".into(),
                level,
                timeout: Duration::from_secs(30),
                db_failover: false,
                leads: true,
                databases: vec![LogHealth {
                    database: "shop".into(),
                    flushing_for: Duration::ZERO,
                    flushing_bytes: 0,
                    failed: false,
                    outrun: false,
                }],
            };
            let judge = Judge::new(limits, EVERY, now);
            World { judge, now, sample: Sample::first(now), subject, recovering: 0 }
        }

        /// One turn after so much time, with a new sample unless it hangs. Why it became unfit, or that it is fit again.
        fn after(&mut self, time: Duration, sampled: bool) -> Option<Option<String>> {
            self.now += time;
            if sampled {
                self.sample.taken = self.now;
            }
            let changes = self.judge.turn(self.now, &self.sample, std::slice::from_ref(&self.subject));
            assert!(changes.len() <= 1);
            match changes.into_iter().next()?.fitness {
                Fitness::Fit => Some(None),
                Fitness::Unfit(reason) => Some(Some(reason)),
                Fitness::Recovering(_) => {
                    self.recovering += 1;
                    None
                }
            }
        }

        /// A flush begins now and does not end; the others harden what it holds or not. When it was called a stall, and why.
        fn flush(&mut self, outrun: bool, for_ms: u64) -> Option<(u128, String)> {
            let began = self.now;
            self.subject.databases[0].outrun = outrun;
            while self.now - began < Duration::from_millis(for_ms) {
                let next = self.judge.next_turn();
                self.subject.databases[0].flushing_for = self.now + next - began;
                if let Some(why) = self.after(next, true) {
                    return Some(((self.now - began).as_millis(), why.unwrap()));
                }
            }
            None
        }

        /// It ends.
        fn flushed(&mut self) {
            self.subject.databases[0].flushing_for = Duration::ZERO;
            assert_eq!(self.after(EVERY, true), None);
        }

        /// Turns for a while; what changed.
        fn turns(&mut self, time: Duration, sampled: bool) -> Vec<Option<String>> {
            let turns = time.as_millis() / EVERY.as_millis();
            (0..turns).filter_map(|_| self.after(EVERY, sampled)).collect()
        }
    }

    #[test]
    fn a_stalled_disk_counts_at_every_level_and_calm_ends_it() {
        let mut w = World::new(1);
        w.subject.databases[0].flushing_for = Duration::from_millis(1999);
        assert_eq!(w.after(EVERY, true), None);
        assert_eq!(w.judge.states[3], State::Warning);
        w.subject.databases[0].flushing_for = Duration::from_millis(2000);
        let why = w.after(EVERY, true).unwrap().unwrap();
        assert_eq!(why, "the log of database 'shop' has not been written for 2000 ms");
        assert_eq!(w.judge.rows[0].state, State::Error);
        w.subject.databases[0].flushing_for = Duration::ZERO;
        assert!(w.turns(Duration::from_secs(4), true).is_empty());
        assert_eq!(w.recovering, 1);
        // Another stall begins the calm anew.
        w.subject.databases[0].flushing_for = Duration::from_secs(3);
        assert!(w.after(EVERY, true).unwrap().unwrap().contains("3000 ms"));
        w.subject.databases[0].flushing_for = Duration::ZERO;
        assert!(w.turns(Duration::from_millis(4900), true).is_empty());
        assert_eq!(w.turns(Duration::from_secs(1), true), [None]);
        assert_eq!((w.judge.stalls, w.recovering), (2, 2));
    }

    #[test]
    fn it_is_recovering_when_flushes_have_been_quick_for_a_moment() {
        let mut w = World::new(1);
        assert!(w.flush(true, 3000).is_some());
        w.subject.databases[0].flushing_for = Duration::ZERO;
        w.turns(Duration::from_millis(300), true);
        assert_eq!(w.recovering, 0);
        // Still slow.
        w.subject.databases[0].flushing_for = OLD;
        w.turns(Duration::from_secs(1), true);
        assert_eq!(w.recovering, 0);
        w.subject.databases[0].flushing_for = OLD / 2;
        w.turns(Duration::from_millis(300), true);
        assert_eq!(w.recovering, 0);
        assert_eq!(w.after(EVERY, true), None);
        assert_eq!(w.recovering, 1);
        // Fit when nothing was wrong for long, however slow it is.
        w.subject.databases[0].flushing_for = OLD;
        assert_eq!(w.turns(CALM, true), [None]);
        assert_eq!(w.recovering, 1);
    }

    #[test]
    fn a_disk_that_stands_still_alone_is_given_a_short_time() {
        let mut w = World::new(1);
        let (after, why) = w.flush(true, 3000).unwrap();
        assert_eq!(after, 400);
        let long = "the log of database 'shop' has not been written for 400 ms, and the synchronized secondaries have written theirs";
        assert_eq!(why, long);
        // The role is gone; the flush is not: it goes on to count until it ends.
        w.subject.leads = false;
        w.subject.databases[0].outrun = false;
        assert!(w.turns(Duration::from_secs(20), true).is_empty());
        w.subject.databases[0].flushing_for = Duration::ZERO;
        assert!(w.turns(Duration::from_millis(4900), true).is_empty());
        assert_eq!(w.turns(Duration::from_millis(200), true), [None]);
        // That was a stall: it is not what this disk usually takes.
        w.subject.leads = true;
        assert_eq!(w.flush(true, 3000).unwrap().0, 400);
    }

    #[test]
    fn a_stall_that_was_lost_sight_of_does_not_make_the_disk_a_slow_one() {
        let mut w = World::new(1);
        assert_eq!(w.flush(true, 3000).unwrap().0, 400);
        // The copy changes its role, and cuts its log on the disk that stands still.
        w.subject.leads = false;
        let databases = std::mem::take(&mut w.subject.databases);
        assert_eq!(w.after(EVERY, true), None);
        w.subject.databases = databases;
        for _ in 0..10 {
            w.subject.databases[0].flushing_for += EVERY;
            w.after(EVERY, true);
        }
        w.subject.databases[0].flushing_for = Duration::ZERO;
        w.turns(CALM * 2, true);
        w.subject.leads = true;
        assert_eq!(w.flush(true, 3000).unwrap().0, 400);
    }

    #[test]
    fn disks_that_stand_still_together_are_given_the_long_time() {
        let mut w = World::new(1);
        let (after, why) = w.flush(false, 3000).unwrap();
        assert_eq!(
            (after, why.as_str()),
            (2000, "the log of database 'shop' has not been written for 2000 ms")
        );
    }

    #[test]
    fn the_others_must_have_been_ahead_for_half_of_the_short_time() {
        let mut w = World::new(1);
        assert_eq!(w.flush(false, 300), None);
        let began = w.now - Duration::from_millis(300);
        w.subject.databases[0].outrun = true;
        let mut called = None;
        while called.is_none() {
            let next = w.judge.next_turn();
            w.subject.databases[0].flushing_for = w.now + next - began;
            called = w.after(next, true);
        }
        // Seen at 400 ms, and 200 ms more.
        assert_eq!((w.now - began).as_millis(), 600);
    }

    #[test]
    fn a_secondary_is_not_judged_by_the_short_time() {
        let mut w = World::new(1);
        w.subject.leads = false;
        assert_eq!(w.flush(true, 3000).unwrap().0, 2000);
    }

    #[test]
    fn a_slow_disk_is_given_twice_what_it_took_lately() {
        let mut w = World::new(1);
        assert_eq!(w.flush(true, 350), None);
        w.flushed();
        assert_eq!(w.flush(true, 650), None, "twice 350 ms");
        w.flushed();
        // Twice 650 ms.
        assert_eq!(w.flush(true, 3000).unwrap().0, 1300);
        w.subject.databases[0].flushing_for = Duration::ZERO;
        // Ten minutes later nobody remembers.
        w.turns(REMEMBERED * 2, true);
        assert_eq!(w.flush(true, 3000).unwrap().0, 400);
        assert!(w.judge.slowest.took(w.now) < EVERY * 2);
    }

    #[test]
    fn a_disk_is_not_slow_because_the_process_stood_still() {
        let mut w = World::new(1);
        assert_eq!(w.flush(true, 100), None);
        let databases = &mut w.subject.databases[0];
        databases.flushing_for += Duration::from_secs(1);
        assert_eq!(w.after(Duration::from_secs(1), true), None);
        w.flushed();
        assert_eq!(w.flush(true, 3000).unwrap().0, 400);
    }

    #[test]
    fn a_large_flush_is_given_time_for_its_bytes() {
        let mut w = World::new(1);
        w.subject.databases[0].flushing_bytes = 8 << 20;
        assert_eq!(w.flush(true, 3000).unwrap().0, 900);
    }

    #[test]
    fn what_happened_while_it_slept_says_nothing() {
        let mut w = World::new(1);
        assert_eq!(w.flush(true, 200), None);
        w.subject.databases[0].flushing_for = Duration::from_secs(1);
        assert_eq!(w.after(Duration::from_millis(800), true), None, "it has just woken");
        w.flushed();
    }

    #[test]
    fn a_failed_log_counts_with_db_failover_only() {
        let mut w = World::new(5);
        w.subject.databases[0].failed = true;
        assert_eq!(w.after(EVERY, true), None);
        assert_eq!(w.judge.rows[0].state, State::Warning);
        w.subject.db_failover = true;
        assert!(w.after(EVERY, true).unwrap().unwrap().contains("41653"));
    }

    #[test]
    fn silence_counts_from_level_two() {
        for (level, unfit) in [(1, false), (2, true)] {
            let mut w = World::new(level);
            assert!(w.turns(Duration::from_millis(29_900), false).is_empty());
            assert_eq!(w.turns(EVERY, false).len(), usize::from(unfit), "level {level}");
        }
    }

    #[test]
    fn starvation_counts_from_level_three_and_not_for_one_pause() {
        for (level, unfit) in [(2, false), (3, true)] {
            let mut w = World::new(level);
            // A machine that was stopped for a minute was stopped once.
            assert_eq!(w.after(Duration::from_secs(60), true), None);
            assert_eq!(w.after(EVERY, true), None);
            for _ in 0..2 {
                assert_eq!(w.after(Duration::from_millis(700), true), None);
            }
            assert_eq!(w.after(Duration::from_millis(700), true).is_some(), unfit, "level {level}");
        }
    }

    #[test]
    fn refused_writes_count_from_level_four_when_they_go_on() {
        for (level, unfit) in [(3, false), (4, true)] {
            let mut w = World::new(level);
            (w.sample.delta_bytes, w.sample.delta_bytes_max) = (1000, 1000);
            let mut changes = 0;
            for _ in 0..120 {
                w.sample.refusals += 1;
                changes += usize::from(w.after(EVERY, true).is_some());
            }
            assert_eq!(changes, usize::from(unfit), "level {level}");
        }
    }

    #[test]
    fn connections_used_up_count_at_level_five_when_nothing_ends() {
        for (level, ends, unfit) in [(4, false, false), (5, false, true), (5, true, false)] {
            let mut w = World::new(level);
            w.sample.sessions = 100;
            let mut changes = 0;
            for _ in 0..120 {
                w.sample.requests += u64::from(ends);
                changes += usize::from(w.after(EVERY, true).is_some());
            }
            assert_eq!(changes, usize::from(unfit), "level {level}");
        }
    }

    #[test]
    fn zero_switches_a_rule_off() {
        let mut w = World::new(5);
        w.judge.limits = Limits {
            disk_stall: Duration::ZERO,
            disk_stall_alone: Duration::ZERO,
            starved: Duration::ZERO,
            ..w.judge.limits
        };
        w.subject.databases[0].flushing_for = Duration::from_secs(60);
        for _ in 0..5 {
            assert_eq!(w.after(Duration::from_secs(5), true), None);
        }
    }
}
