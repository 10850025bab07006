//! What an index holds, as a view shows it: postings for a search, words for those who look into it.

use super::{Chunk, Document, FullTextTrees, chunk_key, damaged, stem_key};
use crate::context::SessionInfo;
use crate::errors::{Error, Result};
use crate::exec::error::txn_error;
use keel_base::TreeId;
use keel_node::{Direction, ReadView, Transaction, TxnError};
use keel_text::postings::{self, Posting};
use keel_text::search::Index;
use keel_text::terms::{How, Reading, Slot};
use keel_types::key;
use std::collections::BTreeMap;
use std::ops::Bound;

/// An index in a view.
pub struct Reader<'t> {
    txn: &'t Transaction,
    view: &'t ReadView,
    trees: &'t FullTextTrees,
    documents: u64,
    session: &'t dyn SessionInfo,
}

impl<'t> Reader<'t> {
    /// `documents` is how many there are.
    pub fn new(
        txn: &'t Transaction,
        view: &'t ReadView,
        trees: &'t FullTextTrees,
        documents: u64,
        session: &'t dyn SessionInfo,
    ) -> Reader<'t> {
        Reader { txn, view, trees, documents, session }
    }

    /// Key, stored value of the key and number of words of a document; `None` when it is gone.
    pub fn document<T>(&self, document: u64, read: impl FnOnce(&[u8], &[u8], u64) -> T) -> Result<Option<T>> {
        let row = self.txn.get(self.view, self.trees.documents, &document.to_be_bytes());
        let Some(row) = row.map_err(|e| self.failed(&e))? else { return Ok(None) };
        let d = Document::read(&row, self.trees).map_err(|e| self.failed(&e))?;
        Ok(Some(read(d.key, d.value, d.words)))
    }

    fn failed(&self, e: &TxnError) -> Error {
        txn_error(e, self.session.session_id())
    }

    /// Everything of a tree between two keys; it is asked at the beginning and now and then whether to go on.
    fn each(
        &self,
        tree: TreeId,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        mut take: impl FnMut(&[u8], &[u8]) -> std::result::Result<(), TxnError>,
    ) -> Result<()> {
        let cursor = self.txn.scan(self.view, tree, lower, upper, Direction::Forward);
        let mut cursor = cursor.map_err(|e| self.failed(&e))?;
        let mut count = 0_u32;
        loop {
            if count.is_multiple_of(256) {
                self.session.look_up()?;
            }
            count = count.wrapping_add(1);
            let Some((key, row)) = cursor.next().map_err(|e| self.failed(&e))? else { return Ok(()) };
            take(key, &row).map_err(|e| self.failed(&e))?;
        }
    }

    fn word(&self, word: &str, column: i32) -> Result<Vec<Posting>> {
        let (lower, upper) = (chunk_key(word, column, 0), chunk_key(word, column, u64::MAX));
        let mut list = Vec::new();
        self.each(self.trees.postings, (Bound::Included(&lower), Bound::Included(&upper)), |key, row| {
            list.extend(Chunk::read(key, row, self.trees)?.postings(self.trees)?);
            Ok(())
        })?;
        Ok(list)
    }

    fn prefix(&self, prefix: &str, column: i32) -> Result<Vec<Posting>> {
        let lower = prefix.as_bytes().to_vec();
        let upper = key::successor(&lower);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut lists: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
        self.each(self.trees.postings, (Bound::Included(&lower), upper), |key, row| {
            let chunk = Chunk::read(key, row, self.trees)?;
            if chunk.column == column {
                let list = lists.entry(chunk.word.to_owned()).or_default();
                list.extend(chunk.postings(self.trees)?);
            }
            Ok(())
        })?;
        Ok(postings::union(lists.into_values().collect()))
    }

    /// Tells a word with those of its documents that are there.
    fn keyword(
        &self,
        (word, column_id, list): (String, i32, Vec<Posting>),
        take: &mut impl FnMut(Keyword),
    ) -> Result<()> {
        self.session.look_up()?;
        let mut documents = Vec::new();
        for Posting { document, positions } in list {
            let value = self.document(document, |_, value, _| value.to_vec())?;
            let occurrences = positions.len();
            documents.extend(value.map(|value| KeywordIn { document, value, occurrences }));
        }
        if !documents.is_empty() {
            take(Keyword { word, column_id, documents });
        }
        Ok(())
    }

    /// Words of the index that have the same stem.
    fn forms(&self, word: &str, reading: &Reading) -> Result<Vec<String>> {
        let lower = stem_key(reading.language.lcid, &reading.stem(word));
        let upper = key::successor(&lower);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut words = Vec::new();
        self.each(self.trees.forms, (Bound::Included(&lower), upper), |key, _| {
            let word = key.get(lower.len()..).and_then(|word| std::str::from_utf8(word).ok());
            words.push(word.ok_or_else(|| damaged(self.trees.forms))?.to_owned());
            Ok(())
        })?;
        if words.iter().all(|own| own != word) {
            words.push(word.to_owned());
        }
        Ok(words)
    }
}

