//! INSERT, UPDATE, DELETE and MERGE.
//!
//! A statement has a *source*: a query that yields the rows to insert, or finds and locks the rows to change. Changes
//! happen *in place* while the source runs when that cannot influence what it still finds (a point lookup; a scan whose
//! key is not assigned); otherwise all targets are collected first and changed afterwards. A statement is atomic: a
//! savepoint is taken before the first change and rolled back to when an error follows.
//!
//! Computed columns are stored, whether PERSISTED or not: readers need not compute them.
//!
//! | file | owns |
//! | --- | --- |
//! | `target` | rows, keys and index entries of the table that changes; its constraints |
//! | `foreign` | foreign keys |
//! | `insert`, `update`, `delete`, `merge` | binding and compiling each statement |
//! | `output` | OUTPUT clauses |
//! | `nested` | changes whose rows an INSERT takes |
//! | `from_file` | hints of an INSERT whose rows come from a file |
//! | `block` | block predicates of security policies |
//! | `period` | PERIOD FOR SYSTEM_TIME: versions of rows |
//! | `track` | CHANGE_TRACKING: which rows changed |
//! | `capture` | change data capture: what rows were and are |
//! | `watch` | who watches a table is told |
//! | `queue` | full-text search: which rows are to be indexed |
//! | `indexed_view` | views whose rows are stored: what a change of their tables does to them |
//! | `view` | views and CTEs as targets |
//! | `cascade` | compiling what happens to rows that refer to changed ones |
//! | `run` | execution; `run::follow`: cascades; `run::gone`: who still refers to what is no more |
//! | `bulk` | inserting many rows without a statement |

pub mod block;
pub mod bulk;
pub mod capture;
pub mod cascade;
pub mod delete;
pub mod foreign;
mod from_file;
pub mod indexed_view;
pub mod insert;
pub mod merge;
pub(crate) mod nested;
pub mod output;
pub mod period;
pub(crate) mod queue;
pub mod run;
pub mod target;
pub mod track;
pub mod update;
pub(crate) mod view;
mod watch;

use crate::bind::from::parts;
use crate::bind::{Binder, Source, same_name};
use crate::catalog::TableDef;
use crate::context::DmlAction;
use crate::errors::{self, Result};
use crate::exec::Operator;
use crate::exec::count::Counts;
use crate::exec::node::{Decode, Node};
use crate::expr::compile::Code;
use crate::plan::shown::Shown;
use crate::scope::ObjectRef;
use keel_parser::ast;
use keel_types::{Value, column};
use merge::MergeStep;
use std::rc::Rc;
use std::sync::Arc;

pub use bulk::{BulkInserter, BulkOptions, BulkRow, Cell};
pub use delete::compile_delete;
pub use insert::{compile_insert, compile_select_into, identity_value};
pub use merge::compile_merge;
pub use target::{Target, index_entry};
pub use update::compile_update;
pub use view::{LoadedView, loaded_view};

/// A compiled data change.
pub struct DmlPlan {
    pub(crate) target: Arc<Target>,
    pub(crate) source: Arc<Node>,
    pub(crate) change: Change,
    pub(crate) outputs: Vec<output::Output>,
    /// Rows are changed while the source runs.
    pub(crate) in_place: bool,
    /// The clustered key of the row to change, when it comes through a slot.
    pub(crate) row_key: Option<usize>,
    /// Source slots to keep while targets are collected.
    pub(crate) carried: Vec<usize>,
    /// Old values to decode from the target row: of its reference's slots.
    pub(crate) decode: Vec<Decode>,
    /// First slot of the old values.
    pub(crate) old_first: usize,
    /// More than one row may change, or one row has several parts: a savepoint is needed.
    pub(crate) savepoint: bool,
    /// AFTER triggers exist.
    pub(crate) triggers: bool,
    /// The change whose rows an INSERT takes.
    pub(crate) nested: Option<Arc<crate::plan::run::Plan>>,
    /// For SHOWPLAN.
    pub(crate) shown: Shown,
}

/// What is done to each row.
pub(crate) enum Change {
    /// INSERT.
    Insert(insert::InsertRow),
    /// UPDATE.
    Update(update::UpdateRow),
    /// DELETE.
    Delete(delete::DeleteRow),
    /// MERGE.
    Merge(merge::MergeRow),
}

impl Change {
    /// The statement, in errors.
    fn name(&self) -> &'static str {
        match self {
            Change::Insert(_) => "INSERT",
            Change::Update(_) => "UPDATE",
            Change::Delete(_) => "DELETE",
            Change::Merge(_) => "MERGE",
        }
    }
}

/// Buffers of one execution.
#[derive(Default)]
pub struct Buffers {
    pub(crate) rows: target::RowBuffers,
    /// For the table that keeps the versions before.
    pub(crate) history: target::RowBuffers,
    /// Of each OUTPUT clause with INTO, for its own target.
    pub(crate) into: Vec<target::RowBuffers>,
    pub(crate) key: Vec<u8>,
    /// Rows for AFTER triggers, by [`DmlAction`].
    pub(crate) changed: [ChangedRows; 3],
}

