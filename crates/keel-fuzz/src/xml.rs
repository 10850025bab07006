//! A document and a query of xml, a zero byte between them: text to tree and back, and both languages over it.

use keel_xml::modify::Statement;
use keel_xml::parse::{Source, parse};
use keel_xml::query::{Context, Method, Query, Run, root};
use keel_xml::schema::read::read;
use keel_xml::schema::validate::validate;
use keel_xml::{XmlError, normalize, write};
use std::rc::Rc;
use std::sync::Arc;

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

/// Valid inputs of [`run_schema`]: a schema and an instance of it.
#[must_use]
pub fn schema_seeds() -> Vec<Vec<u8>> {
    let schema = |inside: &str| {
        format!(
            r#"<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" xmlns="urn:a" targetNamespace="urn:a">{inside}</s:schema>"#
        )
    };
    let pairs = [
        (
            r###"<s:element name="r"><s:complexType mixed="true"><s:sequence minOccurs="0" maxOccurs="3"><s:element name="a" type="s:int" maxOccurs="9"/><s:choice><s:element name="b" type="s:date"/><s:any namespace="##other" processContents="lax"/></s:choice></s:sequence><s:attribute name="k" type="s:decimal" default="1.0"/></s:complexType></s:element>"###,
            r###"<r xmlns="urn:a" k="2">x<a xmlns="">1</a><b xmlns="">2020-01-01</b></r>"###,
        ),
        (
            r###"<s:complexType name="t" abstract="true"><s:all><s:element name="x" type="u" minOccurs="0"/></s:all></s:complexType><s:complexType name="v"><s:complexContent><s:restriction base="t"><s:all/></s:restriction></s:complexContent></s:complexType><s:simpleType name="u"><s:union memberTypes="s:int l"/></s:simpleType><s:simpleType name="l"><s:list itemType="p"/></s:simpleType><s:simpleType name="p"><s:restriction base="s:token"><s:pattern value="[a-c-[b]]+\d?"/><s:maxLength value="4"/></s:restriction></s:simpleType><s:element name="e" type="t" nillable="true"/><s:element name="f" type="v" substitutionGroup="e"/>"###,
            r###"<e xmlns="urn:a" xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="v"/>"###,
        ),
        (
            r###"<s:group name="g"><s:sequence><s:element ref="h" minOccurs="2" maxOccurs="unbounded"/></s:sequence></s:group><s:attributeGroup name="q"><s:attribute name="z" type="s:duration"/><s:anyAttribute/></s:attributeGroup><s:element name="h"><s:complexType><s:simpleContent><s:extension base="s:dateTime"><s:attributeGroup ref="q"/></s:extension></s:simpleContent></s:complexType></s:element><s:element name="r"><s:complexType><s:group ref="g"/></s:complexType></s:element>"###,
            r###"<r xmlns="urn:a"><h z="P1Y">2020-01-01T24:00:00Z</h><h>2020-01-01T00:00:00.10</h></r>"###,
        ),
    ];
    pairs.map(|(inside, instance)| [schema(inside).as_bytes(), &[0], instance.as_bytes()].concat()).to_vec()
}

/// A schema is compiled or refused; what it says is valid is so in the form in which it is kept, too.
pub fn run_schema(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let mut next = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (schema, instance) = (next(), next());
    let Ok(schema) = read(&[schema], 0) else { return };
    let schema = Arc::new(schema);
    let Ok(document) = parse(&instance, Source::Any, false) else { return };
    let Ok(valid) = validate(&document, &schema, false) else { return };
    let kept = write::document(&valid);
    let again = parse(&kept, Source::Any, true).expect("what is kept is xml");
    let again = validate(&again, &schema, false).expect("what is kept is valid");
    assert_eq!(write::document(&again), kept, "kept of {instance}");
}
