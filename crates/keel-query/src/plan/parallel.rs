//! Where a finished plan becomes parallel.
//!
//! A statement that costs more than the threshold, and that only reads, is looked through from its top. Wherever an operator reads
//! its input to the end, or rows in no certain order, and below it stand only operators that any thread may run over a large table,
//! a gather is put between ([`crate::exec::parallel`]).
//!
//! **Order.** Rows of several threads come in no order. So nothing is gathered below what relies on an order that its input has by
//! itself (an index that saves a sort, a stream aggregate), up to the next operator that reads everything first.
//!
//! **Rows that are sent.** What each thread makes of its rows is little. Where rows themselves go on, to the client or to an operator
//! that one thread runs, a part is gathered only if it reads many rows for each that it gives.
//!
//! **Serial statements.** Expressions that only the session's thread can evaluate make the whole statement serial, as in the product;
//! so do hints that lock. Why is told as the product does (`NonParallelPlanReason`).

use super::run::Target;
use super::shown::Shown;
use super::xml::UNIT_COST;
use super::{Planner, SubPlan};
use crate::bind::rel::JoinKind;
use crate::errors::Result;
use crate::exec::node::{Access, AggregateCall, AggregateNode, Bounds, HashJoinNode, Node, Op};
use crate::exec::parallel::GatherNode;
use crate::exec::subquery::Asks;
use crate::expr::Expr;
use crate::expr::compile::{Code, Compiler, Formula};
use crate::scope::VariableInfo;
use keel_base::DatabaseId;
use keel_node::Isolation;
use keel_types::key::KeyColumn;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Least cost of a part for which helpers are called, in units of one row read: what they must save to be worth their start.
pub(super) const PART_COST_MIN: f64 = 20_000.0;

/// Rows read for one that is sent, at least, where threads send rows to one that goes on with them: to send a row, and to take it in,
/// costs more than to read it. Nor may a client that takes many rows slowly keep helpers waiting for it.
const SENT_ROW_COST_MIN: f64 = 8.0;

/// Whether and where a statement may become parallel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// Threads at most.
    degree: usize,
    /// Parts that cost less stay serial, and a statement all of which does.
    part_cost_min: f64,
    statement_cost_min: f64,
    /// Parallel whatever it costs.
    forced: bool,
}

/// Views of databases that a statement reads in.
pub(crate) type ViewsRead = Vec<(DatabaseId, Option<Isolation>)>;

/// What an operator takes of its input.
#[derive(Clone, Copy)]
enum Takes<'s> {
    /// What each thread makes of its rows.
    Made,
    /// Rows, of which it reads these slots.
    Rows(&'s [usize]),
}

impl Planner<'_, '_> {
    /// The statement being planned only reads: it may become parallel.
    pub(crate) fn allow_parallel(&mut self) {
        let own = self.binder.scope.parallelism();
        let degree = match self.binder.max_degree {
            None | Some(0) => own.degree,
            Some(most) => usize::from(most).min(own.degree_max),
        };
        let told = self.told_gathers();
        let forced = match &told {
            Some(places) => !places.is_empty(),
            None => self.binder.prefers_parallel,
        };
        let statement_cost_min = if forced { 0.0 } else { own.cost_threshold / UNIT_COST };
        let part_cost_min = statement_cost_min.min(PART_COST_MIN);
        self.wish = Some(Wish { degree, part_cost_min, statement_cost_min, forced });
        if degree <= 1 {
            let alone = own.degree_max <= 1;
            self.serial = Some(if alone { "EstimatedDOPIsOne" } else { "MaxDOPSetToOne" });
        }
    }

