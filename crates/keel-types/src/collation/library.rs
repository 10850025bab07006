//! The order of locales, by the library that has Unicode's rules: ICU4X with its compiled data.
//!
//! Its sort keys are what index entries are made of, and another version of its tables makes other keys. So the version
//! is pinned to the digit in the workspace's manifest, [`DATA_VERSION`] is written beside every collation of this kind
//! in a catalog, and a test has the bytes of some keys: whoever raises the one raises the other, and says how indexes
//! are made again.
//!
//! ```text
//!   library's key, to the level that counts │ 01 │ kana (KS), width (WS), selectors (VSS), one byte each │ 00
//! ```
//!
//! * `AI` is strength primary, `AS` secondary; `CS` is the case level. So kana and width, which are tertiary, do not count
//!   until `KS` and `WS` add bytes for them behind the rest.
//! * Capitals come first under `SQL_` names, small letters under the others.

use super::Collation;
use icu_collator::options::{CaseLevel, CollatorOptions, Strength};
use icu_collator::preferences::CollationCaseFirst;
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use std::cmp::Ordering;
use std::sync::{LazyLock, OnceLock};
use unicode_normalization::UnicodeNormalization;

/// The version of the tables that keys depend on: CLDR 49, as compiled into version 2.4 of the library.
pub(super) const DATA_VERSION: u32 = 49;

/// A collation's rules, made once.
struct Rules {
    collator: CollatorBorrowed<'static>,
    /// Places of ASCII characters, where they alone decide; 0 for those that do not.
    ascii: Option<Box<[u8; 128]>>,
    /// Keys of ASCII characters, as `LIKE` compares them.
    characters: Box<[u128; 128]>,
    letters_fold: bool,
}

static RULES: LazyLock<Vec<OnceLock<Rules>>> =
    LazyLock::new(|| (0..Collation::count()).map(|_| OnceLock::new()).collect());

fn rules(collation: Collation) -> &'static Rules {
    RULES[collation.number()].get_or_init(|| Rules::new(collation))
}

impl Rules {
    fn new(collation: Collation) -> Rules {
        let locale: Locale = collation.locale().parse().expect("families name locales that are well-formed");
        let mut preferences = CollatorPreferences::from(&locale);
        if collation.sort_id() != 0 {
            preferences.case_first = Some(CollationCaseFirst::Upper);
        }
        let mut options = CollatorOptions::default();
        options.strength =
            Some(if collation.has_accents() { Strength::Secondary } else { Strength::Primary });
        options.case_level = Some(if collation.has_case() { CaseLevel::On } else { CaseLevel::Off });
        let collator =
            Collator::try_new(preferences, options).expect("compiled data has every locale or its root");
        let ascii = (!collation.has_case()).then(|| ascii_places(&collator)).flatten();
        let mut rules = Rules { collator, ascii, characters: Box::new([0; 128]), letters_fold: false };
        for c in '\0'..='\x7F' {
            rules.characters[c as usize] = rules.character(c, collation);
        }
        let key = |c: char| rules.characters[c as usize];
        let alike = |a: char, b: char| (key(a) == key(b)) == a.eq_ignore_ascii_case(&b);
        let fold = ('!'..='~').all(|a| ('!'..='~').all(|b| alike(a, b)));
        rules.letters_fold = fold;
        rules
    }

    fn character(&self, c: char, collation: Collation) -> u128 {
        let mut bytes = Vec::with_capacity(16);
        let mut utf8 = [0; 4];
        let s = c.encode_utf8(&mut utf8);
        self.append_key(&mut bytes, s);
        if collation.has_kinds() {
            bytes.push(super::SEPARATOR);
            append_kinds(&mut bytes, s, collation);
        }
        bytes.resize(16, 0);
        bytes.into_iter().fold(0, |key, b| (key << 8) | u128::from(b))
    }

    fn append_key(&self, out: &mut Vec<u8>, s: &str) {
        let Ok(()) = self.collator.write_sort_key_to(s, out);
    }
}

