//! `INSERT … SELECT … FROM (DELETE … OUTPUT …) AS a`: the rows that another change outputs, as the source of an INSERT.
//!
//! The inner change is a plan of its own. Its rows are a virtual table: opening it makes the change, under the INSERT's savepoint, so that
//! both happen or neither. What stands where is checked as the product documents it ("INSERT", *dml_table_source*; "OUTPUT clause",
//! *Remarks*).

use super::foreign;
use super::target::Target;
use crate::bind::from::BoundSource;
use crate::bind::{Binder, BoundQuery, OutputColumn};
use crate::context::{DmlAction, ExecCtx, RowBuffer, RowSink};
use crate::errors::{self, Error, Result};
use crate::plan::api::{Dml, compile_dml};
use crate::plan::run::Plan;
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_parser::ast::{self, StatementKind, TableSource, TableSourceKind};
use keel_types::Value;
use std::sync::Arc;

/// The rows that a change outputs.
struct NestedChange {
    plan: Arc<Plan>,
    columns: Vec<VirtualColumn>,
}

/// What the change has said so far.
struct Made {
    rows: RowBuffer,
    messages: Vec<Error>,
}

impl RowSink for Made {
    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.rows.row(values)
    }
    fn message(&mut self, message: &Error) {
        self.messages.push(message.clone());
    }
}

impl VirtualTable for NestedChange {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, _: &[Value]) -> Result<RowSource> {
        let mut made = Made { rows: RowBuffer::limited(ctx.session), messages: Vec::new() };
        self.plan.run(ctx, &mut made)?;
        Ok(Box::new(made.messages.into_iter().map(Err).chain(made.rows.rows.into_iter().map(Ok))))
    }
    fn change(&self) -> Option<&Plan> {
        Some(&self.plan)
    }
}

fn is_change(source: &TableSource) -> bool {
    matches!(source.kind, TableSourceKind::Dml { .. })
}

/// An error where one of these is a change.
pub(crate) fn refuse(from: &[TableSource], error: fn() -> Error) -> Result<()> {
    if from.iter().any(is_change) { Err(error()) } else { Ok(()) }
}

/// Error 10733 where a query of a set operation reads a change.
pub(crate) fn refuse_in_set(terms: &[ast::QueryBody]) -> Result<()> {
    terms.iter().try_for_each(|term| match term {
        ast::QueryBody::Select(select) => refuse(&select.from, errors::nested_in_set),
        ast::QueryBody::Set { .. } => Ok(()),
    })
}

/// What a change in FROM has from the INSERT around it.
pub(crate) struct Surroundings {
    /// Its common table expressions.
    pub with: Option<ast::With>,
}

/// Whether the SELECT of an INSERT reads nothing but a change. Errors 10718 and 10723: what it cannot have besides.
pub(super) fn is_source(insert: &ast::Insert, query: &ast::Query) -> Result<bool> {
    let ast::QueryBody::Select(select) = &query.body else { return Ok(false) };
    if !matches!(select.from.as_slice(), [only] if is_change(only)) {
        return Ok(false);
    }
    let clauses = [
        (select.top.is_some() || query.offset.is_some() || insert.top.is_some(), "TOP or OFFSET"),
        (select.group_by.is_some(), "GROUP BY"),
        (select.having.is_some(), "HAVING"),
        (!query.order_by.is_empty(), "ORDER BY"),
        (!insert.output.is_empty(), "OUTPUT"),
    ];
    if let Some((_, clause)) = clauses.iter().find(|(there, _)| *there) {
        return Err(errors::clause_beside_nested(clause));
    }
    if select.distinct {
        return Err(errors::distinct_beside_nested());
    }
    Ok(true)
}

