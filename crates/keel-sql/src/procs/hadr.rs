//! Reading one's own writes on a secondary; comparing replicas; join tokens; what an operator asks of the cluster.

use super::{Outcome, argument, number, ok, string};
use crate::errors;
use crate::hadr::cluster::ClusterChange;
use crate::hadr::{Caller, HadrCommand, lsn};
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
/// every commit up to `@lsn` (of `sys.fn_keel_commit_lsn()`), 1 when the time is over first. A transaction that has read
/// there before goes on reading where it began to.
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
            // The lookup of this procedure's name must not be where the open transaction reads.
            if let crate::run::Txns::Own(set) = &mut runner.txns {
                set.release_unread();
            }
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
    let hadr = runner.hadr()?;
    let token = hadr.invite(&url, hours)?;
    runner.result_set(&[("token", SqlType::NVarChar(Length::Limited(4000)))], &[vec![Value::str(token)]])?;
    ok()
}

/// `sp_keel_join @token nvarchar(4000), @url nvarchar(256)`: trust between this instance and all that the token's issuer knows.
pub(super) fn sp_keel_join(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    let url = string(args, "url", 1).unwrap_or_default();
    crate::hadr::build::tcp_url(&url).ok_or_else(|| crate::hadr::errors::bad_endpoint_url(&url))?;
    let hadr = runner.hadr()?;
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
        let indexes = picture.stored().flat_map(|t| t.indexes.iter().map(move |i| (t, i)));
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

fn needed(args: &[Argument], procedure: &str, name: &str, position: usize) -> Result<String, Box<SqlError>> {
    string(args, name, position).ok_or_else(|| crate::hadr::errors::argument_missing(procedure, name))
}

fn change(runner: &Runner<'_>, change: ClusterChange) -> Outcome {
    let caller = Caller { login: runner.info.login().to_string(), external_cluster: false };
    runner.hadr()?.execute(&caller, HadrCommand::Cluster(change))?;
    ok()
}

/// `sp_keel_failover @group sysname, @to sysname = this instance, @force bit = 0`: makes a replica the primary, wherever it is
/// called; without `@force` only if nothing is lost.
pub(super) fn sp_keel_failover(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let group = needed(args, "sp_keel_failover", "group", 0)?;
    let state = runner.info.engine.hadr().map(|h| h.state()).unwrap_or_default();
    runner.may_alter_group(&state, "alter", &group)?;
    state.group(&group).map_or(Ok(()), |group| runner.leaves_it_to_the_manager(group))?;
    let to = string(args, "to", 1);
    let force = number(args, "force", 2).is_some_and(|n| n != 0);
    change(runner, ClusterChange::FailOver { group, to, force })
}

/// `sp_keel_force_quorum`: this instance goes on without a majority of the votes, in a new generation of the cluster. What the
/// lost members agreed on without it is given up when they come back.
pub(super) fn sp_keel_force_quorum(runner: &mut Runner<'_>, _args: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    change(runner, ClusterChange::ForceQuorum)
}

/// `sp_keel_remove_node @name sysname`: a member of the cluster goes for good, and its vote with it.
pub(super) fn sp_keel_remove_node(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.sysadmin()?;
    let name = needed(args, "sp_keel_remove_node", "name", 0)?;
    change(runner, ClusterChange::RemoveNode { name })
}

/// `sp_keel_validate_cluster`: a result set with what every member measured of its disk and of its ways to the others.
pub(super) fn sp_keel_validate_cluster(runner: &mut Runner<'_>, _args: &[Argument]) -> Outcome {
    const NAME: SqlType = SqlType::NVarChar(Length::Limited(128));
    const BIG: SqlType = SqlType::BigInt;
    runner.sysadmin()?;
    let report = runner.hadr()?.validate_cluster()?;
    let rows: Vec<Vec<Value>> = report
        .checks
        .into_iter()
        .map(|check| {
            let mut row = vec![Value::str(check.member), Value::str(check.check)];
            row.push(check.other.map_or(Value::Null, Value::str));
            match check.measured {
                Some(numbers) => row.extend(numbers.map(|n| Value::Int(n.cast_signed()))),
                None => row.extend(std::iter::repeat_n(Value::Null, 4)),
            }
            row.extend([Value::str(check.verdict), Value::str(check.text)]);
            row.push(report.file.as_deref().map_or(Value::Null, Value::str));
            row
        })
        .collect();
    runner.result_set(
        &[
            ("member_name", NAME),
            ("check_name", NAME),
            ("other_member", NAME),
            ("samples", BIG),
            ("p50_us", BIG),
            ("p99_us", BIG),
            ("max_us", BIG),
            ("verdict", NAME),
            ("meaning", SqlType::NVarChar(Length::Limited(4000))),
            ("report_file", SqlType::NVarChar(Length::Limited(4000))),
        ],
        &rows,
    )?;
    ok()
}
