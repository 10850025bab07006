//! Keys that a statement took away, and whether rows still refer to them.
//!
//! Each key is looked for by a plan of its own, which waits for who is changing the rows that it meets and locks those that
//! qualify. Where no index serves that plan it reads the whole table, so several keys are looked for in one reading first:
//! over the same newest rows, waiting for the same others, but locking none. Only for keys that it met the plan runs, and
//! has the last word. The referenced rows are locked since the statement changed them, so that nobody can refer to
//! a key in the meantime whom one of many readings would have met and the only one did not.

use crate::dml::DmlPlan;
use crate::dml::cascade::{Child, ChildAction, OneReading};
use crate::dml::target::RowBuffers;
use crate::errors::{self, Result};
use crate::exec::access::decode_into;
use crate::exec::cx::Cx;
use crate::usage::Reads;
use hashbrown::HashSet;
use keel_node::{Direction, LockMode};
use keel_types::Value;
use std::ops::Bound;

/// So few keys are looked for one by one.
pub(super) const APART_MAX: usize = 3;

/// A foreign key, and the value that it may no longer refer to.
pub(super) type Gone<'r> = (&'r Child, Vec<Value>);

/// Of one foreign key those values that a reading of its table has met, as key bytes.
struct Met<'r> {
    child: &'r Child,
    reading: &'r OneReading,
    keys: HashSet<Box<[u8]>>,
}

impl DmlPlan {
    /// At the end: whether rows still refer to keys that are gone, and did not come back with another row.
    pub(super) fn check_gone(
        &self,
        gone: Vec<Gone<'_>>,
        b: &mut RowBuffers,
        statement: &str,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let mut lost = Vec::new();
        for (child, values) in gone {
            if !self.is_back(child, &values, &mut b.index_key, cx)? {
                lost.push((child, values));
            }
        }
        let met = meet(&lost, cx)?;
        for (child, values) in lost {
            let reading = met.iter().find(|m| std::ptr::eq(m.child, child));
            if let Some(m) = reading
                && !m.reading.key(&values).is_some_and(|key| m.keys.contains(&key))
            {
                continue;
            }
            for (i, v) in child.referenced.iter().zip(values) {
                cx.slots[self.old_first + i] = v;
            }
            self.check_child(child, cx, statement)?;
        }
        Ok(())
    }

    fn is_back(&self, child: &Child, values: &[Value], key: &mut Vec<u8>, cx: &mut Cx<'_>) -> Result<bool> {
        let Some((tree, columns)) = &child.key else { return Ok(false) };
        key.clear();
        for (at, column) in columns {
            keel_types::key::append(key, &values[*at], column);
        }
        let found = cx.txn(self.target.table.database)?.get_latest(*tree, key);
        Ok(found.map_err(|e| cx.storage_error(&e))?.is_some())
    }

    fn check_child(&self, child: &Child, cx: &mut Cx<'_>, statement: &str) -> Result<()> {
        let ChildAction::Check(node) = &child.action else { return Ok(()) };
        let mut operator = node.operator(None);
        operator.open(cx)?;
        let found = operator.next(cx)?;
        operator.close();
        if !found {
            return Ok(());
        }
        let column = child.column.as_ref().map_or(String::new(), |c| format!(", column '{c}'"));
        let kind = if child.own_table { "SAME TABLE REFERENCE" } else { "REFERENCE" };
        let database = &self.target.database;
        Err(errors::constraint_conflict(statement, kind, &child.name, database, &child.table, &column))
    }
}

/// Reads the tables of those foreign keys that many values are to be looked for in, each once.
fn meet<'r>(lost: &[Gone<'r>], cx: &mut Cx<'_>) -> Result<Vec<Met<'r>>> {
    let mut met: Vec<Met<'r>> = Vec::new();
    for (child, _) in lost {
        let Some(reading) = &child.one_reading else { continue };
        if met.iter().any(|m| std::ptr::eq(m.child, *child)) {
            continue;
        }
        let values = || lost.iter().filter(|(c, _)| std::ptr::eq(*c, *child)).map(|(_, values)| values);
        if values().count() <= APART_MAX {
            continue;
        }
        let wanted: HashSet<Box<[u8]>> = values().filter_map(|values| reading.key(values)).collect();
        cx.charge(wanted.iter().map(|key| key.len() + 48).sum())?;
        let mut keys = HashSet::new();
        reading.read(cx, |key, _, _| {
            if wanted.contains(key) && !keys.contains(key) {
                keys.insert(key.into());
            }
            Ok(())
        })?;
        met.push(Met { child, reading, keys });
    }
    Ok(met)
}

impl OneReading {
    /// A value as key bytes, the same for values that are equal; none where a part is NULL, which nothing refers to.
    pub(super) fn key(&self, values: &[Value]) -> Option<Box<[u8]>> {
        let mut key = Vec::new();
        self.append(&mut key, values.iter()).then(|| key.into())
    }

    /// False: a part is NULL.
    fn append<'v>(&self, key: &mut Vec<u8>, values: impl Iterator<Item = &'v Value>) -> bool {
        for ((_, column), value) in self.columns.iter().zip(values) {
            if matches!(value, Value::Null) {
                return false;
            }
            keel_types::key::append(key, value, column);
        }
        true
    }

    /// Hands over what each row refers to and the row's own key, by the newest rows that are committed or own.
    pub(super) fn read(
        &self,
        cx: &mut Cx<'_>,
        mut meet: impl FnMut(&[u8], &[u8], &mut Cx<'_>) -> Result<()>,
    ) -> Result<()> {
        let access = &*self.access;
        if let Some(uses) = &access.uses {
            let began = cx.session.about_now_local();
            uses.read(&Reads { began, ranges: 1, ..Reads::default() }, false);
        }
        if let Some(io) = cx.io() {
            io.scan(access);
        }
        let txn = cx.txn(access.database)?;
        let opened = txn.lock_table(access.object, LockMode::IntentShared).and_then(|()| {
            txn.scan_latest(access.tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward)
        });
        let mut cursor = opened.map_err(|e| cx.storage_error(&e))?;
        let mut key = Vec::new();
        loop {
            cx.tick()?;
            let (own, row) = match cursor.next() {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(()),
                Err(e) => return Err(cx.storage_error(&e)),
            };
            cx.bytes_read += row.len() as u64;
            if let Some(io) = cx.io() {
                io.row(access, row.len());
            }
            decode_into(&row, &access.decode, &mut cx.slots);
            key.clear();
            if self.append(&mut key, self.columns.iter().map(|(slot, _)| &cx.slots[*slot])) {
                meet(&key, own, cx)?;
            }
        }
    }
}
