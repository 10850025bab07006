//! Damage to files: a whole database with bytes of its files replaced, single blocks and records, the small files beside
//! it, the configuration, backups and repositories of them.

use keel_base::env::sim::{self, SimDisk};
use keel_base::env::{Disk, OpenMode};
use keel_base::{DatabaseId, Epoch, Lsn, TreeId};
use keel_cluster::{GroupRecord, StoreRecord};
use keel_group::{Identity, trust::Trust};
use keel_log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use keel_log::{LogOptions, block};
use keel_node::backup::{self, Content};
use keel_node::{Database, DbOptions, Direction, Durability, Instance, InstanceOptions, Isolation};
use keel_redo::{Change, Group, GroupKind, RecordBuffer};
use keel_server::Config;
use keel_store::row::RowBuilder;
use keel_store::row::patch::Patch;
use std::error::Error;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const DATABASE: u8 = 0;
const BLOCK: u8 = 1;
const SEGMENT: u8 = 2;
const GROUP: u8 = 3;
const GROUP_RECORD: u8 = 4;
const STORE_RECORD: u8 = 5;
const KEPT: u8 = 6;
const CONFIGURATION: u8 = 7;
const BACKUP: u8 = 8;
const EVENTS: u8 = 9;
const REPOSITORY: u8 = 10;
const KINDS: u8 = 11;

const DIR: &str = "data/db5";
const TREE: TreeId = TreeId(10);

/// Reads files that are not as they were written.
pub fn run(bytes: &[u8]) {
    let Some((kind, rest)) = crate::split_kind(bytes, KINDS) else { return };
    match kind {
        DATABASE => database(rest),
        BLOCK => drop((block::decode_header(rest), block::decode(rest))),
        SEGMENT => drop(SegmentHeader::decode(rest)),
        GROUP => group(rest),
        GROUP_RECORD => {
            if let Ok(record) = GroupRecord::decode(rest) {
                assert_eq!(GroupRecord::decode(&record.encode()).ok(), Some(record));
            }
        }
        STORE_RECORD => {
            if let Ok(record) = StoreRecord::decode(rest) {
                assert_eq!(StoreRecord::decode(&record.encode()).ok(), Some(record));
            }
        }
        KEPT => kept(rest),
        BACKUP => drop(restore_all(rest)),
        EVENTS => events(rest),
        REPOSITORY => crate::repository::run(rest),
        _ => {
            if let Ok(config) = toml::from_str::<Config>(&String::from_utf8_lossy(rest)) {
                let _ = (config.max_server_memory_bytes(), config.certificate(), config.server_name());
            }
        }
    }
}

fn group(bytes: &[u8]) {
    let Some(group) = Group::decode(bytes) else { return };
    for worker in 0..2 {
        let _ = group.for_each_of(worker, 2, |_, record| {
            if let Change::Patch(patch) = record.change {
                let _ = Patch::parse(patch);
            }
            Ok::<(), ()>(())
        });
    }
}

fn events(bytes: &[u8]) {
    for stored in keel_sql::events::file::documents(bytes).unwrap_or_default() {
        let _ = (stored.attribute("name"), stored.attribute("timestamp"));
    }
}

fn kept(bytes: &[u8]) {
    let disk = SimDisk::new();
    for name in ["instance.json", "trust.json"] {
        put_file(&disk, &Path::new("group").join(name), bytes);
    }
    let env = sim::env(&disk, 1);
    let _ = Trust::load(&env, Path::new("group"));
    let _ = Identity::load_or_create(&env, Path::new("group"), "db-1");
}

pub(crate) fn put_file(disk: &Arc<SimDisk>, path: &Path, bytes: &[u8]) {
    let file = disk.open(path, OpenMode::Create).expect("a healthy disk opens files");
    file.write_at(bytes, 0).expect("a healthy disk takes bytes");
}

/// The files of a database that has been checkpointed, kept in a snapshot, and written to again.
fn image() -> &'static [(PathBuf, Vec<u8>)] {
    static IMAGE: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let disk = SimDisk::new();
        fill(&disk).expect("a healthy disk takes a database");
        let mut files = Vec::new();
        collect(&disk, Path::new(DIR), &mut files);
        files
    })
}

fn collect(disk: &Arc<SimDisk>, dir: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for path in disk.list(dir).expect("a healthy disk lists files") {
        match disk.contents(&path) {
            Some(bytes) => files.push((path, bytes)),
            None => collect(disk, &path, files),
        }
    }
}

fn instance(disk: &Arc<SimDisk>) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: 64 << 20,
        redo_workers: 0,
        stream_bytes: 2000,
        automatic_checkpoints: false,
        ..InstanceOptions::default()
    };
    Instance::new(sim::env(disk, 1), options)
}

fn options() -> DbOptions {
    let log = LogOptions { segment_bytes: 1, segment_bytes_max: 1, ..LogOptions::default() };
    DbOptions { durability: Durability::Durable, log }
}

