//! The crawl's side of an index: documents that come and go.
//!
//! A batch collects the words of many documents and writes each word's postings at once. What a word's last chunk has room for is added to
//! it, so that an index that grows by single rows does not end as a chunk for each: a chunk below [`SMALL`] bytes is written anew
//! with what is added, and none gets much larger than [`LARGE`].

use super::{Chunk, Crawl, Document, FullTextDef, FullTextTrees, chunk_key, damaged, number, stem_key};
use keel_node::{Direction, ReadView, Transaction, TxnError};
use keel_store::row::{self, RowBuilder};
use keel_text::postings::{self, Posting};
use keel_text::terms::Reading;
use std::collections::BTreeMap;
use std::ops::Bound;

/// A chunk with fewer bytes is written anew rather than left as it is.
const SMALL: usize = 512;
/// A chunk that has as many bytes is full.
const LARGE: usize = 4096;

/// Documents that are added together.
pub struct Batch<'d> {
    trees: &'d FullTextTrees,
    /// Columns of the index and how their texts are read.
    readings: Vec<(i32, Reading)>,
    words: BTreeMap<String, Vec<(i32, Vec<Posting>)>>,
}

impl<'d> Batch<'d> {
    /// An empty one. `reading` says how texts in a language are read.
    #[must_use]
    pub fn new(def: &'d FullTextDef, reading: impl Fn(i32) -> Reading) -> Batch<'d> {
        let readings = def.columns.iter().map(|c| (c.column_id, reading(c.language))).collect();
        Batch { trees: &def.trees, readings, words: BTreeMap::new() }
    }

    /// Adds a document: the row of a full-text key, `value` being the key as it is stored, with the texts of its columns. One that the
    /// key had before is gone, if [`forget`] was told.
    pub fn add(
        &mut self,
        txn: &mut Transaction,
        crawl: &mut Crawl,
        (key, value): (&[u8], &[u8]),
        texts: &[(i32, String)],
    ) -> Result<(), TxnError> {
        crawl.last_document += 1;
        let document = crawl.last_document;
        let mut words = 0;
        for (column, text) in texts {
            let Some((_, reading)) = self.readings.iter().find(|(id, _)| id == column) else { continue };
            let all = &mut self.words;
            words += u64::from(
                reading.each(text, |word, position| add_word(all, word, *column, document, position)),
            );
        }
        crawl.documents += 1;
        crawl.words += words;
        let number = document.to_be_bytes();
        txn.put_index(self.trees.documents, &number, &Document { key, value, words }.build())?;
        txn.put_index(self.trees.keys, key, &RowBuilder::build(&[Some(&number)]))
    }

    /// Writes the words of the documents. The view is from before the batch.
    pub fn write(self, txn: &mut Transaction, view: &ReadView) -> Result<(), TxnError> {
        for (word, columns) in &self.words {
            for (column, list) in columns {
                let before = last_chunk(txn, view, self.trees, word, *column)?;
                if before.is_none() {
                    self.note_form(txn, word, *column)?;
                }
                let (first, mut all) = match before {
                    Some((first, chunk)) if chunk.len() < SMALL => {
                        (Some(first), decoded(self.trees, first, &chunk)?)
                    }
                    _ => (None, Vec::new()),
                };
                all.extend_from_slice(list);
                put_chunks(txn, self.trees, (word, *column), first, &all)?;
            }
        }
        Ok(())
    }

    /// A word that is new in a column can be found by its stem.
    fn note_form(&self, txn: &mut Transaction, word: &str, column: i32) -> Result<(), TxnError> {
        let Some((_, reading)) = self.readings.iter().find(|(id, _)| *id == column) else { return Ok(()) };
        let mut key = stem_key(reading.language.lcid, &reading.stem(word));
        key.extend_from_slice(word.as_bytes());
        txn.put_index(self.trees.forms, &key, &RowBuilder::build(&[]))
    }
}

fn add_word(
    words: &mut BTreeMap<String, Vec<(i32, Vec<Posting>)>>,
    word: &str,
    column: i32,
    document: u64,
    position: u32,
) {
    let columns = match words.get_mut(word) {
        Some(columns) => columns,
        None => words.entry(word.to_owned()).or_default(),
    };
    let list = match columns.iter().position(|(id, _)| *id == column) {
        Some(at) => &mut columns[at].1,
        None => {
            columns.push((column, Vec::new()));
            let last = columns.len() - 1;
            &mut columns[last].1
        }
    };
    match list.last_mut().filter(|last| last.document == document) {
        Some(last) => last.positions.push(position),
        None => list.push(Posting { document, positions: vec![position] }),
    }
}

/// First document and bytes of a word's last chunk in a column.
fn last_chunk(
    txn: &Transaction,
    view: &ReadView,
    trees: &FullTextTrees,
    word: &str,
    column: i32,
) -> Result<Option<(u64, Vec<u8>)>, TxnError> {
    let (lower, upper) = (chunk_key(word, column, 0), chunk_key(word, column, u64::MAX));
    let (lower, upper) = (Bound::Included(&lower[..]), Bound::Included(&upper[..]));
    let mut cursor = txn.scan(view, trees.postings, lower, upper, Direction::Reverse)?;
    let Some((key, row)) = cursor.next()? else { return Ok(None) };
    let chunk = Chunk::read(key, &row, trees)?;
    Ok(Some((chunk.first, chunk.bytes.to_vec())))
}

fn decoded(trees: &FullTextTrees, first: u64, chunk: &[u8]) -> Result<Vec<Posting>, TxnError> {
    postings::decode(first, chunk).ok_or_else(|| damaged(trees.postings))
}

/// Writes postings as chunks. `first` is the first document of a chunk that they replace, which has the same first one.
fn put_chunks(
    txn: &mut Transaction,
    trees: &FullTextTrees,
    (word, column): (&str, i32),
    first: Option<u64>,
    list: &[Posting],
) -> Result<(), TxnError> {
    let mut rest = list;
    let mut replaced = first;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(full_at(rest));
        let key = replaced.take().or(chunk.first().map(|p| p.document)).unwrap_or_default();
        let bytes = postings::encode(chunk);
        let row = RowBuilder::build(&[Some(&bytes)]);
        txn.put_index(trees.postings, &chunk_key(word, column, key), &row)?;
        rest = behind;
    }
    Ok(())
}

