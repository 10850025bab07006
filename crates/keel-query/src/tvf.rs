//! Built-in table-valued functions: STRING_SPLIT, GENERATE_SERIES, those of regular expressions and, by name, OPENJSON.

mod regexp;

use crate::context::ExecCtx;
use crate::errors::{self, Result};
use crate::expr::{Expr, fold};
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::collation::like::Finder;
use keel_types::ty::Family;
use keel_types::{Collation, Decimal, Length, SqlError, SqlType, Value, raise};
use std::sync::Arc;

/// The function of this name, for these arguments.
#[must_use]
pub fn builtin(name: &str, args: &[Expr]) -> Option<Arc<dyn VirtualTable>> {
    let first = args.first().map(|a| a.ty);
    match name.to_ascii_uppercase().as_str() {
        "STRING_SPLIT" => {
            let mut columns =
                vec![VirtualColumn::new("value", first.unwrap_or(SqlType::NVarChar(Length::Max)))];
            if args
                .get(2)
                .and_then(fold::constant)
                .is_some_and(|v| matches!(v, Value::Int(1) | Value::Bit(true)))
            {
                columns.push(VirtualColumn::new("ordinal", SqlType::BigInt));
            }
            let collation = args.first().map(|a| a.collation).unwrap_or_default();
            columns[0].collation = collation;
            Some(Arc::new(StringSplit { columns, collation }))
        }
        "GENERATE_SERIES" => {
            let ty = series_type(first.unwrap_or(SqlType::Int), args);
            Some(Arc::new(GenerateSeries { columns: vec![VirtualColumn::new("value", ty)] }))
        }
        "REGEXP_MATCHES" => Some(regexp::matches(args)),
        "REGEXP_SPLIT_TO_TABLE" => Some(regexp::split(args)),
        "OPENJSON" => Some(crate::openjson::members(args.first().map(|a| a.collation).unwrap_or_default())),
        _ => None,
    }
}

/// Refuses arguments of which the product knows when it compiles that they cannot be meant.
pub fn check_arguments(name: &str, args: &[Expr]) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    let limits = match lower.as_str() {
        "string_split" | "generate_series" | "regexp_matches" | "regexp_split_to_table" => 2..=3,
        _ => return Ok(()),
    };
    if args.len() < *limits.start() {
        return Err(errors::too_few_arguments(&lower, 3));
    }
    if args.len() > *limits.end() {
        return Err(errors::too_many_arguments(&lower, 3));
    }
    match lower.as_str() {
        "string_split" => check_ordinal(args.get(2)),
        "generate_series" => check_series(args),
        _ => regexp::check(&lower, args),
    }
}

/// Whether positions are wanted has to be known when the columns are: 0, 1 or NULL.
fn check_ordinal(wanted: Option<&Expr>) -> Result<()> {
    let Some(wanted) = wanted else { return Ok(()) };
    if !wanted.is_constant() {
        return Err(errors::ordinal_not_constant());
    }
    match fold::constant(wanted) {
        Some(Value::Int(n)) if !(0..=1).contains(&n) => Err(errors::argument_value(n, 3, "string_split")),
        _ => Ok(()),
    }
}

/// All of one integer type, or all decimal.
fn check_series(args: &[Expr]) -> Result<()> {
    let kind = |ty: SqlType| if ty.decimal_parts().is_some() { SqlType::Float } else { ty };
    let mut kinds = args.iter().map(|a| a.ty).enumerate().filter(|(_, ty)| *ty != SqlType::Null);
    let mut first = None;
    kinds.try_for_each(|(at, ty)| {
        if !ty.is_integer() && ty.decimal_parts().is_none() {
            return Err(raise::bad_argument_type(ty, at + 1, "generate_series"));
        }
        if *first.get_or_insert(kind(ty)) != kind(ty) {
            return Err(errors::series_types());
        }
        Ok(())
    })
}

/// The type of a series: that of its first argument, with as many decimals as any of them.
fn series_type(first: SqlType, args: &[Expr]) -> SqlType {
    let scale = args.iter().map(|a| a.ty.scale()).max().unwrap_or(0);
    match first {
        SqlType::Decimal { precision, scale: own } => {
            SqlType::Decimal { precision: (precision + scale - own).min(38), scale }
        }
        SqlType::Numeric { precision, scale: own } => {
            SqlType::Numeric { precision: (precision + scale - own).min(38), scale }
        }
        other => other,
    }
}

fn rows(list: Vec<Vec<Value>>) -> RowSource {
    Box::new(list.into_iter().map(Ok))
}

struct StringSplit {
    columns: Vec<VirtualColumn>,
    /// What the separator is found by.
    collation: Collation,
}

impl VirtualTable for StringSplit {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let separator = args.get(1).and_then(Value::as_str).unwrap_or_default();
        if separator.chars().count() != 1 {
            let m = "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.";
            return Err(SqlError::new(214, 16, 11, m));
        }
        let Some(Value::Str(text)) = args.first() else { return Ok(rows(Vec::new())) };
        let finder = Finder::new(text, separator, self.collation);
        let mut parts = Vec::new();
        let mut start = 0;
        let mut add = |part: &str| {
            let ordinal = Value::Int(parts.len() as i64 + 1);
            parts.push(vec![Value::Str(part.into()), ordinal]);
        };
        while let Some((at, length)) = finder.find(start) {
            add(&text[start..at]);
            start = at + length;
        }
        add(&text[start..]);
        Ok(rows(parts))
    }
    fn row_count_estimate(&self) -> u64 {
        20
    }
}

struct GenerateSeries {
    columns: Vec<VirtualColumn>,
}

impl VirtualTable for GenerateSeries {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let scale = self.columns[0].ty.scale();
        let number = |v: Option<&Value>| match v {
            Some(Value::Decimal(d)) => d.rescale(scale).map(|d| d.mantissa()),
            Some(Value::Int(n)) => Decimal::new(i128::from(*n), 0).rescale(scale).map(|d| d.mantissa()),
            _ => None,
        };
        let (Some(start), Some(stop)) = (number(args.first()), number(args.get(1))) else {
            return Ok(rows(Vec::new()));
        };
        let exact = matches!(self.columns[0].ty.family(), Family::Decimal);
        let unit = 10i128.pow(u32::from(scale));
        let step = match args.get(2).map(|step| number(Some(step))) {
            None => {
                if start <= stop {
                    unit
                } else {
                    -unit
                }
            }
            Some(Some(0)) => {
                return Err(errors::argument_value(0, 3, "generate_series"));
            }
            Some(Some(n)) => n,
            Some(None) => return Ok(rows(Vec::new())),
        };
        let mut next = Some(start);
        Ok(Box::new(std::iter::from_fn(move || {
            let n = next.filter(|n| if step > 0 { *n <= stop } else { *n >= stop })?;
            next = n.checked_add(step);
            let value = if exact { Value::Decimal(Decimal::new(n, scale)) } else { Value::Int(n as i64) };
            Some(Ok(vec![value]))
        })))
    }
    fn row_count_estimate(&self) -> u64 {
        1000
    }
}
