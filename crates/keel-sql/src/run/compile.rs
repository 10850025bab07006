//! Compiling the units of programs: by a plan that is forced, by hints from elsewhere, or as they are written.

use super::instead::instead_of;
use super::needs::{Securable, add_needs, needs_of};
use super::query::column_meta;
use super::{Frame, Runner};
use crate::engine::{DatabaseEntry, TABLE_VARIABLES};
use crate::errors;
use crate::parameterization::Mode;
use crate::program::{Compiled, CompiledCode, Dependencies, Guards, Need, Object, Program, Unit, UnitSource};
use crate::session::scope::Scope;
use crate::sink::ColumnMeta;
use keel_parser::ast::StatementKind;
use keel_query::plan::Dml;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// Compiles a unit of a program with parameters in the place of literals, and keeps it if the program will be used; whether its plan is
    /// trivial.
    pub(crate) fn compile_ahead(
        &mut self,
        program: &Arc<Program>,
        frame: &Frame,
        unit: &Unit,
    ) -> Result<bool> {
        let compiled = self.compile_unnoted(program, frame, unit)?;
        let trivial = matches!(&compiled.code, CompiledCode::Plan(plan) if plan.is_trivial());
        let used = trivial || program.parameterized == Some(Mode::Forced);
        if used && !compiled.is_for_once() && compiled.dependencies.is_shareable() {
            self.note_missing(&compiled);
            unit.keep(Arc::new(compiled));
        }
        Ok(trivial)
    }

    /// Compiles a unit. All that it names is as of one moment: what others define meanwhile has it compiled again.
    pub(super) fn compile(&mut self, program: &Arc<Program>, frame: &Frame, unit: &Unit) -> Result<Compiled> {
        let compiled = self.compile_unnoted(program, frame, unit)?;
        self.note_missing(&compiled);
        Ok(compiled)
    }

    fn note_missing(&self, compiled: &Compiled) {
        if let CompiledCode::Plan(plan) = &compiled.code {
            self.info.engine.note_missing(plan.missing());
        }
    }

    fn compile_unnoted(&mut self, program: &Arc<Program>, frame: &Frame, unit: &Unit) -> Result<Compiled> {
        let clock = &self.info.engine.options().env.clock;
        let began = clock.now();
        let mut compiled = loop {
            let compiled = match self.compile_forced(program, frame, unit)? {
                Some(compiled) => compiled,
                None => self.compile_hinted(program, frame, unit)?,
            };
            if self.has_catalogs_of(&compiled.dependencies) {
                break compiled;
            }
        };
        compiled.took_us = u32::try_from(clock.now().saturating_sub(began).as_micros()).unwrap_or(u32::MAX);
        Ok(compiled)
    }

    /// Compiles a unit for which the Query Store forces a plan; `None` of one that has none. Where that plan cannot be made any more,
    /// the unit is compiled without it.
    fn compile_forced(&self, program: &Program, frame: &Frame, unit: &Unit) -> Result<Option<Compiled>> {
        let UnitSource::Statement(statement) = &unit.source else { return Ok(None) };
        let entry = self.store_of(program);
        let Some(forced) = crate::query_store::forced(self.info, &entry, program, statement) else {
            return Ok(None);
        };
        let scope = self.scope(program, frame).directed(Arc::clone(&forced.directions));
        let failed = match self.compile_in(&scope, unit) {
            Ok(compiled) => match forced.failed(&compiled.code) {
                None => return Ok(Some(compiled)),
                Some(failed) => failed,
            },
            Err(e) => e.number,
        };
        // What is wrong with the statement itself is no failure of the plan.
        let compiled = self.compile_in(&self.scope(program, frame), unit)?;
        forced.count_failure(&entry, failed);
        Ok(Some(compiled))
    }

    /// Compiles a unit with the Query Store's hints, if it has some.
    fn compile_hinted(&self, program: &Program, frame: &Frame, unit: &Unit) -> Result<Compiled> {
        if let UnitSource::Statement(statement) = &unit.source
            && let Some(hinted) = crate::query_store::hinted(&self.store_of(program), program, statement)?
        {
            let hinted = Unit::new(UnitSource::Statement(hinted));
            // Hints that a plan cannot be made with count for nothing.
            if let Ok(compiled) = self.compile_in(&self.scope(program, frame), &hinted) {
                return Ok(compiled);
            }
        }
        match self.compile_guided(program, frame, unit) {
            Some(compiled) => Ok(compiled),
            None => self.compile_in(&self.scope(program, frame), unit),
        }
    }

    /// Compiles a unit with the hints of a plan guide; `None` of one that has none, or for which no plan can be made with them.
    fn compile_guided(&self, program: &Program, frame: &Frame, unit: &Unit) -> Option<Compiled> {
        let UnitSource::Statement(statement) = &unit.source else { return None };
        let entry = self.store_of(program);
        let (guided, guide) = crate::plan_guides::guided(&self.info.picture(&entry), program, statement)?;
        let guided = Unit::new(UnitSource::Statement(guided));
        let mut compiled = self.compile_in(&self.scope(program, frame), &guided).ok()?;
        if let CompiledCode::Plan(plan) = &mut compiled.code {
            plan.set_guide(entry.name().to_string(), guide);
        }
        Some(compiled)
    }

    /// The database whose Query Store a program's statements belong to: a module's own, or else the session's.
    fn store_of(&self, program: &Program) -> Arc<DatabaseEntry> {
        let entry = self.info.current_database();
        let of_module = program.identity.object_id != 0 && program.identity.database != entry.id;
        let own = if of_module { self.info.engine.database_by_id(program.identity.database) } else { None };
        own.unwrap_or(entry)
    }

    /// Compiles a unit; the scope knows afterwards what its names stand for.
    pub(super) fn compile_in(&self, scope: &Scope<'_>, unit: &Unit) -> Result<Compiled> {
        let mut columns = Vec::new();
        let (mut targets, mut changed, mut nested) = (Vec::new(), None, None);
        let code = match &unit.source {
            UnitSource::Expr(e, ty) => CompiledCode::Expr(keel_query::compile_expr(scope, e, *ty)?),
            UnitSource::Condition(e) => CompiledCode::Condition(keel_query::compile_condition(scope, e)?),
            UnitSource::Statement(s) => {
                crate::engine::add(&self.info.shared.counts.compilations, 1);
                if let Some(change) = crate::linked::change::change_of(scope, &s.kind)? {
                    let (needs, dependencies) = (scope.needs.take(), scope.found.take());
                    let code = CompiledCode::Remote(Box::new(change));
                    return Ok(compiled(scope, code, dependencies, columns, targets, needs));
                }
                if let Some(instead) = instead_of(scope, &s.kind)? {
                    let needs = needs_of(scope, &s.kind, None);
                    let dependencies = scope.found.take();
                    let code = CompiledCode::Instead(Box::new(instead));
                    return Ok(compiled(scope, code, dependencies, columns, targets, needs));
                }
                if let Some(inner) = super::target::nested(&s.kind)
                    && instead_of(scope, inner)?.is_some()
                {
                    let name = super::target::direct(inner).map(|n| n.name.text.to_string());
                    return Err(keel_query::errors::output_beside_triggers(&name.unwrap_or_default()));
                }
                let plan = match &s.kind {
                    StatementKind::Select(select) => keel_query::compile_select(scope, select)?,
                    StatementKind::Insert(i) => keel_query::compile_dml(scope, Dml::Insert(i))?,
                    StatementKind::Update(u) => keel_query::compile_dml(scope, Dml::Update(u))?,
                    StatementKind::Delete(d) => keel_query::compile_dml(scope, Dml::Delete(d))?,
                    StatementKind::Merge(m) => keel_query::compile_dml(scope, Dml::Merge(m))?,
                    _ => return Err(errors::not_supported("This statement")),
                };
                columns = plan.columns().iter().map(column_meta).collect();
                changed = changed_by(&plan);
                nested = plan.nested().and_then(changed_by);
                targets.extend(changed.as_ref().map(|t| (t.database, t.object)));
                let filled = plan.filled().into_iter().filter(|t| t.database != TABLE_VARIABLES);
                targets.extend(filled.map(|t| (t.database, t.object_id)));
                CompiledCode::Plan(Box::new(plan))
            }
        };
        for (database, _) in &scope.found.borrow().catalogs {
            if let Some(entry) = self.info.engine.database_by_id(*database) {
                entry.may_be_opened()?;
            }
        }
        for (database, _) in &targets {
            self.check_database_writable(*database)?;
        }
        let needs = match &unit.source {
            UnitSource::Statement(s) => {
                let mut needs = needs_of(scope, &s.kind, changed);
                if let Some(inner) = super::target::nested(&s.kind) {
                    add_needs(scope, inner, nested, &mut needs);
                }
                needs
            }
            UnitSource::Expr(..) | UnitSource::Condition(_) => scope.needs.take(),
        };
        let dependencies = scope.found.take();
        Ok(compiled(scope, code, dependencies, columns, targets, needs))
    }
}

/// What a plan changes, if that has permissions.
fn changed_by(plan: &keel_query::Plan) -> Option<Securable> {
    plan.target().filter(|t| t.database != TABLE_VARIABLES).map(Securable::of)
}

/// A compiled form that nobody has counted yet.
fn compiled(
    scope: &Scope<'_>,
    code: CompiledCode,
    dependencies: Dependencies,
    columns: Vec<ColumnMeta>,
    targets: Vec<Object>,
    needs: Vec<Need>,
) -> Compiled {
    let (answered, standing) = (scope.answered.take(), dependencies.standing(&needs));
    let guards = Guards::of(&dependencies, &targets);
    let is_fixed = matches!(&code, CompiledCode::Plan(plan) if plan.is_fixed());
    let sampled = if is_fixed { Vec::new() } else { scope.sampled.take() };
    let looked = scope.info.engine.look().into();
    Compiled {
        code,
        dependencies,
        standing,
        columns,
        needs,
        answered,
        took_us: 0,
        counted: false.into(),
        guards,
        sampled,
        looked,
    }
}
