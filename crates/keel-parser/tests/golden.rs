//! Golden files: each `tests/golden/*.sql` is cut at its GO lines, each batch is parsed, and the trees (or the
//! error) are compared with the `.out` file beside it. `UPDATE_GOLDEN=1` writes the `.out` files anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keel_parser::{ParseOptions, parse_batch, split_go};
use std::fmt::Write as _;
use std::path::Path;

#[test]
fn golden() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut scripts: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|e| e == "sql"));
    scripts.sort();
    let mut differing = Vec::new();
    for script in scripts {
        let actual = dump_script(&std::fs::read_to_string(&script).unwrap());
        let out = script.with_extension("out");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&out, &actual).unwrap();
        } else if std::fs::read_to_string(&out).unwrap_or_default() != actual {
            differing.push(format!("{}:\n{}", out.display(), first_difference(&out, &actual)));
        }
    }
    assert!(differing.is_empty(), "run with UPDATE_GOLDEN=1 and review the diff\n{}", differing.join("\n"));
}

fn first_difference(out: &Path, actual: &str) -> String {
    let expected = std::fs::read_to_string(out).unwrap_or_default();
    let mut lines = expected.lines().zip(actual.lines()).enumerate();
    match lines.find(|(_, (a, b))| a != b) {
        Some((i, (a, b))) => format!("line {}\n- {a}\n+ {b}", i + 1),
        None => "one is longer".to_owned(),
    }
}

fn dump_script(text: &str) -> String {
    let mut out = String::new();
    let quoted_identifier = !text.starts_with("-- QUOTED_IDENTIFIER OFF");
    for batch in split_go(text) {
        for line in batch.text.trim_end().lines() {
            writeln!(out, "> {line}").unwrap();
        }
        match parse_batch(batch.text, ParseOptions { quoted_identifier }) {
            Ok(parsed) => {
                for statement in parsed.statements {
                    writeln!(out, "{:?} {}", statement.span, compact(&format!("{:?}", statement.kind)))
                        .unwrap();
                }
            }
            Err(error) => writeln!(out, "{error}").unwrap(),
        }
        writeln!(out).unwrap();
    }
    out
}

/// Drops what says nothing: fields that are absent, false or empty, spans inside, and the type names that repeat
/// their variants.
fn compact(debug: &str) -> String {
    let mut text = debug.to_owned();
    for value in ["None", "false", "[]", "\"\""] {
        while let Some(end) = text.find(&format!(": {value}")) {
            let start = text[..end].rfind([' ', '{']).map_or(0, |i| i + 1);
            let mut stop = end + 2 + value.len();
            if text[stop..].starts_with(", ") {
                stop += 2;
            }
            text.replace_range(start..stop, "");
        }
    }
    for line in (1..100).rev() {
        text = text.replace(&format!(", span: L{line}"), "").replace(&format!("span: L{line}, "), "");
        text = text.replace(&format!("span: L{line}"), "");
    }
    for (from, to) in [(",  }", " }"), (", }", " }"), ("{  }", "{}"), ("{ }", "{}"), (" {}", "")] {
        text = text.replace(from, to);
    }
    text
}
