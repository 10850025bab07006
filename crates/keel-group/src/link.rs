//! [`Link`]: one TLS connection used by several threads.
//!
//! ```text
//!   any thread ── writing (lock) ──► tls (lock, only to encrypt) ──► socket
//!   reader     ── socket (no lock) ──► tls (lock, only to decrypt) ──► frames
//! ```
//! Nobody holds the TLS lock across a system call, so neither direction waits for the other's network. Records leave in the
//! order in which they were encrypted, because the writing lock is held from one to the other.
//!
//! A thread that must not wait (a session that leads the flush) uses [`Link::try_begin`]: it writes only if nobody else is
//! writing and nothing waits to be written, and it leaves what the socket would not take to the sender thread.

use keel_transport::{Decoder, Frame, FrameError};
use parking_lot::{Mutex, MutexGuard};
use rustls::Connection;
use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Bytes asked of the socket at once.
const READ_BYTES: usize = 256 << 10;
/// The system takes no more than this before it has sent it: what is queued there is ahead of any control frame.
const UNSENT_BYTES: libc::c_int = 128 << 10;

/// One connection. Shared by the reader, the sender and whoever sends directly.
pub struct Link {
    socket: TcpStream,
    tls: Mutex<Connection>,
    writing: Mutex<Writing>,
    closed: AtomicBool,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
}

/// What is encrypted and not yet with the system.
#[derive(Default)]
struct Writing {
    sealed: Vec<u8>,
    /// How much of it is with the system.
    at: usize,
}

impl Writing {
    fn rest(&self) -> &[u8] {
        &self.sealed[self.at..]
    }

    fn took(&mut self, bytes: usize) {
        self.at += bytes;
        if self.at == self.sealed.len() {
            self.sealed.clear();
            self.at = 0;
        }
    }
}

impl Link {
    /// Over a socket on which the TLS handshake is done.
    pub(crate) fn new(socket: TcpStream, tls: Connection) -> io::Result<Link> {
        socket.set_nodelay(true)?;
        limit_unsent(&socket)?;
        Ok(Link {
            socket,
            tls: Mutex::new(tls),
            writing: Mutex::new(Writing::default()),
            closed: AtomicBool::new(false),
            bytes_sent: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
        })
    }

    /// Lets reads and writes wait as long as it takes, now that the peer is known.
    pub(crate) fn without_time_limit(&self) {
        // Fails only for a duration of zero.
        let _ = self.socket.set_read_timeout(None);
        let _ = self.socket.set_write_timeout(None);
    }

