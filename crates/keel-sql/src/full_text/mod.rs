//! # Full-text search: the crawl
//!
//! ```text
//!   statement ─► pending rows ─┐
//!   ALTER … START, REBUILD ────┼─► crawl: some thousand rows a step ─► documents and postings (keel_query::full_text)
//!   REORGANIZE ────────────────┘     ▲
//!                         bell, every second, sp_keel_fulltext_wait
//! ```
//!
//! The crawl follows the commits. It works in transactions of its own, each some thousand rows or some megabytes at most, and keeps how far it
//! is in the index itself: whoever takes over, after a crash or on the next primary, goes on from there. It runs where the database is
//! written; secondaries have the index by the log.
//!
//! | file | owns |
//! | --- | --- |
//! | `rounds` | whose turn it is, and who waits for what |
//! | `crawl` | what is to be done next in an index, and a step of it |
//! | `source` | a table as the crawl reads it: rows, keys, texts |
//! | `status` | what properties and views say of it |
//! | `procedures.sql` | the old procedures, in T-SQL |
//!
//! Invariants: a row that was changed stays pending until a transaction that read it as it is then has committed its words; only one crawl
//! writes to a database's indexes at a time; an index's next step sees all that its last one has written.
//!
//! Deliberately absent: words and conditions (`keel_text`), and statements ([`crate::ddl`]).

mod crawl;
mod rounds;
mod source;
mod status;

pub use rounds::crawl_all;
pub(crate) use rounds::sp_keel_fulltext_wait;
pub(crate) use status::{CatalogStatus, IndexStatus, ParsedWord, count_pending, parse_rows, read_keywords};

use keel_node::Commit;
use keel_query::catalog::ObjectId;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Commits of last steps that were not through when they were made, by table.
type LastCommits = BTreeMap<ObjectId, Commit>;

/// Texts of procedures of the system.
pub(crate) const PROCEDURES: &str = include_str!("procedures.sql");

/// What a database's crawl needs in memory.
#[derive(Default)]
pub(crate) struct State {
    /// Held while a step is made, to the end of its transaction. An index's next step begins when its last one's commit is decided.
    last: Mutex<LastCommits>,
}

impl State {
    /// Whether some step that was not through is.
    fn goes_on(&self) -> bool {
        self.last.try_lock().is_some_and(|last| last.values().any(Commit::is_decided))
    }
}
