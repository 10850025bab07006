//! Reading and writing pages of one base file: the only place where the base tree meets [`File`].

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use keel_base::cipher::Keychain;
use keel_base::env::File;

use super::cache::PageCache;
use super::frame::PagePin;
use super::options::{BaseOptions, IoStats};
use super::page::{BODY, Expect, Kind, Overflow, Page, PageRef};
use super::sealed::{self, Closed};
use super::{BaseError, PAGE_SIZE, Result};

/// Pages read in one request when a large value or a scan wants many.
pub(super) const RUN_PAGES_MAX: u32 = 128;

/// A page on the way down.
pub(super) enum Found<'p> {
    /// Held by its parent.
    Kept(&'p PagePin),
    Own(PagePin),
}

/// One open base file and its place in the cache.
pub(super) struct PageFile {
    file: Arc<dyn File>,
    path: PathBuf,
    cache: Arc<PageCache>,
    cache_id: u32,
    /// Stands in every page; from the database GUID.
    pub tag: u32,
    durable: bool,
    /// The database's keys; empty while it is not encrypted.
    pub keys: Arc<Keychain>,
    io: IoCounters,
}

#[derive(Default)]
struct IoCounters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    read_nanos: AtomicU64,
    writes: AtomicU64,
    write_bytes: AtomicU64,
    write_nanos: AtomicU64,
}

/// Reads of data files by one thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadReads {
    /// Requests; one may be of many pages.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their time together, nanoseconds.
    pub nanos: u64,
}

thread_local! {
    static THREAD_READS: Cell<ThreadReads> = const { Cell::new(ThreadReads { requests: 0, bytes: 0, nanos: 0 }) };
}

/// What the calling thread has read of data files, so that sessions can tell.
#[must_use]
pub fn thread_reads() -> ThreadReads {
    THREAD_READS.get()
}

impl std::ops::Sub for ThreadReads {
    type Output = ThreadReads;
    /// Reads since an earlier look; of another thread, none.
    fn sub(self, earlier: ThreadReads) -> ThreadReads {
        ThreadReads {
            requests: self.requests.saturating_sub(earlier.requests),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            nanos: self.nanos.saturating_sub(earlier.nanos),
        }
    }
}

fn nanos_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Drop for PageFile {
    fn drop(&mut self) {
        self.cache.forget_file(self.cache_id);
    }
}

impl PageFile {
    pub fn new(
        file: Arc<dyn File>,
        path: &Path,
        cache: &Arc<PageCache>,
        tag: u32,
        options: &BaseOptions,
    ) -> PageFile {
        let (cache, path) = (cache.clone(), path.to_owned());
        PageFile {
            durable: options.durable,
            keys: Arc::clone(&options.keys),
            file,
            path,
            cache_id: cache.register_file(),
            cache,
            tag,
            io: IoCounters::default(),
        }
    }

