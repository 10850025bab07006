//! Several conversations over one connection (\[MC-SMP\], the session multiplex protocol): what clients mean by multiple active
//! result sets.
//!
//! After a login that asked for it, everything travels in frames of a 16-byte header and a part of one conversation:
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | 0x53 |
//! | 1 | 1 | flags: 1 SYN opens a conversation, 2 ACK, 4 FIN closes one, 8 DATA |
//! | 2 | 2 | conversation, little-endian like all that follows |
//! | 4 | 4 | length with this header |
//! | 8 | 4 | number of the frame among those with DATA of its conversation, from 1 |
//! | 12 | 4 | window: the highest number that the sender of this header takes |
//!
//! Requests are executed one after the other, in the order in which they came: while one conversation's result is being read
//! slowly, what the client's window does not take of it waits here, and the next conversation's request runs. The machine below
//! holds no socket: bytes go in, packets of the conversation that is served come out, and bytes to send are handed over.

use std::collections::{BTreeMap, VecDeque};

use crate::error::{DecodeError, Result};
use crate::limits::{CONVERSATIONS_MAX, HEADER_BYTES, PACKET_BYTES_MAX, SMP_WINDOW};
use crate::packet::Header;

/// Bytes of a frame's header.
const FRAME_BYTES: usize = 16;
/// First byte of every frame.
const MARK: u8 = 0x53;

const SYN: u8 = 1;
const ACK: u8 = 2;
const FIN: u8 = 4;
const DATA: u8 = 8;

/// One conversation.
#[derive(Debug, Default)]
struct Conversation {
    /// Received and not yet taken, whole packets and perhaps the beginning of one.
    inbox: VecDeque<u8>,
    /// Number of the last DATA frame received.
    received: u32,
    /// Number of the last DATA frame sent.
    sent: u32,
    /// Highest number the client takes.
    window: u32,
    /// Packets that the window did not let go.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
}

impl Conversation {
    fn header(&self, id: u16, flags: u8, bytes: usize) -> [u8; FRAME_BYTES] {
        let mut out = [0; FRAME_BYTES];
        out[0] = MARK;
        out[1] = flags;
        out[2..4].copy_from_slice(&id.to_le_bytes());
        let length = u32::try_from(FRAME_BYTES + bytes).expect("a packet is at most 32767 bytes");
        out[4..8].copy_from_slice(&length.to_le_bytes());
        out[8..12].copy_from_slice(&self.sent.to_le_bytes());
        out[12..].copy_from_slice(&self.received.wrapping_add(SMP_WINDOW).to_le_bytes());
        out
    }

    /// Length of the packet at the front of the inbox, if it is there whole.
    fn packet(&self) -> Result<Option<usize>> {
        let mut header = [0; HEADER_BYTES];
        if self.inbox.len() < HEADER_BYTES {
            return Ok(None);
        }
        self.inbox.iter().zip(&mut header).for_each(|(from, to)| *to = *from);
        let length = Header::decode(&header)?.length;
        Ok((self.inbox.len() >= length).then_some(length))
    }
}

/// All conversations of a connection.
#[derive(Debug, Default)]
pub struct Multiplex {
    /// A frame that has not arrived whole.
    partial: Vec<u8>,
    conversations: BTreeMap<u16, Conversation>,
    /// Whose packets arrived, in that order; those taken since are passed over.
    arrived: VecDeque<u16>,
    /// The conversation that is served.
    current: u16,
    /// Bytes to send.
    out: Vec<u8>,
}

