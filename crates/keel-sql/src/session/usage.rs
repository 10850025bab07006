//! What requests, and the programs and statements in them, use, measured.
//!
//! Per request: one look at the thread's processor clock, at its end. Per program and statement: two at the monotonic clock. The
//! processor clock is a call of the system. What takes less than a tenth of a millisecond is taken to have run all the time, for what a
//! thread waits for takes longer; at the end of what takes more that clock is read, and at its beginning when it was not read just before.
//! Everything else is sums that were counted anyway.

use super::info::Info;
use crate::engine::add;
use crate::program::{Op, Program, RunCost, RunStats};
use crate::query_store::StatementBegun;
use crate::run::Halt;
use crate::session::options::Switches;
use keel_store::base::thread_misses;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A request looks at the processor clock once in so many looks at whether it is cancelled, which are some hundred rows apart.
const TELL_INTERVAL: u32 = 16;

/// In less time than this a thread is taken to have run.
const BRIEF: Duration = Duration::from_micros(100);

/// Both clocks at one moment.
#[derive(Clone, Copy, Default)]
struct Clocks {
    at: Duration,
    cpu: Duration,
}

/// Where the clocks stood.
#[derive(Default)]
pub struct Meter {
    cpu: Cell<Duration>,
    began: Cell<Duration>,
    /// When both were read last.
    read: Cell<Clocks>,
    misses: Cell<u64>,
    /// Processor time of the request that its session's counters have already, µs.
    told_us: Cell<u64>,
    looks: Cell<u32>,
}

/// Where clocks and counters stood when a program or statement was entered.
pub struct Entered {
    clocks: Clocks,
    rows: u64,
    logical_reads: u64,
    writes: u64,
    misses: u64,
    degree: u64,
}

/// A statement that runs.
pub struct EnteredStatement {
    entered: Entered,
    /// What the Query Store notes of it.
    recorded: Option<StatementBegun>,
}

impl Meter {
    /// The session has its thread.
    pub fn start(&self, info: &Info) {
        self.cpu.set(info.cpu());
    }
}

impl Info {
    /// A request begins, on the session's thread.
    pub fn begin_usage(&self) {
        self.shared.waits.adopt();
        self.shared.used_before.copy(&self.shared.used);
        let (at, cpu) = (self.engine.options().env.clock.now(), self.meter.cpu.get());
        self.meter.began.set(at);
        self.meter.read.set(Clocks { at, cpu });
        self.meter.misses.set(thread_misses());
        self.govern_from(cpu);
    }

    /// It has ended.
    pub fn end_usage(&self) {
        let clock = &self.engine.options().env.clock;
        let used = &self.shared.used;
        let cpu = self.cpu();
        let used_cpu = cpu.saturating_sub(self.meter.cpu.replace(cpu));
        self.add_up();
        let cpu_us = used_cpu.as_micros() as u64;
        let elapsed_us = clock.now().saturating_sub(self.meter.began.get()).as_micros() as u64;
        add(&used.cpu_us, cpu_us.saturating_sub(self.meter.told_us.take()));
        add(&used.elapsed_us, elapsed_us);
        self.shared.error.store(self.error.get(), Ordering::Relaxed);
        self.tell_reads();
        self.govern_until(cpu);
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
        self.cpu().saturating_sub(self.meter.cpu.get()).as_micros() as u64
    }

    /// Both clocks, that of the processor to [`BRIEF`].
    fn clocks(&self) -> Clocks {
        let at = self.engine.options().env.clock.now();
        let read = self.meter.read.get();
        let since = at.saturating_sub(read.at);
        let cpu = if since < BRIEF { read.cpu + since } else { self.read_cpu(at) };
        Clocks { at, cpu }
    }

    fn read_cpu(&self, at: Duration) -> Duration {
        let cpu = self.cpu();
        self.meter.read.set(Clocks { at, cpu });
        cpu
    }

    /// A program begins.
    #[must_use]
    pub fn enter_program(&self) -> Entered {
        let used = &self.shared.used;
        Entered {
            clocks: self.clocks(),
            rows: used.rows.load(Ordering::Relaxed),
            logical_reads: used.logical_reads.load(Ordering::Relaxed),
            writes: used.writes.load(Ordering::Relaxed),
            misses: thread_misses(),
            degree: self.enter_degree(),
        }
    }

    /// It has ended.
    pub fn leave_program(&self, program: &Program, entered: &Entered) {
        program.stats.count(&self.cost_since(entered));
    }

    fn cost_since(&self, entered: &Entered) -> RunCost {
        let used = &self.shared.used;
        let at = self.engine.options().env.clock.now();
        let (elapsed, degree) = (at.saturating_sub(entered.clocks.at), self.leave_degree(entered.degree));
        let cpu = if elapsed < BRIEF {
            elapsed
        } else {
            self.read_cpu(at).saturating_sub(entered.clocks.cpu).min(elapsed * degree.max(1) as u32)
        };
        let since = entered.clocks.at.saturating_sub(self.meter.began.get());
        RunCost {
            began: self.shared.request_started.load(Ordering::Relaxed) + (since.as_nanos() / 100) as i64,
            elapsed_nanos: elapsed.as_nanos() as u64,
            cpu_nanos: cpu.as_nanos() as u64,
            rows: used.rows.load(Ordering::Relaxed).saturating_sub(entered.rows),
            logical_reads: used.logical_reads.load(Ordering::Relaxed).saturating_sub(entered.logical_reads),
            reads: thread_misses().saturating_sub(entered.misses),
            writes: used.writes.load(Ordering::Relaxed).saturating_sub(entered.writes),
            degree,
        }
    }

    /// A statement of a program begins; `None` of what is not executed.
    #[must_use]
    pub(crate) fn enter_statement(&self, program: &Program, op: &Op) -> Option<EnteredStatement> {
        if self.options.borrow().switches.any(Switches::LOOKING) {
            return None;
        }
        let recorded = (op.is_query() && self.records(program)).then(|| self.record_start());
        Some(EnteredStatement { entered: self.enter_program(), recorded })
    }

    /// It has ended. One that failed counts for the Query Store alone.
    pub(crate) fn leave_statement<T>(
        &self,
        op: &Op,
        stats: &RunStats,
        statement: EnteredStatement,
        outcome: &std::result::Result<T, Halt>,
    ) {
        let mut cost = self.cost_since(&statement.entered);
        cost.rows = if outcome.is_ok() && op.tells_rows() { self.row_count.get() } else { 0 };
        if outcome.is_ok() {
            stats.count(&cost);
        }
        if let Some(begun) = statement.recorded {
            self.record_end(begun, &cost, outcome);
        }
    }
}
