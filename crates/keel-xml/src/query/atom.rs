//! Atomic values: their types, how they print, convert and compare.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use smol_str::{SmolStr, ToSmolStr, format_smolstr};
use std::cmp::Ordering;
use std::sync::Arc;

/// Types of atomic values as far as they differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomType {
    /// `xdt:untypedAtomic`: the content of nodes
    Untyped,
    /// `xs:string`
    String,
    /// `xs:integer`
    Integer,
    /// `xs:int`: integers of SQL
    Int,
    /// `xs:long`: bigint of SQL
    Long,
    /// `xs:decimal`
    Decimal,
    /// `xs:double`
    Double,
    /// `xs:float`
    Float,
    /// `xs:boolean`
    Boolean,
    /// `xs:hexBinary`
    HexBinary,
    /// `xs:base64Binary`
    Base64Binary,
    /// `xs:date`
    Date,
    /// `xs:time`
    Time,
    /// `xs:dateTime`
    DateTime,
}

impl AtomType {
    /// The type's name with its usual prefix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AtomType::Untyped => "xdt:untypedAtomic",
            AtomType::String => "xs:string",
            AtomType::Integer => "xs:integer",
            AtomType::Int => "xs:int",
            AtomType::Long => "xs:long",
            AtomType::Decimal => "xs:decimal",
            AtomType::Double => "xs:double",
            AtomType::Float => "xs:float",
            AtomType::Boolean => "xs:boolean",
            AtomType::HexBinary => "xs:hexBinary",
            AtomType::Base64Binary => "xs:base64Binary",
            AtomType::Date => "xs:date",
            AtomType::Time => "xs:time",
            AtomType::DateTime => "xs:dateTime",
        }
    }

    /// The type of a local name in the `xs` namespace.
    #[must_use]
    pub fn by_local_name(name: &str) -> Option<AtomType> {
        Some(match name {
            "string" | "token" | "normalizedString" | "anyURI" => AtomType::String,
            "integer" | "short" | "byte" | "nonNegativeInteger" | "positiveInteger" | "unsignedInt"
            | "unsignedLong" | "unsignedShort" | "unsignedByte" => AtomType::Integer,
            "int" => AtomType::Int,
            "long" => AtomType::Long,
            "decimal" => AtomType::Decimal,
            "double" => AtomType::Double,
            "float" => AtomType::Float,
            "boolean" => AtomType::Boolean,
            "hexBinary" => AtomType::HexBinary,
            "base64Binary" => AtomType::Base64Binary,
            "date" => AtomType::Date,
            "time" => AtomType::Time,
            "dateTime" => AtomType::DateTime,
            _ => return None,
        })
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        use AtomType as T;
        matches!(self, T::Integer | T::Int | T::Long | T::Decimal | T::Double | T::Float)
    }

    /// Whole numbers.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self, AtomType::Integer | AtomType::Int | AtomType::Long)
    }

    /// Whether values of the two compare.
    #[must_use]
    pub fn compares_with(self, other: AtomType) -> bool {
        use AtomType as T;
        self == other
            || matches!(self, T::Untyped)
            || matches!(other, T::Untyped)
            || (self.is_numeric() && other.is_numeric())
    }
}

/// An atomic value.
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// Content of a node.
    Untyped(SmolStr),
    /// A string.
    String(SmolStr),
    /// A whole number.
    Integer(i64),
    /// An exact number.
    Decimal(Decimal),
    /// An approximate number.
    Double(f64),
    /// A truth value.
    Boolean(bool),
    /// Bytes, printed in hexadecimal digits (true) or in base 64.
    Binary(bool, Arc<[u8]>),
    /// A moment of one of the three types, in its lexical form.
    Moment(AtomType, SmolStr),
}

