//! What is being done, on the terminal, while something takes long. Nothing when standard error is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};

/// How often a wait moves the bar.
const TICK: Duration = Duration::from_millis(200);

/// One bar for a whole run.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// For a terminal.
    #[must_use]
    pub fn new() -> Progress {
        let bar = ProgressBar::new(0).with_style(style(false));
        bar.enable_steady_tick(TICK);
        Progress { bar }
    }

    /// Shows nothing.
    #[must_use]
    pub fn hidden() -> Progress {
        Progress { bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()) }
    }

    /// Names what is done from now on; how long it takes is not known.
    pub fn say(&self, what: &str) {
        self.bar.set_style(style(false));
        self.bar.set_message(what.to_owned());
    }

    /// Waits, and shows how much of the wait is over.
    pub fn wait(&self, what: &str, time: Duration) {
        self.bar.set_style(style(true));
        self.bar.set_length(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self.bar.set_message(what.to_owned());
        let began = Instant::now();
        while let Some(left) = time.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            self.bar.set_position(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
            std::thread::sleep(left.min(TICK));
        }
        self.say(what);
    }

    /// Names what is done from now on, and how much of it is.
    pub fn share(&self, what: &str, done: u64, of: u64) {
        self.bar.set_style(style(true));
        self.bar.set_length(of);
        self.bar.set_message(what.to_owned());
        self.bar.set_position(done);
    }

    /// A line that stays. Whoever reads them may stop (`| head`): the measurement goes on, and its report has them all.
    pub fn line(&self, text: &str) {
        match self.bar.suspend(|| writeln!(std::io::stdout(), "{text}")) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => eprintln!("keel: standard output: {e}"),
            _ => {}
        }
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(bounded: bool) -> ProgressStyle {
    let template = if bounded {
        "{spinner:.cyan} {msg} {bar:32.cyan/dim} {elapsed:.dim}"
    } else {
        "{spinner:.cyan} {msg} {elapsed:.dim}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_understood() {
        for bounded in [false, true] {
            let _ = style(bounded);
        }
        assert!(
            ProgressStyle::with_template("{spinner:.cyan} {msg} {bar:32.cyan/dim} {elapsed:.dim}").is_ok()
        );
        Progress::hidden().wait("nothing", Duration::from_millis(1));
    }
}
