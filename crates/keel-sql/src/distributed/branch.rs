//! Branches of transactions that a client's transaction manager decides about, as long as they are not prepared.
//!
//! ```text
//!            start            enlist          un-enlist           end             prepare
//!   nothing ───────► started ───────► session ─────────► work  ─────────► ended ──────────► in doubt, in the databases' logs
//!                       ▲             works in it          │    suspend                │
//!                       └──────────────────────────────────┘ ◄── resume, join          └─ commit in one phase, roll back
//! ```
//!
//! The calls come over a connection of the transaction manager's, the work over others, which take a branch up by its cookie (a request of
//! the wire protocol) and leave it again. Each takes the state's lock and holds it until it is done. Nothing here survives the process: what
//! is not prepared then never was.

use super::{Decider, Name, Uow, Xid};
use crate::catalog::Overlay;
use crate::engine::{DatabaseEntry, Engine, SessionShared};
use crate::session::txns::{TxnSet, Vote, Work};
use keel_base::DatabaseId;
use keel_node::Role;
use parking_lot::Mutex;
use std::sync::Arc;

/// What a transaction manager is told: the numbers of the X/Open specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// It had written nothing, and is over.
    ReadOnly = 3,
    /// It was rolled back.
    RolledBack = 100,
    /// It was rolled back because its time was over.
    TimedOut = 106,
    /// The resource manager has failed here.
    Error = -3,
    /// There is no such branch.
    Unknown = -4,
    /// What is asked for makes no sense.
    Invalid = -5,
    /// Not in this state.
    Protocol = -6,
    /// It cannot be told now: ask again.
    Unavailable = -7,
    /// There is such a branch already.
    Duplicate = -8,
}

/// A status with what is said about it.
pub type Answer = (Status, String);

/// `TMJOIN`
const JOIN: i64 = 0x0020_0000;
/// `TMSUSPEND`
const SUSPEND: i64 = 0x0200_0000;
/// `TMSUCCESS`
const SUCCESS: i64 = 0x0400_0000;
/// `TMRESUME`
const RESUME: i64 = 0x0800_0000;
/// `TMFAIL`
const FAIL: i64 = 0x2000_0000;
/// `TMONEPHASE`
const ONE_PHASE: i64 = 0x4000_0000;
/// The driver's: branches of one transaction share their locks.
const TIGHTLY_COUPLED: i64 = 0x8000;
/// How long a branch that was rolled back is remembered, so that its manager is told why: ticks of 100 ns.
const REMEMBERED: i64 = 600 * 10_000_000;

/// A branch.
pub struct Branch {
    /// What its manager calls it.
    pub xid: Xid,
    /// What the product's views call it.
    pub uow: Uow,
    /// When it began, local ticks.
    pub began: i64,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Sessions may take it up.
    Started,
    /// `TMSUSPEND`: it goes on after `TMRESUME`.
    Suspended,
    /// It can be prepared.
    Ended,
    /// It was rolled back, or is to be.
    Doomed(Status),
}

struct State {
    phase: Phase,
    /// The session that works in it.
    holder: Option<u32>,
    /// What has been done, while no session works in it.
    work: Left,
    /// When its time is over, UTC ticks.
    deadline: Option<i64>,
    /// When it was rolled back, UTC ticks.
    over_since: i64,
}

/// What a session leaves when it ceases to work in a branch.
#[derive(Default)]
pub struct Left {
    /// Its transactions.
    pub work: Work,
    /// Changes of the catalog that are published with the commit.
    pub overlays: Vec<(Arc<DatabaseEntry>, Overlay)>,
}

impl Branch {
    /// The session that works in it.
    #[must_use]
    pub fn holder(&self) -> Option<u32> {
        self.state.lock().holder
    }

    /// What sessions send to take it up.
    #[must_use]
    pub fn cookie(&self) -> Vec<u8> {
        self.uow.to_vec()
    }

    /// Who holds its locks, and what it has used, while no session works in it: agents; databases with bytes of log.
    #[must_use]
    pub fn left(&self) -> (Vec<u64>, Vec<(DatabaseId, u64)>) {
        let state = self.state.lock();
        (state.work.work.agents().collect(), state.work.work.databases().collect())
    }

