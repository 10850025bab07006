//! The roles of a database, and what an availability group does with it.
//!
//! ```text
//!                    enter_group                fence                     demote
//!   Standalone ───────────────────► Primary ────────────► Resolving ─────────────────► Secondary
//!        ▲                           │   ▲                 ▲  │  ▲                         │ │
//!        └─────── leave_group ───────┘   └──── promote ────┼──┘  └───────── fence ─────────┘ │
//!                                        └─────────────────┼──────────── promote ────────────┘
//!                                                        open
//! ```
//! * A **primary** writes. A commit is acknowledged and seen when it is hardened here and by those whom the group waits
//!   for ([`Database::advance_agreed`]).
//! * A **secondary** takes blocks ([`Database::receive`]), hardens them ([`Database::harden`]) and applies what was agreed
//!   ([`Database::apply_up_to`]). Its readers see what is applied, always a prefix of the primary's history.
//! * **Resolving** does neither; a member that was closed or killed comes up so. Log past the agreed point it knows is
//!   neither applied nor dropped until a role is decided.
//!
//! A change of role opens nothing again: rows in memory stay, because nothing that was not agreed is ever merged into
//! the base tree or seen by a reader, so it can be taken back where it is ([`Database::cut`]). Transactions that were open
//! when the replica stopped being primary fail by themselves at their next write, or at commit; nobody waits for them.
//!
//! Who decides what is not known here: epochs, roles and positions come from above.

use crate::database::{Database, recovery};
use crate::error::DbError;
use crate::follower::PositionHook;
use crate::marker::Marker;
use keel_base::{Epoch, Lsn};
use keel_log::Log;
use keel_redo::{GroupKind, RecordBuffer, Task, Undecided};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What a database is in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// In no group.
    Standalone,
    /// Writes; others follow.
    Primary,
    /// Follows a primary.
    Secondary,
    /// Member of a group, without a role now.
    Resolving,
}

impl Role {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Role::Standalone => 0,
            Role::Primary => 1,
            Role::Secondary => 2,
            Role::Resolving => 3,
        }
    }

    pub(crate) const fn from_code(code: u8) -> Role {
        match code {
            0 => Role::Standalone,
            1 => Role::Primary,
            2 => Role::Secondary,
            _ => Role::Resolving,
        }
    }
}

/// What changes of role work on.
///
/// Lock order: `changing` → `ending` → `redo`. Only `changing` is held while a disk is waited for.
#[derive(Default)]
pub(crate) struct Roles {
    /// Held while a change of role is under way, but for a fence.
    changing: Mutex<()>,
    /// Held while writing ends.
    ending: Mutex<()>,
    /// Applies the log of a replica that is not the primary; made when first needed.
    pub(crate) redo: Mutex<Option<Arc<Task>>>,
    /// How many hold the waking of redo threads back.
    pub(crate) redo_held: AtomicU32,
    /// Whether everything in the log is in memory, because this replica wrote it.
    wrote: AtomicBool,
    /// What writers wait before each transaction, because others have much to redo; nanoseconds.
    writers_wait: AtomicU64,
    /// Counts fences, so that a promotion under way notices one.
    fences: AtomicU64,
    /// Where the last term as a group's primary began: the end of the log that it took over.
    term_start: AtomicU64,
    /// How far redo had come then: before that end, when the log that was taken over ends inside an append.
    redone: AtomicU64,
}

impl Roles {
    /// The roles of a database whose recovery left `redo` to go on with.
    pub(crate) fn with(redo: Option<Arc<Task>>) -> Roles {
        Roles { redo: Mutex::new(redo), ..Roles::default() }
    }
}

fn refused(what: &str) -> DbError {
    DbError::Role(what.into())
}

impl Database {
    /// Its role now.
    pub fn role(&self) -> Role {
        Role::from_code(self.role.load(Ordering::Acquire))
    }

    fn set_role(&self, role: Role) {
        self.role.store(role.code(), Ordering::Release);
    }

    fn durable_log(&self) -> Result<&Log, DbError> {
        self.log().ok_or_else(|| refused("a volatile database cannot be in a group"))
    }

