//! The repository from outside: files in, files out, whatever the disk does.

use crate::{Access, Pruned, Repository, RepositoryFile, pack};
use keel_base::env::sim::{self, SimDisk, SimRandom, Tear};
use keel_base::env::{Disk, Env, File, OpenMode, Random};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROOT: &str = "/backups";

fn new() -> (Arc<SimDisk>, Env) {
    let disk = SimDisk::new();
    let env = sim::env(&disk, 1);
    Repository::create(&env, Path::new(ROOT)).unwrap();
    (disk, env)
}

fn open(env: &Env, name: &str, mode: OpenMode) -> std::io::Result<RepositoryFile> {
    let repository = Repository::open(env, Path::new(ROOT), Access::Shared, true)?;
    let file = RepositoryFile::open(&repository, &Path::new(ROOT).join(name), mode)?;
    Ok(file.expect("it is a file of the repository"))
}

fn write(env: &Env, name: &str, bytes: &[u8]) -> std::io::Result<(u64, u64)> {
    let file = open(env, name, OpenMode::Create)?;
    file.set_len(0)?;
    for (n, part) in bytes.chunks(100_000).enumerate() {
        file.write_at(part, n as u64 * 100_000)?;
    }
    file.sync_all()?;
    Ok(file.new_bytes())
}

fn read(env: &Env, name: &str) -> std::io::Result<Vec<u8>> {
    let file = open(env, name, OpenMode::Read)?;
    let mut bytes = vec![0; file.len()? as usize + 1];
    let n = file.read_at(&mut bytes, 0)?;
    bytes.truncate(n);
    Ok(bytes)
}

/// Bytes that do not repeat and can be compressed a little.
fn content(seed: u64, len: usize) -> Vec<u8> {
    let random = SimRandom::new(seed);
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes.chunks_mut(24).for_each(|part| part.iter_mut().skip(12).for_each(|byte| *byte = 0));
    bytes
}

fn figures(env: &Env) -> crate::Figures {
    Repository::open(env, Path::new(ROOT), Access::Shared, true).unwrap().figures().unwrap()
}

fn prune(env: &Env) -> std::io::Result<Pruned> {
    Repository::prune(env, Path::new(ROOT), &mut || {}, &mut |_, _| Ok(()))
}

fn damage(env: &Env) -> crate::Damage {
    let repository = Repository::open(env, Path::new(ROOT), Access::Shared, true).unwrap();
    repository.verify(&mut |_, _| Ok(())).unwrap()
}

#[test]
fn a_row_more_costs_a_chunk_or_two() {
    let (_, env) = new();
    let monday = content(7, 4 << 20);
    let (new, stored) = write(&env, "monday.bak", &monday).unwrap();
    assert_eq!(new, monday.len() as u64);
    assert!(stored < new, "it can be compressed");
    let mut tuesday = monday.clone();
    tuesday.splice(1_000_000..1_000_000, content(8, 333));
    let (new, _) = write(&env, "tuesday.bak", &tuesday).unwrap();
    assert!(new < 2 * pack::CHUNK_BYTES_MAX as u64, "{new} bytes are new");
    assert_eq!(write(&env, "again.bak", &tuesday).unwrap(), (0, 0));
    assert!(read(&env, "monday.bak").unwrap() == monday && read(&env, "tuesday.bak").unwrap() == tuesday);
    let figures = figures(&env);
    assert_eq!((figures.files, figures.unused), (3, 0));
    assert_eq!(figures.bytes, (monday.len() + 2 * tuesday.len()) as u64);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, ..Default::default() })]
    /// It is a file, whatever is written over, cut off and appended, and after it was opened anew.
    #[test]
    fn it_is_a_file(steps in proptest::collection::vec((0_u8..5, 0_usize..700_000, 1_usize..400_000), 1..12)) {
        let (_, env) = new();
        let mut model: Vec<u8> = Vec::new();
        let mut file = open(&env, "f", OpenMode::Create).unwrap();
        for (n, (what, at, len)) in steps.into_iter().enumerate() {
            let at = at.min(model.len());
            match what {
                0 => {
                    file.set_len(at as u64).unwrap();
                    model.truncate(at);
                }
                1 => {
                    file.sync_all().unwrap();
                    file = open(&env, "f", OpenMode::ReadWrite).unwrap();
                }
                _ => {
                    let bytes = content(n as u64 % 3, len);
                    file.write_at(&bytes, at as u64).unwrap();
                    model.resize(model.len().max(at + len), 0);
                    model[at..at + len].copy_from_slice(&bytes);
                }
            }
            let mut part = vec![0; 1000];
            let read = file.read_at(&mut part, at as u64 / 2).unwrap();
            proptest::prop_assert_eq!(&part[..read], &model[at / 2..(at / 2 + 1000).min(model.len())]);
        }
        file.sync_all().unwrap();
        proptest::prop_assert!(read(&env, "f").unwrap() == model);
    }
}

