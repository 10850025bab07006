//! A file in a repository, as who writes and reads it sees it.

use crate::pack::{self, Entry, PackWriter};
use crate::recipe::{Piece, Recipe};
use crate::repository::{Repository, place};
use crate::{ChunkId, PackName, Place};
use fastcdc::v2020::FastCDC;
use hashbrown::HashMap;
use keel_base::env::{File, OpenMode};
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a chunk: at least, about, at most. Small enough that a changed row costs little, large enough that a terabyte has an
/// index that fits in memory (some 12 million chunks, 40 to 80 bytes each).
const CHUNK_MIN: usize = 16 << 10;
const CHUNK_ABOUT: usize = 64 << 10;
const CHUNK_MAX: usize = pack::CHUNK_BYTES_MAX;

const _: () = assert!(CHUNK_MIN < CHUNK_ABOUT && CHUNK_ABOUT < CHUNK_MAX);

/// A file in a repository. Written it is when it is synced whole (`sync_all`): until then its path has what it had.
pub struct RepositoryFile {
    repository: Arc<Repository>,
    path: PathBuf,
    writable: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pieces: Vec<Piece>,
    /// What is behind the last of them, not cut yet.
    tail: Vec<u8>,
    pack: Option<PackWriter>,
    /// Chunks of the pack being written.
    fresh: HashMap<u128, Place>,
    /// The piece read last, by its number.
    read: Option<(usize, Vec<u8>)>,
    changed: bool,
    /// Bytes of chunks that no pack had.
    new: u64,
    /// The same, as stored.
    new_stored: u64,
}

impl RepositoryFile {
    /// Opens the file at a path. `None` when what is there is no file of a repository, but one like others.
    ///
    /// # Errors
    /// `InvalidData` when its list of chunks is damaged, and the disk's.
    pub fn open(
        repository: &Arc<Repository>,
        path: &Path,
        mode: OpenMode,
    ) -> io::Result<Option<RepositoryFile>> {
        let there = repository.disk().open(path, mode)?;
        let Some(recipe) = Recipe::read(&*there)? else { return Ok(None) };
        let numbers: Vec<u32> = recipe.packs.iter().map(|name| repository.number_of(*name)).collect();
        let mut pieces = recipe.pieces;
        pieces.iter_mut().for_each(|piece| piece.place.pack = numbers[piece.place.pack as usize]);
        let state = State { pieces, ..State::default() };
        let (repository, path) = (Arc::clone(repository), path.to_path_buf());
        let writable = mode != OpenMode::Read;
        Ok(Some(RepositoryFile { repository, path, writable, state: Mutex::new(state) }))
    }

    /// Bytes written since it was opened that no pack had, and the same as stored.
    pub fn new_bytes(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.new, state.new_stored)
    }

    /// The repository it is in.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    fn to_write(&self) -> io::Result<parking_lot::MutexGuard<'_, State>> {
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut state = self.state.lock();
        state.changed = true;
        state.read = None;
        Ok(state)
    }
}

impl State {
    /// Where the last piece ends.
    fn cut(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.end)
    }

    fn length(&self) -> u64 {
        self.cut() + self.tail.len() as u64
    }

    /// The piece that has a byte.
    fn piece_at(&self, at: u64) -> usize {
        self.pieces.partition_point(|piece| piece.end <= at)
    }

    fn start_of(&self, piece: usize) -> u64 {
        self.pieces[piece].end - u64::from(self.pieces[piece].place.bytes)
    }

    /// The bytes of a piece, kept for the next question.
    fn piece(&mut self, repository: &Repository, number: usize) -> io::Result<&[u8]> {
        if self.read.as_ref().is_none_or(|(read, _)| *read != number) {
            let piece = self.pieces[number];
            let writing = self.pack.as_ref().map(|pack| (repository.number_of(pack.name), &pack.file));
            let bytes = match writing {
                Some((pack, file)) if pack == piece.place.pack => {
                    let Place { offset, stored, bytes, .. } = piece.place;
                    pack::read(&**file, &Entry { id: piece.id, offset, stored, bytes })?
                }
                _ => repository.read(&piece)?,
            };
            self.read = Some((number, bytes));
        }
        Ok(self.read.as_ref().map(|(_, bytes)| &bytes[..]).expect("it was just read"))
    }

    /// Has a chunk in a pack, and says where.
    fn keep(&mut self, repository: &Repository, bytes: &[u8]) -> io::Result<(ChunkId, Place)> {
        let id = ChunkId::of(bytes);
        let known = self.fresh.get(&id.key()).copied();
        if let Some(place) = known.map_or_else(|| repository.find(&id), |place| Ok(Some(place)))? {
            return Ok((id, place));
        }
        if self.pack.is_none() {
            let name = repository.new_name();
            self.pack = Some(PackWriter::create(repository.disk(), repository.root(), name)?);
        }
        let pack = self.pack.as_mut().expect("it was just begun");
        let entry = pack.add(id, bytes)?;
        let (name, full) = (pack.name, pack.is_full());
        let place = place(repository.number_of(name), &entry);
        self.fresh.insert(id.key(), place);
        self.new += bytes.len() as u64;
        self.new_stored += entry.record_bytes();
        if full {
            self.end_pack(repository)?;
        }
        Ok((id, place))
    }

    fn end_pack(&mut self, repository: &Repository) -> io::Result<()> {
        let Some(pack) = self.pack.take() else { return Ok(()) };
        let name: PackName = pack.name;
        let entries = pack.finish(repository.disk(), repository.root())?;
        repository.note(name, &entries);
        self.fresh.clear();
        Ok(())
    }

    /// Cuts the tail into chunks; what may yet grow into one stays, unless all is to go.
    fn cut_tail(&mut self, repository: &Repository, all: bool) -> io::Result<()> {
        let tail = std::mem::take(&mut self.tail);
        let chunker = FastCDC::new(&tail, CHUNK_MIN, CHUNK_ABOUT, CHUNK_MAX);
        let mut at = 0;
        while tail.len() - at >= CHUNK_MAX || (all && at < tail.len()) {
            let (_, end) = chunker.cut(at, tail.len() - at);
            let kept = self.keep(repository, &tail[at..end]);
            let Ok((id, place)) = kept else {
                self.tail = tail[at..].to_vec();
                return kept.map(|_| ());
            };
            let end_in_file = self.cut() + u64::from(place.bytes);
            self.pieces.push(Piece { id, place, end: end_in_file });
            at = end;
        }
        self.tail = tail[at..].to_vec();
        Ok(())
    }

    /// Writes over bytes that are in pieces: these are replaced by others of the same lengths.
    fn write_over(&mut self, repository: &Repository, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let number = self.piece_at(at);
            let start = self.start_of(number);
            let mut content = self.piece(repository, number)?.to_vec();
            let from = (at - start) as usize;
            let n = bytes.len().min(content.len() - from);
            content[from..from + n].copy_from_slice(&bytes[..n]);
            let (id, place) = self.keep(repository, &content)?;
            self.pieces[number].id = id;
            self.pieces[number].place = place;
            self.read = None;
            bytes = &bytes[n..];
            at += n as u64;
        }
        Ok(())
    }
}

