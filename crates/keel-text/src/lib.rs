//! Full-text search without a database: words of texts, search conditions, posting lists, and which documents a condition finds.
//!
//! ```text
//!   document ──► text ──► words with positions ──► postings (word, column → documents, positions) in chunks
//!   condition ──► tree ──► words, prefixes and forms to look up ──► matching documents, each with a rank
//! ```
//!
//! * [`language`]: the languages with their LCIDs, stemmers and stop words;
//! * [`words`]: a text's words, by Unicode's rules, folded as they are compared;
//! * [`document`]: the text of a stored document (`.txt`, `.html`, `.xml` and their like);
//! * [`condition`]: the grammar of CONTAINS and FREETEXT, text to tree;
//! * [`terms`]: a condition's words in a language: what is a stop word, what is looked up;
//! * [`postings`]: where a word occurs, and its stored form;
//! * [`search`]: which documents a condition finds, over anything that hands out postings.
//!
//! Evaluation is a function of a condition and posting lists. The lists come through [`search::Index`], so that the same code runs over
//! the trees of a database and over a map in a test.
//!
//! Deliberately absent: transactions, trees, who may search what, and when a changed row is indexed.

pub mod condition;
pub mod document;
pub mod language;
pub mod postings;
pub mod search;
pub mod terms;
pub mod words;
