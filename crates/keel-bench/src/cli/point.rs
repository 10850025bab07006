//! `keel bench point`.

use super::target::{Target, add_ratios};
use super::{Run, settings};
use crate::point;
use crate::report::{Better, Report, Table, number};
use anyhow::Result;
use clap::Args;
use serde::Serialize;
use std::time::Duration;

/// A row by its primary key through a prepared query, again and again
///
/// `sp_prepare` and `sp_execute`, against PostgreSQL's extended protocol. With two targets, they are run in turn and compared.
#[derive(Args, Serialize)]
pub struct Point {
    /// Rows in the table
    #[arg(long, default_value_t = 100_000)]
    rows: i64,
    /// Sessions
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// Measured seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Seconds before measuring
    #[arg(long, default_value_t = 2)]
    warm_up: u64,
    #[command(flatten)]
    #[serde(flatten)]
    target: Target,
}

impl Point {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = Report::new("point", "Point selects", settings(&self)?);
        let mut sides: Vec<(String, Vec<point::Outcome>)> = Vec::new();
        let (warm_up, time) = (Duration::from_secs(self.warm_up), Duration::from_secs(self.seconds));
        for _ in 0..self.target.repeat {
            for (i, one) in self.target.all().into_iter().enumerate() {
                self.target.with(run, one, &mut report, |server, _| {
                    let outcome = point::run(server, self.rows, self.clients, warm_up, time, &run.progress)?;
                    if sides.len() <= i {
                        sides.push((server.name(), Vec::new()));
                    }
                    sides[i].1.push(outcome);
                    Ok(())
                })?;
            }
        }
        let mut table = Table::new("Point selects", &["", "run", "selects/s", "p50 us", "p99 us"]);
        for (name, outcomes) in &sides {
            let of =
                |value: &dyn Fn(&point::Outcome) -> f64| outcomes.iter().map(value).collect::<Vec<f64>>();
            let quantile = |q: f64| of(&move |o| o.latency.quantile_us(q) as f64);
            report.figure("selects", name, "", "1/s", Better::Higher, &of(&point::Outcome::rate));
            report.figure("latency, p50", name, "", "us", Better::Lower, &quantile(0.5));
            report.figure("latency, p99", name, "", "us", Better::Lower, &quantile(0.99));
            for (n, o) in outcomes.iter().enumerate() {
                let us = |q: f64| number(o.latency.quantile_us(q) as f64);
                table.row([name.clone(), (n + 1).to_string(), number(o.rate()), us(0.5), us(0.99)]);
            }
        }
        // A wrong row ends a run with an error, so a report there is says that none was.
        report.check("every select gave the row that was asked for", &[]);
        add_ratios(&mut report, &[("selects", Some(1.5)), ("latency, p50", None)]);
        report.tables.push(table);
        run.finish(report)
    }
}
