//! Mathematical functions.
//!
//! Those that round or change sign keep the kind of number they are given (small integers become int, real becomes
//! float, strings are read as float); the others compute in float.

use super::{Call, FnCtx, FunctionDef, Request, Volatility, int_at};
use crate::arith::{checked_float, checked_int, checked_money};
use crate::decimal::POW10;
use crate::error::Result;
use crate::raise;
use crate::ty::{Family, SqlType};
use crate::value::{Decimal, Value};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("ABS", 1, 1, |r| keeping(r, abs)),
    FunctionDef::new("CEILING", 1, 1, |r| whole(r, ceiling)),
    FunctionDef::new("FLOOR", 1, 1, |r| whole(r, floor)),
    FunctionDef::new("ROUND", 2, 3, resolve_round),
    FunctionDef::new("SIGN", 1, 1, |r| keeping(r, sign)),
    FunctionDef::new("POWER", 2, 2, resolve_power),
    FunctionDef::new("DEGREES", 1, 1, |r| {
        angle(r, |call, _, a| from_f64(f64_at(a, 0).to_degrees(), call.result))
    }),
    FunctionDef::new("RADIANS", 1, 1, |r| {
        angle(r, |call, _, a| from_f64(f64_at(a, 0).to_radians(), call.result))
    }),
    float1("SQRT", |r| float(r, |_, _, a| checked(f64_at(a, 0).sqrt()))),
    float1("SQUARE", |r| float(r, |_, _, a| checked(f64_at(a, 0) * f64_at(a, 0)))),
    float1("EXP", |r| float(r, |_, _, a| checked(f64_at(a, 0).exp()))),
    FunctionDef::new("LOG", 1, 2, |r| float(r, log)),
    float1("LOG10", |r| float(r, |_, _, a| checked(positive(f64_at(a, 0))?.log10()))),
    float1("SIN", |r| float(r, |_, _, a| checked(f64_at(a, 0).sin()))),
    float1("COS", |r| float(r, |_, _, a| checked(f64_at(a, 0).cos()))),
    float1("TAN", |r| float(r, |_, _, a| checked(f64_at(a, 0).tan()))),
    float1("COT", |r| float(r, |_, _, a| checked(f64_at(a, 0).tan().recip()))),
    float1("ASIN", |r| float(r, |_, _, a| checked(f64_at(a, 0).asin()))),
    float1("ACOS", |r| float(r, |_, _, a| checked(f64_at(a, 0).acos()))),
    float1("ATAN", |r| float(r, |_, _, a| checked(f64_at(a, 0).atan()))),
    FunctionDef::new("ATN2", 2, 2, |r| {
        float(r, |_, _, a| match (f64_at(a, 0), f64_at(a, 1)) {
            (0.0, 0.0) => Err(raise::invalid_float()),
            (y, x) => checked(y.atan2(x)),
        })
    }),
    FunctionDef::new("PI", 0, 0, |r| float(r, |_, _, _| Ok(Value::Float(std::f64::consts::PI)))),
    FunctionDef::new("RAND", 0, 1, |r| {
        let params = if r.has(0) { vec![SqlType::Int] } else { vec![] };
        Ok(Call { once: !r.has(0), ..Call::new(SqlType::Float, params, rand).lenient() })
    })
    .per(Volatility::Statement),
];

const fn float1(name: &'static str, resolve: fn(&Request<'_>) -> Result<Call>) -> FunctionDef {
    FunctionDef::new(name, 1, 1, resolve)
}

fn float(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    Ok(Call::new(SqlType::Float, vec![SqlType::Float; r.args.len()], routine))
}

fn checked(f: f64) -> Result<Value> {
    if f.is_nan() { Err(raise::invalid_float()) } else { checked_float(f, SqlType::Float) }
}

fn positive(f: f64) -> Result<f64> {
    if f > 0.0 { Ok(f) } else { Err(raise::invalid_float()) }
}

