//! Availability groups as configured: groups, replicas, databases, listeners, routing lists.

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, NAME, NULL, SID, SMALL, SystemView, TEXT, TINY, ViewContext,
    bit, date, int, text, view,
};
use crate::hadr::state::ListenerState;
use crate::hadr::{DistributedState, GroupState, Guid, HadrState, ReplicaState, lsn};
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

pub(super) const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
pub(super) const N128: SqlType = SqlType::NVarChar(Length::Limited(128));
const N48: SqlType = SqlType::NVarChar(Length::Limited(48));
const N40: SqlType = SqlType::NVarChar(Length::Limited(40));
const N36: SqlType = SqlType::NVarChar(Length::Limited(36));
pub(super) const LSN: SqlType = SqlType::Numeric { precision: 25, scale: 0 };

#[rustfmt::skip]
const GROUP: &[Column] = &[
    ("group_id", GUID), ("name", NAME), ("resource_id", N40), ("resource_group_id", N40), ("failure_condition_level", INT),
    ("health_check_timeout", INT), ("automated_backup_preference", TINY), ("automated_backup_preference_desc", DESC),
    ("version", SMALL), ("basic_features", BIT), ("dtc_support", BIT), ("db_failover", BIT), ("is_distributed", BIT),
    ("cluster_type", TINY), ("cluster_type_desc", DESC), ("required_synchronized_secondaries_to_commit", INT),
    ("sequence_number", BIG), ("is_contained", BIT), ("cluster_connection_options", TEXT),
];

#[rustfmt::skip]
const REPLICA: &[Column] = &[
    ("replica_id", GUID), ("group_id", GUID), ("replica_metadata_id", INT), ("replica_server_name", N256), ("owner_sid", SID),
    ("endpoint_url", N256), ("availability_mode", TINY), ("availability_mode_desc", DESC), ("failover_mode", TINY),
    ("failover_mode_desc", DESC), ("session_timeout", INT), ("primary_role_allow_connections", TINY),
    ("primary_role_allow_connections_desc", DESC), ("secondary_role_allow_connections", TINY),
    ("secondary_role_allow_connections_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("backup_priority", INT),
    ("read_only_routing_url", N256), ("seeding_mode", TINY), ("seeding_mode_desc", DESC), ("read_write_routing_url", N256),
];

#[rustfmt::skip]
const GROUP_CLUSTER: &[Column] = &[
    ("group_id", GUID), ("name", NAME), ("resource_id", N40), ("resource_group_id", N40), ("failure_condition_level", INT),
    ("health_check_timeout", INT), ("automated_backup_preference", TINY), ("automated_backup_preference_desc", DESC),
];

#[rustfmt::skip]
const LISTENER: &[Column] = &[
    ("group_id", GUID), ("listener_id", N36), ("dns_name", SqlType::NVarChar(Length::Limited(63))), ("port", INT),
    ("is_conformant", BIT), ("ip_configuration_string_from_cluster", TEXT), ("is_distributed_network_name", BIT),
];

#[rustfmt::skip]
const LISTENER_ADDRESS: &[Column] = &[
    ("listener_id", N36), ("ip_address", N48), ("ip_subnet_mask", SqlType::NVarChar(Length::Limited(15))), ("is_dhcp", BIT),
    ("network_subnet_ip", N48), ("network_subnet_prefix_length", INT),
    ("network_subnet_ipv4_mask", SqlType::NVarChar(Length::Limited(45))), ("state", TINY), ("state_desc", DESC),
];

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("availability_groups", GROUP, groups),
    view("availability_groups_cluster", GROUP_CLUSTER, groups_cluster),
    view("availability_replicas", REPLICA, replicas),
    view("availability_databases_cluster", &[
        ("group_id", GUID), ("group_database_id", GUID), ("database_name", NAME), ("truncation_lsn", LSN),
    ], databases),
    view("availability_group_listeners", LISTENER, listeners),
    view("availability_group_listener_ip_addresses", LISTENER_ADDRESS, listener_addresses),
    view("availability_read_only_routing_lists", &[
        ("replica_id", GUID), ("routing_priority", INT), ("read_only_replica_id", GUID),
    ], routing_lists),
    view("dm_hadr_name_id_map", &[
        ("ag_name", N256), ("ag_id", GUID), ("ag_resource_id", N256), ("ag_group_id", N256),
    ], |cx| state(cx).all_groups().map(|g| {
        vec![text(g.spec.name.as_str()), guid(g.id), guid_text(g.id), guid_text(g.id)]
    }).collect()),
    view("dm_hadr_instance_node_map", &[
        ("ag_resource_id", N256), ("instance_name", N256), ("node_name", N256),
    ], |cx| each_replica(cx, |g, r| vec![guid_text(g.id), text(r.spec.server.as_str()), text(machine_of(&r.spec.server))])),
    view("dm_hadr_availability_replica_cluster_nodes", &[
        ("group_name", N256), ("replica_server_name", N256), ("node_name", N256),
    ], |cx| each_replica(cx, |g, r| {
        vec![text(g.spec.name.as_str()), text(r.spec.server.as_str()), text(machine_of(&r.spec.server))]
    })),
    view("fn_hadr_distributed_ag_replica", &[("replica_id", GUID)], distributed_replica),
    view("fn_hadr_distributed_ag_database_replica", &[("group_database_id", GUID)], distributed_database),
    view("dm_hadr_availability_replica_cluster_states", &[
        ("replica_id", GUID), ("replica_server_name", N256), ("group_id", GUID), ("join_state", TINY), ("join_state_desc", DESC),
    ], |cx| each_replica(cx, |g, r| vec![
        guid(r.id), text(r.spec.server.as_str()), guid(g.id), int(r.join.number()), text(r.join.word()),
    ])),
];

