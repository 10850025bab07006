//! The texts of values, conditions and aggregates for another server, as far as they mean the same there.

use super::Remote;
use crate::bind::Binder;
use crate::bind::rel::{AggFunc, Aggregate, SortKey};
use crate::expr::{ArithOp, Expr, ExprKind, Slot};
use keel_types::{SqlType, Value};

/// Types whose values compare the same everywhere.
pub(super) fn is_plain(ty: SqlType) -> bool {
    ty.is_numeric() || ty.is_temporal() || matches!(ty, SqlType::Bit | SqlType::UniqueIdentifier)
}

fn is_short_text(ty: SqlType) -> bool {
    ty.is_string() && !matches!(ty, SqlType::Text | SqlType::NText | SqlType::Xml | SqlType::TypedXml(_))
}

fn is_short_binary(ty: SqlType) -> bool {
    ty.is_binary() && !ty.is_clr() && ty != SqlType::Image
}

/// Functions that give the same everywhere, of one argument.
const FUNCTIONS: [&str; 9] = ["ABS", "CEILING", "FLOOR", "SIGN", "YEAR", "MONTH", "DAY", "LEN", "DATALENGTH"];

impl Remote {
    /// A value that is computed here, as a parameter of the text.
    pub(super) fn parameter(&mut self, e: &Expr, binder: &mut Binder<'_>) -> String {
        match (&e.kind, e.ty) {
            (ExprKind::Const(Value::Int(n)), SqlType::Int) if *n >= 0 => n.to_string(),
            _ => {
                let number = binder.remote_number();
                self.args.push((number, e.clone()));
                format!("@p{number}")
            }
        }
    }

    /// The text of a value; `None` for what is computed here.
    pub(super) fn value(&mut self, e: &Expr, binder: &mut Binder<'_>) -> Option<String> {
        if let ExprKind::Slot(slot) = &e.kind
            && let Some(given) = self.columns.get(slot)
        {
            return Some(given.text.clone());
        }
        if !self.touches(e) {
            let short = !e.is_condition()
                && !e.is_volatile()
                && !e.has_subquery()
                && !matches!(e.kind, ExprKind::Masked(..));
            return short.then(|| self.parameter(e, binder));
        }
        if !is_plain(e.ty) {
            return None;
        }
        match &e.kind {
            ExprKind::Arith(op, a, b) => self.arithmetic(*op, a, b, binder),
            ExprKind::Neg(a) if e.ty.is_numeric() => Some(format!("(-{})", self.value(a, binder)?)),
            ExprKind::Cast(c) if c.style.is_none() && !c.lenient => {
                let from = c.input.ty;
                let kin = from.is_numeric() && e.ty.is_numeric() || from.is_temporal() && e.ty.is_temporal();
                let input = if kin { self.value(&c.input, binder) } else { None };
                input.map(|input| format!("CAST({input} AS {})", e.ty))
            }
            ExprKind::Case(branches, otherwise) => {
                let mut text = "CASE".to_owned();
                for (when, then) in branches {
                    let when = self.condition(when, binder)?;
                    text.push_str(&format!(" WHEN {when} THEN {}", self.value(then, binder)?));
                }
                if let Some(otherwise) = otherwise {
                    text.push_str(&format!(" ELSE {}", self.value(otherwise, binder)?));
                }
                Some(text + " END")
            }
            ExprKind::FirstOf(all) => {
                let all: Option<Vec<String>> = all.iter().map(|e| self.value(e, binder)).collect();
                Some(format!("COALESCE({})", all?.join(", ")))
            }
            ExprKind::Builtin(builtin, args) => {
                let [arg] = args.as_slice() else { return None };
                let known = FUNCTIONS.contains(&&*builtin.name);
                let typed = is_plain(arg.ty) || is_short_text(arg.ty) && arg.as_slot().is_some();
                let arg = if known && typed { self.value(arg, binder) } else { None };
                arg.map(|arg| format!("{}({arg})", builtin.name))
            }
            _ => None,
        }
    }

    fn arithmetic(&mut self, op: ArithOp, a: &Expr, b: &Expr, binder: &mut Binder<'_>) -> Option<String> {
        if !a.ty.is_numeric() || !b.ty.is_numeric() {
            return None;
        }
        // What a division by zero comes to is this session's to say.
        let divisor = |e: &Expr| match e.as_const() {
            Some(Value::Int(n)) => *n != 0,
            Some(Value::Decimal(d)) => d.mantissa() != 0,
            _ => false,
        };
        let sign = match op {
            ArithOp::Add => "+",
            ArithOp::Sub => "-",
            ArithOp::Mul => "*",
            ArithOp::Div if divisor(b) => "/",
            ArithOp::Mod if divisor(b) => "%",
            _ => return None,
        };
        Some(format!("({} {sign} {})", self.value(a, binder)?, self.value(b, binder)?))
    }

