//! XML DML, the argument of `modify()`: `insert`, `delete`, `replace value of`.
//!
//! Everything is evaluated over the instance as it is; then a new tree is built front to back, with what is inserted put in and
//! what is deleted left out.

use crate::query::Typed;
use crate::query::ast::Expr;
use crate::query::atom::AtomType;
use crate::query::eval::{add_attribute, add_items};
use crate::query::{
    Checker, Context, External, Item, Items, NodeRef, Often, Parser, Run, Type, What, empty, evaluate, root,
};
use crate::schema::{XSD, XSI};
use crate::tree::{Builder, Document, Kind, Name, ROOT};
use crate::write::refuse_illegal;
use crate::{Result, XmlError};
use smol_str::SmolStr;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Where an insert puts its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    First,
    Last,
    Before,
    After,
}

#[derive(Debug)]
enum Action {
    Insert(Expr, Place, Expr),
    Delete(Expr),
    Replace(Expr, Expr),
}

/// A compiled statement.
#[derive(Debug)]
pub struct Statement {
    action: Action,
    label: String,
    /// What it reads from SQL, in the order in which values are to come.
    pub externals: Vec<External>,
}

impl Statement {
    /// Reads a statement; see [`crate::query::Query::parse`]. Errors besides: 6305 when it is a query.
    pub fn parse(text: &str, label: &str, outer: &[(Option<String>, String)]) -> Result<Statement> {
        if text.trim().is_empty() {
            return Err(empty());
        }
        let mut p = Parser::new(text, label, outer);
        p.prolog()?;
        let action = if p.eat_words(&["insert"])? {
            let content = p.expr()?;
            let place = place(&mut p)?;
            Action::Insert(content, place, p.single()?)
        } else if p.eat_words(&["delete"])? {
            Action::Delete(p.single()?)
        } else if p.eat_words(&["replace", "value", "of"])? {
            let target = p.single()?;
            if !p.eat_words(&["with"])? {
                return Err(p.error(2205, "\"with\" was expected."));
            }
            Action::Replace(target, p.single()?)
        } else {
            p.expr()?;
            p.end()?;
            return Err(XmlError::new(
                6305,
                "XQuery data manipulation expression required in XML data type method.",
            ));
        };
        p.end()?;
        Ok(Statement { action, label: label.to_owned(), externals: p.externals })
    }

    /// The static checks; see [`crate::query::Query::check`]. Error 2247 besides: a value of another type than the node's.
    pub fn check(&self, externals: &[Option<AtomType>], from: &Context) -> Result<()> {
        let mut c = Checker {
            label: &self.label,
            externals,
            context: from.ty.clone(),
            schema: from.by(),
            variables: Vec::new(),
            predicates: 0,
        };
        match &self.action {
            Action::Insert(content, place, target) => check_insert(&mut c, content, *place, target),
            Action::Delete(target) => {
                let ty = c.check(target)?;
                if matches!(ty.what, What::Document | What::Atom(_) | What::Item) {
                    let m = format!("Only non-document nodes may be deleted, found '{}'", ty.text());
                    return Err(c.error(2264, &m));
                }
                Ok(())
            }
            Action::Replace(target, value) => {
                let ty = c.check(target)?;
                if ty.often == Often::Many {
                    let m =
                        format!("The target of 'replace' must be at most one node, found '{}'", ty.text());
                    return Err(c.error(2337, &m));
                }
                let typed = match &ty.what {
                    What::DeclaredAttribute(typed) => Some(typed),
                    What::Declared(typed) if typed.value.is_some() => Some(typed),
                    _ => None,
                };
                if typed.is_none() && !matches!(ty.what, What::Text | What::Attribute(_)) {
                    return Err(c.error(
                        2356,
                        &format!("The target of 'replace value of' must be a non-metadata attribute or an element with simple typed content, found '{}'", ty.text()),
                    ));
                }
                let value = c.check(value)?;
                if value.what == What::Constructed {
                    return Err(c.error(
                        9310,
                        "The 'with' clause of 'replace value of' cannot contain constructed XML.",
                    ));
                }
                typed.map_or(Ok(()), |typed| suits(&c, typed, &value))
            }
        }
    }

