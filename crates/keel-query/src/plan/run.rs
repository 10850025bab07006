//! A compiled statement and its execution.

use super::SubPlan;
use super::directions::{Directions, Told};
use super::missing::MissingIndex;
use super::parallel::ViewsRead;
use super::steps::{self, Step};
use super::warnings::Conversion;
use crate::bind::mask::MaskSource;
use crate::catalog::TableDef;
use crate::context::{ExecCtx, RowSink, RunInfo};
use crate::dml::DmlPlan;
use crate::errors::{self, Result};
use crate::exec::count::Counts;
use crate::exec::cx::{Cx, SubqueryState};
use crate::exec::io::IoCounters;
use crate::exec::node::Node;
use crate::exec::parallel::{ParallelPlan, Together};
use crate::exec::{Operator, aggregate};
use crate::expr::compile::{Formula, pieces};
use crate::growing::Growing;
use crate::meta::ColumnMeta;
use crate::parts::{PARTS, part_of_thread};
use crossbeam_utils::CachePadded;
use keel_base::DatabaseId;
use keel_parser::ast;
use keel_types::Value;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// States kept in each part; more sessions than that running one plan at once allocate their own.
const PART_MAX: usize = 4;

/// A compiled SELECT or DML statement. Immutable and shared; each execution has its own state.
pub struct Plan {
    pub(crate) columns: Vec<ColumnMeta>,
    pub(crate) into: Option<ast::ObjectName>,
    pub(crate) dependencies: Vec<DatabaseId>,
    pub(crate) body: Body,
    pub(crate) slot_count: usize,
    pub(crate) subplans: Arc<[SubPlan]>,
    /// What helpers need to know; none when it has no parallel parts.
    pub(crate) parallel: Option<Arc<ParallelPlan>>,
    /// Why it has none, in the product's words, where that is not its cost.
    pub(crate) serial: Option<&'static str>,
    /// Security policies are part of it: its errors quote no values.
    pub(crate) guarded: bool,
    /// Masked columns it reads: to who may not see them its errors quote no values.
    pub(crate) masked: Vec<MaskSource>,
    /// What was decided on the way to it.
    pub(crate) directions: Directions,
    /// Whether it was made by directions, and what became of them.
    pub(crate) told: Told,
    /// Values may have had a say in how a table is read.
    pub(crate) weighed: bool,
    /// The plan guide whose hints it was made with: its database, and its name.
    pub(crate) guide: Option<Box<(String, String)>>,
    /// Indexes that it would have cost less with.
    pub(crate) missing: Box<[MissingIndex]>,
    /// Conversions that it suffers from.
    pub(crate) conversions: Box<[Conversion]>,
    /// It is for one execution.
    pub(crate) once: bool,
    /// It stays when the data becomes another.
    pub(crate) fixed: bool,
    /// Values of variables that it was made for.
    pub(crate) planned_for: Vec<(usize, Value)>,
    pub(crate) pool: Pool,
}

/// States waiting to be used again. Each thread has a part of its own, as long as there are not too many threads: states
/// that went to and fro between cores would cost more than the statements that they run.
#[derive(Default)]
pub(crate) struct Pool {
    parts: [CachePadded<Part>; PARTS],
}

#[allow(clippy::vec_box, reason = "a state is moved twice per execution and is large")]
type Part = Mutex<Vec<Box<State>>>;

impl Pool {
    fn part(&self) -> &Part {
        &self.parts[part_of_thread()]
    }

    fn take(&self) -> Option<Box<State>> {
        self.part().lock().pop()
    }

    fn give(&self, state: Box<State>) {
        let mut part = self.part().lock();
        if part.len() < PART_MAX {
            part.push(state);
        }
    }
}

/// What a plan does.
pub(crate) enum Body {
    /// Returns rows.
    Query {
        /// Operators.
        root: Arc<Node>,
        /// Slots of the columns.
        output: Vec<usize>,
    },
    /// Assigns variables.
    Assign {
        /// Operators.
        root: Arc<Node>,
        /// Variables and values, in order.
        targets: Vec<Target>,
    },
    /// Changes data.
    Dml(Box<DmlPlan>),
}

