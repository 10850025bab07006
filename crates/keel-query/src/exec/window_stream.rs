//! Window functions that need no partition in memory: what a row gets is known from the rows before it and its peers
//! (ROW_NUMBER, RANK, LAG, aggregates up to the current row), from one pass over its partition (NTILE, aggregates of the
//! whole partition), or from a fixed number of rows around it (LEAD, frames with offsets).
//!
//! ```text
//!   input ──► partition, in memory or in a file; counted and aggregated as it passes   when a result needs it whole
//!         ──► peers: rows equal in the order, one at a time when no result waits for them
//!         ──► band: the rows that frames with offsets reach                              when there are such
//!         ──► rows
//! ```
//!
//! In memory are the peers and the band.

use super::Operator;
use super::aggregate::{Acc, DistinctSpill};
use super::count::Counts;
use super::cx::Cx;
use super::node::{AggregateCall, WindowCallNode, WindowNode};
use super::sliding::Sliding;
use super::{restore, row_bytes, save};
use crate::bind::rel::{AggFunc, FrameEnd, WindowFunc};
use crate::errors::{self, Result};
use crate::expr::compile::Code;
use crate::work::{RunReader, RunWriter};
use keel_types::Value;
use keel_types::compare::order;
use std::collections::VecDeque;
use std::ops::Range;
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
    /// The rows up to this one, and how many the partition has.
    Counted,
    /// The same with the peers of this one.
    CountedPeers,
    /// A fixed number of rows around this one.
    Near,
}

impl Reach {
    /// Whether the partition must have been seen whole before its first row is handed out.
    fn needs_all(self) -> bool {
        matches!(self, Reach::Partition | Reach::Counted | Reach::CountedPeers)
    }
    /// Whether a row's result waits for its peers.
    fn waits(self) -> bool {
        matches!(self, Reach::Peers | Reach::CountedPeers)
    }
}

fn reach(call: &WindowCallNode) -> Option<Reach> {
    use FrameEnd as E;
    let frame = (call.frame.rows, call.frame.start, call.frame.end);
    match call.func {
        WindowFunc::RowNumber | WindowFunc::Rank | WindowFunc::DenseRank => Some(Reach::Row),
        WindowFunc::NTile | WindowFunc::PercentRank => Some(Reach::Counted),
        WindowFunc::CumeDist => Some(Reach::CountedPeers),
        WindowFunc::Lag => call.steady.then_some(Reach::Row),
        WindowFunc::Lead => (call.steady && !call.ignore_nulls).then_some(Reach::Near),
        WindowFunc::PercentileCont | WindowFunc::PercentileDisc => None,
        // What these keep of a partition is as large as its rows.
        WindowFunc::Agg(AggFunc::StringAgg | AggFunc::PercentileCont | AggFunc::PercentileDisc) => None,
        // The last row of the partition, wherever the frame begins.
        WindowFunc::LastValue
            if !call.ignore_nulls
                && frame.2 == E::UnboundedFollowing
                && matches!(frame.1, E::Offset(k) if k <= 0) =>
        {
            Some(Reach::Partition)
        }
        WindowFunc::FirstValue | WindowFunc::LastValue | WindowFunc::Agg(_) => match frame {
            (_, E::UnboundedPreceding, E::UnboundedFollowing) => Some(Reach::Partition),
            (true, E::UnboundedPreceding, E::Offset(0)) => Some(Reach::Row),
            (false, E::UnboundedPreceding, E::Offset(0)) => Some(Reach::Peers),
            (true, E::UnboundedPreceding | E::Offset(_), E::Offset(_)) => Some(Reach::Near),
            _ => None,
        },
    }
}

/// Whether a call can be computed as the rows pass.
#[must_use]
pub fn streams(call: &WindowCallNode) -> bool {
    reach(call).is_some()
}

/// What a call has gathered of its frame.
enum State {
    /// An aggregate.
    Acc(Acc),
    /// FIRST_VALUE.
    First(Option<Value>),
    /// LAST_VALUE.
    Last(Option<Value>),
}

