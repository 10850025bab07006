//! The logical tree: what a query computes, before anybody decides how.
//!
//! Every node *produces* slots (see [`Rel::produced`]) and may read slots of its inputs and, when it stands on the
//! right side of a lateral join or in a subquery, slots of the outer query. Nodes pass their input's slots through:
//! a projection only adds.

use crate::catalog::TableDef;
use crate::expr::{CmpOp, Expr, Slot};
use crate::scope::VirtualTable;
use keel_types::{Collation, SqlType};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A set of slots.
pub type SlotSet = BTreeSet<Slot>;

/// What is known of a slot.
#[derive(Clone, Debug)]
pub struct SlotInfo {
    /// Column name, for explain and messages.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Collation.
    pub collation: Collation,
    /// NULL possible.
    pub nullable: bool,
    /// Table reference and column position it was read from.
    pub origin: Option<(u32, usize)>,
}

/// Hints of one table reference, reduced to what they mean here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// NOLOCK, READUNCOMMITTED.
    pub dirty: bool,
    /// READCOMMITTED, READCOMMITTEDLOCK: row versions as of the statement.
    pub committed: bool,
    /// REPEATABLEREAD.
    pub repeatable: bool,
    /// What the statement writes depends on the rows that are read: in a snapshot transaction those that others have changed
    /// since are a conflict. Comes with `repeatable`.
    pub decisive: bool,
    /// HOLDLOCK, SERIALIZABLE.
    pub serializable: bool,
    /// SNAPSHOT.
    pub snapshot: bool,
    /// UPDLOCK.
    pub update: bool,
    /// XLOCK.
    pub exclusive: bool,
    /// TABLOCK.
    pub table: bool,
    /// TABLOCKX.
    pub table_exclusive: bool,
    /// READPAST.
    pub skip_locked: bool,
    /// NOWAIT.
    pub no_wait: bool,
    /// INDEX(…): positions in `TableDef::indexes`.
    pub indexes: Vec<usize>,
    /// FORCESEEK, and how many columns of the index's key the seek must use.
    pub force_seek: Option<usize>,
    /// FORCESCAN.
    pub force_scan: bool,
}

/// One reference to a stored table.
#[derive(Clone, Debug)]
pub struct Get {
    /// Unique number of the reference within the statement.
    pub id: u32,
    /// The table.
    pub table: Arc<TableDef>,
    /// Exposed name.
    pub alias: String,
    /// `first_slot + i` is column `table.columns[i]`.
    pub first_slot: Slot,
    /// Hints.
    pub hints: Hints,
    /// Slot of the row's locator, the key under which the clustered index or heap has it; filled when it is needed.
    pub locator: Slot,
    /// What security policies ask of a row for it to be there, over its columns alone: tested before all other conditions.
    pub policy: Vec<Expr>,
    /// Set on the target of UPDATE, DELETE, MERGE: rows are locked as they are found, and their locator is needed.
    pub target: bool,
}

impl Get {
    /// Slot of a column position.
    #[must_use]
    pub fn slot(&self, column: usize) -> Slot {
        self.first_slot + column as Slot
    }
    /// Column position of a slot, when it is one of this reference's.
    #[must_use]
    pub fn column_of(&self, slot: Slot) -> Option<usize> {
        let i = slot.checked_sub(self.first_slot)? as usize;
        (i < self.table.columns.len()).then_some(i)
    }
}

/// Kinds of join. Right joins are turned round by the binder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Inner and cross.
    Inner,
    /// Left outer.
    Left,
    /// Full outer.
    Full,
    /// Left rows with a match.
    Semi,
    /// Left rows without a match.
    Anti,
    /// NOT IN over values that may be NULL: left rows whose value is known to differ from every right one.
    NotIn,
}

/// Aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggFunc {
    /// COUNT(*)
    CountStar,
    /// COUNT(x)
    Count,
    /// SUM
    Sum,
    /// AVG
    Avg,
    /// PRODUCT
    Product,
    /// MIN
    Min,
    /// MAX
    Max,
    /// STDEV
    StDev,
    /// STDEVP
    StDevP,
    /// VAR
    Var,
    /// VARP
    VarP,
    /// STRING_AGG
    StringAgg,
    /// APPROX_PERCENTILE_CONT; exact here.
    PercentileCont,
    /// APPROX_PERCENTILE_DISC; exact here.
    PercentileDisc,
    /// CHECKSUM_AGG
    ChecksumAgg,
    /// APPROX_COUNT_DISTINCT
    ApproxCountDistinct,
    /// The value of any row (functionally dependent columns, scalar subqueries).
    Any,
}

/// One aggregate of an [`Rel::Aggregate`] or window.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Where its result goes.
    pub slot: Slot,
    /// Function.
    pub func: AggFunc,
    /// Argument; `None` for COUNT(*).
    pub arg: Option<Expr>,
    /// STRING_AGG's separator.
    pub separator: Option<Expr>,
    /// WITHIN GROUP (ORDER BY …).
    pub order: Vec<SortKey>,
    /// DISTINCT.
    pub distinct: bool,
    /// Result type.
    pub ty: SqlType,
}

/// One sort key.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Value.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
}

/// Window functions that are not aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFunc {
    /// ROW_NUMBER
    RowNumber,
    /// RANK
    Rank,
    /// DENSE_RANK
    DenseRank,
    /// NTILE
    NTile,
    /// PERCENT_RANK
    PercentRank,
    /// CUME_DIST
    CumeDist,
    /// LAG
    Lag,
    /// LEAD
    Lead,
    /// FIRST_VALUE
    FirstValue,
    /// LAST_VALUE
    LastValue,
    /// PERCENTILE_CONT(f) WITHIN GROUP (ORDER BY x)
    PercentileCont,
    /// PERCENTILE_DISC(f) WITHIN GROUP (ORDER BY x)
    PercentileDisc,
    /// An aggregate over the frame.
    Agg(AggFunc),
}

/// One end of a window frame, in rows relative to the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEnd {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING is negative, n FOLLOWING positive, CURRENT ROW 0.
    Offset(i64),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

/// A window frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// ROWS rather than RANGE (peers belong together).
    pub rows: bool,
    /// First row.
    pub start: FrameEnd,
    /// Last row.
    pub end: FrameEnd,
}

/// One windowed function.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// Where its result goes.
    pub slot: Slot,
    /// Function.
    pub func: WindowFunc,
    /// Arguments.
    pub args: Vec<Expr>,
    /// Frame, for aggregates and FIRST/LAST_VALUE.
    pub frame: Frame,
    /// Result type.
    pub ty: SqlType,
    /// IGNORE NULLS.
    pub ignore_nulls: bool,
}

/// Set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// UNION ALL (UNION is a Distinct over it)
    UnionAll,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// The logical operators.
