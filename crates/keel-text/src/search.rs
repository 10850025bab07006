//! Which documents a condition finds, and how well.
//!
//! A condition is evaluated column by column, and a document is found when one of its columns is: `a AND b` finds documents that have both
//! in one column. What a part finds is a list of documents in their order, each with what it has scored of the part's weight; AND
//! and OR add both, so that the score of the whole is a fraction of its weight, and that fraction the rank.
//!
//! The weight of a phrase is its inverse document frequency, its score grows with the number of occurrences and never reaches the weight
//! (BM25's two factors); the third, that long documents say a word more often, comes with [`rank`], when a document's length is
//! looked up.
//!
//! Stop words are not indexed. A part made of them alone finds nothing, or is passed over when [`Search::transform_noise`] asks for it.

use crate::condition::{Condition, Near};
use crate::postings::{Document, Posting};
use crate::terms::{How, Phrase, Reading, Slot};

/// How soon more occurrences of a word count less.
const SATURATION: f64 = 1.2;
/// How much the length of a document counts.
const LENGTH: f64 = 0.3;
/// Beyond so many words between terms `a NEAR b` finds with rank 0.
const GENERIC_DISTANCE: u32 = 50;
/// The highest rank.
const RANK_MAX: f64 = 1000.0;

/// What hands out postings. Documents that are gone may be among them: whoever asks knows better.
pub trait Index {
    /// Why it cannot.
    type Error;
    /// Where a word, in one of the ways of `how`, occurs in a column: documents in order, each once. Forms are those of the language.
    fn postings(&mut self, column: i32, slot: &Slot, reading: &Reading) -> Result<Vec<Posting>, Self::Error>;
    /// How many documents there are.
    fn documents(&self) -> u64;
    /// Asked again and again while lists are read and compared: an error ends the search.
    fn look_up(&mut self) -> Result<(), Self::Error>;
}

/// What is searched.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its `column_id`.
    pub id: i32,
    /// How the condition is read for it.
    pub reading: Reading,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The columns.
    pub columns: Vec<Column>,
    /// `transform noise words`.
    pub transform_noise: bool,
}

/// What a search has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Documents in order, and what they have scored: 0 to 1.
    pub documents: Vec<(Document, f64)>,
    /// The condition had stop words.
    pub noise: bool,
}

/// What a part of a condition has found.
struct Hits {
    weight: f64,
    documents: Vec<(Document, f64)>,
}

/// A part: `None` when it is made of stop words.
type Part = Option<Hits>;

impl Search {
    /// CONTAINS.
    pub fn contains<I: Index>(&self, condition: &Condition, index: &mut I) -> Result<Found, I::Error> {
        self.each_column(index, |part, index| part.condition(condition, index))
    }

    /// FREETEXT: documents with any form of any of the words. A text in quotation marks is a phrase.
    pub fn free<I: Index>(&self, text: &str, index: &mut I) -> Result<Found, I::Error> {
        let text = text.trim();
        let phrase = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        self.each_column(index, |part, index| {
            if let Some(text) = phrase {
                let phrase = part.column.reading.phrase(text, How::Exact);
                return part.phrase(&phrase, index);
            }
            let (phrases, noise) = part.column.reading.free(text);
            part.noise |= noise;
            let mut any = Any::default();
            for phrase in &phrases {
                any.add(part.phrase(phrase, index)?);
            }
            Ok(any.end())
        })
    }

    fn each_column<I: Index>(
        &self,
        index: &mut I,
        mut evaluate: impl FnMut(&mut Evaluation<'_>, &mut I) -> Result<Part, I::Error>,
    ) -> Result<Found, I::Error> {
        let mut found = Found::default();
        for column in &self.columns {
            let mut part = Evaluation { column, transform_noise: self.transform_noise, noise: false };
            let hits = evaluate(&mut part, index)?;
            found.noise |= part.noise;
            let Some(hits) = hits else { continue };
            let of_weight = |(document, score)| {
                (document, if hits.weight > 0.0 { f64::clamp(score / hits.weight, 0.0, 1.0) } else { 0.0 })
            };
            let documents: Vec<_> = hits.documents.into_iter().map(of_weight).collect();
            found.documents = merged(&found.documents, &documents, f64::max);
        }
        Ok(found)
    }
}

/// The rank of a document: 0 to 1000. `score` is what it has scored, `length` its number of words, `average` that of all documents.
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "between 0 and 1000")]
pub fn rank(score: f64, length: u64, average: f64) -> i32 {
    if score <= 0.0 {
        return 0;
    }
    #[allow(clippy::cast_precision_loss, reason = "a length is a fraction of the average here")]
    let longer = if average > 0.0 { length as f64 / average } else { 1.0 };
    let shortened = score / (1.0 - LENGTH + LENGTH * longer);
    (RANK_MAX * shortened).round().clamp(1.0, RANK_MAX) as i32
}

