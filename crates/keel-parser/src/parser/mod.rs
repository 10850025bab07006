//! Recursive descent over the token list.
//!
//! One token of lookahead nearly everywhere, a few more where T-SQL is ambiguous; never a second pass over the same
//! tokens, so parsing is linear in the length of the text. Every construct that nests goes through
//! [`Parser::nested`], which bounds the depth of the recursion and of the tree that comes out (error 191).
//!
//! The functions that recursion passes through keep small frames: what they only sometimes need is out of line
//! (`#[inline(never)]`), or the optimiser would add up the frames of everything a statement may begin with.
//!
//! The grammar is split by subject, one file each; this file holds what they share: tokens, names, types, errors.

mod administration;
mod audit;
mod availability;
mod backup;
mod broker;
mod cursor;
mod database;
mod dml;
mod event_session;
mod expr;
mod full_text;
mod function;
mod governor;
mod index;
mod keys;
mod literal;
mod module;
mod object;
mod option;
mod partition;
mod policy;
mod procedural;
mod query;
mod refused;
mod security;
mod set;
mod special;
mod statement;
mod table;
mod table_source;

pub use literal::read as read_literal;

use crate::ast::{Ident, ObjectName, Span, TypeArg, TypeName, Variable};
use crate::error::{ParseError, Result};
use crate::keyword::Kw;
use crate::lexer::{self, Tok, Token};
use smol_str::{SmolStr, StrExt as _};

/// Deepest nesting of expressions, subqueries and statements together. The deepest text that passes takes about one and
/// a half megabytes of stack when optimised, a few times that without.
pub(crate) const DEPTH_MAX: u32 = 256;

