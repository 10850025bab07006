//! Binding of the methods of xml: `value()`, `exist()`, `query()`, `nodes()` in FROM, `modify()` in SET.
//!
//! A query is compiled here, once; what it reads of SQL (`sql:variable`, `sql:column`) becomes arguments of the call. A row of
//! `nodes()` is two columns: the instance, which all its rows share, and the number of the node. Only the first has a name, and
//! only methods and IS NULL may name it (493).

use super::expr::ExprCx;
use super::merge_types::cast_to;
use super::{Binder, Scope, from, same_name};
use crate::errors::{self, Result};
use crate::expr::builtin::long;
use crate::expr::{Expr, Slot};
use crate::xml;
use keel_parser::ast;
use keel_types::{Length, SqlError, SqlType, Value};
use keel_xml::modify::Statement;
use keel_xml::query::atom::AtomType;
use keel_xml::query::{Context, External, ExternalKind, Method, Query};
use std::sync::Arc;

/// The column of a `nodes()` source.
#[derive(Clone, Debug)]
pub(super) struct RowColumn {
    /// Slot of the node's number.
    node: Slot,
    /// What messages call the instance: `t.c.`, or nothing.
    origin: String,
    /// What it is to queries on it.
    context: Context,
}

/// What a method is called on.
struct Instance {
    document: Expr,
    /// Number of the context node; NULL for the document node.
    node: Expr,
    context: Context,
    origin: String,
}

/// Whether the name is that of a method of xml.
#[must_use]
pub fn is_method(name: &ast::Ident) -> bool {
    matches!(name.as_str(), "value" | "exist" | "query" | "nodes" | "modify")
}

/// The column a method is called on, when a call looks like `c.value(…)` or `t.c.value(…)`.
#[must_use]
pub fn method_target(name: &ast::ObjectName) -> Option<ast::ColumnRef> {
    let column = name.schema.clone()?;
    let qualifier = name.database.clone().map(|table| {
        let schema = name.server.clone();
        Box::new(ast::ObjectName { schema, ..ast::ObjectName::simple(table) })
    });
    Some(ast::ColumnRef { qualifier, name: column })
}

