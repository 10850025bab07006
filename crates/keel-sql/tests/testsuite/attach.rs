//! Databases that are detached with their files and attached with them: here, at another instance, under another name, without their
//! log, and with a power cut or a failing disk wherever it may come.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, run, well};
use keel_base::env::sim::{SimDisk, Tear};
use keel_base::env::{Disk as _, OpenMode};
use keel_sql::{Engine, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SHOP: &str = "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (n int IDENTITY PRIMARY KEY, s varchar(max)); \
    INSERT shop.dbo.t (s) SELECT REPLICATE('x', 900) FROM sys.all_objects";

fn server_on(disk: &Arc<SimDisk>) -> (Arc<Engine>, Session) {
    let engine = open(disk);
    let session = connect(&engine);
    (engine, session)
}

fn directory(engine: &Engine, database: &str) -> PathBuf {
    engine.database(database).unwrap().store.dir().to_path_buf()
}

fn attach(name: &str, dir: &Path, how: &str) -> String {
    let dir = dir.display();
    format!(
        "CREATE DATABASE {name} ON (FILENAME = '{dir}/data.keel') LOG ON (FILENAME = '{dir}/log') FOR {how}"
    )
}

fn rows(session: &mut Session, database: &str) -> String {
    well(session, &format!("SELECT COUNT(*) AS n, MAX(n) AS last FROM {database}.dbo.t"))
}

fn files_below(disk: &Arc<SimDisk>, dir: &Path) -> Vec<PathBuf> {
    let inside = disk.list(dir).unwrap_or_default();
    let below = |path: PathBuf| {
        if disk.contents(&path).is_some() { vec![path] } else { files_below(disk, &path) }
    };
    inside.into_iter().flat_map(below).collect()
}

/// Copies a directory as somebody does with the operating system.
fn copy(from: &Arc<SimDisk>, dir: &Path, to: &Arc<SimDisk>, there: &Path) {
    for file in files_below(from, dir) {
        let path = there.join(file.strip_prefix(dir).unwrap());
        to.create_dir_all(path.parent().unwrap()).unwrap();
        let copied = to.open(&path, OpenMode::Create).unwrap();
        copied.write_at(&from.contents(&file).unwrap(), 0).unwrap();
        copied.sync_all().unwrap();
        to.sync_dir(path.parent().unwrap()).unwrap();
    }
}

#[test]
fn what_is_detached_is_attached_under_any_name() {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(&mut session, SHOP);
    well(&mut session, "ALTER DATABASE shop SET TRUSTWORTHY ON, DB_CHAINING ON");
    let (dir, before) = (directory(&engine, "shop"), rows(&mut session, "shop"));
    let said = well(&mut session, "EXEC sp_detach_db 'shop', 'false'");
    assert!(said.contains(&format!("{}", dir.display())), "{said}");
    assert!(run(&mut session, "SELECT 1 FROM shop.dbo.t").contains("Msg 208"));
    assert!(run(&mut session, "USE shop").contains("Msg 911"));
    drop((session, engine));
    // It stays detached, and its files stay.
    let disk = disk.crash(Tear::LoseAll);
    let (engine, mut session) = server_on(&disk);
    assert!(engine.database("shop").is_none());
    well(&mut session, &attach("store", &dir, "ATTACH"));
    assert_eq!(rows(&mut session, "store"), before);
    let flags = "SELECT is_trustworthy_on, is_db_chaining_on, is_broker_enabled FROM sys.databases WHERE name = 'store'";
    let said = well(&mut session, flags);
    assert!(said.contains("0                 | 0                 | 0\n"), "{said}");
    well(&mut session, "INSERT store.dbo.t (s) VALUES ('after')");
    let after = rows(&mut session, "store");
    drop((session, engine));
    let (engine, mut session) = server_on(&disk.crash(Tear::LoseAll));
    assert_eq!(rows(&mut session, "store"), after);
    // The old procedures likewise; a database of the same files is in use.
    well(&mut session, "EXEC sp_detach_db @dbname = 'store', @skipchecks = 'true'");
    let data = format!("{}/data.keel", dir.display());
    well(&mut session, &format!("EXEC sp_attach_single_file_db 'one', '{data}'"));
    assert!(run(&mut session, &format!("EXEC sp_attach_db 'two', '{data}'")).contains("Msg 5120"));
    well(&mut session, "EXEC sp_detach_db 'one'");
    well(&mut session, &format!("EXEC sp_attach_db 'two', '{data}', '{}/log'", dir.display()));
    assert_eq!(rows(&mut session, "two"), after);
    well(&mut session, "DROP DATABASE two");
    assert!(engine.database("two").is_none());
}

#[test]
fn files_of_another_instance_are_used_where_they_are() {
    let (theirs, ours) = (SimDisk::new(), SimDisk::new());
    let (engine, mut session) = server_on(&theirs);
    well(&mut session, SHOP);
    let (dir, before) = (directory(&engine, "shop"), rows(&mut session, "shop"));
    well(&mut session, "EXEC sp_detach_db 'shop'");
    let (_, mut session) = server_on(&ours);
    let there = Path::new("/elsewhere/files");
    copy(&theirs, &dir, &ours, there);
    let other = ours.open(&there.join("notes.txt"), OpenMode::Create).unwrap();
    other.write_at(b"not the database's", 0).unwrap();
    well(&mut session, "CREATE DATABASE shop");
    assert!(run(&mut session, &attach("shop", there, "ATTACH")).contains("Msg 1801"));
    well(&mut session, "DROP DATABASE shop");
    well(&mut session, &(attach("shop", there, "ATTACH") + " WITH NEW_BROKER"));
    assert!(
        well(&mut session, "SELECT physical_name FROM shop.sys.database_files")
            .contains("/elsewhere/files/data.keel")
    );
    well(&mut session, "ALTER DATABASE shop MODIFY NAME = store");
    drop(session);
    let disk = ours.crash(Tear::KeepAll);
    let (_, mut session) = server_on(&disk);
    assert_eq!(rows(&mut session, "store"), before);
    assert!(
        well(&mut session, "SELECT is_broker_enabled FROM sys.databases WHERE name = 'store'").contains('1')
    );
    well(&mut session, "DROP DATABASE store");
    assert_eq!(files_below(&disk, there), vec![there.join("notes.txt")]);
}

#[test]
fn a_log_that_is_gone_is_made_anew_when_it_was_not_needed() {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(&mut session, SHOP);
    let (dir, before) = (directory(&engine, "shop"), rows(&mut session, "shop"));
    let remove_log = |disk: &Arc<SimDisk>| disk.remove_dir_all(&dir.join("log")).unwrap();
    well(&mut session, "EXEC sp_detach_db 'shop'");
    remove_log(&disk);
    let how =
        format!("CREATE DATABASE shop ON (FILENAME = '{}/data.keel') FOR ATTACH_REBUILD_LOG", dir.display());
    well(&mut session, &how);
    assert_eq!(rows(&mut session, "shop"), before);
    well(&mut session, "INSERT shop.dbo.t (s) VALUES ('after')");
    let after = rows(&mut session, "shop");
    drop((session, engine));
    let disk = disk.crash(Tear::LoseAll);
    let (engine, mut session) = server_on(&disk);
    assert_eq!(rows(&mut session, "shop"), after);
    // That of a database that was not detached is.
    let copied = Path::new("/copied");
    copy(&disk, &dir, &disk, copied);
    disk.remove_dir_all(&copied.join("log")).unwrap();
    let said = run(&mut session, &attach("copied", copied, "ATTACH"));
    assert!(said.contains("The log cannot be rebuilt") || said.contains("Msg 5120"), "{said}");
    let said = run(
        &mut session,
        "CREATE DATABASE copied ON (FILENAME = '/copied/data.keel') FOR ATTACH_REBUILD_LOG",
    );
    assert!(said.contains("The log cannot be rebuilt") && said.contains("Msg 1813"), "{said}");
    drop(engine);
}

#[test]
fn what_cannot_be_detached_or_attached() {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(&mut session, SHOP);
    let refused = |session: &mut Session, sql: &str, number: i32| {
        let said = run(session, sql);
        assert!(said.contains(&format!("Msg {number},")), "{sql}: {said}");
    };
    refused(&mut session, "EXEC sp_detach_db 'master'", 7940);
    refused(&mut session, "EXEC sp_detach_db 'nowhere'", 15010);
    refused(&mut session, "EXEC sp_detach_db 'shop', 'perhaps'", 15600);
    refused(&mut session, "BEGIN TRAN; EXEC sp_detach_db 'shop'; ROLLBACK", 15002);
    refused(&mut session, "USE shop; EXEC sp_detach_db 'shop'", 3703);
    well(&mut session, "USE master");
    let mut other = connect(&engine);
    well(&mut other, "USE shop");
    refused(&mut session, "EXEC sp_detach_db 'shop'", 3703);
    drop(other);
    well(&mut session, "CREATE DATABASE morning ON (NAME = shop, FILENAME = '/m.ss') AS SNAPSHOT OF shop");
    refused(&mut session, "EXEC sp_detach_db 'shop'", 3709);
    refused(&mut session, "EXEC sp_detach_db 'morning'", 3706);
    well(&mut session, "DROP DATABASE morning");
    let dir = directory(&engine, "shop");
    refused(&mut session, &attach("again", &dir, "ATTACH"), 5120);
    refused(&mut session, &attach("again", Path::new("/data/master"), "ATTACH"), 5120);
    refused(&mut session, &attach("again", Path::new("/not/there"), "ATTACH"), 5133);
    refused(&mut session, &attach("again", Path::new("here"), "ATTACH"), 5105);
    refused(&mut session, "CREATE DATABASE again ON (FILENAME = '/data/none.keel') FOR ATTACH", 5120);
    refused(&mut session, "CREATE DATABASE again ON (NAME = again) FOR ATTACH", 1036);
    refused(&mut session, &(attach("again", &dir, "ATTACH") + " WITH TRUSTWORTHY ON"), 102);
    well(&mut session, "EXEC sp_detach_db 'shop'");
    let log = format!("CREATE DATABASE again ON (FILENAME = '{}/control.keel') FOR ATTACH", dir.display());
    refused(&mut session, &log, 5171);
    // A file of the same name that is none.
    let strange = Path::new("/strange");
    disk.create_dir_all(strange).unwrap();
    disk.open(&strange.join("data.keel"), OpenMode::Create).unwrap().write_at(b"hello", 0).unwrap();
    refused(&mut session, "CREATE DATABASE again ON (FILENAME = '/strange/data.keel') FOR ATTACH", 5171);
    // A form that this release does not know.
    copy(&disk, &dir, &disk, Path::new("/newer"));
    disk.flip(Path::new("/newer/control.keel"), 8, 6);
    let said = run(&mut session, "CREATE DATABASE again ON (FILENAME = '/newer/data.keel') FOR ATTACH");
    assert!(said.contains("Msg 948,") && said.contains("Msg 1813,"), "{said}");
    // Damaged.
    copy(&disk, &dir, &disk, Path::new("/damaged"));
    disk.flip(Path::new("/damaged/control.keel"), 20, 6);
    refused(&mut session, "CREATE DATABASE again ON (FILENAME = '/damaged/data.keel') FOR ATTACH", 1813);
    well(&mut session, &attach("shop", &dir, "ATTACH"));
}

#[test]
fn an_encrypted_one_needs_its_certificate() {
    let (theirs, ours) = (SimDisk::new(), SimDisk::new());
    let keyed = |disk: &Arc<SimDisk>| {
        let (engine, session) = server_on(disk);
        assert!(engine.set_hadr(crate::common::replication::Fake::new("EVENKEEL")), "is set once");
        (engine, session)
    };
    let (engine, mut session) = keyed(&theirs);
    well(
        &mut session,
        "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-1'; CREATE CERTIFICATE safe WITH SUBJECT = 'safe'; \
         BACKUP CERTIFICATE safe TO FILE = '/safe.cer' WITH PRIVATE KEY (FILE = '/safe.pvk', ENCRYPTION BY PASSWORD = 'Key-File-1')",
    );
    well(&mut session, SHOP);
    run(
        &mut session,
        "USE shop; CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = AES_256 ENCRYPTION BY SERVER CERTIFICATE safe; \
         ALTER DATABASE shop SET ENCRYPTION ON; USE master",
    );
    let encrypted = "declare @n int = 0; while @n < 3000 and exists (select * from sys.dm_database_encryption_keys \
         where encryption_state <> 3) begin waitfor delay '00:00:00.010' set @n += 1 end";
    well(&mut session, encrypted);
    let (dir, before) = (directory(&engine, "shop"), rows(&mut session, "shop"));
    well(&mut session, "EXEC sp_detach_db 'shop'");
    let there = Path::new("/elsewhere");
    copy(&theirs, &dir, &ours, there);
    for file in ["/safe.cer", "/safe.pvk"] {
        let copied = ours.open(Path::new(file), OpenMode::Create).unwrap();
        copied.write_at(&theirs.contents(Path::new(file)).unwrap(), 0).unwrap();
    }
    let (_, mut session) = keyed(&ours);
    assert!(run(&mut session, &attach("shop", there, "ATTACH")).contains("Msg 33111"));
    well(
        &mut session,
        "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-2'; CREATE CERTIFICATE safe FROM FILE = '/safe.cer' \
         WITH PRIVATE KEY (FILE = '/safe.pvk', DECRYPTION BY PASSWORD = 'Key-File-1')",
    );
    well(&mut session, &attach("shop", there, "ATTACH"));
    assert_eq!(rows(&mut session, "shop"), before);
}

/// What happens at an operation of the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Cut,
    Fails,
}

