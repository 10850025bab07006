//! Arithmetic and bit operators.
//!
//! [`resolve`] picks, once, the conversions of both sides, the type of the result and the function that computes it.
//! NULL on either side gives NULL. Results that leave the type's range raise 8115, division by zero 8134.
//!
//! Integer and money division cut off; decimal results have the precision and scale of
//! [`crate::ty::promote`] and are rounded, division excepted, which cuts off too.

use crate::cast::{self, Cast};
use crate::datetime::{
    DAY_1753, DAY_1900, MAX_TICKS, TICKS_PER_DAY, from_three_hundredths, round_to_minute, to_three_hundredths,
};
use crate::error::Result;
use crate::raise;
use crate::ty::promote::{self, BinaryOp, operand_types};
use crate::ty::{Family, SqlType};
use crate::value::{Decimal, Value};
use smol_str::{SmolStr, SmolStrBuilder};

/// A resolved binary operator.
#[derive(Clone, Copy, Debug)]
pub struct Binary {
    /// Conversion of the left side; `None` when it is already right.
    pub left: Option<Cast>,
    /// Conversion of the right side.
    pub right: Option<Cast>,
    /// Type of the result.
    pub result: SqlType,
    /// The operation on converted, non-NULL values.
    pub operation: fn(&Value, &Value, SqlType) -> Result<Value>,
}

impl Binary {
    /// Computes `left op right`, converting as needed.
    #[inline]
    pub fn apply(&self, left: &Value, right: &Value) -> Result<Value> {
        if left.is_null() || right.is_null() {
            return Ok(Value::Null);
        }
        match (&self.left, &self.right) {
            (None, None) => (self.operation)(left, right, self.result),
            (Some(l), None) => (self.operation)(&l.apply(left)?, right, self.result),
            (None, Some(r)) => (self.operation)(left, &r.apply(right)?, self.result),
            (Some(l), Some(r)) => (self.operation)(&l.apply(left)?, &r.apply(right)?, self.result),
        }
    }

    /// Computes on values the caller has already converted to the operand types.
    #[inline]
    pub fn apply_converted(&self, left: &Value, right: &Value) -> Result<Value> {
        if left.is_null() || right.is_null() {
            return Ok(Value::Null);
        }
        (self.operation)(left, right, self.result)
    }
}

/// Finds the operation for two types. Errors: 402, 8117, 206 as the product raises them at compile time.
pub fn resolve(op: BinaryOp, left: SqlType, right: SqlType) -> Result<Binary> {
    let (l, r, result) = operand_types(op, left, right)?;
    let side = |from: SqlType, to: SqlType| -> Result<Option<Cast>> {
        let cast = if from.is_binary() && to.is_integer() {
            cast::explicit(from, to)?
        } else {
            cast::implicit(from, to)?
        };
        Ok((!cast.is_identity()).then_some(cast))
    };
    Ok(Binary { left: side(left, l)?, right: side(right, r)?, result, operation: operation(op, result) })
}

fn operation(op: BinaryOp, result: SqlType) -> fn(&Value, &Value, SqlType) -> Result<Value> {
    use BinaryOp as B;
    match (result.family(), op) {
        (Family::Bit | Family::Integer, B::Add) => int_add,
        (Family::Bit | Family::Integer, B::Subtract) => int_subtract,
        (Family::Bit | Family::Integer, B::Multiply) => int_multiply,
        (Family::Bit | Family::Integer, B::Divide) => int_divide,
        (Family::Bit | Family::Integer, B::Modulo) => int_modulo,
        (Family::Bit | Family::Integer, B::BitAnd) => bit_and,
        (Family::Bit | Family::Integer, B::BitOr) => bit_or,
        (Family::Bit | Family::Integer, B::BitXor) => bit_xor,
        (Family::Decimal, B::Subtract) => decimal_subtract,
        (Family::Decimal, B::Multiply) => decimal_multiply,
        (Family::Decimal, B::Divide) => decimal_divide,
        (Family::Decimal, B::Modulo) => decimal_modulo,
        (Family::Decimal, _) => decimal_add,
        (Family::Money, B::Subtract) => money_subtract,
        (Family::Money, B::Multiply) => money_multiply,
        (Family::Money, B::Divide) => money_divide,
        (Family::Money, B::Modulo) => money_modulo,
        (Family::Money, _) => money_add,
        (Family::Float, B::Subtract) => float_subtract,
        (Family::Float, B::Multiply) => float_multiply,
        (Family::Float, B::Divide) => float_divide,
        (Family::Float, _) => float_add,
        (Family::DateTime, B::Subtract) => datetime_subtract,
        (Family::DateTime, _) => datetime_add,
        (Family::Binary, _) => binary_concat,
        _ => text_concat,
    }
}

