//! Content models as machines: what may stand where among an element's children.
//!
//! A particle becomes a small program (`Split`, terminals, `Match`), run by keeping all places where it may be: no backtracking,
//! and because the product (and so [`Machine::build`]) refuses ambiguous models, all those places are of one particle. A single
//! element or wildcard that repeats counts itself; a repeated group is written out as often as it must and may stand, up to
//! a few thousand places.

use super::{Compositor, ElementId, Key, Particle, Schema, Term, Wildcard};
use crate::{Result, XmlError};
use std::collections::BTreeSet;

/// Terminals and splits a machine may have; more is error 6998.
const PLACES_MAX: usize = 5_000;
/// Steps that looking for ambiguity may take.
const CHECKS_MAX: usize = 4_000_000;

/// What a terminal takes.
#[derive(Clone, Debug)]
pub enum Takes {
    /// An element, or what stands for it in its substitution group.
    Element(ElementId),
    /// Elements that a wildcard lets in.
    Any(Wildcard),
}

#[derive(Clone, Debug)]
enum Op {
    Take { takes: Takes, particle: usize, min: u32, max: Option<u32> },
    Split(Vec<usize>),
    Match,
}

/// A compiled model.
#[derive(Clone, Debug)]
pub struct Machine {
    ops: Vec<Op>,
    /// The members of an `all` group, in place of `ops`: whether each must come.
    all: Option<Vec<(ElementId, bool)>>,
    /// An `all` group that may be left out as a whole.
    optional: bool,
}

/// Where a run is.
#[derive(Clone, Debug)]
pub enum Run {
    /// Places with how often they have taken something.
    Places(BTreeSet<(usize, u32)>),
    /// Members of an `all` group that came.
    Came(Vec<bool>),
}

/// What became of a child.
#[derive(Clone, Debug)]
pub enum Step {
    /// Taken.
    Took(Takes),
    /// A member of an `all` group came twice.
    Twice,
    /// Not expected here.
    Unexpected,
}

struct Builder {
    ops: Vec<Op>,
}

impl Builder {
    fn push(&mut self, op: Op) -> Option<usize> {
        if self.ops.len() >= PLACES_MAX {
            return None;
        }
        self.ops.push(op);
        Some(self.ops.len() - 1)
    }

    /// Writes a particle in front of `next`; where it begins. Built from the end, so that what follows is known.
    fn particle(&mut self, p: &Particle, number: &mut usize, next: usize) -> Option<usize> {
        let first = *number;
        let Term::Group(compositor, parts) = &p.term else {
            *number += 1;
            if p.max == Some(0) {
                return Some(next);
            }
            let takes = match &p.term {
                Term::Element(e) => Takes::Element(*e),
                Term::Any(w) => Takes::Any(w.clone()),
                Term::Group(..) => return None,
            };
            // The place of what follows a terminal is the one before it.
            let at = self.push(Op::Take { takes, particle: first, min: p.min, max: p.max })?;
            return if at == next + 1 { Some(at) } else { self.behind(at, next) };
        };
        let write =
            |b: &mut Builder, number: &mut usize, next: usize| b.group(*compositor, parts, number, next);
        let mut end = *number;
        let mut at = next;
        match p.max {
            Some(0) => {
                count(p, number);
                return Some(next);
            }
            Some(max) => {
                for _ in p.min..max {
                    let mut own = first;
                    let begin = write(self, &mut own, at)?;
                    end = own;
                    at = self.push(Op::Split(vec![begin, next]))?;
                }
            }
            None => {
                let split = self.push(Op::Split(Vec::new()))?;
                let mut own = first;
                let begin = write(self, &mut own, split)?;
                end = own;
                if let Some(Op::Split(ways)) = self.ops.get_mut(split) {
                    *ways = vec![begin, next];
                }
                at = split;
            }
        }
        for _ in 0..p.min {
            let mut own = first;
            let begin = write(self, &mut own, at)?;
            end = own;
            // A group of nothing is as much as many of them.
            if begin == at {
                break;
            }
            at = begin;
        }
        *number = end.max(*number);
        Some(at)
    }

    /// Puts a way to `next` right before the terminal that was just written.
    fn behind(&mut self, at: usize, next: usize) -> Option<usize> {
        let take = std::mem::replace(self.ops.get_mut(at)?, Op::Split(vec![next]));
        self.push(take)
    }

    fn group(
        &mut self,
        compositor: Compositor,
        parts: &[Particle],
        number: &mut usize,
        next: usize,
    ) -> Option<usize> {
        if compositor == Compositor::Choice {
            let mut ways = Vec::new();
            for part in parts {
                ways.push(self.particle(part, number, next)?);
            }
            // A choice of nothing can never be made.
            return self.push(Op::Split(ways));
        }
        // Numbers go with the order in which particles stand; a sequence is written from its end.
        let mut numbers = Vec::new();
        for part in parts {
            numbers.push(*number);
            count(part, number);
        }
        let mut at = next;
        for (part, own) in parts.iter().zip(numbers).rev() {
            let mut own = own;
            at = self.particle(part, &mut own, at)?;
        }
        Some(at)
    }
}

