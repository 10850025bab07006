//! The commit of a session's transactions: all get their place in the log, then all are waited for, or [taken](super::super::unsettled) by
//! who sends the answer. With delayed durability nobody waits for them. What more than rows depends on is waited for in any case.
//!
//! What was written in several databases is decided by the log of the first ([`crate::distributed::decision`]): the others are prepared
//! before, and its commit is waited for before theirs. So it is with branches at other servers ([`crate::linked::branch`]).

use super::{LogMark, Open, TxnSet};
use crate::distributed::decision::Deciding;
use crate::engine::{DatabaseEntry, MASTER, TABLE_VARIABLES, TEMPDB};
use crate::linked::branch::Outside;
use crate::map::txn_error;
use keel_base::Lsn;
use keel_node::{Commit, Role};
use keel_types::SqlError;
use keel_types::error::Result;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Instant;

/// A commit under way.
struct Committing {
    /// WITH MARK.
    mark: Option<LogMark>,
    /// When several databases are decided about together: until the first has committed.
    undecided: Option<Deciding>,
    /// The same, afterwards, with the first database.
    decided: Option<(Deciding, Arc<DatabaseEntry>)>,
    /// What is in the logs, and not waited for; whether it wrote something there.
    waiting: SmallVec<[(Commit, Arc<DatabaseEntry>, bool); 2]>,
    /// Databases that have the mark, and where.
    marked: Vec<(Arc<str>, Lsn)>,
    failed: Option<Box<SqlError>>,
}

/// Whether a database can be decided about together with others: it stands alone, or its group wants that.
fn takes_part(engine: &crate::engine::Engine, open: &Open) -> bool {
    let durable = open.database != TEMPDB && open.database != TABLE_VARIABLES;
    durable
        && open.txn.has_writes()
        && match open.entry.store.role() {
            Role::Standalone => true,
            Role::Primary => engine.has_dtc_support(&open.entry),
            Role::Secondary | Role::Resolving => false,
        }
}

impl TxnSet {
    /// Commits everything. When `later` says so, and it is rows of one database, it is durable only when the session
    /// [settles](crate::Session::settle).
    pub fn commit(&mut self, later: bool) -> Result<()> {
        if let Err(e) = self.settle_before() {
            self.rollback();
            return Err(e);
        }
        let captured = self.open.iter().any(Open::captures);
        let asked_to_delay = std::mem::take(&mut self.asked_to_delay);
        let queued = self.open.iter().any(Open::queues);
        // Who hears of it looks at once, and must see it.
        let later = later && !self.broker.any() && self.may_wait_later();
        self.end_statements();
        let mut outside = match self.links.take_branches() {
            Ok(outside) => outside,
            Err(e) => {
                self.rollback();
                return Err(e);
            }
        };
        if outside.count() == 1
            && !self.has_durable_writes()
            && let Err(e) = std::mem::take(&mut outside).commit_alone()
        {
            self.rollback();
            return Err(e);
        }
        let later = later && outside.is_empty();
        let together = self.together();
        // Held until each has its place in its log: the numbers of tracked changes are in that order.
        let tracked = self.tracked_among(&together);
        let _orders: Vec<_> = tracked.iter().map(|entry| entry.change_order.lock()).collect();
        let mut doing = Committing {
            mark: self.log_mark.take(),
            undecided: None,
            decided: None,
            waiting: SmallVec::new(),
            marked: Vec::new(),
            failed: None,
        };
        let prepared = self.prepare_others(&together);
        match prepared.and_then(|deciding| self.prepare_outside(deciding, &mut outside)) {
            Ok(deciding) => doing.undecided = deciding,
            Err(e) => {
                drop(outside);
                self.rollback();
                return Err(e);
            }
        }
        while let Some(open) = self.open.pop() {
            if doing.failed.is_some() && doing.decided.is_none() {
                open.txn.rollback();
                continue;
            }
            self.commit_one(&mut doing, open);
        }
        self.points.retain(|_| false);
        for (commit, entry, writes) in std::mem::take(&mut doing.waiting) {
            let done = if later && writes && entry.delays_commits(asked_to_delay) {
                commit.delay().map_err(|e| txn_error(e, &entry.name(), self.session))
            } else if later && !commit.is_durable() {
                self.shared.unsettled.take(commit, entry, self.session)
            } else {
                wait(commit, &entry).map_err(|e| txn_error(e, &entry.name(), self.session))
            };
            if let Err(e) = done {
                doing.failed.get_or_insert(e);
            }
        }
        self.tell_broker(doing.failed.is_none());
        let changes = std::mem::take(&mut self.changes);
        if !changes.is_empty() && doing.failed.is_none() && self.engine.subscriptions.committed(&changes) {
            self.engine.broker.bell.ring();
        }
        if captured {
            self.engine.capture_bell.ring();
        }
        if queued {
            self.engine.full_text_bell.ring();
        }
        // What became of it after a failure only the log can tell: whoever looks after the branches asks it.
        let told = match doing.decided {
            Some(_) => outside.finish(&self.engine),
            None => outside.leave_undecided(),
        };
        self.finish(doing, told)
    }

