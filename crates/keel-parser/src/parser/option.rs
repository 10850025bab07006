//! The generic option lists: `NAME = value, NAME value, NAME`, in parentheses or bare.
//!
//! Dozens of statements take such lists; the statements that act on them check names and values, the grammar only
//! keeps them apart. Names are upper case, words of one name are joined by one space.

use super::Parser;
use crate::ast::{Ident, Opt, OptValue, Span};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::{SmolStr, StrExt as _};

/// Words that continue an option's name: the name is two words when the first of a pair is followed by the second.
const TWO_WORD_NAMES: [(&str, &str); 14] = [
    ("MOVE", "TO"),
    ("NO", "CREDENTIAL"),
    ("NO", "LOG"),
    ("PRIVATE", "KEY"),
    ("MAX", "SIZE"),
    ("CHANGE", "TRACKING"),
    ("ADD", "SIGNATURE"),
    ("PAGE", "VERIFY"),
    ("WAIT_AT_LOW_PRIORITY", "ABORT_AFTER_WAIT"),
    ("SERVER", "CERTIFICATE"),
    ("SERVER", "ASYMMETRIC"),
    ("DEFAULT", "FULLTEXT_LANGUAGE"),
    ("PRIMARY", "ROLE"),
    ("SECONDARY", "ROLE"),
];

