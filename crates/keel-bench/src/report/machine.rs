//! The machine a run happened on, and how much of it others took meanwhile. From `/proc`; what is not there stays empty.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// See the module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Logical processors.
    pub cores: usize,
    /// Memory, MB.
    pub memory_mb: u64,
    /// Kernel release.
    pub kernel: String,
    /// Distribution.
    pub system: String,
    /// Whether it is a guest on another machine.
    pub virtual_machine: bool,
    /// Share of processor time that the host gave to others during the run, percent.
    pub steal_percent: f64,
    /// Share of processor time that was used during the run, by anybody here, percent.
    pub busy_percent: f64,
    /// Runnable threads over the last minute when the run began. A quiet machine has well below one per core.
    pub load_before: f64,
    /// `/proc/stat` when the run began.
    #[serde(skip)]
    began: Ticks,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    total: u64,
    idle: u64,
    steal: u64,
}

fn file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Now, UTC, RFC 3339 to the second.
#[must_use]
pub fn now() -> String {
    let now = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    now.format(&Rfc3339).unwrap_or_default()
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, …
fn ticks(stat: &str) -> Ticks {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|f| f.parse().ok()).collect();
    let field = |i: usize| fields.get(i).copied().unwrap_or(0);
    Ticks { total: fields.iter().sum(), idle: field(3) + field(4), steal: field(7) }
}

impl Machine {
    /// This one, now.
    #[must_use]
    pub fn here() -> Machine {
        let cpuinfo = file("/proc/cpuinfo");
        let of = |text: &str, name: &str| -> String {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_once([':', '=']).map_or("", |(_, v)| v).trim().trim_matches('"').to_owned()
        };
        let kilobytes = of(&file("/proc/meminfo"), "MemTotal");
        Machine {
            cpu: of(&cpuinfo, "model name"),
            cores: crate::process::cores(),
            memory_mb: kilobytes.trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) >> 10,
            kernel: file("/proc/sys/kernel/osrelease").trim().to_owned(),
            system: of(&file("/etc/os-release"), "PRETTY_NAME"),
            virtual_machine: of(&cpuinfo, "flags").split_whitespace().any(|flag| flag == "hypervisor"),
            load_before: file("/proc/loadavg").split(' ').next().and_then(|l| l.parse().ok()).unwrap_or(0.0),
            began: ticks(&file("/proc/stat")),
            ..Machine::default()
        }
    }

    /// Notes what happened since [`Machine::here`].
    pub fn finish(&mut self) {
        let now = ticks(&file("/proc/stat"));
        let total = now.total.saturating_sub(self.began.total).max(1) as f64;
        let share = |from: u64, to: u64| to.saturating_sub(from) as f64 / total * 100.0;
        self.steal_percent = share(self.began.steal, now.steal);
        self.busy_percent = 100.0 - share(self.began.idle, now.idle) - self.steal_percent;
    }

    /// Whether the machine had something else to do when the run began.
    #[must_use]
    pub fn was_busy(&self) -> bool {
        self.load_before > self.cores.max(1) as f64 / 2.0
    }

    /// One line.
    #[must_use]
    pub fn line(&self) -> String {
        let kind = if self.virtual_machine { ", virtual machine" } else { "" };
        format!(
            "{}, {} cores{kind}, {:.0} GB, {}, kernel {}",
            if self.cpu.is_empty() { "unknown processor" } else { &self.cpu },
            self.cores,
            self.memory_mb as f64 / 1024.0,
            self.system,
            self.kernel
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_from_the_first_line() {
        let t = ticks("cpu  10 1 5 70 4 0 2 8 0 0\ncpu0 1 1 1 1\n");
        assert_eq!((t.total, t.idle, t.steal), (100, 74, 8));
        let nothing = ticks("");
        assert_eq!((nothing.total, nothing.idle, nothing.steal), (0, 0, 0));
    }

    #[test]
    fn this_machine_has_memory_and_a_kernel() {
        let mut here = Machine::here();
        here.finish();
        assert!(here.cores > 0 && here.memory_mb > 0 && !here.kernel.is_empty());
        assert!((0.0..=100.0).contains(&here.steal_percent));
    }
}
