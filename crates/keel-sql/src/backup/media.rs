//! The files behind a statement's devices, and what the sets in them say of themselves.

use super::encryption::Encryption;
use super::mirror::Mirrored;
use super::{errors, history};
use crate::engine::Engine;
use crate::hadr::lsn::value as lsn;
use crate::views::NULL;
use keel_base::env::{Disk, File, OpenMode};
use keel_node::DbError;
use keel_node::backup::{self, BackupSet, Family, Striped};
use keel_types::error::Result;
use keel_types::{SqlError, Value};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a set says of itself beside its rows and log. Times are ticks of 100 ns since 0001-01-01, of the server's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Label {
    pub database: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub server: String,
    pub user: String,
    pub set: [u8; 16],
    pub family: [u8; 16],
    pub created: i64,
    pub started: i64,
    pub finished: i64,
    /// Not to be overwritten before; 0 for no such time.
    pub expires: i64,
    pub compatibility: u8,
    pub collation: String,
    pub recovery: String,
    pub read_only: bool,
    pub single_user: bool,
    pub copy_only: bool,
    /// A log backup.
    pub log: bool,
    /// A differential backup.
    pub differential: bool,
    /// The full backup that it refers to.
    pub base: [u8; 16],
    /// It is the first one of its chain.
    pub begins_chain: bool,
    /// When the backup before it ended; 0 of a full one.
    pub since: i64,
    /// Where the rows of the full backup before it are complete, which of a differential one is the one it refers to.
    pub full: u64,
    pub compressed: bool,
    pub checkpoint: u64,
    pub first: u64,
    pub last: u64,
    /// Bytes before compression, and in the file.
    pub bytes: u64,
    pub stored: u64,
    /// How the set is encrypted, if it is.
    pub encryption: Option<Encryption>,
    /// Copies of the media set beside the first.
    pub mirrors: u8,
}

impl Label {
    /// The product's letter for what it is.
    pub fn kind(&self) -> &'static str {
        match (self.log, self.differential) {
            (true, _) => "L",
            (false, true) => "I",
            (false, false) => "D",
        }
    }

    /// The statement that makes such a set.
    pub fn statement(&self) -> &'static str {
        match (self.log, self.differential) {
            (true, _) => "BACKUP LOG",
            (false, true) => "BACKUP DATABASE WITH DIFFERENTIAL",
            (false, false) => "BACKUP DATABASE",
        }
    }

    /// Where the rows of the full backup before it are complete.
    pub fn full_before(&self) -> Value {
        if self.log || self.differential { lsn(self.full) } else { history::number(0) }
    }

    /// The full backup that a differential one refers to: where its rows are complete, and its identity.
    pub fn base_shown(&self) -> [Value; 2] {
        if self.differential { [lsn(self.full), Value::Guid(self.base)] } else { [NULL, NULL] }
    }
}

/// A set with what it says.
pub(crate) struct Labelled {
    pub set: BackupSet,
    pub label: Label,
}

/// The devices of a statement.
pub(crate) struct Media {
    /// The first, for messages.
    pub device: String,
    /// Their paths, in the order in which they were named.
    pub devices: Vec<String>,
    /// Those of each mirror.
    pub mirrors: Vec<Vec<String>>,
    /// What is in them, one set behind the other.
    pub file: Arc<dyn File>,
    /// Of a device that is one of several, what it says of itself.
    pub families: Vec<(Family, Arc<dyn File>)>,
    /// Keeps others from writing to them.
    _held: Vec<Held>,
}

/// Files that are being written to, each by one backup: two would write to the same place behind the last set.
#[derive(Debug, Default)]
pub(crate) struct Devices(Mutex<Vec<PathBuf>>);

/// One of them, until dropped.
struct Held {
    devices: Arc<Devices>,
    path: PathBuf,
    /// Where the file was not there before: what is empty afterwards is removed.
    made: Option<Arc<dyn Disk>>,
}

