//! Definitions of types: simple ones with their facets, complex ones with attributes and content.

use super::lexical::Scalar;
use super::read::{At, Reader, Space, error, unsupported};
use super::simple::{Facets, Simple, Variety, WhiteSpace, bounds_hold, pattern};
use super::{
    Complex, Compositor, Content, Key, NESTING_MAX, Particle, Term, Type, TypeId, Use, Wildcard, builtin,
    shown,
};
use crate::Result;
use smol_str::SmolStr;

/// What a pattern counts among the components of a collection.
const PATTERN_COSTS: usize = 500;

const FACETS: [&str; 12] = [
    "length",
    "minLength",
    "maxLength",
    "pattern",
    "enumeration",
    "whiteSpace",
    "minInclusive",
    "minExclusive",
    "maxInclusive",
    "maxExclusive",
    "totalDigits",
    "fractionDigits",
];

fn name_of(name: Option<&Key>) -> SmolStr {
    name.map(shown).unwrap_or_default()
}

impl Reader {
    // ---- simple types ----

    /// `simpleType`
    pub(super) fn simple_type(&mut self, at: At, name: Option<Key>, _id: TypeId) -> Result<Simple> {
        let Some(how) = self.child(at, &["restriction", "list", "union"]) else {
            return error(2327, "The content or definition of <simpleType> is missing.");
        };
        match self.local(how).as_str() {
            "restriction" => self.restriction(how, name),
            "list" => self.list(how, name),
            _ => self.union(how, name),
        }
    }

    /// The type that an attribute names or a child defines.
    fn base_simple(&mut self, at: At, attribute: &str, missing: i32) -> Result<TypeId> {
        match (self.attribute(at, attribute), self.child(at, &["simpleType"])) {
            (Some(_), Some(_)) if attribute == "base" => {
                let m = "Derivation with both a 'base' attribute and an embedded type definition is not supported in this release.";
                error(2358, format!("{m} Location: '{}'.", self.location(at)))
            }
            (Some(written), _) => self.simple_named(at, &written),
            (None, Some(inline)) => self.anonymous(inline),
            (None, None) if missing == 2316 => error(
                2316,
                format!("The required 'base' attribute is missing. Location: '{}'.", self.location(at)),
            ),
            (None, None) => {
                let m = format!(
                    "Either an itemType attribute or a simpleType child must be present. Location: '{}'.",
                    self.location(at)
                );
                error(missing, m)
            }
        }
    }

    fn restriction(&mut self, at: At, name: Option<Key>) -> Result<Simple> {
        let base = self.base_simple(at, "base", 2316)?;
        self.restricted(at, base, name)
    }

