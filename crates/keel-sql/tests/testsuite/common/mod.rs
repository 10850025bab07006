//! An engine over a disk in memory, and a sink that writes transcripts.

pub mod replication;

use keel_base::Epoch;
use keel_base::env::Env;
use keel_base::env::real::RealClock;
use keel_base::env::sim::{SimDisk, env};
use keel_node::Database;
use keel_sql::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_sql::{Engine, EngineOptions, InstanceOptions, PasswordHasher, ServerLog, Session, SessionOptions};
use keel_testkit::transcript::{Message, Transcript};
use keel_types::{Collation, SqlError, SqlType, Value};
use std::sync::Arc;
use std::time::Duration;

struct NoHash;

impl PasswordHasher for NoHash {
    fn hash(&self, password: &str) -> Vec<u8> {
        password.as_bytes().to_vec()
    }
    fn knows(&self, stored: &[u8]) -> bool {
        stored.is_ascii()
    }
    fn verify(&self, password: &str, stored: &[u8]) -> bool {
        password.as_bytes() == stored
    }
    fn seal(&self, key: &[u8], password: &str) -> Vec<u8> {
        keel_base::cipher::seal_secret(key, password.as_bytes(), &keel_base::env::sim::SimRandom::new(1))
    }
    fn open(&self, sealed: &[u8], password: &str) -> Option<Vec<u8>> {
        keel_base::cipher::open_secret(sealed, password.as_bytes())
    }
}

struct NoLog;

impl ServerLog for NoLog {
    fn write(&self, _text: &str) {}
}

/// Opens the instance on a disk.
pub fn open(disk: &Arc<SimDisk>) -> Arc<Engine> {
    open_with(disk, InstanceOptions::default().memory_bytes)
}

/// The same with so much max server memory.
pub fn open_with(disk: &Arc<SimDisk>, memory_bytes: usize) -> Arc<Engine> {
    open_as(
        Env { clock: Arc::new(RealClock::new()), ..env(disk, 7) },
        InstanceOptions { memory_bytes, ..options() },
    )
}

/// The same without threads of its own: nothing happens to a database but what its sessions do.
pub fn open_by_hand(disk: &Arc<SimDisk>) -> Arc<Engine> {
    open_as(
        Env { clock: Arc::new(RealClock::new()), ..env(disk, 7) },
        InstanceOptions { by_hand: true, ..options() },
    )
}

fn options() -> InstanceOptions {
    InstanceOptions { automatic_checkpoints: false, ..InstanceOptions::default() }
}

/// Opens the instance in surroundings of its own.
pub fn open_in(env: Env) -> Arc<Engine> {
    open_as(env, options())
}

/// Opens the instance on a disk, with an error log.
pub fn open_logging(disk: &Arc<SimDisk>, log: Arc<dyn ServerLog>) -> Arc<Engine> {
    let env = Env { clock: Arc::new(RealClock::new()), ..env(disk, 7) };
    open_with_log(env, options(), log)
}

fn open_as(env: Env, instance: InstanceOptions) -> Arc<Engine> {
    open_with_log(env, instance, Arc::new(NoLog))
}

fn open_with_log(env: Env, instance: InstanceOptions, log: Arc<dyn ServerLog>) -> Arc<Engine> {
    open_collated(env, instance, log, None)
}

/// Opens the instance on a disk, with an error log, as one in a collation.
pub fn open_in_collation(disk: &Arc<SimDisk>, log: Arc<dyn ServerLog>, name: &str) -> Arc<Engine> {
    let env = Env { clock: Arc::new(RealClock::new()), ..env(disk, 7) };
    open_collated(env, options(), log, Collation::by_name(name))
}

fn open_collated(
    env: Env,
    instance: InstanceOptions,
    log: Arc<dyn ServerLog>,
    collation: Option<Collation>,
) -> Arc<Engine> {
    let options = EngineOptions {
        data_dir: "/data".into(),
        env,
        server_name: "EVENKEEL".to_owned(),
        collation,
        instance,
        hasher: Arc::new(NoHash),
        processors: std::num::NonZero::new(4).expect("four is not zero"),
        session_stack_bytes: 16 << 20,
        log,
    };
    Engine::open(options).expect("opens")
}

/// A fresh instance.
pub fn server() -> Arc<Engine> {
    open(&SimDisk::new())
}

/// What a batch says.
pub fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

/// The same, of one that must raise no error.
pub fn well(session: &mut Session, sql: &str) -> String {
    let said = run(session, sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
    said
}

/// The one value of a query, which must raise no error.
pub fn value(session: &mut Session, sql: &str) -> String {
    well(session, sql).lines().nth(2).expect("a row").trim().to_owned()
}

/// The database that these tests replicate.
pub fn store(engine: &Engine) -> Arc<Database> {
    Arc::clone(&engine.database("shop").expect("it is there").store)
}

/// What the primary has hardened goes to the secondary, and is redone there.
pub fn ship(primary: &Engine, secondary: &Engine, epoch: u64) {
    let (from, to) = (store(primary), store(secondary));
    let appended = to.log().expect("a copy has a log").appended();
    let mut scanner = from.log().expect("so has the primary").scan(appended).expect("it reaches there");
    while let Some(block) = scanner.next().expect("it can be read") {
        to.receive(Epoch(epoch), block.bytes).expect("it follows");
    }
    let end = to.harden().expect("it is written");
    to.apply_up_to(end).expect("it is redone");
    assert!(to.wait_applied(end, Duration::from_secs(60)));
}

/// A session of sa in master.
pub fn connect(engine: &Arc<Engine>) -> Session {
    let options = SessionOptions {
        login: "sa".to_owned(),
        sysadmin: true,
        database: "master".to_owned(),
        app_name: "golden".to_owned(),
        host_name: "host".to_owned(),
        ansi_defaults: true,
        ..SessionOptions::default()
    };
    engine.session(options).expect("connects")
}

/// Writes the transcript of a request.
#[derive(Default)]
pub struct Sink(pub Transcript, Vec<SqlType>);

fn show(value: &Value, ty: SqlType) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        value => keel_sql::convert::display_typed(value, ty),
    }
}

impl ResultSink for Sink {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.1 = columns.iter().map(|c| c.ty).collect();
        self.0.columns(columns.iter().map(|c| c.name.to_string()));
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.0.row(row.iter().zip(&self.1).map(|(v, ty)| show(v, *ty)));
        Ok(())
    }
    fn done(&mut self, done: DoneInfo) {
        // Values given to variables are counted too, which would be a line for each.
        let assigned = done.command == keel_sql::sink::command::SELECT && !self.0.in_table();
        self.0.done(done.count.filter(|_| !assigned));
    }
    fn message(&mut self, m: &SqlError) {
        self.0.message(&Message {
            number: m.number,
            severity: m.severity,
            state: m.state,
            line: m.line,
            procedure: m.procedure.as_deref(),
            text: &m.message,
        });
    }
    fn return_status(&mut self, status: i32) {
        if status != 0 {
            self.0.line(&format!("(return status {status})"));
        }
    }
    fn output(&mut self, _: usize, name: &str, ty: &SqlType, value: &Value) {
        self.0.line(&format!("{name} = {}", show(value, *ty)));
    }
    fn function_value(&mut self, ty: &SqlType, value: &Value) {
        self.0.line(&format!("(function {})", show(value, *ty)));
    }
    fn env_change(&mut self, change: EnvChange) {
        if let EnvChange::Collation { new, .. } = change {
            self.0.line(&format!("(collation {})", new.name()));
        }
    }
}
