//! Hash join.
//!
//! The build side is read into one flat vector of values; a table maps key → first row, and each row names the next one
//! with the same key. Integer keys are hashed as such, all others by their key encoding, under which equal values (by
//! their collation) have equal bytes.
//!
//! When memory does not hold the build side, both sides go to files, divided by the hash of the key (Grace hash join):
//! pairs of files are then joined one after the other, and divided again where a build file is still too large. A join
//! whose probe side has an order that the plan relies on numbers the probe rows, writes what each pair yields, and
//! merges that by number.

use super::count::Counts;
use super::cx::{Cx, value_bytes};
use super::node::{HashJoinNode, HashKey, HashKeys};
use super::parallel::Source;
use super::{Operator, restore, set_null};
use crate::bind::rel::JoinKind;
use crate::errors::Result;
use crate::expr::compile::Code;
use crate::work::{LEVEL_MAX, Merge, PARTITIONS, Partitions, Run, RunReader, RunWriter, partition_of};
use hashbrown::HashMap;
use keel_types::Value;
use keel_types::key;
use std::cmp::Ordering;
use std::sync::Arc;

/// No row.
pub(super) const NONE: u32 = u32::MAX;

type FastHash = foldhash::fast::RandomState;

/// A join key; the bytes of an encoded one lie in a buffer beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Null,
    Int(i64),
    Encoded,
}

impl Key {
    fn partition(self, bytes: &[u8], level: u32) -> usize {
        match self {
            Key::Null => 0,
            Key::Int(n) => partition_of(n, level),
            Key::Encoded => partition_of(bytes, level),
        }
    }

    /// As it is written to a file.
    fn to_value(self, bytes: &[u8]) -> Value {
        match self {
            Key::Null => Value::Null,
            Key::Int(n) => Value::Int(n),
            Key::Encoded => Value::Bytes(bytes.into()),
        }
    }

    /// From a file.
    fn of_value(value: Option<&Value>, bytes: &mut Vec<u8>) -> Key {
        match value {
            Some(Value::Int(n)) => Key::Int(*n),
            Some(Value::Bytes(b)) => {
                bytes.clear();
                bytes.extend_from_slice(b);
                Key::Encoded
            }
            _ => Key::Null,
        }
    }
}

/// Rows by their keys.
#[derive(Default)]
pub(super) struct Table {
    integers: HashMap<i64, u32, FastHash>,
    bytes: HashMap<Box<[u8]>, u32, FastHash>,
    /// Rows with a NULL key (full joins).
    nulls: Vec<u32>,
    /// All columns of all rows.
    pub(super) values: Vec<Value>,
    /// The next row with the same key, in the order they came in; the last one's is the first. Maps have the last one.
    next: Vec<u32>,
    pub(super) bytes_charged: usize,
}

impl Table {
    /// Keeps the frame's row; false when memory does not hold more.
    pub(super) fn keep(&mut self, key: Key, bytes_of_key: &[u8], slots: &[usize], cx: &mut Cx<'_>) -> bool {
        let mut bytes = 32 + if key == Key::Encoded { bytes_of_key.len() } else { 0 };
        for s in slots {
            let v = cx.slots[*s].clone();
            bytes += value_bytes(&v);
            self.values.push(v);
        }
        let fits = cx.fits(bytes, self.bytes_charged);
        self.bytes_charged += bytes;
        self.add(key, bytes_of_key);
        fits
    }

    /// Adds a row whose values were appended to `values`.
    fn add(&mut self, key: Key, bytes: &[u8]) {
        let row = self.next.len() as u32;
        let last = match key {
            Key::Null => {
                self.nulls.push(row);
                None
            }
            Key::Int(n) => self.integers.insert(n, row),
            Key::Encoded => match self.bytes.get_mut(bytes) {
                Some(last) => Some(std::mem::replace(last, row)),
                None => self.bytes.insert(bytes.into(), row),
            },
        };
        let first = last.map_or(row, |last| std::mem::replace(&mut self.next[last as usize], row));
        self.next.push(first);
    }

    /// Takes over all rows of another table.
    fn absorb(&mut self, mut other: Table) {
        let base = self.next.len() as u32;
        self.values.append(&mut other.values);
        self.next.extend(other.next.iter().map(|row| row + base));
        self.nulls.extend(other.nulls.iter().map(|row| row + base));
        self.bytes_charged += other.bytes_charged;
        let next = &mut self.next;
        // Both chains are rings: exchanging what comes after their last rows makes them one.
        let mut join = |own: Option<u32>, last: u32| {
            if let Some(own) = own {
                next.swap(own as usize, last as usize);
            }
        };
        for (key, last) in other.integers {
            join(self.integers.insert(key, last + base), last + base);
        }
        for (key, last) in other.bytes {
            join(self.bytes.insert(key, last + base), last + base);
        }
    }

