//! MERGE: source and target are joined, each joined row gets the first action that fits, then all actions happen.

use super::cascade;
use super::delete::DeleteRow;
use super::insert::{InsertRow, columns_of_values, insert_columns, insert_row, is_generated, is_made};
use super::output::{bind_outputs, compile_outputs, slots_of};
use super::target::Target;
use super::update::{BoundSet, UpdateRow, bind_sets, changed_columns, compile_sets, masked_sets, reference};
use super::view;
use super::{Assignment, Change, DmlPlan, decoders, refuse_view_rows, renamed, resolve_target};
use crate::bind::expr::{Clause, ExprCx};
use crate::bind::rel::{JoinKind, Rel, SlotSet};
use crate::bind::{Binder, Scope, Source, SourceColumn};
use crate::context::DmlAction;
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::expr::compile::{Compiler, Pred};
use crate::expr::{Expr, Slot};
use crate::plan::Planner;
use crate::plan::api::finish;
use crate::plan::run::{Body, Plan};
use crate::policy::PredicateKind;
use crate::scope::BindScope;
use keel_parser::ast;
use keel_types::{Length, SqlType};
use std::rc::Rc;
use std::sync::Arc;

/// The actions of a MERGE.
pub(crate) struct MergeRow {
    pub steps: Vec<MergeStep>,
    /// Not NULL when the joined row has a source row.
    pub source_present: usize,
    /// `$action`.
    pub action_slot: usize,
    pub old_slots: Vec<usize>,
    pub new_slots: Vec<usize>,
}

/// One WHEN clause.
pub(crate) enum MergeStep {
    Insert(ast::MergeMatch, Option<Pred>, InsertRow),
    Update(ast::MergeMatch, Option<Pred>, UpdateRow),
    Delete(ast::MergeMatch, Option<Pred>, DeleteRow),
}

impl MergeStep {
    pub fn action(&self) -> DmlAction {
        match self {
            MergeStep::Insert(..) => DmlAction::Insert,
            MergeStep::Update(..) => DmlAction::Update,
            MergeStep::Delete(..) => DmlAction::Delete,
        }
    }
    /// When it is done: rows go, change, and come, in this order.
    pub fn turn(&self) -> u8 {
        match self {
            MergeStep::Delete(..) => 0,
            MergeStep::Update(..) => 1,
            MergeStep::Insert(..) => 2,
        }
    }
    fn shape(&self) -> (ast::MergeMatch, Option<&Pred>) {
        match self {
            MergeStep::Insert(m, p, _) => (*m, p.as_ref()),
            MergeStep::Update(m, p, _) => (*m, p.as_ref()),
            MergeStep::Delete(m, p, _) => (*m, p.as_ref()),
        }
    }
}

impl MergeRow {
    /// The first clause that applies to the joined row in the frame.
    pub fn choose(&self, in_target: bool, in_source: bool, cx: &mut Cx<'_>) -> Result<Option<usize>> {
        for (i, step) in self.steps.iter().enumerate() {
            let (matched, condition) = step.shape();
            let fits = match matched {
                ast::MergeMatch::Matched => in_target && in_source,
                ast::MergeMatch::NotMatchedByTarget => !in_target && in_source,
                ast::MergeMatch::NotMatchedBySource => in_target && !in_source,
            };
            if !fits {
                continue;
            }
            match condition {
                Some(p) if !p.test(cx)? => {}
                _ => return Ok(Some(i)),
            }
        }
        Ok(None)
    }
}

enum BoundStep {
    Insert(Vec<usize>, Vec<Expr>),
    Update(Vec<BoundSet>),
    Delete,
}

/// Compiles MERGE.
pub fn compile_merge(scope: &dyn BindScope, merge: &ast::Merge) -> Result<Plan> {
    let mut binder = Binder::directed(scope);
    binder.query_hints(&merge.options)?;
    binder.with_ctes(merge.with.as_ref(), |b| merge_with(b, merge))
}