/// A variable and what each row makes of it.
pub(crate) struct Target {
    pub(crate) variable: usize,
    pub(crate) formula: Formula,
    /// It adds to the variable, which nothing else of the statement looks at.
    pub(crate) grows: bool,
}

/// Reusable state of one execution.
pub(crate) struct State {
    pub(crate) slots: Vec<Value>,
    pub(crate) root: Box<dyn Operator>,
    pub(crate) subqueries: Vec<Option<Box<SubqueryState>>>,
    /// A row on its way to the sink.
    pub(crate) row: Vec<Value>,
    /// Buffers of a data change.
    pub(crate) dml: crate::dml::Buffers,
    /// Buffer of [`Cx::target_key`].
    pub(crate) target_key: Vec<u8>,
}

impl State {
    /// Ends what still runs, so that all has been told, and forgets what came out.
    fn close(&mut self, cx: &mut Cx<'_>) {
        self.root.close();
        for subquery in cx.subqueries.iter_mut().flatten() {
            subquery.root.close();
            subquery.answers.clear();
            subquery.oldest = 0;
        }
    }
}

impl Plan {
    /// Columns of the rows it hands to the sink; empty for statements that return none.
    #[must_use]
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }
    /// Whether it returns a result set (SELECT without assignment, DML with OUTPUT to the client).
    #[must_use]
    pub fn returns_rows(&self) -> bool {
        !self.columns.is_empty()
    }
    /// The name after INTO of SELECT … INTO: the caller creates the table from [`Plan::columns`], compiles
    /// [`crate::compile_select_into`] with it and runs that.
    #[must_use]
    pub fn into_target(&self) -> Option<&ast::ObjectName> {
        self.into.as_ref()
    }
    /// Databases whose catalog versions the plan depends on.
    #[must_use]
    pub fn dependencies(&self) -> &[DatabaseId] {
        &self.dependencies
    }
    /// The table whose rows it changes; of a view or CTE the one behind it.
    #[must_use]
    pub fn target(&self) -> Option<&TableDef> {
        match &self.body {
            Body::Dml(dml) => Some(&dml.target.table),
            Body::Query { .. } | Body::Assign { .. } => None,
        }
    }
    /// The change whose rows it takes: of INSERT … SELECT … FROM (DELETE … OUTPUT …).
    #[must_use]
    pub fn nested(&self) -> Option<&Plan> {
        match &self.body {
            Body::Dml(dml) => dml.nested.as_deref(),
            Body::Query { .. } | Body::Assign { .. } => None,
        }
    }
    /// The tables that its OUTPUT clauses fill, and what an inner change changes.
    #[must_use]
    pub fn filled(&self) -> Vec<&TableDef> {
        match &self.body {
            Body::Dml(dml) => dml.filled(),
            Body::Query { .. } | Body::Assign { .. } => Vec::new(),
        }
    }
    /// SET SHOWPLAN_TEXT: one line per operator.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        steps::lines(&self.steps())
    }
    /// Its operators: first the statement's, then those of subqueries that are evaluated by themselves.
    #[must_use]
    pub fn steps(&self) -> Vec<Step<'_>> {
        steps::steps(&self.body, &self.subplans)
    }

    /// The same plan, parts of which helpers may run where `found` says what it reads, and how many there may be; else `serial` may say
    /// why not.
    pub(crate) fn with_helpers(
        mut self,
        found: Option<(ViewsRead, usize)>,
        serial: Option<&'static str>,
        max_degree: Option<u16>,
    ) -> Plan {
        let subplans = Arc::clone(&self.subplans);
        let plan = |(reads, degree)| Arc::new(ParallelPlan { subplans, reads, max_degree, degree });
        self.parallel = found.map(plan);
        self.serial = serial;
        self
    }

    /// What was decided on the way to it, by which it can be made again.
    #[must_use]
    pub fn directions(&self) -> &Directions {
        &self.directions
    }

    /// The plan guide whose hints it was made with: its database, and its name.
    #[must_use]
    pub fn guide(&self) -> Option<(&str, &str)> {
        self.guide.as_ref().map(|guide| (guide.0.as_str(), guide.1.as_str()))
    }

    /// It was made with the hints of this guide of a database.
    pub fn set_guide(&mut self, database: String, name: String) {
        self.guide = Some(Box::new((database, name)));
    }

    /// Indexes that are not there and with which it would have cost less, those that would save most first.
    #[must_use]
    pub fn missing(&self) -> &[MissingIndex] {
        &self.missing
    }

    /// Conversions of columns that it suffers from.
    #[must_use]
    pub fn conversions(&self) -> &[Conversion] {
        &self.conversions
    }

    /// Whether it is for one execution (`OPTION (RECOMPILE)`): values of variables may be part of it.
    #[must_use]
    pub fn is_for_once(&self) -> bool {
        self.once
    }

    /// Whether it stays when the data becomes another (`OPTION (KEEPFIXED PLAN)`).
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Values of variables that estimates for it asked for, by the variables' indexes.
    #[must_use]
    pub fn planned_for(&self) -> &[(usize, Value)] {
        &self.planned_for
    }

    /// Whether it was made by directions, and what became of them.
    #[must_use]
    pub fn told(&self) -> Told {
        self.told
    }

    /// Threads that may work for it, as far as is known when it is compiled; 1 for a serial plan.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.parallel.as_ref().map_or(1, |plan| plan.degree)
    }

    /// Why it has no parallel parts (`NonParallelPlanReason`), where that is not its cost.
    #[must_use]
    pub fn serial_reason(&self) -> Option<&'static str> {
        self.serial
    }

    /// Runs it to the end, handing rows to `sink`.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, sink: &mut dyn RowSink) -> Result<RunInfo> {
        let state = self.pool.take().unwrap_or_else(|| Box::new(self.new_state(None)));
        let (result, state) = self.run_in(state, ctx, sink);
        if state.subqueries.iter().all(Option::is_some) {
            self.pool.give(state);
        }
        result
    }

    /// The same, and counts what each operator does.
    pub fn run_counted(
        &self,
        ctx: &mut ExecCtx<'_>,
        sink: &mut dyn RowSink,
        counts: &Counts,
    ) -> Result<RunInfo> {
        self.run_in(Box::new(self.new_state(Some(counts))), ctx, sink).0
    }

    fn run_in(
        &self,
        mut state: Box<State>,
        ctx: &mut ExecCtx<'_>,
        sink: &mut dyn RowSink,
    ) -> (Result<RunInfo>, Box<State>) {
        let mut cx = Cx::new(ctx, std::mem::take(&mut state.slots));
        cx.subqueries = std::mem::take(&mut state.subqueries);
        cx.target_key = std::mem::take(&mut state.target_key);
        if cx.session.statistics_io() {
            cx.rare().io = Some(IoCounters::default());
        }
        if let Some(parallel) = &self.parallel {
            cx.rare().together = Some(Box::new(Together::of(parallel)));
        }
        let timed = cx.session.statistics_time().map(|cpu| (cpu, Instant::now()));
        let result = match &self.body {
            Body::Query { root, output } => query(&mut state, root, output, &mut cx, sink),
            Body::Assign { root, targets } => assign(&mut state, root, targets, &mut cx),
            Body::Dml(dml) => dml.run(&mut state, &mut cx, sink),
        };
        let quiet = || self.guarded || !self.masked.is_empty() && !cx.session.sees(&self.masked);
        let result = match result {
            Err(e) if quiet() => Err(errors::without_values(e)),
            result => result,
        };
        state.close(&mut cx);
        if cx.has_to_tell() || timed.is_some() {
            self.tell(&mut cx, timed, sink);
        }
        state.slots = std::mem::take(&mut cx.slots);
        state.subqueries = std::mem::take(&mut cx.subqueries);
        state.target_key = std::mem::take(&mut cx.target_key);
        (result, state)
    }

    /// Tells the client, behind its rows, what an execution has to say.
    #[cold]
    fn tell(&self, cx: &mut Cx<'_>, timed: Option<(Duration, Instant)>, sink: &mut dyn RowSink) {
        cx.absorb_late();
        aggregate::null_warning(cx);
        for message in cx.take_messages() {
            sink.message(&message);
        }
        for line in cx.io().map(|io| io.report()).unwrap_or_default() {
            sink.message(&keel_types::SqlError::new(3615, 0, 1, line));
        }
        if let Some((used, began)) = timed {
            let cpu = cx.session.statistics_time().unwrap_or_default().saturating_sub(used).as_millis();
            let elapsed = began.elapsed().as_millis();
            let text = format!(
                "\n SQL Server Execution Times:\n   CPU time = {cpu} ms,  elapsed time = {elapsed} ms."
            );
            sink.message(&keel_types::SqlError::new(3612, 0, 1, text));
        }
        if self.parallel.is_some() {
            cx.session.note_degree(1);
        }
    }

    fn new_state(&self, counts: Option<&Counts>) -> State {
        let root = match &self.body {
            Body::Query { root, .. } | Body::Assign { root, .. } => root.operator(counts),
            Body::Dml(dml) => dml.source_operator(counts),
        };
        State {
            slots: vec![Value::Null; self.slot_count],
            root,
            subqueries: subquery_states(&self.subplans, counts),
            row: Vec::new(),
            dml: crate::dml::Buffers::default(),
            target_key: Vec::new(),
        }
    }
}

