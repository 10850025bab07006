//! Languages of full-text search: LCID, name, stemmer, stop words.
//!
//! The LCIDs and names are those of the product's `sys.fulltext_languages`. Stemmers are Snowball's; a language without one has no
//! inflected forms but the word itself. Stop words are the lists of the NLTK project and, in every language, single digits and Latin letters.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashSet;

/// A language that columns and queries can have.
#[derive(Clone, Copy)]
pub struct Language {
    /// Its locale's number.
    pub lcid: i32,
    /// Name in `sys.fulltext_languages`.
    pub name: &'static str,
    /// Code of its list of stop words.
    code: &'static str,
    /// How words are led back to what they are forms of.
    algorithm: Option<Algorithm>,
}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Language").field(&self.lcid).finish()
    }
}

const fn l(lcid: i32, name: &'static str, code: &'static str, algorithm: Option<Algorithm>) -> Language {
    Language { lcid, name, code, algorithm }
}

/// English of the United States, the default of the instance.
pub const ENGLISH: i32 = 1033;
/// No language: neither stemmer nor list.
pub const NEUTRAL: i32 = 0;

/// All languages by LCID.
pub const LANGUAGES: &[Language] = &[
    l(NEUTRAL, "Neutral", "", None),
    l(1025, "Arabic", "ar", Some(Algorithm::Arabic)),
    l(1026, "Bulgarian", "bg", None),
    l(1027, "Catalan", "ca", None),
    l(1028, "Traditional Chinese", "zh", None),
    l(1029, "Czech", "cs", None),
    l(1030, "Danish", "da", Some(Algorithm::Danish)),
    l(1031, "German", "de", Some(Algorithm::German)),
    l(1032, "Greek", "el", Some(Algorithm::Greek)),
    l(ENGLISH, "English", "en", Some(Algorithm::English)),
    l(1035, "Finnish", "fi", Some(Algorithm::Finnish)),
    l(1036, "French", "fr", Some(Algorithm::French)),
    l(1037, "Hebrew", "he", None),
    l(1038, "Hungarian", "hu", Some(Algorithm::Hungarian)),
    l(1039, "Icelandic", "is", None),
    l(1040, "Italian", "it", Some(Algorithm::Italian)),
    l(1041, "Japanese", "ja", None),
    l(1042, "Korean", "ko", None),
    l(1043, "Dutch", "nl", Some(Algorithm::Dutch)),
    l(BOKMAAL, "Bokmål", "no", Some(Algorithm::Norwegian)),
    l(1045, "Polish", "pl", None),
    l(1046, "Brazilian", "pt", Some(Algorithm::Portuguese)),
    l(1048, "Romanian", "ro", Some(Algorithm::Romanian)),
    l(1049, "Russian", "ru", Some(Algorithm::Russian)),
    l(1050, "Croatian", "hr", None),
    l(1051, "Slovak", "sk", None),
    l(1053, "Swedish", "sv", Some(Algorithm::Swedish)),
    l(1054, "Thai", "th", None),
    l(1055, "Turkish", "tr", Some(Algorithm::Turkish)),
    l(1056, "Urdu", "ur", None),
    l(1057, "Indonesian", "id", None),
    l(1058, "Ukrainian", "uk", None),
    l(1060, "Slovenian", "sl", None),
    l(1062, "Latvian", "lv", None),
    l(1063, "Lithuanian", "lt", None),
    l(1066, "Vietnamese", "vi", None),
    l(1081, "Hindi", "hi", None),
    l(1086, "Malay - Malaysia", "ms", None),
    l(1093, "Bengali (India)", "bn", None),
    l(1094, "Punjabi", "pa", None),
    l(1095, "Gujarati", "gu", None),
    l(1097, "Tamil", "ta", Some(Algorithm::Tamil)),
    l(1098, "Telugu", "te", None),
    l(1099, "Kannada", "kn", None),
    l(1100, "Malayalam", "ml", None),
    l(1102, "Marathi", "mr", None),
    l(2052, "Simplified Chinese", "zh", None),
    l(2057, "British English", "en", Some(Algorithm::English)),
    l(2070, "Portuguese", "pt", Some(Algorithm::Portuguese)),
    l(2074, "Serbian (Latin)", "sr", None),
    l(3076, "Chinese (Hong Kong SAR, PRC)", "zh", None),
    l(3082, "Spanish", "es", Some(Algorithm::Spanish)),
    l(3098, "Serbian (Cyrillic)", "sr", None),
    l(4100, "Chinese (Singapore)", "zh", None),
    l(5124, "Chinese (Macau SAR)", "zh", None),
];

/// Names that `sys.syslanguages` has as aliases and this list otherwise.
const ALIASES: &[(&str, i32)] = &[("us_english", ENGLISH), ("Norwegian", BOKMAAL)];
/// Norwegian of this list.
const BOKMAAL: i32 = 1044;
/// Norwegian of `sys.syslanguages`.
const NYNORSK: i32 = 2068;

/// The language of an LCID.
#[must_use]
pub fn by_lcid(lcid: i32) -> Option<&'static Language> {
    let lcid = if lcid == NYNORSK { BOKMAAL } else { lcid };
    LANGUAGES.iter().find(|language| language.lcid == lcid)
}

/// The language of a name or alias, whatever its case.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Language> {
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    let named = || LANGUAGES.iter().find(|language| language.name.eq_ignore_ascii_case(name));
    alias.map_or_else(named, |(_, lcid)| by_lcid(*lcid))
}

impl Language {
    /// What a word is a form of, as far as it matters for comparing: words with the same stem are forms of each other.
    #[must_use]
    pub fn stem(&self, word: &str) -> String {
        match self.algorithm {
            Some(algorithm) => Stemmer::create(algorithm).stem(word).into_owned(),
            None => word.to_owned(),
        }
    }

    /// The system's stop words of the language, each once, in order.
    #[must_use]
    pub fn stop_words(&self) -> Vec<String> {
        let own = stop_words::lookup(self.code).unwrap_or_default().iter().map(|word| word.to_lowercase());
        let signs = ('0'..='9').chain('a'..='z').map(String::from);
        let all: HashSet<String> = own.chain(signs).collect();
        let mut all: Vec<String> = all.into_iter().collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_found() {
        assert!(LANGUAGES.is_sorted_by_key(|l| l.lcid));
        assert_eq!(by_name("british english").map(|l| l.lcid), Some(2057));
        assert_eq!(by_name("us_english").map(|l| l.lcid), Some(ENGLISH));
        assert_eq!(by_lcid(2068).map(|l| l.name), Some("Bokmål"));
        assert!(by_name("Klingon").is_none() && by_lcid(7).is_none());
    }

    #[test]
    fn forms_have_one_stem() {
        let stem = |lcid, word| by_lcid(lcid).map(|l| l.stem(word)).unwrap_or_default();
        assert_eq!(stem(ENGLISH, "running"), stem(ENGLISH, "runs"));
        assert_eq!(stem(1031, "häuser"), stem(1031, "haus"));
        assert_eq!(stem(1036, "continua"), stem(1036, "continuait"));
        assert_eq!(stem(NEUTRAL, "running"), "running");
    }

    #[test]
    fn lists_of_stop_words() {
        let words = |lcid| by_lcid(lcid).map(Language::stop_words).unwrap_or_default();
        assert!(words(ENGLISH).contains(&"the".to_owned()) && words(ENGLISH).contains(&"7".to_owned()));
        assert!(words(1031).contains(&"nicht".to_owned()));
        assert_eq!(words(NEUTRAL).len(), 36);
    }
}
