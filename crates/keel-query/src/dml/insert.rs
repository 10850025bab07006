//! INSERT … VALUES, INSERT … SELECT, SELECT … INTO.

use super::block::Blocks;
use super::foreign;
use super::from_file::FromFile;
use super::indexed_view::is_view_over;
use super::nested;
use super::output::bind_outputs;
use super::target::Target;
use super::{Assignment, Change, DmlPlan, column_position, refuse_view_rows, view};
use crate::bind::expr::{Clause, ExprCx};
use crate::bind::rel::{Rel, SlotSet};
use crate::bind::{Binder, BoundQuery, Scope};
use crate::catalog::TableDef;
use crate::context::DmlAction;
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::exec::node::{Node, Op, ValuesNode};
use crate::expr::Expr;
use crate::expr::compile::Compiler;
use crate::plan::Planner;
use crate::plan::api::finish;
use crate::plan::run::{Body, Plan};
use crate::scope::BindScope;
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::sync::Arc;

/// How a source row becomes a table row.
pub(crate) struct InsertRow {
    /// Values of the columns that get one.
    pub assignments: Vec<Assignment>,
    /// An explicit identity value is among them.
    pub identity_explicit: bool,
    /// SELECT INTO, bulk loads and files with KEEPIDENTITY keep identity values without IDENTITY_INSERT.
    pub identity_free: bool,
    /// Columns to test for NULL: all that are NOT NULL and not produced by us.
    pub not_null: Vec<usize>,
    /// Block predicates on the row, which the caller checks once it is stored.
    pub blocks: Blocks,
}

impl InsertRow {
    /// Computes the new slots of one row; returns the identity value given out.
    pub fn fill(&self, target: &Target, cx: &mut Cx<'_>) -> Result<Option<i64>> {
        for a in &self.assignments {
            a.code.eval_into(cx, target.new_first + a.column)?;
        }
        let mut given = None;
        if let Some(i) = target.identity {
            if self.identity_explicit {
                if let Value::Int(n) = cx.slots[target.new_first + i] {
                    cx.session.note_identity(&target.table, n);
                    given = Some(n);
                }
            } else {
                let n = cx.session.reserve_identity(&target.table, 1)?;
                cx.slots[target.new_first + i] = identity_value(n, target.table.columns[i].ty)?;
                given = Some(n);
            }
        }
        target.complete(cx)?;
        target.check_nulls(cx, self.not_null.iter().copied(), "INSERT")?;
        target.check_rules(cx, None, "INSERT")?;
        Ok(given)
    }

    /// Checks IDENTITY_INSERT against the column list.
    pub fn check_identity(&self, target: &Target, cx: &Cx<'_>) -> Result<()> {
        if target.identity.is_none() || self.identity_free {
            return Ok(());
        }
        let on = cx.session.identity_insert() == Some((target.table.database, target.table.object_id));
        match (self.identity_explicit, on) {
            (true, false) => Err(errors::identity_insert_off(&target.table.name)),
            (false, true) => Err(errors::identity_value_missing(&target.table.name)),
            _ => Ok(()),
        }
    }
}

/// An identity value as the column's type holds it.
///
/// # Errors
/// 8115 when it does not.
pub fn identity_value(n: i64, ty: SqlType) -> Result<Value> {
    let cast = keel_types::cast::implicit(SqlType::BigInt, ty)?;
    cast.apply(&Value::Int(n)).map_err(|_| keel_types::raise::identity_overflow(ty))
}

/// The column positions an INSERT names, or all that can be given.
pub(crate) fn insert_columns(table: &TableDef, names: &[ast::Ident]) -> Result<Vec<usize>> {
    if names.is_empty() {
        let given = |c: &crate::catalog::ColumnDef| {
            c.identity.is_none() && c.computed.is_none() && c.ty != SqlType::RowVersion
        };
        let all = 0..table.columns.len();
        return Ok(all.filter(|i| given(&table.columns[*i]) && !table.is_hidden(*i)).collect());
    }
    let mut columns = Vec::new();
    for name in names {
        let i = column_position(table, &name.text)?;
        if columns.contains(&i) {
            return Err(errors::column_set_twice(&name.text));
        }
        let c = &table.columns[i];
        if c.computed.is_some() {
            return Err(errors::computed_column_modified(&c.name));
        }
        columns.push(i);
    }
    Ok(columns)
}

