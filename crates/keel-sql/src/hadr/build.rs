//! From the statement's words to typed options. Only what one statement says is looked at here; what the group and the
//! instance are is [`super::check`]'s business.

use super::config::{
    AvailabilityMode, BackupPreference, ClusterType, Containment, FailoverMode, GroupSpec, ListenerIp,
    ListenerSpec, PrimaryConnections, ReplicaSpec, SecondaryConnections, SeedingMode,
};
use super::{GroupChange, ListenerChange, ReplicaChange, errors};
use keel_parser::ast::{self, Opt, OptValue, ReplicaOption, RoleOption};
use keel_types::SqlError;
use keel_types::error::Result;

/// A word that is not an option here.
pub(super) fn syntax(near: &str) -> Box<SqlError> {
    SqlError::new(102, 15, 1, format!("Incorrect syntax near '{near}'."))
}

fn word(option: &Opt) -> String {
    option.value.text().unwrap_or("").to_ascii_uppercase()
}

pub(super) fn parsed<T>(option: &Opt, parse: fn(&str) -> Option<T>) -> Result<T> {
    parse(&word(option)).ok_or_else(|| syntax(option.value.text().unwrap_or(&option.name)))
}

fn number<T: TryFrom<i64>>(
    option: &Opt,
    error: impl FnOnce() -> Box<SqlError>,
    fits: fn(i64) -> bool,
) -> Result<T> {
    let number = option.value.number().ok_or_else(|| syntax(&option.name))?;
    if !fits(number) {
        return Err(error());
    }
    T::try_from(number).map_err(|_| syntax(&option.name))
}

fn on_off(option: &Opt) -> Result<bool> {
    match word(option).as_str() {
        "ON" => Ok(true),
        "OFF" => Ok(false),
        other => Err(syntax(other)),
    }
}

/// `TCP://host:port`: host and port. An IPv6 address stands in brackets.
#[must_use]
pub fn tcp_url(url: &str) -> Option<(String, u16)> {
    let rest = url.get(..6).filter(|s| s.eq_ignore_ascii_case("tcp://")).map(|_| &url[6..])?;
    let (host, port) = rest.rsplit_once(':')?;
    let port = port.parse().ok().filter(|p| *p > 0)?;
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.strip_suffix(']').filter(|a| a.parse::<std::net::Ipv6Addr>().is_ok())?,
        None if host.contains(':') => return None,
        None => host,
    };
    let usual = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '%');
    (!host.is_empty() && host.chars().all(usual)).then(|| (host.to_owned(), port))
}

/// CREATE AVAILABILITY GROUP: options with the product's defaults for the others.
pub fn group(
    name: &str,
    options: &[Opt],
    databases: &[ast::Ident],
    replicas: &[ast::ReplicaSpec],
    listener: Option<&ast::ListenerSpec>,
) -> Result<GroupSpec> {
    if name.is_empty() || name.chars().count() > 128 {
        return Err(errors::bad_group_name(name));
    }
    let mut spec = GroupSpec {
        name: name.to_owned(),
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
        databases: databases.iter().map(|d| d.text.to_string()).collect(),
        listener: None,
    };
    let has = |name: &str| options.iter().any(|option| option.name == name);
    let contained = has("CONTAINED");
    if has("REUSE_SYSTEM_DATABASES") && has("AUTOSEEDING_SYSTEM_DATABASES") {
        return Err(errors::reuse_or_seed());
    }
    for option in options {
        match option.name.as_str() {
            "CLUSTER_TYPE" => spec.cluster_type = parsed(option, ClusterType::parse)?,
            "BASIC" => spec.basic = true,
            "CONTAINED" => spec.contained = spec.contained.or(Some(Containment::New)),
            // They are seeded in any case.
            "AUTOSEEDING_SYSTEM_DATABASES" if contained => {}
            "REUSE_SYSTEM_DATABASES" if contained => spec.contained = Some(Containment::Reuse),
            "REUSE_SYSTEM_DATABASES" | "AUTOSEEDING_SYSTEM_DATABASES" => {
                return Err(errors::reuse_needs_contained());
            }
            _ => match group_option(option)? {
                GroupChange::BackupPreference(p) => spec.backup_preference = p,
                GroupChange::FailureConditionLevel(n) => spec.failure_condition_level = n,
                GroupChange::HealthCheckTimeout(ms) => spec.health_check_timeout_ms = ms,
                GroupChange::DbFailover(on) => spec.db_failover = on,
                GroupChange::DtcSupport(per_database) => spec.dtc_per_database = per_database,
                GroupChange::RequiredSynchronizedSecondaries(n) => spec.required_synchronized_secondaries = n,
                GroupChange::WriteLeaseValidity(s) => spec.write_lease_seconds = Some(s),
                GroupChange::ClusterConnectionOptions(s) => spec.cluster_connection_options = Some(s),
                _ => return Err(syntax(&option.name)),
            },
        }
    }
    for written in replicas {
        spec.replicas.push(replica(written, &spec)?);
    }
    spec.listener = listener.map(self::listener).transpose()?;
    Ok(spec)
}

