//! Sorting (all rows, or the first N in a bounded heap) and TOP / OFFSET.

use super::count::Counts;
use super::cx::Cx;
use super::node::{OrderKey, SortNode, TopNode};
use super::parallel::Source;
use super::{Operator, restore, row_bytes, save};
use crate::errors::{self, Result};
use crate::expr::compile::Code;
use crate::work::{Merge, Run, RunWriter, WorkFile};
use keel_types::Value;
use keel_types::compare::order;
use std::cmp::Ordering;
use std::sync::Arc;

/// Up to so many first rows are kept apart from the rest while they are looked for.
const LIMIT_MAX: u64 = 100_000;

/// Compares two rows whose first values are the sort keys.
#[must_use]
pub fn compare_rows(keys: &[OrderKey], a: &[Value], b: &[Value]) -> Ordering {
    for (i, k) in keys.iter().enumerate() {
        let o = order(&a[i], &b[i], k.collation);
        if o != Ordering::Equal {
            return if k.descending { o.reverse() } else { o };
        }
    }
    Ordering::Equal
}

/// Reads a row count: NULL and negative numbers are errors.
pub fn count_of(code: &Code, cx: &mut Cx<'_>) -> Result<u64> {
    match code.eval(cx)? {
        Value::Int(n) => u64::try_from(n).map_err(|_| errors::top_negative()),
        Value::Float(f) => Ok(f as u64),
        _ => Err(errors::top_not_valid()),
    }
}

/// Rows that one thread has read, sorted: keys followed by the carried slots.
#[derive(Default)]
struct Sorted {
    rows: Vec<Vec<Value>>,
    bytes: usize,
    /// Where the runs are.
    file: Option<Arc<WorkFile>>,
    /// What memory did not hold; then nothing is in `rows`.
    runs: Vec<Run>,
}

impl Sorted {
    /// Reads an input to its end; of a limited sort only the first rows are kept.
    fn read(
        node: &SortNode,
        limit: Option<usize>,
        input: &mut dyn Operator,
        cx: &mut Cx<'_>,
    ) -> Result<Sorted> {
        let mut sorted = Sorted::default();
        input.open(cx)?;
        match limit {
            Some(limit) => sorted.read_top(node, limit, input, cx)?,
            None => sorted.read_all(node, input, cx)?,
        }
        Ok(sorted)
    }

    fn row(node: &SortNode, cx: &mut Cx<'_>) -> Result<Vec<Value>> {
        let mut row = Vec::with_capacity(node.keys.len() + node.slots.len());
        for k in &node.keys {
            row.push(k.code.eval(cx)?);
        }
        row.extend(node.slots.iter().map(|s| cx.slots[*s].clone()));
        Ok(row)
    }

    fn read_all(&mut self, node: &SortNode, input: &mut dyn Operator, cx: &mut Cx<'_>) -> Result<()> {
        while input.next(cx)? {
            cx.tick()?;
            let row = Self::row(node, cx)?;
            let bytes = row_bytes(&row);
            let fits = cx.fits(bytes, self.bytes);
            self.bytes += bytes;
            self.rows.push(row);
            if !fits {
                self.write_run(node, cx)?;
            }
        }
        if self.runs.is_empty() {
            self.sort(node)
        } else {
            self.write_run(node, cx)?
        }
        Ok(())
    }

    fn sort(&mut self, node: &SortNode) {
        self.rows.sort_by(|a, b| compare_rows(&node.keys, a, b));
    }