impl State {
    fn new(call: &WindowCallNode, spec: Option<&AggregateCall>) -> Option<State> {
        match (call.func, spec) {
            (WindowFunc::FirstValue, _) => Some(State::First(None)),
            (WindowFunc::LastValue, _) => Some(State::Last(None)),
            (_, Some(spec)) => Some(State::Acc(Acc::new(spec))),
            _ => None,
        }
    }

    /// Takes in the next value of the frame.
    fn step(
        &mut self,
        call: &WindowCallNode,
        spec: Option<&AggregateCall>,
        value: Value,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let counts = !(call.ignore_nulls && value.is_null());
        match (self, spec) {
            (State::First(first), _) => {
                if counts && first.is_none() {
                    *first = Some(value);
                }
            }
            (State::Last(last), _) => {
                if counts {
                    *last = Some(value);
                }
            }
            (State::Acc(acc), Some(spec)) => {
                cx.slots[call.slot] = value;
                acc.step(spec, cx, 0, &mut DistinctSpill::default())?;
            }
            (State::Acc(_), None) => {}
        }
        Ok(())
    }

    fn finish(&self, spec: Option<&AggregateCall>) -> Result<Value> {
        match (self, spec) {
            (State::First(v) | State::Last(v), _) => Ok(v.clone().unwrap_or_default()),
            (State::Acc(acc), Some(spec)) => acc.finish(spec),
            (State::Acc(_), None) => Ok(Value::Null),
        }
    }
}

/// A row of the band with what it got so far, and the value of each call's argument.
struct Entry {
    row: Vec<Value>,
    results: Vec<Value>,
    values: Vec<Value>,
}