/// One column's evaluation.
struct Evaluation<'s> {
    column: &'s Column,
    transform_noise: bool,
    noise: bool,
}

impl Evaluation<'_> {
    fn condition<I: Index>(&mut self, condition: &Condition, index: &mut I) -> Result<Part, I::Error> {
        let reading = &self.column.reading;
        match condition {
            Condition::Term(term) => {
                let how = if term.prefix { How::Prefix } else { How::Exact };
                let phrase = reading.phrase(&term.text, how);
                self.phrase(&phrase, index)
            }
            Condition::Forms(kind, terms) => {
                let mut any = Any::default();
                for term in terms {
                    let phrase = reading.phrase(term, kind.how());
                    any.add(self.phrase(&phrase, index)?);
                }
                Ok(any.end())
            }
            Condition::Near(near) => self.near(near, index),
            Condition::Weighted(parts) => {
                let mut any = Any::default();
                for (part, weight) in parts {
                    let found = self.condition(part, index)?;
                    any.add(found.map(|hits| hits.weighted(*weight)));
                }
                Ok(any.end())
            }
            Condition::All { of, but } => self.all(of, but, index),
            Condition::Any(parts) => {
                let mut any = Any::default();
                for part in parts {
                    any.add(self.condition(part, index)?);
                }
                Ok(any.end())
            }
        }
    }

    fn all<I: Index>(
        &mut self,
        of: &[Condition],
        but: &[Condition],
        index: &mut I,
    ) -> Result<Part, I::Error> {
        let Some((first, others)) = of.split_first() else { return Ok(None) };
        let mut found = self.condition(first, index)?;
        for part in others {
            let other = self.condition(part, index)?;
            found = self.both(found, other);
        }
        for part in but {
            let other = self.condition(part, index)?;
            found = found.map(|found| found.without(other.as_ref()));
        }
        Ok(found)
    }

    fn both(&self, left: Part, right: Part) -> Part {
        match (left, right) {
            (Some(left), Some(right)) => Some(left.and(&right)),
            (None, None) => None,
            (Some(hits), None) | (None, Some(hits)) if self.transform_noise => Some(hits),
            (Some(hits), None) | (None, Some(hits)) => Some(Hits { documents: Vec::new(), ..hits }),
        }
    }

    fn phrase<I: Index>(&mut self, phrase: &Phrase, index: &mut I) -> Result<Part, I::Error> {
        self.noise |= phrase.noise;
        if phrase.slots.is_empty() {
            return Ok(None);
        }
        let postings = self.occurrences(phrase, index)?;
        Ok(Some(Hits::of(&postings, index.documents(), |posting| frequency(posting.positions.len()))))
    }

    /// Where a phrase begins.
    fn occurrences<I: Index>(&self, phrase: &Phrase, index: &mut I) -> Result<Vec<Posting>, I::Error> {
        let mut found: Option<Vec<Posting>> = None;
        for slot in &phrase.slots {
            index.look_up()?;
            let of_slot = index.postings(self.column.id, slot, &self.column.reading)?;
            found = Some(match found {
                None => of_slot,
                Some(before) => following(before, &of_slot, slot.offset),
            });
            if found.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        Ok(found.unwrap_or_default())
    }

    fn near<I: Index>(&mut self, near: &Near, index: &mut I) -> Result<Part, I::Error> {
        let mut terms = Vec::new();
        let mut passed_over = false;
        for term in &near.terms {
            let how = if term.prefix { How::Prefix } else { How::Exact };
            let phrase = self.column.reading.phrase(&term.text, how);
            self.noise |= phrase.noise;
            match phrase.slots.last() {
                Some(last) => terms.push((self.occurrences(&phrase, index)?, last.offset)),
                None => passed_over = true,
            }
        }
        if terms.is_empty() {
            return Ok(None);
        }
        if passed_over && !self.transform_noise {
            return Ok(Some(Hits { weight: 1.0, documents: Vec::new() }));
        }
        let Some(common) =
            terms.iter().map(|(postings, _)| documents_of(postings)).reduce(|a, b| common(&a, &b))
        else {
            return Ok(None);
        };
        let mut spans = Vec::new();
        for document in common {
            index.look_up()?;
            let of_terms: Vec<(&[u32], u32)> =
                terms.iter().map(|(postings, length)| (positions_in(postings, document), *length)).collect();
            let between = match near.ordered {
                true => closest_in_order(&of_terms),
                false => closest(&of_terms),
            };
            if let Some(between) = between.filter(|n| near.distance.is_none_or(|most| *n <= most)) {
                spans.push((document, between));
            }
        }
        let far = |between: u32| near.generic && between > GENERIC_DISTANCE;
        let weight = rarity(spans.len(), index.documents());
        let closeness =
            |between: u32| if far(between) { 0.0 } else { weight / (1.0 + f64::from(between) / 8.0) };
        let documents = spans.into_iter().map(|(document, between)| (document, closeness(between))).collect();
        Ok(Some(Hits { weight, documents }))
    }
}

