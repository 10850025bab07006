//! Binding of expressions and conditions.

use super::full_text::FullTextPredicate;
use super::merge_types::{cast_to, in_collation, named_collation};
use super::operators::{arith_op, compare_op};
use super::rel::{Aggregate, Rel, Subquery, SubqueryUse};
use super::window::PendingWindow;
use super::{Around, Binder, BoundQuery, Scope, same_name};
use crate::errors::{self, Result};
use crate::expr::{ArithOp, Cast, CmpOp, Coercibility, Expr, ExprKind, Slot};
use keel_parser::ast;
use keel_types::collation::pages;
use keel_types::ty::promote;
use keel_types::{Collation, Decimal, Length, SqlType, Value};
use std::sync::Arc;

/// Where an expression stands, for what it may contain and for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// Select list.
    SelectList,
    /// WHERE and join conditions.
    Where,
    /// GROUP BY.
    GroupBy,
    /// HAVING.
    Having,
    /// ORDER BY.
    OrderBy,
    /// SET of UPDATE.
    Set,
    /// OUTPUT.
    Output,
    /// Anything else (VALUES, DEFAULT, SET @v, IF …).
    Other,
}

/// Aggregates and windowed functions met while binding the expressions of one SELECT.
#[derive(Debug, Default)]
pub struct Collect {
    /// Aggregates, without duplicates.
    pub aggs: Vec<Aggregate>,
    /// Windowed functions.
    pub windows: Vec<PendingWindow>,
    /// GROUPING and GROUPING_ID calls: result slot and arguments.
    pub groupings: Vec<(Slot, Vec<Expr>)>,
    /// The WINDOW clause.
    pub named: Vec<ast::NamedWindow>,
}

/// Context of one expression.
pub struct ExprCx<'s, 'p> {
    /// Names in sight.
    pub scope: &'s Scope<'p>,
    /// Place.
    pub clause: Clause,
    /// Where aggregates go; `None` where they are not allowed.
    pub collect: Option<&'s mut Collect>,
    /// Inside an aggregate's argument.
    pub in_aggregate: bool,
    /// `DEFAULT` is replaced by this (DML).
    pub default: Option<Expr>,
}

impl<'s, 'p> ExprCx<'s, 'p> {
    /// A context without aggregates.
    #[must_use]
    pub fn new(scope: &'s Scope<'p>, clause: Clause) -> ExprCx<'s, 'p> {
        ExprCx { scope, clause, collect: None, in_aggregate: false, default: None }
    }
    /// A context that collects aggregates and windowed functions.
    #[must_use]
    pub fn collecting(scope: &'s Scope<'p>, clause: Clause, collect: &'s mut Collect) -> ExprCx<'s, 'p> {
        ExprCx { scope, clause, collect: Some(collect), in_aggregate: false, default: None }
    }
}

