//! The directory: its packs, and which chunk lies where.

use crate::pack::{self, Entry};
use crate::recipe::Piece;
use crate::{ChunkId, MARKER, PackName, Place, damaged};
use hashbrown::HashMap;
use keel_base::env::{Disk, Env, File, OpenMode};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What makes a directory a repository says which form it has.
const FORM: &str = "Evenkeel backup repository, form 1\n";
/// Packs kept open to be read.
const OPEN_MAX: usize = 16;

/// With whom a repository is shared while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// With others who read and write files.
    Shared,
    /// With nobody: packs may be removed.
    Alone,
}

/// A repository that is open.
pub struct Repository {
    pub(crate) env: Env,
    root: PathBuf,
    /// The marker; a lock of it is held until it is closed.
    _lock: Arc<dyn File>,
    packs: Mutex<Packs>,
    index: Mutex<Option<Index>>,
}

type Index = HashMap<u128, Place, foldhash::fast::RandomState>;

#[derive(Default)]
struct Packs {
    names: Vec<PackName>,
    numbers: HashMap<PackName, u32>,
    /// Those asked for last, the very last first.
    open: VecDeque<(u32, Arc<dyn File>)>,
}

impl Repository {
    /// Makes a directory a repository; it may be missing, and may have files in it, which stay what they are.
    ///
    /// # Errors
    /// `AlreadyExists` when it is one, or lies in one.
    pub fn create(env: &Env, root: &Path) -> io::Result<()> {
        if let Some(other) = Repository::root_of(&*env.disk, &root.join(MARKER)) {
            let text = format!("{} is a repository", other.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let disk = &env.disk;
        disk.create_dir_all(&pack::directory(root))?;
        let unfinished = root.join(format!("{MARKER}.unfinished"));
        let file = disk.open(&unfinished, OpenMode::Create)?;
        file.set_len(0)?;
        file.write_at(FORM.as_bytes(), 0)?;
        file.sync_all()?;
        disk.rename(&unfinished, &root.join(MARKER))?;
        disk.sync_dir(root)?;
        root.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))
    }

    /// The repository that a path lies in, if it lies in one.
    pub fn root_of(disk: &dyn Disk, path: &Path) -> Option<PathBuf> {
        path.ancestors().skip(1).find(|dir| disk.exists(&dir.join(MARKER))).map(Path::to_path_buf)
    }

    /// Opens one. With `wait` it waits for who has it otherwise: whoever wants it alone for all others, these for that one.
    ///
    /// # Errors
    /// `WouldBlock` when others have it, `NotFound` when it is none, `Unsupported` when its form is not known here.
    pub fn open(env: &Env, root: &Path, access: Access, wait: bool) -> io::Result<Arc<Repository>> {
        let marker = root.join(MARKER);
        let none = |e: io::Error| match e.kind() {
            io::ErrorKind::NotFound => io::Error::new(
                e.kind(),
                format!("{} is no repository: there is no {MARKER} in it", root.display()),
            ),
            _ => e,
        };
        // Some file systems lock only what may be written; from some one can only read.
        let lock = env.disk.open(&marker, OpenMode::ReadWrite);
        let lock = lock.or_else(|_| env.disk.open(&marker, OpenMode::Read)).map_err(none)?;
        if !lock.lock(access == Access::Alone, wait)? {
            let text = format!("{} is being used by others", root.display());
            return Err(io::Error::new(io::ErrorKind::WouldBlock, text));
        }
        let mut form = vec![0; FORM.len() + 1];
        let n = lock.read_at(&mut form, 0)?;
        if form[..n] != *FORM.as_bytes() {
            let text = format!("the form of the repository {} is not known here", root.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Arc::new(Repository {
            env: env.clone(),
            root: root.to_path_buf(),
            _lock: lock,
            packs: Mutex::default(),
            index: Mutex::new(None),
        }))
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.env.disk
    }

    /// A name that no pack has.
    pub(crate) fn new_name(&self) -> PackName {
        let mut name = [0; 16];
        self.env.random.fill(&mut name);
        name
    }

    /// The number that a pack has in this process.
    pub(crate) fn number_of(&self, name: PackName) -> u32 {
        let mut packs = self.packs.lock();
        let Packs { names, numbers, .. } = &mut *packs;
        *numbers.entry(name).or_insert_with(|| {
            names.push(name);
            u32::try_from(names.len() - 1).expect("there is no room for as many packs")
        })
    }

    pub(crate) fn name_of(&self, number: u32) -> PackName {
        self.packs.lock().names[number as usize]
    }

    /// All packs that have their names.
    pub(crate) fn pack_names(&self) -> io::Result<Vec<PackName>> {
        let paths = self.disk().list(&pack::directory(&self.root))?;
        Ok(paths.iter().filter_map(|path| pack::name_of(path)).collect())
    }

    pub(crate) fn open_pack(&self, number: u32) -> io::Result<Arc<dyn File>> {
        let mut packs = self.packs.lock();
        if let Some(at) = packs.open.iter().position(|(open, _)| *open == number) {
            let found = packs.open.remove(at).expect("it was found there");
            let file = Arc::clone(&found.1);
            packs.open.push_front(found);
            return Ok(file);
        }
        let path = pack::path_of(&self.root, &packs.names[number as usize]);
        let file = self.disk().open(&path, OpenMode::Read)?;
        packs.open.push_front((number, Arc::clone(&file)));
        packs.open.truncate(OPEN_MAX);
        Ok(file)
    }

    /// Where a chunk lies, if a pack has it. The first question reads the index of every pack.
    pub(crate) fn find(&self, id: &ChunkId) -> io::Result<Option<Place>> {
        let mut index = self.index.lock();
        if index.is_none() {
            *index = Some(self.read_index()?);
        }
        Ok(index.as_ref().and_then(|index| index.get(&id.key()).copied()))
    }

    fn read_index(&self) -> io::Result<Index> {
        let mut index = Index::default();
        for name in self.pack_names()? {
            let number = self.number_of(name);
            let file = self.disk().open(&pack::path_of(&self.root, &name), OpenMode::Read)?;
            let (entries, _) = pack::entries(&*file)?;
            index.extend(entries.iter().map(|entry| (entry.id.key(), place(number, entry))));
        }
        Ok(index)
    }

    /// What a pack has that has just got its name.
    pub(crate) fn note(&self, name: PackName, entries: &[Entry]) {
        let number = self.number_of(name);
        if let Some(index) = &mut *self.index.lock() {
            index.extend(entries.iter().map(|entry| (entry.id.key(), place(number, entry))));
        }
    }

    /// The bytes of a piece: from where it was when its recipe was written, or from where it is now.
    pub(crate) fn read(&self, piece: &Piece) -> io::Result<Vec<u8>> {
        let at = |place: Place| {
            let Place { offset, stored, bytes, .. } = place;
            let entry = Entry { id: piece.id, offset, stored, bytes };
            self.open_pack(place.pack).and_then(|file| pack::read(&*file, &entry))
        };
        at(piece.place).or_else(|first| match self.find(&piece.id)? {
            Some(now) if now != piece.place => at(now),
            Some(_) => Err(first),
            None => Err(damaged("a chunk of the file is in no pack of the repository")),
        })
    }
}

pub(crate) fn place(pack: u32, entry: &Entry) -> Place {
    Place { pack, offset: entry.offset, stored: entry.stored, bytes: entry.bytes }
}
