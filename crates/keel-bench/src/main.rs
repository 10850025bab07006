//! `keel-bench`: workloads and side-by-side runs from the command line.
use anyhow::Result;
use clap::{Parser, Subcommand};
use keel_bench::{target::Server, tpcc};
use keel_workload::tpcc::Scale;
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
    /// TPROC-C: load, run, check; new orders per minute.
    Tpcc {
        /// Warehouses.
        #[arg(long, default_value_t = 10)]
        warehouses: i64,
        /// Sessions.
        #[arg(long, default_value_t = 8)]
        clients: u64,
        /// Measured seconds.
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        /// Seconds before measuring.
        #[arg(long, default_value_t = 5)]
        warm_up: u64,
        /// Keep the rows of an earlier build.
        #[arg(long)]
        no_build: bool,
        /// Random seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Run against a PostgreSQL cluster started for the occasion.
        #[arg(long)]
        postgres: bool,
    },
}

fn main() -> Result<()> {
    let Command::Tpcc { warehouses, clients, seconds, warm_up, no_build, seed, postgres } =
        Arguments::parse().command;
    let settings = tpcc::Settings {
        scale: Scale::full(warehouses),
        clients,
        warm_up: Duration::from_secs(warm_up),
        duration: Duration::from_secs(seconds),
        seed,
    };
    let server = server(postgres)?;
    if !no_build {
        let (rows, took) = tpcc::build(&*server, settings, 2)?;
        println!("{}: loaded {rows} rows in {took:.1} s ({:.0} rows/s)", server.name(), rows as f64 / took);
    }
    let outcome = tpcc::run(&*server, settings)?;
    println!(
        "{}: {} warehouses, {} clients, {} s\n{}",
        server.name(),
        warehouses,
        clients,
        seconds,
        outcome.report()
    );
    outcome.violations.iter().for_each(|v| println!("VIOLATION {v}"));
    anyhow::ensure!(outcome.violations.is_empty(), "the server lost or tore work");
    Ok(())
}

#[cfg(feature = "postgres")]
fn server(postgres: bool) -> Result<Box<dyn Server>> {
    anyhow::ensure!(postgres, "name a server");
    let scratch = std::env::temp_dir().join(format!("keel-bench-{}", std::process::id()));
    Ok(Box::new(keel_bench::pg::Cluster::start(&scratch)?))
}

#[cfg(not(feature = "postgres"))]
fn server(_postgres: bool) -> Result<Box<dyn Server>> {
    anyhow::bail!("built without the `postgres` feature")
}
