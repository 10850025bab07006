//! The log on a disk that misbehaves. Appends are numbered and self-describing, so that a scan can say exactly which
//! of them a log holds.

mod follow;

use crate::block::{self, FLAG_UNFINISHED, SECTOR_BYTES};
use crate::segment::{SEGMENT_BYTES_MIN, path_of};
use crate::{Log, LogError, LogOptions, OpenFrom, SealedBlock};
use keel_base::Lsn;
use keel_base::env::sim::{SimDisk, SplitMix, Tear, env};
use keel_base::env::{Disk, Env, File, OpenMode};
use proptest::prelude::*;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DIR: &str = "db/log";

fn options() -> LogOptions {
    LogOptions {
        segment_bytes: SEGMENT_BYTES_MIN,
        segment_bytes_max: SEGMENT_BYTES_MIN,
        unwritten_bytes_max: 1 << 20,
        ..LogOptions::default()
    }
}

fn create(disk: &Arc<SimDisk>) -> Log {
    Log::create(&env(disk, 1), Path::new(DIR), options()).unwrap()
}

fn open(disk: &Arc<SimDisk>, seed: u64) -> Result<Log, LogError> {
    Log::open(&env(disk, seed), Path::new(DIR), options(), OpenFrom::default())
}

/// The `n`-th append of `len` bytes: its number, its length, then bytes that depend on both.
fn record(n: u64, len: usize) -> Vec<u8> {
    let len = len.max(12);
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(&n.to_le_bytes());
    bytes.extend_from_slice(&(len as u32).to_le_bytes());
    bytes.extend((12..len).map(|i| (n as usize * 31 + i * 7) as u8));
    bytes
}

/// All payload from `from` on, and where it begins.
fn read_all(log: &Log, from: Lsn) -> Result<(Lsn, Vec<u8>), LogError> {
    let mut scanner = log.scan(from)?;
    let start = scanner.position();
    let mut bytes = Vec::new();
    while let Some(block) = scanner.next()? {
        assert_eq!(block.header.first_lsn, start.advance(bytes.len() as u64));
        bytes.extend_from_slice(block.payload());
    }
    Ok((start, bytes))
}

/// The numbers of the records in a whole log that starts with record `first`.
fn records(log: &Log, first: u64) -> Result<u64, LogError> {
    let (_, bytes) = read_all(log, log.truncated())?;
    let mut rest = &bytes[..];
    let mut n = first;
    while !rest.is_empty() {
        let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        assert!(rest[..len] == record(n, len)[..], "record {n} is not what was appended");
        rest = &rest[len..];
        n += 1;
    }
    Ok(n)
}

#[test]
fn what_is_appended_is_scanned() {
    let disk = SimDisk::new();
    let log = create(&disk);
    let mut ends = Vec::new();
    for n in 0..50 {
        let mut stamped = Lsn::ZERO;
        let end = log.append(&record(n, 700 * n as usize), |lsn| stamped = lsn).unwrap();
        assert_eq!(stamped, end);
        ends.push(end);
        if n % 3 == 0 {
            log.wait_hardened(end).unwrap();
        }
    }
    log.flush().unwrap();
    assert_eq!(log.hardened(), *ends.last().unwrap());
    assert_eq!(records(&log, 0).unwrap(), 50);
    let (_, everything) = read_all(&log, Lsn::ZERO).unwrap();
    for from in ends.iter().map(|e| Lsn(e.0 - 1)) {
        let (start, bytes) = read_all(&log, from).unwrap();
        assert!(start <= from);
        assert!(bytes[..] == everything[start.0 as usize..]);
    }
}

#[test]
fn a_reopened_log_goes_on_where_it_ended() {
    let disk = SimDisk::new();
    let mut log = create(&disk);
    for n in 0..40 {
        log.append(&record(n, 9000), |_| ()).unwrap();
        let end = log.flush().unwrap();
        if n % 4 == 3 {
            log = open(&disk, n).unwrap();
            assert_eq!(log.appended(), end);
        }
    }
    assert_eq!(records(&log, 0).unwrap(), 40);
}

