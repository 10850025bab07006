//! The physical tree: operators with their compiled expressions, shared by all executions of a plan.
//!
//! A [`Node`] is immutable. [`Node::operator`] makes the running counterpart; it holds the node's payload and its own
//! state. Text for SHOWPLAN is kept with each node.

use super::Operator;
use super::count::Counts;
use super::parallel::{GatherNode, GatherOp};
use crate::bind::rel::{AggFunc, Frame, JoinKind, SetKind, VirtualRef, WindowFunc};
use crate::expr::compile::{Code, Pred};
use crate::plan::missing::Lack;
use crate::plan::shown::Shown;
use crate::usage::IndexUse;
use keel_base::{DatabaseId, TreeId};
use keel_node::{Isolation, LockMode};
use keel_types::key::KeyColumn;
use keel_types::{Collation, SqlType, Value};
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, OnceLock};

/// A physical operator with its inputs.
pub struct Node {
    /// What it does.
    pub op: Op,
    /// Estimated rows it returns each time it is opened.
    pub rows: f64,
    /// Estimated cost of running it once to the end, in units of one row read.
    pub cost: f64,
}

/// The operators.
pub enum Op {
    /// One row without columns.
    One,
    /// No rows.
    Empty,
    /// Stored table or index.
    Access(Arc<Access>),
    /// System view or table function.
    Virtual(Arc<VirtualScan>),
    /// Literal rows.
    Values(Arc<ValuesNode>),
    /// Filter.
    Filter(Arc<FilterNode>),
    /// Computes slots.
    Project(Arc<ProjectNode>),
    /// Nested loops.
    Loop(Arc<LoopNode>),
    /// Hash join.
    HashJoin(Arc<HashJoinNode>),
    /// Hash, stream or scalar aggregation.
    Aggregate(Arc<AggregateNode>),
    /// Sort.
    Sort(Arc<SortNode>),
    /// TOP, OFFSET.
    Top(Arc<TopNode>),
    /// Distinct rows.
    Distinct(Arc<DistinctNode>),
    /// Concatenation, intersect, except.
    SetOp(Arc<SetOpNode>),
    /// Window functions.
    Window(Arc<WindowNode>),
    /// Recursive CTE.
    Recursive(Arc<RecursiveNode>),
    /// Its reference inside itself.
    WorkTable(Arc<WorkTableNode>),
    /// Error 512 on a second row.
    MaxOneRow(Arc<Node>),
    /// Remembers its input's rows and replays them when opened again with the same outer values.
    Spool(Arc<SpoolNode>),
    /// A table that is read for one key after the other, none of which an index leads to.
    IndexSpool(Arc<IndexSpoolNode>),
    /// The rows of a part of the plan that stands in it more than once.
    Shared(Arc<SharedNode>),
    /// The rows of a part that several threads may run.
    Gather(Arc<GatherNode>),
}

/// Where a stored column goes.
#[derive(Clone)]
pub struct Decode {
    /// Position in the stored row.
    pub ordinal: usize,
    /// Slot.
    pub slot: usize,
    /// Type.
    pub ty: SqlType,
    /// Value of rows stored before the column was added.
    pub missing: Value,
}

/// A value for one key column.
pub struct KeyPart {
    /// The value.
    pub code: Code,
    /// The column.
    pub column: KeyColumn,
}

/// One end of a range.
pub enum LowHigh {
    /// A value, inclusive or not.
    Value(KeyPart, bool),
    /// The literal prefix of a LIKE pattern (decides both ends).
    LikePrefix(Code, KeyColumn),
}

impl LowHigh {
    /// The key column it bounds.
    #[must_use]
    pub fn column(&self) -> &KeyColumn {
        match self {
            LowHigh::Value(part, _) => &part.column,
            LowHigh::LikePrefix(_, column) => column,
        }
    }
}

