//! The table a statement changes: how its rows, keys and index entries are made, and what must hold of them.

mod duplicates;
mod entries;
mod guard;
mod patched;
mod references;
mod rules;

use crate::bind::expr::{Clause, ExprCx};
use crate::bind::merge_types::{assign_to, cast_to};
use crate::bind::rel::SlotInfo;
use crate::bind::{ArcTable, Binder, Scope, Source, SourceColumn, parse_error};
use crate::catalog::{IndexDef, IndexKind, TableDef};
use crate::errors::{self, Error, Result};
use crate::exec::Operator;
use crate::exec::access::last_column;
use crate::exec::cx::Cx;
use crate::expr::compile::{Code, Compiler, Pred};
use crate::expr::{Expr, ExprKind, Slot};
use crate::policy::PredicateKind;
use crate::usage::Sums;
use keel_base::waits::lock_waits;
use keel_store::row::{PatchBuilder, Row, RowBuilder, patch};
use keel_types::collation::pages;
use keel_types::key::{self, KeyColumn};
use keel_types::{Length, SqlType, Value, cast, column};
use std::rc::Rc;
use std::sync::Arc;

pub(super) use guard::Guard;

pub use entries::IndexKeys;

/// A CHECK constraint, or the rule that is bound to a column.
pub struct RowRule {
    /// Name of the constraint; `None` of a rule.
    pub constraint: Option<String>,
    /// What must not be false.
    pub condition: Pred,
    /// Positions of the columns that it reads.
    pub columns: Vec<usize>,
    /// The column, when it reads a single one.
    pub column: Option<String>,
}

/// A compiled target table. `new_first + i` is the slot of the new value of `table.columns[i]`.
pub struct Target {
    /// The table.
    pub table: ArcTable,
    /// `database.schema.table`, for messages.
    pub full_name: String,
    /// `schema.table`.
    pub name: String,
    /// Database name.
    pub database: String,
    /// First slot of the new values.
    pub new_first: usize,
    /// Number of columns in a stored row.
    width: usize,
    /// Column position for each ordinal.
    by_ordinal: Vec<Option<usize>>,
    /// Columns from which the clustered key is made.
    clustered: IndexKeys,
    /// The other indexes.
    pub indexes: Vec<IndexKeys>,
    /// Computed columns: position and value over the new slots.
    pub computed: Vec<(usize, Code)>,
    /// Column positions that each computed column reads.
    pub computed_inputs: Vec<Vec<usize>>,
    /// CHECK constraints over the new slots, with the columns they read.
    pub checks: Vec<RowRule>,
    /// Conditions of a view WITH CHECK OPTION over the new slots, with the columns they read.
    pub view_checks: Vec<(Pred, Vec<usize>)>,
    /// Block predicates of security policies.
    pub blocks: Vec<super::block::BlockPredicate>,
    /// Foreign keys of this table.
    pub parents: Vec<super::foreign::ParentCheck>,
    /// Position of the identity column.
    pub identity: Option<usize>,
    /// Position of the rowversion column.
    pub rowversion: Option<usize>,
    /// PERIOD FOR SYSTEM_TIME.
    pub period: Option<super::period::Period>,
    /// CHANGE_TRACKING.
    pub tracked: Option<super::track::Tracked>,
    /// Change data capture.
    pub captured: Vec<super::capture::Captured>,
    /// Full-text index.
    pub queue: Option<super::queue::Queue>,
    /// Indexed views over the table.
    pub views: Vec<super::indexed_view::IndexedView>,
    /// SET options of the statement's text, by name, with which the views over the table cannot be kept.
    pub(super) wrong_options: Vec<&'static str>,
}

/// Buffers for building rows, reused from row to row.
#[derive(Default)]
pub struct RowBuffers {
    pub(crate) row: RowBuilder,
    pub(crate) entry: RowBuilder,
    pub(crate) patch: PatchBuilder,
    pub(crate) patched: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) index_key: Vec<u8>,
    pub(crate) index_key_old: Vec<u8>,
    pub(crate) column: Vec<u8>,
    pub(crate) old_key: Vec<u8>,
    /// What rows refer to in their own table and was not there: number of the foreign key, and key.
    pub(super) awaited: Vec<(usize, Box<[u8]>)>,
    /// What the statement did so far.
    pub(crate) sums: Sums,
    /// What keeps others from the rows that are added.
    pub(super) guard: Guard,
    /// Who watches the table and was not told yet.
    pub(crate) watching: Option<Box<crate::watch::Watching>>,
    /// The running queries of the views over the table.
    pub(super) views: Vec<Option<Box<dyn Operator>>>,
}

