//! Aggregation: what is accumulated, and the operator for input that arrives ordered (see `groups` for any other).

use super::Operator;
use super::count::Counts;
use super::cx::{Cx, value_bytes};
use super::groups::HashOp;
use super::node::{AggregateCall, AggregateNode};
use super::sort::compare_rows;
use crate::bind::rel::AggFunc;
use crate::errors::{self, Result};
use crate::work::{LEVEL_MAX, Partitions, RunReader, partition_of};
use hashbrown::HashSet;
use keel_types::arith;
use keel_types::compare::order;
use keel_types::ty::promote::BinaryOp;
use keel_types::{Decimal, Length, SqlType, Value, key};
use std::sync::Arc;

type FastHash = foldhash::fast::RandomState;

/// Values already counted, by key encoding.
type SeenKeys = HashSet<Box<[u8]>, FastHash>;

/// A value being accumulated.
#[derive(Clone)]
pub enum Acc {
    /// COUNT.
    Count(i64),
    /// SUM and AVG of integers, money and decimals: sum of mantissas, and how many.
    Exact(i128, i64),
    /// SUM and AVG of floats.
    Float(f64, i64),
    /// MIN, MAX, PRODUCT, any value.
    Value(Value),
    /// Variance: count, mean, sum of squared distances.
    Moments(i64, f64, f64),
    /// STRING_AGG: rows of sort keys and text.
    Strings(Vec<Vec<Value>>, Value),
    /// Percentiles: every value, and the fraction asked for.
    Percentile(Vec<Value>, f64),
    /// CHECKSUM_AGG.
    Checksum(Option<i32>),
    /// Distinct values first; with room for the key of the one at hand.
    Distinct(Box<(SeenKeys, Acc, Vec<u8>)>),
}

impl Default for Acc {
    fn default() -> Acc {
        Acc::Count(0)
    }
}

impl Acc {
    /// An empty accumulator.
    #[must_use]
    pub fn new(call: &AggregateCall) -> Acc {
        let acc = match call.func {
            AggFunc::CountStar | AggFunc::Count | AggFunc::ApproxCountDistinct => Acc::Count(0),
            AggFunc::Sum | AggFunc::Avg if call.ty == SqlType::Float => Acc::Float(0.0, 0),
            AggFunc::Sum | AggFunc::Avg => Acc::Exact(0, 0),
            AggFunc::Min | AggFunc::Max | AggFunc::Product | AggFunc::Any => Acc::Value(Value::Null),
            AggFunc::StDev | AggFunc::StDevP | AggFunc::Var | AggFunc::VarP => Acc::Moments(0, 0.0, 0.0),
            AggFunc::StringAgg => Acc::Strings(Vec::new(), Value::Null),
            AggFunc::ChecksumAgg => Acc::Checksum(None),
            AggFunc::PercentileCont | AggFunc::PercentileDisc => Acc::Percentile(Vec::new(), 0.0),
        };
        if call.tells_values_apart() {
            Acc::Distinct(Box::new((HashSet::default(), acc, Vec::new())))
        } else {
            acc
        }
    }

    /// Takes in the current row; `place` tells the accumulators of one `spill` apart.
    pub fn step(
        &mut self,
        call: &AggregateCall,
        cx: &mut Cx<'_>,
        place: u32,
        spill: &mut DistinctSpill,
    ) -> Result<()> {
        let Some(arg) = &call.arg else {
            if let Acc::Count(n) = self {
                *n += 1;
            }
            return Ok(());
        };
        if let Acc::Strings(rows, separator) = self {
            return strings_step(rows, separator, call, cx);
        }
        let value = arg.eval(cx)?;
        if let (Acc::Percentile(values, fraction), Some(code)) = (&mut *self, &call.separator)
            && values.is_empty()
            && let Value::Float(f) = code.eval(cx)?
        {
            *fraction = f;
        }
        if matches!(value, Value::Null) {
            if call.func != AggFunc::Any {
                cx.saw_null = true;
            }
            return Ok(());
        }
        match self {
            Acc::Distinct(inner) => {
                let (seen, acc, k) = &mut **inner;
                k.clear();
                key::append(k, &value, &key::KeyColumn::ascending(call.arg_ty, call.collation));
                if seen.contains(&k[..]) || spill.takes(place, k, &value, cx)? {
                    return Ok(());
                }
                seen.insert(k[..].into());
                acc.add(call, value)
            }
            Acc::Percentile(values, _) => {
                cx.charge(value_bytes(&value))?;
                values.push(value);
                Ok(())
            }
            _ => self.add(call, value),
        }
    }

