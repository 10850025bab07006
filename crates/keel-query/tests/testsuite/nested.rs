//! Deeply nested subqueries are planned in a time that grows with their number, and give the right rows.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use keel_parser::ast::StatementKind as K;
use std::fmt::Write;

fn nested(depth: usize, negated: bool) -> String {
    let mut sql = "SELECT a0.id FROM t a0 WHERE ".to_owned();
    for i in 1..=depth {
        let not = if negated && i % 2 == 0 { "NOT " } else { "" };
        write!(sql, "{not}EXISTS (SELECT * FROM t a{i} WHERE a{i}.id = a{}.id + 1 AND ", i - 1).unwrap();
    }
    write!(sql, "1 = 1{} ORDER BY a0.id", ")".repeat(depth)).unwrap();
    sql
}

/// Operators in a plan: what planning leaves behind, whatever the machine's speed.
fn lines(s: &Session, sql: &str) -> usize {
    let batch = keel_parser::parse_batch(sql, keel_parser::ParseOptions::default()).unwrap();
    let K::Select(select) = &batch.statements[0].kind else { unreachable!() };
    keel_query::compile_select(s, select).unwrap().explain().len()
}

#[test]
fn thirty_levels_of_exists() {
    let s = Session::new();
    s.ok("CREATE TABLE t (id int NOT NULL PRIMARY KEY)");
    s.ok(&format!("INSERT t VALUES {}", (1..=40).map(|i| format!("({i})")).collect::<Vec<_>>().join(", ")));
    let sql = nested(30, false);
    assert!(lines(&s, &sql) < 120);
    let rows = s.ok(&sql);
    assert!(rows.contains("(10 rows)"), "{rows}");
    // id + 1 exists for all but 40, and what follows alternates: it ends at the even levels.
    assert!(s.ok(&nested(31, true)).contains("rows)"));
}
