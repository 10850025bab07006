//! What goes from a view and what comes to it in a statement, by key, until the statement is done.

use super::write::{Place, ViewRows};
use super::{Part, counted};
use crate::dml::target::RowBuffers;
use crate::errors::Result;
use crate::exec::cx::Cx;
use hashbrown::HashMap;
use keel_types::{SqlType, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// Keys that are pending when they are written before the statement is done, where that changes nothing.
const PENDING_MAX: usize = 10_000;

/// What a statement does to one view.
pub struct ViewDelta {
    pub(super) rows: Arc<ViewRows>,
    pub(super) pending: HashMap<Box<[u8]>, Pending, foldhash::fast::RandomState>,
    pub(super) buffers: RowBuffers,
    /// Something came.
    came: bool,
    /// Something went.
    went: bool,
}

/// What happens under one key.
pub(super) enum Pending {
    /// To a group: its own values, and what is added to its counts and sums, column by column.
    Group(Vec<Value>, Vec<i128>),
    /// Stored rows that go, and that come.
    Rows(SmallVec<[Box<[u8]>; 1]>, SmallVec<[Box<[u8]>; 1]>),
}

/// Takes down the row in the slots of a view's source.
pub(super) fn note(cx: &mut Cx<'_>, rows: &Arc<ViewRows>, columns: &[Part], comes: bool) -> Result<()> {
    let mut values = Vec::with_capacity(columns.len());
    let mut added = Vec::new();
    for column in columns {
        let (value, number) = match column {
            Part::Value(code) => (code.eval(cx)?, 0),
            Part::Count(arg) => (Value::Null, counted(cx, arg.as_ref())?),
            Part::Sum(code) => (Value::Null, digits(&code.eval(cx)?)),
        };
        values.push(value);
        if rows.is_grouped() {
            added.push(if comes { number } else { -number });
        }
    }
    let at = delta_of(cx, rows);
    let delta = &mut cx.rare().views[at];
    let bytes = delta.add(values, added, comes)?;
    let full = delta.pending.len() >= PENDING_MAX && (rows.is_apart() || delta.came != delta.went);
    cx.charge(bytes)?;
    if full { write_one(cx, at) } else { Ok(()) }
}

/// A number as an integer of its last digit.
fn digits(value: &Value) -> i128 {
    match value {
        Value::Int(n) | Value::Money(n) => i128::from(*n),
        Value::Decimal(d) => d.mantissa(),
        _ => 0,
    }
}

/// The sum of two sums: error 8115 where no type holds it.
pub(super) fn plus(a: i128, b: i128) -> Result<i128> {
    let widest = SqlType::Decimal { precision: 38, scale: 0 };
    a.checked_add(b).ok_or_else(|| keel_types::raise::overflow(widest))
}

fn delta_of(cx: &mut Cx<'_>, rows: &Arc<ViewRows>) -> usize {
    let views = &mut cx.rare().views;
    views.iter().position(|v| v.rows.tree() == rows.tree()).unwrap_or_else(|| {
        let mut buffers = RowBuffers::default();
        rows.target().begin(&mut buffers);
        let rows = Arc::clone(rows);
        views.push(ViewDelta { rows, pending: HashMap::default(), buffers, came: false, went: false });
        views.len() - 1
    })
}

impl ViewDelta {
    /// Adds a row; says how many bytes that takes.
    fn add(&mut self, values: Vec<Value>, added: Vec<i128>, comes: bool) -> Result<usize> {
        self.came |= comes;
        self.went |= !comes;
        let Place { key, row } = self.rows.place(&values, &mut self.buffers);
        let bytes = key.len() + row.len() + 64;
        if self.rows.is_grouped() {
            match self.pending.get_mut(key) {
                Some(Pending::Group(_, sums)) => {
                    for (sum, n) in sums.iter_mut().zip(added) {
                        *sum = plus(*sum, n)?;
                    }
                    return Ok(0);
                }
                _ => self.pending.insert(key.into(), Pending::Group(values, added)),
            };
            return Ok(bytes + self.rows.width() * 48);
        }
        let pending =
            self.pending.entry_ref(key).or_insert_with(|| Pending::Rows(SmallVec::new(), SmallVec::new()));
        if let Pending::Rows(gone, new) = pending {
            let (own, other) = if comes { (new, gone) } else { (gone, new) };
            // What went and came back as it was has not changed.
            match other.iter().position(|o| **o == *row) {
                Some(at) => drop(other.swap_remove(at)),
                None => own.push(row.into()),
            }
        }
        Ok(bytes)
    }
}

/// Writes what is pending for all views: the statement is done, or a trigger of its is about to look.
pub(crate) fn settle(cx: &mut Cx<'_>) -> Result<()> {
    if !cx.has_view_deltas() {
        return Ok(());
    }
    for at in 0..cx.rare().views.len() {
        write_one(cx, at)?;
    }
    let at = cx.session.about_now_local();
    for mut delta in std::mem::take(&mut cx.rare().views) {
        delta.rows.target().end(&mut delta.buffers, at);
    }
    Ok(())
}

fn write_one(cx: &mut Cx<'_>, at: usize) -> Result<()> {
    let delta = &mut cx.rare().views[at];
    let rows = Arc::clone(&delta.rows);
    let pending = std::mem::take(&mut delta.pending);
    let mut buffers = std::mem::take(&mut delta.buffers);
    let written = rows.write(cx, &mut buffers, pending.into_iter().collect());
    let delta = &mut cx.rare().views[at];
    delta.buffers = buffers;
    (delta.came, delta.went) = (false, false);
    written
}
