//! Window functions that need no partition in memory: what a row gets is known from the rows before it and its peers
//! (ROW_NUMBER, RANK, DENSE_RANK, aggregates up to the current row), or from one pass over its partition (aggregates of
//! the whole partition).
//!
//! ```text
//!   only the former:   input ──► peers ──► rows
//!   with the latter:   input ──► partition, in memory or in a file; aggregated as it passes ──► peers ──► rows
//! ```
//!
//! In memory are the rows that are equal in the order, one at a time without an aggregate over RANGE.

use super::Operator;
use super::aggregate::{Acc, DistinctSpill};
use super::cx::Cx;
use super::node::{AggregateCall, WindowCallNode, WindowNode};
use super::{restore, row_bytes, save};
use crate::bind::rel::{AggFunc, FrameEnd, WindowFunc};
use crate::errors::Result;
use crate::expr::compile::Code;
use crate::work::{RunReader, RunWriter};
use keel_types::Value;
use keel_types::compare::order;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a call asks of the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The rows up to this one.
    Row,
    /// Those and the peers of this one.
    Peers,
    /// The whole partition.
    Partition,
}

fn reach(call: &WindowCallNode) -> Option<Reach> {
    use FrameEnd as E;
    match call.func {
        WindowFunc::RowNumber | WindowFunc::Rank | WindowFunc::DenseRank => Some(Reach::Row),
        // What these keep of a partition is as large as its rows.
        WindowFunc::Agg(AggFunc::StringAgg | AggFunc::PercentileCont | AggFunc::PercentileDisc) => None,
        WindowFunc::Agg(_) => match (call.frame.rows, call.frame.start, call.frame.end) {
            (_, E::UnboundedPreceding, E::UnboundedFollowing) => Some(Reach::Partition),
            (true, E::UnboundedPreceding, E::Offset(0)) => Some(Reach::Row),
            (false, E::UnboundedPreceding, E::Offset(0)) => Some(Reach::Peers),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the calls of a node can be computed as the rows pass.
pub fn streams(node: &WindowNode) -> bool {
    node.calls.iter().all(|c| reach(c).is_some())
}

/// Rows of one partition that were read ahead.
#[derive(Default)]
struct Tape {
    rows: VecDeque<Vec<Value>>,
    /// Behind them, in a file.
    reader: Option<RunReader>,
    bytes: usize,
}

/// See the module.
pub struct StreamWindowOp {
    node: Arc<WindowNode>,
    input: Box<dyn Operator>,
    /// What each call asks for.
    reach: Vec<Reach>,
    /// The calls as aggregates; those that are none are left out.
    specs: Vec<Option<AggregateCall>>,
    accs: Vec<Option<Acc>>,
    /// Results that hold for the whole partition.
    constant: Vec<Value>,
    /// Partition values of the current partition.
    key: Option<Vec<Value>>,
    /// First row of the next partition, already read.
    ahead: Option<(Vec<Value>, Vec<Value>)>,
    ended: bool,
    tape: Option<Tape>,
    /// First row of the next peers, already taken from the partition, with its order values.
    next_peer: Option<(Vec<Value>, Vec<Value>)>,
    /// Rows being handed out, and the results of each.
    peers: VecDeque<(Vec<Value>, Vec<Value>)>,
    /// Rows and peers of the partition so far.
    numbers: Numbers,
    /// Order values of the peers being read.
    peer: Option<Vec<Value>>,
    bytes: usize,
}

/// Counts within a partition.
#[derive(Clone, Copy, Default)]
struct Numbers {
    rows: i64,
    groups: i64,
    /// Number of the first row of the current peers.
    rank: i64,
}

/// A call as an aggregate over its result slot, where each value is put in turn.
fn spec(call: &WindowCallNode) -> Option<AggregateCall> {
    let WindowFunc::Agg(func) = call.func else { return None };
    Some(AggregateCall {
        func,
        arg: call.args.first().map(|_| Code::Slot(call.slot)),
        arg_ty: call.arg_ty,
        collation: call.collation,
        separator: None,
        order: Vec::new(),
        distinct: false,
        slot: call.slot,
        ty: call.ty,
    })
}

impl StreamWindowOp {
    /// An operator with its input; only for nodes that [`streams`] says yes to.
    #[must_use]
    pub fn new(node: Arc<WindowNode>) -> StreamWindowOp {
        let input = node.input.operator();
        StreamWindowOp {
            reach: node.calls.iter().map(|c| reach(c).unwrap_or(Reach::Partition)).collect(),
            specs: node.calls.iter().map(spec).collect(),
            node,
            input,
            accs: Vec::new(),
            constant: Vec::new(),
            key: None,
            ahead: None,
            ended: false,
            tape: None,
            next_peer: None,
            peers: VecDeque::new(),
            numbers: Numbers::default(),
            peer: None,
            bytes: 0,
        }
    }

    /// The input's next row while it belongs to the current partition.
    fn read(&mut self, cx: &mut Cx<'_>) -> Result<Option<Vec<Value>>> {
        if self.ended || self.ahead.is_some() {
            return Ok(None);
        }
        if !self.input.next(cx)? {
            self.ended = true;
            return Ok(None);
        }
        cx.tick()?;
        let own = self.node.partition.iter().map(|(c, _)| c.eval(cx)).collect::<Result<Vec<_>>>()?;
        let row = save(cx, &self.node.slots);
        let same = self.key.as_ref().is_some_and(|key| {
            let pairs = self.node.partition.iter().zip(key.iter().zip(&own));
            pairs.into_iter().all(|((_, c), (a, b))| order(a, b, *c).is_eq())
        });
        if same {
            return Ok(Some(row));
        }
        self.ahead = Some((own, row));
        Ok(None)
    }

    /// Starts the next partition; false when there is none.
    fn begin_partition(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.ahead.is_none() {
            self.read(cx)?;
        }
        let Some((key, row)) = self.ahead.take() else { return Ok(false) };
        self.key = Some(key);
        (self.numbers, self.peer, self.tape) = (Numbers::default(), None, None);
        self.accs = self.specs.iter().map(|s| s.as_ref().map(Acc::new)).collect();
        self.constant = vec![Value::Null; self.specs.len()];
        if self.reach.contains(&Reach::Partition) {
            self.read_partition(row, cx)?;
        } else {
            self.next_peer = Some((self.order_of(&row, cx)?, row));
        }
        Ok(true)
    }

    /// Reads a whole partition and aggregates it.
    fn read_partition(&mut self, first: Vec<Value>, cx: &mut Cx<'_>) -> Result<()> {
        let mut tape = Tape::default();
        let mut writer: Option<RunWriter> = None;
        let mut row = Some(first);
        while let Some(current) = row {
            restore(cx, &self.node.slots, &current);
            self.step(Reach::Partition, cx)?;
            let bytes = row_bytes(&current);
            if writer.is_none() && !cx.fits(bytes, tape.bytes) {
                cx.discharge(bytes);
                writer = Some(RunWriter::new(&cx.work_space()?.file()?));
            }
            match &mut writer {
                Some(writer) => writer.row(current.iter())?,
                None => {
                    tape.bytes += bytes;
                    tape.rows.push_back(current);
                }
            }
            row = self.read(cx)?;
        }
        tape.reader = writer.map(|w| w.finish()).transpose()?.map(|run| RunReader::new(&run));
        for (i, spec) in self.specs.iter().enumerate() {
            if let (Reach::Partition, Some(spec), Some(acc)) = (self.reach[i], spec, &self.accs[i]) {
                self.constant[i] = acc.finish(spec)?;
            }
        }
        self.tape = Some(tape);
        self.look_ahead(cx)
    }

    /// The partition's next row.
    fn take(&mut self, cx: &mut Cx<'_>) -> Result<Option<Vec<Value>>> {
        let Some(tape) = &mut self.tape else { return self.read(cx) };
        if let Some(row) = tape.rows.pop_front() {
            let bytes = row_bytes(&row);
            tape.bytes -= bytes.min(tape.bytes);
            cx.discharge(bytes);
            return Ok(Some(row));
        }
        let Some(reader) = &mut tape.reader else { return Ok(None) };
        let mut row = Vec::new();
        Ok(reader.next(&mut row)?.then_some(row))
    }

    fn order_of(&self, row: &[Value], cx: &mut Cx<'_>) -> Result<Vec<Value>> {
        restore(cx, &self.node.slots, row);
        self.node.order.iter().map(|k| k.code.eval(cx)).collect()
    }

    /// Takes the frame's row into the aggregates of one reach.
    fn step(&mut self, reach: Reach, cx: &mut Cx<'_>) -> Result<()> {
        for (i, call) in self.node.calls.iter().enumerate() {
            let (Some(spec), Some(acc)) = (&self.specs[i], &mut self.accs[i]) else { continue };
            if self.reach[i] != reach {
                continue;
            }
            if let Some(arg) = call.args.first() {
                cx.slots[call.slot] = arg.eval(cx)?;
            }
            acc.step(spec, cx, 0, &mut DistinctSpill::default())?;
        }
        Ok(())
    }

    /// Reads the partition's next row.
    fn look_ahead(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.next_peer = match self.take(cx)? {
            Some(row) => Some((self.order_of(&row, cx)?, row)),
            None => None,
        };
        Ok(())
    }

    /// Reads the next peers, or only the next row where no result waits for them; false at the end of the partition.
    fn read_peers(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        cx.discharge(std::mem::take(&mut self.bytes));
        let wait = self.reach.contains(&Reach::Peers);
        while let Some((own, row)) = self.next_peer.take() {
            let equal = self.peer.as_ref().is_some_and(|peer| {
                let pairs = self.node.order.iter().zip(peer.iter().zip(&own));
                pairs.into_iter().all(|(k, (a, b))| order(a, b, k.collation).is_eq())
            });
            if !equal {
                if !self.peers.is_empty() {
                    self.next_peer = Some((own, row));
                    break;
                }
                self.peer = Some(own);
                self.numbers.groups += 1;
                self.numbers.rank = self.numbers.rows + 1;
            }
            restore(cx, &self.node.slots, &row);
            self.numbers.rows += 1;
            self.step(Reach::Row, cx)?;
            self.step(Reach::Peers, cx)?;
            let results = self.results()?;
            if wait {
                let bytes = row_bytes(&row) + row_bytes(&results);
                cx.charge(bytes)?;
                self.bytes += bytes;
            }
            self.peers.push_back((row, results));
            self.look_ahead(cx)?;
            if !wait {
                break;
            }
        }
        if wait && !self.peers.is_empty() {
            self.complete_peers()?;
        }
        Ok(!self.peers.is_empty())
    }

    /// What the row just taken in gets; results that wait for its peers are NULL so far.
    fn results(&self) -> Result<Vec<Value>> {
        let mut results = self.constant.clone();
        for (i, call) in self.node.calls.iter().enumerate() {
            results[i] = match (call.func, self.reach[i], &self.specs[i], &self.accs[i]) {
                (WindowFunc::RowNumber, ..) => Value::Int(self.numbers.rows),
                (WindowFunc::Rank, ..) => Value::Int(self.numbers.rank),
                (WindowFunc::DenseRank, ..) => Value::Int(self.numbers.groups),
                (_, Reach::Row, Some(spec), Some(acc)) => acc.finish(spec)?,
                _ => continue,
            };
        }
        Ok(results)
    }

    /// Gives the rows read what they have in common.
    fn complete_peers(&mut self) -> Result<()> {
        for (i, spec) in self.specs.iter().enumerate() {
            let (Reach::Peers, Some(spec), Some(acc)) = (self.reach[i], spec, &self.accs[i]) else {
                continue;
            };
            let value = acc.finish(spec)?;
            for (_, results) in &mut self.peers {
                results[i] = value.clone();
            }
        }
        Ok(())
    }

    fn forget(&mut self) {
        (self.ahead, self.next_peer, self.tape, self.key, self.peer) = (None, None, None, None, None);
        self.peers.clear();
        self.ended = false;
    }
}

impl Operator for StreamWindowOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let tape = self.tape.as_ref().map_or(0, |t| t.bytes);
        cx.discharge(std::mem::take(&mut self.bytes) + tape);
        self.forget();
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if let Some((row, results)) = self.peers.pop_front() {
                restore(cx, &self.node.slots, &row);
                for (call, value) in self.node.calls.iter().zip(results) {
                    cx.slots[call.slot] = value;
                }
                return Ok(true);
            }
            if !self.read_peers(cx)? && !self.begin_partition(cx)? {
                return Ok(false);
            }
        }
    }

    fn close(&mut self) {
        self.forget();
        self.bytes = 0;
        self.input.close();
    }
}
