//! The failover matrix: how long clients wait, and what they lose, when the primary of a group fails in one way or another.
//!
//! Three machines with a database in synchronous copies that heal themselves (`System`: Evenkeel with a group and a listener,
//! or PostgreSQL with Patroni and etcd); [writers](crate::writers) with a ledger that know the three addresses. A run: one fault to the primary, until every writer goes on; the fault is taken back, until three copies are
//! synchronized; every acknowledged row is looked for. The gap is the longest time between two acknowledgements of one writer,
//! and a run counts with its slowest writer.

mod group;
#[cfg(feature = "postgres")]
mod patroni;
mod system;
mod waiter;

use crate::machines::Machines;
use crate::progress::Progress;
use crate::tpcc;
use crate::writers::{Acknowledged, Door, Settings as Writing, Writers, now_ns};
use anyhow::{Context, Result, ensure};
use keel_workload::Cell;
use keel_workload::tpcc::run::{Ledger, Terminal};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use system::System;
use waiter::Waiter;

const REPLICAS: usize = 3;
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);
/// How long a server may take to answer one who looks.
const ANSWER: Duration = Duration::from_secs(2);
/// How long writers may take to go on before a run counts as failed.
const GO_ON: Duration = Duration::from_secs(60);
/// How long a group may take to become whole again.
const WHOLE: Duration = Duration::from_secs(180);
/// So many runs in a row that come to nothing end the matrix, where the system cannot be made anew.
const BROKEN_MAX: usize = 3;

/// What is failed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Evenkeel: three `keel serve`, a group and a listener
    Keel,
    /// PostgreSQL, Patroni and etcd as Debian packages them, with Patroni's default settings; as root (only in builds with the
    /// feature `postgres`)
    Patroni,
    /// The same, as fast as Patroni may be set
    PatroniFast,
}

impl Kind {
    /// In reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Keel => "Evenkeel",
            Kind::Patroni => "Patroni",
            Kind::PatroniFast => "Patroni, fast",
        }
    }

    /// Whether its machines are always network namespaces.
    #[must_use]
    pub fn needs_root(self) -> bool {
        self != Kind::Keel
    }
}

/// What happens to the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The database's process is killed (kill -9): its sockets close
    Kill,
    /// The process is stopped (SIGSTOP): its sockets stay, and nothing answers
    Stop,
    /// The machine is cut off from everybody, both ways
    Partition,
    /// Nothing reaches the machine; what it sends arrives
    OneWayIn,
    /// The machine receives; nothing it sends arrives
    OneWayOut,
    /// Its file system stops: writes do not end
    Disk,
    /// Cut off and killed at once: no socket is closed
    PowerOff,
    /// A secondary stands still (SIGSTOP) for `--behind-seconds`, goes on and is waited for until it is synchronized; then the
    /// primary is killed. Only that counts
    Behind,
    /// ALTER AVAILABILITY GROUP … FAILOVER on a secondary; Patroni's switchover
    Planned,
    /// A rolling upgrade: secondaries are stopped in order and started again one after the other, then one of them takes over by plan and
    /// the old primary's turn comes. All of it counts
    Upgrade,
}

impl Fault {
    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Stop => "stop",
            Fault::Partition => "partition",
            Fault::OneWayIn => "one-way-in",
            Fault::OneWayOut => "one-way-out",
            Fault::Disk => "disk",
            Fault::PowerOff => "power-off",
            Fault::Behind => "behind",
            Fault::Planned => "planned",
            Fault::Upgrade => "upgrade",
        }
    }

    /// Whether only root can make it happen.
    #[must_use]
    pub fn needs_root(self) -> bool {
        !matches!(self, Fault::Kill | Fault::Stop | Fault::Behind | Fault::Planned | Fault::Upgrade)
    }
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is failed over.
    pub kind: Kind,
    /// What happens, one after the other.
    pub faults: Vec<Fault>,
    /// How often each.
    pub runs: usize,
    /// A system is made anew for each fault, and once a run came to nothing.
    pub afresh: bool,
    /// For how long the group is left alone before that, to see whether it fails over for no reason.
    pub calm: Duration,
    /// The writers.
    pub writers: Writing,
    /// How long a secondary stands still before [`Fault::Behind`].
    pub behind: Duration,
    /// Writing behind each failover, so that a writer that has not noticed yet is not taken for one that goes on.
    pub settle: Duration,
    /// TPROC-C terminals beside the writers, through the listener; none for 0 clients.
    pub load: tpcc::Settings,
    /// The listener has an address of its own that moves with the primary, and clients know no other.
    pub moving_address: bool,
    /// What the servers run before [`Fault::Upgrade`]; what they run after it, without.
    pub from: Option<PathBuf>,
    /// More options of `keel serve`.
    pub options: Vec<String>,
    /// More lines for `[cluster]` of its configuration.
    pub cluster: Vec<String>,
}

