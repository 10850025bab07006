//! A statement that is cancelled while its rows go out ends soon, whoever makes them.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use crate::common::varied::filled;
use keel_query::errors::Result;
use keel_query::{RowSink, Workers};
use keel_types::Value;
use std::time::Duration;

/// A client that cancels at its first row, and is so slow that rows always wait for it.
struct Client<'a> {
    session: &'a Session,
    rows: u32,
}

impl RowSink for Client<'_> {
    fn row(&mut self, _: &[Value]) -> Result<()> {
        if self.rows == 0 {
            self.session.looks_left.set(3);
        }
        self.rows += 1;
        if self.rows.is_multiple_of(128) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Two tables, of 2,000 rows and of 1,000.
fn session() -> Session {
    filled(&(0..3000).map(|i| (Some(i as u8), (i * 7) as u8, i % 101)).collect::<Vec<_>>())
}

fn cancelled(s: &Session, query: &str) {
    let batch = keel_parser::parse_batch(query, keel_parser::ParseOptions::default()).unwrap();
    let keel_parser::ast::StatementKind::Select(select) = &batch.statements[0].kind else { unreachable!() };
    let plan = keel_query::compile_select(s, select).unwrap();
    let mut client = Client { session: s, rows: 0 };
    assert_eq!(s.run_plan(&plan, &mut client).unwrap_err().number, 3617);
    assert!(client.rows < 10_000, "{} rows", client.rows);
}

#[test]
fn rows_that_helpers_make() {
    let s = session();
    let clock = keel_base::env::sim::env(&keel_base::env::sim::SimDisk::new(), 1).clock;
    *s.helpers.borrow_mut() = Some((Workers::new(3, 16 << 20, clock), 4));
    let hint = "OPTION (USE HINT ('ENABLE_PARALLEL_PLAN_PREFERENCE'))";
    cancelled(&s, &format!("SELECT a.id, b.id FROM a JOIN b ON a.k = b.k {hint}"));
}

#[test]
fn rows_that_are_sorted() {
    cancelled(&session(), "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k ORDER BY a.n, b.n");
}
