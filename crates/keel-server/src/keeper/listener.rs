//! A listening socket that somebody else may shut down, and that ends when its owner lets it go, whoever holds a duplicate.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

use super::socket;

/// See the module's chapter.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens on the first of these addresses that can be had.
    pub fn bind(addresses: &[SocketAddr]) -> io::Result<Listener> {
        let socket = TcpListener::bind(addresses)?;
        let address = socket.local_addr()?;
        Ok(Listener { socket, address })
    }

    /// Where it listens, with the port that was taken for port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether [`Listener::accept`] returns an error instead of waiting.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    /// The next connection. Listens again first if the keeper has ended that.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self.socket.accept() {
            // That is what a socket says that does not listen. Another thread may have made it listen meanwhile.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                self.listen_if_ended()?;
                self.socket.accept()
            }
            accepted => accepted,
        }
    }

    /// Listens again if the keeper has ended that. Any thread may call it.
    pub(super) fn listen_if_ended(&self) -> io::Result<()> {
        if socket::listens(self.as_raw_fd()) { Ok(()) } else { self.listen_again() }
    }

    fn listen_again(&self) -> io::Result<()> {
        let fd = self.as_raw_fd();
        // A port that the system chose is given back to it when listening ends; any other is still bound, which is an error here.
        match bind(fd, self.address) {
            Err(e) if e.kind() != io::ErrorKind::InvalidInput => return Err(e),
            Ok(()) | Err(_) => {}
        }
        // SAFETY: it takes numbers only. The system lowers the length of the queue to what it allows.
        if unsafe { libc::listen(fd, libc::c_int::MAX) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        socket::shut_down(self.as_raw_fd());
    }
}

fn bind(fd: RawFd, address: SocketAddr) -> io::Result<()> {
    // SAFETY: the pointers and lengths are those of the structures, whose other fields may be zero.
    let failed = unsafe {
        match address {
            SocketAddr::V4(v4) => {
                let mut name: libc::sockaddr_in = std::mem::zeroed();
                name.sin_family = libc::AF_INET as libc::sa_family_t;
                name.sin_port = v4.port().to_be();
                name.sin_addr.s_addr = u32::from(*v4.ip()).to_be();
                libc::bind(fd, (&raw const name).cast(), size_of_val(&name) as libc::socklen_t)
            }
            SocketAddr::V6(v6) => {
                let mut name: libc::sockaddr_in6 = std::mem::zeroed();
                name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                name.sin6_port = v6.port().to_be();
                name.sin6_addr.s6_addr = v6.ip().octets();
                name.sin6_scope_id = v6.scope_id();
                libc::bind(fd, (&raw const name).cast(), size_of_val(&name) as libc::socklen_t)
            }
        }
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_shut_down_listens_again_on_the_same_port() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = Listener::bind(&[any.parse().unwrap()]) else { continue };
            let address = listener.address();
            let waiting = TcpStream::connect(address).unwrap();
            socket::shut_down(listener.as_raw_fd());
            assert_eq!(TcpStream::connect(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
            assert_eq!(waiting.peek(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
            listener.set_nonblocking(true).unwrap();
            assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
            let client = TcpStream::connect(address).unwrap();
            listener.set_nonblocking(false).unwrap();
            assert_eq!(listener.accept().unwrap().1, client.local_addr().unwrap());
        }
    }

    #[test]
    fn letting_it_go_ends_it_whoever_holds_a_duplicate() {
        let listener = Listener::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = listener.address();
        let _duplicate = listener.socket.try_clone().unwrap();
        drop(listener);
        assert!(TcpStream::connect(address).is_err());
        Listener::bind(&[address]).unwrap();
    }
}
