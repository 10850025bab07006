//! Encryption at rest: what is on the disk, who can open it, crashes while files are turned, copies, backups.

use super::*;
use crate::backup::{
    BackupOptions, BackupSet, Rolled, StopAt, back_up, back_up_log, complete, restore, restore_log, sets,
};
use crate::{Algorithm, EncryptionState, Role, SeedSink, SeedSource, TxnError};
use keel_base::env::sim::Tear;
use keel_base::env::{Disk as _, File, OpenMode};
use keel_base::{Epoch, Lsn};
use std::time::Duration;

const MARKER: &str = "a marker nobody else writes";
const LONG: Duration = Duration::from_secs(60);
const ONE: (&[u8], &[u8]) = (b"thumbprint one", b"secret of one");
const TWO: (&[u8], &[u8]) = (b"thumbprint two", b"secret of two");

type Certificate = (&'static [u8], &'static [u8]);

/// An instance worked by hand that knows some certificates.
fn knowing(disk: &Arc<SimDisk>, seed: u64, known: &'static [Certificate]) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: 64 << 20,
        stream_bytes: 600,
        automatic_checkpoints: false,
        redo_workers: 1,
        by_hand: true,
        ..InstanceOptions::default()
    };
    let instance = Instance::new(env(disk, seed), options);
    learn(&instance, known);
    instance
}

fn learn(instance: &Instance, known: &'static [Certificate]) {
    instance.set_secrets(Arc::new(move |thumbprint| {
        known.iter().find(|c| c.0 == thumbprint).map(|c| c.1.to_vec())
    }));
}

fn open_in(instance: &Arc<Instance>) -> Result<Arc<Database>, DbError> {
    Database::open(instance, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ())
}

