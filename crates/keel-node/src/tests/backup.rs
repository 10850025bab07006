//! Backups: what is in them, what is refused, what a damaged one says.

use super::*;
use crate::backup::{
    BackupOptions, BackupSet, Cipher, SetKey, back_up, complete, only_set, restore, sets, verify,
};
use crate::role::Role;
use keel_base::env::{Disk as _, File, OpenMode};

const TREES: [TreeId; 2] = [TREE, TreeId(11)];
const FILE: &str = "backup/a.bak";
const OTHER: [u8; 16] = [7; 16];

fn all_of(db: &Arc<Database>) -> Model {
    everything(&mut db.begin(Isolation::ReadCommitted), &TREES)
}

fn file(disk: &Arc<SimDisk>) -> Arc<dyn File> {
    disk.create_dir_all(Path::new("backup")).unwrap();
    disk.open(Path::new(FILE), OpenMode::Create).unwrap()
}

fn write(db: &Arc<Database>, file: &dyn File, compress: bool, label: &str) -> Result<u64, DbError> {
    let at = file.len()?;
    let mut say = |_: &crate::backup::Written| label.as_bytes().to_vec();
    back_up(db, file, at, BackupOptions { compress, key: None }, &mut say, &mut |_, _| Ok(()))
}

fn make(disk: &Arc<SimDisk>, seed: u64, from: &dyn File, set: &BackupSet) -> Result<Arc<Database>, DbError> {
    let place = (DatabaseId(9), Path::new("data/db9"));
    restore(&instance(disk, seed), place, (from, set), OTHER, &db_options(), &mut |_, _| Ok(()))
}

fn filled(disk: &Arc<SimDisk>) -> Arc<Database> {
    let db = create(disk, 1).unwrap();
    for n in 0..300u16 {
        put(&db, &n.to_be_bytes(), &"r".repeat(200 + usize::from(n % 7)));
    }
    db
}

#[test]
fn a_restored_database_has_what_was_committed_and_goes_on_by_itself() {
    for compress in [false, true] {
        let disk = SimDisk::new();
        let db = filled(&disk);
        // Not decided when the backup ends: its records are in the log.
        let mut open_one = db.begin(Isolation::ReadCommitted);
        for n in 0..40u8 {
            open_one.insert(TREES[1], &[n], &simple("undecided")).unwrap();
        }
        let out = file(&disk);
        let mut told = Vec::new();
        let mut label = |w: &crate::backup::Written| format!("{} bytes", w.bytes).into_bytes();
        let end =
            back_up(&db, &*out, 0, BackupOptions { compress, key: None }, &mut label, &mut |done, of| {
                if told.is_empty() {
                    put(&db, b"during", "the backup");
                }
                told.push((done, of));
                Ok(())
            })
            .unwrap();
        assert_eq!((out.len().unwrap(), told.last()), (end, Some(&(1, 1))));
        let mut expected = all_of(&db);
        open_one.commit().unwrap().wait().unwrap();
        put(&db, b"after", "the backup");

        let found = sets(&*out).unwrap().whole;
        let [set] = &found[..] else { panic!("{found:?}") };
        assert_eq!(set.label, format!("{} bytes", set.bytes).into_bytes());
        verify(&*out, set, &mut |_, _| Ok(())).unwrap();
        let target = SimDisk::new();
        let copy = make(&target, 3, &*out, set).unwrap();
        assert_eq!(copy.role(), Role::Resolving);
        complete(&copy).unwrap();
        assert_eq!((copy.role(), copy.control().family), (Role::Standalone, OTHER));
        assert!(expected == all_of(&copy));
        put(&copy, b"new", "row");
        expected.insert((TREE.0, b"new".to_vec()), simple("row"));
        assert!(expected == all_of(&copy));
        copy.close().unwrap();
        drop(copy);
        let place = (DatabaseId(9), Path::new("data/db9"));
        let again =
            Database::open(&instance(&target, 4), place.0, place.1, &db_options(), &mut |_| ()).unwrap();
        assert!(expected == all_of(&again));
        assert!(again.check().unwrap().log.is_none());
    }
}

