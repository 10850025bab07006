//! Indexed views: what a change of a table does to the stored rows of the views over it.
//!
//! ```text
//!   old row ──► view's query, with the row in its table's place ──► rows that go   ─┐
//!                                                                                   ├─► by key: pending ──► the view's trees
//!   new row ──►            the same                             ──► rows that come ─┘        (end of statement)
//! ```
//!
//! The view's query is compiled once for each table that it reads, with that table's reference replaced by slots: run for a
//! changed row, it yields the rows of the view (or the rows that its groups count and sum) that come of this row alone. The
//! other tables are read as they are now, under locks. Two transactions that change both sides of a join have each written
//! their row before they look for the other's: at least one of them finds it, and waits.
//!
//! What goes and comes is gathered by key until the statement is done, its cascades included, so that rows may take over each
//! other's keys and a group is written once. Then the rows of the view are locked and read in their newest version, in the
//! order of their keys. The view's rows lie in trees like those of any table: the log, copies, snapshots and recovery know
//! nothing of views.
//!
//! | file | owns |
//! | --- | --- |
//! | `delta` | what goes and what comes, until the statement is done |
//! | `write` | the same, into the view's trees |
//! | `shape` | which views can be indexed, and what their columns are |

mod delta;
mod shape;
mod write;

use super::foreign::same_table;
use super::target::{RowBuffers, Target};
use crate::bind::rel::{AggFunc, Aggregate, Get, Rel, SlotSet};
use crate::bind::{Binder, BoundQuery};
use crate::catalog::{ModuleDef, TableDef};
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::exec::node::Node;
use crate::expr::compile::{Code, Compiler, NoSubqueries};
use crate::expr::{Expr, Slot};
use crate::plan::Planner;
use keel_types::Value;
use std::sync::Arc;

pub use delta::ViewDelta;
pub(crate) use delta::settle;
pub use shape::{ExprFault, ViewColumn, ViewColumnKind, ViewShape, compile_view_rows, indexed_view_shape};
use write::ViewRows;

/// What a change of a target's table does to one view.
pub struct IndexedView {
    /// The rows of the view.
    rows: Arc<ViewRows>,
    /// `base_first + i` is the slot from which `source` reads column i of the changed row.
    base_first: usize,
    /// Positions of the columns that it reads.
    reads: Vec<usize>,
    /// The view's query without its grouping.
    source: Arc<Node>,
    /// The view's columns.
    columns: Vec<Part>,
}

/// Where a column of a view comes from.
pub(crate) enum Part {
    /// The value itself; in a view with groups one of the group's.
    Value(Code),
    /// COUNT_BIG of everything, or of what is not NULL.
    Count(Option<Code>),
    /// SUM.
    Sum(Code),
}

/// The query of a view, taken apart.
struct Taken {
    /// What its rows, or its groups, are made of.
    input: Rel,
    /// The groups; `None` for a view without.
    groups: Option<Groups>,
    /// Slots of its columns.
    columns: Vec<Slot>,
}

/// The aggregation of a view.
struct Groups {
    /// What is grouped by, and where that goes.
    keys: Vec<(Slot, Expr)>,
    aggs: Vec<Aggregate>,
}

impl Taken {
    fn apart(bound: BoundQuery) -> Taken {
        let columns = bound.columns.iter().map(|c| c.slot).collect();
        match bound.rel {
            Rel::Aggregate { input, groups, aggs, .. } => {
                Taken { input: *input, groups: Some(Groups { keys: groups, aggs }), columns }
            }
            rel => Taken { input: rel, groups: None, columns },
        }
    }