/// Tallest expression tree. A chain of operators (`a + b + c …`) makes a tree as tall as it is long without any
/// recursion of the parser; whoever walks the tree recurses.
pub(crate) const HEIGHT_MAX: u32 = 1000;

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Height of the tallest tree finished since the innermost construct in progress began.
    height: u32,
    /// Inside `{fn …}`.
    odbc: bool,
    /// Where the statement that an IF, ELSE or WHILE governs begins: WITH needs no semicolon before it there.
    branch_at: usize,
    /// Inside a query of a statement (a subquery, derived table, view): the terms of its set operations may have an ORDER BY.
    ordered_terms: bool,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, quoted_identifier: bool) -> Result<Parser<'a>> {
        let tokens = lexer::tokenize(text, quoted_identifier)?;
        let branch_at = usize::MAX;
        Ok(Parser { text, tokens, at: 0, depth: 0, height: 0, odbc: false, branch_at, ordered_terms: false })
    }

    // ---- tokens ----

    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn tok(&self) -> Tok {
        self.tokens[self.at].tok
    }

    /// The token `ahead` places further; the end of the text repeats for ever.
    fn ahead(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn tok_ahead(&self, ahead: usize) -> Tok {
        self.ahead(ahead).tok
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.tok != Tok::Eof {
            self.at += 1;
        }
        token
    }

    fn at_end(&self) -> bool {
        self.tok() == Tok::Eof
    }

    fn raw(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn eat(&mut self, tok: Tok) -> bool {
        let found = self.tok() == tok;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, tok: Tok) -> Result<Token> {
        if self.tok() == tok { Ok(self.bump()) } else { Err(self.unexpected()) }
    }

    fn at_kw(&self, kw: Kw) -> bool {
        self.tok() == Tok::Kw(kw)
    }

    fn eat_kw(&mut self, kw: Kw) -> bool {
        self.eat(Tok::Kw(kw))
    }

    fn expect_kw(&mut self, kw: Kw) -> Result<Token> {
        self.expect(Tok::Kw(kw))
    }

    /// Whether a token is this word, reserved or not, but not quoted.
    fn is_word(&self, token: Token, word: &str) -> bool {
        match token.tok {
            Tok::Word | Tok::Kw(_) => self.raw(token).eq_ignore_ascii_case(word),
            _ => false,
        }
    }

    fn at_word(&self, word: &str) -> bool {
        self.is_word(self.token(), word)
    }

    fn word_ahead(&self, ahead: usize, word: &str) -> bool {
        self.is_word(self.ahead(ahead), word)
    }

    fn at_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(i, w)| self.word_ahead(i, w))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Consumes the words if all of them follow, else nothing.
    fn eat_words(&mut self, words: &[&str]) -> bool {
        let found = self.at_words(words);
        if found {
            self.at += words.len();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_words(&mut self, words: &[&str]) -> Result<()> {
        words.iter().try_for_each(|w| self.expect_word(w))
    }

    /// The first of `words` that follows, consumed.
    fn one_of<'w>(&mut self, words: &[&'w str]) -> Option<&'w str> {
        words.iter().copied().find(|w| self.eat_word(w))
    }

    // ---- spans ----

    fn span(&self) -> Span {
        let t = self.token();
        Span { start: t.start, end: t.end, line: t.line }
    }

    /// From `start` to the last consumed token.
    fn since(&self, start: Span) -> Span {
        let end = if self.at == 0 { start.end } else { self.tokens[self.at - 1].end };
        Span { start: start.start, end: end.max(start.start), line: start.line }
    }

    // ---- errors and limits ----

    /// The current token does not belong here: 102, or 156 for a reserved word. At the end of the text the product
    /// names the last token instead.
    fn unexpected(&self) -> Box<ParseError> {
        self.unexpected_at(self.at)
    }

    fn unexpected_at(&self, at: usize) -> Box<ParseError> {
        let mut token = self.tokens[at];
        let at_end = token.tok == Tok::Eof;
        if at_end && at > 0 {
            token = self.tokens[at - 1];
        }
        let shown = match token.tok {
            Tok::Str | Tok::Quoted => lexer::unquote(self.raw(token)),
            Tok::NStr => lexer::unquote(&self.raw(token)[1..]),
            _ => self.raw(token).to_owned(),
        };
        let shown: String = shown.chars().take(128).collect();
        match token.tok {
            Tok::Kw(_) if !at_end => {
                ParseError::new(156, token.line, format!("Incorrect syntax near the keyword '{shown}'."))
            }
            _ => ParseError::new(102, token.line, format!("Incorrect syntax near '{shown}'.")),
        }
    }

    fn error(&self, number: i32, message: impl Into<String>) -> Box<ParseError> {
        // At the end of the text the last token has the line.
        let at = if self.at_end() { self.at.saturating_sub(1) } else { self.at };
        ParseError::new(number, self.tokens[at].line, message)
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.too_deep());
        }
        let outer = std::mem::take(&mut self.height);
        let result = f(self);
        self.depth -= 1;
        self.height = outer.max(self.height + 1);
        if self.height > HEIGHT_MAX {
            return Err(self.too_deep());
        }
        result
    }

    /// Makes the tree finished last one taller: it becomes the left child of a chain's next link, whose right child
    /// was parsed meanwhile.
    fn chain(&mut self, left: u32) -> Result<u32> {
        let height = left.max(std::mem::take(&mut self.height)) + 1;
        if height > HEIGHT_MAX { Err(self.too_deep()) } else { Ok(height) }
    }

    #[cold]
    fn too_deep(&self) -> Box<ParseError> {
        self.error(
            191,
            "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
        )
    }

    // ---- names ----

    /// Whether a name can start here.
    fn at_ident(&self) -> bool {
        matches!(self.tok(), Tok::Word | Tok::Quoted)
    }

    fn ident(&mut self) -> Result<Ident> {
        match self.tok() {
            Tok::Word | Tok::Quoted => Ok(self.take_ident()),
            _ => Err(self.unexpected()),
        }
    }

    /// The current token as a name, whatever it is.
    fn take_ident(&mut self) -> Ident {
        let span = self.span();
        let token = self.bump();
        let raw = self.raw(token);
        match token.tok {
            Tok::Quoted | Tok::Str => Ident { text: SmolStr::from(lexer::unquote(raw)), quoted: true, span },
            Tok::NStr => Ident { text: SmolStr::from(lexer::unquote(&raw[1..])), quoted: true, span },
            _ => Ident { text: SmolStr::new(raw), quoted: false, span },
        }
    }

    /// A name or any word: where the grammar takes reserved words as names (options, permissions, `GRANT … TO public`).
    fn any_word(&mut self) -> Result<Ident> {
        match self.tok() {
            Tok::Word | Tok::Quoted | Tok::Kw(_) => Ok(self.take_ident()),
            _ => Err(self.unexpected()),
        }
    }

    /// The name of a collation: neither reserved nor quoted.
    fn collation_name(&mut self) -> Result<Ident> {
        if self.tok() == Tok::Word { Ok(self.take_ident()) } else { Err(self.unexpected()) }
    }

    /// Any unquoted word in upper case.
    fn upper_word(&mut self) -> Result<SmolStr> {
        match self.tok() {
            Tok::Word | Tok::Kw(_) => {
                let token = self.bump();
                Ok(self.raw(token).to_uppercase_smolstr())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A name or a string: aliases, file names.
    fn ident_or_string(&mut self) -> Result<Ident> {
        match self.tok() {
            Tok::Word | Tok::Quoted | Tok::Str | Tok::NStr => Ok(self.take_ident()),
            _ => Err(self.unexpected()),
        }
    }

    fn ident_list(&mut self) -> Result<Vec<Ident>> {
        self.parenthesized_list(Self::ident)
    }

    /// `( a, b )` if an opening parenthesis follows.
    fn optional_ident_list(&mut self) -> Result<Vec<Ident>> {
        if self.tok() == Tok::LParen { self.ident_list() } else { Ok(Vec::new()) }
    }

    fn object_name(&mut self) -> Result<ObjectName> {
        let start = self.span();
        // `..name`: the parts in front are left out, as drivers do (`EXEC ..sp_tablecollations_100`).
        let mut parts = if self.tok() == Tok::Dot { vec![None] } else { vec![Some(self.ident()?)] };
        while self.tok() == Tok::Dot {
            self.bump();
            if self.tok() == Tok::Dot {
                parts.push(None);
            } else {
                parts.push(Some(self.ident()?));
            }
            if parts.len() > 4 {
                let shown = self.since(start).text(self.text).to_owned();
                return Err(self.error(
                    117,
                    format!("The object name '{shown}' contains more than the maximum number of prefixes. The maximum is 3."),
                ));
            }
        }
        self.name_of(parts, start)
    }

    /// Builds a name from its parts, the last of which must be there.
    fn name_of(&self, mut parts: Vec<Option<Ident>>, start: Span) -> Result<ObjectName> {
        let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
        let schema = parts.pop().flatten();
        let database = parts.pop().flatten();
        let server = parts.pop().flatten();
        Ok(ObjectName { server, database, schema, name, span: self.since(start) })
    }

    fn variable(&mut self) -> Result<Variable> {
        let span = self.span();
        let token = self.expect(Tok::Variable)?;
        Ok(Variable { name: SmolStr::new(self.raw(token)), span })
    }

    // ---- lists ----

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(Tok::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn parenthesized<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.expect(Tok::LParen)?;
        let value = self.nested(inner)?;
        self.expect(Tok::RParen)?;
        Ok(value)
    }

    fn parenthesized_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.parenthesized(|p| p.list(item))
    }

    // ---- types ----

    pub(crate) fn type_name(&mut self) -> Result<TypeName> {
        let start = self.span();
        let name = match self.multi_word_type()? {
            Some(word) => ObjectName::simple(Ident { text: word, quoted: false, span: self.since(start) }),
            None => self.object_name()?,
        };
        let xml = name.name.is("xml");
        let args = if self.tok() == Tok::LParen {
            self.parenthesized_list(|p| p.type_arg(xml))?
        } else {
            Vec::new()
        };
        // `char varying(10)`, `national char varying(10)` have their arguments last; `character(10)` is done here.
        Ok(TypeName { name, args, span: self.since(start) })
    }

    /// The types whose names are several words, as the one-word type they mean.
    fn multi_word_type(&mut self) -> Result<Option<SmolStr>> {
        let name = if self.at_kw(Kw::NATIONAL) {
            self.bump();
            if self.eat_word("text") {
                "ntext"
            } else {
                if self.one_of(&["character", "char"]).is_none() {
                    return Err(self.unexpected());
                }
                if self.eat_kw(Kw::VARYING) { "nvarchar" } else { "nchar" }
            }
        } else if self.at_kw(Kw::DOUBLE) {
            self.bump();
            self.expect_word("PRECISION")?;
            "float"
        } else if self.tok() == Tok::Word && self.tok_ahead(1) == Tok::Kw(Kw::VARYING) {
            match self.one_of(&["character", "char", "binary"]) {
                Some(base) => {
                    self.bump();
                    if base == "binary" { "varbinary" } else { "varchar" }
                }
                None => return Ok(None),
            }
        } else {
            return Ok(None);
        };
        Ok(Some(SmolStr::new_static(name)))
    }

    /// A length, precision or scale; of xml, its schema collection.
    fn type_arg(&mut self, xml: bool) -> Result<TypeArg> {
        match self.tok() {
            Tok::Int => {
                let token = self.bump();
                let number = self.raw(token).parse().map_err(|_| self.unexpected_at(self.at - 1))?;
                Ok(TypeArg::Number(number))
            }
            _ if self.eat_word("MAX") => Ok(TypeArg::Max),
            _ if xml => {
                let document = self.one_of(&["CONTENT", "DOCUMENT"]).is_some_and(|w| w == "DOCUMENT");
                Ok(TypeArg::Collection { document, name: self.object_name()? })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The end of a text that holds one thing only.
    pub(crate) fn end_of_text(&mut self) -> Result<()> {
        while self.eat(Tok::Semi) {}
        if self.at_end() { Ok(()) } else { Err(self.unexpected()) }
    }
}