/// Those for rows of VALUES with so many values: without a list of columns the rowversion's DEFAULT may be among them.
pub(crate) fn columns_of_values(
    table: &TableDef,
    columns: Vec<usize>,
    listed: bool,
    width: usize,
) -> Vec<usize> {
    let version = table.columns.iter().position(|c| c.ty == SqlType::RowVersion);
    let Some(version) = version.filter(|_| !listed && width == columns.len() + 1) else { return columns };
    let (mut before, behind): (Vec<usize>, Vec<usize>) = columns.into_iter().partition(|c| *c < version);
    before.push(version);
    before.extend(behind);
    before
}

/// Compiles INSERT.
pub fn compile_insert(scope: &dyn BindScope, insert: &ast::Insert) -> Result<Plan> {
    let mut binder = Binder::directed(scope);
    binder.query_hints(&insert.options)?;
    binder.with_ctes(insert.with.as_ref(), |b| bind_into_table(b, insert))
}

fn bind_into_table(binder: &mut Binder<'_>, insert: &ast::Insert) -> Result<Plan> {
    let (table, names) = view::insert_target(binder, insert)?;
    refuse_view_rows(&table)?;
    let columns = insert_columns(&table, &names)?;
    let mut target = Target::new(binder, &table)?;
    let file = FromFile::of(insert);
    file.relieve(&mut target);
    target.parents.iter().for_each(|parent| parent.announce(binder.scope));
    if table.history_of.is_some() {
        return Err(errors::history_inserted(&target.full_name));
    }
    target.bind_blocks(binder)?;
    let conditions = view::check_option(binder, &insert.target.table, &target)?;
    target.set_view_checks(&conditions)?;
    let listed = !names.is_empty();
    match &insert.source {
        ast::InsertSource::Values(rows) => {
            let columns = columns_of_values(&table, columns, listed, rows.first().map_or(0, Vec::len));
            let mut bound = Vec::with_capacity(rows.len());
            for row in rows {
                check_width(&table, listed, columns.len(), row.len(), true)?;
                let one = |binder: &mut Binder<'_>| values_row(binder, &target, &columns, row);
                // The only row is one with the defaults of columns that are not named.
                bound.push(if rows.len() == 1 { one(binder)? } else { binder.in_row(one)? });
            }
            let alone = with_defaults(&table, &columns, rows);
            let columns: Vec<usize> = columns.into_iter().filter(|i| !is_made(&table, *i)).collect();
            if let [_] = bound.as_slice() {
                let row = bound.remove(0);
                return build(binder, target, &columns, row, Rel::One, insert, false);
            }
            let BoundQuery { rel, columns: out } = typed_values(binder, &target, &columns, bound, &alone)?;
            let exprs = out.iter().map(|c| binder.read(c.slot)).collect();
            build(binder, target, &columns, exprs, rel, insert, true)
        }
        ast::InsertSource::DefaultValues => build(binder, target, &[], Vec::new(), Rel::One, insert, false),
        ast::InsertSource::Query(q) => {
            if nested::is_source(insert, q)? {
                nested::check_target(binder, insert, &target)?;
                binder.takes_change = Some(nested::Surroundings { with: insert.with.clone() });
            }
            let BoundQuery { rel, columns: out } = binder.query(q, None, false)?;
            check_width(&table, listed, columns.len(), out.len(), false)?;
            for column in &columns {
                is_generated(&target, *column, None)?;
            }
            let exprs = out.iter().map(|c| binder.read_to_assign(c.slot)).collect();
            let (columns, exprs) = file.values(binder, &target, &columns, exprs)?;
            let rel = match &insert.top {
                Some(top) => {
                    let count = binder.count_value(&top.count, &Scope::default(), top.percent)?;
                    Rel::Top {
                        input: Box::new(rel),
                        count: Some(count),
                        percent: top.percent,
                        ties: None,
                        offset: None,
                    }
                }
                None => rel,
            };
            build(binder, target, &columns, exprs, rel, insert, true)
        }
        ast::InsertSource::Execute(_) => Err(errors::not_supported("INSERT EXECUTE")),
    }
}

/// Whether a column's values are made by the engine, whatever a statement says.
pub(crate) fn is_made(table: &TableDef, column: usize) -> bool {
    table.period_part(column).is_some() || table.columns[column].ty == SqlType::RowVersion
}

/// Whether a column [gets no value](is_made) from the statement: error 13536 for one of the period and 273 for the rowversion, unless it is
/// DEFAULT.
pub(crate) fn is_generated(target: &Target, column: usize, value: Option<&ast::Expr>) -> Result<bool> {
    if !is_made(&target.table, column) {
        return Ok(false);
    }
    match value {
        Some(ast::Expr { kind: ast::ExprKind::Default, .. }) => Ok(true),
        _ if target.table.period_part(column).is_none() => Err(errors::timestamp_inserted()),
        _ => Err(errors::generated_inserted(&target.full_name)),
    }
}

