//! A lock owner: a transaction (or a session, for locks that outlive transactions) and what it holds.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering, fence};
use std::time::Instant;

use keel_base::{DatabaseId, TreeId};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::range::Interval;
use super::resource::Resource;
use super::table::{Asked, Request};
use super::wait::{Cancel, CancelToken, Wait, WaitCell, WaitState};
use super::{LockError, LockManager, Mode, WaitPlace};

/// What a deadlock report, `sys.dm_tran_locks` and the like say about an owner.
#[derive(Clone, Debug, Default)]
pub struct OwnerDescription {
    /// Session id.
    pub session_id: u32,
    /// Name of the open transaction (`user_transaction`, `implicit_transaction`, …).
    pub transaction_name: String,
    /// Login.
    pub login: String,
    /// The client's host.
    pub host: String,
    /// The client's program.
    pub application: String,
    /// Isolation level as the report prints it (`read committed (2)`).
    pub isolation: String,
    /// Current database.
    pub database: u32,
    /// Name of the running procedure, `adhoc` outside of one.
    pub procedure: String,
    /// Line of the running statement.
    pub line: u32,
    /// Text of the running statement.
    pub statement: String,
    /// Text of the batch.
    pub input_buffer: String,
}

/// Who an owner is. Called by other sessions' threads while this one waits for a lock: it must not take anything
/// that the session holds meanwhile.
pub trait OwnerContext: Send + Sync {
    /// The owner now.
    fn describe(&self) -> OwnerDescription;
}

impl OwnerContext for OwnerDescription {
    fn describe(&self) -> OwnerDescription {
        self.clone()
    }
}

/// The part of an owner that others see.
pub struct OwnerShared {
    /// Ascending by creation: the greater the younger.
    pub(super) id: u64,
    /// Who waits when this owner waits: owners with the same agent are served by one thread. Changes with
    /// [`LockOwner::serve`], never while it waits.
    agent: AtomicU64,
    /// What is said about it, and what stops its waits; changed likewise.
    of: Mutex<(Arc<dyn OwnerContext>, Arc<CancelToken>)>,
    pub(super) cell: WaitCell,
    pub(super) priority: AtomicI32,
    pub(super) log_used: AtomicU64,
    /// Waits so far; numbers them.
    waits: AtomicU64,
}

impl OwnerShared {
    pub(super) fn agent(&self) -> u64 {
        self.agent.load(Ordering::Relaxed)
    }

    pub(super) fn context(&self) -> Arc<dyn OwnerContext> {
        Arc::clone(&self.of.lock().0)
    }

    fn cancel(&self) -> Arc<CancelToken> {
        Arc::clone(&self.of.lock().1)
    }
}

impl Cancel for OwnerShared {
    fn wake_cancelled(&self) {
        self.cell.settle(WaitState::Cancelled);
    }
}

/// A holder that is just committing releases within a microsecond or two, and a sleep costs several: look again a few
/// times first. Nobody is overtaken, because a request is granted only if nobody who waits is in its way.
const LOOKS_BEFORE_QUEUEING: usize = 4;
const SPINS_PER_LOOK: usize = 8;

/// Locks of a transaction of ordinary size, so that the list of them is allocated once.
const PLACES_FIRST: usize = 32;

/// A place in the lock table where the owner holds something.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    shard: u32,
    head: u32,
}

/// An object or database lock held: asking again touches nothing shared.
struct Cached {
    database: DatabaseId,
    /// `None` for the database itself.
    object: Option<u32>,
    mode: Mode,
    /// Askings answered from here that an unlock has to take back first.
    repeats: u32,
    place: Place,
}

#[derive(Default)]
struct Held {
    places: Vec<Place>,
    cached: SmallVec<[Cached; 4]>,
    /// Range requests counted in the manager's total.
    ranges: usize,
}

/// How a lock was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Newly held.
    New,
    /// Held before, in this or a stronger mode, or strengthened now.
    Again,
}

/// A point in the sequence of locks that an owner took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockMark(usize);