    /// The expression or aggregate that a column is.
    fn column(&self, binder: &Binder<'_>, at: usize) -> ColumnSource<'_> {
        let slot = self.columns[at];
        let Some(Groups { keys, aggs }) = &self.groups else {
            return ColumnSource::Value(binder.read(slot));
        };
        if let Some(aggregate) = aggs.iter().find(|a| a.slot == slot) {
            return ColumnSource::Aggregate(aggregate);
        }
        let key = keys.iter().find(|(s, _)| *s == slot);
        ColumnSource::Value(key.map_or_else(|| binder.read(slot), |(_, e)| e.clone()))
    }
}

enum ColumnSource<'t> {
    Value(Expr),
    Aggregate(&'t Aggregate),
}

impl IndexedView {
    /// All that a change of the target's table has to keep.
    pub(super) fn all(binder: &mut Binder<'_>, target: &Target) -> Result<Vec<IndexedView>> {
        let mut views = Vec::new();
        for module in binder.scope.indexed_views(&target.table) {
            if let Some(rows) = module.rows.clone().filter(|rows| !rows.clustered().disabled) {
                views.push(IndexedView::over(binder, target, &module, &rows)?);
            }
        }
        Ok(views)
    }

    fn over(
        binder: &mut Binder<'_>,
        target: &Target,
        module: &ModuleDef,
        rows: &Arc<TableDef>,
    ) -> Result<IndexedView> {
        let mut taken = bind(binder, module)?;
        let mut base = None;
        taken.input = in_slots(taken.input, &target.table, &mut base);
        let base = base.ok_or_else(|| errors::invalid_object(&target.name))?;
        let mut read = SlotSet::new();
        slots_read(&taken.input, &mut read);
        let (mut parts, mut need) = (Vec::new(), SlotSet::new());
        for at in 0..taken.columns.len() {
            parts.push(part(taken.column(binder, at), &mut need)?);
        }
        read.extend(need.iter().copied());
        let reads = read.iter().filter_map(|slot| base.column_of(*slot)).collect();
        let produced = taken.input.produced();
        need.retain(|slot| produced.contains(slot));
        let source = Planner::new(binder).plan_tree(taken.input, &need)?.node;
        Ok(IndexedView {
            rows: Arc::new(ViewRows::new(binder, rows, &parts)?),
            base_first: base.first_slot as usize,
            reads,
            source: Arc::new(source),
            columns: parts,
        })
    }

    /// Positions of the columns that decide about the view's rows.
    pub(super) fn reads(&self) -> &[usize] {
        &self.reads
    }

    pub(super) fn is_touched_by(&self, changed: &[usize]) -> bool {
        self.reads.iter().any(|i| changed.contains(i))
    }

    /// Takes down what comes, or goes, with the row whose values lie from `first`.
    fn note(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, n: usize, first: usize, comes: bool) -> Result<()> {
        for i in &self.reads {
            cx.slots[self.base_first + i] = cx.slots[first + i].clone();
        }
        if b.views.len() <= n {
            b.views.resize_with(n + 1, || None);
        }
        let mut source = b.views[n].take().unwrap_or_else(|| self.source.operator(None));
        let noted = source.open(cx).and_then(|()| {
            while source.next(cx)? {
                cx.tick()?;
                delta::note(cx, &self.rows, &self.columns, comes)?;
            }
            Ok(())
        });
        source.close();
        b.views[n] = Some(source);
        noted
    }
}

/// Binds the query of an indexed view. Nobody is asked for permissions on what it reads, and no policy hides any of it.
fn bind(binder: &mut Binder<'_>, module: &ModuleDef) -> Result<Taken> {
    binder.scope.enter_predicate(true);
    let bound = binder.unnoticed(|b| b.unguarded(|b| b.view(module)));
    binder.scope.leave_predicate();
    Ok(Taken::apart(bound?))
}

fn part(source: ColumnSource<'_>, need: &mut SlotSet) -> Result<Part> {
    let mut compile = |e: &Expr| {
        e.add_slots(need);
        Compiler { subqueries: &mut NoSubqueries }.value(e)
    };
    Ok(match source {
        ColumnSource::Value(e) => Part::Value(compile(&e)?),
        ColumnSource::Aggregate(a) => match (&a.arg, a.func) {
            (Some(e), AggFunc::Sum) => Part::Sum(compile(e)?),
            (Some(e), _) => Part::Count(Some(compile(e)?)),
            (None, _) => Part::Count(None),
        },
    })
}

/// The tree with the reference to `table` gone: what it produced comes from outside. The other tables are read in their
/// newest version, under locks.
fn in_slots(rel: Rel, table: &TableDef, found: &mut Option<Get>) -> Rel {
    match rel {
        Rel::Get(g) if same_table(&g.table, table) => {
            *found = Some(*g);
            Rel::One
        }
        Rel::Get(mut g) => {
            (g.hints.repeatable, g.hints.decisive) = (true, true);
            Rel::Get(g)
        }
        Rel::Join { kind, left, right, on, hint } => {
            let (left, right) = (in_slots(*left, table, found), in_slots(*right, table, found));
            match (left, right) {
                (Rel::One, other) | (other, Rel::One) => other.filter(on),
                (left, right) => Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, hint },
            }
        }
        Rel::Filter { input, predicates } => in_slots(*input, table, found).filter(predicates),
        Rel::Project { input, exprs } => in_slots(*input, table, found).project(exprs),
        other => other,
    }
}

