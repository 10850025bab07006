//! Golden scripts: T-SQL in, transcript out, on the real engine over a disk in memory.

use crate::common::{Sink, connect, open};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::{Engine, Session};
use keel_testkit::runner::{Connect, Connection, World};
use std::path::Path;
use std::sync::Arc;

struct Server {
    disk: Arc<SimDisk>,
    engine: Arc<Engine>,
}

impl World for Server {
    fn connect(&mut self, _name: &str) -> Connect {
        let engine = Arc::clone(&self.engine);
        Box::new(move || Box::new(Client(connect(&engine))))
    }
    fn waiting(&self) -> usize {
        self.engine.instance().locks().waiting().len()
    }
    fn restart(&mut self) {
        self.disk = self.disk.crash(Tear::LoseAll);
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

fn check(folder: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts").join(folder);
    keel_testkit::golden::check(&dir, |text| {
        let disk = SimDisk::new();
        let engine = open(&disk);
        let mut world = Server { disk, engine };
        keel_testkit::runner::run(text, &mut world)
    });
}

/// An instance that makes certificates, after restarts too.
struct Keyed(Server);

impl World for Keyed {
    fn connect(&mut self, name: &str) -> Connect {
        self.0.connect(name)
    }
    fn waiting(&self) -> usize {
        self.0.waiting()
    }
    fn restart(&mut self) {
        self.0.restart();
        assert!(self.0.engine.set_hadr(crate::common::replication::Fake::new("EVENKEEL")), "is set once");
    }
}

#[test]
fn encryption() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts/encryption");
    keel_testkit::golden::check(&dir, |text| {
        let disk = SimDisk::new();
        let engine = open(&disk);
        assert!(engine.set_hadr(crate::common::replication::Fake::new("EVENKEEL")), "is set once");
        keel_testkit::runner::run(text, &mut Keyed(Server { disk, engine }))
    });
}

/// A member of availability groups, as far as one instance shows.
#[test]
fn hadr() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts/hadr");
    keel_testkit::golden::check(&dir, |text| {
        let disk = SimDisk::new();
        let engine = open(&disk);
        let fake = crate::common::replication::Fake::new("EVENKEEL");
        engine.set_diagnostics(Arc::clone(&fake) as _);
        assert!(engine.set_hadr(fake), "is set once");
        let mut world = Server { disk, engine };
        keel_testkit::runner::run(text, &mut world)
    });
}

/// Keys and certificates of databases.
#[test]
fn keys() {
    check("keys");
}

#[test]
fn watching() {
    check("watching");
}

#[test]
fn basic() {
    check("basic");
}

#[test]
fn procedural() {
    check("procedural");
}

#[test]
fn transactions() {
    check("transactions");
}

#[test]
fn ddl() {
    check("ddl");
}

#[test]
fn metadata() {
    check("metadata");
}
