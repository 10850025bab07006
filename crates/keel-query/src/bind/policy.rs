//! Predicates of security policies, bound over the row they decide about.

use super::expr::{Clause, ExprCx};
use super::from::parts;
use super::rel::{Hints, Rel, SlotSet, Subquery, SubqueryUse};
use super::{Binder, BoundQuery, Scope, Source, parse_error};
use crate::catalog::{ModuleDef, ObjectId};
use crate::errors::{self, Result};
use crate::expr::{Expr, ExprKind};
use crate::plan::rewrite::strip_for_exists;
use crate::policy::{PolicyDef, PredicateDef};
use crate::scope::{BindScope, ObjectRef};
use keel_base::DatabaseId;
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

impl Binder<'_> {
    /// What enabled policies ask of a row of a table or view for it to be there, over the columns of a source.
    pub(crate) fn row_filter(
        &mut self,
        database: DatabaseId,
        object: ObjectId,
        source: &Rc<Source>,
    ) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        for (policy, predicate) in self.predicates_on(database, object) {
            if predicate.kind.filters() {
                conditions.append(&mut self.predicate(database, &policy, &predicate, source)?);
            }
        }
        Ok(conditions)
    }

    /// The predicates of enabled policies on a table or view; none where no policy counts.
    pub(crate) fn predicates_on(
        &self,
        database: DatabaseId,
        object: ObjectId,
    ) -> Vec<(Arc<PolicyDef>, PredicateDef)> {
        if self.unguarded > 0 || self.scope.cleans_history() {
            return Vec::new();
        }
        let policies = self.scope.catalog(database).map(|c| c.policies_on(object)).unwrap_or_default();
        let all = policies.into_iter().flat_map(|policy| {
            let own: Vec<PredicateDef> = policy.predicates_on(object).cloned().collect();
            own.into_iter().map(move |predicate| (Arc::clone(&policy), predicate))
        });
        all.collect()
    }

    /// Runs `f`; no policy counts for what it binds.
    pub(crate) fn unguarded<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.unguarded += 1;
        let result = f(self);
        self.unguarded -= 1;
        result
    }

    /// Whether a row passes a predicate: a conjunction over the columns of `source`.
    pub(crate) fn predicate(
        &mut self,
        database: DatabaseId,
        policy: &PolicyDef,
        predicate: &PredicateDef,
        source: &Rc<Source>,
    ) -> Result<Vec<Expr>> {
        self.scope.enter_predicate(policy.schema_bound);
        // What surrounds the table does not reach into the function: neither FOR SYSTEM_TIME nor names of tables.
        let time = self.system_time.take();
        let recursive = std::mem::take(&mut self.recursive);
        let bound = self.unguarded(|b| b.unnoticed(|b| b.predicate_call(database, predicate, source)));
        self.recursive = recursive;
        self.system_time = time;
        self.scope.leave_predicate();
        match bound {
            Ok(bound) => {
                self.guarded = true;
                Ok(passes(bound.rel))
            }
            Err(e) if e.number == 33512 || policy.schema_bound => Err(e),
            Err(_) => Err(errors::predicate_unbound(&source.alias)),
        }
    }

    fn predicate_call(
        &mut self,
        database: DatabaseId,
        predicate: &PredicateDef,
        source: &Rc<Source>,
    ) -> Result<BoundQuery> {
        let call = written_call(predicate, &source.alias)?;
        let function = self.scope.predicate_function(database, parts(&call.name));
        let function: Arc<ModuleDef> = function.ok_or_else(|| errors::predicate_unbound(&source.alias))?;
        let scope = Scope::new(vec![source.clone()], None);
        let mut cx = ExprCx::new(&scope, Clause::Other);
        let parameters = self.scope.module_parameters(&function);
        let values = self.routine_arguments((&call.name.to_string(), 3), &parameters, &call.args, &mut cx)?;
        let names = parameters.iter().map(|p| p.name.to_lowercase());
        self.parameters.push(names.zip(values).collect::<HashMap<_, _>>());
        let bound = self.inline_function(&function);
        self.parameters.pop();
        bound
    }
}

/// Whether a predicate can be bound to a table or view, and which columns it is called with, by id; those of a view count from 1.
pub fn check_predicate(
    scope: &dyn BindScope,
    database: DatabaseId,
    target: &ObjectRef,
    predicate: &PredicateDef,
) -> Result<Vec<i32>> {
    let mut binder = Binder::new(scope);
    let source = match target {
        ObjectRef::Table(table) => {
            let (_, source) = binder.get(table.clone(), &table.name, None, Hints::default());
            Rc::new(source)
        }
        ObjectRef::Module(view) => {
            let bound = binder.unguarded(|b| b.view(view))?;
            binder.derived(bound, &view.name, &[])?.1.remove(0)
        }
        ObjectRef::Virtual(_) => return Err(errors::predicate_unbound("")),
    };
    binder.unguarded(|b| b.predicate_call(database, predicate, &source))?;
    let mut read = SlotSet::new();
    let scope = Scope::new(vec![source.clone()], None);
    for argument in &written_call(predicate, &source.alias)?.args {
        binder.value(argument, &mut ExprCx::new(&scope, Clause::Other))?.add_slots(&mut read);
    }
    let id = |at: usize| match target {
        ObjectRef::Table(table) => table.columns[at].column_id,
        _ => at as i32 + 1,
    };
    let columns = source.columns.iter().enumerate().filter(|(_, c)| read.contains(&c.slot));
    Ok(columns.map(|(at, _)| id(at)).collect())
}

/// The call of a predicate's function.
fn written_call(predicate: &PredicateDef, target: &str) -> Result<Box<ast::FunctionCall>> {
    match keel_parser::parse_expr(&predicate.text).map_err(|e| parse_error(*e))?.kind {
        ast::ExprKind::Function(call) => Ok(call),
        _ => Err(errors::predicate_unbound(target)),
    }
}

/// Whether a query returns a row: the conditions themselves where it reads nothing.
fn passes(rel: Rel) -> Vec<Expr> {
    match strip_for_exists(rel) {
        Rel::One => Vec::new(),
        Rel::Filter { input, predicates } if matches!(*input, Rel::One) => predicates,
        Rel::Empty(_) => vec![Expr::constant(Value::Bit(false), SqlType::Bit)],
        rel => {
            let subquery = Subquery { usage: SubqueryUse::Exists, rel };
            vec![Expr { nullable: false, ..Expr::condition(ExprKind::Subquery(Arc::new(subquery))) }]
        }
    }
}
