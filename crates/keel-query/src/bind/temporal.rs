//! FOR SYSTEM_TIME: a system-versioned table as its rows and those of its history together, as far as their periods let
//! them through. Over a view it holds for every system-versioned table in it.

use super::expr::{Clause, ExprCx};
use super::from::BoundSource;
use super::rel::{Get, Hints, Rel, SetKind, SlotInfo};
use super::{ArcTable, Binder, Scope, Source, SourceColumn, same_name};
use crate::catalog::{ModuleKind, TableDef};
use crate::errors::{self, Result};
use crate::expr::{CmpOp, Expr, Slot};
use crate::scope::ObjectRef;
use keel_parser::ast;
use std::rc::Rc;

/// Which versions of rows are asked for.
#[derive(Clone)]
pub(super) enum TimeRange {
    /// AS OF: those of one moment.
    AsOf(Expr),
    /// FROM … TO: those true at some time between, the end left out.
    FromTo(Expr, Expr),
    /// BETWEEN … AND: the end taken in.
    Between(Expr, Expr),
    /// CONTAINED IN: those that began and ended between.
    ContainedIn(Expr, Expr),
    /// ALL.
    All,
}

/// Positions of the start and the end of the period that the rows of `of` have in `table`: the table itself or its history.
fn period_columns(of: &TableDef, table: &TableDef) -> Option<(usize, usize)> {
    let period = of.period.as_ref()?;
    let position = |id: i32| {
        let name = &of.columns[of.column_index(id)?].name;
        table.columns.iter().position(|c| same_name(&c.name, name))
    };
    Some((position(period.start)?, position(period.end)?))
}

impl Binder<'_> {
    /// Binds a name with FOR SYSTEM_TIME. Errors 13544 and 13590.
    pub(super) fn named_at(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        hints: &[ast::TableHint],
        time: &ast::SystemTime,
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundSource> {
        if self.system_time.is_some() {
            return Err(errors::system_time_twice(&name.to_string()));
        }
        match self.lookup(name)? {
            ObjectRef::Table(table) if table.versioning().is_some() => {}
            ObjectRef::Module(module) if module.kind == ModuleKind::View => {}
            _ => return Err(errors::not_system_versioned(&name.to_string())),
        }
        self.system_time = Some(self.time_range(time)?);
        let bound = self.named(name, alias, hints, parent);
        self.system_time = None;
        bound
    }

    fn time_range(&mut self, time: &ast::SystemTime) -> Result<TimeRange> {
        let nothing = Scope::default();
        let mut at = |e: &ast::Expr| self.value(e, &mut ExprCx::new(&nothing, Clause::Other));
        Ok(match time {
            ast::SystemTime::AsOf(e) => TimeRange::AsOf(at(e)?),
            ast::SystemTime::FromTo(from, to) => TimeRange::FromTo(at(from)?, at(to)?),
            ast::SystemTime::Between(from, to) => TimeRange::Between(at(from)?, at(to)?),
            ast::SystemTime::ContainedIn(from, to) => TimeRange::ContainedIn(at(from)?, at(to)?),
            ast::SystemTime::All => TimeRange::All,
        })
    }

    /// The versions of a table's rows in a range, as one source.
    pub(super) fn versions(
        &mut self,
        table: &ArcTable,
        alias: &str,
        schema: Option<String>,
        hints: Hints,
        range: &TimeRange,
    ) -> Result<BoundSource> {
        let versioning = table.versioning().ok_or_else(|| errors::not_system_versioned(alias))?;
        let catalog = self.scope.catalog(table.database);
        let history = catalog.as_ref().and_then(|catalog| catalog.table_by_id(versioning.history));
        let history = history.ok_or_else(|| errors::not_system_versioned(alias))?;
        let limits = catalog.is_some_and(|catalog| catalog.limits_history());
        let oldest = versioning.oldest_kept().filter(|_| limits);
        // Whoever reads versions reads the history: it takes the right to.
        self.scope.note_read(&ObjectRef::Table(history.clone()));
        let past_hints = Hints { indexes: Vec::new(), ..hints.clone() };
        // Each with its own policies: a predicate on the table is none on its history.
        let (current, _) = self.guarded_get(table.clone(), alias, None, hints)?;
        let (past, _) = self.guarded_get(history.clone(), alias, None, past_hints)?;
        let mut columns = Vec::new();
        let (mut left_slots, mut right_slots, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for (i, c) in table.columns.iter().enumerate() {
            let Some(j) = history.columns.iter().position(|h| same_name(&h.name, &c.name)) else { continue };
            let slot = self.new_slot(SlotInfo {
                name: c.name.clone(),
                ty: c.ty,
                collation: c.collation,
                nullable: c.nullable,
                origin: None,
            });
            left_slots.push(current.slot(i));
            right_slots.push(past.slot(j));
            slots.push(slot);
            columns.push(SourceColumn { name: c.name.clone(), slot });
        }
        let shown = |slot: &&Slot| table.is_hidden((**slot - slots[0]) as usize);
        let hidden: Vec<Slot> = slots.iter().filter(shown).copied().collect();
        let left = self.in_range(table, current, range, None)?;
        let right = self.in_range(table, past, range, oldest.as_deref())?;
        let (left, right) = (Box::new(left), Box::new(right));
        let rel = Rel::SetOp { kind: SetKind::UnionAll, left, right, left_slots, right_slots, slots };
        let source = Source { schema, hidden, ..Source::of(alias, columns) };
        Ok((rel, vec![Rc::new(source)]))
    }

    /// The rows of a table or its history whose period fits. Those that a transaction itself replaced, true for no time at
    /// all, never do, nor those that ended before `oldest`: they may be removed at any time.
    fn in_range(
        &mut self,
        versioned: &TableDef,
        get: Get,
        range: &TimeRange,
        oldest: Option<&str>,
    ) -> Result<Rel> {
        let Some((start, end)) = period_columns(versioned, &get.table) else {
            return Err(errors::not_system_versioned(&versioned.name));
        };
        let (start, end) = (self.read(get.slot(start)), self.read(get.slot(end)));
        let lasting = self.comparison(CmpOp::Ne, start.clone(), end.clone())?;
        let mut fits = vec![lasting];
        if let Some(oldest) = oldest {
            let oldest = keel_parser::parse_expr(oldest).map_err(|e| super::parse_error(*e))?;
            let oldest = self.value(&oldest, &mut ExprCx::new(&Scope::default(), Clause::Other))?;
            fits.push(self.comparison(CmpOp::Ge, end.clone(), oldest)?);
        }
        let mut add = |op, column: &Expr, value: &Expr| -> Result<()> {
            fits.push(self.comparison(op, column.clone(), value.clone())?);
            Ok(())
        };
        match range {
            TimeRange::AsOf(at) => {
                add(CmpOp::Le, &start, at)?;
                add(CmpOp::Gt, &end, at)?;
            }
            TimeRange::FromTo(from, to) => {
                add(CmpOp::Lt, &start, to)?;
                add(CmpOp::Gt, &end, from)?;
            }
            TimeRange::Between(from, to) => {
                add(CmpOp::Le, &start, to)?;
                add(CmpOp::Gt, &end, from)?;
            }
            TimeRange::ContainedIn(from, to) => {
                add(CmpOp::Ge, &start, from)?;
                add(CmpOp::Le, &end, to)?;
            }
            TimeRange::All => {}
        }
        Ok(Rel::Get(Box::new(get)).filter(fits))
    }
}
