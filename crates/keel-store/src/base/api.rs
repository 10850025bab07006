//! What the layers above see of the base tree.

use std::collections::BTreeMap;
use std::ops::{Bound, Deref};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use keel_base::env::{Disk, File, OpenMode};
use keel_base::{Lsn, TreeId};
use parking_lot::Mutex;

use super::{BaseError, Result};

type Map = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// Page cache shared by all databases of an instance.
pub struct PageCache {
    capacity: std::sync::atomic::AtomicUsize,
}

impl PageCache {
    /// A cache of at most `capacity_bytes`.
    pub fn new(capacity_bytes: usize) -> Arc<PageCache> {
        Arc::new(PageCache { capacity: capacity_bytes.into() })
    }

    /// Changes the bound; a smaller one evicts at once.
    pub fn set_capacity(&self, bytes: usize) {
        self.capacity.store(bytes, std::sync::atomic::Ordering::Relaxed);
    }
}

/// How a base file is opened or created.
#[derive(Clone, Debug)]
pub struct BaseOptions {
    /// False for tempdb: nothing is synced, the file is worthless after a restart.
    pub durable: bool,
}

impl Default for BaseOptions {
    fn default() -> Self {
        BaseOptions { durable: true }
    }
}

/// Which way a cursor walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// One change of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<V> {
    /// The row is now this, whether it existed or not.
    Put(V),
    /// The row is gone; no error when it never was.
    Delete,
    /// The row is what [`MergeOptions::fold`] makes of the old row (if any) and these bytes.
    Fold(V),
}

impl<V> From<Option<V>> for Change<V> {
    fn from(row: Option<V>) -> Self {
        row.map_or(Change::Delete, Change::Put)
    }
}

/// Paces the bytes a merge writes.
pub trait Throttle: Sync {
    /// Called before `bytes` are written; may sleep. False stops the merge with [`BaseError::Cancelled`].
    fn pace(&self, bytes: u64) -> bool;
}

/// Writes as fast as the disk takes it.
pub struct NoThrottle;

impl Throttle for NoThrottle {
    fn pace(&self, _bytes: u64) -> bool {
        true
    }
}

/// Makes the new row (appended to the empty vector; return false for "no row") from the old one and a
/// [`Change::Fold`]'s bytes.
pub type FoldFn<'a> = dyn Fn(&[u8], Option<&[u8]>, &[u8], &mut Vec<u8>) -> bool + Sync + 'a;

/// What a merge publishes beside the rows, and how it goes about it.
#[derive(Clone, Copy)]
pub struct MergeOptions<'a> {
    /// The checkpoint LSN after the last chunk.
    pub checkpoint_lsn: Lsn,
    /// Highest LSN of any change in this merge; every chunk publishes it.
    pub highest_lsn: Lsn,
    /// New opaque metadata, published with the last chunk; `None` keeps the old.
    pub meta: Option<&'a [u8]>,
    /// A chunk is published after about this many bytes of new pages.
    pub chunk_bytes: usize,
    /// Paces writes.
    pub throttle: &'a dyn Throttle,
    /// Resolves [`Change::Fold`]; arguments are key, old row, patch, output. Without it a `Fold` is an input error.
    pub fold: Option<&'a FoldFn<'a>>,
}

impl MergeOptions<'_> {
    /// Unthrottled, 16 MB chunks, checkpoint at `lsn`.
    pub fn at(lsn: Lsn) -> MergeOptions<'static> {
        MergeOptions {
            checkpoint_lsn: lsn,
            highest_lsn: lsn,
            meta: None,
            chunk_bytes: 16 << 20,
            throttle: &NoThrottle,
            fold: None,
        }
    }
}

/// What a merge did.
#[derive(Clone, Copy, Debug, Default)]
pub struct MergeReport {
    /// Changes consumed.
    pub changes: u64,
    /// Chunks published.
    pub chunks: u64,
    /// Pages written.
    pub pages_written: u64,
    /// Pages replaced or dropped.
    pub pages_freed: u64,
}

/// A row pinned in memory. Dereferences to its bytes.
#[derive(Clone)]
pub struct RowRef(Arc<[u8]>);

impl Deref for RowRef {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Shape of the tree under a root.
#[derive(Clone, Copy, Debug, Default)]
pub struct BaseStats {
    /// Rows of all trees.
    pub rows: u64,
    /// Levels, leaves included; 0 when empty.
    pub height: u32,
    /// Pages of the file, free ones included.
    pub file_pages: u64,
    /// Pages free for reuse.
    pub free_pages: u64,
}

/// An immutable picture of the whole tree. While it lives, none of its pages is reused.
pub struct BaseRoot {
    map: Map,
    checkpoint_lsn: Lsn,
    highest_lsn: Lsn,
    meta: Vec<u8>,
}

impl BaseRoot {
    /// The row under `key` (tree id included).
    pub fn get(&self, key: &[u8]) -> Result<Option<RowRef>> {
        Ok(self.map.get(key).map(|row| RowRef(row.clone())))
    }

