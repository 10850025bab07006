//! Values and tokens: round trips for every type, and no panic on any bytes.

use std::borrow::Cow;

use keel_tds::bytes::Reader;
use keel_tds::request::bulk::{BulkReader, RowVisitor, Step};
use keel_tds::request::tvp::{Table, TableColumn};
use keel_tds::token::column::{self, Column};
use keel_tds::token::{
    ColumnFlags, Done, DoneKind, DoneStatus, EnvChange, LoginAck, ServerMessage, Token, TokenReader, row,
};
use keel_tds::type_info::{Fixed, MAX};
use keel_tds::value::Place;
use keel_tds::{Data, DecodeError, Dialect, TypeInfo, WireCollation, request};
use proptest::prelude::*;

const LATIN1: WireCollation = WireCollation::LATIN1_CI_AS;
const DAY: u64 = 864_000_000_000;

fn bytes(max: usize) -> impl Strategy<Value = Cow<'static, [u8]>> {
    proptest::collection::vec(any::<u8>(), 0..max).prop_map(Cow::Owned)
}

fn scaled(scale: u8) -> impl Strategy<Value = u64> {
    let unit = 10u64.pow(7 - u32::from(scale));
    (0..DAY / unit).prop_map(move |units| units * unit)
}

/// A type and a value of it that is not NULL.
fn typed() -> BoxedStrategy<(TypeInfo, Data<'static>)> {
    let days = 0..=3_652_058u32;
    prop_oneof![
        any::<u8>().prop_map(|v| (TypeInfo::Fixed(Fixed::Int1), Data::TinyInt(v))),
        any::<bool>().prop_map(|v| (TypeInfo::Fixed(Fixed::Bit), Data::Bit(v))),
        any::<i32>().prop_map(|v| (TypeInfo::Fixed(Fixed::Int4), Data::Int(v))),
        any::<i64>().prop_map(|v| (TypeInfo::Fixed(Fixed::Money8), Data::Money(v))),
        (any::<u16>(), any::<u16>()).prop_map(|(days, minutes)| (
            TypeInfo::Fixed(Fixed::DateTime4),
            Data::SmallDateTime { days, minutes }
        )),
        any::<i16>().prop_map(|v| (TypeInfo::IntN(2), Data::SmallInt(v))),
        any::<i64>().prop_map(|v| (TypeInfo::IntN(8), Data::BigInt(v))),
        any::<bool>().prop_map(|v| (TypeInfo::BitN, Data::Bit(v))),
        (-1e30f32..1e30).prop_map(|v| (TypeInfo::FloatN(4), Data::Real(v))),
        (-1e300f64..1e300).prop_map(|v| (TypeInfo::FloatN(8), Data::Float(v))),
        any::<i32>().prop_map(|v| (TypeInfo::MoneyN(4), Data::Money(v.into()))),
        (any::<i32>(), any::<u32>())
            .prop_map(|(days, ticks)| (TypeInfo::DateTimeN(8), Data::DateTime { days, ticks })),
        any::<[u8; 16]>().prop_map(|v| (TypeInfo::Guid, Data::Guid(v))),
        (1u8..=38, any::<bool>(), any::<u128>()).prop_flat_map(|(precision, negative, n)| {
            let magnitude = n % 10u128.pow(precision.into());
            (0..=precision).prop_map(move |scale| {
                let ty = TypeInfo::Decimal { numeric: negative, precision, scale };
                (ty, Data::Decimal { negative, magnitude, scale })
            })
        }),
        days.clone().prop_map(|d| (TypeInfo::DateN, Data::Date(d))),
        (0u8..=7).prop_flat_map(|s| scaled(s).prop_map(move |t| (TypeInfo::TimeN(s), Data::Time(t)))),
        (0u8..=7, days.clone()).prop_flat_map(|(s, days)| scaled(s)
            .prop_map(move |time| (TypeInfo::DateTime2N(s), Data::DateTime2 { days, time }))),
        (0u8..=7, days, -840i16..=840).prop_flat_map(|(s, days, offset)| scaled(s).prop_map(move |time| (
            TypeInfo::DateTimeOffsetN(s),
            Data::DateTimeOffset { days, time, offset }
        ))),
        bytes(100).prop_map(|v| (TypeInfo::Binary(100), Data::Binary(v))),
        bytes(100).prop_map(|v| (TypeInfo::VarBinary(100), Data::Binary(v))),
        bytes(300).prop_map(|v| (TypeInfo::VarBinary(MAX), Data::Binary(v))),
        bytes(100).prop_map(|v| (TypeInfo::Char(100, LATIN1), Data::Char(v))),
        bytes(100).prop_map(|v| (TypeInfo::VarChar(100, LATIN1), Data::Char(v))),
        bytes(300).prop_map(|v| (TypeInfo::VarChar(MAX, LATIN1), Data::Char(v))),
        bytes(100).prop_map(|v| (TypeInfo::NChar(100, LATIN1), Data::NChar(v))),
        bytes(100).prop_map(|v| (TypeInfo::NVarChar(100, LATIN1), Data::NChar(v))),
        bytes(300).prop_map(|v| (TypeInfo::NVarChar(MAX, LATIN1), Data::NChar(v))),
        bytes(100).prop_map(|v| (TypeInfo::Text(100, LATIN1), Data::Char(v))),
        bytes(100).prop_map(|v| (TypeInfo::NText(100, LATIN1), Data::NChar(v))),
        bytes(100).prop_map(|v| (TypeInfo::Image(100), Data::Binary(v))),
        bytes(100).prop_map(|v| (TypeInfo::Xml(None), Data::NChar(v))),
        any::<i32>().prop_map(|v| {
            let inner = (TypeInfo::Fixed(Fixed::Int4), Data::Int(v));
            (TypeInfo::Variant(8009), Data::Variant(Box::new(inner)))
        }),
        bytes(50).prop_map(|v| {
            let inner = (TypeInfo::NVarChar(100, LATIN1), Data::NChar(v));
            (TypeInfo::Variant(8009), Data::Variant(Box::new(inner)))
        }),
    ]
    .boxed()
}

