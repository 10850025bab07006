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
//! * **BIN2** compares code points.
//!
//! One table serves `varchar` and `nvarchar`. The product orders the two by different tables under a SQL collation;
//! equality agrees, the relative place of punctuation does not always.
//! Deliberately absent: contractions, expansions (`ß` is not `ss`), supplementary-character and locale variants.

pub mod cp1252;
pub mod like;
mod weights;

pub use crate::ty::Collation;
use smol_str::SmolStr;
use std::cmp::Ordering;
use std::hash::Hasher;
use weights::{ASCII_PRIMARY, Weigher};

/// Ends a sort key.
pub(crate) const TERMINATOR: u8 = 0x00;
/// Stands between the levels of a sort key.
pub(crate) const SEPARATOR: u8 = 0x01;

impl Collation {
    /// All supported collations.
    pub const ALL: [Collation; 4] =
        [Collation::Latin1CiAs, Collation::Bin2, Collation::Latin1CsAs, Collation::Latin1CiAi];

    /// The name shown in metadata.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Collation::Latin1CiAs => "SQL_Latin1_General_CP1_CI_AS",
            Collation::Bin2 => "Latin1_General_BIN2",
            Collation::Latin1CsAs => "SQL_Latin1_General_CP1_CS_AS",
            Collation::Latin1CiAi => "Latin1_General_CI_AI",
        }
    }

    /// Finds a collation by name; names that differ only in locale-independent details map to the nearest supported one.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Collation> {
        let name = name.to_ascii_lowercase();
        let known = ["sql_latin1_general_", "latin1_general_", "database_default", "catalog_default"];
        if !known.iter().any(|k| name.starts_with(k)) {
            return None;
        }
        Some(if name.contains("_bin") {
            Collation::Bin2
        } else if name.contains("_cs_") {
            Collation::Latin1CsAs
        } else if name.contains("_ci_ai") {
            Collation::Latin1CiAi
        } else {
            Collation::Latin1CiAs
        })
    }

    /// Whether upper and lower case are the same letter.
    #[must_use]
    pub const fn ignores_case(self) -> bool {
        matches!(self, Collation::Latin1CiAs | Collation::Latin1CiAi)
    }

    const fn has_accents(self) -> bool {
        matches!(self, Collation::Latin1CiAs | Collation::Latin1CsAs)
    }

    const fn has_case(self) -> bool {
        matches!(self, Collation::Latin1CsAs)
    }
}

/// Appends the sort key of `s`: bytes that order like the strings, hold no `00` but the last.
#[inline]
pub fn append_sort_key(out: &mut Vec<u8>, s: &str, collation: Collation) {
    let s = trim(s);
    append_prefix_weights(out, s, collation);
    if collation != Collation::Bin2 && !(s.is_ascii() && collation.ignores_case()) {
        Weigher::append_upper_levels(out, s, collation);
    }
    out.push(TERMINATOR);
}

/// Appends the primary weights only, without an end: what all sort keys of strings beginning with `s` begin with.
#[inline]
pub fn append_prefix_weights(out: &mut Vec<u8>, s: &str, collation: Collation) {
    if collation == Collation::Bin2 {
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
    if collation == Collation::Bin2 {
        return a.as_bytes().cmp(b.as_bytes());
    }
    if collation.ignores_case() && a.is_ascii() && b.is_ascii() {
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
    a == b || (collation != Collation::Bin2 && compare(a, b, collation).is_eq())
}

/// Feeds a hasher so that equal strings hash alike.
#[inline]
pub fn hash<H: Hasher>(s: &str, collation: Collation, state: &mut H) {
    let s = trim(s);
    if collation == Collation::Bin2 {
        state.write(s.as_bytes());
    } else if s.is_ascii() && collation.ignores_case() {
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
            assert_eq!(compare(pair[0], pair[1], Collation::Latin1CiAs), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn equality() {
        let check = |a: &str, b: &str, ci_as: bool, cs_as: bool, ci_ai: bool, bin2: bool| {
            let got = [Collation::Latin1CiAs, Collation::Latin1CsAs, Collation::Latin1CiAi, Collation::Bin2]
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
    fn names() {
        assert_eq!(Collation::by_name("sql_latin1_general_cp1_ci_as"), Some(Collation::Latin1CiAs));
        assert_eq!(Collation::by_name("Latin1_General_100_BIN2_UTF8"), Some(Collation::Bin2));
        assert_eq!(Collation::by_name("Latin1_General_CS_AS"), Some(Collation::Latin1CsAs));
        assert_eq!(Collation::by_name("Klingon_CI_AS"), None);
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
            for collation in Collation::ALL {
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
            for collation in Collation::ALL {
                let mut k = Vec::new();
                append_sort_key(&mut k, &s, collation);
                prop_assert_eq!(k.iter().position(|b| *b == 0), Some(k.len() - 1));
            }
        }
    }
}
