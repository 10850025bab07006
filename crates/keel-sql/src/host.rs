//! What the operating system says of volumes and directories. Read when a view asks; nothing is kept.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A mounted file system.
pub(crate) struct Volume {
    /// Where it is mounted.
    pub mount_point: String,
    /// `ext4`, `xfs`, …; empty when the system does not say.
    pub kind: String,
    /// Its size.
    pub total_bytes: i64,
    /// What this process may still write.
    pub available_bytes: i64,
    /// Mounted for reading only.
    pub read_only: bool,
}

impl Volume {
    /// The volume that holds `path`; `None` when the path is not there.
    pub fn of(path: &Path) -> Option<Volume> {
        let path = path.canonicalize().ok()?;
        let said = rustix::fs::statvfs(&path).ok()?;
        let bytes = |blocks: u64| i64::try_from(blocks.saturating_mul(said.f_frsize)).unwrap_or(i64::MAX);
        let (mount_point, kind) = mounted(&path).unwrap_or_else(|| ("/".to_owned(), String::new()));
        Some(Volume {
            mount_point,
            kind,
            total_bytes: bytes(said.f_blocks),
            available_bytes: bytes(said.f_bavail),
            read_only: said.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
        })
    }
}

/// The mount point above `path` and the kind of its file system.
fn mounted(path: &Path) -> Option<(String, String)> {
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    let above = mounts.into_iter().filter(|m| path.starts_with(&m.mount_point));
    let nearest = above.max_by_key(|m| m.mount_point.components().count())?;
    Some((nearest.mount_point.display().to_string(), nearest.fs_type))
}

/// A file or a directory.
pub(crate) struct Entry {
    /// Whole path.
    pub path: String,
    /// Last part of it.
    pub name: String,
    /// A directory.
    pub is_directory: bool,
    /// Nobody may write it.
    pub read_only: bool,
    /// Unix time in nanoseconds; `None` when the file system does not keep it.
    pub created: Option<i64>,
    /// Likewise, of the last reading.
    pub accessed: Option<i64>,
    /// Likewise, of the last writing.
    pub written: Option<i64>,
    /// Size.
    pub bytes: i64,
}

/// What is in `directory` and fits `pattern` (`*` and `?` as in file names), by name. A directory that cannot be read is empty.
pub(crate) fn entries(directory: &Path, pattern: &str) -> Vec<Entry> {
    let Ok(found) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut entries: Vec<Entry> =
        found.flatten().filter_map(|e| entry(&e)).filter(|e| fits(&e.name, pattern)).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

/// A link is what it is, not what it points to: who walks a tree by this does not go in circles.
fn entry(e: &std::fs::DirEntry) -> Option<Entry> {
    let about = e.metadata().ok()?;
    let nanos = |t: std::io::Result<SystemTime>| {
        let since = t.ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_nanos()).ok()
    };
    Some(Entry {
        path: e.path().display().to_string(),
        name: e.file_name().to_string_lossy().into_owned(),
        is_directory: about.is_dir(),
        read_only: about.permissions().readonly(),
        created: nanos(about.created()),
        accessed: nanos(about.accessed()),
        written: nanos(about.modified()),
        bytes: i64::try_from(about.len()).unwrap_or(i64::MAX),
    })
}

/// Whether a file name fits a pattern of `*` and `?`.
fn fits(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) = (name.chars().collect(), pattern.chars().collect());
    let (mut n, mut p, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (n, p) = (n + 1, p + 1),
            // The last star takes one more.
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (n, p) = (from + 1, at + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Where a path leads, as far as its directories are there already.
pub(crate) fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|part| Some((part.canonicalize().ok()?, part)));
    let found = there.and_then(|(real, part)| Some(real.join(path.strip_prefix(part).ok()?)));
    found.unwrap_or_else(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_file_names() {
        for (name, pattern, fit) in [
            ("data", "*", true),
            ("data", "da?a", true),
            ("data.log", "*.log", true),
            ("a.log.log", "*.log", true),
            ("data.lo", "*.log", false),
            ("", "*", true),
            ("", "?", false),
            ("data", "data?", false),
        ] {
            assert_eq!(fits(name, pattern), fit, "{name} {pattern}");
        }
    }

    #[test]
    fn a_link_to_a_directory_above_is_no_directory() {
        let dir = std::env::temp_dir().join(format!("keel-host-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("below")).unwrap();
        std::os::unix::fs::symlink(&dir, dir.join("round")).unwrap();
        let found: Vec<_> = entries(&dir, "*").into_iter().map(|e| (e.name, e.is_directory)).collect();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(found, [("below".to_owned(), true), ("round".to_owned(), false)]);
    }

    #[test]
    fn paths_lead_where_their_links_lead() {
        let dir = std::env::temp_dir().join(format!("keel-real-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("there")).unwrap();
        std::os::unix::fs::symlink(dir.join("there"), dir.join("link")).unwrap();
        let found = ["link", "link/not/yet", "there/not", "not/link"].map(|part| real(&dir.join(part)));
        let wanted = ["there", "there/not/yet", "there/not", "not/link"].map(|part| real(&dir).join(part));
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(found, wanted);
    }

    #[test]
    fn the_volume_of_a_directory_has_room() {
        let here = Volume::of(&std::env::temp_dir()).expect("a volume");
        assert!(here.total_bytes >= here.available_bytes && here.mount_point.starts_with('/'));
        assert!(Volume::of(Path::new("/no/such/place")).is_none());
    }
}
