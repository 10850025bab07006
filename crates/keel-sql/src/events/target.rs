//! Where events go: a ring buffer, files, counters, histograms.

use super::catalog::{Action, Event, Field};
use super::definition::TargetPart;
use super::file::Files;
use super::record::{Record, push_characters};
use crate::engine::ServerLog;
use keel_base::env::Disk;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// 100 ns from 1601-01-01, as names of files count, to 0001-01-01, as ticks do.
const FILETIME: i64 = 504_911_232_000_000_000;
/// Records of a ring buffer when nothing is said.
const RING_EVENTS: i64 = 1000;
/// Longest document that a view shows of a ring buffer, bytes.
const SHOWN_MAX: usize = 4 << 20;

/// A target of a running session.
pub enum Target {
    /// `ring_buffer`
    Ring(Ring),
    /// `event_file`
    File(Box<FileTarget>),
    /// `event_counter`
    Counter(Vec<(Event, u64)>),
    /// `histogram`
    Histogram(Histogram),
}

/// The newest events, in memory.
pub struct Ring {
    records: VecDeque<Record>,
    bytes: usize,
    bytes_max: usize,
    records_max: usize,
    total: u64,
    dropped: u64,
}

/// Files.
pub struct FileTarget {
    files: Files,
    path: PathBuf,
    written: u64,
    dropped: u64,
    log: Arc<dyn ServerLog>,
    /// The last event could not be written, and the error log says so.
    failing: bool,
}

impl FileTarget {
    fn take(&mut self, record: &Record) {
        let mut document = String::new();
        record.push_xml(false, &mut document);
        match self.files.append(&document, file_number(record.at)) {
            Ok(()) => {
                self.written += document.len() as u64;
                self.failing = false;
            }
            Err(e) => {
                self.dropped += 1;
                if !std::mem::replace(&mut self.failing, true) {
                    let path = self.path.display();
                    self.log
                        .write(&format!("Events for '{path}' are lost until it can be written again: {e}."));
                }
            }
        }
    }
}

/// How often values came.
pub struct Histogram {
    event: Option<Event>,
    by: By,
    slots: Vec<(Field, u64)>,
    slots_max: usize,
    dropped: u64,
}

enum By {
    Column(String),
    Action(Action),
}

/// Where relative names of files are, and how files are written.
pub struct Surroundings<'a> {
    /// Files.
    pub disk: &'a Arc<dyn Disk>,
    /// Directory of names without one.
    pub dir: &'a Path,
    /// Where it is said that a file cannot be written.
    pub log: &'a Arc<dyn ServerLog>,
    /// Now, UTC ticks.
    pub now: i64,
}

/// The number of a file that begins then.
#[must_use]
pub fn file_number(ticks: i64) -> u64 {
    u64::try_from(ticks - FILETIME).unwrap_or_default()
}

/// The file that a name means: without a directory it is among the logs; `.xel` is added when there is no extension.
#[must_use]
pub fn file_path(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    if path.extension().is_some() { path } else { path.with_extension("xel") }
}

impl Target {
    /// Begins a target. The error says what the system says of its file.
    pub fn begin(part: &TargetPart, around: &Surroundings<'_>) -> std::io::Result<Target> {
        let number = |name: &str, default: i64| {
            part.setting(name).and_then(super::definition::Setting::number).unwrap_or(default)
        };
        let positive = |name: &str, default: i64| usize::try_from(number(name, default)).unwrap_or(0);
        Ok(match part.name.as_str() {
            "event_file" => {
                let name = part.setting("filename").map(|s| s.text()).unwrap_or_default();
                let path = file_path(around.dir, &name);
                let size = positive("max_file_size", 1024) as u64 * (1 << 20);
                let mut files =
                    Files::new(Arc::clone(around.disk), &path, size, positive("max_rollover_files", 5));
                files.begin(file_number(around.now))?;
                Target::File(Box::new(FileTarget {
                    files,
                    path,
                    written: 0,
                    dropped: 0,
                    log: Arc::clone(around.log),
                    failing: false,
                }))
            }
            "event_counter" => Target::Counter(Vec::new()),
            "histogram" => Target::Histogram(Histogram::of(part, positive("slots", 256))),
            _ => {
                let records_max = match positive("max_events_limit", RING_EVENTS) {
                    0 => RING_EVENTS as usize,
                    n => n,
                };
                let bytes_max = match positive("max_memory", 4096) {
                    0 => 4096,
                    kb => kb,
                } * 1024;
                let (records, total) = (VecDeque::new(), 0);
                Target::Ring(Ring { records, bytes: 0, bytes_max, records_max, total, dropped: 0 })
            }
        })
    }

