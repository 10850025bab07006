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
use parking_lot::Mutex;
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

/// Databases that a session uses besides its current one: it has a transaction open there, or comes back. Its own thread writes it,
/// others look.
#[derive(Debug, Default)]
pub struct OpenIn {
    few: [AtomicU32; 4],
    /// Those for which there was no room.
    more: Mutex<Vec<DatabaseId>>,
}

impl OpenIn {
    fn find(&self, id: u32) -> Option<&AtomicU32> {
        self.few.iter().find(|place| place.load(Ordering::Relaxed) == id)
    }

    fn begin(&self, database: DatabaseId) {
        match self.find(0) {
            Some(free) => free.store(database.0, Ordering::Release),
            None => self.more.lock().push(database),
        }
    }

    fn end(&self, database: DatabaseId) {
        if let Some(place) = self.find(database.0) {
            return place.store(0, Ordering::Release);
        }
        let mut more = self.more.lock();
        if let Some(at) = more.iter().position(|other| *other == database) {
            more.swap_remove(at);
        }
    }

    /// Whether it uses that one.
    #[must_use]
    pub fn has(&self, database: DatabaseId) -> bool {
        self.find(database.0).is_some() || self.more.lock().contains(&database)
    }
}

/// A session's transaction in a database, or what else it has there, as others see it until this is dropped; on the session's thread.
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

/// A session is elsewhere for a while, and comes back to a database, which is in use until this is dropped.
pub(crate) struct Stay(Arc<DatabaseEntry>, #[expect(dead_code, reason = "others see it")] Visit);

impl Stay {
    /// Of a session that is in the database.
    pub(crate) fn new(session: &Arc<SessionShared>, database: &Arc<DatabaseEntry>) -> Stay {
        database.users.fetch_add(1, Ordering::AcqRel);
        Stay(Arc::clone(database), Visit::new(session, database.id))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::AcqRel);
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
    /// Whether it is in a database, has a transaction open there, or comes back.
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
}

impl Engine {
    /// The sessions that use a database, but for one.
    #[must_use]
    pub(crate) fn users_besides(&self, database: DatabaseId, session: u32) -> Vec<Arc<SessionShared>> {
        let mut all = self.sessions.all();
        all.retain(|s| s.id != session && s.uses(database));
        all
    }

    /// Whether another session is the one user of a database, whose state this one is changing: still after a moment, and no login that is
    /// yet to be refused.
    ///
    /// # Errors
    /// The request was cancelled.
    pub(crate) fn is_used_by_another(&self, database: DatabaseId, session: &SessionShared) -> Result<bool> {
        let mut looking = Looking::patient(session);
        for look in 0..LEAVING {
            let others = self.users_besides(database, session.id);
            if others.is_empty() {
                return Ok(false);
            }
            if look >= CLOSING && others.iter().any(|other| other.admitted.load(Ordering::Acquire)) {
                break;
            }
            looking.again()?;
        }
        Ok(true)
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

    /// A session comes to use a database, which it need not be in. Waits while its state is changed.
    ///
    /// # Errors
    /// 924; 1222; the request was cancelled.
    pub(crate) fn visit(&self, entry: &DatabaseEntry, session: &Arc<SessionShared>) -> Result<Visit> {
        let in_it = session.database.load(Ordering::Relaxed) == entry.id.0;
        let mut looking = None;
        loop {
            let visit = Visit::new(session, entry.id);
            if in_it || self.admits(entry, session.id)? {
                return Ok(visit);
            }
            drop(visit);
            looking.get_or_insert_with(|| Looking::new(session)).again()?;
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

/// A session waits for others in a database to go, or for the one that changes its state: it looks again and again. No detector of deadlocks
/// sees that, so others are shown that it does.
pub(crate) struct Looking<'a> {
    session: &'a SessionShared,
    /// Until its lock timeout is over.
    left: Option<Duration>,
}

impl Looking<'_> {
    /// It begins to.
    pub(crate) fn new(session: &SessionShared) -> Looking<'_> {
        let timeout = session.options.lock().lock_timeout_ms;
        Looking::within(session, u64::try_from(timeout).ok().map(Duration::from_millis))
    }

    /// The same whatever its lock timeout is: its statement says how long.
    pub(crate) fn patient(session: &SessionShared) -> Looking<'_> {
        Looking::within(session, None)
    }

    fn within(session: &SessionShared, left: Option<Duration>) -> Looking<'_> {
        session.looking.store(true, Ordering::Release);
        Looking { session, left }
    }

    /// Whether it takes longer than a lock may.
    pub(crate) fn is_over(&self) -> bool {
        self.left.is_some_and(|left| left < LOOK_EVERY)
    }

    /// The pause between two looks.
    ///
    /// # Errors
    /// The request was cancelled; 1222.
    pub(crate) fn again(&mut self) -> Result<()> {
        if self.session.cancel.is_cancelled() {
            return Err(errors::cancelled());
        }
        if self.is_over() {
            return Err(errors::lock_timeout());
        }
        self.left = self.left.map(|left| left.saturating_sub(LOOK_EVERY));
        std::thread::sleep(LOOK_EVERY);
        Ok(())
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.session.looking.store(false, Ordering::Release);
    }
}
