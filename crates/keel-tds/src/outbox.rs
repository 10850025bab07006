//! A message on its way out: payload appended by writers, cut into packets only when it leaves.
//!
//! The first eight bytes of the buffer are kept free, so that a message of one packet (nearly every answer) goes out
//! in one piece; longer ones go out as header and chunk pairs in one gathering write.

use std::io::{self, Write};

use crate::limits::{BUFFER_KEEP_BYTES, HEADER_BYTES, OUTBOX_FLUSH_BYTES, PACKET_BYTES_DEFAULT};
use crate::packet::{Header, PacketType, Status};
use crate::wire::Wire;

/// A message being written.
#[derive(Debug)]
pub struct Outbox {
    buffer: Vec<u8>,
    kind: PacketType,
    first_status: Status,
    packet_bytes: usize,
    packet_id: u8,
    spid: u16,
    /// Whether packets of this message have left already.
    started: bool,
}

impl Outbox {
    /// An empty message of type `kind`.
    #[must_use]
    pub fn new(kind: PacketType) -> Outbox {
        Outbox {
            buffer: vec![0; HEADER_BYTES],
            kind,
            first_status: Status::empty(),
            packet_bytes: PACKET_BYTES_DEFAULT,
            packet_id: 1,
            spid: 0,
            started: false,
        }
    }
    /// Sets the packet size that the login agreed on.
    pub fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes;
    }
    /// The packet size now.
    #[must_use]
    pub const fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }
    /// Sets the server process id put into headers.
    pub fn set_spid(&mut self, spid: u16) {
        self.spid = spid;
    }
    /// Starts another message, dropping what was not sent.
    pub fn start(&mut self, kind: PacketType, first_status: Status) {
        self.buffer.truncate(HEADER_BYTES);
        self.kind = kind;
        self.first_status = first_status;
        self.packet_id = 1;
        self.started = false;
    }
    /// Drops what of the message was not sent; false when some of it was.
    pub fn take_back(&mut self) -> bool {
        self.buffer.truncate(HEADER_BYTES);
        !self.started
    }
    /// Where writers append. What is before its present end must stay.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }
    /// Bytes written and not yet sent.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.buffer.len() - HEADER_BYTES
    }
    /// Whether nothing of this message has been sent or is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.started && self.pending() == 0
    }
    /// Whether enough has gathered that [`Outbox::flush_full`] should be called.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.buffer.len() > OUTBOX_FLUSH_BYTES
    }

    /// Sends all whole packets, keeping at least one byte for the last.
    pub fn flush_full(&mut self, wire: &mut Wire, io: &mut impl Write) -> io::Result<()> {
        let chunk = self.packet_bytes - HEADER_BYTES;
        let packets = self.pending().saturating_sub(1) / chunk;
        if packets == 0 {
            return Ok(());
        }
        let sent = packets * chunk;
        self.send(wire, io, sent, false)?;
        self.buffer.copy_within(HEADER_BYTES + sent.., HEADER_BYTES);
        self.buffer.truncate(self.buffer.len() - sent);
        Ok(())
    }

    /// Sends everything pending now without ending the message, so that the client sees it at once.
    pub fn flush_all(&mut self, wire: &mut Wire, io: &mut impl Write) -> io::Result<()> {
        let sent = self.pending();
        if sent > 0 {
            self.send(wire, io, sent, false)?;
            self.buffer.truncate(HEADER_BYTES);
        }
        Ok(())
    }

    /// Sends the rest and ends the message.
    pub fn finish(&mut self, wire: &mut Wire, io: &mut impl Write) -> io::Result<()> {
        if self.buffer.len() <= self.packet_bytes {
            let header = self.next_header(self.buffer.len(), true);
            self.buffer[..HEADER_BYTES].copy_from_slice(&header);
            wire.send_one(io, &self.buffer)?;
        } else {
            self.send(wire, io, self.pending(), true)?;
        }
        self.buffer.truncate(HEADER_BYTES);
        if self.buffer.capacity() > BUFFER_KEEP_BYTES {
            self.buffer.shrink_to(OUTBOX_FLUSH_BYTES);
        }
        self.packet_id = 1;
        self.started = false;
        Ok(())
    }

    fn send(&mut self, wire: &mut Wire, io: &mut impl Write, bytes: usize, end: bool) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let mut chunks =
            buffer[HEADER_BYTES..HEADER_BYTES + bytes].chunks(self.packet_bytes - HEADER_BYTES).peekable();
        let mut packets = Vec::with_capacity(chunks.len());
        while let Some(chunk) = chunks.next() {
            packets
                .push((self.next_header(chunk.len() + HEADER_BYTES, end && chunks.peek().is_none()), chunk));
        }
        let sent = wire.send_packets(io, &packets);
        self.buffer = buffer;
        sent
    }

    fn next_header(&mut self, length: usize, end: bool) -> [u8; HEADER_BYTES] {
        let first = if self.started { Status::empty() } else { self.first_status };
        self.started = true;
        let status = first.with_if(Status::END_OF_MESSAGE, end);
        let id = self.packet_id;
        self.packet_id = id.wrapping_add(1);
        Header { kind: self.kind, status, length, spid: self.spid }.encode(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is written in whatever pieces arrives as one message, whatever the packet size and read sizes.
        #[test]
        fn messages_survive_packets_and_short_reads(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 0..8),
            packet_bytes in 512usize..3000,
            read_bytes in 1usize..5000,
        ) {
            let mut wire = Wire::new();
            let mut stream = Vec::new();
            for _ in 0..2 {
                let mut outbox = Outbox::new(PacketType::TabularResult);
                outbox.set_packet_bytes(packet_bytes);
                for piece in &pieces {
                    outbox.payload().extend_from_slice(piece);
                    outbox.flush_full(&mut wire, &mut stream).expect("memory takes it");
                }
                outbox.finish(&mut wire, &mut stream).expect("memory takes it");
            }
            let mut input = Dribble { bytes: &stream, at_most: read_bytes };
            for _ in 0..2 {
                let message = wire.read_message(&mut input).expect("whole");
                prop_assert_eq!(message.payload(), &pieces.concat()[..]);
                wire.recycle(message);
            }
            prop_assert!(!wire.has_input());
        }

        #[test]
        fn arbitrary_streams_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut wire = Wire::new();
            let mut input = &bytes[..];
            while wire.read_message(&mut input).is_ok() {}
        }
    }

    struct Dribble<'a> {
        bytes: &'a [u8],
        at_most: usize,
    }

    impl io::Read for Dribble<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.at_most.min(buf.len());
            io::Read::read(&mut self.bytes, &mut buf[..n])
        }
    }
}
