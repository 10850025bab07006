//! Planning: rewrites, join order, access paths, and the public entry points that compile statements.

pub mod access;
pub mod api;
pub mod cluster;
pub mod cost;
mod days;
pub mod directions;
pub mod equal;
pub mod estimate;
mod filtered;
mod grouped;
mod known;
mod late;
mod mark;
pub mod missing;
pub mod parallel;
pub mod physical;
pub mod remote;
mod repeated;
pub mod rewrite;
pub mod run;
pub mod share;
pub mod shown;
pub mod steps;
pub mod text;
mod through;
mod trivial;
pub mod warnings;
pub mod xml;

use crate::bind::Binder;
use crate::bind::rel::{Rel, SlotSet, Subquery, SubqueryUse};
use crate::catalog::TableDef;
use crate::errors::Result;
use crate::exec::node::{Decode, Node, SharedPart};
use crate::exec::subquery::{Asked, Asks};
use crate::expr::compile::SubqueryPlanner;
use crate::expr::{Expr, Slot};
use crate::stats::TableStatistics;
use directions::Place;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

pub use api::{
    CompiledCondition, CompiledExpr, Dml, compile_condition, compile_dml, compile_expr,
    compile_remote_change, compile_select, compile_select_into,
};
pub use directions::{Directions, Told};
pub use missing::MissingIndex;
pub use run::Plan;
pub use warnings::Conversion;

/// An order that would save a sort, and how many rows will be asked for.
#[derive(Clone, Debug, Default)]
pub struct SortOrder {
    /// Slots and whether they descend.
    pub keys: Option<Vec<(Slot, bool)>>,
    /// Rows wanted.
    pub row_goal: Option<f64>,
}

impl SortOrder {
    /// No wish.
    pub const NONE: SortOrder = SortOrder { keys: None, row_goal: None };
}

/// A planned subquery of an expression.
pub struct SubPlan {
    /// Its operators.
    pub node: Arc<Node>,
    /// Slot of its value.
    pub result_slot: usize,
    /// How many of its answers are remembered, for as many values of what it reads of the outer query.
    pub kept: usize,
    /// What is asked of it.
    pub asks: Asks,
    /// The expression that asks; gone where that was planned and then not chosen.
    pub asked: Weak<Asked>,
    /// It reads nothing of the outer query.
    pub alone: bool,
}

impl SubPlan {
    /// Whether an expression asks it: not where that was planned for something which was not chosen.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.strong_count() > 0
    }

    /// Whether somebody may ask it and is told the same each time.
    #[must_use]
    pub fn has_one_answer(&self) -> bool {
        self.alone && self.asks != Asks::Rows && self.kept > 0 && self.is_asked()
    }
}

/// Answers that are kept of an EXISTS: a security policy's look-up has few different arguments.
const KEPT_ANSWERS: usize = 32;

/// Statistics by database and object id, as far as the statement asked for them.
type KnownStatistics = HashMap<(u32, i32), Option<Arc<TableStatistics>>>;

/// A shared part, with the rows and the cost of computing it once.
#[derive(Clone)]
struct Estimated {
    part: Arc<SharedPart>,
    rows: f64,
    cost: f64,
}

/// Plans one statement.
pub struct Planner<'b, 'a> {
    /// Slots and surroundings.
    pub binder: &'b mut Binder<'a>,
    /// The conditions of filtered indexes, by the numbers of the references to their tables.
    filters: HashMap<u32, filtered::Filters>,
    /// Subqueries planned so far.
    pub subplans: Vec<SubPlan>,
    /// Tables by reference number, for statistics.
    pub tables: HashMap<u32, Arc<TableDef>>,
    /// The reference whose rows UPDATE or DELETE changes in place.
    pub direct_target: Option<u32>,
    /// What is planned reads what its statement has just written: nothing of it is kept.
    pub anew: bool,
    /// Depth of the cascades being compiled.
    pub cascade_depth: usize,
    /// Columns that branches of CASE decode themselves.
    late: Vec<Decode>,
    /// Parts that are computed once for several places, by their number.
    shared: HashMap<usize, Estimated>,
    /// Those that get their operators when it is known whether the statement is parallel.
    unfinished: Vec<(Arc<SharedPart>, Node)>,
    statistics: RefCell<KnownStatistics>,
    /// Some order that rows come in by themselves is relied on.
    order_used: bool,
    /// Whether it may become parallel.
    wish: Option<parallel::Wish>,
    /// Why nobody may help the statement.
    serial: Option<&'static str>,
    /// Variables that it reads.
    variables: Vec<usize>,
}

impl<'b, 'a> Planner<'b, 'a> {
    /// A planner over a binder's slots.
    pub fn new(binder: &'b mut Binder<'a>) -> Planner<'b, 'a> {
        Planner {
            binder,
            filters: HashMap::new(),
            subplans: Vec::new(),
            tables: HashMap::new(),
            direct_target: None,
            anew: false,
            cascade_depth: 0,
            late: Vec::new(),
            shared: HashMap::new(),
            unfinished: Vec::new(),
            statistics: RefCell::new(HashMap::new()),
            order_used: false,
            wish: None,
            serial: None,
            variables: Vec::new(),
        }
    }