    /// The first row with a key, or none.
    pub(super) fn find(&self, key: Key, bytes: &[u8]) -> u32 {
        let last = match key {
            Key::Null => None,
            Key::Int(n) => self.integers.get(&n),
            Key::Encoded => self.bytes.get(bytes),
        };
        last.map_or(NONE, |last| self.next[*last as usize])
    }

    /// The row with the same key that came after this one, or none.
    pub(super) fn following(&self, row: usize) -> u32 {
        let next = self.next[row];
        if next as usize > row { next } else { NONE }
    }

    /// Writes all rows to files, and is empty.
    fn divide(&mut self, width: usize, level: u32, out: &mut Partitions, cx: &mut Cx<'_>) -> Result<()> {
        let space = cx.work_space()?;
        let table = std::mem::take(self);
        let mut write = |key: Key, bytes: &[u8], mut row: u32| -> Result<()> {
            let value = key.to_value(bytes);
            while row != NONE {
                let at = row as usize;
                let values = table.values[at * width..(at + 1) * width].iter();
                out.row(&space, key.partition(bytes, level), std::iter::once(&value).chain(values))?;
                row = table.following(at);
            }
            Ok(())
        };
        for (n, last) in &table.integers {
            write(Key::Int(*n), &[], table.next[*last as usize])?;
        }
        for (bytes, last) in &table.bytes {
            write(Key::Encoded, bytes, table.next[*last as usize])?;
        }
        for row in &table.nulls {
            write(Key::Null, &[], *row)?;
        }
        cx.discharge(table.bytes_charged);
        Ok(())
    }
}

/// A build side as it was read.
pub(crate) struct Fill {
    table: Arc<Table>,
    /// It has a row with a NULL key.
    has_null: bool,
    /// It has rows.
    has_rows: bool,
    /// Where its rows are when memory does not hold them.
    out: Option<Partitions>,
}

impl Fill {
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        !self.has_rows
    }

    /// Whether its rows went to files.
    pub fn is_divided(&self) -> bool {
        self.out.is_some()
    }

    /// The same for another thread. Nothing of it may be in files.
    pub fn share(&self) -> Fill {
        let Fill { has_null, has_rows, .. } = *self;
        Fill { table: Arc::clone(&self.table), has_null, has_rows, out: None }
    }

    /// Reads a build side to its end.
    fn read(node: &HashJoinNode, input: &mut dyn Operator, cx: &mut Cx<'_>) -> Result<Fill> {
        let full = node.kind == JoinKind::Full;
        let (mut table, mut bytes_of_key) = (Table::default(), Vec::new());
        let (mut has_null, mut has_rows, mut out) = (false, false, None);
        input.open(cx)?;
        while input.next(cx)? {
            cx.tick()?;
            has_rows = true;
            let key = key_of(&node.keys, &node.build_keys, &mut bytes_of_key, cx)?;
            if key == Key::Null {
                has_null = true;
                if !full {
                    continue;
                }
            }
            if let Some(out) = &mut out {
                let value = key.to_value(&bytes_of_key);
                let values = node.build_slots.iter().map(|s| &cx.slots[*s]);
                let partition = key.partition(&bytes_of_key, 0);
                write_row(out, partition, std::iter::once(&value).chain(values), cx)?;
                continue;
            }
            if !table.keep(key, &bytes_of_key, &node.build_slots, cx) {
                table.divide(node.build_slots.len(), 0, out.insert(Partitions::new()), cx)?;
            }
        }
        Ok(Fill { table: Arc::new(table), has_null, has_rows, out })
    }

    /// Takes over what another thread has read; what is in files stays in files, and takes the rest along.
    fn absorb(&mut self, mut other: Fill, node: &HashJoinNode, cx: &mut Cx<'_>) -> Result<()> {
        self.has_null |= other.has_null;
        self.has_rows |= other.has_rows;
        let mut rows = std::mem::take(Arc::get_mut(&mut other.table).expect("nobody shares it yet"));
        let table = Arc::get_mut(&mut self.table).expect("nobody shares it yet");
        if self.out.is_none() && other.out.is_none() {
            table.absorb(rows);
            return Ok(());
        }
        let width = node.build_slots.len();
        let out = match &mut self.out {
            Some(out) => out,
            none => none.insert(Partitions::new()),
        };
        table.divide(width, 0, out, cx)?;
        rows.divide(width, 0, out, cx)?;
        let Some(written) = other.out else { return Ok(()) };
        let mut row = Vec::new();
        for (partition, run) in written.finish()?.into_iter().enumerate() {
            let Some(run) = run else { continue };
            let mut reader = RunReader::new(&run);
            while reader.next(&mut row)? {
                cx.tick()?;
                write_row(out, partition, row.iter(), cx)?;
            }
        }
        Ok(())
    }
}