/// Behind or before which row a range of a tree is read.
pub struct Beyond {
    /// That row's locator; nothing is read where it is NULL.
    pub locator: Code,
    /// Before it, not behind it.
    pub before: bool,
    /// The tree is one of entries, in which locators follow the key.
    pub of_entries: bool,
}

/// Which part of a tree is read.
pub enum Bounds {
    /// All of it.
    All,
    /// One row of a unique key.
    Point(Vec<KeyPart>),
    /// Rows whose leading columns equal `prefix` and whose next column lies between the ends.
    Range {
        /// Leading equalities.
        prefix: Vec<KeyPart>,
        /// Lower end of the next column.
        low: Option<LowHigh>,
        /// Upper end.
        high: Option<LowHigh>,
    },
    /// The row with this locator.
    Row(Code),
    /// Rows whose next column is one of several values.
    In {
        /// Leading equalities.
        prefix: Vec<KeyPart>,
        /// The values.
        items: Vec<Code>,
        /// The column.
        column: KeyColumn,
        /// Prefix and column are a whole unique key.
        unique: bool,
    },
}

/// Fetching the clustered row for an index entry.
pub struct Lookup {
    /// Clustered tree.
    pub tree: TreeId,
    /// Columns read from it.
    pub decode: Vec<Decode>,
    /// Conditions on those.
    pub residual: Option<Pred>,
}

/// The column that a tree's keys begin with.
#[derive(Clone, Copy, Debug)]
pub struct Leading {
    /// Its slot.
    pub slot: usize,
    /// Whether the tree has it descending.
    pub descending: bool,
}

/// A condition on a row that is being decoded.
pub struct Test {
    /// How many of the columns it needs decoded.
    pub decoded: usize,
    /// The condition.
    pub pred: Pred,
}

/// Reading a stored table.
pub struct Access {
    /// Database.
    pub database: DatabaseId,
    /// Object id, for table locks.
    pub object: u32,
    /// Tree that is scanned or sought.
    pub tree: TreeId,
    /// Part of it.
    pub bounds: Bounds,
    /// What of a range is left.
    pub beyond: Option<Beyond>,
    /// Reads backwards.
    pub backward: bool,
    /// Columns read from the tree's rows: first those that the conditions read.
    pub decode: Vec<Decode>,
    /// Conditions on those, in the order in which they are tested.
    pub tests: Vec<Test>,
    /// The rest of the row.
    pub lookup: Option<Lookup>,
    /// Locks taken whatever the isolation level.
    pub lock: Option<LockMode>,
    /// Table lock.
    pub table_lock: Option<LockMode>,
    /// READPAST: rows that others have locked are passed over.
    pub skip_locked: bool,
    /// REPEATABLEREAD hint.
    pub repeatable: bool,
    /// What is written depends on the rows: see [`crate::bind::rel::Hints::decisive`].
    pub decisive: bool,
    /// SERIALIZABLE hint.
    pub serializable: bool,
    /// A serializable read locks its range row by row as far as it reads, rather than all of it at once: for TOP.
    pub stepwise: bool,
    /// NOLOCK, READCOMMITTED or SNAPSHOT hint: no locks whatever the isolation level.
    pub versioned: bool,
    /// The level of such a hint, where it is not the transaction's.
    pub view: Option<Isolation>,
    /// Whether the table's lock may be asked for instead of those of many rows.
    pub escalates: bool,
    /// NOWAIT hint: a lock that others hold is error 1222 at once.
    pub no_wait: bool,
    /// Slot for the clustered key.
    pub row_key: Option<usize>,
    /// For a covering nonclustered index: the tree whose rows a locking read locks.
    pub base_tree: Option<TreeId>,
    /// Counters of the tree; none where nobody counts.
    pub uses: Option<Arc<IndexUse>>,
    /// Counters of the table's own tree, whose rows are fetched and locked.
    pub base_uses: Option<Arc<IndexUse>>,
    /// Name of the table, for STATISTICS IO.
    pub table_name: String,
    /// Leaves key and row in the execution state for an update in place.
    pub direct: bool,
    /// Leaves the row in the execution state for expressions that decode columns themselves.
    pub keeps_row: bool,
    /// The scanned key is needed.
    pub needs_key: bool,
    /// The first key column of the tree, where it is decoded and its key bytes are an integer's: rows with one value of it can be kept
    /// in one part.
    pub leading: Option<Leading>,
    /// An index that is not there.
    pub lacks: Option<Box<Lack>>,
    /// For SHOWPLAN.
    pub shown: Shown,
    /// For SHOWPLAN: the lookup.
    pub shown_lookup: Option<Shown>,
}

