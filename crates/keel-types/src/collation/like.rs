//! `LIKE`: patterns compiled once, matched under a collation.
//!
//! `%` any string, `_` one character, `[…]` one of a set or range, `[^…]` one not in it, an escape character before any of
//! them for itself. Characters are compared one by one by their sort keys, so case and accents count as the collation
//! says; a range holds what sorts between its ends. Trailing blanks of the pattern must match; trailing blanks of the
//! text beyond the pattern are ignored for the non-national types (`Pattern::matches` is told).

use super::{Collation, append_sort_key};
use crate::error::{Result, SqlError};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    parts: Vec<Part>,
    collation: Collation,
    /// The literal text before the first wildcard, as written.
    prefix: String,
    /// All literal characters, as written.
    literal: String,
    shape: Shape,
    ascii_fold: bool,
    /// Trailing blanks of the text count.
    exact: bool,
}

/// Patterns that need no general matcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// No wildcard.
    Exact,
    /// `text%`
    Prefix,
    /// `%text%`
    Contains,
    /// `%`
    Any,
    General,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// One character, by its sort key.
    Char(CharKey),
    /// `_`
    One,
    /// `%`
    Many,
    /// `[…]`
    Set { negated: bool, items: Vec<(CharKey, CharKey)> },
}

/// Sort key of one character, its first sixteen bytes: equal characters have equal keys. Few have more, long ligatures.
type CharKey = u128;

fn char_key(c: char, collation: Collation) -> CharKey {
    if c.is_ascii() && collation.folds_ascii() {
        return u128::from(super::weights::ASCII_PRIMARY[c as usize & 0x7F]) << 120;
    }
    if collation.order == super::Order::Library {
        return super::library::char_key(c, collation);
    }
    let mut bytes = Vec::with_capacity(16);
    if c == ' ' {
        // As a whole string it would be cut away.
        super::append_prefix_weights(&mut bytes, " ", collation);
    } else {
        append_sort_key(&mut bytes, c.encode_utf8(&mut [0; 4]), collation);
    }
    bytes.resize(16, 0);
    bytes.into_iter().fold(0, |key, b| (key << 8) | u128::from(b))
}

