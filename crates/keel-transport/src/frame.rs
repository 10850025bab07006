//! Frames: the byte tables, encoding and decoding.
//!
//! All numbers are little-endian. Every frame begins with:
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | length | bytes of the body, at most [`FRAME_BODY_BYTES_MAX`] |
//! | 4 | 1 | kind | see below |
//! | 5 | 1 | flags | bit 0 (kinds 3 and 8): the payload is [compressed](crate::compress); others 0 |
//! | 6 | 2 | reserved | 0 |
//!
//! | kind | name | body |
//! | ---: | --- | --- |
//! | 1 | hello | 4 magic `KEEL`, 2 oldest version, 2 newest version, 1 purpose (0 member, 1 join), 1 reserved 0, 16 instance id, 8 boot, 32 proof, 2+n name, 2+n endpoint address |
//! | 2 | control | n bytes, opaque here |
//! | 3 | block | 8 session, 8 agreed LSN, n stored block |
//! | 4 | commit | 8 session, 8 agreed LSN |
//! | 5 | ack | 8 session, 8 received, 8 hardened, 8 applied, 8 nanoseconds of the last harden |
//! | 6 | heartbeat | 8 sent, 8 echo, 8 held |
//! | 7 | credit | 1 class (0 log, 1 seed), 8 total |
//! | 8 | seed | 16 operation, 4 stream, 8 chunk, n payload |
//! | 9 | bye | 2 code, 2+n text |
//!
//! A body is exactly as long as its fields; a text is UTF-8 of at most [`TEXT_BYTES_MAX`] bytes behind its length.
//! The first frame in each direction is a hello; its kind, magic and the two versions keep their places in all versions.

use crate::compress;
use crate::limits::{CONTROL_BYTES_MAX, FRAME_BODY_BYTES_MAX, SEED_BYTES_MAX, TEXT_BYTES_MAX};
use keel_base::Lsn;
use keel_log::block::BLOCK_BYTES_MAX;

/// Bytes before the body.
pub const HEADER_BYTES: usize = 8;
const MAGIC: [u8; 4] = *b"KEEL";
const FLAG_COMPRESSED: u8 = 1;

const HELLO: u8 = 1;
const CONTROL: u8 = 2;
const BLOCK: u8 = 3;
const COMMIT: u8 = 4;
const ACK: u8 = 5;
const HEARTBEAT: u8 = 6;
const CREDIT: u8 = 7;
const SEED: u8 = 8;
const BYE: u8 = 9;
const PRODUCT: u8 = 10;

/// Why bytes are not a frame. The connection ends: after such an error nothing in it can be trusted to be in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The body is shorter than its fields.
    #[error("a frame is shorter than its fields")]
    Short,
    /// A length beyond its limit.
    #[error("a frame claims {bytes} bytes, more than is allowed")]
    TooLong {
        /// The length claimed.
        bytes: usize,
    },
    /// A kind this version does not know.
    #[error("frame kind {0} is unknown")]
    Kind(u8),
    /// Unknown flags, a reserved byte that is not zero, an enumeration out of range, bytes left over.
    #[error("a frame of kind {0} has a field out of range")]
    Field(u8),
    /// The other side is not an instance of ours.
    #[error("the peer does not speak this protocol")]
    Magic,
    /// Text that is not UTF-8.
    #[error("a frame's text is not UTF-8")]
    Text,
    /// Compressed bytes that do not decompress.
    #[error("a frame's payload does not decompress")]
    Compressed,
}

/// One attempt of one secondary to follow one primary's log of one database. Drawn at random by the follower, so that nothing
/// late from an earlier attempt is mistaken for news; it also says which database is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session(pub u64);

/// Why a connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// By an instance whose certificate is trusted already.
    Member,
    /// By one that proves with a join token's secret that it may become trusted.
    Join,
    /// The same, by one that will only vote in the cluster.
    JoinAsWitness,
}

/// The first frame in each direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Oldest protocol version understood.
    pub version_min: u16,
    /// Newest.
    pub version_max: u16,
    /// Why the connection is made; the accepting side repeats it.
    pub purpose: Purpose,
    /// The instance that speaks.
    pub instance: [u8; 16],
    /// Random per start of the process: tells a restarted peer from one that was merely cut off.
    pub boot: u64,
    /// Proof of the join secret; zeros otherwise.
    pub proof: [u8; 32],
    /// Server name.
    pub name: String,
    /// Its own endpoint address (`TCP://host:port`), empty when it has none.
    pub url: String,
}

