//! [`LogFeed`]: one reader of one log for one peer, from the pool while it can and from the files when it must.

use crate::pool::{LogPool, Pooled, PooledBlock};
use keel_base::Lsn;
use keel_log::{Log, LogError, Scanner};
use std::sync::Arc;

/// Why a feed cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The log cannot be read there; [`LogError::Truncated`] means that the peer must be seeded again.
    #[error(transparent)]
    Log(#[from] LogError),
    /// No block begins where the peer's log ends: the two logs are not of one history.
    #[error("no block of this log begins at {at}")]
    NoBlock {
        /// The position asked for.
        at: Lsn,
    },
}

/// Where a peer is in a database's log.
pub struct LogFeed {
    log: Log,
    pool: Arc<LogPool>,
    next: Lsn,
    /// Open while the pool does not hold `next`.
    scanner: Option<Scanner>,
    from_disk_bytes: u64,
}

impl LogFeed {
    /// Begins at `from`, which must be where a block begins: what the peer has, as it says.
    #[must_use]
    pub fn new(log: Log, pool: Arc<LogPool>, from: Lsn) -> LogFeed {
        LogFeed { log, pool, next: from, scanner: None, from_disk_bytes: 0 }
    }

    /// Where the next block begins.
    #[must_use]
    pub fn position(&self) -> Lsn {
        self.next
    }

    /// Bytes that had to come from the files.
    #[must_use]
    pub fn from_disk_bytes(&self) -> u64 {
        self.from_disk_bytes
    }

    /// The next block; `None` when there is none yet (ask again after the next flush).
    ///
    /// # Errors
    /// See [`FeedError`]; the feed stays where it was.
    #[allow(clippy::should_implement_trait)] // `None` is not the end
    pub fn next(&mut self) -> Result<Option<Arc<PooledBlock>>, FeedError> {
        let block = match self.pool.at(self.next) {
            Pooled::Block(block) => {
                self.scanner = None;
                Some(block)
            }
            Pooled::End => None,
            Pooled::Missing => self.read_files()?,
        };
        if let Some(block) = &block {
            self.next = block.header().end_lsn();
        }
        Ok(block)
    }

    /// The same for a block already in hand, when it is the next one: the flush leader's way past the pool's lock.
    pub fn take(&mut self, block: &PooledBlock) -> bool {
        let fits = block.header().first_lsn == self.next;
        if fits {
            self.next = block.header().end_lsn();
            self.scanner = None;
        }
        fits
    }

