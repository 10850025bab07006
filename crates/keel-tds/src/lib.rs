//! # keel-tds: the wire protocol, both directions
//!
//! Tabular Data Stream as specified by \[MS-TDS\]; every module cites the sections it implements. The crate knows
//! bytes, packets, tokens and wire types. It does not know SQL, keel's values, sockets, threads or files: whoever
//! owns the socket passes it in as `Read`/`Write`, exactly as one does with a sans-I/O TLS library.
//!
//! ```text
//!   socket ──► Wire (TLS, packet headers) ──► Message ──► request::{batch, rpc, transaction, bulk, tvp}
//!   socket ◄── Wire ◄── Outbox (payload + room for headers) ◄── token::*  /  value::put_*
//! ```
//!
//! ## Model
//!
//! * A **packet** is an 8-byte header and a payload of at most `packet size - 8` bytes ([`packet`]).
//! * A **message** is the payload of packets up to the one whose status has the end-of-message bit. [`wire::Wire`]
//!   assembles it in place: a one-packet request is parsed in the buffer the socket was read into.
//! * A **response** is a row of **tokens** ([`token`]). The server appends them to an [`outbox::Outbox`]; headers are
//!   put between chunks only when bytes leave, so encoding a row is appending to one byte vector, without
//!   allocation and without looking at packet borders.
//! * A **wire type** ([`type_info::TypeInfo`]) says how a **datum** ([`value::Data`]) is laid out.
//!
//! * What a client says in its login decides on the **dialect** ([`dialect::Dialect`]): requests and tokens are read and written in it.
//!
//! * A connection may carry several **conversations** ([`smp`]); they share the session, and its requests are executed in turn.
//!
//! Encryption has three shapes, all in [`wire`]: TLS records wrapped in pre-login packets during the handshake and bare
//! afterwards (7.x), the same but dropped once the login message has been read (login-only encryption), and TLS
//! before the first packet (8.0, "strict").
//!
//! ## Invariants
//!
//! * Nothing read from the peer is trusted: lengths are checked before they are consumed, every count has a limit in
//!   [`limits`], and decoding arbitrary bytes ends in a [`DecodeError`], never in a panic.
//! * `Incomplete` means exactly "a longer input with this prefix could be valid"; readers of streams rely on it.
//! * Each structure is encoded and decoded beside each other, and a round trip is tested.
//!
//! ## Deliberately absent
//!
//! Integrated security and federated authentication (the tokens are
//! known, no mechanism is), column encryption (declined), COMPUTE rows, and protocol versions before 7.0.

mod bits;
pub mod bytes;
pub mod client;
pub mod code_page;
pub mod collation;
pub mod dialect;
pub mod display;
pub mod error;
pub mod features;
pub mod limits;
pub mod login;
pub mod outbox;
pub mod packet;
pub mod prelogin;
pub mod recovery;
pub mod request;
pub mod smp;
pub mod text;
pub mod token;
pub mod type_info;
pub mod value;
pub mod wire;

pub use collation::WireCollation;
pub use dialect::Dialect;
pub use error::DecodeError;
pub use packet::{PacketType, Status};
pub use type_info::TypeInfo;
pub use value::Data;