/// How groups stand; nothing on an instance that stands alone.
pub(super) fn state(cx: &ViewContext<'_>) -> Arc<HadrState> {
    cx.engine.hadr().map_or_else(Arc::default, |h| h.state())
}

pub(super) fn guid(id: Guid) -> Value {
    Value::Guid(id)
}

fn guid_text(id: Guid) -> Value {
    text(crate::convert::display(&Value::Guid(id)).to_lowercase())
}

/// The machine of `machine\instance`.
pub(crate) fn machine_of(server: &str) -> &str {
    server.split('\\').next().unwrap_or(server)
}

pub(super) fn each_replica(
    cx: &ViewContext<'_>,
    row: impl Fn(&GroupState, &ReplicaState) -> Vec<Value>,
) -> Rows {
    let state = state(cx);
    state.all_groups().flat_map(|g| g.replicas.iter().map(|r| row(g, r))).collect()
}

fn common(g: &GroupState) -> Vec<Value> {
    let s = &g.spec;
    let preference = s.backup_preference;
    vec![
        guid(g.id),
        text(s.name.as_str()),
        guid_text(g.id),
        guid_text(g.id),
        int(s.failure_condition_level),
        int(s.health_check_timeout_ms),
        int(preference.number()),
        text(preference.word().to_lowercase()),
    ]
}

fn groups_cluster(cx: &ViewContext<'_>) -> Rows {
    state(cx).all_groups().map(common).collect()
}

fn groups(cx: &ViewContext<'_>) -> Rows {
    let row = |g: &GroupState, distributed: bool| {
        let s = &g.spec;
        let mut row = common(g);
        row.extend([int(2), bit(s.basic), bit(s.dtc_per_database), bit(s.db_failover), bit(distributed)]);
        row.extend([int(s.cluster_type.number()), text(s.cluster_type.word().to_lowercase())]);
        row.extend([
            int(s.required_synchronized_secondaries),
            int(g.sequence as i64),
            bit(g.contained().is_some()),
        ]);
        row.push(s.cluster_connection_options.as_deref().map_or(NULL, text));
        row
    };
    let state = state(cx);
    let groups = state.groups.iter().map(|g| row(g, false));
    groups.chain(state.distributed.iter().map(|d| row(&d.group, true))).collect()
}

fn optional_date(ticks: Option<i64>) -> Value {
    ticks.map_or(NULL, date)
}

fn replicas(cx: &ViewContext<'_>) -> Rows {
    let state = state(cx);
    let mut rows = Vec::new();
    for g in state.all_groups() {
        for (i, r) in g.replicas.iter().enumerate() {
            let s = &r.spec;
            let metadata = if r.is_local { int(65_536 + i as i64) } else { NULL };
            let owner = if r.is_local { Value::bytes(vec![1]) } else { NULL };
            let mut row = vec![guid(r.id), guid(g.id), metadata, text(s.server.as_str()), owner];
            row.extend([text(s.endpoint_url.as_str()), int(s.availability_mode.number())]);
            row.extend([text(s.availability_mode.word()), int(s.failover_mode.number())]);
            row.extend([text(s.failover_mode.word()), int(s.session_timeout_seconds)]);
            row.extend([int(s.primary_connections.number()), text(s.primary_connections.word())]);
            row.extend([int(s.secondary_connections.number()), text(s.secondary_connections.word())]);
            row.extend([optional_date(r.created), optional_date(r.modified), int(s.backup_priority)]);
            row.push(s.read_only_routing_url.as_deref().map_or(NULL, text));
            row.extend([int(s.seeding_mode.number()), text(s.seeding_mode.word())]);
            row.push(s.read_write_routing_url.as_deref().map_or(NULL, text));
            rows.push(row);
        }
    }
    rows
}