/// One option of SET or of CREATE that SET has too.
pub fn group_option(option: &Opt) -> Result<GroupChange> {
    Ok(match option.name.as_str() {
        "AUTOMATED_BACKUP_PREFERENCE" => {
            GroupChange::BackupPreference(parsed(option, BackupPreference::parse)?)
        }
        "FAILURE_CONDITION_LEVEL" => {
            GroupChange::FailureConditionLevel(number(option, errors::bad_failure_level, |n| {
                (1..=5).contains(&n)
            })?)
        }
        "HEALTH_CHECK_TIMEOUT" => {
            GroupChange::HealthCheckTimeout(number(option, errors::bad_health_timeout, |n| {
                (15_000..=i64::from(u32::MAX)).contains(&n)
            })?)
        }
        "DB_FAILOVER" => GroupChange::DbFailover(on_off(option)?),
        "DTC_SUPPORT" => match word(option).as_str() {
            "NONE" => GroupChange::DtcSupport(false),
            "PER_DB" => GroupChange::DtcSupport(true),
            other => return Err(syntax(other)),
        },
        "REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT" => {
            let given = option.value.number().unwrap_or(-1);
            let bad = || errors::bad_required_secondaries(given, super::check::REPLICAS_MAX - 1);
            GroupChange::RequiredSynchronizedSecondaries(number(option, bad, |n| (0..=8).contains(&n))?)
        }
        "WRITE_LEASE_VALIDITY" => {
            GroupChange::WriteLeaseValidity(number(option, errors::write_lease_needs_external, |n| n > 0)?)
        }
        "CLUSTER_CONNECTION_OPTIONS" => match &option.value {
            OptValue::String(text) => GroupChange::ClusterConnectionOptions(text.to_string()),
            _ => return Err(syntax(&option.name)),
        },
        "ROLE" if word(option) == "SECONDARY" => GroupChange::RoleSecondary,
        name => return Err(syntax(name)),
    })
}

/// `'server' WITH (…)` of CREATE and ADD REPLICA.
pub fn replica(written: &ast::ReplicaSpec, group: &GroupSpec) -> Result<ReplicaSpec> {
    let server = written.name.as_str();
    if server.is_empty() || server.chars().count() > 256 || server.contains(['\'', '"', ';', '/', ' ']) {
        return Err(errors::bad_server_name(server));
    }
    let (mut url, mut mode, mut failover) = (None, None, None);
    let mut spec = ReplicaSpec {
        server: server.to_owned(),
        endpoint_url: String::new(),
        availability_mode: AvailabilityMode::Synchronous,
        failover_mode: FailoverMode::Manual,
        seeding_mode: SeedingMode::Manual,
        backup_priority: 50,
        session_timeout_seconds: 10,
        primary_connections: PrimaryConnections::All,
        secondary_connections: SecondaryConnections::No,
        read_only_routing_url: None,
        read_only_routing_list: Vec::new(),
        read_write_routing_url: None,
    };
    let mut seen: Vec<&str> = Vec::new();
    for option in &written.options {
        let name = option_name(option);
        if seen.contains(&name) {
            return Err(syntax(name));
        }
        seen.push(name);
        for change in replica_option(option, server, &group.name, "CREATE AVAILABILITY GROUP")? {
            match change {
                ReplicaChange::EndpointUrl(given) => url = Some(given),
                ReplicaChange::AvailabilityMode(given) => mode = Some(given),
                ReplicaChange::FailoverMode(given) => failover = Some(given),
                other => apply(&mut spec, other),
            }
        }
    }
    spec.endpoint_url = url.ok_or_else(|| errors::endpoint_url_missing(server))?;
    spec.availability_mode = mode.ok_or_else(|| errors::availability_mode_missing(server))?;
    spec.failover_mode = match failover {
        Some(mode) => mode,
        None if spec.availability_mode == AvailabilityMode::ConfigurationOnly => match group.cluster_type {
            ClusterType::External => FailoverMode::External,
            _ => FailoverMode::Manual,
        },
        None => return Err(errors::failover_mode_missing(server)),
    };
    Ok(spec)
}