    /// Takes an event.
    pub fn take(&mut self, record: &Record) {
        match self {
            Target::Ring(ring) => ring.take(record),
            Target::File(file) => file.take(record),
            Target::Counter(counts) => match counts.iter_mut().find(|(event, _)| *event == record.event) {
                Some((_, n)) => *n += 1,
                None => counts.push((record.event, 1)),
            },
            Target::Histogram(histogram) => histogram.take(record),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Target::Ring(_) => "ring_buffer",
            Target::File(_) => "event_file",
            Target::Counter(_) => "event_counter",
            Target::Histogram(_) => "histogram",
        }
    }

    /// Bytes written to files.
    #[must_use]
    pub fn written(&self) -> u64 {
        if let Target::File(file) = self { file.written } else { 0 }
    }

    /// Events that it could not keep.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        match self {
            Target::Ring(ring) => ring.dropped,
            Target::File(file) => file.dropped,
            Target::Counter(_) => 0,
            Target::Histogram(histogram) => histogram.dropped,
        }
    }

    /// What it holds, as `target_data` of `sys.dm_xe_session_targets` shows it.
    #[must_use]
    pub fn data(&self) -> String {
        match self {
            Target::Ring(ring) => ring.data(),
            Target::File(file) => {
                let path = file.files.current().unwrap_or(&file.path);
                let mut out = format!(
                    "<EventFileTarget truncated=\"0\"><Buffers logged=\"{}\" dropped=\"{}\"/><File name=\"",
                    file.written, file.dropped
                );
                keel_query::xml::push_text(&path.to_string_lossy(), true, &mut out);
                out.push_str("\"/></EventFileTarget>");
                out
            }
            Target::Counter(counts) => {
                let mut out =
                    "<CounterTarget truncated=\"0\"><Packages><Package name=\"sqlserver\">".to_owned();
                for (event, n) in counts {
                    let _ = write!(out, "<Event name=\"{}\" count=\"{n}\"/>", event.info().name);
                }
                out.push_str("</Package></Packages></CounterTarget>");
                out
            }
            Target::Histogram(histogram) => histogram.data(),
        }
    }
}

impl Ring {
    fn take(&mut self, record: &Record) {
        self.total += 1;
        let bytes = record.bytes();
        if bytes > self.bytes_max {
            self.dropped += 1;
            return;
        }
        self.bytes += bytes;
        self.records.push_back(record.clone());
        while self.records.len() > self.records_max || self.bytes > self.bytes_max {
            let oldest = self.records.pop_front();
            self.bytes -= oldest.map_or(0, |record| record.bytes());
        }
    }

    fn data(&self) -> String {
        let mut events = String::new();
        let mut truncated = 0;
        for record in &self.records {
            let before = events.len();
            record.push_xml(true, &mut events);
            if events.len() > SHOWN_MAX {
                events.truncate(before);
                truncated = 1;
                break;
            }
        }
        format!(
            "<RingBufferTarget truncated=\"{truncated}\" processingTime=\"0\" totalEventsProcessed=\"{}\" eventCount=\"{}\" \
             droppedCount=\"{}\" memoryUsed=\"{}\">{events}</RingBufferTarget>",
            self.total,
            self.records.len(),
            self.dropped,
            self.bytes
        )
    }
}

