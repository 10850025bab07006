//! Working memory of statements, and files for what it does not hold.
//!
//! Sorts, joins, aggregates, set operations, window functions and the building of indexes keep rows. All statements of an instance share one pool of memory;
//! each may take a part of it ([`WorkSpace::statement_bytes`]; what its resource pool has for it, where that is limited) in steps. An operator that gets no more writes rows to
//! [`WorkFile`]s instead: rows go in at the end and are read back in order, whole runs at a time. The files live in a
//! directory that is emptied when the instance starts; each goes when its last user drops it. Nothing in them survives
//! a restart, so nothing is synced.
//!
//! A row is its length (u32) and its values: a tag byte and the value's bytes, little-endian. Types of `sql_variant`
//! values are numbers into a list that the file keeps in memory.
//!
//! Deliberately absent: partitions of window functions that look at rows ahead (LEAD, NTILE, frames of their own), texts
//! being joined, spools, and the rows a data change collects stay in memory, up to [`WorkSpace::memory_bytes_max`]
//! (error 701).

use crate::errors::{self, Result};
use crate::memory::{MemoryPool, MemoryShare, Pools};
use keel_base::cipher::WorkSealer;
use keel_base::env::{Disk, File, OpenMode, Random};
use keel_types::{Decimal, SqlType, Value};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Bytes gathered before a write, and read at once.
const BLOCK_BYTES: usize = 32 << 10;
/// Memory is taken from the pool in steps of this many bytes.
const STEP_BYTES: usize = 1 << 20;
/// Runs merged at once.
const MERGE_WIDTH: usize = 32;

/// The memory and the directory that statements work with.
pub struct WorkSpace {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    next_file: AtomicU64,
    pool_bytes: AtomicUsize,
    statement_bytes: AtomicUsize,
    memory_bytes_max: AtomicUsize,
    used_bytes: AtomicUsize,
    spilled_bytes: AtomicU64,
    pools: Pools,
    /// Of the keys of files; set once files are to be encrypted.
    encrypts: OnceLock<Arc<dyn Random>>,
}

/// Of so much max server memory: the pool, and what one statement may hold in all, in bytes.
fn shares(memory_bytes: usize) -> (usize, usize) {
    ((memory_bytes / 8).clamp(16 << 20, 2 << 30), (memory_bytes / 4).clamp(64 << 20, 1 << 30))
}

impl WorkSpace {
    /// A work space for an instance with `memory_bytes` of max server memory; `dir` is emptied.
    ///
    /// # Errors
    /// The directory cannot be made or emptied.
    pub fn new(disk: Arc<dyn Disk>, dir: &Path, memory_bytes: usize) -> io::Result<Arc<WorkSpace>> {
        let (pool, most) = shares(memory_bytes);
        WorkSpace::with_grant(disk, dir, pool, pool / 2, most)
    }

    /// `max server memory` has become another. Statements that are running keep what they have.
    pub fn set_memory(&self, memory_bytes: usize) {
        let (pool, most) = shares(memory_bytes);
        self.pool_bytes.store(pool, Relaxed);
        self.statement_bytes.store(pool / 2, Relaxed);
        self.memory_bytes_max.store(most, Relaxed);
    }

    /// A work space with given sizes in bytes: of the pool, of one statement's share, and of what a statement may hold
    /// in operators that cannot write to files.
    ///
    /// # Errors
    /// The directory cannot be made or emptied.
    pub fn with_grant(
        disk: Arc<dyn Disk>,
        dir: &Path,
        pool_bytes: usize,
        statement_bytes: usize,
        memory_bytes_max: usize,
    ) -> io::Result<Arc<WorkSpace>> {
        if disk.exists(dir) {
            disk.remove_dir_all(dir)?;
        }
        disk.create_dir_all(dir)?;
        Ok(Arc::new(WorkSpace {
            disk,
            dir: dir.to_owned(),
            next_file: AtomicU64::new(1),
            pool_bytes: pool_bytes.into(),
            statement_bytes: statement_bytes.into(),
            memory_bytes_max: memory_bytes_max.into(),
            used_bytes: AtomicUsize::new(0),
            spilled_bytes: AtomicU64::new(0),
            pools: Pools::default(),
            encrypts: OnceLock::new(),
        }))
    }

    /// Files that are made from now on are encrypted, each with a key that nobody keeps.
    pub fn encrypt(&self, random: &Arc<dyn Random>) {
        let _ = self.encrypts.set(Arc::clone(random));
    }

