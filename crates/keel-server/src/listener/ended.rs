//! Connections that this machine has ended and that its system remembers for a minute more (TIME-WAIT and the states before it; RFC
//! 9293, section 3.3.2): looked up and forgotten through `sock_diag(7)`.
//!
//! Who ends a connection first keeps its two ends in mind, so that a segment which comes late is not taken for one of a later
//! connection. A server ends first whom it throws out, sends elsewhere or did not let in. If that client's port is used again, for a
//! connection with another owner of the same address, and the address comes back, then this machine knows a connection with these two
//! ends: it confirms what the client sends as late, instead of answering that there is no such connection, and the client waits.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_packet_sock_diag::{AF_INET, AF_INET6, IPPROTO_TCP, SockDiagDestroy, SockDiagMessage};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::netlink::Netlink;

/// Forgets all that have this address here. Those that are alive stay. Looks through everything that the system has connections in, once:
/// a fraction of a millisecond.
///
/// # Errors
/// The system's: without CAP_NET_ADMIN, or where it has no `CONFIG_INET_DIAG_DESTROY`, nothing is forgotten.
pub(super) fn forget(ip: IpAddr) -> io::Result<()> {
    let netlink = Netlink::open(NETLINK_SOCK_DIAG)?;
    for (family, connection) in ended(&netlink, ip)? {
        // Its cookie is among what is said of it: a new connection with the same ends has another.
        let end = SockDiagDestroy::new(request(family, connection));
        match netlink.ask::<_, SockDiagMessage>(end, NLM_F_REQUEST | NLM_F_ACK) {
            // Its time was over by itself.
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => {}
            answer => drop(answer?),
        }
    }
    Ok(())
}

/// Family and name of each.
fn ended(netlink: &Netlink, ip: IpAddr) -> io::Result<Vec<(u8, SocketId)>> {
    let mut found = Vec::new();
    // Connections of an IPv4 address are among IPv6's where a socket listens for both.
    for family in [AF_INET, AF_INET6] {
        let answers = match netlink.ask(request(family, SocketId::new_v6()), NLM_F_REQUEST | NLM_F_DUMP) {
            // It has no IPv6.
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => continue,
            answers => answers?,
        };
        let with = |answer| match answer {
            SockDiagMessage::InetResponse(r) => Some(r.header.socket_id),
            _ => None,
        };
        let own = answers.into_iter().filter_map(with).filter(|id| id.source_address.to_canonical() == ip);
        found.extend(own.map(|id| (family, id)));
    }
    Ok(found)
}

/// About connections whose end here is closed: one, or in a dump all.
fn request(family: u8, socket_id: SocketId) -> SockDiagMessage {
    SockDiagMessage::InetRequest(InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::FIN_WAIT1
            | StateFlags::FIN_WAIT2
            | StateFlags::CLOSING
            | StateFlags::LAST_ACK
            | StateFlags::TIME_WAIT,
        socket_id,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;

    /// The two ends of a connection, the server's first.
    fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, client)
    }

    fn remembered(ip: IpAddr, expected: usize) -> usize {
        let netlink = Netlink::open(NETLINK_SOCK_DIAG).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let found = ended(&netlink, ip).unwrap().len();
            if found == expected || Instant::now() > deadline {
                return found;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_was_ended_here_is_forgotten_and_what_is_alive_stays() {
        // An address that no other test has, nor another run beside this one.
        let [.., high, low] = std::process::id().to_be_bytes();
        let ip = IpAddr::from([127, 91, high, low.clamp(1, 254)]);
        // Of an earlier run, too.
        match forget(ip) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: it needs CAP_NET_ADMIN");
                return;
            }
            done => done.unwrap(),
        }
        let v4 = TcpListener::bind((ip, 0)).unwrap();
        let (server, mut client) = connection(&v4);
        drop(server);
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        let half = client;
        let (server, client) = connection(&v4);
        drop(server);
        drop(client);
        // Where there is IPv6.
        let both = TcpListener::bind("[::]:0").ok();
        let mapped = both.iter().map(|both| {
            let client = TcpStream::connect((ip, both.local_addr().unwrap().port())).unwrap();
            drop(both.accept().unwrap());
            drop(client);
        });
        let expected = 2 + mapped.count();
        let (alive, mut near) = connection(&v4);
        assert_eq!(remembered(ip, expected), expected, "one whose client has not ended it, one that is over");
        forget(ip).unwrap();
        assert_eq!(remembered(ip, 0), 0);
        drop((alive, half));
        assert_eq!(near.read(&mut [0]).unwrap(), 0, "ended by its owner, not reset");
    }
}
