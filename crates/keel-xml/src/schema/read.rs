//! Schema documents to components.
//!
//! First all global names of all documents are found, so that definitions may refer to each other whatever their order; then each
//! is defined, a type's base before it. Names are resolved in all of the collection: `import` tells nothing that is needed.

use super::content::Machine;
use super::{
    COMPONENTS_MAX, Element, ElementId, Key, NESTING_MAX, Particle, Schema, Type, TypeId, Use, Wildcard, XSD,
    XSI, builtin, shown,
};
use crate::parse::{Source as Encoding, parse};
use crate::tree::{Document, Kind, ROOT, is_nc_name};
use crate::{Result, XmlError};
use smol_str::SmolStr;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What global names there are: those of one kind are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Element,
    Attribute,
    Type,
    Group,
    AttributeGroup,
}

impl Space {
    fn shown(self) -> &'static str {
        match self {
            Space::Element => "ELEMENT",
            Space::Attribute => "ATTRIBUTE",
            Space::Type => "TYPE",
            Space::Group => "MODELGROUP",
            Space::AttributeGroup => "ATTRIBUTEGROUP",
        }
    }
}

/// Where something stands: the document, and the node in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) document: usize,
    pub(super) node: u32,
}

/// One `schema` element.
struct Source {
    /// Shared by the schemas of one text.
    tree: Rc<Document>,
    root: u32,
    target: SmolStr,
    /// `elementFormDefault`, `attributeFormDefault` are `qualified`.
    qualified: [bool; 2],
    /// `blockDefault`, `finalDefault`
    defaults: [SmolStr; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Underway,
    Done,
}

/// The collection as far as it is read.
pub(super) struct Reader {
    pub(super) schema: Schema,
    documents: Vec<Source>,
    globals: HashMap<(Space, Key), At>,
    /// Global types by id, with how far they are.
    types: HashMap<TypeId, (At, State)>,
    /// Groups that are being read, to find those that contain themselves.
    pub(super) open: Vec<(Space, Key)>,
    /// Attributes of the groups that were read.
    pub(super) attribute_groups: HashMap<Key, (Vec<Use>, Option<Wildcard>)>,
    /// Global elements that are defined already, for what stands before them.
    pub(super) elements: HashSet<ElementId>,
    particles: usize,
    depth: usize,
    /// Machines to check for ambiguity once substitution groups are known.
    pub(super) unchecked: Vec<TypeId>,
}

/// An error of the schema's text.
pub(super) fn error<T>(number: i32, message: impl Into<String>) -> Result<T> {
    Err(XmlError::new(number, message))
}

/// Compiles documents, of which the first `old` were there before. A document may hold several `schema` elements.
/// Errors: 94xx not well-formed, 2378 no schema, 6310 a component that an older document has, 23xx, 69xx.
pub fn read(documents: &[String], old: usize) -> Result<Schema> {
    let mut reader = Reader {
        schema: builtin::schema(),
        documents: Vec::new(),
        globals: HashMap::new(),
        types: HashMap::new(),
        open: Vec::new(),
        attribute_groups: HashMap::new(),
        elements: HashSet::new(),
        particles: 0,
        depth: 0,
        unchecked: Vec::new(),
    };
    let mut known = 0;
    for (i, text) in documents.iter().enumerate() {
        if i == old {
            known = reader.documents.len();
        }
        reader.documents(text)?;
    }
    if old >= documents.len() {
        known = reader.documents.len();
    }
    reader.names(known)?;
    reader.define()?;
    reader.substitutions(known)?;
    reader.finish()
}

impl Reader {
    fn documents(&mut self, text: &str) -> Result<()> {
        let tree = Rc::new(parse(text, Encoding::Any, false)?);
        let roots: Vec<u32> = tree.children(ROOT).collect();
        for root in roots {
            let node = tree.node(root);
            match node.kind {
                Kind::Element if node.name.uri == XSD && node.name.local == "schema" => {}
                Kind::Comment | Kind::Instruction => continue,
                _ => return error(2378, "Expected XML schema document"),
            }
            let attribute = |name: &str| {
                let found = tree.attributes(root).map(|a| tree.node(a));
                let found = found
                    .into_iter()
                    .find(|a| a.kind == Kind::Attribute && a.name.uri.is_empty() && a.name.local == name);
                found.map(|a| a.text.clone()).unwrap_or_default()
            };
            let target = attribute("targetNamespace");
            if target == XSD || target == XSI {
                return error(2385, "Invalid target namespace specified");
            }
            if target.chars().count() > 4000 {
                return error(6907, format!("Namespace URI too long: '{target}'."));
            }
            if !self.schema.namespaces.contains(&target) {
                self.schema.namespaces.push(target.clone());
            }
            let qualified =
                ["elementFormDefault", "attributeFormDefault"].map(|f| attribute(f) == "qualified");
            let defaults = [attribute("blockDefault"), attribute("finalDefault")];
            self.documents.push(Source { tree: Rc::clone(&tree), root, target, qualified, defaults });
            if self.documents.len() > 10_000 {
                return error(2362, "XSD schema too complex");
            }
        }
        Ok(())
    }

