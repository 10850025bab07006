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

/// What an allocation of `bytes` takes of the heap, by the size classes of the server's allocator (mimalloc): steps of 16
/// bytes up to 64, then four classes for each doubling.
#[inline]
pub(crate) fn heap_bytes(bytes: usize) -> usize {
    const STEP: usize = 16;
    const STEPS_END: usize = 64;
    const CLASSES_LOG2: u32 = 2;
    if bytes <= STEPS_END {
        return bytes.next_multiple_of(STEP);
    }
    bytes.next_multiple_of(1 << ((bytes - 1).ilog2() - CLASSES_LOG2))
}

#[inline]
fn shard_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    SHARD.with(|shard| *shard)
}

#[cfg(test)]
mod tests {
    use super::heap_bytes;

    #[test]
    fn sizes_are_those_of_the_allocators_classes() {
        let classes =
            [(1, 16), (16, 16), (17, 32), (64, 64), (65, 80), (80, 80), (128, 128), (129, 160), (462, 512)];
        for (bytes, class) in classes {
            assert_eq!(heap_bytes(bytes), class, "{bytes} bytes");
        }
    }
}
