//! Backups in a repository: what they have in common is stored once, and nobody notices.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, run, well};
use keel_base::env::sim::{SimDisk, env};
use keel_repository::{Access, Repository};
use keel_sql::Session;
use std::path::Path;
use std::sync::Arc;

const ROOT: &str = "/vault";

/// An instance with a repository and a database of some thousand rows.
fn shop() -> (Arc<SimDisk>, Session) {
    let disk = SimDisk::new();
    Repository::create(&env(&disk, 3), Path::new(ROOT)).unwrap();
    let mut session = connect(&open(&disk));
    well(
        &mut session,
        "CREATE DATABASE shop; ALTER DATABASE shop SET RECOVERY FULL;
         CREATE TABLE shop.dbo.t (id int PRIMARY KEY, v varchar(200));
         INSERT shop.dbo.t SELECT value, CONCAT(CONVERT(varchar(50), HASHBYTES('SHA2_256', CONVERT(varchar(9), value)), 2), value)
           FROM GENERATE_SERIES(1, 20000)",
    );
    (disk, session)
}

/// Megabytes that were new, as the backup says.
fn new_megabytes(said: &str) -> f64 {
    let line = said.lines().find(|line| line.contains("of it were new to the repository")).unwrap();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

#[test]
fn the_second_backup_takes_what_is_new() {
    let (disk, mut session) = shop();
    let said = well(&mut session, "BACKUP DATABASE shop TO DISK = '/vault/monday.bak' WITH COMPRESSION");
    let first = new_megabytes(&said);
    assert!(first > 1.0 && said.contains("new to the repository /vault and take"), "{said}");
    well(
        &mut session,
        "UPDATE shop.dbo.t SET v = 'less' WHERE id = 700; INSERT shop.dbo.t VALUES (0, 'one more')",
    );
    let said = well(&mut session, "BACKUP DATABASE shop TO DISK = '/vault/deep/tuesday.bak'");
    assert!(new_megabytes(&said) < first / 3.0, "{said}");
    let said = well(&mut session, "BACKUP DATABASE shop TO DISK = '/elsewhere/plain.bak'");
    assert!(!said.contains("repository"));
    for file in ["/vault/monday.bak", "/vault/deep/tuesday.bak"] {
        assert!(disk.contents(Path::new(file)).unwrap().len() < 10_000, "it is a list of chunks");
    }
    well(&mut session, "RESTORE DATABASE other FROM DISK = '/vault/deep/tuesday.bak'");
    let differ = "SELECT n = COUNT(*) FROM (SELECT * FROM shop.dbo.t EXCEPT SELECT * FROM other.dbo.t) AS d";
    assert!(well(&mut session, differ).contains("\n0\n"));
}

#[test]
fn what_is_done_with_files_is_done_with_these() {
    let (_, mut session) = shop();
    // Several sets in a file, a differential one and log.
    well(&mut session, "BACKUP DATABASE shop TO DISK = '/vault/shop.bak'");
    well(
        &mut session,
        "DELETE shop.dbo.t WHERE id = 1; BACKUP DATABASE shop TO DISK = '/vault/shop.bak' WITH DIFFERENTIAL",
    );
    well(&mut session, "DELETE shop.dbo.t WHERE id = 2; BACKUP LOG shop TO DISK = '/vault/shop.bak'");
    let shown = well(&mut session, "RESTORE HEADERONLY FROM DISK = '/vault/shop.bak'");
    assert_eq!(shown.lines().filter(|line| line.contains("| shop ")).count(), 3, "{shown}");
    well(
        &mut session,
        "RESTORE DATABASE other FROM DISK = '/vault/shop.bak' WITH FILE = 1, NORECOVERY;
         RESTORE DATABASE other FROM DISK = '/vault/shop.bak' WITH FILE = 2, NORECOVERY;
         RESTORE LOG other FROM DISK = '/vault/shop.bak' WITH FILE = 3",
    );
    assert!(well(&mut session, "SELECT n = MIN(id) FROM other.dbo.t").contains("\n3\n"));
    // Several files, and a mirror outside.
    well(&mut session, "BACKUP DATABASE shop TO DISK = '/vault/1.bak', DISK = '/vault/2.bak'");
    well(&mut session, "RESTORE VERIFYONLY FROM DISK = '/vault/2.bak', DISK = '/vault/1.bak'");
    well(
        &mut session,
        "BACKUP DATABASE shop TO DISK = '/vault/m.bak' MIRROR TO DISK = '/out/m.bak' WITH FORMAT",
    );
    well(&mut session, "RESTORE DATABASE other FROM DISK = '/out/m.bak' WITH REPLACE");
    well(&mut session, "RESTORE DATABASE other FROM DISK = '/vault/m.bak' WITH REPLACE");
}

#[test]
fn what_was_removed_is_pruned_and_what_is_damaged_is_said() {
    let (disk, mut session) = shop();
    well(&mut session, "BACKUP DATABASE shop TO DISK = '/vault/old.bak'");
    well(
        &mut session,
        "DROP TABLE shop.dbo.t; CREATE TABLE shop.dbo.t (id int); INSERT shop.dbo.t VALUES (1)",
    );
    well(&mut session, "BACKUP DATABASE shop TO DISK = '/vault/new.bak' WITH STATS = 50");
    well(&mut session, "EXEC xp_delete_file 0, '/vault/old.bak'");
    let outside = env(&disk, 4);
    let figures =
        || Repository::open(&outside, Path::new(ROOT), Access::Shared, true).unwrap().figures().unwrap();
    let before = figures();
    assert!(before.files == 1 && before.unused > before.stored / 2, "{before:?}");
    Repository::prune(&outside, Path::new(ROOT), &mut || {}, &mut |_, _| Ok(())).unwrap();
    assert_eq!(figures().unused, 0);
    well(&mut session, "RESTORE DATABASE other FROM DISK = '/vault/new.bak'");

    use keel_base::env::Disk as _;
    let pack = disk.list(Path::new("/vault/packs")).unwrap().remove(0);
    disk.flip(&pack, 300, 1);
    let said = run(&mut session, "RESTORE VERIFYONLY FROM DISK = '/vault/new.bak'");
    assert!(said.contains("Msg 3189") && said.contains("a chunk at byte"), "{said}");
    let said = run(&mut session, "RESTORE DATABASE other FROM DISK = '/vault/new.bak' WITH REPLACE");
    assert!(said.contains("Msg 3189"), "{said}");
    assert!(well(&mut session, "SELECT n = COUNT(*) FROM other.dbo.t").contains("\n1\n"));
}
