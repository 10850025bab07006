//! The page cache: one per instance, bounded in bytes, shared by the files of all databases.
//!
//! Pages are immutable, so the cache hands out `PagePin` and never has to wait for a writer. It is split into
//! shards by a hash of (file, page); a hit takes a shard's lock shared, for the time of one probe. Eviction is
//! S3-FIFO within each shard: new pages enter a *small* queue (a tenth of the room) and leave the cache from its
//! end unless they were used again meanwhile, in which case they move to the *main* queue; main gives pages that
//! were used another round. A *ghost* list remembers what was dropped lately and sends it straight to main when
//! it comes back. So a scan of a table larger than the cache only ever displaces the small queue.
//!
//! What is deliberately absent: dirty pages (a merge writes its own), overflow pages (read past the cache: one
//! large value would displace a thousand leaves), and reading (see [`PageFile`](super::file::PageFile)).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hashbrown::{HashSet, HashTable};
use parking_lot::{Mutex, RwLock};

use super::PAGE_SIZE;
use super::frame::PagePin;

/// Shards; enough that sessions on tens of cores rarely meet.
const SHARDS: usize = 64;
/// Parents may keep inner pages for as much as an eighth of the cache. Inner pages are a 250th of a file and the last
/// to be evicted anyway, so the bound only matters for files many times larger than memory.
const KEPT_SHARE: usize = 8;
/// Smallest room of a shard, in pages: below this the queues mean nothing.
const SHARD_PAGES_MIN: usize = 8;
/// Uses after which another use is no longer counted.
const FREQUENCY_MAX: u8 = 3;
/// Memory of a cached page: its bytes, the reference counts, its slot in table and queue.
const PAGE_COST: usize = PAGE_SIZE + 96;

thread_local! {
    static THREAD_MISSES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Pages that the calling thread did not find in any cache since it began, so that sessions can tell what they read.
#[must_use]
pub fn thread_misses() -> u64 {
    THREAD_MISSES.with(std::cell::Cell::get)
}

/// Page cache shared by all databases of an instance.
pub struct PageCache {
    shards: Box<[CachePadded<Shard>]>,
    shard_pages_max: AtomicUsize,
    files: AtomicU32,
    evictions: AtomicU64,
    life: Mutex<LifeSample>,
    /// Inner pages that parents keep, whether the cache still has them or not.
    kept: Arc<AtomicUsize>,
}

/// Counters since the cache was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Pages held now.
    pub pages: u64,
    /// Bytes held now, bookkeeping included.
    pub bytes: u64,
    /// Bound in bytes.
    pub capacity_bytes: u64,
    /// Look-ups that found the page.
    pub hits: u64,
    /// Look-ups that did not; each led to a read of the file.
    pub misses: u64,
    /// Pages pushed out to make room.
    pub evictions: u64,
}

/// A page that the cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedPage {
    /// The file's number in the cache.
    pub file: u32,
    /// Number in the file.
    pub page: u32,
    /// 0 for leaves.
    pub level: u32,
    /// Rows of a leaf, children of another page.
    pub rows: usize,
}

struct Shard {
    state: RwLock<ShardState>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Default)]
struct ShardState {
    table: HashTable<Slot>,
    small: VecDeque<Place>,
    main: VecDeque<Place>,
    /// Number of pages in the table whose place is in `small`.
    small_pages: usize,
    ghosts: VecDeque<u64>,
    ghost_set: HashSet<u64, foldhash::fast::FixedState>,
    stamp: u32,
}

struct Slot {
    key: u64,
    page: PagePin,
    /// Equals the stamp of this page's place in a queue; other places of the key are left-overs.
    stamp: u32,
    in_main: bool,
}

#[derive(Clone, Copy)]
struct Place {
    key: u64,
    stamp: u32,
}

#[derive(Default)]
struct LifeSample {
    at: Option<Duration>,
    evictions: u64,
    /// Smoothed evictions per second.
    rate: f64,
    started: Duration,
}

fn key_of(file: u32, page: u32) -> u64 {
    u64::from(file) << 32 | u64::from(page)
}

