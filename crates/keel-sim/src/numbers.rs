//! [`Numbers`]: the least that can stand above a log. Commits are numbers, the "rows" are the set of numbers up to a
//! position, the base tree is a file with such a set. Quick, so that many worlds can be run.

use crate::engine::{Commit, Content, Ground, Image, Trouble, read_file, write_file};
use keel_base::env::{Disk, Env};
use keel_base::{Epoch, Lsn};
use keel_log::block::{FLAG_CONTINUES, FLAG_UNFINISHED};
use keel_log::segment::SEGMENT_BYTES_MIN;
use keel_log::{Log, LogOptions, OpenFrom};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) struct Numbers {
    log: Log,
    env: Env,
    dir: PathBuf,
    agreed: Lsn,
    applied: Lsn,
    floor: Lsn,
    /// Epochs before the log begins.
    base_history: Vec<(Epoch, Lsn)>,
    base_rows: Vec<Commit>,
    known: BTreeSet<Commit>,
    parsed_to: Lsn,
    partial: Vec<u8>,
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
fn record(number: u64, filling: usize) -> Vec<u8> {
    let len = 12 + filling;
    let mut bytes = (len as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.resize(len, 0xAB);
    bytes
}

fn first_record(bytes: &[u8]) -> Option<(usize, u64)> {
    let len = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let number = u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?);
    (bytes.len() >= len && len >= 12).then_some((len, number))
}

fn encode_numbers(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    numbers.flat_map(u64::to_le_bytes).collect()
}

fn decode_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("chunks of eight"))).collect()
}

impl Numbers {
    pub(crate) fn create(ground: &Ground, dir: &Path, log_id: u32) -> Result<Numbers, Trouble> {
        let none = NumbersImage { at: Lsn::ZERO, previous: log_id, history: Vec::new(), rows: Vec::new() };
        Numbers::create_from(ground, dir, log_id, &none)
    }

    /// Makes a copy from an image; whole once its last file is there.
    pub(crate) fn create_from(
        ground: &Ground,
        dir: &Path,
        log_id: u32,
        image: &NumbersImage,
    ) -> Result<Numbers, Trouble> {
        let env = &ground.env;
        let disk = env.disk.as_ref();
        Numbers::remove(disk, dir)?;
        let made =
            LogOptions { first_lsn: image.at, first_previous: Some(image.previous), ..options(log_id) };
        let log = Log::create(env, &dir.join("log"), made)?;
        disk.sync_dir(&dir.join("log"))?;
        let rows = encode_numbers(image.rows.iter().flat_map(|c| [c.end.0, c.number]));
        write_file(disk, &dir.join("rows"), &rows)?;
        let history = encode_numbers(image.history.iter().flat_map(|h| [h.0.0, h.1.0]));
        write_file(disk, &dir.join("history"), &history)?;
        write_file(disk, &dir.join("floor"), &image.at.0.to_le_bytes())?;
        Ok(Numbers::around(log, env, dir, image.at, image.history.clone(), image.rows.clone()))
    }

    /// Throws a copy away: what is left of it after a power cut in the midst is none.
    pub(crate) fn remove(disk: &dyn Disk, dir: &Path) -> Result<(), Trouble> {
        if disk.exists(dir) {
            if disk.exists(&dir.join("floor")) {
                disk.remove(&dir.join("floor"))?;
                disk.sync_dir(dir)?;
            }
            disk.remove_dir_all(dir)?;
            dir.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))?;
        }
        Ok(())
    }

    /// Opens a copy after a restart; `None` when it was never whole.
    pub(crate) fn open(ground: &Ground, dir: &Path, log_id: u32) -> Result<Option<Numbers>, Trouble> {
        let env = &ground.env;
        let number = |name: &str| read_file(env.disk.as_ref(), &dir.join(name)).map(|b| decode_numbers(&b));
        let (Some(floor), Some(history), Some(rows)) = (number("floor"), number("history"), number("rows"))
        else {
            return Ok(None);
        };
        let floor = Lsn(floor.first().copied().unwrap_or(0));
        let from = OpenFrom { must_reach: floor, received: true };
        let log = Log::open(env, &dir.join("log"), options(log_id), from)?;
        let history = history.chunks_exact(2).map(|h| (Epoch(h[0]), Lsn(h[1]))).collect();
        let rows = rows.chunks_exact(2).map(|c| Commit { end: Lsn(c[0]), number: c[1] }).collect();
        Ok(Some(Numbers::around(log, env, dir, floor, history, rows)))
    }

    fn around(
        log: Log,
        env: &Env,
        dir: &Path,
        floor: Lsn,
        base_history: Vec<(Epoch, Lsn)>,
        base_rows: Vec<Commit>,
    ) -> Numbers {
        log.end_term();
        let agreed = log.agreed().min(log.hardened()).max(floor);
        let parsed_to = log.truncated();
        Numbers {
            env: env.clone(),
            dir: dir.to_path_buf(),
            agreed,
            applied: agreed,
            floor,
            base_history,
            known: base_rows.iter().copied().collect(),
            base_rows,
            parsed_to,
            partial: Vec::new(),
            log,
        }
    }

    /// The end of the last append that is agreed on whole: the agreed point may be inside one, and a log that began there could not
    /// be read.
    fn border(&self) -> Result<Lsn, Trouble> {
        let mut border = self.log.truncated();
        let mut scanner = self.log.scan(border)?;
        while let Some(block) = scanner.next()?
            && block.header.end_lsn() <= self.agreed
        {
            if block.header.flags & FLAG_UNFINISHED == 0 {
                border = block.header.end_lsn();
            }
        }
        Ok(border)
    }
}

