//! Encrypted values in expressions: they are compared for equality, when equal ones are stored alike, moved where the same encryption is
//! wanted, and counted. Nothing else can be made of them.
//!
//! Which variables hold ciphertexts is not declared but follows from where they stand: while somebody [deduces](super::deduce), a variable
//! of the plaintext's type is taken for an encrypted one where one must be, and noted.

use super::Binder;
use super::merge_types::assign_to;
use crate::errors::{self, Error, Result};
use crate::expr::{CmpOp, Expr, ExprKind};
use crate::scope::VariableInfo;
use keel_types::SqlType;
use keel_types::ty::encrypted::{alike, compares};
use keel_types::ty::promote;

/// What messages call a value that is not encrypted.
const PLAINTEXT: &str = "(encryption_type = 'PLAINTEXT')";
const DETERMINISTIC: &str = "(encryption_type = 'DETERMINISTIC')";

/// A variable that stands where a value of `ty` is wanted, as an encrypted one if it may be.
pub(super) fn adopt(e: Expr, ty: SqlType) -> Expr {
    let (ExprKind::Var(index), Some(scheme)) = (&e.kind, ty.scheme()) else { return e };
    let fits = !e.ty.is_encrypted() && (alike(e.ty, scheme.plain) || alike(scheme.plain, e.ty));
    if fits && super::deduce::note_encrypted(*index, scheme.of(e.ty)) {
        return Expr { ty: scheme.of(e.ty), ..e };
    }
    e
}

/// The variables among some expressions as the encrypted ones of them want it.
pub(super) fn adopt_all(parts: Vec<Expr>) -> Vec<Expr> {
    match parts.iter().map(|e| e.ty).find(|ty| ty.is_encrypted()) {
        Some(ty) => parts.into_iter().map(|e| adopt(e, ty)).collect(),
        None => parts,
    }
}

/// Converts for assignment to a variable, which is encrypted if what it is given is.
pub(crate) fn assign_variable(e: Expr, to: &VariableInfo) -> Result<Expr> {
    if let Some(scheme) = e.ty.scheme()
        && !to.ty.is_encrypted()
        && alike(scheme.plain, to.ty)
        && super::deduce::note_encrypted(to.index, scheme.of(to.ty))
    {
        return Ok(e);
    }
    assign_to(e, to.ty)
}

fn of(ty: SqlType) -> String {
    ty.scheme().map_or_else(|| PLAINTEXT.to_owned(), ToString::to_string)
}

impl Binder<'_> {
    /// What a message calls an expression: the name of its column or variable.
    fn name_of(&self, e: &Expr) -> Option<String> {
        let name = match &e.kind {
            ExprKind::Slot(slot) => self.slots.get(*slot as usize).map(|s| s.name.clone()),
            ExprKind::Var(index) => self.scope.variable_name(*index),
            ExprKind::Cast(cast) => return self.name_of(&cast.input),
            _ => None,
        };
        name.filter(|name| !name.is_empty())
    }

    /// Error 33299.
    fn mismatch(&self, of_these: &[&Expr], scheme: &str, expected: &str) -> Error {
        let names = of_these.iter().filter_map(|e| self.name_of(e)).map(|name| format!("'{name}'"));
        let names = names.collect::<Vec<_>>().join(", ");
        errors::encryption_mismatch(if names.is_empty() { "''" } else { &names }, scheme, expected)
    }

    /// `left op right` where one of them is encrypted.
    pub(super) fn encrypted_comparison(&self, op: CmpOp, name: &str, l: Expr, r: Expr) -> Result<Expr> {
        let (to_right, to_left) = (r.ty, l.ty);
        let (l, r) = (adopt(l, to_right), adopt(r, to_left));
        let (one, other) = if l.ty.is_encrypted() { (&l, &r) } else { (&r, &l) };
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return Err(self.mismatch(&[one], &of(one.ty), PLAINTEXT));
        }
        if other.ty != SqlType::Null && !compares(one.ty, other.ty) {
            let randomized = |e: &Expr| e.ty.scheme().is_some_and(|s| s.randomized);
            return Err(match other.kind {
                _ if randomized(one) || randomized(other) => {
                    let who = if randomized(one) { one } else { other };
                    self.mismatch(&[&l, &r], &of(who.ty), DETERMINISTIC)
                }
                ExprKind::Var(_) if !other.ty.is_encrypted() => {
                    self.mismatch(&[other], PLAINTEXT, &of(one.ty))
                }
                _ => promote::incompatible(l.ty, r.ty, name),
            });
        }
        let ty = one.ty;
        // What is no column is of the other's type, so that an index serves it.
        let alike = |e: Expr| match e.kind {
            ExprKind::Slot(_) => e,
            _ => Expr { ty, ..e },
        };
        let nullable = l.nullable || r.nullable;
        Ok(Expr { nullable, ..Expr::compare(op, alike(l), alike(r)) })
    }

    /// Error 33299 for an operation that needs to see values.
    pub(crate) fn refuse_encrypted<'e>(&self, operands: impl IntoIterator<Item = &'e Expr>) -> Result<()> {
        match operands.into_iter().find(|e| e.ty.is_encrypted()) {
            Some(e) => Err(self.mismatch(&[e], &of(e.ty), PLAINTEXT)),
            None => Ok(()),
        }
    }

    /// Error 33299 for grouping by values that are not stored alike when they are equal.
    pub(super) fn refuse_randomized(&self, e: &Expr) -> Result<()> {
        match e.ty.scheme() {
            Some(scheme) if scheme.randomized => Err(self.mismatch(&[e], &of(e.ty), DETERMINISTIC)),
            _ => Ok(()),
        }
    }
}
