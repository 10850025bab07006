//! Long lists of joins are planned in steps that grow with their number, and planning ends when the statement is cancelled.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use keel_parser::ast::StatementKind as K;
use keel_query::errors::Result;
use std::fmt::Write;

/// How tables are joined.
#[derive(Clone, Copy)]
enum Shape {
    /// Each to the one before.
    Chain,
    /// Each to the first.
    Star,
    /// As a chain, named one after the other, with the conditions in WHERE.
    Commas,
    /// Each to the one before, keeping its rows.
    Outer,
}

fn joined(shape: Shape, tables: usize) -> String {
    let mut sql = "SELECT count(*) FROM t a0".to_owned();
    for i in 1..tables {
        let to = if matches!(shape, Shape::Star) { 0 } else { i - 1 };
        match shape {
            Shape::Chain | Shape::Star => write!(sql, " JOIN t a{i} ON a{i}.id = a{to}.id"),
            Shape::Outer => write!(sql, " LEFT JOIN t a{i} ON a{i}.id = a{to}.id"),
            Shape::Commas => write!(sql, ", t a{i}"),
        }
        .unwrap();
    }
    if matches!(shape, Shape::Commas) {
        let conditions: Vec<String> = (1..tables).map(|i| format!("a{i}.id = a{}.id", i - 1)).collect();
        write!(sql, " WHERE {}", conditions.join(" AND ")).unwrap();
    }
    sql
}

fn compiled(s: &Session, sql: &str) -> Result<keel_query::Plan> {
    let batch = keel_parser::parse_batch(sql, keel_parser::ParseOptions::default()).unwrap();
    let K::Select(select) = &batch.statements[0].kind else { unreachable!() };
    s.steps.set(0);
    keel_query::compile_select(s, select)
}

fn steps(s: &Session, shape: Shape, tables: usize) -> u64 {
    compiled(s, &joined(shape, tables)).unwrap();
    s.steps.get()
}

/// Runs a test on a stack as a session has by default.
fn on_session_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(16 << 20).spawn(test).unwrap().join().unwrap();
}

fn session() -> Session {
    let s = Session::new();
    s.ok("CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int, b varchar(10))");
    s.ok("INSERT t VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')");
    s
}

#[test]
fn five_hundred_joins_take_steps_in_proportion() {
    on_session_stack(proportion);
}

fn proportion() {
    let s = session();
    for shape in [Shape::Chain, Shape::Star, Shape::Commas, Shape::Outer] {
        let (few, many) = (steps(&s, shape, 128), steps(&s, shape, 512));
        assert!(many < 5 * few, "128 joins: {few} steps, 512 joins: {many}");
    }
    let rows = s.ok(&joined(Shape::Chain, 512));
    assert!(rows.contains("\n3\n"), "{rows}");
}

#[test]
fn planning_ends_when_the_statement_is_cancelled() {
    let s = session();
    let sql = joined(Shape::Star, 64);
    let all = steps(&s, Shape::Star, 64);
    for at in [1, 40, all / 2, all] {
        s.cancelled_at.set(at);
        let error = compiled(&s, &sql).err().unwrap();
        assert_eq!((error.number, s.steps.get()), (3617, at));
    }
    s.cancelled_at.set(u64::MAX);
    assert!(compiled(&s, &sql).is_ok());
}