    /// Sorts what is in memory and writes it to a file.
    fn write_run(&mut self, node: &SortNode, cx: &mut Cx<'_>) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.sort(node);
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(cx.work_space()?.file()?),
        };
        let mut out = RunWriter::new(file);
        for row in &self.rows {
            out.row(row.iter())?;
        }
        self.runs.push(out.finish()?);
        self.rows.clear();
        cx.discharge(std::mem::take(&mut self.bytes));
        Ok(())
    }

    /// Keeps the first `limit` rows: they are collected up to twice the limit, then cut back by selection.
    fn read_top(
        &mut self,
        node: &SortNode,
        limit: usize,
        input: &mut dyn Operator,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        if limit == 0 {
            return Ok(());
        }
        let mut threshold: Option<Vec<Value>> = None;
        while input.next(cx)? {
            cx.tick()?;
            let row = Self::row(node, cx)?;
            let keys = &node.keys;
            if threshold.as_ref().is_some_and(|t| compare_rows(keys, &row, t).is_ge()) {
                continue;
            }
            self.rows.push(row);
            if self.rows.len() >= limit * 2 + 64 {
                self.sort(node);
                self.rows.truncate(limit);
                threshold = self.rows.last().cloned();
            }
        }
        self.sort(node);
        self.rows.truncate(limit);
        Ok(())
    }

    /// Takes over what another thread has sorted. Runs of sorted rows are found again by the sort.
    fn absorb(&mut self, other: Sorted, node: &SortNode, cx: &mut Cx<'_>) -> Result<()> {
        self.rows.extend(other.rows);
        self.bytes += other.bytes;
        self.runs.extend(other.runs);
        if self.runs.is_empty() { Ok(()) } else { self.write_run(node, cx) }
    }
}

/// A sort. What memory does not hold goes to files as sorted runs, which are merged at the end.
pub struct SortOp {
    node: Arc<SortNode>,
    input: Source,
    sorted: Sorted,
    at: usize,
    merge: Option<Merge>,
    row: Vec<Value>,
}

impl SortOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<SortNode>, counts: Option<&Counts>) -> SortOp {
        let input = Source::of(&node.input, counts);
        SortOp { node, input, sorted: Sorted::default(), at: 0, merge: None, row: Vec::new() }
    }

    fn read(&mut self, limit: Option<usize>, cx: &mut Cx<'_>) -> Result<()> {
        let node = Arc::clone(&self.node);
        let made = self.input.run(cx, move |input, cx| Sorted::read(&node, limit, input, cx))?;
        self.sorted = made.own;
        let (node, sorted) = (&*self.node, &mut self.sorted);
        let alone = made.others.is_empty();
        for other in made.others {
            sorted.absorb(other, node, cx)?;
        }
        if !alone && sorted.runs.is_empty() {
            sorted.sort(node);
            sorted.rows.truncate(limit.unwrap_or(usize::MAX));
        }
        if !sorted.runs.is_empty() {
            let runs = std::mem::take(&mut sorted.runs);
            let by_keys = |a: &Vec<Value>, b: &Vec<Value>| compare_rows(&node.keys, a, b);
            self.merge = Some(Merge::new(&cx.work_space()?, runs, &by_keys)?);
        }
        Ok(())
    }
}

impl Operator for SortOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        cx.discharge(self.sorted.bytes);
        (self.sorted, self.merge) = (Sorted::default(), None);
        self.at = 0;
        let mut limit = None;
        for code in &self.node.limit {
            limit = Some(count_of(code, cx)?.saturating_add(limit.unwrap_or(0)));
        }
        self.read(limit.filter(|n| *n <= LIMIT_MAX).map(|n| n as usize), cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let keys = self.node.keys.len();
        let row = match &mut self.merge {
            Some(merge) => {
                let order = &self.node.keys;
                if !merge.next(&mut self.row, &|a, b| compare_rows(order, a, b))? {
                    return Ok(false);
                }
                &mut self.row
            }
            None => {
                let Some(row) = self.sorted.rows.get_mut(self.at) else { return Ok(false) };
                self.at += 1;
                row
            }
        };
        for (slot, v) in self.node.slots.iter().zip(&mut row[keys..]) {
            cx.slots[*slot] = std::mem::take(v);
        }
        Ok(true)
    }

    fn close(&mut self) {
        (self.sorted, self.merge) = (Sorted::default(), None);
        self.input.close();
    }
}

