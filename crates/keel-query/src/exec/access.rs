//! Reading stored tables: scans, seeks and point lookups, with or without locks.
//!
//! A plain read looks at the statement's view. A locking read (targets of UPDATE and DELETE, UPDLOCK, REPEATABLE READ …)
//! looks at the newest committed rows: a row that seems to qualify is locked, read again and checked again, because it
//! may have changed while the lock was waited for.

mod escalation;
mod range;

pub(crate) use escalation::ESCALATION_ROWS;
pub(crate) use range::range_of;

use super::Operator;
use super::cx::Cx;
use super::io::{PAGE_BYTES, TREE_DEPTH};
use super::node::{Access, Bounds, Decode, Lookup};
use super::parallel::Morsels;
use crate::context::IsolationLevel;
use crate::errors::Result;
use crate::usage::Reads;
use keel_base::waits::lock_waits;
use keel_node::{Cursor, Direction, LockMode, RowRef};
use keel_store::row::Row;
use keel_types::{Value, column, key};
use range::{Range, append_part};
use std::ops::Bound;
use std::sync::Arc;

/// How a table is read in this execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The statement's view.
    View,
    /// Newest committed rows under locks of this mode.
    Locked(LockMode),
}

/// Decodes columns of a stored row into their slots.
#[inline]
pub(crate) fn decode_into(row: &[u8], columns: &[Decode], slots: &mut [Value]) {
    let row = Row::new(row);
    let count = row.count();
    for c in columns {
        slots[c.slot] = match row.column(c.ordinal) {
            Some(bytes) => column::decode(bytes, &c.ty),
            None if c.ordinal >= count => c.missing.clone(),
            None => Value::Null,
        };
    }
}

/// Table or index access.
pub struct AccessOp {
    node: Arc<Access>,
    state: State,
}

/// What changes while it runs. Apart from the node, so that a row costs no reference counting on the shared plan.
struct State {
    mode: Mode,
    cursor: Option<Cursor>,
    range: Range,
    /// The parts of the range, where others take some of them.
    parts: Option<Arc<Morsels>>,
    /// Remaining keys of an IN list, last first.
    pending: Vec<Vec<u8>>,
    point_pending: bool,
    key: Vec<u8>,
    base_key: Vec<u8>,
    /// What it did since it was opened first.
    reads: Reads,
    /// At so many locks of rows the table's is asked for.
    asks_at: u64,
}

impl AccessOp {
    /// An operator for this access.
    #[must_use]
    pub fn new(node: Arc<Access>) -> AccessOp {
        let state = State {
            mode: Mode::View,
            cursor: None,
            range: Range::default(),
            parts: None,
            pending: Vec::new(),
            point_pending: false,
            key: Vec::new(),
            base_key: Vec::new(),
            reads: Reads::default(),
            asks_at: ESCALATION_ROWS,
        };
        AccessOp { node, state }
    }
}

impl State {
    fn mode(node: &Access, cx: &Cx<'_>) -> Mode {
        if let Some(m) = node.lock {
            return Mode::Locked(m);
        }
        let level = if node.serializable {
            IsolationLevel::Serializable
        } else if node.repeatable {
            IsolationLevel::RepeatableRead
        } else if node.versioned {
            IsolationLevel::ReadCommitted
        } else {
            cx.session.isolation()
        };
        match level {
            IsolationLevel::RepeatableRead | IsolationLevel::Serializable => Mode::Locked(LockMode::Shared),
            _ => Mode::View,
        }
    }

    fn serializable(node: &Access, cx: &Cx<'_>) -> bool {
        node.serializable
            || (!node.versioned && !node.repeatable && cx.session.isolation() == IsolationLevel::Serializable)
    }

    /// Opens the next part of the range that nobody reads; false when there is none.
    fn next_part(&mut self, node: &Access, cx: &mut Cx<'_>) -> Result<bool> {
        let Some((low, high)) = self.parts.as_ref().and_then(|parts| parts.take(node.backward)) else {
            return Ok(false);
        };
        let (txn, view) = cx.view(node.database, node.view)?;
        let direction = if node.backward { Direction::Reverse } else { Direction::Forward };
        let opened = txn.scan(view, node.tree, low, high, direction);
        self.cursor = Some(opened.map_err(|e| cx.storage_error(&e))?);
        Ok(true)
    }