/// Holds locks for a transaction or session; releases what is left when dropped. One thread at a time asks for locks.
pub struct LockOwner {
    manager: Arc<LockManager>,
    shared: Arc<OwnerShared>,
    held: Mutex<Held>,
}

impl LockOwner {
    /// A new owner. `agent` is the session: its thread waits for one lock at a time, whatever owner asks.
    #[must_use]
    pub fn new(
        manager: &Arc<LockManager>,
        agent: u64,
        context: Arc<dyn OwnerContext>,
        cancel: Arc<CancelToken>,
    ) -> LockOwner {
        let shared = OwnerShared {
            id: manager.next_owner(),
            agent: AtomicU64::new(agent),
            of: Mutex::new((context, cancel)),
            cell: WaitCell::new(),
            priority: AtomicI32::new(0),
            log_used: AtomicU64::new(0),
            waits: AtomicU64::new(0),
        };
        LockOwner { manager: manager.clone(), shared: Arc::new(shared), held: Mutex::default() }
    }

    /// The manager that it asks.
    #[must_use]
    pub fn manager(&self) -> &Arc<LockManager> {
        &self.manager
    }

    /// The owner's number, ascending by age.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// From now on it works for another agent, as when a session takes over a transaction that others have begun, or when a prepared
    /// one is left to nobody. Not while it waits.
    pub fn serve(&self, agent: u64, context: Arc<dyn OwnerContext>, cancel: Arc<CancelToken>) {
        self.shared.agent.store(agent, Ordering::Relaxed);
        *self.shared.of.lock() = (context, cancel);
    }

    /// `SET DEADLOCK_PRIORITY`: the owner with the least is the victim.
    pub fn set_deadlock_priority(&self, priority: i32) {
        self.shared.priority.store(priority, Ordering::Relaxed);
    }

    /// Log bytes written so far: of equal priority, the owner with the least is the victim.
    pub fn set_log_used(&self, bytes: u64) {
        self.shared.log_used.store(bytes, Ordering::Relaxed);
    }

    /// Locks a resource, waiting as `wait` says. Asking again for what is held is counted, so that each asking can be
    /// taken back by [`LockOwner::unlock`].
    pub fn lock(&self, resource: &Resource<'_>, mode: Mode, wait: Wait) -> Result<Granted, LockError> {
        let mut held = self.held.lock();
        let cacheable = match *resource {
            Resource::Object(database, id) => Some((database, Some(id))),
            Resource::Database(database) => Some((database, None)),
            _ => None,
        };
        if let Some(key) = cacheable
            && let Some(cached) = held.cached.iter_mut().find(|c| (c.database, c.object) == key)
            && cached.mode.covers(mode)
        {
            cached.repeats += 1;
            return Ok(Granted::Again);
        }
        let (place, granted) = self.ask(&mut held, resource, mode, None, false, wait)?;
        if let Some((database, object)) = cacheable {
            match held.cached.iter_mut().find(|c| (c.database, c.object) == (database, object)) {
                Some(cached) => cached.mode = cached.mode.join(mode),
                None => held.cached.push(Cached { database, object, mode, repeats: 0, place }),
            }
        }
        Ok(granted)
    }

    /// Locks the keys of an interval of a tree, there or not, against being written by others. `mode` is one of
    /// [`Mode::RangeSS`], [`Mode::RangeSU`], [`Mode::RangeXX`]. Take it before reading the range.
    pub fn lock_range(
        &self,
        database: DatabaseId,
        tree: TreeId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        mode: Mode,
        wait: Wait,
    ) -> Result<Granted, LockError> {
        assert!(
            matches!(mode, Mode::RangeSS | Mode::RangeSU | Mode::RangeXX),
            "not a range mode to hold: {mode}"
        );
        let mut held = self.held.lock();
        held.ranges += 1;
        // Counted before the range is granted, and so before it is read: see `check_write`.
        self.manager.ranges.fetch_add(1, Ordering::SeqCst);
        let interval = Box::new(Interval::new(bounds.0, bounds.1));
        let resource = Resource::Range(database, tree);
        self.ask(&mut held, &resource, mode, Some(interval), false, wait).map(|(_, granted)| granted)
    }