/// TOP and OFFSET.
pub struct TopOp {
    node: Arc<TopNode>,
    input: Box<dyn Operator>,
    left: u64,
    last_keys: Option<Vec<Value>>,
    done: bool,
    /// PERCENT: all rows of the input, last first.
    rows: Option<Vec<Vec<Value>>>,
}

impl TopOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<TopNode>, counts: Option<&Counts>) -> TopOp {
        let input = node.input.operator(counts);
        TopOp { node, input, left: 0, last_keys: None, done: false, rows: None }
    }

    fn open_percent(&mut self, cx: &mut Cx<'_>, percent: f64) -> Result<()> {
        if !(0.0..=100.0).contains(&percent) {
            let m = "Percent values must be between 0 and 100.";
            return Err(keel_types::SqlError::new(1031, 15, 1, m));
        }
        let mut rows = Vec::new();
        while self.input.next(cx)? {
            cx.tick()?;
            let row = save(cx, &self.node.slots);
            cx.charge(row_bytes(&row))?;
            rows.push(row);
        }
        self.left = (rows.len() as f64 * percent / 100.0).ceil() as u64;
        rows.reverse();
        self.rows = Some(rows);
        Ok(())
    }

    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        match &mut self.rows {
            None => self.input.next(cx),
            Some(rows) => {
                let Some(row) = rows.pop() else { return Ok(false) };
                restore(cx, &self.node.slots, &row);
                Ok(true)
            }
        }
    }
}

impl Operator for TopOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.last_keys = None;
        self.done = false;
        self.rows = None;
        let mut percent = None;
        self.left = match &self.node.count {
            None => u64::MAX,
            Some(c) if self.node.percent => {
                percent = match c.eval(cx)? {
                    Value::Float(f) => Some(f),
                    _ => return Err(errors::top_not_valid()),
                };
                0
            }
            Some(c) => count_of(c, cx)?,
        };
        let skip = match &self.node.offset {
            Some(o) => match o.eval(cx)? {
                Value::Int(n) => u64::try_from(n).map_err(|_| errors::offset_negative())?,
                _ => return Err(errors::top_not_valid()),
            },
            None => 0,
        };
        if self.left == 0 && self.node.offset.is_some() && !self.node.may_be_none {
            return Err(errors::fetch_not_positive());
        }
        if self.left == 0 && percent.is_none() {
            self.done = true;
            return Ok(());
        }
        self.input.open(cx)?;
        if let Some(p) = percent {
            self.open_percent(cx, p)?;
        }
        for _ in 0..skip {
            if !self.input.next(cx)? {
                self.done = true;
                break;
            }
        }
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        if self.left == 0 {
            return self.next_tie(cx);
        }
        if !self.advance(cx)? {
            self.done = true;
            return Ok(false);
        }
        self.left -= 1;
        if self.left == 0 {
            match &self.node.ties {
                Some(keys) => {
                    self.last_keys = Some(keys.iter().map(|k| k.code.eval(cx)).collect::<Result<Vec<_>>>()?);
                }
                None => self.done = true,
            }
        }
        Ok(true)
    }

    fn close(&mut self) {
        self.rows = None;
        self.input.close();
    }
}

impl TopOp {
    fn next_tie(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let (Some(last), Some(_)) = (self.last_keys.take(), &self.node.ties) else { return Ok(false) };
        if !self.advance(cx)? {
            self.done = true;
            return Ok(false);
        }
        let node = self.node.clone();
        let keys = node.ties.as_deref().unwrap_or(&[]);
        let now = keys.iter().map(|k| k.code.eval(cx)).collect::<Result<Vec<_>>>()?;
        if compare_rows(keys, &last, &now).is_ne() {
            self.done = true;
            return Ok(false);
        }
        self.last_keys = Some(last);
        Ok(true)
    }
}
