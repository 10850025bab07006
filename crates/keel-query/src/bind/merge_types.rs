//! Which type and collation come out when two meet, and the conversions that bring them there.

use super::Binder;
use crate::errors::{self, Result};
use crate::expr::{ArithOp, Cast, CmpOp, Coercibility, Expr, ExprKind};
use crate::scope::BindScope;
use keel_parser::ast;
use keel_types::ty::parse::{TypeArg, TypeSite, parse_type};
use keel_types::ty::promote;
use keel_types::{Collation, SqlError, SqlType, Value};

/// Resolves a written type name.
pub fn resolve_type(scope: &dyn BindScope, ty: &ast::TypeName, cast: bool) -> Result<SqlType> {
    let name = &ty.name.name.text;
    if let Some(found) = scope.user_type(ty.name.schema.as_ref().map(|s| s.as_str()), name) {
        return Ok(found);
    }
    if let Some((name, document)) = collection_of(ty) {
        return scope.xml_type(name, document);
    }
    let args: Vec<TypeArg> = ty
        .args
        .iter()
        .filter_map(|a| match a {
            ast::TypeArg::Number(n) => Some(TypeArg::Number(i64::from(*n))),
            ast::TypeArg::Max => Some(TypeArg::Max),
            ast::TypeArg::Collection { .. } => None,
        })
        .collect();
    let site = if cast { TypeSite::cast(ty.span.line) } else { TypeSite::default() };
    parse_type(name, &args, site)
}

/// The schema collection of `xml(…)`, and whether DOCUMENT stands before it.
#[must_use]
pub fn collection_of(ty: &ast::TypeName) -> Option<(&ast::ObjectName, bool)> {
    match ty.args.as_slice() {
        [ast::TypeArg::Collection { document, name }] => Some((name, *document)),
        _ => None,
    }
}

/// `promote::BinaryOp` of an operator.
#[must_use]
pub fn library_op(op: ArithOp) -> promote::BinaryOp {
    match op {
        ArithOp::Add => promote::BinaryOp::Add,
        ArithOp::Sub => promote::BinaryOp::Subtract,
        ArithOp::Mul => promote::BinaryOp::Multiply,
        ArithOp::Div => promote::BinaryOp::Divide,
        ArithOp::Mod => promote::BinaryOp::Modulo,
        ArithOp::BitAnd => promote::BinaryOp::BitAnd,
        ArithOp::BitOr => promote::BinaryOp::BitOr,
        ArithOp::BitXor => promote::BinaryOp::BitXor,
    }
}

/// Operations whose outcome does not depend on a collation: what they make of two has none.
fn is_insensitive(operation: &str) -> bool {
    matches!(operation, "CASE" | "add" | "concat" | "concat_ws" | "choose")
}

/// Two collations of columns that an expression without a collation is made of.
fn parting(e: &Expr) -> Option<(Collation, Collation)> {
    let mut first = None;
    let mut second = None;
    e.any(&mut |x| {
        if matches!(x.kind, ExprKind::Slot(_)) && x.ty.is_string() {
            match first {
                None => first = Some(x.collation),
                Some(c) if c != x.collation => second = Some(x.collation),
                Some(_) => {}
            }
        }
        second.is_some()
    });
    first.zip(second)
}

/// Error 451: a column of the select list has no collation.
pub(super) fn unresolved_column(e: &Expr, column: usize) -> errors::Error {
    let (one, other) = parting(e).unwrap_or((e.collation, e.collation));
    let operator = if matches!(e.kind, ExprKind::Arith(..)) { "add" } else { "CASE" };
    errors::column_without_collation(one.name(), other.name(), operator, column)
}

/// The collation two expressions agree on, for `operation` in the message of a conflict.
pub fn resolve_collation(left: &Expr, right: &Expr, operation: &str) -> Result<(Collation, Coercibility)> {
    let (l, r) = (left.ty.is_string(), right.ty.is_string());
    if l && r && left.coercibility.max(right.coercibility) == Coercibility::Unresolved {
        if is_insensitive(operation) {
            return Ok((left.collation, Coercibility::Unresolved));
        }
        let (one, other) =
            parting(left).or_else(|| parting(right)).unwrap_or((left.collation, right.collation));
        return Err(errors::collation_conflict(one.name(), other.name(), operation));
    }
    if !(l && r) || left.collation == right.collation {
        let strongest = if !r || (l && left.coercibility >= right.coercibility) { left } else { right };
        return Ok((strongest.collation, left.coercibility.max(right.coercibility)));
    }
    match left.coercibility.cmp(&right.coercibility) {
        std::cmp::Ordering::Greater => Ok((left.collation, left.coercibility)),
        std::cmp::Ordering::Less => Ok((right.collation, right.coercibility)),
        std::cmp::Ordering::Equal if left.coercibility == Coercibility::Default => {
            Ok((left.collation, Coercibility::Default))
        }
        std::cmp::Ordering::Equal
            if left.coercibility == Coercibility::Implicit && is_insensitive(operation) =>
        {
            Ok((left.collation, Coercibility::Unresolved))
        }
        std::cmp::Ordering::Equal => {
            Err(errors::collation_conflict(left.collation.name(), right.collation.name(), operation))
        }
    }
}

