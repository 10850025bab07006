//! The cluster and its failovers as views show them, and as the logs tell them.

use std::net::IpAddr;
use std::time::Duration;

use keel_cluster::{
    Choice, ClusterStatus, FailoverRecord, GroupConfig, GroupStatus, MemberStatus, QuorumState, RedoLeft,
    ReplicaId,
};
use keel_group::networks::{Network, networks};
use keel_group::product;
use keel_group::state::PeerState;
use keel_sql::hadr::cluster as sql;

use super::states::utc_ticks;
use super::{Replication, convert};

/// The cluster as this instance knows it.
pub(super) fn state(replication: &Replication) -> Option<sql::ClusterState> {
    let status = replication.groups.cluster()?;
    let seen = replication.groups.state();
    let networks = networks();
    let own_url = replication.groups.endpoint().0.url;
    let mut members: Vec<sql::ClusterMember> =
        status.members.iter().map(|m| member(m, &seen.peers, &networks, &own_url)).collect();
    members.sort_by(|a, b| (!a.is_local, &a.name).cmp(&(!b.is_local, &b.name)));
    let witness = status.members.iter().any(|m| m.member.witness && m.vote);
    Some(sql::ClusterState {
        id: convert::guid(status.cluster.0),
        name: name(&status, &seen.groups),
        generation: status.generation + 1,
        quorum_type: match witness {
            true => sql::QuorumType::NodesAndWitness,
            false => sql::QuorumType::Nodes,
        },
        quorum: match status.quorum {
            QuorumState::Lost => sql::QuorumState::Unknown,
            QuorumState::Normal => sql::QuorumState::Normal,
            QuorumState::Forced => sql::QuorumState::Forced,
        },
        leader: status.members.iter().find(|m| m.leads).map(|m| m.member.name.clone()),
        detection_ms: millis(replication.groups.cluster_options().silence),
        holds_lease: status.holds_lease,
        members,
    })
}

/// After its first group; before there is one, after its identity.
fn name(status: &ClusterStatus, groups: &[GroupStatus]) -> String {
    let of = |g: &&GroupStatus| g.config.options.cluster_type == keel_cluster::ClusterType::Wsfc;
    let mut names: Vec<&str> = groups.iter().filter(of).map(|g| g.config.name.as_str()).collect();
    names.sort_unstable();
    names.first().map_or_else(|| status.cluster.0.to_string(), |name| (*name).to_owned())
}

fn member(m: &MemberStatus, peers: &[PeerState], networks: &[Network], own_url: &str) -> sql::ClusterMember {
    let peer = peers.iter().find(|p| p.instance == m.member.instance);
    let url = if m.local { own_url } else { m.member.url.as_str() };
    let address = peer.and_then(|p| p.address).or_else(|| address_in(url));
    let own_product = env!("CARGO_PKG_VERSION");
    let product_version = match peer.filter(|p| p.connected) {
        _ if m.local => Some(own_product.to_owned()),
        peer => peer.and_then(|p| p.product.clone()),
    };
    let others = peer.filter(|p| p.connected && !m.local);
    let product_warning =
        others.and_then(|p| product::told(&m.member.name, p.product.as_deref(), own_product));
    let shown = |n: &Network| sql::ClusterNetwork {
        subnet: n.subnet().to_string(),
        mask: n.mask().map(|m| m.to_string()),
        prefix: n.prefix,
        is_ipv4: n.address.is_ipv4(),
    };
    sql::ClusterMember {
        name: m.member.name.clone(),
        endpoint_url: url.to_owned(),
        kind: if m.member.witness { sql::MemberType::Witness } else { sql::MemberType::Node },
        is_local: m.local,
        up: m.heard,
        vote: m.vote,
        product_version,
        product_warning,
        round_trip_us: peer.filter(|p| p.round_trip_nanos > 0).map(|p| p.round_trip_nanos / 1000),
        networks: networks.iter().filter(|n| address.is_some_and(|a| n.holds(a))).map(shown).collect(),
    }
}