impl Pattern {
    /// Compiles a pattern. An escape longer than one character raises 506.
    pub fn compile(pattern: &str, escape: Option<&str>, collation: Collation) -> Result<Pattern> {
        let escape = match escape {
            None => None,
            Some(e) => {
                let mut chars = e.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => Some(c),
                    _ => return Err(bad_escape(e)),
                }
            }
        };
        let mut parts = Vec::with_capacity(pattern.len());
        let mut prefix = String::new();
        let mut literals = String::new();
        let mut literal = true;
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let part = match c {
                _ if Some(c) == escape => match chars.next() {
                    Some(next) => {
                        prefix.extend(literal.then_some(next));
                        literals.push(next);
                        Part::Char(char_key(next, collation))
                    }
                    // A trailing escape character matches nothing.
                    None => Part::Set { negated: false, items: Vec::new() },
                },
                '%' => Part::Many,
                '_' => Part::One,
                '[' => set(&mut chars, escape, collation),
                _ => {
                    prefix.extend(literal.then_some(c));
                    literals.push(c);
                    Part::Char(char_key(c, collation))
                }
            };
            literal &= matches!(part, Part::Char(_));
            if part != Part::Many || parts.last() != Some(&Part::Many) {
                parts.push(part);
            }
        }
        let shape = shape_of(&parts);
        let ascii_fold = super::letters_fold(collation) && literals.is_ascii();
        Ok(Pattern { parts, collation, prefix, literal: literals, shape, ascii_fold, exact: false })
    }

    /// The text every match begins with: what an index seek can use. Case is as written.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether the pattern has no wildcard at all.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.shape == Shape::Exact
    }

    /// Whether the pattern is its literal prefix and one `%`.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        self.shape == Shape::Prefix
    }

    /// Whether the text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match self.shape {
            Shape::Any => true,
            Shape::Contains if self.ascii_fold && text.is_ascii() => {
                find(text, &self.literal, 0, self.collation).is_some()
            }
            Shape::Exact | Shape::Prefix if self.ascii_fold && text.is_ascii() => self.matches_ascii(text),
            _ => self.matches_general(text) || self.matches_without_blanks(text),
        }
    }

    fn matches_ascii(&self, text: &str) -> bool {
        let (text, prefix) = (text.as_bytes(), self.prefix.as_bytes());
        let Some((head, tail)) = text.split_at_checked(prefix.len()) else { return false };
        head.eq_ignore_ascii_case(prefix)
            && (self.shape == Shape::Prefix
                || tail.is_empty()
                || !self.exact && tail.iter().all(|b| *b == b' '))
    }

    /// The same for national texts, or a national pattern: every blank counts.
    #[must_use]
    pub fn exactly(mut self) -> Pattern {
        self.exact = true;
        self
    }

    /// Trailing blanks of the text do not have to be matched.
    fn matches_without_blanks(&self, text: &str) -> bool {
        if self.exact {
            return false;
        }
        let trimmed = text.trim_end_matches(' ');
        // Every shorter text between the two ends in blanks as well; a pattern's own blanks decide how many it takes.
        (trimmed.len()..text.len()).any(|end| self.matches_general(&text[..end]))
    }

    fn matches_general(&self, text: &str) -> bool {
        self.find(text, 0, true).is_some()
    }

    /// Greedy matching with one point of return: the last `%`. Gives the end of the match.
    fn find(&self, text: &str, start: usize, to_end: bool) -> Option<usize> {
        let ascii = text.is_ascii();
        let char_at = |at: usize| match ascii {
            true => text.as_bytes().get(at).map(|b| char::from(*b)),
            false => text[at..].chars().next(),
        };
        let (mut at, mut part) = (start, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            if part == self.parts.len() && (!to_end || at == text.len()) {
                return Some(at);
            }
            let next = char_at(at);
            match (self.parts.get(part), next) {
                (Some(Part::Many), _) => {
                    retry = Some((part + 1, at));
                    part += 1;
                }
                (Some(p), Some(c)) if self.takes(p, c) => {
                    at += c.len_utf8();
                    part += 1;
                }
                _ => {
                    let (retry_part, retry_at) = retry?;
                    let c = char_at(retry_at)?;
                    at = retry_at + c.len_utf8();
                    retry = Some((retry_part, at));
                    part = retry_part;
                }
            }
        }
    }

    /// Where the pattern first matches (`PATINDEX`): the byte position, with the wildcards at both ends taken off.
    #[must_use]
    pub fn find_in(&self, text: &str) -> Option<usize> {
        let leading = self.parts.first() == Some(&Part::Many);
        let trailing = self.parts.last() == Some(&Part::Many);
        let inner = &self.parts[usize::from(leading)..];
        let inner = if trailing && !inner.is_empty() { &inner[..inner.len() - 1] } else { inner };
        let bare = Pattern { parts: inner.to_vec(), shape: Shape::General, ..self.clone() };
        let starts: &mut dyn Iterator<Item = usize> =
            if leading { &mut text.char_indices().map(|(i, _)| i) } else { &mut std::iter::once(0) };
        for start in starts {
            if bare.find(text, start, !trailing).is_some() {
                return Some(start);
            }
        }
        (inner.is_empty() && text.is_empty()).then_some(0)
    }

    fn takes(&self, part: &Part, c: char) -> bool {
        match part {
            Part::Char(key) => *key == char_key(c, self.collation),
            Part::One => true,
            Part::Many => false,
            Part::Set { negated, items } => {
                let key = char_key(c, self.collation);
                items.iter().any(|(low, high)| *low <= key && key <= *high) != *negated
            }
        }
    }
}

