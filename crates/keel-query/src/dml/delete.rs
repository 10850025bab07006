//! DELETE.

use super::block::Blocks;
use super::cascade::{self, Child};
use super::output::{bind_outputs, compile_outputs, slots_of};
use super::target::Target;
use super::update::{Found, find_target, guards_read, locate, merge_hints, reference, where_clause};
use super::{Change, DmlPlan, decoders, refuse_view_rows, renamed};
use crate::bind::rel::SlotSet;
use crate::bind::{Binder, Scope};
use crate::context::DmlAction;
use crate::errors::{self, Result};
use crate::expr::{Expr, Slot};
use crate::plan::Planner;
use crate::plan::api::finish;
use crate::plan::run::{Body, Plan};
use crate::policy::PredicateKind;
use crate::scope::BindScope;
use keel_parser::ast;
use std::sync::Arc;

/// How a found row goes.
pub(crate) struct DeleteRow {
    /// Referencing tables to look after.
    pub children: Vec<Child>,
    /// Block predicates on the row.
    pub before: Blocks,
}

/// Compiles DELETE.
pub fn compile_delete(scope: &dyn BindScope, delete: &ast::Delete) -> Result<Plan> {
    let mut binder = Binder::directed(scope);
    binder.query_hints(&delete.options)?;
    binder.with_ctes(delete.with.as_ref(), |b| delete_with(b, delete))
}

fn delete_with(binder: &mut Binder<'_>, delete: &ast::Delete) -> Result<Plan> {
    let mut found = find_target(binder, &delete.target, &delete.from, &[])?;
    let table = match reference(&mut found.rel, found.get) {
        Some(g) => {
            let extra = binder.hints(&delete.target.hints, Some(&g.table))?;
            merge_hints(&mut g.hints, extra);
            g.table.clone()
        }
        None => return Err(errors::view_not_updatable(&found.source.alias)),
    };
    refuse_view_rows(&table)?;
    let mut target = Target::new(binder, &table)?;
    if table.history_of.is_some() && !binder.scope.cleans_history() {
        return Err(errors::history_deleted(&target.full_name));
    }
    target.bind_blocks(binder)?;
    let scope = Scope::new(found.sources.clone(), None);
    let filter = where_clause(binder, delete.filter.as_ref(), &scope)?;
    let mut sources = vec![renamed(&found.source, "deleted")];
    sources.extend(found.sources.iter().cloned());
    let outputs = bind_outputs(binder, &delete.output, sources, None)?;
    let outputs = super::output::masked(outputs, binder.masks(&found.rel), &target);
    let top = match &delete.top {
        Some(t) => Some((binder.count_value(&t.count, &Scope::default(), t.percent)?, t.percent)),
        None => None,
    };
    let mut planner = Planner::new(binder);
    let (plan, columns) = delete_plan(&mut planner, found, target, filter, outputs, top)?;
    let subplans = planner.subplans;
    Ok(finish(binder, Body::Dml(Box::new(plan)), subplans, columns, None))
}

/// Compiles a bound delete; also used for cascades.
pub(crate) fn delete_plan(
    planner: &mut Planner<'_, '_>,
    mut found: Found,
    target: Target,
    filter: Vec<Expr>,
    outputs: Vec<super::output::BoundOutput>,
    top: Option<(Expr, bool)>,
) -> Result<(DmlPlan, Vec<crate::meta::ColumnMeta>)> {
    let self_reading = filter.iter().any(Expr::has_subquery) || guards_read(&mut found, &target);
    let old_first = reference(&mut found.rel, found.get).map_or(0, |g| g.first_slot as usize);
    let mut need = SlotSet::new();
    slots_of(&outputs, &mut need);
    let triggers = planner.binder.scope.has_triggers(&target.table, DmlAction::Delete);
    let children = cascade::children(planner, &target, old_first, None)?;
    let mut touched = target.needed_for_delete();
    touched.extend(children.iter().flat_map(|c| c.referenced.iter().copied()));
    if triggers {
        touched.extend(0..target.table.columns.len());
    }
    need.extend(touched.iter().map(|i| (old_first + i) as Slot));
    let located = locate(planner, found, filter, top, &need, &[])?;
    let before = target.blocks_before(planner, PredicateKind::BeforeDelete, old_first)?;
    let outputs = compile_outputs(planner, outputs)?;
    outputs.refuse_triggers(triggers, &target.name)?;
    let shown = planner.show_change("Table Delete", "Delete", &target, None);
    let last = old_first + target.table.columns.len();
    let columns: Vec<usize> = need
        .iter()
        .map(|s| *s as usize)
        .filter(|s| (old_first..last).contains(s))
        .map(|s| s - old_first)
        .collect();
    let decode = decoders(&target.table, &columns, old_first);
    let savepoint = !located.single
        || !target.indexes.is_empty()
        || !children.is_empty()
        || !outputs.list.is_empty()
        || triggers;
    let plan = DmlPlan {
        target: Arc::new(target),
        source: Arc::new(located.node),
        change: Change::Delete(DeleteRow { children, before }),
        outputs: outputs.list,
        // A deleted row is not found again: no need to collect first, unless the search looks at the table elsewhere.
        in_place: located.in_place && !self_reading && !triggers,
        row_key: located.row_key,
        carried: located.carried,
        decode,
        old_first,
        savepoint,
        triggers,
        nested: None,
        shown,
    };
    Ok((plan, outputs.columns))
}
