//! Is everything there that was loaded and refreshed, and nothing else, and do the rows belong together?

use super::load::{Sum, Tally};
use super::schema::{TABLES, Table};
use crate::tpcc::check::Violation;
use crate::{CallError, Cell, Connection, Dialect};

/// What the rows must hold whatever was refreshed, each as a query that counts offenders.
const CONDITIONS: [(&str, &str); 4] = [
    (
        "an order's total is the sum of its lines",
        "SELECT COUNT(*) FROM orders JOIN (SELECT l_orderkey, SUM(FLOOR(FLOOR(l_extendedprice * 100 * (1 - l_discount)) * (1 + l_tax))) AS \
         total FROM lineitem GROUP BY l_orderkey) l ON l_orderkey = o_orderkey WHERE o_totalprice * 100 <> total",
    ),
    (
        "every order has lines",
        "SELECT COUNT(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)",
    ),
    (
        "every line has its order",
        "SELECT COUNT(*) FROM lineitem WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_orderkey = l_orderkey)",
    ),
    (
        "every line's part comes from a supplier that has it",
        "SELECT COUNT(*) FROM lineitem WHERE NOT EXISTS (SELECT 1 FROM partsupp WHERE ps_partkey = l_partkey AND ps_suppkey = l_suppkey)",
    ),
];

/// What the tables hold.
///
/// # Errors
/// What the server says; tables that are not there.
pub fn found(connection: &mut dyn Connection) -> Result<Tally, CallError> {
    let count = match connection.dialect() {
        Dialect::TransactSql => "COUNT_BIG(*)",
        Dialect::Postgres => "COUNT(*)",
    };
    let mut tally = Tally::default();
    for (i, table) in TABLES.iter().enumerate() {
        let sql = format!("SELECT {count}, CAST(SUM({}) AS bigint) FROM {}", table.summed, table.name);
        let answer = connection.query(&sql)?;
        match answer.first().map(Vec::as_slice) {
            Some([Cell::Int(rows), Cell::Int(sum)]) => tally.add(i, Sum { rows: *rows, sum: *sum }),
            Some([Cell::Int(0), Cell::Null]) => {}
            other => return Err(CallError::Refused(format!("{sql} gave {other:?}"))),
        }
    }
    Ok(tally)
}

/// Compares every table's rows and sum with what they must be.
///
/// # Errors
/// What the server says.
pub fn tally(connection: &mut dyn Connection, expected: &Tally) -> Result<Vec<Violation>, CallError> {
    let there = found(connection)?;
    let broken = TABLES.iter().zip(expected.0.iter().zip(&there.0)).filter(|(_, (wanted, is))| wanted != is);
    let say = |(table, (wanted, is)): (&Table, (&Sum, &Sum))| {
        let Table { name, summed, .. } = table;
        format!(
            "{name}: {} rows, {summed} of all {}; not {} and {}",
            is.rows, is.sum, wanted.rows, wanted.sum
        )
    };
    Ok(broken.map(say).collect())
}

/// Runs the conditions; returns what is broken.
///
/// # Errors
/// What the server says.
pub fn conditions(connection: &mut dyn Connection) -> Result<Vec<Violation>, CallError> {
    let mut broken = Vec::new();
    for (name, sql) in CONDITIONS {
        let rows = connection.query(sql)?;
        if rows != [[Cell::Int(0)]] {
            broken.push(format!("{name}: {rows:?} offenders; query: {sql}"));
        }
    }
    Ok(broken)
}
