//! How many threads may work for a statement, and what those that help it use.
//!
//! ```text
//!   MAXDOP of the statement ─┐
//!   else of the database     ├─ the first that says something ── at most MAX_DOP of the workload group ── at most the processors
//!   else of the instance    ─┘
//! ```
//!
//! Helpers come from the instance's pool, which has a thread for each processor but the session's own. The processor time that they
//! use is the session's: of its request, its program, its workload group.

use super::info::Info;
use crate::config::{COST_THRESHOLD, MAX_DEGREE};
use keel_query::Parallelism;
use keel_query::exec::parallel::Help;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What helpers have done for a session.
pub struct Helped {
    /// Their processor time, nanoseconds.
    used: Arc<AtomicU64>,
    /// The most threads that a statement of the running program had; 1 before.
    degree: Cell<u64>,
}

impl Default for Helped {
    fn default() -> Helped {
        Helped { used: Arc::default(), degree: Cell::new(1) }
    }
}

impl Info {
    /// Processor time of the session's thread and of those that have helped it. Only its own thread can tell.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        let helpers = Duration::from_nanos(self.helped.used.load(Ordering::Relaxed));
        self.engine.options().env.clock.thread_cpu() + helpers
    }

    /// Whether statements become parallel.
    pub(super) fn parallelism(&self) -> Parallelism {
        let threshold = self.engine.configuration(COST_THRESHOLD).running;
        Parallelism {
            degree: self.degree(None),
            degree_max: self.degree(Some(0)),
            cost_threshold: threshold as f64,
        }
    }

    /// Threads that may work for a statement with this MAXDOP, its own among them. 0 stands for all.
    fn degree(&self, of_statement: Option<u16>) -> usize {
        let said = of_statement.map(usize::from).or_else(|| self.degree_of_database());
        let said = said
            .unwrap_or_else(|| usize::try_from(self.engine.configuration(MAX_DEGREE).running).unwrap_or(0));
        let of_group = usize::try_from(self.governed_group().def().max_dop).unwrap_or(0);
        let most = self.engine.workers().most() + 1;
        [said, of_group].into_iter().filter(|n| *n > 0).fold(most, usize::min)
    }

    /// MAXDOP of ALTER DATABASE SCOPED CONFIGURATION.
    fn degree_of_database(&self) -> Option<usize> {
        let entry = self.database.borrow();
        let picture = entry.picture();
        let said = crate::scoped::max_dop(picture.settings(), entry.is_copy());
        said.filter(|n| *n > 0).map(usize::from)
    }

    /// Threads that may help a statement now.
    pub(super) fn helpers(&self, of_statement: Option<u16>) -> Option<Help> {
        // A pool that is bound to schedulers has its threads there alone.
        if self.governed_group().pool.pinned() != 0 {
            return None;
        }
        let degree = self.degree(of_statement);
        let workers = Arc::clone(self.engine.workers());
        Some(Help { workers, degree, used: Arc::clone(&self.helped.used) })
    }

    /// So many threads are working for the statement.
    pub(super) fn note_threads(&self, degree: usize) {
        let degree = degree as u64;
        self.helped.degree.set(self.helped.degree.get().max(degree));
        self.shared.degree.store(degree, Ordering::Relaxed);
    }

    /// A program begins: what was known of the one around it.
    pub(crate) fn enter_degree(&self) -> u64 {
        self.helped.degree.replace(1)
    }

    /// It has ended: the most threads that a statement of it had.
    pub(crate) fn leave_degree(&self, around: u64) -> u64 {
        let own = self.helped.degree.get();
        self.helped.degree.set(own.max(around));
        own
    }
}