/// Operands of a kind the resolved operation does not expect: a caller's mistake, answered without a panic.
fn mismatch(ty: SqlType) -> Box<crate::SqlError> {
    debug_assert!(false, "operands are not of type {ty}");
    raise::overflow(ty)
}

macro_rules! int_operation {
    ($name:ident, |$a:ident, $b:ident| $body:expr) => {
        fn $name(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
            let (Some($a), Some($b)) = (left.as_int(), right.as_int()) else { return Err(mismatch(ty)) };
            checked_int($body, ty)
        }
    };
}

int_operation!(int_add, |a, b| a.checked_add(b));
int_operation!(int_subtract, |a, b| a.checked_sub(b));
int_operation!(int_multiply, |a, b| a.checked_mul(b));
int_operation!(int_divide, |a, b| if b == 0 {
    return Err(raise::divide_by_zero());
} else {
    a.checked_div(b)
});
/// The quotient is formed too: the smallest number of a type by -1 overflows, although nothing remains.
fn int_modulo(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
    int_divide(left, right, ty)?;
    int_remainder(left, right, ty)
}

int_operation!(int_remainder, |a, b| a.checked_rem(b));
int_operation!(bit_and, |a, b| Some(a & b));
int_operation!(bit_or, |a, b| Some(a | b));
int_operation!(bit_xor, |a, b| Some(a ^ b));

/// The result as a value of the integer type, or its overflow error.
#[inline]
pub(crate) fn checked_int(n: Option<i64>, ty: SqlType) -> Result<Value> {
    let in_range = |n: &i64| match ty {
        SqlType::Int => i32::try_from(*n).is_ok(),
        SqlType::SmallInt => i16::try_from(*n).is_ok(),
        SqlType::TinyInt => u8::try_from(*n).is_ok(),
        _ => true,
    };
    match n.filter(in_range) {
        Some(n) if ty == SqlType::Bit => Ok(Value::Bit(n != 0)),
        Some(n) => Ok(Value::Int(n)),
        None => Err(raise::overflow(ty)),
    }
}

macro_rules! decimal_operation {
    ($name:ident, $method:ident) => {
        fn $name(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
            let (Value::Decimal(a), Value::Decimal(b)) = (left, right) else { return Err(mismatch(ty)) };
            match a.$method(*b, ty.scale()) {
                Some(d) if d.fits(ty.precision()) => Ok(Value::Decimal(d)),
                _ => Err(raise::overflow(ty)),
            }
        }
    };
}

decimal_operation!(decimal_add, add);
decimal_operation!(decimal_subtract, subtract);
decimal_operation!(decimal_multiply, multiply);
decimal_operation!(decimal_divide_nonzero, divide);
decimal_operation!(decimal_modulo_nonzero, modulo);

fn decimal_divide(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
    nonzero(right)?;
    decimal_divide_nonzero(left, right, ty)
}

fn decimal_modulo(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
    nonzero(right)?;
    decimal_modulo_nonzero(left, right, ty)
}

fn nonzero(divisor: &Value) -> Result<()> {
    let zero = match divisor {
        Value::Decimal(d) => d.mantissa() == 0,
        Value::Money(n) => *n == 0,
        Value::Float(f) => *f == 0.0,
        _ => false,
    };
    if zero { Err(raise::divide_by_zero()) } else { Ok(()) }
}

