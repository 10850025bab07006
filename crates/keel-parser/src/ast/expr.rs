//! Expressions and conditions. The parser keeps them apart (a condition never stands where a value is expected)
//! but they share one node type.

use super::{Ident, ObjectName, OrderItem, Over, Query, Span, TypeName, Variable};
use smol_str::SmolStr;
use std::fmt;
use std::sync::Arc;

#[derive(Clone, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.kind, f)
    }
}

/// A literal with the type that its spelling gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    /// Digits that fit `int`.
    Int(i32),
    /// Digits with a point, or too many for `int`: `numeric(precision, scale)`; mantissa / 10^scale.
    Numeric {
        mantissa: i128,
        precision: u8,
        scale: u8,
    },
    /// With an exponent: `float(53)`.
    Float(f64),
    /// `$12.34`, in ten-thousandths.
    Money(i64),
    /// `'…'` (`varchar`) or `N'…'` (`nvarchar`), quotes undone.
    String {
        value: SmolStr,
        national: bool,
    },
    /// `0x…`
    Binary(Arc<[u8]>),
}

impl Literal {
    /// The value of a whole number that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Literal::Int(n) => Some(i64::from(*n)),
            Literal::Numeric { mantissa, scale: 0, .. } => i64::try_from(*mantissa).ok(),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    /// `DEFAULT` as a value in VALUES, SET and EXEC.
    Default,
    /// `@x`
    Variable(SmolStr),
    /// `@@rowcount`, with both signs, as written.
    GlobalVariable(SmolStr),
    Column(ColumnRef),
    /// `$IDENTITY`, `$ROWGUID`, `$action`, `$node_id`, …: upper case with the sign, optionally qualified.
    Pseudo {
        qualifier: Option<Box<ObjectName>>,
        name: SmolStr,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Case {
        operand: Option<Box<Expr>>,
        /// With an operand the first of each pair is a value, without it a condition.
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Iif {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Coalesce(Vec<Expr>),
    NullIf(Box<Expr>, Box<Expr>),
    /// `CAST(e AS t)`, `TRY_CAST`.
    Cast {
        operand: Box<Expr>,
        ty: Box<TypeName>,
        is_try: bool,
    },
    /// `CONVERT(t, e [, style])`, `TRY_CONVERT`.
    Convert {
        ty: Box<TypeName>,
        operand: Box<Expr>,
        style: Option<Box<Expr>>,
        is_try: bool,
    },
    /// `PARSE(e AS t [USING culture])`, `TRY_PARSE`.
    Parse {
        operand: Box<Expr>,
        ty: Box<TypeName>,
        culture: Option<Box<Expr>>,
        is_try: bool,
    },
    /// `TRIM([LEADING|TRAILING|BOTH] [chars FROM] e)` when it is more than the plain function.
    Trim {
        side: TrimSide,
        chars: Option<Box<Expr>>,
        operand: Box<Expr>,
    },
    Function(Box<FunctionCall>),
    /// `type::Method(args)`; without parentheses `type::Property`
    StaticMethod {
        ty: Box<ObjectName>,
        method: Ident,
        args: Option<Vec<Expr>>,
    },
    /// `@x.method(args)`; on a column it looks like a schema-qualified function and is parsed as one.
    Method {
        target: Box<Expr>,
        method: Ident,
        args: Vec<Expr>,
    },
    /// `@x.property`; on a column it looks like a column with a qualifier and is parsed as one.
    Property {
        target: Box<Expr>,
        name: Ident,
    },
    /// What `SET @x.modify('…')` and `SET c.modify('…')` assign to the variable or column.
    Mutated {
        target: Box<Expr>,
        method: Ident,
        args: Vec<Expr>,
    },
    /// `(SELECT …)` as a value.
    Subquery(Box<Query>),
    Collate {
        operand: Box<Expr>,
        collation: Ident,
    },
    AtTimeZone {
        operand: Box<Expr>,
        zone: Box<Expr>,
    },
    NextValueFor {
        sequence: Box<ObjectName>,
        order_by: Option<Vec<OrderItem>>,
    },
    /// `{d '…'}`, `{t '…'}`, `{ts '…'}`, `{guid '…'}`
    OdbcLiteral {
        kind: OdbcLiteralKind,
        text: SmolStr,
    },

    // Conditions.
    /// All (AND) or any (OR) of two or more terms, in order.
    Logical {
        op: LogicalOp,
        terms: Vec<Expr>,
    },
    Not(Box<Expr>),
    Compare {
        op: CompareOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `left op ALL|ANY (query)`; SOME is ANY.
    Quantified {
        op: CompareOp,
        left: Box<Expr>,
        all: bool,
        query: Box<Query>,
    },
    IsNull {
        operand: Box<Expr>,
        negated: bool,
    },
    IsDistinctFrom {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        operand: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Exists(Box<Query>),
    /// `UPDATE(column)` in a trigger.
    ColumnUpdated(Ident),
    /// `REGEXP_LIKE(text, pattern [, flags])`
    RegexpLike(Vec<Expr>),
    /// `CONTAINS(…)`, `FREETEXT(…)`
    FullText {
        contains: bool,
        /// Empty for `*`.
        columns: Vec<ColumnRef>,
        /// Of `t.*`.
        table: Option<Box<ObjectName>>,
        search: Box<Expr>,
        language: Option<Box<Expr>>,
    },
}

impl Expr {
    /// The expressions it is made of, those of its window too; not those of queries in it.
    #[must_use]
    pub fn children(&self) -> Vec<&Expr> {
        use ExprKind as K;
        match &self.kind {
            K::Literal(_)
            | K::Default
            | K::Variable(_)
            | K::GlobalVariable(_)
            | K::Column(_)
            | K::Pseudo { .. }
            | K::Subquery(_)
            | K::Exists(_)
            | K::NextValueFor { .. }
            | K::OdbcLiteral { .. }
            | K::ColumnUpdated(_) => Vec::new(),
            K::Unary { operand, .. }
            | K::Cast { operand, .. }
            | K::Parse { operand, .. }
            | K::Collate { operand, .. }
            | K::IsNull { operand, .. }
            | K::Not(operand)
            | K::Property { target: operand, .. }
            | K::Quantified { left: operand, .. }
            | K::InQuery { operand, .. }
            | K::FullText { search: operand, .. } => vec![operand],
            K::Binary { left, right, .. }
            | K::Compare { left, right, .. }
            | K::IsDistinctFrom { left, right, .. }
            | K::NullIf(left, right)
            | K::AtTimeZone { operand: left, zone: right } => vec![left, right],
            K::Case { operand, whens, otherwise } => {
                let whens = whens.iter().flat_map(|(when, then)| [when, then]);
                operand.as_deref().into_iter().chain(whens).chain(otherwise.as_deref()).collect()
            }
            K::Iif { condition, then, otherwise } => vec![condition, then, otherwise],
            K::Convert { operand, style, .. } => {
                std::iter::once(&**operand).chain(style.as_deref()).collect()
            }
            K::Trim { chars, operand, .. } => std::iter::once(&**operand).chain(chars.as_deref()).collect(),
            K::Function(call) => call.children(),
            K::Coalesce(list) | K::Logical { terms: list, .. } | K::RegexpLike(list) => list.iter().collect(),
            K::StaticMethod { args, .. } => args.iter().flatten().collect(),
            K::Method { target, args, .. } | K::Mutated { target, args, .. } => {
                std::iter::once(&**target).chain(args).collect()
            }
            K::Between { operand, low, high, .. } => vec![operand, low, high],
            K::Like { operand, pattern, escape, .. } => {
                [&**operand, &**pattern].into_iter().chain(escape.as_deref()).collect()
            }
            K::InList { operand, list, .. } => std::iter::once(&**operand).chain(list).collect(),
        }
    }

    /// Whether there is a query in it.
    #[must_use]
    pub fn has_query(&self) -> bool {
        use ExprKind as K;
        let own =
            matches!(self.kind, K::Subquery(_) | K::Exists(_) | K::Quantified { .. } | K::InQuery { .. });
        own || self.children().into_iter().any(Expr::has_query)
    }

    /// Whether it is a condition rather than a value.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        matches!(
            self.kind,
            ExprKind::Logical { .. }
                | ExprKind::Not(_)
                | ExprKind::Compare { .. }
                | ExprKind::Quantified { .. }
                | ExprKind::IsNull { .. }
                | ExprKind::IsDistinctFrom { .. }
                | ExprKind::Between { .. }
                | ExprKind::Like { .. }
                | ExprKind::InList { .. }
                | ExprKind::InQuery { .. }
                | ExprKind::Exists(_)
                | ExprKind::ColumnUpdated(_)
                | ExprKind::RegexpLike(_)
                | ExprKind::FullText { .. }
        )
    }
}

/// `[qualifier.]name`; the qualifier is an alias or a table name of up to four parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    pub qualifier: Option<Box<ObjectName>>,
    pub name: Ident,
}

/// A call of a built-in, an aggregate, a ranking function or a user-defined function. Date parts
/// (`DATEADD(day, …)`) arrive as column references.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    pub name: ObjectName,
    pub args: Vec<Expr>,
    /// `COUNT(*)`
    pub star: bool,
    /// `COUNT(DISTINCT e)`
    pub distinct: bool,
    /// Without parentheses: `CURRENT_TIMESTAMP`, `CURRENT_USER`, `SESSION_USER`, `SYSTEM_USER`, `USER`.
    pub niladic: bool,
    /// Inside `{fn …}`: names and semantics are ODBC's.
    pub odbc: bool,
    /// `WITHIN GROUP (ORDER BY …)`, and the ORDER BY inside of JSON_ARRAYAGG.
    pub within_group: Option<Vec<OrderItem>>,
    /// `NULL ON NULL` (true) or `ABSENT ON NULL` (false) of the JSON constructors and aggregates.
    pub null_on_null: Option<bool>,
    /// `IGNORE NULLS` (true) or `RESPECT NULLS` (false).
    pub ignore_nulls: Option<bool>,
    pub over: Option<Over>,
}

impl FunctionCall {
    fn children(&self) -> Vec<&Expr> {
        let ordered = self.within_group.iter().flatten().map(|item| &item.expr);
        let over = self
            .over
            .iter()
            .flat_map(|over| over.partition_by.iter().chain(over.order_by.iter().map(|item| &item.expr)));
        self.args.iter().chain(ordered).chain(over).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Plus,
    Minus,
    BitNot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    /// `||`
    Concat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalOp {
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimSide {
    Leading,
    Trailing,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdbcLiteralKind {
    Date,
    Time,
    Timestamp,
    Guid,
}

/// How an assignment combines old and new value: `=`, `+=`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignOp {
    Set,
    Compound(BinaryOp),
}

/// A table by name or a table variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableRef {
    Named(ObjectName),
    Variable(Variable),
}
