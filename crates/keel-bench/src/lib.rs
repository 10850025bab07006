//! # keel-bench: what it costs, measured beside something else in the same run
//!
//! Drives the workloads of `keel-workload` over real connections: TDS to Evenkeel (or SQL Server), and, built with
//! the `postgres` feature, PostgreSQL started for the occasion in a scratch directory. A figure is a ratio between
//! two systems measured in turn on one machine in one run; absolute numbers are printed beside it.
//!
//! One server: [`tpcc`], [`tproch`], [`consolidation`], [`point`], [`crash`], [`memory`], [`recovery`], [`steady`]. Several that form an availability group
//! ([`fleet`]): [`tproch_secondary`], [`sync_cost`], [`catch_up`], [`thin_link`], [`seeding`], [`failover`], [`soak`], [`histories`].
//!
//! [`counters`] are what a server says it did, and [`sizing`] what a machine must have for more of it (`keel size`).
//!
//! [`cli`] is `keel bench`: it runs one of them and makes a [`report`] of what it gave, which is all that anybody reads.
//!
//! Deliberately absent: any way into the server but the wire.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};

pub mod broom;
pub mod catch_up;
pub mod cli;
pub mod consistency;
pub mod consolidation;
pub mod counters;
pub mod crash;
pub mod derived;
pub mod failover;
pub mod fleet;
pub mod histories;
pub mod ledger;
pub mod load;
pub mod machines;
pub mod memory;
pub mod point;
pub mod process;
pub mod progress;
pub mod recovery;
pub mod report;
pub mod seeding;
pub mod sizing;
pub mod soak;
pub mod steady;
pub mod sync_cost;
pub mod target;
pub mod tds;
pub mod thin_link;
pub mod tpcc;
pub mod tproch;
pub mod tproch_secondary;
pub mod writers;

#[cfg(feature = "postgres")]
mod patient;
#[cfg(feature = "postgres")]
pub mod pg;
#[cfg(feature = "postgres")]
pub mod pg_standby;

/// Runs a program to its end and returns what it printed.
///
/// # Errors
/// When it cannot be run or fails; what it said is in the error.
pub fn command(words: &[&str]) -> Result<String> {
    let (program, arguments) = words.split_first().context("a program to run")?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("running {words:?}"))?;
    if !output.status.success() {
        bail!("{words:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
