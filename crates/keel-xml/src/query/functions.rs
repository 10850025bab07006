//! The function library, as large as the product's.

use super::atom::{Atom, AtomType, compare};
use super::eval::{Eval, Item, Items};
use crate::Result;
use crate::tree::Kind;
use rust_decimal::Decimal;
use rust_decimal::RoundingStrategy;
use smol_str::SmolStr;
use std::cmp::Ordering;

/// A function of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Avg,
    Ceiling,
    Concat,
    Contains,
    Count,
    Data,
    DistinctValues,
    Empty,
    False,
    Floor,
    Last,
    LocalName,
    LowerCase,
    Max,
    Min,
    NamespaceUri,
    Not,
    Number,
    Position,
    Round,
    String,
    StringLength,
    Substring,
    Sum,
    True,
    UpperCase,
}

/// Function, name, fewest and most arguments.
const ALL: [(Function, &str, usize, usize); 26] = {
    use Function as F;
    [
        (F::Avg, "avg", 1, 1),
        (F::Ceiling, "ceiling", 1, 1),
        (F::Concat, "concat", 2, usize::MAX),
        (F::Contains, "contains", 2, 2),
        (F::Count, "count", 1, 1),
        (F::Data, "data", 1, 1),
        (F::DistinctValues, "distinct-values", 1, 1),
        (F::Empty, "empty", 1, 1),
        (F::False, "false", 0, 0),
        (F::Floor, "floor", 1, 1),
        (F::Last, "last", 0, 0),
        (F::LocalName, "local-name", 0, 1),
        (F::LowerCase, "lower-case", 1, 1),
        (F::Max, "max", 1, 1),
        (F::Min, "min", 1, 1),
        (F::NamespaceUri, "namespace-uri", 0, 1),
        (F::Not, "not", 1, 1),
        (F::Number, "number", 0, 1),
        (F::Position, "position", 0, 0),
        (F::Round, "round", 1, 1),
        (F::String, "string", 0, 1),
        (F::StringLength, "string-length", 0, 1),
        (F::Substring, "substring", 2, 3),
        (F::Sum, "sum", 1, 1),
        (F::True, "true", 0, 0),
        (F::UpperCase, "upper-case", 1, 1),
    ]
};

impl Function {
    /// The function of this local name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Function> {
        ALL.iter().find(|f| f.1 == name).map(|f| f.0)
    }
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ALL.iter().find(|f| f.0 == self).map_or("", |f| f.1)
    }
    /// Fewest and most arguments.
    #[must_use]
    pub fn arguments(self) -> (usize, usize) {
        ALL.iter().find(|f| f.0 == self).map_or((0, 0), |f| (f.2, f.3))
    }
    /// Whether the context item stands for an argument that is not written.
    #[must_use]
    pub fn takes_context(self) -> bool {
        use Function as F;
        matches!(self, F::LocalName | F::NamespaceUri | F::Number | F::String | F::StringLength)
    }
    /// Whether arguments must be single atomic values.
    #[must_use]
    pub fn takes_atoms(self) -> bool {
        use Function as F;
        matches!(
            self,
            F::Ceiling
                | F::Concat
                | F::Contains
                | F::Floor
                | F::LowerCase
                | F::Round
                | F::StringLength
                | F::Substring
                | F::UpperCase
        )
    }
    /// Whether its argument must be a single item.
    #[must_use]
    pub fn takes_item(self) -> bool {
        matches!(self, Function::String | Function::LocalName | Function::NamespaceUri | Function::Number)
    }
}

fn string(text: impl Into<SmolStr>) -> Items {
    vec![Item::Atom(Atom::String(text.into()))]
}

fn boolean(value: bool) -> Items {
    vec![Item::Atom(Atom::Boolean(value))]
}

fn integer(value: usize) -> Items {
    vec![Item::Atom(Atom::Integer(value as i64))]
}

/// The text of the first item; empty for none.
fn text(items: &[Item]) -> SmolStr {
    items.first().map(Item::text).unwrap_or_default()
}