/// A block of log in stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Whose log, for whom.
    pub session: Session,
    /// The commit point the group has agreed on, as the sender knew it.
    pub agreed: Lsn,
    /// Header and payload as stored, uncompressed.
    pub stored: Vec<u8>,
    /// Bytes the payload took in the frame.
    pub wire_bytes: usize,
}

/// How far a replica has come with one database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Which database, in which attempt.
    pub session: Session,
    /// Everything before this has arrived.
    pub received: Lsn,
    /// Everything before this survives a power cut here.
    pub hardened: Lsn,
    /// Everything before this can be read here.
    pub applied: Lsn,
    /// Nanoseconds the last harden took.
    pub harden_nanos: u64,
}

/// Sign of life, and the round trip's measure. Times are the sender's monotonic nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// When it was sent.
    pub sent: u64,
    /// `sent` of the last heartbeat that came from the receiver of this one; 0 when none has.
    pub echo: u64,
    /// How long that one lay here.
    pub held: u64,
}

/// What credit is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Blocks of log.
    Log,
    /// Seeding chunks.
    Seed,
}

/// A piece of a database on its way to a new replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedChunk {
    /// The seeding it belongs to.
    pub operation: [u8; 16],
    /// Which of its streams.
    pub stream: u32,
    /// Number within the stream, from 0.
    pub chunk: u64,
    /// The source's bytes, uncompressed.
    pub payload: Vec<u8>,
    /// Bytes the payload took in the frame.
    pub wire_bytes: usize,
}

/// Everything that goes over a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// First in each direction.
    Hello(Hello),
    /// The product's version on the side that says it: second in each direction, where both speak
    /// [`VERSION_PRODUCT`](crate::limits::VERSION_PRODUCT). Hellos stay as they are for ever, or two versions could not even refuse each other.
    Product(String),
    /// A message of the layers above.
    Control(Vec<u8>),
    /// Log.
    Block(Block),
    /// The agreed commit point moved while there is no block to carry it.
    Commit {
        /// Which database, for whom.
        session: Session,
        /// The agreed commit point.
        agreed: Lsn,
    },
    /// Positions of a replica.
    Ack(Ack),
    /// Sign of life.
    Heartbeat(Heartbeat),
    /// More may be sent.
    Credit {
        /// Of what.
        class: Class,
        /// In total since the connection began.
        total: u64,
    },
    /// Part of a seeding.
    Seed(SeedChunk),
    /// The connection ends, and why.
    Bye {
        /// A number of the layer above.
        code: u16,
        /// For people.
        text: String,
    },
}

/// Writes a header with an open length, the body through `body`, then the length.
fn framed(out: &mut Vec<u8>, kind: u8, flags: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, kind, flags, 0, 0]);
    body(out);
    let length = out.len() - start - HEADER_BYTES;
    assert!(length <= FRAME_BODY_BYTES_MAX, "a frame of {length} bytes is longer than a receiver takes");
    let length = u32::try_from(length).expect("the limit fits");
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let length = u16::try_from(end).expect("the limit fits");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&text.as_bytes()[..end]);
}

/// Appends a block frame without copying the block twice. `compressed` is what [`compress::compress`] made of `stored`.
/// Returns the bytes that count against credit.
pub fn encode_block(
    out: &mut Vec<u8>,
    session: Session,
    agreed: Lsn,
    stored: &[u8],
    compressed: Option<&[u8]>,
) -> usize {
    let payload = compressed.unwrap_or(stored);
    out.extend_from_slice(&block_head(session, agreed, payload.len(), compressed.is_some()));
    out.extend_from_slice(payload);
    payload.len()
}

/// What comes before the payload in a block's frame.
pub const BLOCK_HEAD_BYTES: usize = HEADER_BYTES + 16;