/// One fault, from a whole group to a whole group.
#[derive(Clone, Debug)]
pub struct Run {
    /// What happened.
    pub fault: Fault,
    /// The longest wait of each writer, ms.
    pub gaps_ms: Vec<f64>,
    /// The same for the time in which the failed instance came back.
    pub return_gaps_ms: Vec<f64>,
    /// Acknowledged rows that are not there.
    pub lost: Vec<Lost>,
    /// Every writer went on, and the group became whole, in time.
    pub healed: bool,
    /// The group's own record of the failover, ms after the old primary was last heard: when the new one was open.
    pub open_ms: Option<i64>,
    /// That record in words, where there is one.
    pub record: Option<String>,
}

impl Run {
    /// The slowest writer's gap, ms.
    #[must_use]
    pub fn gap_ms(&self) -> f64 {
        self.gaps_ms.iter().copied().fold(0.0, f64::max)
    }

    /// In one line.
    fn told(&self) -> String {
        let open = self.open_ms.map_or(String::new(), |ms| format!(", open after {ms} ms"));
        let healed = if self.healed { "" } else { ", not healed" };
        let (gap, back) = (self.gap_ms(), self.return_gap_ms());
        format!("gap {gap:.0} ms{open}, on return {back:.0} ms, lost {}{healed}", self.lost.len())
    }

    /// The slowest writer's gap while the failed instance came back, ms.
    #[must_use]
    pub fn return_gap_ms(&self) -> f64 {
        self.return_gaps_ms.iter().copied().fold(0.0, f64::max)
    }
}

/// An acknowledged row that was looked for and not there.
#[derive(Clone, Debug)]
pub struct Lost {
    /// Whose.
    pub writer: usize,
    /// Its number.
    pub n: i64,
    /// When it was acknowledged, ms after the fault; less than 0 before it.
    pub after_ms: f64,
    /// It was there when it was looked for once more: not lost, but an answer that was too old.
    pub seen_later: bool,
}

impl fmt::Display for Lost {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { writer, n, after_ms, .. } = self;
        let what = if self.seen_later { "was there only when looked for again" } else { "is lost" };
        write!(to, "row {n} of writer {writer}, acknowledged {after_ms:.1} ms after the fault, {what}")
    }
}

/// A time in which nothing was done to the group.
#[derive(Clone, Debug)]
pub struct Calm {
    /// How long.
    pub time: Duration,
    /// Failovers all the same, by the records of all instances.
    pub failovers: i64,
    /// The longest wait of each writer, ms.
    pub gaps_ms: Vec<f64>,
    /// Acknowledged rows that are not there.
    pub lost: Vec<Lost>,
}

/// What all runs gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The time before them, if any was asked for.
    pub calm: Option<Calm>,
    /// All of them.
    pub runs: Vec<Run>,
    /// Tries of writers that failed.
    pub failures: u64,
    /// Transactions of the load beside the writers.
    pub load_done: u64,
    /// What was lost or not healed; empty is well.
    pub violations: Vec<String>,
    /// Runs that were asked for and not tried with this system any more, because one or more came to nothing.
    pub left_out: usize,
}

impl Outcome {
    /// Adds what another system's runs gave.
    pub fn join(&mut self, other: Outcome) {
        self.calm = self.calm.take().or(other.calm);
        self.runs.extend(other.runs);
        self.failures += other.failures;
        self.load_done += other.load_done;
        self.violations.extend(other.violations);
    }
}