    /// Waits until no other owner has a range lock over `key`. A writer calls it after it has put its version into the
    /// store: then either it sees a range taken meanwhile, or that range's reader sees the version. Before that it
    /// [looks ahead](LockOwner::look_ahead). Costs one load and a barrier while nobody holds ranges.
    #[inline]
    pub fn check_write(
        &self,
        database: DatabaseId,
        tree: TreeId,
        key: &[u8],
        wait: Wait,
    ) -> Result<(), LockError> {
        fence(Ordering::SeqCst);
        self.look_ahead(database, tree, key, wait)
    }

    /// Waits until no other owner has a range lock over `key` that this thread knows of: so that a writer seldom waits
    /// with its version in the store already. What it misses [`LockOwner::check_write`] finds.
    #[inline]
    pub fn look_ahead(
        &self,
        database: DatabaseId,
        tree: TreeId,
        key: &[u8],
        wait: Wait,
    ) -> Result<(), LockError> {
        if self.manager.ranges.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        self.wait_for_range(database, tree, key, wait)
    }

    #[cold]
    fn wait_for_range(
        &self,
        database: DatabaseId,
        tree: TreeId,
        key: &[u8],
        wait: Wait,
    ) -> Result<(), LockError> {
        let mut held = self.held.lock();
        let interval = Box::new(Interval::point(key));
        self.ask(&mut held, &Resource::Range(database, tree), Mode::RangeIN, Some(interval), true, wait)?;
        Ok(())
    }

    /// Takes back one asking; the lock goes with the last one.
    pub fn unlock(&self, resource: &Resource<'_>) {
        let mut held = self.held.lock();
        let cached = match *resource {
            Resource::Object(database, id) => Some((database, Some(id))),
            Resource::Database(database) => Some((database, None)),
            _ => None,
        };
        let cached = cached.and_then(|key| held.cached.iter().position(|c| (c.database, c.object) == key));
        if let Some(index) = cached
            && held.cached[index].repeats > 0
        {
            held.cached[index].repeats -= 1;
            return;
        }
        let (index, hash) = self.manager.locate(resource);
        let mut shard = self.manager.shards[index].lock();
        let Some(head) = shard.place_of(hash, resource) else { return };
        let place = Place { shard: index as u32, head };
        let Some(at) = held.places.iter().rposition(|held| *held == place) else { return };
        if shard.release_one(head, &self.shared) {
            drop(shard);
            held.places.remove(at);
            if let Some(index) = cached {
                held.cached.remove(index);
            }
        }
    }

    /// Releases the locks of single keys of these trees, which the lock of their table stands for from now on: those in this mode or a
    /// weaker one. No mark may be out: the locks after it would be counted wrongly. Returns how many they were.
    pub fn release_keys(&self, database: DatabaseId, trees: &[TreeId], most: Mode) -> usize {
        let mut held = self.held.lock();
        let before = held.places.len();
        held.places.retain(|place| {
            let mut shard = self.manager.shards[place.shard as usize].lock();
            let goes = shard.heads_at(place.head).is_some_and(|head| {
                head.resource.is_key_of(database, trees)
                    && head.held_by(&self.shared).is_some_and(|mode| most.covers(mode))
            });
            if goes {
                shard.release(place.head, &self.shared);
            }
            !goes
        });
        let released = before - held.places.len();
        held.places.shrink_to(PLACES_FIRST);
        released
    }

    /// A mark for [`LockOwner::release_since`].
    #[must_use]
    pub fn mark(&self) -> LockMark {
        LockMark(self.held.lock().places.len())
    }

    /// Releases the locks newly taken since the mark; what was held before stays, strengthened as it may be.
    pub fn release_since(&self, mark: LockMark) {
        let mut held = self.held.lock();
        while held.places.len() > mark.0 {
            let place = held.places.pop().expect("longer than the mark");
            self.release(place);
            held.cached.retain(|cached| cached.place != place);
        }
    }

    /// Releases everything.
    pub fn release_all(&self) {
        let mut held = self.held.lock();
        for place in held.places.drain(..) {
            self.release(place);
        }
        held.cached.clear();
        if held.ranges > 0 {
            self.manager.ranges.fetch_sub(std::mem::take(&mut held.ranges), Ordering::SeqCst);
        }
    }