#[test]
fn what_is_not_synced_whole_changes_nothing() {
    let (disk, env) = new();
    let old = content(1, 300_000);
    write(&env, "a", &old).unwrap();
    let file = open(&env, "a", OpenMode::ReadWrite).unwrap();
    file.set_len(0).unwrap();
    file.write_at(&content(2, 900_000), 0).unwrap();
    file.sync_data().unwrap();
    drop(file);
    assert!(read(&env, "a").unwrap() == old);
    let packs = disk.list(&pack::directory(Path::new(ROOT))).unwrap();
    assert_eq!(packs.len(), 1, "a pack that nobody asked to keep is gone");
}

#[test]
fn a_file_is_the_old_one_or_the_new_one_after_any_power_cut() {
    let (old, new_one) = (content(1, 300_000), content(2, 500_000));
    for n in 1.. {
        let (disk, env) = new();
        write(&env, "a", &old).unwrap();
        disk.cut_power_at(n);
        let written = write(&env, "a", &new_one);
        for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(n)] {
            let after = sim::env(&disk.crash(tear), 2);
            let found = read(&after, "a").unwrap();
            let expected = if found == old { &old } else { &new_one };
            assert!(found == *expected && (written.is_err() || found == new_one), "cut at {n}, {tear:?}");
            assert!(damage(&after).files.is_empty());
            // What was left behind goes, and nothing else.
            prune(&after).unwrap();
            assert!(read(&after, "a").unwrap() == *expected);
            let figures = figures(&after);
            assert_eq!((figures.files, figures.unused, figures.others), (1, 0, 0));
        }
        if written.is_ok() {
            return;
        }
    }
}

#[test]
fn a_failing_operation_costs_the_write_and_nothing_else() {
    let (old, new_one) = (content(1, 300_000), content(2, 500_000));
    for n in 1.. {
        let (disk, env) = new();
        write(&env, "a", &old).unwrap();
        disk.fail_nth(n);
        let written = write(&env, "b", &new_one);
        if !disk.fault_pending() && written.is_err() {
            assert!(read(&env, "a").unwrap() == old);
            write(&env, "b", &new_one).unwrap();
        }
        assert!(read(&env, "b").unwrap() == new_one);
        if disk.fault_pending() {
            return;
        }
    }
}

#[test]
fn prune_keeps_what_files_need() {
    let (_, env) = new();
    let (a, b) = (content(1, 2_000_000), content(2, 3_000_000));
    let both = [&a[..], &b[1_000_000..]].concat();
    write(&env, "a", &a).unwrap();
    write(&env, "b", &b).unwrap();
    write(&env, "deep/er/both", &both).unwrap();
    env.disk.remove(&Path::new(ROOT).join("b")).unwrap();
    let before = figures(&env);
    assert!(before.unused > 0 && before.files == 2);
    let pruned = prune(&env).unwrap();
    assert!(pruned.freed > 0 && pruned.packs > 0, "{pruned:?}");
    let after = figures(&env);
    assert_eq!((after.unused, after.stored), (0, before.stored - before.unused));
    assert!(read(&env, "a").unwrap() == a && read(&env, "deep/er/both").unwrap() == both);
    assert_eq!(prune(&env).unwrap(), Pruned::default(), "there is nothing more to do");
    for name in ["a", "deep/er/both"] {
        env.disk.remove(&Path::new(ROOT).join(name)).unwrap();
    }
    prune(&env).unwrap();
    assert_eq!(figures(&env), crate::Figures::default());
}

#[test]
fn prune_spares_what_was_found_useful_meanwhile() {
    let (_, env) = new();
    let (a, b) = (content(1, 1_500_000), content(2, 1_000_000));
    write(&env, "gone", &[&a[..], &b[..]].concat()).unwrap();
    write(&env, "stays", &b).unwrap();
    env.disk.remove(&Path::new(ROOT).join("gone")).unwrap();
    // While what is needed of the pack is moved, somebody writes what was not needed any more.
    let mut written = false;
    let mut meanwhile = |_, _| {
        if !std::mem::replace(&mut written, true) {
            assert!(write(&env, "back", &a).unwrap().0 < a.len() as u64 / 2, "most was found");
        }
        Ok(())
    };
    Repository::prune(&env, Path::new(ROOT), &mut || {}, &mut meanwhile).unwrap();
    assert!(written, "there was something to move");
    assert!(read(&env, "back").unwrap() == a && read(&env, "stays").unwrap() == b);
    assert_eq!(damage(&env), crate::Damage::default());
}

