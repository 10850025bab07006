//! `keel size`.

use crate::counters::{Load, Snapshot};
use crate::progress::Progress;
use crate::report::{Report, number};
use crate::sizing::{Aim, Need, needs};
use crate::tds::Address;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// What a machine must have for a load: disks, log, network, memory, processors, space, each with its formula
///
/// The load is what a report of `keel bench tpcc`, `tpch` or `consolidation` measured, or what a running server says it does in an interval.
/// Work per transaction is taken to stay as it was.
#[derive(Args)]
pub struct Sizing {
    /// Report of a measurement (its .json file)
    #[arg(value_name = "REPORT", required_unless_present = "server", conflicts_with = "server")]
    report: Option<PathBuf>,
    /// Case of the report, such as '6 databases' [default: the one with the most transactions]
    #[arg(long, value_name = "TEXT", requires = "report")]
    case: Option<String>,
    /// Ask a SQL Server or Evenkeel that runs: host, host,port or host:port
    #[arg(short = 'S', long, value_name = "HOST,PORT")]
    server: Option<String>,
    /// Login there
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    user: String,
    /// Password there; better given in SQLCMDPASSWORD
    #[arg(
        short = 'P',
        long,
        env = "SQLCMDPASSWORD",
        hide_env_values = true,
        default_value = "",
        hide_default_value = true
    )]
    password: String,
    /// How long it is watched
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Transactions a second to come, counted as the measured ones [default: as measured]
    #[arg(long, value_name = "N", value_parser = above_zero)]
    transactions_per_second: Option<f64>,
    /// Databases to come [default: as measured]
    #[arg(long, value_name = "N", value_parser = above_zero)]
    databases: Option<f64>,
    /// Sessions to come [default: more as there are more transactions]
    #[arg(long, value_name = "N", value_parser = above_zero)]
    sessions: Option<f64>,
    /// Secondaries that the log goes to
    #[arg(long, value_name = "N", default_value_t = 1)]
    secondaries: u32,
    /// More work and data than that, later
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = not_below_zero)]
    growth_percent: f64,
    /// How long log backups are kept
    #[arg(long, value_name = "HOURS", default_value_t = 24.0, value_parser = not_below_zero)]
    retention_hours: f64,
    /// Time between two log backups
    #[arg(long, value_name = "MINUTES", default_value_t = 15.0, value_parser = above_zero)]
    log_backup_minutes: f64,
    /// Full backups that are kept
    #[arg(long, value_name = "N", default_value_t = 2)]
    full_backups: u32,
    /// How busy processors may be
    #[arg(long, value_name = "PERCENT", default_value_t = 70.0, value_parser = share)]
    processor_percent: f64,
    /// How busy a network link may be
    #[arg(long, value_name = "PERCENT", default_value_t = 70.0, value_parser = share)]
    link_percent: f64,
    /// Space to keep free, of data and log
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0, value_parser = not_below_zero)]
    free_percent: f64,
    /// Writes that one becomes on the disks: 1 alone, 2 mirrored, 4 with distributed parity
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = above_zero)]
    write_penalty: f64,
    /// What one disk does, reads and writes a second: says how many disks
    #[arg(long, value_name = "N", value_parser = above_zero)]
    disk_iops: Option<f64>,
    /// What one disk moves, MB a second: says how many disks
    #[arg(long, value_name = "N", value_parser = above_zero)]
    disk_mb_per_second: Option<f64>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

fn parsed(text: &str, holds: impl Fn(f64) -> bool, what: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && holds(value) => Ok(value),
        _ => Err(format!("{what} is needed")),
    }
}

fn above_zero(text: &str) -> Result<f64, String> {
    parsed(text, |value| value > 0.0, "a number above zero")
}

fn not_below_zero(text: &str) -> Result<f64, String> {
    parsed(text, |value| value >= 0.0, "a number that is not below zero")
}

fn share(text: &str) -> Result<f64, String> {
    parsed(text, |value| value > 0.0 && value <= 100.0, "a percentage above 0, at most 100")
}

impl Sizing {
    /// Reads or watches, and prints.
    ///
    /// # Errors
    /// What cannot be read, reached or meant.
    pub fn run(self) -> Result<()> {
        let (whence, load) = self.measured()?;
        let needs = needs(&load, &self.aim())?;
        let text = if self.json { json(&whence, &load, &needs)? } else { text(&whence, &load, &needs) };
        print!("{text}");
        Ok(())
    }

    fn aim(&self) -> Aim {
        Aim {
            transactions: self.transactions_per_second,
            databases: self.databases,
            sessions: self.sessions,
            secondaries: self.secondaries.into(),
            growth_percent: self.growth_percent,
            retention_hours: self.retention_hours,
            log_backup_minutes: self.log_backup_minutes,
            full_backups: self.full_backups.into(),
            processor_percent: self.processor_percent,
            link_percent: self.link_percent,
            free_percent: self.free_percent,
            write_penalty: self.write_penalty,
            disk_iops: self.disk_iops,
            disk_mb: self.disk_mb_per_second,
        }
    }

    /// The load, and where it comes from.
    fn measured(&self) -> Result<(String, Load)> {
        match (&self.report, &self.server) {
            (Some(path), _) => {
                let report = Report::read(path)?;
                let (of, load) = choose(&report, self.case.as_deref())
                    .with_context(|| format!("{} has no load to size from", path.display()))?;
                Ok((format!("{} of {}, {of}", report.what, report.began), load))
            }
            (None, Some(server)) => self.watch(server),
            (None, None) => bail!("a report or --server is needed"),
        }
    }

