//! The subcommands that run an availability group.

use crate::{Load, keel_binary, on_scratch, report, split};
use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use keel_bench::histories::{self, Fault, Network};
use keel_bench::soak;
use keel_bench::sync_cost::{self, Workload};
use keel_bench::{catch_up, seeding, thin_link};
use keel_workload::history::lists::Isolation;
use std::path::PathBuf;
use std::time::Duration;

/// What may run on the other side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Evenkeel.
    Keel,
    /// PostgreSQL with synchronous streaming replication.
    Postgres,
}

/// What the clients do.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Does {
    /// TPROC-C's mix.
    Tpcc,
    /// One inserted row per transaction.
    Insert,
}

/// Isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// READ COMMITTED.
    ReadCommitted,
    /// SNAPSHOT.
    Snapshot,
    /// SERIALIZABLE.
    Serializable,
}

/// See the module.
#[derive(Subcommand)]
pub enum Command {
    /// Stand-alone beside one and two synchronous secondaries: throughput and processor time per transaction.
    SyncCost {
        /// What to run it on, in turn.
        #[arg(long = "on", value_enum, default_values_t = [Kind::Keel])]
        on: Vec<Kind>,
        /// What the clients do.
        #[arg(long, value_enum, default_value_t = Does::Tpcc)]
        workload: Does,
        /// Numbers of clients.
        #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16, 64])]
        clients: Vec<u64>,
        /// Warehouses.
        #[arg(long, default_value_t = 4)]
        warehouses: i64,
        /// As of `tpcc`.
        #[arg(long, default_value_t = 10)]
        shrink: i64,
        /// Measured seconds for each figure.
        #[arg(long, default_value_t = 4)]
        seconds: u64,
        /// Seconds before measuring each.
        #[arg(long, default_value_t = 1)]
        warm_up: u64,
        /// Rounds over all of it; medians are shown.
        #[arg(long, default_value_t = 1)]
        repeat: usize,
        /// Random seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// More options for `keel serve`, separated by spaces.
        #[arg(long, allow_hyphen_values = true, default_value = "--max-server-memory 2048")]
        serve_options: String,
    },
    /// The recovery queue of a secondary under full load, and how fast a suspended one catches up.
    Redo {
        #[command(flatten)]
        load: Load,
        /// Measured seconds of each part.
        #[arg(long, default_value_t = 20)]
        seconds: u64,
        /// Where the queues over time go, as CSV; else to standard output.
        #[arg(long)]
        csv: Option<PathBuf>,
        /// More options for `keel serve`, separated by spaces.
        #[arg(long, allow_hyphen_values = true, default_value = "--max-server-memory 4096")]
        serve_options: String,
    },
    /// Drain time and bytes of a send queue over a thin link, with and without compression. As root.
    Compression {
        /// The link, as `tc` writes rates.
        #[arg(long, default_value = "10mbit")]
        rate: String,
        /// Log in the queue, MB.
        #[arg(long, default_value_t = 12)]
        queue: u64,
        /// Rounds.
        #[arg(long, default_value_t = 2)]
        repeat: usize,
    },
    /// What automatic seeding takes from the primary's throughput.
    Seeding {
        #[command(flatten)]
        load: Load,
        /// Measured seconds before and after each copy is made.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
        /// Copies made.
        #[arg(long, default_value_t = 3)]
        repeat: usize,
        /// More options for `keel serve`, separated by spaces.
        #[arg(long, allow_hyphen_values = true, default_value = "--max-server-memory 4096")]
        serve_options: String,
    },
    /// A group of three while its machines fail, and what its clients saw, checked for lost writes and isolation anomalies.
    Histories {
        /// Seconds of faults.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Random seed: of the faults and of the load.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Clients of each kind.
        #[arg(long, default_value_t = 4)]
        clients: u64,
        /// Isolation level of the transactions on lists.
        #[arg(long, value_enum, default_value_t = Level::Serializable)]
        isolation: Level,
        /// In network namespaces, with partitions. As root.
        #[arg(long)]
        namespaces: bool,
        /// How old a read of a register may be, milliseconds: the lease.
        #[arg(long, default_value_t = 1000)]
        stale_reads: u64,
    },
    /// A group of three under mixed load while replicas are killed, stopped, suspended and failed over: no acknowledged commit
    /// may be lost, and all replicas must hold the same rows.
    Soak {
        /// Minutes.
        #[arg(long, default_value_t = 10.0)]
        minutes: f64,
        /// Random seed: of the faults and of the load.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Sessions that insert and remember what was acknowledged.
        #[arg(long, default_value_t = 4)]
        clients: u64,
    },
}