    /// The same file once its superblock has told the tag.
    pub fn with_tag(mut self, tag: u32) -> PageFile {
        self.tag = tag;
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A page of the tree, from the cache or the disk.
    #[inline]
    pub fn tree_page(&self, at: PageRef, level: u32) -> Result<PagePin> {
        if let Some(page) = self.cache.get(self.cache_id, at.page)
            && page.reference() == at
        {
            return if page.level() == level { Ok(page) } else { Err(self.corrupt(at.page, WRONG_LEVEL)) };
        }
        let page = self.read_tree_page(at, level)?;
        self.cache.insert(self.cache_id, &page, false);
        Ok(page)
    }

    /// Child `index` of `parent`, an inner page of `level`; kept there when it is an inner page itself.
    #[inline]
    pub fn inner_child<'p>(&self, parent: &'p PagePin, index: usize, level: u32) -> Result<Found<'p>> {
        if let Some(child) = parent.known_child(index) {
            return Ok(Found::Kept(child));
        }
        let child = self.tree_page(parent.child(index), level - 1)?;
        Ok(match self.cache.keeping() {
            Some(account) => Found::Kept(parent.keep_child(index, child, account)),
            None => Found::Own(child),
        })
    }

    /// A page of the tree for the merge, which leaves the cache as it is; true when it came from the cache.
    pub fn tree_page_in_passing(&self, at: PageRef, level: u32) -> Result<(PagePin, bool)> {
        if let Some(page) = self.cache.peek(self.cache_id, at.page)
            && page.reference() == at
        {
            return if page.level() == level {
                Ok((page, true))
            } else {
                Err(self.corrupt(at.page, WRONG_LEVEL))
            };
        }
        Ok((self.read_tree_page(at, level)?, false))
    }

    /// A page of the tree from the disk, whatever the cache holds.
    pub fn read_tree_page(&self, at: PageRef, level: u32) -> Result<PagePin> {
        self.read_page(Expect { at, tag: self.tag, level: Some(level), kind: Kind::Leaf })
    }

    /// Any page, verified.
    pub fn read_page(&self, expect: Expect) -> Result<PagePin> {
        let id = expect.at.page;
        let page = Page::with_bytes(|bytes| {
            self.read_exactly(bytes, id)?;
            self.open_page(bytes, &expect)
        })?;
        page.verify(expect).map_err(|reason| self.corrupt(id, reason))?;
        Ok(page)
    }

    /// Decrypts a page that was read, if it is encrypted.
    fn open_page(&self, bytes: &mut [u8; PAGE_SIZE], expect: &Expect) -> Result<()> {
        sealed::open(bytes, expect, &self.keys).map_err(|closed| match closed {
            Closed::Locked(number) => BaseError::Locked { file: self.path.clone(), number },
            Closed::Damaged(reason) => self.corrupt(expect.at.page, reason),
        })
    }

    /// Brings pages that follow each other in the file into the cache with one request. Only a hint: pages that
    /// fail verification are left out, and whoever needs them finds out.
    pub fn read_ahead(&self, leaves: &[PageRef]) {
        let (Some(first), n) = (leaves.first(), leaves.len()) else { return };
        let mut buffer = vec![0; n * PAGE_SIZE];
        if self.read_exactly(&mut buffer, first.page).is_err() {
            return;
        }
        for (at, bytes) in leaves.iter().zip(buffer.as_chunks::<PAGE_SIZE>().0) {
            let expect = Expect { at: *at, tag: self.tag, level: Some(0), kind: Kind::Leaf };
            let filled = Page::with_bytes(|page| {
                page.copy_from_slice(bytes);
                self.open_page(page, &expect)
            });
            if let Ok(page) = filled
                && page.verify(expect).is_ok()
            {
                self.cache.insert(self.cache_id, &page, false);
            }
        }
    }

    /// Whether the cache holds a page.
    pub fn is_cached(&self, at: PageRef) -> bool {
        self.cache.peek(self.cache_id, at.page).is_some_and(|page| page.reference() == at)
    }

    /// The bytes of a large row.
    pub fn read_overflow(&self, overflow: &Overflow) -> Result<Arc<[u8]>> {
        let len = usize::try_from(overflow.len).map_err(|_| BaseError::Input("a row larger than memory"))?;
        let mut row = Vec::new();
        let mut buffer = Vec::new();
        for extent in &overflow.extents {
            let mut next = extent.first;
            let end = extent.first + extent.pages;
            while next < end {
                let pages = (end - next).min(RUN_PAGES_MAX);
                buffer.resize(pages as usize * PAGE_SIZE, 0);
                self.read_exactly(&mut buffer, next)?;
                for bytes in buffer.as_chunks_mut::<PAGE_SIZE>().0 {
                    let wanted = BODY.min(len - row.len());
                    let body = self.verify_overflow(bytes, next, overflow.generation, wanted)?;
                    row.extend_from_slice(&body[..wanted]);
                    next += 1;
                }
            }
        }
        Ok(Arc::from(row))
    }

    fn verify_overflow<'b>(
        &self,
        bytes: &'b mut [u8; PAGE_SIZE],
        page: u32,
        generation: u32,
        wanted: usize,
    ) -> Result<&'b [u8]> {
        let expect =
            Expect { at: PageRef { page, generation }, tag: self.tag, level: None, kind: Kind::Overflow };
        self.open_page(bytes, &expect)?;
        let used = super::page::verify_bytes(bytes, expect).map_err(|reason| self.corrupt(page, reason))?;
        if used != wanted {
            return Err(self.corrupt(page, "it holds another number of bytes than its row says"));
        }
        Ok(&bytes[super::page::HEADER..])
    }

    /// Its number in the cache.
    pub fn cache_id(&self) -> u32 {
        self.cache_id
    }

    /// Reads and writes since it was opened.
    pub fn io_stats(&self) -> IoStats {
        let io = &self.io;
        IoStats {
            reads: io.reads.load(Relaxed),
            read_bytes: io.read_bytes.load(Relaxed),
            read_nanos: io.read_nanos.load(Relaxed),
            writes: io.writes.load(Relaxed),
            write_bytes: io.write_bytes.load(Relaxed),
            write_nanos: io.write_nanos.load(Relaxed),
        }
    }

    fn read_exactly(&self, buffer: &mut [u8], page: u32) -> Result<()> {
        let (began, bytes) = (Instant::now(), buffer.len() as u64);
        let outcome = self.read_whole(buffer, page);
        self.io.reads.fetch_add(1, Relaxed);
        self.io.read_bytes.fetch_add(bytes, Relaxed);
        let nanos = nanos_since(began);
        self.io.read_nanos.fetch_add(nanos, Relaxed);
        let own = THREAD_READS.get();
        THREAD_READS.set(ThreadReads {
            requests: own.requests + 1,
            bytes: own.bytes + bytes,
            nanos: own.nanos + nanos,
        });
        keel_base::waits::note("PAGEIOLATCH_SH", nanos);
        outcome
    }

    fn read_whole(&self, buffer: &mut [u8], page: u32) -> Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            let offset = u64::from(page) * PAGE_SIZE as u64 + done as u64;
            match self.file.read_at(&mut buffer[done..], offset) {
                Ok(0) => return Err(self.corrupt(page, "it lies beyond the end of the file")),
                Ok(n) => done += n,
                Err(source) => return Err(self.io(page, "read", source)),
            }
        }
        Ok(())
    }

    /// Reads bytes at the front of the file as far as they exist.
    pub fn read_front(&self, buffer: &mut [u8], page: u32) -> Result<usize> {
        let offset = u64::from(page) * PAGE_SIZE as u64;
        self.file.read_at(buffer, offset).map_err(|source| self.io(page, "read", source))
    }

    pub fn write_pages(&self, bytes: &[u8], first: u32) -> Result<()> {
        self.write_at(bytes, u64::from(first) * PAGE_SIZE as u64)
    }

    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let page = (offset / PAGE_SIZE as u64) as u32;
        let began = Instant::now();
        let outcome = self.file.write_at(bytes, offset).map_err(|source| self.io(page, "write", source));
        self.io.writes.fetch_add(1, Relaxed);
        self.io.write_bytes.fetch_add(bytes.len() as u64, Relaxed);
        self.io.write_nanos.fetch_add(nanos_since(began), Relaxed);
        outcome
    }

    pub fn sync(&self) -> Result<()> {
        if !self.durable {
            return Ok(());
        }
        self.file.sync_data().map_err(|source| self.io(0, "sync", source))
    }

    pub fn grow(&self, pages: u32) -> Result<()> {
        let len = u64::from(pages) * PAGE_SIZE as u64;
        self.file.allocate(len).map_err(|source| self.io(pages, "grow", source))
    }

    pub fn truncate(&self, pages: u32) -> Result<()> {
        let len = u64::from(pages) * PAGE_SIZE as u64;
        self.file.set_len(len).map_err(|source| self.io(pages, "truncate", source))
    }

    pub fn cache_insert(&self, page: &PagePin, hot: bool) {
        self.cache.insert(self.cache_id, page, hot);
    }

    pub fn cache_remove(&self, page: u32) {
        self.cache.remove(self.cache_id, page);
    }

    pub fn corrupt(&self, page: u32, reason: &'static str) -> BaseError {
        BaseError::Corrupt { file: self.path.clone(), page, reason }
    }

    fn io(&self, page: u32, operation: &'static str, source: std::io::Error) -> BaseError {
        BaseError::Io { file: self.path.clone(), page, operation, source }
    }
}

const WRONG_LEVEL: &str = "it is of another kind or level than its parent says";