#[test]
fn an_append_longer_than_a_segment_arrives_whole() {
    let disk = SimDisk::new();
    let log = create(&disk);
    for n in 0..3 {
        log.append(&record(n, 3 * SEGMENT_BYTES_MIN as usize), |_| ()).unwrap();
    }
    log.flush().unwrap();
    assert_eq!(records(&open(&disk, 2).unwrap(), 0).unwrap(), 3);
}

#[test]
fn a_segment_made_ahead_of_need_rests_and_can_be_given_up() {
    let disk = SimDisk::new();
    let log = create(&disk);
    let rests = AtomicU64::new(0);
    let rest = |go_on: bool| {
        rests.fetch_add(1, Ordering::Relaxed);
        go_on
    };
    log.provision(&|| rest(false)).unwrap();
    assert_eq!((rests.load(Ordering::Relaxed), log.segments().len()), (1, 1));
    assert!(!disk.exists(&path_of(Path::new(DIR), 2)));
    // As soon as half of the present one is in use nobody rests.
    log.append(&record(0, SEGMENT_BYTES_MIN as usize * 6 / 10), |_| ()).unwrap();
    log.flush().unwrap();
    log.provision(&|| rest(false)).unwrap();
    assert_eq!((rests.load(Ordering::Relaxed), log.segments().len()), (1, 2));
    assert_eq!(log.file_bytes(), 2 * SEGMENT_BYTES_MIN);
}

#[test]
fn truncated_segments_are_used_again() {
    let disk = SimDisk::new();
    let log = create(&disk);
    let mut written = 0;
    for n in 0..200 {
        log.append(&record(n, 12_000), |_| ()).unwrap();
        let hardened = log.flush().unwrap();
        written += 12_000;
        log.truncate_before(Lsn(hardened.0.saturating_sub(20_000)));
    }
    assert!(log.file_bytes() < 4 * SEGMENT_BYTES_MIN, "{} bytes of files", log.file_bytes());
    assert!(written > 10 * SEGMENT_BYTES_MIN);
    assert!(matches!(log.scan(Lsn::ZERO), Err(LogError::Truncated { .. })));
    let (_, tail) = read_all(&log, Lsn(log.hardened().0 - 12_000)).unwrap();
    let reopened = open(&disk, 3).unwrap();
    assert_eq!(reopened.hardened(), log.hardened());
    assert!(read_all(&reopened, Lsn(log.hardened().0 - 12_000)).unwrap().1 == tail);
}

#[test]
fn a_full_disk_refuses_before_anything_is_appended() {
    let disk = SimDisk::new();
    let log = create(&disk);
    disk.set_capacity(disk.used() + SEGMENT_BYTES_MIN);
    let mut n = 0;
    let refused = loop {
        let before = log.appended();
        match log.append(&record(n, 20_000), |_| ()) {
            Ok(_) => n += 1,
            Err(error) => {
                assert_eq!(log.appended(), before);
                break error;
            }
        }
    };
    assert!(matches!(refused, LogError::Full { .. }), "{refused}");
    log.flush().unwrap();
    assert_eq!(records(&log, 0).unwrap(), n);
    log.truncate_before(log.hardened());
    log.append(&record(n, 20_000), |_| ()).unwrap();
    log.flush().unwrap();
}

/// Appends and hardens until something fails; returns how many were acknowledged and how many appended.
fn work(disk: &Arc<SimDisk>, seed: u64) -> (u64, u64) {
    let Ok(log) = Log::create(&env(disk, seed), Path::new(DIR), options()) else { return (0, 0) };
    let mut dice = SplitMix(seed);
    let mut hardened = 0;
    for n in 0..24 {
        let len = if dice.below(6) == 0 { 150_000 } else { dice.below(9000) as usize };
        if log.append(&record(n, len), |_| ()).is_err() {
            return (hardened, n);
        }
        if dice.coin() {
            match log.flush() {
                Ok(_) => hardened = n + 1,
                Err(_) => {
                    assert!(log.is_poisoned());
                    assert!(matches!(log.append(b"x", |_| ()), Err(LogError::Poisoned { .. })));
                    return (hardened, n + 1);
                }
            }
        }
    }
    (hardened, 24)
}

