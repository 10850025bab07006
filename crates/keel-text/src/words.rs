//! A text's words: where they begin and end is Unicode's decision (UAX #29), how they are compared is decided here.
//!
//! A word is folded: in lower case, compatible forms made one (NFKC), and without accents where the catalog does not tell them apart.
//! What is longer than [`WORD_MAX`] characters is cut. Every word of a text has a position, from 1 on, stop words too: so a phrase that
//! was written with one is found with any word in its place.

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// Characters of a word that count.
pub const WORD_MAX: usize = 64;

/// Whether accents tell words apart: ACCENT_SENSITIVITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accents {
    /// They do.
    Kept,
    /// `café` is `cafe`.
    Removed,
}

/// A word as it is compared.
#[must_use]
pub fn fold(word: &str, accents: Accents) -> Cow<'_, str> {
    if word.is_ascii() {
        let short = &word[..word.len().min(WORD_MAX)];
        return match short.bytes().any(|b| b.is_ascii_uppercase()) {
            true => Cow::Owned(short.to_ascii_lowercase()),
            false => Cow::Borrowed(short),
        };
    }
    let lower = word.to_lowercase();
    let folded: String = match accents {
        Accents::Kept => lower.nfkc().take(WORD_MAX).collect(),
        Accents::Removed => lower.nfkd().filter(|c| !is_accent(*c)).take(WORD_MAX).collect(),
    };
    Cow::Owned(folded)
}

/// Marks above and below letters. Vowel signs of other scripts are letters here.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// The words of a text, folded, in order: the first has position 1.
pub fn words(text: &str, accents: Accents) -> impl Iterator<Item = Cow<'_, str>> {
    text.unicode_words().map(move |word| fold(word, accents)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, accents: Accents, expected: &[&str]) {
        assert_eq!(words(text, accents).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn words_of_texts() {
        check("The quick (brown) fox, 3.14!", Accents::Kept, &["the", "quick", "brown", "fox", "3.14"]);
        check("Wi-Fi isn't O'Neill's", Accents::Kept, &["wi", "fi", "isn't", "o'neill's"]);
        check("Café ÉCOLE", Accents::Kept, &["café", "école"]);
        check("Café ÉCOLE Straße", Accents::Removed, &["cafe", "ecole", "straße"]);
        check("e\u{301}cole", Accents::Kept, &["école"]);
        check("日本語", Accents::Kept, &["日", "本", "語"]);
        check(" \t…", Accents::Kept, &[]);
    }

    #[test]
    fn long_words_are_cut() {
        let long = "x".repeat(100);
        assert_eq!(fold(&long, Accents::Kept).len(), WORD_MAX);
        assert_eq!(fold(&"é".repeat(100), Accents::Kept).chars().count(), WORD_MAX);
    }
}
