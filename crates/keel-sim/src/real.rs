//! [`Real`]: a whole [`Database`] as an engine's content: store, base tree, checkpoints, redo lanes, roles, seeding.
//!
//! Nothing runs beside the world: the database's instance is worked [by hand](keel_node::InstanceOptions::by_hand), and the
//! world does its pieces of background work when the dice say so.
//!
//! Clients are transactions of [`deed`](crate::deed). Most commit at once, some stay open for a while, across whatever
//! happens to the database, some roll back. A commit waits as a client would ([`keel_node::Commit::wait`]) once the group
//! has agreed, when it must not be refused; and when the replica was fenced first, it must not be told that it is done.
//!
//! [`Real::judge`] reads everything at a reader's snapshot and compares it with the model of what was committed up to there.

use crate::deed::{CATALOG_LOCK, LEDGER, Model, Rows, Trees, perform};
use crate::engine::{Commit, Content, Ends, Ground, Image, Trouble};
use keel_base::env::sim::SplitMix;
use keel_base::{DatabaseId, Epoch, Lsn, TreeId};
use keel_log::block::PAYLOAD_BYTES_MAX;
use keel_log::{Log, LogOptions};
use keel_node::{
    Database, DbError, DbOptions, Direction, Durability, Instance, InstanceOptions, Isolation, LockMode,
    ReadView, Role, SeedInfo, SeedSink, SeedSource, Transaction, TxnError,
};
use keel_redo::record::{Change, Group, GroupKind};
use keel_redo::{LogSource, RedoError, Source};
use keel_store::row::PatchBuilder;
use keel_store::row::patch::diff;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Of so many transactions one has delayed durability.
const DELAYED_EACH: u64 = 7;
/// Transactions that are open at a time.
const OPEN_MAX: usize = 3;
/// Bytes of a seeding chunk.
const CHUNK_BYTES: usize = 2000;

mod doubt;

pub(crate) struct Real {
    db: Arc<Database>,
    log: Log,
    ends: Ends,
    dice: SplitMix,
    known: BTreeSet<Commit>,
    /// Those that it has made as a writer, in this term, whether they are in a log that can be read or not.
    made: BTreeSet<Commit>,
    /// Reads what was hardened since it was last asked.
    source: Option<LogSource>,
    /// Transactions whose first records are in the log, by stream.
    streams: BTreeMap<u64, u64>,
    /// What its log says of prepared transactions, and what it has done with them itself.
    doubts: doubt::Doubts,
    open: Vec<Open>,
    /// Commits whose clients wait, by where they end.
    waiting: BTreeMap<Lsn, keel_node::Commit>,
    reader: Option<Reader>,
    model: Model,
    /// Counts the ends of writing: a transaction from before one must not commit after it.
    terms: u64,
    held: BTreeMap<String, Lsn>,
    /// Rare things that happened since they were last asked for.
    met: Vec<&'static str>,
}

struct Open {
    txn: Transaction,
    number: u64,
    term: u64,
}

/// Somebody who reads for long.
struct Reader {
    txn: Transaction,
    view: ReadView,
    trees: Trees,
    at: Lsn,
}

/// A copy as it is sent over.
#[derive(Clone, Debug)]
pub(crate) struct RealImage {
    info: Vec<u8>,
    chunks: Vec<Vec<u8>>,
}

impl From<DbError> for Trouble {
    fn from(error: DbError) -> Trouble {
        let text = error.to_string();
        match error {
            DbError::Io(_) | DbError::Poisoned(_) => Trouble::Disk(text),
            DbError::Role(_) => Trouble::Refused(text),
            DbError::Invalid(_) | DbError::Corrupt(_) | DbError::Locked(_) => Trouble::Broken(text),
        }
    }
}

impl From<TxnError> for Trouble {
    fn from(error: TxnError) -> Trouble {
        let text = error.to_string();
        match error {
            TxnError::LogFull(_) | TxnError::Poisoned(_) | TxnError::Io(_) => Trouble::Disk(text),
            TxnError::LockTimeout | TxnError::SnapshotConflict | TxnError::RoleChanged(_) => {
                Trouble::Refused(text)
            }
            _ => Trouble::Broken(text),
        }
    }
}

impl From<RedoError> for Trouble {
    fn from(error: RedoError) -> Trouble {
        match error {
            RedoError::Log(error) => error.into(),
            error => Trouble::Broken(error.to_string()),
        }
    }
}

