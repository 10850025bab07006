//! XML text to tree. `quick-xml` finds the markup; names, namespaces, characters and the product's errors are checked here.
//!
//! Positions in messages are line and character of where the product stops reading, as near as the tokens tell.

use crate::tree::{Builder, Document, Name, XML_NAMESPACE, is_nc_name};
use crate::{Result, XmlError};
use quick_xml::errors::{IllFormedError, SyntaxError};
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesDecl, BytesStart, Event};
use quick_xml::{Error, Reader};
use smol_str::SmolStr;

/// Where the text comes from: decides which encodings a declaration may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// One byte per character: UTF-8 and code pages.
    Narrow,
    /// National text: UTF-16.
    Wide,
    /// Bytes that have been decoded already: any.
    Any,
}

/// Parses content. White space between tags is dropped unless `preserve` or `xml:space="preserve"`.
/// Errors: 9400 to 9465 for what is not well-formed, 6359 for a DTD, 6335 for too many levels.
pub fn parse(text: &str, source: Source, preserve: bool) -> Result<Document> {
    // The mark of the byte order belongs to the encoding, not to the text.
    let text = match source {
        Source::Wide => text.strip_prefix('\u{FEFF}').unwrap_or(text),
        Source::Narrow | Source::Any => text,
    };
    let mut parser = Parser {
        text,
        source,
        builder: Builder::default(),
        scope: Vec::new(),
        levels: vec![Level { declared: 0, preserve, name: "" }],
        pending: String::new(),
        significant: false,
    };
    parser.run()?;
    Ok(parser.builder.finish())
}

struct Level<'a> {
    /// Declarations in scope before this element.
    declared: usize,
    preserve: bool,
    name: &'a str,
}