impl Binder<'_> {
    /// Binds a value.
    pub fn value(&mut self, e: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if e.is_condition() {
            return Err(errors::syntax_near("="));
        }
        self.expr(e, cx)
    }

    /// Binds a condition.
    pub fn condition(&mut self, e: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let bound = self.expr(e, cx)?;
        if !e.is_condition() {
            return Err(errors::non_boolean(")"));
        }
        Ok(bound)
    }

    /// Binds a condition and splits it into its conjuncts.
    pub fn conjuncts(&mut self, e: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Vec<Expr>> {
        let mut parts = Vec::new();
        self.condition(e, cx)?.conjuncts(&mut parts);
        parts.retain(|part| !part.is_alternative_always_true());
        Ok(parts)
    }

    // What an arm needs is in a function of its own: this one's frame is on the stack once for each level of nesting.
    fn expr(&mut self, e: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        use ast::ExprKind as K;
        match &e.kind {
            K::Literal(l) => Ok(self.literal(l)),
            K::Default => cx.default.clone().ok_or_else(|| errors::syntax_near("DEFAULT")),
            K::Variable(name) => self.variable(name),
            K::GlobalVariable(name) => self.session_call(name, Vec::new()),
            K::Column(c) => self.column(c, cx),
            K::Pseudo { qualifier, name } => self.pseudo(qualifier.as_deref(), name, cx),
            K::Unary { op, operand } => self.unary(*op, operand, cx),
            K::Binary { op, left, right } => self.binary(*op, left, right, cx),
            K::Case { operand, whens, otherwise } => {
                self.without_next_value(|b| b.case(operand.as_deref(), whens, otherwise.as_deref(), cx))
            }
            K::Iif { condition, then, otherwise } => {
                self.without_next_value(|b| b.iif(condition, then, otherwise, cx))
            }
            K::Coalesce(list) => self.without_next_value(|binder| binder.coalesce(list, cx)),
            K::NullIf(a, b) => self.without_next_value(|binder| binder.null_if(a, b, cx)),
            K::Cast { operand, ty, is_try } => self.cast(operand, ty, None, *is_try, cx),
            K::Convert { ty, operand, style, is_try } => {
                self.cast(operand, ty, style.as_deref(), *is_try, cx)
            }
            K::Parse { operand, ty, culture, is_try } => {
                self.parse_call(operand, ty, culture.as_deref(), *is_try, cx)
            }
            K::Trim { side, chars, operand } => self.trim(*side, chars.as_deref(), operand, cx),
            K::Function(call) => self.function(call, cx),
            K::StaticMethod { ty, method, args } => self.static_method(ty, method, args.as_deref(), cx),
            K::Method { target, method, args } => self.method(target, method, args, cx),
            K::Property { target, name } => self.property(target, name, cx),
            K::Mutated { target, method, args } => self.xml_mutation(target, method, args, cx),
            K::Subquery(q) => self.scalar_subquery(q, cx),
            K::Collate { operand, collation } => self.collated(operand, collation, cx),
            K::AtTimeZone { operand, zone } => self.call_builtin("AT TIME ZONE", &[operand, zone], cx),
            K::NextValueFor { sequence, .. } => self.next_value(sequence, cx.clause),
            K::OdbcLiteral { kind, text } => self.odbc_literal(*kind, text),
            K::Logical { op, terms } => self.logical(*op, terms, cx),
            K::Not(inner) => Ok(self.condition(inner, cx)?.not()),
            K::Compare { op, left, right } => {
                let (l, r) = (self.value(left, cx)?, self.value(right, cx)?);
                self.ansi_comparison(compare_op(*op), l, r, left, right)
            }
            K::Quantified { op, left, all, query } => self.quantified(compare_op(*op), left, *all, query, cx),
            K::IsNull { operand, negated } => self.null_check(operand, *negated, cx),
            K::IsDistinctFrom { left, right, negated } => self.distinct_from(left, right, *negated, cx),
            K::Between { operand, low, high, negated } => self.between((operand, low, high), *negated, cx),
            K::Like { operand, pattern, escape, negated } => {
                self.like(operand, pattern, escape.as_deref(), *negated, cx)
            }
            K::InList { operand, list, negated } => self.in_list(operand, list, *negated, cx),
            K::InQuery { operand, query, negated } => {
                Ok(negate_if(*negated, self.quantified(CmpOp::Eq, operand, false, query, cx)?))
            }
            K::Exists(q) => self.exists(q, cx),
            K::ColumnUpdated(name) => self.column_updated(name),
            K::RegexpLike(args) => self.regexp_like(args, cx),
            K::FullText { contains, columns, table, search, language } => {
                let (table, language) = (table.as_deref(), language.as_deref());
                let predicate = FullTextPredicate { contains: *contains, columns, table, search, language };
                self.full_text_predicate(&predicate, cx)
            }
        }
    }

    fn distinct_from(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let (l, r) = (self.value(left, cx)?, self.value(right, cx)?);
        let equal = self.comparison(CmpOp::Eq, l.clone(), r.clone())?;
        let both_null = Expr::and(vec![is_null(l.clone()), is_null(r.clone())]);
        let both = Expr::and(vec![is_null(l).not(), is_null(r).not(), equal]);
        let same = Expr::condition(ExprKind::Or(vec![both_null, both]));
        Ok(negate_if(!negated, same))
    }

    fn collated(
        &mut self,
        operand: &ast::Expr,
        collation: &ast::Ident,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let inner = self.value(operand, cx)?;
        self.in_named_collation(inner, collation)
    }

    /// A value with COLLATE behind it.
    pub fn in_named_collation(&self, value: Expr, collation: &ast::Ident) -> Result<Expr> {
        if !value.ty.is_string() && value.ty != SqlType::Null {
            return Err(errors::not_collatable(value.ty.name()));
        }
        Ok(in_collation(value, self.collation_named(collation)?))
    }

    /// What a name behind COLLATE stands for.
    pub fn collation_named(&self, collation: &ast::Ident) -> Result<Collation> {
        let words = ["database_default", "catalog_default"];
        match words.iter().any(|w| collation.is(w)) {
            true => Ok(self.collation()),
            false => named_collation(&collation.text),
        }
    }

    fn between(
        &mut self,
        (operand, low, high): (&ast::Expr, &ast::Expr, &ast::Expr),
        negated: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let (v, l, h) = (self.value(operand, cx)?, self.value(low, cx)?, self.value(high, cx)?);
        let ge = self.comparison(CmpOp::Ge, v.clone(), l)?;
        let le = self.comparison(CmpOp::Le, v, h)?;
        Ok(negate_if(negated, Expr::and(vec![ge, le])))
    }

    fn exists(&mut self, q: &ast::Query, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if let ast::QueryBody::Select(s) = &q.body
            && let [ast::SelectItem::Star { qualifier: Some(prefix), .. }] = s.items.as_slice()
            && s.from.is_empty()
        {
            return Err(errors::bad_star_prefix(&prefix.to_string()));
        }
        let BoundQuery { rel, .. } = match without_star(q) {
            Some(q) => self.subquery(&q, cx)?,
            None => self.subquery(q, cx)?,
        };
        let mut e =
            Expr::condition(ExprKind::Subquery(Arc::new(Subquery { usage: SubqueryUse::Exists, rel })));
        e.nullable = false;
        Ok(e)
    }

    fn column_updated(&mut self, name: &ast::Ident) -> Result<Expr> {
        // The session knows what the trigger's statement assigned.
        let name = self.literal(&ast::Literal::String { value: name.text.clone(), national: true });
        let call = self.session_call("UPDATE()", vec![name])?;
        Ok(Expr::compare(CmpOp::Eq, call, Expr::constant(Value::Bit(true), SqlType::Bit)))
    }

    fn regexp_like(&mut self, args: &[ast::Expr], cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let call = self.call_builtin("REGEXP_LIKE", &args.iter().collect::<Vec<_>>(), cx)?;
        Ok(Expr::compare(CmpOp::Eq, call, Expr::constant(Value::Bit(true), SqlType::Bit)))
    }

    /// `e IS [NOT] NULL`; also of a column of `nodes()`.
    fn null_check(&mut self, e: &ast::Expr, negated: bool, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let operand = match self.xml_row(e, cx)? {
            Some(instance) => instance,
            None => self.value(e, cx)?,
        };
        Ok(negate_if(negated, is_null(operand)))
    }

    /// A literal with the type its spelling gives it.
    #[must_use]
    pub fn literal(&self, l: &ast::Literal) -> Expr {
        let mut e = match l {
            ast::Literal::Null => Expr::null(),
            ast::Literal::Int(n) => Expr::int(i64::from(*n)),
            ast::Literal::Numeric { mantissa, precision, scale } => Expr::constant(
                Value::Decimal(Decimal::new(*mantissa, *scale)),
                SqlType::Numeric { precision: *precision, scale: *scale },
            ),
            ast::Literal::Float(f) => Expr::constant(Value::Float(*f), SqlType::Float),
            ast::Literal::Money(m) => Expr::constant(Value::Money(*m), SqlType::Money),
            ast::Literal::String { value, national } => {
                let units = if *national {
                    value.encode_utf16().count()
                } else {
                    pages::length(value, self.collation().code_page())
                };
                let cap = if *national { 4000 } else { 8000 };
                let length = if units > cap { Length::Max } else { Length::Limited(units.max(1) as u16) };
                let ty = if *national { SqlType::NVarChar(length) } else { SqlType::VarChar(length) };
                Expr::constant(Value::Str(value.clone()), ty)
            }
            ast::Literal::Binary(b) => {
                let length =
                    if b.len() > 8000 { Length::Max } else { Length::Limited(b.len().max(1) as u16) };
                Expr::constant(Value::Bytes(b.clone()), SqlType::VarBinary(length))
            }
        };
        e.collation = self.collation();
        e
    }

    /// What a parameter of the inline function being expanded stands for.
    pub(super) fn parameter(&self, name: &str) -> Option<Expr> {
        self.parameters.last()?.get(&name.to_lowercase()).cloned()
    }

    /// A variable, or a parameter of the inline function being expanded.
    pub fn variable(&self, name: &str) -> Result<Expr> {
        if let Some(e) = self.parameter(name) {
            return Ok(e);
        }
        let info = self.scope.variable(name).ok_or_else(|| errors::undeclared_variable(name))?;
        Ok(Expr {
            kind: ExprKind::Var(info.index),
            ty: info.ty,
            collation: info.collation,
            coercibility: Coercibility::Default,
            nullable: true,
        })
    }

    fn column(&mut self, c: &ast::ColumnRef, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        match cx.scope.resolve(c.qualifier.as_deref(), &c.name.text)? {
            Some(slot) => {
                self.refuse_xml_row(slot, &c.name.text)?;
                self.note_slot(slot);
                Ok(self.read(slot))
            }
            None => self.column_property(c, cx)?.ok_or_else(|| match &c.qualifier {
                Some(q) if !cx.scope.has_source(q) => errors::multi_part(&format!("{q}.{}", c.name)),
                _ => errors::invalid_column(&c.name.text),
            }),
        }
    }

    fn pseudo(
        &mut self,
        qualifier: Option<&ast::ObjectName>,
        name: &str,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        // The DML binder exposes $action as a column of that name.
        let exposed = cx.scope.resolve(None, name)?;
        match exposed.or_else(|| self.column_behind(cx.scope, qualifier, name)) {
            Some(slot) => {
                self.note_slot(slot);
                Ok(self.read(slot))
            }
            None => Err(errors::invalid_column(name)),
        }
    }

    /// The column that `$IDENTITY` or `$ROWGUID` stands for.
    fn column_behind(
        &self,
        scope: &Scope<'_>,
        qualifier: Option<&ast::ObjectName>,
        name: &str,
    ) -> Option<Slot> {
        let sources = scope.sources.iter().filter(|s| qualifier.is_none_or(|q| s.matches(q)));
        let mut slots = sources.flat_map(|s| s.columns.iter().map(|c| c.slot));
        slots
            .find(|slot| self.pseudo_columns.get(slot) == Some(&name))
            .or_else(|| self.column_behind(scope.parent?, qualifier, name))
    }

    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if let (
            ast::UnaryOp::Minus,
            ast::ExprKind::Literal(ast::Literal::Numeric { mantissa, scale: 0, .. }),
        ) = (op, &operand.kind)
        {
            // -2147483648 is an int although its digits alone are not.
            if *mantissa == 2_147_483_648 {
                return Ok(Expr::int(-2_147_483_648));
            }
        }
        let inner = self.value(operand, cx)?;
        match op {
            ast::UnaryOp::Plus => Ok(inner),
            // A literal with a sign is a literal still: beside a decimal it has just its digits.
            ast::UnaryOp::Minus if let Some(n) = int_literal(&inner) => Ok(Expr::int(-n)),
            ast::UnaryOp::Minus => {
                if inner.ty.is_string() {
                    return Err(keel_types::raise::invalid_sign(inner.ty));
                }
                if !(inner.ty.is_numeric() || inner.ty == SqlType::Null) || inner.ty == SqlType::Bit {
                    return Err(promote::invalid_operand(inner.ty, "minus"));
                }
                let ty = if matches!(inner.ty, SqlType::TinyInt) { SqlType::SmallInt } else { inner.ty };
                Ok(Expr {
                    ty,
                    nullable: inner.nullable || inner.as_const().is_none(),
                    kind: ExprKind::Neg(Box::new(inner)),
                    ..Expr::null()
                })
            }
            ast::UnaryOp::BitNot => {
                if !(inner.ty.is_integer() || inner.ty == SqlType::Bit) {
                    return Err(promote::invalid_operand(inner.ty, "'~'"));
                }
                Ok(Expr {
                    ty: inner.ty,
                    nullable: inner.nullable,
                    kind: ExprKind::BitNot(Box::new(inner)),
                    ..Expr::null()
                })
            }
        }
    }

    fn binary(
        &mut self,
        op: ast::BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let l = self.value(left, cx)?;
        let r = self.value(right, cx)?;
        match op {
            ast::BinaryOp::ShiftLeft => return self.named_function("LEFT_SHIFT", vec![l, r]),
            ast::BinaryOp::ShiftRight => return self.named_function("RIGHT_SHIFT", vec![l, r]),
            _ => {}
        }
        let op = arith_op(op)?;
        self.binary_values(op, l, r)
    }

    /// Arithmetic over bound operands, with NULL concatenation as the session has it.
    pub fn binary_values(&mut self, op: ArithOp, l: Expr, r: Expr) -> Result<Expr> {
        let text = |t: SqlType| t.is_string() || t == SqlType::Null;
        let strings = text(l.ty) && text(r.ty) && (l.ty.is_string() || r.ty.is_string());
        if op == ArithOp::Add && strings && !self.scope.options().concat_null_yields_null {
            let empty = |e: Expr, this: &Self| {
                let blank = this.literal(&ast::Literal::String { value: "".into(), national: false });
                this.coalesce_values(vec![e, blank])
            };
            let (l, r) = (empty(l, self)?, empty(r, self)?);
            return self.arithmetic(op, l, r);
        }
        self.arithmetic(op, l, r)
    }

    fn cast(
        &mut self,
        operand: &ast::Expr,
        ty: &ast::TypeName,
        style: Option<&ast::Expr>,
        lenient: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let ty = self.type_of(ty, true)?;
        let input = self.value(operand, cx)?;
        let style = style.map(|s| self.value(s, cx)).transpose()?;
        let collation = if input.ty.is_string() { input.collation } else { self.collation() };
        let coercibility = if input.ty.is_string() { input.coercibility } else { Coercibility::Default };
        // Every number has a bit. What does not convert is NULL with ARITHABORT off, and what has no style.
        let always = ty == SqlType::Bit && input.ty.is_numeric();
        let nullable = input.nullable || lenient || !always || style.is_some();
        Ok(Expr {
            kind: ExprKind::Cast(Box::new(Cast { input, style, lenient, explicit: true })),
            ty,
            collation,
            coercibility,
            nullable,
        })
    }

    /// `PARSE(text AS type USING culture)`
    fn parse_call(
        &mut self,
        operand: &ast::Expr,
        ty: &ast::TypeName,
        culture: Option<&ast::Expr>,
        lenient: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let ty = self.type_of(ty, true)?;
        let text = SqlType::NVarChar(Length::Limited(4000));
        let mut args = vec![cast_to(self.value(operand, cx)?, text)];
        if let Some(culture) = culture {
            args.push(cast_to(self.value(culture, cx)?, text));
        }
        Ok(crate::expr::builtin::long("PARSE", ty, args, move |session, v| {
            let (Some(text), culture) = (v[0].as_str(), v.get(1)) else { return Ok(Value::Null) };
            if culture.is_some_and(Value::is_null) {
                return Ok(Value::Null);
            }
            let language = session.dates().language;
            match keel_types::functions::parse_text(text, ty, culture.and_then(Value::as_str), language) {
                // A culture or a type that nobody knows is an error of the statement, not of the text.
                Err(e) if lenient && e.number == 9819 => Ok(Value::Null),
                other => other,
            }
        }))
    }

    fn logical(&mut self, op: ast::LogicalOp, terms: &[ast::Expr], cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let terms = terms.iter().map(|t| self.condition(t, cx)).collect::<Result<Vec<_>>>()?;
        Ok(match op {
            ast::LogicalOp::And => Expr::and(terms),
            ast::LogicalOp::Or => {
                super::conditional::as_list(&terms).unwrap_or_else(|| Expr::condition(ExprKind::Or(terms)))
            }
        })
    }

    /// `= NULL` finds NULLs when ANSI_NULLS is off. Where one side cannot be NULL, an equality is the ordinary one,
    /// and stays one that an index can serve.
    fn ansi_comparison(&self, op: CmpOp, l: Expr, r: Expr, la: &ast::Expr, ra: &ast::Expr) -> Result<Expr> {
        let null = |e: &ast::Expr| {
            matches!(e.kind, ast::ExprKind::Literal(ast::Literal::Null) | ast::ExprKind::Variable(_))
        };
        if self.scope.options().ansi_nulls || !matches!(op, CmpOp::Eq | CmpOp::Ne) || !(null(la) || null(ra))
        {
            return self.comparison(op, l, r);
        }
        if op == CmpOp::Eq && !(l.nullable && r.nullable) {
            return self.comparison(op, l, r);
        }
        let equal = self.comparison(CmpOp::Eq, l.clone(), r.clone())?;
        let both_null = Expr::and(vec![is_null(l.clone()), is_null(r.clone())]);
        let both = Expr::and(vec![is_null(l).not(), is_null(r).not(), equal]);
        let same = Expr::condition(ExprKind::Or(vec![both_null, both]));
        Ok(negate_if(op == CmpOp::Ne, same))
    }

    fn in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let v = self.value(operand, cx)?;
        let items = list.iter().map(|e| self.value(e, cx)).collect::<Result<Vec<_>>>()?;
        if items.len() == 1 {
            let item = items.into_iter().next().ok_or_else(|| errors::syntax_near(")"))?;
            return Ok(negate_if(negated, self.comparison(CmpOp::Eq, v, item)?));
        }
        let encrypted = v.ty.is_encrypted() || items.iter().any(|i| i.ty.is_encrypted());
        // All items of one type after merging with the operand: a set; otherwise a chain of comparisons.
        let same = match encrypted {
            true => Vec::new(),
            false => items.iter().map(|i| promote::common(v.ty, i.ty)).collect::<Result<Vec<_>>>()?,
        };
        let uniform = !encrypted
            && same.windows(2).all(|w| w[0].family() == w[1].family() && w[0].scale() == w[1].scale());
        if !uniform {
            let parts = items
                .into_iter()
                .map(|i| self.comparison(CmpOp::Eq, v.clone(), i))
                .collect::<Result<Vec<_>>>()?;
            return Ok(negate_if(negated, Expr::condition(ExprKind::Or(parts))));
        }
        let mut left = None;
        let mut rights = Vec::with_capacity(items.len());
        let (mut collation, mut coercibility) = (v.collation, v.coercibility);
        for item in items {
            let c = self.comparison(CmpOp::Eq, v.clone(), item)?;
            (collation, coercibility) = (c.collation, c.coercibility);
            if let ExprKind::Compare(_, l, r) = c.kind {
                left = Some(*l);
                rights.push(*r);
            }
        }
        let left = left.ok_or_else(|| errors::syntax_near(")"))?;
        let mut e = Expr::condition(ExprKind::InList(Box::new(left), rights));
        e.collation = collation;
        e.coercibility = coercibility;
        Ok(negate_if(negated, e))
    }

    /// Binds a subquery inside an expression.
    fn subquery(&mut self, q: &ast::Query, cx: &mut ExprCx<'_, '_>) -> Result<BoundQuery> {
        let Some(collect) = cx.collect.as_mut().filter(|_| !cx.in_aggregate) else {
            return self.query(q, Some(cx.scope), true);
        };
        let columns = cx.scope.sources.iter().flat_map(|s| s.columns.iter().map(|c| c.slot)).collect();
        self.around.push(Around { columns, aggs: Vec::new() });
        let bound = self.query(q, Some(cx.scope), true);
        let aggs = self.around.pop().map(|a| a.aggs).unwrap_or_default();
        collect.aggs.extend(aggs);
        bound
    }

    fn scalar_subquery(&mut self, q: &ast::Query, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let BoundQuery { rel, columns } = self.subquery(q, cx)?;
        let [column] = columns.as_slice() else { return Err(errors::subquery_one_column()) };
        if let Some(value) = of_the_moment(&rel, column.slot) {
            return Ok(Expr { nullable: true, ..value.clone() });
        }
        let mut e = self.read(column.slot);
        e.nullable = true;
        e.kind = ExprKind::Subquery(Arc::new(Subquery { usage: SubqueryUse::Scalar(column.slot), rel }));
        Ok(e)
    }

    fn quantified(
        &mut self,
        op: CmpOp,
        left: &ast::Expr,
        all: bool,
        q: &ast::Query,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let needle = self.value(left, cx)?;
        let BoundQuery { rel, columns } = self.subquery(q, cx)?;
        let [column] = columns.as_slice() else { return Err(errors::subquery_one_column()) };
        let item = self.read(column.slot);
        // x op ALL (q) is NOT (x negated-op ANY (q)).
        let op = if all { op.negate() } else { op };
        let compared = self.comparison(op, needle, item)?;
        let (collation, nullable) = (compared.collation, compared.nullable);
        let ExprKind::Compare(op, needle, item) = compared.kind else {
            return Err(errors::subquery_one_column());
        };
        let mut e = Expr::condition(ExprKind::Subquery(Arc::new(Subquery {
            usage: SubqueryUse::Any { op, needle, item },
            rel,
        })));
        e.collation = collation;
        e.nullable = nullable;
        Ok(negate_if(all, e))
    }

    fn odbc_literal(&mut self, kind: ast::OdbcLiteralKind, text: &str) -> Result<Expr> {
        let ty = match kind {
            ast::OdbcLiteralKind::Date | ast::OdbcLiteralKind::Timestamp | ast::OdbcLiteralKind::Time => {
                SqlType::DateTime
            }
            ast::OdbcLiteralKind::Guid => SqlType::UniqueIdentifier,
        };
        let text = self.literal(&ast::Literal::String { value: text.into(), national: false });
        Ok(cast_to(text, ty))
    }

    /// A value of the session by name.
    pub fn session_call(&mut self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        self.refuse_encrypted(&args)?;
        let types: Vec<SqlType> = args.iter().map(|a| a.ty).collect();
        let f = self.scope.session_function(name, &types).ok_or_else(|| {
            if name.starts_with("@@") {
                errors::undeclared_variable(name)
            } else {
                errors::unknown_function(name)
            }
        })?;
        let args = typed(name, args, f.params)?;
        Ok(Expr {
            kind: ExprKind::Session { id: f.id, name: name.into(), stable: f.stable, args },
            ty: f.ty,
            collation: self.collation(),
            coercibility: Coercibility::Default,
            nullable: f.nullable,
        })
    }

    /// Evaluates TOP, OFFSET and similar counts: bigint (or float for PERCENT).
    pub fn count_value(&mut self, e: &ast::Expr, scope: &Scope<'_>, percent: bool) -> Result<Expr> {
        let bound = self.value(e, &mut ExprCx::new(scope, Clause::Other))?;
        if percent && !bound.ty.is_numeric() && bound.ty != SqlType::Null {
            return Err(errors::top_not_valid());
        }
        if !(percent || is_count(&bound)) {
            return Err(errors::top_not_integer());
        }
        if let Some(Value::Int(n)) = bound.as_const()
            && *n < 0
        {
            return Err(errors::top_negative());
        }
        Ok(cast_to(bound, if percent { SqlType::Float } else { SqlType::BigInt }))
    }

    /// Drops a relation's columns: an uncorrelated scalar use over an empty FROM.
    #[must_use]
    pub fn one_row() -> Rel {
        Rel::One
    }
}