macro_rules! money_operation {
    ($name:ident, |$a:ident, $b:ident| $body:expr) => {
        fn $name(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
            let (Value::Money(a), Value::Money(b)) = (left, right) else { return Err(mismatch(ty)) };
            let ($a, $b) = (i128::from(*a), i128::from(*b));
            checked_money($body, ty)
        }
    };
}

money_operation!(money_add, |a, b| a + b);
money_operation!(money_subtract, |a, b| a - b);
money_operation!(money_multiply, |a, b| crate::decimal::round_mantissa(a * b, 4));
money_operation!(money_divide, |a, b| if b == 0 {
    return Err(raise::divide_by_zero());
} else {
    a * 10_000 / b
});
money_operation!(money_modulo, |a, b| if b == 0 { return Err(raise::divide_by_zero()) } else { a % b });

pub(crate) fn checked_money(n: i128, ty: SqlType) -> Result<Value> {
    let fits = |n: &i64| ty != SqlType::SmallMoney || i32::try_from(*n).is_ok();
    match i64::try_from(n).ok().filter(fits) {
        Some(n) => Ok(Value::Money(n)),
        None => Err(raise::overflow(ty)),
    }
}

macro_rules! float_operation {
    ($name:ident, |$a:ident, $b:ident| $body:expr) => {
        fn $name(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
            let (Value::Float($a), Value::Float($b)) = (left, right) else { return Err(mismatch(ty)) };
            checked_float($body, ty)
        }
    };
}

float_operation!(float_add, |a, b| a + b);
float_operation!(float_subtract, |a, b| a - b);
float_operation!(float_multiply, |a, b| a * b);
float_operation!(float_divide, |a, b| if *b == 0.0 { return Err(raise::divide_by_zero()) } else { a / b });

/// The result as a value of the float type: real is rounded to its precision, infinity is an overflow.
pub(crate) fn checked_float(f: f64, ty: SqlType) -> Result<Value> {
    let f = if ty == SqlType::Real { f64::from(f as f32) } else { f };
    if f.is_finite() { Ok(Value::Float(f)) } else { Err(raise::overflow(ty)) }
}

fn datetime_add(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
    datetime_combine(left, right, ty, 1)
}

fn datetime_subtract(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
    datetime_combine(left, right, ty, -1)
}

/// Both sides are counted from 1900-01-01, on the grid of the type.
fn datetime_combine(left: &Value, right: &Value, ty: SqlType, sign: i64) -> Result<Value> {
    let (Value::DateTime(a), Value::DateTime(b)) = (left, right) else { return Err(mismatch(ty)) };
    let zero = to_three_hundredths(i64::from(DAY_1900) * TICKS_PER_DAY);
    let sum = to_three_hundredths(*a) + sign * (to_three_hundredths(*b) - zero);
    let ticks = from_three_hundredths(sum);
    let first = if ty == SqlType::SmallDateTime { DAY_1900 } else { DAY_1753 };
    if ticks < i64::from(first) * TICKS_PER_DAY || ticks > MAX_TICKS {
        return Err(raise::overflow(ty));
    }
    Ok(Value::DateTime(if ty == SqlType::SmallDateTime { round_to_minute(ticks) } else { ticks }))
}

fn text_concat(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
    let (Value::Str(a), Value::Str(b)) = (left, right) else { return Err(mismatch(ty)) };
    let mut whole = SmolStrBuilder::new();
    whole.push_str(a);
    whole.push_str(b);
    let whole = whole.finish();
    if let Some(crate::Length::Limited(n)) = ty.length()
        && whole.len() > usize::from(n)
    {
        let end = crate::cast::cut_at(&whole, usize::from(n), ty.is_national());
        return Ok(Value::Str(SmolStr::new(&whole[..end])));
    }
    Ok(Value::Str(whole))
}

