//! # keel-transport: what two instances say to each other, as bytes
//!
//! One connection carries everything between two instances: control, the log of every database they share, seeding.
//! This crate owns the form of it and the bookkeeping around it. It has no socket, no thread and no clock; `keel-group`
//! puts it on TLS, the simulator on a queue.
//!
//! ## Model
//! ```text
//!   tap ──► LogPool ─┐                                        ┌─► Database::receive, harden
//!                    ├─► LogFeed ─► Frame ─► bytes ─► Decoder ┤
//!   disk ─► Scanner ─┘   (next)     (encode)          (next)  └─► Frame::Ack back
//! ```
//! * A [`Frame`] is a header of eight bytes and a body; the byte tables stand in [`frame`].
//! * Log **blocks travel as they are stored**, so the receiver appends what it got and checks the same chain of checksums.
//! * A [`LogFeed`] is one reader of one database's log for one peer. It takes blocks from the [`LogPool`], the last few
//!   megabytes that the flush leaders left in memory for all peers, and only when the pool no longer holds what it needs
//!   from the files.
//! * A block may be **compressed** ([`compress`]) when that saves at least an eighth; it is done once and the result is
//!   shared by all peers that want it.
//! * **Credit** ([`credit`]) is counted in bytes, for log and seeding apart: a receiver says how much it will hold, a sender
//!   that has used it up waits. Control needs no credit, so it never waits behind bulk.
//!
//! ## Invariants
//! * Whatever bytes come in, [`Decoder::next`] answers with a frame, "not yet" or an error; it never panics and never holds
//!   more than [`limits::FRAME_BODY_BYTES_MAX`] of an unfinished frame.
//! * Totals of credit only grow; an old or doubled grant changes nothing.
//! * A [`LogFeed`] hands out each block once, in order, without a gap, wherever it came from.
//!
//! ## Deliberately absent
//! Quorum, roles, epochs' meaning (`keel-cluster`), sockets, TLS, retries (`keel-group`). Integrity of frames: TLS gives it,
//! and blocks have their own checksums for the disk.

pub mod compress;
pub mod credit;
pub mod decoder;
pub mod feed;
pub mod frame;
pub mod limits;
pub mod pool;

pub use credit::{Granting, Spending};
pub use decoder::Decoder;
pub use feed::{FeedError, LogFeed};
pub use frame::{Ack, Block, Class, Frame, FrameError, Heartbeat, Hello, Purpose, SeedChunk, Session};
pub use pool::{LogPool, PoolBudget, PooledBlock};
