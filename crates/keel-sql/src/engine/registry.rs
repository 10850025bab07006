//! All sessions of the instance, as other threads may see and stop them.

use super::Current;
use crate::governor::{Counts, Group};
use crate::secrets::without_secrets;
use crate::session::options::SetOptions;
use hashbrown::HashMap;
use keel_base::DatabaseId;
use keel_query::IsolationLevel;
use keel_store::lock::{CancelToken, OwnerContext, OwnerDescription};
use parking_lot::{Mutex, RwLock};
use smol_str::SmolStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// The first id of a user session.
pub const FIRST_USER_SESSION: u32 = 51;

/// `dm_exec_sessions.status`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Waits for the client.
    #[default]
    Sleeping,
    /// Runs a request.
    Running,
}

/// What other threads may know of a session.
pub struct SessionShared {
    /// `@@SPID`
    pub id: u32,
    /// Connection facts.
    pub login: crate::session::SessionOptions,
    /// SET options that it begins with, and goes back to when its connection is reset.
    pub initial: SetOptions,
    /// When it connected, local ticks.
    pub connected: i64,
    /// Threads that work for its statement.
    pub degree: AtomicU64,
    /// Sessions opened before it, itself included: with the time, what tells its connection from all others.
    pub number: u64,
    /// Set by attention, KILL and shutdown; cleared when a request starts.
    pub cancel: Arc<CancelToken>,
    /// Set by KILL: never cleared.
    pub killed: AtomicBool,
    /// Current database.
    pub database: AtomicU32,
    /// Databases that it uses besides.
    pub open_in: super::OpenIn,
    /// It waits for others to leave a database, or for the one that changes its state.
    pub looking: AtomicBool,
    /// Its login has been let into the database that it asked for. Until then it may be refused, and is gone at once.
    pub admitted: AtomicBool,
    /// `@@TRANCOUNT`
    pub transactions: AtomicU32,
    /// Descriptor of its open transaction.
    pub transaction_id: AtomicU64,
    /// Name of its open transaction; empty when it has none.
    pub transaction_name: Mutex<SmolStr>,
    /// The unit of work of its open transaction, when that is a distributed one.
    pub uow: Mutex<Option<crate::distributed::Uow>>,
    /// A manager decides about its open transaction.
    pub enlisted: AtomicBool,
    /// When its open transaction began, local time.
    pub transaction_began: AtomicI64,
    /// When the running or last request started, local ticks.
    pub request_started: AtomicI64,
    /// When the last request ended, local ticks.
    pub request_ended: AtomicI64,
    /// Requests so far.
    pub requests: AtomicU64,
    /// Running now.
    pub running: AtomicBool,
    /// What it has used so far.
    pub used: Usage,
    /// What it had used when the running or last request began.
    pub used_before: Usage,
    /// The statement it is at.
    pub current: Current,
    /// The text of the running or last request; shown by [`SessionShared::shown_text`].
    pub text: Mutex<Arc<str>>,
    /// Its last commit that wrote something: database, and the position in its log behind it.
    pub last_commit: Mutex<Option<(DatabaseId, u64)>>,
    /// Its commits that are not waited for yet.
    pub unsettled: crate::session::Unsettled,
    /// SESSION_CONTEXT.
    pub context: Mutex<HashMap<SmolStr, (keel_types::Value, bool)>>,
    /// CONTEXT_INFO.
    pub context_info: Mutex<Vec<u8>>,
    /// SET options in force.
    pub options: Mutex<SetOptions>,
    /// What it has waited for.
    pub waits: Arc<keel_base::waits::SessionWaits>,
    /// What its statements cost, for Query Stores.
    pub recorded: crate::query_store::Recorded,
    /// `@@ERROR` when the last request ended.
    pub error: AtomicI32,
    /// How far a long statement is, hundredths of a percent; 0 when nobody counts.
    pub progress: AtomicU32,
    /// Application locks held, asking by asking.
    pub app_locks: Mutex<Vec<crate::session::app_locks::Held>>,
    /// What it has counted since it is in its workload group.
    pub counts: Counts,
    /// What its request waits for outside of locks.
    rests: Mutex<Option<Rest>>,
    group: Mutex<Arc<Group>>,
}

