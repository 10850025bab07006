//! The keeper: a small process beside the instance that lets its clients go when the instance stands still.
//!
//! A process that is stopped (SIGSTOP, a debugger, memory that is swapped out) is worse for its clients than a dead one: its system
//! goes on completing their handshakes and keeps their connections, so that they wait for an answer until their own time is over.
//! Only a process can see that another one does not run. So a member of a cluster starts one, from its own program, which
//! holds duplicates of the listening sockets and of the clients' connections and looks at the instance's pulse.
//!
//! ```text
//!   instance                                  keeper
//!   pulse, every 50 ms ── beat ──► shared memory ──► watch: how long has it not run?
//!   accept, listen ── duplicate of the socket ─────► held, until it is hung up
//!   error log ◄── what was done, afterwards ──────── closes listening sockets, resets connections
//! ```
//!
//! ## Model
//!
//! * The beat is the groups' pulse ([`keel_group::Host::alive`]): the thread by which the other members hear this one. When it is
//!   not heard for [`keel_cluster::ClusterOptions::silence`] they look for another primary; the keeper acts a `stagger` later,
//!   when there is somebody to go to. What it takes away served nobody by then.
//! * [`watch`] decides, without a clock. It counts only time in which the keeper itself ran, so a machine that stood still as
//!   a whole, or gave neither process its processors, is no reason to act.
//! * To act is to shut the listening sockets down, so that connecting is *refused* (a driver that tries several addresses takes
//!   the first that accepts), which resets who waits to be accepted, and to reset every connection. Then the keeper holds nothing
//!   any more. The instance, when it runs again, finds its sessions gone, listens again ([`listener::Listener::accept`]), is told what was
//!   done, and hands its sockets over anew.
//! * A duplicate keeps a socket open whatever the instance closes. So a session's end **shuts down** its connection
//!   ([`crate::link::Link`]), which says so to the client at that moment; the keeper sees the hang-up and lets its duplicate go.
//!
//! * When the instance dies its sockets live on here. Listening ends and clients are reset at once, but for those of an address that
//!   moves with the primary: they are held for a moment, until the new primary ends their connections (`process`).
//!
//! ## Invariants
//!
//! * The instance never waits for its keeper: what cannot be handed over at once is handed over later.
//! * The keeper ends with the instance, however that ends: it reads the end of the connection between the two, and a moment later an
//!   alarm ends it, whatever it does. If the keeper ends, the instance goes on and starts another.
//! * Connections between instances are none of its business: those the groups' own protocol looks after.
//!
//! ## Deliberately absent
//!
//! Databases, TDS, TLS, configuration, threads; any decision about roles: safety rests on the groups' votes alone. A keeper where
//! nobody can take over: it is started when another member is first connected.

pub mod listener;
mod memory;
mod notes;
mod process;
mod side;
mod socket;
pub mod watch;

pub use listener::Listener;
pub use process::run;
pub use side::{Keeper, Launch};
pub(crate) use socket::disconnect;
