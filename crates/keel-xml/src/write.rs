//! Tree to text, as the product writes it: no declaration, empty elements closed at once, quotes double.
//!
//! A node written out of its document loses the declarations of the elements above it. What it uses of them is declared
//! again: with a prefix of the query's prolog when that has one for the namespace, else with `p1`, `p2`, ….

use crate::parse::is_xml_char;
use crate::tree::{Document, Kind, ROOT, XML_NAMESPACE};
use crate::{Result, XmlError};
use smol_str::{SmolStr, format_smolstr};

/// What a query or a statement made may be kept: error 6309 for a character that no xml can hold, escaped or not.
pub(crate) fn refuse_illegal(text: &str) -> Result<()> {
    match text.chars().find(|c| !is_xml_char(*c)) {
        None => Ok(()),
        Some(c) => Err(XmlError::new(
            6309,
            format!(
                "XML well-formedness check: the data for node 'NoName' contains a character (0x{:04X}) which is not allowed in XML.",
                u32::from(c)
            ),
        )),
    }
}

/// All of a document.
#[must_use]
pub fn document(document: &Document) -> String {
    let mut w = Writer::default();
    w.node(document, ROOT);
    w.out
}

/// Writes nodes one after the other.
#[derive(Debug, Default)]
pub struct Writer {
    /// What has been written.
    pub out: String,
    /// Prefixes of the prolog; an empty one for elements without prefix.
    preferred: Vec<(SmolStr, SmolStr)>,
    /// Declarations in force, innermost last: prefix and URI.
    scope: Vec<(SmolStr, SmolStr)>,
    generated: u32,
}

impl Writer {
    /// A writer that declares these prefixes rather than make some up; an empty one is for elements without prefix.
    #[must_use]
    pub fn preferring(preferred: Vec<(SmolStr, SmolStr)>) -> Writer {
        Writer { preferred, ..Writer::default() }
    }

    /// Writes a node with all below it.
    pub fn node(&mut self, d: &Document, id: u32) {
        let node = d.node(id);
        match node.kind {
            Kind::Document => d.children(id).for_each(|c| self.node(d, c)),
            Kind::Element => self.element(d, id),
            Kind::Text => escape(&node.text, false, &mut self.out),
            Kind::Comment => {
                self.out.push_str("<!--");
                self.out.push_str(&node.text);
                self.out.push_str("-->");
            }
            Kind::Instruction => {
                self.out.push_str("<?");
                self.out.push_str(&node.name.local);
                if !node.text.is_empty() {
                    self.out.push(' ');
                    self.out.push_str(&node.text);
                }
                self.out.push_str("?>");
            }
            Kind::Attribute | Kind::Namespace => {}
        }
    }

    fn element(&mut self, d: &Document, id: u32) {
        let mark = self.scope.len();
        let own = d.attributes(id).map(|a| d.node(a));
        for n in own.filter(|n| n.kind == Kind::Namespace) {
            self.scope.push((n.name.local.clone(), n.text.clone()));
        }
        let declared = self.scope.len();
        let name = &d.node(id).name;
        let tag = self.bound(&name.prefix, &name.local, &name.uri, true);
        self.out.push('<');
        self.out.push_str(&tag);
        self.declare(declared);
        for a in d.attributes(id).map(|a| d.node(a)) {
            if a.kind == Kind::Namespace {
                self.declaration(&a.name.local, &a.text);
                continue;
            }
            let before = self.scope.len();
            let tag = self.bound(&a.name.prefix, &a.name.local, &a.name.uri, false);
            self.declare(before);
            self.out.push(' ');
            self.out.push_str(&tag);
            self.out.push_str("=\"");
            escape(&a.text, true, &mut self.out);
            self.out.push('"');
        }
        let mut children = d.children(id).peekable();
        if children.peek().is_none() {
            self.out.push_str("/>");
        } else {
            self.out.push('>');
            children.for_each(|c| self.node(d, c));
            self.out.push_str("</");
            self.out.push_str(&tag);
            self.out.push('>');
        }
        self.scope.truncate(mark);
    }

    /// Writes the declarations that were made since `from`.
    fn declare(&mut self, from: usize) {
        for at in from..self.scope.len() {
            let (prefix, uri) = self.scope[at].clone();
            self.declaration(&prefix, &uri);
        }
    }

    fn declaration(&mut self, prefix: &str, uri: &str) {
        self.out.push_str(" xmlns");
        if !prefix.is_empty() {
            self.out.push(':');
            self.out.push_str(prefix);
        }
        self.out.push_str("=\"");
        escape(uri, true, &mut self.out);
        self.out.push('"');
    }

    fn uri_of(&self, prefix: &str) -> Option<&SmolStr> {
        self.scope.iter().rev().find(|(p, _)| p == prefix).map(|(_, uri)| uri)
    }

    /// The name to write, with a declaration pushed when what is in scope does not give it its namespace.
    fn bound(&mut self, prefix: &str, local: &str, uri: &SmolStr, element: bool) -> SmolStr {
        if uri.is_empty() {
            if element && self.uri_of("").is_some_and(|u| !u.is_empty()) {
                self.scope.push((SmolStr::default(), SmolStr::default()));
            }
            return local.into();
        }
        if uri == XML_NAMESPACE {
            return format_smolstr!("xml:{local}");
        }
        let with = |p: &str| if p.is_empty() { local.into() } else { format_smolstr!("{p}:{local}") };
        if (element || !prefix.is_empty()) && self.uri_of(prefix) == Some(uri) {
            return with(prefix);
        }
        let usable = |p: &SmolStr| element || !p.is_empty();
        let known =
            self.scope.iter().rev().find(|(p, u)| u == uri && usable(p) && self.uri_of(p) == Some(uri));
        if let Some((p, _)) = known {
            return with(p);
        }
        let preferred =
            self.preferred.iter().rev().find(|(p, u)| u == uri && usable(p)).map(|(p, _)| p.clone());
        let chosen = preferred.unwrap_or_else(|| {
            loop {
                self.generated += 1;
                let p = format_smolstr!("p{}", self.generated);
                if self.uri_of(&p).is_none() {
                    break p;
                }
            }
        });
        self.scope.push((chosen.clone(), uri.clone()));
        with(&chosen)
    }
}

/// Appends text with what markup would misread as references.
pub fn escape(text: &str, attribute: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0D;"),
            '"' if attribute => out.push_str("&quot;"),
            '\t' if attribute => out.push_str("&#x09;"),
            '\n' if attribute => out.push_str("&#x0A;"),
            c => out.push(c),
        }
    }
}
