//! Several threads give the same rows as one.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use crate::common::varied::{QUERIES, filled, lines, space};
use keel_query::{MemoryPool, MemoryShare, WorkSpace, Workers};
use proptest::prelude::*;

/// Queries that are about gathering rather than about rows.
const MORE: &[&str] = &[
    "SELECT * FROM a",
    "SELECT id FROM a WHERE n > 30 AND s LIKE 'word%'",
    "SELECT COUNT(*), SUM(n), AVG(n), MIN(s), MAX(f), COUNT(k) FROM a",
    "SELECT COUNT(*), SUM(n), MIN(s) FROM a WHERE id < 0",
    "SELECT k, SUM(n) FROM a WHERE id < 0 GROUP BY k",
    "SELECT id % 50, VAR(n), STDEVP(n), CHECKSUM_AGG(n) FROM a GROUP BY id % 50",
    "SELECT COUNT(*) FROM a JOIN b ON a.k = b.k JOIN a AS c ON c.s = b.s AND c.n = a.n",
    "SELECT COUNT(*) FROM a WHERE n > (SELECT AVG(n) FROM b)",
    "SELECT id FROM a WHERE n > (SELECT AVG(n) FROM b WHERE b.k = a.k)",
    "SELECT a.k, COUNT(*) FROM a LEFT JOIN b ON b.id = a.id + 50 GROUP BY a.k HAVING COUNT(*) > 3",
    "SELECT k FROM a UNION SELECT n FROM b",
    "SELECT s FROM a UNION ALL SELECT s FROM b",
    "SELECT TOP 5 n, id FROM a ORDER BY n DESC, id",
    "SELECT n, id FROM a ORDER BY n, id OFFSET 20 ROWS FETCH NEXT 30 ROWS ONLY",
    "SELECT id FROM a ORDER BY id",
    "SELECT id FROM a ORDER BY id DESC",
    "SELECT id, COUNT(*) FROM a GROUP BY id ORDER BY id",
    "SELECT id, COUNT(*), MIN(s) FROM a GROUP BY id",
    "SELECT x.id, x.c, b.s FROM (SELECT id, COUNT(*) AS c FROM a GROUP BY id HAVING MAX(n) > 20) x JOIN b ON b.id = x.id + 50",
    "SELECT c, COUNT(*) FROM (SELECT a.id, COUNT(b.id) AS c FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.id) x GROUP BY c",
    "SELECT m, COUNT(*), MAX(l) FROM p GROUP BY m",
    "SELECT m, l, COUNT(*) FROM p GROUP BY m, l",
    "SELECT m, SUM(c) FROM (SELECT m, l, COUNT(*) AS c FROM p GROUP BY m, l HAVING MAX(v) > 3) x GROUP BY m",
    "SELECT DISTINCT m FROM p",
    "SELECT COUNT(*) FROM (SELECT DISTINCT m, l FROM p WHERE v <> 5) x",
    "SELECT COUNT(*) FROM a WHERE id IN (SELECT m FROM p GROUP BY m HAVING COUNT(*) > 2)",
    "SELECT (SELECT MAX(id) FROM a), (SELECT COUNT(*) FROM b WHERE n > 10)",
    "WITH x AS (SELECT k, SUM(n) AS n FROM a GROUP BY k) SELECT x.k FROM x WHERE n = (SELECT MAX(n) FROM x)",
    "WITH x AS (SELECT k, SUM(n) AS n FROM a GROUP BY k) SELECT x.k, y.k FROM x JOIN x AS y ON y.n = x.n",
    "SELECT d.k, a.id FROM (SELECT TOP 3 k FROM b WHERE k IS NOT NULL ORDER BY k) d CROSS APPLY (SELECT TOP 2 id FROM a WHERE a.k = d.k ORDER BY id) a",
    "SELECT GROUPING_ID(k, s), k, s, SUM(n) FROM a GROUP BY GROUPING SETS ((k), (s), ())",
    "SELECT CASE WHEN k = 3 THEN s WHEN k = 4 THEN CAST(n AS varchar(10)) END FROM a",
    "SELECT PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY n) OVER (PARTITION BY k) FROM a",
];

