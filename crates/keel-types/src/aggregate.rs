//! Aggregate functions: result types, and accumulators that step, merge and finish.
//!
//! [`resolve`] decides by the argument's type; the [`Aggregate`] it gives is shared by all groups, an [`Accumulator`]
//! belongs to one. NULL arguments are passed over (whoever steps may count them for warning 8153). `COUNT(*)` steps with any
//! value that is not NULL. `DISTINCT`, ordering within a group and memory accounting are the executor's.
//!
//! | function | argument becomes | result | of nothing |
//! | --- | --- | --- | --- |
//! | COUNT, COUNT_BIG, APPROX_COUNT_DISTINCT | as is | int, bigint, bigint | 0 |
//! | SUM | int, bigint, money, decimal, float | the same, decimal(38,s) | NULL |
//! | AVG | the same | the same, decimal(38,max(s,6)) | NULL |
//! | MIN, MAX | as is | as is | NULL |
//! | STDEV, STDEVP, VAR, VARP | float | float | NULL |
//! | STRING_AGG | string | varchar(8000), nvarchar(4000) or max | NULL |
//! | CHECKSUM_AGG | int | int | NULL |
//!
//! Sums run in 128 bits and are checked once, at the end, so the order of rows decides nothing.

use crate::arith::{checked_float, checked_int, checked_money};
use crate::collation::Collation;
use crate::compare;
use crate::error::{Result, SqlError};
use crate::raise;
use crate::ty::promote::invalid_operand;
use crate::ty::{Family, Length, SqlType};
use crate::value::{Decimal, Value};
use smol_str::SmolStr;
use std::hash::{DefaultHasher, Hasher};

/// The aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `COUNT`
    Count,
    /// `COUNT_BIG`
    CountBig,
    /// `APPROX_COUNT_DISTINCT`
    ApproxCountDistinct,
    /// `SUM`
    Sum,
    /// `AVG`
    Avg,
    /// `MIN`
    Min,
    /// `MAX`
    Max,
    /// `STDEV`, of a sample
    StDev,
    /// `STDEVP`, of a population
    StDevP,
    /// `VAR`, of a sample
    Var,
    /// `VARP`, of a population
    VarP,
    /// `STRING_AGG`
    StringAgg,
    /// `CHECKSUM_AGG`
    ChecksumAgg,
}

impl Function {
    /// By name, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Function> {
        Some(match name.to_ascii_uppercase().as_str() {
            "COUNT" => Function::Count,
            "COUNT_BIG" => Function::CountBig,
            "APPROX_COUNT_DISTINCT" => Function::ApproxCountDistinct,
            "SUM" => Function::Sum,
            "AVG" => Function::Avg,
            "MIN" => Function::Min,
            "MAX" => Function::Max,
            "STDEV" => Function::StDev,
            "STDEVP" => Function::StDevP,
            "VAR" => Function::Var,
            "VARP" => Function::VarP,
            "STRING_AGG" => Function::StringAgg,
            "CHECKSUM_AGG" => Function::ChecksumAgg,
            _ => return None,
        })
    }

    /// The name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::CountBig => "count_big",
            Function::ApproxCountDistinct => "approx_count_distinct",
            Function::Sum => "sum",
            Function::Avg => "avg",
            Function::Min => "min",
            Function::Max => "max",
            Function::StDev => "stdev",
            Function::StDevP => "stdevp",
            Function::Var => "var",
            Function::VarP => "varp",
            Function::StringAgg => "string_agg",
            Function::ChecksumAgg => "checksum_agg",
        }
    }
}

/// A resolved aggregate.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Which function.
    pub function: Function,
    /// The type its argument must be converted to.
    pub argument: SqlType,
    /// Type of the result.
    pub result: SqlType,
    /// Collation in which strings compare.
    pub collation: Collation,
    /// Between the strings of `STRING_AGG`.
    pub separator: SmolStr,
}

