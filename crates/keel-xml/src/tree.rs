//! A document: nodes in one vector, in document order, linked by index.
//!
//! Node 0 is the document node. An element is followed by its namespace declarations and attributes, then by its children;
//! the nodes below it are the indices up to [`Node::end`]. Trees are built front to back by a [`Builder`] and never changed:
//! an update builds another one.

use crate::{Result, XmlError};
use smol_str::SmolStr;
use std::collections::HashMap;
use std::rc::Rc;

/// Levels of elements a tree may have.
pub const DEPTH_MAX: usize = 128;

/// Index of the document node.
pub const ROOT: u32 = 0;

/// The namespace that the prefix `xml` is always bound to.
pub const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// A qualified name: equal when local name and namespace are, whatever the prefix.
#[derive(Clone, Debug, Default)]
pub struct Name {
    /// Prefix as written; empty for none.
    pub prefix: SmolStr,
    /// Local part.
    pub local: SmolStr,
    /// Namespace; empty for none.
    pub uri: SmolStr,
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.local == other.local && self.uri == other.uri
    }
}

impl Eq for Name {}

impl Name {
    /// A name without namespace.
    #[must_use]
    pub fn local(local: &str) -> Name {
        Name { prefix: SmolStr::default(), local: local.into(), uri: SmolStr::default() }
    }
    /// As written: `prefix:local`.
    #[must_use]
    pub fn qualified(&self) -> SmolStr {
        if self.prefix.is_empty() {
            self.local.clone()
        } else {
            smol_str::format_smolstr!("{}:{}", self.prefix, self.local)
        }
    }
}

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The document node.
    Document,
    /// An element.
    Element,
    /// An attribute.
    Attribute,
    /// `xmlns…="…"`: the prefix is the name's local part, the text the URI. On no axis.
    Namespace,
    /// Character data.
    Text,
    /// A comment.
    Comment,
    /// A processing instruction: the target is its name, the text the rest.
    Instruction,
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Kind.
    pub kind: Kind,
    /// Name of an element, attribute, declaration or instruction; empty for others.
    pub name: Rc<Name>,
    /// Value of an attribute, text, comment, instruction or declaration.
    pub text: SmolStr,
    /// Parent; the document node has itself.
    pub parent: u32,
    /// One past the last node below this one.
    pub end: u32,
}

/// A tree.
#[derive(Debug)]
pub struct Document {
    /// Nodes in document order.
    pub nodes: Vec<Node>,
    /// Types of the nodes, after validation.
    pub typed: Option<crate::schema::validate::Typed>,
}

impl Document {
    /// The node at an index; the document node for one that is out of range.
    #[must_use]
    pub fn node(&self, id: u32) -> &Node {
        self.nodes.get(id as usize).unwrap_or(&self.nodes[0])
    }

    /// The declarations and attributes of an element, both kinds.
    pub fn attributes(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let of_element = move |i: &u32| {
            matches!(self.node(*i).kind, Kind::Attribute | Kind::Namespace) && self.node(*i).parent == id
        };
        (id + 1..self.node(id).end).take_while(of_element)
    }