    /// A simple type with the facets that stand below a node.
    fn restricted(&mut self, at: At, base: TypeId, name: Option<Key>) -> Result<Simple> {
        let Type::Simple(of) = self.schema.ty(base).clone() else {
            return error(
                2361,
                "The base type of an XSD extension or restriction type must be a simple type.",
            );
        };
        let label = name_of(name.as_ref());
        if matches!(of.variety, Variety::Union(_)) {
            let m = "SQL Server does not currently support restriction of union types.";
            return error(6910, format!("XML Validation: Invalid definition for type '{label}'. {m}"));
        }
        self.count(of.facets.enumeration.as_ref().map_or(0, Vec::len))?;
        let mut simple = Simple { name, base, ..of.clone() };
        let (mut patterns, mut enumeration) = (Vec::new(), Vec::new());
        let mut own = Facets::default();
        let mut seen: Vec<SmolStr> = Vec::new();
        for facet in self.children(at) {
            let which = self.local(facet);
            if !FACETS.contains(&which.as_str()) {
                continue;
            }
            self.count(1)?;
            let value = self.attribute(facet, "value").unwrap_or_default();
            let bad = || {
                error(6945, format!("Invalid facet value for facet '{which}' in type definition '{label}'"))
            };
            if value.chars().count() > 4000 {
                let m = "Facet value is longer than allowed, maximum length allowed is 4000 characters";
                return error(6964, format!("{m} : '{label}'"));
            }
            if seen.contains(&which) && !matches!(which.as_str(), "pattern" | "enumeration") {
                let m = format!("Duplicate facet '{which}' found at location '{}'.", self.location(facet));
                return error(2320, m);
            }
            seen.push(which.clone());
            match which.as_str() {
                "pattern" => match pattern(&value) {
                    Some(p) => {
                        // A machine of up to a megabyte each.
                        self.count(PATTERN_COSTS)?;
                        patterns.push(p);
                    }
                    None => return bad(),
                },
                "enumeration" => {
                    let written = self.enumerated(facet);
                    match self.schema.value(base, &written) {
                        Some(value) => enumeration.push(value),
                        None => return bad(),
                    }
                }
                "whiteSpace" => {
                    let how = match value.as_str() {
                        "preserve" => WhiteSpace::Preserve,
                        "replace" => WhiteSpace::Replace,
                        "collapse" => WhiteSpace::Collapse,
                        _ => return bad(),
                    };
                    if how < of.white_space {
                        return bad();
                    }
                    simple.white_space = how;
                }
                "length" | "minLength" | "maxLength" => {
                    let at =
                        ["length", "minLength", "maxLength"].iter().position(|f| *f == which).unwrap_or(0);
                    match value.parse() {
                        Ok(n) => own.length[at] = Some(n),
                        Err(_) => return bad(),
                    }
                }
                "totalDigits" | "fractionDigits" => match value.parse() {
                    Ok(n) => own.digits[usize::from(which == "fractionDigits")] = Some(n),
                    Err(_) => return bad(),
                },
                _ => {
                    let at = ["minInclusive", "minExclusive", "maxInclusive", "maxExclusive"];
                    let at = at.iter().position(|f| *f == which).unwrap_or(0);
                    if !matches!(of.variety, Variety::Atomic) {
                        let m = format!(
                            "This type may not have a '{which}' facet. Location: '{}'.",
                            self.location(facet)
                        );
                        return error(2319, m);
                    }
                    match Scalar::read(of.primitive, &value) {
                        Some(bound) if bound.order(&bound).is_some() => {
                            if !bounds_hold(&of.facets, &bound) {
                                let m = format!(
                                    "Invalid type definition for type '{label}', '{which}' facet is not restricting the value space"
                                );
                                return error(6944, m);
                            }
                            own.bounds[at] = Some(bound);
                        }
                        _ => return bad(),
                    }
                }
            }
        }
        consistent(&own, &label)?;
        for (to, from) in simple.facets.length.iter_mut().zip(own.length) {
            *to = from.or(*to);
        }
        for (to, from) in simple.facets.digits.iter_mut().zip(own.digits) {
            *to = from.or(*to);
        }
        for (to, from) in simple.facets.bounds.iter_mut().zip(own.bounds) {
            *to = from.or(to.take());
        }
        if !patterns.is_empty() {
            simple.facets.patterns.push(patterns);
        }
        if !enumeration.is_empty() {
            simple.facets.enumeration = Some(enumeration);
        }
        Ok(simple)
    }

    /// The value of an enumeration, white space and all.
    fn enumerated(&self, at: At) -> SmolStr {
        self.attribute(at, "value").unwrap_or_default()
    }

    fn list(&mut self, at: At, name: Option<Key>) -> Result<Simple> {
        let item = self.base_simple(at, "itemType", 2393)?;
        let refused = match self.schema.ty(item) {
            Type::Simple(s) => self.has_list(s) || self.is_derived(item, "ID"),
            Type::Complex(_) => {
                return error(
                    2367,
                    format!(
                        "The item type of an XSD list type must be a simple type. Location: '{}'.",
                        self.location(at)
                    ),
                );
            }
        };
        if refused {
            let m = "The item type of a list may not itself be a list, and types derived from ID may not be used as item types in this release.";
            return error(6978, format!("Invalid item type for list type '{}'. {m}", name_of(name.as_ref())));
        }
        Ok(Simple {
            name,
            base: builtin::ANY_SIMPLE,
            variety: Variety::List(item),
            primitive: super::lexical::Primitive::Any,
            white_space: WhiteSpace::Collapse,
            facets: Facets::default(),
        })
    }