/// The state of one group.
#[derive(Clone, Debug)]
pub enum Accumulator {
    /// How many.
    Count(i64),
    /// Sum of the unscaled numbers, and how many.
    Exact(i128, i64),
    /// Sum of floats, and how many.
    Float(f64, i64),
    /// The least or greatest so far.
    Extreme(Value),
    /// How many, mean, sum of squared distances from it.
    Moments(i64, f64, f64),
    /// Text so far.
    Text(Option<String>),
    /// Exclusive or of the values.
    Checksum(Option<i32>),
    /// Longest runs of leading zeros by the first bits of the hash.
    Sketch(Box<[u8; SKETCH_REGISTERS]>),
}

/// Registers of the distinct-count sketch: a standard error of 1.04 / sqrt(4096), 1.6 %.
pub const SKETCH_REGISTERS: usize = 4096;

/// Decides argument type and result type; error 8117 for types that the function does not take.
pub fn resolve(function: Function, argument: SqlType, collation: Collation) -> Result<Aggregate> {
    use Function as F;
    let invalid = || invalid_operand(argument, function.name());
    let (argument, result) = match function {
        F::Count => (argument, SqlType::Int),
        F::CountBig | F::ApproxCountDistinct => (argument, SqlType::BigInt),
        F::Sum | F::Avg => {
            let ty = summed(argument).ok_or_else(invalid)?;
            let result = match ty {
                SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
                    let scale = if function == F::Avg { scale.max(6) } else { scale };
                    SqlType::Decimal { precision: 38, scale }
                }
                other => other,
            };
            (ty, result)
        }
        F::Min | F::Max => {
            let refused = matches!(
                argument,
                SqlType::Bit | SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml
            );
            if refused {
                return Err(invalid());
            }
            (argument, argument)
        }
        F::StDev | F::StDevP | F::Var | F::VarP => {
            let numeric = argument.is_numeric() && argument != SqlType::Bit || argument == SqlType::Null;
            if !numeric {
                return Err(invalid());
            }
            (SqlType::Float, SqlType::Float)
        }
        F::StringAgg => {
            let ty = joined(argument).ok_or_else(invalid)?;
            (ty, ty)
        }
        F::ChecksumAgg if argument.is_integer() => (SqlType::Int, SqlType::Int),
        F::ChecksumAgg => return Err(invalid()),
    };
    Ok(Aggregate { function, argument, result, collation, separator: SmolStr::default() })
}

fn summed(ty: SqlType) -> Option<SqlType> {
    match ty.family() {
        Family::Integer if ty == SqlType::BigInt => Some(SqlType::BigInt),
        Family::Integer | Family::Null => Some(SqlType::Int),
        Family::Money => Some(SqlType::Money),
        Family::Decimal => Some(ty),
        Family::Float => Some(SqlType::Float),
        _ => None,
    }
}

fn joined(ty: SqlType) -> Option<SqlType> {
    match (ty.family(), ty.length()) {
        (Family::NationalString, Some(Length::Max)) => Some(SqlType::NVarChar(Length::Max)),
        (Family::String, Some(Length::Max)) => Some(SqlType::VarChar(Length::Max)),
        (Family::String, _) => Some(SqlType::VarChar(Length::Limited(8000))),
        (Family::Binary | Family::Variant | Family::Xml, _) => None,
        _ => Some(SqlType::NVarChar(Length::Limited(4000))),
    }
}

impl Aggregate {
    /// The same aggregate with a separator between strings.
    #[must_use]
    pub fn with_separator(mut self, separator: impl Into<SmolStr>) -> Aggregate {
        self.separator = separator.into();
        self
    }

    /// The state of an empty group.
    #[must_use]
    pub fn init(&self) -> Accumulator {
        use Function as F;
        match self.function {
            F::Count | F::CountBig => Accumulator::Count(0),
            F::ApproxCountDistinct => Accumulator::Sketch(Box::new([0; SKETCH_REGISTERS])),
            F::Sum | F::Avg if self.argument == SqlType::Float => Accumulator::Float(0.0, 0),
            F::Sum | F::Avg => Accumulator::Exact(0, 0),
            F::Min | F::Max => Accumulator::Extreme(Value::Null),
            F::StDev | F::StDevP | F::Var | F::VarP => Accumulator::Moments(0, 0.0, 0.0),
            F::StringAgg => Accumulator::Text(None),
            F::ChecksumAgg => Accumulator::Checksum(None),
        }
    }