/// A type and a value of it, sometimes NULL where the type can be.
fn nullable() -> BoxedStrategy<(TypeInfo, Data<'static>)> {
    (typed(), any::<bool>())
        .prop_map(|((ty, value), null)| match ty {
            TypeInfo::Fixed(_) => (ty, value),
            _ if null => (ty, Data::Null),
            _ => (ty, value),
        })
        .boxed()
}

fn column(i: usize, ty: TypeInfo) -> Column {
    let table = if ty.is_lob() { vec!["dbo".into(), "t".into()] } else { Vec::new() };
    Column { user_type: 0, flags: ColumnFlags::NULLABLE, ty, table, crypto: None, name: format!("c{i}") }
}

/// The values of a row; the last attempt at it counts.
#[derive(Default)]
struct Collected(Vec<Data<'static>>);

impl RowVisitor for Collected {
    fn start(&mut self) {
        self.0.clear();
    }
    fn value(&mut self, index: usize, _: &Column, data: Data<'_>) {
        assert_eq!(index, self.0.len());
        self.0.push(data.into_owned());
    }
}

proptest! {
    #[test]
    fn values_round_trip((ty, value) in nullable(), row in any::<bool>()) {
        let place = if row { Place::Row } else { Place::Parameter };
        let mut out = Vec::new();
        ty.encode(&mut out, Dialect::default());
        value.encode(&mut out, &ty, place);
        let mut r = Reader::new(&out);
        prop_assert_eq!(TypeInfo::decode(&mut r, Dialect::default()), Ok(ty.clone()));
        prop_assert_eq!(Data::decode(&mut r, &ty, place), Ok(value));
        prop_assert!(r.is_empty());
    }

    #[test]
    fn truncated_values_are_incomplete((ty, value) in nullable()) {
        let mut out = Vec::new();
        value.encode(&mut out, &ty, Place::Row);
        for end in 0..out.len() {
            let cut = Data::decode(&mut Reader::new(&out[..end]), &ty, Place::Row);
            prop_assert_eq!(cut, Err(DecodeError::Incomplete), "cut at {}", end);
        }
    }

    #[test]
    fn streamed_chunks_decode(v in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut out = Vec::new();
        keel_tds::value::put_plp_streamed(&mut out, &v);
        let back = Data::decode(&mut Reader::new(&out), &TypeInfo::VarBinary(MAX), Place::Row);
        prop_assert_eq!(back, Ok(Data::Binary(Cow::Owned(v))));
    }

    #[test]
    fn a_result_set_round_trips(cells in proptest::collection::vec(nullable(), 1..12), nbc in any::<bool>()) {
        let (types, values): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let columns: Vec<Column> = types.into_iter().enumerate().map(|(i, ty)| column(i, ty)).collect();
        let mut out = Vec::new();
        column::put(&mut out, columns.iter(), Dialect::default(), false);
        if nbc { row::put_nbc_row(&mut out, &columns, &values) } else { row::put_row(&mut out, &columns, &values) }
        let mut reader = TokenReader::new(Dialect::default());
        let (first, n) = reader.next(&out).expect("columns");
        prop_assert_eq!(first, Token::Columns(columns));
        let (second, m) = reader.next(&out[n..]).expect("row");
        prop_assert_eq!(second, Token::Row(values));
        prop_assert_eq!(n + m, out.len());
    }

    #[test]
    fn a_bulk_load_arrives_in_any_pieces(
        cells in proptest::collection::vec(nullable(), 1..6),
        rows in 0usize..5,
        piece in 1usize..50,
    ) {
        let (types, values): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let columns: Vec<Column> = types.into_iter().enumerate().map(|(i, ty)| column(i, ty)).collect();
        let mut out = Vec::new();
        column::put(&mut out, columns.iter(), Dialect::default(), false);
        for _ in 0..rows {
            row::put_row(&mut out, &columns, &values);
        }
        Done { kind: DoneKind::Done, status: DoneStatus::empty(), command: 0, rows: 0 }.put(&mut out, Dialect::default());
        let mut bulk = BulkReader::new(Dialect::default(), false);
        let mut seen = 0;
        let mut pieces = out.chunks(piece).peekable();
        while let Some(p) = pieces.next() {
            bulk.feed(p).expect("small");
            let last = pieces.peek().is_none();
            let mut row = Collected::default();
            while bulk.step(last, &mut row).expect("valid") == Step::Row {
                prop_assert_eq!(&row.0, &values);
                seen += 1;
            }
        }
        prop_assert_eq!(seen, rows);
    }

    #[test]
    fn table_parameters_round_trip(cells in proptest::collection::vec(nullable(), 1..5), rows in 0usize..4) {
        let (types, row): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let columns = types.into_iter().map(|ty| TableColumn { flags: 1, ty }).collect();
        let table = Table { columns, rows: vec![row; rows] };
        let ty = TypeInfo::Table(Box::new(["".into(), "dbo".into(), "t".into()]));
        let mut out = Vec::new();
        ty.encode(&mut out, Dialect::default());
        Data::Table(Box::new(table.clone())).encode(&mut out, &ty, Place::Parameter);
        let mut r = Reader::new(&out);
        prop_assert_eq!(TypeInfo::decode(&mut r, Dialect::default()), Ok(ty.clone()));
        prop_assert_eq!(Data::decode(&mut r, &ty, Place::Parameter), Ok(Data::Table(Box::new(table))));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for dialect in Dialect::ALL {
            let mut reader = TokenReader::new(dialect);
            let mut at = 0;
            while let Ok((_, n)) = reader.next(&bytes[at..]) {
                at += n;
            }
            let mut r = Reader::new(&bytes);
            while let Ok(ty) = TypeInfo::decode(&mut r, dialect) {
                let _ = Data::decode(&mut r, &ty, Place::Parameter);
            }
            let _ = request::decode_batch(&bytes, dialect);
            if let Ok(mut calls) = request::Calls::decode(&bytes, dialect) {
                while let Some(Ok(_)) = calls.next_call(Vec::new()) {}
            }
            let _ = request::TransactionRequest::decode(&bytes, dialect);
            let mut bulk = BulkReader::new(dialect, false);
            if bulk.feed(&bytes).is_ok() {
                while let Ok(Step::Row) = bulk.step(true, &mut Collected::default()) {}
            }
        }
    }

    /// Valid tokens with one byte changed, which get further than noise does.
    #[test]
    fn flipped_bytes_never_panic(cells in proptest::collection::vec(nullable(), 1..6), at in any::<usize>(), to in any::<u8>()) {
        let (types, values): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let columns: Vec<Column> = types.into_iter().enumerate().map(|(i, ty)| column(i, ty)).collect();
        for dialect in Dialect::ALL {
            let mut out = Vec::new();
            column::put(&mut out, columns.iter(), dialect, false);
            row::put_row(&mut out, &columns, &values);
            let at = at % out.len();
            out[at] = to;
            let mut reader = TokenReader::new(dialect);
            if let Ok((_, n)) = reader.next(&out) {
                let _ = reader.next(&out[n..]);
            }
        }
    }
}

#[test]
fn the_null_table_is_null() {
    let ty = TypeInfo::Table(Box::new(["".into(), "".into(), "t".into()]));
    let mut out = Vec::new();
    Data::Null.encode(&mut out, &ty, Place::Parameter);
    assert_eq!(Data::decode(&mut Reader::new(&out), &ty, Place::Parameter), Ok(Data::Null));
}

#[test]
fn small_tokens_round_trip() {
    let message = ServerMessage {
        is_error: true,
        number: 18456,
        state: 1,
        class: 14,
        text: "Login failed for user 'sa'.".into(),
        server: "keel".into(),
        procedure: String::new(),
        line: 1,
    };
    let changes = [
        EnvChange::Database { new: "a".into(), old: "b".into() },
        EnvChange::Language { new: "us_english".into(), old: String::new() },
        EnvChange::PacketSize { new: 8000, old: 4096 },
        EnvChange::Collation { new: Some(LATIN1), old: None },
        EnvChange::BeginTransaction(7),
        EnvChange::CommitTransaction(7),
        EnvChange::RollbackTransaction(7),
        EnvChange::DefectTransaction(7),
        EnvChange::MirrorPartner("other".into()),
        EnvChange::TransactionEnded(7),
        EnvChange::ResetAck,
        EnvChange::Routing { host: "second".into(), port: 1433 },
    ];
    let ack =
        LoginAck { tds_version: 0x7400_0004, program: "Microsoft SQL Server".into(), version: (16, 0, 1000) };
    let mut tokens = vec![Token::Message(message.clone()), Token::LoginAck(ack.clone())];
    let mut out = Vec::new();
    message.put(&mut out, Dialect::default());
    ack.put(&mut out);
    for change in changes {
        change.put(&mut out, Dialect::default());
        tokens.push(Token::EnvChange(change));
    }
    let mut reader = TokenReader::new(Dialect::default());
    let mut at = 0;
    for token in tokens {
        let (back, n) = reader.next(&out[at..]).expect("valid");
        assert_eq!(back, token);
        at += n;
    }
    assert_eq!(at, out.len());
}

#[test]
fn a_routing_token_has_the_documented_bytes() {
    let mut out = Vec::new();
    EnvChange::Routing { host: "h".into(), port: 1433 }.put(&mut out, Dialect::default());
    assert_eq!(out, [0xE3, 12, 0, 20, 7, 0, 0, 0x99, 0x05, 1, 0, b'h', 0, 0, 0]);
}
