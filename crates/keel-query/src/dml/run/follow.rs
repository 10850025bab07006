//! Cascades: rows of other tables follow those that they refer to.
//!
//! They follow when the statement has changed all of its own rows, and each foreign key is looked after once: its rows are found,
//! by the keys of all rows that they referred to, before the first of them is changed. So keys that change places take their rows
//! along, and a table's triggers fire once. Where no index leads to the rows, a few keys are looked for one by one, and
//! many in one reading, as [`gone`](super::gone) does.

use super::gone::{APART_MAX, Gone};
use super::{Pending, Run};
use crate::context::{NoRows, RunInfo};
use crate::dml::cascade::{Child, Follow, OneReading};
use crate::dml::{Buffers, Change, DmlPlan};
use crate::errors::Result;
use crate::exec::Operator;
use crate::exec::cx::Cx;
use hashbrown::HashMap;
use keel_types::Value;

/// So many rows of a DELETE are followed at once, where nobody counts how often: their keys are in memory.
const TOGETHER_MAX: usize = 10_000;

/// Rows that changed, for one foreign key that has others follow.
pub(super) struct Left<'r> {
    child: &'r Child,
    follow: &'r Follow,
    /// Old values of the columns referred to, and the new ones behind them.
    keys: Vec<Vec<Value>>,
}

/// Another table whose rows have followed.
pub(super) struct Followed<'r> {
    plan: &'r DmlPlan,
    b: Buffers,
    rows: u64,
    gone: Vec<Gone<'r>>,
}

impl<'r> Run<'r, '_> {
    /// Remembers the row in the frame, which others follow.
    pub(super) fn leave(&mut self, child: &'r Child, follow: &'r Follow, cx: &mut Cx<'_>) -> Result<()> {
        let firsts = [self.plan.old_first, self.target().new_first];
        let values = firsts.iter().flat_map(|first| child.referenced.iter().map(move |i| first + i));
        let key: Vec<Value> = values.map(|slot| cx.slots[slot].clone()).collect();
        cx.charge(crate::exec::row_bytes(&key))?;
        match self.left.iter_mut().find(|left| std::ptr::eq(left.child, child)) {
            Some(left) => left.keys.push(key),
            None => self.left.push(Left { child, follow, keys: vec![key] }),
        }
        Ok(())
    }

    /// Has rows follow that wait for it, if they are many and it does not matter that more will.
    pub(super) fn follow_some(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let many = |left: &Left<'_>| left.keys.len() >= TOGETHER_MAX && !left.follow.fires;
        if !matches!(self.plan.change, Change::Delete(_)) || !self.left.iter().any(many) {
            return Ok(());
        }
        let (now, later) = std::mem::take(&mut self.left).into_iter().partition(many);
        self.left = later;
        let now: Vec<Left<'r>> = now;
        now.iter().try_for_each(|left| self.follow_one(left, cx))
    }

    /// Has all rows follow that wait for it, and those that follow these.
    pub(super) fn follow(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        for left in std::mem::take(&mut self.left) {
            self.follow_one(&left, cx)?;
        }
        Ok(())
    }

    fn follow_one(&mut self, left: &Left<'r>, cx: &mut Cx<'_>) -> Result<()> {
        let plan = &left.follow.plan;
        let mut b = Buffers::default();
        plan.lock_tables(cx)?;
        plan.begin_changes(&mut b, cx)?;
        let (mut row, mut nobody) = (Vec::new(), NoRows);
        let mut run = Run::new(plan, &mut b, &mut row, &mut nobody, u64::MAX);
        let firsts = (self.plan.old_first, self.target().new_first);
        let result = run.all_left(left, firsts, cx);
        let Run { info: RunInfo { rows, .. }, gone, followed, .. } = run;
        plan.end_counts(&mut b, cx);
        result?;
        self.followed.extend(followed);
        self.followed.push(Followed { plan, b, rows, gone });
        Ok(())
    }

    fn all_left(&mut self, left: &Left<'r>, firsts: (usize, usize), cx: &mut Cx<'_>) -> Result<()> {
        let restore = |key: &[Value], cx: &mut Cx<'_>| {
            let (old, new) = key.split_at(left.child.referenced.len());
            for ((i, old), new) in left.child.referenced.iter().zip(old).zip(new) {
                cx.slots[firsts.0 + i] = old.clone();
                cx.slots[firsts.1 + i] = new.clone();
            }
        };
        let mut found = Vec::new();
        match (&left.child.one_reading, &left.follow.at) {
            (Some(reading), Some(at)) if left.keys.len() > APART_MAX => {
                let mut source = at.node.operator(None);
                for (n, row) in met(reading, left, cx)? {
                    restore(&left.keys[n], cx);
                    cx.slots[at.slot] = Value::Bytes(row.into());
                    self.find(&mut *source, &mut found, cx)?;
                }
            }
            _ => {
                let mut source = self.plan.source.operator(None);
                for key in &left.keys {
                    restore(key, cx);
                    self.find(&mut *source, &mut found, cx)?;
                }
            }
        }
        self.change(found, cx)?;
        self.follow(cx)
    }

    fn find(&mut self, source: &mut dyn Operator, found: &mut Vec<Pending>, cx: &mut Cx<'_>) -> Result<()> {
        source.open(cx)?;
        self.collect(source, found, cx)?;
        source.close();
        Ok(())
    }

    /// When all rows are changed: none of them may refer to nothing.
    pub(super) fn check(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let statement = self.plan.change.name();
        for Followed { plan, b, gone, .. } in &mut self.followed {
            plan.check_gone(std::mem::take(gone), &mut b.rows, statement, cx)?;
        }
        self.plan.check_gone(std::mem::take(&mut self.gone), &mut self.b.rows, statement, cx)?;
        for Followed { plan, b, .. } in &mut self.followed {
            plan.target.check_awaited(cx, &mut b.rows, statement)?;
        }
        self.plan.target.check_awaited(cx, &mut self.b.rows, statement)
    }
}

impl Followed<'_> {
    /// Runs the AFTER triggers of a table of which rows have followed.
    pub(super) fn fire(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        if self.plan.triggers && self.rows > 0 {
            self.plan.fire(&mut self.b, cx)?;
        }
        Ok(())
    }
}

/// Clustered keys of the rows that refer to one of the keys, each with the number of that key.
fn met(reading: &OneReading, left: &Left<'_>, cx: &mut Cx<'_>) -> Result<Vec<(usize, Box<[u8]>)>> {
    let mut wanted: HashMap<Box<[u8]>, usize> = HashMap::new();
    for (n, key) in left.keys.iter().enumerate() {
        if let Some(key) = reading.key(key) {
            cx.charge(key.len() + 64)?;
            wanted.insert(key, n);
        }
    }
    let mut met = Vec::new();
    reading.read(cx, |key, row, cx| {
        if let Some(n) = wanted.get(key) {
            cx.charge(row.len() + 32)?;
            met.push((*n, row.into()));
        }
        Ok(())
    })?;
    Ok(met)
}
