//! What must hold of a target's rows: computed columns, the filters of its indexes, CHECK constraints, the view through which it is
//! changed, NOT NULL.

use super::{RowRule, Target};
use crate::bind::expr::{Clause, ExprCx};
use crate::bind::merge_types::assign_to;
use crate::bind::{Binder, Scope, parse_error};
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::expr::Expr;
use crate::expr::compile::{Compiler, NoSubqueries};
use keel_types::Value;

impl Target {
    pub(super) fn compile_rules(&mut self, binder: &mut Binder<'_>) -> Result<()> {
        let scope = Scope::new(vec![self.source(&self.table.name.clone())], None);
        let table = self.table.clone();
        for (i, c) in table.columns.iter().enumerate() {
            let Some(computed) = &c.computed else { continue };
            let e = keel_parser::parse_expr(&computed.text).map_err(|e| parse_error(*e))?;
            let bound = binder.value(&e, &mut ExprCx::new(&scope, Clause::Other))?;
            let bound = assign_to(bound, c.ty)?;
            self.computed_inputs.push(self.positions(&bound));
            self.computed.push((i, Compiler { subqueries: &mut NoSubqueries }.value(&bound)?));
        }
        for at in 0..self.indexes.len() {
            let Some(text) = self.indexes[at].def.filter.clone() else { continue };
            let e = keel_parser::parse_expr(&text).map_err(|e| parse_error(*e))?;
            let bound = binder.condition(&e, &mut ExprCx::new(&scope, Clause::Other))?;
            let reads = self.positions(&bound);
            let pred = Compiler { subqueries: &mut NoSubqueries }.condition(&bound)?;
            self.indexes[at].filter = Some((pred, reads));
        }
        for check in table.checks.iter().filter(|c| !c.disabled) {
            let e = keel_parser::parse_expr(&check.text).map_err(|e| parse_error(*e))?;
            let bound = binder.condition(&e, &mut ExprCx::new(&scope, Clause::Other))?;
            let columns = self.positions(&bound);
            let column = (columns.len() == 1).then(|| table.columns[columns[0]].name.clone());
            let condition = Compiler { subqueries: &mut NoSubqueries }.condition(&bound)?;
            self.checks.push(RowRule { constraint: Some(check.name.clone()), condition, columns, column });
        }
        for c in &table.columns {
            let Some(rule) = &c.rule else { continue };
            let e = keel_parser::parse_expr(&rule.on_column(&c.name)).map_err(|e| parse_error(*e))?;
            let bound = binder.condition(&e, &mut ExprCx::new(&scope, Clause::Other))?;
            let columns = self.positions(&bound);
            let condition = Compiler { subqueries: &mut NoSubqueries }.condition(&bound)?;
            self.checks.push(RowRule { constraint: None, condition, columns, column: Some(c.name.clone()) });
        }
        Ok(())
    }

    /// Takes the conditions of the view through which the table is changed.
    pub fn set_view_checks(&mut self, conditions: &[Expr]) -> Result<()> {
        for e in conditions {
            let pred = Compiler { subqueries: &mut NoSubqueries }.condition(e)?;
            self.view_checks.push((pred, self.positions(e)));
        }
        Ok(())
    }

    pub(crate) fn positions(&self, e: &Expr) -> Vec<usize> {
        e.slots().into_iter().map(|s| s as usize - self.new_first).collect()
    }

    fn conflict(&self, rule: &RowRule, statement: &str) -> Box<keel_types::SqlError> {
        let column = rule.column.as_deref();
        let Some(name) = &rule.constraint else {
            return errors::rule_conflict(&self.database, &self.name, column.unwrap_or_default());
        };
        let column = column.map_or(String::new(), |c| format!(", column '{c}'"));
        errors::constraint_conflict(statement, "CHECK", name, &self.database, &self.name, &column)
    }

    /// NOT NULL of the given columns.
    pub fn check_nulls(
        &self,
        cx: &Cx<'_>,
        columns: impl IntoIterator<Item = usize>,
        verb: &str,
    ) -> Result<()> {
        for i in columns {
            let c = &self.table.columns[i];
            if !c.nullable && matches!(cx.slots[self.new_first + i], Value::Null) {
                return Err(errors::null_not_allowed(&c.name, &self.full_name, verb));
            }
        }
        Ok(())
    }

    /// CHECK constraints and rules that read one of `changed` (all when `None`).
    pub fn check_rules(&self, cx: &mut Cx<'_>, changed: Option<&[usize]>, statement: &str) -> Result<()> {
        for rule in &self.checks {
            if changed.is_some_and(|c| !rule.columns.iter().any(|x| c.contains(x))) {
                continue;
            }
            if rule.condition.eval(cx)? == Some(false) {
                return Err(self.conflict(rule, statement));
            }
        }
        for (pred, columns) in &self.view_checks {
            let read = changed.is_none_or(|c| columns.iter().any(|x| c.contains(x)));
            if read && pred.eval(cx)? != Some(true) {
                return Err(errors::check_option());
            }
        }
        Ok(())
    }
}
