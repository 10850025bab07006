//! # keel-group: availability groups in a running process
//!
//! `keel-cluster` decides, this crate does: it has the threads, the sockets and the files, and it drives the databases of
//! `keel-node`. [`Groups`] is what the server sees of it.
//!
//! ```text
//!   session ─ commit ─► log ─ tap ─► pool ─► link ═══ TLS 1.3 ═══► reader ─► log ─ harden ─┐
//!                        │           (leader writes itself when the link is free)          │
//!                        └─ hardened ─► machine ◄─ reader ◄═══════════ ack ════════════════┘
//!                                         │
//!                          Agree ─► commit gate ─► session replies
//! ```
//!
//! ## Threads
//! Per peer one reader and one sender, whatever the number of databases; per instance a pulse, a clock, a keeper, writers of
//! the cluster's state and of group records, two workers for what takes long, and one that accepts. A seeding has one for each stream at the
//! source and one at the target, while it runs. The way of a commit on a synchronous secondary
//! crosses threads three times: session (as flush leader) → the peer's reader, which hardens and acknowledges → the
//! primary's reader → session.
//!
//! ## Trust
//! Certificates are self-signed and pinned by fingerprint. A peer is trusted because a [join token](token)'s bearer proved
//! itself, or because the endpoint's SQL configuration names its certificate. Members introduce each other, so one token is
//! enough for any number of instances; and whoever came with one becomes a member of the issuer's cluster. TLS is 1.3 only, with a certificate on both sides.
//!
//! ## Mirroring
//! A session of database mirroring is a group that two instances make by name of each other's endpoints (module `partners`): each
//! meets the other, the mirror notes what it expects, the principal asks for that and creates the group.
//!
//! ## Invariants
//! * Actions are carried out in the order in which the machine decided them; nothing that waits is done under its lock.
//! * Blocks of one database reach one peer in log order, whoever sends them.
//! * No acknowledgement leaves for a session that is over; none leaves before what it acknowledges is on disk.
//! * Control never waits behind bulk that is not yet with the system, and the system takes little ahead.
//!
//! ## Deliberately absent
//! Every decision (`keel-cluster`), the bytes of frames (`keel-transport`), SQL, sessions and access rules: the server learns
//! of roles through [`Host`].

mod act;
mod adoption;
mod ask;
mod bell;
mod clients;
mod copy;
mod counters;
mod distributed;
pub mod endpoint;
pub mod error;
pub mod groups;
pub mod handshake;
pub mod host;
pub mod identity;
mod keeper;
mod kept;
mod lanes;
pub mod link;

mod marks;
mod measure;
pub mod networks;
mod own_log;
mod partners;
mod peer;
pub mod product;
mod pulse;
mod rate;
mod reader;
mod records;
mod seeding;
mod share;
mod shell;
mod slots;
pub mod state;
mod stored;
mod throttle;
pub mod tls;
pub mod token;
pub mod trust;
mod work;

pub use clients::ClientConnection;
pub use counters::{CopyCounters, PeerCounters, Waits};
pub use endpoint::{EndpointConfig, EndpointState};
pub use error::{ConnectError, GroupError};
pub use groups::{CommandFailure, Groups, GroupsOptions};
pub use host::{Host, Place, RoleChange};
pub use identity::{Certificate, Fingerprint, Identity};
pub use measure::{Latency, Measurement, MemberCheck, RoundTrip};
pub use partners::{ExpectedPartner, Movement, PartnerAnswer, Session, SessionFailure, Side, modes};
pub use seeding::{SeedingOutcome, SeedingState};
pub use shell::Compression;
pub use state::{GroupsState, HealthSubject, ListenerPlace, LogHealth};
pub use token::JoinToken;
pub use trust::Member;