fn push_value(row: &mut RowBuilder, v: &Value, ty: &SqlType) {
    match v {
        Value::Null => row.push_null(),
        v => row.push_with(|out| column::encode(v, ty, out)),
    }
}

impl Target {
    /// Compiles a target. The binder gets slots for the new values.
    pub fn new(binder: &mut Binder<'_>, table: &ArcTable) -> Result<Target> {
        binder.scope.will_lock(table.database, table.object_id);
        table.check_enabled()?;
        if table.queue {
            return Err(errors::not_modifiable(&table.name));
        }
        let scope = binder.scope;
        if !binder.databases.contains(&table.database) {
            binder.databases.push(table.database);
        }
        let new_first = binder.slots.len();
        for c in &table.columns {
            binder.new_slot(SlotInfo {
                name: c.name.clone(),
                ty: c.ty,
                collation: c.collation,
                nullable: c.nullable,
                origin: None,
            });
        }
        let database = scope.database_name(table.database);
        let schema = scope.schema_name(table.database, table.schema_id);
        let width = table.stored_width();
        let mut by_ordinal = vec![None; width];
        for (i, c) in table.columns.iter().enumerate() {
            by_ordinal[usize::from(c.ordinal)] = Some(i);
        }
        let mut target = Target {
            full_name: format!("{database}.{schema}.{}", table.name),
            name: format!("{schema}.{}", table.name),
            database,
            new_first,
            width,
            by_ordinal,
            clustered: IndexKeys::new(table, table.clustered()).counted(scope, table),
            indexes: table.indexes[1..]
                .iter()
                .filter(|i| !i.disabled)
                .map(|i| IndexKeys::new(table, i).counted(scope, table))
                .collect(),
            computed: Vec::new(),
            computed_inputs: Vec::new(),
            checks: Vec::new(),
            view_checks: Vec::new(),
            blocks: Vec::new(),
            parents: Vec::new(),
            identity: table.columns.iter().position(|c| c.identity.is_some()),
            rowversion: table.columns.iter().position(|c| c.ty == SqlType::RowVersion),
            period: None,
            tracked: None,
            captured: super::capture::Captured::all(table),
            queue: super::queue::Queue::of(table),
            views: Vec::new(),
            wrong_options: Vec::new(),
            table: table.clone(),
        };
        binder.kept_in(target.table.database, |b| b.unnoticed(|b| target.compile_rules(b)))?;
        target.parents = super::foreign::parent_checks(binder, &target)?;
        target.period = super::period::Period::of(binder, &target)?;
        target.tracked = super::track::Tracked::of(binder, &target)?;
        target.views = super::indexed_view::IndexedView::all(binder, &target)?;
        if !target.views.is_empty() {
            let options = scope.options();
            let own = [("ANSI_NULLS", options.ansi_nulls), ("QUOTED_IDENTIFIER", options.quoted_identifier)];
            target.wrong_options = own.into_iter().filter(|(_, on)| !on).map(|(name, _)| name).collect();
        }
        Ok(target)
    }

    /// The new row as a name scope.
    #[must_use]
    pub fn source(&self, alias: &str) -> Rc<Source> {
        let columns = self.table.columns.iter().enumerate();
        let columns = columns
            .map(|(i, c)| SourceColumn { name: c.name.clone(), slot: (self.new_first + i) as Slot })
            .collect();
        let hidden = (0..self.table.columns.len()).filter(|i| self.table.is_hidden(*i));
        let hidden = hidden.map(|i| (self.new_first + i) as Slot).collect();
        Rc::new(Source { hidden, ..Source::of(alias, columns) })
    }

    /// The value of a column's DEFAULT, or NULL.
    pub fn default_of(&self, binder: &mut Binder<'_>, column: usize) -> Result<Expr> {
        let c = &self.table.columns[column];
        match &c.default {
            Some(d) => {
                let e = keel_parser::parse_expr(&d.text).map_err(|e| parse_error(*e))?;
                binder.kept_in(self.table.database, |b| {
                    b.unnoticed(|b| b.value(&e, &mut ExprCx::new(&Scope::default(), Clause::Other)))
                })
            }
            None => Ok(Expr::constant(Value::Null, c.ty)),
        }
    }