/// Arguments of a function of the session as it takes them: 8116 for what is no bytes and no text where bytes are wanted.
fn typed(name: &str, args: Vec<Expr>, params: &[SqlType]) -> Result<Vec<Expr>> {
    if params.is_empty() {
        return Ok(args);
    }
    let one = |(at, (arg, ty)): (usize, (Expr, &SqlType))| {
        let taken = arg.ty == SqlType::Null || arg.ty.is_string() || arg.ty.is_binary();
        if ty.is_binary() && !taken {
            return Err(keel_types::raise::bad_argument_type(arg.ty, at + 1, name));
        }
        // Texts become bytes as CONVERT makes them.
        let (from, mut converted) = (arg.ty, cast_to(arg, *ty));
        if let ExprKind::Cast(cast) = &mut converted.kind
            && ty.is_binary()
            && from.is_string()
        {
            cast.explicit = true;
        }
        Ok(converted)
    };
    args.into_iter().zip(params).enumerate().map(one).collect()
}

/// IS NULL.
#[must_use]
pub fn is_null(e: Expr) -> Expr {
    let mut e = Expr::condition(ExprKind::IsNull(Box::new(e)));
    e.nullable = false;
    e
}

/// The number of an `int` constant that `int` has with the other sign too.
fn int_literal(e: &Expr) -> Option<i64> {
    match e.as_const() {
        Some(Value::Int(n)) if e.ty == SqlType::Int && *n != i64::from(i32::MIN) => Some(*n),
        _ => None,
    }
}

