//! Operators of the syntax tree as those of expressions.

use crate::errors::{self, Result};
use crate::expr::{ArithOp, CmpOp};
use keel_parser::ast;

/// The operator of the syntax tree.
#[must_use]
pub fn compare_op(op: ast::CompareOp) -> CmpOp {
    match op {
        ast::CompareOp::Equal => CmpOp::Eq,
        ast::CompareOp::NotEqual => CmpOp::Ne,
        ast::CompareOp::Less => CmpOp::Lt,
        ast::CompareOp::LessOrEqual => CmpOp::Le,
        ast::CompareOp::Greater => CmpOp::Gt,
        ast::CompareOp::GreaterOrEqual => CmpOp::Ge,
    }
}

/// The operator of the syntax tree.
pub fn arith_op(op: ast::BinaryOp) -> Result<ArithOp> {
    Ok(match op {
        ast::BinaryOp::Add | ast::BinaryOp::Concat => ArithOp::Add,
        ast::BinaryOp::Subtract => ArithOp::Sub,
        ast::BinaryOp::Multiply => ArithOp::Mul,
        ast::BinaryOp::Divide => ArithOp::Div,
        ast::BinaryOp::Modulo => ArithOp::Mod,
        ast::BinaryOp::BitAnd => ArithOp::BitAnd,
        ast::BinaryOp::BitOr => ArithOp::BitOr,
        ast::BinaryOp::BitXor => ArithOp::BitXor,
        ast::BinaryOp::ShiftLeft => return Err(errors::syntax_near("<<")),
        ast::BinaryOp::ShiftRight => return Err(errors::syntax_near(">>")),
    })
}