fn check_width(table: &TableDef, listed: bool, columns: usize, given: usize, values: bool) -> Result<()> {
    if columns == given {
        return Ok(());
    }
    if !listed {
        let identity = table.columns.iter().any(|c| c.identity.is_some());
        let with_identity =
            table.columns.iter().filter(|c| c.computed.is_none() && c.ty != SqlType::RowVersion).count();
        if identity && given == with_identity {
            return Err(errors::identity_needs_column_list(&table.name));
        }
        return Err(errors::insert_column_count());
    }
    Err(match (values, given < columns) {
        (true, true) => errors::insert_more_columns_than_values(),
        (true, false) => errors::insert_fewer_columns_than_values(),
        (false, true) => errors::insert_select_fewer(),
        (false, false) => errors::insert_select_more(),
    })
}

/// Binds one row of VALUES; DEFAULT stands for the column's default.
fn values_row(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[usize],
    row: &[ast::Expr],
) -> Result<Vec<Expr>> {
    let empty = Scope::default();
    let mut bound = Vec::with_capacity(row.len());
    for (e, column) in row.iter().zip(columns) {
        if is_generated(target, *column, Some(e))? {
            continue;
        }
        if matches!(e.kind, ast::ExprKind::Default) {
            bound.push(target.default_of(binder, *column)?);
        } else {
            bound.push(binder.value(e, &mut ExprCx::new(&empty, Clause::Other))?);
        }
    }
    Ok(bound)
}

/// Several rows as a table. Each column takes the common type of its values, as those of UNION ALL do, before it is converted to the target's:
/// `(10), ('x')` is an error for a column of strings too. Values that have no type, and those beside a DEFAULT, are converted to the
/// target column by themselves.
fn typed_values(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[usize],
    mut rows: Vec<Vec<Expr>>,
    alone: &[bool],
) -> Result<BoundQuery> {
    let width = columns.len();
    for i in 0..width {
        let ty = target.table.columns[columns[i]].ty;
        let untyped = rows.iter().all(|r| r[i].ty == SqlType::Null);
        if untyped || alone[i] || ty.is_encrypted() {
            for row in &mut rows {
                let e = std::mem::replace(&mut row[i], Expr::null());
                let same = e.ty.is_string() && ty.is_string();
                row[i] = if same { e } else { crate::bind::merge_types::assign_to(e, ty)? };
            }
        }
    }
    binder.values_of(rows, width)
}

/// For each column that gets values from the statement whether DEFAULT is among them.
fn with_defaults(table: &TableDef, columns: &[usize], rows: &[Vec<ast::Expr>]) -> Vec<bool> {
    let given = columns.iter().enumerate().filter(|(_, column)| !is_made(table, **column));
    given.map(|(i, _)| rows.iter().any(|row| matches!(row[i].kind, ast::ExprKind::Default))).collect()
}

#[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
fn build(
    binder: &mut Binder<'_>,
    target: Target,
    columns: &[usize],
    exprs: Vec<Expr>,
    rel: Rel,
    insert: &ast::Insert,
    many: bool,
) -> Result<Plan> {
    let mut masks = binder.masks(&rel);
    let exprs = exprs.into_iter().map(|e| masks.put_on(e)).collect();
    let inserted = target.source("inserted");
    let outputs = bind_outputs(binder, &insert.output, vec![inserted], None)?;
    let outputs = super::output::masked(outputs, masks, &target);
    let silent = insert.target.hints.iter().any(|h| matches!(h, ast::TableHint::IgnoreTriggers));
    let identity_free = FromFile::of(insert).keep_identity;
    assemble(binder, target, columns, exprs, rel, outputs, Manner { many, identity_free, silent })
}

/// How an INSERT differs from the plainest one.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// More than one row may come.
    many: bool,
    /// Identity values may be given without IDENTITY_INSERT.
    identity_free: bool,
    /// Triggers do not fire.
    silent: bool,
}