/// The places of blank, punctuation, digits and letters, when a locale knows no pair of them that is one letter.
fn ascii_places(collator: &CollatorBorrowed<'static>) -> Option<Box<[u8; 128]>> {
    let key = |s: &str| {
        let mut k = Vec::new();
        let Ok(()) = collator.write_sort_key_to(s, &mut k);
        k
    };
    let text: Vec<char> = (' '..='~').collect();
    let mut keys: Vec<Vec<u8>> = text.iter().map(|c| key(c.encode_utf8(&mut [0; 4]))).collect();
    let own = keys.clone();
    keys.sort();
    keys.dedup();
    let mut places = Box::new([0; 128]);
    for (c, k) in text.iter().zip(&own) {
        places[*c as usize] = u8::try_from(keys.binary_search(k).ok()? + 1).ok()?;
    }
    // A pair that is one letter orders otherwise than its first letter does before the same second.
    let place = |s: &str| s.bytes().map(|b| places[usize::from(b)]).collect::<Vec<u8>>();
    let letters = || ('a'..='z').chain("'-.".chars());
    let samples: Vec<String> = letters()
        .flat_map(|a| {
            letters().flat_map(move |b| {
                [format!("{a}{b}"), format!("{a}{b}{b}"), format!("{a}{b}a"), format!("{a}{b}z")]
            })
        })
        .collect();
    let mut by_key: Vec<(Vec<u8>, Vec<u8>)> = samples.iter().map(|s| (key(s), place(s))).collect();
    by_key.sort();
    by_key.is_sorted_by(|a, b| a.1 <= b.1 && (a.0 == b.0) == (a.1 == b.1)).then_some(places)
}

/// Appends the sort key of trimmed text without its end.
pub(super) fn append_sort_key(out: &mut Vec<u8>, s: &str, collation: Collation) {
    rules(collation).append_key(out, s);
    if collation.has_kinds() {
        out.push(super::SEPARATOR);
        append_kinds(out, s, collation);
    }
}

/// Sort key of one character, cut to sixteen bytes.
pub(super) fn char_key(c: char, collation: Collation) -> u128 {
    let rules = rules(collation);
    if c.is_ascii() { rules.characters[c as usize] } else { rules.character(c, collation) }
}

/// Whether ASCII characters are the same when they differ in nothing but case, and only then.
pub(super) fn letters_fold(collation: Collation) -> bool {
    rules(collation).letters_fold
}

/// One byte for each character that has a kind the collation tells apart: kana, width, variation selectors.
fn append_kinds(out: &mut Vec<u8>, s: &str, collation: Collation) {
    if s.is_ascii() {
        return;
    }
    let start = out.len();
    let mut used = start;
    for c in s.chars().nfd() {
        let kana = collation.has_kana() && is_katakana(c);
        let width = collation.has_width() && is_odd_width(c);
        if collation.has_variations() && is_selector(c) {
            out.extend(u32::from(c).to_be_bytes().map(|b| b | 0x80));
        } else {
            out.push(2 + u8::from(kana) + 2 * u8::from(width));
        }
        if kana || width || out.last().is_some_and(|b| *b >= 0x80) {
            used = out.len();
        }
    }
    out.truncate(used);
}

const fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FA}' | '\u{30FD}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF6F}' | '\u{FF71}'..='\u{FF9D}')
}

/// Wide forms of narrow characters, and narrow ones of wide.
const fn is_odd_width(c: char) -> bool {
    matches!(c, '\u{3000}' | '\u{FF01}'..='\u{FFDC}' | '\u{FFE0}'..='\u{FFEE}')
}

const fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Compares trimmed text.
pub(super) fn compare(a: &str, b: &str, collation: Collation) -> Ordering {
    let rules = rules(collation);
    if let Some(places) = &rules.ascii
        && let Some(order) = compare_ascii(a.as_bytes(), b.as_bytes(), places)
    {
        return order;
    }
    rules.collator.compare(a, b).then_with(|| {
        if !collation.has_kinds() {
            return Ordering::Equal;
        }
        let (mut ka, mut kb) = (Vec::new(), Vec::new());
        append_kinds(&mut ka, a, collation);
        append_kinds(&mut kb, b, collation);
        ka.cmp(&kb)
    })
}