    /// Makes a database that stands alone the primary copy of a group, in `epoch`. Sessions do not notice. Nobody is
    /// waited for until [`Database::set_waiting`].
    pub fn enter_group(&self, epoch: Epoch) -> Result<(), DbError> {
        let _changing = self.roles.changing.lock();
        let log = self.durable_log()?;
        if self.role() != Role::Standalone {
            return Err(refused("the database is in a group already"));
        }
        Marker { seeding: false }.write(self.instance().env(), self.dir())?;
        log.set_epoch(epoch);
        self.set_role(Role::Primary);
        Ok(())
    }

    /// Takes the database out of its group. A replica that is not the primary applies all the log it has first. Afterwards
    /// it stands alone and can write; whether it may is for the caller to know.
    pub fn leave_group(&self) -> Result<(), DbError> {
        let _changing = self.roles.changing.lock();
        let log = self.durable_log()?;
        match self.role() {
            Role::Standalone => return Ok(()),
            Role::Primary => {
                log.flush()?;
                log.set_agreed(Lsn::MAX);
                self.gate.set_cap(Lsn::MAX);
            }
            Role::Secondary | Role::Resolving => {
                let redo = self.finish_redo(log)?;
                self.restore_prepared(redo.applier())?;
                let term = log.start_term(log.epoch())?;
                log.set_agreed(Lsn::MAX);
                self.gate.begin_term(term, Lsn::MAX);
            }
        }
        Marker::remove(self.instance().env(), self.dir())?;
        self.set_role(Role::Standalone);
        self.advance_visible();
        Ok(())
    }

    /// Whether commits wait for others. Switched on, what is hardened here now counts as agreed, and each later commit waits
    /// for [`Database::advance_agreed`]; switched off, nothing but the own log is waited for. Returns the agreed position.
    pub fn set_waiting(&self, waiting: bool) -> Result<Lsn, DbError> {
        let _changing = self.roles.changing.lock();
        let log = self.durable_log()?;
        if self.role() != Role::Primary {
            return Err(refused("only the primary waits"));
        }
        if !waiting {
            log.set_agreed(Lsn::MAX);
            self.gate.set_cap(Lsn::MAX);
        } else if self.gate.cap() == Lsn::MAX {
            let hardened = log.hardened();
            self.follower.agreed.fetch_max(hardened.0, Ordering::AcqRel);
            log.set_agreed(hardened);
            self.gate.set_cap(hardened);
        }
        self.advance_visible();
        Ok(self.agreed())
    }

    /// On a primary that waits: all others that count have hardened everything before `lsn`. Wakes the commits that are
    /// hardened here too and lets snapshots see them. Never goes back; ignored in other roles and while nobody is waited
    /// for. May be called at any rate from any thread.
    pub fn advance_agreed(&self, lsn: Lsn) {
        if self.role() != Role::Primary || self.gate.cap() >= lsn {
            return;
        }
        let raised = self.gate.raise_cap(lsn, || {
            self.follower.agreed.fetch_max(lsn.0, Ordering::AcqRel);
            if let Some(log) = self.log() {
                log.set_agreed(lsn);
            }
        });
        if raised {
            self.advance_visible();
        }
    }

    /// What the group has agreed on, as far as is known here; never past the own hardened log.
    pub fn agreed(&self) -> Lsn {
        let hardened = self.hardened();
        match self.role() {
            Role::Standalone | Role::Primary => self.gate.cap().min(hardened),
            Role::Secondary | Role::Resolving => self.follower.agreed().min(hardened),
        }
    }

    /// Writers wait so long before each transaction's first write, until told otherwise or this copy begins to lead anew: others
    /// who are waited for have much to redo.
    pub fn slow_writers(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.roles.writers_wait.store(nanos, Ordering::Relaxed);
    }

    /// How long that is now.
    pub fn writers_wait(&self) -> Duration {
        Duration::from_nanos(self.roles.writers_wait.load(Ordering::Relaxed))
    }

