//! A condition's words as they are looked up: broken and folded like the words of documents, without stop words.

use crate::condition::Forms;
use crate::language::Language;
use crate::words::{self, Accents};
use std::collections::HashSet;

/// How texts of a column, and conditions for it, are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The column's language, whose stems its words were indexed by.
    pub language: &'static Language,
    /// ACCENT_SENSITIVITY of the index.
    pub accents: Accents,
    /// Stop words of that language or of the query's, folded.
    pub stops: HashSet<String>,
}

/// How a word is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It alone.
    Exact,
    /// All that begin with it.
    Prefix,
    /// All its forms.
    Inflected,
}

/// A word of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// How far it is behind the phrase's first.
    pub offset: u32,
    /// The word, folded.
    pub word: String,
    /// How it is looked up.
    pub how: How,
}

/// Words that stand one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// Those that are no stop words.
    pub slots: Vec<Slot>,
    /// There were stop words.
    pub noise: bool,
}

impl Reading {
    /// A reading with stop words in any form.
    #[must_use]
    pub fn new<'w>(
        language: &'static Language,
        accents: Accents,
        stops: impl IntoIterator<Item = &'w str>,
    ) -> Reading {
        let stops = stops.into_iter().map(|word| words::fold(word, accents).into_owned()).collect();
        Reading { language, accents, stops }
    }

    /// The words of a text that are looked up, each with its position, from 1 on; and how many words there are with stop words.
    pub fn each(&self, text: &str, mut take: impl FnMut(&str, u32)) -> u32 {
        let mut position = 0;
        for word in words::words(text, self.accents) {
            position += 1;
            if !self.stops.contains(&*word) {
                take(&word, position);
            }
        }
        position
    }

    /// A text as a phrase.
    #[must_use]
    pub fn phrase(&self, text: &str, how: How) -> Phrase {
        let mut phrase = Phrase { slots: Vec::new(), noise: false };
        let mut first = None;
        let mut all = (0_u32..).zip(words::words(text, self.accents)).peekable();
        while let Some((position, word)) = all.next() {
            // The beginning of a word is no stop word; in front of others it is likely to be whole.
            let begins = how == How::Prefix && all.peek().is_none();
            if !begins && self.stops.contains(&*word) {
                phrase.noise = true;
                continue;
            }
            let offset = position - *first.get_or_insert(position);
            phrase.slots.push(Slot { offset, word: word.into_owned(), how });
        }
        phrase
    }

    /// What words that have the same stem have in common.
    #[must_use]
    pub fn stem(&self, word: &str) -> String {
        self.language.stem(word)
    }

    /// The different words of a text of FREETEXT, each as a phrase of its own; and whether there were stop words.
    #[must_use]
    pub fn free(&self, text: &str) -> (Vec<Phrase>, bool) {
        let phrase = self.phrase(text, How::Inflected);
        let mut seen = HashSet::new();
        let slots = phrase.slots.into_iter().filter(|slot| seen.insert(slot.word.clone()));
        let alone = |slot: Slot| Phrase { slots: vec![Slot { offset: 0, ..slot }], noise: false };
        (slots.map(alone).collect(), phrase.noise)
    }
}

impl Forms {
    /// How a word of FORMSOF is looked up. The thesaurus of every language is empty: a word has its own meaning only.
    #[must_use]
    pub fn how(self) -> How {
        match self {
            Forms::Inflectional => How::Inflected,
            Forms::Thesaurus => How::Exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{self, ENGLISH};

    fn reading() -> Reading {
        let english = language::by_lcid(ENGLISH).expect("it is there");
        Reading::new(english, Accents::Removed, ["the", "of"])
    }

    #[test]
    fn phrases() {
        let phrase = reading().phrase("The Lord of the Rings", How::Exact);
        let slots: Vec<_> = phrase.slots.iter().map(|s| (s.word.as_str(), s.offset)).collect();
        assert_eq!(slots, [("lord", 0), ("rings", 3)]);
        assert!(phrase.noise);
        assert!(reading().phrase("of the", How::Exact).slots.is_empty());
        assert_eq!(reading().phrase("the*", How::Prefix).slots.len(), 1);
        assert_eq!(reading().phrase("lord of the r*", How::Prefix).slots.len(), 2);
    }

    #[test]
    fn words_of_free_text() {
        let (phrases, noise) = reading().free("rings of rings, lord");
        assert_eq!(phrases.len(), 2);
        assert!(noise);
    }

    #[test]
    fn positions_count_stop_words() {
        let mut found = Vec::new();
        let count = reading().each("The Lord of the Rings", |word, at| found.push((word.to_owned(), at)));
        assert_eq!(found, [("lord".to_owned(), 2), ("rings".to_owned(), 5)]);
        assert_eq!(count, 5);
    }
}