    // ---- looking at nodes ----

    pub(super) fn tree(&self, at: At) -> &Document {
        &self.documents[at.document].tree
    }

    pub(super) fn target(&self, at: At) -> SmolStr {
        self.documents[at.document].target.clone()
    }

    pub(super) fn is_qualified(&self, at: At, attribute: bool) -> bool {
        self.documents[at.document].qualified[usize::from(attribute)]
    }

    pub(super) fn default_of(&self, at: At, which: usize) -> SmolStr {
        self.documents[at.document].defaults[which].clone()
    }

    /// The local name of a schema element.
    pub(super) fn local(&self, at: At) -> SmolStr {
        self.tree(at).node(at.node).name.local.clone()
    }

    /// An attribute without namespace.
    pub(super) fn attribute(&self, at: At, name: &str) -> Option<SmolStr> {
        let tree = self.tree(at);
        let mut own = tree.attributes(at.node).map(|a| tree.node(a));
        let found = own.find(|a| a.kind == Kind::Attribute && a.name.uri.is_empty() && a.name.local == name);
        found.map(|a| a.text.trim().into())
    }

    pub(super) fn flag(&self, at: At, name: &str) -> bool {
        self.attribute(at, name).is_some_and(|v| v == "true" || v == "1")
    }

    /// The schema elements below one, annotations aside.
    pub(super) fn children(&self, at: At) -> Vec<At> {
        let tree = self.tree(at);
        let is_schema = |c: &u32| {
            let n = tree.node(*c);
            n.kind == Kind::Element && n.name.uri == XSD && n.name.local != "annotation"
        };
        tree.children(at.node).filter(is_schema).map(|node| At { node, ..at }).collect()
    }

    pub(super) fn child(&self, at: At, names: &[&str]) -> Option<At> {
        self.children(at).into_iter().find(|c| names.contains(&self.local(*c).as_str()))
    }

    /// Where messages say something is.
    pub(super) fn location(&self, at: At) -> String {
        let tree = self.tree(at);
        let mut steps = Vec::new();
        let mut node = at.node;
        while node != ROOT {
            let n = tree.node(node);
            let name = tree
                .attributes(node)
                .map(|a| tree.node(a))
                .find(|a| a.kind == Kind::Attribute && a.name.local == "name")
                .map_or(String::new(), |a| format!("[@name=\"{}\"]", a.text));
            steps.push(format!("/*:{}{name}", n.name.local));
            node = n.parent;
        }
        steps.reverse();
        steps.concat()
    }

    /// A name that a prefix may be before.
    pub(super) fn resolve(&self, at: At, written: &str) -> Result<Key> {
        let (prefix, local) = written.split_once(':').unwrap_or(("", written));
        let uri = match self.tree(at).namespace(at.node, prefix) {
            Some(uri) => uri,
            None if prefix.is_empty() => SmolStr::default(),
            None => {
                let m = format!("XML Validation: Not able to resolve namespace for prefix:'{prefix}'");
                return error(6922, m);
            }
        };
        Ok((uri, local.into()))
    }

    pub(super) fn undefined<T>(&self, name: &Key) -> Result<T> {
        if name.0.is_empty() {
            return error(2307, format!("Reference to an undefined name '{}'", name.1));
        }
        error(2308, format!("Reference to an undefined name '{}' within namespace '{}'", name.1, name.0))
    }

    pub(super) fn global(&self, space: Space, name: &Key) -> Result<At> {
        match self.globals.get(&(space, name.clone())) {
            Some(at) => Ok(*at),
            None => self.undefined(name),
        }
    }

    /// A `name` attribute, in the target namespace.
    pub(super) fn named(&self, at: At) -> Result<Key> {
        let Some(name) = self.attribute(at, "name") else {
            return error(2327, format!("The content or definition of <{}> is missing.", self.local(at)));
        };
        if !is_nc_name(&name) {
            return error(2379, format!("The name specified is not a valid XML name :'{name}'"));
        }
        if name.chars().count() > 1000 {
            return error(6915, format!("Element or attribute name too long: '{name}'."));
        }
        Ok((self.target(at), name))
    }