/// The frame of a block up to its payload of `payload_bytes`: for who sends the payload from where it is.
#[must_use]
pub fn block_head(
    session: Session,
    agreed: Lsn,
    payload_bytes: usize,
    compressed: bool,
) -> [u8; BLOCK_HEAD_BYTES] {
    let length = BLOCK_HEAD_BYTES - HEADER_BYTES + payload_bytes;
    assert!(length <= FRAME_BODY_BYTES_MAX, "a frame of {length} bytes is longer than a receiver takes");
    let mut head = [0; BLOCK_HEAD_BYTES];
    head[..4].copy_from_slice(&u32::try_from(length).expect("the limit fits").to_le_bytes());
    head[4] = BLOCK;
    head[5] = if compressed { FLAG_COMPRESSED } else { 0 };
    head[8..16].copy_from_slice(&session.0.to_le_bytes());
    head[16..].copy_from_slice(&agreed.0.to_le_bytes());
    head
}

/// Appends a seeding frame; the same for its payload. Returns the bytes that count against credit.
pub fn encode_seed(
    out: &mut Vec<u8>,
    operation: [u8; 16],
    stream: u32,
    chunk: u64,
    payload: &[u8],
    compressed: Option<&[u8]>,
) -> usize {
    let sent = compressed.unwrap_or(payload);
    framed(out, SEED, if compressed.is_some() { FLAG_COMPRESSED } else { 0 }, |out| {
        out.extend_from_slice(&operation);
        out.extend_from_slice(&stream.to_le_bytes());
        out.extend_from_slice(&chunk.to_le_bytes());
        out.extend_from_slice(sent);
    });
    sent.len()
}

impl Frame {
    /// Appends the frame's bytes. Texts longer than the limit are cut; blocks and chunks go uncompressed.
    ///
    /// # Panics
    /// If a control message or a payload is longer than its limit: the layers above know the limits.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Hello(hello) => framed(out, HELLO, 0, |out| hello.put(out)),
            Frame::Product(version) => framed(out, PRODUCT, 0, |out| put_text(out, version)),
            Frame::Control(bytes) => {
                assert!(bytes.len() <= CONTROL_BYTES_MAX, "a control message of {} bytes", bytes.len());
                framed(out, CONTROL, 0, |out| out.extend_from_slice(bytes));
            }
            Frame::Block(block) => {
                let _ = encode_block(out, block.session, block.agreed, &block.stored, None);
            }
            Frame::Commit { session, agreed } => framed(out, COMMIT, 0, |out| {
                out.extend_from_slice(&session.0.to_le_bytes());
                out.extend_from_slice(&agreed.0.to_le_bytes());
            }),
            Frame::Ack(ack) => framed(out, ACK, 0, |out| {
                for number in [ack.session.0, ack.received.0, ack.hardened.0, ack.applied.0, ack.harden_nanos]
                {
                    out.extend_from_slice(&number.to_le_bytes());
                }
            }),
            Frame::Heartbeat(beat) => framed(out, HEARTBEAT, 0, |out| {
                for number in [beat.sent, beat.echo, beat.held] {
                    out.extend_from_slice(&number.to_le_bytes());
                }
            }),
            Frame::Credit { class, total } => framed(out, CREDIT, 0, |out| {
                out.push(u8::from(*class == Class::Seed));
                out.extend_from_slice(&total.to_le_bytes());
            }),
            Frame::Seed(seed) => {
                let _ = encode_seed(out, seed.operation, seed.stream, seed.chunk, &seed.payload, None);
            }
            Frame::Bye { code, text } => framed(out, BYE, 0, |out| {
                out.extend_from_slice(&code.to_le_bytes());
                put_text(out, text);
            }),
        }
    }

    /// The frame as bytes of its own.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }

    /// Decodes a body whose header has been read.
    pub(crate) fn decode(kind: u8, flags: u8, body: &[u8]) -> Result<Frame, FrameError> {
        let compressible = matches!(kind, BLOCK | SEED);
        if flags & !FLAG_COMPRESSED != 0 || (flags != 0 && !compressible) {
            return Err(FrameError::Field(kind));
        }
        let compressed = flags & FLAG_COMPRESSED != 0;
        let mut fields = Fields { rest: body };
        let frame = match kind {
            HELLO => Frame::Hello(Hello::take(&mut fields)?),
            CONTROL if body.len() > CONTROL_BYTES_MAX => {
                return Err(FrameError::TooLong { bytes: body.len() });
            }
            CONTROL => Frame::Control(fields.all().to_vec()),
            BLOCK => {
                let session = Session(fields.u64()?);
                let agreed = Lsn(fields.u64()?);
                let (stored, wire_bytes) = fields.payload(compressed, BLOCK_BYTES_MAX)?;
                Frame::Block(Block { session, agreed, stored, wire_bytes })
            }
            COMMIT => Frame::Commit { session: Session(fields.u64()?), agreed: Lsn(fields.u64()?) },
            ACK => Frame::Ack(Ack {
                session: Session(fields.u64()?),
                received: Lsn(fields.u64()?),
                hardened: Lsn(fields.u64()?),
                applied: Lsn(fields.u64()?),
                harden_nanos: fields.u64()?,
            }),
            HEARTBEAT => {
                Frame::Heartbeat(Heartbeat { sent: fields.u64()?, echo: fields.u64()?, held: fields.u64()? })
            }
            CREDIT => {
                let class = match fields.array::<1>()? {
                    [0] => Class::Log,
                    [1] => Class::Seed,
                    _ => return Err(FrameError::Field(kind)),
                };
                Frame::Credit { class, total: fields.u64()? }
            }
            SEED => {
                let (operation, stream, chunk) = (fields.array()?, fields.u32()?, fields.u64()?);
                let (payload, wire_bytes) = fields.payload(compressed, SEED_BYTES_MAX)?;
                Frame::Seed(SeedChunk { operation, stream, chunk, payload, wire_bytes })
            }
            PRODUCT => Frame::Product(fields.text()?),
            BYE => Frame::Bye { code: fields.u16()?, text: fields.text()? },
            _ => return Err(FrameError::Kind(kind)),
        };
        if !fields.rest.is_empty() {
            return Err(FrameError::Field(kind));
        }
        Ok(frame)
    }
}

