//! Making the space map anew when its pages are damaged.
//!
//! The map says nothing that the tree does not say too: a page is used if the root reaches it. So damage to the map
//! costs a walk over the inner pages (and those leaves that have large rows), not the database.

use super::Result;
use super::file::PageFile;
use super::page::{Overflow, PageRef};
use super::space::Space;
use super::superblock::Superblock;

/// The space map of the tree that a superblock names. Fails when an inner page, or a leaf with large rows, is
/// damaged as well: then it is not known which pages may be overwritten.
pub(super) fn rebuild_space(file: &PageFile, superblock: &Superblock) -> Result<Space> {
    let mut walk = Walk { file, space: Space::with_pages(superblock.pages) };
    if let Some(level) = superblock.height.checked_sub(1) {
        walk.node(superblock.root, level, superblock.rows.overflow)?;
    }
    Ok(walk.space)
}

struct Walk<'f> {
    file: &'f PageFile,
    space: Space,
}

impl Walk<'_> {
    fn node(&mut self, at: PageRef, level: u32, overflow: bool) -> Result<()> {
        self.mark(at.page, at.page)?;
        if level == 0 && !overflow {
            return Ok(());
        }
        let page = self.file.read_tree_page(at, level)?;
        if level > 0 {
            for index in 0..page.len() {
                self.node(page.child(index), level - 1, page.child_rows(index).overflow)?;
            }
            return Ok(());
        }
        for index in 0..page.len() {
            let (_, value) = page.leaf_row(index);
            let large = value.overflow.then(|| Overflow::decode(page.value(value))).flatten();
            for extent in large.into_iter().flat_map(|large| large.extents) {
                for used in extent.first..extent.first + extent.pages {
                    self.mark(used, at.page)?;
                }
            }
        }
        Ok(())
    }

    fn mark(&mut self, page: u32, named_by: u32) -> Result<()> {
        if self.space.mark_used(page) {
            return Ok(());
        }
        Err(self.file.corrupt(named_by, "it names a page that is in use already or outside the file"))
    }
}
