//! Who uses a database: sessions that are in it, and sessions elsewhere that have a transaction open in it.
//!
//! ```text
//!   USE, login, a name of three parts             ALTER DATABASE … SET
//!        come, for all to see                          say that its state changes
//!        is it changed? go, and try again   ◄──►       is anybody in it? wait, or end them
//!        for one user? then nobody else is in it       change it, and say no more
//! ```
//! Each says what it does before it looks at the other, so one of the two always notices. Who is in already goes on.

use super::{DatabaseEntry, Engine, SessionShared};
use crate::errors;
use keel_base::DatabaseId;
use keel_types::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// How often those who wait for each other look.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What a session that was killed takes to leave, at most, before it counts as one that stays; in looks.
const LEAVING: u32 = 1000;
/// What others are given: a client may have closed its connection just now.
const CLOSING: u32 = 25;
/// What a login waits for a database whose state is changed, at most.
const LOGIN: u32 = 1000;

/// Databases in which a session has a transaction open. Its own thread writes it, others look.
#[derive(Debug, Default)]
pub struct OpenIn {
    few: [AtomicU32; 4],
    /// In how many besides those, which could be any.
    more: AtomicU32,
}

impl OpenIn {
    fn find(&self, id: u32) -> Option<&AtomicU32> {
        self.few.iter().find(|place| place.load(Ordering::Relaxed) == id)
    }

    fn begin(&self, database: DatabaseId) {
        match self.find(0) {
            Some(free) => free.store(database.0, Ordering::Release),
            None => _ = self.more.fetch_add(1, Ordering::Release),
        }
    }

    fn end(&self, database: DatabaseId) {
        match self.find(database.0) {
            Some(place) => place.store(0, Ordering::Release),
            None => _ = self.more.fetch_sub(1, Ordering::Release),
        }
    }

    /// Whether it has one open there, or may have.
    #[must_use]
    pub fn has(&self, database: DatabaseId) -> bool {
        self.find(database.0).is_some() || self.more.load(Ordering::Acquire) > 0
    }
}

/// A session's transaction in a database, as others see it until this is dropped; on the session's thread.
pub struct Visit(Arc<SessionShared>, DatabaseId);

impl Visit {
    /// One in a database that the session may use.
    #[must_use]
    pub fn new(session: &Arc<SessionShared>, database: DatabaseId) -> Visit {
        session.open_in.begin(database);
        Visit(Arc::clone(session), database)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.open_in.end(self.1);
    }
}

/// The state of a database is being changed until this is dropped: nobody comes in.
pub(crate) struct Changing<'a>(&'a DatabaseEntry);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.changed_by.store(0, Ordering::Release);
    }
}

impl SessionShared {
    /// Whether it is in a database, or has a transaction open there.
    #[must_use]
    pub fn uses(&self, database: DatabaseId) -> bool {
        self.database.load(Ordering::Acquire) == database.0 || self.open_in.has(database)
    }
}

impl DatabaseEntry {
    /// A session begins to change its state; `None` while another does.
    pub(crate) fn begin_changing(&self, session: u32) -> Option<Changing<'_>> {
        let begun = self.changed_by.compare_exchange(0, session, Ordering::SeqCst, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        begun.is_ok().then_some(Changing(self))
    }

    fn is_changed_by_another(&self, session: u32) -> bool {
        let by = self.changed_by.load(Ordering::Acquire);
        by != 0 && by != session
    }

    /// Whether somebody is in it or has a transaction open there.
    fn is_used(&self) -> bool {
        self.users.load(Ordering::Acquire) > 0 || self.open_transactions.load(Ordering::Acquire) > 0
    }

    /// Transactions open in it besides the session's own.
    pub(crate) fn transactions_besides(&self, session: &SessionShared) -> u32 {
        let own = u32::from(session.open_in.has(self.id));
        self.open_transactions.load(Ordering::Acquire).saturating_sub(own)
    }
}

impl Engine {
    /// The sessions that use a database, but for one.
    #[must_use]
    pub(crate) fn users_besides(&self, database: DatabaseId, session: u32) -> Vec<Arc<SessionShared>> {
        let mut all = self.sessions.all();
        all.retain(|s| s.id != session && s.uses(database));
        all
    }

    /// Asked by a session that has come to use a database. False when it has to go, and may try again.
    ///
    /// # Errors
    /// 924: it is for one user, and there is one. The session has to go.
    pub(crate) fn admits(&self, entry: &DatabaseEntry, session: u32) -> Result<bool> {
        fence(Ordering::SeqCst);
        if entry.is_changed_by_another(session) {
            return Ok(false);
        }
        // Whoever put it there has waited until it was durable, or is still changing it.
        let for_one = entry.picture.load().settings().user_access == "SINGLE_USER";
        if for_one && !self.users_besides(entry.id, session).is_empty() {
            return Err(errors::one_user_only(entry.name()));
        }
        Ok(true)
    }

    /// A transaction begins in a database, which the session need not be in. Waits while its state is changed.
    ///
    /// # Errors
    /// 924; the request was cancelled.
    pub(crate) fn visit(&self, entry: &DatabaseEntry, session: &Arc<SessionShared>) -> Result<Visit> {
        let in_it = session.database.load(Ordering::Relaxed) == entry.id.0;
        loop {
            let visit = Visit::new(session, entry.id);
            if in_it || self.admits(entry, session.id)? {
                return Ok(visit);
            }
            drop(visit);
            look_again(session)?;
        }
    }

    /// Before a login: returns when nobody changes the state of the database any more, or that takes long.
    pub(crate) fn wait_to_log_in(entry: &DatabaseEntry) {
        for _ in 0..LOGIN {
            if !entry.is_changed_by_another(0) {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether nobody uses a database. Sessions that were killed are waited for, and for a moment others, who may be leaving just now.
    pub(crate) fn is_left_alone(&self, entry: &DatabaseEntry) -> bool {
        for look in 0..LEAVING {
            if !entry.is_used() {
                return true;
            }
            let is_leaving = |s: &Arc<SessionShared>| s.uses(entry.id) && s.killed.load(Ordering::Acquire);
            if look >= CLOSING && !self.sessions.all().iter().any(is_leaving) {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        false
    }

    /// Ends the sessions that use a database: its role does not allow them any more. Their transactions roll back, their
    /// connections close. Returns how many there were.
    pub fn end_sessions_in(&self, database: DatabaseId) -> usize {
        let users = self.users_besides(database, 0);
        users.iter().for_each(|session| session.kill());
        users.len()
    }
}

/// The pause between two looks of a session.
///
/// # Errors
/// The request was cancelled.
pub(crate) fn look_again(session: &SessionShared) -> Result<()> {
    if session.cancel.is_cancelled() {
        return Err(errors::cancelled());
    }
    std::thread::sleep(LOOK_EVERY);
    Ok(())
}
