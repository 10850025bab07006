//! DISTINCT, UNION ALL, INTERSECT, EXCEPT.

use super::count::Counts;
use super::cx::Cx;
use super::node::{DistinctNode, SetOpNode};
use super::{Operator, restore};
use crate::bind::rel::SetKind;
use crate::errors::Result;
use crate::work::{LEVEL_MAX, Partitions, Run, RunReader, partition_of};
use hashbrown::HashSet;
use keel_types::Value;
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

/// DISTINCT; rows flow as they are first seen. Where equal rows arrive together one key is remembered, else all: when memory is full, rows not seen before go to files divided
/// by their hash, and are looked at when the input is at its end.
pub struct DistinctOp {
    node: Arc<DistinctNode>,
    input: Box<dyn Operator>,
    seen: KeySet,
    /// Bytes of `seen`.
    bytes: usize,
    key: Vec<u8>,
    /// The key before, of ordered input.
    last: Option<Vec<u8>>,
    columns: Vec<KeyColumn>,
    slots: Vec<usize>,
    /// The file being read; before, the input is.
    reader: Option<RunReader>,
    row: Vec<Value>,
    level: u32,
    out: Option<Partitions>,
    waiting: Vec<(Run, u32)>,
}

impl DistinctOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<DistinctNode>, counts: Option<&Counts>) -> DistinctOp {
        let input = node.input.operator(counts);
        let columns = node.columns.iter().map(|(_, c)| *c).collect();
        let slots = node.columns.iter().map(|(s, _)| *s).collect();
        DistinctOp {
            node,
            input,
            seen: KeySet::default(),
            bytes: 0,
            key: Vec::new(),
            last: None,
            columns,
            slots,
            reader: None,
            row: Vec::new(),
            level: 0,
            out: None,
            waiting: Vec::new(),
        }
    }

    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        match &mut self.reader {
            None => self.input.next(cx),
            Some(reader) => {
                let found = reader.next(&mut self.row)?;
                if found {
                    restore(cx, &self.slots, &self.row);
                }
                Ok(found)
            }
        }
    }

    /// Goes on with the next file; false when there is none.
    fn next_run(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if let Some(out) = self.out.take() {
            let level = self.level + 1;
            self.waiting.extend(out.finish()?.into_iter().flatten().map(|run| (run, level)));
        }
        cx.discharge(std::mem::take(&mut self.bytes));
        self.seen = KeySet::default();
        let Some((run, level)) = self.waiting.pop() else { return Ok(false) };
        self.reader = Some(RunReader::new(&run));
        self.level = level;
        Ok(true)
    }

    /// Remembers the key of the frame's row; false when it was seen, or waits in a file.
    fn add(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.node.ordered {
            let new = self.last.as_deref() != Some(&self.key[..]);
            if new {
                let last = self.last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(&self.key);
            }
            return Ok(new);
        }
        if self.seen.contains(&self.key[..]) {
            return Ok(false);
        }
        let bytes = self.key.len() + 24;
        if self.out.is_none() && self.level < LEVEL_MAX && !cx.fits(bytes, self.bytes) {
            cx.discharge(bytes);
            self.out = Some(Partitions::new());
        }
        if let Some(out) = &mut self.out {
            let partition = partition_of(&self.key[..], self.level);
            out.row(&cx.work_space()?, partition, self.slots.iter().map(|s| &cx.slots[*s]))?;
            return Ok(false);
        }
        if self.level >= LEVEL_MAX {
            cx.charge(bytes)?;
        }
        self.bytes += bytes;
        self.seen.insert(self.key[..].into());
        Ok(true)
    }
}

impl Operator for DistinctOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        cx.discharge(std::mem::take(&mut self.bytes));
        self.seen.clear();
        self.waiting.clear();
        (self.reader, self.out, self.last, self.level) = (None, None, None, 0);
        self.input.open(cx)
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            while self.advance(cx)? {
                cx.tick()?;
                encode(cx, self.slots.iter().copied(), &self.columns, &mut self.key);
                if self.add(cx)? {
                    return Ok(true);
                }
            }
            if !self.next_run(cx)? {
                // Asked again it finds an empty file list and its input at the end.
                return Ok(false);
            }
        }
    }
    fn close(&mut self) {
        self.seen = KeySet::default();
        self.waiting = Vec::new();
        (self.reader, self.out, self.bytes) = (None, None, 0);
        self.input.close();
    }
}

