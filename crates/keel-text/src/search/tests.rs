//! Searching compared with reading every document, and what ranks have to keep.

use super::*;
use crate::condition::{Forms, Term, parse, tests::conditions_of};
use crate::language::{self, ENGLISH};
use crate::postings::union;
use crate::words::{Accents, words};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The words of random documents, one of them a stop word.
const WORDS: &[&str] = &["run", "runs", "running", "rat", "cat", "cats", "the"];

/// An index in memory: word and column → postings.
#[derive(Default)]
struct Memory {
    words: BTreeMap<(String, i32), Vec<Posting>>,
    documents: u64,
}

fn reading() -> Reading {
    let english = language::by_lcid(ENGLISH).expect("it is there");
    Reading::new(english, Accents::Kept, ["the"])
}

impl Memory {
    fn of(documents: &[Vec<String>]) -> Memory {
        let mut memory = Memory { documents: documents.len() as u64, ..Memory::default() };
        for (document, columns) in (1..).zip(documents) {
            for (column, text) in (1..).zip(columns) {
                reading().each(text, |word, position| {
                    let list = memory.words.entry((word.to_owned(), column)).or_default();
                    match list.last_mut().filter(|last| last.document == document) {
                        Some(last) => last.positions.push(position),
                        None => list.push(Posting { document, positions: vec![position] }),
                    }
                });
            }
        }
        memory
    }
}

impl Index for Memory {
    type Error = Infallible;

    fn postings(&mut self, column: i32, slot: &Slot, reading: &Reading) -> Result<Vec<Posting>, Infallible> {
        let of_word = |word: &str| match slot.how {
            How::Exact => word == slot.word,
            How::Prefix => word.starts_with(&slot.word),
            How::Inflected => reading.stem(word) == reading.stem(&slot.word),
        };
        let lists = self.words.iter().filter(|((word, of), _)| *of == column && of_word(word));
        Ok(union(lists.map(|(_, list)| list.clone()).collect()))
    }

    fn documents(&self) -> u64 {
        self.documents
    }