    /// Counts components, and how deep their definitions nest.
    pub(super) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > NESTING_MAX { error(2362, "XSD schema too complex") } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn count(&mut self, components: usize) -> Result<()> {
        self.particles += components;
        if self.particles > COMPONENTS_MAX { error(2362, "XSD schema too complex") } else { Ok(()) }
    }

    // ---- global names ----

    fn names(&mut self, known: usize) -> Result<()> {
        for document in 0..self.documents.len() {
            let root = At { document, node: self.documents[document].root };
            for at in self.children(root) {
                let local = self.local(at);
                let space = match local.as_str() {
                    "element" => Space::Element,
                    "attribute" => Space::Attribute,
                    "simpleType" | "complexType" => Space::Type,
                    "group" => Space::Group,
                    "attributeGroup" => Space::AttributeGroup,
                    "import" => continue,
                    "redefine" => return error(2391, "Redefining XSD schemas is not supported"),
                    "include" | "notation" => return error(9336, unsupported(&local)),
                    _ => {
                        return error(
                            6940,
                            format!(
                                "Invalid component named '{local}' found in global scope. Only elements, attributes, types and groups can be defined in global context"
                            ),
                        );
                    }
                };
                let name = self.named(at)?;
                if let Some(first) = self.globals.insert((space, name.clone()), at) {
                    if first.document < known && at.document >= known {
                        return error(
                            6310,
                            format!(
                                "Altering existing schema components is not allowed.  There was an attempt to modify an existing XML Schema component, component namespace: '{}' component name: '{}' component kind:{}",
                                name.0,
                                name.1,
                                space.shown()
                            ),
                        );
                    }
                    return error(
                        2302,
                        format!("The name \"{}\" has already been defined in this scope.", name.1),
                    );
                }
                self.count(1)?;
                self.announce(space, name, at);
            }
        }
        Ok(())
    }

    /// Gives a global type or element its number.
    fn announce(&mut self, space: Space, name: Key, at: At) {
        match space {
            Space::Type => {
                let id = self.new_type();
                self.schema.type_names.insert(name, id);
                self.types.insert(id, (at, State::Open));
            }
            Space::Element => {
                let id = self.new_element(name.clone());
                self.schema.element_names.insert(name, id);
            }
            Space::AttributeGroup => self.schema.attribute_groups.push(name),
            Space::Attribute | Space::Group => {}
        }
    }

    /// Room for a type; `anyType` until it is defined.
    pub(super) fn new_type(&mut self) -> TypeId {
        let placeholder = self.schema.types[builtin::ANY_TYPE as usize].clone();
        self.schema.types.push(placeholder);
        (self.schema.types.len() - 1) as TypeId
    }

    pub(super) fn new_element(&mut self, name: Key) -> ElementId {
        self.schema.elements.push(Element {
            name,
            ty: builtin::ANY_TYPE,
            global: false,
            nillable: false,
            is_abstract: false,
            constraint: None,
            block: [false; 3],
            head: None,
            members: Vec::new(),
        });
        (self.schema.elements.len() - 1) as ElementId
    }

    fn define(&mut self) -> Result<()> {
        let mut all: Vec<((Space, Key), At)> = self.globals.iter().map(|(k, at)| (k.clone(), *at)).collect();
        all.sort_by_key(|(_, at)| (at.document, at.node));
        for ((space, name), at) in all {
            match space {
                Space::Type => {
                    let id = self.schema.type_names[&name];
                    self.type_defined(id)?;
                }
                Space::Element => {
                    let id = self.schema.element_names[&name];
                    if self.elements.insert(id) {
                        let element = self.element(at, name, true)?;
                        self.schema.elements[id as usize] = element;
                    }
                }
                Space::Attribute => {
                    let declared = self.attribute_use(at, true)?;
                    self.schema.attributes.insert(name, declared);
                }
                Space::Group => {
                    let group = self.group_named(&name)?;
                    self.schema.groups.insert(name, group);
                }
                Space::AttributeGroup => {
                    self.attribute_group(&name)?;
                }
            }
        }
        Ok(())
    }

