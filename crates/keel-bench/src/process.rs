//! What a server's process holds, from `/proc`.

use anyhow::{Context, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(50);

/// Resident memory of a process now, bytes.
///
/// # Errors
/// When there is no such process.
pub fn resident_bytes(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS line")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().context("a strange VmRSS line")?;
    Ok(kilobytes << 10)
}

/// Looks at a process's memory until told to stop, and remembers the most.
pub struct Watch {
    pid: u32,
    peak: AtomicU64,
    stop: AtomicBool,
}

impl Watch {
    /// Of this process.
    #[must_use]
    pub fn new(pid: u32) -> Watch {
        Watch { pid, peak: AtomicU64::new(0), stop: AtomicBool::new(false) }
    }

    /// To be run on a thread of its own; ends after [`Watch::stop`], or with the process.
    pub fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let Ok(bytes) = resident_bytes(self.pid) else { return };
            self.peak.fetch_max(bytes, Ordering::Relaxed);
            std::thread::sleep(INTERVAL);
        }
    }

    /// The most seen since the last call, bytes.
    pub fn take_peak(&self) -> u64 {
        self.peak.swap(0, Ordering::Relaxed)
    }

    /// Ends [`Watch::run`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Ticks of `/proc/*/stat` in a second: what Linux tells programs, whatever it counts in itself.
const TICKS_PER_SECOND: u64 = 100;

/// The fields of a process's `stat` line behind its name: state, parent, …
fn stat(pid: u32) -> Result<Vec<String>> {
    let path = format!("/proc/{pid}/stat");
    let line = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let (_, rest) = line.rsplit_once(')').context("a strange stat line")?;
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}

/// Processor time that a process has used, its ended threads included. To a hundredth of a second.
///
/// # Errors
/// When there is no such process.
pub fn processor_time(pid: u32) -> Result<Duration> {
    let fields = stat(pid)?;
    let ticks = |i: usize| -> Result<u64> { Ok(fields.get(i).context("a short stat line")?.parse()?) };
    Ok(Duration::from_millis((ticks(11)? + ticks(12)?) * 1000 / TICKS_PER_SECOND))
}

/// A process and all that descend from it now.
#[must_use]
pub fn family(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return vec![pid] };
    let pids = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> =
        pids.filter_map(|p| Some((p, stat(p).ok()?.get(1)?.parse().ok()?))).collect();
    let mut family = vec![pid];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at];
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
        at += 1;
    }
    family
}

/// Times that the threads of a process have given up the processor to wait, those of threads that live now.
#[must_use]
pub fn waits(pid: u32) -> u64 {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let of = |status: String| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    let statuses = tasks.filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("status")).ok());
    statuses.filter_map(of).sum()
}

/// Threads of a process now; 0 when there is no such process.
#[must_use]
pub fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// What keeps a program to one core: put before its command line. Nothing when the machine has only one.
#[must_use]
pub fn on_core(core: usize) -> Vec<String> {
    if cores() < 2 { Vec::new() } else { vec!["taskset".into(), "-c".into(), core.to_string()] }
}

/// Keeps this process, with all its threads, to the cores from `first` on.
///
/// # Errors
/// When `taskset` (of util-linux) cannot be run.
pub fn stay_from_core(first: usize) -> Result<()> {
    if cores() > first {
        let range = format!("{first}-{}", cores() - 1);
        crate::command(&["taskset", "-acp", &range, &std::process::id().to_string()])?;
    }
    Ok(())
}

/// Cores of the machine.
#[must_use]
pub fn cores() -> usize {
    // Not what this process may use: it may have been kept to some already.
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    online.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok()).map_or(1, |n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_of_its_own_family_and_its_time_grows() {
        let me = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(family(me).contains(&child.id()));
        assert_eq!(family(child.id()), vec![child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        let before = processor_time(me).unwrap();
        let mut n = 1u64;
        while processor_time(me).unwrap() == before {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        assert!(cores() >= 1 && n != 0);
    }
}
