//! What is between a transaction's last write and its acknowledgement: the wait for its commit to be durable, and, of one that somebody
//! outside decides about, that everything is durable before it is decided.

use super::{Transaction, micros};
use crate::database::Database;
use crate::error::{DbError, TxnError};
use crate::follower::CATALOG_TREE;
use crate::locks::Agent;
use crate::prepared::{Prepared, kept_name};
use crate::read::{ReadView, View};
use keel_base::Lsn;
use keel_redo::prepare_group;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Transaction {
    /// Puts everything that it has written into the log, and behind it that somebody outside decides what becomes of it, who calls it `name`.
    /// Once what is returned has been waited for, the transaction outlives this process, and in a group this replica: it can be committed
    /// whatever happens, and does not end by itself. Nothing may be written any more; who had this called goes on with
    /// [`Transaction::commit`], [`Transaction::rollback`] or [`Transaction::leave`].
    ///
    /// # Errors
    /// Those of writing log; the transaction is then as it was. Of a transaction that has written nothing, or in a volatile database, there
    /// is nothing to prepare: [`TxnError::RoleChanged`].
    pub fn prepare(&mut self, name: &[u8]) -> Result<Commit, TxnError> {
        if self.db.is_closed() {
            return Err(TxnError::Poisoned("the database is closed".into()));
        }
        if self.stream.is_none() || !self.buffer.is_empty() {
            self.send_part()?;
        }
        let nothing = || TxnError::RoleChanged("there is nothing that could be prepared".into());
        let stream = self.stream.as_ref().map(|stream| stream.id).ok_or_else(nothing)?;
        let log = self.db.log().ok_or_else(nothing)?;
        let kept = kept_name(&self.tables, name);
        let group = prepare_group(stream, micros(self.db.instance().env()), &kept);
        let lsn = log.append_in(self.term, &group, |_| ())?;
        self.prepared = Some(Arc::from(name));
        self.db.note_appended(lsn);
        Ok(Commit { db: Arc::clone(&self.db), lsn, term: self.term })
    }

    /// It reads what an earlier transaction of the same session has written, whether that is durable or not: nothing that it reads may leave
    /// before that is. To be called before its first statement. False, and nothing follows from it, when the database has changed its role
    /// since: what became of the other is not known then before it has been waited for.
    #[must_use]
    pub fn follow(&self, earlier: &Commit) -> bool {
        let same = self.term == earlier.term;
        if same {
            self.observed.note(earlier.lsn);
        }
        same
    }

    /// Returns when whatever a view of it shows is durable, here and where the group wants it, delayed commits too: for who is told of what
    /// must not come again as something else, a number that was given.
    ///
    /// # Errors
    /// Those of [`Commit::wait`].
    pub fn settle(&self, view: &ReadView) -> Result<(), TxnError> {
        let seen = match (&view.0, self.db.log()) {
            (_, None) => return Ok(()),
            (View::Snapshot(snapshot), _) => snapshot.lsn(),
            (View::Locked { .. } | View::Dirty, Some(log)) => log.appended(),
        };
        Commit { db: Arc::clone(&self.db), lsn: seen, term: self.term }.wait()
    }

    /// Whether it has changed the catalog, which more than rows depends on.
    pub fn changes_catalog(&self) -> bool {
        self.set.as_ref().is_some_and(|set| set.has_touched(CATALOG_TREE)) || !self.dropped_trees.is_empty()
    }

    /// Leaves a prepared transaction to whoever decides about it: it is one of [`Database::in_doubt`] from now on, and keeps its locks.
    /// One that is not prepared rolls back. Returns its number there.
    pub fn leave(mut self) -> Option<u64> {
        let name = self.prepared.take()?;
        let stream = self.stream.take()?;
        let agent = Agent::anonymous(self.id);
        self.lock_owner().serve(agent.id, agent.context, agent.cancel);
        let prepared = Prepared {
            txn: self.id,
            set: self.set.take(),
            owner: Arc::clone(self.lock_owner()),
            dropped_trees: std::mem::take(&mut self.dropped_trees),
            name,
            since_us: micros(self.db.instance().env()),
            log_bytes: self.log_bytes,
        };
        // Its locks are the other's now.
        self.owner = std::sync::OnceLock::new();
        self.db.prepared.lock().insert(stream.id, prepared);
        Some(stream.id)
    }
}

