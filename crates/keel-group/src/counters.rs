//! What is counted, for views and performance counters. All totals grow from the start of the connection or of the copy.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares counters that many threads add to, and the plain numbers they are shown as.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident => $shown:ident { $($(#[$fdoc:meta])* $field:ident,)* }) => {
        #[derive(Default)]
        pub(crate) struct $name { $(pub(crate) $field: AtomicU64,)* }

        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $shown { $($(#[$fdoc])* pub $field: u64,)* }

        impl $name {
            pub(crate) fn shown(&self) -> $shown {
                $shown { $($field: self.$field.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Traffic with one peer, over all connections to it since the start.
    PeerTotals => PeerCounters {
        /// Bytes of frames sent, before encryption.
        sent_bytes,
        /// Bytes of frames received.
        received_bytes,
        /// Blocks and control messages sent.
        sends,
        /// Blocks and control messages received.
        receives,
        /// Bytes on the wire.
        wire_sent_bytes,
        /// Writes by the sender thread.
        sender_writes,
        /// Writes by a flush leader itself: no other thread was woken for them.
        leader_writes,
        /// Times sending stopped for lack of credit.
        flow_controls,
        /// Nanoseconds without credit while there was something to send.
        flow_control_nanos,
        /// Times the sender thread had nothing to send.
        idle_waits,
        /// Nanoseconds it had nothing to send.
        idle_nanos,
        /// Bytes of log that had to be read from the files.
        disk_bytes,
        /// Blocks sent again after a break.
        resent,
    }
}

counters! {
    /// Data movement of one copy of a database, between this instance and one peer.
    CopyTotals => CopyCounters {
        /// Stored bytes of blocks sent or received.
        log_bytes,
        /// Blocks sent or received.
        blocks,
        /// Blocks that were compressed for this peer.
        compressions,
        /// Their bytes before.
        compressed_from_bytes,
        /// Their bytes after.
        compressed_to_bytes,
        /// Blocks received compressed.
        decompressions,
        /// Their bytes after decompression.
        decompressed_bytes,
        /// Acknowledged blocks whose way was measured.
        measured,
        /// Nanoseconds from sealing to sending.
        queue_nanos,
        /// Nanoseconds from sending to the acknowledgement, without the flush there.
        network_nanos,
        /// Nanoseconds of the flushes there.
        remote_flush_nanos,
    }
}

/// How often and how long threads of one kind wait, or waited, for something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Waits that are over.
    pub count: u64,
    /// Nanoseconds of all of them.
    pub nanos: u64,
    /// Nanoseconds of the longest.
    pub longest_nanos: u64,
}

/// The same, added to by many threads.
#[derive(Default)]
pub(crate) struct WaitTotals {
    count: AtomicU64,
    nanos: AtomicU64,
    longest_nanos: AtomicU64,
}

impl WaitTotals {
    pub(crate) fn waited(&self, nanos: u64) {
        add(&self.count, 1);
        add(&self.nanos, nanos);
        self.longest_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(crate) fn shown(&self) -> Waits {
        let [count, nanos, longest_nanos] =
            [&self.count, &self.nanos, &self.longest_nanos].map(|n| n.load(Ordering::Relaxed));
        Waits { count, nanos, longest_nanos }
    }
}

pub(crate) fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}
