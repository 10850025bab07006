//! A key that is NULL after an outer join found nothing: there are such rows, though the column holds no NULL.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use keel_parser::ast::StatementKind as K;

#[test]
fn rows_without_a_match_are_expected() {
    let s = Session::new();
    s.ok("CREATE TABLE n (i int NOT NULL PRIMARY KEY)");
    s.ok(&format!("INSERT n VALUES {}", (0..50).map(|i| format!("({i})")).collect::<Vec<_>>().join(", ")));
    s.ok("CREATE TABLE sales (id int NOT NULL PRIMARY KEY, item int NOT NULL)");
    s.ok("CREATE TABLE returned (id int NOT NULL PRIMARY KEY)");
    s.ok("CREATE TABLE items (item int NOT NULL PRIMARY KEY, name varchar(20) NOT NULL)");
    s.ok("INSERT sales SELECT a.i * 50 + b.i, a.i * 10 + b.i % 10 FROM n a, n b");
    s.ok("INSERT returned SELECT a.i * 50 + b.i FROM n a, n b WHERE b.i < 5");
    s.ok("INSERT items SELECT a.i * 10 + b.i, 'x' FROM n a, n b WHERE b.i < 10");
    s.statistics.forget(crate::common::DB);
    let sql = "SELECT SUM(s.id), MAX(i.name) FROM sales s LEFT JOIN returned r ON r.id = s.id \
               JOIN items i ON i.item = s.item WHERE r.id IS NULL";
    let batch = keel_parser::parse_batch(sql, keel_parser::ParseOptions::default()).unwrap();
    let K::Select(select) = &batch.statements[0].kind else { unreachable!() };
    let lines = keel_query::compile_select(&s, select).unwrap().explain();
    assert!(lines.iter().any(|line| line.contains("Hash Match(Inner Join")), "{lines:#?}");
}
