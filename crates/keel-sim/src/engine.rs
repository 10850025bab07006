//! [`Engine`]: one copy of a database as an instance's shell has it: its [`Content`], and whom it serves.
//!
//! The content is one of two: [`Numbers`], a real log with sets of numbers above it, or [`Real`], a whole
//! [`keel_node::Database`] on the instance's simulated disk.

use crate::numbers::{Numbers, NumbersImage};
use crate::real::{Real, RealImage};
use keel_base::env::sim::SplitMix;
use keel_base::env::{Disk, Env, OpenMode};
use keel_base::{Epoch, Lsn};
use keel_cluster::{LogFacts, SessionId};
use keel_log::block::{FLAG_UNFINISHED, Header};
use keel_log::{Log, LogError};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::path::Path;
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

/// A copy of a database as it is sent over.
#[derive(Clone, Debug)]
pub(crate) enum Image {
    Numbers(NumbersImage),
    Real(Arc<RealImage>),
}

/// What databases of one life of an instance stand on.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) env: Env,
    /// In worlds with real databases.
    pub(crate) node: Option<Arc<keel_node::Instance>>,
    pub(crate) ends: Ends,
    /// Seed of what is by chance in its databases.
    pub(crate) chances: u64,
}

/// Where each transaction that got a place in a log got it, by number. Of the world: a row in a base tree says which
/// transaction wrote it, and this says when.
pub(crate) type Ends = Arc<Mutex<BTreeMap<u64, Lsn>>>;

/// Why a call on a copy failed, sorted by what the world makes of it.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The disk is full, or failed.
    Disk(String),
    /// A block that is not the next.
    NotNext(String),
    /// The log wanted is no longer there.
    LogGone,
    /// Its role does not allow it now.
    Refused(String),
    /// A promise was broken.
    Broken(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::LogGone => f.write_str("the log is gone"),
            Trouble::Disk(what) | Trouble::NotNext(what) | Trouble::Refused(what) | Trouble::Broken(what) => {
                f.write_str(what)
            }
        }
    }
}

impl From<LogError> for Trouble {
    fn from(error: LogError) -> Trouble {
        let text = error.to_string();
        match error {
            LogError::Full { .. } | LogError::Io(_) | LogError::Poisoned { .. } => Trouble::Disk(text),
            LogError::NotNext { .. } => Trouble::NotNext(text),
            LogError::Truncated { .. } => Trouble::LogGone,
            LogError::NotWriter => Trouble::Refused(text),
            LogError::Corrupt { .. } | LogError::Locked { .. } => Trouble::Broken(text),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Disk(error.to_string())
    }
}

/// A log and what stands above it.
pub(crate) trait Content {
    fn log(&self) -> &Log;
    /// What the group has agreed on, as far as this copy knows.
    fn agreed(&self) -> Lsn;
    fn applied(&self) -> Lsn;
    /// What is in the base tree and cannot be cut off.
    fn floor(&self) -> Lsn;
    /// Epochs and where they begin.
    fn history(&self) -> Vec<(Epoch, Lsn)>;
    /// Every commit in the base tree and in the hardened log, in log order.
    fn commits(&mut self) -> Result<&BTreeSet<Commit>, Trouble>;
    /// A client's transaction: the commits that got their place in the log by it.
    fn write(&mut self, number: u64, filling: usize) -> Result<Vec<Commit>, Trouble>;
    fn receive(&mut self, epoch: Epoch, block: &[u8]) -> Result<(), Trouble>;
    /// Hardens what was appended or received.
    fn flush(&mut self) -> Result<(), Trouble>;
    /// On the primary: clients whose commits lie before `lsn` are told that they are done.
    fn agree(&mut self, lsn: Lsn) -> Result<(), Trouble>;
    fn apply_up_to(&mut self, lsn: Lsn) -> Result<(), Trouble>;
    fn promote(&mut self, epoch: Epoch) -> Result<(), Trouble>;
    fn demote(&mut self) -> Result<(), Trouble>;
    fn fence(&mut self) -> Result<(), Trouble>;
    /// Stands alone from now on.
    fn leave(&mut self) -> Result<(), Trouble>;
    /// Stood alone, and waits for a role in a group now.
    fn enter(&mut self);
    fn cut(&mut self, at: Lsn) -> Result<(), Trouble>;
    fn checkpoint(&mut self, primary: bool) -> Result<(), Trouble>;
    /// A copy to be sent over; `None` when there can be none now.
    fn image(&mut self) -> Result<Option<Image>, Trouble>;
    /// Log that others need: by name, from where on.
    fn hold(&mut self, keep: &[(String, Lsn)]) {
        let _ = keep;
    }
    /// The real database, where it is one.
    fn real(&mut self) -> Option<&mut Real> {
        None
    }
}

pub(crate) struct Sender {
    pub(crate) session: SessionId,
    pub(crate) next: Lsn,
    /// Blocks that begin before this may be sent, and the rest of what the last of them began.
    pub(crate) limit: Lsn,
    pub(crate) unfinished: bool,
}

impl Sender {
    pub(crate) fn may_send(&self, first: Lsn) -> bool {
        self.next == first && (self.unfinished || first < self.limit)
    }