/// Sets one option.
pub fn apply(spec: &mut ReplicaSpec, change: ReplicaChange) {
    match change {
        ReplicaChange::EndpointUrl(v) => spec.endpoint_url = v,
        ReplicaChange::AvailabilityMode(v) => spec.availability_mode = v,
        ReplicaChange::FailoverMode(v) => spec.failover_mode = v,
        ReplicaChange::SeedingMode(v) => spec.seeding_mode = v,
        ReplicaChange::BackupPriority(v) => spec.backup_priority = v,
        ReplicaChange::SessionTimeout(v) => spec.session_timeout_seconds = v,
        ReplicaChange::PrimaryConnections(v) => spec.primary_connections = v,
        ReplicaChange::SecondaryConnections(v) => spec.secondary_connections = v,
        ReplicaChange::ReadOnlyRoutingUrl(v) => spec.read_only_routing_url = v,
        ReplicaChange::ReadOnlyRoutingList(v) => spec.read_only_routing_list = v,
        ReplicaChange::ReadWriteRoutingUrl(v) => spec.read_write_routing_url = v,
    }
}

fn option_name(option: &ReplicaOption) -> &str {
    match option {
        ReplicaOption::Plain(o) => &o.name,
        ReplicaOption::SecondaryRole(_) => "SECONDARY_ROLE",
        ReplicaOption::PrimaryRole(_) => "PRIMARY_ROLE",
    }
}

/// What one written option changes; a role's parentheses may hold several.
pub fn replica_option(
    option: &ReplicaOption,
    server: &str,
    group: &str,
    operation: &str,
) -> Result<Vec<ReplicaChange>> {
    match option {
        ReplicaOption::Plain(o) => Ok(vec![plain_option(o, server, group, operation)?]),
        ReplicaOption::SecondaryRole(options) => {
            options.iter().map(|o| role_option(o, false, server)).collect()
        }
        ReplicaOption::PrimaryRole(options) => options.iter().map(|o| role_option(o, true, server)).collect(),
    }
}

fn plain_option(o: &Opt, server: &str, group: &str, operation: &str) -> Result<ReplicaChange> {
    Ok(match o.name.as_str() {
        "ENDPOINT_URL" => {
            let url = o.value.text().unwrap_or("");
            tcp_url(url).ok_or_else(|| errors::bad_endpoint_url(url))?;
            ReplicaChange::EndpointUrl(url.to_owned())
        }
        "AVAILABILITY_MODE" => ReplicaChange::AvailabilityMode(parsed(o, AvailabilityMode::parse)?),
        "FAILOVER_MODE" => ReplicaChange::FailoverMode(parsed(o, FailoverMode::parse)?),
        "SEEDING_MODE" => ReplicaChange::SeedingMode(parsed(o, SeedingMode::parse)?),
        "BACKUP_PRIORITY" => ReplicaChange::BackupPriority(number(
            o,
            || errors::bad_backup_priority(server, group),
            |n| (0..=100).contains(&n),
        )?),
        "SESSION_TIMEOUT" => ReplicaChange::SessionTimeout(number(
            o,
            || errors::bad_session_timeout(operation, server),
            |n| n >= 5,
        )?),
        "LISTENER_URL" => return Err(errors::listener_url_of_replica()),
        name => return Err(syntax(name)),
    })
}

/// A routing URL; the word or string NONE takes it away.
fn url(o: &Opt, error: impl FnOnce(&str) -> Box<SqlError>) -> Result<Option<String>> {
    let url = o.value.text().unwrap_or("");
    if url.eq_ignore_ascii_case("NONE") {
        return Ok(None);
    }
    tcp_url(url).ok_or_else(|| error(url))?;
    Ok(Some(url.to_owned()))
}

