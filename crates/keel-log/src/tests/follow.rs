//! Copies of a log: fed in batches, torn, cut and fed by the next writer, on the same disk that misbehaves.

use super::*;
use crate::Scanner;
use crate::block::SECTOR_BYTES;
use keel_base::Epoch;

/// The blocks of two histories with a common beginning: a writer of epoch 1, and one of epoch 2 that took over after
/// some of them.
struct Histories {
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    /// Blocks in common.
    common: usize,
    /// Where the common part ends.
    parted: Lsn,
}

fn blocks_of(log: &Log) -> Vec<Vec<u8>> {
    let mut scanner = log.scan(log.truncated()).unwrap();
    let mut blocks = Vec::new();
    while let Some(block) = scanner.next().unwrap() {
        blocks.push(block.bytes.to_vec());
    }
    blocks
}

fn write_some(log: &Log, dice: &mut SplitMix, first: u64, count: u64) {
    for n in first..first + count {
        let len = if dice.below(5) == 0 { 70_000 + dice.below(80_000) } else { dice.below(9000) } as usize;
        log.append(&record(n, len), |_| ()).unwrap();
        if dice.below(3) > 0 {
            log.flush().unwrap();
        }
    }
    log.flush().unwrap();
}

fn end_of(block: &[u8]) -> Lsn {
    block::decode(block).unwrap().end_lsn()
}

fn histories(seed: u64) -> Histories {
    let mut dice = SplitMix(seed);
    let old = create(&SimDisk::new());
    write_some(&old, &mut dice, 0, 12);
    let old_blocks = blocks_of(&old);
    let common = 1 + dice.below(old_blocks.len() as u64 - 1) as usize;
    let new = follower(&SimDisk::new());
    for block in &old_blocks[..common] {
        new.append_block(Epoch(1), block).unwrap();
    }
    new.start_term(Epoch(2)).unwrap();
    let parted = new.hardened();
    write_some(&new, &mut dice, 1000, 12);
    assert_eq!(new.epochs(), [(Epoch(1), Lsn::ZERO), (Epoch(2), parted)]);
    Histories { old: old_blocks, new: blocks_of(&new), common, parted }
}

fn follower(disk: &Arc<SimDisk>) -> Log {
    let log = create(disk);
    log.end_term();
    log
}

fn reopen(disk: &Arc<SimDisk>, seed: u64, must_reach: Lsn) -> Result<Log, LogError> {
    let options = LogOptions { epoch: Epoch(0), ..options() };
    Log::open(&env(disk, seed), Path::new(DIR), options, OpenFrom { must_reach, received: true })
}

/// Feeds `blocks` from where the log ends, in batches; returns what was hardened last and whether all went well.
fn feed(log: &Log, session: u64, blocks: &[Vec<u8>], dice: &mut SplitMix) -> (Lsn, bool) {
    let mut hardened = log.hardened();
    for block in blocks.iter().filter(|block| end_of(block) > log.appended()) {
        if log.append_block(Epoch(session), block).is_err() {
            return (hardened, false);
        }
        if dice.below(4) == 0 {
            match log.flush() {
                Ok(lsn) => hardened = lsn,
                Err(_) => return (hardened, false),
            }
        }
    }
    match log.flush() {
        Ok(lsn) => (lsn, true),
        Err(_) => (hardened, false),
    }
}

/// A follower that takes the old history, is cut back and takes the new one, as far as the disk lets it. Returns the
/// least it must still hold: the position hardened, in which history.
fn follow(disk: &Arc<SimDisk>, h: &Histories, seed: u64) -> (Lsn, bool) {
    let mut dice = SplitMix(seed);
    let Ok(log) = Log::create(&env(disk, seed), Path::new(DIR), options()) else { return (Lsn::ZERO, false) };
    log.end_term();
    let upto = h.common + dice.below((h.old.len() - h.common) as u64 + 1) as usize;
    let (hardened, fed) = feed(&log, 1, &h.old[..upto], &mut dice);
    if !fed {
        return (hardened, false);
    }
    log.set_epoch(Epoch(2));
    if log.cut(h.parted).is_err() {
        return (h.parted, false);
    }
    assert_eq!((log.hardened(), log.appended()), (h.parted, h.parted));
    (feed(&log, 2, &h.new, &mut dice).0, true)
}

