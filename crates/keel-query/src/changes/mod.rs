//! Change tracking: which rows of a table were changed since a version, for those who keep a copy of them.
//!
//! ```text
//!   statement ──► tree of the table's changes   transaction ++ number → what, columns, context, primary key
//!             └─► the same by key               primary key ++ transaction ++ number → nothing
//!   commit    ──► tree of versions              version → transaction, time       (0 → the newest version cleaned up)
//!             └─► tree of transactions          transaction → version
//! ```
//!
//! A change is written with its statement, when its version cannot be known yet: a transaction that began later may commit
//! first. So it goes under a number of its transaction, and the version comes with the commit: who commits takes the next
//! version, writes it into the last two trees and appends the commit to the log, all of it under one lock. Versions are therefore in
//! the order of commits; every snapshot is a prefix of that order; so a reader that has seen version *v* has
//! seen all changes of versions up to *v*, and none of a higher one. Changes of a transaction without a version (running, or the
//! reader's own) are not shown.
//!
//! All four are ordinary trees of the database, written through its log by the transactions themselves: recovery, copies, backups and
//! failovers know nothing of them. They are read in the statement's snapshot, the same in which it reads tables, under SNAPSHOT in the
//! transaction's; never under locks, which would wait for writers whose changes are not shown anyway.
//!
//! What is asked for is *net*: a row once, with its last version. `net` has the rules.
//!
//! Deliberately absent: the values of changed rows, and rows of tables that are no longer tracked.

mod net;
mod tables;

pub(crate) use tables::key_columns;
pub use tables::{ChangesTable, RowVersionTable};

use crate::catalog::{ChangeTrackingDef, ChangeTrees};
use keel_base::TreeId;
use keel_node::{Direction, Isolation, ReadView, RowRef, Transaction, TxnError};
use keel_store::row::{self, RowBuilder};
use std::ops::Bound;

/// Length of a transaction's number, of a change's and of a version, in keys.
const NUMBER_LEN: usize = 8;
/// The key in the tree of versions under which the newest version that was cleaned up stands.
const CLEANED: [u8; NUMBER_LEN] = [0; NUMBER_LEN];

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It came.
    Insert = b'I' as isize,
    /// It was replaced under its key.
    Update = b'U' as isize,
    /// It went.
    Delete = b'D' as isize,
}

/// A change as it is stored: `kind`, the `column_id`s that were assigned (none: any may have been), the context, the key's bytes,
/// then the key's values.
#[derive(Clone, Copy, Debug)]
struct Stored<'a> {
    kind: ChangeKind,
    columns: Option<&'a [u8]>,
    context: Option<&'a [u8]>,
    key: &'a [u8],
}

/// Columns of a stored change before the key's values.
pub(crate) const FIRST_VALUE: usize = 4;

