//! What a change does to a table with PERIOD FOR SYSTEM_TIME: a new version of a row is true from when the transaction
//! began, and where SYSTEM_VERSIONING is on the version before goes into the history table, true until then.
//!
//! A history row is an ordinary row of another table: recovery, copies and snapshots know nothing of it.

use super::decoders;
use super::target::{RowBuffers, Target};
use crate::bind::{Binder, same_name};
use crate::errors::{self, Result};
use crate::exec::access::decode_into;
use crate::exec::cx::Cx;
use crate::exec::node::Decode;
use keel_types::{SqlType, Value};

/// 9999-12-31 23:59:59.9999999 in ticks of 100 ns since 0001-01-01: the end of the period of a row that is true now.
const END_OF_TIME: i64 = 3_155_378_975_999_999_999;

/// The period of a target table.
pub struct Period {
    /// Position of the start.
    pub start: usize,
    end: usize,
    scale: u8,
    history: Option<History>,
}

/// Where a target's history goes.
struct History {
    target: Box<Target>,
    /// From a stored row of the current table to the new slots of the history table.
    decode: Vec<Decode>,
    start: usize,
    end: usize,
}

/// A moment as a datetime2 of that scale holds it, nothing rounded up.
fn at_scale(ticks: i64, scale: u8) -> Value {
    let unit = 10i64.pow(u32::from(7u8.saturating_sub(scale)));
    Value::DateTime(ticks - ticks.rem_euclid(unit))
}

impl Period {
    /// The period of a target's table.
    pub(super) fn of(binder: &mut Binder<'_>, target: &Target) -> Result<Option<Period>> {
        let table = &target.table;
        let Some(def) = &table.period else { return Ok(None) };
        let (Some(start), Some(end)) = (table.column_index(def.start), table.column_index(def.end)) else {
            return Ok(None);
        };
        let scale = match table.columns[start].ty {
            SqlType::DateTime2(scale) => scale,
            _ => 7,
        };
        let history = match &def.versioning {
            Some(versioning) => {
                let catalog = binder.scope.catalog(table.database);
                let past = catalog.and_then(|c| c.table_by_id(versioning.history));
                let past = past.ok_or_else(|| errors::not_system_versioned(&target.full_name))?;
                let past = Target::new(binder, &past)?;
                let mut decode = Vec::new();
                for (i, c) in table.columns.iter().enumerate() {
                    if let Some(j) = past.table.columns.iter().position(|h| same_name(&h.name, &c.name)) {
                        let mut one = decoders(table, &[i], 0).remove(0);
                        one.slot = past.new_first + j;
                        decode.push(one);
                    }
                }
                let place = |i: usize| {
                    let name = &table.columns[i].name;
                    past.table.columns.iter().position(|h| same_name(&h.name, name))
                };
                let (from, to) = (place(start), place(end));
                let (Some(start), Some(end)) = (from, to) else {
                    return Err(errors::not_system_versioned(&target.full_name));
                };
                Some(History { target: Box::new(past), decode, start, end })
            }
            None => None,
        };
        Ok(Some(Period { start, end, scale, history }))
    }

    /// The period of a new version, into the new slots of its row.
    pub(super) fn begin_row(&self, target: &Target, cx: &mut Cx<'_>) {
        let now = cx.session.transaction_utc();
        cx.slots[target.new_first + self.start] = at_scale(now, self.scale);
        cx.slots[target.new_first + self.end] = at_scale(END_OF_TIME, self.scale);
    }
}

impl Target {
    /// The table that keeps the versions of this one's rows.
    #[must_use]
    pub fn history(&self) -> Option<&Target> {
        self.period.as_ref()?.history.as_ref().map(|h| &*h.target)
    }

    /// Keeps the version of a row that ends now, from its stored bytes. Error 13535 when it began after the transaction.
    pub(super) fn keep(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, old: &[u8]) -> Result<()> {
        let Some(period) = &self.period else { return Ok(()) };
        let Some(history) = &period.history else { return Ok(()) };
        decode_into(old, &history.decode, &mut cx.slots);
        let first = history.target.new_first;
        let ends = at_scale(cx.session.transaction_utc(), period.scale);
        if let (Value::DateTime(began), Value::DateTime(ends)) = (&cx.slots[first + history.start], &ends)
            && began > ends
        {
            return Err(errors::transaction_before_period(&self.full_name));
        }
        cx.slots[first + history.end] = ends;
        match history.target.insert(cx, b)? {
            true => history.target.capture_new(cx, b),
            false => Ok(()),
        }
    }
}
