//! How well this instance is: what `sp_server_diagnostics` shows, and what makes a primary give its role up.
//!
//! ```text
//!   sampler, once a second ── memory, sessions, requests ──┐
//!   judge, ten times a second ── own lateness, flushes ────┼──► judge ──► rows ──► sp_server_diagnostics
//!                                                          └──────────► per group: fit, or unfit and why ──► groups
//! ```
//!
//! ## Model
//!
//! * The **judge** thread takes no lock that work is done under: it reads atomics of the logs, the clock, and the last sample.
//!   So it goes on when everything else is stuck, and what it finds is the age of things: of the flush under way, of the
//!   last sample, of its own last turn.
//! * The **sampler** thread asks what takes locks. If it hangs, its sample grows old, and that is the symptom
//!   (HEALTH_CHECK_TIMEOUT).
//! * What the figures mean is decided by [`judge`], without a clock or an engine.
//!
//! | condition | acts at FAILURE_CONDITION_LEVEL | threshold |
//! | --- | --- | --- |
//! | a log flush of the group that does not end | 1 | `health_disk_stall_ms` |
//! | the same on the primary, while all who could take its place have hardened all of it | 1 | `health_disk_stall_alone_ms` |
//! | a log of the group that failed, with DB_FAILOVER = ON | 1 | |
//! | no sample | 2 | the group's HEALTH_CHECK_TIMEOUT |
//! | `system`: the judge gets the processor late, three times running | 3 | `health_starved_ms` |
//! | `resource`: row versions fill their memory, writes are refused | 4 | `health_exhausted_s` |
//! | `query_processing`: every connection taken and no request ends | 5 | `health_exhausted_s` |
//!
//! A disk that stalls must be told from one that is busy: a failover for nothing is worse than a slow second. The short time
//! acts only if the disk here is the only one that stands still, as the secondaries' acknowledgements of the very blocks in
//! the flush show: so a slow machine below all of them, or a network that delays everybody, moves nothing. It grows with the
//! bytes of the flush, and to twice the slowest one of the last minutes (a checkpoint of its own makes a disk slow, too), half of it must have passed since the
//! others had hardened theirs and this process was awake, and it does not act at all while failovers are held back
//! (`flap_max`). After a step down nothing acknowledged can be missing elsewhere: what the stalled flush holds was acknowledged to
//! nobody, and when it ends after all it is log like any other that the new primary's may part from.
//!
//! An unfit primary steps down only if another replica can take over at once, which the groups decide; an unfit secondary
//! does not offer itself. It is fit again after five quiet seconds. Before that, when nothing is wrong and the flushes of the group's
//! logs have been quick for 0.3 s, it is *recovering*: it offers itself after all who are fit, so that a group whose disks stall
//! one after the other has somebody to go to.
//!
//! ## Deliberately absent
//!
//! Who leads (`keel-cluster`); what clients think of their waits: slowness alone is never a condition, as in the product.

pub mod judge;
mod rows;

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use keel_cluster::Fitness;
use keel_group::Groups;
use keel_sql::Engine;
use keel_sql::diagnostics::{Component, Diagnostics};
use parking_lot::{Condvar, Mutex};

use crate::config::Config;
use crate::errorlog::ErrorLog;
use judge::{Judge, Limits, Sample, Subject};

/// Time between two turns of the judge.
const JUDGE_EVERY: Duration = Duration::from_millis(100);
/// Time between two samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Samples between two events about the components: five minutes.
const DIAGNOSTICS_EVERY: u64 = 300;
/// Newest events of the health log in the `events` row.
const EVENTS_SHOWN: usize = 20;

/// What the event monitor remembers.
#[derive(Default)]
struct Watched {
    blocked: keel_sql::events::blocked::Blocked,
    turns: u64,
}

/// The threads and what they have found.
pub struct Health {
    engine: Weak<Engine>,
    groups: Option<Arc<Groups>>,
    log: Arc<ErrorLog>,
    /// Written by the sampler, read by the judge.
    sample: Mutex<Sample>,
    judge: Mutex<Judge>,
    stopped: Mutex<bool>,
    stop: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
    watched: Mutex<Watched>,
}