    /// Commits that are hardened here, or about to be, and wait for others.
    pub fn commits_waiting(&self) -> usize {
        self.gate.waiting()
    }

    /// Promises to take blocks only from who speaks for `epoch` or a later one, and fences a primary of an older one.
    pub fn promise(&self, epoch: Epoch) -> Result<(), DbError> {
        let log = self.durable_log()?;
        if self.role() == Role::Primary && epoch > log.epoch() {
            self.fence("a later epoch was promised");
        }
        log.set_epoch(epoch);
        Ok(())
    }

    /// Stops all writing at once: commits that are waiting, and not agreed yet, are in doubt; open transactions will fail.
    /// A primary and a secondary become resolving. Waits for no disk, and for no other change of role: a promotion under
    /// way is fenced when it is done.
    pub fn fence(&self, reason: &str) {
        self.roles.fences.fetch_add(1, Ordering::SeqCst);
        self.end_writing(reason);
        let _ending = self.roles.ending.lock();
        if self.role() == Role::Secondary {
            self.set_role(Role::Resolving);
        }
    }

    /// A primary becomes resolving; others stay what they are.
    fn end_writing(&self, reason: &str) {
        let _ending = self.roles.ending.lock();
        let Some(log) = self.log().filter(|_| self.role() == Role::Primary) else { return };
        // First no more appends, then no more answers.
        log.end_term();
        let agreed = self.gate.end_term(&|| log.hardened(), reason);
        self.follower.agreed.store(agreed.0, Ordering::Release);
        self.follower.limit.store(agreed.0, Ordering::Release);
        self.store().advance_stable(agreed);
        self.roles.wrote.store(true, Ordering::Release);
        self.set_role(Role::Resolving);
    }

    /// Hardens the log; a former primary has all of it in memory.
    fn settle_log(&self, log: &Log) -> Result<Lsn, DbError> {
        let end = log.flush()?;
        if self.roles.wrote.swap(false, Ordering::AcqRel) {
            self.follower.set_applied(end);
        }
        Ok(end)
    }

    /// Makes the database a secondary: it takes blocks from now on. Everything it has appended as a primary is hardened
    /// first.
    pub fn demote(&self) -> Result<(), DbError> {
        let _changing = self.roles.changing.lock();
        let log = self.durable_log()?;
        match self.role() {
            Role::Standalone => return Err(refused("the database is in no group")),
            Role::Secondary => return Ok(()),
            Role::Primary => self.end_writing("the replica was demoted"),
            Role::Resolving => {}
        }
        self.settle_log(log)?;
        self.forget_prepared();
        self.follower.forget_catalog(self.store().stable());
        self.set_role(Role::Secondary);
        Ok(())
    }

    /// Makes the database the primary of `epoch`, in place: the log is hardened, all of it applied, and from then on
    /// written by this copy. Commits wait for [`Database::advance_agreed`] from the agreed position on, unless
    /// [`Database::set_waiting`] says otherwise. Returns where the epoch begins: until [`Database::agreed`] reaches that,
    /// readers may miss what the old primary has acknowledged, so clients come in after that.
    pub fn promote(&self, epoch: Epoch) -> Result<Lsn, DbError> {
        self.promote_telling(epoch, &|| ())
    }

    /// [`Database::promote`], with a word as soon as everything is redone.
    pub fn promote_telling(&self, epoch: Epoch, redone: &dyn Fn()) -> Result<Lsn, DbError> {
        let _changing = self.roles.changing.lock();
        let fences = self.roles.fences.load(Ordering::SeqCst);
        let log = self.durable_log()?;
        if !matches!(self.role(), Role::Secondary | Role::Resolving) {
            return Err(refused("only a secondary or a resolving replica can be promoted"));
        }
        log.set_epoch(epoch);
        let redo = self.finish_redo(log)?;
        // Before anybody can write.
        self.restore_prepared(redo.applier())?;
        redone();
        // What it wrote itself as an earlier primary no redo has told of.
        self.follower.forget_catalog(log.appended());
        let agreed = self.agreed();
        log.set_agreed(agreed);
        let term = log.start_term(epoch)?;
        let begins = log.appended();
        self.slow_writers(Duration::ZERO);
        self.gate.begin_term(term, agreed);
        self.roles.term_start.store(begins.0, Ordering::Release);
        self.set_role(Role::Primary);
        if self.roles.fences.load(Ordering::SeqCst) != fences {
            self.end_writing("the replica was fenced while it was promoted");
            return Err(refused("the replica was fenced meanwhile"));
        }
        self.abort_streams(log, &redo.applier().undecided())?;
        Ok(begins)
    }

