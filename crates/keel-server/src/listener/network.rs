//! A machine's network as the listeners need it: which addresses it has, taking one for a while, telling the others.
//!
//! Addresses are asked for and changed through rtnetlink (`rtnetlink(7)`). An address is taken with a *lifetime*: unless it is
//! taken again before, the system itself removes it, whatever has become of this process. The others on the network learn of a new
//! owner by a gratuitous ARP request (RFC 5227, section 3) or an unsolicited neighbour advertisement (RFC 4861, section 7.2.6).

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr as Address, SocketAddrV6};
use std::time::Duration;

use etherparse::{ArpEthIpv4Packet, ArpOperation, PacketBuilder, TcpHeader};
use keel_group::ClientConnection;
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressScope, CacheInfo,
};
use netlink_packet_route::link::{LinkAttribute, LinkLayerType, LinkMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use socket2::{Domain, Protocol, SockAddr, Type};

use super::ended;
use super::netlink::Netlink;

/// A hardware address of Ethernet.
type Hardware = [u8; 6];
/// Everybody on an Ethernet.
const EVERYBODY: Hardware = [0xff; 6];
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
/// Of a neighbour advertisement: what was known before is to be forgotten.
const OVERRIDE: u8 = 0x20;
const TARGET_HARDWARE_ADDRESS: u8 = 2;

/// One of the machine's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Local {
    pub ip: IpAddr,
    /// Length of its network's prefix, bits.
    pub prefix: u8,
    /// The interface's number.
    pub interface: u32,
    /// It leads nowhere but to this machine.
    pub loopback: bool,
    /// It has no lifetime: somebody else manages it.
    pub permanent: bool,
}

/// See the module's chapter. None of the calls waits for anything but the system.
pub(super) trait Network {
    /// All addresses of this machine.
    fn addresses(&self) -> io::Result<Vec<Local>>;
    /// Has this machine ask for others' hardware addresses by its own address only, where that can be set: a question says where its
    /// sender is, and those asked believe it. So a machine that was cut off and still has an address which is elsewhere by now would
    /// call clients back.
    fn ask_by_own_address(&self, interface: u32);
    /// Takes an address for so long, whole seconds; again, if it has been taken before.
    fn take(&self, ip: IpAddr, interface: u32, lifetime: Duration) -> io::Result<()>;
    /// Gives one back.
    fn give_back(&self, ip: IpAddr, interface: u32) -> io::Result<()>;
    /// Forgets the connections of that address which this machine had, and ended, when it was here before: to their clients, whose new
    /// ones have the same ends by chance, it would not say that there is no such connection.
    fn forget(&self, ip: IpAddr) -> io::Result<()>;
    /// Tells everybody on an interface that the address is here now. On one that is no Ethernet there is nobody to tell.
    fn announce(&self, ip: IpAddr, interface: u32) -> io::Result<()>;
    /// Has the clients of these connections, which an earlier owner of the address served, find out that they are over.
    fn end(&self, ip: IpAddr, connections: &[ClientConnection]) -> io::Result<()>;
}

/// This machine's.
pub(super) struct Rtnetlink;

impl Network for Rtnetlink {
    fn addresses(&self) -> io::Result<Vec<Local>> {
        let asked = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = ask(asked, NLM_F_REQUEST | NLM_F_DUMP)?;
        let local = |answer| match answer {
            RouteNetlinkMessage::NewAddress(message) => local(&message),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(local).collect())
    }

    fn ask_by_own_address(&self, interface: u32) {
        let name = link(interface, |a| match a {
            LinkAttribute::IfName(name) => Some(name),
            _ => None,
        });
        // `arp_announce` of ip-sysctl: 2 is "always use the best local address for this target".
        if let Ok(Some(name)) = name {
            // It may not be ours to set; then the announcements of the new owner have to do.
            let _ = std::fs::write(format!("/proc/sys/net/ipv4/conf/{name}/arp_announce"), "2");
        }
    }

