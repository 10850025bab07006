//! How busy the processors were, minute by minute: what `sys.dm_os_ring_buffers` tells tools that draw it.
//!
//! ```text
//! health sampler, once a second ──► once a minute: kernel's counters now − a minute ago ──► a record, 256 are kept
//! ```

use parking_lot::Mutex;
use procfs::CurrentSI;
use std::collections::VecDeque;
use std::time::Duration;

/// Time that a record is of.
const EVERY: Duration = Duration::from_mins(1);
/// Records kept, as the product keeps them: more than four hours.
const KEPT_MAX: usize = 256;

/// One minute.
#[derive(Clone, Copy, Debug)]
pub struct LoadRecord {
    /// Number since the start, from 1.
    pub id: u64,
    /// The instance's clock at its end, ms.
    pub at_ms: u64,
    /// Percent of all processors that this process took.
    pub process: u64,
    /// Percent in which no processor had anything to do.
    pub idle: u64,
    /// Of this process, in user mode, ms.
    pub user_ms: u64,
    /// In the kernel, ms.
    pub kernel_ms: u64,
    /// Page faults.
    pub page_faults: u64,
    /// How much more memory it has, bytes.
    pub memory_change: i64,
}

/// Counters of the kernel at a moment, times in its ticks.
#[derive(Clone, Copy)]
struct Reading {
    at: Duration,
    machine: u64,
    idle: u64,
    user: u64,
    kernel: u64,
    page_faults: u64,
    memory: u64,
}

/// The records.
#[derive(Default)]
pub struct Load {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    last: Option<Reading>,
    records: VecDeque<LoadRecord>,
}

fn read(at: Duration) -> Option<Reading> {
    let machine = procfs::KernelStats::current().ok()?.total;
    let own = procfs::process::Process::myself().and_then(|p| p.stat()).ok()?;
    let idle = machine.idle + machine.iowait.unwrap_or(0);
    let busy = machine.user + machine.nice + machine.system;
    let others = [machine.irq, machine.softirq, machine.steal].into_iter().flatten().sum::<u64>();
    Some(Reading {
        at,
        machine: busy + others + idle,
        idle,
        user: own.utime,
        kernel: own.stime,
        page_faults: own.minflt + own.majflt,
        memory: own.rss * procfs::page_size(),
    })
}

impl Load {
    /// To be called about once a second, with the instance's clock.
    pub fn tick(&self, now: Duration) {
        let mut kept = self.kept.lock();
        if kept.last.is_some_and(|last| now.saturating_sub(last.at) < EVERY) {
            return;
        }
        // Where the kernel does not tell there are no records.
        let Some(new) = read(now) else { return };
        if let Some(old) = kept.last.replace(new) {
            let id = kept.records.back().map_or(0, |r| r.id) + 1;
            if kept.records.len() == KEPT_MAX {
                kept.records.pop_front();
            }
            kept.records.push_back(between(id, &old, &new));
        }
    }

    /// Those kept, oldest first.
    #[must_use]
    pub fn records(&self) -> Vec<LoadRecord> {
        self.kept.lock().records.iter().copied().collect()
    }
}

fn between(id: u64, old: &Reading, new: &Reading) -> LoadRecord {
    let all = (new.machine - old.machine).max(1);
    let percent = |ticks: u64| (100 * ticks / all).min(100);
    let ms = |ticks: u64| ticks * 1000 / procfs::ticks_per_second();
    let (user, kernel) = (new.user - old.user, new.kernel - old.kernel);
    LoadRecord {
        id,
        at_ms: u64::try_from(new.at.as_millis()).unwrap_or(u64::MAX),
        process: percent(user + kernel),
        // The kernel's count of idle time may go back.
        idle: percent(new.idle.saturating_sub(old.idle)),
        user_ms: ms(user),
        kernel_ms: ms(kernel),
        page_faults: new.page_faults - old.page_faults,
        memory_change: new.memory as i64 - old.memory as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_of_a_minute_and_the_oldest_go() {
        let load = Load::default();
        for second in 0..=60 * (KEPT_MAX as u64 + 2) {
            load.tick(Duration::from_secs(second));
        }
        let records = load.records();
        assert_eq!(records.len(), KEPT_MAX);
        assert_eq!(records[0].id, 3);
        assert!(records.iter().all(|r| r.process <= 100 && r.idle <= 100));
        assert!(records.windows(2).all(|two| two[1].at_ms - two[0].at_ms == 60_000));
    }

    #[test]
    fn shares_are_of_all_processors() {
        let old =
            Reading { at: EVERY, machine: 1000, idle: 500, user: 10, kernel: 5, page_faults: 1, memory: 9 };
        let new = Reading {
            at: EVERY * 2,
            machine: 1400,
            idle: 600,
            user: 90,
            kernel: 25,
            page_faults: 4,
            memory: 5,
        };
        let record = between(1, &old, &new);
        assert_eq!((record.process, record.idle, record.page_faults), (25, 25, 3));
        assert_eq!((record.at_ms, record.memory_change), (120_000, -4));
    }
}
