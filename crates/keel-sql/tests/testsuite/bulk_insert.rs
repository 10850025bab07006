//! BULK INSERT from files of a disk in memory.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open};
use keel_base::env::sim::SimDisk;
use keel_base::env::{Disk, OpenMode};
use keel_sql::{Engine, Session};
use std::path::Path;
use std::sync::Arc;

pub(crate) fn session(files: &[(&str, &[u8])]) -> Session {
    connect(&engine(files))
}

pub(crate) fn engine(files: &[(&str, &[u8])]) -> Arc<Engine> {
    let disk = SimDisk::new();
    let engine = open(&disk);
    disk.create_dir_all(Path::new("/in")).unwrap();
    for (name, bytes) in files {
        disk.open(Path::new(name), OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
    }
    engine
}

pub(crate) fn run(s: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    s.execute_batch(sql, &mut sink);
    sink.0.finish()
}

const TABLE: &str = "create table t (id int not null primary key, name varchar(10) null default 'none', amount decimal(8,2) null, day date null)";

#[test]
fn fields_and_rows_by_their_terminators() {
    let text = b"1\tone\t1.50\t2024-01-02\n2\t\t\t\r\n3\tthree\t-3\t20240304";
    let mut s = session(&[("/in/a.txt", text), ("/in/b.txt", b"id|name|x|y||5|f\xE4r|0.5|2024-05-05||")]);
    run(&mut s, TABLE);
    assert_eq!(run(&mut s, "bulk insert t from '/in/a.txt'"), "(3 rows affected)\n");
    let options = "(fieldterminator = '|', rowterminator = '||', firstrow = 2, keepnulls)";
    assert_eq!(run(&mut s, &format!("bulk insert t from '/in/b.txt' with {options}")), "(1 row affected)\n");
    let rows = run(&mut s, "select * from t order by id");
    for line in [
        "1  | one   | 1.50   | 2024-01-02",
        "2  | none  | NULL   | NULL",
        "3  | three | -3.00  | 2024-03-04",
        "5  | fär   | 0.50   | 2024-05-05",
    ] {
        let squeezed = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(rows.lines().any(|l| squeezed(l) == squeezed(line)), "{line}\n{rows}");
    }
}

/// A file without a column of the table, or with its columns in another order, is loaded into a view that has its columns.
#[test]
fn a_view_stands_for_its_table() {
    let mut s = session(&[("/in/a.csv", b"one,1\ntwo,2\n"), ("/in/b.csv", b"1,x\n")]);
    run(
        &mut s,
        "create table t (id int identity primary key, name varchar(10), made date default '2024-01-01', n int not null)",
    );
    run(&mut s, "create view v as select name as label, n as number from t where n < 100");
    let load = |view: &str, file: &str, more: &str| {
        format!("bulk insert {view} from '{file}' with (format = 'csv'{more})")
    };
    assert_eq!(run(&mut s, &load("dbo.v", "/in/a.csv", "")), "(2 rows affected)\n");
    let rows = run(&mut s, "select concat(id, name, made, n) as r from t order by id");
    assert!(rows.contains("1one2024-01-011") && rows.contains("2two2024-01-012"), "{rows}");
    // Errors tell the view's names.
    let said = run(&mut s, &load("v", "/in/b.csv", ""));
    assert!(said.contains("Msg 4864") && said.contains("column 2 (number)"), "{said}");
    run(&mut s, "create view pairs as select a.n, b.name from t a join t b on a.id = b.id");
    assert!(run(&mut s, &load("pairs", "/in/b.csv", "")).contains("Msg 4405"));
    run(&mut s, "create view sums as select n + 1 as more, name from t");
    assert!(run(&mut s, &load("sums", "/in/b.csv", "")).contains("Msg 4406"));
    assert!(run(&mut s, &load("nothing", "/in/b.csv", "")).contains("Msg 208"));
    // A view of somebody else's is no way into a table.
    run(&mut s, "create user eve without login");
    run(&mut s, "create schema hers authorization eve");
    run(&mut s, "create view hers.v as select name as label, n as number from dbo.t");
    run(&mut s, "execute as user = 'eve'");
    for view in ["hers.v", "dbo.v"] {
        let said = run(&mut s, &format!("insert bulk {view} (label varchar(10), number int)"));
        assert!(said.contains("Msg 229"), "{view}: {said}");
    }
    run(&mut s, "revert");
    run(&mut s, "grant insert on v to eve");
    run(&mut s, "execute as user = 'eve'");
    assert_eq!(run(&mut s, "insert bulk dbo.v (label varchar(10), number int)"), "");
    run(&mut s, "revert");
    // A trigger that takes the view's inserts over would not see these.
    run(&mut s, "create trigger tr on v instead of insert as print 'instead'");
    assert!(run(&mut s, &load("v", "/in/a.csv", ", fire_triggers")).contains("INSTEAD OF"));
    assert_eq!(run(&mut s, &load("v", "/in/a.csv", "")), "(2 rows affected)\n");
}

/// A row ends as lines do on either system, also behind other characters, wherever a block of the file ends.
#[test]
fn rows_end_with_lines_of_either_kind() {
    let rows = |end: &str| (0..30_000).map(|n| format!("{n}+|&|x\r+|{n}&|{end}")).collect::<String>();
    let (unix, windows) = (rows("\n"), rows("\r\n"));
    let mut s = session(&[("/unix", unix.as_bytes()), ("/windows", windows.as_bytes())]);
    run(&mut s, "create table t (a int, b varchar(10), c int)");
    for file in ["/unix", "/windows"] {
        let load =
            format!("bulk insert t from '{file}' with (fieldterminator = '+|', rowterminator = '&|\\n')");
        assert!(run(&mut s, &load).contains("30000"), "{file}");
        let seen = run(&mut s, "select count(*), sum(c), max(b) from t where a = c; delete t");
        assert!(seen.contains("449985000"), "{file}: {seen}");
    }
}

#[test]
fn csv_has_quotes() {
    let text = b"\xEF\xBB\xBF1,\"a, \"\"b\"\"\n\",2,\r\n2,,,2024-01-01\r\n";
    let mut s = session(&[("/in/a.csv", text), ("/in/bad.csv", b"9,x\n")]);
    run(&mut s, TABLE);
    assert_eq!(run(&mut s, "bulk insert t from '/in/a.csv' with (format = 'csv')"), "(2 rows affected)\n");
    let quoted = run(&mut s, "select replace(name, char(10), '!') as n from t where id = 1");
    assert!(quoted.contains("a, \"b\"!"), "{quoted}");
    assert!(run(&mut s, "bulk insert t from '/in/bad.csv' with (format = 'csv')").contains("Msg 4879"));
}

#[test]
fn errors_have_rows_and_columns() {
    let bad: &[u8] = b"1,one,x,\n2,far too long for it,1,\nz,three,3,\n4,four,4,\n";
    let mut s = session(&[("/in/bad.csv", bad), ("/in/short.txt", b"1,one\n"), ("/in/null.csv", b",a,1,\n")]);
    run(&mut s, TABLE);
    assert!(run(&mut s, "bulk insert t from '/in/none.csv'").contains("Msg 4860"));
    let all = run(&mut s, "bulk insert t from '/in/bad.csv' with (fieldterminator = ',')");
    assert!(all.contains("Msg 4864") && all.contains("row 1, column 3 (amount)"), "{all}");
    assert!(all.contains("Msg 4863") && all.contains("row 2, column 2 (name)"), "{all}");
    assert!(all.contains("row 3, column 1 (id)") && all.contains("(1 row affected)"), "{all}");
    let few =
        run(&mut s, "delete t; bulk insert t from '/in/bad.csv' with (fieldterminator = ',', maxerrors = 1)");
    assert!(few.contains("Msg 4865"), "{few}");
    assert!(run(&mut s, "select count(*) as n from t").contains("\n0\n"), "nothing of it stays");
    let batched =
        "bulk insert t from '/in/null.csv' with (fieldterminator = ',', batchsize = 1, maxerrors = 0)";
    let batched = run(&mut s, batched);
    assert!(batched.contains("Msg 4869") && batched.contains("Msg 4865"), "{batched}");
    assert!(
        run(&mut s, "bulk insert t from '/in/short.txt' with (fieldterminator = ',')").contains("Msg 4832")
    );
    assert!(run(&mut s, "bulk insert t from '/in/bad.csv' with (formatfile = 'x')").contains("Msg 4860"));
}

#[test]
fn identity_values_come_from_the_file_when_kept() {
    let wide: Vec<u8> = "\u{FEFF}7\tseven\n9\tnine\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut s = session(&[("/in/w.txt", &wide)]);
    run(&mut s, "create table i (id int identity primary key, name nvarchar(20))");
    assert_eq!(
        run(&mut s, "bulk insert i from '/in/w.txt' with (datafiletype = 'widechar')"),
        "(2 rows affected)\n"
    );
    assert_eq!(
        run(&mut s, "bulk insert i from '/in/w.txt' with (keepidentity, batchsize = 1)"),
        "(2 rows affected)\n"
    );
    let ids = run(
        &mut s,
        "select string_agg(cast(id as varchar(10)), ',') within group (order by id) as ids from i",
    );
    assert!(ids.contains("1,2,7,9"), "{ids}");
}

#[test]
fn computed_columns_have_fields_and_bytes_are_hexadecimal() {
    let text = b"1\tx\t58\tE6100000010C00000000000000400000000000003E40\t0xAB\n2\t\t\0\t\t\n";
    let mut s = session(&[("/in/a.txt", text), ("/in/bad.txt", b"3\tx\tzz\t\t\n")]);
    run(
        &mut s,
        "create table t (id int, twice as id * 2, node hierarchyid, at geography, bytes varbinary(4))",
    );
    assert_eq!(run(&mut s, "bulk insert t from '/in/a.txt'"), "(2 rows affected)\n");
    let rows = run(
        &mut s,
        "select concat(id, ' ', twice, ' ', node.ToString(), ' ', at.ToString(), ' ', convert(varchar, bytes, 1)) as r from t order by id",
    );
    assert!(rows.contains("1 2 /1/ POINT (30 2) 0xAB") && rows.contains("2 4 /"), "{rows}");
    assert!(run(&mut s, "bulk insert t from '/in/bad.txt'").contains("row 1, column 3 (node)"));
}

#[test]
fn block_predicates_look_at_the_rows() {
    let good = b"1\tann\t1\t2024-01-02\n2\tbob\t2\t2024-01-02\n";
    let mut s = session(&[("/in/good.txt", good), ("/in/bad.txt", b"3\tann\t1\t\n4\tmallory\t9\t\n")]);
    run(&mut s, TABLE);
    run(&mut s, "create table known (name varchar(10) primary key); insert known values ('ann'), ('bob')");
    run(
        &mut s,
        "create function dbo.is_known (@name varchar(10)) returns table with schemabinding as return select 1 as ok from dbo.known as k where k.name = @name",
    );
    run(
        &mut s,
        "create security policy dbo.p add block predicate dbo.is_known(name) on dbo.t after insert, add filter predicate dbo.is_known(name) on dbo.t",
    );
    assert_eq!(run(&mut s, "bulk insert t from '/in/good.txt'"), "(2 rows affected)\n");
    let refused = run(&mut s, "bulk insert t from '/in/bad.txt'");
    assert!(refused.contains("Msg 33504"), "{refused}");
    assert!(run(&mut s, "select count(*) as n from t").contains("2"));
    run(&mut s, "alter security policy dbo.p with (state = off)");
    assert_eq!(run(&mut s, "bulk insert t from '/in/bad.txt'"), "(2 rows affected)\n");
}

#[test]
fn a_file_as_one_value() {
    let wide: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("größer".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let files: [(&str, &[u8]); 4] = [
        ("/in/a.json", b"\xEF\xBB\xBF[{\"a\":1},{\"a\":2}]"),
        ("/in/old.txt", b"f\xE4r"),
        ("/in/wide.txt", &wide),
        ("/in/bytes", &[0, 1, 0xFE]),
    ];
    let mut s = session(&files);
    let json = "select j.a from openrowset(bulk '/in/a.json', single_clob) as f cross apply openjson(f.BulkColumn) with (a int) j";
    assert_eq!(run(&mut s, json), "a\n-\n1\n2\n(2 rows)\n");
    let old = run(&mut s, "select BulkColumn + '!' as t from openrowset(bulk N'/in/old.txt', single_clob) f");
    assert!(old.contains("fär!"), "{old}");
    let named = run(&mut s, "select f.t from openrowset(bulk '/in/wide.txt', single_nclob) as f(t)");
    assert!(named.contains("größer"), "{named}");
    let bytes = "declare @b varbinary(max) = (select BulkColumn from openrowset(bulk '/in/bytes', single_blob) as f); select convert(varchar(20), @b, 1) as b";
    let told = run(&mut s, bytes);
    assert!(told.contains("0x0001FE"), "{told}");
    for (from, number) in [
        ("openrowset(bulk '/in/old.txt', single_nclob) as f", 4809),
        ("openrowset(bulk '/in/none', single_clob) as f", 4860),
        ("openrowset(bulk '/in/a.json', single_clob)", 491),
        ("openrowset(bulk '/in/a.json', formatfile = 'x') as f", 4860),
    ] {
        let told = run(&mut s, &format!("select * from {from}"));
        assert!(told.contains(&format!("Msg {number},")), "{from}: {told}");
    }
}

#[test]
fn indexed_views_take_in_what_is_loaded() {
    let files: [(&str, &[u8]); 2] =
        [("/in/a.txt", b"1\t1\t5\n2\t1\t6\n3\t2\t7\n"), ("/in/twice.txt", b"4\t3\t8\n5\t3\t5\n")];
    for options in ["", " with (tablock)", " with (batchsize = 1)"] {
        let mut s = session(&files);
        run(&mut s, "create table dbo.b (id int not null primary key, g int not null, v int not null)");
        run(
            &mut s,
            "create view dbo.s with schemabinding as select g, count_big(*) as n, sum(v) as v from dbo.b group by g",
        );
        run(&mut s, "create view dbo.o with schemabinding as select v, id from dbo.b where v < 100");
        run(&mut s, "create unique clustered index cx on dbo.s (g)");
        run(&mut s, "create unique clustered index cx on dbo.o (v)");
        assert!(
            run(&mut s, &format!("bulk insert dbo.b from '/in/a.txt'{options}"))
                .contains("(3 rows affected)")
        );
        let refused = run(&mut s, "bulk insert dbo.b from '/in/twice.txt'");
        assert!(refused.contains("Msg 2601") && refused.contains("'dbo.o'"), "{refused}");
        let sums = run(&mut s, "select concat(g, ' ', n, ' ', v) as r from dbo.s with (noexpand) order by g");
        assert!(sums.contains("1 2 11\n2 1 7\n(2 rows)"), "{options}: {sums}");
        let rows = run(&mut s, "select concat(v, ' ', id) as r from dbo.o with (noexpand) order by v");
        assert!(rows.contains("5 1\n6 2\n7 3\n(3 rows)"), "{options}: {rows}");
    }
}

/// Rows that are loaded under the table's lock alone belong to joins with what others add meanwhile.
#[test]
fn who_changes_the_other_side_of_an_indexed_join_waits_for_a_load() {
    let engine = engine(&[("/in/a.txt", b"1\tone\n")]);
    let (mut a, mut b) = (connect(&engine), connect(&engine));
    run(&mut a, "create table dbo.l (id int not null primary key, name varchar(10) not null)");
    run(&mut a, "create table dbo.r (id int not null primary key, l int not null)");
    run(
        &mut a,
        "create view dbo.j with schemabinding as select r.id, l.name from dbo.r join dbo.l on l.id = r.l",
    );
    run(&mut a, "create unique clustered index cx on dbo.j (id)");
    run(&mut a, "begin transaction; bulk insert dbo.l from '/in/a.txt' with (tablock)");
    let refused = run(&mut b, "set lock_timeout 0; insert dbo.r values (1, 1)");
    assert!(refused.contains("Msg 1222"), "{refused}");
    run(&mut a, "commit");
    run(&mut b, "insert dbo.r values (1, 1)");
    let rows = run(&mut a, "select concat(id, ' ', name) as r from dbo.j with (noexpand)");
    assert!(rows.contains("1 one"), "{rows}");
}

/// A value with its length in front, in as many bytes.
fn counted(prefix: usize, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.len().to_le_bytes()[..prefix].to_vec();
    out.extend_from_slice(bytes);
    out
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn native_files_have_the_columns_own_forms() {
    let decimal = |scale: u8, sign: u8, n: u16| {
        let mut bytes = vec![9, scale, sign];
        bytes.extend_from_slice(&n.to_le_bytes());
        bytes.resize(19, 0);
        counted(1, &bytes)
    };
    let row = |wide: bool| {
        let text = |s: &str| if wide { utf16(s) } else { s.bytes().collect() };
        let mut row = 7_i32.to_le_bytes().to_vec();
        row.extend(counted(1, &(-5_i16).to_le_bytes()));
        row.extend(counted(2, &text("one")));
        row.extend(counted(2, &utf16("größer")));
        row.extend(decimal(2, 0, 150));
        row.extend(counted(8, &text("long")));
        row.extend([
            0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0xAA, 2, 0, 0, 0, 0xBB, 0xCC, 0, 0,
            0, 0,
        ]);
        row.extend(counted(1, &[0x10, 0x27, 0, 1, 0, 0]));
        row
    };
    let mut nulls = 8_i32.to_le_bytes().to_vec();
    nulls.extend([0xFF; 1 + 2 + 2 + 1 + 8 + 8 + 1]);
    let narrow = [row(false), nulls.clone()].concat();
    let wide = [row(true), nulls].concat();
    let cut = &narrow[..narrow.len() - 3];
    // A length that the file does not have.
    let mut long = 1_i32.to_le_bytes().to_vec();
    long.extend([0xFF, 0xF0, 0x7F]);
    long.resize(2_000, 1);
    let files: [(&str, &[u8]); 4] =
        [("/in/n.dat", &narrow), ("/in/w.dat", &wide), ("/in/cut.dat", cut), ("/in/long.dat", &long)];
    let mut s = session(&files);
    run(
        &mut s,
        "create table n (id int not null, s smallint null, v varchar(10) null, w nvarchar(10) null default N'none', d decimal(9, 2) null, m varchar(max) null, b varbinary(max) null, t datetime2(0) null)",
    );
    for (kind, file) in [("native", "n"), ("widenative", "w")] {
        let load = format!("bulk insert n from '/in/{file}.dat' with (datafiletype = '{kind}', keepnulls)");
        assert_eq!(run(&mut s, &load), "(2 rows affected)\n", "{kind}");
        let rows = run(
            &mut s,
            "select concat(id, ' ', s, ' ', v, ' ', w, ' ', d, ' ', m, ' ', convert(varchar(20), b, 1), ' ', t) as r from n order by id; delete n",
        );
        assert!(rows.contains("7 -5 one größer -1.50 long 0xAABBCC 0001-01-02 02:46:40"), "{kind}: {rows}");
        assert!(rows.contains("\n8"), "{kind}: {rows}");
    }
    for file in ["cut", "long"] {
        let load = format!("bulk insert n from '/in/{file}.dat' with (datafiletype = 'native')");
        assert!(run(&mut s, &load).contains("Msg 4832"), "{file}");
    }
    assert!(run(&mut s, "select count(*) as n from n").contains("\n0\n"), "nothing of it stays");
}

#[test]
fn format_files_say_which_value_is_whose() {
    let text = "14.0\n4\n1 SQLCHAR 0 12 \",\" 2 name \"\"\n2 SQLCHAR 0 12 \",\" 0 skipped \"\"\n3 SQLINT 0 4 \"\" 1 id \"\"\n4 SQLNCHAR 2 20 \"\\r\\n\" 4 day \"\"\n";
    let xml = r#"<BCPFORMAT xmlns="http://schemas.microsoft.com/sqlserver/2004/bulkload/format" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<RECORD><FIELD ID="a" xsi:type="NCharTerm" TERMINATOR=";\0"/><FIELD ID="x" xsi:type="NCharTerm" TERMINATOR=";\0"/><FIELD ID="b" xsi:type="NCharTerm" TERMINATOR="\r\0\n\0"/></RECORD>
<ROW><COLUMN SOURCE="a" NAME="id" xsi:type="SQLINT"/><COLUMN SOURCE="b" NAME="name" xsi:type="SQLNVARCHAR"/></ROW></BCPFORMAT>"#;
    let mut data = b"ann,what,".to_vec();
    data.extend(3_i32.to_le_bytes());
    data.extend(counted(2, &utf16("2024-05-06")));
    data.extend(b"\r\nbob,,");
    data.extend(4_i32.to_le_bytes());
    data.extend([0xFF, 0xFF, b'\r', b'\n']);
    // The first letter's bytes hold what looks like a terminator across two characters.
    let wide = utf16("\u{FEFF}5;x;\u{3B0A}\u{0A00}z\r\n6;;max\r\n");
    let files: [(&str, &[u8]); 5] = [
        ("/in/f.fmt", text.as_bytes()),
        ("/in/f.xml", xml.as_bytes()),
        ("/in/f.dat", &data),
        ("/in/w.dat", &wide),
        ("/in/f.csv", b"9,\"a, b\",x\r\n"),
    ];
    let mut s = session(&files);
    run(
        &mut s,
        "create table f (id int not null primary key, name nvarchar(10) null, amount decimal(8,2) null default 1.5, day date null)",
    );
    assert_eq!(
        run(&mut s, "bulk insert f from '/in/f.dat' with (formatfile = '/in/f.fmt')"),
        "(2 rows affected)\n"
    );
    assert_eq!(
        run(&mut s, "bulk insert f from '/in/w.dat' with (formatfile = '/in/f.xml')"),
        "(2 rows affected)\n"
    );
    let rows = run(&mut s, "select concat(id, ' ', name, ' ', amount, ' ', day) as r from f order by id");
    for line in ["3 ann 1.50 2024-05-06", "4 bob 1.50 ", "5 \u{3B0A}\u{0A00}z 1.50 ", "6 max 1.50 "] {
        assert!(rows.lines().any(|l| l.trim_end() == line.trim_end()), "{line}: {rows}");
    }
    let fields = "14.0\n3\n1 SQLCHAR 0 9 \",\" 1 id \"\"\n2 SQLCHAR 0 9 \",\" 2 name \"\"\n3 SQLCHAR 0 9 \"\\r\\n\" 0 x \"\"\n";
    let mut s = session(&[("/in/c.fmt", fields.as_bytes()), files[4]]);
    run(&mut s, "create table f (id int not null primary key, name nvarchar(10) null)");
    let load = "bulk insert f from '/in/f.csv' with (format = 'csv', formatfile = '/in/c.fmt')";
    assert_eq!(run(&mut s, load), "(1 row affected)\n");
    assert!(run(&mut s, "select name from f").contains("a, b"));
}