/// Found from both ends it is what is found by going through; of two, or of one that was cut short, that way finds none.
#[test]
fn the_only_set_of_a_file_is_found_from_its_ends() {
    let disk = SimDisk::new();
    let (db, out) = (filled(&disk), file(&disk));
    let stored = |label: &[u8]| std::str::from_utf8(label).ok()?.parse().ok();
    let write = |at: u64| {
        let mut label = |w: &crate::backup::Written| w.stored.to_string().into_bytes();
        let options = BackupOptions { compress: true, key: None };
        back_up(&db, &*out, at, options, &mut label, &mut |_, _| Ok(())).unwrap()
    };
    assert_eq!(only_set(&*out, &stored).unwrap(), None);
    let end = write(0);
    assert_eq!(only_set(&*out, &stored).unwrap().as_ref(), sets(&*out).unwrap().whole.first());
    write(end);
    assert_eq!(only_set(&*out, &stored).unwrap(), None);
    for cut in [end - 1, end / 2, 30] {
        out.set_len(cut).unwrap();
        assert_eq!(only_set(&*out, &stored).unwrap_or(None), None, "{cut}");
    }
    out.set_len(end).unwrap();
    for byte in [3, 30, end - 1, end - 30] {
        let mut one = [0];
        out.read_at(&mut one, byte).unwrap();
        out.write_at(&[one[0] ^ 0x10], byte).unwrap();
        assert_eq!(only_set(&*out, &stored).unwrap_or(None), None, "{byte}");
        out.write_at(&one, byte).unwrap();
    }
}

#[test]
fn an_encrypted_set_shows_no_rows_and_is_restored_with_its_key_alone() {
    let random = keel_base::env::sim::SimRandom::new(11);
    for (compress, cipher) in [(false, Cipher::Aes128), (true, Cipher::Aes256)] {
        let disk = SimDisk::new();
        let db = filled(&disk);
        put(&db, b"secret", "the name of the game");
        let (out, key) = (file(&disk), SetKey::new(cipher, &random));
        let options = BackupOptions { compress, key: Some(&key) };
        back_up(&db, &*out, 0, options, &mut |_| b"said".to_vec(), &mut |_, _| Ok(())).unwrap();
        let mut bytes = vec![0; out.len().unwrap() as usize];
        out.read_at(&mut bytes, 0).unwrap();
        let shows = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
        assert!(shows(b"said") && !shows(b"the name of the game"));

        let mut set = sets(&*out).unwrap().whole.remove(0);
        let target = SimDisk::new();
        assert!(matches!(verify(&*out, &set, &mut |_, _| Ok(())), Err(DbError::Corrupt(_))));
        assert!(make(&target, 3, &*out, &set).is_err());
        set.key = Some(SetKey::new(cipher, &random));
        assert!(matches!(verify(&*out, &set, &mut |_, _| Ok(())), Err(DbError::Corrupt(_))));
        set.key = Some(key);
        verify(&*out, &set, &mut |_, _| Ok(())).unwrap();
        let copy = make(&SimDisk::new(), 4, &*out, &set).unwrap();
        complete(&copy).unwrap();
        assert!(all_of(&db) == all_of(&copy));
    }
}

#[test]
fn a_copy_that_is_killed_while_it_is_restoring_takes_up_where_it_was() {
    let disk = SimDisk::new();
    let db = filled(&disk);
    let out = file(&disk);
    write(&db, &*out, true, "").unwrap();
    let set = sets(&*out).unwrap().whole.remove(0);
    let target = SimDisk::new();
    let copy = make(&target, 3, &*out, &set).unwrap();
    drop(copy);
    let target = target.crash(keel_base::env::sim::Tear::LoseAll);
    let path = Path::new("data/db9");
    let again =
        Database::open(&instance(&target, 4), DatabaseId(9), path, &db_options(), &mut |_| ()).unwrap();
    assert_eq!((again.role(), again.hardened()), (Role::Resolving, set.last));
    complete(&again).unwrap();
    assert!(all_of(&db) == all_of(&again));
}

#[test]
fn sets_stand_one_behind_the_other_and_what_was_cut_short_is_none() {
    let disk = SimDisk::new();
    let db = filled(&disk);
    let out = file(&disk);
    write(&db, &*out, true, "one").unwrap();
    put(&db, b"between", "backups");
    let end = write(&db, &*out, false, "two").unwrap();
    let broken_off = write(&db, &*out, false, "three").unwrap();
    for length in [end, end + 10, end + 24, end + 4000, broken_off - 1] {
        out.set_len(length).unwrap();
        let found = sets(&*out).unwrap().whole;
        let labels: Vec<_> = found.iter().map(|set| &set.label[..]).collect();
        assert_eq!(labels, [b"one", b"two"], "cut at {length}");
        assert_eq!(found[1].end, end);
    }
    let found = sets(&*out).unwrap().whole;
    let copy = make(&SimDisk::new(), 3, &*out, &found[0]).unwrap();
    complete(&copy).unwrap();
    assert_eq!(all_of(&copy).len(), 300);
    // The first one cut short, and what is no backup.
    out.set_len(found[0].end - 1).unwrap();
    assert!(matches!(sets(&*out), Err(DbError::Corrupt(_))));
    out.write_at(b"something else", 0).unwrap();
    assert!(matches!(sets(&*out), Err(DbError::Corrupt(_))));
    out.set_len(0).unwrap();
    assert_eq!(sets(&*out).unwrap(), crate::backup::Sets::default());
}

