//! Roots that outlive restarts: what a database snapshot is made of.
//!
//! ```text
//!   superblock ──► root 9  ─┐            the newest root
//!                           ├─ pages of both, pages of 9 alone
//!   record ──────► root 5  ─┘  pages of 5 alone: held
//! ```
//! A pin is a published root whose pages are not reused while it stands, whatever later publications let go. Its **record** is
//! that publication's superblock, which names the root and the space map of then; the map says which pages those are, so
//! that neither making a pin nor opening a file with pins walks a tree.
//!
//! The layer above keeps records on disk:
//!
//! 1. [`BaseTree::pin`] pins in memory and gives the record; the caller makes that durable, or unpins.
//! 2. After opening, and before anything is published, it hands every record it has to [`BaseTree::restore_pin`].
//! 3. To drop one it removes the record durably, then calls [`BaseTree::unpin`]. Pages that nobody else has are free once
//!    nobody reads the pinned root any more.
//!
//! Whatever moment the process ends, a record that is there names pages that are as they were: between the first step and the
//! record they are protected by the pin in memory, and no publication of a process that does not know the record comes between.
//!
//! [`BaseTree::revert`] makes a pinned root the newest one, in one publication: the superblock is the only thing that
//! changes hands, so a crash leaves the tree wholly before or wholly after.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keel_base::Lsn;

use super::error::{BaseError, Result};
use super::merge::{Changes, TreeRoot, rewrite_tree};
use super::options::{Change, NoThrottle};
use super::page::PageRef;
use super::rebuild::rebuild_space;
use super::root::BaseRoot;
use super::space::{PinnedPicture, Space};
use super::superblock::Superblock;
use super::tree::{BaseTree, News, Writer, WriterState, load_space};

/// A root that is kept. Cloned freely; letting go of the last clone unpins nothing.
#[derive(Clone)]
pub struct Pin {
    number: u64,
    pub(super) root: Arc<BaseRoot>,
    pub(super) superblock: Superblock,
    bitmaps: Arc<Vec<PageRef>>,
    picture: Arc<Vec<u64>>,
    held: Arc<AtomicU64>,
}

impl Pin {
    /// What the layer above keeps on disk.
    #[must_use]
    pub fn record(&self) -> Vec<u8> {
        self.superblock.encode()
    }

    /// Every change before it is in the root, and none behind it.
    #[must_use]
    pub fn lsn(&self) -> Lsn {
        self.root.checkpoint_lsn()
    }

    /// Number of its publication.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.superblock.generation
    }

    /// Pages of it that the newest root does not have any more, as of the last publication. What several pins have counts for
    /// each of them.
    #[must_use]
    pub fn held_pages(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Its root.
    #[must_use]
    pub fn root(&self) -> &Arc<BaseRoot> {
        &self.root
    }

    /// A tree that shows it, and takes no changes.
    #[must_use]
    pub fn tree(&self) -> BaseTree {
        let (bitmaps, directories) = (self.bitmaps.to_vec(), self.superblock.directories.clone());
        let space = Space::of_pin(self.superblock.pages, &self.picture, bitmaps, directories);
        BaseTree::of_pin(self, space)
    }
}

