//! What a condition or CASE is known to be before any row is looked at.
//!
//! A comparison with the constant NULL is unknown whatever stands on the other side, and a branch of CASE that is never taken
//! gives nothing. The product finds out before it asks which columns are grouped and without evaluating the rest: `HAVING NULL > c`
//! needs no grouped `c`, `COALESCE(1, c)` neither, and `WHERE a / 0 = NULL` raises no error.

use super::{Expr, ExprKind, fold};
use keel_types::Value;

/// What is known of a condition: its three-valued result.
type Known = Option<Option<bool>>;

impl Expr {
    /// The constant NULL, converted or not.
    fn is_null_constant(&self) -> bool {
        matches!(fold::constant(self), Some(Value::Null))
    }

    /// The result of a condition that is the same for every row.
    fn known(&self) -> Known {
        match &self.kind {
            ExprKind::Compare(_, a, b) if a.is_null_constant() || b.is_null_constant() => Some(None),
            ExprKind::InList(value, list) if !list.is_empty() && value.is_null_constant() => Some(None),
            ExprKind::And(parts) => all(parts.iter().map(Expr::known)),
            ExprKind::Or(parts) => negated(all(parts.iter().map(|p| negated(p.known())))),
            ExprKind::Not(inner) => negated(inner.known()),
            _ => match fold::constant(self)? {
                Value::Bit(b) => Some(Some(b)),
                Value::Null => Some(None),
                _ => None,
            },
        }
    }

    /// Alternatives one of which is true for every row: the others are not even evaluated.
    #[must_use]
    pub fn is_alternative_always_true(&self) -> bool {
        matches!(self.kind, ExprKind::Or(_)) && self.known() == Some(Some(true))
    }

    /// No row passes it: it is false or unknown for every one.
    #[must_use]
    pub fn is_never_true(&self) -> bool {
        self.is_never(true)
    }

    fn is_never(&self, what: bool) -> bool {
        match &self.kind {
            ExprKind::Not(inner) => inner.is_never(!what),
            ExprKind::And(parts) if what => parts.iter().any(|p| p.is_never(true)),
            ExprKind::And(parts) => parts.iter().all(|p| p.is_never(false)),
            ExprKind::Or(parts) if what => parts.iter().all(|p| p.is_never(true)),
            ExprKind::Or(parts) => parts.iter().any(|p| p.is_never(false)),
            // One that is not among the others may still be the NULL.
            ExprKind::InList(_, list) if !what && list.iter().any(Expr::is_null_constant) => true,
            _ => self.known().is_some_and(|result| result != Some(what)),
        }
    }

    /// Leaves out what decides nothing, here and in all parts.
    pub fn simplify(&mut self) {
        self.for_each_child_mut(&mut Expr::simplify);
        if self.is_condition()
            && let Some(result) = self.known()
        {
            let value = result.map_or(Value::Null, Value::Bit);
            *self = Expr::condition(ExprKind::Const(value));
        } else if let ExprKind::FirstOf(parts) = &mut self.kind {
            let null = |part: &Expr| fold::constant(part).map(|value| value.is_null());
            let last = parts.pop();
            parts.retain(|part| null(part) != Some(true));
            let certain = parts.iter().position(|part| null(part) == Some(false));
            parts.truncate(certain.map_or(parts.len(), |at| at + 1));
            parts.extend(last.filter(|_| certain.is_none()));
            if parts.len() == 1
                && let Some(only) = parts.pop()
            {
                *self = only;
            }
        } else if let ExprKind::Case(branches, otherwise) = &mut self.kind {
            branches.retain(|(when, _)| !when.is_never_true());
            if let Some(taken) = branches.iter().position(|(when, _)| when.known() == Some(Some(true))) {
                branches.truncate(taken + 1);
                *otherwise = None;
            }
        }
    }
}

impl Expr {
    /// Leaves what is true out of conjunctions, and what is false out of disjunctions, here and in all parts.
    pub fn drop_neutral(&mut self) {
        self.for_each_child_mut(&mut Expr::drop_neutral);
        let (parts, neutral) = match &mut self.kind {
            ExprKind::And(parts) => (parts, true),
            ExprKind::Or(parts) => (parts, false),
            _ => return,
        };
        parts.retain(|part| !matches!(part.as_const(), Some(Value::Bit(b)) if *b == neutral));
        match parts.len() {
            0 => *self = Expr::condition(ExprKind::Const(Value::Bit(neutral))),
            1 => *self = parts.remove(0),
            _ => {}
        }
    }
}

fn negated(known: Known) -> Known {
    known.map(|result| result.map(|b| !b))
}

/// The conjunction: false as soon as one part is, whatever the others are. Each part is asked once: they are conditions in conditions,
/// and twice on each level would be too often to end.
fn all(parts: impl Iterator<Item = Known>) -> Known {
    let mut all = Some(Some(true));
    for part in parts {
        if part == Some(Some(false)) {
            return part;
        }
        all = all.and_then(|all| part.map(|result| all.and(result)));
    }
    all
}
