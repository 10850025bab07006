//! Block predicates of security policies: which rows a statement may add, change and remove.
//!
//! AFTER predicates look at a row as it is stored, AFTER UPDATE only when a column it is called with has been assigned; BEFORE
//! predicates at the row that is about to change or go. Cascades of foreign keys pass all of them.

use super::target::Target;
use crate::bind::Binder;
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::expr::compile::{Compiler, Pred};
use crate::expr::{Expr, Slot};
use crate::plan::Planner;
use crate::policy::PredicateKind;
use std::collections::HashMap;

/// A block predicate on a target, bound over its new slots.
pub struct BlockPredicate {
    kind: PredicateKind,
    condition: Expr,
    /// Positions of the columns it reads.
    columns: Vec<usize>,
}

/// Compiled predicates of one operation.
#[derive(Default)]
pub(crate) struct Blocks(Vec<Pred>);

impl Blocks {
    /// Error 33504 when the row does not pass one.
    pub fn check(&self, target: &Target, cx: &mut Cx<'_>) -> Result<()> {
        for pred in &self.0 {
            if !pred.test(cx)? {
                return Err(errors::blocked(&target.full_name));
            }
        }
        Ok(())
    }
}

impl Target {
    /// Binds the block predicates of the table.
    pub(crate) fn bind_blocks(&mut self, binder: &mut Binder<'_>) -> Result<()> {
        let (database, object) = (self.table.database, self.table.object_id);
        let source = self.source(&self.table.name);
        for (policy, predicate) in binder.predicates_on(database, object) {
            // A filter is no business of new rows, but one that cannot be bound any more lets nobody in.
            if predicate.kind.filters() && policy.schema_bound {
                continue;
            }
            let condition = Expr::and(binder.predicate(database, &policy, &predicate, &source)?);
            if predicate.kind.filters() {
                continue;
            }
            let columns = self.positions(&condition);
            self.blocks.push(BlockPredicate { kind: predicate.kind, condition, columns });
        }
        Ok(())
    }

    /// Whether a predicate has to look at tables.
    pub(crate) fn blocks_read(&self) -> bool {
        self.blocks.iter().any(|b| b.condition.has_subquery())
    }

    fn blocking(&self, operation: PredicateKind) -> impl Iterator<Item = &BlockPredicate> {
        self.blocks.iter().filter(move |b| b.kind.blocks(operation))
    }

    /// Positions of the columns that an operation's predicates read.
    pub(crate) fn read_by_blocks(&self, operation: PredicateKind) -> Vec<usize> {
        self.blocking(operation).flat_map(|b| &b.columns).copied().collect()
    }

    /// The predicates on a row as it will be; of `changed` columns those of an UPDATE, or all of an INSERT.
    pub(crate) fn blocks_after(
        &self,
        planner: &mut Planner<'_, '_>,
        changed: Option<&[usize]>,
    ) -> Result<Blocks> {
        let operation =
            if changed.is_some() { PredicateKind::AfterUpdate } else { PredicateKind::AfterInsert };
        let touched =
            |b: &&BlockPredicate| changed.is_none_or(|c| b.columns.iter().any(|own| c.contains(own)));
        let conditions: Vec<Expr> =
            self.blocking(operation).filter(touched).map(|b| b.condition.clone()).collect();
        compile(planner, &conditions)
    }

    /// The predicates on a row as it was, its values from `old_first` on.
    pub(crate) fn blocks_before(
        &self,
        planner: &mut Planner<'_, '_>,
        operation: PredicateKind,
        old_first: usize,
    ) -> Result<Blocks> {
        let width = self.table.columns.len();
        let old =
            (0..width).map(|i| ((self.new_first + i) as Slot, planner.binder.read((old_first + i) as Slot)));
        let map: HashMap<Slot, Expr> = old.collect();
        let mut conditions: Vec<Expr> = self.blocking(operation).map(|b| b.condition.clone()).collect();
        conditions.iter_mut().for_each(|e| e.substitute(&map));
        compile(planner, &conditions)
    }
}

/// What their subqueries read may have been written by the statement itself, a row ago: no answer is kept.
fn compile(planner: &mut Planner<'_, '_>, conditions: &[Expr]) -> Result<Blocks> {
    let first = planner.subplans.len();
    planner.anew = true;
    let mut compiler = Compiler { subqueries: &mut *planner };
    let compiled: Result<Vec<Pred>> = conditions.iter().map(|e| compiler.condition(e)).collect();
    planner.anew = false;
    planner.subplans[first..].iter_mut().for_each(|s| s.kept = 0);
    compiled.map(Blocks)
}
