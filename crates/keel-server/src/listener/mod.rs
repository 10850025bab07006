//! Listeners of availability groups: one name and port, whichever node answers.
//!
//! ```text
//!   client ──► listener's port of any node ──► Door ── the primary is here ────────► a session
//!                                                ├──── it is elsewhere ─────────────► bytes go there and back (forward)
//!                                                ├──── … and says where clients reach it ► LOGIN7, routing token
//!                                                ├──── … and so is the address it came by ► let go, it comes again there
//!                                                └──── nobody is ───────────────────► held until somebody is
//! ```
//!
//! ## Model
//!
//! * Every node of a group listens on the listener's port: on the addresses where the instance itself listens, and on those
//!   of the listener's IP addresses that this machine has. The primary's machine takes them, where it may (`addresses`). One
//!   thread owns these sockets ([`doors`]), accepts for all of them, and looks again at the groups when it is rung, every
//!   five milliseconds while somebody waits, and five times a second otherwise. What cannot be bound is logged when it
//!   changes, shown, and tried again every second.
//! * A [`doors::Door`] is one listener: where its primary is now, as a numbered *turn*. Who waits for the turn to end polls
//!   a pipe whose other side is closed then, together with the client's socket, so nobody wakes for nothing and a client
//!   that goes away is seen at once.
//! * A connection that came through a door is closed as soon as the primary is somewhere else: also one that uses no
//!   database of the group, as when the product takes the address away.
//!
//! ## Why bytes, not logins, are forwarded
//!
//! The login is between client and primary, with TLS end to end: this node needs neither the login nor the primary's
//! certificate, and a client too old for routing tokens works like any other. See the decision record
//! `2026-11-22-listeners-forward-bytes`.
//!
//! ## Invariants
//!
//! * A connection is forwarded once: the first bytes of a forwarded one say so ([`forward::PREAMBLE`]), and whoever gets it
//!   serves it, holds it or lets it go.
//! * What a client says before the primary's first byte stays on its socket: if that primary goes away, another gets it, or
//!   this node. Nothing after it is ever sent twice.
//! * A held connection ends with its client, with a primary, or with `listener_hold`; then the login says what is wrong.
//!
//! ## Deliberately absent
//!
//! Names: whoever manages them lets a listener's name lead to its addresses.

mod addresses;
pub mod admit;
pub mod doors;
mod ended;
pub mod forward;
mod guests;
mod netlink;
mod network;
mod own;
mod sockets;

pub use addresses::Virtual;
pub(crate) use addresses::addresses_taken;
pub use doors::{Door, Doors, Place, Source, Standing, Target};
pub(crate) use own::OwnAddress;
pub use sockets::{Outcome, SocketState};
