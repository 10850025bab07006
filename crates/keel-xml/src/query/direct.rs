//! Constructors: `<a b="{…}">…</a>`, `element a {…}`.

use super::ast::{Element, Expr, QName};
use super::atom::Atom;
use super::parse::Parser;
use crate::Result;
use crate::parse::is_space;
use smol_str::SmolStr;

impl Parser<'_> {
    /// `element name {…}`, `attribute name {…}`, `text {…}`; `None` when it is something else.
    pub(super) fn computed(&mut self) -> Result<Option<Expr>> {
        let start = self.at;
        let Some((prefix, word)) = self.lexical_name() else { return Ok(None) };
        let known = matches!(word, "element" | "attribute" | "text" | "comment" | "document");
        if !prefix.is_empty() || !known {
            self.at = start;
            return Ok(None);
        }
        self.space()?;
        if self.peek() == Some('{') {
            match word {
                "text" => return Ok(Some(Expr::Text(Box::new(self.enclosed()?)))),
                "comment" => return Err(self.error(9326, "Computed comment constructors are not supported.")),
                "element" | "attribute" => {
                    return Err(self.error(
                        9315,
                        "Only constant expressions are supported for the name expression of computed element and attribute constructors.",
                    ));
                }
                _ => {}
            }
        }
        if matches!(word, "element" | "attribute") && self.lexical_name().is_some() {
            self.space()?;
            if self.peek() == Some('{') {
                self.at = start + word.len();
                let name = self.qname(word == "element")?;
                let content = self.enclosed()?;
                if word == "attribute" {
                    return Ok(Some(Expr::Attribute(name, Box::new(content))));
                }
                let element =
                    Element { name, namespaces: Vec::new(), attributes: Vec::new(), content: vec![content] };
                return Ok(Some(Expr::Element(Box::new(element))));
            }
        }
        self.at = start;
        Ok(None)
    }

    /// `{ expr }`; nothing inside is the empty sequence.
    fn enclosed(&mut self) -> Result<Expr> {
        self.expect("{")?;
        if self.eat("}")? {
            return Ok(Expr::Sequence(Vec::new()));
        }
        let inner = self.expr()?;
        self.expect("}")?;
        Ok(inner)
    }

    /// `<…`
    pub(super) fn direct(&mut self) -> Result<Expr> {
        let rest = self.rest();
        if rest.starts_with("<!--") {
            return self.direct_comment();
        }
        if rest.starts_with("<?") {
            return self.direct_instruction();
        }
        self.direct_element()
    }

    /// Takes up to `end`, which must come.
    fn until(&mut self, end: &str) -> Result<SmolStr> {
        match self.rest().find(end) {
            Some(i) => {
                let text = SmolStr::new(&self.rest()[..i]);
                self.at += i + end.len();
                Ok(text)
            }
            None => {
                self.at = self.text.len();
                self.syntax()
            }
        }
    }

    fn direct_comment(&mut self) -> Result<Expr> {
        self.at += 4;
        let text = self.until("-->")?;
        if text.contains("--") || text.ends_with('-') {
            return Err(self.error(9322, "Two consecutive '-' can only appear in a comment constructor if they are used to close the comment ('-->')."));
        }
        Ok(Expr::Comment(text))
    }

    fn direct_instruction(&mut self) -> Result<Expr> {
        self.at += 2;
        let text = self.until("?>")?;
        let (target, data) = text.split_once(is_space).unwrap_or((&text, ""));
        if target.eq_ignore_ascii_case("xml") {
            return Err(self.error(2294, "The XML processing instruction target 'xml' is reserved."));
        }
        if !crate::tree::is_nc_name(target) {
            return self.syntax();
        }
        Ok(Expr::Instruction(target.into(), data.trim_start_matches(is_space).into()))
    }

    fn direct_element(&mut self) -> Result<Expr> {
        self.at += 1;
        let scope = self.namespaces.len();
        let Some((prefix, local)) = self.lexical_name() else { return self.syntax() };
        let (prefix, local) = (SmolStr::new(prefix), SmolStr::new(local));
        let mut written: Vec<(SmolStr, SmolStr, Expr)> = Vec::new();
        let mut namespaces = Vec::new();
        loop {
            let before = self.at;
            self.skip_space();
            if self.rest().starts_with(['/', '>']) {
                break;
            }
            if before == self.at {
                return self.syntax();
            }
            let Some((p, l)) = self.lexical_name() else { return self.syntax() };
            let (p, l) = (SmolStr::new(p), SmolStr::new(l));
            self.skip_space();
            self.expect("=")?;
            self.skip_space();
            let value = self.attribute_value()?;
            if p == "xmlns" || (p.is_empty() && l == "xmlns") {
                let Expr::Literal(atom) = value else { return self.syntax() };
                let prefix = if p.is_empty() { SmolStr::default() } else { l };
                self.namespaces.push((prefix.clone(), atom.text()));
                namespaces.push((prefix, atom.text()));
            } else {
                written.push((p, l, value));
            }
        }
        let name = self.resolve(&prefix, &local, true)?;
        let mut attributes: Vec<(QName, Expr)> = Vec::new();
        for (p, l, value) in written {
            let name = self.resolve(&p, &l, false)?;
            if attributes.iter().any(|(n, _)| n.local == name.local && n.uri == name.uri) {
                return Err(self.error(2285, &format!("Duplicate attribute '{l}'")));
            }
            attributes.push((name, value));
        }
        let content = if self.rest().starts_with("/>") {
            self.at += 2;
            Vec::new()
        } else {
            self.at += 1;
            self.content(&prefix, &local)?
        };
        self.namespaces.truncate(scope);
        Ok(Expr::Element(Box::new(Element { name, namespaces, attributes, content })))
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    /// Literal text, or one enclosed expression.
    fn attribute_value(&mut self) -> Result<Expr> {
        let Some(quote @ ('"' | '\'')) = self.peek() else { return self.syntax() };
        self.at += 1;
        let mixed = |p: &Self| {
            p.error(9313, "This version of the server does not support multiple expressions or expressions mixed with strings in an attribute constructor.")
        };
        let mut text = String::new();
        let mut enclosed = None;
        loop {
            match self.peek() {
                None => return self.syntax(),
                Some('&') => text.push(self.reference()?),
                Some('{') if !self.rest().starts_with("{{") => {
                    if enclosed.is_some() {
                        return Err(mixed(self));
                    }
                    enclosed = Some(self.enclosed()?);
                }
                Some('<') => return self.syntax(),
                Some(c) => {
                    self.at += c.len_utf8();
                    if c == quote {
                        if self.peek() != Some(quote) {
                            break;
                        }
                        self.at += 1;
                    } else if matches!(c, '{' | '}') {
                        if self.peek() != Some(c) {
                            return self.syntax();
                        }
                        self.at += 1;
                    }
                    text.push(if is_space(c) { ' ' } else { c });
                }
            }
        }
        match enclosed {
            Some(_) if !text.is_empty() => Err(mixed(self)),
            Some(e) => Ok(e),
            None => Ok(Expr::Literal(Atom::String(text.into()))),
        }
    }

    /// What stands between the tags, and the end tag.
    fn content(&mut self, prefix: &str, local: &str) -> Result<Vec<Expr>> {
        let mut content = Vec::new();
        let (mut text, mut significant) = (String::new(), false);
        loop {
            let rest = self.rest();
            let markup = rest.starts_with('<') && !rest.starts_with("<![CDATA[");
            let enclosed = rest.starts_with('{') && !rest.starts_with("{{");
            if markup || enclosed {
                if significant {
                    let literal = Expr::Literal(Atom::String(text.as_str().into()));
                    content.push(Expr::Text(Box::new(literal)));
                }
                text.clear();
                significant = false;
            }
            match self.peek() {
                None => return self.syntax(),
                Some('<') if rest.starts_with("</") => {
                    self.at += 2;
                    let found = self.lexical_name();
                    if found != Some((prefix, local)) {
                        let shown =
                            if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") };
                        return Err(self.error(2280, &format!("The element <{shown}> was not closed")));
                    }
                    self.skip_space();
                    self.expect(">")?;
                    return Ok(content);
                }
                Some('<') if rest.starts_with("<![CDATA[") => {
                    self.at += 9;
                    text.push_str(&self.until("]]>")?);
                    significant = true;
                }
                // Elements nest as expressions do.
                Some('<') => content.push(self.single_direct()?),
                Some('{') if enclosed => content.push(self.enclosed()?),
                Some('&') => {
                    text.push(self.reference()?);
                    significant = true;
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    if matches!(c, '{' | '}') {
                        if self.peek() != Some(c) {
                            return self.syntax();
                        }
                        self.at += 1;
                    }
                    significant |= !is_space(c);
                    text.push(c);
                }
            }
        }
    }
}