fn create_in(instance: &Arc<Instance>) -> Arc<Database> {
    Database::create(instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap()
}

fn work(instance: &Instance) {
    while instance.work_queued(0) {}
}

fn new_key(db: &Database, certificate: Certificate, algorithm: Algorithm) -> Result<(), TxnError> {
    let random = Arc::clone(&db.instance().env().random);
    db.change_keys(|ring| {
        ring.add(algorithm, certificate.0, certificate.1, &*random);
        Ok(())
    })
}

fn set(db: &Database, on: bool) -> Result<(), TxnError> {
    db.change_keys(|ring| {
        ring.on = on;
        Ok(())
    })
}

fn state(db: &Database) -> Option<EncryptionState> {
    db.encryption().map(|e| e.state)
}

/// Rows with the marker in them, some of them large.
fn fill(db: &Arc<Database>, n: u8) {
    for i in 0..n {
        put(db, &[i], &MARKER.repeat(if i % 16 == 3 { 900 } else { 1 + usize::from(i) }));
    }
}

fn all_of(db: &Arc<Database>) -> Model {
    everything(&mut db.begin(Isolation::ReadCommitted), &[TREE])
}

/// How often the marker is in files below a directory.
fn markers(disk: &Arc<SimDisk>) -> usize {
    let mut found = 0;
    for dir in [DIR.into(), format!("{DIR}/log")] {
        for path in disk.list(Path::new(&dir)).unwrap() {
            let bytes = disk.contents(&path).unwrap_or_default();
            found += bytes.windows(MARKER.len()).filter(|w| *w == MARKER.as_bytes()).count();
        }
    }
    found
}

#[test]
fn the_files_are_encrypted_and_open_with_the_certificate_alone() {
    for algorithm in [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256] {
        let disk = SimDisk::new();
        let instance = knowing(&disk, 1, &[ONE]);
        let db = create_in(&instance);
        fill(&db, 100);
        db.checkpoint().unwrap();
        fill(&db, 50);
        let model = all_of(&db);
        assert!(markers(&disk) > 1000);
        assert!(state(&db).is_none() && !db.is_encrypted());
        new_key(&db, ONE, algorithm).unwrap();
        assert_eq!(state(&db), Some(EncryptionState::Unencrypted));
        set(&db, true).unwrap();
        assert_eq!(state(&db), Some(EncryptionState::Encrypting));
        assert!(db.is_encrypted());
        work(&instance);
        assert_eq!(state(&db), Some(EncryptionState::Encrypted));
        fill(&db, 20);
        assert_eq!(markers(&disk), 0);
        assert!(all_of(&db) == model);
        let crashed = disk.crash(Tear::LoseAll);
        for none in [&[][..], &[TWO]] {
            let locked = open_in(&knowing(&crashed, 2, none)).err();
            assert!(matches!(locked, Some(DbError::Locked(_))), "{locked:?}");
        }
        let again = open_in(&knowing(&crashed, 3, &[TWO, ONE])).unwrap();
        assert!(all_of(&again) == model);
        again.close().unwrap();
        set(&db, false).unwrap();
        assert_eq!(state(&db), Some(EncryptionState::Decrypting));
        work(&instance);
        assert_eq!(state(&db), Some(EncryptionState::Unencrypted));
        db.change_keys(|ring| {
            ring.current = 0;
            Ok::<_, TxnError>(())
        })
        .unwrap();
        assert!(db.encryption().is_none());
        db.close().unwrap();
        assert!(markers(&disk) > 0);
        let plain = open_in(&knowing(&disk.crash(Tear::LoseAll), 4, &[])).unwrap();
        assert!(all_of(&plain) == model);
    }
}

#[test]
fn keys_change_and_are_sealed_with_another_certificate() {
    let disk = SimDisk::new();
    let instance = knowing(&disk, 1, &[ONE, TWO]);
    let db = create_in(&instance);
    fill(&db, 60);
    let model = all_of(&db);
    new_key(&db, ONE, Algorithm::Aes128).unwrap();
    set(&db, true).unwrap();
    work(&instance);
    fill(&db, 10);
    new_key(&db, ONE, Algorithm::Aes256).unwrap();
    assert_eq!(state(&db), Some(EncryptionState::ChangingKey));
    work(&instance);
    assert_eq!(state(&db), Some(EncryptionState::Encrypted));
    let random = Arc::clone(&instance.env().random);
    db.change_keys(|ring| {
        let secret_of = |thumbprint: &[u8]| (thumbprint == ONE.0).then(|| ONE.1.to_vec());
        assert!(ring.seal_anew(&secret_of, TWO, &*random));
        Ok::<_, TxnError>(())
    })
    .unwrap();
    assert_eq!(state(&db), Some(EncryptionState::Encrypted), "nothing is written anew for that");
    db.close().unwrap();
    assert!(open_in(&knowing(&disk.crash(Tear::LoseAll), 2, &[ONE])).is_err());
    let again = open_in(&knowing(&disk.crash(Tear::LoseAll), 3, &[TWO])).unwrap();
    assert!(all_of(&again) == model);
    assert_eq!(markers(&disk), 0);
}

#[test]
fn a_suspended_scan_goes_on_when_it_is_resumed_after_a_restart_too() {
    let disk = SimDisk::new();
    let instance = knowing(&disk, 1, &[ONE]);
    let db = create_in(&instance);
    fill(&db, 60);
    db.checkpoint().unwrap();
    new_key(&db, ONE, Algorithm::Aes256).unwrap();
    let suspend = |db: &Database, suspended| {
        db.change_keys(|ring| {
            ring.on = true;
            ring.suspended = suspended;
            Ok::<_, TxnError>(())
        })
    };
    suspend(&db, true).unwrap();
    work(&instance);
    assert_eq!(state(&db), Some(EncryptionState::Encrypting));
    assert!(markers(&disk) > 0);
    let after = disk.crash(Tear::LoseAll);
    let instance = knowing(&after, 2, &[ONE]);
    let db = open_in(&instance).unwrap();
    work(&instance);
    assert_eq!(state(&db), Some(EncryptionState::Encrypting));
    suspend(&db, false).unwrap();
    work(&instance);
    assert_eq!(state(&db), Some(EncryptionState::Encrypted));
    assert_eq!(markers(&after), 0);
}

/// Everything that turns a small database; `None` when something failed, as it may on this disk.
fn turn_all(db: &Arc<Database>) -> Option<()> {
    new_key(db, ONE, Algorithm::Aes256).ok()?;
    set(db, true).ok()?;
    work(db.instance());
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.update(TREE, &[1], &simple(MARKER), None).ok()?;
    txn.commit().ok()?.wait().ok()?;
    db.checkpoint().ok()?;
    new_key(db, ONE, Algorithm::Aes128).ok()?;
    work(db.instance());
    (db.encryption()?.stopped.is_none() && state(db)? == EncryptionState::Encrypted).then_some(())
}

#[test]
fn a_failure_or_a_power_cut_at_any_operation_loses_no_row_and_the_scan_goes_on() {
    for cut in [false, true] {
        for n in 1.. {
            let disk = SimDisk::new();
            let instance = knowing(&disk, 1, &[ONE]);
            let db = create_in(&instance);
            fill(&db, 6);
            db.checkpoint().unwrap();
            fill(&db, 3);
            let (model, what) = (all_of(&db), format!("cut {cut} {n}"));
            if cut {
                disk.cut_power_at(n)
            } else {
                disk.fail_nth(n)
            }
            let done = turn_all(&db).is_some();
            let passed = if cut { !disk.power_is_cut() } else { disk.fault_pending() };
            disk.heal();
            drop((db, instance));
            let after = disk.crash(Tear::Random(n));
            let instance = knowing(&after, 2, &[ONE]);
            let db = open_in(&instance).unwrap_or_else(|e| panic!("{what}: {e}"));
            let mut expected = model.clone();
            expected.insert((TREE.0, vec![1]), simple(MARKER));
            let found = all_of(&db);
            assert!(found == expected || !done && found == model, "{what}");
            if state(&db).is_none_or(|s| s == EncryptionState::Unencrypted) {
                if state(&db).is_none() {
                    new_key(&db, ONE, Algorithm::Aes256).unwrap();
                }
                set(&db, true).unwrap();
            }
            work(&instance);
            assert_eq!(state(&db), Some(EncryptionState::Encrypted), "{what}");
            assert_eq!(markers(&after), 0, "{what}");
            assert!(all_of(&db) == found, "{what}");
            db.close().unwrap();
            let again = open_in(&knowing(&after.crash(Tear::LoseAll), 3, &[ONE])).unwrap();
            assert!(all_of(&again) == found, "{what}");
            if passed {
                assert!(done, "{what}");
                break;
            }
        }
    }
}

#[test]
fn a_volatile_database_is_encrypted_with_a_key_that_nobody_keeps() {
    let disk = SimDisk::new();
    let instance = knowing(&disk, 1, &[]);
    let options = DbOptions { durability: Durability::Volatile, ..db_options() };
    let db = Database::create(&instance, DatabaseId(2), Path::new(DIR), &options).unwrap();
    fill(&db, 100);
    db.checkpoint().unwrap();
    let count = || {
        let bytes = disk.contents(&Path::new(DIR).join("data.keel")).unwrap();
        bytes.windows(MARKER.len()).filter(|w| *w == MARKER.as_bytes()).count()
    };
    assert!(count() > 0);
    db.encrypt_volatile().unwrap();
    db.encrypt_volatile().unwrap();
    work(&instance);
    assert_eq!((state(&db), count()), (Some(EncryptionState::Encrypted), 0));
    fill(&db, 60);
    db.checkpoint().unwrap();
    assert_eq!((all_of(&db).len(), count()), (100, 0));
    assert!(!disk.exists(&Path::new(DIR).join("keys.keel")));
}

/// A primary and a copy of it, which knows some certificates; both in a group in epoch 1.
fn pair(known: &'static [Certificate]) -> (Arc<Database>, Arc<Database>, Arc<SimDisk>) {
    let disk = SimDisk::new();
    let primary = create_in(&knowing(&disk, 1, &[ONE]));
    fill(&primary, 20);
    primary.enter_group(Epoch(1)).unwrap();
    let copy = disk.crash(Tear::KeepAll);
    let secondary = open_in(&knowing(&copy, 2, known)).unwrap();
    secondary.demote().unwrap();
    assert!(primary.hold_log("the copy", secondary.hardened()));
    send(&primary, &secondary, 1);
    (primary, secondary, copy)
}

/// Sends what is lacking, and lets it be applied.
fn send(from: &Database, to: &Database, epoch: u64) -> Lsn {
    from.log().unwrap().flush().unwrap();
    let mut scanner = from.log().unwrap().scan(to.log().unwrap().appended()).unwrap();
    while let Some(block) = scanner.next().unwrap() {
        to.receive(Epoch(epoch), block.bytes).unwrap();
    }
    let end = to.harden().unwrap();
    to.apply_up_to(end).unwrap();
    work(to.instance());
    end
}

#[test]
fn a_copy_learns_keys_from_the_log_turns_its_own_files_and_takes_over() {
    let (primary, secondary, disk) = pair(&[ONE]);
    secondary.checkpoint().unwrap();
    assert!(markers(&disk) > 0);
    new_key(&primary, ONE, Algorithm::Aes256).unwrap();
    set(&primary, true).unwrap();
    fill(&primary, 30);
    work(primary.instance());
    let end = send(&primary, &secondary, 1);
    assert!(secondary.wait_applied(end, LONG));
    assert_eq!(state(&secondary), Some(EncryptionState::Encrypted));
    assert!(all_of(&secondary) == all_of(&primary));
    // Its log from before is needed until nothing is held.
    secondary.checkpoint().unwrap();
    work(secondary.instance());
    assert_eq!(markers(&disk), 0);
    primary.fence("gone");
    secondary.promote(Epoch(2)).unwrap();
    secondary.set_waiting(false).unwrap();
    put(&secondary, b"after", MARKER);
    primary.demote().unwrap();
    let end = send(&secondary, &primary, 2);
    assert!(primary.wait_applied(end, LONG));
    assert!(all_of(&secondary) == all_of(&primary));
    secondary.log().unwrap().flush().unwrap();
    assert_eq!(markers(&disk), 0);
}

#[test]
fn a_copy_without_the_certificate_stands_still_and_goes_on_when_it_comes() {
    let (primary, secondary, disk) = pair(&[]);
    let before = all_of(&secondary);
    new_key(&primary, ONE, Algorithm::Aes256).unwrap();
    put(&primary, b"still", "plain");
    set(&primary, true).unwrap();
    fill(&primary, 30);
    let end = send(&primary, &secondary, 1);
    assert!(!secondary.wait_applied(end, Duration::ZERO));
    assert_eq!(secondary.redo_error(), None, "it is not to be made anew");
    assert_eq!(secondary.encryption().and_then(|e| e.locked).as_deref(), Some(ONE.0));
    assert_eq!(all_of(&secondary).len(), before.len() + 1);
    assert!(!secondary.unlock().unwrap());
    secondary.fence("to lead");
    assert!(matches!(secondary.promote(Epoch(2)), Err(DbError::Locked(_))));
    secondary.demote().unwrap();
    // A restart does not open it; it does with the certificate.
    let crashed = disk.crash(Tear::LoseAll);
    assert!(matches!(open_in(&knowing(&crashed, 3, &[])), Err(DbError::Locked(_))));
    let reopened = open_in(&knowing(&crashed, 4, &[ONE])).unwrap();
    reopened.demote().unwrap();
    reopened.apply_up_to(end).unwrap();
    work(reopened.instance());
    assert!(all_of(&reopened) == all_of(&primary));
    learn(secondary.instance(), &[ONE]);
    assert!(secondary.unlock().unwrap());
    secondary.apply_up_to(end).unwrap();
    work(secondary.instance());
    assert!(secondary.wait_applied(end, LONG));
    assert!(all_of(&secondary) == all_of(&primary));
    assert_eq!(state(&secondary), Some(EncryptionState::Encrypted));
}

#[test]
fn keys_that_the_group_never_had_are_cut_off_with_the_log() {
    let (primary, secondary, _) = pair(&[ONE]);
    let border = primary.hardened();
    new_key(&primary, ONE, Algorithm::Aes256).unwrap();
    set(&primary, true).unwrap();
    put(&primary, b"lost", MARKER);
    primary.fence("gone");
    secondary.promote(Epoch(2)).unwrap();
    secondary.set_waiting(false).unwrap();
    put(&secondary, b"kept", MARKER);
    primary.demote().unwrap();
    primary.cut(border).unwrap();
    assert!(!primary.is_encrypted());
    let end = send(&secondary, &primary, 2);
    assert!(primary.wait_applied(end, LONG));
    assert!(all_of(&secondary) == all_of(&primary));
    work(primary.instance());
    new_key(&secondary, ONE, Algorithm::Aes128).unwrap();
    set(&secondary, true).unwrap();
    put(&secondary, b"later", MARKER);
    send(&secondary, &primary, 2);
    assert!(all_of(&secondary) == all_of(&primary));
    assert!(primary.is_encrypted());
}

#[test]
fn a_seeded_copy_is_encrypted_from_its_first_page() {
    let disk = SimDisk::new();
    let instance = knowing(&disk, 1, &[ONE]);
    let db = create_in(&instance);
    fill(&db, 60);
    new_key(&db, ONE, Algorithm::Aes192).unwrap();
    set(&db, true).unwrap();
    work(&instance);
    fill(&db, 20);
    db.enter_group(Epoch(1)).unwrap();
    let source = SeedSource::open(&db, "seeding", 1).unwrap();
    let info = crate::SeedInfo::decode(&source.info().encode()).unwrap();
    assert_eq!(&info, source.info());
    let target = SimDisk::new();
    let place = (DatabaseId(5), Path::new(DIR));
    let without = SeedSink::create(&knowing(&target, 3, &[]), place.0, place.1, &info).err();
    assert!(matches!(without, Some(DbError::Locked(_))), "{without:?}");
    let begin = |seed| SeedSink::create(&knowing(&target, seed, &[ONE]), place.0, place.1, &info).unwrap();
    let (chunk, next) = source.chunk(0, &[], 3000).unwrap();
    assert_eq!(begin(4).apply(&[chunk]).unwrap(), 0);
    let sink = begin(5);
    assert_eq!(Some(sink.position(0).unwrap()), next, "it goes on where it was broken off");
    let (chunk, _) = source.chunk(0, &next.unwrap(), 1 << 30).unwrap();
    assert_eq!(sink.apply(&[chunk]).unwrap(), 1);
    let copy = sink.finish(&db_options()).unwrap();
    copy.demote().unwrap();
    send(&db, &copy, 1);
    assert!(all_of(&copy) == all_of(&db));
    assert_eq!(state(&copy), Some(EncryptionState::Encrypted));
    work(copy.instance());
    assert_eq!(markers(&target), 0);
}

#[test]
fn a_primary_that_is_fenced_before_its_keys_are_agreed_on_follows_the_one_that_has_them() {
    let (primary, secondary, _) = pair(&[ONE]);
    new_key(&primary, ONE, Algorithm::Aes256).unwrap();
    send(&primary, &secondary, 1);
    primary.set_waiting(true).unwrap();
    std::thread::scope(|scope| {
        let turning = scope.spawn(|| set(&primary, true));
        while primary.commits_waiting() == 0 {
            std::thread::yield_now();
        }
        primary.fence("gone");
        assert!(matches!(turning.join().unwrap(), Err(TxnError::InDoubt(_))));
    });
    let mut scanner = primary.log().unwrap().scan(secondary.log().unwrap().appended()).unwrap();
    while let Some(block) = scanner.next().unwrap() {
        secondary.receive(Epoch(1), block.bytes).unwrap();
    }
    secondary.harden().unwrap();
    secondary.promote(Epoch(2)).unwrap();
    secondary.set_waiting(false).unwrap();
    assert!(secondary.is_encrypted());
    put(&secondary, b"after", MARKER);
    primary.demote().unwrap();
    let end = send(&secondary, &primary, 2);
    assert!(primary.wait_applied(end, LONG));
    assert!(all_of(&primary) == all_of(&secondary));
}

/// A full backup and one of the log, and when the second half of the log was written, microseconds.
fn backed_up(db: &Arc<Database>, disk: &Arc<SimDisk>) -> (Arc<dyn File>, Vec<BackupSet>) {
    disk.create_dir_all(Path::new("backup")).unwrap();
    let file = disk.open(Path::new("backup/a.bak"), OpenMode::Create).unwrap();
    let (mut next, options) = (Lsn::ZERO, BackupOptions::default());
    let mut label = |w: &crate::backup::Written| {
        next = w.border;
        db.set_backed_up(w.border);
        Vec::new()
    };
    let at = back_up(db, &*file, 0, options, &mut label, &mut |_, _| Ok(())).unwrap();
    new_key(db, ONE, Algorithm::Aes256).unwrap();
    set(db, true).unwrap();
    put(db, b"first", MARKER);
    put(db, b"second", MARKER);
    back_up_log(db, (&*file, at), next, options, &mut |_| Vec::new(), &mut |_, _| Ok(())).unwrap();
    let sets = sets(&*file).unwrap().whole;
    (file, sets)
}

#[test]
fn a_log_backup_over_the_switch_is_restored_to_the_end_and_to_a_place_in_the_encrypted_part() {
    let disk = SimDisk::new();
    let db = create_in(&knowing(&disk, 1, &[ONE]));
    fill(&db, 20);
    let (file, sets) = backed_up(&db, &disk);
    let rows = all_of(&db).len();
    let is_second = |_, key: &[u8], _: &[u8]| key == b"second";
    let stop = StopAt::Row { is: &is_second, since: 0, inclusive: false };
    for (stop, rolled, expected) in [(None, Rolled::All, rows), (Some(stop), Rolled::Stopped, rows - 1)] {
        let target = SimDisk::new();
        let place = (DatabaseId(5), Path::new(DIR));
        let instance = knowing(&target, 3, &[ONE]);
        let set = &sets[0];
        let copy = restore(&instance, place, (&*file, set), set.family(), &db_options(), &mut |_, _| Ok(()))
            .unwrap();
        assert_eq!(
            restore_log(&copy, (&*file, &sets[1]), stop, &mut |_, _| {
                work(&instance);
                Ok(())
            })
            .unwrap(),
            rolled
        );
        work(&instance);
        assert_eq!(copy.role(), Role::Resolving);
        complete(&copy).unwrap();
        assert_eq!(all_of(&copy).len(), expected);
        assert!(copy.is_encrypted());
        put(&copy, b"goes", "on");
        work(&instance);
        assert_eq!(state(&copy), Some(EncryptionState::Encrypted));
        copy.close().unwrap();
        assert_eq!(markers(&target), 0);
        let again = open_in(&knowing(&target.crash(Tear::LoseAll), 4, &[ONE])).unwrap();
        assert!(all_of(&again) == all_of(&copy));
    }
}