impl Command {
    /// Runs it and prints the figures.
    pub fn run(self) -> Result<()> {
        match self {
            Command::SyncCost {
                on,
                workload,
                clients,
                warehouses,
                shrink,
                seconds,
                warm_up,
                repeat,
                seed,
                serve_options,
            } => {
                let load = Load { warehouses, shrink, clients: 0, seed }.settings(warm_up, seconds);
                let workload = match workload {
                    Does::Tpcc => Workload::Tpcc,
                    Does::Insert => Workload::Insert,
                };
                let settings = sync_cost::Settings { load, clients, workload, repeat };
                on.into_iter().try_for_each(|kind| sync_cost(kind, &settings, &serve_options))
            }
            Command::Redo { load, seconds, csv, serve_options } => {
                let outcome = on_scratch("redo", |dir| {
                    catch_up::run(&keel_binary()?, dir, load.settings(2, seconds), &split(&serve_options))
                })?;
                match csv {
                    Some(path) => std::fs::write(path, outcome.csv())?,
                    None => print!("{}", outcome.csv()),
                }
                println!("{}", outcome.report()?);
                Ok(())
            }
            Command::Compression { rate, queue, repeat } => compression(&rate, queue, repeat),
            Command::Seeding { load, seconds, repeat, serve_options } => {
                let settings = load.settings(2, seconds);
                let rounds = on_scratch("seeding", |dir| {
                    seeding::run(&keel_binary()?, dir, settings, repeat, &split(&serve_options))
                })?;
                for r in &rounds {
                    println!(
                        "{:.0} transactions/s without, {:.0} while {:.0} MB were copied in {:.1} s ({:.0} MB/s): {:.1} % lost \
                         (goal: less than 10)",
                        r.without,
                        r.with,
                        r.bytes as f64 / 1e6,
                        r.seconds,
                        r.bytes as f64 / 1e6 / r.seconds,
                        r.loss() * 100.0
                    );
                }
                Ok(())
            }
            Command::Histories { seconds, seed, clients, isolation, namespaces, stale_reads } => {
                let mut faults = vec![Fault::Kill, Fault::Pause, Fault::Planned];
                if namespaces {
                    faults.extend([Fault::Isolate, Fault::MuteIn, Fault::MuteOut]);
                }
                let settings = histories::Settings {
                    time: Duration::from_secs(seconds),
                    seed,
                    clients,
                    faults,
                    isolation: match isolation {
                        Level::ReadCommitted => Isolation::ReadCommitted,
                        Level::Snapshot => Isolation::Snapshot,
                        Level::Serializable => Isolation::Serializable,
                    },
                    stale_reads: Duration::from_millis(stale_reads),
                    network: if namespaces { Network::Namespaces } else { Network::Loopback },
                };
                let outcome = on_scratch("histories", |dir| histories::run(&keel_binary()?, dir, &settings))?;
                println!("{}", outcome.report());
                report(&outcome.violations)
            }
            Command::Soak { minutes, seed, clients } => {
                let settings =
                    soak::Settings { time: Duration::from_secs_f64(minutes * 60.0), seed, clients };
                let outcome = on_scratch("soak", |dir| soak::run(&keel_binary()?, dir, &settings))?;
                println!("{}", outcome.report());
                report(&outcome.violations)
            }
        }
    }
}

fn sync_cost(kind: Kind, settings: &sync_cost::Settings, options: &str) -> Result<()> {
    on_scratch("sync-cost", |dir| {
        let mut side: Box<dyn sync_cost::Side> = match kind {
            Kind::Keel => Box::new(sync_cost::Keels::start(&keel_binary()?, dir, &split(options))?),
            Kind::Postgres => replicated_postgres(dir)?,
        };
        let outcome = sync_cost::run(&mut *side, settings)?;
        println!("{}\n{}", side.name(), outcome.report());
        Ok(())
    })
}

fn compression(rate: &str, queue: u64, repeat: usize) -> Result<()> {
    let load = Load { warehouses: 1, shrink: 30, clients: 4, seed: 1 }.settings(0, 0);
    let drains =
        on_scratch("compression", |dir| thin_link::run(&keel_binary()?, dir, load, rate, queue, repeat))?;
    for d in &drains {
        println!(
            "{:<12} queue of {:.1} MB drained in {:.2} s; {:.1} MB crossed the link, {:.0} % less than the log; {:.1} Mb/s of \
             log over {rate}",
            if d.compressed { "compressed" } else { "as it is" },
            d.queue_bytes as f64 / 1e6,
            d.seconds,
            d.wire_bytes as f64 / 1e6,
            (1.0 - d.wire_bytes as f64 / d.queue_bytes as f64) * 100.0,
            d.queue_bytes as f64 * 8e-6 / d.seconds
        );
    }
    Ok(())
}

#[cfg(feature = "postgres")]
fn replicated_postgres(dir: &std::path::Path) -> Result<Box<dyn sync_cost::Side>> {
    Ok(Box::new(keel_bench::pg_standby::Replicated::start(dir)?))
}

#[cfg(not(feature = "postgres"))]
fn replicated_postgres(_dir: &std::path::Path) -> Result<Box<dyn sync_cost::Side>> {
    anyhow::bail!("built without PostgreSQL: cargo build --release -p keel-bench --features postgres")
}