impl Binder<'_> {
    /// Whether it is a column in sight, of whatever type: a method of one that has none is error 258.
    pub(super) fn is_in_sight(&self, c: &ast::ColumnRef, scope: &Scope<'_>) -> Result<bool> {
        Ok(scope.resolve(c.qualifier.as_deref(), &c.name.text)?.is_some())
    }

    /// `c.value(…)`, which reads as a call of a function in a schema; `None` when it is one.
    pub(super) fn column_method(
        &mut self,
        call: &ast::FunctionCall,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Option<Expr>> {
        let Some(column) = method_target(&call.name) else { return Ok(None) };
        if call.over.is_some() || call.star || !self.is_in_sight(&column, cx.scope)? {
            return Ok(None);
        }
        let target = ast::Expr { kind: ast::ExprKind::Column(column), span: call.name.span };
        if !is_method(&call.name.name) && !self.value(&target, cx)?.ty.is_clr() {
            return Ok(None);
        }
        self.method(&target, &call.name.name, &call.args, cx).map(Some)
    }

    /// The instance of a `nodes()` column, for IS NULL.
    pub(super) fn xml_row(&mut self, e: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Option<Expr>> {
        let ast::ExprKind::Column(c) = &e.kind else { return Ok(None) };
        let slot = cx.scope.resolve(c.qualifier.as_deref(), &c.name.text)?;
        Ok(slot.filter(|s| self.xml_rows.contains_key(s)).map(|s| self.read(s)))
    }

    /// Error 493 for a `nodes()` column that stands alone.
    pub(super) fn refuse_xml_row(&self, slot: Slot, name: &str) -> Result<()> {
        if !self.xml_rows.contains_key(&slot) {
            return Ok(());
        }
        let m = format!(
            "The column '{name}' that was returned from the nodes() method cannot be used directly. It can only be used with one of the four XML data type methods, exist(), nodes(), query(), and value(), or in IS NULL and IS NOT NULL checks."
        );
        Err(SqlError::new(493, 16, 1, m))
    }

    fn instance(&mut self, target: &ast::Expr, cx: &mut ExprCx<'_, '_>) -> Result<Instance> {
        let whole = Expr::constant(Value::Null, SqlType::Int);
        if let ast::ExprKind::Column(c) = &target.kind
            && let Some(slot) = cx.scope.resolve(c.qualifier.as_deref(), &c.name.text)?
        {
            self.note_slot(slot);
            let document = of_xml(self.read(slot))?;
            if let Some(row) = self.xml_rows.get(&slot) {
                let (node, origin, context) = (self.read(row.node), row.origin.clone(), row.context.clone());
                return Ok(Instance { document, node, context, origin });
            }
            let origin = origin_of(slot, cx.scope, &c.name.text);
            let context = xml::context_of(document.ty)?;
            return Ok(Instance { document, node: whole, context, origin });
        }
        let document = of_xml(self.value(target, cx)?)?;
        let context = xml::context_of(document.ty)?;
        Ok(Instance { document, node: whole, context, origin: String::new() })
    }

    /// `x.value('…', 'type')`, `x.exist('…')`, `x.query('…')`
    pub(super) fn xml_method(
        &mut self,
        target: &ast::Expr,
        name: &ast::Ident,
        args: &[ast::Expr],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let method = match name.as_str() {
            "value" => Method::Value,
            "exist" => Method::Exist,
            "query" => Method::Query,
            "modify" => {
                return Err(SqlError::new(
                    8137,
                    16,
                    1,
                    "Incorrect use of the XML data type method 'modify'. A non-mutator method is expected in this context.",
                ));
            }
            _ => return Err(no_method(name)),
        };
        let instance = self.instance(target, cx)?;
        let texts = literals(name, args, if method == Method::Value { 2 } else { 1 })?;
        let label = format!("{}{name}()", instance.origin);
        let query = Query::parse(texts[0], &label, &self.namespaces).map_err(xml::error)?;
        let (mut given, types) = self.externals(&query.externals, cx)?;
        query.check(method, &types, &instance.context).map_err(xml::error)?;
        let schema = instance.context.schema().cloned();
        let mut call_args = vec![instance.document, instance.node];
        let sql_types: Vec<SqlType> = given.iter().map(|e| e.ty).collect();
        call_args.append(&mut given);
        let query = Arc::new(query);
        match method {
            Method::Value => {
                let ty = keel_parser::parse_type(texts[1]).map_err(|e| super::parse_error(*e))?;
                let ty = self.type_of(&ty, true)?;
                if ty.is_large() && ty.length() != Some(Length::Max) || ty.is_xml() {
                    return Err(SqlError::new(
                        9500,
                        16,
                        1,
                        format!("The data type '{}' used in the VALUE method is invalid.", texts[1]),
                    ));
                }
                let bytes = ty.is_binary();
                let read =
                    if bytes { SqlType::VarBinary(Length::Max) } else { SqlType::NVarChar(Length::Max) };
                let mut e = long("value", read, call_args, move |session, v| {
                    let items = xml::run(&query, schema.as_ref(), &sql_types, session, v)?;
                    Ok(items.map_or(Value::Null, |items| xml::scalar(&items, bytes)))
                });
                e.collation = self.collation();
                Ok(cast_to(e, ty))
            }
            Method::Exist => Ok(long("exist", SqlType::Bit, call_args, move |session, v| {
                let items = xml::run(&query, schema.as_ref(), &sql_types, session, v)?;
                Ok(items.map_or(Value::Null, |items| Value::Bit(!items.is_empty())))
            })),
            _ => Ok(long("query", SqlType::Xml, call_args, move |session, v| {
                match xml::run(&query, schema.as_ref(), &sql_types, session, v)? {
                    Some(items) => Ok(Value::str(query.text(&items).map_err(xml::error)?)),
                    None => Ok(Value::Null),
                }
            })),
        }
    }

    /// What `SET @x.modify('…')` and `SET c.modify('…')` assign.
    pub(super) fn xml_mutation(
        &mut self,
        target: &ast::Expr,
        name: &ast::Ident,
        args: &[ast::Expr],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        if matches!(name.as_str(), "value" | "exist" | "query" | "nodes") {
            let m = format!(
                "Incorrect use of the XML data type method '{name}'. A mutator method is expected in this context."
            );
            return Err(SqlError::new(8113, 16, 1, m));
        }
        if name.as_str() != "modify" {
            return Err(no_method(name));
        }
        let instance = self.instance(target, cx)?;
        let texts = literals(name, args, 1)?;
        let label = format!("{}modify()", instance.origin);
        let statement = Statement::parse(texts[0], &label, &self.namespaces).map_err(xml::error)?;
        let (mut given, types) = self.externals(&statement.externals, cx)?;
        statement.check(&types, &instance.context).map_err(xml::error)?;
        let sql_types: Vec<SqlType> = given.iter().map(|e| e.ty).collect();
        let schema = instance.context.schema().cloned();
        let mut call_args = vec![instance.document];
        call_args.append(&mut given);
        let shown = match &target.kind {
            ast::ExprKind::Variable(name) => name.to_string(),
            ast::ExprKind::Column(c) => c.name.to_string(),
            _ => String::new(),
        };
        Ok(long("modify", SqlType::Xml, call_args, move |session, v| {
            let Some(Value::Str(text)) = v.first() else {
                let m = format!("Mutator 'modify()' on '{shown}' cannot be called on a null value.");
                return Err(SqlError::new(5302, 16, 1, m));
            };
            xml::modify(&statement, schema.as_ref(), &sql_types, session, text, &v[1..])
        }))
    }

    /// `x.nodes('…') AS t(c)`
    pub(super) fn nodes_source(
        &mut self,
        target: &ast::Expr,
        method: &ast::Ident,
        args: &[ast::Expr],
        (alias, columns): (Option<&ast::Ident>, &[ast::Ident]),
        outer: &Scope<'_>,
    ) -> Result<from::BoundSource> {
        if method.as_str() != "nodes" {
            return Err(errors::syntax_near(method.as_str()));
        }
        let mut cx = ExprCx::new(outer, super::expr::Clause::Other);
        let instance = self.instance(target, &mut cx)?;
        let texts = literals(method, args, 1)?;
        let label = format!("{}nodes()", instance.origin);
        let query = Query::parse(texts[0], &label, &self.namespaces).map_err(xml::error)?;
        let (mut given, types) = self.externals(&query.externals, &mut cx)?;
        let context = query.check(Method::Nodes, &types, &instance.context).map_err(xml::error)?;
        let table = xml::Nodes::new(query, context.schema().cloned(), given.iter().map(|e| e.ty).collect());
        let mut call_args = vec![instance.document, instance.node];
        call_args.append(&mut given);
        let name = ast::ObjectName::simple(method.clone());
        let exposed = alias.map_or("", |a| a.as_str());
        let (rel, mut sources) = self.virtual_table(Arc::new(table), exposed, call_args, false, &name);
        if let Some(source) = sources.first_mut() {
            let source = std::rc::Rc::make_mut(source);
            if let (Some(node), Some(shown)) = (source.columns.pop(), source.columns.first()) {
                let row = RowColumn { node: node.slot, origin: instance.origin, context };
                self.xml_rows.insert(shown.slot, row);
            }
        }
        from::rename(&mut sources, columns, exposed)?;
        Ok((rel, sources))
    }

    /// The values of SQL that a query reads, with the types it takes them for.
    fn externals(
        &mut self,
        externals: &[External],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<(Vec<Expr>, Vec<Option<AtomType>>)> {
        let (mut values, mut types) = (Vec::new(), Vec::new());
        for external in externals {
            let name = external.name.as_str();
            let e = match external.kind {
                ExternalKind::Variable => self.variable(name).map_err(|_| {
                    let m = format!(
                        "XQuery: Unable to resolve sql:variable('{name}'). The variable must be declared as a scalar TSQL variable."
                    );
                    SqlError::new(9501, 16, 2, m)
                })?,
                ExternalKind::Column => self.external_column(name, cx)?,
            };
            types.push(xml::atom_type(e.ty)?);
            values.push(e);
        }
        Ok((values, types))
    }

    fn external_column(&mut self, written: &str, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let parts: Vec<ast::Ident> = written.split('.').map(|part| ident(part.trim())).collect();
        let Some((name, qualifier)) = parts.split_last() else { return Err(errors::invalid_column(written)) };
        let qualifier = qualifier.split_last().map(|(table, rest)| {
            let schema = rest.last().cloned();
            Box::new(ast::ObjectName { schema, ..ast::ObjectName::simple(table.clone()) })
        });
        let column = ast::ColumnRef { qualifier, name: name.clone() };
        let e = ast::Expr { kind: ast::ExprKind::Column(column), span: ast::Span::default() };
        self.value(&e, cx)
    }
}

/// A part of a name in `sql:column`, brackets undone.
fn ident(part: &str) -> ast::Ident {
    let bare = part.strip_prefix('[').and_then(|p| p.strip_suffix(']')).unwrap_or(part);
    ast::Ident { text: bare.into(), quoted: true, span: ast::Span::default() }
}

fn of_xml(e: Expr) -> Result<Expr> {
    if e.ty.is_xml() {
        return Ok(e);
    }
    Err(SqlError::new(258, 15, 1, format!("Cannot call methods on {}.", e.ty.name())))
}

pub(super) fn no_method(name: &ast::Ident) -> errors::Error {
    SqlError::new(227, 15, 1, format!("\"{name}\" is not a valid function, property, or field."))
}

/// The arguments of a method, which must be as many string literals. Errors 174 and 8172.
fn literals<'a>(name: &ast::Ident, args: &'a [ast::Expr], count: usize) -> Result<Vec<&'a str>> {
    if args.len() != count {
        return Err(SqlError::new(174, 15, 1, format!("The {name} function requires {count} argument(s).")));
    }
    let literal = |(i, e): (usize, &'a ast::Expr)| match &e.kind {
        ast::ExprKind::Literal(ast::Literal::String { value, .. }) => Ok(value.as_str()),
        _ => {
            let m = format!(
                "The argument {} of the XML data type method \"{name}\" must be a string literal.",
                i + 1
            );
            Err(SqlError::new(8172, 16, 1, m))
        }
    };
    args.iter().enumerate().map(literal).collect()
}

/// What messages put before the method: source and column.
fn origin_of(slot: Slot, scope: &Scope<'_>, name: &str) -> String {
    let has = |s: &super::Source| s.columns.iter().any(|c| c.slot == slot && same_name(&c.name, name));
    let found = std::iter::successors(Some(scope), |s| s.parent)
        .find_map(|s| s.sources.iter().find(|source| has(source)));
    match found {
        Some(source) if !source.alias.is_empty() => format!("{}.{name}.", source.alias),
        _ => String::new(),
    }
}