fn check_after_crash(disk: &Arc<SimDisk>, acknowledged: u64, appended: u64, what: &str) {
    for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(1), Tear::Random(2), Tear::Random(3)] {
        let after = disk.crash(tear);
        let log = match open(&after, 77) {
            Ok(log) => log,
            Err(error) => {
                assert_eq!(acknowledged, 0, "{what} {tear:?}: {error}");
                continue;
            }
        };
        let found = records(&log, 0).unwrap();
        assert!(
            (acknowledged..=appended).contains(&found),
            "{what} {tear:?}: {found} of {acknowledged}..{appended}"
        );
        // The log goes on, and a second crash finds that too.
        for n in found..found + 5 {
            log.append(&record(n, 40_000), |_| ()).unwrap();
        }
        log.flush().unwrap();
        let again = open(&after.crash(Tear::LoseAll), 78).unwrap();
        assert_eq!(records(&again, 0).unwrap(), found + 5, "{what} {tear:?}");
    }
}

#[test]
fn the_nth_failure_never_loses_an_acknowledged_append() {
    for seed in 0..4 {
        for n in 1.. {
            let disk = SimDisk::new();
            disk.fail_nth(n);
            let (acknowledged, appended) = work(&disk, seed);
            let passed = disk.fault_pending();
            disk.heal();
            check_after_crash(&disk, acknowledged, appended, &format!("seed {seed} failure {n}"));
            if passed {
                break;
            }
        }
    }
}

#[test]
fn a_power_cut_at_any_operation_never_loses_an_acknowledged_append() {
    for seed in 10..12 {
        for n in 1..400 {
            let disk = SimDisk::new();
            disk.cut_power_at(n);
            let (acknowledged, appended) = work(&disk, seed);
            let done = disk.counts().operations < n;
            check_after_crash(&disk, acknowledged, appended, &format!("seed {seed} cut {n}"));
            if done {
                break;
            }
        }
    }
}

/// Appends, hardens and gives back until something fails; returns what was hardened and given back, and all bytes.
fn work_in_turns(disk: &Arc<SimDisk>, seed: u64) -> (Lsn, Lsn, Vec<u8>) {
    let (mut hardened, mut given_back, mut all) = (Lsn::ZERO, Lsn::ZERO, Vec::new());
    let Ok(log) = Log::create(&env(disk, seed), Path::new(DIR), options()) else {
        return (hardened, given_back, all);
    };
    let mut dice = SplitMix(seed);
    for n in 0..40 {
        let bytes = record(n, if dice.below(6) == 0 { 150_000 } else { 12 + dice.below(30_000) as usize });
        all.extend_from_slice(&bytes);
        if log.append(&bytes, |_| ()).is_err() {
            break;
        }
        if dice.coin() {
            match log.flush() {
                Ok(lsn) => hardened = lsn,
                Err(_) => break,
            }
        }
        if dice.below(3) == 0 {
            given_back = Lsn(hardened.0.saturating_sub(dice.below(100_000))).max(given_back);
            log.truncate_before(given_back);
        }
        if dice.below(4) == 0 && log.provision(&|| true).is_err() {
            break;
        }
    }
    (hardened, given_back, all)
}

#[test]
fn a_power_cut_while_a_segment_is_used_again_leaves_a_log_that_opens() {
    for seed in 0..3 {
        for n in 1.. {
            let disk = SimDisk::new();
            disk.cut_power_at(n);
            let (hardened, given_back, all) = work_in_turns(&disk, seed);
            let done = disk.counts().operations < n;
            for tear in
                [Tear::LoseAll, Tear::KeepAll].into_iter().chain((0..8).map(|n| Tear::Random(seed << 8 | n)))
            {
                let after = disk.crash(tear);
                let what = format!("seed {seed} cut {n} {tear:?}");
                let log = match open(&after, 77) {
                    Ok(log) => log,
                    Err(error) => {
                        assert_eq!(hardened, Lsn::ZERO, "{what}: {error}");
                        continue;
                    }
                };
                assert!(log.hardened() >= hardened && log.truncated() <= given_back, "{what}");
                let (start, bytes) = read_all(&log, given_back).unwrap();
                assert!(all[start.0 as usize..].starts_with(&bytes), "{what}");
                assert_eq!(start.advance(bytes.len() as u64), log.hardened(), "{what}");
            }
            if done {
                break;
            }
        }
    }
}

