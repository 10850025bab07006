//! An instance against a collection: refused, or as it is kept, with the type of each of its nodes.
//!
//! Nodes are walked in document order; the result is built beside, with values in the form of their types, defaults put in, and a
//! type noted for each element and attribute. What a wildcard lets in unseen has none.

use super::content::{Machine, Run, Step, Takes};
use super::simple::{Simple, Variety, WhiteSpace, spaced};
use super::{
    Complex, Constraint, Content, ElementId, Key, Process, Schema, Type, TypeId, Use, XSI, builtin, shown,
};
use crate::tree::{Builder, Document, Kind, Name, Node, ROOT, XML_NAMESPACE};
use crate::{Result, XmlError};
use smol_str::{SmolStr, format_smolstr};
use std::collections::HashMap;
use std::sync::Arc;

/// The type of a node that has none.
pub const UNTYPED: TypeId = TypeId::MAX;
/// Added to the type of an element that `xsi:nil` says has no value.
pub const NIL: TypeId = 1 << 31;

/// Types of the nodes of a document.
#[derive(Debug)]
pub struct Typed {
    /// The collection.
    pub schema: Arc<Schema>,
    /// By node; [`UNTYPED`] of what has none, [`NIL`] added where there is no value.
    pub types: Vec<TypeId>,
}

/// Validates an instance; a document has one element on the top level and no text there. Errors: 6901 to 6947.
pub fn validate(document: &Document, schema: &Arc<Schema>, as_document: bool) -> Result<Document> {
    if as_document && !is_document(document) {
        return Err(XmlError::new(6901, "XML Validation: XML instance must be a document."));
    }
    let mut v = Validator {
        schema,
        from: document,
        to: Builder::default(),
        types: vec![UNTYPED],
        path: Vec::new(),
        ids: HashMap::new(),
        references: Vec::new(),
    };
    v.top()?;
    for (attribute, value) in &v.references {
        if !v.ids.contains_key(value) {
            let m = format!(
                "XML Validation: IDREF constraint check failed. Found attribute named '{attribute}' with reference to ID value '{value}', which does not exist"
            );
            return Err(XmlError::new(6931, m));
        }
    }
    let mut made = v.to.finish();
    v.types.resize(made.nodes.len(), UNTYPED);
    made.typed = Some(Typed { schema: schema.clone(), types: v.types });
    Ok(made)
}

/// One element on the top level, and no text.
#[must_use]
pub fn is_document(document: &Document) -> bool {
    let count = |kind: Kind| document.children(ROOT).filter(|c| document.node(*c).kind == kind).count();
    count(Kind::Element) == 1 && count(Kind::Text) == 0
}

struct Validator<'a> {
    schema: &'a Arc<Schema>,
    from: &'a Document,
    to: Builder,
    types: Vec<TypeId>,
    /// Steps to the element that is looked at.
    path: Vec<SmolStr>,
    ids: HashMap<SmolStr, ()>,
    /// References with the attributes they stand in.
    references: Vec<(SmolStr, SmolStr)>,
}

/// How an element is to be validated.
#[derive(Clone, Copy)]
enum Against {
    Declaration(ElementId),
    Process(Process),
}

fn key(name: &Name) -> Key {
    (name.uri.clone(), name.local.clone())
}

impl<'a> Validator<'a> {
    fn fail<T>(&self, number: i32, what: impl AsRef<str>) -> Result<T> {
        self.fail_at(number, what, "")
    }

    /// An error at the element, or at an attribute of it.
    fn fail_at<T>(&self, number: i32, what: impl AsRef<str>, behind: &str) -> Result<T> {
        let path: String = self.path.iter().map(SmolStr::as_str).collect();
        Err(XmlError::new(number, format!("XML Validation: {} Location: {path}{behind}", what.as_ref())))
    }

    /// Notes the type of the node that was added last.
    fn note(&mut self, ty: TypeId) {
        let last = self.to.len();
        self.types.resize(last, UNTYPED);
        if let Some(of) = self.types.last_mut() {
            *of = ty;
        }
    }

    /// The steps of children, counted by name.
    fn step(counts: &mut HashMap<SmolStr, u32>, name: &Name) -> SmolStr {
        let n = counts.entry(name.local.clone()).or_default();
        *n += 1;
        format_smolstr!("/*:{}[{n}]", name.local)
    }

