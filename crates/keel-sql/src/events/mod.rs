//! Extended events: what happens is told to event sessions that asked for it.
//!
//! ```text
//!   session's thread ── wants(event)? ──no──► goes on (one load of a word of bits)
//!        │ yes
//!        ▼
//!   fields of the event ──► each running event session that has the event
//!                             predicate ──► actions (who, where, which statement) ──► its targets
//! ```
//!
//! | module | owns |
//! | --- | --- |
//! | [`catalog`] | the events, actions, targets and predicate functions there are |
//! | [`definition`] | a session as it is kept in master |
//! | [`predicate`] | whether an event is wanted |
//! | [`record`] | an event that was fired, and its XML |
//! | [`running`] | a session that runs: its events and targets |
//! | [`target`] | ring buffer, file, counter, histogram |
//! | [`mod@file`] | files of events, read and written |
//! | [`actor`] | what a session says of itself in actions |
//! | [`fire`] | where sessions fire their events |
//! | [`deadlock`] | the reports of a deadlock and of a session that waits |
//! | [`blocked`] | who waits too long |
//! | `kept` | sessions in master, started and stopped |
//! | [`errors`] | what can be wrong with them |
//! | [`shipped`] | `system_health` and `AlwaysOn_health` |
//!
//! Targets are written by whoever fires the event: an event that was delivered can be read at once, none is lost for want of a
//! buffer, and whoever collects much pays for it himself.

pub mod actor;
pub mod blocked;
pub mod catalog;
pub mod deadlock;
pub mod definition;
pub mod errors;
pub mod file;
pub mod fire;
mod kept;
pub mod predicate;
pub mod record;
pub mod running;
pub mod shipped;
pub mod target;

use actor::Actor;
use catalog::{Event, Field};
use parking_lot::{Mutex, RwLock};
use running::Running;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The running event sessions of an instance.
#[derive(Default)]
pub struct Events {
    /// Bit n is set when somebody wants the event with that number.
    wanted: AtomicU64,
    running: RwLock<Vec<Arc<Running>>>,
    /// Held while a session is defined, started or stopped: numbers, names and targets are one's own meanwhile. Taken before all else here.
    pub(crate) admin: Mutex<()>,
    sequence: AtomicU64,
}

impl Events {
    /// Whether any session wants this event. Asked wherever it could happen: one relaxed load.
    #[must_use]
    pub fn wants(&self, event: Event) -> bool {
        self.wanted.load(Ordering::Relaxed) & event.bit() != 0
    }

    /// Whether any session wants to know of statements. Asked before each.
    #[must_use]
    #[inline]
    pub fn wants_statements(&self) -> bool {
        self.wants_any(fire::STATEMENTS)
    }

    /// Whether any session wants one of these.
    #[must_use]
    pub fn wants_any(&self, bits: u64) -> bool {
        self.wanted.load(Ordering::Relaxed) & bits != 0
    }

    /// Tells an event that happens now to the sessions that want it. `fields` in the order of the event's columns.
    pub fn fire(&self, event: Event, now_utc: i64, actor: &dyn Actor, fields: &[Field]) {
        let running = self.running.read().clone();
        let mut sequence = None;
        for session in running.iter().filter(|s| s.wants(event)) {
            let number = *sequence.get_or_insert_with(|| self.sequence.fetch_add(1, Ordering::Relaxed) + 1);
            session.take(event, now_utc, number, actor, fields);
        }
    }

    /// The session of that number, if it runs.
    #[must_use]
    pub fn running(&self, id: i32) -> Option<Arc<Running>> {
        self.running.read().iter().find(|r| r.definition.id == id).cloned()
    }

    /// All that run, by number.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Running>> {
        self.running.read().clone()
    }

    /// Puts a session in the place of the one with its number.
    pub fn start(&self, session: Arc<Running>) {
        let mut running = self.running.write();
        running.retain(|r| r.definition.id != session.definition.id);
        running.push(session);
        running.sort_by_key(|r| r.definition.id);
        self.wanted.store(running.iter().fold(0, |all, r| all | r.bits()), Ordering::Relaxed);
    }

    /// Ends one; false when it does not run.
    pub fn stop(&self, id: i32) -> bool {
        let mut running = self.running.write();
        let before = running.len();
        running.retain(|r| r.definition.id != id);
        self.wanted.store(running.iter().fold(0, |all, r| all | r.bits()), Ordering::Relaxed);
        running.len() < before
    }
}
