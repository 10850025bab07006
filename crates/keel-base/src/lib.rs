//! # keel-base: the words everything else is written in
//!
//! Log positions, identifiers, the ciphers of what is stored, and the traits through which the engine sees the outside world (disk,
//! clock, randomness). Nothing here does I/O except the `real` implementations in [`mod@env`]; the simulated and
//! failing ones live beside them so that every crate can be tested on a bad disk.
//!
//! Deliberately absent: anything that knows about rows, SQL, replicas or sockets. One module per noun.
pub mod cipher;
pub mod env;
pub mod ids;
pub mod panics;
pub mod waits;

pub use ids::{DatabaseId, Epoch, Lsn, TreeId, TxnId};
