//! `keel demo`: what an availability group does, in a minute and on one machine.
//!
//! ```text
//!   three processes ─► keel init, join, group create ─► TPROC-C over TDS ─► kill -9 ─► the group goes on ─► the proof
//! ```
//! Everything is done as a user would do it: the instances are `keel serve` processes, the group is made by the commands of
//! this program, the clients speak TDS, the picture comes from the system views. What the clients were told is kept
//! by themselves ([`keel_workload::tpcc::run::Ledger`]) and compared with every copy at the end.
//!
//! Data and ports are out of the way of anything else: a new directory, and ports that were free.
//!
//! Deliberately absent: any way into the server but the wire, and figures to be quoted; `keel-bench` measures.

mod clients;
mod cluster;
mod proof;
mod show;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use keel_bench::tpcc::{self, Settings};
use keel_workload::tpcc::Scale;

use self::clients::Clients;
use self::cluster::Cluster;
use self::show::Show;
use self::watch::Watch;
use crate::signals::Signals;

/// Name of the database and of the group.
const DATABASE: &str = "tpcc";
const GROUP: &str = "demo";
/// How long the group may take to go on, or to be whole again, before the demo calls that a failure.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the picture changes.
const FRAME: Duration = Duration::from_millis(100);

/// Show an availability group at work: make one, load it, kill its primary, and prove that nothing was lost.
///
/// Three instances start as processes of their own on loopback, with a directory and ports of their own, and form a group
/// with synchronous commit and automatic failover. TPROC-C runs on it over TDS; the primary is killed with -9; another
/// takes over; the dead one comes back. Then every transaction that the clients were told is committed is looked for on
/// every copy. The group stays for you to play with until Ctrl-C, which removes everything. `sa` has the password in
/// MSSQL_SA_PASSWORD, or one that is made up and printed.
#[derive(Args)]
pub struct Demo {
    /// Instances in the group
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(3..=5))]
    replicas: u8,
    /// Seconds of load before the primary is killed, and again afterwards
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    seconds: u16,
    /// TPROC-C warehouses
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    warehouses: u8,
    /// Sessions that run transactions, one after another
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    clients: u8,
    /// Memory of each instance, in MB
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(384..))]
    memory: u32,
    /// Plain lines for logs and pipes instead of a moving picture; so is it when the output is no terminal
    #[arg(long)]
    plain: bool,
    /// End after the proof instead of leaving the group running
    #[arg(long)]
    exit: bool,
    /// Keep the data directories when it ends
    #[arg(long)]
    keep: bool,
    /// Where the data goes [default: a new directory among the temporary files]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Demo {
    /// Runs the demo. Fails when something acknowledged is missing anywhere, or when the group did not go on.
    pub fn run(self) -> ExitCode {
        let signals = Signals::block();
        let interrupted = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&interrupted);
        std::thread::spawn(move || {
            signals.wait();
            asked.store(true, Ordering::Relaxed);
            // Whoever asks again does not want to wait for the clean-up.
            signals.wait();
            std::process::exit(130);
        });
        let show = Show::new(self.plain);
        match self.demo(&show, &interrupted) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) if interrupted.load(Ordering::Relaxed) => {
                show.say(&format!("Stopped. ({e:#})"));
                ExitCode::from(130)
            }
            Err(e) => {
                show.failed(&format!("{e:#}"));
                ExitCode::FAILURE
            }
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            scale: Scale::full(i64::from(self.warehouses)),
            clients: u64::from(self.clients),
            warm_up: Duration::ZERO,
            duration: Duration::ZERO,
            transactions: None,
            fresh_rows: false,
            think: Duration::ZERO,
            seed: 1,
        }
    }

    fn demo(&self, show: &Show, interrupted: &AtomicBool) -> Result<()> {
        show.title(&format!("Evenkeel demo: a group of {} on this machine", self.replicas));
        let mut cluster = Cluster::start(show, self, interrupted)?;
        self.load(show, &cluster)?;
        cluster.make_group(show)?;

        let watch = Watch::start(cluster.addresses());
        let clients = Clients::start(&cluster.addresses(), self.settings());
        let stage = Stage { show, watch: &watch, clients: &clients, interrupted };
        let span = Duration::from_secs(u64::from(self.seconds));
        show.step(&format!("TPROC-C from {} sessions, each commit on {} logs", self.clients, self.replicas));
        stage.play(span, |_| false)?;
        if clients.acknowledged() == 0 {
            bail!("no transaction was acknowledged in {} s{}", span.as_secs(), clients.newest_failure());
        }

        let primary = watch.primary().unwrap_or(0);
        show.step(&format!("kill -9 of the primary, {}, under full load", cluster.name(primary)));
        let gap = stage.kill(&mut cluster, primary)?;
        stage.play(span, |_| false)?;

        show.step(&format!("{} is started again", cluster.name(primary)));
        cluster.restart(primary)?;
        let whole = stage.play(PATIENCE, |watch| watch.whole())?;
        if !whole {
            bail!("the copies are not synchronized after {} s", PATIENCE.as_secs());
        }
        show.good(&format!("{} follows, and every copy is synchronized again", cluster.name(primary)));

        show.step("the proof: what the clients were told, looked for on every copy");
        let ledgers = clients.stop()?;
        let leader = watch.primary().unwrap_or(0);
        watch.stop();
        proof::prove(show, &cluster, leader, &ledgers, self.settings())?;
        show.good(&format!("longest time without an acknowledged transaction around the kill: {gap} ms"));
        proof::timeline(show, &cluster.addresses()[leader]);

        if !self.exit {
            cluster.invite(show, leader);
            while !interrupted.load(Ordering::Relaxed) {
                std::thread::sleep(FRAME);
            }
        }
        cluster.stop(show)
    }

    fn load(&self, show: &Show, cluster: &Cluster) -> Result<()> {
        show.step(&format!("a TPROC-C database of {} warehouse(s)", self.warehouses));
        let first = &cluster.addresses()[0];
        let working = show.working("loading");
        first.create_database()?;
        let (rows, seconds) = tpcc::build(first, self.settings(), 2)?;
        working.done(&format!("{rows} rows in {seconds:.1} s"));
        Ok(())
    }
}

