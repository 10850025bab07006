//! Seeds of the text targets: the batches of the golden scripts.

use std::path::{Path, PathBuf};

/// Longer batches mutate badly.
const SEED_BYTES_MAX: usize = 3000;

/// Every batch of the golden scripts that is not longer than 3,000 bytes, in the order of the files' names.
///
/// # Panics
/// When the scripts cannot be read: they are part of the repository.
#[must_use]
pub fn batches() -> Vec<Vec<u8>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for dir in
        ["../tests/sql", "keel-sql/testscripts", "keel-parser/tests/corpus", "keel-parser/tests/golden"]
    {
        collect(&crates.join(dir), &mut files);
    }
    files.sort();
    let mut batches = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a script is text");
        let found = keel_parser::split_go(&text).into_iter().map(|batch| batch.text.trim());
        let found = found.filter(|text| !text.is_empty() && text.len() <= SEED_BYTES_MAX);
        batches.extend(found.map(|text| text.as_bytes().to_vec()));
    }
    batches
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the scripts are in the repository") {
        let path = entry.expect("a directory can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            files.push(path);
        }
    }
}
