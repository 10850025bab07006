//! DISTINCT, UNION ALL, INTERSECT, EXCEPT.

use super::Operator;
use super::cx::Cx;
use super::node::{DistinctNode, SetOpNode};
use crate::bind::rel::SetKind;
use crate::errors::Result;
use hashbrown::HashSet;
use keel_types::key::{self, KeyColumn};
use std::sync::Arc;

type FastHash = foldhash::fast::RandomState;
type KeySet = HashSet<Box<[u8]>, FastHash>;

fn encode(cx: &Cx<'_>, slots: impl Iterator<Item = usize>, columns: &[KeyColumn], out: &mut Vec<u8>) {
    out.clear();
    for (slot, column) in slots.zip(columns) {
        key::append(out, &cx.slots[slot], column);
    }
}

/// Adds a key; true when it is new.
fn add(set: &mut KeySet, key: &[u8], cx: &mut Cx<'_>) -> Result<bool> {
    if set.contains(key) {
        return Ok(false);
    }
    cx.charge(key.len() + 24)?;
    set.insert(key.into());
    Ok(true)
}

/// DISTINCT by hashing; rows flow as they are first seen.
pub struct DistinctOp {
    node: Arc<DistinctNode>,
    input: Box<dyn Operator>,
    seen: KeySet,
    key: Vec<u8>,
    columns: Vec<KeyColumn>,
}

impl DistinctOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<DistinctNode>) -> DistinctOp {
        let input = node.input.operator();
        let columns = node.columns.iter().map(|(_, c)| *c).collect();
        DistinctOp { node, input, seen: KeySet::default(), key: Vec::new(), columns }
    }
}

impl Operator for DistinctOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.seen.clear();
        self.input.open(cx)
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.input.next(cx)? {
            cx.tick()?;
            encode(cx, self.node.columns.iter().map(|(s, _)| *s), &self.columns, &mut self.key);
            if add(&mut self.seen, &self.key, cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    fn close(&mut self) {
        self.seen = KeySet::default();
        self.input.close();
    }
}

/// The operator for a set operation.
#[must_use]
pub fn operator(node: Arc<SetOpNode>) -> Box<dyn Operator> {
    let (left, right) = (node.left.operator(), node.right.operator());
    match node.kind {
        SetKind::UnionAll => Box::new(UnionOp { node, left, right, on_right: false }),
        SetKind::Intersect | SetKind::Except => Box::new(FilterSetOp {
            node,
            left,
            right,
            members: KeySet::default(),
            seen: KeySet::default(),
            key: Vec::new(),
        }),
    }
}

/// UNION ALL: left, then right.
struct UnionOp {
    node: Arc<SetOpNode>,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    on_right: bool,
}

fn move_slots(cx: &mut Cx<'_>, from: &[usize], to: &[usize]) {
    for (f, t) in from.iter().zip(to) {
        if f != t {
            cx.slots[*t] = cx.slots[*f].clone();
        }
    }
}

impl Operator for UnionOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.on_right = false;
        self.left.open(cx)
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.on_right {
            if self.left.next(cx)? {
                move_slots(cx, &self.node.left_slots, &self.node.slots);
                return Ok(true);
            }
            self.on_right = true;
            self.right.open(cx)?;
        }
        let found = self.right.next(cx)?;
        if found {
            move_slots(cx, &self.node.right_slots, &self.node.slots);
        }
        Ok(found)
    }
    fn close(&mut self) {
        self.left.close();
        self.right.close();
    }
}

/// INTERSECT and EXCEPT: distinct left rows that are, or are not, on the right.
struct FilterSetOp {
    node: Arc<SetOpNode>,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    members: KeySet,
    seen: KeySet,
    key: Vec<u8>,
}

impl Operator for FilterSetOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.members.clear();
        self.seen.clear();
        self.right.open(cx)?;
        while self.right.next(cx)? {
            cx.tick()?;
            encode(cx, self.node.right_slots.iter().copied(), &self.node.columns, &mut self.key);
            add(&mut self.members, &self.key, cx)?;
        }
        self.left.open(cx)
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.left.next(cx)? {
            cx.tick()?;
            encode(cx, self.node.left_slots.iter().copied(), &self.node.columns, &mut self.key);
            let wanted = self.node.kind == SetKind::Intersect;
            if self.members.contains(&self.key[..]) == wanted && add(&mut self.seen, &self.key, cx)? {
                move_slots(cx, &self.node.left_slots, &self.node.slots);
                return Ok(true);
            }
        }
        Ok(false)
    }
    fn close(&mut self) {
        self.members = KeySet::default();
        self.seen = KeySet::default();
        self.left.close();
        self.right.close();
    }
}