fn fill(disk: &Arc<SimDisk>) -> Result<(), Box<dyn Error>> {
    let db = Database::create(&instance(disk), DatabaseId(5), Path::new(DIR), &options())?;
    let large = vec![b'x'; 20_000];
    for round in 0..3u8 {
        let mut txn = db.begin(Isolation::ReadCommitted);
        for number in 0..120u16 {
            let key = [&number.to_be_bytes()[..], b"key"].concat();
            let long = if number % 40 == 7 { &large[..] } else { b"short" };
            let row = RowBuilder::build(&[Some(&[round]), Some(long), None]);
            if round == 0 {
                txn.insert(TREE, &key, &row)?;
            } else if number % 3 == 0 {
                txn.update(TREE, &key, &row, None)?;
            } else if number % 50 == 1 && round == 1 {
                txn.delete(TREE, &key)?;
            }
        }
        txn.commit()?.wait()?;
        if round < 2 {
            db.checkpoint()?;
        }
        if round == 1 {
            db.take_snapshot()?;
        }
    }
    db.close()?;
    Ok(())
}

/// Replaces bytes of the image: each edit is a file (1 byte), an offset (4), a length (1) and that many bytes; what lies behind
/// a file's end wraps around. Then opens it and goes through everything. A database that opens is written to and checkpointed.
fn database(mut edits: &[u8]) {
    let mut files = image().to_vec();
    while let [file, o0, o1, o2, o3, length, rest @ ..] = edits {
        let bytes = &rest[..rest.len().min(usize::from(*length))];
        edits = &rest[bytes.len()..];
        let which = usize::from(*file) % files.len();
        let target = &mut files[which].1;
        let offset = u32::from_le_bytes([*o0, *o1, *o2, *o3]) as usize;
        for (at, byte) in bytes.iter().enumerate() {
            let place = (offset + at) % target.len().max(1);
            if let Some(target) = target.get_mut(place) {
                *target = *byte;
            }
        }
    }
    let disk = SimDisk::new();
    for (path, bytes) in &files {
        put_file(&disk, path, bytes);
    }
    let _ = go_through(&disk);
}

fn go_through(disk: &Arc<SimDisk>) -> Result<(), Box<dyn Error>> {
    let db = Database::open(&instance(disk), DatabaseId(5), Path::new(DIR), &options(), &mut |_| ())?;
    let outcome = read_and_write(&db, NEW_KEY);
    for snapshot in db.snapshots() {
        // One that is damaged costs itself, wherever that shows.
        let _ = db
            .open_snapshot(DatabaseId(6), snapshot.number)
            .map(|kept| read(&kept).is_ok() && kept.check().is_ok());
    }
    let _ = db.check().map(|check| check.problems());
    let _ = db.close();
    outcome
}

/// A key that no image has.
const NEW_KEY: &[u8] = b"zz";

fn read(db: &Arc<Database>) -> Result<(), Box<dyn Error>> {
    let mut txn = db.begin(Isolation::ReadCommitted);
    let view = txn.statement_snapshot();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut cursor = txn.scan(&view, TREE, Bound::Unbounded, Bound::Unbounded, direction)?;
        while let Some((_, row)) = cursor.next()? {
            // Under the page's checksum a row is believed to be one; here nothing compares it.
            if keel_store::row::validate(&row) {
                let _ = (keel_store::row::column(&row, 0), keel_store::row::column(&row, 1));
            }
        }
    }
    Ok(())
}

fn read_and_write(db: &Arc<Database>, key: &[u8]) -> Result<(), Box<dyn Error>> {
    read(db)?;
    let mut txn = db.begin(Isolation::ReadCommitted);
    let row = RowBuilder::build(&[Some(b"new"), None, None]);
    txn.insert(TREE, key, &row)?;
    txn.commit()?.wait()?;
    db.checkpoint()?;
    Ok(())
}

const BACKUP_FILE: &str = "a.bak";
/// Now, by the clock of [`sim::env`].
const SAMPLE_MICROS: i64 = 1_700_000_000_000_000;

