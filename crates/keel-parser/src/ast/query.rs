//! SELECT: query expressions, table sources, windows, hints.

use super::{
    AssignOp, ColumnRef, Expr, FunctionCall, Ident, ObjectName, Span, Statement, TypeName, Variable,
};
use smol_str::SmolStr;

/// A SELECT as a statement. CTEs and OPTION belong to the statement; subqueries cannot have them.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectStatement {
    pub with: Option<With>,
    pub query: Query,
    pub options: Vec<QueryHint>,
}

/// `WITH [XMLNAMESPACES …] cte AS (…), …`
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// `CHANGE_TRACKING_CONTEXT (@c)`: a variable or a binary literal.
    pub change_context: Option<Box<Expr>>,
    pub namespaces: Vec<Namespace>,
    pub ctes: Vec<Cte>,
}

/// `'uri' AS prefix` or `DEFAULT 'uri'` of XMLNAMESPACES.
#[derive(Clone, Debug, PartialEq)]
pub struct Namespace {
    pub prefix: Option<SmolStr>,
    pub uri: SmolStr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Query,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub offset: Option<Offset>,
    pub for_clause: Option<ForClause>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// Two or more terms folded from the left with one operator: `((a op b) op c) …`. INTERSECT binds tighter
    /// than UNION and EXCEPT, so a term may itself be a set operation.
    Set {
        op: SetOp,
        all: bool,
        terms: Vec<QueryBody>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    Union,
    Except,
    Intersect,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub distinct: bool,
    pub top: Option<Top>,
    pub items: Vec<SelectItem>,
    pub into: Option<ObjectName>,
    /// Comma-separated table sources; empty without FROM.
    pub from: Vec<TableSource>,
    pub filter: Option<Expr>,
    pub group_by: Option<GroupBy>,
    pub having: Option<Expr>,
    pub windows: Vec<NamedWindow>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    pub count: Expr,
    pub percent: bool,
    pub with_ties: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*` or `t.*`
    Star { qualifier: Option<ObjectName>, span: Span },
    /// `e`, `e AS a`, `a = e`, `e AS 'a'`
    Expr { expr: Expr, alias: Option<Ident> },
    /// `@v = e`, `@v += e`
    Assign { variable: Variable, op: AssignOp, value: Expr },
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Offset {
    pub skip: Expr,
    pub fetch: Option<Expr>,
}

/// `FOR XML …`, `FOR JSON …`, `FOR BROWSE`
#[derive(Clone, Debug, PartialEq)]
pub enum ForClause {
    Browse,
    Xml(ForXml),
    Json(ForJson),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForXml {
    pub mode: XmlMode,
    /// Element name of RAW('…') and PATH('…').
    pub element: Option<SmolStr>,
    pub type_directive: bool,
    /// `ROOT`, with its name when given.
    pub root: Option<Option<SmolStr>>,
    pub elements: bool,
    pub xsinil: bool,
    pub binary_base64: bool,
    /// XMLSCHEMA or XMLDATA.
    pub schema: Option<&'static str>,
}

impl ForXml {
    /// A clause without options.
    #[must_use]
    pub fn new(mode: XmlMode) -> ForXml {
        ForXml {
            mode,
            element: None,
            type_directive: false,
            root: None,
            elements: false,
            xsinil: false,
            binary_base64: false,
            schema: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForJson {
    /// PATH rather than AUTO.
    pub path: bool,
    pub root: Option<Option<SmolStr>>,
    pub include_null_values: bool,
    pub without_array_wrapper: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlMode {
    Raw,
    Auto,
    Explicit,
    Path,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GroupBy {
    pub items: Vec<GroupItem>,
    /// The old `WITH ROLLUP` / `WITH CUBE`.
    pub with: Option<GroupWith>,
    /// `GROUP BY ALL`
    pub all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupWith {
    Rollup,
    Cube,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    Expr(Expr),
    /// `()` is an empty composite; `(a, b)` in a grouping set.
    Composite(Vec<Expr>),
    /// Each element is a composite of one or more expressions.
    Rollup(Vec<Vec<Expr>>),
    Cube(Vec<Vec<Expr>>),
    GroupingSets(Vec<GroupItem>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    pub name: Ident,
    pub over: Over,
}

/// `OVER (…)` or `OVER name`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Over {
    pub window: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// ROWS rather than RANGE.
    pub rows: bool,
    pub start: FrameBound,
    /// Defaults to CURRENT ROW when not written.
    pub end: FrameBound,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableSource {
    pub kind: TableSourceKind,
    pub span: Span,
}

impl TableSource {
    /// The name behind AS; a join has none.
    #[must_use]
    pub fn alias(&self) -> Option<&Ident> {
        use TableSourceKind as K;
        match &self.kind {
            K::Named { alias, .. }
            | K::Variable { alias, .. }
            | K::Function { alias, .. }
            | K::VariableMethod { alias, .. }
            | K::Derived { alias, .. }
            | K::Values { alias, .. }
            | K::Bulk { alias, .. }
            | K::Changes { alias, .. }
            | K::FullText { alias, .. }
            | K::Dml { alias, .. } => alias.as_ref(),
            K::Pivot { alias, .. } | K::Unpivot { alias, .. } => Some(alias),
            K::Join { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableSourceKind {
    Named {
        name: ObjectName,
        alias: Option<Ident>,
        hints: Vec<TableHint>,
        sample: Option<Box<TableSample>>,
        system_time: Option<Box<SystemTime>>,
    },
    Variable {
        variable: Variable,
        alias: Option<Ident>,
        hints: Vec<TableHint>,
    },
    /// `f(args)`: a table-valued function, OPENJSON, STRING_SPLIT, GENERATE_SERIES, a `.nodes()` method, …
    Function {
        name: ObjectName,
        args: Vec<Expr>,
        /// `OPENJSON(…) WITH (…)`, `OPENXML … WITH`.
        schema: Option<RowsetSchema>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    /// `@x.nodes('…') AS t(c)`
    VariableMethod {
        variable: Variable,
        method: Ident,
        args: Vec<Expr>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    Derived {
        query: Box<Query>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    Values {
        rows: Vec<Vec<Expr>>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    /// `OPENROWSET (BULK 'file', option, …)`
    Bulk {
        file: SmolStr,
        options: Vec<super::Opt>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    /// `CHANGETABLE (…)`
    Changes {
        table: ObjectName,
        of: ChangesOf,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    /// `CONTAINSTABLE (…)`, `FREETEXTTABLE (…)`
    FullText {
        rows: Box<super::FullTextRows>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    /// A DML statement with OUTPUT as the source of an INSERT.
    Dml {
        statement: Box<Statement>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    Join {
        left: Box<TableSource>,
        right: Box<TableSource>,
        kind: JoinKind,
        hint: Option<JoinHint>,
        /// `None` for CROSS JOIN and APPLY.
        on: Option<Expr>,
    },
    Pivot {
        source: Box<TableSource>,
        aggregate: Box<FunctionCall>,
        column: ColumnRef,
        values: Vec<Ident>,
        alias: Ident,
    },
    Unpivot {
        source: Box<TableSource>,
        value_column: Ident,
        name_column: Ident,
        columns: Vec<ColumnRef>,
        alias: Ident,
    },
}

/// What CHANGETABLE is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangesOf {
    /// `CHANGES t, @version`: a variable, a number or NULL.
    Since(Box<Expr>),
    /// `VERSION t, (columns), (values)`
    Row { columns: Vec<Ident>, values: Vec<Expr> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    CrossApply,
    OuterApply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinHint {
    Loop,
    Hash,
    Merge,
    Remote,
}

/// The columns of a rowset function.
#[derive(Clone, Debug, PartialEq)]
pub enum RowsetSchema {
    /// `WITH (…)`
    Columns(Vec<SchemaColumn>),
    /// `WITH table`, of OPENXML: those of a table.
    Table(ObjectName),
}

/// A column of `OPENJSON … WITH (name type [COLLATE c] 'path' [AS JSON])`.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaColumn {
    pub name: Ident,
    pub ty: TypeName,
    pub collation: Option<Ident>,
    pub path: Option<SmolStr>,
    pub as_json: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    pub amount: Expr,
    /// ROWS rather than PERCENT.
    pub rows: bool,
    pub repeatable: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SystemTime {
    AsOf(Expr),
    FromTo(Expr, Expr),
    Between(Expr, Expr),
    ContainedIn(Expr, Expr),
    All,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableHint {
    NoLock,
    ReadUncommitted,
    ReadCommitted,
    ReadCommittedLock,
    RepeatableRead,
    Serializable,
    HoldLock,
    Snapshot,
    ReadPast,
    RowLock,
    PagLock,
    TabLock,
    TabLockX,
    UpdLock,
    XLock,
    NoWait,
    NoExpand,
    ForceScan,
    /// The index, and columns of its key that the seek must use, where they are written.
    ForceSeek(Option<(IndexRef, Vec<Ident>)>),
    Index(Vec<IndexRef>),
    KeepIdentity,
    KeepDefaults,
    IgnoreConstraints,
    IgnoreTriggers,
    FastFirstRow,
    /// A hint without effect on us, by its upper-case name.
    Other(SmolStr),
}

/// An index in a hint: by name or number (0 heap/table scan, 1 clustered).
#[derive(Clone, Debug, PartialEq)]
pub enum IndexRef {
    Name(Ident),
    Number(i32),
}

/// `OPTION (…)`
#[derive(Clone, Debug, PartialEq)]
pub enum QueryHint {
    Recompile,
    MaxRecursion(i32),
    MaxDop(i32),
    Fast(i64),
    ForceOrder,
    LoopJoin,
    HashJoin,
    MergeJoin,
    HashGroup,
    OrderGroup,
    KeepPlan,
    KeepFixedPlan,
    OptimizeForUnknown,
    /// Variables with their assumed value; `None` is UNKNOWN.
    OptimizeFor(Vec<(Variable, Option<Expr>)>),
    UseHint(Vec<SmolStr>),
    /// `TABLE HINT (object, hints)`
    TableHint(ObjectName, Vec<TableHint>),
    Label(SmolStr),
    /// Any other, upper case, words joined by one space.
    Other(SmolStr),
}