    /// Takes in what another thread has accumulated of the same group, of a call that does not tell values apart.
    pub(super) fn absorb(&mut self, call: &AggregateCall, other: Acc) -> Result<()> {
        assert!(!call.tells_values_apart(), "each value is taken in by one thread");
        match (self, other) {
            (Acc::Count(n), Acc::Count(m)) => *n += m,
            (Acc::Exact(sum, n), Acc::Exact(more, m)) => {
                *sum = sum.checked_add(more).ok_or_else(|| keel_types::raise::overflow(call.ty))?;
                *n += m;
            }
            (Acc::Float(sum, n), Acc::Float(more, m)) => {
                *sum += more;
                *n += m;
            }
            (own @ Acc::Value(_), Acc::Value(value)) if !matches!(value, Value::Null) => {
                own.add(call, value)?
            }
            (Acc::Value(_), Acc::Value(_)) => {}
            (Acc::Moments(n, mean, m2), Acc::Moments(m, other_mean, other_m2)) if m > 0 => {
                let (own, all) = (*n as f64, (*n + m) as f64);
                let delta = other_mean - *mean;
                *m2 += other_m2 + delta * delta * own * m as f64 / all;
                *mean += delta * m as f64 / all;
                *n += m;
            }
            (Acc::Moments(..), Acc::Moments(..)) => {}
            (Acc::Strings(rows, separator), Acc::Strings(more, other)) => {
                rows.extend(more);
                if separator.is_null() {
                    *separator = other;
                }
            }
            (Acc::Percentile(values, fraction), Acc::Percentile(more, other)) => {
                if values.is_empty() {
                    *fraction = other;
                }
                values.extend(more);
            }
            (Acc::Checksum(sum), Acc::Checksum(Some(other))) => *sum = Some(sum.unwrap_or(0) ^ other),
            (Acc::Checksum(_), Acc::Checksum(None)) => {}
            _ => unreachable!("accumulators of one call are alike"),
        }
        Ok(())
    }

    fn add(&mut self, call: &AggregateCall, value: Value) -> Result<()> {
        match self {
            Acc::Count(n) => *n += 1,
            Acc::Exact(sum, n) => {
                let m = match value {
                    Value::Int(i) | Value::Money(i) => i128::from(i),
                    Value::Decimal(d) => d.mantissa(),
                    Value::Bit(b) => i128::from(b),
                    _ => 0,
                };
                *sum = sum.checked_add(m).ok_or_else(|| keel_types::raise::overflow(call.ty))?;
                *n += 1;
            }
            Acc::Float(sum, n) => {
                if let Value::Float(f) = value {
                    *sum += f;
                }
                *n += 1;
            }
            Acc::Value(product) if call.func == AggFunc::Product && !product.is_null() => {
                // The operator's result is of the type that it multiplies.
                *product = arith::resolve(BinaryOp::Multiply, call.ty, call.ty)?.apply(product, &value)?;
            }
            Acc::Value(best) => {
                let better = match call.func {
                    _ if matches!(best, Value::Null) => true,
                    AggFunc::Min => order(&value, best, call.collation).is_lt(),
                    AggFunc::Max => order(&value, best, call.collation).is_gt(),
                    _ => false,
                };
                if better {
                    *best = value;
                }
            }
            Acc::Moments(n, mean, m2) => {
                if let Value::Float(x) = value {
                    *n += 1;
                    let delta = x - *mean;
                    *mean += delta / *n as f64;
                    *m2 += delta * (x - *mean);
                }
            }
            Acc::Checksum(sum) => {
                if let Value::Int(i) = value {
                    *sum = Some(sum.unwrap_or(0) ^ i as i32);
                }
            }
            Acc::Strings(..) | Acc::Percentile(..) => {}
            // Its value is known to be new.
            Acc::Distinct(inner) => inner.1.add(call, value)?,
        }
        Ok(())
    }

