//! A repository of backups with a real server and the command line beside it.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, KEEL};
use std::path::Path;
use std::process::Command;

/// `keel repository`: what it said, and whether it was content.
fn repository(verb: &str, dir: &Path) -> (String, bool) {
    let output = Command::new(KEEL).args(["repository", verb]).arg(dir).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (said, output.status.success())
}

fn well(verb: &str, dir: &Path) -> String {
    let (said, content) = repository(verb, dir);
    assert!(content, "{verb}: {said}");
    said
}

#[test]
fn backups_share_what_they_have_in_common() {
    let dir = std::env::temp_dir().join(format!("keel-vault-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let (vault, said) = (dir.join("vault"), |(said, content): (String, bool)| (!content).then_some(said));
    assert!(said(repository("status", &vault)).unwrap().contains("is no repository"));
    well("init", &vault);
    assert!(said(repository("init", &vault.join("below"))).unwrap().contains("is a repository"));
    let mut node = Instance::new(&dir, 1);
    node.run(
        "CREATE DATABASE shop;
         GO
         CREATE TABLE shop.dbo.t (id int PRIMARY KEY, v varchar(100));
         INSERT shop.dbo.t SELECT value, CONVERT(varchar(64), HASHBYTES('SHA2_256', CONVERT(varchar(9), value)), 2)
           FROM GENERATE_SERIES(1, 30000)",
    );
    let back_up = |name: &str| {
        node.run(&format!("BACKUP DATABASE shop TO DISK = '{}'", vault.join(name).display()));
    };
    back_up("1.bak");
    node.run("DELETE shop.dbo.t WHERE id BETWEEN 100 AND 110");
    back_up("2.bak");
    let status = well("status", &vault);
    assert!(status.contains("of which unused     0 B"), "{status}");
    std::fs::remove_file(vault.join("1.bak")).unwrap();
    assert!(!well("status", &vault).contains("of which unused     0 B"));
    let pruned = well("prune", &vault);
    assert!(pruned.contains(" freed: ") && !pruned.starts_with("0 B"), "{pruned}");
    assert!(well("status", &vault).contains("of which unused     0 B"));
    assert!(well("verify", &vault).contains("is whole"));
    let restore = format!("RESTORE DATABASE other FROM DISK = '{}'", vault.join("2.bak").display());
    node.run(&restore);
    assert_eq!(node.value("SELECT COUNT(*) FROM other.dbo.t"), "29989");

    let pack = std::fs::read_dir(vault.join("packs")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&pack, bytes).unwrap();
    let said = said(repository("verify", &vault)).unwrap();
    assert!(said.contains("2.bak: 1 of its") && said.contains("1 files of"), "{said}");
    node.stop();
    std::fs::remove_dir_all(dir).unwrap();
}
