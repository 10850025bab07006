//! Hints: what OPTION, the WITH of a table and the words before JOIN ask of a plan.
//!
//! Table hints are reduced to their meaning where their table is bound. Those of OPTION hold for the whole statement; the planner asks
//! for them: ways to join and the order of joins in [`crate::plan::cluster`] and for outer and semi joins, ways to group where groups
//! and distinct rows are made, the number of rows wanted first at the top of the plan.

use super::expr::{Clause, ExprCx};
use super::rel::{Hints, JoinMethod};
use super::{ArcTable, Binder, same_name};
use crate::errors::{self, Result};
use crate::expr::fold;
use keel_parser::ast;
use keel_types::Value;
use smol_str::SmolStr;

/// What OPTION asks of the plan.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// LOOP JOIN, HASH JOIN, MERGE JOIN: no others, if there are some.
    pub joins: Vec<JoinMethod>,
    /// FORCE ORDER, and SET FORCEPLAN: inner joins as they are written.
    pub force_order: bool,
    /// HASH GROUP or ORDER GROUP.
    pub grouping: Option<Grouping>,
    /// FAST: so many rows are wanted soon.
    pub fast: Option<f64>,
    /// DISABLE_OPTIMIZER_ROWGOAL: that few rows are wanted makes no difference.
    pub no_row_goal: bool,
    /// RECOMPILE: the plan is made for one execution.
    pub recompile: bool,
    /// KEEPFIXED PLAN: the plan stays when the data becomes another.
    pub keeps_plan: bool,
    /// OPTIMIZE FOR UNKNOWN, DISABLE_PARAMETER_SNIFFING: the plan is made for no values in particular.
    pub unknown: bool,
    /// OPTIMIZE FOR: variables, and the values that the plan is made for; `None` for none in particular.
    pub assumed: Vec<(usize, Option<Value>)>,
    /// TABLE HINT: hints of the tables that have these names in the statement, and whether one was found.
    tables: Vec<(String, Vec<ast::TableHint>, bool)>,
}

/// How groups are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// By a hash table.
    Hash,
    /// In their order, by sorting if nothing else gives it.
    Order,
}

/// Names that `USE HINT` takes and `sys.dm_exec_valid_use_hints` lists, those of SQL Server 2022. Of these DISABLE_OPTIMIZER_ROWGOAL and
/// DISABLE_PARAMETER_SNIFFING act.
pub const USE_HINTS: [&str; 31] = [
    "ASSUME_FULL_INDEPENDENCE_FOR_FILTER_ESTIMATES",
    "ASSUME_JOIN_PREDICATE_DEPENDS_ON_FILTERS",
    "ASSUME_MIN_SELECTIVITY_FOR_FILTER_ESTIMATES",
    "ASSUME_PARTIAL_CORRELATION_FOR_FILTER_ESTIMATES",
    "DISABLE_BATCH_MODE_ADAPTIVE_JOINS",
    "DISABLE_BATCH_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_CE_FEEDBACK",
    "DISABLE_DEFERRED_COMPILATION_TV",
    "DISABLE_DOP_FEEDBACK",
    "DISABLE_INTERLEAVED_EXECUTION_TVF",
    "DISABLE_MEMORY_GRANT_FEEDBACK_PERSISTENCE",
    "DISABLE_OPTIMIZED_NESTED_LOOP",
    "DISABLE_OPTIMIZED_PLAN_FORCING",
    "DISABLE_OPTIMIZER_ROWGOAL",
    "DISABLE_PARAMETER_SNIFFING",
    "DISABLE_RESULT_SET_CACHE",
    "DISABLE_ROW_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_TSQL_SCALAR_UDF_INLINING",
    "DISALLOW_BATCH_MODE",
    "ENABLE_HIST_AMENDMENT_FOR_ASC_KEYS",
    "ENABLE_QUERY_OPTIMIZER_HOTFIXES",
    "FORCE_DEFAULT_CARDINALITY_ESTIMATION",
    "FORCE_LEGACY_CARDINALITY_ESTIMATION",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_100",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_110",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_120",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_130",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_140",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_150",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_160",
    "QUERY_PLAN_PROFILE",
];