fn hash_of(key: u64) -> u64 {
    let wide = u128::from(key ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93_u128;
    (wide >> 64) as u64 ^ wide as u64
}

impl PageCache {
    /// A cache of at most `capacity_bytes`.
    pub fn new(capacity_bytes: usize) -> Arc<PageCache> {
        let shard = || Shard { state: RwLock::default(), hits: 0.into(), misses: 0.into() };
        Arc::new(PageCache {
            shards: (0..SHARDS).map(|_| CachePadded::new(shard())).collect(),
            shard_pages_max: shard_pages(capacity_bytes).into(),
            files: AtomicU32::new(0),
            evictions: AtomicU64::new(0),
            life: Mutex::default(),
            kept: Arc::default(),
        })
    }

    /// Changes the bound; a smaller one evicts at once.
    pub fn set_capacity(&self, bytes: usize) {
        self.shard_pages_max.store(shard_pages(bytes), Relaxed);
        for shard in &self.shards {
            self.shrink(&mut shard.state.write());
        }
    }

    /// Counters of all shards.
    pub fn stats(&self) -> CacheStats {
        let mut stats = CacheStats { evictions: self.evictions.load(Relaxed), ..CacheStats::default() };
        for shard in &self.shards {
            stats.pages += shard.state.read().table.len() as u64;
            stats.hits += shard.hits.load(Relaxed);
            stats.misses += shard.misses.load(Relaxed);
        }
        stats.bytes = stats.pages * PAGE_COST as u64;
        stats.capacity_bytes = (self.shard_pages_max.load(Relaxed) * SHARDS * PAGE_COST) as u64;
        stats
    }

    /// The pages held, in no order. Each shard is looked at by itself.
    #[must_use]
    pub fn pages(&self) -> Vec<CachedPage> {
        let mut pages = Vec::new();
        for shard in &self.shards {
            let state = shard.state.read();
            pages.extend(state.table.iter().map(|slot| CachedPage {
                file: (slot.key >> 32) as u32,
                page: slot.page.id(),
                level: slot.page.level(),
                rows: slot.page.len(),
            }));
        }
        pages
    }

    /// How many seconds a page that is not used again may expect to stay: pages held ÷ pages evicted per second
    /// (smoothed over the calls, so call it about once a second), or the time since the first call while nothing
    /// is evicted.
    pub fn page_life_expectancy(&self, now: Duration) -> u64 {
        let stats = self.stats();
        let mut life = self.life.lock();
        let Some(before) = life.at else {
            *life = LifeSample { at: Some(now), evictions: stats.evictions, rate: 0.0, started: now };
            return 0;
        };
        let seconds = now.saturating_sub(before).as_secs_f64();
        if seconds > 0.0 {
            let rate = (stats.evictions - life.evictions) as f64 / seconds;
            let weight = 1.0 - (-seconds / 10.0).exp();
            life.rate += (rate - life.rate) * weight;
            life.evictions = stats.evictions;
            life.at = Some(now);
        }
        let up = now.saturating_sub(life.started).as_secs();
        if life.rate < 0.01 { up } else { ((stats.pages as f64 / life.rate) as u64).min(up) }
    }

    /// The account of inner pages that parents keep, or none when it has reached its share of the cache.
    pub(super) fn keeping(&self) -> Option<&Arc<AtomicUsize>> {
        let share = self.shard_pages_max.load(Relaxed) * SHARDS / KEPT_SHARE;
        (self.kept.load(Relaxed) < share).then_some(&self.kept)
    }

    /// A number for a newly opened file.
    pub(super) fn register_file(&self) -> u32 {
        self.files.fetch_add(1, Relaxed)
    }

    /// The page, if it is here; counts as a use.
    #[inline]
    pub(super) fn get(&self, file: u32, page: u32) -> Option<PagePin> {
        let key = key_of(file, page);
        let hash = hash_of(key);
        let shard = self.shard(hash);
        let state = shard.state.read();
        let Some(slot) = state.table.find(hash, |slot| slot.key == key) else {
            shard.misses.fetch_add(1, Relaxed);
            THREAD_MISSES.with(|m| m.set(m.get() + 1));
            return None;
        };
        slot.page.prefetch();
        let page = slot.page.clone();
        drop(state);
        shard.hits.fetch_add(1, Relaxed);
        let frequency = page.frequency.load(Relaxed);
        if frequency < FREQUENCY_MAX {
            page.frequency.store(frequency + 1, Relaxed);
        }
        Some(page)
    }

    /// The page, if it is here, without counting anything: for the merge, whose reads say nothing about what
    /// sessions want.
    pub(super) fn peek(&self, file: u32, page: u32) -> Option<PagePin> {
        let key = key_of(file, page);
        let hash = hash_of(key);
        let state = self.shard(hash).state.read();
        state.table.find(hash, |slot| slot.key == key).map(|slot| slot.page.clone())
    }

    /// Adds a page or replaces the one under the same id. `hot` pages skip the small queue.
    pub(super) fn insert(&self, file: u32, page: &PagePin, hot: bool) {
        let key = key_of(file, page.id());
        let hash = hash_of(key);
        let mut guard = self.shard(hash).state.write();
        let state = &mut *guard;
        if let Some(slot) = state.table.find(hash, |slot| slot.key == key)
            && slot.page.reference() == page.reference()
        {
            return; // Two readers missed it at once, or a read-ahead passed it: its history counts.
        }
        state.remove(key, hash);
        let in_main = hot || state.ghost_set.remove(&key);
        state.stamp = state.stamp.wrapping_add(1);
        let place = Place { key, stamp: state.stamp };
        if in_main { &mut state.main } else { &mut state.small }.push_back(place);
        state.small_pages += usize::from(!in_main);
        let slot = Slot { key, page: page.clone(), stamp: place.stamp, in_main };
        state.table.insert_unique(hash, slot, |slot| hash_of(slot.key));
        self.shrink(state);
        state.sweep_left_overs();
    }

    /// Forgets a page whose place in the file is about to be reused.
    pub(super) fn remove(&self, file: u32, page: u32) {
        let key = key_of(file, page);
        let hash = hash_of(key);
        self.shard(hash).state.write().remove(key, hash);
    }

    /// Forgets all pages of a closed file.
    pub(super) fn forget_file(&self, file: u32) {
        for shard in &self.shards {
            let mut state = shard.state.write();
            state.table.retain(|slot| slot.key >> 32 != u64::from(file));
            state.small_pages = state.table.iter().filter(|slot| !slot.in_main).count();
            state.sweep_left_overs();
        }
    }

    fn shard(&self, hash: u64) -> &Shard {
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    fn shrink(&self, state: &mut ShardState) {
        let room = self.shard_pages_max.load(Relaxed);
        let mut evicted = 0;
        while state.table.len() > room && state.evict_one(room) {
            evicted += 1;
        }
        if evicted > 0 {
            self.evictions.fetch_add(evicted, Relaxed);
        }
    }
}

fn shard_pages(bytes: usize) -> usize {
    (bytes / PAGE_COST / SHARDS).max(SHARD_PAGES_MIN)
}

impl ShardState {
    fn remove(&mut self, key: u64, hash: u64) {
        if let Ok(entry) = self.table.find_entry(hash, |slot| slot.key == key) {
            let (slot, _) = entry.remove();
            self.small_pages -= usize::from(!slot.in_main);
        }
    }

    /// Drops one page; false when there is none.
    fn evict_one(&mut self, room: usize) -> bool {
        loop {
            let from_small = self.small_pages > room / 10 || self.small_pages == self.table.len();
            let queue = if from_small { &mut self.small } else { &mut self.main };
            let Some(place) = queue.pop_front() else { return false };
            let hash = hash_of(place.key);
            let Some(slot) = self.table.find_mut(hash, |s| s.key == place.key && s.stamp == place.stamp)
            else {
                continue;
            };
            let frequency = slot.page.frequency.load(Relaxed);
            if from_small && frequency > 1 {
                slot.page.frequency.store(0, Relaxed);
                slot.in_main = true;
                self.small_pages -= 1;
                self.main.push_back(place);
            } else if !from_small && frequency > 0 {
                slot.page.frequency.store(frequency - 1, Relaxed);
                self.main.push_back(place);
            } else {
                self.remove(place.key, hash);
                if from_small {
                    self.remember_ghost(place.key, room);
                }
                return true;
            }
        }
    }

    fn remember_ghost(&mut self, key: u64, room: usize) {
        if self.ghost_set.insert(key) {
            self.ghosts.push_back(key);
        }
        while self.ghosts.len() > room {
            if let Some(oldest) = self.ghosts.pop_front() {
                self.ghost_set.remove(&oldest);
            }
        }
    }

    /// Removed and replaced pages leave their places in the queues; they are swept before they outnumber the rest.
    fn sweep_left_overs(&mut self) {
        if self.small.len() + self.main.len() <= 2 * self.table.len() + 16 {
            return;
        }
        let ShardState { table, small, main, .. } = self;
        for queue in [small, main] {
            queue.retain(|p| table.find(hash_of(p.key), |s| s.key == p.key && s.stamp == p.stamp).is_some());
        }
    }
}