/// A session's stack by default, bytes.
const SESSION_STACK: usize = 16 << 20;

/// Queries of ranges that have no rows, some of which end before they begin.
const EMPTY: &[&str] = &[
    "SELECT COUNT(*), SUM(n) FROM a WHERE id BETWEEN 900 AND 100",
    "SELECT n, id FROM a WHERE id >= 500 AND id < 500 ORDER BY n",
    "SELECT m, COUNT(*) FROM p WHERE m > 3000 AND m < 1000 GROUP BY m",
    "SELECT k, COUNT(*) FROM a WHERE id BETWEEN (SELECT MAX(id) FROM a) AND (SELECT MIN(id) FROM a) GROUP BY k",
];

fn forced(query: &str) -> String {
    format!("{query} OPTION (USE HINT ('ENABLE_PARALLEL_PLAN_PREFERENCE'))")
}

fn helpers(s: &Session, degree: usize) {
    let clock = keel_base::env::sim::env(&keel_base::env::sim::SimDisk::new(), 1).clock;
    *s.helpers.borrow_mut() = Some((Workers::new(degree - 1, SESSION_STACK, clock), degree));
}

/// A float as a transcript has it, with six digits.
fn float(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|_| cell.contains(['.', 'e']))
}

/// What sums of floats have in their last digits depends on the order of the rows, and so may the last digit that is shown.
fn is_same(one: &str, other: &str) -> bool {
    let cell = |(one, other): (&str, &str)| {
        let close = |(a, b): (f64, f64)| (a - b).abs() <= 1.5e-5 * a.abs().max(b.abs());
        one == other || float(one).zip(float(other)).is_some_and(close)
    };
    let (one, other): (Vec<&str>, Vec<&str>) = (one.split(" | ").collect(), other.split(" | ").collect());
    one.len() == other.len() && one.into_iter().zip(other).all(cell)
}

/// Of those that say so the order counts; ties may come as they like.
fn is_ordered(query: &str) -> bool {
    query.contains("ORDER BY")
        && !query.contains("WITHIN")
        && !query.contains("OVER")
        && !query.contains("APPLY")
}