    /// Rewrites and plans a whole tree.
    pub fn plan_tree(&mut self, rel: Rel, need: &SlotSet) -> Result<physical::Planned> {
        self.step()?;
        let rel = rewrite::rewrite(rel, self.binder);
        self.remember_tables(&rel);
        let off = self.binder.scope.disabled_passes().contains(&rewrite::Pass::ShareParts);
        let shared = if off { None } else { share::shared(&rel, need) };
        let want = SortOrder { keys: None, row_goal: self.binder.asked.fast };
        let Some(shared) = shared else {
            let planned = self.plan(rel, need, &want)?;
            return planned.if_possible();
        };
        let at = Place::above(&[&rel]);
        let told = self.told_shared(at);
        let (parts, from) = (self.unfinished.len(), self.decided());
        let shared = self.plan(shared, need, &want)?;
        let (subplans, between) = (self.subplans.len(), self.decided());
        let plain = self.plan(rel, need, &want)?;
        let is_shared = told.unwrap_or(plain.node.cost > shared.node.cost);
        if !is_shared {
            self.unfinished.truncate(parts);
            self.strike_out(from..between);
            self.decide_shared(at, false);
            return plain.if_possible();
        }
        self.subplans.truncate(subplans);
        self.strike_out(between..self.decided());
        self.decide_shared(at, true);
        if self.wish.is_none() {
            self.finish_parts();
        }
        shared.if_possible()
    }

    /// Shared parts are as they will run.
    fn finish_parts(&mut self) {
        self.unfinished.drain(..).for_each(|(part, input)| part.finish(input));
    }

    /// A step of planning: error 3617 when the statement is cancelled.
    pub(crate) fn step(&self) -> Result<()> {
        self.binder.step()
    }

    fn remember_tables(&mut self, rel: &Rel) {
        if let Rel::Get(g) = rel {
            self.tables.insert(g.id, g.table.clone());
        }
        for input in rel.inputs() {
            self.remember_tables(input);
        }
    }

    /// Statistics of a table, asked for once per statement.
    pub fn statistics(&self, table: &TableDef) -> Option<Arc<TableStatistics>> {
        let mut known = self.statistics.borrow_mut();
        known
            .entry((table.database.0, table.object_id))
            .or_insert_with(|| self.binder.scope.statistics(table))
            .clone()
    }
}

impl SubqueryPlanner for Planner<'_, '_> {
    fn note_serial(&mut self, reason: &'static str) {
        self.serial.get_or_insert(reason);
    }

    fn note_variable(&mut self, variable: usize) {
        self.variables.push(variable);
    }

    fn late_columns(&self, e: &Expr) -> Vec<Decode> {
        if self.late.is_empty() {
            return Vec::new();
        }
        let slots = e.slots();
        self.late.iter().filter(|d| slots.contains(&(d.slot as Slot))).cloned().collect()
    }

    fn plan_subquery(&mut self, s: &Arc<Subquery>) -> Result<Arc<Asked>> {
        let mut outer = SlotSet::new();
        s.add_outer_slots(&mut outer);
        let mut need = SlotSet::new();
        let mut result_slot = 0;
        let asks = match &s.usage {
            SubqueryUse::Scalar(slot) => {
                need.insert(*slot);
                result_slot = *slot as usize;
                Asks::Value
            }
            SubqueryUse::Exists => Asks::Exists,
            SubqueryUse::Any { item, .. } => {
                item.add_slots(&mut need);
                Asks::Rows
            }
        };
        let rel = rewrite::rewrite(s.rel.clone(), self.binder);
        let short = |slot: &Slot| !self.binder.slots[*slot as usize].ty.is_large();
        let lasting = asks == Asks::Exists && rel.is_steady() && outer.iter().all(short);
        let kept = if lasting { KEPT_ANSWERS } else { 1 };
        self.remember_tables(&rel);
        let row_goal = (asks == Asks::Exists).then_some(1.0);
        let inner_outer: Vec<usize> = rel.outer_slots().into_iter().map(|s| s as usize).collect();
        let mut planned = self.plan(rel, &need, &SortOrder { keys: None, row_goal })?.if_possible()?;
        if asks == Asks::Rows {
            planned = self.spooled(planned, &need, inner_outer);
        }
        let number = self.subplans.len();
        let alone = outer.is_empty();
        let asked = Arc::new(Asked { number, outer: outer.into_iter().map(|s| s as usize).collect() });
        let (node, by) = (Arc::new(planned.node), Arc::downgrade(&asked));
        self.subplans.push(SubPlan { node, result_slot, kept, asks, asked: by, alone });
        Ok(asked)
    }
}
