//! Indexes that are not there and with which a plan would have cost less (the product's missing index feature).
//!
//! Where a table is read at some cost for conditions that an index could answer, the index is thought of that would be best for this one
//! statement: its key has the columns that are equal to something, then one of those that are compared otherwise, and it includes all
//! other columns that the statement reads. What that would have cost is estimated as for an index that is there. An index says
//! nothing of what its upkeep costs, nor of others that are nearly the same: as in the product it is for the administrator to choose.

use super::Planner;
use super::access::{Path, SargKind, sargs};
use super::cost;
use super::run::Body;
use super::steps::{self, Step};
use super::xml::UNIT_COST;
use crate::bind::rel::{Get, SlotSet};
use crate::catalog::TableDef;
use crate::exec::node::{Node, Op};
use crate::expr::Expr;
use crate::plan::SubPlan;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an index has to save to be told, in rows read.
const SAVED_MIN: f64 = 1000.0;
/// And of the cost of its statement, in a hundred.
const IMPACT_MIN: f64 = 10.0;
/// A row of an index that has all that is asked for is narrower than the table's.
const NARROW: f64 = 0.7;

/// An index that is not there.
#[derive(Clone, Debug)]
pub struct MissingIndex {
    /// Name of the database.
    pub database: String,
    /// Name of the schema.
    pub schema: String,
    /// The table.
    pub table: Arc<TableDef>,
    /// Columns that are equal to something, by `column_id`, in the table's order.
    pub equality: Vec<i32>,
    /// Columns that are compared otherwise.
    pub inequality: Vec<i32>,
    /// Other columns that are read.
    pub included: Vec<i32>,
    /// What it saves, of the plan's cost in a hundred.
    pub impact: f64,
    /// What the plan costs, in the product's units.
    pub cost: f64,
}

impl MissingIndex {
    /// Its columns as what they are used: `column_id` and name.
    #[must_use]
    pub fn columns(&self) -> [(&'static str, Vec<(i32, &str)>); 3] {
        let usages =
            [("EQUALITY", &self.equality), ("INEQUALITY", &self.inequality), ("INCLUDE", &self.included)];
        usages.map(|(usage, ids)| {
            let named = ids.iter().filter_map(|id| {
                let column = &self.table.columns[self.table.column_index(*id)?];
                Some((*id, column.name.as_str()))
            });
            (usage, named.collect())
        })
    }

    /// Whether it is the same index.
    #[must_use]
    pub fn is_same(&self, other: &MissingIndex) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
            && (&self.equality, &self.inequality, &self.included)
                == (&other.equality, &other.inequality, &other.included)
    }
}

/// What reading a table lacks: the index, and what one reading would have been cheaper with it, in rows read.
#[derive(Clone, Debug)]
pub struct Lack {
    index: MissingIndex,
    saved: f64,
}

/// Conditions an index could answer.
struct Answerable {
    equality: BTreeSet<usize>,
    inequality: BTreeSet<usize>,
    /// The part of the table's rows that such an index would read.
    fraction: f64,
}

impl Planner<'_, '_> {
    /// What reading a table so lacks.
    pub(super) fn lack_of(
        &mut self,
        get: &Get,
        path: &Path,
        conjuncts: &[Expr],
        need: &SlotSet,
    ) -> Option<Box<Lack>> {
        if path.is_by_row() || path.point || path.cost < SAVED_MIN {
            return None;
        }
        let (answerable, total) = self.answerable(get, conjuncts)?;
        let found = (total * answerable.fraction).max(1.0);
        // Who changes rows fetches them whole.
        let row = if self.changes(get) { cost::ROW + cost::LOOKUP } else { cost::ROW * NARROW };
        let saved = path.cost - (cost::SEEK + found * row);
        self.lack(get, &answerable, conjuncts, need, saved)
    }

    /// What a hash join of a table lacks that could be looked up for each of so many rows of the other side.
    pub(super) fn note_join(
        &mut self,
        get: &Get,
        conjuncts: &[Expr],
        need: &SlotSet,
        other_rows: f64,
        node: &mut Node,
    ) {
        let spent = node.cost + node.rows * cost::HASH_BUILD;
        let Op::Access(access) = &mut node.op else { return };
        if spent < SAVED_MIN {
            return;
        }
        let Some((answerable, total)) = self.answerable(get, conjuncts) else { return };
        let found = (total * answerable.fraction).max(1.0);
        let saved = spent - other_rows.max(1.0) * (cost::SEEK + found * cost::ROW * NARROW);
        let lack = self.lack(get, &answerable, conjuncts, need, saved);
        if let Some(access) = Arc::get_mut(access)
            && lack.as_ref().is_some_and(|lack| access.lacks.as_ref().is_none_or(|l| l.saved < lack.saved))
        {
            access.lacks = lack;
        }
    }