/// Reads the build side of a join, with helpers where the plan says so.
pub(crate) fn build(node: &Arc<HashJoinNode>, counts: Option<&Counts>, cx: &mut Cx<'_>) -> Result<Fill> {
    let mut source = Source::of(&node.build, counts);
    let fill = fill(node, &mut source, cx);
    source.close();
    fill
}

fn fill(node: &Arc<HashJoinNode>, source: &mut Source, cx: &mut Cx<'_>) -> Result<Fill> {
    let of = Arc::clone(node);
    let made = source.run(cx, move |input, cx| Fill::read(&of, input, cx))?;
    let mut fill = made.own;
    for other in made.others {
        fill.absorb(other, node, cx)?;
    }
    Ok(fill)
}

/// The key of the frame's row.
#[inline]
pub(super) fn key_of(keys: &HashKeys, codes: &[Code], bytes: &mut Vec<u8>, cx: &mut Cx<'_>) -> Result<Key> {
    if keys.integer {
        return codes[0].with(cx, |v| if let Value::Int(n) = v { Key::Int(*n) } else { Key::Null });
    }
    let present = encode_keys(codes, &keys.parts, cx, bytes)?;
    Ok(if present { Key::Encoded } else { Key::Null })
}

/// Files to be joined with each other.
struct Pair {
    build: Option<Run>,
    probe: Option<Run>,
    /// How often their rows were divided.
    level: u32,
}

/// Where probe rows come from.
enum Probe {
    Input,
    File(RunReader),
    Nothing,
}

/// Hash join.
pub struct HashJoinOp {
    node: Arc<HashJoinNode>,
    probe: Box<dyn Operator>,
    build: Source,
    table: Arc<Table>,
    /// Which rows of the table have matched, of a full join.
    matched: Vec<bool>,
    /// The build side has a row with a NULL key.
    has_null: bool,
    /// The build side has rows.
    has_rows: bool,
    source: Probe,
    waiting: Vec<Pair>,
    /// Output in the order of the probe side, of a divided join.
    merge: Option<Merge>,
    /// Next candidate of the current probe row.
    at: u32,
    /// A probe row is current.
    probing: bool,
    found: bool,
    /// Position in the final pass over unmatched build rows of a full join.
    leftover: Option<usize>,
    key: Vec<u8>,
    /// A row from a file: key, number, values.
    row: Vec<Value>,
    /// Number of the current probe row of a divided join.
    number: i64,
}

/// Appends all keys; false when one is NULL and that is equal to nothing.
fn encode_keys(codes: &[Code], columns: &[HashKey], cx: &mut Cx<'_>, out: &mut Vec<u8>) -> Result<bool> {
    out.clear();
    let mut present = true;
    for (code, HashKey { column, with_nulls }) in codes.iter().zip(columns) {
        present &= code.with(cx, |v| {
            key::append(out, v, column);
            *with_nulls || !matches!(v, Value::Null)
        })?;
    }
    Ok(present)
}

impl HashJoinOp {
    /// An operator with its inputs.
    #[must_use]
    pub fn new(node: Arc<HashJoinNode>, counts: Option<&Counts>) -> HashJoinOp {
        let (probe, build) = (node.probe.operator(counts), Source::of(&node.build, counts));
        HashJoinOp {
            node,
            probe,
            build,
            table: Arc::default(),
            matched: Vec::new(),
            has_null: false,
            has_rows: false,
            source: Probe::Input,
            waiting: Vec::new(),
            merge: None,
            at: NONE,
            probing: false,
            found: false,
            leftover: None,
            key: Vec::new(),
            row: Vec::new(),
            number: 0,
        }
    }

    fn key(&mut self, cx: &mut Cx<'_>) -> Result<Key> {
        key_of(&self.node.keys, &self.node.probe_keys, &mut self.key, cx)
    }

