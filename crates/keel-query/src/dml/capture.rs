//! What a change does to a table with capture instances: its rows are staged for their change tables (see [`crate::capture`]).
//!
//! Values go from row to row as they are stored. A column of the source that is dropped, or computed, is NULL from then on. Large values
//! (`max` types) are in the row before an update only when it changed them; `text`, `ntext` and `image` are in no row of what was.

use super::target::{RowBuffers, Target};
use super::update::UpdateRow;
use crate::capture::{self, FIRST_CAPTURED, OWN_COLUMNS, Operation};
use crate::catalog::{CaptureDef, TableDef};
use crate::context::Stamp;
use crate::errors::Result;
use crate::exec::cx::Cx;
use keel_base::TreeId;
use keel_store::row::Row;
use keel_types::{Length, SqlType, Value, column};
use smallvec::{SmallVec, smallvec};

/// One capture instance of a target's table.
pub struct Captured {
    staged: TreeId,
    /// In the order of the change table.
    columns: Vec<Source>,
    /// Places among them of the columns that tell rows apart in net changes.
    key: Vec<usize>,
}

/// Where a captured column's values come from.
#[derive(Clone, Copy)]
struct Source {
    /// Position in the table; `None` when there is no value.
    at: Option<usize>,
    size: Size,
}

/// How a column's values before a change are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Plain,
    /// `max` types.
    Large,
    /// `text`, `ntext`, `image`.
    Old,
}

impl Source {
    fn of(table: &TableDef, column_id: i32) -> Source {
        let at = table.column_index(column_id).filter(|at| table.columns[*at].computed.is_none());
        let size = match at.map(|at| table.columns[at].ty) {
            Some(SqlType::Text | SqlType::NText | SqlType::Image) => Size::Old,
            Some(ty) if ty.length() == Some(Length::Max) => Size::Large,
            _ => Size::Plain,
        };
        Source { at, size }
    }
}

/// Bits of captured columns.
type Mask = SmallVec<[u8; 16]>;
/// Captured columns that are assigned, by their places, and the stored form of what they get; `None` for NULL.
type Assigned = SmallVec<[(usize, Option<Vec<u8>>); 4]>;

/// A row, and which of the captured columns have another value in it than in its other half.
struct Half<'h> {
    operation: Operation,
    mask: &'h [u8],
}

impl Captured {
    /// The instances of a table.
    pub(super) fn all(table: &TableDef) -> Vec<Captured> {
        let one = |def: &CaptureDef| Captured {
            staged: def.staged,
            columns: def.columns.iter().map(|id| Source::of(table, *id)).collect(),
            key: key_places(table, def),
        };
        table.captures.iter().map(one).collect()
    }

    /// A mask in which no bit is set: the last byte has the first eight columns.
    fn empty_mask(&self) -> Mask {
        smallvec![0; self.columns.len().div_ceil(8)]
    }

    fn full_mask(&self) -> Mask {
        let mut mask = self.empty_mask();
        (0..self.columns.len()).for_each(|n| set_bit(&mut mask, n));
        mask
    }

    /// Whether a row is another one, by the key of net changes, when these columns have changed.
    fn moves(&self, mask: &[u8]) -> bool {
        self.key.iter().any(|n| has_bit(mask, *n))
    }

    /// Whether the value of a column belongs into a half.
    fn is_kept(&self, n: usize, half: &Half<'_>) -> bool {
        match (self.columns[n].size, half.operation) {
            (Size::Old, Operation::Delete | Operation::Before) => false,
            (Size::Large, Operation::Before) => has_bit(half.mask, n),
            _ => true,
        }
    }
}

fn key_places(table: &TableDef, def: &CaptureDef) -> Vec<usize> {
    let index = table.indexes.iter().find(|i| Some(i.index_id) == def.index_id);
    let parts = index.map_or(&[][..], |i| i.key.as_slice());
    parts.iter().filter_map(|part| def.columns.iter().position(|id| *id == part.column_id)).collect()
}

fn set_bit(mask: &mut [u8], n: usize) {
    let last = mask.len() - 1;
    mask[last - n / 8] |= 1 << (n % 8);
}

fn has_bit(mask: &[u8], n: usize) -> bool {
    mask[mask.len() - 1 - n / 8] & (1 << (n % 8)) != 0
}

/// The stored bytes of a column, of one that was added after the row was stored too.
fn stored<'r>(table: &'r TableDef, row: Row<'r>, at: usize) -> Option<&'r [u8]> {
    let c = &table.columns[at];
    let ordinal = usize::from(c.ordinal);
    if ordinal < row.count() { row.column(ordinal) } else { c.missing_value.as_deref() }
}

impl Target {
    /// Stages the row that is in the new slots and has come.
    pub(super) fn capture_new(&self, cx: &mut Cx<'_>, b: &mut RowBuffers) -> Result<()> {
        if self.captured.is_empty() {
            return Ok(());
        }
        let stamp = cx.txns.change_stamp(self.table.database, Stamp::Captured)?;
        for captured in &self.captured {
            let mask = captured.full_mask();
            let half = Half { operation: Operation::Insert, mask: &mask };
            self.begin_row(b, captured, &half);
            for source in &captured.columns {
                let value = source.at.map_or(&Value::Null, |at| &cx.slots[self.new_first + at]);
                match (value, source.at) {
                    (Value::Null, _) | (_, None) => b.entry.push_null(),
                    (value, Some(at)) => {
                        let ty = &self.table.columns[at].ty;
                        b.entry.push_with(|out| column::encode(value, ty, out));
                    }
                }
            }
            self.stage(cx, b, captured, stamp, half.operation)?;
        }
        Ok(())
    }