#[derive(Clone, Debug)]
pub enum Rel {
    /// One row without columns.
    One,
    /// No rows; its slots are those given.
    Empty(SlotSet),
    /// A stored table.
    Get(Box<Get>),
    /// A system view or table function.
    Virtual {
        /// The table.
        table: VirtualRef,
        /// Exposed name.
        alias: String,
        /// Arguments (may be lateral).
        args: Vec<Expr>,
        /// `first_slot + i` is column i.
        first_slot: Slot,
    },
    /// What another server computes: made of its tables by [`crate::plan::remote`].
    Remote(Box<crate::plan::remote::Remote>),
    /// Literal rows.
    Values {
        /// Rows of expressions.
        rows: Vec<Vec<Expr>>,
        /// Where they go.
        slots: Vec<Slot>,
    },
    /// Rows for which all conditions are true.
    Filter {
        /// Input.
        input: Box<Rel>,
        /// Conjunction.
        predicates: Vec<Expr>,
    },
    /// Computes further slots.
    Project {
        /// Input.
        input: Box<Rel>,
        /// Computed slots.
        exprs: Vec<(Slot, Expr)>,
    },
    /// A join. When the right side reads slots the left one produces it is lateral (APPLY).
    Join {
        /// Kind.
        kind: JoinKind,
        /// Left input.
        left: Box<Rel>,
        /// Right input.
        right: Box<Rel>,
        /// Conjunction.
        on: Vec<Expr>,
        /// LOOP, HASH or MERGE written at the join.
        hint: Option<JoinMethod>,
    },
    /// GROUP BY.
    Aggregate {
        /// Input.
        input: Box<Rel>,
        /// Group keys: computed over the input into their slot.
        groups: Vec<(Slot, Expr)>,
        /// Grouping sets as positions in `groups`; `None` for plain GROUP BY.
        sets: Option<Vec<Vec<usize>>>,
        /// Slot that receives the bit mask of columns grouped away (bit i = the i-th of groups), when sets are used.
        grouping_id: Option<Slot>,
        /// Aggregates.
        aggs: Vec<Aggregate>,
        /// Without GROUP BY: exactly one row even for no input.
        scalar: bool,
    },
    /// Window functions over one partitioning and order.
    Window {
        /// Input.
        input: Box<Rel>,
        /// PARTITION BY.
        partition: Vec<Expr>,
        /// ORDER BY.
        order: Vec<SortKey>,
        /// Functions.
        calls: Vec<WindowCall>,
    },
    /// ORDER BY.
    Sort {
        /// Input.
        input: Box<Rel>,
        /// Keys.
        keys: Vec<SortKey>,
    },
    /// TOP / OFFSET FETCH.
    Top {
        /// Input.
        input: Box<Rel>,
        /// Row count or percentage; `None` with only an offset.
        count: Option<Expr>,
        /// PERCENT.
        percent: bool,
        /// WITH TIES: the sort keys that make ties.
        ties: Option<Vec<SortKey>>,
        /// OFFSET.
        offset: Option<Expr>,
    },
    /// DISTINCT over some slots (the only ones visible above).
    Distinct {
        /// Input.
        input: Box<Rel>,
        /// The columns.
        slots: Vec<Slot>,
    },
    /// Set operation; both sides' columns already have the output types.
    SetOp {
        /// Kind.
        kind: SetKind,
        /// Left input.
        left: Box<Rel>,
        /// Right input.
        right: Box<Rel>,
        /// Left columns.
        left_slots: Vec<Slot>,
        /// Right columns.
        right_slots: Vec<Slot>,
        /// Result columns.
        slots: Vec<Slot>,
    },
    /// A recursive CTE.
    Recursive {
        /// Names the work table.
        id: u32,
        /// Anchor members.
        anchor: Box<Rel>,
        /// Its columns.
        anchor_slots: Vec<Slot>,
        /// Recursive members.
        step: Box<Rel>,
        /// Its columns.
        step_slots: Vec<Slot>,
        /// Result columns.
        slots: Vec<Slot>,
        /// MAXRECURSION; 0 for no limit.
        limit: u32,
    },
    /// The rows of the previous round of the recursive CTE `id`.
    WorkTable {
        /// Which.
        id: u32,
        /// Columns.
        slots: Vec<Slot>,
    },
    /// A part of the query that stands in it more than once (see [`crate::plan::share`]).
    Shared {
        /// What it is.
        of: Arc<SharedRel>,
        /// Where this place has its columns.
        slots: Vec<Slot>,
    },
    /// At most one row; a second one is error 512.
    MaxOneRow {
        /// Input.
        input: Box<Rel>,
    },
}

/// What is computed once for several places.
#[derive(Debug)]
pub struct SharedRel {
    /// Its number within the statement.
    pub number: usize,
    /// What computes its rows.
    pub rel: Rel,
    /// The columns that are read anywhere.
    pub slots: Vec<Slot>,
    /// In how many places.
    pub places: usize,
}

/// Join algorithms that there are, as hints ask for them: a merge join is a hash match here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinMethod {
    /// Nested loops.
    Loop,
    /// Hash match.
    Hash,
}