fn role_option(option: &RoleOption, primary: bool, server: &str) -> Result<ReplicaChange> {
    let o = match option {
        RoleOption::RoutingList(list) if primary => {
            let sets = list.iter().flatten();
            let sets = sets.map(|set| set.iter().map(ToString::to_string).collect()).collect();
            return Ok(ReplicaChange::ReadOnlyRoutingList(sets));
        }
        RoleOption::RoutingList(_) => return Err(syntax("READ_ONLY_ROUTING_LIST")),
        RoleOption::Plain(o) => o,
    };
    Ok(match (o.name.as_str(), primary) {
        ("ALLOW_CONNECTIONS", true) => {
            ReplicaChange::PrimaryConnections(parsed(o, PrimaryConnections::parse)?)
        }
        ("ALLOW_CONNECTIONS", false) => {
            ReplicaChange::SecondaryConnections(parsed(o, SecondaryConnections::parse)?)
        }
        ("READ_ONLY_ROUTING_URL", false) => {
            ReplicaChange::ReadOnlyRoutingUrl(url(o, |u| errors::bad_routing_url(u, server))?)
        }
        ("READ_WRITE_ROUTING_URL", true) => {
            ReplicaChange::ReadWriteRoutingUrl(url(o, |u| errors::bad_read_write_url(u, server))?)
        }
        (name, _) => return Err(syntax(name)),
    })
}

/// `'dns' ( WITH … )`
pub fn listener(written: &ast::ListenerSpec) -> Result<ListenerSpec> {
    let name = written.name.as_str();
    let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !(1..=63).contains(&name.len()) || !name.chars().all(usual) {
        return Err(errors::bad_listener_name(name));
    }
    let mut spec = ListenerSpec {
        dns_name: name.to_owned(),
        port: port(written.port.unwrap_or(1433))?,
        addresses: Vec::new(),
        dhcp: None,
        distributed_network_name: false,
    };
    match &written.address {
        ast::ListenerAddress::Dhcp(subnet) => {
            spec.dhcp = Some(subnet.as_ref().map(|(net, mask)| (net.to_string(), mask.to_string())));
        }
        ast::ListenerAddress::Ip(addresses) => {
            for address in addresses {
                let address = listener_ip(address)?;
                if spec.addresses.iter().any(|a| a.address == address.address) {
                    return Err(errors::listener_ip_twice(&address.address));
                }
                spec.addresses.push(address);
            }
        }
        ast::ListenerAddress::DistributedNetworkName => spec.distributed_network_name = true,
    }
    Ok(spec)
}

fn port(port: i64) -> Result<u16> {
    u16::try_from(port).ok().filter(|p| *p > 0).ok_or_else(|| errors::bad_listener_port(port))
}

fn listener_ip(written: &ast::ListenerIp) -> Result<ListenerIp> {
    let bad = |text: &str| errors::bad_listener_ip(text);
    let address: std::net::IpAddr = written.address.parse().map_err(|_| bad(&written.address))?;
    match (&written.mask, address) {
        (Some(mask), std::net::IpAddr::V4(_)) => {
            mask.parse::<std::net::Ipv4Addr>().map_err(|_| bad(mask))?;
        }
        (None, std::net::IpAddr::V6(_)) => {}
        _ => return Err(bad(&written.address)),
    }
    Ok(ListenerIp { address: address.to_string(), mask: written.mask.as_ref().map(ToString::to_string) })
}

/// A change of MODIFY LISTENER.
pub fn listener_change(written: &ast::ListenerChange) -> Result<ListenerChange> {
    Ok(match written {
        ast::ListenerChange::AddIp(ip) => ListenerChange::AddIp(listener_ip(ip)?),
        ast::ListenerChange::RemoveIp(ip) => ListenerChange::RemoveIp(listener_ip(ip)?),
        ast::ListenerChange::Port(p) => ListenerChange::Port(port(*p)?),
    })
}

#[cfg(test)]
mod tests {
    use super::tcp_url;

    #[test]
    fn urls() {
        let ok = |url: &str| tcp_url(url).map(|(h, p)| format!("{h} {p}"));
        assert_eq!(ok("TCP://n1.example:5022").as_deref(), Some("n1.example 5022"));
        assert_eq!(ok("tcp://[fe80::1]:1433").as_deref(), Some("fe80::1 1433"));
        for bad in [
            "",
            "TCP://",
            "TCP://n1",
            "TCP://n1:0",
            "TCP://n1:70000",
            "UDP://n1:1",
            "TCP://:1",
            "TCP://a:b:1",
        ] {
            assert_eq!(ok(bad), None, "{bad}");
        }
    }
}