fn shape_of(parts: &[Part]) -> Shape {
    let literals = parts.iter().take_while(|p| matches!(p, Part::Char(_))).count();
    match &parts[literals..] {
        [] => Shape::Exact,
        [Part::Many] if literals == 0 => Shape::Any,
        [Part::Many] => Shape::Prefix,
        [Part::Many, inner @ .., Part::Many]
            if literals == 0 && !inner.is_empty() && inner.iter().all(|p| matches!(p, Part::Char(_))) =>
        {
            Shape::Contains
        }
        _ => Shape::General,
    }
}

/// Reads a set after its bracket. A set without an end matches nothing.
fn set(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    escape: Option<char>,
    collation: Collation,
) -> Part {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut items = Vec::new();
    let mut first = true;
    loop {
        let c = match chars.next() {
            None => return Part::Set { negated: false, items: Vec::new() },
            Some(']') if !first || chars.peek().is_none() => break,
            Some(c) if Some(c) == escape => chars.next().unwrap_or(c),
            Some(c) => c,
        };
        first = false;
        let low = char_key(c, collation);
        let mut ahead = chars.clone();
        if ahead.next() == Some('-')
            && let Some(end) = ahead.next()
            && end != ']'
        {
            *chars = ahead;
            let high = if Some(end) == escape { chars.next().unwrap_or(end) } else { end };
            items.push((low, char_key(high, collation)));
        } else {
            items.push((low, low));
        }
    }
    Part::Set { negated, items }
}

fn bad_escape(escape: &str) -> Box<SqlError> {
    let text = format!("The invalid escape character \"{escape}\" was specified in a LIKE predicate.");
    SqlError::new(506, 16, 1, text)
}

/// Where `needle` first occurs in `text` at or after byte `start`, under the collation; the position and its length.
#[must_use]
pub fn find(text: &str, needle: &str, start: usize, collation: Collation) -> Option<(usize, usize)> {
    Finder::new(text, needle, collation).find(start)
}

/// What [`find`] knows of two texts: who looks more than once does not look at all of them each time.
pub struct Finder<'a> {
    text: &'a str,
    needle: &'a str,
    collation: Collation,
    way: Way,
}

enum Way {
    /// Bytes are compared.
    Bytes,
    /// Bytes, but for the case of letters.
    Ascii,
    /// What the collation makes of the needle's characters.
    Keys(Vec<CharKey>),
}

impl<'a> Finder<'a> {
    /// Looks at both texts once.
    #[must_use]
    pub fn new(text: &'a str, needle: &'a str, collation: Collation) -> Finder<'a> {
        let way = if collation.is_binary() {
            Way::Bytes
        } else if text.is_ascii() && needle.is_ascii() && super::letters_fold(collation) {
            Way::Ascii
        } else {
            Way::Keys(needle.chars().map(|c| char_key(c, collation)).collect())
        };
        Finder { text, needle, collation, way }
    }

    /// The first at or after byte `start`: the position and its length.
    #[must_use]
    pub fn find(&self, start: usize) -> Option<(usize, usize)> {
        let Finder { text, needle, .. } = *self;
        if needle.is_empty() || start > text.len() {
            return None;
        }
        match &self.way {
            Way::Bytes => text[start..].find(needle).map(|i| (start + i, needle.len())),
            Way::Ascii => find_ascii(text.as_bytes(), needle.as_bytes(), start).map(|at| (at, needle.len())),
            Way::Keys(keys) => self.find_keys(keys, start),
        }
    }

    fn find_keys(&self, keys: &[CharKey], start: usize) -> Option<(usize, usize)> {
        text_from(self.text, start).find_map(|(at, rest)| {
            let mut rest = rest.chars();
            let mut length = 0;
            let all = keys.iter().all(|key| match rest.next() {
                Some(c) => {
                    length += c.len_utf8();
                    *key == char_key(c, self.collation)
                }
                None => false,
            });
            all.then_some((at, length))
        })
    }
}

/// Each character's position from `start` on, and the text that begins there.
fn text_from(text: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    text[start..].char_indices().map(move |(i, _)| (start + i, &text[start + i..]))
}