/// What a name in COLLATE stands for; 448 when it is none.
pub(super) fn named_collation(name: &str) -> Result<Collation> {
    Collation::by_name(name).ok_or_else(|| SqlError::new(448, 16, 1, format!("Invalid collation '{name}'.")))
}

/// What COLLATE makes of an expression. A column is no longer the column: an index on it is in another order.
pub(super) fn in_collation(mut e: Expr, collation: Collation) -> Expr {
    if e.as_slot().is_some() && e.collation != collation {
        let (ty, nullable) = (e.ty, e.nullable);
        let same = Cast { input: e, style: None, lenient: false, explicit: false };
        let kind = ExprKind::Cast(Box::new(same));
        return Expr { kind, ty, collation, coercibility: Coercibility::Explicit, nullable };
    }
    e.collation = collation;
    e.coercibility = Coercibility::Explicit;
    e
}

/// Converts to `ty` without being asked; a constant NULL just takes the type. No permission check.
#[must_use]
pub fn cast_to(mut e: Expr, ty: SqlType) -> Expr {
    if e.ty == ty {
        return e;
    }
    super::deduce::note(&e, ty);
    if matches!(e.kind, ExprKind::Const(Value::Null)) {
        e.ty = ty;
        return e;
    }
    let (collation, coercibility, nullable) = (e.collation, e.coercibility, e.nullable);
    Expr {
        kind: ExprKind::Cast(Box::new(Cast { input: e, style: None, lenient: false, explicit: false })),
        ty,
        collation,
        coercibility,
        nullable,
    }
}

/// Converts for assignment, refusing pairs that need an explicit conversion (257) or cannot meet (206).
pub fn assign_to(e: Expr, ty: SqlType) -> Result<Expr> {
    let e = super::encrypted::adopt(e, ty);
    if !promote::implicitly_converts(e.ty, ty) {
        if may_convert_explicitly(e.ty, ty) {
            return Err(keel_types::raise::implicit_not_allowed(e.ty, ty));
        }
        return Err(promote::operand_clash(e.ty, ty));
    }
    Ok(cast_to(e, ty))
}

/// Whether values of a type have no order and no equality: the old large types, xml, geometry, geography.
#[must_use]
pub fn is_incomparable(ty: SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::TypedXml(_))
        || ty.is_spatial()
        || ty.scheme().is_some_and(|s| s.randomized)
}

/// 306, 305 or 249 for an expression in ORDER BY, GROUP BY or PARTITION BY whose type has no order.
pub fn refuse_incomparable(ty: SqlType, clause: &str) -> Result<()> {
    match ty {
        ty if !is_incomparable(ty) => Ok(()),
        SqlType::Xml | SqlType::TypedXml(_) => Err(crate::errors::incomparable_xml()),
        ty if ty.is_spatial() => Err(crate::errors::incomparable_type(ty.name(), clause)),
        _ => Err(crate::errors::incomparable_text()),
    }
}

fn may_convert_explicitly(from: SqlType, to: SqlType) -> bool {
    (from.is_string() && to.is_binary())
        || (from.is_binary() && to.is_string())
        || matches!(from, SqlType::SqlVariant | SqlType::Xml | SqlType::TypedXml(_))
        || (from.is_temporal()
            && matches!(from, SqlType::DateTime | SqlType::SmallDateTime)
            && to.is_numeric())
}

/// Brings several expressions to their common type and collation (CASE, COALESCE, IN, UNION, VALUES).
pub fn unify(parts: Vec<Expr>, operation: &str) -> Result<(Vec<Expr>, SqlType, Collation, Coercibility)> {
    let parts = super::encrypted::adopt_all(parts);
    let decimal = parts.iter().map(|e| e.ty).find(|ty| ty.decimal_parts().is_some());
    let parts: Vec<Expr> = match decimal {
        Some(decimal) => parts.into_iter().map(|e| beside_decimal(e, decimal)).collect(),
        None => parts,
    };
    let mut ty = SqlType::Null;
    for e in &parts {
        ty = if e.ty == SqlType::Null {
            ty
        } else if ty == SqlType::Null {
            e.ty
        } else {
            promote::common(ty, e.ty)?
        };
    }
    let mut model = Expr::constant(Value::Null, SqlType::Null);
    for e in parts.iter().filter(|e| e.ty.is_string()) {
        if model.ty == SqlType::Null {
            model = Expr { kind: ExprKind::Const(Value::Null), ..e.clone() };
        } else {
            let (c, k) = resolve_collation(&model, e, operation)?;
            model.collation = c;
            model.coercibility = k;
        }
    }
    let parts = parts.into_iter().map(|e| cast_to(e, ty)).collect();
    Ok((parts, ty, model.collation, model.coercibility))
}

