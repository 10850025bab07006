//! Text to tokens, in one pass over the bytes.
//!
//! A token is its kind, its byte range and its line; values (numbers, strings without their quotes) are read from
//! the text by the parser when it needs them. Comments and white space leave no token. Block comments nest.
//! The last token is always [`Tok::Eof`].

use crate::error::{ParseError, Result};
use crate::keyword::Kw;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Tok {
    Eof,
    /// An unquoted name that is no reserved word, `#temp` included.
    Word,
    Kw(Kw),
    /// `[name]` or `"name"`
    Quoted,
    /// `@name`
    Variable,
    /// `@@name`
    Global,
    /// `'text'`
    Str,
    /// `N'text'`
    NStr,
    Int,
    Decimal,
    Float,
    Money,
    Binary,
    /// `$name`
    Pseudo,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Comma,
    Semi,
    Dot,
    Colon,
    DoubleColon,
    Question,
    Eq,
    Lt,
    Gt,
    Le,
    Ge,
    /// `<>`
    Ne,
    /// `!=`
    BangEq,
    /// `!<`
    NotLt,
    /// `!>`
    NotGt,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Amp,
    Pipe,
    Caret,
    Tilde,
    PlusEq,
    MinusEq,
    StarEq,
    SlashEq,
    PercentEq,
    AmpEq,
    PipeEq,
    CaretEq,
    Shl,
    Shr,
    Concat,
    /// A character that is nothing.
    Other,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Kind.
    pub tok: Tok,
    /// First byte.
    pub start: u32,
    /// Byte behind the last.
    pub end: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

/// Longest identifier in characters.
pub const IDENT_CHARS_MAX: usize = 128;

/// The largest batch in bytes: the product's 65,536 packets of 4 KB.
pub const TEXT_BYTES_MAX: usize = 256 << 20;

/// Splits a text into tokens.
///
/// # Errors
/// 103, 105, 113, 1038 with the line where the trouble began.
pub fn tokenize(text: &str, quoted_identifier: bool) -> Result<Vec<Token>> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(ParseError::new(
            8632,
            1,
            "Internal error: An expression services limit has been reached.",
        ));
    }
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
        quoted_identifier,
        out: Vec::with_capacity(text.len() / 4),
    };
    lexer.run()?;
    Ok(lexer.out)
}

/// What `@@` stands in front of when it is a value of the server. Any other such name is a variable's.
const GLOBALS: [&str; 34] = [
    "CONNECTIONS",
    "CPU_BUSY",
    "CURSOR_ROWS",
    "DATEFIRST",
    "DBTS",
    "ERROR",
    "FETCH_STATUS",
    "IDENTITY",
    "IDLE",
    "IO_BUSY",
    "LANGID",
    "LANGUAGE",
    "LOCK_TIMEOUT",
    "MAX_CONNECTIONS",
    "MAX_PRECISION",
    "MICROSOFTVERSION",
    "NESTLEVEL",
    "OPTIONS",
    "PACKET_ERRORS",
    "PACK_RECEIVED",
    "PACK_SENT",
    "PROCID",
    "REMSERVER",
    "ROWCOUNT",
    "SERVERNAME",
    "SERVICENAME",
    "SPID",
    "TEXTSIZE",
    "TIMETICKS",
    "TOTAL_ERRORS",
    "TOTAL_READ",
    "TOTAL_WRITE",
    "TRANCOUNT",
    "VERSION",
];

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    quoted_identifier: bool,
    out: Vec<Token>,
}

/// A currency sign, beside the dollar, that begins a money literal.
fn is_currency(c: char) -> bool {
    matches!(
        c,
        '¢'..='¥' | '৲' | '৳' | '฿' | '៛' | '₠'..='₱' | '﷼' | '﹩' | '＄' | '￠' | '￡' | '￥' | '￦'
    )
}

fn is_ident_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'@' | b'#' | b'$')
}