/// Looks at what a backup says that it holds, checks it, and makes a database of each of its sets.
fn restore_all(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let disk = SimDisk::new();
    put_file(&disk, Path::new(BACKUP_FILE), bytes);
    let file = disk.open(Path::new(BACKUP_FILE), OpenMode::Read)?;
    let mut restoring: Option<Arc<Database>> = None;
    for (number, set) in (5..).zip(backup::sets(&*file)?.whole) {
        let whole = backup::verify(&*file, &set, &mut |_, _| Ok(()));
        if matches!(set.content, Content::Log(_)) {
            if let Some(db) = &restoring {
                // To a time within the sample's, or to the end.
                let stop = (number % 2 == 0).then_some(backup::StopAt::Time(SAMPLE_MICROS));
                let _ = backup::restore_log(db, (&*file, &set), stop, &mut |_, _| Ok(()));
            }
            continue;
        }
        let dir = PathBuf::from(format!("data/db{number}"));
        let place = (DatabaseId(number), &*dir);
        let from = (&*file, &set);
        let made = match (&set.content, &restoring) {
            (Content::Differential(info), Some(old)) if info.fits(old).unwrap_or(false) => {
                backup::restore_differential(old.instance(), place, old, from, &options(), &mut |_, _| Ok(()))
            }
            (Content::Differential(_), _) => continue,
            _ => {
                // With its identity: what follows is laid over it.
                let family = set.family();
                backup::restore(&instance(&disk), place, from, family, &options(), &mut |_, _| Ok(()))
            }
        };
        assert!(cfg!(fuzzing) || whole.is_err() || made.is_ok(), "what is whole is restored");
        if let Some(db) = std::mem::replace(&mut restoring, made.ok()) {
            go_on(&db)?;
        }
    }
    restoring.map_or(Ok(()), |db| go_on(&db))
}

fn go_on(db: &Arc<Database>) -> Result<(), Box<dyn Error>> {
    backup::complete(db)?;
    let _ = read_and_write(db, NEW_KEY);
    Ok(())
}

/// A full backup of the image, a differential one, and one of the log since then.
fn sample_backup() -> Result<Vec<u8>, Box<dyn Error>> {
    let disk = SimDisk::new();
    fill(&disk)?;
    let db = Database::open(&instance(&disk), DatabaseId(5), Path::new(DIR), &options(), &mut |_| ())?;
    let file = disk.open(Path::new(BACKUP_FILE), OpenMode::Create)?;
    let options = backup::BackupOptions { compress: true, key: None };
    let (mut border, mut base) = (Lsn::ZERO, backup::Base::default());
    let mut label = |written: &backup::Written| {
        border = written.border;
        base = backup::Base { set: [1; 16], last: written.last, checksum: written.checksum };
        b"{}".to_vec()
    };
    let end = backup::back_up(&db, &*file, 0, options, &mut label, &mut |_, _| Ok(()))?;
    read_and_write(&db, b"zy")?;
    let to = (&*file, end);
    let end =
        backup::back_up_differential(&db, to, &base, options, &mut |_| b"{}".to_vec(), &mut |_, _| Ok(()))?;
    read_and_write(&db, b"zx")?;
    backup::back_up_log(&db, (&*file, end), border, options, &mut |_| b"{}".to_vec(), &mut |_, _| Ok(()))?;
    Ok(disk.contents(Path::new(BACKUP_FILE)).unwrap_or_default())
}

/// A transaction's records, as they lie in a block.
pub(crate) fn sample_group() -> Vec<u8> {
    let mut buffer = RecordBuffer::new();
    let row = RowBuilder::build(&[Some(b"a"), None]);
    buffer.add(TREE, b"key", Change::Put(&row));
    buffer.add(TREE, b"gone", Change::Delete);
    buffer.add(TREE, &[], Change::DropTree);
    buffer.seal(GroupKind::Commit, 0, 1_700_000_000).to_vec()
}

/// Edits of every file, a block, a segment's header, records, the small files, a configuration.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let segment = SegmentHeader {
        log_id: 7,
        sequence: 3,
        first_lsn: Lsn(1000),
        size: 1 << 20,
        hardened: Lsn(900),
        epoch: Epoch(2),
        previous: 5,
        incarnation: 9,
    };
    let mut header = vec![0; SEGMENT_HEADER_BYTES];
    segment.encode(&mut header);
    let mut seeds = vec![
        crate::with_kind(DATABASE, &[]),
        crate::with_kind(SEGMENT, &header),
        crate::with_kind(GROUP, &sample_group()),
        crate::with_kind(KEPT, b"KEEL1 00000000 2\n{}"),
        crate::with_kind(BACKUP, &sample_backup().expect("a healthy disk takes a backup")),
        crate::with_kind(EVENTS, b"KEELXE1\n26\n<event name=\"x\" a=\"b\"/>..\n3\n<a>\n"),
        crate::with_kind(CONFIGURATION, b"listen = [\"127.0.0.1:1433\"]\nmax_server_memory = 512\n"),
    ];
    seeds.extend(crate::repository::seeds().iter().map(|seed| crate::with_kind(REPOSITORY, seed)));
    for (file, (_, bytes)) in image().iter().enumerate() {
        // Where pages, superblocks, segments and blocks begin.
        for offset in (0..bytes.len().min(12 * 8192)).step_by(4096) {
            let offset = u32::try_from(offset).expect("the image is small");
            let edit = [&[file as u8][..], &offset.to_le_bytes(), &[4, 1, 2, 3, 4]].concat();
            seeds.push(crate::with_kind(DATABASE, &edit));
        }
    }
    seeds
}
