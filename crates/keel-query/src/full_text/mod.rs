//! Full-text indexes: where the words of a table's rows are kept, and how they are found.
//!
//! ```text
//!   statement ──► tree of pending rows    transaction ++ change → key                    (whose row has to be looked at again)
//!   crawl     ──► tree of documents       number → key, its value, count of words        (0 → how far the crawl is: Crawl)
//!             ├─► tree of keys            key → number
//!             ├─► tree of postings        word ++ 0 ++ column ++ first number → chunk of postings (keel_text::postings)
//!             └─► tree of forms           language ++ stem ++ 0 ++ word → nothing
//!   CONTAINS  ◄── all but the first, in the statement's snapshot
//! ```
//!
//! The index follows its table behind the commits, as the product's does. A statement writes down the full-text keys of the rows that it
//! touches; the *crawl* (`keel_sql::full_text`) reads what the rows are then, and gives each a new number: a document is never changed. The
//! postings of a document that is gone stay until its chunk is written anew; whoever finds its number looks it up among the documents
//! anyway, and does not find it there.
//!
//! All of it are ordinary trees of the database: recovery, copies, backups and failovers know nothing of them. Only one crawl
//! writes to the trees of an index, but for that of pending rows, to which everybody only adds; so nobody waits for another.
//!
//! | file | owns |
//! | --- | --- |
//! | `write` | the crawl's side: documents that come and go |
//! | `read` | postings for `keel_text::search`, words for the views |
//! | `rows` | the table behind CONTAINSTABLE, FREETEXTTABLE and the predicates |
//!
//! Deliberately absent: when a crawl runs, what a value's text is, who may search.

mod read;
mod rows;
mod write;

pub use read::{Keyword, KeywordIn, Reader, keywords, size};
pub use rows::{FullTextTable, Searched, condition_error};
pub use write::{Amount, Batch, compact, forget};

use crate::catalog::{IndexDef, TableDef};
use keel_base::TreeId;
use keel_node::{ReadView, Transaction, TxnError};
use keel_store::row::{self, RowBuilder};
use keel_text::language::{self, Language};
use keel_text::postings::{self, Posting};
use keel_text::terms::Reading;
use keel_text::words::Accents;
use serde::{Deserialize, Serialize};

/// `stoplist_id` of the system's stop list.
pub const SYSTEM_STOPLIST: i32 = 0;
/// Length of a document's number in keys.
const NUMBER_LEN: usize = 8;
/// Length of what follows a word in a posting's key: 0, a column, a number.
const BEHIND_WORD: usize = 1 + 4 + NUMBER_LEN;
/// The key in the tree of documents under which the state of the crawl stands.
const CRAWL: [u8; NUMBER_LEN] = [0; NUMBER_LEN];

/// A full-text catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullTextCatalogDef {
    /// `fulltext_catalog_id`.
    pub catalog_id: i32,
    /// Name.
    pub name: String,
    /// ACCENT_SENSITIVITY: of indexes that are built from now on.
    pub accents: bool,
    /// AS DEFAULT.
    pub is_default: bool,
    /// `principal_id`.
    pub owner: i32,
}

/// A stop list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoplistDef {
    /// `stoplist_id`, from 5 on as in the product.
    pub stoplist_id: i32,
    /// Name.
    pub name: String,
    /// LCIDs and words, in order.
    pub words: Vec<(i32, String)>,
    /// `principal_id`.
    pub owner: i32,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
}

/// CHANGE_TRACKING of a full-text index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tracking {
    /// Changed rows are indexed soon.
    Auto,
    /// Changed rows are remembered, and indexed when somebody asks for it.
    Manual,
    /// Nothing is remembered.
    Off,
}

/// A column of a full-text index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullTextColumn {
    /// `column_id`.
    pub column_id: i32,
    /// TYPE COLUMN.
    pub type_column: Option<i32>,
    /// LCID.
    pub language: i32,
}

/// The trees of a full-text index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullTextTrees {
    /// Documents by number.
    pub documents: TreeId,
    /// Numbers by key.
    pub keys: TreeId,
    /// Chunks of postings by word.
    pub postings: TreeId,
    /// Words by stem.
    pub forms: TreeId,
    /// Keys of rows that were changed since they were indexed.
    pub pending: TreeId,
}

impl FullTextTrees {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> [TreeId; 5] {
        [self.documents, self.keys, self.postings, self.forms, self.pending]
    }
}