impl Lexer<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) -> Result<()> {
        loop {
            self.skip_blank()?;
            let (start, line) = (self.at, self.line);
            let tok = if self.at >= self.bytes.len() { Tok::Eof } else { self.token()? };
            self.out.push(Token { tok, start: start as u32, end: self.at as u32, line });
            if tok == Tok::Eof {
                return Ok(());
            }
            debug_assert!(self.at > start, "a token has at least one byte");
        }
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            match self.byte(0) {
                _ if self.at >= self.bytes.len() => return Ok(()),
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                0..=b' ' => self.at += 1,
                b'-' if self.byte(1) == b'-' => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.byte(1) == b'*' => self.skip_comment()?,
                b if b >= 0x80 => match self.text[self.at..].chars().next() {
                    Some(c) if c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}') => {
                        self.at += c.len_utf8()
                    }
                    _ => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<()> {
        let mut depth = 0usize;
        while self.at < self.bytes.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (b, _) => {
                    self.line += u32::from(b == b'\n');
                    self.at += 1;
                }
            }
        }
        Err(ParseError::new(113, self.line, "Missing end comment mark '*/'."))
    }

    fn token(&mut self) -> Result<Tok> {
        match self.byte(0) {
            b'\'' => self.string(Tok::Str),
            b'N' | b'n' if self.byte(1) == b'\'' => {
                self.at += 1;
                self.string(Tok::NStr)
            }
            b'[' => self.quoted(b']'),
            b'"' if self.quoted_identifier => self.quoted(b'"'),
            b'"' => self.string(Tok::Str),
            b'0'..=b'9' => Ok(self.number()),
            b'.' if self.byte(1).is_ascii_digit() => Ok(self.number()),
            b'$' => Ok(self.dollar()),
            b'@' if self.byte(1) == b'@' => self.word(Tok::Global),
            b'@' => self.word(Tok::Variable),
            b'#' | b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.word(Tok::Word),
            b if b >= 0x80 => self.unicode(),
            _ => Ok(self.punctuation()),
        }
    }

    /// A character beyond ASCII starts a name, a money literal or nothing.
    fn unicode(&mut self) -> Result<Tok> {
        let c = self.text[self.at..].chars().next().unwrap_or('\u{fffd}');
        if c.is_alphabetic() {
            return self.word(Tok::Word);
        }
        self.at += c.len_utf8();
        if is_currency(c) {
            self.money_digits();
            return Ok(Tok::Money);
        }
        Ok(Tok::Other)
    }

    fn word(&mut self, tok: Tok) -> Result<Tok> {
        let start = self.at;
        loop {
            let b = self.byte(0);
            if is_ident_byte(b) {
                self.at += 1;
            } else if b >= 0x80 {
                match self.text[self.at..].chars().next() {
                    Some(c) if c.is_alphanumeric() || is_mark(c) => self.at += c.len_utf8(),
                    _ => break,
                }
            } else {
                break;
            }
        }
        let word = &self.text[start..self.at];
        self.check_length(word)?;
        Ok(match tok {
            Tok::Word => Kw::lookup(word).map_or(Tok::Word, Tok::Kw),
            // A name of nobody else's may begin with two signs.
            Tok::Global if !GLOBALS.iter().any(|name| name.eq_ignore_ascii_case(&word[2..])) => Tok::Variable,
            other => other,
        })
    }

    fn check_length(&self, word: &str) -> Result<()> {
        if word.len() <= IDENT_CHARS_MAX
            || word.chars().map(char::len_utf16).sum::<usize>() <= IDENT_CHARS_MAX
        {
            return Ok(());
        }
        let head: String = word.chars().take(IDENT_CHARS_MAX).collect();
        let text = format!(
            "The identifier that starts with '{head}' is too long. Maximum length is {IDENT_CHARS_MAX}."
        );
        let mut error = ParseError::new(103, self.line, text);
        error.state = 4;
        Err(error)
    }

    fn quoted(&mut self, close: u8) -> Result<Tok> {
        let (start, line) = (self.at, self.line);
        self.at += 1;
        loop {
            if self.at >= self.bytes.len() {
                return Err(unclosed(line, &self.text[start + 1..]));
            }
            let b = self.byte(0);
            self.at += 1;
            if b == b'\n' {
                self.line += 1;
            } else if b == close {
                if self.byte(0) != close {
                    break;
                }
                self.at += 1;
            }
        }
        let inner = &self.text[start + 1..self.at - 1];
        if inner.is_empty() {
            let mut error = ParseError::new(1038, line, EMPTY_NAME);
            error.state = 4;
            return Err(error);
        }
        if inner.len() > IDENT_CHARS_MAX {
            self.check_length(&unquote(&self.text[start..self.at]))?;
        }
        Ok(Tok::Quoted)
    }

    fn string(&mut self, tok: Tok) -> Result<Tok> {
        let (start, line) = (self.at, self.line);
        let quote = self.byte(0);
        self.at += 1;
        loop {
            if self.at >= self.bytes.len() {
                return Err(unclosed(line, &self.text[start + 1..]));
            }
            let b = self.byte(0);
            self.at += 1;
            if b == b'\n' {
                self.line += 1;
            } else if b == quote {
                if self.byte(0) != quote {
                    return Ok(tok);
                }
                self.at += 1;
            }
        }
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Tok {
        if self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X') {
            self.at += 2;
            while self.byte(0).is_ascii_hexdigit() {
                self.at += 1;
            }
            return Tok::Binary;
        }
        let mut tok = Tok::Int;
        self.digits();
        if self.byte(0) == b'.' {
            tok = Tok::Decimal;
            self.at += 1;
            self.digits();
        }
        if matches!(self.byte(0), b'e' | b'E') {
            tok = Tok::Float;
            self.at += 1;
            if matches!(self.byte(0), b'+' | b'-') {
                self.at += 1;
            }
            self.digits();
        }
        tok
    }

    fn dollar(&mut self) -> Tok {
        self.at += 1;
        if self.byte(0).is_ascii_alphabetic() {
            while is_ident_byte(self.byte(0)) {
                self.at += 1;
            }
            return Tok::Pseudo;
        }
        self.money_digits();
        Tok::Money
    }

    /// Digits with thousands separators behind a currency sign.
    fn money_digits(&mut self) {
        if self.byte(0) == b'-' && (self.byte(1).is_ascii_digit() || self.byte(1) == b'.') {
            self.at += 1;
        }
        while self.byte(0).is_ascii_digit() || (self.byte(0) == b',' && self.byte(1).is_ascii_digit()) {
            self.at += 1;
        }
        if self.byte(0) == b'.' {
            self.at += 1;
            self.digits();
        }
    }

    fn punctuation(&mut self) -> Tok {
        let pair = match (self.byte(0), self.byte(1)) {
            (b'<', b'=') => Some(Tok::Le),
            (b'<', b'>') => Some(Tok::Ne),
            (b'<', b'<') => Some(Tok::Shl),
            (b'>', b'=') => Some(Tok::Ge),
            (b'>', b'>') => Some(Tok::Shr),
            (b'!', b'=') => Some(Tok::BangEq),
            (b'!', b'<') => Some(Tok::NotLt),
            (b'!', b'>') => Some(Tok::NotGt),
            (b'+', b'=') => Some(Tok::PlusEq),
            (b'-', b'=') => Some(Tok::MinusEq),
            (b'*', b'=') => Some(Tok::StarEq),
            (b'/', b'=') => Some(Tok::SlashEq),
            (b'%', b'=') => Some(Tok::PercentEq),
            (b'&', b'=') => Some(Tok::AmpEq),
            (b'|', b'=') => Some(Tok::PipeEq),
            (b'^', b'=') => Some(Tok::CaretEq),
            (b'|', b'|') => Some(Tok::Concat),
            (b':', b':') => Some(Tok::DoubleColon),
            _ => None,
        };
        if let Some(tok) = pair {
            self.at += 2;
            return tok;
        }
        let tok = single(self.byte(0));
        self.at += 1;
        tok
    }
}