impl Multiplex {
    /// Takes bytes from the peer.
    ///
    /// Valid when each frame (1) begins with the mark, (2) has one of the four flags, (3) is not longer than the largest packet,
    /// (4) belongs to an open conversation, or opens one that is not, and there are not too many.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<()> {
        self.partial.extend_from_slice(bytes);
        let partial = std::mem::take(&mut self.partial);
        let mut rest = &partial[..];
        while let Some(header) = rest.first_chunk::<FRAME_BYTES>() {
            let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
            let length = usize::try_from(word(4)).map_err(|_| DecodeError::Limit("frame length"))?;
            if header[0] != MARK || length < FRAME_BYTES {
                return Err(DecodeError::Malformed("frame"));
            }
            if length > FRAME_BYTES + PACKET_BYTES_MAX {
                return Err(DecodeError::Limit("frame length"));
            }
            if rest.len() < length {
                break;
            }
            let (frame, next) = rest.split_at(length);
            let id = u16::from_le_bytes([header[2], header[3]]);
            self.frame(header[1], id, (word(8), word(12)), &frame[FRAME_BYTES..])?;
            rest = next;
        }
        self.partial = rest.to_vec();
        Ok(())
    }

    fn frame(&mut self, flags: u8, id: u16, (number, window): (u32, u32), data: &[u8]) -> Result<()> {
        if flags == SYN {
            if self.conversations.contains_key(&id) || self.conversations.len() >= CONVERSATIONS_MAX {
                return Err(DecodeError::Limit("conversations"));
            }
            let opened = Conversation { window, ..Conversation::default() };
            // Told at once how much it may send: it waits for that in the middle of a long request.
            self.out.extend(opened.header(id, ACK, 0));
            self.conversations.insert(id, opened);
            return Ok(());
        }
        let Some(conversation) = self.conversations.get_mut(&id) else {
            // What was under way when the conversation was closed.
            return if flags == ACK { Ok(()) } else { Err(DecodeError::Malformed("conversation")) };
        };
        match flags {
            ACK => conversation.window = window,
            DATA => {
                (conversation.received, conversation.window) = (number, window);
                conversation.inbox.extend(data);
                self.arrived.push_back(id);
            }
            FIN => {
                self.out.extend(conversation.header(id, FIN, 0));
                self.conversations.remove(&id);
                return Ok(());
            }
            _ => return Err(DecodeError::Malformed("frame flags")),
        }
        self.release(id);
        Ok(())
    }

    /// Sends what the window lets go.
    fn release(&mut self, id: u16) {
        let Some(c) = self.conversations.get_mut(&id) else { return };
        while c.window.wrapping_sub(c.sent).cast_signed() > 0 {
            let Some(packet) = c.waiting.pop_front() else { break };
            c.waiting_bytes -= packet.len();
            c.sent = c.sent.wrapping_add(1);
            let header = c.header(id, DATA, packet.len());
            self.out.extend(header);
            self.out.extend(packet);
        }
    }

    /// A packet of the conversation that is served, on its way out. One that has been closed hears nothing more.
    pub fn send(&mut self, packet: &[&[u8]]) {
        let id = self.current;
        let Some(c) = self.conversations.get_mut(&id) else { return };
        let packet = packet.concat();
        c.waiting_bytes += packet.len();
        c.waiting.push_back(packet);
        self.release(id);
    }

    /// Bytes to send now.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Serves the conversation whose packet came first; whether there is one.
    pub fn choose(&mut self) -> Result<bool> {
        while let Some(id) = self.arrived.pop_front() {
            if let Some(c) = self.conversations.get(&id)
                && c.packet()?.is_some()
            {
                self.current = id;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next packet of the conversation that is served, appended to `to`; whether there was one.
    pub fn take_packet(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        let Some(c) = self.conversations.get_mut(&self.current) else { return Ok(false) };
        let Some(length) = c.packet()? else { return Ok(false) };
        to.extend(c.inbox.drain(..length));
        Ok(true)
    }

    /// Bytes of the conversation that is served which its client's window holds back.
    #[must_use]
    pub fn held_back(&self) -> usize {
        self.conversations.get(&self.current).map_or(0, |c| c.waiting_bytes)
    }

    /// The conversations that are open.
    pub fn open(&self) -> impl Iterator<Item = u16> + '_ {
        self.conversations.keys().copied()
    }

    /// Whether another conversation has asked for something.
    #[must_use]
    pub fn others_wait(&self) -> bool {
        let asks = |(id, c): (&u16, &Conversation)| *id != self.current && !c.inbox.is_empty();
        self.conversations.iter().any(asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(flags: u8, id: u16, number: u32, window: u32, data: &[u8]) -> Vec<u8> {
        let mut c = Conversation { sent: number, ..Conversation::default() };
        c.received = window.wrapping_sub(SMP_WINDOW);
        [&c.header(id, flags, data.len())[..], data].concat()
    }

    fn packet(text: u8) -> Vec<u8> {
        vec![1, 1, 0, 9, 0, 0, 1, 0, text]
    }

    #[test]
    fn conversations_are_served_in_the_order_of_their_requests() {
        let mut m = Multiplex::default();
        let mut bytes = Vec::new();
        for id in [0, 1] {
            bytes.extend(frame(SYN, id, 0, 4, &[]));
        }
        bytes.extend(frame(DATA, 1, 1, 4, &packet(11)));
        bytes.extend(frame(DATA, 0, 1, 4, &packet(10)));
        // However it is cut.
        bytes.chunks(7).for_each(|part| m.receive(part).unwrap());
        let mut taken = Vec::new();
        while m.choose().unwrap() {
            while m.take_packet(&mut taken).unwrap() {}
        }
        assert_eq!(taken, [packet(11), packet(10)].concat());
        let opened = m.take_output();
        assert_eq!((opened.len(), opened[1], opened[17]), (32, ACK, ACK));
    }

    #[test]
    fn what_the_window_does_not_take_waits_for_an_acknowledgement() {
        let mut m = Multiplex::default();
        m.receive(&frame(SYN, 0, 0, 2, &[])).unwrap();
        m.receive(&frame(DATA, 0, 1, 2, &packet(1))).unwrap();
        assert!(m.choose().unwrap());
        m.take_output();
        (0..5).for_each(|i| m.send(&[&packet(i)]));
        assert_eq!((m.take_output().len(), m.held_back()), (2 * 25, 3 * 9));
        m.receive(&frame(ACK, 0, 1, 4, &[])).unwrap();
        assert_eq!((m.take_output().len(), m.held_back()), (2 * 25, 9));
        m.receive(&frame(FIN, 0, 1, 4, &[])).unwrap();
        m.send(&[&packet(9)]);
        assert_eq!((m.take_output()[1], m.held_back()), (FIN, 0));
    }

    #[test]
    fn frames_that_cannot_be_are_refused() {
        let mut m = Multiplex::default();
        m.receive(&frame(SYN, 0, 0, 4, &[])).unwrap();
        for bad in
            [frame(SYN, 0, 0, 4, &[]), frame(DATA, 9, 1, 4, &packet(1)), frame(3, 0, 1, 4, &[]), vec![0; 16]]
        {
            let mut again = Multiplex::default();
            again.receive(&frame(SYN, 0, 0, 4, &[])).unwrap();
            assert!(again.receive(&bad).is_err());
        }
        let mut long = frame(DATA, 0, 1, 4, &[]);
        long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(m.receive(&long), Err(DecodeError::Limit("frame length")));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut m = Multiplex::default();
            m.receive(&frame(SYN, 0, 0, 4, &[])).unwrap();
            let mut out = Vec::new();
            if m.receive(&bytes).is_ok() && m.choose().is_ok() {
                let _ = m.take_packet(&mut out);
            }
        }
    }
}
