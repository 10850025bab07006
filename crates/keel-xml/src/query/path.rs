//! Paths and primary expressions: steps, literals, variables, calls.

use super::ast::{Axis, Expr, QName, Step, Test};
use super::atom::Atom;
use super::functions::Function;
use super::parse::{FN, Parser, SQL, atomic_type};
use super::{External, ExternalKind};
use crate::tree::is_name_start;
use crate::{Result, XmlError};

impl Parser<'_> {
    // ---- paths ----

    pub(super) fn path(&mut self) -> Result<Expr> {
        let mut steps = Vec::new();
        let start = if self.eat("//")? {
            steps.push(any_descendant());
            steps.push(self.step()?);
            Expr::Root
        } else if self.eat("/")? {
            self.space()?;
            let more = self.peek().is_some_and(|c| is_name_start(c) || matches!(c, '@' | '*' | '.'));
            if !more {
                return Ok(Expr::Root);
            }
            steps.push(self.step()?);
            Expr::Root
        } else {
            match self.primary()? {
                Some(primary) => primary,
                None => {
                    steps.push(self.step()?);
                    Expr::Context
                }
            }
        };
        loop {
            if self.eat("//")? {
                steps.push(any_descendant());
            } else if !self.eat("/")? {
                break;
            }
            steps.push(self.step()?);
        }
        join_descendants(&mut steps);
        Ok(if steps.is_empty() { start } else { Expr::Path(Box::new(start), steps) })
    }

    fn step(&mut self) -> Result<Step> {
        self.space()?;
        let (axis, test) = if self.rest().starts_with("..") {
            self.at += 2;
            (Axis::Parent, Test::Node)
        } else if self.rest().starts_with('.') {
            self.at += 1;
            (Axis::Itself, Test::Node)
        } else if self.eat("@")? {
            (Axis::Attribute, self.test(false)?)
        } else {
            let axis = self.axis()?;
            (axis, self.test(axis != Axis::Attribute)?)
        };
        let predicates = self.predicates()?;
        Ok(Step { axis, test, predicates })
    }

    fn axis(&mut self) -> Result<Axis> {
        let start = self.at;
        if let Some(word) = self.nc_name()
            && self.rest().starts_with("::")
        {
            self.at += 2;
            return Ok(match word {
                "child" => Axis::Child,
                "descendant" => Axis::Descendant,
                "descendant-or-self" => Axis::DescendantOrSelf,
                "attribute" => Axis::Attribute,
                "self" => Axis::Itself,
                "parent" => Axis::Parent,
                "ancestor" | "ancestor-or-self" | "following" | "following-sibling" | "preceding"
                | "preceding-sibling" => return self.unsupported(word),
                _ => return Err(self.error(2392, &format!("Incorrect syntax near '{word}'"))),
            });
        }
        self.at = start;
        Ok(Axis::Child)
    }

    fn test(&mut self, element: bool) -> Result<Test> {
        self.space()?;
        if self.rest().starts_with('*') {
            self.at += 1;
            if self.rest().starts_with(':') {
                self.at += 1;
                return match self.nc_name() {
                    Some(local) => Ok(Test::Name(None, Some(local.into()))),
                    None => self.syntax(),
                };
            }
            return Ok(Test::Name(None, None));
        }
        let start = self.at;
        let Some(first) = self.nc_name() else {
            return if self.rest().is_empty() {
                Err(self.error(9341, "Syntax error near '<eof>', expected a step expression."))
            } else {
                Err(self
                    .error(2256, &format!("Syntax error near '{}', expected a \"node test\".", self.near())))
            };
        };
        if self.rest().starts_with(":*") {
            self.at += 2;
            return Ok(Test::Name(Some(self.uri(first)?), None));
        }
        if self.at_call()? {
            let test = match first {
                "node" => Test::Node,
                "text" => Test::Text,
                "comment" => Test::Comment,
                "processing-instruction" => {
                    self.expect("(")?;
                    self.space()?;
                    let target = if self.peek() == Some(')') { None } else { Some(self.string()?) };
                    self.expect(")")?;
                    return Ok(Test::Instruction(target));
                }
                _ => {
                    let at = format!("Syntax error near '{first}', expected a \"node test\".");
                    return Err(self.error(2256, &at));
                }
            };
            self.expect("(")?;
            self.expect(")")?;
            return Ok(test);
        }
        self.at = start;
        let name = self.qname(element)?;
        Ok(Test::Name(Some(name.uri), Some(name.local)))
    }

    fn at_call(&mut self) -> Result<bool> {
        let start = self.at;
        self.space()?;
        let found = self.peek() == Some('(');
        self.at = start;
        Ok(found)
    }

    fn predicates(&mut self) -> Result<Vec<Expr>> {
        let mut predicates = Vec::new();
        while self.eat("[")? {
            predicates.push(self.single()?);
            if !self.eat("]")? {
                return Err(self.error(9303, &format!("Syntax error near '{}', expected ']'.", self.near())));
            }
        }
        Ok(predicates)
    }

    // ---- primaries ----

    /// A primary expression with its predicates; `None` when a step follows.
    fn primary(&mut self) -> Result<Option<Expr>> {
        self.space()?;
        let start = self.at;
        let rest = self.rest();
        let primary = match self.peek() {
            None => return self.syntax(),
            Some('(') => {
                self.at += 1;
                if self.eat(")")? {
                    Expr::Sequence(Vec::new())
                } else {
                    let inner = self.expr()?;
                    if !self.eat(")")? {
                        return Err(self.error(2217, "',' or ')' expected"));
                    }
                    inner
                }
            }
            Some('"' | '\'') => Expr::Literal(Atom::String(self.string()?)),
            Some('0'..='9') => self.number()?,
            Some('.') if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number()?,
            Some('.') if rest.starts_with("..") => return Ok(None),
            Some('.') => {
                self.at += 1;
                Expr::Context
            }
            Some('$') => {
                let name = self.variable_name()?;
                match self.variables.iter().rposition(|v| *v == name) {
                    Some(i) => Expr::Variable(i),
                    None => {
                        return Err(self.error(
                            2227,
                            &format!("The variable '${name}' was not found in the scope in which it was referenced."),
                        ));
                    }
                }
            }
            Some('<') => self.direct()?,
            Some(c) if is_name_start(c) => {
                if let Some(computed) = self.computed()? {
                    computed
                } else {
                    let name = self.lexical_name();
                    let (Some((prefix, local)), true) = (name, self.at_call()?) else {
                        self.at = start;
                        return Ok(None);
                    };
                    if prefix.is_empty()
                        && matches!(local, "node" | "text" | "comment" | "processing-instruction")
                    {
                        self.at = start;
                        return Ok(None);
                    }
                    self.call(prefix, local)?
                }
            }
            Some('@' | '*') => return Ok(None),
            Some(_) => return self.syntax(),
        };
        let predicates = self.predicates()?;
        Ok(Some(if predicates.is_empty() { primary } else { Expr::Filter(Box::new(primary), predicates) }))
    }

    fn number(&mut self) -> Result<Expr> {
        let rest = self.rest();
        let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut end = digits(rest);
        let mut exact = true;
        let mut whole = true;
        if rest[end..].starts_with('.') {
            whole = false;
            end += 1 + digits(&rest[end + 1..]);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[end + 1 + sign..]);
            if exponent > 0 {
                exact = false;
                end += 1 + sign + exponent;
            }
        }
        let text = &rest[..end];
        self.at += end;
        let invalid = || self.error(2342, "Invalid numeric constant.");
        if self.peek().is_some_and(is_name_start) {
            return Err(invalid());
        }
        Ok(Expr::Literal(match (exact, whole) {
            (false, _) => Atom::Double(text.parse().map_err(|_| invalid())?),
            (true, true) => match text.parse() {
                Ok(n) => Atom::Integer(n),
                Err(_) => Atom::Decimal(text.parse().map_err(|_| invalid())?),
            },
            (true, false) => Atom::Decimal(text.trim_end_matches('.').parse().map_err(|_| invalid())?),
        }))
    }

    fn call(&mut self, prefix: &str, local: &str) -> Result<Expr> {
        let uri = if prefix.is_empty() { FN.into() } else { self.uri(prefix)? };
        let shown = if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") };
        if uri == SQL && matches!(local, "variable" | "column") {
            return self.external(local == "variable");
        }
        self.expect("(")?;
        let mut args = Vec::new();
        if !self.eat(")")? {
            loop {
                args.push(self.single()?);
                if self.eat(")")? {
                    break;
                }
                if !self.eat(",")? {
                    return Err(self.error(2217, "',' or ')' expected"));
                }
            }
        }
        let name = QName { prefix: prefix.into(), local: local.into(), uri: uri.clone() };
        if let Some(ty) = atomic_type(&name).filter(|_| uri != FN) {
            self.count(&shown, args.len(), 1, 1)?;
            return match args.pop() {
                Some(arg) => Ok(Expr::Cast(ty, Box::new(arg))),
                None => self.syntax(),
            };
        }
        let function = if uri == FN { Function::by_name(local) } else { None };
        let Some(function) = function else {
            return Err(self.error(2395, &format!("There is no function '{{{uri}}}:{local}()'")));
        };
        let (least, most) = function.arguments();
        self.count(&format!("{local}()"), args.len(), least, most)?;
        Ok(Expr::Call(function, args))
    }

    fn count(&self, shown: &str, given: usize, least: usize, most: usize) -> Result<()> {
        if given < least {
            let m = format!("There are not enough actual arguments in the call to function \"{shown}\".");
            return Err(self.error(2236, &m));
        }
        if given > most {
            return Err(self.error(2238, &format!("Too many arguments in call to function '{shown}'")));
        }
        Ok(())
    }

    fn external(&mut self, variable: bool) -> Result<Expr> {
        self.expect("(")?;
        let name = self.string()?;
        self.expect(")")?;
        if variable && !name.starts_with('@') {
            return Err(XmlError::new(
                9519,
                format!(
                    "'sql:variable' must be called with a name of a variable: '{name}' does not begin with '@'."
                ),
            ));
        }
        let kind = if variable { ExternalKind::Variable } else { ExternalKind::Column };
        let external = External { kind, name };
        let at = self.externals.iter().position(|e| *e == external).unwrap_or_else(|| {
            self.externals.push(external);
            self.externals.len() - 1
        });
        Ok(Expr::External(at))
    }
}

fn any_descendant() -> Step {
    Step { axis: Axis::DescendantOrSelf, test: Test::Node, predicates: Vec::new() }
}

/// `//name` is one walk when no predicate counts positions below each node.
fn join_descendants(steps: &mut Vec<Step>) {
    let mut i = 0;
    while i + 1 < steps.len() {
        let (first, second) = (&steps[i], &steps[i + 1]);
        let joins =
            first.axis == Axis::DescendantOrSelf && first.test == Test::Node && first.predicates.is_empty();
        if joins && second.axis == Axis::Child && second.predicates.is_empty() {
            steps.remove(i);
            steps[i].axis = Axis::Descendant;
        }
        i += 1;
    }
}
