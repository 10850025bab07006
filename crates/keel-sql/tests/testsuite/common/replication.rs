//! A replication side without replication: commands change a state in memory, copies follow at once.
//!
//! `FAILOVER` makes this instance the primary, `SET (ROLE = SECONDARY)` a secondary of the first other replica, `OFFLINE`
//! leaves it resolving, and a mirroring session is there as soon as it is asked for; that is enough to meet every rule of the statements, the views and the logins.

use keel_sql::diagnostics::{Component, ComponentKind, Diagnostics};
use keel_sql::hadr::cluster::{
    ClusterChange, ClusterCheck, ClusterMember, ClusterNetwork, ClusterReport, ClusterState, FailoverRecord,
    MemberType, QuorumState, QuorumType,
};
use keel_sql::hadr::config::GroupSpec;
use keel_sql::hadr::mirroring::Change;
use keel_sql::hadr::{
    AvailabilityMode, Caller, DatabaseReplicaState, DistributedChange, DistributedMember, DistributedState,
    Expected, FailoverMode, GroupChange, GroupDatabase, GroupState, Guid, Hadr, HadrCommand, HadrState,
    HealthEvent, JoinState, ListenerChange, ListenerCondition, ListenerIp, ListenerSocket, ListenerSpec,
    ListenerState, ListenerWay, Mirroring, OperationalState, Partner, Positions, PrimaryConnections,
    ReplicaSpec, ReplicaState, Role, SecondaryConnections, SuspendReason, SyncState, build, errors,
};
use keel_types::error::Result;
use parking_lot::Mutex;
use std::sync::Arc;

/// See the module's chapter.
pub struct Fake {
    server: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    state: HadrState,
    ids: u8,
    events: Vec<HealthEvent>,
}

impl Fake {
    /// The replication side of the instance of that name.
    pub fn new(server: &str) -> Arc<Fake> {
        let inner =
            Inner { state: HadrState { manager_status: 1, ..HadrState::default() }, ..Inner::default() };
        Arc::new(Fake { server: server.to_owned(), inner: Mutex::new(inner) })
    }
}

/// A listener that has its first address on this machine, and the others elsewhere.
fn listening(id: Guid, spec: ListenerSpec) -> ListenerState {
    let socket = |(i, ip): (usize, &ListenerIp)| ListenerSocket {
        address: (ip.address.parse::<std::net::IpAddr>().expect("was checked"), spec.port).into(),
        condition: if i == 0 { ListenerCondition::Online } else { ListenerCondition::Offline },
        since: None,
        error: None,
    };
    let sockets = spec.addresses.iter().enumerate().map(socket).collect();
    ListenerState { id, spec, sockets, way: ListenerWay::Served, sent_to: None }
}

/// A member of a distributed group, as its views name it.
fn member_spec(member: &DistributedMember) -> ReplicaSpec {
    ReplicaSpec {
        server: member.group.clone(),
        endpoint_url: member.listener_url.clone(),
        availability_mode: member.availability_mode,
        failover_mode: FailoverMode::Manual,
        seeding_mode: member.seeding_mode,
        backup_priority: 50,
        session_timeout_seconds: 10,
        primary_connections: PrimaryConnections::All,
        secondary_connections: SecondaryConnections::No,
        read_only_routing_url: None,
        read_only_routing_list: Vec::new(),
        read_write_routing_url: None,
    }
}

/// A copy that follows at once.
fn copy(database: Guid, sync: SyncState, primary: bool) -> DatabaseReplicaState {
    DatabaseReplicaState {
        database,
        joined: true,
        sync,
        failover_ready: sync == SyncState::Synchronized,
        commit_participant: sync == SyncState::Synchronized,
        suspended: None,
        online: primary.then_some(true),
        positions: Positions {
            hardened: Some((4096, None)),
            redone: (!primary).then_some((4000, None)),
            end_of_log: Some(4608),
            ..Positions::default()
        },
        send_queue_bytes: Some(2048),
        send_rate_bytes: 0,
        redo_queue_bytes: Some(4096),
        redo_queue_max_bytes: 128 << 20,
        writers_wait_micros: 0,
        redo_rate_bytes: 0,
        lag_seconds: (!primary).then_some(0),
        counters: Default::default(),
        latency: None,
        divergent: None,
    }
}

/// What an operator does to a session.
trait Alter {
    fn alter(&mut self, change: Change, other: impl Fn(&str, String) -> Partner);
}

