//! Whatever the memory grant, a query gives the same rows.
#![allow(clippy::unwrap_used)]
mod common;

use common::Session;
use keel_base::env::Disk;
use keel_base::env::sim::SimDisk;
use keel_query::WorkSpace;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

const QUERIES: &[&str] = &[
    "SELECT id, k, s FROM a ORDER BY s, k DESC, id",
    "SELECT id, f FROM a ORDER BY f, id DESC",
    "SELECT k, COUNT(*), SUM(n), MIN(s), MAX(d), COUNT(DISTINCT s) FROM a GROUP BY k",
    "SELECT s, k, COUNT(*), AVG(n) FROM a GROUP BY s, k",
    "SELECT s, k, GROUPING(s), COUNT(*) FROM a GROUP BY CUBE (s, k)",
    "SELECT k, STRING_AGG(s, ',') WITHIN GROUP (ORDER BY id) FROM a GROUP BY k",
    "SELECT DISTINCT s, k FROM a",
    "SELECT DISTINCT f FROM a",
    "SELECT a.id, b.id, b.s FROM a JOIN b ON a.k = b.k WHERE a.n < b.n",
    "SELECT a.id, b.id FROM a LEFT JOIN b ON a.s = b.s AND b.n > 50",
    "SELECT a.id, b.id, a.s, b.s FROM a FULL JOIN b ON a.s = b.s AND a.k = b.k",
    "SELECT a.id FROM a WHERE EXISTS (SELECT * FROM b WHERE b.s = a.s AND b.n <> a.n)",
    "SELECT a.id FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.s = a.s)",
    "SELECT a.id FROM a WHERE a.k NOT IN (SELECT b.n FROM b WHERE b.n IS NOT NULL)",
    "SELECT a.id FROM a WHERE a.k NOT IN (SELECT b.k FROM b)",
    "SELECT a.id FROM a WHERE a.k = 3 OR EXISTS (SELECT * FROM b WHERE b.s = a.s)",
    "SELECT a.id FROM a WHERE a.k = 3 OR a.s IN (SELECT b.s FROM b WHERE b.n > 50)",
    "WITH x AS (SELECT s, k, COUNT(*) AS c FROM a GROUP BY s, k) SELECT x.s, x.k, y.k, y.c FROM x JOIN x AS y ON y.s = x.s AND y.k > x.k",
    "SELECT a.id, b.s FROM a JOIN b ON a.s = b.s ORDER BY a.id, b.id",
    "SELECT TOP 7 a.id, b.s FROM a JOIN b ON a.s = b.s ORDER BY a.id, b.id",
    "SELECT b.s, COUNT(*) FROM (SELECT DISTINCT k, s FROM a) a JOIN b ON a.k = b.k GROUP BY b.s ORDER BY 2 DESC, 1",
    "SELECT COUNT(DISTINCT s), COUNT(DISTINCT id), SUM(DISTINCT n), COUNT(DISTINCT f) FROM a",
    "SELECT k % 3, COUNT(DISTINCT id), AVG(DISTINCT n), MIN(s) FROM a GROUP BY k % 3",
    "SELECT s, COUNT(DISTINCT id) FROM (SELECT TOP 500 s, id FROM a ORDER BY s) x GROUP BY s",
    "SELECT s, k FROM a INTERSECT SELECT s, k FROM b",
    "SELECT s, n FROM a EXCEPT SELECT s, n FROM b",
    "SELECT id FROM a EXCEPT SELECT id * 2 FROM a",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY s, id), RANK() OVER (ORDER BY s), DENSE_RANK() OVER (ORDER BY s) FROM a",
    "SELECT id, SUM(n) OVER (PARTITION BY k ORDER BY s), COUNT(*) OVER (), MAX(n) OVER (PARTITION BY k) FROM a",
    "SELECT id, SUM(n) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING), LAG(n) OVER (ORDER BY id), COUNT(*) OVER () FROM a",
    "SELECT id, NTILE(7) OVER (ORDER BY s, id), CUME_DIST() OVER (PARTITION BY k ORDER BY s), LEAD(n, 3, -1) OVER (PARTITION BY k ORDER BY id), PERCENT_RANK() OVER (ORDER BY s) FROM a",
    "SELECT id, SUM(n) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING), LAST_VALUE(n) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), FIRST_VALUE(s) IGNORE NULLS OVER (ORDER BY id) FROM a",
];

/// Which of two equal strings stands for a group is nobody's promise: cases are folded.
fn lines(transcript: &str, ordered: bool) -> Vec<String> {
    let mut lines: Vec<String> = transcript.lines().map(str::to_lowercase).collect();
    if !ordered {
        lines.sort();
    }
    lines
}

fn filled(rows: &[(Option<u8>, u8, i32)]) -> Session {
    let s = Session::new();
    for t in ["a", "b"] {
        s.ok(&format!(
            "CREATE TABLE {t} (id int NOT NULL PRIMARY KEY, k int NULL, s varchar(40) NULL, n int NULL, d date NULL, f float NULL)"
        ));
    }
    let value = |i: usize, (k, text, n): &(Option<u8>, u8, i32)| {
        let k = k.map_or("NULL".to_owned(), |k| (k % 32).to_string());
        let text = match text % 40 {
            0 => "NULL".to_owned(),
            t => format!("'{}{}'", if t % 2 == 0 { "Word" } else { "word" }, t / 2),
        };
        format!("({i}, {k}, {text}, {n}, DATEADD(day, {n}, '2024-01-01'), {n} / 7.0)")
    };
    let values: Vec<String> = rows.iter().enumerate().map(|(i, r)| value(i, r)).collect();
    for (n, chunk) in values.chunks(50).enumerate() {
        let table = if n % 3 == 2 { "b" } else { "a" };
        s.ok(&format!("INSERT {table} VALUES {}", chunk.join(", ")));
    }
    s
}

/// With an odd grant its files are encrypted.
fn space(statement_bytes: usize) -> (&'static Arc<WorkSpace>, Arc<SimDisk>) {
    let disk = SimDisk::new();
    let env = keel_base::env::sim::env(&disk, 1);
    let work =
        WorkSpace::with_grant(env.disk, Path::new("/work"), 64 << 20, statement_bytes, 64 << 20).unwrap();
    if statement_bytes % 2 == 1 {
        work.encrypt(&env.random);
    }
    (Box::leak(Box::new(work)), disk)
}

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
