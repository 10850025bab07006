//! # keel-testkit: readable tests
//!
//! The default test of Evenkeel is a **golden script**: commands in, transcript out, both text files side by side. A
//! reviewer reads behaviour, not assertions. This crate owns the runner.
//!
//! ```text
//!   tests/sql/dml/insert.sql ──script──► steps ──runner──► sessions ──sql──► keel-sql
//!   tests/sql/dml/insert.out ◄─golden── transcript ◄────────┘
//! ```
//!
//! * [`golden`] finds the scripts of a folder, compares or (with `UPDATE_GOLDEN=1`) rewrites their transcripts.
//! * [`script`] cuts a script into steps: batches at GO lines, sessions at `-- session a:` lines.
//! * [`runner`] drives the sessions, each on its own thread, so that a step may wait for another session's lock.
//! * [`transcript`] writes what a session answered: tables, row counts, messages.
//!
//! The transcript is a function of the script: no times, no addresses, no thread order. A step that is expected to
//! wait says so, and the runner looks into the lock manager rather than at a clock.
//!
//! * [`sql`] is the other end: sessions of an engine on a simulated disk.
//!
//! Deliberately absent: assertions about SQL. What is right is what the reviewed transcript says.

pub mod golden;
pub mod objects;
pub mod runner;
pub mod script;
pub mod sql;
pub mod transcript;