    /// Whether a row is under `key`.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        Ok(self.map.contains_key(key))
    }

    /// A cursor before the first row of the range.
    pub fn scan(self: &Arc<Self>, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) -> Cursor {
        let own = |b: Bound<&[u8]>| b.map(<[u8]>::to_vec);
        Cursor { root: self.clone(), lower: own(lower), upper: own(upper), direction, at: None }
    }

    /// Number of rows in the range.
    pub fn approximate_count(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<u64> {
        Ok(self.map.range::<[u8], _>((lower, upper)).count() as u64)
    }

    /// The checkpoint LSN: every change before it is in this root.
    pub fn checkpoint_lsn(&self) -> Lsn {
        self.checkpoint_lsn
    }

    /// No row of this root is newer than this.
    pub fn highest_lsn(&self) -> Lsn {
        self.highest_lsn
    }

    /// The opaque metadata of the layer above.
    pub fn meta(&self) -> &[u8] {
        &self.meta
    }

    /// Shape and size.
    pub fn stats(&self) -> BaseStats {
        BaseStats { rows: self.map.len() as u64, ..BaseStats::default() }
    }
}

/// Walks a range of a [`BaseRoot`], which it keeps alive.
pub struct Cursor {
    root: Arc<BaseRoot>,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    at: Option<(Vec<u8>, Arc<[u8]>)>,
}

impl Cursor {
    /// Moves to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        let lower = self.lower.as_ref().map(Vec::as_slice);
        let upper = self.upper.as_ref().map(Vec::as_slice);
        let found = {
            let mut range = self.root.map.range::<[u8], _>((lower, upper));
            match self.direction {
                Direction::Forward => range.next(),
                Direction::Reverse => range.next_back(),
            }
            .map(|(k, v)| (k.clone(), v.clone()))
        };
        if let Some((key, _)) = &found {
            match self.direction {
                Direction::Forward => self.lower = Bound::Excluded(key.clone()),
                Direction::Reverse => self.upper = Bound::Excluded(key.clone()),
            }
        }
        self.at = found;
        Ok(self.at.is_some())
    }

    /// Key of the current row, tree id included; empty before the first and after the last.
    pub fn key(&self) -> &[u8] {
        self.at.as_ref().map_or(&[], |(k, _)| k)
    }

    /// Bytes of the current row; empty before the first and after the last.
    pub fn row(&self) -> &[u8] {
        self.at.as_ref().map_or(&[], |(_, v)| v)
    }

    /// The current row, pinned.
    pub fn row_ref(&self) -> Option<RowRef> {
        self.at.as_ref().map(|(_, v)| RowRef(v.clone()))
    }

    /// [`Cursor::advance`] and the row it found.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        Ok(if self.advance()? { Some((self.key(), self.row())) } else { None })
    }
}

/// The base tree of one database.
pub struct BaseTree {
    path: PathBuf,
    file: Arc<dyn File>,
    root: ArcSwap<BaseRoot>,
    writer: Mutex<()>,
}

impl BaseTree {
    /// Makes an empty tree in a new file. The caller syncs the directory.
    pub fn create(
        disk: &Arc<dyn Disk>,
        path: &Path,
        _cache: &Arc<PageCache>,
        _options: &BaseOptions,
    ) -> Result<BaseTree> {
        let io = |source| BaseError::Io { file: path.to_owned(), page: 0, operation: "create", source };
        let file = disk.open(path, OpenMode::CreateNew).map_err(io)?;
        let root =
            BaseRoot { map: Map::new(), checkpoint_lsn: Lsn::ZERO, highest_lsn: Lsn::ZERO, meta: Vec::new() };
        let tree = BaseTree {
            path: path.to_owned(),
            file,
            root: ArcSwap::from_pointee(root),
            writer: Mutex::new(()),
        };
        tree.store(&tree.root())?;
        Ok(tree)
    }