    /// Compiles what a statement assigns to variables, row by row on the session's thread. What else of it reads one of them, a condition
    /// or a subquery, sees each value that it is given on the way: all of that is one thread's work.
    pub(crate) fn assignments(&mut self, targets: &[(VariableInfo, Expr)]) -> Result<Vec<Target>> {
        let mut compiled = Vec::with_capacity(targets.len());
        let mut read = self.variables.clone();
        for (info, e) in targets {
            let known = self.variables.len();
            let formula = Compiler { subqueries: self }.formula(e)?;
            read.extend_from_slice(&self.variables[known..]);
            compiled.push(Target { variable: info.index, formula, grows: false });
            if !e.has_subquery() {
                self.variables.truncate(known);
            }
        }
        if targets.iter().any(|(info, _)| self.variables.contains(&info.index)) {
            self.serial.get_or_insert("CouldNotGenerateValidParallelPlan");
        }
        for at in 0..compiled.len() {
            let to = compiled[at].variable;
            let adds = matches!(compiled[at].formula, Formula::Append { variable, .. } if variable == to);
            let once = read.iter().filter(|v| **v == to).count() == 1;
            compiled[at].grows = adds && once && compiled.iter().filter(|t| t.variable == to).count() == 1;
        }
        Ok(compiled)
    }

    /// Finishes a plan whose rows are read in these slots: puts gathers into it, none where it stays serial. Returns what the statement
    /// reads, and how many threads it may have, when there are any.
    pub(crate) fn make_parallel(
        &mut self,
        root: &mut Node,
        output: Option<&[usize]>,
    ) -> Option<(ViewsRead, usize)> {
        let wish = self.wish?;
        let reads = self.may_be_parallel(root, wish);
        if reads.is_some() {
            self.place_gathers(root, output, wish);
        }
        let gathered = self.all_of(root).any(has_gather);
        self.finish_parts();
        reads.filter(|_| gathered).map(|reads| (reads, wish.degree))
    }

    /// The statement's operators: its own, its subqueries', those of its shared parts.
    fn all_of<'n>(&'n self, root: &'n Node) -> impl Iterator<Item = &'n Node> {
        let subqueries = self.subplans.iter().map(|s| &*s.node);
        std::iter::once(root).chain(subqueries).chain(self.unfinished.iter().map(|(_, node)| node))
    }

    /// What a statement reads that may be parallel.
    fn may_be_parallel(&mut self, root: &Node, wish: Wish) -> Option<ViewsRead> {
        let cost: f64 = root.cost + self.subplans.iter().map(|s| s.node.cost).sum::<f64>();
        if cost < wish.statement_cost_min {
            self.serial = None;
            return None;
        }
        if self.serial.is_some() {
            return None;
        }
        let mut reads = ViewsRead::new();
        let free = self.all_of(root).all(|node| reads_freely(node, &mut reads));
        if !free || self.subplans.iter().any(|s| !is_for_helpers(&s.node, true)) {
            self.serial = Some("CouldNotGenerateValidParallelPlan");
            return None;
        }
        Some(reads)
    }

    fn place_gathers(&mut self, root: &mut Node, output: Option<&[usize]>, wish: Wish) {
        let (told, met, placed) = (self.told_gathers(), Cell::new(0), RefCell::default());
        let place = Placing { wish, order_used: self.order_used, told, met, placed };
        for SubPlan { node, alone, asks, result_slot, .. } in
            self.subplans.iter_mut().filter(|s| s.is_asked())
        {
            // Of EXISTS one row is read.
            if let (true, Some(node)) = (*alone && *asks != Asks::Exists, Arc::get_mut(node)) {
                place.below(node, Takes::Rows(&[*result_slot]), self.order_used);
            }
        }
        for (part, node) in &mut self.unfinished {
            place.below(node, Takes::Rows(&part.slots), false);
        }
        let written = written_by(root);
        place.below(root, Takes::Rows(output.unwrap_or(&written)), self.order_used);
        self.decide_gathers(place.placed.into_inner());
    }
}

/// Puts gathers into a tree.
struct Placing {
    wish: Wish,
    order_used: bool,
    /// Where directions want them.
    told: Option<Vec<usize>>,
    /// Places that were looked at so far.
    met: Cell<usize>,
    /// Where they were put.
    placed: RefCell<Vec<usize>>,
}

