//! Golden scripts: T-SQL in, transcript out, on the real engine over a disk in memory.

use keel_base::env::sim::{SimDisk, env};
use keel_sql::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_sql::{Engine, EngineOptions, InstanceOptions, PasswordHasher, ServerLog, Session, SessionOptions};
use keel_testkit::runner::{Connection, World};
use keel_testkit::transcript::{Message, Transcript};
use keel_types::{SqlError, SqlType, Value};
use std::path::Path;
use std::sync::Arc;

struct NoHash;

impl PasswordHasher for NoHash {
    fn hash(&self, password: &str) -> Vec<u8> {
        password.as_bytes().to_vec()
    }
    fn verify(&self, password: &str, stored: &[u8]) -> bool {
        password.as_bytes() == stored
    }
}

struct NoLog;

impl ServerLog for NoLog {
    fn write(&self, _text: &str) {}
}

struct Server {
    disk: Arc<SimDisk>,
    engine: Arc<Engine>,
}

fn open(disk: &Arc<SimDisk>) -> Arc<Engine> {
    let options = EngineOptions {
        data_dir: "/data".into(),
        env: env(disk, 7),
        server_name: "EVENKEEL".to_owned(),
        instance: InstanceOptions { automatic_checkpoints: false, ..InstanceOptions::default() },
        hasher: Arc::new(NoHash),
        log: Arc::new(NoLog),
    };
    Engine::open(options).expect("opens")
}

impl World for Server {
    fn connect(&mut self, _name: &str) -> Box<dyn Connection> {
        let options = SessionOptions {
            login: "sa".to_owned(),
            sysadmin: true,
            database: "master".to_owned(),
            app_name: "golden".to_owned(),
            host_name: "host".to_owned(),
            ansi_defaults: true,
            ..SessionOptions::default()
        };
        Box::new(Client(self.engine.session(options).expect("connects")))
    }
    fn waiting(&self) -> usize {
        self.engine.instance().locks().waiting().len()
    }
    fn restart(&mut self) {
        self.disk = self.disk.crash(keel_base::env::sim::Tear::LoseAll);
        self.engine = open(&self.disk);
    }
}

struct Client(Session);

impl Connection for Client {
    fn run(&mut self, batch: &str) -> String {
        let mut sink = Sink::default();
        self.0.execute_batch(batch, &mut sink);
        sink.0.finish()
    }
}

#[derive(Default)]
struct Sink(Transcript, Vec<SqlType>);

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
        self.0.done(done.count);
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
    fn env_change(&mut self, _change: EnvChange) {}
}

fn check(folder: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts").join(folder);
    keel_testkit::golden::check(&dir, |text| {
        let disk = SimDisk::new();
        let engine = open(&disk);
        let mut world = Server { disk, engine };
        keel_testkit::runner::run(text, &mut world)
    });
}

#[test]
fn basic() {
    check("basic");
}
