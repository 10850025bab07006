//! Window functions that look at a partition from any place: percentiles, LAG and LEAD with a distance of each row's own or
//! over NULLs, frames up to the partition's end. Each partition is read into memory, then every function is computed for
//! every row. What needs no partition in memory goes through [`super::window_stream`], above this.

use super::Operator;
use super::aggregate::{Acc, DistinctSpill, percentile};
use super::count::Counts;
use super::cx::Cx;
use super::node::{WindowCallNode, WindowNode};
use super::sliding::Sliding;
use super::{restore, row_bytes, save};
use crate::bind::rel::{FrameEnd, WindowFunc};
use crate::errors::{self, Result};
use crate::expr::compile::Code;
use keel_types::Value;
use keel_types::compare::order;
use std::sync::Arc;

/// The operator for window functions.
#[must_use]
pub fn operator(node: Arc<WindowNode>, counts: Option<&Counts>) -> Box<dyn Operator> {
    if node.calls.iter().all(super::window_stream::streams) {
        Box::new(super::window_stream::StreamWindowOp::new(node, counts))
    } else {
        Box::new(WindowOp::new(node, counts))
    }
}

/// Window functions.
struct WindowOp {
    node: Arc<WindowNode>,
    input: Box<dyn Operator>,
    /// Rows of the current partition: carried slots.
    rows: Vec<Vec<Value>>,
    /// Results per call and row.
    results: Vec<Vec<Value>>,
    at: usize,
    /// First row of the next partition, already read.
    ahead: Option<(Vec<Value>, Vec<Value>)>,
    ended: bool,
    bytes: usize,
}

impl WindowOp {
    fn new(node: Arc<WindowNode>, counts: Option<&Counts>) -> WindowOp {
        let input = node.input.operator(counts);
        WindowOp {
            node,
            input,
            rows: Vec::new(),
            results: Vec::new(),
            at: 0,
            ahead: None,
            ended: false,
            bytes: 0,
        }
    }

    fn partition_key(&self, cx: &mut Cx<'_>) -> Result<Vec<Value>> {
        self.node.partition.iter().map(|(c, _)| c.eval(cx)).collect()
    }

    /// Reads the next partition; false when there is none.
    fn read_partition(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        cx.discharge(self.bytes);
        self.bytes = 0;
        self.rows.clear();
        self.at = 0;
        let key = match self.ahead.take() {
            Some((key, row)) => {
                self.rows.push(row);
                Some(key)
            }
            None => None,
        };
        let mut key = key;
        while !self.ended {
            if !self.input.next(cx)? {
                self.ended = true;
                break;
            }
            cx.tick()?;
            let own = self.partition_key(cx)?;
            let row = save(cx, &self.node.slots);
            let bytes = row_bytes(&row);
            cx.charge(bytes)?;
            self.bytes += bytes;
            let same = key.as_ref().is_none_or(|k: &Vec<Value>| {
                self.node
                    .partition
                    .iter()
                    .zip(k.iter().zip(&own))
                    .all(|((_, c), (a, b))| order(a, b, *c).is_eq())
            });
            if !same {
                self.ahead = Some((own, row));
                break;
            }
            key.get_or_insert(own);
            self.rows.push(row);
        }
        if self.rows.is_empty() {
            return Ok(false);
        }
        self.compute(cx)?;
        Ok(true)
    }