impl Atom {
    /// Its type.
    #[must_use]
    pub fn ty(&self) -> AtomType {
        match self {
            Atom::Untyped(_) => AtomType::Untyped,
            Atom::String(_) => AtomType::String,
            Atom::Integer(_) => AtomType::Integer,
            Atom::Decimal(_) => AtomType::Decimal,
            Atom::Double(_) => AtomType::Double,
            Atom::Boolean(_) => AtomType::Boolean,
            Atom::Binary(true, _) => AtomType::HexBinary,
            Atom::Binary(false, _) => AtomType::Base64Binary,
            Atom::Moment(ty, _) => *ty,
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> SmolStr {
        match self {
            Atom::Untyped(s) | Atom::String(s) | Atom::Moment(_, s) => s.clone(),
            Atom::Integer(n) => n.to_smolstr(),
            Atom::Decimal(d) => d.normalize().to_smolstr(),
            Atom::Double(f) => double_text(*f, 15),
            Atom::Boolean(b) => b.to_smolstr(),
            Atom::Binary(true, b) => b.iter().map(|b| format!("{b:02X}")).collect::<String>().into(),
            Atom::Binary(false, b) => STANDARD.encode(b).into(),
        }
    }

    /// As an approximate number, when it is one or reads as one.
    #[must_use]
    pub fn double(&self) -> Option<f64> {
        match self {
            Atom::Integer(n) => Some(*n as f64),
            Atom::Decimal(d) => d.to_f64(),
            Atom::Double(f) => Some(*f),
            Atom::Boolean(b) => Some(f64::from(u8::from(*b))),
            Atom::Untyped(s) | Atom::String(s) => parse_double(s),
            Atom::Binary(..) | Atom::Moment(..) => None,
        }
    }

    /// As an exact number.
    #[must_use]
    pub fn decimal(&self) -> Option<Decimal> {
        match self {
            Atom::Integer(n) => Some(Decimal::from(*n)),
            Atom::Decimal(d) => Some(*d),
            Atom::Double(f) => Decimal::try_from(*f).ok(),
            Atom::Boolean(b) => Some(Decimal::from(u8::from(*b))),
            Atom::Untyped(s) | Atom::String(s) => s.trim().parse().ok(),
            Atom::Binary(..) | Atom::Moment(..) => None,
        }
    }

    /// The value in another type; `None` when it does not convert.
    #[must_use]
    pub fn cast(&self, to: AtomType) -> Option<Atom> {
        use AtomType as T;
        let text = || self.text();
        Some(match to {
            T::Untyped => Atom::Untyped(text()),
            T::String => Atom::String(text()),
            T::Integer | T::Int | T::Long => match self {
                Atom::Untyped(s) | Atom::String(s) => Atom::Integer(s.trim().parse().ok()?),
                Atom::Integer(n) => Atom::Integer(*n),
                Atom::Double(f) if !f.is_finite() || f.abs() >= 9.3e18 => return None,
                Atom::Double(f) => Atom::Integer(*f as i64),
                other => Atom::Integer(other.decimal()?.trunc().to_i64()?),
            },
            T::Decimal => Atom::Decimal(self.decimal()?),
            T::Double | T::Float => Atom::Double(self.double()?),
            T::Boolean => match self {
                Atom::Boolean(b) => Atom::Boolean(*b),
                Atom::Untyped(s) | Atom::String(s) => match s.trim() {
                    "true" | "1" => Atom::Boolean(true),
                    "false" | "0" => Atom::Boolean(false),
                    _ => return None,
                },
                other => Atom::Boolean(other.double().is_some_and(|f| f != 0.0 && !f.is_nan())),
            },
            T::HexBinary | T::Base64Binary => {
                let hex = to == T::HexBinary;
                match self {
                    Atom::Binary(_, bytes) => Atom::Binary(hex, bytes.clone()),
                    Atom::Untyped(s) | Atom::String(s) if hex => {
                        Atom::Binary(true, hex_bytes(s.trim())?.into())
                    }
                    Atom::Untyped(s) | Atom::String(s) => {
                        let packed: String = s.chars().filter(|c| !c.is_ascii_whitespace()).collect();
                        Atom::Binary(false, STANDARD.decode(packed).ok()?.into())
                    }
                    _ => return None,
                }
            }
            T::Date | T::Time | T::DateTime => match self {
                Atom::Moment(T::DateTime, s) if to == T::Date => {
                    Atom::Moment(to, s.split('T').next()?.into())
                }
                Atom::Moment(T::DateTime, s) if to == T::Time => {
                    Atom::Moment(to, s.split('T').nth(1)?.into())
                }
                Atom::Moment(T::Date, s) if to == T::DateTime => {
                    Atom::Moment(to, format_smolstr!("{s}T00:00:00"))
                }
                Atom::Moment(ty, s) if *ty == to => Atom::Moment(to, s.clone()),
                Atom::Untyped(s) | Atom::String(s) if is_moment(s.trim(), to) => {
                    Atom::Moment(to, s.trim().into())
                }
                _ => return None,
            },
        })
    }
}

/// Compares two values; the type of the other decides what content of nodes means. `None` when they do not compare.
#[must_use]
pub fn compare(a: &Atom, b: &Atom) -> Option<Ordering> {
    match (a, b) {
        (Atom::Untyped(x) | Atom::String(x), Atom::Untyped(y) | Atom::String(y)) => Some(x.cmp(y)),
        (Atom::Untyped(_), _) if b.ty().is_numeric() => {
            Atom::Double(a.double()?).double()?.partial_cmp(&b.double()?)
        }
        (_, Atom::Untyped(_)) if a.ty().is_numeric() => a.double()?.partial_cmp(&b.double()?),
        (Atom::Untyped(_), _) => compare(&a.cast(b.ty())?, b),
        (_, Atom::Untyped(_)) => compare(a, &b.cast(a.ty())?),
        (Atom::Integer(x), Atom::Integer(y)) => Some(x.cmp(y)),
        (Atom::Double(_), _) | (_, Atom::Double(_)) => a.double()?.partial_cmp(&b.double()?),
        (Atom::Integer(_) | Atom::Decimal(_), Atom::Integer(_) | Atom::Decimal(_)) => {
            Some(a.decimal()?.cmp(&b.decimal()?))
        }
        (Atom::Boolean(x), Atom::Boolean(y)) => Some(x.cmp(y)),
        (Atom::Binary(_, x), Atom::Binary(_, y)) => Some(x.cmp(y)),
        (Atom::Moment(t, x), Atom::Moment(u, y)) if t == u => Some(moment_key(x).cmp(&moment_key(y))),
        _ => None,
    }
}

/// A moment without the ways in which equal ones may be written: zeros at the end of a fraction, a zero offset.
fn moment_key(text: &str) -> String {
    let (at, zone) =
        match text.find(['Z', '+']).or_else(|| text.rfind('-').filter(|i| *i > 10 || text.contains(':'))) {
            Some(i) if i >= 8 => text.split_at(i),
            _ => (text, ""),
        };
    let at = if at.contains('.') { at.trim_end_matches('0').trim_end_matches('.') } else { at };
    let zone = if matches!(zone, "+00:00" | "-00:00") { "Z" } else { zone };
    format!("{at}{zone}")
}

/// Whether a text has the shape of a moment.
fn is_moment(text: &str, ty: AtomType) -> bool {
    let shape = |text: &str, shape: &str| {
        text.len() >= shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(b, s)| if s == b'0' { b.is_ascii_digit() } else { b == s })
            && text.is_char_boundary(shape.len())
            && text[shape.len()..]
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'Z' | b'+' | b'-' | b':'))
    };
    match ty {
        AtomType::Date => shape(text, "0000-00-00"),
        AtomType::Time => shape(text, "00:00:00"),
        _ => shape(text, "0000-00-00T00:00:00"),
    }
}

pub(crate) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

fn parse_double(text: &str) -> Option<f64> {
    match text.trim() {
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        // What Rust reads besides: `inf`, `nan`, `infinity`.
        t if t.ends_with(|c: char| c.is_ascii_digit() || c == '.') => t.parse().ok(),
        _ => None,
    }
}

/// `fn:string` of a double: plain from 1e-6 to 1e6, else with an exponent; so many digits (15 of a double, 7 of a float).
pub(crate) fn double_text(f: f64, digits: usize) -> SmolStr {
    if f.is_nan() {
        return "NaN".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "INF" } else { "-INF" }.into();
    }
    let scientific = format!("{f:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    if f == 0.0 {
        return format_smolstr!("{mantissa}.0E0");
    }
    if (1e-6..1e6).contains(&f.abs()) {
        // Through the rounded digits, so that 0.1 + 0.2 is 0.3.
        return scientific.parse::<f64>().unwrap_or(f).to_smolstr();
    }
    if mantissa.contains('.') {
        format_smolstr!("{mantissa}E{exponent}")
    } else {
        format_smolstr!("{mantissa}.0E{exponent}")
    }
}
