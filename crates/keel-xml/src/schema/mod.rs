//! XML Schema: what `CREATE XML SCHEMA COLLECTION` makes of schema documents, and instances checked by it.
//!
//! ```text
//!   documents ──read──► Schema: types, elements, attributes ──► Machine per content model
//!   instance  ──validate──► the instance in the form in which it is kept, with the type of each node
//! ```
//!
//! * [`mod@read`]: documents to components, names resolved, what the product does not take refused;
//! * [`simple`], [`lexical`]: simple types, facets, values;
//! * [`content`]: content models as machines, ambiguous ones refused;
//! * [`mod@validate`]: an instance against all of it, defaults put in, the product's errors (69xx);
//! * [`mod@builtin`]: the types of XML Schema itself;
//! * [`statics`]: what a path may find, for the static types of queries;
//! * [`registry`]: collections by number, so that a type can name one.
//!
//! Schemas and instances come from outside: recursion is bounded by the depth of trees and by [`NESTING_MAX`], sizes by
//! [`COMPONENTS_MAX`] and the limits in [`content`].
//!
//! Deliberately absent, as in the product: `include`, `redefine`, identity constraints, notations. Absent besides: the check that
//! the content model of a restriction allows no more than its base's.

pub mod builtin;
pub mod content;
mod declare;
mod define;
pub mod lexical;
pub mod read;
pub mod registry;
pub mod simple;
pub mod statics;
#[cfg(test)]
mod tests;
pub mod validate;

use crate::XmlError;
use content::Machine;
use simple::Simple;
use smol_str::{SmolStr, format_smolstr};
use std::collections::HashMap;
use std::sync::Arc;

/// The namespace of schemas.
pub const XSD: &str = "http://www.w3.org/2001/XMLSchema";
/// The namespace of `xsi:type` and its like.
pub const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// How deep derivations and references to groups may nest.
pub const NESTING_MAX: usize = 100;
/// Types, elements, attributes and particles a collection may have.
pub const COMPONENTS_MAX: usize = 200_000;

/// Index into [`Schema::types`].
pub type TypeId = u32;
/// Index into [`Schema::elements`].
pub type ElementId = u32;

/// Namespace and local name.
pub type Key = (SmolStr, SmolStr);

/// A name as messages have it: `{namespace}local`.
#[must_use]
pub fn shown(key: &Key) -> SmolStr {
    if key.0.is_empty() { key.1.clone() } else { format_smolstr!("{{{}}}{}", key.0, key.1) }
}

/// A type.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there are few, and most are simple")]
pub enum Type {
    /// Text.
    Simple(Simple),
    /// Attributes and children.
    Complex(Complex),
}

/// A complex type.
#[derive(Clone, Debug)]
pub struct Complex {
    /// Its name; none of an anonymous one.
    pub name: Option<Key>,
    /// What it extends or restricts.
    pub base: TypeId,
    /// It extends its base.
    pub extends: bool,
    /// No element may be of it.
    pub is_abstract: bool,
    /// Text may stand between the children.
    pub mixed: bool,
    /// Derivations that may not take its place: extension, restriction.
    pub block: [bool; 2],
    /// Derivations that are not allowed: extension, restriction.
    pub is_final: [bool; 2],
    /// Content.
    pub content: Content,
    /// Attributes, inherited ones among them.
    pub attributes: Vec<Use>,
    /// `anyAttribute`
    pub any_attribute: Option<Wildcard>,
}

/// What an element of a complex type contains.
#[derive(Clone, Debug)]
pub enum Content {
    /// Nothing.
    Empty,
    /// A value of a simple type.
    Simple(TypeId),
    /// Children.
    Model(Box<Particle>, Box<Machine>),
}

/// How members of a group stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compositor {
    /// One after the other.
    Sequence,
    /// One of them.
    Choice,
    /// In any order.
    All,
}

/// A part of a content model.
#[derive(Clone, Debug)]
pub struct Particle {
    /// Least number.
    pub min: u32,
    /// Greatest number; none is unbounded.
    pub max: Option<u32>,
    /// Of what.
    pub term: Term,
}

/// What a particle is of.
#[derive(Clone, Debug)]
pub enum Term {
    /// An element.
    Element(ElementId),
    /// `any`
    Any(Wildcard),
    /// A group.
    Group(Compositor, Vec<Particle>),
}

/// `default` or `fixed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// It is `fixed`.
    pub fixed: bool,
    /// The text in which it is kept.
    pub text: SmolStr,
}

/// A declaration of an element.
#[derive(Clone, Debug)]
pub struct Element {
    /// Name.
    pub name: Key,
    /// Type.
    pub ty: TypeId,
    /// It is global.
    pub global: bool,
    /// `xsi:nil` may be true.
    pub nillable: bool,
    /// Another element of its substitution group must stand for it.
    pub is_abstract: bool,
    /// `default` or `fixed`.
    pub constraint: Option<Constraint>,
    /// What may not stand for it: extensions, restrictions, substitutions.
    pub block: [bool; 3],
    /// The head of its substitution group.
    pub head: Option<ElementId>,
    /// Elements that may stand for it, those that stand for them among them.
    pub members: Vec<ElementId>,
}