fn binary_concat(left: &Value, right: &Value, ty: SqlType) -> Result<Value> {
    let (Value::Bytes(a), Value::Bytes(b)) = (left, right) else { return Err(mismatch(ty)) };
    let mut whole = [a.as_ref(), b.as_ref()].concat();
    if let Some(crate::Length::Limited(n)) = ty.length() {
        whole.truncate(usize::from(n));
    }
    Ok(Value::bytes(whole))
}

/// A resolved unary operator: `-x` or `~x`.
#[derive(Clone, Copy, Debug)]
pub struct Unary {
    /// Type of the result.
    pub result: SqlType,
    operation: fn(&Value, SqlType) -> Result<Value>,
}

impl Unary {
    /// Computes; NULL gives NULL.
    #[inline]
    pub fn apply(&self, value: &Value) -> Result<Value> {
        if value.is_null() { Ok(Value::Null) } else { (self.operation)(value, self.result) }
    }
}

/// Finds `-x`. The operand is of a numeric type (a NULL becomes int); other types raise 8117.
pub fn resolve_negate(ty: SqlType) -> Result<Unary> {
    let operation = match ty.family() {
        Family::Null | Family::Integer => negate_int,
        Family::Decimal => negate_decimal,
        Family::Money => negate_money,
        Family::Float => negate_float,
        _ => return Err(promote::invalid_operand(ty, "minus")),
    };
    Ok(Unary { result: if ty == SqlType::Null { SqlType::Int } else { ty }, operation })
}

/// Finds `~x`. The operand is bit or an integer; other types raise 8117.
pub fn resolve_bit_not(ty: SqlType) -> Result<Unary> {
    match ty.family() {
        Family::Null => Ok(Unary { result: SqlType::Int, operation: bit_not }),
        Family::Bit | Family::Integer => Ok(Unary { result: ty, operation: bit_not }),
        _ => Err(promote::invalid_operand(ty, "'~'")),
    }
}

fn negate_int(value: &Value, ty: SqlType) -> Result<Value> {
    checked_int(value.as_int().and_then(i64::checked_neg), ty)
}

fn negate_decimal(value: &Value, ty: SqlType) -> Result<Value> {
    match value {
        Value::Decimal(d) => Ok(Value::Decimal(Decimal::negate(*d))),
        _ => Err(mismatch(ty)),
    }
}

fn negate_money(value: &Value, ty: SqlType) -> Result<Value> {
    match value {
        Value::Money(n) => checked_money(-i128::from(*n), ty),
        _ => Err(mismatch(ty)),
    }
}

fn negate_float(value: &Value, ty: SqlType) -> Result<Value> {
    match value {
        Value::Float(f) => Ok(Value::Float(-f)),
        _ => Err(mismatch(ty)),
    }
}