    /// Bytes one statement may hold before its operators write to files.
    #[must_use]
    pub fn statement_bytes(&self) -> usize {
        self.statement_bytes.load(Relaxed)
    }

    /// Bytes a statement may hold in all (error 701 above).
    #[must_use]
    pub fn memory_bytes_max(&self) -> usize {
        self.memory_bytes_max.load(Relaxed)
    }

    /// The same of a statement in a resource pool.
    #[must_use]
    pub fn memory_bytes_max_of(&self, share: Option<&MemoryShare>) -> usize {
        share.map_or_else(|| self.memory_bytes_max(), |share| share.pool.max_of(self.memory_bytes_max()))
    }

    /// Bytes of all statements together.
    #[must_use]
    pub fn pool_bytes(&self) -> usize {
        self.pool_bytes.load(Relaxed)
    }

    /// Shares the memory out between these resource pools.
    pub fn share_out(&self, pools: Vec<Arc<MemoryPool>>) {
        self.pools.set(pools);
    }

    /// Bytes every operator may hold, however little memory is left.
    #[must_use]
    pub fn operator_bytes(&self) -> usize {
        (self.statement_bytes() / 8).min(STEP_BYTES)
    }

    /// Bytes of the pool that are taken now.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Relaxed)
    }

    /// Bytes written to files since the instance started.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes.load(Relaxed)
    }

    /// Takes at least `wanted` bytes for a statement that has `has`; the bytes taken, 0 when refused.
    pub(crate) fn reserve(&self, wanted: usize, has: usize, share: Option<&MemoryShare>) -> usize {
        let pool = self.pool_bytes();
        let most = share.map_or_else(|| self.statement_bytes(), |share| share.statement_bytes(pool));
        let step = wanted.max(STEP_BYTES.min(most / 4)).max(1);
        if has + step > most {
            return 0;
        }
        if let Some(share) = share {
            return if self.pools.take(share, step, has, pool, &self.used_bytes) { step } else { 0 };
        }
        let taken = self
            .used_bytes
            .fetch_update(Relaxed, Relaxed, |used| (used + step <= pool).then_some(used + step));
        if taken.is_ok() { step } else { 0 }
    }

    /// Gives back all that a statement has.
    pub(crate) fn release(&self, bytes: usize, share: Option<&MemoryShare>) {
        match share {
            Some(share) => self.pools.give_back(share, bytes, &self.used_bytes),
            None => drop(self.used_bytes.fetch_sub(bytes, Relaxed)),
        }
    }

    /// Nothing of the memory yet.
    pub(crate) fn grant(self: &Arc<Self>, share: Option<Arc<MemoryShare>>) -> Grant {
        Grant { space: Arc::clone(self), share, taken: 0, used: 0, refused: false }
    }

    /// A new file.
    pub(crate) fn file(self: &Arc<Self>) -> Result<Arc<WorkFile>> {
        let path = self.dir.join(format!("{}.tmp", self.next_file.fetch_add(1, Relaxed)));
        let file = self.disk.open(&path, OpenMode::CreateNew).map_err(|e| work_error(&e))?;
        Ok(Arc::new(WorkFile {
            space: Arc::clone(self),
            path,
            file,
            end: AtomicU64::new(0),
            types: Mutex::default(),
            sealer: self.encrypts.get().map(|random| WorkSealer::new(&**random)),
        }))
    }
}

/// Bytes taken from the pool for one piece of work; given back when dropped.
pub(crate) struct Grant {
    space: Arc<WorkSpace>,
    share: Option<Arc<MemoryShare>>,
    taken: usize,
    used: usize,
    refused: bool,
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.space.release(self.taken, self.share.as_deref());
        if let Some(share) = &self.share {
            share.note(self.taken, self.refused);
        }
    }
}

impl Grant {
    /// Whether `bytes` more may be kept; when not they are not counted, and what is kept should go to a file.
    pub fn takes(&mut self, bytes: usize) -> bool {
        if self.used + bytes > self.taken {
            let wanted = self.used + bytes - self.taken;
            let taken = self.space.reserve(wanted, self.taken, self.share.as_deref());
            self.taken += taken;
            self.refused |= taken == 0;
        }
        let fits = self.used + bytes <= self.taken.max(self.space.operator_bytes());
        self.used += if fits { bytes } else { 0 };
        fits
    }

