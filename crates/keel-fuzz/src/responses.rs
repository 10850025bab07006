//! What a server says to our client: tokens, cut into packets, from login to the last row.

use keel_tds::client::{Client, ClientEncryption, ConnectOptions};
use keel_tds::login::Login;
use keel_tds::outbox::Outbox;
use keel_tds::packet::{PacketType, Status};
use keel_tds::prelogin::{Encryption, PreLogin};
use keel_tds::token::{
    Done, DoneKind, DoneStatus, EnvChange, LoginAck, ServerMessage, Token, TokenReader, misc,
};
use keel_tds::wire::Wire;
use keel_tds::{DecodeError, Dialect, display};
use std::io::{self, Read, Write};

const TOKENS: u8 = 0;
const CONNECTION: u8 = 1;
const KINDS: u8 = 2;

/// A server that says what the input is and does not listen.
struct Server<'a>(&'a [u8]);

impl Read for Server<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl Write for Server<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the input as tokens, or as everything that a server says on a connection.
pub fn run(bytes: &[u8]) {
    match crate::split_kind(bytes, KINDS) {
        Some((TOKENS, rest)) => Dialect::ALL.into_iter().for_each(|dialect| tokens(rest, dialect)),
        Some((_, rest)) => connection(rest),
        None => {}
    }
}

fn tokens(bytes: &[u8], dialect: Dialect) {
    let (mut reader, mut at) = (TokenReader::new(dialect), 0);
    while at < bytes.len() {
        match reader.next(&bytes[at..]) {
            Ok((token, length)) => {
                assert!(length > 0 && at + length <= bytes.len());
                show(&token, reader.columns());
                at += length;
            }
            Err(DecodeError::Incomplete) => return,
            Err(_) => return,
        }
    }
}

/// As `keel sql` shows rows.
fn show(token: &Token<'_>, columns: &[keel_tds::token::Column]) {
    if let Token::Row(row) = token {
        for (data, column) in row.iter().zip(columns) {
            let _ = (display::format(data, &column.ty), display::width(&column.ty));
        }
    }
}

fn connection(bytes: &[u8]) {
    let options = ConnectOptions {
        login: Login::default(),
        encryption: ClientEncryption::None,
        tls: None,
        host: "localhost".into(),
    };
    let Ok(mut client) = Client::connect(Server(bytes), &options) else { return };
    if client.batch("SELECT 1").is_ok() {
        while let Ok(Some(token)) = client.next_token() {
            show(&token, client.columns());
        }
    }
}

fn packets(payload: &[u8]) -> Vec<u8> {
    let mut outbox = Outbox::new(PacketType::TabularResult);
    outbox.set_packet_bytes(512);
    outbox.start(PacketType::TabularResult, Status::empty());
    outbox.payload().extend_from_slice(payload);
    let mut out = Vec::new();
    outbox.finish(&mut Wire::new(), &mut out).expect("a vector takes everything");
    out
}

fn login_answer(dialect: Dialect) -> Vec<u8> {
    let mut out = Vec::new();
    EnvChange::Database { new: "master".into(), old: String::new() }.put(&mut out, dialect);
    EnvChange::PacketSize { new: 4096, old: 512 }.put(&mut out, dialect);
    LoginAck {
        tds_version: keel_tds::login::TDS_7_4,
        program: "Microsoft SQL Server".into(),
        version: (16, 0, 1000),
    }
    .put(&mut out);
    Done { kind: DoneKind::Done, status: DoneStatus::empty(), command: 0, rows: 0 }.put(&mut out, dialect);
    out
}

fn answer(dialect: Dialect) -> Vec<u8> {
    let mut out = crate::requests::result_set(dialect);
    misc::put_order(&mut out, &[1, 2]);
    misc::put_return_status(&mut out, 3);
    ServerMessage {
        is_error: true,
        number: 208,
        state: 1,
        class: 16,
        text: "Invalid object name 't'.".into(),
        server: "KEEL".into(),
        procedure: "p".into(),
        line: 2,
    }
    .put(&mut out, dialect);
    EnvChange::BeginTransaction(9).put(&mut out, dialect);
    Done { kind: DoneKind::Proc, status: DoneStatus::ERROR, command: 0xC1, rows: 0 }.put(&mut out, dialect);
    out
}

/// An answer's tokens, and a whole connection.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let prelogin = PreLogin {
        version: (16, 0, 1000, 0),
        encryption: Some(Encryption::NotSupported),
        ..PreLogin::default()
    };
    let newest = Dialect::default();
    let said =
        [packets(&prelogin.encode()), packets(&login_answer(newest)), packets(&answer(newest))].concat();
    let mut seeds = vec![crate::with_kind(CONNECTION, &said)];
    for dialect in [Dialect::V7_0, Dialect::V7_1Revision1, newest] {
        seeds.push(crate::with_kind(TOKENS, &answer(dialect)));
        seeds.push(crate::with_kind(TOKENS, &login_answer(dialect)));
    }
    seeds
}
