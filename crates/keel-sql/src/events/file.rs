//! Files of events (`.xel`), and of audits (`.sqlaudit`): documents one after the other.
//!
//! ```text
//!   file    "KEELXE1\n" record …
//!   record  length in bytes, decimal "\n" document "\n"
//! ```
//! A record that is cut off ends the file. Files of a session are named after it, with a number that grows: `slow_0_….xel`.

use keel_base::env::{Disk, File, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8] = b"KEELXE1\n";
/// Longest record that is read.
const RECORD_MAX: u64 = 64 << 20;
/// Bytes asked of the disk at a time.
const READ_BYTES: u64 = 1 << 20;

/// Files of one target.
pub struct Files {
    disk: Arc<dyn Disk>,
    /// Directory and name without number and extension.
    dir: PathBuf,
    base: String,
    extension: String,
    size_max: u64,
    kept: usize,
    /// Files are made durable before the next begins.
    durable: bool,
    /// No more files than this are made; 0: any number.
    files_max: usize,
    /// Files get their whole length when they begin.
    reserves: bool,
    open: Option<(Arc<dyn File>, u64, PathBuf)>,
    last_number: u64,
}

impl Files {
    /// The files named `path`, of at most `size_max` bytes each, `kept` of them (0: all).
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, path: &Path, size_max: u64, kept: usize) -> Files {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let (base, extension) = match name.rsplit_once('.') {
            Some((base, extension)) => (base.to_owned(), extension.to_owned()),
            None => (name, "xel".to_owned()),
        };
        let dir = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let (durable, files_max, reserves, open, last_number) = (false, 0, false, None, 0);
        Files { disk, dir, base, extension, size_max, kept, durable, files_max, reserves, open, last_number }
    }

    /// The same for an audit: no file is begun when there are `files_max` of them (0: always), files get their whole length when they begin
    /// if it `reserves`, and what was written is durable when the next begins.
    #[must_use]
    pub fn for_audit(self, files_max: usize, reserves: bool) -> Files {
        Files { durable: true, files_max, reserves, ..self }
    }

    /// Makes durable what was written.
    pub fn sync(&self) -> io::Result<()> {
        self.open.as_ref().map_or(Ok(()), |(file, ..)| file.sync_data())
    }

    /// The file that is written to, to be made durable while others write.
    #[must_use]
    pub fn handle(&self) -> Option<Arc<dyn File>> {
        self.open.as_ref().map(|(file, ..)| Arc::clone(file))
    }

    /// Bytes written to the current file.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.open.as_ref().map_or(0, |(_, at, _)| *at)
    }

    /// The file that is written to.
    #[must_use]
    pub fn current(&self) -> Option<&Path> {
        self.open.as_ref().map(|(_, _, path)| path.as_path())
    }

    /// Begins a file; `number` grows from file to file.
    pub fn begin(&mut self, number: u64) -> io::Result<()> {
        self.disk.create_dir_all(&self.dir)?;
        if self.files_max > 0 && self.numbered()?.len() >= self.files_max {
            return Err(io::Error::other(format!("there are {} files already", self.files_max)));
        }
        self.last_number = number.max(self.last_number + 1);
        let path = self.dir.join(format!("{}_0_{}.{}", self.base, self.last_number, self.extension));
        let file = self.disk.open(&path, OpenMode::CreateNew)?;
        if let Err(e) = self.head(&*file) {
            // Nothing is in it, and a full disk would get another with every record.
            let _ = self.disk.remove(&path);
            return Err(e);
        }
        self.open = Some((file, MAGIC.len() as u64, path));
        // One that cannot be removed now goes with the next.
        let _ = self.remove_old();
        Ok(())
    }

    /// Writes what a file begins with.
    fn head(&self, file: &dyn File) -> io::Result<()> {
        if self.reserves {
            file.allocate(self.size_max)?;
        }
        file.write_at(MAGIC, 0)?;
        if self.durable {
            self.sync()?;
            file.sync_data()?;
            self.disk.sync_dir(&self.dir)?;
        }
        Ok(())
    }

    /// Appends a document, in a new file when it does not fit into this one.
    pub fn append(&mut self, document: &str, number: u64) -> io::Result<()> {
        let mut record = format!("{}\n", document.len()).into_bytes();
        record.extend(document.as_bytes());
        record.push(b'\n');
        let begun = MAGIC.len() as u64;
        let full = |at: u64| at > begun && at + record.len() as u64 > self.size_max;
        if self.open.as_ref().is_none_or(|(_, at, _)| full(*at)) {
            self.begin(number)?;
        }
        if let Some((file, at, _)) = &mut self.open {
            file.write_at(&record, *at)?;
            *at += record.len() as u64;
        }
        Ok(())
    }

    /// The files that there are, oldest first.
    fn numbered(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let number = |path: PathBuf| {
            let name = path.file_name()?.to_str()?.to_owned();
            let rest = name.strip_prefix(self.base.as_str())?.strip_prefix("_0_")?;
            let number = rest.strip_suffix(self.extension.as_str())?.strip_suffix('.')?;
            Some((number.parse().ok()?, path))
        };
        let mut numbered: Vec<(u64, PathBuf)> =
            self.disk.list(&self.dir)?.into_iter().filter_map(number).collect();
        numbered.sort();
        Ok(numbered)
    }

    fn remove_old(&self) -> io::Result<()> {
        if self.kept == 0 {
            return Ok(());
        }
        let numbered = self.numbered()?;
        let old = numbered.len().saturating_sub(self.kept);
        for (_, path) in &numbered[..old] {
            self.disk.remove(path)?;
        }
        Ok(())
    }
}

