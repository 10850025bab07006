//! Runs seeds of the simulator, or replays a script.

use clap::Parser;
use keel_sim::{Plan, run, run_traced, shrink};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Availability groups in simulated worlds.
#[derive(Parser)]
struct Args {
    /// How many seeds to run.
    #[arg(long, default_value_t = 2000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Milliseconds of virtual time before the faults stop.
    #[arg(long, default_value_t = 20_000)]
    length: u64,
    /// Worlds of clusters that heal themselves; otherwise operators decide.
    #[arg(long)]
    cluster: bool,
    /// Worlds of clusters in which a manager from outside says who leads.
    #[arg(long)]
    external: bool,
    /// Worlds of two groups and a distributed availability group over them.
    #[arg(long)]
    pair: bool,
    /// What the databases are: a log and sets of numbers, or whole databases.
    #[arg(long, value_enum, default_value_t = EngineKind::Numbers)]
    engine: EngineKind,
    /// Stop after so many seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// Replay this script instead.
    #[arg(long)]
    script: Option<PathBuf>,
    /// With --script: print its story, as `tests/rules` keeps it.
    #[arg(long)]
    story: bool,
    /// Print the plan of the first seed and stop.
    #[arg(long)]
    print: bool,
    /// Show every event and action (with --script, or one seed).
    #[arg(long)]
    trace: bool,
    /// How many smaller plans to try when a seed fails.
    #[arg(long, default_value_t = 2000)]
    tries: usize,
    /// Go on after a failing seed.
    #[arg(long)]
    keep_going: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum EngineKind {
    Numbers,
    Real,
}

impl Args {
    fn plan(&self, seed: u64) -> Plan {
        let plan = match (self.pair, self.cluster) {
            (true, _) => Plan::grow_pair(seed, self.length),
            _ if self.external => Plan::grow_external(seed, self.length),
            (false, true) => Plan::grow_cluster(seed, self.length),
            (false, false) => Plan::grow(seed, self.length),
        };
        if self.engine == EngineKind::Real { plan.with_real_databases() } else { plan }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    // A failed assertion is a finding; it is reported with the plan, not by the panic's own text.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(path) = &args.script {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        };
        return match Plan::parse(&text) {
            Ok(plan) if args.story => told(&plan),
            Ok(plan) => one(&plan, args.trace),
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    if args.print {
        print!("{}", args.plan(args.from));
        return ExitCode::SUCCESS;
    }
    if args.trace {
        return one(&args.plan(args.from), true);
    }
    many(&args)
}

fn told(plan: &Plan) -> ExitCode {
    match keel_sim::story(plan) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn one(plan: &Plan, trace: bool) -> ExitCode {
    let (result, lines) = run_traced(plan, trace);
    for line in lines {
        println!("{line}");
    }
    match result {
        Ok(summary) => {
            println!("{summary:?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn many(args: &Args) -> ExitCode {
    let started = Instant::now();
    let limit = args.seconds.map(Duration::from_secs);
    let mut probes = BTreeMap::<&str, u64>::new();
    let (mut done, mut failed, mut acknowledged, mut epochs, mut healed_max) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for seed in args.from..args.from.saturating_add(args.seeds) {
        if limit.is_some_and(|l| started.elapsed() >= l) {
            break;
        }
        let plan = args.plan(seed);
        done += 1;
        match run(&plan) {
            Ok(summary) => {
                acknowledged += summary.acknowledged;
                epochs += summary.epochs;
                healed_max = healed_max.max(summary.healed_ms);
                summary.probes.iter().for_each(|(name, n)| *probes.entry(name).or_default() += n);
            }
            Err(error) => {
                failed += 1;
                println!("seed {seed}: {error}");
                if args.keep_going {
                    continue;
                }
                let (small, why) = shrink(&plan, args.tries);
                println!("--- shrunk: {why}\n{small}---");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{done} seeds in {:.1} s, {failed} failed; {acknowledged} commits acknowledged, {epochs} epochs, longest healing {healed_max} ms",
        started.elapsed().as_secs_f64()
    );
    for (name, count) in probes {
        println!("{count:>9} {name}");
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