impl Parser<'_> {
    /// `( option, … )`
    pub(super) fn options_in_parentheses(&mut self) -> Result<Vec<Opt>> {
        self.expect(Tok::LParen)?;
        let options = self.nested(|p| p.option_list())?;
        self.expect(Tok::RParen)?;
        Ok(options)
    }

    /// `option, …`
    pub(super) fn option_list(&mut self) -> Result<Vec<Opt>> {
        self.list(Self::option)
    }

    /// `[WITH] ( options )` or `WITH option, …` behind an index: the old form lists bare words.
    pub(super) fn with_options(&mut self) -> Result<Vec<Opt>> {
        if !self.at_kw(Kw::WITH) {
            return Ok(Vec::new());
        }
        self.bump();
        if self.tok() == Tok::LParen { self.options_in_parentheses() } else { self.list(Self::old_option) }
    }

    /// `PAD_INDEX`, `FILLFACTOR = 80`: without parentheses an ON behind the options names the filegroup.
    fn old_option(&mut self) -> Result<Opt> {
        let start = self.span();
        let name = self.option_name()?;
        let value = if self.eat(Tok::Eq) { self.value_after_equals()? } else { OptValue::None };
        Ok(Opt { name, value, span: self.since(start) })
    }

    pub(super) fn option(&mut self) -> Result<Opt> {
        let start = self.span();
        let name = self.option_name()?;
        let value = self.option_value()?;
        // ORDER (column ASC) of a bulk load: the direction of a hint about rows to come is not kept.
        let _ = self.eat_kw(Kw::ASC) || self.eat_kw(Kw::DESC);
        Ok(Opt { name, value, span: self.since(start) })
    }

    fn option_name(&mut self) -> Result<SmolStr> {
        // Names of schema objects and strings name options too (event targets, server names in lists).
        if matches!(self.tok(), Tok::Quoted | Tok::Str | Tok::NStr) {
            return Ok(self.take_ident().text);
        }
        let first = self.upper_word()?;
        for (head, tail) in TWO_WORD_NAMES {
            if first == head && self.at_word(tail) {
                self.bump();
                if tail == "ASYMMETRIC" {
                    self.eat_kw(Kw::KEY);
                }
                return Ok(SmolStr::from(format!("{head} {tail}")));
            }
        }
        Ok(first)
    }

    /// What follows an option's name: `= value`, a bare value, a list, or nothing.
    fn option_value(&mut self) -> Result<OptValue> {
        if self.eat(Tok::Eq) {
            return self.value_after_equals();
        }
        match self.tok() {
            Tok::LParen => Ok(OptValue::List(self.options_in_parentheses()?)),
            // `RESAMPLE ON PARTITIONS (1, 3 TO 5)`
            Tok::Kw(Kw::ON) if self.word_ahead(1, "PARTITIONS") => {
                self.bump();
                let partitions = self.any_word()?;
                Ok(OptValue::WordList(partitions, self.options_or_values()?))
            }
            Tok::Kw(Kw::ON) => self.switch(),
            Tok::Kw(Kw::OFF) => self.switch(),
            Tok::Kw(Kw::NULL | Kw::DEFAULT | Kw::FULL | Kw::ALL | Kw::NOT) | Tok::Word | Tok::Quoted => {
                self.words_value()
            }
            Tok::Str | Tok::NStr | Tok::Int | Tok::Decimal | Tok::Minus | Tok::Variable => {
                self.value_after_equals()
            }
            _ => Ok(OptValue::None),
        }
    }

    fn value_after_equals(&mut self) -> Result<OptValue> {
        match self.tok() {
            Tok::Str | Tok::NStr => Ok(OptValue::String(self.string()?)),
            Tok::Variable => Ok(OptValue::Variable(self.variable()?)),
            Tok::LParen => Ok(OptValue::List(self.options_or_values()?)),
            Tok::Kw(Kw::ON | Kw::OFF) => self.switch(),
            Tok::Word | Tok::Quoted | Tok::Kw(_) => self.words_value(),
            _ => self.measure(),
        }
    }

    /// ON or OFF; ON may open a list of further settings.
    fn switch(&mut self) -> Result<OptValue> {
        let span = self.span();
        if self.on_off()? {
            if self.tok() == Tok::LParen {
                let word = Ident { text: SmolStr::new_static("ON"), quoted: false, span };
                return Ok(OptValue::WordList(word, self.options_or_values()?));
            }
            if self.at_kw(Kw::ON) && self.word_ahead(1, "PARTITIONS") {
                self.at += 2;
                let word = Ident { text: SmolStr::new_static("ON"), quoted: false, span };
                return Ok(OptValue::WordList(word, self.options_or_values()?));
            }
            return Ok(OptValue::On);
        }
        // REMOTE_DATA_ARCHIVE = OFF (MIGRATION_STATE = PAUSED)
        if self.tok() == Tok::LParen {
            self.options_or_values()?;
        }
        Ok(OptValue::Off)
    }

    /// A number with its unit, if it has one.
    fn measure(&mut self) -> Result<OptValue> {
        let number = self.signed_literal_or_binary()?;
        if self.eat(Tok::Percent) {
            return Ok(OptValue::Measure(number, SmolStr::new_static("%")));
        }
        const UNITS: [&str; 20] = [
            "KB", "MB", "GB", "TB", "PERCENT", "SECONDS", "SECOND", "MINUTES", "MINUTE", "HOURS", "DAYS",
            "DAY", "WEEKS", "WEEK", "MS", "MONTHS", "MONTH", "YEARS", "YEAR", "ROWS",
        ];
        Ok(match self.one_of(&UNITS) {
            Some(unit) => OptValue::Measure(number, SmolStr::new_static(unit)),
            None => OptValue::Number(number),
        })
    }

    fn signed_literal_or_binary(&mut self) -> Result<crate::ast::Literal> {
        if self.tok() == Tok::Binary {
            return self.literal()?.ok_or_else(|| self.unexpected());
        }
        self.signed_literal()
    }

    /// A word, dotted names included; a parenthesis behind it is a list.
    fn words_value(&mut self) -> Result<OptValue> {
        let first = self.any_word()?;
        let mut word = first.clone();
        if self.tok() == Tok::Dot {
            while self.eat(Tok::Dot) {
                self.any_word()?;
            }
            let span = self.since(first.span);
            word = Ident { text: SmolStr::new(span.text(self.text)), quoted: false, span };
        }
        if self.tok() == Tok::LParen {
            return Ok(OptValue::WordList(word, self.options_or_values()?));
        }
        if self.at_kw(Kw::ON) && self.word_ahead(1, "PARTITIONS") {
            self.at += 2;
            return Ok(OptValue::WordList(word, self.options_or_values()?));
        }
        Ok(OptValue::Word(word))
    }

    /// `( … )` of options, where an element may also be a bare number, string, range (`TO` with a list of both ends) or further list.
    fn options_or_values(&mut self) -> Result<Vec<Opt>> {
        self.expect(Tok::LParen)?;
        if self.eat(Tok::RParen) {
            return Ok(Vec::new());
        }
        let items = self.nested(|p| p.list(Self::option_or_value))?;
        self.expect(Tok::RParen)?;
        Ok(items)
    }

    fn option_or_value(&mut self) -> Result<Opt> {
        let span: Span = self.span();
        match self.tok() {
            Tok::Int | Tok::Decimal | Tok::Binary | Tok::Minus => {
                let value = self.measure()?;
                if self.eat_kw(Kw::TO) {
                    let end = OptValue::Number(self.signed_literal()?);
                    let ends = [value, end].map(|value| Opt { name: SmolStr::default(), value, span });
                    let value = OptValue::List(ends.to_vec());
                    return Ok(Opt { name: SmolStr::new_static("TO"), value, span: self.since(span) });
                }
                Ok(Opt { name: SmolStr::default(), value, span: self.since(span) })
            }
            Tok::Variable => {
                let value = OptValue::Variable(self.variable()?);
                Ok(Opt { name: SmolStr::default(), value, span: self.since(span) })
            }
            Tok::LParen => {
                let value = OptValue::List(self.options_or_values()?);
                Ok(Opt { name: SmolStr::default(), value, span: self.since(span) })
            }
            Tok::Str | Tok::NStr => {
                let name = self.string()?;
                let value = if self.eat(Tok::Eq) { self.value_after_equals()? } else { OptValue::None };
                Ok(Opt { name, value, span: self.since(span) })
            }
            _ => self.option(),
        }
    }

    /// Everything up to the end of the statement, as upper-case words: statements that are accepted or refused as
    /// a whole.
    pub(super) fn rest_of_statement(&mut self) -> Result<Vec<Opt>> {
        let mut options = Vec::new();
        let mut open = 0u32;
        loop {
            match self.tok() {
                Tok::Eof => break,
                Tok::Semi if open == 0 => break,
                Tok::LParen => open += 1,
                Tok::RParen if open == 0 => break,
                Tok::RParen => open -= 1,
                _ => {}
            }
            let span = self.span();
            let token = self.bump();
            let name = match token.tok {
                Tok::Str | Tok::NStr | Tok::Quoted => SmolStr::new(self.raw(token)),
                _ => self.raw(token).to_uppercase_smolstr(),
            };
            options.push(Opt { name, value: OptValue::None, span });
        }
        Ok(options)
    }
}