    /// The children of a node, attributes aside.
    #[must_use]
    pub fn children(&self, id: u32) -> Children<'_> {
        let node = self.node(id);
        let mut next = id + 1;
        while next < node.end && matches!(self.node(next).kind, Kind::Attribute | Kind::Namespace) {
            next += 1;
        }
        Children { document: self, next, end: node.end }
    }

    /// The string value of a node: the texts below it, or its own text.
    #[must_use]
    pub fn string(&self, id: u32) -> SmolStr {
        let node = self.node(id);
        if !matches!(node.kind, Kind::Document | Kind::Element) {
            return node.text.clone();
        }
        let mut texts = (id + 1..node.end).map(|i| self.node(i)).filter(|n| n.kind == Kind::Text);
        let Some(first) = texts.next() else { return SmolStr::default() };
        let mut all = first.text.clone();
        let mut rest = String::new();
        for t in texts {
            rest.push_str(&t.text);
        }
        if !rest.is_empty() {
            all = smol_str::format_smolstr!("{all}{rest}");
        }
        all
    }

    /// The collection and simple type of a node's value, and whether the node says it has none. `None` without a type.
    #[must_use]
    pub fn value_type(&self, id: u32) -> Option<(&crate::schema::Schema, u32, bool)> {
        use crate::schema::validate::{NIL, UNTYPED};
        let typed = self.typed.as_ref()?;
        let ty = *typed.types.get(id as usize).filter(|ty| **ty != UNTYPED)?;
        Some((&typed.schema, typed.schema.simple_content(ty & !NIL)?, ty & NIL != 0))
    }

    /// Whether an element may be without value: the declaration of that name says so.
    #[must_use]
    pub fn is_nillable(&self, id: u32) -> bool {
        let Some(typed) = &self.typed else { return false };
        let name = &self.node(id).name;
        let of = typed.types.get(id as usize).map(|ty| ty & !crate::schema::validate::NIL);
        typed
            .schema
            .elements
            .iter()
            .any(|e| e.nillable && Some(e.ty) == of && e.name.0 == name.uri && e.name.1 == name.local)
    }

    /// The URI a prefix is bound to at an element.
    #[must_use]
    pub fn namespace(&self, mut id: u32, prefix: &str) -> Option<SmolStr> {
        if prefix == "xml" {
            return Some(XML_NAMESPACE.into());
        }
        loop {
            let found = self
                .attributes(id)
                .map(|a| self.node(a))
                .find(|a| a.kind == Kind::Namespace && a.name.local == prefix);
            if let Some(found) = found {
                return Some(found.text.clone());
            }
            if id == ROOT {
                return None;
            }
            id = self.node(id).parent;
        }
    }
}

/// Iterator over children.
#[derive(Debug)]
pub struct Children<'a> {
    document: &'a Document,
    next: u32,
    end: u32,
}

impl Iterator for Children<'_> {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        if self.next >= self.end {
            return None;
        }
        let id = self.next;
        self.next = self.document.node(id).end;
        Some(id)
    }
}

/// Builds a tree front to back. Neighbouring texts become one node.
#[derive(Debug)]
pub struct Builder {
    nodes: Vec<Node>,
    open: Vec<u32>,
    empty: Rc<Name>,
    names: HashMap<(SmolStr, SmolStr, SmolStr), Rc<Name>>,
}

impl Default for Builder {
    fn default() -> Builder {
        let empty = Rc::new(Name::default());
        let root = Node {
            kind: Kind::Document,
            name: empty.clone(),
            text: SmolStr::default(),
            parent: ROOT,
            end: 1,
        };
        Builder { nodes: vec![root], open: vec![ROOT], empty, names: HashMap::new() }
    }
}

impl Builder {
    /// The innermost open element, or the document node.
    #[must_use]
    pub fn top(&self) -> u32 {
        self.open.last().copied().unwrap_or(ROOT)
    }