    /// The result.
    pub fn finish(&self, call: &AggregateCall) -> Result<Value> {
        Ok(match self {
            Acc::Count(n) => {
                if call.ty == SqlType::Int && *n > i64::from(i32::MAX) {
                    return Err(keel_types::raise::overflow(SqlType::Int));
                }
                Value::Int(*n)
            }
            Acc::Exact(_, 0) | Acc::Float(_, 0) => Value::Null,
            Acc::Exact(sum, n) => exact(call, *sum, *n)?,
            Acc::Float(sum, n) => {
                Value::Float(if call.func == AggFunc::Avg { sum / *n as f64 } else { *sum })
            }
            Acc::Value(v) => v.clone(),
            Acc::Moments(n, _, m2) => {
                let sample = matches!(call.func, AggFunc::StDev | AggFunc::Var);
                let divisor = if sample { *n - 1 } else { *n };
                if divisor <= 0 {
                    return Ok(Value::Null);
                }
                let variance = m2 / divisor as f64;
                let root = matches!(call.func, AggFunc::StDev | AggFunc::StDevP);
                Value::Float(if root { variance.sqrt() } else { variance })
            }
            Acc::Checksum(sum) => sum.map_or(Value::Null, |s| Value::Int(i64::from(s))),
            Acc::Strings(rows, separator) => strings_finish(rows, separator, call)?,
            Acc::Percentile(values, fraction) => {
                let mut values = values.clone();
                let down = call.order.first().is_some_and(|k| k.descending);
                values.sort_by(|a, b| {
                    let o = order(a, b, call.collation);
                    if down { o.reverse() } else { o }
                });
                percentile(&values, *fraction, call.func == AggFunc::PercentileDisc)
            }
            Acc::Distinct(inner) => inner.1.finish(call)?,
        })
    }
}

/// What DISTINCT aggregates do when memory is full: values not seen before go to files, divided by the hash of the
/// accumulator and the value, and are taken in file by file when the input is at its end.
#[derive(Default)]
pub struct DistinctSpill {
    /// Bytes of the values remembered in memory.
    held: usize,
    out: Option<Partitions>,
}

impl DistinctSpill {
    /// Makes room for a new value of the accumulator `place`; true when it went to a file instead.
    fn takes(&mut self, place: u32, key: &[u8], value: &Value, cx: &mut Cx<'_>) -> Result<bool> {
        let bytes = key.len() + 24;
        if self.out.is_none() {
            if cx.fits(bytes, self.held) {
                self.held += bytes;
                return Ok(false);
            }
            cx.discharge(bytes);
            self.out = Some(Partitions::new());
        }
        let Some(out) = &mut self.out else { return Ok(false) };
        let at = Value::Int(i64::from(place));
        out.row(&cx.work_space()?, partition_of((place, key), 0), [&at, value].into_iter())?;
        Ok(true)
    }

    /// Takes in what is in the files; `calls` are those of the accumulators, over and over.
    pub(super) fn settle(
        &mut self,
        accs: &mut [Acc],
        calls: &[AggregateCall],
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let mut waiting: Vec<_> = out.finish()?.into_iter().flatten().map(|run| (run, 1)).collect();
        while let Some((run, level)) = waiting.pop() {
            let mut seen: HashSet<(u32, Box<[u8]>), FastHash> = HashSet::default();
            let (mut bytes, mut full) = (0, None::<Partitions>);
            let mut reader = RunReader::new(&run);
            let (mut row, mut k) = (Vec::new(), Vec::new());
            while reader.next(&mut row)? {
                cx.tick()?;
                let (Some(value), Some(Value::Int(place))) = (row.pop(), row.pop()) else { continue };
                let place = place as u32;
                let call = &calls[place as usize % calls.len()];
                k.clear();
                key::append(&mut k, &value, &key::KeyColumn::ascending(call.arg_ty, call.collation));
                if seen.contains(&(place, Box::from(&k[..]))) {
                    continue;
                }
                let own = k.len() + 32;
                if full.is_none() && level < LEVEL_MAX && !cx.fits(own, bytes) {
                    cx.discharge(own);
                    full = Some(Partitions::new());
                }
                if let Some(out) = &mut full {
                    let at = Value::Int(i64::from(place));
                    let partition = partition_of((place, &k[..]), level);
                    out.row(&cx.work_space()?, partition, [&at, &value].into_iter())?;
                    continue;
                }
                if level >= LEVEL_MAX {
                    cx.charge(own)?;
                }
                bytes += own;
                seen.insert((place, Box::from(&k[..])));
                accs[place as usize].add(call, value)?;
            }
            if let Some(out) = full {
                waiting.extend(out.finish()?.into_iter().flatten().map(|run| (run, level + 1)));
            }
            cx.discharge(bytes);
        }
        Ok(())
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self, cx: &mut Cx<'_>) {
        cx.discharge(std::mem::take(&mut self.held));
        self.out = None;
    }
}