    /// Has the build side, which may have been read before; what memory does not hold is in files, which are returned.
    fn fill(&mut self, cx: &mut Cx<'_>) -> Result<Option<Partitions>> {
        cx.discharge(self.table.bytes_charged);
        self.table = Arc::default();
        let built = cx.together().and_then(|together| together.take_built(&self.node));
        let fill = match built {
            Some(fill) => fill,
            None => fill(&self.node, &mut self.build, cx)?,
        };
        (self.has_null, self.has_rows) = (fill.has_null, fill.has_rows);
        self.set_table(fill.table);
        Ok(fill.out)
    }

    fn set_table(&mut self, table: Arc<Table>) {
        self.matched.clear();
        if self.node.kind == JoinKind::Full {
            self.matched.resize(table.next.len(), false);
        }
        self.table = table;
    }

    /// Divides the probe side as the build side was, and makes pairs of files.
    fn divide_probe(&mut self, build: Partitions, cx: &mut Cx<'_>) -> Result<()> {
        let mut out = Partitions::new();
        self.number = 0;
        self.probe.open(cx)?;
        while self.probe.next(cx)? {
            cx.tick()?;
            let key = self.key(cx)?;
            if key == Key::Null && matches!(self.node.kind, JoinKind::Inner | JoinKind::Semi) {
                continue;
            }
            self.number += 1;
            let head = [key.to_value(&self.key), Value::Int(self.number)];
            let values = self.node.probe_saved.iter().map(|s| &cx.slots[*s]);
            write_row(&mut out, key.partition(&self.key, 0), head.iter().chain(values), cx)?;
        }
        self.pair(build, out, 1)
    }

    fn pair(&mut self, build: Partitions, probe: Partitions, level: u32) -> Result<()> {
        let pairs = build.finish()?.into_iter().zip(probe.finish()?);
        let wanted = |b: &Option<Run>, p: &Option<Run>| match self.node.kind {
            JoinKind::Full => b.is_some() || p.is_some(),
            JoinKind::Inner | JoinKind::Semi => b.is_some() && p.is_some(),
            _ => p.is_some(),
        };
        let pairs = pairs.filter(|(b, p)| wanted(b, p));
        self.waiting.extend(pairs.map(|(build, probe)| Pair { build, probe, level }));
        Ok(())
    }

