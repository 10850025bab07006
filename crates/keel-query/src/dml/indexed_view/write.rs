//! Writing what a statement changes in a view into the view's trees.

use super::Part;
use super::delta::{Pending, plus};
use crate::bind::Binder;
use crate::bind::rel::SlotInfo;
use crate::catalog::TableDef;
use crate::dml::decoders;
use crate::dml::target::{RowBuffers, Target};
use crate::errors::{self, Result};
use crate::exec::access::decode_into;
use crate::exec::aggregate::total;
use crate::exec::cx::Cx;
use crate::exec::node::Decode;
use keel_base::TreeId;
use keel_node::{LockMode, RowRef};
use keel_store::row;
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlType, Value, column};
use std::sync::Arc;

/// The stored rows of a view, in the slots of a statement.
pub struct ViewRows {
    target: Target,
    /// First slot of the old values.
    old_first: usize,
    /// All columns of a stored row into the old slots.
    decode: Vec<Decode>,
    /// What its columns are, in a view with groups.
    sums: Option<Sums>,
}

/// The columns of a view with groups.
struct Sums {
    /// Columns of the group itself: position and encoding.
    group: Vec<(usize, KeyColumn)>,
    /// Counts and sums: position, and type of the column.
    numbers: Vec<(usize, SqlType)>,
    /// Position of COUNT_BIG(*).
    count: usize,
    /// No other group can have a key of this one's.
    apart: bool,
}

/// Where a row of a view is pending, and its stored form.
pub(super) struct Place<'b> {
    pub key: &'b [u8],
    pub row: &'b [u8],
}

/// A key with what happens under it.
pub(super) type Change = (Box<[u8]>, Pending);