    /// The text of a condition; `None` for what is tested here.
    pub(super) fn condition(&mut self, e: &Expr, binder: &mut Binder<'_>) -> Option<String> {
        match &e.kind {
            ExprKind::Compare(op, a, b) => {
                let (a, b) = (without_cast(a, b), without_cast(b, a));
                self.may_compare(e, &[a, b], binder)?;
                Some(format!("{} {} {}", self.value(a, binder)?, op.text(), self.value(b, binder)?))
            }
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                let word = if matches!(e.kind, ExprKind::And(_)) { " AND " } else { " OR " };
                let parts: Option<Vec<String>> = parts.iter().map(|p| self.condition(p, binder)).collect();
                Some(format!("({})", parts?.join(word)))
            }
            ExprKind::Not(inner) => Some(format!("NOT ({})", self.condition(inner, binder)?)),
            ExprKind::IsNull(x) => {
                let x = match &x.kind {
                    ExprKind::Cast(c) if !c.lenient && c.style.is_none() && !c.explicit => &c.input,
                    _ => &**x,
                };
                x.as_slot().filter(|s| self.columns.contains_key(s))?;
                Some(format!("{} IS NULL", self.value(x, binder)?))
            }
            ExprKind::Like(x, pattern, escape) => {
                let x = without_cast(x, pattern);
                if !self.touches(x) || self.touches(pattern) || !x.ty.is_string() {
                    return None;
                }
                self.may_compare(e, &[x, pattern], binder)?;
                let mut text = format!("{} LIKE {}", self.value(x, binder)?, self.value(pattern, binder)?);
                if let Some(escape) = escape {
                    text.push_str(&format!(" ESCAPE {}", self.value(escape, binder)?));
                }
                Some(text)
            }
            ExprKind::InList(x, list) => {
                let first = list.first()?;
                let x = without_cast(x, first);
                let mut all: Vec<&Expr> = vec![x];
                all.extend(list);
                self.may_compare(e, &all, binder)?;
                let value = self.value(x, binder)?;
                let list: Option<Vec<String>> = list.iter().map(|e| self.value(e, binder)).collect();
                Some(format!("{value} IN ({})", list?.join(", ")))
            }
            _ => None,
        }
    }

    /// Whether values compare there as they do here: by their type, and texts by the collation of their columns.
    fn may_compare(&self, e: &Expr, values: &[&Expr], binder: &Binder<'_>) -> Option<()> {
        for value in values {
            let text = is_short_text(value.ty);
            if !text && !is_plain(value.ty) && !is_short_binary(value.ty) && value.ty != SqlType::Null {
                return None;
            }
            if text && self.touches(value) {
                let slot = value.as_slot()?;
                if !self.strings || binder.slots[slot as usize].collation != e.collation {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Whether values of a slot are the same there when they are here.
    pub(super) fn compares(&self, slot: Slot, binder: &Binder<'_>) -> bool {
        let ty = binder.slots[slot as usize].ty;
        is_plain(ty) || is_short_binary(ty) || is_short_text(ty) && self.strings
    }

    pub(super) fn order_by(&mut self, keys: &[SortKey], binder: &mut Binder<'_>) -> Option<Vec<String>> {
        let args = self.args.len();
        let mut order = Vec::with_capacity(keys.len());
        for key in keys {
            let text = if is_plain(key.expr.ty) && self.touches(&key.expr) {
                self.value(&key.expr, binder)
            } else {
                None
            };
            let Some(text) = text else {
                self.args.truncate(args);
                return None;
            };
            order.push(if key.descending { format!("{text} DESC") } else { text });
        }
        Some(order)
    }

    pub(super) fn aggregate_text(&mut self, agg: &Aggregate, binder: &mut Binder<'_>) -> Option<String> {
        if agg.separator.is_some() || !agg.order.is_empty() {
            return None;
        }
        let big = if agg.ty == SqlType::BigInt { "_BIG" } else { "" };
        let name = match agg.func {
            AggFunc::CountStar => return Some(format!("COUNT{big}(*)")),
            AggFunc::Count => format!("COUNT{big}"),
            AggFunc::Sum => "SUM".to_owned(),
            AggFunc::Avg => "AVG".to_owned(),
            AggFunc::Min => "MIN".to_owned(),
            AggFunc::Max => "MAX".to_owned(),
            _ => return None,
        };
        let arg = agg.arg.as_ref()?;
        let numbers = matches!(agg.func, AggFunc::Sum | AggFunc::Avg);
        let counted = agg.func == AggFunc::Count;
        // Which of two equal texts is the least is nobody's to say, but which is less depends on the order there.
        let fits =
            if numbers { arg.ty.is_numeric() } else { is_plain(arg.ty) || counted && is_short_text(arg.ty) };
        let equal = !agg.distinct || arg.as_slot().is_none_or(|s| self.compares(s, binder));
        if !fits || !equal || !self.touches(arg) || arg.ty == SqlType::Bit && !counted {
            return None;
        }
        let distinct = if agg.distinct { "DISTINCT " } else { "" };
        Some(format!("{name}({distinct}{})", self.value(arg, binder)?))
    }
}

/// What is under a conversion that the binder has put in, where the other side makes servers convert that way by themselves: numbers always do, other types when that
/// has the type.
fn without_cast<'e>(e: &'e Expr, other: &Expr) -> &'e Expr {
    match &e.kind {
        ExprKind::Cast(c) if !c.explicit && !c.lenient && c.style.is_none() => {
            let numbers = e.ty.is_numeric() && c.input.ty.is_numeric() && other.ty.is_numeric();
            let given = other.ty == e.ty && c.input.as_slot().is_some();
            if numbers || given { &c.input } else { e }
        }
        _ => e,
    }
}