/// Goes past the terminals of a particle.
fn count(p: &Particle, number: &mut usize) {
    match &p.term {
        Term::Group(_, parts) => parts.iter().for_each(|part| count(part, number)),
        _ => *number += 1,
    }
}

impl Machine {
    /// The machine of a particle of the type or group of this name. Errors: 6998 too large, 6958 an `all` group in the wrong
    /// place.
    pub fn build(p: &Particle, name: &str) -> Result<Machine> {
        if let Term::Group(Compositor::All, parts) = &p.term {
            return all(p, parts, name);
        }
        let mut b = Builder { ops: vec![Op::Match] };
        let mut number = 0;
        let begin = b.particle(p, &mut number, 0).ok_or_else(|| too_complex(name))?;
        // Runs begin at the last place.
        if begin + 1 != b.ops.len() {
            b.push(Op::Split(vec![begin])).ok_or_else(|| too_complex(name))?;
        }
        Ok(Machine { ops: b.ops, all: None, optional: false })
    }

    /// How long it is.
    #[must_use]
    pub fn places(&self) -> usize {
        self.ops.len() + self.all.as_ref().map_or(0, Vec::len)
    }

    /// Refuses a model in which a child could be taken by two particles: error 6916.
    pub fn check_unique(&self, schema: &Schema, name: &str) -> Result<()> {
        let mut checks = 0;
        let mut known = BTreeSet::new();
        let ambiguous = || {
            let m = format!(
                "XML Validation: The content model of type or model group '{name}' is ambiguous and thus violates the unique particle attribution constraint. Consult SQL Server Books Online for more information."
            );
            XmlError::new(6916, m)
        };
        for at in 0..=self.ops.len() {
            // What may come next: at the beginning, and behind each terminal that took something.
            let mut reached = BTreeSet::new();
            if at == self.ops.len() {
                checks += self.reach(self.ops.len() - 1, &mut reached);
            } else if let Some(Op::Take { max, .. }) = self.ops.get(at) {
                let next = self.target(at - 1);
                if *max == Some(1) && !known.insert(next) {
                    continue;
                }
                checks += self.reach(next, &mut reached);
                if *max != Some(1) {
                    reached.insert((at, 1));
                }
            } else {
                continue;
            }
            let takes: Vec<(&Takes, usize)> = reached
                .iter()
                .filter_map(|(place, _)| match &self.ops[*place] {
                    Op::Take { takes, particle, .. } => Some((takes, *particle)),
                    _ => None,
                })
                .collect();
            for (i, (a, p)) in takes.iter().enumerate() {
                for (b, q) in &takes[i + 1..] {
                    checks += names_of(schema, a).saturating_mul(names_of(schema, b));
                    if checks > CHECKS_MAX {
                        return Err(too_complex(name));
                    }
                    if p != q && overlap(schema, a, b) {
                        return Err(ambiguous());
                    }
                }
            }
        }
        Ok(())
    }

    /// All terminals that stand at a place or behind splits and terminals that may take nothing.
    /// How many places were looked at.
    fn reach(&self, from: usize, reached: &mut BTreeSet<(usize, u32)>) -> usize {
        let mut open = vec![from];
        let mut seen = BTreeSet::new();
        while let Some(place) = open.pop() {
            if !seen.insert(place) {
                continue;
            }
            match self.ops.get(place) {
                Some(Op::Take { min, .. }) => {
                    reached.insert((place, 0));
                    if *min == 0 {
                        open.push(place - 1);
                    }
                }
                Some(Op::Split(ways)) => open.extend(ways),
                Some(Op::Match) => {
                    reached.insert((place, 0));
                }
                None => {}
            }
        }
        seen.len()
    }

    /// Where splits that leave no choice lead to.
    fn target(&self, mut place: usize) -> usize {
        while let Some(Op::Split(ways)) = self.ops.get(place)
            && let [only] = ways.as_slice()
        {
            place = *only;
        }
        place
    }

    /// A run before the first child.
    #[must_use]
    pub fn start(&self) -> Run {
        if let Some(all) = &self.all {
            return Run::Came(vec![false; all.len()]);
        }
        let mut places = BTreeSet::new();
        self.reach(self.ops.len() - 1, &mut places);
        Run::Places(places)
    }