impl<'a> Stored<'a> {
    /// `None` when it is of a form that nobody writes.
    fn read(bytes: &'a [u8]) -> Option<Stored<'a>> {
        let kind = match row::column(bytes, 0)? {
            b"I" => ChangeKind::Insert,
            b"U" => ChangeKind::Update,
            b"D" => ChangeKind::Delete,
            _ => return None,
        };
        let (columns, context) = (row::column(bytes, 1), row::column(bytes, 2));
        Some(Stored { kind, columns, context, key: row::column(bytes, 3)? })
    }
}

/// The number at the beginning of bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.get(..NUMBER_LEN).and_then(|b| b.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// Where keys that begin with `prefix` end; the prefixes here never end in the highest number there is.
fn after(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

/// Writes one change. `key` are the primary key's bytes, `stamp` the transaction's number and the change's.
pub(crate) fn write(
    txn: &mut Transaction,
    def: &ChangeTrackingDef,
    stamp: (u64, u64),
    key: &[u8],
    stored: &[u8],
) -> Result<(), TxnError> {
    let mut own = [0; 2 * NUMBER_LEN];
    own[..NUMBER_LEN].copy_from_slice(&stamp.0.to_be_bytes());
    own[NUMBER_LEN..].copy_from_slice(&stamp.1.to_be_bytes());
    txn.put_index(def.changes, &own, stored)?;
    let by_key = [key, own.as_slice()].concat();
    txn.put_index(def.by_key, &by_key, &RowBuilder::build(&[]))
}

/// The newest version that is committed, whether or not it may be shown already. The caller keeps others from committing a new one.
pub fn newest(txn: &mut Transaction, trees: ChangeTrees) -> Result<u64, TxnError> {
    // Without locks: nobody waits for one here, and who commits under SERIALIZABLE leaves none behind. Nothing that is not
    // committed is met but what the clean-up is about to remove, and then the same version stands as the last one cleaned up.
    let view = txn.view_as(Isolation::ReadUncommitted);
    let all = Bound::Unbounded;
    let mut last = txn.scan(&view, trees.versions, all, all, Direction::Reverse)?;
    Ok(last.next()?.map_or(0, |(key, row)| version_of(key, &row)))
}

fn version_of(key: &[u8], row: &[u8]) -> u64 {
    match number(key) {
        0 => row::column(row, 0).map_or(0, number),
        version => version,
    }
}

/// Gives a transaction that is about to commit the next version. The caller keeps others from doing so until it has committed.
pub fn give_version(
    txn: &mut Transaction,
    trees: ChangeTrees,
    transaction: u64,
    now_utc: i64,
) -> Result<u64, TxnError> {
    let version = newest(txn, trees)? + 1;
    let (transaction, key) = (transaction.to_be_bytes(), version.to_be_bytes());
    let row = RowBuilder::build(&[Some(&transaction), Some(&now_utc.to_be_bytes())]);
    txn.put_index(trees.versions, &key, &row)?;
    txn.put_index(trees.transactions, &transaction, &RowBuilder::build(&[Some(&key)]))?;
    Ok(version)
}

/// Versions as one snapshot shows them.
pub struct Versions<'t> {
    txn: &'t Transaction,
    view: ReadView,
    trees: ChangeTrees,
}

/// A version: its number, transaction and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number.
    pub number: u64,
    /// Number of the transaction.
    pub transaction: u64,
    /// When it committed, UTC in ticks of 100 ns.
    pub at: i64,
}

