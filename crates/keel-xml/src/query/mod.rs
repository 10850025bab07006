//! Queries: the argument of `value()`, `exist()`, `nodes()` and `query()`.
//!
//! [`Query::parse`] reads the text and lists the `sql:variable` and `sql:column` it names; the caller finds their types and
//! hands them to [`Query::check`]; [`Query::run`] evaluates over a context node. A query is data (it goes into plans and from
//! thread to thread), trees are not.

pub(crate) mod ast;
pub mod atom;
mod check;
mod direct;
pub(crate) mod eval;
pub(crate) mod functions;
mod parse;
mod path;
mod typed;

use crate::schema::Schema;
use crate::tree::{Document, Kind, ROOT};
use crate::write::Writer;
use crate::{Result, XmlError};
use atom::AtomType;
pub(crate) use check::{Checker, What};
pub(crate) use check::{Often, Type, Typed};
use eval::{Eval, Focus};
pub use eval::{Item, Items, NodeRef};
pub(crate) use parse::Parser;
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;

/// How deep a query may nest.
pub const DEPTH_MAX: usize = 64;

/// Which method a query is the argument of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `value()`: one value of a SQL type; the query must give at most one item.
    Value,
    /// `exist()`: whether there is anything.
    Exist,
    /// `nodes()`: a row for each node.
    Nodes,
    /// `query()`: xml.
    Query,
}

/// `sql:variable` or `sql:column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalKind {
    /// `sql:variable("@v")`
    Variable,
    /// `sql:column("t.c")`
    Column,
}

/// A value of SQL that a query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// Which function names it.
    pub kind: ExternalKind,
    /// The name as written.
    pub name: SmolStr,
}

/// Asked now and then by a long evaluation.
pub trait Run {
    /// Called every few thousand nodes and when a sequence has grown by `bytes`; an error ends the evaluation.
    fn go_on(&mut self, bytes: usize) -> Result<()>;
}

/// Goes on without end: for tests and constants.
#[derive(Debug)]
pub struct Forever;

impl Run for Forever {
    fn go_on(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
}

/// A compiled query.
#[derive(Debug)]
pub struct Query {
    body: ast::Expr,
    label: String,
    /// Prefixes of the prolog.
    prolog: Vec<(SmolStr, SmolStr)>,
    /// What it reads from SQL, in the order in which values are to come.
    pub externals: Vec<External>,
}

/// What the static checks know of where a query starts: a document or a row of `nodes()`, typed or not.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) ty: Type,
    pub(crate) schema: Option<(Arc<Schema>, bool)>,
}

impl Context {
    /// A whole instance; of typed xml its collection, and whether it is a document.
    #[must_use]
    pub fn instance(schema: Option<(Arc<Schema>, bool)>) -> Context {
        Context { ty: Type::once(What::Document), schema }
    }

    /// The collection of typed xml.
    #[must_use]
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref().map(|(schema, _)| schema)
    }

    pub(crate) fn by(&self) -> Option<(&Schema, bool)> {
        self.schema.as_ref().map(|(schema, document)| (&**schema, *document))
    }
}

impl Query {
    /// Reads a query. `label` is what messages call it (`value()`, `dbo.t.c.value()`), `outer` what WITH XMLNAMESPACES declares
    /// (no prefix: the default). Errors: 6306 when empty, 22xx and 93xx for the syntax.
    pub fn parse(text: &str, label: &str, outer: &[(Option<String>, String)]) -> Result<Query> {
        if text.trim().is_empty() {
            return Err(empty());
        }
        let mut p = Parser::new(text, label, outer);
        p.prolog()?;
        let body = p.expr()?;
        p.end()?;
        Ok(Query { body, label: label.to_owned(), prolog: p.namespaces.clone(), externals: p.externals })
    }