impl Binder<'_> {
    /// `left op right` with conversions and collation decided.
    pub fn comparison(&self, op: CmpOp, left: Expr, right: Expr) -> Result<Expr> {
        let name = match op {
            CmpOp::Eq => "equal to",
            CmpOp::Ne => "not equal to",
            CmpOp::Lt => "less than",
            CmpOp::Le => "less than or equal to",
            CmpOp::Gt => "greater than",
            CmpOp::Ge => "greater than or equal to",
        };
        if left.ty.is_encrypted() || right.ty.is_encrypted() {
            return self.encrypted_comparison(op, name, left, right);
        }
        if let Some(ty) = [left.ty, right.ty].into_iter().find(|t| t.is_spatial()) {
            return Err(keel_types::raise::spatial_does_not_compare(name, ty));
        }
        if (is_incomparable(left.ty) || is_incomparable(right.ty))
            && left.ty != SqlType::Null
            && right.ty != SqlType::Null
        {
            return Err(promote::incompatible(left.ty, right.ty, name));
        }
        let ty = match (left.ty, right.ty) {
            (SqlType::Null, SqlType::Null) => SqlType::Int,
            (l, r) if apart(l, r) || apart(r, l) => return Err(promote::incompatible(l, r, name)),
            (l, r) => promote::common(l, r)?,
        };
        let (collation, coercibility) = resolve_collation(&left, &right, name)?;
        let (left, right) = (cast_for_compare(left, ty), cast_for_compare(right, ty));
        let nullable = left.nullable || right.nullable;
        let mut e = Expr::compare(op, left, right);
        e.collation = collation;
        e.coercibility = coercibility;
        e.nullable = nullable;
        Ok(e)
    }

    /// Arithmetic; the resolved routine converts its operands.
    pub fn arithmetic(&self, op: ArithOp, left: Expr, right: Expr) -> Result<Expr> {
        self.refuse_encrypted([&left, &right])?;
        let (lt, rt) = (left.ty, right.ty);
        super::deduce::note(&left, rt);
        super::deduce::note(&right, lt);
        let (left, right) = (beside_decimal(left, rt), beside_decimal(right, lt));
        let result = promote::binary_result(library_op(op), left.ty, right.ty)?;
        let (collation, coercibility) = resolve_collation(&left, &right, "add")?;
        // What overflows is NULL with ARITHABORT off.
        let nullable = left.nullable || right.nullable || result.is_numeric();
        Ok(Expr {
            kind: ExprKind::Arith(op, Box::new(left), Box::new(right)),
            ty: result,
            collation,
            coercibility,
            nullable,
        })
    }
}

/// A time is compared with no date, and with no datetime either, although it would convert.
fn apart(left: SqlType, right: SqlType) -> bool {
    matches!((left, right), (SqlType::Time(_), SqlType::Date | SqlType::DateTime | SqlType::SmallDateTime))
}

/// Strings need no conversion among themselves to be compared: all are Unicode inside.
fn cast_for_compare(e: Expr, ty: SqlType) -> Expr {
    if (ty.is_string() && e.ty.is_string())
        || (ty.is_integer() && e.ty.is_integer())
        || (ty.is_binary() && e.ty.is_binary())
    {
        return e;
    }
    cast_to(e, ty)
}

/// An integer constant beside a decimal has just as many digits as it is written with.
fn beside_decimal(e: Expr, other: SqlType) -> Expr {
    if other.decimal_parts().is_none() {
        return e;
    }
    match e.as_const() {
        Some(Value::Int(n)) if e.ty.is_integer() => {
            let ty = match (SqlType::numeric_of_literal(*n), other) {
                // What the literal is called does not show.
                (SqlType::Numeric { precision, scale }, SqlType::Decimal { .. }) => {
                    SqlType::Decimal { precision, scale }
                }
                (ty, _) => ty,
            };
            let value = Value::Decimal(keel_types::Decimal::new(i128::from(*n), 0));
            Expr::constant(value, ty)
        }
        _ => e,
    }
}