impl ViewRows {
    pub(super) fn new(binder: &mut Binder<'_>, rows: &Arc<TableDef>, parts: &[Part]) -> Result<ViewRows> {
        let target = Target::new(binder, rows)?;
        let old_first = binder.slots.len();
        for c in &rows.columns {
            binder.new_slot(SlotInfo {
                name: c.name.clone(),
                ty: c.ty,
                collation: c.collation,
                nullable: true,
                origin: None,
            });
        }
        let all: Vec<usize> = (0..rows.columns.len()).collect();
        let decode = decoders(rows, &all, old_first);
        Ok(ViewRows { sums: Sums::of(rows, parts), target, old_first, decode })
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn tree(&self) -> TreeId {
        self.target.table.clustered().tree
    }

    pub(super) fn width(&self) -> usize {
        self.target.table.columns.len()
    }

    pub(super) fn is_grouped(&self) -> bool {
        self.sums.is_some()
    }

    /// Whether what is pending can be written at any time: no key passes from one row to another.
    pub(super) fn is_apart(&self) -> bool {
        self.sums.as_ref().is_some_and(|s| s.apart)
    }

    /// Key and stored form of a row; of a group, its own values as a key.
    pub(super) fn place<'b>(&self, values: &[Value], b: &'b mut RowBuffers) -> Place<'b> {
        b.key.clear();
        let columns = self.sums.as_ref().map_or(self.target.key_columns(), |s| &s.group[..]);
        for (at, column) in columns {
            key::append(&mut b.key, &values[*at], column);
        }
        if self.is_grouped() {
            return Place { key: &b.key, row: &[] };
        }
        let table = &self.target.table;
        b.row.clear(values.len());
        for (value, c) in values.iter().zip(&table.columns) {
            match value {
                Value::Null => b.row.push_null(),
                value => b.row.push_with(|out| column::encode(value, &c.ty, out)),
            }
        }
        Place { key: &b.key, row: b.row.finish() }
    }

    /// Writes changes: first what goes, then the rest, each in the order of the keys.
    pub(super) fn write(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, mut changes: Vec<Change>) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let table = &self.target.table;
        let txn = cx.txn(table.database)?;
        txn.lock_table(table.object_id as u32, LockMode::IntentExclusive)
            .map_err(|e| cx.storage_error(&e))?;
        changes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        match &self.sums {
            Some(sums) => self.write_groups(cx, b, sums, changes),
            None => self.write_rows(cx, b, changes),
        }
    }

    /// The newest version of a row of the view, locked.
    fn newest(&self, cx: &mut Cx<'_>, key: &[u8]) -> Result<Option<RowRef>> {
        let tree = self.tree();
        let txn = cx.txn(self.target.table.database)?;
        let found = txn.lock_row(tree, key, LockMode::Exclusive).and_then(|()| txn.get_latest(tree, key));
        found.map_err(|e| cx.storage_error(&e))
    }

    /// A row of the view is not there, or is another than it must be: error 8646.
    #[cold]
    fn astray(&self) -> errors::Error {
        errors::index_entry_missing(1, &self.target.name, &self.target.database)
    }

    fn write_rows(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, changes: Vec<Change>) -> Result<()> {
        let mut changes: Vec<_> = changes
            .into_iter()
            .filter_map(|(key, change)| match change {
                Pending::Rows(gone, new) => Some((key, gone, new)),
                Pending::Group(..) => None,
            })
            .collect();
        for (key, gone, new) in &mut changes {
            // A row that only changes is changed in place, unless other unique keys of it have to be free first.
            let stays = gone.len() == 1
                && new.len() == 1
                && !self.target.shifts(&self.differences(&gone[0], &new[0]));
            for row in gone.iter().filter(|_| !stays) {
                self.delete_row(cx, b, key, row)?;
            }
            if !stays {
                gone.clear();
            }
        }
        for (key, gone, new) in changes {
            match gone.first() {
                Some(old) => self.update_row(cx, b, &key, old, &new[0])?,
                None => new.iter().try_for_each(|row| self.insert_row(cx, b, row))?,
            }
        }
        Ok(())
    }

    /// Positions of the columns in which two stored rows differ.
    fn differences(&self, old: &[u8], new: &[u8]) -> Vec<usize> {
        (0..self.width()).filter(|i| row::column(old, *i) != row::column(new, *i)).collect()
    }

    fn fill_new_slots(&self, cx: &mut Cx<'_>, stored: &[u8]) {
        decode_into(stored, &self.decode, &mut cx.slots);
        self.old_to_new(cx);
    }

    fn old_to_new(&self, cx: &mut Cx<'_>) {
        for i in 0..self.width() {
            cx.slots[self.target.new_first + i] = cx.slots[self.old_first + i].clone();
        }
    }

    fn insert_row(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, stored: &[u8]) -> Result<()> {
        self.fill_new_slots(cx, stored);
        self.insert_new(cx, b)
    }

    /// Adds the row that is in the new slots.
    fn insert_new(&self, cx: &mut Cx<'_>, b: &mut RowBuffers) -> Result<()> {
        self.target.insert(cx, b)?;
        self.target.queue(cx, b, self.target.new_first)
    }

    fn delete_row(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, key: &[u8], stored: &[u8]) -> Result<()> {
        if self.newest(cx, key)?.is_none() {
            return Err(self.astray());
        }
        decode_into(stored, &self.decode, &mut cx.slots);
        self.delete_old(cx, b, key)
    }

    /// Takes out the row that is in the old slots.
    fn delete_old(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, key: &[u8]) -> Result<()> {
        self.target.delete(cx, b, key, self.old_first)?;
        self.target.queue(cx, b, self.old_first)
    }

    fn update_row(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        key: &[u8],
        old: &[u8],
        new: &[u8],
    ) -> Result<()> {
        let Some(row) = self.newest(cx, key)? else { return Err(self.astray()) };
        self.fill_new_slots(cx, new);
        decode_into(old, &self.decode, &mut cx.slots);
        let changed = self.differences(old, new);
        self.target.update(cx, b, key, &row, &changed, self.old_first)?;
        self.target.queue_changed(cx, b, &changed, self.old_first)
    }

    fn write_groups(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        sums: &Sums,
        mut changes: Vec<Change>,
    ) -> Result<()> {
        // Groups that vanish make room for others that have their key.
        let shrinks =
            |(_, change): &Change| matches!(change, Pending::Group(_, added) if added[sums.count] < 0);
        changes.sort_by_key(|change| !shrinks(change));
        for (group, change) in changes {
            if let Pending::Group(values, added) = change
                && added.iter().any(|n| *n != 0)
            {
                self.write_group(cx, b, sums, &group, values, &added)?;
            }
        }
        Ok(())
    }

    fn write_group(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        sums: &Sums,
        group: &[u8],
        values: Vec<Value>,
        added: &[i128],
    ) -> Result<()> {
        let (first, old_first) = (self.target.new_first, self.old_first);
        for (i, value) in values.into_iter().enumerate() {
            cx.slots[first + i] = value;
        }
        let mut key = Vec::new();
        self.target.clustered_key(cx, first, &mut key)?;
        let Some(row) = self.newest(cx, &key)? else {
            return match added[sums.count] {
                1.. => {
                    self.set_totals(cx, sums, added, None)?;
                    self.insert_new(cx, b)
                }
                _ => Err(self.astray()),
            };
        };
        decode_into(&row, &self.decode, &mut cx.slots);
        if !sums.apart && sums.group_of(&cx.slots[old_first..]) != group {
            return Err(match added[sums.count] {
                1.. => self.target.duplicate_key(cx),
                _ => self.astray(),
            });
        }
        // What the group is written as is what it was written as first.
        for (i, _) in &sums.group {
            cx.slots[first + i] = cx.slots[old_first + i].clone();
        }
        self.set_totals(cx, sums, added, Some(old_first))?;
        match cx.slots[first + sums.count] {
            Value::Int(0) => self.delete_old(cx, b, &key),
            Value::Int(1..) => {
                let changed: Vec<usize> =
                    sums.numbers.iter().map(|(i, _)| *i).filter(|i| added[*i] != 0).collect();
                self.target.update(cx, b, &key, &row, &changed, old_first)
            }
            _ => Err(self.astray()),
        }
    }

    /// Counts and sums of a group into the new slots: what is added, to what was.
    fn set_totals(
        &self,
        cx: &mut Cx<'_>,
        sums: &Sums,
        added: &[i128],
        old_first: Option<usize>,
    ) -> Result<()> {
        for (i, ty) in &sums.numbers {
            let before = match old_first.map(|first| &cx.slots[first + i]) {
                Some(Value::Int(n) | Value::Money(n)) => i128::from(*n),
                Some(Value::Decimal(d)) => d.mantissa(),
                _ => 0,
            };
            cx.slots[self.target.new_first + i] = total(*ty, plus(before, added[*i])?)?;
        }
        Ok(())
    }
}

impl Sums {
    fn of(rows: &TableDef, parts: &[Part]) -> Option<Sums> {
        let count = parts.iter().position(|p| matches!(p, Part::Count(None)))?;
        let (mut group, mut numbers) = (Vec::new(), Vec::new());
        for (i, (part, c)) in parts.iter().zip(&rows.columns).enumerate() {
            match part {
                Part::Value(_) => group.push((i, KeyColumn::ascending(c.ty, c.collation))),
                Part::Count(_) | Part::Sum(_) => numbers.push((i, c.ty)),
            }
        }
        let keyed =
            |i: &usize| rows.clustered().key.iter().any(|k| k.column_id == rows.columns[*i].column_id);
        let alone = rows.indexes.iter().filter(|i| i.unique).count() == 1;
        let apart = alone && group.iter().all(|(i, _)| keyed(i));
        Some(Sums { group, numbers, count, apart })
    }

    fn group_of(&self, values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, column) in &self.group {
            key::append(&mut out, &values[*at], column);
        }
        out
    }
}
