//! What the two processes say to each other: notes over a pair of Unix sockets, each with a descriptor or without.
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 1 | what it is, see [`What`] |
//! | 1 | 24 | three numbers, little-endian; their meaning is the note's |
//!
//! Both ends are of one program and one build, so there is no version. A note that cannot be read ends the keeper.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const NUMBERS: usize = 3;
const NOTE_BYTES: usize = 1 + NUMBERS * 8;
/// Room for a control message with one descriptor, in words: it must be aligned as its header.
const CONTROL_WORDS: usize = 4;
/// What of it one takes.
// SAFETY: it only computes a size.
const CONTROL_BYTES: usize = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as libc::c_uint) as usize };
const _: () = assert!(CONTROL_WORDS * 8 >= CONTROL_BYTES);

/// What a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// To the keeper, first of all: the shared memory; numbers: the bound in milliseconds.
    Memory,
    /// To the keeper: a client's connection.
    Connection,
    /// To the keeper: a listening socket.
    Listener,
    /// To the keeper: the instance ends in order. Its sockets are its own business until then.
    Farewell,
    /// To the instance: it runs again; numbers: milliseconds it had not, connections reset, connections that waited to be accepted.
    RunsAgain,
}

const ALL: [What; 5] = [What::Memory, What::Connection, What::Listener, What::Farewell, What::RunsAgain];

/// One note.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) what: What,
    pub(super) numbers: [u64; NUMBERS],
    /// The descriptor that came with it; `None` also when this process may have no more of them.
    pub(super) passed: Option<OwnedFd>,
}

/// Two connected ends.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the pointer is to two writable descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just made, and are owned from here.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Sends a note; never waits: fails when the other end is behind.
pub(super) fn send(to: RawFd, what: What, numbers: [u64; NUMBERS], pass: Option<RawFd>) -> io::Result<()> {
    let mut bytes = [0u8; NOTE_BYTES];
    bytes[0] = ALL.iter().position(|w| *w == what).and_then(|n| u8::try_from(n).ok()).expect("all are there");
    for (place, number) in bytes[1..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: zero bytes are a value of this structure of numbers and pointers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if let Some(fd) = pass {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES as _;
        // SAFETY: the control buffer has room for a header and one descriptor, and is aligned for both.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as libc::c_uint) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        }
    }
    // SAFETY: all that the message points to lives until the call returns.
    let sent = unsafe { libc::sendmsg(to, &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The next note, if there is one now (else the error is [`io::ErrorKind::WouldBlock`]); `None` when the other end has gone.
pub(super) fn receive(from: RawFd) -> io::Result<Option<Note>> {
    let mut bytes = [0u8; NOTE_BYTES];
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: zero bytes are a value of this structure of numbers and pointers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: all that the message points to is writable and lives until the call returns.
    let got = unsafe { libc::recvmsg(from, &raw mut message, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC) };
    let Ok(got) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
    if got == 0 {
        return Ok(None);
    }
    // SAFETY: the system has written the control buffer and its length; a header is looked at only if it is whole.
    let passed = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_one = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS;
        is_one.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    };
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "a note that is none");
    if got != NOTE_BYTES {
        return Err(strange());
    }
    let what = *ALL.get(usize::from(bytes[0])).ok_or_else(strange)?;
    let mut numbers = [0; NUMBERS];
    for (number, place) in numbers.iter_mut().zip(bytes[1..].chunks_exact(8)) {
        *number = u64::from_le_bytes(place.try_into().expect("chunks of eight"));
    }
    Ok(Some(Note { what, numbers, passed }))
}

/// Waits until there is a note, or the other end has gone, at most for `timeout_ms`. False when the time was over.
pub(super) fn wait(from: RawFd, timeout_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: from, events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one structure.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) > 0 }
}

/// Ends the connection for both ends, whoever holds them.
pub(super) fn hang_up(end: &OwnedFd) {
    // SAFETY: the descriptor is open; it fails only when the other end has hung up already.
    unsafe { libc::shutdown(end.as_raw_fd(), libc::SHUT_RDWR) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_arrive_whole_and_in_order_with_what_they_pass() {
        let (here, there) = pair().unwrap();
        assert_eq!(receive(there.as_raw_fd()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        send(here.as_raw_fd(), What::RunsAgain, [1, u64::MAX, 3], None).unwrap();
        send(here.as_raw_fd(), What::Listener, [0; 3], Some(here.as_raw_fd())).unwrap();
        let first = receive(there.as_raw_fd()).unwrap().unwrap();
        assert_eq!((first.what, first.numbers), (What::RunsAgain, [1, u64::MAX, 3]));
        assert!(first.passed.is_none());
        let second = receive(there.as_raw_fd()).unwrap().unwrap();
        assert_eq!(second.what, What::Listener);
        // What was passed is the same socket: it goes on when the first descriptor is closed.
        let passed = second.passed.unwrap();
        drop(here);
        send(passed.as_raw_fd(), What::Connection, [7; 3], None).unwrap();
        assert_eq!(receive(there.as_raw_fd()).unwrap().unwrap().numbers, [7; 3]);
        drop(passed);
        assert!(receive(there.as_raw_fd()).unwrap().is_none());
    }
}
