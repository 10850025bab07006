//! A table that is read again and again, each time for other values of columns to which no index leads: its rows are put into a hash table
//! by these columns once, which is cheaper than reading all of them for each value.
//!
//! Whether that pays is found out while the statement runs. The table is read as it is until one reading came to its end, or several
//! have together read as much: who asks for one value only, or finds at once what it looks for, pays for nothing. Where memory does not
//! hold the rows, and where what is read has to be locked, it goes on like that.

use super::count::Counts;
use super::cx::Cx;
use super::hash::{Key, NONE, Table, key_of};
use super::node::IndexSpoolNode;
use super::{Operator, restore};
use crate::context::IsolationLevel;
use crate::errors::Result;
use std::sync::Arc;

/// Where the rows come from.
enum State {
    /// The table, which has given so many bytes.
    Reading(u64),
    /// The table, for good.
    Refused,
    /// The hash table.
    Filled(Table),
}

/// An eager index spool, as the product calls it.
pub struct IndexSpoolOp {
    node: Arc<IndexSpoolNode>,
    scan: Box<dyn Operator>,
    fill: Box<dyn Operator>,
    state: State,
    /// The next row of the hash table with the key.
    at: u32,
    key: Vec<u8>,
}

impl IndexSpoolOp {
    /// An operator with its inputs.
    #[must_use]
    pub fn new(node: Arc<IndexSpoolNode>, counts: Option<&Counts>) -> IndexSpoolOp {
        let (scan, fill) = (node.scan.operator(counts), node.fill.operator(counts));
        IndexSpoolOp { node, scan, fill, state: State::Reading(0), at: NONE, key: Vec::new() }
    }

    /// Puts the table's rows into a hash table; none when memory does not hold them.
    fn filled(&mut self, cx: &mut Cx<'_>) -> Result<Option<Table>> {
        let mut table = Table::default();
        self.fill.open(cx)?;
        while self.fill.next(cx)? {
            cx.tick()?;
            let key = key_of(&self.node.keys, &self.node.own, &mut self.key, cx)?;
            if key != Key::Null && !table.keep(key, &self.key, &self.node.slots, cx) {
                cx.discharge(table.bytes_charged);
                return Ok(None);
            }
        }
        Ok(Some(table))
    }

    /// Fills the hash table when it is time to.
    fn consider(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let State::Reading(bytes) = self.state else { return Ok(()) };
        if bytes < self.node.bytes {
            return Ok(());
        }
        let locks =
            matches!(cx.session.isolation(), IsolationLevel::RepeatableRead | IsolationLevel::Serializable);
        let filled = if locks { None } else { self.filled(cx)? };
        self.state = filled.map_or(State::Refused, State::Filled);
        Ok(())
    }

    fn read(
        &mut self,
        cx: &mut Cx<'_>,
        f: impl FnOnce(&mut dyn Operator, &mut Cx<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let before = cx.bytes_read;
        let more = f(&mut *self.scan, cx)?;
        if let State::Reading(bytes) = &mut self.state {
            *bytes = if more { bytes.saturating_add(cx.bytes_read - before) } else { u64::MAX };
        }
        Ok(more)
    }
}

impl Operator for IndexSpoolOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.consider(cx)?;
        if !matches!(self.state, State::Filled(_)) {
            let open = |scan: &mut dyn Operator, cx: &mut Cx<'_>| scan.open(cx).map(|()| true);
            return self.read(cx, open).map(drop);
        }
        let key = key_of(&self.node.keys, &self.node.sought, &mut self.key, cx)?;
        if let State::Filled(table) = &self.state {
            self.at = table.find(key, &self.key);
        }
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let State::Filled(table) = &self.state else {
            return self.read(cx, |scan, cx| scan.next(cx));
        };
        while self.at != NONE {
            cx.tick()?;
            let (row, width) = (self.at as usize, self.node.slots.len());
            self.at = table.following(row);
            restore(cx, &self.node.slots, &table.values[row * width..(row + 1) * width]);
            match &self.node.residual {
                Some(residual) if !residual.test(cx)? => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.scan.close();
        self.fill.close();
        self.state = State::Reading(0);
        self.at = NONE;
    }
}