/// `None` when a character is met that does not decide alone.
fn compare_ascii(a: &[u8], b: &[u8], places: &[u8; 128]) -> Option<Ordering> {
    let place = |c: u8| places.get(usize::from(c)).copied().filter(|p| *p != 0);
    // What follows may belong to the letters before it, so both are looked at to their ends.
    let mut order = Ordering::Equal;
    for (x, y) in a.iter().zip(b) {
        order = order.then(place(*x)?.cmp(&place(*y)?));
    }
    let shared = a.len().min(b.len());
    if a[shared..].iter().chain(&b[shared..]).any(|c| place(*c).is_none()) {
        return None;
    }
    Some(order.then(a.len().cmp(&b.len())))
}

#[cfg(test)]
mod tests {
    use super::super::{append_sort_key, compare, equal};
    use super::*;
    use proptest::prelude::*;

    fn named(name: &str) -> Collation {
        Collation::by_name(name).unwrap()
    }

    fn key(s: &str, collation: Collation) -> Vec<u8> {
        let mut k = Vec::new();
        append_sort_key(&mut k, s, collation);
        k
    }

    #[test]
    fn every_family_has_rules() {
        for c in Collation::listed() {
            assert!(equal("x", "x ", c), "{c:?}");
        }
    }

    #[test]
    fn letters_in_the_order_of_the_locale() {
        let check = |name: &str, words: &[&str]| {
            let c = named(name);
            for pair in words.windows(2) {
                assert_eq!(compare(pair[0], pair[1], c), Ordering::Less, "{name} {pair:?}");
                assert!(key(pair[0], c) < key(pair[1], c), "{name} {pair:?}");
            }
        };
        check("Latin1_General_CI_AS", &["a", "ä", "az", "o", "ö", "z"]);
        check("German_PhoneBook_CI_AS", &["ad", "ä", "af", "od", "ö", "of"]);
        check("Finnish_Swedish_CI_AS", &["a", "z", "å", "ä", "ö"]);
        check("Danish_Norwegian_CI_AS", &["a", "z", "æ", "ø", "å"]);
        check("Traditional_Spanish_CI_AS", &["cz", "ch", "d", "lz", "ll", "m", "nz", "ñ", "o"]);
        check("Modern_Spanish_CI_AS", &["ch", "cz", "d", "ll", "lz", "m", "nz", "ñ", "o"]);
        check("Czech_CI_AS", &["c", "č", "d", "h", "ch", "i"]);
        check("Turkish_CI_AS", &["c", "ç", "d", "h", "ı", "i", "j", "s", "ş", "t"]);
        check("Estonian_CI_AS", &["s", "z", "t"]);
        check("Lithuanian_CI_AS", &["i", "y", "k"]);
        check("Polish_CI_AS", &["l", "ł", "m", "z", "ź", "ż"]);
        check("Japanese_CI_AS", &["あ", "い", "亜"]);
        check("Chinese_PRC_CI_AS", &["阿", "北", "中"]);
        check("Latin1_General_CS_AS", &["a", "A", "b", "B"]);
        check("SQL_Latin1_General_CP850_CS_AS", &["A", "a", "B", "b"]);
        check("French_CI_AS", &["cote", "côte", "coté", "côté"]);
        check("Latin1_General_100_CI_AS", &["cote", "coté", "côte", "côté"]);
    }

