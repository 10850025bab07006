//! A replica behind a thin link: how long its send queue takes to drain, and how many bytes cross, with blocks compressed and
//! not. The link is a pair of virtual interfaces between this machine and a network namespace, held to a rate in both
//! directions by `tc tbf`. Needs root.

use crate::broom::afterwards;
use crate::command;
use crate::fleet::{Fleet, Mode};
use crate::load::during;
use crate::progress::Progress;
use crate::tpcc::{self, Settings};
use anyhow::{Context, Result};
use keel_workload::tpcc::run::Ledger;
use std::path::Path;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Trace flag: blocks for asynchronous replicas are not compressed.
const NO_COMPRESSION: u32 = 1462;

/// A network namespace with one way in. Removed when dropped.
pub struct Namespace {
    name: String,
    near: String,
    far: String,
    number: u8,
}

impl Namespace {
    /// Makes it; the way in is as fast as the machine until it is [made thin](Namespace::limit).
    ///
    /// # Errors
    /// Without root, or without `ip` (of iproute2).
    pub fn new() -> Result<Namespace> {
        let number = (std::process::id() % 200) as u8 + 1;
        let name = format!("keel{number}");
        let namespace = Namespace { near: format!("{name}a"), far: format!("{name}b"), name, number };
        let Namespace { name, near, far, .. } = &namespace;
        command(&["ip", "netns", "add", name]).context("making a network namespace (as root)")?;
        afterwards(&["ip", "netns", "del", name]);
        afterwards(&["ip", "link", "del", near]);
        command(&["ip", "link", "add", near, "type", "veth", "peer", "name", far])?;
        command(&["ip", "link", "set", far, "netns", name])?;
        command(&["ip", "addr", "add", &format!("{}/30", namespace.near_address()), "dev", near])?;
        command(&["ip", "link", "set", near, "up"])?;
        namespace.inside(&["ip", "addr", "add", &format!("{}/30", namespace.far_address()), "dev", far])?;
        namespace.inside(&["ip", "link", "set", far, "up"])?;
        namespace.inside(&["ip", "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// This side's address.
    #[must_use]
    pub fn near_address(&self) -> String {
        format!("10.213.{}.1", self.number)
    }

    /// The address inside.
    #[must_use]
    pub fn far_address(&self) -> String {
        format!("10.213.{}.2", self.number)
    }

    /// What runs a program inside: put before its command line.
    #[must_use]
    pub fn before(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(str::to_owned).to_vec()
    }

    fn inside(&self, words: &[&str]) -> Result<String> {
        let before = self.before();
        let words: Vec<&str> = before.iter().map(String::as_str).chain(words.iter().copied()).collect();
        command(&words)
    }

    /// Holds both directions to `rate`, as `tc` writes it.
    ///
    /// # Errors
    /// Without `tc` (of iproute2).
    pub fn limit(&self, rate: &str) -> Result<()> {
        let bucket = ["root", "tbf", "rate", rate, "burst", "32kbit", "latency", "400ms"];
        let near = ["tc", "qdisc", "replace", "dev", &self.near];
        let far = ["tc", "qdisc", "replace", "dev", &self.far];
        command(&near.iter().chain(&bucket).copied().collect::<Vec<_>>())?;
        self.inside(&far.iter().chain(&bucket).copied().collect::<Vec<_>>())?;
        Ok(())
    }

    /// Cuts the way in, or mends it.
    ///
    /// # Errors
    /// When the interface is gone.
    pub fn cut(&self, cut: bool) -> Result<()> {
        command(&["ip", "link", "set", &self.near, if cut { "down" } else { "up" }]).map(|_| ())
    }

    /// Bytes that went in so far.
    ///
    /// # Errors
    /// When the interface is gone.
    pub fn bytes_in(&self) -> Result<u64> {
        let path = format!("/sys/class/net/{}/statistics/tx_bytes", self.near);
        Ok(std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?.trim().parse()?)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Best effort; the interfaces go with the namespace.
        let _ = command(&["ip", "link", "del", &self.near]);
        let _ = command(&["ip", "netns", "del", &self.name]);
    }
}

/// One drain of a send queue.
#[derive(Clone, Debug)]
pub struct Drain {
    /// The link, as `tc` writes rates.
    pub rate: String,
    /// Whether blocks were compressed.
    pub compressed: bool,
    /// Log that was waiting, bytes.
    pub queue_bytes: u64,
    /// Bytes that crossed the link for it, with everything that goes on around.
    pub wire_bytes: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Drain {
    /// Share of the log's bytes that did not have to cross.
    #[must_use]
    pub fn saved(&self) -> f64 {
        1.0 - self.wire_bytes as f64 / self.queue_bytes as f64
    }
}

/// Lets a queue of about `queue_mb` build up and drain over a link of each rate, without and with compression, `rounds` times. Returns that, and
/// what the far copy does not hold at the end that clients were told; empty is well.
///
/// # Errors
/// Without root; what the servers say.
pub fn run(
    binary: &Path,
    dir: &Path,
    settings: Settings,
    rates: &[String],
    queue_mb: u64,
    rounds: usize,
    progress: &Progress,
) -> Result<(Vec<Drain>, Vec<String>)> {
    progress.say("making a group over a link, and loading");
    let namespace = Namespace::new()?;
    let mut launches = Fleet::launches(binary, dir, 2, &["--max-server-memory", "1024"])?;
    launches[0].host = namespace.near_address();
    launches[1].host = namespace.far_address();
    launches[1].before = namespace.before();
    let fleet = Fleet::start(launches, "tpcc")?;
    tpcc::build(&fleet, settings, 2)?;
    fleet.create_group()?;
    fleet.add_replica(1, Mode::Asynchronous)?;
    fleet.wait_settled(0, 1, Mode::Asynchronous)?;
    let (mut drains, mut told) = (Vec::new(), Vec::new());
    let mut seed = 0;
    for rate in rates {
        for compressed in (0..rounds).flat_map(|_| [false, true]) {
            progress.say(&format!("{rate}, {}", if compressed { "compressed" } else { "as it is" }));
            seed += 1;
            drains.push(drain(
                (&fleet, &namespace),
                settings,
                rate,
                queue_mb << 20,
                compressed,
                seed,
                &mut told,
            )?);
        }
    }
    let violations = tpcc::check_copy(&mut fleet.nodes[1].session("tpcc")?, &told, settings)?;
    Ok((drains, violations))
}

fn drain(
    (fleet, namespace): (&Fleet, &Namespace),
    settings: Settings,
    rate: &str,
    queue_bytes: u64,
    compressed: bool,
    seed: u64,
    told: &mut Vec<Ledger>,
) -> Result<Drain> {
    let on_off = if compressed { "OFF" } else { "ON" };
    fleet.nodes[0].run(&format!("DBCC TRACE{on_off} ({NO_COMPRESSION}, -1)"))?;
    fleet.nodes[1].run("ALTER DATABASE tpcc SET HADR SUSPEND")?;
    let written = || fleet.nodes[0].counter("Log Bytes Flushed/sec");
    let before = written()?;
    let ((), ledgers) = during(fleet, settings, seed, |_| {
        while written()? - before < queue_bytes {
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    })?;
    told.extend(ledgers);
    let end = fleet.position(0)?;
    let queue_bytes = written()? - before;
    namespace.limit(rate)?;
    let (began, bytes) = (Instant::now(), namespace.bytes_in()?);
    fleet.nodes[1].run("ALTER DATABASE tpcc SET HADR RESUME")?;
    fleet.wait_redone(1, &end)?;
    let drain = Drain {
        rate: rate.into(),
        compressed,
        queue_bytes,
        wire_bytes: namespace.bytes_in()? - bytes,
        seconds: began.elapsed().as_secs_f64(),
    };
    namespace.limit("10gbit")?;
    Ok(drain)
}
