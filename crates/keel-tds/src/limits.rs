//! Every limit of the protocol layer, with its reason.

/// Bytes in a packet header.
pub const HEADER_BYTES: usize = 8;
/// Smallest packet size a login may negotiate (2.2.6.4, and the product's own minimum).
pub const PACKET_BYTES_MIN: usize = 512;
/// Largest packet size a login may negotiate.
pub const PACKET_BYTES_MAX: usize = 32767;
/// Largest packet size under TLS: one packet then fits one TLS record, as in the product.
pub const PACKET_BYTES_TLS_MAX: usize = 16383;
/// Packet size before login has negotiated one (2.2.3.1.3).
pub const PACKET_BYTES_DEFAULT: usize = 4096;
/// Largest message accepted before the login has succeeded: LOGIN7 may not exceed 128 KB (2.2.6.4).
pub const LOGIN_MESSAGE_BYTES_MAX: usize = 128 * 1024;
/// Largest request message: half a gibibyte of parameters. Bulk loads stream and are not bound by it.
pub const MESSAGE_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Largest value of a max type: 2^31 - 1 bytes.
pub const PLP_BYTES_MAX: u64 = 0x7FFF_FFFF;
/// Columns in a result set, a bulk load or a table-valued parameter.
pub const COLUMNS_MAX: usize = 4096;
/// Parameters of one remote procedure call (the product's 2100, plus room for the handle and texts of sp_execute and
/// its kin, which do not count).
pub const PARAMETERS_MAX: usize = 2110;
/// Calls in one RPC message.
pub const CALLS_MAX: usize = 65_536;
/// Headers in ALL_HEADERS; three kinds exist (2.2.5.3).
pub const HEADERS_MAX: usize = 16;
/// Feature extensions in a login (ids are one byte).
pub const FEATURES_MAX: usize = 64;
/// Conversations on one connection; clients open one for each result set that is open at the same time.
pub const CONVERSATIONS_MAX: usize = 4096;
/// DATA frames a client may send ahead: requests are bounded by [`MESSAGE_BYTES_MAX`], and by the socket, not by frames.
pub const SMP_WINDOW: u32 = 1 << 30;
/// Bytes of a result that a client with several conversations does not read which wait here before the request that makes
/// them does, unless another conversation's request has to run.
pub const HELD_BACK_BYTES: usize = 1024 * 1024;
/// The most of them; a result that grows beyond, unread, while another conversation waits for its turn ends the connection.
pub const HELD_BACK_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Bytes of payload an [`crate::outbox::Outbox`] gathers before it sends what is complete.
pub const OUTBOX_FLUSH_BYTES: usize = 64 * 1024;
/// Buffers larger than this are given back to the allocator after use.
pub const BUFFER_KEEP_BYTES: usize = 256 * 1024;
/// First size of a session's input buffer, enough for one default packet and an attention after it.
pub const INPUT_BUFFER_BYTES: usize = 16 * 1024;

const _: () = assert!(PACKET_BYTES_TLS_MAX <= PACKET_BYTES_MAX);
const _: () =
    assert!(PACKET_BYTES_DEFAULT >= PACKET_BYTES_MIN && PACKET_BYTES_DEFAULT <= PACKET_BYTES_TLS_MAX);
const _: () = assert!(INPUT_BUFFER_BYTES >= PACKET_BYTES_DEFAULT + HEADER_BYTES);
const _: () = assert!(BUFFER_KEEP_BYTES > OUTBOX_FLUSH_BYTES + PACKET_BYTES_MAX);