    fn compute(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let node = self.node.clone();
        let n = self.rows.len();
        // Order values, peers, and for each call its arguments and results: as much again as the rows, and more.
        let values = node.order.len() + node.calls.iter().map(|c| c.args.len() + 1).sum::<usize>();
        let bytes = n * (values * size_of::<Value>() + 2 * size_of::<usize>());
        cx.charge(bytes)?;
        self.bytes += bytes;
        // Peers: rows equal in the ordering. peer_start[i] is the first row of i's peer group, peer_end[i] one past its last.
        let mut orders = Vec::with_capacity(n);
        for row in &self.rows {
            restore(cx, &node.slots, row);
            orders.push(node.order.iter().map(|k| k.code.eval(cx)).collect::<Result<Vec<_>>>()?);
        }
        let mut peer_start = vec![0; n];
        for i in 1..n {
            let equal = node
                .order
                .iter()
                .enumerate()
                .all(|(k, o)| order(&orders[i - 1][k], &orders[i][k], o.collation).is_eq());
            peer_start[i] = if equal { peer_start[i - 1] } else { i };
        }
        let mut peer_end = vec![n; n];
        for i in (0..n.saturating_sub(1)).rev() {
            peer_end[i] = if peer_start[i + 1] == peer_start[i] { peer_end[i + 1] } else { i + 1 };
        }
        let peers = Peers { start: peer_start, end: peer_end };
        self.results.clear();
        for call in &node.calls {
            let column = self.call(cx, &node, call, &peers)?;
            self.results.push(column);
        }
        Ok(())
    }

    fn arguments(&self, cx: &mut Cx<'_>, node: &WindowNode, code: &Code) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            restore(cx, &node.slots, row);
            values.push(code.eval(cx)?);
        }
        Ok(values)
    }

    fn call(
        &self,
        cx: &mut Cx<'_>,
        node: &WindowNode,
        call: &WindowCallNode,
        peers: &Peers,
    ) -> Result<Vec<Value>> {
        let n = self.rows.len();
        Ok(match call.func {
            WindowFunc::Lag | WindowFunc::Lead => self.shift(cx, node, call)?,
            WindowFunc::FirstValue | WindowFunc::LastValue => {
                let values = self.arguments(cx, node, &call.args[0])?;
                let pick = |(start, end): (usize, usize)| {
                    if start >= end {
                        return Value::Null;
                    }
                    let mut frame = values[start..end]
                        .iter()
                        .filter(|v| !(call.ignore_nulls && matches!(v, Value::Null)));
                    let found =
                        if call.func == WindowFunc::FirstValue { frame.next() } else { frame.next_back() };
                    found.cloned().unwrap_or_default()
                };
                (0..n).map(|i| pick(frame_of(call, peers, i, n))).collect()
            }
            WindowFunc::PercentileCont | WindowFunc::PercentileDisc => self.percentile(cx, node, call)?,
            WindowFunc::Agg(_) => self.aggregate(cx, node, call, peers)?,
            WindowFunc::RowNumber
            | WindowFunc::Rank
            | WindowFunc::DenseRank
            | WindowFunc::NTile
            | WindowFunc::PercentRank
            | WindowFunc::CumeDist => unreachable!("computed as the rows pass"),
        })
    }

    fn shift(&self, cx: &mut Cx<'_>, node: &WindowNode, call: &WindowCallNode) -> Result<Vec<Value>> {
        let n = self.rows.len();
        let values = self.arguments(cx, node, &call.args[0])?;
        let offsets = call.args.get(1).map(|o| self.arguments(cx, node, o)).transpose()?;
        let defaults = call.args.get(2).map(|d| self.arguments(cx, node, d)).transpose()?;
        let mut out = Vec::with_capacity(n);
        for i in 0..n {
            let by = match offsets.as_ref().map(|o| &o[i]) {
                None => 1,
                Some(Value::Int(k)) if *k < 0 => return Err(errors::negative_offset()),
                Some(Value::Int(k)) => *k,
                Some(_) => 0,
            };
            let step: i64 = if call.func == WindowFunc::Lag { -1 } else { 1 };
            let target = if call.ignore_nulls {
                let mut left = by;
                let mut at = i as i64;
                while left > 0 {
                    at += step;
                    match usize::try_from(at).ok().and_then(|k| values.get(k)) {
                        None => break,
                        Some(v) => left -= i64::from(!matches!(v, Value::Null)),
                    }
                }
                at
            } else {
                i as i64 + step * by
            };
            let found = usize::try_from(target).ok().and_then(|k| values.get(k)).cloned();
            out.push(found.unwrap_or_else(|| defaults.as_ref().map_or(Value::Null, |d| d[i].clone())));
        }
        Ok(out)
    }

    fn percentile(&self, cx: &mut Cx<'_>, node: &WindowNode, call: &WindowCallNode) -> Result<Vec<Value>> {
        let n = self.rows.len();
        let fraction = match self.arguments(cx, node, &call.args[0])?.first() {
            Some(Value::Float(f)) => *f,
            Some(Value::Decimal(d)) => d.to_f64(),
            Some(Value::Int(i)) => *i as f64,
            Some(_) => return Err(errors::percentile_out_of_range()),
            None => 0.0,
        };
        if !(0.0..=1.0).contains(&fraction) {
            return Err(errors::percentile_out_of_range());
        }
        let values: Vec<Value> = self
            .arguments(cx, node, &call.args[1])?
            .into_iter()
            .filter(|v| !matches!(v, Value::Null))
            .collect();
        let result = percentile(&values, fraction, call.func == WindowFunc::PercentileDisc);
        Ok(vec![result; n])
    }

    /// Aggregates over frames. Those up to the partition's end are accumulated once, from there; others slide.
    fn aggregate(
        &self,
        cx: &mut Cx<'_>,
        node: &WindowNode,
        call: &WindowCallNode,
        peers: &Peers,
    ) -> Result<Vec<Value>> {
        let n = self.rows.len();
        let Some(spec) = super::window_stream::spec(call) else { return Ok(vec![Value::Null; n]) };
        let values = call.args.first().map(|code| self.arguments(cx, node, code)).transpose()?;
        let feed = |acc: &mut Acc, i: usize, cx: &mut Cx<'_>| -> Result<()> {
            if let Some(v) = &values {
                cx.slots[call.slot] = v[i].clone();
            }
            acc.step(&spec, cx, 0, &mut DistinctSpill::default())
        };
        let mut out = vec![Value::Null; n];
        if call.frame.end == FrameEnd::UnboundedFollowing {
            let (mut acc, mut from) = (Acc::new(&spec), n);
            for i in (0..n).rev() {
                let (start, _) = frame_of(call, peers, i, n);
                while from > start {
                    from -= 1;
                    feed(&mut acc, from, cx)?;
                }
                cx.tick()?;
                out[i] = acc.finish(&spec)?;
            }
            return Ok(out);
        }
        let mut sliding = Sliding::new(&spec);
        let value = |i: usize| values.as_ref().map_or(Value::Null, |v| v[i].clone());
        for (i, result) in out.iter_mut().enumerate() {
            let (start, end) = frame_of(call, peers, i, n);
            cx.tick()?;
            *result = sliding.over(start..end.max(start), &spec, value, cx)?;
        }
        Ok(out)
    }
}

