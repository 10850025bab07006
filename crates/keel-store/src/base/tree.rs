//! One base file: creating, opening, publishing.
//!
//! A publication is: new pages written, sync, superblock written, sync, new root handed to readers. What fails before
//! the first sync leaves the file as good as it was, and the chunk's pages go back to the free ones. A failed sync, or
//! a failed write of the superblock, leaves the disk's state unknown: the tree keeps answering reads from the old
//! root and refuses further merges until it is opened again.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwap, Guard};
use keel_base::env::{Disk, OpenMode};
use keel_base::{Lsn, TreeId};
use parking_lot::{Mutex, MutexGuard};

use super::cache::PageCache;
use super::check::{CheckReport, CheckRow, Checker};
use super::file::PageFile;
use super::frame::PagePin;
use super::merge::{Changes, DropRange, Edit, TreeRoot, rewrite_tree};
use super::options::{BaseOptions, Change, MergeOptions, MergeReport, Throttle};
use super::page::{BODY, Expect, Kind, PageRef, get_u64, write_plain};
use super::pin::Pin;
use super::rebuild::rebuild_space;
use super::root::BaseRoot;
use super::space::{DIRECTORY_REFS, Space};
use super::superblock::{SUPERBLOCK_BYTES, Superblock};
use super::writer::{ChunkWriter, Heat, grow};
use super::{BaseError, META_BYTES_MAX, Result};

/// The base tree of one database.
pub struct BaseTree {
    pub(super) file: Arc<PageFile>,
    guid: [u8; 16],
    root: ArcSwap<BaseRoot>,
    /// Held for a whole merge, so that there is one at a time.
    pub(super) merging: Mutex<()>,
    /// Held for one chunk of it, so that the checker gets a word in between.
    pub(super) writer: Mutex<Writer>,
    /// Free pages after the last publication, for reports.
    free_pages: AtomicU32,
    /// Pages kept for pinned roots alone, after the last publication.
    held_pages: AtomicU64,
    space_rebuilt: bool,
}

/// What only the one merger touches.
pub(super) struct Writer {
    pub(super) superblock: Superblock,
    pub(super) space: Space,
    /// Published roots that readers may still hold, oldest first.
    pub(super) roots: VecDeque<(u64, Weak<BaseRoot>)>,
    /// Even number by which the next generation exceeds its predecessor's successor: no two attempts, failed ones
    /// and those of an earlier process included, write pages of the same generation.
    pub(super) skip: u64,
    /// Pins that were let go, by number, with the roots that somebody may still read.
    pub(super) let_go: Vec<(u64, Weak<BaseRoot>)>,
    /// Its roots may change.
    pub(super) state: WriterState,
}

/// What a writer may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriterState {
    /// Publish.
    Ready,
    /// Nothing: the disk's state is unknown.
    Poisoned,
    /// Nothing: it is the tree of a pinned root.
    Pinned,
}

/// Failed attempts of one process that cannot be told from those of the next; more would need as many failures
/// between two publications.
const SKIP_AT_OPEN: u64 = 64;

/// What a publication says beside the rows.
pub(super) struct News<'a> {
    pub(super) checkpoint_lsn: Lsn,
    pub(super) highest_lsn: Lsn,
    pub(super) meta: Option<&'a [u8]>,
    /// Whether the file may be cut when much of its end is free.
    pub(super) may_shrink: bool,
}

impl BaseTree {
    /// Makes an empty tree in a new file. The caller syncs the directory.
    pub fn create(
        disk: &Arc<dyn Disk>,
        path: &Path,
        cache: &Arc<PageCache>,
        options: &BaseOptions,
    ) -> Result<BaseTree> {
        let io = |source| BaseError::Io { file: path.to_owned(), page: 0, operation: "create", source };
        let file = disk.open(path, OpenMode::CreateNew).map_err(io)?;
        let file = Arc::new(PageFile::new(file, path, cache, tag_of(&options.guid), options));
        let superblock = Superblock {
            guid: options.guid,
            generation: 0,
            root: PageRef::NONE,
            height: 0,
            pages: 2,
            rows: Default::default(),
            checkpoint_lsn: Lsn::ZERO,
            highest_lsn: Lsn::ZERO,
            used_pages: 2,
            directories: Vec::new(),
            meta: Vec::new(),
        };
        let tree = BaseTree::assemble(file, superblock, Space::empty())?;
        {
            let mut writer = tree.writer.lock();
            grow(&tree.file, &mut writer.space, 1)?;
            let news =
                News { checkpoint_lsn: Lsn::ZERO, highest_lsn: Lsn::ZERO, meta: None, may_shrink: false };
            let edit = &mut DropRange { lower: Vec::new(), upper: None };
            tree.publish_edit(&mut writer, edit, &super::options::NoThrottle, |_| news)?;
        }
        Ok(tree)
    }