/// Reading a virtual table.
pub struct VirtualScan {
    /// The table.
    pub table: VirtualRef,
    /// Arguments.
    pub args: Vec<Code>,
    /// Source column and slot of each column that is needed.
    pub columns: Vec<(usize, usize)>,
    /// Condition.
    pub residual: Option<Pred>,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// Literal rows.
pub struct ValuesNode {
    /// Rows.
    pub rows: Vec<Vec<Code>>,
    /// Where they go.
    pub slots: Vec<usize>,
}

/// A filter. `startup` conditions read only outer slots and are tested once per opening.
pub struct FilterNode {
    /// Input.
    pub input: Arc<Node>,
    /// Tested when opened.
    pub startup: Option<Pred>,
    /// Tested per row.
    pub pred: Option<Pred>,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// A projection.
pub struct ProjectNode {
    /// Input.
    pub input: Arc<Node>,
    /// Computed slots in order.
    pub exprs: Vec<(usize, Code)>,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// Nested loops.
pub struct LoopNode {
    /// Kind (not Full).
    pub kind: JoinKind,
    /// Outer input.
    pub outer: Arc<Node>,
    /// Inner input, opened for every outer row.
    pub inner: Arc<Node>,
    /// Conditions not already in the inner input.
    pub on: Option<Pred>,
    /// Inner slots set to NULL when nothing matches.
    pub inner_slots: Vec<usize>,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// How one part of a hash join's key compares.
pub struct HashKey {
    /// Type and collation.
    pub column: KeyColumn,
    /// NULL equals NULL.
    pub with_nulls: bool,
}

/// How the keys of a hash table compare.
pub struct HashKeys {
    /// Their parts.
    pub parts: Vec<HashKey>,
    /// There is one part, an integer that equals no NULL: hashed as such.
    pub integer: bool,
}

impl HashKeys {
    /// Of these parts.
    #[must_use]
    pub fn new(parts: Vec<HashKey>) -> HashKeys {
        let integer = matches!(&parts[..], [key] if key.column.ty.is_integer() && !key.with_nulls);
        HashKeys { parts, integer }
    }
}

/// Hash join: builds on `build`, probes with `probe`. Kind is from the probe side's point of view.
pub struct HashJoinNode {
    /// Kind.
    pub kind: JoinKind,
    /// The side that drives output.
    pub probe: Arc<Node>,
    /// The side held in memory.
    pub build: Arc<Node>,
    /// Key values of the probe side.
    pub probe_keys: Vec<Code>,
    /// Key values of the build side.
    pub build_keys: Vec<Code>,
    /// How they compare.
    pub keys: HashKeys,
    /// Further conditions.
    pub residual: Option<Pred>,
    /// Slots of the build side needed above or in the residual.
    pub build_slots: Vec<usize>,
    /// Slots of the probe side that become NULL for unmatched build rows of a full join.
    pub probe_slots: Vec<usize>,
    /// Slots of the probe side that the residual or an operator above reads.
    pub probe_saved: Vec<usize>,
    /// The plan relies on the order of the probe side.
    pub ordered: bool,
    /// NOT IN: a NULL on either side means "not known to be absent".
    pub null_aware: bool,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// One aggregate.
pub struct AggregateCall {
    /// Function.
    pub func: AggFunc,
    /// Argument.
    pub arg: Option<Code>,
    /// Its type.
    pub arg_ty: SqlType,
    /// Its collation.
    pub collation: Collation,
    /// Separator.
    pub separator: Option<Code>,
    /// Order inside STRING_AGG.
    pub order: Vec<OrderKey>,
    /// DISTINCT.
    pub distinct: bool,
    /// Result slot.
    pub slot: usize,
    /// Result type.
    pub ty: SqlType,
}

impl AggregateCall {
    /// Whether it takes in each value once. What several threads have of one cannot be brought together: whether a value is new is known
    /// only value by value.
    #[must_use]
    pub fn tells_values_apart(&self) -> bool {
        self.distinct || self.func == AggFunc::ApproxCountDistinct
    }
}

/// Aggregation.
pub struct AggregateNode {
    /// Input.
    pub input: Arc<Node>,
    /// Group keys: value, type, result slot.
    pub groups: Vec<(Code, KeyColumn, usize)>,
    /// Grouping sets, as positions in `groups`.
    pub sets: Option<Vec<Vec<usize>>>,
    /// Slot of the grouping id.
    pub grouping_id: Option<usize>,
    /// Aggregates.
    pub aggs: Vec<AggregateCall>,
    /// Input slots that keys and arguments read.
    pub input_slots: Vec<usize>,
    /// One row even without input.
    pub scalar: bool,
    /// The input arrives ordered by the group keys.
    pub ordered: bool,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// A compiled sort key.
pub struct OrderKey {
    /// Value.
    pub code: Code,
    /// DESC.
    pub descending: bool,
    /// Collation.
    pub collation: Collation,
}

/// A sort.
pub struct SortNode {
    /// Input.
    pub input: Arc<Node>,
    /// Keys.
    pub keys: Vec<OrderKey>,
    /// Slots carried through.
    pub slots: Vec<usize>,
    /// How many first rows are wanted, if not all: OFFSET's number and TOP's or FETCH's, which are added up without an end.
    pub limit: Vec<Code>,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// TOP / OFFSET FETCH.
pub struct TopNode {
    /// Input.
    pub input: Arc<Node>,
    /// Count.
    pub count: Option<Code>,
    /// PERCENT: the input is counted first (its slots are carried).
    pub percent: bool,
    /// WITH TIES.
    pub ties: Option<Vec<OrderKey>>,
    /// Offset.
    pub offset: Option<Code>,
    /// FETCH may ask for no rows, which is an error (10744) unless a subquery that reads nothing says so.
    pub may_be_none: bool,
    /// Slots carried through when counting.
    pub slots: Vec<usize>,
    /// For SHOWPLAN.
    pub shown: Shown,
}

/// DISTINCT.
pub struct DistinctNode {
    /// Input.
    pub input: Arc<Node>,
    /// Columns: slot and how it compares.
    pub columns: Vec<(usize, KeyColumn)>,
    /// Equal rows arrive together.
    pub ordered: bool,
    /// It was planned for few rows: only its name in plans depends on it.
    pub few: bool,
}

/// Set operation.
pub struct SetOpNode {
    /// Kind.
    pub kind: SetKind,
    /// Left input.
    pub left: Arc<Node>,
    /// Right input.
    pub right: Arc<Node>,
    /// Left columns.
    pub left_slots: Vec<usize>,
    /// Right columns.
    pub right_slots: Vec<usize>,
    /// Result columns.
    pub slots: Vec<usize>,
    /// How they compare.
    pub columns: Vec<KeyColumn>,
}

/// One windowed function.
pub struct WindowCallNode {
    /// Function.
    pub func: WindowFunc,
    /// Arguments.
    pub args: Vec<Code>,
    /// Type of the first argument.
    pub arg_ty: SqlType,
    /// Collation of the first argument.
    pub collation: Collation,
    /// Frame.
    pub frame: Frame,
    /// Result slot.
    pub slot: usize,
    /// Result type.
    pub ty: SqlType,
    /// IGNORE NULLS.
    pub ignore_nulls: bool,
    /// The second argument, LAG's and LEAD's offset, is the same for all rows.
    pub steady: bool,
}

/// Window functions over one partitioning; the input is sorted by partition and order.
pub struct WindowNode {
    /// Input, sorted.
    pub input: Arc<Node>,
    /// Partition values.
    pub partition: Vec<(Code, Collation)>,
    /// Order values.
    pub order: Vec<OrderKey>,
    /// Functions.
    pub calls: Vec<WindowCallNode>,
    /// Slots carried through.
    pub slots: Vec<usize>,
}

/// A recursive CTE.
pub struct RecursiveNode {
    /// Its number.
    pub id: usize,
    /// Anchor.
    pub anchor: Arc<Node>,
    /// Anchor columns.
    pub anchor_slots: Vec<usize>,
    /// Step.
    pub step: Arc<Node>,
    /// Step columns.
    pub step_slots: Vec<usize>,
    /// Result columns.
    pub slots: Vec<usize>,
    /// MAXRECURSION.
    pub limit: u32,
}

/// Reading the previous round.
pub struct WorkTableNode {
    /// Number of the CTE.
    pub id: usize,
    /// Columns.
    pub slots: Vec<usize>,
}

/// A spool.
pub struct SpoolNode {
    /// Input.
    pub input: Arc<Node>,
    /// Slots kept.
    pub slots: Vec<usize>,
    /// Outer slots its rows depend on.
    pub outer: Vec<usize>,
}

/// A table that is read again and again.
pub struct IndexSpoolNode {
    /// Its rows with the key that is sought, as the table gives them.
    pub scan: Arc<Node>,
    /// Its rows with whatever key.
    pub fill: Arc<Node>,
    /// What is sought: the query around knows it.
    pub sought: Vec<Code>,
    /// The key of a row of `fill`.
    pub own: Vec<Code>,
    /// How keys compare.
    pub keys: HashKeys,
    /// What else rows with the key have to satisfy.
    pub residual: Option<Pred>,
    /// Columns that are read above, and by `residual`.
    pub slots: Vec<usize>,
    /// About what one reading of the table reads, bytes.
    pub bytes: u64,
    /// How plans show it.
    pub shown: Shown,
}

/// A part of the plan whose rows are computed once and read in several places.
pub struct SharedPart {
    /// Its number in the plan.
    pub number: usize,
    /// Slots it leaves the rows in.
    pub slots: Vec<usize>,
    input: OnceLock<Node>,
}

impl SharedPart {
    /// One that is still planned.
    #[must_use]
    pub fn new(number: usize, slots: Vec<usize>) -> SharedPart {
        SharedPart { number, slots, input: OnceLock::new() }
    }