impl Histogram {
    fn of(part: &TargetPart, slots_max: usize) -> Histogram {
        let text = |name: &str| part.setting(name).map(|s| s.text()).unwrap_or_default();
        let bare = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        let event = Event::named(&bare(&text("filtering_event_name")));
        let source = text("source");
        let by_column = part.setting("source_type").and_then(|s| s.number()) == Some(0);
        let action = match source.split_once('.') {
            Some((package, name)) => Action::named(package, name),
            None => super::catalog::PACKAGES.iter().find_map(|p| Action::named(p.name, &source)),
        };
        let by = match action {
            Some(action) if !by_column => By::Action(action),
            _ => By::Column(bare(&source)),
        };
        Histogram { event, by, slots: Vec::new(), slots_max: slots_max.max(1), dropped: 0 }
    }

    fn take(&mut self, record: &Record) {
        if self.event.is_some_and(|event| event != record.event) {
            return;
        }
        let value = match &self.by {
            By::Column(name) => {
                let mut columns = record.event.info().columns.iter();
                let at = columns.position(|(n, _)| n.eq_ignore_ascii_case(name));
                at.and_then(|at| record.fields.get(at))
            }
            By::Action(action) => record.actions.iter().find(|(a, _)| a == action).map(|(_, field)| field),
        };
        let Some(value) = value else { return };
        if let Some((_, n)) = self.slots.iter_mut().find(|(have, _)| have == value) {
            *n += 1;
        } else if self.slots.len() < self.slots_max {
            self.slots.push((value.clone(), 1));
        } else {
            self.dropped += 1;
        }
    }

    fn data(&self) -> String {
        let mut out = format!(
            "<HistogramTarget truncated=\"{}\" buckets=\"{}\">",
            u8::from(self.dropped > 0),
            self.slots_max
        );
        let mut slots: Vec<_> = self.slots.iter().collect();
        slots.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        for (value, n) in slots {
            let _ = write!(out, "<Slot count=\"{n}\" trunc=\"0\"><value>");
            match value {
                Field::Text(text) => push_characters(text, &mut out),
                Field::Number(n) => drop(write!(out, "{n}")),
                Field::Bytes(bytes) => out.push_str(&super::predicate::hex(bytes)),
                Field::Null => {}
            }
            out.push_str("</value></Slot>");
        }
        out.push_str("</HistogramTarget>");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::definition::Setting;
    use keel_base::env::sim::SimDisk;
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Lines(Mutex<Vec<String>>);

    impl ServerLog for Lines {
        fn write(&self, text: &str) {
            self.0.lock().push(text.to_owned());
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_once_and_goes_on() {
        let disk = SimDisk::new();
        let lines = Arc::new(Lines::default());
        let (on, log): (Arc<dyn Disk>, Arc<dyn ServerLog>) = (Arc::new(Arc::clone(&disk)), lines.clone());
        let around = Surroundings { disk: &on, dir: Path::new("/log"), log: &log, now: FILETIME + 1 };
        let settings = vec![("filename".to_owned(), Setting::Text("mine".to_owned()))];
        let part = TargetPart { id: 1, name: "event_file".to_owned(), settings };
        let mut target = Target::begin(&part, &around).expect("a healthy disk");
        let fields = vec![82i32.into(), "told".into(), Field::Null];
        let record = Record { event: Event::UserEvent, at: FILETIME + 2, fields, actions: Vec::new() };
        target.take(&record);
        disk.fail_nth(1);
        target.take(&record);
        assert!(!disk.fault_pending(), "that write failed");
        target.take(&record);
        assert_eq!((target.dropped(), lines.0.lock().len()), (1, 1));
        let file = super::super::file::matching(&*on, Path::new("/log/mine*.xel")).expect("a healthy disk");
        let kept =
            super::super::file::read(&*on, &file[0]).expect("a healthy disk").expect("a file of events");
        assert_eq!(kept.len(), 2);
    }
}