    /// What others see at once, or in another order than that of one log, comes behind what was committed before it: writes in other
    /// databases, and in tables of tempdb that everybody has.
    fn settle_before(&self) -> Result<()> {
        let unsettled = &self.shared.unsettled;
        let shows = |open: &Open| {
            open.database != TABLE_VARIABLES
                && open.txn.has_writes()
                && unsettled.any_besides(open.database)
                && (open.database != TEMPDB || self.engine.shares_tempdb())
        };
        if unsettled.any() && self.open.iter().any(shows) { unsettled.settle(self.session) } else { Ok(()) }
    }

    /// Whether nothing but rows of one database depends on it.
    fn may_wait_later(&self) -> bool {
        let durable = |open: &&Open| open.database != TEMPDB && open.database != TABLE_VARIABLES;
        let plain = |open: &Open| !open.awaits_place() && !open.txn.changes_catalog();
        self.log_mark.is_none()
            && self.open.iter().filter(durable).count() <= 1
            && self.open.iter().all(plain)
    }

    /// Gives one transaction its place in the log. Of those that are decided together the first comes first, and is waited for: what
    /// follows is decided then.
    fn commit_one(&mut self, doing: &mut Committing, mut open: Open) {
        let writes = open.txn.has_writes() && open.database != TEMPDB && open.database != TABLE_VARIABLES;
        let (database, entry) = (open.database, Arc::clone(&open.entry));
        let name = entry.name();
        // The last of its records: RESTORE looks for it among those that the log has with the commit.
        let mark = doing.mark.as_ref().filter(|_| writes);
        let written = mark.map_or(Ok(()), |mark| mark.write(&mut open.txn, self.session));
        let written = written.map_err(|e| txn_error(e, &name, self.session));
        let written = written.and_then(|()| match &doing.undecided {
            Some(deciding) => deciding.write(&mut open.txn, &name),
            None => Ok(()),
        });
        // What was decided is committed, with its mark or without.
        if let Err(e) = written
            && doing.decided.is_none()
        {
            doing.failed = Some(e);
            open.txn.rollback();
            return;
        }
        let marks = mark.is_some();
        let commit = match open.commit(self.engine.now_utc()) {
            Ok(commit) => commit,
            Err(e) => {
                doing.failed.get_or_insert(txn_error(e, &name, self.session));
                return;
            }
        };
        if marks {
            doing.marked.push((Arc::clone(&name), commit.lsn()));
        }
        if writes {
            *self.shared.last_commit.lock() = Some((database, commit.lsn().0));
        }
        let Some(deciding) = doing.undecided.take() else {
            doing.waiting.push((commit, entry, writes));
            return;
        };
        match wait(commit, &entry) {
            Ok(()) => doing.decided = Some((deciding, entry)),
            Err(e) => {
                // Only the log can tell what became of it: the others stay in doubt until it can be read.
                doing.failed = Some(txn_error(e, &name, self.session));
                self.open.drain(..).for_each(|open| {
                    open.txn.leave();
                });
            }
        }
    }

    /// What the client is told. The decision is kept until all branches at other servers are `told`.
    fn finish(&self, doing: Committing, told: bool) -> Result<()> {
        if let Some(e) = doing.failed {
            return Err(e);
        }
        if let Some((deciding, first)) = doing.decided {
            if told {
                deciding.forget(&first);
            } else {
                deciding.keep(&first);
            }
        }
        if let Some(mark) = doing.mark {
            // The mark is in the log, and RESTORE finds it there: that it is not in msdb is no error of the transaction.
            let login = &self.shared.login.login;
            if let Err(e) = crate::backup::note_mark(&self.engine, &mark, &doing.marked, login) {
                let text =
                    format!("The mark '{}' is not in msdb.dbo.logmarkhistory: {}", mark.name, e.message);
                self.engine.options().log.write(&text);
            }
        }
        Ok(())
    }