/// All slots that expressions of a tree read.
fn slots_read(rel: &Rel, into: &mut SlotSet) {
    rel.for_own_exprs(&mut |e| e.add_slots(into));
    rel.inputs().into_iter().for_each(|r| slots_read(r, into));
}

/// Whether a table is an indexed view's rows, and the other is one of those that it reads.
pub(crate) fn is_view_over(rows: &TableDef, table: &TableDef) -> bool {
    rows.database == table.database && rows.view_of.contains(&table.object_id)
}

impl Target {
    /// Error 1934 when there are views to keep and SET options are not as they were made with.
    pub(super) fn check_set_options(&self, cx: &Cx<'_>, statement: &str) -> Result<()> {
        if self.views.is_empty() {
            return Ok(());
        }
        let mut wrong = self.wrong_options.clone();
        wrong.extend(cx.session.wrong_index_options());
        if wrong.is_empty() { Ok(()) } else { Err(errors::wrong_set_options(statement, &wrong.join(", "))) }
    }

    /// The row in the new slots is there now.
    pub(super) fn note_new(&self, cx: &mut Cx<'_>, b: &mut RowBuffers) -> Result<()> {
        for (n, view) in self.views.iter().enumerate() {
            view.note(cx, b, n, self.new_first, true)?;
        }
        Ok(())
    }

    /// The row whose values lie from `old_first` is gone.
    pub(super) fn note_gone(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, old_first: usize) -> Result<()> {
        for (n, view) in self.views.iter().enumerate() {
            view.note(cx, b, n, old_first, false)?;
        }
        Ok(())
    }

    /// The row whose values lie from `old_first` has those of the new slots in the columns `changed`.
    pub(super) fn note_changed(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        changed: &[usize],
        old_first: usize,
    ) -> Result<()> {
        for (n, view) in self.views.iter().enumerate().filter(|(_, view)| view.is_touched_by(changed)) {
            view.note(cx, b, n, old_first, false)?;
            view.note(cx, b, n, self.new_first, true)?;
        }
        Ok(())
    }

    /// The rows of the views that a change of `changed` is kept in; of any row without.
    pub(crate) fn views_kept(&self, changed: Option<&[usize]>) -> impl Iterator<Item = &TableDef> {
        let touched = move |view: &&IndexedView| changed.is_none_or(|c| view.is_touched_by(c));
        self.views.iter().filter(touched).map(|view| &*view.rows.target().table)
    }

    /// Columns that a change of `changed` reads for the views over the table; of all of them without.
    pub(super) fn read_by_views(&self, changed: Option<&[usize]>) -> impl Iterator<Item = usize> {
        let touched = move |view: &&IndexedView| changed.is_none_or(|c| view.is_touched_by(c));
        self.views.iter().filter(touched).flat_map(|view| view.reads().iter().copied())
    }
}

/// A value that is counted, or not.
fn counted(cx: &mut Cx<'_>, arg: Option<&Code>) -> Result<i128> {
    Ok(match arg {
        Some(code) => i128::from(!matches!(code.eval(cx)?, Value::Null)),
        None => 1,
    })
}