    fn union(&mut self, at: At, name: Option<Key>) -> Result<Simple> {
        let mut members = Vec::new();
        for written in self.attribute(at, "memberTypes").unwrap_or_default().split_ascii_whitespace() {
            members.push(self.simple_named(at, written)?);
        }
        for child in self.children(at) {
            members.push(self.anonymous(child)?);
        }
        let members = self.flat(members)?;
        if members.is_empty() {
            let m = format!(
                "Either a memberType attribute or a simpleType child must be present. Location: '{}'.",
                self.location(at)
            );
            return error(2339, m);
        }
        if members.iter().any(|m| self.is_derived(*m, "ID") || self.is_derived(*m, "QName")) {
            let m = "SQL Server does not currently support inclusion of ID, QName, or list of QName among the member types of a union type.";
            return error(
                6903,
                format!("XML Validation: Invalid definition for type '{}'. {m}", name_of(name.as_ref())),
            );
        }
        Ok(Simple {
            name,
            base: builtin::ANY_SIMPLE,
            variety: Variety::Union(members),
            primitive: super::lexical::Primitive::Any,
            white_space: WhiteSpace::Preserve,
            facets: Facets::default(),
        })
    }

    /// Whether a type is a list, or a union with one.
    fn has_list(&self, simple: &Simple) -> bool {
        let is_list = |s: &Simple| matches!(s.variety, Variety::List(_));
        match &simple.variety {
            Variety::Union(members) => {
                members.iter().any(|m| matches!(self.schema.ty(*m), Type::Simple(s) if is_list(s)))
            }
            _ => is_list(simple),
        }
    }

    /// The members of a union, those of unions among them in their place, each once.
    fn flat(&mut self, members: Vec<TypeId>) -> Result<Vec<TypeId>> {
        let mut all: Vec<TypeId> = Vec::new();
        for member in members {
            let own = match self.schema.ty(member) {
                Type::Simple(Simple { variety: Variety::Union(inner), .. }) => inner.clone(),
                _ => vec![member],
            };
            self.count(own.len())?;
            for member in own {
                if !all.contains(&member) {
                    all.push(member);
                }
            }
        }
        Ok(all)
    }

    // ---- attributes ----

    /// `attribute`, global or not.
    pub(super) fn attribute_use(&mut self, at: At, global: bool) -> Result<Use> {
        self.count(1)?;
        let usage = self.attribute(at, "use").unwrap_or_default();
        let (required, prohibited) = (usage == "required", usage == "prohibited");
        if let Some(written) = self.attribute(at, "ref").filter(|_| !global) {
            let name = self.resolve(at, &written)?;
            if name.0 == crate::tree::XML_NAMESPACE {
                return Ok(Use {
                    ty: builtin::ANY_SIMPLE,
                    name,
                    required,
                    prohibited,
                    constraint: None,
                    refers: true,
                });
            }
            let declared = match self.schema.attributes.get(&name) {
                Some(declared) => declared.clone(),
                None => {
                    let declaration = self.global(Space::Attribute, &name)?;
                    self.attribute_use(declaration, true)?
                }
            };
            let own = self.constraint(at, &name, declared.ty)?;
            let constraint = own.or(declared.constraint);
            return Ok(Use { name, ty: declared.ty, required, prohibited, constraint, refers: true });
        }
        let (target, local) = self.named(at)?;
        let qualified = global
            || match self.attribute(at, "form") {
                Some(form) => form == "qualified",
                None => self.is_qualified(at, true),
            };
        let name = (if qualified { target } else { SmolStr::default() }, local);
        let ty = match (self.attribute(at, "type"), self.child(at, &["simpleType"])) {
            (Some(_), Some(_)) => {
                let m = format!(
                    "Element or attribute type specified more than once. Location: '{}'.",
                    self.location(at)
                );
                return error(2305, m);
            }
            (Some(written), None) => {
                let id = self.type_named(at, &written)?;
                self.type_defined(id)?;
                if matches!(self.schema.ty(id), Type::Complex(_)) {
                    let m = format!(
                        "Invalid attribute definition for attribute '{}', attributes type has to be simple type",
                        name.1
                    );
                    return error(6955, m);
                }
                id
            }
            (None, Some(inline)) => self.anonymous(inline)?,
            (None, None) => builtin::ANY_SIMPLE,
        };
        let constraint = self.constraint(at, &name, ty)?;
        Ok(Use { name, ty, required, prohibited, constraint, refers: false })
    }

