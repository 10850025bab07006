//! A repository of backups whose list of chunks or pack is not as it was written.

use keel_base::env::sim::{self, SimDisk};
use keel_base::env::{Disk, OpenMode};
use keel_repository::{Access, Repository, RepositoryFile};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const ROOT: &str = "/r";
const NAME: &str = "/r/a.bak";

fn write(disk: &Arc<SimDisk>, bytes: &[u8]) -> io::Result<()> {
    let repository = Repository::open(&sim::env(disk, 3), Path::new(ROOT), Access::Shared, true)?;
    let Some(file) = RepositoryFile::open(&repository, Path::new(NAME), OpenMode::Create)? else {
        return Ok(());
    };
    keel_base::env::File::write_at(&file, bytes, 0)?;
    keel_base::env::File::sync_all(&file)
}

/// The list of a file's chunks, and the pack that has them.
fn image() -> &'static [(PathBuf, Vec<u8>)] {
    static IMAGE: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let disk = SimDisk::new();
        Repository::create(&sim::env(&disk, 3), Path::new(ROOT)).expect("a healthy disk takes a repository");
        write(&disk, &[&[7; 3000][..], b"and something else"].concat()).expect("and a file");
        let pack = disk.list(Path::new("/r/packs")).expect("it lists").remove(0);
        let paths = [PathBuf::from(NAME), pack, PathBuf::from("/r/repository.keel")];
        paths.into_iter().map(|path| (path.clone(), disk.contents(&path).unwrap_or_default())).collect()
    })
}

/// Reads, writes, checks and prunes with one file replaced: the first byte says which.
pub(crate) fn run(bytes: &[u8]) {
    let Some((which, content)) = bytes.split_first() else { return };
    let disk = SimDisk::new();
    for (number, (path, whole)) in image().iter().enumerate() {
        crate::files::put_file(&disk, path, if number == usize::from(*which) { content } else { whole });
    }
    let _ = used(&disk);
}

fn used(disk: &Arc<SimDisk>) -> io::Result<()> {
    let env = sim::env(disk, 5);
    let repository = Repository::open(&env, Path::new(ROOT), Access::Shared, true)?;
    let damage = repository.verify(&mut |_, _| Ok(()))?;
    let _ = repository.figures();
    let read = RepositoryFile::open(&repository, Path::new(NAME), OpenMode::Read).and_then(|file| {
        let Some(file) = file else { return Ok(()) };
        // What a list claims is not what is there to be read.
        let mut part = [0; 5000];
        keel_base::env::File::read_at(&file, &mut part, 0).map(|_| ())
    });
    assert!(cfg!(fuzzing) || read.is_ok() || !damage.files.is_empty(), "what cannot be read is damage");
    let _ = write(disk, b"over it");
    drop(repository);
    Repository::prune(&env, Path::new(ROOT), &mut || {}, &mut |_, _| Ok(())).map(|_| ())
}

/// Each of the files as it was.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let with = |(number, (_, bytes)): (u8, &(PathBuf, Vec<u8>))| [&[number][..], bytes].concat();
    (0..).zip(image()).map(with).collect()
}
