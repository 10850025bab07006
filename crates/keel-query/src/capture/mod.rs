//! Change data capture: the rows that changes of a table took away and brought, kept until they are told in the order of commits.
//!
//! ```text
//!   statement ──► staged rows of each instance   transaction ++ change ++ operation → row of the change table, without its LSNs
//!   commit    ──► tree of order                  number → transaction, changes, when and where it began, when it committed
//!                                                (0 → the greatest number that was told)
//!   telling   ──► change tables, by number       what was told leaves the other two in the same transaction
//! ```
//!
//! A row is staged by its statement, when nobody knows yet which of the running transactions commits first. Who commits takes a number
//! that is greater than every other's, writes it into the tree of order and appends the commit to the log, under one lock:
//! numbers are in the order of commits, and every snapshot is a prefix of that order. Whoever tells reads a snapshot from the smallest
//! number on that was not told, so that no number below one that was told is ever told later.
//!
//! All of this is written through the database's log by ordinary transactions: recovery, copies, backups and failovers know nothing
//! of it. Telling is the session layer's (`keel_sql::capture`); it alone knows what a number looks like as an LSN.
//!
//! Deliberately absent: who may read changes, how long they are kept, and positions of the log.

use crate::catalog::TableDef;
use crate::dml::target::index_entry;
use keel_base::TreeId;
use keel_node::{Direction, Isolation, ReadView, Transaction, TxnError};
use keel_store::row::{self, RowBuilder};
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlType, Value, column};
use std::ops::Bound;

/// Length of a number in keys.
const NUMBER_LEN: usize = 8;
/// Length of a staged row's key: its transaction's number, its change's and the operation.
const STAGED_LEN: usize = 2 * NUMBER_LEN + 1;
/// Rows that are read before they are moved.
const ROWS_MAX: usize = 1024;
/// The key in the tree of order under which the greatest number that was told stands.
const TOLD: [u8; NUMBER_LEN] = [0; NUMBER_LEN];
/// Columns of a change table before the captured ones: `__$start_lsn`, `__$end_lsn`, `__$seqval`, `__$operation`, `__$update_mask`.
pub const FIRST_CAPTURED: usize = 5;
/// Columns of a change table that are not captured ones: those, and `__$command_id` at the end.
pub const OWN_COLUMNS: usize = FIRST_CAPTURED + 1;

/// `__$operation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// The row went.
    Delete = 1,
    /// It came.
    Insert = 2,
    /// What it was before it was replaced.
    Before = 3,
    /// What it is since.
    After = 4,
}

/// Where a transaction stands among those with captured changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// Greater than of those that committed before.
    pub number: u64,
    /// Number of the transaction, by which its rows are staged.
    pub transaction: u64,
    /// How many changes it has, over all tables.
    pub changes: u64,
    /// Where the log ended when it made its first captured change.
    pub begun_at: u64,
    /// When it did, UTC in ticks of 100 ns.
    pub begun: i64,
    /// When it committed, UTC in ticks of 100 ns.
    pub ended: i64,
}

/// The number at the beginning of bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.get(..NUMBER_LEN).and_then(|b| b.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// The key of a staged row. `stamp` are its transaction's number and the change's.
pub(crate) fn staged_key(stamp: (u64, u64), operation: Operation) -> [u8; STAGED_LEN] {
    let mut key = [0; STAGED_LEN];
    key[..NUMBER_LEN].copy_from_slice(&stamp.0.to_be_bytes());
    key[NUMBER_LEN..STAGED_LEN - 1].copy_from_slice(&stamp.1.to_be_bytes());
    key[STAGED_LEN - 1] = operation as u8;
    key
}

/// Gives a transaction that is about to commit its place. The caller keeps others from doing so until it has committed.
pub fn put_in_order(txn: &mut Transaction, order: TreeId, of: &Ordered) -> Result<(), TxnError> {
    let parts = [of.transaction, of.changes, of.begun_at, of.begun as u64, of.ended as u64];
    let parts = parts.map(u64::to_be_bytes);
    let row = RowBuilder::build(&[Some(&parts.concat())]);
    txn.put_index(order, &of.number.to_be_bytes(), &row)
}

/// The greatest number in the tree of order, told or not. The caller keeps others from committing a new one.
pub fn newest(txn: &mut Transaction, order: TreeId) -> Result<u64, TxnError> {
    // Without locks: nothing that is not committed is met but what is being told, and then the same number stands as told.
    let view = txn.view_as(Isolation::ReadUncommitted);
    let all = Bound::Unbounded;
    let mut last = txn.scan(&view, order, all, all, Direction::Reverse)?;
    Ok(last.next()?.map_or(0, |(key, row)| match number(key) {
        0 => row::column(&row, 0).map_or(0, number),
        newest => newest,
    }))
}

/// The greatest number that was told.
pub fn told(txn: &Transaction, view: &ReadView, order: TreeId) -> Result<u64, TxnError> {
    let row = txn.get(view, order, &TOLD)?;
    Ok(row.and_then(|row| row::column(&row, 0).map(number)).unwrap_or(0))
}