/// What of its WHEN clauses can be together: errors 10710, 10711, 10714 and 5324.
fn check_whens(whens: &[ast::MergeWhen]) -> Result<()> {
    for (at, when) in whens.iter().enumerate() {
        let (clause, inserts) = match when.matched {
            ast::MergeMatch::Matched => ("WHEN MATCHED", false),
            ast::MergeMatch::NotMatchedByTarget => ("WHEN NOT MATCHED", true),
            ast::MergeMatch::NotMatchedBySource => ("WHEN NOT MATCHED BY SOURCE", false),
        };
        let kind = |when: &ast::MergeWhen| match when.action {
            ast::MergeAction::Insert { .. } => "INSERT",
            ast::MergeAction::Update(_) => "UPDATE",
            ast::MergeAction::Delete => "DELETE",
        };
        let action = kind(when);
        if inserts != (action == "INSERT") {
            return Err(errors::merge_action(if inserts { 10710 } else { 10711 }, action, clause));
        }
        let mut before = whens[..at].iter().filter(|other| other.matched == when.matched);
        if before.clone().any(|other| kind(other) == action) {
            return Err(errors::merge_action_twice(action, clause));
        }
        if before.any(|other| other.condition.is_none()) {
            return Err(errors::merge_unreachable(clause));
        }
    }
    Ok(())
}

/// What a statement merges into: the rows of a table, or those that a CTE leaves of it.
struct MergeInto {
    rel: Rel,
    source: Rc<Source>,
    /// The reference whose rows change.
    get: u32,
}

fn merge_target(binder: &mut Binder<'_>, merge: &ast::Merge) -> Result<MergeInto> {
    if let ast::TableRef::Named(name) = &merge.target.table
        && binder.is_cte(name)
    {
        let (rel, source) = view::cte_source(binder, name, merge.alias.as_ref(), &merge.target.hints)?;
        let get = view::updatable_base(binder, &rel, &source, &[])?;
        return Ok(MergeInto { rel, source, get });
    }
    let table = resolve_target(binder, &merge.target.table)?;
    let alias = match (&merge.alias, &merge.target.table) {
        (Some(a), _) => a.text.to_string(),
        (None, ast::TableRef::Named(n)) => n.name.text.to_string(),
        (None, ast::TableRef::Variable(v)) => v.name.to_string(),
    };
    let hints = binder.hints(&merge.target.hints, Some(&table))?;
    let schema = merge.alias.is_none().then(|| binder.scope.schema_name(table.database, table.schema_id));
    let (get, mut source) = binder.guarded_get(table, &alias, schema, hints)?;
    if let (None, ast::TableRef::Named(name)) = (&merge.alias, &merge.target.table) {
        Rc::make_mut(&mut source).database = name.database.as_ref().map(|d| d.as_str().to_owned());
    }
    let id = get.id;
    Ok(MergeInto { rel: Rel::Get(Box::new(get)), source, get: id })
}