/// What every opening after a crash must find: whole blocks of one history, at least what was hardened; and it can go on
/// to the end of the new history.
fn check(disk: &Arc<SimDisk>, h: &Histories, least: (Lsn, bool), what: &str) {
    for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(1), Tear::Random(2)] {
        let after = disk.crash(tear);
        let log = match reopen(&after, 77, Lsn::ZERO) {
            Ok(log) => log,
            Err(error) => {
                assert_eq!(least.0, Lsn::ZERO, "{what} {tear:?}: {error}");
                continue;
            }
        };
        let found = blocks_of(&log);
        let of = |history: &[Vec<u8>]| history.starts_with(&found);
        assert!(of(&h.old) && !least.1 || of(&h.new), "{what} {tear:?}: blocks of no history");
        assert!(log.hardened() >= least.0, "{what} {tear:?}: {} of {}", log.hardened(), least.0);
        // The last common block, as two replicas find it.
        let theirs =
            |at: Lsn| h.new.iter().position(|b| end_of(b) == at).map(|i| block::decode(&h.new[i]).unwrap());
        let at = log.hardened();
        let common = at == Lsn::ZERO || theirs(at).is_some_and(|b| b.checksum == log.last_checksum());
        if !common {
            log.cut(h.parted).unwrap();
        }
        log.set_epoch(Epoch(2));
        let refused = log.append_block(Epoch(1), &h.old[0]);
        assert!(matches!(refused, Err(LogError::NotNext { .. })));
        assert!(feed(&log, 2, &h.new, &mut SplitMix(5)).1);
        assert!(blocks_of(&log) == h.new, "{what} {tear:?}");
        let again = reopen(&after.crash(Tear::LoseAll), 78, log.hardened()).unwrap();
        assert!(blocks_of(&again) == h.new, "{what} {tear:?}");
        assert_eq!(again.epochs(), log.epochs());
        assert_eq!(again.epochs(), [(Epoch(1), Lsn::ZERO), (Epoch(2), h.parted)]);
        // And it can be the writer of the next epoch, and a log of its own after that.
        again.start_term(Epoch(3)).unwrap();
        again.append(&record(1, 5000), |_| ()).unwrap();
        again.flush().unwrap();
        assert_eq!(again.epochs().last().unwrap().0, Epoch(3));
        open(&after, 79).unwrap();
    }
}

#[test]
fn a_copy_has_the_same_bytes_at_the_same_positions() {
    for seed in 0..20 {
        let h = histories(seed);
        let disk = SimDisk::new();
        let least = follow(&disk, &h, seed);
        assert_eq!(least.0, end_of(h.new.last().unwrap()));
        check(&disk, &h, least, &format!("seed {seed}"));
    }
}

#[test]
fn a_power_cut_at_any_operation_of_a_follower_loses_nothing_acknowledged() {
    for seed in 30..32 {
        let h = histories(seed);
        for n in 1.. {
            let disk = SimDisk::new();
            disk.cut_power_at(n);
            let least = follow(&disk, &h, seed);
            check(&disk, &h, least, &format!("seed {seed} cut {n}"));
            if disk.counts().operations < n {
                break;
            }
        }
    }
}

#[test]
fn the_nth_failure_of_a_follower_loses_nothing_acknowledged() {
    let h = histories(40);
    for n in 1.. {
        let disk = SimDisk::new();
        disk.fail_nth(n);
        let least = follow(&disk, &h, 40);
        let passed = disk.fault_pending();
        disk.heal();
        check(&disk, &h, least, &format!("failure {n}"));
        if passed {
            break;
        }
    }
}

