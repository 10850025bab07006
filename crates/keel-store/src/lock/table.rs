//! The lock table: shards of heads, each head one resource with its grants and its queue.
//!
//! Everything here happens under a shard's mutex and neither sleeps nor calls out. A head exists while somebody holds
//! or wants its resource, and keeps its place in the shard's slab for that time, so owners remember (shard, place)
//! instead of the resource.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashTable;
use smallvec::SmallVec;

use super::Mode;
use super::owner::OwnerShared;
use super::range::Interval;
use super::resource::{OwnedResource, Resource};
use super::wait::WaitState;

/// A mode held.
pub(super) struct Grant {
    pub(super) owner: Arc<OwnerShared>,
    pub(super) mode: Mode,
    /// How often the owner asked; `u32::MAX` sticks.
    pub(super) count: u32,
    /// Ranges only.
    pub(super) interval: Option<Box<Interval>>,
}

/// A request that waits.
pub(super) struct Waiter {
    pub(super) owner: Arc<OwnerShared>,
    /// The mode to hold afterwards (for a conversion: the join).
    pub(super) mode: Mode,
    /// The owner holds the resource in a weaker mode.
    pub(super) converts: bool,
    /// Nothing is held after the grant (a write asking whether its range is free).
    pub(super) instant: bool,
    pub(super) interval: Option<Box<Interval>>,
    /// Number of this wait of the owner.
    pub(super) wait_id: u64,
}

/// One resource that somebody holds or wants.
pub(super) struct Head {
    hash: u64,
    pub(super) resource: OwnedResource,
    pub(super) granted: SmallVec<[Grant; 1]>,
    /// Conversions first, then in order of arrival.
    #[allow(clippy::box_collection, reason = "nearly always absent, and heads should be small")]
    pub(super) queue: Option<Box<VecDeque<Waiter>>>,
}

/// What is asked for.
pub(super) struct Request<'a> {
    pub(super) owner: &'a Arc<OwnerShared>,
    pub(super) mode: Mode,
    pub(super) interval: Option<Box<Interval>>,
    pub(super) instant: bool,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Granted, and the owner had nothing here before: it must remember the place.
    New(u32),
    /// Granted; the owner knows the place.
    Known,
    /// Granted without holding anything.
    Free,
    /// Must wait at this place; `converts` when it holds a weaker mode.
    Blocked,
}

fn apart(a: Option<&Interval>, b: Option<&Interval>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if !a.overlaps(b))
}

impl Head {
    pub(super) fn waiters(&self) -> impl DoubleEndedIterator<Item = &Waiter> {
        self.queue.iter().flat_map(|queue| queue.iter())
    }

    fn grant_of(&mut self, owner: &Arc<OwnerShared>) -> Option<&mut Grant> {
        self.granted.iter_mut().find(|grant| Arc::ptr_eq(&grant.owner, owner))
    }

    /// The mode in which an owner holds it; of key ranges one of its modes.
    pub(super) fn held_by(&self, owner: &Arc<OwnerShared>) -> Option<Mode> {
        self.granted.iter().find(|grant| Arc::ptr_eq(&grant.owner, owner)).map(|grant| grant.mode)
    }