/// Whatever operation of detaching and attaching the power is cut at, or fails: the database is there, or can be attached, with all its rows.
fn everywhere(fault: Fault, rebuild: bool) {
    let disk = SimDisk::new();
    let (engine, mut session) = server_on(&disk);
    well(
        &mut session,
        "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (n int PRIMARY KEY); INSERT shop.dbo.t VALUES (1), (2)",
    );
    let dir = directory(&engine, "shop");
    if rebuild {
        well(&mut session, "EXEC sp_detach_db 'shop'");
        disk.remove_dir_all(&dir.join("log")).unwrap();
        disk.sync_dir(&dir).unwrap();
    }
    drop((session, engine));
    let image = disk.crash(Tear::KeepAll);
    let mut seen = [0; 2];
    for step in 0.. {
        let disk = image.crash(Tear::KeepAll);
        let (engine, mut session) = server_on(&disk);
        match fault {
            Fault::Cut => disk.cut_power_at(step),
            Fault::Fails => disk.fail_nth(step + 1),
        }
        if !rebuild {
            run(&mut session, "INSERT shop.dbo.t VALUES (3); EXEC sp_detach_db 'shop'");
        }
        run(&mut session, &attach("shop", &dir, "ATTACH"));
        let through = if fault == Fault::Cut { !disk.power_is_cut() } else { disk.fault_pending() };
        disk.heal();
        drop((session, engine));
        for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(step)] {
            let (engine, mut session) = server_on(&disk.crash(tear));
            let attached = engine.database("shop").is_some();
            if !attached {
                let said = run(&mut session, &attach("shop", &dir, "ATTACH"));
                assert!(!said.contains("Msg "), "{fault:?} {step} {tear:?}: {said}");
            }
            let said = well(&mut session, "SELECT COUNT(*) AS n FROM shop.dbo.t WHERE n < 3");
            assert!(said.contains("\n2\n"), "{fault:?} {step} {tear:?}: {said}");
            well(&mut session, "INSERT shop.dbo.t VALUES (4)");
            seen[usize::from(attached)] += 1;
        }
        if through {
            break;
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_power_cut_loses_nothing() {
    everywhere(Fault::Cut, false);
}

#[test]
fn a_failing_disk_loses_nothing() {
    everywhere(Fault::Fails, false);
}

#[test]
fn nor_while_the_log_is_made_anew() {
    everywhere(Fault::Cut, true);
    everywhere(Fault::Fails, true);
}
