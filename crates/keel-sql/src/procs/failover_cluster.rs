//! What an operator asks of a failover cluster instance.

use super::{Outcome, ok, string};
use crate::errors;
use crate::failover_cluster::FailoverCluster;
use crate::run::{Argument, Runner};
use keel_types::SqlError;
use std::sync::Arc;

fn refused(text: impl std::fmt::Display) -> Box<SqlError> {
    SqlError::new(NOT_DONE, 16, 1, format!("The failover cluster instance: {text}."))
}

/// What the machine that has the instance did not do. The number is Evenkeel's own.
const NOT_DONE: i32 = 41990;

fn cluster(runner: &Runner<'_>) -> Result<Arc<dyn FailoverCluster>, Box<SqlError>> {
    if !runner.info.may_on_server("CONTROL SERVER") {
        return Err(errors::server_permission_denied("CONTROL SERVER"));
    }
    let cluster = runner.info.engine.failover_cluster().cloned();
    let none = "This is no failover cluster instance (keel serve --failover-cluster).";
    cluster.ok_or_else(|| SqlError::new(NOT_DONE, 16, 1, none))
}

/// `sp_keel_possible_owners @nodes nvarchar(4000)`: names the machines that may have the instance, in the order of preference, with commas
/// between them.
pub(super) fn sp_keel_possible_owners(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let cluster = cluster(runner)?;
    let nodes = string(args, "nodes", 0)
        .ok_or_else(|| errors::parameter_missing("sp_keel_possible_owners", "@nodes"))?;
    let mut names: Vec<String> = Vec::new();
    for name in nodes.split(',').map(|name| name.trim().to_uppercase()) {
        if name.is_empty() || names.contains(&name) {
            return Err(refused(format!("'{nodes}' is no list of different names")).into());
        }
        names.push(name);
    }
    cluster.set_possible_owners(&names).map_err(refused)?;
    ok()
}

/// `sp_keel_move_instance @to sysname = NULL`: stops the instance here, with a checkpoint, for another machine to take it: the one that is named, or
/// the first possible owner that is up.
pub(super) fn sp_keel_move_instance(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let cluster = cluster(runner)?;
    cluster.prepare_move(string(args, "to", 0).as_deref()).map_err(refused)?;
    if !runner.info.engine.request_shutdown(false) {
        return Err(refused("whoever runs it cannot be asked to stop it").into());
    }
    ok()
}