    /// The stretch of time as a writer that it is in, another with each change of role; `None` when it may not write.
    pub fn writing_term(&self) -> Option<u64> {
        Some(self.gate.term()).filter(|term| *term != 0)
    }

    /// On a group's primary: returns when the synchronized set has all of the log that this one took over, or the term is over. Before that
    /// it shows only what its predecessor had said to be agreed, and who had got an acknowledgement meanwhile would miss his own write.
    /// Returns at once in other roles. For sessions, before they read: never for a thread that the agreement waits for.
    pub fn wait_for_term_start(&self) {
        let start = Lsn(self.roles.term_start.load(Ordering::Acquire));
        if self.gate.cap() < start && self.gate.term() != 0 {
            // Who loses the role is told by it.
            let _ = self.gate.wait(start, self.gate.term());
        }
    }

    /// Applies all of the log; the replica is resolving from then on. Returns what has applied it, which knows the streams that are left
    /// undecided.
    fn finish_redo(&self, log: &Log) -> Result<Arc<Task>, DbError> {
        self.set_role(Role::Resolving);
        // Redo has them again.
        self.forget_prepared();
        let end = self.settle_log(log)?;
        let task = self.redo_task()?;
        self.follower.limit.store(end.0, Ordering::Release);
        self.follower.hurry.store(true, Ordering::Release);
        let drained = task.applier().drain();
        self.follower.hurry.store(false, Ordering::Release);
        drained.map_err(|error| self.keys.locked().map_or_else(|| error.into(), DbError::Locked))?;
        task.stop();
        let instance = self.instance();
        instance.pressure().lend(instance.delta_bytes());
        *self.roles.redo.lock() = None;
        self.roles.redone.store(self.follower.applied().0, Ordering::Release);
        Ok(task)
    }

    /// On a resolving replica that is in no group: applies all the log it has, up to a transaction that is not whole.
    pub fn apply_all(&self) -> Result<(), DbError> {
        let _changing = self.roles.changing.lock();
        let end = self.settle_log(self.durable_log()?)?;
        if self.role() != Role::Resolving {
            return Err(refused("only a resolving replica applies what nobody has agreed on"));
        }
        self.follower.agreed.fetch_max(end.0, Ordering::AcqRel);
        self.follower.limit.fetch_max(end.0, Ordering::SeqCst);
        let task = self.redo_task()?;
        self.follower.hurry.store(true, Ordering::Release);
        let drained = task.applier().drain();
        self.follower.hurry.store(false, Ordering::Release);
        Ok(drained?)
    }

    /// The old primary's open transactions will never be decided by it: this log says that they never happened. Those that are prepared
    /// somebody else decides about.
    fn abort_streams(&self, log: &Log, undecided: &[Undecided]) -> Result<(), DbError> {
        let mut buffer = RecordBuffer::new();
        for open in undecided.iter().filter(|undecided| undecided.prepared.is_none()) {
            log.append(buffer.seal(GroupKind::Abort, open.stream, 0), |_| ())?;
            self.end_stream(open.stream, None);
        }
        Ok(())
    }

    /// On a secondary: takes a block in stored form from who speaks for the epoch `session`. Returns the position behind
    /// it; durable after the next [`Database::harden`].
    pub fn receive(&self, session: Epoch, stored: &[u8]) -> Result<Lsn, DbError> {
        if self.role() != Role::Secondary {
            return Err(refused("the replica does not follow a primary now"));
        }
        Ok(self.durable_log()?.append_block(session, stored)?)
    }

