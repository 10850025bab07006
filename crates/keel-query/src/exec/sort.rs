//! Sorting (all rows, or the first N in a bounded heap) and TOP / OFFSET.

use super::count::Counts;
use super::cx::Cx;
use super::node::{OrderKey, SortNode, TopNode};
use super::{Operator, restore, row_bytes, save};
use crate::errors::{self, Result};
use crate::expr::compile::Code;
use crate::work::{Merge, Run, RunWriter, WorkFile};
use keel_types::Value;
use keel_types::compare::order;
use std::cmp::Ordering;
use std::sync::Arc;

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

/// A sort. What memory does not hold goes to files as sorted runs, which are merged at the end.
pub struct SortOp {
    node: Arc<SortNode>,
    input: Box<dyn Operator>,
    /// Keys followed by the carried slots.
    rows: Vec<Vec<Value>>,
    at: usize,
    bytes: usize,
    /// Where the runs are.
    file: Option<Arc<WorkFile>>,
    runs: Vec<Run>,
    merge: Option<Merge>,
    row: Vec<Value>,
}

impl SortOp {
    /// An operator with its input.
    #[must_use]
    pub fn new(node: Arc<SortNode>, counts: Option<&Counts>) -> SortOp {
        let input = node.input.operator(counts);
        SortOp {
            node,
            input,
            rows: Vec::new(),
            at: 0,
            bytes: 0,
            file: None,
            runs: Vec::new(),
            merge: None,
            row: Vec::new(),
        }
    }

    fn row(&self, cx: &mut Cx<'_>) -> Result<Vec<Value>> {
        let node = &*self.node;
        let mut row = Vec::with_capacity(node.keys.len() + node.slots.len());
        for k in &node.keys {
            row.push(k.code.eval(cx)?);
        }
        row.extend(node.slots.iter().map(|s| cx.slots[*s].clone()));
        Ok(row)
    }

    fn read_all(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        while self.input.next(cx)? {
            cx.tick()?;
            let row = self.row(cx)?;
            let bytes = row_bytes(&row);
            let fits = cx.fits(bytes, self.bytes);
            self.bytes += bytes;
            self.rows.push(row);
            if !fits {
                self.write_run(cx)?;
            }
        }
        if !self.runs.is_empty() && !self.rows.is_empty() {
            self.write_run(cx)?;
        }
        let keys = &self.node.keys;
        self.rows.sort_by(|a, b| compare_rows(keys, a, b));
        if !self.runs.is_empty() {
            let runs = std::mem::take(&mut self.runs);
            self.merge =
                Some(Merge::new(&cx.work_space()?, runs, &|a: &Vec<Value>, b| compare_rows(keys, a, b))?);
        }
        Ok(())
    }

    /// Sorts what is in memory and writes it to a file.
    fn write_run(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let keys = &self.node.keys;
        self.rows.sort_by(|a, b| compare_rows(keys, a, b));
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
    fn read_top(&mut self, cx: &mut Cx<'_>, limit: usize) -> Result<()> {
        if limit == 0 {
            return Ok(());
        }
        let mut threshold: Option<Vec<Value>> = None;
        while self.input.next(cx)? {
            cx.tick()?;
            let row = self.row(cx)?;
            let keys = &self.node.keys;
            if threshold.as_ref().is_some_and(|t| compare_rows(keys, &row, t).is_ge()) {
                continue;
            }
            self.rows.push(row);
            if self.rows.len() >= limit * 2 + 64 {
                self.rows.sort_by(|a, b| compare_rows(keys, a, b));
                self.rows.truncate(limit);
                threshold = self.rows.last().cloned();
            }
        }
        let keys = &self.node.keys;
        self.rows.sort_by(|a, b| compare_rows(keys, a, b));
        self.rows.truncate(limit);
        Ok(())
    }
}

impl Operator for SortOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        cx.discharge(self.bytes);
        self.bytes = 0;
        self.rows.clear();
        self.runs.clear();
        (self.file, self.merge) = (None, None);
        self.at = 0;
        let limit = match &self.node.limit {
            Some(code) => Some(count_of(code, cx)?),
            None => None,
        };
        self.input.open(cx)?;
        match limit {
            Some(n) if n <= 100_000 => self.read_top(cx, n as usize),
            _ => self.read_all(cx),
        }
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
                let Some(row) = self.rows.get_mut(self.at) else { return Ok(false) };
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
        self.rows = Vec::new();
        self.runs = Vec::new();
        (self.file, self.merge) = (None, None);
        self.bytes = 0;
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
        if self.left == 0 && self.node.offset.is_some() {
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
