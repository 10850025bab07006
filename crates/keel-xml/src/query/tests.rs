//! Queries and updates by example, what they refuse, and texts nobody would write.

use super::*;
use crate::parse::{Source, parse as parse_xml};
use crate::write;

fn run(xml: &str, query: &str, method: Method) -> std::result::Result<String, Box<XmlError>> {
    let q = Query::parse(query, "t()", &[])?;
    q.check(method, &[], &Context::instance(None))?;
    let d = Rc::new(parse_xml(xml, Source::Any, false)?);
    let items = q.run(root(d), &[], &mut Forever)?;
    match method {
        Method::Query => q.text(&items),
        Method::Exist => Ok(u8::from(!items.is_empty()).to_string()),
        _ => Ok(items.iter().map(|i| i.atom().text().to_string()).collect::<Vec<_>>().join("|")),
    }
}

fn number(xml: &str, query: &str, method: Method) -> i32 {
    run(xml, query, method).expect_err("an error is expected").number
}

const DOC: &str =
    "<r a='1'><i id='1' k='x'>one</i><i id='2'>two<b/></i><g><i id='3' k='x'>three</i></g>tail</r>";

#[test]
fn paths() {
    let all = |q: &str| run(DOC, q, Method::Nodes).expect(q);
    assert_eq!(all("/r/i"), "one|two");
    assert_eq!(all("//i"), "one|two|three");
    assert_eq!(all("/r/i[2]"), "two");
    assert_eq!(all("//i[@id=\"3\"]"), "three");
    assert_eq!(all("//i[@id>1]"), "two|three");
    assert_eq!(all("/r/i[last()]"), "two");
    assert_eq!(all("/r/i[position()<2]"), "one");
    assert_eq!(all("//i[@k and @id=1]/text()"), "one");
    assert_eq!(all("//@id"), "1|2|3");
    assert_eq!(all("(//i)[3]/../i"), "three");
    assert_eq!(all("/r/*[local-name(.)=\"g\"]/i"), "three");
    assert_eq!(all("//i[not(@k)]"), "two");
    assert_eq!(all("//i[contains(., \"w\")]"), "two");
    assert_eq!(all("/r/text()"), "tail");
    assert_eq!(all("/r/descendant::i/self::i[b]"), "two");
    assert_eq!(all("for $x in //i order by $x/@id descending return $x"), "three|two|one");
}

#[test]
fn values() {
    let value = |q: &str| run(DOC, q, Method::Value).expect(q);
    assert_eq!(value("count(//i)"), "3");
    assert_eq!(value("sum(//@id)"), "6");
    assert_eq!(value("string((/r/i/@id)[2])"), "2");
    assert_eq!(value("concat(\"a\", /r[1]/@a, 'b')"), "a1b");
    assert_eq!(value("substring(\"abcdef\", 2, 3)"), "bcd");
    assert_eq!(value("1 div 3"), "0.333333");
    assert_eq!(value("0.1 + 0.2"), "0.3");
    assert_eq!(value("7 mod 2"), "1");
    assert_eq!(value("(/r/@a)[1] + 1"), "2");
    assert_eq!(value("if (/r/g) then 'yes' else 'no'"), "yes");
    assert_eq!(value("xs:base64Binary(xs:hexBinary('00FF'))"), "AP8=");
    assert_eq!(value("some $x in //i satisfies $x/@id = 3"), "true");
    assert_eq!(value("every $x in //i satisfies $x/@id = 3"), "false");
    assert_eq!(value("1234567.0 * 10e0"), "1.234567E7");
    assert_eq!(value("xs:dateTime('2020-01-01T00:00:00') < xs:dateTime('2020-01-01T00:00:00.5')"), "true");
}

#[test]
fn constructors() {
    let made = |q: &str| run(DOC, q, Method::Query).expect(q);
    assert_eq!(made("<a b='{/r/@a}' c='x{{'>{ (1, 2) }t{//b}</a>"), "<a b=\"1\" c=\"x{\">1 2t<b/></a>");
    assert_eq!(made("for $i in //i where $i/@k = 'x' return <k>{ data($i/@id) }</k>"), "<k>1</k><k>3</k>");
    assert_eq!(made("element x { attribute y { 1 + 1 }, text { 'z' } }"), "<x y=\"2\">z</x>");
    assert_eq!(made("<e>{//@id[. = '3']}</e>"), "<e id=\"3\"/>");
    assert_eq!(made("<a> <b> x </b> {1} </a>"), "<a><b> x </b>1</a>");
    assert_eq!(made("data(//@id)"), "1 2 3");
    assert_eq!(made("<!-- c -->, <?p d?>"), "<!-- c --><?p d?>");
}

