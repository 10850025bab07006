//! Messages out of a byte stream: packet headers, message assembly, and the three shapes of encryption.
//!
//! [`Wire`] owns buffers and the TLS state but no socket: each call that reads or writes is given one. Reading costs one
//! `read` per request in the usual case, because whatever the socket has is taken at once; the payload of a
//! one-packet message is never copied, and a longer one is closed up in place.
//!
//! ```text
//!  Plain ──start_tls──► TLS handshake in PRELOGIN packets ──► Tls ──drop_tls──► Plain   (login-only encryption)
//!  Plain ──start_strict─────────────────────────────────────► Tls                       (8.0)
//! ```
//!
//! The server side never sends session tickets: after the handshake the first bytes of a 7.x client are its login, and
//! some stacks do not expect anything before the answer.

use std::io::{self, IoSlice, Read, Write};

use crate::error::DecodeError;
use crate::limits::{
    BUFFER_KEEP_BYTES, HEADER_BYTES, HELD_BACK_BYTES, HELD_BACK_BYTES_MAX, INPUT_BUFFER_BYTES,
    LOGIN_MESSAGE_BYTES_MAX, PACKET_BYTES_DEFAULT,
};
use crate::packet::{Header, PacketType, Status};
use crate::smp::Multiplex;

/// Room for records read under TLS: one whole record of the largest size and some of the next.
const CIPHER_BYTES: usize = 18 * 1024;
/// How far a bulk load that is not being read is searched for an attention behind it.
const LOAD_AHEAD_BYTES: usize = 1 << 20;
/// First bytes of TLS records, none of which is a packet type a client may send during a handshake.
const TLS_RECORDS: std::ops::RangeInclusive<u8> = 0x14..=0x17;
/// First byte of a TLS record that carries a handshake message: how a strict client opens.
const TLS_HANDSHAKE_RECORD: u8 = 0x16;

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The peer closed the connection.
    #[error("the connection was closed by the peer")]
    Closed,
    /// The socket failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The peer does not speak the protocol.
    #[error("protocol error: {0}")]
    Protocol(#[from] DecodeError),
    /// TLS failed.
    #[error("TLS failed: {0}")]
    Tls(#[from] rustls::Error),
}

impl WireError {
    /// Whether a read only found nothing to read: the socket is non-blocking or its time-out ran off.
    #[must_use]
    pub fn is_would_block(&self) -> bool {
        matches!(self, WireError::Io(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
    }
}

/// Result of everything that moves bytes.
pub type Result<T> = std::result::Result<T, WireError>;

/// A whole message. Give it back with [`Wire::recycle`] so that its buffer is used again.
#[derive(Debug)]
pub struct Message {
    /// Its type.
    pub kind: PacketType,
    /// Status bits of all its packets together.
    pub status: Status,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Message {
    /// The payloads of its packets, joined.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }
}

/// Assembly of the message at the front of the input buffer.
#[derive(Clone, Copy, Debug)]
struct Assembly {
    kind: PacketType,
    status: Status,
    start: usize,
    end: usize,
}

/// Packets that went over a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Received whole and looked at.
    pub read: u64,
    /// Sent.
    pub written: u64,
}

/// One side of a connection.
pub struct Wire {
    tls: Option<Box<rustls::Connection>>,
    cipher: Vec<u8>,
    /// Plain bytes received; valid up to `tail`.
    input: Vec<u8>,
    tail: usize,
    /// First byte not yet looked at as part of a packet.
    scan: usize,
    assembly: Option<Assembly>,
    spare: Vec<u8>,
    packets: Packets,
    /// Set when the connection carries several conversations.
    multiplex: Option<Box<Multiplex>>,
    /// Largest message accepted; the owner raises it after the login.
    pub message_bytes_max: usize,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire::new()
    }
}

impl Wire {
    /// A connection in the clear, with the limits of one not yet logged in.
    #[must_use]
    pub fn new() -> Wire {
        Wire {
            tls: None,
            cipher: Vec::new(),
            input: vec![0; INPUT_BUFFER_BYTES],
            tail: 0,
            scan: 0,
            assembly: None,
            spare: Vec::new(),
            packets: Packets::default(),
            multiplex: None,
            message_bytes_max: LOGIN_MESSAGE_BYTES_MAX,
        }
    }

    /// Whether bytes are encrypted now.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }
    /// The TLS connection, for its parameters.
    #[must_use]
    pub fn tls(&self) -> Option<&rustls::Connection> {
        self.tls.as_deref()
    }
    /// Packets so far.
    #[must_use]
    pub const fn packets(&self) -> Packets {
        self.packets
    }
    /// The conversations open on the connection; none when it carries a single one.
    pub fn conversations(&self) -> impl Iterator<Item = u16> + '_ {
        self.multiplex.iter().flat_map(|m| m.open())
    }
    /// Whether received bytes wait that are not part of a returned message.
    #[must_use]
    pub const fn has_input(&self) -> bool {
        self.tail > self.scan
    }

    /// Waits for the next message. A partly received message survives an error that [`WireError::is_would_block`].
    pub fn read_message(&mut self, io: &mut impl Read) -> Result<Message> {
        loop {
            if let Some(message) = self.poll_message()? {
                return Ok(message);
            }
            self.read_some(io)?;
        }
    }

    /// Waits for the header of the next packet and returns it without consuming anything.
    pub fn wait_header(&mut self, io: &mut impl Read) -> Result<Header> {
        loop {
            match self.peek_header() {
                Ok(header) => return Ok(header),
                Err(DecodeError::Incomplete) => self.read_some(io)?,
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// The header of the next packet, if it has arrived.
    pub fn peek_header(&self) -> std::result::Result<Header, DecodeError> {
        Header::decode(&self.input[self.scan..self.tail])
    }

    /// Waits for one packet and hands its payload to `f`, for messages that are streamed. Not to be mixed with
    /// [`Wire::read_message`] inside one message.
    pub fn read_packet<T>(&mut self, io: &mut impl Read, f: impl FnOnce(Header, &[u8]) -> T) -> Result<T> {
        assert!(self.assembly.is_none(), "a message is streamed from its first packet on or not at all");
        loop {
            match self.peek_header() {
                Ok(header) if self.tail - self.scan >= header.length => {
                    let out = f(header, &self.input[self.scan + HEADER_BYTES..self.scan + header.length]);
                    self.scan += header.length;
                    self.packets.read += 1;
                    self.close_gap(0);
                    return Ok(out);
                }
                Ok(_) | Err(DecodeError::Incomplete) => self.read_some(io)?,
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Takes what has arrived, without waiting when `io` does not, and tells whether an attention is next, or behind packets of
    /// a bulk load that nobody has taken yet. An end of the stream is the error [`WireError::Closed`].
    pub fn poll_attention(&mut self, io: &mut impl Read) -> Result<bool> {
        match self.read_some(io) {
            Ok(()) => {}
            Err(e) if e.is_would_block() => {}
            Err(e) => return Err(e),
        }
        let mut at = self.scan;
        loop {
            match Header::decode(&self.input[at.min(self.tail)..self.tail]) {
                Ok(header) if header.kind == PacketType::BulkLoad => at += header.length,
                next => return Ok(next.is_ok_and(|h| h.kind == PacketType::Attention)),
            }
        }
    }

    /// Whether an attention may still come behind what has arrived: behind nothing, or packets of a bulk load that nobody has
    /// taken yet.
    #[must_use]
    pub fn may_bring_attention(&self) -> bool {
        match self.peek_header() {
            Ok(header) => header.kind == PacketType::BulkLoad && self.tail - self.scan < LOAD_AHEAD_BYTES,
            Err(e) => e == DecodeError::Incomplete,
        }
    }

    /// Gives a message's buffer back.
    pub fn recycle(&mut self, message: Message) {
        if message.buffer.len() <= BUFFER_KEEP_BYTES && self.spare.is_empty() {
            self.spare = message.buffer;
        }
    }

    /// The next message, if all of it has arrived.
    fn poll_message(&mut self) -> Result<Option<Message>> {
        loop {
            let header = match self.peek_header() {
                Ok(header) => header,
                Err(DecodeError::Incomplete) => break,
                Err(e) => return Err(e.into()),
            };
            if self.tail - self.scan < header.length {
                break;
            }
            let payload = self.scan + HEADER_BYTES..self.scan + header.length;
            let assembly = match &mut self.assembly {
                None => self.assembly.insert(Assembly {
                    kind: header.kind,
                    status: header.status,
                    start: payload.start,
                    end: payload.end,
                }),
                Some(a) => {
                    if a.kind != header.kind {
                        return Err(DecodeError::Malformed("packet type inside a message").into());
                    }
                    a.status |= header.status;
                    let end = a.end + payload.len();
                    self.input.copy_within(payload, a.end);
                    a.end = end;
                    a
                }
            };
            self.scan += header.length;
            self.packets.read += 1;
            if assembly.end - assembly.start > self.message_bytes_max {
                return Err(DecodeError::Limit("message length").into());
            }
            if header.status.contains(Status::END_OF_MESSAGE) {
                return Ok(Some(self.take_message()));
            }
        }
        if let Some(a) = self.assembly {
            self.close_gap(a.end);
        }
        Ok(None)
    }

    /// Moves what is not yet scanned to `at`, over bytes no longer needed.
    fn close_gap(&mut self, at: usize) {
        if self.scan != at {
            self.input.copy_within(self.scan..self.tail, at);
            self.tail -= self.scan - at;
            self.scan = at;
        }
    }

    fn take_message(&mut self) -> Message {
        let a = self.assembly.take().expect("called when a message is complete");
        let mut next = std::mem::take(&mut self.spare);
        let rest = &self.input[self.scan..self.tail];
        let room = INPUT_BUFFER_BYTES.max(rest.len());
        if next.len() < room {
            next.resize(room, 0);
        }
        next[..rest.len()].copy_from_slice(rest);
        self.tail = rest.len();
        self.scan = 0;
        let buffer = std::mem::replace(&mut self.input, next);
        Message { kind: a.kind, status: a.status, buffer, start: a.start, end: a.end }
    }

    /// From here on the connection carries several conversations: the login that asked for it has been answered.
    pub fn start_multiplex(&mut self) -> Result<()> {
        self.multiplex = Some(Box::default());
        self.demultiplex(self.scan)
    }

    /// Whether it does.
    #[must_use]
    pub const fn is_multiplexed(&self) -> bool {
        self.multiplex.is_some()
    }

    /// Takes what arrived behind `from` apart, and appends what belongs to the conversation that is served.
    fn demultiplex(&mut self, from: usize) -> Result<()> {
        let Some(multiplex) = &mut self.multiplex else { return Ok(()) };
        multiplex.receive(&self.input[from..self.tail])?;
        let mut taken = Vec::new();
        while multiplex.take_packet(&mut taken)? {}
        self.tail = from;
        self.make_room(taken.len());
        self.input[from..from + taken.len()].copy_from_slice(&taken);
        self.tail += taken.len();
        Ok(())
    }

    /// Waits until a request has begun to arrive, of whichever conversation asked first; it is the one that is served until the
    /// next call. Does nothing on a connection with one conversation.
    pub fn wait_turn(&mut self, io: &mut (impl Read + Write)) -> Result<()> {
        while self.is_multiplexed() {
            self.send_multiplexed(io)?;
            if self.has_input() {
                break;
            }
            let chosen = self.multiplex.as_mut().map_or(Ok(false), |m| m.choose())?;
            if chosen { self.demultiplex(self.tail)? } else { self.read_some(io)? }
        }
        Ok(())
    }

    /// Waits while the client does not read what is sent to it and nobody else wants anything: what it does not read must not
    /// grow without bound here. Returns when an attention or another conversation's request has come.
    pub fn wait_for_window(&mut self, io: &mut (impl Read + Write)) -> Result<()> {
        while let Some(m) = &self.multiplex {
            let (held_back, others) = (m.held_back(), m.others_wait());
            if held_back > HELD_BACK_BYTES_MAX {
                return Err(DecodeError::Limit("result that is not read").into());
            }
            if held_back <= HELD_BACK_BYTES || others || self.has_input() {
                break;
            }
            self.read_some(io)?;
            self.send_multiplexed(io)?;
        }
        Ok(())
    }

    fn send_multiplexed(&mut self, io: &mut impl Write) -> io::Result<()> {
        let out = self.multiplex.as_mut().map(|m| m.take_output()).unwrap_or_default();
        if out.is_empty() { Ok(()) } else { self.write_bytes(io, &out) }
    }

    /// Sends bytes as they are, encrypted if need be.
    fn write_bytes(&mut self, io: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => io.write_all(bytes),
            Some(tls) => {
                tls.writer().write_all(bytes)?;
                flush_tls(tls, io)
            }
        }
    }

    /// One read from the socket, decrypted if need be.
    fn read_some(&mut self, io: &mut impl Read) -> Result<()> {
        let before = self.tail;
        self.read_plain(io)?;
        if self.is_multiplexed() { self.demultiplex(before) } else { Ok(()) }
    }

    fn read_plain(&mut self, io: &mut impl Read) -> Result<()> {
        if self.tls.is_some() {
            self.cipher.resize(CIPHER_BYTES, 0);
            let mut cipher = std::mem::take(&mut self.cipher);
            let read = io.read(&mut cipher);
            let done = match read {
                Ok(0) => Err(WireError::Closed),
                Ok(n) => self.decrypt(&cipher[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(e) => Err(e.into()),
            };
            self.cipher = cipher;
            return done;
        }
        self.make_room(1);
        match io.read(&mut self.input[self.tail..]) {
            Ok(0) => Err(WireError::Closed),
            Ok(n) => {
                self.tail += n;
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn make_room(&mut self, bytes: usize) {
        if self.input.len() < self.tail + bytes {
            let room = (self.input.len() * 2).max(self.tail + bytes);
            self.input.resize(room, 0);
        }
    }

    fn decrypt(&mut self, mut cipher: &[u8]) -> Result<()> {
        while !cipher.is_empty() {
            let tls = self.tls.as_mut().expect("called under TLS");
            tls.read_tls(&mut cipher)?;
            let state = tls.process_new_packets()?;
            let plain = state.plaintext_bytes_to_read();
            let closed = state.peer_has_closed();
            self.make_room(plain);
            let tls = self.tls.as_mut().expect("called under TLS");
            tls.reader().read_exact(&mut self.input[self.tail..self.tail + plain])?;
            self.tail += plain;
            if closed && plain == 0 {
                return Err(WireError::Closed);
            }
        }
        Ok(())
    }

    /// Whether the first byte received opens a TLS handshake rather than a pre-login: the client is strict (8.0).
    pub fn opens_with_tls(&mut self, io: &mut impl Read) -> Result<bool> {
        while self.tail == 0 {
            self.read_some(io)?;
        }
        Ok(self.input[0] == TLS_HANDSHAKE_RECORD)
    }

    fn next_is_bare_record(&mut self, io: &mut impl Read) -> Result<bool> {
        while self.tail == self.scan {
            self.read_some(io)?;
        }
        Ok(TLS_RECORDS.contains(&self.input[self.scan]))
    }

    /// TLS first: does the whole handshake, then everything is encrypted.
    pub fn start_strict(&mut self, io: &mut (impl Read + Write), tls: rustls::Connection) -> Result<()> {
        self.tls = Some(Box::new(tls));
        let early = self.input[self.scan..self.tail].to_vec();
        (self.scan, self.tail) = (0, 0);
        let mut fed = self.decrypt(&early);
        loop {
            let tls = self.tls.as_mut().expect("set above");
            while tls.wants_write() {
                tls.write_tls(io)?;
            }
            fed?;
            if !tls.is_handshaking() {
                return Ok(());
            }
            // An alert about a bad handshake leaves in the next round.
            fed = self.read_some(io);
        }
    }

    /// TLS in pre-login packets (2.2.6.5): does the whole handshake, then everything is encrypted.
    pub fn start_tls(&mut self, io: &mut (impl Read + Write), mut tls: rustls::Connection) -> Result<()> {
        loop {
            let mut flight = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut flight)?;
            }
            send_wrapped(io, &flight)?;
            if !tls.is_handshaking() {
                break;
            }
            if self.next_is_bare_record(io)? {
                // Some clients send their last flight bare already.
                return self.start_strict(io, tls);
            }
            let message = self.read_message(io)?;
            if message.kind != PacketType::PreLogin {
                return Err(DecodeError::Malformed("packet during the TLS handshake").into());
            }
            let mut records = message.payload();
            while !records.is_empty() {
                tls.read_tls(&mut records)?;
                if let Err(e) = tls.process_new_packets() {
                    let mut alert = Vec::new();
                    tls.write_tls(&mut alert)?;
                    send_wrapped(io, &alert)?;
                    return Err(e.into());
                }
            }
            self.recycle(message);
        }
        self.tls = Some(Box::new(tls));
        // Bytes after the last wrapped packet are already bare records.
        let early = self.input[self.scan..self.tail].to_vec();
        (self.scan, self.tail) = (0, 0);
        self.decrypt(&early)
    }

    /// Back to the clear, after a login that alone was encrypted.
    pub fn drop_tls(&mut self) {
        self.tls = None;
        self.cipher = Vec::new();
    }

    /// Sends a whole packet whose header is at its start, in one write.
    pub fn send_one(&mut self, io: &mut impl Write, packet: &[u8]) -> io::Result<()> {
        self.packets.written += 1;
        if let Some(multiplex) = &mut self.multiplex {
            multiplex.send(&[packet]);
            return self.send_multiplexed(io);
        }
        self.write_bytes(io, packet)
    }

    /// Sends packets given as header and payload; one write if the socket takes it.
    pub fn send_packets(
        &mut self,
        io: &mut impl Write,
        packets: &[([u8; HEADER_BYTES], &[u8])],
    ) -> io::Result<()> {
        self.packets.written += packets.len() as u64;
        if let Some(multiplex) = &mut self.multiplex {
            packets.iter().for_each(|(header, payload)| multiplex.send(&[header, payload]));
            return self.send_multiplexed(io);
        }
        if let Some(tls) = &mut self.tls {
            for (header, payload) in packets {
                // One record per packet.
                let taken = tls.writer().write_vectored(&[IoSlice::new(header), IoSlice::new(payload)])?;
                assert_eq!(taken, header.len() + payload.len(), "the TLS buffer has no limit");
            }
            return flush_tls(tls, io);
        }
        let mut slices: Vec<IoSlice<'_>> = packets
            .iter()
            .flat_map(|(header, payload)| [IoSlice::new(header), IoSlice::new(payload)])
            .collect();
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match io.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => IoSlice::advance_slices(&mut rest, n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Tells the peer that nothing more comes (TLS close notification).
    pub fn close(&mut self, io: &mut impl Write) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // The peer may be gone already; then there is nobody to tell.
            let _ = flush_tls(tls, io);
        }
    }
}

fn flush_tls(tls: &mut rustls::Connection, io: &mut impl Write) -> io::Result<()> {
    while tls.wants_write() {
        if tls.write_tls(io)? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

fn send_wrapped(io: &mut impl Write, records: &[u8]) -> Result<()> {
    let mut chunks = records.chunks(PACKET_BYTES_DEFAULT - HEADER_BYTES).enumerate().peekable();
    let mut out = Vec::with_capacity(records.len() + HEADER_BYTES);
    while let Some((i, chunk)) = chunks.next() {
        let status = Status::empty().with_if(Status::END_OF_MESSAGE, chunks.peek().is_none());
        let header =
            Header { kind: PacketType::PreLogin, status, length: chunk.len() + HEADER_BYTES, spid: 0 };
        out.extend_from_slice(&header.encode(u8::try_from(i % 256).expect("modulo 256")));
        out.extend_from_slice(chunk);
    }
    if !out.is_empty() {
        io.write_all(&out)?;
    }
    Ok(())
}

/// A TLS connection of a server, ready for [`Wire::start_tls`] or [`Wire::start_strict`].
pub fn server_tls(config: std::sync::Arc<rustls::ServerConfig>) -> Result<rustls::Connection> {
    let mut tls = rustls::ServerConnection::new(config)?;
    tls.set_buffer_limit(None);
    Ok(tls.into())
}

/// A TLS connection of a client to the server called `name`.
pub fn client_tls(config: std::sync::Arc<rustls::ClientConfig>, name: &str) -> Result<rustls::Connection> {
    let name = rustls::pki_types::ServerName::try_from(name.to_owned())
        .map_err(|_| WireError::Protocol(DecodeError::Malformed("server name")))?;
    let mut tls = rustls::ClientConnection::new(config, name)?;
    tls.set_buffer_limit(None);
    Ok(tls.into())
}