/// How an instance is set up, by chance: small, so that little work makes much happen.
pub(crate) fn options(dice: &mut SplitMix) -> InstanceOptions {
    let redo_workers = 1 + dice.below(4) as usize;
    InstanceOptions {
        memory_bytes: 64 << 20,
        redo_workers,
        // Lanes by turns, or one after the other.
        redo_alone_bytes: [0, keel_redo::ALONE_BYTES, 0, 500][redo_workers - 1],
        checkpoint_log_bytes: [30_000, 200_000, u64::MAX][dice.below(3) as usize],
        stream_bytes: [600, 4000, 1 << 20][dice.below(3) as usize],
        checkpoint_chunk_bytes: [8 << 10, 16 << 10, 4 << 20][dice.below(3) as usize],
        by_hand: true,
        ..InstanceOptions::default()
    }
}

fn db_options() -> DbOptions {
    let log = LogOptions { segment_bytes: 1, segment_bytes_max: 1, ..LogOptions::default() };
    DbOptions { durability: Durability::Durable, log }
}

/// The id of the database whose log would have this number.
fn id_of(dir: &Path) -> DatabaseId {
    let digits: String = dir.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    DatabaseId(5 + digits.parse::<u32>().unwrap_or(0))
}

/// What every instance knows of the one certificate that there is.
pub(crate) const SECRET: &[u8] = b"secret of the world";

/// Half of the worlds' databases are encrypted: their blocks, their pages, and what copies are made of.
fn encrypt(ground: &Ground, db: &Database) -> Result<(), TxnError> {
    db.change_keys(|ring| {
        ring.add(keel_node::Algorithm::Aes128, b"the certificate", SECRET, &*ground.env.random);
        ring.on = true;
        Ok(())
    })
}

impl Real {
    pub(crate) fn create(ground: &Ground, node: &Arc<Instance>, dir: &Path) -> Result<Real, Trouble> {
        let db = Database::create(node, id_of(dir), dir, &db_options())?;
        let encrypts = ground.chances & 1 == 1;
        if encrypts {
            encrypt(ground, &db)?;
        }
        let mut real = Real::around(ground, db)?;
        if encrypts {
            real.met.push("encrypted database");
        }
        Ok(real)
    }

    /// Opens a copy after a restart; `None` when it was never whole.
    pub(crate) fn open(ground: &Ground, node: &Arc<Instance>, dir: &Path) -> Result<Option<Real>, Trouble> {
        if !ground.env.disk.exists(&keel_node::control::path(dir)) {
            return Ok(None);
        }
        let db = Database::open(node, id_of(dir), dir, &db_options(), &mut |_| ())?;
        Ok(Some(Real::around(ground, db)?))
    }

    pub(crate) fn create_from(
        ground: &Ground,
        node: &Arc<Instance>,
        dir: &Path,
        image: &RealImage,
    ) -> Result<Real, Trouble> {
        let sink = Real::sink(node, dir, image)?;
        for chunk in &image.chunks {
            sink.apply(&[chunk])?;
        }
        Real::around(ground, sink.finish(&db_options())?)
    }

    /// Begins a copy, or goes on with one, and is broken off: some of the chunks of each stream are there.
    pub(crate) fn begin_from(
        node: &Arc<Instance>,
        dir: &Path,
        image: &RealImage,
        dice: &mut SplitMix,
    ) -> Result<(), Trouble> {
        let sink = Real::sink(node, dir, image)?;
        let mut over = BTreeSet::new();
        for chunk in &image.chunks {
            let stream = chunk.get(4..8);
            if dice.below(4) == 0 {
                over.insert(stream);
            }
            if !over.contains(&stream) {
                sink.apply(&[chunk])?;
            }
        }
        Ok(())
    }

    /// Where a copy is made, in place of a whole one; part of one is gone on with.
    fn sink(node: &Arc<Instance>, dir: &Path, image: &RealImage) -> Result<SeedSink, Trouble> {
        if node.env().disk.exists(&keel_node::control::path(dir)) {
            Real::remove(node, dir)?;
        }
        let unreadable = || Trouble::Broken("what a copy must know was damaged on the way".into());
        let info = SeedInfo::decode(&image.info).ok_or_else(unreadable)?;
        Ok(SeedSink::create(node, id_of(dir), dir, &info)?)
    }

