//! Simple types: what a text must look like to be a value, and in which form it is kept.

use super::lexical::{Primitive, Scalar};
use super::{Key, Schema, Type, TypeId};
use crate::query::atom::{Atom, AtomType};
use regex::Regex;
use rust_decimal::prelude::ToPrimitive as _;
use smol_str::SmolStr;
use std::cmp::Ordering;

/// How deep lists and unions may nest.
const NESTING_MAX: usize = 32;

/// Atomic, list or union.
#[derive(Clone, Debug)]
pub enum Variety {
    /// One value of the primitive type.
    Atomic,
    /// Values of this type, with blanks between.
    List(TypeId),
    /// A value of the first of these types that has it.
    Union(Vec<TypeId>),
}

/// What becomes of white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhiteSpace {
    /// All of it stays.
    Preserve,
    /// Each character of it is a blank.
    Replace,
    /// One blank between words.
    Collapse,
}

/// Facets, those of the base types among them.
#[derive(Clone, Debug, Default)]
pub struct Facets {
    /// `length`, `minLength`, `maxLength`
    pub length: [Option<u64>; 3],
    /// `pattern`: one of each inner list must match.
    pub patterns: Vec<Vec<Pattern>>,
    /// `enumeration`
    pub enumeration: Option<Vec<Value>>,
    /// `minInclusive`, `minExclusive`, `maxInclusive`, `maxExclusive`
    pub bounds: [Option<Scalar>; 4],
    /// `totalDigits`, `fractionDigits`
    pub digits: [Option<u32>; 2],
}

/// A pattern, as written and compiled.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// As written in the schema.
    pub text: SmolStr,
    /// It, for the whole of a value.
    pub regex: Regex,
}

/// A simple type.
#[derive(Clone, Debug)]
pub struct Simple {
    /// Its name; none of an anonymous one.
    pub name: Option<Key>,
    /// What it restricts.
    pub base: TypeId,
    /// Kind.
    pub variety: Variety,
    /// The primitive type under an atomic one.
    pub primitive: Primitive,
    /// White space.
    pub white_space: WhiteSpace,
    /// Facets.
    pub facets: Facets,
}

/// A value of a simple type: several of a list.
#[derive(Clone, Debug)]
pub struct Value {
    /// The values.
    pub items: Vec<Scalar>,
    /// The atomic type of the first: what a union has chosen.
    pub atomic: TypeId,
}

impl Value {
    /// The text in which it is kept.
    #[must_use]
    pub fn text(&self) -> SmolStr {
        match self.items.as_slice() {
            [one] => one.text(),
            items => items.iter().map(Scalar::text).collect::<Vec<_>>().join(" ").into(),
        }
    }

    /// Whether both are the same.
    #[must_use]
    pub fn same(&self, other: &Value) -> bool {
        self.items.len() == other.items.len() && self.items.iter().zip(&other.items).all(|(a, b)| a.same(b))
    }
}

/// The text after what a type does to white space.
#[must_use]
pub fn spaced(text: &str, how: WhiteSpace) -> SmolStr {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    match how {
        WhiteSpace::Preserve => text.into(),
        WhiteSpace::Replace => text.chars().map(|c| if blank(c) { ' ' } else { c }).collect(),
        WhiteSpace::Collapse if text.contains(blank) => {
            text.split(blank).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ").into()
        }
        WhiteSpace::Collapse => text.into(),
    }
}

impl Schema {
    /// The value that a text is of a simple type; `None` when it is none.
    #[must_use]
    pub fn value(&self, ty: TypeId, text: &str) -> Option<Value> {
        self.value_within(ty, text, 0)
    }

    fn value_within(&self, ty: TypeId, text: &str, depth: usize) -> Option<Value> {
        let Some(Type::Simple(simple)) = self.types.get(ty as usize) else { return None };
        if depth > NESTING_MAX {
            return None;
        }
        let text = spaced(text, simple.white_space);
        let value = match &simple.variety {
            Variety::Atomic => Value { items: vec![Scalar::read(simple.primitive, &text)?], atomic: ty },
            Variety::List(item) => {
                let mut items = Vec::new();
                for word in text.split(' ').filter(|w| !w.is_empty()) {
                    items.append(&mut self.value_within(*item, word, depth + 1)?.items);
                }
                Value { items, atomic: *item }
            }
            Variety::Union(members) => {
                members.iter().find_map(|m| self.value_within(*m, &text, depth + 1))?
            }
        };
        self.facets_hold(simple, &value, &text).then_some(value)
    }

