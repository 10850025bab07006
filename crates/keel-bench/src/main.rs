//! `keel-bench`: workloads and side-by-side runs from the command line.

use anyhow::{Result, bail, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use keel_bench::target::Server;
use keel_bench::tds::{Address, Keel, keel_binary};
use keel_bench::{crash, memory, point, recovery, steady, tpcc};
use keel_workload::tpcc::Scale;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod groups;

/// Measures servers with the workloads of the project.
#[derive(Parser)]
#[command(name = "keel-bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// TPROC-C: load, run, check; new orders per minute. Two targets are run in turn and compared.
    Tpcc {
        #[command(flatten)]
        load: Load,
        /// Measured seconds.
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        /// Seconds before measuring.
        #[arg(long, default_value_t = 5)]
        warm_up: u64,
        /// Instead of for a time, run this many transactions in all; without warm-up.
        #[arg(long)]
        transactions: Option<u64>,
        /// Keep the rows of an earlier build (with --address only).
        #[arg(long)]
        no_build: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Point selects through a prepared query: selects per second. Two targets are run in turn and compared.
    Point {
        /// Rows in the table.
        #[arg(long, default_value_t = 100_000)]
        rows: i64,
        /// Sessions.
        #[arg(long, default_value_t = 8)]
        clients: u64,
        /// Measured seconds.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
        /// Seconds before measuring.
        #[arg(long, default_value_t = 2)]
        warm_up: u64,
        #[command(flatten)]
        target: Target,
    },
    /// Kill -9 under TPROC-C load, restart, and look for every acknowledged transaction.
    Crash {
        #[command(flatten)]
        load: Load,
        /// Kills.
        #[arg(long, default_value_t = 10)]
        rounds: u32,
    },
    /// A database larger than memory: point reads and updates, then one very large transaction.
    Memory {
        /// `max server memory`, MB.
        #[arg(long, default_value_t = 512)]
        memory: u64,
        /// Bytes of rows, MB.
        #[arg(long, default_value_t = 4096)]
        database: u64,
        /// Divides both, and nothing else.
        #[arg(long, default_value_t = 1)]
        shrink: u64,
        /// Rows that one transaction changes at the end.
        #[arg(long, default_value_t = 2_000_000)]
        large_rows: u64,
        /// Sessions.
        #[arg(long, default_value_t = 4)]
        clients: u64,
        /// Seconds of point reads and updates.
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        /// Random seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// More options for `keel serve`, separated by spaces.
        #[arg(long, default_value = "")]
        serve_options: String,
    },
    /// TPROC-C with checkpoints held off, kill -9, restart: seconds of recovery per second of load.
    Recovery {
        #[command(flatten)]
        load: Load,
        /// Seconds before the kill.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// More options for `keel serve`, separated by spaces.
        #[arg(long, default_value = "")]
        serve_options: String,
    },
    /// TPROC-C with checkpoints, second by second: the slowest second beside the mean.
    Steady {
        #[command(flatten)]
        load: Load,
        /// Measured seconds.
        #[arg(long, default_value_t = 300)]
        seconds: u64,
        /// Seconds before measuring.
        #[arg(long, default_value_t = 10)]
        warm_up: u64,
        /// Where each second goes, as CSV; else to standard output.
        #[arg(long)]
        csv: Option<PathBuf>,
        /// More options for `keel serve`, separated by spaces.
        #[arg(long, default_value = "")]
        serve_options: String,
    },
    #[command(flatten)]
    Group(groups::Command),
}

#[derive(Args, Clone, Copy)]
struct Load {
    /// Warehouses.
    #[arg(long, default_value_t = 10)]
    warehouses: i64,
    /// Items and customers as a share of the specification's, for quick runs: 1 is full size.
    #[arg(long, default_value_t = 1)]
    shrink: i64,
    /// Sessions.
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Load {
    fn settings(self, warm_up: u64, seconds: u64) -> tpcc::Settings {
        let full = Scale::full(self.warehouses);
        let scale =
            Scale { items: full.items / self.shrink, customers: full.customers / self.shrink, ..full };
        tpcc::Settings {
            scale,
            clients: self.clients,
            warm_up: Duration::from_secs(warm_up),
            duration: Duration::from_secs(seconds),
            transactions: None,
            fresh_rows: true,
            seed: self.seed,
        }
    }
}

#[derive(Args)]
struct Target {
    /// What to run against; given twice, the two are compared.
    #[arg(long = "on", value_enum, default_values_t = [Kind::Keel])]
    on: Vec<Kind>,
    /// Runs of each target, alternating.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// A server that is running already (`host:port`), instead of one started here.
    #[arg(long)]
    address: Option<String>,
    /// Login for --address.
    #[arg(long, default_value = "sa")]
    user: String,
    /// Password for --address; else the environment's MSSQL_SA_PASSWORD.
    #[arg(long, env = "MSSQL_SA_PASSWORD", default_value = "")]
    password: String,
    /// Encrypt TDS connections. Without it all connections are in the clear, as those to PostgreSQL always are.
    #[arg(long)]
    encrypt: bool,
    /// More options for `keel serve`, separated by spaces.
    #[arg(long, default_value = "")]
    serve_options: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// `keel serve`, started for the occasion.
    Keel,
    /// A PostgreSQL cluster, started for the occasion (needs the `postgres` feature).
    Postgres,
    /// The server at --address.
    Address,
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("keel-bench-{}-{name}", std::process::id()))
}

impl Target {
    fn start(&self, kind: Kind) -> Result<Box<dyn Server>> {
        match kind {
            Kind::Keel => {
                let options = split(&self.serve_options);
                let mut keel = Keel::start(&keel_binary()?, &scratch("keel"), &options)?;
                keel.encrypt(self.encrypt);
                keel.address().create_database()?;
                Ok(Box::new(keel))
            }
            Kind::Postgres => postgres(),
            Kind::Address => {
                let Some(address) = self.address.clone() else { bail!("--on address needs --address") };
                let server = Address {
                    address,
                    user: self.user.clone(),
                    password: self.password.clone(),
                    database: "tpcc".into(),
                    encrypt: self.encrypt,
                };
                Ok(Box::new(server))
            }
        }
    }
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Tpcc { load, seconds, warm_up, transactions, no_build, target } => {
            let settings =
                tpcc::Settings { transactions, fresh_rows: !no_build, ..load.settings(warm_up, seconds) };
            compare_tpcc(&target, settings, no_build)
        }
        Command::Point { rows, clients, seconds, warm_up, target } => {
            compare_point(&target, rows, clients, Duration::from_secs(warm_up), Duration::from_secs(seconds))
        }
        Command::Crash { load, rounds } => {
            let outcome = on_scratch("crash", |data| {
                crash::run(&keel_binary()?, data, load.settings(0, 0), rounds, &[])
            })?;
            let slowest = outcome.restart_seconds.iter().copied().fold(0.0, f64::max);
            println!(
                "{} kills, {} transactions acknowledged, slowest restart {slowest:.2} s, {} violations",
                outcome.rounds,
                outcome.acknowledged,
                outcome.violations.len()
            );
            report(&outcome.violations)
        }
        Command::Memory { memory, database, shrink, large_rows, clients, seconds, seed, serve_options } => {
            let settings = memory::Settings {
                memory_mb: memory / shrink.max(1),
                database_mb: database / shrink.max(1),
                large_rows,
                clients,
                duration: Duration::from_secs(seconds),
                seed,
            };
            report_memory(settings, &serve_options)
        }
        Command::Recovery { load, seconds, serve_options } => {
            let outcome = on_scratch("recovery", |data| {
                recovery::run(&keel_binary()?, data, load.settings(0, seconds), &split(&serve_options))
            })?;
            println!(
                "recovery {:.2} s of {:.1} s of load ({} transactions, {} MB of log); a start with nothing to recover \
                 {:.2} s; recovery / run {:.3}",
                outcome.recovery_seconds,
                outcome.run_seconds,
                outcome.acknowledged,
                outcome.log_bytes >> 20,
                outcome.start_seconds,
                outcome.recovery_seconds / outcome.run_seconds
            );
            report(&outcome.violations)
        }
        Command::Steady { load, seconds, warm_up, csv, serve_options } => {
            let settings = load.settings(warm_up, seconds);
            let outcome = on_scratch("steady", |data| {
                steady::run(&keel_binary()?, data, settings, &split(&serve_options))
            })?;
            match csv {
                Some(path) => std::fs::write(path, outcome.csv())?,
                None => print!("{}", outcome.csv()),
            }
            println!("{}", outcome.tpcc.report());
            report(&outcome.tpcc.violations)
        }
        Command::Group(command) => command.run(),
    }
}

