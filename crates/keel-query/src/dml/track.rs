//! What a change does to a table with CHANGE_TRACKING: it is written down, with the key of its row, beside the table (see
//! [`crate::changes`]).
//!
//! A row whose primary key is assigned, to the same value too, went and came.

use super::target::{RowBuffers, Target};
use super::update::UpdateRow;
use crate::bind::Binder;
use crate::catalog::ChangeTrackingDef;
use crate::changes::{self, ChangeKind};
use crate::context::Stamp;
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::expr::compile::{Code, Compiler, NoSubqueries};
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlType, Value, column};

/// How the changes of a target's table are tracked.
pub struct Tracked {
    def: ChangeTrackingDef,
    /// Columns of the primary key, in its order.
    key: Vec<(usize, KeyColumn)>,
    /// CHANGE_TRACKING_CONTEXT of the statement.
    context: Option<Code>,
    /// Columns that an update may assign besides the key's: when it has assigned them all, they are not told one by one.
    others: usize,
}

impl Tracked {
    /// The tracking of a target's table.
    pub(super) fn of(binder: &mut Binder<'_>, target: &Target) -> Result<Option<Tracked>> {
        let Some(def) = &target.table.change_tracking else { return Ok(None) };
        let key = changes::key_columns(&target.table);
        let context = match &binder.change_context {
            Some(e) => Some(Compiler { subqueries: &mut NoSubqueries }.value(&e.clone())?),
            None => None,
        };
        let own = |i: &usize| key.iter().any(|(at, _)| at == i);
        let assignable = |i: &usize| {
            let c = &target.table.columns[*i];
            c.computed.is_none() && c.ty != SqlType::RowVersion && !own(i)
        };
        let others = (0..target.table.columns.len()).filter(assignable).count();
        Ok(Some(Tracked { def: def.clone(), key, context, others }))
    }

    /// Positions of the columns of the primary key.
    pub(super) fn key(&self) -> impl Iterator<Item = usize> {
        self.key.iter().map(|(at, _)| *at)
    }

    /// The `column_id`s that an update assigns, in the order in which it does; `None` when those are all or are not wanted.
    fn mask(&self, target: &Target, update: &UpdateRow) -> Option<Vec<u8>> {
        if !self.def.columns {
            return None;
        }
        let mut assigned: Vec<usize> = Vec::new();
        for column in update.assigned() {
            if !assigned.contains(&column) {
                assigned.push(column);
            }
        }
        if assigned.len() >= self.others {
            return None;
        }
        assigned.extend(target.rowversion);
        let ids = assigned.iter().flat_map(|i| target.table.columns[*i].column_id.to_le_bytes());
        Some(ids.collect())
    }
}

impl Target {
    /// Writes down what happened to the row whose key's values lie from `first`.
    pub(super) fn track(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        kind: ChangeKind,
        first: usize,
    ) -> Result<()> {
        self.track_columns(cx, b, kind, first, None)
    }

    fn track_columns(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        kind: ChangeKind,
        first: usize,
        columns: Option<&[u8]>,
    ) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        let context = match &tracked.context {
            Some(code) => code.eval(cx)?,
            None => Value::Null,
        };
        let context = match &context {
            Value::Bytes(bytes) => Some(&bytes[..]),
            _ => None,
        };
        let mut key = std::mem::take(&mut b.index_key);
        key.clear();
        for (at, column) in &tracked.key {
            key::append(&mut key, &cx.slots[first + at], column);
        }
        b.entry.clear(changes::FIRST_VALUE + tracked.key.len());
        b.entry.push(Some(&[kind as u8]));
        for part in [columns, context] {
            b.entry.push(part);
        }
        b.entry.push(Some(&key));
        for (at, _) in &tracked.key {
            let (value, ty) = (&cx.slots[first + at], &self.table.columns[*at].ty);
            b.entry.push_with(|out| column::encode(value, ty, out));
        }
        let database = self.table.database;
        let written = cx.txns.change_stamp(database, Stamp::Tracked).and_then(|stamp| {
            let txn = cx.txns.transaction(database)?;
            changes::write(txn, &tracked.def, stamp, &key, b.entry.finish()).map_err(|e| cx.storage_error(&e))
        });
        b.index_key = key;
        written
    }

    /// Writes down that a row has been updated, whose old values lie from `old_first`. `gone` says that its leaving was written down
    /// already.
    pub(super) fn track_update(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        update: &UpdateRow,
        old_first: usize,
        gone: bool,
    ) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        if tracked.key().any(|i| update.changed.contains(&i)) {
            if !gone {
                self.track(cx, b, ChangeKind::Delete, old_first)?;
            }
            return self.track(cx, b, ChangeKind::Insert, self.new_first);
        }
        let mask = tracked.mask(self, update);
        self.track_columns(cx, b, ChangeKind::Update, old_first, mask.as_deref())
    }

    /// Writes down that a row has been taken out to come back under another primary key; says whether it was.
    pub(super) fn track_lifted(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        update: &UpdateRow,
        old_first: usize,
    ) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        if !tracked.key().any(|i| update.changed.contains(&i)) {
            return Ok(());
        }
        self.track(cx, b, ChangeKind::Delete, old_first)
    }
}

/// The context of CHANGE_TRACKING_CONTEXT must be short: error 22109.
pub(crate) fn check_context(ty: SqlType) -> Result<()> {
    match ty {
        SqlType::Binary(n) if n <= 128 => Ok(()),
        SqlType::VarBinary(keel_types::Length::Limited(n)) if n <= 128 => Ok(()),
        _ => Err(errors::change_context_type()),
    }
}