    pub(crate) fn remove(node: &Arc<Instance>, dir: &Path) -> Result<(), Trouble> {
        Ok(Database::remove(node, dir)?)
    }

    fn around(ground: &Ground, db: Arc<Database>) -> Result<Real, Trouble> {
        let log = db.log().cloned().ok_or_else(|| Trouble::Broken("a durable database has a log".into()))?;
        let mut dice = SplitMix(ground.chances ^ u64::from(db.id().0) << 32);
        db.set_log_retention([u64::MAX, u64::MAX, 150_000][dice.below(3) as usize]);
        let mut real = Real {
            db,
            log,
            ends: Arc::clone(&ground.ends),
            dice,
            known: BTreeSet::new(),
            made: BTreeSet::new(),
            source: None,
            streams: BTreeMap::new(),
            doubts: doubt::Doubts::default(),
            open: Vec::new(),
            waiting: BTreeMap::new(),
            reader: None,
            model: Model::default(),
            terms: 0,
            held: BTreeMap::new(),
            met: Vec::new(),
        };
        real.read_base()?;
        Ok(real)
    }

    /// Learns what is in the base tree: its log may be gone.
    fn read_base(&mut self) -> Result<(), Trouble> {
        let root = self.db.store().base().root();
        let (from, to) = (LEDGER.0.to_be_bytes(), (LEDGER.0 + 1).to_be_bytes());
        let mut rows = root.scan(Bound::Included(&from), Bound::Excluded(&to), Direction::Forward);
        let ends = self.ends.lock().expect("one thread");
        while let Some((key, _)) = rows.next().map_err(|error| Trouble::Disk(error.to_string()))? {
            let number = number_of(&key[from.len()..]);
            let Some(end) = ends.get(&number).copied() else {
                return Err(Trouble::Broken(format!("transaction {number} never committed and is merged")));
            };
            self.known.insert(Commit { end, number });
        }
        Ok(())
    }

    /// Learns what was hardened since the last call.
    fn read_log(&mut self) -> Result<(), Trouble> {
        if self.source.is_none() {
            self.source = Some(LogSource::new(&self.log, self.db.positions().redo_start)?);
        }
        let Some(source) = &mut self.source else { return Ok(()) };
        while let Some(chunk) = source.next()? {
            let mut at = 0;
            while at < chunk.bytes.len() {
                let place = chunk.first_lsn.advance(at as u64);
                let damaged = || Trouble::Broken(format!("no group of records at {place}"));
                let group = Group::decode(&chunk.bytes[at..]).ok_or_else(damaged)?;
                at += group.bytes.len();
                let end = chunk.first_lsn.advance(at as u64);
                if group.bytes.len() > PAYLOAD_BYTES_MAX {
                    self.met.push("records larger than a block");
                }
                let mut posted = None;
                let walked = group.for_each_of(0, 1, |_, record| {
                    if record.tree == LEDGER && matches!(record.change, Change::Put(_)) {
                        posted = Some(number_of(record.key));
                    }
                    Ok::<(), ()>(())
                });
                walked.ok_or_else(damaged)?.map_err(|()| damaged())?;
                self.doubts.read(&group).map_err(Trouble::Broken)?;
                let committed = match group.kind {
                    GroupKind::Whole => posted,
                    GroupKind::Part => {
                        self.streams.extend(posted.map(|number| (group.stream, number)));
                        None
                    }
                    GroupKind::Commit => posted.or(self.streams.remove(&group.stream)),
                    GroupKind::Abort => {
                        self.met.push("stream aborted");
                        self.streams.remove(&group.stream);
                        None
                    }
                    GroupKind::Rollback | GroupKind::Note | GroupKind::Prepare => None,
                };
                if let Some(number) = committed {
                    let told = self.ends.lock().expect("one thread").get(&number).copied();
                    if told != Some(end) {
                        let what =
                            format!("transaction {number} ends at {end} in a log, its client has {told:?}");
                        return Err(Trouble::Broken(what));
                    }
                    self.known.insert(Commit { end, number });
                }
            }
        }
        Ok(())
    }

    /// Pieces of background work are done; what they do to the log must be known before.
    pub(crate) fn before_work(&mut self) -> Result<(), Trouble> {
        self.read_log()
    }