    fn take(&self, ip: IpAddr, interface: u32, lifetime: Duration) -> io::Result<()> {
        let mut message = message(ip, interface);
        let mut life = CacheInfo::default();
        life.ifa_valid = u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX);
        // Not preferred: this machine's own connections go out from its own address.
        life.ifa_preferred = 0;
        message.attributes.push(AddressAttribute::CacheInfo(life));
        // The old owner may be there still, deaf or standing still: looking for it first (RFC 4862) would find it.
        message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad | AddressFlags::Noprefixroute));
        let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        ask(RouteNetlinkMessage::NewAddress(message), flags).map(|_| ())
    }

    fn give_back(&self, ip: IpAddr, interface: u32) -> io::Result<()> {
        let message = RouteNetlinkMessage::DelAddress(message(ip, interface));
        match ask(message, NLM_F_REQUEST | NLM_F_ACK) {
            Err(e) if e.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    fn forget(&self, ip: IpAddr) -> io::Result<()> {
        ended::forget(ip)
    }

    fn announce(&self, ip: IpAddr, interface: u32) -> io::Result<()> {
        match (hardware(interface)?, ip) {
            (None, _) => Ok(()),
            (Some(own), IpAddr::V4(ip)) => announce_v4(ip, own, interface),
            (Some(own), IpAddr::V6(ip)) => announce_v6(ip, own, interface),
        }
    }

    fn end(&self, ip: IpAddr, connections: &[ClientConnection]) -> io::Result<()> {
        let socket =
            socket2::Socket::new(Domain::for_address(Address::new(ip, 0)), Type::RAW, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.bind(&Address::new(ip, 0).into())?;
        for connection in connections {
            let Some(segment) = strange(connection) else { continue };
            let client = Address::new(connection.client.ip(), 0);
            match socket.send_to(&segment, &client.into()) {
                // One that cannot be reached says nothing about the others.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// One request to rtnetlink.
fn ask(message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
    Netlink::open(NETLINK_ROUTE)?.ask(message, flags)
}

/// An address by itself, without a network.
fn message(ip: IpAddr, interface: u32) -> AddressMessage {
    let mut message = AddressMessage::default();
    let (family, prefix) = match ip {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    message.header.family = family;
    message.header.prefix_len = prefix;
    message.header.index = interface;
    message.attributes = vec![AddressAttribute::Local(ip), AddressAttribute::Address(ip)];
    message
}

fn local(message: &AddressMessage) -> Option<Local> {
    // Where both are there the other one is the far end of a point-to-point link.
    let own = message.attributes.iter().find_map(|a| match a {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    });
    let only = || {
        message.attributes.iter().find_map(|a| match a {
            AddressAttribute::Address(ip) => Some(*ip),
            _ => None,
        })
    };
    Some(Local {
        ip: own.or_else(only)?,
        prefix: message.header.prefix_len,
        interface: message.header.index,
        loopback: message.header.scope == AddressScope::Host,
        permanent: message.header.flags.contains(AddressHeaderFlags::Permanent),
    })
}

/// The hardware address of an interface, if it is an Ethernet.
fn hardware(interface: u32) -> io::Result<Option<Hardware>> {
    link(interface, |a| match a {
        LinkAttribute::Address(bytes) => Hardware::try_from(bytes).ok(),
        _ => None,
    })
}

/// What is looked for among the attributes of an Ethernet interface.
fn link<T>(interface: u32, find: impl Fn(LinkAttribute) -> Option<T>) -> io::Result<Option<T>> {
    let mut message = LinkMessage::default();
    message.header.index = interface;
    let answers = ask(RouteNetlinkMessage::GetLink(message), NLM_F_REQUEST)?;
    Ok(answers.into_iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewLink(link) if link.header.link_layer_type == LinkLayerType::Ether => {
            link.attributes.into_iter().find_map(&find)
        }
        _ => None,
    }))
}

fn announce_v4(ip: Ipv4Addr, own: Hardware, interface: u32) -> io::Result<()> {
    let socket = socket2::Socket::new(Domain::PACKET, Type::RAW, None)?;
    socket.send_to(&gratuitous_arp(ip, own), &on_interface(interface)?).map(|_| ())
}

/// An Ethernet frame to everybody that asks for the address which its sender has.
fn gratuitous_arp(ip: Ipv4Addr, own: Hardware) -> Vec<u8> {
    let question = ArpEthIpv4Packet {
        operation: ArpOperation::REQUEST,
        sender_mac: own,
        sender_ipv4: ip.octets(),
        target_mac: [0; 6],
        target_ipv4: ip.octets(),
    };
    let packet = PacketBuilder::ethernet2(own, EVERYBODY).arp(question.into());
    let mut frame = Vec::with_capacity(packet.size());
    packet.write(&mut frame).expect("writing to a vector cannot fail");
    frame
}

/// A segment of a connection that is out of place in it, whatever its numbers are. The client confirms what it has had so far (RFC 9293,
/// section 3.10.7.4, first check), and this machine, which knows no such connection, answers that with a reset that fits.
fn strange(connection: &ClientConnection) -> Option<Vec<u8>> {
    let mut header = TcpHeader::new(connection.own.port(), connection.client.port(), 0, 1024);
    header.ack = true;
    let checksum = match (connection.own.ip(), connection.client.ip()) {
        (IpAddr::V4(own), IpAddr::V4(client)) => {
            header.calc_checksum_ipv4_raw(own.octets(), client.octets(), &[])
        }
        (IpAddr::V6(own), IpAddr::V6(client)) => {
            header.calc_checksum_ipv6_raw(own.octets(), client.octets(), &[])
        }
        _ => return None,
    };
    header.checksum = checksum.ok()?;
    Some(header.to_bytes().to_vec())
}

fn on_interface(interface: u32) -> io::Result<SockAddr> {
    // SAFETY: all zeros is a value of this structure of numbers.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_ifindex = i32::try_from(interface).map_err(io::Error::other)?;
    // SAFETY: the storage is large enough for every address of a socket, and aligned for it; the length is that of what is written.
    let made = unsafe {
        SockAddr::try_init(|storage, length| {
            storage.cast::<libc::sockaddr_ll>().write(address);
            *length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            Ok(())
        })
    };
    made.map(|((), address)| address)
}

fn announce_v6(ip: Ipv6Addr, own: Hardware, interface: u32) -> io::Result<()> {
    let socket = socket2::Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
    // Receivers take it from their own network only, which they see from this (RFC 4861, section 7.1.2).
    socket.set_multicast_hops_v6(255)?;
    socket.set_multicast_if_v6(interface)?;
    socket.bind(&SocketAddrV6::new(ip, 0, 0, 0).into())?;
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    socket.send_to(&advertisement(ip, own), &SocketAddrV6::new(all_nodes, 0, 0, interface).into()).map(|_| ())
}

/// A neighbour advertisement; the system adds its checksum.
fn advertisement(ip: Ipv6Addr, own: Hardware) -> Vec<u8> {
    let mut message = vec![NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, OVERRIDE, 0, 0, 0];
    message.extend(ip.octets());
    message.extend([TARGET_HARDWARE_ADDRESS, 1]);
    message.extend(own);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gratuitous_arp_asks_for_its_own_sender() {
        let frame = gratuitous_arp(Ipv4Addr::new(10, 0, 0, 9), [2, 0, 0, 0, 0, 7]);
        assert_eq!(frame.len(), 42);
        assert_eq!(frame[..14], [255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 7, 8, 6]);
        assert_eq!(frame[14..22], [0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(frame[22..32], [2, 0, 0, 0, 0, 7, 10, 0, 0, 9]);
        assert_eq!(frame[32..], [0, 0, 0, 0, 0, 0, 10, 0, 0, 9]);
    }

    #[test]
    fn a_strange_segment_confirms_nothing_and_has_a_checksum() {
        let connection = |client: &str, own: &str| ClientConnection {
            client: client.parse().unwrap(),
            own: own.parse().unwrap(),
        };
        let segment = strange(&connection("10.0.0.1:40000", "10.0.0.9:1433")).unwrap();
        assert_eq!(segment[..16], [5, 153, 156, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 4, 0]);
        // RFC 1071: with the pseudo header, all words add up to nothing.
        let pseudo = [10, 0, 0, 9, 10, 0, 0, 1, 0, 6, 0, 20];
        let words = pseudo.chunks(2).chain(segment.chunks(2));
        let sum: u32 = words.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        assert_eq!(strange(&connection("[fd00::1]:40000", "[fd00::9]:1433")).unwrap().len(), 20);
        assert_eq!(strange(&connection("10.0.0.1:40000", "[fd00::9]:1433")), None);
    }

    #[test]
    fn the_machine_has_a_loopback_address_that_nobody_takes_away() {
        let found = Rtnetlink.addresses().unwrap();
        let loopback = found.iter().find(|l| l.ip == IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
        assert!(loopback.loopback && loopback.permanent && loopback.prefix == 8);
        assert_eq!(hardware(loopback.interface).unwrap(), None);
    }
}
