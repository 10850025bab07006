//! What the broker knows of queues in memory: who waits for a message, how often the last receivers were rolled back, which procedures run.
//!
//! Nothing here is needed to know what is in a queue: after a restart or on the next primary it begins anew.

use super::turn::Turned;
use crate::capture::Bell;
use crate::engine::Waits;
use crate::session::CancelHandle;
use hashbrown::HashMap;
use keel_base::DatabaseId;
use keel_query::catalog::ObjectId;
use keel_store::lock::{Cancel, CancelToken};
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The wait for a message.
pub(crate) const RECEIVE_WAIT: &str = "BROKER_RECEIVE_WAITFOR";

/// A queue of the instance.
pub(crate) type QueueId = (DatabaseId, ObjectId);

/// So many transactions in a row that have received from a queue and were rolled back switch it off.
const ROLLBACKS_MAX: u32 = 5;

/// The broker of an instance.
#[derive(Default)]
pub struct Broker {
    queues: Mutex<HashMap<QueueId, Arc<Watched>>>,
    /// Rung when there may be something to deliver, to time or to activate.
    pub bell: Bell,
    /// Something has changed that messages may wait for.
    stirred: AtomicBool,
    /// Waits for a message.
    pub(crate) receives: Waits,
    /// What the last turn in a database has left.
    turned: Mutex<HashMap<DatabaseId, Turned>>,
}

/// A queue that somebody has used.
#[derive(Default)]
pub(crate) struct Watched {
    state: Mutex<Seen>,
    heard: Condvar,
}

/// What is known of a queue.
#[derive(Default)]
pub(crate) struct Seen {
    /// How often something has come, or a group's lock was given back.
    changes: u64,
    /// Sessions that wait for a message.
    pub waiting: u32,
    /// Transactions in a row that have received and were rolled back.
    rollbacks: u32,
    /// How often somebody has received.
    pub receives: u64,
    /// How often somebody had received when a service was told that there are messages.
    pub told: Option<u64>,
    /// Something came since the monitor looked.
    pub look: bool,
    /// When the monitor looks again.
    pub again: Option<Instant>,
    /// When a procedure was started last, and how often somebody had received by then.
    pub started: Option<(Instant, u64)>,
    /// `last_activated_time`, `last_empty_rowset_time`: local ticks.
    pub activated_at: Option<i64>,
    /// See there.
    pub empty_at: Option<i64>,
    /// Procedures that run.
    pub tasks: Vec<Task>,
    /// Procedures that are about to.
    pub starting: usize,
}

/// A procedure that runs for a queue.
#[derive(Clone)]
pub(crate) struct Task {
    /// Its session.
    pub session: u32,
    /// `execute_as`
    pub execute_as: i32,
    /// Its name.
    pub procedure: String,
    /// Ends it.
    pub cancel: CancelHandle,
}

/// Queues that a transaction has put messages into or received from.
#[derive(Default)]
pub struct Touched {
    /// Rung when it is over.
    queues: SmallVec<[QueueId; 2]>,
    /// Received from.
    received: SmallVec<[QueueId; 2]>,
    /// Something waits to be delivered, or a timer was set.
    pub(crate) stirs: bool,
}

impl Touched {
    /// Whether anything is to be told when the transaction is over.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.queues.is_empty() || self.stirs
    }

    /// Something came into a queue, or one of its groups is locked.
    pub(crate) fn queue(&mut self, queue: QueueId) {
        if !self.queues.contains(&queue) {
            self.queues.push(queue);
        }
    }

    /// Messages were taken out of a queue.
    pub(crate) fn received(&mut self, queue: QueueId) {
        self.queue(queue);
        if !self.received.contains(&queue) {
            self.received.push(queue);
        }
    }
}

impl Broker {
    /// What is known of a queue.
    pub(crate) fn queue(&self, queue: QueueId) -> Arc<Watched> {
        Arc::clone(self.queues.lock().entry(queue).or_default())
    }