#[test]
fn damage_anywhere_is_found() {
    let disk = SimDisk::new();
    let db = filled(&disk);
    let out = file(&disk);
    let length = write(&db, &*out, false, "label").unwrap();
    let whole = sets(&*out).unwrap().whole.remove(0);
    for at in (0..length).step_by(997).chain(0..64).chain(length - 40..length) {
        let mut byte = [0];
        out.read_at(&mut byte, at).unwrap();
        out.write_at(&[byte[0] ^ 4], at).unwrap();
        let found = sets(&*out).and_then(|sets| {
            let set = sets.whole.first().cloned().unwrap_or(whole.clone());
            verify(&*out, &set, &mut |_, _| Ok(()))
        });
        assert!(matches!(found, Err(DbError::Corrupt(_))), "byte {at} of {length}");
        let target = SimDisk::new();
        assert!(make(&target, 3, &*out, &whole).is_err() || at + 64 > length || at < 24, "byte {at}");
        out.write_at(&byte, at).unwrap();
    }
    verify(&*out, &whole, &mut |_, _| Ok(())).unwrap();
}

#[test]
fn a_disk_that_is_full_and_a_request_to_stop_end_a_backup() {
    let disk = SimDisk::new();
    let db = filled(&disk);
    let out = file(&disk);
    let stop = &mut |_, _| Err(DbError::Role("stopped".into()));
    let label = &mut |_: &crate::backup::Written| Vec::new();
    let stopped = back_up(&db, &*out, 0, BackupOptions { compress: true, key: None }, label, stop);
    assert!(matches!(stopped, Err(DbError::Role(_))));
    // Its hold on the log is gone.
    assert!(db.log_holders().is_empty());
    out.set_len(0).unwrap();
    write(&db, &*out, true, "").unwrap();
    assert_eq!(sets(&*out).unwrap().whole.len(), 1);
}

/// Who writes behind the last whole set would lose what lies behind damage.
#[test]
fn sets_behind_damage_are_not_taken_for_the_remains_of_a_backup() {
    let disk = SimDisk::new();
    let db = filled(&disk);
    let out = file(&disk);
    let first = write(&db, &*out, true, "one").unwrap();
    let second = write(&db, &*out, true, "two").unwrap();
    assert!(!sets(&*out).unwrap().others_lie_behind_damage);
    write(&db, &*out, false, "three").unwrap();
    // Within the header of the second one.
    out.write_at(b"?", first + 2).unwrap();
    let found = sets(&*out).unwrap();
    assert!(found.whole.len() == 1 && found.others_lie_behind_damage);
    out.write_at(b"K", first + 2).unwrap();
    assert_eq!(sets(&*out).unwrap().whole.len(), 3);
    out.set_len(second).unwrap();
    // Cut short at any place it is no damage.
    for length in first + 1..first + 200 {
        out.set_len(length).unwrap();
        assert!(!sets(&*out).unwrap().others_lie_behind_damage, "cut at {length}");
    }
}

#[test]
fn a_row_that_came_leaves_most_chunks_as_they_were() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    for n in 100..6000u16 {
        put(&db, &n.to_be_bytes(), &"r".repeat(60 + usize::from(n % 7)));
    }
    let chunks = || {
        let source = crate::SeedSource::open(&db, "chunks", 1).unwrap();
        let (mut chunks, mut after) = (Vec::new(), Some(Vec::new()));
        while let Some(key) = after {
            let (chunk, next) = source.chunk(0, &key, 8000).unwrap();
            (chunks, after) = ([chunks, vec![chunk]].concat(), next);
        }
        chunks
    };
    let before = chunks();
    put(&db, &7u16.to_be_bytes(), "the first of all");
    db.checkpoint().unwrap();
    let after = chunks();
    let new = after.iter().filter(|chunk| !before.contains(chunk)).count();
    assert!(after.len() > 60 && new > 0 && new < 10, "{new} of {} are new", after.len());
}