impl Health {
    /// Starts to watch. `groups` are told what this instance is fit for.
    pub fn start(
        config: &Config,
        engine: &Arc<Engine>,
        groups: Option<Arc<Groups>>,
        log: &Arc<ErrorLog>,
    ) -> anyhow::Result<Arc<Health>> {
        let now = Instant::now();
        let limits = Limits {
            disk_stall: Duration::from_millis(config.health_disk_stall_ms.into()),
            disk_stall_alone: Duration::from_millis(config.health_disk_stall_alone_ms.into()),
            starved: Duration::from_millis(config.health_starved_ms.into()),
            exhausted: Duration::from_secs(config.health_exhausted_s.into()),
            sessions_max: config.max_connections,
        };
        let health = Arc::new(Health {
            engine: Arc::downgrade(engine),
            groups,
            log: Arc::clone(log),
            sample: Mutex::new(Sample::first(now)),
            judge: Mutex::new(Judge::new(limits, JUDGE_EVERY, now)),
            stopped: Mutex::new(false),
            stop: Condvar::new(),
            threads: Mutex::default(),
            watched: Mutex::default(),
        });
        let spawn = |name: &str, turn: fn(&Health) -> Duration| {
            let health = Arc::clone(&health);
            let run = move || {
                let mut next = JUDGE_EVERY;
                while health.pause(next) {
                    next = turn(&health);
                }
            };
            std::thread::Builder::new()
                .name(name.into())
                .spawn(run)
                .context("no thread for the health of the instance")
        };
        health.take_sample();
        let threads = [
            spawn("health judge", Health::judge)?,
            spawn("health sampler", |health| {
                health.take_sample();
                SAMPLE_EVERY
            })?,
            spawn("event monitor", Health::watch)?,
        ];
        health.threads.lock().extend(threads);
        engine.set_diagnostics(Arc::clone(&health) as _);
        Ok(health)
    }

    /// Ends the threads.
    pub fn stop(&self) {
        *self.stopped.lock() = true;
        self.stop.notify_all();
        for thread in self.threads.lock().drain(..) {
            // A panic there has been reported by its own thread.
            let _ = thread.join();
        }
    }

    /// False when the threads are to end.
    fn pause(&self, time: Duration) -> bool {
        let mut stopped = self.stopped.lock();
        if !*stopped {
            self.stop.wait_for(&mut stopped, time);
        }
        !*stopped
    }

    fn take_sample(&self) {
        let Some(engine) = self.engine.upgrade() else { return };
        let instance = engine.instance();
        engine.load.tick(instance.env().clock.now());
        let pressure = instance.pressure();
        let sample = Sample {
            taken: Instant::now(),
            delta_bytes: instance.delta_bytes(),
            delta_bytes_max: pressure.hard_bytes(),
            cache_bytes: instance.page_cache().stats().bytes,
            refusals: pressure.counts().2,
            sessions: engine.sessions.all().len(),
            requests: engine.requests(),
        };
        *self.sample.lock() = sample;
    }

    /// Tells event sessions who is blocked and, now and then, how the components are. What they write may take as long as a disk
    /// does: nobody waits for this thread.
    fn watch(&self) -> Duration {
        let Some(engine) = self.engine.upgrade() else { return SAMPLE_EVERY };
        let mut watched = self.watched.lock();
        watched.blocked.look(&engine);
        watched.turns += 1;
        if watched.turns.is_multiple_of(DIAGNOSTICS_EVERY) {
            engine.fire_diagnostics();
        }
        SAMPLE_EVERY
    }

    /// One turn. Returns when the next one is due.
    fn judge(&self) -> Duration {
        let subjects: Vec<Subject> = match &self.groups {
            Some(groups) => groups.health_subjects().into_iter().map(Subject::from).collect(),
            None => Vec::new(),
        };
        let now = Instant::now();
        let sample = self.sample.lock().clone();
        let (changes, next) = {
            let mut judge = self.judge.lock();
            (judge.turn(now, &sample, &subjects), judge.next_turn())
        };
        for change in changes {
            let judge::Change { group, name, fitness } = change;
            let text = match &fitness {
                Fitness::Unfit(reason) => {
                    format!("This instance is unfit to lead availability group '{name}': {reason}.")
                }
                Fitness::Recovering(_) => format!(
                    "What made this instance unfit to lead availability group '{name}' has passed. For the next seconds it leads \
                     only if no other replica can."
                ),
                Fitness::Fit => format!("This instance is fit to lead availability group '{name}' again."),
            };
            // First: the log is a file on the disk that may be what is sick.
            if let Some(groups) = &self.groups {
                groups.report_health(group, fitness);
            }
            self.log.entry("AlwaysOn", &text);
        }
        next
    }
}

impl Diagnostics for Health {
    fn components(&self) -> Vec<Component> {
        let engine = self.engine.upgrade();
        let mut events = engine.as_ref().and_then(|e| e.hadr()).map(|h| h.health_log()).unwrap_or_default();
        let newest = events.split_off(events.len().saturating_sub(EVENTS_SHOWN));
        let waits = engine.as_ref().map(|e| keel_sql::views::waits(e)).unwrap_or_default();
        rows::components(&self.judge.lock(), &self.sample.lock(), &waits, &newest)
    }
}