#[test]
fn only_the_next_block_is_taken() {
    let h = histories(3);
    let log = follower(&SimDisk::new());
    assert!(matches!(log.append(b"x", |_| ()), Err(LogError::NotWriter)));
    let not_next = |log: &Log, session: u64, block: &[u8]| {
        let before = log.appended();
        let refused = log.append_block(Epoch(session), block);
        assert_eq!(log.appended(), before);
        matches!(refused, Err(LogError::NotNext { .. }))
    };
    assert!(not_next(&log, 1, &h.old[1]));
    let mut damaged = h.old[0].clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(not_next(&log, 1, &damaged));
    log.append_block(Epoch(1), &h.old[0]).unwrap();
    assert!(not_next(&log, 1, &h.old[0]));
    assert!(not_next(&log, 0, &h.old[1]));
    for block in &h.old[1..h.common] {
        log.append_block(Epoch(2), block).unwrap();
    }
    assert!(not_next(&log, 1, &h.new[h.common]), "a block of a later epoch than its session");
    log.append_block(Epoch(2), &h.new[h.common]).unwrap();
    if h.old.len() > h.common + 1 {
        assert!(not_next(&log, 2, &h.old[h.common + 1]));
    }
    log.set_epoch(Epoch(5));
    assert!(not_next(&log, 4, &h.new[h.common + 1]));
    log.append_block(Epoch(5), &h.new[h.common + 1]).unwrap();
    assert!(log.start_term(Epoch(4)).is_err());
    let term = log.start_term(Epoch(6)).unwrap();
    assert!(matches!(log.append_block(Epoch(6), &h.new[h.common + 2]), Err(LogError::NotWriter)));
    log.append_in(term, b"mine", |_| ()).unwrap();
    log.end_term();
    let later = log.start_term(Epoch(7)).unwrap();
    assert!(matches!(log.append_in(term, b"late", |_| ()), Err(LogError::NotWriter)));
    log.append_in(later, b"mine", |_| ()).unwrap();
}

#[test]
fn a_scanner_sees_the_blocks_that_replaced_those_it_had_read_ahead() {
    let h = histories(8);
    let log = follower(&SimDisk::new());
    feed(&log, 1, &h.old, &mut SplitMix(1));
    let mut scanner = log.scan(Lsn::ZERO).unwrap();
    for block in &h.old[..h.common] {
        assert!(scanner.next().unwrap().unwrap().bytes == &block[..]);
    }
    log.cut(h.parted).unwrap();
    assert!(scanner.next().unwrap().is_none());
    feed(&log, 2, &h.new, &mut SplitMix(1));
    for block in &h.new[h.common..] {
        assert!(scanner.next().unwrap().unwrap().bytes == &block[..]);
    }
}

#[test]
fn a_cut_inside_a_block_or_by_the_writer_is_refused() {
    let h = histories(9);
    let log = follower(&SimDisk::new());
    feed(&log, 1, &h.old, &mut SplitMix(1));
    let end = log.hardened();
    assert!(matches!(log.cut(Lsn(end.0 - 1)), Err(LogError::NotNext { .. })));
    assert!(matches!(log.cut(Lsn(end.0 + 1)), Err(LogError::NotNext { .. })));
    log.cut(end).unwrap();
    log.start_term(Epoch(1)).unwrap();
    assert!(matches!(log.cut(h.parted), Err(LogError::NotWriter)) || h.parted == end);
    assert_eq!(log.hardened(), end);
}

#[test]
fn checksums_and_headers_say_where_logs_part() {
    let h = histories(10);
    let log = follower(&SimDisk::new());
    feed(&log, 2, &h.new, &mut SplitMix(1));
    let mut previous = log.log_id();
    for block in &h.new {
        let header = block::decode(block).unwrap();
        assert_eq!(log.checksum_before(header.first_lsn).unwrap(), Some(previous));
        assert_eq!(log.checksum_before(Lsn(header.first_lsn.0 + 1)).unwrap(), None);
        previous = header.checksum;
    }
    assert_eq!(log.checksum_before(log.hardened()).unwrap(), Some(previous));
    // A new log that goes on where this one stands takes the next block.
    let start = block::decode(&h.new[h.common]).unwrap();
    let first_previous = log.checksum_before(start.first_lsn).unwrap();
    let options = LogOptions { first_lsn: start.first_lsn, first_previous, ..options() };
    let seeded = Log::create(&env(&SimDisk::new(), 1), Path::new(DIR), options).unwrap();
    seeded.end_term();
    assert!(feed(&seeded, 2, &h.new, &mut SplitMix(2)).1);
    assert!(blocks_of(&seeded) == h.new[h.common..]);
}

