//! Clients that write one row after another through a group's listener, whatever happens to the group, and keep a ledger with
//! times: what a failover costs is the longest time in which one of them was not acknowledged anything.
//!
//! They are threads with a client of our own, or programs with a stock driver: one process for each writer, told by
//! its environment (`KEEL_HOSTS`, `KEEL_PORT`, `KEEL_PASSWORD`, `KEEL_CAMPAIGN`, `KEEL_FIRST_WRITER`, `KEEL_WRITERS`, `KEEL_PACE_MS`,
//! `KEEL_TIMEOUT_MS`, `KEEL_LOGINS_FIRST`) what to do. It prints `A writer n time_ns` for each acknowledged row of
//! `ledger (campaign, writer, n)`, and `E writer text` for each failure.

use anyhow::{Context, Result};
use keel_workload::Connection;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An acknowledged row: its number, and when, in nanoseconds of the system's clock.
pub type Acknowledged = (i64, u64);
/// Between two tries of a writer whose server is gone.
const PAUSE: Duration = Duration::from_millis(1);

type Session = Box<dyn Connection + Send>;

/// How they write.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many with each program, or with our own client: at least 1.
    pub count: usize,
    /// Pause between two rows.
    pub pace: Duration,
    /// How long a client waits for an answer before it tries the next address.
    pub timeout: Duration,
    /// Programs with a driver, side by side: `count` writers with the first come before those with the second. Without any,
    /// a client of our own.
    pub programs: Vec<String>,
    /// How often each program's writer logs in and is thrown out before it writes: an application that has run for long does neither for
    /// the first time, which costs Java a second.
    pub logins_first: u32,
}

impl Settings {
    /// All writers.
    #[must_use]
    pub fn all(&self) -> usize {
        self.count * self.programs.len().max(1)
    }
}

/// The way to who takes writes, for clients that know several machines.
pub trait Door: Send + Sync {
    /// A session by way of one machine (any number: they go round), in the database of the ledger. Waits no longer than
    /// `patience` for any answer.
    ///
    /// # Errors
    /// When nobody answers there in time, or who does takes no writes.
    fn open(&self, host: usize, patience: Duration) -> Result<Box<dyn Connection + Send>>;
    /// The machines' addresses.
    fn hosts(&self) -> Vec<String>;
    /// Their port.
    fn port(&self) -> u16;
    /// Of the administrator.
    fn password(&self) -> &str;
}

/// See the module. Stopped when dropped.
pub struct Writers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    programs: Vec<Child>,
}

struct Shared {
    stop: AtomicBool,
    acknowledged: Vec<Mutex<Vec<Acknowledged>>>,
    failures: AtomicU64,
}

