//! Bound expressions: every name a slot, variable or function, every type and implicit conversion decided.
//!
//! A statement has one frame of *slots*. Each column instance of each table reference, and each computed value,
//! owns one slot for the whole statement, so an expression means the same at any height of the plan, and an outer
//! reference from a subquery is nothing but a slot of the same frame. Operators write slots; expressions read them.
//!
//! [`Expr`] is what the optimizer looks at; [`crate::expr::compile`] turns it into closures.

pub mod builtin;
pub mod compile;
pub mod fold;
pub mod library;
pub mod simplify;
pub mod visit;

use crate::bind::rel::Subquery;
use keel_types::{Collation, SqlType, Value};
use std::sync::Arc;

/// Index into the frame of a running statement.
pub type Slot = u32;

/// How strongly an expression insists on its collation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coercibility {
    /// Literals, variables, functions of them: takes whatever the other side has.
    #[default]
    Default,
    /// A column.
    Implicit,
    /// Put together from columns of different collations: has none until COLLATE gives it one.
    Unresolved,
    /// COLLATE.
    Explicit,
}

/// Arithmetic and bit operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithOp {
    /// +
    Add,
    /// -
    Sub,
    /// *
    Mul,
    /// /
    Div,
    /// %
    Mod,
    /// &
    BitAnd,
    /// |
    BitOr,
    /// ^
    BitXor,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// =
    Eq,
    /// <>
    Ne,
    /// <
    Lt,
    /// <=
    Le,
    /// >
    Gt,
    /// >=
    Ge,
}

impl CmpOp {
    /// The operator with its sides exchanged.
    #[must_use]
    pub fn flip(self) -> CmpOp {
        match self {
            CmpOp::Eq => CmpOp::Eq,
            CmpOp::Ne => CmpOp::Ne,
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
        }
    }
    /// The operator that is true where this one is false.
    #[must_use]
    pub fn negate(self) -> CmpOp {
        match self {
            CmpOp::Eq => CmpOp::Ne,
            CmpOp::Ne => CmpOp::Eq,
            CmpOp::Lt => CmpOp::Ge,
            CmpOp::Le => CmpOp::Gt,
            CmpOp::Gt => CmpOp::Le,
            CmpOp::Ge => CmpOp::Lt,
        }
    }
    /// As written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            CmpOp::Eq => "=",
            CmpOp::Ne => "<>",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        }
    }
    /// Applies to an ordering.
    #[must_use]
    #[inline]
    pub fn holds(self, o: std::cmp::Ordering) -> bool {
        match self {
            CmpOp::Eq => o.is_eq(),
            CmpOp::Ne => o.is_ne(),
            CmpOp::Lt => o.is_lt(),
            CmpOp::Le => o.is_le(),
            CmpOp::Gt => o.is_gt(),
            CmpOp::Ge => o.is_ge(),
        }
    }
}

/// A bound expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its type; conditions are [`SqlType::Bit`] and may be unknown.
    pub ty: SqlType,
    /// Collation of a character result.
    pub collation: Collation,
    /// How it takes part in collation resolution.
    pub coercibility: Coercibility,
    /// Can it be NULL?
    pub nullable: bool,
}

