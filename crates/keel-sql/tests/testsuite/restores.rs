//! Restores that are cut short: the database that was to be replaced stays, and nothing of the other one.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open};
use keel_base::env::sim::{SimDisk, Tear};
use keel_base::env::{Disk as _, OpenMode};
use keel_sql::Session;
use std::path::Path;
use std::sync::Arc;

fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

#[test]
fn directories_that_a_killed_restore_left_are_removed_and_no_others() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    run(&mut session, "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (n int); INSERT shop.dbo.t VALUES (1)");
    drop((session, engine));
    let disk = disk.crash(Tear::KeepAll);
    for (dir, file) in
        [("db9-8df4a69774e125a", "base.keel"), ("db8-8df4a69774e125b", "control.keel"), ("db-notes", "mine")]
    {
        let dir = Path::new("/data").join(dir);
        disk.create_dir_all(&dir).unwrap();
        disk.open(&dir.join(file), OpenMode::Create).unwrap().write_at(b"x", 0).unwrap();
    }
    let mut session = connect(&open(&disk));
    assert!(run(&mut session, "SELECT n FROM shop.dbo.t").contains('1'));
    let there = |dir: &str| disk.exists(&Path::new("/data").join(dir));
    assert!(!there("db9-8df4a69774e125a/base.keel"));
    assert!(there("db8-8df4a69774e125b/control.keel") && there("db-notes/mine"));
}

/// What the data directory has of databases, but for those of the instance itself.
fn directories(disk: &Arc<SimDisk>) -> Vec<String> {
    let all = disk.list(Path::new("/data")).unwrap();
    let name = |dir: &std::path::PathBuf| dir.file_name().unwrap().to_string_lossy().into_owned();
    let mut names: Vec<_> = all.iter().map(name).filter(|name| name.starts_with("db")).collect();
    names.sort();
    names
}

/// The process ends between two steps of it, again and again, when the copy is complete too: nothing of it is left unless the
/// instance knows it. A database that was detached stays where it is, complete as it is and known to nobody.
#[test]
fn a_complete_copy_that_master_does_not_know_is_removed() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    run(&mut session, "CREATE DATABASE mine; CREATE TABLE mine.dbo.t (n int); INSERT mine.dbo.t VALUES (1)");
    let detached = directories(&disk);
    assert!(run(&mut session, "EXEC sp_detach_db 'mine'").contains("is detached"));
    drop((session, engine));
    let image = disk.crash(Tear::KeepAll);
    let (mut complete, mut adopted) = (0, 0);
    for (step, tear) in (0..).flat_map(|step| [Tear::LoseAll, Tear::Random(step)].map(|tear| (step, tear))) {
        let disk = image.crash(Tear::KeepAll);
        let engine = open(&disk);
        disk.cut_power_at(step);
        // As a seeding does it.
        let ended = engine.reserve_place("copy").and_then(|(id, dir)| {
            let options = keel_node::DbOptions::default();
            let made = keel_node::Database::create(engine.instance(), id, &dir, &options);
            let Ok(made) = made else { return Ok(()) };
            complete += 1;
            engine.adopt_database("copy", id, made)
        });
        let ends = !disk.power_is_cut();
        assert!(ended.is_ok() || !ends);
        drop(engine);
        let disk = disk.crash(tear);
        let engine = open(&disk);
        let known = usize::from(engine.database("copy").is_some());
        adopted += known;
        assert_eq!(directories(&disk).len(), 1 + known, "{step}: {:?}", directories(&disk));
        assert!(directories(&disk).contains(&detached[0]), "{step}");
        // And when it is dropped.
        if ends {
            for step in 0.. {
                let disk = disk.crash(Tear::KeepAll);
                let engine = open(&disk);
                disk.cut_power_at(step);
                let dropped = engine.drop_database("copy").is_ok();
                let ends = !disk.power_is_cut();
                drop(engine);
                let disk = disk.crash(Tear::Random(step));
                let engine = open(&disk);
                let known = usize::from(engine.database("copy").is_some());
                assert!(known == 0 || !dropped);
                assert_eq!(directories(&disk).len(), 1 + known, "{step}: {:?}", directories(&disk));
                if ends {
                    break;
                }
            }
            break;
        }
    }
    assert!(complete > adopted && adopted > 0, "{complete} copies were complete, {adopted} adopted");
}

