//! Functions on the bits of integers and binary strings. Bit 0 is the lowest: of an integer, and of the last byte.

use super::{Call, FnCtx, FunctionDef, Request, int_at};
use crate::error::{Result, SqlError};
use crate::ty::{Length, SqlType};
use crate::value::Value;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("BIT_COUNT", 1, 1, |r| Ok(Call::new(SqlType::BigInt, vec![operand(r)?], bit_count))),
    FunctionDef::new("GET_BIT", 2, 2, |r| {
        Ok(Call::new(SqlType::Bit, vec![operand(r)?, SqlType::BigInt], get_bit))
    }),
    FunctionDef::new("SET_BIT", 2, 3, |r| {
        let ty = operand(r)?;
        let mut params = vec![ty, SqlType::BigInt];
        params.extend(r.has(2).then_some(SqlType::BigInt));
        Ok(Call::new(ty, params, set_bit))
    }),
    FunctionDef::new("LEFT_SHIFT", 2, 2, |r| {
        let ty = operand(r)?;
        Ok(Call::new(ty, vec![ty, SqlType::BigInt], |call, _, a| Ok(shifted(call, &a[0], int_at(a, 1)))))
    }),
    FunctionDef::new("RIGHT_SHIFT", 2, 2, |r| {
        let ty = operand(r)?;
        Ok(Call::new(ty, vec![ty, SqlType::BigInt], |call, _, a| {
            Ok(shifted(call, &a[0], int_at(a, 1).saturating_neg()))
        }))
    }),
];

/// The type in which a function takes its first argument: an integer, or a binary string that is not large.
fn operand(r: &Request<'_>) -> Result<SqlType> {
    match r.ty(0) {
        SqlType::Null => Ok(SqlType::Int),
        ty if ty.is_integer() => Ok(ty),
        SqlType::VarBinary(Length::Max) | SqlType::Image => Err(r.bad_argument(0)),
        ty @ (SqlType::Binary(_) | SqlType::VarBinary(_)) => Ok(ty),
        _ => Err(r.bad_argument(0)),
    }
}

/// Bits of an integer type.
fn width(ty: SqlType) -> u32 {
    match ty {
        SqlType::TinyInt => 8,
        SqlType::SmallInt => 16,
        SqlType::Int => 32,
        _ => 64,
    }
}

/// The bits of an integer, alone.
fn unsigned(n: i64, width: u32) -> u64 {
    (n as u64) & (u64::MAX >> (64 - width))
}

/// The integer that has these bits.
fn signed(bits: u64, ty: SqlType) -> Value {
    Value::Int(match ty {
        SqlType::TinyInt => i64::from(bits as u8),
        SqlType::SmallInt => i64::from(bits as u16 as i16),
        SqlType::Int => i64::from(bits as u32 as i32),
        _ => bits as i64,
    })
}

fn bit_count(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let count = match &args[0] {
        Value::Bytes(bytes) => bytes.iter().map(|b| b.count_ones()).sum(),
        other => unsigned(other.as_int().unwrap_or_default(), width(call.params[0])).count_ones(),
    };
    Ok(Value::Int(i64::from(count)))
}

/// Where a bit is, when the value has it.
fn offset_in(call: &Call, args: &[Value]) -> Result<u32> {
    let bits = match &args[0] {
        Value::Bytes(bytes) => bytes.len() * 8,
        _ => width(call.params[0]) as usize,
    };
    let offset = usize::try_from(int_at(args, 1)).ok().filter(|n| *n < bits);
    offset.map(|n| n as u32).ok_or_else(|| {
        SqlError::new(9838, 16, 1, "The bit offset is negative or greater than the last bit of the value.")
    })
}

fn get_bit(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let at = offset_in(call, args)?;
    Ok(Value::Bit(match &args[0] {
        Value::Bytes(bytes) => bytes[bytes.len() - 1 - at as usize / 8] >> (at % 8) & 1 == 1,
        other => other.as_int().unwrap_or_default() >> at & 1 == 1,
    }))
}

fn set_bit(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let at = offset_in(call, args)?;
    let on = match args.get(2).map(|bit| bit.as_int()) {
        None | Some(Some(1)) => true,
        Some(Some(0)) => false,
        _ => return Err(SqlError::new(9839, 16, 1, "The bit value must be 0 or 1.")),
    };
    Ok(match &args[0] {
        Value::Bytes(bytes) => {
            let mut bytes = bytes.to_vec();
            let place = bytes.len() - 1 - at as usize / 8;
            let bit = 1 << (at % 8);
            bytes[place] = if on { bytes[place] | bit } else { bytes[place] & !bit };
            Value::bytes(bytes)
        }
        other => {
            let bits = unsigned(other.as_int().unwrap_or_default(), width(call.params[0]));
            signed(if on { bits | 1 << at } else { bits & !(1 << at) }, call.params[0])
        }
    })
}

/// The value moved to the left, or by a negative number to the right; zeros follow, whatever the sign was.
fn shifted(call: &Call, value: &Value, by: i64) -> Value {
    match value {
        Value::Bytes(bytes) => Value::bytes(shifted_bytes(bytes, by)),
        other => {
            let width = width(call.params[0]);
            let bits = unsigned(other.as_int().unwrap_or_default(), width);
            let amount = by.unsigned_abs();
            let moved = match u32::try_from(amount).ok().filter(|n| *n < width) {
                None => 0,
                Some(n) if by >= 0 => bits << n,
                Some(n) => bits >> n,
            };
            signed(unsigned(moved as i64, width), call.params[0])
        }
    }
}

fn shifted_bytes(bytes: &[u8], by: i64) -> Vec<u8> {
    let mut out = vec![0; bytes.len()];
    let amount = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    let (whole, part) = (amount / 8, (amount % 8) as u32);
    // Byte `i` counted from the low end.
    let low = |i: usize| bytes.len().checked_sub(i + 1).map_or(0, |at| bytes[at]);
    for i in 0..bytes.len() {
        let moved = if by >= 0 {
            let upper = i.checked_sub(whole).map_or(0, low);
            let lower = i.checked_sub(whole.saturating_add(1)).map_or(0, low);
            (u16::from(upper) << part | u16::from(lower) << part >> 8) as u8
        } else {
            let from = i.saturating_add(whole);
            let pair =
                if from < bytes.len() { u16::from(low(from)) | u16::from(low(from + 1)) << 8 } else { 0 };
            (pair >> part) as u8
        };
        let at = bytes.len() - 1 - i;
        out[at] = moved;
    }
    out
}