fn single(b: u8) -> Tok {
    match b {
        b'(' => Tok::LParen,
        b')' => Tok::RParen,
        b'{' => Tok::LBrace,
        b'}' => Tok::RBrace,
        b',' => Tok::Comma,
        b';' => Tok::Semi,
        b'.' => Tok::Dot,
        b':' => Tok::Colon,
        b'?' => Tok::Question,
        b'=' => Tok::Eq,
        b'<' => Tok::Lt,
        b'>' => Tok::Gt,
        b'+' => Tok::Plus,
        b'-' => Tok::Minus,
        b'*' => Tok::Star,
        b'/' => Tok::Slash,
        b'%' => Tok::Percent,
        b'&' => Tok::Amp,
        b'|' => Tok::Pipe,
        b'^' => Tok::Caret,
        b'~' => Tok::Tilde,
        _ => Tok::Other,
    }
}

/// Combining marks continue a name.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}' | '\u{93e}'..='\u{94f}' | '\u{20d0}'..='\u{20ff}')
}

pub(crate) const EMPTY_NAME: &str = "An object or column name is missing or empty. For SELECT INTO statements, verify each column has \
a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change the alias \
to a valid name.";

fn unclosed(line: u32, rest: &str) -> Box<ParseError> {
    let shown: String = rest.chars().take(IDENT_CHARS_MAX).collect();
    ParseError::new(105, line, format!("Unclosed quotation mark after the character string '{shown}'."))
}

