//! The subscriptions of an instance in memory: by number, and by the tables that they watch, which is how statements that change rows
//! ask for them. All is under one lock, that nobody takes while there is no subscription.

use super::Reason;
use super::changes::{Changed, Changes};
use hashbrown::{HashMap, HashSet};
use keel_base::DatabaseId;
use keel_query::catalog::{ColumnDef, ObjectId, TableDef};
use keel_query::queue::Guid;
use keel_query::watch::Watch;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Subscriptions that watch a table.
const OF_TABLE_MAX: usize = 10_000;

/// A subscription as its database stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// `id` of views and messages.
    pub id: u64,
    /// What the client says of it.
    pub message: String,
    /// The service that is told.
    pub service: String,
    /// Its broker.
    pub broker: Option<String>,
    /// The user it belongs to, in the database.
    pub owner: i32,
    /// The login.
    pub sid: Vec<u8>,
    /// Local ticks.
    pub created: i64,
    /// Seconds.
    pub timeout: u32,
    /// When it is over, UTC ticks.
    pub expires: i64,
    /// What the query is, with the values of its variables: the same one asked for again is the same subscription.
    pub query: String,
}

/// A subscription.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// Its row.
    pub key: Guid,
    pub stored: Stored,
    /// What it reads.
    pub watches: Vec<(Arc<TableDef>, Arc<Watch>)>,
}

/// A subscription that is to be told by the broker itself.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub database: DatabaseId,
    pub key: Guid,
    pub reason: Reason,
}

/// The subscriptions of a database, and the watches of its tables, by number.
#[derive(Default)]
struct OfDatabase {
    all: BTreeMap<u64, Arc<Subscription>>,
    tables: HashMap<ObjectId, BTreeMap<u64, Arc<Watch>>>,
}

#[derive(Default)]
struct State {
    databases: HashMap<DatabaseId, OfDatabase>,
    due: Vec<Due>,
    /// Databases that may have something to send although they have no queues.
    sending: HashSet<DatabaseId>,
}

/// All of them.
#[derive(Default)]
pub struct Subscriptions {
    /// The newest.
    latest: AtomicU64,
    /// How many there are.
    open: AtomicUsize,
    state: Mutex<State>,
}

impl Subscriptions {
    /// The number of the newest there ever was.
    #[inline]
    pub(crate) fn latest(&self) -> u64 {
        self.latest.load(Ordering::SeqCst)
    }

    /// Whether there is any.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Who watches a table.
    pub(crate) fn of_table(&self, database: DatabaseId, table: ObjectId) -> Option<Vec<Arc<Watch>>> {
        let state = self.state.lock();
        Some(state.databases.get(&database)?.tables.get(&table)?.values().cloned().collect())
    }

    /// Adds one, made with its number; `None` when one of its tables has too many.
    pub(crate) fn add(
        &self,
        database: DatabaseId,
        make: impl FnOnce(u64) -> Subscription,
    ) -> Option<Arc<Subscription>> {
        let mut state = self.state.lock();
        let of = state.databases.entry(database).or_default();
        let id = self.latest.load(Ordering::SeqCst) + 1;
        let subscription = Arc::new(make(id));
        let watchers = |table: &TableDef| of.tables.get(&table.object_id).map_or(0, BTreeMap::len);
        if subscription.watches.iter().any(|(table, _)| watchers(table) >= OF_TABLE_MAX) {
            return None;
        }
        for (table, watch) in &subscription.watches {
            of.tables.entry(table.object_id).or_default().insert(id, Arc::clone(watch));
        }
        of.all.insert(id, Arc::clone(&subscription));
        state.sending.insert(database);
        self.open.fetch_add(1, Ordering::SeqCst);
        // Last: who has seen this number before a change has found it among the table's.
        self.latest.store(id, Ordering::SeqCst);
        Some(subscription)
    }

    /// Takes one away.
    pub(crate) fn remove(&self, database: DatabaseId, id: u64) -> Option<Arc<Subscription>> {
        let mut state = self.state.lock();
        let of = state.databases.get_mut(&database)?;
        let gone = of.all.remove(&id)?;
        for (table, _) in &gone.watches {
            if let Some(watches) = of.tables.get_mut(&table.object_id) {
                watches.remove(&id);
                if watches.is_empty() {
                    of.tables.remove(&table.object_id);
                }
            }
        }
        self.open.fetch_sub(1, Ordering::SeqCst);
        Some(gone)
    }

    /// A database is no more, or carried on elsewhere: what there is of its subscriptions is in its rows, for whoever finds them.
    pub(crate) fn forget(&self, database: DatabaseId) {
        let mut state = self.state.lock();
        if let Some(of) = state.databases.remove(&database) {
            self.open.fetch_sub(of.all.len(), Ordering::SeqCst);
        }
        state.due.retain(|due| due.database != database);
        state.sending.remove(&database);
    }

