//! Compiled statements: [`Plan`], and the functions that make them.

use crate::bind::query::Destination;
use crate::bind::{Binder, expr::Clause, expr::ExprCx};
use crate::catalog::TableDef;
use crate::context::{ExecCtx, RowSink, RunInfo};
use crate::errors::{self, Result};
use crate::expr::Expr;
use crate::meta::ColumnMeta;
use crate::scope::BindScope;
use keel_base::DatabaseId;
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::sync::Arc;

/// A compiled SELECT or DML statement. Immutable and shared; each execution has its own state.
pub struct Plan {
    columns: Vec<ColumnMeta>,
    into: Option<ast::ObjectName>,
    dependencies: Vec<DatabaseId>,
}

impl Plan {
    /// Columns of the rows it hands to the sink; empty for statements that return none.
    #[must_use]
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }
    /// Whether it returns a result set (SELECT without assignment, DML with OUTPUT to the client).
    #[must_use]
    pub fn returns_rows(&self) -> bool {
        !self.columns.is_empty()
    }
    /// The name after INTO of SELECT … INTO: the caller creates the table from [`Plan::columns`], compiles
    /// [`compile_select_into`] with it and runs that.
    #[must_use]
    pub fn into_target(&self) -> Option<&ast::ObjectName> {
        self.into.as_ref()
    }
    /// Databases whose catalog versions the plan depends on.
    #[must_use]
    pub fn dependencies(&self) -> &[DatabaseId] {
        &self.dependencies
    }
    /// Runs it to the end, handing rows to `sink`.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, sink: &mut dyn RowSink) -> Result<RunInfo> {
        let _ = (ctx, sink);
        Err(errors::not_supported("SELECT"))
    }
    /// SET SHOWPLAN_TEXT: one line per operator.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A data change to compile.
#[derive(Clone, Copy, Debug)]
pub enum Dml<'a> {
    /// INSERT (except INSERT … EXECUTE: the caller feeds its rows to the bulk inserter).
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
    let mut binder = Binder::new(scope);
    let bound = binder.select_statement(select)?;
    let into = match bound.destination {
        Destination::Into(name) => Some(name),
        _ => None,
    };
    Ok(Plan { columns: Vec::new(), into, dependencies: binder.databases })
}

/// Compiles SELECT … INTO for a table that now exists, column for column.
pub fn compile_select_into(
    scope: &dyn BindScope,
    select: &ast::SelectStatement,
    table: Arc<TableDef>,
) -> Result<Plan> {
    let _ = (scope, select, table);
    Err(errors::not_supported("SELECT INTO"))
}

/// Compiles INSERT, UPDATE, DELETE or MERGE.
pub fn compile_dml(scope: &dyn BindScope, dml: Dml<'_>) -> Result<Plan> {
    let _ = (scope, dml);
    Err(errors::not_supported("DML"))
}

/// A compiled value expression (SET @v = …, RETURN …, PRINT …, arguments of EXEC).
pub struct CompiledExpr {
    expr: Expr,
}

impl CompiledExpr {
    /// Its type.
    #[must_use]
    pub fn ty(&self) -> SqlType {
        self.expr.ty
    }
    /// Its value now.
    pub fn eval(&self, ctx: &mut ExecCtx<'_>) -> Result<Value> {
        let _ = ctx;
        Err(errors::not_supported("expression"))
    }
}

/// A compiled condition (IF, WHILE).
pub struct CompiledCondition {
    expr: Expr,
}

impl CompiledCondition {
    /// Whether it is true now (unknown is false).
    pub fn test(&self, ctx: &mut ExecCtx<'_>) -> Result<bool> {
        let _ = (ctx, &self.expr);
        Err(errors::not_supported("condition"))
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
    Ok(CompiledExpr { expr })
}

/// Compiles a condition.
pub fn compile_condition(scope: &dyn BindScope, e: &ast::Expr) -> Result<CompiledCondition> {
    let mut binder = Binder::new(scope);
    let empty = crate::bind::Scope::default();
    let expr = binder.condition(e, &mut ExprCx::new(&empty, Clause::Other))?;
    Ok(CompiledCondition { expr })
}
