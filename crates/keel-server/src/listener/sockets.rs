//! The sockets of all listeners: which there should be, which there are, and who comes in through them.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use super::addresses::Claims;
use super::doors::Door;
use crate::keeper::{Keeper, Listener};

/// Connections accepted from one socket before the next one has its turn.
const ACCEPTS_MAX: usize = 64;

/// What became of one address of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It listens since then.
    Listening(SystemTime),
    /// The instance's own socket covers it.
    Shared,
    /// The address is not one of this machine's.
    Elsewhere,
    /// It could not be bound.
    Failed {
        /// In the system's words.
        why: String,
        /// Somebody else has the port.
        in_use: bool,
    },
}

/// One address of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketState {
    /// Address and port.
    pub address: SocketAddr,
    /// It is one of the listener's own addresses, not the instance's.
    pub of_listener: bool,
    /// What became of it.
    pub outcome: Outcome,
}

impl SocketState {
    /// Whether connections are accepted there.
    #[must_use]
    pub fn listens(&self) -> bool {
        matches!(self.outcome, Outcome::Listening(_) | Outcome::Shared)
    }
}

/// A connection that came in, and the door it came through.
pub struct Accepted {
    /// Its socket, blocking.
    pub socket: TcpStream,
    /// The client.
    pub peer: SocketAddr,
    /// The listener.
    pub door: Arc<Door>,
}

struct Socket {
    listener: Arc<Listener>,
    since: SystemTime,
    doors: Vec<Arc<Door>>,
    ready: bool,
}

/// See the module's chapter. Owned by the listener thread.
pub(super) struct Sockets {
    own: Vec<SocketAddr>,
    open: BTreeMap<SocketAddr, Socket>,
}

impl Sockets {
    pub(super) fn new(own: Vec<SocketAddr>) -> Sockets {
        Sockets { own, open: BTreeMap::new() }
    }

    /// Opens what is missing, closes what is not wanted, and tells each door how its addresses fare. `say` gets a line for
    /// every change, `keeper` every socket.
    pub(super) fn settle(
        &mut self,
        doors: &[Arc<Door>],
        claims: &Claims,
        keeper: &Keeper,
        say: &dyn Fn(&str),
    ) {
        for door in doors.iter().filter(|d| d.restart.swap(false, Ordering::AcqRel)) {
            self.open.retain(|_, s| !s.doors.iter().any(|d| Arc::ptr_eq(d, door)));
        }
        let mut wanted: BTreeMap<SocketAddr, Vec<Arc<Door>>> = BTreeMap::new();
        for door in doors {
            for (address, _) in self.addresses(door) {
                wanted.entry(address).or_default().push(Arc::clone(door));
            }
        }
        // Before anything is bound: a wildcard and an address of the same port exclude each other.
        self.open.retain(|address, _| wanted.contains_key(address) && !(self.own.contains(address)));
        let mut outcomes: BTreeMap<SocketAddr, Outcome> = BTreeMap::new();
        // Wildcards sort first and cover what follows.
        for (address, doors) in &wanted {
            let outcome = match (self.outcome(*address, doors, keeper), claims.refusal(&address.ip())) {
                (Outcome::Elsewhere, Some(why)) => Outcome::Failed { why: why.to_owned(), in_use: false },
                (outcome, _) => outcome,
            };
            outcomes.insert(*address, outcome);
        }
        for door in doors {
            let before = door.sockets();
            let states: Vec<SocketState> = self
                .addresses(door)
                .into_iter()
                .map(|(address, of_listener)| SocketState {
                    address,
                    of_listener,
                    outcome: outcomes.get(&address).cloned().unwrap_or(Outcome::Elsewhere),
                })
                .collect();
            let standing = door.standing();
            for state in &states {
                let old = before.iter().find(|o| o.address == state.address).map(|o| &o.outcome);
                if let Some(text) = told(&standing.dns_name, &standing.group, state, old) {
                    say(&text);
                }
            }
            door.set_sockets(states);
        }
    }

    /// The addresses of a door: the instance's own hosts and the listener's own addresses, all with its port.
    fn addresses(&self, door: &Door) -> Vec<(SocketAddr, bool)> {
        let standing = door.standing();
        let mut all: Vec<(SocketAddr, bool)> = Vec::new();
        for own in &self.own {
            let address = SocketAddr::new(own.ip(), standing.port);
            if !all.iter().any(|(a, _)| *a == address) {
                all.push((address, false));
            }
        }
        for ip in &standing.addresses {
            let address = SocketAddr::new(*ip, standing.port);
            match all.iter_mut().find(|(a, _)| *a == address) {
                Some(found) => found.1 = true,
                None => all.push((address, true)),
            }
        }
        all
    }

