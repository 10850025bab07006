//! Days of moments: `CAST(moment AS date)` beside a day asks for a range of moments, in which an index can be searched.
//!
//! ```text
//!   CAST(m AS date) =  d   ──►   first moment of d ≤ m ≤ last moment of d
//!   CAST(m AS date) <  d   ──►   m < first            > d   ──►   m > last
//!   CAST(m AS date) <= d   ──►   m ≤ last             >= d  ──►   m ≥ first
//! ```
//!
//! The last moment is the last that the finest type tells apart, so it is behind all that a coarser column can hold. Not for
//! datetimeoffset, whose days are those of their offsets and whose order is that of the moments.

use crate::bind::rel::Get;
use crate::expr::{CmpOp, Expr, ExprKind, Slot, builtin};
use keel_types::datetime::TICKS_PER_DAY;
use keel_types::{SqlType, Value};

/// One end of a range: the value, and whether it is part of it.
pub(super) type End = (Expr, bool);

/// The moment whose day a side of a comparison is, and its type.
fn moment_of(side: &Expr) -> Option<(Slot, SqlType)> {
    let ExprKind::Cast(cast) = &side.kind else { return None };
    let ty = cast.input.ty;
    let is_moment = matches!(ty, SqlType::DateTime | SqlType::SmallDateTime | SqlType::DateTime2(_));
    let is_day = side.ty == SqlType::Date && is_moment && !cast.lenient && cast.style.is_none();
    if is_day { Some((cast.input.as_slot()?, ty)) } else { None }
}

/// The column whose day a side of a comparison is.
pub(super) fn day_of(get: &Get, side: &Expr) -> Option<usize> {
    get.column_of(moment_of(side)?.0)
}

/// A comparison of a moment's day with another: the moment, and the ends of its range.
pub(super) fn compared(op: CmpOp, l: &Expr, r: &Expr) -> Option<(Slot, [Option<Expr>; 2])> {
    let one = |op, side, day: &Expr| {
        let (slot, ty) = moment_of(side)?;
        let (low, high) = if day.ty == SqlType::Date { range(op, day, ty) } else { return None };
        Some((slot, [low, high].map(|end| end.map(|(moment, _)| moment))))
    };
    one(op, l, r).or_else(|| one(op.flip(), r, l))
}

/// The least and the greatest moment, of a column's type, whose day compares so with another.
pub(super) fn range(op: CmpOp, day: &Expr, ty: SqlType) -> (Option<End>, Option<End>) {
    let first = || moment("FIRST_MOMENT", day, ty, 0);
    let last = || moment("LAST_MOMENT", day, ty, TICKS_PER_DAY - 1);
    match op {
        CmpOp::Eq => (Some((first(), true)), Some((last(), true))),
        CmpOp::Lt => (None, Some((first(), false))),
        CmpOp::Le => (None, Some((last(), true))),
        CmpOp::Gt => (Some((last(), false)), None),
        CmpOp::Ge => (Some((first(), true)), None),
        CmpOp::Ne => (None, None),
    }
}

/// The moment of a day at so many ticks.
fn moment(name: &str, day: &Expr, ty: SqlType, ticks: i64) -> Expr {
    builtin::own(name, ty, vec![day.clone()], move |args| {
        Ok(match args.first() {
            Some(Value::Date(day)) => Value::DateTime(i64::from(*day) * TICKS_PER_DAY + ticks),
            _ => Value::Null,
        })
    })
}
