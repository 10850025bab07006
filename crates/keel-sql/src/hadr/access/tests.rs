//! Where logins go, and who is refused with what.

use super::*;
use crate::hadr::state::{DatabaseCounters, JoinState, Positions};
use crate::hadr::{
    AvailabilityMode, BackupPreference, ClusterType, DatabaseReplicaState, FailoverMode, GroupDatabase,
    GroupSpec, ReplicaSpec, SeedingMode, SuspendReason,
};

const DATABASE: Guid = [9; 16];

fn replica(number: u8, role: Role, local: bool) -> ReplicaState {
    let server = format!("N{number}");
    ReplicaState {
        id: [number; 16],
        spec: ReplicaSpec {
            endpoint_url: format!("TCP://n{number}:5022"),
            server,
            availability_mode: AvailabilityMode::Synchronous,
            failover_mode: FailoverMode::Manual,
            seeding_mode: SeedingMode::Automatic,
            backup_priority: 50,
            session_timeout_seconds: 10,
            primary_connections: PrimaryConnections::All,
            secondary_connections: SecondaryConnections::All,
            read_only_routing_url: Some(format!("TCP://n{number}:1433")),
            read_only_routing_list: Vec::new(),
            read_write_routing_url: None,
        },
        is_local: local,
        role: Some(role),
        operational: None,
        connected: Some(true),
        last_connect_error: None,
        join: JoinState::Standalone,
        created: None,
        modified: None,
        databases: vec![DatabaseReplicaState {
            database: DATABASE,
            joined: true,
            sync: SyncState::Synchronized,
            failover_ready: true,
            commit_participant: true,
            suspended: None,
            online: local.then_some(true),
            positions: Positions::default(),
            send_queue_bytes: Some(0),
            send_rate_bytes: 0,
            redo_queue_bytes: Some(0),
            redo_queue_max_bytes: 0,
            writers_wait_micros: 0,
            redo_rate_bytes: 0,
            lag_seconds: None,
            counters: DatabaseCounters::default(),
            latency: None,
            divergent: None,
        }],
        counters: Default::default(),
    }
}

/// A group of three; this instance is the first and has `role`, the second is the other one.
fn state(role: Role) -> HadrState {
    let other = if role == Role::Primary { Role::Secondary } else { Role::Primary };
    let spec = GroupSpec {
        name: "ag".to_owned(),
        cluster_type: ClusterType::Wsfc,
        backup_preference: BackupPreference::Secondary,
        failure_condition_level: 3,
        health_check_timeout_ms: 30_000,
        db_failover: false,
        dtc_per_database: false,
        basic: false,
        contained: None,
        required_synchronized_secondaries: 0,
        write_lease_seconds: None,
        cluster_connection_options: None,
        replicas: Vec::new(),
        databases: Vec::new(),
        listener: None,
    };
    let group = GroupState {
        id: [1; 16],
        spec,
        sequence: 1,
        epoch: 1,
        primary: Some(if role == Role::Primary { "N1" } else { "N2" }.to_owned()),
        role,
        forwards: false,
        replicas: vec![replica(1, role, true), replica(2, other, false), replica(3, Role::Secondary, false)],
        databases: vec![GroupDatabase { id: DATABASE, name: "shop".to_owned() }],
        listeners: Vec::new(),
        may_create_databases: true,
        configuration_pending_since_utc: None,
    };
    HadrState { groups: vec![group], ..HadrState::default() }
}

const READER: Intent = Intent { read_only: true, can_route: true };
const WRITER: Intent = Intent { read_only: false, can_route: true };

/// Host of the route, `here`, or the error's number.
fn go(state: &HadrState, intent: Intent, rotation: &Rotation) -> String {
    match login(state, "Shop", intent, rotation) {
        Ok(Access::Here) => "here".to_owned(),
        Ok(Access::Route { host, port }) => format!("{host}:{port}"),
        Err(e) => e.number.to_string(),
    }
}

fn list(sets: &[&[&str]]) -> Vec<Vec<String>> {
    sets.iter().map(|set| set.iter().map(|s| (*s).to_owned()).collect()).collect()
}

#[test]
fn readers_take_turns_over_what_moves() {
    let (mut s, turns) = (state(Role::Primary), Rotation::default());
    assert_eq!(go(&s, READER, &turns), "here", "no list");
    s.groups[0].replicas[0].spec.read_only_routing_list = list(&[&["N2", "N3"], &["N1"]]);
    let went: Vec<_> = (0..4).map(|_| go(&s, READER, &turns)).collect();
    assert_eq!(went, ["n2:1433", "n3:1433", "n2:1433", "n3:1433"]);
    assert_eq!(go(&s, WRITER, &turns), "here");
    assert_eq!(go(&s, Intent { can_route: false, ..READER }, &turns), "here", "an old client stays");

    s.groups[0].replicas[1].connected = Some(false);
    assert_eq!([go(&s, READER, &turns), go(&s, READER, &turns)], ["n3:1433", "n3:1433"]);
    s.groups[0].replicas[2].databases[0].suspended = Some(SuspendReason::User);
    assert_eq!(go(&s, READER, &turns), "here", "the primary is last in the list");
    s.groups[0].replicas[0].spec.primary_connections = PrimaryConnections::ReadWrite;
    assert_eq!(go(&s, READER, &turns), "982");
    s.groups[0].replicas[0].spec.read_only_routing_list.clear();
    assert_eq!(go(&s, READER, &turns), "979");
    assert_eq!(session(&s, "shop", true).map_err(|e| e.number), Err(979));
}

#[test]
fn a_secondary_takes_whom_it_is_told_to() {
    let (mut s, turns) = (state(Role::Secondary), Rotation::default());
    let both = |s: &HadrState| [go(s, READER, &turns), go(s, WRITER, &turns)];
    assert_eq!(both(&s), ["here", "here"]);
    s.groups[0].replicas[1].spec.read_write_routing_url = Some("TCP://n2:1433".to_owned());
    assert_eq!(both(&s), ["here", "n2:1433"], "writers go to the primary");
    s.groups[0].replicas[0].spec.secondary_connections = SecondaryConnections::ReadOnly;
    assert_eq!(both(&s), ["here", "978"]);
    s.groups[0].replicas[0].spec.secondary_connections = SecondaryConnections::No;
    assert_eq!(both(&s), ["976", "976"]);
    s.groups[0].replicas[0].spec.secondary_connections = SecondaryConnections::All;
    s.groups[0].replicas[0].databases[0].suspended = Some(SuspendReason::User);
    assert_eq!(both(&s), ["976", "n2:1433"]);
    s.groups[0].role = Role::Resolving;
    assert_eq!(both(&s), ["983", "983"]);
    s.groups[0].replicas[0].operational = Some(OperationalState::FailedNoQuorum);
    assert_eq!(both(&s), ["988", "988"], "without a majority of the cluster");
    assert_eq!(login(&s, "elsewhere", READER, &turns).ok(), Some(Access::Here));
}
