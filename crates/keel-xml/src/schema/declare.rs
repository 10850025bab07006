//! Declarations of elements, and the particles of content models.

use super::read::{At, Reader, Space, error, unsupported};
use super::{
    Compositor, Constraint, Element, ElementId, Key, NESTING_MAX, Namespaces, Particle, Process, Term, Type,
    TypeId, Wildcard, builtin,
};
use crate::Result;
use crate::tree::Kind;
use smol_str::SmolStr;

impl Reader {
    // ---- elements ----

    /// A declaration of an element.
    pub(super) fn element(&mut self, at: At, name: Key, global: bool) -> Result<Element> {
        self.count(1)?;
        if let Some(constraint) = self.child(at, &["unique", "key", "keyref"]) {
            return error(9336, unsupported(&self.local(constraint)));
        }
        let head = match self.attribute(at, "substitutionGroup").filter(|_| global) {
            Some(written) => {
                let name = self.resolve(at, &written)?;
                match self.schema.element_names.get(&name) {
                    Some(id) => Some(*id),
                    None => return self.undefined(&name),
                }
            }
            None => None,
        };
        let inline = self.child(at, &["simpleType", "complexType"]);
        let ty = match (self.attribute(at, "type"), inline) {
            (Some(_), Some(_)) => {
                let m = format!(
                    "Element or attribute type specified more than once. Location: '{}'.",
                    self.location(at)
                );
                return error(2305, m);
            }
            (Some(written), None) => self.type_named(at, &written)?,
            (None, Some(inline)) => self.anonymous(inline)?,
            (None, None) => match head {
                Some(head) => self.type_of_head(head)?,
                None => builtin::ANY_TYPE,
            },
        };
        let block = self.attribute(at, "block").unwrap_or_else(|| self.default_of(at, 0));
        let block = ["extension", "restriction", "substitution"]
            .map(|b| block == "#all" || block.split(' ').any(|w| w == b));
        let mut element = Element {
            name,
            ty,
            global,
            nillable: self.flag(at, "nillable"),
            is_abstract: self.flag(at, "abstract"),
            constraint: None,
            block,
            head,
            members: Vec::new(),
        };
        element.constraint = self.constraint(at, &element.name, ty)?;
        if element.nillable && element.constraint.as_ref().is_some_and(|c| c.fixed) {
            let m = format!(
                "Invalid definition for element '{}'. An element which has a fixed value may not also be nillable.",
                element.name.1
            );
            return error(6997, m);
        }
        Ok(element)
    }

    /// The declared type of a substitution group's head, followed as far as heads say nothing themselves.
    fn type_of_head(&mut self, mut head: ElementId) -> Result<TypeId> {
        for _ in 0..NESTING_MAX {
            let name = self.schema.elements[head as usize].name.clone();
            let at = self.global(Space::Element, &name)?;
            if let Some(written) = self.attribute(at, "type") {
                return self.type_named(at, &written);
            }
            if self.child(at, &["simpleType", "complexType"]).is_some() {
                // Its anonymous type must be the same one: defined where the head is.
                let id = self.schema.elements[head as usize].ty;
                if id != builtin::ANY_TYPE {
                    return Ok(id);
                }
                let element = self.element(at, name, true)?;
                let ty = element.ty;
                self.schema.elements[head as usize] = element;
                self.elements.insert(head);
                return Ok(ty);
            }
            let Some(written) = self.attribute(at, "substitutionGroup") else { return Ok(builtin::ANY_TYPE) };
            let next = self.resolve(at, &written)?;
            match self.schema.element_names.get(&next) {
                Some(id) => head = *id,
                None => return self.undefined(&next),
            }
        }
        error(2362, "XSD schema too complex")
    }

