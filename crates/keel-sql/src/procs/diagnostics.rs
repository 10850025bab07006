//! `sp_server_diagnostics`: how well the instance is, once or again and again.

use super::{Outcome, number, ok};
use crate::errors;
use crate::run::{Argument, Runner};
use crate::views::{INT, NAME, date};
use keel_query::SessionInfo as _;
use keel_types::{Length, SqlError, SqlType, Value};
use std::time::{Duration, Instant};

/// Waits are cut so that an attention or KILL is noticed.
const SLICE: Duration = Duration::from_millis(50);
/// The least interval, seconds.
const INTERVAL_MIN: i64 = 5;

/// `sp_server_diagnostics [@repeat_interval int = 0]`: 0 answers once; from 5 on, a result set every so many seconds until the
/// client cancels.
pub(super) fn sp_server_diagnostics(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    if !runner.info.may_on_server("VIEW SERVER PERFORMANCE STATE") {
        return Err(errors::server_permission_denied("VIEW SERVER PERFORMANCE STATE").into());
    }
    let interval = number(args, "repeat_interval", 0).unwrap_or(0);
    if interval != 0 && interval < INTERVAL_MIN {
        let text = "An invalid parameter or option was specified for procedure 'sys.sp_server_diagnostics'.";
        return Err(SqlError::new(15600, 15, 1, text).into());
    }
    let pause = Duration::from_secs(interval.unsigned_abs());
    let mut next = Instant::now();
    loop {
        rows(runner)?;
        if interval == 0 {
            return ok();
        }
        runner.sink.flush();
        next += pause;
        while let Some(left) = next.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if runner.info.cancelled() {
                return Err(errors::cancelled().into());
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

fn rows(runner: &mut Runner<'_>) -> keel_types::Result<()> {
    let engine = &runner.info.engine;
    let now = engine.now_local();
    let components = engine.diagnostics().map(|d| d.components()).unwrap_or_default();
    let row = |c: crate::diagnostics::Component| {
        let state = (i64::from(c.state), c.state_word());
        vec![
            date(now),
            Value::str(c.kind.word()),
            Value::str(c.name),
            Value::Int(state.0),
            Value::str(state.1),
            Value::str(c.data),
        ]
    };
    let rows: Vec<_> = components.into_iter().map(row).collect();
    let columns = [
        ("create_time", SqlType::DateTime),
        ("component_type", NAME),
        ("component_name", NAME),
        ("state", INT),
        ("state_desc", NAME),
        ("data", SqlType::VarChar(Length::Max)),
    ];
    runner.result_set(&columns, &rows)
}
