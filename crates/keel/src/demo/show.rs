//! What is seen: headings, what is being done, and the moving picture; or plain lines for logs and pipes.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use console::style;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::watch::NodeView;

/// Bars of the throughput line.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// How many of them.
const HISTORY: usize = 48;
/// Columns left of what is said.
const INDENT: usize = 9;
/// How often a plain picture prints a line.
const PLAIN_EVERY: Duration = Duration::from_secs(1);

/// Where it goes, and how.
pub struct Show {
    plain: bool,
    began: Instant,
}

impl Show {
    /// For standard output. Colours follow NO_COLOR and the like.
    pub fn new(plain: bool) -> Show {
        Show { plain: plain || !std::io::stdout().is_terminal(), began: Instant::now() }
    }

    fn line(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // Whoever closed the other end does not want to see more.
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    }

    /// First line.
    pub fn title(&self, text: &str) {
        self.line(&style(text).bold().to_string());
    }

    /// A heading.
    pub fn step(&self, text: &str) {
        let at = format!("{:5.1} s", self.began.elapsed().as_secs_f64());
        self.line(&format!("\n{}  {}", style(at).dim(), style(text).bold().cyan()));
    }

    /// A line below it.
    pub fn say(&self, text: &str) {
        self.line(&format!("         {}", self.wrapped(text)));
    }

    /// Something that went well.
    pub fn good(&self, text: &str) {
        self.line(&format!("       {} {}", style("✔").green(), self.wrapped(text)));
    }

    /// Broken between words where the screen ends; as it is for logs and pipes, which have no end.
    fn wrapped(&self, text: &str) -> String {
        if self.plain {
            return text.to_owned();
        }
        let width = usize::from(console::Term::stdout().size().1).saturating_sub(INDENT).max(INDENT);
        textwrap::wrap(text, width).join(&format!("\n{:INDENT$}", ""))
    }

    /// The end, if it is a bad one.
    pub fn failed(&self, text: &str) {
        self.line(&format!("\n       {} {text}", style("✘").red().bold()));
    }

    /// Something that takes a while.
    pub fn working(&self, what: &str) -> Working<'_> {
        let spinner = (!self.plain).then(|| {
            let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
            if let Ok(shape) = ProgressStyle::with_template("       {spinner:.cyan} {msg} {elapsed:.dim}") {
                spinner.set_style(shape);
            }
            spinner.enable_steady_tick(Duration::from_millis(100));
            spinner
        });
        Working { show: self, spinner }
    }

    /// The group at work.
    pub fn picture(&self) -> Picture<'_> {
        Picture {
            show: self,
            lines: Vec::new(),
            all: MultiProgress::new(),
            rates: Vec::new(),
            last: None,
            printed: Instant::now(),
            counted: 0,
        }
    }
}

/// Shows that something is being done, until it is.
pub struct Working<'a> {
    show: &'a Show,
    spinner: Option<ProgressBar>,
}

impl Working<'_> {
    /// It is done, and this is what came of it.
    pub fn done(self, text: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
        self.show.good(text);
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

/// A line for each instance and one for the throughput.
pub struct Picture<'a> {
    show: &'a Show,
    all: MultiProgress,
    lines: Vec<ProgressBar>,
    rates: Vec<f64>,
    last: Option<(Instant, u64)>,
    printed: Instant,
    counted: u64,
}

impl Picture<'_> {
    /// Brings it up to date.
    pub fn draw(&mut self, nodes: &[NodeView], acknowledged: u64) {
        let now = Instant::now();
        if let Some((at, before)) = self.last.replace((now, acknowledged)) {
            let seconds = now.duration_since(at).as_secs_f64().max(0.001);
            self.rates.push((acknowledged - before) as f64 / seconds);
        } else {
            self.counted = acknowledged;
        }
        if self.show.plain { self.print(nodes, acknowledged) } else { self.paint(nodes, acknowledged) }
    }

    fn print(&mut self, nodes: &[NodeView], acknowledged: u64) {
        if self.printed.elapsed() < PLAIN_EVERY {
            return;
        }
        let rate = (acknowledged - self.counted) as f64 / self.printed.elapsed().as_secs_f64();
        (self.printed, self.counted) = (Instant::now(), acknowledged);
        let states: Vec<String> = nodes
            .iter()
            .enumerate()
            .map(|(n, node)| format!("NODE{} {}", n + 1, plain_state(node)))
            .collect();
        self.show.say(&format!("{rate:>7.0} transactions/s   {}", states.join(", ")));
    }

    fn paint(&mut self, nodes: &[NodeView], acknowledged: u64) {
        if self.lines.is_empty() {
            for _ in 0..=nodes.len() {
                let line = self.all.add(ProgressBar::new_spinner());
                if let Ok(shape) = ProgressStyle::with_template("         {msg}") {
                    line.set_style(shape);
                }
                self.lines.push(line);
            }
        }
        for (n, node) in nodes.iter().enumerate() {
            self.lines[n].set_message(format!("NODE{}  {}", n + 1, painted_state(node)));
        }
        let rate = self.rates.last().copied().unwrap_or(0.0);
        self.lines[nodes.len()].set_message(format!(
            "{:>7} transactions/s  {}  {acknowledged} in all",
            style(format!("{rate:.0}")).bold(),
            style(sparkline(&self.rates)).green(),
        ));
    }
}

impl Drop for Picture<'_> {
    fn drop(&mut self) {
        for line in &self.lines {
            line.finish();
        }
        if !self.lines.is_empty() {
            // The cursor is left at the end of the last of them.
            self.show.line("");
        }
    }
}

/// The newest rates as bars, the highest of them full.
fn sparkline(rates: &[f64]) -> String {
    let shown = &rates[rates.len().saturating_sub(HISTORY)..];
    let highest = shown.iter().copied().fold(1.0, f64::max);
    shown
        .iter()
        .map(|rate| {
            let eighths = (rate / highest * (BARS.len() - 1) as f64).round() as usize;
            if *rate == 0.0 { ' ' } else { BARS[eighths.min(BARS.len() - 1)] }
        })
        .collect()
}

fn plain_state(node: &NodeView) -> String {
    if !node.up {
        return "down".into();
    }
    let queue =
        if node.redo_queue > 0 { format!(" ({} KB to redo)", node.redo_queue) } else { String::new() };
    format!("{} {}{queue}", node.role.to_lowercase(), node.state.to_lowercase()).trim().to_owned()
}

fn painted_state(node: &NodeView) -> String {
    if !node.up {
        return style("down").red().bold().to_string();
    }
    let role = match node.role.as_str() {
        "PRIMARY" => style(format!("{:<10}", node.role)).green().bold(),
        "SECONDARY" => style(format!("{:<10}", node.role)).blue(),
        _ => style(format!("{:<10}", node.role)).yellow(),
    };
    let state = match node.state.as_str() {
        "SYNCHRONIZED" => style(format!("{:<18}", node.state)).green(),
        _ => style(format!("{:<18}", node.state)).yellow(),
    };
    format!("{role} {state} redo queue {} KB", node.redo_queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_relative_to_the_highest_and_nothing_is_blank() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0]), " ▅█");
        assert_eq!(sparkline(&vec![1.0; 100]).chars().count(), HISTORY);
    }

    #[test]
    fn a_dead_instance_is_down_and_a_live_one_says_its_role() {
        assert_eq!(plain_state(&NodeView::default()), "down");
        let node =
            NodeView { up: true, role: "SECONDARY".into(), state: "SYNCHRONIZED".into(), redo_queue: 3 };
        assert_eq!(plain_state(&node), "secondary synchronized (3 KB to redo)");
    }
}
