//! Control flow, variables, cursors, transactions, EXECUTE.

use super::{
    AssignOp, Expr, Ident, ObjectName, Query, SelectStatement, Span, Statement, TableElement, TypeName,
    Variable,
};
use smol_str::SmolStr;

/// One item of DECLARE.
#[derive(Clone, Debug, PartialEq)]
pub enum Declaration {
    Variable {
        variable: Variable,
        ty: TypeName,
        value: Option<Expr>,
    },
    /// `@t TABLE (…)`
    Table {
        variable: Variable,
        elements: Vec<TableElement>,
    },
    /// `@c CURSOR`
    Cursor {
        variable: Variable,
    },
}

/// `DECLARE c CURSOR …`, in the ISO or the extended form.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    pub name: Ident,
    pub cursor: CursorDefinition,
}

/// Options and query of a cursor; also the right side of `SET @c = CURSOR …`.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorDefinition {
    /// `INSENSITIVE` of the ISO form.
    pub insensitive: bool,
    pub scope: Option<CursorScope>,
    /// SCROLL (true) or FORWARD_ONLY (false).
    pub scroll: Option<bool>,
    pub kind: Option<CursorKind>,
    pub concurrency: Option<CursorConcurrency>,
    pub type_warning: bool,
    pub select: SelectStatement,
    /// `FOR READ ONLY`
    pub read_only: bool,
    /// `FOR UPDATE [OF columns]`
    pub for_update: Option<Vec<Ident>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorScope {
    Local,
    Global,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorKind {
    Static,
    Keyset,
    Dynamic,
    FastForward,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorConcurrency {
    ReadOnly,
    ScrollLocks,
    Optimistic,
}

/// `[GLOBAL] name` or `@variable`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorRef {
    Named { global: bool, name: Ident },
    Variable(Variable),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    pub direction: FetchDirection,
    pub cursor: CursorRef,
    pub into: Vec<Variable>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FetchDirection {
    Next,
    Prior,
    First,
    Last,
    Absolute(Expr),
    Relative(Expr),
}

/// `SET @v = …`
#[derive(Clone, Debug, PartialEq)]
pub struct SetVariable {
    pub variable: Variable,
    pub value: SetValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    Expr {
        op: AssignOp,
        value: Expr,
    },
    Cursor(Box<CursorDefinition>),
    /// `SET @x.Property = e` of a CLR type.
    Property {
        name: Ident,
    },
}

/// SET of a session option.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOption {
    /// `SET NOCOUNT, XACT_ABORT ON`: upper-case names.
    Switches {
        names: Vec<SmolStr>,
        on: bool,
    },
    /// `SET STATISTICS IO, TIME ON`: IO, TIME, PROFILE, XML.
    Statistics {
        names: Vec<SmolStr>,
        on: bool,
    },
    TransactionIsolation(Isolation),
    IdentityInsert {
        table: ObjectName,
        on: bool,
    },
    /// ROWCOUNT, LOCK_TIMEOUT, DATEFORMAT, DATEFIRST, LANGUAGE, DEADLOCK_PRIORITY, TEXTSIZE, QUERY_GOVERNOR_COST_LIMIT,
    /// CONTEXT_INFO, FIPS_FLAGGER, …: upper-case name. Words (LOW, mdy, us_english) arrive as string literals.
    Value {
        name: SmolStr,
        value: Expr,
    },
    Offsets {
        on: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}

#[derive(Clone, Debug, PartialEq)]
pub struct If {
    pub condition: Expr,
    pub then: Statement,
    pub otherwise: Option<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct While {
    pub condition: Expr,
    pub body: Statement,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TryCatch {
    pub body: Vec<Statement>,
    pub handler: Vec<Statement>,
}

/// `RAISERROR(msg, severity, state, args…) WITH …`, or the old `RAISERROR number 'text'`.
#[derive(Clone, Debug, PartialEq)]
pub struct RaisError {
    pub message: Expr,
    pub severity: Expr,
    pub state: Expr,
    pub args: Vec<Expr>,
    pub log: bool,
    pub no_wait: bool,
    pub set_error: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Throw {
    pub number: Expr,
    pub message: Expr,
    pub state: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WaitFor {
    Delay(Expr),
    Time(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// `EXEC @rc = proc`
    pub return_variable: Option<Variable>,
    pub target: ExecuteTarget,
    pub args: Vec<ExecuteArg>,
    pub recompile: bool,
    pub result_sets: Option<ResultSets>,
    /// `AS LOGIN|USER = '…'` of the string form.
    pub execute_as: Option<(Principal, Expr)>,
    /// `AT linked_server` of the string form.
    pub at: Option<Ident>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteTarget {
    /// `EXEC s.p` with an optional `;number`.
    Procedure { name: ObjectName, number: Option<i32> },
    /// `EXEC @name`: the name is in the variable.
    Variable(Variable),
    /// `EXEC (expr)`: a concatenation of strings and variables.
    Text(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteArg {
    /// `@name = value`
    pub name: Option<Variable>,
    /// A literal, variable, `DEFAULT`; a bare word arrives as a string literal.
    pub value: Expr,
    pub output: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ResultSets {
    Undefined,
    None,
    /// Columns of each set: name, type, nullable.
    Defined(Vec<Vec<(Ident, TypeName, Option<bool>)>>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionName {
    Name(Ident),
    Variable(Variable),
}

#[derive(Clone, Debug, PartialEq)]
pub struct BeginTransaction {
    pub distributed: bool,
    pub name: Option<TransactionName>,
    /// `WITH MARK ['text']`
    pub mark: Option<Option<SmolStr>>,
}

/// COMMIT or ROLLBACK.
#[derive(Clone, Debug, PartialEq)]
pub struct EndTransaction {
    pub name: Option<TransactionName>,
    /// `COMMIT … WITH (DELAYED_DURABILITY = ON|OFF)`
    pub delayed_durability: Option<bool>,
}

/// `EXECUTE AS LOGIN|USER = 'x' | CALLER | OWNER | SELF [WITH NO REVERT | COOKIE INTO @v]`
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteAs {
    pub principal: Principal,
    pub name: Option<Expr>,
    pub no_revert: bool,
    pub cookie: Option<Variable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Principal {
    Login,
    User,
    Caller,
    Owner,
    SelfUser,
}

/// The query of a view or of an inline function's RETURN.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleQuery {
    pub select: SelectStatement,
    pub span: Span,
}

impl ModuleQuery {
    #[must_use]
    pub fn query(&self) -> &Query {
        &self.select.query
    }
}