    /// Waits for the right to write.
    pub fn begin(&self) -> LinkWriter<'_> {
        LinkWriter { link: self, writing: self.writing.lock() }
    }

    /// The right to write if nobody has it and nothing waits to be written.
    pub fn try_begin(&self) -> Option<LinkWriter<'_>> {
        let writing = self.writing.try_lock()?;
        writing.rest().is_empty().then_some(LinkWriter { link: self, writing })
    }

    /// Sends frames already encoded; returns when the system has all of them. Waits as long as the peer's window is shut.
    pub fn send(&self, frames: &[u8]) -> io::Result<()> {
        self.begin().send(frames)
    }

    /// Ends the connection from any thread; the reader and every writer return with an error.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // Fails only when the peer has closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Ends the connection at once, also towards a peer from whom nothing comes: what was not confirmed yet is dropped, so that
    /// the end need not wait behind it.
    pub fn reset(&self) {
        self.closed.store(true, Ordering::Release);
        reset(&self.socket);
    }

    /// Says in TLS that nothing more comes, so that the peer can tell the end from a break, and closes.
    pub(crate) fn finish(&self) {
        self.tls.lock().send_close_notify();
        // If it cannot be sent the peer has gone already.
        let _ = self.begin().send(&[]);
        self.close();
    }

    /// Whether somebody here has closed it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// What the system knows of the connection, whatever its reader is doing. `None` when it does not say.
    pub(crate) fn vital_signs(&self) -> Option<VitalSigns> {
        let info = tcp_info(&self.socket)?;
        Some(VitalSigns {
            open: info.tcpi_state == TCP_ESTABLISHED,
            silent: Duration::from_millis(u64::from(info.tcpi_last_data_recv)),
            unread: unread_bytes(&self.socket) > 0,
        })
    }

    /// Where the other side is.
    pub(crate) fn peer_address(&self) -> Option<IpAddr> {
        self.socket.peer_addr().ok().map(|a| a.ip())
    }

    /// Encrypted bytes sent and received so far.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        (self.bytes_sent.load(Ordering::Relaxed), self.bytes_received.load(Ordering::Relaxed))
    }

    fn encrypt(&self, writing: &mut Writing, frames: &[IoSlice<'_>]) -> io::Result<()> {
        Link::seal(&mut self.tls.lock(), writing, frames)
    }

    fn seal(tls: &mut Connection, writing: &mut Writing, frames: &[IoSlice<'_>]) -> io::Result<()> {
        let taken = tls.writer().write_vectored(frames)?;
        let given: usize = frames.iter().map(|part| part.len()).sum();
        // There is no limit to what it takes ([`crate::tls::Tls`]).
        if taken != given {
            return Err(io::ErrorKind::WriteZero.into());
        }
        while tls.wants_write() {
            tls.write_tls(&mut writing.sealed)?;
        }
        Ok(())
    }

    fn write_out(&self, writing: &mut Writing) -> io::Result<()> {
        while !writing.rest().is_empty() {
            match (&self.socket).write(writing.rest()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.bytes_sent.fetch_add(n as u64, Ordering::Relaxed);
                    writing.took(n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// As much as the socket takes at once; 0 when it takes nothing now.
    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the descriptor is open as long as the socket lives, and pointer and length are those of a readable slice.
        let n = unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        match usize::try_from(n) {
            Ok(n) => {
                self.bytes_sent.fetch_add(n as u64, Ordering::Relaxed);
                Ok(n)
            }
            Err(_) => match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => Ok(0),
                e => Err(e),
            },
        }
    }
}

/// The right to write on a [`Link`].
pub struct LinkWriter<'a> {
    link: &'a Link,
    writing: MutexGuard<'a, Writing>,
}

impl LinkWriter<'_> {
    /// Whether nothing waits to be written.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.writing.rest().is_empty()
    }

    /// Sends what waits and these frames; returns when the system has all of it.
    pub fn send(&mut self, frames: &[u8]) -> io::Result<()> {
        self.link.encrypt(&mut self.writing, &[IoSlice::new(frames)])?;
        self.link.write_out(&mut self.writing)
    }

    /// Takes the frames and sends as much as the system takes at once. False when some of it waits for the next
    /// [`LinkWriter::send`].
    pub fn send_now(&mut self, frames: &[u8]) -> io::Result<bool> {
        self.send_parts_now(&[IoSlice::new(frames)])
    }

    /// The same for a frame that lies in two places: it is encrypted from there, with no copy between.
    pub fn send_pair_now(&mut self, head: &[u8], payload: &[u8]) -> io::Result<bool> {
        self.send_parts_now(&[IoSlice::new(head), IoSlice::new(payload)])
    }

    fn send_parts_now(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        self.link.encrypt(&mut self.writing, parts)?;
        let n = self.link.send_now(self.writing.rest())?;
        self.writing.took(n);
        Ok(self.is_drained())
    }
}

impl Link {
    /// Sends a frame only if that takes nobody's turn: [`Sent::Busy`] when another thread is writing or decrypting, or what
    /// was written before is not yet with the system. Waits for nothing.
    pub(crate) fn send_idle(&self, frame: &[u8]) -> io::Result<Sent> {
        let Some(mut writing) = self.writing.try_lock().filter(|w| w.rest().is_empty()) else {
            return Ok(Sent::Busy);
        };
        let Some(mut tls) = self.tls.try_lock() else { return Ok(Sent::Busy) };
        Link::seal(&mut tls, &mut writing, &[IoSlice::new(frame)])?;
        drop(tls);
        let n = self.send_now(writing.rest())?;
        writing.took(n);
        Ok(if writing.rest().is_empty() { Sent::All } else { Sent::Part })
    }
}

/// What became of a frame given to [`Link::send_idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The system has it.
    All,
    /// The system has some of it; the sender must be woken for the rest.
    Part,
    /// It was not sent.
    Busy,
}

/// What the system knows of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VitalSigns {
    /// Neither side has closed or reset it.
    pub(crate) open: bool,
    /// Since bytes of any kind came from the other side.
    pub(crate) silent: Duration,
    /// Bytes have come that the reader has not taken yet.
    pub(crate) unread: bool,
}