/// The value at a fraction of sorted values without NULLs: one of them, or between two.
pub fn percentile(values: &[Value], fraction: f64, discrete: bool) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    if discrete {
        let k = ((fraction * values.len() as f64).ceil() as usize).clamp(1, values.len());
        return values[k - 1].clone();
    }
    let number = |v: &Value| match v {
        Value::Int(i) => *i as f64,
        Value::Float(f) => *f,
        Value::Decimal(d) => d.to_f64(),
        Value::Money(m) => *m as f64 / 10_000.0,
        _ => 0.0,
    };
    let last = values.len() - 1;
    let position = (fraction * last as f64).clamp(0.0, last as f64);
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    let (a, b) = (number(&values[low]), number(&values[high]));
    Value::Float(a + (b - a) * (position - low as f64))
}

/// SUM or AVG of exact numbers.
fn exact(call: &AggregateCall, sum: i128, n: i64) -> Result<Value> {
    let average = call.func == AggFunc::Avg;
    match call.ty {
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            let overflow = || keel_types::raise::overflow(call.ty);
            let own = call.arg_ty.scale();
            let d = Decimal::new(sum, own);
            let d = if average {
                d.divide(Decimal::new(i128::from(n), 0), scale).ok_or_else(overflow)?
            } else {
                d.rescale(scale).ok_or_else(overflow)?
            };
            Ok(Value::Decimal(d))
        }
        ty => total(ty, if average { sum / i128::from(n) } else { sum }),
    }
}

/// A sum as a value of its type, given in units of the type's last digit.
pub(crate) fn total(ty: SqlType, sum: i128) -> Result<Value> {
    let overflow = || keel_types::raise::overflow(ty);
    match ty {
        // smallmoney and money are both ten-thousandths.
        SqlType::Money => Ok(Value::Money(i64::try_from(sum).map_err(|_| overflow())?)),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            let d = Decimal::new(sum, scale);
            if Decimal::fits(d, 38) { Ok(Value::Decimal(d)) } else { Err(overflow()) }
        }
        ty => {
            let (low, high) = crate::expr::library::int_range(ty).unwrap_or((i64::MIN, i64::MAX));
            let v = i64::try_from(sum).ok().filter(|v| (low..=high).contains(v)).ok_or_else(overflow)?;
            Ok(Value::Int(v))
        }
    }
}

fn strings_step(
    rows: &mut Vec<Vec<Value>>,
    separator: &mut Value,
    call: &AggregateCall,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(arg) = &call.arg else { return Ok(()) };
    let text = arg.eval(cx)?;
    if let (Value::Null, Some(s)) = (&*separator, &call.separator) {
        *separator = s.eval(cx)?;
    }
    if matches!(text, Value::Null) {
        return Ok(());
    }
    let mut row = call.order.iter().map(|k| k.code.eval(cx)).collect::<Result<Vec<_>>>()?;
    cx.charge(value_bytes(&text) + 32)?;
    row.push(text);
    rows.push(row);
    Ok(())
}

/// The texts in their order; error 9829 when they are longer than a string type that is not max.
fn strings_finish(rows: &[Vec<Value>], separator: &Value, call: &AggregateCall) -> Result<Value> {
    if rows.is_empty() {
        return Ok(Value::Null);
    }
    let mut sorted: Vec<&Vec<Value>> = rows.iter().collect();
    sorted.sort_by(|a, b| compare_rows(&call.order, a, b));
    let separator = if let Value::Str(s) = separator { s.as_str() } else { "" };
    let texts: Vec<&str> = sorted
        .iter()
        .filter_map(|r| if let Some(Value::Str(s)) = r.last() { Some(s.as_str()) } else { None })
        .collect();
    let text = texts.join(separator);
    let is_long = || match call.ty {
        SqlType::NVarChar(Length::Limited(_)) => text.encode_utf16().count() > 4000,
        SqlType::VarChar(Length::Limited(_)) => text.chars().count() > 8000,
        _ => false,
    };
    if text.len() > 4000 && is_long() {
        return Err(errors::string_agg_too_long());
    }
    Ok(Value::Str(text.into()))
}