    fn open_cursor(&mut self, node: &Access, cx: &mut Cx<'_>) -> Result<()> {
        if self.range.is_empty() {
            self.cursor = None;
            return Ok(());
        }
        let (low, high) = self.range.bounds();
        let direction = if node.backward { Direction::Reverse } else { Direction::Forward };
        let serializable = Self::serializable(node, cx);
        self.reads.ranges += 1;
        let opened = match self.mode {
            Mode::View => {
                let (txn, view) = cx.view(node.database, node.view)?;
                txn.scan(view, node.tree, low, high, direction)
            }
            Mode::Locked(m) => {
                let txn = cx.txn(node.database)?;
                let at_once = serializable && !node.stepwise;
                let locked = if at_once { txn.lock_range(node.tree, low, high, m) } else { Ok(()) };
                let opened = locked.and_then(|()| txn.scan_latest(node.tree, low, high, direction));
                if node.skip_locked { opened.map(keel_node::Cursor::skipping_locked) } else { opened }
            }
        };
        self.cursor = Some(opened.map_err(|e| cx.storage_error(&e))?);
        Ok(())
    }

    /// Locks the range from where the scan stands to the next key, then reads that key again: what came in between
    /// meanwhile is found first. The cursor stands behind the key returned in `self.key`.
    fn step(&mut self, node: &Access, cx: &mut Cx<'_>, m: LockMode) -> Result<Option<RowRef>> {
        let direction = if node.backward { Direction::Reverse } else { Direction::Forward };
        let (low, high) = self.range.bounds();
        let txn = cx.txn(node.database)?;
        let stepped = (|| {
            let mut peek = txn.scan_latest(node.tree, low, high, direction)?;
            let near = match peek.next()? {
                Some((key, _)) => key.to_vec(),
                None => {
                    txn.lock_range(node.tree, low, high, m)?;
                    let mut again = txn.scan_latest(node.tree, low, high, direction)?;
                    return Ok(again.next()?.map(|(k, row)| (k.to_vec(), row)));
                }
            };
            drop(peek);
            let (from, to) = if node.backward {
                (Bound::Included(&near[..]), high)
            } else {
                (low, Bound::Included(&near[..]))
            };
            txn.lock_range(node.tree, from, to, m)?;
            let mut again = txn.scan_latest(node.tree, low, high, direction)?;
            Ok(again.next()?.map(|(k, row)| (k.to_vec(), row)))
        })();
        let found = stepped.map_err(|e: keel_node::TxnError| cx.storage_error(&e))?;
        let Some((key, row)) = found else { return Ok(None) };
        self.range.leave(&key, node.backward);
        self.key = key;
        Ok(Some(row))
    }

    /// Fetches `self.key` from the tree and checks it.
    fn point(&mut self, node: &Access, cx: &mut Cx<'_>) -> Result<bool> {
        self.reads.points += 1;
        match self.mode {
            Mode::View => {
                let (txn, view) = cx.view(node.database, node.view)?;
                let row = match txn.get(view, node.tree, &self.key) {
                    Ok(Some(row)) => row,
                    Ok(None) => return Ok(false),
                    Err(e) => return Err(cx.storage_error(&e)),
                };
                self.viewed(node, cx, row)
            }
            Mode::Locked(m) => {
                if Self::serializable(node, cx) {
                    let mut high = self.key.clone();
                    high.push(0);
                    let txn = cx.txn(node.database)?;
                    let locked =
                        txn.lock_range(node.tree, Bound::Included(&self.key), Bound::Excluded(&high), m);
                    locked.map_err(|e| cx.storage_error(&e))?;
                }
                if node.lookup.is_none() && node.base_tree.is_none() {
                    return self.lock_and_check(node, cx, m);
                }
                let txn = cx.txn(node.database)?;
                let before = lock_waits();
                let newest = txn.get_latest(node.tree, &self.key);
                self.reads.lock_waits += lock_waits() - before;
                match newest {
                    Ok(Some(row)) => self.locked(node, cx, row, m),
                    Ok(None) => Ok(false),
                    Err(e) => Err(cx.storage_error(&e)),
                }
            }
        }
    }

    /// Decodes and checks a row of the view; follows the lookup.
    fn viewed(&mut self, node: &Access, cx: &mut Cx<'_>, row: RowRef) -> Result<bool> {
        let mut decoded = 0;
        for test in &node.tests {
            if test.decoded > decoded {
                decode_into(&row, &node.decode[decoded..test.decoded], &mut cx.slots);
                decoded = test.decoded;
            }
            if !test.pred.test(cx)? {
                return Ok(false);
            }
        }
        if decoded < node.decode.len() {
            decode_into(&row, &node.decode[decoded..], &mut cx.slots);
        }
        let Some(lookup) = &node.lookup else {
            let key = std::mem::take(&mut self.key);
            expose(node, cx, &key, row);
            self.key = key;
            return Ok(true);
        };
        let base_key = last_column(&row);
        self.reads.lookups += 1;
        let (txn, view) = cx.view(node.database, node.view)?;
        let base = match txn.get(view, lookup.tree, base_key) {
            Ok(Some(base)) => base,
            Ok(None) => return Ok(false),
            Err(e) => return Err(cx.storage_error(&e)),
        };
        decode_into(&base, &lookup.decode, &mut cx.slots);
        if let Some(p) = &lookup.residual
            && !p.test(cx)?
        {
            return Ok(false);
        }
        expose(node, cx, base_key, base);
        Ok(true)
    }

