//! Messages of a client. The first byte chooses which; the rest is the message's payload.

use keel_server::decode;
use keel_tds::login::{Login, OptionFlags3, TDS_7_1, TDS_7_4};
use keel_tds::outbox::Outbox;
use keel_tds::packet::{Header, PacketType, Status};
use keel_tds::prelogin::{Encryption, PreLogin};
use keel_tds::request::bulk::{BulkReader, RowVisitor, Step};
use keel_tds::request::rpc::{
    CallFlags, ParameterFlags, ProcId, Procedure, encode_call, encode_parameter, encode_separator,
};
use keel_tds::request::{self, AllHeaders, Calls, TransactionRequest};
use keel_tds::token::column::{self, Column};
use keel_tds::token::{ColumnFlags, Done, DoneKind, DoneStatus, row};
use keel_tds::type_info::{Fixed, MAX};
use keel_tds::wire::Wire;
use keel_tds::{Data, Dialect, TypeInfo, WireCollation};

const PRELOGIN: u8 = 0;
const LOGIN: u8 = 1;
const BATCH: u8 = 2;
const RPC: u8 = 3;
const TRANSACTION: u8 = 4;
const BULK: u8 = 5;
const STREAM: u8 = 6;
const KINDS: u8 = 7;

/// One dialect of each way to lay out rows.
const DIALECTS: [Dialect; 3] = [Dialect::V7_0, Dialect::V7_1Revision1, Dialect::V7_4];

/// Decodes a message as the server does.
pub fn run(bytes: &[u8]) {
    let Some((kind, payload)) = crate::split_kind(bytes, KINDS) else { return };
    match kind {
        PRELOGIN => prelogin(payload),
        LOGIN => login(payload),
        BATCH => Dialect::ALL.into_iter().for_each(|d| drop(request::decode_batch(payload, d))),
        RPC => rpc(payload),
        TRANSACTION => Dialect::ALL.into_iter().for_each(|d| drop(TransactionRequest::decode(payload, d))),
        BULK => bulk(payload),
        _ => stream(payload),
    }
}

fn prelogin(payload: &[u8]) {
    let Ok(decoded) = PreLogin::decode(payload) else { return };
    let again = PreLogin::decode(&decoded.encode()).expect("what was decoded is encoded to something valid");
    assert_eq!(again, decoded);
}

fn login(payload: &[u8]) {
    let Ok(decoded) = Login::decode(payload) else { return };
    let encoded = decoded.encode();
    // Places in a login are 16 bits wide; its SSPI data may be longer, which our client never sends.
    if encoded.len() > usize::from(u16::MAX) || !decoded.sspi.is_empty() {
        return;
    }
    let again = Login::decode(&encoded).expect("what was decoded is encoded to something valid");
    assert_eq!((again.user_name, again.password), (decoded.user_name, decoded.password));
}

fn rpc(payload: &[u8]) {
    for dialect in Dialect::ALL {
        let Ok(mut calls) = Calls::decode(payload, dialect) else { continue };
        while let Some(Ok(call)) = calls.next_call(Vec::new()) {
            for (ordinal, parameter) in call.parameters.into_iter().enumerate() {
                let _ = decode::parameter(ordinal, parameter);
            }
        }
    }
}

/// Converts every value as a bulk load does before the row goes to the table.
#[derive(Default)]
struct Rows {
    text: String,
    values: usize,
}

impl RowVisitor for Rows {
    fn start(&mut self) {}
    fn value(&mut self, _: usize, column: &Column, data: Data<'_>) {
        if decode::cell(&column.ty, data, &mut self.text).is_some() {
            self.values += 1;
        }
    }
}

/// In packets of a length that the input chooses; however it is cut, the same rows come out.
fn bulk(payload: &[u8]) {
    let packet = usize::from(payload.first().copied().unwrap_or(0)) + 1;
    for dialect in DIALECTS {
        for encrypts in [false, true] {
            let cut = bulk_rows(payload, packet, dialect, encrypts);
            let whole = bulk_rows(payload, payload.len().max(1), dialect, encrypts);
            assert_eq!(cut, whole, "cut into packets of {packet} bytes");
        }
    }
}