/// Makes the group and lets each fault happen to it.
///
/// # Errors
/// Without root where a fault needs it; when the group cannot be made, or does not become whole.
pub fn run(binary: &Path, dir: &Path, settings: &Settings, progress: &Progress) -> Result<Outcome> {
    progress.say("making the group");
    let disks = settings.faults.contains(&Fault::Disk);
    let needed = settings.kind.needs_root() || settings.faults.iter().any(|fault| fault.needs_root());
    let apart = needed || settings.moving_address;
    let machines =
        if apart { Machines::apart(dir, REPLICAS, disks)? } else { Machines::plain(dir, REPLICAS)? };
    let load = (settings.load.clients > 0).then_some(settings.load);
    let system = started(settings, binary, dir, &machines, load)?;
    let matrix = &mut Matrix { system, machines };
    let writers = Writers::start(&matrix.system.door(), &settings.writers)?;
    let (stop, told) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
    let door = matrix.system.door();
    let (calm, tried) = std::thread::scope(|scope| {
        for n in 0..settings.load.clients {
            let (stop, told, door) = (&stop, &told, &*door);
            scope.spawn(move || {
                let ledger = terminal(n, door, settings, stop);
                told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(ledger);
            });
        }
        let calm = matrix.calm(settings.calm, &writers, progress);
        let all = calm.map(|calm| {
            let tried = matrix.all(settings, &writers, progress);
            (calm, tried)
        });
        stop.store(true, Ordering::Relaxed);
        all
    })?;
    let told = told.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let load_done = told.iter().map(|(_, done)| done).sum();
    let ledgers: Vec<Ledger> = told.into_iter().map(|(ledger, _)| ledger).collect();
    let Tried { runs, broken, left_out } = tried;
    let mut violations = violations(calm.as_ref(), &runs);
    violations.extend(broken);
    if let Some(load) = load {
        progress.say("checking the load's ledger");
        // What the runs gave is not lost with it.
        let checked = matrix.system.connect().and_then(|mut to| tpcc::check_copy(&mut *to, &ledgers, load));
        violations.extend(
            checked.unwrap_or_else(|e| vec![format!("the load's ledger could not be checked: {e:#}")]),
        );
    }
    let failures = writers.failures();
    drop(writers);
    Ok(Outcome { calm, runs, failures, load_done, violations, left_out })
}

fn started(
    settings: &Settings,
    binary: &Path,
    dir: &Path,
    machines: &Machines,
    load: Option<tpcc::Settings>,
) -> Result<Box<dyn System>> {
    match settings.kind {
        Kind::Keel => Ok(Box::new(group::Group::start(binary, dir, machines, settings, load)?)),
        #[cfg(feature = "postgres")]
        Kind::Patroni | Kind::PatroniFast => {
            let fast = settings.kind == Kind::PatroniFast;
            Ok(Box::new(patroni::Patroni::start(dir, machines, fast, load)?))
        }
        #[cfg(not(feature = "postgres"))]
        _ => anyhow::bail!("built without PostgreSQL: cargo build --release -p keel --features postgres"),
    }
}

/// What was lost or not healed.
fn violations(calm: Option<&Calm>, runs: &[Run]) -> Vec<String> {
    let mut violations = Vec::new();
    if let Some(calm) = calm {
        if calm.failovers > 0 {
            violations.push(format!("{} failovers for no reason", calm.failovers));
        }
        violations.extend(calm.lost.iter().map(|row| format!("left alone: {row}")));
    }
    for run in runs {
        let name = run.fault.name();
        violations.extend(run.lost.iter().map(|row| format!("{name}: {row}")));
        if !run.healed {
            violations.push(format!("{name}: a client did not go on, or the group did not become whole"));
        }
    }
    violations
}

/// One terminal of the load, whatever happens to the group.
fn terminal(n: u64, door: &dyn Door, settings: &Settings, stop: &AtomicBool) -> (Ledger, u64) {
    let mut terminal = Terminal::new(n, settings.load.scale, settings.load.seed);
    let (mut host, mut done) = (n as usize, 0);
    while !stop.load(Ordering::Relaxed) {
        if let Ok(mut session) = door.open(host, settings.writers.timeout) {
            while !stop.load(Ordering::Relaxed) && terminal.step(&mut *session).is_ok() {
                done += 1;
            }
        }
        host += 1;
        std::thread::sleep(LOOK_EVERY);
    }
    (terminal.ledger, done)
}

/// What came of the runs of one system.
#[derive(Default)]
struct Tried {
    runs: Vec<Run>,
    /// Why others came to nothing.
    broken: Vec<String>,
    left_out: usize,
}