    /// Makes the next pair of files current; false when there is none.
    fn next_pair(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            cx.discharge(self.table.bytes_charged);
            self.set_table(Arc::default());
            let Some(pair) = self.waiting.pop() else {
                self.source = Probe::Nothing;
                return Ok(false);
            };
            if let Some(build) = &pair.build
                && let Some(out) = self.load_file(build, pair.level, cx)?
            {
                let probe = self.divide_file(pair.probe.as_ref(), pair.level, cx)?;
                self.pair(out, probe, pair.level + 1)?;
                continue;
            }
            self.source = pair.probe.as_ref().map_or(Probe::Nothing, |run| Probe::File(RunReader::new(run)));
            (self.probing, self.leftover) = (false, None);
            return Ok(true);
        }
    }

    /// Reads a file of build rows into the table; divides it again, and returns that, when memory is too small.
    fn load_file(&mut self, run: &Run, level: u32, cx: &mut Cx<'_>) -> Result<Option<Partitions>> {
        let width = self.node.build_slots.len();
        let (mut table, mut out) = (Table::default(), None);
        let mut reader = RunReader::new(run);
        while reader.next(&mut self.row)? {
            cx.tick()?;
            let key = Key::of_value(self.row.first(), &mut self.key);
            if let Some(out) = &mut out {
                write_row(out, key.partition(&self.key, level), self.row.iter(), cx)?;
                continue;
            }
            let bytes = 32 + self.row.iter().map(value_bytes).sum::<usize>();
            let fits = if level < LEVEL_MAX {
                cx.fits(bytes, table.bytes_charged)
            } else {
                cx.charge(bytes)?;
                true
            };
            table.bytes_charged += bytes;
            table.values.extend(self.row.drain(1..));
            table.add(key, &self.key);
            if !fits {
                table.divide(width, level, out.insert(Partitions::new()), cx)?;
            }
        }
        self.set_table(Arc::new(table));
        Ok(out)
    }

    fn divide_file(&mut self, run: Option<&Run>, level: u32, cx: &mut Cx<'_>) -> Result<Partitions> {
        let mut out = Partitions::new();
        let Some(run) = run else { return Ok(out) };
        let mut reader = RunReader::new(run);
        while reader.next(&mut self.row)? {
            cx.tick()?;
            let key = Key::of_value(self.row.first(), &mut self.key);
            write_row(&mut out, key.partition(&self.key, level), self.row.iter(), cx)?;
        }
        Ok(out)
    }

    /// Joins all pairs and sorts their rows by the number of the probe row.
    fn merge_pairs(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let space = cx.work_space()?;
        let node = Arc::clone(&self.node);
        let mut runs = Vec::new();
        let file = space.file()?;
        while self.next_pair(cx)? {
            let mut out = RunWriter::new(&file);
            while self.next_of_pass(cx)? {
                let number = Value::Int(self.number);
                let slots = node.probe_saved.iter().chain(&node.build_slots).map(|s| &cx.slots[*s]);
                out.row(std::iter::once(&number).chain(slots))?;
            }
            runs.push(out.finish()?);
        }
        self.merge = Some(Merge::new(&space, runs, &by_number)?);
        Ok(())
    }

    /// The next probe row into the frame, with its key; `None` at the end.
    fn next_probe(&mut self, cx: &mut Cx<'_>) -> Result<Option<Key>> {
        match &mut self.source {
            Probe::Nothing => Ok(None),
            Probe::Input => {
                if !self.probe.next(cx)? {
                    return Ok(None);
                }
                self.key(cx).map(Some)
            }
            Probe::File(reader) => {
                if !reader.next(&mut self.row)? {
                    return Ok(None);
                }
                if let Some(Value::Int(n)) = self.row.get(1) {
                    self.number = *n;
                }
                restore(cx, &self.node.probe_saved, self.row.get(2..).unwrap_or_default());
                Ok(Some(Key::of_value(self.row.first(), &mut self.key)))
            }
        }
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
            self.at = self.table.following(row);
            self.load(cx, row);
            let holds = match &self.node.residual {
                Some(p) => p.test(cx)?,
                None => true,
            };
            if holds {
                if let Some(m) = self.matched.get_mut(row) {
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
        while row < self.matched.len() {
            if !self.matched[row] {
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

    /// The next row of what the table holds and the probe source yields.
    fn next_of_pass(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.leftover.is_some() {
            return Ok(self.next_leftover(cx));
        }
        loop {
            if !self.probing {
                let Some(key) = self.next_probe(cx)? else {
                    self.leftover = Some(0);
                    return Ok(self.node.kind == JoinKind::Full && self.next_leftover(cx));
                };
                cx.tick()?;
                if self.node.null_aware && (self.has_null || (key == Key::Null && self.has_rows)) {
                    continue;
                }
                self.at = self.table.find(key, &self.key);
                self.found = false;
                self.probing = true;
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
}

#[allow(clippy::ptr_arg)] // the order of a merge of rows
fn by_number(a: &Vec<Value>, b: &Vec<Value>) -> Ordering {
    let number = |row: &[Value]| row.first().and_then(Value::as_int);
    number(a).cmp(&number(b))
}

fn write_row<'v>(
    out: &mut Partitions,
    partition: usize,
    values: impl Iterator<Item = &'v Value>,
    cx: &Cx<'_>,
) -> Result<()> {
    debug_assert!(partition < PARTITIONS);
    let space = cx.work_space()?;
    out.row(&space, partition, values)
}

impl Operator for HashJoinOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.waiting.clear();
        (self.merge, self.source) = (None, Probe::Input);
        (self.probing, self.leftover) = (false, None);
        if let Some(build) = self.fill(cx)? {
            self.source = Probe::Nothing;
            self.leftover = Some(0);
            self.divide_probe(build, cx)?;
            return if self.node.ordered { self.merge_pairs(cx) } else { Ok(()) };
        }
        if !self.has_rows && matches!(self.node.kind, JoinKind::Inner | JoinKind::Semi) {
            self.leftover = Some(0);
            return Ok(());
        }
        self.probe.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if let Some(merge) = &mut self.merge {
            let found = merge.next(&mut self.row, &by_number)?;
            if found {
                let node = &*self.node;
                for (slot, v) in node.probe_saved.iter().chain(&node.build_slots).zip(self.row.iter().skip(1))
                {
                    cx.slots[*slot].clone_from(v);
                }
            }
            return Ok(found);
        }
        loop {
            if self.next_of_pass(cx)? {
                return Ok(true);
            }
            if self.waiting.is_empty() || !self.next_pair(cx)? {
                return Ok(false);
            }
        }
    }

    fn close(&mut self) {
        self.table = Arc::default();
        self.waiting = Vec::new();
        (self.merge, self.source) = (None, Probe::Input);
        self.probe.close();
        self.build.close();
    }
}
