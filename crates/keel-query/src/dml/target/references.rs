//! What the rows of a statement refer to, row by row; and at its end, for rows of its own table, in whatever order they came.

use super::{RowBuffers, Target};
use crate::dml::foreign::Parent;
use crate::errors::Result;
use crate::exec::cx::Cx;

impl Target {
    /// Checks that the row in the new slots finds what its `n`th foreign key refers to.
    pub fn check_parent(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, n: usize, statement: &str) -> Result<()> {
        let parent = self.parents[n].check(cx, self, &mut b.index_key, statement)?;
        if parent == Parent::Awaited {
            cx.charge(b.index_key.len() + size_of::<(usize, Box<[u8]>)>())?;
            b.awaited.push((n, b.index_key.as_slice().into()));
        }
        b.sums.parents[n] += u64::from(parent != Parent::None);
        Ok(())
    }

    /// Checks, at the end of a statement, that it has brought what its rows refer to. Error 547.
    pub fn check_awaited(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, statement: &str) -> Result<()> {
        for (n, key) in std::mem::take(&mut b.awaited) {
            if !self.parents[n].is_there(cx, &key)? {
                return Err(self.parents[n].conflict(self, statement));
            }
        }
        Ok(())
    }
}
