//! One device of a statement: the file behind a name, alone for whoever writes to it, and whether it lies in a repository.

use super::errors;
use super::url::{Reach, is_url};
use crate::engine::Engine;
use crate::host::real;
use keel_base::env::objects::NewObject;
use keel_base::env::{Disk, Env, File, OpenMode};
use keel_repository::{Access, Repository, RepositoryFile};
use keel_types::SqlError;
use keel_types::error::Result;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// What the instance has open as devices.
#[derive(Default)]
pub(crate) struct Devices {
    /// Files that are being written to, each by one backup: two would write to the same place behind the last set.
    held: Mutex<Vec<PathBuf>>,
    /// Repositories that are open: one that several files lie in reads its index once.
    repositories: Mutex<HashMap<PathBuf, Weak<Repository>>>,
}

impl Devices {
    fn repository(&self, env: &Env, root: &Path) -> io::Result<Arc<Repository>> {
        let open = || self.repositories.lock().get(root).and_then(Weak::upgrade);
        if let Some(repository) = open() {
            return Ok(repository);
        }
        // Not under the lock: it waits while somebody removes packs.
        let repository = Repository::open(env, root, Access::Shared, true)?;
        let mut all = self.repositories.lock();
        all.retain(|_, other| other.strong_count() > 0);
        all.insert(root.to_path_buf(), Arc::downgrade(&repository));
        Ok(repository)
    }
}

/// A device that is open.
pub(super) struct Device {
    pub path: String,
    pub file: Arc<dyn File>,
    /// The same, when it lies in a repository.
    pub stored: Option<Arc<RepositoryFile>>,
    /// The same, when it is an object that a URL names.
    pub object: Option<Arc<dyn NewObject>>,
}

impl Device {
    /// One that has a name only.
    fn named(device: &str) -> Device {
        Device { path: device.to_owned(), file: Arc::new(Nul), stored: None, object: None }
    }

    fn open(engine: &Engine, path: &Path, mode: OpenMode) -> io::Result<Device> {
        let env = &engine.options().env;
        let shown = path.display().to_string();
        if let Some(root) = Repository::root_of(&*env.disk, path) {
            let repository = engine.devices.repository(env, &root)?;
            if let Some(file) = RepositoryFile::open(&repository, path, mode)? {
                let file = Arc::new(file);
                return Ok(Device {
                    path: shown,
                    file: Arc::clone(&file) as Arc<dyn File>,
                    stored: Some(file),
                    object: None,
                });
            }
        }
        Ok(Device { file: env.disk.open(path, mode)?, ..Device::named(&shown) })
    }

    /// Opens the device of a name to be read.
    pub fn to_read(reach: &Reach<'_>, device: &str) -> Result<Device> {
        if is_url(device) {
            return Ok(Device { file: reach.open(device)?, ..Device::named(device) });
        }
        let engine = reach.engine;
        let path = path_of(engine, device);
        Device::open(engine, &path, OpenMode::Read).map_err(|e| cannot_open(&path, &e))
    }
}

/// A file that is being written to, until dropped.
pub(super) struct Held {
    devices: Arc<Devices>,
    path: PathBuf,
    /// Where the file was not there before: what is empty afterwards is removed.
    made: Option<Arc<dyn Disk>>,
}

impl Held {
    /// `None` when another backup is being written there.
    pub fn take(devices: &Arc<Devices>, path: &Path) -> Option<Held> {
        // Two names of one file are one; a file that is not there yet has only this one.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let mut held = devices.held.lock();
        if held.contains(&path) {
            return None;
        }
        held.push(path.clone());
        Some(Held { devices: Arc::clone(devices), path, made: None })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(disk) = &self.made
            && disk.open(&self.path, OpenMode::Read).is_ok_and(|file| file.is_empty().unwrap_or(false))
        {
            let _ = disk.remove(&self.path);
        }
        self.devices.held.lock().retain(|path| *path != self.path);
    }
}

/// The device that takes everything and gives nothing.
const NULL_DEVICE: &str = "NUL";

struct Nul;

impl File for Nul {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn allocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// The directory of devices that are named without one.
pub(crate) fn default_directory(engine: &Engine) -> PathBuf {
    engine.options().data_dir.join("backup")
}

/// Opens an object to be written. Error 3271 for one that is there, unless `format` says that it is replaced.
fn begin_object(reach: &Reach<'_>, url: &str, format: bool, held: &mut Vec<Held>) -> Result<Device> {
    let in_use = || errors::cannot_open(url, "32(another backup is being written to it)");
    held.push(Held::take(&reach.engine.devices, Path::new(url)).ok_or_else(in_use)?);
    let object = reach.create(url, format)?;
    Ok(Device { file: Arc::clone(&object) as Arc<dyn File>, object: Some(object), ..Device::named(url) })
}

/// Opens the device of a name to be written, made when it is not there.
pub(super) fn open_to_write(
    reach: &Reach<'_>,
    device: &str,
    format: bool,
    held: &mut Vec<Held>,
) -> Result<Device> {
    if is_url(device) {
        return begin_object(reach, device, format, held);
    }
    let engine = reach.engine;
    if device.eq_ignore_ascii_case(NULL_DEVICE) || device == "/dev/null" {
        return Ok(Device::named(device));
    }
    let (disk, path) = (&engine.options().env.disk, path_of(engine, device));
    if is_our_own(engine, &path) {
        return Err(errors::cannot_open(path.display(), "5(Access is denied.)"));
    }
    let there = disk.exists(&path);
    let open = || {
        // As the product does on Linux: maintenance scripts count on it there.
        path.parent().map_or(Ok(()), |parent| disk.create_dir_all(parent))?;
        let opened = Device::open(engine, &path, OpenMode::Create)?;
        path.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))?;
        Ok(opened)
    };
    let opened = open().map_err(|e: io::Error| cannot_open(&path, &e))?;
    let in_use = || errors::cannot_open(path.display(), "32(another backup is being written to it)");
    let mut mine = Held::take(&engine.devices, &path).ok_or_else(in_use)?;
    mine.made = (!there).then(|| Arc::clone(disk));
    held.push(mine);
    Ok(opened)
}

fn path_of(engine: &Engine, device: &str) -> PathBuf {
    let path = Path::new(device);
    if path.is_absolute() { path.to_path_buf() } else { default_directory(engine).join(path) }
}

/// Whether a path leads among the instance's own files, which no backup may overwrite: whoever may make backups need not be
/// an administrator.
fn is_our_own(engine: &Engine, path: &Path) -> bool {
    let there = real(path);
    let (data, backups) = (real(&engine.options().data_dir), real(&default_directory(engine)));
    let winds = there.components().any(|part| part == std::path::Component::ParentDir);
    there.starts_with(&data) && (winds || !there.starts_with(&backups))
}

/// In the system's words, with its number, as the product writes it.
fn cannot_open(path: &Path, e: &io::Error) -> Box<SqlError> {
    let text = e.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let detail = e.raw_os_error().map_or_else(|| words.to_owned(), |number| format!("{number}({words})"));
    errors::cannot_open(path.display(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_to_by_one_backup_at_a_time() {
        let (devices, one, other) =
            (Arc::new(Devices::default()), Path::new("/no/a.bak"), Path::new("/no/b.bak"));
        let held = Held::take(&devices, one).expect("nobody has it");
        assert!(Held::take(&devices, one).is_none() && Held::take(&devices, other).is_some());
        drop(held);
        assert!(Held::take(&devices, one).is_some());
    }
}
