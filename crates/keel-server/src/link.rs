//! What a connection shares with the watcher and with whoever shuts the server down.

use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keel_sql::Traffic;
use keel_tds::wire::{Wire, WireError};
use parking_lot::Mutex;

use crate::backend::{Cancel, Killed};
use crate::keeper::disconnect;

/// One connection. The session thread owns it; others look on.
pub struct Link {
    /// The socket, blocking.
    pub socket: TcpStream,
    /// Framing and TLS. Held by the session thread while it waits for a request and while it sends, never while a request
    /// executes; the watcher takes it only then.
    pub wire: Mutex<Wire>,
    /// Number of the request being executed, 0 when none. Written by the session thread, read by the watcher; a request
    /// seen in two ticks is a long one.
    busy: AtomicU64,
    /// Requests so far; only the session thread counts.
    requests: AtomicU64,
    /// The client has sent an attention that is not yet answered. Set under the wire's lock.
    attention: AtomicBool,
    /// The client has gone, seen while a request executed.
    gone: AtomicBool,
    /// The watcher saw input but could not get at the wire: the session thread should look itself when it next sends.
    look: AtomicBool,
    /// What the session's views say about packets.
    pub traffic: Arc<Traffic>,
    /// The round in which the keeper was given a duplicate of the socket, 0 when it has none ([`crate::keeper::Keeper`]).
    pub(crate) held_in: AtomicU64,
    /// Stops the session's work, and tells whether it has been killed; set once the login has made a session.
    cancel: Mutex<Option<(Cancel, Killed)>>,
}

impl Link {
    /// Over an accepted socket.
    #[must_use]
    pub fn new(socket: TcpStream) -> Link {
        Link {
            socket,
            wire: Mutex::new(Wire::new()),
            busy: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            attention: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            look: AtomicBool::new(false),
            traffic: Arc::default(),
            held_in: AtomicU64::new(0),
            cancel: Mutex::new(None),
        }
    }

    /// Gives the handles by which requests are stopped, and killed sessions noticed.
    pub fn set_session(&self, cancel: Cancel, killed: Killed) {
        *self.cancel.lock() = Some((cancel, killed));
    }

    /// Whether the session has been killed while it waited for a request: nobody but the watcher would notice.
    #[must_use]
    pub fn is_killed_idle(&self) -> bool {
        self.busy() == 0 && self.is_killed()
    }

    /// Whether the session has been killed.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.cancel.lock().as_ref().is_some_and(|(_, killed)| killed())
    }

    /// The session thread starts to execute a request.
    pub fn begin_request(&self) {
        let number = self.requests.load(Ordering::Relaxed) + 1;
        self.requests.store(number, Ordering::Relaxed);
        self.busy.store(number, Ordering::Relaxed);
    }

    /// Tells the views how many packets there have been. The caller holds the wire.
    pub fn note_packets(&self, wire: &Wire) {
        let packets = wire.packets();
        self.traffic.note(packets.read, packets.written);
        if wire.is_multiplexed() {
            self.traffic.note_conversations(wire.conversations());
        }
    }

    /// It is done executing. Called with the wire locked, so that an attention is either seen before or left unread.
    pub fn end_request(&self) {
        self.busy.store(0, Ordering::Relaxed);
    }

    /// Number of the request being executed, 0 when none.
    #[must_use]
    pub fn busy(&self) -> u64 {
        self.busy.load(Ordering::Relaxed)
    }

    /// Whether an attention waits to be answered.
    #[must_use]
    pub fn attention_pending(&self) -> bool {
        self.attention.load(Ordering::Acquire)
    }

    /// The attention is being answered.
    pub fn clear_attention(&self) {
        self.attention.store(false, Ordering::Release);
    }

    /// Whether the client has gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// The watcher saw input without getting at the wire.
    pub fn ask_to_look(&self) {
        self.look.store(true, Ordering::Relaxed);
    }

    /// Takes what has arrived without waiting and cancels the request if it is an attention or the end of the connection.
    /// Returns whether it cancelled. The caller holds the wire.
    pub fn look_for_attention(&self, wire: &mut Wire) -> bool {
        self.look.store(false, Ordering::Relaxed);
        match wire.poll_attention(&mut NonBlocking(&self.socket)) {
            Ok(false) => return false,
            Ok(true) => self.attention.store(true, Ordering::Release),
            Err(e) if e.is_would_block() => return false,
            Err(WireError::Closed | _) => self.gone.store(true, Ordering::Release),
        }
        self.cancel();
        true
    }

    /// The same, if the watcher has asked for it.
    pub fn look_if_asked(&self, wire: &mut Wire) {
        if self.look.load(Ordering::Relaxed) {
            self.look_for_attention(wire);
        }
    }

    /// Stops the running request.
    pub fn cancel(&self) {
        if let Some((cancel, _)) = &*self.cancel.lock() {
            cancel();
        }
    }

    /// Ends the connection from outside its thread, by a reset: an orderly end waits behind what the client has not confirmed,
    /// and one whose answers do not arrive here any more would not learn of it for seconds.
    pub fn reset(&self) {
        if disconnect(self.socket.as_raw_fd()).is_ok() {
            return self.shut_down();
        }
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        // SAFETY: the descriptor is open as long as the socket lives, and the pointer and length are those of a linger.
        // Should it fail, the end is an orderly one.
        let _ = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const at_once).cast(),
                size_of::<libc::linger>() as libc::socklen_t,
            )
        };
        self.shut_down();
    }

    /// Ends the connection from outside its thread.
    pub fn shut_down(&self) {
        self.gone.store(true, Ordering::Release);
        self.cancel();
        // Fails only when the peer has closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Drop for Link {
    /// Closing alone would not tell the client while the keeper holds a duplicate of the socket.
    fn drop(&mut self) {
        // Fails when it has ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Reads only what is there, whatever mode the socket is in.
struct NonBlocking<'a>(&'a TcpStream);

impl Read for NonBlocking<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the descriptor is open as long as the borrowed socket lives, and the pointer and length are those of a
        // writable slice.
        let n =
            unsafe { libc::recv(self.0.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len(), libc::MSG_DONTWAIT) };
        usize::try_from(n).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn whose_connection_is_reset_can_send_no_more() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let link = Link::new(listener.accept().unwrap().0);
        link.reset();
        drop(link);
        // Behind an orderly end alone the client could still send.
        let _ = client.read(&mut [0]);
        assert!(client.write(&[0]).is_err());
    }
}