/// Ten small appends, each its own block, and the offset of each block.
fn ten_blocks() -> (Arc<SimDisk>, Vec<u64>) {
    let disk = SimDisk::new();
    let log = create(&disk);
    let mut offsets = Vec::new();
    let mut offset = SECTOR_BYTES as u64;
    for n in 0..10 {
        let bytes = record(n, 700);
        log.append(&bytes, |_| ()).unwrap();
        log.flush().unwrap();
        offsets.push(offset);
        offset += block::stored_bytes(bytes.len()) as u64;
    }
    (disk, offsets)
}

#[test]
fn a_torn_last_block_is_dropped_wherever_it_is_torn() {
    let (disk, offsets) = ten_blocks();
    let path = path_of(Path::new(DIR), 1);
    let last = *offsets.last().unwrap();
    let whole = disk.contents(&path).unwrap();
    for keep in 0..700 + 64 {
        let torn = disk.crash(Tear::KeepAll);
        let file = torn.open(&path, OpenMode::ReadWrite).unwrap();
        let mut bytes = whole.clone();
        bytes[last as usize + keep..].fill(0);
        file.write_at(&bytes, 0).unwrap();
        let found = records(&open(&torn, 5).unwrap(), 0).unwrap();
        let lost_nothing = bytes == whole;
        assert_eq!(found, if lost_nothing { 10 } else { 9 }, "torn after {keep} bytes");
    }
}

#[test]
fn a_flipped_byte_before_the_end_is_never_a_silent_cut() {
    let (disk, offsets) = ten_blocks();
    let path = path_of(Path::new(DIR), 1);
    let last = *offsets.last().unwrap();
    let mut at = 0;
    while at < last {
        let bad = disk.crash(Tear::KeepAll);
        bad.flip(&path, at, 0x10);
        let in_padding = offsets.iter().any(|o| at >= o + 764 && at < o + block::stored_bytes(700) as u64);
        match open(&bad, 6).and_then(|log| records(&log, 0)) {
            Ok(found) => {
                assert!(in_padding, "byte {at} was flipped unnoticed");
                assert_eq!(found, 10);
            }
            Err(LogError::Corrupt { .. }) => assert!(!in_padding, "byte {at} is padding"),
            Err(other) => panic!("byte {at}: {other}"),
        }
        at += 7;
    }
}

#[test]
fn a_log_that_ends_before_the_store_is_refused() {
    let (disk, offsets) = ten_blocks();
    disk.flip(&path_of(Path::new(DIR), 1), *offsets.last().unwrap() + 100, 1);
    assert!(open(&disk, 1).is_ok());
    let from = OpenFrom { must_reach: Lsn(7000), received: false };
    let refused = Log::open(&env(&disk, 1), Path::new(DIR), options(), from);
    assert!(matches!(refused, Err(LogError::Corrupt { at: Lsn(6300), .. })));
}

#[test]
fn the_tap_sees_every_block_in_order_as_stored() {
    let disk = SimDisk::new();
    let log = create(&disk);
    let seen = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    log.set_tap(Some(Arc::new(move |sealed| {
        assert_eq!(block::decode(sealed.bytes).unwrap(), sealed.header);
        sink.lock().push((sealed.header, sealed.bytes.to_vec()));
    })));
    for n in 0..6 {
        log.append(&record(n, 50_000), |_| ()).unwrap();
        log.flush().unwrap();
    }
    let mut scanner = log.scan(Lsn::ZERO).unwrap();
    let mut unfinished = 0;
    for (header, bytes) in seen.lock().iter() {
        let block = scanner.next().unwrap().unwrap();
        assert_eq!(block.header, *header);
        assert!(block.bytes == &bytes[..]);
        unfinished += usize::from(header.flags & FLAG_UNFINISHED != 0);
    }
    assert!(scanner.next().unwrap().is_none());
    assert!(unfinished > 0, "some append crosses a segment's end");
}

