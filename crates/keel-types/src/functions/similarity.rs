//! How alike two strings are: `EDIT_DISTANCE`, `EDIT_DISTANCE_SIMILARITY`, `JARO_WINKLER_DISTANCE` and
//! `JARO_WINKLER_SIMILARITY`. Characters are compared as they are, whatever the collation; like the product, the first two
//! know no transpositions.

use super::{Call, FunctionDef, Request, str_at};
use crate::error::Result;
use crate::ty::{Length, SqlType};
use crate::value::Value;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("EDIT_DISTANCE", 2, 3, |r| {
        let mut params = strings(r)?;
        params.extend(r.has(2).then_some(SqlType::Int));
        Ok(Call::new(SqlType::Int, params, |_, _, args| {
            let distance = strsim::levenshtein(str_at(args, 0), str_at(args, 1)) as i64;
            // A third argument says from which distance on the exact one is not wanted.
            let most = args.get(2).and_then(Value::as_int).unwrap_or(i64::MAX);
            Ok(Value::Int(if most >= 0 { distance.min(most) } else { distance }))
        }))
    }),
    FunctionDef::new("EDIT_DISTANCE_SIMILARITY", 2, 2, |r| {
        Ok(Call::new(SqlType::Int, strings(r)?, |_, _, args| {
            Ok(percent(strsim::normalized_levenshtein(str_at(args, 0), str_at(args, 1))))
        }))
    }),
    FunctionDef::new("JARO_WINKLER_DISTANCE", 2, 2, |r| {
        Ok(Call::new(SqlType::Float, strings(r)?, |_, _, args| {
            Ok(Value::Float(1.0 - strsim::jaro_winkler(str_at(args, 0), str_at(args, 1))))
        }))
    }),
    FunctionDef::new("JARO_WINKLER_SIMILARITY", 2, 2, |r| {
        Ok(Call::new(SqlType::Int, strings(r)?, |_, _, args| {
            Ok(percent(strsim::jaro_winkler(str_at(args, 0), str_at(args, 1))))
        }))
    }),
];

fn percent(share: f64) -> Value {
    Value::Int((share * 100.0).round() as i64)
}

/// Two strings of limited length: 8116.
fn strings(r: &Request<'_>) -> Result<Vec<SqlType>> {
    let param = |i| {
        let ty = r.string(i)?;
        if ty.length() == Some(Length::Max) { Err(r.bad_argument(i)) } else { Ok(ty) }
    };
    Ok(vec![param(0)?, param(1)?])
}
