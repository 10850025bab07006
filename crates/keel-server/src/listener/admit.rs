//! What a connection does at a door before, or instead of, logging in.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::addresses_taken;
use super::doors::{Door, Doors, Place, Target};
use super::forward::{self, Introduced, PREAMBLE, PREAMBLE_BYTES};
use crate::link::Link;

/// How long a client may take to say its first byte.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(60);
/// How long the first attempt to reach the primary may take; each further one twice as long, up to [`CONNECT_MAX`]. Short at
/// first, because a machine that has just died does not answer, and the next look may know a better one.
const CONNECT_FIRST: Duration = Duration::from_millis(125);
const CONNECT_MAX: Duration = Duration::from_secs(4);
/// Pause after an attempt that failed at once, unless the primary moves before.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How long whoever came by an address that the primary takes along is kept once it is elsewhere: by then it has announced it.
const MOVES_WITHIN: Duration = Duration::from_millis(5);

/// How a connection goes on.
#[derive(Debug)]
pub enum Admission {
    /// It logs in here. This is where the client is, as far as is known, and the group whose listener it came through.
    Serve(IpAddr, Option<[u8; 16]>),
    /// It is told in its login to go to this host and port.
    Route(String, u16),
    /// It is over: forwarded and ended, or the client has gone.
    Done,
}

/// The group and the client that a connection was forwarded for, if its first bytes are a forwarder's; they are taken off it
/// then. Waits for them.
fn forwarded_for(link: &Link) -> io::Result<Option<([u8; 16], IpAddr)>> {
    let mut head = [0; PREAMBLE.len()];
    let mut n = 0;
    // A node sends its preamble in one piece, so a connection that begins otherwise does not wait here a second time.
    while n < head.len() && (n == 0 || head[..n] == PREAMBLE[..n]) {
        let seen = link.socket.peek(&mut head)?;
        if seen == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if seen == n {
            // Nothing new: the rest is still under way.
            std::thread::yield_now();
        }
        n = seen;
    }
    if head != PREAMBLE {
        return Ok(None);
    }
    let mut preamble = [0; PREAMBLE_BYTES];
    (&link.socket).read_exact(&mut preamble)?;
    Ok(Some(forward::read_preamble(&preamble)))
}

/// Lets a connection go where it belongs: the one that came through a door, and the one that another node forwarded to the
/// instance's own port because a listener has the same. Runs on the connection's thread, and forwards there.
pub(crate) fn admit(doors: &Doors, door: Option<Arc<Door>>, link: &Arc<Link>, peer: SocketAddr) -> Admission {
    let mut client = peer.ip().to_canonical();
    if door.is_none() && doors.is_empty() {
        return Admission::Serve(client, None);
    }
    let deadline = Instant::now() + doors.hold_max;
    let _ = link.socket.set_read_timeout(Some(FIRST_BYTE_MAX));
    // Clients that connect to several nodes at once say nothing to those that they then leave.
    let Ok(forwarded) = forwarded_for(link) else { return Admission::Done };
    let Some(door) = forwarded.and_then(|(group, _)| doors.of_group(group)).or(door) else {
        return Admission::Serve(client, None);
    };
    let standing = door.standing();
    let id = standing.id;
    if let Some((_, named)) = forwarded.filter(|_| standing.members.contains(&client)) {
        client = named;
    }
    let forwarded = forwarded.is_some();
    let mut timeout = CONNECT_FIRST;
    let mut held: Option<Held<'_>> = None;
    loop {
        let (place, turn) = door.place();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Admission::Serve(client, Some(id));
        }
        let pause = match place {
            Place::Here if door.enter(&turn, link, None) => {
                if !standing.carried.is_empty() {
                    // The others hear of it now: this machine may fall silent in a moment.
                    doors.ring();
                }
                return Admission::Serve(client, Some(id));
            }
            Place::Here => continue,
            Place::There(Target { route: Some((host, port)), .. }) if !forwarded => {
                return Admission::Route(host, port);
            }
            Place::There(_) if !forwarded && came_by_an_address_that_moves(&link.socket) => {
                // Forwarded, it would be lost in the middle of its login, when its system hears where the address is now. It
                // comes back at once, and there.
                if wait_gone(&link.socket, turn.fd(), MOVES_WITHIN) || Arc::ptr_eq(&turn, &door.place().1) {
                    let _ = link.socket.shutdown(std::net::Shutdown::Both);
                    return Admission::Done;
                }
                continue;
            }
            Place::There(target) if !forwarded => {
                // Until it answers, what is known of the primary is looked at as often as for those that are held.
                held.get_or_insert_with(|| Held::new(&doors.held));
                doors.ring();
                match forward::connect(&target, id, client, timeout.min(left)) {
                    Ok(primary) => match forward::introduce(&link.socket, &primary, turn.fd()) {
                        Ok(Introduced::Answered(sent)) if door.enter(&turn, link, Some(&target.server)) => {
                            drop(held.take());
                            forward(link, &primary, sent);
                            return Admission::Done;
                        }
                        Ok(Introduced::ClientGone) | Err(_) => return Admission::Done,
                        Ok(Introduced::Answered(_) | Introduced::Unanswered) => {}
                    },
                    Err(_) => timeout = (timeout * 2).min(CONNECT_MAX),
                }
                AGAIN_AFTER.min(left)
            }
            Place::There(_) | Place::Nowhere => left,
        };
        held.get_or_insert_with(|| Held::new(&doors.held));
        doors.ring();
        if wait_gone(&link.socket, turn.fd(), pause) {
            return Admission::Done;
        }
    }
}

/// Whether the client came by an address that this instance took and gives back when the primary is elsewhere.
fn came_by_an_address_that_moves(client: &TcpStream) -> bool {
    client.local_addr().is_ok_and(|own| addresses_taken().contains(&own.ip().to_canonical()))
}

/// Carries the connection until it ends. `sent` bytes of the client are with the primary already.
fn forward(link: &Link, primary: &TcpStream, sent: usize) {
    let taken = (&link.socket).read_exact(&mut vec![0; sent]);
    // However it fails, the connection is over; the client sees it closed.
    let _ = taken.and_then(|()| forward::relay(&link.socket, primary));
    let _ = link.socket.shutdown(std::net::Shutdown::Both);
}

/// Counted while a connection is held: the listener thread looks more often then.
struct Held<'a>(&'a AtomicUsize);

impl<'a> Held<'a> {
    fn new(held: &'a AtomicUsize) -> Held<'a> {
        held.fetch_add(1, Ordering::AcqRel);
        Held(held)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Waits for the end of a turn, of the client, or of the time. Returns whether it is the client who has gone.
fn wait_gone(client: &TcpStream, turn: RawFd, timeout: Duration) -> bool {
    // What the client has sent is not asked for; the end of a connection is always told.
    let mut polls = [
        libc::pollfd { fd: client.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 },
        libc::pollfd { fd: turn, events: libc::POLLIN, revents: 0 },
    ];
    // Rounded up: a pause of nothing would not be one.
    let timeout = i32::try_from(timeout.as_millis() + 1).unwrap_or(i32::MAX);
    // SAFETY: the pointer and count are those of the array; the link and the turn keep their descriptors open.
    let ready = unsafe { libc::poll(polls.as_mut_ptr(), 2, timeout) };
    ready > 0 && polls[0].revents != 0
}