    fn watch(&self, server: &str) -> Result<(String, Load)> {
        let mut address = server.replace(',', ":");
        if !address.contains(':') {
            address += ":1433";
        }
        let address = Address {
            address,
            user: self.user.clone(),
            password: self.password.clone(),
            database: "master".into(),
            encrypt: true,
            read_only: false,
        };
        let mut session = address.session("master")?;
        let before = Snapshot::of(&mut session)?;
        let progress = Progress::new();
        progress.wait(&format!("watching {server}"), Duration::from_secs(self.seconds));
        let load = Snapshot::of(&mut session)?.since(&before)?;
        Ok((format!("{server}, watched for {} s", self.seconds), load))
    }
}

/// The case that was asked for, or the one with the most transactions.
fn choose(report: &Report, case: Option<&str>) -> Result<(String, Load)> {
    let all = Load::of_report(report);
    if all.is_empty() {
        bail!(
            "it is a report of `{}`; those of `tpcc` (without --transactions), `tpch` (without --secondary) and `consolidation` have figures named «load: …»",
            report.what
        );
    }
    let cases =
        || all.iter().map(|(target, case, _)| format!("'{case}' of {target}")).collect::<Vec<_>>().join(", ");
    let fits = all.iter().filter(|(_, of, _)| case.is_none_or(|case| case == of));
    let most = fits.max_by(|(_, _, a), (_, _, b)| a.transactions.total_cmp(&b.transactions));
    let (target, case, load) = most.with_context(|| format!("no such case; there are {}", cases()))?;
    Ok((format!("{target}, {case}"), load.clone()))
}

/// The measured figures, in units that people read.
fn measured(load: &Load) -> [(&'static str, f64, &'static str); 13] {
    [
        ("transactions", load.transactions, "/s"),
        ("batches", load.batches, "/s"),
        ("log", load.log_bytes / 1e6, "MB/s"),
        ("data reads", load.data_reads, "/s"),
        ("data writes", load.data_writes, "/s"),
        ("log writes", load.log_writes, "/s"),
        ("read", load.read_bytes / 1e6, "MB/s"),
        ("written", load.write_bytes / 1e6, "MB/s"),
        ("processors in use", load.processors, "cores"),
        ("memory", load.memory_bytes / 1e9, "GB"),
        ("sessions", load.sessions, ""),
        ("databases", load.databases, ""),
        ("data files", load.data_file_bytes / 1e9, "GB"),
    ]
}

fn text(whence: &str, load: &Load, needs: &[Need]) -> String {
    let mut out = format!("Measured: {whence}\n");
    let value = |value: f64, unit: &str| format!("{} {unit}", number(value)).trim_end().to_owned();
    for (name, much, unit) in measured(load) {
        out += &format!("  {name:<28}{:>18}\n", value(much, unit));
    }
    let mut group = "";
    for need in needs {
        if need.group != group {
            group = need.group;
            let (first, rest) = group.split_at(1);
            out += &format!("\n{}{rest}\n", first.to_uppercase());
        }
        out += &format!("  {:<28}{:>18}   = {}\n", need.what, value(need.value, need.unit), need.formula);
    }
    out
}

fn json(whence: &str, load: &Load, needs: &[Need]) -> Result<String> {
    let figure = |(name, value, unit): (&str, f64, &str)| {
        (name.to_owned(), serde_json::json!({ "value": value, "unit": unit }))
    };
    let need = |need: &Need| {
        serde_json::json!({
            "group": need.group, "what": need.what, "value": need.value, "unit": need.unit, "formula": need.formula,
        })
    };
    let all = serde_json::json!({
        "measured": { "from": whence, "figures": measured(load).map(figure).into_iter().collect::<serde_json::Map<_, _>>() },
        "needs": needs.iter().map(need).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn report() -> Report {
        let mut report = Report::new("consolidation", "", BTreeMap::new());
        for (case, rate) in [("1 databases", 100.0), ("2 databases", 190.0)] {
            let load = Load { transactions: rate, databases: 2.0, ..Load::default() };
            load.figures(&mut report, "Evenkeel", case);
        }
        report
    }

    #[test]
    fn the_case_with_the_most_transactions_is_taken_unless_one_is_named() {
        assert_eq!(choose(&report(), None).unwrap().1.transactions, 190.0);
        assert_eq!(choose(&report(), Some("1 databases")).unwrap().1.transactions, 100.0);
        let missing = choose(&report(), Some("3 databases")).unwrap_err().to_string();
        assert!(missing.contains("'1 databases' of Evenkeel, '2 databases' of Evenkeel"), "{missing}");
        let other = choose(&Report::new("redo", "", BTreeMap::new()), None).unwrap_err().to_string();
        assert!(other.contains("report of `redo`") && other.contains("consolidation"), "{other}");
    }

    #[test]
    fn numbers_that_cannot_be_meant_are_refused() {
        for wrong in ["0", "-1", "many", "inf", "NaN"] {
            assert!(above_zero(wrong).is_err(), "{wrong}");
        }
        assert!(share("101").is_err() && share("0").is_err() && share("100").is_ok());
        assert!(not_below_zero("0").is_ok() && not_below_zero("-0.1").is_err());
    }
}
