//! Looking after a repository: what is in it, whether it is whole, and removing what nobody needs.

use crate::pack::{self, Entry, PackWriter};
use crate::recipe::{self, Found};
use crate::repository::{Access, Repository};
use crate::{ChunkId, PackName};
use hashbrown::{HashMap, HashSet};
use keel_base::env::{Env, File, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A pack is written anew when so much of it, one part in this many, is of no file any more: less is not worth the writing.
const UNUSED_PART: u64 = 5;
/// A pack with less to it is put together with others.
const SMALL_BYTES: u64 = pack::PACK_BYTES as u64 / 4;

/// Called with what is done and how much there is, in bytes; an error ends the work.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64) -> io::Result<()>;

type Keys = HashSet<u128, foldhash::fast::RandomState>;

/// What a repository has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Files written into it.
    pub files: u64,
    /// Files in its directories that are none of its own.
    pub others: u64,
    /// Bytes of its files, as who reads them sees them.
    pub bytes: u64,
    /// Different chunks that they consist of.
    pub chunks: u64,
    /// Bytes of these.
    pub chunk_bytes: u64,
    /// Packs.
    pub packs: u64,
    /// Bytes of the records in them.
    pub stored: u64,
    /// Of which are of no file any more.
    pub unused: u64,
}

/// What a prune did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Packs that were removed.
    pub packs: u64,
    /// Packs in which what was still needed of them lies now.
    pub written: u64,
    /// Bytes of records that are gone.
    pub freed: u64,
    /// Files left by writers that were killed.
    pub unfinished: u64,
}

/// What is not whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Packs that have damage, and what it is.
    pub packs: Vec<(PathBuf, String)>,
    /// Files that cannot be read whole.
    pub files: Vec<(PathBuf, String)>,
}

/// What the recipes need.
#[derive(Default)]
struct Needed {
    keys: Keys,
    figures: Figures,
    unfinished: Vec<PathBuf>,
}

impl Needed {
    fn of(repository: &Repository) -> io::Result<Needed> {
        let mut needed = Needed::default();
        recipe::walk(repository.disk(), repository.root(), &mut |found| {
            let figures = &mut needed.figures;
            match found {
                Found::Other => figures.others += 1,
                Found::Unfinished(path) => needed.unfinished.push(path),
                Found::Recipe(_, recipe) => {
                    figures.files += 1;
                    figures.bytes += recipe.length();
                    for piece in &recipe.pieces {
                        if needed.keys.insert(piece.id.key()) {
                            figures.chunks += 1;
                            figures.chunk_bytes += u64::from(piece.place.bytes);
                        }
                    }
                }
            }
            Ok(())
        })?;
        Ok(needed)
    }
}

/// A pack as prune sees it.
struct Weighed {
    name: PackName,
    /// Records of chunks that are needed, and that no pack before has.
    used: Vec<Entry>,
    /// Bytes of all its records.
    bytes: u64,
}

impl Weighed {
    fn used_bytes(&self) -> u64 {
        self.used.iter().map(Entry::record_bytes).sum()
    }
}

impl Repository {
    fn open_named(&self, name: &PackName) -> io::Result<Arc<dyn File>> {
        self.disk().open(&pack::path_of(self.root(), name), OpenMode::Read)
    }

    fn weigh(&self, needed: &Keys) -> io::Result<Vec<Weighed>> {
        let mut homes = Keys::default();
        let mut weighed = Vec::new();
        for name in self.pack_names()? {
            let (entries, _) = pack::entries(&*self.open_named(&name)?)?;
            let bytes = entries.iter().map(Entry::record_bytes).sum();
            let mut used = entries;
            used.retain(|entry| needed.contains(&entry.id.key()) && homes.insert(entry.id.key()));
            weighed.push(Weighed { name, used, bytes });
        }
        Ok(weighed)
    }

    /// What it has. Reads the lists of chunks of all files, and the indexes of all packs.
    ///
    /// # Errors
    /// `InvalidData` when a file's list of chunks is damaged, and the disk's.
    pub fn figures(&self) -> io::Result<Figures> {
        let needed = Needed::of(self)?;
        let mut figures = needed.figures;
        for pack in self.weigh(&needed.keys)? {
            figures.packs += 1;
            figures.stored += pack.bytes;
            figures.unused += pack.bytes - pack.used_bytes();
        }
        Ok(figures)
    }

    /// Reads every chunk, and looks whether every file has all of its own.
    ///
    /// # Errors
    /// The disk's, and what `watch` returns. Damage is no error.
    pub fn verify(&self, watch: Watch<'_>) -> io::Result<Damage> {
        let (mut damage, mut whole) = (Damage::default(), Keys::default());
        let names = self.pack_names()?;
        let mut all = 0;
        for name in &names {
            all += self.open_named(name)?.len()?;
        }
        let mut done = 0;
        for name in names {
            let file = self.open_named(&name)?;
            let (entries, indexed) = pack::entries(&*file)?;
            let mut broken = 0_u64;
            for entry in &entries {
                match pack::read(&*file, entry) {
                    Ok(_) => drop(whole.insert(entry.id.key())),
                    Err(e) if e.kind() == io::ErrorKind::InvalidData => broken += 1,
                    Err(e) => return Err(e),
                }
                watch(done, all)?;
            }
            done += file.len()?;
            watch(done.min(all), all)?;
            let path = pack::path_of(self.root(), &name);
            if broken > 0 {
                damage.packs.push((path, format!("{broken} of {} chunks are damaged", entries.len())));
            } else if !indexed {
                damage.packs.push((path, "its index is damaged".to_owned()));
            }
        }
        damage.files = self.files_without(&whole)?;
        Ok(damage)
    }