/// How many postings make a chunk: numbers take two bytes at most, most of the time.
fn full_at(list: &[Posting]) -> usize {
    let mut bytes = 0;
    let fits = |posting: &&Posting| {
        bytes += 3 + 2 * posting.positions.len();
        bytes < LARGE
    };
    list.iter().take_while(fits).count().max(1)
}

/// Takes the document of a full-text key out, if it has one; says whether it had.
pub fn forget(
    txn: &mut Transaction,
    view: &ReadView,
    trees: &FullTextTrees,
    crawl: &mut Crawl,
    key: &[u8],
) -> Result<bool, TxnError> {
    let Some(row) = txn.get(view, trees.keys, key)? else { return Ok(false) };
    let document = row::column(&row, 0).and_then(number).ok_or_else(|| damaged(trees.keys))?.to_be_bytes();
    let stored = txn.get(view, trees.documents, &document)?.ok_or_else(|| damaged(trees.documents))?;
    let words = Document::read(&stored, trees)?.words;
    crawl.documents = crawl.documents.saturating_sub(1);
    crawl.words = crawl.words.saturating_sub(words);
    txn.delete_index(trees.documents, &document)?;
    txn.delete_index(trees.keys, key)?;
    Ok(true)
}

/// How much of an index is compacted in one transaction, about.
#[derive(Clone, Copy)]
pub struct Amount {
    /// Chunks that are read.
    pub chunks: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// A chunk's word, column and first document.
type ChunkPlace = (String, i32, u64);

/// Writes chunks anew, without documents that are gone, and small ones of the same word as one: those behind `from`, until so much was read.
/// Says behind which chunk to go on; `None` at the end.
pub fn compact(
    txn: &mut Transaction,
    view: &ReadView,
    trees: &FullTextTrees,
    from: Option<&ChunkPlace>,
    most: Amount,
) -> Result<Option<ChunkPlace>, TxnError> {
    let (runs, ended) = runs_behind(txn, view, trees, from, most)?;
    for run in &runs {
        compact_run(txn, view, trees, run)?;
    }
    let last = runs.last().filter(|_| !ended);
    Ok(last.and_then(|run| Some((run.word.clone(), run.column, run.chunks.last()?.0))))
}

/// Chunks of a word in a column that stand one behind the other: first documents and bytes.
struct Run {
    word: String,
    column: i32,
    chunks: Vec<(u64, Vec<u8>)>,
}

/// Chunks behind a place, and whether these are all that there are.
fn runs_behind(
    txn: &Transaction,
    view: &ReadView,
    trees: &FullTextTrees,
    from: Option<&ChunkPlace>,
    most: Amount,
) -> Result<(Vec<Run>, bool), TxnError> {
    let lower = from.map(|(word, column, first)| chunk_key(word, *column, *first));
    let lower = lower.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut cursor = txn.scan(view, trees.postings, lower, Bound::Unbounded, Direction::Forward)?;
    let mut runs: Vec<Run> = Vec::new();
    let (mut chunks, mut bytes) = (0, 0);
    while chunks < most.chunks && bytes < most.bytes {
        let Some((key, row)) = cursor.next()? else { return Ok((runs, true)) };
        let chunk = Chunk::read(key, &row, trees)?;
        chunks += 1;
        bytes += chunk.bytes.len();
        let stored = (chunk.first, chunk.bytes.to_vec());
        match runs.last_mut().filter(|run| run.word == chunk.word && run.column == chunk.column) {
            Some(run) => run.chunks.push(stored),
            None => {
                let (word, column) = (chunk.word.to_owned(), chunk.column);
                runs.push(Run { word, column, chunks: vec![stored] });
            }
        }
    }
    Ok((runs, false))
}

fn compact_run(
    txn: &mut Transaction,
    view: &ReadView,
    trees: &FullTextTrees,
    run: &Run,
) -> Result<(), TxnError> {
    let mut kept = Vec::new();
    let mut gone = false;
    for (first, bytes) in &run.chunks {
        for posting in decoded(trees, *first, bytes)? {
            match txn.get(view, trees.documents, &posting.document.to_be_bytes())? {
                Some(_) => kept.push(posting),
                None => gone = true,
            }
        }
    }
    if !gone && run.chunks.iter().filter(|(_, bytes)| bytes.len() < SMALL).count() < 2 {
        return Ok(());
    }
    for (first, _) in &run.chunks {
        txn.delete_index(trees.postings, &chunk_key(&run.word, run.column, *first))?;
    }
    put_chunks(txn, trees, (&run.word, run.column), None, &kept)
}