impl Held {
    /// `None` when another backup is being written there.
    fn take(devices: &Arc<Devices>, path: &Path) -> Option<Held> {
        // Two names of one file are one; a file that is not there yet has only this one.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let mut held = devices.0.lock();
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
        self.devices.0.lock().retain(|path| *path != self.path);
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

impl Media {
    /// Opens the devices to be written, made when they are not there, and as many of each mirror. Several are one media set, which is
    /// begun anew when they hold nothing, or when `format` says so.
    pub fn to_write(
        engine: &Engine,
        devices: &[String],
        mirrors: &[Vec<String>],
        format: bool,
    ) -> Result<Media> {
        let mut held = Vec::new();
        let mut files: Vec<(String, Arc<dyn File>)> = Vec::new();
        let mut mirrored = vec![Vec::new(); mirrors.len()];
        for (n, device) in devices.iter().enumerate() {
            let (path, file) = open_to_write(engine, device, &mut held)?;
            if mirrors.is_empty() {
                files.push((path, file));
                continue;
            }
            let mut copies = vec![(path.clone(), file)];
            for (mirror, paths) in mirrors.iter().zip(&mut mirrored) {
                let (path, file) = open_to_write(engine, &mirror[n], &mut held)?;
                paths.push(path.clone());
                copies.push((path, file));
            }
            files.push((path, Arc::new(Mirrored::new(copies, format)?)));
        }
        let mut families = Vec::new();
        for (device, file) in &files {
            let found = Family::read(&**file).map_err(|e| errors::cannot_read(device, e))?;
            let empty = file.is_empty().map_err(|e| errors::cannot_read(device, e))?;
            families.push(found.filter(|_| !format));
            let formatted = found.map_or(1, |family| usize::from(family.families));
            if !format && !empty && formatted != devices.len() {
                return Err(errors::other_families(device, formatted, devices.len()));
            }
        }
        if devices.len() == 1 {
            let (device, file) = files.swap_remove(0);
            if format {
                file.set_len(0).map_err(|e| errors::cannot_write(&device, e))?;
            }
            return Ok(Media {
                devices: vec![device.clone()],
                device,
                file,
                families: Vec::new(),
                mirrors: mirrored,
                _held: held,
            });
        }
        if families.iter().all(Option::is_none) {
            let mut set = [0; 16];
            engine.options().env.random.fill(&mut set);
            for (n, (device, file)) in files.iter().enumerate() {
                let family = Family::new(devices.len(), n + 1, set);
                let begin = || file.set_len(0).and_then(|()| family.write(&**file));
                begin().map_err(|e| errors::cannot_write(device, e))?;
                families[n] = Some(family);
            }
        }
        Media { _held: held, mirrors: mirrored, ..Media::of_families(files, families)? }.complete()
    }

    /// Opens devices to be read: all of a media set.
    pub fn to_read(engine: &Engine, devices: &[String]) -> Result<Media> {
        Media::to_look_at(engine, devices)?.complete()
    }

    /// Opens devices to see what they are, which may be one of several.
    pub fn to_look_at(engine: &Engine, devices: &[String]) -> Result<Media> {
        let (mut files, mut families) = (Vec::new(), Vec::new());
        for device in devices {
            let path = path_of(engine, device);
            let file = engine.options().env.disk.open(&path, OpenMode::Read);
            let file = file.map_err(|e| cannot_open(&path, &e))?;
            families.push(Family::read(&*file).map_err(|e| errors::cannot_read(device, e))?);
            files.push((path.display().to_string(), file));
        }
        if families.len() == 1 && families[0].is_none() {
            let (device, file) = files.swap_remove(0);
            let devices = vec![device.clone()];
            return Ok(Media {
                devices,
                device,
                file,
                families: Vec::new(),
                mirrors: Vec::new(),
                _held: Vec::new(),
            });
        }
        Media::of_families(files, families)
    }

    /// Families of one set, each once.
    fn of_families(files: Vec<(String, Arc<dyn File>)>, found: Vec<Option<Family>>) -> Result<Media> {
        let mut families: Vec<(Family, Arc<dyn File>)> = Vec::new();
        for ((device, file), family) in files.iter().zip(found) {
            let family = family.ok_or_else(|| errors::not_of_several(device))?;
            if families.first().is_some_and(|(first, _)| first.set != family.set) {
                return Err(errors::not_of_several(device));
            }
            if let Some(twice) = families.iter().position(|(other, _)| other.number == family.number) {
                return Err(errors::family_twice(device, family.number, &files[twice].0));
            }
            families.push((family, Arc::clone(file)));
        }
        let devices: Vec<String> = files.into_iter().map(|(device, _)| device).collect();
        let file = Arc::new(Striped::new(families.clone()));
        let (device, mirrors) = (devices[0].clone(), Vec::new());
        Ok(Media { device, devices, mirrors, file, families, _held: Vec::new() })
    }

    /// All families must be there for what is in them to be read.
    fn complete(self) -> Result<Media> {
        match self.families.first() {
            Some((family, _)) if usize::from(family.families) != self.families.len() => {
                Err(errors::families_missing(family.families, self.families.len()))
            }
            _ => Ok(self),
        }
    }

    /// Notes in each of several files when the newest backup was finished.
    pub fn note_finished(&self, finished: i64) -> Result<()> {
        for (family, file) in &self.families {
            let mut family = *family;
            family.finished = finished;
            let noted = family.write(&**file).and_then(|()| file.sync_all());
            noted.map_err(|e| errors::cannot_write(&self.device, e))?;
        }
        Ok(())
    }

    /// The sets in it, behind which another one may be written.
    pub fn sets_to_append(&self) -> Result<Vec<Labelled>> {
        let found = self.found()?;
        if found.others_lie_behind_damage {
            return Err(errors::incorrectly_formed(&self.device));
        }
        self.labelled(found)
    }

    /// The sets in it that can be read.
    pub fn sets(&self) -> Result<Vec<Labelled>> {
        self.labelled(self.found()?)
    }

    fn found(&self) -> Result<backup::Sets> {
        backup::sets(&*self.file).map_err(|e| match e {
            DbError::Corrupt(_) => errors::incorrectly_formed(&self.device),
            e => errors::cannot_read(&self.device, e),
        })
    }

    fn labelled(&self, found: backup::Sets) -> Result<Vec<Labelled>> {
        let labelled = |set: BackupSet| {
            let label = serde_json::from_slice(&set.label);
            Ok(Labelled { label: label.map_err(|_| errors::incorrectly_formed(&self.device))?, set })
        };
        found.whole.into_iter().map(labelled).collect()
    }

    /// The set with a number; the first when none is asked for.
    pub fn set(&self, number: Option<i64>) -> Result<Labelled> {
        let number = number.unwrap_or(1);
        let mut sets = self.sets()?;
        let at = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < sets.len());
        Ok(sets.swap_remove(at.ok_or_else(|| errors::no_set(number, &self.device))?))
    }

    /// What went wrong while a set was written to it.
    pub fn not_written(&self, e: DbError) -> Box<SqlError> {
        errors::cannot_write(&self.device, e)
    }

    /// What went wrong while a set was read from it.
    pub fn not_read(&self, e: DbError) -> Box<SqlError> {
        match e {
            DbError::Corrupt(detail) => errors::damaged(detail),
            e => errors::cannot_read(&self.device, e),
        }
    }
}

fn open_to_write(engine: &Engine, device: &str, held: &mut Vec<Held>) -> Result<(String, Arc<dyn File>)> {
    if device.eq_ignore_ascii_case(NULL_DEVICE) || device == "/dev/null" {
        return Ok((device.to_owned(), Arc::new(Nul)));
    }
    let (disk, path) = (&engine.options().env.disk, path_of(engine, device));
    if is_our_own(engine, &path) {
        return Err(errors::cannot_open(path.display(), "5(Access is denied.)"));
    }
    let there = disk.exists(&path);
    let open = || {
        // As the product does on Linux: maintenance scripts count on it there.
        path.parent().map_or(Ok(()), |parent| disk.create_dir_all(parent))?;
        let file = disk.open(&path, OpenMode::Create)?;
        path.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))?;
        Ok(file)
    };
    let file = open().map_err(|e: io::Error| cannot_open(&path, &e))?;
    let in_use = || errors::cannot_open(path.display(), "32(another backup is being written to it)");
    let mut mine = Held::take(&engine.devices, &path).ok_or_else(in_use)?;
    mine.made = (!there).then(|| Arc::clone(disk));
    held.push(mine);
    Ok((path.display().to_string(), file))
}