/// A commit, or a prepare, that has its place in the log but may not be durable yet.
#[must_use = "a commit may be acknowledged only after wait() or delay()"]
pub struct Commit {
    pub(crate) db: Arc<Database>,
    pub(crate) lsn: Lsn,
    pub(crate) term: u64,
}

impl Commit {
    /// Its position; for a transaction that only read, the newest commit it has seen.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Whether there is nothing to wait for.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        let Some(log) = self.db.log() else { return true };
        self.term == 0 || (self.lsn <= log.hardened() && self.db.gate.lets(self.lsn, self.term))
    }

    /// Whether it is known what became of it: it is durable, or the term in which it was made is over, and the next transaction sees
    /// whether it was taken along.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.is_durable() || self.db.gate.term() != self.term
    }

    /// Bytes of log up to its end that are not durable yet, here or where its group wants them.
    #[must_use]
    pub fn bytes_left(&self) -> u64 {
        let hardened = self.db.log().map_or(self.lsn, keel_log::Log::hardened);
        self.lsn.0.saturating_sub(hardened.min(self.db.gate.cap()).0)
    }

    /// Has it made durable by another thread, without waiting for it: for who goes on working before it does. Cheap when it is called again.
    pub fn make_durable_soon(&self) {
        self.db.ask_for_flush();
    }

    /// Leaves it to become durable soon (delayed durability): it may be acknowledged, and others see it, from now on. Until it is durable here
    /// a crash, and until its group has it a failover, takes it back, with everything behind it in the log and nothing before it.
    ///
    /// # Errors
    /// Those of [`Commit::wait`], when it can be seen by now that it does not become durable.
    pub fn delay(self) -> Result<(), TxnError> {
        if self.term == 0 {
            return Ok(());
        }
        if self.db.log_has_failed() || !self.db.gate.tell(self.lsn, self.term) {
            return self.wait();
        }
        self.make_durable_soon();
        Ok(())
    }

    /// Returns when it is durable, here and where its group wants it. After an error the commit is in doubt: only
    /// recovery, or the group, can tell.
    pub fn wait(self) -> Result<(), TxnError> {
        if self.term == 0 {
            // It has read what was agreed, and written nothing.
            return Ok(());
        }
        self.db.wait_committed(self.lsn, self.term)
    }
}

impl Database {
    /// Up to where commits were [acknowledged before](Commit::delay) they were durable, in this term as a writer; zero when none were, or once
    /// the log has failed: what was told then may be lost, and is shown to nobody who comes later. Readers see that far, also where it is past
    /// what is hardened or agreed.
    pub fn told(&self) -> Lsn {
        let told = self.gate.told();
        if told > Lsn::ZERO && self.log_has_failed() { Lsn::ZERO } else { told }
    }

    fn log_has_failed(&self) -> bool {
        self.log().is_some_and(keel_log::Log::is_poisoned)
    }

    /// Has the log made durable soon, by a thread that does only that.
    #[inline]
    pub(crate) fn ask_for_flush(&self) {
        if self.log.is_some()
            && !self.flush_asked.swap(true, Ordering::AcqRel)
            && !self.instance.log_writer.ask(&self.weak)
        {
            // No thread can be had for it.
            self.instance.log_writer.work_queued();
        }
    }

    /// Returns when nobody has asked since it was done last: one thread at a time does it.
    pub(crate) fn flush_in_background(&self) -> Result<(), DbError> {
        loop {
            let flushed = self.flush_what_is_there();
            // Whoever has not asked because this is under way has appended before.
            self.flush_asked.swap(false, Ordering::AcqRel);
            flushed?;
            let more = self.log.as_ref().is_some_and(|log| log.hardened() < log.appended());
            if !more || self.is_closed() || self.flush_asked.swap(true, Ordering::AcqRel) {
                return Ok(());
            }
        }
    }

    fn flush_what_is_there(&self) -> Result<(), DbError> {
        if let Some(log) = self.log.as_ref().filter(|_| !self.is_closed()) {
            log.flush()?;
            self.advance_visible();
        }
        Ok(())
    }

    /// Returns when all commits so far are durable, here and where the group wants it, those with
    /// [delayed durability](Commit::delay) too. On a copy that does not write at once.
    ///
    /// # Errors
    /// Those of [`Commit::wait`].
    pub fn settle_commits(&self) -> Result<(), TxnError> {
        let term = self.gate.term();
        match self.log() {
            Some(log) if term != 0 => self.wait_committed(log.appended(), term),
            _ => Ok(()),
        }
    }
}
