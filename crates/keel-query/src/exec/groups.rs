//! Hash and scalar aggregation.
//!
//! When memory is full, rows of groups that are in it are still taken in; rows of other groups go to files, divided by
//! the hash of their keys (each with the grouping set it is for). The groups in memory are then complete and leave; the
//! files are aggregated one after the other in the same way.
//!
//! With helpers every thread aggregates its share in this way. Their groups are brought together, and only then are the files'
//! rows taken in: those of groups in memory by these, others by files again.

use super::aggregate::{Acc, DistinctSpill};
use super::count::Counts;
use super::cx::{Cx, value_bytes};
use super::node::AggregateNode;
use super::parallel::Source;
use super::{Operator, restore};
use crate::errors::Result;
use crate::work::{LEVEL_MAX, Partitions, Run, RunReader, partition_of};
use hashbrown::HashMap;
use keel_types::{Value, key};
use std::sync::Arc;

type FastHash = foldhash::fast::RandomState;

#[derive(Default)]
struct Groups {
    integers: HashMap<i64, u32, FastHash>,
    bytes: HashMap<Box<[u8]>, u32, FastHash>,
    /// Group key values, flat.
    keys: Vec<Value>,
    accs: Vec<Acc>,
    /// Grouping set of each group.
    set: Vec<u32>,
    count: usize,
    charged: usize,
}

/// What one thread makes of its rows.
struct Partial {
    node: Arc<AggregateNode>,
    groups: Groups,
    buffers: Buffers,
    spill: DistinctSpill,
}

#[derive(Default)]
struct Buffers {
    keys: Vec<Value>,
    encoded: Vec<u8>,
}

/// Where rows come from, and go to when memory is full.
struct Pass {
    level: u32,
    full: bool,
    out: Partitions,
}

impl Pass {
    fn new(level: u32) -> Pass {
        Pass { level, full: false, out: Partitions::new() }
    }
}

impl Groups {
    /// What a new group will take, roughly, in bytes.
    fn size(node: &AggregateNode, keys: &[Value], bytes: usize) -> usize {
        bytes + 64 * node.aggs.len() + 16 + keys.iter().map(value_bytes).sum::<usize>()
    }

    fn add(&mut self, node: &AggregateNode, keys: &[Value], set: u32, size: usize) -> u32 {
        let id = self.count as u32;
        self.count += 1;
        for (i, v) in keys.iter().enumerate() {
            let grouped = node.sets.as_ref().is_none_or(|s| s[set as usize].contains(&i));
            self.keys.push(if grouped { v.clone() } else { Value::Null });
        }
        self.accs.extend(node.aggs.iter().map(Acc::new));
        self.set.push(set);
        self.charged += size;
        id
    }

    /// Takes over the groups of another thread.
    fn absorb(&mut self, node: &AggregateNode, mut other: Groups) -> Result<()> {
        self.charged += other.charged;
        for (key, from) in std::mem::take(&mut other.integers) {
            let known = self.integers.get(&key).copied();
            let id = self.join(node, known, &mut other, from)?;
            self.integers.insert(key, id);
        }
        for (key, from) in std::mem::take(&mut other.bytes) {
            let known = self.bytes.get(&key).copied();
            let id = self.join(node, known, &mut other, from)?;
            self.bytes.insert(key, id);
        }
        Ok(())
    }

    /// Joins a group of another thread to one that is known, or adds it.
    fn join(
        &mut self,
        node: &AggregateNode,
        known: Option<u32>,
        other: &mut Groups,
        from: u32,
    ) -> Result<u32> {
        let (from, width) = (from as usize, node.aggs.len());
        let accs = &mut other.accs[from * width..(from + 1) * width];
        if let Some(id) = known {
            let own = &mut self.accs[id as usize * width..];
            for ((own, other), call) in own.iter_mut().zip(accs).zip(&node.aggs) {
                own.absorb(call, std::mem::take(other))?;
            }
            return Ok(id);
        }
        let id = self.count as u32;
        self.count += 1;
        let keys = node.groups.len();
        self.keys.extend(other.keys[from * keys..(from + 1) * keys].iter_mut().map(std::mem::take));
        self.accs.extend(accs.iter_mut().map(std::mem::take));
        self.set.push(other.set[from]);
        Ok(id)
    }
}