/// The transactions after a number, in their order, so many at most.
pub fn after(
    txn: &Transaction,
    view: &ReadView,
    order: TreeId,
    told: u64,
    transactions_max: usize,
) -> Result<Vec<Ordered>, TxnError> {
    let lower = told.to_be_bytes();
    let (lower, upper) = (Bound::Excluded(&lower[..]), Bound::Unbounded);
    let mut cursor = txn.scan(view, order, lower, upper, Direction::Forward)?;
    let mut found = Vec::new();
    while found.len() < transactions_max
        && let Some((key, row)) = cursor.next()?
    {
        let parts = row::column(&row, 0).unwrap_or_default();
        let part = |n: usize| parts.get(n * NUMBER_LEN..).map_or(0, number);
        found.push(Ordered {
            number: number(key),
            transaction: part(0),
            changes: part(1),
            begun_at: part(2),
            begun: part(3) as i64,
            ended: part(4) as i64,
        });
    }
    Ok(found)
}

/// Takes what was told out of the tree of order.
pub fn forget(txn: &mut Transaction, order: TreeId, told: &[Ordered]) -> Result<(), TxnError> {
    let Some(last) = told.last() else { return Ok(()) };
    for of in told {
        txn.delete_index(order, &of.number.to_be_bytes())?;
    }
    txn.put_index(order, &TOLD, &RowBuilder::build(&[Some(&last.number.to_be_bytes())]))
}

/// A change table as the one who tells sees it.
pub struct ChangeTable<'t> {
    /// Its definition.
    pub table: &'t TableDef,
    /// Where rows for it are staged.
    pub staged: TreeId,
}

impl ChangeTable<'_> {
    /// Moves the rows that a transaction staged into the table; says how many they were. `start` is the transaction's LSN, `sequence`
    /// makes a change's from its number in the transaction.
    pub fn tell(
        &self,
        txn: &mut Transaction,
        of: &Ordered,
        start: &Value,
        sequence: &dyn Fn(u64) -> Value,
    ) -> Result<usize, TxnError> {
        let end = (of.transaction + 1).to_be_bytes();
        let view = txn.view_as(Isolation::ReadCommitted);
        let (mut last, mut told) = (of.transaction.to_be_bytes().to_vec(), 0);
        loop {
            // A transaction may have more rows than memory holds.
            let mut found = Vec::new();
            {
                let (lower, upper) = (Bound::Excluded(&last[..]), Bound::Excluded(&end[..]));
                let mut cursor = txn.scan(&view, self.staged, lower, upper, Direction::Forward)?;
                while found.len() < ROWS_MAX
                    && let Some((key, row)) = cursor.next()?
                {
                    found.push((key.to_vec(), row));
                }
            }
            for (staged, row) in &found {
                let change = staged.get(NUMBER_LEN..).map_or(0, number);
                self.tell_row(txn, row, start, &sequence(change))?;
                txn.delete_index(self.staged, staged)?;
            }
            told += found.len();
            match found.pop() {
                Some((staged, _)) => last = staged,
                None => return Ok(told),
            }
        }
    }

    fn tell_row(
        &self,
        txn: &mut Transaction,
        staged: &[u8],
        start: &Value,
        sequence: &Value,
    ) -> Result<(), TxnError> {
        let count = row::count(staged);
        let mut built = RowBuilder::new();
        built.clear(count);
        for (at, stored) in row::Row::new(staged).columns().enumerate() {
            match at {
                0 => built.push_with(|out| column::encode(start, &LSN, out)),
                2 => built.push_with(|out| column::encode(sequence, &LSN, out)),
                _ => built.push(stored),
            }
        }
        insert(txn, self.table, built.finish())
    }
}

/// `binary(10)`
const LSN: SqlType = SqlType::Binary(10);

/// Adds a row to a table whose clustered index is unique, and to its other indexes. Nothing else of the table is looked at: there are
/// no constraints, triggers and filtered indexes on tables that are told to.
pub fn insert(txn: &mut Transaction, table: &TableDef, stored: &[u8]) -> Result<(), TxnError> {
    let mut bytes = Vec::new();
    for part in &table.clustered().key {
        let Some(at) = table.column_index(part.column_id) else { continue };
        let c = &table.columns[at];
        let value = row::column(stored, usize::from(c.ordinal));
        let value = value.map_or(Value::Null, |bytes| column::decode(bytes, &c.ty));
        let part = KeyColumn { ty: c.ty, collation: c.collation, descending: part.descending };
        key::append(&mut bytes, &value, &part);
    }
    txn.insert(table.clustered().tree, &bytes, stored)?;
    for index in table.indexes[1..].iter().filter(|index| !index.disabled) {
        let (key, entry) = index_entry(table, index, &bytes, stored);
        match index.unique {
            true => txn.insert(index.tree, &key, &entry)?,
            false => txn.put_index(index.tree, &key, &entry)?,
        }
    }
    Ok(())
}

/// A stored row of these values, in the order of a table's columns.
#[must_use]
pub fn stored_row(table: &TableDef, values: &[Value]) -> Vec<u8> {
    let mut built = RowBuilder::new();
    built.clear(values.len());
    for (c, value) in table.columns.iter().zip(values) {
        match value {
            Value::Null => built.push_null(),
            value => built.push_with(|out| column::encode(value, &c.ty, out)),
        }
    }
    built.finish().to_vec()
}