pub(crate) fn assemble(
    binder: &mut Binder<'_>,
    target: Target,
    columns: &[usize],
    exprs: Vec<Expr>,
    rel: Rel,
    outputs: Vec<super::output::BoundOutput>,
    manner: Manner,
) -> Result<Plan> {
    let Manner { many, identity_free, silent } = manner;
    let (row, mut all) = insert_row(binder, &target, columns, exprs, identity_free)?;
    let mut need = SlotSet::new();
    all.iter().for_each(|(_, e)| e.add_slots(&mut need));
    let reads_itself = mentions(&rel, &target.table);
    let mut planner = Planner::new(binder);
    let carried = need.iter().map(|s| *s as usize).collect();
    let source = if matches!(rel, Rel::One) {
        Node { op: Op::One, rows: 1.0, cost: 0.0 }
    } else if let Rel::Values { rows, slots } = rel {
        let rows = rows
            .iter()
            .map(|r| Compiler { subqueries: &mut planner }.values(r))
            .collect::<Result<Vec<_>>>()?;
        let n = rows.len() as f64;
        let slots = slots.into_iter().map(|s| s as usize).collect();
        Node { op: Op::Values(Arc::new(ValuesNode { rows, slots })), rows: n, cost: n }
    } else {
        planner.plan_tree(rel, &need)?.node
    };
    let mut row = row;
    for (column, e) in all.drain(..) {
        let code = target.assignment(e, column, &mut Compiler { subqueries: &mut planner })?;
        row.assignments.push(Assignment { column, code });
    }
    row.blocks = target.blocks_after(&mut planner, None)?;
    let outputs = super::output::compile_outputs(&mut planner, outputs)?;
    let savepoint =
        many || !target.indexes.is_empty() || !target.parents.is_empty() || !outputs.list.is_empty();
    let savepoint = savepoint || !target.blocks.is_empty();
    let triggers = !silent && planner.binder.scope.has_triggers(&target.table, DmlAction::Insert);
    outputs.refuse_triggers(triggers, &target.name)?;
    let shown = planner.show_change("Table Insert", "Insert", &target, None);
    let subplans = planner.subplans;
    let plan = DmlPlan {
        target: Arc::new(target),
        source: Arc::new(source),
        change: Change::Insert(row),
        outputs: outputs.list,
        in_place: !reads_itself,
        row_key: None,
        carried,
        decode: Vec::new(),
        old_first: 0,
        savepoint: savepoint || triggers,
        triggers,
        nested: binder.nested.take(),
        shown,
    };
    Ok(finish(binder, Body::Dml(Box::new(plan)), subplans, outputs.columns, None))
}

/// Values of all columns that get one: those given, then defaults.
pub(crate) fn insert_row(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[usize],
    exprs: Vec<Expr>,
    identity_free: bool,
) -> Result<(InsertRow, Vec<(usize, Expr)>)> {
    let table = target.table.clone();
    let mut all: Vec<(usize, Expr)> = columns.iter().copied().zip(exprs).collect();
    let identity_explicit = target.identity.is_some_and(|i| columns.contains(&i));
    let mut not_null = Vec::new();
    for (i, c) in table.columns.iter().enumerate() {
        let ours = (Some(i) == target.identity && !identity_explicit)
            || Some(i) == target.rowversion
            || table.period_part(i).is_some();
        if !columns.contains(&i) && !ours && c.computed.is_none() {
            all.push((i, target.default_of(binder, i)?));
        }
        if !c.nullable && !ours {
            not_null.push(i);
        }
    }
    let blocks = Blocks::default();
    Ok((InsertRow { assignments: Vec::new(), identity_explicit, identity_free, not_null, blocks }, all))
}

/// Whether a query reads a table.
fn mentions(rel: &Rel, table: &TableDef) -> bool {
    if let Rel::Get(g) = rel
        && (foreign::same_table(&g.table, table) || is_view_over(&g.table, table))
    {
        return true;
    }
    let mut found = false;
    rel.for_own_exprs(&mut |e| {
        found |= e.any(&mut |x| match &x.kind {
            crate::expr::ExprKind::Subquery(s) => mentions(&s.rel, table),
            crate::expr::ExprKind::Udf(..) => true,
            _ => false,
        });
    });
    found || rel.inputs().into_iter().any(|r| mentions(r, table))
}

/// Compiles SELECT … INTO for its new table; the column at `generated` numbers its rows by itself.
pub fn compile_select_into(
    scope: &dyn BindScope,
    select: &ast::SelectStatement,
    table: Arc<TableDef>,
    generated: Option<usize>,
) -> Result<Plan> {
    let mut binder = Binder::new(scope);
    let bound = binder.select_statement(select)?;
    let target = Target::new(&mut binder, &table)?;
    if table.columns.len() != bound.query.columns.len() {
        return Err(errors::insert_column_count());
    }
    let columns: Vec<usize> = (0..table.columns.len()).filter(|n| Some(*n) != generated).collect();
    let query = binder.masked_query(bound.query);
    let exprs = columns.iter().map(|n| binder.read(query.columns[*n].slot)).collect();
    assemble(
        &mut binder,
        target,
        &columns,
        exprs,
        query.rel,
        Vec::new(),
        Manner { many: true, identity_free: true, silent: true },
    )
}