impl Alter for Mirroring {
    fn alter(&mut self, change: Change, other: impl Fn(&str, String) -> Partner) {
        let suspend = |m: &mut Mirroring, reason| {
            m.local.iter_mut().chain(&mut m.remote).for_each(|copy| copy.suspended = reason);
        };
        self.sequence += 1;
        match change {
            Change::Failover => {
                (self.role, self.remote) = (Role::Secondary, None);
                std::mem::swap(&mut self.principal, &mut self.mirror);
            }
            Change::ForceService => self.role = Role::Primary,
            Change::Suspend => suspend(self, Some(SuspendReason::User)),
            Change::Resume => suspend(self, None),
            Change::Safety(full) => self.safety_full = full,
            Change::Timeout(seconds) => self.timeout_seconds = seconds,
            Change::Witness(url) => self.witness = url.map(|url| other("WITNESS", url)),
            Change::BecomeMirror(_) | Change::BecomePrincipal(_) | Change::Off => {
                unreachable!("are not changes of a session")
            }
        }
    }
}

impl Inner {
    fn id(&mut self) -> Guid {
        self.ids += 1;
        [self.ids; 16]
    }

    fn log(&mut self, group: &str, text: String) {
        self.events.push(HealthEvent {
            time_utc: 0,
            name: "availability_replica_state_change".to_owned(),
            group: Some(group.to_owned()),
            replica: None,
            database: None,
            number: 19406,
            text,
        });
    }

    fn replica(&mut self, spec: ReplicaSpec, local: bool) -> ReplicaState {
        ReplicaState {
            id: self.id(),
            spec,
            is_local: local,
            role: Some(if local { Role::Primary } else { Role::Secondary }),
            operational: local.then_some(OperationalState::Online),
            connected: (!local).then_some(true),
            last_connect_error: None,
            join: JoinState::Standalone,
            created: None,
            modified: None,
            databases: Vec::new(),
            counters: Default::default(),
        }
    }

    fn add_database(&mut self, at: usize, name: &str) {
        let id = self.id();
        let group = &mut self.state.groups[at];
        group.databases.push(GroupDatabase { id, name: name.to_owned() });
        for replica in &mut group.replicas {
            let sync = match replica.spec.availability_mode {
                AvailabilityMode::ConfigurationOnly => continue,
                AvailabilityMode::Synchronous => SyncState::Synchronized,
                AvailabilityMode::Asynchronous => SyncState::Synchronizing,
            };
            replica.databases.push(copy(id, sync, replica.is_local));
        }
    }

    /// The other partner is MIRROR, the witness WITNESS; nobody is at port 1.
    fn mirror(&mut self, server: &str, database: &str, change: Change) -> Result<()> {
        let other = |server: &str, url: String| Partner {
            server: server.to_owned(),
            clients: build::tcp_url(&url).map(|(host, _)| (host, 1433)),
            url,
            connected: true,
        };
        let at = self.state.mirroring.iter().position(|m| m.database == database);
        match (change, at) {
            (Change::BecomeMirror(url) | Change::BecomePrincipal(url), _) if url.ends_with(":1") => {
                return Err(errors::partner_unreachable(url));
            }
            (Change::BecomeMirror(url), _) => {
                self.state.expected.retain(|e| e.database != database);
                let principal = other("MAIN", url);
                self.state.expected.push(Expected { database: database.to_owned(), principal });
            }
            (Change::BecomePrincipal(url), _) => {
                let id = self.id();
                let copy = |sync| copy(id, sync, true);
                self.state.mirroring.push(Mirroring {
                    id,
                    database: database.to_owned(),
                    is_witness: false,
                    role: Role::Primary,
                    was_principal: false,
                    no_quorum: false,
                    pending_failover: false,
                    both_synchronized: true,
                    safety_full: true,
                    timeout_seconds: 10,
                    role_sequence: 1,
                    sequence: 1,
                    principal: Some(server.to_owned()),
                    mirror: Some("MIRROR".to_owned()),
                    own_url: "TCP://main:5022".to_owned(),
                    partner: Some(other("MIRROR", url)),
                    witness: None,
                    local: Some(copy(SyncState::Synchronized)),
                    remote: Some(copy(SyncState::Synchronized)),
                    traffic: Default::default(),
                });
            }
            (Change::Off, _) => {
                self.state.expected.retain(|e| e.database != database);
                self.state.mirroring.retain(|m| m.database != database);
            }
            (change, at) => self.state.mirroring[at.expect("was checked")].alter(change, other),
        }
        Ok(())
    }

