//! Is everything there that was loaded and refreshed, and nothing else, and do the rows belong together?

use super::load::Tally;
use super::schema::TABLES;
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

/// Compares every table's rows and sum with what they must be.
///
/// # Errors
/// What the server says.
pub fn tally(connection: &mut dyn Connection, expected: &Tally) -> Result<Vec<Violation>, CallError> {
    let count = match connection.dialect() {
        Dialect::TransactSql => "COUNT_BIG(*)",
        Dialect::Postgres => "COUNT(*)",
    };
    let mut broken = Vec::new();
    for (table, sum) in TABLES.iter().zip(&expected.0) {
        let sql = format!("SELECT {count}, CAST(SUM({}) AS bigint) FROM {}", table.summed, table.name);
        let rows = connection.query(&sql)?;
        let wanted = [Cell::Int(sum.rows), Cell::Int(sum.sum)];
        if rows.first().is_none_or(|row| row[..] != wanted) {
            broken.push(format!(
                "{}: rows and {} are {rows:?}, not {} and {}",
                table.name, table.summed, sum.rows, sum.sum
            ));
        }
    }
    Ok(broken)
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
