//! The types of XML Schema itself, which every collection begins with.

use super::content::Machine;
use super::lexical::{Primitive, Scalar};
use super::simple::{Facets, Simple, Variety, WhiteSpace, pattern};
use super::{
    Complex, Compositor, Content, Namespaces, Particle, Process, Schema, Term, Type, TypeId, Wildcard, XSD,
};

/// `anyType`
pub const ANY_TYPE: TypeId = 0;
/// `anySimpleType`
pub const ANY_SIMPLE: TypeId = 1;

/// Name, base, primitive type, pattern, least and greatest value.
type Row = (&'static str, &'static str, Primitive, &'static str, &'static str, &'static str);

use Primitive as P;
#[rustfmt::skip]
const TYPES: [Row; 41] = [
    ("string", "", P::String, "", "", ""),
    ("boolean", "", P::Boolean, "", "", ""),
    ("decimal", "", P::Decimal, "", "", ""),
    ("float", "", P::Float, "", "", ""),
    ("double", "", P::Double, "", "", ""),
    ("duration", "", P::Duration, "", "", ""),
    ("dateTime", "", P::DateTime, "", "", ""),
    ("time", "", P::Time, "", "", ""),
    ("date", "", P::Date, "", "", ""),
    ("gYearMonth", "", P::YearMonth, "", "", ""),
    ("gYear", "", P::Year, "", "", ""),
    ("gMonthDay", "", P::MonthDay, "", "", ""),
    ("gDay", "", P::Day, "", "", ""),
    ("gMonth", "", P::Month, "", "", ""),
    ("hexBinary", "", P::HexBinary, "", "", ""),
    ("base64Binary", "", P::Base64Binary, "", "", ""),
    ("anyURI", "", P::AnyUri, "", "", ""),
    ("QName", "", P::QName, "", "", ""),
    ("NOTATION", "", P::Notation, "", "", ""),
    ("normalizedString", "string", P::String, "", "", ""),
    ("token", "normalizedString", P::String, "", "", ""),
    ("language", "token", P::String, "[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*", "", ""),
    ("NMTOKEN", "token", P::String, r"\c+", "", ""),
    ("Name", "token", P::String, r"\i\c*", "", ""),
    ("NCName", "Name", P::String, r"[\i-[:]][\c-[:]]*", "", ""),
    ("ID", "NCName", P::String, "", "", ""),
    ("IDREF", "NCName", P::String, "", "", ""),
    ("ENTITY", "NCName", P::String, "", "", ""),
    ("integer", "decimal", P::Decimal, "", "", ""),
    ("nonPositiveInteger", "integer", P::Decimal, "", "", "0"),
    ("negativeInteger", "nonPositiveInteger", P::Decimal, "", "", "-1"),
    ("long", "integer", P::Decimal, "", "-9223372036854775808", "9223372036854775807"),
    ("int", "long", P::Decimal, "", "-2147483648", "2147483647"),
    ("short", "int", P::Decimal, "", "-32768", "32767"),
    ("byte", "short", P::Decimal, "", "-128", "127"),
    ("nonNegativeInteger", "integer", P::Decimal, "", "0", ""),
    ("unsignedLong", "nonNegativeInteger", P::Decimal, "", "", "18446744073709551615"),
    ("unsignedInt", "unsignedLong", P::Decimal, "", "", "4294967295"),
    ("unsignedShort", "unsignedInt", P::Decimal, "", "", "65535"),
    ("unsignedByte", "unsignedShort", P::Decimal, "", "", "255"),
    ("positiveInteger", "nonNegativeInteger", P::Decimal, "", "1", ""),
];

/// Lists with their items.
const LISTS: [(&str, &str); 3] = [("NMTOKENS", "NMTOKEN"), ("IDREFS", "IDREF"), ("ENTITIES", "ENTITY")];

/// Number of built-in types: ids from here on are a collection's own.
pub const COUNT: TypeId = (TYPES.len() + LISTS.len() + 2) as TypeId;

/// The number of a built-in type, which is the same in all collections; that of `anySimpleType` for a name that is none.
#[must_use]
pub fn number(name: &str) -> TypeId {
    let names = TYPES.iter().map(|t| t.0).chain(LISTS.iter().map(|l| l.0));
    names.into_iter().position(|n| n == name).map_or(ANY_SIMPLE, |at| at as TypeId + 2)
}

/// Whatever there is.
#[must_use]
pub fn anything(process: Process) -> Wildcard {
    Wildcard { namespaces: Namespaces::Any, process }
}

/// A schema of nothing but built-in types.
#[must_use]
pub fn schema() -> Schema {
    let mut schema = Schema::default();
    let many = Particle { min: 0, max: None, term: Term::Any(anything(Process::Lax)) };
    let model = Particle { min: 1, max: Some(1), term: Term::Group(Compositor::Sequence, vec![many]) };
    let content = match Machine::build(&model, "anyType") {
        Ok(machine) => Content::Model(Box::new(model), Box::new(machine)),
        Err(_) => Content::Empty,
    };
    let any = Complex {
        name: Some((XSD.into(), "anyType".into())),
        base: ANY_TYPE,
        extends: false,
        is_abstract: false,
        mixed: true,
        block: [false; 2],
        is_final: [false; 2],
        content,
        attributes: Vec::new(),
        any_attribute: Some(anything(Process::Lax)),
    };
    add(&mut schema, "anyType", Type::Complex(any));
    let any_simple = Simple { base: ANY_TYPE, ..plain("anySimpleType", Primitive::Any) };
    add(&mut schema, "anySimpleType", Type::Simple(any_simple));
    for (name, base, primitive, pattern_text, least, greatest) in TYPES {
        let mut simple = match schema.type_names.get(&(XSD.into(), base.into())).map(|b| (*b, schema.ty(*b)))
        {
            Some((id, Type::Simple(of))) => Simple { base: id, ..of.clone() },
            _ => plain(name, primitive),
        };
        simple.name = Some((XSD.into(), name.into()));
        simple.white_space = match name {
            "string" => WhiteSpace::Preserve,
            "normalizedString" => WhiteSpace::Replace,
            _ => WhiteSpace::Collapse,
        };
        simple
            .facets
            .patterns
            .extend(pattern(pattern_text).filter(|_| !pattern_text.is_empty()).map(|p| vec![p]));
        if name == "integer" {
            simple.facets.digits[1] = Some(0);
        }
        for (at, bound) in [(0, least), (2, greatest)] {
            if let Some(value) = Scalar::read(primitive, bound).filter(|_| !bound.is_empty()) {
                simple.facets.bounds[at] = Some(value);
            }
        }
        add(&mut schema, name, Type::Simple(simple));
    }
    for (name, item) in LISTS {
        let item = schema.type_names.get(&(XSD.into(), item.into())).copied().unwrap_or(ANY_SIMPLE);
        let mut list = plain(name, Primitive::Any);
        list.variety = Variety::List(item);
        list.white_space = WhiteSpace::Collapse;
        list.facets.length[1] = Some(1);
        add(&mut schema, name, Type::Simple(list));
    }
    schema
}

fn plain(name: &str, primitive: Primitive) -> Simple {
    Simple {
        name: Some((XSD.into(), name.into())),
        base: ANY_SIMPLE,
        variety: Variety::Atomic,
        primitive,
        white_space: WhiteSpace::Preserve,
        facets: Facets::default(),
    }
}

fn add(schema: &mut Schema, name: &str, ty: Type) {
    schema.type_names.insert((XSD.into(), name.into()), schema.types.len() as TypeId);
    schema.types.push(ty);
}