    fn facets_hold(&self, simple: &Simple, value: &Value, text: &str) -> bool {
        let facets = &simple.facets;
        let length = match &simple.variety {
            Variety::List(_) => Some(value.items.len() as u64),
            _ if matches!(simple.primitive, Primitive::QName | Primitive::Notation) => None,
            _ => value.items.first().and_then(Scalar::length),
        };
        if let Some(length) = length {
            let [exactly, least, most] = facets.length;
            let holds = exactly.is_none_or(|n| length == n)
                && least.is_none_or(|n| length >= n)
                && most.is_none_or(|n| length <= n);
            if !holds {
                return false;
            }
        }
        let fits = |p: &Vec<Pattern>| p.iter().any(|p| p.regex.is_match(text));
        facets.patterns.iter().all(fits)
            && facets.enumeration.as_ref().is_none_or(|all| all.iter().any(|v| v.same(value)))
            && value.items.iter().all(|item| bounds_hold(facets, item) && digits_hold(facets, item))
    }

    /// The nearest built-in type that a simple type comes from.
    #[must_use]
    pub fn built_in(&self, mut ty: TypeId) -> TypeId {
        while ty >= super::builtin::COUNT
            && let Some(Type::Simple(simple)) = self.types.get(ty as usize)
            && simple.base != ty
        {
            ty = simple.base;
        }
        ty
    }

    /// The type that queries take values of a simple type for.
    #[must_use]
    pub fn atom_type(&self, ty: TypeId) -> AtomType {
        let mut at = ty;
        loop {
            let Some(Type::Simple(simple)) = self.types.get(at as usize) else { return AtomType::String };
            match &simple.variety {
                Variety::List(item) => return self.atom_type_of_item(*item),
                Variety::Union(_) => return AtomType::Untyped,
                Variety::Atomic => {}
            }
            let own = simple.name.as_ref().filter(|n| n.0 == super::XSD).and_then(|n| by_name(&n.1));
            match own {
                Some(own) => return own,
                None if simple.base == at => return AtomType::String,
                None => at = simple.base,
            }
        }
    }

    fn atom_type_of_item(&self, item: TypeId) -> AtomType {
        match self.types.get(item as usize) {
            Some(Type::Simple(Simple { variety: Variety::Atomic, .. })) => self.atom_type(item),
            _ => AtomType::Untyped,
        }
    }

    /// The values that the kept text of a simple type is to queries.
    #[must_use]
    pub fn atoms(&self, ty: TypeId, text: &SmolStr) -> Vec<Atom> {
        let Some(value) = self.value(ty, text) else { return vec![Atom::Untyped(text.clone())] };
        let kind = self.atom_type(value.atomic);
        value.items.iter().map(|item| atom(item, kind)).collect()
    }
}

fn by_name(local: &str) -> Option<AtomType> {
    AtomType::by_local_name(local)
}

fn atom(scalar: &Scalar, kind: AtomType) -> Atom {
    match scalar {
        Scalar::Boolean(b) => Atom::Boolean(*b),
        Scalar::Decimal(d) if kind.is_integer() => d.to_i64().map_or(Atom::Decimal(*d), Atom::Integer),
        Scalar::Decimal(d) => Atom::Decimal(*d),
        Scalar::Double(f, _) => Atom::Double(*f),
        Scalar::Bytes(hex, b) => Atom::Binary(*hex, b.clone().into()),
        Scalar::Moment(_, s) if matches!(kind, AtomType::Date | AtomType::Time | AtomType::DateTime) => {
            Atom::Moment(kind, s.clone())
        }
        other => Atom::String(other.text()),
    }
}

/// Whether a value is within the bounds.
pub(super) fn bounds_hold(facets: &Facets, item: &Scalar) -> bool {
    let holds = |bound: &Option<Scalar>, wanted: fn(Ordering) -> bool| {
        bound.as_ref().is_none_or(|b| item.order(b).is_some_and(wanted))
    };
    let [min, above, max, below] = &facets.bounds;
    holds(min, Ordering::is_ge)
        && holds(above, Ordering::is_gt)
        && holds(max, Ordering::is_le)
        && holds(below, Ordering::is_lt)
}

