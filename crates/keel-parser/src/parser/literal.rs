//! Literals: the value and type that a spelling gives.

use super::Parser;
use crate::ast::{Expr, ExprKind, Ident, Literal, UnaryOp};
use crate::error::{ParseError, Result};
use crate::lexer::{self, Tok, Token};
use smol_str::SmolStr;

/// Most digits of a numeric literal.
const PRECISION_MAX: usize = 38;

/// Most characters of an `int` literal; one with more zeros in front is numeric.
const INT_LENGTH_MAX: usize = 11;

impl Parser<'_> {
    /// The literal at the current token, if it is one.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>> {
        let token = self.token();
        let literal = read(self.raw(token), token)?;
        if literal.is_some() {
            self.bump();
        }
        Ok(literal)
    }

    /// A whole number with an optional sign, as option values have it.
    pub(super) fn signed_literal(&mut self) -> Result<Literal> {
        let negative = self.eat(Tok::Minus);
        if !negative {
            self.eat(Tok::Plus);
        }
        let at = self.at;
        match self.literal()? {
            Some(Literal::Int(n)) if negative => Ok(Literal::Int(-n)),
            Some(Literal::Numeric { mantissa, precision, scale }) if negative => {
                if scale == 0 && mantissa == 1 << 31 {
                    return Ok(Literal::Int(i32::MIN));
                }
                Ok(Literal::Numeric { mantissa: -mantissa, precision, scale })
            }
            Some(Literal::Float(f)) if negative => Ok(Literal::Float(-f)),
            Some(Literal::Money(m)) if negative => Ok(Literal::Money(-m)),
            Some(
                number @ (Literal::Int(_) | Literal::Numeric { .. } | Literal::Float(_) | Literal::Money(_)),
            ) => Ok(number),
            _ => Err(self.unexpected_at(at)),
        }
    }

    /// A number that fits `int`, with an optional sign.
    pub(super) fn int(&mut self) -> Result<i32> {
        let at = self.at;
        match self.signed_literal()? {
            Literal::Int(n) => Ok(n),
            _ => Err(self.unexpected_at(at)),
        }
    }

    /// A number that fits `bigint`.
    pub(super) fn bigint(&mut self) -> Result<i64> {
        let at = self.at;
        self.signed_literal()?.as_i64().ok_or_else(|| self.unexpected_at(at))
    }

    pub(super) fn at_string(&self) -> bool {
        matches!(self.tok(), Tok::Str | Tok::NStr)
    }

    /// A string literal's text.
    pub(super) fn string(&mut self) -> Result<SmolStr> {
        if self.at_string() { Ok(self.take_ident().text) } else { Err(self.unexpected()) }
    }

    /// A signed literal, variable or NULL/string: where the grammar has no full expression (RAISERROR, EXEC, TOP without parentheses).
    pub(super) fn simple_value(&mut self) -> Result<Expr> {
        let start = self.span();
        let kind = match self.tok() {
            Tok::Variable => ExprKind::Variable(self.variable()?.name),
            Tok::Global => {
                let token = self.bump();
                ExprKind::GlobalVariable(SmolStr::new(self.raw(token)))
            }
            Tok::Minus | Tok::Plus => {
                let op = if self.bump().tok == Tok::Minus { UnaryOp::Minus } else { UnaryOp::Plus };
                let operand_start = self.span();
                let literal = self.literal()?.ok_or_else(|| self.unexpected())?;
                let operand = Expr { kind: ExprKind::Literal(literal), span: self.since(operand_start) };
                ExprKind::Unary { op, operand: Box::new(operand) }
            }
            _ => ExprKind::Literal(self.literal()?.ok_or_else(|| self.unexpected())?),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// A bare word as the string literal that it means.
    pub(super) fn word_as_string(word: Ident) -> Expr {
        Expr {
            span: word.span,
            kind: ExprKind::Literal(Literal::String { value: word.text, national: true }),
        }
    }
}

/// The literal that a token is, if it is one; `raw` is its text.
///
/// # Errors
/// 168, 293, 1007: a number that nothing holds.
pub fn read(raw: &str, token: Token) -> Result<Option<Literal>> {
    Ok(Some(match token.tok {
        Tok::Int => integer(raw, token)?,
        Tok::Decimal => decimal(raw, token)?,
        Tok::Float => float(raw, token)?,
        Tok::Money => money(raw, token)?,
        Tok::Binary => binary(&raw[2..]),
        Tok::Str => Literal::String { value: string_value(raw), national: false },
        Tok::NStr => Literal::String { value: string_value(&raw[1..]), national: true },
        Tok::Kw(crate::keyword::Kw::NULL) => Literal::Null,
        _ => return Ok(None),
    }))
}

fn integer(raw: &str, token: Token) -> Result<Literal> {
    match raw.parse::<i32>() {
        Ok(n) if raw.len() <= INT_LENGTH_MAX => Ok(Literal::Int(n)),
        _ => decimal(raw, token),
    }
}

fn decimal(raw: &str, token: Token) -> Result<Literal> {
    let (whole, fraction) = raw.split_once('.').unwrap_or((raw, ""));
    let whole = whole.trim_start_matches('0');
    let (digits, scale) = (whole.len() + fraction.len(), fraction.len());
    if digits > PRECISION_MAX {
        let message = format!(
            "The number '{raw}' is out of the range for numeric representation (maximum precision 38)."
        );
        return Err(ParseError::new(1007, token.line, message));
    }
    let mantissa = whole.bytes().chain(fraction.bytes()).fold(0i128, |m, b| m * 10 + i128::from(b - b'0'));
    // Both fit: at most 38 digits.
    Ok(Literal::Numeric { mantissa, precision: digits.max(1) as u8, scale: scale as u8 })
}

/// The text of a string: quotes undone, and a backslash at a line's end joins it with the next.
fn string_value(raw: &str) -> SmolStr {
    let text = lexer::unquote(raw);
    if text.contains("\\\n") || text.contains("\\\r\n") {
        return SmolStr::from(text.replace("\\\r\n", "").replace("\\\n", ""));
    }
    SmolStr::from(text)
}

fn float(raw: &str, token: Token) -> Result<Literal> {
    let (mantissa, exponent) = raw.split_once(['e', 'E']).unwrap_or((raw, ""));
    // The product reads `1e` as 1e0.
    let exponent = if exponent.bytes().any(|b| b.is_ascii_digit()) { exponent } else { "0" };
    let mantissa = if mantissa == "." { "0" } else { mantissa };
    match format!("{mantissa}e{exponent}").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Literal::Float(value)),
        _ => {
            let text = format!(
                "The floating point value '{raw}' is out of the range of computer representation (8 bytes)."
            );
            Err(ParseError::new(168, token.line, text))
        }
    }
}

