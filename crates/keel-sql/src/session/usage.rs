//! What requests and the programs in them use, measured.
//!
//! Per request: one look at the thread's processor clock, at its end, and one now and then while it runs. Per program: two at the
//! monotonic clock. Everything else is sums that were counted anyway.

use super::info::Info;
use crate::engine::add;
use crate::program::{Program, RunCost, RunStats};
use keel_store::base::thread_misses;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Programs of one request that get a share of its processor time; further ones only count.
const SHARES_MAX: usize = 64;

/// A request looks at the processor clock once in so many looks at whether it is cancelled, which are some hundred rows apart.
const TELL_INTERVAL: u32 = 16;

/// Where the clocks stood, and who ran since.
#[derive(Default)]
pub struct Meter {
    cpu: Cell<Duration>,
    began: Cell<Duration>,
    misses: Cell<u64>,
    /// Processor time of the request that its session's counters have already, µs.
    told_us: Cell<u64>,
    looks: Cell<u32>,
    /// Programs that ran in this request, with the µs each took.
    ran: RefCell<Vec<(Arc<RunStats>, u64)>>,
}

/// Where the counters stood when a program was entered.
pub struct Entered {
    at: Duration,
    rows: u64,
    logical_reads: u64,
    writes: u64,
    misses: u64,
    degree: u64,
}

impl Meter {
    /// The session has its thread.
    pub fn start(&self, info: &Info) {
        self.cpu.set(info.cpu());
    }

    /// When the request began, by the monotonic clock.
    pub(crate) fn began(&self) -> Duration {
        self.began.get()
    }
}

impl Info {
    /// A request begins, on the session's thread.
    pub fn begin_usage(&self) {
        self.shared.waits.adopt();
        self.shared.used_before.copy(&self.shared.used);
        self.meter.began.set(self.engine.options().env.clock.now());
        self.meter.misses.set(thread_misses());
        self.govern_from(self.meter.cpu.get());
    }

    /// It has ended: its processor time is shared out.
    pub fn end_usage(&self) {
        let clock = &self.engine.options().env.clock;
        let used = &self.shared.used;
        let cpu = self.cpu();
        let used_cpu = cpu.saturating_sub(self.meter.cpu.replace(cpu));
        self.add_up_all(used_cpu);
        let cpu_us = used_cpu.as_micros() as u64;
        let elapsed_us = clock.now().saturating_sub(self.meter.began.get()).as_micros() as u64;
        add(&used.cpu_us, cpu_us.saturating_sub(self.meter.told_us.take()));
        add(&used.elapsed_us, elapsed_us);
        self.shared.error.store(self.error.get(), Ordering::Relaxed);
        self.tell_reads();
        self.govern_until(cpu);
        for (stats, took) in self.meter.ran.borrow_mut().drain(..) {
            stats.cpu_us.add(cpu_us * took.min(elapsed_us) / elapsed_us.max(1));
        }
    }

    /// A statement that takes long comes by now and then: what the request has used so far is for others to see.
    pub(crate) fn tell_usage(&self) {
        let looks = self.meter.looks.get().wrapping_add(1);
        self.meter.looks.set(looks);
        if looks.is_multiple_of(TELL_INTERVAL) {
            let cpu_us = self.cpu_so_far_us();
            let told_us = self.meter.told_us.replace(cpu_us);
            add(&self.shared.used.cpu_us, cpu_us.saturating_sub(told_us));
            self.tell_reads();
        }
    }

    fn tell_reads(&self) {
        let misses = thread_misses();
        add(&self.shared.used.reads, misses - self.meter.misses.replace(misses));
    }

    /// Processor time of the running request so far, µs. Only its own thread can tell.
    #[must_use]
    pub fn cpu_so_far_us(&self) -> u64 {
        self.cpu_so_far().as_micros() as u64
    }

    /// The same.
    pub(crate) fn cpu_so_far(&self) -> Duration {
        self.cpu().saturating_sub(self.meter.cpu.get())
    }

    /// A program begins.
    #[must_use]
    pub fn enter_program(&self) -> Entered {
        let used = &self.shared.used;
        Entered {
            at: self.engine.options().env.clock.now(),
            rows: used.rows.load(Ordering::Relaxed),
            logical_reads: used.logical_reads.load(Ordering::Relaxed),
            writes: used.writes.load(Ordering::Relaxed),
            misses: thread_misses(),
            degree: self.enter_degree(),
        }
    }

    /// It has ended.
    pub fn leave_program(&self, program: &Program, entered: &Entered) {
        let used = &self.shared.used;
        let now = self.engine.options().env.clock.now();
        let cost = RunCost {
            // Accurate enough, and read already.
            began: self.shared.request_started.load(Ordering::Relaxed),
            elapsed_us: now.saturating_sub(entered.at).as_micros() as u64,
            rows: used.rows.load(Ordering::Relaxed) - entered.rows,
            logical_reads: used.logical_reads.load(Ordering::Relaxed) - entered.logical_reads,
            reads: thread_misses() - entered.misses,
            writes: used.writes.load(Ordering::Relaxed) - entered.writes,
            degree: self.leave_degree(entered.degree),
        };
        program.stats.count(&cost);
        let mut ran = self.meter.ran.borrow_mut();
        if ran.len() < SHARES_MAX {
            ran.push((Arc::clone(&program.stats), cost.elapsed_us));
        }
    }
}