    /// Opens an existing tree at its last published root.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        cache: &Arc<PageCache>,
        options: &BaseOptions,
    ) -> Result<BaseTree> {
        let io = |source| BaseError::Io { file: path.to_owned(), page: 0, operation: "open", source };
        let handle = disk.open(path, OpenMode::ReadWrite).map_err(io)?;
        let file = PageFile::new(handle, path, cache, 0, options);
        let superblock = newest_superblock(&file)?;
        let file = Arc::new(file.with_tag(tag_of(&superblock.guid)));
        let (space, rebuilt) = match load_space(&file, &superblock) {
            // Of an encrypted page the number of its key may be what is damaged; without its key the tree does not open either.
            Err(BaseError::Corrupt { .. } | BaseError::Locked { .. }) => {
                (rebuild_space(&file, &superblock)?, true)
            }
            space => (space?, false),
        };
        Ok(BaseTree { space_rebuilt: rebuilt, ..BaseTree::assemble(file, superblock, space)? })
    }

    /// Whether opening found the space map damaged and made it anew from the tree: a reason to warn and to check.
    pub fn space_was_rebuilt(&self) -> bool {
        self.space_rebuilt
    }

    fn assemble(file: Arc<PageFile>, superblock: Superblock, space: Space) -> Result<BaseTree> {
        let root = Arc::new(BaseRoot::new(&file, &superblock)?);
        let roots = VecDeque::from([(root.generation, Arc::downgrade(&root))]);
        let guid = superblock.guid;
        let free_pages = AtomicU32::new(space.free());
        let (skip, let_go) = (SKIP_AT_OPEN, Vec::new());
        let writer = Writer { superblock, space, roots, skip, let_go, state: WriterState::Ready };
        Ok(BaseTree {
            file,
            guid,
            root: ArcSwap::new(root),
            merging: Mutex::new(()),
            writer: Mutex::new(writer),
            free_pages,
            held_pages: AtomicU64::new(0),
            space_rebuilt: false,
        })
    }

    /// A tree that only its root can be read of.
    pub(super) fn of_pin(pin: &Pin, space: Space) -> BaseTree {
        let root = Arc::clone(&pin.root);
        let roots = VecDeque::from([(root.generation, Arc::downgrade(&root))]);
        let superblock = pin.superblock.clone();
        let writer = Writer {
            superblock,
            space,
            roots,
            skip: SKIP_AT_OPEN,
            let_go: Vec::new(),
            state: WriterState::Pinned,
        };
        BaseTree {
            file: Arc::clone(&root.file),
            guid: pin.superblock.guid,
            root: ArcSwap::new(root),
            merging: Mutex::new(()),
            writer: Mutex::new(writer),
            free_pages: AtomicU32::new(0),
            held_pages: AtomicU64::new(0),
            space_rebuilt: false,
        }
    }

    /// The newest published root.
    pub fn root(&self) -> Arc<BaseRoot> {
        self.root.load_full()
    }

    /// The same for a short time: no count is written to, which every reader of every session would do. While it is held it
    /// takes one of the few places that a thread has for this; beyond them it counts after all.
    #[inline]
    pub fn root_now(&self) -> Guard<Arc<BaseRoot>> {
        self.root.load()
    }

    /// Generation of the newest published root.
    pub fn generation(&self) -> u64 {
        self.root.load().generation()
    }

    /// The file's number in the page cache.
    pub fn cache_id(&self) -> u32 {
        self.file.cache_id()
    }

    /// Reads and writes of the file.
    pub fn io_stats(&self) -> super::IoStats {
        self.file.io_stats()
    }

    /// Identity of the database, from its superblock.
    pub fn guid(&self) -> [u8; 16] {
        self.guid
    }

    /// Pages that could be handed out now; with those that readers' old roots hold back, the rest of the file.
    pub fn free_pages(&self) -> u64 {
        u64::from(self.free_pages.load(Ordering::Relaxed))
    }

    /// Pages that are kept for pinned roots alone, as of the last publication.
    pub fn held_pages(&self) -> u64 {
        self.held_pages.load(Ordering::Relaxed)
    }

    /// Notes the figures that reports want.
    pub(super) fn note_space(&self, space: &Space) {
        self.free_pages.store(space.free(), Ordering::Relaxed);
        self.held_pages.store(space.held(), Ordering::Relaxed);
    }

    /// Applies changes sorted by key (strictly ascending) and publishes them, chunk by chunk. Readers are never
    /// blocked; a second merge waits for the first.
    ///
    /// After an error the chunks published so far stay. Running the same merge again is always right; it is
    /// refused with [`BaseError::Poisoned`] when the disk's state is unknown.
    pub fn merge<K, V>(
        &self,
        changes: impl IntoIterator<Item = (K, Change<V>)>,
        options: &MergeOptions<'_>,
    ) -> Result<MergeReport>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        if options.meta.is_some_and(|meta| meta.len() > META_BYTES_MAX) {
            return Err(BaseError::Input("the metadata is longer than the superblock has room for"));
        }
        let _merging = self.merging.lock();
        let mut changes = Changes::new(changes.into_iter(), options.fold, options.chunk_bytes);
        let mut report = MergeReport::default();
        loop {
            let mut writer = self.lock_writer()?;
            let before = writer.superblock.checkpoint_lsn;
            let (written, freed) =
                self.publish_edit(&mut writer, &mut changes, options.throttle, |changes| {
                    let last = changes.is_exhausted();
                    News {
                        checkpoint_lsn: if last { options.checkpoint_lsn } else { before },
                        highest_lsn: options.highest_lsn,
                        meta: if last { options.meta } else { None },
                        may_shrink: last,
                    }
                })?;
            report.chunks += 1;
            report.pages_written += written;
            report.pages_freed += freed;
            report.changes = changes.consumed;
            if changes.is_exhausted() {
                return Ok(report);
            }
        }
    }

    /// Removes every row of a tree without visiting them (DROP TABLE, TRUNCATE). Moves `highest_lsn`, not the
    /// checkpoint LSN; repeatable.
    pub fn drop_tree(&self, tree: TreeId, options: &MergeOptions<'_>) -> Result<MergeReport> {
        let upper = tree.0.checked_add(1).map(u32::to_be_bytes);
        self.drop_range(&tree.0.to_be_bytes(), upper.as_ref().map(|key| &key[..]), options)
    }

    /// Removes every row from `lower` on, below `upper` (to the end, if `None`), like [`BaseTree::drop_tree`].
    pub fn drop_range(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        options: &MergeOptions<'_>,
    ) -> Result<MergeReport> {
        let _merging = self.merging.lock();
        let mut writer = self.lock_writer()?;
        let checkpoint_lsn = writer.superblock.checkpoint_lsn;
        let mut edit = DropRange { lower: lower.to_vec(), upper: upper.map(<[u8]>::to_vec) };
        let (pages_written, pages_freed) =
            self.publish_edit(&mut writer, &mut edit, options.throttle, |_| News {
                checkpoint_lsn,
                highest_lsn: options.highest_lsn,
                meta: None,
                may_shrink: true,
            })?;
        Ok(MergeReport { changes: 0, chunks: 1, pages_written, pages_freed })
    }

    /// Reads and verifies every page of the newest root from the disk, and that no page is lost or used twice.
    /// `row` sees every row; merges may go on meanwhile.
    pub fn check(&self, row: &mut CheckRow<'_>, progress: &mut dyn FnMut(u64, u64)) -> Result<CheckReport> {
        let (root, live, space_pages) = {
            let writer = self.writer.lock();
            let space_pages: Vec<PageRef> =
                writer.space.bitmaps.iter().chain(&writer.space.directories).copied().collect();
            (self.root(), writer.space.live_picture(), space_pages)
        };
        let mut checker = Checker::new(&root, live, row, progress);
        checker.space_pages(&space_pages);
        checker.tree()
    }

    pub(super) fn lock_writer(&self) -> Result<MutexGuard<'_, Writer>> {
        let writer = self.writer.lock();
        match writer.state {
            WriterState::Ready => Ok(writer),
            WriterState::Poisoned => Err(BaseError::Poisoned { file: self.file.path().to_owned() }),
            WriterState::Pinned => Err(BaseError::Input("a pinned root does not change")),
        }
    }

    /// Rewrites the tree with `edit` and publishes the outcome; returns pages written and freed.
    pub(super) fn publish_edit<'n, E: Edit>(
        &self,
        writer: &mut Writer,
        edit: &mut E,
        throttle: &dyn Throttle,
        news: impl FnOnce(&E) -> News<'n>,
    ) -> Result<(u64, u64)> {
        let root = TreeRoot {
            at: writer.superblock.root,
            height: writer.superblock.height,
            rows: writer.superblock.rows,
        };
        self.publish(writer, throttle, |chunk| Ok((rewrite_tree(root, edit, chunk)?, news(edit))))
    }

    /// Publishes the tree that `make` makes; returns pages written and freed.
    pub(super) fn publish<'n>(
        &self,
        writer: &mut Writer,
        throttle: &dyn Throttle,
        make: impl FnOnce(&mut ChunkWriter<'_>) -> Result<(TreeRoot, News<'n>)>,
    ) -> Result<(u64, u64)> {
        let old_pages = writer.space.pages();
        let (bitmaps, directories) = (writer.space.bitmaps.clone(), writer.space.directories.clone());
        writer.reclaim(&self.file);
        writer.space.rewind();
        let generation = writer.superblock.generation + 1 + writer.skip;
        let mut chunk = ChunkWriter::new(&self.file, &mut writer.space, throttle, generation)?;
        let written = make(&mut chunk)
            .and_then(|(root, news)| write_superblock_pages(&mut chunk, &writer.superblock, root, news));
        let pages_written = chunk.pages_written;
        let ledger = chunk.ledger;
        let freed: u64 = ledger.freed.iter().map(|extent| u64::from(extent.pages)).sum();
        let prepared = written.and_then(|superblock| {
            let root = BaseRoot::new(&self.file, &superblock)?;
            Ok((superblock, Arc::new(root)))
        });
        let switched = prepared.and_then(|(superblock, root)| match self.switch(&superblock) {
            Ok(()) => Ok((superblock, root)),
            Err(error) => {
                writer.state = WriterState::Poisoned;
                Err(error)
            }
        });
        let (superblock, root) = match switched {
            Ok(switched) => switched,
            Err(error) => {
                // Also when nothing is written any more: the space map goes on to be that of the root there is.
                if writer.space.pages() < old_pages {
                    writer.space.grown(old_pages);
                }
                writer.skip += 2;
                writer.space.undo(&ledger, bitmaps, directories);
                ledger
                    .all_taken()
                    .flat_map(|e| e.first..e.first + e.pages)
                    .for_each(|p| self.file.cache_remove(p));
                return Err(error);
            }
        };
        if superblock.pages < old_pages {
            // The superblock no longer speaks of the tail; if cutting fails, the next shrink tries again.
            let _ = self.file.truncate(superblock.pages);
        }
        writer.roots.push_back((generation, Arc::downgrade(&root)));
        self.root.store(root);
        (writer.superblock, writer.skip) = (superblock, 0);
        for extent in &ledger.wasted {
            (extent.first..extent.first + extent.pages).for_each(|page| self.file.cache_remove(page));
        }
        writer.space.published(generation, ledger);
        writer.reclaim(&self.file);
        self.note_space(&writer.space);
        Ok((pages_written, freed))
    }

    /// Makes the pages durable, then the superblock that names them.
    fn switch(&self, superblock: &Superblock) -> Result<()> {
        self.file.sync()?;
        self.file.write_at(&superblock.encode(), Superblock::offset(superblock.generation))?;
        self.file.sync()
    }
}

