//! What a path may find: for each step the declarations that match, and how often they may come.

use super::{
    Complex, Content, ElementId, Key, Namespaces, Particle, Process, Schema, Term, Type, TypeId, Use,
};
use crate::{Result, XmlError};
use smol_str::SmolStr;
use std::collections::HashMap;

/// Least and greatest number of nodes; none is unbounded.
pub type Range = (u32, Option<u32>);

/// What a name test takes: namespace and local name, none for any.
pub type Wanted<'a> = (Option<&'a SmolStr>, Option<&'a SmolStr>);

/// What children or attributes a step may find.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Declarations.
    pub elements: Vec<ElementId>,
    /// How often.
    pub range: Option<Range>,
    /// Also elements of no type, which a wildcard lets in.
    pub untyped: bool,
}

fn takes(wanted: Wanted<'_>, name: &Key) -> bool {
    wanted.0.is_none_or(|u| *u == name.0) && wanted.1.is_none_or(|l| *l == name.1)
}

fn scaled((min, max): Range, p: &Particle) -> Range {
    let most = match (max, p.max) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (Some(a), Some(b)) => Some(a.saturating_mul(b)),
        _ => None,
    };
    (min.saturating_mul(p.min), most)
}

impl Schema {
    /// The children of an element of a type that a name test takes.
    #[must_use]
    pub fn children(&self, ty: TypeId, wanted: Wanted<'_>) -> Found {
        let mut found = Found::default();
        if let Type::Complex(Complex { content: Content::Model(particle, _), .. }) = self.ty(ty) {
            let range = self.occurrences(particle, wanted, &mut found);
            found.range = (range.1 != Some(0)).then_some(range);
        }
        found.elements.sort_unstable();
        found.elements.dedup();
        found
    }

    fn occurrences(&self, p: &Particle, wanted: Wanted<'_>, found: &mut Found) -> Range {
        let once = match &p.term {
            Term::Element(e) => self.of_element(*e, wanted, found),
            Term::Any(w) => self.of_wildcard(&w.namespaces, w.process, wanted, found),
            Term::Group(super::Compositor::Choice, parts) => {
                let ranges: Vec<Range> =
                    parts.iter().map(|part| self.occurrences(part, wanted, found)).collect();
                let least = ranges.iter().map(|r| r.0).min().unwrap_or(0);
                let most = ranges.iter().try_fold(0u32, |most, r| r.1.map(|n| most.max(n)));
                (least, most)
            }
            Term::Group(_, parts) => parts.iter().fold((0u32, Some(0u32)), |(least, most), part| {
                let r = self.occurrences(part, wanted, found);
                let most = most.zip(r.1).map(|(a, b)| a.saturating_add(b));
                (least.saturating_add(r.0), most)
            }),
        };
        scaled(once, p)
    }

    fn of_element(&self, id: ElementId, wanted: Wanted<'_>, found: &mut Found) -> Range {
        let Some(element) = self.elements.get(id as usize) else { return (0, Some(0)) };
        let own = takes(wanted, &element.name);
        let before = found.elements.len();
        if own {
            found.elements.push(id);
        }
        let members = element.members.iter().copied();
        let is_taken = |m: &ElementId| self.elements.get(*m as usize).is_some_and(|e| takes(wanted, &e.name));
        found.elements.extend(members.filter(is_taken));
        if found.elements.len() == before {
            (0, Some(0))
        } else if element.members.is_empty() || found.elements.len() - before > element.members.len() {
            (1, Some(1))
        } else {
            (0, Some(1))
        }
    }

    fn of_wildcard(
        &self,
        namespaces: &Namespaces,
        process: Process,
        wanted: Wanted<'_>,
        found: &mut Found,
    ) -> Range {
        let wildcard = super::Wildcard { namespaces: namespaces.clone(), process };
        if wanted.0.is_some_and(|uri| !wildcard.lets_in(uri)) {
            return (0, Some(0));
        }
        let before = (found.elements.len(), found.untyped);
        if process != Process::Skip {
            found.elements.extend(
                self.globals(wanted)
                    .into_iter()
                    .filter(|e| self.elements.get(*e as usize).is_some_and(|e| wildcard.lets_in(&e.name.0))),
            );
        }
        if process != Process::Strict {
            found.untyped = true;
        }
        if before.0 == found.elements.len() && !found.untyped { (0, Some(0)) } else { (0, Some(1)) }
    }

    /// The global elements that a name test takes.
    #[must_use]
    pub fn globals(&self, wanted: Wanted<'_>) -> Vec<ElementId> {
        if let (Some(uri), Some(local)) = wanted {
            return self.element_names.get(&(uri.clone(), local.clone())).copied().into_iter().collect();
        }
        let mut all: Vec<ElementId> =
            self.element_names.iter().filter(|(name, _)| takes(wanted, name)).map(|(_, id)| *id).collect();
        all.sort_unstable();
        all
    }

    /// All elements below one of a type, at any depth, that a name test takes. None of the range is known.
    #[must_use]
    pub fn descendants(&self, roots: &[TypeId], wanted: Wanted<'_>) -> Found {
        let mut all = Found { range: Some((0, None)), ..Found::default() };
        let mut seen: Vec<bool> = vec![false; self.types.len()];
        let mut open: Vec<TypeId> = roots.to_vec();
        while let Some(ty) = open.pop() {
            match seen.get_mut(ty as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let below = self.children(ty, (None, None));
            all.untyped |= below.untyped;
            for e in below.elements {
                if let Some(element) = self.elements.get(e as usize) {
                    open.push(element.ty);
                    if takes(wanted, &element.name) {
                        all.elements.push(e);
                    }
                }
            }
        }
        all.elements.sort_unstable();
        all.elements.dedup();
        all
    }

    /// The attributes of a type that a name test takes, and whether a wildcard lets others in.
    #[must_use]
    pub fn attributes_of(&self, ty: TypeId, wanted: Wanted<'_>) -> (Vec<&Use>, bool) {
        match self.ty(ty) {
            Type::Simple(_) => (Vec::new(), false),
            Type::Complex(c) => {
                let found: Vec<&Use> = c.attributes.iter().filter(|u| takes(wanted, &u.name)).collect();
                let more = c.any_attribute.as_ref().is_some_and(|w| wanted.0.is_none_or(|u| w.lets_in(u)));
                (found, more)
            }
        }
    }
}

/// Refuses a model with two elements of one name that are not alike: error 6992.
pub(super) fn check_consistent(schema: &Schema, particle: &Particle, label: &str) -> Result<()> {
    let mut known: HashMap<&Key, ElementId> = HashMap::new();
    let mut open = vec![particle];
    while let Some(p) = open.pop() {
        match &p.term {
            Term::Group(_, parts) => open.extend(parts),
            Term::Any(_) => {}
            Term::Element(id) => {
                let Some(element) = schema.elements.get(*id as usize) else { continue };
                let first = *known.entry(&element.name).or_insert(*id);
                let like = schema.elements.get(first as usize).is_some_and(|f| {
                    f.ty == element.ty && f.nillable == element.nillable && f.constraint == element.constraint
                });
                // Anonymous types of two declarations are two types.
                if !like {
                    let m = format!(
                        "The content model of type '{label}' contains two elements with the same name '{}' and different types, nullability, or value constraints.",
                        element.name.1
                    );
                    return Err(XmlError::new(6992, m));
                }
            }
        }
    }
    Ok(())
}
