//! A SQL side small enough to see through, for tests of the network side.
//!
//! It knows `SELECT` of literals, `ROWS n` (n rows of an int and a string), `WAIT` (until cancelled), `PANIC`, `DAMAGED`, `FATAL`,
//! `ERROR`, `INSERT BULK`, and answers every procedure call with a row of its parameters, its output parameters and 7.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test: what fails should stop it")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keel_server::Backend;
use keel_server::backend::{Cancel, Killed, SqlSession};
use keel_server::password::Passwords;
use keel_sql::hadr::ContainedGroup;
use keel_sql::recovery::{STATE_BYTES, State};
use keel_sql::sink::{ColumnMeta, DoneInfo, DoneKind, EnvChange, ResultSink};
use keel_sql::{
    BulkRow, BulkSource, BulkTarget, Cell, LoginRecord, PasswordHasher, RpcParam, RpcProcedure, RpcValue,
    SessionOptions, TransactionRequest,
};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};

pub const PASSWORD: &str = "Keel-Test-1";

pub struct Toy {
    sa: Mutex<LoginRecord>,
    next: AtomicU64,
    /// All sessions have been killed from outside, as a failover does it; their next request says so.
    pub killed: Arc<AtomicBool>,
}

impl Toy {
    pub fn new(passwords: &Passwords) -> Toy {
        let sa = LoginRecord::sa(passwords.hash(PASSWORD));
        Toy { sa: Mutex::new(sa), next: AtomicU64::new(51), killed: Arc::default() }
    }
}

impl Backend for Toy {
    fn login(&self, _: Option<&ContainedGroup>, name: &str) -> Option<LoginRecord> {
        name.eq_ignore_ascii_case("sa").then(|| self.sa.lock().unwrap().clone())
    }
    fn set_password(&self, _: Option<&ContainedGroup>, _login: &LoginRecord, hash: Vec<u8>) -> Result<bool> {
        self.sa.lock().unwrap().password_hash = hash;
        Ok(true)
    }
    fn session(&self, options: SessionOptions) -> Result<Box<dyn SqlSession>> {
        if !["master", "tempdb"].contains(&options.database.as_str()) {
            let text = format!(
                "Cannot open database \"{}\" requested by the login. The login failed.",
                options.database
            );
            return Err(SqlError::new(4060, 11, 1, text));
        }
        let id = u16::try_from(self.next.fetch_add(1, Ordering::Relaxed) % 30_000).unwrap();
        Ok(Box::new(ToySession {
            id,
            database: options.database,
            client: options.client_address,
            cancelled: Arc::default(),
            transaction: 0,
            ended: false,
            killed: Arc::clone(&self.killed),
            bulk: None,
            classified: 0,
        }))
    }
    fn server_name(&self) -> &str {
        "TOY"
    }
}

struct ToySession {
    id: u16,
    database: String,
    client: String,
    cancelled: Arc<AtomicBool>,
    transaction: u64,
    ended: bool,
    killed: Arc<AtomicBool>,
    bulk: Option<BulkTarget>,
    /// How often it was put into a workload group.
    classified: u32,
}

fn done(kind: DoneKind, count: Option<u64>, command: u16) -> DoneInfo {
    DoneInfo { kind, count, command, error: false, in_transaction: false, attention: false }
}

impl ToySession {
    fn select(&mut self, list: &str, sink: &mut dyn ResultSink) {
        let (columns, row): (Vec<_>, Vec<_>) = list.split(',').map(|item| literal(item.trim())).unzip();
        sink.columns(&columns);
        let _ = sink.row(&row);
        sink.done(done(DoneKind::Done, Some(1), keel_sql::sink::command::SELECT));
    }

    fn rows(&mut self, n: i64, sink: &mut dyn ResultSink) {
        let columns = [
            ColumnMeta::new("n", SqlType::Int),
            ColumnMeta::new("s", SqlType::NVarChar(Length::Limited(100))),
        ];
        sink.columns(&columns);
        for i in 0..n {
            if self.cancelled.load(Ordering::Relaxed)
                || sink.row(&[Value::Int(i), Value::str(format!("row {i}"))]).is_err()
            {
                break;
            }
        }
        sink.done(done(DoneKind::Done, Some(u64::try_from(n).unwrap()), keel_sql::sink::command::SELECT));
    }

    fn error(&mut self, severity: u8, sink: &mut dyn ResultSink) {
        let mut e = SqlError::new(50_000, severity, 3, "asked for");
        e.line = 2;
        sink.message(&e);
        sink.done(DoneInfo { error: true, ..done(DoneKind::Done, None, 0) });
    }
}

fn literal(item: &str) -> (ColumnMeta, Value) {
    let (text, name) = item.split_once(" AS ").unwrap_or((item, ""));
    let (ty, value) = match text.parse::<i64>() {
        Ok(n) => (SqlType::Int, Value::Int(n)),
        Err(_) if text.eq_ignore_ascii_case("NULL") => (SqlType::Null, Value::Null),
        Err(_) => {
            let text = text.trim_start_matches('N').trim_matches('\'');
            (SqlType::NVarChar(Length::Limited(4000)), Value::str(text))
        }
    };
    let nullable = !matches!(value, Value::Int(_));
    (ColumnMeta { nullable, ..ColumnMeta::new(name, ty) }, value)
}

