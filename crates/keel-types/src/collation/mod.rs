//! Collations: how strings order, when they are equal, how they hash and fold.
//!
//! Every collation is defined by one thing, its **sort key**: a byte string that orders by `memcmp`. Comparison,
//! equality and hashing are fast paths to the same answer, never a second opinion; tests hold them together.
//!
//! ```text
//!   "Résumé "  ──►  r e s u m e │ 01 │ accents │ 01 │ case (CS only) │ 00
//!                   primary          secondary      tertiary
//! ```
//!
//! * **Trailing blanks never count** (`'a' = 'a  '`): they are cut before anything else.
//! * **Primary weights**: control characters < blank < punctuation and symbols (ASCII order, then Latin-1) < digits <
//!   letters in alphabetical order, `æ` after `a`, `ð` after `d`, `ø` after `o`, `ß` after `s`, `þ` after `t`. Everything
//!   outside the code page orders after it by code point, upper and lower case together.
//! * **Secondary weights**: accents. Letters are decomposed, so `é` equals `e` + combining acute.
//! * **Tertiary weights**: upper before lower case, as the SQL collations have it.
//! * **BIN2** and **BIN** compare code points.
//!
//! That is the order of the names that SQL Server installs by default, `SQL_Latin1_General_CP1_*`. Every other name's is
//! the Unicode library's (`library`), by the locale the name says; `names` knows which names there are.
//!
//! One table serves `varchar` and `nvarchar`. The product orders the two by different tables under a SQL collation;
//! equality agrees, the relative place of punctuation does not always.
//! Deliberately absent from it: contractions, expansions (`ß` is not `ss`).

pub mod cp1252;
mod families;
mod library;
pub mod like;
mod names;
pub mod pages;
mod weights;

pub use names::Collation;
use names::Order;
use smol_str::SmolStr;
use std::cmp::Ordering;
use std::hash::Hasher;
use weights::{ASCII_PRIMARY, Weigher};

/// Ends a sort key.
pub(crate) const TERMINATOR: u8 = 0x00;
/// Stands between the levels of a sort key.
pub(crate) const SEPARATOR: u8 = 0x01;

impl Collation {
    /// One of each kind, for tests.
    #[must_use]
    pub fn samples() -> Vec<Collation> {
        let more = ["Latin1_General_100_CS_AI", "Japanese_CI_AS_KS_WS", "Czech_CI_AS", "Turkish_BIN"];
        [Collation::LATIN1_CI_AS, Collation::BIN2, Collation::LATIN1_CS_AS, Collation::LATIN1_CI_AI]
            .into_iter()
            .chain(more.into_iter().filter_map(Collation::by_name))
            .collect()
    }
}

/// Appends the sort key of `s`: bytes that order like the strings, hold no `00` but the last.
#[inline]
pub fn append_sort_key(out: &mut Vec<u8>, s: &str, collation: Collation) {
    let s = trim(s);
    if collation.order == Order::Library {
        library::append_sort_key(out, s, collation);
    } else {
        append_prefix_weights(out, s, collation);
        if collation.order == Order::Own && !(s.is_ascii() && collation.folds_ascii()) {
            Weigher::append_upper_levels(out, s, collation);
        }
    }
    out.push(TERMINATOR);
}

/// Appends the primary weights only, without an end: what all sort keys of strings beginning with `s` begin with. Nothing
/// under the rules of a locale, where a letter's weight depends on the next.
#[inline]
pub fn append_prefix_weights(out: &mut Vec<u8>, s: &str, collation: Collation) {
    if collation.order == Order::Library {
        return;
    }
    if collation.order == Order::CodePoint {
        // UTF-8 orders by code point and never holds FF, so one up avoids the terminator.
        out.extend(s.bytes().map(|b| b + 1));
    } else if s.is_ascii() {
        out.extend(s.bytes().map(|b| ASCII_PRIMARY[usize::from(b & 0x7F)]));
    } else {
        Weigher::append_primary(out, s);
    }
}

/// Compares two strings.
#[must_use]
#[inline]
pub fn compare(a: &str, b: &str, collation: Collation) -> Ordering {
    let (a, b) = (trim(a), trim(b));
    if collation.order == Order::CodePoint {
        return a.as_bytes().cmp(b.as_bytes());
    }
    if collation.folds_ascii() && a.is_ascii() && b.is_ascii() {
        for (x, y) in a.bytes().zip(b.bytes()) {
            if x != y {
                let order = ASCII_PRIMARY[usize::from(x & 0x7F)].cmp(&ASCII_PRIMARY[usize::from(y & 0x7F)]);
                if order.is_ne() {
                    return order;
                }
            }
        }
        return a.len().cmp(&b.len());
    }
    if collation.order == Order::Library {
        return library::compare(a, b, collation);
    }
    compare_by_key(a, b, collation)
}

#[cold]
fn compare_by_key(a: &str, b: &str, collation: Collation) -> Ordering {
    let (mut ka, mut kb) = (Vec::with_capacity(2 * a.len() + 4), Vec::with_capacity(2 * b.len() + 4));
    append_sort_key(&mut ka, a, collation);
    append_sort_key(&mut kb, b, collation);
    ka.cmp(&kb)
}