fn bulk_rows(payload: &[u8], packet: usize, dialect: Dialect, encrypts: bool) -> (usize, bool) {
    let (mut reader, mut rows, mut count) = (BulkReader::new(dialect, encrypts), Rows::default(), 0);
    let packets = payload.chunks(packet);
    let last = packets.len();
    for (number, packet) in packets.enumerate() {
        if reader.feed(packet).is_err() {
            return (count, false);
        }
        loop {
            match reader.step(number + 1 == last, &mut rows) {
                Ok(Step::Row) => count += 1,
                Ok(Step::NeedMore) => break,
                Ok(Step::Done) => return (count, true),
                Err(_) => return (count, false),
            }
        }
    }
    (count, false)
}

/// Packets with their headers, as they come from the socket.
fn stream(bytes: &[u8]) {
    if let Ok(header) = Header::decode(bytes) {
        let _ = Header::decode(&header.encode(1));
    }
    let mut wire = Wire::new();
    wire.message_bytes_max = 1 << 16;
    let mut input = bytes;
    while let Ok(message) = wire.read_message(&mut input) {
        match message.kind {
            PacketType::SqlBatch => drop(request::decode_batch(message.payload(), Dialect::default())),
            PacketType::Rpc => rpc(message.payload()),
            PacketType::Login7 => login(message.payload()),
            PacketType::PreLogin => prelogin(message.payload()),
            PacketType::BulkLoad => bulk(message.payload()),
            _ => {}
        }
        wire.recycle(message);
    }
}

/// A value of every family of types.
pub(crate) fn values() -> Vec<(TypeInfo, Data<'static>)> {
    let latin = WireCollation::LATIN1_CI_AS;
    let text = |s: &str| s.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    vec![
        (TypeInfo::Fixed(Fixed::Int4), Data::Int(-7)),
        (TypeInfo::Fixed(Fixed::Money8), Data::Money(12_345)),
        (TypeInfo::Fixed(Fixed::DateTime4), Data::SmallDateTime { days: 40_000, minutes: 61 }),
        (TypeInfo::IntN(8), Data::BigInt(1 << 40)),
        (TypeInfo::IntN(2), Data::Null),
        (TypeInfo::BitN, Data::Bit(true)),
        (TypeInfo::FloatN(8), Data::Float(1.5)),
        (TypeInfo::MoneyN(4), Data::Money(-1)),
        (TypeInfo::DateTimeN(8), Data::DateTime { days: 45_000, ticks: 300 }),
        (TypeInfo::Guid, Data::Guid([9; 16])),
        (
            TypeInfo::Decimal { numeric: true, precision: 38, scale: 10 },
            Data::Decimal { negative: true, magnitude: 10u128.pow(37), scale: 10 },
        ),
        (TypeInfo::DateN, Data::Date(738_000)),
        (TypeInfo::TimeN(3), Data::Time(36_000_000_000)),
        (TypeInfo::DateTime2N(7), Data::DateTime2 { days: 738_000, time: 1 }),
        (TypeInfo::DateTimeOffsetN(0), Data::DateTimeOffset { days: 738_000, time: 0, offset: -90 }),
        (TypeInfo::VarBinary(100), Data::Binary(vec![0, 1, 255].into())),
        (TypeInfo::VarBinary(MAX), Data::Binary(vec![7; 300].into())),
        (TypeInfo::VarChar(100, latin), Data::Char(b"caf\xe9".to_vec().into())),
        (TypeInfo::NVarChar(4000, latin), Data::NChar(text("ab\u{1F600}").into())),
        (TypeInfo::NVarChar(MAX, latin), Data::NChar(text(&"long ".repeat(40)).into())),
        (TypeInfo::Text(100, latin), Data::Char(b"old".to_vec().into())),
        (TypeInfo::Image(100), Data::Binary(vec![1].into())),
        (TypeInfo::Xml(None), Data::NChar(text("<a/>").into())),
        (TypeInfo::Variant(8009), Data::Variant(Box::new((TypeInfo::Fixed(Fixed::Int4), Data::Int(3))))),
    ]
}