    /// Rare things that happened since the last call.
    pub(crate) fn met(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.met)
    }

    pub(crate) fn redo_error(&self) -> Option<String> {
        self.db.redo_error()
    }

    // ---- clients ----------------------------------------------------------------------------------------------------

    /// Transactions that were left open go on, or do not.
    fn settle_open(&mut self, done: &mut Vec<Commit>) -> Result<(), Trouble> {
        for open in std::mem::take(&mut self.open) {
            match self.dice.below(6) {
                0 | 1 => {
                    let late = open.term != self.terms;
                    match self.commit(open.txn, open.number) {
                        Ok(_) if late => {
                            let what = format!("transaction {} outlived the role it began in", open.number);
                            return Err(Trouble::Broken(what));
                        }
                        Ok(commit) => {
                            self.met.push("transaction that was open for long");
                            done.push(commit);
                        }
                        Err(Trouble::Refused(_)) if late => {
                            self.met.push("transaction ended by a change of role")
                        }
                        Err(error) => return Err(error),
                    }
                }
                2 => open.txn.rollback(),
                _ => self.open.push(open),
            }
        }
        Ok(())
    }

    fn commit(&mut self, txn: Transaction, number: u64) -> Result<Commit, Trouble> {
        let commit = txn.commit()?;
        let end = commit.lsn();
        Ok(self.note_commit(number, end, commit))
    }

    fn note_commit(&mut self, number: u64, end: Lsn, commit: keel_node::Commit) -> Commit {
        self.ends.lock().expect("one thread").insert(number, end);
        self.made.insert(Commit { end, number });
        if number.is_multiple_of(DELAYED_EACH) {
            commit.delay().expect("it has got its place just now");
        } else {
            self.waiting.insert(end, commit);
        }
        Commit { end, number }
    }

    fn begin(&mut self) -> Transaction {
        let isolation = match self.dice.below(8) {
            0 => Isolation::Snapshot,
            1 => Isolation::Serializable,
            2 => Isolation::RepeatableRead,
            _ => Isolation::ReadCommitted,
        };
        let mut txn = self.db.begin(isolation);
        // There is nobody beside it who could release a lock while it waits.
        txn.set_lock_timeout(Some(Duration::ZERO));
        txn
    }

    /// Writing ends here: who waits for an answer must not get a good one.
    fn end_term(&mut self) -> Result<(), Trouble> {
        self.terms += 1;
        self.made.clear();
        let hardened = self.log.hardened();
        for (end, commit) in std::mem::take(&mut self.waiting) {
            if end <= hardened && commit.wait().is_ok() {
                let what = format!("a commit at {end} is told to be done after the end of its term");
                return Err(Trouble::Broken(what));
            }
        }
        Ok(())
    }

    // ---- judging ----------------------------------------------------------------------------------------------------

    /// Reads all rows as a reader would now. They must be what the transactions up to the reader's position have made, by
    /// the model; who has read for long must still read the same; positions must be in order. Returns the last of those
    /// transactions with a digest of them all, or `None` when nothing can be read yet.
    pub(crate) fn judge(&mut self) -> Result<Option<(Commit, u64)>, Trouble> {
        let root = self.db.store().base().root();
        if root.highest_lsn() > root.checkpoint_lsn() {
            self.met.push("rows merged ahead of the checkpoint");
        }
        drop(root);
        self.read_log()?;
        if let Some(what) = self.redo_error() {
            return Err(Trouble::Broken(format!("redo stopped: {what}")));
        }
        if !self.db.is_readable() {
            return Ok(None);
        }
        // A seeded copy's rows are ahead of its log until that has caught up.
        let caught_up = self.log.hardened() >= self.db.floor();
        if caught_up {
            self.db.positions().assert_ordered();
        }
        let mut txn = self.db.begin(Isolation::Snapshot);
        let view = txn.statement_snapshot();
        let at = self.db.store().stable();
        // What is merged was agreed, whether this copy has heard of it yet or not.
        let agreed = self.db.agreed().max(self.db.floor());
        if at > agreed {
            return Err(Trouble::Broken(format!("readers are at {at}, agreed is {agreed}")));
        }
        let trees = self.contents(&txn, &view, &[])?;
        // What was told is seen besides, and is in no log that could be read.
        let seen = at.max(self.db.told());
        let commits: Vec<Commit> =
            self.known.union(&self.made).take_while(|c| c.end <= seen).copied().collect();
        let numbers: Vec<u64> = commits.iter().map(|c| c.number).collect();
        if let Some(what) = difference(&trees, self.model.after(&numbers)) {
            let last = commits.last();
            return Err(Trouble::Broken(format!(
                "rows at {seen}, after {last:?} of {}: {what}",
                commits.len()
            )));
        }
        if seen > at {
            self.met.push("delayed commit read before it was agreed");
            return Ok(None);
        }
        self.reread()?;
        self.try_late()?;
        self.judge_doubts()?;
        if self.reader.is_none() && self.dice.below(3) == 0 {
            self.reader = Some(Reader { txn, view, trees, at });
        }
        let digest = commits.iter().fold(0u64, |sum, c| {
            (sum ^ c.end.0).wrapping_mul(0x100_0000_01B3).wrapping_add(c.number).rotate_left(17)
        });
        let last = commits.last().copied().unwrap_or(Commit { end: Lsn::ZERO, number: 0 });
        Ok(Some((last, digest)))
    }

    /// A transaction from before the replica gave up its role wants to commit.
    fn try_late(&mut self) -> Result<(), Trouble> {
        let late = self.open.iter().position(|open| open.term != self.terms);
        let Some(at) = late.filter(|_| self.dice.coin()) else { return Ok(()) };
        let open = self.open.remove(at);
        self.met.push("transaction ended by a change of role");
        match self.commit(open.txn, open.number) {
            Ok(_) => {
                Err(Trouble::Broken(format!("transaction {} outlived the role it began in", open.number)))
            }
            Err(Trouble::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Who has read for long reads again.
    fn reread(&mut self) -> Result<(), Trouble> {
        let Some(reader) = self.reader.take() else { return Ok(()) };
        let before: Vec<TreeId> = reader.trees.keys().map(|tree| TreeId(*tree)).collect();
        self.met.push("snapshot read again");
        let again = self.contents(&reader.txn, &reader.view, &before)?;
        if let Some(what) = difference(&again, &reader.trees) {
            return Err(Trouble::Broken(format!("a snapshot at {} has changed: {what}", reader.at)));
        }
        if self.dice.coin() {
            self.reader = Some(reader);
        }
        Ok(())
    }

    /// All rows of a view, of the trees there are now and of those named.
    fn contents(&self, txn: &Transaction, view: &ReadView, also: &[TreeId]) -> Result<Trees, Trouble> {
        let store = self.db.store();
        let trees = store.trees(&store.snapshot(self.db.told()));
        let trees = trees.map_err(|error| Trouble::Disk(error.to_string()))?;
        let mut found = Trees::new();
        for tree in trees.into_iter().chain(also.iter().copied()) {
            let mut rows = BTreeMap::new();
            let mut cursor = txn.scan(view, tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward)?;
            while let Some((key, row)) = cursor.next()? {
                rows.insert(key.to_vec(), row.to_vec());
            }
            if !rows.is_empty() {
                found.insert(tree.0, rows);
            }
        }
        Ok(found)
    }

    /// Everything on disk checks out; the logical checksum of all rows, for comparison with other copies.
    pub(crate) fn inspect(&mut self) -> Result<String, Trouble> {
        let problems = self.db.check()?.problems();
        if !problems.is_empty() {
            return Err(Trouble::Broken(problems.join("; ")));
        }
        let mut txn = self.db.begin(Isolation::Snapshot);
        let view = txn.statement_snapshot();
        Ok(format!("{:?}", self.db.logical_checksum(&view)?))
    }
}

fn number_of(key: &[u8]) -> u64 {
    key.first_chunk::<8>().copied().map_or(0, u64::from_be_bytes)
}

/// The first row that is not the same; a tree without rows is like none.
fn difference(found: &Trees, wanted: &Trees) -> Option<String> {
    let trees: BTreeSet<&u32> = found.keys().chain(wanted.keys()).collect();
    let none = BTreeMap::new();
    for tree in trees {
        let (found, wanted) = (found.get(tree).unwrap_or(&none), wanted.get(tree).unwrap_or(&none));
        if found == wanted {
            continue;
        }
        let keys: BTreeSet<&Vec<u8>> = found.keys().chain(wanted.keys()).collect();
        if let Some(key) = keys.into_iter().find(|key| found.get(*key) != wanted.get(*key)) {
            let short = |row: Option<&Vec<u8>>| row.map(|row| row[..row.len().min(40)].to_vec());
            let (found, wanted) = (short(found.get(key)), short(wanted.get(key)));
            return Some(format!("tree {tree} key {key:?} is {found:?}, should be {wanted:?}"));
        }
    }
    None
}

/// A transaction as what a deed is done with.
struct Hand<'t> {
    txn: &'t mut Transaction,
    /// Rows that it has looked at and left as they were. Who prepares keeps the locks of what it has changed over crashes and changes of
    /// role, and no others: what it did not do for want of a row need not be so any more when it commits.
    looked_at: BTreeSet<(TreeId, Vec<u8>)>,
}

impl Rows for Hand<'_> {
    type Error = TxnError;

    fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>, TxnError> {
        self.looked_at.insert((tree, key.to_vec()));
        self.txn.lock_row(tree, key, LockMode::Exclusive)?;
        Ok(self.txn.get_latest(tree, key)?.map(|row| row.to_vec()))
    }

    fn put(&mut self, tree: TreeId, key: &[u8], old: Option<&[u8]>, new: &[u8]) -> Result<(), TxnError> {
        self.looked_at.remove(&(tree, key.to_vec()));
        match old {
            None => self.txn.insert(tree, key, new),
            Some(old) => {
                let mut builder = PatchBuilder::new();
                let patch = diff(old, new, &mut builder);
                self.txn.update(tree, key, new, Some(patch))
            }
        }
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        self.looked_at.remove(&(tree, key.to_vec()));
        self.txn.delete(tree, key)
    }

    fn first_key(&mut self, tree: TreeId) -> Result<Option<Vec<u8>>, TxnError> {
        let mut cursor =
            self.txn.scan_latest(tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward)?;
        let first = cursor.next()?.map(|(key, _)| key.to_vec());
        if first.is_none() {
            self.looked_at.insert((tree, Vec::new()));
        }
        Ok(first)
    }

    fn fill(&mut self, tree: TreeId, key: &[u8], row: &[u8]) -> Result<(), TxnError> {
        self.txn.put_index(tree, key, row)
    }

    fn drop_tree(&mut self, tree: TreeId) -> Result<(), TxnError> {
        self.txn.drop_tree(tree)
    }

    fn undone(&mut self, what: impl FnOnce(&mut Self) -> Result<(), TxnError>) -> Result<(), TxnError> {
        let (mark, before) = (self.txn.savepoint(), self.looked_at.clone());
        what(self)?;
        self.looked_at = before;
        self.txn.rollback_to(mark)
    }
}