/// Running counterparts of a statement's subqueries.
pub(crate) fn subquery_states(
    subplans: &[SubPlan],
    counts: Option<&Counts>,
) -> Vec<Option<Box<SubqueryState>>> {
    subplans
        .iter()
        .map(|s| {
            Some(Box::new(SubqueryState {
                root: s.node.operator(counts),
                result_slot: s.result_slot,
                answers: Vec::new(),
                kept: s.kept,
                oldest: 0,
            }))
        })
        .collect()
}

/// Rows that a statement takes of its operators: as many as come, but for SET ROWCOUNT.
#[inline]
pub(crate) fn rows_wanted(root: &Node, cx: &Cx<'_>) -> u64 {
    match cx.session.row_count_limit() {
        _ if root.is_single() => 1,
        0 => u64::MAX,
        n => n,
    }
}

fn query(
    state: &mut State,
    root: &Node,
    output: &[usize],
    cx: &mut Cx<'_>,
    sink: &mut dyn RowSink,
) -> Result<RunInfo> {
    let limit = rows_wanted(root, cx);
    let mut rows = 0;
    state.root.open(cx)?;
    while rows < limit && state.root.next(cx)? {
        cx.tick()?;
        rows += 1;
        state.row.resize(output.len(), Value::Null);
        for (v, s) in state.row.iter_mut().zip(output) {
            v.clone_from(&cx.slots[*s]);
        }
        sink.row(&state.row)?;
    }
    Ok(RunInfo { rows, identity: None })
}

fn assign(state: &mut State, root: &Node, targets: &[Target], cx: &mut Cx<'_>) -> Result<RunInfo> {
    let mut growing = Growing::default();
    let run = assign_rows(state, root, targets, cx, &mut growing);
    // Those of the rows before an error too.
    growing.settle(cx.vars);
    run
}

fn assign_rows(
    state: &mut State,
    root: &Node,
    targets: &[Target],
    cx: &mut Cx<'_>,
    growing: &mut Growing,
) -> Result<RunInfo> {
    let limit = rows_wanted(root, cx);
    let mut rows = 0;
    state.root.open(cx)?;
    while rows < limit && state.root.next(cx)? {
        cx.tick()?;
        rows += 1;
        for Target { variable, formula, grows } in targets {
            match formula {
                // One row alone is as well copied.
                Formula::Append { more, .. } if *grows && rows > 1 => {
                    let more = pieces(more, cx)?;
                    growing.append_or_null(cx.vars, *variable, more.as_deref());
                }
                formula => {
                    let value = formula.eval(cx)?;
                    cx.vars[*variable] = value;
                }
            }
        }
    }
    Ok(RunInfo { rows, identity: None })
}