/// COLMETADATA, a row, a row with a bitmap of NULLs, DONE. A type that the dialect has not is described as one that it has, and NULL.
pub(crate) fn result_set(dialect: Dialect) -> Vec<u8> {
    let (mut columns, mut row) = (Vec::new(), Vec::new());
    for (number, (ty, value)) in values().into_iter().enumerate() {
        let told = dialect.column_type(ty.clone());
        row.push(if told == ty { value } else { Data::Null });
        columns.push(Column {
            user_type: 0,
            flags: ColumnFlags::NULLABLE,
            ty: told,
            table: Vec::new(),
            crypto: None,
            name: format!("c{number}"),
        });
    }
    let mut out = Vec::new();
    column::put(&mut out, columns.iter(), dialect, false);
    row::put_row(&mut out, &columns, &row);
    row::put_nbc_row(&mut out, &columns, &row);
    Done { kind: DoneKind::Done, status: DoneStatus::COUNT, command: 0xC1, rows: 2 }.put(&mut out, dialect);
    out
}

fn login_message(tds_version: u32) -> Login {
    Login {
        tds_version,
        packet_size: 4096,
        flags3: OptionFlags3::EXTENSION,
        host_name: "host".into(),
        user_name: "sa".into(),
        password: "Secret1!".into(),
        app_name: "app".into(),
        database: "master".into(),
        features: vec![keel_tds::features::Feature { id: 0x0A, data: vec![1] }],
        ..Login::default()
    }
}

fn call_message(dialect: Dialect) -> Vec<u8> {
    let mut out = Vec::new();
    AllHeaders { transaction: 7, outstanding: 1, ..AllHeaders::default() }.encode(&mut out, dialect);
    encode_call(&mut out, &Procedure::Id(ProcId::ExecuteSql), CallFlags::NO_METADATA);
    for (ty, data) in values().into_iter().filter(|(ty, _)| dialect.column_type(ty.clone()) == *ty) {
        encode_parameter(&mut out, "@p", ParameterFlags::BY_REF, &ty, &data);
    }
    if dialect.has_headers() {
        encode_separator(&mut out);
    } else {
        out.push(0x80);
    }
    encode_call(&mut out, &Procedure::Name("dbo.p".into()), CallFlags::default());
    out
}

/// A valid message of each kind.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let prelogin = PreLogin {
        version: (16, 0, 1000, 0),
        encryption: Some(Encryption::On),
        instance: Some(b"MSSQLServer".to_vec()),
        thread_id: Some(1),
        mars: Some(false),
        ..PreLogin::default()
    };
    let headers = AllHeaders::default();
    let (mut batch, mut begin) = (Vec::new(), Vec::new());
    request::encode_batch(&mut batch, &headers, "SELECT 1", Dialect::V7_4);
    TransactionRequest::Commit { name: "t".into(), then: None }.encode(&mut begin, &headers, Dialect::V7_4);
    let mut seeds: Vec<Vec<u8>> = vec![
        crate::with_kind(PRELOGIN, &prelogin.encode()),
        crate::with_kind(BATCH, &batch),
        crate::with_kind(TRANSACTION, &begin),
    ];
    seeds.extend([TDS_7_1, TDS_7_4].map(|version| crate::with_kind(LOGIN, &login_message(version).encode())));
    for dialect in DIALECTS {
        seeds.push(crate::with_kind(RPC, &call_message(dialect)));
        seeds.push(crate::with_kind(BULK, &result_set(dialect)));
    }
    for (kind, payload) in [
        (PacketType::Rpc, call_message(Dialect::V7_4)),
        (PacketType::PreLogin, prelogin.encode()),
        (PacketType::BulkLoad, result_set(Dialect::V7_4)),
    ] {
        seeds.push(crate::with_kind(STREAM, &packets(kind, &payload)));
    }
    seeds
}

/// `payload` in packets of 512 bytes.
fn packets(kind: PacketType, payload: &[u8]) -> Vec<u8> {
    let mut outbox = Outbox::new(kind);
    outbox.set_packet_bytes(512);
    outbox.start(kind, Status::empty());
    outbox.payload().extend_from_slice(payload);
    let mut out = Vec::new();
    outbox.finish(&mut Wire::new(), &mut out).expect("a vector takes everything");
    out
}