impl File for RepositoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state.lock();
        let mut done = 0;
        while done < buf.len() {
            let at = offset + done as u64;
            let cut = state.cut();
            let (bytes, from) = if at < cut {
                let number = state.piece_at(at);
                let start = state.start_of(number);
                (state.piece(&self.repository, number)?, (at - start) as usize)
            } else {
                (&state.tail[..], usize::try_from(at - cut).unwrap_or(usize::MAX))
            };
            let rest = bytes.get(from..).unwrap_or_default();
            let n = rest.len().min(buf.len() - done);
            if n == 0 {
                break;
            }
            buf[done..done + n].copy_from_slice(&rest[..n]);
            done += n;
        }
        Ok(done)
    }

    /// Behind the end or over what is there; not behind a gap (`InvalidInput`).
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.to_write()?;
        if offset > state.length() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let in_pieces =
            usize::try_from(state.cut().saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
        state.write_over(&self.repository, &buf[..in_pieces], offset)?;
        let (rest, at) = (&buf[in_pieces..], offset + in_pieces as u64);
        if rest.is_empty() {
            return Ok(());
        }
        let from = (at - state.cut()) as usize;
        let over = rest.len().min(state.tail.len() - from);
        state.tail[from..from + over].copy_from_slice(&rest[..over]);
        state.tail.extend_from_slice(&rest[over..]);
        state.cut_tail(&self.repository, false)
    }

    /// What has been cut is on the disk, though the file is not the one at its path before `sync_all`.
    fn sync_data(&self) -> io::Result<()> {
        self.state.lock().pack.as_ref().map_or(Ok(()), |pack| pack.file.sync_data())
    }

    fn sync_all(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.changed {
            return Ok(());
        }
        state.cut_tail(&self.repository, true)?;
        state.end_pack(&self.repository)?;
        let recipe = Recipe::of(&state.pieces, |number| self.repository.name_of(number));
        let own = u128::from_le_bytes(self.repository.new_name());
        recipe.put(self.repository.disk(), &self.path, own)?;
        state.changed = false;
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().length())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.to_write()?;
        let cut = state.cut();
        if len >= cut {
            let tail = usize::try_from(len - cut).map_err(|_| io::ErrorKind::InvalidInput)?;
            state.tail.resize(tail, 0);
            return state.cut_tail(&self.repository, false);
        }
        let number = state.piece_at(len);
        let kept = (len - state.start_of(number)) as usize;
        let tail =
            if kept > 0 { state.piece(&self.repository, number)?[..kept].to_vec() } else { Vec::new() };
        state.read = None;
        state.pieces.truncate(number);
        state.tail = tail;
        Ok(())
    }

    /// Nothing is reserved: how much will be stored is not known.
    fn allocate(&self, len: u64) -> io::Result<()> {
        if self.len()? >= len { Ok(()) } else { self.set_len(len) }
    }
}

impl Drop for RepositoryFile {
    /// A pack that was not ended has nothing that anybody asked to keep.
    fn drop(&mut self) {
        if let Some(pack) = self.state.get_mut().pack.take() {
            pack.abandon(self.repository.disk());
        }
    }
}