fn databases(cx: &ViewContext<'_>) -> Rows {
    let state = state(cx);
    let mut rows = Vec::new();
    for g in state.all_groups() {
        for d in &g.databases {
            let truncation = g.local().and_then(|r| r.database(d.id)?.positions.truncation);
            rows.push(vec![
                guid(g.id),
                guid(d.id),
                text(d.name.as_str()),
                truncation.map_or(NULL, lsn::value),
            ]);
        }
    }
    rows
}

/// The arguments of a function over a distributed group: that group, and an identity in it.
fn distributed_arguments(cx: &ViewContext<'_>, state: &HadrState) -> Option<(DistributedState, Guid)> {
    let argument = |n: usize| match cx.args.get(n) {
        Some(Value::Guid(id)) => Some(*id),
        _ => None,
    };
    let id = argument(0)?;
    let found = state.distributed.iter().find(|d| d.group.id == id)?;
    Some((found.clone(), argument(1)?))
}

/// `fn_hadr_distributed_ag_replica(lag_id, replica_id)`: the replica of the local group that stands for a member.
fn distributed_replica(cx: &ViewContext<'_>) -> Rows {
    let state = state(cx);
    let Some((found, member)) = distributed_arguments(cx, &state) else { return Rows::new() };
    let is_local = found.group.replicas.iter().any(|r| r.is_local && r.id == member);
    let local = state.group(&found.local).filter(|_| is_local);
    let primary = local.and_then(|g| g.replica(g.primary.as_deref()?));
    primary.map(|r| vec![guid(r.id)]).into_iter().collect()
}

/// `fn_hadr_distributed_ag_database_replica(lag_id, database_id)`: the database of the local group that it is.
fn distributed_database(cx: &ViewContext<'_>) -> Rows {
    let state = state(cx);
    let Some((found, database)) = distributed_arguments(cx, &state) else { return Rows::new() };
    let known = found.group.databases.iter().filter(|d| d.id == database);
    known.map(|d| vec![guid(d.id)]).collect()
}

fn each_listener(cx: &ViewContext<'_>, rows: impl Fn(&GroupState, &ListenerState) -> Rows) -> Rows {
    let state = state(cx);
    state
        .groups
        .iter()
        .flat_map(|g| g.listeners.iter().flat_map(|l| rows(g, l)).collect::<Vec<_>>())
        .collect()
}

fn listeners(cx: &ViewContext<'_>) -> Rows {
    each_listener(cx, |g, l| {
        let one = |a: &crate::hadr::ListenerIp| format!("('IP Address: {}')", a.address);
        let addresses: Vec<String> = l.spec.addresses.iter().map(one).collect();
        let mut row = vec![guid(g.id), guid_text(l.id), text(l.spec.dns_name.as_str()), int(l.spec.port)];
        row.extend([bit(true), text(addresses.join(" or ")), bit(l.spec.distributed_network_name)]);
        vec![row]
    })
}

fn listener_addresses(cx: &ViewContext<'_>) -> Rows {
    each_listener(cx, |_, l| {
        let row = |a: &crate::hadr::ListenerIp| {
            let mask: Option<std::net::Ipv4Addr> = a.mask.as_deref().and_then(|m| m.parse().ok());
            let prefix = mask.map_or(NULL, |m| int(m.to_bits().count_ones()));
            let net = match (a.address.parse::<std::net::Ipv4Addr>(), mask) {
                (Ok(ip), Some(mask)) => {
                    text(std::net::Ipv4Addr::from_bits(ip.to_bits() & mask.to_bits()).to_string())
                }
                _ => NULL,
            };
            let mask = a.mask.as_deref().map_or(NULL, text);
            let mut row = vec![guid_text(l.id), text(a.address.as_str()), mask.clone()];
            let condition = l.condition(&a.address);
            row.extend([bit(l.spec.dhcp.is_some()), net, prefix, mask]);
            row.extend([int(condition.number()), text(condition.word())]);
            row
        };
        l.spec.addresses.iter().map(row).collect()
    })
}

fn routing_lists(cx: &ViewContext<'_>) -> Rows {
    let state = state(cx);
    let mut rows = Vec::new();
    for g in &state.groups {
        for r in &g.replicas {
            for (priority, set) in r.spec.read_only_routing_list.iter().enumerate() {
                let targets = set.iter().filter_map(|server| g.replica(server));
                rows.extend(targets.map(|t| vec![guid(r.id), int(priority as i64 + 1), guid(t.id)]));
            }
        }
    }
    rows
}