    /// Attributes of a group. A group that contains itself has none of its own there.
    pub(super) fn attribute_group(&mut self, name: &Key) -> Result<(Vec<Use>, Option<Wildcard>)> {
        if let Some(found) = self.attribute_groups.get(name) {
            return Ok(found.clone());
        }
        let at = self.global(Space::AttributeGroup, name)?;
        let key = (Space::AttributeGroup, name.clone());
        if self.open.contains(&key) {
            return error(2366, format!("\"{}\" has a circular definition.", name.1));
        }
        self.open.push(key);
        self.enter()?;
        let found = self.attributes(at)?;
        self.leave();
        self.open.pop();
        self.attribute_groups.insert(name.clone(), found.clone());
        Ok(found)
    }

    /// The attributes that stand below a node.
    fn attributes(&mut self, at: At) -> Result<(Vec<Use>, Option<Wildcard>)> {
        let (mut uses, mut any): (Vec<Use>, Option<Wildcard>) = (Vec::new(), None);
        for child in self.children(at) {
            let mut more = Vec::new();
            match self.local(child).as_str() {
                "attribute" => more.push(self.attribute_use(child, false)?),
                "attributeGroup" => {
                    let Some(written) = self.attribute(child, "ref") else { continue };
                    let name = self.resolve(child, &written)?;
                    let (inner, wildcard) = self.attribute_group(&name)?;
                    more = inner;
                    any = any.or(wildcard);
                }
                "anyAttribute" => any = Some(self.wildcard(child)?),
                _ => {}
            }
            self.count(more.len() + 1)?;
            for attribute in more {
                if uses.iter().any(|u| u.name == attribute.name) {
                    return error(
                        2310,
                        format!("The attribute \"{}\" is declared more than once.", attribute.name.1),
                    );
                }
                uses.push(attribute);
            }
        }
        Ok((uses, any))
    }

    // ---- complex types ----

    /// `complexType`
    pub(super) fn complex_type(&mut self, at: At, name: Option<Key>, id: TypeId) -> Result<Complex> {
        let words = |text: SmolStr| {
            ["extension", "restriction"].map(|w| text == "#all" || text.split(' ').any(|t| t == w))
        };
        let block = words(self.attribute(at, "block").unwrap_or_else(|| self.default_of(at, 0)));
        let is_final = words(self.attribute(at, "final").unwrap_or_else(|| self.default_of(at, 1)));
        let mut complex = Complex {
            base: builtin::ANY_TYPE,
            extends: false,
            is_abstract: self.flag(at, "abstract"),
            mixed: self.flag(at, "mixed"),
            block,
            is_final,
            content: Content::Empty,
            attributes: Vec::new(),
            any_attribute: None,
            name,
        };
        match self.child(at, &["simpleContent", "complexContent"]) {
            Some(content) if self.local(content) == "simpleContent" => {
                self.simple_content(content, &mut complex)?
            }
            Some(content) => {
                if let Some(mixed) = self.attribute(content, "mixed") {
                    complex.mixed = mixed == "true" || mixed == "1";
                }
                self.complex_content(content, &mut complex)?;
            }
            None => {
                complex.content = self.model(at, complex.name.as_ref(), None)?;
                (complex.attributes, complex.any_attribute) = self.attributes(at)?;
                complex.attributes.retain(|a| !super::read::is_prohibited(a));
            }
        }
        if let Some(syntax) = self.child(at, &["assert", "openContent"]) {
            return error(9336, unsupported(&self.local(syntax)));
        }
        self.one_id(&complex)?;
        if matches!(complex.content, Content::Model(..)) {
            self.unchecked.push(id);
        }
        Ok(complex)
    }