/// An attribute of a complex type, or a global one.
#[derive(Clone, Debug)]
pub struct Use {
    /// Name.
    pub name: Key,
    /// Simple type.
    pub ty: TypeId,
    /// `use="required"`
    pub required: bool,
    /// `use="prohibited"`
    pub prohibited: bool,
    /// `default` or `fixed`.
    pub constraint: Option<Constraint>,
    /// It refers to a global declaration.
    pub refers: bool,
}

/// What becomes of elements and attributes that a wildcard lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Process {
    /// Nothing.
    Skip,
    /// They are validated when they are declared.
    Lax,
    /// They must be declared.
    Strict,
}

/// Which namespaces a wildcard lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// All.
    Any,
    /// All but this one, and not none.
    Other(SmolStr),
    /// These; an empty one for none.
    Of(Arc<[SmolStr]>),
}

/// `any` and `anyAttribute`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard {
    /// Namespaces.
    pub namespaces: Namespaces,
    /// `processContents`
    pub process: Process,
}

impl Wildcard {
    /// Whether it lets names of a namespace in.
    #[must_use]
    pub fn lets_in(&self, uri: &str) -> bool {
        match &self.namespaces {
            Namespaces::Any => true,
            Namespaces::Other(own) => !uri.is_empty() && own != uri,
            Namespaces::Of(all) => all.iter().any(|n| n == uri),
        }
    }

    /// Whether some name is let in by both.
    #[must_use]
    pub fn meets(&self, other: &Wildcard) -> bool {
        match (&self.namespaces, &other.namespaces) {
            (Namespaces::Of(all), _) => all.iter().any(|n| other.lets_in(n)),
            (_, Namespaces::Of(all)) => all.iter().any(|n| self.lets_in(n)),
            _ => true,
        }
    }

    /// As messages have it: `{namespace}*`.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.namespaces {
            Namespaces::Any => "*".to_owned(),
            Namespaces::Other(own) => format!("{{##other:{own}}}*"),
            Namespaces::Of(all) => all.iter().map(|n| format!("{{{n}}}*")).collect::<Vec<_>>().join("','"),
        }
    }
}

/// A compiled collection.
#[derive(Debug, Default)]
pub struct Schema {
    /// Types; the first are those of XML Schema itself.
    pub types: Vec<Type>,
    /// Elements.
    pub elements: Vec<Element>,
    /// Types by name.
    pub type_names: HashMap<Key, TypeId>,
    /// Global elements by name.
    pub element_names: HashMap<Key, ElementId>,
    /// Global attributes by name.
    pub attributes: HashMap<Key, Use>,
    /// Global groups by name.
    pub groups: HashMap<Key, Particle>,
    /// Global groups of attributes.
    pub attribute_groups: Vec<Key>,
    /// Target namespaces, in the order in which documents brought them; an empty one for none.
    pub namespaces: Vec<SmolStr>,
}

impl Schema {
    /// The element that a child of this name is where an element is expected: itself, or a member of its substitution group.
    #[must_use]
    pub fn stands_for(&self, child: &Key, expected: ElementId) -> Option<ElementId> {
        let element = self.elements.get(expected as usize)?;
        if element.name == *child {
            return Some(expected);
        }
        if element.block[2] {
            return None;
        }
        element
            .members
            .iter()
            .copied()
            .find(|m| self.elements.get(*m as usize).is_some_and(|e| e.name == *child))
    }

    /// A type by its id; `anyType` for one that is none.
    #[must_use]
    pub fn ty(&self, id: TypeId) -> &Type {
        self.types.get(id as usize).unwrap_or(&self.types[builtin::ANY_TYPE as usize])
    }

    /// The simple type of what elements or attributes of a type contain, when it is one.
    #[must_use]
    pub fn simple_content(&self, id: TypeId) -> Option<TypeId> {
        match self.ty(id) {
            Type::Simple(_) => Some(id),
            Type::Complex(Complex { content: Content::Simple(simple), .. }) => Some(*simple),
            Type::Complex(_) => None,
        }
    }

    /// How a type comes from another: whether by extension and by restriction somewhere on the way. `None` when it does not.
    #[must_use]
    pub fn derivation(&self, mut from: TypeId, to: TypeId) -> Option<[bool; 2]> {
        let mut how = [false; 2];
        for _ in 0..=NESTING_MAX {
            if from == to {
                return Some(how);
            }
            let (base, extends) = match self.types.get(from as usize)? {
                Type::Simple(s) => {
                    // A member of a union stands for the union.
                    if let Some(Type::Simple(Simple { variety: simple::Variety::Union(members), .. })) =
                        self.types.get(to as usize)
                        && members.contains(&from)
                    {
                        return Some(how);
                    }
                    (s.base, false)
                }
                Type::Complex(c) => (c.base, c.extends),
            };
            how[usize::from(!extends)] = true;
            if base == from {
                return None;
            }
            from = base;
        }
        None
    }

    /// A type as messages have it.
    #[must_use]
    pub fn type_shown(&self, id: TypeId) -> SmolStr {
        match self.ty(id) {
            Type::Simple(Simple { name: Some(name), .. })
            | Type::Complex(Complex { name: Some(name), .. }) => shown(name),
            _ => "(anonymous type)".into(),
        }
    }
}

pub(crate) fn misplaced_all(name: &str) -> Box<XmlError> {
    XmlError::new(
        6958,
        format!(
            "Invalid definition for type '{name}'. An 'all' group may not appear as the child or parent of any other model group, it must have minOccurs = maxOccurs = 1, its child elements must have maxOccurs = 1"
        ),
    )
}