    fn create(&mut self, server: &str, mut spec: GroupSpec) {
        let (replicas, databases) = (std::mem::take(&mut spec.replicas), std::mem::take(&mut spec.databases));
        let listener = spec.listener.take();
        let name = spec.name.clone();
        let id = self.id();
        let replicas = replicas
            .into_iter()
            .map(|r| {
                let local = r.server.eq_ignore_ascii_case(server);
                self.replica(r, local)
            })
            .collect();
        let listeners = listener.into_iter().map(|spec| listening(self.id(), spec)).collect();
        self.state.groups.push(GroupState {
            id,
            spec,
            sequence: 1,
            epoch: 1,
            primary: Some(server.to_owned()),
            role: Role::Primary,
            forwards: false,
            replicas,
            databases: Vec::new(),
            listeners,
            may_create_databases: true,
            configuration_pending_since_utc: None,
        });
        for database in databases {
            self.add_database(self.state.groups.len() - 1, &database);
        }
        self.log(&name, "RESOLVING_NORMAL -> PRIMARY_NORMAL: CREATE".to_owned());
    }

    fn distributed(&mut self, name: String, local: String, change: DistributedChange) {
        let at = self.state.distributed.iter().position(|d| d.group.spec.name == name);
        let role = match &change {
            DistributedChange::Create { .. } | DistributedChange::ForceFailover => Role::Primary,
            DistributedChange::Join { .. } => Role::Secondary,
            DistributedChange::RoleSecondary => Role::Resolving,
            _ => at.map_or(Role::Primary, |at| self.state.distributed[at].group.role),
        };
        match (change, at) {
            (DistributedChange::Create { members } | DistributedChange::Join { members }, _) => {
                let group = self.distributed_group(name, &local, &members);
                self.state.distributed.push(DistributedState { local: local.clone(), group, leads: true });
            }
            (DistributedChange::Modify { members }, Some(at)) => {
                let replicas = &mut self.state.distributed[at].group.replicas;
                for (replica, member) in replicas.iter_mut().zip(&members) {
                    replica.spec = member_spec(member);
                }
            }
            (DistributedChange::Required(n), Some(at)) => {
                self.state.distributed[at].group.spec.required_synchronized_secondaries = n;
            }
            (DistributedChange::Drop, Some(at)) => {
                self.state.distributed.remove(at);
            }
            _ => {}
        }
        let kept = self.state.distributed.iter_mut().find(|d| d.local == local);
        let forwards = kept.map(|d| d.group.role = role).is_some() && role != Role::Primary;
        self.state.groups.iter_mut().filter(|g| g.spec.name == local).for_each(|g| g.forwards = forwards);
    }

    fn distributed_group(&mut self, name: String, local: &str, members: &[DistributedMember]) -> GroupState {
        let of = self.state.groups.iter().find(|g| g.spec.name == local).expect("was checked").clone();
        let replicas =
            members.iter().map(|m| self.replica(member_spec(m), m.group == local)).collect::<Vec<_>>();
        GroupState {
            id: self.id(),
            spec: GroupSpec { name, required_synchronized_secondaries: 0, ..of.spec.clone() },
            replicas,
            listeners: Vec::new(),
            ..of
        }
    }

    fn become_(&mut self, at: usize, server: &str, role: Role) {
        let group = &mut self.state.groups[at];
        group.role = role;
        group.epoch += 1;
        let other = group.replicas.iter().find(|r| !r.is_local).map(|r| r.spec.server.clone());
        group.primary = match role {
            Role::Primary => Some(server.to_owned()),
            Role::Secondary => other.clone(),
            Role::Resolving => None,
        };
        for replica in &mut group.replicas {
            let primary = group.primary.as_deref() == Some(&replica.spec.server);
            replica.role = Some(match role {
                Role::Resolving => Role::Resolving,
                _ if primary => Role::Primary,
                _ => Role::Secondary,
            });
        }
        let name = group.spec.name.clone();
        self.log(&name, format!("-> {}", role.word()));
    }