/// The text between quotes of any kind, with doubled closing quotes made single.
#[must_use]
pub fn unquote(raw: &str) -> String {
    let mut chars = raw.chars();
    let close = match chars.next() {
        Some('[') => ']',
        Some(q) => q,
        None => return String::new(),
    };
    let inner = &raw[1..raw.len().max(2) - 1];
    if !inner.contains(close) {
        return inner.to_owned();
    }
    let doubled: String = [close, close].iter().collect();
    inner.replace(&doubled, close.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Tok> {
        tokenize(text, true).unwrap().into_iter().map(|t| t.tok).collect()
    }

    #[test]
    fn numbers() {
        use Tok::*;
        assert_eq!(
            kinds("1 1. .5 1e5 1.5E-3 0x1F $1,000.50 1e"),
            [Int, Decimal, Decimal, Float, Float, Binary, Money, Float, Eof]
        );
    }

    #[test]
    fn comments_nest_and_lines_count() {
        let tokens = tokenize("-- a\n/* /* x\n */ \n*/ select\r\n 'a\nb' c", true).unwrap();
        assert_eq!(tokens.iter().map(|t| t.line).collect::<Vec<_>>(), [4, 5, 6, 6]);
    }

    #[test]
    fn errors_have_numbers_and_lines() {
        let fail = |text: &str| {
            let e = tokenize(text, true).unwrap_err();
            (e.number, e.line)
        };
        assert_eq!(fail("select\n'abc\n\n"), (105, 2));
        assert_eq!(fail("select /* \n\n"), (113, 3));
        assert_eq!(fail("select\n[]"), (1038, 2));
        assert_eq!(fail(&format!("select {}", "a".repeat(129))), (103, 1));
    }

    #[test]
    fn quotes_follow_the_setting() {
        assert_eq!(tokenize("\"a\"", true).unwrap()[0].tok, Tok::Quoted);
        assert_eq!(tokenize("\"a\"", false).unwrap()[0].tok, Tok::Str);
        assert_eq!(unquote("[a]]b]"), "a]b");
        assert_eq!(unquote("'it''s'"), "it's");
    }
}