fn split(options: &str) -> Vec<&str> {
    options.split_whitespace().collect()
}

/// Runs on an empty scratch directory and removes it afterwards.
fn on_scratch<T>(name: &str, run: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let data = scratch(name);
    let outcome = run(&data);
    let _ = std::fs::remove_dir_all(&data);
    outcome
}

fn report_memory(settings: memory::Settings, options: &str) -> Result<()> {
    let outcome = on_scratch("memory", |data| memory::run(&keel_binary()?, data, settings, &split(options)))?;
    println!(
        "{} MB of rows ({} rows) under max server memory {} MB",
        settings.database_mb, outcome.rows, settings.memory_mb
    );
    for phase in &outcome.phases {
        println!(
            "{:<14}{:>8.1} s{:>12.0} /s   peak {} MB",
            phase.name,
            phase.seconds,
            phase.per_second,
            phase.peak_bytes >> 20
        );
    }
    let large = settings.large_rows.min(outcome.rows);
    match &outcome.refused {
        None => println!("one transaction changed {large} rows"),
        Some(error) => println!("the transaction of {large} rows was refused: {error}"),
    }
    println!("peak resident / max server memory {:.2}", outcome.peak_share(&settings));
    report(&outcome.violations)
}

fn compare_tpcc(target: &Target, settings: tpcc::Settings, no_build: bool) -> Result<()> {
    let mut nopm: Vec<(String, Vec<f64>)> = Vec::new();
    for round in 0..target.repeat {
        for (i, kind) in target.on.iter().enumerate() {
            let server = target.start(*kind)?;
            if !no_build {
                let (rows, took) = tpcc::build(&*server, settings, 2)?;
                println!(
                    "{}: loaded {rows} rows in {took:.1} s ({:.0} rows/s)",
                    server.name(),
                    rows as f64 / took
                );
            }
            let outcome = tpcc::run(&*server, settings)?;
            println!(
                "{} (run {}): {} clients\n{}\n",
                server.name(),
                round + 1,
                settings.clients,
                outcome.report()
            );
            report(&outcome.violations)?;
            if nopm.len() <= i {
                nopm.push((server.name(), Vec::new()));
            }
            nopm[i].1.push(outcome.nopm());
            drop(server);
            let _ = std::fs::remove_dir_all(scratch("keel"));
        }
    }
    print_ratios(&nopm);
    Ok(())
}