/// A wait of a request that is for no lock: its turn in a workload group, WAITFOR, a message.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// `wait_type`
    pub wait_type: &'static str,
    /// Local ticks.
    pub since: i64,
}

/// The wait is over when this is dropped.
pub(crate) struct Resting<'a>(&'a SessionShared);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        *self.0.rests.lock() = None;
    }
}

impl SessionShared {
    /// Its workload group.
    #[must_use]
    pub fn group(&self) -> Arc<Group> {
        Arc::clone(&self.group.lock())
    }

    /// Its request waits from now on, until what is given back is dropped.
    pub(crate) fn rest(&self, wait_type: &'static str, now: i64) -> Resting<'_> {
        *self.rests.lock() = Some(Rest { wait_type, since: now });
        Resting(self)
    }

    /// What its request waits for outside of locks, if it does.
    #[must_use]
    pub fn resting(&self) -> Option<Rest> {
        *self.rests.lock()
    }

    /// It has got into another one.
    pub(crate) fn set_group(&self, group: Arc<Group>) {
        *self.group.lock() = group;
    }
}

/// Packets of a session's connection; the connection's thread writes them, views read them.
#[derive(Debug, Default)]
pub struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
    /// Conversations on the connection, when it carries several.
    conversations: Mutex<Vec<u16>>,
}

impl Traffic {
    /// So many have come and gone over the connection.
    pub fn note(&self, read: u64, written: u64) {
        self.read.store(read, Ordering::Relaxed);
        self.written.store(written, Ordering::Relaxed);
    }

    /// These conversations are open on the connection.
    pub fn note_conversations(&self, open: impl Iterator<Item = u16>) {
        let mut known = self.conversations.lock();
        known.clear();
        known.extend(open);
    }

    /// Conversations open on the connection; none when it carries a single one.
    #[must_use]
    pub fn conversations(&self) -> Vec<u16> {
        self.conversations.lock().clone()
    }

    /// Packets received.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Packets sent.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// Counters of a session; its thread writes them, views read them.
#[derive(Default)]
pub struct Usage {
    /// Processor time, µs; of a request that runs what it has told lately.
    pub cpu_us: AtomicU64,
    /// Time requests took, µs.
    pub elapsed_us: AtomicU64,
    /// Pages' worth of rows read.
    pub logical_reads: AtomicU64,
    /// Pages read from disk.
    pub reads: AtomicU64,
    /// Rows written.
    pub writes: AtomicU64,
    /// Rows returned.
    pub rows: AtomicU64,
}

impl Usage {
    fn all(&self) -> [&AtomicU64; 6] {
        [&self.cpu_us, &self.elapsed_us, &self.logical_reads, &self.reads, &self.writes, &self.rows]
    }

    /// Takes over the figures of another.
    pub fn copy(&self, from: &Usage) {
        for (to, from) in self.all().into_iter().zip(from.all()) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// Adds to a counter that only the calling thread writes.
pub fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

/// The sessions of the instance.
#[derive(Default)]
pub struct Sessions {
    by_id: RwLock<HashMap<u32, Arc<SessionShared>>>,
    /// Sessions opened since start-up.
    pub logins: AtomicU64,
    /// Sessions ended since start-up.
    pub logouts: AtomicU64,
    /// Packets of sessions that have ended.
    ended: Traffic,
    /// What those have left behind for Query Stores.
    pub(crate) left_behind: crate::query_store::Recorded,
}

impl SessionShared {
    /// Ends it: what it runs stops, and whatever it is asked afterwards.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        self.cancel.cancel();
    }
}

impl Sessions {
    /// Registers a session under a free id.
    pub fn register(
        &self,
        login: crate::session::SessionOptions,
        initial: SetOptions,
        group: Arc<Group>,
        now: i64,
    ) -> Arc<SessionShared> {
        let number = self.logins.fetch_add(1, Ordering::Relaxed) + 1;
        let mut by_id = self.by_id.write();
        let id = (FIRST_USER_SESSION..).find(|id| !by_id.contains_key(id)).expect("ids do not run out");
        let options = Mutex::new(initial.clone());
        let session = Arc::new(SessionShared {
            id,
            login,
            initial,
            degree: 1.into(),
            connected: now,
            number,
            cancel: CancelToken::new(),
            killed: AtomicBool::new(false),
            database: AtomicU32::new(0),
            open_in: super::OpenIn::default(),
            looking: AtomicBool::new(false),
            admitted: AtomicBool::new(false),
            transactions: AtomicU32::new(0),
            transaction_id: AtomicU64::new(0),
            transaction_name: Mutex::default(),
            uow: Mutex::default(),
            enlisted: AtomicBool::new(false),
            transaction_began: AtomicI64::new(0),
            request_started: AtomicI64::new(now),
            request_ended: AtomicI64::new(now),
            requests: AtomicU64::new(0),
            running: AtomicBool::new(false),
            used: Usage::default(),
            used_before: Usage::default(),
            current: Current::default(),
            text: Mutex::new("".into()),
            last_commit: Mutex::default(),
            unsettled: crate::session::Unsettled::default(),
            context: Mutex::default(),
            context_info: Mutex::default(),
            options,
            waits: Arc::default(),
            recorded: crate::query_store::Recorded::default(),
            error: AtomicI32::new(0),
            progress: AtomicU32::new(0),
            app_locks: Mutex::default(),
            counts: Counts::default(),
            rests: Mutex::default(),
            group: Mutex::new(group),
        });
        by_id.insert(id, Arc::clone(&session));
        session
    }