impl Writer {
    /// Gives back the pages that no living root reaches any more.
    pub(super) fn reclaim(&mut self, file: &PageFile) {
        while self.roots.len() > 1 && self.roots.front().is_some_and(|(_, root)| root.strong_count() == 0) {
            self.roots.pop_front();
        }
        // The reader that dropped the last reference has finished with the pages before their bytes change.
        fence(Ordering::Acquire);
        let oldest = self.roots.front().map_or(self.superblock.generation, |(generation, _)| *generation);
        self.space.reclaim(oldest, |page| file.cache_remove(page));
        let space = &mut self.space;
        self.let_go.retain(|(number, root)| {
            let read = root.strong_count() > 0;
            if !read {
                space.unpin(*number, |page| file.cache_remove(page));
            }
            read
        });
    }
}

/// First bytes of the database GUID.
fn tag_of(guid: &[u8; 16]) -> u32 {
    super::page::get_u32(guid, 0)
}

/// Writes the space map of the new picture and flushes; returns the superblock that completes it.
fn write_superblock_pages(
    chunk: &mut ChunkWriter<'_>,
    old: &Superblock,
    root: TreeRoot,
    news: News<'_>,
) -> Result<Superblock> {
    if news.may_shrink
        && let Some(keep) = chunk.space.excess()
    {
        chunk.space.cut(keep, &mut chunk.ledger);
    }
    let file = chunk.file;
    let plan = chunk.space.prepare(&mut chunk.ledger, |space| grow(file, space, 1))?;
    let mut bitmaps = chunk.space.bitmaps.clone();
    bitmaps.resize(super::space::groups(chunk.space.pages()), PageRef::NONE);
    for (group, page) in plan.bitmaps {
        let body = chunk.space.bitmap_body(group);
        bitmaps[group] =
            chunk.page_at(page, Heat::Cold, |bytes| write_plain(bytes, Kind::Bitmap, 0, &body))?;
    }
    let mut directories = Vec::with_capacity(plan.directories.len());
    for (page, refs) in plan.directories.into_iter().zip(bitmaps.chunks(DIRECTORY_REFS)) {
        let body: Vec<u8> = refs.iter().flat_map(|at| at.pack().to_le_bytes()).collect();
        directories.push(
            chunk
                .page_at(page, Heat::Cold, |bytes| write_plain(bytes, Kind::Directory, refs.len(), &body))?,
        );
    }
    chunk.flush()?;
    chunk.space.bitmaps.clone_from(&bitmaps);
    chunk.space.directories.clone_from(&directories);
    Ok(Superblock {
        guid: old.guid,
        generation: chunk.generation,
        root: root.at,
        height: root.height,
        pages: chunk.space.pages(),
        rows: root.rows,
        checkpoint_lsn: news.checkpoint_lsn,
        highest_lsn: old.highest_lsn.max(news.highest_lsn),
        used_pages: chunk.space.used(),
        directories,
        meta: news.meta.map_or_else(|| old.meta.clone(), <[u8]>::to_vec),
    })
}