    /// It is planned, once: this computes the rows.
    pub fn finish(&self, input: Node) {
        assert!(self.input.set(input).is_ok(), "a part is planned once");
    }

    /// What computes the rows.
    #[must_use]
    pub fn input(&self) -> &Node {
        self.input.get().expect("a plan that runs or is shown is finished")
    }
}

/// One of the places.
pub struct SharedNode {
    /// What is read.
    pub of: Arc<SharedPart>,
    /// Where its columns go.
    pub slots: Vec<usize>,
}

impl Node {
    /// Tells it from the other nodes of its plan, as long as that lives.
    #[must_use]
    pub fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Whether whoever reads it brings together what several threads have made.
    #[must_use]
    pub fn is_made_by_threads(&self) -> bool {
        matches!(&self.op, Op::Gather(gather) if gather.slots.is_none())
    }

    /// Whether it gives one row at most, so that nobody has to ask for a second: a row by its whole key, or a sum of all rows.
    #[must_use]
    pub fn is_single(&self) -> bool {
        match &self.op {
            Op::Access(n) => matches!(n.bounds, Bounds::Point(_) | Bounds::Row(_)),
            Op::Filter(n) => n.input.is_single(),
            Op::Aggregate(n) => n.scalar && n.groups.is_empty() && n.sets.is_none(),
            _ => false,
        }
    }

