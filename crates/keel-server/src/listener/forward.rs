//! A client's bytes to the primary and back.
//!
//! ## The preamble
//! What a node sends before a client's first byte, so that the connection is not forwarded again:
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 8 | [`PREAMBLE`]: no TDS packet and no TLS record begins with its first byte |
//! | 8 | 16 | the group's id |
//! | 24 | 16 | the client's address, as an IPv6 one; an IPv4 one mapped |
//!
//! It carries no rights: whoever sends it is only never sent on. The address is for the views and the log, and is believed of
//! an address that a member of this instance's groups is connected from.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use super::doors::Target;

/// The first bytes of a forwarded connection.
pub const PREAMBLE: [u8; 8] = *b"KEELFWD2";
/// Bytes of the whole preamble.
pub const PREAMBLE_BYTES: usize = PREAMBLE.len() + 16 + 16;
/// Bytes under way in one direction.
const BUFFER_BYTES: usize = 32 * 1024;
/// What a client may send before the primary says anything: a pre-login message or a TLS hello, both far smaller.
const FIRST_BYTES_MAX: usize = 16 * 1024;
/// How often it is looked whether the client has said more, until the primary answers. Both fit one segment.
const MORE_EVERY_MS: i32 = 10;

/// The preamble of a connection for a group's listener.
#[must_use]
pub fn preamble(group: [u8; 16], client: IpAddr) -> [u8; PREAMBLE_BYTES] {
    let client = match client {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..8].copy_from_slice(&PREAMBLE);
    bytes[8..24].copy_from_slice(&group);
    bytes[24..].copy_from_slice(&client.octets());
    bytes
}

/// The group and the client of a preamble.
pub(super) fn read_preamble(bytes: &[u8; PREAMBLE_BYTES]) -> ([u8; 16], IpAddr) {
    let part = |from: usize| <[u8; 16]>::try_from(&bytes[from..from + 16]).expect("lies in the preamble");
    (part(8), IpAddr::V6(Ipv6Addr::from(part(24))).to_canonical())
}

/// Connects to where a primary's listener is, and says that this connection is forwarded for a client.
pub(super) fn connect(
    target: &Target,
    group: [u8; 16],
    client: IpAddr,
    timeout: Duration,
) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for (host, port) in &target.addresses {
        let resolved = match (host.as_str(), *port).to_socket_addrs() {
            Ok(resolved) => resolved,
            Err(e) => {
                last = e;
                continue;
            }
        };
        for address in resolved {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(mut socket) => {
                    // It only makes waiting shorter.
                    let _ = socket.set_nodelay(true);
                    socket.write_all(&preamble(group, client))?;
                    return Ok(socket);
                }
                Err(e) => last = e,
            }
        }
    }
    Err(last)
}

/// How a client and a primary came together.
pub(super) enum Introduced {
    /// The primary answers; this many of the client's bytes have been sent and are still to be taken off its socket.
    Answered(usize),
    /// The client has gone.
    ClientGone,
    /// The primary said nothing and went, or is no longer the primary.
    Unanswered,
}

/// Sends the primary what the client says first, without taking it off the client's socket, until the primary answers. So a
/// client whose primary dies at this moment has lost nothing: it is sent elsewhere, or served here. `turn` becomes readable
/// when the primary is no longer where it was.
pub(super) fn introduce(client: &TcpStream, mut primary: &TcpStream, turn: RawFd) -> io::Result<Introduced> {
    let mut first = vec![0; FIRST_BYTES_MAX];
    let mut sent = 0;
    loop {
        let seen = client.peek(&mut first)?;
        if seen > sent {
            if primary.write_all(&first[sent..seen]).is_err() {
                return Ok(Introduced::Unanswered);
            }
            sent = seen;
        }
        // What is not taken off the client's socket would wake at once for ever: more of it is looked for now and then.
        let fds = [
            (primary.as_raw_fd(), libc::POLLIN),
            (client.as_raw_fd(), libc::POLLRDHUP),
            (turn, libc::POLLIN),
        ];
        let [answer, gone, moved] = poll(fds, MORE_EVERY_MS)?;
        if gone != 0 {
            return Ok(Introduced::ClientGone);
        }
        if answer != 0 {
            let mut byte = [0];
            return match primary.peek(&mut byte) {
                Ok(n) if n > 0 => Ok(Introduced::Answered(sent)),
                _ => Ok(Introduced::Unanswered),
            };
        }
        if moved != 0 {
            return Ok(Introduced::Unanswered);
        }
    }
}

/// One direction.
struct Lane {
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    ended: bool,
    passed_on: bool,
}

impl Lane {
    fn new() -> Lane {
        Lane { buffer: vec![0; BUFFER_BYTES], from: 0, to: 0, ended: false, passed_on: false }
    }

    fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Takes what `source` has. An error is the end, too.
    fn fill(&mut self, mut source: &TcpStream) {
        match source.read(&mut self.buffer) {
            Ok(0) => self.ended = true,
            Ok(n) => (self.from, self.to) = (0, n),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.ended = true,
        }
    }

    /// Gives `sink` what it takes. False when it takes nothing any more.
    fn drain(&mut self, mut sink: &TcpStream) -> bool {
        while !self.is_empty() {
            match sink.write(&self.buffer[self.from..self.to]) {
                Ok(0) => return false,
                Ok(n) => self.from += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Once the source has ended and everything was passed on, so is the end.
    fn pass_end_on(&mut self, sink: &TcpStream) {
        if self.ended && self.is_empty() && !self.passed_on {
            self.passed_on = true;
            // Fails when the other side has closed as well.
            let _ = sink.shutdown(Shutdown::Write);
        }
    }
}

/// Carries bytes both ways until one side has ended or failed. Runs on the connection's thread; somebody else ends it by
/// shutting the client's socket down.
pub(super) fn relay(client: &TcpStream, primary: &TcpStream) -> io::Result<()> {
    client.set_nonblocking(true)?;
    primary.set_nonblocking(true)?;
    let (mut up, mut down) = (Lane::new(), Lane::new());
    loop {
        let wait = |into: &Lane, out_of: &Lane| {
            let read = if !into.ended && into.is_empty() { libc::POLLIN } else { 0 };
            read | if out_of.is_empty() { 0 } else { libc::POLLOUT }
        };
        let fds = [(client.as_raw_fd(), wait(&up, &down)), (primary.as_raw_fd(), wait(&down, &up))];
        let [from_client, from_primary] = poll(fds, -1)?;
        if from_client != 0 && up.is_empty() && !up.ended {
            up.fill(client);
        }
        if from_primary != 0 && down.is_empty() && !down.ended {
            down.fill(primary);
        }
        if !up.drain(primary) || !down.drain(client) {
            return Ok(());
        }
        // Neither protocol goes on one-way: the answer to a request that has been passed on still comes, and no more.
        up.pass_end_on(primary);
        if down.ended && down.is_empty() {
            return Ok(());
        }
    }
}

/// Waits until one of some descriptors has what it is asked for, or has ended, or the time is over (-1: never).
fn poll<const N: usize>(fds: [(RawFd, i16); N], timeout_ms: i32) -> io::Result<[i16; N]> {
    let mut polls = fds.map(|(fd, events)| libc::pollfd { fd, events, revents: 0 });
    let count = libc::nfds_t::try_from(N).expect("a few");
    loop {
        // SAFETY: the pointer and count are those of the array; the caller keeps the descriptors open.
        let ready = unsafe { libc::poll(polls.as_mut_ptr(), count, timeout_ms) };
        if ready >= 0 {
            return Ok(polls.map(|p| p.revents));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