    /// One by number.
    pub(crate) fn get(&self, database: DatabaseId, id: u64) -> Option<Arc<Subscription>> {
        self.state.lock().databases.get(&database)?.all.get(&id).cloned()
    }

    /// All of a database that something is said of.
    pub(crate) fn of_database(
        &self,
        database: DatabaseId,
        which: impl Fn(&Subscription) -> bool,
    ) -> Vec<Arc<Subscription>> {
        let state = self.state.lock();
        let all = state.databases.get(&database).into_iter().flat_map(|of| of.all.values());
        all.filter(|s| which(s)).cloned().collect()
    }

    /// All, by database and number.
    pub(crate) fn all(&self) -> Vec<(DatabaseId, Arc<Subscription>)> {
        let state = self.state.lock();
        let of = |(id, of): (&DatabaseId, &OfDatabase)| {
            of.all.values().map(|s| (*id, Arc::clone(s))).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = state.databases.iter().flat_map(of).collect();
        all.sort_by_key(|(database, s)| (*database, s.stored.id));
        all
    }

    /// A transaction is over: what it has told of goes, and what it has not is due. Says whether anything is.
    pub(crate) fn committed(&self, changes: &Changes) -> bool {
        if !self.any() {
            return false;
        }
        for (database, id) in &changes.told {
            self.remove(*database, *id);
        }
        let fired = changes.fired.iter().map(|f| (f.database, f.watch, f.reason));
        let late = changes.tables().iter().flat_map(|t| {
            let newer = self.newer(t).into_iter();
            newer.map(|id| (t.database, id, Reason::of(t.action)))
        });
        let mut all: Vec<_> = fired.chain(late).collect();
        all.retain(|(database, id, _)| !changes.told.contains(&(*database, *id)));
        let mut any = false;
        for (database, id, reason) in all {
            any |= self.fall_due(database, id, reason);
        }
        any
    }

    /// Those that began to watch a table after it was changed first.
    fn newer(&self, changed: &Changed) -> Vec<u64> {
        let state = self.state.lock();
        let Some(of) = state.databases.get(&changed.database) else { return Vec::new() };
        let later = changed.seen + 1..;
        match changed.table {
            None => of.all.range(later).map(|(id, _)| *id).collect(),
            Some(table) => {
                let watches = of.tables.get(&table).into_iter();
                watches.flat_map(|watches| watches.range(later.clone())).map(|(id, _)| *id).collect()
            }
        }
    }

    /// One is to be told by the broker; false when it is no more.
    pub(crate) fn fall_due(&self, database: DatabaseId, id: u64, reason: Reason) -> bool {
        let Some(gone) = self.remove(database, id) else { return false };
        self.push_due(Due { database, key: gone.key, reason });
        true
    }

    /// The same of one that is not in memory.
    pub(crate) fn push_due(&self, due: Due) {
        let mut state = self.state.lock();
        state.sending.insert(due.database);
        state.due.push(due);
    }

    /// Those whose time is over are due.
    pub(crate) fn expire(&self, now_utc: i64) {
        if !self.any() {
            return;
        }
        for (database, s) in self.all() {
            if s.stored.expires <= now_utc {
                self.fall_due(database, s.stored.id, Reason::EXPIRED);
            }
        }
    }

    /// When the next one's time is over, UTC ticks.
    pub(crate) fn next_expiry(&self) -> Option<i64> {
        if !self.any() {
            return None;
        }
        let state = self.state.lock();
        state.databases.values().flat_map(|of| of.all.values()).map(|s| s.stored.expires).min()
    }

    /// Takes those of a database that are due.
    pub(crate) fn take_due(&self, database: DatabaseId) -> Vec<Due> {
        let mut state = self.state.lock();
        let (own, others) = std::mem::take(&mut state.due).into_iter().partition(|d| d.database == database);
        state.due = others;
        own
    }

    /// Whether any of a database is.
    pub(crate) fn is_due(&self, database: DatabaseId) -> bool {
        self.state.lock().due.iter().any(|d| d.database == database)
    }

    /// A database may have something to send.
    pub(crate) fn sends(&self, database: DatabaseId) {
        self.state.lock().sending.insert(database);
    }

    /// Whether it may.
    pub(crate) fn is_sending(&self, database: DatabaseId) -> bool {
        self.state.lock().sending.contains(&database)
    }

    /// What becomes of the subscriptions to a table that has these columns now; `None` when it is no more.
    pub(crate) fn defined(
        &self,
        database: DatabaseId,
        table: ObjectId,
        columns: Option<&[ColumnDef]>,
    ) -> Vec<(u64, Reason)> {
        let reason = |s: &Subscription| {
            let (known, _) = s.watches.iter().find(|(t, _)| t.object_id == table)?;
            match columns {
                None => Some(Reason::DROPPED),
                Some(columns) if known.columns != columns => Some(Reason::ALTERED),
                Some(_) => None,
            }
        };
        let touched = self.of_database(database, |s| reason(s).is_some());
        touched.iter().filter_map(|s| Some((s.stored.id, reason(s)?))).collect()
    }
}