/// A copy as it was sent over.
#[derive(Clone, Debug)]
pub(crate) struct NumbersImage {
    at: Lsn,
    previous: u32,
    history: Vec<(Epoch, Lsn)>,
    rows: Vec<Commit>,
}

impl Content for Numbers {
    fn log(&self) -> &Log {
        &self.log
    }

    fn agreed(&self) -> Lsn {
        self.agreed
    }

    fn applied(&self) -> Lsn {
        self.applied
    }

    fn floor(&self) -> Lsn {
        self.floor
    }

    fn history(&self) -> Vec<(Epoch, Lsn)> {
        let mut history = self.base_history.clone();
        for (epoch, first) in self.log.epochs() {
            if history.last().is_none_or(|last| last.0 < epoch) {
                history.push((epoch, first));
            }
        }
        history
    }

    fn commits(&mut self) -> Result<&BTreeSet<Commit>, Trouble> {
        if self.parsed_to < self.log.hardened() {
            let mut scanner = self.log.scan(self.parsed_to)?;
            while let Some(block) = scanner.next()? {
                if block.header.flags & FLAG_CONTINUES == 0 {
                    self.partial.clear();
                }
                self.partial.extend_from_slice(block.payload());
                let end = block.header.end_lsn();
                while let Some((len, number)) = first_record(&self.partial) {
                    self.partial.drain(..len);
                    let end = Lsn(end.0 - self.partial.len() as u64);
                    self.known.insert(Commit { end, number });
                }
                self.parsed_to = end;
            }
        }
        Ok(&self.known)
    }

    fn write(&mut self, number: u64, filling: usize) -> Result<Vec<Commit>, Trouble> {
        let end = self.log.append(&record(number, filling), |_| {})?;
        Ok(vec![Commit { end, number }])
    }

    fn receive(&mut self, epoch: Epoch, block: &[u8]) -> Result<(), Trouble> {
        self.log.append_block(epoch, block)?;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        self.log.flush()?;
        Ok(())
    }

    fn agree(&mut self, lsn: Lsn) -> Result<(), Trouble> {
        self.agreed = lsn;
        self.log.set_agreed(lsn);
        Ok(())
    }

    fn apply_up_to(&mut self, lsn: Lsn) -> Result<(), Trouble> {
        self.agreed = self.agreed.max(lsn);
        self.applied = self.applied.max(lsn);
        self.log.set_agreed(self.agreed);
        Ok(())
    }

    fn promote(&mut self, epoch: Epoch) -> Result<(), Trouble> {
        self.log.start_term(epoch)?;
        self.log.set_agreed(self.agreed);
        self.applied = self.log.hardened();
        Ok(())
    }

    fn demote(&mut self) -> Result<(), Trouble> {
        self.log.end_term();
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Trouble> {
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Trouble> {
        Ok(())
    }

    fn enter(&mut self) {
        self.log.end_term();
        self.agreed = self.log.hardened();
        self.applied = self.agreed;
    }

    fn cut(&mut self, at: Lsn) -> Result<(), Trouble> {
        self.log.cut(at)?;
        self.known = self.base_rows.iter().copied().collect();
        self.partial.clear();
        self.parsed_to = self.log.truncated();
        self.agreed = self.agreed.min(at);
        self.applied = self.applied.min(at);
        Ok(())
    }

    fn checkpoint(&mut self, primary: bool) -> Result<(), Trouble> {
        let reached = if primary { self.log.hardened() } else { self.applied };
        let floor = reached.min(self.agreed).max(self.floor);
        write_file(self.env.disk.as_ref(), &self.dir.join("floor"), &floor.0.to_le_bytes())?;
        self.floor = floor;
        Ok(())
    }

    fn image(&mut self) -> Result<Option<Image>, Trouble> {
        let at = self.border()?;
        let Some(previous) = self.log.checksum_before(at)? else { return Ok(None) };
        let history = self.history().into_iter().filter(|h| h.1 < at).collect();
        let rows = self.commits()?.iter().filter(|c| c.end <= at).copied().collect();
        Ok(Some(Image::Numbers(NumbersImage { at, previous, history, rows })))
    }
}
