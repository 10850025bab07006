//! What is done to a client's socket behind the back of who else holds it.

use std::io;
use std::net::IpAddr;
use std::os::fd::{OwnedFd, RawFd};

/// Resets a connection at once, for everybody who holds a descriptor of it: the other end is told, and reading here fails.
/// Closing resets only with the last descriptor. Fails on systems that do not let a socket go on which somebody waits (Linux
/// 6.5).
pub(crate) fn disconnect(socket: RawFd) -> io::Result<()> {
    let none = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    // SAFETY: the pointer and length are those of the structure.
    let failed =
        unsafe { libc::connect(socket, &raw const none, size_of::<libc::sockaddr>() as libc::socklen_t) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends a connection, or listening, for everybody who holds a descriptor of the socket. Fails when it has ended already.
pub(super) fn shut_down(socket: RawFd) {
    // SAFETY: it takes numbers only.
    unsafe { libc::shutdown(socket, libc::SHUT_RDWR) };
}

/// The address of this machine that a connection was made to.
pub(super) fn own_address(socket: &OwnedFd) -> Option<IpAddr> {
    let own = socket2::SockRef::from(socket).local_addr().ok()?.as_socket()?;
    Some(own.ip().to_canonical())
}

/// Whether it is a socket that listens now.
pub(super) fn listens(socket: RawFd) -> bool {
    let (mut is, mut bytes): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the pointers are to a writable number and to its length.
    let failed = unsafe {
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, (&raw mut is).cast(), &raw mut bytes)
    };
    failed == 0 && is != 0
}

/// Connections that wait to be accepted from a listening socket.
pub(super) fn waiting(listener: RawFd) -> u64 {
    // SAFETY: zero bytes are a value of this structure of numbers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut bytes = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the pointers are to the writable structure and to its length.
    let failed = unsafe {
        libc::getsockopt(listener, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut bytes)
    };
    // Of a socket that listens the system tells its queue in this field.
    if failed == 0 { info.tcpi_unacked.into() } else { 0 }
}
