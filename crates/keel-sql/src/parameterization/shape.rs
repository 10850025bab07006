//! The shape of a text: what it is but for the values of its literals.

use crate::program::Slot;
use keel_parser::ast::Literal;
use keel_parser::keyword::Kw;
use keel_parser::lexer::{Tok, Token, tokenize};
use keel_types::{Decimal, Length, SqlType, Value};
use std::fmt::Write as _;

/// More parameters than that nobody may have (the product's limit of a call). A text with more literals stays as it is.
pub const PARAMETERS_MAX: usize = 2_100;
/// Longer texts stay as they are, bytes.
const TEXT_MAX: usize = 64 * 1024;
/// Strings of up to so many bytes have the longest limited type whatever the code page is; longer ones are `max`.
const LIMITED_BYTES_MAX: usize = 4_000;
/// Stands in a shape where a literal does; no token has it.
const LITERAL: char = '\u{1}';

/// A literal of a text.
pub struct Written {
    /// First byte.
    pub start: u32,
    /// Its value.
    pub value: Value,
    /// The type of a parameter in its place.
    pub ty: SqlType,
}

/// A text in tokens, with its literals.
pub struct Shape<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    /// In their order.
    pub literals: Vec<Written>,
}

impl<'t> Shape<'t> {
    /// That of a text which may have parameters; `None` of one that has no literals, is none of the statements that can have any, reads
    /// variables, or is no T-SQL.
    pub fn of(text: &'t str, quoted_identifier: bool) -> Option<Shape<'t>> {
        if text.len() > TEXT_MAX || !may_have_parameters(text) {
            return None;
        }
        let tokens = tokenize(text, quoted_identifier).ok()?;
        let mut literals = Vec::new();
        for token in &tokens {
            if token.tok == Tok::Variable {
                return None;
            }
            if is_literal(token.tok) {
                let raw = raw(text, token);
                let (value, ty) = typed(keel_parser::read_literal(raw, *token).ok()??);
                literals.push(Written { start: token.start, value, ty });
            }
        }
        let usable = !literals.is_empty() && literals.len() <= PARAMETERS_MAX;
        usable.then_some(Shape { text, tokens, literals })
    }

    /// Equal for texts that differ in white space between lines' ends, comments, and the values of literals; of those that are no
    /// parameters (`parameters` says which are) not in these either.
    pub fn key(&self, parameters: Option<&[bool]>) -> String {
        let mut key = String::with_capacity(self.text.len() + self.tokens.len());
        let (mut line, mut nth) = (1, 0);
        for token in &self.tokens {
            let behind = token.line - line;
            line = token.line;
            match behind {
                0 => key.push(' '),
                lines => key.extend(std::iter::repeat_n('\n', lines as usize)),
            }
            let raw = raw(self.text, token);
            if !is_literal(token.tok) {
                key.push_str(raw);
                continue;
            }
            if parameters.is_none_or(|is_parameter| is_parameter[nth]) {
                write_type(&mut key, self.literals[nth].ty);
            } else {
                key.push_str(raw);
            }
            nth += 1;
        }
        key
    }

    /// The values of the literals that are parameters, in their order.
    pub fn values(self, parameters: Option<&[bool]>) -> Vec<Value> {
        let is_parameter = |nth: usize| parameters.is_none_or(|parameters| parameters[nth]);
        let literals = self.literals.into_iter().enumerate();
        literals.filter(|(nth, _)| is_parameter(*nth)).map(|(_, literal)| literal.value).collect()
    }

    /// The tokens, with the number of the parameter that stands in the place of each, if one does.
    pub fn with_parameters<'s>(
        &'s self,
        parameters: &'s [bool],
    ) -> impl Iterator<Item = (Token, &'t str, Option<Slot>)> + 's {
        let (mut nth, mut slot) = (0, 0);
        self.tokens.iter().filter(|token| token.tok != Tok::Eof).map(move |token| {
            let mut put = None;
            if is_literal(token.tok) {
                if parameters[nth] {
                    put = Some(slot);
                    slot += 1;
                }
                nth += 1;
            }
            (*token, raw(self.text, token), put)
        })
    }
}

fn raw<'t>(text: &'t str, token: &Token) -> &'t str {
    text.get(token.start as usize..token.end as usize).unwrap_or_default()
}

fn is_literal(tok: Tok) -> bool {
    matches!(tok, Tok::Str | Tok::NStr | Tok::Int | Tok::Decimal | Tok::Float | Tok::Money | Tok::Binary)
}

