//! The cluster of the groups: members, votes, networks, failovers and what the next one would cost.

use super::hadr::{N128, N256, guid, state};
use super::{
    BIG, BIT, DATE, DESC, GUID, INT, NAME, NULL, SystemView, TEXT, TINY, ViewContext, bit, date, int, text,
    view,
};
use crate::hadr::cluster::{ClusterMember, ClusterState, FailoverRecord, MemberType, QuorumState};
use crate::hadr::{FailoverMode, Role};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const VARCHAR50: SqlType = SqlType::VarChar(Length::Limited(50));
const N48: SqlType = SqlType::NVarChar(Length::Limited(48));
const N45: SqlType = SqlType::NVarChar(Length::Limited(45));
const FLOAT: SqlType = SqlType::Float;

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("dm_hadr_cluster", &[
        ("cluster_name", NAME), ("quorum_type", TINY), ("quorum_type_desc", VARCHAR50), ("quorum_state", TINY),
        ("quorum_state_desc", VARCHAR50),
    ], cluster),
    view("dm_hadr_cluster_members", &[
        ("member_name", NAME), ("member_type", TINY), ("member_type_desc", DESC), ("member_state", TINY),
        ("member_state_desc", DESC), ("number_of_quorum_votes", INT),
    ], members),
    view("dm_hadr_cluster_networks", &[
        ("member_name", N128), ("network_subnet_ip", N48), ("network_subnet_ipv4_mask", N45),
        ("network_subnet_prefix_length", INT), ("is_public", BIT), ("is_ipv4", BIT),
    ], networks),
    view("dm_keel_cluster", &[
        ("cluster_id", GUID), ("cluster_name", NAME), ("generation", BIG), ("quorum_state_desc", VARCHAR50), ("votes", INT),
        ("votes_heard", INT), ("votes_needed", INT), ("leader", N256), ("holds_lease", BIT), ("member_name", N256),
        ("endpoint_url", N256), ("member_type_desc", DESC), ("is_local", BIT), ("is_up", BIT), ("has_vote", BIT),
        ("round_trip_us", BIG), ("product_version", N128), ("product_warning", TEXT),
    ], members_in_full),
    view("dm_keel_failovers", &[
        ("began_utc", DATE), ("group_name", NAME), ("from_replica", N256), ("to_replica", N256), ("kind", DESC), ("cause", TEXT),
        ("last_heard_ms_before", FLOAT), ("suspected_ms", FLOAT), ("polled_ms", FLOAT), ("claimed_ms", FLOAT),
        ("decided_ms", FLOAT), ("redone_ms", FLOAT), ("opened_ms", FLOAT), ("first_commit_ms", FLOAT), ("summary", TEXT),
    ], failovers),
    view("dm_keel_failover_estimates", &[
        ("group_name", NAME), ("database_name", NAME), ("replica_server_name", N256), ("is_automatic", BIT),
        ("estimated_rto_ms", BIG), ("estimated_rpo_bytes", BIG), ("estimated_rpo_seconds", BIG),
    ], estimates),
];

/// The steps of a failover in the order of the view's columns.
const STEPS: [&str; 7] = ["suspected", "polled", "claimed", "decided", "redone", "opened", "first commit"];

fn known(cx: &ViewContext<'_>) -> Option<ClusterState> {
    cx.engine.hadr()?.cluster()
}

/// Without a quorum there is no row, as in the product.
fn cluster(cx: &ViewContext<'_>) -> Rows {
    let Some(c) = known(cx).filter(|c| c.quorum != QuorumState::Unknown) else { return Vec::new() };
    let mut row = vec![text(c.name), int(c.quorum_type.number()), text(c.quorum_type.word())];
    row.extend([int(c.quorum.number()), text(c.quorum.word())]);
    vec![row]
}

fn members(cx: &ViewContext<'_>) -> Rows {
    let row = |m: ClusterMember| {
        let (state, word) = if m.up { (1, "UP") } else { (0, "DOWN") };
        let mut row = vec![text(m.name), int(m.kind.number()), text(m.kind.word())];
        row.extend([int(state), text(word), int(i64::from(m.vote))]);
        row
    };
    known(cx).map(|c| c.members.into_iter().map(row).collect()).unwrap_or_default()
}

fn networks(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for member in known(cx).map(|c| c.members).unwrap_or_default() {
        if member.kind == MemberType::Witness {
            continue;
        }
        for network in member.networks {
            let mut row = vec![text(member.name.as_str()), text(network.subnet)];
            row.push(network.mask.map_or(NULL, text));
            row.extend([int(network.prefix), bit(true), bit(network.is_ipv4)]);
            rows.push(row);
        }
    }
    rows
}