/// A full-text index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullTextDef {
    /// `fulltext_catalog_id`.
    pub catalog_id: i32,
    /// `index_id` of the key index.
    pub key_index: i32,
    /// Its columns.
    pub columns: Vec<FullTextColumn>,
    /// `stoplist_id`; `None` for OFF.
    pub stoplist: Option<i32>,
    /// CHANGE_TRACKING.
    pub tracking: Tracking,
    /// ENABLE.
    pub enabled: bool,
    /// Whether accents tell its words apart.
    pub accents: bool,
    /// Where it is kept.
    pub trees: FullTextTrees,
}

impl FullTextDef {
    /// The index whose key tells its rows apart.
    #[must_use]
    pub fn key_index<'t>(&self, table: &'t TableDef) -> Option<&'t IndexDef> {
        table.indexes.iter().find(|index| index.index_id == self.key_index)
    }

    /// Position of the key's column.
    #[must_use]
    pub fn key_column(&self, table: &TableDef) -> Option<usize> {
        let key = self.key_index(table)?.key.first()?;
        table.column_index(key.column_id)
    }

    /// One of its columns.
    #[must_use]
    pub fn column(&self, column_id: i32) -> Option<&FullTextColumn> {
        self.columns.iter().find(|column| column.column_id == column_id)
    }

    /// Whether a change of a column makes a row another document.
    #[must_use]
    pub fn reads(&self, column_id: i32) -> bool {
        self.columns.iter().any(|c| c.column_id == column_id || c.type_column == Some(column_id))
    }

    /// How texts in a language are read. `stoplist` is what [`FullTextDef::stoplist`] stands for, when it is not the system's.
    #[must_use]
    pub fn reading(&self, lcid: i32, stoplist: Option<&StoplistDef>) -> Reading {
        let accents = if self.accents { Accents::Kept } else { Accents::Removed };
        let language = language_of(lcid);
        match self.stoplist {
            None => Reading::new(language, accents, []),
            Some(SYSTEM_STOPLIST) => {
                let words = language.stop_words();
                Reading::new(language, accents, words.iter().map(String::as_str))
            }
            Some(_) => {
                let words = stoplist.map(|s| s.words.as_slice()).unwrap_or_default();
                let own = words.iter().filter(|(of, _)| *of == lcid).map(|(_, word)| word.as_str());
                Reading::new(language, accents, own)
            }
        }
    }
}

/// A language by its LCID; one that is not known is no language.
#[must_use]
pub fn language_of(lcid: i32) -> &'static Language {
    language::by_lcid(lcid)
        .or_else(|| language::LANGUAGES.first())
        .unwrap_or_else(|| unreachable!("there are languages"))
}

/// What a population reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PopulationKind {
    /// All rows, into an empty index.
    Full,
    /// Rows whose rowversion is higher than when the last population began; then it looks which are gone.
    Incremental,
    /// Rows that were changed.
    Update,
}

/// A population that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PopulationState {
    /// What it reads.
    pub kind: PopulationKind,
    /// The key of the last row that it has read, in the clustered index or heap; in the second half of an incremental one, in the
    /// tree of keys.
    pub from: Option<Vec<u8>>,
    /// The clustered index or heap that it reads; `None` before it has begun.
    #[serde(default)]
    pub tree: Option<TreeId>,
    /// The key of its last row when it began to be read: rows behind that have come since, as others that are changed have. `None` for all.
    #[serde(default)]
    pub to: Option<Vec<u8>>,
    /// The second half of an incremental one.
    pub looking_for_gone: bool,
    /// PAUSE.
    pub paused: bool,
    /// When it began, local ticks.
    pub started: i64,
    /// Rowversions are higher than this of rows that came since.
    pub row_version: u64,
    /// Documents it has indexed.
    pub processed: u64,
}

/// How far a REORGANIZE is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reorganizing {
    /// The last chunk that it has read: its word, column and first document.
    pub behind: Option<(String, i32, u64)>,
}

/// How far the crawl of an index is. Written by who crawls and by who changes the index, under the table's lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Crawl {
    /// The last number given to a document.
    pub last_document: u64,
    /// Documents that are in the index.
    pub documents: u64,
    /// Words of all of them.
    pub words: u64,
    /// Values that could not be read as documents, since the index was built.
    pub failed: u64,
    /// What is under way.
    pub population: Option<PopulationState>,
    /// REORGANIZE.
    pub reorganizing: Option<Reorganizing>,
    /// Of the last population that has ended.
    pub last_kind: Option<PopulationKind>,
    /// When it began, local ticks; 0 before the first.
    pub last_started: i64,
    /// When it ended, local ticks.
    pub last_ended: i64,
    /// Where its rowversions began.
    pub last_row_version: u64,
}

