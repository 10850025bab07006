//! The text of stored documents, by the extension that a TYPE COLUMN gives.
//!
//! Three kinds of documents are read: plain text (also in UTF-16 with a byte order mark), HTML and XML. Anything else has no text
//! here, and its column is not indexed.

use quick_xml::events::Event;

/// Bytes of a document, or of a text, that are read at most.
pub const LENGTH_MAX: usize = 64 << 20;

/// How a kind of document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Html,
    Xml,
}

/// Extensions of the documents that are read, with their dots, in order.
const TYPES: &[(&str, Kind)] = &[
    (".asc", Kind::Text),
    (".asm", Kind::Text),
    (".asp", Kind::Html),
    (".aspx", Kind::Html),
    (".bat", Kind::Text),
    (".c", Kind::Text),
    (".cmd", Kind::Text),
    (".cpp", Kind::Text),
    (".cs", Kind::Text),
    (".css", Kind::Text),
    (".csv", Kind::Text),
    (".cxx", Kind::Text),
    (".h", Kind::Text),
    (".hpp", Kind::Text),
    (".htm", Kind::Html),
    (".html", Kind::Html),
    (".idl", Kind::Text),
    (".inc", Kind::Text),
    (".inf", Kind::Text),
    (".ini", Kind::Text),
    (".java", Kind::Text),
    (".js", Kind::Text),
    (".log", Kind::Text),
    (".md", Kind::Text),
    (".php", Kind::Html),
    (".pl", Kind::Text),
    (".py", Kind::Text),
    (".rc", Kind::Text),
    (".reg", Kind::Text),
    (".rs", Kind::Text),
    (".sql", Kind::Text),
    (".svg", Kind::Xml),
    (".text", Kind::Text),
    (".tsv", Kind::Text),
    (".txt", Kind::Text),
    (".vbs", Kind::Text),
    (".wsdl", Kind::Xml),
    (".xhtml", Kind::Html),
    (".xml", Kind::Xml),
    (".xsd", Kind::Xml),
    (".xsl", Kind::Xml),
    (".xslt", Kind::Xml),
];

/// The extensions of documents that are read, with their dots.
pub fn types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(extension, _)| *extension)
}

/// The part of a text that is read.
#[must_use]
pub fn beginning(text: &str) -> &str {
    beginning_of_text(text, LENGTH_MAX)
}

fn beginning_of_text(text: &str, length_max: usize) -> &str {
    text.get(..text.floor_char_boundary(length_max)).unwrap_or_default()
}

/// The same of bytes that are a text in UTF-8, perhaps.
fn beginning_of_bytes(document: &[u8], length_max: usize) -> &[u8] {
    let within = |at: &usize| document.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (length_max.saturating_sub(3)..=length_max).rev().find(|at| !within(at)).unwrap_or(length_max);
    document.get(..end).unwrap_or(document)
}

/// The text of a document, of which [`LENGTH_MAX`] bytes are read; `None` when documents of that extension are not read. The extension may
/// lack its dot.
#[must_use]
pub fn text_of(extension: &str, document: &[u8]) -> Option<String> {
    let extension = extension.trim().to_ascii_lowercase();
    let extension = extension.trim_start_matches('.');
    let (_, kind) = TYPES.iter().find(|(known, _)| known.get(1..) == Some(extension))?;
    let text = decoded(beginning_of_bytes(document, LENGTH_MAX));
    Some(match kind {
        Kind::Text => text,
        Kind::Html => html(&text),
        Kind::Xml => xml(&text),
    })
}

/// Bytes as text: by their byte order mark, else UTF-8, else Windows-1252.
fn decoded(bytes: &[u8]) -> String {
    if let Some((encoding, mark)) = encoding_rs::Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0.into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned(),
    }
}

/// What a browser would show of a page, and its title.
#[must_use]
pub fn html(page: &str) -> String {
    use html5gum::{Token, Tokenizer};

    let mut text = String::new();
    let mut unseen = 0_u32;
    for Ok(token) in Tokenizer::new(page) {
        match token {
            Token::StartTag(tag) => {
                let hides = matches!(&tag.name[..], b"script" | b"style");
                unseen += u32::from(hides && !tag.self_closing);
                text.push(' ');
            }
            Token::EndTag(tag) => {
                unseen = unseen.saturating_sub(u32::from(matches!(&tag.name[..], b"script" | b"style")));
                text.push(' ');
            }
            Token::String(part) if unseen == 0 => text.push_str(&String::from_utf8_lossy(&part)),
            _ => {}
        }
    }
    text
}

/// The texts and attributes of an XML document, attributes that are numbers apart. It ends where it is not well-formed.
#[must_use]
pub fn xml(document: &str) -> String {
    let mut text = String::new();
    let mut reader = quick_xml::Reader::from_str(document);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                text.push(' ');
                for attribute in tag.attributes().flatten() {
                    let value = quick_xml::escape::unescape(&attribute.value).unwrap_or_default();
                    if value.trim().parse::<f64>().is_err() {
                        text.push_str(&value);
                        text.push(' ');
                    }
                }
            }
            Ok(Event::End(_)) => text.push(' '),
            Ok(Event::Text(part)) => text.push_str(&part),
            Ok(Event::CData(part)) => text.push_str(&part),
            Ok(Event::GeneralRef(name)) => {
                let reference = format!("&{};", &*name);
                text.push_str(&quick_xml::escape::unescape(&reference).unwrap_or_default());
            }
            Ok(Event::Eof) | Err(_) => return text,
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(extension: &str, document: &[u8], expected: Option<&str>) {
        let text = text_of(extension, document);
        let words = text.as_deref().map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(words.as_deref(), expected);
    }

    #[test]
    fn beginnings_end_between_characters() {
        let all = [(0, ""), (1, "a"), (2, "a"), (3, "a"), (4, "a€"), (5, "a€b"), (9, "a€b")];
        for (length, expected) in all {
            assert_eq!(beginning_of_text("a€b", length), expected);
            assert_eq!(beginning_of_bytes("a€b".as_bytes(), length), expected.as_bytes());
        }
        assert_eq!(beginning_of_bytes(&[0x80; 9], 5), [0x80; 5]);
    }

    #[test]
    fn texts_of_documents() {
        assert!(TYPES.is_sorted_by_key(|(extension, _)| extension));
        check(".txt", b"plain text", Some("plain text"));
        check("TXT", b"\xff\xfeh\0i\0", Some("hi"));
        check(".txt", b"caf\xe9", Some("café"));
        check(".html", b"<title>T&amp;x</title><script>no()</script><p>one<b>two", Some("T&x one two"));
        check(
            ".xml",
            b"<a n='12' t='four &lt; five'>one<b>two</b><![CDATA[three]]> a&amp;b</a>",
            Some("four < five one two three a&b"),
        );
        check(".xml", b"<a>one<b", Some("one"));
        check(".doc", b"...", None);
        check("", b"...", None);
    }
}