/// `tcpi_state` of a connection that both sides keep up.
const TCP_ESTABLISHED: u8 = 1;

/// Breaks a connection: the peer is sent a reset, and whoever waits on the socket here returns.
fn reset(socket: &TcpStream) {
    // SAFETY: an address of plain bytes, for which zeros are valid: the family that means "none".
    let nowhere: libc::sockaddr = unsafe { std::mem::zeroed() };
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr>()).expect("a few bytes");
    // SAFETY: the descriptor is open as long as the socket lives; pointer and length are those of the address. Connecting to
    // no family dissolves the connection there is.
    let failed = unsafe { libc::connect(socket.as_raw_fd(), &raw const nowhere, length) };
    if failed != 0 {
        // Some kernels refuse that while a thread waits; then the end queues up behind the data.
        let _ = socket.shutdown(Shutdown::Both);
    }
}

fn tcp_info(socket: &TcpStream) -> Option<libc::tcp_info> {
    // SAFETY: the structure holds numbers only, for which zero bytes are a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
    // SAFETY: the descriptor is open as long as the socket lives; pointer and length are those of `info`.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &raw mut length,
        )
    };
    (failed == 0).then_some(info)
}

fn unread_bytes(socket: &TcpStream) -> libc::c_int {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the call writes one c_int to the address it is given.
    let failed = unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    if failed == 0 { bytes } else { 0 }
}

/// Asks the system to take no more than [`UNSENT_BYTES`] ahead of the network.
fn limit_unsent(socket: &TcpStream) -> io::Result<()> {
    // SAFETY: the descriptor is open, and pointer and length are those of one c_int.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            std::ptr::from_ref(&UNSENT_BYTES).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if failed != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Why a reader stops.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The connection ended.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// TLS says no.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// What came is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// The reading half: buffers of the one thread that reads.
pub struct LinkReader {
    cipher: Box<[u8]>,
    plain: Vec<u8>,
    decoder: Decoder,
}

impl Default for LinkReader {
    fn default() -> LinkReader {
        LinkReader {
            cipher: vec![0; READ_BYTES].into_boxed_slice(),
            plain: Vec::with_capacity(READ_BYTES),
            decoder: Decoder::new(),
        }
    }
}

impl LinkReader {
    /// The next frame that is here already.
    pub fn ready(&mut self) -> Result<Option<Frame>, FrameError> {
        self.decoder.next()
    }

    /// Waits for bytes and takes in everything that has arrived.
    pub fn wait(&mut self, link: &Link) -> Result<(), ReadError> {
        let n = loop {
            match (&link.socket).read(&mut self.cipher) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(n) => break n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        };
        link.bytes_received.fetch_add(n as u64, Ordering::Relaxed);
        let mut tls = link.tls.lock();
        self.decrypt(&mut tls, n)
    }

    /// Waits for the next frame.
    pub fn next(&mut self, link: &Link) -> Result<Frame, ReadError> {
        loop {
            if let Some(frame) = self.ready()? {
                return Ok(frame);
            }
            self.wait(link)?;
        }
    }

    /// What TLS has decrypted during the handshake already.
    pub(crate) fn take_early(&mut self, link: &Link) -> Result<(), ReadError> {
        self.decrypt(&mut link.tls.lock(), 0)
    }

    fn decrypt(&mut self, tls: &mut Connection, cipher_bytes: usize) -> Result<(), ReadError> {
        let mut rest = &self.cipher[..cipher_bytes];
        loop {
            if !rest.is_empty() {
                tls.read_tls(&mut rest)?;
            }
            let state = tls.process_new_packets()?;
            self.plain.resize(state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut self.plain)?;
            self.decoder.push(&self.plain);
            if rest.is_empty() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_reset_wakes_both_sides() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut theirs = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (ours, _) = listener.accept().expect("somebody connects");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| (&ours).read(&mut [0; 1]));
            reset(&ours);
            // An error or the end, whichever the system makes of it.
            assert!(!matches!(waiting.join().expect("no panic"), Ok(1..)));
        });
        let told = theirs.read(&mut [0; 1]);
        assert_eq!(told.map_err(|e| e.kind()), Err(io::ErrorKind::ConnectionReset));
    }
}
