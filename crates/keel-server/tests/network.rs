//! The network side from login to logout, with our own client and a toy SQL side.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test: what fails should stop it")]

mod toy;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keel_server::password::Passwords;
use keel_server::{Config, ErrorLog, Server};
use keel_tds::client::{Client, ClientEncryption, ClientError, ConnectOptions, trust_any_certificate};
use keel_tds::login::{Login, OptionFlags3, TDS_7_0, TDS_7_1, TDS_7_4};
use keel_tds::request::TransactionRequest;
use keel_tds::request::rpc::{self, CallFlags, ParameterFlags, ProcId, Procedure};
use keel_tds::request::transaction::{Begin, IsolationLevel};
use keel_tds::token::{Column, ColumnFlags, Done, DoneKind, DoneStatus, EnvChange, Token, column, row};
use keel_tds::type_info::MAX;
use keel_tds::{Data, Dialect, TypeInfo, WireCollation};

struct Fixture {
    server: Option<Server>,
    dir: PathBuf,
    killed: Arc<AtomicBool>,
}

impl Fixture {
    fn start(name: &str) -> Fixture {
        Self::start_with(name, |_| {})
    }

    fn start_with(name: &str, change: impl FnOnce(&mut Config)) -> Fixture {
        let dir = std::env::temp_dir().join(format!("keel-network-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut config = Config { data: dir.clone(), listen: "127.0.0.1:0".into(), ..Config::default() };
        change(&mut config);
        let passwords = Arc::new(Passwords::new());
        let log = Arc::new(ErrorLog::start(&dir.join("log"), false).unwrap());
        let backend = Arc::new(toy::Toy::new(&passwords));
        let killed = Arc::clone(&backend.killed);
        let server = Server::start(config, backend, passwords, log).unwrap();
        Fixture { server: Some(server), dir, killed }
    }

    fn connect_as(
        &self,
        encryption: ClientEncryption,
        login: impl FnOnce(&mut Login),
    ) -> Result<Client<TcpStream>, ClientError> {
        let io = TcpStream::connect(self.server.as_ref().unwrap().addresses()[0]).unwrap();
        io.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut options = ConnectOptions {
            login: Login {
                tds_version: TDS_7_4,
                packet_size: 4096,
                user_name: "sa".into(),
                password: toy::PASSWORD.into(),
                ..Login::default()
            },
            encryption,
            tls: Some(trust_any_certificate().unwrap()),
            host: "localhost".into(),
        };
        login(&mut options.login);
        Client::connect(io, &options)
    }

    fn connect(&self) -> Client<TcpStream> {
        self.connect_as(ClientEncryption::On, |_| {}).unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log/errorlog")).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        assert!(self.server.take().unwrap().stop(), "every session ends");
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}

fn tokens(client: &mut Client<TcpStream>) -> Vec<Token<'static>> {
    std::iter::from_fn(|| client.next_token().unwrap()).collect()
}

fn rows(tokens: &[Token<'static>]) -> Vec<Vec<Data<'static>>> {
    tokens.iter().filter_map(|t| if let Token::Row(r) = t { Some(r.clone()) } else { None }).collect()
}

fn last_done(tokens: &[Token<'static>]) -> Done {
    match tokens.last() {
        Some(Token::Done(d)) => *d,
        other => panic!("a response ends with a DONE, not {other:?}"),
    }
}

#[test]
fn every_kind_of_encryption_logs_in() {
    let f = Fixture::start("encryption");
    for (encryption, encrypted) in [
        (ClientEncryption::None, false),
        (ClientEncryption::LoginOnly, false),
        (ClientEncryption::On, true),
        (ClientEncryption::Strict, true),
    ] {
        let mut client = f.connect_as(encryption, |_| {}).unwrap();
        assert_eq!(client.is_encrypted(), encrypted, "{encryption:?}");
        assert_eq!(client.database, "master");
        client.batch("SELECT 1, 'two', NULL").unwrap();
        let t = tokens(&mut client);
        assert_eq!(rows(&t).len(), 1);
        assert_eq!(rows(&t)[0][0], Data::Int(1));
        assert_eq!(last_done(&t).status, DoneStatus::COUNT);
    }
}

#[test]
fn forced_encryption_refuses_clients_without() {
    let f = Fixture::start_with("forced", |c| c.force_encryption = true);
    assert!(f.connect_as(ClientEncryption::None, |_| {}).is_err());
    assert!(f.connect_as(ClientEncryption::LoginOnly, |_| {}).unwrap().is_encrypted());
}

#[test]
fn refused_logins_say_little_and_log_the_reason() {
    let f = Fixture::start("refused");
    let refused = |change: fn(&mut Login)| match f.connect_as(ClientEncryption::On, change) {
        Err(ClientError::Login(messages)) => messages,
        Ok(_) => panic!("logged in"),
        Err(e) => panic!("{e}"),
    };
    for change in [(|l| l.password = "wrong".into()) as fn(&mut Login), |l| l.user_name = "nobody".into()] {
        let m = &refused(change)[0];
        assert_eq!((m.number, m.class, m.state), (18456, 14, 1));
    }
    let m = refused(|l| l.database = "nowhere".into());
    assert_eq!(m.iter().map(|m| m.number).collect::<Vec<_>>(), [4060, 18456]);
    let log = f.log();
    for state in [8, 5, 38] {
        assert!(log.contains(&format!("Error: 18456, Severity: 14, State: {state}.")), "{log}");
    }
    assert!(!log.contains("wrong"));
}

#[test]
fn a_login_may_bring_a_new_password() {
    let f = Fixture::start("new-password");
    let login = |password: &str, new: &str| {
        f.connect_as(ClientEncryption::On, |l| {
            l.password = password.into();
            l.change_password = new.into();
            l.flags3 = l.flags3.with_if(OptionFlags3::CHANGE_PASSWORD, !new.is_empty());
        })
    };
    assert!(login("wrong", "Keel-Test-2").is_err());
    login(toy::PASSWORD, "Keel-Test-2").unwrap();
    assert!(login(toy::PASSWORD, "").is_err());
    login("Keel-Test-2", "").unwrap();
}

#[test]
fn large_results_arrive_whole_at_any_packet_size() {
    let f = Fixture::start("large");
    for packet_size in [512, 4096, 32767] {
        for encryption in [ClientEncryption::None, ClientEncryption::On] {
            let mut client = f.connect_as(encryption, |l| l.packet_size = packet_size).unwrap();
            client.batch("ROWS 20000").unwrap();
            let t = tokens(&mut client);
            let rows = rows(&t);
            assert_eq!(rows.len(), 20_000);
            assert!(rows.iter().enumerate().all(|(i, r)| r[0] == Data::Int(i32::try_from(i).unwrap())));
        }
    }
}

#[test]
fn an_attention_stops_what_runs() {
    let f = Fixture::start("attention");
    for encryption in [ClientEncryption::None, ClientEncryption::On] {
        for sql in ["WAIT", "ROWS 2000000000"] {
            let mut client = f.connect_as(encryption, |_| {}).unwrap();
            client.batch(sql).unwrap();
            client.attention().unwrap();
            client.drain_attention().unwrap();
            client.batch("SELECT 5").unwrap();
            assert_eq!(rows(&tokens(&mut client))[0][0], Data::Int(5));
            // An attention that comes too late is answered all the same.
            client.attention().unwrap();
            client.drain_attention().unwrap();
            client.batch("SELECT 6").unwrap();
            assert_eq!(rows(&tokens(&mut client))[0][0], Data::Int(6));
        }
    }
}

#[test]
fn a_client_that_vanishes_stops_its_request() {
    let f = Fixture::start("vanish");
    let mut client = f.connect();
    client.batch("WAIT").unwrap();
    drop(client);
    // Stopping the server waits for every session; it fails if the request goes on.
}

#[test]
fn errors_and_panics_end_what_they_should() {
    let f = Fixture::start("errors");
    let mut client = f.connect();
    client.batch("ERROR; SELECT 1").unwrap();
    let t = tokens(&mut client);
    let Token::Message(m) = &t[0] else { panic!("{t:?}") };
    assert_eq!((m.number, m.class, m.state, m.line, m.server.as_str()), (50_000, 16, 3, 2, "TOY"));
    let Token::Done(d) = &t[1] else { panic!("{t:?}") };
    assert_eq!(d.status, DoneStatus::ERROR | DoneStatus::MORE);

    client.batch("SELECT 1\nPANIC").unwrap();
    let t = tokens(&mut client);
    assert!(t.iter().any(|t| matches!(t, Token::Message(m) if m.number == 3624)));
    assert!(client.batch("SELECT 1").is_err() || client.next_token().is_err(), "the connection is closed");

    let mut client = f.connect();
    client.batch("DAMAGED").unwrap();
    let t = tokens(&mut client);
    assert!(t.iter().any(|t| matches!(t, Token::Message(m) if (m.number, m.class) == (5243, 22))), "{t:?}");
    assert!(client.batch("SELECT 1").is_err() || client.next_token().is_err(), "the connection is closed");

    let mut client = f.connect();
    client.batch("FATAL").unwrap();
    let t = tokens(&mut client);
    assert!(t.iter().any(|t| matches!(t, Token::Message(m) if m.class == 21)));
    assert!(last_done(&t).status.contains(DoneStatus::SERVER_ERROR), "{t:?}");
    assert!(client.batch("SELECT 1").is_err() || client.next_token().is_err(), "the connection is closed");
}

#[test]
fn a_session_killed_between_requests_answers_the_next_with_its_error() {
    let f = Fixture::start("killed");
    let mut client = f.connect();
    client.batch("SELECT 1").unwrap();
    assert_eq!(rows(&tokens(&mut client)).len(), 1);
    f.killed.store(true, Ordering::Relaxed);
    // An answer without an error would be taken for a success. The server may have seen it before it read the request; it has
    // closed the connection then.
    let answer = client.batch("SELECT 1").and_then(|()| client.next_token());
    assert!(
        match &answer {
            Ok(Some(Token::Message(m))) => m.class == 21,
            Ok(_) => false,
            Err(_) => true,
        },
        "{answer:?}"
    );
    f.killed.store(false, Ordering::Relaxed);
}

#[test]
fn a_call_with_too_many_parameters_is_refused_and_the_next_one_served() {
    let f = Fixture::start("parameters");
    let mut client = f.connect();
    client
        .call(|out| {
            rpc::encode_call(out, &Procedure::Id(ProcId::ExecuteSql), CallFlags::empty());
            for _ in 0..3000 {
                rpc::encode_parameter(
                    out,
                    "@a",
                    ParameterFlags::empty(),
                    &TypeInfo::IntN(8),
                    &Data::BigInt(3),
                );
            }
        })
        .unwrap();
    let t = tokens(&mut client);
    assert!(matches!(&t[0], Token::Message(m) if m.number == 8003), "{t:?}");
    client.batch("SELECT 1").unwrap();
    assert_eq!(rows(&tokens(&mut client)).len(), 1);
}

#[test]
fn calls_return_rows_status_and_output() {
    let f = Fixture::start("calls");
    let mut client = f.connect();
    client
        .call(|out| {
            for i in 0..2 {
                if i > 0 {
                    rpc::encode_separator(out);
                }
                rpc::encode_call(out, &Procedure::Id(ProcId::ExecuteSql), CallFlags::empty());
                rpc::encode_parameter(
                    out,
                    "@a",
                    ParameterFlags::BY_REF,
                    &TypeInfo::IntN(8),
                    &Data::BigInt(3),
                );
            }
        })
        .unwrap();
    let t = tokens(&mut client);
    let kinds: Vec<_> = t
        .iter()
        .map(|t| match t {
            Token::Columns(_) => "columns",
            Token::Row(_) => "row",
            Token::ReturnStatus(7) => "status",
            Token::ReturnValue(v) if v.name == "@a" && v.value == Data::Int(99) => "value",
            Token::Done(d) if d.kind == DoneKind::InProc && d.status.contains(DoneStatus::MORE) => {
                "in-proc more"
            }
            Token::Done(d) if d.kind == DoneKind::Proc && d.status.contains(DoneStatus::MORE) => "proc more",
            Token::Done(d) if d.kind == DoneKind::Proc => "proc",
            _ => "other",
        })
        .collect();
    let one = ["columns", "row", "in-proc more", "status", "value"];
    assert_eq!(kinds, [&one[..], &["proc more"], &one, &["proc"]].concat());
}

#[test]
fn transactions_and_resets() {
    let f = Fixture::start("transactions");
    let mut client = f.connect();
    let begin = Begin { isolation: IsolationLevel::Unchanged, name: String::new() };
    client.transaction(&TransactionRequest::Begin(begin)).unwrap();
    assert_eq!(tokens(&mut client)[0], Token::EnvChange(EnvChange::BeginTransaction(77)));
    client.transaction(&TransactionRequest::Distributed(0)).unwrap();
    let t = tokens(&mut client);
    assert!(matches!(&t[0], Token::Message(m) if m.number == 8501));
    assert!(last_done(&t).status.contains(DoneStatus::ERROR | DoneStatus::IN_TRANSACTION));
    client.batch("USE tempdb").unwrap();
    tokens(&mut client);
    assert_eq!(client.database, "tempdb");
    client.reset_before_next();
    client.batch("SELECT 1").unwrap();
    let t = tokens(&mut client);
    assert_eq!(t[0], Token::EnvChange(EnvChange::ResetAck));
    assert!(!last_done(&t).status.contains(DoneStatus::IN_TRANSACTION));
}

#[test]
fn sessions_are_classified_when_they_begin_and_when_they_are_reset() {
    let f = Fixture::start("classified");
    let mut client = f.connect();
    let times = |client: &mut Client<TcpStream>| {
        client.batch("CLASSIFIED").unwrap();
        rows(&tokens(client))[0][0].clone()
    };
    let first = times(&mut client);
    assert_eq!(times(&mut client), first);
    client.reset_before_next();
    assert_eq!((first, times(&mut client)), (Data::Int(1), Data::Int(2)));
}

#[test]
fn bulk_loads_stream() {
    let f = Fixture::start("bulk");
    bulk_load(f.connect(), Dialect::V7_4);
    bulk_load(
        f.connect_as(ClientEncryption::On, |l| l.tds_version = TDS_7_1).unwrap(),
        Dialect::V7_1Revision1,
    );
}

fn bulk_load(mut client: Client<TcpStream>, dialect: Dialect) {
    client.batch("INSERT BULK t").unwrap();
    tokens(&mut client);
    let column = |ty| Column {
        user_type: 0,
        flags: ColumnFlags::NULLABLE,
        ty,
        table: Vec::new(),
        crypto: None,
        name: "c".into(),
    };
    let text = dialect.column_type(TypeInfo::NVarChar(MAX, WireCollation::LATIN1_CI_AS));
    let columns = [column(TypeInfo::IntN(4)), column(text)];
    client
        .bulk(|out| {
            column::put(out, columns.iter(), dialect, false);
            for i in 0..5000 {
                let text = [b'x', 0].repeat(usize::try_from(i % 50).unwrap());
                row::put_row(out, &columns, &[Data::Int(i), Data::NChar(text.into())]);
            }
            Done { kind: DoneKind::Done, status: DoneStatus::empty(), command: 0, rows: 0 }.put(out, dialect);
            false
        })
        .unwrap();
    assert_eq!(last_done(&tokens(&mut client)).rows, 5000);
    client.batch("SELECT 1").unwrap();
    assert_eq!(rows(&tokens(&mut client)).len(), 1);
}

/// The payload of the answer to a login that is the first that the client says, as jTDS's and FreeTDS's are when they encrypt nothing.
fn bare_login(f: &Fixture, version: u32) -> Vec<u8> {
    let login = Login {
        tds_version: version,
        user_name: "sa".into(),
        password: toy::PASSWORD.into(),
        ..Login::default()
    };
    let login = login.encode();
    let mut client = TcpStream::connect(f.server.as_ref().unwrap().addresses()[0]).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = u16::try_from(8 + login.len()).unwrap().to_be_bytes();
    client.write_all(&[0x10, 1, length[0], length[1], 0, 0, 0, 0]).unwrap();
    client.write_all(&login).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    answer.split_off(8)
}

/// The number of the error that an answer in an older dialect consists of.
fn only_error(answer: &[u8]) -> i32 {
    let (error, done) = answer.split_at(answer.len() - 9);
    assert_eq!(error[0], 0xAA);
    assert_eq!(usize::from(u16::from_le_bytes([error[1], error[2]])), error.len() - 3);
    assert_eq!(error[error.len() - 2..], [1, 0], "a short line");
    assert_eq!(done, [0xFD, 2, 0, 0, 0, 0, 0, 0, 0], "a short count");
    i32::from_le_bytes([error[3], error[4], error[5], error[6]])
}

#[test]
fn a_client_that_begins_with_its_login_is_answered_in_its_dialect() {
    let f = Fixture::start("older");
    for (version, acknowledged) in [
        (TDS_7_0, [7, 0, 0, 0]),
        (0x7100_0000, [7, 1, 0, 0]),
        (TDS_7_1, [0x71, 0, 0, 1]),
        (0x7209_0002, [0x72, 9, 0, 2]),
    ] {
        let answer = bare_login(&f, version);
        let ack = [&[1][..], &acknowledged].concat();
        assert!(answer.windows(5).any(|w| w == ack), "{version:x}: {answer:02x?}");
        let done = if version < 0x7200_0000 { 9 } else { 13 };
        assert_eq!(answer[answer.len() - done..], [&[0xFD][..], &vec![0; done - 1]].concat());
    }
    assert_eq!(only_error(&bare_login(&f, 0x0500_0000)), 17830);
}

#[test]
fn who_encrypts_nothing_is_told_so_where_all_has_to_be() {
    let f = Fixture::start_with("older-forced", |c| c.force_encryption = true);
    assert_eq!(only_error(&bare_login(&f, TDS_7_1)), 17835);
}

#[test]
fn older_dialects_ask_and_are_answered() {
    let f = Fixture::start("dialects");
    for version in [TDS_7_0, 0x7100_0000, TDS_7_1, 0x7209_0002, 0x730A_0003, 0x730B_0003] {
        for encryption in [ClientEncryption::None, ClientEncryption::LoginOnly, ClientEncryption::On] {
            let mut client = f.connect_as(encryption, |l| l.tds_version = version).unwrap();
            client.batch("SELECT 1, 'two', NULL").unwrap();
            let t = tokens(&mut client);
            assert_eq!((rows(&t).len(), rows(&t)[0][0].clone()), (1, Data::Int(1)));
            assert_eq!(last_done(&t).rows, 1);
            client.batch("ROWS 20000").unwrap();
            assert_eq!(rows(&tokens(&mut client)).len(), 20_000);
            client.batch("WAIT").unwrap();
            client.attention().unwrap();
            client.drain_attention().unwrap();
            client.batch("SELECT 6").unwrap();
            assert_eq!(rows(&tokens(&mut client))[0][0], Data::Int(6));
            client.call(|out| out.extend_from_slice(&[0xFF; 40])).unwrap();
            assert!(matches!(&tokens(&mut client)[0], Token::Message(m) if m.number == 4002));
        }
    }
}

#[test]
fn nonsense_hurts_nobody_else() {
    let f = Fixture::start("nonsense");
    let mut good = f.connect();
    let address = f.server.as_ref().unwrap().addresses()[0];
    let floods: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xFF; 100],
        &[0x12, 1, 0, 8, 0, 0, 0, 0],
        &[0x16; 50],
        &[0x10, 1, 0xFF, 0xFF, 0, 0, 0, 0],
    ];
    for bytes in floods {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.write_all(bytes).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        // Closed, perhaps after an answer.
        let _ = socket.read_to_end(&mut Vec::new());
    }
    // A request that is no request, after a login.
    let mut bad = f.connect();
    bad.call(|out| out.extend_from_slice(&[0xFF; 40])).unwrap();
    assert!(matches!(&tokens(&mut bad)[0], Token::Message(m) if m.number == 4002));
    for client in [&mut good, &mut bad] {
        client.batch("SELECT 1").unwrap();
        assert_eq!(rows(&tokens(client)).len(), 1);
    }
}
