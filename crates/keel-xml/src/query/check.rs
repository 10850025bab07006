//! Static checks: what every expression yields, how often, and whether that fits where it stands.
//!
//! Cardinality follows the shape of an expression, never the data: a step is many, a position makes one of it. So `/r/a` is no
//! argument of `value()` and `(/r/a)[1]` is.

use super::ast::{Axis, Expr, Flwor, Step, Test};
use super::atom::{Atom, AtomType};
use super::functions::Function;
use crate::schema::Schema;
use crate::{Result, XmlError};
use smol_str::{SmolStr, format_smolstr};

/// How many items an expression yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Often {
    Never,
    Once,
    AtMostOnce,
    Many,
}

/// What the items are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Nothing,
    Document,
    Element(SmolStr),
    Attribute(SmolStr),
    Text,
    Comment,
    Instruction,
    /// Nodes of several kinds.
    Node,
    /// A constructed node: what the product does not look into.
    Constructed,
    /// Elements of these declarations of the schema collection.
    Declared(Typed),
    /// An attribute of a declaration.
    DeclaredAttribute(Typed),
    /// Any node of a typed instance.
    Anything,
    Atom(AtomType),
    /// Atoms and nodes, or unlike atoms.
    Item,
}

/// What a schema collection says of elements or of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    /// The declarations of elements.
    pub(crate) elements: Vec<u32>,
    /// The simple type of their values, where they have one, and whether it is a list.
    pub(crate) value: Option<(AtomType, bool)>,
    /// The simple type in the collection.
    pub(crate) simple: Option<u32>,
    /// As messages have it: name and type.
    pub(crate) shown: SmolStr,
}

/// A static type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Type {
    pub(crate) what: What,
    pub(crate) often: Often,
}

impl Type {
    pub(crate) fn once(what: What) -> Type {
        Type { what, often: Often::Once }
    }

    pub(crate) fn is_node(&self) -> bool {
        !matches!(self.what, What::Atom(_) | What::Nothing | What::Item)
    }

    /// As messages write it.
    pub(crate) fn text(&self) -> String {
        let sign = match self.often {
            Often::Never => return "empty".to_owned(),
            Often::Once => "",
            Often::AtMostOnce => " ?",
            Often::Many => " *",
        };
        let item = match &self.what {
            What::Nothing => return "empty".to_owned(),
            What::Document => {
                "document { (element(*,xdt:untyped) ? & text ? & comment ? & processing-instruction ?) * }"
                    .to_owned()
            }
            What::Element(name) => format!("element({name},xdt:untyped)"),
            What::Attribute(name) => format!("attribute({name},xdt:untypedAtomic)"),
            What::Text => "text".to_owned(),
            What::Comment => "comment".to_owned(),
            What::Instruction => "processing-instruction".to_owned(),
            What::Node | What::Constructed => {
                "(element(*,xdt:untyped) | comment | processing-instruction | text)".to_owned()
            }
            What::Declared(typed) => format!("element({})", typed.shown),
            What::DeclaredAttribute(typed) => format!("attribute({})", typed.shown),
            What::Anything => "node()".to_owned(),
            What::Atom(ty) => ty.name().to_owned(),
            What::Item => "item()".to_owned(),
        };
        format!("{item}{sign}")
    }

    /// The type of the values of its items.
    pub(crate) fn atomized(&self) -> Type {
        match &self.what {
            What::Atom(_) | What::Nothing | What::Item => self.clone(),
            What::Declared(Typed { value: Some((ty, list)), .. })
            | What::DeclaredAttribute(Typed { value: Some((ty, list)), .. }) => {
                Type { what: What::Atom(*ty), often: if *list { Often::Many } else { self.often } }
            }
            _ => Type { what: What::Atom(AtomType::Untyped), often: self.often },
        }
    }

    fn atom(&self) -> Option<AtomType> {
        match self.what {
            What::Atom(ty) => Some(ty),
            _ => None,
        }
    }
}

pub(super) fn times(a: Often, b: Often) -> Often {
    if a == Often::Never || b == Often::Never { Often::Never } else { a.max(b) }
}

/// Checks one query.
pub(crate) struct Checker<'a> {
    pub(crate) label: &'a str,
    /// Types of `sql:variable` and `sql:column`; `None` for xml.
    pub(crate) externals: &'a [Option<AtomType>],
    pub(crate) context: Type,
    /// The collection that the instance is valid by, and whether it is a document.
    pub(crate) schema: Option<(&'a Schema, bool)>,
    pub(crate) variables: Vec<Type>,
    /// Predicates around.
    pub(crate) predicates: u32,
}