impl Partial {
    fn new(node: Arc<AggregateNode>) -> Partial {
        let (groups, buffers) = (Groups::default(), Buffers::default());
        Partial { node, groups, buffers, spill: DistinctSpill::default() }
    }

    /// Reads an input to its end; rows that memory does not hold are in files, which are returned.
    fn read(&mut self, input: &mut dyn Operator, cx: &mut Cx<'_>) -> Result<Vec<Run>> {
        let sets = self.node.sets.as_ref().map_or(1, |s| s.len() as u32);
        let mut pass = Pass::new(0);
        input.open(cx)?;
        while input.next(cx)? {
            cx.tick()?;
            self.take_row(0..sets, &mut pass, cx)?;
        }
        self.end_pass(pass, cx)
    }

    /// Takes in the rows of a file.
    fn read_run(&mut self, run: &Run, pass: &mut Pass, cx: &mut Cx<'_>) -> Result<()> {
        let node = Arc::clone(&self.node);
        let mut reader = RunReader::new(run);
        let mut row = Vec::new();
        while reader.next(&mut row)? {
            cx.tick()?;
            let Some(Value::Int(set)) = row.first() else { continue };
            let set = *set as u32;
            restore(cx, &node.input_slots, &row[1..]);
            self.take_row(set..set + 1, pass, cx)?;
        }
        Ok(())
    }

    fn end_pass(&mut self, pass: Pass, cx: &mut Cx<'_>) -> Result<Vec<Run>> {
        self.spill.settle(&mut self.groups.accs, &self.node.aggs, cx)?;
        Ok(pass.out.finish()?.into_iter().flatten().collect())
    }

    /// Begins anew.
    fn reset(&mut self, cx: &mut Cx<'_>) {
        cx.discharge(self.groups.charged);
        self.spill.reset(cx);
        self.groups = Groups::default();
    }

    /// Takes in the row of the frame for some grouping sets.
    fn take_row(&mut self, sets: std::ops::Range<u32>, pass: &mut Pass, cx: &mut Cx<'_>) -> Result<()> {
        let node = &*self.node;
        let Buffers { keys, encoded } = &mut self.buffers;
        let groups = &mut self.groups;
        let integer = node.sets.is_none() && node.groups.len() == 1 && node.groups[0].1.ty.is_integer();
        let only = node.sets.is_none() && node.groups.is_empty() && groups.count == 1;
        keys.clear();
        for (code, ..) in &node.groups {
            keys.push(code.eval(cx)?);
        }
        for set in sets {
            let number =
                if let (true, Some(Value::Int(n))) = (integer, keys.first()) { Some(*n) } else { None };
            let known = match number {
                _ if only => Some(&0),
                Some(n) => groups.integers.get(&n),
                None => {
                    encode_group(node, keys, set, encoded);
                    groups.bytes.get(&encoded[..])
                }
            };
            let id = match known {
                Some(id) => *id,
                None => {
                    let size = Groups::size(node, keys, number.map_or(encoded.len(), |_| 16));
                    if !pass.full && pass.level < LEVEL_MAX && !node.scalar {
                        pass.full = !cx.fits(size, groups.charged);
                        if pass.full {
                            cx.discharge(size);
                        }
                    } else if !pass.full {
                        cx.charge(size)?;
                    }
                    if pass.full {
                        let partition = match number {
                            Some(n) => partition_of(n, pass.level),
                            None => partition_of(&encoded[..], pass.level),
                        };
                        let set = Value::Int(i64::from(set));
                        let values = node.input_slots.iter().map(|s| &cx.slots[*s]);
                        pass.out.row(&cx.work_space()?, partition, std::iter::once(&set).chain(values))?;
                        continue;
                    }
                    let id = groups.add(node, keys, set, size);
                    match number {
                        Some(n) => groups.integers.insert(n, id),
                        None => groups.bytes.insert(encoded[..].into(), id),
                    };
                    id
                }
            };
            let width = node.aggs.len();
            let first = id as usize * width;
            for (i, call) in node.aggs.iter().enumerate() {
                groups.accs[first + i].step(call, cx, (first + i) as u32, &mut self.spill)?;
            }
        }
        Ok(())
    }

