//! # keel-bench: what it costs, measured beside something else in the same run
//!
//! Drives the workloads of `keel-workload` over real connections: TDS to Evenkeel (or SQL Server), and, built with
//! the `postgres` feature, PostgreSQL started for the occasion in a scratch directory. A figure is a ratio between
//! two systems measured in turn on one machine in one run; absolute numbers are printed beside it.
//!
//! Deliberately absent: any way into the server but the wire.

pub mod crash;
pub mod memory;
pub mod point;
pub mod process;
pub mod recovery;
pub mod steady;
pub mod target;
pub mod tds;
pub mod tpcc;

#[cfg(feature = "postgres")]
pub mod pg;
