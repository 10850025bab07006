//! What an OVER clause says: the windows it names, and what of it a function may have.

use super::rel::{AggFunc, WindowFunc};
use super::same_name;
use crate::errors::{self, Result};
use crate::expr::{Expr, ExprKind, fold};
use keel_parser::ast::{self, FrameBound, NamedWindow};
use keel_types::{SqlError, SqlType, Value};

/// An OVER clause with what the windows it names add to it.
pub(super) struct Resolved {
    /// The whole of it.
    pub over: ast::Over,
    /// Whether it names a window; its errors have numbers of their own then.
    named: bool,
    /// Whether the frame is the named window's.
    frame_inherited: bool,
}

/// 16211: a name stands twice in the WINDOW clause.
pub(super) fn refuse_repeated(windows: &[NamedWindow]) -> Result<()> {
    let twice =
        |(i, w): (usize, &NamedWindow)| windows[..i].iter().any(|v| same_name(&v.name.text, &w.name.text));
    if windows.iter().enumerate().any(twice) { Err(errors::window_name_twice()) } else { Ok(()) }
}

/// Puts together what an OVER clause says and what the window says that it names.
pub(super) fn resolve(windows: &[NamedWindow], over: &ast::Over) -> Result<Resolved> {
    let mut visited = Vec::new();
    let whole = flatten(windows, over, &mut visited)?;
    let frame_inherited = over.frame.is_none() && whole.frame.is_some();
    Ok(Resolved { over: whole, named: over.window.is_some(), frame_inherited })
}

fn flatten<'w>(
    windows: &'w [NamedWindow],
    over: &'w ast::Over,
    visited: &mut Vec<&'w str>,
) -> Result<ast::Over> {
    let Some(name) = &over.window else { return Ok(over.clone()) };
    let found = windows.iter().find(|w| same_name(&w.name.text, &name.text));
    // A window is not in sight in its own definition.
    let Some(found) = found.filter(|w| visited.last().is_none_or(|v| !same_name(v, &w.name.text))) else {
        return Err(errors::window_undefined(&name.text));
    };
    if visited.iter().any(|v| same_name(v, &name.text)) {
        return Err(errors::window_cycle());
    }
    visited.push(&found.name.text);
    let mut whole = flatten(windows, &found.over, visited)?;
    let twice = !(over.partition_by.is_empty() || whole.partition_by.is_empty())
        || !(over.order_by.is_empty() || whole.order_by.is_empty())
        || over.frame.is_some() && whole.frame.is_some();
    if twice {
        let text = "Window element in OVER clause can not also be specified in WINDOW clause.";
        return Err(SqlError::new(4123, 15, if whole.frame.is_some() { 2 } else { 3 }, text));
    }
    whole.partition_by.extend(over.partition_by.iter().cloned());
    whole.order_by.extend(over.order_by.iter().cloned());
    whole.frame = whole.frame.or_else(|| over.frame.clone());
    Ok(whole)
}

impl Resolved {
    /// Whether the function may have, and has, the order and the frame it stands over.
    pub(super) fn check(&self, name: &str, func: WindowFunc) -> Result<()> {
        use WindowFunc as W;
        let ordered = !self.over.order_by.is_empty();
        if matches!(func, W::PercentileCont | W::PercentileDisc) {
            return match (ordered, self.over.frame.is_some()) {
                (true, _) => Err(self.order_refused(name)),
                (false, true) => Err(self.frame_refused(name, func)),
                (false, false) => Ok(()),
            };
        }
        let framed = matches!(func, W::Agg(_) | W::FirstValue | W::LastValue);
        if !ordered && !matches!(func, W::Agg(_)) {
            return Err(self.order_missing(name, func));
        }
        if self.over.frame.is_some() && !framed {
            return Err(self.frame_refused(name, func));
        }
        // COUNT(*) counts its frame in whatever order the rows have.
        let counts_rows = !self.named && matches!(func, W::Agg(AggFunc::CountStar));
        if self.over.frame.is_some() && !ordered && !counts_rows {
            let text = "Window frame with ROWS or RANGE must have an ORDER BY clause.";
            return Err(SqlError::new(if self.named { 5364 } else { 10_756 }, 15, 1, text));
        }
        Ok(())
    }