struct Matrix {
    // Processes end before their machines are removed.
    system: Box<dyn System>,
    machines: Machines,
}

impl Matrix {
    fn primary(&self) -> Option<usize> {
        (0..REPLICAS).find(|node| self.system.is_primary(*node))
    }

    /// Leaves the group alone for so long.
    fn calm(&self, time: Duration, writers: &Writers, progress: &Progress) -> Result<Option<Calm>> {
        if time.is_zero() {
            return Ok(None);
        }
        let ready = within(WHOLE, || self.system.is_whole() && writers.all_go_on(0));
        ensure!(ready, "the group is not whole, or the writers do not write");
        let (before, began) = (self.failovers()?, now_ns());
        progress.wait("left alone", time);
        let gaps_ms = writers.gaps(began, now_ns());
        let failovers = self.failovers()? - before;
        ensure!(within(WHOLE, || self.primary().is_some()), "the group has no primary");
        let lost = self.lost(&writers.take(), began)?;
        Ok(Some(Calm { time, failovers, gaps_ms, lost }))
    }

    fn failovers(&self) -> Result<i64> {
        let mut on_record = None;
        let looked = within(WHOLE, || {
            on_record = self.system.failovers().ok();
            on_record.is_some()
        });
        ensure!(looked, "nobody says how many failovers there were");
        Ok(on_record.unwrap_or_default())
    }

    /// All runs, and what came to nothing: that is mended as well as can be, and the next one goes on.
    fn all(&mut self, settings: &Settings, writers: &Writers, progress: &Progress) -> Tried {
        let mut tried = Tried { left_out: settings.faults.len() * settings.runs, ..Tried::default() };
        let mut pace = Pace::new(settings);
        let mut in_a_row = 0;
        for (fault, n) in settings.faults.iter().flat_map(|f| (1..=settings.runs).map(move |n| (*f, n))) {
            let what = format!("{}, run {n} of {}", fault.name(), settings.runs);
            progress.say(&format!("{what}; {}", pace.left()));
            let began = Instant::now();
            tried.left_out -= 1;
            match self.one(fault, settings, writers) {
                Ok(run) => {
                    in_a_row = 0;
                    progress.line(&format!("{what}: {}", run.told()));
                    if let Some(record) = run.record.as_ref().filter(|_| fault == Fault::Behind) {
                        progress.line(record);
                    }
                    let healed = run.healed;
                    tried.runs.push(run);
                    if settings.afresh && !healed {
                        break;
                    }
                }
                Err(error) => {
                    in_a_row += 1;
                    progress.line(&format!("{what}: {error:#}"));
                    tried.broken.push(format!("{what} came to nothing: {error:#}"));
                    // Also before the end: a process whose disk stands still cannot even be killed.
                    self.mend();
                    if settings.afresh {
                        break;
                    }
                    if in_a_row == BROKEN_MAX {
                        tried.broken.push(format!(
                            "{BROKEN_MAX} runs in a row came to nothing: the rest was left out"
                        ));
                        break;
                    }
                }
            }
            pace.done(fault, began.elapsed());
            if n == settings.runs {
                progress.line(&format!("{} is done; {}", fault.name(), pace.left()));
            }
        }
        tried
    }

    /// Takes back whatever fault a run may have left behind, and starts what does not answer.
    fn mend(&mut self) {
        for node in 0..REPLICAS {
            // Most of this is not there to be taken back.
            let _ = self.machines.freeze(node, false);
            let _ = self.machines.cut(node, false);
            let _ = self.machines.deafen(node, false);
            let _ = self.machines.mute(node, false);
            let _ = self.system.stop(node, false);
        }
        for node in 0..REPLICAS {
            if !self.system.answers(node) {
                // The next run says what is missing.
                let _ = self.system.start_again(node);
            }
        }
    }