struct Parser<'a> {
    text: &'a str,
    source: Source,
    builder: Builder,
    scope: Vec<(SmolStr, SmolStr)>,
    levels: Vec<Level<'a>>,
    pending: String,
    /// The pending text is more than white space between tags.
    significant: bool,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<()> {
        let mut reader = Reader::from_str(self.text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.check_comments = true;
        config.allow_unmatched_ends = true;
        loop {
            let start = reader.buffer_position() as usize;
            let event = reader
                .read_event()
                .map_err(|e| self.token_error(&e, start, reader.error_position() as usize))?;
            let end = reader.buffer_position() as usize;
            match event {
                Event::Text(t) => {
                    if let Some(at) = t.find("]]>") {
                        return self.fail(9454, "no ']]>' in element content", start + at);
                    }
                    self.characters(&t, start)?;
                    self.significant |= !t.chars().all(is_space);
                    self.pending.push_str(&t.xml10_content());
                }
                Event::CData(t) => {
                    self.characters(&t, start)?;
                    self.significant = true;
                    self.pending.push_str(&t.xml10_content());
                }
                Event::GeneralRef(r) => {
                    self.significant = true;
                    let c = self.reference(&r, start)?;
                    self.pending.push(c);
                }
                Event::Start(tag) => {
                    self.flush();
                    self.open(self.text.get(start + 1..end - 1).unwrap_or_default(), &tag, start)?;
                }
                Event::Empty(tag) => {
                    self.flush();
                    self.open(self.text.get(start + 1..end - 1).unwrap_or_default(), &tag, start)?;
                    self.close();
                }
                Event::End(_) => {
                    self.flush();
                    let name =
                        self.text.get(start + 2..end - 1).unwrap_or_default().trim_end_matches(is_space);
                    if self.levels.len() == 1 && self.text[..start].chars().all(is_space) {
                        return self.fail(9455, "illegal qualified name character", start + 1);
                    }
                    if self.levels.len() == 1 || self.levels.last().is_some_and(|l| l.name != name) {
                        return self.fail(9436, "end tag does not match start tag", end - 1);
                    }
                    self.close();
                }
                Event::Comment(c) => {
                    self.flush();
                    self.characters(&c, start + 4)?;
                    self.builder.comment(c.xml10_content().as_ref().into());
                }
                Event::PI(pi) => {
                    self.flush();
                    let target = pi.target();
                    if target.eq_ignore_ascii_case("xml") {
                        return self.fail(
                            9439,
                            "namespaces beginning with \"xml\" are reserved",
                            start + 1 + target.len(),
                        );
                    }
                    if !is_nc_name(target) {
                        return self.fail(9421, "illegal name character", start + 2);
                    }
                    let text: SmolStr = pi.content().trim_start_matches(is_space).into();
                    self.builder.instruction(target, text);
                }
                Event::Decl(decl) => self.declaration(&decl, start, end)?,
                Event::DocType(_) if self.levels.len() > 1 => {
                    return self.fail(9422, "incorrect document syntax", start + 2);
                }
                Event::DocType(_) => {
                    return Err(XmlError::new(
                        6359,
                        "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 to enable limited internal subset DTD support.",
                    ));
                }
                Event::Eof => break,
            }
        }
        self.flush();
        if self.levels.len() > 1 {
            return self.fail(9400, "unexpected end of input", self.last());
        }
        Ok(())
    }

    /// Byte position of the last character.
    fn last(&self) -> usize {
        self.text.char_indices().next_back().map_or(0, |(at, _)| at)
    }

    #[cold]
    fn fail<T>(&self, number: i32, what: &str, at: usize) -> Result<T> {
        Err(error(self.text, number, what, at))
    }

    fn flush(&mut self) {
        let preserve = self.levels.last().is_some_and(|l| l.preserve);
        if self.significant || preserve {
            self.builder.text(self.pending.as_str().into());
        }
        self.pending.clear();
        self.significant = false;
    }

    /// Characters that XML does not have.
    fn characters(&self, text: &str, start: usize) -> Result<()> {
        match text.char_indices().find(|(_, c)| !is_xml_char(*c)) {
            Some((at, _)) => self.fail(9420, "illegal xml character", start + at),
            None => Ok(()),
        }
    }

    /// The character of `&name;` or `&#…;` at `start`.
    fn reference(&self, name: &str, start: usize) -> Result<char> {
        let end = start + 1 + name.len();
        if let Some(number) = name.strip_prefix('#') {
            let (digits, radix) = match number.strip_prefix('x') {
                Some(hex) => (hex, 16),
                None => (number, 10),
            };
            let at = end - digits.len();
            let bad = digits.char_indices().find(|(_, c)| !c.is_digit(radix)).map(|(i, _)| i);
            if let Some(bad) = bad.or(digits.is_empty().then_some(0)) {
                return match radix {
                    16 => self.fail(9416, "hexadecimal digit expected", at + bad),
                    _ => self.fail(9417, "decimal digit expected", at + bad),
                };
            }
            let c =
                u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).filter(|c| is_xml_char(*c));
            return c.map_or_else(|| self.fail(9420, "illegal xml character", end), Ok);
        }
        match name {
            "lt" => Ok('<'),
            "gt" => Ok('>'),
            "amp" => Ok('&'),
            "apos" => Ok('\''),
            "quot" => Ok('"'),
            _ if is_nc_name(name) => self.fail(9448, "well formed check: undeclared entity", end),
            _ => {
                let good = name
                    .chars()
                    .take_while(|c| crate::tree::is_name_char(*c))
                    .map(char::len_utf8)
                    .sum::<usize>();
                if good == 0 {
                    self.fail(9421, "illegal name character", start + 1)
                } else {
                    self.fail(9411, "semicolon expected", start + 1 + good)
                }
            }
        }
    }

    /// An attribute's value: references resolved, white space made blanks.
    fn value(&self, raw: &str, start: usize) -> Result<SmolStr> {
        if !raw.contains(['&', '<', '\r', '\n', '\t']) && raw.chars().all(is_xml_char) {
            return Ok(raw.into());
        }
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(c) = rest.chars().next() {
            let at = start + raw.len() - rest.len();
            match c {
                '<' => return self.fail(9415, "well formed check: no '<' in attribute value", at),
                '&' => {
                    let Some(semicolon) = rest.find(';') else {
                        return self
                            .reference(&rest[1..], at)
                            .and_then(|_| self.fail(9411, "semicolon expected", at));
                    };
                    out.push(self.reference(&rest[1..semicolon], at)?);
                    rest = &rest[semicolon + 1..];
                    continue;
                }
                '\r' if rest.starts_with("\r\n") => {}
                '\r' | '\n' | '\t' => out.push(' '),
                c if is_xml_char(c) => out.push(c),
                _ => return self.fail(9420, "illegal xml character", at),
            }
            rest = &rest[c.len_utf8()..];
        }
        Ok(out.into())
    }

    fn open(&mut self, content: &'a str, tag: &BytesStart<'_>, start: usize) -> Result<()> {
        let length = tag.name().0.len();
        let written = content.get(..length).unwrap_or_default();
        let (prefix, local) = self.split(written, start + 1)?;
        let declared = self.scope.len();
        let mut preserve = self.levels.last().is_some_and(|l| l.preserve);
        let mut attributes: Vec<(&str, &str, SmolStr)> = Vec::new();
        let mut namespaces: Vec<(SmolStr, SmolStr)> = Vec::new();
        let base = start + 1;
        // Where most of what is wrong with a whole tag is found out.
        let end = base + content.len();
        let mut after = length;
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|e| self.attribute_error(&e, base, content))?;
            let raw: &str = &attribute.value;
            let Some(key_at) = content[after..].find(attribute.key.0).map(|i| after + i) else { continue };
            let key = &content[key_at..key_at + attribute.key.0.len()];
            let Some(value_at) =
                content[key_at + key.len()..].find(['"', '\'']).map(|i| key_at + key.len() + i + 1)
            else {
                continue;
            };
            if key_at == after {
                return self.fail(9410, "whitespace expected", base + key_at);
            }
            after = value_at + raw.len() + 1;
            let (p, l) = self.split(key, base + key_at)?;
            let value = self.value(raw, base + value_at)?;
            match (p, l) {
                ("", "xmlns") | ("xmlns", _) => {
                    let prefix = if p.is_empty() { "" } else { l };
                    self.declare(prefix, value, &mut namespaces, end)?;
                }
                _ => {
                    if p == "xml" && l == "space" {
                        preserve = value == "preserve";
                    }
                    attributes.push((p, l, value));
                }
            }
        }
        self.scope.extend(namespaces.iter().cloned());
        let uri = self.uri(prefix, end)?;
        self.builder.open(&Name { prefix: prefix.into(), local: local.into(), uri })?;
        for (prefix, uri) in namespaces {
            self.builder.namespace(&prefix, uri);
        }
        for (p, l, value) in attributes {
            let uri = if p.is_empty() { SmolStr::default() } else { self.uri(p, end)? };
            let name = Name { prefix: p.into(), local: l.into(), uri };
            if self.builder.has_attribute(&name) {
                return self.fail(9437, "duplicate attribute", end);
            }
            self.builder.attribute(&name, value);
        }
        self.levels.push(Level { declared, preserve, name: written });
        Ok(())
    }

    fn declare(
        &self,
        prefix: &str,
        uri: SmolStr,
        own: &mut Vec<(SmolStr, SmolStr)>,
        at: usize,
    ) -> Result<()> {
        if prefix == "xmlns" {
            return self.fail(9465, "XML namespace prefix 'xmlns' is reserved for use by XML.", at);
        }
        if (prefix == "xml") != (uri == XML_NAMESPACE) {
            return self.fail(
                9464,
                "XML namespace prefix 'xml' can only be associated with the URI http://www.w3.org/XML/1998/namespace. This URI cannot be used with other prefixes.",
                at,
            );
        }
        if uri.is_empty() && !prefix.is_empty() {
            return self.fail(9460, "non default namespace with empty uri", at);
        }
        if own.iter().any(|(p, _)| p == prefix) {
            return self.fail(9458, "redeclared prefix", at);
        }
        own.push((prefix.into(), uri));
        Ok(())
    }

    fn uri(&self, prefix: &str, at: usize) -> Result<SmolStr> {
        if prefix == "xml" {
            return Ok(XML_NAMESPACE.into());
        }
        match self.scope.iter().rev().find(|(p, _)| p == prefix) {
            Some((_, uri)) => Ok(uri.clone()),
            None if prefix.is_empty() => Ok(SmolStr::default()),
            None => self.fail(9459, "undeclared prefix", at),
        }
    }

    fn split(&self, name: &'a str, at: usize) -> Result<(&'a str, &'a str)> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        if let Some(second) = local.find(':') {
            return self.fail(9456, "multiple colons in qualified name", at + prefix.len() + 1 + second);
        }
        let whole = name.contains(':');
        if is_nc_name(local) && (!whole || is_nc_name(prefix)) {
            return Ok((prefix, local));
        }
        let good = |c: char| crate::tree::is_name_char(c) || c == ':';
        let bad = name
            .char_indices()
            .position(|(i, c)| if i == 0 { !crate::tree::is_name_start(c) } else { !good(c) });
        self.fail(9455, "illegal qualified name character", at + bad.unwrap_or(0))
    }

    fn close(&mut self) {
        self.builder.close();
        if let Some(level) = self.levels.pop() {
            self.scope.truncate(level.declared);
        }
    }

    fn declaration(&mut self, decl: &BytesDecl<'_>, start: usize, end: usize) -> Result<()> {
        if start > 0 {
            return self.fail(9438, "text/xmldecl not at the beginning of input", start + 5);
        }
        match decl.version() {
            Ok(v) if v == "1.0" => {}
            Ok(_) => {
                let at = self
                    .text
                    .find("version")
                    .and_then(|v| self.text[v..end].find(['"', '\'']).map(|q| v + q + 4));
                return self.fail(9441, "incorrect xml declaration syntax", at.unwrap_or(end - 1));
            }
            Err(_) => return self.fail(9441, "incorrect xml declaration syntax", end - 1),
        }
        let Some(Ok(encoding)) = decl.encoding() else { return Ok(()) };
        let at = end - 1;
        let encoding = encoding.to_ascii_lowercase();
        let wide = matches!(encoding.as_str(), "utf-16" | "ucs-2" | "utf-16le" | "unicode");
        let known = wide
            || ["utf-8", "utf8", "us-ascii", "ascii"].contains(&encoding.as_str())
            || ["iso-", "windows-", "cp"].iter().any(|p| encoding.starts_with(p));
        if !known {
            return self.fail(9401, "unrecognized encoding", at);
        }
        match (self.source, wide) {
            (Source::Narrow, true) | (Source::Wide, false) => {
                self.fail(9402, "unable to switch the encoding", at)
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn attribute_error(&self, e: &AttrError, base: usize, content: &str) -> Box<XmlError> {
        let (number, what, at) = match e {
            AttrError::ExpectedEq(at) => (9414, "equal expected", (*at).min(content.len())),
            AttrError::ExpectedValue(at) | AttrError::UnquotedValue(at) => {
                (9413, "A string literal was expected", *at)
            }
            AttrError::ExpectedQuote(..) => (9400, "unexpected end of input", content.len()),
            AttrError::Duplicated(at, _) => (9437, "duplicate attribute", *at),
        };
        error(self.text, number, what, base + at)
    }

    #[cold]
    fn token_error(&self, e: &Error, start: usize, position: usize) -> Box<XmlError> {
        let end = self.last();
        let (number, what, at) = match e {
            Error::Syntax(SyntaxError::UnclosedCData) => (9423, "incorrect CDATA section syntax", end),
            Error::Syntax(SyntaxError::UnclosedComment) => (9424, "incorrect comment syntax", end),
            Error::Syntax(SyntaxError::UnclosedPI | SyntaxError::UnclosedXmlDecl) => {
                (9451, "incorrect processing instruction syntax", end)
            }
            Error::Syntax(SyntaxError::InvalidBangMarkup | SyntaxError::UnclosedDoctype) => {
                (9422, "incorrect document syntax", start + 2)
            }
            Error::Syntax(SyntaxError::UnclosedTag) => self.unclosed_tag(start, end),
            Error::IllFormed(IllFormedError::DoubleHyphenInComment) => {
                let at = self.text[start + 4..].find("--").map_or(position, |i| start + 4 + i + 2);
                (9412, "'>' expected", at)
            }
            Error::IllFormed(IllFormedError::UnclosedReference) => {
                let name =
                    self.text[start + 1..].chars().take_while(|c| crate::tree::is_name_char(*c)).count();
                if name == 0 {
                    (9421, "illegal name character", start + 1)
                } else {
                    (9411, "semicolon expected", start + 1 + name)
                }
            }
            Error::IllFormed(IllFormedError::MissingDeclVersion(_) | IllFormedError::UnknownVersion) => {
                (9441, "incorrect xml declaration syntax", end)
            }
            Error::InvalidAttr(e) => return self.attribute_error(e, start + 1, &self.text[start + 1..]),
            _ => (9400, "unexpected end of input", end),
        };
        error(self.text, number, what, at)
    }

    /// A tag that the text ends in.
    fn unclosed_tag(&self, start: usize, end: usize) -> (i32, &'static str, usize) {
        let content = &self.text[start + 1..];
        if let Some(name) = content.strip_prefix('/') {
            return if name.is_empty() {
                (9400, "unexpected end of input", end)
            } else {
                (9412, "'>' expected", end)
            };
        }
        let last_word = content.trim_end_matches(is_space).rsplit(is_space).next().unwrap_or_default();
        if content.contains(is_space) && !last_word.is_empty() && !last_word.contains(['=', '"', '\'']) {
            return (9414, "equal expected", end);
        }
        (9400, "unexpected end of input", end)
    }
}

/// An error at a byte position.
fn error(text: &str, number: i32, what: &str, at: usize) -> Box<XmlError> {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (mut line, mut character, mut before) = (1u32, 1u32, ' ');
    for c in text[..end].chars() {
        match c {
            '\n' if before == '\r' => {}
            '\n' | '\r' => (line, character) = (line + 1, 1),
            _ => character += 1,
        }
        before = c;
    }
    XmlError::new(number, format!("XML parsing: line {line}, character {character}, {what}"))
}

/// White space of XML.
#[must_use]
pub fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// A character that XML 1.0 allows.
pub(crate) fn is_xml_char(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
}
