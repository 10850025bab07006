//! What a run leaves behind: one page that needs nothing else, and the same as JSON and CSV.
//!
//! A [`Report`] is data, made by a command from what its measurement gave: *figures* (named samples, what
//! [`compare`] puts beside another run's), *tables* for people, *plots* over time or over users, *checks* that hold or do
//! not. Around it stands what a figure means nothing without: the machine and how much of it was taken away during the
//! run, versions, all settings, and a hash over those, so that two runs with the same hash asked the same question.
//!
//! The JSON file holds all of it and can be read back; the page and the CSV are made from it. The page loads nothing.

pub mod compare;
pub mod html;
pub mod machine;
pub mod papers;

use anyhow::{Context, Result, ensure};
use machine::Machine;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Version of the JSON file's form.
pub const FORMAT: u32 = 1;

/// Whether more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is.
    Higher,
    /// Less is.
    Lower,
}

/// Something that was measured, once or several times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// What, such as `new orders per minute`.
    pub name: String,
    /// Of which system, or of which two: `Evenkeel / PostgreSQL`.
    pub target: String,
    /// In which case: `8 clients`; empty when there is only one.
    pub case: String,
    /// Unit; empty for ratios.
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// One for each run that gave one, finite.
    pub samples: Vec<f64>,
    /// What it should reach.
    pub goal: Option<f64>,
}

impl Figure {
    /// The sample in the middle; NaN without samples.
    #[must_use]
    pub fn median(&self) -> f64 {
        median(&self.samples)
    }

    /// Whether it reaches its goal; `None` without one, or without samples.
    #[must_use]
    pub fn reached(&self) -> Option<bool> {
        let goal = self.goal.filter(|_| !self.samples.is_empty())?;
        Some(match self.better {
            Better::Higher => self.median() >= goal,
            Better::Lower => self.median() <= goal,
        })
    }

    /// What identifies it in another run.
    fn key(&self) -> (&str, &str, &str) {
        (&self.name, &self.target, &self.case)
    }
}

/// The value in the middle; NaN for none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A table for people. Values are texts as they are to be shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// What is to be known to read it.
    pub note: String,
    /// Headings of columns; the first holds names.
    pub columns: Vec<String>,
    /// Values.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one.
    #[must_use]
    pub fn new(title: &str, columns: &[&str]) -> Table {
        let columns = columns.iter().map(ToString::to_string).collect();
        Table { title: title.into(), note: String::new(), columns, rows: Vec::new() }
    }

    /// With what is to be known to read it.
    #[must_use]
    pub fn note(mut self, note: &str) -> Table {
        self.note = note.into();
        self
    }

    /// Adds a row.
    pub fn row<T: Into<String>>(&mut self, values: impl IntoIterator<Item = T>) {
        self.rows.push(values.into_iter().map(Into::into).collect());
    }

    /// For a terminal: columns side by side, names to the left, values to the right.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|line| line.get(column)).map(|v| v.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut out = format!("{}\n", self.title);
        for line in lines() {
            let mut text = String::new();
            for (column, value) in line.iter().enumerate() {
                let width = widths.get(column).copied().unwrap_or(0);
                let _ = match column {
                    0 => write!(text, "  {value:<width$}"),
                    _ => write!(text, "  {value:>width$}"),
                };
            }
            out += text.trim_end();
            out.push('\n');
        }
        out
    }
}

/// A curve.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// One value for each place on the plot's axis; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

/// Curves over one axis.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plot {
    /// Heading.
    pub title: String,
    /// What the axis below says, with its unit.
    pub x_label: String,
    /// Unit of the values.
    pub unit: String,
    /// Places on the axis, growing.
    pub x: Vec<f64>,
    /// Curves.
    pub series: Vec<Series>,
}

impl Plot {
    /// One without curves.
    #[must_use]
    pub fn new(title: &str, x_label: &str, unit: &str, x: Vec<f64>) -> Plot {
        let [title, x_label, unit] = [title, x_label, unit].map(str::to_owned);
        Plot { title, x_label, unit, x, series: Vec::new() }
    }

