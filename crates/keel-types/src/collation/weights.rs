//! The weight table behind the dictionary collations. See the parent module for the model.

use super::{Collation, SEPARATOR, simple_lower};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// First weight after the two bytes with a meaning of their own.
const FIRST: u8 = 0x02;
/// Begins the weight of a character outside the table; four 7-bit groups of its code point follow.
const OTHER: u8 = 0xF0;
/// Secondary weight of every base character, tertiary weight of one that is not lower case.
const PLAIN: u8 = 0x02;
/// Secondary weight of U+0300, tertiary weight of a lower-case letter.
const MARKED: u8 = 0x03;

/// Symbols of the code page beyond ASCII, in order, after the ASCII punctuation.
const SYMBOLS: &[char] = &[
    '\u{A0}', '¡', '¢', '£', '¤', '¥', '¦', '§', '¨', '©', '«', '¬', '\u{AD}', '®', '¯', '°', '±', '´', 'µ',
    '¶', '·', '¸', '»', '¼', '½', '¾', '¿', '×', '÷', '€', '‚', '„', '…', '†', '‡', 'ˆ', '‰', '‹', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', '›',
];

/// Letters in alphabetical order, lower case, with those that decomposition leaves whole.
const LETTERS: &[char] = &[
    'a', 'æ', 'b', 'c', 'd', 'ð', 'e', 'f', 'ƒ', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'ø', 'œ', 'p',
    'q', 'r', 's', 'ß', 't', 'þ', 'u', 'v', 'w', 'x', 'y', 'z',
];

const PUNCTUATION_FIRST: u8 = FIRST + 33;
const SYMBOLS_FIRST: u8 = PUNCTUATION_FIRST + 33;
const DIGITS_FIRST: u8 = SYMBOLS_FIRST + SYMBOLS.len() as u8;
const LETTERS_FIRST: u8 = DIGITS_FIRST + 10;
const _: () = assert!(LETTERS_FIRST as usize + LETTERS.len() <= OTHER as usize);

/// Primary weights of ASCII.
pub(super) static ASCII_PRIMARY: [u8; 128] = ascii_table();

const fn ascii_table() -> [u8; 128] {
    let mut table = [0; 128];
    let mut punctuation = PUNCTUATION_FIRST;
    let mut c = 0u8;
    while c < 128 {
        table[c as usize] = match c {
            0..=31 => FIRST + c,
            127 => FIRST + 32,
            b'0'..=b'9' => DIGITS_FIRST + (c - b'0'),
            b'a'..=b'z' => letter_weight(c as char),
            b'A'..=b'Z' => letter_weight((c + 32) as char),
            _ => {
                punctuation += 1;
                punctuation - 1
            }
        };
        c += 1;
    }
    table
}

const fn letter_weight(c: char) -> u8 {
    let mut i = 0;
    while i < LETTERS.len() {
        if LETTERS[i] as u32 == c as u32 {
            return LETTERS_FIRST + i as u8;
        }
        i += 1;
    }
    0
}

/// Weights of strings that are not pure ASCII.
pub(super) struct Weigher;

impl Weigher {
    /// Appends the primary weights of every base character.
    pub(super) fn append_primary(out: &mut Vec<u8>, s: &str) {
        for c in s.chars().nfd().filter(|c| !is_accent(*c)) {
            append_char(out, c);
        }
    }

    /// Appends the secondary and tertiary levels with their separators, leaving out what is plain to the end.
    pub(super) fn append_upper_levels(out: &mut Vec<u8>, s: &str, collation: Collation) {
        let start = out.len();
        if collation.has_accents() && !s.is_ascii() {
            out.push(SEPARATOR);
            for c in s.chars().nfd() {
                out.push(accent_weight(c).unwrap_or(PLAIN));
            }
            cut_plain(out, start + 1);
        }
        if collation.has_case() {
            if out.len() == start {
                out.push(SEPARATOR);
            }
            out.push(SEPARATOR);
            let tertiary = out.len();
            out.extend(s.chars().nfd().filter(|c| !is_accent(*c)).map(case_weight));
            cut_plain(out, tertiary);
            if out.len() > tertiary {
                return;
            }
            out.pop();
        }
        if out.last() == Some(&SEPARATOR) {
            out.truncate(start);
        }
    }
}

fn cut_plain(out: &mut Vec<u8>, floor: usize) {
    while out.len() > floor && out.last() == Some(&PLAIN) {
        out.pop();
    }
}

fn is_accent(c: char) -> bool {
    accent_weight(c).is_some()
}

/// Secondary weight of a combining mark of the common block; other marks count as characters.
fn accent_weight(c: char) -> Option<u8> {
    match c {
        '\u{300}'..='\u{36F}' if is_combining_mark(c) => Some(MARKED + (c as u32 - 0x300) as u8),
        _ => None,
    }
}

fn case_weight(c: char) -> u8 {
    if c.is_lowercase() { MARKED } else { PLAIN }
}

fn append_char(out: &mut Vec<u8>, c: char) {
    if c.is_ascii() {
        out.push(ASCII_PRIMARY[c as usize]);
        return;
    }
    let c = simple_lower(c).unwrap_or(c);
    if let Some(i) = SYMBOLS.iter().position(|s| *s == c) {
        out.push(SYMBOLS_FIRST + i as u8);
        return;
    }
    match letter_weight(c) {
        0 => {
            let code = c as u32;
            let group = |shift: u32| 0x80 | (code >> shift & 0x7F) as u8;
            out.extend_from_slice(&[OTHER, group(14), group(7), group(0)]);
        }
        weight => out.push(weight),
    }
}