    /// Makes everything received hardened, and returns how far that is.
    pub fn harden(&self) -> Result<Lsn, DbError> {
        let hardened = self.durable_log()?.flush()?;
        if self.role() == Role::Secondary && self.follower.limit.load(Ordering::Acquire) > self.applied().0 {
            self.wake_redo();
        }
        Ok(hardened)
    }

    /// On a secondary: the group has agreed on everything before `lsn`, so it may be applied as soon as it is hardened.
    /// Returns at once; the instance's redo threads do it.
    pub fn apply_up_to(&self, lsn: Lsn) -> Result<(), DbError> {
        if self.role() != Role::Secondary {
            return Err(refused("the replica does not follow a primary now"));
        }
        self.follower.agreed.fetch_max(lsn.0, Ordering::AcqRel);
        self.follower.limit.fetch_max(lsn.0, Ordering::SeqCst);
        // What a former primary has applied already becomes visible without redo, which nobody tells of catalog changes.
        let seen = self.follower.applied().min(self.follower.agreed());
        if seen > self.store().stable() {
            self.follower.show(seen, &[seen]);
        }
        let task = self.redo_task()?;
        self.wake_redo();
        match task.applier().error() {
            Some(what) => Err(DbError::Corrupt(what.into())),
            None => Ok(()),
        }
    }

    /// The applier of a replica that is not the primary, made when there is none: it goes on where the store stands.
    fn redo_task(&self) -> Result<Arc<Task>, DbError> {
        let mut redo = self.roles.redo.lock();
        if let Some(task) = redo.as_ref() {
            return Ok(Arc::clone(task));
        }
        // Under the lock: who ends redo changes the role before it takes the task away.
        if !matches!(self.role(), Role::Secondary | Role::Resolving) {
            return Err(refused("the replica does not follow a primary now"));
        }
        let applied = self.follower.applied();
        let skip_until = applied.max(self.positions().checkpoint);
        // What was sent early, and not decided yet, is looked at again: nobody has kept it.
        let from = self.follower.streams_begin(applied);
        let task =
            Task::new(recovery(self.instance(), self.durable_log()?, &self.follower, from, skip_until)?);
        self.instance().redo.start_threads();
        *redo = Some(Arc::clone(&task));
        Ok(task)
    }

    /// Lets the redo threads look, unless somebody [holds](Database::hold_redo) that back.
    fn wake_redo(&self) {
        if self.roles.redo_held.load(Ordering::SeqCst) == 0 {
            self.poke_redo();
        }
    }

    pub(crate) fn poke_redo(&self) {
        let task = self.roles.redo.lock().clone();
        if let Some(task) = task {
            self.instance().redo.poke(&task);
        }
    }

    /// How far the log is in the rows: readers of a secondary are there. On a primary what they see.
    pub fn applied(&self) -> Lsn {
        match self.role() {
            Role::Standalone | Role::Primary => self.agreed(),
            Role::Secondary | Role::Resolving => self.follower.applied(),
        }
    }

    /// Waits until `lsn` is applied; false when the time is over first.
    pub fn wait_applied(&self, lsn: Lsn, timeout: Duration) -> bool {
        self.follower.wait_applied(lsn, timeout)
    }

    /// What stopped redo, if something did: the log or a row cannot be read. The copy must be made anew.
    pub fn redo_error(&self) -> Option<String> {
        self.roles.redo.lock().as_ref().and_then(|task| task.applier().error())
    }

    /// Redo that has failed begins anew where it stood, when somebody asks for it.
    pub(crate) fn forget_failed_redo(&self) {
        let mut redo = self.roles.redo.lock();
        if redo.as_ref().is_some_and(|task| task.applier().error().is_some()) {
            *redo = None;
        }
    }

    /// Whether readers may come. A copy that was seeded, or was killed while a checkpoint was half way, shows whole
    /// transactions only once redo has caught up with the newest row in its base tree.
    pub fn is_readable(&self) -> bool {
        let root = self.store().base().root();
        !matches!(self.role(), Role::Secondary | Role::Resolving)
            || root.highest_lsn() == root.checkpoint_lsn()
            || self.follower.applied() >= root.highest_lsn()
    }

