//! Queries of every kind over two tables of random rows, for tests that run them in different ways.

use super::Session;
use keel_base::env::sim::SimDisk;
use keel_query::WorkSpace;
use std::path::Path;
use std::sync::Arc;

pub const QUERIES: &[&str] = &[
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
pub fn lines(transcript: &str, ordered: bool) -> Vec<String> {
    let mut lines: Vec<String> = transcript.lines().map(str::to_lowercase).collect();
    if !ordered {
        lines.sort();
    }
    lines
}

pub fn filled(rows: &[(Option<u8>, u8, i32)]) -> Session {
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
pub fn space(statement_bytes: usize) -> (&'static Arc<WorkSpace>, Arc<SimDisk>) {
    let disk = SimDisk::new();
    let env = keel_base::env::sim::env(&disk, 1);
    let work =
        WorkSpace::with_grant(env.disk, Path::new("/work"), 64 << 20, statement_bytes, 64 << 20).unwrap();
    if statement_bytes % 2 == 1 {
        work.encrypt(&env.random);
    }
    (Box::leak(Box::new(work)), disk)
}