    /// The tree after the statement. `externals` are the values of [`Statement::externals`]; those of xml are document nodes.
    pub fn run(&self, document: &Rc<Document>, externals: &[Items], run: &mut dyn Run) -> Result<Document> {
        let mut of = |e: &Expr| evaluate(e, root(document.clone()), externals, run);
        let mut edit =
            Edit { document, deleted: HashSet::new(), texts: HashMap::new(), inserted: None, nil: None };
        match &self.action {
            Action::Insert(content, place, target) => {
                let target = of(target)?;
                if let Some(Item::Node(n)) = target.first() {
                    edit.inserted = Some((n.id, *place, of(content)?));
                }
            }
            Action::Delete(target) => {
                edit.deleted = of(target)?.iter().filter_map(node_id).collect();
            }
            Action::Replace(target, value) => {
                if let Some(Item::Node(n)) = of(target)?.first() {
                    let items = of(value)?;
                    let typed = n.node().kind == Kind::Element;
                    if items.is_empty() && !(typed && n.document.is_nillable(n.id)) {
                        refuse_empty(n, value)?;
                    }
                    let texts: Vec<SmolStr> = items.iter().map(Item::text).collect();
                    edit.texts.insert(n.id, texts.join(" ").into());
                    edit.nil = (typed && items.is_empty()).then_some(n.id);
                }
            }
        }
        let changed = edit.build()?;
        changed.nodes.iter().try_for_each(|node| refuse_illegal(&node.text))?;
        Ok(changed)
    }
}

fn place(p: &mut Parser<'_>) -> Result<Place> {
    if p.eat_words(&["as", "first", "into"])? {
        Ok(Place::First)
    } else if p.eat_words(&["as", "last", "into"])? || p.eat_words(&["into"])? {
        Ok(Place::Last)
    } else if p.eat_words(&["before"])? {
        Ok(Place::Before)
    } else if p.eat_words(&["after"])? {
        Ok(Place::After)
    } else {
        p.syntax()
    }
}

/// Whether a value may become that of a typed node.
fn suits(c: &Checker<'_>, typed: &Typed, value: &Type) -> Result<()> {
    let (Some((schema, _)), Some(simple)) = (c.schema, typed.simple) else { return Ok(()) };
    let value = value.atomized();
    let What::Atom(ty) = value.what else { return Ok(()) };
    if ty == AtomType::Untyped || matches!(typed.value, Some((AtomType::Untyped, _))) {
        return Ok(());
    }
    let expected = schema.built_in(simple);
    let own = schema.type_names.get(&(XSD.into(), ty.name().trim_start_matches("xs:").into()));
    let list = matches!(typed.value, Some((_, true)));
    if list
        || (value.often != Often::Many && own.is_none_or(|own| schema.derivation(*own, expected).is_some()))
    {
        return Ok(());
    }
    let m = format!(
        "The value is of type \"{}\", which is not a subtype of the expected type \"xs:{}\".",
        Type { often: if value.often == Often::Many { Often::Many } else { Often::Once }, ..value }.text(),
        schema.type_shown(expected).rsplit('}').next().unwrap_or_default()
    );
    Err(c.error(2247, &m))
}

fn node_id(item: &Item) -> Option<u32> {
    match item {
        Item::Node(n) => Some(n.id),
        Item::Atom(_) => None,
    }
}

fn refuse_empty(target: &NodeRef, value: &Expr) -> Result<()> {
    let written = matches!(value, Expr::Sequence(parts) if parts.is_empty());
    match target.node().kind {
        Kind::Text if written => Ok(()),
        Kind::Text => Err(XmlError::new(
            6325,
            "XQuery: Replacing the value of a node with an empty sequence is allowed only if '()' is used as the new value expression. The new value expression evaluated to an empty sequence but it is not '()'.",
        )),
        _ => Err(XmlError::new(
            6320,
            "XQuery: Only nillable elements or text nodes can be updated with empty sequence.",
        )),
    }
}

/// Whether content may be a bare `sql:variable` or `sql:column` of xml, alone or in a list.
fn check_content(c: &mut Checker<'_>, content: &Expr) -> Result<Type> {
    let xml =
        |e: &Expr, c: &Checker<'_>| matches!(e, Expr::External(i) if c.externals.get(*i) == Some(&None));
    match content {
        e if xml(e, c) => Ok(Type { what: What::Constructed, often: Often::Many }),
        Expr::Sequence(parts) if parts.iter().any(|e| xml(e, c)) => {
            for e in parts.iter().filter(|e| !matches!(e, Expr::External(_))) {
                c.check(e)?;
            }
            Ok(Type { what: What::Constructed, often: Often::Many })
        }
        e => c.check(e),
    }
}

fn check_insert(c: &mut Checker<'_>, content: &Expr, place: Place, target: &Expr) -> Result<()> {
    let to = c.check(target)?;
    if to.often == Often::Many {
        let m = format!("The target of 'insert' must be a single node, found '{}'", to.text());
        return Err(c.error(2226, &m));
    }
    let what = check_content(c, content)?;
    if matches!(what.what, What::Atom(_) | What::Item | What::Document) {
        let m = format!("Only non-document nodes can be inserted. Found \"{}\".", what.text());
        return Err(c.error(2207, &m));
    }
    let into = matches!(place, Place::First | Place::Last);
    if !into && matches!(what.what, What::Attribute(_) | What::DeclaredAttribute(_)) {
        let m = format!(
            "The position may not be specified when inserting an attribute node, found '{}'",
            what.text()
        );
        return Err(c.error(2258, &m));
    }
    if into
        && matches!(
            to.what,
            What::Text
                | What::Attribute(_)
                | What::DeclaredAttribute(_)
                | What::Comment
                | What::Instruction
                | What::Atom(_)
        )
    {
        let m =
            format!("The target of 'insert into' must be an element/document node, found '{}'", to.text());
        return Err(c.error(2240, &m));
    }
    if !into
        && matches!(to.what, What::Attribute(_) | What::DeclaredAttribute(_) | What::Document | What::Atom(_))
    {
        let m = format!(
            "The target of 'insert before/after' must be an element/PI/comment/text node, found '{}'",
            to.text()
        );
        return Err(c.error(2249, &m));
    }
    Ok(())
}