/// What is shown while the load runs.
struct Stage<'a> {
    show: &'a Show,
    watch: &'a Watch,
    clients: &'a Clients,
    interrupted: &'a AtomicBool,
}

impl Stage<'_> {
    /// Shows the group at work for `span`, or until `enough` says so: then it returns true.
    fn play(&self, span: Duration, enough: impl Fn(&Watch) -> bool) -> Result<bool> {
        let began = Instant::now();
        let mut picture = self.show.picture();
        while began.elapsed() < span {
            if self.interrupted.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            picture.draw(&self.watch.nodes(), self.clients.acknowledged());
            if enough(self.watch) {
                return Ok(true);
            }
            std::thread::sleep(FRAME);
        }
        Ok(false)
    }

    /// Kills the primary and waits until another acknowledges. Returns the longest time without an acknowledgement, ms.
    fn kill(&self, cluster: &mut Cluster, primary: usize) -> Result<u64> {
        self.clients.forget_gap();
        cluster.kill(primary)?;
        let killed = Instant::now();
        let goes_on = self.play(PATIENCE, |watch| {
            watch.primary().is_some_and(|now| now != primary) && self.clients.silent_since(killed).is_none()
        })?;
        if !goes_on {
            bail!("no client went on within {} s{}", PATIENCE.as_secs(), self.clients.newest_failure());
        }
        let gap = self.clients.longest_gap().as_millis() as u64;
        let now = self.watch.primary().unwrap_or(primary);
        self.show.good(&format!("{} took over; clients waited {gap} ms", cluster.name(now)));
        Ok(gap)
    }
}