    #[test]
    fn what_counts() {
        let check = |a: &str, b: &str, like: &[&str], unlike: &[&str]| {
            for (names, expect) in [(like, true), (unlike, false)] {
                for name in names {
                    let c = named(name);
                    assert_eq!(equal(a, b, c), expect, "{name} {a} {b}");
                    assert_eq!(key(a, c) == key(b, c), expect, "{name} {a} {b}");
                }
            }
        };
        check(
            "a",
            "A",
            &["Japanese_CI_AS", "Latin1_General_CI_AS_KS_WS"],
            &["Japanese_CS_AS", "Japanese_CS_AI", "Japanese_BIN"],
        );
        check("e", "é", &["French_CI_AI", "French_CS_AI"], &["French_CI_AS", "French_CS_AS", "French_BIN2"]);
        check(
            "あ",
            "ア",
            &["Japanese_CI_AS", "Japanese_CS_AS_WS"],
            &["Japanese_CI_AS_KS", "Japanese_CI_AI_KS_WS"],
        );
        check(
            "a",
            "ａ",
            &["Japanese_CI_AS", "Japanese_CS_AS_KS"],
            &["Japanese_CI_AS_WS", "Japanese_CS_AI_WS"],
        );
        check("ガ", "ｶﾞ", &["Japanese_CI_AS", "Japanese_CI_AS_KS"], &["Japanese_CI_AS_WS"]);
        check("は", "ば", &["Japanese_CI_AI"], &["Japanese_CI_AS"]);
        check("i", "I", &["Latin1_General_CI_AS"], &["Turkish_CI_AS"]);
        check("i", "İ", &["Turkish_CI_AS"], &["Latin1_General_CI_AS", "Turkish_CS_AS"]);
        check(
            "ß",
            "ss",
            &["Latin1_General_100_CI_AI"],
            &["Latin1_General_CI_AS", "SQL_Latin1_General_CP1_CI_AI"],
        );
        check("葛", "葛\u{E0100}", &["Japanese_XJIS_140_CI_AS"], &["Japanese_XJIS_140_CI_AS_VSS"]);
        check("é", "e\u{301}", &["French_CS_AS_KS_WS"], &["French_BIN"]);
    }

    /// Other bytes here are another order in the indexes of every database: see [`DATA_VERSION`].
    #[test]
    fn frozen_keys() {
        let hex =
            |s: &str, name: &str| key(s, named(name)).iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(hex("Resume", "Latin1_General_CI_AS"), "4d334f534333010a00");
        let got = [
            ("Résumé", "Latin1_General_CS_AS"),
            ("chléb", "Czech_CI_AI"),
            ("ガ葛", "Japanese_CI_AS_KS_WS"),
            ("äß", "German_PhoneBook_100_CI_AS"),
            ("中", "Chinese_PRC_CI_AS"),
            ("Iı", "Turkish_100_CS_AS_SC_UTF8"),
        ]
        .map(|(s, name)| hex(s, name));
        assert_eq!(
            got,
            [
                "4d334f534333014488428801f700",
                "3a0241332d00",
                "5f12ffc00a0145ae05010300",
                "2b334f4f014548700500",
                "9c4c010500",
                "3a213a21010601f100"
            ]
        );
    }

    fn some_collation() -> impl Strategy<Value = Collation> {
        let all: Vec<Collation> = Collation::listed();
        proptest::sample::select(all)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn keys_order_as_strings_do(
            c in some_collation(),
            a in "([a-cA-CchlHLsSzZ]|[éÉäößåÅıİ]|[\u{301}\u{308}]|[あアｱカガｶﾞ一丁ａＡ가ก]|[ '-]){0,5}",
            b in "([a-cA-CchlHLsSzZ]|[éÉäößåÅıİ]|[\u{301}\u{308}]|[あアｱカガｶﾞ一丁ａＡ가ก]|[ '-]){0,5}",
        ) {
            let by_key = key(&a, c).cmp(&key(&b, c));
            prop_assert_eq!(compare(&a, &b, c), by_key, "{:?}", c);
            prop_assert_eq!(equal(&a, &b, c), by_key.is_eq());
        }

        #[test]
        fn ascii_orders_by_its_places(c in some_collation(), a in "[ -~]{0,6}", b in "[ -~]{0,6}") {
            prop_assert_eq!(compare(&a, &b, c), key(&a, c).cmp(&key(&b, c)), "{:?}", c);
        }

        #[test]
        fn keys_have_one_end(c in some_collation(), s in any::<String>()) {
            let k = key(&s, c);
            prop_assert_eq!(k.iter().position(|b| *b == 0), Some(k.len() - 1));
        }
    }
}
