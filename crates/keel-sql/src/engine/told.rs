//! How many errors and messages clients were told, for the product's counters of them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Kinds of what a client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Severity up to 10: no error.
    Message,
    /// Severity 11 to 19.
    Error,
    /// Severity from 20: the connection ends with it.
    Fatal,
}

/// Since the start.
#[derive(Debug, Default)]
pub struct ErrorCounts {
    counts: [AtomicU64; 3],
}

impl ErrorCounts {
    /// A client was told something of this severity.
    pub fn note(&self, severity: u8) {
        let told = match severity {
            0..=10 => Told::Message,
            11..=19 => Told::Error,
            _ => Told::Fatal,
        };
        self.counts[told as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many of a kind.
    #[must_use]
    pub fn told(&self, kind: Told) -> u64 {
        self.counts[kind as usize].load(Ordering::Relaxed)
    }

    /// All together.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.counts.iter().map(|n| n.load(Ordering::Relaxed)).sum()
    }
}
