//! # keel-server: the shell around the SQL engine
//!
//! Everything that touches sockets, threads, certificates, passwords and configuration. It knows the wire ([`keel_tds`])
//! and sessions ([`keel_sql`]) and translates between them; it decides nothing about SQL.
//!
//! ```text
//!   listener ── accept ──► session thread ── Link ──► watcher
//!                            │  login (pre-login, TLS, LOGIN7, password or Kerberos)
//!                            │  loop: message ─► request ─► Session ─► Sink ─► tokens ─► one write
//! ```
//!
//! ## Model
//!
//! * One thread per connection, blocking. A request costs one read and one write in the usual case; what runs between them
//!   is the session's own work, undisturbed by anybody.
//! * A [`link::Link`] is what a connection shares with the rest of the server: its socket, its framing state, and what it
//!   is busy with. The one **watcher** thread ([`watcher`]) looks only at links that have been busy with the same request
//!   for longer than a tick, finds their attentions and disconnects, and cancels. Short requests never meet it, so being
//!   cancellable costs the hot path two relaxed stores.
//! * A [`sink::TdsSink`] turns what a session says into tokens. It holds the last DONE back until it knows whether
//!   more follows.
//!
//! * A member of a cluster has a small process beside it that lets its clients go when it stands still ([`keeper`]).
//! * Ways in other than TDS (the dashboard) come through [`front`]: they get logins' sessions, and nothing that TDS clients do
//!   not get.
//!
//! ## Invariants
//!
//! * Whatever a client sends ends in an answer, an error message or a closed connection; never in a panic that leaves
//!   its thread, and never in anything another session could notice.
//! * A password is never stored, logged or kept in memory beyond its login; what is cached is a keyed hash.
//! * After an error of severity 20 or more the connection is closed.
//!
//! ## Deliberately absent
//!
//! SQL text of any kind; NTLM and federated authentication; members of a domain's groups.

pub mod agent;
pub mod backend;
pub mod broker;
pub mod bulk;
pub mod certificate;
pub mod config;
pub mod credentials;
pub mod decode;
pub mod directory;
pub mod encode;
pub mod errorlog;
pub mod failover_cluster;
pub mod front;
pub mod hadr;
pub mod health;
pub mod history;
pub mod instance;
pub mod integrated;
pub mod keeper;
pub mod link;
pub mod listener;
pub mod login;
pub mod mail;
pub mod password;
pub mod recovery;
pub mod remote;
mod sealing;
pub mod server;
pub mod session;
pub mod sink;
mod startup;
pub mod teller;
pub mod version;
pub mod watcher;
pub mod witness;

pub use backend::{Backend, SqlSession};
pub use config::Config;
pub use errorlog::ErrorLog;
pub use front::Front;
pub use server::Server;