    /// Takes a child.
    pub fn step(&self, schema: &Schema, run: &mut Run, child: &Key) -> Step {
        match (run, &self.all) {
            (Run::Came(came), Some(all)) => {
                let at = all.iter().position(|(e, _)| schema.stands_for(child, *e).is_some());
                let Some(at) = at else { return Step::Unexpected };
                if std::mem::replace(&mut came[at], true) {
                    return Step::Twice;
                }
                Step::Took(Takes::Element(all[at].0))
            }
            (Run::Places(places), _) => {
                let (mut next, mut took) = (BTreeSet::new(), None);
                for (place, taken) in places.iter() {
                    let Some(Op::Take { takes, min, max, .. }) = self.ops.get(*place) else { continue };
                    if !accepts(schema, takes, child) {
                        continue;
                    }
                    let taken = taken.saturating_add(1);
                    if max.is_none_or(|max| taken < max) {
                        // Beyond the least number an unbounded one need not count.
                        let kept = if max.is_none() { taken.min((*min).max(1)) } else { taken };
                        next.insert((*place, kept));
                    }
                    if taken >= *min {
                        self.reach(*place - 1, &mut next);
                    }
                    took.get_or_insert_with(|| takes.clone());
                }
                match took {
                    Some(takes) => {
                        *places = next;
                        Step::Took(takes)
                    }
                    None => Step::Unexpected,
                }
            }
            (Run::Came(_), None) => Step::Unexpected,
        }
    }

    /// Whether the children may end here.
    #[must_use]
    pub fn may_end(&self, run: &Run) -> bool {
        match (run, &self.all) {
            (Run::Came(came), Some(all)) => {
                (self.optional && !came.contains(&true))
                    || came.iter().zip(all).all(|(came, (_, required))| *came || !required)
            }
            (Run::Places(places), _) => {
                places.iter().any(|(p, _)| matches!(self.ops.get(*p), Some(Op::Match)))
            }
            (Run::Came(_), None) => false,
        }
    }

    /// What could come next, in the order of the model.
    #[must_use]
    pub fn expected(&self, run: &Run) -> Vec<Takes> {
        match (run, &self.all) {
            (Run::Came(came), Some(all)) => {
                let open = came.iter().zip(all).filter(|(came, _)| !**came);
                open.map(|(_, (e, _))| Takes::Element(*e)).collect()
            }
            (Run::Places(places), _) => {
                let mut found: Vec<(usize, &Takes)> = places
                    .iter()
                    .filter_map(|(p, _)| match self.ops.get(*p) {
                        Some(Op::Take { takes, particle, .. }) => Some((*particle, takes)),
                        _ => None,
                    })
                    .collect();
                found.sort_by_key(|(particle, _)| *particle);
                found.dedup_by_key(|(particle, _)| *particle);
                found.into_iter().map(|(_, takes)| takes.clone()).collect()
            }
            (Run::Came(_), None) => Vec::new(),
        }
    }
}

fn too_complex(name: &str) -> Box<XmlError> {
    XmlError::new(
        6998,
        format!(
            "Invalid type definition: Type or content model '{name}' is too complicated. It may be necessary to reduce the number of enumerations or the size of the content model."
        ),
    )
}

/// An `all` group: elements that come once at most, in any order.
fn all(p: &Particle, parts: &[Particle], name: &str) -> Result<Machine> {
    let once = |p: &Particle| p.max == Some(1) && p.min <= 1;
    let members: Option<Vec<(ElementId, bool)>> = parts
        .iter()
        .map(|part| match part.term {
            Term::Element(e) if once(part) => Some((e, part.min == 1)),
            _ => None,
        })
        .collect();
    match members {
        Some(members) if once(p) => {
            Ok(Machine { ops: vec![Op::Match], all: Some(members), optional: p.min == 0 })
        }
        _ => Err(super::misplaced_all(name)),
    }
}

fn accepts(schema: &Schema, takes: &Takes, child: &Key) -> bool {
    match takes {
        Takes::Element(e) => schema.stands_for(child, *e).is_some(),
        Takes::Any(w) => w.lets_in(&child.0),
    }
}

/// How many names a terminal is compared by.
fn names_of(schema: &Schema, takes: &Takes) -> usize {
    let members = |e: &ElementId| schema.elements.get(*e as usize).map_or(0, |e| e.members.len());
    match takes {
        Takes::Element(e) => members(e) + 1,
        Takes::Any(w) => match &w.namespaces {
            super::Namespaces::Of(all) => all.len().max(1),
            _ => 1,
        },
    }
}

fn overlap(schema: &Schema, a: &Takes, b: &Takes) -> bool {
    let names = |e: ElementId| {
        let head = schema.elements.get(e as usize);
        head.into_iter()
            .flat_map(|e| e.members.iter())
            .filter_map(|m| schema.elements.get(*m as usize))
            .chain(head)
            .map(|e| &e.name)
    };
    match (a, b) {
        (Takes::Element(a), Takes::Element(b)) => {
            if a == b {
                return true;
            }
            names(*a).any(|x| names(*b).any(|y| x == y))
        }
        (Takes::Element(e), Takes::Any(w)) | (Takes::Any(w), Takes::Element(e)) => {
            names(*e).any(|n| w.lets_in(&n.0))
        }
        (Takes::Any(a), Takes::Any(b)) => a.meets(b),
    }
}
