//! A deduplicating repository: a directory in which equal pieces of files are kept once.
//!
//! Backups of one database made one after the other have most of their rows in common. Written into a repository a file is cut
//! into **chunks** where its *content* says so (content-defined chunking, FastCDC), so that the same rows give the same chunks wherever in
//! the file they lie; a chunk is known by the BLAKE3 hash of its bytes and stored when no other file has it. What is left of the
//! file at its own path is a **recipe**: the list of its chunks.
//!
//! ```text
//!   /backups/repository.keel        this directory is a repository
//!           packs/5b….pack          chunks, some hundred of them one behind the other, and their index
//!           shop/monday.bak         a recipe: chunk, chunk, chunk, …
//!           shop/tuesday.bak        a recipe, with most of the same chunks
//! ```
//!
//! A [`RepositoryFile`] is a [`File`](keel_base::env::File): who writes and reads backups does not know of chunks.
//!
//! # Writing a file
//! 1. Bytes gather behind the last chunk until they are as many as a chunk may have; then the chunker cuts.
//! 2. A chunk that no pack has goes to the pack being written, which is a file of its own of this writer's.
//! 3. `sync_all`: what is left is cut, the pack ends with its index, is synced and gets its name; only then the recipe takes its
//!    place at the file's path, by a rename. Until then the path has what it had.
//!
//! # Who may do what when
//! Writers and readers hold a shared lock of `repository.keel`; several processes, on several machines with the storage in common, may write at a time.
//! They see each other's chunks once a pack has its name. Removing a file is removing its recipe. What no recipe needs any more goes
//! with [`Repository::prune`], which holds the lock alone while it removes packs, and only then.
//!
//! # Invariants
//! * A recipe that is there has all its chunks in packs that have their names.
//! * A pack that has its name never changes; it only goes, once no recipe needs it.
//! * What is read of a chunk has the chunk's hash, or it is an error (`InvalidData`).
//!
//! # Deliberately absent
//! Encryption (encrypted backups are written encrypted, and then no two have a chunk in common), references counted on disk (prune
//! counts them anew, so nothing can count wrong), and knowledge of what a backup is.

mod file;
mod pack;
mod prune;
mod recipe;
mod repository;
#[cfg(test)]
mod tests;

pub use file::RepositoryFile;
pub use prune::{Damage, Figures, Pruned, Watch};
pub use repository::{Access, Repository};

/// Name of the file that makes a directory a repository.
pub const MARKER: &str = "repository.keel";

/// A chunk's name: the BLAKE3 hash of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ChunkId([u8; 32]);

impl ChunkId {
    fn of(bytes: &[u8]) -> ChunkId {
        ChunkId(*blake3::hash(bytes).as_bytes())
    }

    /// What maps know it by: half of it tells all chunks there will ever be apart, and takes half the memory.
    fn key(&self) -> u128 {
        let half: [u8; 16] = std::array::from_fn(|n| self.0[n]);
        u128::from_le_bytes(half)
    }
}

/// Where a chunk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The pack, by its number in this process.
    pack: u32,
    /// Where its record begins in the pack.
    offset: u32,
    /// Its bytes as stored.
    stored: u32,
    /// Its bytes.
    bytes: u32,
}

/// A pack's name.
type PackName = [u8; 16];

fn damaged(what: impl Into<String>) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, what.into())
}

/// Reads little-endian numbers from what comes from a disk.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}