impl Placing {
    /// Into a node and what stands below it. `ordered`: somebody above relies on the order in which its rows come.
    fn below(&self, node: &mut Node, takes: Takes<'_>, ordered: bool) {
        let at = self.met.replace(self.met.get() + 1);
        if !ordered && self.is_wanted(at, node, takes) && drives(node) {
            self.placed.borrow_mut().push(at);
            self.build_sides(node);
            gather(node, takes);
            return;
        }
        match &mut node.op {
            Op::Filter(n) => {
                with(n, |n| with(&mut n.input, |input| self.below(input, Takes::Rows(&[]), ordered)));
            }
            Op::Project(n) => {
                with(n, |n| with(&mut n.input, |input| self.below(input, Takes::Rows(&[]), ordered)));
            }
            Op::MaxOneRow(n) => with(n, |input| self.below(input, takes, ordered)),
            Op::HashJoin(n) => with(n, |n| {
                with(&mut n.build, |build| self.below(build, Takes::Made, false));
                with(&mut n.probe, |probe| self.rows_of(probe, ordered));
            }),
            Op::Loop(n) => with(n, |n| {
                with(&mut n.outer, |outer| self.rows_of(outer, ordered));
                // What is read once and kept.
                with(&mut n.inner, |inner| match &mut inner.op {
                    Op::Spool(s) if s.outer.is_empty() => self.spooled(inner),
                    _ => {}
                });
            }),
            Op::Aggregate(n) => with(n, |n| self.aggregate(n)),
            Op::Sort(n) => with(n, |n| with(&mut n.input, |input| self.below(input, Takes::Made, false))),
            Op::Top(n) => {
                // Few rows are wanted: they are there before any helper is, unless everything is read for them first.
                let ordered = self.order_used || !self.wish.forced;
                with(n, |n| {
                    let slots = n.slots.clone();
                    with(&mut n.input, |input| self.below(input, Takes::Rows(&slots), ordered));
                });
            }
            Op::Distinct(n) => with(n, |n| {
                let slots: Vec<usize> = n.columns.iter().map(|(slot, _)| *slot).collect();
                let ordered = n.ordered;
                with(&mut n.input, |input| self.below(input, Takes::Rows(&slots), ordered));
            }),
            Op::SetOp(n) => with(n, |n| {
                let (left, right) = (n.left_slots.clone(), n.right_slots.clone());
                with(&mut n.left, |input| self.below(input, Takes::Rows(&left), false));
                with(&mut n.right, |input| self.below(input, Takes::Rows(&right), false));
            }),
            Op::Window(n) => with(n, |n| {
                with(&mut n.input, |input| self.below(input, Takes::Rows(&[]), true));
            }),
            Op::Spool(_) => self.spooled(node),
            Op::Recursive(n) => with(n, |n| {
                let slots = n.anchor_slots.clone();
                with(&mut n.anchor, |input| self.below(input, Takes::Rows(&slots), false));
            }),
            Op::One
            | Op::Empty
            | Op::Access(_)
            | Op::IndexSpool(_)
            | Op::Virtual(_)
            | Op::Values(_)
            | Op::WorkTable(_)
            | Op::Shared(_)
            | Op::Gather(_) => {}
        }
    }

    /// Whether directions say so, or else whether it costs enough to be worth it.
    fn is_wanted(&self, at: usize, node: &Node, takes: Takes<'_>) -> bool {
        match &self.told {
            Some(places) => places.contains(&at),
            None => node.cost >= self.wish.part_cost_min && self.pays(node, takes),
        }
    }

    /// Whether what a part saves is worth more than to hand over what comes out of it.
    fn pays(&self, node: &Node, takes: Takes<'_>) -> bool {
        match takes {
            Takes::Made => true,
            Takes::Rows([]) => false,
            Takes::Rows(_) => self.wish.forced || node.cost >= SENT_ROW_COST_MIN * node.rows,
        }
    }

    /// Below something that may read anything of its input's rows.
    fn rows_of(&self, input: &mut Node, ordered: bool) {
        let written = written_by(input);
        self.below(input, Takes::Rows(&written), ordered);
    }

    fn spooled(&self, node: &mut Node) {
        if let Op::Spool(n) = &mut node.op {
            with(n, |n| {
                let slots = n.slots.clone();
                with(&mut n.input, |input| self.below(input, Takes::Rows(&slots), false));
            });
        }
    }