/// Whether a text begins like a query or change, or what goes with these. Others are not worth reading.
fn may_have_parameters(text: &str) -> bool {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    if end == 0 {
        // A comment, or a parenthesis.
        return !text.is_empty();
    }
    let word = Kw::lookup(&text[..end]);
    matches!(
        word,
        Some(Kw::SELECT | Kw::INSERT | Kw::UPDATE | Kw::DELETE | Kw::MERGE | Kw::WITH | Kw::BEGIN | Kw::SET)
    )
}

/// The value of a literal, and the type of a parameter in its place: of strings and bytes the longest of their kind, so that those of one
/// place are alike.
fn typed(literal: Literal) -> (Value, SqlType) {
    match literal {
        Literal::Null => (Value::Null, SqlType::Int),
        Literal::Int(n) => (Value::Int(i64::from(n)), SqlType::Int),
        Literal::Numeric { mantissa, precision, scale } => {
            (Value::Decimal(Decimal::new(mantissa, scale)), SqlType::Numeric { precision, scale })
        }
        Literal::Float(f) => (Value::Float(f), SqlType::Float),
        Literal::Money(m) => (Value::Money(m), SqlType::Money),
        Literal::String { value, national } => {
            let length =
                |limit| if value.len() > LIMITED_BYTES_MAX { Length::Max } else { Length::Limited(limit) };
            let ty = if national { SqlType::NVarChar(length(4000)) } else { SqlType::VarChar(length(8000)) };
            (Value::Str(value), ty)
        }
        Literal::Binary(bytes) => {
            let length = if bytes.len() > 8000 { Length::Max } else { Length::Limited(8000) };
            (Value::Bytes(bytes), SqlType::VarBinary(length))
        }
    }
}

fn write_type(key: &mut String, ty: SqlType) {
    key.push(LITERAL);
    let letter = match ty {
        SqlType::Int => 'i',
        SqlType::Float => 'f',
        SqlType::Money => 'm',
        SqlType::VarChar(Length::Max) => 'S',
        SqlType::VarChar(_) => 's',
        SqlType::NVarChar(Length::Max) => 'N',
        SqlType::NVarChar(_) => 'n',
        SqlType::VarBinary(Length::Max) => 'B',
        SqlType::VarBinary(_) => 'b',
        other => {
            let _ = write!(key, "{other}");
            return;
        }
    };
    key.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> String {
        Shape::of(text, true).expect("it has literals").key(None)
    }

    #[test]
    fn texts_that_differ_in_values_have_one_shape() {
        let one = key("SELECT * FROM t WHERE a = 1 AND b = 'x'");
        assert_eq!(one, key("SELECT  *  FROM t WHERE a=23 /* which? */ AND b = 'it''s'"));
        for other in [
            "SELECT * FROM t WHERE a = 1 AND b = N'x'",
            "SELECT * FROM t WHERE a = 1.5 AND b = 'x'",
            "SELECT * FROM t WHERE a = 1 AND c = 'x'",
            "SELECT * FROM t WHERE a = 1\nAND b = 'x'",
            "SELECT * FROM t WHERE a = -1 AND b = 'x'",
        ] {
            assert_ne!(one, key(other), "{other}");
        }
        assert_ne!(key("SELECT 1.5"), key("SELECT 1.55"), "numbers with other digits are of other types");
        assert_ne!(key("SELECT 1"), key("SELECT 3000000000"));
    }

    #[test]
    fn literals_that_are_no_parameters_are_part_of_it() {
        let shape = |text| Shape::of(text, true).expect("it has literals");
        let (a, b) = (shape("SELECT 'a' FROM t WHERE c = 1"), shape("SELECT 'a' FROM t WHERE c = 2"));
        let second = [false, true];
        assert_eq!(a.key(Some(&second)), b.key(Some(&second)));
        assert_ne!(a.key(Some(&second)), shape("SELECT 'b' FROM t WHERE c = 1").key(Some(&second)));
        assert!(matches!(b.values(Some(&second))[..], [Value::Int(2)]));
    }

    #[test]
    fn what_cannot_have_parameters_has_no_shape() {
        for text in [
            "EXEC p 1",
            "SELECT a FROM t",
            "SELECT @a + 1",
            "SELECT 'open",
            "PRINT 1",
            "",
            "DECLARE @a int = 1",
        ] {
            assert!(Shape::of(text, true).is_none(), "{text}");
        }
        assert!(Shape::of("-- why\nSELECT 1", true).is_some());
        let many = format!("SELECT * FROM t WHERE a IN (1{})", ", 1".repeat(PARAMETERS_MAX));
        assert!(Shape::of(&many, true).is_none());
    }
}