fn log(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let x = positive(f64_at(args, 0))?;
    match args.get(1) {
        None => checked(x.ln()),
        Some(_) => {
            let base = positive(f64_at(args, 1))?;
            if base == 1.0 { Err(raise::invalid_float()) } else { checked(x.ln() / base.ln()) }
        }
    }
}

/// The number as float, whatever its kind.
fn f64_at(args: &[Value], i: usize) -> f64 {
    match &args[i] {
        Value::Float(f) => *f,
        Value::Int(n) => *n as f64,
        Value::Money(m) => *m as f64 / 10_000.0,
        Value::Decimal(d) => d.to_f64(),
        _ => 0.0,
    }
}

/// A float as a value of a numeric type, cut for integers, rounded for the others. Error 232 or 8115 when it does not fit.
fn from_f64(f: f64, ty: SqlType) -> Result<Value> {
    if f.is_nan() {
        return Err(raise::invalid_float());
    }
    match ty.family() {
        Family::Integer => {
            let n = (f.abs() < 9.3e18).then(|| f.trunc() as i128).and_then(|n| i64::try_from(n).ok());
            checked_int(n, ty).map_err(|_| raise::float_overflow(ty, f))
        }
        Family::Decimal => match Decimal::from_f64(f, ty.scale()) {
            Some(d) if d.fits(ty.precision()) => Ok(Value::Decimal(d)),
            _ => Err(raise::overflow(ty)),
        },
        Family::Money => {
            let n = Decimal::from_f64(f, 4).ok_or_else(|| raise::overflow(ty))?;
            checked_money(n.mantissa(), ty)
        }
        _ => checked_float(f, ty),
    }
}

/// The kind of number in which a function takes and gives its first argument.
fn kept(r: &Request<'_>) -> Result<SqlType> {
    let ty = r.ty(0);
    Ok(match ty.family() {
        Family::Integer if ty != SqlType::BigInt => SqlType::Int,
        Family::Null => SqlType::Int,
        Family::Money => SqlType::Money,
        Family::Integer | Family::Decimal => ty,
        Family::Bit | Family::Float | Family::String | Family::NationalString => SqlType::Float,
        _ => return Err(r.bad_argument(0)),
    })
}

fn keeping(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let ty = kept(r)?;
    Ok(Call::new(ty, vec![ty], routine))
}

/// Decimals lose their fraction and may gain a digit in front.
fn whole(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let ty = kept(r)?;
    let result = match ty {
        SqlType::Decimal { precision, .. } => SqlType::Decimal { precision, scale: 0 },
        SqlType::Numeric { precision, .. } => SqlType::Numeric { precision, scale: 0 },
        other => other,
    };
    Ok(Call::new(result, vec![ty], routine))
}

fn abs(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    Ok(match &args[0] {
        Value::Int(n) => return checked_int(n.checked_abs(), call.result),
        Value::Decimal(d) => Value::Decimal(Decimal::new(d.mantissa().abs(), d.scale)),
        Value::Money(n) => return checked_money(i128::from(*n).abs(), call.result),
        Value::Float(f) => Value::Float(f.abs()),
        other => other.clone(),
    })
}

fn sign(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    Ok(match &args[0] {
        Value::Int(n) => Value::Int(n.signum()),
        Value::Decimal(d) => {
            Value::Decimal(Decimal::new(d.mantissa().signum() * POW10[usize::from(d.scale.min(37))], d.scale))
        }
        Value::Money(n) => Value::Money(n.signum() * 10_000),
        Value::Float(f) if *f == 0.0 => Value::Float(0.0),
        Value::Float(f) => Value::Float(f.signum()),
        other => other.clone(),
    })
}

fn ceiling(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    to_whole(&args[0], call.result, 1, f64::ceil)
}

fn floor(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    to_whole(&args[0], call.result, -1, f64::floor)
}

