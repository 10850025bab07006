//! LIKE: what it compares is text.

use super::Binder;
use super::expr::{ExprCx, negate_if};
use super::merge_types::{assign_to, resolve_collation};
use crate::errors::Result;
use crate::expr::{Expr, ExprKind};
use keel_parser::ast;
use keel_types::{Length, SqlType};

/// A value as text: bytes are characters of one byte, unless those that they are compared with are `wide`.
fn text(e: Expr, wide: bool) -> Result<Expr> {
    let bytes = e.ty.is_binary() && !wide;
    match e.ty {
        ty if ty.is_string() => Ok(e),
        ty if bytes && ty.length() == Some(Length::Max) => assign_to(e, SqlType::VarChar(Length::Max)),
        _ if bytes => assign_to(e, SqlType::VarChar(Length::Limited(8000))),
        _ => assign_to(e, SqlType::NVarChar(Length::Limited(4000))),
    }
}

impl Binder<'_> {
    /// `operand [NOT] LIKE pattern [ESCAPE escape]`
    pub(super) fn like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let v = self.value(operand, cx)?;
        let p = self.value(pattern, cx)?;
        let escape = escape.map(|e| self.value(e, cx)).transpose()?;
        self.refuse_encrypted([&v, &p])?;
        let (collation, coercibility) = resolve_collation(&v, &p, "like")?;
        let wide = v.ty.is_national() || p.ty.is_national();
        let nullable = v.nullable || p.nullable;
        let (v, p) = (text(v, wide)?, text(p, wide)?);
        let escape = escape.map(|e| text(e, wide)).transpose()?;
        let mut e = Expr::condition(ExprKind::Like(Box::new(v), Box::new(p), escape.map(Box::new)));
        e.collation = collation;
        e.coercibility = coercibility;
        e.nullable = nullable;
        Ok(negate_if(negated, e))
    }
}