/// Scans for the first letter in either case before it compares the rest.
fn find_ascii(text: &[u8], needle: &[u8], start: usize) -> Option<usize> {
    let (first, rest) = needle.split_first()?;
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let last = text.len().checked_sub(needle.len())?;
    (start..=last).find(|at| {
        let c = text[*at];
        (c == lower || c == upper) && text[at + 1..at + needle.len()].eq_ignore_ascii_case(rest)
    })
}

/// Whether two characters are the same under a collation.
#[must_use]
pub fn same_char(a: char, b: char, collation: Collation) -> bool {
    a == b || char_key(a, collation) == char_key(b, collation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn like(text: &str, pattern: &str, escape: Option<&str>) -> bool {
        Pattern::compile(pattern, escape, Collation::LATIN1_CI_AS).unwrap().matches(text)
    }

    #[test]
    fn known_results() {
        let check = |text: &str, pattern: &str, expect: bool| {
            assert_eq!(like(text, pattern, None), expect, "{text} {pattern}")
        };
        check("Smith", "smith", true);
        check("Smith", "S%", true);
        check("Smith", "%IT%", true);
        check("Smith", "_mith", true);
        check("Smith", "_ith", false);
        check("Smith", "[p-t]mith", true);
        check("Smith", "[^p-t]mith", false);
        check("Smith", "[abc]%", false);
        check("abc  ", "abc", true);
        check("abc", "abc ", false);
        check("abc ", "abc_", true);
        check("50%", "50[%]", true);
        check("a]b", "a]b", true);
        check("a]b", "a[]]b", true);
        check("a-b", "a[a-]b", true);
        check("abc", "[", false);
        check("é", "e", false);
        check("É", "é", true);
        check("", "%", true);
        check("", "", true);
        check("x", "", false);
        check("aXbXc", "a%x%c", true);
        assert!(like("50%", "50!%", Some("!")));
        assert!(!like("505", "50!%", Some("!")));
        assert_eq!(Pattern::compile("a", Some("!!"), Collation::BIN2).unwrap_err().number, 506);
    }

    #[test]
    fn positions() {
        let check = |text: &str, pattern: &str, expect: Option<usize>| {
            let p = Pattern::compile(pattern, None, Collation::LATIN1_CI_AS).unwrap();
            assert_eq!(p.find_in(text), expect, "{text} {pattern}");
        };
        check("interesting data", "%ter%", Some(2));
        check("abc123", "%[0-9]%", Some(3));
        check("abc", "%z%", None);
        check("abc", "a%", Some(0));
        check("abc", "b%", None);
        check("abc", "%c", Some(2));
        check("abcb", "%b", Some(3));
        assert_eq!(find("Hello World", "WORLD", 0, Collation::LATIN1_CI_AS), Some((6, 5)));
        assert_eq!(find("Hello World", "WORLD", 0, Collation::LATIN1_CS_AS), None);
        assert_eq!(find("dé É", "É", 0, Collation::LATIN1_CI_AS), Some((1, 2)));
    }

    /// Exponential and obviously right.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|i| naive(&text[i..], rest)),
            ['_', rest @ ..] => !text.is_empty() && naive(&text[1..], rest),
            [c, rest @ ..] => text.first() == Some(c) && naive(&text[1..], rest),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn agrees_with_the_naive_matcher(text in "[abé]{0,8}", pattern in "[abé%_]{0,6}") {
            let chars = |s: &str| s.chars().collect::<Vec<_>>();
            for collation in [Collation::LATIN1_CI_AS, Collation::BIN2] {
                let p = Pattern::compile(&pattern, None, collation).unwrap();
                prop_assert_eq!(p.matches(&text), naive(&chars(&text), &chars(&pattern)), "{} {}", text, pattern);
            }
        }

        #[test]
        fn never_panics(text in any::<String>(), pattern in "[a-c\\[\\]^%_ é\\\\-]{0,8}") {
            for collation in Collation::samples() {
                if let Ok(p) = Pattern::compile(&pattern, Some("\\"), collation) {
                    let _ = p.matches(&text);
                    let _ = p.find_in(&text);
                }
            }
        }
    }
}