    /// The queues that somebody has used.
    pub(crate) fn queues(&self) -> Vec<(QueueId, Arc<Watched>)> {
        self.queues.lock().iter().map(|(id, watched)| (*id, Arc::clone(watched))).collect()
    }

    /// What a transaction did is seen now. Says which queues have to be switched off.
    pub(crate) fn ended(&self, touched: Touched, committed: bool) -> Vec<QueueId> {
        let mut poisoned = Vec::new();
        for queue in &touched.queues {
            let watched = self.queue(*queue);
            let mut seen = watched.state.lock();
            if touched.received.contains(queue) {
                seen.rollbacks = if committed { 0 } else { seen.rollbacks + 1 };
                if seen.rollbacks >= ROLLBACKS_MAX {
                    seen.rollbacks = 0;
                    poisoned.push(*queue);
                }
            }
            seen.changes += 1;
            seen.look = true;
            watched.heard.notify_all();
        }
        if committed && touched.stirs {
            self.stir();
        } else {
            self.bell.ring();
        }
        poisoned
    }

    /// Something has changed that messages may wait for: a service, a queue, an option.
    pub(crate) fn stir(&self) {
        self.stirred.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Whether something has, since this was asked last.
    pub(crate) fn was_stirred(&self) -> bool {
        self.stirred.swap(false, Ordering::AcqRel)
    }

    /// What a turn in a database has left.
    pub(crate) fn note_turn(&self, database: DatabaseId, turned: Turned) {
        self.turned.lock().insert(database, turned);
    }

    /// See [`Broker::note_turn`].
    pub(crate) fn turned(&self, database: DatabaseId) -> Turned {
        self.turned.lock().get(&database).copied().unwrap_or_default()
    }

    /// Ends the procedures that run.
    pub fn stop(&self) {
        for (_, watched) in self.queues() {
            // Who waits for a message is woken under the same lock.
            let tasks = watched.state.lock().tasks.clone();
            tasks.iter().for_each(|task| task.cancel.cancel());
        }
    }

    /// How many sessions wait for a message.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queues().iter().map(|(_, watched)| watched.state.lock().waiting as usize).sum()
    }

    /// How many procedures run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.queues().iter().map(|(_, watched)| watched.with(|seen| seen.tasks.len() + seen.starting)).sum()
    }
}

impl Watched {
    /// Looks, or writes, under its lock.
    pub fn with<T>(&self, what: impl FnOnce(&mut Seen) -> T) -> T {
        what(&mut self.state.lock())
    }

    /// Has those look again who wait.
    pub fn stir(&self) {
        self.state.lock().changes += 1;
        self.heard.notify_all();
    }

    /// How often something has changed: for [`Watched::wait`].
    pub fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Waits until something has changed since `changes`, until a time, or until the session is cancelled. Says whether something has.
    pub fn wait(self: &Arc<Self>, changes: u64, until: Option<Instant>, cancel: &CancelToken) -> bool {
        if !cancel.sleep_on(Some(Arc::clone(self) as Arc<dyn Cancel>)) {
            cancel.sleep_on(None);
            return false;
        }
        let mut seen = self.state.lock();
        seen.waiting += 1;
        let mut changed = seen.changes != changes;
        while !changed && !cancel.is_cancelled() {
            match until {
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left == Duration::ZERO || self.heard.wait_for(&mut seen, left).timed_out() {
                        break;
                    }
                }
                None => self.heard.wait(&mut seen),
            }
            changed = seen.changes != changes;
        }
        seen.waiting -= 1;
        drop(seen);
        cancel.sleep_on(None);
        changed
    }
}

impl Cancel for Watched {
    fn wake_cancelled(&self) {
        // Under the lock, so that who is about to wait is not missed.
        let _seen = self.state.lock();
        self.heard.notify_all();
    }
}