/// Calls a function with evaluated arguments.
pub(super) fn call(eval: &mut Eval<'_, '_>, function: Function, mut args: Vec<Items>) -> Result<Items> {
    use Function as F;
    if args.is_empty() && function.takes_context() {
        args.push(eval.focus.item.iter().cloned().collect());
    }
    let empty = Vec::new();
    let first = args.first().unwrap_or(&empty);
    Ok(match function {
        F::True | F::False => boolean(function == F::True),
        F::Not => boolean(!super::eval::truth(first)),
        F::Empty => boolean(first.is_empty()),
        F::Count => integer(first.len()),
        F::Last => integer(eval.focus.size),
        F::Position => integer(eval.focus.position),
        F::Data => first.iter().flat_map(Item::atoms).map(Item::Atom).collect(),
        F::String => string(text(first)),
        F::StringLength => integer(text(first).chars().count()),
        F::Concat => string(args.iter().fold(String::new(), |all, a| all + &text(a))),
        F::Contains => boolean(text(first).contains(text(&args[1]).as_str())),
        F::UpperCase => string(text(first).to_uppercase()),
        F::LowerCase => string(text(first).to_lowercase()),
        F::Substring => string(substring(&args)),
        F::Number => {
            let number = first.first().and_then(|i| i.atom().double());
            vec![Item::Atom(Atom::Double(number.unwrap_or(f64::NAN)))]
        }
        F::LocalName | F::NamespaceUri => string(match first.first() {
            Some(Item::Node(n)) if n.node().kind != Kind::Text => {
                if function == F::LocalName {
                    n.node().name.local.clone()
                } else {
                    n.node().name.uri.clone()
                }
            }
            _ => SmolStr::default(),
        }),
        F::Round | F::Ceiling | F::Floor => {
            first.first().and_then(|i| rounded(function, &i.atom())).map(Item::Atom).into_iter().collect()
        }
        F::Sum | F::Avg => total(function, first).map(Item::Atom).into_iter().collect(),
        F::Min | F::Max => extreme(function, first).map(Item::Atom).into_iter().collect(),
        F::DistinctValues => {
            let mut seen: Vec<Atom> = Vec::new();
            let mut texts = std::collections::HashSet::new();
            for atom in first.iter().map(Item::atom) {
                eval.tick(1)?;
                if texts.insert(atom.text()) {
                    seen.push(atom);
                }
            }
            seen.into_iter().map(Item::Atom).collect()
        }
    })
}

/// `substring(text, start [, length])`: positions from 1, rounded.
fn substring(args: &[Items]) -> String {
    let number = |i: usize| args.get(i).and_then(|a| a.first()).and_then(|i| i.atom().double());
    let start = number(1).unwrap_or(f64::NAN).round();
    let end = if args.len() > 2 { start + number(2).unwrap_or(f64::NAN).round() } else { f64::INFINITY };
    let kept = |i: usize| (i as f64 + 1.0) >= start && (i as f64 + 1.0) < end;
    text(&args[0]).chars().enumerate().filter(|(i, _)| kept(*i)).map(|(_, c)| c).collect()
}

/// What arithmetic makes of a value: content of nodes is an approximate number.
pub(super) fn numeric(atom: &Atom) -> Option<Atom> {
    match atom {
        Atom::Untyped(_) => atom.double().map(Atom::Double),
        Atom::Integer(_) | Atom::Decimal(_) | Atom::Double(_) => Some(atom.clone()),
        _ => None,
    }
}

fn rounded(function: Function, atom: &Atom) -> Option<Atom> {
    Some(match (numeric(atom)?, function) {
        (Atom::Decimal(d), Function::Round) => {
            // A half goes up, also below zero.
            let half = Decimal::new(5, 1);
            Atom::Decimal((d + half).round_dp_with_strategy(0, RoundingStrategy::ToNegativeInfinity))
        }
        (Atom::Decimal(d), Function::Ceiling) => Atom::Decimal(d.ceil()),
        (Atom::Decimal(d), _) => Atom::Decimal(d.floor()),
        (Atom::Double(f), Function::Round) => Atom::Double((f + 0.5).floor()),
        (Atom::Double(f), Function::Ceiling) => Atom::Double(f.ceil()),
        (Atom::Double(f), _) => Atom::Double(f.floor()),
        (other, _) => other,
    })
}

fn total(function: Function, items: &[Item]) -> Option<Atom> {
    let mut sum: Option<Atom> = None;
    for item in items {
        let next = numeric(&item.atom())?;
        sum = Some(match sum {
            None => next,
            Some(sum) => super::eval::arithmetic(super::ast::Arith::Add, &sum, &next)?,
        });
    }
    match (function, sum) {
        (Function::Sum, None) => Some(Atom::Integer(0)),
        (Function::Avg, Some(sum)) => {
            super::eval::arithmetic(super::ast::Arith::Divide, &sum, &Atom::Integer(items.len() as i64))
        }
        (_, sum) => sum,
    }
}

fn extreme(function: Function, items: &[Item]) -> Option<Atom> {
    let wanted = if function == Function::Min { Ordering::Less } else { Ordering::Greater };
    let mut best: Option<Atom> = None;
    for item in items {
        let atom = item.atom();
        let next = if atom.ty() == AtomType::Untyped { numeric(&atom)? } else { atom };
        if best.as_ref().is_none_or(|b| compare(&next, b) == Some(wanted)) {
            best = Some(next);
        }
    }
    best
}
