//! # keel-workload: what is run against a server, to measure it and to catch it lying
//!
//! A workload has four phases, each a plain function over a [`Connection`]: *setup* (schema and rows), *run*
//! (transactions until told to stop), *check* (invariants that any lost, doubled or torn transaction breaks) and
//! *metrics*. The same code runs against Evenkeel over TDS, against another server, and in a simulation, because a
//! workload knows only the [`Connection`] trait. Every workload is seeded: the same seed asks for the same things in
//! the same order on one connection.
//!
//! [`history`] is for runs that are not measured but judged: what clients saw while machines failed, and whether a database at
//! that isolation level could have shown it to them.
//!
//! Deliberately absent: sockets, drivers, reports (they are `keel-bench`'s), and threads (the caller brings them).

pub mod hist;
pub mod history;
pub mod point;
pub mod tpcc;
pub mod tproch;

use thiserror::Error;

/// One cell of a parameter list, a bulk-loaded row, or a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL
    Null,
    /// Any integer type.
    Int(i64),
    /// A decimal with two or four digits after the point, as `(unscaled, scale)`.
    Decimal(i64, u8),
    /// A character string.
    Text(String),
    /// A day, in days since 1970-01-01.
    Date(i32),
    /// A point in time, in seconds since 1970-01-01 UTC.
    Timestamp(i64),
}

/// What went wrong with a call, sorted by what the caller does next.
#[derive(Debug, Error)]
pub enum CallError {
    /// Deadlock victim, serialization failure: run the transaction again.
    #[error("retry: {0}")]
    Retry(String),
    /// The transaction was refused and rolled back; not an infrastructure fault.
    #[error("refused: {0}")]
    Refused(String),
    /// The connection is gone; whether the transaction committed is unknown.
    #[error("connection lost: {0}")]
    Lost(String),
}

/// One session on the server under test.
pub trait Connection {
    /// Runs a script that returns nothing.
    ///
    /// # Errors
    /// See [`CallError`].
    fn execute(&mut self, sql: &str) -> Result<(), CallError>;
    /// Runs one query and returns its rows.
    ///
    /// # Errors
    /// See [`CallError`].
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, CallError>;
    /// Calls a stored procedure; returns its first row, if any.
    ///
    /// # Errors
    /// See [`CallError`].
    fn call(&mut self, procedure: &str, arguments: &[Cell]) -> Result<Option<Vec<Cell>>, CallError>;
    /// Prepares a query whose parameters, `@p1 int` or `$1`, are integers. Gives its handle.
    ///
    /// # Errors
    /// See [`CallError`].
    fn prepare(&mut self, sql: &str, parameters: usize) -> Result<u64, CallError>;
    /// Runs a prepared query; returns its first row, if any.
    ///
    /// # Errors
    /// See [`CallError`].
    fn run(&mut self, handle: u64, arguments: &[i64]) -> Result<Option<Vec<Cell>>, CallError>;
    /// Loads rows into a table by the fastest means the server has. Returns the number of rows.
    ///
    /// # Errors
    /// See [`CallError`].
    fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Cell>>,
    ) -> Result<u64, CallError>;
    /// The dialect to talk.
    fn dialect(&self) -> Dialect;
}

/// Which SQL the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// T-SQL: Evenkeel, SQL Server.
    TransactSql,
    /// PL/pgSQL: PostgreSQL.
    Postgres,
}
