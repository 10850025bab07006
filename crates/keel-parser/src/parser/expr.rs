//! Values and conditions by precedence.
//!
//! T-SQL has two kinds of expression that share one tree. A *value* never contains a condition except inside CASE,
//! IIF and subqueries; a *condition* is built from values by predicates. Only an opening parenthesis can begin
//! either, so [`Parser::primary`] is told whether a condition may come back.
//!
//! Precedence, loosest first: OR, AND, NOT, predicates, `+ - & | ^ ||`, `* / % << >>`, signs, `~`, COLLATE. A sign
//! takes a whole product (`6 / -3 * 2` is `6 / -(3 * 2)`), as in the product.

use super::Parser;
use crate::ast::{BinaryOp, ColumnRef, CompareOp, Expr, ExprKind, LogicalOp, Query, Span, UnaryOp};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::{SmolStr, StrExt as _};

/// Binding strength of the operators between values.
const ADDITIVE: u8 = 1;
const MULTIPLICATIVE: u8 = 2;

impl Parser<'_> {
    /// A value.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        self.nested(|p| p.binary(ADDITIVE, false))
    }

    /// A condition; a value in its place is error 4145.
    pub(crate) fn condition(&mut self) -> Result<Expr> {
        let expr = self.nested(Self::either)?;
        if expr.is_condition() {
            return Ok(expr);
        }
        Err(self.not_a_condition())
    }

    #[cold]
    fn not_a_condition(&self) -> Box<crate::ParseError> {
        let token = if self.at_end() && self.at > 0 { self.tokens[self.at - 1] } else { self.token() };
        let near = self.raw(token);
        let text = format!(
            "An expression of non-boolean type specified in a context where a condition is expected, near '{near}'."
        );
        self.error(4145, text)
    }

    /// A condition or a value: OR, AND and NOT over predicates.
    pub(crate) fn either(&mut self) -> Result<Expr> {
        let first = self.and_terms()?;
        if !self.at_kw(Kw::OR) {
            return Ok(first);
        }
        self.logical(LogicalOp::Or, first)
    }

    fn and_terms(&mut self) -> Result<Expr> {
        let first = self.negation()?;
        if !self.at_kw(Kw::AND) {
            return Ok(first);
        }
        self.logical(LogicalOp::And, first)
    }

    /// The further terms of an AND or OR whose first term is parsed.
    #[inline(never)]
    fn logical(&mut self, op: LogicalOp, first: Expr) -> Result<Expr> {
        let kw = if op == LogicalOp::Or { Kw::OR } else { Kw::AND };
        let span = first.span;
        if !first.is_condition() {
            return Err(self.not_a_condition());
        }
        let mut terms = vec![first];
        while self.eat_kw(kw) {
            let term = if op == LogicalOp::Or { self.and_terms()? } else { self.negation()? };
            if !term.is_condition() {
                return Err(self.not_a_condition());
            }
            terms.push(term);
        }
        Ok(Expr { kind: ExprKind::Logical { op, terms }, span: self.since(span) })
    }

    fn negation(&mut self) -> Result<Expr> {
        if !self.at_kw(Kw::NOT) {
            let left = self.binary(ADDITIVE, true)?;
            return if left.is_condition() { Ok(left) } else { self.predicate(left) };
        }
        let start = self.span();
        self.bump();
        let operand = self.nested(Self::negation)?;
        if !operand.is_condition() {
            return Err(self.not_a_condition());
        }
        Ok(Expr { kind: ExprKind::Not(Box::new(operand)), span: self.since(start) })
    }

    // ---- predicates ----

    /// What follows a value in a condition. Without a predicate the value itself comes back.
    #[inline(never)]
    fn predicate(&mut self, left: Expr) -> Result<Expr> {
        let start = left.span;
        if let Some(op) = self.compare_op() {
            return self.comparison(op, left);
        }
        let at_not =
            self.at_kw(Kw::NOT) && matches!(self.tok_ahead(1), Tok::Kw(Kw::LIKE | Kw::IN | Kw::BETWEEN));
        if at_not {
            self.bump();
        }
        let left = Box::new(left);
        let kind = match self.tok() {
            Tok::Kw(Kw::IS) => self.is_predicate(left)?,
            Tok::Kw(Kw::LIKE) => self.like(left, at_not)?,
            Tok::Kw(Kw::IN) => self.in_predicate(left, at_not)?,
            Tok::Kw(Kw::BETWEEN) => self.between(left, at_not)?,
            _ => return Ok(*left),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// A comparison operator, also when it is written with blanks inside (`> =`).
    pub(super) fn compare_op(&mut self) -> Option<CompareOp> {
        let (op, tokens) = match (self.tok(), self.tok_ahead(1)) {
            (Tok::Lt, Tok::Eq) => (CompareOp::LessOrEqual, 2),
            (Tok::Lt, Tok::Gt) => (CompareOp::NotEqual, 2),
            (Tok::Gt, Tok::Eq) => (CompareOp::GreaterOrEqual, 2),
            (Tok::Eq, _) => (CompareOp::Equal, 1),
            (Tok::Lt, _) => (CompareOp::Less, 1),
            (Tok::Gt, _) => (CompareOp::Greater, 1),
            (Tok::Le | Tok::NotGt, _) => (CompareOp::LessOrEqual, 1),
            (Tok::Ge | Tok::NotLt, _) => (CompareOp::GreaterOrEqual, 1),
            (Tok::Ne | Tok::BangEq, _) => (CompareOp::NotEqual, 1),
            (Tok::Other, next) if self.raw(self.token()) == "!" => match next {
                Tok::Eq => (CompareOp::NotEqual, 2),
                Tok::Lt => (CompareOp::GreaterOrEqual, 2),
                Tok::Gt => (CompareOp::LessOrEqual, 2),
                _ => return None,
            },
            _ => return None,
        };
        self.at += tokens;
        Some(op)
    }

    #[inline(never)]
    fn comparison(&mut self, op: CompareOp, left: Expr) -> Result<Expr> {
        let start = left.span;
        let left = Box::new(left);
        let kind = if let Tok::Kw(kw @ (Kw::ALL | Kw::ANY | Kw::SOME)) = self.tok() {
            self.bump();
            let query = Box::new(self.parenthesized(Self::subquery)?);
            ExprKind::Quantified { op, left, all: kw == Kw::ALL, query }
        } else {
            ExprKind::Compare { op, left, right: Box::new(self.binary(ADDITIVE, false)?) }
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    #[inline(never)]
    fn is_predicate(&mut self, operand: Box<Expr>) -> Result<ExprKind> {
        self.bump();
        let negated = self.eat_kw(Kw::NOT);
        if self.eat_kw(Kw::DISTINCT) {
            self.expect_kw(Kw::FROM)?;
            let right = Box::new(self.binary(ADDITIVE, false)?);
            return Ok(ExprKind::IsDistinctFrom { left: operand, right, negated });
        }
        self.expect_kw(Kw::NULL)?;
        Ok(ExprKind::IsNull { operand, negated })
    }

    #[inline(never)]
    fn like(&mut self, operand: Box<Expr>, negated: bool) -> Result<ExprKind> {
        self.bump();
        let pattern = Box::new(self.binary(ADDITIVE, false)?);
        let braced = self.tok() == Tok::LBrace && self.tok_ahead(1) == Tok::Kw(Kw::ESCAPE);
        if braced {
            self.bump();
        }
        let escape =
            if self.eat_kw(Kw::ESCAPE) { Some(Box::new(self.binary(ADDITIVE, false)?)) } else { None };
        if braced {
            self.expect(Tok::RBrace)?;
        }
        Ok(ExprKind::Like { operand, pattern, escape, negated })
    }

    #[inline(never)]
    fn between(&mut self, operand: Box<Expr>, negated: bool) -> Result<ExprKind> {
        self.bump();
        let low = Box::new(self.binary(ADDITIVE, false)?);
        self.expect_kw(Kw::AND)?;
        let high = Box::new(self.binary(ADDITIVE, false)?);
        Ok(ExprKind::Between { operand, low, high, negated })
    }

    #[inline(never)]
    fn in_predicate(&mut self, operand: Box<Expr>, negated: bool) -> Result<ExprKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let kind = match self.nested(|p| p.query_or(Self::expr))? {
            Parenthesized::Query(query) => ExprKind::InQuery { operand, query, negated },
            Parenthesized::Expr(first) => {
                let mut list = vec![first];
                while self.eat(Tok::Comma) {
                    list.push(self.expr()?);
                }
                // `IN ((SELECT …))` is the subquery, not a list of one.
                match list.as_mut_slice() {
                    [Expr { kind: ExprKind::Subquery(_), .. }] => match list.remove(0).kind {
                        ExprKind::Subquery(query) => ExprKind::InQuery { operand, query, negated },
                        _ => return Err(self.unexpected()),
                    },
                    _ => ExprKind::InList { operand, list, negated },
                }
            }
        };
        self.expect(Tok::RParen)?;
        Ok(kind)
    }

    // ---- operators between values ----

    /// A value of operators that bind at least as strongly as `min`. With `allow` a parenthesised condition may come
    /// back instead; no operator follows it.
    fn binary(&mut self, min: u8, allow: bool) -> Result<Expr> {
        let outer = std::mem::take(&mut self.height);
        let mut left = self.unary(allow)?;
        let mut height = std::mem::take(&mut self.height);
        while let Some((op, strength)) = binary_op(self.tok()) {
            if strength < min || left.is_condition() {
                break;
            }
            self.bump();
            let right = self.binary(strength + 1, false)?;
            height = self.chain(height)?;
            left = join(op, left, right);
        }
        self.height = outer.max(height);
        Ok(left)
    }

    fn unary(&mut self, allow: bool) -> Result<Expr> {
        match self.tok() {
            Tok::Minus | Tok::Plus | Tok::Tilde => self.signed(),
            _ => {
                let operand = self.primary(allow)?;
                match self.tok() {
                    Tok::Kw(Kw::COLLATE) => self.postfix(operand),
                    Tok::Word if self.at_words(&["AT", "TIME", "ZONE"]) => self.postfix(operand),
                    _ => Ok(operand),
                }
            }
        }
    }

    #[inline(never)]
    fn signed(&mut self) -> Result<Expr> {
        let start = self.span();
        let op = match self.bump().tok {
            Tok::Minus => UnaryOp::Minus,
            Tok::Plus => UnaryOp::Plus,
            _ => UnaryOp::BitNot,
        };
        let operand = match op {
            UnaryOp::BitNot => self.nested(|p| p.unary(false))?,
            _ => self.nested(|p| p.binary(MULTIPLICATIVE, false))?,
        };
        Ok(Expr { kind: ExprKind::Unary { op, operand: Box::new(operand) }, span: self.since(start) })
    }

    /// COLLATE and AT TIME ZONE, any number of them.
    #[inline(never)]
    fn postfix(&mut self, mut operand: Expr) -> Result<Expr> {
        let start = operand.span;
        let mut height = std::mem::take(&mut self.height);
        loop {
            let kind = if self.eat_kw(Kw::COLLATE) {
                let collation = self.collation_name()?;
                if self.at_kw(Kw::COLLATE) {
                    return Err(self.unexpected());
                }
                ExprKind::Collate { operand: Box::new(operand), collation }
            } else if self.eat_words(&["AT", "TIME", "ZONE"]) {
                let zone = Box::new(self.nested(|p| p.primary(false))?);
                ExprKind::AtTimeZone { operand: Box::new(operand), zone }
            } else {
                self.height = height;
                return Ok(operand);
            };
            height = self.chain(height)?;
            operand = Expr { kind, span: self.since(start) };
        }
    }

    // ---- primaries ----

    fn primary(&mut self, allow: bool) -> Result<Expr> {
        match self.tok() {
            Tok::LParen => self.parenthesis(allow),
            Tok::Word if allow && self.at_regexp_like() => self.regexp_like(),
            Tok::Word | Tok::Quoted => self.name_or_call(),
            Tok::Kw(_) => self.keyword_primary(allow),
            _ => self.small_primary(),
        }
    }

    /// Primaries that are one or a few tokens and never nest deeply.
    #[inline(never)]
    fn small_primary(&mut self) -> Result<Expr> {
        let start = self.span();
        if let Some(literal) = self.literal()? {
            return Ok(Expr { kind: ExprKind::Literal(literal), span: self.since(start) });
        }
        let token = self.token();
        let kind = match token.tok {
            Tok::Variable => return self.variable_primary(),
            Tok::Global => {
                self.bump();
                ExprKind::GlobalVariable(SmolStr::new(self.raw(token)))
            }
            // `$PARTITION.function(…)` is a call in a schema of that name.
            Tok::Pseudo if self.tok_ahead(1) == Tok::Dot => return self.qualified(),
            Tok::Pseudo => {
                self.bump();
                ExprKind::Pseudo { qualifier: None, name: self.raw(token).to_uppercase_smolstr() }
            }
            Tok::LBrace => return self.nested(Self::odbc_escape),
            _ => return Err(self.unexpected()),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `@x` and `@x.method(…)`.
    #[inline(never)]
    fn variable_primary(&mut self) -> Result<Expr> {
        let variable = self.variable()?;
        let span = variable.span;
        let target = Expr { kind: ExprKind::Variable(variable.name), span };
        self.method_of(target)
    }

    /// `.method(…)` and `.property` behind a value, as often as they are there.
    pub(super) fn method_of(&mut self, target: Expr) -> Result<Expr> {
        let mut target = target;
        let mut height = std::mem::take(&mut self.height);
        while self.tok() == Tok::Dot {
            let span = target.span;
            self.bump();
            let method = self.any_word()?;
            let kind = if self.tok() == Tok::LParen {
                let args = self.call_args()?;
                ExprKind::Method { target: Box::new(target), method, args }
            } else {
                ExprKind::Property { target: Box::new(target), name: method }
            };
            target = Expr { kind, span: self.since(span) };
            height = self.chain(height)?;
        }
        self.height = height;
        Ok(target)
    }

    #[inline(never)]
    pub(super) fn parenthesis(&mut self, allow: bool) -> Result<Expr> {
        let start = self.span();
        self.bump();
        let inner =
            self.nested(|p| p.query_or(|p| if allow { p.either() } else { p.binary(ADDITIVE, false) }))?;
        self.expect(Tok::RParen)?;
        match inner {
            Parenthesized::Query(query) => {
                let subquery = Expr { kind: ExprKind::Subquery(query), span: self.since(start) };
                self.method_of(subquery)
            }
            // The parentheses belong to the span so that the text of an expression is complete.
            Parenthesized::Expr(expr) => {
                let expr = Expr { span: self.since(start), ..expr };
                if expr.is_condition() { Ok(expr) } else { self.method_of(expr) }
            }
        }
    }

    /// The inside of parentheses that hold a query or something else. `((SELECT 1) UNION SELECT 2)` shows itself
    /// as a query only behind its first term.
    fn query_or(&mut self, other: impl FnOnce(&mut Self) -> Result<Expr>) -> Result<Parenthesized> {
        if self.at_kw(Kw::SELECT) {
            return Ok(Parenthesized::Query(Box::new(self.subquery()?)));
        }
        let expr = other(self)?;
        match expr.kind {
            ExprKind::Subquery(first) if self.at_set_operator() => {
                let query = self.inside_query(|p| p.query_continued(*first))?;
                Ok(Parenthesized::Query(Box::new(query)))
            }
            kind => Ok(Parenthesized::Expr(Expr { kind, span: expr.span })),
        }
    }

    /// A column, a function call or a static method, from its name.
    fn name_or_call(&mut self) -> Result<Expr> {
        match self.tok_ahead(1) {
            Tok::LParen => self.call(),
            Tok::Dot | Tok::DoubleColon => self.qualified(),
            Tok::Word if self.at_words(&["NEXT", "VALUE"]) => self.next_value_for(),
            _ => Ok(self.column()),
        }
    }

    #[inline(never)]
    fn column(&mut self) -> Expr {
        let name = self.take_ident();
        let span = name.span;
        Expr { kind: ExprKind::Column(ColumnRef { qualifier: None, name }), span }
    }

    /// `a.b.c`, `a.b(…)`, `t.$IDENTITY`, `type::Method(…)`.
    #[inline(never)]
    fn qualified(&mut self) -> Result<Expr> {
        let start = self.span();
        let mut parts = vec![Some(self.take_ident())];
        while self.eat(Tok::Dot) {
            match self.tok() {
                Tok::Dot => parts.push(None),
                // `db.$PARTITION.function(…)`
                Tok::Pseudo if self.tok_ahead(1) == Tok::Dot => parts.push(Some(self.take_ident())),
                Tok::Pseudo | Tok::Kw(Kw::IDENTITYCOL | Kw::ROWGUIDCOL) => {
                    let qualifier = Some(Box::new(self.name_of(parts, start)?));
                    let name = self.pseudo_name();
                    return Ok(Expr { kind: ExprKind::Pseudo { qualifier, name }, span: self.since(start) });
                }
                _ => parts.push(Some(self.ident()?)),
            }
            if parts.len() > 5 {
                let shown = self.since(start).text(self.text).to_owned();
                return Err(
                    self.error(4104, format!("The multi-part identifier \"{shown}\" could not be bound."))
                );
            }
        }
        match self.tok() {
            Tok::LParen => {
                let name = self.name_of(parts, start)?;
                self.call_of(name, start)
            }
            Tok::DoubleColon => {
                let ty = self.name_of(parts, start)?;
                self.static_method(ty, start)
            }
            _ => {
                let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
                let qualifier =
                    if parts.is_empty() { None } else { Some(Box::new(self.name_of(parts, start)?)) };
                Ok(Expr { kind: ExprKind::Column(ColumnRef { qualifier, name }), span: self.since(start) })
            }
        }
    }

    /// `$IDENTITY`, or the old IDENTITYCOL and ROWGUIDCOL by their new names.
    fn pseudo_name(&mut self) -> SmolStr {
        let token = self.bump();
        match token.tok {
            Tok::Kw(Kw::IDENTITYCOL) => SmolStr::new_static("$IDENTITY"),
            Tok::Kw(Kw::ROWGUIDCOL) => SmolStr::new_static("$ROWGUID"),
            _ => self.raw(token).to_uppercase_smolstr(),
        }
    }

    /// Primaries that begin with a reserved word.
    #[inline(never)]
    fn keyword_primary(&mut self, allow: bool) -> Result<Expr> {
        let Tok::Kw(kw) = self.tok() else { return Err(self.unexpected()) };
        match kw {
            Kw::NULL => self.small_primary(),
            Kw::CASE => self.nested(Self::case),
            Kw::EXISTS if allow => self.exists(),
            Kw::CONVERT | Kw::TRY_CONVERT => self.nested(Self::convert),
            Kw::COALESCE => self.nested(Self::coalesce),
            Kw::NULLIF => self.nested(Self::nullif),
            Kw::CURRENT_TIMESTAMP
            | Kw::CURRENT_USER
            | Kw::SESSION_USER
            | Kw::SYSTEM_USER
            | Kw::USER
            | Kw::CURRENT_DATE
                if self.tok_ahead(1) != Tok::LParen =>
            {
                Ok(self.niladic())
            }
            Kw::IDENTITYCOL | Kw::ROWGUIDCOL => {
                let span = self.span();
                let name = self.pseudo_name();
                Ok(Expr { kind: ExprKind::Pseudo { qualifier: None, name }, span })
            }
            Kw::UPDATE if allow && self.tok_ahead(1) == Tok::LParen => self.column_updated(),
            Kw::CONTAINS | Kw::FREETEXT if allow => self.full_text(),
            Kw::LEFT | Kw::RIGHT | Kw::IDENTITY if self.tok_ahead(1) == Tok::LParen => self.call(),
            // Names of ODBC functions that happen to be reserved: {fn USER()}, {fn DATABASE()}, {fn TRUNCATE(…)}.
            Kw::USER | Kw::DATABASE | Kw::TRUNCATE | Kw::INSERT | Kw::CURRENT_DATE | Kw::CURRENT_TIME
                if self.odbc =>
            {
                self.call()
            }
            _ => Err(self.unexpected()),
        }
    }

    #[inline(never)]
    fn exists(&mut self) -> Result<Expr> {
        let start = self.span();
        self.bump();
        let query = Box::new(self.parenthesized(Self::subquery)?);
        Ok(Expr { kind: ExprKind::Exists(query), span: self.since(start) })
    }
}

/// What parentheses held.
pub(super) enum Parenthesized {
    Query(Box<Query>),
    Expr(Expr),
}

fn binary_op(tok: Tok) -> Option<(BinaryOp, u8)> {
    Some(match tok {
        Tok::Plus => (BinaryOp::Add, ADDITIVE),
        Tok::Minus => (BinaryOp::Subtract, ADDITIVE),
        Tok::Amp => (BinaryOp::BitAnd, ADDITIVE),
        Tok::Pipe => (BinaryOp::BitOr, ADDITIVE),
        Tok::Caret => (BinaryOp::BitXor, ADDITIVE),
        Tok::Concat => (BinaryOp::Concat, ADDITIVE),
        Tok::Star => (BinaryOp::Multiply, MULTIPLICATIVE),
        Tok::Slash => (BinaryOp::Divide, MULTIPLICATIVE),
        Tok::Percent => (BinaryOp::Modulo, MULTIPLICATIVE),
        Tok::Shl => (BinaryOp::ShiftLeft, ADDITIVE),
        Tok::Shr => (BinaryOp::ShiftRight, ADDITIVE),
        _ => return None,
    })
}

fn join(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = Span { end: right.span.end, ..left.span };
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span }
}