    /// From a whole group to a whole group.
    fn one(&mut self, fault: Fault, settings: &Settings, writers: &Writers) -> Result<Run> {
        let ready = within(WHOLE, || self.system.is_whole() && writers.all_go_on(0));
        ensure!(ready, "the group is not whole, or the writers do not write");
        let waiter = settings.moving_address.then(|| Waiter::start(&*self.system.door())).transpose()?;
        std::thread::sleep(settings.settle);
        let old = self.primary().context("there is no primary")?;
        let target = (old + 1) % REPLICAS;
        if fault == Fault::Behind {
            self.fall_behind(usize::from(old == 0), settings.behind)?;
        }
        let began = now_ns();
        self.inject(fault, old, target)?;
        let mut went_on = within(GO_ON, || writers.all_go_on(began + 1_000_000));
        // A writer whose connection the fault has not touched yet would look as if it went on.
        std::thread::sleep(settings.settle);
        went_on &= within(GO_ON, || writers.all_go_on(began + 1_000_000));
        went_on &= waiter.is_none_or(|waiter| waiter.is_over(GO_ON));
        let ended = now_ns();
        let gaps_ms = writers.gaps(began, ended);
        let new = (0..REPLICAS).filter(|node| *node != old).find(|node| self.system.is_primary(*node));
        let open_ms = new.and_then(|node| self.system.opened(node));
        let record = new.and_then(|node| self.system.record(node));
        self.heal(fault, old)?;
        let whole = within(WHOLE, || self.system.is_whole());
        let back = within(GO_ON, || writers.all_go_on(ended));
        let return_gaps_ms = writers.gaps(ended, now_ns());
        let lost = self.lost(&writers.take(), began)?;
        Ok(Run { fault, gaps_ms, return_gaps_ms, lost, healed: went_on && whole && back, open_ms, record })
    }

    /// The secondary that is preferred by its place stands still, comes back and is synchronized.
    fn fall_behind(&mut self, node: usize, time: Duration) -> Result<()> {
        self.system.stop(node, true)?;
        std::thread::sleep(time);
        self.system.stop(node, false)?;
        ensure!(within(WHOLE, || self.system.is_whole()), "who stood still did not become synchronized");
        Ok(())
    }

    /// Secondaries first, the primary last, when it is none any more.
    fn upgrade(&mut self, old: usize, target: usize) -> Result<()> {
        for node in (0..REPLICAS).filter(|node| *node != old) {
            self.replace(node)?;
        }
        self.system.fail_over(old, target)?;
        ensure!(within(WHOLE, || self.system.is_whole()), "the group is not whole after the failover");
        self.replace(old)
    }

    fn replace(&mut self, node: usize) -> Result<()> {
        self.system.replace(node)?;
        ensure!(within(WHOLE, || self.system.is_whole()), "who was replaced did not become synchronized");
        Ok(())
    }

    fn inject(&mut self, fault: Fault, old: usize, target: usize) -> Result<()> {
        match fault {
            Fault::Kill | Fault::Behind => self.system.kill(old),
            Fault::Stop => self.system.stop(old, true),
            Fault::Partition => self.machines.cut(old, true),
            Fault::OneWayIn => self.machines.deafen(old, true),
            Fault::OneWayOut => self.machines.mute(old, true),
            Fault::Disk => self.machines.freeze(old, true),
            Fault::PowerOff => {
                self.machines.cut(old, true)?;
                self.system.power_off(old)?;
                self.machines.forget_free(old)
            }
            Fault::Planned => self.system.fail_over(old, target),
            Fault::Upgrade => self.upgrade(old, target),
        }
    }

    fn heal(&mut self, fault: Fault, old: usize) -> Result<()> {
        match fault {
            Fault::Kill | Fault::Behind => self.system.start_again(old),
            Fault::Stop => self.system.stop(old, false),
            Fault::Partition => self.machines.cut(old, false),
            Fault::OneWayIn => self.machines.deafen(old, false),
            Fault::OneWayOut => self.machines.mute(old, false),
            Fault::Disk => self.machines.freeze(old, false),
            Fault::PowerOff => {
                self.machines.cut(old, false)?;
                self.system.start_again(old)
            }
            Fault::Planned | Fault::Upgrade => Ok(()),
        }
    }

    /// Acknowledged rows that are not there. Asked again when the answer does not come: these rows are looked for only once; and
    /// when some are missing, to tell what is lost from what was only not seen.
    fn lost(&self, acknowledged: &[Vec<Acknowledged>], fault: u64) -> Result<Vec<Lost>> {
        let first = self.answered(acknowledged, fault)?;
        if first.is_empty() {
            return Ok(first);
        }
        let again = self.answered(acknowledged, fault)?;
        let seen = |row: &Lost| !again.iter().any(|other| (other.writer, other.n) == (row.writer, row.n));
        Ok(first.into_iter().map(|row| Lost { seen_later: seen(&row), ..row }).collect())
    }