    fn one_id(&self, complex: &Complex) -> Result<()> {
        let ids = complex.attributes.iter().filter(|a| self.is_derived(a.ty, "ID")).count();
        if ids > 1 {
            let m = "No type may have more than one attribute of any type derived from ID.";
            return error(
                6970,
                format!("Invalid type definition for type '{}'. {m}", name_of(complex.name.as_ref())),
            );
        }
        Ok(())
    }

    /// What a derivation is of and how: its node, base, and whether it extends.
    fn derivation(&mut self, content: At, complex: &Complex) -> Result<(At, TypeId, bool)> {
        let Some(how) = self.child(content, &["extension", "restriction"]) else {
            return error(
                2327,
                format!("The content or definition of <{}> is missing.", self.local(content)),
            );
        };
        let extends = self.local(how) == "extension";
        let Some(written) = self.attribute(how, "base") else {
            return error(
                2316,
                format!("The required 'base' attribute is missing. Location: '{}'.", self.location(how)),
            );
        };
        let base = self.type_named(how, &written)?;
        self.type_defined(base)?;
        if let Type::Complex(of) = self.schema.ty(base)
            && of.is_final[usize::from(!extends)]
        {
            let m = "the derivation was illegal because 'final' attribute was specified on the base type";
            return error(
                6943,
                format!("Invalid type definition for type '{}', {m}", name_of(complex.name.as_ref())),
            );
        }
        Ok((how, base, extends))
    }

    fn simple_content(&mut self, content: At, complex: &mut Complex) -> Result<()> {
        let (how, base, extends) = self.derivation(content, complex)?;
        let label = name_of(complex.name.as_ref());
        let mut inherited = (Vec::new(), None);
        let simple = match self.schema.ty(base).clone() {
            Type::Simple(_) if extends => base,
            Type::Simple(_) => {
                return error(
                    6968,
                    format!(
                        "Invalid type definition for type '{label}'. Complex types cannot restrict simple types"
                    ),
                );
            }
            Type::Complex(Complex {
                content: Content::Simple(simple), attributes, any_attribute, ..
            }) => {
                inherited = (attributes, any_attribute);
                simple
            }
            Type::Complex(of) if !extends && of.mixed && self.child(how, &["simpleType"]).is_some() => {
                inherited = (of.attributes, of.any_attribute);
                builtin::ANY_SIMPLE
            }
            Type::Complex(_) => {
                let m =
                    "types with simple content can only be derived from base types which have simple content";
                return error(6942, format!("Invalid type definition for type '{label}', {m}"));
            }
        };
        (complex.base, complex.extends) = (base, extends);
        complex.content = Content::Simple(if extends {
            simple
        } else {
            let narrowed = match self.child(how, &["simpleType"]) {
                Some(inline) => self.anonymous(inline)?,
                None => simple,
            };
            let restricted = self.restricted(how, narrowed, None)?;
            self.count(1)?;
            self.schema.types.push(Type::Simple(restricted));
            (self.schema.types.len() - 1) as TypeId
        });
        let own = self.attributes(how)?;
        self.inherit(complex, inherited, own)
    }