    fn look_up(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn search(columns: i32) -> Search {
    let columns = (1..=columns).map(|id| Column { id, reading: reading() }).collect();
    Search { columns, transform_noise: false }
}

/// Whether words from `at` on are those of a term.
fn stands_at(text: &[String], at: usize, term: &[String], prefix: bool, forms: bool) -> bool {
    term.iter().enumerate().all(|(n, word)| {
        text.get(at + n).is_some_and(|own| match (prefix, forms) {
            (true, _) => own != "the" && own.starts_with(word.as_str()),
            // A stop word stands for any word, or for none at the end.
            _ if word == "the" => true,
            (_, true) => own != "the" && reading().stem(own) == reading().stem(word),
            _ => own == word,
        }) || !prefix && word == "the"
    })
}

/// Beginnings and ends of a term in a text; `None` for one of stop words.
fn occurrences(text: &[String], term: &str, prefix: bool, forms: bool) -> Option<Vec<(usize, usize)>> {
    let mut words: Vec<String> = words(term, Accents::Kept).map(|w| w.into_owned()).collect();
    if !prefix {
        while words.first().is_some_and(|w| w == "the") {
            words.remove(0);
        }
        while words.last().is_some_and(|w| w == "the") {
            words.pop();
        }
    }
    let last = words.len().checked_sub(1)?;
    let found = (0..text.len()).filter(|at| stands_at(text, *at, &words, prefix, forms));
    Some(found.map(|at| (at, at + last)).collect())
}

/// All ways to choose one occurrence of each term.
fn choices(terms: &[Vec<(usize, usize)>]) -> Vec<Vec<(usize, usize)>> {
    terms.iter().fold(vec![Vec::new()], |chosen, term| {
        let with = |c: &Vec<(usize, usize)>, t: &(usize, usize)| [c.as_slice(), &[*t]].concat();
        chosen.iter().flat_map(|c| term.iter().map(move |t| with(c, t))).collect()
    })
}

fn is_near(text: &[String], near: &Near) -> Option<bool> {
    let of = |t: &Term| occurrences(text, &t.text, t.prefix, false);
    let terms: Vec<Option<Vec<(usize, usize)>>> = near.terms.iter().map(of).collect();
    if terms.iter().all(Option::is_none) {
        return None;
    }
    let Some(terms) = terms.into_iter().collect::<Option<Vec<_>>>() else { return Some(false) };
    Some(choices(&terms).iter().any(|chosen| {
        let first = chosen.iter().map(|c| c.0).min().unwrap_or(0);
        let last = chosen.iter().map(|c| c.1).max().unwrap_or(0);
        let own: usize = chosen.iter().map(|c| c.1 - c.0 + 1).sum();
        let ordered = chosen.windows(2).all(|pair| pair[0].1 < pair[1].0);
        let apart = chosen.iter().enumerate().all(|(n, occurrence)| !chosen[..n].contains(occurrence));
        let between = (last - first + 1).saturating_sub(own);
        let close = near.distance.is_none_or(|most| between <= most as usize);
        close && if near.ordered { ordered } else { apart }
    }))
}

/// Whether a text is what a condition asks for, read word by word; `None` for stop words alone.
fn matches(text: &[String], condition: &Condition) -> Option<bool> {
    let any = |parts: Vec<Option<bool>>| parts.into_iter().flatten().reduce(|a, b| a | b);
    match condition {
        Condition::Term(t) => Some(!occurrences(text, &t.text, t.prefix, false)?.is_empty()),
        Condition::Forms(Forms::Thesaurus, terms) => {
            any(terms.iter().map(|t| Some(!occurrences(text, t, false, false)?.is_empty())).collect())
        }
        Condition::Forms(Forms::Inflectional, terms) => {
            any(terms.iter().map(|t| Some(!occurrences(text, t, false, true)?.is_empty())).collect())
        }
        Condition::Near(near) => is_near(text, near),
        Condition::Weighted(parts) => any(parts.iter().map(|(part, _)| matches(text, part)).collect()),
        Condition::All { of, but } => {
            let of: Vec<Option<bool>> = of.iter().map(|part| matches(text, part)).collect();
            let without = |all: bool| all && !but.iter().any(|part| matches(text, part) == Some(true));
            let some = of.iter().any(Option::is_some);
            some.then(|| without(of.iter().all(|part| *part == Some(true))))
        }
        Condition::Any(parts) => any(parts.iter().map(|part| matches(text, part)).collect()),
    }
}

fn documents() -> impl Strategy<Value = Vec<Vec<String>>> {
    let text = prop::collection::vec(prop::sample::select(WORDS), 0..10).prop_map(|words| words.join(" "));
    prop::collection::vec(prop::collection::vec(text, 2), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_search_finds_what_reading_finds(documents in documents(), condition in conditions_of(WORDS)) {
        let Ok(found) = search(2).contains(&condition, &mut Memory::of(&documents));
        let found: Vec<u64> = found.documents.iter().map(|(document, _)| *document).collect();
        let is_found = |columns: &Vec<String>| columns.iter().any(|text| {
            let text: Vec<String> = words(text, Accents::Kept).map(|w| w.into_owned()).collect();
            matches(&text, &condition) == Some(true)
        });
        let read: Vec<u64> = (1..).zip(&documents).filter(|(_, d)| is_found(d)).map(|(n, _)| n).collect();
        prop_assert_eq!(found, read, "{}", condition);
    }

    #[test]
    fn scores_are_fractions(documents in documents(), condition in conditions_of(WORDS)) {
        let Ok(found) = search(2).contains(&condition, &mut Memory::of(&documents));
        prop_assert!(found.documents.iter().all(|(_, score)| (0.0..=1.0).contains(score)));
        prop_assert!(found.documents.is_sorted_by_key(|(document, _)| *document));
    }
}

fn ranked(texts: &[&str], condition: &str) -> Vec<(u64, i32)> {
    let documents: Vec<Vec<String>> = texts.iter().map(|t| vec![(*t).to_owned()]).collect();
    let condition = parse(condition).expect("a condition");
    let Ok(found) = search(1).contains(&condition, &mut Memory::of(&documents));
    let lengths: Vec<u64> = texts.iter().map(|t| t.split(' ').count() as u64).collect();
    let average = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
    let mut ranks: Vec<(u64, i32)> = found
        .documents
        .iter()
        .map(|(d, score)| (*d, rank(*score, lengths[*d as usize - 1], average)))
        .collect();
    ranks.sort_by_key(|(document, rank)| (-rank, *document));
    ranks
}

#[test]
fn better_documents_have_higher_ranks() {
    let order = |texts: &[&str], condition: &str| -> Vec<u64> {
        ranked(texts, condition).into_iter().map(|(document, _)| document).collect()
    };
    assert_eq!(order(&["cat dog", "cat cat cat dog dog", "dog"], "cat"), [2, 1]);
    assert_eq!(order(&["cat a b c d e f g", "cat a"], "cat"), [2, 1]);
    assert_eq!(order(&["cat x x x rat", "cat rat x x x", "x"], "cat NEAR rat"), [2, 1]);
    assert_eq!(order(&["cat x", "rat x", "cat rat"], "ISABOUT(cat WEIGHT(.2), rat WEIGHT(.8))"), [3, 2, 1]);
    assert!(ranked(&["cat", "rat"], "cat OR rat").iter().all(|(_, rank)| (1..=1000).contains(rank)));
}

#[test]
fn a_word_is_no_two_terms() {
    let check = |condition: &str, text: &str, expected: bool| {
        assert_eq!(!ranked(&[text, "x"], condition).is_empty(), expected, "{condition} in {text}");
    };
    check("NEAR((cat, cat), 5)", "cat x", false);
    check("NEAR((cat, cat), 5)", "cat x cat", true);
    check("cat NEAR cat NEAR cat", "cat x cat", false);
    check("NEAR((\"ca*\", cat), 5)", "x cat x", false);
    check("NEAR((\"ca*\", cat), 5)", "cat x cats", true);
    check("NEAR((cat, \"cat rat\"), 0)", "cat rat", true);
    check("NEAR((cat, \"cat rat\", \"cat rat\"), 9)", "cat rat x", false);
    // The narrowest is not always made of the latest.
    check("NEAR((\"x x x x\", cat, rat), 0)", "cat x x x x x rat", false);
    check("NEAR((\"x x x x\", cat, rat), 1)", "cat x x x x x rat", true);
}

#[test]
fn far_terms_are_found_with_rank_0() {
    let far = format!("cat {} rat", vec!["x"; 60].join(" "));
    assert_eq!(ranked(&[&far], "cat NEAR rat"), [(1, 0)]);
}

#[test]
fn stop_words_are_passed_over_when_asked() {
    let documents = vec![vec!["cat the rat".to_owned()]];
    let check = |condition: &str, transform_noise: bool, expected: usize| {
        let search = Search { transform_noise, ..search(1) };
        let condition = parse(condition).expect("a condition");
        let Ok(found) = search.contains(&condition, &mut Memory::of(&documents));
        assert_eq!((found.documents.len(), found.noise), (expected, true), "{condition}");
    };
    check("cat AND the", false, 0);
    check("cat AND the", true, 1);
    check("cat OR the", false, 1);
    check("the", true, 0);
    check("NEAR(cat, the)", false, 0);
    check("NEAR(cat, the)", true, 1);
    check("\"cat the rat\"", false, 1);
    check("\"cat the cat\"", false, 0);
}

/// What many parts find is put together now and then, and is what each finds.
#[test]
fn wide_conditions_are_searched() {
    let documents: Vec<Vec<String>> = (0..3000).map(|n| vec![format!("cat w{}", n % 300)]).collect();
    let term = |text: String| Condition::Term(Term { text, prefix: false });
    let mut index = Memory::of(&documents);
    let mut check = |condition: Condition, expected: usize| {
        let Ok(found) = search(1).contains(&condition, &mut index);
        assert_eq!(found.documents.len(), expected);
        assert!(found.documents.is_sorted_by(|(a, _), (b, _)| a < b));
        assert!(found.documents.iter().all(|(_, score)| (0.0..=1.0).contains(score)));
    };
    check(Condition::Any((0..1000).map(|n| term(format!("w{}", n % 200))).collect()), 2000);
    let of = vec![term("cat".to_owned()); 500];
    let but = (0..1000).map(|n| term(format!("w{}", n % 100))).collect();
    check(Condition::All { of, but }, 2000);
    let none = vec![term("nothing".to_owned()); 1_000_000];
    check(Condition::Any(none.clone()), 0);
    check(Condition::All { of: none.clone(), but: none }, 0);
}

#[test]
fn free_texts() {
    let documents: Vec<Vec<String>> =
        ["the cats run", "a rat", "dogs"].iter().map(|t| vec![(*t).to_owned()]).collect();
    let check = |text: &str, expected: &[u64]| {
        let Ok(found) = search(1).free(text, &mut Memory::of(&documents));
        assert_eq!(found.documents.iter().map(|(d, _)| *d).collect::<Vec<_>>(), expected, "{text}");
    };
    check("a cat, running", &[1, 2]);
    check("\"cats run\"", &[1]);
    check("\"cat run\"", &[]);
    check("the", &[]);
}
