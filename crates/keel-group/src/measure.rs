//! Measuring what a cluster stands on, without asking anybody what it should be: how long a write to each member's disk takes,
//! and a message between any two of them.

use crate::ask::{Answer, Question};
use crate::error::GroupError;
use crate::groups::Groups;
use crate::shell::Shared;
use keel_base::env::{Env, OpenMode};
use keel_cluster::InstanceId;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Bytes of one measured write: a small commit's log block.
const WRITE_BYTES: usize = 4096;
/// Writes measured, at most.
const WRITES_MAX: u64 = 200;
/// Messages measured for each pair, at most.
const PINGS_MAX: usize = 200;
/// No longer than this for the disk, nor for each pair.
const TIME_MAX: Duration = Duration::from_secs(2);
/// A message that takes longer counts as lost.
const PING_TIMEOUT: Duration = Duration::from_secs(1);
/// A member that has not measured everything by then is reported as silent.
const MEASURE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long something took, over several samples. Microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub samples: u32,
    /// Half took no longer.
    pub p50_us: u64,
    /// Ninety-nine of a hundred took no longer.
    pub p99_us: u64,
    /// None took longer.
    pub max_us: u64,
}

impl Latency {
    /// Of samples; `None` without any.
    #[must_use]
    pub fn of(mut samples: Vec<Duration>) -> Option<Latency> {
        samples.sort_unstable();
        let last = samples.len().checked_sub(1)?;
        let at = |percent: usize| {
            let sample = samples[(last * percent).div_ceil(100)];
            u64::try_from(sample.as_micros()).unwrap_or(u64::MAX)
        };
        let count = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        Some(Latency { samples: count, p50_us: at(50), p99_us: at(99), max_us: at(100) })
    }
}

/// The way from one member to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The other's server name.
    pub to: String,
    /// There and back; `None` when nothing came back.
    pub latency: Option<Latency>,
    /// Messages that did not come back in a second.
    pub lost: u32,
}

/// What one member measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// A write of 4 KB with its sync, in the data directory.
    pub log_write: Option<Latency>,
    /// Why the disk could not be measured.
    pub disk_error: Option<String>,
    /// To everybody it is connected with.
    pub round_trips: Vec<RoundTrip>,
}

/// One member of the cluster as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberCheck {
    /// Server name.
    pub name: String,
    /// What it measured; `None` when it could not be asked.
    pub measured: Option<Measurement>,
    /// Why not.
    pub error: Option<String>,
}

fn measure_disk(env: &Env, dir: &Path) -> Result<Option<Latency>, GroupError> {
    let path = dir.join("validate.tmp");
    env.disk.create_dir_all(dir)?;
    let file = env.disk.open(&path, OpenMode::Create)?;
    // As the log does: into space that is there already.
    file.allocate(WRITES_MAX * WRITE_BYTES as u64)?;
    file.sync_all()?;
    let bytes = [0x5a; WRITE_BYTES];
    let began = env.clock.now();
    let mut samples = Vec::new();
    for n in 0..WRITES_MAX {
        let before = env.clock.now();
        file.write_durable_at(&bytes, n * WRITE_BYTES as u64)?;
        let after = env.clock.now();
        samples.push(after.saturating_sub(before));
        if after >= began + TIME_MAX {
            break;
        }
    }
    drop(file);
    env.disk.remove(&path)?;
    Ok(Latency::of(samples))
}

impl Shared {
    /// Measures this instance's disk and its way to everybody it is connected with. Takes a few seconds.
    pub(crate) fn measure(&self) -> Measurement {
        let disk = measure_disk(&self.env, &self.dir);
        let disk_error = disk.as_ref().err().map(ToString::to_string);
        let peers: Vec<(InstanceId, String)> =
            self.peers.read().values().map(|p| (p.instance, p.name.clone())).collect();
        let round_trips = peers.into_iter().map(|(peer, to)| self.measure_way(peer, to)).collect();
        Measurement { log_write: disk.ok().flatten(), disk_error, round_trips }
    }

    fn measure_way(&self, peer: InstanceId, to: String) -> RoundTrip {
        let began = self.now();
        let (mut samples, mut lost) = (Vec::new(), 0);
        while samples.len() < PINGS_MAX && self.now() < began + TIME_MAX {
            let before = self.now();
            match self.ask(peer, &Question::Ping, PING_TIMEOUT) {
                Some(_) => samples.push(self.now().saturating_sub(before)),
                None => lost += 1,
            }
            if self.peer(peer).is_none() {
                break;
            }
        }
        RoundTrip { to, latency: Latency::of(samples), lost }
    }
}

impl Groups {
    /// Lets every instance that this one knows measure its disk and its ways to the others, all at once; this one first in
    /// the answer. Takes some seconds.
    #[must_use]
    pub fn validate(&self) -> Vec<MemberCheck> {
        let shared = &self.shared;
        let connected: Vec<(InstanceId, String)> =
            shared.peers.read().values().map(|p| (p.instance, p.name.clone())).collect();
        let mut checks: Vec<MemberCheck> = std::thread::scope(|scope| {
            let own = scope.spawn(|| MemberCheck {
                name: shared.name.clone(),
                measured: Some(shared.measure()),
                error: None,
            });
            let others: Vec<_> = connected
                .iter()
                .map(|(peer, name)| {
                    scope.spawn(|| {
                        let answer = shared.ask(*peer, &Question::Measure, MEASURE_TIMEOUT);
                        let measured = match answer {
                            Some(Answer::Measured(measured)) => Some(measured),
                            _ => None,
                        };
                        let error = measured.is_none().then(|| "it did not answer".to_owned());
                        MemberCheck { name: name.clone(), measured, error }
                    })
                })
                .collect();
            // A panic in a measurement leaves its member out; it has been reported by its own thread.
            std::iter::once(own).chain(others).filter_map(|thread| thread.join().ok()).collect()
        });
        for target in shared.targets() {
            if !checks.iter().any(|c| c.name.eq_ignore_ascii_case(&target.name)) {
                let error = shared.dialer.lock().last_error(&target.name).map(|(error, _)| error.to_string());
                let error = Some(error.unwrap_or_else(|| "there is no connection to it".to_owned()));
                checks.push(MemberCheck { name: target.name, measured: None, error });
            }
        }
        checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};

    #[test]
    fn percentiles_are_samples() {
        let ms = |n| Duration::from_micros(n);
        assert_eq!(Latency::of(Vec::new()), None);
        let one = Latency { samples: 1, p50_us: 7, p99_us: 7, max_us: 7 };
        assert_eq!(Latency::of(vec![ms(7)]), Some(one));
        let hundred = Latency { samples: 101, p50_us: 50, p99_us: 99, max_us: 100 };
        assert_eq!(Latency::of((0..=100).rev().map(ms).collect()), Some(hundred));
    }

    #[test]
    fn the_disk_is_measured_and_left_clean() {
        let disk = SimDisk::new();
        let measured = measure_disk(&env(&disk, 1), Path::new("groups")).unwrap().unwrap();
        assert_eq!(u64::from(measured.samples), WRITES_MAX);
        assert!(disk.contents(Path::new("groups/validate.tmp")).is_none());
        disk.set_capacity(disk.used());
        assert!(measure_disk(&env(&disk, 1), Path::new("groups")).is_err());
    }
}