    pub(crate) fn sent(&mut self, header: &Header) {
        self.next = header.end_lsn();
        self.unfinished = header.flags & FLAG_UNFINISHED != 0;
    }
}

pub(crate) struct Engine {
    pub(crate) log: Log,
    pub(crate) content: Box<dyn Content>,
    pub(crate) mode: Mode,
    pub(crate) pending: VecDeque<Commit>,
    pub(crate) receiving: Option<(usize, SessionId, Epoch)>,
    /// Nothing beyond this is acknowledged as hardened: others that take the log from here lack it.
    pub(crate) ack_limit: Lsn,
    pub(crate) senders: BTreeMap<usize, Sender>,
    pub(crate) flushing: bool,
    /// Hardened, and the machine does not know it yet: others hold the commit point. Zero when there is nothing.
    pub(crate) untold: Lsn,
    /// The applied point that the machine knows.
    pub(crate) applied_told: Lsn,
    /// Redo may go so far, and stands still.
    pub(crate) lags: Option<Lsn>,
    tapped: Arc<Mutex<Vec<Sealed>>>,
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

impl Engine {
    pub(crate) fn create(ground: &Ground, dir: &Path, log_id: u32) -> Result<Engine, Trouble> {
        Ok(match &ground.node {
            Some(node) => Engine::around(Box::new(Real::create(ground, node, dir)?)),
            None => Engine::around(Box::new(Numbers::create(ground, dir, log_id)?)),
        })
    }

    /// Makes a copy from an image, in place of whatever is there.
    pub(crate) fn create_from(
        ground: &Ground,
        dir: &Path,
        log_id: u32,
        image: &Image,
    ) -> Result<Engine, Trouble> {
        Ok(match (image, &ground.node) {
            (Image::Real(image), Some(node)) => {
                Engine::around(Box::new(Real::create_from(ground, node, dir, image)?))
            }
            (Image::Numbers(image), _) => {
                Engine::around(Box::new(Numbers::create_from(ground, dir, log_id, image)?))
            }
            (Image::Real(_), None) => return Err(Trouble::Broken("an image of another world".into())),
        })
    }

    /// Makes a part of a copy, of a database that comes in parts, as when the connection breaks; false of others.
    pub(crate) fn begin_from(
        ground: &Ground,
        dir: &Path,
        image: &Image,
        dice: &mut SplitMix,
    ) -> Result<bool, Trouble> {
        let (Image::Real(image), Some(node)) = (image, &ground.node) else { return Ok(false) };
        Real::begin_from(node, dir, image, dice)?;
        Ok(true)
    }

    /// Opens a copy after a restart; `None` when it was never whole.
    pub(crate) fn open(ground: &Ground, dir: &Path, log_id: u32) -> Result<Option<Engine>, Trouble> {
        Ok(match &ground.node {
            Some(node) => Real::open(ground, node, dir)?.map(|real| Engine::around(Box::new(real))),
            None => Numbers::open(ground, dir, log_id)?.map(|numbers| Engine::around(Box::new(numbers))),
        })
    }

    /// Throws a copy that is not open away.
    pub(crate) fn remove(ground: &Ground, dir: &Path) -> Result<(), Trouble> {
        match &ground.node {
            Some(node) => Real::remove(node, dir),
            None => Numbers::remove(ground.env.disk.as_ref(), dir),
        }
    }

    fn around(content: Box<dyn Content>) -> Engine {
        let tapped = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&tapped);
        content.log().set_tap(Some(Arc::new(move |block| {
            sink.lock().expect("one thread").push(Sealed {
                epoch: block.header.epoch,
                first: block.header.first_lsn,
                checksum: block.header.checksum,
                bytes: block.bytes.to_vec(),
            });
        })));
        Engine {
            log: content.log().clone(),
            content,
            mode: Mode::Resolving,
            pending: VecDeque::new(),
            receiving: None,
            ack_limit: Lsn::MAX,
            senders: BTreeMap::new(),
            flushing: false,
            untold: Lsn::ZERO,
            applied_told: Lsn::ZERO,
            lags: None,
            tapped,
        }
    }

    /// Blocks sealed (or received) since the last call, in order.
    pub(crate) fn sealed(&self) -> Vec<Sealed> {
        std::mem::take(&mut *self.tapped.lock().expect("one thread"))
    }

    pub(crate) fn agreed(&self) -> Lsn {
        self.content.agreed()
    }

    pub(crate) fn facts(&self) -> LogFacts {
        LogFacts {
            history: self.content.history(),
            end: self.log.hardened(),
            agreed: self.content.agreed(),
            floor: self.content.floor(),
            reached: Lsn::ZERO,
        }
    }
}