    fn complex_content(&mut self, content: At, complex: &mut Complex) -> Result<()> {
        let (how, base, extends) = self.derivation(content, complex)?;
        let label = name_of(complex.name.as_ref());
        let Type::Complex(of) = self.schema.ty(base).clone() else {
            let m =
                "types with complex content can only be derived from base types which have complex content";
            return error(6941, format!("Invalid type definition for type '{label}', {m}"));
        };
        (complex.base, complex.extends) = (base, extends);
        let empty = matches!(of.content, Content::Empty);
        if (extends && !empty && of.mixed != complex.mixed && base != builtin::ANY_TYPE)
            || (!extends && complex.mixed && !of.mixed)
        {
            let m = "The base and derived types must have the same value for 'mixed' unless deriving by restriction, in which case 'false' is always permitted for the derived type.";
            return error(6967, format!("Invalid type definition for type '{label}'. {m}"));
        }
        let before = match (&of.content, extends) {
            (Content::Model(particle, _), true) => {
                // Each extension repeats what it extends.
                self.copied(particle)?;
                Some((**particle).clone())
            }
            (Content::Simple(simple), true) => {
                complex.content = Content::Simple(*simple);
                None
            }
            _ => None,
        };
        if !matches!(complex.content, Content::Simple(_)) {
            complex.content = self.model(how, complex.name.as_ref(), before)?;
        }
        let own = self.attributes(how)?;
        let inherited =
            if base == builtin::ANY_TYPE { (Vec::new(), None) } else { (of.attributes, of.any_attribute) };
        self.inherit(complex, inherited, own)
    }

    /// Counts the parts of a particle that is copied, and refuses one that is too deep.
    fn copied(&mut self, particle: &Particle) -> Result<()> {
        let mut below = vec![(particle, 0)];
        while let Some((p, depth)) = below.pop() {
            if depth > NESTING_MAX {
                return error(2362, "XSD schema too complex");
            }
            self.count(1)?;
            if let Term::Group(_, parts) = &p.term {
                below.extend(parts.iter().map(|part| (part, depth + 1)));
            }
        }
        Ok(())
    }

    /// Attributes of the base with those of the derivation.
    fn inherit(
        &mut self,
        complex: &mut Complex,
        (mut attributes, any): (Vec<Use>, Option<Wildcard>),
        (own, own_any): (Vec<Use>, Option<Wildcard>),
    ) -> Result<()> {
        let label = name_of(complex.name.as_ref());
        self.count(attributes.len())?;
        for attribute in own {
            let base = attributes.iter().position(|a| a.name == attribute.name);
            match (base, complex.extends) {
                (Some(_), true) => {
                    let m = "Derivation by extension may not redefine attributes.";
                    return error(
                        6976,
                        format!(
                            "Invalid redefinition of attribute '{}' in type '{label}'. {m}",
                            attribute.name.1
                        ),
                    );
                }
                (Some(at), false) => {
                    let of = &attributes[at];
                    if self.schema.derivation(attribute.ty, of.ty).is_none() {
                        let m = "Must be of a type which is a valid restriction of the corresponding attribute in the base type.";
                        return error(
                            6972,
                            format!(
                                "Invalid redefinition of attribute '{}' in type '{label}'. {m}",
                                attribute.name.1
                            ),
                        );
                    }
                    if of.required && !attribute.required {
                        let m = "Must be required in the derived type if it is required in the base type.";
                        return error(
                            6973,
                            format!(
                                "Invalid redefinition of attribute '{}' in type '{label}'. {m}",
                                attribute.name.1
                            ),
                        );
                    }
                    attributes[at] = attribute;
                }
                (None, false) if attribute.prohibited && complex.base != builtin::ANY_TYPE => {
                    let m = "because there is no corresponding attribute in the base type.";
                    return error(
                        6920,
                        format!(
                            "Invalid definition for type '{label}'. Cannot specify use=\"prohibited\" for attribute '{}' {m}",
                            attribute.name.1
                        ),
                    );
                }
                (None, false)
                    if complex.base != builtin::ANY_TYPE
                        && !any.as_ref().is_some_and(|w| w.lets_in(&attribute.name.0)) =>
                {
                    let m = "which is not allowed in base type.";
                    return error(
                        6971,
                        format!(
                            "Invalid type definition for type '{label}'. Type contains attribute '{}' {m}",
                            attribute.name.1
                        ),
                    );
                }
                (None, _) => attributes.push(attribute),
            }
        }
        attributes.retain(|a| !super::read::is_prohibited(a));
        complex.attributes = attributes;
        complex.any_attribute = if complex.extends { own_any.or(any) } else { own_any };
        Ok(())
    }