/// The operator for an aggregation.
#[must_use]
pub fn operator(node: Arc<AggregateNode>, counts: Option<&Counts>) -> Box<dyn Operator> {
    if !node.ordered || node.sets.is_some() {
        return Box::new(HashOp::new(node, counts));
    }
    let input = node.input.operator(counts);
    Box::new(StreamOp {
        node,
        input,
        accs: Vec::new(),
        current: Vec::new(),
        started: false,
        ended: false,
        spill: DistinctSpill::default(),
    })
}

/// Aggregation of input that arrives group by group.
struct StreamOp {
    node: Arc<AggregateNode>,
    input: Box<dyn Operator>,
    accs: Vec<Acc>,
    current: Vec<Value>,
    started: bool,
    ended: bool,
    spill: DistinctSpill,
}

impl StreamOp {
    fn begin(&mut self, keys: Vec<Value>) {
        self.accs = self.node.aggs.iter().map(Acc::new).collect();
        self.current = keys;
        self.started = true;
    }

    fn step(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        for (i, (acc, call)) in self.accs.iter_mut().zip(&self.node.aggs).enumerate() {
            acc.step(call, cx, i as u32, &mut self.spill)?;
        }
        Ok(())
    }

    fn emit(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.spill.settle(&mut self.accs, &self.node.aggs, cx)?;
        for ((_, _, slot), v) in self.node.groups.iter().zip(&self.current) {
            cx.slots[*slot] = v.clone();
        }
        for (acc, call) in self.accs.iter().zip(&self.node.aggs) {
            cx.slots[call.slot] = acc.finish(call).or_else(|e| cx.arithmetic(e))?;
        }
        Ok(())
    }
}

impl Operator for StreamOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.started = false;
        self.ended = false;
        self.spill.reset(cx);
        if self.node.scalar {
            self.begin(Vec::new());
        }
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        while self.input.next(cx)? {
            cx.tick()?;
            if self.node.groups.is_empty() && self.started {
                self.step(cx)?;
                continue;
            }
            let keys = self.node.groups.iter().map(|(c, ..)| c.eval(cx)).collect::<Result<Vec<_>>>()?;
            if !self.started {
                self.begin(keys);
                self.step(cx)?;
                continue;
            }
            let same = self
                .node
                .groups
                .iter()
                .zip(self.current.iter().zip(&keys))
                .all(|((_, column, _), (a, b))| order(a, b, column.collation).is_eq());
            if same {
                self.step(cx)?;
                continue;
            }
            // The row belongs to the next group: take it in before the finished one's results are shown. What the files
            // hold is added to them without the frame.
            self.spill.settle(&mut self.accs, &self.node.aggs, cx)?;
            self.spill.reset(cx);
            let finished: Vec<Value> = std::mem::take(&mut self.current);
            let results = self
                .accs
                .iter()
                .zip(&self.node.aggs)
                .map(|(acc, call)| acc.finish(call).or_else(|e| cx.arithmetic(e)))
                .collect::<Result<Vec<_>>>()?;
            self.begin(keys);
            self.step(cx)?;
            for ((_, _, slot), v) in self.node.groups.iter().zip(finished) {
                cx.slots[*slot] = v;
            }
            for (call, v) in self.node.aggs.iter().zip(results) {
                cx.slots[call.slot] = v;
            }
            return Ok(true);
        }
        self.ended = true;
        if !self.started {
            return Ok(false);
        }
        self.emit(cx)?;
        Ok(true)
    }

    fn close(&mut self) {
        self.accs = Vec::new();
        self.current = Vec::new();
        self.spill = DistinctSpill::default();
        self.input.close();
    }
}

/// Warning 8153 is due when an aggregate skipped a NULL, under ANSI_WARNINGS.
pub fn null_warning(cx: &mut Cx<'_>) {
    if std::mem::take(&mut cx.saw_null) && cx.session.ansi_warnings() {
        cx.warn(errors::null_eliminated());
    }
}