    fn read_files(&mut self) -> Result<Option<Arc<PooledBlock>>, FeedError> {
        // Let go by the pool, yet not hardened: there is nothing to read before it is.
        if self.next >= self.log.hardened() {
            return Ok(None);
        }
        let scanner = match &mut self.scanner {
            Some(scanner) if scanner.position() == self.next => scanner,
            stale => stale.insert(self.log.scan(self.next)?),
        };
        let Some(block) = scanner.next()? else { return Ok(None) };
        if block.header.first_lsn != self.next {
            return Err(FeedError::NoBlock { at: self.next });
        }
        self.from_disk_bytes += block.bytes.len() as u64;
        Ok(Some(Arc::new(PooledBlock::new(block.header, block.bytes, 0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::PoolBudget;
    use keel_base::env::sim::{SimDisk, env};
    use keel_log::LogOptions;
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::Mutex;

    fn log_with_pool(budget_bytes: usize) -> (Log, Arc<LogPool>, Arc<PoolBudget>) {
        let disk = SimDisk::new();
        let log = Log::create(&env(&disk, 1), Path::new("log"), LogOptions::default()).unwrap();
        let budget = PoolBudget::new(budget_bytes);
        let pool = Arc::new(LogPool::new(&budget, log.appended()));
        let tapped = Arc::clone(&pool);
        log.set_tap(Some(Arc::new(move |block| drop(tapped.push(block, 1, Lsn::ZERO)))));
        (log, pool, budget)
    }

    #[test]
    fn a_block_that_is_let_go_leaves_its_room_to_a_later_one() {
        let (log, pool, _) = log_with_pool(1 << 20);
        let mut places = Vec::new();
        for _ in 0..4 {
            let (to, places_to) = (Arc::clone(&pool), Arc::new(Mutex::new(0)));
            let (place, done) = (Arc::clone(&places_to), log.hardened());
            log.set_tap(Some(Arc::new(move |block| {
                *place.lock().unwrap() = to.push(block, 1, done).stored().as_ptr() as usize;
            })));
            write(&log, 5000);
            places.push(*places_to.lock().unwrap());
        }
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
    }

    fn write(log: &Log, bytes: usize) {
        log.append(&vec![7; bytes], |_| {}).unwrap();
        log.flush().unwrap();
    }

    /// Takes everything there is and checks that it is contiguous.
    fn drain(feed: &mut LogFeed) -> usize {
        let mut blocks = 0;
        let mut at = feed.position();
        while let Some(block) = feed.next().unwrap() {
            assert_eq!(block.header().first_lsn, at);
            at = block.header().end_lsn();
            blocks += 1;
        }
        blocks
    }

    #[test]
    fn a_feed_that_keeps_up_never_reads_the_disk() {
        let (log, pool, _) = log_with_pool(1 << 20);
        let mut feed = LogFeed::new(log.clone(), pool, Lsn::ZERO);
        for _ in 0..10 {
            write(&log, 300);
            assert_eq!(drain(&mut feed), 1);
        }
        assert_eq!(feed.from_disk_bytes(), 0);
    }

    #[test]
    fn what_the_pool_let_go_comes_from_the_files_and_then_from_the_pool_again() {
        let (log, pool, _) = log_with_pool(1 << 20);
        (0..10).for_each(|_| write(&log, 300));
        pool.release_before(Lsn(1500));
        let mut feed = LogFeed::new(log.clone(), pool, Lsn::ZERO);
        assert_eq!(drain(&mut feed), 10);
        assert_eq!(feed.from_disk_bytes(), 5 * 364);
        write(&log, 10);
        assert_eq!(drain(&mut feed), 1);
        assert_eq!(feed.from_disk_bytes(), 5 * 364);
    }

    #[test]
    fn what_was_never_in_the_pool_comes_from_the_files() {
        let (log, pool, _) = log_with_pool(1 << 20);
        let mut feed = LogFeed::new(log.clone(), Arc::clone(&pool), Lsn::ZERO);
        log.set_tap(None);
        write(&log, 300);
        pool.skip_to(log.appended());
        assert_eq!(drain(&mut feed), 1);
        assert_eq!(drain(&mut feed), 0);
    }

    #[test]
    fn the_compressed_form_is_made_once() {
        let (log, pool, _) = log_with_pool(1 << 20);
        write(&log, 5000);
        let one = LogFeed::new(log.clone(), Arc::clone(&pool), Lsn::ZERO).next().unwrap().unwrap();
        let two = LogFeed::new(log, pool, Lsn::ZERO).next().unwrap().unwrap();
        assert!(std::ptr::eq(one.compressed().unwrap(), two.compressed().unwrap()));
    }

    #[test]
    fn a_position_that_is_no_blocks_beginning_is_refused() {
        let (log, pool, _) = log_with_pool(1 << 20);
        write(&log, 300);
        let mut feed = LogFeed::new(log, pool, Lsn(17));
        assert!(feed.next().is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Whatever the pool's size, and however far behind the feeds fall, each block comes once and in order.
        #[test]
        fn complete_whatever_the_budget(
            sizes in prop::collection::vec((1usize..90_000, any::<bool>()), 1..30),
            budget in 1usize..100_000,
        ) {
            let (log, pool, budget) = log_with_pool(budget);
            let mut eager = LogFeed::new(log.clone(), Arc::clone(&pool), Lsn::ZERO);
            let mut lazy = LogFeed::new(log.clone(), Arc::clone(&pool), Lsn::ZERO);
            for (bytes, drain_lazy) in sizes {
                write(&log, bytes);
                drain(&mut eager);
                prop_assert_eq!(eager.position(), log.hardened());
                if drain_lazy {
                    drain(&mut lazy);
                    prop_assert_eq!(lazy.position(), log.hardened());
                }
            }
            drop((eager, lazy, log));
            drop(pool);
            let _ = budget;
        }
    }
}
