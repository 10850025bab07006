//! Functions with a grammar of their own: CASE, CAST, CONVERT, IIF, TRIM, ODBC escapes.

use super::Parser;
use crate::ast::{ColumnRef, Expr, ExprKind, FunctionCall, ObjectName, OdbcLiteralKind, TrimSide};
use crate::error::{ParseError, Result};
use crate::keyword::Kw;
use crate::lexer::Tok;

/// Parses one function of its own grammar, from its name.
type Special<'a> = fn(&mut Parser<'a>) -> Result<Expr>;

impl<'a> Parser<'a> {
    /// The grammar of the function named by the current word, if it has its own.
    pub(super) fn special_function(&self) -> Option<Special<'a>> {
        let raw = self.raw(self.token());
        let known: [(&str, Special<'a>); 6] = [
            ("CAST", Self::cast),
            ("TRY_CAST", Self::cast),
            ("IIF", Self::iif),
            ("PARSE", Self::parse_function),
            ("TRY_PARSE", Self::parse_function),
            ("TRIM", Self::trim),
        ];
        known.iter().find(|(name, _)| raw.eq_ignore_ascii_case(name)).map(|(_, f)| *f)
    }

    #[inline(never)]
    pub(super) fn case(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        let operand = if self.at_kw(Kw::WHEN) { None } else { Some(Box::new(self.expr()?)) };
        let mut whens = Vec::new();
        while self.eat_kw(Kw::WHEN) {
            let when = if operand.is_some() { self.expr()? } else { self.condition()? };
            self.expect_kw(Kw::THEN)?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat_kw(Kw::ELSE) { Some(Box::new(self.expr()?)) } else { None };
        self.expect_kw(Kw::END)?;
        Ok(Expr { kind: ExprKind::Case { operand, whens, otherwise }, span: self.since(start) })
    }

    #[inline(never)]
    fn cast(&mut self) -> Result<Expr> {
        let start = self.span();
        let (is_try, name) = (self.at_word("TRY_CAST"), self.token());
        self.bump();
        self.expect(Tok::LParen)?;
        let operand = Box::new(self.expr()?);
        if !self.eat_kw(Kw::AS) {
            let text = format!("Incorrect syntax near '{}', expected 'AS'.", self.raw(name));
            return Err(ParseError::new(1035, name.line, text).with_state(10));
        }
        let ty = Box::new(self.type_name()?);
        self.expect(Tok::RParen)?;
        self.method_of(Expr { kind: ExprKind::Cast { operand, ty, is_try }, span: self.since(start) })
    }

    fn parse_function(&mut self) -> Result<Expr> {
        let start = self.span();
        let is_try = self.at_word("TRY_PARSE");
        self.bump();
        self.expect(Tok::LParen)?;
        let operand = Box::new(self.expr()?);
        self.expect_kw(Kw::AS)?;
        let ty = Box::new(self.type_name()?);
        let culture = if self.eat_word("USING") { Some(Box::new(self.expr()?)) } else { None };
        self.expect(Tok::RParen)?;
        Ok(Expr { kind: ExprKind::Parse { operand, ty, culture, is_try }, span: self.since(start) })
    }

    #[inline(never)]
    pub(super) fn convert(&mut self) -> Result<Expr> {
        if self.odbc {
            return self.odbc_convert();
        }
        let start = self.span();
        let is_try = self.bump().tok == Tok::Kw(Kw::TRY_CONVERT);
        self.expect(Tok::LParen)?;
        let ty = Box::new(self.type_name()?);
        self.expect(Tok::Comma)?;
        let operand = Box::new(self.expr()?);
        let style = if self.eat(Tok::Comma) { Some(Box::new(self.expr()?)) } else { None };
        self.expect(Tok::RParen)?;
        self.method_of(Expr {
            kind: ExprKind::Convert { ty, operand, style, is_try },
            span: self.since(start),
        })
    }

    /// `{fn CONVERT(value, SQL_INTEGER)}`: the type arrives as a column reference.
    fn odbc_convert(&mut self) -> Result<Expr> {
        let start = self.span();
        let name = ObjectName::simple(self.take_ident());
        self.call_of(name, start)
    }

    #[inline(never)]
    pub(super) fn coalesce(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        let args = self.call_args()?;
        if args.len() < 2 {
            return Err(self.unexpected_at(self.at - 1));
        }
        Ok(Expr { kind: ExprKind::Coalesce(args), span: self.since(start) })
    }

    #[inline(never)]
    pub(super) fn nullif(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        self.expect(Tok::LParen)?;
        let left = Box::new(self.expr()?);
        self.expect(Tok::Comma)?;
        let right = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(Expr { kind: ExprKind::NullIf(left, right), span: self.since(start) })
    }

    #[inline(never)]
    fn iif(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        self.expect(Tok::LParen)?;
        let condition = Box::new(self.condition()?);
        self.expect(Tok::Comma)?;
        let then = Box::new(self.expr()?);
        self.expect(Tok::Comma)?;
        let otherwise = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(Expr { kind: ExprKind::Iif { condition, then, otherwise }, span: self.since(start) })
    }

    /// `TRIM([LEADING|TRAILING|BOTH] [chars FROM] e)`; plain `TRIM(e)` is an ordinary call.
    #[inline(never)]
    fn trim(&mut self) -> Result<Expr> {
        let start = self.span();
        let name = ObjectName::simple(self.take_ident());
        self.expect(Tok::LParen)?;
        let side = match self.one_of(&["LEADING", "TRAILING", "BOTH"]) {
            Some("LEADING") => Some(TrimSide::Leading),
            Some("TRAILING") => Some(TrimSide::Trailing),
            Some(_) => Some(TrimSide::Both),
            None => None,
        };
        let first = self.expr()?;
        let kind = if self.eat_kw(Kw::FROM) {
            let operand = Box::new(self.expr()?);
            ExprKind::Trim { side: side.unwrap_or(TrimSide::Both), chars: Some(Box::new(first)), operand }
        } else if let Some(side) = side {
            ExprKind::Trim { side, chars: None, operand: Box::new(first) }
        } else {
            ExprKind::Function(Box::new(plain_call(name, vec![first], self.odbc)))
        };
        self.expect(Tok::RParen)?;
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `NEXT VALUE FOR s [OVER (ORDER BY …)]`
    #[inline(never)]
    pub(super) fn next_value_for(&mut self) -> Result<Expr> {
        let start = self.span();
        self.at += 2;
        self.expect_kw(Kw::FOR)?;
        let sequence = Box::new(self.object_name()?);
        let order_by = if self.eat_kw(Kw::OVER) { Some(self.parenthesized(Self::order_by)?) } else { None };
        Ok(Expr { kind: ExprKind::NextValueFor { sequence, order_by }, span: self.since(start) })
    }

    pub(super) fn column_updated(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        let column = self.parenthesized(Self::ident)?;
        Ok(Expr { kind: ExprKind::ColumnUpdated(column), span: self.since(start) })
    }

    pub(super) fn at_regexp_like(&self) -> bool {
        self.at_word("REGEXP_LIKE") && self.tok_ahead(1) == Tok::LParen
    }

    /// `REGEXP_LIKE(text, pattern [, flags])`: a condition, though it looks like a function.
    #[inline(never)]
    pub(super) fn regexp_like(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        let args = self.parenthesized(|p| {
            let args = p.nested(|p| p.list(Self::expr))?;
            if (2..=3).contains(&args.len()) { Ok(args) } else { Err(p.unexpected()) }
        })?;
        Ok(Expr { kind: ExprKind::RegexpLike(args), span: self.since(start) })
    }

    /// A column name with its qualifier.
    #[inline(never)]
    pub(super) fn column_ref(&mut self) -> Result<ColumnRef> {
        let start = self.span();
        let mut parts = vec![Some(self.ident()?)];
        while self.tok() == Tok::Dot && parts.len() < 5 {
            self.bump();
            parts.push(if self.tok() == Tok::Dot { None } else { Some(self.any_word()?) });
        }
        let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
        let qualifier = if parts.is_empty() { None } else { Some(Box::new(self.name_of(parts, start)?)) };
        Ok(ColumnRef { qualifier, name })
    }

    /// `{fn f(…)}`, `{d '…'}`, `{t '…'}`, `{ts '…'}`, `{guid '…'}`
    #[inline(never)]
    pub(super) fn odbc_escape(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        if self.eat_word("fn") {
            let outer = std::mem::replace(&mut self.odbc, true);
            let inner = self.expr();
            self.odbc = outer;
            let inner = inner?;
            self.expect(Tok::RBrace)?;
            return Ok(Expr { kind: inner.kind, span: self.since(start) });
        }
        let kind = match self.one_of(&["d", "t", "ts", "guid"]) {
            Some("d") => OdbcLiteralKind::Date,
            Some("t") => OdbcLiteralKind::Time,
            Some("ts") => OdbcLiteralKind::Timestamp,
            Some(_) => OdbcLiteralKind::Guid,
            None => return Err(self.unexpected()),
        };
        let text = self.string()?;
        self.expect(Tok::RBrace)?;
        Ok(Expr { kind: ExprKind::OdbcLiteral { kind, text }, span: self.since(start) })
    }
}

fn plain_call(name: ObjectName, args: Vec<Expr>, odbc: bool) -> FunctionCall {
    FunctionCall {
        name,
        args,
        star: false,
        distinct: false,
        niladic: false,
        odbc,
        within_group: None,
        null_on_null: None,
        ignore_nulls: None,
        over: None,
    }
}
