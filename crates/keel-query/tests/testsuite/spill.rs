//! Whatever the memory grant, a query gives the same rows.
#![allow(clippy::unwrap_used)]

use crate::common::varied::{QUERIES, filled, lines, space};
use keel_base::env::Disk;
use keel_base::env::sim::SimDisk;
use keel_query::WorkSpace;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    #[test]
    fn rows_do_not_depend_on_the_grant(
        rows in prop::collection::vec((prop::option::weighted(0.9, any::<u8>()), any::<u8>(), 0..100i32), 200..700),
        grant in 256..16_384usize,
    ) {
        let s = filled(&rows);
        let whole: Vec<String> = QUERIES.iter().map(|q| s.ok(q)).collect();
        let (work, disk) = space(grant);
        *s.work.borrow_mut() = Some(work);
        for (q, expected) in QUERIES.iter().zip(&whole) {
            let ordered = q.contains("ORDER BY") && !q.contains("WITHIN");
            prop_assert_eq!(lines(&s.ok(q), ordered), lines(expected, ordered), "{}", q);
        }
        prop_assert!(work.spilled_bytes() > 0);
        prop_assert!(disk.list(Path::new("/work")).unwrap().is_empty(), "files are left");
    }
}

#[test]
fn changes_do_not_depend_on_the_grant() {
    for change in [
        "DELETE a WHERE EXISTS (SELECT * FROM b WHERE b.s = a.s AND b.n <> a.n)",
        "DELETE a WHERE k = 1 OR s IN (SELECT s FROM b)",
        "UPDATE a SET n = n + 1000 WHERE s NOT IN (SELECT s FROM b WHERE s IS NOT NULL)",
        "UPDATE a SET k = 77 WHERE s IN (SELECT s FROM b WHERE n > 100)",
    ] {
        let changed = |work: Option<&'static Arc<WorkSpace>>| {
            let s = filled(&(0..400).map(|i| (Some(i as u8), (i * 7) as u8, i)).collect::<Vec<_>>());
            *s.work.borrow_mut() = work;
            s.ok(change);
            s.ok("SELECT * FROM a ORDER BY id")
        };
        for grant in [1024, 1025] {
            let (work, _) = space(grant);
            assert_eq!(changed(Some(work)), changed(None), "{change}");
            assert!(work.spilled_bytes() > 0, "{change}");
        }
    }
}

#[test]
fn a_full_disk_is_reported() {
    let s = filled(&(0..400).map(|i| (Some(i as u8), i as u8, i)).collect::<Vec<_>>());
    let (work, disk) = space(1024);
    disk.set_capacity(100);
    *s.work.borrow_mut() = Some(work);
    assert!(s.run("SELECT id, s FROM a ORDER BY s, id").contains("1105"));
    assert!(disk.list(Path::new("/work")).unwrap().is_empty());
    disk.heal();
    disk.set_capacity(1 << 30);
    s.ok("SELECT id, s FROM a ORDER BY s, id");
}

#[test]
fn neighbours_and_positions_need_no_partition_in_memory() {
    let s = filled(&(0..700).map(|i| (Some(i as u8), i as u8, i)).collect::<Vec<_>>());
    let query = "SELECT SUM(p), SUM(n), MAX(t), SUM(f), MAX(l), SUM(m) FROM (SELECT LAG(n, 2) OVER (ORDER BY id) AS p, \
                 LEAD(n, 3) OVER (ORDER BY id) AS n, NTILE(5) OVER (ORDER BY id) AS t, FIRST_VALUE(id) OVER (ORDER BY id) AS f, \
                 LAST_VALUE(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS l, \
                 SUM(n) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS m FROM a) x";
    let whole = s.ok(query);
    let disk = SimDisk::new();
    let files = keel_base::env::sim::env(&disk, 1).disk;
    let work = WorkSpace::with_grant(files, Path::new("/work"), 8 << 10, 4 << 10, 32 << 10).unwrap();
    *s.work.borrow_mut() = Some(Box::leak(Box::new(work)));
    assert_eq!(s.ok(query), whole);
    // What must see its partition from every row still has to hold it.
    assert!(s.run("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY id) OVER () FROM a").contains("701"));
}