    /// Nothing is kept any more. The bytes stay taken.
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

/// A failed write to or read from a work file.
#[cold]
fn work_error(e: &io::Error) -> errors::Error {
    if matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        errors::work_files_full()
    } else {
        errors::work_file_failed(&e.to_string())
    }
}

/// A file of rows; removed when dropped.
pub struct WorkFile {
    space: Arc<WorkSpace>,
    path: PathBuf,
    file: Arc<dyn File>,
    end: AtomicU64,
    types: Mutex<Vec<SqlType>>,
    sealer: Option<WorkSealer>,
}

impl Drop for WorkFile {
    fn drop(&mut self) {
        // A file that stays is removed by the next start.
        let _ = self.space.disk.remove(&self.path);
    }
}

/// Rows that follow each other in a file.
#[derive(Clone)]
pub(crate) struct Run {
    file: Arc<WorkFile>,
    from: u64,
    to: u64,
}

/// Appends rows to a file. One writer at a time.
pub(crate) struct RunWriter {
    file: Arc<WorkFile>,
    from: u64,
    block: Vec<u8>,
}

impl RunWriter {
    pub fn new(file: &Arc<WorkFile>) -> RunWriter {
        RunWriter { file: Arc::clone(file), from: file.end.load(Relaxed), block: Vec::new() }
    }

    /// Adds a row.
    pub fn row<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Result<()> {
        self.framed(|block, types| values.for_each(|v| put(block, v, types)))
    }

    /// Adds what is bytes already.
    pub fn bytes(&mut self, parts: &[&[u8]]) -> Result<()> {
        self.framed(|block, _| parts.iter().for_each(|part| block.extend_from_slice(part)))
    }

    /// Adds a length and what `fill` appends.
    fn framed(&mut self, fill: impl FnOnce(&mut Vec<u8>, &Mutex<Vec<SqlType>>)) -> Result<()> {
        let at = self.block.len();
        self.block.extend_from_slice(&[0; 4]);
        fill(&mut self.block, &self.file.types);
        let bytes = (self.block.len() - at - 4) as u32;
        self.block[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
        if self.block.len() >= BLOCK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let end = self.file.end.load(Relaxed);
        if let Some(sealer) = &self.file.sealer {
            sealer.apply(end, &mut self.block);
        }
        self.file.file.write_at(&self.block, end).map_err(|e| work_error(&e))?;
        self.file.end.store(end + self.block.len() as u64, Relaxed);
        self.file.space.spilled_bytes.fetch_add(self.block.len() as u64, Relaxed);
        self.block.clear();
        Ok(())
    }

    /// Ends the run.
    pub fn finish(mut self) -> Result<Run> {
        self.flush()?;
        let to = self.file.end.load(Relaxed);
        Ok(Run { file: self.file, from: self.from, to })
    }
}

/// Reads a run back.
pub(crate) struct RunReader {
    file: Arc<WorkFile>,
    types: Vec<SqlType>,
    at: u64,
    to: u64,
    block: Vec<u8>,
    pos: usize,
}

impl RunReader {
    pub fn new(run: &Run) -> RunReader {
        let types = run.file.types.lock().clone();
        RunReader { file: Arc::clone(&run.file), types, at: run.from, to: run.to, block: Vec::new(), pos: 0 }
    }

    /// Makes `bytes` bytes available behind the position; false at the end of the run.
    fn fill(&mut self, bytes: usize) -> Result<bool> {
        if self.block.len() - self.pos >= bytes {
            return Ok(true);
        }
        self.block.drain(..self.pos);
        self.pos = 0;
        let have = self.block.len();
        let more = (BLOCK_BYTES.max(bytes) - have).min((self.to - self.at) as usize);
        self.block.resize(have + more, 0);
        let mut got = 0;
        while got < more {
            let n =
                self.file.file.read_at(&mut self.block[have + got..], self.at).map_err(|e| work_error(&e))?;
            if n == 0 {
                return Err(errors::work_file_failed("unexpected end of file"));
            }
            if let Some(sealer) = &self.file.sealer {
                sealer.apply(self.at, &mut self.block[have + got..have + got + n]);
            }
            got += n;
            self.at += n as u64;
        }
        Ok(self.block.len() >= bytes)
    }

    /// The next row into `row`; false at the end.
    pub fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        row.clear();
        let Some((from, to)) = self.framed()? else { return Ok(false) };
        let mut bytes = Bytes(&self.block[from..to]);
        while !bytes.0.is_empty() {
            row.push(bytes.value(&self.types)?);
        }
        Ok(true)
    }