    fn outcome(&mut self, address: SocketAddr, doors: &[Arc<Door>], keeper: &Keeper) -> Outcome {
        if let Some(socket) = self.open.get_mut(&address) {
            socket.doors = doors.to_vec();
            if address.ip().is_unspecified() || is_local(address.ip()) {
                return Outcome::Listening(socket.since);
            }
            self.open.remove(&address);
            return Outcome::Elsewhere;
        }
        if !address.ip().is_unspecified() && !is_local(address.ip()) {
            return Outcome::Elsewhere;
        }
        let covers = |a: &SocketAddr| {
            a.port() == address.port()
                && (a.ip() == address.ip() || a.ip().is_unspecified() && (a.is_ipv6() || address.is_ipv4()))
        };
        if self.own.iter().any(covers) {
            return Outcome::Shared;
        }
        let wildcard = self.open.iter_mut().find(|(a, _)| covers(a));
        if let Some((_, socket)) = wildcard {
            let new = doors.iter().filter(|d| !socket.doors.iter().any(|s| Arc::ptr_eq(s, d))).cloned();
            let new: Vec<_> = new.collect();
            socket.doors.extend(new);
            return Outcome::Listening(socket.since);
        }
        match bind(address) {
            Ok(listener) => {
                keeper.hold_listener(&listener);
                let since = SystemTime::now();
                self.open.insert(address, Socket { listener, since, doors: doors.to_vec(), ready: false });
                Outcome::Listening(since)
            }
            Err(e) => Outcome::Failed { why: e.to_string(), in_use: e.kind() == io::ErrorKind::AddrInUse },
        }
    }

    /// Waits for a connection or the bell, at most for `timeout`. Returns whether the bell rang.
    pub(super) fn wait(&mut self, bell: RawFd, timeout: Duration) -> bool {
        let poll = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polls = vec![poll(bell)];
        polls.extend(self.open.values().map(|s| poll(s.listener.as_raw_fd())));
        let count = libc::nfds_t::try_from(polls.len()).expect("listeners are few");
        let timeout = i32::try_from(timeout.as_millis()).expect("it is a fraction of a second");
        // SAFETY: the pointer and count are those of the vector; the listeners and the bell stay open meanwhile.
        let ready = unsafe { libc::poll(polls.as_mut_ptr(), count, timeout) };
        for (socket, poll) in self.open.values_mut().zip(&polls[1..]) {
            socket.ready = ready > 0 && poll.revents != 0;
        }
        ready > 0 && polls[0].revents != 0
    }

    /// Takes in who has come.
    pub(super) fn accept(&mut self, start: &dyn Fn(Accepted), say: &dyn Fn(&str)) {
        for (address, socket) in self.open.iter_mut().filter(|(_, s)| s.ready) {
            for _ in 0..ACCEPTS_MAX {
                match socket.listener.accept() {
                    Ok((client, peer)) => {
                        let door = door_for(&socket.doors, client.local_addr().ok());
                        start(Accepted { socket: client, peer, door });
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) => {
                        say(&format!("A connection to {address} could not be accepted: {e}"));
                        break;
                    }
                }
            }
        }
    }
}

/// Of several listeners that share a socket, the one whose address the client used; else the first.
fn door_for(doors: &[Arc<Door>], local: Option<SocketAddr>) -> Arc<Door> {
    let ip = local.map(|l| l.ip().to_canonical());
    let named = doors.iter().find(|d| ip.is_some_and(|ip| d.standing().addresses.contains(&ip)));
    Arc::clone(named.unwrap_or(&doors[0]))
}

fn bind(address: SocketAddr) -> io::Result<Arc<Listener>> {
    let listener = Listener::bind(&[address])?;
    listener.set_nonblocking(true)?;
    Ok(Arc::new(listener))
}

/// Whether an address is one of this machine's: anybody may bind a datagram socket to such a one.
fn is_local(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// A line about an address that fares otherwise than before.
fn told(listener: &str, group: &str, state: &SocketState, old: Option<&Outcome>) -> Option<String> {
    let address = state.address;
    let of = format!("The listener '{listener}' of availability group '{group}'");
    match (&state.outcome, old) {
        (new, Some(old)) if new == old => None,
        (Outcome::Listening(_), _) => Some(format!("{of} listens on {address}.")),
        (Outcome::Shared, _) if state.of_listener => {
            Some(format!("{of} is reached at {address}, where this instance listens itself."))
        }
        (Outcome::Shared, _) => Some(format!(
            "{of} has the port of this instance: who connects to {address} by the listener's name is sent to the primary, \
             everybody else gets this instance."
        )),
        (Outcome::Failed { why, .. }, _) => {
            Some(format!("{of} cannot listen on {address}: {why}. It is tried again every second."))
        }
        (Outcome::Elsewhere, Some(Outcome::Listening(_))) => Some(format!(
            "{of} no longer listens on {address}: this machine does not have the address any more."
        )),
        (Outcome::Elsewhere, _) => None,
    }
}