impl Content for Real {
    fn log(&self) -> &Log {
        &self.log
    }

    fn agreed(&self) -> Lsn {
        self.db.agreed()
    }

    fn applied(&self) -> Lsn {
        self.db.applied().min(self.log.hardened())
    }

    fn floor(&self) -> Lsn {
        self.db.floor()
    }

    fn history(&self) -> Vec<(Epoch, Lsn)> {
        self.log.epochs()
    }

    fn commits(&mut self) -> Result<&BTreeSet<Commit>, Trouble> {
        self.read_log()?;
        Ok(&self.known)
    }

    fn write(&mut self, number: u64, _: usize) -> Result<Vec<Commit>, Trouble> {
        let mut done = Vec::new();
        self.settle_open(&mut done)?;
        self.settle_doubts(&mut done)?;
        let mut txn = self.begin();
        let mut hand = Hand { txn: &mut txn, looked_at: BTreeSet::new() };
        let performed = perform(number, &mut hand);
        let rests_on_reading =
            hand.looked_at.iter().any(|(tree, key)| (*tree, key.as_slice()) != CATALOG_LOCK);
        match performed {
            Ok(()) => {}
            // Somebody has a row locked; the client is told, and tries no more.
            Err(TxnError::LockTimeout | TxnError::SnapshotConflict) => {
                self.met.push("row locked by another");
                return Ok(done);
            }
            // What it has committed before stays so.
            Err(TxnError::LogFull(_)) if !done.is_empty() => return Ok(done),
            Err(error) => return Err(error.into()),
        }
        match self.dice.below(12) {
            0 if self.open.len() < OPEN_MAX => self.open.push(Open { txn, number, term: self.terms }),
            1 => txn.rollback(),
            2 if !rests_on_reading => self.prepare(txn, number)?,
            _ => match self.commit(txn, number) {
                Ok(commit) => done.push(commit),
                Err(Trouble::Disk(_)) if !done.is_empty() => {}
                Err(error) => return Err(error),
            },
        }
        Ok(done)
    }