/// The pseudo-tables of a trigger.
#[derive(Default)]
pub(crate) struct ChangedRows {
    pub inserted: Vec<Vec<Value>>,
    pub deleted: Vec<Vec<Value>>,
}

impl DmlPlan {
    /// The running source.
    #[must_use]
    pub fn source_operator(&self, counts: Option<&Counts>) -> Box<dyn Operator> {
        self.source.operator(counts)
    }

    /// The tables of OUTPUT … INTO, and what an inner change changes.
    pub(crate) fn filled(&self) -> Vec<&TableDef> {
        let into = self.outputs.iter().filter_map(|o| match o {
            output::Output::Into(target, _) => Some(&*target.table),
            output::Output::Client(_) => None,
        });
        into.chain(self.nested.as_ref().and_then(|inner| inner.target())).collect()
    }

    /// The actions the statement is made of, each once, whether or not rows met them.
    pub(crate) fn actions(&self) -> Vec<DmlAction> {
        match &self.change {
            Change::Insert(_) => vec![DmlAction::Insert],
            Change::Update(_) => vec![DmlAction::Update],
            Change::Delete(_) => vec![DmlAction::Delete],
            Change::Merge(m) => [DmlAction::Insert, DmlAction::Update, DmlAction::Delete]
                .into_iter()
                .filter(|a| m.steps.iter().any(|s| s.action() == *a))
                .collect(),
        }
    }

    /// Positions of the columns the statement assigns in rows it keeps.
    fn assigned(&self) -> Vec<usize> {
        match &self.change {
            Change::Update(u) => u.changed.clone(),
            Change::Merge(m) => m
                .steps
                .iter()
                .flat_map(|s| match s {
                    MergeStep::Update(_, _, u) => u.changed.clone(),
                    _ => Vec::new(),
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Decoders for columns of a stored row into slots from `first`.
pub(crate) fn decoders(table: &TableDef, columns: &[usize], first: usize) -> Vec<Decode> {
    columns
        .iter()
        .map(|i| {
            let c = &table.columns[*i];
            let missing = c.missing_value.as_ref().map_or(Value::Null, |b| column::decode(b, &c.ty));
            Decode { ordinal: usize::from(c.ordinal), slot: first + i, ty: c.ty, missing }
        })
        .collect()
}

/// Finds the table a statement changes. Simple views stand for their table.
pub(crate) fn resolve_target(binder: &Binder<'_>, target: &ast::TableRef) -> Result<Arc<TableDef>> {
    if let ast::TableRef::Named(name) = target
        && let Some(remote) = binder.elsewhere(name)
    {
        // Changes of other servers' tables are made by who knows these.
        return Err(remote.err().unwrap_or_else(|| errors::view_not_updatable(&name.to_string())));
    }
    match target {
        ast::TableRef::Variable(v) if binder.scope.is_table_parameter(&v.name) => {
            Err(errors::read_only_table_parameter(&v.name))
        }
        ast::TableRef::Variable(v) => {
            binder.scope.table_variable(&v.name).ok_or_else(|| errors::undeclared_table_variable(&v.name))
        }
        ast::TableRef::Named(name) => match binder.scope.object(parts(name)) {
            Some(ObjectRef::Table(table)) => Ok(table),
            Some(ObjectRef::Module(m)) => Err(errors::view_not_updatable(&m.name)),
            Some(ObjectRef::Virtual(_)) => {
                let m = format!("Ad hoc updates to system catalogs are not allowed ('{name}').");
                Err(keel_types::SqlError::new(259, 16, 1, m))
            }
            None => Err(binder.not_found(name)),
        },
    }
}

/// Error 8171 when what changes would be the stored rows of a view.
pub(crate) fn refuse_view_rows(table: &TableDef) -> Result<()> {
    if table.view_of.is_empty() {
        return Ok(());
    }
    Err(Box::new(keel_types::SqlError { state: 1, ..*errors::invalid_hint("noexpand", &table.name) }))
}

/// Position of a column by name.
pub(crate) fn column_position(table: &TableDef, name: &str) -> Result<usize> {
    table.columns.iter().position(|c| same_name(&c.name, name)).ok_or_else(|| errors::invalid_column(name))
}

/// A table reference's slots under another alias (`deleted`).
pub(crate) fn renamed(source: &Source, alias: &str) -> Rc<Source> {
    Rc::new(Source { alias: alias.to_owned(), schema: None, database: None, locator: None, ..source.clone() })
}

/// Assignment of one column.
pub(crate) struct Assignment {
    /// Position.
    pub column: usize,
    /// Value, converted.
    pub code: Code,
}