    /// Number of open elements.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// Number of nodes so far.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    fn push(&mut self, kind: Kind, name: Rc<Name>, text: SmolStr) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { kind, name, text, parent: self.top(), end: id + 1 });
        id
    }

    fn intern(&mut self, name: &Name) -> Rc<Name> {
        let key = (name.prefix.clone(), name.local.clone(), name.uri.clone());
        self.names.entry(key).or_insert_with(|| Rc::new(name.clone())).clone()
    }

    /// Opens an element. Error 6335 when it lies too deep.
    pub fn open(&mut self, name: &Name) -> Result<()> {
        if self.open.len() > DEPTH_MAX {
            return Err(XmlError::new(
                6335,
                format!(
                    "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is {DEPTH_MAX} levels."
                ),
            ));
        }
        let name = self.intern(name);
        let id = self.push(Kind::Element, name, SmolStr::default());
        self.open.push(id);
        Ok(())
    }

    /// Whether the innermost element may still take attributes.
    #[must_use]
    pub fn takes_attributes(&self) -> bool {
        let children = |n: &Node| !matches!(n.kind, Kind::Attribute | Kind::Namespace);
        self.nodes.last().is_none_or(|n| !children(n)) || self.nodes.len() as u32 == self.top() + 1
    }

    /// Whether the innermost element has this attribute.
    #[must_use]
    pub fn has_attribute(&self, name: &Name) -> bool {
        let own = &self.nodes[self.top() as usize + 1..];
        own.iter().any(|n| n.kind == Kind::Attribute && *n.name == *name)
    }

    /// An attribute of the element just opened.
    pub fn attribute(&mut self, name: &Name, value: SmolStr) {
        let name = self.intern(name);
        self.push(Kind::Attribute, name, value);
    }

    /// A namespace declaration of the element just opened.
    pub fn namespace(&mut self, prefix: &str, uri: SmolStr) {
        let name = self.intern(&Name::local(prefix));
        self.push(Kind::Namespace, name, uri);
    }

    /// Closes the innermost element.
    pub fn close(&mut self) {
        if self.open.len() > 1
            && let Some(id) = self.open.pop()
        {
            self.nodes[id as usize].end = self.nodes.len() as u32;
        }
    }

    /// Adds text; nothing for an empty one.
    pub fn text(&mut self, text: SmolStr) {
        if text.is_empty() {
            return;
        }
        let top = self.top();
        if let Some(last) = self.nodes.last_mut().filter(|n| n.kind == Kind::Text && n.parent == top) {
            last.text = smol_str::format_smolstr!("{}{text}", last.text);
            return;
        }
        self.push(Kind::Text, self.empty.clone(), text);
    }

    /// Adds a comment.
    pub fn comment(&mut self, text: SmolStr) {
        self.push(Kind::Comment, self.empty.clone(), text);
    }

    /// Adds a processing instruction.
    pub fn instruction(&mut self, target: &str, text: SmolStr) {
        let name = self.intern(&Name::local(target));
        self.push(Kind::Instruction, name, text);
    }

    /// Adds a copy of a node and all below it; of a document node what is below it.
    pub fn copy(&mut self, from: &Document, id: u32) -> Result<()> {
        let node = from.node(id);
        match node.kind {
            Kind::Document => from.children(id).try_for_each(|c| self.copy(from, c)),
            Kind::Element => {
                self.open(&node.name)?;
                for a in from.attributes(id) {
                    self.copy(from, a)?;
                }
                from.children(id).try_for_each(|c| self.copy(from, c))?;
                self.close();
                Ok(())
            }
            Kind::Attribute => {
                self.attribute(&node.name, node.text.clone());
                Ok(())
            }
            Kind::Namespace => {
                self.namespace(&node.name.local, node.text.clone());
                Ok(())
            }
            Kind::Text => {
                self.text(node.text.clone());
                Ok(())
            }
            Kind::Comment => {
                self.comment(node.text.clone());
                Ok(())
            }
            Kind::Instruction => {
                self.instruction(&node.name.local, node.text.clone());
                Ok(())
            }
        }
    }

    /// The tree; elements still open are closed.
    #[must_use]
    pub fn finish(mut self) -> Document {
        while self.open.len() > 1 {
            self.close();
        }
        self.nodes[0].end = self.nodes.len() as u32;
        Document { nodes: self.nodes, typed: None }
    }
}

/// Whether a text is a name without colon.
#[must_use]
pub fn is_nc_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_name_start) && chars.all(is_name_char)
}

/// Whether a name may begin with this character (not a colon).
#[must_use]
pub fn is_name_start(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '_') || (!c.is_ascii() && c.is_alphabetic())
}

/// Whether a name may have this character inside (not a colon).
#[must_use]
pub fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '0'..='9' | '-' | '.' | '\u{B7}')
        || (!c.is_ascii() && c.is_alphanumeric())
}