    /// Number of resources held.
    #[must_use]
    pub fn held_count(&self) -> usize {
        self.held.lock().places.len()
    }

    fn release(&self, place: Place) {
        self.manager.shards[place.shard as usize].lock().release(place.head, &self.shared);
    }

    fn ask(
        &self,
        held: &mut Held,
        resource: &Resource<'_>,
        mode: Mode,
        interval: Option<Box<Interval>>,
        instant: bool,
        wait: Wait,
    ) -> Result<(Place, Granted), LockError> {
        let (index, hash) = self.manager.locate(resource);
        let place = |head| Place { shard: index as u32, head };
        let mut shard = self.manager.shards[index].lock();
        shard.requests += 1;
        let again = interval.clone();
        let request = |interval| Request { owner: &self.shared, mode, interval, instant };
        let (mut head, mut asked) = shard.ask(hash, resource, request(interval));
        let mut looks = if wait == Wait::NO { 0 } else { LOOKS_BEFORE_QUEUEING };
        while asked == Asked::Blocked && looks > 0 {
            looks -= 1;
            drop(shard);
            (0..SPINS_PER_LOOK).for_each(|_| std::hint::spin_loop());
            shard = self.manager.shards[index].lock();
            (head, asked) = shard.ask(hash, resource, request(again.clone()));
        }
        match asked {
            Asked::New(head) => {
                if held.places.is_empty() {
                    held.places.reserve(PLACES_FIRST);
                }
                held.places.push(place(head));
                return Ok((place(head), Granted::New));
            }
            Asked::Known => return Ok((place(head), Granted::Again)),
            Asked::Free => return Ok((place(head), Granted::New)),
            Asked::Blocked if wait == Wait::NO => {
                self.manager.stats.timeouts.fetch_add(1, Ordering::Relaxed);
                return Err(LockError::Timeout);
            }
            Asked::Blocked => {}
        }
        let wait_id = self.shared.waits.fetch_add(1, Ordering::Relaxed) + 1;
        self.shared.cell.begin();
        let remember = shard.enqueue(head, request(again), wait_id);
        drop(shard);
        self.wait(
            WaitPlace { owner: self.shared.clone(), shard: index, head, wait_id, since: Instant::now() },
            wait,
            mode,
        )?;
        if remember {
            held.places.push(place(head));
        }
        Ok((place(head), if remember { Granted::New } else { Granted::Again }))
    }

    /// Sleeps through a queued request.
    fn wait(&self, at: WaitPlace, wait: Wait, mode: Mode) -> Result<(), LockError> {
        let (shard, head, wait_id, since) = (at.shard, at.head, at.wait_id, at.since);
        let shared = &self.shared;
        let cancel = shared.cancel();
        self.manager.note_waiting(at);
        if !cancel.sleep_on(Some(shared.clone())) {
            shared.cell.settle(WaitState::Cancelled);
        }
        self.manager.detect(shared.agent());
        shared.cell.sleep(wait);
        let outcome = {
            // Grants are given under this lock, so from here on the outcome stands.
            let mut shard = self.manager.shards[shard].lock();
            let outcome = shared.cell.finish();
            if !matches!(outcome, WaitState::Granted) {
                shard.leave_queue(head, shared, wait_id);
            }
            outcome
        };
        cancel.sleep_on(None);
        self.manager.note_done(shared.agent(), wait_id);
        let waited = since.elapsed();
        self.manager.stats.note(mode, waited);
        keel_base::waits::note_lock(mode.wait_type(), u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX));
        match outcome {
            WaitState::Granted => Ok(()),
            WaitState::Victim(graph) => Err(LockError::Deadlock(graph)),
            WaitState::Cancelled => Err(LockError::Cancelled),
            WaitState::Waiting | WaitState::Idle => {
                self.manager.stats.timeouts.fetch_add(1, Ordering::Relaxed);
                Err(LockError::Timeout)
            }
        }
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_all();
    }
}
