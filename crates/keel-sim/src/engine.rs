//! [`Engine`]: one copy of a database: a real [`Log`] on the instance's simulated disk, and the least of an engine above it:
//! commits are numbers, the "rows" are the set of numbers up to a position, the base tree is a file with such a set.

use keel_base::env::{Disk, Env, OpenMode};
use keel_base::{Epoch, Lsn};
use keel_cluster::{LogFacts, SessionId};
use keel_log::segment::SEGMENT_BYTES_MIN;
use keel_log::{Log, LogError, LogOptions, OpenFrom};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A commit in a log: where its record ends, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Commit {
    pub(crate) end: Lsn,
    pub(crate) number: u64,
}

/// A block as it was sealed by its writer.
#[derive(Clone, Debug)]
pub(crate) struct Sealed {
    pub(crate) epoch: Epoch,
    pub(crate) first: Lsn,
    pub(crate) end: Lsn,
    pub(crate) checksum: u32,
    pub(crate) bytes: Vec<u8>,
}

/// What the engine does for the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Resolving,
    Primary,
    Secondary,
    Standalone,
}

/// A copy of a database as it was sent over.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) at: Lsn,
    pub(crate) previous: u32,
    pub(crate) history: Vec<(Epoch, Lsn)>,
    pub(crate) rows: Vec<Commit>,
}

pub(crate) struct Sender {
    pub(crate) session: SessionId,
    pub(crate) next: Lsn,
}

pub(crate) struct Engine {
    pub(crate) log: Log,
    dir: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) agreed: Lsn,
    pub(crate) applied: Lsn,
    pub(crate) floor: Lsn,
    /// Epochs before the log begins.
    base_history: Vec<(Epoch, Lsn)>,
    base_rows: Vec<Commit>,
    content: Vec<Commit>,
    parsed_to: Lsn,
    partial: Vec<u8>,
    pub(crate) pending: VecDeque<Commit>,
    pub(crate) receiving: Option<(usize, SessionId, Epoch)>,
    pub(crate) senders: BTreeMap<usize, Sender>,
    pub(crate) flushing: bool,
    tapped: Arc<Mutex<Vec<Sealed>>>,
}

fn options(log_id: u32) -> LogOptions {
    LogOptions {
        log_id,
        segment_bytes: SEGMENT_BYTES_MIN,
        segment_bytes_max: SEGMENT_BYTES_MIN,
        ..LogOptions::default()
    }
}

/// Bytes of a commit record: length, number, filling.
pub(crate) fn record(number: u64, filling: usize) -> Vec<u8> {
    let len = 12 + filling;
    let mut bytes = (len as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.resize(len, 0xAB);
    bytes
}

/// Writes a small file durably and atomically.
pub(crate) fn write_file(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let file = disk.open(&temporary, OpenMode::Create)?;
    file.set_len(0)?;
    file.write_at(bytes, 0)?;
    file.sync_all()?;
    disk.rename(&temporary, path)?;
    disk.sync_dir(path.parent().unwrap_or(Path::new("")))
}

pub(crate) fn read_file(disk: &dyn Disk, path: &Path) -> Option<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; usize::try_from(file.len().ok()?).ok()?];
    file.read_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

fn encode_numbers(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    numbers.flat_map(u64::to_le_bytes).collect()
}

fn decode_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("chunks of eight"))).collect()
}

impl Engine {
    pub(crate) fn create(env: &Env, dir: &Path, log_id: u32) -> Result<Engine, LogError> {
        let image = Image { at: Lsn::ZERO, previous: log_id, history: Vec::new(), rows: Vec::new() };
        Engine::create_from(env, dir, log_id, &image)
    }

    /// Makes a copy from an image; whole once its last file is there.
    pub(crate) fn create_from(env: &Env, dir: &Path, log_id: u32, image: &Image) -> Result<Engine, LogError> {
        let made =
            LogOptions { first_lsn: image.at, first_previous: Some(image.previous), ..options(log_id) };
        let log = Log::create(env, &dir.join("log"), made)?;
        env.disk.sync_dir(&dir.join("log"))?;
        let rows = encode_numbers(image.rows.iter().flat_map(|c| [c.end.0, c.number]));
        write_file(env.disk.as_ref(), &dir.join("rows"), &rows)?;
        let history = encode_numbers(image.history.iter().flat_map(|h| [h.0.0, h.1.0]));
        write_file(env.disk.as_ref(), &dir.join("history"), &history)?;
        write_file(env.disk.as_ref(), &dir.join("floor"), &image.at.0.to_le_bytes())?;
        let engine = Engine::around(log, dir, image.at, image.history.clone(), image.rows.clone());
        Ok(engine)
    }