/// The operator for a set operation.
#[must_use]
pub fn operator(node: Arc<SetOpNode>, counts: Option<&Counts>) -> Box<dyn Operator> {
    let (left, right) = (node.left.operator(counts), node.right.operator(counts));
    match node.kind {
        SetKind::UnionAll => Box::new(UnionOp { node, left, right, on_right: false }),
        SetKind::Intersect | SetKind::Except => Box::new(FilterSetOp {
            node,
            left,
            right,
            members: KeySet::default(),
            bytes: 0,
            key: Vec::new(),
            reader: None,
            row: Vec::new(),
            level: 0,
            out: None,
            waiting: Vec::new(),
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
///
/// One set of keys is enough: INTERSECT takes a key out with the first left row that has it, EXCEPT puts it in. When
/// memory is full the set and all rows to come go to files divided by their hash, and each pair of files is worked on
/// like the whole.
struct FilterSetOp {
    node: Arc<SetOpNode>,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    members: KeySet,
    /// Bytes of `members`.
    bytes: usize,
    key: Vec<u8>,
    /// The file of left rows being read; before, the input is.
    reader: Option<RunReader>,
    row: Vec<Value>,
    level: u32,
    out: Option<Sides>,
    waiting: Vec<(Option<Run>, Run, u32)>,
}

/// Files of both sides: keys of the right one, rows of the left one.
struct Sides {
    right: Partitions,
    left: Partitions,
}

impl FilterSetOp {
    /// Remembers a key, in the set or in a file.
    fn add_member(&mut self, key: &[u8], cx: &mut Cx<'_>) -> Result<()> {
        if self.members.contains(key) {
            return Ok(());
        }
        let bytes = key.len() + 24;
        if self.out.is_none() && self.level < LEVEL_MAX && !cx.fits(bytes, self.bytes) {
            cx.discharge(bytes);
            self.spill(cx)?;
        }
        if let Some(out) = &mut self.out {
            return put_key(&mut out.right, key, self.level, cx);
        }
        if self.level >= LEVEL_MAX {
            cx.charge(bytes)?;
        }
        self.bytes += bytes;
        self.members.insert(key.into());
        Ok(())
    }

    /// Moves the set to files.
    fn spill(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let mut out = Sides { right: Partitions::new(), left: Partitions::new() };
        for key in std::mem::take(&mut self.members) {
            put_key(&mut out.right, &key, self.level, cx)?;
        }
        cx.discharge(std::mem::take(&mut self.bytes));
        self.out = Some(out);
        Ok(())
    }

    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let found = match &mut self.reader {
            None => self.left.next(cx)?,
            Some(reader) => {
                let found = reader.next(&mut self.row)?;
                if found {
                    restore(cx, &self.node.left_slots, &self.row);
                }
                found
            }
        };
        if found {
            cx.tick()?;
            encode(cx, self.node.left_slots.iter().copied(), &self.node.columns, &mut self.key);
        }
        Ok(found)
    }

    /// Goes on with the next pair of files; false when there is none.
    fn next_run(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if let Some(out) = self.out.take() {
            let level = self.level + 1;
            let pairs = out.right.finish()?.into_iter().zip(out.left.finish()?);
            self.waiting.extend(pairs.filter_map(|(right, left)| left.map(|left| (right, left, level))));
        }
        cx.discharge(std::mem::take(&mut self.bytes));
        self.members = KeySet::default();
        let Some((right, left, level)) = self.waiting.pop() else { return Ok(false) };
        self.level = level;
        if let Some(right) = right {
            let mut reader = RunReader::new(&right);
            let mut row = Vec::new();
            while reader.next(&mut row)? {
                cx.tick()?;
                let key = row.first().and_then(Value::as_bytes).unwrap_or_default();
                self.add_member(key, cx)?;
            }
        }
        self.reader = Some(RunReader::new(&left));
        Ok(true)
    }

    /// Whether the left row of the frame belongs to the result.
    fn belongs(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if let Some(out) = &mut self.out {
            let partition = partition_of(&self.key[..], self.level);
            let values = self.node.left_slots.iter().map(|s| &cx.slots[*s]);
            out.left.row(&cx.work_space()?, partition, values)?;
            return Ok(false);
        }
        if self.node.kind == SetKind::Intersect {
            let found = self.members.remove(&self.key[..]);
            if found {
                let bytes = self.key.len() + 24;
                self.bytes -= bytes;
                cx.discharge(bytes);
            }
            return Ok(found);
        }
        if self.members.contains(&self.key[..]) {
            return Ok(false);
        }
        let key = std::mem::take(&mut self.key);
        self.add_member(&key, cx)?;
        self.key = key;
        Ok(true)
    }
}

fn put_key(to: &mut Partitions, key: &[u8], level: u32, cx: &Cx<'_>) -> Result<()> {
    let value = Value::bytes(key);
    to.row(&cx.work_space()?, partition_of(key, level), std::iter::once(&value))
}

impl Operator for FilterSetOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        cx.discharge(std::mem::take(&mut self.bytes));
        self.members.clear();
        self.waiting.clear();
        (self.reader, self.out, self.level) = (None, None, 0);
        self.right.open(cx)?;
        let mut key = Vec::new();
        while self.right.next(cx)? {
            cx.tick()?;
            encode(cx, self.node.right_slots.iter().copied(), &self.node.columns, &mut key);
            self.add_member(&key, cx)?;
        }
        self.left.open(cx)
    }
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            while self.advance(cx)? {
                if self.belongs(cx)? {
                    move_slots(cx, &self.node.left_slots, &self.node.slots);
                    return Ok(true);
                }
            }
            if !self.next_run(cx)? {
                return Ok(false);
            }
        }
    }
    fn close(&mut self) {
        self.members = KeySet::default();
        self.waiting = Vec::new();
        (self.reader, self.out, self.bytes) = (None, None, 0);
        self.left.close();
        self.right.close();
    }
}
