//! The grammar of a full-text search condition, text to tree.
//!
//! ```text
//!   condition := all { (OR | '|') all }
//!   all       := part { (AND | '&') part | (AND NOT | '&!') part }
//!   part      := '(' condition ')' | FORMSOF(kind, simple, …) | ISABOUT(weighted, …) | NEAR(…) | term { (NEAR | '~') term }
//!   weighted  := part [WEIGHT(0.0 … 1.0)]
//!   NEAR(…)   := NEAR(term, …) | NEAR((term, …) [, distance | MAX [, TRUE | FALSE]])
//!   term      := word | '"' phrase '"' | '"' words '*"'
//! ```
//!
//! An asterisk makes a prefix only inside of quotation marks; outside it is passed over, as in the product. Conditions are as long as
//! [`LENGTH_MAX`] and as deep as [`DEPTH_MAX`] at most. Only parentheses make a tree deeper: what AND and OR join stands side by side in it, so that
//! whoever goes through a tree may do so by recursion.

use std::fmt;

/// Longest condition, in UTF-16 units: that of an `nvarchar`, as which the product takes them.
pub const LENGTH_MAX: usize = 4000;
/// Deepest nesting of parentheses.
pub const DEPTH_MAX: usize = 100;
/// Most terms of a NEAR, as in the product.
pub const NEAR_MAX: usize = 64;

/// A word or phrase, as it was written, without its quotation marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The text.
    pub text: String,
    /// Each of its words is the beginning of one: `"wor*"`.
    pub prefix: bool,
}

/// What FORMSOF asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// INFLECTIONAL: other forms of the word.
    Inflectional,
    /// THESAURUS: words of the same meaning.
    Thesaurus,
}

/// Terms close to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// The terms.
    pub terms: Vec<Term>,
    /// How many other words there may be between the first and the last; `None` for any number.
    pub distance: Option<u32>,
    /// The terms have to come in their order.
    pub ordered: bool,
    /// `a NEAR b`, which finds at any distance, with rank 0 beyond fifty words.
    pub generic: bool,
}

/// A search condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A word, phrase or prefix.
    Term(Term),
    /// FORMSOF: of any of these.
    Forms(Forms, Vec<String>),
    /// NEAR.
    Near(Near),
    /// ISABOUT: any of these, each with what it counts for the rank.
    Weighted(Vec<(Condition, f64)>),
    /// Every one of the first, of which there is one at least, and none of the others.
    All {
        /// Behind AND, and the first.
        of: Vec<Condition>,
        /// Behind AND NOT.
        but: Vec<Condition>,
    },
    /// Any of them.
    Any(Vec<Condition>),
}

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionError {
    /// There is nothing in it (7645).
    Empty,
    /// It cannot be read from this part on (7630).
    Syntax(String),
    /// It is longer than [`LENGTH_MAX`] (7630).
    Long,
    /// A weight that is not between 0 and 1 (7632).
    Weight,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConditionError::Empty => f.write_str("empty"),
            ConditionError::Syntax(near) => write!(f, "syntax error near '{near}'"),
            ConditionError::Long => f.write_str("too long"),
            ConditionError::Weight => f.write_str("weight out of range"),
        }
    }
}

impl std::error::Error for ConditionError {}

type Result<T> = std::result::Result<T, ConditionError>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted(Term),
    /// `( ) , ~`
    Sign(char),
    And,
    Not,
    Or,
}

/// Words that are no terms.
const RESERVED: [&str; 8] = ["AND", "OR", "NOT", "NEAR", "FORMSOF", "ISABOUT", "WEIGHT", "~"];

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(own) if own.eq_ignore_ascii_case(word))
    }

    fn text(&self) -> String {
        match self {
            Token::Word(word) => word.clone(),
            Token::Quoted(term) => term.text.clone(),
            Token::Sign(sign) => sign.to_string(),
            Token::And => "AND".to_owned(),
            Token::Not => "NOT".to_owned(),
            Token::Or => "OR".to_owned(),
        }
    }
}

/// Refuses a condition, or a text of FREETEXT, that is longer than [`LENGTH_MAX`].
pub fn check_length(text: &str) -> Result<()> {
    let long = text.encode_utf16().nth(LENGTH_MAX).is_some();
    if long { Err(ConditionError::Long) } else { Ok(()) }
}