/// Numbers of pins, unlike all others of the process.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl BaseTree {
    /// Pins the newest root, if everything in it is as of its checkpoint; `None` while a merge is half way, or when one that
    /// failed has left it so.
    ///
    /// # Errors
    /// [`BaseError::Poisoned`], and those of reading the root's page.
    pub fn pin(&self) -> Result<Option<Pin>> {
        let mut writer = self.lock_writer()?;
        let superblock = writer.superblock.clone();
        if superblock.highest_lsn != superblock.checkpoint_lsn {
            return Ok(None);
        }
        let (picture, bitmaps) = (writer.space.live_picture(), writer.space.bitmaps.clone());
        self.add_pin(&mut writer, superblock, picture, bitmaps).map(Some)
    }

    /// Pins what a record of an earlier process names. After opening, before anything is published.
    ///
    /// # Errors
    /// [`BaseError::NotABaseFile`] when it is no record of this file, [`BaseError::Corrupt`] when the pages it needs to know
    /// which are its own are damaged: the file is as good as without it. Others are those of reading.
    pub fn restore_pin(&self, record: &[u8]) -> Result<Pin> {
        let mut writer = self.lock_writer()?;
        let no_record = |reason| BaseError::NotABaseFile { file: self.file.path().to_owned(), reason };
        let slot = record.get(32).map_or(0, |low| u64::from(low % 2));
        let superblock = Superblock::decode(record, slot).map_err(no_record)?;
        if superblock.guid != self.guid() || superblock.generation > writer.superblock.generation {
            return Err(no_record("its record is of another file, or of a later state of it"));
        }
        let space = match load_space(&self.file, &superblock) {
            Err(BaseError::Corrupt { .. } | BaseError::Locked { .. }) => {
                rebuild_space(&self.file, &superblock)?
            }
            space => space?,
        };
        let (picture, bitmaps) = (space.live_picture(), space.bitmaps);
        self.add_pin(&mut writer, superblock, picture, bitmaps)
    }

    fn add_pin(
        &self,
        writer: &mut Writer,
        superblock: Superblock,
        picture: Vec<u64>,
        bitmaps: Vec<PageRef>,
    ) -> Result<Pin> {
        // A root of its own: the one in the list of readers' roots would hold back everything that comes later.
        let root = Arc::new(BaseRoot::new(&self.file, &superblock)?);
        let (number, generation) = (next_number(), superblock.generation);
        let (picture, held) = (Arc::new(picture), Arc::new(AtomicU64::new(0)));
        let pinned =
            PinnedPicture { number, generation, picture: Arc::clone(&picture), held: Arc::clone(&held) };
        if !writer.space.pin(pinned) {
            return Err(self
                .file
                .corrupt(superblock.root.page, "a pinned root has pages that the file has not"));
        }
        self.note_space(&writer.space);
        Ok(Pin { number, root, superblock, bitmaps: Arc::new(bitmaps), picture, held })
    }

    /// Lets a pin go. Its pages become free as soon as nobody reads its root any more, with the next publication or the
    /// next pin that is let go.
    pub fn unpin(&self, pin: Pin) {
        let mut writer = self.writer.lock();
        writer.let_go.push((pin.number, Arc::downgrade(&pin.root)));
        drop(pin);
        writer.reclaim(&self.file);
        self.note_space(&writer.space);
    }

    /// Whether a root from before a generation is pinned.
    #[must_use]
    pub fn is_pinned_before(&self, generation: u64) -> bool {
        self.writer.lock().space.is_pinned_before(generation)
    }

    /// Makes a pinned root the newest one, with a few rows on top, as of a position that everything in the file is before.
    /// The pin stays. Whoever would go on with what came between must not: the tree takes no more changes until it is opened
    /// again, whether this has succeeded or not.
    ///
    /// # Errors
    /// Those of a merge. The file is as it was then, or as it was to be when the superblock could not be synced.
    pub fn revert(&self, pin: &Pin, at: Lsn, meta: &[u8], rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let _merging = self.merging.lock();
        let mut writer = self.lock_writer()?;
        let old = &pin.superblock;
        let root = TreeRoot { at: old.root, height: old.height, rows: old.rows };
        let maps: Vec<PageRef> = pin.bitmaps.iter().chain(&old.directories).copied().collect();
        let puts = rows.iter().map(|(key, row)| (&key[..], Change::Put(&row[..])));
        let mut changes = Changes::new(puts, None, usize::MAX);
        let reverted = self.publish(&mut writer, &NoThrottle, |chunk| {
            chunk.space.go_back(&pin.picture, &maps, &mut chunk.ledger);
            let root = if rows.is_empty() { root } else { rewrite_tree(root, &mut changes, chunk)? };
            let news = News { checkpoint_lsn: at, highest_lsn: at, meta: Some(meta), may_shrink: false };
            Ok((root, news))
        });
        writer.state = WriterState::Poisoned;
        reverted.map(|_| ())
    }
}