    /// The static checks of a method. `externals` are the types of [`Query::externals`], `None` for xml. What rows of `nodes()`
    /// are to the queries on them. Errors: 2389, 2234, 2210, 2203, 2204, …; of typed xml 2260 to 2263 and 9312 besides.
    pub fn check(&self, method: Method, externals: &[Option<AtomType>], from: &Context) -> Result<Context> {
        let mut checker = Checker {
            label: &self.label,
            externals,
            context: from.ty.clone(),
            schema: from.by(),
            variables: Vec::new(),
            predicates: 0,
        };
        let ty = checker.check(&self.body)?;
        self.suits(method, &mut checker, &ty)?;
        let row = match ty.what {
            What::Declared(_) | What::Anything | What::DeclaredAttribute(_) => ty.what,
            What::Document if from.schema.is_some() => What::Anything,
            _ => What::Node,
        };
        Ok(Context { ty: Type::once(row), schema: from.schema.clone() })
    }

    /// Whether a method takes what the query yields.
    fn suits(&self, method: Method, checker: &mut Checker<'_>, ty: &Type) -> Result<()> {
        match method {
            Method::Value => {
                let ty = checker.value_of(&self.body)?;
                checker.singleton(&ty, "value()")
            }
            Method::Nodes if ty.what == What::Constructed => {
                Err(checker.error(2373, "'nodes' is not supported with constructed XML"))
            }
            Method::Nodes if matches!(ty.what, What::Atom(_) | What::Item) => {
                Err(checker.error(2374, "A node or set of nodes is required for 'nodes()'"))
            }
            Method::Query if matches!(ty.what, What::Attribute(_) | What::DeclaredAttribute(_)) => {
                Err(checker.error(2396, "Attribute may not appear outside of an element"))
            }
            _ => Ok(()),
        }
    }

    /// Evaluates it. `externals` are the values of [`Query::externals`].
    pub fn run(&self, context: NodeRef, externals: &[Items], run: &mut dyn Run) -> Result<Items> {
        evaluate(&self.body, context, externals, run)
    }

    /// The text of a result: what `query()` answers. Errors: 6307 for an attribute on the top level, 6309 for a
    /// character that xml cannot hold.
    pub fn text(&self, items: &[Item]) -> Result<String> {
        let mut w = Writer::preferring(self.prolog.clone());
        let mut after_atom = false;
        for item in items {
            match item {
                Item::Atom(a) => {
                    if after_atom {
                        w.out.push(' ');
                    }
                    crate::write::escape(&a.text(), false, &mut w.out);
                }
                Item::Node(n) if n.node().kind == Kind::Attribute => return Err(attribute_outside()),
                Item::Node(n) => w.node(&n.document, n.id),
            }
            after_atom = matches!(item, Item::Atom(_));
        }
        crate::write::refuse_illegal(&w.out)?;
        Ok(w.out)
    }
}

pub(crate) fn evaluate(
    body: &ast::Expr,
    context: NodeRef,
    externals: &[Items],
    run: &mut dyn Run,
) -> Result<Items> {
    let focus = Focus { item: Some(Item::Node(context)), position: 1, size: 1 };
    let mut eval = Eval { run, externals, variables: Vec::new(), focus, until_check: eval::CHECK_INTERVAL };
    eval.expr(body)
}

pub(crate) fn empty() -> Box<XmlError> {
    XmlError::new(6306, "Invalid XQuery expression passed to XML data type method.")
}

pub(crate) fn attribute_outside() -> Box<XmlError> {
    XmlError::new(
        6307,
        "XML well-formedness check: Attribute cannot appear outside of element declaration. Rewrite your XQuery so it returns well-formed XML.",
    )
}

pub(crate) fn duplicate_attribute(name: &str) -> Box<XmlError> {
    XmlError::new(
        6308,
        format!(
            "XML well-formedness check: Duplicate attribute '{name}'. Rewrite your XQuery so it returns well-formed XML."
        ),
    )
}

/// The document node of a tree.
#[must_use]
pub fn root(document: Rc<Document>) -> NodeRef {
    NodeRef { document, id: ROOT }
}

#[cfg(test)]
mod tests;
