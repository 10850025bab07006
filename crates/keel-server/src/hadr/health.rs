//! The AlwaysOn health log: `log/alwayson_health`, one event a line as JSON, and the newest events in memory for
//! `sys.dm_keel_health_log`.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use keel_sql::hadr::HealthEvent;
use parking_lot::Mutex;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Events kept in memory.
const KEPT: usize = 1000;
/// Size at which the file becomes `alwayson_health.1` and a new one is begun.
const BYTES_MAX: u64 = 16 << 20;
/// Ticks of 100 ns from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i128 = 621_355_968_000_000_000;

/// The health log of an instance.
pub(super) struct HealthLog {
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    bytes: u64,
    newest: VecDeque<HealthEvent>,
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl HealthLog {
    /// Goes on with the log in `dir`.
    pub(super) fn open(dir: &Path) -> std::io::Result<HealthLog> {
        std::fs::create_dir_all(dir)?;
        let path = dir.join("alwayson_health");
        let file = append(&path)?;
        let bytes = file.metadata()?.len();
        Ok(HealthLog { path, inner: Mutex::new(Inner { file, bytes, newest: VecDeque::new() }) })
    }

    /// Writes an event that happens now.
    pub(super) fn write(&self, mut event: HealthEvent) {
        let now = OffsetDateTime::now_utc();
        event.time_utc =
            i64::try_from(UNIX_EPOCH_TICKS + now.unix_timestamp_nanos() / 100).unwrap_or(i64::MAX);
        let mut line = serde_json::json!({
            "time": now.format(&Rfc3339).unwrap_or_default(),
            "event": event.name,
            "group": event.group,
            "replica": event.replica,
            "database": event.database,
            "number": event.number,
            "message": event.text,
        })
        .to_string();
        line.push('\n');
        let mut inner = self.inner.lock();
        if inner.bytes > BYTES_MAX {
            // A log that cannot be rotated grows on.
            let _ = std::fs::rename(&self.path, self.path.with_extension("1"));
            if let Ok(file) = append(&self.path) {
                inner.file = file;
                inner.bytes = 0;
            }
        }
        // A log that cannot be written has nowhere to complain; the view has the event.
        if inner.file.write_all(line.as_bytes()).is_ok() {
            inner.bytes += line.len() as u64;
        }
        if inner.newest.len() == KEPT {
            inner.newest.pop_front();
        }
        inner.newest.push_back(event);
    }

    /// The newest events, oldest first.
    pub(super) fn newest(&self) -> Vec<HealthEvent> {
        self.inner.lock().newest.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_shown_and_stays() {
        let dir = std::env::temp_dir().join(format!("keel-health-{}", std::process::id()));
        let log = HealthLog::open(&dir).expect("opens");
        for text in ["first", "second"] {
            log.write(HealthEvent {
                time_utc: 0,
                name: "error_reported".to_owned(),
                group: Some("ag".to_owned()),
                replica: None,
                database: None,
                number: 35264,
                text: text.to_owned(),
            });
        }
        assert_eq!(log.newest().iter().map(|e| e.text.as_str()).collect::<Vec<_>>(), ["first", "second"]);
        drop(log);
        HealthLog::open(&dir).expect("opens again");
        let kept = std::fs::read_to_string(dir.join("alwayson_health")).expect("is text");
        assert_eq!(kept.lines().count(), 2);
        assert!(kept.contains(r#""number":35264"#), "{kept}");
        std::fs::remove_dir_all(&dir).expect("ours");
    }
}
