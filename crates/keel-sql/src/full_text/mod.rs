//! # Full-text search: the crawl
//!
//! ```text
//!   statement ─► pending rows ─┐
//!   ALTER … START, REBUILD ────┼─► crawl: some hundred rows a transaction ─► documents and postings (keel_query::full_text)
//!   REORGANIZE ────────────────┘     ▲
//!                         bell, every second, sp_keel_fulltext_wait
//! ```
//!
//! The crawl follows the commits. It works in transactions of its own, each some hundred rows at most, and keeps how far it is in the index
//! itself: whoever takes over, after a crash or on the next primary, goes on from there. It runs where the database is written; secondaries
//! have the index by the log.
//!
//! | file | owns |
//! | --- | --- |
//! | `crawl` | what is to be done next, and a step of it |
//! | `source` | a table as the crawl reads it: rows, keys, texts |
//! | `status` | what properties and views say of it |
//! | `procedures.sql` | the old procedures, in T-SQL |
//!
//! Invariants: a row that was changed stays pending until a transaction that read it as it is then has committed its words; only one crawl
//! writes to a database's indexes at a time.
//!
//! Deliberately absent: words and conditions (`keel_text`), and statements ([`crate::ddl`]).

mod crawl;
mod source;
mod status;

pub use crawl::crawl_all;
pub(crate) use crawl::{Pending, sp_keel_fulltext_wait};
pub(crate) use status::{CatalogStatus, IndexStatus, ParsedWord, count_pending, parse_rows, read_keywords};

use parking_lot::Mutex;

/// Texts of procedures of the system.
pub(crate) const PROCEDURES: &str = include_str!("procedures.sql");

/// What a database's crawl needs in memory.
#[derive(Default)]
pub(crate) struct State {
    /// Held while a step is made, to the end of its transaction.
    crawling: Mutex<()>,
}