    fn order_missing(&self, name: &str, func: WindowFunc) -> errors::Error {
        if !self.named {
            return errors::over_order_missing(name);
        }
        let text = format!("The function '{name}' must have an OVER clause or a WINDOW with ORDER BY.");
        SqlError::new(5366, 15, if is_ranking(func) { 3 } else { 2 }, text)
    }

    fn order_refused(&self, name: &str) -> errors::Error {
        if !self.named {
            return errors::window_without_order(name);
        }
        let text = format!("The function '{name}' may not have ORDER BY in OVER or WINDOW clause.");
        SqlError::new(5363, 15, 1, text)
    }

    fn frame_refused(&self, name: &str, func: WindowFunc) -> errors::Error {
        let (number, ranking) = if self.frame_inherited { (4106, 2) } else { (10_752, 3) };
        let text = format!("The function '{name}' may not have a window frame.");
        SqlError::new(number, 15, if is_ranking(func) { ranking } else { 1 }, text)
    }
}

fn is_ranking(func: WindowFunc) -> bool {
    use WindowFunc as W;
    matches!(func, W::RowNumber | W::Rank | W::DenseRank | W::NTile | W::PercentRank | W::CumeDist)
}

/// 4193 and 4194: frames that end before they begin, and distances in RANGE.
pub(super) fn check_bounds(frame: &ast::Frame) -> Result<()> {
    let distance = |b: &FrameBound| matches!(b, FrameBound::Preceding(_) | FrameBound::Following(_));
    if !frame.rows && (distance(&frame.start) || distance(&frame.end)) {
        return Err(range_with_offset());
    }
    let backwards = matches!(frame.start, FrameBound::Following(_))
        && matches!(frame.end, FrameBound::Preceding(_) | FrameBound::CurrentRow);
    if backwards {
        let text = "'BETWEEN ... FOLLOWING AND ... PRECEDING' is not a valid window frame and cannot be used with the OVER clause.";
        return Err(SqlError::new(4193, 16, 1, text));
    }
    Ok(())
}

/// 4194
pub(super) fn range_with_offset() -> errors::Error {
    let text = "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters.";
    SqlError::new(4194, 16, 1, text)
}

/// 5308 and 5309: a constant is no order. One that cannot be computed passes, as does a subquery.
pub(super) fn refuse_constant(e: &Expr) -> Result<()> {
    if !is_written_constant(e) {
        return Ok(());
    }
    match fold::constant(e) {
        None => Ok(()),
        Some(Value::Int(n)) if n >= 1 && e.ty == SqlType::Int => Err(errors::window_order_by_position()),
        Some(_) => Err(errors::window_order_by_constant()),
    }
}

/// Whether the product computes this expression when it compiles: some functions it leaves alone.
pub(super) fn is_written_constant(e: &Expr) -> bool {
    const LEFT_ALONE: [&str; 17] = [
        "UPPER",
        "LOWER",
        "QUOTENAME",
        "STRING_ESCAPE",
        "HASHBYTES",
        "COMPRESS",
        "DECOMPRESS",
        "ISJSON",
        "CHOOSE",
        "ISNULL",
        "PARSENAME",
        "JSON_MODIFY",
        "JSON_ARRAY",
        "JSON_OBJECT",
        "SQL_VARIANT_PROPERTY",
        "FORMATMESSAGE",
        "TRY_PARSE",
    ];
    let left_alone = |e: &Expr| matches!(&e.kind, ExprKind::Builtin(b, _) if LEFT_ALONE.contains(&&*b.name));
    e.is_constant() && !e.any(&mut |e| left_alone(e))
}