    /// Adds a curve.
    pub fn add(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        let values = values.into_iter().map(|v| v.is_finite().then_some(v)).collect();
        self.series.push(Series { name: name.into(), values });
    }
}

/// Something that must hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// What was found instead; empty is well.
    pub violations: Vec<String>,
}

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// The command: `tpcc`.
    pub what: String,
    /// Heading.
    pub title: String,
    /// The command line that does it again.
    pub command: String,
    /// When it began, UTC, RFC 3339.
    pub began: String,
    /// How long it took.
    pub seconds: f64,
    /// Where it ran.
    pub machine: Machine,
    /// What ran, by name.
    pub versions: BTreeMap<String, String>,
    /// Everything that can be set, by name, defaults included.
    pub settings: BTreeMap<String, String>,
    /// SHA-256 over the command and its settings, first 16 digits.
    pub settings_hash: String,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// For people.
    pub tables: Vec<Table>,
    /// For people.
    pub plots: Vec<Plot>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

/// Where a report was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The page.
    pub html: PathBuf,
    /// Everything.
    pub json: PathBuf,
    /// Figures, a line for each sample.
    pub csv: PathBuf,
    /// Plots, a line for each place on an axis; when there are any.
    pub series: Option<PathBuf>,
}

impl Report {
    /// An empty one with settings by name.
    #[must_use]
    pub fn new(what: &str, title: &str, settings: BTreeMap<String, String>) -> Report {
        let settings_hash = hash(what, &settings);
        let mut report = Report {
            format: FORMAT,
            what: what.into(),
            title: title.into(),
            command: command_line(std::env::args()),
            began: machine::now(),
            seconds: 0.0,
            machine: Machine::here(),
            versions: BTreeMap::new(),
            settings,
            settings_hash,
            figures: Vec::new(),
            tables: Vec::new(),
            plots: Vec::new(),
            checks: Vec::new(),
            notes: Vec::new(),
        };
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        report.versions.insert("driver".into(), format!("keel {} ({profile})", env!("CARGO_PKG_VERSION")));
        if cfg!(debug_assertions) {
            report.notes.push("A debug build: its figures say nothing about speed.".into());
        }
        report
    }

    /// Adds a figure, without a goal.
    pub fn figure(
        &mut self,
        name: &str,
        target: &str,
        case: &str,
        unit: &str,
        better: Better,
        samples: &[f64],
    ) -> &mut Figure {
        let [name, target, case, unit] = [name, target, case, unit].map(str::to_owned);
        // What could not be measured, such as a share of nothing, is no sample; JSON has no word for it either.
        let samples = samples.iter().copied().filter(|s| s.is_finite()).collect();
        self.figures.push_mut(Figure { name, target, case, unit, better, samples, goal: None })
    }

    /// Adds something that must hold, or adds to it.
    pub fn check(&mut self, name: &str, violations: &[String]) {
        match self.checks.iter_mut().find(|check| check.name == name) {
            Some(check) => check.violations.extend_from_slice(violations),
            None => self.checks.push(Check { name: name.into(), violations: violations.to_vec() }),
        }
    }

    /// Everything that must hold and does not.
    pub fn violations(&self) -> impl Iterator<Item = &str> {
        self.checks.iter().flat_map(|check| check.violations.iter().map(String::as_str))
    }