/// Now, nanoseconds of the system's clock.
#[must_use]
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Shared {
    fn told(&self, writer: usize, n: i64, at: u64) {
        if let Some(ledger) = self.acknowledged.get(writer) {
            ledger.lock().unwrap_or_else(PoisonError::into_inner).push((n, at));
        }
    }

    /// One writer with a client of our own.
    fn write(&self, writer: usize, door: &dyn Door, settings: &Settings) {
        let (mut n, mut host, mut session) = (0, writer, None);
        while !self.stop.load(Ordering::Relaxed) {
            n += 1;
            match self.one(writer, n, || door.open(host, settings.timeout), session.take()) {
                Ok(kept) => {
                    self.told(writer, n, now_ns());
                    session = Some(kept);
                    std::thread::sleep(settings.pace);
                }
                Err(_) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    host += 1;
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Writes a row over the session that is kept, or a new one.
    fn one(
        &self,
        writer: usize,
        n: i64,
        open: impl FnOnce() -> Result<Session>,
        kept: Option<Session>,
    ) -> Result<Session> {
        let mut session = kept.map_or_else(open, Ok)?;
        session.execute(&format!("INSERT INTO ledger (campaign, writer, n) VALUES (1, {writer}, {n})"))?;
        Ok(session)
    }

    /// What a program prints.
    fn read(&self, lines: impl BufRead) {
        for line in lines.lines().map_while(Result::ok) {
            let mut words = line.split(' ');
            let kind = words.next();
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            match (kind, &numbers[..]) {
                (Some("A"), [writer, n, at]) => self.told(*writer as usize, *n as i64, *at),
                _ => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }
}

impl Writers {
    /// Starts them. The database has a table `ledger (campaign int, writer int, n int)`.
    ///
    /// # Errors
    /// When a program cannot be started.
    pub fn start(door: &Arc<dyn Door>, settings: &Settings) -> Result<Writers> {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            acknowledged: (0..settings.all()).map(|_| Mutex::default()).collect(),
            failures: AtomicU64::new(0),
        });
        let mut writers = Writers { shared: Arc::clone(&shared), threads: Vec::new(), programs: Vec::new() };
        for writer in 0..settings.all() {
            let shared = Arc::clone(&shared);
            let thread = match settings.programs.get(writer / settings.count) {
                None => {
                    let (door, settings) = (Arc::clone(door), settings.clone());
                    std::thread::spawn(move || shared.write(writer, &*door, &settings))
                }
                Some(program) => {
                    let mut child = started(program, writer, &**door, settings)?;
                    let output = child.stdout.take().context("no standard output")?;
                    writers.programs.push(child);
                    std::thread::spawn(move || shared.read(BufReader::new(output)))
                }
            };
            writers.threads.push(thread);
        }
        Ok(writers)
    }

    /// Failed tries so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.shared.failures.load(Ordering::Relaxed)
    }

    /// Whether every writer was acknowledged something after `since`, and within the last half second.
    #[must_use]
    pub fn all_go_on(&self, since: u64) -> bool {
        let recently = now_ns().saturating_sub(500_000_000).max(since);
        let newest = |ledger: &Mutex<Vec<Acknowledged>>| {
            ledger.lock().unwrap_or_else(PoisonError::into_inner).last().map_or(0, |(_, at)| *at)
        };
        self.shared.acknowledged.iter().all(|ledger| newest(ledger) > recently)
    }

    /// The longest time of each writer without an acknowledgement, between the last one before `since` and `end`; milliseconds.
    #[must_use]
    pub fn gaps(&self, since: u64, end: u64) -> Vec<f64> {
        let gap = |ledger: &Mutex<Vec<Acknowledged>>| {
            let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            let first = ledger.iter().rposition(|(_, at)| *at <= since).unwrap_or(0);
            longest(ledger[first..].iter().map(|(_, at)| *at), end) as f64 / 1e6
        };
        self.shared.acknowledged.iter().map(gap).collect()
    }

    /// What each writer was acknowledged so far, taken off the books but for its newest row.
    #[must_use]
    pub fn take(&self) -> Vec<Vec<Acknowledged>> {
        let taken = |ledger: &Mutex<Vec<Acknowledged>>| {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            let all = ledger.clone();
            let kept = ledger.len().saturating_sub(1);
            ledger.drain(..kept);
            all
        };
        self.shared.acknowledged.iter().map(taken).collect()
    }
}

/// The longest time between two of these, the last being `end`.
fn longest(times: impl Iterator<Item = u64>, end: u64) -> u64 {
    let mut longest = 0;
    let mut last = None;
    for at in times.take_while(|at| *at <= end).chain([end]) {
        longest = longest.max(at - last.unwrap_or(at));
        last = Some(at);
    }
    longest
}

fn started(program: &str, writer: usize, door: &dyn Door, settings: &Settings) -> Result<Child> {
    let mut words = program.split_whitespace();
    Command::new(words.next().context("a program")?)
        .args(words)
        .env("KEEL_HOSTS", door.hosts().join(","))
        .env("KEEL_PORT", door.port().to_string())
        .env("KEEL_PASSWORD", door.password())
        .env("KEEL_CAMPAIGN", "1")
        .env("KEEL_FIRST_WRITER", writer.to_string())
        .env("KEEL_WRITERS", "1")
        .env("KEEL_PACE_MS", settings.pace.as_millis().to_string())
        .env("KEEL_TIMEOUT_MS", settings.timeout.as_millis().to_string())
        .env("KEEL_LOGINS_FIRST", settings.logins_first.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {program}"))
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for program in &mut self.programs {
            // It may have ended by itself.
            let _ = program.kill();
            let _ = program.wait();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_ends_with_the_end_of_looking() {
        assert_eq!(longest([10, 20, 50, 60].into_iter(), 65), 30);
        assert_eq!(longest([10, 20].into_iter(), 100), 80, "who never goes on is still waiting");
        assert_eq!(longest([10, 200].into_iter(), 100), 90, "what comes after does not count");
        assert_eq!(longest([].into_iter(), 100), 0);
    }

    #[test]
    fn what_programs_print_is_read() {
        let shared = Shared {
            stop: AtomicBool::new(false),
            acknowledged: vec![Mutex::default(), Mutex::default()],
            failures: AtomicU64::new(0),
        };
        shared.read("A 1 7 1000\nE 1 connection lost\nA 9 1 1\nA 1 8 2000\n".as_bytes());
        let writers = Writers { shared: Arc::new(shared), threads: Vec::new(), programs: Vec::new() };
        assert_eq!(writers.failures(), 1);
        assert_eq!(writers.gaps(1000, 2500), [0.0, 0.001]);
        assert_eq!(writers.take(), [vec![], vec![(7, 1000), (8, 2000)]]);
        assert_eq!(writers.take(), [vec![], vec![(8, 2000)]], "the newest stays, for the next gap");
    }
}