    fn aggregate(&self, n: &mut AggregateNode) {
        let slots = n.input_slots.clone();
        // Everything at once needs no order.
        let relies = n.ordered && !n.scalar;
        let apart = n.aggs.iter().any(AggregateCall::tells_values_apart);
        let takes = if apart { Takes::Rows(&slots) } else { Takes::Made };
        let Some(input) = Arc::get_mut(&mut n.input) else { return };
        self.below(input, takes, relies);
        if matches!((&input.op, takes), (Op::Gather(_), Takes::Made)) {
            n.ordered = false;
        }
    }

    /// Into the build sides of the joins that a gathered part begins with: the session's thread reads them before.
    fn build_sides(&self, node: &mut Node) {
        match &mut node.op {
            Op::Filter(n) => with(n, |n| with(&mut n.input, |input| self.build_sides(input))),
            Op::Project(n) => with(n, |n| with(&mut n.input, |input| self.build_sides(input))),
            Op::Loop(n) => with(n, |n| with(&mut n.outer, |input| self.build_sides(input))),
            Op::Aggregate(n) => with(n, |n| with(&mut n.input, |input| self.build_sides(input))),
            Op::Distinct(n) => with(n, |n| with(&mut n.input, |input| self.build_sides(input))),
            Op::HashJoin(n) => with(n, |n| {
                with(&mut n.build, |build| self.below(build, Takes::Made, false));
                with(&mut n.probe, |input| self.build_sides(input));
            }),
            _ => {}
        }
    }
}

/// Changes what nobody else has yet.
fn with<T>(node: &mut Arc<T>, change: impl FnOnce(&mut T)) {
    if let Some(node) = Arc::get_mut(node) {
        change(node);
    }
}

/// The table that drives a part.
struct Driver<'n> {
    access: &'n Arc<Access>,
    /// Slots that have the value of its leading column.
    leading: SmallVec<[usize; 2]>,
    /// Rows with one value of that must stay together.
    whole: bool,
    /// Nobody has decoded yet what the access keeps.
    bare: bool,
}

/// What drives a part that every thread may run. Groups that arrive in order may be made by each thread, when its parts of the table
/// have whole groups.
fn driver_of(node: &Node) -> Option<Driver<'_>> {
    match &node.op {
        Op::Access(a) if matches!(a.bounds, Bounds::All | Bounds::Range { .. }) => Some(Driver {
            access: a,
            leading: a.leading.iter().map(|leading| leading.slot).collect(),
            whole: false,
            bare: true,
        }),
        Op::Filter(n) => driver_of(&n.input),
        Op::Project(n) => {
            let mut driver = driver_of(&n.input)?;
            driver.bare = false;
            for (slot, code) in &n.exprs {
                if matches!(code, Code::Slot(from) if driver.leading.contains(from)) {
                    driver.leading.push(*slot);
                }
            }
            Some(driver)
        }
        Op::Aggregate(n) if n.ordered && !n.scalar && n.sets.is_none() => {
            let mut driver = driver_of(&n.input)?;
            let by = |(code, _, slot): &(Code, KeyColumn, usize)| match code {
                Code::Slot(from) if driver.leading.contains(from) => Some(*slot),
                _ => None,
            };
            driver.leading = n.groups.iter().filter_map(by).collect();
            (driver.whole, driver.bare) = (true, false);
            Some(driver).filter(|driver| !driver.leading.is_empty())
        }
        Op::Distinct(n) if n.ordered => {
            let mut driver = driver_of(&n.input)?;
            driver.leading.retain(|slot| n.columns.iter().any(|(column, _)| column == slot));
            driver.whole = true;
            Some(driver).filter(|driver| !driver.leading.is_empty())
        }
        Op::HashJoin(n) if n.kind != JoinKind::Full => driver_of(&n.probe),
        Op::Loop(n) if is_for_helpers(&n.inner, false) => driver_of(&n.outer),
        _ => None,
    }
}

/// Whether several threads may run a part. What its access keeps for who decodes it must not leave the thread.
fn drives(node: &Node) -> bool {
    driver_of(node).is_some_and(|driver| !(driver.bare && driver.access.keeps_row))
}