    /// Grants of others that stand in the way.
    pub(super) fn blocking_grants<'h>(
        &'h self,
        owner: &'h Arc<OwnerShared>,
        mode: Mode,
        interval: Option<&'h Interval>,
    ) -> impl Iterator<Item = &'h Grant> {
        self.granted.iter().filter(move |grant| {
            !mode.compatible(grant.mode)
                && !Arc::ptr_eq(&grant.owner, owner)
                && !apart(interval, grant.interval.as_deref())
        })
    }

    /// Of the first `before` waiters those that stand in the way of a newcomer or a later one. Who waits for a range
    /// that the asker itself holds is in nobody's way: it cannot go first, so waiting for it would be a deadlock.
    pub(super) fn blocking_waiters<'h>(
        &'h self,
        before: usize,
        owner: &'h Arc<OwnerShared>,
        mode: Mode,
        interval: Option<&'h Interval>,
    ) -> impl Iterator<Item = &'h Waiter> {
        self.waiters().take(before).filter(move |waiter| {
            !mode.compatible(waiter.mode)
                && !Arc::ptr_eq(&waiter.owner, owner)
                && !apart(interval, waiter.interval.as_deref())
                && !self.waits_for_range_of(waiter, owner)
        })
    }

    fn waits_for_range_of(&self, waiter: &Waiter, owner: &Arc<OwnerShared>) -> bool {
        waiter.interval.is_some()
            && self.granted.iter().any(|grant| {
                Arc::ptr_eq(&grant.owner, owner)
                    && !waiter.mode.compatible(grant.mode)
                    && !apart(waiter.interval.as_deref(), grant.interval.as_deref())
            })
    }

    fn free_for(&self, before: usize, waiter: (&Arc<OwnerShared>, Mode, Option<&Interval>, bool)) -> bool {
        let (owner, mode, interval, converts) = waiter;
        // A conversion does not queue behind newcomers: it holds what they wait for.
        self.blocking_grants(owner, mode, interval).next().is_none()
            && (converts || self.blocking_waiters(before, owner, mode, interval).next().is_none())
    }

    /// Grants what can be granted, in order.
    fn wake(&mut self) {
        let Some(mut queue) = self.queue.take() else { return };
        let mut still = Box::new(VecDeque::new());
        while let Some(waiter) = queue.pop_front() {
            self.queue = Some(still);
            let asked = (&waiter.owner, waiter.mode, waiter.interval.as_deref(), waiter.converts);
            let free = self.free_for(usize::MAX, asked);
            still = self.queue.take().expect("put there above");
            // One that was settled otherwise (victim, cancelled) takes itself out of the queue.
            if !free || !self.grant(&waiter) {
                still.push_back(waiter);
            }
        }
        if !still.is_empty() {
            self.queue = Some(still);
        }
    }

    fn grant(&mut self, waiter: &Waiter) -> bool {
        if !waiter.owner.cell.settle(WaitState::Granted) {
            return false;
        }
        if waiter.instant {
            return true;
        }
        if waiter.converts {
            let grant = self.grant_of(&waiter.owner).expect("a conversion holds a weaker mode");
            grant.mode = waiter.mode;
            grant.count = grant.count.saturating_add(1);
        } else {
            let interval = waiter.interval.clone();
            self.granted.push(Grant { owner: waiter.owner.clone(), mode: waiter.mode, count: 1, interval });
        }
        true
    }

    fn is_unused(&self) -> bool {
        self.granted.is_empty() && self.queue.is_none()
    }
}

/// One part of the lock table.
#[derive(Default)]
pub(super) struct Shard {
    places: HashTable<u32>,
    heads: Vec<Option<Head>>,
    free: Vec<u32>,
    /// Requests made here since the start.
    pub(super) requests: u64,
}

/// A slab that grew beyond this is given back when the shard is empty.
const IDLE_HEADS_MAX: usize = 1024;

impl Shard {
    fn find(&self, hash: u64, resource: &Resource<'_>) -> Option<u32> {
        let same = |place: &u32| {
            let head = self.head(*place);
            head.hash == hash && resource.is(&head.resource)
        };
        self.places.find(hash, same).copied()
    }

    pub(super) fn head(&self, place: u32) -> &Head {
        self.heads[place as usize].as_ref().expect("a head stays while it is held or waited for")
    }

    fn head_mut(&mut self, place: u32) -> &mut Head {
        self.heads[place as usize].as_mut().expect("a head stays while it is held or waited for")
    }

    /// What is at a place now, if anything.
    pub(super) fn heads_at(&self, place: u32) -> Option<&Head> {
        self.heads.get(place as usize)?.as_ref()
    }

    pub(super) fn heads(&self) -> impl Iterator<Item = &Head> {
        self.heads.iter().flatten()
    }

    /// Grants the request if nothing is in the way.
    pub(super) fn ask(&mut self, hash: u64, resource: &Resource<'_>, request: Request<'_>) -> (u32, Asked) {
        let Some(place) = self.find(hash, resource) else {
            if request.instant {
                return (0, Asked::Free);
            }
            let grant = Grant {
                owner: request.owner.clone(),
                mode: request.mode,
                count: 1,
                interval: request.interval,
            };
            let place = self.add(hash, resource, SmallVec::from_buf([grant]));
            return (place, Asked::New(place));
        };
        let head = self.head_mut(place);
        let is_range = request.interval.is_some();
        let mut mode = request.mode;
        let mut converts = false;
        if is_range {
            let wanted = request.interval.as_deref().expect("checked above");
            let has = |grant: &Grant| {
                Arc::ptr_eq(&grant.owner, request.owner)
                    && grant.mode.covers(mode)
                    && grant.interval.as_ref().is_some_and(|held| held.contains(wanted))
            };
            if head.granted.iter().any(has) {
                return (place, Asked::Known);
            }
        } else if let Some(grant) = head.grant_of(request.owner) {
            if grant.mode.covers(mode) {
                grant.count = grant.count.saturating_add(1);
                return (place, Asked::Known);
            }
            mode = grant.mode.join(mode);
            converts = true;
        }
        if !head.free_for(usize::MAX, (request.owner, mode, request.interval.as_deref(), converts)) {
            return (place, Asked::Blocked);
        }
        if request.instant {
            return (place, Asked::Free);
        }
        if converts {
            let grant = head.grant_of(request.owner).expect("found above");
            grant.mode = mode;
            grant.count = grant.count.saturating_add(1);
            return (place, Asked::Known);
        }
        let known = is_range && head.grant_of(request.owner).is_some();
        head.granted.push(Grant { owner: request.owner.clone(), mode, count: 1, interval: request.interval });
        (place, if known { Asked::Known } else { Asked::New(place) })
    }

