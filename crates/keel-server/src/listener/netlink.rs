//! Questions to the system over netlink (`netlink(7)`), one after the other.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

/// A socket to one of the system's subjects.
pub(super) struct Netlink(Socket);

impl Netlink {
    /// `protocol` is one of `NETLINK_…`.
    pub(super) fn open(protocol: isize) -> io::Result<Netlink> {
        let socket = Socket::new(protocol)?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink(socket))
    }

    /// Sends one request and returns what the system answers. Waits for nothing but the system. Errors are the system's.
    pub(super) fn ask<Q, A>(&self, question: Q, flags: u16) -> io::Result<Vec<A>>
    where
        Q: NetlinkSerializable,
        A: NetlinkDeserializable,
    {
        let mut packet =
            NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::InnerMessage(question));
        packet.header.flags = flags;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        let mut answers = Vec::new();
        loop {
            let (bytes, _) = self.0.recv_from_full()?;
            if take_in(&bytes, flags, &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

/// Takes in a datagram of answers. Returns whether it was the last.
fn take_in<A: NetlinkDeserializable>(mut bytes: &[u8], flags: u16, answers: &mut Vec<A>) -> io::Result<bool> {
    while !bytes.is_empty() {
        let answer = NetlinkMessage::<A>::deserialize(bytes).map_err(io::Error::other)?;
        // Lengths are rounded up to four.
        let length = (answer.header.length as usize).next_multiple_of(4).min(bytes.len());
        match answer.payload {
            NetlinkPayload::Error(e) if e.code.is_some() => return Err(e.to_io()),
            NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::InnerMessage(inner) => answers.push(inner),
            _ => {}
        }
        if flags & (NLM_F_DUMP | NLM_F_ACK) == 0 || length == 0 {
            return Ok(true);
        }
        bytes = &bytes[length..];
    }
    Ok(false)
}