impl Hello {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.version_min.to_le_bytes());
        out.extend_from_slice(&self.version_max.to_le_bytes());
        let purpose = match self.purpose {
            Purpose::Member => 0,
            Purpose::Join => 1,
            Purpose::JoinAsWitness => 2,
        };
        out.extend_from_slice(&[purpose, 0]);
        out.extend_from_slice(&self.instance);
        out.extend_from_slice(&self.boot.to_le_bytes());
        out.extend_from_slice(&self.proof);
        put_text(out, &self.name);
        put_text(out, &self.url);
    }

    fn take(fields: &mut Fields<'_>) -> Result<Hello, FrameError> {
        if fields.array::<4>()? != MAGIC {
            return Err(FrameError::Magic);
        }
        let (version_min, version_max) = (fields.u16()?, fields.u16()?);
        let purpose = match fields.array::<2>()? {
            [0, 0] => Purpose::Member,
            [1, 0] => Purpose::Join,
            [2, 0] => Purpose::JoinAsWitness,
            _ => return Err(FrameError::Field(HELLO)),
        };
        Ok(Hello {
            version_min,
            version_max,
            purpose,
            instance: fields.array()?,
            boot: fields.u64()?,
            proof: fields.array()?,
            name: fields.text()?,
            url: fields.text()?,
        })
    }
}

/// What is left of a body.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (field, rest) = self.rest.split_first_chunk().ok_or(FrameError::Short)?;
        self.rest = rest;
        Ok(*field)
    }

    fn u16(&mut self) -> Result<u16, FrameError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, FrameError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, FrameError> {
        self.array().map(u64::from_le_bytes)
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn text(&mut self) -> Result<String, FrameError> {
        let length = usize::from(self.u16()?);
        if length > TEXT_BYTES_MAX {
            return Err(FrameError::TooLong { bytes: length });
        }
        let (text, rest) = self.rest.split_at_checked(length).ok_or(FrameError::Short)?;
        self.rest = rest;
        String::from_utf8(text.to_vec()).map_err(|_| FrameError::Text)
    }

    /// The rest as a payload, and the bytes it took.
    fn payload(&mut self, compressed: bool, bytes_max: usize) -> Result<(Vec<u8>, usize), FrameError> {
        let bytes = self.all();
        if compressed {
            return Ok((compress::decompress(bytes, bytes_max)?, bytes.len()));
        }
        if bytes.len() > bytes_max {
            return Err(FrameError::TooLong { bytes: bytes.len() });
        }
        Ok((bytes.to_vec(), bytes.len()))
    }
}
