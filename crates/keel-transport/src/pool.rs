//! [`LogPool`]: the youngest blocks of one database, in memory for all peers.
//!
//! The flush leader puts each block in as it seals it, before the local write begins, so that sending and writing overlap.
//! Nobody takes blocks out: readers ([`crate::feed`]) look at them by position. What no reader needs any more is let go by
//! [`LogPool::release_before`], or by force when all pools of the instance together are over their budget; who still wanted
//! it then reads the files.
//!
//! The bytes of a block that is let go are room for a later one, so that a flush leader allocates none.

use crate::compress;
use keel_base::Lsn;
use keel_log::SealedBlock;
use keel_log::block::Header;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Room kept for blocks to come: one on its way, one that waits for its flush.
const SPARES_MAX: usize = 2;

/// The memory all pools of an instance share.
#[derive(Debug)]
pub struct PoolBudget {
    bytes_max: usize,
    bytes: AtomicUsize,
    pools: AtomicUsize,
}

impl PoolBudget {
    /// At most about `bytes_max` over all pools.
    #[must_use]
    pub fn new(bytes_max: usize) -> Arc<PoolBudget> {
        Arc::new(PoolBudget { bytes_max, bytes: AtomicUsize::new(0), pools: AtomicUsize::new(0) })
    }

    /// Bytes held now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.bytes() > self.bytes_max
    }

    /// What one pool may keep while all are over.
    fn share(&self) -> usize {
        self.bytes_max / self.pools.load(Ordering::Relaxed).max(1)
    }
}

/// A block in memory, with its compressed form once somebody has wanted it.
#[derive(Debug)]
pub struct PooledBlock {
    header: Header,
    stored: Vec<u8>,
    sealed_at: u64,
    compressed: OnceLock<Option<Box<[u8]>>>,
}

impl PooledBlock {
    /// Of a block in stored form; `sealed_at` is the caller's clock in nanoseconds, 0 when it is not known.
    #[must_use]
    pub fn new(header: Header, stored: &[u8], sealed_at: u64) -> PooledBlock {
        PooledBlock { header, stored: stored.into(), sealed_at, compressed: OnceLock::new() }
    }

    /// When it was sealed, by the clock of who put it in; 0 for a block that was read from the files.
    #[must_use]
    pub fn sealed_at(&self) -> u64 {
        self.sealed_at
    }

    /// Its decoded header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Header and payload as stored.
    #[must_use]
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// The compressed form, made by the first who asks and shared by all; `None` when it saves too little. In an encrypted block
    /// there is nothing to be found, and nobody looks.
    pub fn compressed(&self) -> Option<&[u8]> {
        if self.header.key() != 0 {
            return None;
        }
        self.compressed.get_or_init(|| compress::compress(&self.stored).map(Vec::into_boxed_slice)).as_deref()
    }
}

/// What a pool has at a position.
#[derive(Debug)]
pub enum Pooled {
    /// The block that begins there.
    Block(Arc<PooledBlock>),
    /// Nothing yet: the position is the end.
    End,
    /// Not held (any more).
    Missing,
}

/// The youngest blocks of one database. Shared by its flush leaders and all feeds.
#[derive(Debug)]
pub struct LogPool {
    budget: Arc<PoolBudget>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Contiguous, oldest first.
    blocks: VecDeque<Arc<PooledBlock>>,
    /// Where the next block must begin.
    end: Lsn,
    bytes: usize,
    /// Room of blocks that were let go, empty.
    spares: Vec<Vec<u8>>,
    /// A block came since [`LogPool::release_before`] was last called.
    fed: bool,
}

impl LogPool {
    /// An empty pool; the log's next block will begin at `end`.
    #[must_use]
    pub fn new(budget: &Arc<PoolBudget>, end: Lsn) -> LogPool {
        budget.pools.fetch_add(1, Ordering::Relaxed);
        LogPool {
            budget: Arc::clone(budget),
            inner: Mutex::new(Inner {
                blocks: VecDeque::new(),
                end,
                bytes: 0,
                spares: Vec::new(),
                fed: false,
            }),
        }
    }

    /// Puts a block in. Called by the log's tap, in log order; a block that does not follow (the log was cut) empties the
    /// pool first. Blocks that end at or before `done` are let go: every peer has them, and they are in the files. `now` is the
    /// caller's clock in nanoseconds.
    pub fn push(&self, block: &SealedBlock<'_>, now: u64, done: Lsn) -> Arc<PooledBlock> {
        let mut stored = {
            let mut inner = self.inner.lock();
            self.pop_before(&mut inner, done);
            inner.spares.pop().unwrap_or_default()
        };
        stored.extend_from_slice(block.bytes);
        let pooled =
            PooledBlock { header: block.header, stored, sealed_at: now, compressed: OnceLock::new() };
        let pooled = Arc::new(pooled);
        let mut inner = self.inner.lock();
        inner.fed = true;
        if inner.end != block.header.first_lsn {
            self.clear(&mut inner);
        }
        inner.blocks.push_back(Arc::clone(&pooled));
        inner.bytes += block.bytes.len();
        inner.end = block.header.end_lsn();
        self.budget.bytes.fetch_add(block.bytes.len(), Ordering::Relaxed);
        while self.budget.is_over() && inner.bytes > self.budget.share() && inner.blocks.len() > 1 {
            self.pop(&mut inner);
        }
        pooled
    }

    /// The log goes on at `end`, and what lies before is not kept: nobody wants it from here.
    pub fn skip_to(&self, end: Lsn) {
        let mut inner = self.inner.lock();
        self.clear(&mut inner);
        inner.end = end;
    }

    /// What is held at `lsn`.
    #[must_use]
    pub fn at(&self, lsn: Lsn) -> Pooled {
        let inner = self.inner.lock();
        if lsn == inner.end {
            return Pooled::End;
        }
        match inner.blocks.binary_search_by_key(&lsn, |b| b.header.first_lsn) {
            Ok(index) => Pooled::Block(Arc::clone(&inner.blocks[index])),
            Err(_) => Pooled::Missing,
        }
    }

    /// Lets go of the blocks that end at or before `lsn`: every peer has them, and they are in the files. To be called now and
    /// then: what is kept for blocks to come goes too when none has come since the last call.
    pub fn release_before(&self, lsn: Lsn) {
        let mut inner = self.inner.lock();
        self.pop_before(&mut inner, lsn);
        if !std::mem::take(&mut inner.fed) {
            inner.spares.clear();
        }
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.inner.lock().bytes
    }

    fn pop_before(&self, inner: &mut Inner, lsn: Lsn) {
        while inner.blocks.front().is_some_and(|b| b.header.end_lsn() <= lsn) {
            self.pop(inner);
        }
    }

    fn pop(&self, inner: &mut Inner) {
        let Some(block) = inner.blocks.pop_front() else { return };
        inner.bytes -= block.stored.len();
        self.budget.bytes.fetch_sub(block.stored.len(), Ordering::Relaxed);
        // Whoever is still sending it keeps it.
        if let (Some(block), true) = (Arc::into_inner(block), inner.spares.len() < SPARES_MAX) {
            let mut spare = block.stored;
            spare.clear();
            inner.spares.push(spare);
        }
    }

    fn clear(&self, inner: &mut Inner) {
        while !inner.blocks.is_empty() {
            self.pop(inner);
        }
    }
}

impl Drop for LogPool {
    fn drop(&mut self) {
        let mut inner = self.inner.lock();
        self.clear(&mut inner);
        self.budget.pools.fetch_sub(1, Ordering::Relaxed);
    }
}