/// The address in an endpoint's URL, where it is one and not a name.
fn address_in(url: &str) -> Option<IpAddr> {
    let (host, _) = keel_group::handshake::host_and_port(url)?.rsplit_once(':')?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The newest failovers of all groups, oldest first.
pub(super) fn failovers(replication: &Replication) -> Vec<sql::FailoverRecord> {
    let clock = replication.groups.clock();
    let began = |record: &FailoverRecord| record.suspected.unwrap_or(record.claimed);
    let groups = replication.groups.state().groups;
    let mut records: Vec<_> = groups.iter().flat_map(|g| g.failovers.iter().map(move |f| (g, f))).collect();
    records.sort_by_key(|(_, f)| began(f));
    records
        .into_iter()
        .map(|(g, f)| {
            let ago = clock.now().saturating_sub(began(f));
            let ago = i128::try_from(ago.as_nanos()).unwrap_or(0);
            let named =
                |r: ReplicaId| g.config.replica(r).map_or_else(|| r.to_string(), |r| r.server_name.clone());
            sql::FailoverRecord {
                began_utc: utc_ticks(clock.unix_nanos() - ago),
                group: g.config.name.clone(),
                from: f.from.map(named),
                to: named(f.to),
                kind: f.kind.description(),
                cause: f.cause.description().to_owned(),
                last_heard_us: f.last_heard.map(|at| micros(began(f).saturating_sub(at))),
                steps: steps(f),
                text: story(f, &g.config),
            }
        })
        .collect()
}

/// The steps in order, each in microseconds since the beginning.
fn steps(f: &FailoverRecord) -> Vec<(&'static str, Option<u64>)> {
    let began = f.suspected.unwrap_or(f.claimed);
    let at = |time: Option<Duration>| time.map(|t| micros(t.saturating_sub(began)));
    vec![
        ("suspected", at(f.suspected)),
        ("polled", at(f.polled)),
        ("claimed", at(Some(f.claimed))),
        ("decided", at(f.decided)),
        ("redone", at(f.redone)),
        ("opened", at(f.opened)),
        ("first commit", at(f.first_commit)),
    ]
}

/// What the logs are told: the story when the databases are open, and later when the first commit came.
pub(super) fn told(f: &FailoverRecord, config: &GroupConfig) -> String {
    match f.first_commit {
        None => story(f, config),
        Some(at) => format!(
            "First commit of availability group '{}' after the failover, in epoch {}: after {:.1} ms.",
            config.name,
            f.epoch.0,
            at.saturating_sub(f.suspected.unwrap_or(f.claimed)).as_secs_f64() * 1000.0
        ),
    }
}

/// Why it was this replica, by what the candidates had to redo.
fn chosen<'n>(choice: &Choice, named: &dyn Fn(ReplicaId) -> &'n str) -> String {
    let told =
        |redo: &RedoLeft| format!("{} KB to redo, about {} ms", redo.bytes / 1024, redo.time.as_millis());
    let list = |all: &[(ReplicaId, RedoLeft)]| {
        let each: Vec<_> = all.iter().map(|(r, redo)| format!("'{}' ({})", named(*r), told(redo))).collect();
        each.join(", ")
    };
    let before = match choice.passed_over.is_empty() {
        true => String::new(),
        false => format!(", before {}, which the group's order prefers", list(&choice.passed_over)),
    };
    let others = match choice.others.is_empty() {
        true => String::new(),
        false => format!("; the other candidates: {}", list(&choice.others)),
    };
    format!("It had {}{before}{others}. ", told(&choice.redo))
}

/// A failover in one readable line.
fn story(f: &FailoverRecord, config: &GroupConfig) -> String {
    let named = |r: ReplicaId| config.replica(r).map_or("?", |r| r.server_name.as_str());
    let began = f.suspected.unwrap_or(f.claimed);
    let heard = f.last_heard.map_or(String::new(), |at| {
        format!(", last heard {:.1} ms before", began.saturating_sub(at).as_secs_f64() * 1000.0)
    });
    let from = match f.from {
        Some(from) if from != f.to => format!(" from '{}'{heard}", named(from)),
        _ => String::new(),
    };
    let words = |step: &str| match step {
        "polled" => "agreed by a majority",
        "redone" => "redone",
        "opened" => "open",
        "first commit" => "first commit",
        "suspected" => "suspected",
        "claimed" => "claimed",
        _ => "decided",
    };
    let reason = f.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
    let line: Vec<String> = steps(f)
        .into_iter()
        .filter_map(|(step, at)| Some(format!("{} {:.1} ms", words(step), at? as f64 / 1000.0)))
        .collect();
    let chosen = chosen(&f.choice, &named);
    format!(
        "Failover of availability group '{}' to '{}'{from}: {}, {}{reason}. {chosen}{} (epoch {}, {} replicas went on)",
        config.name,
        named(f.to),
        f.kind.description(),
        f.cause.description(),
        line.join(", "),
        f.epoch.0,
        f.survivors
    )
}
