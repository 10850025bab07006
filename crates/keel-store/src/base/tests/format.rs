//! The frozen files of each format version: they must stay readable, and the newest is what is written today.
//!
//! `UPDATE_GOLDEN=1` writes the newest fixture anew; a version that has been released never changes.

use std::path::PathBuf;

use super::*;

fn fixture(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(version).join("base.keel")
}

/// The file without the zeros at its end: space that was reserved and never used.
fn trimmed(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.len() > PAGE_SIZE && bytes[bytes.len() - PAGE_SIZE..].iter().all(|&b| b == 0) {
        bytes.truncate(bytes.len() - PAGE_SIZE);
    }
    bytes
}

#[test]
fn version_1_is_what_is_written_and_can_be_read() {
    let (model, bytes) = damage::sample();
    let bytes = trimmed(bytes);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(fixture("v1").parent().expect("has a folder")).expect("makes the folder");
        std::fs::write(fixture("v1"), &bytes).expect("writes the fixture");
    }
    let frozen = std::fs::read(fixture("v1")).expect("the fixture is in the repository");
    assert!(bytes == frozen, "the format has changed: that needs a new version, not a new fixture");
    let disk = TestDisk::with_file(path(), frozen);
    let tree = open(&disk, &PageCache::new(1 << 20)).expect("opens");
    assert!(rows(&tree.root()).expect("scans") == model);
    assert_sound(&tree);
    tree.merge([(b"more", Change::Put(b"row"))], &MergeOptions::at(Lsn(2))).expect("merges");
    assert_sound(&tree);
}
