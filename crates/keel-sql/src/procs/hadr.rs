//! Reading one's own writes on a secondary; comparing replicas; join tokens.

use super::{Outcome, argument, number, ok, string};
use crate::errors;
use crate::hadr::lsn;
use crate::map::db_error;
use crate::run::{Argument, Returned, Runner};
use keel_base::Lsn;
use keel_node::Isolation;
use keel_query::SessionInfo as _;
use keel_types::{Length, SqlError, SqlType, Value};
use std::time::{Duration, Instant};

/// Waits are cut so that an attention or KILL is noticed.
const SLICE: Duration = Duration::from_millis(50);
/// Wait without `@timeout_ms`.
const TIMEOUT_MS_DEFAULT: i64 = 15_000;

/// `sp_keel_wait_for_lsn @lsn numeric(25,0), @timeout_ms int = 15000`: returns 0 once readers of the current database see
/// every commit up to `@lsn` (of `sys.fn_keel_commit_lsn()`), 1 when the time is over first.
pub(super) fn sp_keel_wait_for_lsn(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let bad = || {
        SqlError::new(
            8114,
            16,
            5,
            "Error converting @lsn to a position in the log: use what sys.fn_keel_commit_lsn() returned.",
        )
    };
    let value = argument(args, "lsn", 0).and_then(|a| a.value.as_ref());
    let position = match value {
        Some(Value::Decimal(d)) if d.scale == 0 => lsn::from_number(d.mantissa()),
        Some(Value::Int(n)) => lsn::from_number(i128::from(*n)),
        Some(Value::Str(s)) => s.trim().parse().ok().and_then(lsn::from_number),
        _ => None,
    };
    let target = Lsn(position.ok_or_else(bad)?);
    let timeout = number(args, "timeout_ms", 1).unwrap_or(TIMEOUT_MS_DEFAULT).max(0).cast_unsigned();
    let entry = runner.info.current_database();
    let deadline = Instant::now() + Duration::from_millis(timeout);
    loop {
        if entry.store.applied() >= target {
            return Ok(Returned::default());
        }
        if runner.info.cancelled() {
            return Err(errors::cancelled().into());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Returned { status: 1, ..Returned::default() });
        }
        // False only when the slice is over; the loop asks again.
        entry.store.wait_applied(target, left.min(SLICE));
    }
}

/// Hours that a join token is good for unless `@hours` says otherwise.
const TOKEN_HOURS_DEFAULT: u32 = 24;

/// `sp_keel_invite @url nvarchar(256), @hours int = 24`: a result set with a token that makes other instances trusted. `@url`
/// is the `TCP://host:port` that they reach this instance's endpoint at.
pub(super) fn sp_keel_invite(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    let url = string(args, "url", 0).unwrap_or_default();
    crate::hadr::build::tcp_url(&url).ok_or_else(|| crate::hadr::errors::bad_endpoint_url(&url))?;
    let hours = number(args, "hours", 1).and_then(|n| u32::try_from(n).ok()).unwrap_or(TOKEN_HOURS_DEFAULT);
    let hadr = runner.info.engine.hadr().cloned().ok_or_else(crate::hadr::errors::feature_off)?;
    let token = hadr.invite(&url, hours)?;
    runner.result_set(&[("token", SqlType::NVarChar(Length::Limited(4000)))], &[vec![Value::str(token)]])?;
    ok()
}

/// `sp_keel_join @token nvarchar(4000), @url nvarchar(256)`: trust between this instance and all that the token's issuer knows.
pub(super) fn sp_keel_join(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    let url = string(args, "url", 1).unwrap_or_default();
    crate::hadr::build::tcp_url(&url).ok_or_else(|| crate::hadr::errors::bad_endpoint_url(&url))?;
    let hadr = runner.info.engine.hadr().cloned().ok_or_else(crate::hadr::errors::feature_off)?;
    hadr.use_invitation(&string(args, "token", 0).unwrap_or_default(), &url)?;
    ok()
}

/// `sp_keel_checksum`: a result set with a checksum of the rows of every table and index of the current database, all of one
/// snapshot. Replicas at the same position give the same. `checksum` does not depend on checkpoints or on how rows are kept.
/// Reads everything.
pub(super) fn sp_keel_checksum(runner: &mut Runner<'_>, _args: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    let entry = runner.info.current_database();
    let mut txn = entry.store.begin(Isolation::Snapshot);
    let view = txn.statement_snapshot();
    let sums = entry.store.logical_checksum(&view).map_err(|e| db_error(e, &entry.name()))?;
    let picture = entry.picture();
    let index_of = |tree| {
        let indexes = picture.tables().flat_map(|t| t.indexes.iter().map(move |i| (t, i)));
        indexes.into_iter().find(|(_, index)| index.tree == tree)
    };
    let rows: Vec<Vec<Value>> = sums
        .into_iter()
        .map(|(tree, sum)| {
            let (table, index) = match index_of(tree) {
                Some((table, index)) => (Value::str(&table.name), Value::Int(index.index_id.into())),
                None => (Value::Null, Value::Null),
            };
            let count = Value::Int(i64::try_from(sum.rows).unwrap_or(i64::MAX));
            vec![table, index, Value::Int(tree.0.into()), count, Value::Int(sum.sum.cast_signed())]
        })
        .collect();
    let columns = [
        ("table_name", SqlType::NVarChar(Length::Limited(128))),
        ("index_id", SqlType::Int),
        ("tree_id", SqlType::BigInt),
        ("row_count", SqlType::BigInt),
        ("checksum", SqlType::BigInt),
    ];
    runner.result_set(&columns, &rows)?;
    ok()
}