    /// What it reads from.
    #[must_use]
    pub fn inputs(&self) -> SmallVec<[&Node; 2]> {
        match &self.op {
            Op::One | Op::Empty | Op::Access(_) | Op::Virtual(_) | Op::Values(_) | Op::WorkTable(_) => {
                smallvec![]
            }
            Op::Filter(n) => smallvec![&*n.input],
            Op::Project(n) => smallvec![&*n.input],
            Op::Loop(n) => smallvec![&*n.outer, &*n.inner],
            Op::HashJoin(n) => smallvec![&*n.build, &*n.probe],
            Op::Aggregate(n) => smallvec![&*n.input],
            Op::Sort(n) => smallvec![&*n.input],
            Op::Top(n) => smallvec![&*n.input],
            Op::Distinct(n) => smallvec![&*n.input],
            Op::SetOp(n) => smallvec![&*n.left, &*n.right],
            Op::Window(n) => smallvec![&*n.input],
            Op::Recursive(n) => smallvec![&*n.anchor, &*n.step],
            Op::MaxOneRow(n) => smallvec![&**n],
            Op::Spool(n) => smallvec![&*n.input],
            Op::IndexSpool(n) => smallvec![&*n.scan, &*n.fill],
            Op::Shared(n) => n.of.input.get().into_iter().collect(),
            Op::Gather(n) => smallvec![&*n.input],
        }
    }

