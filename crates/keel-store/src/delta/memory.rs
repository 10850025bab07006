//! What the deltas weigh: sharded counters, one set per store under one for the instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

const SHARDS: usize = 8;

/// Bytes of keys and versions held in deltas. Adding is a relaxed add on a counter that mostly this thread uses.
#[derive(Debug, Default)]
pub struct MemoryAccount {
    shards: [CachePadded<AtomicI64>; SHARDS],
    parent: Option<Arc<MemoryAccount>>,
}

impl MemoryAccount {
    /// The account of an instance.
    #[must_use]
    pub fn new() -> Arc<MemoryAccount> {
        Arc::default()
    }

    /// An account whose bytes also count in `parent`.
    #[must_use]
    pub fn under(parent: &Arc<MemoryAccount>) -> Arc<MemoryAccount> {
        Arc::new(MemoryAccount { shards: Default::default(), parent: Some(parent.clone()) })
    }

    /// Bytes held now.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let sum: i64 = self.shards.iter().map(|shard| shard.load(Ordering::Relaxed)).sum();
        sum.max(0) as u64
    }

    #[inline]
    pub(crate) fn add(&self, bytes: isize) {
        let shard = shard_of_thread();
        self.shards[shard].fetch_add(bytes as i64, Ordering::Relaxed);
        if let Some(parent) = &self.parent {
            parent.shards[shard].fetch_add(bytes as i64, Ordering::Relaxed);
        }
    }
}

/// What an allocation of `bytes` takes of the heap: the allocator's word before it, rounded up.
#[inline]
pub(crate) fn heap_bytes(bytes: usize) -> usize {
    const WORD: usize = 8;
    const UNIT: usize = 16;
    (bytes + WORD).next_multiple_of(UNIT)
}

#[inline]
fn shard_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    SHARD.with(|shard| *shard)
}
