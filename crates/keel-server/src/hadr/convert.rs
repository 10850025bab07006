//! Between SQL's words for a group's configuration ([`keel_sql::hadr::config`]) and the cluster's
//! ([`keel_cluster::config`]).

use keel_cluster as cluster;
use keel_sql::hadr as sql;
use uuid::Uuid;

/// Two enumerations of the same variants, both ways.
macro_rules! same {
    ($to:ident, $from:ident, $name:ident { $($sql:ident = $cluster:ident,)* }) => {
        pub(super) fn $to(value: sql::$name) -> cluster::$name {
            match value { $(sql::$name::$sql => cluster::$name::$cluster,)* }
        }
        pub(super) fn $from(value: cluster::$name) -> sql::$name {
            match value { $(cluster::$name::$cluster => sql::$name::$sql,)* }
        }
    };
}

same!(to_mode, from_mode, AvailabilityMode {
    Synchronous = Synchronous,
    Asynchronous = Asynchronous,
    ConfigurationOnly = ConfigurationOnly,
});
same!(to_failover, from_failover, FailoverMode { Automatic = Automatic, Manual = Manual, External = External, });
same!(to_seeding, from_seeding, SeedingMode { Automatic = Automatic, Manual = Manual, });
same!(to_secondary, from_secondary, SecondaryConnections { No = No, ReadOnly = ReadOnly, All = All, });
same!(to_primary, from_primary, PrimaryConnections { All = All, ReadWrite = ReadWrite, });
same!(to_preference, from_preference, BackupPreference {
    Primary = Primary,
    SecondaryOnly = SecondaryOnly,
    Secondary = Secondary,
    None = None,
});

pub(super) fn to_cluster_type(value: sql::ClusterType) -> cluster::ClusterType {
    match value {
        sql::ClusterType::Wsfc => cluster::ClusterType::Wsfc,
        sql::ClusterType::External => cluster::ClusterType::External,
        sql::ClusterType::None => cluster::ClusterType::None,
    }
}

/// A mirroring session is like a group of the cluster when it has a witness, and like one without a cluster when it has none.
fn from_cluster_type(value: cluster::ClusterType) -> sql::ClusterType {
    use cluster::ClusterType as C;
    match value {
        C::Wsfc | C::WitnessedMirroring => sql::ClusterType::Wsfc,
        C::External => sql::ClusterType::External,
        C::None | C::Mirroring => sql::ClusterType::None,
    }
}

/// As `uniqueidentifier` keeps it.
pub(super) fn guid(id: Uuid) -> sql::Guid {
    id.to_bytes_le()
}

pub(super) fn to_replica(spec: &sql::ReplicaSpec) -> cluster::ReplicaOptions {
    cluster::ReplicaOptions {
        endpoint_url: spec.endpoint_url.clone(),
        availability_mode: to_mode(spec.availability_mode),
        failover_mode: to_failover(spec.failover_mode),
        seeding_mode: to_seeding(spec.seeding_mode),
        backup_priority: spec.backup_priority,
        session_timeout_s: spec.session_timeout_seconds,
        secondary_connections: to_secondary(spec.secondary_connections),
        read_only_routing_url: spec.read_only_routing_url.clone(),
        primary_connections: to_primary(spec.primary_connections),
        read_only_routing_list: spec.read_only_routing_list.clone(),
        read_write_routing_url: spec.read_write_routing_url.clone(),
    }
}

pub(super) fn from_replica(replica: &cluster::Replica) -> sql::ReplicaSpec {
    let o = &replica.options;
    sql::ReplicaSpec {
        server: replica.server_name.clone(),
        endpoint_url: o.endpoint_url.clone(),
        availability_mode: from_mode(o.availability_mode),
        failover_mode: from_failover(o.failover_mode),
        seeding_mode: from_seeding(o.seeding_mode),
        backup_priority: o.backup_priority,
        session_timeout_seconds: o.session_timeout_s,
        primary_connections: from_primary(o.primary_connections),
        secondary_connections: from_secondary(o.secondary_connections),
        read_only_routing_url: o.read_only_routing_url.clone(),
        read_only_routing_list: o.read_only_routing_list.clone(),
        read_write_routing_url: o.read_write_routing_url.clone(),
    }
}

pub(super) fn to_options(spec: &sql::GroupSpec) -> cluster::GroupOptions {
    cluster::GroupOptions {
        backup_preference: to_preference(spec.backup_preference),
        failure_condition_level: spec.failure_condition_level,
        health_check_timeout_ms: spec.health_check_timeout_ms,
        db_failover: spec.db_failover,
        dtc_support: to_dtc(spec.dtc_per_database),
        basic: spec.basic,
        required_synchronized_secondaries: required(spec.required_synchronized_secondaries),
        cluster_type: to_cluster_type(spec.cluster_type),
        write_lease_validity_s: spec.write_lease_seconds,
        cluster_connection_options: spec.cluster_connection_options.clone(),
    }
}

/// DTC_SUPPORT, by whether it is PER_DB.
pub(super) fn to_dtc(per_database: bool) -> cluster::DtcSupport {
    if per_database { cluster::DtcSupport::PerDatabase } else { cluster::DtcSupport::None }
}

/// Groups have few replicas: what is out of range was refused before.
pub(super) fn required(secondaries: u32) -> u8 {
    u8::try_from(secondaries).unwrap_or(u8::MAX)
}

pub(super) fn from_options(config: &cluster::GroupConfig) -> sql::GroupSpec {
    let o = &config.options;
    sql::GroupSpec {
        name: config.name.clone(),
        cluster_type: from_cluster_type(o.cluster_type),
        backup_preference: from_preference(o.backup_preference),
        failure_condition_level: o.failure_condition_level,
        health_check_timeout_ms: o.health_check_timeout_ms,
        db_failover: o.db_failover,
        dtc_per_database: o.dtc_support == cluster::DtcSupport::PerDatabase,
        basic: o.basic,
        contained: None,
        required_synchronized_secondaries: o.required_synchronized_secondaries.into(),
        write_lease_seconds: o.write_lease_validity_s,
        cluster_connection_options: o.cluster_connection_options.clone(),
        replicas: Vec::new(),
        databases: Vec::new(),
        listener: None,
    }
}

pub(super) fn to_listener(spec: &sql::ListenerSpec) -> cluster::Listener {
    let address =
        |a: &sql::ListenerIp| cluster::ListenerAddress { address: a.address.clone(), mask: a.mask.clone() };
    let mut addresses: Vec<_> = spec.addresses.iter().map(address).collect();
    if let Some(Some((network, mask))) = &spec.dhcp {
        addresses.push(cluster::ListenerAddress { address: network.clone(), mask: Some(mask.clone()) });
    }
    cluster::Listener {
        dns_name: spec.dns_name.clone(),
        port: spec.port,
        dhcp: spec.dhcp.is_some(),
        addresses,
    }
}

pub(super) fn from_listener(listener: &cluster::Listener) -> sql::ListenerSpec {
    let address =
        |a: &cluster::ListenerAddress| sql::ListenerIp { address: a.address.clone(), mask: a.mask.clone() };
    let addresses: Vec<_> = listener.addresses.iter().map(address).collect();
    let network = || addresses.first().and_then(|a| Some((a.address.clone(), a.mask.clone()?)));
    sql::ListenerSpec {
        dns_name: listener.dns_name.clone(),
        port: listener.port,
        dhcp: listener.dhcp.then(network),
        addresses: if listener.dhcp { Vec::new() } else { addresses },
        distributed_network_name: !listener.dhcp && listener.addresses.is_empty(),
    }
}