    /// What [`RunWriter::bytes`] added next; `None` at the end.
    pub fn next_bytes(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.framed()?.map(|(from, to)| &self.block[from..to]))
    }

    /// Where in the block the next length's bytes are; `None` at the end.
    fn framed(&mut self) -> Result<Option<(usize, usize)>> {
        if !self.fill(4)? {
            return Ok(None);
        }
        let mut length = Bytes(&self.block[self.pos..]);
        let length = u32::from_le_bytes(length.take()?) as usize;
        if !self.fill(4 + length)? {
            return Err(errors::work_file_failed("a row is cut short"));
        }
        let from = self.pos + 4;
        self.pos = from + length;
        Ok(Some((from, self.pos)))
    }
}

/// What a run holds one after the other.
pub(crate) trait Record: Default {
    /// The next of a run into this one; false at the end.
    fn read(&mut self, from: &mut RunReader) -> Result<bool>;

    /// Appends it to a run.
    fn write(&self, to: &mut RunWriter) -> Result<()>;
}

impl Record for Vec<Value> {
    fn read(&mut self, from: &mut RunReader) -> Result<bool> {
        from.next(self)
    }

    fn write(&self, to: &mut RunWriter) -> Result<()> {
        to.row(self.iter())
    }
}

/// Several sorted runs read as one; equal rows come in the order of the runs.
pub(crate) struct Merge<R = Vec<Value>> {
    readers: Vec<RunReader>,
    heads: Vec<R>,
    /// Readers with a row, smallest first (binary heap).
    heap: Vec<usize>,
}

/// The order of a merge.
pub(crate) type RecordOrder<'o, R> = &'o dyn Fn(&R, &R) -> Ordering;

impl<R: Record> Merge<R> {
    /// Merges `runs`, in as many rounds as their number needs; between rounds rows go to new files of `space`.
    pub fn new(space: &Arc<WorkSpace>, mut runs: Vec<Run>, order: RecordOrder<'_, R>) -> Result<Merge<R>> {
        while runs.len() > MERGE_WIDTH {
            let file = space.file()?;
            let mut merged = Vec::new();
            for group in runs.chunks(MERGE_WIDTH) {
                let mut merge = Merge::open(group, order)?;
                let mut out = RunWriter::new(&file);
                let mut row = R::default();
                while merge.next(&mut row, order)? {
                    row.write(&mut out)?;
                }
                merged.push(out.finish()?);
            }
            runs = merged;
        }
        Merge::open(&runs, order)
    }

