//! Rewriting the file as its keys want it: pages written before a generation, large rows and the space map included, are
//! written anew, and what is free is overwritten.
//!
//! ```text
//! use_keys: from generation G on pages are written with the new key (or plain)
//!   ─► rewrite_older(G), chunk by chunk like a merge, while readers and merges go on
//!   ─► wipe_free, once nobody holds a root from before: nothing of the old form is left in the file
//! ```
//!
//! Nothing about how far it is needs to be remembered: after a restart it begins anew, and passes over what is young enough. A page
//! is no older than what hangs below it; the pages of large rows may be, and are looked at by themselves.

use super::file::RUN_PAGES_MAX;
use super::frame::PagePin;
use super::leaf_sink::LeafSink;
use super::merge::{Edit, Touch, read_large};
use super::options::Throttle;
use super::page::{Entry, Overflow};
use super::tree::{BaseTree, News};
use super::writer::ChunkWriter;
use super::{BaseError, PAGE_SIZE, Result};

/// How far a rewriting is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// It goes on at a key.
    To(Vec<u8>),
    /// All pages are as they should be.
    Done,
}

/// What is done to the tree: one chunk of it.
struct Older {
    before: u64,
    from: Vec<u8>,
    pages_max: u64,
    /// Where the next chunk goes on.
    next: Option<Vec<u8>>,
    descriptor: Vec<u8>,
}

impl Older {
    fn is_old(&self, generation: u32, out: &ChunkWriter<'_>) -> bool {
        let age = (out.generation as u32).wrapping_sub(generation);
        out.generation.saturating_sub(u64::from(age)) < self.before
    }

    /// Whether the chunk has something to do with these keys.
    fn reaches(&mut self, lower: &[u8], upper: Option<&[u8]>, out: &ChunkWriter<'_>) -> bool {
        if self.next.is_some() || upper.is_some_and(|upper| upper <= &self.from[..]) {
            return false;
        }
        if out.pages_written >= self.pages_max {
            self.next = Some(lower.to_vec());
            return false;
        }
        true
    }
}

impl Edit for Older {
    fn touch(&mut self, lower: &[u8], upper: Option<&[u8]>, out: &ChunkWriter<'_>) -> Touch {
        if self.reaches(lower, upper, out) { Touch::Part } else { Touch::Not }
    }

    fn touch_leaf(&mut self, leaf: &Entry, upper: Option<&[u8]>, out: &ChunkWriter<'_>) -> Touch {
        let reaches = self.reaches(&leaf.key, upper, out);
        let wanted = leaf.rows.overflow || self.is_old(leaf.child.generation, out);
        if reaches && wanted { Touch::Part } else { Touch::Not }
    }

    fn leaf(
        &mut self,
        old: Option<(&PagePin, bool)>,
        _upper: Option<&[u8]>,
        sink: &mut LeafSink,
        out: &mut ChunkWriter<'_>,
        _leaves: &mut Vec<Entry>,
    ) -> Result<()> {
        let Some((page, cached)) = old else { return Ok(()) };
        let source = sink.source(page, cached);
        for index in 0..page.len() {
            let (rest, value) = page.leaf_row(index);
            if value.overflow {
                let described = page.value(value);
                let large = Overflow::decode(described)
                    .ok_or_else(|| out.file.corrupt(page.id(), "an overflow descriptor is malformed"))?;
                if self.is_old(large.generation, out) {
                    let row = read_large(out.file, page, described)?;
                    self.descriptor.clear();
                    out.overflow(&row)?.encode(&mut self.descriptor);
                    out.free_overflow(&large);
                    let key = [page.prefix(), rest].concat();
                    sink.put(&key, &self.descriptor, true, false);
                    continue;
                }
            }
            sink.keep(source, index..index + 1);
        }
        Ok(())
    }
}

impl BaseTree {
    /// Pages are written with this key (0: with none) from the next publication on; its generation.
    ///
    /// # Errors
    /// [`BaseError::Poisoned`].
    pub fn use_key(&self, number: u8) -> Result<u64> {
        let writer = self.lock_writer()?;
        self.file.keys.set_page_key(number);
        Ok(writer.superblock.generation + 1 + writer.skip)
    }

    /// Writes anew what was written before the generation `before`, from a key on, about `bytes` of it, and publishes that.
    ///
    /// # Errors
    /// Those of a merge; what was published stays, and it may be called again.
    pub fn rewrite_older(
        &self,
        before: u64,
        from: Vec<u8>,
        bytes: usize,
        throttle: &dyn Throttle,
    ) -> Result<Rewritten> {
        let mut writer = self.lock_writer()?;
        let pages_max = (bytes / PAGE_SIZE).max(1) as u64;
        let mut edit = Older { before, from, pages_max, next: None, descriptor: Vec::new() };
        let (checkpoint_lsn, highest_lsn) = (writer.superblock.checkpoint_lsn, writer.superblock.highest_lsn);
        // A map that was not written because a later chunk failed is written with the next publication all the same.
        writer.space.rewrite_all();
        self.publish_edit(&mut writer, &mut edit, throttle, |_| News {
            checkpoint_lsn,
            highest_lsn,
            meta: None,
            may_shrink: false,
        })?;
        Ok(edit.next.map_or(Rewritten::Done, Rewritten::To))
    }

    /// Overwrites free pages from page `from` on, one request of them; where to go on, `None` at the end of the file. `Err(Cancelled)`
    /// while a root from before the generation `before` is held or pinned: its pages are not free yet.
    ///
    /// # Errors
    /// [`BaseError::Cancelled`], and those of writing.
    pub fn wipe_free(&self, before: u64, from: u32, throttle: &dyn Throttle) -> Result<Option<u32>> {
        let mut writer = self.lock_writer()?;
        writer.reclaim(&self.file);
        let oldest = writer.roots.front().map_or(writer.superblock.generation, |(generation, _)| *generation);
        if oldest < before || writer.space.is_pinned_before(before) {
            return Err(BaseError::Cancelled);
        }
        let Some(first) = writer.space.next_free(from) else { return Ok(None) };
        let end = writer.space.next_busy(first, RUN_PAGES_MAX);
        let zeros = vec![0; (end - first) as usize * PAGE_SIZE];
        if !throttle.pace(zeros.len() as u64) {
            return Err(BaseError::Cancelled);
        }
        self.file.write_pages(&zeros, first)?;
        if writer.space.next_free(end).is_none() {
            self.file.sync()?;
            return Ok(None);
        }
        Ok(Some(end))
    }

    /// Percent of the leaf pages before a key, for whoever watches.
    #[must_use]
    pub fn percent_before(&self, key: &[u8]) -> f32 {
        let root = self.root();
        let pages = |upper| root.approximate_leaf_pages(&[], upper).unwrap_or(0) as f32;
        (100.0 * pages(Some(key)) / pages(None).max(1.0)).min(100.0)
    }
}