fn members_in_full(cx: &ViewContext<'_>) -> Rows {
    let Some(c) = known(cx) else { return Vec::new() };
    let votes = c.members.iter().filter(|m| m.vote).count();
    let heard = c.members.iter().filter(|m| m.vote && m.up).count();
    let number = |n: u64| int(i64::try_from(n).unwrap_or(i64::MAX));
    let row = |m: &ClusterMember| {
        let mut row = vec![guid(c.id), text(c.name.as_str()), number(c.generation), text(c.quorum.word())];
        row.extend([int(votes as i64), int(heard as i64), int((votes / 2 + 1) as i64)]);
        row.push(c.leader.as_deref().map_or(NULL, text));
        row.push(bit(c.holds_lease));
        row.extend([text(m.name.as_str()), text(m.endpoint_url.as_str()), text(m.kind.word())]);
        row.extend([bit(m.is_local), bit(m.up), bit(m.vote), m.round_trip_us.map_or(NULL, number)]);
        row.extend([&m.product_version, &m.product_warning].map(|t| t.as_deref().map_or(NULL, text)));
        row
    };
    c.members.iter().map(row).collect()
}

fn failovers(cx: &ViewContext<'_>) -> Rows {
    let ms = |us: Option<u64>| us.map_or(NULL, |us| Value::Float(us as f64 / 1000.0));
    let row = |f: FailoverRecord| {
        let mut row = vec![date(f.began_utc), text(f.group), f.from.map_or(NULL, text), text(f.to)];
        row.extend([text(f.kind), text(f.cause), ms(f.last_heard_us)]);
        let step = |name: &str| f.steps.iter().find(|(n, _)| *n == name).and_then(|(_, at)| *at);
        row.extend(STEPS.iter().map(|name| ms(step(name))));
        row.push(text(f.text));
        row
    };
    let failovers = cx.engine.hadr().map(|h| h.failovers()).unwrap_or_default();
    failovers.into_iter().map(row).collect()
}

/// On a primary: for each copy elsewhere, how long its database would be away and what would be missing there if this
/// instance were lost now. Noticing takes as long as configured, deciding as long as the last time, redo as long as it needs
/// at its present rate; what cannot be said yet is NULL.
fn estimates(cx: &ViewContext<'_>) -> Rows {
    let number = |n: u64| int(i64::try_from(n).unwrap_or(i64::MAX));
    let hadr = cx.engine.hadr();
    let noticing = known(cx).map(|c| c.detection_ms);
    let deciding = |group: &str| {
        let failovers = hadr.map(|h| h.failovers()).unwrap_or_default();
        let last = failovers.into_iter().rfind(|f| f.group == group);
        let opened = last.and_then(|f| f.steps.into_iter().find(|(name, _)| *name == "opened")?.1);
        opened.unwrap_or(0) / 1000
    };
    let mut rows = Vec::new();
    for g in state(cx).all_groups().filter(|g| g.role == Role::Primary) {
        let own = g.local().map(|r| r.spec.failover_mode);
        for r in g.replicas.iter().filter(|r| !r.is_local) {
            for (d, copy) in g.databases.iter().filter_map(|d| Some((d, r.database(d.id)?))) {
                let both =
                    own == Some(FailoverMode::Automatic) && r.spec.failover_mode == FailoverMode::Automatic;
                let automatic = both && copy.failover_ready;
                let redo = match (copy.redo_queue_bytes, copy.redo_rate_bytes) {
                    (Some(0), _) => Some(0),
                    (None, _) | (_, 0) => None,
                    (Some(queue), rate) => Some(queue.saturating_mul(1000) / rate),
                };
                let rto = noticing.zip(redo).map(|(n, redo)| n + deciding(&g.spec.name) + redo);
                let missing = if copy.failover_ready { Some(0) } else { copy.send_queue_bytes };
                let seconds = if copy.failover_ready { Some(0) } else { copy.lag_seconds };
                let mut row = vec![text(g.spec.name.as_str()), text(d.name.as_str())];
                row.extend([text(r.spec.server.as_str()), bit(automatic)]);
                row.extend([rto.filter(|_| automatic).map_or(NULL, number), missing.map_or(NULL, number)]);
                row.push(seconds.map_or(NULL, number));
                rows.push(row);
            }
        }
    }
    rows
}
