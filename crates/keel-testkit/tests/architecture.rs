//! The map and the territory: ARCHITECTURE.md's table of crates against the manifests, and rules every file keeps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// crate → allowed dependencies, from the table between the two markers.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = text.split("<!-- edges -->").nth(1).unwrap().split("<!-- /edges -->").next().unwrap();
    let names =
        |cell: &str| -> BTreeSet<String> { cell.split('`').skip(1).step_by(2).map(str::to_string).collect() };
    table
        .lines()
        .filter(|l| l.starts_with("| `"))
        .map(|l| {
            let cells: Vec<&str> = l.split('|').collect();
            (names(cells[1]).pop_first().unwrap(), names(cells[3]))
        })
        .collect()
}

/// crate → its dependencies on crates of ours, ordinary ones only.
fn actual() -> BTreeMap<String, BTreeSet<String>> {
    std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| {
            let dir = entry.unwrap().path();
            let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap();
            let section =
                manifest.split("\n[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap();
            let edges = section
                .lines()
                .filter(|l| l.starts_with("keel-"))
                .map(|l| l.split(['.', ' ', '=']).next().unwrap().to_string())
                .collect();
            (dir.file_name().unwrap().to_string_lossy().into_owned(), edges)
        })
        .collect()
}

#[test]
fn every_crate_and_every_edge_is_on_the_map() {
    let (allowed, actual) = (allowed(), actual());
    assert_eq!(
        allowed.keys().collect::<Vec<_>>(),
        actual.keys().collect::<Vec<_>>(),
        "ARCHITECTURE.md must list exactly the crates there are"
    );
    for (name, edges) in &actual {
        let extra: Vec<_> = edges.difference(&allowed[name]).collect();
        assert!(extra.is_empty(), "{name} depends on {extra:?}, which ARCHITECTURE.md does not allow");
    }
}

#[test]
fn edges_point_downward_only() {
    // A topological order exists exactly when no edge closes a circle.
    let mut left = allowed();
    while !left.is_empty() {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, d)| d.iter().all(|d| !left.contains_key(d)))
            .map(|(n, _)| n.clone())
            .collect();
        assert!(!free.is_empty(), "ARCHITECTURE.md's edges form a circle among {:?}", left.keys());
        free.iter().for_each(|n| drop(left.remove(n)));
    }
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn no_source_file_opens_without_its_chapter() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let bare: Vec<_> = files
        .iter()
        .filter(|f| {
            let text = std::fs::read_to_string(f).unwrap();
            let first = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with("#![")).unwrap_or("");
            !first.starts_with("//!")
        })
        .collect();
    assert!(bare.is_empty(), "these files need a doc comment that says what they own: {bare:#?}");
}