    /// Whether something was written that a restart leaves.
    fn has_durable_writes(&self) -> bool {
        let durable = |o: &Open| o.database != TEMPDB && o.database != TABLE_VARIABLES && o.txn.has_writes();
        self.open.iter().any(durable)
    }

    /// Has the branches at other servers prepared, which one database decides about: the one that decides about the others, or the first that was
    /// written to, or master. It is the first to be committed.
    fn prepare_outside(
        &mut self,
        deciding: Option<Deciding>,
        outside: &mut Outside,
    ) -> Result<Option<Deciding>> {
        if outside.is_empty() {
            return Ok(deciding);
        }
        let deciding = match deciding {
            Some(deciding) => deciding,
            None => {
                let durable =
                    |o: &Open| o.database != TEMPDB && o.database != TABLE_VARIABLES && o.txn.has_writes();
                let first = match self.open.iter().position(durable) {
                    Some(first) => first,
                    None => match self.open.iter().position(|o| o.database == MASTER) {
                        Some(master) => master,
                        None => self.begin(MASTER)?,
                    },
                };
                let first = self.open.remove(first);
                let uow = *self.shared.uow.lock();
                let deciding = self.engine.begin_deciding(&first.entry, uow);
                self.open.push(first);
                deciding
            }
        };
        let (uow, decider) = deciding.decided_by();
        outside.prepare(&self.engine, uow, decider)?;
        Ok(Some(deciding))
    }

    /// The databases that are decided about together, by their places; none unless there are several.
    fn together(&self) -> Vec<usize> {
        if self.open.len() < 2 {
            return Vec::new();
        }
        let part = |at: &usize| takes_part(&self.engine, &self.open[*at]);
        let together: Vec<usize> = (0..self.open.len()).filter(part).collect();
        if together.len() > 1 { together } else { Vec::new() }
    }

    /// Those of them that have tracked changes, in an order that is everybody's.
    fn tracked_among(&self, together: &[usize]) -> Vec<Arc<DatabaseEntry>> {
        let tracked = together.iter().map(|at| &self.open[*at]).filter(|open| open.awaits_place());
        let mut entries: Vec<_> = tracked.map(|open| Arc::clone(&open.entry)).collect();
        entries.sort_by_key(|entry| entry.id);
        entries
    }

    /// Prepares all but the first of those that are decided about together, and puts the first where it is committed first. After an
    /// error the transaction is not committed, and can be rolled back.
    fn prepare_others(&mut self, together: &[usize]) -> Result<Option<Deciding>> {
        let Some((first, others)) = together.split_first() else { return Ok(None) };
        let mut deciding = self.engine.begin_deciding(&self.open[*first].entry, None);
        let (name, now) = (deciding.name().encode(), self.engine.now_utc());
        self.open[*first].give_place(now).map_err(|e| self.failure(*first, e))?;
        let mut prepared: SmallVec<[(usize, Commit); 2]> = SmallVec::new();
        for at in others {
            let open = &mut self.open[*at];
            let done = open.give_place(now).and_then(|()| open.txn.prepare(&name));
            prepared.push((*at, done.map_err(|e| self.failure(*at, e))?));
            deciding.add(&self.open[*at].entry);
        }
        for (at, durable) in prepared {
            durable.wait().map_err(|e| self.failure(at, e))?;
        }
        let first = self.open.remove(*first);
        self.open.push(first);
        Ok(Some(deciding))
    }

    fn failure(&self, at: usize, e: keel_node::TxnError) -> Box<SqlError> {
        txn_error(e, &self.open[at].entry.name(), self.session)
    }
}

/// Waits for a commit; how long a group's primary waited is counted.
pub(in crate::session) fn wait(
    commit: Commit,
    entry: &DatabaseEntry,
) -> std::result::Result<(), keel_node::TxnError> {
    let since = (entry.store.role() == Role::Primary).then(Instant::now);
    commit.wait()?;
    if let Some(since) = since {
        let waited = since.elapsed();
        entry.note_group_commit(waited);
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        keel_base::waits::note("HADR_SYNC_COMMIT", nanos);
    }
    Ok(())
}
