//! OPENROWSET (BULK …) from files of a disk in memory, and ERRORFILE.

use crate::bulk_insert::{engine, run, session};
use crate::common::connect;
use keel_base::env::OpenMode;
use std::path::Path;

const ROWS: &[u8] = b"1,one,1.5\n2,two,\nx,bad,1\n4,four,4\n5,,5\n";
/// In another order than the file's, and with types of its own.
const XML: &str = r#"<BCPFORMAT xmlns="http://schemas.microsoft.com/sqlserver/2004/bulkload/format" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<RECORD><FIELD ID="1" xsi:type="CharTerm" TERMINATOR="," MAX_LENGTH="12"/><FIELD ID="2" xsi:type="CharTerm" TERMINATOR="," MAX_LENGTH="3"/>
<FIELD ID="3" xsi:type="CharTerm" TERMINATOR="\n" MAX_LENGTH="12"/></RECORD>
<ROW><COLUMN SOURCE="3" NAME="amount" xsi:type="SQLDECIMAL" PRECISION="9" SCALE="2"/><COLUMN SOURCE="1" NAME="id" xsi:type="SQLINT" NULLABLE="NO"/>
<COLUMN SOURCE="2" NAME="name" xsi:type="SQLVARYCHAR"/></ROW></BCPFORMAT>"#;
const TEXT: &str = "14.0\n3\n1 SQLCHAR 0 12 \",\" 1 id \"\"\n2 SQLCHAR 0 0 \",\" 0 name \"\"\n3 SQLCHAR 0 12 \"\\n\" 2 amount \"\"\n";

/// Lines with one blank between words.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn has(text: &str, wanted: &[&str]) {
    let lines = lines(text);
    for line in wanted {
        assert!(lines.iter().any(|l| l == line), "{line}\n{text}");
    }
}

fn bulk(options: &str) -> String {
    format!("openrowset(bulk '/in/a.csv', {options}) as t")
}

#[test]
fn rows_of_a_file_in_from() {
    let mut s =
        session(&[("/in/a.csv", ROWS), ("/in/a.xml", XML.as_bytes()), ("/in/a.fmt", TEXT.as_bytes())]);
    let all = run(&mut s, &format!("\nselect * from {}", bulk("formatfile = '/in/a.xml'")));
    has(&all, &["amount | id | name", "1.50 | 1 | one", "NULL | 2 | two", "5.00 | 5 | NULL"]);
    assert!(all.contains("Msg 4864, Level 16, State 1, Line 2"), "the third row's id: {all}");
    assert!(all.contains("(truncation) for row 4, column 2 (name)"), "{all}");
    let from = bulk(
        "formatfile = '/in/a.xml', firstrow = 2, lastrow = 2, rows_per_batch = 5, order (id asc) unique",
    );
    has(
        &run(
            &mut s,
            &format!("select a.x + 1 as next from {from}(m, x, n) join (values (2)) a(x) on a.x = t.x"),
        ),
        &["3"],
    );
    let described = "select name, system_type_name, is_nullable from sys.dm_exec_describe_first_result_set(N'select * from openrowset(bulk ''/in/a.csv'', formatfile = ''/in/a.FORM'') t', null, 0)";
    has(
        &run(&mut s, &described.replace("FORM", "xml")),
        &["amount | decimal(9,2) | 1", "id | int | 0", "name | varchar(3) | 1"],
    );
    has(
        &run(&mut s, &described.replace("FORM", "fmt")),
        &["id | varchar(12) | 1", "amount | varchar(12) | 1"],
    );
    let few = run(&mut s, &format!("select * from {}", bulk("formatfile = '/in/a.xml', maxerrors = 0")));
    assert!(few.contains("Msg 4864") && few.contains("Msg 4865"), "{few}");
    let caught = format!(
        "begin try select count(*) as n from {} end try begin catch select 'caught' as x end catch",
        bulk("formatfile = '/in/a.xml'")
    );
    has(&run(&mut s, &caught), &["3"]);
    has(&run(&mut s, &format!("select left(bulkcolumn, 5) as c from {}", bulk("single_clob"))), &["1,one"]);
}

/// A column that allows no NULL, which plans count on, has none.
#[test]
fn no_null_where_the_format_allows_none() {
    let mut s = session(&[("/in/a.csv", b"1,one,1\n,two,2\n"), ("/in/a.xml", XML.as_bytes())]);
    let out = run(
        &mut s,
        &format!("select id, name from {} where id is not null", bulk("formatfile = '/in/a.xml'")),
    );
    has(&out, &["1 | one"]);
    assert!(out.contains("Msg 4869") && out.contains("row 2, column 1"), "{out}");
}

#[test]
fn what_a_rowset_of_a_file_lacks() {
    let mut s = session(&[
        ("/in/a.csv", ROWS),
        ("/in/a.xml", XML.as_bytes()),
        ("/in/b.fmt", b"14.0\n1\n1 SQLWHAT 0 1 \"\" 1 a \"\"\n"),
    ]);
    let mut number = |from: &str| run(&mut s, &format!("select * from {from}"));
    for (from, error) in [
        ("openrowset(bulk '/in/a.csv', formatfile = '/in/a.xml')".to_owned(), "Msg 491"),
        (bulk("formatfile = '/in/none.xml'"), "Msg 4860"),
        (bulk("formatfile = '/in/b.fmt'"), "Msg 4822"),
        (bulk("maxerrors = 1"), "Msg 102"),
        ("openrowset(bulk '/in/a.csv') as t".to_owned(), "Msg 102"),
        (bulk("formatfile = '/in/a.xml', what = 1"), "Msg 40517"),
        ("openrowset(bulk '/in/none.csv', formatfile = '/in/a.xml') as t".to_owned(), "Msg 4860"),
    ] {
        let out = number(&from);
        assert!(out.contains(error), "{from}: {out}");
    }
}

