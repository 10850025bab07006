//! Recipes: what stands at the path of a file in a repository.
//!
//! # A recipe, by byte (numbers are little-endian)
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | magic | `KRF1` |
//! | 4 | 4 | packs | how many are named |
//! | 8 | 8 | chunks | how many there are |
//! | 16 | 16 each | packs | names of the packs |
//! | | 48 each | chunks | hash (32), which of the packs (4), where its record begins there (4), bytes as stored (4), bytes (4) |
//! | end − 8 | 4 | checksum | CRC32C of all before |
//! | end − 4 | 4 | magic | `KRF1` |
//!
//! An empty file is a file without chunks. The place of a chunk is where it was when the recipe was written: when it is not there any
//! more it is found by its hash.

use crate::{Bytes, ChunkId, PackName, Place, damaged};
use hashbrown::HashMap;
use keel_base::env::{Disk, File, OpenMode};
use std::io;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 4] = b"KRF1";
const HEADER_BYTES: usize = 16;
const PACK_BYTES: usize = 16;
const CHUNK_BYTES: usize = 48;
const TRAILER_BYTES: usize = 8;
/// What a recipe is called until it takes its place.
const UNFINISHED: &str = "keel-unfinished";

/// A chunk of a file.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub id: ChunkId,
    /// Where it was when the recipe was written.
    pub place: Place,
    /// Where it ends in the file.
    pub end: u64,
}

/// What a file is made of. The packs of its pieces are numbered as in `packs`.
#[derive(Default)]
pub(crate) struct Recipe {
    pub packs: Vec<PackName>,
    pub pieces: Vec<Piece>,
}

impl Recipe {
    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.end)
    }

    /// `None` when the file is no recipe: it is a file like others that happens to lie in a repository.
    ///
    /// # Errors
    /// `InvalidData` when it is one, and damaged.
    pub fn read(file: &dyn File) -> io::Result<Option<Recipe>> {
        let length = file.len()?;
        let mut ends = [[0; 4]; 2];
        file.read_at(&mut ends[0], 0)?;
        file.read_at(&mut ends[1], length.saturating_sub(4))?;
        if length == 0 {
            return Ok(Some(Recipe::default()));
        }
        if !ends.contains(MAGIC) {
            return Ok(None);
        }
        let broken = || damaged("the list of the file's chunks is damaged");
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| broken())?];
        let n = file.read_at(&mut bytes, 0)?;
        Recipe::decode(&bytes[..n]).map(Some).ok_or_else(broken)
    }

    fn decode(bytes: &[u8]) -> Option<Recipe> {
        let (content, trailer) = bytes.split_at(bytes.len().checked_sub(TRAILER_BYTES)?);
        let mut trailer = Bytes(trailer);
        let whole = trailer.u32()? == crc32c::crc32c(content) || cfg!(fuzzing);
        if !whole || trailer.take()? != *MAGIC {
            return None;
        }
        let mut rest = Bytes(content);
        if rest.take()? != *MAGIC {
            return None;
        }
        let (packs, chunks) = (rest.u32()? as usize, usize::try_from(rest.u64()?).ok()?);
        let expected = packs.checked_mul(PACK_BYTES)?.checked_add(chunks.checked_mul(CHUNK_BYTES)?)?;
        if rest.0.len() != expected {
            return None;
        }
        let packs: Vec<PackName> = (0..packs).map(|_| rest.take()).collect::<Option<_>>()?;
        let (mut pieces, mut end) = (Vec::with_capacity(chunks), 0_u64);
        for _ in 0..chunks {
            let id = ChunkId(rest.take()?);
            let [pack, offset, stored, bytes] = [rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?];
            end = end.checked_add(bytes.into())?;
            if pack as usize >= packs.len() || bytes == 0 {
                return None;
            }
            pieces.push(Piece { id, place: Place { pack, offset, stored, bytes }, end });
        }
        Some(Recipe { packs, pieces })
    }

    fn encode(&self) -> Vec<u8> {
        let bytes =
            HEADER_BYTES + self.packs.len() * PACK_BYTES + self.pieces.len() * CHUNK_BYTES + TRAILER_BYTES;
        let mut out = Vec::with_capacity(bytes);
        out.extend_from_slice(MAGIC);
        // There are fewer packs than chunks, and a recipe of as many chunks would take 200 GB.
        out.extend_from_slice(&u32::try_from(self.packs.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&(self.pieces.len() as u64).to_le_bytes());
        self.packs.iter().for_each(|name| out.extend_from_slice(name));
        for piece in &self.pieces {
            out.extend_from_slice(&piece.id.0);
            let Place { pack, offset, stored, bytes } = piece.place;
            for number in [pack, offset, stored, bytes] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        let checksum = crc32c::crc32c(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(MAGIC);
        out
    }

    /// Puts it at a path, in place of what is there: either of the two is there after a power cut. `own` is what nobody else calls his: two
    /// machines may write a file of the same name.
    pub fn put(&self, disk: &dyn Disk, path: &Path, own: u128) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{own:032x}.{UNFINISHED}"));
        let unfinished = path.with_file_name(name);
        let file = disk.open(&unfinished, OpenMode::Create)?;
        file.set_len(0)?;
        if !self.pieces.is_empty() {
            file.write_at(&self.encode(), 0)?;
        }
        file.sync_all()?;
        disk.rename(&unfinished, path)?;
        path.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))
    }

    /// The recipe of pieces whose packs are numbered otherwise.
    pub fn of(pieces: &[Piece], name_of: impl Fn(u32) -> PackName) -> Recipe {
        let (mut numbers, mut packs) = (HashMap::new(), Vec::new());
        let mut renumbered = |mut piece: Piece| {
            piece.place.pack = *numbers.entry(piece.place.pack).or_insert_with(|| {
                packs.push(name_of(piece.place.pack));
                u32::try_from(packs.len() - 1).unwrap_or(u32::MAX)
            });
            piece
        };
        let pieces = pieces.iter().map(|piece| renumbered(*piece)).collect();
        Recipe { packs, pieces }
    }
}

/// Whether a path is that of a recipe that never took its place.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == UNFINISHED)
}

/// A file in a repository's tree.
pub(crate) enum Found {
    Recipe(PathBuf, Recipe),
    /// Of a recipe that never took its place.
    Unfinished(PathBuf),
    /// Somebody else's.
    Other,
}

/// Hands over all files below `root` but the repository's own.
pub(crate) fn walk(
    disk: &dyn Disk,
    root: &Path,
    take: &mut dyn FnMut(Found) -> io::Result<()>,
) -> io::Result<()> {
    let own = [root.join(crate::MARKER), crate::pack::directory(root)];
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for path in disk.list(&directory)? {
            if own.contains(&path) {
                continue;
            }
            // A directory cannot be read as a file.
            let opened =
                disk.open(&path, OpenMode::Read).and_then(|file| file.read_at(&mut [0], 0).map(|_| file));
            let Ok(file) = opened else {
                directories.push(path);
                continue;
            };
            if is_unfinished(&path) {
                take(Found::Unfinished(path))?;
                continue;
            }
            let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
            take(
                Recipe::read(&*file)
                    .map_err(named)?
                    .map_or(Found::Other, |recipe| Found::Recipe(path, recipe)),
            )?;
        }
    }
    Ok(())
}