impl Index for Reader<'_> {
    type Error = Error;

    fn postings(&mut self, column: i32, slot: &Slot, reading: &Reading) -> Result<Vec<Posting>> {
        match slot.how {
            How::Exact => self.word(&slot.word, column),
            How::Prefix => self.prefix(&slot.word, column),
            How::Inflected => {
                let words = self.forms(&slot.word, reading)?;
                let lists: Result<Vec<_>> = words.iter().map(|word| self.word(word, column)).collect();
                lists.map(postings::union)
            }
        }
    }

    fn documents(&self) -> u64 {
        self.documents
    }

    fn look_up(&mut self) -> Result<()> {
        self.session.look_up()
    }
}

/// A word in a column, with the documents that have it and how often each does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// The word.
    pub word: String,
    /// `column_id`.
    pub column_id: i32,
    /// Its documents.
    pub documents: Vec<KeywordIn>,
}

/// A document that has a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeywordIn {
    /// The document's number.
    pub document: u64,
    /// The key as it is stored.
    pub value: Vec<u8>,
    /// How often the word is in it.
    pub occurrences: usize,
}

/// All words of an index in their order, column by column.
pub fn keywords(reader: &Reader<'_>, mut take: impl FnMut(Keyword)) -> Result<()> {
    let all = Bound::Unbounded;
    let cursor = reader.txn.scan(reader.view, reader.trees.postings, all, all, Direction::Forward);
    let mut cursor = cursor.map_err(|e| reader.failed(&e))?;
    let mut current: Option<(String, i32, Vec<Posting>)> = None;
    while let Some((key, row)) = cursor.next().map_err(|e| reader.failed(&e))? {
        let chunk = Chunk::read(key, &row, reader.trees).map_err(|e| reader.failed(&e))?;
        let list = chunk.postings(reader.trees).map_err(|e| reader.failed(&e))?;
        match &mut current {
            Some((own, of, lists)) if own == chunk.word && *of == chunk.column => lists.extend(list),
            _ => {
                if let Some(done) = current.replace((chunk.word.to_owned(), chunk.column, list)) {
                    reader.keyword(done, &mut take)?;
                }
            }
        }
    }
    current.map_or(Ok(()), |last| reader.keyword(last, &mut take))
}

/// How many different words an index has, and how many bytes its postings.
pub fn size(
    txn: &Transaction,
    view: &ReadView,
    trees: &FullTextTrees,
) -> std::result::Result<(u64, u64), TxnError> {
    let all = Bound::Unbounded;
    let mut cursor = txn.scan(view, trees.postings, all, all, Direction::Forward)?;
    let (mut words, mut bytes, mut last) = (0, 0, String::new());
    while let Some((key, row)) = cursor.next()? {
        bytes += (key.len() + row.len()) as u64;
        let chunk = Chunk::read(key, &row, trees)?;
        if chunk.word != last {
            words += 1;
            chunk.word.clone_into(&mut last);
        }
    }
    Ok((words, bytes))
}