#[test]
fn namespaces() {
    let xml = "<r xmlns='urn:d' xmlns:p='urn:p'><p:a p:b='1'/><c/></r>";
    let made = |q: &str| run(xml, q, Method::Query).expect(q);
    assert_eq!(made("declare namespace x='urn:p'; //x:a"), "<x:a xmlns:x=\"urn:p\" x:b=\"1\"/>");
    assert_eq!(made("//*:a"), "<p1:a xmlns:p1=\"urn:p\" p1:b=\"1\"/>");
    assert_eq!(made("declare default element namespace 'urn:d'; /r/c"), "<c xmlns=\"urn:d\"/>");
    assert_eq!(made("/r/c"), "");
    assert_eq!(made("declare namespace x='urn:p'; string((//@x:b)[1])"), "1");
    assert_eq!(number(xml, "//q:a", Method::Query), 2229);
}

#[test]
fn refusals() {
    assert_eq!(number(DOC, "/r/i", Method::Value), 2389);
    assert_eq!(number(DOC, "/r/i[1]", Method::Value), 2389);
    assert!(run(DOC, "/r[1]/i[1]", Method::Value).is_ok());
    assert_eq!(number(DOC, "/r/i[string(@id)]", Method::Exist), 2203);
    assert_eq!(number(DOC, "/r/i['a' = 1]", Method::Exist), 2234);
    assert_eq!(number(DOC, "if (1) then 2 else 3", Method::Query), 2204);
    assert_eq!(number(DOC, "contains(/r/i, 'x')", Method::Value), 2389);
    assert_eq!(number(DOC, "/r/i[", Method::Exist), 2209);
    assert_eq!(number(DOC, "/r/", Method::Exist), 9341);
    assert_eq!(number(DOC, "starts-with('a', 'b')", Method::Exist), 2395);
    assert_eq!(number(DOC, "position()", Method::Exist), 2371);
    assert_eq!(number(DOC, "$x", Method::Exist), 2227);
    assert_eq!(number(DOC, " ", Method::Exist), 6306);
    assert_eq!(number(DOC, "/r/@a", Method::Query), 2396);
    assert_eq!(number(DOC, "/r/ancestor::x", Method::Query), 9335);
    assert_eq!(number(DOC, &format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)), Method::Query), 2363);
    assert_eq!(number(DOC, &"-1".repeat(100_000), Method::Query), 2363);
    assert_eq!(number(DOC, &"<a>".repeat(100_000), Method::Query), 2363);
}

fn modify(xml: &str, dml: &str) -> std::result::Result<String, Box<XmlError>> {
    let s = crate::modify::Statement::parse(dml, "modify()", &[])?;
    s.check(&[], &Context::instance(None))?;
    let d = Rc::new(parse_xml(xml, Source::Any, false)?);
    Ok(write::document(&s.run(&d, &[], &mut Forever)?))
}

#[test]
fn modifications() {
    let xml = "<r a='1'><b>x</b><c/></r>";
    let done = |q: &str| modify(xml, q).expect(q);
    assert_eq!(done("insert <d/> into (/r)[1]"), "<r a=\"1\"><b>x</b><c/><d/></r>");
    assert_eq!(done("insert <d/> as first into (/r)[1]"), "<r a=\"1\"><d/><b>x</b><c/></r>");
    assert_eq!(done("insert (<d/>, text {'t'}) before (/r/c)[1]"), "<r a=\"1\"><b>x</b><d/>t<c/></r>");
    assert_eq!(done("insert <d/> after (/r)[1]"), "<r a=\"1\"><b>x</b><c/></r><d/>");
    assert_eq!(done("insert attribute z {'9'} into (/r)[1]"), "<r a=\"1\" z=\"9\"><b>x</b><c/></r>");
    assert_eq!(done("delete /r/b"), "<r a=\"1\"><c/></r>");
    assert_eq!(done("delete (/r/@a, /r/b/text())"), "<r><b/><c/></r>");
    assert_eq!(done("replace value of (/r/b/text())[1] with 'y'"), "<r a=\"1\"><b>y</b><c/></r>");
    assert_eq!(done("replace value of (/r/@a)[1] with (/r/@a)[1] + 1"), "<r a=\"2\"><b>x</b><c/></r>");
    assert_eq!(done("insert /r/b into (/r/nothing)[1]"), "<r a=\"1\"><b>x</b><c/></r>");
    let number = |q: &str| modify(xml, q).expect_err("an error is expected").number;
    assert_eq!(number("insert <d/> into /r"), 2226);
    assert_eq!(number("insert 'd' into (/r)[1]"), 2207);
    assert_eq!(number("replace value of /r/b/text() with 1"), 2337);
    assert_eq!(number("replace value of (/r/b)[1] with 1"), 2356);
    assert_eq!(number("replace value of (/r/b/text())[1] with <a/>"), 9310);
    assert_eq!(number("insert attribute a {1} into (/r)[1]"), 6308);
    assert_eq!(number("/r"), 6305);
    assert_eq!(number("delete ."), 2264);
}