fn bit_not(value: &Value, ty: SqlType) -> Result<Value> {
    match value {
        Value::Bit(b) => Ok(Value::Bit(!b)),
        Value::Int(n) if ty == SqlType::TinyInt => Ok(Value::Int(!n & 0xFF)),
        Value::Int(n) => Ok(Value::Int(!n)),
        _ => Err(mismatch(ty)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::{convert, to_text};
    use crate::testing::typed_value;
    use crate::ty::parse::{TypeArg, TypeSite, parse_type};
    use proptest::prelude::*;

    fn ty(text: &str) -> SqlType {
        let (name, rest) = text.split_once('(').unwrap_or((text, ""));
        let args: Vec<TypeArg> = rest
            .trim_end_matches(')')
            .split(',')
            .filter_map(|a| a.parse().ok().map(TypeArg::Number))
            .collect();
        parse_type(name, &args, TypeSite::cast(1)).unwrap()
    }

    fn compute(left: (&str, &str), op: BinaryOp, right: (&str, &str)) -> String {
        let value = |(text, t): (&str, &str)| {
            convert(&Value::str(text), SqlType::VarChar(crate::Length::Max), ty(t)).unwrap()
        };
        let run = || -> Result<String> {
            let f = resolve(op, ty(left.1), ty(right.1))?;
            let v = f.apply(&value(left), &value(right))?;
            Ok(format!("{} {}", to_text(&v, f.result, 121)?, f.result))
        };
        run().unwrap_or_else(|e| e.number.to_string())
    }

    #[test]
    fn known_results() {
        use BinaryOp::*;
        let check = |l, op, r, expect: &str| assert_eq!(compute(l, op, r), expect, "{l:?} {op:?} {r:?}");
        check(("7", "int"), Divide, ("2", "int"), "3 int");
        check(("-7", "int"), Modulo, ("2", "int"), "-1 int");
        check(("2147483647", "int"), Add, ("1", "int"), "8115");
        check(("2147483647", "int"), Add, ("1", "bigint"), "2147483648 bigint");
        check(("200", "tinyint"), Add, ("100", "tinyint"), "8115");
        check(("1", "int"), Divide, ("0", "int"), "8134");
        check(("1", "int"), Add, ("2", "varchar(5)"), "3 int");
        check(("1", "int"), Add, ("x", "varchar(5)"), "245");
        check(("1", "numeric(1,0)"), Divide, ("3", "numeric(1,0)"), "0.333333 numeric(7,6)");
        check(("2.0", "numeric(2,1)"), Divide, ("3.0", "numeric(2,1)"), "0.666666 numeric(8,6)");
        check(("1.10", "decimal(5,2)"), Multiply, ("2", "int"), "2.20 decimal(16,2)");
        check(("1.10", "decimal(5,2)"), Add, ("2.5", "money"), "3.6000 decimal(20,4)");
        check(("1.5", "money"), Multiply, ("3", "int"), "4.50 money");
        check(("1", "money"), Divide, ("3", "money"), "0.33 money");
        check(("1.5", "float"), Multiply, ("2", "int"), "3 float");
        check(("1e308", "float"), Multiply, ("10", "float"), "8115");
        check(("ab", "varchar(2)"), Add, ("cd", "nvarchar(2)"), "abcd nvarchar(4)");
        check(("2026-01-05", "datetime"), Add, ("1", "int"), "2026-01-06 00:00:00.000 datetime");
        check(
            ("2026-01-05", "datetime"),
            Subtract,
            ("0.5", "decimal(3,1)"),
            "2026-01-04 12:00:00.000 datetime",
        );
        check(
            ("2026-01-05", "datetime"),
            Subtract,
            ("2026-01-04", "datetime"),
            "1900-01-02 00:00:00.000 datetime",
        );
        check(("9999-12-31", "datetime"), Add, ("1", "int"), "8115");
        check(("6", "int"), BitXor, ("3", "tinyint"), "5 int");
        check(("1", "bit"), BitAnd, ("0", "bit"), "0 bit");
        check(("ab", "varbinary(4)"), Add, ("c", "varbinary(4)"), "abc varbinary(8)");
    }

    #[test]
    fn unary() {
        assert_eq!(resolve_negate(SqlType::Int).unwrap().apply(&Value::Int(5)).unwrap().as_int(), Some(-5));
        assert_eq!(
            resolve_negate(SqlType::Int).unwrap().apply(&Value::Int(-2_147_483_648)).unwrap_err().number,
            8115
        );
        assert_eq!(resolve_negate(SqlType::Bit).unwrap_err().number, 8117);
        assert_eq!(
            resolve_bit_not(SqlType::TinyInt).unwrap().apply(&Value::Int(1)).unwrap().as_int(),
            Some(254)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn never_panics(
            (lt, l) in typed_value(),
            (rt, r) in typed_value(),
            op in proptest::sample::select(vec![
                BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Divide, BinaryOp::Modulo, BinaryOp::BitXor,
            ]),
        ) {
            if let Ok(f) = resolve(op, lt, rt)
                && let Ok(v) = f.apply(&l, &r)
            {
                let mut bytes = Vec::new();
                crate::column::encode(&v, &f.result, &mut bytes);
                prop_assert_eq!(format!("{:?}", crate::column::decode(&bytes, &f.result)), format!("{:?}", v));
            }
        }
    }
}