impl Checker<'_> {
    pub(crate) fn error(&self, number: i32, message: &str) -> Box<XmlError> {
        XmlError::new(number, format!("XQuery [{}]: {message}", self.label))
    }

    /// At most one item, or 2389.
    pub(crate) fn singleton(&self, ty: &Type, whose: &str) -> Result<()> {
        if ty.often != Often::Many {
            return Ok(());
        }
        let m = format!(
            "'{whose}' requires a singleton (or empty sequence), found operand of type '{}'",
            ty.text()
        );
        Err(self.error(2389, &m))
    }

    /// The type of an expression.
    pub(crate) fn check(&mut self, e: &Expr) -> Result<Type> {
        Ok(match e {
            Expr::Literal(atom) => Type::once(What::Atom(atom.ty())),
            Expr::Sequence(items) => self.sequence(items)?,
            Expr::Variable(i) => {
                self.variables.get(*i).cloned().unwrap_or(Type { what: What::Item, often: Often::Many })
            }
            Expr::Context => self.context.clone(),
            Expr::Root => Type::once(What::Document),
            Expr::Path(start, steps) => {
                let mut ty = self.check(start)?;
                if matches!(ty.what, What::Atom(_)) {
                    return Err(self.error(2374, "A node or set of nodes is required for '/'"));
                }
                if ty.what == What::Constructed {
                    return Err(self.error(2373, "'/' is not supported with constructed XML"));
                }
                for step in steps {
                    ty = self.step(&ty, step)?;
                }
                ty
            }
            Expr::Filter(inner, predicates) => {
                let ty = self.check(inner)?;
                self.predicates(ty, predicates)?
            }
            Expr::Logical(_, terms) => {
                for t in terms {
                    self.condition(t)?;
                }
                Type::once(What::Atom(AtomType::Boolean))
            }
            Expr::Compare(general, op, a, b) => {
                let (a, b) = (self.value_of(a)?, self.value_of(b)?);
                if !general {
                    self.singleton(&a, op.text(false))?;
                    self.singleton(&b, op.text(false))?;
                }
                if let (Some(x), Some(y)) = (a.atom(), b.atom())
                    && !x.compares_with(y)
                {
                    return Err(self.operands(op.text(*general), &a, &b));
                }
                Type::once(What::Atom(AtomType::Boolean))
            }
            Expr::Nodes(_, a, b) => {
                for e in [a, b] {
                    let ty = self.check(e)?;
                    self.singleton(&ty, "is")?;
                }
                Type::once(What::Atom(AtomType::Boolean))
            }
            Expr::Arith(op, a, b) => {
                let (a, b) = (self.number(a, op.text())?, self.number(b, op.text())?);
                let often = times(a.1, b.1).max(Often::AtMostOnce);
                Type { what: What::Atom(promoted(a.0, b.0, op.text() == "div")), often }
            }
            Expr::Negative(e) => {
                let (ty, often) = self.number(e, "-")?;
                Type { what: What::Atom(ty), often }
            }
            Expr::Call(function, args) => self.call(*function, args)?,
            Expr::External(i) => match self.externals.get(*i).copied().flatten() {
                Some(ty) => Type { what: What::Atom(ty), often: Often::AtMostOnce },
                None => {
                    return Err(self.error(
                        9342,
                        "An XML instance is only supported as the direct source of an insert using sql:column/sql:variable.",
                    ));
                }
            },
            Expr::Cast(ty, e) => self.cast(*ty, e)?,
            Expr::Instance(e, _) => {
                let ty = self.check(e)?;
                self.singleton(&ty, "instance of")?;
                Type::once(What::Atom(AtomType::Boolean))
            }
            Expr::Flwor(f) => self.flwor(f)?,
            Expr::Quantified(_, bindings, condition) => {
                let depth = self.variables.len();
                for (_, source) in bindings {
                    let ty = self.check(source)?;
                    self.variables.push(Type { often: Often::Once, ..ty });
                }
                self.condition(condition)?;
                self.variables.truncate(depth);
                Type::once(What::Atom(AtomType::Boolean))
            }
            Expr::If(parts) => {
                self.condition(&parts[0])?;
                let (a, b) = (self.check(&parts[1])?, self.check(&parts[2])?);
                let often = match (a.often, b.often) {
                    (Often::Never, Often::Never) => Often::Never,
                    (Often::Never, o) | (o, Often::Never) => o.max(Often::AtMostOnce),
                    (x, y) => x.max(y),
                };
                Type { what: self.together(&a, &b)?, often }
            }
            Expr::Element(element) => {
                for (_, value) in &element.attributes {
                    self.value_of(value)?;
                }
                for e in &element.content {
                    self.check(e)?;
                }
                Type::once(What::Constructed)
            }
            Expr::Attribute(name, value) => {
                self.value_of(value)?;
                Type::once(What::Attribute(name.local.clone()))
            }
            Expr::Text(value) => {
                self.value_of(value)?;
                Type::once(What::Constructed)
            }
            Expr::Comment(_) | Expr::Instruction(..) => Type::once(What::Constructed),
        })
    }

    fn operands(&self, op: &str, a: &Type, b: &Type) -> Box<XmlError> {
        let m = format!(
            "The operator \"{op}\" cannot be applied to \"{}\" and \"{}\" operands.",
            a.text(),
            b.text()
        );
        self.error(2234, &m)
    }

    /// What the items of both are.
    fn together(&self, a: &Type, b: &Type) -> Result<What> {
        if a.what == What::Nothing || a.what == b.what {
            return Ok(b.what.clone());
        }
        if b.what == What::Nothing {
            return Ok(a.what.clone());
        }
        match (a.is_node(), b.is_node()) {
            (true, true) if a.what == What::Constructed || b.what == What::Constructed => {
                Ok(What::Constructed)
            }
            (true, true) => Ok(What::Node),
            (false, false) => Ok(What::Item),
            _ if a.what == What::Item || b.what == What::Item => Ok(What::Item),
            (node_first, _) => {
                let (atom, node) = if node_first { (b, a) } else { (a, b) };
                let m = format!(
                    "Heterogeneous sequences are not allowed: found '{}' and '{}'",
                    atom.text(),
                    node.text()
                );
                Err(self.error(2210, &m))
            }
        }
    }

    fn sequence(&mut self, items: &[Expr]) -> Result<Type> {
        let mut all = Type { what: What::Nothing, often: Often::Never };
        for e in items {
            let ty = self.check(e)?;
            let often = match (all.often, ty.often) {
                (Often::Never, o) | (o, Often::Never) => o,
                _ => Often::Many,
            };
            all = Type { what: self.together(&all, &ty)?, often };
        }
        Ok(all)
    }

    /// The type of an expression's values.
    pub(crate) fn value_of(&mut self, e: &Expr) -> Result<Type> {
        let ty = self.check(e)?;
        if ty.what == What::Constructed {
            return Err(self.error(2373, "'data()' is not supported with constructed XML"));
        }
        Ok(ty.atomized())
    }

    fn number(&mut self, e: &Expr, op: &str) -> Result<(AtomType, Often)> {
        let ty = self.value_of(e)?;
        self.singleton(&ty, op)?;
        match ty.atom() {
            Some(AtomType::Untyped) => Ok((AtomType::Double, ty.often)),
            Some(a) if a.is_numeric() => Ok((a, ty.often)),
            None => Ok((AtomType::Double, ty.often)),
            Some(_) => Err(self.error(
                9308,
                &format!("The argument of '{op}' must be of a single numeric primitive type or 'http://www.w3.org/2004/07/xpath-datatypes#untypedAtomic'. Found argument of type '{}'.", ty.text()),
            )),
        }
    }

    /// A condition: a truth value or nodes.
    fn condition(&mut self, e: &Expr) -> Result<()> {
        let ty = self.check(e)?;
        match ty.what {
            What::Atom(AtomType::Boolean) | What::Nothing | What::Item => Ok(()),
            What::Atom(_) => Err(self.error(
                2204,
                &format!("Only 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed in conditions and with logical operators, found '{}'", ty.text()),
            )),
            _ => Ok(()),
        }
    }

    fn step(&mut self, from: &Type, step: &Step) -> Result<Type> {
        let element = |test: &Test| match test {
            Test::Name(_, Some(local)) => What::Element(local.clone()),
            Test::Name(..) => What::Element("*".into()),
            Test::Text => What::Text,
            Test::Comment => What::Comment,
            Test::Instruction(_) => What::Instruction,
            _ => What::Node,
        };
        if let Some(ty) = self.typed_step(from, step)? {
            return self.narrowed(from, ty, step);
        }
        if step.axis == Axis::Attribute && from.what == What::Text {
            return Err(self.error(2219, "Cannot apply the attribute axis to a text node."));
        }
        let ty = match step.axis {
            Axis::Attribute => {
                let (name, one) = match &step.test {
                    Test::Name(Some(uri), Some(local)) if uri.is_empty() => (local.clone(), true),
                    Test::Name(Some(uri), Some(local)) => (format_smolstr!("{{{uri}}}{local}"), true),
                    Test::Name(None, Some(local)) => (local.clone(), false),
                    _ => ("*".into(), false),
                };
                let often = if one { times(from.often, Often::AtMostOnce) } else { Often::Many };
                Type { what: What::Attribute(name), often }
            }
            Axis::Itself if step.test == Test::Node => from.clone(),
            Axis::Itself => Type { what: element(&step.test), often: times(from.often, Often::AtMostOnce) },
            Axis::Parent => {
                Type { what: What::Element("*".into()), often: times(from.often, Often::AtMostOnce) }
            }
            Axis::Child | Axis::Descendant | Axis::DescendantOrSelf => {
                Type { what: element(&step.test), often: Often::Many }
            }
        };
        self.narrowed(from, ty, step)
    }

    /// What the predicates of a step leave of it. A position counts under each node that the step starts from.
    fn narrowed(&mut self, from: &Type, ty: Type, step: &Step) -> Result<Type> {
        let narrowed = self.predicates(ty, &step.predicates)?;
        let backwards = matches!(step.axis, Axis::Attribute | Axis::Itself | Axis::Parent);
        let often = if backwards { narrowed.often } else { times(from.often, narrowed.often) };
        Ok(Type { often, ..narrowed })
    }

    fn predicates(&mut self, mut ty: Type, predicates: &[Expr]) -> Result<Type> {
        let context = std::mem::replace(&mut self.context, Type { often: Often::Once, ..ty.clone() });
        self.predicates += 1;
        for p in predicates {
            let found = self.check(p)?;
            match found.what {
                What::Atom(a) if a.is_numeric() => {
                    ty.often = times(ty.often, Often::AtMostOnce).min(Often::AtMostOnce)
                }
                What::Atom(AtomType::Boolean) if is_position(p) => {
                    ty.often = times(ty.often, Often::AtMostOnce).min(Often::AtMostOnce);
                }
                What::Atom(AtomType::Boolean) | What::Nothing | What::Item => {}
                What::Atom(_) => {
                    return Err(self.error(
                        2203,
                        &format!("Only 'http://www.w3.org/2001/XMLSchema#decimal?', 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed as predicates, found '{}'", found.text()),
                    ));
                }
                _ => {}
            }
            if ty.often == Often::Once {
                ty.often = Often::AtMostOnce;
            }
        }
        self.predicates -= 1;
        self.context = context;
        Ok(ty)
    }

    fn call(&mut self, function: Function, args: &[Expr]) -> Result<Type> {
        use Function as F;
        let shown = format!("{}()", function.name());
        if matches!(function, F::Position | F::Last) && self.predicates == 0 {
            let m = format!("'{shown}' can only be used within a predicate or XPath selector");
            return Err(self.error(2371, &m));
        }
        let mut types = Vec::new();
        for arg in args {
            if function == F::Not {
                self.condition(arg)?;
                continue;
            }
            let mut ty = self.check(arg)?;
            if ty.what == What::Constructed {
                return Err(self.error(2373, &format!("'{shown}' is not supported with constructed XML")));
            }
            if function.takes_atoms() {
                ty = ty.atomized();
            }
            if function.takes_atoms() || function.takes_item() {
                self.singleton(&ty, &shown)?;
            }
            types.push(ty);
        }
        if args.is_empty() && function.takes_context() {
            types.push(self.context.clone());
        }
        if function == F::Number && types.first().is_some_and(|t| t.atom().is_some()) {
            return Err(self.error(2374, "A node or set of nodes is required for number()"));
        }
        self.strings(function, &types)?;
        let first = types.first().map(Type::atomized);
        let kept = first
            .as_ref()
            .and_then(Type::atom)
            .map_or(AtomType::Double, |t| if t == AtomType::Untyped { AtomType::Double } else { t });
        let often = first.as_ref().map_or(Often::Once, |t| t.often);
        Ok(match function {
            F::True | F::False | F::Not | F::Empty | F::Contains => Type::once(What::Atom(AtomType::Boolean)),
            F::Count | F::Position | F::Last | F::StringLength => Type::once(What::Atom(AtomType::Integer)),
            F::Concat
            | F::LowerCase
            | F::UpperCase
            | F::String
            | F::Substring
            | F::LocalName
            | F::NamespaceUri => Type::once(What::Atom(AtomType::String)),
            F::Number => Type::once(What::Atom(AtomType::Double)),
            F::Data => first.unwrap_or(Type { what: What::Nothing, often: Often::Never }),
            F::DistinctValues => first.unwrap_or(Type { what: What::Nothing, often: Often::Never }),
            F::Ceiling | F::Floor | F::Round => Type { what: What::Atom(kept), often },
            F::Sum => Type::once(What::Atom(kept)),
            F::Avg => {
                let ty = if kept.is_integer() { AtomType::Decimal } else { kept };
                Type { what: What::Atom(ty), often: Often::AtMostOnce }
            }
            F::Min | F::Max => Type { what: What::Atom(kept), often: Often::AtMostOnce },
        })
    }

    /// Parameters that are strings take strings and content of nodes.
    fn strings(&self, function: Function, types: &[Type]) -> Result<()> {
        use Function as F;
        let strings = match function {
            F::Concat | F::Contains | F::LowerCase | F::UpperCase | F::StringLength => types.len(),
            F::Substring => 1,
            _ => 0,
        };
        for ty in types.iter().take(strings) {
            if let Some(atom) = ty.atom()
                && (atom.is_numeric() || atom == AtomType::Boolean)
            {
                return Err(self
                    .error(2364, &format!("Cannot implicitly convert from '{}' to 'xs:string'", ty.text())));
            }
        }
        Ok(())
    }

    fn cast(&mut self, to: AtomType, e: &Expr) -> Result<Type> {
        let ty = self.value_of(e)?;
        if matches!(ty.often, Often::Many | Often::Never) {
            let m = format!("Cannot explicitly convert from '{}' to '{}'", ty.text(), to.name());
            return Err(self.error(2365, &m));
        }
        if let Expr::Literal(atom @ Atom::String(text)) = e
            && atom.cast(to).is_none()
        {
            return Err(self.error(
                9319,
                &format!("Static simple type validation: Invalid simple type value '{text}'."),
            ));
        }
        Ok(Type { what: What::Atom(to), often: Often::AtMostOnce })
    }

    fn flwor(&mut self, f: &Flwor) -> Result<Type> {
        let depth = self.variables.len();
        let mut often = Often::Once;
        for (is_for, _, source) in &f.bindings {
            let ty = self.check(source)?;
            if ty.what == What::Constructed {
                let word = if *is_for { "for" } else { "let" };
                return Err(self.error(2373, &format!("'{word}' is not supported with constructed XML")));
            }
            if *is_for {
                often = times(often, ty.often);
                self.variables.push(Type { often: Often::Once, ..ty });
            } else {
                self.variables.push(ty);
            }
        }
        if let Some(c) = &f.condition {
            self.condition(c)?;
            often = often.max(Often::AtMostOnce);
        }
        for (key, _) in &f.order {
            let ty = self.value_of(key)?;
            self.singleton(&ty, "order by")?;
        }
        let result = self.check(&f.result)?;
        self.variables.truncate(depth);
        Ok(Type { often: times(often, result.often), ..result })
    }
}

/// `position() = n`
fn is_position(e: &Expr) -> bool {
    let position = |e: &Expr| matches!(e, Expr::Call(Function::Position, _));
    match e {
        Expr::Compare(_, super::ast::Comparison::Equal, a, b) => position(a) || position(b),
        _ => false,
    }
}

/// The type of an arithmetic result.
fn promoted(a: AtomType, b: AtomType, divides: bool) -> AtomType {
    use AtomType as T;
    let is = |t: T| a == t || b == t;
    if is(T::Double) {
        T::Double
    } else if is(T::Float) {
        T::Float
    } else if is(T::Decimal) || divides {
        T::Decimal
    } else {
        T::Integer
    }
}