#[test]
fn texts_of_documents() {
    let form = |xml: &str| crate::normalize(xml, Source::Wide, false);
    assert_eq!(form("<r>  <a>1</a> <b  c = '2' /> </r>").expect("valid"), "<r><a>1</a><b c=\"2\"/></r>");
    assert_eq!(
        form("<?xml version='1.0' encoding='utf-16'?><a><![CDATA[x<y]]></a>").expect("valid"),
        "<a>x&lt;y</a>"
    );
    assert_eq!(form("a&#x20;<b/> \r\n c").expect("valid"), "a <b/> \n c");
    let deep = |n: usize| form(&format!("{}{}", "<a>".repeat(n), "</a>".repeat(n)));
    assert!(deep(128).is_ok());
    assert_eq!(deep(100_000).expect_err("too deep").number, 6335);
}

#[test]
fn ill_formed() {
    let cases = [
        ("<a>", 9400, 3),
        ("<a><b></a>", 9436, 10),
        ("<a x=1/>", 9413, 6),
        ("<a>&foo;</a>", 9448, 8),
        ("</a>", 9455, 2),
        ("text</a>", 9436, 8),
        ("<a><![CDATA[x</a>", 9423, 17),
        ("<!-- x", 9424, 6),
        ("<a/><?xml version=\"1.0\"?>", 9438, 10),
        ("<a>&#0;</a>", 9420, 7),
        ("<a x=\"1\" x=\"2\"/>", 9437, 16),
        ("<a x=\"1\"y=\"2\"/>", 9410, 9),
        ("<a x=\"<\"/>", 9415, 7),
        ("<a>&</a>", 9421, 5),
        ("<a>&amp</a>", 9411, 8),
        ("<a>&#x;</a>", 9416, 7),
        ("<a>&#a;</a>", 9417, 6),
        ("<a>]]></a>", 9454, 4),
        ("<a></a", 9412, 6),
        ("<a x", 9414, 4),
        ("<a:b:c xmlns:a=\"u\"/>", 9456, 5),
        ("<a xmlns:p=\"\"/>", 9460, 15),
        ("<a b:c=\"1\" b:c=\"2\"/>", 9459, 20),
    ];
    let mut wrong = Vec::new();
    for (xml, number, character) in cases {
        let e = crate::normalize(xml, Source::Narrow, false).expect_err(xml);
        if e.number != number || !e.message.contains(&format!("character {character},")) {
            wrong.push(format!("{xml}: {} {}", e.number, e.message));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    /// What is written parses to what is written again.
    #[test]
    fn text_form_is_stable(xml in "(<[ab]( x='[&a<\"]?')?/?>|</[ab]>|[ab&; \r\n]|<!--x-->|<\\?p q\\?>|&lt;|]]>){0,12}") {
        if let Ok(form) = crate::normalize(&xml, Source::Any, false) {
            let again = crate::normalize(&form, Source::Any, true);
            proptest::prop_assert_eq!(again.as_deref(), Ok(form.as_str()));
        }
    }

    /// No text of a query does more than answer or err.
    #[test]
    fn any_query(query in "([/@*.()\\[\\]<>='\"$,{}+-]|//|\\.\\.|a|b|1|for \\$x in|return|\\$x|count\\(|text\\(\\)|<a>|</a>| div |some |if \\(| then | else ){0,14}") {
        let _ = run(DOC, &query, Method::Query);
        let _ = modify(DOC, &query);
        let _ = modify(DOC, &format!("insert {query} into (/r)[1]"));
    }
}
