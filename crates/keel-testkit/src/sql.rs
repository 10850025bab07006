//! Sessions of an engine on a simulated disk, as a [`World`] for golden scripts.
//!
//! Every script gets a fresh instance. Disk and random numbers are simulated, the clock is the machine's (WAITFOR has
//! to end); scripts do not show times. A restart cuts the power: what was not synced is lost.

use crate::objects::MemoryObjects;
use crate::runner::{Connect, Connection, World};
use crate::transcript::{Message, Transcript};
use keel_base::env::Env;
use keel_base::env::real::RealClock;
use keel_base::env::sim::{SimDisk, SimRandom, Tear};
use keel_sql::agent::mail::{Account, Carrier, Letter, Postman};
use keel_sql::{
    ColumnMeta, DoneInfo, Engine, EngineOptions, EnvChange, LoginRecord, PasswordHasher, ResultSink,
    ServerLog, Session, SessionOptions, SinkClosed,
};
use keel_types::cast::{self, Cast};
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// Runs a script against a fresh instance and returns its transcript.
#[must_use]
pub fn run_script(script: &str) -> String {
    crate::runner::run(script, &mut Instance::new())
}

/// The same on an instance whose agent runs jobs, in the place of the machine's scheduler.
#[must_use]
pub fn run_script_with_agent(script: &str) -> String {
    let mut instance = Instance::new();
    let agent = Agent::start(instance.engine());
    let transcript = crate::runner::run(script, &mut instance);
    agent.stop();
    transcript
}

/// The agent's threads, as the server has them.
struct Agent {
    engine: Arc<Engine>,
    thread: std::thread::JoinHandle<()>,
    mail: std::thread::JoinHandle<()>,
}

/// Mail servers: `down.test` takes nothing, all others everything.
struct Servers;

impl Carrier for Servers {
    fn carry(&self, _: &Letter, account: &Account) -> Result<(), String> {
        if account.server == "down.test" { Err("Connection refused".to_owned()) } else { Ok(()) }
    }
}

impl Agent {
    fn start(engine: &Arc<Engine>) -> Agent {
        engine.add_login(sa()).expect("there is a login that owns jobs");
        keel_sql::agent::install(engine).expect("the agent's tables and procedures are made");
        let office = keel_sql::agent::Office::of_instance(engine);
        let mut service = keel_sql::agent::Service::start(&office).expect("the agent starts");
        let mut postman = Postman::new(&office).expect("mail can be looked for");
        let engine = Arc::clone(engine);
        let its = Arc::clone(&engine);
        let thread = std::thread::spawn(move || {
            while !its.agent().is_stopping() {
                let (runs, done) = service.turn();
                done.expect("the agent reads its tables");
                runs.into_iter().for_each(|run| drop(std::thread::spawn(move || run.execute())));
            }
        });
        let its = Arc::clone(&engine);
        let mail = std::thread::spawn(move || {
            while !its.agent().is_stopping() {
                postman.turn(&Servers).expect("the postman reads its tables");
            }
        });
        Agent { engine, thread, mail }
    }

    fn stop(self) {
        assert!(self.engine.agent().stop_all(std::time::Duration::from_secs(60)), "all jobs end");
        self.thread.join().expect("the agent ends");
        self.mail.join().expect("the postman ends");
    }
}

fn sa() -> LoginRecord {
    LoginRecord { disabled: true, ..LoginRecord::sa(Vec::new()) }
}

/// An instance on a simulated disk.
pub struct Instance {
    disk: Arc<SimDisk>,
    objects: Arc<MemoryObjects>,
    /// `None` only while it restarts.
    engine: Option<Arc<Engine>>,
}

impl Default for Instance {
    fn default() -> Self {
        Instance::new()
    }
}

impl Instance {
    /// A first start on an empty disk.
    ///
    /// # Panics
    /// When the engine does not open: no script can run then.
    #[must_use]
    pub fn new() -> Instance {
        let disk = SimDisk::new();
        let objects = Arc::default();
        let engine = open(&disk, &objects);
        Instance { disk, objects, engine: Some(engine) }
    }

    /// The engine.
    ///
    /// # Panics
    /// Never outside of a restart.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        self.engine.as_ref().expect("an engine is open except inside restart")
    }
}