/// Whether two strings are equal; cheaper than [`compare`].
#[must_use]
#[inline]
pub fn equal(a: &str, b: &str, collation: Collation) -> bool {
    let (a, b) = (trim(a), trim(b));
    a == b || (collation.order != Order::CodePoint && compare(a, b, collation).is_eq())
}

/// Feeds a hasher so that equal strings hash alike.
#[inline]
pub fn hash<H: Hasher>(s: &str, collation: Collation, state: &mut H) {
    let s = trim(s);
    if collation.order == Order::CodePoint {
        state.write(s.as_bytes());
    } else if collation.order == Order::Library {
        let mut key = Vec::with_capacity(2 * s.len() + 8);
        library::append_sort_key(&mut key, s, collation);
        state.write(&key);
    } else if s.is_ascii() && collation.folds_ascii() {
        let mut chunk = [0; 32];
        for part in s.as_bytes().chunks(32) {
            for (to, from) in chunk.iter_mut().zip(part) {
                *to = ASCII_PRIMARY[usize::from(*from & 0x7F)];
            }
            state.write(&chunk[..part.len()]);
        }
    } else {
        // The primary weights, in the same 32-byte steps as above: an ASCII and a decomposed spelling may be equal.
        let mut key = Vec::with_capacity(s.len() + 8);
        append_prefix_weights(&mut key, s, collation);
        for part in key.chunks(32) {
            state.write(part);
        }
    }
    state.write_u8(TERMINATOR);
}

/// Whether two ASCII characters are the same when they differ in nothing but case, and only then.
pub(crate) fn letters_fold(collation: Collation) -> bool {
    collation.folds_ascii() || (collation.order == Order::Library && library::letters_fold(collation))
}

/// Folds an identifier for look-up: names that are equal under the catalog's (default, case-insensitive) collation fold
/// to one string.
#[must_use]
pub fn fold_identifier(name: &str) -> SmolStr {
    let name = trim(name);
    if name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        SmolStr::new(name)
    } else if name.is_ascii() {
        SmolStr::from(name.to_ascii_lowercase())
    } else {
        name.chars().flat_map(simple_lower).collect()
    }
}

/// Lower case of one character, when that is one character.
pub(crate) fn simple_lower(c: char) -> Option<char> {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(l), None) => Some(l),
        _ => Some(c),
    }
}

#[inline]
fn trim(s: &str) -> &str {
    if s.as_bytes().last() == Some(&b' ') { s.trim_end_matches(' ') } else { s }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_of_the_default_collation() {
        let ordered = [
            "", "\t", "!", "#", "-", "_", "~", "0", "9", "a", "à", "ab", "æ", "b", "C", "d", "E", "é", "ö",
            "p", "s", "ß", "ú", "z", "Ω", "中",
        ];
        for pair in ordered.windows(2) {
            assert_eq!(compare(pair[0], pair[1], Collation::LATIN1_CI_AS), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn equality() {
        let check = |a: &str, b: &str, ci_as: bool, cs_as: bool, ci_ai: bool, bin2: bool| {
            let got =
                [Collation::LATIN1_CI_AS, Collation::LATIN1_CS_AS, Collation::LATIN1_CI_AI, Collation::BIN2]
                    .map(|c| equal(a, b, c));
            assert_eq!(got, [ci_as, cs_as, ci_ai, bin2], "{a} {b}");
        };
        check("abc", "ABC  ", true, false, true, false);
        check("abc", "abc  ", true, true, true, true);
        check("é", "e", false, false, true, false);
        check("é", "É", true, false, true, false);
        check("e\u{301}", "é", true, true, true, false);
        check("straße", "strasse", false, false, false, false);
        check("ΣΑΣ", "σας", false, false, false, false);
        check("ДА", "да", true, false, true, false);
    }

    #[test]
    fn identifiers() {
        assert_eq!(fold_identifier("Tést "), "tést");
    }

    fn hash_of(s: &str, collation: Collation) -> u64 {
        let mut h = std::hash::DefaultHasher::new();
        hash(s, collation, &mut h);
        h.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn one_answer(a in "[a-cA-CéÉe\u{301}ß 0-]{0,5}", b in "[a-cA-CéÉe\u{301}ß 0-]{0,5}") {
            for collation in Collation::samples() {
                let by_key = compare_by_key(a.trim_end_matches(' '), b.trim_end_matches(' '), collation);
                prop_assert_eq!(compare(&a, &b, collation), by_key);
                prop_assert_eq!(equal(&a, &b, collation), by_key.is_eq());
                if by_key.is_eq() {
                    prop_assert_eq!(hash_of(&a, collation), hash_of(&b, collation));
                }
            }
        }

        #[test]
        fn any_string_has_a_key(s in any::<String>()) {
            for collation in Collation::samples() {
                let mut k = Vec::new();
                append_sort_key(&mut k, &s, collation);
                prop_assert_eq!(k.iter().position(|b| *b == 0), Some(k.len() - 1));
            }
        }
    }
}