    fn files_without(&self, whole: &Keys) -> io::Result<Vec<(PathBuf, String)>> {
        let mut files = Vec::new();
        let walked = recipe::walk(self.disk(), self.root(), &mut |found| {
            if let Found::Recipe(path, recipe) = found {
                let missing = recipe.pieces.iter().filter(|piece| !whole.contains(&piece.id.key())).count();
                if missing > 0 {
                    let text =
                        format!("{missing} of its {} chunks are damaged or missing", recipe.pieces.len());
                    files.push((path, text));
                }
            }
            Ok(())
        });
        match walked {
            // The text begins with its path.
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                files.push((self.root().to_path_buf(), e.to_string()));
            }
            walked => walked?,
        }
        Ok(files)
    }

    /// Removes chunks that no file needs: packs of which a fifth or more is of no file any more, after the rest was written to others. Files can be
    /// written and read meanwhile; only while packs are being removed nobody else is let in. `waiting` is called when
    /// somebody must be waited for.
    ///
    /// # Errors
    /// `InvalidData` when a file's list of chunks is damaged, or a chunk that has to be moved: nothing was removed then. The disk's, and what
    /// `watch` returns.
    pub fn prune(env: &Env, root: &Path, waiting: &mut dyn FnMut(), watch: Watch<'_>) -> io::Result<Pruned> {
        let shared = Repository::open(env, root, Access::Shared, true)?;
        let needed = Needed::of(&shared)?;
        let mut pruned = Pruned::default();
        let going = to_go(shared.weigh(&needed.keys)?);
        shared.gather(&going, &mut pruned, watch)?;
        drop(shared);
        let alone = match Repository::open(env, root, Access::Alone, false) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                waiting();
                Repository::open(env, root, Access::Alone, true)?
            }
            opened => opened?,
        };
        alone.remove_packs(&going, &mut pruned)?;
        Ok(pruned)
    }

    /// Writes what is needed of packs that are to go into new ones.
    fn gather(&self, going: &[Weighed], pruned: &mut Pruned, watch: Watch<'_>) -> io::Result<()> {
        let all: u64 = going.iter().map(Weighed::used_bytes).sum();
        let (mut done, mut writer) = (0, None::<PackWriter>);
        for pack in going {
            let file = self.open_named(&pack.name)?;
            for entry in &pack.used {
                let bytes = pack::read(&*file, entry).map_err(|e| {
                    io::Error::new(
                        e.kind(),
                        format!("{}: {e}", pack::path_of(self.root(), &pack.name).display()),
                    )
                })?;
                if writer.is_none() {
                    writer = Some(PackWriter::create(self.disk(), self.root(), self.new_name())?);
                }
                let Some(to) = &mut writer else { continue };
                to.add(entry.id, &bytes)?;
                if to.is_full()
                    && let Some(full) = writer.take()
                {
                    full.finish(self.disk(), self.root())?;
                    pruned.written += 1;
                }
                done += entry.record_bytes();
                watch(done, all)?;
            }
        }
        if let Some(last) = writer {
            last.finish(self.disk(), self.root())?;
            pruned.written += 1;
        }
        Ok(())
    }

    /// Removes packs, as far as files that came meanwhile do not need them either. Nobody else has the repository.
    fn remove_packs(&self, going: &[Weighed], pruned: &mut Pruned) -> io::Result<()> {
        let needed = Needed::of(self)?;
        let gone: HashSet<PackName> = going.iter().map(|pack| pack.name).collect();
        let mut elsewhere = Keys::default();
        let mut there: HashMap<PackName, Vec<ChunkId>> = HashMap::new();
        for name in self.pack_names()? {
            let (entries, _) = pack::entries(&*self.open_named(&name)?)?;
            if gone.contains(&name) {
                there.insert(name, entries.iter().map(|entry| entry.id).collect());
            } else {
                elsewhere.extend(entries.iter().map(|entry| entry.id.key()));
            }
        }
        let is_lost = |id: &ChunkId| needed.keys.contains(&id.key()) && !elsewhere.contains(&id.key());
        for pack in going {
            let Some(ids) = there.get(&pack.name) else { continue };
            // A file that was written meanwhile has found a chunk here that nobody needed.
            if ids.iter().any(is_lost) {
                continue;
            }
            self.disk().remove(&pack::path_of(self.root(), &pack.name))?;
            pruned.packs += 1;
            pruned.freed += pack.bytes - pack.used_bytes();
        }
        let mut unfinished = needed.unfinished;
        let paths = self.disk().list(&pack::directory(self.root()))?;
        unfinished.extend(paths.into_iter().filter(|path| pack::is_unfinished(path)));
        for path in &unfinished {
            self.disk().remove(path)?;
            pruned.unfinished += 1;
        }
        self.disk().sync_dir(&pack::directory(self.root()))
    }
}

/// The packs that are worth being written anew, or have nothing that is needed.
fn to_go(packs: Vec<Weighed>) -> Vec<Weighed> {
    let is_thin = |pack: &Weighed| (pack.bytes - pack.used_bytes()) * UNUSED_PART >= pack.bytes;
    let (mut going, rest): (Vec<Weighed>, Vec<Weighed>) = packs.into_iter().partition(is_thin);
    let small: Vec<Weighed> = rest.into_iter().filter(|pack| pack.bytes < SMALL_BYTES).collect();
    // One by itself would only become the same again.
    if small.len() > 1 || going.iter().any(|pack| !pack.used.is_empty()) {
        going.extend(small);
    }
    going
}