    fn receive(&mut self, epoch: Epoch, block: &[u8]) -> Result<(), Trouble> {
        match self.db.receive(epoch, block) {
            Ok(_) => Ok(()),
            Err(DbError::Role(what)) => Err(Trouble::NotNext(what.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        if self.db.role() == Role::Secondary {
            self.db.harden()?;
        } else {
            self.log.flush()?;
        }
        Ok(())
    }

    fn agree(&mut self, lsn: Lsn) -> Result<(), Trouble> {
        self.db.advance_agreed(lsn);
        let later = self.waiting.split_off(&Lsn(lsn.0 + 1));
        for (end, commit) in std::mem::replace(&mut self.waiting, later) {
            if let Err(error) = commit.wait() {
                let what = format!("the commit at {end} is agreed and refused: {error}");
                return Err(Trouble::Broken(what));
            }
        }
        Ok(())
    }

    fn apply_up_to(&mut self, lsn: Lsn) -> Result<(), Trouble> {
        match self.db.apply_up_to(lsn) {
            // Its role has changed meanwhile.
            Ok(()) | Err(DbError::Role(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn promote(&mut self, epoch: Epoch) -> Result<(), Trouble> {
        if self.db.role() == Role::Standalone {
            self.db.enter_group(epoch)?;
            self.db.set_waiting(true)?;
            return Ok(());
        }
        if self.db.role() == Role::Primary {
            // It leads already and goes on in a newer epoch.
            self.demote()?;
        }
        self.db.promote(epoch)?;
        Ok(())
    }

    fn demote(&mut self) -> Result<(), Trouble> {
        let wrote = self.db.role() == Role::Primary;
        self.db.demote()?;
        if wrote { self.end_term() } else { Ok(()) }
    }

    fn fence(&mut self) -> Result<(), Trouble> {
        let wrote = self.db.role() == Role::Primary;
        self.db.fence("the world says so");
        if wrote { self.end_term() } else { Ok(()) }
    }

    fn leave(&mut self) -> Result<(), Trouble> {
        self.waiting.clear();
        self.db.leave_group()?;
        Ok(())
    }

    fn enter(&mut self) {
        self.waiting.clear();
    }

    fn cut(&mut self, at: Lsn) -> Result<(), Trouble> {
        // Sessions are ended before what they have seen is taken away, and so are those whose transactions outlived the role.
        self.reader = None;
        self.open.clear();
        if at < self.db.store().stable() {
            self.met.push("rows cut that were seen");
        } else if at < self.db.applied() {
            self.met.push("rows taken back");
        }
        self.db.cut(at)?;
        self.known.retain(|commit| commit.end <= at);
        self.made.clear();
        self.streams.clear();
        self.doubts = doubt::Doubts::default();
        self.source = None;
        Ok(())
    }

    fn checkpoint(&mut self, _: bool) -> Result<(), Trouble> {
        self.read_log()?;
        self.db.checkpoint()?;
        Ok(())
    }

    fn image(&mut self) -> Result<Option<Image>, Trouble> {
        self.read_log()?;
        let streams = 1 + self.dice.below(3) as usize;
        let source = SeedSource::open(&self.db, "seeding", streams)?;
        let mut chunks = Vec::new();
        for stream in 0..source.info().streams() {
            let mut after = Some(Vec::new());
            while let Some(from) = after {
                let (chunk, next) = source.chunk(stream, &from, CHUNK_BYTES)?;
                chunks.push(chunk);
                after = next;
            }
        }
        let info = source.info().encode();
        Ok(Some(Image::Real(Arc::new(RealImage { info, chunks }))))
    }

    fn hold(&mut self, keep: &[(String, Lsn)]) {
        for (holder, lsn) in keep {
            let kept = self.held.get(holder).copied().unwrap_or(self.log.truncated());
            let lsn = if *lsn == Lsn::ZERO { kept } else { *lsn };
            // Refused when it lags too far: it finds out when it asks for the log.
            let _ = self.db.hold_log(holder, lsn);
            self.held.insert(holder.clone(), lsn);
        }
        let (db, wanted) = (&self.db, |name: &String| keep.iter().any(|(holder, _)| holder == name));
        self.held.retain(|holder, _| {
            if !wanted(holder) {
                db.release_log(holder);
            }
            wanted(holder)
        });
    }

    fn real(&mut self) -> Option<&mut Real> {
        Some(self)
    }
}