    /// A session begins to work in it: what others have left there. `None` when another does, or it is not to be worked in now.
    pub(crate) fn take_up(&self, session: u32) -> Option<Left> {
        let mut state = self.state.lock();
        if state.phase != Phase::Started || state.holder.is_some() {
            return None;
        }
        state.holder = Some(session);
        Some(std::mem::take(&mut state.work))
    }

    /// The session ceases to work in it; what it has done is there for the next, or to be prepared.
    pub(crate) fn leave(&self, left: Left) {
        let mut state = self.state.lock();
        state.holder = None;
        // What was rolled back, or is to be, goes.
        if !matches!(state.phase, Phase::Doomed(_)) {
            state.work = left;
        }
    }

    /// Its work was rolled back by who did it; the session leaves it when `leaves`.
    pub(crate) fn doom(&self, now: i64, leaves: bool) {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Doomed(_)) {
            (state.phase, state.over_since) = (Phase::Doomed(Status::RolledBack), now);
        }
        if leaves {
            state.holder = None;
        }
    }

    /// KILL: it is rolled back; its manager is told when it asks.
    pub(super) fn give_up(&self, now: i64) {
        self.state.lock().give_up(now);
    }

    /// The same when no session works in it, and it has used a database.
    fn give_up_resting_in(&self, database: DatabaseId, now: i64) {
        let mut state = self.state.lock();
        if state.holder.is_none() && state.work.work.databases().any(|(used, _)| used == database) {
            state.give_up(now);
        }
    }

    fn name(&self) -> Name {
        Name { uow: self.uow, decider: Decider::Manager(self.xid.clone()) }
    }
}

impl State {
    fn give_up(&mut self, now: i64) {
        (self.phase, self.over_since) = (Phase::Doomed(Status::RolledBack), now);
        self.work = Left::default();
    }
}

fn said(status: Status, text: &str) -> Answer {
    (status, text.to_owned())
}

fn ok() -> Answer {
    (Status::Ok, String::new())
}

impl Engine {
    /// Branches that are not prepared.
    #[must_use]
    pub fn branches(&self) -> Vec<Arc<Branch>> {
        self.distributed.branches.lock().values().cloned().collect()
    }

    /// The branch that a cookie means.
    pub(crate) fn branch_of(&self, cookie: &[u8]) -> Option<Arc<Branch>> {
        self.branches().into_iter().find(|branch| branch.uow == *cookie)
    }

    /// Nobody may use a database any more: the branches that have done so, and in which no session works, are rolled back.
    pub(crate) fn give_up_branches_in(&self, database: DatabaseId) {
        let now = self.now_utc();
        self.branches().iter().for_each(|branch| branch.give_up_resting_in(database, now));
    }

    fn branch(&self, xid: &Xid) -> Option<Arc<Branch>> {
        self.distributed.branches.lock().get(xid).cloned()
    }

    fn forget_branch(&self, xid: &Xid) {
        self.distributed.branches.lock().remove(xid);
    }

    fn doubts_of(&self, xid: &Xid) -> Vec<super::Doubt> {
        let mut doubts = self.in_doubt();
        doubts.retain(|doubt| matches!(&doubt.name.decider, Decider::Manager(named) if named == xid));
        doubts
    }

    /// Nobody here knows of a branch: whether that is all there is to know.
    fn unknown(&self, xid: &Xid) -> Answer {
        for entry in self.databases() {
            let undecided = match entry.store.role() {
                Role::Standalone | Role::Primary => false,
                Role::Resolving => !entry.is_restoring(),
                Role::Secondary => {
                    let names = entry.store.prepared_names();
                    let named = |name: &Name| matches!(&name.decider, Decider::Manager(x) if x == xid);
                    names.iter().filter_map(|name| Name::decode(name)).any(|name| named(&name))
                }
            };
            if undecided {
                let text = format!("Database '{}' cannot be written here now.", entry.name());
                return (Status::Unavailable, text);
            }
        }
        if let Some(waiting) = self.unopened().first() {
            return (Status::Unavailable, format!("Database '{}' is not open.", waiting.name));
        }
        said(Status::Unknown, "The transaction branch is not known.")
    }

