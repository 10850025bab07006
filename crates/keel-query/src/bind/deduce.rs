//! Which types variables would have that nobody declared (`sp_describe_undeclared_parameters`), and which of them are encrypted.
//!
//! A variable that is bound with [`SqlType::Null`] takes whatever type its surroundings convert it to. The binder's
//! conversions are free functions called from everywhere; so the notes are kept beside it, per thread, while
//! [`deduced`] runs, and cost a look at an empty cell otherwise. Compiling never leaves its thread.

use crate::expr::{Expr, ExprKind};
use keel_types::SqlType;
use std::cell::RefCell;

thread_local! {
    static NOTES: RefCell<Option<Vec<(usize, SqlType)>>> = const { RefCell::new(None) };
}

/// Runs `compile` and gives, beside its result, the types that untyped variables met, by their index; the first type of
/// each variable is the one to suggest.
pub fn deduced<R>(compile: impl FnOnce() -> R) -> (R, Vec<(usize, SqlType)>) {
    let outer = NOTES.with(|n| n.replace(Some(Vec::new())));
    let result = compile();
    let notes = NOTES.with(|n| n.replace(outer)).unwrap_or_default();
    (result, notes)
}

/// An expression is about to be used as `ty`.
pub(super) fn note(e: &Expr, ty: SqlType) {
    if let ExprKind::Var(index) = e.kind
        && e.ty == SqlType::Null
        && ty != SqlType::Null
    {
        NOTES.with(|n| n.borrow_mut().iter_mut().for_each(|notes| notes.push((index, ty))));
    }
}

/// Whether somebody deduces; then a variable was met where an encrypted value of `ty` must be.
pub(super) fn note_encrypted(index: usize, ty: SqlType) -> bool {
    NOTES.with(|n| match n.borrow_mut().as_mut() {
        Some(notes) => {
            notes.push((index, ty));
            true
        }
        None => false,
    })
}