fn digits_hold(facets: &Facets, item: &Scalar) -> bool {
    let Scalar::Decimal(d) = item else { return true };
    let d = d.normalize();
    let total = d.mantissa().unsigned_abs().checked_ilog10().map_or(1, |n| n + 1).max(d.scale());
    let [most, behind] = facets.digits;
    most.is_none_or(|n| total <= n) && behind.is_none_or(|n| d.scale() <= n)
}

/// A pattern of XML Schema as one for whole texts. `None` when it is none, or is too large when compiled.
#[must_use]
pub fn pattern(text: &str) -> Option<Pattern> {
    let mut out = String::from("^(?:");
    let mut chars = text.chars().peekable();
    let mut classes = 0usize;
    // What was read last began a group.
    let mut opened = false;
    while let Some(c) = chars.next() {
        let begins = std::mem::replace(&mut opened, c == '(' && classes == 0);
        match c {
            '\\' => match chars.next()? {
                'i' if classes > 0 => out.push_str(r"\p{L}_:"),
                'i' => out.push_str(r"[\p{L}_:]"),
                'c' if classes > 0 => out.push_str(r"\p{L}\p{N}\p{M}_:.\-·"),
                'c' => out.push_str(r"[\p{L}\p{N}\p{M}_:.\-·]"),
                'I' => out.push_str(r"[^\p{L}_:]"),
                'C' => out.push_str(r"[^\p{L}\p{N}\p{M}_:.\-·]"),
                's' => out.push_str(if classes > 0 { r" \t\n\r" } else { r"[ \t\n\r]" }),
                'S' => out.push_str(r"[^ \t\n\r]"),
                kind @ ('p' | 'P') => {
                    let rest: String = chars.clone().collect();
                    let name = rest.strip_prefix('{')?.split_once('}')?.0;
                    chars.nth(name.chars().count() + 1);
                    match name.strip_prefix("Is") {
                        Some(block) => out.push_str(&block_class(block, kind == 'P')?),
                        None => out.push_str(&format!("\\{kind}{{{name}}}")),
                    }
                }
                escaped @ ('d' | 'D' | 'w' | 'W' | 'n' | 'r' | 't') => out.extend(['\\', escaped]),
                escaped => out.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4]))),
            },
            '[' => {
                classes += 1;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' if classes > 0 => {
                classes -= 1;
                out.push(']');
            }
            // Subtraction: the class after it.
            '-' if classes > 0 && chars.peek() == Some(&'[') => out.push_str("--"),
            '&' | '~' if classes > 0 => out.extend(['\\', c]),
            // These are characters like others in XML Schema.
            '^' | '$' => out.extend(['\\', c]),
            '.' if classes == 0 => out.push_str(r"[^\n\r]"),
            // No lazy repetition, no groups with options.
            '?' if begins => return None,
            _ => out.push(c),
        }
    }
    out.push_str(")$");
    let regex = regex::RegexBuilder::new(&out).size_limit(1 << 20).nest_limit(64).build().ok()?;
    Some(Pattern { text: text.into(), regex })
}

/// The blocks of Unicode that patterns usually name.
fn block_class(name: &str, negated: bool) -> Option<String> {
    let (first, last) = match name {
        "BasicLatin" => (0x0, 0x7F),
        "Latin-1Supplement" => (0x80, 0xFF),
        "LatinExtended-A" => (0x100, 0x17F),
        "LatinExtended-B" => (0x180, 0x24F),
        "Greek" | "GreekandCoptic" => (0x370, 0x3FF),
        "Cyrillic" => (0x400, 0x4FF),
        "Armenian" => (0x530, 0x58F),
        "Hebrew" => (0x590, 0x5FF),
        "Arabic" => (0x600, 0x6FF),
        "Devanagari" => (0x900, 0x97F),
        "Thai" => (0xE00, 0xE7F),
        "GeneralPunctuation" => (0x2000, 0x206F),
        "CurrencySymbols" => (0x20A0, 0x20CF),
        "Hiragana" => (0x3040, 0x309F),
        "Katakana" => (0x30A0, 0x30FF),
        "CJKUnifiedIdeographs" => (0x4E00, 0x9FFF),
        "HangulSyllables" => (0xAC00, 0xD7AF),
        _ => return None,
    };
    Some(format!("[{}\\x{{{first:X}}}-\\x{{{last:X}}}]", if negated { "^" } else { "" }))
}
