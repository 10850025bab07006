//! The functions that compile statements.

use super::remote::RemoteParts;
use super::run::{Body, Plan, Pool, subquery_states};
use super::{Planner, SubPlan, missing};
use crate::bind::expr::{Clause, ExprCx};
use crate::bind::query::Destination;
use crate::bind::rel::{Rel, SlotSet, VirtualRef};
use crate::bind::{Binder, BoundQuery};
use crate::catalog::TableDef;
use crate::context::ExecCtx;
use crate::errors::Result;
use crate::exec::cx::Cx;
use crate::expr::Slot;
use crate::expr::compile::{Code, Compiler, Formula, Pred, pieces};
use crate::growing::Growing;
use crate::meta::{ColumnMeta, SourceColumn};
use crate::scope::BindScope;
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A data change to compile.
#[derive(Clone, Copy, Debug)]
pub enum Dml<'a> {
    /// INSERT (except INSERT … EXECUTE: the caller feeds its rows to the bulk inserter)
    Insert(&'a ast::Insert),
    /// UPDATE
    Update(&'a ast::Update),
    /// DELETE
    Delete(&'a ast::Delete),
    /// MERGE
    Merge(&'a ast::Merge),
}

/// Compiles a SELECT statement, with or without variable assignment or INTO.
pub fn compile_select(scope: &dyn BindScope, select: &ast::SelectStatement) -> Result<Plan> {
    let mut binder = Binder::directed(scope);
    let bound = binder.select_statement(select)?;
    match bound.destination {
        Destination::Assign(mut targets) => {
            binder.assigns_variables = true;
            let BoundQuery { rel, .. } = bound.query;
            let mut masks = binder.masks(&rel);
            targets = targets.into_iter().map(|(info, e)| (info, masks.put_on(e))).collect();
            let mut need = SlotSet::new();
            targets.iter().for_each(|(_, e)| e.add_slots(&mut need));
            let mut planner = Planner::new(&mut binder);
            planner.allow_parallel();
            let mut planned = planner.plan_tree(rel, &need)?;
            planner.decode_late(&mut planned.node, targets.iter().map(|(_, e)| e), &SlotSet::new());
            let compiled = planner.assignments(&targets)?;
            let reads = planner.make_parallel(&mut planned.node, None);
            let body = Body::Assign { root: Arc::new(planned.node), targets: compiled };
            let (subplans, serial) = (planner.subplans, planner.serial);
            let plan = finish(&binder, body, subplans, Vec::new(), None);
            Ok(plan.with_helpers(reads, serial, binder.max_degree))
        }
        destination => {
            let BoundQuery { rel, columns } = binder.masked_query(bound.query);
            let mut meta = describe(
                &binder,
                &rel,
                &columns.iter().map(|c| (c.name.as_str(), c.slot)).collect::<Vec<_>>(),
            );
            if matches!(destination, Destination::Into(_)) && !keeps_identity(&rel, &meta) {
                meta.iter_mut().for_each(|m| m.identity = false);
            }
            let output: Vec<Slot> = columns.iter().map(|c| c.slot).collect();
            let mut planner = Planner::new(&mut binder);
            planner.allow_parallel();
            let mut planned = planner.plan_tree(rel, &output.iter().copied().collect())?;
            let output: Vec<usize> = output.into_iter().map(|s| s as usize).collect();
            let reads = planner.make_parallel(&mut planned.node, Some(&output));
            let body = Body::Query { root: Arc::new(planned.node), output };
            let (subplans, serial) = (planner.subplans, planner.serial);
            let into = match destination {
                Destination::Into(name) => Some(name),
                _ => None,
            };
            let plan = finish(&binder, body, subplans, meta, into);
            Ok(plan.with_helpers(reads, serial, binder.max_degree))
        }
    }
}

/// Compiles the query behind a change of another server's table. Where that server has all that the query needs, `make` is given its parts and says the text of
/// the change: the plan makes it, and gives one row with the number of rows changed (true). Otherwise it gives the query's rows.
///
/// # Errors
/// Those of compiling the query.
pub fn compile_remote_change(
    scope: &dyn BindScope,
    select: &ast::SelectStatement,
    make: &dyn Fn(&RemoteParts) -> Option<String>,
) -> Result<(Plan, bool)> {
    let mut binder = Binder::new(scope);
    let bound = binder.select_statement(select)?;
    let BoundQuery { rel, columns } = binder.masked_query(bound.query);
    let output: Vec<Slot> = columns.iter().map(|c| c.slot).collect();
    let rel = super::rewrite::rewrite(rel, &mut binder);
    let sent = match &rel {
        Rel::Remote(remote) => (**remote).clone().change(&[], &output, make, &mut binder),
        Rel::Project { input, exprs } => match &**input {
            Rel::Remote(remote) => (**remote).clone().change(exprs, &output, make, &mut binder),
            _ => None,
        },
        _ => None,
    };
    if let Some((table, args)) = sent {
        let count = binder.typed_slot("", SqlType::BigInt, true);
        let rel = Rel::Project {
            input: Box::new(Rel::Virtual {
                table: VirtualRef(table),
                alias: String::new(),
                args,
                first_slot: count,
            }),
            exprs: Vec::new(),
        };
        let mut planner = Planner::new(&mut binder);
        let planned = planner.plan_tree(rel, &SlotSet::from([count]))?;
        let body = Body::Query { root: Arc::new(planned.node), output: vec![count as usize] };
        let subplans = planner.subplans;
        return Ok((finish(&binder, body, subplans, Vec::new(), None), true));
    }
    let described: Vec<(&str, Slot)> = columns.iter().map(|c| (c.name.as_str(), c.slot)).collect();
    let meta = describe(&binder, &rel, &described);
    let mut planner = Planner::new(&mut binder);
    let planned = planner.plan_tree(rel, &output.iter().copied().collect())?;
    let output = output.into_iter().map(|s| s as usize).collect();
    let body = Body::Query { root: Arc::new(planned.node), output };
    let subplans = planner.subplans;
    Ok((finish(&binder, body, subplans, meta, None), false))
}

/// Assembles a plan.
pub(crate) fn finish(
    binder: &Binder<'_>,
    body: Body,
    subplans: Vec<SubPlan>,
    columns: Vec<ColumnMeta>,
    into: Option<ast::ObjectName>,
) -> Plan {
    binder.report_columns();
    let missing = if binder.lacks_index { missing::of_plan(&body, &subplans) } else { Box::default() };
    Plan {
        columns,
        into,
        dependencies: binder.databases.clone(),
        body,
        slot_count: binder.slots.len(),
        subplans: subplans.into(),
        parallel: None,
        serial: None,
        guarded: binder.guarded,
        masked: binder.masked.clone(),
        directions: binder.steering.decided(),
        told: binder.steering.told_so(),
        weighed: binder.steering.weighed(),
        guide: None,
        missing,
        conversions: binder.conversions.as_slice().into(),
        once: binder.asked.recompile,
        fixed: binder.asked.keeps_plan,
        planned_for: binder.planned_for(),
        pool: Pool::default(),
    }
}

/// Metadata of result columns.
pub(crate) fn describe(binder: &Binder<'_>, rel: &Rel, columns: &[(&str, Slot)]) -> Vec<ColumnMeta> {
    let mut gets = Vec::new();
    collect_gets(rel, &mut gets);
    columns
        .iter()
        .map(|(name, slot)| {
            let info = &binder.slots[*slot as usize];
            let mut meta = ColumnMeta {
                name: (*name).to_owned(),
                ty: if info.ty == SqlType::Null { SqlType::Int } else { info.ty },
                collation: info.collation,
                nullable: info.nullable,
                identity: false,
                computed: false,
                updatable: false,
                source: None,
            };
            let origin =
                info.origin.and_then(|(id, c)| gets.iter().find(|(g, _)| *g == id).map(|(_, t)| (t, c)));
            if let Some((table, c)) = origin {
                let column = &table.columns[c];
                meta.identity = column.identity.is_some();
                meta.computed = column.computed.is_some();
                meta.updatable = !meta.identity && !meta.computed;
                meta.source = Some(Box::new(SourceColumn {
                    database: table.database,
                    object_id: table.object_id,
                    schema_id: table.schema_id,
                    table: table.name.clone(),
                    column: column.name.clone(),
                    column_id: column.column_id,
                }));
            }
            meta
        })
        .collect()
}

/// Whether the table that SELECT … INTO makes numbers its rows like the one it reads: not of several tables, of groups, or when the
/// column is selected twice.
fn keeps_identity(rel: &Rel, columns: &[ColumnMeta]) -> bool {
    let several = matches!(rel, Rel::Join { .. } | Rel::Aggregate { .. });
    columns.iter().filter(|c| c.identity).count() < 2
        && !several
        && rel.inputs().into_iter().all(|input| keeps_identity(input, columns))
}

fn collect_gets(rel: &Rel, into: &mut Vec<(u32, Arc<TableDef>)>) {
    if let Rel::Get(g) = rel {
        into.push((g.id, g.table.clone()));
    }
    rel.inputs().into_iter().for_each(|r| collect_gets(r, into));
}

/// Compiles SELECT … INTO for a table that now exists, column for column; the column at `generated`, an identity column,
/// numbers the rows instead of taking what the query says.
pub fn compile_select_into(
    scope: &dyn BindScope,
    select: &ast::SelectStatement,
    table: Arc<TableDef>,
    generated: Option<usize>,
) -> Result<Plan> {
    crate::dml::compile_select_into(scope, select, table, generated)
}

/// Compiles INSERT, UPDATE, DELETE or MERGE.
pub fn compile_dml(scope: &dyn BindScope, dml: Dml<'_>) -> Result<Plan> {
    match dml {
        Dml::Insert(s) => crate::dml::compile_insert(scope, s),
        Dml::Update(s) => crate::dml::compile_update(scope, s),
        Dml::Delete(s) => crate::dml::compile_delete(scope, s),
        Dml::Merge(s) => crate::dml::compile_merge(scope, s),
    }
}

/// A compiled value expression (SET @v = …, RETURN …, PRINT …, arguments of EXEC).
pub struct CompiledExpr {
    code: Formula,
    reads: Vec<usize>,
    ty: SqlType,
    nullable: bool,
    slot_count: usize,
    subplans: Vec<SubPlan>,
}

impl CompiledExpr {
    /// Its type.
    #[must_use]
    pub fn ty(&self) -> SqlType {
        self.ty
    }
    /// Whether it can be NULL.
    #[must_use]
    pub fn nullable(&self) -> bool {
        self.nullable
    }
    /// The value of a constant.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        match &self.code {
            Formula::Value(Code::Const(v)) => Some(v),
            _ => None,
        }
    }
    /// The variables that it reads, by index.
    #[must_use]
    pub fn reads(&self) -> &[usize] {
        &self.reads
    }
    /// Its value now.
    #[inline]
    pub fn eval(&self, ctx: &mut ExecCtx<'_>) -> Result<Value> {
        match &self.code {
            Formula::Value(Code::Const(v)) => return Ok(v.clone()),
            Formula::Value(Code::Var(v)) => return Ok(ctx.vars[*v].clone()),
            _ => {}
        }
        self.within(ctx, |cx| self.code.eval(cx))
    }
    /// Whether it is what this variable has with something added that has nothing to do with it: [`CompiledExpr::append`].
    #[inline]
    #[must_use]
    pub fn appends_to(&self, to: usize) -> bool {
        // The variable itself is read once.
        matches!(self.code, Formula::Append { variable, .. } if variable == to)
            && self.reads.iter().filter(|v| **v == to).count() == 1
    }
    /// Adds to the variable of [`CompiledExpr::appends_to`], which is as it was when this fails.
    pub fn append(&self, ctx: &mut ExecCtx<'_>, growing: &mut Growing) -> Result<()> {
        let Formula::Append { variable, more } = &self.code else {
            unreachable!("the caller has asked whether it appends")
        };
        let more = self.within(ctx, |cx| pieces(more, cx))?;
        growing.append_or_null(ctx.vars, *variable, more.as_deref());
        Ok(())
    }
    #[inline]
    fn within<T>(&self, ctx: &mut ExecCtx<'_>, f: impl FnOnce(&mut Cx<'_>) -> Result<T>) -> Result<T> {
        if self.subplans.is_empty() {
            // Moving it costs as much as taking it apart.
            let mut cx = ManuallyDrop::new(Cx::new(ctx, Vec::new()));
            let value = f(&mut cx);
            cx.forget_once();
            if cx.is_touched() {
                end(ManuallyDrop::into_inner(cx));
            }
            return value;
        }
        let mut cx = Cx::new(ctx, vec![Value::Null; self.slot_count]);
        cx.subqueries = subquery_states(&self.subplans, None);
        let value = f(&mut cx);
        end(cx);
        value
    }
}