    /// Takes in one value of the argument type.
    #[inline]
    pub fn step(&self, state: &mut Accumulator, value: &Value) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        match state {
            Accumulator::Count(n) => *n += 1,
            Accumulator::Exact(sum, n) => {
                *sum = sum.checked_add(unscaled(value)).ok_or_else(|| raise::overflow(self.result))?;
                *n += 1;
            }
            Accumulator::Float(sum, n) => {
                *sum += float(value);
                *n += 1;
            }
            Accumulator::Extreme(best) => {
                if best.is_null() || self.beats(value, best) {
                    *best = value.clone();
                }
            }
            Accumulator::Moments(n, mean, squares) => {
                let x = float(value);
                *n += 1;
                let distance = x - *mean;
                *mean += distance / *n as f64;
                *squares += distance * (x - *mean);
            }
            Accumulator::Text(text) => return self.join(text, value.as_str().unwrap_or_default()),
            Accumulator::Checksum(sum) => {
                *sum = Some(sum.unwrap_or(0) ^ value.as_int().unwrap_or_default() as i32);
            }
            Accumulator::Sketch(registers) => {
                let mut hasher = DefaultHasher::new();
                compare::hash(value, self.collation, &mut hasher);
                let hash = hasher.finish();
                let register = &mut registers[(hash >> 52) as usize];
                *register = (*register).max(((hash << 12) | 1 << 11).leading_zeros() as u8 + 1);
            }
        }
        Ok(())
    }

    fn beats(&self, value: &Value, best: &Value) -> bool {
        let order = compare::order(value, best, self.collation);
        if self.function == Function::Min { order.is_lt() } else { order.is_gt() }
    }

    fn join(&self, text: &mut Option<String>, next: &str) -> Result<()> {
        let whole = match text {
            Some(whole) => {
                whole.push_str(&self.separator);
                whole
            }
            None => text.insert(String::new()),
        };
        whole.push_str(next);
        match self.result.length() {
            Some(Length::Limited(n))
                if whole.len() > usize::from(n)
                    && crate::cast::cut_at(whole, usize::from(n), self.result.is_national())
                        < whole.len() =>
            {
                let text = "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.";
                Err(SqlError::new(9829, 16, 1, text))
            }
            _ => Ok(()),
        }
    }

    /// Takes in the state of another part of the same group, which comes after this one.
    pub fn merge(&self, state: &mut Accumulator, other: Accumulator) -> Result<()> {
        match (state, other) {
            (Accumulator::Count(n), Accumulator::Count(m)) => *n += m,
            (Accumulator::Exact(sum, n), Accumulator::Exact(more, m)) => {
                *sum = sum.checked_add(more).ok_or_else(|| raise::overflow(self.result))?;
                *n += m;
            }
            (Accumulator::Float(sum, n), Accumulator::Float(more, m)) => {
                *sum += more;
                *n += m;
            }
            (state @ Accumulator::Extreme(_), Accumulator::Extreme(value)) => self.step(state, &value)?,
            (Accumulator::Moments(n, mean, squares), Accumulator::Moments(m, other_mean, other_squares))
                if m > 0 =>
            {
                let total = *n + m;
                let distance = other_mean - *mean;
                *squares += other_squares + distance * distance * (*n as f64) * (m as f64) / total as f64;
                *mean += distance * m as f64 / total as f64;
                *n = total;
            }
            (Accumulator::Text(text), Accumulator::Text(Some(next))) => self.join(text, &next)?,
            (Accumulator::Checksum(sum), Accumulator::Checksum(Some(other))) => {
                *sum = Some(sum.unwrap_or(0) ^ other)
            }
            (Accumulator::Sketch(a), Accumulator::Sketch(b)) => {
                for (x, y) in a.iter_mut().zip(b.iter()) {
                    *x = (*x).max(*y);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The result; error 8115 when it does not fit its type.
    pub fn finish(&self, state: &Accumulator) -> Result<Value> {
        let average = self.function == Function::Avg;
        match state {
            Accumulator::Count(n) => checked_int(Some(*n), self.result),
            Accumulator::Exact(_, 0) | Accumulator::Float(_, 0) => Ok(Value::Null),
            Accumulator::Exact(sum, n) => self.finish_exact(*sum, *n),
            Accumulator::Float(sum, n) if average => checked_float(sum / *n as f64, self.result),
            Accumulator::Float(sum, _) => checked_float(*sum, self.result),
            Accumulator::Extreme(value) => Ok(value.clone()),
            Accumulator::Moments(n, _, squares) => {
                let sample = matches!(self.function, Function::StDev | Function::Var);
                let divisor = if sample { *n - 1 } else { *n };
                if divisor < 1 {
                    return Ok(Value::Null);
                }
                let variance = squares / divisor as f64;
                let root = matches!(self.function, Function::StDev | Function::StDevP);
                checked_float(if root { variance.sqrt() } else { variance }, self.result)
            }
            Accumulator::Text(text) => Ok(text.as_ref().map_or(Value::Null, |t| Value::str(t.as_str()))),
            Accumulator::Checksum(sum) => Ok(sum.map_or(Value::Null, |s| Value::Int(s.into()))),
            Accumulator::Sketch(registers) => Ok(Value::Int(estimate(registers))),
        }
    }

    /// Averages of integers and money are cut off, those of decimals divide as decimals do.
    fn finish_exact(&self, sum: i128, n: i64) -> Result<Value> {
        let average = self.function == Function::Avg;
        let overflow = || raise::overflow(self.result);
        let quotient = if average { sum / i128::from(n) } else { sum };
        match self.result.family() {
            Family::Money => checked_money(quotient, self.result),
            Family::Decimal => {
                if sum.unsigned_abs() > Decimal::MAX_MANTISSA.unsigned_abs() {
                    return Err(overflow());
                }
                let sum = Decimal::new(sum, self.argument.scale());
                let result = if average {
                    sum.divide(Decimal::from_int(n), self.result.scale())
                } else {
                    sum.rescale(self.result.scale())
                };
                result.map(Value::Decimal).ok_or_else(overflow)
            }
            _ => checked_int(Some(i64::try_from(quotient).map_err(|_| overflow())?), self.result),
        }
    }
}

fn unscaled(value: &Value) -> i128 {
    match value {
        Value::Int(n) | Value::Money(n) => i128::from(*n),
        Value::Decimal(d) => d.mantissa(),
        _ => 0,
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Float(f) => *f,
        _ => 0.0,
    }
}

/// HyperLogLog's estimate, with linear counting while many registers are empty.
fn estimate(registers: &[u8; SKETCH_REGISTERS]) -> i64 {
    let m = SKETCH_REGISTERS as f64;
    let sum: f64 = registers.iter().map(|r| (-f64::from(*r)).exp2()).sum();
    let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
    let empty = registers.iter().filter(|r| **r == 0).count();
    let count = if raw <= 2.5 * m && empty > 0 { m * (m / empty as f64).ln() } else { raw };
    count.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::to_text;
    use proptest::prelude::*;

    fn run(function: Function, ty: SqlType, values: &[Value]) -> String {
        let run = || -> Result<String> {
            let aggregate = resolve(function, ty, Collation::default())?.with_separator(",");
            let mut state = aggregate.init();
            for v in values {
                aggregate.step(&mut state, v)?;
            }
            let v = aggregate.finish(&state)?;
            Ok(if v.is_null() { "NULL".to_owned() } else { to_text(&v, aggregate.result, -1)?.to_string() })
        };
        run().unwrap_or_else(|e| e.number.to_string())
    }

    fn ints(values: &[i64]) -> Vec<Value> {
        values.iter().map(|n| Value::Int(*n)).collect()
    }

    #[test]
    fn known_results() {
        use Function as F;
        let check = |function, ty, values: &[Value], expect: &str| {
            assert_eq!(run(function, ty, values), expect, "{function:?} {values:?}");
        };
        let int = SqlType::Int;
        let decimal = SqlType::Decimal { precision: 5, scale: 2 };
        let d = |m| Value::Decimal(Decimal::new(m, 2));
        check(F::Count, int, &[Value::Int(1), Value::Null], "1");
        check(F::Sum, int, &[], "NULL");
        check(F::Sum, int, &ints(&[1, 2, 4]), "7");
        check(F::Sum, int, &ints(&[2_147_483_647, 1]), "8115");
        check(F::Sum, int, &ints(&[2_147_483_647, 1, -1]), "2147483647");
        check(F::Sum, SqlType::TinyInt, &ints(&[200, 200]), "400");
        check(F::Avg, int, &ints(&[1, 2]), "1");
        check(F::Avg, decimal, &[d(100), d(100), d(1)], "0.670000");
        check(F::Avg, decimal, &[d(100), d(0), d(0)], "0.333333");
        check(F::Sum, decimal, &[d(99_999), d(99_999)], "1999.98");
        check(F::Sum, SqlType::Money, &[Value::Money(15_000), Value::Money(2_500)], "1.75");
        check(F::Sum, SqlType::Bit, &[], "8117");
        check(F::Sum, SqlType::VarChar(Length::Max), &[], "8117");
        check(F::Min, SqlType::VarChar(Length::Max), &[Value::str("b"), Value::str("A"), Value::Null], "A");
        check(F::Max, SqlType::Bit, &[], "8117");
        check(F::StDev, int, &[Value::Float(2.0)], "NULL");
        check(F::StDevP, int, &[Value::Float(2.0)], "0");
        check(F::Var, int, &[Value::Float(2.0), Value::Float(4.0)], "2");
        check(F::VarP, int, &[Value::Float(2.0), Value::Float(4.0)], "1");
        check(
            F::StringAgg,
            SqlType::VarChar(Length::Limited(5)),
            &[Value::str("a"), Value::Null, Value::str("b")],
            "a,b",
        );
        let long = vec![Value::str("x".repeat(5000)), Value::str("y".repeat(5000))];
        check(F::StringAgg, SqlType::VarChar(Length::Limited(8000)), &long, "9829");
        check(F::ChecksumAgg, int, &ints(&[5, 3]), "6");
    }

    #[test]
    fn sketch_is_close() {
        let aggregate = resolve(Function::ApproxCountDistinct, SqlType::Int, Collation::default()).unwrap();
        for wanted in [10i64, 1_000, 50_000] {
            let mut state = aggregate.init();
            for n in 0..2 * wanted {
                aggregate.step(&mut state, &Value::Int(n % wanted)).unwrap();
            }
            let got = aggregate.finish(&state).unwrap().as_int().unwrap();
            assert!((got - wanted).abs() <= wanted / 20, "{got} for {wanted}");
        }
    }

    proptest! {
        #[test]
        fn merging_parts_is_stepping_through(
            left in proptest::collection::vec(-1000i64..1000, 0..20),
            right in proptest::collection::vec(-1000i64..1000, 0..20),
            function in proptest::sample::select(vec![
                Function::Count, Function::Sum, Function::Avg, Function::Min, Function::Max, Function::ChecksumAgg,
                Function::ApproxCountDistinct, Function::Var, Function::StDevP,
            ]),
        ) {
            let aggregate = resolve(function, SqlType::Int, Collation::default()).unwrap();
            let float = aggregate.argument == SqlType::Float;
            let value = |n: &i64| if float { Value::Float(*n as f64) } else { Value::Int(*n) };
            let fill = |values: &mut dyn Iterator<Item = &i64>| {
                let mut state = aggregate.init();
                for n in values {
                    aggregate.step(&mut state, &value(n)).unwrap();
                }
                state
            };
            let mut parts = fill(&mut left.iter());
            aggregate.merge(&mut parts, fill(&mut right.iter())).unwrap();
            let whole = fill(&mut left.iter().chain(&right));
            match (aggregate.finish(&parts).unwrap(), aggregate.finish(&whole).unwrap()) {
                (Value::Float(a), Value::Float(b)) => prop_assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs())),
                (a, b) => prop_assert_eq!(format!("{a:?}"), format!("{b:?}")),
            }
        }
    }
}