fn newest_superblock(file: &PageFile) -> Result<Superblock> {
    let mut newest: std::result::Result<Superblock, &'static str> = Err("the file is too short");
    for slot in 0..2 {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        let read = file.read_front(&mut bytes, slot as u32)?;
        match (Superblock::decode(&bytes[..read], slot), &newest) {
            (Ok(found), Ok(best)) if found.generation < best.generation => {}
            (Ok(found), _) => newest = Ok(found),
            (Err(reason), Err(_)) => newest = Err(reason),
            (Err(_), Ok(_)) => {}
        }
    }
    newest.map_err(|reason| BaseError::NotABaseFile { file: file.path().to_owned(), reason })
}

pub(super) fn load_space(file: &PageFile, superblock: &Superblock) -> Result<Space> {
    let plain =
        |at, kind| -> Result<PagePin> { file.read_page(Expect { at, tag: file.tag, level: None, kind }) };
    let mut bitmaps = Vec::new();
    for at in &superblock.directories {
        let page = plain(*at, Kind::Directory)?;
        let refs = page.len().min(DIRECTORY_REFS);
        bitmaps.extend((0..refs).map(|i| PageRef::unpack(get_u64(page.body(), 8 * i))));
    }
    let mut bodies = Vec::with_capacity(bitmaps.len());
    for at in &bitmaps {
        bodies.push(plain(*at, Kind::Bitmap)?.body()[..BODY].to_vec());
    }
    let directories = superblock.directories.clone();
    let space = Space::load(superblock.pages, &bodies, bitmaps, directories)
        .ok_or_else(|| file.corrupt(0, "the space map contradicts the superblock"))?;
    if space.used() != superblock.used_pages {
        return Err(file.corrupt(0, "the space map counts other pages than the superblock"));
    }
    Ok(space)
}