/// `toward` is the sign of the infinity the number is moved to.
fn to_whole(value: &Value, ty: SqlType, toward: i128, float: fn(f64) -> f64) -> Result<Value> {
    let step =
        |m: i128, unit: i128| m / unit + if m % unit != 0 && m.signum() == toward { toward } else { 0 };
    Ok(match value {
        Value::Decimal(d) => {
            Value::Decimal(Decimal::new(step(d.mantissa(), POW10[usize::from(d.scale.min(38))]), 0))
        }
        Value::Money(n) => return checked_money(step(i128::from(*n), 10_000) * 10_000, ty),
        Value::Float(f) => Value::Float(float(*f)),
        other => other.clone(),
    })
}

fn resolve_round(r: &Request<'_>) -> Result<Call> {
    let ty = kept(r)?;
    let mut params = vec![ty, SqlType::Int];
    params.extend(r.has(2).then_some(SqlType::Int));
    Ok(Call::new(ty, params, round))
}

/// Rounds half away from zero to digits after (or, negative, before) the point; cuts off when the third argument is not 0.
fn round(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let digits = int_at(args, 1).clamp(-400, 400);
    let cut = args.len() > 2 && int_at(args, 2) != 0;
    match &args[0] {
        Value::Int(n) => {
            let n = round_scaled(i128::from(*n), -digits, cut);
            checked_int(i64::try_from(n).ok(), call.result)
        }
        Value::Money(n) => checked_money(round_scaled(i128::from(*n), 4 - digits, cut), call.result),
        Value::Decimal(d) => {
            let rounded = Decimal::new(round_scaled(d.mantissa(), i64::from(d.scale) - digits, cut), d.scale);
            if rounded.fits(call.result.precision()) {
                Ok(Value::Decimal(rounded))
            } else {
                Err(raise::overflow(call.result))
            }
        }
        Value::Float(f) => checked_float(round_float(*f, digits, cut), SqlType::Float),
        other => Ok(other.clone()),
    }
}

/// Clears the last `drop` digits.
fn round_scaled(n: i128, drop: i64, cut: bool) -> i128 {
    if drop <= 0 {
        return n;
    }
    let Some(unit) = POW10.get(drop as usize) else { return 0 };
    let (quotient, rest) = (n / unit, n % unit);
    let up = !cut && rest.unsigned_abs() * 2 >= unit.unsigned_abs();
    (quotient + if up { n.signum() } else { 0 }) * unit
}

fn round_float(f: f64, digits: i64, cut: bool) -> f64 {
    if digits.abs() > 300 {
        return if digits < 0 { 0.0 } else { f };
    }
    let scale = 10f64.powi(digits.unsigned_abs() as i32);
    let scaled = if digits >= 0 { f * scale } else { f / scale };
    if !scaled.is_finite() {
        return f;
    }
    let whole = if cut { scaled.trunc() } else { scaled.round() };
    if digits >= 0 { whole / scale } else { whole * scale }
}

fn resolve_power(r: &Request<'_>) -> Result<Call> {
    let ty = match kept(r)? {
        SqlType::Decimal { scale, .. } => SqlType::Decimal { precision: 38, scale },
        SqlType::Numeric { scale, .. } => SqlType::Numeric { precision: 38, scale },
        other => other,
    };
    Ok(Call::new(ty, vec![ty, SqlType::Float], power))
}

fn power(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (base, exponent) = (f64_at(args, 0), f64_at(args, 1));
    if base == 0.0 && exponent < 0.0 {
        return Err(raise::divide_by_zero());
    }
    // Integers stay exact where float would not be.
    if let (Value::Int(n), true) = (&args[0], exponent >= 0.0 && exponent.fract() == 0.0 && exponent < 64.0) {
        let exact = n.checked_pow(exponent as u32);
        return checked_int(exact, call.result)
            .map_err(|_| raise::float_overflow(call.result, base.powf(exponent)));
    }
    from_f64(base.powf(exponent), call.result)
}

fn angle(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let ty = kept(r)?;
    let result = match ty.family() {
        Family::Decimal => SqlType::Numeric { precision: 38, scale: ty.scale().max(18) },
        _ => ty,
    };
    Ok(Call::new(result, vec![ty], routine))
}

fn rand(_: &Call, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let seed = args.first().and_then(Value::as_int);
    Ok(Value::Float(ctx.rand(seed)))
}