    fn top(&mut self) -> Result<()> {
        let mut counts = HashMap::new();
        for child in self.from.children(ROOT) {
            let node = self.from.node(child);
            if node.kind != Kind::Element {
                self.to.copy(self.from, child)?;
                continue;
            }
            self.path.push(Self::step(&mut counts, &node.name));
            self.element(child, Against::Process(Process::Strict))?;
            self.path.pop();
        }
        Ok(())
    }

    /// An attribute of `xsi:`.
    fn instance(&self, id: u32, name: &str) -> Option<SmolStr> {
        let mut all = self.from.attributes(id).map(|a| self.from.node(a));
        let found = all.find(|a| a.kind == Kind::Attribute && a.name.uri == XSI && a.name.local == name);
        found.map(|a| a.text.trim().into())
    }

    /// The type that `xsi:type` names.
    fn cast(&self, id: u32) -> Result<Option<TypeId>> {
        let Some(written) = self.instance(id, "type") else { return Ok(None) };
        let (prefix, local) = written.split_once(':').unwrap_or(("", &written));
        if !crate::tree::is_nc_name(local) || (written.contains(':') && !crate::tree::is_nc_name(prefix)) {
            let m = format!("XML Validation: Invalid QName for xsi:type attribute '{written}'.");
            return Err(XmlError::new(6929, m));
        }
        let uri = match self.from.namespace(id, prefix) {
            Some(uri) => uri,
            None if prefix.is_empty() => SmolStr::default(),
            None => {
                let m = format!("XML Validation: Not able to resolve namespace for prefix:'{prefix}'");
                return Err(XmlError::new(6922, m));
            }
        };
        let name = (uri, SmolStr::from(local));
        match self.schema.type_names.get(&name) {
            Some(ty) => Ok(Some(*ty)),
            None => self.fail(
                6914,
                format!(
                    "Type definition for type '{}' was not found, type definition is required before use in a type cast.",
                    shown(&name)
                ),
            ),
        }
    }

    fn element(&mut self, id: u32, against: Against) -> Result<()> {
        let name = self.from.node(id).name.clone();
        let own = key(&name);
        let declared = match against {
            Against::Declaration(expected) => self.schema.stands_for(&own, expected),
            Against::Process(Process::Skip) => return self.skipped(id),
            Against::Process(_) => self.schema.element_names.get(&own).copied(),
        };
        let lax = matches!(against, Against::Process(Process::Lax));
        let schema = self.schema.clone();
        let declared = declared.and_then(|e| schema.elements.get(e as usize));
        let cast = self.cast(id)?;
        let label = shown(&own);
        let (ty, constraint) = match (declared, cast) {
            (None, Some(ty)) if lax => (ty, None),
            (None, None) if lax => (builtin::ANY_TYPE, None),
            (None, _) => return self.fail(6913, format!("Declaration not found for element '{label}'.")),
            (Some(e), _) if e.is_abstract => {
                return self.fail(
                    6934,
                    format!("Element '{label}' requires substitution, because it was defined as abstract."),
                );
            }
            (Some(e), None) => (e.ty, e.constraint.as_ref()),
            (Some(e), Some(ty)) => {
                let block = match schema.ty(e.ty) {
                    Type::Complex(c) => c.block,
                    Type::Simple(_) => [false; 2],
                };
                let allowed = schema
                    .derivation(ty, e.ty)
                    .is_some_and(|how| (0..2).all(|i| !how[i] || !(e.block[i] || block[i])));
                if !allowed {
                    let m = format!(
                        "Invalid cast for element '{label}' from type '{}' to type '{}'.",
                        schema.type_shown(e.ty),
                        schema.type_shown(ty)
                    );
                    return self.fail(6936, m);
                }
                (ty, e.constraint.as_ref())
            }
        };
        if let Type::Complex(Complex { is_abstract: true, .. }) = schema.ty(ty) {
            let m = format!(
                "The type of element '{label}' is abstract. Instantiation requires the use of xsi:type to specify a non-abstract type."
            );
            return self.fail(6919, m);
        }
        let nil = self.instance(id, "nil").is_some_and(|v| v == "true" || v == "1");
        if nil && !declared.is_some_and(|e| e.nillable && !e.constraint.as_ref().is_some_and(|c| c.fixed)) {
            let m = format!(
                "Element '{label}' may not have xsi:nil=\"true\" because it was not defined as nillable or because it has a fixed value constraint."
            );
            return self.fail(6917, m);
        }
        self.to.open(&name)?;
        self.note(if nil { ty | NIL } else { ty });
        match schema.ty(ty) {
            Type::Simple(_) => {
                self.attributes(id, &[], None)?;
                self.inside(id, nil, &label, |v| v.simple(id, ty, constraint, &label))?;
            }
            Type::Complex(c) => {
                self.attributes(id, &c.attributes, c.any_attribute.as_ref())?;
                self.inside(id, nil, &label, |v| match &c.content {
                    Content::Empty => v.nothing(id, c.mixed),
                    Content::Simple(simple) => v.simple(id, *simple, constraint, &label),
                    Content::Model(_, machine) => v.model(id, machine, c.mixed, constraint, &label),
                })?;
            }
        }
        self.to.close();
        Ok(())
    }

