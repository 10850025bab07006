//! The files behind a statement's devices, and what the sets in them say of themselves.

use super::device::{Device, Held, open_to_write};
use super::encryption::Encryption;
use super::mirror::Mirrored;
use super::url::{Reach, is_url, stored};
use super::{errors, history};
use crate::engine::Engine;
use crate::hadr::lsn::value as lsn;
use crate::views::NULL;
use keel_base::env::File;
use keel_base::env::objects::NewObject;
use keel_node::DbError;
use keel_node::backup::{self, BackupSet, Family, Striped};
use keel_repository::RepositoryFile;
use keel_types::error::Result;
use keel_types::{SqlError, Value};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a set says of itself beside its rows and log. Times are ticks of 100 ns since 0001-01-01, of the server's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Label {
    pub database: String,
    /// The logical name of its data file, where that is another.
    pub file: Option<String>,
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
    /// All that was committed before is in the backups before it; 0 of a full one, and when that is not known.
    pub since: i64,
    /// All that was committed before is in it or in those before; 0 of a full one, and when that is not known: a copy may be behind.
    pub complete: i64,
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
    /// The logical name of the data file.
    pub fn file_name(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.database)
    }

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
    /// Those that lie in a repository, when they are written to.
    stored: Vec<Arc<RepositoryFile>>,
    /// Those that are objects, when they are written to.
    objects: Vec<Arc<dyn NewObject>>,
    /// Keeps others from writing to them.
    _held: Vec<Held>,
}