    /// The running counterpart, counted where somebody wants to know.
    #[must_use]
    pub fn operator(&self, counts: Option<&Counts>) -> Box<dyn Operator> {
        use super::{
            access, aggregate, basic, hash, index_spool, join, recursive, setop, shared, sort, window,
        };
        let operator: Box<dyn Operator> = match &self.op {
            Op::One => Box::new(basic::OneOp::default()),
            Op::Empty => Box::new(basic::EmptyOp),
            Op::Access(n) => Box::new(access::AccessOp::new(n.clone())),
            Op::Virtual(n) => Box::new(basic::VirtualOp::new(n.clone())),
            Op::Values(n) => Box::new(basic::ValuesOp::new(n.clone())),
            Op::Filter(n) => Box::new(basic::FilterOp::new(n.clone(), counts)),
            Op::Project(n) => Box::new(basic::ProjectOp::new(n.clone(), counts)),
            Op::Loop(n) => Box::new(join::LoopOp::new(n.clone(), counts)),
            Op::HashJoin(n) => Box::new(hash::HashJoinOp::new(n.clone(), counts)),
            Op::Aggregate(n) => aggregate::operator(n.clone(), counts),
            Op::Sort(n) => Box::new(sort::SortOp::new(n.clone(), counts)),
            Op::Top(n) => Box::new(sort::TopOp::new(n.clone(), counts)),
            Op::Distinct(n) => Box::new(setop::DistinctOp::new(n.clone(), counts)),
            Op::SetOp(n) => setop::operator(n.clone(), counts),
            Op::Window(n) => window::operator(n.clone(), counts),
            Op::Recursive(n) => Box::new(recursive::RecursiveOp::new(n.clone(), counts)),
            Op::WorkTable(n) => Box::new(recursive::WorkTableOp::new(n.clone())),
            Op::MaxOneRow(n) => Box::new(basic::MaxOneRowOp::new(n, counts)),
            Op::Spool(n) => Box::new(basic::SpoolOp::new(n.clone(), counts)),
            Op::IndexSpool(n) => Box::new(index_spool::IndexSpoolOp::new(n.clone(), counts)),
            Op::Shared(n) => Box::new(shared::SharedOp::new(n.clone(), counts)),
            Op::Gather(n) => Box::new(GatherOp::new(n.clone(), counts)),
        };
        match counts {
            Some(counts) => counts.around(self, operator),
            None => operator,
        }
    }
}
