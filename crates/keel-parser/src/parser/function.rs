//! Function calls: arguments, DISTINCT, WITHIN GROUP, OVER.

use super::Parser;
use crate::ast::{Expr, ExprKind, Frame, FrameBound, FunctionCall, ObjectName, OrderItem, Over, Span};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// A call of a one-part name, which may be a function with its own grammar.
    #[inline(never)]
    pub(super) fn call(&mut self) -> Result<Expr> {
        let start = self.span();
        if self.tok() == Tok::Word
            && let Some(special) = self.special_function()
        {
            return self.nested(special);
        }
        if self.at_regexp_like() {
            return Err(self.error(156, "Incorrect syntax near the keyword 'REGEXP_LIKE'.".to_owned()));
        }
        let name = self.take_ident();
        self.call_of(ObjectName::simple(name), start)
    }

    pub(super) fn call_of(&mut self, name: ObjectName, start: Span) -> Result<Expr> {
        let call = self.function_call(name)?;
        self.method_of(Expr { kind: ExprKind::Function(Box::new(call)), span: self.since(start) })
    }

    /// From the opening parenthesis to the end of OVER.
    #[inline(never)]
    pub(super) fn function_call(&mut self, name: ObjectName) -> Result<FunctionCall> {
        let mut call = FunctionCall {
            name,
            args: Vec::new(),
            star: false,
            distinct: false,
            niladic: false,
            odbc: self.odbc,
            within_group: None,
            null_on_null: None,
            ignore_nulls: None,
            over: None,
        };
        self.expect(Tok::LParen)?;
        if self.tok() == Tok::Star && self.tok_ahead(1) == Tok::RParen {
            self.bump();
            call.star = true;
        } else if self.tok() != Tok::RParen {
            call.distinct = self.eat_kw(Kw::DISTINCT);
            if !call.distinct {
                self.eat_kw(Kw::ALL);
            }
            call.args = if call.distinct {
                vec![self.nested(Self::argument)?]
            } else {
                self.nested(|p| p.function_args())?
            };
            if call.name.name.is("JSON_ARRAYAGG") && self.at_kw(Kw::ORDER) {
                call.within_group = Some(self.order_by()?);
            }
            call.null_on_null = self.null_on_null();
        }
        self.expect(Tok::RParen)?;
        if self.at_words(&["WITHIN", "GROUP"]) {
            self.at += 2;
            call.within_group = Some(self.parenthesized(Self::order_by)?);
        }
        if self.eat_words(&["IGNORE", "NULLS"]) {
            call.ignore_nulls = Some(true);
        } else if self.eat_words(&["RESPECT", "NULLS"]) {
            call.ignore_nulls = Some(false);
        }
        if self.eat_kw(Kw::OVER) {
            call.over = Some(self.over()?);
        }
        Ok(call)
    }

    /// `NULL ON NULL`, `ABSENT ON NULL`
    fn null_on_null(&mut self) -> Option<bool> {
        let null = self.at_kw(Kw::NULL);
        if !null && !self.at_word("ABSENT") {
            return None;
        }
        if self.tok_ahead(1) != Tok::Kw(Kw::ON) || self.tok_ahead(2) != Tok::Kw(Kw::NULL) {
            return None;
        }
        self.at += 3;
        Some(null)
    }

    /// Arguments of any function; `'key': value` of JSON_OBJECT and JSON_OBJECTAGG counts as two, and so do ODBC's `EXTRACT(part FROM date)` and
    /// `POSITION(text IN text)`.
    #[inline(never)]
    fn function_args(&mut self) -> Result<Vec<Expr>> {
        let mut args = vec![self.argument()?];
        while self.eat(Tok::Comma)
            || self.eat(Tok::Colon)
            || (self.odbc && (self.eat_kw(Kw::FROM) || self.eat_kw(Kw::IN)))
        {
            args.push(self.argument()?);
        }
        Ok(args)
    }

    /// `( )` or `( a, b )`.
    pub(super) fn call_args(&mut self) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        let args =
            if self.tok() == Tok::RParen { Vec::new() } else { self.nested(|p| p.list(Self::argument))? };
        self.expect(Tok::RParen)?;
        Ok(args)
    }

    /// A value or DEFAULT.
    pub(super) fn argument(&mut self) -> Result<Expr> {
        if self.at_kw(Kw::DEFAULT) {
            let span = self.span();
            self.bump();
            return Ok(Expr { kind: ExprKind::Default, span });
        }
        self.expr()
    }

    #[inline(never)]
    pub(super) fn niladic(&mut self) -> Expr {
        let start = self.span();
        let call = FunctionCall {
            name: ObjectName::simple(self.take_ident()),
            args: Vec::new(),
            star: false,
            distinct: false,
            niladic: true,
            odbc: self.odbc,
            within_group: None,
            null_on_null: None,
            ignore_nulls: None,
            over: None,
        };
        Expr { kind: ExprKind::Function(Box::new(call)), span: start }
    }

    pub(super) fn static_method(&mut self, ty: ObjectName, start: Span) -> Result<Expr> {
        self.bump();
        let method = self.any_word()?;
        let args = if self.tok() == Tok::LParen { Some(self.call_args()?) } else { None };
        let kind = ExprKind::StaticMethod { ty: Box::new(ty), method, args };
        self.method_of(Expr { kind, span: self.since(start) })
    }

    /// `ORDER BY items`
    #[inline(never)]
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        self.expect_kw(Kw::ORDER)?;
        self.expect_kw(Kw::BY)?;
        self.list(Self::order_item)
    }

    fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let descending = self.eat_kw(Kw::DESC);
        if !descending {
            self.eat_kw(Kw::ASC);
        }
        Ok(OrderItem { expr, descending })
    }

    /// Behind OVER: a window in parentheses or its name.
    #[inline(never)]
    pub(super) fn over(&mut self) -> Result<Over> {
        if self.at_ident() {
            return Ok(Over { window: Some(self.ident()?), ..Over::default() });
        }
        self.parenthesized(|p| {
            let start = p.at;
            let over = p.window()?;
            let bare = over.partition_by.is_empty() && over.order_by.is_empty();
            match (&over.window, &over.frame) {
                // A window in parentheses is one that is added to; a frame alone is none.
                (Some(_), None) if bare => Err(p.unexpected()),
                (None, Some(_)) if bare => Err(p.unexpected_at(start)),
                _ => Ok(over),
            }
        })
    }

    pub(super) fn window(&mut self) -> Result<Over> {
        let mut over = Over::default();
        let names_window = self.at_ident()
            && ["PARTITION", "ROWS", "RANGE"].iter().all(|w| !self.at_word(w) || self.tok() == Tok::Quoted);
        if names_window {
            over.window = Some(self.ident()?);
        }
        if self.eat_word("PARTITION") {
            self.expect_kw(Kw::BY)?;
            over.partition_by = self.list(Self::expr)?;
        }
        if self.at_kw(Kw::ORDER) {
            over.order_by = self.order_by()?;
        }
        if let Some(unit) = self.one_of(&["ROWS", "RANGE"]) {
            over.frame = Some(self.frame(unit == "ROWS")?);
        }
        Ok(over)
    }

    fn frame(&mut self, rows: bool) -> Result<Frame> {
        if self.eat_kw(Kw::BETWEEN) {
            let start = self.frame_bound()?;
            self.expect_kw(Kw::AND)?;
            return Ok(Frame { rows, start, end: self.frame_bound()? });
        }
        Ok(Frame { rows, start: self.frame_bound()?, end: FrameBound::CurrentRow })
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_kw(Kw::CURRENT) {
            self.expect_word("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat_word("UNBOUNDED") {
            return match self.one_of(&["PRECEDING", "FOLLOWING"]) {
                Some("PRECEDING") => Ok(FrameBound::UnboundedPreceding),
                Some(_) => Ok(FrameBound::UnboundedFollowing),
                None => Err(self.unexpected()),
            };
        }
        let amount = Box::new(self.expr()?);
        match self.one_of(&["PRECEDING", "FOLLOWING"]) {
            Some("PRECEDING") => Ok(FrameBound::Preceding(amount)),
            Some(_) => Ok(FrameBound::Following(amount)),
            None => Err(self.unexpected()),
        }
    }
}