    /// `xa_start`: a branch begins, or is to be gone on with; with the branch, when it may be taken up.
    pub fn start_branch(&self, xid: &Xid, flags: i64, timeout_s: i64) -> (Answer, Option<Arc<Branch>>) {
        if xid.format == -1 || xid.global.is_empty() {
            return (said(Status::Invalid, "The transaction branch has no valid identifier."), None);
        }
        if flags & TIGHTLY_COUPLED != 0 {
            let text = "Tightly coupled transaction branches are not supported in this version of Evenkeel.";
            return (said(Status::Error, text), None);
        }
        if flags & (JOIN | RESUME) != 0 {
            return self.go_on(xid, flags & RESUME != 0);
        }
        if !self.doubts_of(xid).is_empty() {
            return (said(Status::Duplicate, "The transaction branch is there, and prepared."), None);
        }
        let mut branches = self.distributed.branches.lock();
        if branches.contains_key(xid) {
            return (said(Status::Duplicate, "The transaction branch is there."), None);
        }
        let state = State {
            phase: Phase::Started,
            holder: None,
            work: Left::default(),
            deadline: (timeout_s > 0)
                .then(|| self.now_utc().saturating_add(timeout_s.saturating_mul(10_000_000))),
            over_since: 0,
        };
        let (uow, began) = (self.new_uow(), self.now_local());
        let branch = Arc::new(Branch { xid: xid.clone(), uow, began, state: Mutex::new(state) });
        branches.insert(xid.clone(), Arc::clone(&branch));
        (ok(), Some(branch))
    }

    fn go_on(&self, xid: &Xid, resume: bool) -> (Answer, Option<Arc<Branch>>) {
        let Some(branch) = self.branch(xid) else { return (self.unknown(xid), None) };
        let mut state = branch.state.lock();
        if let Phase::Doomed(status) = state.phase {
            return (said(status, "The transaction branch was rolled back."), None);
        }
        let fits = if resume { state.phase == Phase::Suspended } else { state.phase != Phase::Suspended };
        if !fits || state.holder.is_some() {
            let text = "The transaction branch is not in a state in which it could be gone on with.";
            return (said(Status::Protocol, text), None);
        }
        state.phase = Phase::Started;
        drop(state);
        (ok(), Some(branch))
    }

    /// `xa_end`
    pub fn end_branch(&self, xid: &Xid, flags: i64) -> (Answer, Option<Uow>) {
        let Some(branch) = self.branch(xid) else { return (self.unknown(xid), None) };
        let mut state = branch.state.lock();
        state.phase = match state.phase {
            // The manager is told when it asks for more than to leave it.
            Phase::Doomed(status) => Phase::Doomed(status),
            Phase::Started if flags & SUSPEND != 0 => Phase::Suspended,
            Phase::Started | Phase::Suspended if flags & FAIL != 0 => {
                state.over_since = self.now_utc();
                Phase::Doomed(Status::RolledBack)
            }
            Phase::Started | Phase::Suspended if flags & SUCCESS != 0 => Phase::Ended,
            _ => return (said(Status::Protocol, "The transaction branch is not worked in."), None),
        };
        if matches!(state.phase, Phase::Doomed(_)) {
            state.work = Left::default();
        }
        (ok(), Some(branch.uow))
    }

    /// What was left in a branch that has ended, which is forgotten; or what to tell who asks for it too early, or when it is rolled back.
    fn ended(&self, xid: &Xid) -> Result<(Arc<Branch>, Left), Answer> {
        let Some(branch) = self.branch(xid) else {
            if !self.doubts_of(xid).is_empty() {
                return Err(said(Status::Protocol, "The transaction branch is prepared."));
            }
            return Err(self.unknown(xid));
        };
        let mut state = branch.state.lock();
        match state.phase {
            Phase::Doomed(status) => {
                self.forget_branch(xid);
                Err(said(status, "The transaction branch was rolled back."))
            }
            Phase::Ended if state.holder.is_none() => {
                let left = std::mem::take(&mut state.work);
                self.forget_branch(xid);
                drop(state);
                Ok((branch, left))
            }
            _ => Err(said(Status::Protocol, "The transaction branch has not ended.")),
        }
    }