    /// The content model below a node, behind that of the base.
    fn model(&mut self, at: At, name: Option<&Key>, before: Option<Particle>) -> Result<Content> {
        let parts: Vec<At> = self
            .children(at)
            .into_iter()
            .filter(|c| matches!(self.local(*c).as_str(), "sequence" | "choice" | "all" | "group"))
            .collect();
        let own = match parts.as_slice() {
            [] => None,
            [only] => {
                self.enter()?;
                let own = self.particle(*only)?;
                self.leave();
                Some(own)
            }
            _ => {
                let m =
                    "Cannot have more than one group/sequence/choice/all within a restriction or extension.";
                return error(2369, format!("{m} Location: '{}'.", self.location(at)));
            }
        };
        let nothing = |p: &Particle| matches!(&p.term, Term::Group(c, parts) if parts.is_empty() && *c != Compositor::Choice);
        let own = own.filter(|p| !nothing(p) && p.max != Some(0));
        let is_all = |p: &Particle| matches!(p.term, Term::Group(Compositor::All, _));
        let particle = match (before, own) {
            (None, None) => return Ok(Content::Empty),
            (Some(one), None) | (None, Some(one)) => one,
            (Some(a), Some(b)) if is_all(&a) || is_all(&b) => {
                return Err(super::misplaced_all(&name_of(name)));
            }
            (Some(a), Some(b)) => {
                Particle { min: 1, max: Some(1), term: Term::Group(Compositor::Sequence, vec![a, b]) }
            }
        };
        // What stands alone stands in a group of its own.
        let particle = match particle.term {
            Term::Group(..) => particle,
            _ => Particle { min: 1, max: Some(1), term: Term::Group(Compositor::Sequence, vec![particle]) },
        };
        let machine = self.machine(&particle, name)?;
        Ok(Content::Model(Box::new(particle), Box::new(machine)))
    }
}

/// Facets of one type that contradict each other.
fn consistent(own: &Facets, label: &str) -> Result<()> {
    let [exactly, least, most] = own.length;
    let above = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a > b);
    let wrong = |number: i32, what: &str| {
        error(number, format!("Invalid type definition for type '{label}', {what}"))
    };
    if above(least, most) {
        return wrong(6946, "'minLength' can not be greater than 'maxLength'");
    }
    if above(least, exactly) {
        return wrong(6948, "'minLength' can not be greater than 'Length'");
    }
    if above(exactly, most) {
        return wrong(6949, "'Length' can not be greater than 'maxLength'");
    }
    if own.digits[0].zip(own.digits[1]).is_some_and(|(total, fraction)| fraction > total) {
        return wrong(6950, "'fractionDigits' can not be greater than 'totalDigits'");
    }
    let [min, above_of, max, below] = &own.bounds;
    if (min.is_some() && above_of.is_some()) || (max.is_some() && below.is_some()) {
        let m = "A type may not have both 'minInclusive' and 'minExclusive' or 'maxInclusive' and 'maxExclusive' facets.";
        return error(6996, format!("Invalid type definition for type '{label}'. {m}"));
    }
    let order =
        |a: &Option<Scalar>, b: &Option<Scalar>| a.as_ref().zip(b.as_ref()).and_then(|(a, b)| a.order(b));
    if order(min, max).is_some_and(std::cmp::Ordering::is_gt)
        || order(min, below).is_some_and(std::cmp::Ordering::is_ge)
    {
        return wrong(
            6951,
            "'minInclusive' must be less than or equal to 'maxInclusive' and less than 'maxExclusive'",
        );
    }
    if order(above_of, below).is_some_and(std::cmp::Ordering::is_gt)
        || order(above_of, max).is_some_and(std::cmp::Ordering::is_ge)
    {
        return wrong(
            6952,
            "'minExclusive' must be less than or equal to 'maxExclusive' and less than 'maxInclusive'",
        );
    }
    Ok(())
}
