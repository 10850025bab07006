//! The two ends of a range are not independent of each other: how many rows lie between them decides how a join is made.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use keel_parser::ast::StatementKind as K;

fn join_of(s: &Session, condition: &str) -> String {
    let sql = format!(
        "SELECT COUNT(*) FROM lines JOIN stock ON s_w = 1 AND s_i = l_i WHERE l_d = 1 AND {condition} AND s_quantity < 15"
    );
    let batch = keel_parser::parse_batch(&sql, keel_parser::ParseOptions::default()).unwrap();
    let K::Select(select) = &batch.statements[0].kind else { unreachable!() };
    let lines = keel_query::compile_select(s, select).unwrap().explain();
    lines.into_iter().find(|line| line.contains("Join")).unwrap().trim().to_owned()
}

fn shop() -> Session {
    let s = Session::new();
    s.ok("CREATE TABLE n (i int NOT NULL PRIMARY KEY)");
    s.ok(&format!("INSERT n VALUES {}", (0..50).map(|i| format!("({i})")).collect::<Vec<_>>().join(", ")));
    s.ok("CREATE TABLE stock (s_w int NOT NULL, s_i int NOT NULL, s_quantity int NOT NULL, PRIMARY KEY (s_w, s_i))");
    s.ok("CREATE TABLE lines (l_d int NOT NULL, l_o int NOT NULL, l_n int NOT NULL, l_i int NOT NULL, \
          PRIMARY KEY (l_d, l_o, l_n))");
    s.ok("INSERT stock SELECT w.i, a.i * 6 + b.i, 10 FROM n w, n a, n b WHERE w.i IN (1, 2) AND b.i < 6");
    s.ok("INSERT lines SELECT d.i, a.i * 10 + b.i, c.i, c.i FROM n d, n a, n b, n c \
          WHERE d.i IN (1, 2, 3, 4) AND b.i < 10 AND c.i < 10");
    s.statistics.forget(crate::common::DB);
    s.ok("DECLARE @next int = 300; DECLARE @since int = 10");
    s
}

#[test]
fn so_many_before_a_variable_are_few() {
    let s = shop();
    let loops = "|--Nested Loops(Inner Join)";
    assert_eq!(join_of(&s, "l_o >= @next - 10 AND l_o < @next"), loops);
    assert_eq!(join_of(&s, "l_o BETWEEN @next + 1 AND 5 + @next"), loops);
    // Nobody knows how far these are apart, and that is far.
    assert!(join_of(&s, "l_o >= @since AND l_o < @next").starts_with("|--Hash Match"));
    assert!(join_of(&s, "l_o >= @next - 400 AND l_o < @next").starts_with("|--Hash Match"));
}

#[test]
fn between_constants_the_histogram_counts() {
    let s = shop();
    assert_eq!(join_of(&s, "l_o BETWEEN 240 AND 247"), "|--Nested Loops(Inner Join)");
    assert!(join_of(&s, "l_o BETWEEN 20 AND 450").starts_with("|--Hash Match"));
}