    /// Queues a request that `ask` found blocked at `place`. Returns whether the owner has to remember the place once
    /// it is granted.
    pub(super) fn enqueue(&mut self, place: u32, request: Request<'_>, wait_id: u64) -> bool {
        let head = self.head_mut(place);
        let remember = !request.instant && head.grant_of(request.owner).is_none();
        let held =
            if request.interval.is_some() { None } else { head.grant_of(request.owner).map(|g| g.mode) };
        let mode = held.map_or(request.mode, |held| held.join(request.mode));
        let waiter = Waiter {
            owner: request.owner.clone(),
            mode,
            converts: held.is_some(),
            instant: request.instant,
            interval: request.interval,
            wait_id,
        };
        let queue = head.queue.get_or_insert_default();
        let at = if waiter.converts { queue.iter().take_while(|w| w.converts).count() } else { queue.len() };
        queue.insert(at, waiter);
        remember
    }

    /// Takes a waiter out again that was not granted.
    pub(super) fn leave_queue(&mut self, place: u32, owner: &Arc<OwnerShared>, wait_id: u64) {
        let head = self.head_mut(place);
        if let Some(queue) = &mut head.queue {
            queue.retain(|waiter| waiter.wait_id != wait_id || !Arc::ptr_eq(&waiter.owner, owner));
            if queue.is_empty() {
                head.queue = None;
            }
        }
        head.wake();
        self.drop_if_unused(place);
    }

    /// Takes back one asking; the grant goes with the last. True when it went.
    pub(super) fn release_one(&mut self, place: u32, owner: &Arc<OwnerShared>) -> bool {
        let grant = self.head_mut(place).grant_of(owner).expect("released by its holder");
        if grant.count > 1 {
            if grant.count != u32::MAX {
                grant.count -= 1;
            }
            return false;
        }
        self.release(place, owner);
        true
    }

    /// Takes back everything that an owner holds at `place`. Returns the number of grants.
    pub(super) fn release(&mut self, place: u32, owner: &Arc<OwnerShared>) -> usize {
        let Some(head) = self.heads[place as usize].as_mut() else { return 0 };
        if let ([only], None) = (&head.granted[..], &head.queue)
            && Arc::ptr_eq(&only.owner, owner)
        {
            self.drop_head(place);
            return 1;
        }
        let before = head.granted.len();
        head.granted.retain(|grant| !Arc::ptr_eq(&grant.owner, owner));
        let gone = before - head.granted.len();
        head.wake();
        self.drop_if_unused(place);
        gone
    }

    /// The place of a resource that is held or wanted.
    pub(super) fn place_of(&self, hash: u64, resource: &Resource<'_>) -> Option<u32> {
        self.find(hash, resource)
    }

    fn add(&mut self, hash: u64, resource: &Resource<'_>, granted: SmallVec<[Grant; 1]>) -> u32 {
        let head = Head { hash, resource: resource.to_owned(), granted, queue: None };
        let place = match self.free.pop() {
            Some(place) => {
                self.heads[place as usize] = Some(head);
                place
            }
            None => {
                self.heads.push(Some(head));
                u32::try_from(self.heads.len() - 1).expect("fewer than 2^32 locks per shard")
            }
        };
        let heads = &self.heads;
        let hash_of = |place: &u32| heads[*place as usize].as_ref().map_or(0, |head| head.hash);
        self.places.insert_unique(hash, place, hash_of);
        place
    }

    fn drop_if_unused(&mut self, place: u32) {
        if self.head(place).is_unused() {
            self.drop_head(place);
        }
    }

    fn drop_head(&mut self, place: u32) {
        if let Ok(entry) = self.places.find_entry(self.head(place).hash, |at| *at == place) {
            entry.remove();
        }
        self.heads[place as usize] = None;
        self.free.push(place);
        if self.places.is_empty() && self.heads.len() > IDLE_HEADS_MAX {
            *self = Shard::default();
        }
    }
}