    /// What is in an element, or that nothing is.
    fn inside(
        &mut self,
        id: u32,
        nil: bool,
        label: &str,
        content: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !nil {
            return content(self);
        }
        if self.from.children(id).any(|c| matches!(self.from.node(c).kind, Kind::Element | Kind::Text)) {
            let m = format!(
                "Element '{label}' must not have character or element children, because xsi:nil was set to true."
            );
            return self.fail(6918, m);
        }
        Ok(())
    }

    /// An element that nobody looks into.
    fn skipped(&mut self, id: u32) -> Result<()> {
        self.to.copy(self.from, id)
    }

    /// Copies what is no element and no text.
    fn aside(&mut self, child: u32) -> Result<bool> {
        let other = !matches!(self.from.node(child).kind, Kind::Element | Kind::Text);
        if other {
            self.to.copy(self.from, child)?;
        }
        Ok(other)
    }

    fn nothing(&mut self, id: u32, mixed: bool) -> Result<()> {
        for child in self.from.children(id) {
            if self.aside(child)? {
                continue;
            }
            let node = self.from.node(child);
            match node.kind {
                Kind::Text if mixed || is_blank(node) => self.to.text(node.text.clone()),
                Kind::Text => {
                    return self
                        .fail(6924, format!("Text '{}' found in attribute-only content model.", node.text));
                }
                _ => {
                    self.path.push(format_smolstr!("/*:{}[1]", node.name.local));
                    return self.fail(6923, format!("Unexpected element(s): {}.", shown(&key(&node.name))));
                }
            }
        }
        Ok(())
    }

    fn simple(&mut self, id: u32, ty: TypeId, constraint: Option<&Constraint>, label: &str) -> Result<()> {
        let mut text = String::new();
        let mut notes = Vec::new();
        for child in self.from.children(id) {
            let node = self.from.node(child);
            match node.kind {
                Kind::Text => text.push_str(&node.text),
                Kind::Element => {
                    self.path.push(format_smolstr!("/*:{}[1]", node.name.local));
                    return self.fail(
                        6912,
                        format!("Element '{}' found in text only content model.", shown(&key(&node.name))),
                    );
                }
                _ => notes.push(child),
            }
        }
        if let Some(constraint) = constraint.filter(|_| text.is_empty()) {
            self.to.text(constraint.text.clone());
        } else {
            let kept = self.value(id, ty, &text, label, "")?;
            if let Some(c) = constraint.filter(|c| c.fixed && c.text != kept) {
                return self.not_fixed(label, c, "");
            }
            self.to.text(kept);
        }
        notes.into_iter().try_for_each(|n| self.to.copy(self.from, n))
    }

    fn not_fixed<T>(&self, label: &str, _: &Constraint, behind: &str) -> Result<T> {
        let m = format!(
            "Element or attribute '{label}' was defined as fixed, the element value has to be equal to value of 'fixed' attribute specified in definition."
        );
        self.fail_at(6921, m, behind)
    }