#[test]
fn the_agreed_point_travels_in_the_headers_and_is_found_again() {
    let disk = SimDisk::new();
    let log = create(&disk);
    let first = log.append(&record(0, 100), |_| ()).unwrap();
    log.flush().unwrap();
    log.set_agreed(first);
    for n in 1..4 {
        log.append(&record(n, 100), |_| ()).unwrap();
        log.flush().unwrap();
    }
    let found = reopen(&disk.crash(Tear::LoseAll), 1, Lsn::ZERO).unwrap();
    assert_eq!(found.agreed(), first);
    assert!(found.hardened() > first);
    log.set_agreed(Lsn::MAX);
    assert_eq!(open(&disk, 2).unwrap().agreed(), Lsn::MAX);
}

#[test]
fn held_appends_wait_and_go_on_or_are_refused_with_their_term() {
    let disk = SimDisk::new();
    let log = create(&disk);
    let term = log.term();
    for end_term in [false, true] {
        log.hold_appends(true);
        let end = log.flush().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| log.append_in(term, b"held", |_| ()));
            if end_term {
                log.end_term();
                assert!(matches!(waiting.join().unwrap(), Err(LogError::NotWriter)));
                assert_eq!(log.appended(), end);
            } else {
                log.hold_appends(false);
                assert_eq!(waiting.join().unwrap().unwrap(), end.advance(4));
            }
        });
    }
}

/// Everything a scanner shows now.
fn drain(scanner: &mut Scanner, shown: &mut Vec<Vec<u8>>) {
    while let Some(block) = scanner.next().unwrap() {
        assert_eq!(block::decode(block.bytes), Ok(block.header));
        shown.push(block.bytes.to_vec());
    }
}

/// However far behind it is, and however the log was cut behind it.
#[test]
fn a_scanner_that_takes_shows_what_the_files_hold() {
    for seed in 0..30 {
        let h = histories(seed);
        let mut dice = SplitMix(seed);
        let log = follower(&SimDisk::new());
        let mut taking = log.scan(Lsn::ZERO).unwrap().taking();
        let mut shown = Vec::new();
        for block in &h.old {
            log.append_block(Epoch(1), block).unwrap();
            if dice.below(3) == 0 {
                log.flush().unwrap();
            }
            if dice.below(3) == 0 {
                taking.set_limit(Lsn(dice.below(h.parted.0 + 1)));
                drain(&mut taking, &mut shown);
            }
        }
        log.set_epoch(Epoch(2));
        log.cut(h.parted).unwrap();
        taking.set_limit(Lsn::MAX);
        feed(&log, 2, &h.new, &mut dice);
        drain(&mut taking, &mut shown);
        assert_eq!(shown, h.new, "seed {seed}");
        assert_eq!(taking.ahead(), 0);
    }
}

#[test]
fn what_was_hardened_just_now_comes_from_memory() {
    let writer = create(&SimDisk::new());
    for n in 0..10 {
        writer.append(&record(n, 300), |_| ()).unwrap();
        writer.flush().unwrap();
    }
    let disk = SimDisk::new();
    let log = follower(&disk);
    let mut taking = log.scan(Lsn::ZERO).unwrap().taking();
    feed(&log, 1, &blocks_of(&writer), &mut SplitMix(1));
    for segment in env(&disk, 1).disk.list(Path::new(DIR)).unwrap() {
        let bytes = disk.contents(&segment).unwrap().len() as u64;
        (SECTOR_BYTES as u64..bytes).step_by(SECTOR_BYTES).for_each(|at| disk.flip(&segment, at, 1));
    }
    let mut shown = Vec::new();
    drain(&mut taking, &mut shown);
    assert_eq!(shown, blocks_of(&writer));
    assert!(log.scan(Lsn::ZERO).unwrap().next().is_err());
}
