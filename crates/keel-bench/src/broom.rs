//! Removes what a benchmark that is interrupted or killed would leave behind: directories, namespaces, file systems.
//!
//! A process that lives until this one is gone, whatever ends it, holds the commands that remove things, and runs them then, the last one
//! first. What was removed in the ordinary way is not there any more, and nobody misses it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// It must outlive what the keyboard sends to all who are in front of it. `tac` waits for the end of its input: ours.
const SCRIPT: &str = "trap '' INT TERM HUP; tac | sh 2>/dev/null >/dev/null";

static BROOM: OnceLock<Option<Mutex<Child>>> = OnceLock::new();

/// Has a command run when this process is gone. Without a shell that can be started nothing is run.
pub fn afterwards(words: &[&str]) {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    let line = quoted.collect::<Vec<_>>().join(" ");
    if let Some(broom) = BROOM.get_or_init(start) {
        let mut broom = broom.lock().unwrap_or_else(PoisonError::into_inner);
        // A broom that was killed removes nothing.
        let _ = broom.stdin.as_mut().map(|commands| writeln!(commands, "{line}"));
    }
}

/// Has a directory removed when this process is gone; again and again for ten seconds, while servers that end with it still write there.
pub fn remove_afterwards(directory: &Path) {
    let patient =
        r#"n=0; until rm -rf "$0"; sleep 0.1; [ ! -e "$0" ] || [ $n = 100 ]; do n=$((n + 1)); done"#;
    afterwards(&["sh", "-c", patient, &directory.display().to_string()]);
}

fn start() -> Option<Mutex<Child>> {
    let shell = Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    shell.ok().map(Mutex::new)
}
