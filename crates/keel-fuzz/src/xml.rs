//! A document and a query of xml, a zero byte between them: text to tree and back, and both languages over it.

use keel_xml::modify::Statement;
use keel_xml::parse::{Source, parse};
use keel_xml::query::{Method, Query, Run, root};
use keel_xml::{XmlError, normalize, write};
use std::rc::Rc;

/// So much may one evaluation build or visit.
struct Bounded(usize);

impl Run for Bounded {
    fn go_on(&mut self, bytes: usize) -> keel_xml::Result<()> {
        self.0 = self.0.saturating_sub(bytes.max(1 << 10));
        if self.0 == 0 { Err(XmlError::new(701, "enough")) } else { Ok(()) }
    }
}

/// Valid inputs: every kind of node, and queries that name them.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let document = r#"<?xml version="1.0"?><r xmlns:p="urn:p"><i id="1" p:k="x">a<b/>&amp;&#65;</i><!-- c --><?t d?><![CDATA[<]]></r>"#;
    let queries = [
        "(/r/i/@id)[1]",
        r#"for $i in /r/i where $i/@id = "1" order by $i return <z a="{$i/@id}">{$i/text()}</z>"#,
        r#"insert <n/> as first into (/r)[1]"#,
        r#"replace value of (/r/i/@id)[1] with "2""#,
        "delete //b",
        "sum(for $x in //i return count($x/*)) + string-length(string((//i)[last()]))",
    ];
    queries.map(|query| [document.as_bytes(), &[0], query.as_bytes()].concat()).to_vec()
}

/// What is kept of a text is kept as it is; a query ends.
pub fn run(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let mut next = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (text, query) = (next(), next());
    for preserve in [true, false] {
        if let Ok(kept) = normalize(&text, Source::Any, preserve) {
            let again = normalize(&kept, Source::Any, true).expect("what is kept is xml");
            assert_eq!(again, kept, "kept of {text}");
        }
    }
    let document = parse(&text, Source::Any, true).or_else(|_| parse("<r/>", Source::Any, true));
    let document = Rc::new(document.expect("an element"));
    if let Ok(query) = Query::parse(&query, "query()", &[])
        && query.externals.is_empty()
        && query.check(Method::Query, &[], &Context::instance(None)).is_ok()
        && let Ok(items) = query.run(root(Rc::clone(&document)), &[], &mut Bounded(1 << 22))
        && let Ok(text) = query.text(&items)
    {
        parse(&text, Source::Any, true).expect("an answer is xml");
    }
    if let Ok(statement) = Statement::parse(&query, "modify()", &[])
        && statement.externals.is_empty()
        && statement.check(&[], &Context::instance(None)).is_ok()
        && let Ok(changed) = statement.run(&document, &[], &mut Bounded(1 << 22))
    {
        parse(&write::document(&changed), Source::Any, true).expect("what was changed is xml");
    }
}