/// Ten-thousandths; further digits round half up.
fn money(raw: &str, token: Token) -> Result<Literal> {
    let number: String = raw.chars().skip(1).filter(|c| *c != ',').collect();
    let (negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.as_str()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let too_large = || {
        let text =
            format!("The money value '{raw}' is out of the range of computer representation (8 bytes).");
        ParseError::new(293, token.line, text)
    };
    let mut value: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
    if value > i128::from(i64::MAX) {
        return Err(too_large());
    }
    let mut digits = fraction.bytes().map(|b| i128::from(b - b'0'));
    for _ in 0..4 {
        value = value * 10 + digits.next().unwrap_or(0);
    }
    value += i128::from(digits.next().unwrap_or(0) >= 5);
    let value = if negative { -value } else { value };
    i64::try_from(value).map(Literal::Money).map_err(|_| too_large())
}

/// An odd number of digits has a zero in front.
fn binary(digits: &str) -> Literal {
    let nibble = |b: u8| char::from(b).to_digit(16).unwrap_or(0) as u8;
    let digits = digits.as_bytes();
    let (head, rest) = digits.split_at(digits.len() % 2);
    let mut bytes: Vec<u8> = head.iter().map(|b| nibble(*b)).collect();
    bytes.extend(rest.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
    Literal::Binary(bytes.into())
}