fn compare_point(
    target: &Target,
    rows: i64,
    clients: u64,
    warm_up: Duration,
    duration: Duration,
) -> Result<()> {
    let mut rates: Vec<(String, Vec<f64>)> = Vec::new();
    for _ in 0..target.repeat {
        for (i, kind) in target.on.iter().enumerate() {
            let server = target.start(*kind)?;
            let outcome = point::run(&*server, rows, clients, warm_up, duration)?;
            println!(
                "{}: {clients} clients, {:.0} selects/s, p50 {} us, p99 {} us",
                server.name(),
                outcome.rate(),
                outcome.latency.quantile_us(0.5),
                outcome.latency.quantile_us(0.99)
            );
            if rates.len() <= i {
                rates.push((server.name(), Vec::new()));
            }
            rates[i].1.push(outcome.rate());
            drop(server);
            let _ = std::fs::remove_dir_all(scratch("keel"));
        }
    }
    print_ratios(&rates);
    Ok(())
}

/// Of two targets, the first's figures over the second's, round by round.
fn print_ratios(figures: &[(String, Vec<f64>)]) {
    if let [(first, a), (second, b)] = figures {
        let mut ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        println!("{first} / {second}: median {:.2}, of {:.2?}", ratios[ratios.len() / 2], ratios);
    }
}

fn report(violations: &[String]) -> Result<()> {
    violations.iter().for_each(|v| println!("VIOLATION {v}"));
    ensure!(violations.is_empty(), "the server lost or tore work");
    Ok(())
}

#[cfg(feature = "postgres")]
fn postgres() -> Result<Box<dyn Server>> {
    Ok(Box::new(keel_bench::pg::Cluster::start(&scratch("postgres"))?))
}

#[cfg(not(feature = "postgres"))]
fn postgres() -> Result<Box<dyn Server>> {
    bail!("built without PostgreSQL: cargo run --release -p keel-bench --features postgres")
}