    /// Code that converts a value for storing in a column: strings that do not fit are error 2628.
    pub fn assignment(&self, e: Expr, column: usize, compiler: &mut Compiler<'_>) -> Result<Code> {
        let c = &self.table.columns[column];
        let narrow = |ty: SqlType| ty.is_string() && !ty.is_national();
        let page = c.collation.code_page();
        // Between code pages the way is by Unicode; in one that is not the usual, the column's length is in other units.
        let foreign = narrow(c.ty) && narrow(e.ty) && page != e.collation.code_page();
        let wide = foreign || (narrow(c.ty) && narrow(e.ty) && page != pages::LATIN1);
        let e = if wide { cast_to(e, SqlType::NVarChar(Length::Max)) } else { e };
        if e.ty == c.ty {
            return compiler.value(&e);
        }
        let checked = assign_to(e.clone(), c.ty)?;
        let sized = c.ty.length().is_some();
        if !sized || !matches!(checked.kind, ExprKind::Cast(_)) {
            return compiler.value(&checked);
        }
        let cast = cast::implicit(e.ty, c.ty)?.for_column().in_page(page);
        let input = compiler.value(&e)?;
        let identity = cast.is_identity();
        if identity {
            return Ok(input);
        }
        let (table, name, plain) =
            (self.full_name.clone(), c.name.clone(), cast::implicit(e.ty, c.ty)?.in_page(page));
        let convert = move |v: &Value, strict: bool| -> Result<Value> {
            if !strict {
                return plain.apply(v);
            }
            cast.apply(v).map_err(|e| {
                if e.number != 8152 {
                    return e;
                }
                let kept = match plain.apply(v) {
                    Ok(Value::Str(s)) => s.to_string(),
                    _ => String::new(),
                };
                errors::string_truncated(&table, &name, &kept)
            })
        };
        Ok(match input {
            Code::Const(v) => match convert(&v, true) {
                Ok(v) => Code::Const(v),
                Err(_) => Code::Dyn(Box::new(move |cx| convert(&v, cx.session.ansi_warnings()))),
            },
            input => Code::Dyn(Box::new(move |cx| {
                let strict = cx.session.ansi_warnings();
                input.with(cx, |v| convert(v, strict))?
            })),
        })
    }

    /// A storage error, naming the table where the product does.
    #[cold]
    fn storage_error(&self, cx: &Cx<'_>, e: &keel_node::TxnError) -> Error {
        match e {
            keel_node::TxnError::SnapshotConflict => errors::snapshot_conflict(&self.name, &self.database),
            e => cx.storage_error(e),
        }
    }

    /// Computes computed columns, the rowversion and the period of the new row.
    pub fn complete(&self, cx: &mut Cx<'_>) -> Result<()> {
        if let Some(period) = &self.period {
            period.begin_row(self, cx);
        }
        if let Some(i) = self.rowversion {
            let n = cx.session.next_rowversion(self.table.database);
            cx.slots[self.new_first + i] = Value::Bytes(n.to_be_bytes().as_slice().into());
        }
        for (i, code) in &self.computed {
            code.eval_into(cx, self.new_first + i)?;
        }
        Ok(())
    }

    /// Columns of the clustered key: position and encoding.
    pub(super) fn key_columns(&self) -> &[(usize, KeyColumn)] {
        &self.clustered.key
    }

    /// The error of a row in the new slots whose clustered key another row has.
    pub(super) fn duplicate_key(&self, cx: &Cx<'_>) -> Error {
        self.duplicate_error(cx, &self.clustered, self.new_first)
    }

    /// Number of columns in a stored row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The column at each ordinal of a stored row.
    pub(super) fn ordinals(&self) -> &[Option<usize>] {
        &self.by_ordinal
    }

