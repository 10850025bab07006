//! What another instance says: a stream of frames, and the messages in them.

use keel_base::{Epoch, Lsn};
use keel_cluster::{GroupDatabaseId, GroupId, Msg, ReplicaId, SessionId};
use keel_group::token::JoinToken;
use keel_log::block;
use keel_node::seed::SeedInfo;
use keel_transport::compress;
use keel_transport::frame::{self, Ack, Class, Frame, Heartbeat, Hello, Purpose, SeedChunk, Session};
use keel_transport::{Block, Decoder};
use uuid::Uuid;

const STREAM: u8 = 0;
const CONTROL: u8 = 1;
const COMPRESSED: u8 = 2;
const SEED_INFO: u8 = 3;
const TOKEN: u8 = 4;
const KINDS: u8 = 5;

/// The most that decompressing may give here.
const PLAIN_BYTES_MAX: usize = 1 << 20;

/// Reads what a peer sent.
pub fn run(bytes: &[u8]) {
    let Some((kind, rest)) = crate::split_kind(bytes, KINDS) else { return };
    match kind {
        STREAM => stream(rest),
        CONTROL => control(rest),
        COMPRESSED => {
            if let Ok(plain) = compress::decompress(rest, PLAIN_BYTES_MAX) {
                assert!(plain.len() <= PLAIN_BYTES_MAX);
            }
        }
        SEED_INFO => {
            if let Some(info) = SeedInfo::decode(rest) {
                assert_eq!(SeedInfo::decode(&info.encode()), Some(info));
            }
        }
        _ => {
            if let Ok(token) = String::from_utf8_lossy(rest).parse::<JoinToken>() {
                assert_eq!(token.to_string().parse::<JoinToken>().ok(), Some(token));
            }
        }
    }
}

/// However the stream is cut, the same frames come out.
fn stream(bytes: &[u8]) {
    let piece = usize::from(bytes.first().copied().unwrap_or(0)) + 1;
    let cut = frames(bytes.chunks(piece));
    let whole = frames(std::iter::once(bytes));
    assert_eq!(cut, whole, "in pieces of {piece} bytes");
    for frame in whole {
        contents(&frame);
        let mut again = Decoder::new();
        again.push(&frame.to_bytes());
        assert!(matches!(again.next(), Ok(Some(_))), "what was decoded is encoded to a frame");
    }
}

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Frame> {
    let (mut decoder, mut found) = (Decoder::new(), Vec::new());
    for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.next() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(_) => return found,
            }
        }
    }
    found
}

/// What the receiver of a frame reads in it.
fn contents(frame: &Frame) {
    match frame {
        Frame::Control(bytes) => control(bytes),
        Frame::Block(received) => drop(block::decode(&received.stored)),
        _ => {}
    }
}

fn control(bytes: &[u8]) {
    if let Ok(message) = Msg::decode(bytes) {
        assert_eq!(Msg::decode(&message.encode()).ok(), Some(message));
    }
}

fn session() -> Session {
    Session(7)
}

fn hello() -> Frame {
    Frame::Hello(Hello {
        version_min: 1,
        version_max: 2,
        purpose: Purpose::Member,
        instance: [1; 16],
        boot: 3,
        proof: [2; 32],
        name: "db-1".into(),
        url: "TCP://db-1:5022".into(),
    })
}

fn messages() -> Vec<Msg> {
    let group = GroupId(Uuid::from_u128(1));
    let database = GroupDatabaseId(Uuid::from_u128(9));
    vec![
        Msg::Beat(Vec::new()),
        Msg::Join { group, replica: ReplicaId(Uuid::from_u128(2)) },
        Msg::Start {
            database,
            session: SessionId(4),
            from: Lsn(100),
            agreed: Lsn(90),
            later: vec![(Epoch(3), Lsn(100))],
        },
    ]
}

fn sealed_block() -> Vec<u8> {
    let payload = crate::files::sample_group();
    let mut bytes = vec![0; block::HEADER_BYTES];
    bytes.extend_from_slice(&payload);
    let header = block::Header {
        flags: 0,
        log_id: 7,
        previous: 1,
        epoch: Epoch(3),
        first_lsn: Lsn(1000),
        payload_len: payload.len() as u32,
        incarnation: 9,
        hardened: Lsn(900),
        checksum: 0,
    };
    block::seal(&mut bytes, &header, None);
    bytes
}

/// One of each kind of frame in a stream, control messages, compressed bytes.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let stored = sealed_block();
    let mut stream = Vec::new();
    let frames = [
        hello(),
        Frame::Control(messages()[0].encode()),
        Frame::Block(Block {
            session: session(),
            agreed: Lsn(90),
            wire_bytes: stored.len(),
            stored: stored.clone(),
        }),
        Frame::Commit { session: session(), agreed: Lsn(91) },
        Frame::Ack(Ack {
            session: session(),
            received: Lsn(3),
            hardened: Lsn(2),
            applied: Lsn(1),
            harden_nanos: 5,
        }),
        Frame::Heartbeat(Heartbeat { sent: 1, echo: 2, held: 3 }),
        Frame::Credit { class: Class::Seed, total: 1 << 20 },
        Frame::Seed(SeedChunk {
            operation: [4; 16],
            stream: 1,
            chunk: 2,
            payload: vec![5; 40],
            wire_bytes: 40,
        }),
        Frame::Bye { code: 5, text: "stopping".into() },
    ];
    for frame in &frames {
        frame.encode(&mut stream);
    }
    let compressed = compress::compress(&stored);
    frame::encode_block(&mut stream, session(), Lsn(95), &stored, compressed.as_deref());
    let mut seeds = vec![crate::with_kind(STREAM, &stream)];
    seeds.extend(messages().iter().map(|message| crate::with_kind(CONTROL, &message.encode())));
    if let Some(compressed) = compress::compress(&[b'x'; 5000]) {
        seeds.push(crate::with_kind(COMPRESSED, &compressed));
    }
    let info = SeedInfo {
        family: [1; 16],
        log_id: 7,
        created_micros: 1_700_000_000_000_000,
        checkpoint: Lsn(80),
        highest: Lsn(90),
        redo_start: Lsn(70),
        log_start: Lsn(60),
        log_previous: 5,
        epoch: Epoch(2),
        rows: 1000,
        bytes: 100_000,
        borders: vec![vec![1], vec![2, 3]],
        keys: Vec::new(),
    };
    seeds.push(crate::with_kind(SEED_INFO, &info.encode()));
    let token = format!("keel://db-1:5022/{}/{}", "ab".repeat(32), "cd".repeat(16));
    seeds.push(crate::with_kind(TOKEN, token.as_bytes()));
    seeds
}