impl Hits {
    fn of(postings: &[Posting], documents: u64, score: impl Fn(&Posting) -> f64) -> Hits {
        let weight = rarity(postings.len(), documents);
        let documents = postings.iter().map(|p| (p.document, weight * score(p))).collect();
        Hits { weight, documents }
    }

    fn weighted(mut self, by: f64) -> Hits {
        self.weight *= by;
        self.documents.iter_mut().for_each(|(_, score)| *score *= by);
        self
    }

    fn and(self, other: &Hits) -> Hits {
        let mut others = other.documents.iter().peekable();
        let mut documents = Vec::new();
        for (document, score) in self.documents {
            while others.next_if(|(theirs, _)| *theirs < document).is_some() {}
            if let Some((_, more)) = others.next_if(|(theirs, _)| *theirs == document) {
                documents.push((document, score + more));
            }
        }
        Hits { weight: self.weight + other.weight, documents }
    }

    fn without(mut self, other: Option<&Hits>) -> Hits {
        let mut others = other.map(|o| o.documents.as_slice()).unwrap_or_default().iter().peekable();
        self.documents.retain(|(document, _)| {
            while others.next_if(|(theirs, _)| theirs < document).is_some() {}
            others.peek().is_none_or(|(theirs, _)| theirs != document)
        });
        self
    }
}

/// So many documents are put together at once, however few there were before.
const TOGETHER_MIN: usize = 4096;

/// Parts any of which will do. Their lists are put together whenever as much has come as there was: so many short lists do not have a long one
/// read for each, and all of them take no more room than what they find, twice.
#[derive(Default)]
struct Any {
    /// A part was not of stop words alone.
    some: bool,
    weight: f64,
    /// In order and each once as far as `together` goes.
    documents: Vec<(Document, f64)>,
    together: usize,
}

impl Any {
    fn add(&mut self, part: Part) {
        let Some(hits) = part else { return };
        self.some = true;
        self.weight += hits.weight;
        self.documents.extend(hits.documents);
        if self.documents.len() > 2 * self.together.max(TOGETHER_MIN) {
            self.put_together();
        }
    }

    fn put_together(&mut self) {
        self.documents.sort_by_key(|(document, _)| *document);
        self.documents.dedup_by(|(next, more), (document, score)| {
            let same = next == document;
            *score += if same { *more } else { 0.0 };
            same
        });
        self.together = self.documents.len();
    }

    fn end(mut self) -> Part {
        self.put_together();
        self.some.then_some(Hits { weight: self.weight, documents: self.documents })
    }
}

/// Two lists as one.
fn merged(
    left: &[(Document, f64)],
    right: &[(Document, f64)],
    both: impl Fn(f64, f64) -> f64,
) -> Vec<(Document, f64)> {
    let (mut left, mut right) = (left.iter().copied().peekable(), right.iter().copied().peekable());
    let mut all = Vec::new();
    loop {
        match (left.peek().copied(), right.peek().copied()) {
            (Some((a, one)), Some((b, other))) if a == b => {
                all.push((a, both(one, other)));
                left.next();
                right.next();
            }
            (Some((a, _)), Some((b, _))) if a < b => all.extend(left.next()),
            (_, Some(_)) => all.extend(right.next()),
            (Some(_), None) => all.extend(left.next()),
            (None, None) => return all,
        }
    }
}