impl<'t> Versions<'t> {
    /// As they are now.
    pub fn new(txn: &'t mut Transaction, trees: ChangeTrees) -> Versions<'t> {
        let view = txn.view_as(Isolation::ReadCommitted);
        Versions { txn, view, trees }
    }

    /// As a view shows them.
    pub fn at(txn: &'t Transaction, view: ReadView, trees: ChangeTrees) -> Versions<'t> {
        Versions { txn, view, trees }
    }

    /// Returns when none of them can be given again, to another transaction: they are durable.
    pub fn settle(&self) -> Result<(), TxnError> {
        self.txn.settle(&self.view)
    }

    /// The newest.
    pub fn current(&self) -> Result<u64, TxnError> {
        let (all, back) = (Bound::Unbounded, Direction::Reverse);
        let mut last = self.txn.scan(&self.view, self.trees.versions, all, all, back)?;
        Ok(last.next()?.map_or(0, |(key, row)| version_of(key, &row)))
    }

    /// The newest one whose changes were cleaned up; 0 when none were.
    pub fn cleaned(&self) -> Result<u64, TxnError> {
        let row = self.txn.get(&self.view, self.trees.versions, &CLEANED)?;
        Ok(row.and_then(|row| row::column(&row, 0).map(number)).unwrap_or(0))
    }

    /// Those after `since`, so many at most.
    pub fn after(&self, since: u64, versions_max: usize) -> Result<Vec<Version>, TxnError> {
        let lower = since.to_be_bytes();
        let lower = if since == 0 { Bound::Excluded(&CLEANED[..]) } else { Bound::Excluded(&lower[..]) };
        let tree = self.trees.versions;
        let mut cursor = self.txn.scan(&self.view, tree, lower, Bound::Unbounded, Direction::Forward)?;
        let mut versions = Vec::new();
        while versions.len() < versions_max
            && let Some((key, row)) = cursor.next()?
        {
            let transaction = row::column(&row, 0).map_or(0, number);
            let at = row::column(&row, 1).map_or(0, number) as i64;
            versions.push(Version { number: number(key), transaction, at });
        }
        Ok(versions)
    }

    /// The version of a transaction, if it has one.
    pub fn of(&self, transaction: u64) -> Result<Option<u64>, TxnError> {
        let row = self.txn.get(&self.view, self.trees.transactions, &transaction.to_be_bytes())?;
        Ok(row.and_then(|row| row::column(&row, 0).map(number)))
    }

    /// Who knows a version before this one of a table has to read all of it again.
    pub fn least_valid(&self, def: &ChangeTrackingDef) -> Result<u64, TxnError> {
        let restarted = match def.restarted_by {
            Some(transaction) => self.of(transaction)?.unwrap_or(0),
            None => 0,
        };
        Ok(def.begin.max(restarted).max(self.cleaned()?))
    }

    /// Rows of a tree whose keys begin with `prefix`.
    fn each(
        &self,
        tree: TreeId,
        prefix: &[u8],
        take: impl FnMut(&[u8], RowRef) -> Result<(), TxnError>,
    ) -> Result<(), TxnError> {
        let end = after(prefix);
        self.range(tree, (Bound::Included(prefix), Bound::Excluded(&end)), take)
    }

    /// Changes of transactions whose numbers are between two, both taken in.
    fn between(
        &self,
        tree: TreeId,
        (least, greatest): (u64, u64),
        take: impl FnMut(&[u8], RowRef) -> Result<(), TxnError>,
    ) -> Result<(), TxnError> {
        let (lower, upper) = (least.to_be_bytes(), greatest.saturating_add(1).to_be_bytes());
        self.range(tree, (Bound::Included(&lower), Bound::Excluded(&upper)), take)
    }

    fn range(
        &self,
        tree: TreeId,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        mut take: impl FnMut(&[u8], RowRef) -> Result<(), TxnError>,
    ) -> Result<(), TxnError> {
        let mut cursor = self.txn.scan(&self.view, tree, lower, upper, Direction::Forward)?;
        while let Some((key, row)) = cursor.next()? {
            take(key, row)?;
        }
        Ok(())
    }
}

/// Removes what is kept of some versions, from the oldest: the changes of these tables and the versions themselves. Says up to
/// which version it has come and how many changes are gone; no more than about `changes_max` at once. Nobody else may clean meanwhile.
pub fn clean(
    txn: &mut Transaction,
    trees: ChangeTrees,
    tables: &[ChangeTrackingDef],
    before: i64,
    changes_max: usize,
) -> Result<(u64, usize), TxnError> {
    let old = {
        let versions = Versions::new(txn, trees);
        let cleaned = versions.cleaned()?;
        let all = versions.after(cleaned, changes_max)?;
        // A clock that was set back may have given a later version an earlier time: it goes with those before it.
        all.into_iter().take_while(|v| v.at < before).collect::<Vec<_>>()
    };
    let (mut removed, mut up_to) = (0, 0);
    for version in old {
        if removed >= changes_max {
            break;
        }
        let prefix = version.transaction.to_be_bytes();
        for def in tables {
            let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            Versions::new(txn, trees).each(def.changes, &prefix, |own, row| {
                let key = Stored::read(&row).map_or(&[][..], |change| change.key);
                found.push((own.to_vec(), [key, own].concat()));
                Ok(())
            })?;
            for (own, by_key) in &found {
                txn.delete_index(def.changes, own)?;
                txn.delete_index(def.by_key, by_key)?;
            }
            removed += found.len();
        }
        txn.delete_index(trees.versions, &version.number.to_be_bytes())?;
        txn.delete_index(trees.transactions, &prefix)?;
        up_to = version.number;
        removed += 1;
    }
    if up_to > 0 {
        let row = RowBuilder::build(&[Some(&up_to.to_be_bytes())]);
        txn.put_index(trees.versions, &CLEANED, &row)?;
    }
    Ok((up_to, removed))
}