    /// Sees to it that a type is defined. Error 6953 when it needs itself.
    pub(super) fn type_defined(&mut self, id: TypeId) -> Result<()> {
        match self.types.get(&id).copied() {
            None | Some((_, State::Done)) => Ok(()),
            Some((at, State::Underway)) => {
                let name = self.attribute(at, "name").unwrap_or_default();
                error(
                    6953,
                    format!(
                        "Invalid type definition for type '{name}', recursive type definitions are not allowed"
                    ),
                )
            }
            Some((at, State::Open)) => {
                self.types.insert(id, (at, State::Underway));
                self.enter()?;
                let name = Some(self.named(at)?);
                self.type_at(at, name, id)?;
                self.leave();
                self.types.insert(id, (at, State::Done));
                Ok(())
            }
        }
    }

    /// Reads a simple or complex type into its place.
    pub(super) fn type_at(&mut self, at: At, name: Option<Key>, id: TypeId) -> Result<()> {
        let ty = if self.local(at) == "simpleType" {
            Type::Simple(self.simple_type(at, name, id)?)
        } else {
            Type::Complex(self.complex_type(at, name, id)?)
        };
        self.schema.types[id as usize] = ty;
        Ok(())
    }

    /// An anonymous type.
    pub(super) fn anonymous(&mut self, at: At) -> Result<TypeId> {
        self.count(1)?;
        self.enter()?;
        let id = self.new_type();
        self.type_at(at, None, id)?;
        self.leave();
        Ok(id)
    }

    /// A type by name, which need not be defined yet.
    pub(super) fn type_named(&self, at: At, written: &str) -> Result<TypeId> {
        let name = self.resolve(at, written)?;
        match self.schema.type_names.get(&name) {
            Some(id) => Ok(*id),
            None => self.undefined(&name),
        }
    }

    /// A simple type by name, defined.
    pub(super) fn simple_named(&mut self, at: At, written: &str) -> Result<TypeId> {
        let id = self.type_named(at, written)?;
        self.type_defined(id)?;
        match self.schema.ty(id) {
            Type::Simple(_) => Ok(id),
            Type::Complex(_) => {
                let element = self.local(at);
                error(
                    2317,
                    format!(
                        "The base type \"{written}\" defined on XSD element \"{element}\" is not a simple type."
                    ),
                )
            }
        }
    }

    // ---- the end ----

    /// Who may stand for whom.
    fn substitutions(&mut self, known: usize) -> Result<()> {
        let all = 0..self.schema.elements.len();
        for id in all {
            let (ty, name) = (self.schema.elements[id].ty, self.schema.elements[id].name.clone());
            let mut head = self.schema.elements[id].head;
            let mut steps = 0;
            while let Some(of) = head {
                steps += 1;
                let element = &self.schema.elements[of as usize];
                if of as usize == id || steps > NESTING_MAX {
                    return error(2366, format!("\"{}\" has a circular definition.", name.1));
                }
                let Some([extended, restricted]) = self.schema.derivation(ty, element.ty) else {
                    return error(
                        2322,
                        "The element type is not a subclass of the substitution group's head",
                    );
                };
                let old = |name: &Key| {
                    self.globals.get(&(Space::Element, name.clone())).is_some_and(|at| at.document < known)
                };
                if known > 0 && old(&element.name) && !old(&name) {
                    let m = "SQL Server does not currently permit additions to existing substitution groups via ALTER XML SCHEMA COLLECTION.";
                    return error(6925, format!("Invalid definition for element '{}'. {m}", name.1));
                }
                let blocked =
                    (extended && element.block[0]) || (restricted && element.block[1]) || element.block[2];
                head = element.head;
                if !blocked {
                    self.schema.elements[of as usize].members.push(id as ElementId);
                    self.count(1)?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Schema> {
        for id in &self.unchecked {
            let Type::Complex(c) = self.schema.ty(*id) else { continue };
            if let super::Content::Model(particle, machine) = &c.content {
                let name = c.name.as_ref().map(shown).unwrap_or_default();
                machine.check_unique(&self.schema, &name)?;
                super::statics::check_consistent(&self.schema, particle, &name)?;
            }
        }
        Ok(self.schema)
    }

    /// The machine of a model.
    pub(super) fn machine(&mut self, particle: &Particle, name: Option<&Key>) -> Result<Machine> {
        let machine = Machine::build(particle, &name.map(shown).unwrap_or_default())?;
        // A component is as much as some of its places.
        self.count(machine.places() / 16)?;
        Ok(machine)
    }
}

pub(super) fn unsupported(syntax: &str) -> String {
    format!("The XML Schema syntax '{syntax}' is not supported.")
}

/// `use`, `ref` and the rest of an attribute.
pub(super) fn is_prohibited(attribute: &Use) -> bool {
    attribute.prohibited
}
