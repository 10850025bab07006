//! Schemas and instances, and what hostile ones meet.

use super::read::read;
use super::validate::validate;
use crate::parse::{Source, parse};
use crate::write;
use proptest::prelude::*;
use std::sync::Arc;

/// The instance as kept, or the error, of a schema's content.
fn of(schema: &str, instance: &str) -> String {
    let text = format!(r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{schema}</xs:schema>"#);
    with(&text, instance)
}

fn with(schema: &str, instance: &str) -> String {
    let schema = match read(&[schema.to_owned()], 0) {
        Ok(schema) => Arc::new(schema),
        Err(e) => return format!("schema {e}"),
    };
    let document = parse(instance, Source::Any, false).expect("well-formed");
    match validate(&document, &schema, false) {
        Ok(valid) => write::document(&valid),
        Err(e) => e.to_string(),
    }
}

const PRIMITIVES: &str = r#"
    <xs:simpleType name="decList"><xs:list itemType="xs:decimal"/></xs:simpleType>
    <xs:simpleType name="decOrBool"><xs:union memberTypes="xs:decimal xs:boolean"/></xs:simpleType>
    <xs:element name="dec" type="xs:decimal"/><xs:element name="int" type="xs:integer"/>
    <xs:element name="bool" type="xs:boolean"/><xs:element name="dbl" type="xs:double"/>
    <xs:element name="flt" type="xs:float"/><xs:element name="str" type="xs:string"/>
    <xs:element name="nstr" type="xs:normalizedString"/><xs:element name="tok" type="xs:token"/>
    <xs:element name="dt" type="xs:dateTime"/><xs:element name="dat" type="xs:date"/>
    <xs:element name="tm" type="xs:time"/><xs:element name="dur" type="xs:duration"/>
    <xs:element name="hex" type="xs:hexBinary"/><xs:element name="b64" type="xs:base64Binary"/>
    <xs:element name="year" type="xs:gYear"/><xs:element name="md" type="xs:gMonthDay"/>
    <xs:element name="day" type="xs:gDay"/><xs:element name="month" type="xs:gMonth"/>
    <xs:element name="ym" type="xs:gYearMonth"/>
    <xs:element name="lst" type="decList"/><xs:element name="uni" type="decOrBool"/>"#;

#[test]
fn values_are_kept_in_the_form_of_their_types() {
    let rows = [
        ("dec", "1.00", "1"),
        ("dec", ".5", "0.5"),
        ("dec", "+5.", "5"),
        ("dec", "-0.0", "0"),
        ("int", "+007", "7"),
        ("dbl", "1.0E2", "100"),
        ("dbl", "0.50", "0.5"),
        ("dbl", "999999", "999999"),
        ("dbl", "1000000", "1.0E6"),
        ("dbl", "1e-6", "0.000001"),
        ("dbl", "0.0000005", "5.0E-7"),
        ("dbl", "0", "0.0E0"),
        ("dbl", "-0", "-0.0E0"),
        ("dbl", "INF", "INF"),
        ("dbl", "1234567890123456789", "1.23456789012346E18"),
        ("flt", "1234567890123456789", "1.234568E18"),
        ("flt", "21000", "21000"),
        ("str", "  a  b  ", "  a  b  "),
        ("nstr", "  a &#x9; b  ", "  a   b  "),
        ("tok", "  a  b  ", "a b"),
        ("dt", "2020-01-02T03:04:05.000+02:00", "2020-01-02T03:04:05+02:00"),
        ("dt", "2020-01-02T03:04:05+00:00", "2020-01-02T03:04:05Z"),
        ("dt", "2020-01-02T24:00:00", "2020-01-03T00:00:00"),
        ("dat", "2020-01-02-00:00", "2020-01-02Z"),
        ("tm", "03:04:05.1200", "03:04:05.12"),
        ("tm", "24:00:00", "00:00:00"),
        ("bool", "1", "true"),
        ("hex", "ABcd", "ABCD"),
        ("b64", "YW Jj", "YWJj"),
        ("dur", "P1Y2M3DT4H5M6.000S", "P1Y2M3DT4H5M6S"),
        ("dur", "P0Y", "PT0S"),
        ("dur", "-P14M", "-P1Y2M"),
        ("lst", "  1.50   2.00  ", "1.5 2"),
        ("uni", "2.50", "2.5"),
        ("uni", "1", "1"),
        ("year", "1996", "1996"),
        ("md", "--02-29", "--02-29"),
        ("day", "---31", "---31"),
        ("month", "--12Z", "--12Z"),
        ("ym", "2020-02", "2020-02"),
    ];
    for (element, written, kept) in rows {
        let found = of(PRIMITIVES, &format!("<{element}>{written}</{element}>"));
        assert_eq!(found, format!("<{element}>{kept}</{element}>"), "{written}");
    }
    for (element, bad) in [
        ("int", "1.5"),
        ("dec", "1e2"),
        ("bool", "yes"),
        ("dat", "2020-02-30"),
        ("dbl", "inf"),
        ("md", "--13-01"),
        ("dur", "P"),
    ] {
        let found = of(PRIMITIVES, &format!("<{element}>{bad}</{element}>"));
        assert_eq!(
            found,
            format!("6926: XML Validation: Invalid simple type value: '{bad}'. Location: /*:{element}[1]")
        );
    }
}

#[test]
fn content_models_say_what_they_expected() {
    let schema = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified">
        <xs:element name="r"><xs:complexType><xs:sequence><xs:element name="a" type="xs:int"/>
        <xs:element name="b" type="xs:string" minOccurs="0" maxOccurs="2"/></xs:sequence>
        <xs:attribute name="k" type="xs:int" use="required"/></xs:complexType></xs:element></xs:schema>"#;
    let rows = [
        (
            "<t:a>1</t:a><t:zz>1</t:zz>",
            "6965: XML Validation: Invalid content. Expected element(s): '{urn:t}b'. Found: element '{urn:t}zz' instead. Location: /*:r[1]/*:zz[1].",
        ),
        (
            "<t:b>x</t:b>",
            "6965: XML Validation: Invalid content. Expected element(s): '{urn:t}a'. Found: element '{urn:t}b' instead. Location: /*:r[1]/*:b[1].",
        ),
        ("", "6908: XML Validation: Invalid content. Expected element(s): '{urn:t}a'. Location: /*:r[1]"),
        (
            "<t:a>1</t:a><t:b>x</t:b><t:b>y</t:b><t:b>z</t:b>",
            "6923: XML Validation: Unexpected element(s): {urn:t}b. Location: /*:r[1]/*:b[3]",
        ),
        (
            "text<t:a>1</t:a>",
            "6909: XML Validation: Text node is not allowed at this location, the type was defined with element only content or with simple content. Location: /*:r[1]",
        ),
    ];
    for (inside, message) in rows {
        assert_eq!(with(schema, &format!(r#"<t:r xmlns:t="urn:t" k="1">{inside}</t:r>"#)), message);
    }
    let missing = with(schema, r#"<t:r xmlns:t="urn:t"><t:a>1</t:a></t:r>"#);
    assert_eq!(missing, "6906: XML Validation: Required attribute 'k' is missing. Location: /*:r[1]");
    let more = with(schema, r#"<t:r xmlns:t="urn:t" k="1" q="2"><t:a>1</t:a></t:r>"#);
    assert_eq!(
        more,
        "6905: XML Validation: Attribute 'q' is not permitted in this context. Location: /*:r[1]/@*:q"
    );
}

#[test]
fn groups_repeat_and_are_in_any_order() {
    let schema = r#"<xs:element name="r"><xs:complexType><xs:sequence minOccurs="2" maxOccurs="3">
        <xs:element name="a" type="xs:int"/><xs:choice><xs:element name="b" type="xs:int" minOccurs="0"/><xs:element name="c" type="xs:int"/></xs:choice>
        </xs:sequence></xs:complexType></xs:element>
        <xs:element name="all"><xs:complexType><xs:all><xs:element name="x" type="xs:int"/><xs:element name="y" type="xs:int" minOccurs="0"/></xs:all></xs:complexType></xs:element>"#;
    let ok = [
        "<r><a>1</a><a>1</a></r>",
        "<r><a>1</a><b>1</b><a>1</a><c>1</c><a>2</a></r>",
        "<all><y>1</y><x>1</x></all>",
        "<all><x>1</x></all>",
    ];
    for instance in ok {
        assert_eq!(of(schema, instance), instance);
    }
    assert!(of(schema, "<r><a>1</a></r>").starts_with("6908"), "{}", of(schema, "<r><a>1</a></r>"));
    assert!(of(schema, "<r><a>1</a><a>1</a><a>1</a><a>1</a></r>").starts_with("6965"));
    assert!(of(schema, "<all><y>1</y></all>").starts_with("6908"));
    assert!(of(schema, "<all><x>1</x><x>1</x></all>").starts_with("6911"));
}

#[test]
fn ambiguous_and_recursive_schemas_are_refused() {
    let ambiguous = r#"<xs:complexType name="t"><xs:sequence><xs:element name="a" type="xs:int" minOccurs="0"/><xs:element name="a" type="xs:int"/></xs:sequence></xs:complexType>"#;
    assert!(of(ambiguous, "<a/>").starts_with("schema 6916"), "{}", of(ambiguous, "<a/>"));
    let wild = r#"<xs:complexType name="t"><xs:sequence><xs:any minOccurs="0"/><xs:element name="a" type="xs:int"/></xs:sequence></xs:complexType>"#;
    assert!(of(wild, "<a/>").starts_with("schema 6916"));
    let fine = r#"<xs:complexType name="t"><xs:sequence maxOccurs="unbounded"><xs:element name="a" type="xs:int" minOccurs="2" maxOccurs="5"/><xs:element name="b" type="xs:int"/></xs:sequence></xs:complexType><xs:element name="e" type="t"/>"#;
    assert_eq!(of(fine, "<e><a>1</a><a>1</a><b>1</b></e>"), "<e><a>1</a><a>1</a><b>1</b></e>");
    let groups = r#"<xs:group name="g"><xs:sequence><xs:group ref="h"/></xs:sequence></xs:group><xs:group name="h"><xs:sequence><xs:group ref="g"/></xs:sequence></xs:group>"#;
    assert!(of(groups, "<a/>").starts_with("schema 6954"));
    let types = r#"<xs:complexType name="a"><xs:complexContent><xs:extension base="b"/></xs:complexContent></xs:complexType><xs:complexType name="b"><xs:complexContent><xs:extension base="a"/></xs:complexContent></xs:complexType>"#;
    assert!(of(types, "<a/>").starts_with("schema 6953"));
    assert!(of(r#"<xs:element name="a" type="nope"/>"#, "<a/>").starts_with("schema 2307"));
    assert!(with("garbage", "<a/>").starts_with("schema 2378"));
}

#[test]
fn types_are_derived_substituted_and_nil() {
    let schema = r#"
        <xs:complexType name="base" abstract="true"><xs:sequence><xs:element name="n" type="xs:int" nillable="true"/></xs:sequence><xs:attribute name="d" type="xs:decimal" default="1.50"/></xs:complexType>
        <xs:complexType name="more"><xs:complexContent><xs:extension base="base"><xs:sequence><xs:element name="m" type="xs:string" default="x"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>
        <xs:element name="e" type="base"/><xs:element name="head" type="xs:decimal" abstract="true"/><xs:element name="tail" type="xs:int" substitutionGroup="head"/>
        <xs:element name="s"><xs:complexType><xs:sequence><xs:element ref="head" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>"#;
    let xsi = r#"xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance""#;
    assert!(of(schema, "<e><n>1</n></e>").starts_with("6919"));
    assert_eq!(
        of(schema, &format!(r#"<e {xsi} xsi:type="more"><n xsi:nil="true"/><m/></e>"#)),
        format!(r#"<e {xsi} xsi:type="more" d="1.5"><n xsi:nil="true"/><m>x</m></e>"#)
    );
    assert!(
        of(schema, &format!(r#"<e {xsi} xsi:type="more"><n xsi:nil="true">1</n><m/></e>"#))
            .starts_with("6918")
    );
    assert!(of(schema, &format!(r#"<tail {xsi} xsi:nil="true"/>"#)).starts_with("6917"));
    assert_eq!(of(schema, "<s><tail>01</tail><tail>2</tail></s>"), "<s><tail>1</tail><tail>2</tail></s>");
    assert!(of(schema, "<s><head>1</head></s>").starts_with("6934"));
    assert!(
        of(
            schema,
            &format!(
                r#"<tail {xsi} xmlns:xs="http://www.w3.org/2001/XMLSchema" xsi:type="xs:string">1</tail>"#
            )
        )
        .starts_with("6936")
    );
}

#[test]
fn facets_hold() {
    let schema = r#"
        <xs:element name="p"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="[a-z-[aeiou]]{2,3}\d?"/></xs:restriction></xs:simpleType></xs:element>
        <xs:element name="r"><xs:simpleType><xs:restriction base="xs:int"><xs:minInclusive value="5"/><xs:maxExclusive value="10"/></xs:restriction></xs:simpleType></xs:element>
        <xs:element name="f"><xs:simpleType><xs:restriction base="xs:decimal"><xs:totalDigits value="4"/><xs:fractionDigits value="2"/></xs:restriction></xs:simpleType></xs:element>
        <xs:element name="l"><xs:simpleType><xs:restriction base="xs:string"><xs:length value="3"/></xs:restriction></xs:simpleType></xs:element>"#;
    let good = ["<p>bcd1</p>", "<r>5</r>", "<f>12.34</f>", "<l>äöü</l>"];
    for instance in good {
        assert_eq!(of(schema, instance), instance);
    }
    for instance in
        ["<p>abc</p>", "<p>bcdfg</p>", "<r>10</r>", "<r>4</r>", "<f>123.45</f>", "<f>1.234</f>", "<l>ab</l>"]
    {
        assert!(of(schema, instance).starts_with("6926"), "{instance}");
    }
}

#[test]
fn hostile_schemas_end() {
    let huge = r#"<xs:element name="r"><xs:complexType><xs:sequence minOccurs="2000000000" maxOccurs="2000000000"><xs:sequence minOccurs="2000000000" maxOccurs="2000000000"/></xs:sequence></xs:complexType></xs:element>"#;
    of(huge, "<r/>");
    let many = r#"<xs:element name="r"><xs:complexType><xs:sequence minOccurs="0" maxOccurs="1000000000"><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int"/></xs:sequence></xs:complexType></xs:element>"#;
    assert!(of(many, "<r/>").starts_with("schema 6998"));
    let counted = r#"<xs:element name="r"><xs:complexType><xs:sequence><xs:element name="a" type="xs:int" minOccurs="2" maxOccurs="2000000000"/></xs:sequence></xs:complexType></xs:element>"#;
    assert_eq!(of(counted, "<r><a>1</a><a>1</a><a>1</a></r>"), "<r><a>1</a><a>1</a><a>1</a></r>");
    let mut doubling = String::from(
        r#"<xs:group name="g0"><xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence></xs:group>"#,
    );
    for i in 1..60 {
        doubling.push_str(&format!(r#"<xs:group name="g{i}"><xs:sequence><xs:group ref="g{0}"/><xs:group ref="g{0}"/></xs:sequence></xs:group>"#, i - 1));
    }
    assert!(of(&doubling, "<a/>").starts_with("schema 2362"));
    let mut chain = String::new();
    for i in 1..3000 {
        chain.push_str(&format!(
            r#"<xs:simpleType name="t{i}"><xs:restriction base="t{}"/></xs:simpleType>"#,
            i + 1
        ));
    }
    assert!(of(&chain, "<a/>").starts_with("schema"));
    let mut unions = String::from(
        r#"<xs:simpleType name="u0"><xs:union memberTypes="xs:int xs:date"/></xs:simpleType><xs:element name="e" type="u29"/>"#,
    );
    for i in 1..30 {
        unions.push_str(&format!(
            r#"<xs:simpleType name="u{i}"><xs:union memberTypes="u{0} u{0}"/></xs:simpleType>"#,
            i - 1
        ));
    }
    assert!(of(&unions, "<e>x</e>").starts_with("6926"));
    let lists = r#"<xs:simpleType name="l"><xs:list itemType="xs:int"/></xs:simpleType><xs:simpleType name="u"><xs:union memberTypes="l xs:date"/></xs:simpleType><xs:simpleType name="m"><xs:list itemType="u"/></xs:simpleType>"#;
    assert!(of(lists, "<e/>").starts_with("schema 6978"));
    let pattern = r#"<xs:element name="p"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="(((a{1000}){1000}){1000})"/></xs:restriction></xs:simpleType></xs:element>"#;
    assert!(of(pattern, "<p/>").starts_with("schema 6945"));
}

/// Pieces that schemas are made of, in whatever order.
const PIECES: [&str; 24] = [
    r#"<xs:element name="a" type="xs:int"/>"#,
    r#"<xs:element ref="a"/>"#,
    r#"<xs:element name="b">"#,
    "</xs:element>",
    "<xs:complexType>",
    r#"<xs:complexType name="t" mixed="true">"#,
    "</xs:complexType>",
    "<xs:sequence>",
    r#"<xs:sequence minOccurs="0" maxOccurs="7">"#,
    "</xs:sequence>",
    "<xs:choice>",
    "</xs:choice>",
    "<xs:all>",
    "</xs:all>",
    r#"<xs:any minOccurs="0" processContents="lax"/>"#,
    r#"<xs:attribute name="k" type="xs:date"/>"#,
    "<xs:anyAttribute/>",
    r#"<xs:complexContent><xs:extension base="t"/></xs:complexContent>"#,
    r#"<xs:group ref="g"/>"#,
    r#"<xs:group name="g">"#,
    "</xs:group>",
    r#"<xs:element name="c" type="t" maxOccurs="unbounded"/>"#,
    r#"<xs:element name="a" type="xs:int" minOccurs="0"/>"#,
    r#"<xs:simpleType name="s"><xs:restriction base="xs:string"><xs:pattern value="[ab]*"/></xs:restriction></xs:simpleType>"#,
];

proptest! {
    #[test]
    fn whatever_is_read_is_compiled_or_refused(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..24),
        instance in prop::collection::vec(prop::sample::select(vec!["<a>1</a>", "<b>", "</b>", "<c/>", "x", "<b k='2020-01-01'>", "<c>", "</c>"]), 0..8),
    ) {
        let schema = pieces.concat();
        let text = format!(r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{schema}</xs:schema>"#);
        if let Ok(schema) = read(&[text], 0)
            && let Ok(document) = parse(&instance.concat(), Source::Any, false)
            && let Ok(valid) = validate(&document, &Arc::new(schema), false)
        {
            let kept = write::document(&valid);
            prop_assert!(parse(&kept, Source::Any, true).is_ok());
        }
    }

    #[test]
    fn what_is_kept_of_a_value_is_a_value(text in "[-+]?[0-9]{0,12}(\\.[0-9]{0,12})?([eE][0-9]{1,3})?|-?P?[0-9YMDTHS.]{0,12}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{8,12})?(Z|[-+][0-9]{2}:[0-9]{2})?") {
        use super::lexical::{Primitive as P, Scalar};
        let all = [P::Decimal, P::Float, P::Double, P::Duration, P::DateTime, P::Time, P::Date, P::Year, P::YearMonth, P::MonthDay, P::Day, P::Month, P::Boolean];
        for primitive in all {
            if let Some(value) = Scalar::read(primitive, &text) {
                let kept = value.text();
                let again = Scalar::read(primitive, &kept).expect("what is kept is read");
                prop_assert_eq!(again.text(), kept);
            }
        }
    }
}

#[test]
fn no_other_number_is_kept() {
    for (name, text) in [
        ("dec", "1234567890123456789012345678.1234567890"),
        ("dec", "0.12345678901234567890123456789999"),
        ("dbl", "1e999"),
        ("flt", "1e39"),
    ] {
        let said = of(PRIMITIVES, &format!("<{name}>{text}</{name}>"));
        assert!(said.contains("Invalid simple type value"), "{name} {text}: {said}");
    }
    assert_eq!(of(PRIMITIVES, "<flt>-INF</flt>"), "<flt>-INF</flt>");
}

#[test]
fn what_schemas_of_others_hold() {
    // A parenthesis that may be there, and one in a class.
    let phone = r#"<xs:element name="p"><xs:simpleType><xs:restriction base="xs:string">
        <xs:pattern value="\(?\d{3}\)?-[(?]\d"/></xs:restriction></xs:simpleType></xs:element>"#;
    assert_eq!(of(phone, "<p>(123)-(4</p>"), "<p>(123)-(4</p>");
    assert_eq!(of(phone, "<p>123-?4</p>"), "<p>123-?4</p>");
    let lazy = r#"<xs:element name="p"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="(?i)a"/></xs:restriction></xs:simpleType></xs:element>"#;
    assert!(of(lazy, "<p/>").contains("Invalid facet value"));
    // A simple type where any may be.
    let any = r#"<v xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xs="http://www.w3.org/2001/XMLSchema" xsi:type="xs:int">05</v>"#;
    let said = of(r#"<xs:element name="v"/>"#, any);
    assert!(said.ends_with(">5</v>"), "{said}");
    // A member of a group before its head.
    let head = r#"<xs:element name="m" substitutionGroup="h"/><xs:element name="h"><xs:complexType><xs:sequence/></xs:complexType></xs:element>"#;
    assert_eq!(of(head, "<m/>"), "<m/>");
}

/// Groups of groups, many schemas in one text, types that extend each other: what grows is counted.
#[test]
fn hostile_schemas_do_not_grow() {
    let mut groups = String::from(r#"<xs:attributeGroup name="g0"/>"#);
    for i in 1..60 {
        let of = i - 1;
        groups += &format!(
            r#"<xs:attributeGroup name="g{i}"><xs:attributeGroup ref="g{of}"/><xs:attributeGroup ref="g{of}"/></xs:attributeGroup>"#
        );
    }
    assert_eq!(of(&format!(r#"{groups}<xs:element name="r"/>"#), "<r/>"), "<r/>");
    let many = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>"#.repeat(20_000);
    assert!(with(&many, "<r/>").contains("too complex"));
    let mut types = String::from(r#"<xs:complexType name="t0"><xs:sequence/></xs:complexType>"#);
    for i in 1..3_000 {
        let of = i - 1;
        types += &format!(
            r#"<xs:complexType name="t{i}"><xs:complexContent><xs:extension base="t{of}"><xs:sequence><xs:sequence/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>"#
        );
    }
    assert!(of(&types, "<r/>").contains("too complex"));
}
