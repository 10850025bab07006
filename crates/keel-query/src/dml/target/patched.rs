//! The patch that an UPDATE makes of a stored row.

use super::{RowBuffers, Target};
use crate::exec::cx::Cx;
use keel_store::row;
use keel_types::{Value, column};
use smallvec::SmallVec;

impl Target {
    /// What becomes of the stored row `old` when the columns in `changed` take their new slots' values. Columns added after
    /// the row was stored get their values now.
    pub(super) fn patch_of(&self, cx: &Cx<'_>, b: &mut RowBuffers, old: &[u8], changed: &[usize]) {
        let ordinal = |i: usize| usize::from(self.table.columns[i].ordinal);
        let stored = row::count(old);
        b.patch.clear(self.width);
        if stored == self.width && changed.is_sorted_by_key(|i| ordinal(*i)) {
            changed.iter().for_each(|i| self.set_in_patch(cx, b, *i));
            return;
        }
        let mut set: SmallVec<[usize; 16]> = SmallVec::from_slice(changed);
        if stored < self.width {
            let later = self.by_ordinal[stored..].iter().flatten();
            set.extend(later.copied().filter(|i| !changed.contains(i)));
        }
        set.sort_unstable_by_key(|i| ordinal(*i));
        for i in set {
            if changed.contains(&i) {
                self.set_in_patch(cx, b, i);
            } else {
                b.patch.set(ordinal(i), self.table.columns[i].missing_value.as_deref());
            }
        }
    }

    /// The column takes its new slot's value.
    fn set_in_patch(&self, cx: &Cx<'_>, b: &mut RowBuffers, i: usize) {
        let column = &self.table.columns[i];
        let ordinal = usize::from(column.ordinal);
        match &cx.slots[self.new_first + i] {
            Value::Null => b.patch.set(ordinal, None),
            v => {
                b.column.clear();
                column::encode(v, &column.ty, &mut b.column);
                b.patch.set(ordinal, Some(&b.column));
            }
        }
    }
}
