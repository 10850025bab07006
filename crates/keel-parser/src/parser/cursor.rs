//! Cursors: DECLARE … CURSOR in both forms, OPEN, FETCH, CLOSE, DEALLOCATE.

use super::Parser;
use crate::ast::{
    CursorConcurrency, CursorDefinition, CursorKind, CursorRef, CursorScope, DeclareCursor, Fetch,
    FetchDirection, SelectStatement,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    /// Behind DECLARE: `name [INSENSITIVE] [SCROLL] CURSOR …`
    pub(super) fn declare_cursor(&mut self) -> Result<DeclareCursor> {
        let name = self.ident()?;
        let mut insensitive = false;
        let mut scroll = None;
        while !self.at_kw(Kw::CURSOR) {
            match self.one_of(&["INSENSITIVE", "SCROLL"]) {
                Some("INSENSITIVE") => insensitive = true,
                Some(_) => scroll = Some(true),
                None => return Err(self.unexpected()),
            }
        }
        let old = insensitive || scroll.is_some();
        let mut cursor = self.cursor_definition()?;
        let new = cursor.scope.is_some() || cursor.scroll.is_some() || cursor.kind.is_some();
        if old && (new || cursor.concurrency.is_some() || cursor.type_warning) {
            let text = "Mixing old and new syntax to specify cursor options is not allowed.";
            return Err(crate::ParseError::new(1049, self.span().line, text));
        }
        cursor.insensitive = insensitive;
        cursor.scroll = scroll.or(cursor.scroll);
        Ok(DeclareCursor { name, cursor })
    }

    /// `CURSOR [options] FOR select [FOR READ ONLY | FOR UPDATE [OF columns]]`
    pub(super) fn cursor_definition(&mut self) -> Result<CursorDefinition> {
        self.expect_kw(Kw::CURSOR)?;
        let mut cursor = CursorDefinition {
            insensitive: false,
            scope: None,
            scroll: None,
            kind: None,
            concurrency: None,
            type_warning: false,
            select: self.empty_select(),
            read_only: false,
            for_update: None,
        };
        let mut options: Vec<SmolStr> = Vec::new();
        while !self.eat_kw(Kw::FOR) {
            let option = self.cursor_option(&mut cursor)?;
            if let Some(other) = options.iter().find(|o| conflicts(o, &option)) {
                let text = format!("Conflicting cursor options {other} and {option}.");
                return Err(crate::ParseError::new(1048, self.span().line, text));
            }
            options.push(option);
        }
        cursor.select = self.select_statement()?;
        if self.eat_kw(Kw::FOR) {
            if self.eat_kw(Kw::READ) {
                self.expect_word("ONLY")?;
                cursor.read_only = true;
            } else {
                self.expect_kw(Kw::UPDATE)?;
                let columns =
                    if self.eat_kw(Kw::OF) { self.list(|p| Ok(p.column_ref()?.name))? } else { Vec::new() };
                cursor.for_update = Some(columns);
            }
        }
        Ok(cursor)
    }

    fn cursor_option(&mut self, cursor: &mut CursorDefinition) -> Result<SmolStr> {
        let option = self.upper_word()?;
        match option.as_str() {
            "LOCAL" => cursor.scope = Some(CursorScope::Local),
            "GLOBAL" => cursor.scope = Some(CursorScope::Global),
            "FORWARD_ONLY" => cursor.scroll = Some(false),
            "SCROLL" => cursor.scroll = Some(true),
            "STATIC" => cursor.kind = Some(CursorKind::Static),
            "KEYSET" => cursor.kind = Some(CursorKind::Keyset),
            "DYNAMIC" => cursor.kind = Some(CursorKind::Dynamic),
            "FAST_FORWARD" => cursor.kind = Some(CursorKind::FastForward),
            "READ_ONLY" => cursor.concurrency = Some(CursorConcurrency::ReadOnly),
            "SCROLL_LOCKS" => cursor.concurrency = Some(CursorConcurrency::ScrollLocks),
            "OPTIMISTIC" => cursor.concurrency = Some(CursorConcurrency::Optimistic),
            "TYPE_WARNING" => cursor.type_warning = true,
            _ => return Err(self.unexpected_at(self.at - 1)),
        }
        Ok(option)
    }

    /// Stands in until the query is read.
    fn empty_select(&self) -> SelectStatement {
        let body = crate::ast::QueryBody::Set { op: crate::ast::SetOp::Union, all: true, terms: Vec::new() };
        let query = crate::ast::Query {
            body,
            order_by: Vec::new(),
            offset: None,
            for_clause: None,
            span: self.span(),
        };
        SelectStatement { with: None, query, options: Vec::new() }
    }

    /// `[GLOBAL] name` or `@variable`
    pub(super) fn cursor_ref(&mut self) -> Result<CursorRef> {
        if self.tok() == Tok::Variable {
            return Ok(CursorRef::Variable(self.variable()?));
        }
        let global = self.at_word("GLOBAL") && matches!(self.tok_ahead(1), Tok::Word | Tok::Quoted);
        if global {
            self.bump();
        }
        Ok(CursorRef::Named { global, name: self.ident()? })
    }

    /// Behind FETCH.
    pub(super) fn fetch(&mut self) -> Result<Fetch> {
        let direction = match self.one_of(&["NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE"]) {
            Some("PRIOR") => FetchDirection::Prior,
            Some("FIRST") => FetchDirection::First,
            Some("LAST") => FetchDirection::Last,
            Some("ABSOLUTE") => FetchDirection::Absolute(self.simple_value()?),
            Some("RELATIVE") => FetchDirection::Relative(self.simple_value()?),
            _ => FetchDirection::Next,
        };
        self.eat_kw(Kw::FROM);
        let cursor = self.cursor_ref()?;
        let into = if self.eat_kw(Kw::INTO) { self.list(Self::variable)? } else { Vec::new() };
        Ok(Fetch { direction, cursor, into })
    }
}

/// Options of which a cursor has one.
const ALTERNATIVES: [&[&str]; 5] = [
    &["LOCAL", "GLOBAL"],
    &["FORWARD_ONLY", "SCROLL"],
    &["STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD"],
    &["READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC"],
    &["FAST_FORWARD", "SCROLL"],
];

/// Options that exclude each other (1048).
fn conflicts(a: &str, b: &str) -> bool {
    let locks =
        |a, b| matches!((a, b), ("FAST_FORWARD", "SCROLL_LOCKS" | "OPTIMISTIC") | ("STATIC", "SCROLL_LOCKS"));
    let both = |of: &&[&str]| of.contains(&a) && of.contains(&b);
    a != b && (ALTERNATIVES.iter().any(both) || locks(a, b) || locks(b, a))
}
