//! SELECT … INTO: a table made from what a query returns, and filled with it.
//!
//! `IDENTITY(type, seed, increment)` in the select list makes a column that numbers the rows. The query is compiled with a
//! constant in its place, so that all columns keep their positions; the rows are inserted without it.

use super::showplan::Statement;
use super::{Frame, Halt, Runner};
use crate::catalog::fold;
use crate::errors;
use crate::program::{Guards, Program};
use crate::sink::command;
use keel_parser::ast;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType};
use std::sync::Arc;

/// What numbers the rows: `IDENTITY(…) AS name` of a select list.
struct Numbering {
    name: String,
    seed: i64,
    increment: i64,
}

impl Runner<'_> {
    pub(super) fn select_into(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        statement: &(ast::SelectStatement, ast::Span),
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        if self.only_compiles() {
            let (select, span) = statement;
            let plan = keel_query::compile_select(&self.scope(program, frame), select)?;
            let span = (span.start, span.end);
            self.explains(&Statement { span, kind: "SELECT INTO", plan: &plan, program })?;
            return Ok(());
        }
        let at = std::ptr::from_ref(statement) as usize;
        self.info.record_unkept(program, at, (statement.1.start, statement.1.end));
        self.check_writable()?;
        self.begin_implicit()?;
        let savepoint = self.savepoint("".into());
        let outcome = loop {
            match self.select_into_new(program, frame, statement) {
                Ok(Some(run)) => break Ok(run),
                // DDL was faster: the new table may be of another shape.
                Ok(None) => {}
                Err(e) => break Err(e),
            }
            if let Some(savepoint) = &savepoint {
                self.rollback_to(savepoint)?;
            }
        };
        match outcome {
            Ok(run) => {
                self.statement_succeeded()?;
                self.info.error.set(0);
                self.info.row_count.set(run.rows);
                self.done(Some(run.rows), command::SELECT_INTO);
                Ok(())
            }
            Err(e) => {
                if let Some(savepoint) = savepoint {
                    self.rollback_to(&savepoint)?;
                }
                Err(e.into())
            }
        }
    }

    /// Makes the table and fills it. `None` when what is selected from was defined otherwise meanwhile.
    fn select_into_new(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        (select, span): &(ast::SelectStatement, ast::Span),
    ) -> Result<Option<keel_query::RunInfo>> {
        let numbered = numbering(select)?;
        let (select, numbering) = match &numbered {
            Some((select, numbering)) => (select, Some(numbering)),
            None => (select, None),
        };
        let scope = self.scope(program, frame);
        let plan = keel_query::compile_select(&scope, select)?;
        let (needs, answered) = (scope.needs.take(), scope.answered.take());
        let dependencies = scope.found.into_inner();
        self.txns.as_dyn().check_unchanged(&dependencies.objects)?;
        let Some(published) = self.published(&dependencies) else { return Ok(None) };
        let name = plan.into_target().cloned().ok_or_else(|| errors::not_supported("SELECT INTO here"))?;
        self.permit(program, &needs, &answered)?;
        let event = self.object_event(program, "CREATE", "TABLE", &name);
        let may = if self.info.unrestricted.get() { Ok(()) } else { self.may_select_into(&name) };
        event.iter().try_for_each(|event| self.audit_definition(event, may.is_ok()))?;
        may?;
        let mut columns = plan.columns().to_vec();
        let generated = match numbering {
            Some(numbering) => Some(numbering.mark(&name, &mut columns)?),
            None => None,
        };
        let steps = numbering.map_or((1, 1), |n| (n.seed, n.increment));
        let table = crate::ddl::create_for_select_into(self, program, &name, &columns, steps)?;
        let plan = keel_query::compile_select_into(&self.scope(program, frame), select, table, generated)?;
        self.guard(&Guards::of(&dependencies, &[]))?;
        if !self.are_published(&published) {
            return Ok(None);
        }
        let run = self.run_plan(&plan, frame, None)?;
        self.fire_events(event.as_slice(), &|| span.text(&program.text).to_owned())?;
        Ok(Some(run))
    }
}

impl Numbering {
    /// Makes its column the identity column; returns its position.
    fn mark(&self, table: &ast::ObjectName, columns: &mut [keel_query::ColumnMeta]) -> Result<usize> {
        if let Some(other) = columns.iter().find(|c| c.identity) {
            return Err(errors::second_identity(&table.name.text, &other.name));
        }
        let at = columns.iter().position(|c| fold(&c.name) == fold(&self.name));
        let at = at.expect("the item is in the select list under this name");
        let ty = columns[at].ty;
        if !(ty.is_integer() && ty != SqlType::Bit || ty.decimal_parts().is_some_and(|(_, scale)| scale == 0))
        {
            return Err(errors::identity_type(&self.name));
        }
        columns[at].identity = true;
        columns[at].nullable = false;
        Ok(at)
    }
}

/// The statement with a constant of its type in place of IDENTITY, if there is one.
fn numbering(select: &ast::SelectStatement) -> Result<Option<(ast::SelectStatement, Numbering)>> {
    let ast::QueryBody::Select(body) = &select.query.body else { return Ok(None) };
    let Some(at) = body.items.iter().position(|item| identity_call(item).is_some()) else { return Ok(None) };
    let mut select = select.clone();
    let ast::QueryBody::Select(body) = &mut select.query.body else { return Ok(None) };
    let call = identity_call(&body.items[at]).expect("found there");
    let number = |n: usize| call.args.get(n).map_or(Some(1), whole_number);
    let (Some(seed), Some(increment), Some(ty), 1..=3) =
        (number(1), number(2), call.args.first().and_then(type_name), call.args.len())
    else {
        return Err(SqlError::new(102, 15, 1, "Incorrect syntax near 'IDENTITY'."));
    };
    let ast::SelectItem::Expr { expr, alias } = &mut body.items[at] else { return Ok(None) };
    let name = alias.as_ref().map_or_else(String::new, |a| a.text.to_string());
    let zero = ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::Int(0)), span: expr.span };
    expr.kind = ast::ExprKind::Cast { operand: Box::new(zero), ty: Box::new(ty), is_try: false };
    Ok(Some((select, Numbering { name, seed, increment })))
}

fn identity_call(item: &ast::SelectItem) -> Option<&ast::FunctionCall> {
    match item {
        ast::SelectItem::Expr { expr: ast::Expr { kind: ast::ExprKind::Function(call), .. }, .. } => {
            (call.name.schema.is_none() && call.name.name.is("IDENTITY")).then_some(call)
        }
        _ => None,
    }
}

/// A type's name reads as a column, or with its lengths as a call.
fn type_name(e: &ast::Expr) -> Option<ast::TypeName> {
    let (name, args) = match &e.kind {
        ast::ExprKind::Column(c) if c.qualifier.is_none() => (c.name.clone(), Vec::new()),
        ast::ExprKind::Function(call) => {
            let number = |e: &ast::Expr| u32::try_from(whole_number(e)?).ok().map(ast::TypeArg::Number);
            (call.name.name.clone(), call.args.iter().map(number).collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    };
    Some(ast::TypeName { name: ast::ObjectName::simple(name), args, span: e.span })
}

fn whole_number(e: &ast::Expr) -> Option<i64> {
    match &e.kind {
        ast::ExprKind::Literal(l) => l.as_i64(),
        ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand } => whole_number(operand).map(|n| -n),
        _ => None,
    }
}