/// A disk that counts how many syncs are under way and lets other threads run meanwhile.
struct Yielding(Arc<SimDisk>);

struct YieldingFile(Arc<dyn File>);

impl File for YieldingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        for _ in 0..20 {
            std::thread::yield_now();
        }
        self.0.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.0.allocate(len)
    }
}

impl Disk for Yielding {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(YieldingFile(self.0.open(path, mode)?)))
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(dir)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir_all(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.sync_dir(dir)
    }
}

#[test]
fn committers_share_flushes_and_all_are_woken() {
    let disk = SimDisk::new();
    let env = Env { disk: Arc::new(Yielding(Arc::clone(&disk))), ..env(&disk, 1) };
    let log = Log::create(&env, Path::new(DIR), options()).unwrap();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    // Numbered under the append lock, so that the numbers are in log order.
                    let mut bytes = record(0, 300);
                    let end = {
                        let serial = next.fetch_add(1, Ordering::Relaxed);
                        bytes[..8].copy_from_slice(&serial.to_le_bytes());
                        log.append(&bytes, |_| ()).unwrap()
                    };
                    log.wait_hardened(end).unwrap();
                    assert!(log.hardened() >= end);
                }
            });
        }
    });
    let stats = log.stats();
    assert_eq!(stats.appends, 800);
    assert!(stats.flushes < 800, "no two commits ever shared a flush");
    assert_eq!(log.hardened(), Lsn(800 * 300));
    log.positions().assert_ordered();
}

/// Who flushes for others panics: the others are told, and nobody waits for a flush that nobody does.
#[test]
fn a_leader_who_panics_leaves_nobody_waiting() {
    let log = create(&SimDisk::new());
    log.set_tap(Some(Arc::new(|_: &SealedBlock<'_>| panic!("it was told to"))));
    let lsn = log.append(&record(0, 10), |_| ()).unwrap();
    let other = log.clone();
    assert!(std::thread::spawn(move || other.wait_hardened(lsn)).join().is_err());
    assert!(matches!(log.wait_hardened(lsn), Err(LogError::Poisoned { .. })));
    assert!(log.flushing_for().is_none());
}

#[test]
fn a_failed_flush_wakes_everybody_with_an_error() {
    let disk = SimDisk::new();
    let env = Env { disk: Arc::new(Yielding(Arc::clone(&disk))), ..env(&disk, 1) };
    let log = Log::create(&env, Path::new(DIR), options()).unwrap();
    disk.cut_power_at(20);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Ok(end) = log.append(&record(1, 300), |_| ()) {
                    if log.wait_hardened(end).is_err() {
                        break;
                    }
                }
            });
        }
    });
    assert!(log.is_poisoned());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_appends_are_scanned_from_anywhere(
        lens in prop::collection::vec((12usize..90_000, any::<bool>(), 0u8..20), 1..40),
        from in any::<prop::sample::Index>(),
    ) {
        let disk = SimDisk::new();
        let mut log = create(&disk);
        let mut expected = Vec::new();
        for (n, (len, flush, reopen)) in lens.iter().enumerate() {
            let bytes = record(n as u64, *len);
            log.append(&bytes, |_| ()).unwrap();
            expected.extend_from_slice(&bytes);
            if *flush {
                log.flush().unwrap();
            }
            if *reopen == 0 {
                log.flush().unwrap();
                log = open(&disk, n as u64).unwrap();
            }
        }
        log.flush().unwrap();
        prop_assert_eq!(records(&log, 0).unwrap(), lens.len() as u64);
        let from = Lsn(from.index(expected.len()) as u64);
        let (start, bytes) = read_all(&log, from).unwrap();
        prop_assert!(start <= from);
        prop_assert!(bytes[..] == expected[start.0 as usize..]);
    }
}