    fn answered(&self, acknowledged: &[Vec<Acknowledged>], fault: u64) -> Result<Vec<Lost>> {
        let mut missing = self.missing(acknowledged, fault);
        within(GO_ON, || {
            if missing.is_err() {
                missing = self.missing(acknowledged, fault);
            }
            missing.is_ok()
        });
        missing
    }

    fn missing(&self, acknowledged: &[Vec<Acknowledged>], fault: u64) -> Result<Vec<Lost>> {
        let mut session = self.system.connect()?;
        let mut lost = Vec::new();
        for (writer, rows) in acknowledged.iter().enumerate() {
            let numbers = || rows.iter().map(|(n, _)| *n);
            let (Some(low), Some(high)) = (numbers().min(), numbers().max()) else { continue };
            let sql = format!(
                "SELECT n FROM ledger WHERE campaign = 1 AND writer = {writer} AND n BETWEEN {low} AND {high}"
            );
            let found = session.query(&sql)?;
            let there = found.iter().filter_map(|row| match row.first() {
                Some(Cell::Int(n)) => Some(*n),
                _ => None,
            });
            let there: BTreeSet<i64> = there.collect();
            let after_ms = |at: u64| (at as f64 - fault as f64) / 1e6;
            let gone = rows.iter().filter(|(n, _)| !there.contains(n));
            lost.extend(gone.map(|(n, at)| Lost {
                writer,
                n: *n,
                after_ms: after_ms(*at),
                seen_later: false,
            }));
        }
        Ok(lost)
    }
}

/// How long runs take, to say how long the rest will.
struct Pace {
    /// Each fault, the runs left of it, and the time and number of those that are done.
    faults: Vec<(Fault, usize, Duration, u32)>,
}

impl Pace {
    fn new(settings: &Settings) -> Pace {
        let faults = settings.faults.iter().map(|fault| (*fault, settings.runs, Duration::ZERO, 0));
        Pace { faults: faults.collect() }
    }

    fn done(&mut self, fault: Fault, took: Duration) {
        if let Some((_, left, time, done)) = self.faults.iter_mut().find(|f| f.0 == fault && f.1 > 0) {
            (*left, *time, *done) = (*left - 1, *time + took, *done + 1);
        }
    }

    /// The rest, each run taken to be as long as those of its fault, or of all others, were.
    fn rest(&self) -> Option<Duration> {
        let (time, done) = self.faults.iter().fold((Duration::ZERO, 0), |(t, n), f| (t + f.2, n + f.3));
        let mean = time.checked_div(done)?;
        let of = |f: &(Fault, usize, Duration, u32)| {
            f.2.checked_div(f.3).unwrap_or(mean) * u32::try_from(f.1).unwrap_or(u32::MAX)
        };
        Some(self.faults.iter().map(of).sum())
    }

    fn left(&self) -> String {
        match self.rest() {
            None => "how long it takes is not known yet".into(),
            Some(rest) => {
                let minutes = rest.as_secs().div_ceil(60);
                format!("about {} h {:02} min left", minutes / 60, minutes % 60)
            }
        }
    }
}

/// Looks until it is so, less often the longer it takes: looking costs what is looked at. Whether it came to that in time.
fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        let waited = began.elapsed();
        if waited >= time {
            return false;
        }
        std::thread::sleep((waited / 20).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let fault = |fault, left| (fault, left, Duration::ZERO, 0);
        let mut pace = Pace { faults: vec![fault(Fault::Kill, 3), fault(Fault::Disk, 2)] };
        assert_eq!(pace.rest(), None);
        pace.done(Fault::Kill, Duration::from_secs(4));
        assert_eq!(pace.rest(), Some(Duration::from_secs(2 * 4 + 2 * 4)));
        pace.done(Fault::Disk, Duration::from_secs(10));
        assert_eq!(pace.rest(), Some(Duration::from_secs(2 * 4 + 10)));
        pace.done(Fault::Disk, Duration::from_secs(3600 * 2));
        assert_eq!(pace.left(), "about 0 h 01 min left");
    }
}