/// Taken and not listed.
const PARALLEL_PREFERENCE: &str = "ENABLE_PARALLEL_PLAN_PREFERENCE";
/// Nothing is planned for few rows.
const NO_ROW_GOAL: &str = "DISABLE_OPTIMIZER_ROWGOAL";
/// Nothing is planned for the values of parameters.
const NO_SNIFFING: &str = "DISABLE_PARAMETER_SNIFFING";

impl Binder<'_> {
    /// Takes over the hints of OPTION.
    ///
    /// # Errors
    /// 10715 for a name that `USE HINT` does not know.
    pub fn query_hints(&mut self, hints: &[ast::QueryHint]) -> Result<()> {
        use ast::QueryHint as H;
        let force_plan = self.scope.options().force_plan;
        self.asked.force_order |= force_plan;
        for hint in hints {
            match hint {
                H::MaxRecursion(n) => self.max_recursion = u32::try_from(*n).unwrap_or(0),
                H::Other(words) if words == "EXPAND VIEWS" => self.expands_views = true,
                H::MaxDop(n) => self.max_degree = u16::try_from(*n).ok(),
                H::UseHint(names) => self.use_hints(names)?,
                H::LoopJoin => self.asked.joins.push(JoinMethod::Loop),
                H::HashJoin | H::MergeJoin => self.asked.joins.push(JoinMethod::Hash),
                H::ForceOrder => self.asked.force_order = true,
                H::HashGroup => self.asked.grouping = Some(Grouping::Hash),
                H::OrderGroup => self.asked.grouping = Some(Grouping::Order),
                H::Recompile => self.asked.recompile = true,
                H::KeepFixedPlan => self.asked.keeps_plan = true,
                H::OptimizeForUnknown => self.asked.unknown = true,
                H::OptimizeFor(variables) => self.optimize_for(variables)?,
                H::Fast(n) => self.asked.fast = (*n > 0).then_some(*n as f64),
                H::TableHint(name, hints) => {
                    self.asked.tables.push((name.name.as_str().to_owned(), hints.clone(), false));
                }
                _ => {}
            }
        }
        if force_plan && self.asked.joins.is_empty() {
            self.asked.joins.push(JoinMethod::Loop);
        }
        Ok(())
    }

    fn use_hints(&mut self, names: &[SmolStr]) -> Result<()> {
        for name in names {
            let is = |known: &&str| known.eq_ignore_ascii_case(name);
            if !USE_HINTS.iter().chain([&PARALLEL_PREFERENCE]).any(is) {
                return Err(errors::unknown_use_hint(name));
            }
            self.prefers_parallel |= is(&PARALLEL_PREFERENCE);
            self.asked.no_row_goal |= is(&NO_ROW_GOAL);
            self.asked.unknown |= is(&NO_SNIFFING);
        }
        Ok(())
    }

    fn optimize_for(&mut self, variables: &[(ast::Variable, Option<ast::Expr>)]) -> Result<()> {
        for (variable, value) in variables {
            let info = self.scope.variable(&variable.name);
            let info = info.ok_or_else(|| errors::undeclared_variable(&variable.name))?;
            let value = match value {
                Some(value) => {
                    let nowhere = super::Scope::default();
                    let bound = self.value(value, &mut ExprCx::new(&nowhere, Clause::Other))?;
                    fold::constant(&super::merge_types::assign_to(bound, info.ty)?)
                }
                None => None,
            };
            self.asked.assumed.push((info.index, value));
        }
        Ok(())
    }

    /// The only way to join that OPTION leaves, if it leaves one.
    pub(crate) fn only_join(&self) -> Option<JoinMethod> {
        match self.asked.joins[..] {
            [first, ref others @ ..] if others.iter().all(|other| *other == first) => Some(first),
            _ => None,
        }
    }

    /// The hints of a table under this name: those written with it and those of TABLE HINT, which is about the statement's own text.
    pub(super) fn hints_of(
        &mut self,
        exposed: &str,
        written: &[ast::TableHint],
        table: &ArcTable,
    ) -> Result<Hints> {
        let mut all = written.to_vec();
        if !self.in_a_module() {
            for (_, hints, found) in
                self.asked.tables.iter_mut().filter(|(name, ..)| same_name(name, exposed))
            {
                all.extend(hints.iter().cloned());
                *found = true;
            }
        }
        self.hints(&all, Some(table))
    }

    /// Whether TABLE HINT was about tables that the statement has: to be asked when all of it is bound.
    ///
    /// # Errors
    /// 8723 for a name that is none of them.
    pub(crate) fn check_table_hints(&self) -> Result<()> {
        match self.asked.tables.iter().find(|(.., found)| !found) {
            Some((name, ..)) => Err(errors::hinted_table_missing(name)),
            None => Ok(()),
        }
    }

    /// Reduces written hints to their meaning.
    pub fn hints(&self, hints: &[ast::TableHint], table: Option<&ArcTable>) -> Result<Hints> {
        let mut h = Hints::default();
        for hint in hints {
            match hint {
                ast::TableHint::NoLock | ast::TableHint::ReadUncommitted => h.dirty = true,
                ast::TableHint::ReadCommitted | ast::TableHint::ReadCommittedLock => h.committed = true,
                ast::TableHint::RepeatableRead => h.repeatable = true,
                ast::TableHint::Serializable | ast::TableHint::HoldLock => h.serializable = true,
                ast::TableHint::Snapshot => h.snapshot = true,
                ast::TableHint::ReadPast => h.skip_locked = true,
                ast::TableHint::TabLock => h.table = true,
                ast::TableHint::TabLockX => h.table_exclusive = true,
                ast::TableHint::UpdLock => h.update = true,
                ast::TableHint::XLock => h.exclusive = true,
                ast::TableHint::NoWait => h.no_wait = true,
                ast::TableHint::ForceScan => h.force_scan = true,
                ast::TableHint::ForceSeek(None) => h.force_seek = Some(0),
                ast::TableHint::ForceSeek(Some((index, columns))) => {
                    if let Some(table) = table {
                        let at = find_index(table, index)?;
                        h.force_seek = Some(seek_columns(table, at, columns)?);
                        h.indexes.push(at);
                    }
                }
                ast::TableHint::Index(list) => {
                    for index in list {
                        if let Some(table) = table {
                            let at = find_index(table, index)?;
                            let named = &table.indexes[at];
                            if named.disabled && at != 0 {
                                return Err(errors::hinted_index_disabled(&named.name, &table.name));
                            }
                            h.indexes.push(at);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(h)
    }
}

/// How many columns of an index's key FORCESEEK names.
fn seek_columns(table: &ArcTable, at: usize, columns: &[ast::Ident]) -> Result<usize> {
    let index = &table.indexes[at];
    if columns.len() > index.key.len() {
        return Err(errors::too_many_seek_columns(&table.name, &index.name));
    }
    for (written, key) in columns.iter().zip(&index.key) {
        let column = table.column_index(key.column_id).map(|i| &table.columns[i]);
        if !column.is_some_and(|c| same_name(&c.name, &written.text)) {
            return Err(errors::no_seek_column(&written.text, &table.name, &index.name));
        }
    }
    Ok(columns.len())
}

fn find_index(table: &ArcTable, index: &ast::IndexRef) -> Result<usize> {
    let found = match index {
        ast::IndexRef::Name(n) => table.indexes.iter().position(|i| same_name(&i.name, &n.text)),
        ast::IndexRef::Number(n @ (0 | 1)) => (*n == 0 || table.indexes[0].index_id == 1).then_some(0),
        ast::IndexRef::Number(n) => table.indexes.iter().position(|i| i.index_id == *n),
    };
    found.ok_or_else(|| match index {
        ast::IndexRef::Name(n) => errors::hinted_index_missing(&n.text, &table.name),
        ast::IndexRef::Number(n) => errors::hinted_index_id_missing(*n, &table.name),
    })
}