/// A plan is not older than its format file.
#[test]
fn a_format_file_may_change() {
    let engine = engine(&[("/in/a.csv", b"1,one,1\n"), ("/in/f.fmt", TEXT.as_bytes())]);
    let mut s = connect(&engine);
    run(
        &mut s,
        "create procedure p as select * from openrowset(bulk '/in/a.csv', formatfile = '/in/f.fmt') as t",
    );
    has(&run(&mut s, "exec p"), &["id | amount", "1 | 1"]);
    let other = TEXT.replace("0 name", "3 name");
    let disk = &engine.options().env.disk;
    disk.open(Path::new("/in/f.fmt"), OpenMode::Create)
        .and_then(|f| f.write_at(other.as_bytes(), 0))
        .expect("it is written");
    has(&run(&mut s, "exec p"), &["id | amount | name", "1 | 1 | one"]);
}

/// KEEPIDENTITY, KEEPDEFAULTS, IGNORE_CONSTRAINTS and IGNORE_TRIGGERS.
#[test]
fn hints_of_an_insert_from_a_file() {
    let mut s = session(&[("/in/a.csv", ROWS), ("/in/a.xml", XML.as_bytes())]);
    run(
        &mut s,
        "create table k (id int identity primary key, name varchar(10) null default 'none', amount decimal(9,2) null check (amount < 5))",
    );
    run(&mut s, "create trigger kt on k after insert as throw 50001, 'fired', 1");
    let insert = |hints: &str| {
        format!(
            "insert k {hints} (id, name, amount) select id, name, amount from {}",
            bulk("formatfile = '/in/a.xml', firstrow = 5")
        )
    };
    assert!(run(&mut s, &insert("with (keepidentity)")).contains("Msg 547"));
    assert!(run(&mut s, &insert("with (keepidentity, ignore_constraints)")).contains("Msg 50001"));
    let all = "with (keepidentity, keepdefaults, ignore_constraints, ignore_triggers)";
    assert_eq!(run(&mut s, &insert(all)), "(1 row affected)\n");
    has(&run(&mut s, "select * from k"), &["5 | none | 5.00"]);
    // Its identity is not taken otherwise.
    assert_eq!(run(&mut s, &insert("with (ignore_constraints, ignore_triggers)")), "(1 row affected)\n");
    has(&run(&mut s, "select * from k"), &["6 | NULL | 5.00"]);
    let rows = "insert k with (keepidentity) (id, name) select 9, 'nine'";
    assert!(run(&mut s, rows).contains("Msg 544"), "no file, no meaning");
}

#[test]
fn rows_that_cannot_be_converted_go_to_a_file() {
    let wide: Vec<u8> = "\u{FEFF}1\tone\r\nx\tb\u{E4}d\r\n3\ttoo long a name\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let engine = engine(&[
        ("/in/n.txt", b"1\tone\nx\tbad\n3\ttoo long a name\n4\tfour\n9999999999\tmany"),
        ("/in/w.txt", &wide),
    ]);
    let mut s = connect(&engine);
    run(&mut s, "create table e (id int, name varchar(5))");
    let disk = &engine.options().env.disk;
    let read = |name: &str| {
        let file = disk.open(Path::new(name), OpenMode::Read).expect("it is there");
        let mut bytes = vec![0; file.len().expect("a length") as usize];
        file.read_at(&mut bytes, 0).expect("it is read");
        bytes
    };
    let out = run(&mut s, "bulk insert e from '/in/n.txt' with (errorfile = '/in/n.err')");
    assert!(out.ends_with("(2 rows affected)\n"), "{out}");
    assert_eq!(String::from_utf8_lossy(&read("/in/n.err")), "x\tbad\n3\ttoo long a name\n9999999999\tmany");
    let told = "Row 2 File Offset 6 ErrorFile Offset 0 - HRESULT 0x80020005\r\nRow 3 File Offset 12 ErrorFile Offset 6 - HRESULT 0x80004005\r\nRow 5 File Offset 37 ErrorFile Offset 24 - HRESULT 0x8002000A\r\n";
    assert_eq!(String::from_utf8_lossy(&read("/in/n.err.Error.Txt")), told);
    assert!(
        run(&mut s, "bulk insert e from '/in/n.txt' with (errorfile = '/in/n.err')").contains("Msg 4861"),
        "it is there already"
    );
    run(&mut s, "bulk insert e from '/in/w.txt' with (datafiletype = 'widechar', errorfile = '/in/w.err')");
    assert_eq!(read("/in/w.err"), wide[16..]);
    assert!(String::from_utf8_lossy(&read("/in/w.err.Error.Txt")).starts_with("Row 2 File Offset 16 "));
    run(&mut s, "create table l (id int, name varchar(max))");
    let large: String =
        (0..40_000).map(|n| format!("{n}{}\t{n}\n", if n % 10_000 == 9_999 { "x" } else { "" })).collect();
    disk.open(Path::new("/in/l.txt"), OpenMode::Create)
        .and_then(|f| f.write_at(large.as_bytes(), 0))
        .expect("it is written");
    let out = run(&mut s, "bulk insert l from '/in/l.txt' with (errorfile = '/in/l.err')");
    assert!(out.ends_with("(39996 rows affected)\n"), "{out}");
    assert_eq!(
        String::from_utf8_lossy(&read("/in/l.err")),
        "9999x\t9999\n19999x\t19999\n29999x\t29999\n39999x\t39999\n"
    );
}