    fn alter(&mut self, server: &str, at: usize, change: GroupChange) -> Result<()> {
        self.state.groups[at].sequence += 1;
        match change {
            GroupChange::AddDatabases(names) => names.iter().for_each(|n| self.add_database(at, n)),
            GroupChange::RemoveDatabases(names) => {
                let group = &mut self.state.groups[at];
                group.databases.retain(|d| !names.contains(&d.name));
            }
            GroupChange::AddReplicas(specs) => {
                for spec in specs {
                    let mut replica = self.replica(spec, false);
                    replica.join = JoinState::NotJoined;
                    replica.connected = Some(false);
                    self.state.groups[at].replicas.push(replica);
                }
            }
            GroupChange::RemoveReplica(name) => {
                self.state.groups[at].replicas.retain(|r| r.spec.server != name);
            }
            GroupChange::ModifyReplica { server, change } => {
                let group = &mut self.state.groups[at];
                let replica =
                    group.replicas.iter_mut().find(|r| r.spec.server == server).expect("was checked");
                build::apply(&mut replica.spec, change);
            }
            GroupChange::Failover | GroupChange::ForceFailover => self.become_(at, server, Role::Primary),
            GroupChange::RoleSecondary => self.become_(at, server, Role::Secondary),
            GroupChange::Offline => self.become_(at, server, Role::Resolving),
            GroupChange::Join { .. } => return Err(errors::join_timeout("?")),
            GroupChange::BackupPreference(p) => self.state.groups[at].spec.backup_preference = p,
            GroupChange::FailureConditionLevel(n) => self.state.groups[at].spec.failure_condition_level = n,
            GroupChange::HealthCheckTimeout(ms) => self.state.groups[at].spec.health_check_timeout_ms = ms,
            GroupChange::DtcSupport(on) => self.state.groups[at].spec.dtc_per_database = on,
            GroupChange::DbFailover(on) => self.state.groups[at].spec.db_failover = on,
            GroupChange::RequiredSynchronizedSecondaries(n) => {
                self.state.groups[at].spec.required_synchronized_secondaries = n;
            }
            GroupChange::AddListener(spec) => {
                let id = self.id();
                self.state.groups[at].listeners.push(listening(id, spec));
            }
            GroupChange::ModifyListener { dns_name, change } => {
                let listeners = &mut self.state.groups[at].listeners;
                let l = listeners.iter_mut().find(|l| l.spec.dns_name == dns_name).expect("was checked");
                match change {
                    ListenerChange::AddIp(ip) => l.spec.addresses.push(ip),
                    ListenerChange::RemoveIp(ip) => l.spec.addresses.retain(|a| *a != ip),
                    ListenerChange::Port(port) => l.spec.port = port,
                }
            }
            GroupChange::RemoveListener(name) => {
                self.state.groups[at].listeners.retain(|l| l.spec.dns_name != name);
            }
            GroupChange::CreateAnyDatabase(on) => self.state.groups[at].may_create_databases = on,
            GroupChange::RestartListener(_)
            | GroupChange::WriteLeaseValidity(_)
            | GroupChange::ClusterConnectionOptions(_) => {}
        }
        Ok(())
    }

    fn suspend(&mut self, database: &str, reason: Option<SuspendReason>) {
        for group in &mut self.state.groups {
            let Some(id) = group.database(database).map(|d| d.id) else { continue };
            for copy in group.replicas.iter_mut().flat_map(|r| &mut r.databases) {
                if copy.database == id {
                    copy.suspended = reason;
                    copy.sync = match reason {
                        Some(_) => SyncState::NotSynchronizing,
                        None => SyncState::Synchronized,
                    };
                }
            }
        }
    }
}

impl Diagnostics for Fake {
    fn components(&self) -> Vec<Component> {
        let row = |kind, name: &str, state, data: &str| Component {
            kind,
            name: name.into(),
            state,
            data: data.into(),
        };
        vec![
            row(ComponentKind::Instance, "system", 1, "<system />"),
            row(ComponentKind::Instance, "resource", 2, "<resource />"),
            row(ComponentKind::Instance, "events", 0, "<events></events>"),
            row(ComponentKind::Group, "ag 1", 3, "<availabilityGroup />"),
        ]
    }
}