    /// Opens an existing tree at its last published root.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        _cache: &Arc<PageCache>,
        _options: &BaseOptions,
    ) -> Result<BaseTree> {
        let io = |source| BaseError::Io { file: path.to_owned(), page: 0, operation: "open", source };
        let file = disk.open(path, OpenMode::ReadWrite).map_err(io)?;
        let mut bytes = vec![0; file.len().map_err(io)? as usize];
        file.read_at(&mut bytes, 0).map_err(io)?;
        let root = load(&bytes)
            .ok_or(BaseError::NotABaseFile { file: path.to_owned(), reason: "cannot be decoded" })?;
        Ok(BaseTree {
            path: path.to_owned(),
            file,
            root: ArcSwap::from_pointee(root),
            writer: Mutex::new(()),
        })
    }

    /// The newest published root.
    pub fn root(&self) -> Arc<BaseRoot> {
        self.root.load_full()
    }

    /// Applies changes sorted by key (strictly ascending) and publishes them, chunk by chunk.
    pub fn merge<K, V>(
        &self,
        changes: impl IntoIterator<Item = (K, Change<V>)>,
        options: &MergeOptions<'_>,
    ) -> Result<MergeReport>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let _writer = self.writer.lock();
        let old = self.root();
        let mut map = old.map.clone();
        let mut report = MergeReport { chunks: 1, ..MergeReport::default() };
        for (key, change) in changes {
            report.changes += 1;
            let key = key.as_ref();
            match change {
                Change::Put(row) => {
                    map.insert(key.to_vec(), Arc::from(row.as_ref()));
                }
                Change::Delete => {
                    map.remove(key);
                }
                Change::Fold(patch) => {
                    let fold = options.fold.ok_or(BaseError::Input("a Fold without a fold function"))?;
                    let mut out = Vec::new();
                    if fold(key, map.get(key).map(|row| &row[..]), patch.as_ref(), &mut out) {
                        map.insert(key.to_vec(), Arc::from(out));
                    } else {
                        map.remove(key);
                    }
                }
            }
        }
        self.publish(BaseRoot {
            map,
            checkpoint_lsn: options.checkpoint_lsn,
            highest_lsn: old.highest_lsn.max(options.highest_lsn),
            meta: options.meta.map_or_else(|| old.meta.clone(), <[u8]>::to_vec),
        })?;
        Ok(report)
    }

    /// Removes every row of a tree without visiting them (DROP TABLE, TRUNCATE). Moves `highest_lsn`, not the
    /// checkpoint LSN; repeatable.
    pub fn drop_tree(&self, tree: TreeId, options: &MergeOptions<'_>) -> Result<MergeReport> {
        let _writer = self.writer.lock();
        let old = self.root();
        let map = old.map.iter().filter(|(k, _)| !k.starts_with(&tree.0.to_be_bytes()));
        let map = map.map(|(k, v)| (k.clone(), v.clone())).collect();
        self.publish(BaseRoot {
            map,
            checkpoint_lsn: old.checkpoint_lsn,
            highest_lsn: old.highest_lsn.max(options.highest_lsn),
            meta: old.meta.clone(),
        })?;
        Ok(MergeReport { chunks: 1, ..MergeReport::default() })
    }

    fn publish(&self, root: BaseRoot) -> Result<()> {
        self.store(&root)?;
        self.root.store(Arc::new(root));
        Ok(())
    }

    fn store(&self, root: &BaseRoot) -> Result<()> {
        let io = |source| BaseError::Io { file: self.path.clone(), page: 0, operation: "write", source };
        let mut out = Vec::new();
        out.extend(root.checkpoint_lsn.0.to_le_bytes());
        out.extend(root.highest_lsn.0.to_le_bytes());
        for part in std::iter::once(&root.meta[..]).chain(root.map.iter().flat_map(|(k, v)| [&k[..], &v[..]]))
        {
            out.extend((part.len() as u64).to_le_bytes());
            out.extend(part);
        }
        self.file.write_at(&out, 0).map_err(io)?;
        self.file.set_len(out.len() as u64).map_err(io)?;
        self.file.sync_data().map_err(io)
    }
}

fn load(bytes: &[u8]) -> Option<BaseRoot> {
    fn number(bytes: &mut &[u8]) -> Option<u64> {
        let (head, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u64::from_le_bytes(*head))
    }
    fn part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
        let len = number(bytes)? as usize;
        let (head, rest) = bytes.split_at_checked(len)?;
        *bytes = rest;
        Some(head)
    }
    let mut rest = bytes;
    let (checkpoint_lsn, highest_lsn) = (Lsn(number(&mut rest)?), Lsn(number(&mut rest)?));
    let meta = part(&mut rest)?.to_vec();
    let mut map = Map::new();
    while !rest.is_empty() {
        map.insert(part(&mut rest)?.to_vec(), Arc::from(part(&mut rest)?));
    }
    Some(BaseRoot { map, checkpoint_lsn, highest_lsn, meta })
}