    /// Whether the statement changes the rows that it reads here.
    fn changes(&self, get: &Get) -> bool {
        get.target || self.direct_target == Some(get.id)
    }

    /// The columns of conditions that an index could answer, and the rows of the table.
    fn answerable(&self, get: &Get, conjuncts: &[Expr]) -> Option<(Answerable, f64)> {
        let hints = &get.hints;
        let told = !hints.indexes.is_empty() || hints.force_scan;
        if told || !self.binder.scope.notes_missing_indexes(&get.table) {
            return None;
        }
        let (mut equality, mut inequality) = (BTreeSet::new(), BTreeSet::new());
        let (mut equal, mut ranges) = (BTreeSet::new(), Vec::new());
        for sarg in sargs(get, conjuncts) {
            if get.table.columns[sarg.column].ty.is_large() {
                continue;
            }
            if matches!(sarg.kind, SargKind::Eq(_) | SargKind::In(_)) {
                equality.insert(sarg.column);
                equal.insert(sarg.conjunct);
            } else {
                inequality.insert(sarg.column);
                ranges.push(sarg);
            }
        }
        inequality.retain(|column| !equality.contains(column));
        if equality.is_empty() && inequality.is_empty() {
            return None;
        }
        // One of the others ends the search: the best.
        let with = |column: Option<usize>| {
            let of = ranges.iter().filter(|s| Some(s.column) == column).map(|s| s.conjunct);
            let used: BTreeSet<usize> = equal.iter().copied().chain(of).collect();
            self.selectivity_of(used.iter().map(|i| &conjuncts[*i]), Some(get))
        };
        let fraction = inequality.iter().map(|c| with(Some(*c))).fold(with(None), f64::min);
        let total = self.statistics(&get.table).map_or(cost::DEFAULT_ROWS, |s| s.rows);
        Some((Answerable { equality, inequality, fraction }, total))
    }

    fn lack(
        &mut self,
        get: &Get,
        answerable: &Answerable,
        conjuncts: &[Expr],
        need: &SlotSet,
        saved: f64,
    ) -> Option<Box<Lack>> {
        if saved < SAVED_MIN {
            return None;
        }
        let table = &get.table;
        let ids = |columns: &BTreeSet<usize>| columns.iter().map(|c| table.columns[*c].column_id).collect();
        let (equality, inequality): (Vec<i32>, Vec<i32>) =
            (ids(&answerable.equality), ids(&answerable.inequality));
        let key = &table.clustered().key;
        let is_free = |id: i32| {
            equality.contains(&id) || inequality.contains(&id) || key.iter().any(|k| k.column_id == id)
        };
        let changes = self.changes(get);
        let mut read = need.clone();
        conjuncts.iter().for_each(|e| e.add_slots(&mut read));
        let columns = table.columns.iter().enumerate();
        let included = columns
            .filter(|(i, c)| !changes && read.contains(&get.slot(*i)) && !is_free(c.column_id))
            .map(|(_, c)| c.column_id)
            .collect();
        self.binder.lacks_index = true;
        let scope = self.binder.scope;
        let database = scope.database_name(table.database);
        let schema = scope.schema_name(table.database, table.schema_id);
        let table = Arc::clone(table);
        let index =
            MissingIndex { database, schema, table, equality, inequality, included, impact: 0.0, cost: 0.0 };
        Some(Box::new(Lack { index, saved }))
    }
}

/// The indexes that a plan lacks, those that would save most first.
pub(crate) fn of_plan(body: &Body, subplans: &[SubPlan]) -> Box<[MissingIndex]> {
    let all = steps::steps(body, subplans);
    let mut found: Vec<Lack> = Vec::new();
    all.iter().for_each(|step| collect(step, &mut found));
    let cost: f64 = all.iter().map(|step| step.cost).sum();
    let impact = |lack: Lack| {
        let impact = (lack.saved / cost.max(1.0) * 100.0).min(100.0);
        let impact = (impact * 10_000.0).round() / 10_000.0;
        MissingIndex { impact, cost: cost * UNIT_COST, ..lack.index }
    };
    let mut told: Vec<MissingIndex> = found.into_iter().map(impact).collect();
    told.retain(|index| index.impact >= IMPACT_MIN);
    told.sort_by(|a, b| b.impact.total_cmp(&a.impact));
    told.into()
}

fn collect(step: &Step<'_>, found: &mut Vec<Lack>) {
    if let Some(lack) = step.lacks {
        let saved = lack.saved * step.executions.max(1.0);
        match found.iter_mut().find(|l| l.index.is_same(&lack.index)) {
            Some(same) => same.saved += saved,
            None => found.push(Lack { saved, ..lack.clone() }),
        }
    }
    step.inputs.iter().for_each(|input| collect(input, found));
}
