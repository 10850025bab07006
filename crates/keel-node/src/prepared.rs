//! Prepared transactions that no session holds: in doubt until somebody outside says what becomes of them.
//!
//! ```text
//!   session ── prepare ──► parts and prepare group in the log ── leave ──┐
//!                                                                        ▼
//!   recovery, promotion: streams that are prepared and not decided ──► in doubt ──► commit_prepared | rollback_prepared
//! ```
//!
//! In the log a prepared transaction is a stream whose prepare group has come and whose commit or abort has not. In memory it is what it
//! was in its session: versions under one undecided status, and locks. After a crash, and on a new primary, both are made anew from the
//! stream's records: every row that was written is locked, and so are the tables, whose locks the prepare group names. Locks of what was only
//! read are not; nothing depends on them any more.
//!
//! A replica that ceases to be primary forgets them, and redo has them again: it begins before the first stream that is not decided.
//!
//! ## The name in a prepare group
//! | bytes | field |
//! | ---: | --- |
//! | 2 | number of table locks |
//! | 5 each | object id, mode |
//! | rest | the name, as [`Transaction::prepare`](crate::Transaction::prepare) got it |

use crate::control::micros;
use crate::database::Database;
use crate::error::{DbError, TxnError};
use crate::follower::CATALOG_TREE;
use crate::locks::{Agent, LockMode, txn_resource};
use crate::transaction::Commit;
use keel_base::{Lsn, TreeId, TxnId};
use keel_redo::{Applier, Change, GroupKind, RecordBuffer, RowRecord};
use keel_store::lock::{LockOwner, Mode, Resource, Wait};
use keel_store::row::Patch;
use keel_store::{StoreError, WriteSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A prepared transaction that is in doubt.
pub(crate) struct Prepared {
    pub(crate) txn: TxnId,
    pub(crate) set: Option<WriteSet>,
    pub(crate) owner: Arc<LockOwner>,
    pub(crate) dropped_trees: Vec<TreeId>,
    pub(crate) name: Arc<[u8]>,
    pub(crate) since_us: i64,
    pub(crate) log_bytes: u64,
}

/// What is known of a transaction in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InDoubt {
    /// Its number in this database.
    pub stream: u64,
    /// What who decides calls it.
    pub name: Arc<[u8]>,
    /// Its transaction here.
    pub txn: TxnId,
    /// Who holds its locks, as they say.
    pub agent: u64,
    /// When it was prepared, microseconds since 1970 UTC.
    pub since_us: i64,
    /// Its redo records, in bytes.
    pub log_bytes: u64,
    /// Whether it changes the catalog.
    pub changes_catalog: bool,
}

/// Modes that a table lock keeps after a crash, with what they are in a prepare group.
const KEPT: [(LockMode, u8); 6] = [
    (LockMode::IntentExclusive, 1),
    (LockMode::SharedIntentExclusive, 2),
    (LockMode::BulkUpdate, 3),
    (LockMode::Exclusive, 4),
    (LockMode::SchemaStability, 5),
    (LockMode::SchemaModification, 6),
];

/// The name as a prepare group has it.
pub(crate) fn kept_name(tables: &[(u32, LockMode)], name: &[u8]) -> Vec<u8> {
    let code = |mode| KEPT.iter().find(|kept| kept.0 == mode).map(|kept| kept.1);
    let kept: Vec<(u32, u8)> =
        tables.iter().filter_map(|(object, mode)| Some((*object, code(*mode)?))).collect();
    // Those of more tables than anybody locks one by one are not kept: the rows' are.
    let count = u16::try_from(kept.len()).unwrap_or(0);
    let mut bytes = count.to_le_bytes().to_vec();
    for (object, mode) in kept.iter().take(count.into()) {
        bytes.extend_from_slice(&object.to_le_bytes());
        bytes.push(*mode);
    }
    bytes.extend_from_slice(name);
    bytes
}

/// Objects, and how they are locked.
type TableLocks = Vec<(u32, LockMode)>;

