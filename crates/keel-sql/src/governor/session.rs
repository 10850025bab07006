//! Where a session's requests meet the governor.

use super::pace::Used;
use super::running::Group;
use super::{THROTTLED, errors, wait};
use crate::engine::add;
use crate::session::info::Info;
use keel_base::waits::{LockWaits, lock_waits};
use keel_query::SessionInfo as _;
use keel_store::base::{ThreadReads, thread_reads};
use keel_types::error::Result;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Between two looks at what the running request uses.
const LOOK: Duration = Duration::from_millis(1);
/// A running request is charged, and may be made to sleep, when it has used as much processor time as this, or has read.
const QUANTUM_MIN: Duration = Duration::from_micros(500);
/// Less processor time than this is charged with the next request's.
const CHARGE_MIN: Duration = Duration::from_micros(200);
/// The trace flag that ends requests which take too much processor time.
const TRACE_END_REQUESTS: i32 = 2422;

/// What a session knows of its group and has told it.
pub struct Governed {
    group: RefCell<Arc<Group>>,
    /// When it last looked.
    looked: Cell<Duration>,
    /// Processor time of its thread that was counted, and that was charged.
    counted: Cell<Duration>,
    charged: Cell<Duration>,
    /// Reads that were counted, and that were charged.
    reads_counted: Cell<ThreadReads>,
    reads_charged: Cell<ThreadReads>,
    /// Where the thread's clock and its waits stood when the request began.
    began: Cell<Duration>,
    locks: Cell<LockWaits>,
    /// The request has taken more processor time than it may.
    too_long: Cell<bool>,
    /// The group whose queue the request has passed.
    admitted: RefCell<Option<Arc<Group>>>,
    /// Which setting of a pool's schedulers its thread has.
    pinned: Cell<(i32, u64)>,
}

impl Governed {
    /// Of a session of that group.
    #[must_use]
    pub fn new(group: Arc<Group>) -> Governed {
        Governed {
            group: RefCell::new(group),
            looked: Cell::default(),
            counted: Cell::default(),
            charged: Cell::default(),
            reads_counted: Cell::default(),
            reads_charged: Cell::default(),
            began: Cell::default(),
            locks: Cell::default(),
            too_long: Cell::default(),
            admitted: RefCell::default(),
            pinned: Cell::default(),
        }
    }
}

impl Info {
    /// Puts the session into a group, on its own thread.
    pub(super) fn join_group(&self, group: &Arc<Group>) {
        let before = self.governed.group.replace(Arc::clone(group));
        if !Arc::ptr_eq(&before, group) {
            before.leave(&self.shared.counts);
            self.shared.set_group(Arc::clone(group));
            self.pin(group);
        }
    }

    /// A request begins, on the session's thread, whose clock says so.
    pub(crate) fn govern_from(&self, cpu: Duration) {
        let g = &self.governed;
        for mark in [&g.counted, &g.began] {
            mark.set(cpu);
        }
        if g.charged.get() > cpu {
            // Another thread than the last one.
            g.charged.set(cpu);
        }
        g.reads_counted.set(thread_reads());
        g.reads_charged.set(thread_reads());
        g.locks.set(lock_waits());
        g.too_long.set(false);
    }

    /// Waits until the request may run: for its turn, and for its group's share. False when it was cancelled meanwhile.
    pub(crate) fn admit(&self) -> bool {
        if !self.is_governed() {
            return true;
        }
        let group = Arc::clone(&self.governed.group.borrow());
        self.pin(&group);
        if !self.enter_queue(&group) {
            return false;
        }
        self.charge(&group);
        self.governed.looked.set(self.engine.options().env.clock.now());
        !self.cancelled()
    }

    fn enter_queue(&self, group: &Arc<Group>) -> bool {
        if group.def().max_requests == 0 {
            return true;
        }
        // Who has a transaction may hold what those wait for that run.
        let at_once = self.transaction.borrow().count > 0;
        if at_once {
            group.queue.enter_at_once();
        } else if !group.queue.try_enter() {
            group.note_queued();
            let clock = &self.engine.options().env.clock;
            let began = clock.now();
            let resting = self.shared.rest(THROTTLED, self.engine.now_local());
            let entered = group.queue.enter(&self.shared.cancel);
            drop(resting);
            let waited = clock.now().saturating_sub(began);
            self.engine.governor().throttled.note(THROTTLED, waited);
            if !entered {
                return false;
            }
        }
        *self.governed.admitted.borrow_mut() = Some(Arc::clone(group));
        true
    }

    /// Lets the thread run on its pool's schedulers only.
    fn pin(&self, group: &Group) {
        let wanted = (group.pool.id, group.pool.pinned());
        let now = self.governed.pinned.get();
        if now == wanted || (now.1 == 0 && wanted.1 == 0) {
            return;
        }
        let all = &self.engine.governor().processors;
        let of = |schedulers: Vec<u32>| {
            schedulers.into_iter().filter_map(|n| all.get(n as usize).copied()).collect::<Vec<_>>()
        };
        let processors = group.pool.def().schedulers.map_or_else(|| all.clone(), of);
        // A kernel that refuses leaves the thread where it was.
        keel_base::env::real::run_on(&processors);
        self.governed.pinned.set(wanted);
    }

    /// Counts what the request has used up to now.
    fn count(&self) -> Duration {
        let g = &self.governed;
        let cpu = self.cpu();
        let used = cpu.saturating_sub(g.counted.replace(cpu));
        add(&self.shared.counts.cpu_us, used.as_micros() as u64);
        self.count_reads();
        cpu
    }

