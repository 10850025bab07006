//! CASE and what is short for it: IIF, COALESCE, NULLIF.

use super::Binder;
use super::expr::ExprCx;
use super::merge_types::{cast_to, unify};
use crate::errors::{self, Result};
use crate::expr::{CmpOp, Expr, ExprKind};
use keel_parser::ast;
use keel_types::ty::promote;
use keel_types::{SqlType, Value};

impl Binder<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        whens: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let subject = operand.map(|o| self.value(o, cx)).transpose()?;
        let mut bound = Vec::with_capacity(whens.len());
        for (when, then) in whens {
            let condition = match &subject {
                Some(s) => {
                    let w = self.value(when, cx)?;
                    self.comparison(CmpOp::Eq, s.clone(), w)?
                }
                None => self.condition(when, cx)?,
            };
            bound.push((condition, self.value(then, cx)?));
        }
        let otherwise = otherwise.map(|o| self.value(o, cx)).transpose()?;
        let all_null = |e: &Expr| e.ty == SqlType::Null;
        if bound.iter().all(|(_, v)| all_null(v)) && otherwise.as_ref().is_none_or(all_null) {
            return Err(errors::case_all_null());
        }
        self.make_case(bound, otherwise)
    }

    /// CASE over bound parts.
    pub fn make_case(&self, whens: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr> {
        let (conditions, mut values): (Vec<Expr>, Vec<Expr>) = whens.into_iter().unzip();
        let nullable = otherwise.as_ref().is_none_or(|o| o.nullable) || values.iter().any(|v| v.nullable);
        let has_else = otherwise.is_some();
        values.extend(otherwise);
        let (mut values, ty, collation, coercibility) = unify(values, "CASE")?;
        let otherwise = if has_else { values.pop().map(Box::new) } else { None };
        Ok(Expr {
            kind: ExprKind::Case(conditions.into_iter().zip(values).collect(), otherwise),
            ty,
            collation,
            coercibility,
            nullable,
        })
    }

    pub(super) fn iif(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let c = self.condition(condition, cx)?;
        let (a, b) = (self.value(then, cx)?, self.value(otherwise, cx)?);
        if a.ty == SqlType::Null && b.ty == SqlType::Null {
            return Err(errors::case_all_null());
        }
        self.make_case(vec![(c, a)], Some(b))
    }

    pub(super) fn coalesce(&mut self, list: &[ast::Expr], cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if list.iter().all(|e| matches!(e.kind, ast::ExprKind::Literal(ast::Literal::Null))) {
            return Err(errors::coalesce_of_nulls());
        }
        let parts = list.iter().map(|e| self.value(e, cx)).collect::<Result<Vec<_>>>()?;
        self.coalesce_values(parts)
    }

    /// COALESCE over bound parts: the first that is not NULL.
    pub fn coalesce_values(&self, parts: Vec<Expr>) -> Result<Expr> {
        // Unlike ISNULL, also where one of them cannot be NULL.
        let nullable = !parts.iter().all(|p| p.as_const().is_some_and(|v| !v.is_null()));
        if parts.is_empty() {
            return Err(errors::argument_count("coalesce", 2));
        }
        let (parts, ty, collation, coercibility) = unify(parts, "CASE")?;
        Ok(Expr { kind: ExprKind::FirstOf(parts), ty, collation, coercibility, nullable })
    }

    pub(super) fn null_if(&mut self, a: &ast::Expr, b: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if matches!(a.kind, ast::ExprKind::Literal(ast::Literal::Null)) {
            return Err(errors::null_if_of_null());
        }
        let (a, b) = (self.value(a, cx)?, self.value(b, cx)?);
        let a = match a.as_const() {
            Some(Value::Int(n)) if a.ty == SqlType::Int => {
                let ty = narrowest(*n);
                cast_to(a, ty)
            }
            _ => a,
        };
        let equal = self.comparison(CmpOp::Eq, a.clone(), b)?;
        let nothing = Expr { ty: a.ty, collation: a.collation, coercibility: a.coercibility, ..Expr::null() };
        let mut e = self.make_case(vec![(equal, nothing)], Some(a))?;
        e.nullable = true;
        Ok(e)
    }
}

/// The type of an integer literal in front of NULLIF: the smallest that holds it.
fn narrowest(n: i64) -> SqlType {
    match n {
        0..=255 => SqlType::TinyInt,
        -32_768..=32_767 => SqlType::SmallInt,
        _ => SqlType::Int,
    }
}

/// `a = 1 OR a IN (2, 3)` as `a IN (1, 2, 3)`, for which an index can be searched.
pub(super) fn as_list(terms: &[Expr]) -> Option<Expr> {
    let mut list = Vec::with_capacity(terms.len());
    let mut column: Option<(&Expr, &Expr)> = None;
    let mut compared: Option<SqlType> = None;
    for term in terms {
        let (left, rights) = match &term.kind {
            ExprKind::Compare(CmpOp::Eq, l, r) if matches!(l.kind, ExprKind::Slot(_)) => {
                (&**l, std::slice::from_ref(&**r))
            }
            ExprKind::Compare(CmpOp::Eq, l, r) => (&**r, std::slice::from_ref(&**l)),
            ExprKind::InList(l, rights) => (&**l, rights.as_slice()),
            _ => return None,
        };
        let ExprKind::Slot(slot) = left.kind else { return None };
        let (first, known) = *column.get_or_insert((term, left));
        let same = matches!(known.kind, ExprKind::Slot(s) if s == slot) && first.collation == term.collation;
        for r in rights {
            // All are compared as one type.
            let ty = promote::common(left.ty, r.ty).ok()?;
            let first = *compared.get_or_insert(ty);
            if !same || first.family() != ty.family() || first.scale() != ty.scale() {
                return None;
            }
        }
        list.extend_from_slice(rights);
    }
    let (first, left) = column?;
    let mut e = Expr::condition(ExprKind::InList(Box::new(left.clone()), list));
    e.collation = first.collation;
    e.coercibility = first.coercibility;
    Some(e)
}