    /// Tables, checks and goals for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for table in &self.tables {
            let _ = writeln!(out, "{}", table.text());
        }
        for figure in &self.figures {
            if let (Some(goal), Some(reached)) = (figure.goal, figure.reached()) {
                let Figure { name, target, case, unit, .. } = figure;
                let bound = if figure.better == Better::Higher { "at least" } else { "at most" };
                let word = if reached { "reached" } else { "MISSED" };
                let value = number(figure.median());
                let _ = writeln!(
                    out,
                    "{}: {value} {unit} (goal {bound} {}: {word})",
                    spaced(&[name, target, case]),
                    number(goal)
                );
            }
        }
        for check in &self.checks {
            let _ = match check.violations.len() {
                0 => writeln!(out, "{}: holds", check.name),
                n => writeln!(out, "{}: BROKEN, {n} times", check.name),
            };
            check.violations.iter().take(20).for_each(|v| {
                let _ = writeln!(out, "  VIOLATION {v}");
            });
        }
        out
    }

    /// Ends the run: how long it took, and what the machine did meanwhile.
    pub fn finish(&mut self, began: std::time::Instant) {
        self.seconds = began.elapsed().as_secs_f64();
        self.machine.finish();
    }

    /// Writes page, JSON and CSV into a directory, which is made.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &Path) -> Result<Written> {
        std::fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
        let moment: String = self.began.chars().filter(char::is_ascii_alphanumeric).take(15).collect();
        let base = unused(dir, &format!("{}-{moment}", self.what));
        let path = |end: &str| base.with_extension(end);
        let written = Written {
            html: path("html"),
            json: path("json"),
            csv: path("csv"),
            series: (!self.plots.is_empty()).then(|| path("series.csv")),
        };
        let save = |path: &Path, content: &[u8]| {
            std::fs::write(path, content).with_context(|| format!("writing {}", path.display()))
        };
        save(&written.json, &serde_json::to_vec_pretty(self)?)?;
        save(&written.html, html::page(self).as_bytes())?;
        save(&written.csv, &self.figures_csv()?)?;
        if let Some(series) = &written.series {
            save(series, &self.plots_csv()?)?;
        }
        Ok(written)
    }

    /// Reads a report's JSON file.
    ///
    /// # Errors
    /// When it cannot be read, or is of another form.
    pub fn read(path: &Path) -> Result<Report> {
        let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let report: Report =
            serde_json::from_slice(&text).with_context(|| format!("{} is no report", path.display()))?;
        ensure!(report.format == FORMAT, "{} has form {}, not {FORMAT}", path.display(), report.format);
        Ok(report)
    }

    fn figures_csv(&self) -> Result<Vec<u8>> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(["name", "target", "case", "unit", "better", "goal", "run", "value"])?;
        for f in &self.figures {
            let better = if f.better == Better::Higher { "higher" } else { "lower" };
            let goal = f.goal.map(|goal| goal.to_string()).unwrap_or_default();
            for (run, value) in f.samples.iter().enumerate() {
                let (run, value) = ((run + 1).to_string(), value.to_string());
                out.write_record([&f.name, &f.target, &f.case, &f.unit, better, &goal, &run, &value])?;
            }
        }
        Ok(out.into_inner()?)
    }

    fn plots_csv(&self) -> Result<Vec<u8>> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(["plot", "series", "unit", "x", "value"])?;
        for plot in &self.plots {
            for series in &plot.series {
                for (x, value) in plot.x.iter().zip(&series.values) {
                    let value = value.map(|v| v.to_string()).unwrap_or_default();
                    out.write_record([&plot.title, &series.name, &plot.unit, &x.to_string(), &value])?;
                }
            }
        }
        Ok(out.into_inner()?)
    }
}

/// A file name without ending of which nothing exists yet.
fn unused(dir: &Path, name: &str) -> PathBuf {
    let free = |base: &PathBuf| !base.with_extension("json").exists();
    let more = (2..).map(|n| dir.join(format!("{name}-{n}")));
    std::iter::once(dir.join(name)).chain(more).find(free).unwrap_or_else(|| dir.join(name))
}

