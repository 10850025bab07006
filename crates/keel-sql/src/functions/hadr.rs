//! Roles, backup preference and commit positions of group databases.

use super::text;
use crate::hadr::{AvailabilityMode, BackupPreference, GroupState, HadrState, ReplicaState, Role, lsn};
use crate::session::info::Info;
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

fn state(info: &Info) -> Arc<HadrState> {
    info.engine.hadr().map_or_else(Arc::default, |h| h.state())
}

/// 1 on the primary, 0 on a secondary, NULL outside every group.
pub(super) fn is_primary_replica(info: &Info, args: &[Value]) -> Result<Value> {
    let state = state(info);
    let group = text(args, 0).and_then(|name| state.group_of(name));
    Ok(group.map_or(Value::Null, |(group, _)| Value::Bit(group.writes())))
}

/// Whether a backup job should run here. Advisory: BACKUP never asks.
pub(super) fn backup_is_preferred_replica(info: &Info, args: &[Value]) -> Result<Value> {
    let state = state(info);
    let Some((group, _)) = text(args, 0).and_then(|name| state.group_of(name)) else {
        return Ok(Value::Bit(true));
    };
    Ok(Value::Bit(preferred(group).is_some_and(|r| r.is_local)))
}

/// The replica of the highest priority among those that may; by name where priorities are equal.
fn preferred(group: &GroupState) -> Option<&ReplicaState> {
    let is_primary = |r: &ReplicaState| {
        group
            .primary
            .as_deref()
            .is_some_and(|p| crate::catalog::fold(p) == crate::catalog::fold(&r.spec.server))
    };
    let online = |r: &&ReplicaState| {
        // A secondary cannot see the others; it takes them to be there, as the product's function does.
        let there = r.is_local || r.connected.unwrap_or(group.role == Role::Secondary);
        let data = r.spec.availability_mode != AvailabilityMode::ConfigurationOnly;
        r.spec.backup_priority > 0 && there && data
    };
    let best = |may: &dyn Fn(&ReplicaState) -> bool| {
        let may = group.replicas.iter().filter(online).filter(|r| may(r));
        may.min_by_key(|r| (u8::MAX - r.spec.backup_priority, crate::catalog::fold(&r.spec.server)))
    };
    match group.spec.backup_preference {
        BackupPreference::Primary => best(&|r| is_primary(r)),
        BackupPreference::SecondaryOnly => best(&|r| !is_primary(r)),
        BackupPreference::Secondary => best(&|r| !is_primary(r)).or_else(|| best(&|r| is_primary(r))),
        BackupPreference::None => best(&|_| true),
    }
}

/// Where the session's last commit in the current database stands in the log; without one, the newest hardened position.
/// A reader on a secondary that waits for it sees that commit.
pub(super) fn commit_lsn(info: &Info, _: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let own = *info.shared.last_commit.lock();
    let position = match own {
        Some((database, position)) if database == entry.id => position,
        _ => entry.store.hardened().0,
    };
    Ok(lsn::value(position))
}