fn merge_with(binder: &mut Binder<'_>, merge: &ast::Merge) -> Result<Plan> {
    check_whens(&merge.whens)?;
    let MergeInto { rel: mut into, source, get } = merge_target(binder, merge)?;
    let get = reference(&mut into, get).expect("the reference that was found");
    get.target = true;
    let (table, old_first, row_key) = (get.table.clone(), get.first_slot as usize, get.locator);
    refuse_view_rows(&table)?;
    let mut target = Target::new(binder, &table)?;
    target.parents.iter().for_each(|parent| parent.announce(binder.scope));
    if table.history_of.is_some() {
        return Err(errors::history_merged(&target.full_name));
    }
    target.bind_blocks(binder)?;
    super::nested::refuse(std::slice::from_ref(&merge.source), errors::nested_in_using)?;
    let (using, using_sources) = binder.table_source(&merge.source, None, &[])?;
    if using_sources.iter().any(|s| s.is_called_like(&source)) {
        return Err(errors::merge_of_one_name());
    }
    let present = binder.typed_slot("", SqlType::Int, true);
    let using = using.project(vec![(present, Expr::int(1))]);
    let action = binder.typed_slot("$action", SqlType::NVarChar(Length::Limited(10)), false);

    let mut both: Vec<Rc<Source>> = vec![source.clone()];
    both.extend(using_sources.iter().cloned());
    let scope = Scope::new(both.clone(), None);
    let source_scope = Scope::new(using_sources.clone(), None);
    let target_scope = Scope::new(vec![source.clone()], None);
    let on = binder.conjuncts(&merge.on, &mut ExprCx::new(&scope, Clause::Where))?;
    let mut masks = binder.masks(&using);
    if !binder.masked.is_empty() {
        masks.add(&into);
    }
    let mut need = SlotSet::from([row_key, present]);
    let mut steps = Vec::new();
    for when in &merge.whens {
        // A row without a counterpart has only its own columns.
        let visible = match when.matched {
            ast::MergeMatch::Matched => &scope,
            ast::MergeMatch::NotMatchedByTarget => &source_scope,
            ast::MergeMatch::NotMatchedBySource => &target_scope,
        };
        let condition = match &when.condition {
            Some(c) => Some(binder.condition(c, &mut ExprCx::new(visible, Clause::Where))?),
            None => None,
        };
        condition.iter().for_each(|c| c.add_slots(&mut need));
        let step = match &when.action {
            ast::MergeAction::Delete => BoundStep::Delete,
            ast::MergeAction::Update(sets) => {
                let bound = binder.in_row(|b| bind_sets(b, &target, &source, visible, sets))?;
                let bound = masked_sets(&mut masks, &target, bound);
                bound.iter().for_each(|s| s.value.add_slots(&mut need));
                BoundStep::Update(bound)
            }
            ast::MergeAction::Insert { columns, values } => {
                let values = values.as_deref();
                let columns = match &source.get {
                    Some(_) => columns.clone(),
                    None => view::behind(binder, &into, &source.columns, columns, &source.alias)?.1,
                };
                let columns = &columns;
                let step =
                    binder.in_row(|b| bind_insert(b, &target, columns, values, &source_scope, &mut need))?;
                match step {
                    BoundStep::Insert(columns, exprs) => {
                        let exprs = exprs.into_iter().map(|e| masks.put_on(e)).collect();
                        BoundStep::Insert(columns, exprs)
                    }
                    step => step,
                }
            }
        };
        steps.push((when.matched, condition, step));
    }
    let width = table.columns.len();
    need.extend((0..width).map(|i| (old_first + i) as Slot));
    let inserted = target.source("inserted");
    // A row may have no counterpart on any side.
    let shown = inserted.columns.iter().chain(&source.columns);
    for slot in shown.chain(using_sources.iter().flat_map(|s| &s.columns)).map(|c| c.slot) {
        binder.slots[slot as usize].nullable = true;
    }
    let pseudo = Rc::new(Source::of("", vec![SourceColumn { name: "$action".into(), slot: action }]));
    let mut sources = vec![inserted, renamed(&source, "deleted")];
    sources.extend(both);
    let outputs = bind_outputs(binder, &merge.output, sources, Some(pseudo))?;
    let outputs = super::output::masked(outputs, masks, &target);
    slots_of(&outputs, &mut need);
    let new_range = target.new_first..target.new_first + width;
    need.retain(|s| !new_range.contains(&(*s as usize)) && *s != action);

    let by_target = merge.whens.iter().any(|w| w.matched == ast::MergeMatch::NotMatchedByTarget);
    let by_source = merge.whens.iter().any(|w| w.matched == ast::MergeMatch::NotMatchedBySource);
    let kind = match (by_target, by_source) {
        (_, true) => JoinKind::Full,
        (true, false) => JoinKind::Left,
        (false, false) => JoinKind::Inner,
    };
    let mut rel = Rel::Join { kind, left: Box::new(using), right: Box::new(into), on, hint: None };
    if let Some(top) = &merge.top {
        let count = binder.count_value(&top.count, &Scope::default(), top.percent)?;
        rel = Rel::Top {
            input: Box::new(rel),
            count: Some(count),
            percent: top.percent,
            ties: None,
            offset: None,
        };
    }
    let mut planner = Planner::new(binder);
    let planned = planner.plan_tree(rel, &need)?;
    let mut compiled = Vec::new();
    for (matched, condition, step) in steps {
        compiled.push(compile_step(&mut planner, &target, old_first, matched, condition, step)?);
    }
    let outputs = compile_outputs(&mut planner, outputs)?;
    let all: Vec<usize> = (0..width).collect();
    let triggers = compiled.iter().any(|s: &MergeStep| planner.binder.scope.has_triggers(&table, s.action()));
    outputs.refuse_triggers(triggers, &target.name)?;
    let shown = planner.show_change("Table Merge", "Merge", &target, None);
    let subplans = planner.subplans;
    let plan = DmlPlan {
        decode: decoders(&table, &all, old_first),
        change: Change::Merge(MergeRow {
            steps: compiled,
            source_present: present as usize,
            action_slot: action as usize,
            old_slots: (old_first..old_first + width).collect(),
            new_slots: new_range.collect(),
        }),
        target: Arc::new(target),
        source: Arc::new(planned.node),
        outputs: outputs.list,
        in_place: false,
        row_key: Some(row_key as usize),
        carried: need.iter().map(|s| *s as usize).collect(),
        old_first,
        savepoint: true,
        triggers,
        nested: None,
        shown,
    };
    Ok(finish(binder, Body::Dml(Box::new(plan)), subplans, outputs.columns, None))
}

