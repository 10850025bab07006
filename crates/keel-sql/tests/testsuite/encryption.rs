//! Encrypted databases as an instance has them: what is on its disk, and what happens without the certificate.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, run};
use keel_base::env::Disk as _;
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::{Engine, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Nothing that a test waits for takes so long.
const LONG: Duration = Duration::from_secs(120);

const MARKER: &str = "a marker nobody else writes";

fn well(session: &mut Session, sql: &str) -> String {
    let said = run(session, sql);
    assert!(!said.contains("Msg ") || said.contains("Msg 33091"), "{sql}: {said}");
    said
}

fn server_on(disk: &Arc<SimDisk>) -> (Arc<Engine>, Session) {
    let engine = open(disk);
    assert!(engine.set_hadr(crate::common::replication::Fake::new("EVENKEEL")), "is set once");
    let session = connect(&engine);
    (engine, session)
}

fn files_below(disk: &Arc<SimDisk>, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let inside: Vec<PathBuf> = disk.list(dir).unwrap_or_default();
    for path in inside {
        if disk.contents(&path).is_some() {
            found.push(path);
        } else {
            found.extend(files_below(disk, &path));
        }
    }
    found
}

/// Files that hold the marker, as UTF-16 or as bytes.
fn marked(disk: &Arc<SimDisk>) -> Vec<PathBuf> {
    let wide: Vec<u8> = MARKER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let holds = |bytes: &[u8]| {
        [MARKER.as_bytes(), &wide].iter().any(|marker| bytes.windows(marker.len()).any(|w| w == *marker))
    };
    let mut all = files_below(disk, Path::new("/data"));
    all.retain(|path| disk.contents(path).is_some_and(|bytes| holds(&bytes)));
    all.sort();
    all.dedup();
    all
}

fn settle(session: &mut Session, state: i32) {
    let wait = format!(
        "declare @n int = 0; while @n < 3000 and exists (select * from sys.dm_database_encryption_keys \
         where encryption_state <> {state}) begin waitfor delay '00:00:00.010' set @n += 1 end; select max(encryption_state) from sys.dm_database_encryption_keys"
    );
    assert!(well(session, &wait).contains(&state.to_string()));
}

const KEYS: &str = "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-1'; CREATE CERTIFICATE safe WITH SUBJECT = 'safe'; \
    BACKUP CERTIFICATE safe TO FILE = '/safe.cer' WITH PRIVATE KEY (FILE = '/safe.pvk', ENCRYPTION BY PASSWORD = 'Key-File-1')";
const SHOP: &str = "CREATE DATABASE shop; ALTER DATABASE shop SET RECOVERY SIMPLE; \
    CREATE TABLE shop.dbo.t (id int PRIMARY KEY, a varchar(4000), b nvarchar(max))";

fn fill(session: &mut Session, from: u32, to: u32) {
    well(
        session,
        &format!(
            "declare @i int = {from}; while @i < {to} begin insert shop.dbo.t values (@i, replicate('{MARKER}', 1 + @i % 40), \
             replicate(cast(N'{MARKER}' as nvarchar(max)), case when @i % 7 = 0 then 400 else 1 end)); set @i += 1 end"
        ),
    );
}

const ENCRYPT: &str = "USE shop; CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = AES_256 ENCRYPTION BY SERVER CERTIFICATE safe; \
    ALTER DATABASE shop SET ENCRYPTION ON; USE master";

#[test]
fn what_was_on_the_disk_is_gone_after_the_scan_from_files_log_backups_and_tempdb() {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(&mut session, KEYS);
    well(&mut session, SHOP);
    fill(&mut session, 0, 150);
    well(&mut session, "CHECKPOINT; USE shop; CHECKPOINT; USE master");
    fill(&mut session, 150, 170);
    well(&mut session, "BACKUP DATABASE shop TO DISK = 'plain.bak'");
    let names = |disk: &Arc<SimDisk>| -> String {
        marked(disk).iter().map(|p| p.display().to_string() + "\n").collect()
    };
    let before = names(&disk);
    for part in ["data.keel", ".vlf", "plain.bak"] {
        assert!(before.contains(part), "{part}: {before}");
    }
    well(&mut session, ENCRYPT);
    settle(&mut session, 3);
    // The old log leaves with a checkpoint.
    well(&mut session, "USE shop; CHECKPOINT; CHECKPOINT; USE master");
    fill(&mut session, 200, 230);
    well(&mut session, "USE shop; CHECKPOINT; USE master");
    well(&mut session, "BACKUP DATABASE shop TO DISK = 'full.bak' WITH COMPRESSION");
    fill(&mut session, 230, 235);
    well(&mut session, "BACKUP DATABASE shop TO DISK = 'more.dif' WITH DIFFERENTIAL");
    well(
        &mut session,
        "ALTER DATABASE shop SET RECOVERY FULL; BACKUP DATABASE shop TO DISK = 'chain.bak'; \
         INSERT shop.dbo.t SELECT id + 1000, a, b FROM shop.dbo.t WHERE id < 5; BACKUP LOG shop TO DISK = 'log.trn'",
    );
    well(
        &mut session,
        "SELECT id, a, b INTO #copy FROM shop.dbo.t; USE tempdb; CHECKPOINT; USE master; SELECT COUNT(*) AS n FROM #copy",
    );
    let plain = before.lines().find(|line| line.contains("plain.bak")).unwrap();
    let deadline = Instant::now() + LONG;
    while names(&disk).trim() != plain && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(names(&disk).trim(), plain);
    // The keys themselves are nowhere as they are, nor is the private key in master.
    let key = engine.certificate("safe").unwrap().unwrap().key.unwrap();
    for path in files_below(&disk, Path::new("/data")) {
        let bytes = disk.contents(&path).unwrap();
        assert!(!bytes.windows(key.len()).any(|w| w == &key[..]), "{}", path.display());
    }
    // Another instance needs the certificate.
    let other = SimDisk::new();
    let (_, mut theirs) = server_on(&other);
    for file in ["full.bak", "more.dif", "chain.bak", "log.trn"] {
        let from = files_below(&disk, Path::new("/data")).into_iter().find(|p| p.ends_with(file)).unwrap();
        other.create_dir_all(from.parent().unwrap()).unwrap();
        let copy = other.open(&from, keel_base::env::OpenMode::Create).unwrap();
        copy.write_at(&disk.contents(&from).unwrap(), 0).unwrap();
    }
    for file in ["safe.cer", "safe.pvk"] {
        let copy = other.open(&Path::new("/").join(file), keel_base::env::OpenMode::Create).unwrap();
        copy.write_at(&disk.contents(&Path::new("/").join(file)).unwrap(), 0).unwrap();
    }
    let restore = "RESTORE DATABASE shop FROM DISK = 'full.bak' WITH NORECOVERY, REPLACE; \
        RESTORE DATABASE shop FROM DISK = 'more.dif' WITH RECOVERY";
    assert!(run(&mut theirs, restore).contains("Msg 33111"));
    well(&mut theirs, "RESTORE HEADERONLY FROM DISK = 'full.bak'");
    well(
        &mut theirs,
        "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Theirs-1'; CREATE CERTIFICATE theirs FROM FILE = '/safe.cer' \
         WITH PRIVATE KEY (FILE = '/safe.pvk', DECRYPTION BY PASSWORD = 'Key-File-1')",
    );
    well(&mut theirs, restore);
    let shown =
        "SELECT COUNT(*) AS n FROM shop.dbo.t; SELECT is_encrypted FROM sys.databases WHERE name = 'shop'";
    let said = well(&mut theirs, shown);
    assert!(said.contains("205") && said.contains('1'), "{said}");
    well(
        &mut theirs,
        "RESTORE DATABASE shop FROM DISK = 'chain.bak' WITH NORECOVERY, REPLACE; RESTORE LOG shop FROM DISK = 'log.trn'",
    );
    assert!(well(&mut theirs, shown).contains("210"));
    settle(&mut theirs, 3);
    assert!(marked(&other).is_empty());
}

#[test]
fn without_its_certificate_a_database_waits_and_the_others_go_on() {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(&mut session, KEYS);
    well(&mut session, SHOP);
    well(
        &mut session,
        "CREATE DATABASE plain; CREATE TABLE plain.dbo.t (n int); INSERT plain.dbo.t VALUES (1)",
    );
    fill(&mut session, 0, 10);
    well(&mut session, ENCRYPT);
    settle(&mut session, 3);
    let certificate = engine.certificate("safe").unwrap().unwrap();
    engine.drop_certificate(certificate.id).unwrap();
    drop((session, engine));
    let disk = disk.crash(Tear::LoseAll);
    let (engine, mut session) = server_on(&disk);
    assert_eq!(engine.unopened()[0].error.number, 33111);
    let shown = "SELECT name, state, state_desc FROM sys.databases WHERE name IN ('shop', 'plain')";
    let said = well(&mut session, shown);
    assert!(said.contains("RECOVERY_PENDING") && said.contains("ONLINE"), "{said}");
    assert!(
        well(&mut session, "SELECT DATABASEPROPERTYEX('shop', 'Status') AS s").contains("RECOVERY_PENDING")
    );
    assert!(run(&mut session, "USE shop").contains("Msg 945"));
    assert!(run(&mut session, "CREATE DATABASE shop").contains("Msg 1801"));
    well(&mut session, "INSERT plain.dbo.t VALUES (2); CREATE DATABASE another");
    let back = "CREATE CERTIFICATE again FROM FILE = '/safe.cer' \
        WITH PRIVATE KEY (FILE = '/safe.pvk', DECRYPTION BY PASSWORD = 'Key-File-1')";
    well(&mut session, back);
    assert!(!well(&mut session, shown).contains("RECOVERY_PENDING"));
    assert!(well(&mut session, "SELECT COUNT(*) AS n FROM shop.dbo.t").contains("10"));
    assert!(run(&mut session, "DROP CERTIFICATE again").contains("Msg 3716"));
}

#[test]
fn a_master_that_came_without_the_service_key_opens_with_its_password() {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(&mut session, KEYS);
    well(&mut session, SHOP);
    fill(&mut session, 0, 10);
    well(&mut session, ENCRYPT);
    settle(&mut session, 3);
    drop((session, engine));
    let disk = disk.crash(Tear::LoseAll);
    let service =
        files_below(&disk, Path::new("/data")).into_iter().find(|p| p.ends_with("service.keel")).unwrap();
    disk.remove(&service).unwrap();
    let (engine, mut session) = server_on(&disk);
    assert_eq!(engine.unopened().len(), 1);
    assert!(run(&mut session, "OPEN MASTER KEY DECRYPTION BY PASSWORD = 'another'").contains("Msg 15313"));
    well(
        &mut session,
        "OPEN MASTER KEY DECRYPTION BY PASSWORD = 'Master-Key-1'; ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY",
    );
    assert!(well(&mut session, "SELECT COUNT(*) AS n FROM shop.dbo.t").contains("10"));
    drop((session, engine));
    let (_, mut session) = server_on(&disk.crash(Tear::LoseAll));
    assert!(well(&mut session, "SELECT COUNT(*) AS n FROM shop.dbo.t").contains("10"));
}

#[test]
fn a_database_that_cannot_be_opened_can_be_dropped() {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(&mut session, KEYS);
    well(&mut session, SHOP);
    well(&mut session, ENCRYPT);
    settle(&mut session, 3);
    let certificate = engine.certificate("safe").unwrap().unwrap();
    engine.drop_certificate(certificate.id).unwrap();
    drop((session, engine));
    let (engine, mut session) = server_on(&disk.crash(Tear::LoseAll));
    well(&mut session, "DROP DATABASE shop; CREATE DATABASE shop");
    assert!(engine.unopened().is_empty());
}