    /// Stages a stored row that has come or gone.
    pub(super) fn capture_stored(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        operation: Operation,
        row: &[u8],
    ) -> Result<()> {
        if self.captured.is_empty() {
            return Ok(());
        }
        let stamp = cx.txns.change_stamp(self.table.database, Stamp::Captured)?;
        for captured in &self.captured {
            let mask = captured.full_mask();
            self.stage_stored(cx, b, captured, stamp, &Half { operation, mask: &mask }, row)?;
        }
        Ok(())
    }

    fn stage_stored(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        captured: &Captured,
        stamp: (u64, u64),
        half: &Half<'_>,
        row: &[u8],
    ) -> Result<()> {
        self.begin_row(b, captured, half);
        for (n, source) in captured.columns.iter().enumerate() {
            let at = source.at.filter(|_| captured.is_kept(n, half));
            b.entry.push(at.and_then(|at| stored(&self.table, Row::new(row), at)));
        }
        self.stage(cx, b, captured, stamp, half.operation)
    }

    /// Stages that a row has been taken out to come back as another one, by the key of net changes: others may take its place
    /// before that.
    pub(super) fn capture_lifted(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        update: &UpdateRow,
        old: &[u8],
    ) -> Result<()> {
        let mut stamp = None;
        for captured in &self.captured {
            let (mask, _) = self.differences(cx, captured, update, old);
            if captured.moves(&mask) {
                let stamp = self.stamp_once(cx, &mut stamp)?;
                let mask = captured.full_mask();
                let half = Half { operation: Operation::Delete, mask: &mask };
                self.stage_stored(cx, b, captured, stamp, &half, old)?;
            }
        }
        Ok(())
    }

    /// The numbers of a change, which are the same for all instances.
    fn stamp_once(&self, cx: &mut Cx<'_>, stamp: &mut Option<(u64, u64)>) -> Result<(u64, u64)> {
        match stamp {
            Some(stamp) => Ok(*stamp),
            None => Ok(*stamp.insert(cx.txns.change_stamp(self.table.database, Stamp::Captured)?)),
        }
    }

    /// Stages what a row was, `old`, and what it is now: for those instances that capture something of what has changed. A row that
    /// is another one from now on, by the key of net changes, has gone and come. `gone` says that its leaving was staged already.
    pub(super) fn capture_update(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        update: &UpdateRow,
        old: &[u8],
        gone: bool,
    ) -> Result<()> {
        let mut stamp = None;
        for captured in &self.captured {
            let (mask, assigned) = self.differences(cx, captured, update, old);
            if mask.iter().all(|byte| *byte == 0) {
                continue;
            }
            let stamp = self.stamp_once(cx, &mut stamp)?;
            let moved = captured.moves(&mask);
            let mask = if moved { captured.full_mask() } else { mask };
            let (was, is) = match moved {
                true => (Operation::Delete, Operation::Insert),
                false => (Operation::Before, Operation::After),
            };
            if !(moved && gone) {
                self.stage_stored(cx, b, captured, stamp, &Half { operation: was, mask: &mask }, old)?;
            }
            let half = Half { operation: is, mask: &mask };
            self.begin_row(b, captured, &half);
            let mut assigned = assigned.iter().peekable();
            for (n, source) in captured.columns.iter().enumerate() {
                match assigned.next_if(|(place, _)| *place == n) {
                    Some((_, new)) => b.entry.push(new.as_deref()),
                    None => b.entry.push(source.at.and_then(|at| stored(&self.table, Row::new(old), at))),
                }
            }
            self.stage(cx, b, captured, stamp, half.operation)?;
        }
        Ok(())
    }

    /// Which captured columns an update gives another value, and what it gives to those that it assigns.
    fn differences(
        &self,
        cx: &Cx<'_>,
        captured: &Captured,
        update: &UpdateRow,
        old: &[u8],
    ) -> (Mask, Assigned) {
        let (mut mask, mut assigned) = (captured.empty_mask(), Assigned::new());
        for (n, source) in captured.columns.iter().enumerate() {
            let Some(at) = source.at.filter(|at| update.changed.contains(at)) else { continue };
            let value = &cx.slots[self.new_first + at];
            let new = (!value.is_null()).then(|| {
                let mut bytes = Vec::new();
                column::encode(value, &self.table.columns[at].ty, &mut bytes);
                bytes
            });
            if new.as_deref() != stored(&self.table, Row::new(old), at) {
                set_bit(&mut mask, n);
            }
            assigned.push((n, new));
        }
        (mask, assigned)
    }

    fn begin_row(&self, b: &mut RowBuffers, captured: &Captured, half: &Half<'_>) {
        b.entry.clear(captured.columns.len() + OWN_COLUMNS);
        // Both LSNs come when the row is told; __$end_lsn is always NULL.
        for _ in 0..FIRST_CAPTURED - 2 {
            b.entry.push_null();
        }
        b.entry.push_with(|out| column::encode(&Value::Int(half.operation as i64), &SqlType::Int, out));
        b.entry.push(Some(half.mask));
    }

    fn stage(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        captured: &Captured,
        stamp: (u64, u64),
        operation: Operation,
    ) -> Result<()> {
        let command = i64::try_from(stamp.1).unwrap_or(i64::MAX).min(i32::MAX.into());
        b.entry.push_with(|out| column::encode(&Value::Int(command), &SqlType::Int, out));
        let key = capture::staged_key(stamp, operation);
        let txn = cx.txns.transaction(self.table.database)?;
        txn.put_index(captured.staged, &key, b.entry.finish()).map_err(|e| cx.storage_error(&e))
    }
}
