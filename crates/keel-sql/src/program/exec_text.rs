//! The text of `EXEC ('…' + @variable + …)`: variables of every type are put into it as strings, so that what stands between
//! two strings is never an addition.

use keel_parser::ast::{BinaryOp, Expr, ExprKind, Ident, ObjectName, Span, TypeArg, TypeName};
use smol_str::SmolStr;

/// The expression with every variable of it converted to `nvarchar(max)`.
pub(super) fn of_strings(e: &Expr) -> Expr {
    let kind = match &e.kind {
        ExprKind::Binary { op: BinaryOp::Add, left, right } => ExprKind::Binary {
            op: BinaryOp::Add,
            left: Box::new(of_strings(left)),
            right: Box::new(of_strings(right)),
        },
        ExprKind::Variable(_) => {
            ExprKind::Cast { operand: Box::new(e.clone()), ty: Box::new(text(e.span)), is_try: false }
        }
        other => other.clone(),
    };
    Expr { kind, span: e.span }
}

fn text(span: Span) -> TypeName {
    let name = Ident { text: SmolStr::new_static("nvarchar"), quoted: false, span };
    TypeName { name: ObjectName::simple(name), args: vec![TypeArg::Max], span }
}
