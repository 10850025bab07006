//! Writing the new pages of one chunk: places, checksums, large sequential writes.

use super::file::{PageFile, RUN_PAGES_MAX};
use super::options::Throttle;
use super::page::{self, BODY, Entry, Extent, Kind, Overflow, Page, PageRef, Seal};
use super::sealed;
use super::space::{Ledger, Space};
use super::{BaseError, PAGE_SIZE, Result};

/// Whether a new page goes into the cache at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heat {
    /// Nobody asked for what it replaces.
    Cold,
    /// It replaces cached pages or holds new rows.
    Warm,
    /// Every search of its key range passes it.
    Hot,
}

/// Collects pages into runs and writes each run with one request.
pub(super) struct ChunkWriter<'a> {
    pub file: &'a PageFile,
    pub space: &'a mut Space,
    pub generation: u64,
    pub ledger: Ledger,
    pub pages_written: u64,
    throttle: &'a dyn Throttle,
    /// What its pages are encrypted with; one key for all of a chunk.
    seal: Option<sealed::Seal>,
    buffer: Vec<[u8; PAGE_SIZE]>,
    /// Page id of `buffer[0]`.
    buffer_first: u32,
}

impl<'a> ChunkWriter<'a> {
    pub fn new(
        file: &'a PageFile,
        space: &'a mut Space,
        throttle: &'a dyn Throttle,
        generation: u64,
    ) -> Result<ChunkWriter<'a>> {
        let buffer = Vec::with_capacity(RUN_PAGES_MAX as usize);
        let ledger = Ledger::default();
        let (pages_written, buffer_first) = (0, 0);
        let seal = match file.keys.page_key() {
            0 => None,
            key => {
                let sealer = file.keys.page_sealer(key);
                let locked = || BaseError::Locked { file: file.path().to_owned(), number: key };
                let opening = file.keys.opening();
                Some(sealed::Seal { key, opening, sealer: sealer.ok_or_else(locked)? })
            }
        };
        Ok(ChunkWriter {
            file,
            space,
            generation,
            ledger,
            pages_written,
            throttle,
            seal,
            buffer,
            buffer_first,
        })
    }

    /// Places one page and fills its body.
    pub fn page(&mut self, heat: Heat, fill: impl FnOnce(&mut [u8; PAGE_SIZE])) -> Result<PageRef> {
        let page = loop {
            match self.space.alloc() {
                Some(page) => break page,
                None => grow(self.file, self.space, 1)?,
            }
        };
        self.ledger.taken.push(page);
        self.page_at(page, heat, fill)
    }

    /// Fills the body of a page that has its place already.
    pub fn page_at(
        &mut self,
        page: u32,
        heat: Heat,
        fill: impl FnOnce(&mut [u8; PAGE_SIZE]),
    ) -> Result<PageRef> {
        let full = self.buffer.len() == RUN_PAGES_MAX as usize;
        if full || self.buffer_first + self.buffer.len() as u32 != page {
            self.flush()?;
            self.buffer_first = page;
        }
        let at = PageRef { page, generation: self.generation as u32 };
        self.buffer.push([0; PAGE_SIZE]);
        let bytes = self.buffer.last_mut().expect("pushed a line ago");
        fill(bytes);
        page::seal(bytes, Seal { at, generation: self.generation, tag: self.file.tag });
        self.pages_written += 1;
        if heat != Heat::Cold {
            let copy: std::result::Result<_, std::convert::Infallible> = Page::with_bytes(|new| {
                new.copy_from_slice(bytes);
                Ok(())
            });
            let Ok(page) = copy;
            self.file.cache_insert(&page, heat == Heat::Hot);
        }
        Ok(at)
    }

    /// Writes an inner page.
    pub fn inner(&mut self, level: u32, entries: &[Entry]) -> Result<PageRef> {
        self.page(Heat::Hot, |bytes| page::write_inner(bytes, level as u8, entries))
    }

    /// Writes a large row to pages of its own.
    pub fn overflow(&mut self, row: &[u8]) -> Result<Overflow> {
        let too_large = |_| BaseError::Input("a row larger than a file can be");
        let pages = u32::try_from(row.len().div_ceil(BODY)).map_err(too_large)?;
        let extent = loop {
            match self.space.alloc_extent(pages) {
                Some(extent) => break extent,
                None => grow(self.file, self.space, pages)?,
            }
        };
        self.ledger.taken_extents.push(extent);
        for (page, body) in (extent.first..).zip(row.chunks(BODY)) {
            self.page_at(page, Heat::Cold, |bytes| {
                page::write_plain(bytes, Kind::Overflow, body.len(), body)
            })?;
        }
        let extents = std::iter::once(extent).collect();
        Ok(Overflow { len: row.len() as u64, generation: self.generation as u32, extents })
    }

    /// Gives up a page: of the published root, or one this chunk wrote itself.
    pub fn free(&mut self, at: PageRef) {
        if at.generation == self.generation as u32 {
            self.ledger.wasted.push(Extent { first: at.page, pages: 1 });
        } else {
            self.ledger.free(at.page);
        }
    }

    /// Gives up the pages of a large row.
    pub fn free_overflow(&mut self, overflow: &Overflow) {
        let ours = overflow.generation == self.generation as u32;
        let list = if ours { &mut self.ledger.wasted } else { &mut self.ledger.freed };
        list.extend_from_slice(&overflow.extents);
    }

    /// Makes sure that a page can be read from the file, should this chunk have written it.
    pub fn settle(&mut self, at: PageRef) -> Result<()> {
        if at.generation == self.generation as u32 { self.flush() } else { Ok(()) }
    }

    /// Writes what is collected.
    pub fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if !self.throttle.pace((self.buffer.len() * PAGE_SIZE) as u64) {
            return Err(BaseError::Cancelled);
        }
        if let Some(seal) = &self.seal {
            self.buffer.iter_mut().for_each(|page| sealed::seal(page, seal));
        }
        let bytes = self.buffer.as_flattened();
        let written = self.file.write_pages(bytes, self.buffer_first);
        // Encrypted in place: after a failure it is not written again.
        self.buffer.clear();
        written?;
        Ok(())
    }
}

/// Makes the file longer by at least `more` pages.
pub(super) fn grow(file: &PageFile, space: &mut Space, more: u32) -> Result<()> {
    let pages = space.growth(more).ok_or(BaseError::Input("the file has reached 32 TB"))?;
    file.grow(pages)?;
    space.grown(pages);
    Ok(())
}