    /// `xa_prepare`
    pub fn prepare_branch(&self, xid: &Xid) -> Answer {
        let (branch, left) = match self.ended(xid) {
            Ok(ended) => ended,
            Err(answer) => return answer,
        };
        match left.work.prepare(&branch.name()) {
            Ok(Vote::Prepared) => ok(),
            Ok(Vote::ReadOnly) => (Status::ReadOnly, String::new()),
            Err(e) => {
                // What is in a log already is rolled back there, or in doubt until the manager says so.
                let undone = self.doubts_of(xid).iter().try_for_each(|doubt| doubt.decide(false));
                let status = if undone.is_ok() { Status::RolledBack } else { Status::Unavailable };
                (status, e.message.clone())
            }
        }
    }

    /// `xa_commit`, in one phase or after `xa_prepare`.
    pub fn commit_branch(self: &Arc<Engine>, caller: &Arc<SessionShared>, xid: &Xid, flags: i64) -> Answer {
        if flags & ONE_PHASE != 0 {
            let left = match self.ended(xid) {
                Ok((_, left)) => left,
                Err(answer) => return answer,
            };
            let mut set = TxnSet::new(Arc::clone(self), Arc::clone(caller));
            set.put_work(left.work);
            return match crate::run::commit_publishing(left.overlays, &mut set, false) {
                Ok(()) => ok(),
                Err(e) => (Status::RolledBack, e.message.clone()),
            };
        }
        self.decide_branch(xid, true)
    }

    /// `xa_rollback`
    pub fn rollback_branch(&self, xid: &Xid) -> Answer {
        let Some(branch) = self.branch(xid) else { return self.decide_branch(xid, false) };
        let mut state = branch.state.lock();
        if state.holder.is_some() && state.phase == Phase::Started {
            return said(Status::Protocol, "The transaction branch has not ended.");
        }
        state.phase = Phase::Doomed(Status::RolledBack);
        state.work = Left::default();
        drop(state);
        self.forget_branch(xid);
        ok()
    }

    fn decide_branch(&self, xid: &Xid, commit: bool) -> Answer {
        let doubts = self.doubts_of(xid);
        if doubts.is_empty() {
            return match self.branch(xid) {
                Some(_) => said(Status::Protocol, "The transaction branch is not prepared."),
                None => self.unknown(xid),
            };
        }
        for doubt in doubts {
            if let Err(e) = doubt.decide(commit) {
                return (Status::Unavailable, e.message.clone());
            }
        }
        ok()
    }

    /// `xa_recover`: the branches that are in doubt here.
    #[must_use]
    pub fn recover_branches(&self) -> Vec<Xid> {
        let mut found: Vec<Xid> = Vec::new();
        for doubt in self.in_doubt() {
            if let Decider::Manager(xid) = doubt.name.decider
                && !found.contains(&xid)
            {
                found.push(xid);
            }
        }
        found
    }

    /// Rolls back the branches whose time is over; who works in one is ended. Forgets those that were rolled back long ago.
    pub(super) fn end_late_branches(&self) {
        let now = self.now_utc();
        for branch in self.branches() {
            let mut state = branch.state.lock();
            match state.phase {
                Phase::Doomed(_) if state.holder.is_none() && now - state.over_since > REMEMBERED => {
                    self.forget_branch(&branch.xid);
                }
                Phase::Started | Phase::Suspended | Phase::Ended
                    if state.deadline.is_some_and(|deadline| now > deadline) =>
                {
                    (state.phase, state.over_since) = (Phase::Doomed(Status::TimedOut), now);
                    state.work = Left::default();
                    if let Some(session) = state.holder {
                        self.sessions.kill(session);
                    }
                }
                _ => {}
            }
        }
    }
}