struct Peers {
    start: Vec<usize>,
    end: Vec<usize>,
}

/// The frame of row `i` as a range of rows.
fn frame_of(call: &WindowCallNode, peers: &Peers, i: usize, n: usize) -> (usize, usize) {
    let start = match call.frame.start {
        FrameEnd::UnboundedPreceding => 0,
        FrameEnd::Offset(0) if !call.frame.rows => peers.start[i],
        FrameEnd::Offset(k) => (i as i64 + k).clamp(0, n as i64) as usize,
        FrameEnd::UnboundedFollowing => n,
    };
    let end = match call.frame.end {
        FrameEnd::UnboundedPreceding => 0,
        FrameEnd::Offset(0) if !call.frame.rows => peers.end[i],
        FrameEnd::Offset(k) => (i as i64 + k + 1).clamp(0, n as i64) as usize,
        FrameEnd::UnboundedFollowing => n,
    };
    (start, end)
}

impl Operator for WindowOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.rows.clear();
        self.at = 0;
        self.ahead = None;
        self.ended = false;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.at >= self.rows.len() && !self.read_partition(cx)? {
            return Ok(false);
        }
        let i = self.at;
        self.at += 1;
        restore(cx, &self.node.slots, &self.rows[i]);
        for (call, column) in self.node.calls.iter().zip(&mut self.results) {
            cx.slots[call.slot] = std::mem::take(&mut column[i]);
        }
        Ok(true)
    }

    fn close(&mut self) {
        self.rows = Vec::new();
        self.results = Vec::new();
        self.ahead = None;
        self.input.close();
    }
}