    /// Columns whose values, not only their stored bytes, an insert reads: of keys, indexes, computed columns, checks and
    /// foreign keys, and the identity column.
    pub(super) fn read_by_insert(&self) -> Vec<bool> {
        let mut read = vec![false; self.table.columns.len()];
        let clustered = self.clustered.key.iter().map(|(i, _)| *i);
        let entries = self.indexes.iter().flat_map(|index| {
            let filter = index.filter.iter().flat_map(|(_, reads)| reads);
            index.key.iter().map(|(i, _)| *i).chain(index.stored.iter().chain(filter).copied())
        });
        let rules = self.checks.iter().flat_map(|rule| &rule.columns);
        let parents = self.parents.iter().flat_map(|p| &p.columns);
        let blocks = self.read_by_blocks(PredicateKind::AfterInsert);
        let others = self.computed_inputs.iter().flatten().chain(rules).chain(parents).copied();
        let views = self.read_by_views(None);
        let queued = self.queue.as_ref().map(super::queue::Queue::key);
        let own = self.identity.into_iter().chain(queued);
        for i in clustered.chain(entries).chain(others).chain(blocks).chain(views).chain(own) {
            read[i] = true;
        }
        read
    }

    /// Builds the stored form of the row in the new slots.
    fn stored_row<'r>(&self, cx: &Cx<'_>, row: &'r mut RowBuilder) -> &'r [u8] {
        row.clear(self.width);
        for position in &self.by_ordinal {
            match position {
                Some(i) => push_value(row, &cx.slots[self.new_first + i], &self.table.columns[*i].ty),
                None => row.push_null(),
            }
        }
        row.finish()
    }