/// What the target of an INSERT from a change cannot be or have: errors 354 to 356.
pub(super) fn check_target(binder: &Binder<'_>, insert: &ast::Insert, target: &Target) -> Result<()> {
    if let ast::TableRef::Named(name) = &insert.target.table
        && !super::view::is_stored(binder, name)
    {
        return Err(errors::nested_into_view(&name.to_string()));
    }
    if binder.scope.has_triggers(&target.table, DmlAction::Insert) {
        return Err(errors::nested_into_triggers(&target.name));
    }
    let own = target.table.foreign_keys.iter().find(|fk| !fk.disabled).map(|fk| fk.name.clone());
    let found = own.or_else(|| foreign::children(binder, &target.table).first().map(|c| c.fk.name.clone()));
    found.map_or(Ok(()), |name| Err(errors::nested_into_key(&target.name, &name)))
}

/// Errors of a change that cannot be one in FROM: 10717, 10719, 10721, 10722, 10732.
fn check_change(kind: &StatementKind) -> Result<()> {
    let (output, options, filter) = match kind {
        StatementKind::Insert(i) => (&i.output, &i.options, None),
        StatementKind::Update(u) => (&u.output, &u.options, u.filter.as_ref()),
        StatementKind::Delete(d) => (&d.output, &d.options, d.filter.as_ref()),
        StatementKind::Merge(m) => (&m.output, &m.options, None),
        _ => return Err(errors::nested_elsewhere()),
    };
    if let StatementKind::Insert(insert) = kind
        && let ast::InsertSource::Query(query) = &insert.source
        && let ast::QueryBody::Select(select) = &query.body
    {
        refuse(&select.from, errors::nested_in_nested)?;
    }
    if output.is_empty() {
        return Err(errors::nested_without_output());
    }
    if output.iter().any(|clause| clause.into.is_some()) {
        return Err(errors::nested_output_into());
    }
    if matches!(filter, Some(ast::DmlFilter::CurrentOf(_))) {
        return Err(errors::nested_current_of());
    }
    if options.is_empty() { Ok(()) } else { Err(errors::nested_hints()) }
}

/// Compiles the change; the common table expressions of the whole statement are its own, too.
fn compile(binder: &Binder<'_>, kind: &StatementKind, with: Option<ast::With>) -> Result<Plan> {
    match kind.clone() {
        StatementKind::Insert(mut i) => {
            i.with = with;
            compile_dml(binder.scope, Dml::Insert(&i))
        }
        StatementKind::Update(mut u) => {
            u.with = with;
            compile_dml(binder.scope, Dml::Update(&u))
        }
        StatementKind::Delete(mut d) => {
            d.with = with;
            compile_dml(binder.scope, Dml::Delete(&d))
        }
        StatementKind::Merge(mut m) => {
            m.with = with;
            compile_dml(binder.scope, Dml::Merge(&m))
        }
        _ => Err(errors::nested_elsewhere()),
    }
}

impl Binder<'_> {
    /// A change in FROM. It may stand there when [`Binder::takes_change`] has been set for it; else it is error 10730.
    pub(crate) fn nested_change(
        &mut self,
        statement: &ast::Statement,
        alias: Option<&ast::Ident>,
        columns: &[ast::Ident],
    ) -> Result<BoundSource> {
        check_change(&statement.kind)?;
        let around = self.takes_change.take().ok_or_else(errors::nested_elsewhere)?;
        let plan = Arc::new(compile(self, &statement.kind, around.with)?);
        self.nested = Some(Arc::clone(&plan));
        let column = |c: &crate::meta::ColumnMeta| VirtualColumn {
            collation: c.collation,
            nullable: c.nullable,
            ..VirtualColumn::new(c.name.clone(), c.ty)
        };
        let shown = plan.columns().iter().map(column).collect();
        let table = Arc::new(NestedChange { plan, columns: shown });
        let alias = alias.map_or("", |a| a.as_str());
        let name = ast::ObjectName::simple(ast::Ident::new(alias));
        let (rel, sources) = self.virtual_table(table, alias, Vec::new(), false, &name);
        let output = |c: &crate::bind::SourceColumn| OutputColumn { name: c.name.clone(), slot: c.slot };
        let bound = BoundQuery { rel, columns: sources[0].columns.iter().map(output).collect() };
        self.derived(bound, alias, columns)
    }
}