/// Whether a helper may run all of this by itself. With `gathers` there may be parts that it would run alone.
fn is_for_helpers(node: &Node, gathers: bool) -> bool {
    let own = match &node.op {
        Op::Virtual(_) | Op::Recursive(_) | Op::WorkTable(_) | Op::Shared(_) => false,
        Op::Gather(_) => gathers,
        _ => true,
    };
    own && node.inputs().into_iter().all(|input| is_for_helpers(input, gathers))
}

/// Whether nothing is locked where a tree reads; adds where that is.
fn reads_freely(node: &Node, reads: &mut ViewsRead) -> bool {
    if let Op::Access(a) = &node.op {
        let locks = a.lock.is_some() || a.table_lock.is_some() || a.repeatable || a.serializable;
        if locks || a.skip_locked || a.no_wait || a.direct || a.decisive {
            return false;
        }
        if !reads.contains(&(a.database, a.view)) {
            reads.push((a.database, a.view));
        }
    }
    node.inputs().into_iter().all(|input| reads_freely(input, reads))
}

fn has_gather(node: &Node) -> bool {
    matches!(node.op, Op::Gather(_)) || node.inputs().into_iter().any(has_gather)
}

/// Slots that a part of a plan writes.
fn written_by(node: &Node) -> Vec<usize> {
    fn add(node: &Node, slots: &mut Vec<usize>) {
        match &node.op {
            Op::Access(n) => {
                slots.extend(n.decode.iter().map(|d| d.slot));
                slots.extend(n.lookup.iter().flat_map(|l| &l.decode).map(|d| d.slot));
                slots.extend(n.row_key);
            }
            Op::Virtual(n) => slots.extend(n.columns.iter().map(|(_, slot)| *slot)),
            Op::Values(n) => slots.extend(&n.slots),
            Op::Project(n) => slots.extend(n.exprs.iter().map(|(slot, _)| *slot)),
            Op::Aggregate(n) => {
                slots.extend(n.groups.iter().map(|(_, _, slot)| *slot));
                slots.extend(n.aggs.iter().map(|call| call.slot));
                slots.extend(n.grouping_id);
            }
            Op::SetOp(n) => slots.extend(&n.slots),
            Op::Window(n) => slots.extend(n.calls.iter().map(|call| call.slot)),
            Op::Shared(n) => slots.extend(&n.slots),
            Op::Recursive(n) => slots.extend(&n.slots),
            Op::WorkTable(n) => slots.extend(&n.slots),
            _ => {}
        }
        node.inputs().into_iter().for_each(|input| add(input, slots));
    }
    let mut slots = Vec::new();
    add(node, &mut slots);
    slots.sort_unstable();
    slots.dedup();
    slots
}

fn gather(node: &mut Node, takes: Takes<'_>) {
    let Some(Driver { access, whole, .. }) = driver_of(node) else { return };
    let driver = Arc::clone(access);
    let mut joins = Vec::new();
    add_joins(node, &mut joins);
    let slots = match takes {
        Takes::Made => None,
        Takes::Rows(slots) => Some(slots.to_vec()),
    };
    let (rows, cost) = (node.rows, node.cost);
    let input = Arc::new(std::mem::replace(node, Node { op: Op::Empty, rows, cost }));
    let shown = Shown::of("Parallelism", "Gather Streams", Vec::new());
    node.op = Op::Gather(Arc::new(GatherNode { input, slots, driver, whole, joins, shown }));
}

/// The joins that rows of the driver pass on their way up, topmost first.
fn add_joins(node: &Node, joins: &mut Vec<Arc<HashJoinNode>>) {
    match &node.op {
        Op::Filter(n) => add_joins(&n.input, joins),
        Op::Project(n) => add_joins(&n.input, joins),
        Op::Loop(n) => add_joins(&n.outer, joins),
        Op::Aggregate(n) => add_joins(&n.input, joins),
        Op::Distinct(n) => add_joins(&n.input, joins),
        Op::HashJoin(n) => {
            joins.push(Arc::clone(n));
            add_joins(&n.probe, joins);
        }
        _ => {}
    }
}