    /// Groups that exist without any row: the scalar one, and empty grouping sets.
    fn add_empty(&mut self) {
        let node = &self.node;
        let nulls = vec![Value::Null; node.groups.len()];
        match &node.sets {
            None if node.scalar && self.groups.count == 0 => {
                self.groups.add(node, &nulls, 0, 0);
            }
            Some(sets) if self.groups.count == 0 => {
                for (i, _) in sets.iter().enumerate().filter(|(_, s)| s.is_empty()) {
                    self.groups.add(node, &nulls, i as u32, 0);
                }
            }
            _ => {}
        }
    }

    /// Puts a group into the frame.
    fn show(&mut self, i: usize, cx: &mut Cx<'_>) -> Result<()> {
        let node = &*self.node;
        let width = node.groups.len();
        for ((_, _, slot), v) in node.groups.iter().zip(&mut self.groups.keys[i * width..]) {
            cx.slots[*slot] = std::mem::take(v);
        }
        if let Some(slot) = node.grouping_id {
            let grouped = node.sets.as_ref().map(|s| &s[self.groups.set[i] as usize]);
            let mask =
                (0..width).filter(|k| grouped.is_some_and(|g| !g.contains(k))).fold(0i64, |m, k| m | 1 << k);
            cx.slots[slot] = Value::Int(mask);
        }
        for (acc, call) in self.groups.accs[i * node.aggs.len()..].iter().zip(&node.aggs) {
            cx.slots[call.slot] = acc.finish(call).or_else(|e| cx.arithmetic(e))?;
        }
        Ok(())
    }
}

/// The operator.
pub(super) struct HashOp {
    input: Source,
    partial: Partial,
    at: usize,
    /// Rows in files, and how often they were divided.
    waiting: Vec<(Run, u32)>,
}

impl HashOp {
    pub fn new(node: Arc<AggregateNode>, counts: Option<&Counts>) -> HashOp {
        let input = Source::of(&node.input, counts);
        HashOp { input, partial: Partial::new(node), at: 0, waiting: Vec::new() }
    }

    fn read_input(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let node = Arc::clone(&self.partial.node);
        let made = self.input.run(cx, move |input, cx| {
            let mut partial = Partial::new(Arc::clone(&node));
            let runs = partial.read(input, cx)?;
            Ok((partial.groups, partial.spill, runs))
        })?;
        let (groups, spill, mut runs) = made.own;
        (self.partial.groups, self.partial.spill) = (groups, spill);
        if made.others.is_empty() {
            self.waiting.extend(runs.into_iter().map(|run| (run, 1)));
            return Ok(());
        }
        for (groups, _, others) in made.others {
            let node = Arc::clone(&self.partial.node);
            self.partial.groups.absorb(&node, groups)?;
            runs.extend(others);
        }
        // A group that one thread had in memory may have rows in the files of another.
        let mut pass = Pass { full: true, ..Pass::new(0) };
        for run in &runs {
            self.partial.read_run(run, &mut pass, cx)?;
        }
        let runs = self.partial.end_pass(pass, cx)?;
        self.waiting.extend(runs.into_iter().map(|run| (run, 1)));
        Ok(())
    }
}

impl Operator for HashOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.partial.reset(cx);
        self.waiting.clear();
        self.at = 0;
        self.read_input(cx)?;
        self.partial.add_empty();
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.at >= self.partial.groups.count {
            let Some((run, level)) = self.waiting.pop() else { return Ok(false) };
            self.partial.reset(cx);
            self.at = 0;
            let mut pass = Pass::new(level);
            self.partial.read_run(&run, &mut pass, cx)?;
            let runs = self.partial.end_pass(pass, cx)?;
            self.waiting.extend(runs.into_iter().map(|run| (run, level + 1)));
        }
        self.at += 1;
        self.partial.show(self.at - 1, cx)?;
        Ok(true)
    }

    fn close(&mut self) {
        self.partial.groups = Groups::default();
        self.partial.spill = DistinctSpill::default();
        self.waiting = Vec::new();
        self.input.close();
    }
}

/// Key bytes of a group: its set, when there are several, and the keys that the set groups by.
fn encode_group(node: &AggregateNode, keys: &[Value], set: u32, out: &mut Vec<u8>) {
    out.clear();
    if node.sets.is_some() {
        out.extend_from_slice(&set.to_be_bytes());
    }
    for (i, v) in keys.iter().enumerate() {
        if node.sets.as_ref().is_none_or(|s| s[set as usize].contains(&i)) {
            key::append(out, v, &node.groups[i].1);
        }
    }
}
