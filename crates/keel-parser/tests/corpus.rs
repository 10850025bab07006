//! Texts in the style of real clients: every batch parses, and no mutilation of one panics.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keel_parser::{ParseOptions, parse_batch, split_go};
use proptest::prelude::*;
use std::path::Path;

fn scripts(folder: &str) -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut found: Vec<(String, String)> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn corpus_parses() {
    let mut failures = Vec::new();
    for (name, text) in scripts("corpus") {
        for batch in split_go(&text) {
            if let Err(error) = parse_batch(batch.text, ParseOptions::default()) {
                failures.push(format!("{name}:{}: {error}", batch.line));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Pieces of valid statements: words, operators, literals, in the order of the corpus.
fn pieces() -> Vec<String> {
    let mut all = Vec::new();
    for (_, text) in scripts("corpus").into_iter().chain(scripts("golden")) {
        all.extend(text.split_inclusive([' ', '(', ')', ',', '\n']).map(str::to_owned));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_answered(text in ".{0,200}") {
        let _ = parse_batch(&text, ParseOptions { quoted_identifier: text.len() % 2 == 0 });
        let _ = split_go(&text);
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_batch(&String::from_utf8_lossy(&bytes), ParseOptions::default());
    }
}

#[test]
fn mutilated_statements_are_answered() {
    let pieces = pieces();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(3000));
    let window = (0..pieces.len(), 1..60usize);
    let edits = proptest::collection::vec((0..60usize, 0..pieces.len(), 0..3u8), 0..4);
    runner
        .run(&(window, edits), |((start, length), edits)| {
            let mut text: Vec<&str> = pieces[start..].iter().take(length).map(String::as_str).collect();
            for (at, piece, edit) in edits {
                let at = at % text.len().max(1);
                match edit {
                    0 if !text.is_empty() => drop(text.remove(at)),
                    1 => text.insert(at.min(text.len()), &pieces[piece]),
                    _ => text.truncate(at.max(1)),
                }
            }
            let text = text.concat();
            if let Err(error) = parse_batch(&text, ParseOptions::default()) {
                prop_assert!(error.line >= 1 && error.line as usize <= text.lines().count().max(1) + 1);
            }
            Ok(())
        })
        .unwrap();
}