/// Power is cut in the middle of it, again and again: one of the two databases has the name, whole.
#[test]
fn a_database_is_replaced_or_it_is_not() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    run(&mut session, "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (n int); INSERT shop.dbo.t VALUES (1)");
    run(&mut session, "BACKUP DATABASE shop TO DISK = 'shop.bak'; INSERT shop.dbo.t VALUES (2)");
    drop((session, engine));
    let image = disk.crash(Tear::KeepAll);
    let mut replaced = 0;
    for step in (0..400).step_by(7) {
        let disk = image.crash(Tear::KeepAll);
        let mut session = connect(&open(&disk));
        disk.cut_power_at(step);
        let said = run(&mut session, "RESTORE DATABASE shop FROM DISK = 'shop.bak' WITH REPLACE");
        drop(session);
        let disk = disk.crash(Tear::Random(step));
        let mut session = connect(&open(&disk));
        let rows = run(&mut session, "SELECT COUNT(*) AS n FROM shop.dbo.t");
        let done = said.contains("successfully");
        assert!(
            rows.contains('1') && !rows.contains("Msg") || rows.contains('2') && !done,
            "{step}: {said}{rows}"
        );
        replaced += u32::from(done);
    }
    assert!(replaced > 0);
}

/// Power is cut while a copy is recovered, or while the tail of a log is backed up: what is RESTORING afterwards can be recovered, and
/// has everything.
#[test]
fn what_is_restoring_can_be_recovered_wherever_it_was_cut_short() {
    let disk = SimDisk::new();
    let mut session = connect(&open(&disk));
    run(&mut session, "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (n int); INSERT shop.dbo.t VALUES (1)");
    run(&mut session, "BACKUP DATABASE shop TO DISK = 'shop.bak'; INSERT shop.dbo.t VALUES (2)");
    run(
        &mut session,
        "BACKUP LOG shop TO DISK = 'shop.trn'; RESTORE DATABASE copy FROM DISK = 'shop.bak' WITH NORECOVERY",
    );
    run(&mut session, "RESTORE LOG copy FROM DISK = 'shop.trn' WITH NORECOVERY");
    drop(session);
    let image = disk.crash(Tear::KeepAll);
    let statements = [
        ("copy", "RESTORE DATABASE copy WITH RECOVERY"),
        ("shop", "BACKUP LOG shop TO DISK = 'tail.trn' WITH NORECOVERY"),
    ];
    for (name, sql) in statements {
        let mut cut = 0;
        for step in 0.. {
            let disk = image.crash(Tear::KeepAll);
            let mut session = connect(&open(&disk));
            disk.cut_power_at(step);
            let said = run(&mut session, sql);
            if !disk.power_is_cut() {
                assert!(said.contains("successfully"), "{said}");
                break;
            }
            drop(session);
            let disk = disk.crash(Tear::Random(step));
            let mut session = connect(&open(&disk));
            let restoring = run(&mut session, &format!("SELECT * FROM {name}.dbo.t")).contains("Msg 927");
            if restoring {
                run(&mut session, &format!("RESTORE DATABASE {name} WITH RECOVERY"));
            }
            let rows = run(&mut session, &format!("SELECT COUNT(*) AS n FROM {name}.dbo.t WHERE n < 3"));
            assert!(rows.contains('2') && !rows.contains("Msg"), "{sql}, {step}: {said}{rows}");
            let more = run(&mut session, &format!("INSERT {name}.dbo.t VALUES (3)"));
            assert!(!more.contains("Msg"), "{sql}, {step}: {more}");
            cut += 1;
        }
        assert!(cut > 5, "{sql}: {cut}");
    }
}
