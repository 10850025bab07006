//! `keel-bench`: workloads and side-by-side runs from the command line.

use anyhow::{Result, bail, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use keel_bench::target::Server;
use keel_bench::tds::{Address, Keel, keel_binary};
use keel_bench::{crash, tpcc};
use keel_workload::tpcc::Scale;
use std::path::PathBuf;
use std::time::Duration;

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
        /// Keep the rows of an earlier build (with --address only).
        #[arg(long)]
        no_build: bool,
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
                let options: Vec<&str> = self.serve_options.split_whitespace().collect();
                let keel = Keel::start(&keel_binary()?, &scratch("keel"), &options)?;
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
                };
                Ok(Box::new(server))
            }
        }
    }
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Tpcc { load, seconds, warm_up, no_build, target } => {
            compare_tpcc(&target, load.settings(warm_up, seconds), no_build)
        }
        Command::Crash { load, rounds } => {
            let data = scratch("crash");
            let outcome = crash::run(&keel_binary()?, &data, load.settings(0, 0), rounds, &[]);
            let _ = std::fs::remove_dir_all(&data);
            let outcome = outcome?;
            let slowest = outcome.restart_seconds.iter().copied().fold(0.0, f64::max);
            println!(
                "{} kills, {} transactions acknowledged, slowest restart {slowest:.2} s, {} violations",
                outcome.rounds,
                outcome.acknowledged,
                outcome.violations.len()
            );
            report(&outcome.violations)
        }
    }
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
    if let [(first, a), (second, b)] = &nopm[..] {
        let mut ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        println!("{first} / {second}: median {:.2}, of {:.2?}", ratios[ratios.len() / 2], ratios);
    }
    Ok(())
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