    /// Opens a copy after a restart; `None` when it was never whole.
    pub(crate) fn open(env: &Env, dir: &Path, log_id: u32) -> Result<Option<Engine>, LogError> {
        let disk = env.disk.as_ref();
        let number = |name: &str| read_file(disk, &dir.join(name)).map(|b| decode_numbers(&b));
        let (Some(floor), Some(history), Some(rows)) = (number("floor"), number("history"), number("rows"))
        else {
            return Ok(None);
        };
        let floor = Lsn(floor.first().copied().unwrap_or(0));
        let from = OpenFrom { must_reach: floor, received: true };
        let log = Log::open(env, &dir.join("log"), options(log_id), from)?;
        let history = history.chunks_exact(2).map(|h| (Epoch(h[0]), Lsn(h[1]))).collect();
        let rows = rows.chunks_exact(2).map(|c| Commit { end: Lsn(c[0]), number: c[1] }).collect();
        Ok(Some(Engine::around(log, dir, floor, history, rows)))
    }

    fn around(
        log: Log,
        dir: &Path,
        floor: Lsn,
        base_history: Vec<(Epoch, Lsn)>,
        base_rows: Vec<Commit>,
    ) -> Engine {
        let tapped = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&tapped);
        log.set_tap(Some(Arc::new(move |block| {
            sink.lock().expect("one thread").push(Sealed {
                epoch: block.header.epoch,
                first: block.header.first_lsn,
                end: block.header.end_lsn(),
                checksum: block.header.checksum,
                bytes: block.bytes.to_vec(),
            });
        })));
        log.end_term();
        let agreed = log.agreed().min(log.hardened()).max(floor);
        let parsed_to = log.truncated();
        Engine {
            log,
            dir: dir.to_path_buf(),
            mode: Mode::Resolving,
            agreed,
            applied: agreed,
            floor,
            base_history,
            base_rows,
            content: Vec::new(),
            parsed_to,
            partial: Vec::new(),
            pending: VecDeque::new(),
            receiving: None,
            senders: BTreeMap::new(),
            flushing: false,
            tapped,
        }
    }

    /// Blocks sealed (or received) since the last call, in order.
    pub(crate) fn sealed(&self) -> Vec<Sealed> {
        std::mem::take(&mut *self.tapped.lock().expect("one thread"))
    }

    pub(crate) fn facts(&self) -> LogFacts {
        let mut history = self.base_history.clone();
        for (epoch, first) in self.log.epochs() {
            if history.last().is_none_or(|last| last.0 < epoch) {
                history.push((epoch, first));
            }
        }
        LogFacts {
            history,
            end: self.log.hardened(),
            agreed: self.agreed,
            floor: self.floor,
            reached: Lsn::ZERO,
        }
    }

    /// Every commit whose record is hardened, in log order.
    pub(crate) fn commits(&mut self) -> Result<&[Commit], LogError> {
        if self.parsed_to < self.log.hardened() {
            let mut scanner = self.log.scan(self.parsed_to)?;
            while let Some(block) = scanner.next()? {
                if block.header.flags & keel_log::block::FLAG_CONTINUES == 0 {
                    self.partial.clear();
                }
                self.partial.extend_from_slice(block.payload());
                let end = block.header.end_lsn();
                while let Some((len, number)) = first_record(&self.partial) {
                    self.partial.drain(..len);
                    let end = Lsn(end.0 - self.partial.len() as u64);
                    self.content.push(Commit { end, number });
                }
                self.parsed_to = end;
            }
        }
        Ok(&self.content)
    }

    /// All commits up to a position, those in the base tree included.
    pub(crate) fn rows(&mut self, up_to: Lsn) -> Result<Vec<Commit>, LogError> {
        let mut rows = self.base_rows.clone();
        rows.extend(self.commits()?.iter().filter(|c| c.end <= up_to));
        Ok(rows)
    }

    pub(crate) fn has(&mut self, commit: Commit) -> Result<bool, LogError> {
        let known = self.base_rows.binary_search(&commit).is_ok();
        Ok(known || self.commits()?.binary_search(&commit).is_ok())
    }

    pub(crate) fn cut(&mut self, at: Lsn) -> Result<(), LogError> {
        self.log.cut(at)?;
        self.content.clear();
        self.partial.clear();
        self.parsed_to = self.log.truncated();
        self.agreed = self.agreed.min(at);
        self.applied = self.applied.min(at);
        Ok(())
    }

    /// Makes the base tree as of the applied, agreed point.
    pub(crate) fn checkpoint(&mut self, env: &Env) -> Result<(), LogError> {
        let reached = if self.mode == Mode::Primary { self.log.hardened() } else { self.applied };
        let floor = reached.min(self.agreed).max(self.floor);
        write_file(env.disk.as_ref(), &self.dir.join("floor"), &floor.0.to_le_bytes())?;
        self.floor = floor;
        Ok(())
    }

    pub(crate) fn image(&mut self) -> Result<Option<Image>, LogError> {
        let at = self.agreed;
        let Some(previous) = self.log.checksum_before(at)? else { return Ok(None) };
        let history = self.facts().history.into_iter().filter(|h| h.1 < at).collect();
        Ok(Some(Image { at, previous, history, rows: self.rows(at)? }))
    }
}

fn first_record(bytes: &[u8]) -> Option<(usize, u64)> {
    let len = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let number = u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?);
    (bytes.len() >= len && len >= 12).then_some((len, number))
}