    /// Clustered key of the row whose values lie from `first`. Heaps and non-unique keys get a number of their own.
    pub(super) fn clustered_key(&self, cx: &mut Cx<'_>, first: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        for (i, column) in &self.clustered.key {
            key::append(out, &cx.slots[first + i], column);
        }
        if !self.clustered.def.unique || self.clustered.def.kind == IndexKind::Heap {
            out.extend_from_slice(&self.next_number(cx)?.to_be_bytes());
        }
        Ok(())
    }

    /// The next heap row id or uniquifier.
    fn next_number(&self, cx: &mut Cx<'_>) -> Result<u64> {
        let (database, tree) = (self.table.database, self.clustered.def.tree);
        let heap = self.clustered.def.kind == IndexKind::Heap;
        let session = cx.session;
        let mut last = || -> Result<u64> {
            let txn = cx.txn(database)?;
            let scan = txn.scan_latest(
                tree,
                std::ops::Bound::Unbounded,
                std::ops::Bound::Unbounded,
                keel_node::Direction::Reverse,
            );
            let found = scan.and_then(|mut cursor| {
                // A heap's last key is its greatest number; under a key, numbers are spread over the rows.
                let mut greatest = 0;
                while let Some((k, _)) = cursor.next()? {
                    let number = k
                        .len()
                        .checked_sub(8)
                        .and_then(|at| k[at..].try_into().ok())
                        .map_or(0, u64::from_be_bytes);
                    greatest = greatest.max(number);
                    if heap {
                        break;
                    }
                }
                Ok(greatest)
            });
            found.map_err(|e| self.storage_error(cx, &e))
        };
        session.next_row_id(database, tree, &mut last)
    }

    /// A statement begins to change the table with these buffers.
    pub fn begin(&self, b: &mut RowBuffers) {
        b.awaited.clear();
        b.guard = Guard::Row;
        b.sums.begin(self.indexes.len(), self.parents.len());
    }

    /// It has ended, well or not: the indexes' counters are told what it did.
    pub fn end(&self, b: &mut RowBuffers, at: i64) {
        let sums = &b.sums;
        for (index, entries) in self.indexes.iter().zip(sums.entries.iter().skip(1)) {
            if let Some(uses) = &index.uses {
                uses.changed(entries, at);
            }
        }
        for (parent, rows) in self.parents.iter().zip(&sums.parents) {
            if let Some(uses) = &parent.uses {
                uses.referenced(*rows, parent.locks(), at);
            }
        }
        if let Some(uses) = &self.clustered.uses {
            uses.table_changed(sums, |i| self.table.columns[i].column_id, at);
        }
    }

    /// Inserts the row in the new slots with its index entries. `Ok(false)`: a duplicate was ignored (IGNORE_DUP_KEY).
    pub fn insert(&self, cx: &mut Cx<'_>, b: &mut RowBuffers) -> Result<bool> {
        let mut key = std::mem::take(&mut b.key);
        let result =
            self.clustered_key(cx, self.new_first, &mut key).and_then(|()| self.insert_at(cx, b, &key));
        b.key = key;
        let inserted = result?;
        if inserted {
            self.note_new(cx, b)?;
        }
        Ok(inserted)
    }

    fn insert_at(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, key: &[u8]) -> Result<bool> {
        let mut builder = std::mem::take(&mut b.row);
        let row = self.stored_row(cx, &mut builder);
        let result = self.insert_stored(cx, b, key, row);
        b.row = builder;
        result
    }

    /// Inserts a row that is in its stored form already; its index entries are made from the new slots. The key and what
    /// indexes hold must be there. No view hears of it yet.
    pub(super) fn insert_stored(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        key: &[u8],
        row: &[u8],
    ) -> Result<bool> {
        let database = self.table.database;
        let before = lock_waits();
        let inserted = b.guard.insert(cx.txn(database)?, self.clustered.def.tree, key, row);
        b.sums.row_locks += u64::from(matches!(b.guard, Guard::Row));
        b.sums.lock_waits += lock_waits() - before;
        match inserted {
            Ok(()) => {}
            Err(keel_node::TxnError::Duplicate) => {
                return self.duplicate(cx, &self.clustered, self.new_first);
            }
            Err(e) => return Err(self.storage_error(cx, &e)),
        }
        b.sums.entries[0].inserted += 1;
        for (n, index) in self.indexes.iter().enumerate() {
            if !index.holds(cx)? {
                continue;
            }
            index.entry_key(&cx.slots, self.new_first, key, &mut b.index_key);
            let row = index.entry_row(&self.table, &cx.slots, self.new_first, key, &mut b.entry);
            let txn = cx.txns.transaction(database)?;
            let done = if index.def.unique {
                b.guard.insert(txn, index.def.tree, &b.index_key, row)
            } else {
                txn.put_index(index.def.tree, &b.index_key, row)
            };
            match done {
                Ok(()) => b.sums.entries[n + 1].inserted += 1,
                Err(keel_node::TxnError::Duplicate) => {
                    if index.def.ignore_dup_key {
                        self.take_back(cx, b, key, n)?;
                    }
                    return self.duplicate(cx, index, self.new_first);
                }
                Err(e) => return Err(self.storage_error(cx, &e)),
            }
        }
        Ok(true)
    }

    /// Removes what an ignored duplicate had already written: the row and its first `n` index entries.
    fn take_back(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, key: &[u8], n: usize) -> Result<()> {
        for (n, index) in self.indexes[..n].iter().enumerate() {
            index.entry_key(&cx.slots, self.new_first, key, &mut b.index_key);
            b.sums.entries[n + 1].deleted += u64::from(self.delete_entry(cx, index, &b.index_key, key)?);
        }
        b.sums.entries[0].deleted += 1;
        let txn = cx.txn(self.table.database)?;
        txn.delete(self.clustered.def.tree, key).map_err(|e| self.storage_error(cx, &e))
    }

    /// Removes the entry of the row under `clustered`; false when it has none.
    fn delete_entry(&self, cx: &mut Cx<'_>, index: &IndexKeys, key: &[u8], clustered: &[u8]) -> Result<bool> {
        let txn = cx.txn(self.table.database)?;
        if index.filter.is_some() && index.def.unique {
            // The row may be outside, and another one inside under the same key.
            let entry = txn.get_latest(index.def.tree, key).map_err(|e| self.storage_error(cx, &e))?;
            if entry.is_none_or(|entry| last_column(&entry) != clustered) {
                return Ok(false);
            }
        }
        let txn = cx.txn(self.table.database)?;
        let done = if index.def.unique {
            txn.delete(index.def.tree, key)
        } else {
            txn.delete_index(index.def.tree, key)
        };
        match done {
            // A row outside a filtered index has no entry.
            Err(keel_node::TxnError::NotFound) if index.filter.is_some() => Ok(false),
            done => done.map(|()| true).map_err(|e| self.storage_error(cx, &e)),
        }
    }

    /// Deletes the row under `key` whose old values lie from `old_first`.
    pub fn delete(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, key: &[u8], old_first: usize) -> Result<()> {
        self.remove(cx, b, key, old_first)?;
        self.note_gone(cx, b, old_first)
    }

    /// The same, and no view hears of it yet.
    fn remove(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, key: &[u8], old_first: usize) -> Result<()> {
        let tree = self.clustered.def.tree;
        let before = lock_waits();
        let done = cx.txn(self.table.database)?.delete(tree, key);
        b.sums.row_locks += u64::from(matches!(b.guard, Guard::Row));
        b.sums.lock_waits += lock_waits() - before;
        done.map_err(|e| self.storage_error(cx, &e))?;
        b.sums.entries[0].deleted += 1;
        for (n, index) in self.indexes.iter().enumerate() {
            index.entry_key(&cx.slots, old_first, key, &mut b.index_key);
            b.sums.entries[n + 1].deleted += u64::from(self.delete_entry(cx, index, &b.index_key, key)?);
        }
        Ok(())
    }

    /// Whether changing these columns moves the row to another clustered key.
    #[must_use]
    pub fn moves(&self, changed: &[usize]) -> bool {
        self.clustered.key.iter().any(|(i, _)| changed.contains(i))
    }

    /// Replaces the row under `key` (bytes `old`): the columns in `changed` (ascending by ordinal) take their new slots'
    /// values, all others are copied as they are stored.
    pub fn update(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        key: &[u8],
        old: &[u8],
        changed: &[usize],
        old_first: usize,
    ) -> Result<()> {
        self.replace(cx, b, key, old, changed, old_first)?;
        self.note_changed(cx, b, changed, old_first)
    }

    fn replace(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        key: &[u8],
        old: &[u8],
        changed: &[usize],
        old_first: usize,
    ) -> Result<()> {
        b.sums.assigned(changed);
        if self.moves(changed) {
            let mut new_key = std::mem::take(&mut b.old_key);
            self.moved_key(cx, key, &mut new_key);
            let same = new_key == key;
            if !same {
                b.sums.moved += 1;
                self.remove(cx, b, key, old_first)?;
                let inserted = self.insert_at(cx, b, &new_key);
                b.old_key = new_key;
                return match inserted? {
                    true => Ok(()),
                    false => Err(self.duplicate_error(cx, &self.clustered, self.new_first)),
                };
            }
            b.old_key = new_key;
        }
        self.patch_of(cx, b, old, changed);
        let patch = b.patch.finish();
        patch::apply(old, &patch, &mut b.patched);
        let txn = cx.txns.transaction(self.table.database)?;
        let before = lock_waits();
        let done = txn.update(self.clustered.def.tree, key, &b.patched, Some(patch));
        b.sums.row_locks += u64::from(matches!(b.guard, Guard::Row));
        b.sums.lock_waits += lock_waits() - before;
        done.map_err(|e| self.storage_error(cx, &e))?;
        b.sums.entries[0].updated += 1;
        self.update_entries(cx, b, key, changed, old_first)
    }

    /// Whether changing these columns changes a unique key, or which rows have one.
    #[must_use]
    pub fn shifts(&self, changed: &[usize]) -> bool {
        let keyed = |index: &IndexKeys| {
            let filter = index.filter.iter().flat_map(|(_, reads)| reads);
            index.def.unique && index.key.iter().map(|(i, _)| i).chain(filter).any(|i| changed.contains(i))
        };
        keyed(&self.clustered) || self.indexes.iter().any(keyed)
    }

    /// Stores the new values of a row that was under `key` and has been taken out.
    pub fn put_back(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, key: &[u8], changed: &[usize]) -> Result<()> {
        let mut new_key = key.to_vec();
        if self.moves(changed) {
            self.moved_key(cx, key, &mut new_key);
        }
        b.sums.moved += 1;
        if self.insert_at(cx, b, &new_key)? {
            return self.note_new(cx, b);
        }
        Err(self.duplicate_error(cx, &self.clustered, self.new_first))
    }

    /// The clustered key of the new values; a row without unique key keeps its number.
    fn moved_key(&self, cx: &Cx<'_>, key: &[u8], out: &mut Vec<u8>) {
        out.clear();
        for (i, column) in &self.clustered.key {
            key::append(out, &cx.slots[self.new_first + i], column);
        }
        if !self.clustered.def.unique {
            out.extend_from_slice(&key[key.len() - 8..]);
        }
    }

    fn update_entries(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        key: &[u8],
        changed: &[usize],
        old_first: usize,
    ) -> Result<()> {
        let database = self.table.database;
        for (n, index) in self.indexes.iter().enumerate().filter(|(_, i)| i.touched_by(changed)) {
            index.entry_key(&cx.slots, old_first, key, &mut b.index_key_old);
            index.entry_key(&cx.slots, self.new_first, key, &mut b.index_key);
            let same_key = b.index_key == b.index_key_old;
            let holds = index.holds(cx)?;
            if !same_key || index.filter.is_some() {
                b.sums.entries[n + 1].deleted +=
                    u64::from(self.delete_entry(cx, index, &b.index_key_old, key)?);
            }
            if !holds {
                continue;
            }
            let same_key = same_key && index.filter.is_none();
            let row = index.entry_row(&self.table, &cx.slots, self.new_first, key, &mut b.entry);
            let txn = cx.txns.transaction(database)?;
            let done = match (index.def.unique, same_key) {
                (true, false) => txn.insert(index.def.tree, &b.index_key, row),
                (true, true) => txn.update(index.def.tree, &b.index_key, row, None),
                (false, _) => txn.put_index(index.def.tree, &b.index_key, row),
            };
            match done {
                Ok(()) if same_key => b.sums.entries[n + 1].updated += 1,
                Ok(()) => b.sums.entries[n + 1].inserted += 1,
                Err(keel_node::TxnError::Duplicate) => {
                    return Err(self.duplicate_error(cx, index, self.new_first));
                }
                Err(e) => return Err(self.storage_error(cx, &e)),
            }
        }
        Ok(())
    }

    /// Columns whose old values an update of `changed` needs: keys of the indexes it touches, computed columns' and checks'
    /// inputs.
    #[must_use]
    pub fn needed_for_update(&self, changed: &[usize]) -> Vec<usize> {
        if self.moves(changed) {
            return (0..self.table.columns.len()).collect();
        }
        let mut needed = Vec::new();
        for index in self.indexes.iter().filter(|i| i.touched_by(changed)) {
            needed.extend(&index.stored);
            needed.extend(index.filter.iter().flat_map(|(_, reads)| reads));
        }
        for inputs in &self.computed_inputs {
            needed.extend(inputs);
        }
        for RowRule { columns, .. } in &self.checks {
            if columns.iter().any(|c| changed.contains(c)) {
                needed.extend(columns);
            }
        }
        for (_, columns) in &self.view_checks {
            needed.extend(columns);
        }
        needed.extend(self.read_by_blocks(PredicateKind::BeforeUpdate));
        needed.extend(self.read_by_blocks(PredicateKind::AfterUpdate));
        for parent in self.parents.iter().filter(|p| p.columns.iter().any(|c| changed.contains(c))) {
            needed.extend(&parent.columns);
        }
        needed.extend(self.tracked.iter().flat_map(super::track::Tracked::key));
        needed.extend(self.queue.as_ref().map(super::queue::Queue::key));
        needed.extend(self.read_by_views(Some(changed)));
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// Columns whose old values a delete needs.
    #[must_use]
    pub fn needed_for_delete(&self) -> Vec<usize> {
        let mut needed: Vec<usize> =
            self.indexes.iter().flat_map(|i| i.key.iter().map(|(c, _)| *c)).collect();
        needed.extend(self.tracked.iter().flat_map(super::track::Tracked::key));
        needed.extend(self.queue.as_ref().map(super::queue::Queue::key));
        needed.extend(self.read_by_blocks(PredicateKind::BeforeDelete));
        needed.extend(self.read_by_views(None));
        needed.sort_unstable();
        needed.dedup();
        needed
    }
}

/// Reference-counted target.
pub type ArcTarget = Arc<Target>;

/// The entry that an index holds for a stored row: for building an index over existing rows.
/// `row` are the bytes under `clustered_key` in the clustered tree.
#[must_use]
pub fn index_entry(
    table: &TableDef,
    index: &IndexDef,
    clustered_key: &[u8],
    row: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let keys = IndexKeys::new(table, index);
    let stored = Row::new(row);
    let slots: Vec<Value> = table
        .columns
        .iter()
        .map(|c| match stored.column(usize::from(c.ordinal)) {
            Some(bytes) => column::decode(bytes, &c.ty),
            None if usize::from(c.ordinal) >= stored.count() => {
                c.missing_value.as_ref().map_or(Value::Null, |b| column::decode(b, &c.ty))
            }
            None => Value::Null,
        })
        .collect();
    let mut key = Vec::new();
    keys.entry_key(&slots, 0, clustered_key, &mut key);
    let mut builder = RowBuilder::new();
    let bytes = keys.entry_row(table, &slots, 0, clustered_key, &mut builder).to_vec();
    (key, bytes)
}
