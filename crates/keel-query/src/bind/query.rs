//! Binding of query expressions: set operations, ORDER BY, OFFSET, statements with CTEs.

use super::expr::{Clause, ExprCx, is_count};
use super::merge_types::{cast_to, is_incomparable, refuse_incomparable, unify};
use super::rel::{Rel, SetKind, SortKey};
use super::select::Selected;
use super::{Binder, BoundQuery, OutputColumn, Scope, same_name};
use crate::errors::{self, Result};
use crate::expr::{Expr, Slot};
use crate::scope::VariableInfo;
use keel_parser::ast;
use keel_types::{SqlType, Value};

/// What a top-level SELECT does with its rows.
#[derive(Debug)]
pub enum Destination {
    /// Returns them.
    Client,
    /// Assigns variables, row by row.
    Assign(Vec<(VariableInfo, Expr)>),
    /// SELECT … INTO name.
    Into(ast::ObjectName),
}

/// A bound top-level SELECT.
#[derive(Debug)]
pub struct BoundSelect {
    /// The query.
    pub query: BoundQuery,
    /// Where its rows go.
    pub destination: Destination,
}

/// The SELECT that names the columns of a query, and the table of SELECT … INTO.
fn first_select(body: &ast::QueryBody) -> Option<&ast::Select> {
    match body {
        ast::QueryBody::Select(select) => Some(select),
        ast::QueryBody::Set { terms, .. } => terms.first().and_then(first_select),
    }
}

/// Error 1033 for a query inside something else whose order decides nothing: neither which rows there are nor a document.
pub fn refuse_loose_order(q: &ast::Query) -> Result<()> {
    let has_top = matches!(&q.body, ast::QueryBody::Select(s) if s.top.is_some());
    if !q.order_by.is_empty() && q.offset.is_none() && !has_top && q.for_clause.is_none() {
        return Err(errors::order_by_in_derived());
    }
    Ok(())
}

/// A query changes nothing whose context could be told: error 22108.
fn refuse_context(s: &ast::SelectStatement) -> Result<()> {
    match &s.with {
        Some(with) if with.change_context.is_some() => Err(errors::change_context_of_select()),
        _ => Ok(()),
    }
}