/// How much a part says that so many of all documents have: more than 0.
#[allow(clippy::cast_precision_loss, reason = "numbers of documents")]
fn rarity(found: usize, documents: u64) -> f64 {
    let (found, all) = (found as f64, (documents as f64).max(found as f64));
    (1.0 + (all - found + 0.5) / (found + 0.5)).ln()
}

#[allow(clippy::cast_precision_loss, reason = "numbers of words")]
fn frequency(occurrences: usize) -> f64 {
    let n = occurrences as f64;
    n / (n + SATURATION)
}

/// Where a word stands so far behind what was found before: the beginnings.
fn following(before: Vec<Posting>, words: &[Posting], offset: u32) -> Vec<Posting> {
    let mut words = words.iter().peekable();
    let mut found = Vec::new();
    for mut posting in before {
        while words.next_if(|w| w.document < posting.document).is_some() {}
        let Some(word) = words.next_if(|w| w.document == posting.document) else { continue };
        posting.positions.retain(|p| word.positions.binary_search(&p.saturating_add(offset)).is_ok());
        if !posting.positions.is_empty() {
            found.push(posting);
        }
    }
    found
}

fn documents_of(postings: &[Posting]) -> Vec<Document> {
    postings.iter().map(|p| p.document).collect()
}

fn common(left: &[Document], right: &[Document]) -> Vec<Document> {
    left.iter().filter(|document| right.binary_search(document).is_ok()).copied().collect()
}

fn positions_in(postings: &[Posting], document: Document) -> &[u32] {
    let at = postings.binary_search_by_key(&document, |p| p.document);
    at.ok().and_then(|at| postings.get(at)).map_or(&[], |p| p.positions.as_slice())
}

/// The fewest words between the first and the last of one occurrence of each term, the terms' own words not counted. Terms are
/// their beginnings and how far their last word is behind the first. No two terms are the same words of the text.
fn closest(terms: &[(&[u32], u32)]) -> Option<u32> {
    // Where two terms can be the same words, the occurrences of one are among the other's: who has fewer chooses first.
    let mut terms = terms.to_vec();
    terms.sort_by_key(|(positions, _)| positions.len());
    let mut firsts: Vec<u32> = terms.iter().flat_map(|(positions, _)| positions.iter().copied()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let own: u32 = terms.iter().map(|(_, length)| length + 1).sum();
    let mut best: Option<u32> = None;
    for first in firsts {
        let Some(last) = end_from(&terms, first) else { break };
        let between = (last - first + 1).saturating_sub(own);
        best = Some(best.map_or(between, |b| b.min(between)));
        if between == 0 {
            break;
        }
    }
    best
}

/// Where the last of the terms ends when each is its next occurrence from a position on that is no other's.
fn end_from(terms: &[(&[u32], u32)], first: u32) -> Option<u32> {
    let mut taken: Vec<(u32, u32)> = Vec::with_capacity(terms.len());
    for (positions, length) in terms {
        let next = positions.partition_point(|p| *p < first);
        let mut behind = positions.iter().skip(next).map(|p| (*p, *length));
        taken.push(behind.find(|occurrence| !taken.contains(occurrence))?);
    }
    taken.iter().map(|(start, length)| start.saturating_add(*length)).max()
}

/// The same of terms one behind the other.
fn closest_in_order(terms: &[(&[u32], u32)]) -> Option<u32> {
    let ((firsts, first_length), rest) = terms.split_first()?;
    let mut best: Option<u32> = None;
    for first in *firsts {
        let (mut end, mut between) = (first.saturating_add(*first_length), 0_u32);
        let mut complete = true;
        for (positions, length) in rest {
            let next = positions.partition_point(|p| *p <= end);
            let Some(start) = positions.get(next) else {
                complete = false;
                break;
            };
            between = between.saturating_add(start - end - 1);
            end = start.saturating_add(*length);
        }
        if complete {
            best = Some(best.map_or(between, |b| b.min(between)));
        }
    }
    best
}

#[cfg(test)]
mod tests;
