//! Steps over typed xml: what the schema collection says they find.

use super::ast::{Axis, Step, Test};
use super::check::{Checker, Often, Type, Typed, What, times};
use crate::Result;
use crate::schema::statics::{Found, Range, Wanted};
use crate::schema::{self, Schema, Type as SchemaType, TypeId, XSD, simple};
use smol_str::{SmolStr, format_smolstr};

/// A type as the static types of queries have it.
fn type_text(schema: &Schema, ty: TypeId) -> SmolStr {
    let name = match schema.ty(ty) {
        SchemaType::Simple(s) => s.name.as_ref(),
        SchemaType::Complex(c) => c.name.as_ref(),
    };
    match name {
        Some(name) if name.0 == XSD => format_smolstr!("xs:{}", name.1),
        Some(name) => name.1.clone(),
        None => "#anonymous".into(),
    }
}

/// The value that elements or attributes of a type have.
fn value_of(schema: &Schema, ty: TypeId) -> (Option<(super::atom::AtomType, bool)>, Option<TypeId>) {
    let Some(simple) = schema.simple_content(ty) else { return (None, None) };
    let list = matches!(
        schema.ty(simple),
        SchemaType::Simple(simple::Simple { variety: simple::Variety::List(_), .. })
    );
    (Some((schema.atom_type(simple), list)), Some(simple))
}

/// Elements of these declarations.
fn declared(schema: &Schema, elements: Vec<u32>) -> What {
    let mut all = elements.iter().filter_map(|e| schema.elements.get(*e as usize));
    let Some(first) = all.next() else { return What::Node };
    let (mut value, simple) = value_of(schema, first.ty);
    let (mut name, mut ty) = (first.name.1.clone(), type_text(schema, first.ty));
    for other in all {
        if other.ty != first.ty {
            ty = "*".into();
            if value_of(schema, other.ty).0 != value {
                value = None;
            }
        }
        if other.name != first.name {
            name = "*".into();
        }
    }
    What::Declared(Typed { elements, value, simple, shown: format_smolstr!("{name},{ty}") })
}

fn often((least, most): Range) -> Often {
    match (least, most) {
        (_, Some(0)) => Often::Never,
        (0, Some(1)) => Often::AtMostOnce,
        (_, Some(1)) => Often::Once,
        _ => Often::Many,
    }
}

/// What may be found under any of several: as much as under the least and as under the greatest.
fn either(a: Option<Range>, b: Option<Range>) -> Option<Range> {
    let (a, b) = (a.unwrap_or((0, Some(0))), b.unwrap_or((0, Some(0))));
    let range = (a.0.min(b.0), a.1.zip(b.1).map(|(x, y)| x.max(y)));
    (range.1 != Some(0)).then_some(range)
}

fn name_text(wanted: Wanted<'_>) -> String {
    match wanted {
        (Some(uri), Some(local)) if !uri.is_empty() => format!("{{{uri}}}:{local}"),
        (_, local) => local.map_or("*".to_owned(), SmolStr::to_string),
    }
}

