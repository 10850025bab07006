//! Folders of golden scripts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// All files below `dir` with the extension, in order of their paths.
///
/// # Panics
/// When the folder cannot be read: a test without its scripts must not pass.
#[must_use]
pub fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("the folder of golden scripts is readable");
        for entry in entries {
            let path = entry.expect("the folder of golden scripts is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs every `*.sql` below `dir` through `run` and compares with the `.out` beside it. With `UPDATE_GOLDEN=1` in the
/// environment the `.out` files are written instead; `GOLDEN_ONLY=text` runs only scripts whose path contains the text.
///
/// # Panics
/// When transcripts differ, with the first differing lines of each.
pub fn check(dir: &Path, mut run: impl FnMut(&str) -> String) {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let only = std::env::var("GOLDEN_ONLY").unwrap_or_default();
    let mut report = String::new();
    for script in files(dir, "sql") {
        if !script.to_string_lossy().contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&script).expect("a golden script is readable");
        let actual = run(&text);
        let out = script.with_extension("out");
        let expected = std::fs::read_to_string(&out).unwrap_or_default();
        if update {
            std::fs::write(&out, &actual).expect("a transcript is writable");
        } else if expected != actual {
            let _ = writeln!(report, "{}\n{}", out.display(), difference(&expected, &actual));
        }
    }
    assert!(
        report.is_empty(),
        "transcripts differ; UPDATE_GOLDEN=1 rewrites them, then review the diff\n{report}"
    );
}

/// Compares the part of a file between `<!-- generated: what -->` and `<!-- /generated -->` with what it should be. With
/// `UPDATE_GOLDEN=1` in the environment it is written instead.
///
/// # Panics
/// When it differs, with the first differing lines; when the file has no such part.
pub fn generated(file: &Path, what: &str, content: &str) {
    let old = generated_part(file, what, content);
    assert!(
        old == content,
        "{} is not what it should be; the same test with UPDATE_GOLDEN=1 writes it\n{}",
        file.display(),
        difference(&old, content)
    );
}

/// The part of a file between `<!-- generated: what -->` and `<!-- /generated -->`. With `UPDATE_GOLDEN=1` in the environment
/// `content` is written there first.
///
/// # Panics
/// When the file has no such part.
#[must_use]
pub fn generated_part(file: &Path, what: &str, content: &str) -> String {
    let text = std::fs::read_to_string(file).expect("a file with a generated part is readable");
    let begin = format!("<!-- generated: {what} -->\n");
    let place = text.split_once(&begin).and_then(|(before, rest)| {
        let (old, after) = rest.split_once("<!-- /generated -->")?;
        Some((before, old, after))
    });
    let (before, old, after) = place.unwrap_or_else(|| panic!("{} has no {begin}", file.display()));
    if std::env::var_os("UPDATE_GOLDEN").is_none() {
        return old.to_owned();
    }
    let new = format!("{before}{begin}{content}<!-- /generated -->{after}");
    std::fs::write(file, new).expect("a file with a generated part is writable");
    content.to_owned()
}

/// Lines shown around the first difference.
const CONTEXT_LINES: usize = 6;

/// The first lines that differ, with a few before and after.
#[must_use]
pub fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let first = expected.iter().zip(&actual).take_while(|(e, a)| e == a).count();
    let mut text = format!("  first difference in line {}\n", first + 1);
    for line in &expected[first.saturating_sub(CONTEXT_LINES)..first] {
        let _ = writeln!(text, "    {line}");
    }
    for line in expected.iter().skip(first).take(CONTEXT_LINES) {
        let _ = writeln!(text, "  - {line}");
    }
    for line in actual.iter().skip(first).take(CONTEXT_LINES) {
        let _ = writeln!(text, "  + {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown() {
        let text = difference("a\nb\nc", "a\nx\nc");
        assert_eq!(text, "  first difference in line 2\n    a\n  - b\n  - c\n  + x\n  + c\n");
    }
}