/// SHA-256 over the command and its settings in the order of their names, first 16 digits.
fn hash(what: &str, settings: &BTreeMap<String, String>) -> String {
    let mut digest = Sha256::new();
    digest.update(what);
    for (name, value) in settings {
        digest.update(format!("\n{name}={value}"));
    }
    digest.finalize().iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The words of a command line, quoted for a shell where needed, the program as `keel`, passwords left out.
fn command_line(words: impl Iterator<Item = String>) -> String {
    let mut out = String::from("keel");
    let mut secret = false;
    for word in words.skip(1) {
        let shown = match std::mem::replace(&mut secret, word == "-P" || word == "--password") {
            true => "***".to_owned(),
            false if word.starts_with("--password=") => "--password=***".to_owned(),
            false
                if word.is_empty()
                    || word.contains(|c: char| c.is_whitespace() || "'\"$*;&|<>()".contains(c)) =>
            {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
            false => word,
        };
        out.push(' ');
        out += &shown;
    }
    out
}

fn spaced(words: &[&str]) -> String {
    words.iter().filter(|w| !w.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// A count; thousands apart.
#[must_use]
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// Digits, thousands apart.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A value with three or four digits that say something; thousands apart.
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let decimals = match size {
        s if s >= 100.0 || s == 0.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        s if s >= 0.1 => 3,
        _ => 4,
    };
    let plain = format!("{size:.decimals$}");
    let (whole, part) = plain.split_once('.').map_or((plain.as_str(), None), |(w, p)| (w, Some(p)));
    let grouped = grouped(whole);
    let sign = if value < 0.0 { "-" } else { "" };
    part.map_or_else(|| format!("{sign}{grouped}"), |p| format!("{sign}{grouped}.{p}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_say_something() {
        let shown = [0.0, 0.0123, 0.97, 12.34, 123.4, 1_234_567.8, -5_000.0, f64::NAN].map(number);
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(shown, ["0", "0.0123", "0.970", "12.3", "123", "1,234,568", "-5,000", "–"]);
    }

    #[test]
    fn a_command_line_can_be_pasted_and_holds_no_password() {
        let words = ["/x/keel", "bench", "tpcc", "-P", "geheim", "--serve-options", "-k 10", "--password=x"];
        let line = command_line(words.iter().map(ToString::to_string));
        assert_eq!(line, "keel bench tpcc -P *** --serve-options '-k 10' --password=***");
    }

    #[test]
    fn the_hash_is_of_command_and_settings_alone() {
        let settings = |n: &str| BTreeMap::from([("clients".to_owned(), n.to_owned())]);
        let of = |what: &str, n: &str| Report::new(what, "", settings(n)).settings_hash;
        assert_eq!(of("tpcc", "8"), of("tpcc", "8"));
        assert_ne!(of("tpcc", "8"), of("tpcc", "16"));
        assert_ne!(of("tpcc", "8"), of("point", "8"));
        assert_eq!(of("tpcc", "8").len(), 16);
    }

    #[test]
    fn a_report_is_read_back_as_it_was_written() {
        let dir = std::env::temp_dir().join(format!("keel-report-{}", std::process::id()));
        let mut report = Report::new("tpcc", "TPROC-C <& co>", BTreeMap::new());
        report.figure("rate", "Evenkeel", "8 clients", "1/s", Better::Higher, &[1.0, 3.0, 2.0]).goal =
            Some(2.5);
        let mut plot = Plot::new("pace", "second", "1/s", vec![0.0, 1.0]);
        plot.add("a", [1.0, f64::NAN]);
        report.plots.push(plot);
        report.check("ledger", &["row 7 is gone".into()]);
        let first = report.write(&dir).unwrap();
        let second = report.write(&dir).unwrap();
        assert_ne!(first.json, second.json, "no report is written over");
        let read = Report::read(&first.json).unwrap();
        assert_eq!(read.figures[0].median(), 2.0);
        assert_eq!(read.figures[0].reached(), Some(false));
        assert_eq!(read.plots[0].series[0].values, [Some(1.0), None]);
        assert_eq!(read.violations().collect::<Vec<_>>(), ["row 7 is gone"]);
        let csv = std::fs::read_to_string(&first.csv).unwrap();
        assert_eq!(csv.lines().nth(1), Some("rate,Evenkeel,8 clients,1/s,higher,2.5,1,1"));
        let page = std::fs::read_to_string(&first.html).unwrap();
        assert!(
            page.contains("TPROC-C &lt;&amp; co&gt;") && !page.contains("src=") && !page.contains("href="),
            "it loads nothing"
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