impl Checker<'_> {
    /// The type of a step from typed nodes; `None` where the collection says nothing.
    pub(super) fn typed_step(&self, from: &Type, step: &Step) -> Result<Option<Type>> {
        let Some((schema, document)) = self.schema else { return Ok(None) };
        let wanted: Option<Wanted<'_>> = match &step.test {
            Test::Name(uri, local) => Some((uri.as_ref(), local.as_ref())),
            _ => None,
        };
        match (&from.what, step.axis, wanted) {
            (What::Document, Axis::Child, Some(wanted)) => self.top_step(schema, document, wanted).map(Some),
            (What::Document | What::Anything, Axis::Descendant | Axis::Child, Some(wanted)) => {
                let roots: Vec<TypeId> = schema.elements.iter().filter(|e| e.global).map(|e| e.ty).collect();
                let mut found = schema.descendants(&roots, wanted);
                found.elements.extend(schema.globals(wanted));
                found.elements.sort_unstable();
                found.elements.dedup();
                self.found(schema, from, found, wanted, true).map(Some)
            }
            (What::Document | What::Anything | What::Declared(_), Axis::DescendantOrSelf, None) => {
                Ok(Some(Type { what: What::Anything, often: Often::Many }))
            }
            (What::Declared(_), Axis::Itself, None) if step.test == Test::Node => Ok(Some(from.clone())),
            (What::Declared(typed), _, _) => self.element_step(schema, from, typed, step, wanted),
            _ => Ok(None),
        }
    }

    /// The top level: one element of a document, any number of content.
    fn top_step(&self, schema: &Schema, document: bool, wanted: Wanted<'_>) -> Result<Type> {
        let elements = schema.globals(wanted);
        if elements.is_empty() {
            return Err(self.error(2260, &format!("There is no element named '{}'", name_text(wanted))));
        }
        let all = schema.elements.iter().filter(|e| e.global).count();
        let often = match (document, elements.len() == all) {
            (false, _) => Often::Many,
            (true, false) => Often::AtMostOnce,
            (true, true) => Often::Once,
        };
        Ok(Type { what: declared(schema, elements), often })
    }

    fn element_step(
        &self,
        schema: &Schema,
        from: &Type,
        typed: &Typed,
        step: &Step,
        wanted: Option<Wanted<'_>>,
    ) -> Result<Option<Type>> {
        let types = || typed.elements.iter().filter_map(|e| schema.elements.get(*e as usize)).map(|e| e.ty);
        // An element of any type may have anything in it, of whatever types.
        if types().any(|t| t == schema::builtin::ANY_TYPE) {
            let text = step.test == Test::Text && step.axis == Axis::Child;
            return if text { Err(self.no_text(from)) } else { Ok(None) };
        }
        match (step.axis, wanted) {
            (Axis::Child, Some(wanted)) => {
                let mut all: Option<Found> = None;
                for ty in types() {
                    let found = schema.children(ty, wanted);
                    all = Some(match all {
                        None => found,
                        Some(mut all) => {
                            all.elements.extend(found.elements);
                            all.range = either(all.range, found.range);
                            all.untyped |= found.untyped;
                            all
                        }
                    });
                }
                self.found(schema, from, all.unwrap_or_default(), wanted, false).map(Some)
            }
            (Axis::Descendant, Some(wanted)) => {
                let found = schema.descendants(&types().collect::<Vec<_>>(), wanted);
                self.found(schema, from, found, wanted, true).map(Some)
            }
            (Axis::Attribute, Some(wanted)) => self.attribute_of(schema, from, types().collect(), wanted),
            (Axis::Child, None) if step.test == Test::Text && typed.value.is_some() => {
                Err(self.no_text(from))
            }
            (Axis::Itself, Some(wanted)) => {
                let own = typed.elements.iter().copied().filter(|e| {
                    schema.elements.get(*e as usize).is_some_and(|e| {
                        wanted.0.is_none_or(|u| *u == e.name.0) && wanted.1.is_none_or(|l| *l == e.name.1)
                    })
                });
                let found = Found { elements: own.collect(), range: Some((0, Some(1))), untyped: false };
                self.found(schema, from, found, wanted, false).map(Some)
            }
            (Axis::Parent, _) => {
                Ok(Some(Type { what: What::Anything, often: times(from.often, Often::AtMostOnce) }))
            }
            _ => Ok(None),
        }
    }

    fn no_text(&self, from: &Type) -> Box<crate::XmlError> {
        let m = format!(
            "'text()' is not supported on simple typed or 'http://www.w3.org/2001/XMLSchema#anyType' elements, found '{}'.",
            from.text()
        );
        self.error(9312, &m)
    }

    /// The type of what a step finds. Errors 2260 and 2261 when that is nothing.
    fn found(
        &self,
        schema: &Schema,
        from: &Type,
        mut found: Found,
        wanted: Wanted<'_>,
        deep: bool,
    ) -> Result<Type> {
        found.elements.sort_unstable();
        found.elements.dedup();
        if found.elements.is_empty() && !found.untyped {
            let name = name_text(wanted);
            return Err(if matches!(from.what, What::Declared(_)) {
                let m = format!("There is no element named '{name}' in the type '{}'.", from.text());
                self.error(2261, &m)
            } else {
                self.error(2260, &format!("There is no element named '{name}'"))
            });
        }
        let often = if deep { Often::Many } else { often(found.range.unwrap_or((0, None))) };
        let what = if found.untyped {
            What::Element(wanted.1.cloned().unwrap_or_else(|| "*".into()))
        } else {
            declared(schema, found.elements)
        };
        // How many there are under each; `narrowed` multiplies by how many it starts from.
        Ok(Type { what, often })
    }

    fn attribute_of(
        &self,
        schema: &Schema,
        from: &Type,
        types: Vec<TypeId>,
        wanted: Wanted<'_>,
    ) -> Result<Option<Type>> {
        let (mut uses, mut required, mut open) = (Vec::new(), true, false);
        for ty in types {
            let (found, more) = schema.attributes_of(ty, wanted);
            required &= found.iter().any(|u| u.required);
            open |= more;
            uses.extend(found);
        }
        // What tells how to read an element may stand on any.
        let instance = wanted.0.is_none_or(|uri| *uri == schema::XSI || *uri == crate::tree::XML_NAMESPACE);
        match uses.as_slice() {
            [] if open || instance => Ok(None),
            [] => {
                let m = format!(
                    "There is no attribute named '@{}' in the type '{}'.",
                    name_text(wanted),
                    from.text()
                );
                Err(self.error(2263, &m))
            }
            [first, rest @ ..] => {
                let single = wanted.1.is_some() && rest.iter().all(|u| u.name == first.name);
                let (mut value, simple) = value_of(schema, first.ty);
                if rest.iter().any(|u| value_of(schema, u.ty).0 != value) {
                    value = None;
                }
                let each = match (single, required) {
                    (true, true) => Often::Once,
                    (true, false) => Often::AtMostOnce,
                    (false, _) => Often::Many,
                };
                let name = if single { first.name.1.as_str() } else { "*" };
                let shown = format_smolstr!("{name},{}", type_text(schema, first.ty));
                let typed = Typed { elements: Vec::new(), value, simple, shown };
                Ok(Some(Type { what: What::DeclaredAttribute(typed), often: times(from.often, each) }))
            }
        }
    }
}
