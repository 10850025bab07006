//! Every limit of the protocol, with what it bounds.

use keel_log::block::BLOCK_BYTES_MAX;

/// The protocol version this code speaks. Whatever changes the frames, the messages in them or the log's records takes the next number, and is
/// used between instances that both have it only, so that the members of a cluster can be replaced one after the other.
pub const VERSION: u16 = 4;
/// Since this version each side tells what it runs ([`Frame::Product`](crate::Frame::Product)) behind its hello.
pub const VERSION_PRODUCT: u16 = 3;
/// Since this version a member that has no place for a copy tells the source why.
pub const VERSION_REFUSED: u16 = 4;
/// The oldest version it still understands.
pub const VERSION_MIN: u16 = 2;

/// The longest body of a control frame: a configuration with every replica and database of a large group.
pub const CONTROL_BYTES_MAX: usize = 1 << 20;
/// The longest payload of a seeding chunk.
pub const SEED_BYTES_MAX: usize = 1 << 20;
/// The longest text (names, addresses, reasons) in a frame.
pub const TEXT_BYTES_MAX: usize = 1024;
/// The longest body of any frame: a receiver never buffers more than this of an unfinished one.
pub const FRAME_BODY_BYTES_MAX: usize = CONTROL_BYTES_MAX + 64;

/// Log bytes a receiver takes in before it has stored any: enough for 1 Gb/s at 60 ms, little enough to hold for every peer.
pub const LOG_WINDOW_BYTES: u64 = 8 << 20;
/// Seeding bytes a receiver takes in before it has stored any.
pub const SEED_WINDOW_BYTES: u64 = 4 << 20;
/// Log kept in memory for peers, over all databases of an instance.
pub const POOL_BYTES: usize = 64 << 20;

const _: () = assert!(SEED_BYTES_MAX + 64 <= FRAME_BODY_BYTES_MAX);
const _: () = assert!(BLOCK_BYTES_MAX + 64 <= FRAME_BODY_BYTES_MAX);
// A window holds several of the largest frames it pays for; otherwise a sender could wait for ever.
const _: () = assert!(LOG_WINDOW_BYTES as usize >= 8 * BLOCK_BYTES_MAX);
const _: () = assert!(SEED_WINDOW_BYTES as usize >= 4 * SEED_BYTES_MAX);
const _: () = assert!(VERSION_MIN <= VERSION);