fn path_of(engine: &Engine, device: &str) -> PathBuf {
    let path = Path::new(device);
    if path.is_absolute() { path.to_path_buf() } else { default_directory(engine).join(path) }
}

/// Removes the backup files of a directory, of those with an extension, whose newest set was finished before a time (local ticks). What is
/// no backup stays, and what one is being written to.
pub(crate) fn remove_old(
    engine: &Engine,
    directory: &Path,
    extension: &str,
    before: i64,
    below: bool,
) -> io::Result<()> {
    let disk = &engine.options().env.disk;
    for path in disk.list(directory)? {
        let named = path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
        if named && is_older(engine, &path, before) {
            let Some(_held) = Held::take(&engine.devices, &path) else { continue };
            disk.remove(&path)?;
        } else if below && !named {
            // A file has nothing in it.
            let _ = remove_old(engine, &path, extension, before, false);
        }
    }
    Ok(())
}

fn is_older(engine: &Engine, path: &Path, before: i64) -> bool {
    let Ok(media) = Media::to_look_at(engine, &[path.display().to_string()]) else { return false };
    if let Some((family, _)) = media.families.first() {
        return family.finished != 0 && family.finished < before;
    }
    media.sets().is_ok_and(|sets| sets.last().is_some_and(|newest| newest.label.finished < before))
}

/// Whether a path leads among the instance's own files, which no backup may overwrite: whoever may make backups need not be
/// an administrator.
fn is_our_own(engine: &Engine, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let there = if path.exists() { real(path) } else { path.parent().map_or_else(PathBuf::new, real) };
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
