//! Execution: operators over the frame of slots.
//!
//! An operator is opened, asked for rows until it has none, and may be opened again (the inner side of nested loops is,
//! for every outer row). `next` leaves the row in the operator's slots; the caller reads them before the next call.
//! Slots of outer rows stay in place meanwhile, so correlated inner sides simply read them.

pub mod access;
pub mod aggregate;
pub mod basic;
pub mod count;
pub mod cx;
pub mod error;
mod groups;
pub mod hash;
pub mod index_spool;
pub mod io;
pub mod join;
pub mod node;
pub mod parallel;
pub mod recursive;
pub mod setop;
pub mod shared;
mod sliding;
pub mod sort;
pub mod subquery;
pub mod window;
pub mod window_stream;

use crate::errors::Result;
use cx::Cx;

/// A running operator.
pub trait Operator: Send {
    /// Starts over. Outer slots hold the values to work with.
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()>;
    /// Moves to the next row; false at the end.
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool>;
    /// Drops what it holds (cursors, buffered rows). Called at the end of every execution, also a failed one.
    fn close(&mut self);
}

/// Copies slots out of the frame.
pub(crate) fn save(cx: &Cx<'_>, slots: &[usize]) -> Vec<keel_types::Value> {
    slots.iter().map(|s| cx.slots[*s].clone()).collect()
}

/// Copies a saved row back into the frame.
#[inline]
pub(crate) fn restore(cx: &mut Cx<'_>, slots: &[usize], row: &[keel_types::Value]) {
    for (s, v) in slots.iter().zip(row) {
        cx.slots[*s].clone_from(v);
    }
}

/// Sets slots to NULL.
#[inline]
pub(crate) fn set_null(cx: &mut Cx<'_>, slots: &[usize]) {
    for s in slots {
        cx.slots[*s] = keel_types::Value::Null;
    }
}

/// Rough size of a saved row.
#[inline]
pub(crate) fn row_bytes(row: &[keel_types::Value]) -> usize {
    size_of::<Vec<keel_types::Value>>() + row.iter().map(cx::value_bytes).sum::<usize>()
}