/// The operations.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant of the expression's type.
    Const(Value),
    /// A slot of the frame.
    Slot(Slot),
    /// A variable.
    Var(usize),
    /// Arithmetic; operands keep their own types, the resolver picked the routine for the pair.
    Arith(ArithOp, Box<Expr>, Box<Expr>),
    /// -x
    Neg(Box<Expr>),
    /// ~x
    BitNot(Box<Expr>),
    /// Comparison of two operands brought to one type.
    Compare(CmpOp, Box<Expr>, Box<Expr>),
    /// Conjunction of two or more conditions.
    And(Vec<Expr>),
    /// Disjunction of two or more conditions.
    Or(Vec<Expr>),
    /// Negation of a condition.
    Not(Box<Expr>),
    /// IS NULL
    IsNull(Box<Expr>),
    /// CASE WHEN … (a simple CASE is rewritten to this).
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// The first of two or more that is not NULL (ISNULL, COALESCE); each is computed once at most.
    FirstOf(Vec<Expr>),
    /// Conversion to the expression's type.
    Cast(Box<Cast>),
    /// LIKE: value, pattern, escape.
    Like(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    /// value IN (list); everything brought to one type.
    InList(Box<Expr>, Vec<Expr>),
    /// A built-in function of the type library.
    Builtin(Builtin, Vec<Expr>),
    /// A value only the session knows.
    Session {
        /// Passed to `SessionInfo::call`.
        id: u32,
        /// Name, for explain and column metadata.
        name: Arc<str>,
        /// One value per statement.
        stable: bool,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// A user-defined scalar function.
    Udf(Arc<crate::scope::ScalarFunctionInfo>, Vec<Expr>),
    /// A subquery used as a value or condition.
    Subquery(Arc<Subquery>),
    /// A value, or what stands for it where whoever runs the statement may not see it.
    Masked(Arc<crate::bind::mask::Mask>, Box<Expr>),
}

/// A conversion.
#[derive(Clone, Debug)]
pub struct Cast {
    /// What is converted.
    pub input: Expr,
    /// CONVERT's style.
    pub style: Option<Expr>,
    /// TRY_CAST / TRY_CONVERT: NULL instead of an error.
    pub lenient: bool,
    /// Written by the user (so it shows in explain), not inserted by the binder.
    pub explicit: bool,
}

/// A built-in scalar function, resolved to the type library's routine.
#[derive(Clone, Debug)]
pub struct Builtin {
    /// Upper-case name.
    pub name: Arc<str>,
    /// The routine.
    pub func: builtin::BuiltinFn,
    /// Gives the same result for the same arguments within a statement.
    pub deterministic: bool,
    /// Gives it always, so that constants can be folded.
    pub foldable: bool,
}

impl Expr {
    /// A constant.
    #[must_use]
    pub fn constant(value: Value, ty: SqlType) -> Expr {
        let nullable = matches!(value, Value::Null);
        Expr {
            kind: ExprKind::Const(value),
            ty,
            collation: Collation::default(),
            coercibility: Coercibility::Default,
            nullable,
        }
    }
    /// The untyped NULL.
    #[must_use]
    pub fn null() -> Expr {
        Expr::constant(Value::Null, SqlType::Null)
    }
    /// An int constant.
    #[must_use]
    pub fn int(value: i64) -> Expr {
        Expr::constant(Value::Int(value), SqlType::Int)
    }
    /// A slot of known type.
    #[must_use]
    pub fn slot(slot: Slot, ty: SqlType, collation: Collation, nullable: bool) -> Expr {
        Expr { kind: ExprKind::Slot(slot), ty, collation, coercibility: Coercibility::Implicit, nullable }
    }
    /// A condition.
    #[must_use]
    pub fn condition(kind: ExprKind) -> Expr {
        Expr {
            kind,
            ty: SqlType::Bit,
            collation: Collation::default(),
            coercibility: Coercibility::Default,
            nullable: true,
        }
    }
    /// `left op right`; both already of one type.
    #[must_use]
    pub fn compare(op: CmpOp, left: Expr, right: Expr) -> Expr {
        Expr::condition(ExprKind::Compare(op, Box::new(left), Box::new(right)))
    }
    /// Conjunction of any number of conditions.
    #[must_use]
    pub fn and(mut parts: Vec<Expr>) -> Expr {
        match parts.len() {
            0 => Expr::condition(ExprKind::Const(Value::Bit(true))),
            1 => parts.remove(0),
            _ => Expr::condition(ExprKind::And(parts)),
        }
    }
    /// The negation.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "SQL's NOT, three-valued")]
    pub fn not(self) -> Expr {
        Expr::condition(ExprKind::Not(Box::new(self)))
    }
    /// Whether this is a constant.
    #[must_use]
    pub fn as_const(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Const(v) => Some(v),
            _ => None,
        }
    }
    /// The slot, if this is nothing but one.
    #[must_use]
    pub fn as_slot(&self) -> Option<Slot> {
        match self.kind {
            ExprKind::Slot(s) => Some(s),
            _ => None,
        }
    }
    /// Whether this is a condition rather than a value: the kinds only the condition compiler makes.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        match &self.kind {
            ExprKind::Compare(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull(_)
            | ExprKind::Like(..)
            | ExprKind::InList(..) => true,
            ExprKind::Subquery(s) => s.is_condition(),
            _ => false,
        }
    }
    /// Splits a conjunction into its parts.
    pub fn conjuncts(self, into: &mut Vec<Expr>) {
        match self.kind {
            ExprKind::And(parts) => parts.into_iter().for_each(|p| p.conjuncts(into)),
            ExprKind::Const(Value::Bit(true)) => {}
            _ => into.push(self),
        }
    }
}