    /// A candidate of a locking read, found under `self.key` in the scanned tree.
    fn locked(&mut self, node: &Access, cx: &mut Cx<'_>, row: RowRef, m: LockMode) -> Result<bool> {
        decode_into(&row, &node.decode, &mut cx.slots);
        if !holds(node, cx)? {
            return Ok(false);
        }
        match (&node.lookup, node.base_tree) {
            (None, Some(base)) => self.lock_base(node, cx, base, &row, m),
            (None, None) => self.lock_and_check(node, cx, m),
            (Some(lookup), _) => self.lock_and_look_up(cx, node, lookup, &row, m),
        }
    }

    /// A covering index entry: the row it stands for is locked, then the entry must still be there.
    fn lock_base(
        &mut self,
        node: &Access,
        cx: &mut Cx<'_>,
        base: keel_base::TreeId,
        entry: &RowRef,
        m: LockMode,
    ) -> Result<bool> {
        self.base_key.clear();
        self.base_key.extend_from_slice(last_column(entry));
        let txn = cx.txn(node.database)?;
        let found = lock_row(node, txn, (base, &self.base_key), m, &mut self.reads)
            .and_then(|locked| if locked { txn.get_latest(node.tree, &self.key) } else { Ok(None) });
        let Some(row) = found.map_err(|e| cx.storage_error(&e))? else { return Ok(false) };
        decode_into(&row, &node.decode, &mut cx.slots);
        if !holds(node, cx)? {
            unlock_row(node, cx, base, &self.base_key)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Locks the clustered row under `self.key` and checks its newest version.
    fn lock_and_check(&mut self, node: &Access, cx: &mut Cx<'_>, m: LockMode) -> Result<bool> {
        let txn = cx.txn(node.database)?;
        let row = lock_row(node, txn, (node.tree, &self.key), m, &mut self.reads)
            .and_then(|locked| if locked { txn.get_latest(node.tree, &self.key) } else { Ok(None) });
        let Some(row) = row.map_err(|e| cx.storage_error(&e))? else { return Ok(false) };
        decode_into(&row, &node.decode, &mut cx.slots);
        if !holds(node, cx)? {
            unlock_row(node, cx, node.tree, &self.key)?;
            return Ok(false);
        }
        let key = std::mem::take(&mut self.key);
        expose(node, cx, &key, row);
        self.key = key;
        Ok(true)
    }

    fn lock_and_look_up(
        &mut self,
        cx: &mut Cx<'_>,
        node: &Access,
        lookup: &Lookup,
        entry: &RowRef,
        m: LockMode,
    ) -> Result<bool> {
        self.base_key.clear();
        self.base_key.extend_from_slice(last_column(entry));
        self.reads.lookups += 1;
        let txn = cx.txn(node.database)?;
        let found =
            lock_row(node, txn, (lookup.tree, &self.base_key), m, &mut self.reads).and_then(|locked| {
                if !locked {
                    return Ok(None);
                }
                // The index entry may have moved while we waited: then the row no longer satisfies the seek.
                if txn.get_latest(node.tree, &self.key)?.is_none() {
                    return Ok(None);
                }
                txn.get_latest(lookup.tree, &self.base_key)
            });
        let Some(base) = found.map_err(|e| cx.storage_error(&e))? else { return Ok(false) };
        decode_into(&base, &lookup.decode, &mut cx.slots);
        let keep = match &lookup.residual {
            Some(p) => p.test(cx)?,
            None => true,
        };
        if !keep {
            // The range is the index's: nothing else keeps others from changing the row into one that qualifies.
            if !Self::serializable(node, cx) {
                unlock_row(node, cx, lookup.tree, &self.base_key)?;
            }
            return Ok(false);
        }
        expose(node, cx, &self.base_key, base);
        Ok(true)
    }

    fn start_in_list(&mut self, node: &Access, cx: &mut Cx<'_>) -> Result<()> {
        let Bounds::In { prefix, items, column, .. } = &node.bounds else { return Ok(()) };
        self.pending.clear();
        self.key.clear();
        for part in prefix {
            if !append_part(part, cx, &mut self.key)? {
                return Ok(());
            }
        }
        for item in items {
            let mut k = self.key.clone();
            let present = item.with(cx, |v| {
                key::append(&mut k, v, column);
                !matches!(v, Value::Null)
            })?;
            if present {
                self.pending.push(k);
            }
        }
        self.pending.sort_unstable();
        self.pending.dedup();
        if !node.backward {
            self.pending.reverse();
        }
        Ok(())
    }
}

/// Whether the row in the frame, all of it, passes the conditions.
fn holds(node: &Access, cx: &mut Cx<'_>) -> Result<bool> {
    for test in &node.tests {
        if !test.pred.test(cx)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Locks a row; false when READPAST lets it be.
fn lock_row(
    node: &Access,
    txn: &mut keel_node::Transaction,
    (tree, key): (keel_base::TreeId, &[u8]),
    mode: LockMode,
    reads: &mut Reads,
) -> std::result::Result<bool, keel_node::TxnError> {
    if locks_table_alone(node) {
        return Ok(true);
    }
    reads.row_locks += u64::from(txn.locks_rows(tree, mode));
    if node.skip_locked {
        return txn.try_lock_row(tree, key, mode);
    }
    let before = lock_waits();
    let locked = txn.lock_row(tree, key, mode);
    reads.lock_waits += lock_waits() - before;
    locked?;
    if node.decisive {
        txn.depend_on_row(tree, key)?;
    }
    Ok(true)
}

/// Whether rows that are only read need no locks beside the table's, under which nobody changes them.
fn locks_table_alone(node: &Access) -> bool {
    let stands_for_rows = match node.table_lock {
        Some(LockMode::Exclusive) => true,
        Some(LockMode::Shared) => !node.decisive,
        _ => false,
    };
    node.lock.is_none() && stands_for_rows
}

/// Gives the lock of a row back that did not qualify.
fn unlock_row(node: &Access, cx: &mut Cx<'_>, tree: keel_base::TreeId, key: &[u8]) -> Result<()> {
    if !locks_table_alone(node) {
        cx.txn(node.database)?.unlock_row(tree, key);
    }
    Ok(())
}

/// Runs part of an access under NOWAIT: without waiting for locks.
fn patient<T>(node: &Access, cx: &mut Cx<'_>, f: impl FnOnce(&mut Cx<'_>) -> Result<T>) -> Result<T> {
    let txn = cx.txn(node.database)?;
    let timeout = txn.lock_timeout();
    txn.set_lock_timeout(Some(std::time::Duration::ZERO));
    let result = f(cx);
    cx.txn(node.database)?.set_lock_timeout(timeout);
    result
}

impl Operator for AccessOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        if !self.node.no_wait {
            return self.start(cx);
        }
        let node = Arc::clone(&self.node);
        patient(&node, cx, |cx| self.start(cx))
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.node.no_wait {
            return self.advance(cx);
        }
        let node = Arc::clone(&self.node);
        patient(&node, cx, |cx| self.advance(cx))
    }

    fn close(&mut self) {
        self.state.cursor = None;
        self.state.parts = None;
        self.state.pending.clear();
        self.count();
    }
}

impl Drop for AccessOp {
    fn drop(&mut self) {
        self.count();
    }
}

impl AccessOp {
    /// Tells the indexes' counters what it did since it was opened first.
    fn count(&mut self) {
        let reads = std::mem::take(&mut self.state.reads);
        if reads.began == 0 {
            return;
        }
        if let Some(uses) = &self.node.uses {
            uses.read(&reads, !matches!(self.node.bounds, Bounds::All));
        }
        if let Some(uses) = &self.node.base_uses {
            uses.fetched(&reads);
        }
    }

