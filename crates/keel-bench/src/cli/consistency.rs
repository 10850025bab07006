//! `keel bench consistency`.

use super::Run;
use crate::consistency;
use crate::report::{Better, Table, count};
use anyhow::Result;
use clap::Args;
use serde::Serialize;
use std::time::Duration;

/// Sessions that change everything at once, and what must hold in every snapshot meanwhile, after kills, and in restored backups
#[derive(Args, Serialize)]
pub struct Consistency {
    /// Seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Random seed; the order in which sessions meet is the machine's
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sessions of each kind
    #[arg(long, default_value_t = 1)]
    clients: u64,
    /// Memory of each server, MB
    #[arg(long, value_name = "MB", default_value_t = 160)]
    max_server_memory: u32,
    /// Three servers in an availability group, with failovers; readers look at every copy
    #[arg(long)]
    group: bool,
}

impl Consistency {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("consistency", "What must hold while everything changes", &self)?;
        let settings = consistency::Settings {
            time: Duration::from_secs(self.seconds),
            seed: self.seed,
            clients: self.clients,
            memory: self.max_server_memory,
            group: self.group,
        };
        let outcome =
            run.on_scratch("consistency", |dir| consistency::run(run.keel, dir, &settings, &run.progress))?;
        let mut table = Table::new("What happened", &["what", "times"]);
        table.row(["compared at rest, after a kill or failover mostly".to_owned(), count(outcome.rounds)]);
        table.row(["commits of the ledger".to_owned(), count(outcome.acknowledged)]);
        let errors = outcome.errors.iter().map(|(what, times)| (what.as_str(), *times));
        for (what, times) in outcome.done.iter().map(|(what, times)| (*what, *times)).chain(errors) {
            table.row([what.to_owned(), count(times)]);
        }
        let done = [outcome.done.values().sum::<u64>() as f64];
        report.figure("transactions and looks", "Evenkeel", "", "", Better::Higher, &done);
        let what = "every way to the rows gives the same in each snapshot, and nothing acknowledged is lost";
        report.check(what, &outcome.violations);
        report.tables.push(table);
        run.finish(report)
    }
}
