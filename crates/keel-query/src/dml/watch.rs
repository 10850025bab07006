//! What a change tells those who watch the table (see [`crate::watch`]).

use super::target::{RowBuffers, Target};
use crate::context::DmlAction;
use crate::exec::cx::Cx;
use crate::watch::Watching;
use keel_store::row::Row;
use keel_types::{Value, column};

impl Target {
    /// Asks who watches the table, before a statement changes it.
    pub(crate) fn begin_watching(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, action: DmlAction) {
        let watches = cx.txns.watches(self.table.database, self.table.object_id, action);
        b.watching = watches.map(|open| Box::new(Watching { open: open.into_iter().collect() }));
    }

    /// Tells of the row in the new slots, which has come.
    pub(super) fn tell_new(&self, cx: &mut Cx<'_>, b: &mut RowBuffers) {
        let Some(watching) = &mut b.watching else { return };
        let Cx { txns, slots, .. } = cx;
        let value = |id| Some(slots[self.new_first + self.place(id)?].clone());
        watching.tell(*txns, self.table.database, DmlAction::Insert, |watch| watch.may_read(value));
    }

    /// Tells of a stored row, which has gone.
    pub(super) fn tell_gone(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, row: &[u8]) {
        let Some(watching) = &mut b.watching else { return };
        let value = |id| self.stored_value(row, self.place(id)?);
        watching.tell(cx.txns, self.table.database, DmlAction::Delete, |watch| watch.may_read(value));
    }

    /// Tells of a row that was `old`, in which these columns have the values of the new slots now.
    pub(super) fn tell_changed(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, changed: &[usize], old: &[u8]) {
        let Some(watching) = &mut b.watching else { return };
        let Cx { txns, slots, .. } = cx;
        let was = |id| self.stored_value(old, self.place(id)?);
        let is = |id| {
            let at = self.place(id)?;
            let new = changed.contains(&at) || self.rowversion == Some(at);
            if new { Some(slots[self.new_first + at].clone()) } else { self.stored_value(old, at) }
        };
        let moved =
            |id: &i32| self.place(*id).is_none_or(|at| changed.contains(&at) || self.rowversion == Some(at));
        watching.tell(*txns, self.table.database, DmlAction::Update, |watch| {
            watch.columns.iter().any(moved) && (watch.may_read(was) || watch.may_read(is))
        });
    }

    /// Position of a column.
    fn place(&self, column_id: i32) -> Option<usize> {
        self.table.columns.iter().position(|c| c.column_id == column_id)
    }

    /// A value of a stored row; `None` where the row does not have it.
    fn stored_value(&self, row: &[u8], at: usize) -> Option<Value> {
        let c = &self.table.columns[at];
        Row::new(row).column(usize::from(c.ordinal)).map(|bytes| column::decode(bytes, &c.ty))
    }
}
