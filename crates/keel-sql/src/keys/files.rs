//! Files of certificates and keys, as statements name them.

use super::errors;
use crate::run::Runner;
use keel_base::env::{File, OpenMode};
use keel_types::error::Result;
use std::io;
use std::path::Path;

/// Largest certificate or key file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

impl Runner<'_> {
    /// The bytes of a file; `None` when it cannot be read.
    pub(super) fn read_key_file(&self, path: &str) -> Option<Vec<u8>> {
        let disk = &self.info.engine.options().env.disk;
        let read = || -> io::Result<Vec<u8>> {
            let file = disk.open(Path::new(path), OpenMode::Read)?;
            let length = file.len()?.min(FILE_BYTES_MAX);
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            let mut at = 0;
            while at < bytes.len() {
                match file.read_at(&mut bytes[at..], at as u64)? {
                    0 => break,
                    n => at += n,
                }
            }
            bytes.truncate(at);
            Ok(bytes)
        };
        read().ok()
    }

    /// Writes a file that is not there yet, all of it or none; a secret one for the server's user alone. Error 15240.
    pub(super) fn write_key_file(&self, path: &str, bytes: &[u8], secret: bool) -> Result<()> {
        let disk = &self.info.engine.options().env.disk;
        let path = Path::new(path);
        let write = |file: &dyn File| -> io::Result<()> {
            if secret {
                disk.make_private(path)?;
            }
            file.write_at(bytes, 0)?;
            file.sync_all()?;
            // A backup that a power cut takes with it is none.
            disk.sync_dir(folder(path))
        };
        let written = disk.open(path, OpenMode::CreateNew).and_then(|file| {
            write(&*file).inspect_err(|_| {
                disk.remove(path).ok();
            })
        });
        written.map_err(|_| errors::cannot_write(path.display()))
    }
}

/// The directory of a file: of a bare name the one that the server works in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_in_the_working_directory() {
        assert_eq!(folder(Path::new("c.cer")), Path::new("."));
        assert_eq!(folder(Path::new("/safe/c.cer")), Path::new("/safe"));
    }
}