/// Reads a condition of CONTAINS.
pub fn parse(text: &str) -> Result<Condition> {
    check_length(text)?;
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        return Err(ConditionError::Empty);
    }
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let condition = parser.condition()?;
    match parser.tokens.get(parser.at) {
        None => Ok(condition),
        Some(_) => Err(parser.unexpected()),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '"' => quoted(rest)?,
            '(' | ')' | ',' | '~' => (Token::Sign(first), 1),
            '&' => (Token::And, 1),
            '!' => (Token::Not, 1),
            '|' => (Token::Or, 1),
            _ => {
                let ends = |c: char| c.is_whitespace() || "\"(),~&|!".contains(c);
                let length = rest.find(ends).unwrap_or(rest.len());
                let word = rest.get(..length).unwrap_or_default();
                (word_token(word), length)
            }
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

fn word_token(word: &str) -> Token {
    match word.to_ascii_uppercase().as_str() {
        "AND" => Token::And,
        "OR" => Token::Or,
        "NOT" => Token::Not,
        _ => Token::Word(word.trim_end_matches('*').to_owned()),
    }
}

/// A text in quotation marks at the beginning of `rest`, in which two stand for one; and its length there.
fn quoted(rest: &str) -> Result<(Token, usize)> {
    let mut text = String::new();
    let mut signs = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = signs.next() {
        if c != '"' {
            text.push(c);
        } else if signs.next_if(|(_, next)| *next == '"').is_some() {
            text.push('"');
        } else {
            let prefix = text.trim_end().ends_with('*');
            return Ok((Token::Quoted(Term { text, prefix }), at + 1));
        }
    }
    Err(ConditionError::Syntax(text))
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(word));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Result<()> {
        if self.eat(&Token::Sign(sign)) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Near what is next, or near the end.
    fn unexpected(&self) -> ConditionError {
        let token = self.peek().or(self.tokens.last());
        ConditionError::Syntax(token.map(Token::text).unwrap_or_default())
    }

    fn condition(&mut self) -> Result<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.unexpected());
        }
        let first = self.all()?;
        let mut any = vec![first];
        while self.eat(&Token::Or) {
            any.push(self.all()?);
        }
        self.depth -= 1;
        Ok(if any.len() == 1 { any.remove(0) } else { Condition::Any(any) })
    }

    fn all(&mut self) -> Result<Condition> {
        let first = self.part()?;
        let (mut of, mut but) = (vec![first], Vec::new());
        while self.eat(&Token::And) {
            let others = if self.eat(&Token::Not) { &mut but } else { &mut of };
            others.push(self.part()?);
        }
        let alone = of.len() == 1 && but.is_empty();
        Ok(if alone { of.remove(0) } else { Condition::All { of, but } })
    }

    fn part(&mut self) -> Result<Condition> {
        if self.eat(&Token::Sign('(')) {
            let inner = self.condition()?;
            self.expect(')')?;
            return Ok(inner);
        }
        let called = self.tokens.get(self.at + 1) == Some(&Token::Sign('('));
        if called && self.eat_word("FORMSOF") {
            return self.forms();
        }
        if called && self.eat_word("ISABOUT") {
            return self.weighted();
        }
        if called && self.eat_word("NEAR") {
            return self.near().map(Condition::Near);
        }
        let first = self.term()?;
        let mut terms = vec![first];
        while self.eat(&Token::Sign('~')) || self.eat_word("NEAR") {
            if terms.len() == NEAR_MAX {
                return Err(self.unexpected());
            }
            terms.push(self.term()?);
        }
        Ok(match terms.len() {
            1 => Condition::Term(terms.remove(0)),
            _ => Condition::Near(Near { terms, distance: None, ordered: false, generic: true }),
        })
    }

    fn term(&mut self) -> Result<Term> {
        let term = match self.peek() {
            Some(Token::Quoted(term)) => term.clone(),
            Some(Token::Word(word)) if !RESERVED.iter().any(|r| r.eq_ignore_ascii_case(word)) => {
                Term { text: word.clone(), prefix: false }
            }
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(term)
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Parser) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(&Token::Sign(',')) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Behind FORMSOF.
    fn forms(&mut self) -> Result<Condition> {
        self.expect('(')?;
        let forms = if self.eat_word("INFLECTIONAL") {
            Forms::Inflectional
        } else if self.eat_word("THESAURUS") {
            Forms::Thesaurus
        } else {
            return Err(self.unexpected());
        };
        self.expect(',')?;
        let terms = self.list(Parser::term)?;
        self.expect(')')?;
        Ok(Condition::Forms(forms, terms.into_iter().map(|term| term.text).collect()))
    }

    /// Behind ISABOUT.
    fn weighted(&mut self) -> Result<Condition> {
        self.expect('(')?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.unexpected());
        }
        let parts = self.list(|p| {
            let part = p.part()?;
            Ok((part, p.weight()?))
        })?;
        self.depth -= 1;
        self.expect(')')?;
        Ok(Condition::Weighted(parts))
    }

    /// `WEIGHT(n)`, of which a decimal comma has made two parts when it was written so; 1 when it is not there.
    fn weight(&mut self) -> Result<f64> {
        if !self.eat_word("WEIGHT") {
            return Ok(1.0);
        }
        self.expect('(')?;
        let weight = match self.peek() {
            Some(Token::Word(word)) => word.parse::<f64>().ok(),
            _ => None,
        };
        let Some(weight) = weight else { return Err(self.unexpected()) };
        self.at += 1;
        self.expect(')')?;
        if (0.0..=1.0).contains(&weight) { Ok(weight) } else { Err(ConditionError::Weight) }
    }

    /// Behind NEAR.
    fn near(&mut self) -> Result<Near> {
        self.expect('(')?;
        let mut near = Near { terms: Vec::new(), distance: None, ordered: false, generic: false };
        if self.eat(&Token::Sign('(')) {
            near.terms = self.list(Parser::term)?;
            self.expect(')')?;
            if self.eat(&Token::Sign(',')) {
                near.distance = self.distance()?;
                if self.eat(&Token::Sign(',')) {
                    near.ordered = self.eat_word("TRUE");
                    if !near.ordered && !self.eat_word("FALSE") {
                        return Err(self.unexpected());
                    }
                }
            }
        } else {
            near.terms = self.list(Parser::term)?;
        }
        if !(2..=NEAR_MAX).contains(&near.terms.len()) {
            return Err(self.unexpected());
        }
        self.expect(')')?;
        Ok(near)
    }

    fn distance(&mut self) -> Result<Option<u32>> {
        if self.eat_word("MAX") {
            return Ok(None);
        }
        let distance = match self.peek() {
            Some(Token::Word(word)) => word.parse::<u32>().ok(),
            _ => None,
        };
        let Some(distance) = distance else { return Err(self.unexpected()) };
        self.at += 1;
        Ok(Some(distance))
    }
}