fn bind_insert(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[ast::Ident],
    values: Option<&[ast::Expr]>,
    scope: &Scope<'_>,
    need: &mut SlotSet,
) -> Result<BoundStep> {
    let Some(values) = values else { return Ok(BoundStep::Insert(Vec::new(), Vec::new())) };
    let positions = insert_columns(&target.table, columns)?;
    let positions = columns_of_values(&target.table, positions, !columns.is_empty(), values.len());
    if positions.len() != values.len() {
        return Err(if values.len() < positions.len() {
            errors::insert_more_columns_than_values()
        } else {
            errors::insert_fewer_columns_than_values()
        });
    }
    let mut exprs = Vec::new();
    for (e, column) in values.iter().zip(&positions) {
        if is_generated(target, *column, Some(e))? {
            continue;
        }
        let mut cx = ExprCx::new(scope, Clause::Other);
        cx.default = Some(target.default_of(binder, *column)?);
        let bound = binder.value(e, &mut cx)?;
        let bound = binder.to_assign(bound);
        bound.add_slots(need);
        exprs.push(bound);
    }
    let positions = positions.into_iter().filter(|i| !is_made(&target.table, *i)).collect();
    Ok(BoundStep::Insert(positions, exprs))
}

fn compile_step(
    planner: &mut Planner<'_, '_>,
    target: &Target,
    old_first: usize,
    matched: ast::MergeMatch,
    condition: Option<Expr>,
    step: BoundStep,
) -> Result<MergeStep> {
    let pred = condition.map(|c| Compiler { subqueries: planner }.condition(&c)).transpose()?;
    Ok(match step {
        BoundStep::Delete => {
            let children = cascade::children(planner, target, old_first, None)?;
            let before = target.blocks_before(planner, PredicateKind::BeforeDelete, old_first)?;
            MergeStep::Delete(matched, pred, DeleteRow { children, before })
        }
        BoundStep::Update(sets) => {
            let changed = changed_columns(target, &sets);
            let children = cascade::children(planner, target, old_first, Some(&changed))?;
            let not_null =
                sets.iter().filter_map(|s| s.column).filter(|i| !target.table.columns[*i].nullable).collect();
            let parents = (0..target.parents.len())
                .filter(|p| target.parents[*p].columns.iter().any(|c| changed.contains(c)))
                .collect();
            let copies = (0..target.table.columns.len()).filter(|i| !changed.contains(i)).collect();
            let sets = compile_sets(planner, target, sets)?;
            let before = target.blocks_before(planner, PredicateKind::BeforeUpdate, old_first)?;
            let after = target.blocks_after(planner, Some(&changed))?;
            let row = UpdateRow { sets, changed, copies, not_null, parents, children, before, after };
            MergeStep::Update(matched, pred, row)
        }
        BoundStep::Insert(columns, exprs) => {
            let (mut row, all) = insert_row(planner.binder, target, &columns, exprs, false)?;
            for (column, e) in all {
                let code = target.assignment(e, column, &mut Compiler { subqueries: planner })?;
                row.assignments.push(Assignment { column, code });
            }
            row.blocks = target.blocks_after(planner, None)?;
            MergeStep::Insert(matched, pred, row)
        }
    })
}