fn check(s: &Session, query: &str, expected: &str) {
    let transcript = s.ok(&forced(query));
    let (got, wanted) = (lines(&transcript, false), lines(expected, false));
    assert_eq!(got.len(), wanted.len(), "{query}");
    let other: Vec<_> = got.iter().zip(&wanted).filter(|(got, wanted)| !is_same(got, wanted)).collect();
    assert!(other.is_empty(), "{query}: {other:#?}");
    if is_ordered(query) {
        assert_eq!(lines(&transcript, true), lines(expected, true), "{query}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]
    #[test]
    fn rows_do_not_depend_on_the_degree(
        rows in prop::collection::vec((prop::option::weighted(0.9, any::<u8>()), any::<u8>(), 0..100i32), 900..2200),
        degree in 2..6usize,
        grant in prop::option::of(2048..32_768usize),
    ) {
        let s = filled(&rows);
        parts(&s, rows.len());
        let queries = || QUERIES.iter().chain(MORE).chain(EMPTY);
        let alone: Vec<String> = queries().map(|q| s.ok(q)).collect();
        helpers(&s, degree);
        if let Some(grant) = grant {
            *s.work.borrow_mut() = Some(space(grant).0);
        }
        for (q, expected) in queries().zip(&alone) {
            check(&s, q, expected);
        }
    }
}

#[test]
fn nearly_all_of_these_are_parallel() {
    let s = many();
    helpers(&s, 4);
    let serial = |q: &&&str| {
        s.degree.set(0);
        s.ok(&forced(q));
        s.degree.get() < 2
    };
    let serial: Vec<&&str> = QUERIES.iter().chain(MORE).filter(serial).collect();
    // Orders that an index gives, and row numbers by it.
    assert!(serial.len() < 8, "{serial:#?}");
}

/// A table of several rows for each value of its first key column.
fn parts(s: &Session, rows: usize) {
    s.ok("CREATE TABLE p (m int NOT NULL, l int NOT NULL, v int NOT NULL, PRIMARY KEY (m, l, v))");
    let row = |i: usize| format!("({}, {}, {})", (i as i64 / 7 % 90) * 150 - 300, i % 3, i);
    for chunk in (0..rows).map(row).collect::<Vec<_>>().chunks(100) {
        s.ok(&format!("INSERT p VALUES {}", chunk.join(", ")));
    }
}

fn many() -> Session {
    let s = filled(&(0..3000).map(|i| (Some(i as u8), (i * 7) as u8, i % 101)).collect::<Vec<_>>());
    parts(&s, 2000);
    s
}

#[test]
fn helpers_are_used_and_show() {
    let s = many();
    helpers(&s, 3);
    s.ok(&forced("SELECT k, COUNT(*) FROM a GROUP BY k"));
    assert_eq!(s.degree.replace(0), 3);
    s.ok("SELECT k, COUNT(*) FROM a GROUP BY k OPTION (MAXDOP 2, USE HINT ('ENABLE_PARALLEL_PLAN_PREFERENCE'))");
    assert_eq!(s.degree.replace(0), 2);
    s.ok("SELECT k, COUNT(*) FROM a GROUP BY k OPTION (MAXDOP 1, USE HINT ('ENABLE_PARALLEL_PLAN_PREFERENCE'))");
    s.ok("SELECT k, COUNT(*) FROM a GROUP BY k");
    assert_eq!(s.degree.get(), 0, "MAXDOP 1 and cheap statements are serial");
}

#[test]
fn who_finds_no_helper_works_alone() {
    let s = many();
    let expected = s.ok("SELECT k, COUNT(*) FROM a GROUP BY k");
    let clock = keel_base::env::sim::env(&keel_base::env::sim::SimDisk::new(), 1).clock;
    *s.helpers.borrow_mut() = Some((Workers::new(0, SESSION_STACK, clock), 4));
    check(&s, "SELECT k, COUNT(*) FROM a GROUP BY k", &expected);
    assert_eq!(s.degree.get(), 1);
}

#[test]
fn own_rows_are_seen() {
    let s = many();
    helpers(&s, 4);
    s.ok("BEGIN TRANSACTION");
    let before = s.ok(&forced("SELECT COUNT(*) FROM a"));
    s.ok("DELETE a WHERE id < 20");
    s.degree.set(0);
    let after = s.ok(&forced("SELECT COUNT(*) FROM a"));
    assert_eq!(s.degree.get(), 1, "helpers do not see what a transaction has written");
    assert_ne!(before, after);
    s.ok("ROLLBACK");
    assert_eq!(s.ok(&forced("SELECT COUNT(*) FROM a")), before);
    assert_eq!(s.degree.get(), 4);
}

#[test]
fn an_error_ends_all() {
    let s = many();
    helpers(&s, 4);
    for query in [
        "SELECT SUM(10 / (n - 50)) FROM a",
        "SELECT id, 10 / (n - 50) FROM a",
        "SELECT id FROM a ORDER BY 10 / (n - 50)",
        "SELECT COUNT(*) FROM a JOIN b ON a.id = b.id / (b.n - 50)",
    ] {
        let transcript = s.run(&forced(query));
        assert!(transcript.contains("error 8134"), "{query}\n{transcript}");
    }
    assert_eq!(s.helpers.borrow().as_ref().unwrap().0.in_use().1, 0, "all helpers are idle again");
}

#[test]
fn a_cancelled_statement_takes_its_helpers_along() {
    let s = many();
    helpers(&s, 4);
    for query in [
        "SELECT COUNT(*) FROM a JOIN b ON a.k = b.k JOIN a AS c ON c.k = b.k",
        "SELECT a.id, b.id, c.id FROM a JOIN b ON a.k = b.k JOIN a AS c ON c.k = b.k",
        "SELECT TOP 5 a.id FROM a JOIN b ON a.k = b.k JOIN a AS c ON c.k = b.k ORDER BY b.n",
    ] {
        s.looks_left.set(3);
        let transcript = s.run(&forced(query));
        assert!(transcript.contains("error 3617"), "{query}\n{transcript}");
        assert_eq!(s.helpers.borrow().as_ref().unwrap().0.in_use().1, 0, "{query}");
        s.looks_left.set(u64::MAX);
    }
    assert_eq!(s.ok(&forced("SELECT COUNT(*) FROM p")), "[]\n2000\n(1 rows)\n");
}

#[test]
fn what_only_the_session_knows_is_serial() {
    let s = many();
    helpers(&s, 4);
    s.ok("DECLARE @m int = 0, @k int = 5");
    for (query, reason) in [
        ("SELECT id, @@ROWCOUNT FROM a", "NonParallelizableIntrinsicFunction"),
        ("SELECT id, NEWID() FROM a", "NonParallelizableIntrinsicFunction"),
        ("SELECT COUNT(*) FROM a WITH (UPDLOCK)", "CouldNotGenerateValidParallelPlan"),
        (
            "WITH x AS (SELECT k, SUM(n) AS n FROM a GROUP BY k) SELECT x.k, @@ROWCOUNT FROM x JOIN x AS y ON y.n = x.n",
            "NonParallelizableIntrinsicFunction",
        ),
        ("SELECT @m = n FROM a WHERE n > @m", "CouldNotGenerateValidParallelPlan"),
        ("SELECT @m = MAX(n) FROM a WHERE id > (SELECT MAX(@m) FROM b)", "CouldNotGenerateValidParallelPlan"),
        (
            "SELECT @m = n, @k = (SELECT COUNT(*) FROM b WHERE n > @m) FROM a",
            "CouldNotGenerateValidParallelPlan",
        ),
    ] {
        let batch = keel_parser::parse_batch(&forced(query), keel_parser::ParseOptions::default()).unwrap();
        let keel_parser::ast::StatementKind::Select(select) = &batch.statements[0].kind else {
            unreachable!()
        };
        let plan = keel_query::compile_select(&s, select).unwrap();
        assert_eq!(plan.degree(), 1, "{query}");
        assert_eq!(plan.serial_reason(), Some(reason), "{query}");
        assert!(!plan.explain().iter().any(|line| line.contains("Parallelism")), "{query}");
    }
    for query in ["SELECT @m = MAX(n) FROM a WHERE n > @k", "SELECT @m = @m + n FROM a WHERE n * n > @k"] {
        s.degree.set(0);
        s.ok(&forced(query));
        assert_eq!(s.degree.get(), 4, "{query}");
    }
}

#[test]
fn a_pool_has_back_what_helpers_took() {
    let s = many();
    helpers(&s, 4);
    *s.work.borrow_mut() = Some(space(1 << 20).0);
    let pool = MemoryPool::new("p");
    *s.share.borrow_mut() = Some(MemoryShare::new(&pool));
    for last in [true, false] {
        s.begins_last.set(last);
        for _ in 0..20 {
            let before = pool.grants();
            s.ok(&forced("SELECT id % 700, COUNT(*) FROM a GROUP BY id % 700"));
            assert_eq!(pool.grants() - before, 1, "one statement, whoever of its threads asks first");
            assert_eq!((pool.used_bytes(), pool.statements()), (0, 0));
        }
    }
    assert_eq!(s.degree.get(), 4);
}

#[test]
fn what_cannot_go_to_files_is_limited_for_all_threads_together() {
    let s = many();
    let query = "SELECT COUNT(*), LEN(STRING_AGG(CAST(s AS varchar(max)), ',')) FROM a";
    let work = |most| {
        let disk = keel_base::env::sim::SimDisk::new();
        let disk = keel_base::env::sim::env(&disk, 1).disk;
        WorkSpace::with_grant(disk, std::path::Path::new("/work"), 8192, 4096, most).unwrap()
    };
    // What one thread alone needs at least.
    let needs = |most| {
        *s.work.borrow_mut() = Some(Box::leak(Box::new(work(most))));
        !s.run(query).contains("error 701")
    };
    let mut most = 1 << 14;
    while !needs(most) {
        most += most / 8;
    }
    let too_little = most * 3 / 4;
    assert!(!needs(too_little));
    helpers(&s, 4);
    for last in [true, false, false, false, false] {
        s.begins_last.set(last);
        let transcript = s.run(&forced(query));
        assert!(transcript.contains("error 701"), "{transcript}");
    }
    assert_eq!(s.degree.get(), 4);
}

#[test]
fn helpers_evaluate_what_a_session_can() {
    let deep = || {
        let s = many();
        helpers(&s, 4);
        let sum = vec!["n"; 900].join(" + ");
        let query = format!("SELECT MAX({sum}), COUNT(*) FROM a WHERE {sum} >= 0");
        assert_eq!(s.ok(&forced(&query)), s.ok(&query));
        assert_eq!(s.degree.get(), 4);
    };
    std::thread::Builder::new().stack_size(SESSION_STACK).spawn(deep).unwrap().join().unwrap();
}

/// Pages that a query reads.
fn reads(s: &Session, query: &str) -> u64 {
    s.reads.set(0);
    s.ok(query);
    s.reads.get()
}

#[test]
fn a_subquery_with_one_answer_runs_once_for_all_threads() {
    let s = many();
    helpers(&s, 4);
    for begins_last in [true, false] {
        s.begins_last.set(begins_last);
        let outer = reads(&s, &forced("SELECT COUNT(*) FROM p WHERE v > 4"));
        let inner = reads(&s, &forced("SELECT MAX(LEN(s)) FROM a"));
        let both = reads(&s, &forced("SELECT COUNT(*) FROM p WHERE v > (SELECT MAX(LEN(s)) FROM a)"));
        assert!(both <= outer + inner, "{both} pages for {outer} and {inner}");
    }
}

#[test]
fn a_subquery_that_nobody_asks_does_not_fail() {
    let s = many();
    helpers(&s, 4);
    let never = "SELECT COUNT(*) FROM a WHERE CASE WHEN n < 0 THEN (SELECT 1 / (COUNT(*) - COUNT(id)) FROM b) ELSE 1 END = 1";
    assert_eq!(s.ok(&forced(never)), s.ok(never));
    let asked = never.replace("n < 0", "n < 1");
    assert!(s.run(&forced(&asked)).contains("error 8134"));
}

#[test]
fn what_helpers_read_counts_when_nobody_wants_their_rows_any_more() {
    let s = many();
    let all = reads(&s, "SELECT id FROM a WHERE n < 20");
    helpers(&s, 4);
    s.begins_last.set(true);
    assert!(reads(&s, &forced("SELECT TOP 1 id FROM a WHERE n < 20")) >= all, "the others have read it all");
}

#[test]
fn rows_are_sent_by_helpers_where_few_come_out() {
    let s = many();
    helpers(&s, 4);
    s.cost_threshold.set(0.0);
    for (query, degree) in [
        ("SELECT * FROM a", 0),
        ("SELECT id, n + 1 FROM a WHERE n > 30", 0),
        ("SELECT DISTINCT s, id FROM a", 0),
        ("SELECT COUNT(DISTINCT n) FROM a", 0),
        ("SELECT COUNT(*), SUM(n) FROM a", 4),
        ("SELECT id, n FROM a ORDER BY n", 4),
        ("SELECT id FROM a WHERE n = 77", 4),
        ("SELECT COUNT(DISTINCT s) FROM a WHERE n = 77", 4),
        ("SELECT x.c, a.s FROM a JOIN (SELECT n, COUNT(*) AS c FROM a GROUP BY n) x ON x.n = a.n", 4),
    ] {
        s.degree.set(0);
        s.ok(query);
        assert_eq!(s.degree.get(), degree, "{query}");
    }
}