/// A shared virtual table (newtype for Debug).
#[derive(Clone)]
pub struct VirtualRef(pub Arc<dyn VirtualTable>);

impl fmt::Debug for VirtualRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VirtualTable")
    }
}

/// How an expression uses a subquery.
#[derive(Clone, Debug)]
pub enum SubqueryUse {
    /// Its single value.
    Scalar(Slot),
    /// EXISTS.
    Exists,
    /// `needle op ANY (…)`; IN is `= ANY`. ALL is the negation of the negated ANY. The comparison is over `needle`
    /// and the subquery's slot, both already of one type.
    Any {
        /// Operator.
        op: CmpOp,
        /// Left side.
        needle: Box<Expr>,
        /// The subquery's column, converted.
        item: Box<Expr>,
    },
}

/// A subquery inside an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// How it is used.
    pub usage: SubqueryUse,
    /// What it computes.
    pub rel: Rel,
}

impl Subquery {
    /// EXISTS and ANY are conditions, a scalar subquery is a value.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        !matches!(self.usage, SubqueryUse::Scalar(_))
    }
}

impl Rel {
    /// Wraps with a filter, merging with one that is already on top.
    #[must_use]
    pub fn filter(self, mut predicates: Vec<Expr>) -> Rel {
        if predicates.is_empty() {
            return self;
        }
        match self {
            Rel::Filter { input, predicates: mut old } => {
                old.append(&mut predicates);
                Rel::Filter { input, predicates: old }
            }
            other => Rel::Filter { input: Box::new(other), predicates },
        }
    }
    /// Wraps with a projection unless there is nothing to compute.
    #[must_use]
    pub fn project(self, exprs: Vec<(Slot, Expr)>) -> Rel {
        if exprs.is_empty() { self } else { Rel::Project { input: Box::new(self), exprs } }
    }
    /// The slots this node and its inputs write and that nodes above may read.
    #[must_use]
    pub fn produced(&self) -> SlotSet {
        let mut set = SlotSet::new();
        self.add_produced(&mut set);
        set
    }
    fn add_produced(&self, set: &mut SlotSet) {
        self.add_own_slots(set);
        match self {
            Rel::Filter { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::MaxOneRow { input }
            | Rel::Project { input, .. }
            | Rel::Window { input, .. } => input.add_produced(set),
            Rel::Join { kind, left, right, .. } => {
                left.add_produced(set);
                if !matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn) {
                    right.add_produced(set);
                }
            }
            _ => {}
        }
    }

    /// Adds the slots this node itself writes.
    pub(crate) fn add_own_slots(&self, set: &mut SlotSet) {
        match self {
            Rel::One
            | Rel::Filter { .. }
            | Rel::Sort { .. }
            | Rel::Top { .. }
            | Rel::MaxOneRow { .. }
            | Rel::Join { .. } => {}
            Rel::Empty(slots) => set.extend(slots),
            Rel::Get(g) => {
                set.extend(g.first_slot..g.first_slot + g.table.columns.len() as Slot);
                set.insert(g.locator);
            }
            Rel::Virtual { table, first_slot, .. } => {
                set.extend(*first_slot..first_slot + table.0.columns().len() as Slot);
            }
            Rel::Remote(remote) => set.extend(remote.slots()),
            Rel::Values { slots, .. }
            | Rel::WorkTable { slots, .. }
            | Rel::Shared { slots, .. }
            | Rel::Recursive { slots, .. }
            | Rel::SetOp { slots, .. }
            | Rel::Distinct { slots, .. } => set.extend(slots),
            Rel::Project { exprs, .. } => set.extend(exprs.iter().map(|(s, _)| *s)),
            Rel::Aggregate { groups, aggs, grouping_id, .. } => {
                set.extend(groups.iter().map(|(s, _)| *s));
                set.extend(aggs.iter().map(|a| a.slot));
                set.extend(grouping_id);
            }
            Rel::Window { calls, .. } => set.extend(calls.iter().map(|c| c.slot)),
        }
    }
}