/// A document of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it begins in its file.
    pub offset: u64,
    /// The document.
    pub document: String,
    /// Its bytes in the file.
    bytes: usize,
}

impl Stored {
    /// Where its record ends in its file.
    fn end(&self) -> u64 {
        let length = self.bytes as u64;
        self.offset + length.to_string().len() as u64 + 1 + length + 1
    }

    /// An attribute of its element: `name`, `timestamp`.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let head = &self.document[..self.document.find('>')?];
        let rest = &head[head.find(&format!(" {name}=\""))? + name.len() + 3..];
        rest.split('"').next()
    }
}

/// The files that a pattern means, in the order of their names. `*` stands for any characters of a name.
pub fn matching(disk: &dyn Disk, pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let name = pattern.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let dir = pattern.parent().map(Path::to_path_buf).unwrap_or_default();
    let is = |path: &PathBuf| {
        path.file_name().and_then(|n| n.to_str()).is_some_and(|n| fits(n.as_bytes(), name.as_bytes()))
    };
    Ok(disk.list(&dir)?.into_iter().filter(is).collect())
}

/// Whether a name is what a pattern says. What does not fit is tried again from the last star only: the time is the product of the lengths.
fn fits(name: &[u8], pattern: &[u8]) -> bool {
    let (mut n, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((n, p + 1));
                p += 1;
            }
            Some(c) if c.eq_ignore_ascii_case(&name[n]) => (n, p) = (n + 1, p + 1),
            _ => {
                let Some((from, behind)) = star else { return false };
                star = Some((from + 1, behind));
                (n, p) = (from + 1, behind);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// All documents of a file. `None` when it is not such a file.
pub fn read(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<Stored>>> {
    Ok(bytes(disk, path)?.as_deref().and_then(documents))
}

/// The bytes of a file. `None` when it does not begin as one of events.
fn bytes(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = file.len()?;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        let at = bytes.len();
        bytes.resize(at + READ_BYTES.min(length - at as u64) as usize, 0);
        file.read_at(&mut bytes[at..], at as u64)?;
        if at == 0 && !bytes.starts_with(MAGIC) {
            return Ok(None);
        }
    }
    Ok(Some(bytes))
}

/// Whether not even the beginning of a file has been written: the power went when it was made.
fn has_no_beginning(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    let file = disk.open(path, OpenMode::Read)?;
    let mut head = vec![0; MAGIC.len()];
    let read = file.read_at(&mut head, 0)?;
    Ok(read < MAGIC.len() || head.iter().all(|b| *b == 0))
}

/// The documents of a file, and where what is cut off begins, if something is: zeros behind the last are space that was reserved.
pub fn read_to_torn(disk: &dyn Disk, path: &Path) -> io::Result<Option<(Vec<Stored>, Option<u64>)>> {
    let found = bytes(disk, path)?.and_then(|bytes| Some((documents(&bytes)?, bytes)));
    let Some((all, bytes)) = found else {
        return Ok(has_no_beginning(disk, path)?.then(|| (Vec::new(), Some(0))));
    };
    let end = all.last().map_or(MAGIC.len() as u64, Stored::end);
    let rest = bytes.get(usize::try_from(end).unwrap_or(usize::MAX)..).unwrap_or_default();
    let torn = rest.iter().any(|b| *b != 0).then_some(end);
    Ok(Some((all, torn)))
}

/// The documents in the bytes of a file. `None` when they are not of such a file.
#[must_use]
pub fn documents(bytes: &[u8]) -> Option<Vec<Stored>> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut out = Vec::new();
    while let Some((document, behind)) = record(rest) {
        let offset = (bytes.len() - rest.len()) as u64;
        let (bytes, document) = (document.len(), String::from_utf8_lossy(document).into_owned());
        out.push(Stored { offset, document, bytes });
        rest = behind;
    }
    Some(out)
}

fn record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().take(12).position(|b| *b == b'\n')?;
    let length: u64 = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
    if length > RECORD_MAX {
        return None;
    }
    let (document, behind) = bytes[end + 1..].split_at_checked(length as usize)?;
    Some((document, behind.strip_prefix(b"\n")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_ends_a_file() {
        let whole = b"KEELXE1\n5\n<a/>\n\n4\n<b/>\n".to_vec();
        let documents = |bytes: &[u8]| {
            super::documents(bytes).map(|all| all.into_iter().map(|d| d.document).collect::<Vec<_>>())
        };
        assert_eq!(documents(&whole), Some(vec!["<a/>\n".to_owned(), "<b/>".to_owned()]));
        for cut in 0..whole.len() {
            let some = documents(&whole[..cut]);
            assert_eq!(some.is_some(), cut >= MAGIC.len(), "cut at {cut}");
            assert!(some.is_none_or(|d| d.len() < 2));
        }
        assert_eq!(documents(b"KEELXE1\n99999999999\nx\n"), Some(vec![]));
        assert_eq!(documents(b"KEELXE1\n-1\nx\n"), Some(vec![]));
    }

    #[test]
    fn attributes_are_those_of_the_element() {
        let document = "<event name=\"x\" timestamp=\"t\"><data name=\"y\"/>".to_owned();
        let stored = Stored { offset: 0, bytes: document.len(), document };
        assert_eq!((stored.attribute("name"), stored.attribute("timestamp")), (Some("x"), Some("t")));
        assert_eq!(stored.attribute("package"), None);
    }

    #[test]
    fn stars_stand_for_anything() {
        assert!(fits(b"slow_0_12.xel", b"slow*.xel") && fits(b"a.XEL", b"*.xel") && fits(b"a", b"*"));
        assert!(!fits(b"slow.txt", b"slow*.xel") && !fits(b"", b"a*"));
        assert!(fits(b"abcabd", b"*ab*d**") && fits(b"", b"**") && !fits(b"abc", b"a*bd"));
        assert!(!fits(&[b'a'; 200], b"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), "in no time");
    }
}
