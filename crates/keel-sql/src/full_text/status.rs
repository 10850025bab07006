//! What properties and views say of indexes: how many documents, what is under way, what waits.

use super::crawl::pending;
use crate::engine::DatabaseEntry;
use crate::map::txn_error;
use crate::session::info::Info;
use keel_node::{Direction, Isolation, ReadView, Transaction, TxnError};
use keel_query::SessionInfo;
use keel_query::catalog::TableDef;
use keel_query::full_text::{
    Crawl, FullTextDef, Keyword, PopulationKind, Reader, SYSTEM_STOPLIST, StoplistDef, Tracking,
    condition_error, keywords, language_of,
};
use keel_text::condition::{self, Condition, Forms};
use keel_text::terms::{How, Reading};
use keel_text::words::Accents;
use keel_types::error::Result;
use std::collections::HashSet;
use std::ops::Bound;

/// One index.
pub(crate) struct IndexStatus {
    pub crawl: Crawl,
    /// Rows wait.
    waits: bool,
    tracking: Tracking,
}

/// Reads of an index as it stands.
pub(super) fn read_index<T>(
    entry: &DatabaseEntry,
    read: impl FnOnce(&Transaction, &ReadView) -> std::result::Result<T, TxnError>,
) -> Result<T> {
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    let view = txn.view_as(Isolation::ReadCommitted);
    read(&txn, &view).map_err(|e| txn_error(e, &entry.name(), 0))
}

impl IndexStatus {
    /// Of a full-text index.
    pub fn of(entry: &DatabaseEntry, def: &FullTextDef) -> Result<IndexStatus> {
        read_index(entry, |txn, view| {
            let crawl = Crawl::read(txn, view, &def.trees)?;
            let waits = !pending(txn, view, def, 1)?.is_empty();
            Ok(IndexStatus { crawl, waits, tracking: def.tracking })
        })
    }

    /// `TableFulltextPopulateStatus`: 0 idle, 1 full, 2 incremental, 3 propagation of tracked changes, 5 throttled or paused.
    pub fn table_status(&self) -> i64 {
        match &self.crawl.population {
            Some(p) if p.paused => 5,
            Some(p) => match p.kind {
                PopulationKind::Full => 1,
                PopulationKind::Incremental => 2,
                PopulationKind::Update => 3,
            },
            None if self.follows() => 3,
            None => 0,
        }
    }

    /// Changed rows are about to be indexed.
    pub fn follows(&self) -> bool {
        self.tracking == Tracking::Auto && self.waits
    }
}

/// Changes that wait to be indexed.
pub(crate) fn count_pending(entry: &DatabaseEntry, def: &FullTextDef) -> Result<u64> {
    read_index(entry, |txn, view| {
        let all = Bound::Unbounded;
        let mut cursor = txn.scan(view, def.trees.pending, all, all, Direction::Forward)?;
        let mut count = 0;
        while cursor.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    })
}

/// All indexes of a catalog.
#[derive(Default)]
pub(crate) struct CatalogStatus {
    /// `PopulateStatus`: 0 idle, 1 full, 2 paused, 6 incremental, 9 change tracking.
    pub populating: i64,
    /// `MergeStatus`.
    pub merging: bool,
    /// Documents.
    pub items: u64,
    /// When the last population ended, local ticks; 0 before the first.
    pub ended: i64,
    /// Different words.
    pub words: u64,
    /// Bytes of postings.
    pub bytes: u64,
}

impl CatalogStatus {
    /// Of a catalog's tables. Words and bytes are counted only when they are asked for: all postings are read for them.
    pub fn of(entry: &DatabaseEntry, tables: &[&FullTextDef], counting: bool) -> Result<CatalogStatus> {
        let mut status = CatalogStatus::default();
        for def in tables {
            let index = IndexStatus::of(entry, def)?;
            let populating = match index.table_status() {
                0 => 0,
                1 => 1,
                2 => 6,
                5 => 2,
                _ => 9,
            };
            if status.populating == 0 {
                status.populating = populating;
            }
            status.merging |= index.crawl.reorganizing.is_some();
            status.items += index.crawl.documents;
            status.ended = status.ended.max(index.crawl.last_ended);
            if counting {
                let (words, bytes) =
                    read_index(entry, |txn, view| keel_query::full_text::size(txn, view, &def.trees))?;
                status.words += words;
                status.bytes += bytes;
            }
        }
        Ok(status)
    }
}