/// What changes.
struct Edit<'a> {
    document: &'a Rc<Document>,
    deleted: HashSet<u32>,
    texts: HashMap<u32, SmolStr>,
    inserted: Option<(u32, Place, Items)>,
    /// An element that has no value any more.
    nil: Option<u32>,
}

impl Edit<'_> {
    fn build(&self) -> Result<Document> {
        let mut builder = Builder::default();
        self.content(ROOT, &mut builder)?;
        Ok(builder.finish())
    }

    fn insert(&self, at: u32, place: Place, builder: &mut Builder) -> Result<()> {
        match &self.inserted {
            Some((id, p, items)) if *id == at && *p == place => {
                let is_attribute = |i: &&Item| matches!(i, Item::Node(n) if n.node().kind == Kind::Attribute);
                let items: Items = items.iter().filter(|i| !is_attribute(i)).cloned().collect();
                add_items(builder, &items)
            }
            _ => Ok(()),
        }
    }

    fn content(&self, id: u32, builder: &mut Builder) -> Result<()> {
        self.insert(id, Place::First, builder)?;
        for c in self.document.children(id) {
            self.insert(c, Place::Before, builder)?;
            self.node(c, builder)?;
            self.insert(c, Place::After, builder)?;
        }
        self.insert(id, Place::Last, builder)
    }

    fn node(&self, id: u32, builder: &mut Builder) -> Result<()> {
        if self.deleted.contains(&id) {
            return Ok(());
        }
        let node = self.document.node(id);
        match node.kind {
            Kind::Element => {
                builder.open(&node.name)?;
                self.attributes(id, builder)?;
                match self.texts.get(&id) {
                    Some(_) if self.nil == Some(id) => self.without_value(id, builder),
                    Some(text) => builder.text(text.clone()),
                    None => self.content(id, builder)?,
                }
                builder.close();
                Ok(())
            }
            Kind::Text => {
                builder.text(self.texts.get(&id).unwrap_or(&node.text).clone());
                Ok(())
            }
            _ => builder.copy(self.document, id),
        }
    }

    /// `xsi:nil="true"`
    fn without_value(&self, id: u32, builder: &mut Builder) {
        let name = |prefix: &str| Name { prefix: prefix.into(), local: "nil".into(), uri: XSI.into() };
        if self.document.namespace(id, "xsi").is_none_or(|uri| uri != XSI) {
            builder.namespace("xsi", XSI.into());
        }
        if !builder.has_attribute(&name("xsi")) {
            builder.attribute(&name("xsi"), "true".into());
        }
    }

    /// The element's attributes; the first that is added stands behind the first, the second behind the second, and so on.
    fn attributes(&self, id: u32, builder: &mut Builder) -> Result<()> {
        let items = match &self.inserted {
            Some((target, Place::First | Place::Last, items)) if *target == id => items.as_slice(),
            _ => &[],
        };
        let mut added = items.iter().filter_map(|i| match i {
            Item::Node(n) if n.node().kind == Kind::Attribute => Some(n.node()),
            _ => None,
        });
        let own: Vec<_> = self.document.attributes(id).filter(|a| !self.deleted.contains(a)).collect();
        for a in &own {
            let node = self.document.node(*a);
            // An element that gets a value is not nil any more.
            if node.name.uri == XSI
                && node.name.local == "nil"
                && self.texts.contains_key(&id)
                && self.nil.is_none()
            {
                continue;
            }
            if node.kind == Kind::Namespace {
                builder.namespace(&node.name.local, node.text.clone());
            } else {
                builder.attribute(&node.name, self.texts.get(a).unwrap_or(&node.text).clone());
            }
            if let Some(next) = added.next() {
                let clashes = own
                    .iter()
                    .map(|a| self.document.node(*a))
                    .any(|n| n.kind == Kind::Attribute && n.name == next.name);
                if clashes {
                    return Err(crate::query::duplicate_attribute(&next.name.qualified()));
                }
                add_attribute(builder, next)?;
            }
        }
        added.try_for_each(|a| add_attribute(builder, a))
    }
}