/// NOT when asked for.
#[must_use]
pub fn negate_if(negated: bool, e: Expr) -> Expr {
    if negated { e.not() } else { e }
}

/// What a subquery without FROM computes, where that is another value for each row around it.
fn of_the_moment(rel: &Rel, slot: Slot) -> Option<&Expr> {
    let Rel::Project { input, exprs } = rel else { return None };
    let [(own, value)] = exprs.as_slice() else { return None };
    (matches!(**input, Rel::One) && *own == slot && value.is_of_the_moment()).then_some(value)
}

/// The name of a function call without schema, when it has none.
#[must_use]
pub fn plain_name(name: &ast::ObjectName) -> Option<&str> {
    name.is_simple().then_some(name.name.as_str())
}

/// Whether an expression is a column of this name (date parts arrive so).
#[must_use]
pub fn bare_word(e: &ast::Expr) -> Option<&str> {
    match &e.kind {
        ast::ExprKind::Column(c) if c.qualifier.is_none() => Some(c.name.as_str()),
        _ => None,
    }
}

/// Whether two written names are one.
#[must_use]
pub fn names_equal(a: &ast::Ident, b: &str) -> bool {
    same_name(&a.text, b)
}

/// Whether a value may count rows: a whole number, or a variable that nobody declared, whose type is not known.
pub(super) fn is_count(e: &Expr) -> bool {
    let whole = e.ty.is_integer() || matches!(e.ty.decimal_parts(), Some((_, 0)));
    whole || e.ty == SqlType::Null && e.as_const().is_none()
}

/// `SELECT *` over groups means nothing but in EXISTS, where nobody looks at the columns: the query with a constant instead.
fn without_star(q: &ast::Query) -> Option<ast::Query> {
    let ast::QueryBody::Select(s) = &q.body else { return None };
    let grouped = s.group_by.is_some() || s.having.is_some();
    let [ast::SelectItem::Star { span, .. }] = s.items.as_slice() else { return None };
    let mut select = s.clone();
    let kind = ast::ExprKind::Literal(ast::Literal::Int(1));
    select.items = vec![ast::SelectItem::Expr { expr: ast::Expr { kind, span: *span }, alias: None }];
    (grouped || s.from.is_empty()).then(|| ast::Query { body: ast::QueryBody::Select(select), ..q.clone() })
}