    fn start(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let Self { node, state } = self;
        let parts = cx.together().and_then(|together| together.parts_of(node));
        let node = &**node;
        cx.bytes_read += TREE_DEPTH * PAGE_BYTES;
        if let Some(io) = cx.io() {
            io.scan(node);
        }
        if state.reads.began == 0 && node.uses.is_some() {
            state.reads.began = cx.session.about_now_local();
            state.reads.helps = cx.helps();
        }
        state.mode = State::mode(node, cx);
        if matches!(state.mode, Mode::Locked(_)) && cx.txn(node.database)?.reads_a_point() {
            // On a secondary redo takes no locks, so that only a view is of one moment.
            state.mode = Mode::View;
        }
        state.parts = None;
        state.cursor = None;
        state.point_pending = false;
        if let Some(m) = node.table_lock {
            let (object, txn) = (node.object, cx.txn(node.database)?);
            txn.lock_table(object, m).map_err(|e| cx.storage_error(&e))?;
        } else if let Mode::Locked(m) = state.mode {
            // Row locks stand under an intent lock, or a table lock of another session would not see them.
            let intent = match m {
                LockMode::Shared => LockMode::IntentShared,
                _ => LockMode::IntentExclusive,
            };
            let (object, txn) = (node.object, cx.txn(node.database)?);
            txn.lock_table(object, intent).map_err(|e| cx.storage_error(&e))?;
        }
        match &node.bounds {
            Bounds::Point(parts) => {
                state.key.clear();
                for part in parts {
                    if !append_part(part, cx, &mut state.key)? {
                        return Ok(());
                    }
                }
                state.point_pending = true;
            }
            Bounds::Row(locator) => {
                let key = &mut state.key;
                state.point_pending = locator.with(cx, |v| {
                    let Value::Bytes(bytes) = v else { return false };
                    key.clear();
                    key.extend_from_slice(bytes);
                    true
                })?;
            }
            Bounds::In { .. } => state.start_in_list(node, cx)?,
            Bounds::All | Bounds::Range { .. } if parts.is_some() => {
                state.reads.ranges += u64::from(!state.reads.helps);
                state.parts = parts;
            }
            Bounds::All | Bounds::Range { .. } => {
                if state.range.compute(node, &mut state.key, cx)? {
                    state.open_cursor(node, cx)?;
                }
            }
        }
        Ok(())
    }

    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Self { node, state } = self;
        let node = &**node;
        if state.reads.row_locks >= state.asks_at {
            state.ask_for_table(node, cx)?;
        }
        if state.point_pending {
            state.point_pending = false;
            return state.point(node, cx);
        }
        loop {
            if let (true, Some(_), Mode::Locked(m)) = (node.stepwise, &state.cursor, state.mode)
                && State::serializable(node, cx)
            {
                match state.step(node, cx, m)? {
                    Some(row) => {
                        if state.locked(node, cx, row, m)? {
                            return Ok(true);
                        }
                    }
                    None => state.cursor = None,
                }
                continue;
            }
            if let Some(cursor) = &mut state.cursor {
                cx.tick()?;
                // A scan of the newest rows waits for those whom it meets changing them.
                let before = lock_waits();
                let next = cursor.next();
                state.reads.lock_waits += lock_waits() - before;
                match next {
                    Ok(Some((key, row))) => {
                        cx.bytes_read += row.len() as u64;
                        if let Some(io) = cx.io() {
                            io.row(node, row.len());
                        }
                        let qualifies = match state.mode {
                            Mode::View => {
                                if node.needs_key {
                                    state.key.clear();
                                    state.key.extend_from_slice(key);
                                }
                                state.viewed(node, cx, row)?
                            }
                            Mode::Locked(m) => {
                                state.key.clear();
                                state.key.extend_from_slice(key);
                                state.locked(node, cx, row, m)?
                            }
                        };
                        if qualifies {
                            return Ok(true);
                        }
                    }
                    Ok(None) => state.cursor = None,
                    Err(e) => return Err(cx.storage_error(&e)),
                }
                continue;
            }
            if state.parts.is_some() && state.next_part(node, cx)? {
                continue;
            }
            let Some(k) = state.pending.pop() else { return Ok(false) };
            if matches!(node.bounds, Bounds::In { unique: true, .. }) {
                state.key = k;
                if state.point(node, cx)? {
                    return Ok(true);
                }
            } else {
                state.range = Range::of_prefix(k);
                state.open_cursor(node, cx)?;
            }
        }
    }
}

/// Hands the clustered key and row to whoever changes it, or the row to whoever decodes columns of it.
#[inline]
fn expose(node: &Access, cx: &mut Cx<'_>, key: &[u8], row: RowRef) {
    if let Some(slot) = node.row_key {
        cx.slots[slot] = Value::Bytes(key.into());
    }
    if node.direct {
        cx.target_key.clear();
        cx.target_key.extend_from_slice(key);
        cx.target_row = Some(row);
    } else if node.keeps_row {
        cx.late_row = Some(row);
    }
}

/// The clustered key at the end of a nonclustered index row.
pub(crate) fn last_column(row: &[u8]) -> &[u8] {
    let row = Row::new(row);
    row.column(row.count().saturating_sub(1)).unwrap_or(&[])
}
