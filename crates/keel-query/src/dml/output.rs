//! OUTPUT clauses: rows to the client, or into another table.

use super::target::Target;
use super::{Assignment, column_position, resolve_target};
use crate::bind::expr::{Clause, ExprCx};
use crate::bind::mask::Masks;
use crate::bind::{Binder, Scope, Source};
use crate::errors::{self, Result};
use crate::expr::compile::{Code, Compiler};
use crate::expr::{Expr, Slot};
use crate::meta::ColumnMeta;
use crate::plan::Planner;
use keel_parser::ast;
use std::rc::Rc;
use std::sync::Arc;

/// A compiled OUTPUT clause.
pub(crate) enum Output {
    /// Rows for the client.
    Client(Vec<Code>),
    /// Rows for a table.
    Into(Arc<Target>, super::insert::InsertRow),
}

/// A bound OUTPUT clause.
pub(crate) struct BoundOutput {
    items: Vec<(String, Expr)>,
    into: Option<(Target, Vec<usize>)>,
}

/// All OUTPUT clauses of a statement, compiled.
pub(crate) struct Outputs {
    pub list: Vec<Output>,
    pub columns: Vec<ColumnMeta>,
}

impl Outputs {
    /// Error 334: what triggers may still change is not shown to the client.
    pub(crate) fn refuse_triggers(&self, triggers: bool, table: &str) -> Result<()> {
        if triggers && self.list.iter().any(|o| matches!(o, Output::Client(_))) {
            return Err(errors::output_beside_triggers(table));
        }
        Ok(())
    }
}

/// Binds the clauses. `sources` are `inserted`, `deleted` and the statement's other tables.
pub(crate) fn bind_outputs(
    binder: &mut Binder<'_>,
    clauses: &[ast::OutputClause],
    sources: Vec<Rc<Source>>,
    action: Option<Rc<Source>>,
) -> Result<Vec<BoundOutput>> {
    let mut bound = Vec::new();
    let all: Vec<Rc<Source>> = sources.iter().cloned().chain(action).collect();
    let scope = Scope::new(all, None);
    for clause in clauses {
        let mut items = Vec::new();
        for item in &clause.items {
            match item {
                ast::SelectItem::Star { qualifier, .. } => {
                    let matching = crate::bind::meant(&sources, qualifier.as_ref());
                    let mut any = false;
                    for s in matching {
                        any = true;
                        for c in s.columns.iter().filter(|c| !s.hidden.contains(&c.slot)) {
                            binder.note_slot(c.slot);
                            items.push((c.name.clone(), binder.read(c.slot)));
                        }
                    }
                    if !any {
                        let name = qualifier.as_ref().map_or("*".to_owned(), |q| q.to_string());
                        return Err(errors::bad_star_prefix(&name));
                    }
                }
                ast::SelectItem::Expr { expr, alias } => {
                    let e = binder.value(expr, &mut ExprCx::new(&scope, Clause::Output))?;
                    let name = match (alias, &expr.kind) {
                        (Some(a), _) => a.text.to_string(),
                        (None, ast::ExprKind::Column(c)) => c.name.text.to_string(),
                        (None, ast::ExprKind::Pseudo { name, .. }) => name.to_lowercase(),
                        _ => String::new(),
                    };
                    items.push((name, e));
                }
                ast::SelectItem::Assign { .. } => return Err(errors::mixed_assignment()),
            }
        }
        let into = match &clause.into {
            None => None,
            Some(into) => {
                let table = resolve_target(binder, &into.target)?;
                let columns = if into.columns.is_empty() {
                    super::insert::insert_columns(&table, &[])?
                } else {
                    into.columns
                        .iter()
                        .map(|c| column_position(&table, &c.text))
                        .collect::<Result<Vec<_>>>()?
                };
                if columns.len() != items.len() {
                    return Err(errors::insert_column_count());
                }
                let mut target = Target::new(binder, &table)?;
                target.parents.iter().for_each(|parent| parent.announce(binder.scope));
                if table.history_of.is_some() {
                    return Err(errors::history_inserted(&target.full_name));
                }
                if columns.iter().any(|i| table.period_part(*i).is_some()) {
                    return Err(errors::generated_inserted(&target.full_name));
                }
                target.bind_blocks(binder)?;
                Some((target, columns))
            }
        };
        bound.push(BoundOutput { items, into });
    }
    Ok(bound)
}

/// The clauses with what they show behind masks: those of the statement's sources, and of the target's new values.
pub(crate) fn masked(mut bound: Vec<BoundOutput>, mut masks: Masks, target: &Target) -> Vec<BoundOutput> {
    masks.add_table(&target.table, target.new_first as Slot);
    for (_, e) in bound.iter_mut().flat_map(|b| &mut b.items) {
        let value = std::mem::replace(e, Expr::null());
        *e = masks.put_on(value);
    }
    bound
}

/// Slots that the clauses read.
pub(crate) fn slots_of(bound: &[BoundOutput], set: &mut crate::bind::rel::SlotSet) {
    for b in bound {
        b.items.iter().for_each(|(_, e)| e.add_slots(set));
    }
}

/// Replaces slots in the clauses.
pub(crate) fn substitute(
    bound: &mut [BoundOutput],
    map: &std::collections::HashMap<crate::expr::Slot, Expr>,
) {
    bound.iter_mut().flat_map(|b| &mut b.items).for_each(|(_, e)| e.substitute(map));
}

/// Compiles the clauses.
pub(crate) fn compile_outputs(planner: &mut Planner<'_, '_>, bound: Vec<BoundOutput>) -> Result<Outputs> {
    let mut outputs = Outputs { list: Vec::new(), columns: Vec::new() };
    for BoundOutput { items, into } in bound {
        match into {
            None => {
                outputs.columns = items
                    .iter()
                    .map(|(name, e)| {
                        let mut meta = ColumnMeta::new(name.clone(), e.ty);
                        meta.collation = e.collation;
                        meta.nullable = e.nullable;
                        meta
                    })
                    .collect();
                let codes = Compiler { subqueries: planner }.values(items.iter().map(|(_, e)| e))?;
                outputs.list.push(Output::Client(codes));
            }
            Some((target, columns)) => {
                let exprs = items.into_iter().map(|(_, e)| e).collect();
                let (mut row, all) =
                    super::insert::insert_row(planner.binder, &target, &columns, exprs, false)?;
                for (column, e) in all {
                    let code = target.assignment(e, column, &mut Compiler { subqueries: planner })?;
                    row.assignments.push(Assignment { column, code });
                }
                row.blocks = target.blocks_after(planner, None)?;
                outputs.list.push(Output::Into(Arc::new(target), row));
            }
        }
    }
    Ok(outputs)
}