    /// The text in which a value is kept. `behind` is the attribute it is of.
    fn value(&mut self, id: u32, ty: TypeId, text: &str, label: &str, behind: &str) -> Result<SmolStr> {
        let Some(value) = self.schema.value(ty, text) else {
            return self.fail_at(6926, format!("Invalid simple type value: '{text}'."), behind);
        };
        if self.is_derived(ty, "QName") {
            let prefix = text.trim().split_once(':').map_or("", |(p, _)| p);
            if !prefix.is_empty() && self.from.namespace(id, prefix).is_none() {
                let m = format!("XML Validation: Not able to resolve namespace for prefix:'{prefix}'");
                return Err(XmlError::new(6922, m));
            }
        }
        let kept = value.text();
        if kept != text && self.schema.value(ty, &kept).is_none() {
            let m = format!(
                "The canonical form of the value '{text}' is not valid according to the specified type. This can result from the use of pattern facets on non-string types or range restrictions or enumerations on floating-point types."
            );
            return self.fail_at(6937, m, behind);
        }
        self.identify(ty, &kept, label, behind)?;
        Ok(kept)
    }

    fn is_derived(&self, ty: TypeId, from: &str) -> bool {
        self.schema.derivation(ty, builtin::number(from)).is_some()
    }

    /// Notes identifiers and references to them.
    fn identify(&mut self, ty: TypeId, kept: &SmolStr, label: &str, behind: &str) -> Result<()> {
        if self.is_derived(ty, "ID") && self.ids.insert(kept.clone(), ()).is_some() {
            let m = format!(
                "ID constraint check failed. Found attribute named '{label}' with duplicate ID value '{kept}'."
            );
            return self.fail_at(6930, m, behind);
        }
        let item = match self.schema.ty(ty) {
            Type::Simple(Simple { variety: Variety::List(item), .. }) => *item,
            _ => ty,
        };
        if self.is_derived(item, "IDREF") {
            let words = kept.split(' ').filter(|w| !w.is_empty());
            self.references.extend(words.map(|w| (SmolStr::from(label), SmolStr::from(w))));
        }
        Ok(())
    }

    // ---- attributes ----

    fn attributes(&mut self, id: u32, uses: &[Use], any: Option<&super::Wildcard>) -> Result<()> {
        let schema = self.schema.clone();
        for a in self.from.attributes(id) {
            let node = self.from.node(a);
            if node.kind == Kind::Namespace {
                self.to.namespace(&node.name.local, node.text.clone());
                continue;
            }
            if node.name.uri == XSI {
                self.to.attribute(&node.name, node.text.clone());
                continue;
            }
            let (own, behind) = (key(&node.name), format!("/@*:{}", node.name.local));
            let label = shown(&own);
            let found = match uses.iter().find(|u| u.name == own) {
                Some(found) => Some(found),
                None if any.is_some_and(|w| w.lets_in(&own.0)) => {
                    let process = any.map_or(Process::Skip, |w| w.process);
                    match schema.attributes.get(&own) {
                        Some(declared) if process != Process::Skip => Some(declared),
                        _ if process == Process::Strict && own.0 != XML_NAMESPACE => {
                            return self.fail_at(
                                6905,
                                format!("Attribute '{label}' is not permitted in this context."),
                                &behind,
                            );
                        }
                        _ => None,
                    }
                }
                // White space and languages are told of any element.
                None if own.0 == XML_NAMESPACE && matches!(own.1.as_str(), "space" | "lang" | "base") => None,
                None => {
                    return self.fail_at(
                        6905,
                        format!("Attribute '{label}' is not permitted in this context."),
                        &behind,
                    );
                }
            };
            let Some(declared) = found else {
                self.to.attribute(&node.name, node.text.clone());
                continue;
            };
            let kept = self.value(id, declared.ty, &node.text, &label, &behind)?;
            if let Some(c) = declared.constraint.as_ref().filter(|c| c.fixed && c.text != kept) {
                return self.not_fixed(&label, c, &behind);
            }
            self.to.attribute(&node.name, kept);
            self.note(declared.ty);
        }
        self.absent(id, uses)
    }

    /// Attributes that were not written: required ones, and those that have defaults.
    fn absent(&mut self, id: u32, uses: &[Use]) -> Result<()> {
        for declared in uses {
            let mut own = self.from.attributes(id).map(|a| self.from.node(a));
            if own.any(|a| a.kind == Kind::Attribute && key(&a.name) == declared.name) {
                continue;
            }
            if declared.required {
                return self
                    .fail(6906, format!("Required attribute '{}' is missing.", shown(&declared.name)));
            }
            if let Some(c) = &declared.constraint {
                let (uri, local) = declared.name.clone();
                let prefix = self.prefix(id, &uri);
                self.to.attribute(&Name { prefix, local, uri }, c.text.clone());
                self.note(declared.ty);
            }
        }
        Ok(())
    }

