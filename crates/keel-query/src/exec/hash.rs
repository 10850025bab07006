//! Hash join.
//!
//! The build side is read into one flat vector of values; a table maps key → first row, and each row names the next one
//! with the same key. Integer keys are hashed as such, all others by their key encoding, under which equal values (by
//! their collation) have equal bytes.

use super::cx::{Cx, value_bytes};
use super::node::HashJoinNode;
use super::{Operator, set_null};
use crate::bind::rel::JoinKind;
use crate::errors::Result;
use crate::expr::compile::Code;
use hashbrown::HashMap;
use keel_types::Value;
use keel_types::key::{self, KeyColumn};
use std::sync::Arc;

const NONE: u32 = u32::MAX;

type FastHash = foldhash::fast::RandomState;

#[derive(Default)]
struct Table {
    integers: HashMap<i64, u32, FastHash>,
    bytes: HashMap<Box<[u8]>, u32, FastHash>,
    values: Vec<Value>,
    next: Vec<u32>,
    matched: Vec<bool>,
    has_null: bool,
    bytes_charged: usize,
}

/// Hash join.
pub struct HashJoinOp {
    node: Arc<HashJoinNode>,
    probe: Box<dyn Operator>,
    build: Box<dyn Operator>,
    table: Table,
    /// Next candidate of the current probe row.
    at: u32,
    /// A probe row is current.
    probing: bool,
    found: bool,
    /// Position in the final pass over unmatched build rows of a full join.
    leftover: Option<usize>,
    key: Vec<u8>,
}

/// Appends all keys; false when one is NULL.
pub(crate) fn encode_keys(
    codes: &[Code],
    columns: &[KeyColumn],
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    let mut present = true;
    for (code, column) in codes.iter().zip(columns) {
        present &= code.with(cx, |v| {
            key::append(out, v, column);
            !matches!(v, Value::Null)
        })?;
    }
    Ok(present)
}

impl HashJoinOp {
    /// An operator with its inputs.
    #[must_use]
    pub fn new(node: Arc<HashJoinNode>) -> HashJoinOp {
        let (probe, build) = (node.probe.operator(), node.build.operator());
        HashJoinOp {
            node,
            probe,
            build,
            table: Table::default(),
            at: NONE,
            probing: false,
            found: false,
            leftover: None,
            key: Vec::new(),
        }
    }

    fn fill(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        cx.discharge(self.table.bytes_charged);
        self.table = Table::default();
        let node = &*self.node;
        let table = &mut self.table;
        let keep_nulls = node.kind == JoinKind::Full;
        self.build.open(cx)?;
        while self.build.next(cx)? {
            cx.tick()?;
            let row = table.next.len() as u32;
            let mut entry = None;
            if node.integer_key {
                let v =
                    node.build_keys[0].with(cx, |v| if let Value::Int(n) = v { Some(*n) } else { None })?;
                if let Some(n) = v {
                    entry = Some(table.integers.insert(n, row).unwrap_or(NONE));
                }
            } else if encode_keys(&node.build_keys, &node.key_columns, cx, &mut self.key)? {
                entry = Some(match table.bytes.get_mut(&self.key[..]) {
                    Some(head) => std::mem::replace(head, row),
                    None => {
                        table.bytes_charged += self.key.len();
                        table.bytes.insert(self.key[..].into(), row);
                        NONE
                    }
                });
            }
            if entry.is_none() {
                table.has_null = true;
                if !keep_nulls {
                    continue;
                }
            }
            let mut bytes = 32;
            for s in &node.build_slots {
                let v = cx.slots[*s].clone();
                bytes += value_bytes(&v);
                table.values.push(v);
            }
            table.next.push(entry.unwrap_or(NONE));
            if keep_nulls {
                table.matched.push(false);
            }
            table.bytes_charged += bytes;
            cx.charge(bytes)?;
        }
        Ok(())
    }

    fn lookup(&mut self, cx: &mut Cx<'_>) -> Result<(u32, bool)> {
        let node = &*self.node;
        if node.integer_key {
            let v = node.probe_keys[0].with(cx, |v| if let Value::Int(n) = v { Some(*n) } else { None })?;
            return Ok(match v {
                Some(n) => (self.table.integers.get(&n).copied().unwrap_or(NONE), true),
                None => (NONE, false),
            });
        }
        if !encode_keys(&node.probe_keys, &node.key_columns, cx, &mut self.key)? {
            return Ok((NONE, false));
        }
        Ok((self.table.bytes.get(&self.key[..]).copied().unwrap_or(NONE), true))
    }

    /// Puts a build row into the frame.
    fn load(&self, cx: &mut Cx<'_>, row: usize) {
        let width = self.node.build_slots.len();
        let values = &self.table.values[row * width..(row + 1) * width];
        for (s, v) in self.node.build_slots.iter().zip(values) {
            cx.slots[*s].clone_from(v);
        }
    }

    fn next_match(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.at != NONE {
            let row = self.at as usize;
            self.at = self.table.next[row];
            self.load(cx, row);
            let holds = match &self.node.residual {
                Some(p) => p.test(cx)?,
                None => true,
            };
            if holds {
                if let Some(m) = self.table.matched.get_mut(row) {
                    *m = true;
                }
                return Ok(true);
            }
            cx.tick()?;
        }
        Ok(false)
    }

    fn next_leftover(&mut self, cx: &mut Cx<'_>) -> bool {
        let Some(mut row) = self.leftover else { return false };
        while row < self.table.matched.len() {
            if !self.table.matched[row] {
                self.leftover = Some(row + 1);
                self.load(cx, row);
                set_null(cx, &self.node.probe_slots);
                return true;
            }
            row += 1;
        }
        self.leftover = Some(row);
        false
    }
}

impl Operator for HashJoinOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.fill(cx)?;
        self.probing = false;
        self.leftover = None;
        let empty = self.table.next.is_empty() && !self.table.has_null;
        if empty && matches!(self.node.kind, JoinKind::Inner | JoinKind::Semi) {
            self.leftover = Some(0);
            return Ok(());
        }
        self.probe.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.leftover.is_some() {
            return Ok(self.next_leftover(cx));
        }
        loop {
            if !self.probing {
                if !self.probe.next(cx)? {
                    self.leftover = Some(0);
                    return Ok(self.node.kind == JoinKind::Full && self.next_leftover(cx));
                }
                cx.tick()?;
                let (at, present) = self.lookup(cx)?;
                self.at = at;
                self.found = false;
                self.probing = true;
                if self.node.null_aware && (self.table.has_null || (!present && !self.table.next.is_empty()))
                {
                    self.probing = false;
                    continue;
                }
            }
            let found = self.next_match(cx)?;
            match self.node.kind {
                JoinKind::Semi | JoinKind::Anti => {
                    self.probing = false;
                    if found == (self.node.kind == JoinKind::Semi) {
                        return Ok(true);
                    }
                }
                _ if found => {
                    self.found = true;
                    return Ok(true);
                }
                JoinKind::Inner => self.probing = false,
                _ => {
                    self.probing = false;
                    if !self.found {
                        set_null(cx, &self.node.build_slots);
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn close(&mut self) {
        self.table = Table::default();
        self.probe.close();
        self.build.close();
    }
}