impl Binder<'_> {
    /// Binds a SELECT statement.
    pub fn select_statement(&mut self, s: &ast::SelectStatement) -> Result<BoundSelect> {
        refuse_context(s)?;
        self.query_hints(&s.options)?;
        let bound = self.with_ctes(s.with.as_ref(), |b| {
            if let ast::QueryBody::Select(select) = &s.query.body {
                return b.top_select(select, &s.query);
            }
            let query = b.query(&s.query, None, false)?;
            let into = first_select(&s.query.body).and_then(|first| first.into.clone());
            Ok(BoundSelect { query, destination: into.map_or(Destination::Client, Destination::Into) })
        })?;
        self.check_table_hints()?;
        Ok(bound)
    }

    /// Binds the query of a view, function or cursor: a SELECT statement used as a table.
    pub fn select_statement_query(
        &mut self,
        s: &ast::SelectStatement,
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery> {
        refuse_context(s)?;
        self.query_hints(&s.options)?;
        self.with_ctes(s.with.as_ref(), |b| b.query(&s.query, parent, true))
    }

    /// Binds a query; `nested` when it is not a statement of its own.
    pub fn query(&mut self, q: &ast::Query, parent: Option<&Scope<'_>>, nested: bool) -> Result<BoundQuery> {
        if nested {
            refuse_loose_order(q)?;
        }
        let selected = match &q.body {
            ast::QueryBody::Select(s) if q.for_clause.is_none() => return self.select(s, q, parent),
            ast::QueryBody::Select(s) => self.selected(s, q, parent)?,
            ast::QueryBody::Set { op, all, terms } => {
                crate::dml::nested::refuse_in_set(terms)?;
                let bound = self.set_operation(*op, *all, terms, parent)?;
                let query = self.order_set(bound, q, parent)?;
                Selected { query, sources: Vec::new(), names: Vec::new(), grouped: false }
            }
        };
        match &q.for_clause {
            None => Ok(selected.query),
            Some(clause) => {
                let mut selected = selected;
                if !nested && !self.in_a_module() {
                    selected.query = self.masked_query(selected.query);
                }
                self.for_clause(selected, clause, nested)
            }
        }
    }

    fn query_body(&mut self, body: &ast::QueryBody, parent: Option<&Scope<'_>>) -> Result<BoundQuery> {
        match body {
            ast::QueryBody::Select(s) => {
                let q = ast::Query {
                    body: body.clone(),
                    order_by: Vec::new(),
                    offset: None,
                    for_clause: None,
                    span: s.span,
                };
                self.select(s, &q, parent)
            }
            ast::QueryBody::Set { op, all, terms } => {
                crate::dml::nested::refuse_in_set(terms)?;
                self.set_operation(*op, *all, terms, parent)
            }
        }
    }

    fn set_operation(
        &mut self,
        op: ast::SetOp,
        all: bool,
        terms: &[ast::QueryBody],
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery> {
        let mut terms = terms.iter();
        let first = terms.next().ok_or_else(|| errors::syntax_near("UNION"))?;
        let mut left = self.query_body(first, parent)?;
        for term in terms {
            let right = self.query_body(term, parent)?;
            left = self.combine(op, all, left, right)?;
        }
        Ok(left)
    }

    fn combine(
        &mut self,
        op: ast::SetOp,
        all: bool,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery> {
        if left.columns.len() != right.columns.len() {
            return Err(errors::set_operation_columns());
        }
        let (mut left_exprs, mut right_exprs) = (Vec::new(), Vec::new());
        let (mut left_slots, mut right_slots, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        let mut columns = Vec::new();
        for (l, r) in left.columns.iter().zip(&right.columns) {
            let (le, re) = (self.typed_column(&left.rel, l.slot), self.typed_column(&right.rel, r.slot));
            let (lt, rt) = (le.ty, re.ty);
            let (le, re) = (as_written(&left.rel, le, rt), as_written(&right.rel, re, lt));
            let nullable = le.nullable || re.nullable;
            let (parts, ty, collation, coercibility) = unify(vec![le, re], "UNION")?;
            if !all {
                parts.iter().try_for_each(|e| self.refuse_randomized(e))?;
            }
            if !all && is_incomparable(ty) {
                return Err(errors::incomparable_set_operation(ty.name()));
            }
            let [le, re]: [Expr; 2] = parts.try_into().map_err(|_| errors::set_operation_columns())?;
            left_slots.push(self.materialize(&l.name, le, &mut left_exprs));
            right_slots.push(self.materialize(&r.name, re, &mut right_exprs));
            let model = Expr { ty, collation, coercibility, nullable, ..Expr::null() };
            let slot = self.slot_for(&l.name, &model);
            if ty == SqlType::Null {
                self.untyped.insert(slot);
            }
            slots.push(slot);
            columns.push(OutputColumn { name: l.name.clone(), slot });
        }
        let kind = match op {
            ast::SetOp::Union => SetKind::UnionAll,
            ast::SetOp::Intersect => SetKind::Intersect,
            ast::SetOp::Except => SetKind::Except,
        };
        let rel = Rel::SetOp {
            kind,
            left: Box::new(left.rel.project(left_exprs)),
            right: Box::new(right.rel.project(right_exprs)),
            left_slots,
            right_slots,
            slots: slots.clone(),
        };
        let rel =
            if op == ast::SetOp::Union && !all { Rel::Distinct { input: Box::new(rel), slots } } else { rel };
        Ok(BoundQuery { rel, columns })
    }

    /// A column as an expression; a bare NULL in the select list has no type yet.
    fn typed_column(&self, rel: &Rel, slot: Slot) -> Expr {
        if self.untyped.contains(&slot) {
            return Expr::null();
        }
        let e = self.read(slot);
        if let Rel::Project { exprs, .. } = rel
            && let Some((_, inner)) = exprs.iter().find(|(s, _)| *s == slot)
            && inner.ty == SqlType::Null
        {
            return Expr::null();
        }
        e
    }

    /// The slot that holds an expression's value, computing it into a new one when it is not a slot already.
    pub fn materialize(&mut self, name: &str, e: Expr, into: &mut Vec<(Slot, Expr)>) -> Slot {
        if let Some(slot) = e.as_slot() {
            return slot;
        }
        let slot = self.slot_for(name, &e);
        into.push((slot, e));
        slot
    }

    /// ORDER BY and OFFSET of a set operation: names and positions of its columns, or expressions of them.
    fn order_set(
        &mut self,
        bound: BoundQuery,
        q: &ast::Query,
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery> {
        let BoundQuery { mut rel, columns } = bound;
        let mut keys = Vec::new();
        for item in &q.order_by {
            let (named, collation) = under_collation(&item.expr);
            let written = || written_in_first(&q.body, named, &columns).map(|at| columns[at].slot);
            let slot = match self.output_reference(named, &columns)?.or_else(written) {
                Some(slot) => slot,
                None => return Err(errors::order_by_in_set_operation()),
            };
            let expr = match collation {
                Some(collation) => self.in_named_collation(self.read(slot), collation)?,
                None => self.read(slot),
            };
            refuse_incomparable(expr.ty, "ORDER BY")?;
            self.refuse_encrypted([&expr])?;
            keys.push(SortKey { expr, descending: item.descending });
        }
        if !keys.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys };
        }
        rel = self.offset(rel, q, parent)?;
        Ok(BoundQuery { rel, columns })
    }

    /// An ORDER BY item that names an output column or its position.
    pub fn output_reference(&self, item: &ast::Expr, columns: &[OutputColumn]) -> Result<Option<Slot>> {
        if let Some(n) = position(item) {
            let index = usize::try_from(n - 1).ok().filter(|i| *i < columns.len());
            return index
                .map(|i| Some(columns[i].slot))
                .ok_or_else(|| errors::order_position_out_of_range(n));
        }
        match &item.kind {
            ast::ExprKind::Column(c) if c.qualifier.is_none() => {
                let mut matching = columns.iter().filter(|o| same_name(&o.name, &c.name.text));
                let first = matching.next().map(|o| o.slot);
                if matching.any(|o| Some(o.slot) != first) {
                    return Err(errors::ambiguous_column(&c.name.text));
                }
                Ok(first)
            }
            _ => Ok(None),
        }
    }

    /// Adds OFFSET … FETCH.
    pub fn offset(&mut self, rel: Rel, q: &ast::Query, parent: Option<&Scope<'_>>) -> Result<Rel> {
        let Some(offset) = &q.offset else { return Ok(rel) };
        if matches!(&q.body, ast::QueryBody::Select(s) if s.top.is_some()) {
            return Err(errors::top_with_offset());
        }
        let empty = Scope::new(Vec::new(), parent);
        let skip = self.value(&offset.skip, &mut ExprCx::new(&empty, Clause::Other))?;
        if !is_count(&skip) {
            return Err(errors::offset_not_integer());
        }
        if matches!(skip.as_const(), Some(Value::Int(n)) if *n < 0) {
            return Err(errors::offset_negative());
        }
        let skip = cast_to(skip, SqlType::BigInt);
        let fetch = offset.fetch.as_ref().map(|f| self.count_value(f, &empty, false)).transpose()?;
        if let Some(Value::Int(n)) = fetch.as_ref().and_then(crate::expr::fold::constant)
            && n <= 0
        {
            return Err(errors::fetch_not_positive());
        }
        Ok(Rel::Top { input: Box::new(rel), count: fetch, percent: false, ties: None, offset: Some(skip) })
    }
}

/// The position that an ORDER BY item is: a whole number, with a sign perhaps.
pub(super) fn position(e: &ast::Expr) -> Option<i64> {
    match &e.kind {
        ast::ExprKind::Literal(ast::Literal::Int(n)) => Some(i64::from(*n)),
        ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand } => position(operand).map(|n| -n),
        ast::ExprKind::Unary { op: ast::UnaryOp::Plus, operand } => position(operand),
        _ => None,
    }
}

/// A column beside a decimal one: the integer literal itself when it is one, which has just as many digits as written.
fn as_written(rel: &Rel, column: Expr, beside: SqlType) -> Expr {
    let Rel::Project { exprs, .. } = rel else { return column };
    let written = exprs.iter().find(|(slot, _)| Some(*slot) == column.as_slot()).map(|(_, e)| e);
    match written {
        Some(e) if beside.decimal_parts().is_some() && e.as_const().is_some() && e.ty == SqlType::Int => {
            e.clone()
        }
        _ => column,
    }
}

/// Which column of a set operation its first query gives by this column reference (`ORDER BY t.a`): written just so, or
/// one of them without the table, which is one of its FROM, whatever the column is called then.
fn written_in_first(body: &ast::QueryBody, wanted: &ast::Expr, columns: &[OutputColumn]) -> Option<usize> {
    let mut body = body;
    let select = loop {
        match body {
            ast::QueryBody::Select(s) => break s,
            ast::QueryBody::Set { terms, .. } => body = terms.first()?,
        }
    };
    let ast::ExprKind::Column(wanted) = &wanted.kind else { return None };
    let from_first =
        wanted.qualifier.as_ref().is_some_and(|q| select.from.iter().any(|s| is_named(s, &q.name.text)));
    let qualifier = |c: &ast::ColumnRef| c.qualifier.as_ref().map(|q| q.to_string().to_lowercase());
    let same = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => match &expr.kind {
            ast::ExprKind::Column(c) => {
                same_name(&c.name.text, &wanted.name.text)
                    && (qualifier(c) == qualifier(wanted)
                        || c.qualifier.is_none() && from_first
                        || wanted.qualifier.is_none())
            }
            _ => false,
        },
        _ => false,
    };
    if select.items.iter().any(|i| matches!(i, ast::SelectItem::Star { .. })) {
        // How many columns a star stands for is not known here; a name that only one of them has is enough.
        let mut named = (0..columns.len()).filter(|i| same_name(&columns[*i].name, &wanted.name.text));
        return named.next().filter(|_| from_first && named.next().is_none());
    }
    select.items.iter().position(same)
}

/// Whether a column reference may name this table of FROM so: by its alias, or by its name when it has none.
fn is_named(source: &ast::TableSource, name: &str) -> bool {
    match (&source.kind, source.alias()) {
        (ast::TableSourceKind::Join { left, right, .. }, _) => is_named(left, name) || is_named(right, name),
        (_, Some(alias)) => same_name(&alias.text, name),
        (ast::TableSourceKind::Named { name: table, .. }, None) => same_name(&table.name.text, name),
        _ => false,
    }
}

/// What ORDER BY names, and the collation behind it: `name COLLATE x` may name what `name` may.
pub fn under_collation(item: &ast::Expr) -> (&ast::Expr, Option<&ast::Ident>) {
    match &item.kind {
        ast::ExprKind::Collate { operand, collation } => (operand, Some(collation)),
        _ => (item, None),
    }
}