/// A condition as a text that reads as the same.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Term(term) => write!(f, "{term}"),
            Condition::Forms(kind, terms) => {
                let kind = match kind {
                    Forms::Inflectional => "INFLECTIONAL",
                    Forms::Thesaurus => "THESAURUS",
                };
                write!(f, "FORMSOF({kind}")?;
                terms.iter().try_for_each(|t| write!(f, ", {}", Term { text: t.clone(), prefix: false }))?;
                f.write_str(")")
            }
            Condition::Near(near) => write!(f, "{near}"),
            Condition::Weighted(parts) => {
                f.write_str("ISABOUT(")?;
                for (n, (part, weight)) in parts.iter().enumerate() {
                    let comma = if n == 0 { "" } else { ", " };
                    write!(f, "{comma}{part} WEIGHT({weight})")?;
                }
                f.write_str(")")
            }
            Condition::All { of, but } => {
                f.write_str("(")?;
                write_joined(f, of, " AND ")?;
                but.iter().try_for_each(|part| write!(f, " AND NOT {part}"))?;
                f.write_str(")")
            }
            Condition::Any(parts) => {
                f.write_str("(")?;
                write_joined(f, parts, " OR ")?;
                f.write_str(")")
            }
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, parts: &[Condition], between: &str) -> fmt::Result {
    parts
        .iter()
        .enumerate()
        .try_for_each(|(n, part)| write!(f, "{}{part}", if n == 0 { "" } else { between }))
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.text.replace('"', "\"\""))
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(Term::to_string).collect();
        if self.generic {
            return f.write_str(&terms.join(" NEAR "));
        }
        let distance = self.distance.map_or_else(|| "MAX".to_owned(), |n| n.to_string());
        let ordered = if self.ordered { "TRUE" } else { "FALSE" };
        write!(f, "NEAR(({}), {distance}, {ordered})", terms.join(", "))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        let got = match parse(text) {
            Ok(condition) => condition.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn conditions() {
        check("word", r#""word""#);
        check(r#" "a phrase" "#, r#""a phrase""#);
        check(r#""say ""hi""""#, r#""say ""hi""""#);
        check("wor*", r#""wor""#);
        check(r#""wor*" or x"#, r#"("wor*" OR "x")"#);
        check("a and b or c and not d", r#"(("a" AND "b") OR ("c" AND NOT "d"))"#);
        check("a & b | c &! d", r#"(("a" AND "b") OR ("c" AND NOT "d"))"#);
        check("a and b and not c and d or e or f", r#"(("a" AND "b" AND "d" AND NOT "c") OR "e" OR "f")"#);
        check("a and (b or c)", r#"("a" AND ("b" OR "c"))"#);
        check("a NEAR b ~ c", r#""a" NEAR "b" NEAR "c""#);
        check("near(a, \"b c\")", r#"NEAR(("a", "b c"), MAX, FALSE)"#);
        check("NEAR((a,b), 5, TRUE)", r#"NEAR(("a", "b"), 5, TRUE)"#);
        check("NEAR((a,b),max)", r#"NEAR(("a", "b"), MAX, FALSE)"#);
        check("formsof(inflectional, run, walk)", r#"FORMSOF(INFLECTIONAL, "run", "walk")"#);
        check("isabout(a weight(.5), b)", r#"ISABOUT("a" WEIGHT(0.5), "b" WEIGHT(1))"#);
        check("C++ AND wi-fi", r#"("C++" AND "wi-fi")"#);
    }

    #[test]
    fn what_is_no_condition() {
        check("", "empty");
        check("  ", "empty");
        check("two words", "syntax error near 'words'");
        check("\"open", "syntax error near 'open'");
        check("a AND", "syntax error near 'AND'");
        check("a OR NOT b", "syntax error near 'NOT'");
        check("NOT a", "syntax error near 'NOT'");
        check("(a", "syntax error near 'a'");
        check("a)", "syntax error near ')'");
        check("NEAR(a)", "syntax error near ')'");
        check("isabout(a weight(1.5))", "weight out of range");
        check("isabout(a weight(x))", "syntax error near 'x'");
        check(&"(".repeat(4000), "syntax error near '('");
        check(&"isabout(".repeat(500), "syntax error near 'isabout'");
        check(&"x".repeat(4001), "too long");
        check(&"a|".repeat(1_000_000), "too long");
        let near = |terms: usize| format!("near({})", vec!["a"; terms].join(","));
        assert!(parse(&near(64)).is_ok());
        check(&near(65), "syntax error near ')'");
        check(&vec!["a"; 65].join("~"), "syntax error near 'a'");
    }

    /// A million operands of one AND or OR are no deeper than two: they are written and dropped.
    #[test]
    fn wide_conditions() {
        let many = || vec![Condition::Term(Term { text: "a".to_owned(), prefix: false }); 1_000_000];
        assert_eq!(Condition::Any(many()).to_string().matches(" OR ").count(), 999_999);
        assert_eq!(
            Condition::All { of: many(), but: many() }.to_string().matches(" AND ").count(),
            1_999_999
        );
        let widest = parse(&vec!["a"; 2000].join("&"));
        assert!(matches!(widest, Ok(Condition::All { of, .. }) if of.len() == 2000));
    }

    /// Conditions over a few words, two levels deep.
    pub(crate) fn conditions_of(words: &'static [&'static str]) -> impl Strategy<Value = Condition> {
        let word = move || prop::sample::select(words).prop_map(str::to_owned);
        let text = move || prop_oneof![word(), (word(), word()).prop_map(|(a, b)| format!("{a} {b}"))];
        let term = move || {
            let plain = text().prop_map(|text| Term { text, prefix: false });
            let prefix = word().prop_map(|word| Term { text: format!("{}*", &word[..1]), prefix: true });
            prop_oneof![3 => plain, 1 => prefix]
        };
        let near =
            (prop::collection::vec(term(), 2..4), prop::option::of(0_u32..4), any::<bool>(), any::<bool>());
        let near = near.prop_map(|(terms, distance, ordered, generic)| match generic {
            true => Near { terms, distance: None, ordered: false, generic },
            false => Near { terms, distance, ordered, generic },
        });
        let forms = prop::collection::vec(text(), 1..3);
        let leaf = prop_oneof![
            4 => term().prop_map(Condition::Term),
            1 => near.prop_map(Condition::Near),
            1 => forms.prop_map(|terms| Condition::Forms(Forms::Inflectional, terms)),
        ];
        leaf.prop_recursive(3, 8, 2, |inner| {
            let some = |least: usize| prop::collection::vec(inner.clone(), least..4);
            let weighted = prop::collection::vec((inner.clone(), 0_u8..=4), 1..3);
            let all = (some(1), some(0)).prop_filter("two at least", |(of, but)| of.len() + but.len() > 1);
            prop_oneof![
                all.prop_map(|(of, but)| Condition::All { of, but }),
                some(2).prop_map(Condition::Any),
                weighted.prop_map(|parts| {
                    Condition::Weighted(parts.into_iter().map(|(c, w)| (c, f64::from(w) / 4.0)).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn texts_come_back(condition in conditions_of(&["alpha", "beta", "say \"x\"", "and"])) {
            prop_assert_eq!(parse(&condition.to_string()), Ok(condition));
        }

        #[test]
        fn any_text_is_taken(text in ".{0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_parts_are_taken(
            parts in prop::collection::vec(
                prop::sample::select(&["a", "\"b c\"", "\"", "(", ")", ",", "AND", "NOT", "OR", "NEAR", "~", "&!", "ISABOUT",
                    "WEIGHT", "0.5", "FORMSOF", "INFLECTIONAL", "5", "TRUE", "*"][..]),
                0..20,
            )
        ) {
            if let Ok(condition) = parse(&parts.join(" ")) {
                prop_assert_eq!(parse(&condition.to_string()), Ok(condition));
            }
        }
    }
}
