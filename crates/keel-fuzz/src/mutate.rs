//! Mutations: of bytes for the tests (the fuzzer has its own), of T-SQL word by word for both. Changing bytes of a text mostly
//! makes words that are not words, and the parser's first error ends it; changing words reaches binder and executor.

use keel_base::env::sim::SplitMix;
use std::sync::OnceLock;

/// Changes a few bytes: flips, replaces, removes, repeats.
pub fn bytes(input: &mut Vec<u8>, random: &mut SplitMix) {
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() as u64 + 1) as usize;
        let value = random.next() as u8;
        match random.below(5) {
            0 => input.insert(at, value),
            1 => input.truncate(at.max(1)),
            2 => {
                let end = (at + random.below(9) as usize).min(input.len());
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
            _ if at < input.len() => {
                // Lengths and counts are found by extremes.
                input[at] = [value, 0, 0xFF, 0x7F, input[at] ^ (1 << (value % 8))][random.below(5) as usize];
            }
            _ => input.push(value),
        }
    }
}

/// Changes a few words: removes, repeats, exchanges, takes others from the seeds.
#[must_use]
pub fn text(input: &str, random: &mut SplitMix) -> String {
    let mut words: Vec<&str> = words_of(input).collect();
    let others = vocabulary();
    for _ in 0..=random.below(4) {
        let at = random.below(words.len() as u64 + 1) as usize;
        let other = others[random.below(others.len() as u64) as usize].as_str();
        match random.below(6) {
            0 => words.insert(at, other),
            1 if at < words.len() => drop(words.remove(at)),
            2 => {
                // A stretch from elsewhere in the same text.
                let from = random.below(words.len() as u64 + 1) as usize;
                let until = (from + random.below(12) as usize).min(words.len());
                let piece = words[from..until].to_vec();
                words.splice(at..at, piece);
            }
            3 if at < words.len() => {
                let with = random.below(words.len() as u64) as usize;
                words.swap(at, with);
            }
            4 => {
                let from = random.below(others.len() as u64) as usize;
                let until = (from + 1 + random.below(10) as usize).min(others.len());
                let piece: Vec<&str> = others[from..until].iter().map(String::as_str).collect();
                words.splice(at..at, piece);
            }
            _ if at < words.len() => words[at] = other,
            _ => {}
        }
    }
    words.concat()
}

/// Cuts a text before and after each mark and space.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$');
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
}

/// The words of all seeds, in their order, so that a stretch of them makes sense.
fn vocabulary() -> &'static [String] {
    static WORDS: OnceLock<Vec<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let batches = crate::scripts::batches();
        let texts = batches.iter().map(|batch| String::from_utf8_lossy(batch).into_owned());
        texts.flat_map(|text| words_of(&text).map(str::to_owned).collect::<Vec<_>>()).collect()
    })
}
