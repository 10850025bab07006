//! `sp_monitor`: what the server has done since it started, and since somebody asked before.

use super::{Outcome, ok};
use crate::functions::monitored;
use crate::run::{Argument, Runner};
use crate::views::INT;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

const WORDS: SqlType = SqlType::VarChar(Length::Limited(25));

/// The figures when `sp_monitor` was last asked.
#[derive(Clone, Copy, Debug)]
pub struct Monitored {
    /// Local ticks.
    at: i64,
    values: [i64; 10],
}

/// `sp_monitor`: each figure since the start, and in parentheses since the last call; of times how much of it that was.
pub(super) fn sp_monitor(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    let engine = Arc::clone(&runner.info.engine);
    let now = Monitored { at: engine.now_local(), values: monitored(runner.info)? };
    let started = engine.now_local() - (engine.now_utc() - engine.started());
    let before = engine.monitored.lock().replace(now).unwrap_or(Monitored { at: started, values: [0; 10] });
    let seconds = (now.at - before.at) / keel_types::datetime::TICKS_PER_SECOND;
    let since = |at: usize| now.values[at] - before.values[at];
    let count = |at: usize| Value::str(format!("{}({})", now.values[at], since(at)));
    let time = |at: usize| {
        let percent = 100 * since(at) / seconds.max(1);
        Value::str(format!("{}({})-{percent}%", now.values[at], since(at)))
    };
    let when = [("last_run", SqlType::DateTime), ("current_run", SqlType::DateTime), ("seconds", INT)];
    runner.result_set(
        &when,
        &[vec![Value::DateTime(before.at), Value::DateTime(now.at), Value::Int(seconds)]],
    )?;
    runner.result_set(&["cpu_busy", "io_busy", "idle"].map(|n| (n, WORDS)), &[(0..3).map(time).collect()])?;
    let packets = ["packets_received", "packets_sent", "packet_errors"].map(|n| (n, WORDS));
    runner.result_set(&packets, &[(3..6).map(count).collect()])?;
    let disk = ["total_read", "total_write", "total_errors", "connections"].map(|n| (n, WORDS));
    runner.result_set(&disk, &[(6..10).map(count).collect()])?;
    ok()
}
