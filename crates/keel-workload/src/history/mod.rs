//! What clients saw, and whether a database could have shown it to them.
//!
//! Clients note each operation when they begin it and when they learn its outcome; nothing else is known of the server. The
//! checks are pure functions of that:
//!
//! * [`lists`]: transactions that append unique numbers to lists and read whole lists. A list tells the order of its writers,
//!   so the dependencies between transactions, and with them the isolation anomalies (Adya's G0, G1a, G1b, G1c, G-single, G2),
//!   can be read off it.
//! * [`registers`]: single reads, writes and compare-and-sets of one value, which must be linearizable.
//! * [`bank`]: the sum over all accounts, the same in every snapshot wherever it is read.
//!
//! The outcome of an operation is known, or known to be none, or not known: a connection that was lost. What is not known may
//! have happened, at any later time, or never.
//!
//! Deliberately absent: clocks (the caller brings times, of one monotonic clock), sockets, and any knowledge of the server.

pub mod bank;
pub mod lists;
pub mod registers;

/// What a client knows of the end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Ok,
    /// It was refused: it has not happened and never will.
    Fail,
    /// Not known.
    Info,
}