    /// Forgets a session.
    pub fn remove(&self, id: u32) {
        let mut by_id = self.by_id.write();
        if let Some(session) = by_id.remove(&id) {
            let (read, written) = (&session.login.traffic.read(), &session.login.traffic.written());
            self.ended.note(self.ended.read() + read, self.ended.written() + written);
            self.logouts.fetch_add(1, Ordering::Relaxed);
            session.recorded.leave_to(&self.left_behind);
        }
    }

    /// Packets received and sent since start-up.
    #[must_use]
    pub fn packets(&self) -> (u64, u64) {
        let by_id = self.by_id.read();
        let all = by_id.values().map(|s| &*s.login.traffic).chain([&self.ended]);
        all.fold((0, 0), |(read, written), t| (read + t.read(), written + t.written()))
    }

    /// A session by id.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<Arc<SessionShared>> {
        self.by_id.read().get(&id).cloned()
    }

    /// All sessions by id.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<SessionShared>> {
        let mut all: Vec<_> = self.by_id.read().values().cloned().collect();
        all.sort_by_key(|s| s.id);
        all
    }

    /// KILL: false when there is no such session.
    pub fn kill(&self, id: u32) -> bool {
        let Some(session) = self.get(id) else { return false };
        session.kill();
        true
    }

    /// Shutdown: every running request is told to stop.
    pub fn cancel_all(&self) {
        for session in self.all() {
            session.kill();
        }
    }
}

/// An isolation level as reports of deadlocks write it.
fn isolation_name(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "read uncommitted (1)",
        IsolationLevel::ReadCommitted => "read committed (2)",
        IsolationLevel::RepeatableRead => "repeatable read (3)",
        IsolationLevel::Serializable => "serializable (4)",
        IsolationLevel::Snapshot => "snapshot (5)",
    }
}

impl SessionShared {
    /// The text of the running or last request, without its passwords.
    #[must_use]
    pub fn shown_text(&self) -> String {
        let text = Arc::clone(&self.text.lock());
        without_secrets(&text).into_owned()
    }
}

impl OwnerContext for SessionShared {
    fn describe(&self) -> OwnerDescription {
        let at = self.current.statement();
        let name = at.as_ref().and_then(|at| at.program.identity.name.clone());
        OwnerDescription {
            session_id: self.id,
            transaction_name: if self.transactions.load(Ordering::Relaxed) > 0 {
                "user_transaction"
            } else {
                "implicit_transaction"
            }
            .to_owned(),
            login: self.login.login.clone(),
            host: self.login.host_name.clone(),
            application: self.login.app_name.clone(),
            isolation: isolation_name(self.options.lock().isolation).to_owned(),
            database: self.database.load(Ordering::Relaxed),
            procedure: name.map_or_else(|| "adhoc".to_owned(), |name| name.to_string()),
            line: at.as_ref().map_or(1, |at| at.line),
            statement: at.map(|at| without_secrets(at.text()).into_owned()).unwrap_or_default(),
            input_buffer: self.shown_text(),
        }
    }
}