impl Crawl {
    /// As it stands in a view.
    pub fn read(txn: &Transaction, view: &ReadView, trees: &FullTextTrees) -> Result<Crawl, TxnError> {
        let Some(row) = txn.get(view, trees.documents, &CRAWL)? else { return Ok(Crawl::default()) };
        let stored = row::column(&row, 0).and_then(|json| serde_json::from_slice(json).ok());
        stored.ok_or_else(|| damaged(trees.documents))
    }

    /// Puts it into the index.
    pub fn write(&self, txn: &mut Transaction, trees: &FullTextTrees) -> Result<(), TxnError> {
        let json = serde_json::to_vec(self).map_err(|_| damaged(trees.documents))?;
        txn.put_index(trees.documents, &CRAWL, &RowBuilder::build(&[Some(&json)]))
    }

    /// The average number of words of a document.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "an average")]
    pub fn average(&self) -> f64 {
        self.words as f64 / self.documents.max(1) as f64
    }
}

/// A document as it is stored.
struct Document<'r> {
    key: &'r [u8],
    value: &'r [u8],
    words: u64,
}

impl<'r> Document<'r> {
    fn read(row: &'r [u8], trees: &FullTextTrees) -> Result<Document<'r>, TxnError> {
        let parts = (row::column(row, 0), row::column(row, 1), row::column(row, 2).and_then(number));
        let (Some(key), Some(value), Some(words)) = parts else { return Err(damaged(trees.documents)) };
        Ok(Document { key, value, words })
    }

    fn build(&self) -> Vec<u8> {
        RowBuilder::build(&[Some(self.key), Some(self.value), Some(&self.words.to_be_bytes())])
    }
}

/// What stands in a tree is nothing that anybody has written there (824).
#[must_use]
pub fn damaged(tree: TreeId) -> TxnError {
    TxnError::Corrupt(format!("tree {} of a full-text index holds what is no part of one", tree.0).into())
}

/// A number that was stored alone.
fn number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}

/// The key of a chunk of postings.
fn chunk_key(word: &str, column: i32, first: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(word.len() + BEHIND_WORD);
    key.extend_from_slice(word.as_bytes());
    key.push(0);
    key.extend_from_slice(&column.to_be_bytes());
    key.extend_from_slice(&first.to_be_bytes());
    key
}

/// A chunk of postings as it is stored.
struct Chunk<'c> {
    word: &'c str,
    column: i32,
    /// First document.
    first: u64,
    bytes: &'c [u8],
}

impl<'c> Chunk<'c> {
    fn read(key: &'c [u8], row: &'c [u8], trees: &FullTextTrees) -> Result<Chunk<'c>, TxnError> {
        let parts = || {
            let (word, behind) = key.split_at_checked(key.len().checked_sub(BEHIND_WORD)?)?;
            let column = i32::from_be_bytes(behind.get(1..5)?.try_into().ok()?);
            let (word, first) = (std::str::from_utf8(word).ok()?, number(behind.get(5..)?)?);
            Some(Chunk { word, column, first, bytes: row::column(row, 0)? })
        };
        parts().ok_or_else(|| damaged(trees.postings))
    }

    fn postings(&self, trees: &FullTextTrees) -> Result<Vec<Posting>, TxnError> {
        postings::decode(self.first, self.bytes).ok_or_else(|| damaged(trees.postings))
    }
}

/// The beginning of the keys of all words with a stem.
fn stem_key(lcid: i32, stem: &str) -> Vec<u8> {
    [&lcid.to_be_bytes(), stem.as_bytes(), &[0]].concat()
}

/// The key of a row that has to be looked at again. `stamp` are its transaction's number and the change's.
fn pending_key(stamp: (u64, u64)) -> [u8; 2 * NUMBER_LEN] {
    let mut key = [0; 2 * NUMBER_LEN];
    key[..NUMBER_LEN].copy_from_slice(&stamp.0.to_be_bytes());
    key[NUMBER_LEN..].copy_from_slice(&stamp.1.to_be_bytes());
    key
}

/// Writes down that the row of a full-text key has come, changed or gone.
pub(crate) fn note_pending(
    txn: &mut Transaction,
    pending: TreeId,
    stamp: (u64, u64),
    key: &[u8],
) -> Result<(), TxnError> {
    txn.put_index(pending, &pending_key(stamp), &RowBuilder::build(&[Some(key)]))
}