#[test]
fn a_power_cut_while_pruning_loses_nothing() {
    let (a, b) = (content(1, 700_000), content(2, 900_000));
    for n in 1.. {
        let (disk, env) = new();
        write(&env, "a", &a).unwrap();
        write(&env, "b", &[&a[..300_000], &b[..]].concat()).unwrap();
        write(&env, "c", &b).unwrap();
        env.disk.remove(&Path::new(ROOT).join("b")).unwrap();
        env.disk.remove(&Path::new(ROOT).join("a")).unwrap();
        disk.sync_dir(Path::new(ROOT)).unwrap();
        disk.cut_power_at(n);
        let pruned = prune(&env);
        for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(n)] {
            let after = sim::env(&disk.crash(tear), 2);
            assert!(read(&after, "c").unwrap() == b, "cut at {n}, {tear:?}");
            prune(&after).unwrap();
            assert!(read(&after, "c").unwrap() == b && figures(&after).unused == 0);
        }
        if pruned.is_ok() {
            return;
        }
    }
}

/// The paths of all files of the repository.
fn paths(disk: &Arc<SimDisk>) -> Vec<PathBuf> {
    let packs = disk.list(&pack::directory(Path::new(ROOT))).unwrap();
    packs.into_iter().chain([Path::new(ROOT).join("a")]).collect()
}

#[test]
fn damage_is_found_and_never_read() {
    let (disk, env) = new();
    let a = content(1, 200_000);
    write(&env, "a", &a).unwrap();
    for path in paths(&disk) {
        let len = disk.contents(&path).unwrap().len() as u64;
        let step = if len > 2000 { len / 700 } else { 1 };
        for at in (0..len).step_by(step as usize).chain(len - 70..len) {
            disk.flip(&path, at, 0x10);
            let (found, read) = (damage(&env), read(&env, "a"));
            let is_recipe = path.ends_with("a");
            match read {
                // An index is not needed where a recipe says the place, nor the header of a record.
                Ok(bytes) => assert!(bytes == a && !is_recipe),
                Err(e) => {
                    assert_eq!(e.kind(), std::io::ErrorKind::InvalidData, "byte {at} of {}", path.display());
                    assert!(!found.files.is_empty(), "byte {at} of {}", path.display());
                }
            }
            disk.flip(&path, at, 0x10);
        }
    }
    assert_eq!(damage(&env), crate::Damage::default());
}

#[test]
fn a_pack_whose_index_is_damaged_is_walked() {
    let (disk, env) = new();
    let a = content(1, 900_000);
    write(&env, "a", &a).unwrap();
    let pack = paths(&disk).remove(0);
    let end = disk.contents(&pack).unwrap().len() as u64;
    disk.flip(&pack, end - 30, 1);
    assert_eq!(write(&env, "b", &a).unwrap(), (0, 0), "its chunks are known");
    let found = damage(&env);
    assert_eq!((found.packs.len(), found.files.len()), (1, 0));
}

#[test]
fn a_file_whose_list_is_damaged_keeps_prune_from_pruning() {
    let (disk, env) = new();
    write(&env, "a", &content(1, 200_000)).unwrap();
    for at in [0, 20, 60] {
        disk.flip(&Path::new(ROOT).join("a"), at, 1);
        let e = prune(&env).unwrap_err();
        assert!(e.to_string().contains("/backups/a"), "{e}");
        disk.flip(&Path::new(ROOT).join("a"), at, 1);
    }
    // Other files are none of its business.
    let other = env.disk.open(&Path::new(ROOT).join("notes.txt"), OpenMode::Create).unwrap();
    other.write_at(b"not a backup", 0).unwrap();
    prune(&env).unwrap();
    assert_eq!(figures(&env).others, 1);
}

#[test]
fn one_repository_lies_in_no_other() {
    let (_, env) = new();
    for (path, is) in [("/backups", true), ("/backups/deep", true), ("/other", false)] {
        let made = Repository::create(&env, Path::new(path));
        assert_eq!(made.is_err(), is, "{path}");
    }
    let below = Repository::root_of(&*env.disk, Path::new("/backups/x/y/z.bak"));
    assert_eq!(below.as_deref(), Some(Path::new(ROOT)));
    assert_eq!(Repository::root_of(&*env.disk, Path::new("/backups")), None);
    let e = Repository::open(&env, Path::new("/nowhere"), Access::Shared, true).err().unwrap();
    assert_eq!(e.to_string(), "/nowhere is no repository: there is no repository.keel in it");
}

#[test]
fn who_prunes_has_it_alone() {
    let dir = std::env::temp_dir().join(format!("keel-repository-{}", std::process::id()));
    let env = Env::real();
    Repository::create(&env, &dir).unwrap();
    let one = Repository::open(&env, &dir, Access::Shared, false).unwrap();
    let other = Repository::open(&env, &dir, Access::Shared, false).unwrap();
    let kind = |access| Repository::open(&env, &dir, access, false).err().map(|e| e.kind());
    assert_eq!(kind(Access::Alone), Some(std::io::ErrorKind::WouldBlock));
    drop((one, other));
    let alone = Repository::open(&env, &dir, Access::Alone, false).unwrap();
    assert_eq!(kind(Access::Shared), Some(std::io::ErrorKind::WouldBlock));
    drop(alone);
    assert_eq!(kind(Access::Shared), None);
    std::fs::remove_dir_all(dir).unwrap();
}