/// Table locks and name from a prepare group; `None` when it is damaged.
fn decode_name(bytes: &[u8]) -> Option<(TableLocks, &[u8])> {
    let count = u16::from_le_bytes(*bytes.first_chunk()?);
    let (locks, name) = bytes.get(2..)?.split_at_checked(usize::from(count) * 5)?;
    let mut tables = Vec::new();
    for lock in locks.chunks_exact(5) {
        let object = u32::from_le_bytes(*lock.first_chunk()?);
        let mode = KEPT.iter().find(|kept| Some(&kept.1) == lock.last())?.0;
        tables.push((object, mode));
    }
    Some((tables, name))
}

/// The name in a prepare group as who decides gave it.
pub(crate) fn own_name(kept: &[u8]) -> Option<Arc<[u8]>> {
    decode_name(kept).map(|(_, name)| Arc::from(name))
}

impl Prepared {
    fn changes_catalog(&self) -> bool {
        self.set.as_ref().is_some_and(|set| set.has_touched(CATALOG_TREE)) || !self.dropped_trees.is_empty()
    }
}

impl Database {
    /// The transactions in doubt, in the order of their numbers.
    pub fn in_doubt(&self) -> Vec<InDoubt> {
        let info = |(stream, p): (&u64, &Prepared)| InDoubt {
            stream: *stream,
            name: Arc::clone(&p.name),
            txn: p.txn,
            agent: Agent::anonymous(p.txn).id,
            since_us: p.since_us,
            log_bytes: p.log_bytes,
            changes_catalog: p.changes_catalog(),
        };
        self.prepared.lock().iter().map(info).collect()
    }

    /// On a copy: what those call them who decide about the transactions that are prepared in its log, as far as redo has come, and not
    /// decided. They are in doubt where the log comes from.
    pub fn prepared_names(&self) -> Vec<Arc<[u8]>> {
        let streams = self.follower.streams.lock();
        streams.values().filter(|s| s.decided.is_none()).filter_map(|s| s.name.clone()).collect()
    }

    /// Commits a transaction in doubt. `None` when there is none of this number (any more).
    ///
    /// # Errors
    /// Those of writing log; it is in doubt as before.
    pub fn commit_prepared(self: &Arc<Self>, stream: u64) -> Result<Option<Commit>, TxnError> {
        let mut all = self.prepared.lock();
        let Some(mut prepared) = all.remove(&stream) else { return Ok(None) };
        let term = self.gate.term();
        match self.append_decision(&mut prepared, stream, term) {
            Ok(lsn) => {
                drop(all);
                if prepared.changes_catalog() {
                    // No session of this copy publishes what it has changed.
                    self.follower.note_catalog(lsn);
                }
                prepared.owner.release_all();
                if let Some(set) = prepared.set.take().filter(|set| !set.is_empty()) {
                    set.commit();
                }
                self.counters.commits.fetch_add(1, Ordering::Relaxed);
                Ok(Some(Commit { db: Arc::clone(self), lsn, term }))
            }
            Err(e) => {
                all.insert(stream, prepared);
                Err(e)
            }
        }
    }

    fn append_decision(&self, prepared: &mut Prepared, stream: u64, term: u64) -> Result<Lsn, TxnError> {
        let log = self.decidable()?;
        let txn = prepared.txn;
        let status = Arc::clone(prepared.set.get_or_insert_with(|| WriteSet::new(txn)).status());
        let dropping = (!prepared.dropped_trees.is_empty()).then(|| self.block_checkpoints());
        let mut buffer = RecordBuffer::new();
        let group = buffer.seal(GroupKind::Commit, stream, micros(self.instance().env()));
        let lsn = log.append_in(term, group, |lsn| status.commit_at(lsn))?;
        self.note_appended(lsn);
        for tree in &prepared.dropped_trees {
            self.store().drop_tree(*tree, lsn);
        }
        drop(dropping);
        self.end_stream(stream, Some(lsn));
        Ok(lsn)
    }

    /// The log, if this replica may say in it what becomes of a transaction.
    fn decidable(&self) -> Result<&keel_log::Log, TxnError> {
        if self.is_closed() {
            return Err(TxnError::Poisoned("the database is closed".into()));
        }
        let cannot = || TxnError::RoleChanged("the database cannot be written here (any more)".into());
        self.log().filter(|_| self.gate.term() != 0).ok_or_else(cannot)
    }

