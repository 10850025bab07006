//! What several columns have together decides which table comes first: a postal code and its town let through as much as the
//! code alone.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use keel_parser::ast::StatementKind as K;
use keel_query::catalog::StatisticsDef;
use std::sync::Arc;

/// Tables of a statement's plan, in the order in which they are read.
fn tables_of(s: &Session, sql: &str) -> Vec<String> {
    let batch = keel_parser::parse_batch(sql, keel_parser::ParseOptions::default()).unwrap();
    let K::Select(select) = &batch.statements[0].kind else { unreachable!() };
    let lines = keel_query::compile_select(s, select).unwrap().explain();
    let named = |line: String| ["people", "visits"].into_iter().find(|t| line.contains(t)).map(str::to_owned);
    let mut tables: Vec<String> = lines.into_iter().filter_map(named).collect();
    tables.dedup();
    tables
}

/// 5,000 people of 20 towns with a postal code each; 25,000 visits, on each day 500 of them and 20 of each kind.
fn town() -> Session {
    let s = Session::new();
    s.ok("CREATE TABLE n (i int NOT NULL PRIMARY KEY)");
    s.ok(&format!("INSERT n VALUES {}", (0..50).map(|i| format!("({i})")).collect::<Vec<_>>().join(", ")));
    s.ok(
        "CREATE TABLE people (code int NOT NULL, id int NOT NULL, town int NOT NULL, PRIMARY KEY (code, id))",
    );
    s.ok("CREATE TABLE visits (id int NOT NULL PRIMARY KEY, person int NOT NULL, day int NOT NULL, kind int NOT NULL)");
    s.ok("CREATE UNIQUE INDEX people_id ON people (id)");
    s.ok("CREATE INDEX visits_day ON visits (day)");
    s.ok("CREATE INDEX visits_person ON visits (person)");
    s.ok(
        "INSERT people SELECT b.i % 20, a.i * 100 + b.i * 2 + c.i, b.i % 20 FROM n a, n b, n c WHERE c.i < 2",
    );
    let x = "(a.i * 500 + b.i * 10 + c.i)";
    s.ok(&format!(
        "INSERT visits SELECT {x}, {x} * 7 % 5000, {x} % 50, {x} / 50 % 25 FROM n a, n b, n c WHERE c.i < 10"
    ));
    s.statistics.forget(crate::common::DB);
    s
}

#[test]
fn the_table_that_lets_less_through_comes_first() {
    let s = town();
    s.ok("DECLARE @code int = 7; DECLARE @town int = 7; DECLARE @day int = 3; DECLARE @kind int = 4");
    let sql = "SELECT COUNT(*) FROM people p JOIN visits v ON v.person = p.id \
               WHERE p.code = @code AND p.town = @town AND v.day = @day AND v.kind = @kind";
    // Each column lets a twentieth through; both would a four-hundredth, were they independent.
    assert_eq!(tables_of(&s, sql), ["people", "visits"]);
    let mut people = (*s.catalog.borrow().tables["people"]).clone();
    people.statistics.push(StatisticsDef {
        stats_id: 3,
        name: "code_and_town".to_owned(),
        columns: vec![people.columns[0].column_id, people.columns[2].column_id],
        filter: None,
        no_recompute: false,
    });
    s.catalog.borrow_mut().tables.insert("people".to_owned(), Arc::new(people));
    assert_eq!(tables_of(&s, sql), ["visits", "people"]);
}

#[test]
fn a_rare_value_is_looked_up_and_a_frequent_one_is_not() {
    let s = town();
    s.ok("CREATE TABLE orders (id int NOT NULL PRIMARY KEY, status int NOT NULL, note int NOT NULL)");
    s.ok("CREATE INDEX orders_status ON orders (status)");
    s.ok("INSERT orders SELECT a.i * 50 + b.i, CASE WHEN a.i = 1 AND b.i < 9 THEN 1 ELSE 2 END, 0 FROM n a, n b");
    s.statistics.forget(crate::common::DB);
    let plan = |status: i32| {
        let sql = format!("SELECT SUM(note) FROM orders WHERE status = {status}");
        let batch = keel_parser::parse_batch(&sql, keel_parser::ParseOptions::default()).unwrap();
        let K::Select(select) = &batch.statements[0].kind else { unreachable!() };
        keel_query::compile_select(&s, select).unwrap().explain().join("\n")
    };
    assert!(plan(1).contains("orders_status"), "{}", plan(1));
    assert!(!plan(2).contains("orders_status"), "{}", plan(2));
}