    /// A prefix that is bound to a namespace at an element; the writer makes one up when there is none.
    fn prefix(&self, mut id: u32, uri: &SmolStr) -> SmolStr {
        if uri.is_empty() {
            return SmolStr::default();
        }
        loop {
            let found = self.from.attributes(id).map(|a| self.from.node(a));
            let mut found =
                found.filter(|a| a.kind == Kind::Namespace && !a.name.local.is_empty() && a.text == *uri);
            if let Some(found) = found.next() {
                return found.name.local.clone();
            }
            if id == ROOT {
                return SmolStr::default();
            }
            id = self.from.node(id).parent;
        }
    }

    // ---- children ----

    fn model(
        &mut self,
        id: u32,
        machine: &Machine,
        mixed: bool,
        constraint: Option<&Constraint>,
        label: &str,
    ) -> Result<()> {
        if let Some(c) = constraint.filter(|_| mixed) {
            return self.mixed_value(id, machine, c, label);
        }
        let mut run = machine.start();
        let mut counts = HashMap::new();
        for child in self.from.children(id) {
            if self.aside(child)? {
                continue;
            }
            let node = self.from.node(child);
            if node.kind == Kind::Text {
                if !mixed && !is_blank(node) {
                    let m = "Text node is not allowed at this location, the type was defined with element only content or with simple content.";
                    return self.fail(6909, m);
                }
                self.to.text(node.text.clone());
                continue;
            }
            self.path.push(Self::step(&mut counts, &node.name));
            let own = key(&node.name);
            let against = match machine.step(self.schema, &mut run, &own) {
                Step::Took(Takes::Element(e)) => Against::Declaration(e),
                Step::Took(Takes::Any(w)) => Against::Process(w.process),
                Step::Twice => {
                    return self.fail(
                        6911,
                        format!("Found duplicate element '{}' in all content model.", shown(&own)),
                    );
                }
                Step::Unexpected => return self.unexpected(machine, &run, &own),
            };
            self.element(child, against)?;
            self.path.pop();
        }
        if machine.may_end(&run) {
            return Ok(());
        }
        let m = format!("Invalid content. Expected element(s): {}.", self.expected(machine, &run));
        self.fail(6908, m)
    }

    fn expected(&self, machine: &Machine, run: &Run) -> String {
        let names: Vec<String> = machine
            .expected(run)
            .iter()
            .map(|t| match t {
                Takes::Element(e) => self
                    .schema
                    .elements
                    .get(*e as usize)
                    .map_or_else(String::new, |e| shown(&e.name).to_string()),
                Takes::Any(w) => w.shown(),
            })
            .collect();
        format!("'{}'", names.join("','"))
    }

    fn unexpected<T>(&self, machine: &Machine, run: &Run, own: &Key) -> Result<T> {
        if machine.expected(run).is_empty() {
            return self.fail(6923, format!("Unexpected element(s): {}.", shown(own)));
        }
        let m = format!(
            "Invalid content. Expected element(s): {}. Found: element '{}' instead.",
            self.expected(machine, run),
            shown(own)
        );
        self.fail_at(6965, m, ".")
    }

    /// Mixed content with a default or fixed value.
    fn mixed_value(&mut self, id: u32, machine: &Machine, c: &Constraint, label: &str) -> Result<()> {
        let has = |kind: Kind| self.from.children(id).any(|x| self.from.node(x).kind == kind);
        let (elements, texts) = (has(Kind::Element), has(Kind::Text));
        if !elements && !texts {
            self.to.text(c.text.clone());
            return Ok(());
        }
        if c.fixed && elements {
            let m = format!(
                "The element '{label}' is mixed content with a fixed value and therefore not allowed to have element content."
            );
            return self.fail(6939, m);
        }
        if c.fixed && self.from.string(id) != c.text {
            return self.not_fixed(label, c, "");
        }
        self.model(id, machine, true, None, label)
    }
}

fn is_blank(node: &Node) -> bool {
    spaced(&node.text, WhiteSpace::Collapse).is_empty()
}
