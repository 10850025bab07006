//! INSERT, UPDATE, DELETE, MERGE, TRUNCATE and the bulk statements.

use super::{
    AssignOp, ColumnRef, CursorRef, Execute, Expr, Ident, ObjectName, Opt, Query, QueryHint, SelectItem,
    TableHint, TableRef, TableSource, Top, TypeName, Variable, With,
};
use smol_str::SmolStr;

/// What a DML statement changes. In UPDATE and DELETE the name may be an alias from FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct DmlTarget {
    pub table: TableRef,
    pub hints: Vec<TableHint>,
}

/// `OUTPUT items [INTO target [(columns)]]`; a statement has at most one of each form.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputClause {
    pub items: Vec<SelectItem>,
    pub into: Option<OutputInto>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OutputInto {
    pub target: TableRef,
    pub columns: Vec<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    /// Empty when not written.
    pub columns: Vec<Ident>,
    pub output: Vec<OutputClause>,
    pub source: InsertSource,
    pub options: Vec<QueryHint>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// Rows of values; a value may be `DEFAULT`.
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
    Execute(Box<Execute>),
    DefaultValues,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    pub assignments: Vec<UpdateSet>,
    pub output: Vec<OutputClause>,
    pub from: Vec<TableSource>,
    pub filter: Option<DmlFilter>,
    pub options: Vec<QueryHint>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum UpdateSet {
    /// `col = e`, `col += e`; the value may be `DEFAULT`.
    Column { column: ColumnRef, op: AssignOp, value: Expr },
    /// `@v = e`
    Variable { variable: Variable, op: AssignOp, value: Expr },
    /// `@v = col = e`: the variable gets the new value of the column.
    VariableAndColumn { variable: Variable, column: ColumnRef, op: AssignOp, value: Expr },
    /// `col.WRITE(e, offset, length)`
    Write { column: ColumnRef, value: Expr, offset: Expr, length: Expr },
}

#[derive(Clone, Debug, PartialEq)]
pub enum DmlFilter {
    Where(Expr),
    CurrentOf(CursorRef),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    pub output: Vec<OutputClause>,
    /// The second FROM.
    pub from: Vec<TableSource>,
    pub filter: Option<DmlFilter>,
    pub options: Vec<QueryHint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    pub alias: Option<Ident>,
    pub source: TableSource,
    pub on: Expr,
    pub whens: Vec<MergeWhen>,
    pub output: Vec<OutputClause>,
    pub options: Vec<QueryHint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MergeWhen {
    pub matched: MergeMatch,
    pub condition: Option<Expr>,
    pub action: MergeAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMatch {
    Matched,
    /// NOT MATCHED [BY TARGET]
    NotMatchedByTarget,
    NotMatchedBySource,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    Update(Vec<UpdateSet>),
    Delete,
    /// No values means DEFAULT VALUES.
    Insert {
        columns: Vec<Ident>,
        values: Option<Vec<Expr>>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    pub table: ObjectName,
    /// `WITH (PARTITIONS (…))`; none: the whole table.
    pub partitions: Vec<PartitionRange>,
}

/// `n` or `n TO m` among the partitions of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionRange {
    pub first: Expr,
    pub last: Option<Expr>,
}

/// `BULK INSERT t FROM 'file' WITH (…)`
#[derive(Clone, Debug, PartialEq)]
pub struct BulkInsert {
    pub table: ObjectName,
    pub file: SmolStr,
    pub options: Vec<Opt>,
}

/// `INSERT BULK t (columns) WITH (…)`: announces the bulk-load stream that follows on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertBulk {
    pub table: ObjectName,
    pub columns: Vec<BulkColumn>,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BulkColumn {
    pub name: Ident,
    pub ty: TypeName,
    pub collation: Option<Ident>,
    pub nullable: Option<bool>,
}

/// `UPDATE STATISTICS t [index | (names)] [WITH …]`
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStatistics {
    pub table: ObjectName,
    pub names: Vec<Ident>,
    pub options: Vec<Opt>,
}
