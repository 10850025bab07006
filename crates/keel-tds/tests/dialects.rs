//! What the dialects before 7.4 say otherwise, byte by byte.

use keel_tds::bytes::Reader;
use keel_tds::request::bulk::{BulkReader, RowVisitor, Step};
use keel_tds::request::rpc::{CallFlags, ParameterFlags, ProcId, Procedure, encode_call, encode_parameter};
use keel_tds::request::{AllHeaders, Calls, decode_batch, encode_batch};
use keel_tds::token::column::{self, Column};
use keel_tds::token::{
    ColumnFlags, Done, DoneKind, DoneStatus, EnvChange, ReturnValue, ServerMessage, Token, TokenReader, misc,
    row,
};
use keel_tds::type_info::{Fixed, MAX, UdtColumn};
use keel_tds::{Data, Dialect, TypeInfo, WireCollation};

use Dialect::{V7_0, V7_1, V7_1Revision1, V7_2, V7_3A, V7_3B, V7_4};

const LATIN1: WireCollation = WireCollation::LATIN1_CI_AS;

/// The bytes that `put` appends.
fn said(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out);
    out
}

fn column(ty: TypeInfo, table: &[&str]) -> Column {
    let table = table.iter().map(|part| (*part).to_owned()).collect();
    Column { user_type: 80, flags: ColumnFlags::NULLABLE, ty, table, crypto: None, name: "c".into() }
}

#[test]
fn a_login_says_which_it_is() {
    let of = |version| Dialect::of_version(version);
    assert_eq!([of(0x0402_0000), of(0x0500_0000), of(0)], [None; 3]);
    assert_eq!(
        [of(0x7000_0000), of(0x7100_0000), of(0x7100_0001)].map(Option::unwrap),
        [V7_0, V7_1, V7_1Revision1]
    );
    assert_eq!([of(0x7209_0002), of(0x730A_0003), of(0x730B_0003)].map(Option::unwrap), [V7_2, V7_3A, V7_3B]);
    assert_eq!([of(0x7400_0004), of(0x0800_0000), of(0x7500_0000)].map(Option::unwrap), [V7_4; 3]);
    assert_eq!(V7_0.acknowledged(), Some(0x0700_0000));
    assert_eq!(V7_1.acknowledged(), Some(0x0701_0000));
    assert_eq!(V7_1Revision1.acknowledged(), Some(0x7100_0001));
    assert_eq!(V7_2.acknowledged(), None);
}