    fn open(runs: &[Run], order: RecordOrder<'_, R>) -> Result<Merge<R>> {
        let mut merge = Merge {
            readers: runs.iter().map(RunReader::new).collect(),
            heads: runs.iter().map(|_| R::default()).collect(),
            heap: Vec::new(),
        };
        for i in 0..runs.len() {
            if merge.heads[i].read(&mut merge.readers[i])? {
                merge.heap.push(i);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift(at, order);
        }
        Ok(merge)
    }

    fn before(&self, a: usize, b: usize, order: RecordOrder<'_, R>) -> bool {
        order(&self.heads[a], &self.heads[b]).then(a.cmp(&b)).is_lt()
    }

    fn sift(&mut self, mut at: usize, order: RecordOrder<'_, R>) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.before(self.heap[child], self.heap[least], order) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// The smallest row left into `row`; false at the end.
    pub fn next(&mut self, row: &mut R, order: RecordOrder<'_, R>) -> Result<bool> {
        let Some(first) = self.heap.first().copied() else { return Ok(false) };
        std::mem::swap(row, &mut self.heads[first]);
        if !self.heads[first].read(&mut self.readers[first])? {
            self.heap.swap_remove(0);
        }
        self.sift(0, order);
        Ok(true)
    }
}

/// Rows by the hash of a key, one run each.
pub(crate) struct Partitions {
    writers: Vec<Option<RunWriter>>,
}

/// Runs that rows are divided into at once.
pub(crate) const PARTITIONS: usize = 16;
/// How often rows are divided again before a partition is kept in memory as it is.
pub(crate) const LEVEL_MAX: u32 = 6;

/// The partition of a key. Every level divides differently.
pub(crate) fn partition_of(key: impl std::hash::Hash, level: u32) -> usize {
    use std::hash::BuildHasher as _;
    let state = foldhash::fast::FixedState::with_seed(0x6b65_656c + u64::from(level));
    (state.hash_one(key) >> 32) as usize % PARTITIONS
}

impl Partitions {
    pub fn new() -> Partitions {
        Partitions { writers: (0..PARTITIONS).map(|_| None).collect() }
    }

    /// Adds a row to a partition.
    pub fn row<'v>(
        &mut self,
        space: &Arc<WorkSpace>,
        partition: usize,
        values: impl Iterator<Item = &'v Value>,
    ) -> Result<()> {
        let writer = match &mut self.writers[partition] {
            Some(w) => w,
            empty => empty.insert(RunWriter::new(&space.file()?)),
        };
        writer.row(values)
    }

    /// The runs, `None` for empty partitions.
    pub fn finish(self) -> Result<Vec<Option<Run>>> {
        self.writers.into_iter().map(|w| w.map(RunWriter::finish).transpose()).collect()
    }
}

fn put(out: &mut Vec<u8>, v: &Value, types: &Mutex<Vec<SqlType>>) {
    let mut long = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    match v {
        Value::Str(s) => return long(11, s.as_bytes()),
        Value::Bytes(b) => return long(12, b),
        _ => {}
    }
    let mut fixed = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match v {
        Value::Null | Value::Str(_) | Value::Bytes(_) => fixed(0, &[]),
        Value::Bit(b) => fixed(1, &[u8::from(*b)]),
        Value::Int(n) => fixed(2, &n.to_le_bytes()),
        Value::Decimal(d) => {
            fixed(3, &d.mantissa().to_le_bytes());
            out.push(d.scale);
        }
        Value::Money(n) => fixed(4, &n.to_le_bytes()),
        Value::Float(f) => fixed(5, &f.to_le_bytes()),
        Value::Date(d) => fixed(6, &d.to_le_bytes()),
        Value::Time(t) => fixed(7, &t.to_le_bytes()),
        Value::DateTime(t) => fixed(8, &t.to_le_bytes()),
        Value::DateTimeOffset(t, offset) => {
            fixed(9, &t.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
        }
        Value::Guid(g) => fixed(10, g),
        Value::Variant(inner) => {
            let (ty, value) = &**inner;
            let number = {
                let mut types = types.lock();
                types.iter().position(|t| t == ty).unwrap_or_else(|| {
                    types.push(*ty);
                    types.len() - 1
                })
            };
            fixed(13, &(number as u32).to_le_bytes());
            put(out, value, types);
        }
    }
}

/// Bytes being decoded.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn slice(&mut self, n: usize) -> Result<&'b [u8]> {
        let Some((head, rest)) = self.0.split_at_checked(n) else {
            return Err(errors::work_file_failed("a value is cut short"));
        };
        self.0 = rest;
        Ok(head)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.slice(N)?);
        Ok(out)
    }

    fn value(&mut self, types: &[SqlType]) -> Result<Value> {
        let [tag] = self.take()?;
        Ok(match tag {
            0 => Value::Null,
            1 => Value::Bit(self.take::<1>()? == [1]),
            2 => Value::Int(i64::from_le_bytes(self.take()?)),
            3 => {
                let mantissa = i128::from_le_bytes(self.take()?);
                let [scale] = self.take()?;
                Value::Decimal(Decimal::new(mantissa, scale))
            }
            4 => Value::Money(i64::from_le_bytes(self.take()?)),
            5 => Value::Float(f64::from_le_bytes(self.take()?)),
            6 => Value::Date(i32::from_le_bytes(self.take()?)),
            7 => Value::Time(i64::from_le_bytes(self.take()?)),
            8 => Value::DateTime(i64::from_le_bytes(self.take()?)),
            9 => {
                let ticks = i64::from_le_bytes(self.take()?);
                Value::DateTimeOffset(ticks, i16::from_le_bytes(self.take()?))
            }
            10 => Value::Guid(self.take()?),
            11 => {
                let n = u32::from_le_bytes(self.take()?) as usize;
                let text = std::str::from_utf8(self.slice(n)?);
                Value::Str(text.map_err(|_| errors::work_file_failed("a string is damaged"))?.into())
            }
            12 => {
                let n = u32::from_le_bytes(self.take()?) as usize;
                Value::Bytes(self.slice(n)?.into())
            }
            13 => {
                let n = u32::from_le_bytes(self.take()?) as usize;
                let ty = *types.get(n).ok_or_else(|| errors::work_file_failed("a type is damaged"))?;
                Value::Variant(Arc::new((ty, self.value(types)?)))
            }
            _ => return Err(errors::work_file_failed("a value is damaged")),
        })
    }
}
