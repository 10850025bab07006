//! Text of a query to its syntax tree: prolog, expressions, paths. Constructors are in [`super::direct`].
//!
//! XQuery has no tokens without context (`*`, `div`, `<` mean several things), so the grammar reads characters.

use super::ast::{Arith, Comparison, Expr, Flwor, ItemType, Order, QName, SequenceType, Test};
use super::atom::{Atom, AtomType};
use super::{DEPTH_MAX, External};
use crate::parse::is_space;
use crate::tree::{is_name_char, is_name_start};
use crate::{Result, XmlError};
use smol_str::SmolStr;

pub(super) const XS: &str = "http://www.w3.org/2001/XMLSchema";
pub(super) const FN: &str = "http://www.w3.org/2004/07/xpath-functions";
pub(super) const SQL: &str = "urn:schemas-microsoft-com:xml-sql";
const XDT: &str = "http://www.w3.org/2004/07/xpath-datatypes";

/// A query being read.
pub(crate) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// `value()`, `dbo.t.c.nodes()`: what messages say.
    label: &'a str,
    /// Prefixes in scope; an empty one is the default element namespace.
    pub(super) namespaces: Vec<(SmolStr, SmolStr)>,
    pub(crate) externals: Vec<External>,
    pub(super) variables: Vec<SmolStr>,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, label: &'a str, outer: &[(Option<String>, String)]) -> Parser<'a> {
        let known = [
            ("xml", crate::tree::XML_NAMESPACE),
            ("xs", XS),
            ("xsi", "http://www.w3.org/2001/XMLSchema-instance"),
            ("fn", FN),
            ("xdt", XDT),
            ("sql", SQL),
        ];
        let mut namespaces: Vec<(SmolStr, SmolStr)> = known.map(|(p, u)| (p.into(), u.into())).to_vec();
        // The last binding of a prefix wins, as everywhere.
        namespaces.extend(outer.iter().map(|(p, u)| (p.as_deref().unwrap_or("").into(), u.into())));
        Parser { text, at: 0, label, namespaces, externals: Vec::new(), variables: Vec::new(), depth: 0 }
    }

    // ---- errors ----

    pub(crate) fn error(&self, number: i32, message: &str) -> Box<XmlError> {
        XmlError::new(number, format!("XQuery [{}]: {message}", self.label))
    }

    pub(crate) fn syntax<T>(&self) -> Result<T> {
        Err(self.error(2209, &format!("Syntax error near '{}'", self.near())))
    }

    pub(super) fn unsupported<T>(&self, what: &str) -> Result<T> {
        Err(self.error(9335, &format!("The XQuery syntax '{what}' is not supported.")))
    }

    /// The word or sign at the position.
    pub(super) fn near(&self) -> String {
        let rest = self.text[self.at..].trim_start_matches(is_space);
        let word: String = rest.chars().take_while(|c| is_name_char(*c)).collect();
        match rest.chars().next() {
            None => "<eof>".to_owned(),
            Some(_) if !word.is_empty() => word,
            Some(c) => c.to_string(),
        }
    }

    // ---- characters ----

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// White space and comments.
    pub(super) fn space(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches(is_space).len();
            if !self.rest().starts_with("(:") {
                return Ok(());
            }
            let mut depth = 0;
            loop {
                let rest = self.rest();
                if rest.starts_with("(:") {
                    depth += 1;
                    self.at += 2;
                } else if rest.starts_with(":)") {
                    depth -= 1;
                    self.at += 2;
                } else if let Some(c) = self.peek() {
                    self.at += c.len_utf8();
                } else {
                    return Err(self.error(2340, "Comment started on line 1 has no end"));
                }
                if depth == 0 {
                    break;
                }
            }
        }
    }

    /// Takes a sign behind white space, when it is there.
    pub(crate) fn eat(&mut self, sign: &str) -> Result<bool> {
        self.space()?;
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign)? { Ok(()) } else { Err(self.error(2205, &format!("\"{sign}\" was expected."))) }
    }

    /// Whether these words follow, with white space between; the position behind them.
    fn words_ahead(&mut self, words: &[&str]) -> Result<Option<usize>> {
        let start = self.at;
        for word in words {
            self.space()?;
            let fits = self
                .rest()
                .strip_prefix(word)
                .is_some_and(|r| !r.starts_with(|c| is_name_char(c) || c == ':'));
            if !fits {
                self.at = start;
                return Ok(None);
            }
            self.at += word.len();
        }
        Ok(Some(std::mem::replace(&mut self.at, start)))
    }

    pub(crate) fn eat_words(&mut self, words: &[&str]) -> Result<bool> {
        let found = self.words_ahead(words)?;
        self.at = found.unwrap_or(self.at);
        Ok(found.is_some())
    }

    /// Whether these words and then a sign follow.
    fn at_words_then(&mut self, words: &[&str], sign: char) -> Result<bool> {
        let start = self.at;
        let found = self.eat_words(words)?;
        self.space()?;
        let found = found && self.peek() == Some(sign);
        self.at = start;
        Ok(found)
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_words(&[word])? {
            return Ok(());
        }
        Err(self.error(9303, &format!("Syntax error near '{}', expected '{word}'.", self.near())))
    }

    pub(super) fn nc_name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return None;
        }
        let end = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    /// `prefix:local` without resolving.
    pub(super) fn lexical_name(&mut self) -> Option<(&'a str, &'a str)> {
        let first = self.nc_name()?;
        let start = self.at;
        if self.rest().starts_with(':') && !self.rest().starts_with("::") {
            self.at += 1;
            if let Some(local) = self.nc_name() {
                return Some((first, local));
            }
            self.at = start;
        }
        Some(("", first))
    }

    pub(super) fn uri(&self, prefix: &str) -> Result<SmolStr> {
        match self.namespaces.iter().rev().find(|(p, _)| p == prefix) {
            Some((_, uri)) => Ok(uri.clone()),
            None if prefix.is_empty() => Ok(SmolStr::default()),
            None => Err(self.error(2229, &format!("The name \"{prefix}\" does not denote a namespace."))),
        }
    }

    /// A name; `element` ones take the default namespace.
    pub(super) fn qname(&mut self, element: bool) -> Result<QName> {
        self.space()?;
        let Some((prefix, local)) = self.lexical_name() else { return self.syntax() };
        self.resolve(prefix, local, element)
    }

    pub(super) fn resolve(&self, prefix: &str, local: &str, element: bool) -> Result<QName> {
        let uri = if prefix.is_empty() && !element { SmolStr::default() } else { self.uri(prefix)? };
        Ok(QName { prefix: prefix.into(), local: local.into(), uri })
    }

    /// A string literal: doubled quotes and references undone.
    pub(super) fn string(&mut self) -> Result<SmolStr> {
        self.space()?;
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            return Err(self.error(2225, "A string literal was expected"));
        };
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.peek() else {
                return Err(self.error(2206, &format!("Unterminated text section - missing {quote}")));
            };
            if c == '&' {
                out.push(self.reference()?);
                continue;
            }
            self.at += c.len_utf8();
            if c == quote {
                if self.peek() != Some(quote) {
                    return Ok(out.into());
                }
                self.at += 1;
            }
            out.push(c);
        }
    }

    pub(super) fn reference(&mut self) -> Result<char> {
        let rest = &self.rest()[1..];
        let invalid = || self.error(2282, "Invalid entity reference");
        let end = rest.find(';').ok_or_else(invalid)?;
        let name = &rest[..end];
        let c = match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let digits = name.strip_prefix('#').ok_or_else(invalid)?;
                let code = match digits.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                let c = code.ok().and_then(char::from_u32);
                c.ok_or_else(|| self.error(2285, "Invalid numeric entity reference"))?
            }
        };
        self.at += end + 2;
        Ok(c)
    }

    // ---- prolog ----

    pub(crate) fn prolog(&mut self) -> Result<()> {
        if self.eat_words(&["xquery", "version"])? {
            self.string()?;
            self.expect(";")?;
        }
        loop {
            if self.eat_words(&["declare", "namespace"])? {
                self.space()?;
                let Some(prefix) = self.nc_name() else { return self.syntax() };
                self.expect("=")?;
                let uri = self.string()?;
                self.namespaces.push((prefix.into(), uri));
            } else if self.eat_words(&["declare", "default", "element", "namespace"])? {
                let uri = self.string()?;
                self.namespaces.push((SmolStr::default(), uri));
            } else if self.eat_words(&["declare", "default", "function", "namespace"])? {
                self.string()?;
            } else if self.words_ahead(&["declare", "function"])?.is_some() {
                return self.unsupported("declare function");
            } else if self.words_ahead(&["declare", "variable"])?.is_some() {
                return self.unsupported("declare variable");
            } else {
                return Ok(());
            }
            self.expect(";")?;
        }
    }

    /// The end of the text.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.space()?;
        if self.rest().is_empty() { Ok(()) } else { self.syntax() }
    }

    // ---- expressions ----

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(self.error(2363, "XQuery too complex"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// `a, b`
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        let first = self.single()?;
        if !self.eat(",")? {
            return Ok(first);
        }
        let mut list = vec![first, self.single()?];
        while self.eat(",")? {
            list.push(self.single()?);
        }
        Ok(Expr::Sequence(list))
    }

    pub(crate) fn single(&mut self) -> Result<Expr> {
        self.nested(Self::single_inside)
    }

    /// A constructor inside another.
    pub(super) fn single_direct(&mut self) -> Result<Expr> {
        self.nested(Self::direct)
    }

    fn single_inside(&mut self) -> Result<Expr> {
        self.space()?;
        if self.at_words_then(&["for"], '$')? || self.at_words_then(&["let"], '$')? {
            return self.flwor();
        }
        for every in [false, true] {
            if self.at_words_then(&[if every { "every" } else { "some" }], '$')? {
                return self.quantified(every);
            }
        }
        if self.at_words_then(&["if"], '(')? {
            return self.conditional();
        }
        if self.at_words_then(&["typeswitch"], '(')? {
            return self.unsupported("typeswitch");
        }
        self.or()
    }

    pub(super) fn variable_name(&mut self) -> Result<SmolStr> {
        self.expect("$")?;
        match self.nc_name() {
            Some(name) => Ok(name.into()),
            None => self.syntax(),
        }
    }

    fn bind(&mut self, name: SmolStr) -> usize {
        self.variables.push(name);
        self.variables.len() - 1
    }

    fn flwor(&mut self) -> Result<Expr> {
        let scope = self.variables.len();
        let mut bindings = Vec::new();
        loop {
            let is_for = self.at_words_then(&["for"], '$')?;
            if !is_for && !self.at_words_then(&["let"], '$')? {
                break;
            }
            self.eat_words(&[if is_for { "for" } else { "let" }])?;
            loop {
                let name = self.variable_name()?;
                for word in ["at", "as"] {
                    if self.words_ahead(&[word])?.is_some() {
                        return self.unsupported(word);
                    }
                }
                if is_for && !self.eat_words(&["in"])? {
                    return Err(self.error(2205, "\"in\" was expected."));
                }
                if !is_for {
                    self.expect(":=")?;
                }
                let source = self.single()?;
                bindings.push((is_for, self.bind(name), source));
                if !self.eat(",")? {
                    break;
                }
            }
        }
        let condition = if self.eat_words(&["where"])? { Some(self.single()?) } else { None };
        let mut order = Vec::new();
        if self.eat_words(&["stable", "order", "by"])? || self.eat_words(&["order", "by"])? {
            loop {
                let key = self.single()?;
                let descending = self.eat_words(&["descending"])?;
                if !descending {
                    self.eat_words(&["ascending"])?;
                }
                if self.words_ahead(&["empty"])?.is_some() {
                    return self.unsupported("empty");
                }
                order.push((key, descending));
                if !self.eat(",")? {
                    break;
                }
            }
        } else if condition.is_none() && self.words_ahead(&["return"])?.is_none() {
            return Err(self.error(
                9332,
                &format!(
                    "Syntax error near '{}', expected 'where', '(stable) order by' or 'return'.",
                    self.near()
                ),
            ));
        }
        self.expect_word("return")?;
        let result = self.single()?;
        self.variables.truncate(scope);
        Ok(Expr::Flwor(Box::new(Flwor { bindings, condition, order, result })))
    }

    fn quantified(&mut self, every: bool) -> Result<Expr> {
        let scope = self.variables.len();
        self.eat_words(&[if every { "every" } else { "some" }])?;
        let mut bindings = Vec::new();
        loop {
            let name = self.variable_name()?;
            self.expect_word("in")?;
            let source = self.single()?;
            bindings.push((self.bind(name), source));
            if !self.eat(",")? {
                break;
            }
        }
        self.expect_word("satisfies")?;
        let condition = self.single()?;
        self.variables.truncate(scope);
        Ok(Expr::Quantified(every, bindings, Box::new(condition)))
    }

    fn conditional(&mut self) -> Result<Expr> {
        self.eat_words(&["if"])?;
        self.expect("(")?;
        let condition = self.expr()?;
        self.expect(")")?;
        self.expect_word("then")?;
        let then = self.single()?;
        self.expect_word("else")?;
        let otherwise = self.single()?;
        Ok(Expr::If(Box::new([condition, then, otherwise])))
    }

    fn or(&mut self) -> Result<Expr> {
        let mut terms = vec![self.and()?];
        while self.eat_words(&["or"])? {
            terms.push(self.and()?);
        }
        Ok(one_or(terms, |t| Expr::Logical(false, t)))
    }

    fn and(&mut self) -> Result<Expr> {
        let mut terms = vec![self.comparison()?];
        while self.eat_words(&["and"])? {
            terms.push(self.comparison()?);
        }
        Ok(one_or(terms, |t| Expr::Logical(true, t)))
    }

    fn comparison(&mut self) -> Result<Expr> {
        use Comparison as C;
        let left = self.additive()?;
        self.space()?;
        for (sign, order) in [("<<", Order::Before), (">>", Order::After)] {
            if self.eat(sign)? {
                return Ok(Expr::Nodes(order, Box::new(left), Box::new(self.additive()?)));
            }
        }
        if self.eat_words(&["is"])? {
            return Ok(Expr::Nodes(Order::Is, Box::new(left), Box::new(self.additive()?)));
        }
        let all = [C::NotEqual, C::LessOrEqual, C::GreaterOrEqual, C::Equal, C::Less, C::Greater];
        for op in all {
            if self.eat(op.text(true))? {
                return Ok(Expr::Compare(true, op, Box::new(left), Box::new(self.additive()?)));
            }
            if self.eat_words(&[op.text(false)])? {
                return Ok(Expr::Compare(false, op, Box::new(left), Box::new(self.additive()?)));
            }
        }
        if self.words_ahead(&["to"])?.is_some() {
            return self.unsupported("to");
        }
        Ok(left)
    }

    /// One more link of a chain of operators: chains count as depth, for they nest to the left.
    fn link(&self, links: &mut usize) -> Result<()> {
        *links += 1;
        if *links > DEPTH_MAX { Err(self.error(2363, "XQuery too complex")) } else { Ok(()) }
    }

    fn additive(&mut self) -> Result<Expr> {
        let mut left = self.multiplicative()?;
        let mut links = 0;
        loop {
            let op = if self.eat("+")? {
                Arith::Add
            } else if self.eat("-")? {
                Arith::Subtract
            } else {
                return Ok(left);
            };
            self.link(&mut links)?;
            left = Expr::Arith(op, Box::new(left), Box::new(self.multiplicative()?));
        }
    }

    fn multiplicative(&mut self) -> Result<Expr> {
        let mut left = self.typed()?;
        let mut links = 0;
        loop {
            let op = if self.eat("*")? {
                Arith::Multiply
            } else if self.eat_words(&["div"])? {
                Arith::Divide
            } else if self.eat_words(&["mod"])? {
                Arith::Modulo
            } else {
                for word in ["idiv", "union", "intersect", "except"] {
                    if self.words_ahead(&[word])?.is_some() {
                        return self.unsupported(word);
                    }
                }
                if self.eat("|")? {
                    return self.unsupported("union");
                }
                return Ok(left);
            };
            self.link(&mut links)?;
            left = Expr::Arith(op, Box::new(left), Box::new(self.typed()?));
        }
    }

    /// `e cast as t?`, `e instance of t`
    fn typed(&mut self) -> Result<Expr> {
        let operand = self.unary()?;
        if self.eat_words(&["cast", "as"])? {
            let (name, ty) = self.atomic_type()?;
            if !self.eat("?")? {
                return Err(self.error(
                    9301,
                    "In this version of the server, 'cast as <type>' is not available. Please use the 'cast as <type> ?' syntax.",
                ));
            }
            let Some(ty) = ty else {
                return Err(self.error(2232, &format!("The type name '{name}' is not defined")));
            };
            return Ok(Expr::Cast(ty, Box::new(operand)));
        }
        if self.eat_words(&["instance", "of"])? {
            let ty = self.sequence_type()?;
            return Ok(Expr::Instance(Box::new(operand), ty));
        }
        for words in [["treat", "as"], ["castable", "as"]] {
            if self.words_ahead(&words)?.is_some() {
                return self.unsupported(&words.join(" "));
            }
        }
        Ok(operand)
    }

    fn atomic_type(&mut self) -> Result<(String, Option<AtomType>)> {
        let name = self.qname(true)?;
        let shown = format!("{}:{}", name.prefix, name.local);
        Ok((shown, atomic_type(&name)))
    }

    fn sequence_type(&mut self) -> Result<SequenceType> {
        self.space()?;
        let start = self.at;
        let word = self.nc_name().unwrap_or_default();
        let item = if self.eat("(")? {
            let item = match word {
                "empty" => ItemType::Empty,
                "item" => ItemType::Item,
                "node" => ItemType::Node(Test::Node),
                "text" => ItemType::Node(Test::Text),
                "comment" => ItemType::Node(Test::Comment),
                "processing-instruction" => ItemType::Node(Test::Instruction(None)),
                "element" | "attribute" => {
                    self.space()?;
                    let any = self.eat("*")? || self.peek() == Some(')');
                    let name = if any { None } else { Some(self.qname(word == "element")?) };
                    ItemType::Node(if word == "element" {
                        Test::Element(name)
                    } else {
                        Test::Attribute(name)
                    })
                }
                "document-node" => return self.unsupported("document-node()"),
                _ => return self.syntax(),
            };
            self.expect(")")?;
            item
        } else {
            self.at = start;
            let (name, ty) = self.atomic_type()?;
            match ty {
                Some(ty) => ItemType::Atom(ty),
                None => return Err(self.error(2232, &format!("The type name '{name}' is not defined"))),
            }
        };
        let (optional, many) = match self.peek() {
            Some('?') => (true, false),
            Some('*') => (true, true),
            Some('+') => (false, true),
            _ => return Ok(SequenceType { optional: item == ItemType::Empty, item, many: false }),
        };
        self.at += 1;
        Ok(SequenceType { item, optional, many })
    }

    fn unary(&mut self) -> Result<Expr> {
        let mut negative = false;
        let mut signed = false;
        loop {
            if self.eat("-")? {
                negative = !negative;
            } else if !self.eat("+")? {
                break;
            }
            signed = true;
        }
        let operand = self.path()?;
        Ok(match operand {
            Expr::Literal(Atom::Integer(n)) if negative => Expr::Literal(Atom::Integer(-n)),
            Expr::Literal(Atom::Decimal(d)) if negative => Expr::Literal(Atom::Decimal(-d)),
            Expr::Literal(Atom::Double(f)) if negative => Expr::Literal(Atom::Double(-f)),
            operand if signed && negative => Expr::Negative(Box::new(operand)),
            operand => operand,
        })
    }
}

fn one_or(mut terms: Vec<Expr>, f: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    match (terms.len(), terms.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            terms.push(last);
            f(terms)
        }
        (_, None) => Expr::Sequence(Vec::new()),
    }
}

pub(super) fn atomic_type(name: &QName) -> Option<AtomType> {
    match name.uri.as_str() {
        XS => AtomType::by_local_name(&name.local),
        XDT if name.local == "untypedAtomic" => Some(AtomType::Untyped),
        _ => None,
    }
}
