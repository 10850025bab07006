//! [`Decoder`]: a stream of bytes cut into frames.

use crate::frame::{Frame, FrameError, HEADER_BYTES};
use crate::limits::FRAME_BODY_BYTES_MAX;

/// Takes bytes as they come and gives frames. After an error it gives nothing more.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Where the next frame begins in `bytes`.
    at: usize,
    failed: Option<FrameError>,
}

impl Decoder {
    /// With nothing received.
    #[must_use]
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Where at least `bytes` more can be appended by a reader.
    pub fn space(&mut self, bytes: usize) -> &mut Vec<u8> {
        if self.at > 0 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.reserve(bytes);
        &mut self.bytes
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.space(bytes.len()).extend_from_slice(bytes);
    }

    /// The next whole frame; `None` when more bytes are needed.
    #[allow(clippy::should_implement_trait)] // an error here is final, and `None` is not the end
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.take().inspect_err(|error| self.failed = Some(*error))
    }

    fn take(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.bytes[self.at..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let [l0, l1, l2, l3, kind, flags, r0, r1] = *header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > FRAME_BODY_BYTES_MAX {
            return Err(FrameError::TooLong { bytes: length });
        }
        if [r0, r1] != [0, 0] {
            return Err(FrameError::Field(kind));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = Frame::decode(kind, flags, body)?;
        self.at += HEADER_BYTES + length;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress;
    use crate::frame::{self, Ack, Block, Class, Heartbeat, Hello, Purpose, SeedChunk, Session};
    use keel_base::Lsn;
    use proptest::prelude::*;

    fn session() -> impl Strategy<Value = Session> {
        any::<u64>().prop_map(Session)
    }

    fn hello() -> impl Strategy<Value = Frame> {
        let numbers = (any::<u16>(), any::<u16>(), any::<bool>(), any::<u64>());
        (numbers, any::<[u8; 16]>(), any::<[u8; 32]>(), ".{0,40}", ".{0,40}").prop_map(
            |((version_min, version_max, join, boot), instance, proof, name, url)| {
                let purpose = if join { Purpose::Join } else { Purpose::Member };
                Frame::Hello(Hello { version_min, version_max, purpose, instance, boot, proof, name, url })
            },
        )
    }

    fn any_frame() -> impl Strategy<Value = Frame> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..2000);
        prop_oneof![
            hello(),
            ".{0,40}".prop_map(Frame::Product),
            bytes().prop_map(Frame::Control),
            (session(), any::<u64>(), bytes()).prop_map(|(session, agreed, stored)| {
                let wire_bytes = stored.len();
                Frame::Block(Block { session, agreed: Lsn(agreed), stored, wire_bytes })
            }),
            (session(), any::<u64>())
                .prop_map(|(session, agreed)| Frame::Commit { session, agreed: Lsn(agreed) }),
            (session(), any::<[u64; 4]>()).prop_map(|(session, [r, h, a, harden_nanos])| {
                let (received, hardened, applied) = (Lsn(r), Lsn(h), Lsn(a));
                Frame::Ack(Ack { session, received, hardened, applied, harden_nanos })
            }),
            any::<[u64; 3]>().prop_map(|[sent, echo, held]| Frame::Heartbeat(Heartbeat { sent, echo, held })),
            (any::<bool>(), any::<u64>()).prop_map(|(seed, total)| Frame::Credit {
                class: if seed { Class::Seed } else { Class::Log },
                total
            }),
            (any::<[u8; 16]>(), any::<u32>(), any::<u64>(), bytes()).prop_map(
                |(operation, stream, chunk, payload)| {
                    let wire_bytes = payload.len();
                    Frame::Seed(SeedChunk { operation, stream, chunk, payload, wire_bytes })
                }
            ),
            (any::<u16>(), ".{0,60}").prop_map(|(code, text)| Frame::Bye { code, text }),
        ]
    }

    /// All frames of `bytes` until they run out.
    fn drain(decoder: &mut Decoder) -> Result<Vec<Frame>, FrameError> {
        let mut frames = Vec::new();
        while let Some(frame) = decoder.next()? {
            frames.push(frame);
        }
        Ok(frames)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// However the stream is cut into reads, the frames are those that were sent.
        #[test]
        fn frames_come_back_whatever_the_reads(
            frames in prop::collection::vec(any_frame(), 1..8),
            cuts in prop::collection::vec(1usize..700, 1..20),
        ) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|f| f.encode(&mut bytes));
            let (mut decoder, mut got, mut rest) = (Decoder::new(), Vec::new(), &bytes[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                decoder.push(now);
                got.extend(drain(&mut decoder).unwrap());
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(got, frames);
        }

        /// A byte changed anywhere gives frames, "not yet" or an error, and after an error nothing more.
        #[test]
        fn damage_never_panics(frame in any_frame(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let mut bytes = frame.to_bytes();
            let at = at.index(bytes.len());
            bytes[at] = to;
            let mut decoder = Decoder::new();
            decoder.push(&bytes);
            if let Err(error) = drain(&mut decoder) {
                decoder.push(&Frame::Control(vec![]).to_bytes());
                prop_assert_eq!(decoder.next(), Err(error));
            }
        }

        /// Nothing at all is known about the bytes.
        #[test]
        fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0u8..12, flags in 0u8..3) {
            let mut decoder = Decoder::new();
            decoder.push(&bytes);
            let _ = drain(&mut decoder);
            let _ = Frame::decode(kind, flags, &bytes);
        }

        #[test]
        fn a_compressed_block_is_the_block(session in any::<u64>().prop_map(Session), bytes in prop::collection::vec(any::<u8>(), 1..50)) {
            let stored = bytes.repeat(40);
            let packed = compress::compress(&stored);
            let mut out = Vec::new();
            let counted = frame::encode_block(&mut out, session, Lsn(5), &stored, packed.as_deref());
            let mut decoder = Decoder::new();
            decoder.push(&out);
            let Ok(Some(Frame::Block(block))) = decoder.next() else { panic!("a block was sent") };
            prop_assert_eq!(block.wire_bytes, counted);
            prop_assert_eq!(block.stored, stored);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_it_is_awaited() {
        let mut decoder = Decoder::new();
        decoder.push(&[255, 255, 255, 255, 2, 0, 0, 0]);
        assert!(matches!(decoder.next(), Err(FrameError::TooLong { .. })));
    }

    #[test]
    fn bytes_left_over_and_unknown_kinds_are_refused() {
        let mut beat = Frame::Heartbeat(Heartbeat::default()).to_bytes();
        beat[0] += 1;
        beat.push(0);
        let mut decoder = Decoder::new();
        decoder.push(&beat);
        assert_eq!(decoder.next(), Err(FrameError::Field(6)));
        assert_eq!(Frame::decode(77, 0, &[]), Err(FrameError::Kind(77)));
        assert_eq!(Frame::decode(6, 1, &[0; 24]), Err(FrameError::Field(6)));
    }

    #[test]
    fn texts_are_cut_at_a_character() {
        let text = "ä".repeat(1000);
        let mut decoder = Decoder::new();
        decoder.push(&Frame::Bye { code: 1, text }.to_bytes());
        assert_eq!(decoder.next(), Ok(Some(Frame::Bye { code: 1, text: "ä".repeat(512) })));
    }
}
