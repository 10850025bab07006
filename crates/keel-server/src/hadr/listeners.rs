//! Listeners between the groups, SQL and the sockets: where primaries are, what views show, what statements wait for.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keel_cluster::{ClusterType, GroupId, PrimaryPlace};
use keel_group::{ClientConnection, ListenerPlace};
use keel_sql::hadr::build::tcp_url;
use keel_sql::hadr::{
    Guid, ListenerCondition, ListenerSocket, ListenerSpec, ListenerState, ListenerWay, errors,
};
use keel_types::error::Result;

use super::{Replication, convert, states};
use crate::listener::{Doors, Outcome, Place, SocketState, Source, Standing, Target, Virtual};

/// How long a statement waits for the sockets it asked for.
const SETTLE_MAX: Duration = Duration::from_secs(5);

impl Source for Replication {
    fn standings(&self) -> Vec<Standing> {
        let members = self.groups.peer_addresses();
        let listeners = self.groups.listeners().into_iter();
        listeners.map(|found| standing(found, &members)).collect()
    }

    fn tell_clients(&self, connections: &[ClientConnection]) {
        self.groups.tell_clients(connections);
    }

    fn clients_of_others(&self) -> Vec<ClientConnection> {
        self.groups.clients_of_others()
    }
}

fn standing(found: ListenerPlace, members: &[IpAddr]) -> Standing {
    let ListenerPlace { group, name, listener, cluster_type, urls, place, primary, certain } = found;
    let port = listener.port;
    let opening = place == PrimaryPlace::Opening;
    let place = match (place, primary) {
        (PrimaryPlace::Here, _) => Place::Here,
        (PrimaryPlace::There(_), Some(replica)) => {
            let options = &replica.options;
            let mut addresses: Vec<(String, u16)> = Vec::new();
            // Nodes reach each other at their endpoints; where that is a network of its own, clients' is the other one.
            for url in [Some(&options.endpoint_url), options.read_only_routing_url.as_ref()] {
                let host = url.and_then(|url| tcp_url(url)).map(|(host, _)| (host, port));
                addresses.extend(host.filter(|h| !addresses.contains(h)));
            }
            let route = options.read_write_routing_url.as_deref().and_then(tcp_url);
            Place::There(Target { server: replica.server_name.clone(), addresses, route })
        }
        _ => Place::Nowhere,
    };
    let own = listener.addresses.iter().filter(|_| !listener.dhcp);
    let own = own.filter_map(|a| Some((a.address.parse::<IpAddr>().ok()?, prefix(a.mask.as_deref()))));
    let (addresses, carried): (Vec<IpAddr>, Vec<Virtual>) =
        own.map(|(ip, prefix)| (ip, Virtual { ip, prefix })).unzip();
    let machines: Vec<IpAddr> = urls.iter().filter_map(|url| tcp_url(url)?.0.parse().ok()).collect();
    // Of another cluster manager, and of none, somebody else carries them; and a machine's own address stays where it is.
    let moves = |v: &Virtual| {
        cluster_type == ClusterType::Wsfc && !machines.contains(&v.ip) && !members.contains(&v.ip)
    };
    let carried = carried.into_iter().filter(moves).collect();
    let id = convert::guid(group.0);
    let (dns_name, members) = (listener.dns_name, members.to_vec());
    Standing { id, group: name, dns_name, port, addresses, carried, members, place, opening, certain }
}

/// The length of a mask as typed.
fn prefix(mask: Option<&str>) -> Option<u8> {
    let mask: Ipv4Addr = mask?.parse().ok()?;
    u8::try_from(mask.to_bits().leading_ones()).ok()
}

/// A listener as the views show it.
pub(super) fn state(doors: Option<&Arc<Doors>>, id: Guid, spec: ListenerSpec) -> ListenerState {
    let door = doors.and_then(|d| d.of_group(id));
    let sockets = doors.map(|d| d.sockets(id)).unwrap_or_default();
    let (way, sent_to) = match door.map(|d| d.place().0) {
        Some(Place::Here) => (ListenerWay::Served, None),
        Some(Place::There(Target { route: None, server, .. })) => (ListenerWay::Forwarded, Some(server)),
        Some(Place::There(Target { route: Some(_), server, .. })) => (ListenerWay::Routed, Some(server)),
        Some(Place::Nowhere) | None => (ListenerWay::Held, None),
    };
    ListenerState { id, spec, sockets: sockets.iter().map(socket).collect(), way, sent_to }
}

fn socket(state: &SocketState) -> ListenerSocket {
    let (condition, since, error) = match &state.outcome {
        Outcome::Listening(since) => (ListenerCondition::Online, Some(ticks(*since)), None),
        Outcome::Shared => (ListenerCondition::Online, None, None),
        Outcome::Elsewhere => (ListenerCondition::Offline, None, None),
        Outcome::Failed { why, .. } => (ListenerCondition::Failed, None, Some(why.clone())),
    };
    ListenerSocket { address: state.address, condition, since, error }
}

fn ticks(time: SystemTime) -> i64 {
    let nanos = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    states::local_ticks(i128::try_from(nanos).unwrap_or(i128::MAX))
}

impl Replication {
    /// Waits until the sockets of a group's listener are as it is configured; 19486 when somebody else has the port.
    pub(super) fn listener_settled(&self, group: GroupId) -> Result<()> {
        let Some(doors) = self.doors.get() else { return Ok(()) };
        doors.settle(SETTLE_MAX);
        let taken = |s: &SocketState| matches!(s.outcome, Outcome::Failed { in_use: true, .. });
        match doors.sockets(convert::guid(group.0)).into_iter().find(taken) {
            Some(s) => Err(errors::listener_port_in_use(s.address.ip(), s.address.port())),
            None => Ok(()),
        }
    }

    /// RESTART LISTENER: its sockets on this node are opened anew. Connections stay.
    pub(super) fn restart_listener(&self, group: GroupId) -> Result<()> {
        if let Some(doors) = self.doors.get() {
            doors.restart(convert::guid(group.0), SETTLE_MAX);
        }
        self.listener_settled(group)
    }
}

#[cfg(test)]
mod tests {
    use keel_cluster::{Listener, ListenerAddress};

    use super::*;

    #[test]
    fn an_address_moves_unless_it_is_a_machines_own_or_another_manager_carries_it() {
        let address = |ip: &str| ListenerAddress { address: ip.into(), mask: Some("255.255.255.0".into()) };
        let place = |cluster_type| ListenerPlace {
            group: GroupId(uuid::Uuid::nil()),
            name: "ag1".into(),
            listener: Listener {
                dns_name: "ag1-listener".into(),
                port: 1500,
                dhcp: false,
                addresses: vec![address("10.0.0.9"), address("10.0.0.2"), address("10.0.0.3")],
            },
            cluster_type,
            urls: vec!["TCP://10.0.0.2:5022".into(), "TCP://node3:5022".into()],
            place: PrimaryPlace::Here,
            primary: None,
            certain: true,
        };
        let third: IpAddr = "10.0.0.3".parse().unwrap();
        let moving = Virtual { ip: "10.0.0.9".parse().unwrap(), prefix: Some(24) };
        let found = standing(place(ClusterType::Wsfc), &[third]);
        assert_eq!((found.addresses.len(), found.carried), (3, vec![moving]));
        assert_eq!(standing(place(ClusterType::None), &[third]).carried, vec![]);
    }
}
