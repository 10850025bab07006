//! The server's error log: a readable file, rotated at each start, repeated on standard error.
//!
//! `errorlog` is the current one, `errorlog.1` to `errorlog.6` those before, as administrators of the product know them.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use keel_sql::ServerLog;
use parking_lot::Mutex;
use time::OffsetDateTime;
use time::macros::format_description;

/// Old logs kept.
const KEPT: u32 = 6;
/// Size at which a log is rotated without a restart.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The error log.
pub struct ErrorLog {
    path: PathBuf,
    open: Mutex<Open>,
    to_stderr: bool,
}

struct Open {
    file: File,
    bytes: u64,
}

impl ErrorLog {
    /// Starts a new log in `dir`, keeping the last ones.
    pub fn start(dir: &Path, to_stderr: bool) -> std::io::Result<ErrorLog> {
        fs::create_dir_all(dir)?;
        let path = dir.join("errorlog");
        let open = Open { file: rotate(&path)?, bytes: 0 };
        Ok(ErrorLog { path, open: Mutex::new(open), to_stderr })
    }

    /// Writes an entry from `source` ("Server", "Logon", "spid51").
    pub fn entry(&self, source: &str, text: &str) {
        // A log that cannot be written has nowhere to complain; standard error has the line already.
        let _ = self.append(source, text);
    }

    fn append(&self, source: &str, text: &str) -> std::io::Result<()> {
        let now = OffsetDateTime::now_local().unwrap_or_else(|_| OffsetDateTime::now_utc());
        let format =
            format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond digits:2]");
        let stamp = now.format(format).unwrap_or_default();
        let mut line = String::new();
        for part in text.lines() {
            line.push_str(&format!("{stamp} {source:<11} {part}\n"));
        }
        if self.to_stderr {
            eprint!("{line}");
        }
        let mut open = self.open.lock();
        if open.bytes > BYTES_MAX
            && let Ok(file) = rotate(&self.path)
        {
            *open = Open { file, bytes: 0 };
        }
        open.file.write_all(line.as_bytes())?;
        open.bytes += u64::try_from(line.len()).unwrap_or(0);
        Ok(())
    }
}

impl ServerLog for ErrorLog {
    fn write(&self, text: &str) {
        self.entry("Server", text);
    }
    fn record(&self, line: &str) -> std::io::Result<()> {
        self.append("Server", line)
    }
    fn cycle(&self) -> std::io::Result<()> {
        let mut open = self.open.lock();
        *open = Open { file: rotate(&self.path)?, bytes: 0 };
        Ok(())
    }
    fn archives(&self) -> Vec<(u32, PathBuf)> {
        let old = (1..=KEPT).map(|n| (n, self.path.with_file_name(format!("errorlog.{n}"))));
        let all = std::iter::once((0, self.path.clone())).chain(old);
        all.filter(|(_, path)| path.exists()).collect()
    }
}

fn rotate(path: &Path) -> std::io::Result<File> {
    let numbered = |n: u32| path.with_file_name(format!("errorlog.{n}"));
    if path.exists() {
        for n in (1..KEPT).rev() {
            if numbered(n).exists() {
                fs::rename(numbered(n), numbered(n + 1))?;
            }
        }
        fs::rename(path, numbered(1))?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_rotates() {
        let dir = std::env::temp_dir().join(format!("keel-errorlog-{}", std::process::id()));
        for n in 0..9 {
            ErrorLog::start(&dir, false).expect("writable").entry("Server", &format!("start {n}"));
        }
        let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
        assert!(read("errorlog").contains("Server      start 8"));
        assert!(read("errorlog.6").contains("start 2"));
        assert!(!dir.join("errorlog.7").exists());
        fs::remove_dir_all(&dir).expect("ours");
    }

    #[test]
    fn a_cycled_log_begins_anew_and_keeps_the_one_before() {
        let dir = std::env::temp_dir().join(format!("keel-errorlog-cycled-{}", std::process::id()));
        let log = ErrorLog::start(&dir, false).expect("writable");
        log.entry("Server", "before");
        log.cycle().expect("writable");
        log.entry("Server", "after");
        let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
        assert!(read("errorlog").contains("after") && !read("errorlog").contains("before"));
        assert!(read("errorlog.1").contains("before"));
        fs::remove_dir_all(&dir).expect("ours");
    }

    #[test]
    fn a_record_that_cannot_be_written_is_told_and_an_entry_is_not() {
        let dir = std::env::temp_dir().join(format!("keel-errorlog-full-{}", std::process::id()));
        let log = ErrorLog::start(&dir, false).expect("writable");
        log.record("one").expect("written");
        let full = OpenOptions::new().write(true).open("/dev/full").expect("of Linux");
        *log.open.lock() = Open { file: full, bytes: 0 };
        assert!(log.record("two").is_err());
        log.write("three");
        let read = fs::read_to_string(dir.join("errorlog")).expect("readable");
        assert!(read.ends_with("Server      one\n"), "{read}");
        fs::remove_dir_all(&dir).expect("ours");
    }
}
