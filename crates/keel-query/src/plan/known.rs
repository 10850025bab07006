//! What values a plan is made for.
//!
//! Variables are read when a plan runs, but most of them have a value already when it is made. Estimates ask for it: a parameter has
//! the value of the first call (parameter sniffing), as the product documents it under *Parameter sensitivity*, and the plan is kept
//! for the calls after that. A local variable has none that would last, unless the plan is made for one execution (`OPTION
//! (RECOMPILE)`): then all variables have theirs, and they stand in the statement like constants. `OPTIMIZE FOR` says which value to
//! take instead, or that there is none.
//!
//! ```text
//! estimate ── value of `d > @since - 7`? ──► Planner::known ──► OPTIMIZE FOR, else BindScope::variable_value
//! rewrite  ── OPTION (RECOMPILE) ──────────► embed: @p becomes its value, what is decided by that goes
//! ```
//!
//! Deliberately absent: choosing among several plans at each execution.

use super::Planner;
use crate::bind::Binder;
use crate::bind::rel::Rel;
use crate::expr::builtin::BuiltinFn;
use crate::expr::{Expr, ExprKind, fold};
use keel_types::Value;
use std::sync::Arc;

/// Texts and bytes longer than this are no values to estimate with or to copy into a statement.
const VALUE_BYTES_MAX: usize = 8_000;

impl Binder<'_> {
    /// The value that estimates take a variable to have.
    fn estimated(&self, variable: usize) -> Option<Value> {
        match self.asked.assumed.iter().find(|(v, _)| *v == variable) {
            Some((_, assumed)) => assumed.clone(),
            None => self.value_of(variable),
        }
    }

    /// The value that a variable has, unless the plan is to be made for another or for none.
    fn value_of(&self, variable: usize) -> Option<Value> {
        if self.asked.unknown || self.asked.assumed.iter().any(|(v, _)| *v == variable) {
            return None;
        }
        let value = self.scope.variable_value(variable, self.asked.recompile)?;
        is_short(&value).then_some(value)
    }

    /// Whether the values of variables stand in the statement: it is compiled for one execution, in which none of them changes.
    fn embeds(&self) -> bool {
        self.asked.recompile && !self.assigns_variables
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::Str(s) => s.len() <= VALUE_BYTES_MAX,
        Value::Bytes(b) => b.len() <= VALUE_BYTES_MAX,
        _ => true,
    }
}

impl Planner<'_, '_> {
    /// The value of an expression as far as it is known before the statement runs: of constants, variables with a value, and the time.
    pub(super) fn known(&self, e: &Expr) -> Option<Value> {
        if e.is_constant() {
            return fold::constant(e);
        }
        let mut e = e.clone();
        self.put_values(&mut e).then_some(())?;
        fold::at(&e, self.binder.scope.now())
    }

    /// Puts the values of its variables into an expression; false when it reads anything else that is not known.
    fn put_values(&self, e: &mut Expr) -> bool {
        match &e.kind {
            ExprKind::Var(v) => {
                let Some(value) = self.binder.estimated(*v) else { return false };
                self.binder.note_value(*v, &value);
                e.kind = ExprKind::Const(value);
                true
            }
            ExprKind::Slot(_)
            | ExprKind::Subquery(_)
            | ExprKind::Session { .. }
            | ExprKind::Udf(..)
            | ExprKind::Masked(..) => false,
            ExprKind::Builtin(b, _) if !b.foldable && !tells_time(b) => false,
            _ => {
                let mut known = true;
                e.for_each_child_mut(&mut |child| known = known && self.put_values(child));
                known
            }
        }
    }
}

/// GETDATE() and its kin: one value for the whole statement.
fn tells_time(b: &crate::expr::Builtin) -> bool {
    b.deterministic && matches!(b.func, BuiltinFn::Library(_)) && &*b.name != "RAND"
}

/// Puts the values of variables into a statement that is compiled for one execution, and leaves out what they decide: `@p IS NULL OR
/// c = @p` is one comparison, or none, whichever.
#[must_use]
pub(super) fn embed(mut rel: Rel, binder: &Binder<'_>) -> Rel {
    if !binder.embeds() {
        return rel;
    }
    rel.for_each_expr_mut(&mut |e| embed_in(e, binder));
    without_decided(rel)
}

fn embed_in(e: &mut Expr, binder: &Binder<'_>) {
    put_constants(e, binder);
    e.simplify();
    e.drop_neutral();
}

fn put_constants(e: &mut Expr, binder: &Binder<'_>) {
    match &mut e.kind {
        ExprKind::Var(v) => {
            if let Some(value) = binder.value_of(*v) {
                e.nullable = value.is_null();
                e.kind = ExprKind::Const(value);
            }
        }
        ExprKind::Subquery(s) => {
            let s = Arc::make_mut(s);
            s.for_each_expr_mut(&mut |e| embed_in(e, binder));
            s.rel = without_decided(std::mem::replace(&mut s.rel, Rel::One));
        }
        _ => e.for_each_child_mut(&mut |child| put_constants(child, binder)),
    }
}

/// Filters without the conditions that are true whatever the row.
fn without_decided(mut rel: Rel) -> Rel {
    for input in rel.inputs_mut() {
        let old = std::mem::replace(input, Rel::One);
        *input = without_decided(old);
    }
    match rel {
        Rel::Filter { input, predicates } => {
            let mut left = Vec::with_capacity(predicates.len());
            predicates.into_iter().for_each(|p| p.conjuncts(&mut left));
            input.filter(left)
        }
        other => other,
    }
}