impl SqlSession for ToySession {
    fn id(&self) -> u16 {
        self.id
    }
    fn database(&self) -> &str {
        &self.database
    }
    fn classify(&mut self) {
        self.classified += 1;
    }
    fn cancel(&self) -> Cancel {
        let flag = Arc::clone(&self.cancelled);
        Arc::new(move || flag.store(true, Ordering::Relaxed))
    }
    fn killed(&self) -> Killed {
        Arc::new(|| false)
    }
    fn is_ended(&self) -> bool {
        self.ended || self.killed.load(Ordering::Relaxed)
    }
    fn in_transaction(&self) -> bool {
        self.transaction != 0
    }
    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) {
        self.cancelled.store(false, Ordering::Relaxed);
        if self.killed.load(Ordering::Relaxed) {
            return self.error(21, sink);
        }
        let mut any = false;
        for statement in text.split([';', '\n']).map(str::trim).filter(|s| !s.is_empty()) {
            any = true;
            let (word, rest) = statement.split_once(' ').unwrap_or((statement, ""));
            match word.to_ascii_uppercase().as_str() {
                "SELECT" => self.select(rest, sink),
                "ROWS" => self.rows(rest.parse().unwrap(), sink),
                "WAIT" => {
                    while !self.cancelled.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                "CLIENT" => self.select(&format!("'{}'", self.client.clone()), sink),
                "CLASSIFIED" => self.select(&self.classified.to_string(), sink),
                "PANIC" => panic!("asked for"),
                "DAMAGED" => std::panic::panic_any(keel_base::panics::Damaged("asked for".to_owned())),
                "ERROR" => self.error(16, sink),
                "FATAL" => self.error(21, sink),
                "USE" => {
                    let old = std::mem::replace(&mut self.database, rest.to_owned());
                    sink.env_change(EnvChange::Database { old, new: rest.to_owned() });
                    sink.done(done(DoneKind::Done, None, 0));
                }
                "INSERT" => {
                    let columns = vec![
                        ColumnMeta::new("a", SqlType::Int),
                        ColumnMeta::new("b", SqlType::NVarChar(Length::Max)),
                    ];
                    self.bulk = Some(BulkTarget { columns });
                    sink.done(done(DoneKind::Done, None, 0));
                }
                _ => sink.done(done(DoneKind::Done, None, keel_sql::sink::command::OTHER)),
            }
        }
        if !any {
            sink.done(done(DoneKind::Done, None, 0));
        }
    }
    fn execute_rpc(&mut self, _: RpcProcedure<'_>, parameters: Vec<RpcParam>, sink: &mut dyn ResultSink) {
        self.cancelled.store(false, Ordering::Relaxed);
        let scalars: Vec<(ColumnMeta, Value)> = parameters
            .iter()
            .filter_map(|p| match &p.value {
                RpcValue::Scalar(v) => Some((ColumnMeta::new(p.name.clone(), p.ty), v.clone())),
                _ => None,
            })
            .collect();
        let (columns, row): (Vec<_>, Vec<_>) = scalars.into_iter().unzip();
        sink.columns(&columns);
        let _ = sink.row(&row);
        sink.done(done(DoneKind::InProc, Some(1), keel_sql::sink::command::SELECT));
        sink.return_status(7);
        for (i, p) in parameters.iter().enumerate().filter(|(_, p)| p.output) {
            sink.output(i, &p.name, &SqlType::Int, &Value::Int(99));
        }
        sink.done(done(DoneKind::Proc, None, keel_sql::sink::command::EXECUTE));
    }
    fn transaction_request(&mut self, request: TransactionRequest, sink: &mut dyn ResultSink) {
        match request {
            TransactionRequest::Begin { .. } => {
                self.transaction = 77;
                sink.env_change(EnvChange::BeginTransaction(77));
            }
            TransactionRequest::Commit { .. } => {
                self.transaction = 0;
                sink.env_change(EnvChange::CommitTransaction(77));
            }
            TransactionRequest::Rollback { .. } => {
                self.transaction = 0;
                sink.env_change(EnvChange::RollbackTransaction(77));
            }
            TransactionRequest::Save { .. } | TransactionRequest::Propagate { .. } => {}
        }
        sink.done(done(DoneKind::Done, None, 0));
    }
    fn bulk_target(&self) -> Option<&BulkTarget> {
        self.bulk.as_ref()
    }
    fn bulk_load(&mut self, rows: &mut dyn BulkSource, sink: &mut dyn ResultSink) {
        self.bulk = None;
        if let Err(e) = rows.types() {
            return sink.message(&e);
        }
        let mut count = 0;
        loop {
            match rows.next(&mut Ignored) {
                Ok(true) => count += 1,
                Ok(false) => break,
                Err(e) => return sink.message(&e),
            }
        }
        sink.done(done(DoneKind::Done, Some(count), 0xF0));
    }
    fn reset(&mut self, keep_transaction: bool, _: &mut dyn ResultSink) {
        if !keep_transaction {
            self.transaction = 0;
        }
        self.database = "master".into();
    }
    fn language(&self) -> String {
        "us_english".into()
    }
    fn recovery_state(&self) -> State {
        self.initial_state()
    }
    fn initial_state(&self) -> State {
        [0; STATE_BYTES]
    }
    fn is_recoverable(&self) -> bool {
        self.transaction == 0
    }
    fn recover(&mut self, database: &str, _: &str, _: &[u8]) -> Result<()> {
        self.database = database.into();
        Ok(())
    }
}

/// Rows that nobody looks at.
struct Ignored;

impl BulkRow for Ignored {
    fn start(&mut self) {}
    fn put(&mut self, _: usize, _: Cell<'_>) -> keel_types::Result<()> {
        Ok(())
    }
}
