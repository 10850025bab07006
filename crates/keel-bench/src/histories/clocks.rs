//! A wall clock for one process, that can be made to jump: libfaketime, which the dynamic linker puts before the system's clock.
//! The monotonic clock stays what it is, as it does where an administrator or a time server sets the wall clock.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Where distributions put it: below the first, in a directory for the machine's kind, or in it.
const ROOTS: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// One process's clock.
pub(super) struct Clock {
    file: PathBuf,
}

impl Clock {
    /// Right for now; kept below `dir`.
    pub(super) fn new(dir: &Path) -> Result<Clock> {
        std::fs::create_dir_all(dir)?;
        let clock = Clock { file: dir.join("clock") };
        clock.jump(0)?;
        Ok(clock)
    }

    /// What runs a program by it: put before its command line.
    pub(super) fn before(&self) -> Result<Vec<String>> {
        let library = library().context("libfaketime is missing (Debian: apt-get install libfaketime)")?;
        Ok(vec![
            "env".into(),
            format!("LD_PRELOAD={}", library.display()),
            format!("FAKETIME_TIMESTAMP_FILE={}", self.file.display()),
            "FAKETIME_CACHE_DURATION=1".into(),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".into(),
        ])
    }

    /// It is so many seconds ahead of the system's from now on (within a second).
    pub(super) fn jump(&self, seconds: i64) -> Result<()> {
        // Never half a file: it is read at any moment.
        let next = self.file.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}\n"))?;
        Ok(std::fs::rename(next, &self.file)?)
    }
}

fn library() -> Option<PathBuf> {
    ROOTS.iter().find_map(|root| {
        let kinds = std::fs::read_dir(root).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        kinds.chain([PathBuf::from(root)]).map(|dir| dir.join(LIBRARY)).find(|path| path.exists())
    })
}
