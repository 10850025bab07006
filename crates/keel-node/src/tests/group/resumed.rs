//! Half a copy is gone on with from the picture it was begun from, and from no other.

use super::*;

const PATH: &str = "copy/db9";

fn seeded(copy: &Arc<SimDisk>, info: &SeedInfo) -> SeedSink {
    SeedSink::create(&threaded(copy, 5, 0), DatabaseId(9), Path::new(PATH), info).unwrap()
}

/// Brings chunks of one stream until it has brought `most` of them or all.
fn bring(source: &SeedSource, sink: &SeedSink, stream: usize, most: usize) {
    for _ in 0..most {
        let (chunk, goes_on_after) = source.chunk(stream, &sink.position(stream).unwrap(), 4000).unwrap();
        sink.apply(&[chunk]).unwrap();
        if goes_on_after.is_none() {
            return;
        }
    }
}

fn rows(db: &Arc<Database>) {
    for n in 0..400u16 {
        put(db, &n.to_be_bytes(), &"r".repeat(200 + usize::from(n % 7)));
    }
    db.enter_group(Epoch(3)).unwrap();
}

/// All streams of the picture, then the log: the copy has the rows that the source has.
fn finish(a: &Arc<Database>, source: &SeedSource, sink: SeedSink) {
    (0..source.info().streams()).for_each(|stream| bring(source, &sink, stream, usize::MAX));
    let b = sink.finish(&db_options()).unwrap();
    b.demote().unwrap();
    let end = send(a, &b, 3);
    b.apply_up_to(end).unwrap();
    assert!(b.wait_applied(end, LONG) && b.is_readable());
    assert!(all_of(&b) == all_of(a), "the copy has other rows");
    assert!(!b.instance().env().disk.exists(&Path::new(PATH).join("seed.keel")), "it is whole");
}

/// A transaction that streams keeps the redo start where it is while checkpoints go on.
#[test]
fn a_later_picture_with_the_same_redo_start_begins_anew() {
    let a = fresh();
    rows(&a);
    let mut streaming = a.begin(Isolation::ReadCommitted);
    for n in 0..40u8 {
        streaming.insert(TREES[1], &[n], &simple("stream")).unwrap();
    }
    let first = SeedSource::open(&a, "seed b", 1).unwrap();
    let copy = SimDisk::new();
    bring(&first, &seeded(&copy, first.info()), 0, 5);
    put(&a, &3u16.to_be_bytes(), "newer than the first picture, and in the part that was brought");
    let second = SeedSource::open(&a, "seed b", 1).unwrap();
    let (old, new) = (first.info(), second.info());
    assert!(old.redo_start == new.redo_start && old.checkpoint < new.checkpoint, "{old:?} {new:?}");
    streaming.commit().unwrap().wait().unwrap();
    finish(&a, &second, seeded(&copy, new));
}

/// As from another source, whose tree has its borders elsewhere.
#[test]
fn a_picture_with_other_borders_begins_anew() {
    let a = fresh();
    rows(&a);
    let first = SeedSource::open(&a, "seed b", 4).unwrap();
    assert!(first.info().streams() > 1);
    let copy = SimDisk::new();
    let sink = seeded(&copy, first.info());
    (0..first.info().streams()).for_each(|stream| bring(&first, &sink, stream, 2));
    drop(sink);
    let second = SeedSource::open(&a, "seed b", 1).unwrap();
    assert_eq!(first.info().checkpoint, second.info().checkpoint);
    finish(&a, &second, seeded(&copy, second.info()));
}

#[test]
fn the_same_picture_goes_on() {
    let a = fresh();
    rows(&a);
    let source = SeedSource::open(&a, "seed b", 1).unwrap();
    let mut copy = SimDisk::new();
    bring(&source, &seeded(&copy, source.info()), 0, 5);
    copy = copy.crash(Tear::LoseAll);
    let sink = seeded(&copy, source.info());
    assert!(!sink.position(0).unwrap().is_empty());
    finish(&a, &source, sink);
}
