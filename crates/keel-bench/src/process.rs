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