    /// Rolls a transaction in doubt back. `None` when there is none of this number (any more).
    ///
    /// # Errors
    /// Those of writing log; it is in doubt as before.
    pub fn rollback_prepared(self: &Arc<Self>, stream: u64) -> Result<Option<Commit>, TxnError> {
        let mut all = self.prepared.lock();
        let Some(prepared) = all.remove(&stream) else { return Ok(None) };
        let term = self.gate.term();
        let mut buffer = RecordBuffer::new();
        let group = buffer.seal(GroupKind::Abort, stream, 0);
        match self.decidable().and_then(|log| Ok(log.append_in(term, group, |_| ())?)) {
            Ok(lsn) => {
                drop(all);
                self.end_stream(stream, Some(lsn));
                if let Some(set) = prepared.set {
                    set.rollback();
                }
                prepared.owner.release_all();
                self.counters.rollbacks.fetch_add(1, Ordering::Relaxed);
                Ok(Some(Commit { db: Arc::clone(self), lsn, term }))
            }
            Err(e) => {
                all.insert(stream, prepared);
                Err(e)
            }
        }
    }

    /// Lets go of what memory has of them. The log has it, too: who reads that has them again.
    pub(crate) fn forget_prepared(&self) {
        let forgotten = std::mem::take(&mut *self.prepared.lock());
        for prepared in forgotten.into_values() {
            if let Some(set) = prepared.set {
                set.rollback();
            }
            prepared.owner.release_all();
        }
    }

    /// Makes the transactions that redo has found prepared and not decided what they were: rows that are not decided, and locks.
    /// Before anybody can write. Returns their numbers.
    pub(crate) fn restore_prepared(&self, redo: &Applier<'_>) -> Result<Vec<u64>, DbError> {
        let mut restored = Vec::new();
        for undecided in redo.undecided() {
            let Some((since_us, name)) = undecided.prepared else { continue };
            let damaged = || DbError::Corrupt("a prepared transaction in the log has no valid name".into());
            let (tables, name) = decode_name(&name).ok_or_else(damaged)?;
            let txn = self.instance().next_txn();
            let mut prepared = Prepared {
                txn,
                set: Some(WriteSet::new(txn)),
                owner: self.locks_again(txn, &tables),
                dropped_trees: Vec::new(),
                name: Arc::from(name),
                since_us,
                log_bytes: 0,
            };
            redo.records_of(undecided.stream, &mut |record| self.write_again(&mut prepared, record))?;
            self.prepared.lock().insert(undecided.stream, prepared);
            restored.push(undecided.stream);
        }
        Ok(restored)
    }

    /// The owner of its locks, which has those of tables already. A session of an earlier role may still hold one: it can do nothing with it.
    fn locks_again(&self, txn: TxnId, tables: &[(u32, LockMode)]) -> Arc<LockOwner> {
        let agent = Agent::anonymous(txn);
        let owner = LockOwner::new(self.instance().locks(), agent.id, agent.context, agent.cancel);
        let _ = owner.lock(&txn_resource(self.id(), &txn.0.to_be_bytes()), Mode::X, Wait::NO);
        for (object, mode) in tables {
            let _ = owner.lock(&Resource::Object(self.id(), *object), (*mode).into(), Wait::NO);
        }
        Arc::new(owner)
    }

    fn write_again(&self, prepared: &mut Prepared, record: &RowRecord<'_>) -> Result<(), StoreError> {
        let change = match record.change {
            Change::Put(row) => keel_store::Change::Put(row),
            Change::Patch(patch) => keel_store::Change::Patch(Patch::from_trusted(patch)),
            Change::Delete => keel_store::Change::Delete,
            Change::DropTree => {
                prepared.dropped_trees.push(record.tree);
                return Ok(());
            }
        };
        prepared.log_bytes += (record.key.len() + body_bytes(&record.change)) as u64;
        let _ = prepared.owner.lock(&Resource::Key(self.id(), record.tree, record.key), Mode::X, Wait::NO);
        let txn = prepared.txn;
        let set = prepared.set.get_or_insert_with(|| WriteSet::new(txn));
        loop {
            match self.store().write(set, record.tree, record.key, change) {
                // Left by a session from before the replica gave up its role.
                Err(StoreError::Undecided(_)) => self.store().abandon(record.tree, record.key),
                done => return done,
            }
        }
    }
}

fn body_bytes(change: &Change<'_>) -> usize {
    match change {
        Change::Put(body) | Change::Patch(body) => body.len(),
        Change::Delete | Change::DropTree => 0,
    }
}
