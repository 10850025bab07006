//! A large table without an index that is read for one row after the other: an index spool gives the same rows as reading it each time.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use crate::common::varied::space;
use keel_parser::ast::StatementKind as K;

/// Queries with `{k}` and `{s}`, to which the condition is compared. What reads the inner table itself cannot be sought.
const QUERIES: &[&str] = &[
    "SELECT f.id, (SELECT COUNT(*) FROM large l WHERE l.k = {k}) FROM few f ORDER BY f.id",
    "SELECT f.id, (SELECT SUM(l.n) FROM large l WHERE l.s = {s} AND l.n > f.id) FROM few f ORDER BY f.id",
    "SELECT f.id, (SELECT MAX(l.s) FROM large l WHERE l.k = {k} AND l.s = {s} AND l.n % 3 = 1) FROM few f ORDER BY f.id",
    "SELECT f.id FROM few f WHERE f.id = 3 OR (SELECT COUNT(*) FROM large l WHERE (l.k = {k} AND l.n < 100) OR (l.k = {k} AND l.n > 2900)) > 1 ORDER BY f.id",
    "SELECT f.id, x.n, x.s FROM few f OUTER APPLY (SELECT TOP 2 l.n, l.s FROM large l WHERE l.k = {k} ORDER BY l.n DESC) x ORDER BY f.id, x.n",
    "SELECT f.id, x.c FROM few f CROSS APPLY (SELECT COUNT(*) AS c FROM large l JOIN large m ON m.id = l.n WHERE l.k = {k}) x ORDER BY f.id",
    "SELECT CASE WHEN EXISTS (SELECT * FROM large l WHERE l.s = {s} AND l.n + 0 = 7 * f.id) THEN f.id END AS found FROM few f ORDER BY f.id",
];