    /// What is merged into the base tree, and so cannot be cut off any more.
    pub fn floor(&self) -> Lsn {
        self.store().base().root().highest_lsn()
    }

    /// On a secondary or resolving replica: removes everything from `at` on, which must be the border of a block and not
    /// lie before the [floor](Database::floor). Log that was never applied just goes; rows of what a former primary had
    /// appended are taken back. Before what readers have seen it cuts only for a forced failover that loses data: then
    /// all rows that are not in the base tree are applied anew from what is left.
    ///
    /// # Errors
    /// [`DbError::Role`] when `at` lies before the floor (this copy must be seeded), or before what is seen while
    /// somebody still reads: end the sessions and ask again.
    pub fn cut(&self, at: Lsn) -> Result<(), DbError> {
        let _changing = self.roles.changing.lock();
        let log = self.durable_log()?;
        if !matches!(self.role(), Role::Secondary | Role::Resolving) {
            return Err(refused("only a secondary or a resolving replica is cut"));
        }
        // Of a former primary; what the log still has of them, redo has.
        self.forget_prepared();
        let floor = self.floor();
        if at < floor {
            return Err(DbError::Role(
                format!("log before {floor} is merged and cannot be cut at {at}").into(),
            ));
        }
        let end = self.settle_log(log)?;
        if at >= end {
            return if at == end { Ok(()) } else { Err(refused("there is nothing to cut")) };
        }
        if at < self.store().stable() {
            self.cut_seen(log, at)?;
        } else if self.follower.applied() > at {
            self.stop_redo();
            self.follower.limit.store(at.0, Ordering::Release);
            log.cut(at)?;
            self.store().take_back(at);
            self.follower.cut_streams(at);
            self.follower.set_applied(self.group_border(at));
        } else {
            log.cut(at)?;
        }
        self.keys.cut(at)
    }

    /// Where redo goes on behind `at`, the new end of what was a primary's log. What it had taken over may end inside an append, whose rest
    /// comes from somebody who has it.
    fn group_border(&self, at: Lsn) -> Lsn {
        if at == Lsn(self.roles.term_start.load(Ordering::Acquire)) {
            at.min(Lsn(self.roles.redone.load(Ordering::Acquire)))
        } else {
            at
        }
    }

    /// Ends redo; chunks under way are finished first.
    pub(crate) fn stop_redo(&self) {
        let task = self.roles.redo.lock().take();
        if let Some(task) = task {
            task.stop();
        }
    }

    /// Cuts off what readers have seen.
    fn cut_seen(&self, log: &Log, at: Lsn) -> Result<(), DbError> {
        self.stop_redo();
        if !self.store().reset() {
            return Err(refused("readers hold rows that must be taken back"));
        }
        self.follower.forget_catalog(at);
        let positions = self.positions();
        self.follower.set_applied(positions.redo_start);
        self.follower.agreed.store(at.0, Ordering::Release);
        self.follower.limit.store(at.0, Ordering::Release);
        self.follower.streams.lock().clear();
        log.cut(at)?;
        let redo =
            recovery(self.instance(), log, &self.follower, positions.redo_start, positions.checkpoint)?;
        let task = Task::new(redo);
        task.applier().drain()?;
        *self.roles.redo.lock() = Some(task);
        Ok(())
    }

    /// Sets what is called after the applied point of a secondary has moved.
    pub fn set_applied_hook(&self, hook: Option<PositionHook>) {
        *self.follower.on_applied.write() = hook;
    }

    /// Sets what is called for every change of the catalog ([`crate::CATALOG_TREE`]) that comes without a transaction of
    /// this copy, with its position, before readers see it: snapshots at that position or later show it, earlier ones do
    /// not. Zero says that another history of the catalog may begin: the role changes, or what readers have seen is cut off.
    /// When it returns, every change that was not told can be seen.
    pub fn set_catalog_hook(&self, hook: Option<PositionHook>) {
        *self.follower.on_catalog.write() = hook;
    }
}