impl Hadr for Fake {
    fn execute(&self, _: &Caller, command: HadrCommand) -> Result<()> {
        let mut inner = self.inner.lock();
        let find = |inner: &Inner, name: &str| inner.state.groups.iter().position(|g| g.spec.name == name);
        match command {
            HadrCommand::CreateGroup(spec) => inner.create(&self.server, *spec),
            HadrCommand::DropGroup { group } => {
                let at = find(&inner, &group).ok_or_else(|| errors::no_group(&group))?;
                inner.state.groups.remove(at);
            }
            HadrCommand::AlterGroup { group, change } => match find(&inner, &group) {
                Some(at) => inner.alter(&self.server, at, change)?,
                None => return Err(errors::join_timeout(group)),
            },
            HadrCommand::Suspend { database } => inner.suspend(&database, Some(SuspendReason::User)),
            HadrCommand::Resume { database } => inner.suspend(&database, None),
            HadrCommand::JoinDatabase { .. } | HadrCommand::LeaveDatabase { .. } => {}
            HadrCommand::Mirror { database, change } => inner.mirror(&self.server, &database, change)?,
            HadrCommand::SetEndpoint(spec) => {
                if spec.port == 1 {
                    return Err(errors::endpoint_not_listening(spec.port, "permission denied"));
                }
            }
            HadrCommand::DropEndpoint => {}
            HadrCommand::Distributed { name, local, change } => inner.distributed(name, local, change),
            HadrCommand::Cluster(ClusterChange::RemoveNode { name }) if name != "N2" => {
                return Err(errors::no_cluster_node(name));
            }
            HadrCommand::Cluster(change) => {
                let text = format!("{change:?}");
                inner.events.push(HealthEvent {
                    time_utc: 0,
                    name: "cluster".to_owned(),
                    group: None,
                    replica: None,
                    database: None,
                    number: 0,
                    text,
                });
            }
        }
        Ok(())
    }

    fn state(&self) -> Arc<HadrState> {
        Arc::new(self.inner.lock().state.clone())
    }

    fn log_backed_up(&self, _: &str, _: keel_base::Lsn, _: i64) -> bool {
        false
    }

    fn health_log(&self) -> Vec<HealthEvent> {
        self.inner.lock().events.clone()
    }

    fn cluster(&self) -> Option<ClusterState> {
        let member = |name: &str, kind, is_local, up| ClusterMember {
            name: name.to_owned(),
            endpoint_url: format!("TCP://{}:5022", name.to_lowercase()),
            kind,
            is_local,
            up,
            vote: true,
            round_trip_us: (!is_local && up).then_some(150),
            product_version: up.then(|| "0.1.0".to_owned()),
            product_warning: None,
            networks: vec![ClusterNetwork {
                subnet: "10.0.0.0".to_owned(),
                mask: Some("255.0.0.0".to_owned()),
                prefix: 8,
                is_ipv4: true,
            }],
        };
        Some(ClusterState {
            id: [7; 16],
            name: "sales".to_owned(),
            generation: 1,
            quorum_type: QuorumType::NodesAndWitness,
            quorum: QuorumState::Normal,
            leader: Some(self.server.clone()),
            detection_ms: 400,
            holds_lease: true,
            members: vec![
                member(&self.server, MemberType::Node, true, true),
                member("N2", MemberType::Node, false, false),
                member("W", MemberType::Witness, false, true),
            ],
        })
    }

    fn failovers(&self) -> Vec<FailoverRecord> {
        vec![FailoverRecord {
            began_utc: 0,
            group: "sales".to_owned(),
            from: Some("N2".to_owned()),
            to: self.server.clone(),
            kind: "AUTOMATIC",
            cause: "its connections closed".to_owned(),
            last_heard_us: Some(3000),
            steps: vec![("suspected", Some(0)), ("decided", Some(12_500)), ("first commit", None)],
            text: "N2 was lost.".to_owned(),
        }]
    }

    fn validate_cluster(&self) -> Result<ClusterReport> {
        Ok(ClusterReport {
            checks: vec![ClusterCheck {
                member: self.server.clone(),
                check: "log write",
                other: None,
                measured: Some([200, 900, 1900, 2500]),
                verdict: "OK",
                text: "each commit waits for it".to_owned(),
            }],
            file: Some("log/cluster_validation".to_owned()),
        })
    }

    fn members(&self) -> Vec<(String, String)> {
        vec![("N2".to_owned(), "TCP://n2:5022".to_owned())]
    }

    fn invite(&self, url: &str, hours: u32) -> Result<String> {
        Ok(format!("token for {url}, {hours} hours"))
    }

    fn use_invitation(&self, token: &str, _url: &str) -> Result<()> {
        if token.starts_with("token") { Ok(()) } else { Err(errors::bad_join_token()) }
    }

    fn trace_flags(&self, _flags: &[i32]) {}

    fn database_dropped(&self, _name: &str) {}
}