#[test]
fn counts_of_rows_have_four_bytes_before_7_2() {
    let done = Done { kind: DoneKind::Done, status: DoneStatus::COUNT, command: 0xC1, rows: 0x1_0000_0002 };
    for dialect in [V7_0, V7_1, V7_1Revision1] {
        assert_eq!(said(|out| done.put(out, dialect)), [0xFD, 0x10, 0, 0xC1, 0, 255, 255, 255, 255]);
        let few = Done { rows: 7, ..done };
        let bytes = said(|out| few.put(out, dialect));
        assert_eq!(bytes, [0xFD, 0x10, 0, 0xC1, 0, 7, 0, 0, 0]);
        assert_eq!(TokenReader::new(dialect).next(&bytes), Ok((Token::Done(few), bytes.len())));
    }
    for dialect in [V7_2, V7_3A, V7_3B, V7_4] {
        assert_eq!(said(|out| done.put(out, dialect)), [0xFD, 0x10, 0, 0xC1, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
    }
}

#[test]
fn lines_have_two_bytes_before_7_2() {
    let message =
        ServerMessage { is_error: true, number: 208, class: 16, state: 1, line: 9, ..Default::default() };
    let bytes = said(|out| message.put(out, V7_1Revision1));
    assert_eq!(bytes, [0xAA, 12, 0, 208, 0, 0, 0, 1, 16, 0, 0, 0, 0, 9, 0]);
    assert_eq!(TokenReader::new(V7_1).next(&bytes), Ok((Token::Message(message.clone()), bytes.len())));
    let beyond = ServerMessage { line: 70_000, ..message.clone() };
    assert_eq!(said(|out| beyond.put(out, V7_0))[13..], [255, 255]);
    assert_eq!(said(|out| message.put(out, V7_2))[13..], [9, 0, 0, 0]);
}

#[test]
fn user_types_have_two_bytes_before_7_2() {
    let columns = [column(TypeInfo::VarBinary(8), &[])];
    let bytes = said(|out| column::put(out, columns.iter(), V7_1, false));
    assert_eq!(bytes, [0x81, 1, 0, 80, 0, 1, 0, 0xA5, 8, 0, 1, b'c', 0]);
    assert_eq!(TokenReader::new(V7_1).next(&bytes).unwrap().0, Token::Columns(columns.to_vec()));
    let bytes = said(|out| column::put(out, columns.iter(), V7_2, false));
    assert_eq!(bytes, [0x81, 1, 0, 80, 0, 0, 0, 1, 0, 0xA5, 8, 0, 1, b'c', 0]);

    let value =
        ReturnValue { ordinal: 1, name: "@p".into(), status: 1, ty: TypeInfo::IntN(4), value: Data::Int(5) };
    let bytes = said(|out| value.put(out, V7_1));
    assert_eq!(bytes, [0xAC, 1, 0, 2, b'@', 0, b'p', 0, 1, 0, 0, 0, 0, 0x26, 4, 4, 5, 0, 0, 0]);
    assert_eq!(TokenReader::new(V7_1).next(&bytes), Ok((Token::ReturnValue(value), bytes.len())));
}

#[test]
fn a_column_of_text_names_its_table_in_one_piece_before_7_2() {
    let columns = [column(TypeInfo::Image(5), &["dbo", "t"])];
    let bytes = said(|out| column::put(out, columns.iter(), V7_1Revision1, false));
    let table = [5, 0, b'd', 0, b'b', 0, b'o', 0, b'.', 0, b't', 0];
    assert_eq!(bytes[7..], [&[0x22, 5, 0, 0, 0][..], &table, &[1, b'c', 0]].concat());
    let read = TokenReader::new(V7_1).next(&bytes).unwrap().0;
    assert_eq!(read, Token::Columns(vec![column(TypeInfo::Image(5), &["dbo.t"])]));
    let bytes = said(|out| column::put(out, columns.iter(), V7_2, false));
    let table = [2, 3, 0, b'd', 0, b'b', 0, b'o', 0, 1, 0, b't', 0];
    assert_eq!(bytes[9..], [&[0x22, 5, 0, 0, 0][..], &table, &[1, b'c', 0]].concat());
}

#[test]
fn browsed_tables_come_in_parts_since_7_1_revision_1() {
    let tables = [vec!["s".to_owned(), "t".to_owned()]];
    let whole = [0xA4, 8, 0, 3, 0, b's', 0, b'.', 0, b't', 0];
    for dialect in [V7_0, V7_1] {
        assert_eq!(said(|out| misc::put_tables(out, &tables, dialect)), whole);
    }
    for dialect in [V7_1Revision1, V7_2, V7_4] {
        let parts = [0xA4, 9, 0, 2, 1, 0, b's', 0, 1, 0, b't', 0];
        assert_eq!(said(|out| misc::put_tables(out, &tables, dialect)), parts);
    }
}

#[test]
fn collations_stand_behind_text_since_7_1() {
    let ty = TypeInfo::VarChar(10, LATIN1);
    assert_eq!(said(|out| ty.encode(out, V7_0)), [0xA7, 10, 0]);
    assert_eq!(TypeInfo::decode(&mut Reader::new(&[0xA7, 10, 0]), V7_0), Ok(ty.clone()));
    assert_eq!(said(|out| ty.encode(out, V7_1)), [&[0xA7, 10, 0][..], &LATIN1.to_bytes()].concat());
    let text = said(|out| TypeInfo::NText(16, LATIN1).encode(out, V7_0));
    assert_eq!(text, [0x63, 16, 0, 0, 0]);
}

#[test]
fn a_length_without_bound_is_none_before_7_2() {
    for code in [0xA5, 0xA7, 0xAD, 0xAF, 0xE7, 0xEF] {
        let bytes = [code, 255, 255, 9, 4, 0, 0, 0];
        assert!(TypeInfo::decode(&mut Reader::new(&bytes), V7_1).is_err(), "{code:x}");
        assert!(TypeInfo::decode(&mut Reader::new(&bytes), V7_2).is_ok(), "{code:x}");
    }
}

#[test]
fn changes_of_the_environment_are_told_to_who_knows_them() {
    let told =
        |change: &EnvChange| Dialect::ALL.map(|dialect| !said(|out| change.put(out, dialect)).is_empty());
    let size = EnvChange::PacketSize { new: 4096, old: 512 };
    assert_eq!(told(&size), [true; 7]);
    let collation = EnvChange::Collation { new: Some(LATIN1), old: None };
    assert_eq!(told(&collation), [false, true, true, true, true, true, true]);
    let characters = EnvChange::CharacterSet("iso_1".into());
    assert_eq!(told(&characters), [true, false, false, false, false, false, false]);
    for change in [EnvChange::BeginTransaction(1), EnvChange::CommitTransaction(1), EnvChange::ResetAck] {
        assert_eq!(told(&change), [false, false, false, true, true, true, true]);
    }
}

#[test]
fn types_are_described_as_what_the_dialect_has() {
    let max = [
        (
            TypeInfo::VarChar(MAX, LATIN1),
            TypeInfo::Text(0x7FFF_FFFF, LATIN1),
            TypeInfo::VarChar(8000, LATIN1),
        ),
        (
            TypeInfo::NVarChar(MAX, LATIN1),
            TypeInfo::NText(0x7FFF_FFFE, LATIN1),
            TypeInfo::NVarChar(8000, LATIN1),
        ),
        (TypeInfo::Xml(None), TypeInfo::NText(0x7FFF_FFFE, LATIN1), TypeInfo::NVarChar(8000, LATIN1)),
        (TypeInfo::VarBinary(MAX), TypeInfo::Image(0x7FFF_FFFF), TypeInfo::VarBinary(8000)),
        (clr(MAX), TypeInfo::Image(0x7FFF_FFFF), TypeInfo::VarBinary(8000)),
        (clr(892), TypeInfo::VarBinary(892), TypeInfo::VarBinary(892)),
    ];
    for (ty, column, returned) in max {
        for dialect in [V7_0, V7_1, V7_1Revision1] {
            assert_eq!(dialect.column_type(ty.clone()), column);
            assert_eq!(dialect.returned_type(ty.clone()), returned);
        }
        for dialect in [V7_2, V7_3A, V7_3B, V7_4] {
            assert_eq!(dialect.column_type(ty.clone()), ty);
            assert_eq!(dialect.returned_type(ty.clone()), ty);
        }
    }
    let dates = [
        (TypeInfo::DateN, 10),
        (TypeInfo::TimeN(0), 8),
        (TypeInfo::TimeN(7), 16),
        (TypeInfo::DateTime2N(0), 19),
        (TypeInfo::DateTime2N(3), 23),
        (TypeInfo::DateTimeOffsetN(7), 34),
    ];
    for (ty, units) in dates {
        for dialect in [V7_0, V7_1, V7_1Revision1, V7_2] {
            assert_eq!(dialect.column_type(ty.clone()), TypeInfo::NVarChar(units * 2, LATIN1));
        }
        for dialect in [V7_3A, V7_3B, V7_4] {
            assert_eq!(dialect.column_type(ty.clone()), ty);
        }
    }
    let number = TypeInfo::Decimal { numeric: true, precision: 19, scale: 0 };
    assert_eq!(V7_0.column_type(TypeInfo::Fixed(Fixed::Int8)), number);
    assert_eq!(V7_0.column_type(TypeInfo::Variant(8009)), TypeInfo::NVarChar(8000, LATIN1));
    assert_eq!(V7_1.column_type(TypeInfo::IntN(8)), TypeInfo::IntN(8));
}

fn clr(max_bytes: u16) -> TypeInfo {
    let name = ["master".into(), "sys".into(), "geometry".into()];
    TypeInfo::UdtColumn(Box::new(UdtColumn { max_bytes, name, assembly: "a".into() }))
}

#[test]
fn requests_have_no_headers_before_7_2() {
    let headers = AllHeaders { transaction: 7, outstanding: 1, ..AllHeaders::default() };
    assert_eq!(said(|out| encode_batch(out, &headers, "S", V7_1)), [b'S', 0]);
    assert_eq!(decode_batch(&[b'S', 0], V7_1).unwrap().1, "S");
    let new = said(|out| encode_batch(out, &headers, "S", V7_2));
    assert_eq!(decode_batch(&new, V7_2).unwrap(), (headers, "S".into()));
}

#[test]
fn calls_are_separated_by_another_byte_before_7_2() {
    let message = |separator| {
        said(|out| {
            encode_call(out, &Procedure::Id(ProcId::ExecuteSql), CallFlags::empty());
            encode_parameter(out, "", ParameterFlags::empty(), &TypeInfo::IntN(4), &Data::Int(1));
            out.push(separator);
            encode_call(out, &Procedure::Name("p".into()), CallFlags::empty());
        })
    };
    let old = message(0x80);
    let mut calls = Calls::decode(&old, V7_1).unwrap();
    assert_eq!(calls.next_call(Vec::new()).unwrap().unwrap().parameters.len(), 1);
    assert_eq!(calls.next_call(Vec::new()).unwrap().unwrap().procedure, Procedure::Name("p".into()));
    assert!(calls.next_call(Vec::new()).is_none());
    // What is a separator elsewhere is the length of a name here.
    let new = message(0xFF);
    assert!(Calls::decode(&new, V7_1).unwrap().next_call(Vec::new()).unwrap().is_err());
}

struct Ints(Vec<i32>);

impl RowVisitor for Ints {
    fn start(&mut self) {}
    fn value(&mut self, _: usize, _: &Column, data: Data<'_>) {
        if let Data::Int(v) = data {
            self.0.push(v);
        }
    }
}

#[test]
fn a_bulk_load_is_read_in_its_dialect() {
    for dialect in Dialect::ALL {
        let columns = [column(TypeInfo::IntN(4), &[]), column(TypeInfo::NText(16, LATIN1), &["t"])];
        let bytes = said(|out| {
            column::put(out, columns.iter(), dialect, false);
            row::put_row(out, &columns, &[Data::Int(3), Data::NChar(vec![b'x', 0].into())]);
            row::put_row(out, &columns, &[Data::Int(4), Data::Null]);
            Done { kind: DoneKind::Done, status: DoneStatus::empty(), command: 0, rows: 0 }.put(out, dialect);
        });
        let mut reader = BulkReader::new(dialect, false);
        let mut ints = Ints(Vec::new());
        reader.feed(&bytes).unwrap();
        while reader.step(true, &mut ints) == Ok(Step::Row) {}
        assert_eq!(ints.0, [3, 4], "{dialect:?}");
        assert_eq!(reader.step(true, &mut ints), Ok(Step::Done));
    }
}