    /// Whether there is enough to be charged: who was woken up gets something done before it may have to sleep again.
    fn has_used(&self, cpu: Duration) -> bool {
        let g = &self.governed;
        cpu.saturating_sub(g.charged.get()) >= QUANTUM_MIN
            || (thread_reads() - g.reads_charged.get()).requests > 0
    }

    fn count_reads(&self) {
        let all = thread_reads();
        let new = all - self.governed.reads_counted.replace(all);
        if new.requests > 0 {
            let counts = &self.shared.counts;
            add(&counts.reads, new.requests);
            add(&counts.read_bytes, new.bytes);
            add(&counts.read_us, new.nanos / 1000);
        }
    }

    /// A point of a statement at which it may be ended or made to sleep: no page is latched, and nothing is being committed.
    #[cold]
    pub(crate) fn look_at_usage(&self) -> Result<()> {
        let now = self.engine.options().env.clock.now();
        if now.saturating_sub(self.governed.looked.get()) < LOOK {
            return Ok(());
        }
        self.governed.looked.set(now);
        let group = Arc::clone(&self.governed.group.borrow());
        let cpu = self.count();
        self.check_cpu_time(&group, cpu.saturating_sub(self.governed.began.get()))?;
        if self.has_used(cpu) {
            self.charge(&group);
            // What it slept is no time that it ran.
            self.governed.looked.set(self.engine.options().env.clock.now());
        }
        Ok(())
    }

    /// Whether anything is done about the group's requests.
    #[inline]
    pub(crate) fn is_governed(&self) -> bool {
        self.governed.group.borrow().acts()
    }

    /// The session's group.
    pub(crate) fn governed_group(&self) -> Arc<Group> {
        Arc::clone(&self.governed.group.borrow())
    }

    /// What the group's statements may take of the working memory; `None` while the governor is not enabled.
    pub(crate) fn governed_memory(&self) -> Option<Arc<keel_query::MemoryShare>> {
        let shared_out = self.engine.governor().memory_shared.load(Ordering::Relaxed);
        shared_out.then(|| Arc::clone(&self.governed.group.borrow().memory))
    }

    /// REQUEST_MAX_CPU_TIME_SEC
    fn check_cpu_time(&self, group: &Group, used: Duration) -> Result<()> {
        let seconds = u64::try_from(group.def().max_cpu_seconds).unwrap_or(0);
        if seconds == 0 || used <= Duration::from_secs(seconds) {
            return Ok(());
        }
        if !self.governed.too_long.replace(true) {
            group.note_violation();
            let text = format!(
                "Resource governor: a request of session {} in workload group '{}' ({}) has used more than {seconds} seconds \
                 of processor time.",
                self.shared.id, group.name, group.id
            );
            self.engine.options().log.write(&text);
        }
        let ends = self.engine.trace_flags().contains(&TRACE_END_REQUESTS);
        if ends { Err(errors::cpu_time_exceeded(&group.name)) } else { Ok(()) }
    }

    /// Tells the pacer what has been used, and sleeps as long as it says.
    fn charge(&self, group: &Group) {
        let Some(place) = group.place() else { return };
        let governor = self.engine.governor();
        let generation = governor.generation.load(Ordering::Relaxed);
        let sleep = self.tell(place);
        if sleep.is_zero() {
            return;
        }
        let clock = &self.engine.options().env.clock;
        let began = clock.now();
        let holds = || governor.generation.load(Ordering::Relaxed) == generation;
        wait::sleep(&self.shared.cancel, sleep, holds);
        add(&self.shared.counts.delayed_us, clock.now().saturating_sub(began).as_micros() as u64);
        add(&self.shared.counts.delays, 1);
    }

    fn tell(&self, place: usize) -> Duration {
        let g = &self.governed;
        let (cpu, reads) = (self.cpu(), thread_reads());
        let used = Used {
            cpu: cpu.saturating_sub(g.charged.replace(cpu)),
            reads: (reads - g.reads_charged.replace(reads)).requests,
        };
        let now = self.engine.options().env.clock.now();
        self.engine.governor().pacer.lock().charge(place, self.shared.id, used, now)
    }

    /// A request has ended, on the session's thread, whose clock says so.
    pub(crate) fn govern_until(&self, cpu: Duration) {
        let g = &self.governed;
        let counts = &self.shared.counts;
        add(&counts.requests, 1);
        add(&counts.cpu_us, cpu.saturating_sub(g.counted.replace(cpu)).as_micros() as u64);
        let whole = cpu.saturating_sub(g.began.get()).as_micros() as u64;
        if whole > counts.request_cpu_us_max.load(Ordering::Relaxed) {
            counts.request_cpu_us_max.store(whole, Ordering::Relaxed);
        }
        self.count_reads();
        let waited = lock_waits() - g.locks.get();
        if waited.count > 0 {
            add(&counts.lock_waits, waited.count);
            add(&counts.lock_wait_us, waited.nanos / 1000);
        }
        self.leave_queue();
        if !self.is_governed() {
            g.charged.set(cpu);
            return;
        }
        let group = Arc::clone(&g.group.borrow());
        // Too late for more than the error log.
        let _ = self.check_cpu_time(&group, cpu.saturating_sub(g.began.get()));
        if let Some(place) = group.place()
            && cpu.saturating_sub(g.charged.get()) >= CHARGE_MIN
        {
            // What it is told to sleep it sleeps before its next request.
            self.tell(place);
        }
    }

    /// Makes room for another request of the group.
    pub(crate) fn leave_queue(&self) {
        if let Some(group) = self.governed.admitted.take() {
            group.queue.leave();
        }
    }

    /// The session ends.
    pub(crate) fn leave_group(&self) {
        self.leave_queue();
        self.governed.group.borrow().leave(&self.shared.counts);
    }
}