fn open(disk: &Arc<SimDisk>, objects: &Arc<MemoryObjects>) -> Arc<Engine> {
    let env = Env {
        disk: Arc::new(Arc::clone(disk)),
        clock: Arc::new(RealClock::new()),
        random: Arc::new(SimRandom::new(7)),
    };
    let options = EngineOptions {
        data_dir: "/data".into(),
        env,
        server_name: "KEEL".to_owned(),
        collation: None,
        instance: keel_node::InstanceOptions { memory_bytes: 64 << 20, ..Default::default() },
        hasher: Arc::new(Plain),
        // On any machine: transcripts show degrees of parallelism.
        processors: std::num::NonZero::new(4).expect("four is not zero"),
        session_stack_bytes: crate::runner::STACK_BYTES,
        log: Arc::new(Quiet),
    };
    let engine = Engine::open(options).expect("an instance opens on a healthy disk");
    engine.set_objects(Arc::clone(objects) as _);
    engine
}

/// Keeps passwords as they are: hashing slowly is not what scripts test.
struct Plain;

impl PasswordHasher for Plain {
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

struct Quiet;

impl ServerLog for Quiet {
    fn write(&self, _: &str) {}
}

impl World for Instance {
    fn connect(&mut self, name: &str) -> Connect {
        let options = SessionOptions {
            login: "sa".to_owned(),
            sysadmin: true,
            app_name: "script".to_owned(),
            host_name: name.to_owned(),
            packet_size: 4096,
            ansi_defaults: true,
            ..SessionOptions::default()
        };
        let engine = Arc::clone(self.engine());
        Box::new(move || {
            let mut session = engine.session(options).expect("a session opens");
            session.classify();
            Box::new(SqlConnection(session))
        })
    }

    fn waiting(&self) -> usize {
        let queued: usize = self.engine().governor().running().groups.iter().map(|g| g.queue.waiting()).sum();
        self.engine().instance().locks().waiting().len() + queued + self.engine().broker.waiting()
    }

    fn restart(&mut self) {
        let disk = self.disk.crash(Tear::LoseAll);
        self.engine = None;
        self.disk = disk;
        self.engine = Some(open(&self.disk, &self.objects));
    }
}

struct SqlConnection(Session);

impl Connection for SqlConnection {
    fn run(&mut self, batch: &str) -> String {
        let mut sink = Sink::default();
        self.0.execute_batch(batch, &mut sink);
        if self.0.is_ended() {
            sink.transcript.line("(session ended)");
        }
        sink.transcript.finish()
    }
}

#[derive(Default)]
struct Sink {
    transcript: Transcript,
    types: Vec<SqlType>,
}

impl ResultSink for Sink {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.types = columns.iter().map(|c| c.ty).collect();
        self.transcript.columns(columns.iter().map(|c| c.name.to_string()));
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let cells = row.iter().zip(&self.types).map(|(value, ty)| show(value, *ty));
        self.transcript.row(cells);
        Ok(())
    }

    fn done(&mut self, done: DoneInfo) {
        // Values given to variables are counted too, which would be a line for each.
        let assigned = done.command == keel_sql::sink::command::SELECT && !self.transcript.in_table();
        self.transcript.done(done.count.filter(|_| !assigned));
    }

    fn message(&mut self, message: &SqlError) {
        self.transcript.message(&Message {
            number: message.number,
            severity: message.severity,
            state: message.state,
            line: message.line,
            procedure: message.procedure.as_deref(),
            text: &message.message,
        });
    }

    fn return_status(&mut self, _: i32) {}

    fn output(&mut self, _: usize, name: &str, ty: &SqlType, value: &Value) {
        self.transcript.line(&format!("{name} = {}", show(value, *ty)));
    }

    fn env_change(&mut self, change: EnvChange) {
        if let EnvChange::Database { new, .. } = change {
            self.transcript.line(&format!("(database {new})"));
        }
    }
}

/// A value as the product's tools show it.
#[must_use]
pub fn show(value: &Value, ty: SqlType) -> String {
    let style = match value {
        Value::Null => return "NULL".to_owned(),
        Value::Float(f) if ty == SqlType::Real => return (*f as f32).to_string(),
        Value::Float(f) => return f.to_string(),
        Value::Variant(inner) => return show(&inner.1, inner.0),
        Value::Bytes(_) => 1,
        Value::Money(_) => 2,
        Value::DateTime(_) => 121,
        _ => Cast::NO_STYLE,
    };
    cast::to_text(value, ty, style).map_or_else(|error| format!("!! {error}"), |text| text.to_string())
}