/// Ends the evaluation of an expression; what it has to say goes to the session.
fn end(mut cx: Cx<'_>) {
    for message in cx.take_messages() {
        cx.session.notice(&message);
    }
}

/// A compiled condition (IF, WHILE).
pub struct CompiledCondition {
    pred: Pred,
    reads: Vec<usize>,
    slot_count: usize,
    subplans: Vec<SubPlan>,
}

impl CompiledCondition {
    /// The variables that it reads, by index.
    #[must_use]
    pub fn reads(&self) -> &[usize] {
        &self.reads
    }
    /// Whether it is true now (unknown is false).
    pub fn test(&self, ctx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.subplans.is_empty() {
            let mut cx = ManuallyDrop::new(Cx::new(ctx, Vec::new()));
            let holds = self.pred.test(&mut cx);
            cx.forget_once();
            if cx.is_touched() {
                end(ManuallyDrop::into_inner(cx));
            }
            return holds;
        }
        let mut cx = Cx::new(ctx, vec![Value::Null; self.slot_count]);
        cx.subqueries = subquery_states(&self.subplans, None);
        let holds = self.pred.test(&mut cx);
        end(cx);
        holds
    }
}

/// Compiles a value; converted to `ty` as by assignment when given. Subqueries and functions are allowed.
pub fn compile_expr(scope: &dyn BindScope, e: &ast::Expr, ty: Option<SqlType>) -> Result<CompiledExpr> {
    let mut binder = Binder::new(scope);
    let empty = crate::bind::Scope::default();
    let mut expr = binder.value(e, &mut ExprCx::new(&empty, Clause::Other))?;
    if let Some(ty) = ty {
        expr = crate::bind::merge_types::assign_to(expr, ty)?;
    }
    expr = binder.masks(&Rel::One).put_on(expr);
    binder.report_columns();
    let mut planner = Planner::new(&mut binder);
    let code = Compiler { subqueries: &mut planner }.formula(&expr)?;
    let (subplans, reads) = (planner.subplans, planner.variables);
    let ty = if expr.ty == SqlType::Null { SqlType::Int } else { expr.ty };
    let slot_count = if subplans.is_empty() { 0 } else { binder.slots.len() };
    Ok(CompiledExpr { code, reads, ty, nullable: expr.nullable, slot_count, subplans })
}

/// Compiles a condition.
pub fn compile_condition(scope: &dyn BindScope, e: &ast::Expr) -> Result<CompiledCondition> {
    let mut binder = Binder::new(scope);
    let empty = crate::bind::Scope::default();
    let expr = binder.condition(e, &mut ExprCx::new(&empty, Clause::Other))?;
    binder.report_columns();
    let mut planner = Planner::new(&mut binder);
    let pred = Compiler { subqueries: &mut planner }.condition(&expr)?;
    let (subplans, reads) = (planner.subplans, planner.variables);
    let slot_count = if subplans.is_empty() { 0 } else { binder.slots.len() };
    Ok(CompiledCondition { pred, reads, slot_count, subplans })
}