fn filled() -> Session {
    let s = Session::new();
    s.ok("CREATE TABLE few (id int NOT NULL PRIMARY KEY, k int NULL, s varchar(20) NULL)");
    s.ok("CREATE TABLE large (id int NOT NULL PRIMARY KEY, k int NULL, s varchar(20) NULL, n int NOT NULL)");
    s.ok("CREATE TABLE digits (d int NOT NULL PRIMARY KEY)");
    s.ok("INSERT digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
    s.ok("INSERT large SELECT x.i, NULLIF(x.i % 50, 7), CASE WHEN x.i % 11 = 0 THEN NULL WHEN x.i % 2 = 0 THEN 'Word' ELSE 'word' END \
          + CAST(x.i % 30 AS varchar(10)), x.i FROM (SELECT a.d * 1000 + b.d * 100 + c.d * 10 + d.d AS i FROM digits a, digits b, digits c, digits d WHERE a.d < 3) x");
    s.ok("INSERT few SELECT a.d * 10 + b.d, NULLIF(a.d * 10 + b.d, 12) % 55, CASE WHEN b.d = 0 THEN NULL ELSE 'WORD' + CAST(a.d * 10 + b.d AS varchar(10)) END \
          FROM digits a, digits b WHERE a.d < 6");
    s.statistics.forget(crate::common::DB);
    s
}

fn sought(query: &str) -> String {
    query.replace("{k}", "f.k").replace("{s}", "f.s")
}

fn compared(query: &str) -> String {
    query.replace("{k}", "f.k + 0 * l.id").replace("{s}", "f.s + LEFT('', 0 * l.id)")
}

fn plan(s: &Session, sql: &str) -> Vec<String> {
    let batch = keel_parser::parse_batch(sql, keel_parser::ParseOptions::default()).unwrap();
    let K::Select(select) = &batch.statements[0].kind else { unreachable!() };
    keel_query::compile_select(s, select).unwrap().explain()
}

fn is_spooled(s: &Session, sql: &str) -> bool {
    plan(s, sql).iter().any(|line| line.contains("Index Spool"))
}

#[test]
fn a_spool_gives_the_rows_that_the_table_gives() {
    let s = filled();
    for query in QUERIES {
        assert!(is_spooled(&s, &sought(query)), "{query}: {:#?}", plan(&s, &sought(query)));
        assert!(!is_spooled(&s, &compared(query)), "{query}");
        assert_eq!(s.ok(&sought(query)), s.ok(&compared(query)), "{query}");
    }
}

#[test]
fn a_spool_that_memory_does_not_hold_reads_the_table() {
    let s = filled();
    let whole: Vec<String> = QUERIES.iter().map(|q| s.ok(&sought(q))).collect();
    let (work, _) = space(1024);
    *s.work.borrow_mut() = Some(work);
    for (query, whole) in QUERIES.iter().zip(whole) {
        assert_eq!(s.ok(&sought(query)), whole, "{query}");
    }
}

#[test]
fn the_table_is_read_twice_at_most() {
    let s = filled();
    let pages = |sql: &str| {
        let before = s.reads.get();
        s.ok(sql);
        s.reads.get() - before
    };
    let once = pages("SELECT COUNT(*) FROM large l WHERE l.k + 0 = 3");
    // Once as it is, once into the spool; the rest is the pages on the way to them, 60 times.
    let all = pages(&sought(QUERIES[0]));
    assert!(all < 4 * once, "{all} pages where one reading takes {once}");
    assert!(pages(&compared(QUERIES[0])) > 20 * once);
}

#[test]
fn who_finds_at_once_fills_nothing() {
    let s = filled();
    // Every tenth row has it: reading as far as that is cheaper than a spool for ten rows.
    let sql = "SELECT f.id FROM few f WHERE f.id < 10 AND (f.id = 77 OR 1 = (SELECT TOP 1 1 FROM large l WHERE l.k = f.k + 1))";
    assert!(is_spooled(&s, sql));
    let before = s.reads.get();
    s.ok(sql);
    let all = s.reads.get() - before;
    let before = s.reads.get();
    s.ok("SELECT COUNT(*) FROM large l WHERE l.k + 0 = 3");
    assert!(all < s.reads.get() - before + 60, "{all}");
}

#[test]
fn what_is_locked_or_written_is_read_each_time() {
    let s = filled();
    for hint in ["UPDLOCK", "HOLDLOCK", "REPEATABLEREAD", "READPAST", "FORCESCAN"] {
        let sql = format!(
            "SELECT f.id, (SELECT COUNT(*) FROM large l WITH ({hint}) WHERE l.k = f.k) FROM few f ORDER BY f.id"
        );
        assert!(!is_spooled(&s, &sql), "{hint}");
    }
}

/// Loops that would read a large table for each row, few as they are thought to be, are a hash join.
#[test]
fn a_large_table_is_not_the_inner_side_of_loops() {
    let s = filled();
    let sql = "SELECT COUNT(*) FROM few f JOIN large l ON l.k = f.k WHERE f.s = 'a' AND f.id > 58 AND f.s LIKE '%b%'";
    let lines = plan(&s, sql);
    assert!(lines.iter().any(|line| line.contains("Hash Match(Inner Join")), "{lines:#?}");
    // One row by its whole key.
    let lines = plan(&s, "SELECT COUNT(*) FROM few f JOIN large l ON l.k = f.k WHERE f.id = 3");
    assert!(lines.iter().any(|line| line.contains("Nested Loops(Inner Join")), "{lines:#?}");
}

/// Nor where nothing joins them: what its own conditions leave is kept.
#[test]
fn a_large_table_is_read_once_for_a_product() {
    let s = filled();
    s.ok("INSERT few SELECT id + 100, 9, s FROM few");
    let sql = "SELECT COUNT(*), SUM(l.n) FROM few f JOIN large l ON l.k = f.k WHERE f.k = 9 AND f.id > 2 AND l.n > 10";
    let before = s.reads.get();
    assert!(s.ok(sql).contains("3599"), "{}", s.ok(sql));
    let all = s.reads.get() - before;
    let before = s.reads.get();
    s.ok("SELECT COUNT(*) FROM large l WHERE l.k + 0 = 3");
    assert!(all < 3 * (s.reads.get() - before), "{all}");
}

/// What holds of the rows on the left holds of those that match them.
#[test]
fn a_condition_on_the_left_limits_the_right_of_an_outer_join() {
    let s = filled();
    let sql = "SELECT f.id, x.c FROM few f LEFT JOIN (SELECT k, COUNT(*) AS c FROM large GROUP BY k) x ON x.k = f.k WHERE f.k = 9";
    let lines = plan(&s, sql);
    let limited =
        |line: &&String| line.contains("Scan") && line.contains("[large]") && line.contains("[k]=(9)");
    assert!(lines.iter().any(|line| limited(&line)), "{lines:#?}");
    // What is said of the right says nothing of the left.
    let sql = "SELECT f.id, l.id FROM few f LEFT JOIN large l ON l.k = f.k AND l.k = 9 AND l.n < 60 WHERE f.id < 12";
    assert!(s.ok(sql).contains("(12 rows)") || s.ok(sql).contains("(13 rows)"), "{}", s.ok(sql));
}