/// Every word of a table's index, with its documents.
pub(crate) fn read_keywords(
    info: &Info,
    entry: &DatabaseEntry,
    table: &TableDef,
    take: impl FnMut(Keyword),
) -> Result<()> {
    let Some(def) = &table.full_text else { return Ok(()) };
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    let view = txn.view_as(Isolation::ReadCommitted);
    let session: &dyn SessionInfo = info;
    let reader = Reader::new(&txn, &view, &def.trees, 0, session);
    keywords(&reader, take)
}

/// A row of `sys.dm_fts_parser`.
pub(crate) struct ParsedWord {
    pub group: i64,
    pub phrase: i64,
    pub occurrence: i64,
    /// Exact Match, Noise Word or End Of Phrase.
    pub special: &'static str,
    pub word: String,
    /// 0 a word of the condition, 2 one of its forms.
    pub expansion: i64,
    pub source: String,
}

/// How `sys.dm_fts_parser` breaks a condition. Errors of conditions.
pub(crate) fn parse_rows(
    text: &str,
    lcid: i32,
    stoplist: Option<(i32, Option<&StoplistDef>)>,
    accents: bool,
) -> Result<Vec<ParsedWord>> {
    let condition = condition::parse(text).map_err(|e| condition_error(&e, text))?;
    let language = language_of(lcid);
    let accents = if accents { Accents::Kept } else { Accents::Removed };
    let words: Vec<String> = match stoplist {
        None => Vec::new(),
        Some((SYSTEM_STOPLIST, _)) => language.stop_words(),
        Some((_, list)) => {
            let all = list.map(|l| l.words.as_slice()).unwrap_or_default();
            all.iter().filter(|(of, _)| *of == lcid).map(|(_, word)| word.clone()).collect()
        }
    };
    let reading = Reading::new(language, accents, words.iter().map(String::as_str));
    let mut parsed = Parsed { reading, rows: Vec::new(), group: 0, phrases: 0 };
    parsed.condition(&condition);
    Ok(parsed.rows)
}

struct Parsed {
    reading: Reading,
    rows: Vec<ParsedWord>,
    group: i64,
    phrases: i64,
}

impl Parsed {
    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Term(term) => self.term(&term.text, How::Exact),
            Condition::Forms(kind, terms) => {
                let how = if *kind == Forms::Inflectional { How::Inflected } else { How::Exact };
                terms.iter().for_each(|term| self.term(term, how));
            }
            Condition::Near(near) => near.terms.iter().for_each(|term| self.term(&term.text, How::Exact)),
            Condition::Weighted(parts) => parts.iter().for_each(|(part, _)| self.condition(part)),
            Condition::All { of, but } => of.iter().chain(but).for_each(|part| self.condition(part)),
            Condition::Any(parts) => parts.iter().for_each(|part| self.condition(part)),
        }
    }

    fn term(&mut self, text: &str, how: How) {
        self.group += 1;
        let folded: Vec<String> =
            keel_text::words::words(text, self.reading.accents).map(|w| w.into_owned()).collect();
        let mut seen = HashSet::new();
        for (occurrence, word) in (1..).zip(folded) {
            let special = if self.reading.stops.contains(&word) { "Noise Word" } else { "Exact Match" };
            let stem = self.reading.stem(&word);
            let form = how == How::Inflected && stem != word && seen.insert(stem.clone());
            self.push((occurrence, special, word, 0), text);
            if form {
                self.phrases += 1;
                self.push((occurrence, "Exact Match", stem, 2), text);
            }
        }
    }

    fn push(
        &mut self,
        (occurrence, special, word, expansion): (i64, &'static str, String, i64),
        source: &str,
    ) {
        let (group, phrase, source) = (self.group, self.phrases, source.to_owned());
        self.rows.push(ParsedWord { group, phrase, occurrence, special, word, expansion, source });
    }
}