/// The rows around the one handed out next, of one partition.
#[derive(Default)]
struct Band {
    rows: VecDeque<Entry>,
    /// Position of the row handed out next.
    at: usize,
    /// Rows of the partition that have left it.
    gone: i64,
    /// Rows kept before the current one.
    back: usize,
    /// Rows wanted behind it.
    ahead: usize,
    /// Nothing more comes of the partition.
    complete: bool,
    bytes: usize,
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
    states: Vec<Option<State>>,
    /// Aggregates over frames that leave rows behind (calls of the band).
    sliding: Vec<Option<Sliding>>,
    /// How many rows of the partition a call with a frame from its beginning has taken in (calls of the band).
    taken: Vec<i64>,
    /// LAG, LEAD: rows between; NTILE: groups. Of the current partition.
    offsets: Vec<i64>,
    /// LAG: the last values.
    behind: Vec<VecDeque<Value>>,
    /// LAG: what the row just taken in gets.
    lagged: Vec<Value>,
    band: Band,
    /// Rows of the partition, where a call needs to know.
    total: i64,
    /// Charged for `behind`.
    ring_bytes: usize,
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
pub(super) fn spec(call: &WindowCallNode) -> Option<AggregateCall> {
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
    /// An operator with its input; only for nodes all of whose calls [`streams`] says yes to.
    #[must_use]
    pub fn new(node: Arc<WindowNode>, counts: Option<&Counts>) -> StreamWindowOp {
        let input = node.input.operator(counts);
        StreamWindowOp {
            reach: node.calls.iter().map(|c| reach(c).unwrap_or(Reach::Partition)).collect(),
            specs: node.calls.iter().map(spec).collect(),
            node,
            input,
            states: Vec::new(),
            sliding: Vec::new(),
            taken: Vec::new(),
            offsets: Vec::new(),
            behind: Vec::new(),
            lagged: Vec::new(),
            band: Band::default(),
            total: 0,
            ring_bytes: 0,
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
        self.begin_calls(&row, cx)?;
        if self.reach.iter().any(|r| r.needs_all()) {
            self.read_partition(row, cx)?;
        } else {
            self.next_peer = Some((self.order_of(&row, cx)?, row));
        }
        Ok(true)
    }

    /// Makes the calls ready for a partition that begins with `first`.
    fn begin_calls(&mut self, first: &[Value], cx: &mut Cx<'_>) -> Result<()> {
        restore(cx, &self.node.slots, first);
        let node = Arc::clone(&self.node);
        let calls = || node.calls.iter().zip(&self.specs);
        self.states = calls().map(|(c, s)| State::new(c, s.as_ref())).collect();
        self.sliding = self.specs.iter().map(|s| s.as_ref().map(Sliding::new)).collect();
        self.constant = vec![Value::Null; node.calls.len()];
        self.lagged.clone_from(&self.constant);
        self.taken = vec![0; node.calls.len()];
        self.behind = vec![VecDeque::new(); node.calls.len()];
        cx.discharge(std::mem::take(&mut self.ring_bytes));
        self.offsets = node.calls.iter().map(|c| offset_of(c, cx)).collect::<Result<_>>()?;
        cx.discharge(std::mem::take(&mut self.band.bytes));
        self.band = Band::default();
        for (i, call) in node.calls.iter().enumerate().filter(|(i, _)| self.reach[*i] == Reach::Near) {
            let (start, end) = match (call.func, call.frame.start, call.frame.end) {
                (WindowFunc::Lead, ..) => (0, self.offsets[i]),
                (_, FrameEnd::Offset(start), FrameEnd::Offset(end)) => (start, end),
                // From the beginning of the partition: what comes in is taken in once.
                (_, _, FrameEnd::Offset(end)) => (end.min(0), end),
                _ => (0, 0),
            };
            let rows = |n: i64| usize::try_from(n).unwrap_or(0);
            self.band.back = self.band.back.max(rows(-start)).max(rows(-end));
            self.band.ahead = self.band.ahead.max(rows(end));
        }
        Ok(())
    }

    /// Reads a whole partition and aggregates it.
    fn read_partition(&mut self, first: Vec<Value>, cx: &mut Cx<'_>) -> Result<()> {
        let mut tape = Tape::default();
        self.total = 0;
        let mut writer: Option<RunWriter> = None;
        let mut row = Some(first);
        while let Some(current) = row {
            restore(cx, &self.node.slots, &current);
            self.step(Reach::Partition, cx)?;
            self.total += 1;
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
            if let (Reach::Partition, Some(state)) = (self.reach[i], &self.states[i]) {
                self.constant[i] = state.finish(spec.as_ref())?;
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

    /// Takes the frame's row into the calls of one reach.
    fn step(&mut self, reach: Reach, cx: &mut Cx<'_>) -> Result<()> {
        if !self.reach.contains(&reach) {
            return Ok(());
        }
        let node = Arc::clone(&self.node);
        for (i, call) in node.calls.iter().enumerate() {
            if self.reach[i] != reach {
                continue;
            }
            if call.func == WindowFunc::Lag {
                self.lag(i, call, cx)?;
            } else if let Some(state) = &mut self.states[i] {
                let value = call.args.first().map_or(Ok(Value::Null), |arg| arg.eval(cx))?;
                state.step(call, self.specs[i].as_ref(), value, cx)?;
            }
        }
        Ok(())
    }

    /// LAG: the value so many rows ago, and this row's for those to come.
    fn lag(&mut self, i: usize, call: &WindowCallNode, cx: &mut Cx<'_>) -> Result<()> {
        let value = call.args[0].eval(cx)?;
        let (behind, by) = (&mut self.behind[i], usize::try_from(self.offsets[i]).unwrap_or(0));
        self.lagged[i] = match (by, behind.len() == by) {
            (0, _) => value.clone(),
            (_, true) => behind.front().cloned().unwrap_or_default(),
            (_, false) => call.args.get(2).map_or(Ok(Value::Null), |d| d.eval(cx))?,
        };
        if by > 0 && !(call.ignore_nulls && value.is_null()) {
            if behind.len() == by {
                behind.pop_front();
            } else {
                // The ring grows no further than the offset.
                cx.charge(size_of::<Value>())?;
                self.ring_bytes += size_of::<Value>();
            }
            behind.push_back(value);
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
        let wait = self.reach.iter().any(|r| r.waits());
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

    /// What the row just taken in gets; results that wait for its peers or the band are NULL so far.
    fn results(&self) -> Result<Vec<Value>> {
        let mut results = self.constant.clone();
        for (i, call) in self.node.calls.iter().enumerate() {
            results[i] = match (call.func, self.reach[i], &self.states[i]) {
                (WindowFunc::RowNumber, ..) => Value::Int(self.numbers.rows),
                (WindowFunc::Rank, ..) => Value::Int(self.numbers.rank),
                (WindowFunc::DenseRank, ..) => Value::Int(self.numbers.groups),
                (WindowFunc::Lag, ..) => self.lagged[i].clone(),
                (WindowFunc::NTile, ..) => {
                    Value::Int(tile(self.numbers.rows - 1, self.total, self.offsets[i]))
                }
                (WindowFunc::PercentRank, ..) => {
                    let others = (self.total - 1) as f64;
                    Value::Float(if self.total > 1 { (self.numbers.rank - 1) as f64 / others } else { 0.0 })
                }
                (_, Reach::Row, Some(state)) => state.finish(self.specs[i].as_ref())?,
                _ => continue,
            };
        }
        Ok(results)
    }

    /// Gives the rows read what they have in common.
    fn complete_peers(&mut self) -> Result<()> {
        for (i, call) in self.node.calls.iter().enumerate() {
            let value = match (call.func, self.reach[i], &self.states[i]) {
                (WindowFunc::CumeDist, ..) => Value::Float(self.numbers.rows as f64 / self.total as f64),
                (_, Reach::Peers, Some(state)) => state.finish(self.specs[i].as_ref())?,
                _ => continue,
            };
            for (_, results) in &mut self.peers {
                results[i] = value.clone();
            }
        }
        Ok(())
    }

    /// Puts a finished row into the band.
    fn enter_band(&mut self, row: Vec<Value>, results: Vec<Value>, cx: &mut Cx<'_>) -> Result<()> {
        restore(cx, &self.node.slots, &row);
        let mut values = vec![Value::Null; self.node.calls.len()];
        for (i, call) in self.node.calls.iter().enumerate().filter(|(i, _)| self.reach[*i] == Reach::Near) {
            if let Some(arg) = call.args.first() {
                values[i] = arg.eval(cx)?;
            }
        }
        let bytes = row_bytes(&row) + row_bytes(&results) + row_bytes(&values) + self.accumulators();
        cx.charge(bytes)?;
        self.band.bytes += bytes;
        self.band.rows.push_back(Entry { row, results, values });
        Ok(())
    }

    /// What aggregates that slide keep for a row of the band, in bytes.
    fn accumulators(&self) -> usize {
        self.sliding.iter().flatten().count() * size_of::<Acc>()
    }

    /// Hands out the band's current row; rows that no later one reaches leave it.
    fn leave_band(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let node = Arc::clone(&self.node);
        let at = self.band.at;
        for (i, call) in node.calls.iter().enumerate() {
            if self.reach[i] == Reach::Near {
                let value = self.near(i, call, cx)?;
                self.band.rows[at].results[i] = value;
            }
        }
        let entry = &mut self.band.rows[at];
        restore(cx, &node.slots, &entry.row);
        for (call, value) in node.calls.iter().zip(std::mem::take(&mut entry.results)) {
            cx.slots[call.slot] = value;
        }
        self.band.at += 1;
        while self.band.at > self.band.back {
            let Some(gone) = self.band.rows.pop_front() else { break };
            let results = node.calls.len() * size_of::<Value>();
            let bytes = row_bytes(&gone.row) + row_bytes(&gone.values) + results + self.accumulators();
            let bytes = bytes.min(self.band.bytes);
            self.band.bytes -= bytes;
            cx.discharge(bytes);
            self.band.at -= 1;
            self.band.gone += 1;
        }
        Ok(())
    }

    /// What the band's current row gets from the rows around it.
    fn near(&mut self, i: usize, call: &WindowCallNode, cx: &mut Cx<'_>) -> Result<Value> {
        let (at, len) = (self.band.at as i64, self.band.rows.len() as i64);
        if call.func == WindowFunc::Lead {
            let target = usize::try_from(at + self.offsets[i]).unwrap_or(usize::MAX);
            if let Some(entry) = self.band.rows.get(target) {
                return Ok(entry.values[i].clone());
            }
            restore(cx, &self.node.slots, &self.band.rows[self.band.at].row);
            return call.args.get(2).map_or(Ok(Value::Null), |d| d.eval(cx));
        }
        let spec = self.specs[i].as_ref();
        let FrameEnd::Offset(end) = call.frame.end else { return Ok(Value::Null) };
        let end = (at + end + 1).clamp(0, len);
        if let FrameEnd::Offset(start) = call.frame.start {
            let start = (at + start).clamp(0, end);
            cx.tick()?;
            return self.sliding(i, call, start as usize..end as usize, cx);
        }
        let Some(state) = &mut self.states[i] else { return Ok(Value::Null) };
        while self.taken[i] < self.band.gone + end {
            let at = usize::try_from(self.taken[i] - self.band.gone).unwrap_or(0);
            let value = self.band.rows[at].values[i].clone();
            state.step(call, spec, value, cx)?;
            self.taken[i] += 1;
        }
        state.finish(spec)
    }

    /// What a call gives over some rows of the band, whose ends only move forward.
    fn sliding(
        &mut self,
        i: usize,
        call: &WindowCallNode,
        frame: Range<usize>,
        cx: &mut Cx<'_>,
    ) -> Result<Value> {
        let rows = &self.band.rows;
        let gone = self.band.gone as usize;
        if let (Some(spec), Some(sliding)) = (&self.specs[i], &mut self.sliding[i]) {
            let frame = gone + frame.start..gone + frame.end;
            return sliding.over(frame, spec, |row| rows[row - gone].values[i].clone(), cx);
        }
        let mut values = rows.range(frame).map(|entry| &entry.values[i]);
        let counts = |value: &&Value| !(call.ignore_nulls && value.is_null());
        let found = match call.func {
            WindowFunc::FirstValue => values.find(counts),
            _ => values.rfind(counts),
        };
        Ok(found.cloned().unwrap_or_default())
    }

    /// The next row through the band.
    fn next_near(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            let behind = self.band.rows.len() - self.band.at;
            if behind > self.band.ahead || behind > 0 && self.band.complete {
                self.leave_band(cx)?;
                return Ok(true);
            }
            if let Some((row, results)) = self.peers.pop_front() {
                self.enter_band(row, results, cx)?;
            } else if !self.read_peers(cx)? {
                self.band.complete = true;
                if behind == 0 && !self.begin_partition(cx)? {
                    return Ok(false);
                }
            }
        }
    }

    fn forget(&mut self) {
        (self.ahead, self.next_peer, self.tape, self.key, self.peer) = (None, None, None, None, None);
        self.peers.clear();
        self.behind.clear();
        self.band = Band::default();
        self.ended = false;
    }
}

/// LAG's and LEAD's distance, NTILE's number of groups.
fn offset_of(call: &WindowCallNode, cx: &mut Cx<'_>) -> Result<i64> {
    let argument = match call.func {
        WindowFunc::Lag | WindowFunc::Lead => call.args.get(1),
        WindowFunc::NTile => call.args.first(),
        _ => return Ok(0),
    };
    let value = argument.map(|a| a.eval(cx)).transpose()?;
    match (call.func, value) {
        (WindowFunc::NTile, Some(Value::Int(n))) if n > 0 => Ok(n),
        (WindowFunc::NTile, _) => Err(errors::ntile_not_positive()),
        (_, None) => Ok(1),
        (_, Some(Value::Int(n))) if n < 0 => Err(errors::negative_offset()),
        (_, Some(Value::Int(n))) => Ok(n),
        _ => Ok(0),
    }
}

/// The group of row `i` (from 0) when `n` rows are dealt into `groups`, the larger ones first; from 1.
fn tile(i: i64, n: i64, groups: i64) -> i64 {
    let (size, larger) = (n / groups, n % groups);
    let cut = larger * (size + 1);
    if i < cut { i / (size + 1) + 1 } else { larger + (i - cut) / size.max(1) + 1 }
}

impl Operator for StreamWindowOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let tape = self.tape.as_ref().map_or(0, |t| t.bytes);
        let charged =
            std::mem::take(&mut self.bytes) + std::mem::take(&mut self.ring_bytes) + self.band.bytes;
        cx.discharge(charged + tape);
        self.forget();
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.reach.contains(&Reach::Near) {
            return self.next_near(cx);
        }
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
        (self.bytes, self.ring_bytes) = (0, 0);
        self.input.close();
    }
}