    /// `default` and `fixed`, in the form in which they are kept.
    pub(super) fn constraint(&mut self, at: At, name: &Key, ty: TypeId) -> Result<Option<Constraint>> {
        let (fixed, text) = match (self.raw(at, "default"), self.raw(at, "fixed")) {
            (Some(text), None) => (false, text),
            (None, Some(text)) => (true, text),
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return error(2313, "The attribute \"default\" cannot be used together with \"fixed\".");
            }
        };
        if text.chars().count() > 4000 {
            let m = "'Default' or 'Fixed' value is longer than allowed, maximum length allowed is 4000 characters";
            return error(6963, format!("{m} : '{}'", name.1));
        }
        self.type_defined(ty)?;
        if self.is_derived(ty, "ID") {
            let m = "Value constraints on components of type ID are not allowed.";
            return error(6932, format!("Invalid definition for element or attribute '{}'. {m}", name.1));
        }
        if self.is_derived(ty, "QName") {
            let m = "Value constraints on components of type QName are not supported in this release.";
            return error(6999, format!("Invalid definition for element or attribute '{}'. {m}", name.1));
        }
        match (self.schema.simple_content(ty), self.schema.ty(ty)) {
            (Some(simple), _) => match self.schema.value(simple, &text) {
                Some(value) => Ok(Some(Constraint { fixed, text: value.text() })),
                None => error(6927, format!("XML Validation: Invalid simple type value: '{text}'.")),
            },
            (None, Type::Complex(c)) if c.mixed => Ok(Some(Constraint { fixed, text })),
            _ => error(
                6962,
                format!("'default' and 'fixed' values are not allowed on element of this type: '{}'", name.1),
            ),
        }
    }

    /// An attribute with its white space.
    fn raw(&self, at: At, name: &str) -> Option<SmolStr> {
        let tree = self.tree(at);
        let mut own = tree.attributes(at.node).map(|a| tree.node(a));
        own.find(|a| a.kind == Kind::Attribute && a.name.uri.is_empty() && a.name.local == name)
            .map(|a| a.text.clone())
    }

    /// Whether a type comes from a built-in one.
    pub(super) fn is_derived(&self, ty: TypeId, from: &str) -> bool {
        self.schema.derivation(ty, builtin::number(from)).is_some()
    }

    // ---- particles ----

    /// `minOccurs`, `maxOccurs`
    pub(super) fn occurs(&self, at: At) -> Result<(u32, Option<u32>)> {
        let read = |name: &str| -> Result<Option<Option<u32>>> {
            match self.attribute(at, name) {
                None => Ok(None),
                Some(v) if v == "unbounded" && name == "maxOccurs" => Ok(Some(None)),
                Some(v) => match v.parse::<u32>() {
                    Ok(n) if n <= i32::MAX as u32 => Ok(Some(Some(n))),
                    _ => error(
                        2383,
                        format!(
                            "Invalid value '{v}' for the {name} attribute. The value has to be between 0 and {}.",
                            i32::MAX
                        ),
                    ),
                },
            }
        };
        let min = read("minOccurs")?.flatten().unwrap_or(1);
        let max = read("maxOccurs")?.unwrap_or(Some(1));
        if max.is_some_and(|max| max < min) {
            let m = "Invalid combination of minOccurs and maxOccurs values, minOccurs has to be less than or equal to maxOccurs.";
            return error(2382, format!("{m} Location: '{}'.", self.location(at)));
        }
        Ok((min, max))
    }

    /// `element`, `any`, `group`, `sequence`, `choice`, `all`.
    pub(super) fn particle(&mut self, at: At) -> Result<Particle> {
        self.count(1)?;
        self.enter()?;
        let (min, max) = self.occurs(at)?;
        let local = self.local(at);
        let term = match local.as_str() {
            "element" => Term::Element(match self.attribute(at, "ref") {
                Some(written) => self.element_referred(at, &written)?,
                None => self.local_element(at)?,
            }),
            "any" => Term::Any(self.wildcard(at)?),
            "group" => {
                let Some(written) = self.attribute(at, "ref") else {
                    return error(2327, "The content or definition of <group> is missing.");
                };
                let name = self.resolve(at, &written)?;
                self.group_named(&name)?.term
            }
            "sequence" | "choice" | "all" => {
                let compositor = match local.as_str() {
                    "sequence" => Compositor::Sequence,
                    "choice" => Compositor::Choice,
                    _ => Compositor::All,
                };
                let mut parts = Vec::new();
                for child in self.children(at) {
                    let part = self.particle(child)?;
                    if matches!(part.term, Term::Group(Compositor::All, _)) {
                        return Err(super::misplaced_all(&self.attribute(at, "name").unwrap_or_default()));
                    }
                    parts.push(part);
                }
                Term::Group(compositor, parts)
            }
            other => return self.invalid(at, other),
        };
        self.leave();
        Ok(Particle { min, max, term })
    }

    /// An element of a schema that does not belong where it is.
    pub(super) fn invalid<T>(&self, at: At, name: &str) -> Result<T> {
        error(2297, format!("Element <{name}> is not valid at location '{}'.", self.location(at)))
    }

    fn element_referred(&self, at: At, written: &str) -> Result<ElementId> {
        if self.attribute(at, "name").is_some() {
            let m =
                format!("Cannot have both a 'name' and 'ref' attribute. Location: '{}'.", self.location(at));
            return error(2360, m);
        }
        if self.attribute(at, "type").is_some() {
            let m =
                format!("Cannot have both 'type' and 'ref' attributes. Location: '{}'.", self.location(at));
            return error(2387, m);
        }
        let name = self.resolve(at, written)?;
        match self.schema.element_names.get(&name) {
            Some(id) => Ok(*id),
            None => self.undefined(&name),
        }
    }

    fn local_element(&mut self, at: At) -> Result<ElementId> {
        let (target, local) = self.named(at)?;
        let qualified = match self.attribute(at, "form") {
            Some(form) => form == "qualified",
            None => self.is_qualified(at, false),
        };
        let name = (if qualified { target } else { SmolStr::default() }, local);
        let element = self.element(at, name, false)?;
        self.schema.elements.push(element);
        Ok((self.schema.elements.len() - 1) as ElementId)
    }

    /// A global group. Error 6954 when it contains itself.
    pub(super) fn group_named(&mut self, name: &Key) -> Result<Particle> {
        if let Some(known) = self.schema.groups.get(name).cloned() {
            self.count(size(&known))?;
            return Ok(known);
        }
        let at = self.global(Space::Group, name)?;
        let key = (Space::Group, name.clone());
        if self.open.contains(&key) {
            let m = format!(
                "Invalid group definition for group '{}', recursive group definitions are not allowed",
                name.1
            );
            return error(6954, m);
        }
        self.open.push(key);
        let parts = self.children(at);
        let [only] = parts.as_slice() else {
            return error(
                6959,
                "Invalid definition, top level group definitions can not have model groups as siblings",
            );
        };
        let group = self.particle(*only)?;
        self.open.pop();
        self.schema.groups.insert(name.clone(), group.clone());
        Ok(group)
    }

    /// `any`, `anyAttribute`
    pub(super) fn wildcard(&self, at: At) -> Result<Wildcard> {
        let process = match self.attribute(at, "processContents").as_deref() {
            None | Some("strict") => Process::Strict,
            Some("lax") => Process::Lax,
            Some("skip") => Process::Skip,
            Some(other) => {
                let m = format!("The attribute \"processContents\" cannot have a value of \"{other}\".");
                return error(2313, m);
            }
        };
        let written = self.attribute(at, "namespace").unwrap_or_else(|| "##any".into());
        let namespaces = match written.as_str() {
            "##any" => Namespaces::Any,
            "##other" => Namespaces::Other(self.target(at)),
            list => Namespaces::Of(
                list.split_ascii_whitespace()
                    .map(|n| match n {
                        "##targetNamespace" => self.target(at),
                        "##local" => SmolStr::default(),
                        other => other.into(),
                    })
                    .collect(),
            ),
        };
        Ok(Wildcard { namespaces, process })
    }
}

/// Number of particles.
fn size(p: &Particle) -> usize {
    match &p.term {
        Term::Group(_, parts) => 1 + parts.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}