impl Media {
    /// Opens the devices to be written, made when they are not there, and as many of each mirror. Several are one media set, which is
    /// begun anew when they hold nothing, or when `format` says so.
    pub fn to_write(
        reach: &Reach<'_>,
        devices: &[String],
        mirrors: &[Vec<String>],
        format: bool,
    ) -> Result<Media> {
        let (mut held, mut stored, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        let mut open = |device: &str| {
            let Device { path, file, stored: own, object } = open_to_write(reach, device, format, &mut held)?;
            stored.extend(own);
            objects.extend(object);
            Ok::<_, Box<SqlError>>((path, file))
        };
        let mut files: Vec<(String, Arc<dyn File>)> = Vec::new();
        let mut mirrored = vec![Vec::new(); mirrors.len()];
        for (n, device) in devices.iter().enumerate() {
            let (path, file) = open(device)?;
            if mirrors.is_empty() {
                files.push((path, file));
                continue;
            }
            let mut copies = vec![(path.clone(), file)];
            for (mirror, paths) in mirrors.iter().zip(&mut mirrored) {
                let (path, file) = open(&mirror[n])?;
                paths.push(path.clone());
                copies.push((path, file));
            }
            files.push((path, Arc::new(Mirrored::new(copies, format)?)));
        }
        let mut families = Vec::new();
        for (device, file) in &files {
            let found = Family::read(&**file).map_err(|e| not_looked_at(device, &e))?;
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
            let media = Media::of_file(device, file);
            return Ok(Media { mirrors: mirrored, stored, objects, _held: held, ..media });
        }
        if families.iter().all(Option::is_none) {
            let mut set = [0; 16];
            reach.engine.options().env.random.fill(&mut set);
            for (n, (device, file)) in files.iter().enumerate() {
                let family = Family::new(devices.len(), n + 1, set);
                let begin = || file.set_len(0).and_then(|()| family.write(&**file));
                begin().map_err(|e| errors::cannot_write(device, e))?;
                families[n] = Some(family);
            }
        }
        let media = Media::of_families(files, families)?;
        Media { _held: held, stored, objects, mirrors: mirrored, ..media }.complete()
    }

    /// Opens devices to be read: all of a media set.
    pub fn to_read(reach: &Reach<'_>, devices: &[String]) -> Result<Media> {
        Media::to_look_at(reach, devices)?.complete()
    }

    /// Opens devices to see what they are, which may be one of several.
    pub fn to_look_at(reach: &Reach<'_>, devices: &[String]) -> Result<Media> {
        let (mut files, mut families) = (Vec::new(), Vec::new());
        for device in devices {
            let Device { path, file, .. } = Device::to_read(reach, device)?;
            families.push(Family::read(&*file).map_err(|e| not_looked_at(device, &e))?);
            files.push((path, file));
        }
        if families.len() == 1 && families[0].is_none() {
            let (device, file) = files.swap_remove(0);
            return Ok(Media::of_file(device, file));
        }
        Media::of_families(files, families)
    }

    fn of_file(device: String, file: Arc<dyn File>) -> Media {
        let devices = vec![device.clone()];
        let (mirrors, families) = (Vec::new(), Vec::new());
        let (stored, objects, _held) = (Vec::new(), Vec::new(), Vec::new());
        Media { device, devices, mirrors, file, families, stored, objects, _held }
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
        let (stored, objects, _held) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Media { device, devices, mirrors, file, families, stored, objects, _held })
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

    /// Whether some lie in a repository, which finds equal rows and compresses them itself.
    pub fn is_deduplicated(&self) -> bool {
        !self.stored.is_empty()
    }

    /// What was written and was in the repository already, for whoever made the backup.
    pub fn say_stored(&self) -> Option<String> {
        let root = self.stored.first()?.repository().root().display();
        let (new, taken) = self
            .stored
            .iter()
            .map(|file| file.new_bytes())
            .fold((0, 0), |(new, taken), file| (new + file.0, taken + file.1));
        let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        Some(format!(
            "{:.1} MB of it were new to the repository {root} and take {:.1} MB there.",
            megabytes(new),
            megabytes(taken)
        ))
    }

    /// What was being written has failed. Objects that are whole belong to a set that is not.
    pub fn give_up(&self) {
        // At the same time: a storage that does not answer keeps each of them waiting.
        std::thread::scope(|scope| {
            for object in &self.objects {
                scope.spawn(|| object.give_up());
            }
        });
    }

    /// Notes in each of several files when the newest backup was finished; not in objects, which stay as they are.
    pub fn note_finished(&self, finished: i64) -> Result<()> {
        if !self.objects.is_empty() {
            return Ok(());
        }
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
        // Nothing is appended to an object, and what is in between would have to be fetched.
        let alone = if is_url(&self.device) { backup::only_set(&*self.file, &stored) } else { Ok(None) };
        let found = alone.and_then(|alone| match alone {
            Some(set) => Ok(backup::Sets { whole: vec![set], ..backup::Sets::default() }),
            None => backup::sets(&*self.file),
        });
        found.map_err(|e| match e {
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

fn not_looked_at(device: &str, e: &io::Error) -> Box<SqlError> {
    match e.kind() {
        // A file that knows what is to be in it.
        io::ErrorKind::InvalidData => errors::damaged(e),
        _ => errors::cannot_read(device, e),
    }
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

/// Removes a file that is a backup, and is not being written to.
///
/// # Errors
/// `InvalidInput` when it is none, and the disk's.
pub(crate) fn remove_backup(engine: &Engine, path: &Path) -> io::Result<()> {
    let invalid = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
    if !is_older(engine, path, i64::MAX) {
        return Err(invalid("it is no backup"));
    }
    let _held =
        Held::take(&engine.devices, path).ok_or_else(|| invalid("a backup is being written to it"))?;
    engine.options().env.disk.remove(path)
}

fn is_older(engine: &Engine, path: &Path, before: i64) -> bool {
    let Ok(media) = Media::to_look_at(&Reach::disks(engine), &[path.display().to_string()]) else {
        return false;
    };
    if let Some((family, _)) = media.families.first() {
        return family.finished != 0 && family.finished < before;
    }
    media.sets().is_ok_and(|sets| sets.last().is_some_and(|newest| newest.label.finished < before))
}
